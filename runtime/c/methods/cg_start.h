/* cg_start.h: the first step of a run. Included by cg_method.h.
 *
 * E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, section II.4, "starting step size",
 * without the second derivative, which costs a call of the right-hand side: the state changes by at most its own size,
 * and slope h^order is a tenth of the tolerance. Over the catalogue this takes no more steps.
 */

#define CG_LOG_TENTH -3.321928094887362 /* to base 2 */

/* The sum of the squares of some components of v in units of the tolerance between x and y. */
static CG_INLINE cg_real_t CG_FN(squares)(const CG_RUN *run, const cg_real_t *v, const cg_real_t *x,
                                          const cg_real_t *y, int32_t from, int32_t to)
{
    cg_real_t sum = cg_splat(0.0);
    for (int32_t i = from; i < to; i++) {
        const cg_real_t scaled = v[i] * cg_step_reciprocal(cg_step_scale(run->atol[i], run->rtol, x[i], y[i]));
        sum = cg_fma(scaled, scaled, sum);
    }
    return sum;
}

/* The mean square of v in units of the tolerance at x; with tangents, the larger one of the states and of these. */
static CG_INLINE cg_real_t CG_FN(mean_square)(const CG_RUN *run, const cg_real_t *v)
{
    const cg_real_t *const x = CG_REALS(run->x);
    cg_real_t square = CG_FN(squares)(run, v, x, x, 0, CG_OWN(run)) * (1.0 / (double)CG_OWN(run));
    if (CG_TANGENTS(run) > 0) {
        const cg_real_t sum = CG_FN(squares)(run, v, x, x, CG_ROWS(CG_OWN(run)), CG_N(run));
        square = cg_larger(square, sum * (1.0 / (double)CG_TANGENTS(run)));
    }
    return square;
}

/* The first step, from x and f; sizes are squared, which saves roots and quotients. */
static CG_INLINE cg_real_t CG_FN(first)(const CG_RUN *run, cg_real_t longest)
{
    const cg_real_t size = CG_FN(mean_square)(run, CG_REALS(run->x));
    const cg_real_t slope = CG_FN(mean_square)(run, CG_REALS(run->f));
    const cg_mask_t small = cg_lt(size, cg_splat(1e-10)) | cg_lt(slope, cg_splat(1e-10));
    const cg_real_t h0 = cg_where(small, cg_splat(1e-6), 0.01 * cg_sqrt(size / slope));
    const double power = 1.0 / (double)run->order;
    const cg_real_t tenth = cg_step_exp2(cg_line(CG_LOG_TENTH * power, -0.5 * power, cg_step_log2(slope)));
    const cg_real_t h1 = cg_where(cg_le(slope, cg_splat(1e-30)), cg_larger(cg_splat(1e-6), h0 * 1e-3), tenth);
    return cg_smaller(cg_smaller(100.0 * h0, h1), longest);
}
