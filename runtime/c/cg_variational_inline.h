/* cg_variational_inline.h: the table of cg_variational.h. Included at the end of the file of a model's directional
 * derivatives, which defines CG_MODEL_N, CG_MODEL_NP, CG_MODEL_INPUTS, CG_MODEL_MODES, CG_MODEL_GUARDS, CG_MODEL_EVENTS,
 * CG_MODEL_CONTACTS, CG_MODEL_ENDS (1: an event can end a run), CG_MODEL_DIGEST, CG_MODEL_ALONG (the derivatives of the right-hand side), CG_MODEL_RHS and
 * CG_MODEL_OPERATIONS (the kernel over lanes in it, if what it hoists stays the same during a run) and, if the model has the
 * kernel, CG_MODEL_ALONG_GUARDS, _CONTACTS, _PROJECT, _CORRECTION and _RESETS (an array with an entry for each event),
 * CG_MODEL_SIGNS (the index of each contact's sign mode, or -1), CG_MODEL_WORK, and CG_VARIATIONAL, the table's name.
 */
#include "cg_events.h"
#include "cg_flatten.h"
#include "cg_variational.h"

enum {
    CG_DIRECTIONS = 1 + CG_MODEL_N + CG_MODEL_NP + CG_MODEL_INPUTS, /* rows of a direction: t, x, p, u */
    CG_SEEDS = CG_MODEL_NP + CG_MODEL_INPUTS,
    CG_TANGENTS_AT = CG_LANES > CG_PAD ? CG_LANES : CG_PAD, /* multiples of it */
    CG_FIRST_TANGENT = (CG_MODEL_N + CG_TANGENTS_AT - 1) / CG_TANGENTS_AT * CG_TANGENTS_AT,
    CG_END = CG_MODEL_ENDS ? CG_FIRST_TANGENT : 0 /* the rates at the end of a run, after the tangents */
};

static CG_INLINE int32_t cg_blocks(const double *p) { return (int32_t)p[CG_MODEL_NP]; }

/* Zeros between the state of the model and the tangents, which begin with a whole vector. */
static CG_INLINE void cg_fill(double *out)
{
    for (int32_t i = CG_MODEL_N; i < CG_FIRST_TANGENT; i++) {
        out[i] = 0.0;
    }
}

/* The number of states from the first tangent on. */
static CG_INLINE ptrdiff_t cg_carried(const double *p)
{
    return (ptrdiff_t)CG_LANES * cg_blocks(p) * (CG_MODEL_N + (CG_END > 0)) + CG_END;
}

/* Zeros where a change of the rates and times of the end would be. */
static CG_INLINE void cg_end_unchanged(const double *p, double *out)
{
    const ptrdiff_t tangents = (ptrdiff_t)CG_LANES * cg_blocks(p) * CG_MODEL_N;
    for (ptrdiff_t i = tangents; i < cg_carried(p); i++) {
        out[CG_FIRST_TANGENT + i] = 0.0;
    }
}

/* The tangents of a block. */
static CG_INLINE double *cg_tangents(double *x, int32_t block)
{
    return x + CG_FIRST_TANGENT + (ptrdiff_t)block * CG_MODEL_N * CG_LANES;
}

/* The directions of a block: (0, S, P, U). */
static CG_INLINE void cg_directions(const double *x, const double *p, int32_t block, double *v)
{
    const double *const seeds = p + CG_MODEL_NP + 1 + (ptrdiff_t)block * CG_SEEDS * CG_LANES;
    memset(v, 0, sizeof(double) * CG_LANES);
    memcpy(v + CG_LANES, x + CG_FIRST_TANGENT + (ptrdiff_t)block * CG_MODEL_N * CG_LANES,
           sizeof(double) * CG_MODEL_N * CG_LANES);
    memcpy(v + (1 + CG_MODEL_N) * CG_LANES, seeds, sizeof(double) * CG_SEEDS * CG_LANES);
}

/* The values and the derivatives of a kernel that gives a change of the state. */
static CG_INLINE int cg_varied(cg_differential_t kernel, double t, const double *x, const double *p, const double *u,
                               double *out, double *work)
{
    double v[CG_DIRECTIONS * CG_LANES];
    int status = CG_OK;
    cg_fill(out);
    cg_end_unchanged(p, out);
    for (int32_t block = 0; block < cg_blocks(p) && status == CG_OK; block++) {
        cg_directions(x, p, block, v);
        status = kernel(t, x, p, u, v, out, cg_tangents(out, block), work);
    }
    return status;
}

