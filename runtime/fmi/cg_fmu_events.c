/* cg_fmu_events.c: events in Model Exchange, and the steps of Co-Simulation; see cg_fmu.h. */
#include "cg_fmu.h"
#include "step/cg_internal.h"

#include <math.h>
#include <string.h>

#define CG_FMU_SMALLEST_SCALE 1e-280
/* How many times its shift an indicator is from zero where it needs none any more. */
#define CG_FMU_AWAY 1e3
/* How far the importer's clock may be from the end of the last step, relative to the time and to the step. */
#define CG_FMU_CLOCK 1e-10

/* ---- Model Exchange ---- */

/* The side of zero that an indicator is on until it crosses; a slip that begins is on its own side, and a guard that rests
 * at zero on the one that it keeps. */
static double cg_fmu_events_side(const cg_detector_t *detector, int32_t i)
{
    if (detector->sign[i] != 0.0) {
        return detector->sign[i];
    }
    return i >= detector->first_contact ? 1.0 : i < detector->n_guards ? detector->kept[i] : 0.0;
}

/* How far an indicator is shifted. */
static double cg_fmu_events_least(const cg_fmu_t *fmu, int32_t i)
{
    return CG_FMU_HYSTERESIS * (fmu->scale[i] > CG_FMU_SMALLEST_SCALE ? fmu->scale[i] : CG_FMU_SMALLEST_SCALE);
}

/* What the importer sees, in fmu->value; the largest magnitudes are kept. An indicator that has left zero is shifted no more:
 * it next crosses when it is zero, together with all that is zero then, as the slip of a contact and a guard that jumps there. */
static int cg_fmu_events_shifted(cg_fmu_t *fmu)
{
    const cg_run_t *const run = fmu->run;
    const double *p;
    int status = cg_fmu_sides(fmu, &p);
    if (status == CG_OK) {
        status = cg_detector_evaluate(fmu->run, run->t, run->x, -1, fmu->value);
    }
    for (int32_t i = 0; i < fmu->count[CG_FMU_INDICATOR] && status == CG_OK; i++) {
        const double size = fabs(fmu->value[i]);
        fmu->scale[i] = size > fmu->scale[i] ? size : fmu->scale[i];
        if (fmu->value[i] * cg_fmu_events_side(fmu->detector, i) > CG_FMU_AWAY * cg_fmu_events_least(fmu, i)) {
            fmu->offset[i] = 0.0;
        }
        fmu->value[i] += fmu->offset[i];
    }
    return status;
}

int cg_fmu_indicators(cg_fmu_t *fmu, double *out, size_t n)
{
    if (n != (size_t)fmu->count[CG_FMU_INDICATOR] || (n > 0 && out == NULL)) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "an array of %d event indicators is needed",
                          (int)fmu->count[CG_FMU_INDICATOR]);
    }
    const int status = n > 0 ? cg_fmu_events_shifted(fmu) : CG_OK;
    if (status != CG_OK) {
        return cg_fmu_failed(fmu, status, "the event indicators");
    }
    memcpy(out, fmu->value, n * sizeof(double));
    return CG_FMU_OK;
}

/* Shifts the indicators that have just crossed zero, or are at it, to their sides. */
static int cg_fmu_events_shift(cg_fmu_t *fmu)
{
    cg_detector_t *const detector = fmu->detector;
    const int status = cg_detector_evaluate(fmu->run, fmu->run->t, fmu->run->x, -1, fmu->value);
    for (int32_t i = 0; i < detector->n_observed && status == CG_OK; i++) {
        const double side = cg_fmu_events_side(detector, i), least = cg_fmu_events_least(fmu, i);
        const int near = detector->fired[i] != 0.0 || fmu->value[i] * side <= least;
        fmu->offset[i] = near && detector->active[i] != 0.0 ? side * least : 0.0;
    }
    return status;
}

/* Lets the equations follow the sides that the kinks have now. Returns whether any has changed. */
static int cg_fmu_events_thaw(cg_fmu_t *fmu)
{
    const size_t bytes = sizeof(double) * (size_t)fmu->n_kinks;
    double *const sides = fmu->run->p + fmu->count[CG_FMU_PARAMETER];
    const double *const now = fmu->detector->sign + fmu->model.n_events;
    const int changed = bytes > 0 && memcmp(sides, now, bytes) != 0;
    if (changed) {
        memcpy(sides, now, bytes);
        fmu->run->have_f = 0;
    }
    return changed;
}

