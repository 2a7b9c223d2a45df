/* cg_kinks_inline.h: the fields at one instant, by the sides of kinks; part of cg_jump_inline.h.
 *
 * The field after some of the causes has every kink on the side that belongs to it, whatever its value is on the surface, and
 * contacts in the modes that fit if no other cause changes them. The guard of a kink inside of another one's, or of an event's,
 * is taken by its side as well.
 */
#ifdef CG_MODEL_NESTED
enum { CG_NESTS = 1 }; /* a side 0 is that of a kink which one inside of it keeps at zero */
#else
enum { CG_NESTS = 0 };
#endif
enum { CG_CAUSES = CG_MODEL_GUARDS + CG_CONTACT_OBSERVED * CG_MODEL_CONTACTS };

#define CG_JUMPED 1e-6 /* of its largest value in the step: a contact's quantity that is further from zero has jumped */

/* An instant, and what of it is the same in whatever order its causes are taken. */
typedef struct {
    const cg_jump_at_t *at;
    const double *p, *u, *x; /* u with the modes after all causes, x the state after them */
    double *work;
    unsigned char matters[CG_CAUSES]; /* 1: a cause that changes something */
    unsigned char fired[CG_CAUSES];
    unsigned char inside[CG_CAUSES];  /* 1: a kink that occurs because one inside of its guard does */
    int32_t count;                    /* of those that matter */
    double rate[CG_CAUSES];           /* the slope of the quantity along the motion before all causes */
    double noise[CG_CAUSES];          /* its change if the state is off by its tolerance */
    double least[CG_CAUSES];          /* a value below this is zero */
    unsigned char follows[CG_CAUSES]; /* 1: its quantity has jumped over zero: by another cause, or by an input */
    double f[CG_MODEL_N], g[CG_MODEL_N]; /* the fields before and after all causes */
    double sided[CG_SIDED];              /* the parameters, with the sides of kinks before */
} cg_instant_t;

/* ---- quantities ---- */

/* The quantity of a cause. */
static int cg_quantity(const cg_crossed_t *crossed, double t, const double *x, const double *p, const double *u,
                       double *value, double *work)
{
    double v[CG_DIRECTIONS * CG_LANES], values[CG_RESULTS], ignored[CG_RESULTS * CG_LANES];
    memset(v, 0, sizeof v);
    const int status = crossed->kernel(t, x, p, u, v, values, ignored, work);
    *value = 0.0;
    for (int32_t i = 0; i < crossed->count; i++) {
        *value += crossed->weights[i] * values[crossed->first + i];
    }
    return status;
}

/* The changes of the quantity if one entry of the state after another is off by its tolerance. */
static int cg_slopes_of_state(const cg_crossed_t *crossed, double t, const double *x, const double *p, const double *u,
                              const double *tolerance, double *changes, double *work)
{
    double v[CG_DIRECTIONS * CG_LANES], slopes[CG_LANES];
    int status = CG_OK;
    memset(changes, 0, sizeof(double) * CG_MODEL_N);
    for (int32_t first = 0; first < CG_MODEL_N && status == CG_OK; first += CG_LANES) {
        memset(v, 0, sizeof v);
        for (int32_t i = first; i < first + CG_LANES && i < CG_MODEL_N; i++) {
            v[(1 + i) * CG_LANES + i - first] = tolerance[i];
        }
        status = cg_slopes(crossed, t, x, p, u, v, slopes, work);
        for (int32_t i = first; i < first + CG_LANES && i < CG_MODEL_N; i++) {
            changes[i] = slopes[i - first];
        }
    }
    return status;
}

/* How much the quantity changes if the state is off by its tolerance. */
static int cg_slack(const cg_crossed_t *crossed, double t, const double *x, const double *p, const double *u,
                    const double *tolerance, double *slack, double *work)
{
    double changes[CG_MODEL_N];
    const int status = cg_slopes_of_state(crossed, t, x, p, u, tolerance, changes, work);
    *slack = 0.0;
    for (int32_t i = 0; i < CG_MODEL_N; i++) {
        *slack += fabs(changes[i]);
    }
    return status;
}

/* ---- fields ---- */

#ifdef CG_MODEL_NESTED
/* A guard with the kinks inside of it on the sides in `sided`; *least: what it is at most where it is zero. */
static int cg_guard_at(const cg_jump_at_t *at, int32_t guard, double t, const double *x, const double *sided, const double *u,
                       double *value, double *least, double *work)
{
    const cg_crossed_t crossed = cg_guard(guard);
    double slack = 0.0;
    int status = cg_quantity(&crossed, t, x, sided, u, value, work);
    status = status == CG_OK ? cg_slack(&crossed, t, x, sided, u, at->tolerance, &slack, work) : status;
    *least = slack + CG_JUMPED * at->detector->scale[guard];
    return status;
}