#ifdef CG_MODEL_HOISTED
/* What depends on the parameters and the seeds alone comes after all of p, where the driver has model->hoist put it. */
static CG_INLINE const cg_real_t *cg_hoisted(const double *p, int32_t block)
{
    const ptrdiff_t rest = (ptrdiff_t)(CG_SEEDS + 1) * CG_LANES * cg_blocks(p); /* seeds and sizes */
    return cg_aligned((double *)(uintptr_t)(p + CG_MODEL_NP + 1 + rest)) + (ptrdiff_t)block * CG_MODEL_HOISTED;
}

static int cg_varied_hoist(const double *CG_RESTRICT p, double *CG_RESTRICT q)
{
    cg_real_t given[CG_DIRECTIONS], found[CG_MODEL_HOISTED];
    for (int32_t block = 0; block < cg_blocks(p); block++) {
        memset(given, 0, sizeof given);
        cg_take_vectors(given + 1 + CG_MODEL_N, p + CG_MODEL_NP + 1 + (ptrdiff_t)block * CG_SEEDS * CG_LANES, CG_SEEDS);
        if (cg_any(cg_not(CG_MODEL_HOIST(p, given, found)))) {
            return CG_SINGULAR;
        }
        memcpy(cg_aligned(q) + (ptrdiff_t)block * CG_MODEL_HOISTED, found, sizeof found);
    }
    return CG_OK;
}

#define CG_VARIED_RHS(block) \
    CG_MODEL_RHS(&clock, x, p, cg_hoisted(p, block), u, given, results, cg_aligned(work))
#else
#define CG_VARIED_RHS(block) CG_MODEL_RHS(&clock, x, p, u, given, results, cg_aligned(work))
#endif

#ifdef CG_MODEL_RHS
CG_FLATTEN static int cg_varied_rhs(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                                    const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    const cg_real_t clock = cg_splat(t);
    cg_real_t given[CG_DIRECTIONS], results[2 * CG_MODEL_N];
    given[0] = cg_splat(0.0);
    cg_fill(out);
    cg_end_unchanged(p, out);
    for (int32_t block = 0; block < cg_blocks(p); block++) {
        const ptrdiff_t tangents = CG_FIRST_TANGENT + (ptrdiff_t)block * CG_MODEL_N * CG_LANES;
        cg_take_vectors(given + 1, x + tangents, CG_MODEL_N);
        cg_take_vectors(given + 1 + CG_MODEL_N, p + CG_MODEL_NP + 1 + (ptrdiff_t)block * CG_SEEDS * CG_LANES, CG_SEEDS);
        const cg_mask_t ok = CG_VARIED_RHS(block);
        if (cg_any(cg_not(ok))) {
            return CG_SINGULAR;
        }
        cg_give_values(out, results, CG_MODEL_N);
        cg_give_vectors(out + tangents, results + CG_MODEL_N, CG_MODEL_N);
    }
    return CG_OK;
}
#else
static int cg_varied_rhs(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,
                         double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    return cg_varied(CG_MODEL_ALONG, t, x, p, u, out, work);
}
#endif

#ifdef CG_MODEL_ALONG_CORRECTION
static int cg_varied_correction(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                                const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    return cg_varied(CG_MODEL_ALONG_CORRECTION, t, x, p, u, out, work);
}
#endif

#ifdef CG_MODEL_ALONG_PROJECT
static int cg_varied_project(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                             const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    const int status = cg_varied(CG_MODEL_ALONG_PROJECT, t, x, p, u, out, work);
    memcpy(out + CG_FIRST_TANGENT, x + CG_FIRST_TANGENT, sizeof(double) * (size_t)cg_carried(p));
    return status;
}
#endif

#if CG_MODEL_GUARDS > 0 || CG_MODEL_CONTACTS > 0
/* The derivative of the right-hand side by nothing: its value alone. */
static int cg_field(double t, const double *x, const double *p, const double *u, double *f, double *work)
{
    double v[CG_DIRECTIONS * CG_LANES], ignored[CG_MODEL_N * CG_LANES];
    memset(v, 0, sizeof v);
    return CG_MODEL_ALONG(t, x, p, u, v, f, ignored, work);
}

/* A quantity whose zero is a crossing: the sum of the results of a kernel with these weights. */
typedef struct cg_crossed {
    cg_differential_t kernel;
    int32_t first; /* result */
    int32_t count;
    double weights[5];
} cg_crossed_t;

