/* cg_lanes.c: many trajectories side by side in lanes; see cg_lanes.h and cg_ensemble.h.
 *
 * The lane set steps all lanes until one of them needs service: times to record, an input sample, the end, or a
 * failure. That lane is served here, and gets the next trajectory as soon as its own has ended.
 */
#include "cg_ensemble_internal.h"
#include "methods/cg_control.h"
#include "cg_lanes_internal.h"
#include "step/cg_memory.h"

#include <math.h>
#include <string.h>

/* ---- one lane ---- */

/* The trajectories that have not started. The first of them are in the lanes of `ready`, with their first derivative
 * and step already computed: computing these for one lane costs as much as for all. */
typedef struct cg_queue {
    cg_cursor_t *cursor;
    struct cg_group *ready;
    uint32_t waiting;  /* bits of the lanes of `ready` that have a trajectory */
    int64_t trials;    /* of trajectories that ended in this call, at least one of each */
    int64_t budget;    /* trial steps of all lanes in this call; negative: no limit */
    int64_t max_steps; /* of a trajectory; the limit of a group can be lower, for a pause */
    int32_t paused;    /* a lane has reached the limit of its group */
} cg_queue_t;

/* A group of lanes: the trajectory in each, and the progress of its record. */
typedef struct cg_group {
    const cg_ensemble_t *ensemble;
    cg_lanes_run_t *run;
    cg_queue_t *queue;
    cg_observer_t *observer; /* NULL: nothing is observed */
    cg_progress_t *progress; /* in the cursor */
} cg_group_t;

/* The lowest of the bits, of which there are some. */
static inline int32_t cg_lanes_lowest(uint32_t bits)
{
#ifdef __GNUC__
    return __builtin_ctz(bits);
#else
    int32_t lane = 0;
    while (!(bits >> lane & 1u)) {
        lane++;
    }
    return lane;
#endif
}

/* Writes a value to a row for some lanes. */
static inline void cg_lanes_put(double *row, uint32_t bits, double value)
{
    for (int lane = 0; bits == 0xffu && lane < 8; lane++) { /* as a whole: a load soon after shorter stores is slow */
        row[lane] = value;
    }
    for (uint32_t left = bits == 0xffu ? 0u : bits; left != 0u; left &= left - 1u) {
        row[cg_lanes_lowest(left)] = value;
    }
}

/* Input i of some lanes follows a segment from now on. Higher coefficients than it has stay 0. */
static inline void cg_lanes_put_segment(const cg_lanes_run_t *run, int32_t i, uint32_t bits,
                                        const cg_segment_t *segment, int32_t n_powers)
{
    const int64_t lanes = run->lanes, at = i * lanes;
    cg_lanes_put(run->u_time + at, bits, segment->time);
    cg_lanes_put(run->u_value + at, bits, segment->c[0]);
    cg_lanes_put(run->u + at, bits, segment->c[0]);
    for (int64_t k = 0; k + 1 < n_powers; k++) {
        cg_lanes_put(run->u_curve + (CG_CURVE * i + k) * lanes, bits, segment->c[k + 1]);
    }
}

/* Brings a sampled input of some lanes into the segment of the time t [lanes], which is searched once for those that share it. */
static void cg_lanes_enter_input(const cg_lanes_run_t *run, int32_t i, uint32_t bits, const double *t)
{
    const cg_signal_t *const signal = &run->signals[i];
    int64_t *const knots = run->knots + (int64_t)i * run->lanes;
    const int64_t ahead = run->direction > 0.0 ? 1 : 0;
    for (uint32_t left = bits, here = 0u; left != 0u; left &= ~here) {
        const int32_t first = cg_lanes_lowest(left);
        cg_segment_t segment;
        cg_evaluate_segment(signal, run->row[first], t[first], run->direction, run->t_end, &knots[first], &segment);
        const int64_t next = knots[first] + ahead - 1, last = knots[first] - ahead;
        const double until = next >= 0 && next < signal->n ? run->direction * signal->t[next] : HUGE_VAL;
        const double from = last >= 0 && last < signal->n ? run->direction * signal->t[last] : -HUGE_VAL;
        here = 0u;
        for (int32_t lane = first; lane < run->lanes; lane++) {
            const double now = run->direction * t[lane];
            const uint32_t bit = left & 1u << lane;
            if (bit != 0u && from <= now && now < until) {
                here |= bit;
                knots[lane] = knots[first];
                run->u_until[lane] = cg_smaller(run->u_until[lane], until);
                run->u_from[lane] = cg_larger(run->u_from[lane], from);
            }
        }
        cg_lanes_put_segment(run, i, here, &segment, signal->n_powers);
        for (uint32_t own = signal->row != 0 ? here & (here - 1u) : 0u; own != 0u; own &= own - 1u) {
            cg_evaluate_piece(signal, run->row[cg_lanes_lowest(own)], knots[first], segment.c);
            cg_lanes_put_segment(run, i, own & (0u - own), &segment, signal->n_powers);
        }
    }
}

