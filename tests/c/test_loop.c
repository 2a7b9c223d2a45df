/* The integration loop: recording, limits, pauses, statuses, saving; and that steps do not allocate memory. */
#include "allocations.h"
#include "cg_events.h"
#include "helpers.h"

#define ROWS 4000

static const double top_start[7] = {0.96891242171064478414, 0.24740395925452292960, 0.0, 0.0, 0.3, -0.2, 4.0};
static const double wave_start[2] = {1.0, 0.0};

#ifdef CG_COUNT_ALLOCATIONS
static void test_no_allocation(void)
{
    static double t[ROWS], y[7 * ROWS], coef[7 * 10 * ROWS], coef_t[2 * ROWS];
    for (int m = 0; m < N_METHODS; m++) {
        cg_run_t *const run = make_run(&top_model, methods[m], 0, 1e-9);
        cg_record_t record = every_step(t, y, 7, ROWS);
        const long before = allocations;
        CHECK(before > 0);
        record.coef = coef;
        record.coef_t = coef_t;
        record.capacity_dense = ROWS;
        run->first_step = 0.01;
        CHECK(run->n_dense <= 10 && go(run, 0.0, top_start, 10.0, &record) == CG_OK);
        CHECK(record.n_rows == run->n_steps + 1 && record.n_coef == run->n_steps);
        CHECK(allocations == before);
        cg_run_delete(run);
    }
}

/* Nor do events, resets and mode changes. */
static void test_no_allocation_at_events(void)
{
    static const double drop[3] = {1.0, 0.0, 0.0}, slide[2] = {2.0, 0.0};
    static double rows[64 * 20];
    const cg_model_t *const models[2] = {&ball_model, &block_model};
    for (int m = 0; m < 2; m++) {
        cg_run_t *const run = make_run(models[m], "dop853", 0, 1e-9);
        const size_t size = cg_detector_size(models[m], 0);
        cg_detector_t *const detector = (cg_detector_t *)(void *)cg_run_new(size);
        CHECK(cg_detector_init(detector, size, models[m], 0, 0) == CG_OK);
        detector->log = rows;
        detector->log_capacity = 64;
        run->detector = detector;
        const long before = allocations;
        CHECK(go(run, 0.0, m == 0 ? drop : slide, m == 0 ? 1.3 : 5.0, NULL) == CG_OK && detector->n_log > 2);
        CHECK(allocations == before);
        cg_run_delete((cg_run_t *)(void *)detector);
        cg_run_delete(run);
    }
}
#else
static void test_no_allocation(void) {}
static void test_no_allocation_at_events(void) {}
#endif

static void test_times_are_hit(void)
{
    static double t[ROWS], y[2 * ROWS], steps[ROWS], states[2 * ROWS];
    for (int m = 0; m < N_METHODS; m++) {
        cg_run_t *const run = make_run(&oscillator_model, methods[m], 0, 1e-9);
        cg_record_t record = every_step(steps, states, 2, ROWS);
        run->first_step = 0.01;
        CHECK(go(run, 0.0, wave_start, 10.0, &record) == CG_OK);
        const int64_t count = record.n_rows;
        CHECK(count == run->n_steps + 1 && steps[0] == 0.0 && steps[count - 1] == 10.0);
        /* at the times of steps, the states are those of the steps, bit for bit */
        record = at_times(steps, count, t, y, 2);
        CHECK(go(run, 0.0, wave_start, 10.0, &record) == CG_OK);
        CHECK(record.n_rows == count && same_bits(t, steps, (size_t)count));
        CHECK(same_bits(y, states, 2 * (size_t)count));
        /* between steps they are as accurate; the steps themselves do not change */
        double times[101];
        for (int i = 0; i <= 100; i++) {
            times[i] = 0.1 * i;
        }
        times[100] = 10.0;
        record = at_times(times, 101, t, y, 2);
        CHECK(go(run, 0.0, wave_start, 10.0, &record) == CG_OK);
        CHECK(record.n_rows == 101 && run->n_steps == count - 1);
        CHECK(same_bits(run->x, states + 2 * (count - 1), 2) && same_bits(y + 200, run->x, 2));
        for (int i = 0; i <= 100; i++) {
            CHECK_NEAR(y[2 * i], cos(times[i]), 2e-8);
            CHECK_NEAR(y[2 * i + 1], -sin(times[i]), 2e-8);
        }
        cg_run_delete(run);
    }
}

