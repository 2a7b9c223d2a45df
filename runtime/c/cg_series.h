/* cg_series.h: Taylor's method. Included by the methods of a model that was compiled with it, which define before it
 *   CG_TAYLOR_PRODUCTS   the number of products of two series, a literal
 *   CG_TAYLOR_SERIES     the number of series that are stored, a literal
 * and CG_FN(taylor_series)(run, order) after it, which fills the rows of run->k: row j - 1 is the coefficient of h^j; see
 * codegen/emit/taylor.py. Then cg_taylor_step.h is included.
 *
 * Source: A. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor
 * methods, Experimental Mathematics 14 (2005) 99-117.
 *
 * A product c = a b of two series has the coefficients c_k = a_k b_0 + b_k a_0 + (the pairs between these). That sum
 * runs from the middle outwards, so that what is newest comes last: from the square of a_(k/2), if k is even, to a_(k-1)
 * b_1 + b_(k-1) a_1. The pairs with indices above 1 are known when order k begins. One trajectory adds them for as many
 * products at a time as a vector register holds, lanes for one product after the other in all trajectories. Both give the
 * same bits.
 */
#ifndef CG_TAYLOR_H
#define CG_TAYLOR_H

#include "methods/cg_control.h"

#define CG_TAYLOR_FEW (CG_LANES > 1 ? 8 : 24) /* products of a small model */

#if defined(__GNUC__) && !defined(__clang__) /* clang warns where it cannot */
#define CG_TAYLOR_UNROLL _Pragma("GCC unroll 16")
#else
#define CG_TAYLOR_UNROLL
#endif

/* A small model has its orders in one piece of code: the loops inside are then too short to be predicted. */
#if defined(__GNUC__) && !defined(__clang__) && CG_TAYLOR_PRODUCTS <= CG_TAYLOR_FEW
#define CG_TAYLOR_UNROLL_ORDERS _Pragma("GCC unroll 18")
#else
#define CG_TAYLOR_UNROLL_ORDERS
#endif

/* Beyond this order the steps grow no faster than the work in one. */
#define CG_TAYLOR_ORDER 18
#define CG_TAYLOR_LEAST_ORDER 4
enum cg_taylor_row { /* rows of k after the coefficients */
    CG_TAYLOR_SLOPE = CG_TAYLOR_ORDER, /* of the polynomial at the end of the step */
    CG_TAYLOR_LOST,   /* what rounding took from the state at the start of the step */
    CG_TAYLOR_END,    /* the state at the end of the last trial */
    CG_TAYLOR_AFTER,  /* what rounding took from that */
    CG_TAYLOR_SPARE   /* the first row after these */
};
#define CG_TAYLOR_DENSE (CG_TAYLOR_ORDER + 1)

#if CG_LANES > 1

/* A series: its coefficients 1, 2, ... of all lanes. */
#define CG_TAYLOR_SPACE                                               \
    cg_real_t *const space = CG_REALS(run->k) + CG_TAYLOR_SPARE * ld; \
    cg_real_t c[CG_TAYLOR_PRODUCTS + 1];                              \
    (void)space, (void)c;
#define CG_SERIES(name, i) cg_real_t *const name = space + (i) * CG_TAYLOR_ORDER;
#define CG_ANY_LANE(v) ((v)[0])

#define CG_MIDDLE(sum, a, b) cg_real_t sum = k % 2 == 0 && k > 2 ? (a)[k / 2] * (b)[k / 2] : cg_splat(0.0);
#define CG_PAIR(sum, a, b)                 \
    sum = cg_fma((a)[i], (b)[k - i], sum); \
    sum = cg_fma((b)[i], (a)[k - i], sum);

#else

