/* cg_adjoint.h: the gradient of a loss by the adjoint of the Runge-Kutta steps of a run.
 *
 * A step is Y_i = x_k + h sum_j a_ij f(Y_j), x_{k+1} = x_k + h sum_i b_i f(Y_i). With lambda the derivative of the loss
 * by x_{k+1}, and the stages in reverse order,
 *   l_i = f_x(Y_i)^T w_i,  w_i = h (b_i lambda + sum_{j > i} a_ji l_j),
 * lambda + sum_i l_i is its derivative by x_k, and sum_i f_p(Y_i)^T w_i is added to that by the parameters; so it is
 * exact for the steps as they were taken, whose lengths count as constants. An integral along the run is the sum
 * h sum_i b_i g(Y_i) over the steps. Where the end of a step is moved onto constraints by steps x <- x + c(t, x, p) of
 * Newton's method, lambda <- lambda + c_x^T lambda for each of these, the last one first. E. Hairer, C. Lubich, G.
 * Wanner, Geometric Numerical Integration, 2nd ed., Springer 2006, section VI.4.
 *
 * A run with events is gone back over piece by piece. Where the motion jumps, the caller ends a piece with `until`, changes
 * lambda and the modes in run->u as the jump requires, and sets `until` and `after` for the piece before.
 *
 *     record.watch = cg_trail_watch, record.watch_context = &trail;
 *     cg_run_start(...), then cg_drive(run, &record, free rows of trail.t) to each time at which the loss has a term;
 *     fill adjoint.lambda and adjoint.gradient with zeros, and adjoint.jumps;
 *     cg_adjoint_begin(&adjoint), then cg_adjoint_sweep(&adjoint, budget) until it is not CG_BUDGET_USED, and at the start
 *     of the run cg_adjoint_end(&adjoint)
 * The steps of a run that rests have no error, however long they are, while what differs from it grows: tangents whose
 * errors control the steps bound them to what the adjoint bears. They are not kept: n below are the states of the motion.
 * Steps whose slopes f(Y_i) the trail has no room for are repeated, with the same bits. If it has no room for all states
 * either, it keeps those at equal distances, and the sweep stores more of them where that saves most repetitions.
 */
#ifndef CG_ADJOINT_H
#define CG_ADJOINT_H

#include "cg_companion.h"
#include "cg_derivatives.h"
#include "cg_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An explicit Runge-Kutta method. */
typedef struct cg_tableau {
    const char *method;
    int32_t n_stages;
    const double *a; /* [n_stages][n_stages] by rows, zero at and above the diagonal */
    const double *b; /* [n_stages] */
    const double *c; /* [n_stages] */
} cg_tableau_t;

/* The tableau of a method of cg_method_table; NULL: it is no explicit Runge-Kutta method. */
const cg_tableau_t *cg_tableau(const char *method);

/* The steps of a run, and its states at the beginnings of some of them. The arrays belong to the caller. */
typedef struct cg_trail {
    double *t;         /* [capacity + 1] the start, then the ends of the steps */
    int8_t *n_moved;   /* [capacity] of each step, the steps of Newton's method at its end */
    int64_t capacity;
    int64_t n_steps;   /* initially 0 */
    double *slopes;    /* [n_slopes][n_stages][n] of the first n_slopes steps; may be NULL if that is 0 */
    int64_t n_slopes;
    int32_t n_stages;  /* of the tableau */
    int32_t reserved;
    double *x;         /* [n_slots][n], n = run->n_own */
    int64_t *at;       /* [n_slots] the steps that begin in these states, in order; the first is 0 */
    int64_t n_slots;   /* at least CG_LEAST_SLOTS */
    int64_t n_kept;    /* initially 0 */
    int64_t stride;    /* initially 1: the distance of the states kept */
    int64_t n_repeated; /* steps that were taken again; initially 0 */
} cg_trail_t;

enum { CG_LEAST_SLOTS = 4 };

/* A `watch` of cg_record_t, whose context is the trail. CG_BAD_ARGUMENT: there is no room for the step. */
int cg_trail_watch(void *trail, cg_run_t *run, int stepped);

/* A function g of the time, the state, the parameters and the inputs whose integral is part of the loss. */
typedef struct cg_integrand {
    const cg_companion_t *expression; /* for one lane: g, then its derivatives by x, p and the inputs; else NULL */
    const cg_derivative_t *kernel;    /* the adjoint of a kernel, of whose results g is the sum with these weights; */
    const double *weights;            /* if that is NULL too, the sum of t, x, p and the inputs with them */
} cg_integrand_t;

typedef struct cg_adjoint {
    cg_run_t *run;            /* of the model, or of the model with tangents (cg_variational.h), which bound the steps */
    const cg_model_t *model;  /* without tangents */
    cg_trail_t *trail;
    const cg_tableau_t *tableau;
    const cg_backward_t *backward;   /* the adjoint of the right-hand side */
    const cg_derivative_t *correction; /* that of the kernel run->correction, for one vector of weights; NULL if none */
    const cg_integrand_t *integrands;
    int64_t n_integrands;
    const int64_t *stops;            /* [n_stops] where cg_drive ended, in steps, increasing; the last is n_steps */
    const double *jumps;             /* [n_stops][n] the derivatives of the terms of the loss there by the state */
    int64_t n_stops;
    double *lambda;   /* [n] the derivative of the loss by the state */
    double *gradient; /* [n_parameters + n_inputs] that by the parameters and the inputs */
    double *integral; /* the sum of the integrals */
    double *work;     /* [cg_adjoint_work] */
    const cg_kernel_entry_t *move; /* the model's kernel of run->correction */
    double rtol;      /* of the run */
    int64_t step;     /* steps that are left */
    int64_t stop;     /* stops that are left */
    int64_t kink;     /* the step that ends at a kink of the right-hand side; -1: none is */
    int64_t until;    /* [0] the sweep pauses when so many steps are left */
    const double *after; /* NULL, or the state [n] at the beginning of step `until`, after a jump */
    const char *failed; /* after an error: the kernel that it is from, NULL if a step could not be repeated, */
    double failed_at;   /* and the time of its call */
} cg_adjoint_t;

/* Length of `work`. */
size_t cg_adjoint_work(const cg_adjoint_t *adjoint);

/* A status as that of the right-hand side. */
int cg_adjoint_begin(cg_adjoint_t *adjoint);

/* Goes back over at most `budget` steps. CG_OK: `until` is reached; CG_BUDGET_USED: call it again; or an error. */
int cg_adjoint_sweep(cg_adjoint_t *adjoint, int64_t budget);

/* The derivatives by the terms of the right-hand side become derivatives by the parameters. */
int cg_adjoint_end(cg_adjoint_t *adjoint);

#ifdef __cplusplus
}
#endif

#endif /* CG_ADJOINT_H */