enum { CG_RESULTS = CG_MODEL_GUARDS > 5 * CG_MODEL_CONTACTS ? CG_MODEL_GUARDS : 5 * CG_MODEL_CONTACTS };

/* The derivatives of the quantity along the directions v. */
static int cg_slopes(const cg_crossed_t *crossed, double t, const double *x, const double *p, const double *u,
                     const double *v, double *slopes, double *work)
{
    double values[CG_RESULTS], found[CG_RESULTS * CG_LANES];
    const int status = crossed->kernel(t, x, p, u, v, values, found, work);
    for (int32_t lane = 0; lane < CG_LANES; lane++) {
        slopes[lane] = 0.0;
        for (int32_t i = 0; i < crossed->count; i++) {
            slopes[lane] += crossed->weights[i] * found[(crossed->first + i) * CG_LANES + lane];
        }
    }
    return status;
}

/* Adds the motion with the field f and inputs with these slopes, over the time dt of each lane, to directions. */
static void cg_move_on(const double *f, const double *u_slope, const double *dt, double *v)
{
    for (int32_t lane = 0; lane < CG_LANES; lane++) {
        v[lane] += dt[lane];
        for (int32_t i = 0; i < CG_MODEL_N; i++) {
            v[(1 + i) * CG_LANES + lane] += f[i] * dt[lane];
        }
        for (int32_t i = 0; i < CG_MODEL_INPUTS; i++) {
            v[(CG_DIRECTIONS - CG_MODEL_INPUTS + i) * CG_LANES + lane] += u_slope[i] * dt[lane];
        }
    }
}

/* The inputs, with the modes as they are, a moment later. */
static void cg_inputs_later(const double *u, const double *u_slope, double moment, double *later)
{
    memcpy(later, u, sizeof(double) * (CG_MODEL_INPUTS + CG_MODEL_MODES));
    for (int32_t i = 0; i < CG_MODEL_INPUTS; i++) {
        later[i] += moment * u_slope[i];
    }
}

/* The slope of the quantity along the motion with the field f. */
static int cg_rate(const cg_crossed_t *crossed, double t, const double *x, const double *p, const double *u,
                   const double *u_slope, const double *f, double *rate, double *work)
{
    static const double unit[CG_LANES] = {1.0};
    double v[CG_DIRECTIONS * CG_LANES], slopes[CG_LANES];
    memset(v, 0, sizeof v);
    cg_move_on(f, u_slope, unit, v);
    const int status = cg_slopes(crossed, t, x, p, u, v, slopes, work);
    *rate = slopes[0];
    return status;
}

/* How much later the quantity is zero, for the directions v: dt. */
static int cg_delays(const cg_crossed_t *crossed, double t, const double *x, const double *p, const double *u,
                     const double *v, double rate, double *dt, double *work)
{
    const int status = cg_slopes(crossed, t, x, p, u, v, dt, work);
    for (int32_t lane = 0; lane < CG_LANES; lane++) {
        dt[lane] = -dt[lane] / rate;
    }
    return status == CG_OK && rate == 0.0 ? CG_TANGENT_EVENT : status;
}

#ifdef CG_MODEL_ALONG_GUARDS
static cg_crossed_t cg_guard(int32_t index)
{
    const cg_crossed_t crossed = {CG_MODEL_ALONG_GUARDS, index, 1, {1.0, 0.0, 0.0, 0.0, 0.0}};
    return crossed;
}
#endif
#endif

#ifdef CG_MODEL_ALONG_RESETS
static const cg_differential_t cg_resets[] = {CG_MODEL_ALONG_RESETS};

/* The state after a reset; the tangents stay as they are: see cg_varied_at_reset. */
static int cg_varied_reset(int32_t event, double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                           const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    double v[CG_DIRECTIONS * CG_LANES], ignored[CG_MODEL_N * CG_LANES];
    memcpy(out, x, sizeof(double) * (size_t)(CG_FIRST_TANGENT + cg_carried(p)));
    memset(v, 0, sizeof v);
    return cg_resets[event] == NULL ? CG_OK : cg_resets[event](t, x, p, u, v, out, ignored, work);
}

