/* Events: found, located, handled; thousands of crossings known in closed form; no allocation. */
#include "cg_events.h"
#include "helpers.h"

#define ROWS 3000

static double rows[ROWS * 16];

static cg_detector_t *detector_of(cg_run_t *run, int32_t flags)
{
    const size_t size = cg_detector_size(run->model, 0);
    cg_detector_t *const detector = (cg_detector_t *)(void *)cg_run_new(size);
    CHECK(detector != NULL && cg_detector_init(detector, size, run->model, 0, flags) == CG_OK);
    detector->log = rows;
    detector->log_capacity = ROWS;
    run->detector = detector;
    return detector;
}

static void discard(cg_run_t *run)
{
    cg_run_delete((cg_run_t *)(void *)run->detector);
    cg_run_delete(run);
}

static double event_time(const cg_detector_t *detector, int64_t i) { return rows[i * detector->log_row]; }
static int event_cause(const cg_detector_t *detector, int64_t i) { return (int)rows[i * detector->log_row + 1]; }

/* x = cos t: zeros at pi/2 + k pi, v falls through zero at the maxima of x, 2 k pi */
static void test_oscillator(const char *method, int32_t flags)
{
    const double pi = 3.14159265358979323846, start[2] = {1.0, 0.0};
    cg_run_t *const run = make_run(&spring_model, method, flags, 1e-11);
    cg_detector_t *const detector = detector_of(run, 0);
    int crossings = 0, tops = 0;
    run->first_step = 0.002;
    CHECK(go(run, 0.0, start, 100.0, NULL) == CG_OK && run->t == 100.0);
    for (int64_t i = 0; i < detector->n_log; i++) {
        if (event_cause(detector, i) == 0) {
            CHECK_NEAR(event_time(detector, i), pi * (0.5 + crossings), 2e-8);
            crossings++;
        } else {
            tops++;
            CHECK(event_cause(detector, i) == 1);
            CHECK_NEAR(event_time(detector, i), 2.0 * pi * tops, 2e-8);
        }
    }
    CHECK(crossings == 32 && tops == 15);
    /* backward in time v falls too: passing the maximum in the other direction, v rises, which is not an event */
    CHECK(cg_run_extend(run, 0.0) == CG_OK);
    detector->n_log = 0;
    CHECK(cg_drive(run, NULL, -1) == CG_OK && run->t == 0.0);
    crossings = tops = 0;
    for (int64_t i = 0; i < detector->n_log; i++) {
        crossings += event_cause(detector, i) == 0;
        tops += event_cause(detector, i) == 1;
        if (event_cause(detector, i) == 1) {
            CHECK_NEAR(event_time(detector, i), pi * (33 - 2 * tops), 1e-7);
        }
    }
    CHECK(crossings == 32 && tops == 16);
    discard(run);
}

/* A terminal event ends the run at its time; the run can be continued from there. */
static void test_terminal(const char *method)
{
    const double start[2] = {1.0, 0.0};
    double t[ROWS], y[2 * ROWS];
    cg_run_t *const run = make_run(&spring_model, method, 0, 1e-11);
    cg_detector_t *const detector = detector_of(run, 0);
    cg_record_t record = every_step(t, y, 2, ROWS);
    run->first_step = 0.002;
    run->p[2] = 1.0;
    CHECK(go(run, 0.0, start, 100.0, &record) == CG_TERMINAL_EVENT);
    CHECK_NEAR(run->t, acos(0.5), 1e-9);
    CHECK_NEAR(run->x[0], 0.5, 1e-15);
    CHECK(t[record.n_rows - 1] == run->t && y[2 * record.n_rows - 2] == run->x[0] && run->status == CG_TERMINAL_EVENT);
    CHECK(cg_drive(run, &record, -1) == CG_TERMINAL_EVENT && detector->n_log == 1);
    CHECK(cg_run_extend(run, 100.0) == CG_OK && cg_drive(run, &record, -1) == CG_TERMINAL_EVENT);
    CHECK_NEAR(run->t, 2.0 * 3.14159265358979323846 - acos(0.5), 1e-9);
    discard(run);
}

