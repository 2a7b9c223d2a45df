/* cg_method.h: instantiates every method of this folder for one right-hand side. It has no include guard; define
 * these macros before including it:
 *   CG_FN(name)     prefixed name of a function
 *   CG_N(run)       number of states: a literal. Without it, it and what follows are those of any model
 *   CG_OWN(run)     the first states, those of the motion: all of them if it is not defined
 *   CG_TANGENTS(run) how many of the components after them are tangents whose errors control the steps too
 *   CG_NU(run)      number of inputs and modes: a literal
 *   CG_RHS(run, t, x, out)  a call of the right-hand side. Returns a status; over lanes, a mask of the regular ones
 *   CG_FLATTEN      attribute of the function that calls it, or nothing
 *   CG_COPIED       1: the kernel is copied into every stage, and CG_N is a literal
 *   CG_APART        1: the states are so few that each stage takes them one by one; see cg_pair.h
 * Optional:
 *   CG_FEW_METHODS    leaves some of them out, to save compile time
 *   CG_MODEL_METHODS  the header of the methods that a model brings
 *   CG_METHOD_LIST_FILE  a header in place of cg_method_list.h; CG_WITHOUT_RK4 says that rk4 is not in it
 *   CG_NO_METHODS     leaves all of them out: only what cg_evaluate.c needs is made
 * With CG_LANES above 1 the same methods step that many trajectories at once.
 * A new method is a file of numbers in codegen/methods/pairs; one that is no pair is a header, included here, and an
 * entry of method_list.h.in.
 */

#ifndef CG_N /* any model, through its table */
#define CG_N(run) ((run)->n)
#define CG_OWN(run) ((run)->n_own)
#define CG_TANGENTS(run) ((run)->n_tangents)
#define CG_NU(run) ((run)->n_u)
#define CG_RHS(run, t, x, out) cg_run_rhs(run, t, x, out)
#define CG_FLATTEN
#define CG_COPIED 0
#define CG_APART 0
#endif

#ifndef CG_OWN
#define CG_OWN(run) CG_N(run)
#define CG_TANGENTS(run) 0
#define CG_WITHOUT_TANGENTS
#endif

#if CG_LANES > 1
#define CG_RUN cg_lanes_run_t
#define CG_REALS(array) ((cg_real_t *)(void *)(array))
#define CG_T(run) (*CG_REALS((run)->t))
#define CG_T_OLD(run) (*CG_REALS((run)->t_old))
#define CG_ROWS(n) (n)
#define CG_KNOT(run, i) (CG_REALS((run)->u_time)[i])
#else
#define CG_RUN cg_run_t
#define CG_REALS(array) (array)
#define CG_T(run) ((run)->t)
#define CG_T_OLD(run) ((run)->t_old)
#define CG_ROWS(n) CG_PADDED(n)
#define CG_KNOT(run, i) (cg_time_inside(run, (run)->u_time[i]))
#endif

/* out = f(t, x): how a trial step evaluates the right-hand side. */
typedef int (*CG_FN(slope_t))(CG_RUN *run, cg_real_t t, const cg_real_t *x, cg_real_t *out);

/* A trial step over h: the state at its end in x_trial. */
typedef int (*CG_FN(trial_t))(CG_RUN *run, cg_real_t t, cg_real_t h, CG_FN(slope_t) slope);

#if CG_LANES > 1
/* Brings the inputs of lanes whose time is not in their segments into those of it. */
static CG_COLD void CG_FN(pass)(const cg_lanes_run_t *run, const cg_real_t *t)
{
    double times[CG_LANES];
    memcpy(times, t, sizeof times);
    run->pass(run, UINT32_MAX >> (32 - CG_LANES), times);
}
#endif

/* The inputs that are polynomials at time t, to u. */
static inline void CG_FN(ramps)(const CG_RUN *run, cg_real_t t, cg_real_t *u)
{
#if CG_LANES == 1
    if (CG_RARE(run->passes)) {
        run->pass(run, t);
    }
#else
    if (run->pass != NULL) {
        const cg_real_t now = run->direction * t;
        if (CG_RARE(cg_any(cg_not(cg_le(*CG_REALS(run->u_from), now) & cg_lt(now, *CG_REALS(run->u_until)))))) {
            const cg_real_t here = t; /* a copy: a variable with its address taken would be kept in memory */
            CG_FN(pass)(run, &here);
        }
    }
#endif
    for (int32_t i = 0; i < run->model->n_inputs; i++) {
        const cg_signal_t *const signal = &run->signals[i];
        if (signal->kind >= CG_SIGNAL_POLYNOMIAL) {
            const cg_real_t *const c = CG_REALS(run->u_curve) + (ptrdiff_t)CG_CURVE * i;
            const cg_real_t s = t - CG_KNOT(run, i);
            const int straight = signal->kind == CG_SIGNAL_POLYNOMIAL && signal->n_powers <= 2; /* the rest of c is 0 */
            u[i] = CG_REALS(run->u_value)[i] + s * (straight ? c[0] : c[0] + s * (c[1] + s * c[2]));
#if CG_LANES == 1 /* for derivatives in the state */
            run->u_slope[i] = c[0] + s * (2.0 * c[1] + s * (3.0 * c[2]));
#endif
        }
    }
}