/* Brings the sampled inputs of some lanes into the segments of the times t [lanes]. */
static void cg_lanes_enter(const cg_lanes_run_t *run, uint32_t bits, const double *t)
{
    cg_lanes_put(run->u_from, bits, -HUGE_VAL);
    cg_lanes_put(run->u_until, bits, HUGE_VAL);
    for (int32_t i = 0; run->signals != NULL && i < run->model->n_inputs; i++) {
        if (run->signals[i].kind == CG_SIGNAL_POLYNOMIAL) {
            cg_lanes_enter_input(run, i, bits, t);
        }
    }
}

/* The `pass` of cg_lanes_run_t. */
static void cg_lanes_pass(const cg_lanes_run_t *run, uint32_t some, const double *t)
{
    uint32_t bits = 0u;
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        const double now = run->direction * t[lane];
        bits |= run->u_from[lane] <= now && now < run->u_until[lane] ? 0u : some & 1u << lane;
    }
    cg_lanes_enter(run, bits, t);
}

void cg_lanes_segments(cg_lanes_run_t *run, uint32_t bits, const double *ends)
{
    cg_lanes_enter(run, bits, run->t);
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        if (bits >> lane & 1u) {
            const double end = ends != NULL ? ends[lane] : run->t_end;
            const int first = run->pass == NULL && run->u_until[lane] < run->direction * end;
            run->t_stop[lane] = first ? run->direction * run->u_until[lane] : end;
            run->t_anchor[lane] = run->t[lane];
            run->n_anchor[lane] = 0.0;
            run->fresh[lane] |= run->u_until[lane] < HUGE_VAL || run->u_from[lane] > -HUGE_VAL ? -1 : 0;
            if (run->watched) {
                run->have_end[lane] = 0; /* an input may have jumped */
            }
        }
    }
    for (int32_t i = 0; run->signals != NULL && i < run->model->n_inputs; i++) {
        for (uint32_t left = run->signals[i].kind == CG_SIGNAL_MOVING ? bits : 0u; left != 0u; left &= left - 1u) {
            const int32_t lane = cg_lanes_lowest(left);
            cg_segment_t segment;
            if (run->n_trials[lane] == 0) { /* a trajectory begins */
                cg_evaluate_moving(run->model, i, run->t[lane], run->u + lane, run->lanes, &segment);
                cg_lanes_put_segment(run, i, 1u << lane, &segment, CG_CURVE + 1);
            }
        }
    }
}

int cg_lanes_status(const cg_lanes_run_t *run, int32_t lane, int status)
{
    const int32_t n_p = run->model->n_parameters;
    double *const x = run->moved, *const p = x + run->n, *const u = p + n_p;
    const int unclosed = status == CG_UNCLOSED; /* at the end of a step that was taken back */
    const double t = unclosed ? run->t_old[lane] : run->t[lane];
    if (status == CG_OK) {
        return status;
    }
    cg_gather(x, 1, (unclosed ? run->x_old : run->x) + lane, run->lanes, run->n);
    cg_gather(p, 1, run->p + lane, run->lanes, n_p);
    cg_lane_inputs(run, lane, t, u, 1);
    return cg_correct_failure(run->model, status, t, x, p, u, u + run->n_u);
}

/* Writes the end of the lane's trajectory and leaves the lane empty. */
static void cg_lanes_end(cg_group_t *group, int32_t lane, int status)
{
    cg_lanes_run_t *const run = group->run;
    cg_progress_t *const progress = group->progress;
    cg_outcome_t outcome = {cg_lanes_status(run, lane, status), run->t[lane], run->n_rhs[lane],
                            run->n_trials[lane] - run->n_rejected[lane], progress->reached[lane]};
    if (progress->slot[lane] != NULL) {
        cg_lane_record_shelf_end(group->ensemble, run, group->queue->cursor, progress, lane);
        outcome.n_rows = group->ensemble->n_eval;
    }
    cg_ensemble_end(group->ensemble, progress->trajectory[lane], &outcome, run->n, run->x + lane, run->lanes);
    if (group->observer != NULL) {
        cg_ensemble_observed(group->ensemble, progress->trajectory[lane], group->observer, lane);
    }
    group->queue->cursor->n_done++;
    group->queue->trials += run->n_trials[lane] > 0 ? run->n_trials[lane] : 1;
    run->active[lane] = 0;
}

