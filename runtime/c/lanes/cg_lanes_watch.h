/* cg_lanes_watch.h: the search for events in the last step of all lanes at once; the same operations as in cg_events.c
 * and cg_bracket.c for one trajectory. Included by cg_method.h for models with events or contacts, whose lane file
 * defines CG_MODEL_INPUTS, CG_MODEL_GUARDS, CG_MODEL_EVENTS, CG_MODEL_CONTACTS (how many there are), and the kernels
 * CG_MODEL_GUARDS_LANES, CG_MODEL_CONTACTS_LANES, CG_MODEL_PROJECT_LANES over cg_real_t and CG_MODEL_SIGNS (the sign modes
 * of the contacts) as far as the model has them.
 *
 * Where the samples prove that no quantity changes sign, a lane goes on. Where they prove that events or contacts cross
 * zero, each of them once and apart from the others, the lane repeats its step up to the first zero, beside the others; then
 * it is served alone, as all other lanes are (cg_lane_events.c). So a crossing is lost only where one trajectory loses it.
 */
#include "step/cg_crossing.h"
#include "cg_events.h"

enum { CG_FN(observed) = CG_MODEL_GUARDS + CG_CONTACT_OBSERVED * CG_MODEL_CONTACTS };

/* What a step may have to take back, and trajectories alone keep in their detector. */
static CG_INLINE void CG_FN(before)(cg_lanes_run_t *run)
{
    if (run->watched && !run->adaptive) {
        *CG_REALS(run->anchor_kept) = *CG_REALS(run->t_anchor);
        *CG_REALS(run->count_kept) = *CG_REALS(run->n_anchor);
    }
}

/* The observed quantities; the result is where they are finite. */
static CG_INLINE cg_mask_t CG_FN(observe)(const cg_lanes_run_t *run, cg_real_t t, const cg_real_t *x, cg_real_t *values)
{
    const cg_real_t *const enabled = CG_REALS(run->enabled), *const p = CG_REALS(run->p), *const u = CG_FN(inputs_at)(run, t);
    cg_mask_t ok = cg_true();
#if CG_MODEL_GUARDS > 0
    ok &= CG_MODEL_GUARDS_LANES(&t, x, p, u, values, CG_REALS(run->work));
#endif
#if CG_MODEL_CONTACTS > 0
    static const int signs[CG_MODEL_CONTACTS] = {CG_MODEL_SIGNS};
    const cg_real_t *const modes = u + CG_MODEL_INPUTS;
    cg_real_t contacts[5 * CG_MODEL_CONTACTS];
    ok &= CG_MODEL_CONTACTS_LANES(&t, x, p, u, contacts, CG_REALS(run->work));
    for (int i = 0; i < CG_MODEL_CONTACTS; i++) {
        const cg_real_t *const c = contacts + 5 * i, limit = c[2] * CG_CONTACT_LIMIT;
        cg_real_t *const own = values + CG_MODEL_GUARDS + CG_CONTACT_OBSERVED * i;
        const cg_mask_t sticks = cg_eq(modes[i], cg_splat(0.0));
        own[CG_CONTACT_SLIP] = cg_where(sticks, limit - c[1], modes[i] * c[0]);
        own[CG_CONTACT_BREAK] = cg_where(sticks, limit + c[1], cg_splat(1.0));
        own[CG_CONTACT_NORMAL] = signs[i] >= 0 ? modes[CG_MODEL_CONTACTS + signs[i]] * c[4] : c[4];
    }
#endif
    for (int i = 0; i < CG_FN(observed); i++) {
        values[i] = cg_where(cg_eq(enabled[i], cg_splat(0.0)), cg_splat(1.0), values[i]);
    }
    return ok & cg_step_finite(values, CG_FN(observed));
}

/* The same at a fraction theta of the last step. */
static CG_INLINE cg_mask_t CG_FN(inside)(const cg_lanes_run_t *run, cg_real_t theta, cg_real_t *values)
{
    const cg_real_t t_old = CG_T_OLD(run);
    cg_real_t x[CG_N(run)];
    CG_FN(evaluate)(run, theta, x);
    return CG_FN(observe)(run, t_old + theta * (CG_T(run) - t_old), x, values);
}

