/* cg_event_handling.c: handling of events: log, resets, modes, the end of the run. */
#include "step/cg_internal.h"
#include "step/cg_step.h"

#include <string.h>

enum { MOST_CROWDED = 10000 };
#define CG_CROWDED 1e-6
#define CG_BEFORE 64.0 /* rounding errors of time and state, before which a condition is judged */
#define CG_SHORT 1e-2 /* of the longest time between events: a flight that is one of many */

/* Counts what occurs now. CG_ACCUMULATING: too many events at one time, or contacts and functions too close together. */
static int cg_event_handling_count(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    cg_detector_memory_t *const memory = &detector->memory;
    const cg_time_t now = cg_time_outside(run, run->t);
    const int64_t most = 100 + (int64_t)run->model->n_events * run->model->n_events;
    int of_model = 0;
    detector->cause = -1;
    memory->rounds++;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        cg_flights_t *const flights = &detector->flights[i];
        if (detector->fired[i] != 0.0) {
            const double gap = detector->count[i] > 1.0 ? fabs(cg_time_span(flights->t, now)) : HUGE_VAL;
            flights->before = flights->ratio;
            flights->ratio = flights->gap > 0.0 && flights->gap < HUGE_VAL ? gap / flights->gap : 0.0;
            flights->gap = gap;
            flights->t = now;
            flights->round = memory->rounds;
            detector->cause = i;
            of_model = 1;
        }
    }
    const double gap = fabs(cg_time_span(memory->t_event, now));
    detector->quiet = gap;
    memory->stuck = gap <= 2.0 * cg_step_smallest(run->t) ? memory->stuck + 1 : 0;
    memory->crowded = !of_model && gap <= CG_CROWDED * memory->longest ? memory->crowded + 1 : 0;
    memory->longest = cg_larger(memory->longest, gap);
    memory->t_event = now;
    return memory->stuck > most || memory->crowded >= MOST_CROWDED ? CG_ACCUMULATING : CG_OK;
}

/* Whether the flights of an event shrink by a ratio that has settled. */
static int cg_event_handling_shrinks(const cg_flights_t *flights)
{
    return flights->ratio > 0.0 && flights->ratio < 1.0 && fabs(flights->ratio - flights->before) <= 0.1 * (1.0 - flights->ratio);
}

/* Moves the time to the limit of the events of `detector->cause`, if they shrink so. */
static void cg_event_handling_go_to_limit(cg_run_t *run)
{
    const cg_flights_t *const flights = &run->detector->flights[run->detector->cause];
    const double t_end = cg_time_inside(run, run->t_end);
    if (cg_event_handling_shrinks(flights) && run->direction * (t_end - run->t) > 0.0) { /* else an importer moves the time */
        const double t = run->t + run->direction * flights->gap * flights->ratio / (1.0 - flights->ratio);
        run->t = run->direction * (t - t_end) > 0.0 ? t_end : t;
    }
}

/* The status of a jump that is too close to tangential for a derivative: of impacts that fade that is their accumulation. */
static int cg_event_handling_tangent_or_limit(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        const cg_flights_t *const flights = &detector->flights[i];
        if (detector->fired[i] != 0.0 && cg_event_handling_shrinks(flights)
            && flights->gap <= CG_SHORT * detector->memory.longest) {
            detector->cause = i;
            return CG_ACCUMULATING;
        }
    }
    return CG_TANGENT_EVENT;
}

/* Whether kinks alone occur: where nothing jumps with them they may follow one another as they like (cg_events.h). */
static int cg_event_handling_kinks_alone(cg_run_t *run)
{
    int others = 0;
    for (int32_t i = 0; i < run->detector->n_observed && !others; i++) {
        const int kink = cg_detector_is_kink(run, i);
        int is = CG_KINK_JUMPS;
        others = run->detector->fired[i] != 0.0
            && (!kink || cg_jump_kink(run, i, run->t, run->x, &is) != CG_OK || is == CG_KINK_JUMPS);
    }
    return !others;
}

/* They are judged as far before run->t as rounding allows, where a step has led there; the motion does not come to what fires at
 * a start or follows from others. */
