/* cg_ahead.c: what the flow that follows an instant shows: of guards that are zero there, and of contacts on a kink.
 *
 * The flow is followed by single steps of the classical method of order 4 over times that grow from a few spacings of the
 * numbers at t, until the guard is visible, which is to say larger than its rounding errors. So a flight that neither the time
 * nor the state resolves does not count, and neither does a slope of rounding errors.
 */
#include "step/cg_internal.h"
#include "step/cg_step.h"

#include <string.h>

enum { CG_PROBES = 18 };         /* times, each CG_FURTHER times the one before */
#define CG_LINEAR 22.0           /* a guard that grows by less between two of them has a slope, else a bend: 8^1.5 */
#define CG_PART_OF_STEP 0.015625 /* the longest of the times, as a part of the step */
#define CG_MOMENTS 1e4           /* the same before the first step, in moments */
#define CG_LOCATED_OFF 1e3       /* of its rounding error: by so much a kink may be off zero where it is located */

int cg_ahead_later(cg_run_t *run, int32_t only, double *moment)
{
    cg_detector_t *const detector = run->detector;
    CG_TRY(cg_evaluate_derivative(run));
    memcpy(detector->f, run->f, sizeof(double) * (size_t)run->n);
    *moment = cg_detector_moment(run);
    for (int32_t i = 0; i < run->n; i++) {
        detector->x[i] = run->x[i] + *moment * run->f[i];
    }
    const int status = cg_detector_evaluate(run, run->t + *moment, detector->x, only, detector->values);
    const int back = cg_evaluate_run_inputs(run, run->t, run->x);
    return status != CG_OK ? status : back;
}

int32_t cg_ahead_guards(const cg_run_t *run)
{
    return run->detector->watches_kinks ? run->model->n_guards : run->model->n_events;
}

/* ---- rounding ---- */

/* The change of the guards from `first` on if state and time are shaken, see cg_shake; the larger of it and `noise`. */
static int cg_ahead_shake(cg_run_t *run, int32_t first, int changing, double *noise)
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
static void cg_ahead_rounding_of_state(cg_run_t *run, int32_t first)
{
    double *const noise = run->detector->noise;
    const int32_t n = run->detector->n_guards;
    const size_t bytes = sizeof(double) * (size_t)(n - first);
    double *const rests = run->detector->before; /* of kinks: what was an error of one that is still within it */
    for (int32_t i = run->model->n_events; i < n; i++) {
        rests[i] = fabs(run->detector->end[i]) <= noise[i] ? noise[i] : 0.0;
    }
    memset(noise + first, 0, bytes);
    if (cg_ahead_shake(run, first, 0, noise) != CG_OK || cg_ahead_shake(run, first, 1, noise) != CG_OK) {
        memset(noise + first, 0, bytes); /* too close to where guards have no value */
    }
    for (int32_t i = first; i < n; i++) {
        noise[i] = cg_larger(CG_ZERO / CG_MOMENT * noise[i], DBL_MIN);
        if (cg_detector_is_kink(run, i)) { /* where it is located, it is off by an error of the time too */
            const double latest = cg_larger(CG_SIDE * run->detector->scale[i], CG_LOCATED_OFF * noise[i]);
            const double late = cg_smaller(4.0 * fabs(run->detector->end[i]), latest);
            noise[i] = cg_larger(noise[i], run->detector->fired[i] != 0.0 ? late : rests[i]);
        }
    }
}

/* Adds the motion during the rounding error of the time to that of the guards from `first` on whose side is that of the flow,
 * in detector->noise. */
static void cg_ahead_rounding_of_time(cg_run_t *run, int32_t first)
{
    cg_detector_t *const detector = run->detector;
    double *const noise = detector->noise, moment = 1.0;
    const int32_t n = cg_ahead_guards(run);
    if (n > first && cg_ahead_later(run, 0, &moment) != CG_OK) { /* a failure is that of the next step */
        memcpy(detector->values, detector->end, sizeof(double) * (size_t)n);
    }
    for (int32_t i = first; i < n; i++) {
        const double t = cg_larger(fabs(run->t), detector->done[i]);
        noise[i] = cg_larger(noise[i], CG_ZERO * fabs(t / moment * (detector->values[i] - detector->end[i])));
    }
}

