/* cg_run.h: the state of one integration, in one block of memory that the caller owns.
 *
 * The block starts with a `cg_run_t`, followed by the arrays that its pointers refer to. So a run is saved by copying
 * `size` bytes and restored by cg_run_restore (cg_driver.h), which adjusts the pointers. What the caller keeps outside
 * the block (model, input function, signals, stop flag) is never changed by a restore.
 *
 * Array lengths: `n` states, `ld` = n rounded up to a multiple of CG_PAD. The entries between n and ld are zero,
 * so that loops over states use whole vector registers; a right-hand side never sees them.
 */
#ifndef CG_RUN_H
#define CG_RUN_H

#include "cg_time.h"
#include "chaplygin.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Part of every method compiled into a model: one from another version of this header is not used. Increase it with
 * every change of cg_run_t or of the meaning of its members. */
#define CG_RUN_LAYOUT 29

#define CG_ALIGN 64u /* of every block, in bytes */

/* Declares memory for a block: static CG_BLOCK(memory, SIZE); */
#if defined(__GNUC__)
#define CG_BLOCK(name, size) unsigned char name[size] __attribute__((aligned(64)))
#elif defined(_MSC_VER)
#define CG_BLOCK(name, size) __declspec(align(64)) unsigned char name[size]
#elif defined(__cplusplus)
#define CG_BLOCK(name, size) alignas(64) unsigned char name[size]
#else
#define CG_BLOCK(name, size) _Alignas(64) unsigned char name[size]
#endif

#define CG_CURVE 3 /* coefficients of an input that is a polynomial, after its value */
#define CG_PAD 4
#define CG_PADDED(n) (((n) + (CG_PAD - 1)) / CG_PAD * CG_PAD)

/* How the inputs of a model are given. */
enum cg_signal_kind {
    CG_SIGNAL_CONSTANT = 0,   /* run->u[i], as set by the caller */
    CG_SIGNAL_CALL = 1,       /* written by run->input_fn */
    CG_SIGNAL_POLYNOMIAL = 2, /* a polynomial of the time from each of the times t on; steps end at these */
    CG_SIGNAL_MOVING = 3      /* run->u[i] as set by the caller, at the start or before cg_run_inputs_changed; from then on it
                               * moves with its rates, the inputs that follow it with CG_RATE among their flags */
};

/* One input. With one coefficient at each time it is held until the next, with two it is linear in between. The first
 * polynomial holds before its time too, the last one ever after; where two times are equal, the later counts. */
typedef struct cg_signal {
    int32_t kind;        /* enum cg_signal_kind */
    int32_t n_powers;    /* POLYNOMIAL: coefficients at each time, 1 to CG_CURVE + 1 */
    int64_t n;           /* times; POLYNOMIAL: at least 1 */
    const cg_time_t *t;  /* n times, not decreasing */
    const double *value; /* [n][n_powers] coefficients of the powers of the time since t, from 0 on */
    int64_t row;         /* numbers from the coefficients of one trajectory of an ensemble to those of the next; 0: all have the same */
    int32_t joined;      /* truth: `value` has the lower half of them, a value or a value and a slope at each time. The others lead
                          * to those at the next time; before the first one and after the last the value is constant */
    int32_t order;       /* of the derivative of the polynomial that the input is */
} cg_signal_t;

/* Writes the inputs of kind CG_SIGNAL_CALL to u (length n_inputs + n_modes). Any result except CG_OK ends the run. */
typedef int (*cg_input_fn_t)(void *context, double t, const double *x, double *u);

/* Bits of run->input_kind: what to do before a call of the right-hand side. */
enum cg_input_kind { CG_INPUT_MOVES = 1, CG_INPUT_CALL = 2 };

/* What the state at the end of each step is moved back to, by the model's kernels `correction` and `correction_all`. */
enum cg_projection {
    CG_PROJECT_NONE = 0,
    CG_PROJECT_CONSTRAINTS = 1, /* holonomic constraints and the constraints on velocities */
    CG_PROJECT_ALL = 2          /* these, and the invariants of redundant coordinates, as |q|^2, to their start */
};

struct cg_detector; /* events and contacts of one run: cg_events.h */

/* What is known where a run starts. */
enum cg_jump_starts {
    CG_STARTS_MODES = 1, /* the modes of contacts */
    CG_STARTS_SIDES = 2  /* the sides of guards, too: nothing changes any more, but the derivative may not exist */
};

/* An instant at which the motion may jump. Its causes are the observed quantities in detector->fired, whose sides are
 * those of sign_new before it and of `sign` after it. By index: the guards, then the quantities of the contacts. */
