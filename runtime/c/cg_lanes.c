/* cg_lanes.c: many trajectories side by side in lanes; see cg_lanes.h and cg_ensemble.h.
 *
 * The lane set steps all lanes until one of them needs service: times to record, an input sample, the end, or a
 * failure. That lane is served here, and gets the next trajectory as soon as its own has ended.
 */
#include "cg_ensemble_internal.h"
#include "cg_control.h"
#include "cg_memory.h"

#include <math.h>
#include <string.h>

/* ---- one lane ---- */

/* The trajectories that have not started. The first of them are in the lanes of `ready`, with their first derivative
 * and step already computed: computing these for one lane costs as much as for all. */
typedef struct cg_queue {
    cg_cursor_t *cursor;
    struct cg_group *ready;
    int64_t trials;    /* of trajectories that ended in this call */
    int64_t max_steps; /* of a trajectory; the limit of a group can be lower, for a pause */
    int32_t paused;    /* a lane has reached the limit of its group */
} cg_queue_t;

/* A group of lanes: the trajectory in each, and the progress of its record. */
typedef struct cg_group {
    const cg_ensemble_t *ensemble;
    cg_lanes_run_t *run;
    cg_queue_t *queue;
    cg_observer_t *observer; /* NULL: nothing is observed */
    int64_t *trajectory; /* [lanes], in the cursor */
    int64_t *next_eval;
} cg_group_t;

/* Sets the inputs of a lane from its time on, and its next t_stop. */
static void cg_lane_segment(cg_lanes_run_t *run, int32_t lane)
{
    const int32_t lanes = run->lanes;
    run->t_stop[lane] = run->t_end;
    for (int32_t i = 0; run->signals != NULL && i < run->model->n_inputs; i++) {
        const cg_signal_t *const signal = &run->signals[i];
        if (signal->kind == CG_SIGNAL_HOLD || signal->kind == CG_SIGNAL_LINEAR) {
            const int64_t at = (int64_t)i * lanes + lane;
            run->t_stop[lane] = cg_signal_segment(signal, run->t[lane], run->direction, run->t_stop[lane],
                                                  &run->u_time[at], &run->u_value[at], &run->u_slope[at]);
            run->u[at] = run->u_value[at];
            run->fresh[lane] = -1;
        }
    }
    run->t_anchor[lane] = run->t[lane];
    run->n_anchor[lane] = 0.0;
}

void cg_lanes_interpolant(cg_lanes_run_t *run)
{
    if (!run->have_dense) { /* the right-hand side is not called again before the next trial */
        memset(run->failed, 0, sizeof *run->failed * (size_t)run->lanes);
        run->calls = 0;
        run->dense(run);
    }
}

/* Records the requested times up to the lane's time, from the interpolant over its last step. As for one trajectory,
 * calls made for the interpolant are counted, and one that fails ends the trajectory. */
static int cg_lane_record(cg_group_t *group, int32_t lane)
{
    const cg_ensemble_t *const ensemble = group->ensemble;
    cg_lanes_run_t *const run = group->run;
    const int32_t lanes = run->lanes;
    const double t = run->t[lane];
    double *const y = ensemble->y + group->trajectory[lane] * ensemble->y_row;
    int64_t m = group->next_eval[lane];
    int gathered = 0;
    int status = CG_OK;
    for (; m < ensemble->n_eval; m++) {
        const double wanted = ensemble->t_eval[m];
        if (run->direction * (wanted - t) > 0.0) {
            break;
        }
        double *const row = y + m * ensemble->y_time;
        if (wanted == t) {
            for (int32_t i = 0; i < run->n; i++) {
                row[i * ensemble->y_col] = run->x[(int64_t)i * lanes + lane];
            }
            continue;
        }
        cg_lanes_interpolant(run);
        if (!gathered) {
            gathered = 1;
            if (group->observer == NULL) { /* else they are counted already */
                run->n_rhs[lane] += run->failed[lane] ? run->failed_at[lane] : run->calls;
            }
            if (run->failed[lane]) {
                status = CG_SINGULAR;
                break;
            }
            cg_gather(run->scratch, 1, run->coef + lane, lanes, run->n_dense * run->n);
        }
        const double theta = (wanted - run->t_old[lane]) / (t - run->t_old[lane]);
        cg_dense_evaluate(run->scratch, run->n_dense, run->n, run->n, theta, row, ensemble->y_col);
    }
    group->next_eval[lane] = m;
    run->mark[lane] = group->observer != NULL ? -HUGE_VAL
        : m < ensemble->n_eval                ? run->direction * ensemble->t_eval[m]
                                              : HUGE_VAL;
    return status;
}

