/* host.c: runs the model `MODEL`; its text is compiled in double and, rewritten, in single precision.
 *
 *     host METHOD RTOL ATOL STEP FIRST LAST RATE WATCH STATE... PARAMETER...
 *
 * advances the run from the time FIRST/RATE to LAST/RATE, 1/RATE at a time, with events if WATCH is 1, and prints it. The
 * inputs rise from 0 to 1 in that time. In the middle the run is saved, disturbed and restored.
 */
#include "cg_events.h"

#include <stdio.h>
#include <stdlib.h>

extern const cg_model_t MODEL;

static double number(const char *text) { return (double)atof(text); }

static cg_detector_t *watch(cg_run_t *run, double *log, int64_t capacity)
{
    const size_t size = cg_detector_size(run->model, 0);
    cg_detector_t *const detector = (cg_detector_t *)(void *)cg_run_new(size);
    if (cg_detector_init(detector, size, run->model, 0, CG_WATCH_KINKS) != CG_OK) {
        exit(2);
    }
    detector->log = log;
    detector->log_capacity = capacity / detector->log_row;
    run->detector = detector;
    return detector;
}

/* Saves the run, goes on a little, and comes back. */
static int detour(cg_run_t *run, cg_time_t t)
{
    void *const saved = malloc(run->size);
    memcpy(saved, run, run->size);
    cg_run_advance(run, t);
    run->x[0] += 1.0;
    const int status = cg_run_restore(run, saved, run->size);
    free(saved);
    return status;
}

int main(int argc, char **argv)
{
    static double log[20000];
    const cg_model_t *const model = &MODEL;
    const size_t size = cg_run_size(model, argv[1]);
    cg_run_t *const run = cg_run_new(size);
    const int first = atoi(argv[5]), last = atoi(argv[6]), rate = atoi(argv[7]);
    const cg_time_t knots[3] = {CG_TIME(first, rate), CG_TIME(first, rate), CG_TIME(last, rate)};
    const double values[6] = {0.0, 0.0, 0.0, 1.0 / cg_time_span(knots[0], knots[2]), 1.0, 0.0};
    cg_signal_t signals[4];
    double x[32];
    memset(signals, 0, sizeof signals);
    for (int i = 0; i < 4; i++) {
        signals[i].kind = CG_SIGNAL_POLYNOMIAL;
        signals[i].n_powers = 2;
        signals[i].n = 3;
        signals[i].t = knots;
        signals[i].value = values;
    }
    if (argc != 9 + model->n_states + model->n_parameters || cg_run_init(run, size, model, argv[1], 0) != CG_OK) {
        return 1;
    }
    run->rtol = number(argv[2]);
    run->first_step = number(argv[4]);
    run->signals = signals;
    for (int32_t i = 0; i < run->n; i++) {
        run->atol[i] = number(argv[3]);
        x[i] = number(argv[9 + i]);
    }
    for (int32_t i = 0; i < model->n_parameters; i++) {
        run->p[i] = number(argv[9 + run->n + i]);
    }
    cg_detector_t *const detector = atoi(argv[8]) ? watch(run, log, 20000) : NULL;
    int status = cg_run_start(run, CG_TIME(first, rate), x, CG_TIME(first, rate));
    for (int k = first + 1; k <= last && status == CG_OK; k++) {
        if (k == (first + last) / 2 && detector == NULL) {
            status = detour(run, CG_TIME(k + 1, rate));
        }
        status = status == CG_OK ? cg_run_advance(run, CG_TIME(k, rate)) : status;
    }
    printf("%d %lld %d", status, (long long)run->n_steps, cg_run_time(run) == CG_TIME(last, rate));
    for (int32_t i = 0; i < run->n; i++) {
        printf(" %a", run->x[i]);
    }
    printf("\n");
    for (int64_t row = 0; detector != NULL && row < detector->n_log; row++) {
        for (int32_t i = 0; i < detector->log_row; i++) {
            printf("%a ", log[row * detector->log_row + i]);
        }
        printf("\n");
    }
    cg_run_delete((cg_run_t *)(void *)detector);
    cg_run_delete(run);
    return 0;
}
