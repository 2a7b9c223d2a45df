/* cg_jump_inline.h: tangents across what happens at one instant; part of cg_variational_inline.h.
 *
 * Causes 1 .. n at one instant t*: events, kinks and changes of contact modes, with the surfaces g_i = 0, the resets r_i and
 * the fields F_0 before, F_1, .. and F_n after them. Where the surfaces of a direction are reached at different times, by
 *   dt_i = -(dg_i . S) / (g_i,t + g_i,x F_(i-1)),
 * the causes are taken one after the other, in the order of these times and in its reverse, which are those of the motions on
 * both sides of the direction:
 *   S_i = r_x (S_(i-1) + F_(i-1) dt_i) + r_p P + r_t dt_i - F_i dt_i.
 * F_i is the field after these causes alone: every kink has the side that belongs to it, whatever its value is on the surface,
 * and contacts have the modes that fit if no other cause changes them. If the two orders give different results there is no
 * derivative. Causes that are reached at one time (two contacts with one slip, sign(x - b) and sign(3 x - 3 b)) are one: their
 * resets follow one another, and the field after them is that after all of them. A run that an event ends stays in the state
 * after its resets, at its own time.
 *
 * The guard of a kink inside of another one's, or of an event's, is taken by its side as well. A guard that jumps over zero
 * because a kink inside of it has changed sides does so together with that kink: it does not count as a cause.
 *
 * Where samples of the inputs are at t* too, the causes have them before on the one side of a direction, and after on the other.
 */
#ifdef CG_MODEL_NESTED
enum { CG_NESTS = 1 }; /* a side 0 is that of a kink which one inside of it keeps at zero */
#else
enum { CG_NESTS = 0 };
#endif
enum { CG_CAUSES = CG_MODEL_GUARDS + CG_CONTACT_OBSERVED * CG_MODEL_CONTACTS };

#define CG_STOPPED 1e-9 /* below this fraction of what it was, a cause has stopped the motion across the surface of another */
#define CG_JUMPED 1e-6 /* of its largest value in the step: a contact's quantity that is further from zero has jumped */
#define CG_ONE_TIME 1e-9 /* times that differ by less are one, and by 10 rtol */

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

/* The causes taken so far in some order. */
typedef struct {
    unsigned char done[CG_CAUSES];
    int32_t left;   /* causes that matter and are not done */
    int32_t groups; /* of causes that are one */
    int ended;      /* 1: an event ended the run */
    int alike;      /* 1: all causes are one, for all lanes */
    double x[CG_MODEL_N], f[CG_MODEL_N];
    double sided[CG_SIDED]; /* the parameters, with the sides of kinks */
    double u[CG_MODEL_INPUTS + CG_MODEL_MODES + 1];
    double v[CG_DIRECTIONS * CG_LANES]; /* (0, S, P, U) */
    double dt[CG_LANES];                /* of the last group */
} cg_passage_t;

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
    const cg_crossed_t crossed = cg_guard(at->kink);
    double sides[CG_SIDED], jump[CG_MODEL_N], noise[CG_MODEL_N], slack;
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
    status = status == CG_OK ? cg_slack(&crossed, at->t, at->before, sides, u, at->tolerance, &slack, work) : status;
    if (status != CG_OK) {
        return status;
    }
    return carries || cg_differ(jump, nothing, noise) ? CG_KINK_JUMPS
        : at->detector->scale[at->kink] <= slack ? CG_KINK_FAINT : CG_KINK_GOES_ON;
#else
    (void)at, (void)p, (void)u, (void)work;
    return CG_KINK_JUMPS;
#endif
}

/* ---- the causes ---- */

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

/* ---- a passage ---- */

/* How much later a cause is reached after those that are done, for each lane. */
static int cg_delays(const cg_instant_t *now, const cg_passage_t *to, int32_t cause, double *dt)
{
    const cg_jump_at_t *const at = now->at;
    const cg_crossed_t crossed = cg_observed(cause, to->u);
    double rate = now->rate[cause], value = 0.0;
    int status = CG_OK;
    if (to->groups > 0) {
        status = cg_quantity(&crossed, at->t, to->x, to->sided, to->u, &value, now->work);
        const double beyond = value * copysign(1.0, rate);
        if (status == CG_OK && fabs(beyond) > now->least[cause]) { /* it has jumped, over zero at once or away from it */
            memcpy(dt, to->dt, sizeof to->dt);
            return beyond * copysign(1.0, at->moment) > 0.0 ? CG_OK : CG_ORDER_MATTERS;
        }
        if (status == CG_OK) {
            status = cg_rate(&crossed, at->t, to->x, to->sided, to->u, at->u_slope, to->f, &rate, now->work);
        }
        if (status == CG_OK && !(rate * now->rate[cause] > CG_STOPPED * now->rate[cause] * now->rate[cause])) {
            return CG_ORDER_MATTERS;
        }
    }
    if (status == CG_OK) {
        status = cg_slopes(&crossed, at->t, to->x, to->sided, to->u, to->v, dt, now->work);
    }
    for (int32_t lane = 0; lane < CG_LANES; lane++) {
        dt[lane] = -dt[lane] / rate;
    }
    return status;
}