typedef struct cg_jump_at {
    int32_t starts; /* enum cg_jump_starts: nothing has happened yet */
    int32_t asks;   /* 1: only what the kink with the index `kink` is, in the state `before`, which is close to it. Here and at a
                     * start, moment and the functions are not set */
    int32_t kink;
    int32_t n_blocks; /* of tangents */
    double t;
    double moment;           /* with the sign of the direction: a short time compared with a step */
    const double *before;    /* the state and */
    const double *modes;     /* the modes before */
    const double *u_slope;   /* [n_inputs] how fast the inputs change */
    const double *tolerance; /* [n_own] of the state */
    double rtol;             /* of the run */
    const struct cg_detector *detector;
    void *context;
    /* The modes that fit after some of the causes, in the state x [n_own] after their resets. */
    int (*choose)(void *context, const unsigned char *done, const double *x, double *modes);
    /* Whether samples of the inputs are at this time; then it writes the inputs on the other side of them, and their slopes. */
    int (*beside)(void *context, double *u, double *u_slope);
    /* NULL, or called for each cause: the causes of one group have one surface and happen together, one group after the
     * other; half more for a cause that follows from others, such as a contact that breaks where a force jumps. < 0: the cause
     * changes nothing (-1), or there is no derivative (a status). The fields [n_own] are those before
     * and after the group, the modes those before it. */
    void (*tell)(void *context, int32_t cause, double group, const double *before, const double *after, const double *modes);
} cg_jump_at_t;

/* Steps of a method that controls them: those whose error is within the tolerances, or all, the last of which was not within. */
enum cg_accepts { CG_ACCEPTS_FIT = 0, CG_ACCEPTS_ALL = 1, CG_ACCEPTED_UNFIT = 2 };

/* A kink: the field goes on as it was, or jumps there. */
enum cg_kink_is { CG_KINK_GOES_ON = 0, CG_KINK_JUMPS = 1 };

/* What a state that contains derivatives of others needs there, after resets and the choice of modes: changes x. u is left
 * as it was. CG_TANGENT_EVENT: the motion only touches the zero of a quantity, so far as the tolerance of the state
 * tells; CG_ORDER_MATTERS: it depends on the order of the causes. Of a kink, enum cg_kink_is. */
typedef int (*cg_jump_t)(const cg_jump_at_t *at, const double *p, double *u, double *x, double *work);

/* Kernels of a model, as in its table, over states that tangents follow in so many blocks: see cg_variational.h. */
typedef int (*cg_varied_t)(int32_t blocks, double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                           const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work);
typedef struct cg_varied_kernels {
    cg_varied_t rhs;
    cg_varied_t project;    /* leaves the tangents as they are: see jump; NULL: the model has none */
    cg_varied_t correction; /* NULL: the model has none */
    int (*reset)(int32_t blocks, int32_t event, double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                 const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work); /* likewise */
    /* The guards where the kinks inside of them are on these sides, 0: whatever the state shows; NULL: no kinks inside */
    int (*guards)(double t, const double *x, const double *p, const double *sides, const double *u, double *out, double *work);
    int (*hoist)(int32_t blocks, const double *CG_RESTRICT p, double *CG_RESTRICT q); /* NULL: nothing is hoisted */
} cg_varied_kernels_t;