/* Copies one entry for each of the first `count` lanes into every row. */
static void cg_lanes_rows_load(double *to, int32_t lanes, const double *from, int64_t lane_stride, int64_t row_stride,
                               int32_t rows, int32_t count)
{
    for (int32_t i = 0; i < rows; i++, to += lanes, from += row_stride) {
        cg_gather(to, 1, from, lane_stride, count);
    }
}

/* Puts `count` trajectories from `first` on into the first lanes; the others stay empty, and so do those whose
 * trajectory ends where it starts. */
static void cg_lanes_group_load(cg_group_t *group, int64_t first, int32_t count)
{
    const cg_ensemble_t *const ensemble = group->ensemble;
    cg_lanes_run_t *const run = group->run;
    const cg_model_t *const model = run->model;
    cg_lanes_rows_load(run->x, run->lanes, ensemble->x0 + first * ensemble->x0_row, ensemble->x0_row, ensemble->x0_col, run->n,
                       count);
    memcpy(run->start, run->x, sizeof(double) * (size_t)run->n_start * (size_t)run->lanes);
    if (!run->same_p) {
        cg_lanes_rows_load(run->p, run->lanes, ensemble->p + first * ensemble->p_row, ensemble->p_row, ensemble->p_col,
                           model->n_parameters, count);
    }
    if (ensemble->u != NULL) {
        cg_lanes_rows_load(run->u, run->lanes, ensemble->u + first * ensemble->u_row, ensemble->u_row, ensemble->u_col,
                           model->n_inputs, count);
    }
    run->set->begin(run, ensemble->t0);
    cg_lane_record_shelf_take(ensemble, run, group->queue->cursor, first, count, group->progress);
    for (int64_t at = (int64_t)model->n_inputs * run->lanes; run->watched && at < (int64_t)run->n_u * run->lanes; at++) {
        run->u[at] = 0.0;
    }
    uint32_t regular = 0u;
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        group->progress->trajectory[lane] = first + lane;
        group->progress->reached[lane] = 0;
        run->active[lane] = lane < count ? -1 : 0;
        if (lane < count && run->status[lane] != CG_NONFINITE) {
            regular |= 1u << lane;
            run->row[lane] = first + lane;
        }
    }
    cg_lanes_segments(run, regular, NULL);
    for (uint32_t left = run->watched ? regular : 0u; left != 0u; left &= left - 1u) {
        const int32_t lane = cg_lanes_lowest(left);
        if (run->status[lane] == CG_OK && cg_lane_events_begin(ensemble, first + lane, run, lane) != CG_OK) {
            regular &= ~(1u << lane);
        }
    }
    if (ensemble->t_eval != NULL) {
        cg_lane_record_all(ensemble, run, regular, group->progress);
    }
    for (int32_t lane = 0; lane < count; lane++) {
        if (run->watched && run->status[lane] == CG_OK) { /* what occurs at the start, if there is room for it */
            cg_lane_events_handle(run, lane, group->queue->cursor, first + lane);
        }
        if (run->status[lane] != CG_OK || ensemble->t0 == ensemble->t_end) {
            cg_lanes_end(group, lane, (int)run->status[lane]);
        }
    }
}

/* to[i * lanes] = from[i * lanes], of whatever type. */
static inline void cg_lanes_carry(double *to, const double *from, int32_t lanes, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        memcpy(to + (int64_t)i * lanes, from + (int64_t)i * lanes, sizeof *to);
    }
}