int cg_fmu_begin_events(cg_fmu_t *fmu)
{
    int status = cg_events_begin(fmu->run);
    if (status == CG_OK) {
        fmu->detector->memory.begun = CG_WATCH_BEGUN; /* what is set after the initialization is a change */
    }
    if (status == CG_OK && !fmu->co_simulation) {
        cg_fmu_events_thaw(fmu);
        status = cg_fmu_events_shift(fmu);
    }
    return status;
}

int cg_fmu_tune(cg_fmu_t *fmu)
{
    int status = CG_OK;
    fmu->memory.tuned = 0;
    cg_run_moved(fmu->run);
    if (!fmu->co_simulation && fmu->detector != NULL) {
        status = cg_fmu_look(fmu, fmu->run->p + fmu->count[CG_FMU_PARAMETER]);
        status = status == CG_OK ? cg_fmu_begin_events(fmu) : status;
    }
    return status;
}

/* The indicators a moment later, in fmu->weight, if one of them is exactly zero. */
static int cg_fmu_events_ahead(cg_fmu_t *fmu)
{
    const cg_detector_t *const detector = fmu->detector;
    int32_t zeros = 0;
    for (int32_t i = 0; i < detector->n_observed; i++) {
        zeros += fmu->value[i] == 0.0;
    }
    double moment;
    const int status = zeros > 0 ? cg_ahead_later(fmu->run, -1, &moment) : CG_OK;
    if (zeros > 0 && status == CG_OK) {
        memcpy(fmu->weight, detector->values, sizeof(double) * (size_t)detector->n_observed);
    }
    return status;
}

/* Whether an indicator that is exactly zero stays there, or returns to the side that it came from. */
static int cg_fmu_events_stays(cg_fmu_t *fmu, int32_t i, double side)
{
    cg_detector_t *const detector = fmu->detector;
    if (fmu->value[i] != 0.0 || fmu->weight[i] * side < 0.0) {
        return 0;
    }
    if (fmu->weight[i] == 0.0 && i >= fmu->model.n_events && i < detector->n_guards) {
        detector->sign[i] = 0.0; /* the kink of a relation, which then has its value at zero */
    } else {
        fmu->offset[i] = side * cg_fmu_events_least(fmu, i);
    }
    return 1;
}

/* Marks an indicator that has crossed zero as `fired`, if the direction counts. Returns whether it has crossed. */
static int cg_fmu_events_cross(cg_fmu_t *fmu, int32_t i)
{
    cg_detector_t *const detector = fmu->detector;
    const double side = cg_fmu_events_side(detector, i), value = fmu->value[i];
    detector->fired[i] = 0.0;
    detector->sign_new[i] = side;
    if (detector->active[i] == 0.0 || value * side > 0.0) {
        return 0;
    }
    if (side == 0.0) { /* it was zero at the start, or while a contact stuck, and may have left it now */
        const double least = i < fmu->model.n_events ? cg_fmu_events_least(fmu, i) : 0.0;
        detector->sign[i] = value > least ? 1.0 : value < -least ? -1.0 : 0.0;
        return 0;
    }
    if (cg_fmu_events_stays(fmu, i, side)) {
        return 0;
    }
    detector->fired[i] = detector->direction[i] * side <= 0.0 ? 1.0 : 0.0;
    detector->sign[i] = -side;
    detector->scale[i] = fmu->scale[i];
    return 1;
}

/* Marks the indicators that have crossed zero. Returns whether any has crossed. Kinks come first: they may be inside of the
 * guards of events, which then jump with them. *thawed: the equations follow new sides of kinks. */
static int cg_fmu_events_fire(cg_fmu_t *fmu, int *thawed)
{
    cg_detector_t *const detector = fmu->detector;
    int crossed = 0;
    for (int32_t i = fmu->model.n_events; i < detector->n_guards; i++) {
        crossed = cg_fmu_events_cross(fmu, i) || crossed;
    }
    *thawed = crossed && cg_fmu_events_thaw(fmu);
    if (*thawed) {
        (void)cg_fmu_events_shifted(fmu); /* a failure is that of what follows */
    }
    for (int32_t i = 0; i < detector->n_observed; i++) {
        if (i < fmu->model.n_events || i >= detector->n_guards) {
            crossed = cg_fmu_events_cross(fmu, i) || crossed;
        }
    }
    if (crossed) {
        cg_held_arrive(fmu->run);
    }
    for (int32_t i = 0; i < detector->first_contact; i++) {
        detector->sign[i] = detector->fired[i] != 0.0 ? -detector->sign_new[i] : detector->sign[i];
    }
    return crossed;
}

