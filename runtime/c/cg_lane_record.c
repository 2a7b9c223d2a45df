/* cg_lane_record.c: states at given times of trajectories in lanes; see cg_lanes.h and cg_ensemble.h.
 *
 * The interpolant is evaluated in all lanes together, at several times of each.
 */
#include "cg_ensemble_internal.h"
#include "cg_memory.h"
#include "cg_real.h"

#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

void cg_lanes_interpolant(cg_lanes_run_t *run)
{
    if (!run->have_dense) { /* the right-hand side is not called again before the next trial */
        memset(run->failed, 0, sizeof *run->failed * (size_t)run->lanes);
        run->calls = 0;
        run->dense(run);
    }
}

/* Counts the calls for the interpolant in the lanes of `used`, if an observer has not yet; the lanes in which it failed
 * get a status. */
static uint32_t cg_count_calls(cg_lanes_run_t *run, uint32_t used, int observed)
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

static int64_t cg_slot_size(const cg_lanes_run_t *run, int64_t n_eval)
{
    return (n_eval * run->n + 15) / 8 * 8; /* at least one cache line apart, also if the rest is a multiple of a page */
}

int64_t cg_shelf_size(const cg_lanes_run_t *run, int64_t n_eval) { return run->lanes * cg_slot_size(run, n_eval); }

static double *cg_shelf_at(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, const cg_cursor_t *cursor, int s)
{
    return cursor->shelf + s * cg_shelf_size(run, ensemble->n_eval);
}

void cg_shelf_take(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, cg_cursor_t *cursor, int64_t first,
                   int32_t count, cg_progress_t *progress)
{
    const int n_shelves = cursor->n_shelves < CG_SHELVES ? cursor->n_shelves : CG_SHELVES;
    const int usable = cursor->shelf != NULL && ensemble->t_eval != NULL && ensemble->y_row == 1;
    int s = 0;
    while (s < n_shelves && cursor->shelves[s].taken != 0u) {
        s++;
    }
    const int found = usable && s < n_shelves && count > 1;
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        progress->slot[lane] = found && lane < count ? cg_shelf_at(ensemble, run, cursor, s)
                + lane * cg_slot_size(run, ensemble->n_eval) : NULL;
    }
    if (found) {
        const cg_shelf_t shelf = {first, UINT32_MAX >> (CG_MOST_LANES - count), 0u};
        cursor->shelves[s] = shelf;
    }
}

