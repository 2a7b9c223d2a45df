/* Hand-written models with events and contacts, all with closed forms, used by the C tests and the Python tests. */
#include "models.h"

#include <math.h>

#define ARGUMENTS                                                                                              \
    double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,           \
        double *CG_RESTRICT out, double *CG_RESTRICT work
#define UNUSED (void)t, (void)x, (void)p, (void)u, (void)work
#define KERNEL(model_, name_, length_) {#name_, "", CG_TAKES_STATE, length_, (cg_function_t)model_##_##name_}
#define END {NULL, NULL, 0, 0, NULL}
#define PARAMETER(name_, value_) {name_, "", "", value_, CG_PARAMETER, 0}
#define STATE(name_, value_, kind_) {name_, "", "", value_, kind_, 0}

/* clock: x' = 1, with a guard with known zeros: kind 0: p[1] (x - r0)(x - r1)(x - r2)(x - r3); 1: p[1] sin(r0 x + r1);
 * 2: |x - r0| - r1, with a kink. */
static int clock_rhs(ARGUMENTS)
{
    UNUSED;
    out[0] = 1.0;
    return CG_OK;
}

static int clock_guards(ARGUMENTS)
{
    UNUSED;
    const double *const r = p + 2;
    if (p[0] == 0.0) {
        out[0] = p[1] * (x[0] - r[0]) * (x[0] - r[1]) * (x[0] - r[2]) * (x[0] - r[3]);
    } else if (p[0] == 1.0) {
        out[0] = p[1] * sin(r[0] * x[0] + r[1]);
    } else {
        out[0] = fabs(x[0] - r[0]) - r[1];
    }
    return CG_OK;
}

static const cg_variable_t clock_states[] = {STATE("x", 0.0, CG_COORDINATE)};
static const cg_variable_t clock_parameters[] = {PARAMETER("kind", 0.0), PARAMETER("scale", 1.0), PARAMETER("r0", 1.0),
                                                 PARAMETER("r1", 2.0), PARAMETER("r2", 3.0), PARAMETER("r3", 4.0)};
static const cg_variable_t clock_guard_table[] = {STATE("zero", 0.0, CG_GUARD)};
static const cg_event_t clock_events[] = {{"zero", 0, 0, 0, 0}};
static const cg_kernel_entry_t clock_kernels[] = {KERNEL(clock, rhs, 1), END};
const cg_model_t clock_model = {
    HEAD("clock"), .n_states = 1, .n_coordinates = 1, .n_parameters = 6, .n_guards = 1, .n_events = 1,
    .states = clock_states, .parameters = clock_parameters, .guards = clock_guard_table, .events = clock_events,
    .kernels = clock_kernels, .rhs = clock_rhs, .guards_fn = clock_guards,
};

/* spring: x'' = -w^2 x, with x = 0 (both ways), v = 0 (falling) and x = level (terminal if stop is not 0) */
static int spring_rhs(ARGUMENTS)
{
    UNUSED;
    out[0] = x[1];
    out[1] = -p[0] * p[0] * x[0];
    return CG_OK;
}

static int spring_jacobian(ARGUMENTS)
{
    UNUSED;
    out[0] = 0.0;
    out[1] = 1.0;
    out[2] = -p[0] * p[0];
    out[3] = 0.0;
    return CG_OK;
}

static int spring_guards(ARGUMENTS)
{
    UNUSED;
    out[0] = x[0];
    out[1] = x[1];
    out[2] = p[2] != 0.0 ? x[0] - p[1] : 1.0;
    return CG_OK;
}

#ifdef CHAPLYGIN_INLINE_METHODS
#define CG_MODEL_N 2
#define CG_MODEL_NU 0
#define CG_MODEL_RHS spring_rhs
#define CG_MODEL_OPERATIONS 5
#include "cg_inline.h"
#endif

static const cg_variable_t spring_states[] = {STATE("x", 1.0, CG_COORDINATE), STATE("v", 0.0, CG_VELOCITY)};
static const cg_variable_t spring_parameters[] = {PARAMETER("w", 1.0), PARAMETER("level", 0.5), PARAMETER("stop", 0.0)};
static const cg_variable_t spring_guard_table[] = {STATE("cross", 0.0, CG_GUARD), STATE("top", 0.0, CG_GUARD),
                                                   STATE("level", 0.0, CG_GUARD)};