static void test_times_outside_are_skipped(void)
{
    const double times[6] = {3.0, 2.0, 1.5, 1.5, 1.0, 0.5};
    double t[6], y[12];
    cg_run_t *const run = make_run(&oscillator_model, "dop853", 0, 1e-10);
    const double start[2] = {cos(2.0), -sin(2.0)};
    cg_record_t record = at_times(times, 6, t, y, 2);
    CHECK(go(run, 2.0, start, 1.0, &record) == CG_OK);
    CHECK(record.n_rows == 4 && t[0] == 2.0 && t[1] == 1.5 && t[2] == 1.5 && t[3] == 1.0);
    CHECK_NEAR(y[2], cos(1.5), 1e-9);
    CHECK(same_bits(y + 2, y + 4, 2));
    cg_run_delete(run);
}

static void test_step_limits(void)
{
    static double t[ROWS];
    cg_run_t *run = make_run(&oscillator_model, "dop853", 0, 1e-3);
    cg_record_t record = every_step(t, NULL, 0, ROWS);
    run->max_step = 0.05;
    CHECK(go(run, 0.0, wave_start, -10.0, &record) == CG_OK);
    for (int64_t i = 1; i < record.n_rows; i++) {
        CHECK(t[i - 1] - t[i] <= 0.05);
    }
    CHECK(run->n_steps >= 200 && run->n_steps <= 202);
    run->max_step = 1.0; /* neither a last step of 1.005 nor one of 0.005 */
    record = every_step(t, NULL, 0, ROWS);
    CHECK(go(run, 0.0, wave_start, 10.005, &record) == CG_OK);
    for (int64_t i = 1; i < record.n_rows; i++) {
        CHECK(t[i] - t[i - 1] <= 1.0 && t[i] - t[i - 1] > 0.01);
    }
    run->max_step = HUGE_VAL;
    run->first_step = 1e-3;
    record = every_step(t, NULL, 0, ROWS);
    CHECK(go(run, 0.0, wave_start, 10.0, &record) == CG_OK && t[1] == 1e-3);
    run->max_steps = 5;
    record = every_step(t, NULL, 0, ROWS);
    CHECK(go(run, 0.0, wave_start, 1000.0, &record) == CG_TOO_MANY_STEPS);
    CHECK(run->n_steps + run->n_rejected == 5 && run->t > 0.0 && run->t < 1000.0);
    CHECK(record.n_rows == run->n_steps + 1 && t[record.n_rows - 1] == run->t);
    CHECK(cg_drive(run, NULL, -1) == CG_TOO_MANY_STEPS);
    cg_run_delete(run);

    /* a fixed step: equal steps, the last one shortened; a step that divides the span leaves no tiny remainder */
    run = make_run(&oscillator_model, "rk4", 0, 1e-3);
    run->first_step = 0.1;
    CHECK(go(run, 0.0, wave_start, 1.0, NULL) == CG_OK && run->n_steps == 10);
    CHECK(go(run, 0.0, wave_start, 1000.0, NULL) == CG_OK && run->n_steps == 10000 && run->t == 1000.0);
    run->first_step = 1.0 / 49.0; /* 49 of them sum to less than 1 in double precision */
    CHECK(go(run, 0.0, wave_start, 1.0, NULL) == CG_OK && run->n_steps == 49 && run->t == 1.0);
    run->first_step = 0.1;
    record = every_step(t, NULL, 0, ROWS);
    CHECK(go(run, 0.0, wave_start, 1.05, &record) == CG_OK && run->n_steps == 11);
    CHECK(t[10] == 1.0 && t[11] == 1.05);
    run->max_step = 0.025;
    CHECK(go(run, 0.0, wave_start, 1.0, NULL) == CG_OK && run->n_steps == 40);
    cg_run_delete(run);
}

/* Runs with room for `rows` rows and `dense` interpolants and with `budget` steps per call; collects everything. */
static int64_t collect(cg_run_t *run, int64_t rows, int64_t dense, int64_t budget, double *t, double *y, double *coef)
{
    double some_t[ROWS], some_y[7 * 64], some_coef[7 * 10 * 64], some_coef_t[2 * 64];
    const int64_t size = 7 * run->n_dense;
    int64_t n = 0, n_coef = 0;
    int status;
    cg_record_t record = every_step(some_t, some_y, 7, rows);
    record.coef = some_coef;
    record.coef_t = some_coef_t;
    record.capacity_dense = dense;
    CHECK(cg_run_start(run, 0.0, top_start, 5.0) == CG_OK);
    do {
        status = cg_drive(run, &record, budget);
        CHECK(record.n_rows <= rows && record.n_coef <= dense);
        memcpy(t + n, some_t, sizeof(double) * (size_t)record.n_rows);
        memcpy(y + 7 * n, some_y, sizeof(double) * 7 * (size_t)record.n_rows);
        memcpy(coef + size * n_coef, some_coef, sizeof(double) * (size_t)(size * record.n_coef));
        n += record.n_rows;
        n_coef += record.n_coef;
        record.n_rows = 0;
        record.n_coef = 0;
    } while (status > 0);
    CHECK(status == CG_OK && n == n_coef + 1);
    return n;
}

