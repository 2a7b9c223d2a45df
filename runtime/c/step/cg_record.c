/* cg_record.c: interpolation inside a step, and recording of steps; see cg_driver.h. */
#include "cg_internal.h"
#include "cg_step.h"

/* ---- recording ---- */

/* `count` states, a multiple of CG_WIDTH and known to the compiler: their sums are computed side by side. */
static CG_INLINE void cg_record_evaluate_some(const double *coef, int64_t n_dense, int64_t ld, int count,
                                              const double *weights, double *values)
{
    cg_block_t sums[8 / CG_WIDTH];
    for (int i = 0; i < count / CG_WIDTH; i++) {
        sums[i] = *(const cg_loose_t *)(coef + (n_dense - 1) * ld + i * CG_WIDTH);
    }
    for (int64_t j = n_dense - 2; j >= 0; j--) {
        const double weight = weights[j % 2];
        for (int i = 0; i < count / CG_WIDTH; i++) {
            sums[i] = cg_block_plus(*(const cg_loose_t *)(coef + j * ld + i * CG_WIDTH), weight, sums[i]);
        }
    }
    memcpy(values, sums, sizeof(double) * (size_t)count);
}

void cg_dense_evaluate(const double *coef, int64_t n_dense, int64_t ld, int64_t n, double theta, double *out,
                       int64_t stride)
{
    const double weights[2] = {theta, 1.0 - theta};
    for (int64_t i = 0; i < n;) {
        double values[8];
        int64_t count = 1;
        if (i + 8 <= ld) {
            count = 8;
            cg_record_evaluate_some(coef + i, n_dense, ld, 8, weights, values);
        } else if (i + 4 <= ld) {
            count = 4;
            cg_record_evaluate_some(coef + i, n_dense, ld, 4, weights, values);
        } else { /* rows without padding */
            values[0] = coef[(n_dense - 1) * ld + i];
            for (int64_t j = n_dense - 2; j >= 0; j--) {
                values[0] = cg_plus(coef[j * ld + i], weights[j % 2], values[0]);
            }
        }
        for (int64_t lane = 0; lane < count && i < n; lane++, i++) {
            out[i * stride] = values[lane];
        }
    }
}

static void cg_record_state(const cg_run_t *run, const double *x, double *out, int64_t stride)
{
    for (int32_t i = 0; i < run->n; i++) {
        out[i * stride] = x[i];
    }
}

int cg_run_interpolate(cg_run_t *run, cg_time_t time, double *out, int64_t stride)
{
    const double t = cg_time_inside(run, time);
    if (t == run->t) {
        cg_record_state(run, run->x, out, stride);
        return CG_OK;
    }
    if (t == run->t_old) {
        cg_record_state(run, run->x_old, out, stride);
        return CG_OK;
    }
    if (!run->have_dense) {
        CG_TRY(run->dense(run));
    }
    cg_dense_evaluate(run->coef, run->n_dense, run->ld, run->n, (t - run->t_old) / (run->t - run->t_old), out, stride);
    return CG_OK;
}

static double *cg_record_row(cg_record_t *record, cg_time_t t)
{
    const int64_t row = record->n_rows++;
    if (record->t != NULL) {
        record->t[row] = t;
    }
    return record->y == NULL ? NULL : record->y + row * record->y_row;
}

/* Records the requested times up to run->t. At the start of a run that is only run->t itself. */
static int cg_record_times(cg_run_t *run, cg_record_t *record)
{
    while (record->next_eval < record->n_eval) {
        const cg_time_t t = record->t_eval[record->next_eval];
        const double ahead = cg_time_inside(run, t) - run->t;
        if (run->direction * ahead > 0.0) {
            break;
        }
        if (!record->started && ahead != 0.0) {
            record->next_eval++;
            continue;
        }
        if (record->n_rows >= record->capacity) {
            return CG_OUTPUT_FULL;
        }
        double *const row = cg_record_row(record, t);
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
        CG_TRY(run->dense(run));
    }
    double *const out = record->coef + record->n_coef * run->n_dense * run->n;
    for (int32_t j = 0; j < run->n_dense; j++) {
        memcpy(out + (ptrdiff_t)j * run->n, run->coef + (ptrdiff_t)j * run->ld, sizeof(double) * (size_t)run->n);
    }
    record->coef_t[2 * record->n_coef] = cg_time_outside(run, run->t_old);
    record->coef_t[2 * record->n_coef + 1] = cg_time_outside(run, run->t);
    record->n_coef++;
    return CG_OK;
}

int cg_record_step(cg_run_t *run, cg_record_t *record)
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
        double *const row = cg_record_row(record, cg_time_outside(run, run->t));
        if (row != NULL) {
            cg_record_state(run, run->x, row, record->y_col);
        }
    }
    if (status == CG_OK && dense) {
        status = cg_record_dense(run, record);
    }
    if (status == CG_OK && record->watch != NULL) {
        status = record->watch(record->watch_context, run, record->started != 0);
    }
    if (status == CG_OK) {
        record->started = 1;
    }
    return status;
}

int cg_record_jump(cg_run_t *run, cg_record_t *record)
{
    CG_TRY(record->watch != NULL ? record->watch(record->watch_context, run, 0) : CG_OK);
    if (record->t_eval != NULL || (record->t == NULL && record->y == NULL)) {
        return CG_OK;
    }
    if (record->n_rows >= record->capacity) {
        return CG_OUTPUT_FULL;
    }
    double *const row = cg_record_row(record, cg_time_outside(run, run->t));
    if (row != NULL) {
        cg_record_state(run, run->x, row, record->y_col);
    }
    return CG_OK;
}
