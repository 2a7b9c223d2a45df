/* cg_trail.c: the steps of a run, kept on the way forward and taken again on the way back; see cg_adjoint.h. */
#include "cg_trail.h"
#include "step/cg_internal.h"
#include "step/cg_step.h"

#include <math.h>

/* ---- the steps forward ---- */

static int cg_trail_keep(cg_trail_t *trail, const cg_run_t *run, int64_t step)
{
    if (trail->n_kept >= trail->n_slots) {
        return CG_BAD_ARGUMENT;
    }
    memcpy(trail->x + trail->n_kept * run->n_own, run->x, sizeof(double) * (size_t)run->n_own);
    trail->at[trail->n_kept++] = step;
    return CG_OK;
}

void cg_trail_slopes(const cg_run_t *run, int32_t n_stages, double *to)
{
    const size_t size = sizeof(double) * (size_t)run->n_own;
    memcpy(to, run->f_old, size);
    for (int32_t i = 1; i < n_stages; i++) {
        memcpy(to + (ptrdiff_t)i * run->n_own, run->k + (ptrdiff_t)i * run->ld, size);
    }
}

/* Leaves every second state out. */
static void cg_trail_thin(cg_trail_t *trail, int32_t n)
{
    const int64_t half = (trail->n_kept + 1) / 2;
    for (int64_t i = 1; i < half; i++) {
        memcpy(trail->x + i * n, trail->x + 2 * i * n, sizeof(double) * (size_t)n);
        trail->at[i] = trail->at[2 * i];
    }
    trail->n_kept = half;
    trail->stride *= 2;
}

int cg_trail_watch(void *context, cg_run_t *run, int stepped)
{
    cg_trail_t *const trail = context;
    if (!stepped && trail->n_kept > 0) { /* after a jump: see `after` of cg_adjoint_t */
        return CG_OK;
    }
    if (trail->n_steps + stepped > trail->capacity || trail->n_slots < CG_LEAST_SLOTS) {
        return CG_BAD_ARGUMENT;
    }
    if (stepped && trail->n_steps < trail->n_slopes) {
        cg_trail_slopes(run, trail->n_stages, trail->slopes + trail->n_steps * trail->n_stages * run->n_own);
    }
    if (stepped) {
        trail->n_moved[trail->n_steps] = (int8_t)run->n_corrections;
    }
    trail->n_steps += stepped;
    trail->t[trail->n_steps] = run->t;
    if (trail->n_steps % trail->stride != 0) {
        return CG_OK;
    }
    /* Where not all states fit, half of the slots are left to the sweep. */
    while (trail->n_kept >= (trail->stride == 1 ? trail->n_slots : trail->n_slots / 2)) {
        cg_trail_thin(trail, run->n_own);
    }
    return trail->n_steps % trail->stride == 0 ? cg_trail_keep(trail, run, trail->n_steps) : CG_OK;
}

/* ---- the steps again ---- */

static void cg_trail_go_to(const cg_adjoint_t *a, const double *x, int64_t step)
{
    memcpy(a->run->x, x, sizeof(double) * (size_t)a->run->n_own);
    memset(a->run->x + a->run->n_own, 0, sizeof(double) * (size_t)(a->run->n - a->run->n_own));
    a->run->t = a->trail->t[step];
    a->run->have_f = 0;
}

/* The derivative at the beginning of a step; the parameters are those of the run, so nothing else is computed anew. */
static int cg_trail_slope_here(cg_run_t *run)
{
    const int status = run->have_f ? CG_OK : cg_evaluate_probe(run, run->t, run->x, run->f);
    run->have_f = status == CG_OK;
    return status;
}

int cg_trail_repeat(cg_adjoint_t *a, int64_t step)
{
    cg_run_t *const run = a->run;
    int64_t stop = a->stop; /* the first one after the beginning of the step */
    while (stop > 0 && a->stops[stop - 1] > step) stop--;
    const int64_t first = stop > 0 ? a->stops[stop - 1] : 0;
    if (run->signals != NULL) {
        cg_driver_segment(run, run->t);
    }
    CG_TRY(cg_trail_slope_here(run));
    if (run->adaptive) { /* up to its end at once */
        run->t_stop = a->trail->t[step + 1];
        run->h = fabs(run->t_stop - run->t);
    } else if (run->detector != NULL || run->signals != NULL) { /* events and samples are beside the grid */
        run->t_stop = a->trail->t[step + 1];
        run->t_anchor = run->t;
        run->n_anchor = 0;
    } else { /* on the grid that begins at the last stop */
        run->t_stop = a->trail->t[a->stops[stop]];
        run->t_anchor = a->trail->t[first];
        run->n_anchor = step - first;
    }
    run->rejected = 0;
    run->rtol = 1e100; /* it is accepted, whatever a compiler makes of it */
    a->trail->n_repeated++;
    const int taken = run->step(run);
    run->rtol = a->rtol; /* which decides how often its end is moved */
    return taken == CG_OK ? cg_correct_run(run) : taken;
}

/* C(n, k), at most `most`. */
static double cg_trail_choose(int64_t n, int64_t k, double most)
{
    double product = 1.0;
    for (int64_t i = 1; i <= k && product < most; i++) {
        product *= (double)(n - k + i) / (double)i;
    }
    return product < most ? product : most;
}

/* Where to store a state among `count` steps whose first one is stored, with `slots` free, so that the fewest steps are
 * repeated: A. Griewank, A. Walther, Algorithm 799: Revolve, ACM Trans. Math. Softw. 26 (2000) 19-45, with slots + 1
 * states C(slots + 1 + r, r) steps are reversed by r repetitions of each. */
static int64_t cg_trail_next_kept(int64_t count, int64_t slots)
{
    const double steps = (double)count;
    if (slots == 0 || count < 2) {
        return count;
    }
    int64_t r = 1;
    while (cg_trail_choose(slots + 1 + r, r, steps) < steps) r++;
    const double rest = cg_trail_choose(slots + r, r, steps);
    return rest >= steps ? 1 : (int64_t)(steps - rest + 0.5);
}

int cg_trail_bring(cg_adjoint_t *a, int64_t step)
{
    cg_trail_t *const trail = a->trail;
    while (trail->at[trail->n_kept - 1] > step) trail->n_kept--;
    int64_t now = trail->at[trail->n_kept - 1];
    if (a->after != NULL && now <= a->until) { /* the state kept there is that before the jump */
        now = a->until;
        cg_trail_go_to(a, a->after, now);
    } else {
        cg_trail_go_to(a, trail->x + (trail->n_kept - 1) * a->run->n_own, now);
    }
    int64_t next = now + cg_trail_next_kept(step + 1 - now, trail->n_slots - trail->n_kept);
    while (now < step) {
        CG_TRY(cg_trail_repeat(a, now));
        now++;
        if (now == next) {
            CG_TRY(cg_trail_keep(trail, a->run, now));
            next = now + cg_trail_next_kept(step + 1 - now, trail->n_slots - trail->n_kept);
        }
    }
    return CG_OK;
}
