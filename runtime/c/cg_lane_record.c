/* cg_lane_record.c: states at given times of trajectories in lanes; see cg_lanes.h and cg_ensemble.h.
 *
 * Every round interpolates at one time of each lane, its next one, in all lanes together.
 */
#include "cg_ensemble_internal.h"
#include "cg_memory.h"

#include <math.h>
#include <string.h>

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

void cg_lanes_record(const cg_ensemble_t *ensemble, cg_lanes_run_t *run, uint32_t due, const int64_t *trajectory,
                     int64_t *reached)
{
    const int32_t lanes = run->lanes;
    const double *const t_eval = ensemble->t_eval;
    const int observed = ensemble->observer[0] != NULL; /* then every step needs service */
    uint32_t counted = 0u;
    while (due != 0u) {
        uint32_t inside = 0u, ended = 0u;
        for (int32_t lane = 0; lane < lanes; lane++) {
            const int64_t m = reached[lane];
            if (!(due >> lane & 1u)) {
                continue;
            }
            if (m >= ensemble->n_eval || run->direction * (t_eval[m] - run->t[lane]) > 0.0) {
                run->mark[lane] = observed ? -HUGE_VAL
                    : m < ensemble->n_eval ? run->direction * t_eval[m]
                                           : HUGE_VAL;
                due &= ~(1u << lane);
            } else if (t_eval[m] == run->t[lane]) {
                ended |= 1u << lane;
            } else {
                run->moment[lane] = t_eval[m];
                inside |= 1u << lane;
            }
        }
        if (inside != 0u) {
            cg_lanes_interpolant(run);
            const uint32_t failed = cg_count_calls(run, inside & ~counted, observed);
            counted |= inside;
            inside &= ~failed;
            due &= ~failed;
            run->set->interpolate(run);
        }
        for (int32_t lane = 0; lane < lanes; lane++) {
            if ((inside | ended) >> lane & 1u) {
                double *const row = ensemble->y + trajectory[lane] * ensemble->y_row + reached[lane]++ * ensemble->y_time;
                cg_gather(row, ensemble->y_col, (ended >> lane & 1u ? run->x : run->x_trial) + lane, lanes, run->n);
            }
        }
    }
}
