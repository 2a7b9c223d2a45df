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

#if CG_LANES > 1
typedef double cg_unaligned_t __attribute__((vector_size(CG_LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
#else
typedef double cg_unaligned_t;
#endif

/* Vectors from and to memory of any alignment. */
static CG_INLINE void cg_take_vectors(cg_real_t *to, const double *from, int n)
{
    for (int i = 0; i < n; i++) {
        to[i] = *(const cg_unaligned_t *)(const void *)(from + (ptrdiff_t)i * CG_LANES);
    }
}
static CG_INLINE void cg_give_vectors(double *to, const cg_real_t *from, int n)
{
    for (int i = 0; i < n; i++) {
        *(cg_unaligned_t *)(void *)(to + (ptrdiff_t)i * CG_LANES) = from[i];
    }
}
/* The first lane of vectors that are the same in all lanes. */
static CG_INLINE void cg_give_values(double *to, const cg_real_t *from, int n)
{
    for (int i = 0; i < n; i++) {
        memcpy(&to[i], &from[i], sizeof(double));
    }
}

/* The function `name` of the kernel over lanes `name`_lanes, whose results are the values, then the derivatives; and the
 * same where `hoist` computes `n_hoisted` of its vectors first. */
#define CG_DIFFERENTIAL_OF(name, n_values, n_given, n_found, first, call)                                             \
    static int name(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,  \
                    const double *CG_RESTRICT v, double *CG_RESTRICT value, double *CG_RESTRICT found,                \
                    double *CG_RESTRICT work)                                                                         \
    {                                                                                                                 \
        const cg_real_t clock = cg_splat(t);                                                                          \
        cg_real_t given[n_given], results[(n_values) + (n_found)];                                                    \
        cg_take_vectors(given, v, n_given);                                                                           \
        first;                                                                                                        \
        const cg_mask_t ok = call;                                                                                    \
        if (cg_any(cg_not(ok))) {                                                                                     \
            return CG_SINGULAR;                                                                                       \
        }                                                                                                             \
        cg_give_values(value, results, n_values);                                                                     \
        cg_give_vectors(found, results + (n_values), n_found);                                                        \
        return CG_OK;                                                                                                 \
    }
#define CG_DIFFERENTIAL(name, n_values, n_given, n_found)                                                             \
    CG_DIFFERENTIAL_OF(name, n_values, n_given, n_found, (void)0,                                                     \
                       name##_lanes(&clock, x, p, u, given, results, cg_aligned(work)))
#define CG_DIFFERENTIAL_HOISTED(name, n_values, n_given, n_found, hoist, n_hoisted)                                   \
    CG_DIFFERENTIAL_OF(name, n_values, n_given, n_found, cg_real_t hoisted[n_hoisted],                                \
                       hoist(p, given, hoisted) & name##_lanes(&clock, x, p, hoisted, u, given, results, cg_aligned(work)))

/* The function `name` of the values alone of a kernel over lanes. */
#define CG_VALUES(name, n_values)                                                                                     \
    static int name(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,  \
                    double *CG_RESTRICT out, double *CG_RESTRICT work)                                                \
    {                                                                                                                 \
        const cg_real_t clock = cg_splat(t);                                                                          \
        cg_real_t results[n_values];                                                                                  \
        const cg_mask_t ok = name##_lanes(&clock, x, p, u, results, cg_aligned(work));                                \
        if (cg_any(cg_not(ok))) {                                                                                     \
            return CG_SINGULAR;                                                                                       \
        }                                                                                                             \
        cg_give_values(out, results, n_values);                                                                       \
        return CG_OK;                                                                                                 \
    }
