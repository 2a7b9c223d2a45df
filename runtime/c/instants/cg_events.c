/* cg_events.c: events of one run: found after each step, located, and handled; see cg_events.h. */
#include "step/cg_internal.h"
#include "step/cg_step.h"

#include <string.h>

#define CG_LANDED 16.0 /* of cg_step_smallest: a step that goes on so far beyond a kink ends at it */
#define CG_POWER 64.0 /* how much more visible a guard that leaves zero at the start is at twice the time: a sixth power */

/* ---- the start ---- */

int cg_events_begin(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    cg_detector_memory_t *const memory = &detector->memory;
    const int fresh = memory->begun != CG_WATCH_MODES;
    double ahead = 0.0;
    int status = CG_OK;
    if (memory->begun == CG_WATCH_NEW && detector->n_modes > 0 && !cg_detector_has_room(detector, 1)) {
        return CG_EVENTS_FULL;
    }
    if (fresh) {
        memset(detector->fired, 0, sizeof(double) * (size_t)detector->n_observed);
        memset(detector->scale, 0, sizeof(double) * (size_t)detector->n_observed);
    }
    if (detector->n_modes > 0) {
        double *const modes = run->u + detector->n_inputs;
        for (int32_t j = detector->n_contacts; j < detector->n_modes; j++) {
            modes[j] = modes[j] < 0.0 ? -1.0 : 1.0;
        }
        status = run->direction > 0.0 ? cg_modes_free(run, 1) : CG_BAD_ARGUMENT;
        if (status == CG_OK) {
            status = cg_ahead_choose_modes(run, &ahead);
        }
        if (status == CG_OK && run->jump != NULL) {
            status = cg_jump_start(run, CG_STARTS_MODES);
        }
        run->have_f = 0;
    }
    if (status == CG_OK) {
        cg_modes_activate(run);
        status = cg_sides_find(run, fresh ? CG_SIDES_START : CG_SIDES_MODES);
        if (status == CG_OK && fresh && run->jump != NULL) {
            status = cg_jump_start(run, CG_STARTS_SIDES);
        }
        if (status == CG_OK) {
            cg_sides_go_on(detector);
        }
    }
    detector->have_end = 0;
    if (status == CG_OK && ahead > 0.0) {
        status = cg_ahead_leave(run, ahead);
    }
    if (memory->begun == CG_WATCH_NEW) {
        memory->t_event = cg_time_outside(run, run->t);
        if (detector->n_modes > 0) {
            memcpy(detector->modes, run->u + detector->n_inputs, sizeof(double) * (size_t)detector->n_modes);
            cg_detector_log(run, CG_LOG_START, NULL, run->x);
            detector->n_instants++;
        }
    }
    memory->direction = run->direction;
    memory->begun = status != CG_OK ? CG_WATCH_AGAIN : fresh ? CG_WATCH_READY : CG_WATCH_BEGUN;
    return status;
}

/* ---- after a step ---- */

void cg_events_before_step(cg_run_t *run)
{
    run->detector->anchor = run->t_anchor;
    run->detector->n_anchor = run->n_anchor;
    if (run->detector->memory.begun != CG_WATCH_BEGUN) {
        memset(run->detector->done, 0, sizeof(double) * (size_t)run->detector->n_guards);
    }
    run->detector->memory.begun = CG_WATCH_BEGUN;
}

/* The quantity of a slip that begins with this step: its side is not known, but was chosen (cg_modes.c). The interpolant
 * may first dip to the other side, by less than its error. If the dip lasts longer, the slip has not begun: root 0. */
static int cg_events_from_rest(cg_run_t *run, int32_t index, double upto)
{
    cg_detector_t *const detector = run->detector;
    double v[CG_NODES], c[CG_NODES];
    for (int j = 0; j < CG_NODES; j++) {
        v[j] = detector->samples[(ptrdiff_t)j * detector->n_observed + index];
    }
    cg_fit(v, c);
    if (cg_crossings_shown(v, c, 1.0).kept) {
        detector->sign_new[index] = 1.0;
        return CG_OK;
    }
    const int status = cg_bracket_find(run, index, upto);
    const int dips = detector->sign_new[index] < 0.0;
    detector->sign_new[index] = 1.0;
    if (status != CG_OK || !dips) {
        return status;
    }
    if (cg_smaller(detector->root[index], upto) > cg_nodes[1]) {
        detector->root[index] = 0.0;
        return CG_OK;
    }
    if (detector->root[index] > 1.0) { /* the first crossing, if any, is during the dip */
        return CG_OK;
    }
    detector->cursor[index] = detector->root[index];
    return cg_bracket_find(run, index, upto);
}

