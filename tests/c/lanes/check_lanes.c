/* Trajectories in lanes: the same bits and counts as one at a time, whatever happens in the other lanes. */
#include "allocations.h"
#include "helpers.h"
#include "mixed.h"

#define COUNT 61
#define MOST_TIMES 400

static const cg_lane_set_t *const sets[3] = {&mixed_lanes_2, &mixed_lanes_4, &mixed_lanes_8};

typedef struct outcome {
    double y[COUNT][MOST_TIMES][3]; /* only the first time if no times are given */
    double t[COUNT];
    int32_t status[COUNT];
    int64_t n_rhs[COUNT], n_steps[COUNT];
} outcome_t;

static outcome_t alone, beside;
static double starts[3][COUNT], parameters[COUNT][2], controls[COUNT];
static double times[MOST_TIMES];
static int statuses_seen;
static int across; /* the trajectories are neighbours in y, and their states are collected in shelves */

/* Kinds in mixed order, so that every lane has all kinds of neighbours; x0 can be infinite or NaN. */
static void fill(int wild)
{
    static const double thresholds[4] = {0.3, 1.1, 4.0, 9.0};
    for (int j = 0; j < COUNT; j++) {
        const int kind = wild ? j * 7 % MIXED_KINDS : j % 3 == 0 ? MIXED_FAST : MIXED_RATIONAL;
        starts[0][j] = wild && j % 5 == 0 ? 0.6 : 0.1 + 0.002 * j;
        starts[1][j] = -1.0 + 0.05 * j;
        starts[2][j] = 0.03 * j;
        parameters[j][0] = kind;
        parameters[j][1] = kind == MIXED_FAST ? j : thresholds[j * 5 % 4];
        controls[j] = 0.1 - 0.01 * j;
    }
    if (wild) {
        starts[1][17] = HUGE_VAL;
        starts[2][40] = HUGE_VAL - HUGE_VAL;
        starts[2][41] = 1e200; /* overflows in the right-hand side */
    }
}

static cg_ensemble_t make_ensemble(outcome_t *outcome, double t0, double t_end, int n_times)
{
    const cg_ensemble_t ensemble = {
        .t0 = t0, .t_end = t_end, .x0 = starts[0], .x0_row = 1, .x0_col = COUNT, .p = parameters[0], .p_row = 2,
        .p_col = 1, .u = controls, .u_row = 1, .t_eval = n_times > 0 ? times : NULL, .n_eval = n_times,
        .y = outcome->y[0][0], .y_row = across ? 1 : MOST_TIMES * 3, .y_time = across ? 3 * COUNT : 3,
        .y_col = across ? COUNT : 1, .t = outcome->t, .status = outcome->status, .n_rhs = outcome->n_rhs,
        .n_steps = outcome->n_steps,
    };
    memset(outcome, 0x55, sizeof *outcome);
    for (int m = 0; m < n_times; m++) { /* both ends, and points between the steps */
        times[m] = t0 + (t_end - t0) * m / (n_times - 1);
        times[m] = m == n_times - 1 ? t_end : times[m];
    }
    return ensemble;
}

static void compare(const char *what, const char *method, int lanes)
{
    CHECK(!across || same_bits(alone.y[0][0], beside.y[0][0], sizeof alone.y / sizeof(double)));
    for (int j = 0; j < COUNT; j++) {
        const int same = (across || same_bits(&alone.y[j][0][0], &beside.y[j][0][0], sizeof alone.y[0] / sizeof(double)))
            && same_bits(&alone.t[j], &beside.t[j], 1) && alone.status[j] == beside.status[j]
            && alone.n_rhs[j] == beside.n_rhs[j] && alone.n_steps[j] == beside.n_steps[j];
        if (!same) {
            printf("%s, %s, %d lanes, trajectory %d of kind %g: status %d and %d, t %.17g and %.17g, calls %ld and %ld\n",
                   what, method, lanes, j, parameters[j][0], (int)alone.status[j], (int)beside.status[j], alone.t[j],
                   beside.t[j], (long)alone.n_rhs[j], (long)beside.n_rhs[j]);
        }
        CHECK(same);
        statuses_seen |= 1 << -alone.status[j];
    }
}

static int64_t budget = -1, pauses; /* of every call in lanes */
static double room[CG_SHELVES * 8 * ((MOST_TIMES + 16) * 3 + 8)];

