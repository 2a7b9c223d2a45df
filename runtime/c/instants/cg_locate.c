/* cg_locate.c: repeats a step up to the time of an event; see cg_events.h. */
#include "step/cg_internal.h"
#include "step/cg_step.h"

#include <string.h>

enum { TRIALS = 8 };

void cg_locate_take_back(cg_run_t *run)
{
    cg_correct_take_back(run);
    run->t_anchor = run->detector->anchor;
    run->n_anchor = run->detector->n_anchor;
}

int cg_locate_spent(const cg_run_t *run) { return run->n_steps + run->n_rejected - run->n_spent >= run->max_steps; }

/* Repeats the step up to t_new, or up to where the method accepts it (enum cg_accepts): see run->t. */
static int cg_locate_step(cg_run_t *run, double t_new, int32_t accepts)
{
    const double t_stop = run->t_stop, h = run->h;
    cg_locate_take_back(run);
    run->t_stop = t_new;
    run->accepts = accepts;
    if (run->adaptive) {
        run->h = fabs(t_new - run->t);
    }
    const int status = cg_correct_run_step(run);
    run->t_stop = t_stop;
    run->h = h;
    return status;
}

/* An observed quantity at the end of the step. */
static int cg_locate_at_end(cg_run_t *run, int32_t index, double *g)
{
    const int status = cg_detector_evaluate(run, run->t, run->x, index, run->detector->values);
    *g = run->detector->values[index];
    return status;
}

/* Repeats the step to t and evaluates the quantity there. *landed is 0 if the method shortened the step. Beyond a kink, or as far as
 * the numbers at t resolve, the error of the step may be large. */
static int cg_locate_land(cg_run_t *run, int32_t index, double t, double *g, int *landed)
{
    const int kink = cg_detector_is_kink(run, index);
    int status = t == run->t ? CG_OK : cg_locate_step(run, t, kink ? CG_ACCEPTS_ALL : CG_ACCEPTS_FIT);
    *landed = run->t == t;
    if (status == CG_OK && *landed) {
        status = cg_locate_at_end(run, index, g);
    }
    if (status == CG_OK && run->accepts == CG_ACCEPTED_UNFIT && *g * run->detector->sign_new[index] > 0.0
        && fabs(t - run->t_old) > 16.0 * cg_step_smallest(t)) {
        status = cg_locate_step(run, t, CG_ACCEPTS_FIT);
        *landed = run->t == t;
    }
    return status;
}

/* Slope of the quantity on the interpolant, in units of the step. */
static int cg_locate_slope(cg_run_t *run, int32_t index, double low, double high, double *slope)
{
    double *const values = run->detector->values;
    int status = run->have_dense ? CG_OK : run->dense(run);
    if (status == CG_OK) {
        status = cg_detector_inside(run, low, index, values);
    }
    const double g_low = values[index];
    if (status == CG_OK) {
        status = cg_detector_inside(run, high, index, values);
    }
    *slope = (values[index] - g_low) / (high - low);
    return status;
}

/* A point on the tangent of the motion at the end of the step. */
typedef struct cg_tangent {
    double t, g;
} cg_tangent_t;

/* The observed quantity at time t on the tangent; the state is in detector->x. */
static int cg_locate_on_tangent(cg_run_t *run, int32_t index, double t, cg_tangent_t *point)
{
    cg_detector_t *const detector = run->detector;
    const double move = t - run->t;
    for (int32_t i = 0; i < run->n; i++) {
        detector->x[i] = cg_fma(move, run->f[i], run->x[i]);
    }
    const int status = cg_detector_evaluate(run, t, detector->x, index, detector->values);
    point->t = t;
    point->g = detector->values[index];
    return status;
}

/* Where a quantity that was at zero up to shortly before the end of the step, as Max(x, 0) may be, leaves it on the tangent. */
static int cg_locate_end_of_rest(cg_run_t *run, int32_t index, cg_tangent_t low, double *t)
{
    double far = run->t + (run->t - low.t);
    far = run->direction * (far - run->t_stop) > 0.0 ? run->t_stop : far;
    cg_tangent_t high, middle;
    int status = cg_locate_on_tangent(run, index, far, &high);
    *t = run->t;
    while (status == CG_OK && high.g != 0.0) {
        const double half = low.t + 0.5 * (high.t - low.t);
        if (half == low.t || half == high.t) {
            *t = high.t;
            break;
        }
        status = cg_locate_on_tangent(run, index, half, &middle);
        *(middle.g != 0.0 ? &high : &low) = middle;
    }
    return status;
}

