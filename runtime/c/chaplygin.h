/* chaplygin.h: the binary interface of a compiled model.
 *
 * One table, `cg_model_t`, describes a model completely: names, units, sizes and kernels. It needs no library,
 * has no mutable state, and is the same for a model loaded into Python, linked into C, or wrapped as an FMU.
 *
 * Arrays and their lengths (of floating-point numbers, all owned by the caller):
 *   x    n_states       the state: coordinates, then velocities, in the order of `states`
 *   p    n_parameters   parameters, in the order of `parameters`
 *   u    n_inputs + n_modes   inputs in the order of `inputs`, then the modes (below)
 *   out  the kernel's result; its length is in the kernel's comment
 *   work n_work         scratch; may be NULL when n_work is 0
 * Arrays never overlap. Kernels allocate nothing and keep no state between calls.
 *
 * Modes of a model with Coulomb contacts: u[n_inputs + i], for contact i < n_contacts, is the direction of its slip,
 * -1 or +1, or 0 if it sticks. After these, for each contact with a normal force that depends on a multiplier,
 * u[n_inputs + n_contacts + j], -1 or +1, is the assumed sign of that force. So n_modes = n_contacts + the number of
 * such contacts.
 */
#ifndef CHAPLYGIN_H
#define CHAPLYGIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#define CG_RESTRICT
#else
#define CG_RESTRICT restrict
#endif

#if defined(__GNUC__)
#define CG_UNUSED __attribute__((unused)) /* a function of a header that not every file needs */
#else
#define CG_UNUSED
#endif

#define CG_ABI_VERSION 5u

/* Status of every function that can fail: zero or positive is success, negative is an error. X is a macro of a name, its
 * value, and the text that cg_status_text returns for it. */
#define CG_STATUSES(X)                                                                                                 \
    X(CG_OK, 0, "success")                                                                                             \
    X(CG_TERMINAL_EVENT, 1, "a terminal event ended the run")                                                          \
    X(CG_SINGULAR, -1, "the mass matrix or the constraints are singular (a pivot fell below its threshold)")           \
    X(CG_NONFINITE, -2, "a state or its rate is not finite")                                                           \
    X(CG_STEP_TOO_SMALL, -3,                                                                                           \
      "the step size fell below a few times the spacing of float64 numbers at t; the cause is a singularity, "         \
      "tolerances that are too tight, or a step or max_step too short for so large a time")                            \
    X(CG_TOO_MANY_STEPS, -4, "the limit on the number of steps was reached; raise max_steps or loosen rtol and atol")  \
    X(CG_INTERRUPTED, -5, "the run was interrupted")                                                                   \
    X(CG_INPUT_FAILED, -6, "an input function failed or returned a value that is not finite")                          \
    X(CG_BAD_ARGUMENT, -7, "an argument is outside its range")                                                         \
    X(CG_UNSUPPORTED, -8, "the model lacks a kernel that the run needs")                                               \
    X(CG_ACCUMULATING, -9,                                                                                             \
      "events accumulate: they follow one another at ever shorter intervals, or a reset leaves the motion "            \
      "where it goes straight back; let the event end the run (terminal=True), and go on with a model of the rest")     \
    X(CG_PARADOX, -10, "Painlev\u00e9's paradox: no contact mode satisfies the equations, or more than one does")      \
    X(CG_TOO_MANY_MODES, -11, "there are too many contact modes to try them all")                                      \
    X(CG_TANGENT_EVENT, -12,                                                                                           \
      "the motion meets an event or a change of contact modes tangentially, where sensitivities do not exist")         \
    X(CG_RANK_CHANGED, -13,                                                                                            \
      "the rank of the constraints changed: the loops are in a singular position, where constraints depend "           \
      "on others and several motions may go on")                                                                       \
    X(CG_UNCLOSED, -14,                                                                                                \
      "the end of a step cannot be brought back onto the constraints; tighten rtol and atol, unless the "              \
      "constraints contradict each other there, or a reset leaves them")                                               \
    X(CG_ORDER_MATTERS, -15,                                                                                           \
      "several things happen at one instant, in an order that matters: there sensitivities do not exist")

