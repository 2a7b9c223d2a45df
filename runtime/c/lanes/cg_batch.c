/* cg_batch.c: many runs that persist; see cg_batch.h.
 *
 * Lanes are loaded from neighbouring columns, stepped until each has reached its goal or failed, and stored. A column is
 * written only then, so that an interrupted run is still where it was.
 */
#include "cg_batch.h"
#include "cg_lanes_internal.h"
#include "step/cg_memory.h"

#include <math.h>
#include <string.h>

void cg_batch_init(cg_batch_t *batch, const cg_model_t *model)
{
    const int32_t rows[CG_BATCH_T] = {model->n_states, model->n_states, model->n_parameters + model->n_hoisted,
                                      model->n_inputs};
    memset(batch, 0, sizeof *batch);
    batch->model = model;
    for (int32_t i = 0; i < CG_BATCH_PARTS; i++) {
        batch->row[i + 1] = batch->row[i] + (i < CG_BATCH_T ? rows[i] : 1);
    }
}

/* The first entry of a part in a column. */
static double *cg_batch_at(const cg_batch_t *batch, int32_t part, int64_t column)
{
    return batch->table + batch->row[part] * batch->stride + column;
}

static double cg_batch_goal_end(cg_batch_goal_t goal, double t)
{
    return goal.time == goal.time ? goal.time : t + goal.duration;
}

static void cg_batch_put_integer(const cg_batch_t *batch, int32_t part, int64_t column, int64_t value)
{
    memcpy(cg_batch_at(batch, part, column), &value, sizeof value);
}

static int64_t cg_batch_get_integer(const cg_batch_t *batch, int32_t part, int64_t column)
{
    int64_t value;
    memcpy(&value, cg_batch_at(batch, part, column), sizeof value);
    return value;
}

/* Writes the inputs that vary with the time to a column, for its time t: those that move from the polynomials that begin at
 * `value`, `time` and `curve` and are `apart` from one another. */
static void cg_batch_inputs_store(const cg_batch_t *batch, const cg_signal_t *signals, int64_t column, double t,
                                  const double *time, const double *value, const double *curve, int64_t apart)
{
    double *u = cg_batch_at(batch, CG_BATCH_U, column);
    for (int32_t i = 0; signals != NULL && i < batch->model->n_inputs; i++, u += batch->stride) {
        if (signals[i].kind == CG_SIGNAL_MOVING) {
            *u = cg_curve_at(value[i * apart], curve + CG_CURVE * i * apart, apart, t - time[i * apart]);
        } else if (signals[i].kind == CG_SIGNAL_POLYNOMIAL) { /* at a sample from there on */
            cg_segment_t segment;
            int64_t before = -1;
            cg_evaluate_segment(&signals[i], column, t, 1.0, t, &before, &segment);
            *u = cg_curve_at(segment.c[0], segment.c + 1, 1, t - segment.time);
            cg_batch_put_integer(batch, CG_BATCH_FRESH, column, -1); /* as in a stepper, which enters the segment anew */
        }
    }
}

/* ---- one at a time ---- */

/* Starts `run` with the state, parameters and inputs of a column. */
static int cg_batch_column_begin(const cg_batch_t *batch, cg_run_t *run, int64_t column, double t_end)
{
    const cg_model_t *const model = batch->model;
    cg_gather(run->x_old, 1, cg_batch_at(batch, CG_BATCH_X, column), batch->stride, run->n); /* not yet in use */
    cg_gather(run->p, 1, cg_batch_at(batch, CG_BATCH_P, column), batch->stride, model->n_parameters + model->n_hoisted);
    cg_gather(run->u, 1, cg_batch_at(batch, CG_BATCH_U, column), batch->stride, model->n_inputs);
    run->row = column;
    return cg_run_start(run, *cg_batch_at(batch, CG_BATCH_T, column), run->x_old, t_end);
}

