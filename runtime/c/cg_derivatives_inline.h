/* cg_derivatives_inline.h: what the file of a model's derivatives is made of; see cg_derivatives.h. CG_LANES, the number
 * of directions, comes from the command line.
 */
#include "cg_derivatives.h"
#include "cg_real.h"

#ifndef CG_EXPORTED
#define CG_EXPORTED
#endif

/* The scratch of a kernel over lanes, in memory of any alignment with CG_LANES numbers to spare. */
static CG_INLINE cg_real_t *cg_aligned(double *work)
{
    const uintptr_t excess = (uintptr_t)work % sizeof(cg_real_t);
    return (cg_real_t *)(void *)(work + (excess ? sizeof(cg_real_t) - excess : 0) / sizeof(double));
}

/* The function `name` of the kernel over lanes `name`_lanes, whose results are the values, then the derivatives. */
#define CG_DIFFERENTIAL(name, n_values, n_given, n_found)                                                              \
    static int name(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,  \
                    const double *CG_RESTRICT v, double *CG_RESTRICT value, double *CG_RESTRICT found,                \
                    double *CG_RESTRICT work)                                                                         \
    {                                                                                                                 \
        const cg_real_t clock = cg_splat(t);                                                                          \
        cg_real_t given[n_given], results[(n_values) + (n_found)];                                                    \
        memcpy(given, v, sizeof given);                                                                               \
        const cg_mask_t ok = name##_lanes(&clock, x, p, u, given, results, cg_aligned(work));                         \
        if (cg_any(cg_not(ok))) {                                                                                     \
            return CG_SINGULAR;                                                                                       \
        }                                                                                                             \
        for (int i = 0; i < (n_values); i++) {                                                                        \
            memcpy(&value[i], &results[i], sizeof(double)); /* the same in all lanes */                               \
        }                                                                                                             \
        memcpy(found, results + (n_values), (n_found) * sizeof(cg_real_t));                                           \
        return CG_OK;                                                                                                 \
    }
