/* cg_derivatives.h: kernels of a model with their derivatives, compiled on their own for several directions at once.
 *
 * A kernel f(t, x, p, u) has the variables (t, x, p, u) in this order, without the modes in u, and its derivatives are
 *   directional: found = f_t v_0 + f_x v_x + f_p v_p + f_u v_u, for each of n_lanes directions v;
 *   adjoint:     found = (f_t, f_x, f_p, f_u)^T v, for each of n_lanes vectors v of weights of the results.
 */
#ifndef CG_DERIVATIVES_H
#define CG_DERIVATIVES_H

#include "chaplygin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* value[n_values] = f(t, x, p, u); of lane j, v[i * n_lanes + j] is given and found[i * n_lanes + j] computed. Returns a
 * status as f does. */
typedef int (*cg_differential_t)(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                                 const double *CG_RESTRICT u, const double *CG_RESTRICT v, double *CG_RESTRICT value,
                                 double *CG_RESTRICT found, double *CG_RESTRICT work);

typedef struct cg_derivative {
    const char *kernel; /* its name; that of the reset of event i is reset_<i> */
    int32_t takes;      /* enum cg_takes */
    int32_t n_values;
    int32_t n_given; /* rows of v */
    int32_t n_found; /* rows of found */
    cg_differential_t function;
    const char *const *kinks; /* [n_values] what makes a result not differentiable, as "Abs", or NULL; NULL: nothing */
} cg_derivative_t;

typedef struct cg_derivatives {
    uint32_t abi_version; /* CG_ABI_VERSION */
    uint32_t struct_size; /* sizeof(cg_derivatives_t) */
    const char *digest;   /* of the model whose arrays it takes */
    int32_t n_lanes;      /* 1, 2, 4 or 8 */
    int32_t n_work;       /* scratch, in numbers */
    const cg_derivative_t *entries; /* ended by a NULL name */
} cg_derivatives_t;

/* The adjoint of the right-hand side for many calls with the same parameters. What it computes of the parameters alone
 * are its terms, which come from q; each call gives derivatives by them instead of the parameters. These are added up
 * over the calls, and `parameters` makes derivatives by the parameters of the sums. Their results are statuses. */
typedef struct cg_backward {
    uint32_t abi_version; /* CG_ABI_VERSION */
    uint32_t struct_size; /* sizeof(cg_backward_t) */
    const char *digest;   /* of the model */
    const cg_derivatives_t *derivatives; /* all of them, of one lane */
    int32_t n_hoisted;
    int32_t n_terms;
    int (*hoist)(const double *CG_RESTRICT p, double *CG_RESTRICT q); /* q[n_hoisted] */
    /* found: f, then f_t, f_x, f_u and the derivatives by the terms, each transposed and times v */
    int (*rhs)(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT q,
               const double *CG_RESTRICT u, const double *CG_RESTRICT v, double *CG_RESTRICT found,
               double *CG_RESTRICT work);
    int (*parameters)(const double *CG_RESTRICT p, const double *CG_RESTRICT terms, double *CG_RESTRICT found,
                      double *CG_RESTRICT work); /* found[n_parameters] */
} cg_backward_t;

/* The derivatives of a kernel; NULL if there are none. */
CG_UNUSED static inline const cg_derivative_t *cg_derivative(const cg_derivatives_t *derivatives, const char *kernel)
{
    const cg_derivative_t *entry = derivatives->entries;

    while (entry->kernel != NULL && strcmp(entry->kernel, kernel) != 0) entry++;
    return entry->kernel == NULL ? NULL : entry;
}

#ifdef __cplusplus
}
#endif

#endif /* CG_DERIVATIVES_H */
