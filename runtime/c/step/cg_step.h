/* cg_step.h: helpers for every method inside a step, for one trajectory or for lanes (see cg_real.h).
 *
 * The last bits of the library's pow depend on the CPU's features; a step size must not, so the step-size control has
 * its own logarithm and power, which use only + - * and multiply-adds.
 */
#ifndef CG_STEP_H
#define CG_STEP_H

#include "cg_precision.h"
#include "cg_real.h"
#include "cg_run.h"

#include <float.h>

/* Placed before a loop over the states of lanes if its sums would otherwise go through memory. */
#if CG_LANES > 1
#define CG_UNROLL _Pragma("GCC unroll 16")
#else
#define CG_UNROLL
#endif

/* Newton's method moves the end of a step onto the constraints in one or two steps; one that is below a part of the
 * tolerances is left out. With tolerances near the rounding errors of the constraints the steps do not become so small: what
 * is left after three is accepted if it is below the tolerances. */
enum { CG_MOST_CORRECTIONS = 8 };

#define CG_MOST_UNMET 10.0 /* tolerances that redundant constraints may be apart: a few are rounding if those are fine */
#define CG_SHRINK_UNCLOSED 0.25 /* h_new / h after a step whose end cannot be moved onto the constraints */

static CG_INLINE double cg_close_enough(int corrections) { return corrections < 3 ? 1e-4 : 1.0; }

/* True if all n values are finite: 0 * v is NaN for an infinity and for a NaN. Many are added in partial sums, since each
 * addition to a single one would wait for that before. */
static CG_INLINE cg_mask_t cg_step_finite(const cg_real_t *v, int32_t n)
{
    cg_real_t sum = cg_splat(0.0);
    int32_t i = 0;
#if CG_LANES == 1
    if (n >= 4 * CG_PAD) {
        cg_real_t sums[CG_PAD] = {0};
        for (; i + CG_PAD <= n; i += CG_PAD) {
            for (int32_t part = 0; part < CG_PAD; part++) {
                sums[part] = cg_plus(sums[part], 0.0, v[i + part]);
            }
        }
        sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
#endif
    for (; i < n; i++) {
        sum = cg_plus(sum, 0.0, v[i]);
    }
    return cg_eq(sum, cg_splat(0.0));
}

/* log2 and exp2 to 4 digits. They are between the error of a step and the size of the next one, so short dependency
 * chains matter and digits do not: exact at powers of two, polynomials (errors 2e-5 and 3e-6) in between. Integers are
 * converted through the low bits of a number near CG_SHIFT, since not every CPU converts vectors of 64-bit integers. */

/* log2 of a normal positive number. */
static CG_INLINE cg_real_t cg_step_log2_normal(cg_real_t a)
{
    const cg_bits_t bits = cg_bits(a);
    const cg_real_t e = cg_from_bits((bits >> CG_FRACTION_BITS) | CG_SHIFT_BITS) - (CG_SHIFT + CG_BIAS);
    /* a = (1 + f) 2^e, 0 <= f < 1 */
    const cg_real_t f = cg_from_bits((bits & CG_FRACTION_MASK) | CG_ONE_BITS) - 1.0;
    const cg_real_t f2 = f * f;
    const cg_real_t terms = cg_fma(f2, cg_line(0.14842664, -0.04514904, f), cg_line(0.44191704, -0.2671794, f));
    return e + cg_fma(f - f2, terms, f);
}

/* log2(a), with a clamped. */
static CG_INLINE cg_real_t cg_step_log2(cg_real_t a)
{
    return cg_step_log2_normal(cg_smaller(cg_larger(a, cg_splat(CG_LEAST_ERROR)), cg_splat(CG_LARGEST_ERROR)));
}

/* 2^a where it does not overflow: the nearest integer, and a polynomial from -1/2 to 1/2. */
static CG_INLINE cg_real_t cg_step_exp2(cg_real_t a)
{
    const cg_real_t shifted = a + (CG_SHIFT + CG_BIAS);
    const cg_real_t z = a - (shifted - (CG_SHIFT + CG_BIAS));
    const cg_real_t terms = cg_fma(z * z, cg_line(0.055906425, 0.0095828536, z), cg_line(0.69312419, 0.24024099, z));
    return cg_fma(z, terms, cg_splat(1.0)) * cg_from_bits(cg_bits(shifted) << CG_FRACTION_BITS);
}

/* 1/a to 0.3 %, for the weight of an error: a vector of quotients takes as long as 16 of products. The guess in the bits
 * has an error e below 0.051, and 1 + e leaves e^2. Not finite if a is not; 1/a is a normal number. */
static CG_INLINE cg_real_t cg_step_reciprocal(cg_real_t a)
{
    const cg_real_t guess = cg_from_bits(CG_RECIPROCAL_BITS - cg_bits(a));
    return cg_fma(guess, cg_fnma(a, guess, cg_splat(1.0)), guess);
}

/* The tolerance of one component: atol + rtol max(|x|, |y|), with |x| alone if y is NaN. */
static CG_INLINE cg_real_t cg_step_scale(double atol, double rtol, cg_real_t x, cg_real_t y)
{
    return cg_line(atol, rtol, cg_larger_size(y, x));
}

/* The shortest step allowed from t before t_stop: a few spacings of floating-point numbers at t. With a shorter one,
 * stages would coincide in time, and eventually the state would change while t does not. */
static CG_INLINE cg_real_t cg_step_smallest(cg_real_t t)
{
    return 4.0 * DBL_EPSILON * cg_larger_size(t, cg_splat(CG_TIME_LEAST / DBL_EPSILON));
}

/* Changes a state by parts of up to CG_MOMENT, all in one direction or in changing ones: what CG_ZERO / CG_MOMENT of that
 * does to a value is rounding error. */
static CG_INLINE void cg_shake(double *x, int32_t n, int changing)
{
    for (int32_t i = 0; i < n; i++) {
        const double part = 1.0 - 0.4 * ((double)(i % 7) / 7.0);
        x[i] += (changing && i % 2 != 0 ? -CG_MOMENT : CG_MOMENT) * part * x[i];
    }
}

/* The length of a step from t that is short enough to say where a run fails. */
static CG_INLINE cg_real_t cg_step_located(cg_real_t t)
{
    return cg_larger(CG_LOCATED * cg_abs(t), 2.0 * cg_step_smallest(t));
}

#endif /* CG_STEP_H */
