/* cg_series.h: Taylor's method. Included by the methods of a model that was compiled with it, which define
 *   CG_TAYLOR_SERIES   numbers of series that are stored, a literal
 *   CG_FN(taylor_series)(run, order)   fills the rows of run->k: row j - 1 is the coefficient of h^j
 * before they include this file's second half; see codegen/emit/taylor.py.
 *
 * Source: A. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor
 * methods, Experimental Mathematics 14 (2005) 99-117.
 *
 * A product c = a b of two series has the coefficients c_k = a_k b_0 + b_k a_0 + (the pairs between these). That sum
 * runs from the middle outwards, so that what is newest comes last: from the square of a_(k/2), if k is even, to a_(k-1)
 * b_1 + b_(k-1) a_1. One trajectory computes it from the other end: as soon as a_k and b_k are known, a vector of the
 * following sums gets its terms with both, in the same order. Both give the same bits.
 */
#ifndef CG_TAYLOR_H
#define CG_TAYLOR_H

#include "cg_control.h"

#if defined(__GNUC__)
#define CG_TAYLOR_UNROLL _Pragma("GCC unroll 16")
#else
#define CG_TAYLOR_UNROLL
#endif

/* Beyond this order the steps grow no faster than the work in one; and it is what the vectors below can hold. */
#define CG_TAYLOR_ORDER 18
#define CG_TAYLOR_LEAST_ORDER 4
enum cg_taylor_row { /* rows of k after the coefficients */
    CG_TAYLOR_SLOPE = CG_TAYLOR_ORDER, /* of the polynomial at the end of the step */
    CG_TAYLOR_WEIGHT, /* 1 / tolerance of each state */
    CG_TAYLOR_LOST,   /* what rounding took from the state at the start of the step */
    CG_TAYLOR_END,    /* the state at the end of the last trial */
    CG_TAYLOR_AFTER,  /* what rounding took from that */
    CG_TAYLOR_SPARE   /* the first row after these */
};
#define CG_TAYLOR_DENSE (CG_TAYLOR_ORDER + 1)

/* Beyond this number of products they are called, which takes time in a run and saves much in compilation. */
#if CG_TAYLOR_PRODUCTS <= 60
#define CG_SERIES_FUNCTION static CG_INLINE
#elif defined(__GNUC__)
#define CG_SERIES_FUNCTION __attribute__((noinline, unused)) static
#else
#define CG_SERIES_FUNCTION static
#endif

#if CG_LANES > 1

/* A series: its coefficients 1, 2, ... of all lanes. */
typedef cg_real_t *cg_series_t;
typedef struct {
    char none;
} cg_sum_t;
typedef int cg_place_t;

#define CG_ANY_LANE(v) ((v)[0])
#define CG_SERIES(name, i) const cg_series_t name = space + (i) * CG_TAYLOR_ORDER;
#define CG_SUM(name)

static CG_INLINE cg_place_t cg_place(int k) { return k; }

static CG_INLINE void cg_series_add(cg_series_t s, cg_place_t k, cg_real_t value) { s[k] = value; }

/* The terms of c_k without index 0. */
CG_SERIES_FUNCTION cg_real_t cg_product_inner(const cg_real_t *a, const cg_real_t *b, cg_place_t k)
{
    cg_real_t sum = k % 2 == 0 ? a[k / 2] * b[k / 2] : cg_splat(0.0);
    for (int i = k / 2 + 1; i < k; i++) {
        sum += a[i] * b[k - i] + b[i] * a[k - i];
    }
    return sum;
}
#define CG_INNER(sum, a, b) cg_product_inner(a, b, at)
#define CG_PRODUCT(sum, a, b, ak, bk)
#define CG_KEEP(s, value) cg_series_add(s, at, value);

#else

#if defined(CG_WIDE) /* coefficients in a vector register, chosen by the command line */
#elif defined(__GNUC__) && defined(__AVX512F__)
#define CG_WIDE 8
#elif defined(__GNUC__) && defined(__AVX__)
#define CG_WIDE 4
#elif defined(__GNUC__)
#define CG_WIDE 2
#else
#define CG_WIDE 1
#endif
#define CG_WIDES (8 / CG_WIDE)

#if CG_WIDE > 1
typedef double cg_wide_t __attribute__((vector_size(CG_WIDE * 8)));
#else
typedef double cg_wide_t;
#endif

/* cg_wide_only(i, k): the mask of the lane in which vector i of a series has coefficient k.
 * cg_wide_put(mask, a, b): a in that lane, b in the others. CG_WIDE_NEXT: both vectors moved by one lane. */