/* What of a kink at rest its interpolant may have wrong: at the start of the step nothing, from there at most in proportion. */
static int cg_events_slack(cg_run_t *run, int32_t index, double *slack)
{
    cg_detector_t *const detector = run->detector;
    *slack = 0.0;
    for (int changing = 0; changing < 2; changing++) {
        memcpy(detector->x, run->x_old, sizeof(double) * (size_t)run->ld);
        cg_shake(detector->x, run->n_own, changing);
        CG_TRY(cg_detector_evaluate(run, run->t_old, detector->x, index, detector->values));
        const double change = fabs(detector->values[index] - detector->samples[index]);
        *slack = cg_larger(*slack, run->rtol / CG_MOMENT * change);
    }
    return CG_OK;
}

/* The first place at which a guard that has been at zero is visible, and the last before it: fractions of the step, in
 * *upto and *from, and the side there; *side = 0: it is not. */
static int cg_events_first_visible(cg_run_t *run, int32_t index, double *from, double *upto, double *side)
{
    cg_detector_t *const detector = run->detector;
    const double least = 2.0 * cg_step_smallest(run->t_old) / fabs(run->t - run->t_old);
    const double noise = cg_larger(detector->noise[index], CG_CLEAR * detector->scale[index]);
    double slack = 0.0;
    int j = 1;
    *from = *side = 0.0;
    *upto = cg_nodes[1];
    CG_TRY(cg_detector_is_kink(run, index) ? cg_events_slack(run, index, &slack) : CG_OK);
    while (*upto > CG_FURTHER * least && *upto > DBL_EPSILON) {
        *upto /= CG_FURTHER;
    }
    while (*side == 0.0 && j < CG_NODES) {
        const int node = *upto >= cg_nodes[1];
        *upto = node ? cg_nodes[j] : *upto;
        CG_TRY(node ? CG_OK : cg_detector_inside(run, *upto, index, detector->values));
        const double g = node ? detector->samples[(ptrdiff_t)j * detector->n_observed + index] : detector->values[index];
        *side = fabs(g) > cg_larger(noise, *upto * slack) ? copysign(1.0, g) : 0.0;
        if (*side == 0.0) {
            *from = *upto;
            *upto *= CG_FURTHER;
            j += node;
        }
    }
    return CG_OK;
}

/* Where a guard that rests at zero leaves it, between `from` and *upto, in *upto: a smooth one does so at the start of the
 * step, however late it is visible, and one of another kind, as Max(x, 0), where it first is. That is further from zero at
 * twice the time than a power which is not visible before. */
static int cg_events_end_of_rest(cg_run_t *run, int32_t index, double from, double *upto)
{
    cg_detector_t *const detector = run->detector;
    const double width = 2.0 * DBL_EPSILON * (1.0 + fabs(run->t / (run->t - run->t_old))), *const g = detector->values + index;
    int status = CG_OK;
    for (int trial = 0; trial < 60 && status == CG_OK && *upto - from > width; trial++) {
        const double middle = 0.5 * (from + *upto);
        status = cg_detector_inside(run, middle, index, detector->values);
        *(fabs(*g) > detector->noise[index] ? upto : &from) = middle;
    }
    if (status == CG_OK && from < cg_nodes[2]) {
        status = cg_detector_inside(run, 2.0 * from, index, detector->values);
        *upto = fabs(*g) > CG_POWER * cg_larger(detector->noise[index], CG_CLEAR * detector->scale[index]) ? *upto : 0.0;
    }
    return status;
}

/* A guard that rests at zero: where it leaves, if that is a crossing; a kink, if to the other side than it has. *goes_on: it has
 * a side from detector->cursor on. */
