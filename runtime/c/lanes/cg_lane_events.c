/* cg_lane_events.c: events of trajectories in lanes. What cg_lanes_watch.h does not decide, the detector of one trajectory
 * does: the lane is copied into a run of its own, served by the functions of cg_events.h, and copied back.
 */
#include "cg_ensemble_internal.h"
#include "cg_lanes_internal.h"
#include "step/cg_memory.h"

#include <string.h>

/* ---- workspace ---- */

int cg_lane_events_init(cg_lanes_run_t *run)
{
    int status = CG_OK;
    if (run->n_observed == 0) {
        return CG_OK;
    }
    status = cg_run_init(run->single, cg_run_size(run->model, run->info->name), run->model, run->info->name, 0);
    for (int32_t lane = 0; lane < run->lanes && status == CG_OK; lane++) {
        status = cg_detector_init(run->detector[lane], cg_detector_size(run->model, 0), run->model, 0, 0);
    }
    return status;
}

int cg_lane_events_configure(cg_lanes_run_t *run, const cg_run_t *options)
{
    const cg_detector_t *const given = options->detector;
    run->watched = given != NULL;
    if (given == NULL) {
        return CG_OK;
    }
    if (run->n_observed == 0 || given->n_functions > 0) {
        return CG_UNSUPPORTED;
    }
    cg_run_t *const single = run->single;
    const size_t bytes = sizeof(double) * (size_t)run->n_observed;
    single->signals = options->signals;
    single->passes = options->passes && !run->adaptive;
    single->stop = options->stop;
    single->max_steps = options->max_steps;
    single->rtol = options->rtol;
    single->max_step = options->max_step;
    single->first_step = options->first_step;
    single->projection = options->projection;
    cg_correct_begin(single);
    memcpy(single->atol, run->atol, sizeof(double) * (size_t)run->n);
    memcpy(run->towards, given->direction, bytes);
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        cg_detector_t *const detector = run->detector[lane];
        memcpy(detector->direction, given->direction, bytes);
        memcpy(detector->limit, given->limit, bytes);
        memcpy(detector->active, given->active, bytes);
        detector->watches_kinks = given->watches_kinks;
        detector->rule = given->rule;
        detector->log = given->log;
        detector->log_capacity = given->log_capacity;
    }
    return CG_OK;
}

/* ---- one lane ---- */

/* What a run and lanes both have: numbers that are copied out and back. */
typedef struct cg_twin {
    double *single, *lanes;
    int32_t rows;
} cg_twin_t;

enum { TWINS = 20 };

static void cg_lane_events_twins(const cg_lanes_run_t *run, int32_t lane, cg_twin_t *twins)
{
    cg_run_t *const single = run->single;
    const cg_detector_t *const detector = run->detector[lane];
    const int32_t n = run->n_observed;
    const cg_twin_t all[TWINS] = {
        {single->x, run->x, run->n},
        {single->x_old, run->x_old, run->n},
        {single->x_start, run->start, run->n_start},
        {single->f, run->f, run->n},
        {single->f_old, run->f_old, run->n},
        {single->p, run->p, cg_lanes_p_rows(run)},
        {single->u, run->u, run->n_u},
        {single->u_time, run->u_time, run->n_u},
        {single->u_value, run->u_value, run->n_u},
        {single->u_curve, run->u_curve, CG_CURVE * run->n_u},
        {(double *)(void *)single->knots, (double *)(void *)run->knots, run->n_u},
        {&single->t, run->t, 1},
        {&single->t_old, run->t_old, 1},
        {&single->t_stop, run->t_stop, 1},
        {&single->h, run->h, 1},
        {&single->log_old, run->log_old, 1},
        {&single->t_anchor, run->t_anchor, 1},
        {detector->sign, run->sign, n},
        {detector->end, run->end, n},
        {detector->scale, run->scale, n}};
    memcpy(twins, all, sizeof all);
}

/* Copies a lane into the run that serves it. */
static cg_run_t *cg_lane_events_take_out(cg_lanes_run_t *run, int32_t lane)
{
    cg_run_t *const single = run->single;
    cg_detector_t *const detector = run->detector[lane];
    cg_twin_t twins[TWINS];
    cg_lane_events_twins(run, lane, twins);
    for (int a = 0; a < TWINS; a++) {
        cg_gather(twins[a].single, 1, twins[a].lanes + lane, run->lanes, twins[a].rows);
    }
    detector->have_end = run->have_end[lane] != 0;
    single->detector = detector;
    single->input_kind = run->input_kind;
    single->direction = run->direction;
    single->t_end = run->t_end;
    single->n_anchor = (int64_t)run->n_anchor[lane];
    single->n_rejected = run->n_rejected[lane];
    single->n_steps = run->n_trials[lane] - run->n_rejected[lane];
    single->n_rhs = run->n_rhs[lane];
    single->rejected = run->rejected[lane] != 0;
    single->have_f = !run->fresh[lane];
    single->have_dense = 0;
    single->row = run->row[lane];
    single->status = CG_OK;
    return single;
}

/* Copies it back. */
static void cg_lane_events_put_back(cg_lanes_run_t *run, int32_t lane, int status)
{
    const cg_run_t *const single = run->single;
    const cg_detector_t *const detector = run->detector[lane];
    cg_twin_t twins[TWINS];
    cg_lane_events_twins(run, lane, twins);
    for (int a = 0; a < TWINS; a++) {
        cg_gather(twins[a].lanes + lane, run->lanes, twins[a].single, 1, twins[a].rows);
    }
    cg_gather(run->enabled + lane, run->lanes, detector->active, 1, run->n_observed);
    run->have_end[lane] = detector->have_end ? -1 : 0;
    run->u_from[lane] = HUGE_VAL; /* its segments are to be found */
    run->n_anchor[lane] = (double)single->n_anchor;
    run->n_rejected[lane] = single->n_rejected;
    run->n_trials[lane] = single->n_steps + single->n_rejected;
    run->n_rhs[lane] = single->n_rhs;
    run->rejected[lane] = single->rejected ? -1 : 0;
    run->fresh[lane] = single->have_f ? 0 : -1;
    run->status[lane] = status;
}