/* Bounces at t_k = t_0 + 2 v_0 (e + ... + e^k) / g; both events at each in order, then the accumulation point. */
static void test_ball(const char *method, double e, double floor_at)
{
    const double g = 9.81, start[3] = {floor_at + 1.0, 0.0, 0.0};
    const double fall = sqrt(2.0 / g), impact = sqrt(2.0 * g);
    cg_run_t *const run = make_run(&ball_model, method, 0, 1e-9);
    cg_detector_t *const detector = detector_of(run, 0);
    double t = fall, flight = 2.0 * e * impact / g;
    const double end = fall + flight / (1.0 - e);
    run->first_step = 0.1;
    run->p[1] = e;
    run->p[2] = floor_at;
    /* on a floor at 1 rounding prevents flights below 1e-8, so that the last ratio is rounded */
    CHECK(go(run, 0.0, start, 10.0, NULL) == CG_ACCUMULATING && run->status == CG_ACCUMULATING);
    CHECK_NEAR(run->t, end, floor_at == 0.0 ? 1e-9 : 1e-7);
    CHECK(detector->n_log >= 40);
    for (int64_t i = 0; i + 1 < detector->n_log && i < 40; i += 2) {
        CHECK(event_cause(detector, i) == 0 && event_cause(detector, i + 1) == 1);
        CHECK(event_time(detector, i) == event_time(detector, i + 1));
        CHECK_NEAR(event_time(detector, i), t, 1e-12 + 4e-16 * floor_at / (g * flight));
        CHECK(rows[(i + 1) * detector->log_row + CG_LOG_HEAD + 5] == (double)(i / 2 + 1)); /* bounces so far */
        t += flight;
        flight *= e;
    }
    discard(run);
}

/* The run pauses when the log is full, and no event is lost. */
static void test_full_log(void)
{
    const double start[2] = {1.0, 0.0};
    cg_run_t *const run = make_run(&spring_model, "dop853", 0, 1e-9);
    cg_detector_t *const detector = detector_of(run, 0);
    int events = 0, pauses = 0, status;
    detector->log_capacity = 3;
    status = go(run, 0.0, start, 100.0, NULL);
    while (status == CG_EVENTS_FULL) {
        events += (int)detector->n_log;
        detector->n_log = 0;
        pauses++;
        status = cg_drive(run, NULL, -1);
    }
    CHECK(status == CG_OK && events + detector->n_log == 47 && pauses == 15);
    detector->log_capacity = detector->n_observed - 1; /* it would be full for ever if all occurred at once */
    CHECK(go(run, 0.0, start, 100.0, NULL) == CG_BAD_ARGUMENT);
    discard(run);
}

static void test_kinks(void)
{
    /* x' = c + 1 for x < 1, c - 1 above: x(2) = 1 + (2 - 1 / (c + 1)) (c - 1), and no step crosses the kink */
    const double start = 0.0;
    cg_run_t *const run = make_run(&switched_model, "dop853", 0, 1e-9);
    cg_detector_t *const detector = detector_of(run, CG_WATCH_KINKS);
    CHECK(go(run, 0.0, &start, 2.0, NULL) == CG_OK);
    CHECK_NEAR(run->x[0], 1.0 + (2.0 - 1.0 / 3.0), 1e-14);
    CHECK(detector->n_log == 1 && run->n_steps < 60);
    CHECK_NEAR(event_time(detector, 0), 1.0 / 3.0, 1e-14);
    run->p[0] = 0.5; /* it slides along x = 1 from t = 2/3 on */
    detector->n_log = 0;
    run->max_steps = 2000;
    CHECK(go(run, 0.0, &start, 2.0, NULL) == CG_TOO_MANY_STEPS && run->n_steps + run->n_rejected <= 2060);
    CHECK_NEAR(event_time(detector, 0), 2.0 / 3.0, 1e-10);
    run->max_steps = 100000;
    run->rtol = run->atol[0] = 1e-6;
    detector->n_log = 0;
    CHECK(go(run, 0.0, &start, 2.0, NULL) == CG_OK && detector->n_log < ROWS);
    CHECK_NEAR(run->x[0], 1.0, 1e-4);
    discard(run);
}

/* Slip, stick, slip on a belt: stops at (pi + asin 0.2) / 2, breaks loose at k x = mu m g. */
static void test_contact(const char *method)
{
    const double start[2] = {2.0, 0.0}, stop = 0.5 * (3.14159265358979323846 + asin(0.2));
    cg_run_t *const run = make_run(&block_model, method, 0, 1e-11);
    cg_detector_t *const detector = detector_of(run, 0);
    run->first_step = 0.002;
    detector->n_log = detector->log_capacity; /* no room for the row of the start */
    CHECK(go(run, 0.0, start, 3.0, NULL) == CG_EVENTS_FULL && run->n_rhs == 0 && run->status == CG_OK);
    detector->n_log = 0;
    CHECK(cg_drive(run, NULL, -1) == CG_OK);
    CHECK(run->u[1] == 0.0 && run->x[1] == 0.5); /* sticks exactly */
    CHECK(cg_run_extend(run, 5.0) == CG_OK && cg_drive(run, NULL, -1) == CG_OK);
    CHECK(detector->n_log == 3 && event_cause(detector, 0) == CG_LOG_START && run->u[1] == -1.0);
    CHECK_NEAR(event_time(detector, 1), stop, 1e-9);
    CHECK_NEAR(event_time(detector, 2), stop + (0.75 - (0.75 + 1.25 * cos(2.0 * stop))) / 0.5, 1e-9);
    CHECK(cg_run_extend(run, 0.0) == CG_OK && cg_drive(run, NULL, -1) == CG_BAD_ARGUMENT); /* no friction backward */
    discard(run);
}