/* Samples of the step at cg_nodes; the result is where they are finite. */
static CG_INLINE cg_mask_t CG_FN(sample)(cg_lanes_run_t *run)
{
    const cg_mask_t known = *CG_TRUTHS(run->have_end);
    cg_real_t *const samples = CG_REALS(run->samples);
    cg_mask_t ok = CG_FN(observe)(run, CG_T_OLD(run), CG_REALS(run->x_old), samples) | known;
    for (int i = 0; i < CG_FN(observed); i++) {
        samples[i] = cg_where(known, CG_REALS(run->end)[i], samples[i]);
    }
    for (int j = 1; j < CG_DEGREE; j++) {
        ok &= CG_FN(inside)(run, cg_splat(cg_nodes[j]), samples + j * CG_FN(observed));
    }
    return ok & CG_FN(observe)(run, CG_T(run), CG_REALS(run->x), samples + CG_DEGREE * CG_FN(observed));
}

/* What the samples show of a step: masks of lanes. */
typedef struct {
    cg_mask_t clear;   /* nothing happens */
    cg_mask_t once;    /* one event or contact crosses zero, and nothing else happens before and at the same time */
    cg_real_t index;   /* its index */
    cg_real_t root;    /* where, as a fraction of the step */
} CG_FN(finding_t);

/* The zero of quantity i in the lanes of `mask`; the result is where it is found. */
static CG_INLINE cg_mask_t CG_FN(root)(const cg_lanes_run_t *run, int i, const cg_real_t *v, const cg_real_t *c,
                                       cg_real_t sign, cg_mask_t mask, cg_real_t *root)
{
    cg_real_t values[CG_FN(observed)], slope;
    cg_mask_t settled;
    const cg_real_t theta = cg_crossing_root(v, c, sign, &settled, &slope);
    const cg_mask_t ok = CG_FN(inside)(run, cg_where(mask & settled, theta, cg_splat(0.5)), values);
    const cg_real_t move = -values[i] / slope;
    *root = cg_smaller(theta + move, cg_splat(1.0));
    return mask & ok & settled & cg_le(cg_abs(move), cg_splat(CG_CORRECTED));
}

/* What the samples show of one quantity, in the step of each lane. */
typedef struct {
    cg_real_t v[CG_NODES], c[CG_NODES]; /* the samples, and the coefficients of their polynomial */
    cg_real_t scale;   /* the largest of the samples */
    cg_real_t sign;    /* its side of zero at the start, as far as it is known, else that to which it goes */
    cg_real_t after;   /* at the end, if nothing happens */
    cg_mask_t clear;   /* it does nothing that counts, nor does what is not watched */
    cg_mask_t stays;   /* on a side that is known, or it is not watched */
    cg_mask_t crosses; /* zero once from such a side, in the direction that counts */
} CG_FN(shown_t);

static CG_INLINE CG_FN(shown_t) CG_FN(show)(const cg_lanes_run_t *run, int i)
{
    const cg_real_t nothing = cg_splat(0.0), one = cg_splat(1.0);
    const int event = i < CG_MODEL_EVENTS;
    const int slip = i >= CG_MODEL_GUARDS && (i - CG_MODEL_GUARDS) % CG_CONTACT_OBSERVED == CG_CONTACT_SLIP;
    const cg_real_t before = CG_REALS(run->sign)[i];
    const cg_mask_t idle = cg_eq(CG_REALS(run->enabled)[i], nothing), known = cg_not(cg_eq(before, nothing));
    CG_FN(shown_t) shown;
    cg_real_t largest = nothing;
    shown.scale = nothing;
    for (int j = 0; j < CG_NODES; j++) {
        shown.v[j] = CG_REALS(run->samples)[j * CG_FN(observed) + i];
        shown.scale = cg_larger(shown.scale, cg_abs(shown.v[j]));
    }
    cg_fit(shown.v, shown.c);
    for (int k = 0; k < CG_NODES; k++) {
        largest = cg_larger(largest, cg_abs(shown.c[k]));
    }
    const cg_mask_t certain = cg_lt(CG_CLEAR * largest, cg_abs(shown.v[0]));
    const cg_real_t likely = slip ? one : cg_where(cg_lt(nothing, shown.c[0]), one, -one);
    shown.sign = cg_where(known, before, likely);
    const cg_crossing_t crossings = cg_crossings_shown(shown.v, shown.c, shown.sign);
    const cg_mask_t once = known & crossings.one;
    const cg_mask_t uncounted = cg_lt(nothing, run->towards[i] * shown.sign); /* the direction of a crossing */
    const cg_mask_t turns = once & uncounted & certain;
    /* an event whose side is not known rests at zero: its values are rounding errors */
    const cg_mask_t seen = event ? known : known | certain;
    const cg_mask_t begins = slip ? crossings.kept & cg_not(known) : cg_not(cg_true());
    shown.clear = idle | begins | (crossings.none & seen) | turns;
    shown.stays = idle | (crossings.none & known);
    shown.crosses = once & cg_not(idle | uncounted);
    shown.after = cg_where(idle, before, cg_where(turns, -shown.sign, shown.sign));
    return shown;
}

