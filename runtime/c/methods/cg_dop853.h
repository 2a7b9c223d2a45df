/* cg_dop853.h: dop853, order 8.
 *
 * Made from codegen/methods by `python -m chaplygin.generated --update`.
 * Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed., Springer 1993,
 * sections II.5 and II.6; coefficients of the authors' program DOP853
 */
#define CG_DOP853_ROWS 16
#define CG_DOP853_DENSE 8
#define cg_dop853_info(layout)                                                                                       \
    {"dop853", "order 8", 8, 1, CG_DOP853_ROWS, CG_DOP853_DENSE, 0, layout}

static CG_INLINE int CG_FN(dop853_trial)(CG_RUN *run, cg_real_t t, cg_real_t h, CG_FN(slope_t) slope)
{
    CG_TRIAL_BEGIN
    CG_STAGE_PASSING(1) CG_STAGE_PASSING(2) CG_STAGE_ROW(3) CG_STAGE_ROW(4) CG_STAGE_ROW(5) CG_STAGE_ROW(6)
        CG_STAGE_ROW(7) CG_STAGE_ROW(8) CG_STAGE_ROW(9) CG_STAGE_ROW(10) CG_STAGE_ROW(11)
    CG_STAGE_SHORT(1, 0.05260015195876773, CG_SHORT_1(0.05260015195876773, k0[i]))
    CG_STAGE_SHORT(2, 0.0789002279381516, CG_SHORT_2(0.0197250569845379, k0[i], 0.0591751709536137, k1[i]))
    CG_STAGE_SHORT(3, 0.1183503419072274, CG_SHORT_2(0.02958758547680685, k0[i], 0.08876275643042054, k2[i]))
    CG_STAGE_SHORT(4, 0.2816496580927726, CG_SHORT_3(0.2413651341592667, k0[i], -0.8845494793282861, k2[i],
        0.924834003261792, k3[i]))
    CG_STAGE_SHORT(5, 0.3333333333333333, CG_SHORT_3(0.037037037037037035, k0[i], 0.17082860872947386, k3[i],
        0.12546768756682242, k4[i]))
    CG_STAGE_SHORT(6, 0.25, CG_SHORT_4(0.037109375, k0[i], 0.17025221101954405, k3[i], 0.06021653898045596, k4[i],
        -0.017578125, k5[i]))
    CG_STAGE(7, 0.3076923076923077, CG_PLUS_3(0.03709200011850479 * k0[i], 0.17038392571223998, k3[i],
        0.10726203044637328, k4[i], -0.015319437748624402, k5[i]), 0.008273789163814023, 6)
    CG_STAGE(8, 0.6512820512820513, CG_PLUS_4(0.6241109587160757 * k0[i], -3.3608926294469414, k3[i],
        -0.868219346841726, k4[i], 27.59209969944671, k5[i], 20.154067550477894, k6[i]), -43.48988418106996, 7)
    CG_STAGE(9, 0.6, CG_PLUS_5(0.47766253643826434 * k0[i], -2.4881146199716677, k3[i], -0.590290826836843, k4[i],
        21.230051448181193, k5[i], 15.279233632882423, k6[i], -33.28821096898486, k7[i]), -0.020331201708508627, 8)
    CG_STAGE(10, 0.8571428571428571, CG_PLUS_6(-0.9371424300859873 * k0[i], 5.186372428844064, k3[i],
        1.0914373489967295, k4[i], -8.149787010746927, k5[i], -18.52006565999696, k6[i], 22.739487099350505, k7[i],
        2.4936055526796523, k8[i]), -3.0467644718982196, 9)
    CG_STAGE(11, 1.0, CG_PLUS_7(2.273310147516538 * k0[i], -10.53449546673725, k3[i], -2.0008720582248625, k4[i],
        -17.9589318631188, k5[i], 27.94888452941996, k6[i], -2.8589982771350235, k7[i], -8.87285693353063, k8[i],
        12.360567175794303, k9[i]), 0.6433927460157636, 10)
    CG_STAGE_END(CG_PLUS_6(0.054293734116568765 * k0[i], 4.450312892752409, k5[i], 1.8915178993145003, k6[i],
        -5.801203960010585, k7[i], 0.3111643669578199, k8[i], -0.1521609496625161, k9[i],
        0.20136540080403034, k10[i]), 0.04471061572777259, 11)
    return status;
}

#define CG_DOP853_BORDER 6.1 /* stability limit on the negative real axis */
#define CG_DOP853_LAST 11 /* stage */

/* The slope that leads to it. */
CG_WEIGHTED(dop853_last)
{
    CG_NOT_ALL_STAGES
    return CG_PLUS_8(2.273310147516538 * k0[i], -10.53449546673725, k[3 * ld + i], -2.0008720582248625, k[4 * ld + i],
        -17.9589318631188, k[5 * ld + i], 27.94888452941996, k[6 * ld + i], -2.8589982771350235, k[7 * ld + i],
        -8.87285693353063, k[8 * ld + i], 12.360567175794303, k[9 * ld + i], 0.6433927460157636, k[10 * ld + i]);
}

