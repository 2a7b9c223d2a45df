/* Many trajectories with one workspace: the same bits as one at a time, for all strides and chunks. */
#include "cg_events.h"
#include "helpers.h"

#define COUNT 23
#define TIMES 5

static double starts[COUNT][7], params[8][COUNT]; /* row-major and column-major on purpose */

static void fill(void)
{
    static const double values[8] = {1.5, 1.1, 0.9, 2.0, 9.81, 0.2, -0.1, 0.5};
    for (int j = 0; j < COUNT; j++) {
        const double half = 0.1 * j;
        const double start[7] = {cos(half), sin(half), 0.0, 0.0, 0.3, -0.2 + 0.01 * j, 4.0};
        memcpy(starts[j], start, sizeof start);
        for (int i = 0; i < 8; i++) {
            params[i][j] = values[i] * (1.0 + 0.002 * j);
        }
    }
}

static cg_ensemble_t top_ensemble(double *y, int32_t *status)
{
    const cg_ensemble_t ensemble = {
        .t_end = 3.0, .x0 = starts[0], .x0_row = 7, .x0_col = 1, .p = params[0], .p_row = 1, .p_col = COUNT,
        .y = y, .y_row = 1, .y_col = COUNT, .status = status, /* (7, COUNT) */
    };
    return ensemble;
}

/* The same at some times, (7, COUNT, TIMES). */
static cg_ensemble_t top_ensemble_at(const double *times, double *y, int32_t *status)
{
    cg_ensemble_t ensemble = top_ensemble(y, status);
    ensemble.t_eval = times;
    ensemble.n_eval = TIMES;
    ensemble.y_row = TIMES;
    ensemble.y_col = COUNT * TIMES;
    ensemble.y_time = 1;
    return ensemble;
}

static void test_final_states(const char *method)
{
    double y[2][7][COUNT], t[COUNT];
    int32_t status[COUNT];
    int64_t n_rhs[COUNT], n_steps[COUNT];
    int64_t done = 0;
    cg_run_t *const run = make_run(&top_model, method, 0, 1e-9);
    cg_run_t *const single = make_run(&top_model, method, 0, 1e-9);
    cg_ensemble_t ensemble = top_ensemble(y[0][0], status);
    ensemble.t = t;
    ensemble.n_rhs = n_rhs;
    ensemble.n_steps = n_steps;
    CHECK(run_range(&ensemble, run, 0, COUNT, &done) == CG_OK && done == COUNT);
    for (int j = 0; j < COUNT; j++) {
        for (int i = 0; i < 8; i++) {
            single->p[i] = params[i][j];
        }
        CHECK(go(single, 0.0, starts[j], 3.0, NULL) == CG_OK);
        CHECK(status[j] == CG_OK && t[j] == 3.0 && n_rhs[j] == single->n_rhs && n_steps[j] == single->n_steps);
        for (int i = 0; i < 7; i++) {
            CHECK(y[0][i][j] == single->x[i]);
        }
    }
    /* chunks in another order, through the table */
    cg_run_t *const table = make_run(&top_model, method, CG_RUN_TABLE, 1e-9);
    ensemble.y = y[1][0];
    CHECK(run_range(&ensemble, table, 10, COUNT, NULL) == CG_OK);
    CHECK(run_range(&ensemble, table, 0, 10, NULL) == CG_OK);
    CHECK(memcmp(y[0], y[1], sizeof y[0]) == 0);
    cg_run_delete(run);
    cg_run_delete(single);
    cg_run_delete(table);
}

static void test_times(const char *method)
{
    const double times[TIMES] = {0.0, 0.5, 1.0, 2.9, 3.0};
    double y[7][COUNT][TIMES], rows[TIMES * 7];
    int32_t status[COUNT];
    cg_run_t *const run = make_run(&top_model, method, 0, 1e-9);
    cg_ensemble_t ensemble = top_ensemble_at(times, y[0][0], status);
    ensemble.p_row = 0; /* all trajectories share the parameters of the first */
    CHECK(run_range(&ensemble, run, 0, COUNT, NULL) == CG_OK);
    for (int j = 0; j < COUNT; j++) {
        cg_record_t record = at_times(times, TIMES, NULL, rows, 7);
        CHECK(go(run, 0.0, starts[j], 3.0, &record) == CG_OK);
        for (int i = 0; i < 7; i++) {
            for (int m = 0; m < TIMES; m++) {
                CHECK(y[i][j][m] == rows[7 * m + i]);
            }
        }
    }
    cg_run_delete(run);
}

