/* cg_control.h: step-size control, for one trajectory or for lanes.
 *
 * PI control: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., Springer 1996,
 * section IV.2, equation (2.43c): h_new = h * safety * err^-alpha * err_old^beta. Errors are given as the logarithms
 * (base 2) of their squares, in units of the tolerance: 0 is just acceptable.
 */
#ifndef CG_CONTROL_H
#define CG_CONTROL_H

#include "step/cg_step.h"

typedef struct cg_control {
    double alpha, beta;
    double safety;
    double shrink, grow; /* bounds of h_new / h */
    int end_first;       /* the error estimate uses the derivative at the end of the step */
} cg_control_t;

/* log2(1e-8), the lower bound of the control's memory: one lucky step must not shorten the next. */
#define CG_LEAST_LOG -26.575424759098897

/* One trial step: to t_new, which is t + h. */
typedef struct {
    cg_real_t length; /* |h| as planned, before rounding */
    cg_real_t t_new;
    cg_real_t h;
    cg_mask_t close; /* t_stop is near: the length was not chosen by the control */
    cg_mask_t cut;   /* the step ends at t_stop */
} cg_plan_t;

/* Plans a step of about the `wanted` length. To avoid a tiny last step before t_stop, the step is made slightly longer,
 * or split in two halves if max_step forbids that. */
static CG_INLINE cg_plan_t cg_plan(cg_real_t t, cg_real_t t_stop, cg_real_t wanted, double direction, double max_step)
{
    cg_plan_t plan;
    const cg_real_t remaining = cg_abs(t_stop - t);
    plan.close = plan.cut = cg_le(remaining, 1.01 * wanted);
    plan.length = cg_where(plan.close, remaining, wanted);
    if (max_step < HUGE_VAL) {
        plan.cut &= cg_le(remaining, cg_splat(max_step));
        plan.length = cg_where(plan.close & cg_not(plan.cut), 0.5 * remaining, plan.length);
    }
    plan.t_new = cg_where(plan.cut, t_stop, cg_plus(t, direction, plan.length));
    if (max_step < HUGE_VAL) { /* by rounding, slightly longer than allowed */
        plan.t_new = cg_where(cg_lt(cg_splat(max_step), cg_abs(plan.t_new - t)),
                              cg_plus(plan.t_new, -direction * DBL_EPSILON, cg_abs(plan.t_new)), plan.t_new);
    }
    plan.h = plan.t_new - t; /* h is the exact change of t */
    return plan;
}

/* h_new / h after an accepted step. */
static CG_INLINE cg_real_t cg_control_grow(const cg_control_t *control, cg_real_t log_new, cg_real_t log_old,
                                           cg_mask_t rejected)
{
    const cg_real_t factor = control->safety
        * cg_step_exp2(cg_plus(0.5 * control->beta * log_old, -0.5 * control->alpha, log_new));
    const cg_real_t most = cg_where(rejected, cg_splat(1.0), cg_splat(control->grow));
    return cg_larger(cg_splat(control->shrink), cg_smaller(most, factor));
}

/* h_new / h after a rejected one. */
static CG_INLINE cg_real_t cg_control_shrink(const cg_control_t *control, cg_real_t log_new)
{
    return cg_larger(cg_splat(control->shrink), control->safety * cg_step_exp2(-0.5 * control->alpha * log_new));
}

#define CG_SHRINK_FAILED 0.2 /* h_new / h after a trial that met a singular or non-finite state */

/* One step of fixed size: the grid t_anchor + m h has no drift, and the last step ends on t_stop. */
typedef struct cg_fixed_plan {
    cg_real_t t_new;
    cg_real_t h;
    cg_mask_t last;
} cg_fixed_plan_t;

static CG_INLINE cg_fixed_plan_t cg_plan_fixed(cg_real_t t, cg_real_t t_stop, cg_real_t step, double direction,
                                               cg_real_t t_anchor, cg_real_t n_anchor)
{
    cg_fixed_plan_t plan;
    const cg_real_t t_next = cg_fma(direction * step, n_anchor + 1.0, t_anchor);
    /* Rounding must not leave a tiny last step before t_stop. */
    const cg_real_t rounding = 4.0 * DBL_EPSILON * (cg_abs(t_anchor) + cg_abs(t_stop));
    plan.last = cg_le(direction * (t_stop - t_next), cg_smaller(rounding, 1e-6 * step));
    plan.t_new = cg_where(plan.last, t_stop, t_next);
    plan.h = cg_where(plan.last, t_stop - t, direction * step);
    return plan;
}

#endif /* CG_CONTROL_H */
