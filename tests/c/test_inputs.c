/* Inputs: x'' = -w^2 x + tau(t) with tau held, linear, or called, against closed forms. */
#include "helpers.h"

static const double omega = 1.3;

/* Exact motion over `span` with tau(t) = tau + slope * s: x - tau_s / w^2 oscillates freely. */
static void swing(double *x, double tau, double slope, double span)
{
    const double w = omega, a = x[0] - tau / (w * w), b = (x[1] - slope / (w * w)) / w;
    x[0] = a * cos(w * span) + b * sin(w * span) + (tau + slope * span) / (w * w);
    x[1] = -a * w * sin(w * span) + b * w * cos(w * span) + slope / (w * w);
}

static const double knots[6] = {-1.0, 0.5, 1.25, 1.25, 3.0, 4.0};
static const double samples[6] = {2.0, -1.0, 0.7, -2.0, 1.5, 0.25};

/* Exact motion from t0 to t1 (either direction) under the samples above, clamped outside. */
static void exact(double *x, double t0, double t1, int linear)
{
    const double sign = t1 < t0 ? -1.0 : 1.0;
    double t = t0;
    while (sign * (t1 - t) > 0.0) {
        double next = t1, tau, slope = 0.0;
        for (int j = 0; j < 6; j++) {
            if (sign * (knots[j] - t) > 0.0 && sign * (next - knots[j]) > 0.0) {
                next = knots[j];
            }
        }
        const double middle = 0.5 * (t + next);
        int j = -1;
        while (j < 5 && knots[j + 1] <= middle) {
            j++;
        }
        tau = samples[j < 0 ? 0 : j];
        if (linear && j >= 0 && j < 5) {
            slope = (samples[j + 1] - samples[j]) / (knots[j + 1] - knots[j]);
            tau += slope * (t - knots[j]);
        }
        swing(x, tau, slope, next - t);
        t = next;
    }
}

static cg_run_t *make_wave(const char *method, const cg_signal_t *signal)
{
    cg_run_t *const run = make_run(&oscillator_model, method, 0, 1e-11);
    run->p[0] = omega;
    run->signals = signal;
    run->first_step = strcmp(method, "rk4") == 0 ? 2e-3 : 0.0;
    return run;
}

static void test_number_of_powers(void)
{
    samples_t given;
    set_samples(&given, 1, 6, knots, samples);
    const int32_t right = given.signal.n_powers, wrong[3] = {-1, 0, CG_CURVE + 2};
    for (int k = 0; k < 3; k++) {
        const double x0[2] = {0.4, -0.2};
        cg_run_t *const run = make_wave("dop853", &given.signal);
        given.signal.n_powers = wrong[k];
        CHECK(go(run, 0.0, x0, 1.0, NULL) == CG_BAD_ARGUMENT);
        given.signal.n_powers = right;
        CHECK(go(run, 0.0, x0, 1.0, NULL) == CG_OK);
        cg_run_delete(run);
    }
}

static void test_samples(void)
{
    static const double spans[5][2] = {{-2.0, 5.0}, {5.0, -2.0}, {0.5, 4.0}, {1.25, 0.0}, {0.0, 1.25}};
    static double t[10000];
    for (int m = 0; m < N_METHODS; m++) {
        for (int linear = 0; linear < 2; linear++) {
            samples_t given;
            set_samples(&given, linear, 6, knots, samples);
            for (int s = 0; s < 5; s++) {
                const double x0[2] = {0.4, -0.2}, sign = spans[s][1] < spans[s][0] ? -1.0 : 1.0;
                double x[2] = {0.4, -0.2};
                cg_run_t *const run = make_wave(methods[m], &given.signal);
                cg_record_t record = every_step(t, NULL, 0, 10000);
                exact(x, spans[s][0], spans[s][1], linear);
                CHECK(go(run, spans[s][0], x0, spans[s][1], &record) == CG_OK);
                CHECK_NEAR(run->x[0], x[0], 1e-9);
                CHECK_NEAR(run->x[1], x[1], 1e-9);
                /* a step ends at every interior knot */
                for (int j = 0; j < 6; j++) {
                    int hit = 0;
                    for (int64_t i = 0; i < record.n_rows; i++) {
                        hit = hit || t[i] == knots[j];
                    }
                    CHECK(hit == (sign * (knots[j] - spans[s][0]) >= 0.0 && sign * (spans[s][1] - knots[j]) >= 0.0));
                }
                cg_run_delete(run);
            }
        }
    }
}

static void test_dense_output_next_to_a_knot(const char *method)
{
    /* The interpolant of the step ending at a knot must not use the input after it. */
    const cg_signal_t signal = {CG_SIGNAL_POLYNOMIAL, 1, 6, knots, samples, 0, 0, 0};
    const double x0[2] = {0.4, -0.2};
    double times[60], y[120];
    cg_run_t *const run = make_wave(method, &signal);
    cg_record_t record = at_times(times, 60, NULL, y, 2);
    for (int i = 0; i < 60; i++) {
        times[i] = 0.08 * i;
    }
    CHECK(go(run, 0.0, x0, 5.0, &record) == CG_OK && record.n_rows == 60);
    for (int i = 0; i < 60; i++) {
        double x[2] = {0.4, -0.2};
        exact(x, 0.0, times[i], 0);
        CHECK_NEAR(y[2 * i], x[0], 1e-8);
        CHECK_NEAR(y[2 * i + 1], x[1], 1e-8);
    }
    cg_run_delete(run);
}

struct drive {
    double rate;
    int64_t calls;
    int64_t fail_at; /* negative: never */
};