int cg_event_handling_conditions(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    double *const holds = detector->fires, size = 0.0, speed = 0.0;
    int any = 0;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        any = any || detector->fired[i] != 0.0;
    }
    if (detector->when == NULL || !any) {
        return CG_OK;
    }
    int status = detector->follows ? CG_OK : cg_evaluate_derivative(run);
    for (int32_t i = 0; i < run->n_own && !detector->follows; i++) {
        size = cg_larger(size, fabs(run->x[i]));
        speed = cg_larger(speed, fabs(run->f[i]));
    }
    const double moment = 2.0 * cg_step_smallest(run->t) + (speed > 0.0 ? CG_ZERO * size / speed : 0.0);
    const double since = detector->follows ? 0.0 : CG_BEFORE * moment;
    for (int32_t i = 0; i < run->n; i++) {
        detector->x[i] = run->x[i] - (since > 0.0 ? run->direction * since * run->f[i] : 0.0);
    }
    const double t = run->t - run->direction * since;
    status = status == CG_OK ? cg_evaluate_run_inputs(run, t, detector->x) : status;
    status = status == CG_OK ? detector->when(cg_time_of_model(run, t), detector->x, run->p, run->u, holds, run->work) : status;
    for (int32_t i = 0; i < run->model->n_events && status == CG_OK; i++) {
        detector->fired[i] = holds[i] != 0.0 ? detector->fired[i] : 0.0;
    }
    const int back = cg_evaluate_run_inputs(run, run->t, run->x);
    return status != CG_OK ? status : back;
}

/* The event `index` at run->t: its reset, if it has one. */
static int cg_event_handling_apply(cg_run_t *run, int32_t index, int *reset)
{
    const cg_model_t *const model = run->model;
    cg_detector_t *const detector = run->detector;
    if (index >= model->n_events || !model->events[index].has_reset) {
        return CG_OK;
    }
    int status = cg_evaluate_reset(run, index, detector->x_jump);
    if (status != CG_OK || !cg_step_finite(detector->x_jump, run->n)) {
        return status != CG_OK ? status : CG_NONFINITE;
    }
    memcpy(run->x, detector->x_jump, sizeof(double) * (size_t)run->n);
    *reset = 1;
    return CG_OK;
}

/* Chooses modes that fit after an event. If the choice is not unique, see n_solutions and solutions. A reset may lead onto a
 * kink: *ahead as for cg_ahead_choose_modes. */
static int cg_event_handling_modes(cg_run_t *run, int reset, double *ahead)
{
    cg_detector_t *const detector = run->detector;
    detector->contact = -1;
    for (int32_t i = detector->first_contact; i < detector->n_observed && detector->contact < 0; i++) {
        detector->contact = detector->fired[i] != 0.0 ? (i - detector->first_contact) / CG_CONTACT_OBSERVED : -1;
    }
    int kinks = 0; /* at which a force may jump over the limit of a contact */
    for (int32_t i = run->model->n_events; i < detector->n_guards; i++) {
        kinks = kinks || detector->fired[i] != 0.0;
    }
    if (detector->contact < 0 && !reset && !kinks) {
        memset(detector->free, 0, sizeof(double) * (size_t)detector->n_contacts);
        return CG_OK;
    }
    int status = cg_modes_free(run, reset);
    if (status == CG_OK) {
        status = reset ? cg_ahead_choose_modes(run, ahead) : cg_modes_choose(run);
    }
    if (status == CG_OK) {
        cg_modes_activate(run);
        run->have_f = 0;
    }
    return status;
}

/* Whether the reset of the event `index`, just done, makes its guard go back to the side it came from. The slope tells, where
 * the guard is zero; one that jumps over zero here has another value a moment later. */
static int cg_event_handling_turns(cg_run_t *run, int32_t index)
{
    cg_detector_t *const detector = run->detector;
    double moment;
    run->have_f = 0;
    int status = cg_detector_evaluate(run, run->t, run->x, index, detector->values);
    const double g = detector->values[index];
    const double from = fabs(g) <= cg_detector_least(run, index, fabs(run->t - run->t_old)) ? g : 0.0;
    status = status == CG_OK ? cg_ahead_later(run, index, &moment) : status;
    const int back = cg_evaluate_run_inputs(run, run->t, run->moved); /* the next reset sees the same inputs */
    return status == CG_OK && back == CG_OK && (detector->values[index] - from) * detector->sign[index] < 0.0;
}

/* Whether a step has found that events fire which were handled at its start, and none since, whose guards rest at zero: nothing
 * could be seen of where they go before. */
static int cg_event_handling_goes_straight_back(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    int32_t found = -1;
    for (int32_t i = 0; i < detector->n_observed && !detector->follows; i++) {
        if (detector->fired[i] == 0.0) {
            continue;
        }
        if (i >= run->model->n_events || detector->limit[i] > 0.0 || detector->kept[i] == 0.0
            || detector->flights[i].round != detector->memory.rounds || !cg_sides_occurred(run, i, run->t)) {
            return 0;
        }
        found = i;
    }
    detector->cause = found;
    return found >= 0;
}

