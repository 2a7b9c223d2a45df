/* cg_modes.c: the modes of Coulomb contacts: stick, or slip in either direction, and the signs of normal forces.
 *
 * Whenever a contact may change its mode, every combination of modes of the contacts without slip velocity, and of all
 * signs of normal forces, is tried in the equations. A combination fits if
 *   stick:  |T| <= mu |N|, the tie included;
 *   slip:   the slip starts in its direction, sigma dv/dt > 0, or contacts that stick hold it;
 *   sign s: s N >= 0.
 * If a quantity is exactly zero, the condition is also checked a moment later: it must hold at both times. If no normal
 * force depends on a multiplier, exactly one combination fits, and the first one found is used (combinations that
 * change few modes come first). Otherwise all are counted: none, or several, is Painleve's paradox. If there are more
 * than MOST_TRIALS combinations, the run ends with CG_TOO_MANY_MODES.
 */
#include "step/cg_internal.h"
#include "step/cg_step.h"

#include <string.h>

enum { MOST_TRIALS = 1 << 22 };

typedef struct cg_choice {
    cg_run_t *run;
    double *modes;   /* in run->u */
    int32_t several; /* count all solutions */
    int64_t trials;
    int status;
} cg_choice_t;

static int cg_modes_call(cg_run_t *run, double t, const double *x, double *out)
{
    const int status = run->model->contacts_fn(cg_time_of_model(run, t), x, run->p, run->u, out, run->work);
    return status != CG_OK ? status : cg_step_finite(out, 5 * run->model->n_contacts) ? CG_OK : CG_NONFINITE;
}

/* The projection, unless it moves a velocity by more than `most`. */
static int cg_modes_project_within(cg_run_t *run, double most)
{
    cg_detector_t *const detector = run->detector;
    int sticks = 0;
    for (int32_t i = 0; i < detector->n_contacts; i++) {
        sticks = sticks || run->u[detector->n_inputs + i] == 0.0;
    }
    if (!sticks || run->model->project == NULL) {
        return CG_OK;
    }
    const int status = cg_evaluate_project(run, detector->x_jump);
    double moved = 0.0;
    for (int32_t i = run->model->n_coordinates; i < run->n_own && status == CG_OK; i++) {
        moved = cg_larger(moved, fabs(detector->x_jump[i] - run->x[i]));
    }
    if (status == CG_OK && moved <= most && cg_step_finite(detector->x_jump, run->n)) {
        memcpy(run->x, detector->x_jump, sizeof(double) * (size_t)run->n);
    }
    /* two contacts that constrain the same velocity have no projection; the state then stays as the step left it */
    return status == CG_SINGULAR ? CG_OK : status;
}

int cg_modes_project(cg_run_t *run)
{
    return cg_modes_project_within(run, HUGE_VAL);
}

int cg_modes_free(cg_run_t *run, int fresh)
{
    cg_detector_t *const detector = run->detector;
    double *const modes = run->u + detector->n_inputs;
    double size = 0.0, slip = 0.0;
    int status = cg_evaluate_run_inputs(run, run->t, run->x);
    if (status == CG_OK) {
        status = cg_modes_call(run, run->t, run->x, detector->contacts);
    }
    if (status == CG_SINGULAR) { /* two contacts constrain the same velocity: with all slipping the velocities agree */
        memcpy(detector->present, modes, sizeof(double) * (size_t)detector->n_modes);
        for (int32_t i = 0; i < detector->n_contacts; i++) {
            modes[i] = 1.0;
        }
        status = cg_modes_call(run, run->t, run->x, detector->contacts);
        memcpy(modes, detector->present, sizeof(double) * (size_t)detector->n_modes);
    }
    for (int32_t i = run->model->n_coordinates; i < run->n_own; i++) {
        size = cg_larger(size, fabs(run->x[i]));
    }
    for (int32_t i = 0; i < detector->n_contacts; i++) {
        const double v = detector->contacts[5 * i];
        const int32_t own = detector->first_contact + CG_CONTACT_OBSERVED * i + CG_CONTACT_SLIP;
        const int zero = fabs(v) <= cg_detector_least(run, own, fabs(run->t - run->t_old)); /* no reset has changed it */
        const int stopped = detector->fired[own] != 0.0 && (!fresh || zero);
        const int rest = fabs(v) <= CG_AT_REST * size || stopped || (!fresh && modes[i] * v <= 0.0);
        detector->free[i] = rest ? 1.0 : 0.0;
        slip = rest ? cg_larger(slip, fabs(v)) : slip;
        detector->present[i] = modes[i];
        if (!rest) {
            modes[i] = v > 0.0 ? 1.0 : -1.0;
        } else {
            modes[i] = 0.0;
        }
    }
    if (status == CG_OK) { /* a slip that vanishes since its direction does, in a dead centre, stops nothing */
        status = cg_modes_project_within(run, cg_larger(CG_LEVER * slip, CG_SAME_FORCE * size));
    }
    for (int32_t i = 0; i < detector->n_contacts; i++) {
        if (detector->free[i] != 0.0) {
            modes[i] = detector->present[i];
        }
    }
    memcpy(detector->present, modes, sizeof(double) * (size_t)detector->n_modes);
    return status;
}

