/* cg_adaptive.h: the step loop of one trajectory around the trial steps of a method. Included by cg_method.h.
 *
 * A method provides `trial`, which fills run->x_trial with the state at t + h and the stages run->k, and, if it
 * controls its steps, `error`: the square of the norm of the error estimate in units of the tolerance.
 */

/* After a trial of `length` that failed for `reason`: the shorter step, or the status that ends the run. */
static CG_COLD int CG_FN(shorten)(cg_run_t *run, double length, double factor, int reason)
{
    const double smallest = cg_step_smallest(run->t);
    run->h = cg_larger(length * factor, smallest);
    run->n_rejected++;
    run->rejected = 1;
    if (run->stop != NULL && *run->stop) {
        return CG_INTERRUPTED;
    }
    return length <= smallest ? reason : CG_OK;
}

/* Accepts the trial step. */
static CG_INLINE void CG_FN(accept)(cg_run_t *run, double t_new)
{
    CG_FN(exchange)(run);
    run->t_old = run->t;
    run->t = t_new;
    run->n_steps++;
}

/* One accepted step of a method with error control. */
static CG_INLINE int CG_FN(adaptive)(cg_run_t *run, const cg_control_t control,
                                     CG_FN(trial_t) trial, double (*error)(cg_run_t *, double))
{
    const int32_t n = CG_N(run);

    const double smallest = cg_step_smallest(run->t);

    run->h = cg_smaller(cg_larger(run->h, smallest), run->max_step);
    for (;;) {
        const cg_plan_t plan = cg_plan(run->t, run->t_stop, run->h, run->direction, run->max_step);
        if (CG_RARE(!plan.cut && !(plan.length >= smallest))) {
            return CG_STEP_TOO_SMALL; /* because max_step is too small */
        }
        int status = trial(run, run->t, plan.h, CG_FN(rhs));
        double factor = CG_SHRINK_FAILED;
        /* f_old is free: the interpolant of the previous step is no longer needed */
        if (control.end_first && status == CG_OK) {
            status = CG_FN(rhs)(run, plan.t_new, run->x_trial, run->f_old);
        }
        if (status == CG_OK) {
            const double square = error(run, plan.h);
            const int fits = square <= 1.0;
            if (fits || (run->accepts != CG_ACCEPTS_FIT && square < HUGE_VAL)) {
                if (!control.end_first) {
                    status = CG_FN(rhs)(run, plan.t_new, run->x_trial, run->f_old);
                }
                if (status == CG_OK && cg_step_finite(run->x_trial, n) && cg_step_finite(run->f_old, n)) {
                    const double log_new = cg_step_log2(square);
                    factor = fits ? cg_control_grow(&control, log_new, run->log_old, run->rejected)
                                  : cg_control_shrink(&control, log_new);
                    /* A step shortened by t_stop says little about the longer one that was planned. */
                    run->h = plan.close && fits ? cg_larger(run->h, plan.length * factor) : plan.length * factor;
                    if (!plan.close && fits) {
                        run->log_old = cg_larger(log_new, CG_LEAST_LOG);
                    }
                    CG_FN(accept)(run, plan.t_new);
                    run->rejected = 0;
                    run->accepts = fits ? run->accepts : CG_ACCEPTED_UNFIT;
                    return CG_OK;
                }
                status = status == CG_OK ? CG_NONFINITE : status;
            } else if (square < HUGE_VAL) {
                factor = cg_control_shrink(&control, cg_step_log2(square));
                status = CG_STEP_TOO_SMALL;
            } else { /* an error estimate that overflows at a finite state rejects the step */
                const int finite = cg_step_finite(run->x_trial, n)
                    && (!control.end_first || cg_step_finite(run->f_old, n));
                status = finite ? CG_STEP_TOO_SMALL : CG_NONFINITE;
            }
        }
        if (status != CG_SINGULAR && status != CG_NONFINITE && status != CG_STEP_TOO_SMALL) {
            return status;
        }
        status = CG_FN(shorten)(run, plan.length, factor, status);
        if (status != CG_OK) {
            return status;
        }
    }
}

/* One step of fixed size run->h; the last one before t_stop is adjusted to end on it, also for rounding of the times.
 * */
static CG_INLINE int CG_FN(fixed)(cg_run_t *run, CG_FN(trial_t) trial)
{
    const int32_t n = CG_N(run);
    const cg_fixed_plan_t plan = cg_plan_fixed(run->t, run->t_stop, run->h, run->direction, run->t_anchor,
                                               (double)run->n_anchor);

    if (CG_RARE(run->h < cg_step_smallest(run->t) && run->h < fabs(run->t_stop - run->t))) {
        return CG_STEP_TOO_SMALL;
    }
    int status = trial(run, run->t, plan.h, CG_FN(rhs));
    if (CG_RARE(status != CG_OK)) {
        return status;
    }
    status = CG_FN(rhs)(run, plan.t_new, run->x_trial, run->f_old);
    if (CG_RARE(status != CG_OK)) {
        return status;
    }
    if (CG_RARE(!cg_step_finite(run->x_trial, n) || !cg_step_finite(run->f_old, n))) {
        return CG_NONFINITE;
    }
    CG_FN(accept)(run, plan.t_new);
    run->n_anchor++;
    if (plan.last) {
        run->t_anchor = plan.t_new;
        run->n_anchor = 0;
    }
    return CG_OK;
}
