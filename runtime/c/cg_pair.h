/* cg_pair.h: shared by the embedded Runge-Kutta pairs. Included by cg_method.h, before them.
 *
 * A pair defines CG_TABLEAU(name), the prefixed name of its coefficients, and undefines it at its end.
 */

/* For use in functions with these names: run, n, ld, t, h, status, x (the state at t), y (the state of a stage), end
 * (the state at the end of the step), k0, k1, ... */
#define CG_STAGE_ROW(s) cg_real_t *const CG_RESTRICT k##s = CG_REALS(run->k) + (s) * ld;

#define CG_TERM(s, j) CG_TABLEAU(a)[s][j] * k##j[i]

/* The state of a stage, and the state at the end of the step. If the right-hand side is inlined in the stage, the
 * former need not be written to memory. */
#if CG_COPIED
#define CG_STAGE_SPACE cg_real_t y[CG_N(run)];
#define CG_STAGE_TARGET cg_real_t *const CG_RESTRICT end = CG_REALS(run->x_trial);
#else
#define CG_STAGE_SPACE cg_real_t *const CG_RESTRICT y = CG_REALS(run->x_trial);
#define CG_STAGE_TARGET cg_real_t *const end = y;
#endif

/* to = x + h sum_j a[s][j] k_j. The newest k_j is added last and separately: small systems are limited by the latency
 * from one stage to the next, and this way two fewer operations wait for it. */
#define CG_STAGE_STATE(to, s, sum, last)                                        \
    for (int32_t i = 0; i < n; i++) {                                           \
        (to)[i] = (x[i] + h * (sum)) + h * CG_TABLEAU(a)[s][last] * k##last[i]; \
    }

/* The state at the end of the step. */
#define CG_STAGE_END(s, sum, last) CG_STAGE_STATE(end, s, sum, last)

/* k_s = f(t + c_s h, y) */
#define CG_STAGE(s, sum, last)                                   \
    CG_STAGE_STATE(y, s, sum, last)                              \
    status = CG_FN(rhs)(run, t + CG_TABLEAU(c)[s] * h, y, k##s); \
    if (CG_RARE(status != CG_OK)) {                              \
        return status;                                           \
    }

/* A pair's sum over the stages for component (or block) i, divided by h: of its error estimate with the weights e, of
 * a row of its interpolant with the weights d. `k0` and `end` are the derivatives at both ends of the step, the others
 * are rows of k. */
typedef cg_real_t (*CG_FN(estimate_t))(const cg_real_t *k0, const cg_real_t *k, const cg_real_t *end, int32_t ld,
                                       int32_t i);
typedef cg_block_t (*CG_FN(bend_t))(const double *d, const cg_block_t *k0, const cg_block_t *k, const cg_block_t *end,
                                    int32_t ld, int32_t i);

/* The square of the error estimate's root mean square in units of the tolerance. Sums use CG_PAD partial sums, so
 * that their order does not depend on how a compiler vectorises. */
static CG_INLINE cg_real_t CG_FN(pair_error)(CG_RUN *run, cg_real_t h, CG_FN(estimate_t) estimate)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_ROWS(n);
    const double rtol = run->rtol;
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x);
    const cg_real_t *const CG_RESTRICT y = CG_REALS(run->x_trial);
    const double *const CG_RESTRICT atol = run->atol;
    cg_real_t sum[CG_PAD] = {0};

    CG_UNROLL
    for (int32_t block = 0; block < ld; block += CG_PAD) {
        CG_UNROLL
        for (int32_t lane = 0; lane < CG_PAD; lane++) {
            const int32_t i = block + lane;
            if (CG_LANES > 1 && i >= ld) {
                break;
            }
            const cg_real_t e = estimate(CG_REALS(run->f), CG_REALS(run->k), CG_REALS(run->f_old), ld, i)
                / cg_step_scale(atol[i], rtol, x[i], y[i]);
            sum[lane] += e * e;
        }
    }
    return (h * h) * ((sum[0] + sum[1]) + (sum[2] + sum[3])) / (double)n;
}

/* The interpolant in the form of cg_dense_evaluate, with `bends` rows above the cubic; width: the row length of d. */
static CG_INLINE void CG_FN(pair_coefficients)(CG_RUN *run, const double *d, int32_t bends, int32_t width,
                                               CG_FN(bend_t) bend_of)
{
    const int32_t ld = CG_ROWS(CG_N(run)) / CG_WIDTH;
    const cg_real_t h = CG_T(run) - CG_T_OLD(run);
    const cg_block_t *const CG_RESTRICT x_old = (const cg_block_t *)(const void *)run->x_old;
    const cg_block_t *const CG_RESTRICT x = (const cg_block_t *)(const void *)run->x;
    const cg_block_t *const CG_RESTRICT f_old = (const cg_block_t *)(const void *)run->f_old;
    const cg_block_t *const CG_RESTRICT f = (const cg_block_t *)(const void *)run->f;
    const cg_block_t *const CG_RESTRICT k = (const cg_block_t *)(const void *)run->k;
    cg_block_t *const CG_RESTRICT coef = (cg_block_t *)(void *)run->coef;

    for (int32_t i = 0; i < ld; i++) {
        const cg_block_t change = x[i] - x_old[i];
        const cg_block_t bend = h * f_old[i] - change;
        coef[i] = x_old[i];
        coef[ld + i] = change;
        coef[2 * ld + i] = bend;
        coef[3 * ld + i] = change - h * f[i] - bend;
        for (int32_t m = 0; m < bends; m++) {
            coef[(4 + m) * ld + i] = h * bend_of(d + m * width, f_old, k, f, ld, i);
        }
    }
    run->have_dense = 1;
}