/* Copies the state of a lane between steps. */
static void cg_lanes_copy(cg_lanes_run_t *run, int32_t lane, const cg_lanes_run_t *source, int32_t from)
{
    const int32_t lanes = run->lanes;
    double *const watched[3] = {run->sign, run->enabled, run->end};
    const double *const watched_of[3] = {source->sign, source->enabled, source->end};
    cg_lanes_carry(run->x + lane, source->x + from, lanes, run->n);
    cg_lanes_carry(run->f + lane, source->f + from, lanes, run->n);
    cg_lanes_carry(run->start + lane, source->start + from, lanes, run->n_start);
    cg_lanes_carry(run->carried + lane, source->carried + from, lanes, run->n_carried);
    run->t_old[lane] = run->t[lane];
    run->u_from[lane] = HUGE_VAL; /* its segments are to be found */
    for (int a = 0; run->watched && a < 3; a++) {
        cg_lanes_carry(watched[a] + lane, watched_of[a] + from, lanes, run->n_observed);
    }
    if (run->watched) {
        run->have_end[lane] = source->have_end[from];
        run->landing[lane] = 0;
    }
}

/* Bits of the lanes with a trajectory. */
static uint32_t cg_lanes_busy(const cg_lanes_run_t *run)
{
    uint32_t bits = 0u;
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        bits |= run->active[lane] ? 1u << lane : 0u;
    }
    return bits;
}

int32_t cg_lanes_occupied(const cg_lanes_run_t *run)
{
    const uint32_t busy = cg_lanes_busy(run);
    return busy != 0u ? cg_lanes_lowest(busy) : -1;
}

void cg_lanes_imitate(cg_lanes_run_t *run, int32_t lane, int32_t from)
{
    cg_lanes_copy(run, lane, run, from);
    run->active[lane] = run->fresh[lane] = run->unstarted[lane] = 0;
    run->t_stop[lane] = run->t[lane];
    run->mark[lane] = HUGE_VAL;
}

/* Starts trajectories in the lanes of `ready`, which are empty: one in each lane, as long as there are any. */
static void cg_lanes_queue_begin(cg_queue_t *queue)
{
    cg_group_t *const ready = queue->ready;
    cg_cursor_t *const cursor = queue->cursor;
    cg_lanes_run_t *const run = ready->run;
    const int64_t left = cursor->last - cursor->next;
    const int32_t count = left < run->lanes ? (int32_t)left : run->lanes;
    cg_lanes_group_load(ready, cursor->next, count);
    cursor->next += count;
    const int32_t from = cg_lanes_occupied(run);
    if (from < 0) {
        return;
    }
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        if (!run->active[lane]) {
            cg_lanes_imitate(run, lane, from);
        }
    }
    run->attention = 0u;
    run->prepare(run);
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        if (run->attention >> lane & 1u) {
            cg_lanes_end(ready, lane, (int)run->status[lane]);
        }
    }
    queue->waiting = cg_lanes_busy(run);
}

/* Whether this call is to end. */
static int cg_lanes_queue_pauses(const cg_queue_t *queue)
{
    const cg_lanes_run_t *const run = queue->ready->run;
    return *run->stop || (queue->budget >= 0 && (queue->paused || queue->trials / run->lanes >= queue->budget));
}

/* Moves the next trajectory into an empty lane. If there is none, the lane stays empty; if those that are started end at
 * once, it needs service again. */
static void cg_lanes_fill(cg_group_t *group, int32_t lane)
{
    cg_queue_t *const queue = group->queue;
    cg_group_t *const ready = queue->ready;
    if (queue->waiting == 0u && queue->cursor->next < queue->cursor->last) {
        cg_lanes_queue_begin(queue);
        group->run->attention |= queue->waiting == 0u && queue->cursor->next < queue->cursor->last ? 1u << lane : 0u;
    }
    if (queue->waiting != 0u) {
        const int32_t from = cg_lanes_lowest(queue->waiting);
        queue->waiting &= queue->waiting - 1u;
        cg_lanes_copy(group->run, lane, ready->run, from);
        group->progress->trajectory[lane] = ready->progress->trajectory[from];
        group->progress->reached[lane] = ready->progress->reached[from];
        group->progress->slot[lane] = ready->progress->slot[from];
        ready->run->active[from] = 0;
        if (group->run->watched) {
            struct cg_detector *const spare = group->run->detector[lane];
            group->run->detector[lane] = ready->run->detector[from];
            ready->run->detector[from] = spare;
            if (group->run->detector[lane]->pending) { /* there was no room, and the first step will be another one */
                group->run->attention |= 1u << lane;
                group->run->unstarted[lane] = group->run->adaptive && group->run->first_step == 0.0 ? -1 : 0;
            }
        }
        if (group->observer != NULL) {
            cg_observer_begin(group->observer, lane);
            group->run->mark[lane] = -HUGE_VAL; /* every step asks for service */
        }
    }
}

