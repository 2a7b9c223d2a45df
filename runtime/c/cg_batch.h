/* cg_batch.h: many runs of one model that persist and are advanced together, side by side in lanes or one at a time.
 *
 * A batch is a table that the caller owns, with a column for each run: its state, derivative, parameters, inputs, and
 * what the step control remembers. A run is saved by copying its column and restored by copying it back.
 */
#ifndef CG_BATCH_H
#define CG_BATCH_H

#include "cg_companion.h"
#include "cg_driver.h"
#include "cg_lanes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of a column, in the order of its rows. */
enum cg_batch_part {
    CG_BATCH_X = 0,   /* state: n_states rows */
    CG_BATCH_F,       /* derivative: n_states rows */
    CG_BATCH_P,       /* parameters, then the results of model->hoist */
    CG_BATCH_U,       /* inputs */
    CG_BATCH_T,       /* time; this part and those below have one row each */
    CG_BATCH_STEP,    /* size of the next step; 0: not yet chosen */
    CG_BATCH_LOG_OLD, /* memory of the step-size control */
    CG_BATCH_FRESH,   /* int64_t, truth: the derivative must be computed */
    CG_BATCH_STATUS,  /* int64_t: CG_OK, or the error that ended the run */
    CG_BATCH_PARTS    /* the number of parts */
};

enum { CG_BATCH_BLOCK = 2 * 8 }; /* columns are advanced in blocks of two groups of at most 8 lanes */

typedef struct cg_batch {
    const cg_model_t *model;        /* without events, contacts and modes */
    int32_t row[CG_BATCH_PARTS + 1]; /* the first row of each part; at last the number of rows */
    double *table;                  /* [row[CG_BATCH_PARTS]][stride] */
    int64_t stride; /* columns: at least the number of runs rounded up to a multiple of CG_BATCH_BLOCK. In columns
                     * without a run, the status is not CG_OK */
} cg_batch_t;

/* Where runs are to be advanced to: all to `time`, or each by `duration` from its own time. Never backward. */
typedef struct cg_batch_goal {
    double time; /* NaN: `duration` counts */
    double duration;
} cg_batch_goal_t;

/* A caller who wants to be asked now and then, as to look at signals. */
typedef struct cg_listener {
    int64_t (*listen)(void *context); /* trial steps until it is called again; 0: stop */
    void *context;
    int64_t left; /* until it is called */
} cg_listener_t;

void cg_batch_init(cg_batch_t *batch, const cg_model_t *model); /* sets the model and the rows */

/* Starts the run in a column that contains its state, parameters, inputs and time. `run` has the options; its state is
 * scratch. */
void cg_batch_start(const cg_batch_t *batch, cg_run_t *run, int64_t column);

/* Advances the runs first <= column < last, both multiples of CG_BATCH_BLOCK, to the goal. A run that fails keeps its
 * last point and its status, and is not advanced again; the others are not affected. `run` has the options and a stop
 * flag; max_steps applies to each call. With `lanes`, a block as for cg_ensemble_lanes, runs are advanced side by side;
 * NULL: one at a time. CG_INTERRUPTED: the stop flag was set, or the listener (NULL: there is none) wants to stop, and some runs
 * have not moved. CG_BAD_ARGUMENT: an option is out of range. */
int cg_batch_advance(const cg_batch_t *batch, cg_run_t *run, cg_lanes_run_t *lanes, int64_t first, int64_t last,
                     cg_batch_goal_t goal, cg_listener_t *listener);

int cg_all_finite(const double *values, int64_t count); /* whether all of them are finite numbers */

/* Memory for cg_batch_evaluate, in bytes. */
size_t cg_batch_scratch(const cg_batch_t *batch, const cg_companion_t *companion);

/* out[i * stride + column]: expression i of a companion of the model in each column of first <= column < last, where
 * `first` is a multiple of CG_BATCH_BLOCK; NaN where it cannot be computed. `scratch`: 64-byte aligned. CG_UNSUPPORTED:
 * the companion belongs to another model. */
int cg_batch_evaluate(const cg_batch_t *batch, const cg_companion_t *companion, void *scratch, int64_t first,
                      int64_t last, double *out, int64_t stride);

#ifdef __cplusplus
}
#endif

#endif /* CG_BATCH_H */
