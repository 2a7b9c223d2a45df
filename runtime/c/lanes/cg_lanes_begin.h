/* cg_lanes_begin.h: the start of trajectories in lanes, the interpolant and the right-hand side over lanes for the
 * table. Included by cg_method.h.
 */

/* Starts a trajectory at t0 in every lane, from its state and parameters in the run; inputs and derivatives are set
 * afterwards. A trajectory that cannot start gets its status. */
static void CG_FN(begin)(cg_lanes_run_t *run, double t0)
{
    const cg_mask_t none = {0};
    const cg_mask_t finite = cg_step_finite(CG_REALS(run->x), CG_N(run));
    const double h = run->adaptive || (run->first_step > 0.0 && run->first_step < run->max_step) ? run->first_step
                                                                                                : run->max_step;
    cg_mask_t failed = none;
#if CG_MODEL_HOISTED > 0
    if (t0 != run->t_end && !run->hoisted) {
        const cg_mask_t singular = cg_not(CG_MODEL_HOIST(CG_REALS(run->p), CG_REALS(run->p) + CG_MODEL_NP));
        run->hoisted = run->same_p && !cg_any(singular);
        failed = finite & singular;
    }
#endif
    CG_T(run) = CG_T_OLD(run) = cg_splat(t0);
    *CG_REALS(run->mark) = cg_splat(HUGE_VAL);
    *CG_REALS(run->h) = cg_splat(h);
    *CG_REALS(run->log_old) = cg_splat(CG_LEAST_LOG);
    *CG_TRUTHS(run->n_trials) = *CG_TRUTHS(run->n_rejected) = *CG_TRUTHS(run->rejected) = none;
    *CG_TRUTHS(run->n_rhs) = -failed; /* counts the failed call */
    *CG_TRUTHS(run->active) = *CG_TRUTHS(run->fresh) = cg_true();
    *CG_TRUTHS(run->unstarted) = h == 0.0 ? cg_true() : none;
    *CG_TRUTHS(run->status) = (cg_not(finite) & CG_FN(code)(CG_NONFINITE)) | (failed & CG_FN(code)(CG_SINGULAR));
}

/* The states at a fraction theta of the last step, as cg_dense_evaluate computes them. */
static CG_INLINE void CG_FN(evaluate)(const cg_lanes_run_t *run, cg_real_t theta, cg_real_t *CG_RESTRICT x)
{
    const int32_t n = CG_N(run), last = run->n_dense - 1;
    const cg_real_t *const CG_RESTRICT coef = CG_REALS(run->coef);
    const cg_real_t weights[2] = {theta, 1.0 - theta};
    for (int32_t i = 0; i < n; i++) {
        cg_real_t sum = coef[last * n + i];
        for (int32_t j = last - 1; j >= 0; j--) {
            sum = cg_fma(weights[j % 2], sum, coef[j * n + i]);
        }
        x[i] = sum;
    }
}

/* CG_LANES of `count` numbers; after the last, that one again. */
static CG_INLINE cg_real_t CG_FN(some_of)(const double *from, int64_t count)
{
    cg_real_t some;
    if (count >= CG_LANES) {
        memcpy(&some, from, sizeof some);
        return some;
    }
    for (int lane = 0; lane < CG_LANES; lane++) {
        some[lane] = from[lane < count ? lane : count - 1];
    }
    return some;
}

/* The states of one lane at several times, as cg_dense_evaluate computes them: the lanes of a vector are times here. */
static int64_t CG_FN(interpolate)(const cg_lanes_run_t *run, int32_t lane, const double *times, int64_t count,
                                  double *CG_RESTRICT out, int64_t row)
{
    const int32_t n = CG_N(run), down = n * CG_LANES;
    const double t = run->t[lane], t_old = run->t_old[lane], direction = run->direction;
    const double *const CG_RESTRICT highest = run->coef + (run->n_dense - 1) * down + lane;
    const int odd = run->n_dense % 2 == 0;
    int64_t done = 0;
    while (done < count && direction * (times[done] - t) < 0.0) {
        const cg_real_t moments = CG_FN(some_of)(times + done, count - done);
        const cg_real_t theta = (moments - t_old) / (t - t_old), rest = 1.0 - theta;
        const uint32_t after = cg_set(cg_le(cg_splat(0.0), direction * (moments - t)));
        for (int32_t i = 0; i < n; i++) {
            const double *CG_RESTRICT coef = highest + i * CG_LANES;
            cg_real_t sum = cg_splat(*coef);
            if (odd) {
                coef -= down;
                sum = cg_fma(theta, sum, cg_splat(*coef));
            }
            for (int32_t j = run->n_dense - 1 - odd; j > 0; j -= 2, coef -= 2 * down) {
                sum = cg_fma(rest, sum, cg_splat(coef[-down]));
                sum = cg_fma(theta, sum, cg_splat(coef[-2 * down]));
            }
            memcpy(out + i * row + done, &sum, sizeof sum);
        }
        done += after != 0u ? __builtin_ctz(after) : CG_LANES;
    }
    return done < count ? done : count;
}

