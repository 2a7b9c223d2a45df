/* A hand-written heavy top: unit quaternion q (body to space), body rates w, pivot to centre of mass r (body).
 * q' = q o w / 2, I w' = (I w) x w - m g r x gamma, gamma = R^T e3. */
#include "models.h"

static int top_rhs(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,
                   double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    const double q0 = x[0], q1 = x[1], q2 = x[2], q3 = x[3], w1 = x[4], w2 = x[5], w3 = x[6];
    const double mg = p[3] * p[4];
    const double g1 = mg * (2.0 * (q1 * q3 - q0 * q2));
    const double g2 = mg * (2.0 * (q2 * q3 + q0 * q1));
    const double g3 = mg * (q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3);
    (void)t;
    (void)u;
    (void)work;
    out[0] = 0.5 * (-q1 * w1 - q2 * w2 - q3 * w3);
    out[1] = 0.5 * (q0 * w1 + q2 * w3 - q3 * w2);
    out[2] = 0.5 * (q0 * w2 + q3 * w1 - q1 * w3);
    out[3] = 0.5 * (q0 * w3 + q1 * w2 - q2 * w1);
    out[4] = ((p[1] - p[2]) * w2 * w3 - (p[6] * g3 - p[7] * g2)) / p[0];
    out[5] = ((p[2] - p[0]) * w3 * w1 - (p[7] * g1 - p[5] * g3)) / p[1];
    out[6] = ((p[0] - p[1]) * w1 * w2 - (p[5] * g2 - p[6] * g1)) / p[2];
    return CG_OK;
}

#ifdef CHAPLYGIN_INLINE_METHODS
#define CG_MODEL_N 7
#define CG_MODEL_NU 0
#define CG_MODEL_RHS top_rhs
#define CG_MODEL_OPERATIONS 75
#include "cg_inline.h"
#endif

static const cg_variable_t top_states[] = {
    {"q0", "", "", 1.0, CG_COORDINATE, 0}, {"q1", "", "", 0.0, CG_COORDINATE, 0},
    {"q2", "", "", 0.0, CG_COORDINATE, 0}, {"q3", "", "", 0.0, CG_COORDINATE, 0},
    {"w1", "", "", 0.0, CG_VELOCITY, 0},   {"w2", "", "", 0.0, CG_VELOCITY, 0},
    {"w3", "", "", 1.0, CG_VELOCITY, 0},
};
static const cg_variable_t top_parameters[] = {
    {"I1", "", "", 1.5, CG_PARAMETER, 0}, {"I2", "", "", 1.1, CG_PARAMETER, 0},
    {"I3", "", "", 0.9, CG_PARAMETER, 0}, {"m", "", "", 2.0, CG_PARAMETER, 0},
    {"g", "", "", 9.81, CG_PARAMETER, 0}, {"r1", "", "", 0.2, CG_PARAMETER, 0},
    {"r2", "", "", -0.1, CG_PARAMETER, 0}, {"r3", "", "", 0.5, CG_PARAMETER, 0},
};

const cg_model_t top_model = {
    HEAD("top"), .n_states = 7, .n_coordinates = 4, .n_parameters = 8,
    .states = top_states, .parameters = top_parameters, .rhs = top_rhs, .methods = METHODS,
};
