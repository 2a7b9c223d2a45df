/* The implicit method and the one that switches to it: orders, stability, closed forms, saving. */
#include "methods/cg_linear.h"
#include "helpers.h"

static const char *const both[2] = {"rodas5p", "auto"};

static cg_run_t *make_stiff(enum stiff_kind kind, double rate, const char *method, double tolerance)
{
    cg_run_t *const run = make_run(&stiff_model, method, 0, tolerance);
    run->p[0] = (double)kind;
    run->p[1] = rate;
    run->u[0] = 0.0;
    return run;
}

static void equal_steps(cg_run_t *run, double h)
{
    run->first_step = h;
    run->max_step = h;
}

static void test_linear_solver(void)
{
    /* Against a product: P a = L U solves a z = b. The first pivot is zero, so rows must be swapped. */
    enum { N = 7 };
    double a[N * N], factors[N * N], z[N], b[N];
    int32_t pivots[N];
    unsigned seed = 1u;
    for (int i = 0; i < N * N; i++) {
        seed = seed * 1103515245u + 12345u;
        a[i] = (double)(seed >> 16 & 1023u) / 512.0 - 1.0;
    }
    a[0] = 0.0;
    memcpy(factors, a, sizeof a);
    for (int i = 0; i < N; i++) {
        b[i] = 0.0;
        for (int j = 0; j < N; j++) {
            b[i] += a[j * N + i] * (j - 2.5);
        }
    }
    memcpy(z, b, sizeof z);
    CHECK(cg_linear_factor(N, factors, pivots) == 1 && pivots[0] != 0);
    cg_linear_solve(N, factors, pivots, z);
    for (int j = 0; j < N; j++) {
        CHECK_NEAR(z[j], j - 2.5, 1e-13);
    }
    memset(factors, 0, sizeof factors);
    CHECK(cg_linear_factor(N, factors, pivots) == 0);
    memcpy(factors, a, sizeof a);
    factors[3] = HUGE_VAL - HUGE_VAL;
    factors[2 * N] = HUGE_VAL;
    CHECK(cg_linear_factor(N, factors, pivots) == 0);
}

/* Largest error at t_end with equal steps h. */
static double fixed_error(enum stiff_kind kind, double rate, double t0, double t_end, double h)
{
    cg_run_t *const run = make_stiff(kind, rate, "rodas5p", 1e6);
    const double start[2] = {kind == STIFF_PROTHERO_ROBINSON ? sin(t0)
                                 : kind == STIFF_TIMED       ? exp(sin(t0))
                                                             : 1.0 / (1.0 - t0),
                             kind == STIFF_TIMED ? exp(t0 * t0) : 2.0 / (1.0 - t0)};
    equal_steps(run, h);
    CHECK(go(run, t0, start, t_end, NULL) == CG_OK);
    CHECK(run->n_steps == (int64_t)(fabs(t_end - t0) / h + 0.5) && run->n_rejected == 0);
    double error;
    if (kind == STIFF_PROTHERO_ROBINSON) {
        error = fabs(run->x[0] - sin(t_end));
    } else if (kind == STIFF_TIMED) {
        error = fmax(fabs(run->x[0] - exp(sin(t_end))), fabs(run->x[1] - exp(t_end * t_end)));
    } else {
        error = fmax(fabs(run->x[0] - 1.0 / (1.0 - t_end)), fabs(run->x[1] - 2.0 / (1.0 - t_end)));
    }
    cg_run_delete(run);
    return error;
}

/* The same with u = 2 t, sampled. */
static double driven_error(double h)
{
    static const double begin = -2.0, values[2] = {-4.0, 2.0};
    const cg_signal_t signal = {CG_SIGNAL_POLYNOMIAL, 2, 1, &begin, values, 0, 0, 0};
    cg_run_t *const run = make_stiff(STIFF_DRIVEN, 0.0, "rodas5p", 1e6);
    const double start[2] = {exp(0.25), exp(0.25)};
    run->signals = &signal;
    equal_steps(run, h);
    CHECK(go(run, -0.5, start, 1.0, NULL) == CG_OK && run->n_steps == (int64_t)(1.5 / h + 0.5));
    const double error = fabs(run->x[0] - exp(1.0));
    cg_run_delete(run);
    return error;
}