/* x_trial and f_old become the state and the derivative of the run. The buffers are swapped instead of copied: the
 * vector loads of a copy would stall on the preceding scalar stores. */
static CG_INLINE void CG_FN(exchange)(CG_RUN *run)
{
    double *const x_spare = run->x_old;
    double *const f_spare = run->f_old;
    run->x_old = run->x;
    run->x = run->x_trial;
    run->x_trial = x_spare;
    run->f_old = run->f;
    run->f = f_spare;
    run->have_dense = 0;
}

#if CG_LANES > 1
#include "lanes/cg_lanes_step.h"
#else

/* Updates run->u to time t. Called only if run->input_kind is nonzero. */
CG_UNUSED static inline int CG_FN(inputs)(cg_run_t *run, double t, const double *x)
{
    if (run->input_kind & CG_INPUT_MOVES) {
        CG_FN(ramps)(run, t, run->u);
    }
    if (run->input_kind & CG_INPUT_CALL) {
        return run->input_fn(run->input_context, cg_time_of_model(run, t), x, run->u);
    }
    return CG_OK;
}

/* Calls the right-hand side: out = f(t, x), after updating the inputs to t. A kernel that is copied here leaves its
 * results in registers; `out` then has the length of a row of k. */
CG_FLATTEN static CG_INLINE int CG_FN(rhs)(cg_run_t *run, double t, const double *x, double *out)
{
    run->n_rhs++;
    if (CG_NU(run) > 0 && CG_RARE(run->input_kind != 0)) {
        const int status = CG_FN(inputs)(run, t, x);
        if (status != CG_OK) {
            return status;
        }
    }
#if CG_COPIED && !CG_APART
    double slopes[CG_PADDED(CG_N(run))] = {0.0};
    const int status = CG_RHS(run, cg_time_of_model(run, t), x, slopes);
    for (int32_t i = 0; i < CG_PADDED(CG_N(run)); i += CG_WIDTH) {
        *(cg_loose_t *)(void *)(out + i) = cg_block_of(slopes + i);
    }
    return status;
#else
    return CG_RHS(run, cg_time_of_model(run, t), x, out);
#endif
}

#ifndef CG_NO_METHODS
#include "cg_adaptive.h"
#endif

#endif

#include "cg_start.h"
#if CG_LANES > 1
#include "lanes/cg_lanes_begin.h"
#ifdef CG_MODEL_GUARDS
#include "lanes/cg_lanes_watch.h"
#define CG_WATCHES 1
#define CG_SEARCHED(step, run) \
    CG_FN(before)(run);        \
    step(run);                 \
    CG_FN(watch)(run);
#else
#define CG_WATCHES 0
#define CG_SEARCHED(step, run) step(run);
#endif
#endif

#ifndef CG_NO_METHODS
#include "cg_pair.h"

#ifdef CG_METHOD_LIST_FILE
#include CG_METHOD_LIST_FILE
#else
#include "cg_method_list.h"
#endif
#ifdef CG_MODEL_METHODS
#include CG_MODEL_METHODS
#else
#define CG_MODEL_METHOD_LIST(METHOD)
#endif

/* Every method here. All but rk4 control their steps. */
#define CG_ADAPTIVE_LIST(METHOD) CG_LISTED_METHODS(METHOD) CG_MODEL_METHOD_LIST(METHOD)
#define CG_METHOD_LIST(METHOD) CG_FIXED_METHODS(METHOD) CG_ADAPTIVE_LIST(METHOD)
#if CG_LANES > 1 && !defined(CG_WITHOUT_RK4)
#include "lanes/cg_rk4_lanes.h"
#endif
#endif

/* Entries of a table of cg_method_t. */
#define CG_METHOD(name) {cg_##name##_info(CG_RUN_LAYOUT), CG_FN(name##_step), CG_FN(name##_dense)},
#define CG_METHOD_END {CG_NO_METHOD, NULL, NULL}
#define CG_NO_METHOD {NULL, NULL, 0, 0, 0, 0, 0, 0}

#ifdef CG_WITHOUT_TANGENTS
#undef CG_WITHOUT_TANGENTS
#undef CG_OWN
#undef CG_TANGENTS
#endif
#undef CG_KNOT
#undef CG_ROWS
#undef CG_T_OLD
#undef CG_T
#undef CG_REALS
#undef CG_RUN
