/* cg_dop853.h: DOP853, order 8 with embedded estimates of order 5 and 3 and an interpolant of order 7.
 * Included by cg_method.h. Coefficients and source: cg_dop853_tableau.h.
 */
#include "cg_dop853_tableau.h"

/* One stage: y = x + h sum, k_s = f(t + c_s h, y). `sum` uses the macro A(j) for a[s][j] k_j. */
#define CG_STAGE(s, ks, sum)                                                          \
    for (int32_t i = 0; i < blocks; i++) {                                            \
        y[i] = x[i] + h * (sum);                                                      \
    }                                                                                 \
    status = CG_FN(stage)(run, t + cg_dop853_c[s] * h, (const double *)y, ks);        \
    if (CG_RARE(status != CG_OK)) {                                                   \
        return status;                                                                \
    }
#define A(s, j) cg_dop853_a[s][j] * k##j[i]

static CG_INLINE int CG_FN(dop853_trial)(cg_run_t *run, double h)
{
    const int32_t blocks = CG_BLOCKS(CG_N(run));
    const double t = run->t;
    const cg_block_t *const CG_RESTRICT x = (const cg_block_t *)run->x;
    cg_block_t *const CG_RESTRICT y = (cg_block_t *)run->x_trial;
    const cg_block_t *const CG_RESTRICT k0 = (const cg_block_t *)run->k;
    cg_block_t *const CG_RESTRICT k1 = (cg_block_t *)run->k + blocks;
    cg_block_t *const CG_RESTRICT k2 = (cg_block_t *)run->k + 2 * blocks;
    cg_block_t *const CG_RESTRICT k3 = (cg_block_t *)run->k + 3 * blocks;
    cg_block_t *const CG_RESTRICT k4 = (cg_block_t *)run->k + 4 * blocks;
    cg_block_t *const CG_RESTRICT k5 = (cg_block_t *)run->k + 5 * blocks;
    cg_block_t *const CG_RESTRICT k6 = (cg_block_t *)run->k + 6 * blocks;
    cg_block_t *const CG_RESTRICT k7 = (cg_block_t *)run->k + 7 * blocks;
    cg_block_t *const CG_RESTRICT k8 = (cg_block_t *)run->k + 8 * blocks;
    cg_block_t *const CG_RESTRICT k9 = (cg_block_t *)run->k + 9 * blocks;
    cg_block_t *const CG_RESTRICT k10 = (cg_block_t *)run->k + 10 * blocks;
    cg_block_t *const CG_RESTRICT k11 = (cg_block_t *)run->k + 11 * blocks;
    int status;

    CG_STAGE(1, k1, A(1, 0))
    CG_STAGE(2, k2, A(2, 0) + A(2, 1))
    CG_STAGE(3, k3, A(3, 0) + A(3, 2))
    CG_STAGE(4, k4, A(4, 0) + A(4, 2) + A(4, 3))
    CG_STAGE(5, k5, A(5, 0) + A(5, 3) + A(5, 4))
    CG_STAGE(6, k6, A(6, 0) + A(6, 3) + A(6, 4) + A(6, 5))
    CG_STAGE(7, k7, A(7, 0) + A(7, 3) + A(7, 4) + A(7, 5) + A(7, 6))
    CG_STAGE(8, k8, A(8, 0) + A(8, 3) + A(8, 4) + A(8, 5) + A(8, 6) + A(8, 7))
    CG_STAGE(9, k9, A(9, 0) + A(9, 3) + A(9, 4) + A(9, 5) + A(9, 6) + A(9, 7) + A(9, 8))
    CG_STAGE(10, k10, A(10, 0) + A(10, 3) + A(10, 4) + A(10, 5) + A(10, 6) + A(10, 7) + A(10, 8) + A(10, 9))
    CG_STAGE(11, k11, A(11, 0) + A(11, 3) + A(11, 4) + A(11, 5) + A(11, 6) + A(11, 7) + A(11, 8) + A(11, 9)
             + A(11, 10))
    for (int32_t i = 0; i < blocks; i++) {
        y[i] = x[i] + h * (A(12, 0) + A(12, 5) + A(12, 6) + A(12, 7) + A(12, 8) + A(12, 9) + A(12, 10) + A(12, 11));
    }
    return CG_OK;
}

#define E(e, j) cg_dop853_##e[j] * k[(j) * ld + i]

/* Hairer, Norsett, Wanner I, section II.10: err = |h| e5^2 / sqrt(e5^2 + 0.01 e3^2), in root mean squares. Sums run
 * in CG_PAD partial sums, so that their order does not depend on how a compiler vectorises. */