#define CG_STATUS_VALUE(name, value, text) name = value,
enum cg_status { CG_STATUSES(CG_STATUS_VALUE) };

/* What a named quantity is. */
enum cg_kind {
    CG_COORDINATE = 0, /* a state: a generalised coordinate */
    CG_VELOCITY = 1,   /* a state: a Poincare parameter (quasi-velocity), momentum or independent parameter */
    CG_PARAMETER = 2,
    CG_INPUT = 3,
    CG_DECLARED = 4,  /* an output: a declared variable that is not a state, e.g. a dependent velocity */
    CG_OUTPUT = 5,    /* an output named by the user */
    CG_REACTION = 6,  /* an output: a multiplier or constraint reaction */
    CG_INVARIANT = 7, /* conserved along every motion */
    CG_RESIDUAL = 8,  /* zero along every motion */
    CG_GUARD = 9,
    CG_MODE = 10
};

/* Properties of a variable; bits of `flags`. The first six are declared assumptions about a parameter, input or
 * coordinate; CG_ZERO_AT_START is for invariants and residuals, CG_QUATERNION for states. */
enum cg_flag {
    CG_NOT_NEGATIVE = 1,
    CG_NOT_POSITIVE = 2,
    CG_NOT_ZERO = 4, /* positive: CG_NOT_NEGATIVE | CG_NOT_ZERO */
    CG_INTEGER = 8,
    CG_EVEN = 16,
    CG_ODD = 32,
    CG_ZERO_AT_START = 64, /* must be zero at the start of a run: computed by the kernel `consistency` */
    CG_RATE = 128,         /* an input: the derivative by the time of the input before it */
    CG_QUATERNION = 256    /* the first of four coordinates, a quaternion that must have length 1 at the start of a run */
};

typedef struct cg_variable {
    const char *name;
    const char *unit;        /* "" if none is declared */
    const char *description; /* "" if none is declared */
    double example;          /* value at the example point, NaN if none is declared */
    int32_t kind;            /* enum cg_kind */
    int32_t flags;           /* bits of enum cg_flag */
} cg_variable_t;

/* An event: what happens when the guard with the same index crosses zero. */
typedef struct cg_event {
    const char *name;
    int32_t direction; /* +1: the guard rises through zero, -1: falls, 0: both */
    int32_t terminal;  /* 1: the run ends at the event */
    int32_t has_reset; /* 1: `reset` gives the state after the event */
    int32_t reserved;
} cg_event_t;

/* A Coulomb contact: its mode is u[n_inputs + its index]. */
typedef struct cg_contact {
    const char *name;
    int32_t sign; /* index j of its sign mode, u[n_inputs + n_contacts + j]; -1: N is a function of the state */
    int32_t reserved;
} cg_contact_t;

/* out = kernel(t, x, p, u). Returns CG_OK or an error. */
typedef int (*cg_kernel_t)(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                           const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work);

/* out = (d kernel / d x) . v, with v of length n_states. */
typedef int (*cg_jvp_t)(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                        const double *CG_RESTRICT u, const double *CG_RESTRICT v, double *CG_RESTRICT out,
                        double *CG_RESTRICT work);

/* x_after = reset of event `event` at state x. */
typedef int (*cg_reset_t)(int32_t event, double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                          const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work);

/* What a kernel takes: the arguments of a type above, and what x is. */
enum cg_takes {
    CG_TAKES_STATE = 0,     /* cg_kernel_t */
    CG_TAKES_DIRECTION = 1, /* cg_jvp_t */
    CG_TAKES_DECLARED = 2,  /* cg_kernel_t, where x has length n_declared: the declared coordinates and velocities */
    CG_TAKES_EVENT = 3      /* cg_reset_t */
};

typedef void (*cg_function_t)(void); /* any kernel: to be cast to its type */