void cg_batch_start(const cg_batch_t *batch, cg_run_t *run, int64_t column)
{
    const cg_model_t *const model = batch->model;
    int status = cg_batch_column_begin(batch, run, column, *cg_batch_at(batch, CG_BATCH_T, column));
    if (status == CG_OK && model->n_hoisted > 0) {
        status = cg_evaluate_run_hoist(run);
        cg_gather(cg_batch_at(batch, CG_BATCH_P, column), batch->stride, run->p, 1,
                  model->n_parameters + model->n_hoisted);
    }
    cg_batch_inputs_store(batch, status == CG_OK ? run->signals : NULL, column, run->t, run->u_time, run->u_value,
                          run->u_curve, 1);
    *cg_batch_at(batch, CG_BATCH_STEP, column) = run->h;
    *cg_batch_at(batch, CG_BATCH_LOG_OLD, column) = run->log_old;
    cg_batch_put_integer(batch, CG_BATCH_FRESH, column, -1);
    cg_batch_put_integer(batch, CG_BATCH_STATUS, column, status);
}

/* Tells a listener of trial steps. CG_INTERRUPTED: it wants to stop. */
static int cg_batch_listened(cg_listener_t *listener, int64_t steps)
{
    if (listener == NULL) {
        return CG_OK;
    }
    listener->left -= steps;
    if (listener->left <= 0) {
        listener->left = listener->listen(listener->context);
    }
    return listener->left > 0 ? CG_OK : CG_INTERRUPTED;
}

/* Advances one run. CG_INTERRUPTED: it has not moved. */
static int cg_batch_column_advance(const cg_batch_t *batch, cg_run_t *run, int64_t column, cg_batch_goal_t goal,
                                   cg_listener_t *listener)
{
    const double t = *cg_batch_at(batch, CG_BATCH_T, column), end = cg_batch_goal_end(goal, t);
    if (cg_batch_get_integer(batch, CG_BATCH_STATUS, column) != CG_OK || !(end > t)) {
        return CG_OK;
    }
    int status = cg_batch_column_begin(batch, run, column, end);
    if (status == CG_BAD_ARGUMENT) {
        return status;
    }
    run->h = *cg_batch_at(batch, CG_BATCH_STEP, column);
    run->log_old = *cg_batch_at(batch, CG_BATCH_LOG_OLD, column);
    run->have_f = !cg_batch_get_integer(batch, CG_BATCH_FRESH, column);
    cg_gather(run->f, 1, cg_batch_at(batch, CG_BATCH_F, column), batch->stride, run->n);
    for (int pauses = status == CG_OK; pauses; pauses = status == CG_BUDGET_USED) {
        const int64_t before = run->n_steps + run->n_rejected;
        status = cg_drive(run, NULL, listener == NULL ? -1 : listener->left);
        if (status == CG_INTERRUPTED || cg_batch_listened(listener, run->n_steps + run->n_rejected - before) != CG_OK) {
            return CG_INTERRUPTED;
        }
    }
    cg_gather(cg_batch_at(batch, CG_BATCH_X, column), batch->stride, run->x, 1, run->n);
    cg_gather(cg_batch_at(batch, CG_BATCH_F, column), batch->stride, run->f, 1, run->n);
    *cg_batch_at(batch, CG_BATCH_T, column) = run->t;
    *cg_batch_at(batch, CG_BATCH_STEP, column) = run->h;
    *cg_batch_at(batch, CG_BATCH_LOG_OLD, column) = run->log_old;
    cg_batch_put_integer(batch, CG_BATCH_FRESH, column, run->have_f ? 0 : -1);
    cg_batch_inputs_store(batch, run->signals, column, run->t, run->u_time, run->u_value, run->u_curve, 1);
    cg_batch_put_integer(batch, CG_BATCH_STATUS, column, status);
    return CG_OK;
}

/* ---- side by side ---- */

/* The rows of a part that lanes have, too. */
typedef struct cg_shared {
    int32_t part;
    int32_t rows;
    void *lanes; /* [rows][lanes] */
} cg_shared_t;

