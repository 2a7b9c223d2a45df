/* cg_sides.c: on which side of zero a guard is at an instant: after a start, a reset or a choice of modes. See cg_events.h.
 *
 * A guard that is zero to rounding is on the side to which the flow that follows takes it first. The flow is followed by
 * single steps of the classical method of order 4 over times that grow from a few spacings of the numbers at t, until the
 * guard is visible, which is to say larger than its rounding errors. So a flight that neither the time nor the state
 * resolves does not count, and neither does a slope of rounding errors.
 */
#include "cg_internal.h"
#include "cg_step.h"

#include <string.h>

enum { CG_PROBES = 18 };         /* times, each CG_FURTHER times the one before */
#define CG_LINEAR 22.0           /* a guard that grows by less between two of them has a slope, else a bend: 8^1.5 */
#define CG_PART_OF_STEP 0.015625 /* the longest of the times in a step, */
#define CG_MOMENTS 1e4           /* or in moments where there is none yet */
enum { CG_LATE = 12 };         /* doublings of a rounding error by which a step may end behind a jump over zero */
#define CG_FADED 1e-6            /* of the longest time between events: a flight that is one of many, or the last of one */

int cg_detector_later(cg_run_t *run, int32_t only, double *moment)
{
    cg_detector_t *const detector = run->detector;
    int status = cg_run_derivative(run);
    if (status != CG_OK) {
        return status;
    }
    memcpy(detector->f, run->f, sizeof(double) * (size_t)run->n);
    *moment = cg_detector_moment(run);
    for (int32_t i = 0; i < run->n; i++) {
        detector->x[i] = run->x[i] + *moment * run->f[i];
    }
    status = cg_detector_evaluate(run, run->t + *moment, detector->x, only, detector->values);
    const int back = cg_run_inputs(run, run->t, run->x);
    return status != CG_OK ? status : back;
}

/* The guards whose side, where they are zero, is that of the flow: with derivatives, which kinks change, those of kinks too. */
static int32_t cg_sides_guards(const cg_run_t *run)
{
    return run->jump != NULL ? run->model->n_guards : run->model->n_events;
}

/* ---- rounding ---- */

/* The change of the guards from `first` on if state and time are shaken, see cg_shake; the larger of it and `noise`. */
static int cg_sides_shake(cg_run_t *run, int32_t first, int changing, double *noise)
{
    cg_detector_t *const detector = run->detector;
    const double model_t = cg_time_of_model(run, run->t);
    memcpy(detector->x, run->x, sizeof(double) * (size_t)run->ld);
    cg_shake(detector->x, run->n_own, changing);
    const int status = cg_detector_guards_by_side(run, model_t * (1.0 + 0.5 * CG_MOMENT), detector->x, detector->guards);
    for (int32_t i = first; i < detector->n_guards && status == CG_OK; i++) {
        const double change = fabs(detector->guards[i] - detector->end[i]);
        noise[i] = change < HUGE_VAL ? cg_larger(noise[i], change) : noise[i];
    }
    return status;
}

/* What of each guard from `first` on is rounding error of the state, in detector->noise; the guards at run->t are in
 * detector->end. That of events at rest is needed until the next reset: where the sides of events stay, `first` is the first
 * kink. */
static void cg_sides_rounding_of_state(cg_run_t *run, int32_t first)
{
    double *const noise = run->detector->noise;
    const int32_t n = run->detector->n_guards;
    const size_t bytes = sizeof(double) * (size_t)(n - first);
    memset(noise + first, 0, bytes);
    if (cg_sides_shake(run, first, 0, noise) != CG_OK || cg_sides_shake(run, first, 1, noise) != CG_OK) {
        memset(noise + first, 0, bytes); /* too close to where guards have no value */
    }
    for (int32_t i = first; i < n; i++) {
        noise[i] = cg_larger(CG_ZERO / CG_MOMENT * noise[i], DBL_MIN);
    }
}

/* Adds the motion during the rounding error of the time to that of the guards from `first` on whose side is that of the flow,
 * in detector->noise. */
static void cg_sides_rounding_of_time(cg_run_t *run, int32_t first)
{
    cg_detector_t *const detector = run->detector;
    double *const noise = detector->noise, moment = 1.0;
    const int32_t n = cg_sides_guards(run);
    if (n > first && cg_detector_later(run, 0, &moment) != CG_OK) { /* a failure is that of the next step */
        memcpy(detector->values, detector->end, sizeof(double) * (size_t)n);
    }
    for (int32_t i = first; i < n; i++) {
        noise[i] = cg_larger(noise[i], CG_ZERO * fabs(run->t / moment * (detector->values[i] - detector->end[i])));
    }
}

