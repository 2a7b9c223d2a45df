/* cg_happen.c: what happens at an event: the log, resets, modes, the end of the run; and the watch's block of memory. */
#include "cg_events.h"
#include "cg_memory.h"
#include "cg_step.h"

#include <string.h>

/* ---- the block ---- */

static size_t cg_watch_layout(cg_watch_t *watch, char *base, int32_t ld)
{
    size_t offset = CG_ALIGNED(sizeof(cg_watch_t));
    double **const by_index[] = {&watch->direction, &watch->limit, &watch->sign, &watch->count, &watch->sign_new,
                                 &watch->active, &watch->root, &watch->cursor, &watch->fired, &watch->scale,
                                 &watch->end, &watch->values};
    for (size_t i = 0; i < sizeof by_index / sizeof *by_index; i++) {
        *by_index[i] = cg_take(base, &offset, watch->n_watched);
    }
    watch->samples = cg_take(base, &offset, (int64_t)CG_NODES * watch->n_watched);
    watch->x = cg_take(base, &offset, ld);
    watch->x_jump = cg_take(base, &offset, ld);
    watch->f = cg_take(base, &offset, ld);
    watch->guards = cg_take(base, &offset, watch->n_guards);
    watch->contacts = cg_take(base, &offset, 5 * (int64_t)watch->n_contacts);
    watch->ahead = cg_take(base, &offset, 5 * (int64_t)watch->n_contacts);
    watch->modes = cg_take(base, &offset, watch->n_modes);
    watch->present = cg_take(base, &offset, watch->n_modes);
    watch->free = cg_take(base, &offset, watch->n_contacts);
    watch->solutions = cg_take(base, &offset, (int64_t)CG_SOLUTIONS * watch->n_modes);
    watch->forces = cg_take(base, &offset, (int64_t)CG_SOLUTIONS * watch->n_contacts);
    return offset;
}

static void cg_watch_sizes(cg_watch_t *watch, const cg_model_t *model, int32_t n_functions)
{
    watch->n = model->n_states;
    watch->n_inputs = model->n_inputs;
    watch->n_guards = model->n_guards;
    watch->n_functions = n_functions;
    watch->n_contacts = model->n_contacts;
    watch->n_modes = model->n_modes;
    watch->first_contact = model->n_guards + n_functions;
    watch->n_watched = watch->first_contact + CG_CONTACT_WATCHED * model->n_contacts;
    watch->log_row = CG_LOG_HEAD + 2 * model->n_states + 2 * model->n_modes;
}

size_t cg_watch_size(const cg_model_t *model, int32_t n_functions)
{
    cg_watch_t watch;
    memset(&watch, 0, sizeof watch);
    cg_watch_sizes(&watch, model, n_functions);
    return cg_watch_layout(&watch, NULL, CG_PADDED(model->n_states));
}

/* Whether the tables and kernels for the events and contacts that the model announces are there. */
static int cg_watch_fits(const cg_model_t *model, int32_t n_functions)
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

int cg_watch_init(cg_watch_t *watch, size_t size, const cg_model_t *model, int32_t n_functions, int32_t flags)
{
    if (watch == NULL || model == NULL || !cg_watch_fits(model, n_functions)
        || size < cg_watch_size(model, n_functions)) {
        return CG_BAD_ARGUMENT;
    }
    memset(watch, 0, size);
    cg_watch_sizes(watch, model, n_functions);
    watch->size = cg_watch_layout(watch, (char *)watch, CG_PADDED(model->n_states));
    watch->contact = -1;
    for (int32_t i = 0; i < watch->n_watched; i++) {
        watch->active[i] = i < model->n_events || i >= watch->n_guards || (flags & CG_WATCH_KINKS) ? 1.0 : 0.0;
    }
    for (int32_t i = 0; i < model->n_events; i++) {
        watch->direction[i] = model->events[i].direction > 0 ? 1.0 : model->events[i].direction < 0 ? -1.0 : 0.0;
        watch->limit[i] = model->events[i].terminal ? 1.0 : 0.0;
    }
    for (int32_t i = 0; i < watch->n_contacts; i++) {
        double *const direction = watch->direction + watch->first_contact + CG_CONTACT_WATCHED * i;
        direction[CG_CONTACT_SLIP] = -1.0;
        direction[CG_CONTACT_BREAK] = -1.0;
        direction[CG_CONTACT_NORMAL] = model->contacts[i].sign >= 0 ? -1.0 : 0.0;
    }
    return CG_OK;
}