/* Whether two causes are reached at one time. */
static int cg_at_one_time(const cg_instant_t *now, int32_t i, double dt_i, int32_t j, double dt_j)
{
    const double noise = now->noise[i] / fabs(now->rate[i]) + now->noise[j] / fabs(now->rate[j]);
    const double part = CG_ONE_TIME + 10.0 * now->at->rtol;
    return i == j || now->follows[i] || fabs(dt_i - dt_j) <= part * (fabs(dt_i) + fabs(dt_j)) + noise;
}

/* The resets of a group, in order, at its time: w are the total derivatives there. */
static int cg_reset_group(const cg_instant_t *now, const unsigned char *group, cg_passage_t *to, double *w)
{
    int status = CG_OK;
#ifdef CG_MODEL_ALONG_RESETS
    double x[CG_MODEL_N], found[CG_MODEL_N * CG_LANES];
    for (int32_t i = 0; i < CG_MODEL_EVENTS && status == CG_OK; i++) {
        if (group[i] && cg_has_reset(i)) {
            memcpy(x, to->x, sizeof x);
            status = cg_resets[i](now->at->t, x, now->p, to->u, w, to->x, found, now->work);
            memcpy(w + CG_LANES, found, sizeof found);
        }
    }
#else
    (void)now, (void)group, (void)to, (void)w;
#endif
    return status;
}

/* Takes a group of causes, dt later. */
static int cg_take_group(const cg_instant_t *now, const unsigned char *group, const double *dt, cg_passage_t *to, int tells)
{
    const cg_jump_at_t *const at = now->at;
    double w[CG_DIRECTIONS * CG_LANES], before[CG_MODEL_N], modes[CG_MODEL_MODES + 1];
    memcpy(w, to->v, sizeof w);
    memcpy(before, to->f, sizeof before);
    memcpy(modes, to->u + CG_MODEL_INPUTS, sizeof(double) * CG_MODEL_MODES);
    cg_move_on(to->f, at->u_slope, dt, w);
    int status = cg_reset_group(now, group, to, w);
    for (int32_t i = 0; i < CG_CAUSES; i++) {
        to->done[i] = to->done[i] || group[i];
        to->left -= group[i];
        to->ended = to->ended || (group[i] && cg_ends_run(at, i));
    }
    memcpy(to->dt, dt, sizeof to->dt);
    if (to->ended || to->left == 0) {
        memcpy(to->f, now->g, sizeof to->f);
        memcpy(to->u + CG_MODEL_INPUTS, now->u + CG_MODEL_INPUTS, sizeof(double) * CG_MODEL_MODES);
    } else {
        if (status == CG_OK) {
            status = cg_modes_after(now, to->done, to->left, to->x, to->u);
        }
        if (status == CG_OK) {
            status = cg_field_after(now, to->done, at->t, to->x, to->u, to->sided, to->f);
        }
    }
    for (int32_t i = 0; i < CG_MODEL_N * CG_LANES; i++) {
        to->v[CG_LANES + i] = w[CG_LANES + i] - to->f[i / CG_LANES] * dt[i % CG_LANES];
    }
    for (int32_t i = 0; i < CG_CAUSES && tells && status == CG_OK; i++) {
        if (group[i]) {
            at->tell(at->context, i, to->groups + 0.5 * now->follows[i], before, to->f, modes);
        }
    }
    to->groups++;
    return status;
}

/* Takes all causes, from the directions v, in the order in which the direction `lane` reaches them (1.0), or in the reverse
 * order (-1.0). */