/* Both. */
static void cg_sides_rounding(cg_run_t *run, int32_t first)
{
    cg_sides_rounding_of_state(run, first);
    cg_sides_rounding_of_time(run, first);
}

/* ---- the flow ---- */

/* The guards after a time s of the flow from run->x, where the derivative run->f is known. */
static int cg_sides_flow(cg_run_t *run, double s, double *guards)
{
    static const double part[4] = {0.0, 0.5, 0.5, 1.0}, weight[4] = {1.0, 2.0, 2.0, 1.0};
    cg_detector_t *const detector = run->detector;
    double *const x = detector->flow, *const k = x + run->ld, *const sum = k + run->ld;
    int status = CG_OK;
    memcpy(k, run->f, sizeof(double) * (size_t)run->ld);
    memset(sum, 0, sizeof(double) * (size_t)run->ld);
    for (int stage = 0; stage < 4 && status == CG_OK; stage++) {
        for (int32_t i = 0; i < run->n && stage > 0; i++) {
            x[i] = run->x[i] + part[stage] * s * k[i];
        }
        status = stage > 0 ? cg_run_probe(run, run->t + part[stage] * s, x, k) : CG_OK;
        for (int32_t i = 0; i < run->n; i++) {
            sum[i] += weight[stage] * k[i];
        }
    }
    for (int32_t i = 0; i < run->n; i++) {
        x[i] = run->x[i] + s / 6.0 * sum[i];
    }
    status = status == CG_OK ? cg_run_inputs(run, run->t + s, x) : status;
    return status != CG_OK ? status : cg_detector_guards_by_side(run, cg_time_of_model(run, run->t + s), x, guards);
}

/* The next value of a guard, at this time from now; `expected`: the side on which no more needs to be known, or 0. */
static void cg_sides_see(cg_ahead_t *ahead, double time, double value, double noise, double expected)
{
    const double shown = value > noise ? 1.0 : value < -noise ? -1.0 : 0.0;
    if (ahead->settled || shown == 0.0) {
        return;
    }
    if (ahead->side == 0.0) {
        ahead->side = shown;
        ahead->size = fabs(value);
        ahead->time = time;
        ahead->bends = 1;
        ahead->settled = shown == expected || expected == 0.0;
    } else {
        const double growth = value * ahead->side / ahead->size;
        ahead->bends = growth > CG_LINEAR;
        if (growth < 0.0) { /* it only just showed on that side */
            ahead->side = -ahead->side;
            ahead->time = time;
        }
        ahead->settled = 1;
    }
}

/* The guards a moment later, by a step of order 2: where a slope that is left of rounding errors bends at once, the tangent
 * shows another side. 0: they have no value there. */
static int cg_sides_a_moment_ahead(cg_run_t *run, double *time)
{
    cg_detector_t *const detector = run->detector;
    double *const k = detector->flow, moment;
    const int status = cg_detector_later(run, 0, &moment);
    *time = fabs(moment);
    if (status != CG_OK || *time < 2.0 * cg_step_smallest(run->t)
        || cg_run_probe(run, run->t + moment, detector->x, k) != CG_OK) {
        return 0;
    }
    const double t = run->t + moment;
    for (int32_t i = 0; i < run->n; i++) {
        detector->x[i] = run->x[i] + 0.5 * moment * (run->f[i] + k[i]);
    }
    const int seen = cg_run_inputs(run, t, detector->x) == CG_OK
        && cg_detector_guards_by_side(run, cg_time_of_model(run, t), detector->x, detector->guards) == CG_OK;
    if (seen) {
        cg_surface_distances(run, t, detector->x, detector->guards);
    }
    return seen;
}

/* Whether enough is known of all guards. */
static int cg_sides_all_settled(const cg_run_t *run)
{
    int settled = 1;
    for (int32_t i = 0; i < cg_sides_guards(run); i++) {
        settled = settled && run->detector->leaving[i].settled;
    }
    return settled;
}

