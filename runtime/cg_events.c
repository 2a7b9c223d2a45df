/* cg_events.c: events of one run: found after each step, located, and handled; see cg_events.h. */
#include "cg_events.h"
#include "cg_step.h"

#include <string.h>

/* A sticking contact breaks where the force is this part above its limit: a tie counts as stick, rounding or not. */
#define CG_TIE 1e-12

/* ---- what is watched ---- */

/* From the kernel's five numbers of a contact to quantities that are positive while its mode fits. */
static void cg_contact_values(const cg_run_t *run, const double *c, double *values)
{
    const cg_watch_t *const watch = run->watch;
    const double *const modes = run->u + watch->n_inputs;
    for (int32_t i = 0; i < watch->n_contacts; i++, c += 5, values += CG_CONTACT_WATCHED) {
        const int32_t sign = run->model->contacts[i].sign;
        const double limit = c[2] * (1.0 + CG_TIE);
        values[CG_CONTACT_SLIP] = modes[i] != 0.0 ? modes[i] * c[0] : limit - c[1];
        values[CG_CONTACT_BREAK] = modes[i] != 0.0 ? 1.0 : limit + c[1];
        values[CG_CONTACT_NORMAL] = sign >= 0 ? modes[watch->n_contacts + sign] * c[4] : c[4];
    }
}

int cg_watch_evaluate(cg_run_t *run, double t, const double *x, int32_t only, double *values)
{
    cg_watch_t *const watch = run->watch;
    const int32_t first_function = watch->n_guards;
    int status = cg_run_inputs(run, t, x);
    if (status == CG_OK && watch->n_guards > 0 && only < watch->n_guards) {
        status = run->model->guards_fn(t, x, run->p, run->u, watch->guards, run->work);
        memcpy(values, watch->guards, sizeof(double) * (size_t)watch->n_guards);
    }
    for (int32_t i = 0; i < watch->n_functions && status == CG_OK; i++) {
        if (only < 0 || only == first_function + i) {
            status = watch->fn(watch->fn_context, i, t, x, &values[first_function + i]);
        }
    }
    if (status == CG_OK && watch->n_contacts > 0 && (only < 0 || only >= watch->first_contact)) {
        status = run->model->contacts_fn(t, x, run->p, run->u, watch->contacts, run->work);
        cg_contact_values(run, watch->contacts, values + watch->first_contact);
    }
    for (int32_t i = only < 0 ? 0 : only; i < (only < 0 ? watch->n_watched : only + 1) && status == CG_OK; i++) {
        if (watch->active[i] == 0.0) {
            values[i] = 1.0;
        }
        status = cg_step_finite(values + i, 1) ? CG_OK : CG_NONFINITE;
    }
    return status;
}

int cg_watch_inside(cg_run_t *run, double theta, int32_t only, double *values)
{
    if (theta <= 0.0 || theta == 1.0) {
        return theta <= 0.0 ? cg_watch_evaluate(run, run->t_old, run->x_old, only, values)
                            : cg_watch_evaluate(run, run->t, run->x, only, values);
    }
    cg_dense_evaluate(run->coef, run->n_dense, run->ld, run->n, theta, run->watch->x, 1);
    return cg_watch_evaluate(run, run->t_old + theta * (run->t - run->t_old), run->watch->x, only, values);
}

/* A contact's second limit only counts while it sticks. */
void cg_watch_activate(cg_run_t *run)
{
    cg_watch_t *const watch = run->watch;
    for (int32_t i = 0; i < watch->n_contacts; i++) {
        watch->active[watch->first_contact + CG_CONTACT_WATCHED * i + CG_CONTACT_BREAK] =
            run->u[watch->n_inputs + i] == 0.0 ? 1.0 : 0.0;
    }
}

double cg_watch_moment(const cg_run_t *run)
{
    double size = 0.0, speed = 0.0;
    for (int32_t i = 0; i < run->n; i++) {
        size = cg_larger(size, fabs(run->x[i]));
        speed = cg_larger(speed, fabs(run->watch->f[i]));
    }
    const double moment = speed > 0.0 ? 1e-6 * (size > 0.0 ? size : 1.0) / speed : 1e-6;
    return run->direction * (run->h > 0.0 ? cg_smaller(moment, 1e-3 * run->h) : moment);
}

