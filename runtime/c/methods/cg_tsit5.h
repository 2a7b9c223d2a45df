/* cg_tsit5.h: tsit5, order 5, for loose tolerances.
 *
 * Made from codegen/methods by `python -m chaplygin.generated --update`.
 * Source: Ch. Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption,
 * Computers & Mathematics with Applications 62 (2011) 770-775
 */
#define CG_TSIT5_ROWS 7
#define CG_TSIT5_DENSE 5
#define cg_tsit5_info(layout)                                                                                       \
    {"tsit5", "order 5, for loose tolerances", 5, 1, CG_TSIT5_ROWS, CG_TSIT5_DENSE, 0, layout}

static CG_INLINE int CG_FN(tsit5_trial)(CG_RUN *run, cg_real_t t, cg_real_t h, CG_FN(slope_t) slope)
{
    CG_TRIAL_BEGIN
    CG_STAGE_ROW(1) CG_STAGE_ROW(2) CG_STAGE_ROW(3) CG_STAGE_ROW(4) CG_STAGE_ROW(5)
    CG_STAGE_SHORT(1, 0.161, CG_SHORT_1(0.161, k0[i]))
    CG_STAGE_SHORT(2, 0.327, CG_SHORT_2(-0.008480655492356989, k0[i], 0.335480655492357, k1[i]))
    CG_STAGE_SHORT(3, 0.9, CG_SHORT_3(2.8971530571054935, k0[i], -6.359448489975075, k1[i], 4.3622954328695815,
        k2[i]))
    CG_STAGE_SHORT(4, 0.9800255409045097, CG_SHORT_4(5.325864828439257, k0[i], -11.748883564062828, k1[i],
        7.4955393428898365, k2[i], -0.09249506636175525, k3[i]))
    CG_STAGE(5, 1.0, CG_PLUS_3(5.86145544294642 * k0[i], -12.92096931784711, k1[i], 8.159367898576159, k2[i],
        -0.071584973281401, k3[i]), -0.028269050394068383, 4)
    CG_STAGE_END(CG_PLUS_4(0.09646076681806523 * k0[i], 0.01, k1[i], 0.4798896504144996, k2[i],
        1.379008574103742, k3[i], -3.290069515436081, k4[i]), 2.324710524099774, 5)
    return status;
}

CG_WEIGHTED(tsit5_estimate4)
{
    CG_NOT_ALL_STAGES
    return CG_PLUS_6(-0.0017800110522257714 * k0[i], -0.0008164344596567469, k[1 * ld + i],
        0.007880878010261995, k[2 * ld + i], -0.1447110071732629, k[3 * ld + i], 0.5823571654525552, k[4 * ld + i],
        -0.45808210592918697, k[5 * ld + i], 0.015151515151515152, end[i]);
}

static CG_INLINE cg_real_t CG_FN(tsit5_error)(CG_RUN *run, cg_real_t h)
{
    return CG_FN(pair_error)(run, h, CG_FN(tsit5_estimate4));
}

static int CG_FN(tsit5_step)(CG_RUN *run)
{
    const cg_control_t control = {0.14, 0.08, 0.9, 0.2, 10.0, 1};
    return CG_FN(adaptive)(run, control, CG_FN(tsit5_trial), CG_FN(tsit5_error));
}

static const double CG_FN(tsit5_d)[1][7] = {
    {-1.0530884977290216, 0.1017, 2.490627285651253, -16.548102889244902, 47.37952196281928, -34.87065786149661, 2.5},
};

CG_BEND(tsit5_bend)
{
    CG_NOT_ALL_STAGES
    cg_block_t sum = d[0] * k0[i];
    sum = cg_block_plus(sum, cg_splat(d[1]), k[1 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[2]), k[2 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[3]), k[3 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[4]), k[4 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[5]), k[5 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[6]), end[i]);
    return sum;
}

static int CG_FN(tsit5_dense)(CG_RUN *run)
{
    CG_FN(pair_coefficients)(run, CG_FN(tsit5_d)[0], 1, CG_COLUMNS(CG_FN(tsit5_d)), CG_FN(tsit5_bend));
    return CG_OK;
}