/* Follows the flow for the guards whose entry in detector->leaving is not settled. */
static int cg_sides_look_ahead(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    const int32_t n = cg_sides_guards(run);
    double later = 0.0;
    const int seen = cg_sides_a_moment_ahead(run, &later);
    for (int32_t i = 0; i < n && seen; i++) { /* mostly it shows that all leave to the side where they are expected */
        cg_ahead_t found = detector->leaving[i];
        cg_sides_see(&found, later, detector->guards[i], detector->noise[i], detector->kept[i]);
        detector->leaving[i] = found.settled ? found : detector->leaving[i];
    }
    const int status = cg_run_derivative(run);
    if (status != CG_OK || cg_sides_all_settled(run)) {
        return status == CG_OK ? cg_run_inputs(run, run->t, run->x) : status;
    }
    const double moment = fabs(cg_detector_moment(run));
    double s = cg_larger(moment, run->h > 0.0 ? CG_PART_OF_STEP * run->h : CG_MOMENTS * moment);
    for (int probe = 1; probe < CG_PROBES; probe++) {
        s /= CG_FURTHER;
    }
    for (int probe = 0; probe < CG_PROBES && !cg_sides_all_settled(run); probe++, s *= CG_FURTHER) {
        if (s < 2.0 * cg_step_smallest(run->t) || cg_sides_flow(run, run->direction * s, detector->guards) != CG_OK) {
            continue; /* not a time at which anything could be seen */
        }
        cg_surface_distances(run, run->t + run->direction * s, detector->flow, detector->guards);
        for (int32_t i = 0; i < n; i++) {
            cg_sides_see(&detector->leaving[i], s, detector->guards[i], detector->noise[i], detector->kept[i]);
        }
    }
    return cg_run_inputs(run, run->t, run->x);
}

/* Whether the state is on kinks, to rounding, while a contact may choose its mode, so that the branch there may be that of
 * neither side: to `on`. */
static int cg_sides_on_kinks(cg_run_t *run, double *on)
{
    cg_detector_t *const detector = run->detector;
    int any = 0, chooses = 0;
    for (int32_t i = 0; i < detector->n_contacts; i++) {
        chooses = chooses || detector->free[i] != 0.0;
    }
    if (!chooses || detector->n_guards == run->model->n_events
        || cg_detector_guards_by_side(run, cg_time_of_model(run, run->t), run->x, detector->end) != CG_OK) {
        return 0;
    }
    cg_sides_rounding_of_state(run, run->model->n_events);
    for (int32_t i = run->model->n_events; i < detector->n_guards; i++) {
        on[i] = fabs(detector->end[i]) <= detector->noise[i] ? 1.0 : 0.0;
        any = any || on[i] != 0.0;
    }
    return any;
}

/* The shortest time after which the flow has left one of the kinks `on` which it is, to detector->flow; 0: it stays. */
static double cg_sides_leaves(cg_run_t *run, const double *on)
{
    cg_detector_t *const detector = run->detector;
    if (cg_run_derivative(run) != CG_OK) {
        return 0.0;
    }
    memcpy(detector->f, run->f, sizeof(double) * (size_t)run->n);
    double s = fabs(cg_detector_moment(run));
    for (int probe = 1; probe < CG_PROBES; probe++) {
        s /= CG_FURTHER;
    }
    for (int probe = 0; probe < CG_PROBES; probe++, s *= CG_FURTHER) {
        if (s < 2.0 * cg_step_smallest(run->t) || cg_sides_flow(run, run->direction * s, detector->guards) != CG_OK) {
            continue;
        }
        for (int32_t i = run->model->n_events; i < detector->n_guards; i++) {
            if (on[i] != 0.0 && fabs(detector->guards[i]) > detector->noise[i]) {
                return s;
            }
        }
    }
    return 0.0;
}

/* cg_sides_choose_modes, with kinks inside of others on the sides in detector->sign. */
static int cg_sides_choose_between(cg_run_t *run, double *ahead)
{
    cg_detector_t *const detector = run->detector;
    double *const modes = run->u + detector->n_inputs, *const on = detector->samples;
    double kept[2 * CG_MOST_CONTACTS], free[CG_MOST_CONTACTS];
    const double t = run->t;
    const size_t bytes = sizeof(double) * (size_t)detector->n_modes, places = sizeof(double) * (size_t)detector->n_contacts;
    int status = cg_modes_choose(run);
    *ahead = 0.0;
    if (status != CG_OK || !cg_sides_on_kinks(run, on)) {
        return status;
    }
    memcpy(kept, modes, bytes);
    memcpy(free, detector->free, places);
    run->have_f = 0;
    const double s = cg_sides_leaves(run, on);
    if (s > 0.0) {
        for (int32_t i = 0; i < run->n; i++) { /* the two places change */
            const double here = run->x[i];
            run->x[i] = detector->flow[i];
            detector->flow[i] = here;
        }
        run->t = t + run->direction * s;
        status = cg_modes_free(run, 1);
        status = status == CG_OK ? cg_modes_choose(run) : status;
        memcpy(run->x, detector->flow, sizeof(double) * (size_t)run->n);
        run->t = t;
    }
    if (status != CG_OK) {
        memcpy(modes, kept, bytes);
    }
    *ahead = memcmp(modes, kept, bytes) != 0 ? s : 0.0;
    memcpy(detector->free, free, places);
    return cg_run_inputs(run, run->t, run->x);
}

