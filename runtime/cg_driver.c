/* cg_driver.c: the integration loop over the steps of any method; see cg_driver.h.
 * The methods are instantiated here once, for any model, through its table.
 */
#include "cg_driver.h"
#include "cg_step.h"

#include <stdlib.h>

#define CG_FN(name) cg_table_##name
#define CG_N(run) ((run)->n)
#define CG_NU(run) ((run)->n_u)
#define CG_RHS(run) (run)->rhs
#define CG_FLATTEN
#define CG_COPIED 0
#include "cg_method.h"
#undef CG_COPIED
#undef CG_FLATTEN
#undef CG_RHS
#undef CG_NU
#undef CG_N
#undef CG_FN

static const cg_method_info_t cg_methods[] = {
    /* name, order, adaptive, rows of k, rows of coef */
    {"rk4", 4, 0, 5, 4, cg_table_rk4_step, cg_table_rk4_dense},
    {"dop853", 8, 1, CG_DOP853_ALL, 8, cg_table_dop853_step, cg_table_dop853_dense},
    {NULL, 0, 0, 0, 0, NULL, NULL},
};

#define CG_ALIGN 64u
#define CG_ATOL_FLOOR 1e-150 /* keeps 0 / 0 out of the error norm where atol is 0 and a state is 0 */

const cg_method_info_t *cg_method_table(void) { return cg_methods; }

const cg_method_info_t *cg_method_find(const char *name)
{
    for (const cg_method_info_t *method = cg_methods; name != NULL && method->name != NULL; method++) {
        if (strcmp(method->name, name) == 0) {
            return method;
        }
    }
    return NULL;
}

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
    run->f = cg_take(base, &offset, run->ld);
    run->x_old = cg_take(base, &offset, run->ld);
    run->x_trial = cg_take(base, &offset, run->ld);
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
            if (strcmp(own->name, method) == 0) {
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
    return CG_OK;
}

/* ---- inputs ---- */