int cg_fmu_crossed(cg_fmu_t *fmu, int *crossed)
{
    const cg_detector_t *const detector = fmu->detector;
    *crossed = 0;
    if (detector == NULL) {
        return CG_FMU_OK;
    }
    const int status = cg_fmu_events_shifted(fmu);
    for (int32_t i = 0; i < detector->n_observed && status == CG_OK; i++) {
        const double side = cg_fmu_events_side(detector, i);
        const int kink = i >= fmu->model.n_events && i < detector->n_guards;
        const int leaves = kink && side == 0.0 && fmu->value[i] != 0.0; /* it was zero at the start */
        *crossed = *crossed || (detector->active[i] != 0.0 && (leaves || (side != 0.0 && fmu->value[i] * side <= 0.0)));
    }
    return status == CG_OK ? CG_FMU_OK : cg_fmu_failed(fmu, status, "the event indicators");
}

/* The run cannot be continued after an error. */
static int cg_fmu_events_ended(cg_fmu_t *fmu, int status, const char *where)
{
    const int found = cg_fmu_failed(fmu, status, where);
    fmu->memory.phase = CG_FMU_FAILED;
    return found == CG_FMU_DISCARD ? CG_FMU_ERROR : found;
}

/* Tells the importer what occurs. */
static void cg_fmu_events_tell(const cg_fmu_t *fmu)
{
    const cg_detector_t *const detector = fmu->detector;
    for (int32_t i = 0; fmu->logging && fmu->log != NULL && i < detector->n_observed; i++) {
        if (detector->fired[i] != 0.0) {
            const char *const name = i < detector->n_guards
                ? fmu->model.guards[i].name
                : fmu->model.contacts[(i - detector->first_contact) / CG_CONTACT_OBSERVED].name;
            cg_fmu_say(fmu, CG_FMU_OK, "%s at t = %.17g", name, fmu->run->t);
        }
    }
}

/* Handles what has fired: resets, modes, sides. The result is a status of the runtime. */
static int cg_fmu_events_handle(cg_fmu_t *fmu)
{
    cg_detector_t *const detector = fmu->detector;
    detector->log = NULL;
    detector->pending = 1;
    if (cg_event_handling_conditions(fmu->run) == CG_OK) { /* a failure is that of what follows */
        cg_fmu_events_tell(fmu);
    }
    const int status = cg_event_handling_now(fmu->run, NULL);
    if (status == CG_ACCUMULATING && detector->cause >= 0) {
        cg_fmu_say(fmu, CG_FMU_WARNING, "%s at t = %.17g: %s", fmu->model.guards[detector->cause].name, fmu->run->t,
                   cg_status_text(status));
    }
    return status;
}

int cg_fmu_update(cg_fmu_t *fmu, cg_fmu_update_t *result)
{
    cg_run_t *const run = fmu->run;
    int status = CG_OK, handled = 0, thawed = 0;
    *result = (cg_fmu_update_t){0, fmu->memory.terminal, 0};
    if (fmu->memory.terminal) {
        return CG_FMU_OK;
    }
    memcpy(fmu->direction, run->x, sizeof(double) * (size_t)run->n);
    if (fmu->co_simulation) {
        handled = fmu->memory.pending;
    } else if (fmu->detector != NULL) {
        status = cg_fmu_events_shifted(fmu);
        status = status == CG_OK ? cg_fmu_events_ahead(fmu) : status;
        handled = fmu->detector->pending || (status == CG_OK && cg_fmu_events_fire(fmu, &thawed)); /* pending: at the start */
    }
    if (handled) {
        status = cg_fmu_events_handle(fmu);
        fmu->memory.pending = 0;
        status = status == CG_ACCUMULATING && !fmu->co_simulation ? CG_TERMINAL_EVENT : status;
        fmu->memory.terminal = result->terminate = status == CG_TERMINAL_EVENT;
        result->changed = memcmp(fmu->direction, run->x, sizeof(double) * (size_t)run->n) != 0;
    }
    if (status >= 0 && fmu->memory.tuned && !fmu->co_simulation) {
        if (cg_fmu_consistent(fmu) != CG_FMU_OK) {
            return CG_FMU_ERROR;
        }
        status = cg_fmu_tune(fmu);
        result->changed = memcmp(fmu->direction, run->x, sizeof(double) * (size_t)run->n) != 0;
    }
    if (status >= 0 && !fmu->co_simulation && fmu->detector != NULL) {
        run->status = CG_OK;
        result->again = cg_fmu_events_thaw(fmu) || thawed; /* contacts may not fit the equations of the new sides */
        status = handled || result->again ? cg_fmu_events_shift(fmu) : status;
    }
    return status >= 0 ? CG_FMU_OK : cg_fmu_events_ended(fmu, status, "an event");
}