static CG_INLINE double CG_FN(dop853_error)(cg_run_t *run, double h)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_PADDED(n);
    const double rtol = run->rtol;
    const double *const CG_RESTRICT x = run->x;
    const double *const CG_RESTRICT y = run->x_trial;
    const double *const CG_RESTRICT k = run->k;
    const double *const CG_RESTRICT atol = run->atol;
    double sum5[CG_PAD] = {0.0, 0.0, 0.0, 0.0};
    double sum3[CG_PAD] = {0.0, 0.0, 0.0, 0.0};

    for (int32_t block = 0; block < ld; block += CG_PAD) {
        for (int32_t lane = 0; lane < CG_PAD; lane++) {
            const int32_t i = block + lane;
            const double weight = 1.0 / cg_step_scale(atol[i], rtol, x[i], y[i]);
            const double e5 = weight * (E(e5, 0) + E(e5, 5) + E(e5, 6) + E(e5, 7) + E(e5, 8) + E(e5, 9)
                                        + E(e5, 10) + E(e5, 11));
            const double e3 = weight * (E(e3, 0) + E(e3, 5) + E(e3, 6) + E(e3, 7) + E(e3, 8) + E(e3, 9)
                                        + E(e3, 10) + E(e3, 11));
            sum5[lane] += e5 * e5;
            sum3[lane] += e3 * e3;
        }
    }
    const double square5 = (sum5[0] + sum5[1]) + (sum5[2] + sum5[3]);
    const double square3 = (sum3[0] + sum3[1]) + (sum3[2] + sum3[3]);
    const double both = square5 + 0.01 * square3;
    return both == 0.0 ? 0.0 : fabs(h) * square5 / sqrt((double)n * both);
}
#undef E

static int CG_FN(dop853_step)(cg_run_t *run)
{
    const CG_FN(controller_t) control = {0.105, 0.025, 0.85, 0.333, 6.0, CG_DOP853_STAGES};
    return CG_FN(adaptive)(run, control, CG_FN(dop853_trial), CG_FN(dop853_error));
}

#define D(m, j) cg_dop853_d[m][j] * k##j[i]
#define CG_DENSE_ROW(m)                                                                                    \
    h * (D(m, 0) + D(m, 5) + D(m, 6) + D(m, 7) + D(m, 8) + D(m, 9) + D(m, 10) + D(m, 11) + D(m, 12) + D(m, 13) \
         + D(m, 14) + D(m, 15))

/* Three more stages and the interpolant in the form of cg_dense_evaluate. */
static int CG_FN(dop853_dense)(cg_run_t *run)
{
    const int32_t blocks = CG_BLOCKS(CG_N(run));
    const double t = run->t_old;
    const double h = run->t - run->t_old;
    const cg_block_t *const CG_RESTRICT x = (const cg_block_t *)run->x_old;
    const cg_block_t *const CG_RESTRICT x_end = (const cg_block_t *)run->x;
    cg_block_t *const CG_RESTRICT y = (cg_block_t *)run->x_trial;
    cg_block_t *const CG_RESTRICT coef = (cg_block_t *)run->coef;
    const cg_block_t *const CG_RESTRICT k0 = (const cg_block_t *)run->k;
    const cg_block_t *const CG_RESTRICT k5 = (const cg_block_t *)run->k + 5 * blocks;
    const cg_block_t *const CG_RESTRICT k6 = (const cg_block_t *)run->k + 6 * blocks;
    const cg_block_t *const CG_RESTRICT k7 = (const cg_block_t *)run->k + 7 * blocks;
    const cg_block_t *const CG_RESTRICT k8 = (const cg_block_t *)run->k + 8 * blocks;
    const cg_block_t *const CG_RESTRICT k9 = (const cg_block_t *)run->k + 9 * blocks;
    const cg_block_t *const CG_RESTRICT k10 = (const cg_block_t *)run->k + 10 * blocks;
    const cg_block_t *const CG_RESTRICT k11 = (const cg_block_t *)run->k + 11 * blocks;
    const cg_block_t *const CG_RESTRICT k12 = (const cg_block_t *)run->k + 12 * blocks;
    cg_block_t *const CG_RESTRICT k13 = (cg_block_t *)run->k + 13 * blocks;
    cg_block_t *const CG_RESTRICT k14 = (cg_block_t *)run->k + 14 * blocks;
    cg_block_t *const CG_RESTRICT k15 = (cg_block_t *)run->k + 15 * blocks;
    int status;

    CG_STAGE(13, k13, A(13, 0) + A(13, 6) + A(13, 7) + A(13, 8) + A(13, 9) + A(13, 10) + A(13, 11) + A(13, 12))
    CG_STAGE(14, k14, A(14, 0) + A(14, 5) + A(14, 6) + A(14, 7) + A(14, 10) + A(14, 11) + A(14, 12) + A(14, 13))
    CG_STAGE(15, k15, A(15, 0) + A(15, 5) + A(15, 6) + A(15, 7) + A(15, 8) + A(15, 12) + A(15, 13) + A(15, 14))
    for (int32_t i = 0; i < blocks; i++) {
        const cg_block_t change = x_end[i] - x[i];
        const cg_block_t bend = h * k0[i] - change;
        coef[i] = x[i];
        coef[blocks + i] = change;
        coef[2 * blocks + i] = bend;
        coef[3 * blocks + i] = change - h * k12[i] - bend;
        coef[4 * blocks + i] = CG_DENSE_ROW(0);
        coef[5 * blocks + i] = CG_DENSE_ROW(1);
        coef[6 * blocks + i] = CG_DENSE_ROW(2);
        coef[7 * blocks + i] = CG_DENSE_ROW(3);
    }
    run->have_dense = 1;
    return CG_OK;
}
#undef CG_DENSE_ROW
#undef D
#undef A
#undef CG_STAGE
