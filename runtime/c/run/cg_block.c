/* cg_block.c: the memory block of one run: layout, defaults and restoring; see cg_run.h. */
#include "step/cg_internal.h"
#include "step/cg_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the block ---- */

/* Points the arrays of `run` into the block at `base` and returns the size of the block. */
static size_t cg_block_layout(cg_run_t *run, char *base, const cg_model_t *model)
{
    size_t offset = CG_ALIGNED(sizeof(cg_run_t));
    run->x = cg_take(base, &offset, run->ld);
    run->x_old = cg_take(base, &offset, run->ld);
    run->x_trial = cg_take(base, &offset, run->ld);
    run->f = cg_take(base, &offset, run->ld);
    run->f_old = cg_take(base, &offset, run->ld);
    run->k = cg_take(base, &offset, run->n_stages * run->ld);
    run->coef = cg_take(base, &offset, run->n_dense * run->ld);
    run->atol = cg_take(base, &offset, run->ld);
    run->p = cg_take(base, &offset, model->n_parameters + model->n_hoisted);
    run->u = cg_take(base, &offset, run->n_u);
    run->u_time = (cg_time_t *)cg_take_bytes(base, &offset, sizeof(cg_time_t) * (size_t)run->n_u);
    run->u_value = cg_take(base, &offset, run->n_u);
    run->knots = (int64_t *)cg_take_bytes(base, &offset, sizeof(int64_t) * (size_t)run->n_u);
    run->u_slope = cg_take(base, &offset, run->n_u);
    run->u_curve = cg_take(base, &offset, CG_CURVE * run->n_u);
    const size_t rated = (size_t)(cg_evaluate_rated(model) ? model->n_inputs : 0);
    run->moving = (cg_signal_t *)cg_take_bytes(base, &offset, sizeof(cg_signal_t) * rated);
    run->work = cg_take(base, &offset, model->n_work);
    run->x_start = cg_take(base, &offset, run->ld);
    run->moved = cg_take(base, &offset, run->ld);
    const int64_t n = run->implicit ? run->n : 0;
    run->jacobian = cg_take(base, &offset, n * n);
    run->matrix = cg_take(base, &offset, n * n);
    run->slope = cg_take(base, &offset, n > 0 ? run->ld : 0);
    run->fastest = cg_take(base, &offset, n > 0 ? run->ld : 0);
    run->pivots = (int32_t *)cg_take_bytes(base, &offset, sizeof(int32_t) * (size_t)n);
    return offset;
}

/* Writes run->moving, if it is not empty. */
static void cg_block_put_moving(cg_run_t *run)
{
    const cg_model_t *const model = run->model;
    for (int32_t i = 0; cg_evaluate_rated(model) && i < model->n_inputs; i++) {
        const int has_rate = i + 1 < model->n_inputs && model->inputs[i + 1].flags & CG_RATE;
        memset(&run->moving[i], 0, sizeof run->moving[i]);
        run->moving[i].kind = has_rate || model->inputs[i].flags & CG_RATE ? CG_SIGNAL_MOVING : CG_SIGNAL_CONSTANT;
    }
}

static void cg_block_set_sizes(cg_run_t *run, const cg_model_t *model, const cg_method_info_t *info)
{
    run->n = model->n_states;
    run->n_own = model->n_states;
    run->ld = CG_PADDED(model->n_states);
    run->n_u = model->n_inputs + model->n_modes;
    run->n_stages = info->n_stages;
    run->n_dense = info->n_dense;
    run->order = info->order;
    run->adaptive = info->adaptive;
    run->implicit = info->implicit;
}

static size_t cg_block_size_of(const cg_model_t *model, const cg_method_info_t *info)
{
    cg_run_t run;
    memset(&run, 0, sizeof run);
    cg_block_set_sizes(&run, model, info);
    return cg_block_layout(&run, NULL, model);
}

size_t cg_run_size(const cg_model_t *model, const char *method)
{
    cg_method_t found;
    return model != NULL && cg_method_find(model, method, 0, &found) ? cg_block_size_of(model, &found.info) : 0;
}

#ifndef CG_NO_HEAP
/* C99 has no aligned allocation: the address returned by malloc is stored just below the block. */
cg_run_t *cg_run_new(size_t size)
{
    char *const raw = size > 0 && size < SIZE_MAX - 2u * CG_ALIGN ? (char *)malloc(size + 2u * CG_ALIGN) : NULL;
    if (raw == NULL) {
        return NULL;
    }
    char *const base = raw + 2u * CG_ALIGN - (size_t)((uintptr_t)raw % CG_ALIGN);
    memset(base, 0, size);
    memcpy(base - sizeof raw, &raw, sizeof raw);
    return (cg_run_t *)(void *)base;
}

