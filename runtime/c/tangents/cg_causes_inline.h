/* cg_causes_inline.h: which of what happens at one instant is a cause of jumps; part of cg_jump_inline.h.
 *
 * A reset and the end of a run always are, kinks and contacts if the field changes with them. A guard that jumps over zero
 * because a kink inside of it has changed sides does so together with that kink: it does not count as a cause.
 */
#include "cg_kinks_inline.h"

/* The place of a cause among all observed quantities. */
static CG_INLINE int32_t cg_place(const cg_jump_at_t *at, int32_t cause)
{
    return cause < CG_MODEL_GUARDS ? cause : cause - CG_MODEL_GUARDS + at->detector->first_contact;
}

static CG_INLINE int cg_ends_run(const cg_jump_at_t *at, int32_t cause)
{
    const cg_detector_t *const detector = at->detector;
    return CG_MODEL_ENDS && cause < CG_MODEL_EVENTS && detector->limit[cause] > 0.0
        && detector->count[cause] >= detector->limit[cause];
}

static CG_INLINE int cg_has_reset(int32_t cause)
{
#ifdef CG_MODEL_ALONG_RESETS
    return cause < CG_MODEL_EVENTS && cg_resets[cause] != NULL;
#else
    (void)cause;
    return 0;
#endif
}

/* Whether a kink or a contact changes the field, alone or last. */
static int cg_changes(cg_instant_t *now, int32_t cause, int32_t fired, int *changes)
{
    unsigned char done[CG_CAUSES];
    double u[CG_MODEL_INPUTS + CG_MODEL_MODES + 1] = {0.0}, field[CG_MODEL_N], noise[CG_MODEL_N], sided[CG_SIDED];
    memcpy(u, now->u, sizeof(double) * CG_MODEL_INPUTS);
    memcpy(u + CG_MODEL_INPUTS, now->at->modes, sizeof(double) * CG_MODEL_MODES);
    memset(done, 0, sizeof done);
    int status = cg_kink_noise(now, cause, done, now->at->before, u, noise);
    *changes = cg_differ(now->f, now->g, noise);
    for (int last = 0; fired > 1 && last < 2 && status == CG_OK && (last == 0 || !*changes); last++) {
        const double *const x = last ? now->x : now->at->before;
        for (int32_t i = 0; i < CG_CAUSES; i++) {
            done[i] = (i == cause) != last && now->fired[i];
        }
        now->count = 2; /* neither none nor all */
        status = cg_modes_after(now, done, 1, x, u);
        if (status == CG_OK) {
            status = cg_field_after(now, done, now->at->t, x, u, sided, field);
        }
        if (status == CG_OK) {
            status = cg_kink_noise(now, cause, done, x, u, noise);
        }
        *changes = cg_differ(field, last ? now->g : now->f, noise);
    }
    return status;
}

/* Whether a kink carries one of the events that matter here over zero, alone or after the other kinks. */
static int cg_carries_event(const cg_instant_t *now, int32_t kink, const double *u, int *carries)
{
    int status = CG_OK;
    *carries = 0;
#ifdef CG_MODEL_NESTED
    const cg_jump_at_t *const at = now->at;
    unsigned char done[CG_CAUSES] = {0};
    double sided[2][CG_SIDED], values[2];
    int jumps;
    for (int last = 0; last < 2 && status == CG_OK; last++) {
        for (int after = 0; after < 2 && status == CG_OK; after++) {
            for (int32_t i = CG_MODEL_EVENTS; i < CG_MODEL_GUARDS; i++) {
                done[i] = (unsigned char)(i == kink ? after : last && now->fired[i]);
            }
            status = cg_sides_after(now, done, at->t, at->before, u, sided[after]);
        }
        for (int32_t i = 0; i < CG_MODEL_EVENTS && status == CG_OK; i++) {
            if (now->fired[i] && (cg_has_reset(i) || cg_ends_run(at, i))) {
                status = cg_guard_jumps(at, i, sided, u, values, &jumps, now->work);
                *carries = *carries || jumps;
            }
        }
    }
#else
    (void)now, (void)kink, (void)u;
#endif
    return status;
}

/* CG_TANGENT_EVENT if the motion before only touches the zero of the quantity, so far as the tolerance of the state
 * tells: moved by that, the parabola of the quantity over the time would not reach zero. So neither the units of the
 * quantity nor the lengths of steps matter. */
