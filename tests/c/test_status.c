/* Every way a run can end, with the point it reached. */
#include "helpers.h"

#include <float.h>

static const double zero = 0.0, one = 1.0;

static void test_blow_up(const char *method)
{
    /* x = 1 / (1 - t): no step passes t = 1; the results before it are right. */
    static double t[5000], y[5000];
    cg_run_t *const run = make_probe(PROBE_BLOW_UP, 0.0, method, 1e-9);
    cg_record_t record = every_step(t, y, 1, 5000);
    const int status = go(run, 0.0, &one, 2.0, &record);
    CHECK(status == CG_STEP_TOO_SMALL || status == CG_NONFINITE);
    CHECK(run->t > 0.999 && run->t < 1.001 && run->status == status);
    CHECK(record.n_rows == run->n_steps + 1 && t[record.n_rows - 1] == run->t);
    for (int64_t i = 0; i < record.n_rows && t[i] < 0.9; i++) {
        CHECK_NEAR(y[i] * (1.0 - t[i]), 1.0, 1e-7);
    }
    CHECK(cg_drive(run, &record, -1) == status); /* an error is not forgotten */
    cg_run_delete(run);
}

static void test_step_too_small(const char *method)
{
    /* The spacing of t limits the step if the slope jumps and the tolerance cannot be met. */
    cg_run_t *const run = make_probe(PROBE_JUMP, 0.5, method, 1e-15);
    run->rtol = 0.0;
    run->atol[0] = 1e-18;
    CHECK(go(run, 0.0, &zero, 1.0, NULL) == CG_STEP_TOO_SMALL);
    CHECK(run->t <= 0.5 && run->x[0] == run->x[0]);
    cg_run_delete(run);
}

/* At 1e16, where doubles are 2 apart, no step of 0.1 is possible: the state must not change while t does not. */
static void test_steps_below_the_spacing_of_t(void)
{
    const double wave[2] = {1.0, 0.0};
    static double t[200];
    for (int m = 0; m < 2 * N_METHODS; m++) {
        const double t0 = m < N_METHODS ? 1e16 : -1e16;
        cg_run_t *const run = make_run(&oscillator_model, methods[m % N_METHODS], 0, 1e-9);
        cg_record_t record = every_step(t, NULL, 0, 200);
        run->first_step = 0.1;
        run->max_steps = 100;
        CHECK(go(run, t0, wave, t0 + (m < N_METHODS ? 10.0 : -10.0), &record) == CG_STEP_TOO_SMALL);
        for (int64_t i = 1; i < record.n_rows; i++) {
            CHECK(t[i] != t[i - 1]);
        }
        CHECK(run->t == t[record.n_rows - 1] && (run->t != t0 || run->x[0] == 1.0));
        /* advancing to the next double is one step, whatever was planned */
        CHECK(go(run, 1.0, wave, 1.0 + DBL_EPSILON, NULL) == CG_OK && run->n_steps == 1);
        CHECK_NEAR(run->x[1], -DBL_EPSILON, 1e-20);
        /* a limit below the spacing cannot be satisfied */
        run->max_step = 1e-17;
        CHECK(go(run, 1.0, wave, 2.0, NULL) == CG_STEP_TOO_SMALL && run->n_steps == 0 && run->t == 1.0);
        cg_run_delete(run);
    }
    /* a slowly varying state allows the necessary long steps: x = t - 1e16 in units of 1e16 */
    cg_run_t *const run = make_probe(PROBE_JUMP, HUGE_VAL, "dop853", 1e-9);
    CHECK(go(run, 1e16, &zero, 3e16, NULL) == CG_OK);
    CHECK_NEAR(run->x[0] / 2e16, 1.0, 1e-12);
    cg_run_delete(run);
}

/* An error estimate that overflows means that the error is too large, not that the state is not finite. */
static void test_tolerance_out_of_reach(const char *method)
{
    const double wave[2] = {1.0, 0.0};
    cg_run_t *const run = make_run(&oscillator_model, method, 0, 1e-300);
    run->max_steps = 10000; /* near t = 0 there is room for many short steps */
    const int status = go(run, 0.0, wave, 10.0, NULL);
    CHECK(status == CG_STEP_TOO_SMALL || status == CG_TOO_MANY_STEPS);
    CHECK(run->t < 1.0 && fabs(run->x[0]) <= 1.0);
    CHECK(go(run, 1.0, wave, 10.0, NULL) == CG_STEP_TOO_SMALL);
    cg_run_delete(run);
}