static int range_in_lanes(const cg_ensemble_t *ensemble, cg_lanes_run_t *group, const cg_run_t *options, int64_t first,
                          int64_t last, int64_t *done)
{
    cg_cursor_t cursor = range(first, last);
    cursor.shelf = across ? room : NULL;
    cursor.n_shelves = 2; /* too few if a trajectory takes long */
    CHECK(cg_shelf_size(group, MOST_TIMES) <= (int64_t)(sizeof room / sizeof(double)) / CG_SHELVES);
    int status = cg_ensemble_lanes(ensemble, group, options, &cursor, budget);
    while (status == CG_BUDGET_USED) {
        pauses++;
        status = cg_ensemble_lanes(ensemble, group, options, &cursor, budget);
    }
    *done += cursor.n_done;
    return status;
}

static void run_lanes(const cg_ensemble_t *ensemble, const cg_lane_set_t *set, const char *method, cg_run_t *options,
                      int64_t first, int64_t last)
{
    int64_t done = 0;
    const size_t size = cg_lanes_size(&mixed_model, set, method);
    cg_lanes_run_t *const group = (cg_lanes_run_t *)(void *)cg_run_new(size);
    CHECK(group != NULL && cg_lanes_init(group, size, &mixed_model, set, method) == CG_OK);
    const long before = allocations;
    CHECK(before > 0);
    CHECK(range_in_lanes(ensemble, group, options, first, last, &done) == CG_OK && done == last - first);
    CHECK(allocations == before); /* no heap allocation from the first step to the last */
    cg_run_delete((cg_run_t *)(void *)group);
}

/* All methods and sets over the trajectories of fill(); `change` sets options. */
static void try_all(const char *what, double t0, double t_end, int n_times, void (*change)(cg_run_t *, int))
{
    volatile int stop = 0;
    for (const cg_method_t *entry = cg_method_table(); entry->info.name != NULL; entry++) {
        const cg_method_info_t *const method = &entry->info;
        if (cg_lanes_size(&mixed_model, sets[0], method->name) == 0) {
            continue; /* a method without lanes */
        }
        cg_run_t *const run = make_run(&mixed_model, method->name, 0, 1e-8);
        run->stop = &stop;
        run->first_step = method->adaptive ? 0.0 : 0.05;
        if (change != NULL) {
            change(run, method->adaptive);
        }
        cg_ensemble_t ensemble = make_ensemble(&alone, t0, t_end, n_times);
        const long before = allocations;
        CHECK(run_range(&ensemble, run, 0, COUNT, NULL) == CG_OK);
        CHECK(allocations == before);
        for (int s = 0; s < 3; s++) {
            if (!cg_lane_set_runs(sets[s])) {
                printf("this CPU does not run %d lanes\n", (int)sets[s]->n_lanes);
                continue;
            }
            ensemble = make_ensemble(&beside, t0, t_end, n_times);
            run_lanes(&ensemble, sets[s], method->name, run, 0, COUNT);
            compare(what, method->name, sets[s]->n_lanes);
            ensemble = make_ensemble(&beside, t0, t_end, n_times); /* in groups of any size */
            run_lanes(&ensemble, sets[s], method->name, run, 20, COUNT);
            run_lanes(&ensemble, sets[s], method->name, run, 0, 1);
            run_lanes(&ensemble, sets[s], method->name, run, 4, 20);
            run_lanes(&ensemble, sets[s], method->name, run, 1, 4);
            run_lanes(&ensemble, sets[s], method->name, run, 4, 4);
            compare(what, method->name, sets[s]->n_lanes);
        }
        cg_run_delete(run);
    }
}

static void short_steps(cg_run_t *run, int adaptive)
{
    run->max_step = 0.03;
    run->first_step = adaptive ? 0.001 : 0.5;
    run->atol[1] = 1e-3;
    run->atol[2] = 0.0;
}

static void few_steps(cg_run_t *run, int adaptive)
{
    run->max_steps = adaptive ? 20 : 30;
}

static void tiny_steps(cg_run_t *run, int adaptive)
{
    run->max_step = adaptive ? 1e-17 : HUGE_VAL; /* below what doubles resolve at t = 1 */
    run->first_step = 1e-17;
}

static void tiny_limited(cg_run_t *run, int adaptive)
{
    tiny_steps(run, adaptive);
    run->max_steps = 200;
}

/* The coefficients of a cubic; fewer of them are a line, or held. */
static const double knots[5] = {-1.0, 0.4, 0.4, 1.25, 7.0};
static const double levels[20] = {0.0, 0.7, 0.1, 0.2, 1.0, 1.0, -1.0, -0.3, -1.0, 1.8, 0.4, 0.0, 0.5, 0.0, 0.3, -0.1, 0.5};
static cg_signal_t signal_of_test = {CG_SIGNAL_POLYNOMIAL, 1, 5, knots, levels, 0, 0, 0};

