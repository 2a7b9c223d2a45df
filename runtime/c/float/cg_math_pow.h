/* cg_math_pow.h: power in single precision. Part of cg_math.h.
 *
 * x^y = exp(y log x). An error e of y log x is a relative error e of the result, and |y log x| reaches 104, so log x is
 * computed with a relative error of about 2^-33. With x = m 2^k, c = i/16 next to m, s = (m - c)/(m + c) (Tang 1990),
 *     log x = k ln 2 + log c + 2 s + (2/3) s^3 + (2/5) s^5.
 * ln 2 and log c are sums of two numbers, the first of them a multiple of 2^-16; s is the sum of s0, of 12 bits, and s1.
 * So k ln 2 + log c + 2 s0 is exact but for terms below 2^-12 of it.
 */
#ifndef CG_MATH_POW_H
#define CG_MATH_POW_H

/* log(i/16) from i = 11: a multiple of 2^-16, and the rest. */
static const float cg_log_of_sixteenths[13][2] = {
    {-0x1.7fbp-2f, 0x1.7109fap-20f}, {-0x1.2698p-2f, 0x1.deecb2p-18f}, {-0x1.a94p-3f, 0x1.2c3752p-19f},
    {-0x1.1178p-3f, -0x1.d044fcp-20f}, {-0x1.086p-4f, 0x1.9d2988p-18f},  {0.0f, 0.0f},
    {0x1.f0ap-5f, 0x1.86008cp-20f},  {0x1.e27p-4f, 0x1.db8abcp-22f},   {0x1.5ffp-3f, 0x1.83853cp-18f},
    {0x1.c9p-3f, -0x1.070cacp-20f},  {0x1.1674p-2f, 0x1.cababap-18f},  {0x1.4618p-2f, 0x1.78438cp-19f},
    {0x1.739cp-2f, 0x1.7f6bbep-18f},
};

/* y log(x 2^-bias) = upper + lower for a normal x > 0; upper is their rounded sum. */
static CG_SHARED void cg_y_log_x(float x, float bias, float y, float *upper, float *lower)
{
    float k;
    const float m = cg_mantissa(x, bias, &k);
    const int32_t i = (int32_t)(m * 16.0f + 0.5f);
    const float *const log_c = cg_log_of_sixteenths[i - 11];
    /* d_upper + d_lower = m + c; the remainder of (m - c)/(m + c) after s0 has no error */
    const float c = (float)i * 0.0625f, f = m - c, d = m + c;
    const float d_upper = cg_upper(d), d_lower = m - (d_upper - c), inverse = 1.0f / d;
    const float s0 = cg_upper(f * inverse), s1 = ((f - s0 * d_upper) - s0 * d_lower) * inverse;
    const float s = s0 + s1, z = s * s;
    const float first = k * CG_LN2_UPPER + log_c[0], second = s0 + s0;
    const float two = first + second, two_rest = second - (two - first);
    const float left = (s * z) * (0x1.555556p-1f + z * 0x1.99999ap-2f) + (s1 + s1);
    const float rest = two_rest + ((k * CG_LN2_LOWER + log_c[1]) + left);
    const float sum = two + rest, log_upper = cg_upper(sum), log_lower = (two - log_upper) + rest;
    const float y_upper = cg_upper(y), y_lower = y - y_upper;
    const float large = y_upper * log_upper, small = y_upper * log_lower + y_lower * sum;
    *upper = large + small;
    *lower = (large - *upper) + small;
}

/* exp(upper + lower) 2^-k. */
static CG_SHARED float cg_exp_sum(float upper, float lower, float *k)
{
    *k = (upper * CG_LN2_INVERSE + CG_ROUNDER) - CG_ROUNDER;
    const float near = upper - *k * CG_LN2_UPPER, rest = lower - *k * CG_LN2_LOWER;
    const float r = near + rest;
    return 1.0f + (r + (((near - r) + rest) + cg_exp_terms(r)));
}

/* |x|^y for x that is neither zero nor infinite. */
static CG_SHARED float cg_pow_of_size(float a, float y)
{
    const int small = a < FLT_MIN;
    float upper, lower, k;
    /* for |y| beyond 2^34 the power of every number except 1 is 0 or infinite */
    const float limited = cg_smaller(0x1p34f, cg_larger(-0x1p34f, y));
    cg_y_log_x(small ? a * 0x1p25f : a, small ? 25.0f : 0.0f, limited, &upper, &lower);
    if (cg_abs(upper) > 150.0f) {
        upper = upper < 0.0f ? -150.0f : 150.0f;
        lower = 0.0f;
    }
    const float mantissa = cg_exp_sum(upper, lower, &k);
    return cg_scale(mantissa, k);
}

static CG_SHARED float cg_pow(float x, float y)
{
    const float a = cg_abs(x), b = cg_abs(y);
    if (x == 1.0f || y == 0.0f) {
        return 1.0f;
    }
    if (cg_is_nan(x) || cg_is_nan(y)) {
        return x + y;
    }
    const int plain = a > 0.0f && a < HUGE_VALF;
    const int grows = (a > 1.0f) != (y < 0.0f);
    const float power = plain ? cg_pow_of_size(a, y) : grows ? HUGE_VALF : 0.0f;
    if (!cg_sign_of(x)) {
        return power;
    }
    /* From 2^24 all numbers are even, from 2^23 all are integers; below, adding 2^23 rounds to one. */
    const float half = 0.5f * b;
    const int integer = b >= 0x1p23f || (b + 0x1p23f) - 0x1p23f == b;
    const int even = b >= 0x1p24f || (half + 0x1p23f) - 0x1p23f == half;
    return !integer && plain ? (float)NAN : integer && !even ? -power : power;
}

#endif /* CG_MATH_POW_H */
