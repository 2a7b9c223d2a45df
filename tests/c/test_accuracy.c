/* The accuracy of the methods: orders, closed forms and reference values. */
#include "methods/cg_control.h"
#include "helpers.h"

static const double top_start[7] = {0.96891242171064478414, 0.24740395925452292960, 0.0, 0.0, 0.3, -0.2, 4.0};
static const double sleigh_start[5] = {0.2, 0.1, -0.3, 0.8, 1.0};

/* Two nonlinear problems with closed forms: x' = -2 t x^2 and x' = x^2. */
static double exact(enum probe_kind kind, double t)
{
    return kind == PROBE_RATIONAL ? 1.0 / (1.0 + t * t) : 1.0 / (1.0 - t);
}

/* Error at t_end with equal steps h. */
static double fixed_error(const char *method, enum probe_kind kind, double t_end, double h)
{
    cg_run_t *const run = make_probe(kind, 0.0, method, 1e3);
    const double t0 = -1.0, x0 = exact(kind, t0);
    run->first_step = h;
    run->max_step = h;
    CHECK(go(run, t0, &x0, t_end, NULL) == CG_OK);
    CHECK(run->n_steps == (int64_t)((t_end - t0) / h + 0.5));
    const double error = fabs(run->x[0] - exact(kind, t_end));
    cg_run_delete(run);
    return error;
}

/* Distance from the exact point on the circle after equal steps of x'' = -x. */
static double swing_error(const char *method, double h, int steps)
{
    cg_run_t *const run = make_run(&oscillator_model, method, 0, 1e30);
    const double x0[2] = {1.0, 0.0}, end = h * steps;
    run->first_step = h;
    run->max_step = h;
    CHECK(go(run, 0.0, x0, end, NULL) == CG_OK);
    CHECK(run->n_steps == steps);
    const double error = hypot(run->x[0] - cos(end), run->x[1] + sin(end));
    cg_run_delete(run);
    return error;
}

static void test_orders(void)
{
    /* Steps short enough for the leading term to dominate and long enough for rounding not to matter. */
    CHECK_NEAR(log2(fixed_error("rk4", PROBE_RATIONAL, 2.0, 1.0 / 128.0)
                    / fixed_error("rk4", PROBE_RATIONAL, 2.0, 1.0 / 256.0)), 4.0, 0.2);
    CHECK_NEAR(log2(fixed_error("rk4", PROBE_BLOW_UP, 0.5, 1.0 / 128.0)
                    / fixed_error("rk4", PROBE_BLOW_UP, 0.5, 1.0 / 256.0)), 4.0, 0.2);
    CHECK_NEAR(log2(fixed_error("dop853", PROBE_BLOW_UP, 0.5, 3.0 / 32.0)
                    / fixed_error("dop853", PROBE_BLOW_UP, 0.5, 3.0 / 64.0)), 8.0, 0.2);
    /* In an oscillation only the trees without branches count, so the leading term dominates already at long steps. */
    CHECK_NEAR(log2(swing_error("tsit5", 5.0 / 128.0, 256) / swing_error("tsit5", 5.0 / 256.0, 512)), 5.0, 0.1);
    CHECK_NEAR(log2(swing_error("vern7", 5.0 / 32.0, 64) / swing_error("vern7", 5.0 / 64.0, 128)), 7.0, 0.1);
    CHECK_NEAR(log2(swing_error("dop853", 5.0 / 16.0, 32) / swing_error("dop853", 5.0 / 32.0, 64)), 8.0, 0.1);
    /* with shorter steps, rounding exceeds Vern9's error */
    CHECK_NEAR(log2(swing_error("vern9", 5.0 / 16.0, 3200) / swing_error("vern9", 5.0 / 32.0, 6400)), 9.0, 0.3);
}

