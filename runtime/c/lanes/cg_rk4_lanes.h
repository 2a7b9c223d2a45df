/* cg_rk4_lanes.h: rk4 over lanes. Included by cg_method.h if CG_LANES is above 1; the same operations in the same order
 * as in cg_rk4.h for one trajectory.
 *
 * With a fixed step it is known beforehand how many steps a lane can take before it needs service. These are taken in
 * one loop that looks at nothing, with states and derivatives in registers, and then one more, which may end at t_stop
 * or pass a mark. A number that is not finite makes all later states so: one look at the end is enough. If there is such
 * a number, or if the right-hand side failed, all of these steps are repeated one by one. Steps whose ends are moved onto
 * constraints, and those that are searched for events, are always taken so.
 */

/* Right-hand sides of up to so many operations are evaluated for two groups of lanes in turn, stage by stage, so that
 * one computes while the other waits for its results. Measured with 8 and with 4 lanes: this takes 1.0 to 2 times less
 * time for 1 to 83 operations; from 100 on it takes 1.05 to 1.1 times more, because one group then keeps the CPU busy
 * and two do not fit the registers: six numbers for each state, and the intermediates. */
enum { CG_TOGETHER = 96 };

enum { CG_LEAP = 256 /* the most steps without a look at the stop flag */ };

/* The way of one group through steps that are not yet accepted. */
typedef struct CG_FN(leap) {
    cg_lanes_run_t *run;
    cg_real_t *x, *f;       /* [n] state and derivative at t */
    cg_real_t *to_x, *to_f; /* [n] where those at the end are written */
    cg_real_t t;
    cg_real_t h;
    cg_real_t pace, n_anchor, t_anchor; /* step s, from 1 on, ends at pace (n_anchor + s) + t_anchor */
    cg_mask_t ok;                       /* no right-hand side failed */
    const double *inputs;               /* NULL, or of all lanes in a table, at the stages that follow */
} CG_FN(leap_t);

/* What a group works with in the loop. If the right-hand side is copied there, this is not written to memory. */
#if CG_COPIED
#define CG_ROW(name) cg_real_t name[CG_MODEL_N]
#else
#define CG_ROW(name) cg_real_t *name
#endif
typedef struct CG_FN(inner) {
    CG_ROW(x); /* the state */
    CG_ROW(f); /* its derivative, then the weighted sum of derivatives */
    CG_ROW(y); /* the state of a stage */
    CG_ROW(a); /* the derivatives there: of the first and the third stage after f */
    CG_ROW(b); /* of the second */
    cg_real_t h, half, sixth;
} CG_FN(inner_t);

#define CG_EACH_STATE(statement)                      \
    for (int g = 0; g < groups; g++) {                \
        CG_FN(inner_t) *const to = &inner[g];   \
        CG_UNROLL                                     \
        for (int32_t i = 0; i < CG_MODEL_N; i++) {    \
            statement                                 \
        }                                             \
    }

/* to = f(t, from) of each group, whose inputs are those at t. */
#define CG_LEAP_SLOPES(t, from, to)                                                        \
    for (int g = 0; g < groups; g++) {                                                     \
        leaps[g].ok &= CG_FN(leap_slope)(leaps[g].run, (t)[g], inner[g].from, inner[g].to); \
    }

CG_FLATTEN static CG_INLINE cg_mask_t CG_FN(leap_slope)(cg_lanes_run_t *run, cg_real_t t, const cg_real_t *x,
                                                        cg_real_t *out)
{
    return CG_RHS(run, t, x, out);
}

/* The inputs of each group at the times of a stage. */
static CG_INLINE void CG_FN(leap_inputs)(CG_FN(leap_t) *leaps, int groups, const cg_real_t *t)
{
    for (int g = 0; g < groups; g++) {
        const cg_lanes_run_t *const run = leaps[g].run;
        if (CG_NU(run) == 0 || leaps[g].inputs == NULL) {
            CG_FN(move_inputs)(run, t[g]);
            continue;
        }
        for (int32_t i = 0; i < run->model->n_inputs; i++) {
            if (run->signals[i].kind == CG_SIGNAL_POLYNOMIAL) {
                CG_REALS(run->u)[i] = cg_splat(leaps[g].inputs[i]);
            }
        }
        leaps[g].inputs += CG_NU(run);
    }
}

/* A table of the inputs at the stages of so many steps, where all lanes have the same; else NULL. It stays for the
 * trajectories that follow. */