static int cg_pass(const cg_instant_t *now, const double *v, int32_t lane, double order, cg_passage_t *to, int tells)
{
    double dt[CG_CAUSES][CG_LANES];
    unsigned char group[CG_CAUSES];
    int status = CG_OK;
    to->left = now->count;
    to->groups = to->ended = 0;
    to->alike = 1;
    for (int32_t i = 0; i < CG_CAUSES; i++) {
        to->done[i] = now->fired[i] && !now->matters[i];
    }
    memcpy(to->v, v, sizeof to->v);
    memcpy(to->x, now->at->before, sizeof to->x);
    memcpy(to->f, now->f, sizeof to->f);
    memcpy(to->sided, now->sided, sizeof to->sided);
    memcpy(to->u, now->u, sizeof(double) * CG_MODEL_INPUTS);
    memcpy(to->u + CG_MODEL_INPUTS, now->at->modes, sizeof(double) * CG_MODEL_MODES);
    while (to->left > 0 && !to->ended && status == CG_OK) {
        int32_t first = -1;
        for (int32_t i = 0; i < CG_CAUSES && status == CG_OK; i++) {
            memset(dt[i], 0, sizeof dt[i]);
            if (!to->done[i] && now->matters[i] && !(now->follows[i] && to->groups == 0)) {
                status = cg_delays(now, to, i, dt[i]);
                first = first < 0 || order * dt[i][lane] < order * dt[first][lane] ? i : first;
            }
        }
        if (first < 0) { /* an input has jumped, at its own time */
            for (first = 0; !now->matters[first] || to->done[first];) first++;
        }
        for (int32_t i = 0; i < CG_CAUSES && status == CG_OK; i++) {
            group[i] = 0;
            if (!to->done[i] && now->matters[i]) {
                group[i] = (unsigned char)cg_at_one_time(now, i, dt[i][lane], first, dt[first][lane]);
                for (int32_t other = 0; other < CG_LANES; other++) {
                    to->alike = to->alike && cg_at_one_time(now, i, dt[i][other], first, dt[first][other]);
                }
            }
        }
        if (status == CG_OK) {
            status = cg_take_group(now, group, dt[first], to, tells);
        }
    }
    return status;
}

/* CG_ORDER_MATTERS if two passages lead to different states or tangents of a lane; at the end of a run, with its time. */
static int cg_compare(const cg_instant_t *now, const cg_passage_t *a, const cg_passage_t *b, int32_t lane)
{
    const cg_jump_at_t *const at = now->at;
    const double part = 1e-7 + 10.0 * at->rtol, stays = a->ended && b->ended ? 1.0 : 0.0;
    int same = a->ended == b->ended;
    for (int32_t i = 0; i < CG_MODEL_N; i++) {
        const int32_t k = (1 + i) * CG_LANES + lane;
        const double moves = fabs(a->v[k]) + fabs(b->v[k]) + (fabs(now->f[i]) + fabs(now->g[i])) * fabs(a->dt[lane]);
        const double apart = a->v[k] - b->v[k] + stays * (a->f[i] * a->dt[lane] - b->f[i] * b->dt[lane]);
        same = same && fabs(a->x[i] - b->x[i]) <= 10.0 * at->tolerance[i]
            && fabs(apart) <= part * moves + 10.0 * at->tolerance[i];
    }
    return same ? CG_OK : CG_ORDER_MATTERS;
}

/* The same instant with the inputs on the other side of samples that are there too. */
typedef struct {
    cg_instant_t now;
    cg_jump_at_t at;
    double u[CG_MODEL_INPUTS + CG_MODEL_MODES + 1], u_slope[CG_MODEL_INPUTS + 1], x[CG_MODEL_N];
    int status; /* of its beginning */
} cg_beside_t;

/* Whether there are such samples. */
static int cg_beside_begin(const cg_instant_t *now, cg_beside_t *beside)
{
    double w[CG_DIRECTIONS * CG_LANES] = {0.0};
    cg_passage_t to;
    memcpy(beside->u, now->u, sizeof(double) * (CG_MODEL_INPUTS + CG_MODEL_MODES));
    memcpy(beside->u_slope, now->at->u_slope, sizeof(double) * CG_MODEL_INPUTS);
    if (!now->at->beside(now->at->context, beside->u, beside->u_slope)) {
        return 0;
    }
    beside->at = *now->at;
    beside->at.u_slope = beside->u_slope;
    beside->now = *now;
    beside->now.at = &beside->at;
    beside->now.u = beside->u;
    beside->now.x = beside->x;
    memcpy(to.x, now->at->before, sizeof to.x);
    memcpy(to.u, beside->u, sizeof to.u);
    beside->status = cg_reset_group(&beside->now, now->fired, &to, w);
    memcpy(beside->x, to.x, sizeof to.x);
    if (beside->status == CG_OK) {
        beside->status = cg_instant_begin(&beside->now);
    }
    return 1;
}

