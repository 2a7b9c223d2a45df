/* cg_dop853.h: DOP853, order 8 with embedded estimates of order 5 and 3 and an interpolant of order 7.
 * Included by cg_method.h. Coefficients and source: cg_dop853_tableau.h.
 */
#include "cg_dop853_tableau.h"

#define CG_TABLEAU(name) cg_dop853_##name
#define A(s, j) CG_TERM(s, j)

static CG_INLINE int CG_FN(dop853_trial)(CG_RUN *run, cg_real_t t, cg_real_t h)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_ROWS(n);
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x);
    CG_STAGE_SPACE
    CG_STAGE_TARGET
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f);
    CG_STAGE_ROW(1) CG_STAGE_ROW(2) CG_STAGE_ROW(3) CG_STAGE_ROW(4) CG_STAGE_ROW(5) CG_STAGE_ROW(6) CG_STAGE_ROW(7)
    CG_STAGE_ROW(8) CG_STAGE_ROW(9) CG_STAGE_ROW(10) CG_STAGE_ROW(11)
    int status;

    CG_STAGE(1, 0.0, 0)
    CG_STAGE(2, A(2, 0), 1)
    CG_STAGE(3, A(3, 0), 2)
    CG_STAGE(4, A(4, 0) + A(4, 2), 3)
    CG_STAGE(5, A(5, 0) + A(5, 3), 4)
    CG_STAGE(6, A(6, 0) + A(6, 3) + A(6, 4), 5)
    CG_STAGE(7, A(7, 0) + A(7, 3) + A(7, 4) + A(7, 5), 6)
    CG_STAGE(8, A(8, 0) + A(8, 3) + A(8, 4) + A(8, 5) + A(8, 6), 7)
    CG_STAGE(9, A(9, 0) + A(9, 3) + A(9, 4) + A(9, 5) + A(9, 6) + A(9, 7), 8)
    CG_STAGE(10, A(10, 0) + A(10, 3) + A(10, 4) + A(10, 5) + A(10, 6) + A(10, 7) + A(10, 8), 9)
    CG_STAGE(11, A(11, 0) + A(11, 3) + A(11, 4) + A(11, 5) + A(11, 6) + A(11, 7) + A(11, 8)
             + A(11, 9), 10)
    CG_STAGE_END(12, A(12, 0) + A(12, 5) + A(12, 6) + A(12, 7) + A(12, 8) + A(12, 9) + A(12, 10), 11)
    return CG_OK;
}

#define E(e, j) CG_TABLEAU(e)[j] * k[(j) * ld + i]
#define E0(e) CG_TABLEAU(e)[0] * k0[i]

/* Hairer, Norsett, Wanner I, section II.10: err = |h| e5^2 / sqrt(e5^2 + 0.01 e3^2), in root mean squares; here its
 * square. Sums use CG_PAD partial sums, so that their order does not depend on how a compiler vectorises. */
static CG_INLINE cg_real_t CG_FN(dop853_error)(CG_RUN *run, cg_real_t h)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_ROWS(n);
    const double rtol = run->rtol;
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x);
    const cg_real_t *const CG_RESTRICT y = CG_REALS(run->x_trial);
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f);
    const cg_real_t *const CG_RESTRICT k = CG_REALS(run->k);
    const double *const CG_RESTRICT atol = run->atol;
    cg_real_t sum5[CG_PAD] = {0};
    cg_real_t sum3[CG_PAD] = {0};

    CG_UNROLL
    for (int32_t block = 0; block < ld; block += CG_PAD) {
        CG_UNROLL
        for (int32_t lane = 0; lane < CG_PAD; lane++) {
            const int32_t i = block + lane;
            if (CG_LANES > 1 && i >= ld) {
                break;
            }
            const cg_real_t weight = 1.0 / cg_step_scale(atol[i], rtol, x[i], y[i]);
            const cg_real_t e5 = weight * (E0(e5) + E(e5, 5) + E(e5, 6) + E(e5, 7) + E(e5, 8) + E(e5, 9)
                                           + E(e5, 10) + E(e5, 11));
            const cg_real_t e3 = weight * (E0(e3) + E(e3, 5) + E(e3, 6) + E(e3, 7) + E(e3, 8) + E(e3, 9)
                                           + E(e3, 10) + E(e3, 11));
            sum5[lane] += e5 * e5;
            sum3[lane] += e3 * e3;
        }
    }
    const cg_real_t square5 = (sum5[0] + sum5[1]) + (sum5[2] + sum5[3]);
    const cg_real_t square3 = (sum3[0] + sum3[1]) + (sum3[2] + sum3[3]);
    const cg_real_t both = square5 + 0.01 * square3;
    return cg_where(cg_eq(both, cg_splat(0.0)), both, (h * h) * (square5 * square5) / ((double)n * both));
}
#undef E0
#undef E

static int CG_FN(dop853_step)(CG_RUN *run)
{
    const cg_control_t control = {0.105, 0.025, 0.85, 0.333, 6.0, 0};
    return CG_FN(adaptive)(run, control, CG_FN(dop853_trial), CG_FN(dop853_error));
}

#define D(j) d[j] * k[(j) * ld + i]
static CG_INLINE cg_block_t CG_FN(dop853_bend)(const double *d, const cg_block_t *k0, const cg_block_t *k,
                                               const cg_block_t *end, int32_t ld, int32_t i)
{
    return d[0] * k0[i] + D(5) + D(6) + D(7) + D(8) + D(9) + D(10) + D(11) + d[12] * end[i] + D(13) + D(14) + D(15);
}
#undef D

/* Three more stages, then the coefficients. */
static int CG_FN(dop853_dense)(CG_RUN *run)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_ROWS(n);
    const cg_real_t t = CG_T_OLD(run);
    const cg_real_t h = CG_T(run) - t;
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x_old);
    CG_STAGE_SPACE
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f_old);
    const cg_real_t *const CG_RESTRICT k12 = CG_REALS(run->f);
    CG_STAGE_ROW(5) CG_STAGE_ROW(6) CG_STAGE_ROW(7) CG_STAGE_ROW(8) CG_STAGE_ROW(9) CG_STAGE_ROW(10) CG_STAGE_ROW(11)
    CG_STAGE_ROW(13) CG_STAGE_ROW(14) CG_STAGE_ROW(15)
    int status;

    CG_STAGE(13, A(13, 0) + A(13, 6) + A(13, 7) + A(13, 8) + A(13, 9) + A(13, 10) + A(13, 11), 12)
    CG_STAGE(14, A(14, 0) + A(14, 5) + A(14, 6) + A(14, 7) + A(14, 10) + A(14, 11) + A(14, 12), 13)
    CG_STAGE(15, A(15, 0) + A(15, 5) + A(15, 6) + A(15, 7) + A(15, 8) + A(15, 12) + A(15, 13), 14)
    CG_FN(pair_coefficients)(run, &CG_TABLEAU(d)[0][0], CG_DOP853_DENSE - 4, CG_DOP853_ALL, CG_FN(dop853_bend));
    return CG_OK;
}
#undef A
#undef CG_TABLEAU