/* Largest error of the interpolant within one step from exact data. */
static double dense_error(const char *method, double h)
{
    cg_run_t *const run = make_probe(PROBE_BLOW_UP, 0.0, method, 1e3);
    const double t0 = 0.1, x0 = exact(PROBE_BLOW_UP, t0);
    double largest = 0.0;
    run->first_step = h;
    run->max_step = h;
    CHECK(go(run, t0, &x0, t0 + h, NULL) == CG_OK);
    CHECK(run->n_steps == 1);
    for (int i = 1; i < 40; i++) {
        const double t = t0 + h * i / 40.0;
        double x;
        CHECK(cg_run_interpolate(run, t, &x, 1) == CG_OK);
        largest = fmax(largest, fabs(x - exact(PROBE_BLOW_UP, t)));
    }
    cg_run_delete(run);
    return largest;
}

/* The same within one step of x'' = -x. */
static double swing_dense_error(const char *method, double h)
{
    cg_run_t *const run = make_run(&oscillator_model, method, 0, 1e30);
    const double x0[2] = {cos(0.3), -sin(0.3)};
    double largest = 0.0;
    run->first_step = h;
    CHECK(go(run, 0.0, x0, h, NULL) == CG_OK);
    CHECK(run->n_steps == 1);
    for (int i = 1; i < 40; i++) {
        const double t = h * i / 40.0;
        double x[2];
        CHECK(cg_run_interpolate(run, t, x, 1) == CG_OK);
        largest = fmax(largest, hypot(x[0] - cos(0.3 + t), x[1] + sin(0.3 + t)));
    }
    cg_run_delete(run);
    return largest;
}

static void test_dense_orders(void)
{
    /* An interpolant of order q has an error of order h^(q + 1) within one step. */
    CHECK_NEAR(log2(dense_error("rk4", 0.02) / dense_error("rk4", 0.01)), 4.0, 0.2);
    CHECK_NEAR(log2(dense_error("dop853", 0.06) / dense_error("dop853", 0.03)), 8.0, 0.3);
    CHECK_NEAR(log2(swing_dense_error("tsit5", 0.1) / swing_dense_error("tsit5", 0.05)), 5.0, 0.1);
    CHECK_NEAR(log2(swing_dense_error("vern7", 0.4) / swing_dense_error("vern7", 0.2)), 8.0, 0.2);
    CHECK_NEAR(log2(swing_dense_error("dop853", 0.4) / swing_dense_error("dop853", 0.2)), 8.0, 0.1);
    /* Steps short enough for the leading term alone have errors of rounding: the slope is continued to h = 0. */
    const double long_slope = log2(swing_dense_error("vern9", 0.8) / swing_dense_error("vern9", 0.4));
    const double short_slope = log2(swing_dense_error("vern9", 0.4) / swing_dense_error("vern9", 0.2));
    CHECK_NEAR(2.0 * short_slope - long_slope, 10.0, 0.4);
}

static void test_dense_ends(const char *method)
{
    /* At theta = 0 and 1 the polynomial itself equals the states, and its derivative their slopes. */
    cg_run_t *const run = make_run(&top_model, method, 0, 1e-8);
    double value[7], ahead[7];
    CHECK(cg_run_start(run, 0.0, top_start, 1.0) == CG_OK && cg_drive(run, NULL, 3) == CG_BUDGET_USED);
    CHECK(run->dense(run) == CG_OK);
    const double h = run->t - run->t_old, tiny = 1e-6;
    for (int end = 0; end < 2; end++) {
        const double *const x = end ? run->x : run->x_old;
        const double *const f = end ? run->f : run->f_old;
        cg_dense_evaluate(run->coef, run->n_dense, run->ld, run->n, end, value, 1);
        cg_dense_evaluate(run->coef, run->n_dense, run->ld, run->n, end + tiny, ahead, 1);
        for (int i = 0; i < 7; i++) {
            CHECK_NEAR(value[i], x[i], 4e-15);
            CHECK_NEAR((ahead[i] - value[i]) / (tiny * h), f[i], 1e-4);
        }
    }
    /* rows without padding, at the end of their memory, give the same bits */
    double *const compact = malloc(sizeof(double) * 7 * (size_t)run->n_dense);
    CHECK(compact != NULL);
    for (int j = 0; j < run->n_dense; j++) {
        memcpy(compact + 7 * j, run->coef + run->ld * j, sizeof(double) * 7);
    }
    cg_dense_evaluate(run->coef, run->n_dense, run->ld, 7, 0.37, value, 1);
    cg_dense_evaluate(compact, run->n_dense, 7, 7, 0.37, ahead, 1);
    CHECK(same_bits(value, ahead, 7));
    free(compact);
    cg_run_delete(run);
}

