/* cg_surface.c: how far a state is from where a guard jumps over zero, as v + sign(v) does where v = 0.
 *
 * Next to its surface such a guard is far from zero on both sides, so its value tells nothing of how near it is. What stands in
 * for it is the distance, with the guard's sign: the least power of two of a unit by which a state on the other side is off.
 * The unit is a rounding error: of the state, or of the time, along the motion before the reset at run->t and after it.
 */
#include "step/cg_internal.h"
#include "step/cg_step.h"

#include <string.h>

enum { CG_WAYS = 8, CG_DOUBLINGS = 24 /* the longest distance */, CG_TURNING = 14 /* where it is seen whether a motion turns */ };
#define CG_MOMENTS_OFF 2.0 /* the unit of the time, in shortest steps */
#define CG_FAR 64.0        /* that much further, a guard that does not jump has changed much more */

/* The guards in a state that is `size` units off x, the state at t. */
static int cg_surface_beside(cg_run_t *run, double t, const double *x, int way, double size, double *guards)
{
    cg_detector_t *const detector = run->detector;
    double *const y = detector->flow + run->ld, *const shaken = y + run->ld;
    const double off = way % 2 != 0 ? -size : size, moment = run->direction * CG_MOMENTS_OFF * off * cg_step_smallest(run->t);
    const double *const f = way < 2 ? detector->x_jump : run->f;
    memcpy(y, x, sizeof(double) * (size_t)run->ld);
    memcpy(shaken, x, sizeof(double) * (size_t)run->ld);
    cg_shake(shaken, run->n_own, way >= 6);
    for (int32_t i = 0; i < run->n_own; i++) {
        y[i] += way < 4 ? moment * f[i] : off * (CG_ZERO / CG_MOMENT) * (shaken[i] - x[i]);
    }
    const double then = way < 4 ? t + moment : t;
    const int status = cg_evaluate_run_inputs(run, then, y);
    return status != CG_OK ? status : cg_detector_guards_by_side(run, cg_time_of_model(run, then), y, guards);
}

/* Whether the guard, g in the state x, has another sign in a state so far off; *change: how different it is there at most. */
static int cg_surface_passed(cg_run_t *run, double t, const double *x, int32_t index, double g, double size, double *change)
{
    double *const guards = run->detector->values;
    int passed = 0;
    *change = 0.0;
    for (int way = 0; way < CG_WAYS; way++) {
        if (cg_surface_beside(run, t, x, way, size, guards) == CG_OK && cg_step_finite(guards + index, 1)) {
            passed = passed || guards[index] * g <= 0.0;
            *change = cg_larger(*change, fabs(guards[index] - g));
        }
    }
    return passed;
}

/* The doublings of the unit at which a state is on the other side, at most `most`, or one more. */
static int cg_surface_doublings(cg_run_t *run, double t, const double *x, int32_t index, double g, int most)
{
    double change;
    int near = -1, far = most + 1;
    if (!cg_surface_passed(run, t, x, index, g, (double)(INT32_C(1) << most), &change)) {
        return far;
    }
    for (far = most; far - near > 1;) {
        const int middle = near + (far - near) / 2;
        *(cg_surface_passed(run, t, x, index, g, (double)(INT32_C(1) << middle), &change) ? &far : &near) = middle;
    }
    return far;
}

void cg_surface_begin(cg_run_t *run, int late)
{
    double *const f = run->detector->x_jump;
    if (!late || cg_evaluate_probe(run, run->t, run->moved, f) != CG_OK) {
        memset(f, 0, sizeof(double) * (size_t)run->ld);
    }
}

void cg_surface_near(cg_run_t *run, double *near)
{
    cg_detector_t *const detector = run->detector;
    memset(near, 0, sizeof(double) * (size_t)run->model->n_events);
    for (int way = 0; way < CG_WAYS; way++) {
        if (cg_surface_beside(run, run->t, run->x, way, 1.0, detector->values) != CG_OK) {
            continue;
        }
        for (int32_t i = 0; i < run->model->n_events; i++) {
            near[i] = detector->values[i] * detector->end[i] <= 0.0 ? 1.0 : near[i];
        }
    }
}

int cg_surface_jumps(cg_run_t *run, int32_t index, int doublings)
{
    const double g = run->detector->end[index];
    const int found = cg_surface_doublings(run, run->t, run->x, index, g, doublings);
    const double size = (double)(INT32_C(1) << found);
    double near, far;
    if (found > doublings) {
        return 0;
    }
    cg_surface_passed(run, run->t, run->x, index, g, size, &near);
    cg_surface_passed(run, run->t, run->x, index, g, CG_FAR * size, &far);
    return near > 0.5 * far;
}

/* The distance a moment after x on the tangent f of a motion, with the sign of the guard there; 0: it is not known. */
static double cg_surface_ahead(cg_run_t *run, int32_t index, const double *x, const double *f)
{
    cg_detector_t *const detector = run->detector;
    double *const y = detector->x;
    const double moment = run->direction * CG_MOMENTS_OFF * (double)(1 << CG_TURNING) * cg_step_smallest(run->t);
    memcpy(y, x, sizeof(double) * (size_t)run->ld);
    for (int32_t i = 0; i < run->n_own; i++) {
        y[i] += moment * f[i];
    }
    if (cg_detector_evaluate(run, run->t + moment, y, index, detector->values) != CG_OK) {
        return 0.0;
    }
    const double g = detector->values[index];
    return copysign((double)(INT32_C(1) << cg_surface_doublings(run, run->t + moment, y, index, g, CG_DOUBLINGS)), g);
}

int cg_surface_turns(cg_run_t *run, int32_t index)
{
    const double before = cg_surface_ahead(run, index, run->moved, run->detector->x_jump);
    const double after = cg_surface_ahead(run, index, run->x, run->f);
    return fabs(after - before) > 0.5 * cg_larger(fabs(after), fabs(before)); /* more than one doubling */
}

void cg_surface_distances(cg_run_t *run, double t, const double *x, double *guards)
{
    const cg_detector_t *const detector = run->detector;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        if (detector->leaving[i].jumps && !detector->leaving[i].settled && guards[i] != 0.0) {
            const int doublings = cg_surface_doublings(run, t, x, i, guards[i], CG_DOUBLINGS);
            guards[i] = copysign((double)(INT32_C(1) << doublings), guards[i]);
        }
    }
}
