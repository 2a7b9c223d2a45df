/* A hand-written Chaplygin sleigh of unit mass: phi, x, y, omega = phi', forward speed v of the blade's point.
 * s^2 = a^2 + k^2: omega' = (-a omega v + a b omega^2) / s^2, v' = a omega^2 + b omega'. */
#include "models.h"

#include <math.h>

static int sleigh_rhs(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                      const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    const double a = p[0], b = p[1], k = p[2];
    const double phi = x[0], omega = x[3], v = x[4];
    const double omega_rate = (-a * omega * v + a * b * omega * omega) / (a * a + k * k);
    (void)t;
    (void)u;
    (void)work;
    out[0] = omega;
    out[1] = v * cos(phi);
    out[2] = v * sin(phi);
    out[3] = omega_rate;
    out[4] = a * omega * omega + b * omega_rate;
    return CG_OK;
}

#ifdef CHAPLYGIN_INLINE_METHODS
#define CG_MODEL_N 5
#define CG_MODEL_NU 0
#define CG_MODEL_RHS sleigh_rhs
#define CG_MODEL_OPERATIONS 20
#include "cg_inline.h"
#endif

static const cg_variable_t sleigh_states[] = {
    {"phi", "rad", "", 0.2, CG_COORDINATE, 0}, {"x", "m", "", 0.1, CG_COORDINATE, 0},
    {"y", "m", "", -0.3, CG_COORDINATE, 0},    {"omega", "rad/s", "", 0.8, CG_VELOCITY, 0},
    {"v", "m/s", "", 1.0, CG_VELOCITY, 0},
};
static const cg_variable_t sleigh_parameters[] = {
    {"a", "m", "", 0.4, CG_PARAMETER, 0}, {"b", "m", "", 0.15, CG_PARAMETER, 0}, {"k", "m", "", 0.6, CG_PARAMETER, 0},
};

const cg_model_t sleigh_model = {
    HEAD("sleigh"), .n_states = 5, .n_coordinates = 3, .n_parameters = 3,
    .states = sleigh_states, .parameters = sleigh_parameters, .rhs = sleigh_rhs, .methods = METHODS,
};