/* ---- checking a combination ---- */

/* Condition `which` of the combination in `modes`: positive if it holds. which = contact: for its slip or stick;
 * n_contacts + contact: for its sign. *size > 0: the scale to compare it with. */
static double cg_modes_condition(const cg_choice_t *choice, const double *c, int32_t which, double forces, double *size)
{
    const cg_detector_t *const detector = choice->run->detector;
    const int32_t n = detector->n_contacts;
    const double *const own = c + 5 * (which % n);
    if (which >= n) {
        /* if it is zero, all forces may be zero: so use its magnitude in the last step too */
        const int32_t observed = detector->first_contact + CG_CONTACT_OBSERVED * (which - n) + CG_CONTACT_NORMAL;
        *size = cg_larger(forces, detector->scale[observed]);
        return choice->modes[n + choice->run->model->contacts[which - n].sign] * own[4];
    }
    if (choice->modes[which] == 0.0) {
        *size = own[2] + fabs(own[1]);
        return own[2] - fabs(own[1]);
    }
    return choice->modes[which] * own[3];
}

/* The scale of a slip acceleration: the difference between the two directions of slip. */
static double cg_modes_spread(cg_run_t *run, int32_t contact)
{
    cg_detector_t *const detector = run->detector;
    double *const mode = run->u + detector->n_inputs + contact;
    const double kept = *mode;
    double a[2] = {0.0, 0.0};
    for (int side = 0; side < 2; side++) {
        *mode = side == 0 ? -1.0 : 1.0;
        if (cg_modes_call(run, run->t, run->x, detector->ahead) == CG_OK) {
            a[side] = detector->ahead[5 * contact + 3];
        }
    }
    *mode = kept;
    return cg_larger(fabs(a[0]) + fabs(a[1]), CG_TINY);
}

/* Whether contacts that stick hold a contact without slip velocity, so that its own friction does not move it: both bear a
 * force that could be divided between them in many ways, and the one in a mode of slip bears its limit. */
static int cg_modes_held_at_rest(cg_run_t *run, int32_t contact, double spread)
{
    const int32_t n = run->detector->n_contacts;
    double *const modes = run->u + run->detector->n_inputs;
    double kept[CG_MOST_CONTACTS];
    int sticks = 0;
    for (int32_t i = 0; i < n; i++) {
        sticks = sticks || modes[i] == 0.0;
        kept[i] = modes[i];
        modes[i] = modes[i] == 0.0 ? 1.0 : modes[i];
    }
    const double free = sticks ? cg_modes_spread(run, contact) : 0.0;
    memcpy(modes, kept, sizeof(double) * (size_t)n);
    return spread < CG_MARGIN * free;
}