static void test_references(const char *method)
{
    /* States at t = 1 and t = 10 computed by extrapolation with 34 digits. */
    static const double times[2] = {1.0, 10.0};
    static const double top_rates[2][3] = {
        {0.9040116512099596485, -6.3565389111467939944, 0.37731739488185697298},
        {0.71162477527347098619, -5.2993442818971877677, 2.4370759008366082776}};
    static const double sleigh[2][5] = {
        {0.76972896455828710702, 0.99703227709419805452, 0.21733317602149310365, 0.38110667603260974971,
         1.0728795460479444663},
        {1.2457683998191501283, 4.6003865581306618842, 8.9689684391685194542, 0.00026603628596419789904,
         1.0522756029920897198}};
    for (int32_t flags = 0; flags <= CG_RUN_TABLE; flags++) {
        cg_run_t *run = make_run(&top_model, method, flags, 1e-13);
        double y[2 * 7];
        cg_record_t record = at_times(times, 2, NULL, y, 7);
        CHECK(go(run, 0.0, top_start, 10.0, &record) == CG_OK);
        for (int m = 0; m < 2; m++) {
            for (int i = 0; i < 3; i++) {
                CHECK_NEAR(y[7 * m + 4 + i], top_rates[m][i], 1e-10);
            }
            CHECK_NEAR(y[7 * m] * y[7 * m] + y[7 * m + 1] * y[7 * m + 1] + y[7 * m + 2] * y[7 * m + 2]
                           + y[7 * m + 3] * y[7 * m + 3], 1.0, 1e-11);
        }
        cg_run_delete(run);

        run = make_run(&sleigh_model, method, flags, 1e-13);
        record = at_times(times, 2, NULL, y, 5);
        CHECK(go(run, 0.0, sleigh_start, 10.0, &record) == CG_OK);
        for (int i = 0; i < 5; i++) {
            CHECK_NEAR(y[i], sleigh[0][i], 1e-11);
            CHECK_NEAR(y[5 + i], sleigh[1][i], 1e-11);
        }
        cg_run_delete(run);
    }
}

static void test_tolerance_is_met(const char *method)
{
    /* One oscillation: the error is proportional to the tolerance, and a tighter tolerance costs more. */
    const double x0[2] = {1.0, 0.0}, end = 6.0;
    int64_t before = 0;
    for (int digits = 4; digits <= 12; digits += 2) {
        const double tolerance = pow(10.0, -digits);
        cg_run_t *const run = make_run(&oscillator_model, method, 0, tolerance);
        CHECK(go(run, 0.0, x0, end, NULL) == CG_OK);
        CHECK_NEAR(run->x[0], cos(end), 5.0 * tolerance);
        CHECK_NEAR(run->x[1], -sin(end), 5.0 * tolerance);
        CHECK(run->n_rhs > before);
        before = run->n_rhs;
        cg_run_delete(run);
    }
}

