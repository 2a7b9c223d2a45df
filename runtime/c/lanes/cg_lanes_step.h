/* cg_lanes_step.h: trial steps of all lanes at once, with separate step-size control for each lane. Included by
 * cg_method.h if CG_LANES is above 1; the same operations in the same order as in cg_adaptive.h and cg_driver.c for one
 * trajectory.
 */

#define CG_TRUTHS(array) ((cg_mask_t *)(void *)(array))

/* Marks the lanes in which the right-hand side failed: `ok` is false there. */
static CG_COLD void CG_FN(note)(cg_lanes_run_t *run, const cg_mask_t *ok)
{
    run->any_failed = 1;
    for (int lane = 0; lane < CG_LANES; lane++) {
        if (!(*ok)[lane] && !run->failed[lane]) {
            run->failed[lane] = -1;
            run->failed_at[lane] = run->calls;
        }
    }
}

/* Brings the inputs to time t. */
static CG_INLINE void CG_FN(move_inputs)(const cg_lanes_run_t *run, cg_real_t t)
{
    if (CG_NU(run) > 0 && CG_RARE(run->input_kind != 0)) {
        CG_FN(ramps)(run, t, CG_REALS(run->u));
    }
}

/* After a call of the right-hand side, whose result is where it is regular. */
static CG_INLINE int CG_FN(after_rhs)(cg_lanes_run_t *run, cg_mask_t ok)
{
    if (CG_RARE(cg_any(cg_not(ok)))) {
        const cg_mask_t regular = ok; /* a copy: a variable with its address taken would be kept in memory */
        CG_FN(note)(run, &regular);
    }
    return CG_OK;
}

/* Calls the right-hand side: out = f(t, x). It never fails as a whole. */
CG_FLATTEN static CG_INLINE int CG_FN(rhs)(cg_lanes_run_t *run, cg_real_t t, const cg_real_t *x, cg_real_t *out)
{
    run->calls++;
    CG_FN(move_inputs)(run, t);
    return CG_FN(after_rhs)(run, CG_RHS(run, t, x, out));
}

/* The same, not copied: for rare calls. */
static CG_COLD int CG_FN(rhs_called)(cg_lanes_run_t *run, cg_real_t t, const cg_real_t *x, cg_real_t *out)
{
    return CG_FN(rhs)(run, t, x, out);
}

/* The inputs at time t, and the modes, for a kernel that is called outside of a trial. They are a copy: t may be a time inside
 * the step of one lane, and the others go on with what they have. */
static CG_INLINE const cg_real_t *CG_FN(inputs_at)(const cg_lanes_run_t *run, cg_real_t t)
{
    if (CG_NU(run) == 0 || !CG_RARE(run->input_kind != 0)) {
        return CG_REALS(run->u);
    }
    cg_real_t *const u = CG_REALS(run->u_seen);
    for (int32_t i = 0; i < CG_NU(run); i++) {
        u[i] = CG_REALS(run->u)[i];
    }
    CG_FN(ramps)(run, t, u);
    return u;
}

/* Ends the trajectories of the lanes in `mask`. */
static CG_COLD void CG_FN(fail)(cg_lanes_run_t *run, const cg_mask_t *mask, const cg_mask_t *reason)
{
    for (int lane = 0; lane < CG_LANES; lane++) {
        if ((*mask)[lane] && run->active[lane]) {
            run->status[lane] = (*reason)[lane];
            run->attention |= 1u << lane;
        }
    }
}

#if CG_COPIED && defined(CG_RHS_OF)
#define CG_ONCE
/* The same if no angle is wide, which is asked once for a whole trial: with a call for wide angles, which reads all of x
 * and writes all of `out`, compilers could leave out nothing of them. */
CG_FLATTEN static CG_INLINE int CG_FN(rhs_near)(cg_lanes_run_t *run, cg_real_t t, const cg_real_t *x, cg_real_t *out)
{
    run->calls++;
    CG_FN(move_inputs)(run, t);
    return CG_FN(after_rhs)(run, CG_RHS_OF(run, CG_REALS(run->widest), t, x, out));
}
#endif