CG_WEIGHTED(dop853_estimate5)
{
    CG_NOT_ALL_STAGES
    return CG_PLUS_7(0.01312004499419488 * k0[i], -1.2251564463762044, k[5 * ld + i],
        -0.4957589496572502, k[6 * ld + i], 1.6643771824549864, k[7 * ld + i], -0.35032884874997366, k[8 * ld + i],
        0.3341791187130175, k[9 * ld + i], 0.08192320648511571, k[10 * ld + i],
        -0.022355307863886294, k[11 * ld + i]);
}

CG_WEIGHTED(dop853_estimate3)
{
    CG_NOT_ALL_STAGES
    return CG_PLUS_7(-0.18980075407240762 * k0[i], 4.450312892752409, k[5 * ld + i],
        1.8915178993145003, k[6 * ld + i], -5.801203960010585, k[7 * ld + i], -0.4226823213237919, k[8 * ld + i],
        -0.1521609496625161, k[9 * ld + i], 0.20136540080403034, k[10 * ld + i], 0.02265179219836082, k[11 * ld + i]);
}

static CG_INLINE cg_real_t CG_FN(dop853_error)(CG_RUN *run, cg_real_t h)
{
    return CG_FN(pair_error_of_two)(run, h, CG_FN(dop853_estimate5), CG_FN(dop853_estimate3));
}

static int CG_FN(dop853_step)(CG_RUN *run)
{
    const cg_control_t control = {0.105, 0.025, 0.85, 0.333, 6.0, 0};
    return CG_FN(adaptive)(run, control, CG_FN(dop853_trial), CG_FN(dop853_error));
}

static const double CG_FN(dop853_d)[4][12] = {
    {-8.428938276109013, 0.5667149535193777, -3.0689499459498917, 2.38466765651207, 2.117034582445028,
        -0.871391583777973, 2.2404374302607883, 0.6315787787694688, -0.08899033645133331, 18.148505520854727,
        -9.194632392478356, -4.436036387594894},
    {10.427508642579134, 242.28349177525817, 165.20045171727028, -374.5467547226902, -22.113666853125306,
        7.733432668472264, -30.674084731089398, -9.332130526430229, 15.697238121770845, -31.139403219565178,
        -9.35292435884448, 35.81684148639408},
    {19.985053242002433, -387.0373087493518, -189.17813819516758, 527.8081592054236, -11.57390253995963,
        6.8812326946963, -1.0006050966910838, 0.7777137798053443, -2.778205752353508, -60.19669523126412,
        84.32040550667716, 11.99229113618279},
    {-25.69393346270375, -154.18974869023643, -231.5293791760455, 357.6391179106141, 93.40532418362432,
        -37.45832313645163, 104.0996495089623, 29.8402934266605, -43.53345659001114, 96.32455395918828,
        -39.17726167561544, -149.72683625798564},
};

CG_BEND(dop853_bend)
{
    CG_NOT_ALL_STAGES
    cg_block_t sum = d[0] * k0[i];
    sum = cg_block_plus(sum, cg_splat(d[1]), k[5 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[2]), k[6 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[3]), k[7 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[4]), k[8 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[5]), k[9 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[6]), k[10 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[7]), k[11 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[8]), end[i]);
    sum = cg_block_plus(sum, cg_splat(d[9]), k[13 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[10]), k[14 * ld + i]);
    sum = cg_block_plus(sum, cg_splat(d[11]), k[15 * ld + i]);
    return sum;
}

static int CG_FN(dop853_dense)(CG_RUN *run)
{
    CG_EXTRA_BEGIN(12)
    CG_STAGE_ROW(5) CG_STAGE_ROW(6) CG_STAGE_ROW(7) CG_STAGE_ROW(8) CG_STAGE_ROW(9) CG_STAGE_ROW(10) CG_STAGE_ROW(11)
        CG_STAGE_ROW(13) CG_STAGE_ROW(14) CG_STAGE_ROW(15)
    CG_STAGE(13, 0.1, CG_PLUS_6(0.056167502283047954 * k0[i], 0.25350021021662483, k6[i], -0.2462390374708025, k7[i],
        -0.12419142326381637, k8[i], 0.15329179827876568, k9[i], 0.00820105229563469, k10[i],
        0.007567897660545699, k11[i]), -0.008298, 12)
    CG_STAGE(14, 0.2, CG_PLUS_6(0.03183464816350214 * k0[i], 0.028300909672366776, k5[i], 0.053541988307438566, k6[i],
        -0.05492374857139099, k7[i], -0.00010834732869724932, k10[i], 0.0003825710908356584, k11[i],
        -0.00034046500868740456, k12[i]), 0.1413124436746325, 13)
    CG_STAGE(15, 0.7777777777777778, CG_PLUS_6(-0.42889630158379194 * k0[i], -4.697621415361164, k5[i],
        7.683421196062599, k6[i], 4.06898981839711, k7[i], 0.3567271874552811, k8[i], -0.0013990241651590145, k12[i],
        2.9475147891527724, k13[i]), -9.15095847217987, 14)
    CG_FN(pair_coefficients)(run, CG_FN(dop853_d)[0], 4, CG_COLUMNS(CG_FN(dop853_d)), CG_FN(dop853_bend));
    return CG_OK;
}