/* A kernel of a model, by name. */
typedef struct cg_kernel_entry {
    const char *name;
    const char *text; /* what `out` is */
    int32_t takes;    /* enum cg_takes */
    int32_t length;   /* of `out` */
    cg_function_t function;
} cg_kernel_entry_t;

/* q[n_hoisted]: values in rhs that depend on the parameters alone. Only the methods compiled with a model read it.
 * Returns a status as rhs does. */
typedef int (*cg_hoist_t)(const double *CG_RESTRICT p, double *CG_RESTRICT q);

/* out = kernel(t, x, p, u) over the lanes of a cg_lane_set_t, one trajectory per lane, lane index fastest:
 * x[i * n_lanes + lane], and so on; t[lane]. All arrays are aligned to n_lanes doubles. status[lane] is set for each
 * lane; a failing lane does not affect the others. */
typedef void (*cg_lanes_t)(const double *CG_RESTRICT t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                           const double *CG_RESTRICT u, double *CG_RESTRICT out, int32_t *CG_RESTRICT status,
                           double *CG_RESTRICT work);

struct cg_run; /* state of one integration: cg_run.h */

/* What an integration method is. */
typedef struct cg_method_info {
    const char *name;
    const char *summary; /* a few words for a list of methods */
    int32_t order;
    int32_t adaptive; /* 0: fixed step */
    int32_t n_stages; /* rows of k in cg_run_t and cg_lanes_run_t */
    int32_t n_dense;  /* rows of coef */
    int32_t implicit; /* 1: needs the model's Jacobian; runs one trajectory at a time */
    int32_t layout;   /* CG_RUN_LAYOUT or CG_LANES_LAYOUT, with which it was compiled */
} cg_method_info_t;

/* An integration method, with the model's right-hand side compiled into it or, in the table of cg_method_table.c, for any
 * model; see cg_run.h. */
typedef struct cg_method {
    cg_method_info_t info;
    int (*step)(struct cg_run *run);  /* one accepted step */
    int (*dense)(struct cg_run *run); /* coefficients of the interpolant over the last step */
} cg_method_t;

struct cg_lanes_run; /* state of one group of trajectories running side by side: cg_lanes.h */

/* An integration method over lanes; see cg_lanes.h. */
typedef struct cg_lane_method {
    cg_method_info_t info;
    void (*prepare)(struct cg_lanes_run *run); /* derivative and first step of lanes that start */
    void (*advance)(struct cg_lanes_run *run); /* steps all lanes until one needs service */
    void (*dense)(struct cg_lanes_run *run);   /* coefficients of the interpolant over the last step */
} cg_lane_method_t;

/* CPU features required to run a set of lanes. */
enum cg_cpu { CG_CPU_ANY = 0, CG_CPU_AVX2 = 1, CG_CPU_AVX512 = 2 };

/* The right-hand side of a model, and methods with it inlined, over n_lanes trajectories at once. */
typedef struct cg_lane_set {
    uint32_t abi_version; /* CG_ABI_VERSION */
    uint32_t struct_size; /* sizeof(cg_lane_set_t) */
    const char *digest;   /* of the model it belongs to */
    int32_t n_lanes;      /* 2, 4 or 8 */
    int32_t cpu;          /* enum cg_cpu */
    int32_t n_work;       /* scratch, in numbers per lane */
    int32_t reserved;
    cg_lanes_t rhs;
    const cg_lane_method_t *methods; /* ended by a NULL name */
    void (*begin)(struct cg_lanes_run *run, double t0);  /* starts a trajectory in every lane */
    /* The states of a lane at those of `count` ordered times that are before the end of its last step: state i at time m
     * goes to out[i * row + m]. Returns how many these are; up to n_lanes - 1 more numbers of each row are overwritten. */
    int64_t (*interpolate)(const struct cg_lanes_run *run, int32_t lane, const double *times, int64_t count, double *out,
                           int64_t row);
    int32_t watches; /* 1: the methods look for events, if the run asks for it; 0: the model has none */
} cg_lane_set_t;

