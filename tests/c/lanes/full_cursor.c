/* Balls that bounce beside one another, whose events are kept in a buffer that is as small as possible, and enlarged by one
 * whenever it is full: nothing is written behind its end, and events and states are those of a buffer with room for all.
 *
 * Arguments: how many balls, how many times are recorded, the height of the lowest ball, the number of steps until a pause.
 */
#include "bouncing_ball_core.h"

#include "cg_ensemble.h"
#include "cg_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const cg_lane_set_t bouncing_ball_lanes_4;

static const cg_model_t *const model = &bouncing_ball_model;
static volatile int stop;

static void *room(size_t size)
{
    void *const found = calloc(size > 0 ? size : 1, 1);
    if (found == NULL) {
        exit(2);
    }
    return found;
}

static cg_run_t *make_options(double *log)
{
    const size_t size = cg_run_size(model, "dop853"), more = cg_detector_size(model, 0);
    cg_run_t *const run = cg_run_new(size);
    cg_detector_t *const detector = (cg_detector_t *)(void *)cg_run_new(more);
    if (run == NULL || detector == NULL || cg_run_init(run, size, model, "dop853", 0) != CG_OK
        || cg_detector_init(detector, more, model, 0, 0) != CG_OK) {
        exit(2);
    }
    detector->log = log;
    detector->log_capacity = detector->n_observed + 1;
    run->detector = detector;
    run->stop = &stop;
    return run;
}

/* Runs all of `ensemble`; the result is how often the buffer was full. */
static long go(const cg_ensemble_t *ensemble, int64_t count, int64_t capacity, int64_t budget, cg_cursor_t *cursor)
{
    static double log[16 * 16];
    const size_t size = cg_lanes_size(model, &bouncing_ball_lanes_4, "dop853");
    cg_lanes_run_t *const lanes = (cg_lanes_run_t *)(void *)cg_run_new(size);
    cg_run_t *const options = make_options(log);
    long full = 0;
    int status;
    if (lanes == NULL || cg_lanes_init(lanes, size, model, &bouncing_ball_lanes_4, "dop853") != CG_OK) {
        exit(2);
    }
    memset(cursor, 0, sizeof *cursor);
    cursor->last = count;
    cursor->event_capacity = capacity;
    cursor->events = room(sizeof *cursor->events * (size_t)capacity);
    do {
        status = cg_ensemble_lanes(ensemble, lanes, options, cursor, budget);
        if (cursor->n_events > cursor->event_capacity) {
            exit(3);
        }
        if (status == CG_EVENTS_FULL) {
            full++;
            cursor->event_capacity++;
            cursor->events = realloc(cursor->events, sizeof *cursor->events * (size_t)cursor->event_capacity);
            if (cursor->events == NULL) {
                exit(2);
            }
        }
    } while (status == CG_EVENTS_FULL || status == CG_BUDGET_USED);
    cg_run_delete((cg_run_t *)(void *)options->detector);
    cg_run_delete(options);
    cg_run_delete((cg_run_t *)(void *)lanes);
    return status == CG_OK && cursor->n_done == count ? full : -1;
}

static int by_trajectory(const void *a, const void *b)
{
    const cg_occurrence_t *const one = a, *const two = b;
    return one->trajectory != two->trajectory ? (one->trajectory > two->trajectory) - (one->trajectory < two->trajectory)
                                              : (one->t > two->t) - (one->t < two->t);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        return 1;
    }
    const int64_t count = atol(argv[1]), times = atol(argv[2]), budget = atol(argv[4]);
    const double lowest = atof(argv[3]), t_end = 4.0;
    const size_t numbers = 2u * (size_t)(times * count);
    double *const x = room(sizeof(double) * 2u * (size_t)count), *const t = room(sizeof(double) * (size_t)times);
    double *const y[2] = {room(sizeof(double) * numbers), room(sizeof(double) * numbers)};
    int32_t *const status = room(sizeof(int32_t) * (size_t)count);
    const double p[3] = {1.0, 9.81, 0.9}; /* m, g, e */
    cg_cursor_t cursors[2];
    long full[2];
    for (int64_t j = 0; j < count; j++) {
        x[2 * j] = lowest + (double)(j % 7) * 0.11;
    }
    for (int64_t m = 0; m < times; m++) {
        t[m] = t_end * (double)m / (double)(times - 1);
    }
    for (int i = 0; i < 2; i++) {
        const cg_ensemble_t ensemble = {.t_end = t_end, .x0 = x, .x0_row = 2, .x0_col = 1, .p = p, .p_col = 1,
                                        .t_eval = t, .n_eval = times, .y = y[i], .y_row = 2 * times, .y_col = 1,
                                        .y_time = 2, .status = status};
        full[i] = go(&ensemble, count, i == 0 ? 100 * count : 0, budget, &cursors[i]);
        qsort(cursors[i].events, (size_t)cursors[i].n_events, sizeof *cursors[i].events, by_trajectory);
    }
    const size_t bytes = sizeof *cursors[0].events * (size_t)cursors[0].n_events;
    const int same = cursors[0].n_events == cursors[1].n_events
        && memcmp(cursors[0].events, cursors[1].events, bytes) == 0 && memcmp(y[0], y[1], sizeof(double) * numbers) == 0;
    printf("%ld %ld %ld %d\n", (long)cursors[0].n_events, full[0], full[1], same);
    for (int i = 0; i < 2; i++) {
        free(cursors[i].events);
        free(y[i]);
    }
    free(x);
    free(t);
    free(status);
    return 0;
}