void cg_run_delete(cg_run_t *run)
{
    if (run != NULL) {
        char *raw;
        memcpy(&raw, (char *)run - sizeof raw, sizeof raw);
        free(raw);
    }
}
#endif

int cg_run_init(cg_run_t *run, size_t size, const cg_model_t *model, const char *method, int32_t flags)
{
    cg_method_t found, explicit_method;
    if (run == NULL || model == NULL || (uintptr_t)run % CG_ALIGN != 0 || model->abi_version != CG_ABI_VERSION
        || model->struct_size < sizeof(cg_model_t) || model->rhs == NULL
        || !cg_method_find(model, method, flags, &found)) {
        return CG_BAD_ARGUMENT;
    }
    const size_t needed = cg_block_size_of(model, &found.info);
    if (size < needed) {
        return CG_BAD_ARGUMENT;
    }
    if (found.info.implicit && model->jacobian == NULL) {
        return CG_UNSUPPORTED;
    }
    if (strcmp(found.info.name, "auto") != 0) {
        memset(&explicit_method, 0, sizeof explicit_method);
    } else if (!cg_method_find(model, CG_AUTO_EXPLICIT, flags, &explicit_method)) {
        return CG_UNSUPPORTED;
    }
    memset(run, 0, needed);
    run->model = model;
    run->rhs = model->rhs;
    run->step = found.step;
    run->dense = found.dense;
    run->pass = cg_evaluate_pass;
    run->explicit_step = explicit_method.step;
    run->explicit_dense = explicit_method.dense;
    cg_block_set_sizes(run, model, &found.info);
    run->size = cg_block_layout(run, (char *)run, model);
    for (int32_t i = 0; i < run->ld; i++) {
        run->atol[i] = i < run->n ? CG_ATOL : 1.0;
    }
    for (int32_t i = 0; i < model->n_parameters; i++) {
        run->p[i] = model->parameters[i].example;
    }
    for (int32_t i = 0; i < run->n_u; i++) {
        const double example = i < model->n_inputs ? model->inputs[i].example : 0.0;
        run->u[i] = example == example ? example : 0.0; /* NaN: none is declared */
    }
    cg_block_put_moving(run);
    run->signals = cg_evaluate_rated(model) ? run->moving : NULL;
    run->rtol = CG_RTOL;
    run->max_step = HUGE_VAL;
    run->max_steps = INT64_MAX;
    run->projection = CG_PROJECT_CONSTRAINTS;
    run->direction = 1.0;
    return CG_OK;
}

void cg_run_method(cg_run_t *run, const char *method)
{
    cg_method_t found;
    const int automatic = strcmp(method, "auto") == 0;
    if (!cg_method_find(run->model, automatic ? CG_AUTO_EXPLICIT : method, 0, &found)) {
        return;
    }
    if (automatic) {
        run->explicit_step = found.step;
        run->explicit_dense = found.dense;
    } else {
        run->step = found.step;
        run->dense = found.dense;
    }
}

/* ---- restoring: sizes, pointers and loop bounds in the saved block are not trusted ---- */

static int cg_block_counter_valid(int64_t counter) { return counter >= 0 && counter <= INT64_MAX / 4; }
static int cg_block_small_valid(int32_t counter) { return counter >= 0 && counter <= 1 << 20; }

