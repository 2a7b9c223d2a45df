/* cg_sides.c: on which side of zero a guard is at an instant: after a start, a reset or a choice of modes. See cg_events.h.
 *
 * A guard that is zero to rounding is on the side to which the flow that follows takes it first (cg_ahead.c).
 */
#include "step/cg_internal.h"
#include "step/cg_step.h"

#include <string.h>

enum { CG_LATE = 12 }; /* doublings of a rounding error by which a step may end behind a jump over zero */
#define CG_FADED 1e-6  /* of the longest time between events: a flight that is one of many, or the last of one */

/* ---- events ---- */

/* The side that a guard had before what happens at run->t; 0: none. */
static double cg_sides_had(const cg_detector_t *detector, int32_t i)
{
    return detector->sign[i] != 0.0 ? detector->sign[i] : detector->kept[i];
}

/* The side that a guard keeps until it leaves zero to the other one, which then is a crossing; 0: none. */
static double cg_sides_kept(const cg_run_t *run, int32_t i, int start)
{
    const cg_detector_t *const detector = run->detector;
    const double direction = detector->direction[i];
    if (!run->model->events[i].has_reset) {
        return 0.0;
    }
    if (start) {
        return detector->done[i] != 0.0 ? direction : -direction;
    }
    if (detector->fired[i] != 0.0) {
        return -detector->sign[i]; /* `sign` is the far side */
    }
    return direction == 0.0 ? 0.0 : cg_sides_had(detector, i);
}

int cg_sides_occurred(const cg_run_t *run, int32_t index, double t)
{
    const double since = fabs(cg_time_span(run->detector->flights[index].t, cg_time_outside(run, t)));
    return run->detector->count[index] > 0.0 && since <= 2.0 * cg_step_smallest(t);
}

/* The doublings of a rounding error within which a guard that is far from zero both before and after a reset may jump over zero;
 * -1: it is not. */
static int cg_sides_far(const cg_run_t *run, int32_t i)
{
    const cg_detector_t *const detector = run->detector;
    const double least = cg_larger(detector->noise[i], CG_SIDE * detector->scale[i]);
    const int far = detector->active[i] != 0.0 && fabs(detector->end[i]) > least && fabs(detector->before[i]) > least;
    return !far ? -1 : detector->fired[i] != 0.0 || cg_sides_occurred(run, i, run->t) ? CG_LATE : 0;
}

/* After a reset: the guards that jump over zero where the state is now, or not much further off if they have just occurred. Their
 * entries in detector->end and detector->before become distances, of which one is rounding. */
static int cg_sides_of_jumps(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    double *const near = detector->fires;
    int late = 0, others = 0, any = 0;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        const int doublings = cg_sides_far(run, i);
        late = late || doublings > 0;
        others = others || doublings == 0;
    }
    cg_surface_begin(run, late);
    if (others) {
        cg_surface_near(run, near);
    }
    for (int32_t i = 0; i < run->model->n_events; i++) {
        const int doublings = cg_sides_far(run, i);
        const int may = doublings > 0 || (doublings == 0 && near[i] != 0.0);
        memset(&detector->leaving[i], 0, sizeof detector->leaving[i]);
        detector->leaving[i].jumps = may && cg_surface_jumps(run, i, doublings);
        detector->noise[i] = detector->leaving[i].jumps ? 1.0 : detector->noise[i];
        any = any || detector->leaving[i].jumps;
    }
    if (any) {
        cg_surface_distances(run, run->t, run->x, detector->end);
        cg_surface_distances(run, run->t, run->moved, detector->before);
    }
    return cg_evaluate_run_inputs(run, run->t, run->x);
}

/* Guards that jump have their values again. One of which nothing could be seen has the side of its value. */
static int cg_sides_after_jumps(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    int status = CG_OK, any = 0;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        any = any || detector->leaving[i].jumps;
    }
    if (any) {
        status = cg_detector_evaluate(run, run->t, run->moved, 0, detector->values);
        memcpy(detector->before, detector->values, sizeof(double) * (size_t)run->model->n_events);
        status = status == CG_OK ? cg_detector_evaluate(run, run->t, run->x, -1, detector->end) : status;
    }
    for (int32_t i = 0; i < run->model->n_events && any; i++) {
        if (detector->leaving[i].jumps) {
            detector->noise[i] = -detector->leaving[i].time;
            if (detector->sign[i] == 0.0 && detector->leaving[i].side == 0.0) {
                detector->sign[i] = copysign(1.0, detector->end[i]);
                detector->kept[i] = 0.0;
            }
        }
    }
    return status;
}

