/* cg_ensemble.c: many trajectories of one model with one workspace; see cg_driver.h. */
#include "cg_driver.h"
#include "cg_memory.h"

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

int cg_ensemble_run(const cg_ensemble_t *ensemble, cg_run_t *run, int64_t first, int64_t last,
                    volatile int64_t *done)
{
    if (!cg_ensemble_valid(ensemble) || !cg_options_valid(run)) {
        return CG_BAD_ARGUMENT;
    }
    for (int64_t j = first; j < last; j++) {
        cg_record_t record;
        memset(&record, 0, sizeof record);
        if (ensemble->t_eval != NULL) {
            record.t_eval = ensemble->t_eval;
            record.n_eval = ensemble->n_eval;
            record.y = ensemble->y + j * ensemble->y_row;
            record.y_row = ensemble->y_time;
            record.y_col = ensemble->y_col;
            record.capacity = ensemble->n_eval;
        }
        cg_gather(run->p, 1, ensemble->p + j * ensemble->p_row, ensemble->p_col, run->model->n_parameters);
        if (ensemble->u != NULL) {
            cg_gather(run->u, 1, ensemble->u + j * ensemble->u_row, ensemble->u_col, run->model->n_inputs);
        }
        /* run->x_old is free before the first step */
        cg_gather(run->x_old, 1, ensemble->x0 + j * ensemble->x0_row, ensemble->x0_col, run->n);
        int status = cg_run_start(run, ensemble->t0, run->x_old, ensemble->t_end);
        if (status == CG_OK) {
            status = cg_drive(run, ensemble->t_eval == NULL ? NULL : &record, -1);
        }
        if (status == CG_INTERRUPTED) {
            return status;
        }
        const cg_outcome_t outcome = {status, run->t, run->n_rhs, run->n_steps, record.n_rows};
        cg_ensemble_end(ensemble, j, &outcome, run->n, run->x, 1);
        if (done != NULL) {
            *done += 1;
        }
    }
    return CG_OK;
}