static void sampled(cg_run_t *run, int adaptive)
{
    (void)adaptive;
    run->signals = &signal_of_test;
}

static void test_bits(void)
{
    fill(0);
    try_all("final states", 0.0, 3.0, 0, NULL);
    try_all("few times", 0.0, 3.0, 4, NULL);
    try_all("many times", 0.0, 3.0, MOST_TIMES, NULL);
    try_all("backward", 2.0, -1.5, 33, NULL);
    try_all("no length", 1.5, 1.5, 0, NULL);
    try_all("short steps", 0.0, 1.0, 50, short_steps);
    try_all("many steps", 0.0, 40.0, 3, NULL);
    across = 1;
    memset(room, 0x55, sizeof room);
    try_all("few times", 0.0, 3.0, 4, NULL);
    CHECK(!cg_lane_set_runs(sets[0]) || memcmp(room, room + sizeof room / sizeof(double) - 1, sizeof(double)) != 0);
    try_all("many times, backward", 2.0, -1.5, MOST_TIMES, NULL);
    across = 0;
    for (int powers = 1; powers <= 4; powers += 3) {
        signal_of_test.n_powers = powers;
        try_all("sampled input", 0.0, 3.0, 21, sampled);
        try_all("sampled input, backward", 3.0, -2.0, 0, sampled);
    }
}

/* A subset that takes valgrind a few seconds. */
static void test_some(void)
{
    fill(0);
    try_all("short steps", 0.0, 0.3, 20, short_steps);
    fill(1);
    budget = 7;
    try_all("failures, limited", 0.0, 3.0, 9, few_steps);
    budget = -1;
}

static void test_failures(void)
{
    fill(1);
    statuses_seen = 0;
    try_all("failures", 0.0, 3.0, 0, NULL);
    try_all("failures, with times", 0.0, 3.0, 300, NULL);
    across = 1;
    try_all("failures, with times", 0.0, 3.0, 300, NULL);
    across = 0;
    try_all("failures, backward", 1.0, -3.0, 7, NULL);
    try_all("failures in many steps", 0.0, 20.0, 0, NULL);
    try_all("failures, limited", 0.0, 3.0, 9, few_steps);
    try_all("failures, limited, backward", 2.0, 0.0, 0, few_steps);
    try_all("failures, tiny steps", 1.0, 3.0, 5, tiny_steps);
    try_all("failures, tiny steps from t = 0", 0.0, 0.3, 5, tiny_limited);
    signal_of_test.n_powers = 1;
    try_all("failures, sampled input", 0.0, 3.0, 21, sampled);
    /* every kind of end has occurred */
    CHECK(statuses_seen >> -CG_OK & 1 && statuses_seen >> -CG_SINGULAR & 1 && statuses_seen >> -CG_NONFINITE & 1);
    CHECK(statuses_seen >> -CG_STEP_TOO_SMALL & 1 && statuses_seen >> -CG_TOO_MANY_STEPS & 1);
}

/* Pauses do not change bits or counts, whether they are short, in the middle of trajectories, or long. */
static void test_pauses(void)
{
    for (budget = 1; budget <= 100; budget *= 10) {
        pauses = 0;
        fill(0);
        across = 1;
        try_all("pauses", 0.0, 3.0, 9, NULL);
        across = 0;
        fill(1);
        try_all("pauses, failures", 0.0, 3.0, 0, NULL);
        try_all("pauses, limited", 0.0, 3.0, 9, few_steps);
        CHECK(pauses > (cg_lane_set_runs(sets[0]) ? 100 / budget : -1));
    }
    budget = -1;
}

/* How often rk4 calls the right-hand side for one group of lanes with 300 steps in each, of which lane `singular` (-1:
 * none) can take only 40. */
static long calls_of_rk4(const cg_lane_set_t *set, int singular)
{
    volatile int stop = 0;
    const int lanes = set->n_lanes;
    cg_run_t *const run = make_run(&mixed_model, "rk4", 0, 1e-8);
    run->stop = &stop;
    run->first_step = 0.0078125;
    for (int j = 0; j < lanes; j++) {
        parameters[j][0] = j == singular ? MIXED_SINGULAR : MIXED_RATIONAL;
        parameters[j][1] = 40.5 * run->first_step; /* x' = 1 until there */
        starts[0][j] = controls[j] = 0.0;
    }
    cg_ensemble_t ensemble = make_ensemble(&beside, 0.0, 300.0 * run->first_step, 0);
    mixed_calls = 0;
    run_lanes(&ensemble, set, "rk4", run, 0, lanes);
    for (int j = 0; j < lanes; j++) {
        CHECK(beside.status[j] == (j == singular ? CG_SINGULAR : CG_OK));
        CHECK(beside.n_steps[j] == (j == singular ? 40 : 300));
    }
    cg_run_delete(run);
    return mixed_calls;
}

