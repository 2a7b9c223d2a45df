/* cg_detector.c: the memory block of a detector, the quantities that it observes, and its log; see cg_events.h. */
#include "step/cg_internal.h"
#include "step/cg_memory.h"
#include "step/cg_step.h"

#include <string.h>

/* ---- the block ---- */

static size_t cg_detector_layout(cg_detector_t *detector, char *base, int32_t ld)
{
    size_t offset = CG_ALIGNED(sizeof(cg_detector_t));
    double **const by_index[] = {&detector->direction, &detector->limit, &detector->sign, &detector->count, &detector->sign_new,
                                 &detector->active, &detector->root, &detector->cursor, &detector->fired, &detector->fires,
                                 &detector->scale,  &detector->end, &detector->values};
    double **const by_guard[] = {&detector->kept, &detector->noise, &detector->before, &detector->turned, &detector->done};
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
        && model->n_modes >= model->n_contacts && model->n_modes <= 2 * model->n_contacts;
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
    const cg_kernel_entry_t *const when = cg_kernel(model, "when");
    detector->when = when == NULL ? NULL : (cg_kernel_t)when->function;
    detector->contact = -1;
    detector->logs_fields = (flags & CG_LOG_FIELDS) != 0;
    detector->watches_kinks = (flags & CG_WATCH_KINKS) != 0 && model->n_guards > model->n_events; /* there are some */
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
    memset(detector->done, 0, sizeof(double) * (size_t)detector->n_guards);
    memset(detector->flights, 0, sizeof *detector->flights * (size_t)detector->n_guards);
    detector->pending = 0;
    detector->again = 0;
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

enum { CG_SAVED = 6 };

/* What is saved, in order: copies it from the detector to `place`, or back. The result is its size. */
static size_t cg_detector_copy(const cg_detector_t *detector, char *place, int back)
{
    const size_t by_index = sizeof(double) * (size_t)detector->n_observed, by_guard = sizeof(double) * (size_t)detector->n_guards;
    double *const arrays[CG_SAVED] = {detector->sign, detector->count, detector->kept, detector->noise,
                                      detector->done, (double *)(void *)detector->flights};
    const size_t bytes[CG_SAVED] = {by_index, by_index, by_guard, by_guard, by_guard,
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

/* ---- observed quantities ---- */

/* Converts the kernel's five numbers of a contact to quantities that are positive while its mode fits. */
static void cg_detector_contact_values(const cg_run_t *run, const double *c, double *values)
{
    const cg_detector_t *const detector = run->detector;
    const double *const modes = run->u + detector->n_inputs;
    for (int32_t i = 0; i < detector->n_contacts; i++, c += 5, values += CG_CONTACT_OBSERVED) {
        const int32_t sign = run->model->contacts[i].sign;
        const double limit = c[2] * CG_CONTACT_LIMIT;
        values[CG_CONTACT_SLIP] = modes[i] != 0.0 ? modes[i] * c[0] : limit - c[1];
        values[CG_CONTACT_BREAK] = modes[i] != 0.0 ? 1.0 : limit + c[1];
        values[CG_CONTACT_NORMAL] = sign >= 0 ? modes[detector->n_contacts + sign] * c[4] : c[4];
    }
}

int cg_detector_nests(const cg_run_t *run) { return run->varied != NULL && run->varied->guards != NULL; }

int cg_detector_guards_by_side(cg_run_t *run, double model_t, const double *x, double *guards)
{
    const double *const sides = run->detector->sign + run->model->n_events;
    return cg_detector_nests(run) ? run->varied->guards(model_t, x, run->p, sides, run->u, guards, run->work)
                                  : run->model->guards_fn(model_t, x, run->p, run->u, guards, run->work);
}

int cg_detector_guards(cg_run_t *run, double t, const double *x, int32_t only, double *values)
{
    cg_detector_t *const detector = run->detector;
    const int32_t first_function = detector->n_guards;
    const double model_t = cg_time_of_model(run, t);
    int status = cg_evaluate_run_inputs(run, t, x);
    if (status == CG_OK && detector->n_guards > 0 && only < detector->n_guards) {
        status = run->model->guards_fn(model_t, x, run->p, run->u, detector->guards, run->work);
        memcpy(values, detector->guards, sizeof(double) * (size_t)detector->n_guards);
    }
    for (int32_t i = 0; i < detector->n_functions && status == CG_OK; i++) {
        if (only < 0 || only == first_function + i) {
            status = detector->fn(detector->fn_context, i, model_t, x, &values[first_function + i]);
        }
    }
    return status;
}

int cg_detector_evaluate(cg_run_t *run, double t, const double *x, int32_t only, double *values)
{
    cg_detector_t *const detector = run->detector;
    const double model_t = cg_time_of_model(run, t);
    int status = cg_detector_guards(run, t, x, only, values);
    if (status == CG_OK && cg_detector_nests(run) && only < detector->n_guards) {
        status = cg_detector_guards_by_side(run, model_t, x, values);
    }
    if (status == CG_OK && detector->n_contacts > 0 && (only < 0 || only >= detector->first_contact)) {
        status = run->model->contacts_fn(model_t, x, run->p, run->u, detector->contacts, run->work);
        cg_detector_contact_values(run, detector->contacts, values + detector->first_contact);
    }
    for (int32_t i = only < 0 ? 0 : only; i < (only < 0 ? detector->n_observed : only + 1) && status == CG_OK; i++) {
        if (detector->active[i] == 0.0) {
            values[i] = 1.0;
        }
        status = cg_step_finite(values + i, 1) ? CG_OK : CG_NONFINITE;
    }
    return status;
}

int cg_detector_inside(cg_run_t *run, double theta, int32_t only, double *values)
{
    if (theta <= 0.0 || theta == 1.0) {
        return theta <= 0.0 ? cg_detector_evaluate(run, run->t_old, run->x_old, only, values)
                            : cg_detector_evaluate(run, run->t, run->x, only, values);
    }
    cg_dense_evaluate(run->coef, run->n_dense, run->ld, run->n, theta, run->detector->x, 1);
    return cg_detector_evaluate(run, run->t_old + theta * (run->t - run->t_old), run->detector->x, only, values);
}

int cg_detector_sample(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    int status = run->have_dense ? CG_OK : run->dense(run);
    for (int j = 0; j < CG_NODES && status == CG_OK; j++) {
        double *const row = detector->samples + (ptrdiff_t)j * detector->n_observed;
        if (j == 0 && detector->have_end) {
            memcpy(row, detector->end, sizeof(double) * (size_t)detector->n_observed);
        } else {
            status = cg_detector_inside(run, cg_nodes[j], -1, row);
        }
        for (int32_t i = 0; i < detector->n_observed; i++) {
            detector->scale[i] = j == 0 ? fabs(row[i]) : cg_larger(detector->scale[i], fabs(row[i]));
        }
    }
    return status;
}

double cg_detector_moment(const cg_run_t *run)
{
    double size = 0.0, speed = 0.0;
    for (int32_t i = 0; i < run->n_own; i++) {
        size = cg_larger(size, fabs(run->x[i]));
        speed = cg_larger(speed, fabs(run->detector->f[i]));
    }
    const double moment = speed > DBL_MIN ? CG_MOMENT * (size > 0.0 ? size : 1.0) / speed : CG_MOMENT;
    return run->direction * (run->h > 0.0 ? cg_smaller(moment, CG_MOMENT_OF_STEP * run->h) : moment);
}

double cg_detector_least(const cg_run_t *run, int32_t index, double length)
{
    const cg_detector_t *const detector = run->detector;
    const double least = detector->scale[index] * (CG_SIDE + (length > 0.0 ? 8.0 * cg_step_smallest(run->t) / length : 0.0));
    return index < detector->n_guards ? cg_larger(least, detector->noise[index]) : least;
}

/* ---- the log ---- */

int cg_detector_ends(const cg_detector_t *detector, int32_t index)
{
    return detector->limit[index] > 0.0 && detector->count[index] >= detector->limit[index];
}

int cg_detector_has_room(const cg_detector_t *detector, int64_t rows)
{
    return detector->log == NULL || rows <= detector->log_capacity - detector->n_log;
}

void cg_detector_log(cg_run_t *run, int32_t cause, const cg_record_t *record, const double *before)
{
    cg_detector_t *const detector = run->detector;
    if (detector->log == NULL || !cg_detector_has_room(detector, 1)) { /* it has: who calls this has asked for all rows */
        return;
    }
    double *row = detector->log + detector->n_log++ * detector->log_row;
    const size_t n = (size_t)run->n, modes = (size_t)detector->n_modes;
    memset(row, 0, sizeof(double) * (size_t)detector->log_row);
    row[0] = cg_time_of_model(run, run->t);
    row[1] = (double)cause;
    row[2] = record == NULL ? 0.0 : (double)record->n_rows;
    row[3] = cause >= 0 && cg_detector_ends(detector, cause) ? 1.0 : 0.0;
    row += CG_LOG_HEAD;
    memcpy(row, before, sizeof(double) * n);
    memcpy(row + n, run->x, sizeof(double) * n);
    if (modes > 0) {
        memcpy(row + 2 * n, detector->modes, sizeof(double) * modes);
        memcpy(row + 2 * n + modes, run->u + detector->n_inputs, sizeof(double) * modes);
    }
    if (detector->logs_fields) {
        row[2 * n + 2 * modes] = (double)detector->n_instants;
    }
}