static CG_INLINE cg_mask_t CG_FN(code)(int status) { return (cg_mask_t){0} + (int64_t)status; }

static CG_INLINE cg_mask_t CG_FN(choose)(cg_mask_t mask, cg_mask_t a, cg_mask_t b) { return (mask & a) | (~mask & b); }

/* The length of the next step, within bounds. */
static CG_INLINE cg_real_t CG_FN(wanted)(const cg_lanes_run_t *run)
{
    const cg_real_t wanted = cg_larger(*CG_REALS(run->h), cg_step_smallest(CG_T(run)));
    return run->max_step < HUGE_VAL ? cg_smaller(wanted, cg_splat(run->max_step)) : wanted;
}

/* Where max_step is too small for a step. */
static CG_INLINE cg_mask_t CG_FN(refused)(const cg_lanes_run_t *run, const cg_plan_t *plan)
{
    return cg_not(plan->cut) & cg_not(cg_le(cg_step_smallest(CG_T(run)), plan->length));
}

/* `sum`, or NaN where one of the n values of v is not finite. */
static CG_INLINE cg_real_t CG_FN(checked)(cg_real_t sum, const cg_real_t *v, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        sum = cg_plus(sum, 0.0, v[i]);
    }
    return sum;
}

/* Accepts the trial in the lanes of `good`; in the others state and derivative stay unchanged. */
static CG_INLINE void CG_FN(accept)(cg_lanes_run_t *run, cg_real_t t_new, cg_mask_t good)
{
    const int32_t n = CG_N(run);
    CG_FN(exchange)(run);
    CG_T_OLD(run) = CG_T(run);
    CG_T(run) = cg_where(good, t_new, CG_T(run));
    if (cg_any(cg_not(good))) {
        const cg_real_t *const x_old = CG_REALS(run->x_old);
        const cg_real_t *const f_old = CG_REALS(run->f_old);
        cg_real_t *const x = CG_REALS(run->x);
        cg_real_t *const f = CG_REALS(run->f);
        for (int32_t i = 0; i < n; i++) {
            x[i] = cg_where(good, x[i], x_old[i]);
            f[i] = cg_where(good, f[i], f_old[i]);
        }
    }
}

#if defined(CG_MODEL_CORRECTION) || defined(CG_MODEL_CORRECTION_ALL)
/* One step of Newton's method from x; the result is where it is regular. */
static CG_INLINE cg_mask_t CG_FN(correction)(cg_lanes_run_t *run, cg_real_t t, const cg_real_t *x, cg_real_t *moved)
{
    const cg_real_t *const p = CG_REALS(run->p), *const u = CG_FN(inputs_at)(run, t);
#ifdef CG_MODEL_CORRECTION_ALL
    if (run->projection == CG_PROJECT_ALL) {
        return CG_MODEL_CORRECTION_ALL(&t, x, p, u, CG_REALS(run->start), moved, CG_REALS(run->work));
    }
#endif
#ifdef CG_MODEL_CORRECTION
    return CG_MODEL_CORRECTION(&t, x, p, u, moved, CG_REALS(run->work));
#else
    return cg_true();
#endif
}

/* Takes back the last step in the lanes of `bad`, to repeat it with a part of its length; where that is short enough
 * already the trajectory ends, and what the step led to is in x_old and t_old. */