void cg_watch_reset(cg_watch_t *watch)
{
    memset(&watch->memory, 0, sizeof watch->memory);
    memset(watch->count, 0, sizeof(double) * (size_t)watch->n_watched);
    memset(watch->sign, 0, sizeof(double) * (size_t)watch->n_watched);
    memset(watch->end, 0, sizeof(double) * (size_t)watch->n_watched);
    watch->pending = 0;
    watch->verdict = CG_OK;
    watch->n_solutions = 0;
    watch->contact = -1;
}

void cg_watch_again(cg_watch_t *watch)
{
    watch->memory.begun = watch->memory.begun == CG_WATCH_NEW ? CG_WATCH_NEW : CG_WATCH_AGAIN;
}

/* ---- saving ---- */

size_t cg_watch_saved_size(const cg_watch_t *watch)
{
    return sizeof(cg_watch_memory_t) + 2 * sizeof(double) * (size_t)watch->n_watched;
}

void cg_watch_save(const cg_watch_t *watch, void *to)
{
    const size_t bytes = sizeof(double) * (size_t)watch->n_watched;
    char *const place = to;
    memcpy(place, &watch->memory, sizeof watch->memory);
    memcpy(place + sizeof watch->memory, watch->sign, bytes);
    memcpy(place + sizeof watch->memory + bytes, watch->count, bytes);
}

int cg_watch_restore(cg_watch_t *watch, const void *from, size_t size)
{
    const size_t bytes = sizeof(double) * (size_t)watch->n_watched;
    const char *const place = from;
    if (from == NULL || size != cg_watch_saved_size(watch)) {
        return CG_BAD_ARGUMENT;
    }
    for (int32_t i = 0; i < watch->n_watched; i++) {
        double sign;
        memcpy(&sign, place + sizeof watch->memory + (size_t)i * sizeof sign, sizeof sign);
        if (sign != 0.0 && fabs(sign) != 1.0) {
            return CG_BAD_ARGUMENT;
        }
    }
    cg_watch_reset(watch);
    memcpy(&watch->memory, place, sizeof watch->memory);
    memcpy(watch->sign, place + sizeof watch->memory, bytes);
    memcpy(watch->count, place + sizeof watch->memory + bytes, bytes);
    watch->have_end = 0;
    return CG_OK;
}

/* ---- what happens ---- */

/* Whether events accumulate; see cg_events.h. */
static int cg_accumulates(cg_run_t *run)
{
    cg_watch_memory_t *const memory = &run->watch->memory;
    const double gap = fabs(run->t - memory->t_event);
    const double time = cg_larger(fabs(run->t), fabs(run->t - memory->t_start));
    memory->close = gap < memory->gap && gap <= 1e-10 * time ? memory->close + 1 : 0;
    memory->stuck = gap <= 1e-12 * time ? memory->stuck + 1 : 0;
    memory->crowded = gap <= 1e-6 * memory->longest ? memory->crowded + 1 : 0;
    memory->longest = cg_larger(memory->longest, gap);
    memory->gap = gap;
    memory->t_event = run->t;
    return memory->close >= 10 || memory->stuck >= 100 || memory->crowded >= 10000;
}

/* The event `index` at run->t: its reset, if it has one. */
static int cg_apply(cg_run_t *run, int32_t index, int *reset)
{
    const cg_model_t *const model = run->model;
    cg_watch_t *const watch = run->watch;
    if (index >= model->n_events || !model->events[index].has_reset) {
        return CG_OK;
    }
    const int status = model->reset(index, run->t, run->x, run->p, run->u, watch->x_jump, run->work);
    if (status != CG_OK || !cg_step_finite(watch->x_jump, run->n)) {
        return status != CG_OK ? status : CG_NONFINITE;
    }
    memcpy(run->x, watch->x_jump, sizeof(double) * (size_t)run->n);
    *reset = 1;
    return CG_OK;
}