static void test_paradox(void)
{
    const double start[2] = {0.0, 2.0};
    cg_run_t *const run = make_run(&rod_model, "dop853", 0, 1e-9);
    cg_detector_t *const detector = detector_of(run, 0);
    CHECK(go(run, 0.0, start, 10.0, NULL) == CG_OK && detector->n_log == 2 && run->x[1] == 0.0);
    CHECK_NEAR(event_time(detector, 1), 5.0, 1e-9);
    run->p[3] = -3.0; /* b mu = -3/2: no solution for a > 0, two for a < 0 */
    CHECK(go(run, 0.0, start, 10.0, NULL) == CG_PARADOX && detector->n_solutions == 0);
    run->p[2] = -1.0;
    CHECK(go(run, 0.0, start, 10.0, NULL) == CG_PARADOX && detector->n_solutions == 2);
    CHECK(detector->solutions[0] == 1.0 && detector->solutions[1] == 1.0 && detector->solutions[3] == -1.0);
    detector->rule = CG_PARADOX_STICK;
    run->p[4] = 1.0; /* a = x - 1 */
    CHECK(go(run, 0.0, start, 10.0, NULL) == CG_PARADOX && detector->n_solutions == 0 && detector->contact == 0);
    CHECK_NEAR(run->x[0], 1.0, 1e-9);
    discard(run);
}

/* A run saved halfway and restored elsewhere continues bit for bit. */
static void test_saving(void)
{
    static char block[8192], memory[2048];
    const double start[3] = {1.0, 0.0, 0.0};
    cg_run_t *const run = make_run(&ball_model, "dop853", 0, 1e-9), *const other = make_run(&ball_model, "dop853", 0, 1e-9);
    cg_detector_t *const detector = detector_of(run, 0), *const second = detector_of(other, 0);
    const size_t size = cg_detector_saved_size(detector);
    double end[3];
    CHECK(run->size <= sizeof block && size <= sizeof memory);
    CHECK(go(run, 0.0, start, 0.9, NULL) == CG_OK && detector->n_log == 2);
    memcpy(block, run, run->size);
    cg_detector_save(detector, memory);
    CHECK(cg_run_extend(run, 1.3) == CG_OK && cg_drive(run, NULL, -1) == CG_OK);
    memcpy(end, run->x, sizeof end);
    CHECK(go(other, 0.0, start, 0.1, NULL) == CG_OK);
    CHECK(cg_detector_restore(second, memory, size) == CG_OK && cg_run_restore(other, block, run->size) == CG_OK);
    CHECK(cg_run_extend(other, 1.3) == CG_OK && cg_drive(other, NULL, -1) == CG_OK);
    CHECK(same_bits(end, other->x, 3) && other->n_rhs == run->n_rhs && second->count[0] == detector->count[0]);
    CHECK(cg_detector_restore(second, memory, size - 1) == CG_BAD_ARGUMENT);
    memory[sizeof(cg_detector_memory_t)] ^= 1; /* an invalid sign */
    CHECK(cg_detector_restore(second, memory, size) == CG_BAD_ARGUMENT);
    discard(run);
    discard(other);
}

/* ---- many random problems ---- */

static uint64_t seed = 12345;
static double random_between(double low, double high)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(seed >> 11) / 9007199254740992.0;
}

static void expect(const cg_detector_t *detector, const double *times, int n, double tolerance)
{
    CHECK(detector->n_log == n);
    for (int i = 0; i < n && i < detector->n_log; i++) {
        CHECK_NEAR(event_time(detector, i), times[i], tolerance);
    }
}

/* Zeros of a polynomial: two single ones, and a pair `gap` apart, a double zero if gap is 0; a step is at most 1. The
 * depth of a pair is gap^2, so its zeros are only accurate to rounding / gap. */