/* The tangents after the reset of an event alone. */
static int cg_varied_at_reset(const cg_jump_at_t *at, const double *p, const double *u, double *x, double *work)
{
    const cg_differential_t reset = cg_resets[at->cause];
    const double *const before = at->before;
    double v[CG_DIRECTIONS * CG_LANES], dt[CG_LANES], fields[2 * CG_MODEL_N], rate = 0.0;
    double *const f = fields, *const g = fields + CG_MODEL_N;
    if (reset == NULL) {
        return CG_OK;
    }
    const cg_crossed_t guard = cg_guard(at->cause);
    int status = cg_field(at->t, before, p, u, f, work);
    if (status == CG_OK) {
        status = cg_field(at->t, x, p, u, g, work);
    }
    if (status == CG_OK) {
        status = cg_rate(&guard, at->t, before, p, u, at->u_slope, f, &rate, work);
    }
    for (int32_t block = 0; block < cg_blocks(p) && status == CG_OK; block++) {
        cg_directions(before, p, block, v);
        status = cg_delays(&guard, at->t, before, p, u, v, rate, dt, work);
        cg_move_on(f, at->u_slope, dt, v);
        double *const found = cg_tangents(x, block);
        if (status == CG_OK) {
            status = reset(at->t, before, p, u, v, x, found, work);
        }
        for (int32_t i = 0; i < CG_MODEL_N * CG_LANES; i++) {
            found[i] -= g[i / CG_LANES] * dt[i % CG_LANES];
        }
    }
    return status;
}
#endif

#if CG_MODEL_GUARDS > 0 || CG_MODEL_CONTACTS > 0
/* The observed quantity `cause` (cg_events.h, without functions of the caller), at the modes in u. */
static cg_crossed_t cg_observed(int32_t cause, const double *u)
{
#if CG_MODEL_CONTACTS > 0
    if (cause >= CG_MODEL_GUARDS) {
        static const int32_t signs[] = {CG_MODEL_SIGNS};
        const int32_t contact = (cause - CG_MODEL_GUARDS) / CG_CONTACT_OBSERVED;
        const int32_t what = (cause - CG_MODEL_GUARDS) % CG_CONTACT_OBSERVED;
        const double *const modes = u + CG_MODEL_INPUTS;
        const double slip = modes[contact];
        cg_crossed_t crossed = {CG_MODEL_ALONG_CONTACTS, 5 * contact, 5, {0.0, 0.0, 0.0, 0.0, 0.0}};
        if (what == CG_CONTACT_NORMAL) {
            crossed.weights[4] = signs[contact] >= 0 ? modes[CG_MODEL_CONTACTS + signs[contact]] : 1.0;
        } else if (slip != 0.0) {
            crossed.weights[0] = slip;
        } else {
            crossed.weights[1] = what == CG_CONTACT_SLIP ? -1.0 : 1.0;
            crossed.weights[2] = CG_CONTACT_LIMIT;
        }
        return crossed;
    }
#endif
    (void)u;
#ifdef CG_MODEL_ALONG_GUARDS
    return cg_guard(cause);
#else
    return (cg_crossed_t){NULL, 0, 0, {0.0, 0.0, 0.0, 0.0, 0.0}};
#endif
}

/* The field at a kink on the side from which the motion comes (-1) or to which it goes (+1): extrapolated from two points
 * on the tangent of the motion f, since the kernel cannot tell on which side its branches are at the kink itself. */
static int cg_field_beside(const cg_jump_at_t *at, const double *p, const double *u, const double *f, double side,
                           double *out, double *work)
{
    double near[CG_MODEL_N], far[CG_MODEL_N], inputs[CG_MODEL_INPUTS + CG_MODEL_MODES + 1], size = 1.0, speed = 0.0;
    const double *const x = at->before;
    int status = CG_OK;
    for (int32_t i = 0; i < CG_MODEL_N; i++) {
        size = fmax(size, fabs(x[i]));
        speed = fmax(speed, fabs(f[i]));
    }
    const double moment = side * 1e-6 * size / fmax(speed, 1e-300);
    for (int32_t point = 1; point <= 2 && status == CG_OK; point++) {
        for (int32_t i = 0; i < CG_MODEL_N; i++) {
            near[i] = x[i] + point * moment * f[i];
        }
        cg_inputs_later(u, at->u_slope, point * moment, inputs);
        status = cg_field(at->t + point * moment, near, p, inputs, point == 1 ? out : far, work);
    }
    for (int32_t i = 0; i < CG_MODEL_N && status == CG_OK; i++) {
        out[i] = 2.0 * out[i] - far[i];
    }
    return status;
}