/* Where the tangent meets the zero of a quantity, by the secant method, from the value g at the end of the step. The
 * nearest number to it, at most t_stop. */
static int cg_locate_tangent_root(cg_run_t *run, int32_t index, double g, double *t)
{
    const double length = run->t - run->t_old, begin = run->t_old + run->direction * cg_step_smallest(run->t_old);
    cg_tangent_t best = {run->t, g}, before;
    int status = cg_locate_on_tangent(run, index, run->t - CG_SECANT * length, &before);
    double slope = (g - before.g) / (run->t - before.t);
    if (status == CG_OK && before.g == 0.0) {
        return cg_locate_end_of_rest(run, index, before, t);
    }
    for (int trial = 0; status == CG_OK && trial < TRIALS && best.g != 0.0; trial++) {
        double next = best.t - best.g / slope;
        next = run->direction * (next - run->t_stop) > 0.0 ? run->t_stop : next;
        cg_tangent_t point;
        if (!(fabs(next - run->t) < 0.01 * fabs(length)) || run->direction * (next - begin) < 0.0 || next == best.t) {
            break;
        }
        status = cg_locate_on_tangent(run, index, next, &point);
        if (status != CG_OK || !(fabs(point.g) < fabs(best.g))) { /* no closer */
            break;
        }
        slope = (point.g - best.g) / (point.t - best.t) * slope > 0.0 ? (point.g - best.g) / (point.t - best.t) : slope;
        best = point;
    }
    *t = best.t;
    return status;
}

/* ---- kinks and jumps ---- */

/* For a step that ends before a zero: the time of the zero, by extrapolating the interpolant. It stays where it is if that leads
 * away from it, as half way between the knots of a table. */
static int cg_locate_carry_on(cg_run_t *run, int32_t index, double *t)
{
    const double length = run->t - run->t_old, most = 1.5 * (*t - run->t_old) / length;
    double theta = 1.0, slope, g;
    int status = cg_locate_slope(run, index, 0.99, 1.0, &slope);
    g = run->detector->values[index];
    for (int trial = 0; status == CG_OK && trial < TRIALS; trial++) {
        const double next = theta - g / slope;
        if (!(next >= 1.0 && next <= most)) {
            return CG_OK;
        }
        if (fabs(next - theta) < DBL_EPSILON) {
            break;
        }
        const double g_before = g;
        status = cg_detector_inside(run, next, index, run->detector->values);
        g = run->detector->values[index];
        if ((g - g_before) / (next - theta) * slope > 0.0) {
            slope = (g - g_before) / (next - theta);
        }
        theta = next;
    }
    *t = run->t_old + theta * length;
    return status;
}

/* Moves a few spacings of the numbers at t, along the interpolant, to where the quantity has the sign `after`. */
static int cg_locate_step_over(cg_run_t *run, int32_t index, double after)
{
    cg_detector_t *const detector = run->detector;
    const double length = run->t - run->t_old;
    double moved = 0.5 * cg_step_smallest(run->t), g;
    int status = run->have_dense ? CG_OK : run->dense(run);
    if (status == CG_OK) {
        status = cg_locate_at_end(run, index, &g);
    }
    if (status != CG_OK || g * after > 0.0) {
        return status;
    }
    cg_dense_evaluate(run->coef, run->n_dense, run->ld, run->n, 1.0 - CG_TAIL, detector->x_jump, 1);
    for (int trial = 0; trial < 12; trial++, moved *= 2.0) {
        const double ahead = run->t + run->direction * moved;
        const int last = run->direction * (ahead - run->t_stop) >= 0.0;
        const double t = last ? run->t_stop : ahead;
        for (int32_t i = 0; i < run->n; i++) {
            detector->x[i] = run->x[i] + (run->x[i] - detector->x_jump[i]) * (1.0 / CG_TAIL * (t - run->t) / length);
        }
        status = cg_detector_evaluate(run, t, detector->x, index, detector->values);
        if (status != CG_OK || last || detector->values[index] * after > 0.0) {
            memcpy(run->x, detector->x, sizeof(double) * (size_t)run->n);
            run->t = t;
            break;
        }
    }
    run->have_f = 0;
    return status;
}

