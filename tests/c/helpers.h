/* helpers.h: shorthands for creating and finishing runs. */
#ifndef HELPERS_H
#define HELPERS_H

#include "cg_ensemble.h"
#include "check.h"
#include "models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Every method; the first has a fixed step, the others control their step size. */
#define N_METHODS 5
static const char *const methods[N_METHODS] = {"rk4", "dop853", "tsit5", "vern7", "vern9"};

/* A run with one tolerance for everything; flags as for cg_run_init. */
static inline cg_run_t *make_run(const cg_model_t *model, const char *method, int32_t flags, double tolerance)
{
    const size_t size = cg_run_size(model, method);
    cg_run_t *const run = cg_run_new(size);
    CHECK(run != NULL && cg_run_init(run, size, model, method, flags) == CG_OK);
    run->rtol = tolerance;
    for (int32_t i = 0; i < run->n; i++) {
        run->atol[i] = tolerance;
    }
    return run;
}

static inline cg_run_t *make_probe(enum probe_kind kind, double threshold, const char *method, double tolerance)
{
    cg_run_t *const run = make_run(&probe_model, method, 0, tolerance);
    run->p[0] = (double)kind;
    run->p[1] = threshold;
    return run;
}

/* A signal that is held or linear between n samples, and its polynomials. */
typedef struct samples {
    double t[8], rows[16];
    cg_signal_t signal;
} samples_t;

static inline void set_samples(samples_t *samples, int linear, int64_t n, const double *t, const double *value)
{
    const int64_t begin = linear; /* what is linear holds before its first sample */
    const cg_signal_t signal = {CG_SIGNAL_POLYNOMIAL, 1 + linear, n + begin, samples->t, samples->rows, 0, 0, 0};
    samples->signal = signal;
    samples->t[0] = t[0];
    samples->rows[0] = value[0];
    samples->rows[1] = 0.0;
    for (int64_t j = 0; j < n; j++) {
        const double width = j + 1 < n ? t[j + 1] - t[j] : 0.0;
        samples->t[begin + j] = t[j];
        samples->rows[(1 + linear) * (begin + j)] = value[j];
        if (linear) {
            samples->rows[2 * (begin + j) + 1] = width > 0.0 ? (value[j + 1] - value[j]) / width : 0.0;
        }
    }
}

static inline int go(cg_run_t *run, double t0, const double *x0, double t_end, cg_record_t *record)
{
    const int status = cg_run_start(run, t0, x0, t_end);
    return status == CG_OK ? cg_drive(run, record, -1) : status;
}

static inline cg_record_t every_step(double *t, double *y, int64_t n, int64_t capacity)
{
    const cg_record_t record = {.t = t, .y = y, .y_row = n, .y_col = 1, .capacity = capacity};
    return record;
}

static inline cg_record_t at_times(const double *t_eval, int64_t n_eval, double *t, double *y, int64_t n)
{
    cg_record_t record = every_step(t, y, n, n_eval);
    record.t_eval = t_eval;
    record.n_eval = n_eval;
    return record;
}

static inline cg_cursor_t range(int64_t first, int64_t last)
{
    const cg_cursor_t cursor = {.next = first, .last = last};
    return cursor;
}

/* Runs the trajectories first <= j < last without a pause; adds the number of finished ones to *done unless NULL. */
static inline int run_range(const cg_ensemble_t *ensemble, cg_run_t *run, int64_t first, int64_t last, int64_t *done)
{
    cg_cursor_t cursor = range(first, last);
    const int status = cg_ensemble_run(ensemble, run, &cursor, -1);
    if (done != NULL) {
        *done += cursor.n_done;
    }
    return status;
}

static inline int same_bits(const double *a, const double *b, size_t n) { return memcmp(a, b, n * sizeof *a) == 0; }

#endif
