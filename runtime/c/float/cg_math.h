/* cg_math.h: elementary functions in single precision, with single-precision and integer operations only.
 *
 *     cg_sin cg_cos cg_sincos cg_tan cg_asin cg_acos cg_atan cg_atan2
 *     cg_exp cg_log cg_pow cg_sinh cg_cosh cg_tanh cg_min cg_max cg_sign      (cg_sqrt, cg_abs: cg_real.h)
 *
 * Errors are below 2 ulp over the whole range of each function; special values are those of C99's Annex F. Nothing here
 * reads or sets errno or the exception flags. The rounding mode must be to nearest, and operations must round to single
 * precision (FLT_EVAL_METHOD 0) and keep subnormals.
 *
 * The largest errors observed without contraction, in ulp, on every fifth number, or on 3e7 pairs for pow and atan2:
 *     sin 1.56   asin  1.26   exp  1.02   pow  0.93
 *     cos 1.55   acos  1.07   log  0.83   sinh 1.41
 *     tan 1.08   atan  1.38   sqrt 0.50   cosh 1.83
 *                atan2 1.54               tanh 1.48
 *
 * Polynomials are minimax fits by `tests/support/fit_polynomials.py --single`; each states the relative error that it adds.
 * Products that must be exact are products of short factors, as in runtime/c/cg_math.h.
 */
#ifndef CG_MATH_H
#define CG_MATH_H

#include "cg_real.h"

#define CG_SIGN_BIT UINT32_C(0x80000000)
/* Adding it rounds |x| < 2^22 to an integer, which is then in the low bits. */
#define CG_ROUNDER 0x1.8p23f
#define CG_LN2_INVERSE 0x1.715476p+0f
#define CG_LN2_UPPER 0x1.62e4p-1f /* 16 bits: exact times an integer below 2^8 */
#define CG_LN2_LOWER 0x1.7f7d1cp-20f
#define CG_PIO2_UPPER 0x1.921fb6p+0f
#define CG_PIO2_LOWER -0x1.777a5cp-25f
#define CG_PIO4_UPPER 0x1.921fbp-1f /* 21 bits: exact times 0 to 4 */
#define CG_PIO4_LOWER 0x1.5110b4p-23f

/* The 12 leading bits of a number: a product of two such numbers, or of one with a remainder, is exact. */
static CG_SHARED float cg_upper(float a) { return cg_from_bits(cg_bits(a) & UINT32_C(0xfffff000)); }
static CG_SHARED uint32_t cg_sign_of(float a) { return cg_bits(a) & CG_SIGN_BIT; }
static CG_SHARED float cg_flip(float a, uint32_t sign) { return cg_from_bits(cg_bits(a) ^ sign); }
static CG_SHARED int cg_is_nan(float a) { return a != a; }
static CG_SHARED int cg_is_normal(float x) { return x >= FLT_MIN && x < HUGE_VALF; }

/* The smaller and the larger; NaN if either is NaN. -0 is below +0, whichever comes first. */
static CG_SHARED float cg_min(float a, float b)
{
    const float equal = cg_from_bits(cg_bits(a) | cg_bits(b));
    return a < b || cg_is_nan(a) ? a : a == b ? equal : b;
}
static CG_SHARED float cg_max(float a, float b)
{
    const float equal = cg_from_bits(cg_bits(a) & cg_bits(b));
    return b < a || cg_is_nan(a) ? a : a == b ? equal : b;
}
/* -1, 0 or 1; the sum is 0 for both zeros, NaN for NaN. */
static CG_SHARED float cg_sign(float a) { return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a + 0.0f; }

#include "cg_math_exp.h"
#include "cg_math_trig.h"
/* these use the two above */
#include "cg_math_arc.h"
#include "cg_math_hyperbolic.h"
#include "cg_math_pow.h"

#endif /* CG_MATH_H */