static CG_COLD void CG_FN(unclosed)(cg_lanes_run_t *run, const cg_mask_t *bad)
{
    const cg_real_t t = CG_T(run), t_old = CG_T_OLD(run), length = cg_abs(t - t_old);
    const cg_mask_t over = run->adaptive ? *bad & cg_le(length, cg_step_located(t_old)) : *bad;
    const cg_mask_t why = CG_FN(code)(CG_UNCLOSED);
    cg_real_t *const x = CG_REALS(run->x), *const x_old = CG_REALS(run->x_old), *const f = CG_REALS(run->f);
    CG_FN(fail)(run, &over, &why);
    CG_T(run) = cg_where(*bad, t_old, t);
    CG_T_OLD(run) = cg_where(over, t, t_old);
    *CG_REALS(run->h) = cg_where(*bad, CG_SHRINK_UNCLOSED * length, *CG_REALS(run->h));
    *CG_TRUTHS(run->rejected) |= *bad;
    *CG_TRUTHS(run->n_rejected) -= *bad;
    for (int32_t i = 0; i < CG_N(run); i++) {
        const cg_real_t end = x[i];
        x[i] = cg_where(*bad, x_old[i], end);
        x_old[i] = cg_where(over, end, x_old[i]);
        f[i] = cg_where(*bad, CG_REALS(run->f_old)[i], f[i]);
    }
}

/* Moves the ends of the accepted steps onto the constraints, as cg_correct.c does for one trajectory. */
static void CG_FN(correct)(cg_lanes_run_t *run, cg_mask_t good)
{
    const int32_t n = CG_N(run);
    const cg_real_t t = CG_T(run);
    cg_real_t *const x = CG_REALS(run->x);
    cg_real_t *const f = CG_REALS(run->f);
    cg_real_t *const moved = CG_REALS(run->moved);
    cg_mask_t off = good, ever = {0}, bad = {0};

    for (int step = 0; step < CG_MOST_CORRECTIONS && cg_any(off); step++) {
        const cg_mask_t ok = CG_FN(correction)(run, t, x, moved);
        const cg_mask_t finite = cg_step_finite(moved, n);
        const cg_real_t close = cg_splat(cg_close_enough(step));
        cg_mask_t far = {0};
        bad |= off & cg_not(ok & finite);
        off &= ok & finite;
        for (int32_t i = 0; i < n; i++) {
            far |= cg_lt(close, cg_abs(moved[i]) / cg_step_scale(run->atol[i], run->rtol, x[i], x[i]));
        }
        off &= far;
        for (int32_t i = 0; i < n; i++) {
            x[i] = cg_where(off, x[i] + moved[i], x[i]);
        }
        ever |= off;
    }
    bad |= off;
#ifdef CG_MODEL_UNMET
    bad |= good & cg_not(CG_MODEL_UNMET(&t, x, CG_REALS(run->p), CG_FN(inputs_at)(run, t), moved, CG_REALS(run->work)));
    for (int32_t i = 0; i < n; i++) {
        const cg_real_t distance = cg_abs(moved[i]) / cg_step_scale(run->atol[i], run->rtol, x[i], x[i]);
        bad |= good & cg_not(cg_le(distance, cg_splat(CG_MOST_UNMET)));
    }
#endif
    if (cg_any(ever)) {
        *CG_TRUTHS(run->failed) = CG_FN(code)(0);
        CG_FN(rhs)(run, t, x, moved);
        const cg_mask_t called = ever & cg_not(bad);
        bad |= called & (*CG_TRUTHS(run->failed) | cg_not(cg_step_finite(moved, n)));
        *CG_TRUTHS(run->n_rhs) -= called;
        for (int32_t i = 0; i < n; i++) {
            f[i] = cg_where(called, moved[i], f[i]);
        }
    }
    if (CG_RARE(cg_any(bad))) {
        const cg_mask_t unclosed = bad; /* a copy: a variable with its address taken would be kept in memory */
        CG_FN(unclosed)(run, &unclosed);
    }
}
#ifdef CG_MODEL_CORRECTION
#define CG_CORRECTS(run) ((run)->projection != CG_PROJECT_NONE)
#else
#define CG_CORRECTS(run) ((run)->projection == CG_PROJECT_ALL)
#endif
#define CG_CORRECT(run, good)                  \
    if (CG_CORRECTS(run) && cg_any(good)) {    \
        CG_FN(correct)(run, good);             \
    }