static void test_failures_stay_alone(void)
{
    const double times[3] = {0.0, 0.5, 2.0};
    const double x0[4] = {0.0, 0.0, 0.0, 0.0};
    const double p[4][2] = {{PROBE_SINGULAR, 1.0}, {PROBE_SINGULAR, 9.0}, {PROBE_NAN, 1.0}, {PROBE_REST, 0.0}};
    double y[4][3], t[4], last[4];
    int32_t status[4];
    cg_run_t *const run = make_run(&probe_model, "dop853", 0, 1e-9);
    cg_ensemble_t ensemble = {
        .t_end = 2.0, .x0 = x0, .x0_row = 1, .p = p[0], .p_row = 2, .p_col = 1, .t_eval = times, .n_eval = 3,
        .y = y[0], .y_row = 3, .y_time = 1, .t = t, .status = status,
    };
    CHECK(run_range(&ensemble, run, 0, 4, NULL) == CG_OK);
    CHECK(status[0] == CG_SINGULAR && status[1] == CG_OK && status[2] == CG_NONFINITE && status[3] == CG_OK);
    CHECK_NEAR(t[0], 1.0, 1e-12);
    CHECK_NEAR(y[0][1], 0.5, 1e-14);
    CHECK(y[0][2] != y[0][2] && y[2][2] != y[2][2]); /* NaN: not reached */
    CHECK_NEAR(y[1][2], 2.0, 1e-14);
    CHECK(y[3][2] == 0.0);
    /* final states: the last point reached */
    ensemble.t_eval = NULL;
    ensemble.y = last;
    ensemble.y_row = 1;
    CHECK(run_range(&ensemble, run, 0, 4, NULL) == CG_OK);
    CHECK_NEAR(last[0], 1.0, 1e-12);
    CHECK_NEAR(last[1], 2.0, 1e-14);
    cg_run_delete(run);
}

static void test_inputs_and_stop(void)
{
    /* x'' = -x + tau from rest: x = tau (1 - cos t) */
    const double rest[2] = {0.0, 0.0}, u[3] = {1.0, -2.0, 0.5}, one = 1.0;
    double y[3][2];
    int32_t status[3];
    volatile int stop = 0;
    int64_t done = 0;
    cg_run_t *const run = make_run(&oscillator_model, "dop853", 0, 1e-11);
    cg_ensemble_t ensemble = {
        .t_end = 2.0, .x0 = rest, .x0_col = 1, .p = &one, .u = u, .u_row = 1,
        .y = y[0], .y_row = 2, .y_col = 1, .status = status,
    };
    run->stop = &stop;
    CHECK(run_range(&ensemble, run, 0, 3, &done) == CG_OK && done == 3);
    for (int j = 0; j < 3; j++) {
        CHECK_NEAR(y[j][0], u[j] * (1.0 - cos(2.0)), 1e-9);
    }
    stop = 1;
    CHECK(run_range(&ensemble, run, 0, 3, &done) == CG_INTERRUPTED && done == 3);
    /* also trajectories that end at their start, which take no step, hear it, and count in the budget */
    const double lost[2] = {HUGE_VAL, 0.0};
    ensemble.x0 = lost;
    CHECK(run_range(&ensemble, run, 0, 3, &done) == CG_INTERRUPTED && done == 3);
    stop = 0;
    cg_cursor_t cursor = range(0, 3);
    for (int64_t j = 1; j < 3; j++) {
        CHECK(cg_ensemble_run(&ensemble, run, &cursor, 1) == CG_BUDGET_USED && cursor.n_done == j);
    }
    CHECK(cg_ensemble_run(&ensemble, run, &cursor, 1) == CG_OK && cursor.n_done == 3 && status[2] == CG_NONFINITE);
    cg_run_delete(run);
}