int cg_sides_choose_modes(cg_run_t *run, double *ahead)
{
    cg_detector_t *const detector = run->detector;
    double *const sides = detector->sign + run->model->n_events, *const before = detector->fires;
    const size_t bytes = sizeof(double) * (size_t)(detector->n_guards - run->model->n_events);
    memcpy(before, sides, bytes);
    if (detector->memory.begun != CG_WATCH_MODES) { /* the state has moved: what is inside of a kink is as the state shows */
        memset(sides, 0, bytes);
    }
    const int status = cg_sides_choose_between(run, ahead);
    memcpy(sides, before, bytes);
    return status;
}

int cg_sides_leave(cg_run_t *run, double ahead)
{
    cg_detector_t *const detector = run->detector;
    const double t = run->t + run->direction * ahead;
    int status = cg_run_derivative(run);
    status = status == CG_OK ? cg_sides_flow(run, run->direction * ahead, detector->guards) : status;
    status = status == CG_OK ? cg_run_probe(run, t, detector->flow, run->f) : status;
    status = status == CG_OK ? cg_detector_evaluate(run, t, detector->flow, -1, detector->values) : status;
    for (int32_t i = run->model->n_events; i < detector->n_observed && status == CG_OK; i++) {
        const int kink = i < detector->n_guards;
        if (kink && detector->active[i] != 0.0 && fabs(detector->end[i]) <= detector->noise[i]) {
            detector->sign[i] = detector->values[i] > 0.0 ? 1.0 : -1.0;
        }
        if (kink || i >= detector->first_contact) {
            detector->end[i] = detector->values[i];
        }
    }
    if (status == CG_OK) {
        memcpy(run->x, detector->flow, sizeof(double) * (size_t)run->n_own);
        detector->have_end = 1;
    }
    const int back = cg_run_inputs(run, run->t, run->x);
    return status != CG_OK ? status : back;
}

/* ---- sides ---- */

/* The side that a guard keeps until it leaves zero to the other one, which then is a crossing; 0: none. */
static double cg_sides_kept(const cg_run_t *run, int32_t i, int start)
{
    const cg_detector_t *const detector = run->detector;
    const double direction = detector->direction[i];
    if (!run->model->events[i].has_reset) {
        return 0.0;
    }
    if (start) {
        return -direction;
    }
    if (detector->fired[i] != 0.0) {
        return -detector->sign[i]; /* `sign` is the far side */
    }
    return direction == 0.0 ? 0.0 : detector->sign[i] != 0.0 ? detector->sign[i] : detector->kept[i];
}

int cg_detector_occurred(const cg_run_t *run, int32_t index, double t)
{
    const double since = fabs(cg_time_span(run->detector->flights[index].t, cg_time_outside(run, t)));
    return run->detector->count[index] > 0.0 && since <= 2.0 * cg_step_smallest(t);
}

/* The doublings of a rounding error within which a guard that is far from zero both before and after a reset may jump over zero;
 * -1: it is not. */
static int cg_sides_far(const cg_run_t *run, int32_t i)
{
    const cg_detector_t *const detector = run->detector;
    const double least = cg_larger(detector->noise[i], CG_SIDE * detector->scale[i]);
    const int far = detector->active[i] != 0.0 && fabs(detector->end[i]) > least && fabs(detector->before[i]) > least;
    return !far ? -1 : detector->fired[i] != 0.0 || cg_detector_occurred(run, i, run->t) ? CG_LATE : 0;
}

/* After a reset: the guards that jump over zero where the state is now, or not much further off if they have just occurred. Their
 * entries in detector->end and detector->before become distances, of which one is rounding. */
