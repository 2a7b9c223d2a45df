/* One state with one of several right-hand sides, chosen by p[0]; p[1] is the threshold. */
#include "models.h"

#include <math.h>

static int probe_rhs(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,
                     double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    const int kind = (int)p[0];
    (void)u;
    work[0] = x[0];
    switch (kind) {
    case PROBE_RATIONAL: /* x = 1 / (1 + t^2) */
        out[0] = -2.0 * t * work[0] * work[0];
        return CG_OK;
    case PROBE_BLOW_UP: /* x = 1 / (1 - t) from x(0) = 1 */
        out[0] = work[0] * work[0];
        return CG_OK;
    case PROBE_SINGULAR: /* x' = 1 until x passes the threshold */
        out[0] = 1.0;
        return x[0] > p[1] ? CG_SINGULAR : CG_OK;
    case PROBE_NAN:
        out[0] = x[0] > p[1] ? HUGE_VAL - HUGE_VAL : 1.0;
        return CG_OK;
    case PROBE_INFINITE:
        out[0] = x[0] > p[1] ? HUGE_VAL : 1.0;
        return CG_OK;
    case PROBE_SQUARE_ROOT: /* x = (t / 2)^2 from x = 1, t = 2 backward; the root fails for x < 0 */
        out[0] = sqrt(x[0]);
        return CG_OK;
    case PROBE_JUMP: /* the slope jumps by 1e6 at the threshold */
        out[0] = t < p[1] ? 1.0 : 1e6;
        return CG_OK;
    default: /* x is constant */
        out[0] = 0.0;
        return CG_OK;
    }
}

#ifdef CHAPLYGIN_INLINE_METHODS
#define CG_MODEL_N 1
#define CG_MODEL_NU 0
#define CG_MODEL_RHS probe_rhs
#define CG_MODEL_OPERATIONS 5
#include "cg_inline.h"
#endif

static const cg_variable_t probe_states[] = {{"x", "", "", 1.0, CG_COORDINATE, 0}};
static const cg_variable_t probe_parameters[] = {{"kind", "", "", 0.0, CG_PARAMETER, 0},
                                                 {"threshold", "", "", 1.0, CG_PARAMETER, 0}};

const cg_model_t probe_model = {
    HEAD("probe"), .n_states = 1, .n_coordinates = 1, .n_parameters = 2, .n_work = 1,
    .states = probe_states, .parameters = probe_parameters, .rhs = probe_rhs, .methods = METHODS,
};