/* CG_ORDER_MATTERS if a direction in which the time changes has other tangents there. */
static int cg_compare_beside(const cg_instant_t *now, const cg_beside_t *beside, const double *v)
{
    cg_passage_t a, b;
    int status = CG_OK;
    for (int32_t lane = 0; lane < CG_LANES && status == CG_OK; lane++) {
        status = cg_pass(now, v, lane, 1.0, &a, 0);
        if (status == CG_OK && a.dt[lane] != 0.0) {
            status = beside->status == CG_OK ? cg_pass(&beside->now, v, lane, 1.0, &b, 0) : beside->status;
            status = status == CG_OK ? cg_compare(now, &a, &b, lane) : status;
        }
    }
    return status;
}

/* Whether an event would change something in the state x: it ends the run, or its reset moves the state. */
static int cg_would_change(const cg_jump_at_t *at, int32_t event, const double *p, const double *u, const double *x, double *work)
{
    int changes = at->detector->limit[event] > 0.0;
#ifdef CG_MODEL_ALONG_RESETS
    double v[CG_DIRECTIONS * CG_LANES], after[CG_MODEL_N], ignored[CG_MODEL_N * CG_LANES];
    memset(v, 0, sizeof v);
    if (!changes && cg_has_reset(event) && cg_resets[event](at->t, x, p, u, v, after, ignored, work) == CG_OK) {
        for (int32_t i = 0; i < CG_MODEL_N; i++) {
            changes = changes || fabs(after[i] - x[i]) > at->tolerance[i];
        }
    }
#else
    (void)p, (void)u, (void)x, (void)work;
#endif
    return changes;
}

/* CG_ORDER_MATTERS if one of the directions v, which lead to the state x at the time dt, moves the guard of an event away from
 * zero where it did not come by the motion, but by the start or the reset of another event (`fired`: not these). On one side of
 * such a direction it has still to cross zero, or occurs at once, and on the other it is past. */
static int cg_check_at_zero(const cg_jump_at_t *at, const unsigned char *fired, const double *p, const double *u, const double *x,
                            const double *f, const double *v, const double *dt, double *work)
{
    int status = CG_OK;
#ifdef CG_MODEL_ALONG_GUARDS
    const cg_detector_t *const detector = at->detector;
    double sided[CG_SIDED], slopes[CG_LANES], rate = 0.0, slack = 0.0;
    memcpy(sided, p, sizeof(double) * CG_MODEL_NP);
    memcpy(sided + CG_MODEL_NP, detector->sign + CG_MODEL_EVENTS, sizeof(double) * CG_KINKS);
    for (int32_t i = 0; i < CG_MODEL_EVENTS && status == CG_OK; i++) {
        const cg_crossed_t crossed = cg_guard(i);
        const double leaves = detector->leaving[i].side;
        if (fired[i] || leaves == 0.0 || detector->direction[i] * leaves < 0.0 || !cg_would_change(at, i, p, u, x, work)) {
            continue;
        }
        status = cg_slopes(&crossed, at->t, x, sided, u, v, slopes, work);
        status = status == CG_OK ? cg_rate(&crossed, at->t, x, sided, u, at->u_slope, f, &rate, work) : status;
        status = status == CG_OK ? cg_slack(&crossed, at->t, x, sided, u, at->tolerance, &slack, work) : status;
        for (int32_t lane = 0; lane < CG_LANES && status == CG_OK; lane++) {
            const double later = rate * dt[lane], least = slack + CG_ONE_TIME * (fabs(slopes[lane]) + fabs(later));
            status = fabs(slopes[lane] + later) > least ? CG_ORDER_MATTERS : CG_OK;
        }
    }
#else
    (void)at, (void)fired, (void)p, (void)u, (void)x, (void)f, (void)v, (void)dt, (void)work;
#endif
    return status;
}

/* The same at the start of a run. */
static int cg_check_start(const cg_jump_at_t *at, const double *p, const double *u, const double *x, double *work)
{
    static const unsigned char none[CG_CAUSES] = {0};
    static const double now[CG_LANES] = {0.0}, still[CG_MODEL_N] = {0.0};
    double v[CG_DIRECTIONS * CG_LANES];
    int status = CG_OK;
    for (int32_t block = 0; block < at->n_blocks && status == CG_OK; block++) {
        cg_directions(x, p, block, v);
        status = cg_check_at_zero(at, none, p, u, x, still, v, now, work);
    }
    return status;
}