static int cg_sides_of_jumps(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    double *const near = detector->fires;
    int late = 0, others = 0, any = 0;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        const int doublings = cg_sides_far(run, i);
        late = late || doublings > 0;
        others = others || doublings == 0;
    }
    cg_surface_begin(run, late);
    if (others) {
        cg_surface_near(run, near);
    }
    for (int32_t i = 0; i < run->model->n_events; i++) {
        const int doublings = cg_sides_far(run, i);
        const int may = doublings > 0 || (doublings == 0 && near[i] != 0.0);
        memset(&detector->leaving[i], 0, sizeof detector->leaving[i]);
        detector->leaving[i].jumps = may && cg_surface_jumps(run, i, doublings);
        detector->noise[i] = detector->leaving[i].jumps ? 1.0 : detector->noise[i];
        any = any || detector->leaving[i].jumps;
    }
    if (any) {
        cg_surface_distances(run, run->t, run->x, detector->end);
        cg_surface_distances(run, run->t, run->moved, detector->before);
    }
    return cg_run_inputs(run, run->t, run->x);
}

/* Guards that jump have their values again. One of which nothing could be seen has the side of its value. */
static int cg_sides_after_jumps(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    int status = CG_OK, any = 0;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        any = any || detector->leaving[i].jumps;
    }
    if (any) {
        status = cg_detector_evaluate(run, run->t, run->moved, 0, detector->values);
        memcpy(detector->before, detector->values, sizeof(double) * (size_t)run->model->n_events);
        status = status == CG_OK ? cg_detector_evaluate(run, run->t, run->x, -1, detector->end) : status;
    }
    for (int32_t i = 0; i < run->model->n_events && any; i++) {
        if (detector->leaving[i].jumps) {
            detector->noise[i] = -detector->leaving[i].time;
            if (detector->sign[i] == 0.0 && detector->leaving[i].side == 0.0) {
                detector->sign[i] = copysign(1.0, detector->end[i]);
                detector->kept[i] = 0.0;
            }
        }
    }
    return status;
}

/* The sides of the guards of events that are not zero; the entries of the others in detector->leaving are left unsettled. What
 * a guard was before a reset at which it occurs is an error of the time; one that no reset has moved keeps its side: where it is
 * zero, it is about to cross, or has just done so. */
static int cg_sides_by_value(cg_run_t *run, int start)
{
    cg_detector_t *const detector = run->detector;
    int unsure = 0;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        const int32_t jumps = !start && detector->leaving[i].jumps;
        memset(&detector->leaving[i], 0, sizeof detector->leaving[i]);
        if (detector->active[i] == 0.0) {
            detector->noise[i] = 0.0;
            detector->leaving[i].settled = 1;
            continue;
        }
        const double g = detector->end[i], before = detector->before[i], moved = fabs(g - before);
        const int fired = !start && detector->fired[i] != 0.0;
        const double latest = cg_larger(CG_SIDE * detector->scale[i], (jumps ? (double)(1 << CG_LATE) : 8.0) * detector->noise[i]);
        const int at_once = fired || (!start && cg_detector_occurred(run, i, run->t));
        const double late = at_once ? cg_smaller(4.0 * fabs(before), latest) : 0.0;
        const double least = cg_larger(detector->noise[i], late);
        const int zero = fabs(g) <= least;
        const int rested = fired && detector->kept[i] != 0.0;
        const int stays = !start && !fired && detector->sign[i] != 0.0 && moved <= detector->noise[i];
        detector->noise[i] = zero ? cg_larger(least, at_once ? 4.0 * fabs(g) : 0.0) : 0.0;
        detector->kept[i] = !zero ? 0.0 : stays ? detector->sign[i] : cg_sides_kept(run, i, start);
        detector->sign[i] = zero ? 0.0 : stays ? detector->sign[i] : g > 0.0 ? 1.0 : -1.0;
        detector->leaving[i].settled = !zero;
        detector->leaving[i].rested = rested;
        detector->leaving[i].jumps = jumps;
        unsure = unsure || zero;
    }
    return unsure;
}

/* The sides of kinks and of the caller's functions: of those that are zero, kinks to rounding, that of their slope. *unsure:
 * there are some. */