static const cg_event_t spring_events[] = {{"cross", 0, 0, 0, 0}, {"top", -1, 0, 0, 0}, {"level", 0, 1, 0, 0}};
static const cg_kernel_entry_t spring_kernels[] = {KERNEL(spring, rhs, 2), KERNEL(spring, jacobian, 4), END};
const cg_model_t spring_model = {
    HEAD("spring"), .n_states = 2, .n_coordinates = 1, .n_parameters = 3, .n_guards = 3, .n_events = 3,
    .states = spring_states, .parameters = spring_parameters, .guards = spring_guard_table, .events = spring_events,
    .kernels = spring_kernels, .rhs = spring_rhs, .jacobian = spring_jacobian, .guards_fn = spring_guards,
    .methods = METHODS,
};

/* ball: y'' = -g; on reaching the floor, v = -e v. The second event, with the same guard, counts the bounces. */
static int ball_rhs(ARGUMENTS)
{
    UNUSED;
    out[0] = x[1];
    out[1] = -p[0];
    out[2] = 0.0;
    return CG_OK;
}

static int ball_guards(ARGUMENTS)
{
    UNUSED;
    out[0] = x[0] - p[2];
    out[1] = x[0] - p[2];
    return CG_OK;
}

static int ball_reset(int32_t event, ARGUMENTS)
{
    UNUSED;
    out[0] = x[0];
    out[1] = event == 0 ? -p[1] * x[1] : x[1];
    out[2] = event == 1 ? x[2] + (x[1] > 0.0 ? 1.0 : 1000.0) : x[2]; /* after the first event the ball rises */
    return CG_OK;
}

static const cg_variable_t ball_states[] = {STATE("y", 1.0, CG_COORDINATE), STATE("v", 0.0, CG_VELOCITY),
                                            STATE("bounces", 0.0, CG_VELOCITY)};
static const cg_variable_t ball_parameters[] = {PARAMETER("g", 9.81), PARAMETER("e", 0.5), PARAMETER("floor", 0.0)};
static const cg_variable_t ball_guard_table[] = {STATE("bounce", 0.0, CG_GUARD), STATE("count", 0.0, CG_GUARD)};
static const cg_event_t ball_events[] = {{"bounce", -1, 0, 1, 0}, {"count", -1, 0, 1, 0}};
static const cg_kernel_entry_t ball_kernels[] = {KERNEL(ball, rhs, 3), END};
const cg_model_t ball_model = {
    HEAD("ball"), .n_states = 3, .n_coordinates = 1, .n_parameters = 3, .n_guards = 2, .n_events = 2,
    .states = ball_states, .parameters = ball_parameters, .guards = ball_guard_table, .events = ball_events,
    .kernels = ball_kernels, .rhs = ball_rhs, .guards_fn = ball_guards, .reset = ball_reset,
};

/* switched: x' = c - sign(x - 1), a kink of the right-hand side; |c| < 1: it cannot leave x = 1. */
static int switched_rhs(ARGUMENTS)
{
    UNUSED;
    out[0] = p[0] - (x[0] > 1.0 ? p[1] : x[0] < 1.0 ? -p[1] : 0.0);
    return CG_OK;
}

static int switched_guards(ARGUMENTS)
{
    UNUSED;
    out[0] = x[0] - 1.0;
    return CG_OK;
}

static const cg_variable_t switched_parameters[] = {PARAMETER("c", 2.0), PARAMETER("jump", 1.0)};
static const cg_variable_t switched_guard_table[] = {STATE("x - 1", 0.0, CG_GUARD)};
static const cg_kernel_entry_t switched_kernels[] = {KERNEL(switched, rhs, 1), END};
const cg_model_t switched_model = {
    HEAD("switched"), .n_states = 1, .n_coordinates = 1, .n_parameters = 2, .n_guards = 1,
    .states = clock_states, .parameters = switched_parameters, .guards = switched_guard_table,
    .kernels = switched_kernels, .rhs = switched_rhs, .guards_fn = switched_guards,
};

/* block: m x'' = F - k x + T on a belt of speed s, normal force N = m g; F is an input. */
enum { M, K, MU, G, S };

static double block_friction(const double *p, double force, double sigma)
{
    return sigma == 0.0 ? -force : -sigma * p[MU] * p[M] * p[G];
}

static int block_rhs(ARGUMENTS)
{
    UNUSED;
    const double force = u[0] - p[K] * x[0];
    out[0] = x[1];
    out[1] = u[1] == 0.0 ? 0.0 : (force + block_friction(p, force, u[1])) / p[M];
    return CG_OK;
}