/* Serves one lane that needs it. */
static void cg_lanes_attend(cg_group_t *group, int32_t lane)
{
    cg_lanes_run_t *const run = group->run;
    int status = (int)run->status[lane];
    if (status == CG_OK && run->t[lane] == run->t_end) {
        cg_lanes_end(group, lane, CG_OK);
        return;
    }
    if (status == CG_OK && run->n_trials[lane] >= run->max_steps) {
        status = run->n_trials[lane] >= group->queue->max_steps ? CG_TOO_MANY_STEPS : CG_OK;
        group->queue->paused = 1;
    }
    if (status != CG_OK) {
        cg_lanes_end(group, lane, status);
    } else if (run->t[lane] == run->t_stop[lane]) {
        cg_lanes_segments(run, 1u << lane, NULL);
    }
}

/* Sets how the inputs of a run move on by themselves. */
static void cg_lanes_set_moves(cg_lanes_run_t *run, int passes)
{
    int moves = passes, shared = passes;
    memset(run->u_curve, 0, sizeof(double) * (size_t)(CG_CURVE * run->n_u * run->lanes));
    for (int32_t i = 0; run->signals != NULL && i < run->model->n_inputs; i++) {
        const cg_signal_t *const signal = &run->signals[i];
        const int held = signal->kind == CG_SIGNAL_POLYNOMIAL && signal->n_powers == 1;
        moves |= signal->kind >= CG_SIGNAL_POLYNOMIAL && !held;
        shared &= signal->kind != CG_SIGNAL_MOVING && signal->row == 0;
    }
    run->input_kind = moves ? CG_INPUT_MOVES : 0;
    run->pass = passes ? cg_lanes_pass : NULL;
    run->tabulates = shared;
    run->table_h = 0.0; /* of other samples */
}

int cg_lanes_configure(cg_lanes_run_t *run, const cg_run_t *options)
{
    if (!cg_driver_options_valid(options) || options->stop == NULL) {
        return CG_BAD_ARGUMENT;
    }
    for (int32_t i = 0; options->signals != NULL && i < run->model->n_inputs; i++) {
        if (options->signals[i].kind == CG_SIGNAL_CALL) {
            return CG_UNSUPPORTED;
        }
    }
    run->signals = options->signals;
    cg_lanes_set_moves(run, options->passes && !run->adaptive && run->signals != NULL);
    run->stop = options->stop;
    run->rtol = options->rtol;
    run->projection = options->projection;
    run->max_step = options->max_step;
    run->first_step = options->first_step;
    for (int32_t i = 0; i < run->n; i++) {
        run->atol[i] = options->atol[i] > CG_ATOL_FLOOR ? options->atol[i] : CG_ATOL_FLOOR;
    }
    return CG_OK;
}

static int cg_lanes_options(cg_lanes_run_t *run, const cg_ensemble_t *ensemble, const cg_run_t *options)
{
    CG_TRY(cg_ensemble_valid(ensemble) ? cg_lanes_configure(run, options) : CG_BAD_ARGUMENT);
    const int watched = cg_lane_events_configure(run, options);
    if (watched != CG_OK || (ensemble->observer[0] != NULL && (run->watched || ensemble->t0 == ensemble->t_end))) {
        return CG_UNSUPPORTED;
    }
    run->t_end = ensemble->t_end;
    run->direction = ensemble->t_end < ensemble->t0 ? -1.0 : 1.0;
    cg_lanes_rows_load(run->u, run->lanes, options->u, 0, 1, run->n_u, run->lanes);
    run->hoisted = 0;
    run->same_p = ensemble->p_row == 0;
    run->n_carried = (int32_t)((run->p - run->carried) / run->lanes) + (run->same_p ? 0 : cg_lanes_p_rows(run));
    if (run->same_p) {
        cg_lanes_rows_load(run->p, run->lanes, ensemble->p, 0, ensemble->p_col, run->model->n_parameters, run->lanes);
        run->set->begin(run, ensemble->t0);
    }
    return CG_OK;
}

/* Records the requested times that the lanes in need of service have reached. */
static void cg_lanes_group_record(cg_group_t *group, uint32_t attention)
{
    const cg_lanes_run_t *const run = group->run;
    uint32_t due = 0u;
    for (int32_t lane = 0; group->ensemble->t_eval != NULL && lane < run->lanes; lane++) {
        due |= run->active[lane] && run->status[lane] == CG_OK ? attention & 1u << lane : 0u;
    }
    if (due != 0u) {
        cg_lane_record_all(group->ensemble, group->run, due, group->progress);
    }
}