typedef struct cg_run {
    /* Owned by the caller, not in the block. */
    const cg_model_t *model;
    cg_kernel_t rhs;
    int (*step)(struct cg_run *run);
    int (*dense)(struct cg_run *run);
    void (*pass)(const struct cg_run *run, double t); /* with `passes`: brings sampled inputs to the segment of the time t */
    cg_input_fn_t input_fn; /* NULL: none */
    void *input_context;
    const cg_signal_t *signals; /* [NULL, or `moving`] n_inputs of them; NULL: all inputs are constant */
    const volatile int *stop;   /* NULL, or a flag: non-zero stops with CG_INTERRUPTED; the run can be continued */
    int (*explicit_step)(struct cg_run *run);  /* method "auto": the functions of its explicit method */
    int (*explicit_dense)(struct cg_run *run);
    cg_jump_t jump;                   /* NULL: none */
    const cg_varied_kernels_t *varied; /* in place of those of the model; NULL: no tangents follow the states */
    struct cg_detector *detector;     /* NULL: no events are detected, and the modes in u do not change */
    const cg_kernel_entry_t *correction; /* the kernel for `projection`; NULL: there is nothing to move back to */
    const cg_kernel_entry_t *unmet;      /* NULL: no constraints that are moved back to are redundant */

    /* Sizes, fixed by cg_run_init. */
    size_t size;      /* bytes of the whole block */
    int32_t n;        /* states */
    int32_t n_own;      /* [n] the first states, those of the motion; tangents follow them; the caller can set it */
    int32_t n_tangents; /* [0] components of tangents whose errors control the steps too, from CG_PADDED(n_own) on, with
                         * zeros between and after them; the caller can set it */
    int32_t n_blocks;   /* [0] of tangents, for `varied`; the caller can set it */
    int32_t ld;       /* CG_PADDED(n) */
    int32_t n_u;      /* inputs and modes */
    int32_t n_stages; /* rows of k, including the stages of the interpolant */
    int32_t n_dense;  /* rows of coef */
    int32_t order;
    int32_t adaptive; /* 0: fixed step */
    int32_t implicit; /* 1: the method uses the model's Jacobian and the arrays for it */

    /* Arrays inside the block. The first five pointers are swapped in every step: reload them after each. */
    double *x;       /* [ld] state at t */
    double *x_old;   /* [ld] state at t_old, where the last step began */
    double *x_trial; /* [ld] the trial end of a step; also stages if the model is called through its table */
    double *f;       /* [ld] derivative at t, valid while have_f */
    double *f_old;   /* [ld] derivative at t_old; during a trial, at its end */
    double *k;       /* [n_stages][ld] the other stages of the last step */
    double *coef;    /* [n_dense][ld] interpolant over the last step, valid while have_dense */
    double *atol;    /* [ld] an option: absolute tolerance of each state; 1 in the padding */
    double *p;       /* [n_parameters], then the [n_hoisted] results of model->hoist */
    double *u;       /* [n_u] inputs and modes as the right-hand side sees them */
    cg_time_t *u_time; /* [n_u] u = u_value + s (u_curve[0] + s (u_curve[1] + s u_curve[2])), s = t - u_time, in a segment */
    double *u_value; /* [n_u] */
    int64_t *knots;  /* [n_u] how many times of the signal are before the segment */
    double *u_slope; /* [n_u] how fast they change where u was evaluated last; zero for those that are called */
    double *u_curve; /* [n_u][CG_CURVE] */
    cg_signal_t *moving; /* [n_inputs] what `signals` is from cg_run_init on, if an input has a rate: those that have one, and
                          * their rates, are MOVING; else empty */
    double *work;    /* [n_work] scratch space for the kernels */
    double *x_start; /* [ld] the state at which the run started */
    double *moved;   /* [ld] scratch: a correction of the state; the state before an event */

    /* More arrays, empty unless `implicit`. Only `fastest` is kept between steps. */
    double *jacobian; /* [n][n] by rows: d f_i / d x_j at the start of the last step */
    double *matrix;   /* [n][n] by columns: the factors of I - gamma h J */
    double *slope;    /* [ld] df/dt */
    double *fastest;  /* [ld] method "auto": direction in which the motion changes fastest */
    int32_t *pivots;  /* [n] pivot rows of the factors */

    /* Options; cg_run_init sets the defaults in brackets. */
    double rtol;       /* [CG_RTOL] relative tolerance */
    double max_step;   /* [infinity] length of the longest step */
    double first_step; /* [0: chosen automatically] length of the first step, or length of the steps of a fixed-step method */
    int64_t max_steps; /* [INT64_MAX] most trial steps, accepted and rejected, of a run or of one advance; at least 1 */
    int32_t projection; /* [CG_PROJECT_CONSTRAINTS] enum cg_projection: move ends of steps back onto constraints, or (all)
                         * onto invariants of coordinates too */
    int32_t passes; /* [0] 0: end steps at the samples of inputs; 1: fixed steps pass them */
    int32_t n_corrections; /* of the last step: Newton's steps that moved its end; not an option */

    /* Where the run is. */
    CG_CLOCK_MEMBERS
    double t;          /* cg_run_time(run) is the time as the caller has it */
    double t_old;      /* start of the last step */
    cg_time_t t_end;
    double t_stop;     /* no step goes past it: t_end or the next knot of an input */
    double direction;  /* +1 or -1 */
    double h;          /* size of the next step, positive; 0: not yet chosen */
    double log_old;    /* memory of the step-size control: log2 of the square of the last full step's error */
    double t_anchor;   /* fixed step: times are t_anchor + n_anchor * h, to avoid drift */
    int64_t n_anchor;
    int64_t n_steps;    /* accepted */
    int64_t n_before;   /* of them before the run was last extended: what a method keeps from step to step is from later ones */
    int64_t n_rejected;
    int64_t row;     /* of the values of its signals: see cg_signal_t */
    int64_t n_spent; /* trial steps before the present end was set: max_steps counts those after */
    int64_t n_rhs;      /* calls of the right-hand side */
    int64_t n_jac;      /* calls of the Jacobian */
    int64_t n_lu;       /* factorisations */
    int32_t have_f;
    int32_t have_dense;
    int32_t input_kind; /* bits of enum cg_input_kind */
    int32_t rejected;   /* the previous step was rejected at least once */
    int32_t accepts;    /* enum cg_accepts */
    int32_t status;     /* CG_OK, or what ended the run: an error or CG_TERMINAL_EVENT */
    int32_t recorded;   /* everything up to t is in the caller's record */

    /* Method "auto". */
    int32_t stiff;      /* 1: the next step is implicit */
    int32_t last_stiff; /* 1: the last step was */
    int32_t n_stiff;    /* explicit steps that may have been stiff */
    int32_t n_calm;     /* consecutive steps that were not */
    int32_t n_wait;     /* how many of these trigger an implicit trial */
} cg_run_t;

#ifdef __cplusplus
}
#endif

#endif /* CG_RUN_H */