static int block_contacts(ARGUMENTS)
{
    UNUSED;
    const double force = u[0] - p[K] * x[0];
    out[0] = x[1] - p[S];
    out[1] = block_friction(p, force, u[1]);
    out[2] = p[MU] * p[M] * p[G];
    out[3] = (force + out[1]) / p[M];
    out[4] = p[M] * p[G];
    return CG_OK;
}

static int block_project(ARGUMENTS)
{
    UNUSED;
    out[0] = x[0];
    out[1] = u[1] == 0.0 ? p[S] : x[1];
    return CG_OK;
}

static const cg_variable_t block_parameters[] = {PARAMETER("m", 1.0), PARAMETER("k", 4.0), PARAMETER("mu", 0.3),
                                                 PARAMETER("g", 10.0), PARAMETER("s", 0.5)};
static const cg_variable_t block_inputs[] = {{"F", "N", "", 0.0, CG_INPUT, 0}};
static const cg_variable_t block_modes[] = {{"belt", "", "", 0.0, CG_MODE, 0}};
static const cg_contact_t block_contact_table[] = {{"belt", -1, 0}};
static const cg_variable_t block_outputs[] = {{"friction", "N", "", 0.0, CG_OUTPUT, 0}};

static int block_outputs_fn(ARGUMENTS)
{
    UNUSED;
    out[0] = block_friction(p, u[0] - p[K] * x[0], u[1]);
    return CG_OK;
}

static const cg_kernel_entry_t block_kernels[] = {
    KERNEL(block, rhs, 2), {"outputs", "", CG_TAKES_STATE, 1, (cg_function_t)block_outputs_fn},
    KERNEL(block, contacts, 5), END};
const cg_model_t block_model = {
    HEAD("block"), .n_states = 2, .n_coordinates = 1, .n_parameters = 5, .n_inputs = 1, .n_modes = 1, .n_contacts = 1,
    .n_outputs = 1,
    .states = spring_states, .parameters = block_parameters, .inputs = block_inputs, .modes = block_modes,
    .outputs = block_outputs, .contacts = block_contact_table,
    .kernels = block_kernels, .rhs = block_rhs, .contacts_fn = block_contacts, .project = block_project,
    .outputs_fn = block_outputs_fn,
};

/* rod: one contact whose normal force depends on its friction: m v' = F + T, N = a + b T with T = -sigma mu s N, s the
 * sign of N. With |b| mu > 1 there are states with no solution and states with several: Painleve's paradox. */
enum { ROD_F, ROD_MU, ROD_A, ROD_B, ROD_RATE };

static void rod_forces(const double *x, const double *p, const double *u, double *friction, double *normal)
{
    const double a = p[ROD_A] + p[ROD_RATE] * x[0];
    if (u[0] == 0.0) {
        *friction = -p[ROD_F];
        *normal = a + p[ROD_B] * *friction;
    } else {
        *normal = a / (1.0 + p[ROD_B] * u[0] * p[ROD_MU] * u[1]);
        *friction = -u[0] * p[ROD_MU] * u[1] * *normal;
    }
}

static int rod_rhs(ARGUMENTS)
{
    UNUSED;
    double friction, normal;
    rod_forces(x, p, u, &friction, &normal);
    out[0] = x[1];
    out[1] = p[ROD_F] + friction;
    return CG_OK;
}

static int rod_contacts(ARGUMENTS)
{
    UNUSED;
    double friction, normal;
    rod_forces(x, p, u, &friction, &normal);
    out[0] = x[1];
    out[1] = friction;
    out[2] = p[ROD_MU] * fabs(normal);
    out[3] = p[ROD_F] + friction;
    out[4] = normal;
    return CG_OK;
}

static int rod_project(ARGUMENTS)
{
    UNUSED;
    out[0] = x[0];
    out[1] = u[0] == 0.0 ? 0.0 : x[1];
    return CG_OK;
}

static const cg_variable_t rod_parameters[] = {PARAMETER("F", 0.0), PARAMETER("mu", 0.5), PARAMETER("a", 1.0),
                                               PARAMETER("b", 0.5), PARAMETER("rate", 0.0)};