typedef struct cg_model {
    uint32_t abi_version; /* CG_ABI_VERSION */
    uint32_t struct_size; /* sizeof(cg_model_t) of the compiler that made the table */
    const char *name;
    const char *form;
    const char *digest;      /* of the declaration and options, hexadecimal */
    const char *generator;   /* name and version of the generator */
    const char *scalar;      /* "float64" */
    const char *independent; /* the name of the independent variable, the argument t of the kernels: "t" for the time */

    int32_t n_states;
    int32_t n_parameters;
    int32_t n_inputs;
    int32_t n_outputs;    /* declared variables, user outputs, reactions */
    int32_t n_invariants; /* invariants, then residuals */
    int32_t n_guards;
    int32_t n_modes;
    int32_t n_declared;
    int32_t n_events;      /* the first n_events guards are events; the rest are kinks of the model */
    int32_t n_contacts;
    int32_t n_coordinates; /* the first n_coordinates states are coordinates */
    int32_t n_consistency; /* how many of `invariants` have CG_ZERO_AT_START */
    int32_t n_work;
    int32_t n_hoisted; /* length of the q of `hoist` */

    const cg_variable_t *states;
    const cg_variable_t *parameters;
    const cg_variable_t *inputs;
    const cg_variable_t *outputs;
    const cg_variable_t *invariants;
    const cg_variable_t *guards;
    const cg_variable_t *modes;
    const cg_variable_t *declared;
    const cg_event_t *events;     /* [n_events] */
    const cg_contact_t *contacts; /* [n_contacts] */

    const cg_kernel_entry_t *kernels; /* every kernel that the model has, ended by a NULL name */

    /* The same for direct calls; NULL if the model does not have the kernel. */
    cg_kernel_t rhs;        /* out[n_states] = dx/dt */
    cg_jvp_t jvp;           /* out[n_states] */
    cg_kernel_t jacobian;   /* out[n_states * n_states], row-major: out[i * n_states + j] = d(dx_i/dt)/dx_j */
    cg_kernel_t outputs_fn; /* out[n_outputs] */
    cg_kernel_t invariants_fn; /* out[n_invariants] */
    cg_kernel_t guards_fn;     /* out[n_guards]: the events' guards, then the kinks of these and of the right-hand side */
    cg_reset_t reset;          /* out[n_states] */
    cg_kernel_t contacts_fn;   /* out[5 * n_contacts], all at the modes in u: for each contact its slip velocity v, the
                                * friction force T along the slip (slipping: -sigma mu |N|; sticking: the static
                                * friction), its limit mu |N|, dv/dt, and the normal force N */
    cg_kernel_t project;       /* out[n_states]: the coordinates unchanged; the velocities projected, in the metric of
                                * the kinetic energy, so that v = 0 in every contact of mode 0 */
    cg_kernel_t initial;       /* out[n_states + n_parameters]: states and parameters from the declared variables x */
    cg_kernel_t consistency;   /* out[3 * n_consistency]: for each of `invariants` with CG_ZERO_AT_START, in their
                                * order, its value r, the sum of the magnitudes of the terms of r, and that of the
                                * terms of all dr/dx_j */
    cg_hoist_t hoist;          /* NULL if n_hoisted is 0 */

    const cg_method_t *methods; /* compiled with this right-hand side: some of cg_method_table.c, and the model's own; ended
                                 * by a NULL name; or NULL */
    const cg_lane_set_t *const *lane_sets; /* widest first, ended by NULL; or NULL: none is linked in */
} cg_model_t;

/* The kernel of that name; NULL if the model does not have it. */
CG_UNUSED static inline const cg_kernel_entry_t *cg_kernel(const cg_model_t *model, const char *name)
{
    const cg_kernel_entry_t *entry = model->kernels;

    while (entry != NULL && entry->name != NULL && strcmp(entry->name, name) != 0) entry++;
    return entry == NULL || entry->name == NULL ? NULL : entry;
}

#ifdef __cplusplus
}
#endif

#endif /* CHAPLYGIN_H */