static int cg_events_from_zero(cg_run_t *run, int32_t index, int *goes_on)
{
    cg_detector_t *const detector = run->detector;
    const int kink = cg_detector_is_kink(run, index);
    const double kept = kink ? detector->sign[index] : detector->kept[index];
    double from, upto, side;
    int status = cg_events_first_visible(run, index, &from, &upto, &side);
    *goes_on = status == CG_OK && (side != 0.0 || kink);
    if (!*goes_on || side == 0.0 || side != -kept || detector->direction[index] * kept > 0.0) {
        detector->sign_new[index] = side != 0.0 ? side : detector->sign_new[index];
        detector->cursor[index] = upto < cg_nodes[1] || side == 0.0 ? 0.0 : upto;
        return status;
    }
    if (from > 0.0 && !kink && !cg_sides_occurred(run, index, run->t_old)) {
        status = cg_events_end_of_rest(run, index, from, &upto);
    } else {
        upto = 0.0;
    }
    detector->sign_new[index] = kept;
    detector->root[index] = upto;
    *goes_on = kink && status == CG_OK && cg_touch_only(run, index, &upto);
    detector->cursor[index] = *goes_on ? upto : 0.0;
    return status;
}

/* Stores the first crossing of one quantity after detector->cursor in detector->root, but for places that it only touches. */
static int cg_events_next(cg_run_t *run, int32_t index, double upto)
{
    cg_detector_t *const detector = run->detector;
    const double begin = detector->cursor[index];
    int status = cg_bracket_find(run, index, upto);
    double back;
    while (status == CG_OK && detector->root[index] <= 1.0 && cg_touch_only(run, index, &back)) {
        detector->root[index] = 2.0;
        if (back > 1.0) {
            break;
        }
        detector->cursor[index] = back;
        status = cg_bracket_find(run, index, upto);
    }
    detector->cursor[index] = begin;
    return status;
}

/* Whether a guard is at zero where the step starts: an event that has no side, or a kink that is zero to rounding. */
static int cg_events_rests(const cg_run_t *run, int32_t index)
{
    const cg_detector_t *const detector = run->detector;
    return cg_detector_is_kink(run, index) ? fabs(detector->samples[index]) <= detector->noise[index]
                                         : index < run->model->n_events && detector->sign[index] == 0.0;
}

/* Stores the first crossing of one quantity that counts in detector->root. */
static int cg_events_first(cg_run_t *run, int32_t index, double upto)
{
    cg_detector_t *const detector = run->detector;
    const int contact = index >= detector->first_contact;
    if (cg_events_rests(run, index)) {
        int goes_on;
        const int status = cg_events_from_zero(run, index, &goes_on);
        if (status != CG_OK || !goes_on) {
            return status;
        }
    }
    if (contact && (index - detector->first_contact) % CG_CONTACT_OBSERVED == CG_CONTACT_SLIP && detector->sign[index] == 0.0) {
        return cg_events_from_rest(run, index, upto);
    }
    for (;;) {
        const int status = cg_events_next(run, index, upto);
        if (status != CG_OK || detector->root[index] > 1.0 || detector->direction[index] * detector->sign_new[index] <= 0.0) {
            return status;
        }
        detector->sign_new[index] = -detector->sign_new[index]; /* a crossing in the other direction */
        detector->cursor[index] = detector->root[index];
    }
}

/* The earliest crossing that counts, or -1. Updates sign_new up to it. past: kinks are left out, and their sides are not
 * known any more. */
static int cg_events_earliest(cg_run_t *run, int past, int32_t *index, double *theta)
{
    cg_detector_t *const detector = run->detector;
    for (int32_t i = 0; i < detector->n_observed; i++) {
        detector->root[i] = 2.0;
        detector->cursor[i] = 0.0;
        detector->sign_new[i] = past && cg_detector_is_kink(run, i) ? 0.0 : detector->sign[i];
    }
    double best = 2.0, leaves = 2.0; /* crossings after the earliest one do not matter */
    for (int32_t i = 0; i < detector->n_observed; i++) {
        if (detector->active[i] == 0.0 || (past && cg_detector_is_kink(run, i))) {
            continue;
        }
        CG_TRY(cg_events_first(run, i, cg_smaller(best + 2.0 * CG_SAME_TIME, 1.0)));
        /* a kink at rest is released by another one in the step, or was at its start, to an order that is not seen there */
        double *const first = cg_detector_is_kink(run, i) && cg_events_rests(run, i) ? &leaves : &best;
        *first = cg_smaller(*first, detector->root[i]);
    }
    best = best > 1.0 ? leaves : best;
    *index = -1;
    *theta = best;
    for (int32_t i = detector->n_observed - 1; i >= 0 && best <= 1.0; i--) {
        *index = detector->root[i] == best ? i : *index;
    }
    return CG_OK;
}