static void test_orders(void)
{
    CHECK_NEAR(log2(fixed_error(STIFF_BLOW_UP, 0.0, -1.0, 0.5, 1.0 / 32.0)
                    / fixed_error(STIFF_BLOW_UP, 0.0, -1.0, 0.5, 1.0 / 64.0)), 5.0, 0.2);
    /* explicit time in the right-hand side: the differences for df/dt do not lower the order, in either direction */
    CHECK_NEAR(log2(fixed_error(STIFF_TIMED, 0.0, -0.5, 1.0, 1.0 / 32.0)
                    / fixed_error(STIFF_TIMED, 0.0, -0.5, 1.0, 1.0 / 64.0)), 5.0, 0.2);
    CHECK_NEAR(log2(fixed_error(STIFF_TIMED, 0.0, 0.5, -1.0, 1.0 / 32.0)
                    / fixed_error(STIFF_TIMED, 0.0, 0.5, -1.0, 1.0 / 64.0)), 5.0, 0.2);
}

static void test_order_with_a_sampled_input(void)
{
    /* It occurs in the Jacobian and in df/dt. */
    CHECK_NEAR(log2(driven_error(1.0 / 32.0) / driven_error(1.0 / 64.0)), 5.0, 0.2);
}

static void test_order_of_a_stiff_problem(void)
{
    /* A. Prothero, A. Robinson, Mathematics of Computation 28 (1974) 145-162: for large h times rate methods
     * fall below their order. Here the error is of order h^3 / rate (h^4 if h times rate is constant): the stiffer,
     * the smaller. */
    for (int digits = 4; digits <= 8; digits += 2) {
        const double rate = pow(10.0, digits);
        const double coarse = fixed_error(STIFF_PROTHERO_ROBINSON, rate, 0.0, 2.0, 0.25);
        const double fine = fixed_error(STIFF_PROTHERO_ROBINSON, rate, 0.0, 2.0, 0.125);
        const double stiffer = fixed_error(STIFF_PROTHERO_ROBINSON, 2.0 * rate, 0.0, 2.0, 0.125);
        CHECK_NEAR(log2(coarse / fine), 3.0, 0.2);
        CHECK_NEAR(log2(coarse / stiffer), 4.0, 0.2);
        CHECK(coarse < 1e-4 / rate);
    }
}

static void test_decay(void)
{
    /* L-stable: components that decay within a fraction of a step have vanished at its end. With z = -rate h the
     * stability function is 12.5 / z for large z, by the tableau. */
    for (int digits = 6; digits <= 12; digits += 3) {
        cg_run_t *const run = make_stiff(STIFF_DECAY, pow(10.0, digits), "rodas5p", 1e6);
        const double x0[2] = {1.0, 1.0};
        equal_steps(run, 1.0);
        CHECK(go(run, 0.0, x0, 1.0, NULL) == CG_OK && run->n_steps == 1);
        CHECK(fabs(run->x[0]) < 13.0 * pow(10.0, -digits) && fabs(run->x[1]) < 13.0 * pow(10.0, 3 - digits));
        cg_run_delete(run);
    }
}

static void test_singular_matrix(void)
{
    /* x' = x / gamma: with h = 1 there is nothing to divide by. A shorter step is taken, and the solution is right. */
    const double rate = 1.0 / 0.21193756319429014, x0[2] = {1.0, 1.0};
    cg_run_t *const run = make_stiff(STIFF_DECAY, -rate, "rodas5p", 1e-9);
    run->first_step = 1.0;
    CHECK(go(run, 0.0, x0, 2.0, NULL) == CG_OK && run->n_rejected > 0);
    CHECK_NEAR(run->x[0] / exp(2.0 * rate), 1.0, 1e-7);
    cg_run_delete(run);
}

/* Largest error of the interpolant within one step from exact data. */
static double dense_error(double h)
{
    cg_run_t *const run = make_stiff(STIFF_BLOW_UP, 0.0, "rodas5p", 1e6);
    const double t0 = 0.125, x0[2] = {1.0 / (1.0 - t0), 2.0 / (1.0 - t0)};
    double largest = 0.0;
    equal_steps(run, h);
    CHECK(go(run, t0, x0, t0 + h, NULL) == CG_OK && run->n_steps == 1);
    for (int i = 0; i <= 40; i++) {
        const double t = i < 40 ? t0 + h * i / 40.0 : t0 + h;
        double x[2];
        CHECK(cg_run_interpolate(run, t, x, 1) == CG_OK);
        largest = fmax(largest, fabs(x[0] - 1.0 / (1.0 - t)));
    }
    cg_run_delete(run);
    return largest;
}

static void test_dense_order(void)
{
    CHECK_NEAR(log2(dense_error(0.0625) / dense_error(0.03125)), 5.0, 0.3);
    /* the polynomial itself equals the states at both ends */
    cg_run_t *const run = make_stiff(STIFF_VAN_DER_POL, 10.0, "rodas5p", 1e-6);
    const double x0[2] = {2.0, 0.0};
    double value[2];
    CHECK(cg_run_start(run, 0.0, x0, 1.0) == CG_OK && cg_drive(run, NULL, 4) == CG_BUDGET_USED);
    CHECK(run->dense(run) == CG_OK);
    for (int end = 0; end < 2; end++) {
        cg_dense_evaluate(run->coef, run->n_dense, run->ld, run->n, end, value, 1);
        for (int i = 0; i < 2; i++) {
            CHECK_NEAR(value[i], end ? run->x[i] : run->x_old[i], 1e-14);
        }
    }
    cg_run_delete(run);
}