static void test_singular_and_non_finite(void)
{
    static const enum probe_kind kinds[3] = {PROBE_SINGULAR, PROBE_NAN, PROBE_INFINITE};
    static const int statuses[3] = {CG_SINGULAR, CG_NONFINITE, CG_NONFINITE};
    for (int i = 0; i < 3; i++) {
        for (int m = 0; m < N_METHODS; m++) {
            const int fixed = m == 0;
            cg_run_t *const run = make_probe(kinds[i], 0.7, methods[m], 1e-9);
            double middle = 0.35, x = 0.0;
            cg_record_t record = at_times(&middle, 1, NULL, &x, 1);
            run->first_step = fixed ? 0.0625 : 0.0;
            CHECK(go(run, 0.0, &zero, 2.0, &record) == statuses[i]);
            /* x = t up to the last point before the threshold: adaptive steps come as close as doubles allow */
            CHECK(run->x[0] <= 0.7);
            CHECK_NEAR(run->t, 0.7, fixed ? 0.0625 : 1e-12);
            CHECK_NEAR(run->x[0], run->t, 1e-14);
            CHECK(record.n_rows == 1);
            CHECK_NEAR(x, 0.35, 1e-14);
            cg_run_delete(run);

            /* already at the start */
            cg_run_t *const bad = make_probe(kinds[i], -1.0, methods[m], 1e-9);
            bad->first_step = 0.1;
            CHECK(go(bad, 0.0, &zero, 1.0, NULL) == statuses[i]);
            CHECK(bad->t == 0.0 && bad->x[0] == 0.0 && bad->n_steps == 0);
            cg_run_delete(bad);
        }
    }
}

static void test_passing_trouble_is_survived(const char *method)
{
    /* A trial stage at x < 0, where the root is undefined, only shortens the step: x = (t / 2)^2 down to t = 0.02. */
    cg_run_t *const run = make_probe(PROBE_SQUARE_ROOT, 0.0, method, 1e-10);
    run->first_step = 3.0;
    run->p[1] = 0.0;
    CHECK(go(run, 2.0, &one, 0.02, NULL) == CG_OK);
    CHECK(run->n_rejected > 0);
    CHECK_NEAR(run->x[0], 1e-4, 1e-8);
    cg_run_delete(run);
}

