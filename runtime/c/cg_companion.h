/* cg_companion.h: a companion of a model: expressions of its quantities, compiled on their own, as one kernel. */
#ifndef CG_COMPANION_H
#define CG_COMPANION_H

#include "chaplygin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The states that the expressions contain, at fractions theta[lane] of a step, from the rows of its interpolant as
 * cg_dense_evaluate has it: row j begins at coef[j * ld * n_lanes]. The other entries of x are left as they are. */
typedef void (*cg_interpolate_t)(const double *CG_RESTRICT theta, const double *CG_RESTRICT coef, int32_t n_dense,
                                 int32_t ld, double *CG_RESTRICT x);

/* What is made of an expression along a trajectory. */
enum cg_observed_kind { CG_OBSERVED_INTEGRAL = 0, CG_OBSERVED_MAXIMUM = 1, CG_OBSERVED_MINIMUM = 2 };

enum { CG_MOST_LOBATTO = 9 };

/* Gauss-Lobatto nodes in a step, as fractions of it, ends included. */
typedef struct cg_rule {
    int32_t n_nodes;
    double nodes[CG_MOST_LOBATTO];
    double weights[CG_MOST_LOBATTO]; /* of the mean over the step */
    double slope[CG_MOST_LOBATTO];   /* of the derivative at the last node, per length of the step */
} cg_rule_t;

/* What the samples of a step tell: the mean; and, of an expression times -1 for a minimum, the largest sample, the first
 * node where it is, and what no value between the nodes exceeds. */
enum cg_surveyed { CG_SURVEY_MEAN, CG_SURVEY_BEST, CG_SURVEY_PLACE, CG_SURVEY_BOUND, CG_SURVEYED };

/* found[CG_SURVEYED][n_values] from samples[n_nodes][n_values + n_guards], over the lanes. */
typedef void (*cg_survey_t)(const cg_rule_t *rule, const int32_t *kinds, const double *CG_RESTRICT samples,
                            double *CG_RESTRICT found);

typedef struct cg_companion {
    uint32_t abi_version; /* CG_ABI_VERSION */
    uint32_t struct_size; /* sizeof(cg_companion_t) */
    const char *digest;   /* of the model whose arrays it takes */
    int32_t n_lanes;      /* 1, 2, 4 or 8 */
    int32_t n_values;
    int32_t n_guards;     /* of what is observed: rows of `values` after the expressions; see cg_corners.h */
    const int32_t *guards; /* [n_guards] the expression to which each belongs, in ascending order, then -1 */
    int32_t n_work;       /* scratch, in numbers per lane */
    int32_t reserved;
    cg_lanes_t values;    /* out[i * n_lanes + lane] = expression i of the trajectory in a lane; p without the results of
                           * model->hoist */
    cg_interpolate_t interpolate;
    cg_survey_t survey;
} cg_companion_t;

#ifdef __cplusplus
}
#endif

#endif /* CG_COMPANION_H */