enum { CG_STORED = 6, CG_SHARED = 8 }; /* the parts that change in a step come first */

static void cg_batch_share(const cg_lanes_run_t *run, cg_shared_t *shared)
{
    const cg_shared_t parts[CG_SHARED] = {
        {CG_BATCH_X, run->n, run->x},
        {CG_BATCH_F, run->n, run->f},
        {CG_BATCH_T, 1, run->t},
        {CG_BATCH_STEP, 1, run->h},
        {CG_BATCH_LOG_OLD, 1, run->log_old},
        {CG_BATCH_FRESH, 1, run->fresh},
        {CG_BATCH_P, cg_lanes_p_rows(run), run->p},
        {CG_BATCH_U, run->model->n_inputs, run->u},
    };
    memcpy(shared, parts, sizeof parts);
}

/* Whether the derivative must be computed in all lanes. */
static int cg_batch_all_fresh(const cg_batch_t *batch, int64_t first, int32_t lanes)
{
    int64_t fresh[CG_MOST_LANES], all = -1;
    cg_copy_lanes(fresh, cg_batch_at(batch, CG_BATCH_FRESH, first), lanes);
    for (int32_t lane = 0; lane < lanes; lane++) {
        all &= fresh[lane];
    }
    return all != 0;
}

/* Copies all lanes from the columns that begin at `first`, or those parts that change back to them. */
static void cg_batch_columns_copy(const cg_batch_t *batch, const cg_lanes_run_t *run, int64_t first, int storing)
{
    const int32_t lanes = run->lanes;
    cg_shared_t shared[CG_SHARED];
    cg_batch_share(run, shared);
    for (int a = 0; a < (storing ? CG_STORED : CG_SHARED); a++) {
        if (!storing && shared[a].part == CG_BATCH_F && cg_batch_all_fresh(batch, first, lanes)) {
            continue;
        }
        char *lane = shared[a].lanes;
        double *column = cg_batch_at(batch, shared[a].part, first);
        for (int32_t i = 0; i < shared[a].rows; i++, lane += (size_t)lanes * sizeof(double), column += batch->stride) {
            if (storing) {
                cg_copy_lanes(column, lane, lanes);
            } else {
                cg_copy_lanes(lane, column, lanes);
            }
        }
    }
}

/* Ends the run of one lane: stores it in its column. */
static void cg_batch_lane_store(const cg_batch_t *batch, cg_lanes_run_t *run, int32_t lane, int64_t column, int64_t status)
{
    cg_shared_t shared[CG_SHARED];
    cg_batch_share(run, shared);
    for (int a = 0; a < CG_STORED; a++) {
        const char *const from = (const char *)shared[a].lanes + (size_t)lane * sizeof(double);
        char *const to = (char *)cg_batch_at(batch, shared[a].part, column);
        for (int32_t i = 0; i < shared[a].rows; i++) {
            memcpy(to + (size_t)(i * batch->stride) * sizeof(double),
                   from + (size_t)(i * run->lanes) * sizeof(double), sizeof(double));
        }
    }
    cg_batch_inputs_store(batch, run->signals, column, run->t[lane], run->u_time + lane, run->u_value + lane,
                          run->u_curve + lane, run->lanes);
    cg_batch_put_integer(batch, CG_BATCH_STATUS, column, status);
    run->active[lane] = 0;
}

/* Stores the lanes that have reached their goal or failed, also by `most` trial steps, and brings those at a sample into what
 * follows; 0: none goes on. */