static void test_van_der_pol(void)
{
    /* mu = 1000, t = 2000: F. Mazzia, C. Magherini, Test Set for Initial Value Problem Solvers, problem VDPOL, where
     * time is t / mu. */
    const double x0[2] = {2.0, 0.0}, mu = 1000.0;
    for (int m = 0; m < 2; m++) {
        cg_run_t *const run = make_stiff(STIFF_VAN_DER_POL, mu, both[m], 1e-9);
        run->atol[1] = 1e-9 / mu;
        CHECK(go(run, 0.0, x0, 2.0 * mu, NULL) == CG_OK);
        CHECK_NEAR(run->x[0], 0.1706167732170483e1, 1e-7);
        CHECK_NEAR(mu * run->x[1], -0.8928097010247975, 1e-7);
        CHECK(run->n_lu > 0 && run->n_lu >= run->n_jac && run->n_rhs < 40000);
        cg_run_delete(run);
    }
}

static void test_backward(void)
{
    cg_run_t *const run = make_stiff(STIFF_VAN_DER_POL, 0.5, "rodas5p", 1e-10);
    const double x0[2] = {2.0, 0.0};
    double end[2];
    CHECK(go(run, 0.0, x0, 3.0, NULL) == CG_OK);
    memcpy(end, run->x, sizeof end);
    CHECK(go(run, 3.0, end, 0.0, NULL) == CG_OK && run->t == 0.0);
    CHECK_NEAR(run->x[0], x0[0], 1e-8);
    CHECK_NEAR(run->x[1], x0[1], 1e-8);
    cg_run_delete(run);
}

static void test_sampled_input(void)
{
    /* Quasi-static: x follows u, lagging by slope / rate on a slope. Steps end at the samples. */
    static const double times[4] = {0.0, 1.0, 1.0, 3.0};
    static const double values[4] = {0.0, 1.0, 5.0, 4.0};
    samples_t given;
    set_samples(&given, 1, 4, times, values);
    const double x0[2] = {0.0, 0.0}, rate = 1e5;
    for (int m = 0; m < 2; m++) {
        cg_run_t *const run = make_stiff(STIFF_DECAY, rate, both[m], 1e-9);
        run->signals = &given.signal;
        double y[2 * 3];
        const double at[3] = {0.75, 1.0, 2.5};
        cg_record_t record = at_times(at, 3, NULL, y, 2);
        CHECK(go(run, 0.0, x0, 3.0, &record) == CG_OK);
        CHECK_NEAR(y[0], 0.75 - 1.0 / rate, 1e-8);
        CHECK_NEAR(y[1], 0.75 - 1e3 / rate, 1e-7);
        CHECK_NEAR(y[2], 1.0 - 1.0 / rate, 1e-8);
        CHECK_NEAR(y[4], 4.25 + 0.5 / rate, 1e-8);
        CHECK_NEAR(y[5], 4.25 + 0.5e3 / rate, 1e-7);
        CHECK(run->n_steps < 1500);
        cg_run_delete(run);
    }
}

static void test_auto_is_its_explicit_method_where_nothing_is_stiff(void)
{
    const double x0[2] = {1.0, 0.0};
    for (int digits = 3; digits <= 12; digits += 3) {
        cg_run_t *const run = make_stiff(STIFF_OSCILLATOR, 3.0, "auto", pow(10.0, -digits));
        cg_run_t *const plain = make_stiff(STIFF_OSCILLATOR, 3.0, CG_AUTO_EXPLICIT, pow(10.0, -digits));
        CHECK(go(run, 0.0, x0, 200.0, NULL) == CG_OK && go(plain, 0.0, x0, 200.0, NULL) == CG_OK);
        CHECK(run->n_steps == plain->n_steps && same_bits(run->x, plain->x, 2) && !run->stiff);
        CHECK((double)run->n_rhs < 1.1 * (double)plain->n_rhs); /* the cost of the stiffness test */
        cg_run_delete(plain);
        cg_run_delete(run);
    }
}

