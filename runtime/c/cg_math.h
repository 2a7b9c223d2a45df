/* cg_math.h: elementary functions of `cg_real_t`, one source for single trajectories and for lanes.
 *
 *     cg_sin cg_cos cg_sincos cg_tan cg_asin cg_acos cg_atan cg_atan2
 *     cg_exp cg_log cg_pow cg_sinh cg_cosh cg_tanh cg_min cg_max cg_sign      (cg_sqrt, cg_abs: cg_real.h)
 *
 * Errors are below 2 ulp over the whole range of each function; special values are those of C99's Annex F,
 * but that a zero has no sign for cg_atan2: in a model it is a real number, whatever product it came from. Multiply-adds
 * are written out, so that, if the compiler fuses nothing else, each lane has the bits of the scalar instance, whatever
 * the compiler and instruction set; the sign and payload of a NaN are not guaranteed. With contraction the bits can
 * differ, but the error bound still holds. Nothing here reads or sets errno or the exception flags. The rounding mode must be to nearest, and operations
 * must round to double (FLT_EVAL_METHOD 0) and keep subnormals.
 *
 * The largest errors observed on 1e6 arguments each, over all exponents and in difficult regions, without and with
 * contraction (in ulp; another million may contain a slightly larger one):
 *     sin 1.47 1.47   asin  1.29 1.29   exp  1.03 1.03   pow  0.97 0.98
 *     cos 1.45 1.45   acos  1.07 1.07   log  0.80 0.74   sinh 1.59 1.59
 *     tan 0.91 0.91   atan  1.38 1.38   sqrt 0.50 0.50   cosh 1.35 1.35
 *                     atan2 1.45 1.45                    tanh 1.50 1.50
 *
 * How this is achieved:
 * - The common path has no branch. Rare arguments (huge angles, results that overflow or are subnormal) are detected in
 *   all lanes at once and corrected by an out-of-line function; the other lanes keep their values.
 * - Polynomials are minimax fits by tests/support/fit_polynomials.py; each states its interval and its relative error.
 * - Products that must be exact are products of short factors (constants with trailing zeros, or numbers truncated by
 *   cg_upper), or their remainder is computed by a multiply-add.
 * - Integers are converted between double and bits by adding 1.5 * 2^52; AVX2 cannot convert 64-bit integers.
 */
#ifndef CG_MATH_H
#define CG_MATH_H

#include "cg_real.h"

#define CG_SIGN_BIT UINT64_C(0x8000000000000000)
/* Adding it rounds |x| < 2^51 to an integer, which is then in the low bits. */
#define CG_ROUNDER 0x1.8p52
#define CG_LN2_INVERSE 0x1.71547652b82fep+0
#define CG_LN2_UPPER 0x1.62e42fefa3800p-1 /* 42 bits: exact times an integer below 2^11 */
#define CG_LN2_LOWER 0x1.ef35793c76730p-45
#define CG_PIO2_UPPER 0x1.921fb54442d18p+0
#define CG_PIO2_LOWER 0x1.1a62633145c07p-54
#define CG_PIO4_UPPER 0x1.921fb54442d18p-1 /* 50 bits: exact times 0 to 4 */
#define CG_PIO4_LOWER 0x1.1a62633145c07p-55
#define CG_DBL_MIN 0x1p-1022

#if defined(__GNUC__)
#define CG_OUT_OF_LINE __attribute__((unused)) CG_COLD
#else
#define CG_OUT_OF_LINE CG_COLD
#endif

/* True where the lowest bit is set. */
static CG_INLINE cg_mask_t cg_odd(cg_bits_t a)
{
#if CG_LANES > 1
    return (cg_mask_t)(0 - (a & 1));
#else
    return (cg_mask_t)(a & 1);
#endif
}
/* Whether a < b in any lane, without going through a vector mask. */
static CG_INLINE int cg_any_below(cg_real_t a, cg_real_t b)
{
#if CG_LANES == 8 && defined(__AVX512F__)
    return cg_mm512_less_pd_mask((cg_m512d)a, (cg_m512d)b) != 0;
#else
    return cg_any(cg_lt(a, b));
#endif
}
/* The 26 leading bits of a number: a product of two such numbers, or of one with a 27-bit remainder, is exact. */
static CG_INLINE cg_real_t cg_upper(cg_real_t a) { return cg_from_bits(cg_bits(a) & UINT64_C(0xfffffffff8000000)); }
static CG_INLINE cg_bits_t cg_sign_of(cg_real_t a) { return cg_bits(a) & CG_SIGN_BIT; }
static CG_INLINE cg_real_t cg_flip(cg_real_t a, cg_bits_t sign) { return cg_from_bits(cg_bits(a) ^ sign); }
/* True where the sign bit is set, including -0 and NaN. */
static CG_INLINE cg_mask_t cg_signed(cg_real_t a)
{
    return cg_lt(cg_from_bits(cg_sign_of(a) | UINT64_C(0x3ff0000000000000)), cg_splat(0.0));
}
static CG_INLINE cg_mask_t cg_is_nan(cg_real_t a) { return cg_not(cg_eq(a, a)); }

/* The smaller and the larger; NaN if either is NaN. -0 is below +0, whichever comes first. */
static CG_INLINE cg_real_t cg_min(cg_real_t a, cg_real_t b)
{
    const cg_real_t equal = cg_from_bits(cg_bits(a) | cg_bits(b));
    return cg_where(cg_lt(a, b) | cg_is_nan(a), a, cg_where(cg_eq(a, b), equal, b));
}
static CG_INLINE cg_real_t cg_max(cg_real_t a, cg_real_t b)
{
    const cg_real_t equal = cg_from_bits(cg_bits(a) & cg_bits(b));
    return cg_where(cg_lt(b, a) | cg_is_nan(a), a, cg_where(cg_eq(a, b), equal, b));
}
/* -1, 0 or 1; the sum is 0 for both zeros, NaN for NaN. */
static CG_INLINE cg_real_t cg_sign(cg_real_t a)
{
    const cg_real_t zero = cg_splat(0.0);
    return cg_where(cg_lt(zero, a), cg_splat(1.0), cg_where(cg_lt(a, zero), cg_splat(-1.0), a + zero));
}

#include "math/cg_math_exp.h"
#include "math/cg_math_trig.h"
/* these use the two above */
#include "math/cg_math_arc.h"
#include "math/cg_math_hyperbolic.h"
#include "math/cg_math_pow.h"

#endif /* CG_MATH_H */