#if CG_WIDE == 8
#include <immintrin.h>
typedef __mmask8 cg_wide_mask_t;
#define CG_WIDE_FROM_1 1, 2, 3, 4, 5, 6, 7, 8
static CG_INLINE cg_wide_mask_t cg_wide_only(int i, int k) { return (cg_wide_mask_t)(1u << (k - 1 - 8 * i)); }
static CG_INLINE cg_wide_t cg_wide_put(cg_wide_mask_t only, cg_wide_t a, cg_wide_t b)
{
    return (cg_wide_t)_mm512_mask_mov_pd((__m512d)b, only, (__m512d)a);
}
#elif CG_WIDE > 1
typedef int64_t cg_wide_mask_t __attribute__((vector_size(CG_WIDE * 8)));
#if CG_WIDE == 4
#define CG_WIDE_FROM_1 1, 2, 3, 4
#define CG_WIDE_FROM_1_0 1.0, 2.0, 3.0, 4.0
#else
#define CG_WIDE_FROM_1 1, 2
#define CG_WIDE_FROM_1_0 1.0, 2.0
#endif
static CG_INLINE cg_wide_mask_t cg_wide_only(int i, int k)
{
    return (cg_wide_mask_t)((cg_wide_t){CG_WIDE_FROM_1_0} == (cg_wide_t){0.0} + (double)(k - CG_WIDE * i));
}
static CG_INLINE cg_wide_t cg_wide_put(cg_wide_mask_t only, cg_wide_t a, cg_wide_t b)
{
    return (cg_wide_t)((only & (cg_wide_mask_t)a) | (~only & (cg_wide_mask_t)b));
}
#else
typedef int cg_wide_mask_t;
static CG_INLINE cg_wide_mask_t cg_wide_only(int i, int k) { return i + 1 == k; }
static CG_INLINE cg_wide_t cg_wide_put(cg_wide_mask_t only, cg_wide_t a, cg_wide_t b) { return only ? a : b; }
#endif
#if CG_WIDE == 1
#define CG_WIDE_NEXT(low, high) (high)
#define CG_WIDE_ALL(value) (value)
#define CG_WIDE_FIRST(v) (v)
#else
#if defined(__clang__)
#define CG_WIDE_NEXT(low, high) __builtin_shufflevector(low, high, CG_WIDE_FROM_1)
#else
typedef int64_t cg_wide_lanes_t __attribute__((vector_size(CG_WIDE * 8)));
#define CG_WIDE_NEXT(low, high) __builtin_shuffle(low, high, (cg_wide_lanes_t){CG_WIDE_FROM_1})
#endif
static CG_INLINE cg_wide_t cg_wide_all(double value) { return (cg_wide_t){0.0} + value; }
#define CG_WIDE_ALL(value) cg_wide_all(value)
#define CG_WIDE_FIRST(v) ((v)[0])
#endif

/* A series: its coefficients 1 to 8, those still unknown are +0. Only the smaller index of a pair is looked up, which
 * is at most 8 up to order 18. */
typedef struct {
    cg_wide_t v[CG_WIDES];
} cg_series_t;

/* The sums of c_k to c_(k + 7) as far as they are known. */
typedef struct {
    cg_wide_t v[CG_WIDES];
} cg_sum_t;

typedef struct {
    cg_wide_mask_t only[CG_WIDES]; /* the place of coefficient k in a series */
} cg_place_t;

#define CG_ANY_LANE(v) (v)
#define CG_SERIES(name, i) \
    cg_series_t name;      \
    memset(&name, 0, sizeof name);
#define CG_SUM(name) \
    cg_sum_t name;   \
    memset(&name, 0, sizeof name);

static CG_INLINE cg_place_t cg_place(int k)
{
    cg_place_t at;
    for (int i = 0; i < CG_WIDES; i++) {
        at.only[i] = cg_wide_only(i, k);
    }
    return at;
}

CG_SERIES_FUNCTION void cg_series_add(cg_series_t *s, cg_place_t at, double value)
{
    for (int i = 0; i < CG_WIDES; i++) {
        s->v[i] = cg_wide_put(at.only[i], CG_WIDE_ALL(value), s->v[i]);
    }
}

/* The sums of the next coefficients, with a_k and b_k, which are not in their series yet. */
CG_SERIES_FUNCTION void cg_product_add(cg_sum_t *c, const cg_series_t *a, const cg_series_t *b, cg_place_t at, double ak,
                                     double bk)
{
    const cg_wide_t ak_all = CG_WIDE_ALL(ak);
    const cg_wide_t bk_all = CG_WIDE_ALL(bk);
    for (int i = 0; i < CG_WIDES; i++) {
        const cg_wide_t after = i + 1 < CG_WIDES ? c->v[i + 1 < CG_WIDES ? i + 1 : 0] : CG_WIDE_ALL(0.0);
        const cg_wide_t sum = CG_WIDE_NEXT(c->v[i], after) + (ak_all * b->v[i] + bk_all * a->v[i]);
        c->v[i] = cg_wide_put(at.only[i], ak_all * bk_all, sum);
    }
}
#define CG_INNER(sum, a, b) CG_WIDE_FIRST((sum).v[0])
#define CG_PRODUCT(sum, a, b, ak, bk) cg_product_add(&sum, &a, &b, at, ak, bk);
#define CG_KEEP(s, value) cg_series_add(&s, at, value);

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