/* By which part of a step, which began the search with this length, crossings at one time may be apart. */
static double cg_events_same(const cg_run_t *run, double length)
{
    return CG_SAME_TIME + 4.0 * cg_step_smallest(run->t_old) / length;
}

/* Crossings in the other direction change the side only if they are before theta: at that time the motion may still turn back. */
static void cg_events_sides_at(cg_run_t *run, double theta, double length)
{
    cg_detector_t *const detector = run->detector;
    const double before = theta - cg_events_same(run, length);
    for (int32_t i = 0; i < detector->n_observed; i++) {
        if (detector->cursor[i] > cg_larger(before, 0.0)) {
            const int known = detector->sign[i] != 0.0 && !cg_events_rests(run, i);
            detector->sign_new[i] = known ? -detector->sign_new[i] : detector->sign[i];
        }
    }
}

/* Whether what is observed occurs where the step has ended: it is behind its zero, or at it to rounding, and the motion before,
 * continued to `ahead`, carries it across; to rounding, `same` of that is one time. NULL: no kink occurs. The end differs from the
 * interpolant by its error, so slips stop at the same time; and a kink takes with it what jumps as the force does. */
static int cg_events_occurs(const cg_run_t *run, int32_t i, const double *ahead, double same, double length)
{
    const cg_detector_t *const detector = run->detector;
    const double side = detector->sign[i] != 0.0 ? detector->sign_new[i] : 0.0;
    const double beyond = side != 0.0 ? -side * detector->values[i] : -1.0;
    const int jumped = ahead != NULL && beyond > cg_detector_least(run, i, length);
    if (i < detector->first_contact) {
        const double later = same > 0.0 ? -side * ahead[i] : 0.0, late = same * (later - beyond);
        const double least = i < run->model->n_events ? cg_larger(late, detector->noise[i]) : late;
        return (jumped || (later > 0.0 && -beyond <= least)) && detector->direction[i] * side <= 0.0;
    }
    const int32_t place = i - detector->first_contact;
    const int slips = run->u[detector->n_inputs + place / CG_CONTACT_OBSERVED] != 0.0;
    return jumped || (slips && place % CG_CONTACT_OBSERVED == CG_CONTACT_SLIP && beyond >= 0.0);
}

/* Whether the motion goes over a kink where the step has ended: to *kink, which is -1 before. */
static int cg_events_meets_kink(cg_run_t *run, int32_t *kink)
{
    cg_detector_t *const detector = run->detector;
    int status = CG_OK;
    for (int32_t i = run->model->n_events; i < cg_ahead_guards(run) && *kink < 0 && status == CG_OK; i++) {
        double side, fired = detector->fired[i];
        if (detector->active[i] != 0.0 && detector->sign_new[i] != 0.0 && !cg_events_rests(run, i)) {
            detector->fired[i] = 1.0; /* what occurs there is off by an error of the time */
            status = cg_sides_of_kink(run, i, &side);
            *kink = side == -detector->sign_new[i] ? i : -1;
            detector->fired[i] = fired;
            memcpy(detector->end, detector->samples, sizeof(double) * (size_t)detector->n_observed); /* for another search */
        }
    }
    return status;
}

/* Adds the kinks behind which a step of this length has ended, those at rest there that leave zero, and those whose guards are
 * carried over zero by others inside of them, which come first. */
