/* cg_ensemble_internal.h: what the files for ensembles, lanes and batches share; not for callers. */
#ifndef CG_ENSEMBLE_INTERNAL_H
#define CG_ENSEMBLE_INTERNAL_H

#include "cg_ensemble.h"
#include "cg_internal.h"

/* ---- ensembles ---- */

/* The outcome of a trajectory, and how many times of t_eval it reached. */
typedef struct cg_outcome {
    int32_t status;
    double t;
    int64_t n_rhs, n_steps, n_rows;
} cg_outcome_t;

int cg_ensemble_valid(const cg_ensemble_t *ensemble); /* whether no requested time is before t0 */

/* Writes the outcome of trajectory j, with its last state at x[i * stride]. */
void cg_ensemble_end(const cg_ensemble_t *ensemble, int64_t j, const cg_outcome_t *outcome, int32_t n, const double *x,
                     int64_t stride);

/* Moves the model's events in trajectory j from the log of a run's detector to a cursor, where that keeps them.
 * CG_EVENTS_FULL: they do not fit, and nothing is changed. */
int cg_cursor_keep(cg_cursor_t *cursor, const cg_run_t *run, int64_t j);

/* Writes what an observer has found along trajectory j, which is in a lane. */
void cg_ensemble_observed(const cg_ensemble_t *ensemble, int64_t j, const cg_observer_t *observer, int32_t lane);

/* ---- lanes ---- */

/* The interpolant over the last step of every lane, if it is not known. Then run->calls, failed and failed_at are about
 * it until the next trial. */
void cg_lanes_interpolant(cg_lanes_run_t *run);

/* Records the requested times that the lanes in `due` have reached, and sets when they need service again. As for one
 * trajectory, calls made for the interpolant are counted, and one that fails ends the trajectory: it gets a status. */
void cg_lanes_record(const cg_ensemble_t *ensemble, cg_lanes_run_t *run, uint32_t due, cg_progress_t *progress);

/* Finds a shelf for the trajectories of a group, `count` of them from `first` on. If there is none, they are written
 * to y, one number at a time. */
void cg_shelf_take(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, cg_cursor_t *cursor, int64_t first,
                   int32_t count, cg_progress_t *progress);
/* The trajectory of a lane with a slot has ended: its states are written once those of its shelf have all ended. */
void cg_shelf_end(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, cg_cursor_t *cursor,
                  const cg_progress_t *progress, int32_t lane);

/* The status of a lane's trajectory, as cg_drive has it; run->moved holds its numbers for the scalar kernel. */
int cg_lane_status(const cg_lanes_run_t *run, int32_t lane, int status);
/* Sets the options of a group from those of a run. CG_BAD_ARGUMENT, CG_UNSUPPORTED: see cg_ensemble_lanes. */
int cg_lanes_configure(cg_lanes_run_t *run, const cg_run_t *options);

/* ---- events in lanes: cg_lane_events.c ---- */

int cg_lane_events_init(cg_lanes_run_t *run); /* detectors and the run of a lane that is served alone */
int cg_lane_events_configure(cg_lanes_run_t *run, const cg_run_t *options);
/* A trajectory begins: modes and signs at its start. The result is its status. */
int cg_lane_events_begin(cg_lanes_run_t *run, int32_t lane);
/* Examines the last step of the lanes in run->met: it may become shorter. They need service. */
void cg_lane_events_meet(cg_lanes_run_t *run, cg_cursor_t *cursor, const cg_progress_t *progress);
/* Handles what occurs in a lane at its time, after the step is recorded. CG_EVENTS_FULL: the cursor has no room for more, and
 * some of it still waits. */
int cg_lane_events_handle(cg_lanes_run_t *run, int32_t lane, cg_cursor_t *cursor, int64_t trajectory);

int32_t cg_lanes_occupied(const cg_lanes_run_t *run); /* the first lane with a trajectory, or -1 */

/* Gives an empty lane the state of a busy one, so that nothing in it traps, loops or is slow. */
void cg_lane_imitate(cg_lanes_run_t *run, int32_t lane, int32_t from);

#endif /* CG_ENSEMBLE_INTERNAL_H */
