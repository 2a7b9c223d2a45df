/* cg_fmu.h: an instance of a model as an FMU: what the functions of FMI (cg_fmi.c) call.
 *
 * An instance has a run (cg_run.h) and, if the model has events, contacts or kinks, a detector (cg_events.h). In
 * Co-Simulation the run is driven as by any other caller. In Model Exchange the importer integrates: the run only holds
 * the time, the state, the inputs and the modes, and the detector the sides of zero on which the indicators are.
 *
 * Event indicators are the observed quantities of the detector: the guards of the events, the kinks of the right-hand
 * side, and three quantities of each contact. In Continuous-Time Mode modes and sides do not change. The side of an
 * indicator that has just crossed zero is remembered; so that it does not seem to cross again through rounding, the
 * importer sees it shifted to the new side by CG_FMU_HYSTERESIS of the largest magnitude that it has had, until
 * it has left zero.
 *
 * Relations (Abs, sign, Min, Max, Piecewise) follow the sides of their kinks in Model Exchange, not the state: the
 * right-hand side is smooth between events, also beyond a zero that is not located yet. For this the run has a model of
 * its own, with frozen kernels and with room for the sides after the parameters, so that it is saved with them.
 *
 * Value references count the quantities in the order of enum cg_fmu_group.
 */
#ifndef CG_FMU_H
#define CG_FMU_H

#include "cg_events.h"

#define CG_FMU_DEFAULT_TOLERANCE 1e-9
#define CG_FMU_HYSTERESIS 1e-12
#define CG_FMU_MAX_STEPS 10000000 /* between two communication points */
#define CG_FMU_POWERS 3           /* coefficients of an input over a step: it has two derivatives at most */

/* The kernels from which an FMU takes its quantities. */
enum cg_fmu_kernel { CG_FMU_RHS, CG_FMU_OUTPUTS, CG_FMU_INVARIANTS, CG_FMU_GUARDS, CG_FMU_CONTACTS, CG_FMU_KERNELS };

/* What an FMU has beyond the kernels of its model. Their p has the sides of the kinks, -1, 0 or 1, after the parameters.
 * The derivatives are by the time, the states, the parameters and the inputs, in this order: `along` takes a direction
 * in all of these as v; `adjoint` takes a weight for each result as v and gives a derivative by each of these. */
typedef struct cg_fmu_kernels {
    cg_kernel_t frozen[CG_FMU_KERNELS]; /* NULL: that of the model, in which there is no kink */
    cg_jvp_t along[CG_FMU_KERNELS];     /* NULL: the model does not have the kernel */
    cg_jvp_t adjoint[CG_FMU_KERNELS];
    int32_t n_work;
} cg_fmu_kernels_t;

extern const cg_fmu_kernels_t cg_fmu_kernels;

/* The rest that is emitted with the model. */
typedef struct cg_fmu_type {
    const cg_model_t *model;
    const char *token; /* the GUID of FMI 2.0, the instantiation token of FMI 3.0 */
    const double *states; /* start values */
    const double *parameters;
    const double *inputs;
} cg_fmu_type_t;

extern const cg_fmu_type_t cg_fmu_type;

/* The numbers of fmi2Status and fmi3Status. */
enum cg_fmu_status { CG_FMU_OK = 0, CG_FMU_WARNING = 1, CG_FMU_DISCARD = 2, CG_FMU_ERROR = 3, CG_FMU_FATAL = 4 };

/* The states of FMI's state machine, as bits. */
enum cg_fmu_phase {
    CG_FMU_INSTANTIATED = 1,
    CG_FMU_INITIALIZING = 2,
    CG_FMU_EVENT = 4,
    CG_FMU_CONTINUOUS = 8,
    CG_FMU_STEP = 16,
    CG_FMU_TERMINATED = 32,
    CG_FMU_FAILED = 64,
    CG_FMU_STARTING = CG_FMU_INSTANTIATED | CG_FMU_INITIALIZING,
    CG_FMU_RUNNING = CG_FMU_EVENT | CG_FMU_CONTINUOUS | CG_FMU_STEP,
    CG_FMU_ANY = 127
};

/* What an instance is for: Model Exchange, Co-Simulation, or either. */
enum cg_fmu_kind { CG_FMU_EXCHANGE = 0, CG_FMU_SIMULATION = 1, CG_FMU_EITHER = 2 };

enum cg_fmu_group {
    CG_FMU_TIME,
    CG_FMU_STATE,
    CG_FMU_DERIVATIVE,
    CG_FMU_PARAMETER,
    CG_FMU_INPUT,
    CG_FMU_OUTPUT,
    CG_FMU_INVARIANT,
    CG_FMU_INDICATOR,
    CG_FMU_SOLVER, /* rtol, atol, step: the options of Co-Simulation */
    CG_FMU_MODE,   /* integers */
    CG_FMU_METHOD, /* a string */
    CG_FMU_GROUPS
};

