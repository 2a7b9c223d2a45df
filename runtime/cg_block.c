/* cg_block.c: the block of memory of one run: its layout, its defaults, and its restoring; see cg_run.h. */
#include "cg_driver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CG_ALIGN 64u

/* ---- the block ---- */

/* The next array of `count` doubles in the block; only counts where run is NULL. */
static double *cg_take(char *base, size_t *offset, int32_t count)
{
    double *const array = base == NULL ? NULL : (double *)(void *)(base + *offset);
    const size_t bytes = sizeof(double) * (size_t)count;
    *offset += (bytes + CG_ALIGN - 1u) / CG_ALIGN * CG_ALIGN;
    return array;
}

/* Points the arrays of `run` into the block at `base` and returns the size of the block. */
static size_t cg_layout(cg_run_t *run, char *base, int32_t n_parameters, int32_t n_work)
{
    size_t offset = (sizeof(cg_run_t) + CG_ALIGN - 1u) / CG_ALIGN * CG_ALIGN;
    run->x = cg_take(base, &offset, run->ld);
    run->x_old = cg_take(base, &offset, run->ld);
    run->x_trial = cg_take(base, &offset, run->ld);
    run->f = cg_take(base, &offset, run->ld);
    run->f_old = cg_take(base, &offset, run->ld);
    run->k = cg_take(base, &offset, run->n_stages * run->ld);
    run->coef = cg_take(base, &offset, run->n_dense * run->ld);
    run->atol = cg_take(base, &offset, run->ld);
    run->p = cg_take(base, &offset, n_parameters);
    run->u = cg_take(base, &offset, run->n_u);
    run->u_time = cg_take(base, &offset, run->n_u);
    run->u_value = cg_take(base, &offset, run->n_u);
    run->u_slope = cg_take(base, &offset, run->n_u);
    run->work = cg_take(base, &offset, n_work);
    return offset;
}

static void cg_set_sizes(cg_run_t *run, const cg_model_t *model, const cg_method_info_t *method)
{
    run->n = model->n_states;
    run->ld = CG_PADDED(model->n_states);
    run->n_u = model->n_inputs + model->n_modes;
    run->n_stages = method->n_stages;
    run->n_dense = method->n_dense;
    run->order = method->order;
    run->adaptive = method->adaptive;
}

size_t cg_run_size(const cg_model_t *model, const char *method)
{
    const cg_method_info_t *const info = cg_method_find(method);
    cg_run_t run;
    if (info == NULL || model == NULL) {
        return 0;
    }
    memset(&run, 0, sizeof run);
    cg_set_sizes(&run, model, info);
    return cg_layout(&run, NULL, model->n_parameters, model->n_work);
}

/* C99 has no aligned allocation: the address that malloc gave is kept just below the block. */
cg_run_t *cg_run_new(size_t size)
{
    char *const raw = size > 0 && size < SIZE_MAX - 2u * CG_ALIGN ? malloc(size + 2u * CG_ALIGN) : NULL;
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

/* Whether `own` is the method `name`, compiled with this header's cg_run_t. */
static int cg_is_method(const cg_method_t *own, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(own->name, name, length) == 0 && strcmp(own->name + length, CG_RUN_LAYOUT) == 0;
}

int cg_run_init(cg_run_t *run, size_t size, const cg_model_t *model, const char *method, int32_t flags)
{
    const cg_method_info_t *const info = cg_method_find(method);
    if (run == NULL || model == NULL || info == NULL || (uintptr_t)run % CG_ALIGN != 0
        || model->abi_version != CG_ABI_VERSION || model->struct_size < sizeof(cg_model_t) || model->rhs == NULL
        || size < cg_run_size(model, method)) {
        return CG_BAD_ARGUMENT;
    }
    memset(run, 0, cg_run_size(model, method));
    run->model = model;
    run->rhs = model->rhs;
    run->step = info->step;
    run->dense = info->dense;
    if (model->methods != NULL && !(flags & CG_RUN_TABLE)) {
        for (const cg_method_t *own = model->methods; own->name != NULL; own++) {
            if (cg_is_method(own, method)) {
                run->step = own->step;
                run->dense = own->dense;
                run->inlined = 1;
            }
        }
    }
    cg_set_sizes(run, model, info);
    run->size = cg_layout(run, (char *)run, model->n_parameters, model->n_work);
    for (int32_t i = 0; i < run->ld; i++) {
        run->atol[i] = i < run->n ? 1e-9 : 1.0;
    }
    for (int32_t i = 0; i < model->n_parameters; i++) {
        run->p[i] = model->parameters[i].example;
    }
    for (int32_t i = 0; i < run->n_u; i++) {
        run->u[i] = i < model->n_inputs ? model->inputs[i].example : 0.0;
    }
    run->rtol = 1e-6;
    run->max_step = HUGE_VAL;
    run->max_steps = INT64_MAX;
    run->direction = 1.0;
    return CG_OK;
}

int cg_run_restore(cg_run_t *run, const void *saved, size_t size)
{
    const cg_run_t outside = *run;
    cg_run_t inside;
    if (saved == NULL || size != run->size) {
        return CG_BAD_ARGUMENT;
    }
    memcpy(&inside, saved, sizeof inside);
    if (inside.size != run->size || inside.n != run->n || inside.n_u != run->n_u || inside.order != run->order
        || inside.n_stages != run->n_stages || inside.n_dense != run->n_dense || inside.adaptive != run->adaptive) {
        return CG_BAD_ARGUMENT;
    }
    memcpy(run, saved, size);
    run->model = outside.model;
    run->rhs = outside.rhs;
    run->step = outside.step;
    run->dense = outside.dense;
    run->inlined = outside.inlined;
    run->input_fn = outside.input_fn;
    run->input_context = outside.input_context;
    run->signals = outside.signals;
    run->stop = outside.stop;
    cg_layout(run, (char *)run, run->model->n_parameters, run->model->n_work);
    /* which of its places each changing array is in, relative to one that does not change */
    run->x = run->k + (inside.x - inside.k);
    run->x_old = run->k + (inside.x_old - inside.k);
    run->x_trial = run->k + (inside.x_trial - inside.k);
    run->f = run->k + (inside.f - inside.k);
    run->f_old = run->k + (inside.f_old - inside.k);
    return CG_OK;
}