static int cg_batch_columns_serve(const cg_batch_t *batch, cg_lanes_run_t *run, int64_t first, int64_t most)
{
    int32_t occupied = 0;
    while (occupied >= 0 && run->attention != 0u) {
        const uint32_t attention = run->attention;
        uint32_t entered = 0u;
        int arrived = 0;
        run->attention = 0u;
        for (int32_t lane = 0; lane < run->lanes; lane++) {
            arrived += run->active[lane] && run->status[lane] == CG_OK && run->t[lane] == run->mark[lane];
        }
        if (arrived == run->lanes) { /* the status stays CG_OK */
            cg_batch_columns_copy(batch, run, first, 1);
            for (int32_t lane = 0; lane < run->lanes; lane++) {
                cg_batch_inputs_store(batch, run->signals, first + lane, run->t[lane], run->u_time + lane,
                                      run->u_value + lane, run->u_curve + lane, run->lanes);
            }
            return 0;
        }
        for (int32_t lane = 0; lane < run->lanes; lane++) {
            if (attention >> lane & 1u && run->active[lane]) {
                int64_t status = cg_lanes_status(run, lane, (int)run->status[lane]);
                const int there = run->t[lane] == run->mark[lane];
                if (status == CG_OK && !there && run->n_trials[lane] >= most) {
                    status = CG_TOO_MANY_STEPS;
                }
                if (status != CG_OK || there) {
                    cg_batch_lane_store(batch, run, lane, first + lane, status);
                } else if (run->t[lane] == run->t_stop[lane]) {
                    entered |= 1u << lane;
                }
            }
        }
        occupied = cg_lanes_occupied(run);
        for (int32_t lane = 0; occupied >= 0 && lane < run->lanes; lane++) {
            if (attention >> lane & 1u && !run->active[lane]) {
                cg_lanes_imitate(run, lane, occupied);
            }
        }
        if (entered != 0u) {
            cg_lanes_segments(run, entered, run->mark);
            run->prepare(run);
        }
    }
    return occupied >= 0;
}

/* Computes derivatives and first steps where they are missing. A first step depends on the end of its run. */
static void cg_batch_columns_prepare(cg_lanes_run_t *run, uint32_t unstarted)
{
    do {
        run->t_end = HUGE_VAL;
        for (int32_t lane = 0; lane < run->lanes; lane++) {
            const int mine = unstarted >> lane & 1u && (run->t_end == HUGE_VAL || run->t_end == run->mark[lane]);
            run->unstarted[lane] = mine ? -1 : 0;
            if (mine) {
                run->t_end = run->mark[lane];
                unstarted &= ~(1u << lane);
            }
        }
        run->prepare(run);
    } while (unstarted != 0u);
}

/* Loads the columns from `first` on. The vectors are read in the step after all of them were written: a load that
 * depends on several shorter stores just before it is slow. */
static void cg_batch_columns_load(const cg_batch_t *batch, cg_lanes_run_t *run, int64_t first, cg_batch_goal_t goal)
{
    const int32_t lanes = run->lanes;
    const size_t size = sizeof(double) * (size_t)lanes;
    const double *const t = run->t;
    double *const t_anchor = run->t_anchor, *const t_stop = run->t_stop, *const goals = run->mark;
    int64_t *const active = run->active;
    cg_batch_columns_copy(batch, run, first, 0);
    cg_copy_lanes(run->status, cg_batch_at(batch, CG_BATCH_STATUS, first), lanes);
    memset(run->n_anchor, 0, size);
    memset(run->rejected, 0, size);
    memset(run->n_trials, 0, size);
    memset(run->n_rejected, 0, size);
    run->attention = 0u;
    for (int32_t lane = 0; lane < lanes; lane++) {
        const double end = cg_batch_goal_end(goal, t[lane]);
        t_anchor[lane] = t[lane];
        t_stop[lane] = goals[lane] = end;
        active[lane] = -(int64_t)((run->status[lane] == CG_OK) & (end > t[lane]));
        run->attention |= (uint32_t)(active[lane] + 1) << lane;
        run->row[lane] = first + lane;
    }
    if (run->signals != NULL) {
        cg_lanes_segments(run, ~run->attention & UINT32_MAX >> (32 - lanes), goals);
    }
}