static int cg_touches(const cg_instant_t *now, const cg_crossed_t *crossed, const double *u, double rate, double slack)
{
    static const unsigned char none[CG_CAUSES] = {0};
    const cg_jump_at_t *const at = now->at;
    double earlier[CG_MODEL_N], field[CG_MODEL_N], sided[CG_SIDED], rate_earlier = 0.0;
    double inputs[CG_MODEL_INPUTS + CG_MODEL_MODES + 1];
    cg_inputs_later(u, at->u_slope, -at->moment, inputs);
    for (int32_t i = 0; i < CG_MODEL_N; i++) {
        earlier[i] = at->before[i] - at->moment * now->f[i];
    }
    int status = cg_field_after(now, none, at->t - at->moment, earlier, inputs, sided, field);
    if (status == CG_OK) {
        status = cg_rate(crossed, at->t - at->moment, earlier, sided, inputs, at->u_slope, field, &rate_earlier, now->work);
    }
    const double curvature = (rate - rate_earlier) / at->moment;
    return status == CG_OK && !(rate * rate > 2.0 * fabs(curvature) * slack) ? CG_TANGENT_EVENT : status;
}

/* Whether the motion before carries a quantity over zero: also one that jumps there, as x + sign(x) does. */
static int cg_carries(const cg_instant_t *now, const cg_crossed_t *crossed, const double *u, int *carries)
{
    const cg_jump_at_t *const at = now->at;
    double inputs[CG_MODEL_INPUTS + CG_MODEL_MODES + 1], x[CG_MODEL_N], values[2] = {0.0, 0.0};
    int status = CG_OK;
    for (int later = 0; later < 2 && status == CG_OK; later++) {
        const double moment = later ? at->moment : -at->moment;
        cg_inputs_later(u, at->u_slope, moment, inputs);
        for (int32_t i = 0; i < CG_MODEL_N; i++) {
            x[i] = at->before[i] + moment * now->f[i];
        }
        status = cg_quantity(crossed, at->t + moment, x, now->sided, inputs, &values[later], now->work);
    }
    *carries = values[0] * values[1] <= 0.0;
    return status;
}

/* Finds the causes that matter, and how the motion before reaches their surfaces. */
static int cg_instant_begin(cg_instant_t *now)
{
    static const unsigned char none[CG_CAUSES] = {0};
    const cg_jump_at_t *const at = now->at;
    double u[CG_MODEL_INPUTS + CG_MODEL_MODES + 1] = {0.0}, sided[CG_SIDED];
    int32_t fired = 0, count = 0;
    for (int32_t i = 0; i < CG_CAUSES; i++) {
        now->fired[i] = at->detector->fired[cg_place(at, i)] != 0.0;
        now->matters[i] = now->inside[i] = 0;
    }
    memcpy(u, now->u, sizeof(double) * CG_MODEL_INPUTS);
    memcpy(u + CG_MODEL_INPUTS, at->modes, sizeof(double) * CG_MODEL_MODES);
    int status = cg_field_after(now, none, at->t, at->before, u, now->sided, now->f);
    if (status == CG_OK) {
        status = cg_take_inside(now, u);
    }
    for (int32_t i = 0; i < CG_CAUSES; i++) {
        fired += now->fired[i];
    }
    if (status == CG_OK) {
        status = cg_field_after(now, now->fired, at->t, now->x, now->u, sided, now->g);
    }
    for (int32_t i = 0; i < CG_CAUSES && status == CG_OK; i++) {
        int matters = now->fired[i] && (cg_has_reset(i) || cg_ends_run(at, i));
        if (now->fired[i] && i >= CG_MODEL_EVENTS) {
            status = cg_changes(now, i, fired, &matters);
            if (status == CG_OK && !matters && i < CG_MODEL_GUARDS) {
                status = cg_carries_event(now, i, u, &matters);
            }
        }
        now->matters[i] = (unsigned char)matters;
        count += matters;
    }
    now->count = count;
    for (int32_t i = 0; i < CG_CAUSES && status == CG_OK; i++) {
        if (!now->matters[i]) {
            continue;
        }
        const cg_crossed_t crossed = cg_observed(i, u);
        double value = 0.0;
        status = cg_rate(&crossed, at->t, at->before, now->sided, u, at->u_slope, now->f, &now->rate[i], now->work);
        if (status == CG_OK) {
            status = cg_quantity(&crossed, at->t, at->before, now->sided, u, &value, now->work);
        }
        if (status == CG_OK) {
            status = cg_slack(&crossed, at->t, at->before, now->sided, u, at->tolerance, &now->noise[i], now->work);
        }
        const double scale = at->detector->scale[cg_place(at, i)];
        now->least[i] = now->noise[i] + 0.01 * fabs(now->rate[i] * at->moment) + CG_JUMPED * scale;
        int carried = 0;
        if (status == CG_OK && i < CG_MODEL_GUARDS && fabs(value) > now->least[i]) {
            status = cg_carries(now, &crossed, u, &carried);
        }
        now->follows[i] = fabs(value) > now->least[i] && !carried;
        if (status == CG_OK && !now->follows[i]) {
            status = cg_touches(now, &crossed, u, now->rate[i], now->noise[i]);
        }
    }
    return status;
}