/* Writes the end of the lane's trajectory and leaves the lane empty. */
static void cg_lane_end(cg_group_t *group, int32_t lane, int status)
{
    cg_lanes_run_t *const run = group->run;
    const cg_outcome_t outcome = {status, run->t[lane], run->n_rhs[lane], run->n_trials[lane] - run->n_rejected[lane],
                                  group->next_eval[lane]};
    cg_ensemble_end(group->ensemble, group->trajectory[lane], &outcome, run->n, run->x + lane, run->lanes);
    if (group->observer != NULL) {
        cg_ensemble_observed(group->ensemble, group->trajectory[lane], group->observer, lane);
    }
    group->queue->cursor->n_done++;
    group->queue->trials += run->n_trials[lane];
    run->active[lane] = 0;
}

/* Puts trajectory j into a lane. 0: it has already ended, with the status of the lane. */
static int cg_lane_load(cg_group_t *group, int32_t lane, int64_t j)
{
    const cg_ensemble_t *const ensemble = group->ensemble;
    cg_lanes_run_t *const run = group->run;
    const cg_model_t *const model = run->model;
    const int32_t lanes = run->lanes;
    double sum = 0.0;
    cg_gather(run->x + lane, lanes, ensemble->x0 + j * ensemble->x0_row, ensemble->x0_col, run->n);
    cg_gather(run->p_one, 1, ensemble->p + j * ensemble->p_row, ensemble->p_col, model->n_parameters);
    const int hoisted = model->hoist == NULL ? CG_OK : model->hoist(run->p_one, run->p_one + model->n_parameters);
    cg_gather(run->p + lane, lanes, run->p_one, 1, cg_lanes_p_rows(run));
    if (ensemble->u != NULL) {
        cg_gather(run->u + lane, lanes, ensemble->u + j * ensemble->u_row, ensemble->u_col, model->n_inputs);
    }
    for (int32_t i = 0; i < run->n; i++) {
        sum += 0.0 * run->x[(int64_t)i * lanes + lane];
    }
    run->t[lane] = run->t_old[lane] = ensemble->t0;
    run->h[lane] = run->first_step;
    if (!run->adaptive && !(run->h[lane] > 0.0 && run->h[lane] < run->max_step)) {
        run->h[lane] = run->max_step;
    }
    run->log_old[lane] = CG_LEAST_LOG;
    run->n_trials[lane] = run->n_rejected[lane] = run->n_rhs[lane] = 0;
    run->rejected[lane] = 0;
    run->active[lane] = -1;
    run->fresh[lane] = -1;
    run->unstarted[lane] = run->h[lane] == 0.0 ? -1 : 0;
    run->status[lane] = CG_OK;
    group->trajectory[lane] = j;
    group->next_eval[lane] = 0;
    run->mark[lane] = HUGE_VAL;
    if (sum != 0.0) { /* 0 * x is NaN for an infinity and for a NaN */
        run->status[lane] = CG_NONFINITE;
        return 0;
    }
    cg_lane_segment(run, lane);
    if (ensemble->t_eval != NULL) {
        cg_lane_record(group, lane);
    }
    if (ensemble->t0 == ensemble->t_end) {
        return 0;
    }
    run->n_rhs[lane] = hoisted != CG_OK; /* counts the failed call */
    run->status[lane] = hoisted;
    return hoisted == CG_OK;
}

/* Copies the state of a lane between steps. */
static void cg_lane_copy(cg_lanes_run_t *run, int32_t lane, const cg_lanes_run_t *source, int32_t from)
{
    const int32_t lanes = run->lanes;
    double *const to[7] = {run->x, run->f, run->p, run->u, run->u_time, run->u_value, run->u_slope};
    const double *const of[7] = {source->x,      source->f,       source->p,      source->u,
                                 source->u_time, source->u_value, source->u_slope};
    const int32_t rows[7] = {run->n, run->n, cg_lanes_p_rows(run), run->n_u, run->n_u, run->n_u, run->n_u};
    for (int a = 0; a < 7; a++) {
        for (int64_t i = 0; i < rows[a]; i++) {
            to[a][i * lanes + lane] = of[a][i * lanes + from];
        }
    }
    run->t[lane] = run->t_old[lane] = source->t[from];
    run->t_stop[lane] = source->t_stop[from];
    run->mark[lane] = source->mark[from];
    run->h[lane] = source->h[from];
    run->log_old[lane] = source->log_old[from];
    run->t_anchor[lane] = source->t_anchor[from];
    run->n_anchor[lane] = source->n_anchor[from];
    run->n_trials[lane] = source->n_trials[from];
    run->n_rejected[lane] = source->n_rejected[from];
    run->n_rhs[lane] = source->n_rhs[from];
    run->rejected[lane] = source->rejected[from];
    run->active[lane] = source->active[from];
    run->fresh[lane] = source->fresh[from];
    run->unstarted[lane] = source->unstarted[from];
    run->status[lane] = source->status[from];
}

