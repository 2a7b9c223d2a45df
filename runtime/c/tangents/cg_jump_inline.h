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
 * What the fields are is in cg_kinks_inline.h, and which causes there are in cg_causes_inline.h.
 *
 * Where samples of the inputs are at t* too, the causes have them before on the one side of a direction, and after on the other.
 */
#include "cg_causes_inline.h"

#define CG_STOPPED 1e-9 /* below this fraction of what it was, a cause has stopped the motion across the surface of another */
#define CG_ONE_TIME 1e-9 /* times that differ by less are one, and by 10 rtol */

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
    double sided[CG_SIDED], slopes[CG_LANES], holds[CG_MODEL_EVENTS + 1], rate = 0.0, slack = 0.0;
    memcpy(sided, p, sizeof(double) * CG_MODEL_NP);
    memcpy(sided + CG_MODEL_NP, detector->sign + CG_MODEL_EVENTS, sizeof(double) * CG_KINKS);
    status = detector->when == NULL ? CG_OK : detector->when(at->t, x, p, u, holds, work);
    for (int32_t i = 0; i < CG_MODEL_EVENTS && status == CG_OK; i++) {
        const cg_crossed_t crossed = cg_guard(i);
        const double leaves = detector->leaving[i].side;
        const int none = fired[i] || detector->done[i] != 0.0 || (detector->when != NULL && holds[i] == 0.0);
        if (none || leaves == 0.0 || detector->direction[i] * leaves < 0.0 || !cg_would_change(at, i, p, u, x, work)) {
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