static int cg_event_handling_instant(cg_run_t *run, const cg_record_t *record)
{
    cg_detector_t *const detector = run->detector;
    const size_t modes = (size_t)detector->n_modes;
    const int64_t first = detector->n_log;
    double ahead = 0.0;
    if (cg_event_handling_goes_straight_back(run)) {
        cg_event_handling_go_to_limit(run);
        return CG_ACCUMULATING;
    }
    int status = cg_evaluate_run_inputs(run, run->t, run->x), reset = 0, terminal = 0, several = 0;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        several += detector->fired[i] != 0.0 && run->model->events[i].has_reset;
    }
    memset(detector->turned, 0, sizeof(double) * (size_t)detector->n_guards);
    if (modes > 0) {
        memcpy(detector->modes, run->u + detector->n_inputs, sizeof(double) * modes);
    }
    memcpy(run->moved, run->x, sizeof(double) * (size_t)run->n);
    for (int32_t i = 0; i < detector->n_observed && status == CG_OK; i++) {
        if (detector->fired[i] != 0.0) {
            detector->count[i] += 1.0;
            terminal = terminal || cg_detector_ends(detector, i);
            memcpy(detector->x, run->x, sizeof(double) * (size_t)run->n);
            status = cg_event_handling_apply(run, i, &reset);
            cg_detector_log(run, i, record, detector->x);
            if (status == CG_OK && several > 1 && i < run->model->n_events && run->model->events[i].has_reset) {
                detector->turned[i] = cg_event_handling_turns(run, i) ? 1.0 : 0.0;
            }
        }
    }
    if (status == CG_OK && reset) {
        status = cg_correct_left(run, run->moved, detector->residuals);
        for (int64_t row = first; row < detector->n_log && status == CG_UNCLOSED; row++) {
            double *const logged = detector->log + row * detector->log_row;
            logged[3] = logged[1] < (double)run->model->n_events && run->model->events[(int32_t)logged[1]].has_reset ? 1.0 : 0.0;
        }
    }
    if (status == CG_OK && detector->n_contacts > 0) {
        status = cg_event_handling_modes(run, reset, &ahead);
    }
    run->have_f = run->have_f && !reset;
    if (status == CG_OK && !cg_event_handling_kinks_alone(run)) {
        status = cg_event_handling_count(run);
    }
    if (status == CG_OK) {
        status = cg_sides_find(run, reset ? CG_SIDES_RESET : CG_SIDES_MODES);
    }
    detector->follows = 0;
    status = status == CG_ACCUMULATING && terminal ? CG_OK : status; /* what would follow does not matter */
    if (status == CG_OK && run->jump != NULL) {
        status = cg_jump_event(run);
        status = status == CG_TANGENT_EVENT ? cg_event_handling_tangent_or_limit(run) : status;
    }
    detector->have_end = 0;
    if (status == CG_OK && ahead > 0.0 && !terminal) {
        status = cg_ahead_leave(run, ahead);
    }
    detector->n_instants++;
    if (detector->log != NULL && detector->n_log > first) {
        double *last = detector->log + (detector->n_log - 1) * detector->log_row + CG_LOG_HEAD;
        memcpy(last + run->n, run->x, sizeof(double) * (size_t)run->n);
        for (int64_t row = first; row < detector->n_log && modes > 0; row++) {
            memcpy(detector->log + row * detector->log_row + CG_LOG_HEAD + 2 * run->n + (ptrdiff_t)modes,
                   run->u + detector->n_inputs, sizeof(double) * modes);
        }
    }
    const int changed = reset || (modes > 0 && memcmp(detector->modes, run->u + detector->n_inputs, sizeof(double) * modes) != 0)
        || memcmp(run->moved, run->x, sizeof(double) * (size_t)run->n_own) != 0; /* a slip may have been made exactly zero */
    if (reset) {
        run->have_dense = 0;
        run->t_old = run->t; /* the interpolant of the step does not reach this state */
        memcpy(run->x_old, run->x, sizeof(double) * (size_t)run->ld);
    }
    detector->pending = changed ? 2 : 0;
    if (terminal && (status == CG_OK || status == CG_ACCUMULATING)) {
        detector->again = 0;
        return CG_TERMINAL_EVENT;
    }
    if (status == CG_ACCUMULATING && detector->cause >= 0) {
        cg_event_handling_go_to_limit(run);
    }
    return status;
}

int cg_event_handling_now(cg_run_t *run, cg_record_t *record)
{
    cg_detector_t *const detector = run->detector;
    while (detector->pending) {
        if (detector->pending == 1) {
            int64_t rows = 0;
            detector->verdict = cg_event_handling_conditions(run);
            for (int32_t i = 0; i < detector->n_observed; i++) {
                rows += detector->fired[i] != 0.0;
            }
            if (!cg_detector_has_room(detector, rows)) {
                return CG_EVENTS_FULL;
            }
            if (rows > 0 && detector->verdict == CG_OK) {
                detector->verdict = cg_event_handling_instant(run, record);
            } else {
                detector->pending = detector->follows = 0;
            }
        }
        if (detector->pending == 2) {
            CG_TRY(record == NULL ? CG_OK : cg_record_jump(run, record));
        }
        detector->pending = 0;
        if (detector->verdict == CG_OK) {
            cg_sides_go_on(detector);
        }
    }
    run->status = detector->verdict;
    detector->verdict = CG_OK;
    return run->status;
}
