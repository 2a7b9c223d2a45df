/* A hand-written driven harmonic oscillator: x' = v, v' = -omega^2 x + tau. Closed forms are in the tests. */
#include "models.h"

static int oscillator_rhs(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                          const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    (void)t;
    (void)work;
    out[0] = x[1];
    out[1] = -p[0] * p[0] * x[0] + u[0];
    return CG_OK;
}

#ifdef CHAPLYGIN_INLINE_METHODS
#define CG_MODEL_N 2
#define CG_MODEL_NU 1
#define CG_MODEL_RHS oscillator_rhs
#define CG_MODEL_OPERATIONS 5
#include "cg_inline.h"
#endif

static const cg_variable_t oscillator_states[] = {
    {"x", "m", "displacement", 1.0, CG_COORDINATE, 0},
    {"v", "m/s", "velocity", 0.0, CG_VELOCITY, 0},
};
static const cg_variable_t oscillator_parameters[] = {{"omega", "1/s", "", 1.0, CG_PARAMETER, 0}};
static const cg_variable_t oscillator_inputs[] = {{"tau", "N/kg", "", 0.0, CG_INPUT, 0}};

const cg_model_t oscillator_model = {
    HEAD("oscillator"), .n_states = 2, .n_coordinates = 1, .n_parameters = 1, .n_inputs = 1,
    .states = oscillator_states, .parameters = oscillator_parameters, .inputs = oscillator_inputs,
    .rhs = oscillator_rhs, .methods = METHODS,
};