/* A call with a budget pauses and continues bit for bit, also in the middle of a trajectory. */
static void test_pauses(const char *method)
{
    const double times[TIMES] = {0.0, 0.5, 1.0, 2.9, 3.0};
    double y[2][7][COUNT][TIMES], t[2][COUNT];
    int32_t status[2][COUNT];
    int64_t n_rhs[2][COUNT], n_steps[2][COUNT], steps = 0;
    cg_run_t *const run = make_run(&top_model, method, 0, 1e-9);
    cg_ensemble_t ensemble = top_ensemble_at(times, NULL, NULL);
    for (int64_t budget = 1; budget <= 1000; budget *= 10) {
        int64_t pauses = 0;
        for (int paused = 0; paused < 2; paused++) {
            ensemble.y = y[paused][0][0];
            ensemble.t = t[paused];
            ensemble.status = status[paused];
            ensemble.n_rhs = n_rhs[paused];
            ensemble.n_steps = n_steps[paused];
            memset(y[paused], 0, sizeof y[paused]);
            cg_cursor_t cursor = range(0, COUNT);
            int code = cg_ensemble_run(&ensemble, run, &cursor, paused ? budget : -1);
            while (code == CG_BUDGET_USED) {
                CHECK(cursor.n_done == cursor.next && cursor.next < COUNT);
                pauses++;
                code = cg_ensemble_run(&ensemble, run, &cursor, budget);
            }
            CHECK(code == CG_OK && cursor.n_done == COUNT);
        }
        CHECK(memcmp(y[0], y[1], sizeof y[0]) == 0 && memcmp(t[0], t[1], sizeof t[0]) == 0);
        CHECK(memcmp(status[0], status[1], sizeof status[0]) == 0 && memcmp(n_rhs[0], n_rhs[1], sizeof n_rhs[0]) == 0);
        CHECK(memcmp(n_steps[0], n_steps[1], sizeof n_steps[0]) == 0);
        steps = 0;
        for (int j = 0; j < COUNT; j++) {
            steps += n_steps[0][j]; /* plus some that were rejected */
        }
        CHECK(pauses >= (steps - 1) / budget);
    }
    cg_run_delete(run);
}

/* Springs from x = 1: zeros at (k + 1/2) pi / w, tops at 2 k pi / w, recorded for every trajectory even if the buffer
 * is small. */
static void test_events_are_kept(int64_t room, int64_t budget)
{
    const double pi = 3.14159265358979323846, x0[2] = {1.0, 0.0}, t_end = 40.0;
    double p[COUNT][4], y[COUNT][2], rows[16 * 16];
    int32_t status[COUNT];
    static cg_occurrence_t events[8 * COUNT * 40];
    cg_run_t *const run = make_run(&spring_model, "dop853", 0, 1e-11);
    const size_t size = cg_detector_size(&spring_model, 0);
    cg_detector_t *const detector = (cg_detector_t *)(void *)cg_run_new(size);
    const cg_ensemble_t ensemble = {
        .t_end = t_end, .x0 = x0, .x0_col = 1, .p = p[0], .p_row = 4, .p_col = 1,
        .y = y[0], .y_row = 2, .y_col = 1, .status = status,
    };
    int64_t i = 0;
    CHECK(spring_model.n_parameters <= 4);
    CHECK(detector != NULL && cg_detector_init(detector, size, &spring_model, 0, 0) == CG_OK && detector->log_row <= 16);
    detector->log = rows;
    detector->log_capacity = detector->n_observed + 1;
    run->detector = detector;
    for (int j = 0; j < COUNT; j++) {
        memcpy(p[j], run->p, sizeof(double) * (size_t)spring_model.n_parameters);
        p[j][0] = 1.0 + 0.05 * j;
    }
    cg_cursor_t cursor = range(0, COUNT);
    cursor.events = events;
    cursor.event_capacity = room;
    int code = CG_OK, full = 0;
    do {
        code = cg_ensemble_run(&ensemble, run, &cursor, budget);
        cursor.event_capacity += code == CG_EVENTS_FULL ? room : 0;
        full += code == CG_EVENTS_FULL;
        CHECK(cursor.n_events <= cursor.event_capacity && cursor.event_capacity <= 8 * COUNT * 40);
    } while (code == CG_EVENTS_FULL || code == CG_BUDGET_USED);
    CHECK(code == CG_OK && cursor.n_done == COUNT && full > 0);
    for (int j = 0; j < COUNT; j++) {
        const double w = p[j][0];
        int crossings = 0, tops = 0;
        double last = 0.0;
        CHECK(status[j] == CG_OK);
        for (; i < cursor.n_events && events[i].trajectory == j; i++) {
            CHECK(events[i].t > last && (events[i].event == 0 || events[i].event == 1));
            last = events[i].t;
            if (events[i].event == 0) {
                CHECK_NEAR(last, pi * (0.5 + crossings) / w, 1e-7);
                crossings++;
            } else {
                tops++;
                CHECK_NEAR(last, 2.0 * pi * tops / w, 1e-7);
            }
        }
        CHECK(crossings == (int)floor(t_end * w / pi + 0.5) && tops == (int)floor(t_end * w / (2.0 * pi)));
    }
    CHECK(i == cursor.n_events);
    cg_run_delete((cg_run_t *)(void *)detector);
    cg_run_delete(run);
}

int main(void)
{
    fill();
    test_events_are_kept(16, -1);
    test_events_are_kept(16, 3);
    test_events_are_kept(100, 50);
    for (int m = 1; m < N_METHODS; m++) {
        test_pauses(methods[m]);
        test_final_states(methods[m]);
        test_times(methods[m]);
    }
    test_failures_stay_alone();
    test_inputs_and_stop();
    CHECK_DONE();
}
