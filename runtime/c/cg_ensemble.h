/* cg_ensemble.h: many trajectories of one model, one after another or side by side in lanes. */
#ifndef CG_ENSEMBLE_H
#define CG_ENSEMBLE_H

#include "cg_driver.h"
#include "cg_lanes.h"
#include "cg_observe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Many trajectories of one model. Component i of trajectory j is a[j * a_row + i * a_col]; a row stride of 0
 * gives every trajectory the same values. Signals are shared. */
typedef struct cg_ensemble {
    double t0, t_end;
    const double *x0;
    int64_t x0_row, x0_col;
    const double *p;
    int64_t p_row, p_col;
    const double *u; /* NULL: run->u is used unchanged */
    int64_t u_row, u_col;
    const double *past; /* `done` of the detector (cg_events.h), for the events of the model; NULL: all 0 */
    int64_t past_row, past_col;
    const double *t_eval; /* ordered, none before t0; NULL: only the final state */
    int64_t n_eval;
    double *y; /* y[j * y_row + i * y_col + m * y_time], m = index in t_eval; NaN at times not reached */
    int64_t y_row, y_col, y_time;
    double *end; /* with t_eval: the final state, end[j * end_row + i * end_col]; NULL: not kept */
    int64_t end_row, end_col;
    double *t;       /* [trajectory] time reached; NULL: not kept */
    int32_t *status; /* [trajectory] */
    int64_t *n_rhs;  /* [trajectory]; NULL: not kept */
    int64_t *n_steps;
    /* NULL: nothing is observed. Else expression i of trajectory j: its integral or extreme goes to
     * observed[j + i * observed_row], the time of an extreme to observed_t; left as they are if the trajectory ends
     * before its first step. */
    cg_observer_t *observer[CG_RUNNING]; /* for lanes, one for each group that runs */
    double *observed;
    double *observed_t;
    int64_t observed_row;
} cg_ensemble_t;

/* An event of the model in a trajectory of an ensemble. */
typedef struct cg_occurrence {
    double t;
    int64_t trajectory;
    int64_t event; /* index in model->events */
} cg_occurrence_t;

/* The trajectories in a group of lanes, and how many times of t_eval each has reached. */
typedef struct cg_progress {
    int64_t trajectory[CG_MOST_LANES];
    int64_t reached[CG_MOST_LANES];
    double *slot[CG_MOST_LANES]; /* where its states are collected, state by state; NULL: they are written to y */
} cg_progress_t;

/* Slots of neighbouring trajectories, one for each lane. Bits: of slots. */
typedef struct cg_shelf {
    int64_t first;
    uint32_t taken; /* 0: the shelf is free */
    uint32_t ended;
} cg_shelf_t;

enum { CG_SHELVES = 8 };

/* Progress of a range of trajectories between calls of cg_ensemble_run or cg_ensemble_lanes. Initialize everything to
 * zero except `next`, `last` and the members owned by the caller. */
typedef struct cg_cursor {
    int64_t next; /* the first trajectory that has not started; in cg_ensemble_run: that has not ended */
    int64_t last; /* one past the last trajectory; between calls it can be lowered to one that has not started */
    int64_t n_done;
    /* Owned by the caller. Every event of the model, ordered by trajectory and time; NULL: not kept. The run needs a
     * detector with a log. */
    cg_occurrence_t *events;
    int64_t n_events, event_capacity;
    /* Owned by the caller, for lanes and t_eval: room for some shelves of cg_shelf_size, or NULL. If neighbouring
     * trajectories are neighbours in y, their states at given times are collected there until all have ended and are
     * then written together, which is faster. */
    double *shelf;
    int32_t n_shelves; /* at most CG_SHELVES are used */
    /* Internal to the driver. */
    int32_t begun;
    cg_record_t record;
    cg_progress_t progress[CG_GROUPS];
    cg_shelf_t shelves[CG_SHELVES];
} cg_cursor_t;

/* Runs the trajectories of a cursor with one workspace: a run made by cg_run_init with its options set. CG_OK: all are
 * done, even if some failed. Call it again with the same arguments after CG_BUDGET_USED: about `budget` trial steps
 * were taken (negative: no limit); CG_EVENTS_FULL: events has no room for the log of the run's detector, enlarge it;
 * CG_INTERRUPTED: the stop flag was set. CG_BAD_ARGUMENT, and nothing is done: an option is out of range, or t_eval
 * begins before t0. */
int cg_ensemble_run(const cg_ensemble_t *ensemble, cg_run_t *run, cg_cursor_t *cursor, int64_t budget);

/* Numbers in a shelf for n_eval times. */
int64_t cg_shelf_size(const cg_lanes_run_t *run, int64_t n_eval);

/* Writes what is in the shelves of trajectories that have ended: before a range is given up, whose other trajectories
 * have not. */
void cg_shelves_write(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, const cg_cursor_t *cursor);

/* The same side by side in the lanes of a set, bit for bit the same if both are compiled without contraction. `run` is
 * a block of cg_lanes_size bytes (0: the set does not have the method, or belongs to another model) initialized by
 * cg_lanes_init; `options` is a run as for cg_ensemble_run, with a stop flag, and is only read. A trial step of all
 * lanes counts as one in the budget. With a detector in the options, events are found as in its run: those kept of one
 * trajectory are in order, but between those of others. CG_UNSUPPORTED, and nothing is done: an input is of kind
 * CG_SIGNAL_CALL; the detector has functions of the caller, or the set has no kernels for events, or something is observed
 * besides. CG_BAD_ARGUMENT, and nothing is done: an option is out of range, or t_eval begins before
 * t0. */
int cg_ensemble_lanes(const cg_ensemble_t *ensemble, cg_lanes_run_t *run, const cg_run_t *options, cg_cursor_t *cursor,
                      int64_t budget);

#ifdef __cplusplus
}
#endif

#endif /* CG_ENSEMBLE_H */
