/* cg_step.h: what every method needs inside a step, for one trajectory or for lanes of them (see cg_real.h).
 *
 * The library's pow changes its last bits with the CPU's features; a step length must not, so the step control has
 * its own power, made of + - * / only.
 */
#ifndef CG_STEP_H
#define CG_STEP_H

#include "cg_real.h"
#include "cg_run.h"

#include <float.h>

/* What a loop over states works on at once: CG_WIDTH states of one trajectory in a register of the CPU that it is
 * compiled for, where the compiler has vector types; one state of all lanes. For sums of many terms that nothing waits
 * for; the same operations on each state, so the same bits. */
#if CG_LANES > 1
#define CG_WIDTH 1
typedef cg_real_t cg_block_t;
#elif defined(__GNUC__) && defined(__AVX__)
#define CG_WIDTH 4
#elif defined(__GNUC__)
#define CG_WIDTH 2
#else
#define CG_WIDTH 1
#endif
#if CG_WIDTH > 1
typedef double cg_block_t __attribute__((vector_size(CG_WIDTH * sizeof(double)), may_alias));
typedef double cg_loose_t __attribute__((vector_size(CG_WIDTH * sizeof(double)), aligned(8), may_alias));
#elif CG_LANES == 1
typedef double cg_block_t;
typedef double cg_loose_t; /* at any address that a double may have */
#endif

/* Before a loop over the states of lanes whose sums would go through memory. */
#if CG_LANES > 1
#define CG_UNROLL _Pragma("GCC unroll 16")
#else
#define CG_UNROLL
#endif

/* True where all n values are finite: 0 * v is NaN for an infinity and for a NaN. */
static CG_INLINE cg_mask_t cg_step_finite(const cg_real_t *v, int32_t n)
{
    cg_real_t sum = cg_splat(0.0);
    for (int32_t i = 0; i < n; i++) {
        sum += 0.0 * v[i];
    }
    return cg_eq(sum, cg_splat(0.0));
}

/* base^exponent to 4 digits for |exponent| <= 1, the base clamped to 1e-100 .. 1e100. It stands between the error of
 * a step and the length of the next, so short dependency chains matter and digits do not: log2 and exp2 are exact at
 * powers of two and polynomials (errors 2e-5 and 5e-6) between. Integers pass through the low bits of a double near
 * 2^52, for not every CPU converts vectors of 64-bit integers. */
static CG_INLINE cg_real_t cg_step_power(cg_real_t base, double exponent)
{
    const double shift = 4503599627370496.0; /* 2^52 */
    const cg_real_t clamped = cg_smaller(cg_larger(base, cg_splat(1e-100)), cg_splat(1e100));
    const cg_bits_t bits = cg_bits(clamped);
    const cg_real_t e = cg_from_bits((bits >> 52) | UINT64_C(0x4330000000000000)) - (shift + 1023.0);
    /* clamped = m 2^e, 1 <= m < 2 */
    const cg_real_t m = cg_from_bits((bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000));
    const cg_real_t a = m - 1.0;
    const cg_real_t a2 = a * a;
    const cg_real_t log2_m = a + (a - a2) * ((0.44191704 - 0.2671794 * a) + a2 * (0.14842664 - 0.04514904 * a));
    const cg_real_t y = exponent * (e + log2_m) + 1024.0; /* positive */
    const cg_real_t nearest = (y + shift) - shift;
    const cg_real_t whole = cg_where(cg_lt(y, nearest), nearest - 1.0, nearest);
    const cg_real_t z = y - whole;
    const cg_real_t power = (1.0 + z) - (z - z * z) * (0.30699608 + z * (0.06544626 + z * 0.013702));
    return power * cg_from_bits(cg_bits(whole + (shift - 1.0)) << 52); /* times 2^(whole - 1024) */
}

/* The tolerance of one component: atol + rtol max(|x|, |y|). */
static CG_INLINE cg_real_t cg_step_scale(double atol, double rtol, cg_real_t x, cg_real_t y)
{
    return atol + rtol * cg_larger(cg_abs(x), cg_abs(y));
}

/* The shortest step from t that is taken before t_stop: a few spacings of the numbers there. With a shorter one the
 * stages fall on the same times, and at last the state moves while t stands still. */
static CG_INLINE cg_real_t cg_step_smallest(cg_real_t t)
{
    return 4.0 * cg_larger(cg_abs(t) * DBL_EPSILON, cg_splat(DBL_MIN));
}

#endif /* CG_STEP_H */