/* Whether a guard jumps over zero from these sides of the kinks inside of it to those; its values on both. */
static int cg_guard_jumps(const cg_jump_at_t *at, int32_t guard, double sided[2][CG_SIDED], const double *u, double *values,
                          int *jumps, double *work)
{
    const cg_crossed_t crossed = cg_guard(guard);
    double slack = 0.0;
    int status = cg_quantity(&crossed, at->t, at->before, sided[0], u, &values[0], work);
    status = status == CG_OK ? cg_quantity(&crossed, at->t, at->before, sided[1], u, &values[1], work) : status;
    *jumps = status == CG_OK && values[0] * values[1] <= 0.0 && values[0] != values[1];
    if (*jumps) {
        status = cg_slack(&crossed, at->t, at->before, sided[0], u, at->tolerance, &slack, work);
        *jumps = fabs(values[1] - values[0]) > slack + CG_JUMPED * at->detector->scale[guard];
    }
    return status;
}
#endif

#ifdef CG_MODEL_FROZEN
/* What kinks inside of a kink's guard make of its side, which by the causes alone is *side: they carry the guard away from its
 * zero, or turn it around. */
static int cg_side_inside(const cg_instant_t *now, int32_t kink, double t, const double *x, const double *u, const double *sided,
                          double *side)
{
    int status = CG_OK;
#ifdef CG_MODEL_NESTED
    const cg_jump_at_t *const at = now->at;
    const cg_crossed_t crossed = cg_guard(kink);
    double value, least, rate[2] = {0.0, 0.0};
    if (memcmp(sided, now->sided, sizeof(double) * (size_t)(CG_MODEL_NP + kink - CG_MODEL_EVENTS)) == 0) {
        return CG_OK;
    }
    status = cg_guard_at(at, kink, t, x, sided, u, &value, &least, now->work);
    if (status == CG_OK && fabs(value) > least) {
        *side = value > 0.0 ? 1.0 : -1.0;
        return CG_OK;
    }
    for (int after = 0; after < 2 && status == CG_OK; after++) {
        status = cg_rate(&crossed, t, x, after ? sided : now->sided, u, at->u_slope, now->f, &rate[after], now->work);
    }
    *side = rate[0] * rate[1] < 0.0 ? -*side : *side;
#else
    (void)now, (void)kink, (void)t, (void)x, (void)u, (void)sided, (void)side;
#endif
    return status;
}

/* The parameters, and after them the sides of all kinks after some causes, in a state whose modes are in u. Kinks that are
 * among the causes have their sides by that, unless a reset has moved the state away from them, or kinks inside of their guards
 * have; the others have those of their values. Those inside of a guard come before it. */
static int cg_sides_after(const cg_instant_t *now, const unsigned char *done, double t, const double *x, const double *u,
                          double *sided)
{
    const cg_detector_t *const detector = now->at->detector;
    double *const sides = sided + CG_MODEL_NP;
    const int moved = memcmp(x, now->at->before, sizeof(double) * CG_MODEL_N) != 0 && t == now->at->t;
    int all = 1, status = CG_OK;
    memcpy(sided, now->p, sizeof(double) * CG_MODEL_NP);
    for (int32_t i = 0; i < CG_CAUSES; i++) {
        all = all && (!now->fired[i] || done[i]);
    }
    for (int32_t i = 0; i < CG_KINKS && status == CG_OK; i++) {
        const int32_t kink = CG_MODEL_EVENTS + i;
        const cg_crossed_t crossed = cg_guard(kink);
        const double was = CG_NESTS || detector->sign_new[kink] != 0.0 ? detector->sign_new[kink] : -detector->sign[kink];
        const int known = CG_NESTS || detector->sign[kink] != 0.0;
        double value = 0.0, slack = 0.0;
        sides[i] = !done[kink] ? was : all && known ? detector->sign[kink] : -was;
        if (!now->fired[kink] || (moved && !all)) {
            status = cg_quantity(&crossed, t, x, sided, u, &value, now->work);
        }
        if (!now->fired[kink]) { /* it may be at its surface, where the motion takes it to a side */
            sides[i] = moved || all ? detector->sign[kink] : detector->sign_new[kink];
        }
        if (status == CG_OK && value * sides[i] < 0.0) {
            status = cg_slack(&crossed, t, x, sided, u, now->at->tolerance, &slack, now->work);
        }
        if (status == CG_OK && now->inside[kink]) { /* a kink inside may also leave it at zero */
            status = cg_slack(&crossed, t, x, sided, u, now->at->tolerance, &slack, now->work);
            sides[i] = 0.0;
        }
        if (fabs(value) > slack) {
            sides[i] = value > 0.0 ? 1.0 : -1.0;
        } else if (status == CG_OK && now->fired[kink] && !all) {
            status = cg_side_inside(now, kink, t, x, u, sided, &sides[i]);
        }
    }
    return status;
}
#endif