/* Number of samples before t in the direction of time: times <= t forward, times < t backward. */
static int64_t cg_samples_before(const cg_signal_t *signal, double t, double direction)
{
    int64_t low = 0, high = signal->n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (signal->t[middle] < t || (direction > 0.0 && signal->t[middle] == t)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Sets every sampled input for the stretch of time that begins at run->t, and run->t_stop to its end. */
static void cg_enter_segment(cg_run_t *run)
{
    run->t_stop = run->t_end;
    run->input_kind = 0;
    for (int32_t i = 0; run->signals != NULL && i < run->model->n_inputs; i++) {
        const cg_signal_t *const signal = &run->signals[i];
        if (signal->kind == CG_SIGNAL_CALL) {
            run->input_kind |= CG_INPUT_CALL;
        }
        if (signal->kind != CG_SIGNAL_HOLD && signal->kind != CG_SIGNAL_LINEAR) {
            continue;
        }
        const int64_t after = cg_samples_before(signal, run->t, run->direction);
        const int64_t before = after > 0 ? after - 1 : 0;
        const int64_t knot = run->direction > 0.0 ? after : after - 1;
        run->u_time[i] = signal->t[before];
        run->u_value[i] = signal->value[before];
        run->u_slope[i] = 0.0;
        if (signal->kind == CG_SIGNAL_LINEAR && after > 0 && after < signal->n) {
            run->u_slope[i] = (signal->value[after] - signal->value[before]) / (signal->t[after] - signal->t[before]);
            run->input_kind |= CG_INPUT_SLOPE;
        }
        run->u[i] = run->u_value[i];
        if (knot >= 0 && knot < signal->n && run->direction * (run->t_stop - signal->t[knot]) > 0.0) {
            run->t_stop = signal->t[knot];
        }
        run->have_f = 0;
    }
    run->t_anchor = run->t;
    run->n_anchor = 0;
}

/* ---- start ---- */

static int cg_options_valid(const cg_run_t *run)
{
    int valid = run->rtol >= 0.0 && run->rtol < HUGE_VAL && run->max_step > 0.0 && run->first_step >= 0.0
        && run->first_step < HUGE_VAL && run->max_steps >= 0;
    for (int32_t i = 0; i < run->n; i++) {
        valid = valid && run->atol[i] >= 0.0 && run->atol[i] < HUGE_VAL && run->atol[i] + run->rtol > 0.0;
    }
    if (!run->adaptive) {
        valid = valid && (run->first_step > 0.0 || run->max_step < HUGE_VAL);
    }
    return valid;
}

static void cg_set_end(cg_run_t *run, double t_end)
{
    run->t_end = t_end;
    run->direction = t_end < run->t ? -1.0 : 1.0;
    cg_enter_segment(run);
}

int cg_run_start(cg_run_t *run, double t0, const double *x0, double t_end)
{
    run->status = CG_OK;
    if (!cg_options_valid(run)) {
        return run->status = CG_BAD_ARGUMENT;
    }
    for (int32_t i = 0; i < run->n; i++) {
        run->x[i] = x0[i];
        run->atol[i] = cg_step_larger(run->atol[i], CG_ATOL_FLOOR);
    }
    run->t = t0;
    run->t_old = t0;
    run->h = run->first_step;
    if (!run->adaptive) {
        run->h = run->h > 0.0 ? cg_step_smaller(run->h, run->max_step) : run->max_step;
    }
    run->err_old = 1e-4;
    run->n_steps = 0;
    run->n_rejected = 0;
    run->n_rhs = 0;
    run->have_f = 0;
    run->have_dense = 0;
    run->rejected = 0;
    run->recorded = 0;
    if (!cg_step_finite(run->x, run->n) || !(fabs(t0) < HUGE_VAL) || !(fabs(t_end) < HUGE_VAL)) {
        return run->status = CG_NONFINITE;
    }
    cg_set_end(run, t_end);
    return CG_OK;
}

int cg_run_extend(cg_run_t *run, double t_end)
{
    if (!(fabs(t_end) < HUGE_VAL)) {
        return CG_BAD_ARGUMENT;
    }
    run->status = CG_OK;
    cg_set_end(run, t_end);
    return CG_OK;
}

void cg_run_changed(cg_run_t *run)
{
    run->have_f = 0;
    run->have_dense = 0;
    cg_enter_segment(run);
}

/* One call of the right-hand side outside a step. */
static int cg_derivative(cg_run_t *run, double t, const double *x, double *out)
{
    const int status = cg_table_rhs(run, t, x, out);
    return status != CG_OK ? status : cg_step_finite(out, run->n) ? CG_OK : CG_NONFINITE;
}

/* Root mean square of v in units of the tolerance at x. */
static double cg_norm(const cg_run_t *run, const double *v)
{
    double sum = 0.0;
    for (int32_t i = 0; i < run->n; i++) {
        const double scaled = v[i] / cg_step_scale(run->atol[i], run->rtol, run->x[i], run->x[i]);
        sum += scaled * scaled;
    }
    return sqrt(sum / (double)run->n);
}

/* E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, section II.4, "starting step size":
 * such that an explicit Euler step, and a step of the method's order, have errors of about 1 % of the tolerance. */
static int cg_choose_step(cg_run_t *run)
{
    const double longest = cg_step_smaller(fabs(run->t_end - run->t), run->max_step);
    const double size = cg_norm(run, run->x);
    const double slope = cg_norm(run, run->f);
    double h = size < 1e-5 || slope < 1e-5 ? 1e-6 : 0.01 * size / slope;
    h = cg_step_smaller(h, longest);
    for (int32_t i = 0; i < run->n; i++) {
        run->x_trial[i] = run->x[i] + run->direction * h * run->f[i];
    }
    const int status = cg_derivative(run, run->t + run->direction * h, run->x_trial, run->k);
    if (status == CG_OK) {
        for (int32_t i = 0; i < run->n; i++) {
            run->k[i] -= run->f[i];
        }
        const double curvature = cg_norm(run, run->k) / h;
        const double largest = cg_step_larger(slope, curvature);
        const double h1 = largest <= 1e-15 ? cg_step_larger(1e-6, h * 1e-3)
                                           : cg_step_power(0.01 / largest, 1.0 / (double)run->order);
        h = cg_step_smaller(cg_step_smaller(100.0 * h, h1), longest);
    } else if (status != CG_NONFINITE && status != CG_SINGULAR) {
        return status;
    }
    run->h = h; /* after a failed probe the step itself finds out how short it must be */
    return CG_OK;
}

/* ---- recording ---- */

void cg_dense_evaluate(const double *coef, int64_t n_dense, int64_t ld, int64_t n, double theta, double *out,
                       int64_t stride)
{
    for (int64_t i = 0; i < n; i++) {
        const double *const c = coef + i;
        double sum = c[(n_dense - 1) * ld];
        for (int64_t j = n_dense - 2; j >= 0; j--) {
            sum = c[j * ld] + (j % 2 == 0 ? theta : 1.0 - theta) * sum;
        }
        out[i * stride] = sum;
    }
}

static void cg_copy_state(const cg_run_t *run, const double *x, double *out, int64_t stride)
{
    for (int32_t i = 0; i < run->n; i++) {
        out[i * stride] = x[i];
    }
}

int cg_run_interpolate(cg_run_t *run, double t, double *out, int64_t stride)
{
    if (t == run->t) {
        cg_copy_state(run, run->x, out, stride);
        return CG_OK;
    }
    if (t == run->t_old) {
        cg_copy_state(run, run->x_old, out, stride);
        return CG_OK;
    }
    if (!run->have_dense) {
        const int status = run->dense(run);
        if (status != CG_OK) {
            return status;
        }
    }
    cg_dense_evaluate(run->coef, run->n_dense, run->ld, run->n, (t - run->t_old) / (run->t - run->t_old), out, stride);
    return CG_OK;
}

static double *cg_row(cg_record_t *record, double t)
{
    const int64_t row = record->n_rows++;
    if (record->t != NULL) {
        record->t[row] = t;
    }
    return record->y == NULL ? NULL : record->y + row * record->y_row;
}

/* The requested times up to run->t. At the start of a run only run->t itself is inside. */
static int cg_record_times(cg_run_t *run, cg_record_t *record)
{
    while (record->next_eval < record->n_eval) {
        const double t = record->t_eval[record->next_eval];
        if (run->direction * (t - run->t) > 0.0) {
            break;
        }
        if (!record->started && t != run->t) {
            record->next_eval++;
            continue;
        }
        if (record->n_rows >= record->capacity) {
            return CG_OUTPUT_FULL;
        }
        double *const row = cg_row(record, t);
        if (row != NULL) {
            const int status = cg_run_interpolate(run, t, row, record->y_col);
            if (status != CG_OK) {
                record->n_rows--;
                return status;
            }
        }
        record->next_eval++;
    }
    return CG_OK;
}

static int cg_record_dense(cg_run_t *run, cg_record_t *record)
{
    if (!run->have_dense) {
        const int status = run->dense(run);
        if (status != CG_OK) {
            return status;
        }
    }
    double *const out = record->coef + record->n_coef * run->n_dense * run->n;
    for (int32_t j = 0; j < run->n_dense; j++) {
        memcpy(out + (ptrdiff_t)j * run->n, run->coef + (ptrdiff_t)j * run->ld, sizeof(double) * (size_t)run->n);
    }
    record->coef_t[2 * record->n_coef] = run->t_old;
    record->coef_t[2 * record->n_coef + 1] = run->t;
    record->n_coef++;
    return CG_OK;
}

/* What the last step adds to the record (or the start of the run); may be called again after CG_OUTPUT_FULL. */
static int cg_record_step(cg_run_t *run, cg_record_t *record)
{
    const int dense = record->coef != NULL && record->started;
    int status = CG_OK;
    if (dense && record->n_coef >= record->capacity_dense) {
        return CG_OUTPUT_FULL;
    }
    if (record->t_eval != NULL) {
        status = cg_record_times(run, record);
    } else if (record->t != NULL || record->y != NULL) {
        if (record->n_rows >= record->capacity) {
            return CG_OUTPUT_FULL;
        }
        double *const row = cg_row(record, run->t);
        if (row != NULL) {
            cg_copy_state(run, run->x, row, record->y_col);
        }
    }
    if (status == CG_OK && dense) {
        status = cg_record_dense(run, record);
    }
    if (status == CG_OK) {
        record->started = 1;
    }
    return status;
}

/* ---- the loop ---- */

/* Everything a step needs at its start; nothing to do after an accepted step without a knot. */
static int cg_prepare(cg_run_t *run)
{
    int status = CG_OK;
    if (run->t == run->t_stop) {
        cg_enter_segment(run);
    }
    if (!run->have_f) {
        status = cg_derivative(run, run->t, run->x, run->f);
        run->have_f = status == CG_OK;
    }
    if (status == CG_OK && run->h == 0.0) {
        status = cg_choose_step(run);
    }
    return status;
}

int cg_drive(cg_run_t *run, cg_record_t *record, int64_t budget)
{
    int64_t limit = run->max_steps;
    const int64_t done = run->n_steps + run->n_rejected;
    if (run->status != CG_OK) {
        return run->status;
    }
    if (budget >= 0 && budget < limit - done) {
        limit = done + budget;
    }
    for (;;) {
        int status = CG_OK;
        if (!run->recorded) {
            if (record != NULL) {
                status = cg_record_step(run, record);
            }
            if (status != CG_OK) {
                return status > 0 ? status : (run->status = status);
            }
            run->recorded = 1;
        }
        if (run->t == run->t_end) {
            return CG_OK;
        }
        if (run->stop != NULL && *run->stop) {
            return CG_INTERRUPTED;
        }
        if (run->n_steps + run->n_rejected >= limit) {
            return limit < run->max_steps ? CG_BUDGET_USED : (run->status = CG_TOO_MANY_STEPS);
        }
        status = cg_prepare(run);
        if (status == CG_OK) {
            status = run->step(run);
        }
        if (status != CG_OK) {
            return status == CG_INTERRUPTED ? status : (run->status = status);
        }
        run->recorded = 0;
    }
}

/* ---- many trajectories ---- */

static void cg_gather(double *to, const double *from, int32_t count, int64_t stride)
{
    for (int32_t i = 0; i < count; i++) {
        to[i] = from[i * stride];
    }
}

int cg_ensemble_run(const cg_ensemble_t *ensemble, cg_run_t *run, int64_t first, int64_t last,
                    volatile int64_t *done)
{
    const double nan = HUGE_VAL - HUGE_VAL;
    for (int64_t j = first; j < last; j++) {
        double *const y = ensemble->y + j * ensemble->y_row;
        cg_record_t record;
        memset(&record, 0, sizeof record);
        if (ensemble->t_eval != NULL) {
            record.t_eval = ensemble->t_eval;
            record.n_eval = ensemble->n_eval;
            record.y = y;
            record.y_row = ensemble->y_time;
            record.y_col = ensemble->y_col;
            record.capacity = ensemble->n_eval;
        }
        cg_gather(run->p, ensemble->p + j * ensemble->p_row, run->model->n_parameters, ensemble->p_col);
        if (ensemble->u != NULL) {
            cg_gather(run->u, ensemble->u + j * ensemble->u_row, run->model->n_inputs, ensemble->u_col);
        }
        /* run->x_old is free before the first step */
        cg_gather(run->x_old, ensemble->x0 + j * ensemble->x0_row, run->n, ensemble->x0_col);
        int status = cg_run_start(run, ensemble->t0, run->x_old, ensemble->t_end);
        if (status == CG_OK) {
            status = cg_drive(run, ensemble->t_eval == NULL ? NULL : &record, -1);
        }
        if (status == CG_INTERRUPTED) {
            return status;
        }
        if (ensemble->t_eval == NULL) {
            cg_copy_state(run, run->x, y, ensemble->y_col);
        }
        for (int64_t m = record.n_rows; m < record.n_eval; m++) {
            for (int32_t i = 0; i < run->n; i++) {
                y[m * ensemble->y_time + i * ensemble->y_col] = nan;
            }
        }
        if (ensemble->t != NULL) {
            ensemble->t[j] = run->t;
        }
        ensemble->status[j] = status;
        if (ensemble->n_rhs != NULL) {
            ensemble->n_rhs[j] = run->n_rhs;
        }
        if (ensemble->n_steps != NULL) {
            ensemble->n_steps[j] = run->n_steps;
        }
        if (done != NULL) {
            *done += 1;
        }
    }
    return CG_OK;
}