static int cg_block_numbers_valid(const cg_run_t *saved, const cg_run_t *run)
{
    const double times[4] = {saved->t, saved->t_old, saved->t_stop, saved->t_anchor};
    int valid = saved->size == run->size && saved->n == run->n && saved->n_own == run->n_own
        && saved->n_tangents == run->n_tangents && saved->n_blocks == run->n_blocks && saved->ld == run->ld
        && saved->n_u == run->n_u && saved->n_stages == run->n_stages && saved->n_dense == run->n_dense
        && saved->order == run->order
        && saved->adaptive == run->adaptive && saved->implicit == run->implicit
        && saved->projection >= CG_PROJECT_NONE && saved->projection <= CG_PROJECT_ALL;
    for (int i = 0; i < 4; i++) {
        valid = valid && fabs(times[i]) < HUGE_VAL;
    }
    valid = valid && cg_clock_valid(saved) && cg_time_valid(saved->t_end) && fabs(saved->direction) == 1.0 && saved->direction * (saved->t_stop - saved->t) >= 0.0
        && saved->direction * (cg_time_inside(saved, saved->t_end) - saved->t_stop) >= 0.0 && saved->h >= 0.0 && saved->h < HUGE_VAL;
    valid = valid && cg_block_counter_valid(saved->n_steps) && cg_block_counter_valid(saved->n_rejected)
        && cg_block_counter_valid(saved->n_spent)
        && cg_block_counter_valid(saved->n_rhs) && cg_block_counter_valid(saved->n_anchor) && saved->max_steps >= 0;
    valid = valid && cg_block_counter_valid(saved->n_jac) && cg_block_counter_valid(saved->n_lu)
        && cg_block_small_valid(saved->n_stiff) && cg_block_small_valid(saved->n_calm) && cg_block_small_valid(saved->n_wait)
        && (run->implicit || !(saved->stiff || saved->last_stiff));
    valid = valid && saved->status <= CG_TERMINAL_EVENT && !(saved->input_kind & ~(CG_INPUT_MOVES | CG_INPUT_CALL))
        && (run->signals != NULL || !(saved->input_kind & CG_INPUT_MOVES))
        && (run->input_fn != NULL || !(saved->input_kind & CG_INPUT_CALL));
    return valid;
}

/* Sets the pointers of `run`, just laid out, that are swapped during a run as in the saved block, relative to `k`,
 * which is fixed. 0: the saved ones are not a permutation of these five places. */
static int cg_block_put_places(cg_run_t *run, const cg_run_t *saved)
{
    double *const places[5] = {run->x, run->x_old, run->x_trial, run->f, run->f_old};
    const double *const wanted[5] = {saved->x, saved->x_old, saved->x_trial, saved->f, saved->f_old};
    double **const found[5] = {&run->x, &run->x_old, &run->x_trial, &run->f, &run->f_old};
    unsigned taken = 0u;
    for (int i = 0; i < 5; i++) {
        const uintptr_t offset = (uintptr_t)wanted[i] - (uintptr_t)saved->k;
        for (int j = 0; j < 5; j++) {
            if (offset == (uintptr_t)places[j] - (uintptr_t)run->k) {
                *found[i] = places[j];
                taken |= 1u << j;
            }
        }
    }
    return taken == 31u;
}

double *cg_run_p(cg_run_t *run) { return run->p; }
double *cg_run_u(cg_run_t *run) { return run->u; }
double *cg_run_x(cg_run_t *run) { return run->x; }
void cg_run_set_step(cg_run_t *run, double step) { run->first_step = step; }
void cg_run_set_projection(cg_run_t *run, int32_t projection) { run->projection = projection; }

void cg_run_set_tolerances(cg_run_t *run, double rtol, double atol)
{
    run->rtol = rtol;
    for (int32_t i = 0; i < run->n; i++) {
        run->atol[i] = atol;
    }
}

int cg_run_restore(cg_run_t *run, const void *saved, size_t size)
{
    cg_run_t inside, whole;
    if (saved == NULL || size != run->size) {
        return CG_BAD_ARGUMENT;
    }
    memcpy(&inside, saved, sizeof inside);
    if (!cg_block_numbers_valid(&inside, run)) {
        return CG_BAD_ARGUMENT;
    }
    whole = inside;
    whole.model = run->model;
    whole.rhs = run->rhs;
    whole.step = run->step;
    whole.dense = run->dense;
    whole.pass = run->pass;
    whole.input_fn = run->input_fn;
    whole.input_context = run->input_context;
    whole.signals = run->signals;
    whole.stop = run->stop;
    whole.explicit_step = run->explicit_step;
    whole.explicit_dense = run->explicit_dense;
    whole.jump = run->jump;
    whole.varied = run->varied;
    whole.detector = run->detector;
    cg_block_layout(&whole, (char *)run, run->model);
    if (!cg_block_put_places(&whole, &inside)) {
        return CG_BAD_ARGUMENT;
    }
    memcpy(run, saved, size);
    *run = whole;
    cg_block_put_moving(run);
    cg_correct_begin(run);
    if (run->detector != NULL) {
        cg_modes_activate(run); /* the modes in u may be others */
    }
    return CG_OK;
}