/* The sides of the guards of events that are not zero; the entries of the others in detector->leaving are left unsettled. What
 * a guard was before a reset at which it occurs is an error of the time; one that no reset has moved keeps its side: where it is
 * zero, it is about to cross. One that has crossed at run->t does not cross back by what else a step has found there. */
static int cg_sides_by_value(cg_run_t *run, int start)
{
    cg_detector_t *const detector = run->detector;
    int unsure = 0;
    for (int32_t i = 0; i < run->model->n_events; i++) {
        const int32_t jumps = !start && detector->leaving[i].jumps;
        memset(&detector->leaving[i], 0, sizeof detector->leaving[i]);
        if (detector->active[i] == 0.0) {
            detector->noise[i] = 0.0;
            detector->leaving[i].settled = 1;
            continue;
        }
        const double g = detector->end[i], before = detector->before[i], moved = fabs(g - before);
        const int fired = !start && detector->fired[i] != 0.0;
        const double latest = cg_larger(CG_SIDE * detector->scale[i], (jumps ? (double)(1 << CG_LATE) : 8.0) * detector->noise[i]);
        const int at_once = fired || (!start && cg_sides_occurred(run, i, run->t));
        const double late = at_once ? cg_smaller(4.0 * fabs(before), latest) : 0.0;
        const double least = cg_larger(detector->noise[i], late);
        const int zero = fabs(g) <= least;
        const int rested = fired && detector->kept[i] != 0.0;
        const double had = cg_sides_had(detector, i);
        const int crossed = fired || (at_once && !detector->follows);
        const int stays = !start && !crossed && had != 0.0 && moved <= detector->noise[i];
        detector->noise[i] = zero ? cg_larger(least, at_once ? 4.0 * fabs(g) : 0.0) : 0.0;
        detector->kept[i] = !zero ? 0.0 : stays ? had : cg_sides_kept(run, i, start);
        detector->sign[i] = zero ? 0.0 : stays ? had : g > 0.0 ? 1.0 : -1.0;
        detector->leaving[i].settled = !zero;
        detector->leaving[i].rested = rested;
        detector->leaving[i].jumps = jumps;
        unsure = unsure || zero;
    }
    return unsure;
}

/* ---- kinks ---- */

/* The sides of kinks and of the caller's functions: of those that are zero, kinks to rounding, that of their slope. *unsure:
 * there are some. */
static int cg_sides_by_slope(cg_run_t *run, int *unsure)
{
    cg_detector_t *const detector = run->detector;
    *unsure = 0;
    for (int32_t i = run->model->n_events; i < detector->first_contact; i++) {
        const double rounding = i < detector->n_guards ? detector->noise[i] : 0.0;
        const double least = detector->fired[i] != 0.0 ? CG_SIDE * detector->scale[i] : rounding;
        const int known = detector->active[i] != 0.0 && fabs(detector->end[i]) > least;
        detector->sign[i] = known ? copysign(1.0, detector->end[i]) : 0.0;
        *unsure = *unsure || (detector->active[i] != 0.0 && !known);
    }
    if (!*unsure) {
        return CG_OK;
    }
    double moment;
    const int status = cg_ahead_later(run, -1, &moment);
    for (int32_t i = run->model->n_events; i < detector->first_contact && status == CG_OK; i++) {
        const double change = detector->values[i] - detector->end[i];
        if (detector->active[i] != 0.0 && detector->sign[i] == 0.0 && change != 0.0) {
            detector->sign[i] = change > 0.0 ? 1.0 : -1.0;
        }
    }
    return status;
}