#ifdef CG_MODEL_ALONG_PROJECT
/* A run that starts at rest: the tangents of contacts that stick lose their slip velocity. */
static int cg_varied_start(double t, const double *p, const double *u, double *x, double *work)
{
    double v[CG_DIRECTIONS * CG_LANES], ignored[CG_MODEL_N];
    int status = CG_OK;
    for (int32_t block = 0; block < cg_blocks(p) && status == CG_OK; block++) {
        cg_directions(x, p, block, v);
        status = CG_MODEL_ALONG_PROJECT(t, x, p, u, v, ignored, cg_tangents(x, block), work);
    }
    return status;
}
#endif

/* The fields before and after a jump of the right-hand side. */
static int cg_fields(const cg_jump_at_t *at, const double *p, double *u, const double *x, double *fields, double *work)
{
    double now[CG_MODEL_MODES + 1];
    double *const f = fields, *const g = fields + CG_MODEL_N;
    const double t = at->t, *const before = at->before;
    const int32_t cause = at->cause;
    const size_t size = sizeof(double) * CG_MODEL_MODES;
    int status;
    if (cause >= CG_MODEL_EVENTS && cause < CG_MODEL_GUARDS) {
        double mean[CG_MODEL_N];
        status = cg_field(t, before, p, u, mean, work);
        if (status == CG_OK) {
            status = cg_field_beside(at, p, u, mean, -1.0, f, work);
        }
        return status != CG_OK ? status : cg_field_beside(at, p, u, f, 1.0, g, work);
    }
    memcpy(now, u + CG_MODEL_INPUTS, size);
    memcpy(u + CG_MODEL_INPUTS, at->modes, size);
    status = cg_field(t, cause < CG_MODEL_EVENTS ? x : before, p, u, f, work);
    memcpy(u + CG_MODEL_INPUTS, now, size);
    return status != CG_OK ? status : cg_field(t, x, p, u, g, work);
}

/* Whether two fields differ by more than the error of extrapolation. */
static int cg_differ(const double *f, const double *g)
{
    int found = 0;
    for (int32_t i = 0; i < CG_MODEL_N; i++) {
        found = found || fabs(f[i] - g[i]) > 1e-9 * (fabs(f[i]) + fabs(g[i]));
    }
    return found;
}

/* How much the quantity changes if the state is off by its tolerance. */
static int cg_slack(const cg_crossed_t *crossed, double t, const double *x, const double *p, const double *u,
                    const double *tolerance, double *slack, double *work)
{
    double v[CG_DIRECTIONS * CG_LANES], slopes[CG_LANES];
    int status = CG_OK;
    *slack = 0.0;
    for (int32_t first = 0; first < CG_MODEL_N && status == CG_OK; first += CG_LANES) {
        memset(v, 0, sizeof v);
        for (int32_t i = first; i < first + CG_LANES && i < CG_MODEL_N; i++) {
            v[(1 + i) * CG_LANES + i - first] = tolerance[i];
        }
        status = cg_slopes(crossed, t, x, p, u, v, slopes, work);
        for (int32_t lane = 0; lane < CG_LANES; lane++) {
            *slack += fabs(slopes[lane]);
        }
    }
    return status;
}

/* CG_TANGENT_EVENT if the motion with the field f only touches the zero of the quantity, so far as the tolerance of the
 * state tells: moved by that, the parabola of the quantity over the time would not reach zero. So neither the units
 * of the quantity nor the lengths of steps matter. */
static int cg_touches(const cg_crossed_t *crossed, const cg_jump_at_t *at, const double *p, const double *u,
                      const double *f, double rate, double *work)
{
    double earlier[CG_MODEL_N], field[CG_MODEL_N], rate_earlier = 0.0, slack = 0.0;
    double inputs[CG_MODEL_INPUTS + CG_MODEL_MODES + 1];
    cg_inputs_later(u, at->u_slope, -at->moment, inputs);
    for (int32_t i = 0; i < CG_MODEL_N; i++) {
        earlier[i] = at->before[i] - at->moment * f[i];
    }
    int status = cg_slack(crossed, at->t, at->before, p, u, at->tolerance, &slack, work);
    if (status == CG_OK) {
        status = cg_field(at->t - at->moment, earlier, p, inputs, field, work);
    }
    if (status == CG_OK) {
        status = cg_rate(crossed, at->t - at->moment, earlier, p, inputs, at->u_slope, field, &rate_earlier, work);
    }
    const double curvature = (rate - rate_earlier) / at->moment;
    return status == CG_OK && !(rate * rate > 2.0 * fabs(curvature) * slack) ? CG_TANGENT_EVENT : status;
}

