/* cg_variational_inline.h: the table of cg_variational.h. Included at the end of the file of a model's directional
 * derivatives, which defines CG_MODEL_N, CG_MODEL_NP, CG_MODEL_INPUTS, CG_MODEL_MODES, CG_MODEL_GUARDS, CG_MODEL_EVENTS,
 * CG_MODEL_CONTACTS, CG_MODEL_ENDS (1: an event can end a run), CG_MODEL_DIGEST, CG_MODEL_ALONG (the derivatives of the
 * right-hand side), CG_MODEL_RHS and CG_MODEL_OPERATIONS (the kernel over lanes in it, if what it hoists stays the same during a
 * run) and, if the model has the kernel, CG_MODEL_ALONG_GUARDS, _CONTACTS, _PROJECT, _CORRECTION and _RESETS (an array with an
 * entry for each event), CG_MODEL_FROZEN (the right-hand side where kinks have the sides that follow the parameters) and
 * CG_MODEL_NESTED (CG_MODEL_ALONG_GUARDS takes such sides, too), CG_MODEL_SIGNS (the index of each contact's sign mode, or -1),
 * CG_MODEL_WORK, and CG_VARIATIONAL, the table's name.
 */
#include "cg_events.h"
#include "step/cg_flatten.h"
#include "step/cg_step.h"
#include "cg_variational.h"

enum {
    CG_DIRECTIONS = 1 + CG_MODEL_N + CG_MODEL_NP + CG_MODEL_INPUTS, /* rows of a direction: t, x, p, u */
    CG_SEEDS = CG_MODEL_NP + CG_MODEL_INPUTS,
    CG_TANGENTS_AT = CG_LANES > CG_PAD ? CG_LANES : CG_PAD, /* multiples of it */
    CG_FIRST_TANGENT = (CG_MODEL_N + CG_TANGENTS_AT - 1) / CG_TANGENTS_AT * CG_TANGENTS_AT,
    CG_END = CG_MODEL_ENDS ? CG_FIRST_TANGENT : 0 /* the rates at the end of a run, after the tangents */
};

/* Zeros between the state of the model and the tangents, which begin with a whole vector. */
static CG_INLINE void cg_fill(double *out)
{
    for (int32_t i = CG_MODEL_N; i < CG_FIRST_TANGENT; i++) {
        out[i] = 0.0;
    }
}

/* The number of states from the first tangent on. */
static CG_INLINE ptrdiff_t cg_carried(int32_t blocks)
{
    return (ptrdiff_t)CG_LANES * blocks * (CG_MODEL_N + (CG_END > 0)) + CG_END;
}

