/* cg_driver.c: the integration loop over the steps of any method; see cg_driver.h. */
#include "methods/cg_control.h"
#include "step/cg_internal.h"
#include "methods/cg_stiff.h"

/* ---- inputs ---- */

/* Forgets what was computed at run->t with other inputs. */
static void cg_driver_forget_point(cg_run_t *run)
{
    run->have_f = 0;
    if (run->detector != NULL) {
        run->detector->have_end = 0;
    }
}

cg_time_t cg_driver_segment(cg_run_t *run, cg_time_t t)
{
    cg_time_t t_stop = run->t_end;
    run->input_kind = 0;
    memset(run->u_slope, 0, sizeof(double) * (size_t)run->n_u); /* an input may have been linear before */
    for (int32_t i = 0; run->signals != NULL && i < run->model->n_inputs; i++) {
        const cg_signal_t *const signal = &run->signals[i];
        if (signal->kind == CG_SIGNAL_CALL) {
            run->input_kind |= CG_INPUT_CALL;
        }
        if (signal->kind == CG_SIGNAL_MOVING) {
            run->input_kind |= CG_INPUT_MOVES; /* it goes on as it was set */
        } else if (signal->kind == CG_SIGNAL_POLYNOMIAL) {
            cg_segment_t segment;
            const cg_time_t end = cg_evaluate_segment(signal, run->row, t, run->direction, t_stop, &run->knots[i], &segment);
            cg_evaluate_put_segment(run, i, &segment);
            run->input_kind |= run->passes || signal->n_powers > 1 ? CG_INPUT_MOVES : 0;
            t_stop = run->passes ? t_stop : end;
            run->u[i] = run->u_value[i];
            cg_driver_forget_point(run);
        }
    }
    return t_stop;
}

/* Inputs that move are now what run->u has. */
static void cg_driver_take_moving(cg_run_t *run)
{
    for (int32_t i = 0; run->signals != NULL && i < run->model->n_inputs; i++) {
        if (run->signals[i].kind == CG_SIGNAL_MOVING) {
            cg_segment_t segment;
            cg_evaluate_moving(run->model, i, cg_time_outside(run, run->t), run->u, 1, &segment);
            cg_evaluate_put_segment(run, i, &segment);
        }
    }
}

/* The same for the segment that begins at run->t, with run->t_stop at its end. */
static void cg_driver_enter_segment(cg_run_t *run)
{
    cg_time_rebase(run);
    cg_time_stop_at(run, cg_driver_segment(run, cg_time_outside(run, run->t)));
    run->t_anchor = run->t;
    run->n_anchor = 0;
}

/* ---- start ---- */

int cg_driver_options_valid(const cg_run_t *run)
{
    int valid = run->rtol >= 0.0 && run->rtol < HUGE_VAL && run->max_step > 0.0 && run->first_step >= 0.0
        && run->first_step < HUGE_VAL && run->max_steps > 0 && run->projection >= CG_PROJECT_NONE
        && run->projection <= CG_PROJECT_ALL;
    for (int32_t i = 0; i < run->n; i++) {
        valid = valid && run->atol[i] >= 0.0 && run->atol[i] < HUGE_VAL && run->atol[i] + run->rtol > 0.0;
    }
    for (int32_t i = 0; run->signals != NULL && i < run->model->n_inputs; i++) {
        const int32_t n = run->signals[i].kind == CG_SIGNAL_POLYNOMIAL ? run->signals[i].n_powers : 1;
        valid = valid && n >= 1 && n <= CG_CURVE + 1;
    }
    if (!run->adaptive) {
        valid = valid && (run->first_step > 0.0 || run->max_step < HUGE_VAL);
    }
    if (run->detector != NULL && run->detector->log != NULL) { /* with less room it could never go on */
        valid = valid && run->detector->log_capacity >= run->detector->n_observed;
    }
    return valid;
}

