/* cg_ensemble.c: many trajectories of one model with one workspace; see cg_ensemble.h. */
#include "cg_ensemble_internal.h"
#include "step/cg_memory.h"

#include <math.h>
#include <string.h>

int cg_ensemble_valid(const cg_ensemble_t *ensemble)
{
    const double direction = ensemble->t_end < ensemble->t0 ? -1.0 : 1.0;
    return ensemble->n_eval <= 0 || ensemble->t_eval == NULL
        || direction * (ensemble->t_eval[0] - ensemble->t0) >= 0.0;
}

void cg_ensemble_end(const cg_ensemble_t *ensemble, int64_t j, const cg_outcome_t *outcome, int32_t n, const double *x,
                     int64_t stride)
{
    const double nan = HUGE_VAL - HUGE_VAL;
    double *const y = ensemble->y + j * ensemble->y_row;
    if (ensemble->t_eval == NULL) {
        cg_gather(y, ensemble->y_col, x, stride, n);
    }
    if (ensemble->end != NULL) {
        cg_gather(ensemble->end + j * ensemble->end_row, ensemble->end_col, x, stride, n);
    }
    for (int64_t m = outcome->n_rows; ensemble->t_eval != NULL && m < ensemble->n_eval; m++) {
        for (int32_t i = 0; i < n; i++) {
            y[m * ensemble->y_time + i * ensemble->y_col] = nan;
        }
    }
    ensemble->status[j] = outcome->status;
    if (ensemble->t != NULL) {
        ensemble->t[j] = outcome->t;
    }
    if (ensemble->n_rhs != NULL) {
        ensemble->n_rhs[j] = outcome->n_rhs;
    }
    if (ensemble->n_steps != NULL) {
        ensemble->n_steps[j] = outcome->n_steps;
    }
}

void cg_ensemble_observed(const cg_ensemble_t *ensemble, int64_t j, const cg_observer_t *observer, int32_t lane)
{
    for (int32_t i = 0; i < observer->n_values; i++) {
        const int32_t at = i * observer->lanes + lane;
        ensemble->observed[j + i * ensemble->observed_row] = observer->value[at];
        ensemble->observed_t[j + i * ensemble->observed_row] = observer->more[at];
    }
}

void cg_ensemble_go_on(const cg_ensemble_t *ensemble, int64_t j, const cg_model_t *model, struct cg_detector *detector)
{
    if (ensemble->past != NULL && detector != NULL) {
        cg_gather(detector->done, 1, ensemble->past + j * ensemble->past_row, ensemble->past_col, model->n_events);
    }
}

/* Puts trajectory j into the run. Errors in its start are reported by the first call of cg_drive. */
static void cg_ensemble_begin(const cg_ensemble_t *ensemble, cg_run_t *run, cg_record_t *record, int64_t j)
{
    memset(record, 0, sizeof *record);
    if (ensemble->t_eval != NULL) {
        record->t_eval = ensemble->t_eval;
        record->n_eval = ensemble->n_eval;
        record->y = ensemble->y + j * ensemble->y_row;
        record->y_row = ensemble->y_time;
        record->y_col = ensemble->y_col;
        record->capacity = ensemble->n_eval;
    }
    if (ensemble->observer[0] != NULL) {
        cg_observer_begin(ensemble->observer[0], 0);
        record->watch = cg_observe_run;
        record->watch_context = ensemble->observer[0];
    }
    cg_gather(run->p, 1, ensemble->p + j * ensemble->p_row, ensemble->p_col, run->model->n_parameters);
    if (ensemble->u != NULL) {
        cg_gather(run->u, 1, ensemble->u + j * ensemble->u_row, ensemble->u_col, run->model->n_inputs);
    }
    /* run->x_old is free before the first step */
    run->row = j;
    cg_gather(run->x_old, 1, ensemble->x0 + j * ensemble->x0_row, ensemble->x0_col, run->n);
    cg_run_start(run, ensemble->t0, run->x_old, ensemble->t_end);
    cg_ensemble_go_on(ensemble, j, run->model, run->detector);
}

int cg_ensemble_keep(cg_cursor_t *cursor, const cg_run_t *run, int64_t j)
{
    cg_detector_t *const detector = run->detector;
    if (detector == NULL || detector->log == NULL) {
        return CG_OK;
    }
    if (cursor->events != NULL && detector->n_log > cursor->event_capacity - cursor->n_events) {
        return CG_EVENTS_FULL;
    }
    for (int64_t i = 0; cursor->events != NULL && i < detector->n_log; i++) {
        const double *const row = detector->log + i * detector->log_row;
        if (row[1] >= 0.0 && row[1] < run->model->n_events) {
            const cg_occurrence_t event = {row[0], j, (int64_t)row[1]};
            cursor->events[cursor->n_events++] = event;
        }
    }
    detector->n_log = 0;
    return CG_OK;
}

int cg_ensemble_run(const cg_ensemble_t *ensemble, cg_run_t *run, cg_cursor_t *cursor, int64_t budget)
{
    if (!cg_ensemble_valid(ensemble) || !cg_driver_options_valid(run)) {
        return CG_BAD_ARGUMENT;
    }
    while (cursor->next < cursor->last) {
        if (run->stop != NULL && *run->stop) {
            return CG_INTERRUPTED;
        }
        if (budget == 0) {
            return CG_BUDGET_USED;
        }
        if (!cursor->begun) {
            cg_ensemble_begin(ensemble, run, &cursor->record, cursor->next);
            cursor->begun = 1;
        }
        if (cg_ensemble_keep(cursor, run, cursor->next) != CG_OK) {
            return CG_EVENTS_FULL;
        }
        const int64_t before = run->n_steps + run->n_rejected;
        const int recording = ensemble->t_eval != NULL || ensemble->observer[0] != NULL;
        const int status = cg_drive(run, recording ? &cursor->record : NULL, budget);
        if (budget >= 0) {
            const int64_t used = run->n_steps + run->n_rejected - before;
            budget = used < budget ? budget - used : 0;
        }
        if (cg_ensemble_keep(cursor, run, cursor->next) != CG_OK) {
            return CG_EVENTS_FULL; /* a run that has ended reports its status again */
        }
        if (status == CG_BUDGET_USED || status == CG_INTERRUPTED) {
            return status;
        }
        if (status == CG_EVENTS_FULL) { /* the log was full; it is empty now */
            continue;
        }
        budget -= budget > 0 && run->n_steps + run->n_rejected == before; /* also one that ends at its start counts */
        const cg_outcome_t outcome = {status, run->t, run->n_rhs, run->n_steps, cursor->record.n_rows};
        cg_ensemble_end(ensemble, cursor->next, &outcome, run->n, run->x, 1);
        if (ensemble->observer[0] != NULL) {
            cg_ensemble_observed(ensemble, cursor->next, ensemble->observer[0], 0);
        }
        cursor->begun = 0;
        cursor->next++;
        cursor->n_done++;
    }
    return CG_OK;
}