/* Makes loaded lanes ready for the first step; 0: none is to be advanced. */
static int cg_batch_columns_begin(const cg_batch_t *batch, cg_lanes_run_t *run, int64_t first, int64_t most)
{
    int64_t fresh = 0;
    uint32_t unstarted = 0u;
    if (run->attention != 0u && !cg_batch_columns_serve(batch, run, first, most)) {
        return 0;
    }
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        fresh |= run->fresh[lane];
        unstarted |= (uint32_t)(run->active[lane] && run->h[lane] == 0.0) << lane;
    }
    if (fresh != 0) {
        cg_batch_columns_prepare(run, unstarted);
    }
    return cg_batch_columns_serve(batch, run, first, most);
}

/* The most trial steps of a lane since it was loaded. */
static int64_t cg_batch_columns_trials(const cg_lanes_run_t *run)
{
    int64_t trials = 0;
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        trials = run->n_trials[lane] > trials ? run->n_trials[lane] : trials;
    }
    return trials;
}

/* Tells a listener of the trial steps after the first `*heard`, and lets the lanes pause before it is to be called. */
static int cg_batch_columns_listened(cg_lanes_run_t *group, int64_t most, cg_listener_t *listener, int64_t *heard)
{
    cg_lanes_run_t *const second = cg_lanes_group(group, 1);
    const int64_t one = cg_batch_columns_trials(group), two = cg_batch_columns_trials(second), now = one > two ? one : two;
    const int status = cg_batch_listened(listener, now - *heard);
    *heard = now;
    group->max_steps = listener != NULL && listener->left < most - now ? now + listener->left : most;
    second->max_steps = group->max_steps;
    return status;
}

/* Advances the runs of two groups of lanes in turn. */
static int cg_batch_columns_advance(const cg_batch_t *batch, cg_lanes_run_t *group, int64_t first, cg_batch_goal_t goal,
                                    int64_t most, cg_listener_t *listener)
{
    cg_lanes_run_t *const second = cg_lanes_group(group, 1);
    const int64_t next = first + group->lanes;
    int64_t heard = 0;
    cg_batch_columns_load(batch, group, first, goal);
    cg_batch_columns_load(batch, second, next, goal);
    int status = cg_batch_columns_listened(group, most, listener, &heard);
    int one = cg_batch_columns_begin(batch, group, first, most), two = cg_batch_columns_begin(batch, second, next, most);
    while (status == CG_OK && (one || two)) {
        cg_lanes_run_t *const leader = one ? group : second;
        if (*group->stop) {
            return CG_INTERRUPTED;
        }
        leader->other = one && two ? second : NULL;
        leader->advance(leader);
        one = one && cg_batch_columns_serve(batch, group, first, most);
        two = two && cg_batch_columns_serve(batch, second, next, most);
        status = cg_batch_columns_listened(group, most, listener, &heard);
    }
    return status;
}

static int cg_batch_lanes_ready(cg_lanes_run_t *lanes, const cg_run_t *run)
{
    int status = CG_OK;
    for (unsigned g = 0; g < 2 && status == CG_OK; g++) {
        cg_lanes_run_t *const group = cg_lanes_group(lanes, g);
        const int starts = group->n_start > 0 && run->projection == CG_PROJECT_ALL; /* which a batch does not keep */
        status = run->detector != NULL || starts ? CG_UNSUPPORTED : cg_lanes_configure(group, run);
        group->direction = 1.0;
    }
    return status;
}

int cg_batch_advance(const cg_batch_t *batch, cg_run_t *run, cg_lanes_run_t *lanes, int64_t first, int64_t last,
                     cg_batch_goal_t goal, cg_listener_t *listener)
{
    int status = lanes == NULL ? CG_OK : cg_batch_lanes_ready(lanes, run);
    const int64_t width = lanes == NULL ? 1 : 2 * (int64_t)lanes->lanes;
    for (int64_t column = first; column < last && status == CG_OK; column += width) {
        status = lanes == NULL ? cg_batch_column_advance(batch, run, column, goal, listener)
                               : cg_batch_columns_advance(batch, lanes, column, goal, run->max_steps, listener);
    }
    return status;
}