/* The sides of zero after the start, a reset or a choice of modes. */
int cg_watch_signs(cg_run_t *run, int fresh)
{
    cg_watch_t *const watch = run->watch;
    int status = fresh ? cg_watch_evaluate(run, run->t, run->x, -1, watch->end) : CG_OK;
    int unsure = 0;
    for (int32_t i = 0; i < (fresh ? watch->first_contact : 0) && status == CG_OK; i++) {
        const double least = watch->fired[i] != 0.0 ? 1e-8 * watch->scale[i] : 0.0;
        watch->sign[i] = watch->end[i] > least ? 1.0 : watch->end[i] < -least ? -1.0 : 0.0;
        unsure = unsure || watch->sign[i] == 0.0;
    }
    for (int32_t i = 0; i < watch->n_contacts; i++) {
        double *const sign = watch->sign + watch->first_contact + CG_CONTACT_WATCHED * i;
        /* of a slip that begins it is not known yet */
        sign[CG_CONTACT_SLIP] = watch->free[i] != 0.0 && run->u[watch->n_inputs + i] != 0.0 ? 0.0 : 1.0;
        sign[CG_CONTACT_BREAK] = 1.0;
        if (run->model->contacts[i].sign >= 0) {
            sign[CG_CONTACT_NORMAL] = 1.0;
        } else if (fresh) {
            const double normal = watch->end[watch->first_contact + CG_CONTACT_WATCHED * i + CG_CONTACT_NORMAL];
            sign[CG_CONTACT_NORMAL] = normal > 0.0 ? 1.0 : normal < 0.0 ? -1.0 : 0.0;
        }
    }
    if (status != CG_OK || !unsure) {
        return status;
    }
    status = cg_run_derivative(run);
    if (status != CG_OK) {
        return status;
    }
    memcpy(watch->f, run->f, sizeof(double) * (size_t)run->n);
    const double moment = cg_watch_moment(run);
    for (int32_t i = 0; i < run->n; i++) {
        watch->x[i] = run->x[i] + moment * run->f[i];
    }
    status = cg_watch_evaluate(run, run->t + moment, watch->x, -1, watch->values);
    for (int32_t i = 0; i < watch->first_contact && status == CG_OK; i++) {
        const double change = watch->values[i] - watch->end[i];
        if (watch->sign[i] == 0.0 && change != 0.0) {
            watch->sign[i] = change > 0.0 ? 1.0 : -1.0;
        }
    }
    return status == CG_OK ? cg_run_inputs(run, run->t, run->x) : status;
}

/* ---- the start ---- */

void cg_watch_log(cg_run_t *run, int32_t cause, const cg_record_t *record, const double *before)
{
    cg_watch_t *const watch = run->watch;
    if (watch->log == NULL || watch->n_log >= watch->log_capacity) {
        return;
    }
    double *row = watch->log + watch->n_log++ * watch->log_row;
    const size_t n = (size_t)run->n, modes = (size_t)watch->n_modes;
    row[0] = run->t;
    row[1] = (double)cause;
    row[2] = record == NULL ? 0.0 : (double)record->n_rows;
    row[3] = 0.0;
    row += CG_LOG_HEAD;
    memcpy(row, before, sizeof(double) * n);
    memcpy(row + n, run->x, sizeof(double) * n);
    if (modes > 0) {
        memcpy(row + 2 * n, watch->modes, sizeof(double) * modes);
        memcpy(row + 2 * n + modes, run->u + watch->n_inputs, sizeof(double) * modes);
    }
}