static const double *CG_FN(leap_tabulate)(const CG_FN(leap_t) *leaps, int groups, int64_t steps)
{
    cg_lanes_run_t *const run = leaps[0].run;
    cg_mask_t apart = {0};
    const int lane = __builtin_ctz(cg_set(*CG_TRUTHS(run->active))); /* the first group has one */
    const double h = leaps[0].h[lane], n = leaps[0].n_anchor[lane], t_anchor = leaps[0].t_anchor[lane];
    for (int g = 0; g < groups; g++) {
        const CG_FN(leap_t) *const leap = &leaps[g];
        apart |= *CG_TRUTHS(leap->run->active)
               & cg_not(cg_eq(leap->h, cg_splat(h)) & cg_eq(leap->n_anchor, cg_splat(n))
                        & cg_eq(leap->t_anchor, cg_splat(t_anchor)));
    }
    if (!run->tabulates || cg_any(apart)) {
        return NULL;
    }
    if (h != run->table_h || t_anchor != run->table_anchor || n < run->table_first
        || n + (double)steps > run->table_first + CG_TABLED) {
        run->table_h = h;
        run->table_anchor = t_anchor;
        run->table_first = n;
        run->tabled = 0;
    }
    const int64_t row = (int64_t)(n - run->table_first);
    for (; run->tabled < row + steps; run->tabled += CG_LANES) {
        cg_real_t s;
        for (int k = 0; k < CG_LANES; k++) {
            s[k] = run->table_first + (double)(run->tabled + k);
        }
        const cg_real_t t = cg_fma(cg_splat(h), s, cg_splat(t_anchor));
        const cg_real_t times[3] = {cg_plus(t, 0.5, cg_splat(h)), cg_plus(t, 1.0, cg_splat(h)),
                                    cg_fma(cg_splat(h), s + 1.0, cg_splat(t_anchor))};
        for (int stage = 0; stage < 3; stage++) { /* the lanes are steps here */
            CG_FN(ramps)(run, times[stage], CG_REALS(run->u_seen));
            for (int at = 0; at < CG_LANES * CG_NU(run); at++) {
                run->table[((run->tabled + at % CG_LANES) * 3 + stage) * CG_NU(run) + at / CG_LANES] = run->u_seen[at];
            }
        }
    }
    return run->table + row * 3 * CG_NU(run);
}

/* Step number s. Rows in memory are written as seldom as possible: of `f` only once before the last derivative. */
static CG_INLINE void CG_FN(leap_step)(CG_FN(leap_t) *leaps, CG_FN(inner_t) *inner, int groups, double s)
{
    cg_real_t middle[2], before[2], end[2];
    for (int g = 0; g < groups; g++) {
        middle[g] = cg_plus(leaps[g].t, 0.5, leaps[g].h);
        before[g] = cg_plus(leaps[g].t, 1.0, leaps[g].h);
        end[g] = leaps[g].t = cg_fma(leaps[g].pace, leaps[g].n_anchor + s, leaps[g].t_anchor);
    }
    CG_EACH_STATE(to->y[i] = cg_fma(to->half, to->f[i], to->x[i]);)
    CG_FN(leap_inputs)(leaps, groups, middle);
    CG_LEAP_SLOPES(middle, y, a)
#if CG_COPIED
    CG_EACH_STATE(to->f[i] = cg_plus(to->f[i], 2.0, to->a[i]); to->y[i] = cg_fma(to->half, to->a[i], to->x[i]);)
    CG_LEAP_SLOPES(middle, y, b)
    CG_EACH_STATE(to->f[i] = cg_plus(to->f[i], 2.0, to->b[i]); to->y[i] = cg_fma(to->h, to->b[i], to->x[i]);)
#else
    CG_EACH_STATE(to->y[i] = cg_fma(to->half, to->a[i], to->x[i]);)
    CG_LEAP_SLOPES(middle, y, b)
    CG_EACH_STATE(to->f[i] = cg_plus(cg_plus(to->f[i], 2.0, to->a[i]), 2.0, to->b[i]);
                  to->y[i] = cg_fma(to->h, to->b[i], to->x[i]);)
#endif
    CG_FN(leap_inputs)(leaps, groups, before);
    CG_LEAP_SLOPES(before, y, a)
    CG_EACH_STATE(to->x[i] = cg_fma(to->sixth, to->f[i] + to->a[i], to->x[i]);)
    CG_FN(leap_inputs)(leaps, groups, end);
    CG_LEAP_SLOPES(end, x, f)
}

