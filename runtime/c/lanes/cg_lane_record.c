/* cg_lane_record.c: states at given times of trajectories in lanes; see cg_lanes.h and cg_ensemble.h.
 *
 * The interpolant is evaluated lane by lane, at several times of each together.
 */
#include "cg_lanes_internal.h"
#include "step/cg_memory.h"
#include "cg_real.h"

#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

void cg_lane_record_interpolant(cg_lanes_run_t *run)
{
    if (!run->have_dense) { /* the right-hand side is not called again before the next trial */
        memset(run->failed, 0, sizeof *run->failed * (size_t)run->lanes);
        run->calls = 0;
        run->dense(run);
    }
}

/* Counts the calls for the interpolant in the lanes of `used`, if an observer has not yet; the lanes in which it failed
 * get a status. */
static uint32_t cg_lane_record_count_calls(cg_lanes_run_t *run, uint32_t used, int observed)
{
    uint32_t failed = 0u;
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        if (used >> lane & 1u) {
            run->n_rhs[lane] += observed ? 0 : run->failed[lane] ? run->failed_at[lane] : run->calls;
            run->status[lane] = run->failed[lane] ? CG_SINGULAR : CG_OK;
            failed |= run->failed[lane] ? 1u << lane : 0u;
        }
    }
    return failed;
}

/* ---- shelves ---- */

/* Numbers in a slot for each state: whole cache lines, and the interpolant may write a vector that begins at the last time. */
static int64_t cg_lane_record_slot_row(const cg_lanes_run_t *run, int64_t n_eval)
{
    return (n_eval + run->lanes + 6) / 8 * 8;
}

static int64_t cg_lane_record_slot_size(const cg_lanes_run_t *run, int64_t n_eval)
{
    return cg_lane_record_slot_row(run, n_eval) * run->n + 8; /* a cache line apart, also if the rest is a multiple of a page */
}

int64_t cg_shelf_size(const cg_lanes_run_t *run, int64_t n_eval) { return run->lanes * cg_lane_record_slot_size(run, n_eval); }

static double *cg_lane_record_shelf_at(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run,
                                       const cg_cursor_t *cursor, int s)
{
    return cursor->shelf + s * cg_shelf_size(run, ensemble->n_eval);
}

void cg_lane_record_shelf_take(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, cg_cursor_t *cursor,
                               int64_t first, int32_t count, cg_progress_t *progress)
{
    const int n_shelves = cursor->n_shelves < CG_SHELVES ? cursor->n_shelves : CG_SHELVES;
    const int usable = cursor->shelf != NULL && ensemble->t_eval != NULL && ensemble->y_row == 1;
    int s = 0;
    while (s < n_shelves && cursor->shelves[s].taken != 0u) {
        s++;
    }
    const int found = usable && s < n_shelves && count > 1;
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        progress->slot[lane] = found && lane < count ? cg_lane_record_shelf_at(ensemble, run, cursor, s)
                + lane * cg_lane_record_slot_size(run, ensemble->n_eval) : NULL;
    }
    if (found) {
        const cg_shelf_t shelf = {first, UINT32_MAX >> (CG_MOST_LANES - count), 0u};
        cursor->shelves[s] = shelf;
    }
}

/* One entry of each of 8 slots to a whole cache line, past the cache: it would have to be read before it is written. */
static CG_INLINE void cg_lane_record_line_write(double *to, const double *from, int64_t slot)
{
#if defined(__SSE2__)
    if ((uintptr_t)to % CG_ALIGN == 0) {
        for (int lane = 0; lane < 8; lane += 2) {
            _mm_stream_pd(to + lane, _mm_set_pd(from[(lane + 1) * slot], from[lane * slot]));
        }
        return;
    }
#endif
    cg_gather(to, 1, from, slot, 8);
}

