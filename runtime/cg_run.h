/* cg_run.h: the state of one integration, in one block of memory that the caller owns.
 *
 * The block starts with a `cg_run_t`; the arrays that its pointers name follow it. So a run is saved by copying
 * `size` bytes and restored by cg_run_restore (cg_driver.h), which puts the pointers right. What the caller keeps
 * outside the block (model, input function, signals, stop flag) is never copied back by a restore.
 *
 * Array lengths: `n` states, `ld` = n rounded up to a multiple of CG_PAD. The entries between n and ld are zero,
 * so that loops over states run over whole vector registers; a right-hand side never sees them.
 */
#ifndef CG_RUN_H
#define CG_RUN_H

#include "chaplygin.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Part of the name of every method compiled into a model: a model from another version of this header has other
 * names, and runs through its table. To be raised with every change of cg_run_t or of what its members mean. */
#define CG_RUN_LAYOUT "@5"

#define CG_PAD 4
#define CG_PADDED(n) (((n) + (CG_PAD - 1)) / CG_PAD * CG_PAD)

/* How the inputs of a model are given. */
enum cg_signal_kind {
    CG_SIGNAL_CONSTANT = 0, /* run->u[i], as the caller wrote it */
    CG_SIGNAL_HOLD = 1,     /* value[j] for t[j] <= t < t[j + 1] */
    CG_SIGNAL_LINEAR = 2,   /* linear between the samples */
    CG_SIGNAL_CALL = 3      /* written by run->input_fn */
};

/* One input. Before its first and after its last sample a sampled input holds the value there. */
typedef struct cg_signal {
    int32_t kind;        /* enum cg_signal_kind */
    int32_t reserved;
    int64_t n;           /* samples; at least 1 where the kind is HOLD or LINEAR */
    const double *t;     /* n times, not decreasing; two equal times are a jump */
    const double *value; /* n values */
} cg_signal_t;

/* Writes the inputs of kind CG_SIGNAL_CALL into u (length n_inputs + n_modes). Anything but CG_OK ends the run. */
typedef int (*cg_input_fn_t)(void *context, double t, const double *x, double *u);

/* Bits of run->input_kind: what has to be done before a call of the right-hand side. */
enum cg_input_kind { CG_INPUT_SLOPE = 1, CG_INPUT_CALL = 2 };

struct cg_detector; /* events and contacts of one run: cg_events.h */

typedef struct cg_run {
    /* Kept by the caller, not in the block. */
    const cg_model_t *model;
    cg_kernel_t rhs;
    int (*step)(struct cg_run *run);
    int (*dense)(struct cg_run *run);
    cg_input_fn_t input_fn; /* NULL: none */
    void *input_context;
    const cg_signal_t *signals; /* n_inputs of them; NULL: all inputs are constant */
    const volatile int *stop;   /* NULL, or a flag: non-zero ends the run with CG_INTERRUPTED, to be continued */
    int (*explicit_step)(struct cg_run *run);  /* method "auto": those of its explicit method */
    int (*explicit_dense)(struct cg_run *run);
    struct cg_detector *detector;     /* NULL: no event is looked for, and the modes stay as they are in u */

    /* Sizes, fixed by cg_run_init. */
    size_t size;      /* bytes of the whole block */
    int32_t n;        /* states */
    int32_t ld;       /* CG_PADDED(n) */
    int32_t n_u;      /* inputs and modes */
    int32_t n_stages; /* rows of k, the stages of the interpolant included */
    int32_t n_dense;  /* rows of coef */
    int32_t order;
    int32_t adaptive; /* 0: fixed step */
    int32_t inlined;  /* 1: the method is the one compiled into the model */
    int32_t implicit; /* 1: the method uses the model's Jacobian and the arrays for it */

    /* Arrays inside the block. The first five change places with every step: read them anew after each. */
    double *x;       /* [ld] state at t */
    double *x_old;   /* [ld] state at t_old, where the last step began */
    double *x_trial; /* [ld] the trial end of a step, and stages where the model is called through its table */
    double *f;       /* [ld] derivative at t, valid while have_f */
    double *f_old;   /* [ld] derivative at t_old; during a trial, at its end */
    double *k;       /* [n_stages][ld] the other stages of the last step */
    double *coef;    /* [n_dense][ld] interpolant over the last step, valid while have_dense */
    double *atol;    /* [ld] absolute tolerance of each component; the padding holds 1 */
    double *p;       /* [n_parameters], then [n_hoisted] what model->hoist makes of them */
    double *u;       /* [n_u] inputs and modes as the right-hand side sees them */
    double *u_time;  /* [n_u] u = u_value + u_slope * (t - u_time) inside a segment */
    double *u_value; /* [n_u] */
    double *u_slope; /* [n_u] */
    double *work;    /* [n_work] scratch of the kernels */

    /* More arrays, empty unless `implicit`. Only `fastest` outlives a step. */
    double *jacobian; /* [n][n] by rows: d f_i / d x_j at the start of the last step */
    double *matrix;   /* [n][n] by columns: the factors of I - gamma h J */
    double *slope;    /* [ld] df/dt */
    double *fastest;  /* [ld] direction in which the motion changes fastest, of method "auto" */
    int32_t *pivots;  /* [n] rows of the factors */

    /* Options; cg_run_init sets the defaults in brackets. */
    double rtol;       /* [1e-6] */
    double max_step;   /* [infinity] */
    double first_step; /* [0: chosen]; the step itself for a fixed-step method */
    int64_t max_steps; /* [INT64_MAX] trial steps, accepted and rejected; at least 1 */

    /* Where the run is. */
    double t;
    double t_old;      /* start of the last step */
    double t_end;
    double t_stop;     /* no step goes past it: t_end or the next knot of an input */
    double direction;  /* +1 or -1 */
    double h;          /* length of the next step, positive; 0: not yet chosen */
    double log_old;    /* memory of the step control: log2 of the square of the last full step's error */
    double t_anchor;   /* fixed step: times are t_anchor + n_anchor * h, so that they do not drift */
    int64_t n_anchor;
    int64_t n_steps;    /* accepted */
    int64_t n_rejected;
    int64_t n_rhs;      /* calls of the right-hand side */
    int64_t n_jac;      /* calls of the Jacobian */
    int64_t n_lu;       /* factorisations */
    int32_t have_f;
    int32_t have_dense;
    int32_t input_kind; /* bits of enum cg_input_kind */
    int32_t rejected;   /* the step before this one was rejected at least once */
    int32_t status;     /* CG_OK, or what ended the run: an error or CG_TERMINAL_EVENT */
    int32_t recorded;   /* everything up to t is in the caller's record */

    /* Method "auto". */
    int32_t stiff;      /* 1: the next step is implicit */
    int32_t last_stiff; /* 1: the last step was */
    int32_t n_stiff;    /* explicit steps that may have been stiff */
    int32_t n_calm;     /* steps in a row that were not */
    int32_t n_wait;     /* so many make an implicit trial */
} cg_run_t;

#ifdef __cplusplus
}
#endif

#endif /* CG_RUN_H */