/* Computes the derivative of the lanes in `fresh`, and the first step of those that are `unstarted`; see cg_start.h.
 * Rows of k are scratch here. Lanes that fail get a status and need service. */
static void CG_FN(prepare)(cg_lanes_run_t *run)
{
    const int32_t n = CG_N(run);
    const cg_mask_t none = {0};
    const cg_mask_t fresh = *CG_TRUTHS(run->fresh);
    const cg_real_t t = CG_T(run);
    const cg_real_t *const x = CG_REALS(run->x);
    cg_real_t *const f = CG_REALS(run->f);
    cg_real_t *const k = CG_REALS(run->k);
    cg_real_t *const h = CG_REALS(run->h);

    run->have_dense = 0;
    *CG_TRUTHS(run->fresh) = none;
    *CG_TRUTHS(run->failed) = none;
    CG_FN(rhs)(run, t, x, k);
    const cg_mask_t finite = cg_step_finite(k, n);
    const cg_mask_t ok = finite & cg_not(*CG_TRUTHS(run->failed));
    for (int32_t i = 0; i < n; i++) {
        f[i] = cg_where(fresh, k[i], f[i]);
    }
    *CG_TRUTHS(run->n_rhs) -= fresh;
    const cg_mask_t bad = fresh & cg_not(ok);
    if (CG_RARE(cg_any(bad))) {
        const cg_mask_t refused = bad; /* a copy: a variable with its address taken would be kept in memory */
        const cg_mask_t why = CG_FN(choose)(*CG_TRUTHS(run->failed), CG_FN(code)(CG_SINGULAR),
                                            CG_FN(code)(CG_NONFINITE));
        CG_FN(fail)(run, &refused, &why);
    }
    const cg_mask_t unstarted = *CG_TRUTHS(run->unstarted) & cg_not(bad);
    *CG_TRUTHS(run->unstarted) = none;
    if (cg_any(unstarted)) {
        const cg_real_t longest = cg_smaller(cg_abs(run->t_end - t), cg_splat(run->max_step));
        *h = cg_where(unstarted, CG_FN(first)(run, longest), *h);
    }
}

/* The right-hand side in the form of cg_lane_set_t. */
static void CG_FN(kernel)(const double *CG_RESTRICT t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                          const double *CG_RESTRICT u, double *CG_RESTRICT out, int32_t *CG_RESTRICT status,
                          double *CG_RESTRICT work)
{
#define CG_CONST_REALS(array) ((const cg_real_t *)(const void *)(array))
#if CG_MODEL_HOISTED > 0
    cg_real_t q[CG_MODEL_HOISTED];
    cg_mask_t ok = CG_MODEL_HOIST(CG_CONST_REALS(p), q);
    ok &= CG_MODEL_RHS(CG_CONST_REALS(t), CG_CONST_REALS(x), CG_CONST_REALS(p), q, CG_CONST_REALS(u), CG_REALS(out),
                       CG_REALS(work));
#else
    const cg_mask_t ok = CG_MODEL_RHS(CG_CONST_REALS(t), CG_CONST_REALS(x), CG_CONST_REALS(p), CG_CONST_REALS(u),
                                      CG_REALS(out), CG_REALS(work));
#endif
    for (int lane = 0; lane < CG_LANES; lane++) {
        status[lane] = ok[lane] ? CG_OK : CG_SINGULAR;
    }
}