int cg_all_finite(const double *values, int64_t count)
{
    enum { SUMS = 8 }; /* so that an addition need not wait for the one before */
    double sum[SUMS] = {0.0}, all = 0.0;
    const int64_t most = count - count % SUMS;
    for (int64_t i = 0; i < most; i += SUMS) {
        for (int k = 0; k < SUMS; k++) {
            sum[k] += 0.0 * values[i + k]; /* NaN unless it is finite */
        }
    }
    for (int64_t i = most; i < count; i++) {
        all += 0.0 * values[i];
    }
    for (int k = 0; k < SUMS; k++) {
        all += sum[k];
    }
    return all == 0.0;
}

/* ---- expressions ---- */

/* The arguments of a companion for one group of lanes. */
typedef struct cg_companion_group {
    double *t;
    double *x;
    double *p;
    double *u;
    double *out;
    double *work;
    int32_t *status;
} cg_companion_group_t;

static size_t cg_batch_companion_place(cg_companion_group_t *group, const cg_model_t *model, const cg_companion_t *companion,
                                       char *base)
{
    const int64_t lanes = companion->n_lanes;
    size_t offset = 0;
    group->t = cg_take(base, &offset, lanes);
    group->x = cg_take(base, &offset, lanes * model->n_states);
    group->p = cg_take(base, &offset, lanes * model->n_parameters);
    group->u = cg_take(base, &offset, lanes * model->n_inputs);
    group->out = cg_take(base, &offset, lanes * companion->n_values);
    group->work = cg_take(base, &offset, lanes * companion->n_work);
    group->status = (int32_t *)cg_take_bytes(base, &offset, sizeof(int32_t) * (size_t)lanes);
    return offset;
}

size_t cg_batch_scratch(const cg_batch_t *batch, const cg_companion_t *companion)
{
    cg_companion_group_t group;
    return cg_batch_companion_place(&group, batch->model, companion, NULL);
}

/* Copies rows of a part of the table into lanes. */
static void cg_batch_companion_load(const cg_batch_t *batch, double *to, int32_t part, int32_t rows, int64_t column,
                                    int32_t lanes)
{
    const double *from = cg_batch_at(batch, part, column);
    for (int32_t i = 0; i < rows; i++, to += lanes, from += batch->stride) {
        cg_copy_lanes(to, from, lanes);
    }
}

int cg_batch_evaluate(const cg_batch_t *batch, const cg_companion_t *companion, void *scratch, int64_t first,
                      int64_t last, double *out, int64_t stride)
{
    const cg_model_t *const model = batch->model;
    const int32_t lanes = companion->n_lanes;
    cg_companion_group_t group;
    if (companion->abi_version != CG_ABI_VERSION || companion->struct_size != sizeof *companion
        || strcmp(companion->digest, model->digest) != 0) {
        return CG_UNSUPPORTED;
    }
    cg_batch_companion_place(&group, model, companion, (char *)scratch);
    for (int64_t column = first; column < last; column += lanes) {
        const int32_t used = last - column < lanes ? (int32_t)(last - column) : lanes;
        cg_batch_companion_load(batch, group.t, CG_BATCH_T, 1, column, lanes);
        cg_batch_companion_load(batch, group.x, CG_BATCH_X, model->n_states, column, lanes);
        cg_batch_companion_load(batch, group.p, CG_BATCH_P, model->n_parameters, column, lanes);
        cg_batch_companion_load(batch, group.u, CG_BATCH_U, model->n_inputs, column, lanes);
        companion->values(group.t, group.x, group.p, group.u, group.out, group.status, group.work);
        for (int32_t lane = 0; lane < used; lane++) {
            for (int32_t i = 0; group.status[lane] != CG_OK && i < companion->n_values; i++) {
                group.out[i * lanes + lane] = NAN;
            }
        }
        for (int32_t i = 0; i < companion->n_values; i++) {
            cg_copy_lanes(out + i * stride + column, group.out + i * lanes, used);
        }
    }
    return CG_OK;
}