/* The sides of kinks and of the caller's functions. Those of kinks that are zero inside of the guards of others come first. */
static int cg_sides_of_others(cg_run_t *run)
{
    const int nests = cg_detector_nests(run);
    int unsure = 1, status = CG_OK;
    for (int32_t i = run->model->n_events; i < run->model->n_guards && unsure && nests && status == CG_OK; i++) {
        status = cg_sides_by_slope(run, &unsure);
        status = status == CG_OK ? cg_detector_evaluate(run, run->t, run->x, -1, run->detector->end) : status;
    }
    return status == CG_OK && unsure ? cg_sides_by_slope(run, &unsure) : status;
}

/* The kinks in the state moved onto the constraints, in detector->end. One may have its extremum there, as y - 1 has on the
 * circle x^2 + y^2 = 1: then by what a state is off the constraints it is beyond zero or not. */
static void cg_sides_on_constraints(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    const int32_t first = run->model->n_events, end = cg_ahead_guards(run);
    if (run->correction == NULL || first == end || cg_correct_moved_back(run, run->t, run->x, detector->x) != CG_OK
        || cg_detector_guards_by_side(run, cg_time_of_model(run, run->t), detector->x, detector->guards) != CG_OK
        || !cg_step_finite(detector->guards, end)) {
        return;
    }
    for (int32_t i = first; i < end; i++) {
        if (detector->active[i] != 0.0) {
            const double moved = fabs(detector->end[i] - detector->guards[i]);
            detector->noise[i] = cg_larger(detector->noise[i], 4.0 * moved);
            detector->end[i] = detector->guards[i];
        }
    }
}

enum { CG_ALL_KINKS = -1, CG_RESTING_KINKS = -2 /* those that have no side */ };

/* Leaves the entries in detector->leaving of the kinks `which`, an index or one of the above, unsettled that are zero to
 * rounding. */
static int cg_sides_kinks_at_zero(cg_run_t *run, int32_t which)
{
    cg_detector_t *const detector = run->detector;
    int any = 0;
    cg_sides_on_constraints(run);
    for (int32_t i = run->model->n_events; i < cg_ahead_guards(run); i++) {
        const int named = which == i || which == CG_ALL_KINKS || (which == CG_RESTING_KINKS && detector->sign[i] == 0.0);
        const int asked = named && detector->active[i] != 0.0;
        memset(&detector->leaving[i], 0, sizeof detector->leaving[i]);
        detector->leaving[i].settled = !(asked && fabs(detector->end[i]) <= detector->noise[i]);
        any = any || !detector->leaving[i].settled;
    }
    return any;
}

/* What follows from detector->leaving for kinks, those inside of the guards of others first. */
static int cg_sides_kinks_ahead(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    int status = CG_OK;
    for (int32_t i = run->model->n_events; i < cg_ahead_guards(run) && status == CG_OK; i++) {
        const cg_ahead_t ahead = detector->leaving[i];
        const double side = ahead.side != 0.0 || ahead.settled ? ahead.side : detector->kept[i];
        if (side != 0.0) {
            detector->sign[i] = side;
        } else if (cg_detector_nests(run) && detector->active[i] != 0.0) {
            status = cg_detector_evaluate(run, run->t, run->x, i, detector->values);
            const double g = detector->values[i];
            detector->sign[i] = fabs(g) > detector->noise[i] ? copysign(1.0, g) : detector->sign[i];
        }
    }
    return status;
}

/* Follows the flow for kinks alone; *at_zero: some of them are. */
static int cg_sides_follow_kinks(cg_run_t *run, int32_t which, int *at_zero)
{
    cg_detector_t *const detector = run->detector;
    int status = cg_detector_evaluate(run, run->t, run->x, -1, detector->end);
    cg_ahead_rounding(run, run->model->n_events);
    for (int32_t i = 0; i < run->model->n_events; i++) {
        memset(&detector->leaving[i], 0, sizeof detector->leaving[i]);
        detector->leaving[i].settled = 1;
    }
    *at_zero = cg_sides_kinks_at_zero(run, which);
    status = status == CG_OK && *at_zero ? cg_ahead_look(run) : status;
    status = status == CG_OK && which == CG_RESTING_KINKS ? cg_sides_kinks_ahead(run) : status;
    return status;
}