static void test_tolerance_of_each_component(const char *method)
{
    /* A loose tolerance on one component must not loosen the other's. */
    const double x0[2] = {1.0, 0.0};
    cg_run_t *const run = make_run(&oscillator_model, method, 0, 1e-3);
    int64_t loose, tight;
    run->rtol = 0.0;
    CHECK(go(run, 0.0, x0, 10.0, NULL) == CG_OK);
    loose = run->n_steps;
    run->atol[1] = 1e-12;
    CHECK(go(run, 0.0, x0, 10.0, NULL) == CG_OK);
    tight = run->n_steps;
    CHECK(tight > 3 * loose);
    CHECK_NEAR(run->x[1], -sin(10.0), 1e-10);
    cg_run_delete(run);
}

static void test_backward(void)
{
    for (int m = 0; m < N_METHODS; m++) {
        cg_run_t *const run = make_run(&top_model, methods[m], 0, 1e-12);
        double end[7];
        run->first_step = m == 0 ? 1e-3 : 0.0;
        CHECK(go(run, 0.0, top_start, 2.0, NULL) == CG_OK);
        memcpy(end, run->x, sizeof end);
        CHECK(go(run, 2.0, end, 0.0, NULL) == CG_OK);
        CHECK(run->t == 0.0 && run->direction == -1.0);
        for (int i = 0; i < 7; i++) {
            CHECK_NEAR(run->x[i], top_start[i], 1e-9);
        }
        cg_run_delete(run);
    }
}

static void test_first_step_is_sensible(const char *method)
{
    /* Neither so long that it is rejected nor hundreds of times too short. */
    const double x0[2] = {1.0, 0.0};
    for (int digits = 3; digits <= 12; digits += 3) {
        cg_run_t *const run = make_run(&oscillator_model, method, 0, pow(10.0, -digits));
        CHECK(cg_run_start(run, 0.0, x0, 100.0) == CG_OK && cg_drive(run, NULL, 1) == CG_BUDGET_USED);
        const double first = run->t;
        CHECK(run->n_rejected == 0);
        CHECK(cg_drive(run, NULL, -1) == CG_OK);
        CHECK(first * (double)run->n_steps > 100.0 / 50.0);
        cg_run_delete(run);
    }
}

static void test_reciprocal(void)
{
    for (int i = -149; i <= 300; i++) {
        for (int j = 0; j < 64; j++) {
            const double a = pow(10.0, i) * (1.0 + 0.142 * j);
            CHECK_NEAR(a * cg_step_reciprocal(a), 1.0, 0.051 * 0.051);
        }
    }
    CHECK(!isfinite(cg_step_reciprocal(HUGE_VAL)) && !isfinite(cg_step_reciprocal(NAN)));
}

static void test_logarithm_and_power(void)
{
    for (int i = -190; i <= 190; i++) {
        const double base = pow(10.0, 0.05 * i) * 1.2345;
        CHECK_NEAR(cg_step_log2(base), log2(base), 2.5e-5);
        for (int j = -10; j <= 10; j++) {
            const double expected = pow(base, 0.1 * j);
            CHECK_NEAR(cg_step_exp2(0.1 * j * cg_step_log2(base)) / expected, 1.0, 3e-5);
        }
    }
    for (int i = -300; i <= 300; i++) {
        CHECK_NEAR(cg_step_log2(ldexp(1.0, i)), i, 0.0);
        CHECK_NEAR(cg_step_exp2(i), ldexp(1.0, i), 0.0);
    }
    CHECK(cg_step_log2(0.0) < -332.0 && cg_step_log2(1e300) > 332.0 && cg_step_log2(1e300) < 333.0);
    CHECK_NEAR(CG_LEAST_LOG, log2(1e-8), 0.0);
}

int main(void)
{
    test_orders();
    test_dense_orders();
    for (int m = 1; m < N_METHODS; m++) {
        test_dense_ends(methods[m]);
        test_references(methods[m]);
        test_tolerance_is_met(methods[m]);
        test_tolerance_of_each_component(methods[m]);
        test_first_step_is_sensible(methods[m]);
    }
    test_backward();
    test_reciprocal();
    test_logarithm_and_power();
    CHECK_DONE();
}
