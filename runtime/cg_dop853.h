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
    cg_real_t *const CG_RESTRICT y = CG_REALS(run->x_trial);
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f);
    cg_real_t *const CG_RESTRICT k1 = CG_REALS(run->k) + ld;
    cg_real_t *const CG_RESTRICT k2 = CG_REALS(run->k) + 2 * ld;
    cg_real_t *const CG_RESTRICT k3 = CG_REALS(run->k) + 3 * ld;
    cg_real_t *const CG_RESTRICT k4 = CG_REALS(run->k) + 4 * ld;
    cg_real_t *const CG_RESTRICT k5 = CG_REALS(run->k) + 5 * ld;
    cg_real_t *const CG_RESTRICT k6 = CG_REALS(run->k) + 6 * ld;
    cg_real_t *const CG_RESTRICT k7 = CG_REALS(run->k) + 7 * ld;
    cg_real_t *const CG_RESTRICT k8 = CG_REALS(run->k) + 8 * ld;
    cg_real_t *const CG_RESTRICT k9 = CG_REALS(run->k) + 9 * ld;
    cg_real_t *const CG_RESTRICT k10 = CG_REALS(run->k) + 10 * ld;
    cg_real_t *const CG_RESTRICT k11 = CG_REALS(run->k) + 11 * ld;
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
    CG_STAGE_STATE(12, A(12, 0) + A(12, 5) + A(12, 6) + A(12, 7) + A(12, 8) + A(12, 9) + A(12, 10), 11)
    return CG_OK;
}

#define E(e, j) cg_dop853_##e[j] * k[(j) * ld + i]
#define E0(e) cg_dop853_##e[0] * k0[i]

/* Hairer, Norsett, Wanner I, section II.10: err = |h| e5^2 / sqrt(e5^2 + 0.01 e3^2), in root mean squares; here its
 * square. Sums run in CG_PAD partial sums, so that their order does not depend on how a compiler vectorises. */
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

    for (int32_t block = 0; block < ld; block += CG_PAD) {
        for (int32_t lane = 0; lane < CG_PAD && block + lane < ld; lane++) {
            const int32_t i = block + lane;
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

#define D(m, j) cg_dop853_d[m][j] * k[(j) * blocks + i]
#define CG_DENSE_ROW(m)                                                                                             \
    h * (cg_dop853_d[m][0] * f_old[i] + D(m, 5) + D(m, 6) + D(m, 7) + D(m, 8) + D(m, 9) + D(m, 10) + D(m, 11)       \
         + cg_dop853_d[m][12] * f[i] + D(m, 13) + D(m, 14) + D(m, 15))

/* The interpolant in the form of cg_dense_evaluate. */
static void CG_FN(dop853_coefficients)(CG_RUN *run)
{
    const int32_t blocks = CG_ROWS(CG_N(run)) / CG_WIDTH;
    const cg_real_t h = CG_T(run) - CG_T_OLD(run);
    const cg_block_t *const CG_RESTRICT x_old = (const cg_block_t *)(const void *)run->x_old;
    const cg_block_t *const CG_RESTRICT x = (const cg_block_t *)(const void *)run->x;
    const cg_block_t *const CG_RESTRICT f_old = (const cg_block_t *)(const void *)run->f_old;
    const cg_block_t *const CG_RESTRICT f = (const cg_block_t *)(const void *)run->f;
    const cg_block_t *const CG_RESTRICT k = (const cg_block_t *)(const void *)run->k;
    cg_block_t *const CG_RESTRICT coef = (cg_block_t *)(void *)run->coef;

    for (int32_t i = 0; i < blocks; i++) {
        const cg_block_t change = x[i] - x_old[i];
        const cg_block_t bend = h * f_old[i] - change;
        coef[i] = x_old[i];
        coef[blocks + i] = change;
        coef[2 * blocks + i] = bend;
        coef[3 * blocks + i] = change - h * f[i] - bend;
        coef[4 * blocks + i] = CG_DENSE_ROW(0);
        coef[5 * blocks + i] = CG_DENSE_ROW(1);
        coef[6 * blocks + i] = CG_DENSE_ROW(2);
        coef[7 * blocks + i] = CG_DENSE_ROW(3);
    }
}
#undef CG_DENSE_ROW
#undef D

/* Three more stages, then the coefficients. */
static int CG_FN(dop853_dense)(CG_RUN *run)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_ROWS(n);
    const cg_real_t t = CG_T_OLD(run);
    const cg_real_t h = CG_T(run) - t;
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x_old);
    cg_real_t *const CG_RESTRICT y = CG_REALS(run->x_trial);
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f_old);
    const cg_real_t *const CG_RESTRICT k5 = CG_REALS(run->k) + 5 * ld;
    const cg_real_t *const CG_RESTRICT k6 = CG_REALS(run->k) + 6 * ld;
    const cg_real_t *const CG_RESTRICT k7 = CG_REALS(run->k) + 7 * ld;
    const cg_real_t *const CG_RESTRICT k8 = CG_REALS(run->k) + 8 * ld;
    const cg_real_t *const CG_RESTRICT k9 = CG_REALS(run->k) + 9 * ld;
    const cg_real_t *const CG_RESTRICT k10 = CG_REALS(run->k) + 10 * ld;
    const cg_real_t *const CG_RESTRICT k11 = CG_REALS(run->k) + 11 * ld;
    const cg_real_t *const CG_RESTRICT k12 = CG_REALS(run->f);
    cg_real_t *const CG_RESTRICT k13 = CG_REALS(run->k) + 13 * ld;
    cg_real_t *const CG_RESTRICT k14 = CG_REALS(run->k) + 14 * ld;
    cg_real_t *const CG_RESTRICT k15 = CG_REALS(run->k) + 15 * ld;
    int status;

    CG_STAGE(13, A(13, 0) + A(13, 6) + A(13, 7) + A(13, 8) + A(13, 9) + A(13, 10) + A(13, 11), 12)
    CG_STAGE(14, A(14, 0) + A(14, 5) + A(14, 6) + A(14, 7) + A(14, 10) + A(14, 11) + A(14, 12), 13)
    CG_STAGE(15, A(15, 0) + A(15, 5) + A(15, 6) + A(15, 7) + A(15, 8) + A(15, 12) + A(15, 13), 14)
    CG_FN(dop853_coefficients)(run);
    run->have_dense = 1;
    return CG_OK;
}
#undef A
#undef CG_TABLEAU