static int drive_call(void *context, double t, const double *x, double *u)
{
    struct drive *const drive = context;
    (void)x;
    if (drive->calls++ == drive->fail_at) {
        return CG_INPUT_FAILED;
    }
    u[0] = cos(drive->rate * t);
    return CG_OK;
}

static void test_call(const char *method)
{
    /* x'' + w^2 x = cos(r t) from rest: x = (cos r t - cos w t) / (w^2 - r^2) */
    const cg_signal_t signal = {CG_SIGNAL_CALL, 0, 0, NULL, NULL, 0, 0, 0};
    const double rest[2] = {0.0, 0.0};
    struct drive drive = {0.7, 0, -1};
    cg_run_t *const run = make_wave(method, &signal);
    run->input_fn = drive_call;
    run->input_context = &drive;
    CHECK(go(run, 0.0, rest, 10.0, NULL) == CG_OK);
    CHECK_NEAR(run->x[0], (cos(7.0) - cos(13.0)) / (1.69 - 0.49), 1e-9);
    CHECK(drive.calls == run->n_rhs);
    for (int64_t fail_at = 0; fail_at < 40; fail_at += 13) {
        drive.calls = 0;
        drive.fail_at = fail_at;
        CHECK(go(run, 0.0, rest, 10.0, NULL) == CG_INPUT_FAILED);
        CHECK(drive.calls == fail_at + 1);
    }
    cg_run_delete(run);
}

static void test_changed_by_hand(void)
{
    /* a host changes the constant input between two advances */
    const double x0[2] = {0.4, -0.2};
    double x[2] = {0.4, -0.2};
    cg_run_t *const run = make_wave("dop853", NULL);
    CHECK(go(run, 0.0, x0, 1.0, NULL) == CG_OK);
    run->u[0] = 2.5;
    cg_run_inputs_changed(run);
    CHECK(cg_run_extend(run, 3.0) == CG_OK && cg_drive(run, NULL, -1) == CG_OK);
    swing(x, 0.0, 0.0, 1.0);
    swing(x, 2.5, 0.0, 2.0);
    CHECK_NEAR(run->x[0], x[0], 1e-9);
    CHECK_NEAR(run->x[1], x[1], 1e-9);
    cg_run_delete(run);
}

static void test_save_inside_a_segment(const char *method)
{
    const double x0[2] = {0.4, -0.2};
    double end[2];
    samples_t given;
    set_samples(&given, 1, 6, knots, samples);
    cg_run_t *const run = make_wave(method, &given.signal);
    cg_run_t *const other = make_wave(method, &given.signal);
    void *const saved = malloc(run->size);
    CHECK(saved != NULL);
    CHECK(cg_run_start(run, 0.0, x0, 5.0) == CG_OK && cg_drive(run, NULL, 5) == CG_BUDGET_USED);
    memcpy(saved, run, run->size);
    CHECK(cg_drive(run, NULL, -1) == CG_OK);
    memcpy(end, run->x, sizeof end);
    CHECK(cg_run_restore(other, saved, other->size) == CG_OK && cg_drive(other, NULL, -1) == CG_OK);
    CHECK(same_bits(end, other->x, 2));
    free(saved);
    cg_run_delete(run);
    cg_run_delete(other);
}

static void test_cubic(const char *method)
{
    /* x = t^3 solves x'' + w^2 x = 6 t + w^2 t^3, which is expanded about other times; from t = 2 on w^2 x is the same. */
    static const double times[3] = {-1.0, 0.5, 2.0};
    const double s = omega * omega, x0[2] = {-8.0, 12.0};
    double rows[12] = {0.0};
    for (int j = 0; j < 2; j++) {
        const double t = times[j], c[4] = {6.0 * t + s * t * t * t, 6.0 + 3.0 * s * t * t, 3.0 * s * t, s};
        memcpy(rows + 4 * j, c, sizeof c);
    }
    rows[8] = 8.0 * s;
    const cg_signal_t signal = {CG_SIGNAL_POLYNOMIAL, 4, 3, times, rows, 0, 0, 0};
    cg_run_t *const run = make_wave(method, &signal);
    CHECK(go(run, -2.0, x0, 2.0, NULL) == CG_OK);
    CHECK_NEAR(run->x[0], 8.0, 1e-8);
    CHECK_NEAR(run->x[1], 12.0, 1e-8);
    CHECK_NEAR(run->u[0], 12.0 + 8.0 * s, 1e-12); /* at the end, as the last step used it */
    CHECK_NEAR(run->u_slope[0], 6.0 + 12.0 * s, 1e-12);
    CHECK(cg_run_extend(run, 3.0) == CG_OK && cg_drive(run, NULL, -1) == CG_OK && run->u[0] == 8.0 * s);
    CHECK_NEAR(run->x[0], 8.0 + 12.0 * sin(omega) / omega, 1e-8);
    cg_run_delete(run);
}

static void test_unset_inputs(void)
{
    cg_variable_t tau = oscillator_model.inputs[0];
    cg_model_t model = oscillator_model;
    tau.example = NAN;
    model.inputs = &tau;
    cg_run_t *const run = make_run(&model, "rk4", 0, 1e-9);
    CHECK(run->u[0] == 0.0);
    cg_run_delete(run);
}

int main(void)
{
    test_unset_inputs();
    test_number_of_powers();
    test_samples();
    for (int m = 0; m < N_METHODS; m++) {
        test_dense_output_next_to_a_knot(methods[m]);
    }
    for (int m = 0; m < N_METHODS; m++) {
        test_call(methods[m]);
    }
    test_changed_by_hand();
    for (int m = 0; m < N_METHODS; m++) {
        test_save_inside_a_segment(methods[m]);
        test_cubic(methods[m]);
    }
    CHECK_DONE();
}