#define CG_FMU_BY_TOLERANCE "default" /* solver.method that is not chosen */

enum { CG_FMU_RTOL, CG_FMU_ATOL, CG_FMU_STEP_SIZE, CG_FMU_SOLVER_OPTIONS };

/* What a saved state keeps besides the run and its detector. */
typedef struct cg_fmu_memory {
    uint64_t check; /* of all bytes after it */
    uint64_t kind;  /* of the model and of the layout */
    double start;
    double stop;      /* infinity: not given */
    double solver[CG_FMU_SOLVER_OPTIONS];
    double tolerance; /* 0: not given */
    int32_t chosen[CG_FMU_SOLVER_OPTIONS]; /* 1: set by the importer, so that `tolerance` does not replace it */
    int32_t phase;    /* enum cg_fmu_phase */
    int32_t method;   /* see cg_fmu_method_info */
    int32_t method_chosen; /* 1: set by the importer; 0: by the tolerances */
    int32_t pending;  /* Co-Simulation: an event at run->t waits for Event Mode */
    int32_t terminal; /* a terminal event has ended the run */
    int32_t tuned;    /* parameters have changed since the last step or update */
    int32_t starts;   /* of a saved state: what occurs at the start waits for the first update or step */
    int32_t unused;
} cg_fmu_memory_t;

struct cg_fmu;
struct cg_fmu_state; /* a saved state */

typedef void (*cg_fmu_log_t)(const struct cg_fmu *fmu, int status, const char *category, const char *text);

typedef struct cg_fmu {
    cg_model_t model; /* that of the run */
    int32_t n_kinks;
    int32_t n_known; /* quantities by which there are derivatives */
    cg_run_t *run;
    cg_detector_t *detector; /* NULL: nothing to detect */
    struct cg_fmu_state *states; /* the saved states that have not been freed */
    int32_t count[CG_FMU_GROUPS];
    int32_t co_simulation; /* enum cg_fmu_kind */
    int32_t event_mode;   /* Co-Simulation: the importer can handle events in Event Mode ... */
    int32_t early_return; /* ... and steps that end at an event */
    int32_t logging;
    cg_fmu_memory_t memory;
    double *offset;    /* [n_observed] hysteresis of the indicators */
    double *scale;     /* [n_observed] their largest magnitudes */
    double *value;     /* room for the results of any kernel, or for an indicator each */
    double *weight;    /* as much room */
    double *direction; /* [n_known] */
    double *parameters; /* [n_parameters + n_kinks]: p for the kernels of Co-Simulation that depend on sides */
    double *slope;      /* [2][n_inputs] first and second derivatives of the inputs at the start of the next step,
                         * Co-Simulation of FMI 2.0; 0: constant */
    double *powers;     /* [n_inputs][CG_FMU_POWERS] the inputs in the step, as polynomials of the time since it began */
    double begin;       /* when it began */
    cg_signal_t *ramps; /* [n_inputs] the inputs of the step */
    char *name;
    cg_fmu_log_t log;
    union { /* the importer's logger */
        void (*function)(void);
        const void *table;
    } logger;
    void *environment;
} cg_fmu_t;

/* ---- cg_fmu_report.c ---- */

/* Logs and returns `status`. */
int cg_fmu_say(const cg_fmu_t *fmu, int status, const char *format, ...);
/* CG_FMU_OK if the instance is of that kind and in one of `phases`, else an error that names the function. */
int cg_fmu_require(const cg_fmu_t *fmu, int kind, int phases, const char *function);
int cg_fmu_none(const cg_fmu_t *fmu, size_t n, const char *function); /* an error if n > 0: it has no such variables */
/* The FMI status for an error of the runtime. `where`: what failed. */
int cg_fmu_failed(const cg_fmu_t *fmu, int status, const char *where);
int cg_fmu_consistent(cg_fmu_t *fmu); /* an error if the state is off a constraint */

/* ---- cg_fmu.c ---- */

/* NULL: no memory, or a token of another FMU. */
cg_fmu_t *cg_fmu_new(const char *name, const char *token, int co_simulation, const cg_fmu_t *how);
void cg_fmu_delete(cg_fmu_t *fmu);
int cg_fmu_reset(cg_fmu_t *fmu);

int cg_fmu_setup(cg_fmu_t *fmu, int tolerance_given, double tolerance, double start, int stop_given, double stop);
int cg_fmu_start(cg_fmu_t *fmu, int next); /* the end of the initialization; `next`: the phase after it */

/* ---- cg_fmu_values.c ---- */

