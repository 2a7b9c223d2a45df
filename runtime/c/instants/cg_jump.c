/* cg_jump.c: derivatives in the state over an instant at which something happens; see cg_jump_at_t. */
#include "step/cg_internal.h"
#include "step/cg_step.h"

#include <string.h>

/* The `choose` of cg_jump_at_t: contacts whose own quantities are not done keep their modes. */
static int cg_jump_choose(void *context, const unsigned char *done, const double *x, double *modes)
{
    cg_run_t *const run = (cg_run_t *)context;
    cg_detector_t *const detector = run->detector;
    double *const present = run->u + detector->n_inputs;
    const size_t bytes = sizeof(double) * (size_t)run->n, of_modes = sizeof(double) * (size_t)detector->n_modes;
    const int32_t n_solutions = detector->n_solutions;
    int reset = 0;
    memcpy(run->x_trial, run->x, bytes);
    memcpy(run->x, x, sizeof(double) * (size_t)run->n_own);
    memcpy(detector->chosen, present, of_modes);
    memcpy(present, detector->modes, of_modes);
    for (int32_t i = 0; i < run->model->n_events; i++) {
        reset = reset || (done[i] && detector->fired[i] != 0.0 && run->model->events[i].has_reset);
    }
    int status = cg_modes_free(run, reset);
    for (int32_t i = 0; i < detector->n_contacts; i++) {
        for (int what = 0; what < CG_CONTACT_OBSERVED; what++) {
            const int32_t own = CG_CONTACT_OBSERVED * i + what;
            if (detector->fired[detector->first_contact + own] != 0.0 && !done[detector->n_guards + own]) {
                detector->free[i] = 0.0;
                present[i] = detector->modes[i];
            }
        }
    }
    memcpy(detector->present, present, of_modes);
    if (status == CG_OK) {
        status = cg_modes_choose(run);
    }
    memcpy(modes, present, of_modes);
    memcpy(present, detector->chosen, of_modes);
    memcpy(run->x, run->x_trial, bytes);
    detector->n_solutions = n_solutions;
    return status;
}

/* The `tell` of cg_jump_at_t: to the log. */
static void cg_jump_tell(void *context, int32_t cause, double group, const double *before, const double *after,
                         const double *modes)
{
    const cg_run_t *const run = (const cg_run_t *)context;
    const cg_detector_t *const detector = run->detector;
    const int32_t place = cause < detector->n_guards ? cause : cause - detector->n_guards + detector->first_contact;
    const ptrdiff_t n = run->n, n_modes = detector->n_modes;
    double *row = detector->log + (detector->n_log - 1) * detector->log_row;
    while (row[1] != (double)place) {
        row -= detector->log_row;
    }
    row += CG_LOG_HEAD + 2 * n;
    memcpy(row, modes, sizeof(double) * (size_t)n_modes);
    row += 2 * n_modes;
    row[1] = group;
    memcpy(row + 2, before, sizeof(double) * (size_t)run->n_own);
    memcpy(row + 2 + n, after, sizeof(double) * (size_t)run->n_own);
}

/* An input a moment before (-1.0) or after (1.0) the present, continued to it, and its slope. */
static double cg_jump_input(const cg_run_t *run, int32_t i, double side, double *slope)
{
    const double moment = side * run->direction * cg_step_smallest(run->t);
    const cg_time_t t = cg_time_outside(run, run->t + moment);
    int64_t before = 0;
    cg_segment_t at;
    cg_evaluate_segment(&run->signals[i], run->row, t, run->direction, run->t_end, &before, &at);
    const double s = cg_time_span(at.time, cg_time_outside(run, run->t)), *const c = at.c + 1;
    *slope = c[0] + s * (2.0 * c[1] + s * (3.0 * c[2]));
    return cg_curve_at(at.c[0], c, 1, s);
}