static int cg_sides_by_slope(cg_run_t *run, int *unsure)
{
    cg_detector_t *const detector = run->detector;
    *unsure = 0;
    for (int32_t i = run->model->n_events; i < detector->first_contact; i++) {
        const double rounding = i < detector->n_guards ? detector->noise[i] : 0.0;
        const double least = detector->fired[i] != 0.0 ? CG_SIDE * detector->scale[i] : rounding;
        const int known = detector->active[i] != 0.0 && fabs(detector->end[i]) > least;
        detector->sign[i] = !known ? 0.0 : detector->end[i] > 0.0 ? 1.0 : -1.0;
        *unsure = *unsure || (detector->active[i] != 0.0 && !known);
    }
    if (!*unsure) {
        return CG_OK;
    }
    double moment;
    const int status = cg_detector_later(run, -1, &moment);
    for (int32_t i = run->model->n_events; i < detector->first_contact && status == CG_OK; i++) {
        const double change = detector->values[i] - detector->end[i];
        if (detector->active[i] != 0.0 && detector->sign[i] == 0.0 && change != 0.0) {
            detector->sign[i] = change > 0.0 ? 1.0 : -1.0;
        }
    }
    return status;
}

/* The sides of kinks and of the caller's functions. Those of kinks that are zero inside of the guards of others come first. */
static int cg_sides_of_others(cg_run_t *run)
{
    const int nests = cg_detector_nests(run);
    int unsure = 1, status = CG_OK;
    for (int32_t i = run->model->n_events; i < run->model->n_guards && unsure && nests && status == CG_OK; i++) {
        status = cg_sides_by_slope(run, &unsure);
        status = status == CG_OK ? cg_detector_evaluate(run, run->t, run->x, -1, run->detector->end) : status;
    }
    return status == CG_OK && unsure ? cg_sides_by_slope(run, &unsure) : status;
}

/* The kinks in the state moved onto the constraints, in detector->end. One may have its extremum there, as y - 1 has on the
 * circle x^2 + y^2 = 1: then by what a state is off the constraints it is beyond zero or not. */
static void cg_sides_on_constraints(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    const int32_t first = run->model->n_events, end = cg_sides_guards(run);
    if (run->correction == NULL || first == end || cg_run_moved_back(run, run->t, run->x, detector->x) != CG_OK
        || cg_detector_guards_by_side(run, cg_time_of_model(run, run->t), detector->x, detector->guards) != CG_OK
        || !cg_step_finite(detector->guards, end)) {
        return;
    }
    for (int32_t i = first; i < end; i++) {
        if (detector->active[i] != 0.0) {
            const double moved = fabs(detector->end[i] - detector->guards[i]);
            detector->noise[i] = cg_larger(detector->noise[i], 4.0 * moved);
            detector->end[i] = detector->guards[i];
        }
    }
}

enum { CG_ALL_KINKS = -1, CG_RESTING_KINKS = -2 /* those that have no side */ };

/* Leaves the entries in detector->leaving of the kinks `which`, an index or one of the above, unsettled that are zero to
 * rounding. */
static int cg_sides_kinks_at_zero(cg_run_t *run, int32_t which)
{
    cg_detector_t *const detector = run->detector;
    int any = 0;
    cg_sides_on_constraints(run);
    for (int32_t i = run->model->n_events; i < cg_sides_guards(run); i++) {
        const int named = which == i || which == CG_ALL_KINKS || (which == CG_RESTING_KINKS && detector->sign[i] == 0.0);
        const int asked = named && detector->active[i] != 0.0;
        memset(&detector->leaving[i], 0, sizeof detector->leaving[i]);
        detector->leaving[i].settled = !(asked && fabs(detector->end[i]) <= detector->noise[i]);
        any = any || !detector->leaving[i].settled;
    }
    return any;
}

/* What follows from detector->leaving for kinks, those inside of the guards of others first. */
static int cg_sides_kinks_ahead(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    int status = CG_OK;
    for (int32_t i = run->model->n_events; i < cg_sides_guards(run) && status == CG_OK; i++) {
        const cg_ahead_t ahead = detector->leaving[i];
        const double side = ahead.side != 0.0 || ahead.settled ? ahead.side : detector->kept[i];
        if (side != 0.0) {
            detector->sign[i] = side;
        } else if (cg_detector_nests(run) && detector->active[i] != 0.0) {
            status = cg_detector_evaluate(run, run->t, run->x, i, detector->values);
            const double g = detector->values[i];
            detector->sign[i] = fabs(g) > detector->noise[i] ? copysign(1.0, g) : detector->sign[i];
        }
    }
    return status;
}

