/* cg_math_exp.h: exponential and logarithm. Part of cg_math.h. */
#ifndef CG_MATH_EXP_H
#define CG_MATH_EXP_H

/* cosh r - 1 = z p(z), z = r r: error 2^-58.0 on |r| <= ln(2)/2. */
static CG_INLINE cg_real_t cg_exp_even(cg_real_t z, cg_real_t zz)
{
    const cg_real_t upper = cg_plus(cg_line(0x1.6c16c1863e337p-10, 0x1.a01994ff586f5p-16, z), 0x1.28b1be5361499p-22, zz);
    return cg_fma(zz, upper, cg_line(0x1.000000000000cp-1, 0x1.555555554fd67p-5, z));
}

/* sinh r - r = r z p(z): error 2^-62.8 on |r| <= ln(2)/2. */
static CG_INLINE cg_real_t cg_exp_odd(cg_real_t z, cg_real_t zz)
{
    const cg_real_t upper = cg_plus(cg_line(0x1.a01a01b4a09c9p-13, 0x1.71dded516e51cp-19, z), 0x1.af70b4a73a9bfp-26, zz);
    return cg_fma(zz, upper, cg_line(0x1.555555555555cp-3, 0x1.111111110e968p-7, z));
}

/* exp r - 1 - r, and what is added to it. */
static CG_INLINE cg_real_t cg_exp_terms(cg_real_t r, cg_real_t more)
{
    const cg_real_t z = r * r, zz = z * z;
    return cg_fma(z, cg_fma(r, cg_exp_odd(z, zz), cg_exp_even(z, zz)), more);
}

/* 2^k from k + 1023 + CG_ROUNDER, for k from -1022 to 1023. */
static CG_INLINE cg_real_t cg_power_of_two(cg_real_t rounded) { return cg_from_bits(cg_bits(rounded) << 52); }

/* a 2^k for any |k| < 2000; rounds once more if the result is subnormal. */
static CG_INLINE cg_real_t cg_scale(cg_real_t a, cg_real_t k)
{
    const cg_real_t half = cg_line(CG_ROUNDER + 1023.0, 0.5, k);
    const cg_real_t other = (k - (half - (CG_ROUNDER + 1023.0))) + (CG_ROUNDER + 1023.0);
    return (a * cg_power_of_two(half)) * cg_power_of_two(other);
}

#define CG_EXP_NEAR 690.0 /* below, the product with the power of two is exact and the result normal */

/* Writes exp(x) to the lanes of the result that the common path does not handle. */
static CG_OUT_OF_LINE void cg_exp_far(const cg_real_t *x, cg_real_t *result)
{
    const cg_real_t below = cg_larger(cg_splat(-746.0), *x); /* the constant first: keeps a NaN */
    const cg_real_t a = cg_smaller(cg_splat(710.0), below);
    const cg_real_t k = cg_line(CG_ROUNDER, CG_LN2_INVERSE, a) - CG_ROUNDER;
    const cg_real_t r = cg_plus(cg_plus(a, -CG_LN2_UPPER, k), -CG_LN2_LOWER, k);
    const cg_real_t found = cg_scale(1.0 + cg_exp_terms(r, r), k);
    *result = cg_where(cg_lt(cg_splat(CG_EXP_NEAR), cg_abs(*x)), found, *result);
}

static CG_INLINE cg_real_t cg_exp(cg_real_t x)
{
    const cg_real_t rounded = cg_line(CG_ROUNDER + 1023.0, CG_LN2_INVERSE, x);
    const cg_real_t k = rounded - (CG_ROUNDER + 1023.0);
    const cg_real_t r = cg_plus(cg_plus(x, -CG_LN2_UPPER, k), -CG_LN2_LOWER, k);
    const cg_real_t scale = cg_power_of_two(rounded);
    cg_real_t result = cg_fma(scale, cg_exp_terms(r, r), scale);
    if (CG_RARE(cg_any_below(cg_splat(CG_EXP_NEAR), cg_abs(x)))) {
        const cg_real_t in = x;
        cg_real_t out = result;
        cg_exp_far(&in, &out);
        result = out;
    }
    return result;
}

/* x 2^-bias = m 2^k for a normal x > 0, m from sqrt(1/2) to sqrt(2). */
static CG_INLINE cg_real_t cg_mantissa(cg_real_t x, cg_real_t bias, cg_real_t *k)
{
    const uint64_t root = UINT64_C(0x3fe6a09e667f3bcd); /* sqrt(1/2) */
    const cg_bits_t shifted = cg_bits(x) + (UINT64_C(0x3ff0000000000000) - root);
    *k = cg_from_bits((shifted >> 52) | UINT64_C(0x4330000000000000)) - ((0x1p52 + 1023.0) + bias);
    return cg_from_bits((shifted & UINT64_C(0x000fffffffffffff)) + root);
}

/* log(x 2^-bias) for a normal x > 0. With f = m - 1 and s = f/(2 + f) = tanh(log(m)/2),
 * log m = 2 s + s z p(z) = f - f f/2 + s (f f/2 + z p(z)), z = s s: error 2^-59.5 on the range of m. */
static CG_INLINE cg_real_t cg_log_normal(cg_real_t x, cg_real_t bias)
{
    cg_real_t k;
    const cg_real_t f = cg_mantissa(x, bias, &k) - 1.0;
    const cg_real_t s = f / (2.0 + f), z = s * s, zz = z * z;
    const cg_real_t last = cg_plus(cg_line(0x1.74663ce641c6bp-3, 0x1.39a1e92580a69p-3, z), 0x1.2f03ba00814f7p-3, zz);
    const cg_real_t terms = cg_fma(zz, cg_fma(zz, last, cg_line(0x1.24924941e10d4p-2, 0x1.c71c521483c63p-3, z)),
                                   cg_line(0x1.5555555555592p-1, 0x1.999999997ff1dp-2, z));
    const cg_real_t half = 0.5 * f * f;
    const cg_real_t rest = cg_fma(s, cg_fma(z, terms, half), k * CG_LN2_LOWER);
    return cg_plus(f - (half - rest), CG_LN2_UPPER, k);
}

static CG_INLINE cg_mask_t cg_is_normal(cg_real_t x)
{
    return cg_le(cg_splat(CG_DBL_MIN), x) & cg_lt(x, cg_splat(HUGE_VAL));
}

/* Writes log(x) to the lanes of the result that the common path does not handle. */
static CG_OUT_OF_LINE void cg_log_far(const cg_real_t *x, cg_real_t *result)
{
    const cg_real_t zero = cg_splat(0.0), nan = cg_splat((double)NAN);
    const cg_mask_t small = cg_lt(zero, *x) & cg_lt(*x, cg_splat(CG_DBL_MIN));
    const cg_real_t found = cg_log_normal(*x * 0x1p54, cg_splat(54.0));
    const cg_real_t outside = cg_where(cg_eq(*x, zero), cg_splat(-HUGE_VAL), cg_where(cg_lt(*x, zero), nan, *x));
    *result = cg_where(cg_is_normal(*x), *result, cg_where(small, found, outside));
}

static CG_INLINE cg_real_t cg_log(cg_real_t x)
{
    cg_real_t result = cg_log_normal(x, cg_splat(0.0));
    if (CG_RARE(cg_any(cg_not(cg_is_normal(x))))) {
        const cg_real_t in = x;
        cg_real_t out = result;
        cg_log_far(&in, &out);
        result = out;
    }
    return result;
}

#endif /* CG_MATH_EXP_H */
