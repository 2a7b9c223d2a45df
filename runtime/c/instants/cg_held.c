/* cg_held.c: guards that contacts hold at zero while they stick.
 *
 * Where a contact sticks, its slip velocity is zero, and so is every guard that vanishes with it: v itself, sin(3 v), x v, or
 * v + sign(v), which jumps over zero there. What such a guard shows is rounding. It is not observed, and has no side, until the
 * modes change; the slip that begins then gives it a side, which is not a crossing. So an event on a slip velocity occurs where
 * the slip ends, and not again where the next one begins, and a kink there has no effect while the contact sticks.
 *
 * A slip and a guard that is zero with it end at one time; where rounding lets the slip end first, the guard goes with it.
 *
 * Whether a guard vanishes is seen near the present state, in states that are off it in every coordinate and velocity and whose
 * velocities the contacts have made to fit: the guard has both signs next to them, or is zero there.
 */
#include "step/cg_internal.h"
#include "step/cg_step.h"

#include <string.h>

enum { CG_LOOKS = 3 }; /* states that are looked at */
#define CG_MEETS 16            /* times CG_BESIDE of its value where they slip: the jump of a guard that is continuous */
#define CG_JUMPS 1000          /* times the mean of its sides: the jump of a guard that is zero between them */
#define CG_GOLDEN 0.61803398874989484820

/* The largest magnitude of some states, or 1. */
static double cg_held_size(const double *x, int32_t first, int32_t end)
{
    double size = 0.0;
    for (int32_t i = first; i < end; i++) {
        size = cg_larger(size, fabs(x[i]));
    }
    return size > 0.0 ? size : 1.0;
}

/* A state near run->x, to detector->x, and the same with the slip velocities of sticking contacts made zero, to
 * detector->x_jump. */
static int cg_held_look(cg_run_t *run, int look, double t)
{
    const cg_model_t *const model = run->model;
    double *const x = run->detector->x, *const sticks = run->detector->x_jump;
    const int32_t n = model->n_coordinates;
    const double place = cg_held_size(run->x, 0, n), speed = cg_held_size(run->x, n, run->n_own);
    memcpy(x, run->x, sizeof(double) * (size_t)run->ld);
    memcpy(sticks, run->x, sizeof(double) * (size_t)run->ld);
    for (int32_t i = 0; i < run->n_own; i++) {
        const double turns = CG_GOLDEN * (double)(1 + i + look * run->n_own); /* no two have the same fraction */
        x[i] += CG_LOOK * (0.5 + turns - (double)(int64_t)turns) * (fabs(x[i]) + (i < n ? place : speed));
    }
    int status = cg_evaluate_run_inputs(run, t, x);
    status = status == CG_OK ? model->project(cg_time_of_model(run, t), x, run->p, run->u, sticks, run->work) : status;
    return status != CG_OK ? status : cg_step_finite(sticks, run->n_own) ? CG_OK : CG_NONFINITE;
}

/* The guards in a part of the way from where contacts stick to where they slip. */
static int cg_held_guards(cg_run_t *run, double t, double part, double *guards)
{
    const double *const slips = run->detector->x, *const sticks = run->detector->x_jump;
    double *const x = run->detector->flow;
    memcpy(x, run->x, sizeof(double) * (size_t)run->ld);
    for (int32_t i = 0; i < run->n_own; i++) {
        x[i] = sticks[i] + part * (slips[i] - sticks[i]);
    }
    return cg_detector_guards(run, t, x, -1, guards);
}

/* To held[i]: 1 for guards that vanish in a state nearby. To side[i]: that in detector->x, near to it, of those that cross zero. */
static int cg_held_seen(cg_run_t *run, int look, double *held, double *side)
{
    const int32_t n = run->detector->first_contact;
    const double moment = run->h > 0.0 ? CG_MOMENT_OF_STEP * run->h : CG_MOMENT;
    const double t = run->t + run->direction * moment * (double)(1 + look);
    double *const other = side + n, *const far = other + n;
    int status = cg_held_look(run, look, t);
    status = status == CG_OK ? cg_held_guards(run, t, CG_BESIDE, side) : status;
    status = status == CG_OK ? cg_held_guards(run, t, -CG_BESIDE, other) : status;
    status = status == CG_OK ? cg_held_guards(run, t, 1.0, far) : status;
    for (int32_t i = 0; i < n && status == CG_OK; i++) {
        const double sum = fabs(side[i] + other[i]), jump = fabs(side[i] - other[i]);
        /* one that jumps from one side of zero to the other is zero in between only if it jumps as far on both */
        const int meets = jump <= CG_MEETS * CG_BESIDE * fabs(far[i]) || CG_JUMPS * sum <= jump;
        const int crosses = side[i] != other[i] && side[i] * other[i] <= 0.0 && meets;
        const int vanishes = cg_larger(fabs(side[i]), fabs(other[i])) <= CG_VANISHED * fabs(far[i]) && far[i] != 0.0;
        held[i] = crosses || vanishes ? 1.0 : 0.0;
        side[i] = !crosses ? 0.0 : side[i] > other[i] ? 1.0 : -1.0;
    }
    return status;
}

