/* cg_event_handling.c: handling of events: log, resets, modes, the end of the run; the detector's memory block. */
#include "cg_internal.h"
#include "cg_memory.h"
#include "cg_step.h"

#include <string.h>

/* ---- the block ---- */

static size_t cg_detector_layout(cg_detector_t *detector, char *base, int32_t ld)
{
    size_t offset = CG_ALIGNED(sizeof(cg_detector_t));
    double **const by_index[] = {&detector->direction, &detector->limit, &detector->sign, &detector->count, &detector->sign_new,
                                 &detector->active, &detector->root, &detector->cursor, &detector->fired, &detector->fires,
                                 &detector->scale,  &detector->end, &detector->values};
    double **const by_guard[] = {&detector->kept, &detector->noise, &detector->before};
    for (size_t i = 0; i < sizeof by_index / sizeof *by_index; i++) {
        *by_index[i] = cg_take(base, &offset, detector->n_observed);
    }
    for (size_t i = 0; i < sizeof by_guard / sizeof *by_guard; i++) {
        *by_guard[i] = cg_take(base, &offset, detector->n_guards);
    }
    detector->leaving = (cg_ahead_t *)cg_take_bytes(base, &offset, sizeof *detector->leaving * (size_t)detector->n_guards);
    detector->flights = (cg_flights_t *)cg_take_bytes(base, &offset, sizeof *detector->flights * (size_t)detector->n_guards);
    detector->samples = cg_take(base, &offset, (int64_t)CG_NODES * detector->n_observed);
    detector->x = cg_take(base, &offset, ld);
    detector->x_jump = cg_take(base, &offset, ld);
    detector->f = cg_take(base, &offset, ld);
    detector->flow = cg_take(base, &offset, 3 * (int64_t)ld);
    detector->tolerance = cg_take(base, &offset, ld);
    detector->guards = cg_take(base, &offset, detector->n_guards);
    detector->contacts = cg_take(base, &offset, 5 * (int64_t)detector->n_contacts);
    detector->ahead = cg_take(base, &offset, 5 * (int64_t)detector->n_contacts);
    detector->modes = cg_take(base, &offset, detector->n_modes);
    detector->present = cg_take(base, &offset, detector->n_modes);
    detector->chosen = cg_take(base, &offset, detector->n_modes);
    detector->free = cg_take(base, &offset, detector->n_contacts);
    detector->solutions = cg_take(base, &offset, (int64_t)CG_SOLUTIONS * detector->n_modes);
    detector->forces = cg_take(base, &offset, (int64_t)CG_SOLUTIONS * detector->n_contacts);
    detector->residuals = cg_take(base, &offset, 6 * (int64_t)detector->n_consistency);
    return offset;
}

static void cg_detector_sizes(cg_detector_t *detector, const cg_model_t *model, int32_t n_functions)
{
    detector->n = model->n_states;
    detector->n_inputs = model->n_inputs;
    detector->n_guards = model->n_guards;
    detector->n_functions = n_functions;
    detector->n_contacts = model->n_contacts;
    detector->n_modes = model->n_modes;
    detector->n_consistency = model->consistency == NULL ? 0 : model->n_consistency;
    detector->first_contact = model->n_guards + n_functions;
    detector->n_observed = detector->first_contact + CG_CONTACT_OBSERVED * model->n_contacts;
    detector->log_row = CG_LOG_HEAD + 2 * model->n_states + 2 * model->n_modes;
}

size_t cg_detector_size(const cg_model_t *model, int32_t n_functions)
{
    cg_detector_t detector;
    memset(&detector, 0, sizeof detector);
    cg_detector_sizes(&detector, model, n_functions);
    return cg_detector_layout(&detector, NULL, CG_PADDED(model->n_states));
}

/* Whether the model has the tables and kernels for the events and contacts that it declares. */
static int cg_detector_fits(const cg_model_t *model, int32_t n_functions)
{
    int fits = n_functions >= 0 && n_functions < 1 << 20 && model->n_events >= 0 && model->n_guards >= model->n_events
        && (model->n_guards == 0 || model->guards_fn != NULL) && (model->n_events == 0 || model->events != NULL)
        && model->n_contacts >= 0 && model->n_contacts <= CG_MOST_CONTACTS
        && (model->n_contacts == 0 || (model->contacts_fn != NULL && model->contacts != NULL))
        && model->n_modes >= model->n_contacts;
    for (int32_t i = 0; fits && i < model->n_events; i++) {
        fits = model->reset != NULL || !model->events[i].has_reset;
    }
    for (int32_t i = 0; fits && i < model->n_contacts; i++) {
        fits = model->contacts[i].sign >= -1 && model->contacts[i].sign < model->n_modes - model->n_contacts;
    }
    return fits;
}