#else
#define CG_CORRECTS(run) 0
#define CG_CORRECT(run, good)
#endif

/* Checks what the accepted lanes have reached: t_stop, their mark, or the step limit. */
static CG_INLINE void CG_FN(look)(cg_lanes_run_t *run, cg_mask_t good)
{
    const cg_real_t t = CG_T(run);
    const cg_mask_t trials = *CG_TRUTHS(run->n_trials);
    const cg_mask_t spent = (cg_mask_t)(trials >= CG_FN(code)(0) + run->max_steps);
    const cg_mask_t stops = cg_eq(t, *CG_REALS(run->t_stop)) & good & *CG_TRUTHS(run->active);
    const cg_mask_t serves = (cg_le(*CG_REALS(run->mark), run->direction * t) | spent) & good & *CG_TRUTHS(run->active);
    run->attention |= cg_set(stops | serves);
    const cg_mask_t samples = stops & cg_not(serves | cg_eq(t, cg_splat(run->t_end)));
    run->at_sample = run->signals == NULL || run->watched ? 0u : cg_set(samples);
}

/* The right-hand sides of a trial step, that at its end included; the result is where one failed before the error is
 * known. `calls`: how many there are until then. */
static CG_INLINE cg_mask_t CG_FN(attempt)(cg_lanes_run_t *run, const cg_plan_t *plan, int end_first, CG_FN(trial_t) trial,
                                          CG_FN(slope_t) slope, int *calls)
{
    *CG_TRUTHS(run->failed) = CG_FN(code)(0);
    run->calls = run->any_failed = 0;
    trial(run, CG_T(run), plan->h, slope);
    const cg_mask_t failed_inside = *CG_TRUTHS(run->failed);
    slope(run, plan->t_new, CG_REALS(run->x_trial), CG_REALS(run->f_old));
    *calls = end_first ? run->calls : run->calls - 1;
    return end_first ? *CG_TRUTHS(run->failed) : failed_inside;
}

#ifdef CG_ONCE
/* The same, with angles that may be wide. */
static CG_COLD cg_mask_t CG_FN(attempt_wide)(cg_lanes_run_t *run, const cg_plan_t *plan, int end_first,
                                             CG_FN(trial_t) trial, int *calls)
{
    return CG_FN(attempt)(run, plan, end_first, trial, CG_FN(rhs_called), calls);
}
#endif

/* A trial step of every lane of a method with error control, and its error. */
typedef struct {
    cg_real_t wanted; /* length, within bounds */
    cg_plan_t plan;
    cg_real_t square;        /* of the error in units of the tolerance */
    cg_mask_t failed_inside; /* the right-hand side failed before the error was known */
    int calls;               /* until then */
} CG_FN(attempted_t);

/* Accepts the trial in the lanes of `good`, with the `length` of the next step in every lane. */
static CG_INLINE void CG_FN(advance)(cg_lanes_run_t *run, const CG_FN(attempted_t) *trial, cg_mask_t good,
                                     cg_real_t log_new, cg_real_t length)
{
    cg_real_t *const log_old = CG_REALS(run->log_old);
    *CG_REALS(run->h) = length;
    *log_old = cg_where(good & cg_not(trial->plan.close), cg_larger(log_new, cg_splat(CG_LEAST_LOG)), *log_old);
    *CG_TRUTHS(run->n_trials) += 1;
    *CG_TRUTHS(run->rejected) = cg_not(good);
    CG_FN(accept)(run, trial->plan.t_new, good);
    CG_CORRECT(run, good)
    CG_FN(look)(run, good);
}

/* The length of the next step where the trial is accepted. */
static CG_INLINE cg_real_t CG_FN(grown)(const cg_lanes_run_t *run, const cg_control_t *control,
                                        const CG_FN(attempted_t) *trial, cg_real_t log_new)
{
    const cg_mask_t rejected = *CG_TRUTHS(run->rejected);
    const cg_real_t grown = trial->plan.length * cg_control_grow(control, log_new, *CG_REALS(run->log_old), rejected);
    /* A step shortened by t_stop says little about the longer one that was planned. */
    return cg_where(trial->plan.close, cg_larger(trial->wanted, grown), grown);
}