static void test_auto_changes_and_changes_back(void)
{
    /* Relaxation oscillations: stiff on the slow branches, not in between. */
    const double x0[2] = {2.0, 0.0};
    cg_run_t *const run = make_stiff(STIFF_VAN_DER_POL, 1e4, "auto", 1e-8);
    cg_run_t *const implicit = make_stiff(STIFF_VAN_DER_POL, 1e4, "rodas5p", 1e-8);
    int changes = 0, was = 0, status;
    CHECK(cg_run_start(run, 0.0, x0, 3e4) == CG_OK);
    while ((status = cg_drive(run, NULL, 1)) == CG_BUDGET_USED) {
        changes += run->stiff != was;
        was = run->stiff;
    }
    CHECK(status == CG_OK && changes >= 4);
    CHECK(go(implicit, 0.0, x0, 3e4, NULL) == CG_OK);
    CHECK_NEAR(run->x[0], implicit->x[0], 1e-5);
    CHECK((double)run->n_rhs < 1.2 * (double)implicit->n_rhs);
    cg_run_delete(implicit);
    cg_run_delete(run);
}

static void test_auto_leaves_a_motion_that_is_stiff_no_more(void)
{
    /* The rate falls in the middle of the run. */
    const double x0[2] = {1.0, 0.0};
    cg_run_t *const run = make_stiff(STIFF_DECAY, 1e5, "auto", 1e-6);
    CHECK(go(run, 0.0, x0, 10.0, NULL) == CG_OK && run->stiff);
    run->p[0] = STIFF_OSCILLATOR;
    run->p[1] = 2.0;
    memcpy(run->x, x0, sizeof x0);
    cg_run_changed(run);
    CHECK(cg_run_extend(run, 100.0) == CG_OK && cg_drive(run, NULL, -1) == CG_OK && !run->stiff);
    CHECK_NEAR(run->x[0], cos(180.0), 1e-3);
    cg_run_delete(run);
}

static void test_save_and_restore(void)
{
    const double x0[2] = {2.0, 0.0};
    for (int m = 0; m < 2; m++) {
        cg_run_t *const run = make_stiff(STIFF_VAN_DER_POL, 1e3, both[m], 1e-8);
        cg_run_t *const other = make_stiff(STIFF_VAN_DER_POL, 1e3, both[m], 1e-8);
        void *const saved = malloc(run->size);
        CHECK(saved != NULL);
        for (int stop = 5; stop < 400; stop += 13) {
            CHECK(cg_run_start(run, 0.0, x0, 2e3) == CG_OK && cg_drive(run, NULL, stop) == CG_BUDGET_USED);
            memcpy(saved, run, run->size);
            CHECK(cg_drive(run, NULL, 60) == CG_BUDGET_USED);
            CHECK(cg_run_restore(other, saved, run->size) == CG_OK && cg_drive(other, NULL, 60) == CG_BUDGET_USED);
            CHECK(run->t == other->t && same_bits(run->x, other->x, 2) && run->n_rhs == other->n_rhs);
            CHECK(run->n_lu == other->n_lu && run->stiff == other->stiff);
        }
        free(saved);
        cg_run_delete(other);
        cg_run_delete(run);
    }
}

static void test_without_a_jacobian(void)
{
    const size_t size = cg_run_size(&top_model, "rodas5p");
    cg_run_t *const run = cg_run_new(size);
    CHECK(cg_run_init(run, size, &top_model, "rodas5p", 0) == CG_UNSUPPORTED);
    cg_run_delete(run);
    /* the Jacobian fails on the way: the implicit method ends there, the other one continues */
    const double x0[2] = {1.0, 0.0};
    cg_run_t *const stuck = make_stiff(STIFF_NO_SLOPE, 0.0, "rodas5p", 1e-6);
    CHECK(go(stuck, 0.0, x0, 5.0, NULL) == CG_SINGULAR && stuck->x[0] < 0.5 && stuck->x[0] > 0.1);
    cg_run_delete(stuck);
    cg_run_t *const on = make_stiff(STIFF_NO_SLOPE, 0.0, "auto", 1e-6);
    CHECK(cg_run_start(on, 0.0, x0, 5.0) == CG_OK);
    on->stiff = 1;
    CHECK(cg_drive(on, NULL, -1) == CG_OK && !on->stiff);
    CHECK_NEAR(on->x[0], exp(-5.0), 1e-5);
    cg_run_delete(on);
}

int main(void)
{
    test_linear_solver();
    test_orders();
    test_order_with_a_sampled_input();
    test_order_of_a_stiff_problem();
    test_decay();
    test_singular_matrix();
    test_dense_order();
    test_van_der_pol();
    test_backward();
    test_sampled_input();
    test_auto_is_its_explicit_method_where_nothing_is_stiff();
    test_auto_changes_and_changes_back();
    test_auto_leaves_a_motion_that_is_stiff_no_more();
    test_save_and_restore();
    test_without_a_jacobian();
    CHECK_DONE();
}
