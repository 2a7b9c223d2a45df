/* cg_observe.h: integrals and extremes of expressions along the trajectories of an ensemble.
 *
 * After every accepted step the expressions are evaluated on its interpolant, at Gauss-Lobatto nodes:
 *   - An integral is the sum of the quadratures of all steps, of a degree above the order p of the method. The
 *     interpolants have an order of at least p - 1, so that the integral converges with order p, for methods of any
 *     kind and for steps that end at an event.
 *   - An extreme is the largest (smallest) value at the nodes, or between those around a node from which the expression
 *     descends to both sides. It is searched there, to 1e-7 of the step, if it can exceed the best value so far.
 *   - An expression with corners or jumps in a step (cg_corners.h) is treated so in each of the parts between them.
 * Nothing of this takes part in the control of the steps. Where an input or a reset jumps, the values on both sides count.
 * A value is NaN if the expression cannot be computed somewhere along the motion.
 */
#ifndef CG_OBSERVE_H
#define CG_OBSERVE_H

#include "cg_companion.h"
#include "instants/cg_corners.h"
#include "cg_lanes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A quantity that a model has by name: entry `index` of its outputs or invariants. Without a kernel: a state, an input
 * (n_states + its number), or the time (-1). */
typedef struct cg_quantity {
    cg_kernel_t kernel;
    int32_t index;
} cg_quantity_t;

/* A block of memory with what is known of the trajectory in each lane. */
typedef struct cg_observer {
    const cg_model_t *model;
    const cg_companion_t *companion; /* the expressions, for as many lanes; NULL: `quantities` of one trajectory */
    const cg_quantity_t *quantities; /* [n_values] */
    const int32_t *kinds;            /* [n_values] enum cg_observed_kind */
    int32_t n_values;
    int32_t n_rows; /* n_values, and the guards of the companion */
    int32_t lanes;

    cg_rule_t rule;

    /* [n_values][lanes] */
    double *value; /* the integral, or the extreme, so far */
    double *more;  /* what rounding has cost the integral, or the time of the extreme */
    double *found; /* [CG_SURVEYED][n_values][lanes] */

    /* [n_rows][lanes] */
    double *out;     /* at one node */
    double *samples; /* [n_nodes][n_rows][lanes] */
    double *whole;   /* the samples of the whole step, while those of a part of it are in `samples` */
    cg_cuts_t *cuts; /* [lanes] of one expression in the step */

    /* [lanes] the part of the step that is taken in, as fractions of it, and its length between corners */
    double *from;
    double *to;
    double *length;

    /* Of one node: the fraction of the step and the time [lanes], the states [n_states][lanes]. */
    double *theta;
    double *t;
    double *x;
    double *work; /* of the companion, or the result of the kernel of a quantity */
    int32_t *status;
    int64_t *counted; /* [lanes] truth: the lane has made a step, with the part that is taken in */
} cg_observer_t;

/* The observer of `n_values` expressions: its size, and its layout in a block from cg_run_new. `order`: of the method.
 * CG_BAD_ARGUMENT: the companion belongs to another model, or has another number of values. */
size_t cg_observer_size(const cg_model_t *model, const cg_companion_t *companion, int32_t n_values);
int cg_observer_init(cg_observer_t *observer, const cg_model_t *model, const cg_companion_t *companion,
                     const cg_quantity_t *quantities, const int32_t *kinds, int32_t n_values, int32_t order);

/* Forgets the trajectory of a lane. */
void cg_observer_begin(cg_observer_t *observer, int32_t lane);

/* Takes in the last step of a run, or only its present state: the `watch` of a cg_record_t. */
int cg_observe_run(void *observer, struct cg_run *run, int stepped);

/* Takes in the last step of every lane that made one. */
void cg_observe_lanes(cg_observer_t *observer, cg_lanes_run_t *run);

#ifdef __cplusplus
}
#endif

#endif /* CG_OBSERVE_H */
