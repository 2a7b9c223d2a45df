/* cg_touch.c: whether a guard crosses zero, or touches it and only seems to cross since the state is off the constraints.
 *
 * A guard may have its extremum on the constraints where it is zero, as y - 1 has on the circle x^2 + y^2 = 1. Between the ends
 * of a step the interpolant is off the circle by a part of the tolerance, and its ends are by rounding; that is beyond zero or
 * not. So where a guard comes back, or the step ends, before it is well beyond, the state in which it is furthest is moved onto
 * the constraints. If it is not beyond zero there, it has touched.
 */
#include "step/cg_internal.h"
#include "step/cg_step.h"

#include <string.h>

enum { CG_PARTS = 16 }; /* of the way to where the guard is back, each 1/CG_FURTHER of the one before */
#define CG_PROVED (0.1 * CG_CLEAR) /* of its largest value in the step: at its end, lanes have it beyond zero without doubt */

/* The interpolant, to detector->x_jump. */
static void cg_touch_state(cg_run_t *run, double theta)
{
    double *const x = run->detector->x_jump;
    memcpy(x, run->x, sizeof(double) * (size_t)run->ld);
    if (theta < 1.0) {
        cg_dense_evaluate(run->coef, run->n_dense, run->ld, run->n, theta, x, 1);
    }
}

/* How far beyond zero the guard is in the state detector->x_jump, which is moved onto the constraints; *noise: what of it is
 * rounding. */
static int cg_touch_beyond(cg_run_t *run, int32_t index, double theta, double sign, double *beyond, double *noise)
{
    cg_detector_t *const detector = run->detector;
    double *const x = detector->x_jump;
    const double t = run->t_old + theta * (run->t - run->t_old);
    int status = cg_evaluate_run_inputs(run, t, x);
    status = status == CG_OK ? cg_correct_moved_back(run, t, x, detector->x) : status;
    memcpy(x, detector->x, sizeof(double) * (size_t)run->n_own);
    status = status == CG_OK ? cg_detector_evaluate(run, t, x, index, detector->values) : status;
    *beyond = -sign * detector->values[index];
    cg_shake(x, run->n_own, 0);
    status = status == CG_OK ? cg_detector_evaluate(run, t, x, index, detector->values) : status;
    *noise = CG_ZERO / CG_MOMENT * fabs(sign * detector->values[index] + *beyond);
    return status;
}

/* Where the guard is furthest beyond zero after theta, and where it is back: fractions of the step; *back is 2 if the step ends
 * before, and *far 0 where it is not seen beyond. */
static int cg_touch_excursion(cg_run_t *run, int32_t index, double theta, double sign, double *far, double *back)
{
    cg_detector_t *const detector = run->detector;
    double most = 0.0, part = 1.0;
    int status = CG_OK;
    *far = 0.0;
    *back = 2.0;
    for (int j = 0; j < CG_NODES && *back > 1.0; j++) {
        const double beyond = -sign * detector->samples[(ptrdiff_t)j * detector->n_observed + index];
        if (cg_nodes[j] > theta) {
            *back = beyond > 0.0 ? 2.0 : cg_nodes[j];
            *far = beyond > most ? cg_nodes[j] : *far;
            most = cg_larger(most, beyond);
        }
    }
    const double end = *far > 0.0 ? *far : cg_smaller(*back, 1.0);
    for (int trial = 0; trial < CG_PARTS && *back <= 1.0 && status == CG_OK && *far == 0.0; trial++) {
        part /= CG_FURTHER;
        status = cg_detector_inside(run, theta + part * (end - theta), index, detector->values);
        *far = -sign * detector->values[index] > 0.0 ? theta + part * (end - theta) : *far;
        *back = *far > 0.0 ? *back : theta + part * (end - theta);
    }
    return status;
}

int cg_touch_only(cg_run_t *run, int32_t index, double *back)
{
    cg_detector_t *const detector = run->detector;
    const double theta = detector->root[index], sign = detector->sign_new[index];
    const double last = -sign * detector->samples[(ptrdiff_t)(CG_NODES - 1) * detector->n_observed + index];
    const int kink = run->jump != NULL && index >= run->model->n_events; /* not seen by lanes; its scale may be that of errors */
    double far, beyond, noise;
    if (run->correction == NULL || index >= detector->first_contact
        || cg_touch_excursion(run, index, theta, sign, &far, back) != CG_OK
        || (*back > 1.0 && !kink && last > CG_PROVED * detector->scale[index])) {
        return 0;
    }
    if (far == 0.0) {
        return *back <= 1.0;
    }
    cg_touch_state(run, far);
    return cg_touch_beyond(run, index, far, sign, &beyond, &noise) == CG_OK && beyond <= noise;
}