/* Called at the start of a run (cause < 0) and after an event, a kink or a change of modes. */
static int cg_varied_jump(const cg_jump_at_t *at, const double *p, double *u, double *x, double *work)
{
    double v[CG_DIRECTIONS * CG_LANES], dt[CG_LANES], fields[2 * CG_MODEL_N], own[CG_MODEL_N], rate = 0.0;
    double now[CG_MODEL_MODES + 1];
    const int32_t cause = at->cause;
    const double t = at->t, *const before = at->before, *const modes = at->modes;
    const size_t size = sizeof(double) * CG_MODEL_MODES;
    const int same = memcmp(u + CG_MODEL_INPUTS, modes, size) == 0;
    const int ends = CG_MODEL_ENDS && at->ends;
    if (cause < 0) {
#ifdef CG_MODEL_ALONG_PROJECT
        return cg_varied_start(t, p, u, x, work);
#else
        return CG_OK;
#endif
    }
#ifdef CG_MODEL_ALONG_RESETS
    if (at->resets) {
        return cg_varied_at_reset(at, p, u, x, work);
    }
#endif
    const int stays = cause < CG_MODEL_EVENTS && memcmp(before, x, sizeof own) == 0 && !ends;
    if (same && (cause >= CG_MODEL_GUARDS || stays)) {
        return CG_OK;
    }
    int status = cg_fields(at, p, u, x, fields, work);
    if (status != CG_OK || (cause >= CG_MODEL_EVENTS && !cg_differ(fields, fields + CG_MODEL_N))) {
        return status;
    }
    memcpy(now, u + CG_MODEL_INPUTS, size); /* the quantity and its slope are those before */
    memcpy(u + CG_MODEL_INPUTS, modes, size);
    const cg_crossed_t crossed = cg_observed(cause, u);
    if (cause < CG_MODEL_EVENTS) { /* the fields are those after the reset */
        status = cg_field(t, before, p, u, own, work);
    } else {
        memcpy(own, fields, sizeof own);
    }
    if (status == CG_OK) {
        status = cg_rate(&crossed, t, before, p, u, at->u_slope, own, &rate, work);
    }
    if (status == CG_OK) {
        status = cg_touches(&crossed, at, p, u, own, rate, work);
    }
    for (int32_t block = 0; block < cg_blocks(p) && status == CG_OK; block++) {
        cg_directions(before, p, block, v);
        status = cg_delays(&crossed, t, before, p, u, v, rate, dt, work);
        double *const s = cg_tangents(x, block);
        for (int32_t i = 0; i < CG_MODEL_N * CG_LANES; i++) {
            s[i] += (fields[i / CG_LANES] - fields[CG_MODEL_N + i / CG_LANES]) * dt[i % CG_LANES];
        }
        if (ends) {
            memcpy(cg_tangents(x, cg_blocks(p)) + CG_END + (ptrdiff_t)block * CG_LANES, dt, sizeof dt);
        }
    }
    if (ends) {
        memcpy(cg_tangents(x, cg_blocks(p)), fields + CG_MODEL_N, sizeof own);
    }
    memcpy(u + CG_MODEL_INPUTS, now, size);
    return status;
}
#endif

extern CG_EXPORTED const cg_variational_t CG_VARIATIONAL;
const cg_variational_t CG_VARIATIONAL = {
    .abi_version = CG_ABI_VERSION,
    .struct_size = (uint32_t)sizeof(cg_variational_t),
    .digest = CG_MODEL_DIGEST,
    .n_lanes = CG_LANES,
    .n_work = CG_MODEL_WORK,
    .rhs = cg_varied_rhs,
#ifdef CG_MODEL_HOISTED
    .hoist = cg_varied_hoist,
    .n_hoisted = CG_MODEL_HOISTED,
#endif
#ifdef CG_MODEL_ALONG_RESETS
    .reset = cg_varied_reset,
#endif
#ifdef CG_MODEL_ALONG_PROJECT
    .project = cg_varied_project,
#endif
#ifdef CG_MODEL_ALONG_CORRECTION
    .correction = cg_varied_correction,
#endif
#if CG_MODEL_GUARDS > 0 || CG_MODEL_CONTACTS > 0
    .jump = cg_varied_jump,
#endif
    .n_end = CG_END,
};