/* The tangents s after the instant, and the derivatives dt of the time of an end, from the directions v. */
static int cg_cross(const cg_instant_t *now, const double *v, double *s, double *dt)
{
    cg_passage_t to, back;
    double after[CG_DIRECTIONS * CG_LANES];
    int status = cg_pass(now, v, 0, 1.0, &to, 0), alike = to.alike, resets = 0;
    for (int32_t lane = 0; lane < CG_LANES && (status == CG_OK || lane == 0); lane++) {
        status = alike || lane == 0 ? status : cg_pass(now, v, lane, 1.0, &to, 0);
        if (status == CG_OK && !alike && to.groups > 1) {
            status = cg_pass(now, v, lane, -1.0, &back, 0);
            status = status == CG_OK ? cg_compare(now, &to, &back, lane) : status;
        }
        for (int32_t i = 0; i < CG_MODEL_N; i++) {
            s[i * CG_LANES + lane] = to.v[(1 + i) * CG_LANES + lane];
        }
        dt[lane] = to.dt[lane];
    }
    for (int32_t i = 0; i < CG_MODEL_EVENTS; i++) {
        resets = resets || (now->fired[i] && cg_has_reset(i));
    }
    if (status == CG_OK && resets && !to.ended) {
        memcpy(after, v, sizeof after);
        memcpy(after + CG_LANES, s, sizeof(double) * CG_MODEL_N * CG_LANES);
        status = cg_check_at_zero(now->at, now->fired, now->p, now->u, now->x, now->g, after, dt, now->work);
    }
    return status;
}

/* Tells of the causes, taken in the order of a sum of all directions, in which no two times agree by chance. */
static int cg_tell(const cg_instant_t *now, int status)
{
    const cg_jump_at_t *const at = now->at;
    double sum[CG_DIRECTIONS * CG_LANES], v[CG_DIRECTIONS * CG_LANES];
    cg_passage_t to;
    for (int32_t i = 0; i < CG_CAUSES; i++) {
        if (now->fired[i] || now->inside[i]) {
            at->tell(at->context, i, status < 0 && now->matters[i] ? status : -1, now->f, now->g, at->modes);
        }
    }
    if (status != CG_OK || now->count == 0) {
        return status;
    }
    memset(sum, 0, sizeof sum);
    for (int32_t block = 0, n = 0; block < at->n_blocks; block++) {
        cg_directions(at->before, now->p, block, v);
        for (int32_t lane = 0; lane < CG_LANES; lane++, n++) {
            for (int32_t i = 0; i < CG_DIRECTIONS; i++) {
                sum[i * CG_LANES] += cos(1.0 + (double)n * n) * v[i * CG_LANES + lane];
            }
        }
    }
    return cg_pass(now, sum, 0, 1.0, &to, 1);
}

/* The tangents in x after everything that happens at one instant: rarely, so that it and what it calls are made short. */
CG_COLD static int cg_varied_instant(const cg_jump_at_t *at, const double *p, const double *u, double *x, double *work)
{
    double v[CG_DIRECTIONS * CG_LANES], dt[CG_LANES];
    cg_instant_t now;
    cg_beside_t beside;
    now.at = at;
    now.p = p;
    now.u = u;
    now.x = x;
    now.work = work;
    int ends = 0, status = cg_instant_begin(&now);
    const int samples = status == CG_OK && now.count > 0 && cg_beside_begin(&now, &beside);
    for (int32_t i = 0; i < CG_CAUSES; i++) {
        ends = ends || (now.fired[i] && cg_ends_run(at, i));
    }
    for (int32_t block = 0; block < at->n_blocks && status == CG_OK && now.count > 0; block++) {
        cg_directions(at->before, p, block, v);
        status = cg_cross(&now, v, cg_tangents(x, block), dt);
        if (status == CG_OK && samples) {
            status = cg_compare_beside(&now, &beside, v);
        }
        if (ends) {
            memcpy(cg_tangents(x, at->n_blocks) + CG_END + (ptrdiff_t)block * CG_LANES, dt, sizeof dt);
        }
    }
    if (ends) {
        memcpy(cg_tangents(x, at->n_blocks), now.g, sizeof now.g);
    }
    if (at->tell != NULL && (status == CG_OK || status == CG_TANGENT_EVENT || status == CG_ORDER_MATTERS)) {
        return cg_tell(&now, status);
    }
    return status;
}