int cg_watch_begin(cg_run_t *run)
{
    cg_watch_t *const watch = run->watch;
    cg_watch_memory_t *const memory = &watch->memory;
    int status = CG_OK;
    memset(watch->fired, 0, sizeof(double) * (size_t)watch->n_watched);
    memset(watch->scale, 0, sizeof(double) * (size_t)watch->n_watched);
    if (watch->n_modes > 0) {
        double *const modes = run->u + watch->n_inputs;
        for (int32_t j = watch->n_contacts; j < watch->n_modes; j++) {
            modes[j] = modes[j] < 0.0 ? -1.0 : 1.0;
        }
        status = run->direction > 0.0 ? cg_modes_free(run, 1) : CG_BAD_ARGUMENT;
        if (status == CG_OK) {
            status = cg_modes_choose(run);
        }
        run->have_f = 0;
    }
    if (status == CG_OK) {
        cg_watch_activate(run);
        status = cg_watch_signs(run, 1);
    }
    if (memory->begun == CG_WATCH_NEW) {
        memory->t_start = run->t;
        memory->t_event = run->t;
        memory->gap = HUGE_VAL;
        if (watch->n_modes > 0) {
            memcpy(watch->modes, run->u + watch->n_inputs, sizeof(double) * (size_t)watch->n_modes);
            cg_watch_log(run, CG_LOG_START, NULL, run->x);
        }
    }
    watch->have_end = 0;
    memory->direction = run->direction;
    memory->begun = status == CG_OK ? CG_WATCH_BEGUN : CG_WATCH_AGAIN;
    return status;
}

/* ---- after a step ---- */

void cg_watch_before_step(cg_run_t *run)
{
    run->watch->anchor = run->t_anchor;
    run->watch->n_anchor = run->n_anchor;
}

/* The quantity of a slip that begins with this step: its side is not known, but was chosen (cg_modes.c). The interpolant
 * may dip to the other side first, by less than its error. Where it is there for longer the slip has not begun: root 0. */
static int cg_hunt_from_rest(cg_run_t *run, int32_t index, double upto)
{
    cg_watch_t *const watch = run->watch;
    const int status = cg_watch_hunt(run, index, upto);
    const int dips = watch->sign_new[index] < 0.0;
    watch->sign_new[index] = 1.0;
    if (status != CG_OK || !dips) {
        return status;
    }
    if (cg_smaller(watch->root[index], upto) > cg_nodes[1]) {
        watch->root[index] = 0.0;
        return CG_OK;
    }
    if (watch->root[index] > 1.0) { /* what comes first comes during the dip */
        return CG_OK;
    }
    watch->cursor[index] = watch->root[index];
    return cg_watch_hunt(run, index, upto);
}

/* The first crossing of one quantity that counts, to watch->root. */
static int cg_first(cg_run_t *run, int32_t index, double upto)
{
    cg_watch_t *const watch = run->watch;
    const int contact = index >= watch->first_contact;
    if (contact && (index - watch->first_contact) % CG_CONTACT_WATCHED == CG_CONTACT_SLIP && watch->sign[index] == 0.0) {
        return cg_hunt_from_rest(run, index, upto);
    }
    for (;;) {
        const int status = cg_watch_hunt(run, index, upto);
        if (status != CG_OK || watch->root[index] > 1.0 || watch->direction[index] * watch->sign_new[index] <= 0.0) {
            return status;
        }
        watch->sign_new[index] = -watch->sign_new[index]; /* the wrong way */
        watch->cursor[index] = watch->root[index];
    }
}

/* The earliest crossing that counts, or -1. The sides of zero are brought up to it in sign_new. */
static int cg_earliest(cg_run_t *run, int32_t *index, double *theta)
{
    cg_watch_t *const watch = run->watch;
    for (int32_t i = 0; i < watch->n_watched; i++) {
        watch->root[i] = 2.0;
        watch->cursor[i] = 0.0;
        watch->sign_new[i] = watch->sign[i];
    }
    double best = 2.0; /* those behind the earliest one do not matter */
    for (int32_t i = 0; i < watch->n_watched; i++) {
        if (watch->active[i] == 0.0) {
            continue;
        }
        const int status = cg_first(run, i, cg_smaller(best + 2.0 * CG_SAME_TIME, 1.0));
        if (status != CG_OK) {
            return status;
        }
        best = cg_smaller(best, watch->root[i]);
    }
    *index = -1;
    *theta = best;
    for (int32_t i = 0; i < watch->n_watched && best <= 1.0; i++) {
        if (watch->root[i] == best) {
            *index = i;
            return CG_OK;
        }
    }
    return CG_OK;
}