int cg_locate(cg_run_t *run, int32_t index, double t, double end, int *landed)
{
    const double after = -run->detector->sign_new[index];
    double g = 0.0;
    int status = CG_OK;
    *landed = 1;
    for (int trial = 0; status == CG_OK && trial < TRIALS; trial++) {
        status = cg_locate_land(run, index, t, &g, landed);
        if (status == CG_OK && *landed) {
            status = cg_locate_tangent_root(run, index, g, &t);
        }
        if (status != CG_OK || !*landed || t == run->t) {
            break;
        }
        if (fabs(t - run->t) <= CG_TANGENT * fabs(run->t - run->t_old)) {
            cg_tangent_t moved;
            status = cg_locate_on_tangent(run, index, t, &moved);
            memcpy(run->x, run->detector->x, sizeof(double) * (size_t)run->n);
            run->t = t;
            run->have_f = 0;
            /* it jumps: even the nearest value is far from zero */
            const int before = moved.g * after < -CG_SIDE * run->detector->scale[index];
            return status == CG_OK && before ? cg_locate_step_over(run, index, after) : status;
        }
    }
    if (status != CG_OK || !*landed || fabs(g) <= CG_SIDE * run->detector->scale[index]) {
        return status;
    }
    /* It is not zero here: it jumps, as an input function may, or the interpolant of a step across a jump was wrong. */
    if (g * after < 0.0) {
        status = cg_locate_step_over(run, index, after);
        status = status == CG_OK ? cg_locate_at_end(run, index, &g) : status;
        *landed = g * after >= 0.0;
    } else {
        *landed = !(fabs(end - run->t) > 4.0 * cg_step_smallest(run->t));
    }
    return status;
}

int cg_locate_behind_start(cg_run_t *run, int32_t index, int *landed)
{
    const double t = run->t_old + run->direction * 2.0 * cg_step_smallest(run->t_old);
    double g = 0.0;
    const int status = cg_locate_land(run, index, run->direction * (t - run->t) < 0.0 ? t : run->t, &g, landed);
    *landed = *landed && g * run->detector->sign_new[index] <= 0.0;
    return status;
}

int cg_locate_goes_back(cg_run_t *run, int32_t index)
{
    const double after = -run->detector->sign_new[index];
    cg_tangent_t here, ahead;
    return cg_evaluate_derivative(run) == CG_OK && cg_locate_on_tangent(run, index, run->t, &here) == CG_OK
        && cg_locate_on_tangent(run, index, run->t + run->direction * CG_MOMENT_OF_STEP * run->h, &ahead) == CG_OK
        && (ahead.g - here.g) * after < 0.0;
}

/* The interpolant of a step across a jump of the right-hand side is wrong before the jump as well. So the kink is
 * approached by steps that end before it, half of the way, then 99 %, with the zero extrapolated each time. */
int cg_locate_kink(cg_run_t *run, int32_t index, double theta, int *landed)
{
    const double begin = run->t_old, after = -run->detector->sign_new[index];
    const double smallest = cg_step_smallest(begin);
    double zero = begin + theta * (run->t - begin), part = 0.5, t = zero, g = 0.0;
    double before = cg_step_smallest(zero);
    int status = CG_OK, last = 0;
    for (int trial = 0; trial < 60 && status == CG_OK; trial++) {
        if (cg_locate_spent(run)) {
            *landed = 0;
            return CG_OK;
        }
        t = begin + part * (zero - begin);
        last = part == 1.0 || fabs(t - begin) < 4.0 * smallest || fabs(zero - t) < smallest;
        if (last) {
            t = fabs(zero - begin) > 8.0 * smallest + before ? zero - run->direction * before : zero;
        }
        status = cg_locate_land(run, index, t, &g, landed);
        if (status != CG_OK || !*landed || (last && (g * after < 0.0 || t == zero))) {
            break;
        }
        if (g * after >= 0.0) { /* already beyond it */
            zero = t;
            before = last ? 2.0 * before : before;
            continue;
        }
        status = cg_locate_carry_on(run, index, &zero);
        zero = run->direction * (zero - run->t_stop) > 0.0 ? run->t_stop : zero;
        part = part < 0.9 ? 0.99 : 1.0;
    }
    return status == CG_OK && *landed ? cg_locate_step_over(run, index, after) : status;
}