int cg_modes_held(cg_run_t *run, int32_t contact)
{
    const double *const modes = run->u + run->detector->n_inputs;
    double size = 0.0;
    for (int32_t i = run->model->n_coordinates; i < run->n_own; i++) {
        size = cg_larger(size, fabs(run->x[i]));
    }
    return modes[contact] != 0.0 && cg_modes_call(run, run->t, run->x, run->detector->contacts) == CG_OK
        && fabs(run->detector->contacts[5 * contact]) <= CG_AT_REST * size
        && cg_modes_held_at_rest(run, contact, cg_modes_spread(run, contact));
}

/* 1: the combination in choice->modes fits; 0: it does not. */
static int cg_modes_fits(cg_choice_t *choice)
{
    cg_run_t *const run = choice->run;
    cg_detector_t *const detector = run->detector;
    const int32_t n = detector->n_contacts;
    double now[2 * CG_MOST_CONTACTS], size[2 * CG_MOST_CONTACTS];
    double forces = 0.0;
    int unsure = 0;
    if (++choice->trials > MOST_TRIALS) {
        choice->status = CG_TOO_MANY_MODES;
        return 0;
    }
    if (cg_modes_call(run, run->t, run->x, detector->contacts) != CG_OK) {
        return 0; /* the equations have no solution of this kind */
    }
    for (int32_t i = 0; i < n; i++) {
        forces += fabs(detector->contacts[5 * i + 1]) + fabs(detector->contacts[5 * i + 4]);
    }
    for (int32_t which = 0; which < 2 * n; which++) {
        now[which] = HUGE_VAL;
        size[which] = 0.0;
        if (which < n ? detector->free[which] == 0.0 : run->model->contacts[which - n].sign < 0) {
            continue;
        }
        now[which] = cg_modes_condition(choice, detector->contacts, which, forces, &size[which]);
        if (which < n && choice->modes[which] != 0.0) {
            if (now[which] <= 0.0 && forces == 0.0) {
                return 0;
            }
            size[which] = cg_modes_spread(run, which);
            if (cg_modes_held_at_rest(run, which, size[which])) {
                now[which] = HUGE_VAL;
            }
        }
        if (now[which] < -CG_MARGIN * size[which]) {
            return 0;
        }
        unsure = unsure || now[which] <= CG_MARGIN * size[which];
    }
    if (!unsure) {
        return 1;
    }
    if (cg_evaluate_probe(run, run->t, run->x, detector->f) != CG_OK) {
        return 0;
    }
    const double moment = cg_detector_moment(run);
    for (int32_t i = 0; i < run->n; i++) {
        detector->x[i] = run->x[i] + moment * detector->f[i];
    }
    int fits = cg_evaluate_run_inputs(run, run->t + moment, detector->x) == CG_OK
        && cg_modes_call(run, run->t + moment, detector->x, detector->ahead) == CG_OK;
    for (int32_t which = 0; which < 2 * n && fits; which++) {
        double ignored;
        if (!(now[which] <= CG_MARGIN * size[which])) {
            continue;
        }
        const double change = cg_modes_condition(choice, detector->ahead, which, forces, &ignored) - now[which];
        /* a lasting tie is stick, not slip */
        const int slips = which < n && choice->modes[which] != 0.0;
        fits = slips ? change > CG_NOISE * size[which] : change >= -CG_NOISE * size[which];
    }
    return cg_evaluate_run_inputs(run, run->t, run->x) == CG_OK && fits;
}

/* Stores the combination in choice->modes, unless it is the same motion as a stored one: the same directions and the
 * same friction (a zero normal force has both signs). */
