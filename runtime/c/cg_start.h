/* cg_start.h: the first step of a run. Included by cg_method.h.
 *
 * E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, section II.4, "starting step size":
 * such that an explicit Euler step, and a step of the method's order, have errors of about 1 % of the tolerance.
 */

/* The sum of the squares of v in units of the tolerance between x and y. */
static CG_INLINE cg_real_t CG_FN(squares)(const CG_RUN *run, const cg_real_t *v, const cg_real_t *x,
                                          const cg_real_t *y)
{
    cg_real_t sum = cg_splat(0.0);
    for (int32_t i = 0; i < CG_N(run); i++) {
        const cg_real_t scaled = v[i] / cg_step_scale(run->atol[i], run->rtol, x[i], y[i]);
        sum = cg_fma(scaled, scaled, sum);
    }
    return sum;
}

/* The square root of the mean square of v in units of the tolerance at x. */
static CG_INLINE cg_real_t CG_FN(norm)(const CG_RUN *run, const cg_real_t *v)
{
    const cg_real_t *const x = CG_REALS(run->x);
    return cg_sqrt(CG_FN(squares)(run, v, x, x) / (double)CG_N(run));
}

/* The size of the first Euler step to try, from x and f. */
static CG_INLINE cg_real_t CG_FN(probe)(const CG_RUN *run, cg_real_t longest)
{
    const cg_real_t size = CG_FN(norm)(run, CG_REALS(run->x));
    const cg_real_t slope = CG_FN(norm)(run, CG_REALS(run->f));
    const cg_mask_t small = cg_lt(size, cg_splat(1e-5)) | cg_lt(slope, cg_splat(1e-5));
    return cg_smaller(cg_where(small, cg_splat(1e-6), 0.01 * size / slope), longest);
}

/* The first step, from the derivative at the end of the Euler step `h`, in row 0 of k. */
static CG_INLINE cg_real_t CG_FN(first)(const CG_RUN *run, cg_real_t h, cg_real_t longest)
{
    const int32_t n = CG_N(run);
    const cg_real_t *const f = CG_REALS(run->f);
    cg_real_t *const k = CG_REALS(run->k);
    for (int32_t i = 0; i < n; i++) {
        k[i] -= f[i];
    }
    const cg_real_t largest = cg_larger(CG_FN(norm)(run, f), CG_FN(norm)(run, k) / h);
    const cg_real_t h1 = cg_where(cg_le(largest, cg_splat(1e-15)), cg_larger(cg_splat(1e-6), h * 1e-3),
                                  cg_step_exp2(cg_step_log2(0.01 / largest) / (double)run->order));
    return cg_smaller(cg_smaller(100.0 * h, h1), longest);
}
