/* Hand-written stiff problems, chosen by p[0]; p[1] is the rate of the fast part. Two states and one input. */
#include "models.h"

#include <math.h>

static int stiff_rhs(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,
                     double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    (void)work;
    out[0] = 0.0;
    out[1] = 0.0;
    switch ((int)p[0]) {
    case STIFF_PROTHERO_ROBINSON: /* x = sin(t) if it starts there */
        out[0] = -p[1] * (x[0] - sin(t)) + cos(t);
        return CG_OK;
    case STIFF_DECAY: /* both states go to u, the second a thousand times slower */
        out[0] = -p[1] * (x[0] - u[0]);
        out[1] = -1e-3 * p[1] * (x[1] - u[0]);
        return CG_OK;
    case STIFF_BLOW_UP: /* x = 1 / (1 - t), and twice that */
        out[0] = x[0] * x[0];
        out[1] = 0.5 * x[1] * x[1];
        return CG_OK;
    case STIFF_TIMED: /* x = exp(sin t), y = exp(t^2) */
        out[0] = cos(t) * x[0];
        out[1] = 2.0 * t * x[1];
        return CG_OK;
    case STIFF_DRIVEN: /* x = y = exp(t^2) with u = 2 t */
        out[0] = u[0] * x[0];
        out[1] = u[0] * x[1];
        return CG_OK;
    case STIFF_OSCILLATOR: /* p[1] is the frequency */
        out[0] = x[1];
        out[1] = -p[1] * p[1] * x[0];
        return CG_OK;
    case STIFF_NO_SLOPE: /* the Jacobian fails where x < 1/2, the right-hand side does not */
        out[0] = -x[0];
        return CG_OK;
    default: /* Van der Pol */
        out[0] = x[1];
        out[1] = p[1] * (1.0 - x[0] * x[0]) * x[1] - x[0];
        return CG_OK;
    }
}

static int stiff_jacobian(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                          const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    (void)work;
    out[0] = 0.0;
    out[1] = 0.0;
    out[2] = 0.0;
    out[3] = 0.0;
    switch ((int)p[0]) {
    case STIFF_PROTHERO_ROBINSON:
        out[0] = -p[1];
        return CG_OK;
    case STIFF_DECAY:
        out[0] = -p[1];
        out[3] = -1e-3 * p[1];
        return CG_OK;
    case STIFF_BLOW_UP:
        out[0] = 2.0 * x[0];
        out[3] = x[1];
        return CG_OK;
    case STIFF_TIMED:
        out[0] = cos(t);
        out[3] = 2.0 * t;
        return CG_OK;
    case STIFF_DRIVEN:
        out[0] = u[0];
        out[3] = u[0];
        return CG_OK;
    case STIFF_OSCILLATOR:
        out[1] = 1.0;
        out[2] = -p[1] * p[1];
        return CG_OK;
    case STIFF_NO_SLOPE:
        out[0] = -1.0;
        return x[0] < 0.5 ? CG_SINGULAR : CG_OK;
    default:
        out[1] = 1.0;
        out[2] = -2.0 * p[1] * x[0] * x[1] - 1.0;
        out[3] = p[1] * (1.0 - x[0] * x[0]);
        return CG_OK;
    }
}

static const cg_variable_t stiff_states[] = {{"x", "", "", 1.0, CG_COORDINATE, 0},
                                             {"v", "", "", 0.0, CG_VELOCITY, 0}};
static const cg_variable_t stiff_parameters[] = {{"kind", "", "", 0.0, CG_PARAMETER, 0},
                                                 {"rate", "", "", 1.0, CG_PARAMETER, 0}};
static const cg_variable_t stiff_inputs[] = {{"u", "", "", 0.0, CG_INPUT, 0}};

const cg_model_t stiff_model = {
    HEAD("stiff"), .n_states = 2, .n_coordinates = 1, .n_parameters = 2, .n_inputs = 1,
    .states = stiff_states, .parameters = stiff_parameters, .inputs = stiff_inputs,
    .rhs = stiff_rhs, .jacobian = stiff_jacobian,
};