static void cg_modes_keep(cg_choice_t *choice)
{
    cg_detector_t *const detector = choice->run->detector;
    const int32_t n = detector->n_contacts;
    cg_modes_call(choice->run, choice->run->t, choice->run->x, detector->contacts);
    for (int32_t k = 0; k < detector->n_solutions && k < CG_SOLUTIONS; k++) {
        const double *const other = detector->solutions + (ptrdiff_t)k * detector->n_modes;
        int same = 1;
        for (int32_t i = 0; i < n && same; i++) {
            const double force = detector->contacts[5 * i + 1], before = detector->forces[(ptrdiff_t)k * n + i];
            same = other[i] == choice->modes[i] && fabs(force - before) <= CG_SAME_FORCE * (fabs(force) + fabs(before));
        }
        if (same) {
            return;
        }
    }
    if (detector->n_solutions < CG_SOLUTIONS) {
        memcpy(detector->solutions + (ptrdiff_t)detector->n_solutions * detector->n_modes, choice->modes,
               sizeof(double) * (size_t)detector->n_modes);
        for (int32_t i = 0; i < n; i++) {
            detector->forces[(ptrdiff_t)detector->n_solutions * n + i] = detector->contacts[5 * i + 1];
        }
    }
    detector->n_solutions++;
}

/* Tries all combinations that differ from the current one in `changes` of the places from `place` on. */
static void cg_modes_try(cg_choice_t *choice, int32_t place, int32_t changes)
{
    cg_detector_t *const detector = choice->run->detector;
    const int32_t places = detector->n_modes;
    while (place < places && place < detector->n_contacts && detector->free[place] == 0.0) {
        place++;
    }
    if ((choice->several ? 0 : detector->n_solutions > 0) || changes > places - place || choice->status != CG_OK) {
        return;
    }
    if (place == places) {
        if (cg_modes_fits(choice)) {
            cg_modes_keep(choice);
        }
        return;
    }
    cg_modes_try(choice, place + 1, changes);
    if (changes > 0) {
        const double present = choice->modes[place];
        for (int k = -1; k <= 1; k++) {
            if ((double)k != present && (place < detector->n_contacts || k != 0)) {
                choice->modes[place] = (double)k;
                cg_modes_try(choice, place + 1, changes - 1);
            }
        }
        choice->modes[place] = present;
    }
}

/* The solution selected by the caller's rule: the first one found changes the fewest modes. */
static int32_t cg_modes_by_rule(const cg_detector_t *detector)
{
    int32_t best = 0, most = -1;
    if (detector->rule == CG_PARADOX_STICK) {
        for (int32_t k = 0; k < detector->n_solutions && k < CG_SOLUTIONS; k++) {
            int32_t stick = 0;
            for (int32_t i = 0; i < detector->n_contacts; i++) {
                stick += detector->solutions[(ptrdiff_t)k * detector->n_modes + i] == 0.0;
            }
            if (stick > most) {
                most = stick;
                best = k;
            }
        }
    }
    return best;
}

int cg_modes_choose(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    cg_choice_t choice;
    memset(&choice, 0, sizeof choice);
    choice.run = run;
    choice.modes = run->u + detector->n_inputs;
    choice.several = detector->n_modes > detector->n_contacts;
    detector->n_solutions = 0;
    for (int32_t changes = 0; changes <= detector->n_modes; changes++) {
        cg_modes_try(&choice, 0, changes);
    }
    if (choice.status != CG_OK) {
        return choice.status;
    }
    if (detector->n_solutions == 0 || (detector->n_solutions > 1 && detector->rule == CG_PARADOX_STOP)) {
        return CG_PARADOX;
    }
    memcpy(choice.modes, detector->solutions + (ptrdiff_t)cg_modes_by_rule(detector) * detector->n_modes,
           sizeof(double) * (size_t)detector->n_modes);
    return CG_OK;
}

/* A contact's second limit is active only while it sticks, its slip only while none that sticks holds it, and so are guards. */
void cg_modes_activate(cg_run_t *run)
{
    cg_detector_t *const detector = run->detector;
    for (int32_t i = 0; i < detector->n_contacts; i++) {
        detector->active[detector->first_contact + CG_CONTACT_OBSERVED * i + CG_CONTACT_BREAK] =
            run->u[detector->n_inputs + i] == 0.0 ? 1.0 : 0.0;
        detector->active[detector->first_contact + CG_CONTACT_OBSERVED * i + CG_CONTACT_SLIP] =
            cg_modes_held(run, i) ? 0.0 : 1.0;
    }
    if (detector->n_contacts > 0) {
        cg_held_activate(run);
    }
}