int cg_detector_init(cg_detector_t *detector, size_t size, const cg_model_t *model, int32_t n_functions, int32_t flags)
{
    if (detector == NULL || model == NULL || !cg_detector_fits(model, n_functions)
        || size < cg_detector_size(model, n_functions)) {
        return CG_BAD_ARGUMENT;
    }
    memset(detector, 0, size);
    cg_detector_sizes(detector, model, n_functions);
    detector->size = cg_detector_layout(detector, (char *)detector, CG_PADDED(model->n_states));
    detector->contact = -1;
    detector->logs_fields = (flags & CG_LOG_FIELDS) != 0;
    detector->goes_on = (flags & CG_LOG_FAILURES) != 0;
    detector->log_row += detector->logs_fields ? 2 + 2 * model->n_states : 0;
    for (int32_t i = 0; i < detector->n_observed; i++) {
        detector->active[i] = i < model->n_events || i >= detector->n_guards || (flags & CG_WATCH_KINKS) ? 1.0 : 0.0;
    }
    for (int32_t i = 0; i < model->n_events; i++) {
        detector->direction[i] = model->events[i].direction > 0 ? 1.0 : model->events[i].direction < 0 ? -1.0 : 0.0;
        detector->limit[i] = model->events[i].terminal ? 1.0 : 0.0;
    }
    for (int32_t i = 0; i < detector->n_contacts; i++) {
        double *const direction = detector->direction + detector->first_contact + CG_CONTACT_OBSERVED * i;
        direction[CG_CONTACT_SLIP] = -1.0;
        direction[CG_CONTACT_BREAK] = -1.0;
        direction[CG_CONTACT_NORMAL] = model->contacts[i].sign >= 0 ? -1.0 : 0.0;
    }
    return CG_OK;
}

void cg_detector_reset(cg_detector_t *detector)
{
    memset(&detector->memory, 0, sizeof detector->memory);
    memset(detector->count, 0, sizeof(double) * (size_t)detector->n_observed);
    memset(detector->sign, 0, sizeof(double) * (size_t)detector->n_observed);
    memset(detector->end, 0, sizeof(double) * (size_t)detector->n_observed);
    memset(detector->kept, 0, sizeof(double) * (size_t)detector->n_guards);
    memset(detector->noise, 0, sizeof(double) * (size_t)detector->n_guards);
    memset(detector->flights, 0, sizeof *detector->flights * (size_t)detector->n_guards);
    detector->pending = 0;
    detector->again = 0;
    detector->turned = 0;
    detector->follows = 0;
    detector->cause = -1;
    detector->verdict = CG_OK;
    detector->n_solutions = 0;
    detector->contact = -1;
}

void cg_detector_again(cg_detector_t *detector)
{
    detector->memory.begun = detector->memory.begun == CG_WATCH_NEW ? CG_WATCH_NEW : CG_WATCH_AGAIN;
}

void cg_detector_inputs_changed(cg_detector_t *detector)
{
    if (detector->memory.begun == CG_WATCH_READY) {
        detector->memory.begun = CG_WATCH_AGAIN;
    } else if (detector->memory.begun == CG_WATCH_BEGUN && detector->n_modes > 0) {
        detector->memory.begun = CG_WATCH_MODES;
    }
}

/* ---- saving ---- */

enum { CG_SAVED = 5 };

/* What is saved, in order: copies it from the detector to `place`, or back. The result is its size. */
static size_t cg_detector_copy(const cg_detector_t *detector, char *place, int back)
{
    const size_t by_index = sizeof(double) * (size_t)detector->n_observed, by_guard = sizeof(double) * (size_t)detector->n_guards;
    double *const arrays[CG_SAVED] = {detector->sign, detector->count, detector->kept, detector->noise,
                                      (double *)(void *)detector->flights};
    const size_t bytes[CG_SAVED] = {by_index, by_index, by_guard, by_guard,
                                    sizeof *detector->flights * (size_t)detector->n_guards};
    size_t offset = 0;
    for (int i = 0; i < CG_SAVED; i++) {
        if (place != NULL && bytes[i] > 0) {
            memcpy(back ? (void *)arrays[i] : place + offset, back ? place + offset : (void *)arrays[i], bytes[i]);
        }
        offset += bytes[i];
    }
    return offset;
}

size_t cg_detector_saved_size(const cg_detector_t *detector)
{
    return sizeof(cg_detector_memory_t) + cg_detector_copy(detector, NULL, 0);
}