static void cg_driver_set_end(cg_run_t *run, cg_time_t t_end)
{
    run->t_end = t_end;
    run->n_spent = run->n_steps + run->n_rejected;
    run->direction = t_end < cg_time_outside(run, run->t) ? -1.0 : 1.0;
}

/* Resets the step-size control. */
static void cg_driver_forget_steps(cg_run_t *run)
{
    run->h = run->first_step;
    if (!run->adaptive) {
        run->h = run->h > 0.0 ? cg_smaller(run->h, run->max_step) : run->max_step;
    }
    run->log_old = CG_LEAST_LOG;
    run->rejected = 0;
    if (run->implicit) {
        cg_stiff_change(run, 0);
        run->last_stiff = 0;
    }
}

int cg_run_start(cg_run_t *run, cg_time_t t0, const double *x0, cg_time_t t_end)
{
    run->status = CG_OK;
    if (!cg_driver_options_valid(run)) {
        return run->status = CG_BAD_ARGUMENT;
    }
    for (int32_t i = 0; i < run->n; i++) {
        run->x[i] = run->x_start[i] = x0[i];
        run->atol[i] = cg_larger(run->atol[i], CG_ATOL_FLOOR);
    }
    cg_time_begin(run, t0);
    run->t_old = run->t;
    run->n_steps = run->n_before = 0;
    run->n_rejected = 0;
    run->n_rhs = 0;
    run->n_jac = 0;
    run->n_lu = 0;
    run->have_f = 0;
    run->have_dense = 0;
    run->recorded = 0;
    cg_driver_forget_steps(run);
    cg_correct_begin(run);
    if (run->detector != NULL) {
        cg_detector_reset(run->detector);
        memset(run->u + run->model->n_inputs, 0, sizeof(double) * (size_t)run->model->n_modes);
    }
    if (!cg_step_finite(run->x, run->n) || !cg_time_valid(t0) || !cg_time_valid(t_end)) {
        return run->status = CG_NONFINITE;
    }
    cg_driver_take_moving(run);
    cg_driver_set_end(run, t_end);
    cg_driver_enter_segment(run);
    return CG_OK;
}

cg_time_t cg_run_time(const cg_run_t *run) { return cg_time_outside(run, run->t); }

int cg_run_extend(cg_run_t *run, cg_time_t t_end)
{
    if (!cg_time_valid(t_end)) {
        return CG_BAD_ARGUMENT;
    }
    run->status = CG_OK;
    run->n_before = run->n_steps; /* as in a batch, whose runs keep no more than their columns */
    cg_driver_set_end(run, t_end);
    if (t_end != cg_time_outside(run, run->t)) { /* else modes are chosen for the inputs with which the run came here */
        cg_driver_enter_segment(run);
    }
    if (run->detector != NULL && run->detector->memory.direction != run->direction) {
        cg_detector_again(run->detector);
    }
    return CG_OK;
}

void cg_run_changed(cg_run_t *run)
{
    if (run->detector != NULL) {
        memset(run->detector->done, 0, sizeof(double) * (size_t)run->detector->n_guards);
        cg_detector_again(run->detector);
    }
    run->have_f = 0;
    run->have_dense = 0;
    cg_driver_enter_segment(run);
}

void cg_run_inputs_changed(cg_run_t *run)
{
    if (run->detector != NULL) {
        cg_detector_inputs_changed(run->detector);
    }
    cg_driver_forget_point(run);
    run->have_dense = 0;
    cg_driver_take_moving(run);
    cg_driver_enter_segment(run);
}

void cg_run_moved(cg_run_t *run)
{
    memcpy(run->x_start, run->x, sizeof(double) * (size_t)run->n);
    cg_driver_forget_steps(run);
    cg_run_changed(run);
}

/* ---- the loop ---- */