static void test_pauses_keep_the_bits(const char *method)
{
    static double t[2][ROWS], y[2][7 * ROWS], coef[2][70 * ROWS];
    static const int64_t rooms[5][3] = {{1, 1, -1}, {2, 5, -1}, {64, 64, 1}, {7, 3, 4}, {5, 64, 3}};
    cg_run_t *const run = make_run(&top_model, method, 0, 1e-10);
    cg_record_t record = every_step(t[0], y[0], 7, ROWS);
    const int64_t size = 7 * run->n_dense;
    double pair[2 * ROWS];
    run->first_step = 0.01;
    record.coef = coef[0];
    record.coef_t = pair;
    record.capacity_dense = ROWS;
    CHECK(go(run, 0.0, top_start, 5.0, &record) == CG_OK);
    const int64_t rhs = run->n_rhs;
    for (int i = 0; i < 5; i++) {
        const int64_t n = collect(run, rooms[i][0], rooms[i][1], rooms[i][2], t[1], y[1], coef[1]);
        CHECK(n == record.n_rows && run->n_rhs == rhs);
        CHECK(same_bits(t[0], t[1], (size_t)n) && same_bits(y[0], y[1], 7 * (size_t)n));
        CHECK(same_bits(coef[0], coef[1], (size_t)(size * (n - 1))));
    }
    /* the recorded interpolants give the steps' states at both ends, and those at t_eval in between */
    const double middle = 0.5 * (pair[20] + pair[21]);
    double direct[7], recorded[7];
    cg_record_t one = at_times(&middle, 1, NULL, direct, 7);
    CHECK(go(run, 0.0, top_start, 5.0, &one) == CG_OK);
    cg_dense_evaluate(coef[0] + size * 10, run->n_dense, 7, 7, (middle - pair[20]) / (pair[21] - pair[20]), recorded, 1);
    CHECK(same_bits(direct, recorded, 7));
    cg_run_delete(run);
}

/* Whether cg_inline.h compiles a method into a model. */
static int is_inlined(const char *method)
{
#ifdef CG_INLINE_ALL
    return method != NULL;
#else
    return strcmp(method, "vern7") != 0 && strcmp(method, "tsit5") != 0;
#endif
}

static void test_inlined_equals_table(void)
{
    static const cg_model_t *const models[3] = {&top_model, &sleigh_model, &oscillator_model};
    for (int m = 0; m < 3 * N_METHODS; m++) {
        const cg_model_t *const model = models[m / N_METHODS];
        const char *const method = methods[m % N_METHODS];
        double x[2][7], mid[2][7];
        int64_t rhs[2];
        for (int32_t flags = 0; flags <= CG_RUN_TABLE; flags++) {
            const double middle = 3.21;
            cg_run_t *const run = make_run(model, method, flags, 1e-9);
            cg_record_t record = at_times(&middle, 1, NULL, mid[flags], run->n);
            run->first_step = 0.01;
            cg_method_t general;
            CHECK(cg_method_find(model, method, CG_RUN_TABLE, &general));
            CHECK((run->step != general.step) == (flags == 0 && model->methods != NULL && is_inlined(method)));
            CHECK(go(run, 0.0, top_start, 20.0, &record) == CG_OK);
            memcpy(x[flags], run->x, sizeof(double) * (size_t)run->n);
            rhs[flags] = run->n_rhs;
            cg_run_delete(run);
        }
        CHECK(rhs[0] == rhs[1]);
        CHECK(same_bits(x[0], x[1], (size_t)model->n_states));
        CHECK(same_bits(mid[0], mid[1], (size_t)model->n_states));
    }
}

static void test_save_and_restore(void)
{
    for (int m = 0; m < N_METHODS; m++) {
        cg_run_t *const run = make_run(&top_model, methods[m], 0, 1e-9);
        cg_run_t *const other = make_run(&top_model, methods[m], 0, 1e-3);
        void *const saved = malloc(run->size);
        double end[7], inside[7], again[7];
        CHECK(saved != NULL);
        run->first_step = 0.01;
        CHECK(cg_run_start(run, 0.0, top_start, 10.0) == CG_OK);
        CHECK(cg_drive(run, NULL, 23) == CG_BUDGET_USED);
        memcpy(saved, run, run->size);
        CHECK(cg_run_interpolate(run, 0.3 * run->t_old + 0.7 * run->t, inside, 1) == CG_OK);
        CHECK(cg_drive(run, NULL, -1) == CG_OK);
        memcpy(end, run->x, sizeof end);
        const int64_t rhs = run->n_rhs;
        for (int place = 0; place < 2; place++) { /* the same block, then a different one */
            cg_run_t *const target = place == 0 ? run : other;
            CHECK(cg_run_restore(target, saved, run->size) == CG_OK);
            CHECK(target->x > (double *)(void *)target && target->x < (double *)(void *)target + target->size / 8);
            CHECK(cg_run_interpolate(target, 0.3 * target->t_old + 0.7 * target->t, again, 1) == CG_OK);
            CHECK(same_bits(inside, again, 7));
            CHECK(cg_drive(target, NULL, -1) == CG_OK);
            CHECK(same_bits(end, target->x, 7) && target->n_rhs == rhs);
        }
        cg_run_t *const wrong = make_run(&sleigh_model, methods[m], 0, 1e-3);
        CHECK(cg_run_restore(wrong, saved, run->size) == CG_BAD_ARGUMENT);
        CHECK(cg_run_restore(run, saved, run->size - 1) == CG_BAD_ARGUMENT);
        cg_run_delete(wrong);
        cg_run_delete(run);
        cg_run_delete(other);
        free(saved);
    }
}