/* After a trial that is not accepted in every lane. */
static CG_COLD void CG_FN(sift)(cg_lanes_run_t *run, const cg_control_t *control, const CG_FN(attempted_t) *trial)
{
    const cg_plan_t plan = trial->plan;
    const int32_t n = CG_N(run);
    const cg_real_t smallest = cg_step_smallest(CG_T(run));
    const cg_mask_t failed_inside = trial->failed_inside;
    const cg_mask_t refused = CG_FN(refused)(run, &plan);
    const cg_mask_t passed = cg_le(trial->square, cg_splat(1.0)) & cg_not(failed_inside);
    const cg_mask_t failed = *CG_TRUTHS(run->failed);
    const cg_mask_t x_finite = cg_step_finite(CG_REALS(run->x_trial), n);
    const cg_mask_t finite = x_finite & cg_step_finite(CG_REALS(run->f_old), n);
    const cg_mask_t good = passed & finite & cg_not(failed) & cg_not(refused);
    const cg_real_t log_new = cg_step_log2(trial->square);
    const cg_mask_t clear = cg_not(passed) & cg_not(failed_inside) & cg_lt(trial->square, cg_splat(HUGE_VAL));
    const cg_real_t factor = cg_where(clear, cg_control_shrink(control, log_new), cg_splat(CG_SHRINK_FAILED));
    const cg_mask_t seen = control->end_first ? finite : x_finite;
    const cg_mask_t small = CG_FN(choose)(cg_not(passed) & cg_not(failed_inside) & (clear | seen),
                                          CG_FN(code)(CG_STEP_TOO_SMALL), CG_FN(code)(CG_NONFINITE));
    const cg_mask_t reason = CG_FN(choose)(failed & (passed | failed_inside), CG_FN(code)(CG_SINGULAR), small);
    const cg_mask_t over = cg_not(good) & (cg_le(plan.length, smallest) | refused);
    const cg_mask_t all_calls = CG_FN(code)(trial->calls) - (control->end_first ? CG_FN(code)(0) : passed);
    const cg_mask_t counted = CG_FN(choose)(failed_inside, *CG_TRUTHS(run->failed_at), all_calls);
    *CG_TRUTHS(run->n_rhs) += counted & cg_not(refused); /* a single trajectory makes no trial in this case */
    *CG_TRUTHS(run->n_rejected) -= cg_not(good);
    if (CG_RARE(cg_any(over))) {
        const cg_mask_t why = CG_FN(choose)(refused, CG_FN(code)(CG_STEP_TOO_SMALL), reason);
        CG_FN(fail)(run, &over, &why);
    }
    const cg_real_t grown = CG_FN(grown)(run, control, trial, log_new);
    CG_FN(advance)(run, trial, good, log_new, cg_where(good, grown, cg_larger(plan.length * factor, smallest)));
}