static int cg_events_add_kinks(cg_run_t *run, double length)
{
    cg_detector_t *const detector = run->detector;
    const int nests = cg_detector_nests(run);
    double *const was = detector->samples; /* with the kinks inside on their sides before */
    int status = cg_detector_evaluate(run, run->t, run->x, -1, was);
    memcpy(detector->end, was, sizeof(double) * (size_t)detector->n_guards);
    cg_ahead_rounding(run, 0);
    for (int32_t i = run->model->n_events; i < detector->n_guards && status == CG_OK; i++) {
        status = cg_detector_evaluate(run, run->t, run->x, i, detector->values);
        if (detector->sign[i] == 0.0 && detector->fired[i] == 0.0) { /* what the longer step showed was behind its end */
            detector->sign_new[i] = was[i] > 0.0 ? 1.0 : was[i] < 0.0 ? -1.0 : 0.0;
        }
        const double before = detector->values[i] * detector->sign_new[i], least = cg_detector_least(run, i, length);
        double side;
        const int other = detector->active[i] != 0.0 && detector->fired[i] == 0.0 && detector->sign_new[i] != 0.0;
        if (status == CG_OK && other && before <= detector->noise[i]) {
            status = cg_sides_of_kink(run, i, &side); /* it may only touch zero, or stay there */
            detector->fired[i] = side == -detector->sign_new[i] ? 1.0 : 0.0;
        }
        const int carried_back = nests && before > least;
        detector->sign[i] = detector->fired[i] != 0.0 && !carried_back ? -detector->sign_new[i] : detector->sign_new[i];
        if (detector->active[i] != 0.0 && detector->values[i] != was[i] && (detector->values[i] == 0.0 || was[i] == 0.0)) {
            const double g = detector->values[i]; /* it comes to rest at zero, or leaves that */
            detector->sign[i] = g > 0.0 ? 1.0 : g < 0.0 ? -1.0 : 0.0;
            detector->fired[i] = detector->sign[i] != detector->sign_new[i] ? 1.0 : detector->fired[i];
        }
    }
    return status;
}

/* Adds what occurs at the end of a step, of this length, with what is in detector->fired. */
static int cg_events_add_others(cg_run_t *run, double length)
{
    cg_detector_t *const detector = run->detector;
    double *const ahead = detector->samples, *const rests = ahead + detector->n_observed; /* noise of events: still needed */
    memcpy(rests, detector->noise, sizeof *rests * (size_t)run->model->n_events);
    int status = detector->watches_kinks ? cg_events_add_kinks(run, length) : CG_OK, jumps = 0;
    for (int32_t i = run->model->n_events; i < detector->n_guards; i++) {
        jumps = jumps || detector->fired[i] != 0.0;
    }
    const double step = fabs(run->t - run->t_old), rounding = CG_LANDED * cg_step_smallest(run->t) / step;
    const double part = cg_larger(CG_TAIL, rounding), same = step > 0.0 ? (CG_SAME_TIME + rounding) / part : 0.0;
    if (status == CG_OK && jumps && step > 0.0) {
        status = run->have_dense ? CG_OK : run->dense(run);
        status = status == CG_OK ? cg_detector_inside(run, 1.0 + part, -1, ahead) : status;
    }
    if (status == CG_OK && (jumps || detector->n_contacts > 0)) {
        status = cg_detector_evaluate(run, run->t, run->x, jumps ? -1 : detector->first_contact, detector->values);
        for (int32_t i = jumps ? 0 : detector->first_contact; i < detector->n_observed && status == CG_OK; i++) {
            const int kink = cg_detector_is_kink(run, i), stays = kink || step == 0.0 || i >= detector->first_contact;
            const int occurs = !kink && cg_events_occurs(run, i, jumps ? ahead : NULL, same, length);
            detector->fired[i] = occurs || (stays && detector->fired[i] != 0.0) ? 1.0 : 0.0;
        }
    }
    memcpy(detector->noise, rests, sizeof *rests * (size_t)run->model->n_events);
    cg_held_arrive(run); /* which needs the place of the samples */
    return status;
}

/* A step, whose search began with this length, ends where the quantities in detector->fired are zero. */
static int cg_events_arrived(cg_run_t *run, double length)
{
    cg_detector_t *const detector = run->detector;
    const int status = cg_events_add_others(run, length), known = detector->watches_kinks;
    for (int32_t i = 0; i < detector->n_observed; i++) {
        const double after = detector->fired[i] != 0.0 ? -detector->sign_new[i] : detector->sign_new[i];
        detector->sign[i] = known && cg_detector_is_kink(run, i) ? detector->sign[i] : after;
    }
    detector->have_end = 0;
    detector->pending = 1;
    return status == CG_OK ? cg_modes_project(run) : status;
}