/* Whether an event or contact crosses zero in lanes that are searched, apart from those before: the first is in *found. */
static CG_INLINE cg_mask_t CG_FN(cross)(const cg_lanes_run_t *run, int i, const CG_FN(shown_t) *shown, cg_mask_t searched,
                                        CG_FN(finding_t) *found)
{
    const int kink = i >= CG_MODEL_EVENTS && i < CG_MODEL_GUARDS;
    cg_mask_t crosses = searched & shown->crosses;
    cg_real_t root;
    if (kink || !cg_any(crosses)) {
        return cg_not(cg_true());
    }
    const cg_real_t same = CG_SAME_TIME + 4.0 * cg_step_smallest(CG_T_OLD(run)) / cg_abs(CG_T(run) - CG_T_OLD(run));
    crosses &= CG_FN(root)(run, i, shown->v, shown->c, shown->sign, crosses, &root);
    crosses &= cg_lt(2.0 * same, cg_abs(root - found->root));
    const cg_mask_t first = crosses & cg_lt(root, found->root);
    found->index = cg_where(first, cg_splat((double)i), found->index);
    found->root = cg_where(first, root, found->root);
    return crosses;
}

/* Where nothing happens, the sides of zero and the values go on to the end of the step; else they are those at its start. */
static CG_INLINE CG_FN(finding_t) CG_FN(find)(cg_lanes_run_t *run, cg_mask_t searched)
{
    cg_real_t *const sign = CG_REALS(run->sign), *const scale = CG_REALS(run->scale), *const end = CG_REALS(run->end);
    const cg_real_t *const samples = CG_REALS(run->samples);
    CG_FN(finding_t) found = {searched, searched, cg_splat(0.0), cg_splat(2.0)};
    cg_real_t after[CG_FN(observed)];
    for (int i = 0; i < CG_FN(observed); i++) {
        const CG_FN(shown_t) shown = CG_FN(show)(run, i);
        const cg_mask_t crosses = CG_FN(cross)(run, i, &shown, searched, &found);
        scale[i] = cg_where(searched, shown.scale, scale[i]);
        after[i] = shown.after;
        found.clear &= shown.clear;
        found.once &= shown.stays | crosses;
    }
    found.once &= cg_le(found.root, cg_splat(1.0));
    for (int i = 0; i < CG_FN(observed); i++) {
        sign[i] = cg_where(found.clear, after[i], sign[i]);
        end[i] = cg_where(found.clear, samples[CG_DEGREE * CG_FN(observed) + i], cg_where(searched, samples[i], end[i]));
    }
    return found;
}