/* One trial step of every lane of a method with error control. */
static CG_INLINE int CG_FN(adaptive)(cg_lanes_run_t *run, const cg_control_t control,
                                     CG_FN(trial_t) trial, cg_real_t (*error)(cg_lanes_run_t *, cg_real_t))
{
    CG_FN(attempted_t) now;
    now.wanted = CG_FN(wanted)(run);
    now.plan = cg_plan(CG_T(run), *CG_REALS(run->t_stop), now.wanted, run->direction, run->max_step);
#ifdef CG_ONCE
    *CG_REALS(run->widest) = cg_splat(0.0);
    now.failed_inside = CG_FN(attempt)(run, &now.plan, control.end_first, trial, CG_FN(rhs_near), &now.calls);
    if (cg_is_wide(*CG_REALS(run->widest))) {
        const cg_plan_t same = now.plan; /* a copy: a variable with its address taken would be kept in memory */
        now.failed_inside = CG_FN(attempt_wide)(run, &same, control.end_first, trial, &now.calls);
    }
#else
    now.failed_inside = CG_FN(attempt)(run, &now.plan, control.end_first, trial, CG_FN(rhs), &now.calls);
#endif
    now.square = error(run, now.plan.h);
    /* the error, or NaN where a state or a derivative is not finite */
    const cg_real_t checked = CG_FN(checked)(CG_FN(checked)(now.square, CG_REALS(run->x_trial), CG_N(run)),
                                             CG_REALS(run->f_old), CG_N(run));
    if (cg_any(cg_not(cg_le(checked, cg_splat(1.0)))) || run->any_failed
        || (run->max_step < HUGE_VAL && cg_any(CG_FN(refused)(run, &now.plan)))) {
        const cg_control_t control_here = control;
        const CG_FN(attempted_t) same = now;
        CG_FN(sift)(run, &control_here, &same);
        return CG_OK;
    }
    const cg_real_t log_new = cg_step_log2(now.square);
    *CG_TRUTHS(run->n_rhs) += run->calls;
    CG_FN(advance)(run, &now, cg_true(), log_new, CG_FN(grown)(run, &control, &now, log_new));
    return CG_OK;
}

/* One step of fixed size in every lane; only where something fails or is moved: see cg_rk4_lanes.h. */
static CG_INLINE int CG_FN(fixed)(cg_lanes_run_t *run, CG_FN(trial_t) trial)
{
    const int32_t n = CG_N(run);
    const cg_real_t t = CG_T(run);
    const cg_real_t t_stop = *CG_REALS(run->t_stop);
    const cg_real_t h = *CG_REALS(run->h);
    cg_real_t *const t_anchor = CG_REALS(run->t_anchor);
    cg_real_t *const n_anchor = CG_REALS(run->n_anchor);
    const cg_fixed_plan_t plan = cg_plan_fixed(t, t_stop, h, run->direction, *t_anchor, *n_anchor);
    const cg_mask_t refused = cg_lt(h, cg_step_smallest(t)) & cg_lt(h, cg_abs(t_stop - t));

    *CG_TRUTHS(run->failed) = CG_FN(code)(0);
    run->calls = 0;
    trial(run, t, plan.h, CG_FN(rhs_called)); /* most steps are those of cg_rk4_lanes.h */
    CG_FN(rhs_called)(run, plan.t_new, CG_REALS(run->x_trial), CG_REALS(run->f_old));
    const cg_mask_t failed = *CG_TRUTHS(run->failed);
    const cg_mask_t finite = cg_step_finite(CG_REALS(run->x_trial), n) & cg_step_finite(CG_REALS(run->f_old), n);
    const cg_mask_t good = finite & cg_not(failed) & cg_not(refused);
    *CG_TRUTHS(run->n_trials) += 1;
    const cg_mask_t counted = CG_FN(choose)(failed, *CG_TRUTHS(run->failed_at), CG_FN(code)(run->calls));
    *CG_TRUTHS(run->n_rhs) += counted & cg_not(refused);
    if (CG_RARE(cg_any(cg_not(good)))) {
        const cg_mask_t bad = cg_not(good);
        const cg_mask_t why = CG_FN(choose)(refused, CG_FN(code)(CG_STEP_TOO_SMALL),
                                            CG_FN(choose)(failed, CG_FN(code)(CG_SINGULAR), CG_FN(code)(CG_NONFINITE)));
        *CG_TRUTHS(run->n_trials) += bad;
        CG_FN(fail)(run, &bad, &why);
    }
    *n_anchor = cg_where(plan.last, cg_splat(0.0), *n_anchor + 1.0);
    *t_anchor = cg_where(plan.last, plan.t_new, *t_anchor);
    CG_FN(accept)(run, plan.t_new, good);
    CG_CORRECT(run, good)
    CG_FN(look)(run, good);
    return CG_OK;
}