static void test_polynomials(int count, double widest, double narrowest)
{
    cg_run_t *const run = make_run(&clock_model, "dop853", 0, 1e-9);
    cg_detector_t *const detector = detector_of(run, 0);
    run->max_step = 1.0;
    for (int i = 0; i < count; i++) {
        const double gap = exp(random_between(log(narrowest), log(widest)));
        const int touches = i % 5 == 4;
        double *const r = run->p + 2;
        double times[4];
        int n = 0;
        run->p[0] = 0.0;
        run->p[1] = i % 2 ? 3.0 : -0.01;
        r[0] = random_between(0.1, 1.0);
        r[1] = random_between(1.2, 2.8);
        r[2] = touches ? r[1] : r[1] + gap;
        r[3] = random_between(3.0, 3.9);
        detector->direction[0] = (double)(i % 3 - 1);
        const double start = 0.0;
        /* the sign at x = 0 is that of p[1]: falling or rising zeros alternate from there */
        for (int k = 0; k < 4; k++) {
            const double rising = (k % 2 == 0 ? -1.0 : 1.0) * run->p[1];
            if ((!touches || k == 0 || k == 3) && detector->direction[0] * rising >= 0.0) {
                times[n++] = r[k];
            }
        }
        detector->n_log = 0;
        run->h = 0.0;
        CHECK(go(run, 0.0, &start, 4.0, NULL) == CG_OK);
        expect(detector, times, n, 1e-13 + 4e-15 / gap);
    }
    discard(run);
}

/* Zeros of sin(w x + phase): several in each step, up to 20 */
static void test_sines(int count)
{
    cg_run_t *const run = make_run(&clock_model, "dop853", 0, 1e-9);
    cg_detector_t *const detector = detector_of(run, 0);
    for (int i = 0; i < count; i++) {
        const double pi = 3.14159265358979323846, start = 0.0;
        double times[200];
        int n = 0;
        const double w = random_between(0.5, 60.0), phase = random_between(0.05, 3.09);
        run->p[0] = 1.0;
        run->p[1] = i % 2 ? 1e-3 : -1e3;
        run->p[2] = w;
        run->p[3] = phase;
        run->max_step = 1.0;
        detector->direction[0] = (double)(i % 3 - 1);
        for (int k = 1; (pi * k - phase) / w < 3.0; k++) {
            const double rising = (k % 2 == 0 ? 1.0 : -1.0) * run->p[1];
            if (detector->direction[0] * rising >= 0.0) {
                times[n++] = (pi * k - phase) / w;
            }
        }
        detector->n_log = 0;
        CHECK(go(run, 0.0, &start, 3.0, NULL) == CG_OK);
        expect(detector, times, n, 1e-13);
    }
    discard(run);
}

/* |x - r| - d: a kink between the crossings, 0.002 of a step apart and more. */
static void test_dips_at_a_kink(int count)
{
    cg_run_t *const run = make_run(&clock_model, "dop853", 0, 1e-9);
    cg_detector_t *const detector = detector_of(run, 0);
    for (int i = 0; i < count; i++) {
        const double start = 0.0, r = random_between(0.5, 2.5), d = random_between(0.001, 0.3);
        const double times[2] = {r - d, r + d};
        run->p[0] = 2.0;
        run->p[2] = r;
        run->p[3] = d;
        run->max_step = 1.0;
        detector->n_log = 0;
        CHECK(go(run, 0.0, &start, 3.0, NULL) == CG_OK);
        expect(detector, times, 2, 1e-13);
    }
    discard(run);
}

static void test_bad_detectors(void)
{
    const size_t size = cg_detector_size(&spring_model, 0);
    cg_detector_t *const detector = (cg_detector_t *)(void *)cg_run_new(size);
    cg_model_t damaged = spring_model;
    CHECK(cg_detector_init(detector, size - 1, &spring_model, 0, 0) == CG_BAD_ARGUMENT);
    CHECK(cg_detector_init(NULL, size, &spring_model, 0, 0) == CG_BAD_ARGUMENT);
    damaged.guards_fn = NULL;
    CHECK(cg_detector_init(detector, size, &damaged, 0, 0) == CG_BAD_ARGUMENT);
    cg_run_delete((cg_run_t *)(void *)detector);
}

int main(int argc, char **argv)
{
    const int many = argc > 1 && strcmp(argv[1], "many") == 0;
    for (int m = 0; m < N_METHODS; m++) {
        test_oscillator(methods[m], m % 2 ? 0 : CG_RUN_TABLE);
        test_terminal(methods[m]);
        test_ball(methods[m], 0.5, 0.0);
        test_contact(methods[m]);
    }
    test_oscillator("rodas5p", CG_RUN_TABLE);
    test_oscillator("auto", 0);
    test_terminal("rodas5p");
    test_terminal("auto");
    test_ball("dop853", 0.9, 0.0);
    test_ball("dop853", 0.5, 1.0);
    test_full_log();
    test_kinks();
    test_paradox();
    test_saving();
    test_polynomials(many ? 3000 : 150, 0.1, 1e-3);
    test_polynomials(many ? 3000 : 150, 1e-3, 1e-6);
    test_sines(many ? 3000 : 100);
    test_dips_at_a_kink(many ? 1000 : 50);
    test_bad_detectors();
    CHECK_DONE();
}