/* Ends the step at its start, where the quantity `index` is zero; or behind it where it is not, but jumps over zero at once. */
static int cg_events_at_start(cg_run_t *run, int32_t index)
{
    const cg_detector_t *const detector = run->detector;
    const double ahead = detector->samples[index] * detector->sign_new[index], length = fabs(run->t - run->t_old);
    int behind = 0, status = CG_OK;
    if (!cg_detector_is_kink(run, index) && ahead > cg_detector_least(run, index, length)) {
        status = cg_locate_behind_start(run, index, &behind);
    }
    if (status == CG_OK && !behind) {
        cg_locate_take_back(run);
        memcpy(run->x_old, run->x, sizeof(double) * (size_t)run->ld);
        run->have_f = 1;
    }
    return status;
}

/* Ends the step at the zero of `index`, near a fraction theta of it. If it meets a kink there, the interpolant of a step across
 * that tells its zero too late, and `index` becomes the kink. */
static int cg_events_land(cg_run_t *run, int32_t *index, double theta, int *landed)
{
    cg_detector_t *const detector = run->detector;
    int32_t kink = -1;
    if (cg_detector_is_kink(run, *index)) {
        return cg_locate_kink(run, *index, theta, landed);
    }
    int status = cg_locate(run, *index, run->t_old + theta * (run->t - run->t_old), run->t, landed);
    status = status == CG_OK && *landed ? cg_events_meets_kink(run, &kink) : status;
    if (status == CG_OK && kink >= 0) {
        memset(detector->fired, 0, sizeof(double) * (size_t)detector->n_observed);
        detector->fired[kink] = 1.0;
        *index = kink;
        status = cg_locate_kink(run, kink, 1.0, landed);
    }
    return status;
}

/* Of the kinks behind which the step has ended the one that a straight motion meets first, or -1, and about where, as a fraction of
 * the step. One that rests at its start is released by another one. */
static int cg_events_straight_on(cg_run_t *run, int32_t *kink, double *theta)
{
    cg_detector_t *const detector = run->detector;
    const int32_t first = run->model->n_events;
    const double length = run->t - run->t_old, least = cg_smaller(4.0 * cg_step_smallest(run->t_old) / fabs(length), 1.0);
    for (int32_t i = 0; i < run->n; i++) {
        detector->x[i] = cg_fma(length, run->f_old[i], run->x_old[i]);
    }
    int status = cg_detector_evaluate(run, run->t, detector->x, first, detector->root);
    status = status == CG_OK ? cg_detector_evaluate(run, run->t_old, run->x_old, first, detector->samples) : status;
    status = status == CG_OK ? cg_detector_evaluate(run, run->t, run->x, first, detector->values) : status;
    *kink = -1;
    for (int32_t i = first; i < detector->n_guards && status == CG_OK; i++) {
        const double side = detector->sign[i], beyond = -detector->root[i] * side, from = fabs(detector->samples[i]);
        const double part = beyond > 0.0 ? cg_larger(least, from / (from + beyond)) : 1.0;
        if (detector->active[i] != 0.0 && detector->values[i] * side < 0.0 && !cg_events_rests(run, i)
            && (*kink < 0 || part < *theta)) {
            *kink = i;
            *theta = part;
        }
    }
    return status;
}

/* A step that the method rejects and that ends behind a kink is repeated up to that; others are made shorter. */
int cg_events_step(cg_run_t *run, int32_t *ends_at)
{
    cg_detector_t *const detector = run->detector;
    for (;;) {
        double theta = 1.0;
        *ends_at = -1;
        run->accepts = detector->watches_kinks && detector->memory.pause == 0;
        int status = cg_correct_run_step(run), landed = 0;
        if (status != CG_OK || run->accepts != CG_ACCEPTED_UNFIT) {
            return status;
        }
        const double length = fabs(run->t - run->t_old);
        memcpy(detector->sign_new, detector->sign, sizeof(double) * (size_t)detector->n_observed);
        status = cg_events_straight_on(run, ends_at, &theta);
        if (status == CG_OK && *ends_at >= 0) {
            status = cg_locate_kink(run, *ends_at, theta, &landed);
            run->h = cg_larger(run->h, fabs(run->t - run->t_old)); /* the method may go on as it came */
            *ends_at = landed ? *ends_at : -1;
            return status;
        }
        if (status != CG_OK && status != CG_NONFINITE && status != CG_SINGULAR) {
            return status;
        }
        cg_locate_take_back(run);
        run->rejected = 1;
        if (length <= cg_step_smallest(run->t) || cg_locate_spent(run)) {
            return cg_locate_spent(run) ? CG_TOO_MANY_STEPS : CG_STEP_TOO_SMALL;
        }
    }
}