static void test_bad_arguments(void)
{
    const double nan = HUGE_VAL - HUGE_VAL, wave[2] = {1.0, 0.0}, bad[2] = {1.0, nan};
    for (int m = 0; m < N_METHODS; m++) {
        cg_run_t *const run = make_run(&oscillator_model, methods[m], 0, 1e-6);
        run->first_step = 0.1;
        CHECK(go(run, 0.0, wave, 1.0, NULL) == CG_OK);
        CHECK(go(run, nan, wave, 1.0, NULL) == CG_NONFINITE);
        CHECK(go(run, 0.0, wave, HUGE_VAL, NULL) == CG_NONFINITE);
        CHECK(go(run, 0.0, bad, 1.0, NULL) == CG_NONFINITE);
#define REFUSED(field, value, good)                                  \
    do {                                                             \
        run->field = (value);                                        \
        CHECK(go(run, 0.0, wave, 1.0, NULL) == CG_BAD_ARGUMENT);     \
        CHECK(cg_drive(run, NULL, -1) == CG_BAD_ARGUMENT);           \
        run->field = (good);                                         \
    } while (0)
        REFUSED(rtol, -1e-9, 1e-6);
        REFUSED(rtol, nan, 1e-6);
        REFUSED(atol[1], -1.0, 1e-6);
        REFUSED(atol[0], nan, 1e-6);
        REFUSED(max_step, 0.0, HUGE_VAL);
        REFUSED(max_step, nan, HUGE_VAL);
        REFUSED(first_step, -0.1, 0.1);
        REFUSED(first_step, HUGE_VAL, 0.1);
        REFUSED(max_steps, 0, INT64_MAX);
        run->rtol = 0.0;
        REFUSED(atol[0], 0.0, 1e-6);
        cg_run_delete(run);
    }
    cg_run_t *const run = make_run(&oscillator_model, "rk4", 0, 1e-6);
    CHECK(go(run, 0.0, wave, 1.0, NULL) == CG_BAD_ARGUMENT); /* a fixed step must be given */
    run->max_step = 0.1;
    CHECK(go(run, 0.0, wave, 1.0, NULL) == CG_OK && run->n_steps == 10);

    const size_t size = cg_run_size(&oscillator_model, "rk4");
    cg_model_t foreign = oscillator_model;
    CHECK(cg_run_size(&oscillator_model, "euler") == 0 && cg_run_size(NULL, "rk4") == 0);
    cg_method_t found;
    CHECK(!cg_method_find(&oscillator_model, NULL, 0, &found) && !cg_method_find(&oscillator_model, "euler", 0, &found));
    CHECK(cg_method_find(&oscillator_model, "rk4", 0, &found) && found.info.order == 4);
    CHECK(cg_run_init(run, size - 1, &oscillator_model, "rk4", 0) == CG_BAD_ARGUMENT);
    CHECK(cg_run_init(run, size, &oscillator_model, "euler", 0) == CG_BAD_ARGUMENT);
    CHECK(cg_run_init((cg_run_t *)(void *)((char *)run + 8), size, &oscillator_model, "rk4", 0) == CG_BAD_ARGUMENT);
    /* a method compiled with another layout of cg_run_t is not called */
    static const cg_method_t others[2] = {{{"rk4", "", 4, 0, 4, 4, 0, 0}, NULL, NULL},
                                          {{NULL, NULL, 0, 0, 0, 0, 0, 0}, NULL, NULL}};
    foreign.methods = others;
    CHECK(cg_run_init(run, size, &foreign, "rk4", 0) == CG_OK && run->step != NULL);
    foreign.abi_version++;
    CHECK(cg_run_init(run, size, &foreign, "rk4", 0) == CG_BAD_ARGUMENT);
    cg_run_delete(run);
    cg_run_delete(NULL);
    CHECK(cg_run_new(0) == NULL);
}

static void test_absolute_tolerance_zero(const char *method)
{
    /* A state that stays zero has a zero error, not 0 / 0. */
    const double rest[2] = {0.0, 0.0};
    cg_run_t *const run = make_run(&oscillator_model, method, 0, 1e-9);
    run->atol[0] = 0.0;
    run->atol[1] = 0.0;
    CHECK(go(run, 0.0, rest, 10.0, NULL) == CG_OK && run->x[0] == 0.0);
    cg_run_delete(run);
}

static void test_stop_flag(void)
{
    const double wave[2] = {1.0, 0.0};
    volatile int stop = 1;
    cg_run_t *const run = make_run(&oscillator_model, "dop853", 0, 1e-9);
    double end[2];
    CHECK(go(run, 0.0, wave, 10.0, NULL) == CG_OK);
    memcpy(end, run->x, sizeof end);
    run->stop = &stop;
    CHECK(cg_run_start(run, 0.0, wave, 10.0) == CG_OK);
    CHECK(cg_drive(run, NULL, -1) == CG_INTERRUPTED && run->n_steps == 0);
    stop = 0;
    CHECK(cg_drive(run, NULL, 7) == CG_BUDGET_USED);
    stop = 1;
    CHECK(cg_drive(run, NULL, -1) == CG_INTERRUPTED && run->n_steps == 7);
    stop = 0;
    CHECK(cg_drive(run, NULL, -1) == CG_OK && same_bits(end, run->x, 2));
    cg_run_delete(run);
}

int main(void)
{
    for (int m = 1; m < N_METHODS; m++) {
        test_blow_up(methods[m]);
        test_step_too_small(methods[m]);
        test_tolerance_out_of_reach(methods[m]);
        test_passing_trouble_is_survived(methods[m]);
        test_absolute_tolerance_zero(methods[m]);
    }
    test_steps_below_the_spacing_of_t();
    test_singular_and_non_finite();
    test_bad_arguments();
    test_stop_flag();
    CHECK_DONE();
}
