/* cg_evaluate.c: a model's right-hand side outside of a step, with the inputs and what depends on parameters alone. */
#include "cg_internal.h"
#include "cg_step.h"

#define CG_FN(name) cg_evaluate_##name
#define CG_NO_METHODS
#include "methods/cg_method.h"
#undef CG_NO_METHODS
#undef CG_FLATTEN
#undef CG_COPIED
#undef CG_APART
#undef CG_RHS
#undef CG_NU
#undef CG_OWN
#undef CG_TANGENTS
#undef CG_N
#undef CG_FN

/* Whether knot i is before t in the direction of time: its time is <= t forward, < t backward. */
static inline int cg_evaluate_is_before(const cg_signal_t *signal, int64_t i, cg_time_t t, double direction)
{
    return signal->t[i] < t || (direction > 0.0 && signal->t[i] == t);
}

/* Whether k knots are before t. */
static inline int cg_evaluate_are_before(const cg_signal_t *signal, int64_t k, cg_time_t t, double direction)
{
    return k >= 0 && k <= signal->n && (k == 0 || cg_evaluate_is_before(signal, k - 1, t, direction))
           && (k == signal->n || !cg_evaluate_is_before(signal, k, t, direction));
}

/* Number of knots before t; the guess is right if the run has come from one to the next. */
static int64_t cg_evaluate_knots_before(const cg_signal_t *signal, cg_time_t t, double direction, int64_t guess)
{
    int64_t low = 0, high = signal->n;
    if (cg_evaluate_are_before(signal, guess, t, direction)) {
        return guess;
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (cg_evaluate_is_before(signal, middle, t, direction)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int cg_evaluate_rated(const cg_model_t *model)
{
    for (int32_t i = 0; i < model->n_inputs; i++) {
        if (model->inputs[i].flags & CG_RATE) {
            return 1;
        }
    }
    return 0;
}

void cg_evaluate_piece(const cg_signal_t *signal, int64_t row, int64_t before, double *c)
{
    const int32_t n = signal->joined ? signal->n_powers / 2 : signal->n_powers;
    const double *const value = signal->value + signal->row * row + n * (before > 0 ? before - 1 : 0);
#if defined(__GNUC__)
    __builtin_prefetch(value + 16); /* of this row, soon */
#endif
    const int joins = signal->joined && before > 0 && before < signal->n;
    const double h = joins ? cg_time_span(signal->t[before - 1], signal->t[before]) : 0.0;
    for (int32_t k = 0; k <= CG_CURVE; k++) {
        c[k] = k < n ? value[k] : 0.0;
    }
    if (h > 0.0) {
        const double m = (value[n] - value[0]) / h;
        if (n == 1) {
            c[1] = m;
        } else { /* with slopes */
            const double twist = (value[1] + value[3] - 2.0 * m) / h;
            c[2] = (m - value[1]) / h - twist;
            c[3] = twist / h;
        }
    } else if (signal->joined) {
        c[1] = 0.0;
    }
    for (int32_t order = 0; order < signal->order; order++) {
        for (int32_t k = 0; k < CG_CURVE; k++) {
            c[k] = (double)(k + 1) * c[k + 1];
        }
        c[CG_CURVE] = 0.0;
    }
}

cg_time_t cg_evaluate_segment(const cg_signal_t *signal, int64_t row, cg_time_t t, double direction, cg_time_t t_stop,
                              int64_t *before, cg_segment_t *segment)
{
    const int64_t after = cg_evaluate_knots_before(signal, t, direction, *before + (direction > 0.0 ? 1 : -1));
    const int64_t knot = direction > 0.0 ? after : after - 1;
    *before = after;
    segment->time = signal->t[after > 0 ? after - 1 : 0];
    cg_evaluate_piece(signal, row, after, segment->c);
    const int inside = knot >= 0 && knot < signal->n && direction * cg_time_span(signal->t[knot], t_stop) > 0.0;
    return inside ? signal->t[knot] : t_stop;
}

void cg_evaluate_put_segment(const cg_run_t *run, int32_t i, const cg_segment_t *segment)
{
    run->u_time[i] = segment->time;
    run->u_value[i] = segment->c[0];
    run->u_slope[i] = segment->c[1];
    memcpy(run->u_curve + (ptrdiff_t)CG_CURVE * i, segment->c + 1, CG_CURVE * sizeof *segment->c);
}

void cg_evaluate_pass(const cg_run_t *run, double t)
{
    const cg_time_t now = cg_time_outside(run, t);
    for (int32_t i = 0; run->signals != NULL && i < run->model->n_inputs; i++) {
        const cg_signal_t *const signal = &run->signals[i];
        if (signal->kind == CG_SIGNAL_POLYNOMIAL
            && !cg_evaluate_are_before(signal, run->knots[i], now, run->direction)) {
            cg_segment_t segment;
            cg_evaluate_segment(signal, run->row, now, run->direction, run->t_end, &run->knots[i], &segment);
            cg_evaluate_put_segment(run, i, &segment);
        }
    }
}

void cg_evaluate_moving(const cg_model_t *model, int32_t i, cg_time_t t, const double *u, ptrdiff_t apart,
                        cg_segment_t *segment)
{
    double factor = 1.0;
    memset(segment, 0, sizeof *segment);
    segment->time = t;
    segment->c[0] = u[i * apart];
    for (int32_t k = 1; k <= CG_CURVE && i + k < model->n_inputs && model->inputs[i + k].flags & CG_RATE; k++) {
        factor /= (double)k;
        segment->c[k] = factor * u[(i + k) * apart];
    }
}

int cg_evaluate_run_hoist(cg_run_t *run)
{
    double *const q = run->p + run->model->n_parameters;
    if (run->varied != NULL) {
        return run->varied->hoist == NULL ? CG_OK : run->varied->hoist(run->n_blocks, run->p, q);
    }
    return run->model->hoist == NULL ? CG_OK : run->model->hoist(run->p, q);
}

int cg_evaluate_project(cg_run_t *run, double *out)
{
    const double t = cg_time_of_model(run, run->t);
    CG_TRY(cg_evaluate_run_inputs(run, run->t, run->x));
    return run->varied == NULL ? run->model->project(t, run->x, run->p, run->u, out, run->work)
                               : run->varied->project(run->n_blocks, t, run->x, run->p, run->u, out, run->work);
}

int cg_evaluate_reset(cg_run_t *run, int32_t event, double *out)
{
    const double t = cg_time_of_model(run, run->t);
    return run->varied == NULL ? run->model->reset(event, t, run->x, run->p, run->u, out, run->work)
                               : run->varied->reset(run->n_blocks, event, t, run->x, run->p, run->u, out, run->work);
}

int cg_evaluate_probe(cg_run_t *run, double t, const double *x, double *out)
{
    const int status = cg_evaluate_rhs(run, t, x, out);
    return status != CG_OK ? status : cg_step_finite(out, run->n) ? CG_OK : CG_NONFINITE;
}

/* Computes what depends on the parameters alone; a failure counts as the first call of the right-hand side. */
static int cg_evaluate_hoist(cg_run_t *run)
{
    const int status = cg_evaluate_run_hoist(run);
    run->n_rhs += status != CG_OK;
    return status;
}

int cg_evaluate_run_inputs(cg_run_t *run, double t, const double *x)
{
    return run->input_kind != 0 ? cg_evaluate_inputs(run, t, x) : CG_OK;
}

/* How fast input i, a function of the time, changes: by differences over 4 times `apart` into the past, and ever shorter ones
 * while that makes them more accurate; the function may be faster than the steps. */
static int cg_evaluate_slope(cg_run_t *run, int32_t i, double apart, double *found)
{
    static const double weights[] = {25.0 / 12.0, -4.0, 3.0, -4.0 / 3.0, 0.25}; /* of the fourth order, from one side */
    double least = HUGE_VAL, before = 0.0;
    int status = CG_OK;
    for (int level = 0; level < 9; level++, apart *= 0.125) {
        const double back = run->t - (run->t - apart); /* the distance of numbers that there are */
        double slope = 0.0, size = 0.0;
        if (back == 0.0) {
            return status;
        }
        for (int k = 4; k >= 0 && status == CG_OK; k--) { /* the last call leaves the inputs as they were */
            status = run->input_fn(run->input_context, cg_time_of_model(run, run->t - (double)k * back), run->x, run->u);
            slope += weights[k] * run->u[i] / back;
            size = cg_larger(size, fabs(run->u[i]));
        }
        const double rounding = 4.0 * DBL_EPSILON * size / fabs(back);
        const double error = level > 0 ? cg_larger(rounding, fabs(slope - before)) : HUGE_VAL;
        if (level == 0 || error < least) {
            *found = slope;
            least = error;
        }
        if (status != CG_OK || rounding >= least) {
            return status;
        }
        before = slope;
    }
    return status;
}

int cg_evaluate_input_slopes(cg_run_t *run, double past)
{
    const double future = fabs(cg_time_inside(run, run->t_end) - run->t);
    const double wanted = CG_SLOPE_STEP * run->h, side = 4.0 * wanted <= past || past >= future ? 1.0 : -1.0;
    const double apart = side * run->direction * cg_smaller(wanted, 0.25 * (side > 0.0 ? past : future));
    int status = CG_OK;
    for (int32_t i = 0; run->input_kind & CG_INPUT_CALL && i < run->model->n_inputs && status == CG_OK; i++) {
        if (run->signals[i].kind == CG_SIGNAL_CALL) {
            status = cg_evaluate_slope(run, i, apart, &run->u_slope[i]);
        }
    }
    return status;
}

int cg_evaluate_derivative(cg_run_t *run)
{
    int status = CG_OK;
    if (!run->have_f) {
        status = cg_evaluate_hoist(run);
        if (status == CG_OK) {
            status = cg_evaluate_probe(run, run->t, run->x, run->f);
        }
        run->have_f = status == CG_OK;
    }
    return status;
}

double cg_evaluate_run_first(const cg_run_t *run, double longest) { return cg_evaluate_first(run, longest); }