/* The factors of all products, each coefficient in a row; the columns that belong to no product are 0. */
#define CG_TAYLOR_BLOCKS ((CG_TAYLOR_PRODUCTS + CG_PAD) / CG_PAD * (CG_PAD / CG_WIDTH))
#define CG_TAYLOR_SPACE                                                     \
    cg_block_t left[CG_TAYLOR_ORDER][CG_TAYLOR_BLOCKS];                     \
    cg_block_t right[CG_TAYLOR_ORDER][CG_TAYLOR_BLOCKS];                    \
    double c[CG_TAYLOR_BLOCKS * CG_WIDTH];                                  \
    for (int k = 1; k < CG_TAYLOR_ORDER; k++) {                             \
        for (int i = CG_TAYLOR_PRODUCTS; i < CG_TAYLOR_BLOCKS * CG_WIDTH; i++) { \
            CG_FACTORS(i, 0.0, 0.0)                                         \
        }                                                                   \
    }
#define CG_FACTORS(i, a, b)               \
    ((double *)(void *)left[k])[i] = (a); \
    ((double *)(void *)right[k])[i] = (b);
#define CG_SERIES(name, i)
#define CG_ANY_LANE(v) (v)

/* The terms of coefficient k of all products whose indices are above 1. */
CG_UNUSED static CG_INLINE void cg_products(cg_block_t (*left)[CG_TAYLOR_BLOCKS], cg_block_t (*right)[CG_TAYLOR_BLOCKS],
                                            int k, double *c)
{
    for (int j = 0; j < CG_TAYLOR_PRODUCTS; j += CG_WIDTH) {
        const int m = j / CG_WIDTH;
        cg_block_t sum = {0};
        if (k % 2 == 0 && k > 2) {
            sum = left[k / 2][m] * right[k / 2][m];
        }
        CG_TAYLOR_UNROLL
        for (int i = k / 2 + 1; i < k - 1; i++) {
            sum = cg_block_fma(left[i][m], right[k - i][m], sum);
            sum = cg_block_fma(right[i][m], left[k - i][m], sum);
        }
        memcpy(c + j, &sum, sizeof sum);
    }
}

#endif

/* Whether a relation holds just after the start of a step where it is m, from the values and slopes of both sides. */
CG_UNUSED static CG_INLINE cg_mask_t cg_lt_ahead(cg_mask_t m, cg_real_t a, cg_real_t b, cg_real_t da, cg_real_t db,
                                                 double direction)
{
    return m | (cg_eq(a, b) & cg_lt(direction * da, direction * db));
}
CG_UNUSED static CG_INLINE cg_mask_t cg_le_ahead(cg_mask_t m, cg_real_t a, cg_real_t b, cg_real_t da, cg_real_t db,
                                                 double direction)
{
    return m & cg_not(cg_eq(a, b) & cg_lt(direction * db, direction * da));
}
CG_UNUSED static CG_INLINE cg_mask_t cg_eq_ahead(cg_mask_t m, cg_real_t a, cg_real_t b, cg_real_t da, cg_real_t db,
                                                 double direction)
{
    (void)a, (void)b, (void)direction;
    return m & cg_eq(da, db);
}
CG_UNUSED static CG_INLINE cg_mask_t cg_ne_ahead(cg_mask_t m, cg_real_t a, cg_real_t b, cg_real_t da, cg_real_t db,
                                                 double direction)
{
    return m | (cg_eq(a, b) & cg_not(cg_eq_ahead(cg_eq(a, b), a, b, da, db, direction)));
}

/* 1 / k */
static const double cg_taylor_inverse[CG_TAYLOR_ORDER + 1] = {
    0.0,      1.0,      1.0 / 2,  1.0 / 3,  1.0 / 4,  1.0 / 5,  1.0 / 6,  1.0 / 7,  1.0 / 8, 1.0 / 9,
    1.0 / 10, 1.0 / 11, 1.0 / 12, 1.0 / 13, 1.0 / 14, 1.0 / 15, 1.0 / 16, 1.0 / 17, 1.0 / 18,
};

#endif /* CG_TAYLOR_H */