/* The `beside` of cg_jump_at_t. */
static int cg_jump_beside(void *context, double *u, double *u_slope)
{
    const cg_run_t *const run = (const cg_run_t *)context;
    int found = 0;
    for (int32_t i = 0; run->signals != NULL && i < run->model->n_inputs; i++) {
        double slopes[2];
        if (run->signals[i].kind != CG_SIGNAL_POLYNOMIAL) {
            continue;
        }
        const double before = cg_jump_input(run, i, -1.0, &slopes[0]), after = cg_jump_input(run, i, 1.0, &slopes[1]);
        if (before != after || slopes[0] != slopes[1]) {
            const int is_after = slopes[0] != slopes[1] ? run->u_slope[i] == slopes[1]
                                                        : fabs(run->u[i] - after) < fabs(run->u[i] - before);
            u[i] = is_after ? before : after;
            u_slope[i] = slopes[!is_after];
            found = 1;
        }
    }
    return found;
}

#define CG_RESOLVED 4096.0 /* of cg_step_smallest: further than a step that ends at a kink goes beyond it */

/* A short time compared with a step, if the numbers at t resolve it; or at a start, where no step is known yet, one in which the
 * motion changes little. */
static int cg_jump_moment(cg_run_t *run, double *moment)
{
    int status = CG_OK;
    *moment = run->direction * cg_larger(CG_MOMENT_OF_RATE * run->h, CG_RESOLVED * cg_step_smallest(run->t));
    if (run->h == 0.0) {
        status = cg_evaluate_derivative(run);
        memcpy(run->detector->f, run->f, sizeof(double) * (size_t)run->n);
        *moment = cg_detector_moment(run);
    }
    return status;
}

/* What is known of an instant wherever it is; `x`: the state of which the tolerance is. */
static void cg_jump_here(cg_run_t *run, double t, const double *x, cg_jump_at_t *at)
{
    cg_detector_t *const detector = run->detector;
    memset(at, 0, sizeof *at);
    at->n_blocks = run->n_blocks;
    at->t = cg_time_of_model(run, t);
    at->before = x;
    at->modes = detector->modes;
    at->u_slope = run->u_slope;
    at->tolerance = detector->tolerance;
    at->rtol = run->rtol;
    at->detector = detector;
    at->context = run;
    for (int32_t i = 0; i < run->n_own; i++) {
        detector->tolerance[i] = cg_step_scale(run->atol[i], run->rtol, x[i], x[i]);
    }
}

int cg_jump_kink(cg_run_t *run, int32_t kink, double t, const double *x, int *is)
{
    cg_jump_at_t at;
    *is = CG_KINK_GOES_ON;
    if (run->jump == NULL) {
        return CG_OK;
    }
    cg_jump_here(run, t, x, &at);
    at.asks = 1;
    at.kink = kink;
    const int status = cg_evaluate_run_inputs(run, t, x);
    *is = status == CG_OK ? run->jump(&at, run->p, run->u, run->x, run->work) : status;
    return *is < 0 ? *is : CG_OK;
}

int cg_jump_start(cg_run_t *run, int32_t known)
{
    cg_jump_at_t at;
    cg_jump_here(run, run->t, run->x, &at);
    at.starts = known;
    return run->jump(&at, run->p, run->u, run->x, run->work);
}

int cg_jump_event(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    cg_jump_at_t at;
    cg_jump_here(run, run->t, run->moved, &at);
    at.choose = cg_jump_choose;
    at.beside = cg_jump_beside;
    at.tell = detector->logs_fields ? cg_jump_tell : NULL;
    int status = cg_evaluate_input_slopes(run, detector->quiet);
    if (status == CG_OK) {
        status = cg_jump_moment(run, &at.moment);
    }
    if (status == CG_OK) {
        status = run->jump(&at, run->p, run->u, run->x, run->work);
    }
    run->have_f = 0;
    if (detector->goes_on && (status == CG_TANGENT_EVENT || status == CG_ORDER_MATTERS)) {
        status = CG_OK;
    }
    return status != CG_OK || cg_step_finite(run->x, run->n) ? status : CG_NONFINITE;
}
