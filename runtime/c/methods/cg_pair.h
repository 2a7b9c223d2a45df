/* cg_pair.h: shared by the embedded Runge-Kutta pairs, whose headers are made from codegen/methods/pairs. Included by
 * cg_method.h, before them.
 */

/* Stage s: a row of k, or over lanes, if nothing needs it after the trial, an array that compilers keep in registers,
 * where they leave out the components that no later stage reads. The adjoint of a single run needs all stages. */
#define CG_STAGE_ROW(s) cg_real_t *const CG_RESTRICT k##s = CG_REALS(run->k) + (s) * ld;
#if CG_COPIED && CG_LANES > 1
#define CG_STAGE_PASSING(s) cg_real_t k##s[CG_N(run)];
#else
#define CG_STAGE_PASSING(s) CG_STAGE_ROW(s)
#endif

/* The state of a stage, and the state at the end of the step. If the right-hand side is inlined in the stage, the
 * former need not be written to memory. */
#if CG_COPIED
#define CG_STAGE_SPACE cg_real_t y[CG_N(run)];
#define CG_STAGE_TARGET cg_real_t *const CG_RESTRICT end = CG_REALS(run->x_trial);
#else
#define CG_STAGE_SPACE cg_real_t *const CG_RESTRICT y = CG_REALS(run->x_trial);
#define CG_STAGE_TARGET cg_real_t *const end = y;
#endif

/* The beginning of a trial step, with k0 the derivative at its start. */
#define CG_TRIAL_BEGIN                                        \
    const int32_t n = CG_N(run);                              \
    const int32_t ld = CG_ROWS(n);                            \
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x);  \
    CG_STAGE_SPACE                                            \
    CG_STAGE_TARGET                                           \
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f); \
    int status = CG_OK;                                       \
    (void)ld, (void)t, (void)y;

/* The beginning of more stages in the last step, for its interpolant; `last` is the derivative at its end. */
#define CG_EXTRA_BEGIN(last)                                         \
    const CG_FN(slope_t) slope = CG_FN(rhs);                         \
    const int32_t n = CG_N(run);                                     \
    const int32_t ld = CG_ROWS(n);                                   \
    const cg_real_t t = CG_T_OLD(run);                               \
    const cg_real_t h = CG_T(run) - t;                               \
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x_old);     \
    CG_STAGE_SPACE                                                   \
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f_old);    \
    const cg_real_t *const CG_RESTRICT k##last = CG_REALS(run->f);   \
    int status = CG_OK;                                              \
    (void)k0, (void)k##last;

/* Before a loop over the states of a stage. The derivatives of few states are summed one by one: as a block each would
 * wait for the slowest of all, a sine for instance, where the next stage needs the others first. */
#if CG_APART
#define CG_STATES_OF_STAGE _Pragma("GCC unroll 16")
#elif !CG_COPIED && defined(__GNUC__) && !defined(__clang__)
/* For any number of states: GCC compares the rows of a stage for overlaps before the loop, and gives up with many rows. */
#define CG_STATES_OF_STAGE _Pragma("GCC ivdep")
#else
#define CG_STATES_OF_STAGE
#endif

/* A sum and more products, added from the left: weight, factor, weight, factor, ... */
#define CG_PLUS_1(sum, weight, a) cg_plus(sum, weight, a)
#define CG_PLUS_2(sum, weight, a, ...) CG_PLUS_1(cg_plus(sum, weight, a), __VA_ARGS__)
#define CG_PLUS_3(sum, weight, a, ...) CG_PLUS_2(cg_plus(sum, weight, a), __VA_ARGS__)
#define CG_PLUS_4(sum, weight, a, ...) CG_PLUS_3(cg_plus(sum, weight, a), __VA_ARGS__)
#define CG_PLUS_5(sum, weight, a, ...) CG_PLUS_4(cg_plus(sum, weight, a), __VA_ARGS__)
#define CG_PLUS_6(sum, weight, a, ...) CG_PLUS_5(cg_plus(sum, weight, a), __VA_ARGS__)
#define CG_PLUS_7(sum, weight, a, ...) CG_PLUS_6(cg_plus(sum, weight, a), __VA_ARGS__)
#define CG_PLUS_8(sum, weight, a, ...) CG_PLUS_7(cg_plus(sum, weight, a), __VA_ARGS__)
#define CG_PLUS_9(sum, weight, a, ...) CG_PLUS_8(cg_plus(sum, weight, a), __VA_ARGS__)
#define CG_PLUS_10(sum, weight, a, ...) CG_PLUS_9(cg_plus(sum, weight, a), __VA_ARGS__)
#define CG_PLUS_11(sum, weight, a, ...) CG_PLUS_10(cg_plus(sum, weight, a), __VA_ARGS__)
#define CG_PLUS_12(sum, weight, a, ...) CG_PLUS_11(cg_plus(sum, weight, a), __VA_ARGS__)