/* Goes back to the start of the step in the lanes of `mask`, to repeat it up to t_new. */
static CG_INLINE void CG_FN(repeat)(cg_lanes_run_t *run, cg_mask_t mask, cg_real_t t_new, cg_real_t index)
{
    cg_real_t *const t_stop = CG_REALS(run->t_stop), *const h = CG_REALS(run->h);
    for (int32_t i = 0; i < CG_N(run); i++) {
        CG_REALS(run->x)[i] = cg_where(mask, CG_REALS(run->x_old)[i], CG_REALS(run->x)[i]);
        CG_REALS(run->f)[i] = cg_where(mask, CG_REALS(run->f_old)[i], CG_REALS(run->f)[i]);
    }
    *CG_REALS(run->end_kept) = cg_where(mask, CG_T(run), *CG_REALS(run->end_kept));
    CG_T(run) = cg_where(mask, CG_T_OLD(run), CG_T(run));
    *CG_REALS(run->stop_kept) = cg_where(mask, *t_stop, *CG_REALS(run->stop_kept));
    *CG_REALS(run->h_kept) = cg_where(mask, *h, *CG_REALS(run->h_kept));
    *CG_REALS(run->index) = cg_where(mask, index, *CG_REALS(run->index));
    *t_stop = cg_where(mask, t_new, *t_stop);
    if (run->adaptive) {
        *h = cg_where(mask, cg_abs(t_new - CG_T_OLD(run)), *h);
    } else {
        *CG_REALS(run->t_anchor) = cg_where(mask, *CG_REALS(run->anchor_kept), *CG_REALS(run->t_anchor));
        *CG_REALS(run->n_anchor) = cg_where(mask, *CG_REALS(run->count_kept), *CG_REALS(run->n_anchor));
    }
    *CG_TRUTHS(run->n_rejected) -= mask;
    *CG_TRUTHS(run->landing) |= mask;
    run->attention &= ~cg_set(mask);
    run->counted &= ~cg_set(mask);
}

/* The slip velocities of sticking contacts become exactly zero in the lanes of `mask`, as in cg_modes_project. */
static CG_INLINE void CG_FN(project)(cg_lanes_run_t *run, cg_mask_t mask)
{
#ifdef CG_MODEL_PROJECT_LANES
    cg_mask_t sticks = cg_not(cg_true());
    for (int i = 0; i < CG_MODEL_CONTACTS; i++) {
        sticks |= mask & cg_eq(CG_REALS(run->u)[CG_MODEL_INPUTS + i], cg_splat(0.0));
    }
    if (cg_any(sticks)) {
        cg_real_t x[CG_N(run)];
        sticks &= CG_MODEL_PROJECT_LANES(CG_REALS(run->t), CG_REALS(run->x), CG_REALS(run->p),
                                         CG_FN(inputs_at)(run, CG_T(run)), x, CG_REALS(run->work));
        sticks &= cg_step_finite(x, CG_N(run));
        for (int32_t i = 0; i < CG_N(run); i++) {
            CG_REALS(run->x)[i] = cg_where(sticks, x[i], CG_REALS(run->x)[i]);
        }
    }
#else
    (void)run, (void)mask;
#endif
}

/* Searches the last step of every lane. */
static void CG_FN(watch)(cg_lanes_run_t *run)
{
    const cg_real_t t = CG_T(run), t_old = CG_T_OLD(run), length = cg_abs(t - t_old);
    const cg_mask_t going = (cg_mask_t)(*CG_TRUTHS(run->status) == CG_FN(code)(CG_OK));
    const cg_mask_t stepped = *CG_TRUTHS(run->active) & going & cg_not(cg_eq(t, t_old));
    const cg_mask_t searched = stepped & cg_not(*CG_TRUTHS(run->landing));
    uint32_t met = cg_set(stepped & *CG_TRUTHS(run->landing));
    run->counted = 0u;
    if (run->watched && cg_any(searched)) {
        *CG_TRUTHS(run->failed) = cg_not(cg_true());
        run->calls = 0;
        run->dense(run);
        const cg_mask_t failed = *CG_TRUTHS(run->failed);
        const cg_mask_t calls = CG_FN(choose)(failed, *CG_TRUTHS(run->failed_at), CG_FN(code)(run->calls));
        *CG_TRUTHS(run->n_rhs) += searched & calls;
        run->counted = cg_set(searched);
        const cg_mask_t ok = CG_FN(sample)(run) & searched & cg_not(failed);
        CG_FN(finding_t) found = CG_FN(find)(run, ok);
        found.once &= cg_le(2.0 * cg_step_smallest(t_old), found.root * length);
        if (cg_any(found.once)) {
            CG_FN(repeat)(run, found.once, t_old + found.root * (t - t_old), found.index);
        }
        *CG_TRUTHS(run->have_end) |= ok;
        CG_FN(project)(run, found.clear);
        met |= cg_set(searched & cg_not(found.clear | found.once));
        if (CG_RARE(cg_any(searched & failed))) {
            const cg_mask_t over = searched & failed, why = CG_FN(code)(CG_SINGULAR);
            CG_FN(fail)(run, &over, &why);
        }
    }
    run->met |= met;
    run->attention |= met;
}
