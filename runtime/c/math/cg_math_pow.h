/* cg_math_pow.h: power. Part of cg_math.h.
 *
 * x^y = exp(y log x). An error e of y log x is a relative error e of the result, and |y log x| reaches 745, so log x is
 * computed with a relative error of about 2^-64. With x = m 2^k, s = (m - 1)/(m + 1), z = s s,
 *     log x = k ln 2 + 2 s + (2/3) s^3 + s^5 p(z).
 * s is truncated to the 15 bits of s0, s = s0 + s1: then s0^3 has 45 bits and its product with c = 171/256 has 53.
 * Three terms are exact: k ln 2 + 2 s0 + c s0^3. The rest is below 2^-12 of the sum, and a plain double is enough:
 *     s^3 ((2/3 - c) + z p(z)) + s1 (2 + c (s s + s s0 + s0 s0)).
 */
#ifndef CG_MATH_POW_H
#define CG_MATH_POW_H

/* y log(x 2^-bias) = upper + lower for a normal x > 0; upper has 52 bits. */
static CG_INLINE void cg_y_log_x(cg_real_t x, cg_real_t bias, cg_real_t y, cg_real_t *upper, cg_real_t *lower)
{
    const double c = 171.0 / 256.0, c_rest = -0x1.5555555555555p-10; /* 2/3 - c */
    cg_real_t k;
    const cg_real_t m = cg_mantissa(x, bias, &k), f = m - 1.0;
    /* d_upper + d_lower = m + 1; the remainder of f/(m + 1) after s0 has no error */
    const cg_real_t d = m + 1.0, d_upper = cg_upper(d), d_lower = m - (d_upper - 1.0), inverse = 1.0 / d;
    const cg_real_t s0 = cg_from_bits(cg_bits(f * inverse) & UINT64_C(0xffffffc000000000));
    const cg_real_t s1 = cg_fma(-s0, d_lower, cg_fma(-s0, d_upper, f)) * inverse;
    const cg_real_t s = s0 + s1, z = s * s, zz = z * z, square = s0 * s0;
    /* s^5 p(z): error 2^-73.5 of log m on the range of m */
    const cg_real_t last = cg_fma(zz, cg_line(0x1.de3d6ec68466ap-4, 0x1.eac5cb67b598bp-4, z),
                                  cg_line(0x1.3b1364c901862p-3, 0x1.11206f39cfe65p-3, z));
    const cg_real_t p = cg_fma(zz, cg_fma(zz, last, cg_line(0x1.c71c71c5968ebp-3, 0x1.745d18295753cp-3, z)),
                               cg_line(0x1.9999999999996p-2, 0x1.2492492492f51p-2, z));
    const cg_real_t left = cg_fma(s * z, cg_fma(z, p, cg_splat(c_rest)),
                                  s1 * cg_line(2.0, c, cg_fma(s, s0, z + square)));
    const cg_real_t first = k * CG_LN2_UPPER, second = s0 + s0, third = (square * s0) * c;
    const cg_real_t two = first + second, two_rest = second - (two - first);
    const cg_real_t three = two + third, three_rest = third - (three - two);
    const cg_real_t rest = (two_rest + three_rest) + cg_plus(left, CG_LN2_LOWER, k);
    const cg_real_t sum = three + rest, log_upper = cg_upper(sum), log_lower = (three - log_upper) + rest;
    const cg_real_t y_upper = cg_upper(y), y_lower = y - y_upper;
    *upper = y_upper * log_upper;
    *lower = cg_fma(y_upper, log_lower, y_lower * sum);
}

/* exp(upper + lower) 2^-k and k + CG_ROUNDER + 1023. */
static CG_INLINE cg_real_t cg_exp_sum(cg_real_t upper, cg_real_t lower, cg_real_t *rounded)
{
    *rounded = cg_line(CG_ROUNDER + 1023.0, CG_LN2_INVERSE, upper);
    const cg_real_t k = *rounded - (CG_ROUNDER + 1023.0);
    const cg_real_t near = cg_plus(upper, -CG_LN2_UPPER, k), rest = cg_plus(lower, -CG_LN2_LOWER, k);
    const cg_real_t r = near + rest;
    return 1.0 + (r + cg_exp_terms(r, (near - r) + rest));
}

static CG_OUT_OF_LINE void cg_pow_far(const cg_real_t *base, const cg_real_t *exponent, cg_real_t *result)
{
    const cg_real_t x = *base, y = *exponent, a = cg_abs(x), b = cg_abs(y);
    const cg_real_t zero = cg_splat(0.0), one = cg_splat(1.0), infinity = cg_splat(HUGE_VAL);
    const cg_mask_t small = cg_lt(a, cg_splat(CG_DBL_MIN)), plain = cg_lt(zero, a) & cg_lt(a, infinity);
    const cg_real_t normal = cg_where(plain, cg_where(small, a * 0x1p54, a), one);
    /* for |y| beyond 2^65 the power of every number except 1 is 0 or infinite */
    const cg_real_t limited = cg_smaller(cg_splat(0x1p65), cg_larger(cg_splat(-0x1p65), y));
    cg_real_t upper, lower, rounded;
    cg_y_log_x(normal, cg_where(small & plain, cg_splat(54.0), zero), limited, &upper, &lower);
    const cg_mask_t outside = cg_lt(cg_splat(800.0), cg_abs(upper));
    upper = cg_where(outside, cg_where(cg_lt(upper, zero), cg_splat(-800.0), cg_splat(800.0)), upper);
    lower = cg_where(outside, zero, lower);
    const cg_real_t mantissa = cg_exp_sum(upper, lower, &rounded);
    const cg_real_t found = cg_scale(mantissa, rounded - (CG_ROUNDER + 1023.0));
    /* |x| = 0 or infinite: 0 or infinity */
    const cg_mask_t grows = cg_lt(one, a) ^ cg_lt(y, zero); /* for y of either sign */
    cg_real_t power = cg_where(plain, found, cg_where(grows, infinity, zero));
    /* x < 0. From 2^53 all doubles are even, from 2^52 all are integers; below, adding 2^52 rounds to one. */
    const cg_real_t half = 0.5 * b;
    const cg_mask_t integer = cg_le(cg_splat(0x1p52), b) | cg_eq((b + 0x1p52) - 0x1p52, b);
    const cg_mask_t even = cg_le(cg_splat(0x1p53), b) | cg_eq((half + 0x1p52) - 0x1p52, half);
    const cg_mask_t negative = cg_signed(x);
    power = cg_where(negative & integer & cg_not(even), -power, power);
    power = cg_where(negative & plain & cg_not(integer), cg_splat((double)NAN), power);
    power = cg_where(cg_is_nan(x) | cg_is_nan(y), x + y, power);
    *result = cg_where(cg_eq(x, one) | cg_eq(y, zero), one, power);
}

static CG_INLINE cg_real_t cg_pow(cg_real_t x, cg_real_t y)
{
    cg_real_t upper, lower, rounded;
    cg_y_log_x(x, cg_splat(0.0), y, &upper, &lower);
    const cg_real_t mantissa = cg_exp_sum(upper, lower, &rounded);
    cg_real_t result = mantissa * cg_power_of_two(rounded);
    const cg_mask_t usual = cg_is_normal(x) & cg_lt(cg_abs(upper), cg_splat(708.0));
    if (CG_RARE(cg_any(cg_not(usual)))) {
        const cg_real_t base = x, exponent = y;
        cg_real_t out;
        cg_pow_far(&base, &exponent, &out);
        result = cg_where(usual, result, out);
    }
    return result;
}

#endif /* CG_MATH_POW_H */