/* Crossings the wrong way change the side only where they come before theta. */
static void cg_sides_at(cg_run_t *run, double theta)
{
    cg_watch_t *const watch = run->watch;
    for (int32_t i = 0; i < watch->n_watched; i++) {
        if (watch->cursor[i] > theta) {
            watch->sign_new[i] = -watch->sign_new[i];
        }
    }
}

static int cg_sample_step(cg_run_t *run)
{
    cg_watch_t *const watch = run->watch;
    int status = run->have_dense ? CG_OK : run->dense(run);
    for (int j = 0; j < CG_NODES && status == CG_OK; j++) {
        double *const row = watch->samples + (ptrdiff_t)j * watch->n_watched;
        if (j == 0 && watch->have_end) {
            memcpy(row, watch->end, sizeof(double) * (size_t)watch->n_watched);
        } else {
            status = cg_watch_inside(run, cg_nodes[j], -1, row);
        }
        for (int32_t i = 0; i < watch->n_watched; i++) {
            watch->scale[i] = j == 0 ? fabs(row[i]) : cg_larger(watch->scale[i], fabs(row[i]));
        }
    }
    return status;
}

/* The step that ends at an event differs from the interpolant, by its error: slips that have come to zero in it stop at
 * the same time. */
static int cg_stop_others(cg_run_t *run)
{
    cg_watch_t *const watch = run->watch;
    if (watch->n_contacts == 0) {
        return CG_OK;
    }
    const int status = cg_watch_evaluate(run, run->t, run->x, watch->first_contact, watch->values);
    for (int32_t i = 0; i < watch->n_contacts && status == CG_OK; i++) {
        const int32_t slip = watch->first_contact + CG_CONTACT_WATCHED * i + CG_CONTACT_SLIP;
        if (run->u[watch->n_inputs + i] != 0.0 && watch->sign[slip] != 0.0 && watch->values[slip] <= 0.0) {
            watch->fired[slip] = 1.0;
        }
    }
    return status;
}

int cg_watch_after_step(cg_run_t *run)
{
    cg_watch_t *const watch = run->watch;
    const size_t bytes = sizeof(double) * (size_t)watch->n_watched;
    int32_t index = -1;
    for (;;) {
        double theta;
        int landed = 1;
        int status = cg_sample_step(run);
        if (status == CG_OK) {
            status = cg_earliest(run, &index, &theta);
        }
        if (status != CG_OK) {
            return status;
        }
        if (index < 0) {
            memcpy(watch->sign, watch->sign_new, bytes);
            memcpy(watch->end, watch->samples + (ptrdiff_t)(CG_NODES - 1) * watch->n_watched, bytes);
            watch->have_end = 1;
            return cg_modes_project(run);
        }
        const double length = fabs(run->t - run->t_old);
        const double same = CG_SAME_TIME + 4.0 * cg_step_smallest(run->t_old) / length;
        cg_sides_at(run, theta);
        for (int32_t i = 0; i < watch->n_watched; i++) {
            watch->fired[i] = watch->root[i] <= theta + same ? 1.0 : 0.0;
        }
        if (theta * length < 2.0 * cg_step_smallest(run->t_old)) { /* at the start of the step */
            cg_watch_take_back(run);
            memcpy(run->x_old, run->x, sizeof(double) * (size_t)run->ld);
            run->have_f = 1;
        } else {
            const int kink = index >= run->model->n_events && index < watch->n_guards;
            status = kink ? cg_locate_kink(run, index, theta, &landed) : cg_locate(run, index, theta, &landed);
        }
        if (status != CG_OK) {
            return status;
        }
        if (landed) {
            break;
        }
        memset(watch->fired, 0, bytes); /* the shorter step is looked through from its start */
    }
    const int status = cg_stop_others(run);
    for (int32_t i = 0; i < watch->n_watched; i++) {
        watch->sign[i] = watch->fired[i] != 0.0 ? -watch->sign_new[i] : watch->sign_new[i];
    }
    watch->have_end = 0;
    watch->pending = 1;
    return status == CG_OK ? cg_modes_project(run) : status;
}
