/* cg_ensemble.c: many trajectories of one model with one workspace; see cg_driver.h. */
#include "cg_driver.h"

#include <math.h>
#include <string.h>

static void cg_gather(double *to, const double *from, int32_t count, int64_t stride)
{
    for (int32_t i = 0; i < count; i++) {
        to[i] = from[i * stride];
    }
}

int cg_ensemble_run(const cg_ensemble_t *ensemble, cg_run_t *run, int64_t first, int64_t last,
                    volatile int64_t *done)
{
    const double nan = HUGE_VAL - HUGE_VAL;
    for (int64_t j = first; j < last; j++) {
        double *const y = ensemble->y + j * ensemble->y_row;
        cg_record_t record;
        memset(&record, 0, sizeof record);
        if (ensemble->t_eval != NULL) {
            record.t_eval = ensemble->t_eval;
            record.n_eval = ensemble->n_eval;
            record.y = y;
            record.y_row = ensemble->y_time;
            record.y_col = ensemble->y_col;
            record.capacity = ensemble->n_eval;
        }
        cg_gather(run->p, ensemble->p + j * ensemble->p_row, run->model->n_parameters, ensemble->p_col);
        if (ensemble->u != NULL) {
            cg_gather(run->u, ensemble->u + j * ensemble->u_row, run->model->n_inputs, ensemble->u_col);
        }
        /* run->x_old is free before the first step */
        cg_gather(run->x_old, ensemble->x0 + j * ensemble->x0_row, run->n, ensemble->x0_col);
        int status = cg_run_start(run, ensemble->t0, run->x_old, ensemble->t_end);
        if (status == CG_OK) {
            status = cg_drive(run, ensemble->t_eval == NULL ? NULL : &record, -1);
        }
        if (status == CG_INTERRUPTED) {
            return status;
        }
        if (ensemble->t_eval == NULL) {
            cg_run_interpolate(run, run->t, y, ensemble->y_col);
        }
        for (int64_t m = record.n_rows; m < record.n_eval; m++) {
            for (int32_t i = 0; i < run->n; i++) {
                y[m * ensemble->y_time + i * ensemble->y_col] = nan;
            }
        }
        if (ensemble->t != NULL) {
            ensemble->t[j] = run->t;
        }
        ensemble->status[j] = status;
        if (ensemble->n_rhs != NULL) {
            ensemble->n_rhs[j] = run->n_rhs;
        }
        if (ensemble->n_steps != NULL) {
            ensemble->n_steps[j] = run->n_steps;
        }
        if (done != NULL) {
            *done += 1;
        }
    }
    return CG_OK;
}