/* Modes that fit after something happened. What cannot be decided is in n_solutions and solutions. */
static int cg_change_modes(cg_run_t *run, int reset)
{
    cg_watch_t *const watch = run->watch;
    watch->contact = -1;
    for (int32_t i = watch->first_contact; i < watch->n_watched && watch->contact < 0; i++) {
        watch->contact = watch->fired[i] != 0.0 ? (i - watch->first_contact) / CG_CONTACT_WATCHED : -1;
    }
    if (watch->contact < 0 && !reset) {
        memset(watch->free, 0, sizeof(double) * (size_t)watch->n_contacts);
        return CG_OK;
    }
    int status = cg_modes_free(run, reset);
    if (status == CG_OK) {
        status = cg_modes_choose(run);
    }
    if (status == CG_OK) {
        cg_watch_activate(run);
        run->have_f = 0;
    }
    return status;
}

static int cg_at_event(cg_run_t *run, const cg_record_t *record)
{
    cg_watch_t *const watch = run->watch;
    const size_t modes = (size_t)watch->n_modes;
    const int64_t first = watch->n_log;
    int status = cg_run_inputs(run, run->t, run->x), reset = 0, terminal = 0;
    if (modes > 0) {
        memcpy(watch->modes, run->u + watch->n_inputs, sizeof(double) * modes);
    }
    for (int32_t i = 0; i < watch->n_watched && status == CG_OK; i++) {
        if (watch->fired[i] != 0.0) {
            watch->count[i] += 1.0;
            terminal = terminal || (watch->limit[i] > 0.0 && watch->count[i] >= watch->limit[i]);
            memcpy(watch->x, run->x, sizeof(double) * (size_t)run->n);
            status = cg_apply(run, i, &reset);
            cg_watch_log(run, i, record, watch->x);
        }
    }
    if (status == CG_OK && watch->n_contacts > 0) {
        status = cg_change_modes(run, reset);
    }
    if (watch->log != NULL && watch->n_log > first) {
        double *last = watch->log + (watch->n_log - 1) * watch->log_row + CG_LOG_HEAD;
        memcpy(last + run->n, run->x, sizeof(double) * (size_t)run->n);
        for (int64_t row = first; row < watch->n_log && modes > 0; row++) {
            memcpy(watch->log + row * watch->log_row + CG_LOG_HEAD + 2 * run->n + (ptrdiff_t)modes,
                   run->u + watch->n_inputs, sizeof(double) * modes);
        }
    }
    const int changed = reset || (modes > 0 && memcmp(watch->modes, run->u + watch->n_inputs, sizeof(double) * modes) != 0);
    if (reset) {
        run->have_f = 0;
        run->have_dense = 0;
        run->t_old = run->t; /* the interpolant of the step does not lead to this state */
        memcpy(run->x_old, run->x, sizeof(double) * (size_t)run->ld);
    }
    if (status == CG_OK) {
        status = cg_watch_signs(run, reset);
    }
    watch->have_end = 0;
    watch->pending = changed ? 2 : 0;
    if (status == CG_OK && cg_accumulates(run)) {
        status = CG_ACCUMULATING;
    }
    return status == CG_OK && terminal ? CG_TERMINAL_EVENT : status;
}

int cg_watch_handle(cg_run_t *run, cg_record_t *record)
{
    cg_watch_t *const watch = run->watch;
    if (watch->pending == 1) {
        int64_t rows = 0;
        for (int32_t i = 0; i < watch->n_watched; i++) {
            rows += watch->fired[i] != 0.0;
        }
        if (watch->log != NULL && watch->n_log + rows > watch->log_capacity) {
            return CG_EVENTS_FULL;
        }
        watch->verdict = cg_at_event(run, record);
    }
    if (watch->pending == 2) {
        const int status = record == NULL ? CG_OK : cg_record_jump(run, record);
        if (status != CG_OK) {
            return status;
        }
    }
    watch->pending = 0;
    run->status = watch->verdict;
    watch->verdict = CG_OK;
    return run->status;
}