static CG_INLINE void CG_FN(leap_loop)(CG_FN(leap_t) *leaps, int groups, int64_t steps)
{
    CG_FN(leap_t) own[2];
    CG_FN(inner_t) inner[2];
    for (int g = 0; g < groups; g++) {
        own[g] = leaps[g];
        inner[g].h = own[g].h;
        inner[g].half = 0.5 * own[g].h;
        inner[g].sixth = own[g].h / 6.0;
#if !CG_COPIED
        inner[g].x = own[g].to_x;
        inner[g].f = own[g].to_f;
        inner[g].y = CG_REALS(own[g].run->k) + 2 * CG_MODEL_N; /* the first two rows may be to_x and to_f */
        inner[g].a = CG_REALS(own[g].run->k) + 3 * CG_MODEL_N;
        inner[g].b = CG_REALS(own[g].run->moved);
#endif
    }
    CG_EACH_STATE(to->x[i] = leaps[g].x[i]; to->f[i] = leaps[g].f[i];)
    for (int64_t s = 1; s <= steps; s++) {
        CG_FN(leap_step)(own, inner, groups, (double)s);
    }
#if CG_COPIED
    CG_EACH_STATE(leaps[g].to_x[i] = to->x[i]; leaps[g].to_f[i] = to->f[i];)
#endif
    for (int g = 0; g < groups; g++) {
        leaps[g].inputs = own[g].inputs;
        leaps[g].t = own[g].t;
        leaps[g].ok = own[g].ok;
    }
}

__attribute__((noinline)) static void CG_FN(leap_one)(CG_FN(leap_t) *leap, int64_t steps)
{
    CG_FN(leap_loop)(leap, 1, steps);
}

__attribute__((noinline)) static void CG_FN(leap_two)(CG_FN(leap_t) *leaps, int64_t steps)
{
    CG_FN(leap_loop)(leaps, 2, steps);
}

/* Steps from x and f to to_x and to_f. */
static CG_INLINE void CG_FN(leap_go)(CG_FN(leap_t) *leaps, int groups, int64_t steps)
{
    if (groups == 2 && CG_MODEL_OPERATIONS <= CG_TOGETHER) {
        CG_FN(leap_two)(leaps, steps);
        return;
    }
    for (int g = 0; g < groups; g++) {
        CG_FN(leap_one)(&leaps[g], steps);
    }
}

/* The lanes that need no service after `steps` more steps: they are still before t_stop and their mark. */
static CG_INLINE cg_mask_t CG_FN(leap_before)(const cg_lanes_run_t *run, double steps)
{
    const cg_real_t h = *CG_REALS(run->h);
    const cg_fixed_plan_t plan = cg_plan_fixed(CG_T(run), *CG_REALS(run->t_stop), h, run->direction,
                                               *CG_REALS(run->t_anchor), *CG_REALS(run->n_anchor) + (steps - 1.0));
    const cg_real_t farthest = cg_larger(cg_abs(CG_T(run)), cg_abs(plan.t_new));
    return cg_not(plan.last) & cg_lt(run->direction * plan.t_new, *CG_REALS(run->mark))
         & cg_le(cg_step_smallest(farthest), h);
}

/* How many steps, at most `most`, all trajectories of a group can take before one needs service. */
static int64_t CG_FN(leap_length)(const cg_lanes_run_t *run, int64_t most)
{
    const cg_mask_t active = *CG_TRUTHS(run->active);
    const cg_real_t end = cg_smaller(*CG_REALS(run->mark), run->direction * *CG_REALS(run->t_stop));
    const cg_real_t count = cg_larger((end - run->direction * CG_T(run)) / *CG_REALS(run->h), cg_splat(0.0));
    for (int lane = 0; lane < CG_LANES; lane++) {
        if (active[lane]) {
            const int64_t left = run->max_steps - 1 - run->n_trials[lane];
            most = left < most ? left : most;
            most = count[lane] < (double)most ? (int64_t)count[lane] : most;
        }
    }
    while (most > 0 && cg_any(active & cg_not(CG_FN(leap_before)(run, (double)most)))) {
        most--;
    }
    return most;
}

/* Prepares the steps of a group before which no lane needs service; their end is written to the first rows of k. */
static void CG_FN(leap_begin)(CG_FN(leap_t) *leap, cg_lanes_run_t *run)
{
    leap->run = run;
    leap->x = CG_REALS(run->x);
    leap->f = CG_REALS(run->f);
    leap->to_x = CG_REALS(run->k);
    leap->to_f = CG_REALS(run->k) + CG_MODEL_N;
    leap->t = CG_T(run);
    leap->h = leap->pace = cg_where(*CG_TRUTHS(run->active), run->direction * *CG_REALS(run->h), cg_splat(0.0));
    leap->n_anchor = *CG_REALS(run->n_anchor);
    leap->t_anchor = *CG_REALS(run->t_anchor);
    leap->ok = cg_true();
}