/* to = x + h (sum + weight k_last). The newest stage is added last and separately: small systems are limited by the
 * latency from one stage to the next, and this way only one operation waits for it. */
#define CG_STAGE_STATE(to, sum, weight, last)                            \
    CG_STATES_OF_STAGE                                                   \
    for (int32_t i = 0; i < n; i++) {                                    \
        (to)[i] = cg_fma(h * (weight), k##last[i], cg_fma(h, sum, x[i])); \
    }

/* x and the products of stages with weights times h, from the left: for sums so short that these weights, one
 * multiplication each for all components, are fewer operations than h times the sum in every component. */
#define CG_SHORT_1(weight, a) cg_fma(h * (weight), a, x[i])
#define CG_SHORT_2(w, b, weight, a) cg_fma(h * (weight), a, CG_SHORT_1(w, b))
#define CG_SHORT_3(v, c, w, b, weight, a) cg_fma(h * (weight), a, CG_SHORT_2(v, c, w, b))
#define CG_SHORT_4(u, d, v, c, w, b, weight, a) cg_fma(h * (weight), a, CG_SHORT_3(u, d, v, c, w, b))

/* The state at the end of the step. */
#define CG_STAGE_END(sum, weight, last) CG_STAGE_STATE(end, sum, weight, last)

/* k_s = f(t + node h, y), with y known or as CG_STAGE_STATE has it */
#define CG_STAGE_SLOPE(s, node)                        \
    status = slope(run, cg_plus(t, node, h), y, k##s); \
    if (CG_RARE(status != CG_OK)) {                    \
        return status;                                 \
    }
#define CG_STAGE(s, node, sum, weight, last)           \
    CG_STAGE_STATE(y, sum, weight, last)               \
    CG_STAGE_SLOPE(s, node)

#define CG_STAGE_SHORT(s, node, state)                 \
    CG_STATES_OF_STAGE                                 \
    for (int32_t i = 0; i < n; i++) {                  \
        y[i] = state;                                  \
    }                                                  \
    CG_STAGE_SLOPE(s, node)

/* A weighted sum of a pair's stages for component (or block) i: an error estimate divided by h, or with the weights d a
 * row of the interpolant. `k0` and `end` are the derivatives at both ends of the step, the others are rows of k. */
#define CG_WEIGHTED(name)                                                                                             \
    static CG_INLINE cg_real_t CG_FN(name)(const cg_real_t *k0, const cg_real_t *k, const cg_real_t *end, int32_t ld, \
                                           int32_t i)
#define CG_BEND(name)                                                                                                 \
    static CG_INLINE cg_block_t CG_FN(name)(const double *d, const cg_block_t *k0, const cg_block_t *k,               \
                                            const cg_block_t *end, int32_t ld, int32_t i)
#define CG_NOT_ALL_STAGES (void)k0, (void)k, (void)end, (void)ld;
#define CG_COLUMNS(d) (int32_t)(sizeof (d)[0] / sizeof(double))

typedef cg_real_t (*CG_FN(estimate_t))(const cg_real_t *k0, const cg_real_t *k, const cg_real_t *end, int32_t ld,
                                       int32_t i);
typedef cg_block_t (*CG_FN(bend_t))(const double *d, const cg_block_t *k0, const cg_block_t *k, const cg_block_t *end,
                                    int32_t ld, int32_t i);

/* The sum of the squares of an error estimate, divided by h and in units of the tolerance, over some components. It uses
 * CG_PAD partial sums, so that their order does not depend on how a compiler vectorises. */
static CG_INLINE cg_real_t CG_FN(pair_sum)(const CG_RUN *run, CG_FN(estimate_t) estimate, int32_t first, int32_t last)
{
    const int32_t ld = CG_ROWS(CG_N(run));
    const double rtol = run->rtol;
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x);
    const cg_real_t *const CG_RESTRICT y = CG_REALS(run->x_trial);
    const double *const CG_RESTRICT atol = run->atol;
    cg_real_t sum[CG_PAD] = {0};

    CG_UNROLL
    for (int32_t block = first; block < last; block += CG_PAD) {
        CG_UNROLL
        for (int32_t lane = 0; lane < CG_PAD; lane++) {
            const int32_t i = block + lane;
            if (CG_LANES > 1 && i >= last) {
                break;
            }
            const cg_real_t weight = cg_step_reciprocal(cg_step_scale(atol[i], rtol, x[i], y[i]));
            const cg_real_t e = weight * estimate(CG_REALS(run->f), CG_REALS(run->k), CG_REALS(run->f_old), ld, i);
            sum[lane] = cg_fma(e, e, sum[lane]);
        }
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The square of the error estimate's root mean square in units of the tolerance; with tangents, the larger one of the
 * states' and of theirs, so that a run with tangents takes no longer steps than one without. */
static CG_INLINE cg_real_t CG_FN(pair_error)(CG_RUN *run, cg_real_t h, CG_FN(estimate_t) estimate)
{
    const int32_t own = CG_ROWS(CG_OWN(run));
    cg_real_t square = (h * h) * CG_FN(pair_sum)(run, estimate, 0, own) * (1.0 / (double)CG_OWN(run));
    if (CG_TANGENTS(run) > 0) {
        const cg_real_t sum = CG_FN(pair_sum)(run, estimate, own, CG_ROWS(CG_N(run)));
        square = cg_larger(square, (h * h) * sum * (1.0 / (double)CG_TANGENTS(run)));
    }
    return square;
}

/* `pair_error_of_two` of some components, `count` of which are not zeros. */
static CG_INLINE cg_real_t CG_FN(pair_square_of_two)(const CG_RUN *run, cg_real_t h, CG_FN(estimate_t) high,
                                                     CG_FN(estimate_t) low, int32_t first, int32_t last, int32_t count)
{
    const int32_t ld = CG_ROWS(CG_N(run));
    const double rtol = run->rtol;
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x);
    const cg_real_t *const CG_RESTRICT y = CG_REALS(run->x_trial);
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f);
    const cg_real_t *const CG_RESTRICT k = CG_REALS(run->k);
    const cg_real_t *const CG_RESTRICT end = CG_REALS(run->f_old);
    const double *const CG_RESTRICT atol = run->atol;
    cg_real_t sum5[CG_PAD] = {0};
    cg_real_t sum3[CG_PAD] = {0};

    CG_UNROLL
    for (int32_t block = first; block < last; block += CG_PAD) {
        CG_UNROLL
        for (int32_t lane = 0; lane < CG_PAD; lane++) {
            const int32_t i = block + lane;
            if (CG_LANES > 1 && i >= last) {
                break;
            }
            const cg_real_t weight = cg_step_reciprocal(cg_step_scale(atol[i], rtol, x[i], y[i]));
            const cg_real_t e5 = weight * high(k0, k, end, ld, i);
            const cg_real_t e3 = weight * low(k0, k, end, ld, i);
            sum5[lane] = cg_fma(e5, e5, sum5[lane]);
            sum3[lane] = cg_fma(e3, e3, sum3[lane]);
        }
    }
    const cg_real_t square5 = (sum5[0] + sum5[1]) + (sum5[2] + sum5[3]);
    const cg_real_t square3 = (sum3[0] + sum3[1]) + (sum3[2] + sum3[3]);
    const cg_real_t both = cg_plus(square5, 0.01, square3);
    return cg_where(cg_eq(both, cg_splat(0.0)), both, (h * h) * (square5 * square5) / ((double)count * both));
}

/* The same for two estimates, of higher and of lower order. E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary
 * Differential Equations I, section II.10: err = |h| e5^2 / sqrt(e5^2 + 0.01 e3^2), in root mean squares; here its
 * square. */
static CG_INLINE cg_real_t CG_FN(pair_error_of_two)(CG_RUN *run, cg_real_t h, CG_FN(estimate_t) high,
                                                    CG_FN(estimate_t) low)
{
    const int32_t own = CG_ROWS(CG_OWN(run));
    cg_real_t square = CG_FN(pair_square_of_two)(run, h, high, low, 0, own, CG_OWN(run));
    if (CG_TANGENTS(run) > 0) {
        const cg_real_t theirs =
            CG_FN(pair_square_of_two)(run, h, high, low, own, CG_ROWS(CG_N(run)), CG_TANGENTS(run));
        square = cg_larger(square, theirs);
    }
    return square;
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
        const cg_block_t bend = cg_block_plus(-change, h, f_old[i]);
        coef[i] = x_old[i];
        coef[ld + i] = change;
        coef[2 * ld + i] = bend;
        coef[3 * ld + i] = cg_block_plus(change, -h, f[i]) - bend;
        for (int32_t m = 0; m < bends; m++) {
            coef[(4 + m) * ld + i] = h * bend_of(d + m * width, f_old, k, f, ld, i);
        }
    }
    run->have_dense = 1;
}