void cg_detector_save(const cg_detector_t *detector, void *to)
{
    memcpy(to, &detector->memory, sizeof detector->memory);
    cg_detector_copy(detector, (char *)to + sizeof detector->memory, 0);
}

int cg_detector_restore(cg_detector_t *detector, const void *from, size_t size)
{
    const char *const place = (const char *)from;
    if (from == NULL || size != cg_detector_saved_size(detector)) {
        return CG_BAD_ARGUMENT;
    }
    for (int32_t i = 0; i < detector->n_observed; i++) {
        double sign;
        memcpy(&sign, place + sizeof detector->memory + (size_t)i * sizeof sign, sizeof sign);
        if (sign != 0.0 && fabs(sign) != 1.0) {
            return CG_BAD_ARGUMENT;
        }
    }
    cg_detector_reset(detector);
    memcpy(&detector->memory, place, sizeof detector->memory);
    cg_detector_copy(detector, (char *)(uintptr_t)(place + sizeof detector->memory), 1);
    detector->have_end = 0;
    return CG_OK;
}

/* ---- handling ---- */

enum { MOST_CROWDED = 10000 };
#define CG_CROWDED 1e-6
#define CG_SHORT 1e-2 /* of the longest time between events: a flight that is one of many */

/* Counts what occurs now. CG_ACCUMULATING: too many events at one time, or contacts and functions too close together. */
static int cg_count_occurrences(cg_run_t *run)
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
    memory->stuck = gap <= 2.0 * cg_step_smallest(run->t) ? memory->stuck + 1 : 0;
    memory->crowded = !of_model && gap <= CG_CROWDED * memory->longest ? memory->crowded + 1 : 0;
    memory->longest = cg_larger(memory->longest, gap);
    memory->t_event = now;
    return memory->stuck > most || memory->crowded >= MOST_CROWDED ? CG_ACCUMULATING : CG_OK;
}

/* Whether the flights of an event shrink by a ratio that has settled. */
static int cg_shrinks(const cg_flights_t *flights)
{
    return flights->ratio > 0.0 && fabs(flights->ratio - flights->before) <= 0.1 * (1.0 - flights->ratio);
}

/* Moves the time to the limit of the events of `detector->cause`, if they shrink so. */
static void cg_go_to_limit(cg_run_t *run)
{
    const cg_flights_t *const flights = &run->detector->flights[run->detector->cause];
    const double t_end = cg_time_inside(run, run->t_end);
    if (cg_shrinks(flights) && run->direction * (t_end - run->t) > 0.0) { /* else an importer moves the time */
        const double t = run->t + run->direction * flights->gap * flights->ratio / (1.0 - flights->ratio);
        run->t = run->direction * (t - t_end) > 0.0 ? t_end : t;
    }
}

/* The status of a jump that is too close to tangential for a derivative: of impacts that fade that is their accumulation. */
static int cg_tangent_or_limit(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        const cg_flights_t *const flights = &detector->flights[i];
        if (detector->fired[i] != 0.0 && cg_shrinks(flights) && flights->gap <= CG_SHORT * detector->memory.longest) {
            detector->cause = i;
            return CG_ACCUMULATING;
        }
    }
    return CG_TANGENT_EVENT;
}

/* Whether kinks alone occur: where nothing jumps with them they may follow one another as they like (cg_events.h). */
static int cg_kinks_alone(const cg_run_t *run)
{
    int others = run->jump != NULL;
    for (int32_t i = 0; i < run->detector->n_observed; i++) {
        others = others || (run->detector->fired[i] != 0.0 && (i < run->model->n_events || i >= run->detector->n_guards));
    }
    return !others;
}

/* The event `index` at run->t: its reset, if it has one. */
static int cg_apply(cg_run_t *run, int32_t index, int *reset)
{
    const cg_model_t *const model = run->model;
    cg_detector_t *const detector = run->detector;
    if (index >= model->n_events || !model->events[index].has_reset) {
        return CG_OK;
    }
    int status = model->reset(index, cg_time_of_model(run, run->t), run->x, run->p, run->u, detector->x_jump, run->work);
    if (status != CG_OK || !cg_step_finite(detector->x_jump, run->n)) {
        return status != CG_OK ? status : CG_NONFINITE;
    }
    memcpy(run->x, detector->x_jump, sizeof(double) * (size_t)run->n);
    *reset = 1;
    return CG_OK;
}

/* Chooses modes that fit after an event. If the choice is not unique, see n_solutions and solutions. */
static int cg_change_modes(cg_run_t *run, int reset)
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
        status = cg_modes_choose(run);
    }
    if (status == CG_OK) {
        cg_detector_activate(run);
        run->have_f = 0;
    }
    return status;
}