/* Serves the lanes of a group, of which some need it, until none does, or this call is to end. CG_EVENTS_FULL: those that need it are served again,
 * which changes nothing where it is done, once the cursor has room. */
static int cg_lanes_group_serve(cg_group_t *group)
{
    cg_lanes_run_t *const run = group->run;
    do {
        const uint32_t attention = run->attention & UINT32_MAX >> (32 - run->lanes);
        const int only_sampled = attention == run->at_sample;
        uint32_t empty = 0u;
        int64_t fresh = 0;
        run->attention = run->at_sample = 0u;
        if (only_sampled) {
            cg_lanes_segments(run, attention, NULL);
            run->prepare(run);
            continue;
        }
        cg_lanes_group_record(group, attention);
        for (uint32_t left = attention; left != 0u; left &= left - 1u) {
            const int32_t lane = cg_lanes_lowest(left);
            if (run->watched && run->active[lane] && run->status[lane] == CG_OK
                && cg_lane_events_handle(run, lane, group->queue->cursor, group->progress->trajectory[lane]) != CG_OK) {
                run->attention = attention;
                return CG_EVENTS_FULL;
            }
            if (run->active[lane]) {
                cg_lanes_attend(group, lane);
            }
            if (!run->active[lane]) {
                cg_lanes_fill(group, lane);
            }
            fresh |= run->fresh[lane];
            empty |= run->active[lane] ? 0u : 1u << lane;
        }
        const int32_t occupied = cg_lanes_occupied(run);
        for (uint32_t left = occupied >= 0 ? empty : 0u; left != 0u; left &= left - 1u) {
            cg_lanes_imitate(run, cg_lanes_lowest(left), occupied);
        }
        if (fresh != 0) {
            run->prepare(run);
        }
    } while (run->attention != 0u && !cg_lanes_queue_pauses(group->queue));
    return CG_OK;
}

/* Sets the limit of a group: each of its trajectories can take `budget` more trial steps before a pause. */
static void cg_lanes_group_limit(cg_group_t *group, int64_t budget)
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
    cg_queue_t queue = {cursor, &groups[2], 0u, 0, budget, options->max_steps, 0};
    for (unsigned g = 0; g < CG_GROUPS; g++) {
        cg_lanes_run_t *const own = cg_lanes_group(run, g);
        if (!cursor->begun) {
            CG_TRY(cg_lanes_options(own, ensemble, options));
            own->attention = UINT32_MAX;
            own->at_sample = 0u;
            memset(own->active, 0, sizeof *own->active * (size_t)own->lanes); /* from an abandoned range */
        }
        groups[g].ensemble = ensemble;
        groups[g].run = own;
        groups[g].queue = &queue;
        groups[g].observer = g < CG_RUNNING ? ensemble->observer[g] : NULL;
        groups[g].progress = &cursor->progress[g];
        cg_lanes_group_limit(&groups[g], budget);
    }
    cursor->begun = 1;
    queue.waiting = cg_lanes_busy(groups[2].run);
    for (;;) {
        int working[CG_RUNNING];
        for (unsigned g = 0; g < CG_RUNNING; g++) {
            CG_TRY(groups[g].run->attention != 0u ? cg_lanes_group_serve(&groups[g]) : CG_OK);
            working[g] = cg_lanes_occupied(groups[g].run) >= 0;
        }
        if (!working[0] && !working[1] && (groups[0].run->attention | groups[1].run->attention) == 0u) {
            return CG_OK;
        }
        if (cg_lanes_queue_pauses(&queue)) {
            return *run->stop ? CG_INTERRUPTED : CG_BUDGET_USED;
        }
        cg_lanes_run_t *const leader = groups[working[0] ? 0 : 1].run;
        leader->other = working[0] && working[1] ? groups[1].run : NULL;
        leader->advance(leader);
        for (unsigned g = 0; g < CG_RUNNING; g++) {
            if (groups[g].run->met != 0u) {
                cg_lane_events_meet(groups[g].run, cursor, groups[g].progress);
            }
            if (working[g] && groups[g].observer != NULL) {
                cg_observe_lanes(groups[g].observer, groups[g].run);
            }
        }
    }
}