int cg_sides_of_kink(cg_run_t *run, int32_t index, double *side)
{
    cg_detector_t *const detector = run->detector;
    int at_zero;
    detector->kept[index] = detector->sign_new[index];
    const int status = cg_sides_follow_kinks(run, index, &at_zero);
    *side = at_zero ? detector->leaving[index].side : copysign(1.0, detector->end[index]);
    return status;
}

/* The sides of kinks that have rested at zero where the motion changes. */
static int cg_sides_of_resting_kinks(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    int any = 0, at_zero;
    for (int32_t i = run->model->n_events; i < cg_ahead_guards(run); i++) {
        if (detector->sign[i] == 0.0) {
            any = any || detector->active[i] != 0.0;
            detector->kept[i] = 0.0;
        }
    }
    return any ? cg_sides_follow_kinks(run, CG_RESTING_KINKS, &at_zero) : CG_OK;
}

/* ---- all ---- */

/* Whether the reset of the event `index` has changed its guard or the slope of it, and so is meant to turn the motion; not if
 * it only does something else there. An event that occurs where its guard rested at zero has nothing to turn. */
static int cg_sides_turning(cg_run_t *run, int32_t index)
{
    cg_detector_t *const detector = run->detector;
    double *const f = detector->flow, moment;
    if (detector->leaving[index].jumps) {
        const int turns = cg_surface_turns(run, index);
        return cg_evaluate_run_inputs(run, run->t, run->x) != CG_OK || turns;
    }
    if (detector->leaving[index].rested || detector->end[index] != detector->before[index]) {
        return 1;
    }
    if (cg_ahead_later(run, index, &moment) != CG_OK) {
        return 1;
    }
    const double after = detector->values[index] - detector->end[index];
    int status = cg_evaluate_probe(run, run->t, run->moved, f);
    for (int32_t i = 0; i < run->n; i++) {
        detector->x[i] = run->moved[i] + moment * f[i];
    }
    status = status == CG_OK ? cg_detector_evaluate(run, run->t + moment, detector->x, index, detector->values) : status;
    const double before = detector->values[index] - detector->before[index];
    const int back = cg_evaluate_run_inputs(run, run->t, run->x);
    return status != CG_OK || back != CG_OK || fabs(after - before) > CG_SIDE * cg_larger(fabs(after), fabs(before));
}

/* What follows from detector->leaving: sides, and the crossings of guards that leave zero to another side than they kept:
 * those occur now, too. CG_ACCUMULATING: one leaves it there again although its own reset, the last one to be done, was to
 * turn it: its slope is zero, or what is left of it after flights that fade. */
static int cg_sides_ahead(cg_run_t *run, int start)
{
    cg_detector_t *const detector = run->detector;
    int32_t straight = -1;
    memset(detector->fires, 0, sizeof(double) * (size_t)detector->n_observed);
    for (int32_t i = 0; i < run->model->n_events; i++) {
        const cg_ahead_t ahead = detector->leaving[i];
        const double kept = detector->kept[i];
        const int own = !start && detector->fired[i] != 0.0;
        const int turned = own && detector->turned[i] != 0.0;
        const int faded = detector->flights[i].gap <= CG_FADED * detector->memory.longest;
        if (ahead.side == 0.0) {
            continue; /* settled by its value, or at rest at zero */
        }
        const int crosses = ahead.side == -kept;
        int goes_back = crosses && own && ahead.bends;
        if (crosses && own && !turned) {
            goes_back = (ahead.bends || (faded && !ahead.rested)) && cg_sides_turning(run, i);
        }
        const int occurs = crosses && (!own || turned) && !goes_back && detector->direction[i] * kept <= 0.0;
        detector->fires[i] = occurs ? 1.0 : 0.0;
        detector->again = detector->again || occurs;
        straight = goes_back && straight < 0 ? i : straight;
        if (!goes_back && !occurs) { /* else it is at zero yet */
            detector->sign[i] = ahead.side;
            detector->kept[i] = 0.0;
        }
    }
    detector->cause = straight;
    return straight >= 0 ? CG_ACCUMULATING : CG_OK;
}