/* Copies rows of a lane, with one entry for each state, into the run that serves it; or back. */
static void cg_lane_events_rows(const cg_lanes_run_t *run, int32_t lane, double *lanes, double *single, int32_t rows, int back)
{
    for (int32_t row = 0; row < rows; row++) {
        double *const own = lanes + (int64_t)row * run->n * run->lanes + lane;
        double *const alone = single + (ptrdiff_t)row * run->single->ld;
        if (back) {
            cg_gather(own, run->lanes, alone, 1, run->n);
        } else {
            cg_gather(alone, 1, own, run->lanes, run->n);
        }
    }
}

/* The interpolant over a step that has changed, for the times to be recorded in it. */
static int cg_lane_events_interpolant(cg_lanes_run_t *run, int32_t lane)
{
    cg_run_t *const single = run->single;
    const int status = single->have_dense ? CG_OK : single->dense(single);
    cg_lane_events_rows(run, lane, run->coef, single->coef, run->n_dense, 1);
    run->have_dense = 1; /* that of the other lanes is known if their step is over */
    run->counted |= 1u << lane;
    return status;
}

int cg_lane_events_begin(const cg_ensemble_t *ensemble, int64_t j, cg_lanes_run_t *run, int32_t lane)
{
    cg_detector_t *const detector = run->detector[lane];
    cg_detector_reset(detector);
    cg_ensemble_go_on(ensemble, j, run->model, detector);
    detector->n_log = 0;
    run->have_end[lane] = run->landing[lane] = 0;
    const int status = cg_events_begin(cg_lane_events_take_out(run, lane));
    cg_lane_events_put_back(run, lane, status);
    return status;
}

/* ---- events ---- */

/* Handles what occurs. The log, which all lanes share, has no more room than the cursor: CG_EVENTS_FULL where the next
 * occurrences do not fit. */
static int cg_lane_events_handle_single(cg_run_t *single, cg_cursor_t *cursor, int64_t trajectory)
{
    cg_detector_t *const detector = single->detector;
    const int64_t capacity = detector->log_capacity, room = cursor->event_capacity - cursor->n_events;
    detector->n_log = 0;
    detector->log_capacity = cursor->events != NULL && room < capacity ? room : capacity;
    const int status = cg_event_handling_now(single, NULL);
    detector->log_capacity = capacity;
    const int kept = cg_ensemble_keep(cursor, single, trajectory);
    return status == CG_OK ? kept : status;
}

int cg_lane_events_handle(cg_lanes_run_t *run, int32_t lane, cg_cursor_t *cursor, int64_t trajectory)
{
    if (!run->detector[lane]->pending) {
        return CG_OK;
    }
    const int status = cg_lane_events_handle_single(cg_lane_events_take_out(run, lane), cursor, trajectory);
    cg_lane_events_put_back(run, lane, status == CG_EVENTS_FULL ? CG_OK : status);
    return status == CG_EVENTS_FULL ? status : CG_OK;
}

/* The step of a lane in which something may have happened. Its stages come along, for they make the interpolant, and a
 * method may keep something in them from one step to the next. Lanes may have more rows after them, for scratch. */
static int cg_lane_events_meet_one(cg_lanes_run_t *run, int32_t lane)
{
    const double goal = run->t_stop[lane];
    cg_run_t *const single = cg_lane_events_take_out(run, lane);
    cg_lane_events_rows(run, lane, run->k, single->k, single->n_stages, 0);
    cg_events_before_step(single);
    if (!run->adaptive) {
        single->detector->anchor = run->anchor_kept[lane];
        single->detector->n_anchor = (int64_t)run->count_kept[lane];
    }
    if (run->landing[lane]) {
        run->landing[lane] = 0;
        single->t_stop = run->stop_kept[lane];
        single->h = run->h_kept[lane];
        return cg_events_arrive(single, (int32_t)run->index[lane], goal, run->end_kept[lane]);
    }
    cg_lane_events_rows(run, lane, run->coef, single->coef, run->n_dense, 0);
    single->have_dense = 1;
    return cg_events_after_step(single, -1);
}

void cg_lane_events_meet(cg_lanes_run_t *run, cg_cursor_t *cursor, const cg_progress_t *progress)
{
    for (int32_t lane = 0; run->met != 0u && lane < run->lanes; lane++) {
        if (!(run->met >> lane & 1u) || !run->active[lane] || run->status[lane] != CG_OK) {
            continue;
        }
        const int landing = run->landing[lane] != 0;
        int status = cg_lane_events_meet_one(run, lane);
        const double ahead = run->mark[lane] - run->direction * run->single->t;
        const int repeated = run->single->n_rejected != run->n_rejected[lane];
        if (repeated) {
            cg_lane_events_rows(run, lane, run->k, run->single->k, run->single->n_stages, 1);
        }
        if (status == CG_OK && ahead <= 0.0) { /* what occurs is handled once the step is recorded */
            status = ahead < 0.0 && (landing || repeated) ? cg_lane_events_interpolant(run, lane) : CG_OK;
        } else if (status == CG_OK && run->single->detector->pending) {
            status = cg_lane_events_handle_single(run->single, cursor, progress->trajectory[lane]);
            status = status == CG_EVENTS_FULL ? CG_OK : status; /* it is handled when the lane is served */
        }
        cg_lane_events_put_back(run, lane, status);
    }
    run->met = 0u;
}
