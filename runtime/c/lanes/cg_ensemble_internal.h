/* cg_ensemble_internal.h: how the trajectories of an ensemble end, alone or in lanes; not for callers. */
#ifndef CG_ENSEMBLE_INTERNAL_H
#define CG_ENSEMBLE_INTERNAL_H

#include "cg_ensemble.h"
#include "step/cg_internal.h"

/* The outcome of a trajectory, and how many times of t_eval it reached. */
typedef struct cg_outcome {
    int32_t status;
    double t;
    int64_t n_rhs, n_steps, n_rows;
} cg_outcome_t;

int cg_ensemble_valid(const cg_ensemble_t *ensemble); /* whether no requested time is before t0 */

/* The detector of a run or lane in which trajectory j has just been started learns which events are past. */
void cg_ensemble_go_on(const cg_ensemble_t *ensemble, int64_t j, const cg_model_t *model, struct cg_detector *detector);

/* Writes the outcome of trajectory j, with its last state at x[i * stride]. */
void cg_ensemble_end(const cg_ensemble_t *ensemble, int64_t j, const cg_outcome_t *outcome, int32_t n, const double *x,
                     int64_t stride);

/* Moves the model's events in trajectory j from the log of a run's detector to a cursor, where that keeps them.
 * CG_EVENTS_FULL: they do not fit, and nothing is changed. */
int cg_ensemble_keep(cg_cursor_t *cursor, const cg_run_t *run, int64_t j);

/* Writes what an observer has found along trajectory j, which is in a lane. */
void cg_ensemble_observed(const cg_ensemble_t *ensemble, int64_t j, const cg_observer_t *observer, int32_t lane);

#endif /* CG_ENSEMBLE_INTERNAL_H */