/* The group of a value reference, and the index in it; CG_FMU_GROUPS: there is no such quantity. */
int cg_fmu_group(const cg_fmu_t *fmu, uint32_t reference, int32_t *index);
int cg_fmu_get(cg_fmu_t *fmu, const uint32_t *references, size_t n, double *values);
int cg_fmu_set(cg_fmu_t *fmu, const uint32_t *references, size_t n, const double *values);
int cg_fmu_get_modes(cg_fmu_t *fmu, const uint32_t *references, size_t n, int32_t *values);
int cg_fmu_get_text(cg_fmu_t *fmu, const uint32_t *references, size_t n, const char **values);
int cg_fmu_set_text(cg_fmu_t *fmu, const uint32_t *references, size_t n, const char *const *values);
/* How many rates of an input the model has among its inputs: they follow it, and its derivatives are their values. */
int32_t cg_fmu_rates(const cg_fmu_t *fmu, int32_t input);
/* Sets derivatives of inputs, which hold for the next step alone; the orders are 1 and 2. */
int cg_fmu_set_slopes(cg_fmu_t *fmu, const uint32_t *references, size_t n, const int32_t *orders, const double *values);
/* The time outside of steps, where the run also ends. */
void cg_fmu_put_time(cg_fmu_t *fmu, double t);
int cg_fmu_method(cg_fmu_t *fmu, int32_t method); /* continues with another method */
/* The methods: those of cg_method_table, then the model's own. NULL: there are not so many. */
const cg_method_info_t *cg_fmu_method_info(int32_t method);

int cg_fmu_derivatives(cg_fmu_t *fmu, double *out, size_t n);
int cg_fmu_get_states(const cg_fmu_t *fmu, double *x, size_t n);
int cg_fmu_get_nominals(const cg_fmu_t *fmu, double *nominal, size_t n);
int cg_fmu_set_states(cg_fmu_t *fmu, const double *x, size_t n);
int cg_fmu_set_time(cg_fmu_t *fmu, double t);

/* p with the sides of the kinks. In Model Exchange they change at events, otherwise they are those of the state now. */
int cg_fmu_sides(cg_fmu_t *fmu, const double **p);
int cg_fmu_look(cg_fmu_t *fmu, double *sides); /* the sides on which the state is */
/* Where the value of the time, a state, a parameter or an input is; NULL for any other quantity. */
double *cg_fmu_place(cg_fmu_t *fmu, uint32_t reference);
/* CG_FMU_OK, or an error if one of two arrays of n entries is NULL. */
int cg_fmu_missing(const cg_fmu_t *fmu, const void *references, const void *values, size_t n);

/* ---- cg_fmu_derivative.c ---- */

/* Unknowns are real quantities, knowns the time, states, parameters and inputs. Relations are frozen.
 * cg_fmu_along: out[n_unknowns] = d unknowns / d knowns . seed[n_knowns]
 * cg_fmu_adjoint: out[n_knowns] = the transpose of d unknowns / d knowns, times seed[n_unknowns] */
int cg_fmu_along(cg_fmu_t *fmu, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                 const double *seed, double *out);
int cg_fmu_adjoint(cg_fmu_t *fmu, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                   const double *seed, double *out);

/* ---- cg_fmu_events.c ---- */

int cg_fmu_indicators(cg_fmu_t *fmu, double *out, size_t n);
int cg_fmu_begin_events(cg_fmu_t *fmu); /* modes and sides at the start */
/* Continues with other parameters: modes and sides are determined again. */
int cg_fmu_tune(cg_fmu_t *fmu);
/* Whether an indicator has crossed zero since the last event. */
int cg_fmu_crossed(cg_fmu_t *fmu, int *crossed);
/* What the importer learns from an update of the discrete states. */
typedef struct cg_fmu_update {
    int again;     /* another update is needed */
    int terminate;
    int changed;   /* the states have jumped */
} cg_fmu_update_t;

/* Handles the events at the present time. */
int cg_fmu_update(cg_fmu_t *fmu, cg_fmu_update_t *result);

/* The result of a step of Co-Simulation. */
typedef struct cg_fmu_step {
    int event;     /* an event waits for Event Mode */
    int terminate; /* a terminal event ended the run */
    double t;      /* the time reached */
} cg_fmu_step_t;

int cg_fmu_advance(cg_fmu_t *fmu, double t, double h, cg_fmu_step_t *result);

/* ---- cg_fmu_state.c ---- */

/* A `state` that does not belong to the instance is refused. */
int cg_fmu_save(cg_fmu_t *fmu, void **state); /* into *state, unless that is NULL or of another size */
int cg_fmu_restore(cg_fmu_t *fmu, const void *state);
int cg_fmu_forget(cg_fmu_t *fmu, void **state);
int cg_fmu_state_size(const cg_fmu_t *fmu, const void *state, size_t *size);
int cg_fmu_serialize(const cg_fmu_t *fmu, const void *state, void *bytes, size_t size);
int cg_fmu_deserialize(cg_fmu_t *fmu, const void *bytes, size_t size, void **state);

#endif /* CG_FMU_H */