void cg_ahead_rounding(cg_run_t *run, int32_t first)
{
    cg_ahead_rounding_of_state(run, first);
    cg_ahead_rounding_of_time(run, first);
}

/* ---- the flow ---- */

/* The guards after a time s of the flow from run->x, where the derivative run->f is known. */
static int cg_ahead_flow(cg_run_t *run, double s, double *guards)
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
        status = stage > 0 ? cg_evaluate_probe(run, run->t + part[stage] * s, x, k) : CG_OK;
        for (int32_t i = 0; i < run->n; i++) {
            sum[i] += weight[stage] * k[i];
        }
    }
    for (int32_t i = 0; i < run->n; i++) {
        x[i] = run->x[i] + s / 6.0 * sum[i];
    }
    status = status == CG_OK ? cg_evaluate_run_inputs(run, run->t + s, x) : status;
    return status != CG_OK ? status : cg_detector_guards_by_side(run, cg_time_of_model(run, run->t + s), x, guards);
}

/* The times for which the flow is followed, one after the other: the next one, and how many are left. */
typedef struct {
    double next;
    int left;
} cg_ladder_t;

static cg_ladder_t cg_ahead_ladder(double longest)
{
    cg_ladder_t ladder = {longest, CG_PROBES};
    for (int probe = 1; probe < CG_PROBES; probe++) {
        ladder.next /= CG_FURTHER;
    }
    return ladder;
}

/* The guards at the next of these times, *s from now, in detector->guards; not at times at which nothing could be seen. 0: no
 * time is left. */
static int cg_ahead_climb(cg_run_t *run, cg_ladder_t *ladder, double *s)
{
    int seen = 0;
    while (!seen && ladder->left-- > 0) {
        *s = ladder->next;
        ladder->next *= CG_FURTHER;
        seen = *s >= 2.0 * cg_step_smallest(run->t) && cg_ahead_flow(run, run->direction * *s, run->detector->guards) == CG_OK;
    }
    return seen;
}

/* The next value of a guard, at this time from now; `expected`: the side on which no more needs to be known, or 0. */
static void cg_ahead_see(cg_ahead_t *ahead, double time, double value, double noise, double expected)
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

/* Whether enough is known of all guards. */
static int cg_ahead_all_settled(const cg_run_t *run)
{
    int settled = 1;
    for (int32_t i = 0; i < cg_ahead_guards(run); i++) {
        settled = settled && run->detector->leaving[i].settled;
    }
    return settled;
}

int cg_ahead_look(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    const int32_t n = cg_ahead_guards(run);
    CG_TRY(cg_evaluate_derivative(run));
    memcpy(detector->f, run->f, sizeof(double) * (size_t)run->n);
    const double step = cg_detector_moment(run), moment = fabs(step);
    const int seen = moment >= 2.0 * cg_step_smallest(run->t) && cg_ahead_flow(run, step, detector->guards) == CG_OK;
    if (seen) {
        cg_surface_distances(run, run->t + step, detector->flow, detector->guards);
    }
    for (int32_t i = 0; i < n && seen; i++) { /* mostly it shows that all leave to the side where they are expected */
        cg_ahead_t found = detector->leaving[i];
        cg_ahead_see(&found, moment, detector->guards[i], detector->noise[i], detector->kept[i]);
        detector->leaving[i] = found.settled ? found : detector->leaving[i];
    }
    cg_ladder_t ladder = cg_ahead_ladder(cg_larger(moment, run->h > 0.0 ? CG_PART_OF_STEP * run->h : CG_MOMENTS * moment));
    for (double s; !cg_ahead_all_settled(run) && cg_ahead_climb(run, &ladder, &s);) {
        cg_surface_distances(run, run->t + run->direction * s, detector->flow, detector->guards);
        for (int32_t i = 0; i < n; i++) {
            cg_ahead_see(&detector->leaving[i], s, detector->guards[i], detector->noise[i], detector->kept[i]);
        }
    }
    return cg_evaluate_run_inputs(run, run->t, run->x);
}