int cg_events_after_step(cg_run_t *run, int32_t ends_at)
{
    cg_detector_t *const detector = run->detector;
    const size_t bytes = sizeof(double) * (size_t)detector->n_observed;
    const double end = run->t;
    double length = 0.0, theta;
    int32_t index = -1;
    int past = 0, landed = 0;
    while (!landed) {
        CG_TRY(cg_detector_sample(run));
        CG_TRY(cg_events_earliest(run, past, &index, &theta));
        if (index >= 0 && cg_detector_is_kink(run, index) && detector->memory.pause > 0) {
            past = 1;
            detector->memory.pause = CG_KINK_PAUSE;
            continue;
        }
        if (index < 0) {
            detector->memory.pause -= !past && detector->memory.pause > 0;
            memcpy(detector->sign, detector->sign_new, bytes);
            for (int32_t i = 0; i < run->model->n_events; i++) {
                detector->kept[i] = detector->sign[i] == 0.0 ? detector->kept[i] : 0.0;
            }
            memcpy(detector->end, detector->samples + (ptrdiff_t)(CG_NODES - 1) * detector->n_observed, bytes);
            detector->have_end = 1;
            return cg_modes_project(run);
        }
        length = fabs(run->t - run->t_old);
        cg_events_sides_at(run, theta, length);
        for (int32_t i = 0; i < detector->n_observed; i++) { /* what crosses zero at one time with it */
            detector->fired[i] = detector->root[i] <= theta + cg_events_same(run, length) ? 1.0 : 0.0;
        }
        landed = index == ends_at && run->t == end && (1.0 - theta) * length <= CG_LANDED * cg_step_smallest(end);
        if (theta * length < 2.0 * cg_step_smallest(run->t_old)) {
            landed = 1;
            CG_TRY(cg_events_at_start(run, index));
        } else if (!landed) {
            CG_TRY(cg_events_land(run, &index, theta, &landed));
        }
        if (!landed && cg_locate_spent(run)) {
            cg_locate_take_back(run);
            return CG_TOO_MANY_STEPS;
        }
        memset(detector->fired, 0, landed ? 0 : bytes); /* a shorter step is searched from its start */
    }
    int slides = cg_detector_is_kink(run, index) && cg_locate_goes_back(run, index), is = CG_KINK_GOES_ON;
    detector->memory.pause = slides && run->jump == NULL ? CG_KINK_PAUSE : detector->memory.pause;
    int status = cg_events_arrived(run, length);
    for (int32_t i = 0; i < detector->n_observed; i++) { /* what else happens may end that */
        slides = slides && (detector->fired[i] == 0.0 || cg_detector_is_kink(run, i));
    }
    status = status == CG_OK && slides ? cg_jump_kink(run, index, run->t, run->x, &is) : status;
    return status == CG_OK && is == CG_KINK_JUMPS ? CG_ACCUMULATING : status;
}

int cg_events_arrive(cg_run_t *run, int32_t index, double goal, double end)
{
    cg_detector_t *const detector = run->detector;
    const size_t bytes = sizeof(double) * (size_t)detector->n_observed;
    int landed = run->t == goal, status = CG_OK;
    if (landed) {
        memcpy(detector->sign_new, detector->sign, bytes);
        status = cg_locate(run, index, goal, end, &landed);
        memset(detector->fired, 0, bytes);
    }
    if (status == CG_OK && !landed && cg_locate_spent(run)) {
        cg_locate_take_back(run);
        return CG_TOO_MANY_STEPS;
    }
    if (status != CG_OK || !landed) {
        return status != CG_OK ? status : cg_events_after_step(run, -1);
    }
    detector->fired[index] = 1.0;
    return cg_events_arrived(run, fabs(end - run->t_old));
}