/* Zeros where a change of the rates and times of the end would be. */
static CG_INLINE void cg_end_unchanged(int32_t blocks, double *out)
{
    const ptrdiff_t tangents = (ptrdiff_t)CG_LANES * blocks * CG_MODEL_N;
    for (ptrdiff_t i = tangents; i < cg_carried(blocks); i++) {
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
    const double *const seeds = p + CG_MODEL_NP + (ptrdiff_t)block * CG_SEEDS * CG_LANES;
    memset(v, 0, sizeof(double) * CG_LANES);
    memcpy(v + CG_LANES, x + CG_FIRST_TANGENT + (ptrdiff_t)block * CG_MODEL_N * CG_LANES,
           sizeof(double) * CG_MODEL_N * CG_LANES);
    memcpy(v + (1 + CG_MODEL_N) * CG_LANES, seeds, sizeof(double) * CG_SEEDS * CG_LANES);
}

/* The values and the derivatives of a kernel that gives a change of the state. */
static CG_INLINE int cg_varied(cg_differential_t kernel, int32_t blocks, double t, const double *x, const double *p,
                               const double *u, double *out, double *work)
{
    double v[CG_DIRECTIONS * CG_LANES];
    int status = CG_OK;
    cg_fill(out);
    cg_end_unchanged(blocks, out);
    for (int32_t block = 0; block < blocks && status == CG_OK; block++) {
        cg_directions(x, p, block, v);
        status = kernel(t, x, p, u, v, out, cg_tangents(out, block), work);
    }
    return status;
}

#ifdef CG_MODEL_HOISTED
/* What depends on the parameters and the seeds alone comes after all of p, where the driver has model->hoist put it. */
static CG_INLINE const cg_real_t *cg_hoisted(const double *p, int32_t blocks, int32_t block)
{
    const ptrdiff_t rest = (ptrdiff_t)(CG_SEEDS + 1) * CG_LANES * blocks; /* seeds and sizes */
    return cg_aligned((double *)(uintptr_t)(p + CG_MODEL_NP + rest)) + (ptrdiff_t)block * CG_MODEL_HOISTED;
}

static int cg_varied_hoist(int32_t blocks, const double *CG_RESTRICT p, double *CG_RESTRICT q)
{
    cg_real_t given[CG_DIRECTIONS], found[CG_MODEL_HOISTED];
    for (int32_t block = 0; block < blocks; block++) {
        memset(given, 0, sizeof given);
        cg_take_vectors(given + 1 + CG_MODEL_N, p + CG_MODEL_NP + (ptrdiff_t)block * CG_SEEDS * CG_LANES, CG_SEEDS);
        if (cg_any(cg_not(CG_MODEL_HOIST(p, given, found)))) {
            return CG_SINGULAR;
        }
        memcpy(cg_aligned(q) + (ptrdiff_t)block * CG_MODEL_HOISTED, found, sizeof found);
    }
    return CG_OK;
}

/* What is hoisted for the seeds does not contain the changes of inputs: with these it is computed here. */
static CG_INLINE cg_mask_t cg_varied_values(int32_t blocks, int32_t block, int fed, const cg_real_t *clock, const double *x,
                                            const double *p, const double *u, const cg_real_t *given, cg_real_t *results,
                                            double *work)
{
    cg_real_t found[CG_MODEL_HOISTED];
    const cg_mask_t ok = fed ? CG_MODEL_HOIST(p, given, found) : cg_le(cg_splat(0.0), cg_splat(0.0));
    const cg_real_t *const hoisted = fed ? found : cg_hoisted(p, blocks, block);
    return ok & CG_MODEL_RHS(clock, x, p, hoisted, u, given, results, cg_aligned(work));
}
#elif defined(CG_MODEL_RHS)
static CG_INLINE cg_mask_t cg_varied_values(int32_t blocks, int32_t block, int fed, const cg_real_t *clock, const double *x,
                                            const double *p, const double *u, const cg_real_t *given, cg_real_t *results,
                                            double *work)
{
    (void)blocks;
    (void)block;
    (void)fed;
    return CG_MODEL_RHS(clock, x, p, u, given, results, cg_aligned(work));
}
#endif

/* The changes of the inputs along the tangents of a block, which follow the inputs of fed_rhs. */
static CG_INLINE const double *cg_fed(const double *u, int32_t block)
{
    return u + CG_MODEL_INPUTS + (ptrdiff_t)block * CG_MODEL_INPUTS * CG_LANES;
}

#ifdef CG_MODEL_RHS
static CG_INLINE int cg_varied_field(int32_t blocks, double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                                     const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work,
                                     int fed)
{
    const cg_real_t clock = cg_splat(t);
    cg_real_t given[CG_DIRECTIONS], changes[CG_MODEL_INPUTS + 1], results[2 * CG_MODEL_N];
    given[0] = cg_splat(0.0);
    cg_fill(out);
    cg_end_unchanged(blocks, out);
    for (int32_t block = 0; block < blocks; block++) {
        const ptrdiff_t tangents = CG_FIRST_TANGENT + (ptrdiff_t)block * CG_MODEL_N * CG_LANES;
        cg_take_vectors(given + 1, x + tangents, CG_MODEL_N);
        cg_take_vectors(given + 1 + CG_MODEL_N, p + CG_MODEL_NP + (ptrdiff_t)block * CG_SEEDS * CG_LANES, CG_SEEDS);
        if (fed) {
            cg_take_vectors(changes, cg_fed(u, block), CG_MODEL_INPUTS);
            for (int32_t i = 0; i < CG_MODEL_INPUTS; i++) {
                given[CG_DIRECTIONS - CG_MODEL_INPUTS + i] += changes[i];
            }
        }
        const cg_mask_t ok = cg_varied_values(blocks, block, fed, &clock, x, p, u, given, results, work);
        if (cg_any(cg_not(ok))) {
            return CG_SINGULAR;
        }
        cg_give_values(out, results, CG_MODEL_N);
        cg_give_vectors(out + tangents, results + CG_MODEL_N, CG_MODEL_N);
    }
    return CG_OK;
}
#else
static CG_INLINE int cg_varied_field(int32_t blocks, double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                                     const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work,
                                     int fed)
{
    double v[CG_DIRECTIONS * CG_LANES];
    int status = CG_OK;
    cg_fill(out);
    cg_end_unchanged(blocks, out);
    for (int32_t block = 0; block < blocks && status == CG_OK; block++) {
        cg_directions(x, p, block, v);
        for (int32_t i = 0; fed && i < CG_MODEL_INPUTS * CG_LANES; i++) {
            v[(CG_DIRECTIONS - CG_MODEL_INPUTS) * CG_LANES + i] += cg_fed(u, block)[i];
        }
        status = CG_MODEL_ALONG(t, x, p, u, v, out, cg_tangents(out, block), work);
    }
    return status;
}
#endif

CG_FLATTEN static int cg_varied_rhs(int32_t blocks, double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                                    const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    return cg_varied_field(blocks, t, x, p, u, out, work, 0);
}

#if CG_MODEL_INPUTS > 0
CG_FLATTEN static int cg_fed_rhs(int32_t blocks, double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                                 const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    return cg_varied_field(blocks, t, x, p, u, out, work, 1);
}
#endif

#ifdef CG_MODEL_ALONG_CORRECTION
static int cg_varied_correction(int32_t blocks, double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                                const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    return cg_varied(CG_MODEL_ALONG_CORRECTION, blocks, t, x, p, u, out, work);
}
#endif

#ifdef CG_MODEL_ALONG_PROJECT
static int cg_varied_project(int32_t blocks, double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                             const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    const int status = cg_varied(CG_MODEL_ALONG_PROJECT, blocks, t, x, p, u, out, work);
    memcpy(out + CG_FIRST_TANGENT, x + CG_FIRST_TANGENT, sizeof(double) * (size_t)cg_carried(blocks));
    return status;
}
#endif

#if CG_MODEL_GUARDS > 0 || CG_MODEL_CONTACTS > 0
enum {
    CG_KINKS = CG_MODEL_GUARDS - CG_MODEL_EVENTS,
    CG_SIDED = CG_MODEL_NP + CG_KINKS + 1 /* parameters, then the sides of the kinks, and one to spare */
};

#ifndef CG_MODEL_FROZEN
/* The derivative of the right-hand side by nothing: its value alone. */
static int cg_field(double t, const double *x, const double *p, const double *u, double *f, double *work)
{
    double v[CG_DIRECTIONS * CG_LANES], ignored[CG_MODEL_N * CG_LANES];
    memset(v, 0, sizeof v);
    return CG_MODEL_ALONG(t, x, p, u, v, f, ignored, work);
}
#endif

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

#ifdef CG_MODEL_ALONG_GUARDS
static cg_crossed_t cg_guard(int32_t index)
{
    const cg_crossed_t crossed = {CG_MODEL_ALONG_GUARDS, index, 1, {1.0, 0.0, 0.0, 0.0, 0.0}};
    return crossed;
}
#endif
#endif

#ifdef CG_MODEL_NESTED
/* The guards where the kinks inside of them have these sides; 0: whatever the state shows. */
static int cg_varied_guards(double t, const double *x, const double *p, const double *sides, const double *u, double *out,
                            double *work)
{
    double v[CG_DIRECTIONS * CG_LANES], ignored[CG_MODEL_GUARDS * CG_LANES], sided[CG_SIDED];
    memset(v, 0, sizeof v);
    memcpy(sided, p, sizeof(double) * CG_MODEL_NP);
    memcpy(sided + CG_MODEL_NP, sides, sizeof(double) * CG_KINKS);
    return CG_MODEL_ALONG_GUARDS(t, x, sided, u, v, out, ignored, work);
}
#endif

#ifdef CG_MODEL_ALONG_RESETS
static const cg_differential_t cg_resets[] = {CG_MODEL_ALONG_RESETS};

/* The state after a reset; the tangents stay as they are: see cg_jump_inline.h. */
static int cg_varied_reset(int32_t blocks, int32_t event, double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                           const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    double v[CG_DIRECTIONS * CG_LANES], ignored[CG_MODEL_N * CG_LANES];
    memcpy(out, x, sizeof(double) * (size_t)(CG_FIRST_TANGENT + cg_carried(blocks)));
    memset(v, 0, sizeof v);
    return cg_resets[event] == NULL ? CG_OK : cg_resets[event](t, x, p, u, v, out, ignored, work);
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

#ifdef CG_MODEL_ALONG_PROJECT
/* A run that starts at rest: the tangents of contacts that stick lose their slip velocity. */
static int cg_varied_start(int32_t blocks, double t, const double *p, const double *u, double *x, double *work)
{
    double v[CG_DIRECTIONS * CG_LANES], ignored[CG_MODEL_N];
    int status = CG_OK;
    for (int32_t block = 0; block < blocks && status == CG_OK; block++) {
        cg_directions(x, p, block, v);
        status = CG_MODEL_ALONG_PROJECT(t, x, p, u, v, ignored, cg_tangents(x, block), work);
    }
    return status;
}
#endif

#include "tangents/cg_jump_inline.h"

/* Called at the start of a run, at kinks, and after what happens at one instant. */
static int cg_varied_jump(const cg_jump_at_t *at, const double *p, double *u, double *x, double *work)
{
    if (at->asks) {
        return cg_kink_is(at, p, u, work);
    }
    if (!at->starts) {
        return cg_varied_instant(at, p, u, x, work);
    }
    if (at->starts == CG_STARTS_SIDES) {
        return cg_check_start(at, p, u, x, work);
    }
#ifdef CG_MODEL_ALONG_PROJECT
    return cg_varied_start(at->n_blocks, at->t, p, u, x, work);
#else
    return CG_OK;
#endif
}
#endif

extern CG_EXPORTED const cg_variational_t CG_VARIATIONAL;
const cg_variational_t CG_VARIATIONAL = {
    .abi_version = CG_ABI_VERSION,
    .struct_size = (uint32_t)sizeof(cg_variational_t),
    .digest = CG_MODEL_DIGEST,
    .n_lanes = CG_LANES,
    .n_work = CG_MODEL_WORK,
    .layout = CG_RUN_LAYOUT,
    .kernels =
        {
            .rhs = cg_varied_rhs,
#ifdef CG_MODEL_ALONG_PROJECT
            .project = cg_varied_project,
#endif
#ifdef CG_MODEL_ALONG_CORRECTION
            .correction = cg_varied_correction,
#endif
#ifdef CG_MODEL_ALONG_RESETS
            .reset = cg_varied_reset,
#endif
#ifdef CG_MODEL_NESTED
            .guards = cg_varied_guards,
#endif
#ifdef CG_MODEL_HOISTED
            .hoist = cg_varied_hoist,
#endif
        },
#if CG_MODEL_INPUTS > 0
    .fed_rhs = cg_fed_rhs,
#endif
#ifdef CG_MODEL_HOISTED
    .n_hoisted = CG_MODEL_HOISTED,
#endif
#if CG_MODEL_GUARDS > 0 || CG_MODEL_CONTACTS > 0
    .jump = cg_varied_jump,
#endif
    .n_end = CG_END,
};
