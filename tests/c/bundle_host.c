/* bundle_host.c: a program around a C bundle. 8 threads step one constant model and get the same bits; wrong calls get a
 * status; nothing allocates. HEADER, MODEL and PREFIX(x) name the bundle's. */
#include HEADER

#include "allocations.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, STEPS = 300 };

typedef struct host {
    CG_BLOCK(run, PREFIX(RUN_SIZE));
    CG_BLOCK(detector, 16384);
    int status;
} host_t;

static host_t hosts[THREADS];

static cg_run_t *begin(host_t *host)
{
    cg_run_t *const run = (cg_run_t *)(void *)host->run;
    double x0[PREFIX(N_STATES)];
    host->status = cg_run_init(run, sizeof host->run, &MODEL, "dop853", 0);
    for (int i = 0; i < run->n; i++) x0[i] = MODEL.states[i].example;
    if (MODEL.n_events + MODEL.n_contacts > 0) {
        run->detector = (cg_detector_t *)(void *)host->detector;
        host->status |= cg_detector_init(run->detector, sizeof host->detector, &MODEL, 0, 0);
    }
    host->status |= cg_run_start(run, 0.0, x0, 0.0);
    return run;
}

static void *stepped(void *argument)
{
    host_t *const host = (host_t *)argument;
    cg_run_t *const run = begin(host);
    for (int i = 0; i < STEPS && host->status >= 0; i++) host->status = cg_run_advance(run, (i + 1) / 1000.0);
    return NULL;
}

static void require(int condition, const char *what)
{
    if (!condition) {
        printf("%s\n", what);
        exit(1);
    }
}

static void misuse(host_t *host)
{
    cg_run_t *const run = begin(host);
    const cg_run_t before = *run;
    static unsigned char foreign[PREFIX(RUN_SIZE)];
    require(cg_run_advance(run, NAN) == CG_BAD_ARGUMENT, "a NaN as the time");
    require(cg_run_advance(run, -1.0) == (MODEL.n_contacts > 0 ? CG_BAD_ARGUMENT : CG_OK), "a step backward");
    require(cg_run_restore(run, foreign, run->size) == CG_BAD_ARGUMENT, "a foreign block");
    require(cg_run_restore(run, &before, 8) == CG_BAD_ARGUMENT, "a short block");
    require(cg_run_init(run, 64, &MODEL, "dop853", 0) == CG_BAD_ARGUMENT, "a small block");
    require(cg_run_init(run, sizeof host->run, &MODEL, "euler", 0) == CG_BAD_ARGUMENT, "an unknown method");
    require(cg_run_size(&MODEL, "vern9") == 0, "a method that was not chosen");
    require(cg_run_size(&MODEL, "dop853") <= PREFIX(RUN_SIZE), "a macro below the size");
    begin(host);
    if (run->n_u > MODEL.n_modes) {
        run->u[0] = NAN;
        cg_run_inputs_changed(run);
        require(cg_run_advance(run, 1.0) == CG_NONFINITE, "a NaN as an input");
    }
    begin(host);
    run->x[0] = NAN;
    cg_run_moved(run);
    require(cg_run_advance(run, 1.0) < 0, "a NaN as a state");
    require(strcmp(cg_status_text(-99), "unknown status") == 0, "an unknown status");
    for (int status = CG_UNCLOSED; status <= CG_TERMINAL_EVENT; status++) {
        require(strcmp(cg_status_text(status), "unknown status") != 0, "a status without a text");
    }
}

int main(void)
{
    pthread_t threads[THREADS];
    host_t alone;
    stepped(&alone);
    require(alone.status >= 0, "the run failed");
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, stepped, &hosts[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    const cg_run_t *const expected = (const cg_run_t *)(const void *)alone.run;
    for (int i = 0; i < THREADS; i++) {
        const cg_run_t *const run = (const cg_run_t *)(const void *)hosts[i].run;
        require(memcmp(run->x, expected->x, sizeof(double) * (size_t)run->n) == 0, "threads differ");
    }
    printf("same\n");
#ifdef CG_COUNT_ALLOCATIONS
    const long before = allocations;
    stepped(&alone);
    misuse(&alone);
    printf("%ld allocations\n", allocations - before);
#else
    misuse(&alone);
#endif
    return 0;
}