/* Writes the trajectories in the slots of `ended`. */
static void cg_lane_record_shelf_write(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run,
                                       const cg_cursor_t *cursor, int s)
{
    const cg_shelf_t *const shelf = &cursor->shelves[s];
    const int64_t slot = cg_lane_record_slot_size(run, ensemble->n_eval);
    const int whole = shelf->ended == UINT32_MAX >> (CG_MOST_LANES - 8);
    for (int32_t i = 0; i < run->n; i++) {
        const double *from = cg_lane_record_shelf_at(ensemble, run, cursor, s)
            + i * cg_lane_record_slot_row(run, ensemble->n_eval);
        double *to = ensemble->y + shelf->first + i * ensemble->y_col;
        for (int64_t m = 0; m < ensemble->n_eval; m++, from++, to += ensemble->y_time) {
            if (whole) {
                cg_lane_record_line_write(to, from, slot);
                continue;
            }
            for (int32_t lane = 0; lane < run->lanes; lane++) {
                if (shelf->ended >> lane & 1u) {
                    to[lane] = from[lane * slot];
                }
            }
        }
    }
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

void cg_lane_record_shelf_end(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, cg_cursor_t *cursor,
                              const cg_progress_t *progress, int32_t lane)
{
    const double nan = HUGE_VAL - HUGE_VAL;
    const int64_t place = progress->slot[lane] - cursor->shelf;
    const int s = (int)(place / cg_shelf_size(run, ensemble->n_eval));
    cg_shelf_t *const shelf = &cursor->shelves[s];
    for (int32_t i = 0; i < run->n; i++) {
        for (int64_t m = progress->reached[lane]; m < ensemble->n_eval; m++) {
            progress->slot[lane][i * cg_lane_record_slot_row(run, ensemble->n_eval) + m] = nan;
        }
    }
    shelf->ended |= 1u << (progress->trajectory[lane] - shelf->first);
    if (shelf->ended == shelf->taken) {
        cg_lane_record_shelf_write(ensemble, run, cursor, s);
        shelf->taken = 0u;
    }
}

void cg_shelves_write(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, const cg_cursor_t *cursor)
{
    for (int s = 0; s < CG_SHELVES; s++) {
        if (cursor->shelves[s].taken != 0u && cursor->shelves[s].ended != 0u) {
            cg_lane_record_shelf_write(ensemble, run, cursor, s);
        }
    }
}

/* ---- recording ---- */

/* Records the times inside the last step of a lane. */
static void cg_lane_record_inside(const cg_ensemble_t *ensemble, cg_lanes_run_t *run, cg_progress_t *progress, int32_t lane)
{
    const int64_t row = cg_lane_record_slot_row(run, ensemble->n_eval);
    int64_t reached = progress->reached[lane], left = ensemble->n_eval - reached, count;
    double *const slot = progress->slot[lane];
    if (slot != NULL) {
        progress->reached[lane] += run->set->interpolate(run, lane, ensemble->t_eval + reached, left, slot + reached, row);
        return;
    }
    do {
        double *y = ensemble->y + progress->trajectory[lane] * ensemble->y_row + reached * ensemble->y_time;
        count = run->set->interpolate(run, lane, ensemble->t_eval + reached, left < run->lanes ? left : run->lanes,
                                      run->inside, run->lanes);
        for (int32_t i = 0; i < run->n; i++) {
            cg_gather(y + i * ensemble->y_col, ensemble->y_time, run->inside + (int64_t)i * run->lanes, 1, (int32_t)count);
        }
        reached += count;
        left -= count;
    } while (count == run->lanes && left > 0);
    progress->reached[lane] = reached;
}

/* Records the next time, at which a lane is. */
static void cg_lane_record_write(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, cg_progress_t *progress,
                                 int32_t lane)
{
    const int64_t reached = progress->reached[lane]++;
    double *const slot = progress->slot[lane];
    if (slot != NULL) {
        cg_gather(slot + reached, cg_lane_record_slot_row(run, ensemble->n_eval), run->x + lane, run->lanes, run->n);
    } else {
        cg_gather(ensemble->y + progress->trajectory[lane] * ensemble->y_row + reached * ensemble->y_time,
                  ensemble->y_col, run->x + lane, run->lanes, run->n);
    }
}

/* Records the times at which a lane is, and sets when it needs service again. */
static void cg_lane_record_arrive(const cg_ensemble_t *ensemble, cg_lanes_run_t *run, cg_progress_t *progress, int32_t lane)
{
    while (progress->reached[lane] < ensemble->n_eval
           && ensemble->t_eval[progress->reached[lane]] == run->t[lane]) {
        cg_lane_record_write(ensemble, run, progress, lane);
    }
    const int64_t m = progress->reached[lane];
    run->mark[lane] = ensemble->observer[0] != NULL ? -HUGE_VAL /* every step */
        : m < ensemble->n_eval                      ? run->direction * ensemble->t_eval[m]
                                                    : HUGE_VAL;
}

/* Whether the next time to be recorded is inside the last step of a lane. */
static int cg_lane_record_passed(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, const cg_progress_t *progress,
                                 int32_t lane)
{
    const int64_t m = progress->reached[lane];
    return m < ensemble->n_eval && run->direction * (ensemble->t_eval[m] - run->t[lane]) < 0.0;
}

void cg_lane_record_all(const cg_ensemble_t *ensemble, cg_lanes_run_t *run, uint32_t due, cg_progress_t *progress)
{
    uint32_t inside = 0u;
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        inside |= due >> lane & 1u && cg_lane_record_passed(ensemble, run, progress, lane) ? 1u << lane : 0u;
    }
    if (inside != 0u) {
        cg_lane_record_interpolant(run);
        due &= ~cg_lane_record_count_calls(run, inside & ~run->counted, ensemble->observer[0] != NULL);
    }
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        if (due >> lane & 1u) {
            if (inside >> lane & 1u) {
                cg_lane_record_inside(ensemble, run, progress, lane);
            }
            cg_lane_record_arrive(ensemble, run, progress, lane);
        }
    }
}