int32_t cg_lanes_occupied(const cg_lanes_run_t *run)
{
    int32_t lane = 0;
    while (lane < run->lanes && !run->active[lane]) {
        lane++;
    }
    return lane < run->lanes ? lane : -1;
}

void cg_lane_imitate(cg_lanes_run_t *run, int32_t lane, int32_t from)
{
    cg_lane_copy(run, lane, run, from);
    run->active[lane] = run->fresh[lane] = run->unstarted[lane] = 0;
    run->t_stop[lane] = run->t[lane];
    run->mark[lane] = HUGE_VAL;
}

/* Starts trajectories, one in each lane of `ready`, as long as there are any. */
static void cg_queue_begin(cg_queue_t *queue)
{
    cg_group_t *const ready = queue->ready;
    cg_cursor_t *const cursor = queue->cursor;
    cg_lanes_run_t *const run = ready->run;
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        while (cursor->next < cursor->last && !cg_lane_load(ready, lane, cursor->next++)) {
            cg_lane_end(ready, lane, (int)run->status[lane]);
        }
    }
    const int32_t from = cg_lanes_occupied(run);
    if (from < 0) {
        return;
    }
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        if (!run->active[lane]) {
            cg_lane_imitate(run, lane, from);
        }
    }
    run->attention = 0u;
    run->prepare(run);
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        if (run->attention >> lane & 1u) {
            cg_lane_end(ready, lane, (int)run->status[lane]);
        }
    }
}

/* Moves the next trajectory into an empty lane; if there is none, the lane stays empty. */
static void cg_lane_fill(cg_group_t *group, int32_t lane)
{
    cg_queue_t *const queue = group->queue;
    cg_group_t *const ready = queue->ready;
    int32_t from = cg_lanes_occupied(ready->run);
    while (from < 0 && queue->cursor->next < queue->cursor->last) {
        cg_queue_begin(queue);
        from = cg_lanes_occupied(ready->run);
    }
    if (from >= 0) {
        cg_lane_copy(group->run, lane, ready->run, from);
        group->trajectory[lane] = ready->trajectory[from];
        group->next_eval[lane] = ready->next_eval[from];
        ready->run->active[from] = 0;
        if (group->observer != NULL) {
            cg_observer_begin(group->observer, lane);
            group->run->mark[lane] = -HUGE_VAL; /* every step asks for service */
        }
    }
}

/* Serves one lane that needs it. */
static void cg_lane_attend(cg_group_t *group, int32_t lane)
{
    cg_lanes_run_t *const run = group->run;
    int status = (int)run->status[lane];
    if (group->ensemble->t_eval != NULL && status == CG_OK) {
        status = cg_lane_record(group, lane);
    }
    if (status == CG_OK && run->t[lane] == run->t_end) {
        cg_lane_end(group, lane, CG_OK);
        return;
    }
    if (status == CG_OK && run->n_trials[lane] >= run->max_steps) {
        status = run->n_trials[lane] >= group->queue->max_steps ? CG_TOO_MANY_STEPS : CG_OK;
        group->queue->paused = 1;
    }
    if (status != CG_OK) {
        cg_lane_end(group, lane, status);
    } else if (run->t[lane] == run->t_stop[lane]) {
        cg_lane_segment(run, lane);
    }
}

int cg_lanes_configure(cg_lanes_run_t *run, const cg_run_t *options)
{
    if (!cg_options_valid(options) || options->stop == NULL) {
        return CG_BAD_ARGUMENT;
    }
    if (options->detector != NULL) {
        return CG_UNSUPPORTED;
    }
    for (int32_t i = 0; options->signals != NULL && i < run->model->n_inputs; i++) {
        if (options->signals[i].kind == CG_SIGNAL_CALL) {
            return CG_UNSUPPORTED;
        }
        run->input_kind |= options->signals[i].kind == CG_SIGNAL_LINEAR ? CG_INPUT_SLOPE : 0;
    }
    run->signals = options->signals;
    run->stop = options->stop;
    run->rtol = options->rtol;
    run->max_step = options->max_step;
    run->first_step = options->first_step;
    for (int32_t i = 0; i < run->n; i++) {
        run->atol[i] = options->atol[i] > CG_ATOL_FLOOR ? options->atol[i] : CG_ATOL_FLOOR;
    }
    return CG_OK;
}

