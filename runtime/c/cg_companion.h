/* cg_companion.h: a companion of a model: expressions of its quantities, compiled on their own, as one kernel. */
#ifndef CG_COMPANION_H
#define CG_COMPANION_H

#include "chaplygin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x[n_states] at fractions theta of a step, from the interpolant coef[n_dense][n_states] as cg_dense_evaluate has it; all
 * over the lanes. */
typedef void (*cg_interpolate_t)(const double *CG_RESTRICT theta, const double *CG_RESTRICT coef, int32_t n_dense,
                                 int32_t n_states, double *CG_RESTRICT x);

typedef struct cg_companion {
    uint32_t abi_version; /* CG_ABI_VERSION */
    uint32_t struct_size; /* sizeof(cg_companion_t) */
    const char *digest;   /* of the model whose arrays it takes */
    int32_t n_lanes;      /* 1, 2, 4 or 8 */
    int32_t n_values;
    int32_t n_work;       /* scratch, in numbers per lane */
    int32_t reserved;
    cg_lanes_t values;    /* out[i * n_lanes + lane] = expression i of the trajectory in a lane; p without the results of
                           * model->hoist */
    cg_interpolate_t interpolate;
} cg_companion_t;

#ifdef __cplusplus
}
#endif

#endif /* CG_COMPANION_H */
