/* A pendulum, and one state with a right-hand side chosen by p[0]; p[1] is its threshold, u[0] drives both.
 * One source for the model and, with -DCG_LANES, for its lane sets, like emitted files from one schedule.
 */
#include "mixed.h"

#include "cg_math.h"
#include "chaplygin.h"

#include <stddef.h>

#define DIGEST "mixed"

static CG_INLINE cg_mask_t is_kind(cg_real_t kind, int wanted) { return cg_eq(kind, cg_splat(wanted)); }

static cg_mask_t mixed_kernel(const cg_real_t *CG_RESTRICT t, const cg_real_t *CG_RESTRICT x,
                              const cg_real_t *CG_RESTRICT p, const cg_real_t *CG_RESTRICT u,
                              cg_real_t *CG_RESTRICT out, cg_real_t *CG_RESTRICT work)
{
    const cg_mask_t beyond = cg_lt(p[1], x[0]);
    mixed_calls += CG_LANES > 1;
    cg_real_t sine, cosine, slope = cg_splat(0.0);
    cg_sincos(x[1], &sine, &cosine);
    work[0] = x[0];
    slope = cg_where(is_kind(p[0], MIXED_RATIONAL), -2.0 * *t * work[0] * work[0], slope);
    slope = cg_where(is_kind(p[0], MIXED_BLOW_UP), work[0] * work[0], slope);
    slope = cg_where(is_kind(p[0], MIXED_SINGULAR), cg_splat(1.0), slope);
    slope = cg_where(is_kind(p[0], MIXED_NAN), cg_where(beyond, cg_splat(HUGE_VAL - HUGE_VAL), cg_splat(1.0)), slope);
    slope = cg_where(is_kind(p[0], MIXED_INFINITE), cg_where(beyond, cg_splat(HUGE_VAL), cg_splat(1.0)), slope);
    slope = cg_where(is_kind(p[0], MIXED_ROOT), cg_sqrt(cg_abs(x[0])), slope);
    slope = cg_where(is_kind(p[0], MIXED_JUMP), cg_where(cg_lt(*t, p[1]), cg_splat(1.0), cg_splat(1e6)), slope);
    slope = cg_where(is_kind(p[0], MIXED_FAST), p[1] * cosine - x[0], slope);
    out[0] = slope + u[0];
    out[1] = x[2];
    out[2] = cosine * u[0] - sine - 0.1 * cg_abs(x[2]) * x[2];
    return cg_not(is_kind(p[0], MIXED_SINGULAR) & beyond);
}

#if CG_LANES > 1

#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)
#define CG_LANE_SET NAMED(mixed_lanes_, CG_LANES)
#define CG_MODEL_N 3
#define CG_MODEL_NU 1
#define CG_MODEL_RHS mixed_kernel
#define CG_MODEL_OPERATIONS 40
#define CG_MODEL_WORK 1
#define CG_MODEL_DIGEST DIGEST
#include "cg_lanes_inline.h"

#else

long mixed_calls;

static int mixed_rhs(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,
                     double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    return mixed_kernel(&t, x, p, u, out, work) ? CG_OK : CG_SINGULAR;
}

#define CG_MODEL_N 3
#define CG_MODEL_NU 1
#define CG_MODEL_RHS mixed_rhs
#define CG_MODEL_OPERATIONS 40
#include "cg_inline.h"

static const cg_variable_t states[] = {{"x", "", "", 0.1, CG_COORDINATE, 0},
                                       {"angle", "rad", "", 0.5, CG_COORDINATE, 0},
                                       {"rate", "rad/s", "", 0.0, CG_VELOCITY, 0}};
static const cg_variable_t parameters[] = {{"kind", "", "", 0.0, CG_PARAMETER, 0},
                                           {"threshold", "", "", 1.0, CG_PARAMETER, 0}};
static const cg_variable_t inputs[] = {{"drive", "", "", 0.0, CG_INPUT, 0}};

const cg_model_t mixed_model = {
    .abi_version = CG_ABI_VERSION, .struct_size = sizeof(cg_model_t), .name = "mixed", .form = "by hand",
    .digest = DIGEST, .generator = "", .scalar = "float64",
    .n_states = 3, .n_parameters = 2, .n_inputs = 1, .n_work = 1, .states = states, .parameters = parameters,
    .inputs = inputs, .rhs = mixed_rhs, .methods = cg_inline_methods,
};

#endif