static int cg_lanes_options(cg_lanes_run_t *run, const cg_ensemble_t *ensemble, const cg_run_t *options)
{
    const int status = cg_ensemble_valid(ensemble) ? cg_lanes_configure(run, options) : CG_BAD_ARGUMENT;
    if (status != CG_OK) {
        return status;
    }
    if (ensemble->observer[0] != NULL && ensemble->t0 == ensemble->t_end) {
        return CG_UNSUPPORTED;
    }
    run->t_end = ensemble->t_end;
    run->direction = ensemble->t_end < ensemble->t0 ? -1.0 : 1.0;
    for (int32_t i = 0; i < run->n_u; i++) {
        for (int32_t lane = 0; lane < run->lanes; lane++) {
            run->u[(int64_t)i * run->lanes + lane] = options->u[i];
        }
    }
    return CG_OK;
}

/* Serves the lanes of a group until none needs it. 0: no lane has a trajectory any more. */
static int cg_group_serve(cg_group_t *group)
{
    cg_lanes_run_t *const run = group->run;
    int32_t occupied = cg_lanes_occupied(run);
    while (run->attention != 0u) {
        const uint32_t attention = run->attention;
        int64_t fresh = 0;
        run->attention = 0u;
        for (int32_t lane = 0; lane < run->lanes; lane++) {
            if (attention >> lane & 1u) {
                if (run->active[lane]) {
                    cg_lane_attend(group, lane);
                }
                if (!run->active[lane]) {
                    cg_lane_fill(group, lane);
                }
            }
        }
        occupied = cg_lanes_occupied(run);
        for (int32_t lane = 0; occupied >= 0 && lane < run->lanes; lane++) {
            if (!run->active[lane] && attention >> lane & 1u) {
                cg_lane_imitate(run, lane, occupied);
            }
            fresh |= run->fresh[lane];
        }
        if (fresh != 0) {
            run->prepare(run);
        }
    }
    return occupied >= 0;
}

/* Sets the limit of a group: each of its trajectories can take `budget` more trial steps before a pause. */
static void cg_group_limit(cg_group_t *group, int64_t budget)
{
    cg_lanes_run_t *const run = group->run;
    int64_t most = 0;
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        most = run->active[lane] && run->n_trials[lane] > most ? run->n_trials[lane] : most;
    }
    run->max_steps = group->queue->max_steps;
    if (budget >= 0 && budget < run->max_steps - most) {
        run->max_steps = most + budget;
    }
}

int cg_ensemble_lanes(const cg_ensemble_t *ensemble, cg_lanes_run_t *run, const cg_run_t *options, cg_cursor_t *cursor,
                      int64_t budget)
{
    cg_group_t groups[CG_GROUPS];
    cg_queue_t queue = {cursor, &groups[2], 0, options->max_steps, 0};
    for (unsigned g = 0; g < CG_GROUPS; g++) {
        cg_lanes_run_t *const own = cg_lanes_group(run, g);
        if (!cursor->begun) {
            const int status = cg_lanes_options(own, ensemble, options);
            if (status != CG_OK) {
                return status;
            }
            own->attention = UINT32_MAX;
            memset(own->active, 0, sizeof *own->active * (size_t)own->lanes); /* from an abandoned range */
        }
        groups[g].ensemble = ensemble;
        groups[g].run = own;
        groups[g].queue = &queue;
        groups[g].observer = g < CG_RUNNING ? ensemble->observer[g] : NULL;
        groups[g].trajectory = cursor->trajectory[g];
        groups[g].next_eval = cursor->next_eval[g];
        cg_group_limit(&groups[g], budget);
    }
    cursor->begun = 1;
    for (;;) {
        const int working[2] = {cg_group_serve(&groups[0]), cg_group_serve(&groups[1])};
        if (!working[0] && !working[1]) {
            return CG_OK;
        }
        if (*run->stop) {
            return CG_INTERRUPTED;
        }
        if (budget >= 0 && (queue.paused || queue.trials / run->lanes >= budget)) {
            return CG_BUDGET_USED;
        }
        cg_lanes_run_t *const leader = groups[working[0] ? 0 : 1].run;
        leader->other = working[0] && working[1] ? groups[1].run : NULL;
        leader->advance(leader);
        for (unsigned g = 0; g < CG_RUNNING; g++) {
            if (working[g] && groups[g].observer != NULL) {
                cg_observe_lanes(groups[g].observer, groups[g].run);
            }
        }
    }
}
