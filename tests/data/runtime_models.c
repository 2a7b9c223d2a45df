/* Small hand-written models for the tests of the Python runtime, which need neither the generator nor Cython. */
#include "chaplygin.h"

#include <math.h>
#include <stddef.h>

#define ARGUMENTS                                                                                              \
    double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,           \
        double *CG_RESTRICT out, double *CG_RESTRICT work
#define UNUSED (void)t, (void)x, (void)p, (void)u, (void)work
#define HEAD(name_, form_)                                                                                     \
    .abi_version = CG_ABI_VERSION, .struct_size = sizeof(cg_model_t), .name = name_, .form = form_,            \
    .digest = "0123", .generator = "by hand", .scalar = "float64", .independent = "t"
#define KERNEL(model_, name_, length_)                                                                         \
    {#name_, "", CG_TAKES_STATE, length_, (cg_function_t)model_##_##name_}
#define END {NULL, NULL, 0, 0, NULL}

/* oscillator: m q'' = F - k q. Singular where m = 0. */
static int oscillator_rhs(ARGUMENTS)
{
    UNUSED;
    if (p[0] == 0.0) {
        return CG_SINGULAR;
    }
    out[0] = x[1];
    out[1] = (u[0] - p[1] * x[0]) / p[0];
    return CG_OK;
}

static int oscillator_jacobian(ARGUMENTS)
{
    UNUSED;
    out[0] = 0.0;
    out[1] = 1.0;
    out[2] = -p[1] / p[0];
    out[3] = 0.0;
    return CG_OK;
}

static int oscillator_jvp(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                          const double *CG_RESTRICT u, const double *CG_RESTRICT v, double *CG_RESTRICT out,
                          double *CG_RESTRICT work)
{
    UNUSED;
    out[0] = v[1];
    out[1] = -p[1] / p[0] * v[0];
    return CG_OK;
}

static int oscillator_outputs(ARGUMENTS)
{
    UNUSED;
    out[0] = 0.0;
    out[1] = u[0] - p[1] * x[0];
    return CG_OK;
}

static int oscillator_invariants(ARGUMENTS)
{
    UNUSED;
    out[0] = 0.5 * p[0] * x[1] * x[1] + 0.5 * p[1] * x[0] * x[0];
    return CG_OK;
}

static const cg_variable_t oscillator_states[] = {{"q", "m", "position", 1.0, CG_COORDINATE, 0},
                                                  {"v", "m/s", "", 0.0, CG_VELOCITY, 0}};
static const cg_variable_t oscillator_parameters[] = {{"m", "kg", "mass", 1.0, CG_PARAMETER, 0},
                                                      {"k", "N/m", "stiffness", 4.0, CG_PARAMETER, 0}};
static const cg_variable_t oscillator_inputs[] = {{"F", "N", "force", 0.0, CG_INPUT, 0}};
static const cg_variable_t oscillator_outputs_table[] = {{"w", "m/s", "", 0.0, CG_DECLARED, 0},
                                                         {"pull", "N", "", 0.0, CG_OUTPUT, 0}};
static const cg_variable_t oscillator_invariants_table[] = {{"energy", "J", "", 0.0, CG_INVARIANT, 0}};

static const cg_kernel_entry_t oscillator_kernels[] = {
    KERNEL(oscillator, rhs, 2),
    {"jvp", "", CG_TAKES_DIRECTION, 2, (cg_function_t)oscillator_jvp},
    KERNEL(oscillator, jacobian, 4),
    KERNEL(oscillator, outputs, 2),
    KERNEL(oscillator, invariants, 1),
    END};

const cg_model_t oscillator_model = {
    HEAD("oscillator", "lagrange"),
    .n_states = 2, .n_coordinates = 1, .n_parameters = 2, .n_inputs = 1, .n_outputs = 2, .n_invariants = 1,
    .states = oscillator_states, .parameters = oscillator_parameters, .inputs = oscillator_inputs,
    .outputs = oscillator_outputs_table, .invariants = oscillator_invariants_table,
    .kernels = oscillator_kernels, .rhs = oscillator_rhs, .jacobian = oscillator_jacobian, .jvp = oscillator_jvp,
    .outputs_fn = oscillator_outputs, .invariants_fn = oscillator_invariants,
};

/* sleigh: (J + m a^2) omega' = tau - m a omega v, v' = a omega^2. */
static int sleigh_rhs(ARGUMENTS)
{
    UNUSED;
    out[0] = x[3];
    out[1] = x[4] * cos(x[0]);
    out[2] = x[4] * sin(x[0]);
    out[3] = (u[0] - p[0] * p[1] * x[3] * x[4]) / (p[2] + p[0] * p[1] * p[1]);
    out[4] = p[1] * x[3] * x[3];
    return CG_OK;
}

static int sleigh_invariants(ARGUMENTS)
{
    UNUSED;
    out[0] = 0.5 * p[0] * x[4] * x[4] + 0.5 * (p[2] + p[0] * p[1] * p[1]) * x[3] * x[3];
    return CG_OK;
}

#ifdef CHAPLYGIN_INLINE_METHODS
#define CG_MODEL_N 5
#define CG_MODEL_NU 1
#define CG_MODEL_RHS sleigh_rhs
#include "cg_inline.h"
#define SLEIGH_METHODS cg_inline_methods
#else
#define SLEIGH_METHODS NULL
#endif

static const cg_variable_t sleigh_states[] = {
    {"phi", "rad", "", 0.0, CG_COORDINATE, 0}, {"x", "m", "", 0.0, CG_COORDINATE, 0},
    {"y", "m", "", 0.0, CG_COORDINATE, 0},     {"omega", "rad/s", "", 1.0, CG_VELOCITY, 0},
    {"v", "m/s", "", 1.0, CG_VELOCITY, 0}};
static const cg_variable_t sleigh_parameters[] = {
    {"m", "kg", "", 1.0, CG_PARAMETER, 0}, {"a", "m", "", 0.2, CG_PARAMETER, 0}, {"J", "", "", 0.5, CG_PARAMETER, 0}};
static const cg_variable_t sleigh_inputs[] = {{"tau", "N m", "", 0.0, CG_INPUT, 0}};

static const cg_kernel_entry_t sleigh_kernels[] = {
    KERNEL(sleigh, rhs, 5),
    KERNEL(sleigh, invariants, 1),
    END};

const cg_model_t sleigh_model = {
    HEAD("sleigh", "maggi"),
    .n_states = 5, .n_coordinates = 3, .n_parameters = 3, .n_inputs = 1, .n_invariants = 1,
    .states = sleigh_states, .parameters = sleigh_parameters, .inputs = sleigh_inputs,
    .invariants = oscillator_invariants_table, .kernels = sleigh_kernels, .rhs = sleigh_rhs, .invariants_fn = sleigh_invariants,
    .methods = SLEIGH_METHODS,
};

/* momentum: a mass on a spring in (q, p_v = m v), with the energy h as a parameter determined by the initial state. */
static int momentum_rhs(ARGUMENTS)
{
    UNUSED;
    out[0] = x[1] / p[0];
    out[1] = -p[1] * x[0];
    return CG_OK;
}

static int momentum_initial(ARGUMENTS)
{
    UNUSED;
    out[0] = x[0];
    out[1] = p[0] * x[1];
    out[2] = p[0];
    out[3] = p[1];
    out[4] = 0.5 * p[0] * x[1] * x[1] + 0.5 * p[1] * x[0] * x[0];
    return CG_OK;
}

static const cg_variable_t momentum_states[] = {{"q", "m", "", 1.0, CG_COORDINATE, 0},
                                                {"p_v", "kg m/s", "", 0.0, CG_VELOCITY, 0}};
static const cg_variable_t momentum_parameters[] = {{"m", "kg", "", 1.0, CG_PARAMETER, 0},
                                                    {"k", "N/m", "", 1.0, CG_PARAMETER, 0},
                                                    {"h", "J", "", 1.0, CG_PARAMETER, 0}};

static const cg_kernel_entry_t momentum_kernels[] = {
    KERNEL(momentum, rhs, 2),
    {"initial", "", CG_TAKES_DECLARED, 5, (cg_function_t)momentum_initial},
    END};

const cg_model_t momentum_model = {
    HEAD("momentum", "chetaev"),
    .n_states = 2, .n_coordinates = 1, .n_parameters = 3, .n_declared = 2,
    .states = momentum_states, .parameters = momentum_parameters, .declared = oscillator_states,
    .kernels = momentum_kernels, .rhs = momentum_rhs, .initial = momentum_initial,
};

/* runaway: x' = x^2, x = 1 / (1 / x0 - t); with c != 0, x' = 1 until the equations become singular at t = c. */
static int runaway_rhs(ARGUMENTS)
{
    UNUSED;
    if (p[0] != 0.0 && t >= p[0]) {
        return CG_SINGULAR;
    }
    out[0] = p[0] == 0.0 ? x[0] * x[0] : 1.0;
    return CG_OK;
}

static const cg_variable_t runaway_states[] = {{"x", "", "", 1.0, CG_COORDINATE, 0}};
static const cg_variable_t runaway_parameters[] = {{"c", "", "", 0.0, CG_PARAMETER, 0}};

static const cg_kernel_entry_t runaway_kernels[] = {
    KERNEL(runaway, rhs, 1),
    END};

const cg_model_t runaway_model = {
    HEAD("runaway", ""),
    .n_states = 1, .n_coordinates = 1, .n_parameters = 1,
    .states = runaway_states, .parameters = runaway_parameters, .kernels = runaway_kernels, .rhs = runaway_rhs,
};

/* stale: the table of an earlier version of the interface. */
const cg_model_t stale_model = {
    .abi_version = CG_ABI_VERSION - 1u, .struct_size = sizeof(cg_model_t), .name = "stale", .form = "",
    .digest = "", .generator = "", .scalar = "float64", .n_states = 1, .states = runaway_states, .rhs = runaway_rhs,
};
