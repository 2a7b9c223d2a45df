/* cg_adaptive.h: error control around one trial step of any embedded method. Included by cg_method.h.
 *
 * A method gives two functions: `trial` fills run->x_trial with the state at t + h and the stages run->k, `error`
 * returns the square of the norm of the error estimate in units of the tolerance (1 is just acceptable).
 * Step control (PI): E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., Springer 1996,
 * section IV.2, equation (2.43c): h_new = h * safety * err^-alpha * err_old^beta.
 */

typedef struct CG_FN(controller) {
    double alpha, beta;
    double safety;
    double shrink, grow; /* bounds of h_new / h */
} CG_FN(controller_t);

/* After a trial of `length` that failed for `reason`: the shorter step, or the status that ends the run. */
static CG_COLD int CG_FN(shorten)(cg_run_t *run, double length, double factor, int reason)
{
    const double smallest = cg_step_smallest(run->t);
    run->h = cg_step_larger(length * factor, smallest);
    run->n_rejected++;
    run->rejected = 1;
    if (run->stop != NULL && *run->stop) {
        return CG_INTERRUPTED;
    }
    return length <= smallest ? reason : CG_OK;
}

static CG_INLINE int CG_FN(adaptive)(cg_run_t *run, const CG_FN(controller_t) control,
                                     int (*trial)(cg_run_t *, double), double (*error)(cg_run_t *, double))
{
    const int32_t n = CG_N(run);

    const double smallest = cg_step_smallest(run->t);

    run->h = cg_step_smaller(cg_step_larger(run->h, smallest), run->max_step);
    for (;;) {
        const double remaining = fabs(run->t_stop - run->t);
        /* No sliver is left before t_stop: a little more is taken at once, or in two halves where max_step forbids. */
        const int close = 1.01 * run->h >= remaining;
        const int cut = close && remaining <= run->max_step;
        const double length = cut ? remaining : close ? 0.5 * remaining : run->h;
        double t_new = cut ? run->t_stop : run->t + run->direction * length;
        if (CG_RARE(!cut && !(length >= smallest))) {
            return CG_STEP_TOO_SMALL; /* max_step is */
        }
        if (CG_RARE(fabs(t_new - run->t) > run->max_step)) { /* by rounding */
            t_new -= run->direction * fabs(t_new) * DBL_EPSILON;
        }
        const double h = t_new - run->t; /* the state moves by what the time moves */

        int status = trial(run, h);
        double factor = 0.2;
        if (status == CG_OK) {
            const double square = error(run, h);
            if (square <= 1.0) {
                /* f_old is free: the interpolant of the step before this one is not asked for any more */
                status = CG_FN(rhs)(run, t_new, run->x_trial, run->f_old);
                if (status == CG_OK && cg_step_finite(run->x_trial, n) && cg_step_finite(run->f_old, n)) {
                    factor = control.safety * cg_step_power(run->err_old, 0.5 * control.beta)
                        * cg_step_power(square, -0.5 * control.alpha);
                    factor = cg_step_larger(control.shrink, cg_step_smaller(control.grow, factor));
                    if (run->rejected) {
                        factor = cg_step_smaller(factor, 1.0);
                    }
                    /* A step cut short by t_stop says little about the longer one that was planned. */
                    run->h = close ? cg_step_larger(run->h, length * factor) : length * factor;
                    if (!close) {
                        run->err_old = cg_step_larger(square, 1e-8);
                    }
                    cg_step_accept(run, t_new);
                    run->rejected = 0;
                    return CG_OK;
                }
                status = status == CG_OK ? CG_NONFINITE : status;
            } else if (square < HUGE_VAL) {
                factor = cg_step_larger(control.shrink, control.safety * cg_step_power(square, -0.5 * control.alpha));
                status = CG_STEP_TOO_SMALL;
            } else { /* an estimate that overflows at a finite state asks for more than the step can give */
                status = cg_step_finite(run->x_trial, n) ? CG_STEP_TOO_SMALL : CG_NONFINITE;
            }
        }
        if (status != CG_SINGULAR && status != CG_NONFINITE && status != CG_STEP_TOO_SMALL) {
            return status;
        }
        status = CG_FN(shorten)(run, length, factor, status);
        if (status != CG_OK) {
            return status;
        }
    }
}