/* Prepares the step after them, which may end at t_stop. */
static void CG_FN(leap_turn)(CG_FN(leap_t) *leap, int64_t steps)
{
    const cg_lanes_run_t *const run = leap->run;
    const cg_real_t h = *CG_REALS(run->h);
    const cg_real_t t_stop = *CG_REALS(run->t_stop);
    if (steps > 0) {
        leap->x = leap->to_x;
        leap->f = leap->to_f;
        leap->t = cg_where(*CG_TRUTHS(run->active), leap->t, CG_T(run));
        leap->n_anchor += (double)steps;
    }
    const cg_fixed_plan_t plan = cg_plan_fixed(leap->t, t_stop, h, run->direction, leap->t_anchor, leap->n_anchor);
    leap->ok &= cg_not(cg_lt(h, cg_step_smallest(leap->t)) & cg_lt(h, cg_abs(t_stop - leap->t)));
    leap->h = plan.h;
    leap->pace = cg_where(plan.last, cg_splat(0.0), leap->pace);
    leap->n_anchor = cg_where(plan.last, cg_splat(-1.0), leap->n_anchor);
    leap->t_anchor = cg_where(plan.last, plan.t_new, leap->t_anchor);
    leap->inputs = cg_any(*CG_TRUTHS(run->active) & plan.last) ? NULL : leap->inputs;
    leap->to_x = CG_REALS(run->x_trial);
    leap->to_f = CG_REALS(run->f_old);
    CG_T_OLD(run) = leap->t;
}

/* Whether all went well in every lane with a trajectory. */
static CG_INLINE int CG_FN(leap_passed)(const CG_FN(leap_t) *leap)
{
    const cg_mask_t finite = cg_step_finite(leap->to_x, CG_MODEL_N) & cg_step_finite(leap->to_f, CG_MODEL_N);
    return !cg_any(*CG_TRUTHS(leap->run->active) & cg_not(finite & leap->ok));
}

static void CG_FN(leap_accept)(const CG_FN(leap_t) *leap, int64_t steps)
{
    cg_lanes_run_t *const run = leap->run;
    CG_T(run) = leap->t;
    *CG_REALS(run->n_anchor) = leap->n_anchor + 1.0;
    *CG_REALS(run->t_anchor) = leap->t_anchor;
    *CG_TRUTHS(run->n_trials) += steps;
    *CG_TRUTHS(run->n_rhs) += 4 * steps;
    CG_FN(exchange)(run);
    for (int32_t i = 0; steps > 1 && i < CG_MODEL_N; i++) { /* where the last step began */
        CG_REALS(run->x_old)[i] = leap->x[i];
        CG_REALS(run->f_old)[i] = leap->f[i];
    }
    CG_FN(look)(run, cg_true());
}

/* As many steps as all lanes can take without service, and one more. Returns how many steps must be taken one by one
 * instead, because something fails in them. */
static CG_INLINE int64_t CG_FN(leap)(cg_lanes_run_t *const *runs, int groups)
{
    CG_FN(leap_t) leaps[2];
    int64_t steps = CG_LEAP;
    int passed = 1;
    for (int g = 0; g < groups; g++) {
        steps = CG_FN(leap_length)(runs[g], steps);
        CG_FN(leap_begin)(&leaps[g], runs[g]);
    }
    leaps[0].inputs = leaps[groups - 1].inputs = CG_NU(runs[0]) > 0 ? CG_FN(leap_tabulate)(leaps, groups, steps + 1)
                                                                       : NULL;
    if (steps > 0) {
        CG_FN(leap_go)(leaps, groups, steps);
    }
    for (int g = 0; g < groups; g++) {
        CG_FN(leap_turn)(&leaps[g], steps);
    }
    CG_FN(leap_go)(leaps, groups, 1);
    for (int g = 0; g < groups; g++) {
        passed &= CG_FN(leap_passed)(&leaps[g]);
    }
    for (int g = 0; passed && g < groups; g++) {
        CG_FN(leap_accept)(&leaps[g], steps + 1);
    }
    return passed ? 0 : steps + 1;
}

static CG_INLINE void CG_FN(rk4_go)(cg_lanes_run_t *const *runs, int groups)
{
    uint32_t attention = 0u;
    do {
        const int stepwise = CG_CORRECTS(runs[0]) || (CG_WATCHES && runs[0]->watched);
        int64_t single = stepwise ? 1 : CG_FN(leap)(runs, groups);
        do {
            for (int g = 0; g < groups; g++) {
                if (single > 0) {
                    CG_SEARCHED(CG_FN(rk4_step), runs[g])
                }
                attention |= runs[g]->attention;
            }
        } while (--single > 0 && attention == 0u);
    } while (attention == 0u && !*runs[0]->stop);
}

static void CG_FN(rk4_advance)(cg_lanes_run_t *run)
{
    cg_lanes_run_t *const runs[2] = {run, run->other};
    if (run->other == NULL) {
        CG_FN(rk4_go)(runs, 1);
    } else {
        CG_FN(rk4_go)(runs, 2);
    }
}