/* The field in a state after some causes, whose modes are in u, and to `sided` the parameters with the sides of kinks in it. */
static int cg_field_after(const cg_instant_t *now, const unsigned char *done, double t, const double *x, const double *u,
                          double *sided, double *f)
{
#ifdef CG_MODEL_FROZEN
    const int status = cg_sides_after(now, done, t, x, u, sided);
    return status == CG_OK ? CG_MODEL_FROZEN(t, x, sided, u, f, now->work) : status;
#else
    (void)done;
    memcpy(sided, now->p, sizeof(double) * CG_MODEL_NP);
    return cg_field(t, x, now->p, u, f, now->work);
#endif
}

/* Takes kinks whose guards only other ones inside of them carry over zero from the causes. */
static int cg_take_inside(cg_instant_t *now, const double *u)
{
    const cg_jump_at_t *const at = now->at;
    int status = CG_OK;
#ifdef CG_MODEL_NESTED
    for (int32_t kink = CG_MODEL_EVENTS; kink < CG_MODEL_GUARDS && status == CG_OK; kink++) {
        if (!now->fired[kink]) {
            continue;
        }
        double value, least;
        const int rested = at->detector->sign_new[kink] == 0.0;
        status = cg_guard_at(at, kink, at->t, at->before, now->sided, u, &value, &least, now->work);
        const double beyond = value * now->sided[CG_MODEL_NP + kink - CG_MODEL_EVENTS];
        if (rested || beyond > least) { /* not yet at its zero */
            now->fired[kink] = 0;
            now->inside[kink] = 1;
        }
    }
#else
    (void)at, (void)u;
#endif
    return status;
}

/* The modes in the state x after some causes, in u: those before and after all of them are known. */
static int cg_modes_after(const cg_instant_t *now, const unsigned char *done, int32_t left, const double *x, double *u)
{
    const size_t size = sizeof(double) * CG_MODEL_MODES;
    double *const modes = u + CG_MODEL_INPUTS;
    if (CG_MODEL_CONTACTS > 0 && left > 0 && left < now->count) {
        memcpy(modes, now->at->modes, size);
        const int status = now->at->choose(now->at->context, done, x, modes);
        return status == CG_PARADOX ? CG_ORDER_MATTERS : status;
    }
    memcpy(modes, left == 0 ? now->u + CG_MODEL_INPUTS : now->at->modes, size);
    return CG_OK;
}

/* Whether two fields differ by more than rounding, and by more than the noise. */
static int cg_differ(const double *f, const double *g, const double *noise)
{
    int found = 0;
    for (int32_t i = 0; i < CG_MODEL_N; i++) {
        found = found || fabs(f[i] - g[i]) > 1e-9 * (fabs(f[i]) + fabs(g[i])) + noise[i];
    }
    return found;
}

/* ---- kinks ---- */

#ifdef CG_MODEL_FROZEN
/* The jump of the field at a kink, on whatever surface the state is; p is followed by the sides of the others. */
static int cg_kink_jump(int32_t kink, double t, const double *x, double *p, const double *u, double *jump, double *work)
{
    double before[CG_MODEL_N];
    p[CG_MODEL_NP + kink - CG_MODEL_EVENTS] = -1.0;
    int status = CG_MODEL_FROZEN(t, x, p, u, before, work);
    p[CG_MODEL_NP + kink - CG_MODEL_EVENTS] = 1.0;
    status = status == CG_OK ? CG_MODEL_FROZEN(t, x, p, u, jump, work) : status;
    for (int32_t i = 0; i < CG_MODEL_N && status == CG_OK; i++) {
        jump[i] -= before[i];
    }
    return status;
}

/* The state on the surface of a kink that is the nearest to x, measured by the tolerance, which tells whether x may be there. */
static int cg_kink_surface(const cg_instant_t *now, int32_t kink, double t, const double *x, const double *p, const double *u,
                           double *on)
{
    const cg_crossed_t crossed = cg_guard(kink);
    const double *const tolerance = now->at->tolerance;
    double changes[CG_MODEL_N], square = 0.0, value;
    int status = cg_quantity(&crossed, t, x, p, u, &value, now->work);
    status = status == CG_OK ? cg_slopes_of_state(&crossed, t, x, p, u, tolerance, changes, now->work) : status;
    for (int32_t i = 0; i < CG_MODEL_N && status == CG_OK; i++) {
        square += changes[i] * changes[i];
    }
    const double part = square > 0.0 && value * value <= square ? -value / square : 0.0;
    for (int32_t i = 0; i < CG_MODEL_N && status == CG_OK; i++) {
        on[i] = x[i] + part * (changes[i] * tolerance[i]);
    }
    return status;
}
#endif