/* To sides[i]: that of a guard while the contact slips as it does, if the guard changes its sign with the slip; else 0. */
static int cg_held_sides(cg_run_t *run, int32_t contact, double *sides)
{
    cg_detector_t *const detector = run->detector;
    double *const mode = run->u + detector->n_inputs + contact, slips = *mode;
    const int32_t n = detector->first_contact;
    double *const held = detector->samples, *const side = held + n;
    int status = CG_OK;
    memset(sides, 0, sizeof(double) * (size_t)n);
    for (int look = 0; look < CG_LOOKS && status == CG_OK; look++) {
        *mode = 0.0;
        status = cg_held_seen(run, look, held, side);
        *mode = slips;
        if (status == CG_OK) {
            status = run->model->contacts_fn(cg_time_of_model(run, run->t), detector->x, run->p, run->u, detector->contacts,
                                             run->work);
        }
        for (int32_t i = 0; i < n; i++) {
            sides[i] += detector->contacts[5 * contact] * slips > 0.0 ? side[i] : -side[i];
        }
    }
    for (int32_t i = 0; i < n; i++) {
        sides[i] = status == CG_OK && fabs(sides[i]) == (double)CG_LOOKS ? sides[i] / (double)CG_LOOKS : 0.0;
    }
    const int back = cg_evaluate_run_inputs(run, run->t, run->x);
    return status == CG_OK ? back : status;
}

void cg_held_arrive(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    const int32_t n = detector->first_contact;
    const double *const sign = detector->sign_new;
    const int any = run->model->n_events + detector->n_functions > 0 && run->model->project != NULL;
    for (int32_t contact = 0; contact < detector->n_contacts && any; contact++) {
        const int ends = detector->fired[n + CG_CONTACT_OBSERVED * contact + CG_CONTACT_SLIP] != 0.0;
        if (!ends || run->u[detector->n_inputs + contact] == 0.0 || cg_held_sides(run, contact, detector->values) != CG_OK) {
            continue;
        }
        for (int32_t i = 0; i < n; i++) {
            const int arrives = sign[i] != 0.0 && detector->values[i] == sign[i] && detector->direction[i] * sign[i] <= 0.0;
            const int counts = detector->active[i] != 0.0 && !cg_detector_is_kink(run, i);
            detector->fired[i] = arrives && counts ? 1.0 : detector->fired[i];
        }
    }
}

/* Gives guards that were held, and are not now, the side to which the slips that begin take them. */
static void cg_held_release(cg_run_t *run, const double *was)
{
    cg_detector_t *const detector = run->detector;
    const int32_t n = detector->n_guards;
    double *const sides = detector->values;
    for (int32_t contact = 0; contact < detector->n_contacts; contact++) {
        if (run->u[detector->n_inputs + contact] == 0.0 || cg_held_sides(run, contact, sides) != CG_OK) {
            continue;
        }
        for (int32_t i = 0; i < n; i++) {
            const int leaves = was[i] == 0.0 && detector->active[i] != 0.0 && sides[i] != 0.0;
            double *const side = cg_detector_is_kink(run, i) ? detector->sign : detector->kept;
            side[i] = leaves ? sides[i] : side[i];
        }
    }
}

void cg_held_activate(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    const double *const modes = run->u + detector->n_inputs;
    const int32_t n = detector->first_contact;
    double *const active = detector->active, *const was = detector->fires, *const held = detector->samples;
    const int any = run->model->n_events + detector->n_functions > 0 || detector->watches_kinks;
    int looks = 0, released = 0;
    memcpy(was, active, sizeof(double) * (size_t)n);
    for (int32_t i = 0; i < n; i++) {
        active[i] = cg_detector_is_kink(run, i) && !detector->watches_kinks ? 0.0 : 1.0;
    }
    for (int32_t i = 0; i < detector->n_contacts && any && run->model->project != NULL; i++) {
        looks = modes[i] == 0.0 ? CG_LOOKS : looks;
    }
    memset(detector->values, 0, sizeof(double) * (size_t)n);
    for (int look = 0; look < looks; look++) {
        const int status = cg_held_seen(run, look, held, held + n);
        for (int32_t i = 0; i < n; i++) {
            detector->values[i] += status == CG_OK ? held[i] : 0.0;
        }
    }
    for (int32_t i = 0; i < n; i++) {
        if (looks > 0 && detector->values[i] == (double)looks) {
            active[i] = detector->sign[i] = 0.0;
            if (i < detector->n_guards) {
                detector->kept[i] = 0.0;
            }
        }
        released = released || (was[i] == 0.0 && active[i] != 0.0);
    }
    if (released) {
        cg_held_release(run, was);
    }
    cg_evaluate_run_inputs(run, run->t, run->x);
}