/* ---- contacts on kinks ---- */

/* Whether the state is on kinks, to rounding, while a contact may choose its mode, so that the branch there may be that of
 * neither side: to `on`. */
static int cg_ahead_on_kinks(cg_run_t *run, double *on)
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
    cg_ahead_rounding_of_state(run, run->model->n_events);
    for (int32_t i = run->model->n_events; i < detector->n_guards; i++) {
        on[i] = fabs(detector->end[i]) <= detector->noise[i] ? 1.0 : 0.0;
        any = any || on[i] != 0.0;
    }
    return any;
}

/* The shortest time after which the flow has left one of the kinks `on` which it is, to detector->flow; 0: it stays. */
static double cg_ahead_leaves(cg_run_t *run, const double *on)
{
    cg_detector_t *const detector = run->detector;
    if (cg_evaluate_derivative(run) != CG_OK) {
        return 0.0;
    }
    memcpy(detector->f, run->f, sizeof(double) * (size_t)run->n);
    cg_ladder_t ladder = cg_ahead_ladder(fabs(cg_detector_moment(run)));
    for (double s; cg_ahead_climb(run, &ladder, &s);) {
        for (int32_t i = run->model->n_events; i < detector->n_guards; i++) {
            if (on[i] != 0.0 && fabs(detector->guards[i]) > detector->noise[i]) {
                return s;
            }
        }
    }
    return 0.0;
}

/* cg_ahead_choose_modes, with kinks inside of others on the sides in detector->sign. */
static int cg_ahead_choose_between(cg_run_t *run, double *ahead)
{
    cg_detector_t *const detector = run->detector;
    double *const modes = run->u + detector->n_inputs, *const on = detector->samples;
    double kept[2 * CG_MOST_CONTACTS], free[CG_MOST_CONTACTS];
    const double t = run->t;
    const size_t bytes = sizeof(double) * (size_t)detector->n_modes, places = sizeof(double) * (size_t)detector->n_contacts;
    int status = cg_modes_choose(run);
    *ahead = 0.0;
    if (status != CG_OK || !cg_ahead_on_kinks(run, on)) {
        return status;
    }
    memcpy(kept, modes, bytes);
    memcpy(free, detector->free, places);
    run->have_f = 0;
    const double s = cg_ahead_leaves(run, on);
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
    return cg_evaluate_run_inputs(run, run->t, run->x);
}

int cg_ahead_choose_modes(cg_run_t *run, double *ahead)
{
    cg_detector_t *const detector = run->detector;
    double *const sides = detector->sign + run->model->n_events, *const before = detector->fires;
    const size_t bytes = sizeof(double) * (size_t)(detector->n_guards - run->model->n_events);
    memcpy(before, sides, bytes);
    if (detector->memory.begun != CG_WATCH_MODES) { /* the state has moved: what is inside of a kink is as the state shows */
        memset(sides, 0, bytes);
    }
    const int status = cg_ahead_choose_between(run, ahead);
    memcpy(sides, before, bytes);
    return status;
}

int cg_ahead_leave(cg_run_t *run, double ahead)
{
    cg_detector_t *const detector = run->detector;
    const double t = run->t + run->direction * ahead;
    int status = cg_evaluate_derivative(run);
    status = status == CG_OK ? cg_ahead_flow(run, run->direction * ahead, detector->guards) : status;
    status = status == CG_OK ? cg_evaluate_probe(run, t, detector->flow, run->f) : status;
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
    const int back = cg_evaluate_run_inputs(run, run->t, run->x);
    return status != CG_OK ? status : back;
}
