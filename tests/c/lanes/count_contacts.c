/* How often trajectories with contacts are searched alone, beside others in lanes: linked with --wrap.
 *
 * Arguments: the velocity of the first slider from .. to, then the states at the start and the parameters.
 */
#include "painleve_klein_core.h"

#include "cg_ensemble.h"
#include "cg_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 64, SPEED = 2 /* the velocity of the first slider */ };

extern const cg_lane_set_t painleve_klein_lanes_4;

static long alone, landed;
int __real_cg_detector_after_step(cg_run_t *run);
int __wrap_cg_detector_after_step(cg_run_t *run);
int __real_cg_detector_arrive(cg_run_t *run, int32_t index, double goal, double end);
int __wrap_cg_detector_arrive(cg_run_t *run, int32_t index, double goal, double end);

int __wrap_cg_detector_after_step(cg_run_t *run)
{
    alone++;
    return __real_cg_detector_after_step(run);
}

int __wrap_cg_detector_arrive(cg_run_t *run, int32_t index, double goal, double end)
{
    landed++;
    return __real_cg_detector_arrive(run, index, goal, end);
}

static double *read_numbers(char **from, int count)
{
    double *const numbers = malloc(sizeof(double) * (size_t)count);
    for (int i = 0; numbers != NULL && i < count; i++) {
        numbers[i] = atof(from[i]);
    }
    return numbers;
}

/* A run with a detector, as options for lanes. */
static cg_run_t *make_options(const cg_model_t *model, const volatile int *stop)
{
    const size_t size = cg_run_size(model, "dop853"), room = cg_detector_size(model, 0);
    cg_run_t *const run = cg_run_new(size);
    if (run == NULL || cg_run_init(run, size, model, "dop853", 0) != CG_OK) {
        return NULL;
    }
    run->detector = (cg_detector_t *)(void *)cg_run_new(room);
    cg_detector_init(run->detector, room, model, 0, 0);
    run->stop = stop;
    run->rtol = 1e-9;
    return run;
}

int main(int argc, char **argv)
{
    static volatile int stop;
    static int32_t status[COUNT];
    static int64_t n_steps[COUNT];
    const cg_model_t *const model = &painleve_klein_model;
    const size_t size = cg_lanes_size(model, &painleve_klein_lanes_4, "dop853");
    cg_lanes_run_t *const lanes = (cg_lanes_run_t *)(void *)cg_run_new(size);
    cg_run_t *const options = make_options(model, &stop);
    const int n = model->n_states, n_p = model->n_parameters;
    if (argc != 3 + n + n_p || options == NULL || cg_lanes_init(lanes, size, model, &painleve_klein_lanes_4, "dop853") != CG_OK) {
        return 1;
    }
    const double from = atof(argv[1]), to = atof(argv[2]);
    double *const given = read_numbers(argv + 3, n + n_p);
    double *const x = malloc(sizeof(double) * (size_t)(n * COUNT)), *const y = malloc(sizeof(double) * (size_t)(n * COUNT));
    if (given == NULL || x == NULL || y == NULL) {
        return 1;
    }
    for (int j = 0; j < COUNT; j++) {
        memcpy(x + j * n, given, sizeof(double) * (size_t)n);
        x[j * n + SPEED] = from + (to - from) * j / (COUNT - 1);
    }
    const cg_ensemble_t ensemble = {.t_end = 2.5, .x0 = x, .x0_row = n, .x0_col = 1, .p = given + n, .p_col = 1, .y = y,
                                    .y_row = n, .y_col = 1, .status = status, .n_steps = n_steps};
    cg_cursor_t cursor = {.last = COUNT};
    if (cg_ensemble_lanes(&ensemble, lanes, options, &cursor, -1) != CG_OK) {
        return 1;
    }
    long steps = 0;
    int failed = 0;
    for (int j = 0; j < COUNT; j++) {
        steps += (long)n_steps[j];
        failed += status[j] != CG_OK;
    }
    printf("%ld %ld %ld %d\n", steps, landed, alone, failed);
    return 0;
}