static const cg_variable_t rod_modes[] = {{"tip", "", "", 0.0, CG_MODE, 0}, {"tip_sign", "", "", 0.0, CG_MODE, 0}};
static const cg_contact_t rod_contact_table[] = {{"tip", 0, 0}};
static const cg_kernel_entry_t rod_kernels[] = {KERNEL(rod, rhs, 2), KERNEL(rod, contacts, 5), END};
const cg_model_t rod_model = {
    HEAD("rod"), .n_states = 2, .n_coordinates = 1, .n_parameters = 5, .n_modes = 2, .n_contacts = 1,
    .states = spring_states, .parameters = rod_parameters, .modes = rod_modes, .contacts = rod_contact_table,
    .kernels = rod_kernels, .rhs = rod_rhs, .contacts_fn = rod_contacts, .project = rod_project,
};

/* klein: the Painleve-Klein example, two points on rough guides, joined by a rod (l + delta, stiffness K,
 * damping C) across the distance d. Source of the example: A. A. Zobova. */
enum { KLEIN_D, KLEIN_L, KLEIN_X1, KLEIN_Y1, KLEIN_MU1, KLEIN_X2, KLEIN_Y2, KLEIN_MU2, KLEIN_K, KLEIN_C };

/* Forces along the guides without friction, and normal forces. */
static void klein_forces(const double *x, const double *p, double *along, double *normal)
{
    const double across = x[0] - x[1];
    const double length = sqrt(across * across + p[KLEIN_D] * p[KLEIN_D]);
    const double c = across / length, s = p[KLEIN_D] / length;
    const double rod = p[KLEIN_K] * (length - p[KLEIN_L]) + p[KLEIN_C] * c * (x[2] - x[3]);
    along[0] = p[KLEIN_X1] - rod * c;
    along[1] = p[KLEIN_X2] + rod * c;
    normal[0] = rod * s - p[KLEIN_Y1];
    normal[1] = -p[KLEIN_Y2] - rod * s;
}

static int klein_contacts(ARGUMENTS)
{
    double along[2], normal[2];
    UNUSED;
    klein_forces(x, p, along, normal);
    for (int i = 0; i < 2; i++) {
        double *const own = out + 5 * i;
        own[0] = x[2 + i];
        own[2] = p[i == 0 ? KLEIN_MU1 : KLEIN_MU2] * fabs(normal[i]);
        own[1] = u[i] == 0.0 ? -along[i] : -u[i] * own[2];
        own[3] = along[i] + own[1];
        own[4] = normal[i];
    }
    return CG_OK;
}

static int klein_rhs(ARGUMENTS)
{
    double contacts[10];
    klein_contacts(t, x, p, u, contacts, work);
    out[0] = x[2];
    out[1] = x[3];
    out[2] = contacts[3];
    out[3] = contacts[8];
    return CG_OK;
}

static int klein_project(ARGUMENTS)
{
    UNUSED;
    for (int i = 0; i < 2; i++) {
        out[i] = x[i];
        out[2 + i] = u[i] == 0.0 ? 0.0 : x[2 + i];
    }
    return CG_OK;
}

static const cg_variable_t klein_states[] = {STATE("x1", 0.0, CG_COORDINATE), STATE("x2", 0.0, CG_COORDINATE),
                                             STATE("v1", 0.0, CG_VELOCITY), STATE("v2", 0.0, CG_VELOCITY)};
static const cg_variable_t klein_parameters[] = {
    PARAMETER("d", 0.8), PARAMETER("l", 1.0), PARAMETER("X1", 3.6), PARAMETER("Y1", 0.8), PARAMETER("mu1", 0.525),
    PARAMETER("X2", 0.0), PARAMETER("Y2", -2.4), PARAMETER("mu2", 2.85), PARAMETER("K", 100.0), PARAMETER("C", 10.0)};
static const cg_variable_t klein_modes[] = {{"first", "", "", 0.0, CG_MODE, 0}, {"second", "", "", 0.0, CG_MODE, 0}};
static const cg_contact_t klein_contact_table[] = {{"first", -1, 0}, {"second", -1, 0}};
static const cg_kernel_entry_t klein_kernels[] = {KERNEL(klein, rhs, 4), KERNEL(klein, contacts, 10), END};
const cg_model_t klein_model = {
    HEAD("klein"), .n_states = 4, .n_coordinates = 2, .n_parameters = 10, .n_modes = 2, .n_contacts = 2,
    .states = klein_states, .parameters = klein_parameters, .modes = klein_modes, .contacts = klein_contact_table,
    .kernels = klein_kernels, .rhs = klein_rhs, .contacts_fn = klein_contacts, .project = klein_project,
};