/* What of the jump of the field at a kink, in a state next to it, is not one: it is gone on the surface itself, or is rounding
 * error of the terms of the field, which cancel in a rest. */
static int cg_kink_noise(const cg_instant_t *now, int32_t kink, const unsigned char *done, const double *x, const double *u,
                         double *noise)
{
    int status = CG_OK;
    memset(noise, 0, sizeof(double) * CG_MODEL_N);
#ifdef CG_MODEL_FROZEN
    const double t = now->at->t;
    double p[CG_SIDED], y[CG_MODEL_N], f[CG_MODEL_N], shaken[CG_MODEL_N], jump[CG_MODEL_N];
    if (kink < CG_MODEL_EVENTS || kink >= CG_MODEL_GUARDS) {
        return CG_OK;
    }
    status = cg_sides_after(now, done, t, x, u, p);
    status = status == CG_OK ? cg_kink_jump(kink, t, x, p, u, jump, now->work) : status;
    status = status == CG_OK ? cg_kink_surface(now, kink, t, x, p, u, y) : status;
    status = status == CG_OK ? cg_kink_jump(kink, t, y, p, u, noise, now->work) : status;
    status = status == CG_OK ? CG_MODEL_FROZEN(t, x, p, u, f, now->work) : status;
    for (int32_t i = 0; i < CG_MODEL_N && status == CG_OK; i++) {
        noise[i] = fabs(jump[i] - noise[i]);
    }
    for (int changing = 0; changing < 2 && status == CG_OK; changing++) {
        memcpy(y, x, sizeof y);
        cg_shake(y, CG_MODEL_N, changing);
        status = CG_MODEL_FROZEN(t * (1.0 + 0.5 * CG_MOMENT), y, p, u, shaken, now->work);
        for (int32_t i = 0; i < CG_MODEL_N && status == CG_OK; i++) {
            noise[i] += CG_ZERO / CG_MOMENT * fabs(shaken[i] - f[i]);
        }
    }
#else
    (void)now, (void)kink, (void)done, (void)x, (void)u;
#endif
    return status;
}

#ifdef CG_MODEL_FROZEN
/* Whether a kink that changes its side makes the guard of an event jump over zero, itself or by others of whose guards it is
 * inside; p is followed by the sides of the others. */
static int cg_kink_carries(const cg_jump_at_t *at, const double *p, const double *u, int *carries, double *work)
{
    int status = CG_OK;
    *carries = 0;
#ifdef CG_MODEL_NESTED
    double sided[2][CG_SIDED], values[2];
    int jumps;
    for (int after = 0; after < 2; after++) {
        memcpy(sided[after], p, sizeof sided[after]);
        sided[after][CG_MODEL_NP + at->kink - CG_MODEL_EVENTS] = after ? 1.0 : -1.0;
    }
    for (int32_t i = at->kink + 1; i < CG_MODEL_GUARDS + CG_MODEL_EVENTS && status == CG_OK; i++) { /* kinks, then events */
        const int32_t guard = i % CG_MODEL_GUARDS;
        status = cg_guard_jumps(at, guard, sided, u, values, &jumps, work);
        *carries = *carries || (jumps && guard < CG_MODEL_EVENTS);
        for (int after = 0; after < 2 && jumps && guard >= CG_MODEL_EVENTS; after++) {
            sided[after][CG_MODEL_NP + guard - CG_MODEL_EVENTS] = (values[after] > 0.0) - (values[after] < 0.0);
        }
    }
#else
    (void)at, (void)p, (void)u, (void)work;
#endif
    return status;
}
#endif

/* What a kink is (enum cg_kink_is), in a state near to it; a status if that is not known. */
static int cg_kink_is(const cg_jump_at_t *at, const double *p, const double *u, double *work)
{
#ifdef CG_MODEL_FROZEN
    static const unsigned char none[CG_CAUSES] = {0};
    static const double nothing[CG_MODEL_N] = {0.0};
    double sides[CG_SIDED], jump[CG_MODEL_N], noise[CG_MODEL_N];
    cg_instant_t now;
    int carries = 0;
    memset(&now, 0, sizeof now);
    now.at = at;
    now.p = p;
    now.work = work;
    int status = cg_sides_after(&now, none, at->t, at->before, u, sides);
    status = status == CG_OK ? cg_kink_carries(at, sides, u, &carries, work) : status;
    status = status == CG_OK ? cg_kink_jump(at->kink, at->t, at->before, sides, u, jump, work) : status;
    status = status == CG_OK ? cg_kink_noise(&now, at->kink, none, at->before, u, noise) : status;
    if (status != CG_OK) {
        return status;
    }
    return carries || cg_differ(jump, nothing, noise) ? CG_KINK_JUMPS : CG_KINK_GOES_ON;
#else
    (void)at, (void)p, (void)u, (void)work;
    return CG_KINK_JUMPS;
#endif
}