/* The `choose` of cg_jump_at_t: contacts whose own quantities are not done keep their modes. */
static int cg_modes_of_some(void *context, const unsigned char *done, const double *x, double *modes)
{
    cg_run_t *const run = (cg_run_t *)context;
    cg_detector_t *const detector = run->detector;
    double *const present = run->u + detector->n_inputs;
    const size_t bytes = sizeof(double) * (size_t)run->n, of_modes = sizeof(double) * (size_t)detector->n_modes;
    const int32_t n_solutions = detector->n_solutions;
    int reset = 0;
    memcpy(run->x_trial, run->x, bytes);
    memcpy(run->x, x, sizeof(double) * (size_t)run->n_own);
    memcpy(detector->chosen, present, of_modes);
    memcpy(present, detector->modes, of_modes);
    for (int32_t i = 0; i < run->model->n_events; i++) {
        reset = reset || (done[i] && detector->fired[i] != 0.0 && run->model->events[i].has_reset);
    }
    int status = cg_modes_free(run, reset);
    for (int32_t i = 0; i < detector->n_contacts; i++) {
        for (int what = 0; what < CG_CONTACT_OBSERVED; what++) {
            const int32_t own = CG_CONTACT_OBSERVED * i + what;
            if (detector->fired[detector->first_contact + own] != 0.0 && !done[detector->n_guards + own]) {
                detector->free[i] = 0.0;
                present[i] = detector->modes[i];
            }
        }
    }
    memcpy(detector->present, present, of_modes);
    if (status == CG_OK) {
        status = cg_modes_choose(run);
    }
    memcpy(modes, present, of_modes);
    memcpy(present, detector->chosen, of_modes);
    memcpy(run->x, run->x_trial, bytes);
    detector->n_solutions = n_solutions;
    return status;
}

/* The `tell` of cg_jump_at_t: to the log. */
static void cg_log_fields(void *context, int32_t cause, double group, const double *before, const double *after,
                          const double *modes)
{
    const cg_run_t *const run = (const cg_run_t *)context;
    const cg_detector_t *const detector = run->detector;
    const int32_t place = cause < detector->n_guards ? cause : cause - detector->n_guards + detector->first_contact;
    const ptrdiff_t n = run->n, n_modes = detector->n_modes;
    double *row = detector->log + (detector->n_log - 1) * detector->log_row;
    while (row[1] != (double)place) {
        row -= detector->log_row;
    }
    row += CG_LOG_HEAD + 2 * n;
    memcpy(row, modes, sizeof(double) * (size_t)n_modes);
    row += 2 * n_modes;
    row[1] = group;
    memcpy(row + 2, before, sizeof(double) * (size_t)run->n_own);
    memcpy(row + 2 + n, after, sizeof(double) * (size_t)run->n_own);
}

/* Derivatives in the state, after what has fired is handled; the state before is in run->moved. */
static int cg_jumped(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    cg_jump_at_t at;
    memset(&at, 0, sizeof at);
    at.t = cg_time_of_model(run, run->t);
    at.moment = run->direction * CG_MOMENT_OF_RATE * run->h;
    at.before = run->moved;
    at.modes = detector->modes;
    at.u_slope = run->u_slope;
    at.tolerance = detector->tolerance;
    at.rtol = run->rtol;
    at.detector = detector;
    at.context = run;
    at.choose = cg_modes_of_some;
    at.tell = detector->logs_fields ? cg_log_fields : NULL;
    for (int32_t i = 0; i < run->n_own; i++) {
        detector->tolerance[i] = cg_step_scale(run->atol[i], run->rtol, run->moved[i], run->moved[i]);
    }
    int status = run->jump(&at, run->p, run->u, run->x, run->work);
    run->have_f = 0;
    if (detector->goes_on && (status == CG_TANGENT_EVENT || status == CG_ORDER_MATTERS)) {
        status = CG_OK;
    }
    return status != CG_OK || cg_step_finite(run->x, run->n) ? status : CG_NONFINITE;
}

/* Whether the reset of the event `index`, just done, makes its guard go back to the side it came from. */
static int cg_turns(cg_run_t *run, int32_t index)
{
    cg_detector_t *const detector = run->detector;
    double moment;
    run->have_f = 0;
    int status = cg_detector_evaluate(run, run->t, run->x, index, detector->values);
    const double g = detector->values[index];
    status = status == CG_OK ? cg_detector_later(run, index, &moment) : status;
    const int back = cg_run_inputs(run, run->t, run->moved); /* the next reset sees the inputs as this one did */
    return status == CG_OK && back == CG_OK && (detector->values[index] - g) * detector->sign[index] < 0.0;
}