/* Follows the flow for kinks alone; *at_zero: some of them are. */
static int cg_sides_follow_kinks(cg_run_t *run, int32_t which, int *at_zero)
{
    cg_detector_t *const detector = run->detector;
    int status = cg_detector_evaluate(run, run->t, run->x, -1, detector->end);
    cg_sides_rounding(run, run->model->n_events);
    for (int32_t i = 0; i < run->model->n_events; i++) {
        memset(&detector->leaving[i], 0, sizeof detector->leaving[i]);
        detector->leaving[i].settled = 1;
    }
    *at_zero = cg_sides_kinks_at_zero(run, which);
    status = status == CG_OK && *at_zero ? cg_sides_look_ahead(run) : status;
    status = status == CG_OK && which == CG_RESTING_KINKS ? cg_sides_kinks_ahead(run) : status;
    return status;
}

int cg_sides_of_kink(cg_run_t *run, int32_t index, double *side)
{
    cg_detector_t *const detector = run->detector;
    int at_zero;
    detector->kept[index] = detector->sign_new[index];
    const int status = cg_sides_follow_kinks(run, index, &at_zero);
    *side = at_zero ? detector->leaving[index].side : copysign(1.0, detector->end[index]);
    return status;
}

/* The sides of kinks that have rested at zero where the motion changes. */
static int cg_sides_of_resting_kinks(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    int any = 0, at_zero;
    for (int32_t i = run->model->n_events; i < cg_sides_guards(run); i++) {
        if (detector->sign[i] == 0.0) {
            any = any || detector->active[i] != 0.0;
            detector->kept[i] = 0.0;
        }
    }
    return any ? cg_sides_follow_kinks(run, CG_RESTING_KINKS, &at_zero) : CG_OK;
}

/* Whether the reset of the event `index` has changed its guard or the slope of it, and so is meant to turn the motion; not if
 * it only does something else there. An event that occurs where its guard rested at zero has nothing to turn. */
static int cg_sides_turning(cg_run_t *run, int32_t index)
{
    cg_detector_t *const detector = run->detector;
    double *const f = detector->flow, moment;
    if (detector->leaving[index].jumps) {
        const int turns = cg_surface_turns(run, index);
        return cg_run_inputs(run, run->t, run->x) != CG_OK || turns;
    }
    if (detector->leaving[index].rested || detector->end[index] != detector->before[index]) {
        return 1;
    }
    if (cg_detector_later(run, index, &moment) != CG_OK) {
        return 1;
    }
    const double after = detector->values[index] - detector->end[index];
    int status = cg_run_probe(run, run->t, run->moved, f);
    for (int32_t i = 0; i < run->n; i++) {
        detector->x[i] = run->moved[i] + moment * f[i];
    }
    status = status == CG_OK ? cg_detector_evaluate(run, run->t + moment, detector->x, index, detector->values) : status;
    const double before = detector->values[index] - detector->before[index];
    const int back = cg_run_inputs(run, run->t, run->x);
    return status != CG_OK || back != CG_OK || fabs(after - before) > CG_SIDE * cg_larger(fabs(after), fabs(before));
}

/* What follows from detector->leaving: sides, and the crossings of guards that leave zero to another side than they kept:
 * those occur now, too. CG_ACCUMULATING: one leaves it there again although its own reset, the last one to be done, was to
 * turn it: its slope is zero, or what is left of it after flights that fade. */
static int cg_sides_ahead(cg_run_t *run, int start)
{
    cg_detector_t *const detector = run->detector;
    int32_t straight = -1;
    memset(detector->fires, 0, sizeof(double) * (size_t)detector->n_observed);
    for (int32_t i = 0; i < run->model->n_events; i++) {
        const cg_ahead_t ahead = detector->leaving[i];
        const double kept = detector->kept[i];
        const int own = !start && detector->fired[i] != 0.0;
        const int turned = own && detector->turned[i] != 0.0;
        const int faded = detector->flights[i].gap <= CG_FADED * detector->memory.longest;
        if (ahead.side == 0.0) {
            continue; /* settled by its value, or at rest at zero */
        }
        const int crosses = ahead.side == -kept;
        int goes_back = crosses && own && ahead.bends;
        if (crosses && own && !turned) {
            goes_back = (ahead.bends || (faded && !ahead.rested)) && cg_sides_turning(run, i);
        }
        const int occurs = crosses && (!own || turned) && !goes_back && detector->direction[i] * kept <= 0.0;
        detector->fires[i] = occurs ? 1.0 : 0.0;
        detector->again = detector->again || occurs;
        straight = goes_back && straight < 0 ? i : straight;
        if (!goes_back && !occurs) { /* else it is at zero yet */
            detector->sign[i] = ahead.side;
            detector->kept[i] = 0.0;
        }
    }
    detector->cause = straight;
    return straight >= 0 ? CG_ACCUMULATING : CG_OK;
}