/* rk4 takes many steps at a time and repeats them one by one if something fails: at most 257, and then those from the
 * failure on again. */
static void test_leaps(void)
{
    for (int s = 0; s < 3; s++) {
        if (cg_lane_set_runs(sets[s])) {
            fill(0);
            const long plain = calls_of_rk4(sets[s], -1);
            CHECK(plain == 1 + 4 * 300);
            CHECK(calls_of_rk4(sets[s], 1) == plain + 4 * 257);
        }
    }
}

static void test_stop(void)
{
    volatile int stop = 1;
    fill(0);
    for (int s = 0; s < 3 && cg_lane_set_runs(sets[s]); s++) {
        int64_t done = 0;
        const size_t size = cg_lanes_size(&mixed_model, sets[s], "dop853");
        cg_lanes_run_t *const group = (cg_lanes_run_t *)(void *)cg_run_new(size);
        cg_run_t *const run = make_run(&mixed_model, "dop853", 0, 1e-8);
        cg_ensemble_t ensemble = make_ensemble(&beside, 0.0, 3.0, 0);
        CHECK(cg_lanes_init(group, size, &mixed_model, sets[s], "dop853") == CG_OK);
        CHECK(range_in_lanes(&ensemble, group, run, 0, COUNT, &done) == CG_BAD_ARGUMENT); /* no stop flag */
        run->stop = &stop;
        CHECK(range_in_lanes(&ensemble, group, run, 0, COUNT, &done) == CG_INTERRUPTED && done == 0);
        CHECK(beside.status[0] == 0x55555555); /* nothing is written for unfinished trajectories */
        stop = 0; /* the block is reusable, without traces of the interrupted trajectories */
        CHECK(range_in_lanes(&ensemble, group, run, 0, COUNT, &done) == CG_OK && done == COUNT);
        ensemble = make_ensemble(&alone, 0.0, 3.0, 0);
        CHECK(run_range(&ensemble, run, 0, COUNT, NULL) == CG_OK);
        compare("after a stop", "dop853", sets[s]->n_lanes);
        ensemble = make_ensemble(&beside, 0.5, 3.0, 2);
        ensemble.t0 = 1.0; /* an output time before the start */
        CHECK(range_in_lanes(&ensemble, group, run, 0, COUNT, &done) == CG_BAD_ARGUMENT);
        CHECK(run_range(&ensemble, run, 0, COUNT, NULL) == CG_BAD_ARGUMENT);
        ensemble.t0 = 0.5;
        stop = 1;
        signal_of_test.kind = CG_SIGNAL_CALL;
        run->signals = &signal_of_test;
        CHECK(range_in_lanes(&ensemble, group, run, 0, COUNT, &done) == CG_UNSUPPORTED);
        cg_run_delete(run);
        cg_run_delete((cg_run_t *)(void *)group);
    }
}

static void test_refusals(void)
{
    cg_lane_set_t other = mixed_lanes_2;
    const size_t size = cg_lanes_size(&mixed_model, &mixed_lanes_2, "dop853");
    char *const block = (char *)cg_run_new(size + 64);
    CHECK(size > 0 && cg_lanes_size(&mixed_model, &mixed_lanes_2, "dop85") == 0);
    CHECK(cg_lanes_init((cg_lanes_run_t *)(void *)block, size - 1, &mixed_model, &other, "dop853") == CG_BAD_ARGUMENT);
    CHECK(cg_lanes_init((cg_lanes_run_t *)(void *)(block + 8), size, &mixed_model, &other, "dop853") == CG_BAD_ARGUMENT);
    other.digest = "of another model";
    CHECK(cg_lanes_size(&mixed_model, &other, "dop853") == 0);
    CHECK(cg_lanes_init((cg_lanes_run_t *)(void *)block, size, &mixed_model, &other, "dop853") == CG_BAD_ARGUMENT);
    CHECK(cg_lane_set_runs(&other));
    other.abi_version++;
    CHECK(!cg_lane_set_runs(&other));
    cg_run_delete((cg_run_t *)(void *)block);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        test_some();
    } else {
        test_bits();
        test_failures();
        test_pauses();
    }
    test_leaps();
    test_stop();
    test_refusals();
    CHECK_DONE();
}