/* The sides of what is observed of contacts. */
static void cg_sides_of_contacts(cg_run_t *run, int fresh)
{
    cg_detector_t *const detector = run->detector;
    for (int32_t i = 0; i < detector->n_contacts; i++) {
        double *const sign = detector->sign + detector->first_contact + CG_CONTACT_OBSERVED * i;
        /* not known yet for a slip that begins */
        sign[CG_CONTACT_SLIP] = detector->free[i] != 0.0 && run->u[detector->n_inputs + i] != 0.0 ? 0.0 : 1.0;
        sign[CG_CONTACT_BREAK] = 1.0;
        if (run->model->contacts[i].sign >= 0) {
            sign[CG_CONTACT_NORMAL] = 1.0;
        } else if (fresh) {
            const double normal = detector->end[detector->first_contact + CG_CONTACT_OBSERVED * i + CG_CONTACT_NORMAL];
            sign[CG_CONTACT_NORMAL] = normal > 0.0 ? 1.0 : normal < 0.0 ? -1.0 : 0.0;
        }
    }
}

/* The guards of events before what happens at run->t, in detector->before; kinks inside of them on their sides before. */
static int cg_sides_guards_before(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    const int32_t first = run->model->n_events;
    const size_t bytes = sizeof(double) * (size_t)(detector->n_guards - first);
    double *const after = detector->fires;
    memcpy(after, detector->sign + first, bytes);
    for (int32_t i = first; i < cg_ahead_guards(run); i++) {
        detector->sign[i] = detector->fired[i] != 0.0 ? detector->sign_new[i] : detector->kept[i];
    }
    const int status = cg_detector_evaluate(run, run->t, run->moved, 0, detector->values);
    memcpy(detector->sign + first, after, bytes);
    memcpy(detector->before, detector->values, sizeof(double) * (size_t)first);
    return status;
}

int cg_sides_find(cg_run_t *run, int instant)
{
    cg_detector_t *const detector = run->detector;
    const int fresh = instant != CG_SIDES_MODES, start = instant == CG_SIDES_START;
    for (int32_t i = run->model->n_events; i < cg_ahead_guards(run) && fresh; i++) {
        detector->kept[i] = start ? 0.0 : detector->sign[i];
        detector->sign[i] = 0.0;
    }
    int status = fresh ? cg_detector_evaluate(run, run->t, run->x, -1, detector->end) : CG_OK;
    detector->again = 0;
    if (status == CG_OK) {
        cg_sides_of_contacts(run, fresh);
    }
    if (status != CG_OK || !fresh) {
        return status == CG_OK ? cg_sides_of_resting_kinks(run) : status;
    }
    if (detector->n_guards > 0) {
        cg_ahead_rounding(run, 0);
    }
    status = cg_sides_of_others(run);
    if (status == CG_OK && cg_ahead_guards(run) > 0) {
        status = start ? CG_OK : cg_sides_guards_before(run);
        if (cg_detector_nests(run)) { /* with the kinks inside of guards on their sides */
            cg_ahead_rounding(run, 0);
        }
        status = status == CG_OK && !start ? cg_sides_of_jumps(run) : status;
        const int events = cg_sides_by_value(run, start), kinks = cg_sides_kinks_at_zero(run, CG_ALL_KINKS);
        status = (events || kinks) && status == CG_OK ? cg_ahead_look(run) : status;
        status = status == CG_OK && !start ? cg_sides_after_jumps(run) : status;
        status = status == CG_OK && kinks ? cg_sides_kinks_ahead(run) : status;
        status = status == CG_OK ? cg_sides_ahead(run, start) : status;
    }
    return status;
}

void cg_sides_go_on(cg_detector_t *detector)
{
    const size_t bytes = sizeof(double) * (size_t)detector->n_observed;
    if (detector->again) {
        memcpy(detector->fired, detector->fires, bytes);
        for (int32_t i = 0; i < detector->n_observed; i++) {
            const int occurs = detector->fired[i] != 0.0; /* of guards alone, and at zero */
            detector->sign_new[i] = occurs ? detector->kept[i] : detector->sign[i];
            detector->sign[i] = occurs ? -detector->kept[i] : detector->sign[i];
        }
        detector->pending = detector->follows = 1;
        detector->again = 0;
    }
}