/* The sides of what is observed of contacts. */
static void cg_sides_of_contacts(cg_run_t *run, int fresh)
{
    cg_detector_t *const detector = run->detector;
    for (int32_t i = 0; i < detector->n_contacts; i++) {
        double *const sign = detector->sign + detector->first_contact + CG_CONTACT_OBSERVED * i;
        /* not known yet for a slip that begins */
        sign[CG_CONTACT_SLIP] = detector->free[i] != 0.0 && run->u[detector->n_inputs + i] != 0.0 ? 0.0 : 1.0;
        sign[CG_CONTACT_BREAK] = 1.0;
        if (run->model->contacts[i].sign >= 0) {
            sign[CG_CONTACT_NORMAL] = 1.0;
        } else if (fresh) {
            const double normal = detector->end[detector->first_contact + CG_CONTACT_OBSERVED * i + CG_CONTACT_NORMAL];
            sign[CG_CONTACT_NORMAL] = normal > 0.0 ? 1.0 : normal < 0.0 ? -1.0 : 0.0;
        }
    }
}

/* The guards of events before what happens at run->t, in detector->before; kinks inside of them on their sides before. */
static int cg_sides_guards_before(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    const int32_t first = run->model->n_events;
    const size_t bytes = sizeof(double) * (size_t)(detector->n_guards - first);
    double *const after = detector->fires;
    memcpy(after, detector->sign + first, bytes);
    for (int32_t i = first; i < cg_sides_guards(run); i++) {
        detector->sign[i] = detector->fired[i] != 0.0 ? detector->sign_new[i] : detector->kept[i];
    }
    const int status = cg_detector_evaluate(run, run->t, run->moved, 0, detector->values);
    memcpy(detector->sign + first, after, bytes);
    memcpy(detector->before, detector->values, sizeof(double) * (size_t)first);
    return status;
}

int cg_detector_sides(cg_run_t *run, int instant)
{
    cg_detector_t *const detector = run->detector;
    const int fresh = instant != CG_SIDES_MODES, start = instant == CG_SIDES_START;
    for (int32_t i = run->model->n_events; i < cg_sides_guards(run) && fresh; i++) {
        detector->kept[i] = start ? 0.0 : detector->sign[i];
        detector->sign[i] = 0.0;
    }
    int status = fresh ? cg_detector_evaluate(run, run->t, run->x, -1, detector->end) : CG_OK;
    detector->again = 0;
    if (status == CG_OK) {
        cg_sides_of_contacts(run, fresh);
    }
    if (status != CG_OK || !fresh) {
        return status == CG_OK ? cg_sides_of_resting_kinks(run) : status;
    }
    if (detector->n_guards > 0) {
        cg_sides_rounding(run, 0);
    }
    status = cg_sides_of_others(run);
    if (status == CG_OK && cg_sides_guards(run) > 0) {
        status = start ? CG_OK : cg_sides_guards_before(run);
        if (cg_detector_nests(run)) { /* with the kinks inside of guards on their sides */
            cg_sides_rounding(run, 0);
        }
        status = status == CG_OK && !start ? cg_sides_of_jumps(run) : status;
        const int events = cg_sides_by_value(run, start), kinks = cg_sides_kinks_at_zero(run, CG_ALL_KINKS);
        status = (events || kinks) && status == CG_OK ? cg_sides_look_ahead(run) : status;
        status = status == CG_OK && !start ? cg_sides_after_jumps(run) : status;
        status = status == CG_OK && kinks ? cg_sides_kinks_ahead(run) : status;
        status = status == CG_OK ? cg_sides_ahead(run, start) : status;
    }
    return status;
}

void cg_detector_go_on(cg_detector_t *detector)
{
    const size_t bytes = sizeof(double) * (size_t)detector->n_observed;
    if (detector->again) {
        memcpy(detector->fired, detector->fires, bytes);
        for (int32_t i = 0; i < detector->n_observed; i++) {
            const int occurs = detector->fired[i] != 0.0; /* of guards alone, and at zero */
            detector->sign_new[i] = occurs ? detector->kept[i] : detector->sign[i];
            detector->sign[i] = occurs ? -detector->kept[i] : detector->sign[i];
        }
        detector->pending = detector->follows = 1;
        detector->again = 0;
    }
}