/* Whether a step has found that events fire which were handled at its start, and none since, whose guards rest at zero: nothing
 * could be seen of where they go before. */
static int cg_goes_straight_back(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    int32_t found = -1;
    for (int32_t i = 0; i < detector->n_observed && !detector->follows; i++) {
        if (detector->fired[i] == 0.0) {
            continue;
        }
        if (i >= run->model->n_events || detector->limit[i] > 0.0 || detector->kept[i] == 0.0
            || detector->flights[i].round != detector->memory.rounds || !cg_detector_occurred(run, i, run->t)) {
            return 0;
        }
        found = i;
    }
    detector->cause = found;
    return found >= 0;
}

static int cg_at_event(cg_run_t *run, const cg_record_t *record)
{
    cg_detector_t *const detector = run->detector;
    const size_t modes = (size_t)detector->n_modes;
    const int64_t first = detector->n_log;
    if (cg_goes_straight_back(run)) {
        cg_go_to_limit(run);
        return CG_ACCUMULATING;
    }
    detector->follows = 0;
    int status = cg_run_inputs(run, run->t, run->x), reset = 0, terminal = 0, several = 0;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        several += detector->fired[i] != 0.0 && run->model->events[i].has_reset;
    }
    detector->turned = 0;
    if (modes > 0) {
        memcpy(detector->modes, run->u + detector->n_inputs, sizeof(double) * modes);
    }
    memcpy(run->moved, run->x, sizeof(double) * (size_t)run->n);
    for (int32_t i = 0; i < detector->n_observed && status == CG_OK; i++) {
        if (detector->fired[i] != 0.0) {
            detector->count[i] += 1.0;
            terminal = terminal || cg_detector_ends(detector, i);
            memcpy(detector->x, run->x, sizeof(double) * (size_t)run->n);
            status = cg_apply(run, i, &reset);
            cg_detector_log(run, i, record, detector->x);
            if (status == CG_OK && several > 1 && i < run->model->n_events && run->model->events[i].has_reset) {
                detector->turned = cg_turns(run, i) || detector->turned;
            }
        }
    }
    if (status == CG_OK && reset) {
        status = cg_run_left(run, run->moved, detector->residuals);
        for (int64_t row = first; row < detector->n_log && status == CG_UNCLOSED; row++) {
            double *const logged = detector->log + row * detector->log_row;
            logged[3] = logged[1] < run->model->n_events && run->model->events[(int32_t)logged[1]].has_reset ? 1.0 : 0.0;
        }
    }
    if (status == CG_OK && detector->n_contacts > 0) {
        status = cg_change_modes(run, reset);
    }
    run->have_f = run->have_f && !reset;
    if (status == CG_OK && !cg_kinks_alone(run)) {
        status = cg_count_occurrences(run);
    }
    if (status == CG_OK) {
        status = cg_detector_sides(run, reset ? CG_SIDES_RESET : CG_SIDES_MODES);
    }
    if (status == CG_OK && run->jump != NULL) {
        status = cg_jumped(run);
        status = status == CG_TANGENT_EVENT ? cg_tangent_or_limit(run) : status;
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
    detector->have_end = 0;
    detector->pending = changed ? 2 : 0;
    if (terminal && (status == CG_OK || status == CG_ACCUMULATING)) {
        detector->again = 0;
        return CG_TERMINAL_EVENT;
    }
    if (status == CG_ACCUMULATING && detector->cause >= 0) {
        cg_go_to_limit(run);
    }
    return status;
}

int cg_detector_handle(cg_run_t *run, cg_record_t *record)
{
    cg_detector_t *const detector = run->detector;
    while (detector->pending) {
        if (detector->pending == 1) {
            int64_t rows = 0;
            for (int32_t i = 0; i < detector->n_observed; i++) {
                rows += detector->fired[i] != 0.0;
            }
            if (!cg_detector_has_room(detector, rows)) {
                return CG_EVENTS_FULL;
            }
            detector->verdict = cg_at_event(run, record);
        }
        if (detector->pending == 2) {
            const int status = record == NULL ? CG_OK : cg_record_jump(run, record);
            if (status != CG_OK) {
                return status;
            }
        }
        detector->pending = 0;
        if (detector->verdict == CG_OK) {
            cg_detector_go_on(detector);
        }
    }
    run->status = detector->verdict;
    detector->verdict = CG_OK;
    return run->status;
}