/* Each bit of the saved header is flipped in turn: refused with the run unchanged, or a run that stays in its block
 * (the checkers of test_c_core.py detect other accesses). */
static void test_damaged_blocks_are_refused(void)
{
    for (int m = 0; m < N_METHODS; m++) {
        cg_run_t *const run = make_run(&top_model, methods[m], 0, 1e-6);
        char *const saved = malloc(run->size), *const before = malloc(run->size);
        int refused = 0;
        CHECK(saved != NULL && before != NULL);
        run->first_step = 0.01;
        CHECK(cg_run_start(run, 0.0, top_start, 10.0) == CG_OK);
        CHECK(cg_drive(run, NULL, 5) == CG_BUDGET_USED);
        memcpy(saved, run, run->size);
        for (size_t bit = 0; bit < 8 * sizeof(cg_run_t); bit++) {
            saved[bit / 8] ^= (char)(1u << bit % 8);
            memcpy(before, run, run->size);
            if (cg_run_restore(run, saved, run->size) == CG_OK) {
                cg_drive(run, NULL, 3);
                if (cg_run_extend(run, run->t + 1.0) == CG_OK) {
                    cg_drive(run, NULL, 3);
                }
            } else {
                refused++;
                CHECK(memcmp(before, run, run->size) == 0);
            }
            saved[bit / 8] ^= (char)(1u << bit % 8);
        }
        CHECK(refused > 8 * 6 * 8); /* at least the six pointers x .. k */
        CHECK(cg_run_restore(run, saved, run->size) == CG_OK && run->n_steps == 5);
        cg_run_t wrong; /* two arrays in one place */
        memcpy(&wrong, saved, sizeof wrong);
        wrong.x_old = wrong.x;
        memcpy(saved, &wrong, sizeof wrong);
        CHECK(cg_run_restore(run, saved, run->size) == CG_BAD_ARGUMENT);
        cg_run_delete(run);
        free(saved);
        free(before);
    }
}

static void test_extend(void)
{
    /* a host's clock: many short advances, one of zero length, then back to the start */
    cg_run_t *const run = make_run(&oscillator_model, "dop853", 0, 1e-10);
    CHECK(go(run, 0.0, wave_start, 0.0, NULL) == CG_OK && run->n_rhs == 0);
    for (int i = 1; i <= 50; i++) {
        CHECK(cg_run_extend(run, 0.2 * i) == CG_OK && cg_drive(run, NULL, -1) == CG_OK);
        CHECK(cg_run_extend(run, 0.2 * i) == CG_OK && cg_drive(run, NULL, -1) == CG_OK);
        CHECK_NEAR(run->x[0], cos(0.2 * i), 1e-8);
    }
    /* the step size planned before a short advance is kept */
    const double planned = run->h;
    CHECK(cg_run_extend(run, 10.0 + 1e-6) == CG_OK && cg_drive(run, NULL, -1) == CG_OK);
    CHECK(run->h >= planned && planned > 0.1);
    CHECK(cg_run_extend(run, 0.0) == CG_OK && cg_drive(run, NULL, -1) == CG_OK);
    CHECK_NEAR(run->x[0], 1.0, 1e-8);
    CHECK(cg_run_extend(run, HUGE_VAL) == CG_BAD_ARGUMENT);
    cg_run_delete(run);
}

int main(void)
{
    test_no_allocation();
    test_no_allocation_at_events();
    test_times_are_hit();
    test_times_outside_are_skipped();
    test_step_limits();
    for (int m = 0; m < N_METHODS; m++) {
        test_pauses_keep_the_bits(methods[m]);
    }
    test_inlined_equals_table();
    test_save_and_restore();
    test_damaged_blocks_are_refused();
    test_extend();
    CHECK_DONE();
}
