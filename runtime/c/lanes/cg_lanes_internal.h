/* cg_lanes_internal.h: what the files for lanes share, of ensembles and of batches; not for callers. */
#ifndef CG_LANES_INTERNAL_H
#define CG_LANES_INTERNAL_H

#include "cg_ensemble.h"
#include "step/cg_internal.h"

/* The interpolant over the last step of every lane, if it is not known. Then run->calls, failed and failed_at are about
 * it until the next trial. */
void cg_lane_record_interpolant(cg_lanes_run_t *run);

/* Records the requested times that the lanes in `due` have reached, and sets when they need service again. As for one
 * trajectory, calls made for the interpolant are counted, and one that fails ends the trajectory: it gets a status. */
void cg_lane_record_all(const cg_ensemble_t *ensemble, cg_lanes_run_t *run, uint32_t due, cg_progress_t *progress);

/* Finds a shelf for the trajectories of a group, `count` of them from `first` on. Without one they are written
 * to y, one number at a time. */
void cg_lane_record_shelf_take(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, cg_cursor_t *cursor,
                               int64_t first, int32_t count, cg_progress_t *progress);
/* The trajectory of a lane with a slot has ended: its states are written once those of its shelf have all ended. */
void cg_lane_record_shelf_end(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, cg_cursor_t *cursor,
                              const cg_progress_t *progress, int32_t lane);

/* The inputs of a lane at time t, and its modes: to u, `apart` from one another. */
static inline void cg_lane_inputs(const cg_lanes_run_t *run, int32_t lane, double t, double *u, ptrdiff_t apart)
{
    const int32_t lanes = run->lanes;
    if (run->pass != NULL) {
        double times[CG_MOST_LANES];
        times[lane] = t;
        run->pass(run, 1u << lane, times); /* others may be empty, with a row of an earlier range */
    }
    for (int32_t i = 0, at = lane; i < run->n_u; i++, at += lanes) {
        const int moves = run->input_kind != 0 && i < run->model->n_inputs && run->signals[i].kind >= CG_SIGNAL_POLYNOMIAL;
        const double *const curve = run->u_curve + CG_CURVE * i * lanes + lane;
        u[i * apart] = moves ? cg_curve_at(run->u_value[at], curve, lanes, t - run->u_time[at]) : run->u[at];
    }
}

/* The status of a lane's trajectory, as cg_drive has it; run->moved holds its numbers for the scalar kernel. */
int cg_lanes_status(const cg_lanes_run_t *run, int32_t lane, int status);
/* Sets the inputs of some lanes from their times on, and their next t_stop: a sample, or at most ends[lane], run->t_end for NULL. */
void cg_lanes_segments(cg_lanes_run_t *run, uint32_t bits, const double *ends);
/* Sets the options of a group from those of a run. CG_BAD_ARGUMENT, CG_UNSUPPORTED: see cg_ensemble_lanes. */
int cg_lanes_configure(cg_lanes_run_t *run, const cg_run_t *options);

/* ---- events in lanes: cg_lane_events.c ---- */

int cg_lane_events_init(cg_lanes_run_t *run); /* detectors and the run of a lane that is served alone */
int cg_lane_events_configure(cg_lanes_run_t *run, const cg_run_t *options);
/* Trajectory j begins: modes and signs at its start. The result is its status. */
int cg_lane_events_begin(const cg_ensemble_t *ensemble, int64_t j, cg_lanes_run_t *run, int32_t lane);
/* Examines the last step of the lanes in run->met: it may become shorter. They need service. */
void cg_lane_events_meet(cg_lanes_run_t *run, cg_cursor_t *cursor, const cg_progress_t *progress);
/* Handles what occurs in a lane at its time, after the step is recorded. CG_EVENTS_FULL: the cursor has no room for more, and
 * some of it still waits. */
int cg_lane_events_handle(cg_lanes_run_t *run, int32_t lane, cg_cursor_t *cursor, int64_t trajectory);

int32_t cg_lanes_occupied(const cg_lanes_run_t *run); /* the first lane with a trajectory, or -1 */

/* Gives an empty lane the state of a busy one, so that nothing in it traps, loops or is slow. */
void cg_lanes_imitate(cg_lanes_run_t *run, int32_t lane, int32_t from);

#endif /* CG_LANES_INTERNAL_H */