/* Everything a step needs at its start; does nothing after an accepted step unless it ended at an input sample. */
static int cg_driver_prepare(cg_run_t *run)
{
    if (run->t == run->t_stop) {
        cg_driver_enter_segment(run);
    } else {
        cg_time_rebase(run);
    }
    int status = cg_evaluate_derivative(run);
    if (status == CG_OK && run->h == 0.0) {
        run->h = cg_evaluate_run_first(run, cg_smaller(fabs(cg_time_inside(run, run->t_end) - run->t), run->max_step));
    }
    return status;
}

/* A step, and the event in it, if any. */
static int cg_driver_step_with_events(cg_run_t *run)
{
    cg_events_before_step(run);
    int32_t ends_at;
    int status = cg_events_step(run, &ends_at);
    if (status == CG_OK) {
        status = cg_events_after_step(run, ends_at);
    }
    return status;
}

static int cg_driver_loop(cg_run_t *run, cg_record_t *record, int64_t budget)
{
    const cg_detector_t *const detector = run->detector;
    const int64_t done = run->n_steps + run->n_rejected;
    const int64_t most = run->max_steps < INT64_MAX - run->n_spent ? run->n_spent + run->max_steps : INT64_MAX;
    int64_t limit = most;
    if (run->status != CG_OK) {
        return run->status;
    }
    if (budget >= 0 && budget < limit - done) {
        limit = done + budget;
    }
    for (;;) {
        int status = CG_OK;
        if (CG_RARE(detector != NULL) && detector->memory.begun < CG_WATCH_READY) {
            status = cg_events_begin(run);
            if (status != CG_OK) {
                return status > 0 ? status : (run->status = status);
            }
        }
        if (!run->recorded) {
            if (record != NULL) {
                status = cg_record_step(run, record);
            }
            if (status != CG_OK) {
                return status > 0 ? status : (run->status = status);
            }
            run->recorded = 1;
        }
        if (CG_RARE(detector != NULL) && detector->pending) {
            CG_TRY(cg_event_handling_now(run, record));
        }
        if (cg_time_outside(run, run->t) == run->t_end) {
            return CG_OK;
        }
        if (run->stop != NULL && *run->stop) {
            return CG_INTERRUPTED;
        }
        if (run->n_steps + run->n_rejected >= limit) {
            return limit < most ? CG_BUDGET_USED : (run->status = CG_TOO_MANY_STEPS);
        }
        status = cg_driver_prepare(run);
        if (status == CG_OK) {
            status = CG_RARE(detector != NULL) ? cg_driver_step_with_events(run) : cg_correct_run_step(run);
        }
        if (status != CG_OK) {
            if (status == CG_INTERRUPTED) {
                return status;
            }
            /* where a step does not close it has been asked: see cg_correct_run_step */
            if (status != CG_UNCLOSED && status != CG_INPUT_FAILED
                && cg_evaluate_run_inputs(run, run->t, run->x) == CG_OK) {
                const double t = cg_time_of_model(run, run->t);
                status = cg_correct_failure(run->model, status, t, run->x, run->p, run->u, run->work);
            }
            return run->status = status;
        }
        run->recorded = run->t == run->t_old; /* an event took the step back */
    }
}

int cg_drive(cg_run_t *run, cg_record_t *record, int64_t budget)
{
    const int status = cg_driver_loop(run, record, budget);
    if (run->input_kind & CG_INPUT_MOVES) { /* for a caller who changes some of them, and for the rest to go on from there */
        const int found = cg_evaluate_run_inputs(run, run->t, run->x);
        return status < 0 || found == CG_OK ? status : (run->status = found);
    }
    return status;
}

int cg_run_advance(cg_run_t *run, cg_time_t t)
{
    if (t < cg_run_time(run) && run->model->n_contacts > 0) {
        return CG_BAD_ARGUMENT;
    }
    const int status = cg_run_extend(run, t);
    return status == CG_OK ? cg_drive(run, NULL, -1) : status;
}