/* One entry of each of 8 slots to a whole cache line, past the cache: it would have to be read before it is written. */
static CG_INLINE void cg_line_write(double *to, const double *from, int64_t slot)
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
static void cg_shelf_write(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, const cg_cursor_t *cursor, int s)
{
    const cg_shelf_t *const shelf = &cursor->shelves[s];
    const int64_t slot = cg_slot_size(run, ensemble->n_eval);
    const double *from = cg_shelf_at(ensemble, run, cursor, s);
    const int whole = shelf->ended == UINT32_MAX >> (CG_MOST_LANES - 8);
    for (int64_t m = 0; m < ensemble->n_eval; m++) {
        for (int32_t i = 0; i < run->n; i++, from++) {
            double *const to = ensemble->y + shelf->first + m * ensemble->y_time + i * ensemble->y_col;
            if (whole) {
                cg_line_write(to, from, slot);
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

void cg_shelf_end(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, cg_cursor_t *cursor,
                  const cg_progress_t *progress, int32_t lane)
{
    const double nan = HUGE_VAL - HUGE_VAL;
    const int64_t place = progress->slot[lane] - cursor->shelf;
    const int s = (int)(place / cg_shelf_size(run, ensemble->n_eval));
    cg_shelf_t *const shelf = &cursor->shelves[s];
    for (int64_t m = progress->reached[lane] * run->n; m < ensemble->n_eval * run->n; m++) {
        progress->slot[lane][m] = nan;
    }
    shelf->ended |= 1u << (progress->trajectory[lane] - shelf->first);
    if (shelf->ended == shelf->taken) {
        cg_shelf_write(ensemble, run, cursor, s);
        shelf->taken = 0u;
    }
}

void cg_shelves_write(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, const cg_cursor_t *cursor)
{
    for (int s = 0; s < CG_SHELVES; s++) {
        if (cursor->shelves[s].taken != 0u && cursor->shelves[s].ended != 0u) {
            cg_shelf_write(ensemble, run, cursor, s);
        }
    }
}

/* ---- recording ---- */

/* Writes the next `count` rows of a lane: from[(m * n + i) * lanes]. */
static void cg_lane_write(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, cg_progress_t *progress, int32_t lane,
                          int32_t count, const double *from)
{
    const int64_t reached = progress->reached[lane];
    double *const slot = progress->slot[lane];
    progress->reached[lane] = reached + count;
    if (slot != NULL) {
        cg_gather(slot + reached * run->n, 1, from, run->lanes, count * run->n);
        return;
    }
    double *y = ensemble->y + progress->trajectory[lane] * ensemble->y_row + reached * ensemble->y_time;
    for (int32_t m = 0; m < count; m++, y += ensemble->y_time, from += (int64_t)run->n * run->lanes) {
        cg_gather(y, ensemble->y_col, from, run->lanes, run->n);
    }
}

/* The next times of a lane inside its last step, at most CG_MOMENTS, in its column of run->moment; returns how many. */
static int32_t cg_lane_moments(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, int32_t lane, int64_t reached)
{
    const double t = run->t[lane], direction = run->direction;
    int32_t count = 0;
    for (int64_t m = reached; count < CG_MOMENTS && m < ensemble->n_eval; m++) {
        const double wanted = ensemble->t_eval[m];
        if (!(direction * (wanted - t) < 0.0)) {
            break;
        }
        run->moment[count++ * run->lanes + lane] = wanted;
    }
    return count;
}

/* Records the times at which a lane is, and sets when it needs service again. */
static void cg_lane_arrive(const cg_ensemble_t *ensemble, cg_lanes_run_t *run, cg_progress_t *progress, int32_t lane)
{
    while (progress->reached[lane] < ensemble->n_eval
           && ensemble->t_eval[progress->reached[lane]] == run->t[lane]) {
        cg_lane_write(ensemble, run, progress, lane, 1, run->x + lane);
    }
    const int64_t m = progress->reached[lane];
    run->mark[lane] = ensemble->observer[0] != NULL ? -HUGE_VAL /* every step */
        : m < ensemble->n_eval                      ? run->direction * ensemble->t_eval[m]
                                                    : HUGE_VAL;
}

void cg_lanes_record(const cg_ensemble_t *ensemble, cg_lanes_run_t *run, uint32_t due, cg_progress_t *progress)
{
    const int observed = ensemble->observer[0] != NULL;
    uint32_t counted = run->counted;
    while (due != 0u) {
        int32_t counts[CG_MOST_LANES], most = 0;
        uint32_t inside = 0u;
        for (int32_t lane = 0; lane < run->lanes; lane++) {
            counts[lane] = due >> lane & 1u ? cg_lane_moments(ensemble, run, lane, progress->reached[lane]) : 0;
            inside |= counts[lane] > 0 ? 1u << lane : 0u;
            most = counts[lane] > most ? counts[lane] : most;
        }
        if (inside != 0u) {
            cg_lanes_interpolant(run);
            due &= ~cg_count_calls(run, inside & ~counted, observed);
            counted |= inside;
            run->set->interpolate(run, most);
        }
        for (int32_t lane = 0; lane < run->lanes; lane++) {
            if (due >> lane & 1u) {
                cg_lane_write(ensemble, run, progress, lane, counts[lane], run->inside + lane);
                if (counts[lane] < CG_MOMENTS) {
                    cg_lane_arrive(ensemble, run, progress, lane);
                    due &= ~(1u << lane);
                }
            }
        }
    }
}