/* ---- Co-Simulation ---- */

/* Errors of the importer: the instance stays as it is. */
static int cg_fmu_events_step_valid(const cg_fmu_t *fmu, double t, double h)
{
    const cg_run_t *const run = fmu->run;
    const double slack = CG_FMU_CLOCK * (fabs(t) + fabs(h)), end = t + h;
    if (!(fabs(t) < HUGE_VAL) || !(h > 0.0) || !(end < HUGE_VAL)) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "a step from t = %g over %g is not one forward in time", t, h);
    }
    if (fabs(t - run->t) > slack || end < run->t) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "a step from t = %.17g does not continue the last one, to t = %.17g", t,
                          run->t);
    }
    if (end > fmu->memory.stop + slack) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "a step to t = %.17g goes past the stop time %.17g", end, fmu->memory.stop);
    }
    return CG_FMU_OK;
}

/* Makes the inputs that have a derivative lines or parabolas over the step, and their rates the derivatives of these. */
static void cg_fmu_events_ramp(cg_fmu_t *fmu)
{
    cg_run_t *const run = fmu->run;
    fmu->begin = run->t;
    for (int32_t i = 0; i < fmu->model.n_inputs; i++) {
        const int32_t rates = cg_fmu_rates(fmu, i);
        const double series[5] = {run->u[i], fmu->slope[i], fmu->slope[fmu->model.n_inputs + i], 0.0, 0.0};
        const int moves = rates > 0 || series[1] != 0.0 || series[2] != 0.0;
        for (int32_t k = 0; k <= rates; k++) {
            double *const c = fmu->powers + CG_FMU_POWERS * (i + k);
            const int32_t kind = moves ? CG_SIGNAL_POLYNOMIAL : CG_SIGNAL_CONSTANT;
            const cg_signal_t ramp = {kind, CG_FMU_POWERS, 1, &fmu->begin, c, 0, 0, 0};
            c[0] = run->u[i + k] = series[k];
            c[1] = series[k + 1];
            c[2] = 0.5 * series[k + 2];
            fmu->ramps[i + k] = ramp;
        }
        run->signals = moves ? fmu->ramps : run->signals;
        i += rates;
    }
}

/* The end of such a step: the inputs keep the values that they have reached. */
static void cg_fmu_events_level(cg_fmu_t *fmu)
{
    memset(fmu->slope, 0, 2 * (size_t)fmu->model.n_inputs * sizeof(double));
    fmu->run->signals = NULL;
    fmu->run->input_kind = 0;
}

int cg_fmu_advance(cg_fmu_t *fmu, double t, double h, cg_fmu_step_t *result)
{
    cg_run_t *const run = fmu->run;
    cg_detector_t *const detector = fmu->detector;
    double row;
    result->event = 0;
    result->terminate = fmu->memory.terminal;
    result->t = run->t;
    if (cg_fmu_events_step_valid(fmu, t, h) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    if (fmu->memory.terminal) {
        return CG_FMU_OK;
    }
    if (fmu->memory.tuned && cg_fmu_consistent(fmu) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    int status = fmu->memory.tuned ? cg_fmu_tune(fmu) : CG_OK;
    cg_fmu_events_ramp(fmu);
    status = status == CG_OK ? cg_run_extend(run, t + h) : status;
    if (detector != NULL) {
        /* A log without room makes the run pause before an event is handled. */
        detector->log = fmu->event_mode && fmu->early_return ? &row : NULL;
        detector->log_capacity = detector->n_log = 0;
    }
    if (status == CG_OK) {
        run->max_steps = CG_FMU_MAX_STEPS;
        status = cg_drive(run, NULL, -1);
    }
    if (detector != NULL) {
        detector->log = NULL;
    }
    cg_fmu_events_level(fmu);
    result->t = run->t;
    result->event = fmu->memory.pending = status == CG_EVENTS_FULL;
    result->terminate = fmu->memory.terminal = status == CG_TERMINAL_EVENT;
    return status >= 0 ? CG_FMU_OK : cg_fmu_events_ended(fmu, status, "the step");
}
