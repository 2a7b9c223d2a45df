/* cg_math_exp.h: exponential and logarithm in single precision. Part of cg_math.h. */
#ifndef CG_MATH_EXP_H
#define CG_MATH_EXP_H

/* exp r - 1 - r on |r| <= ln(2)/2: cosh r - 1 = z p(z), error 2^-33.2, and sinh r - r = r z q(z), error 2^-28.2. */
static CG_SHARED float cg_exp_terms(float r)
{
    const float z = r * r;
    const float even = 0x1p-1f + z * (0x1.5554e6p-5f + z * 0x1.6d4f0ep-10f);
    const float odd = 0x1.55548ep-3f + z * 0x1.123c06p-7f;
    return z * (even + r * odd);
}

/* 2^k from k + 127 + CG_ROUNDER, for k from -126 to 127. */
static CG_SHARED float cg_power_of_two(float rounded) { return cg_from_bits(cg_bits(rounded) << 23); }

/* a 2^k for any |k| < 250; rounds once more if the result is subnormal. */
static CG_SHARED float cg_scale(float a, float k)
{
    const float half = k * 0.5f + (CG_ROUNDER + 127.0f);
    const float other = (k - (half - (CG_ROUNDER + 127.0f))) + (CG_ROUNDER + 127.0f);
    return (a * cg_power_of_two(half)) * cg_power_of_two(other);
}

static CG_SHARED float cg_exp(float x)
{
    const float a = cg_smaller(89.0f, cg_larger(-105.0f, x)); /* the constants first: keeps a NaN */
    const float k = (a * CG_LN2_INVERSE + CG_ROUNDER) - CG_ROUNDER;
    const float r = (a - k * CG_LN2_UPPER) - k * CG_LN2_LOWER;
    return cg_scale(1.0f + (r + cg_exp_terms(r)), k);
}

/* x 2^-bias = m 2^k for a normal x > 0, m from sqrt(1/2) to sqrt(2). */
static CG_SHARED float cg_mantissa(float x, float bias, float *k)
{
    const uint32_t root = UINT32_C(0x3f3504f3); /* sqrt(1/2) */
    const uint32_t shifted = cg_bits(x) + (CG_ONE_BITS - root);
    *k = (float)((int32_t)(shifted >> 23) - 127) - bias;
    return cg_from_bits((shifted & CG_FRACTION_MASK) + root);
}

/* log(x 2^-bias) for a normal x > 0. With f = m - 1 and s = f/(2 + f) = tanh(log(m)/2),
 * log m = 2 s + s z p(z) = f - f f/2 + s (f f/2 + z p(z)), z = s s: error 2^-35.2 on the range of m. */
static CG_SHARED float cg_log_normal(float x, float bias)
{
    float k;
    const float f = cg_mantissa(x, bias, &k) - 1.0f;
    const float s = f / (2.0f + f), z = s * s;
    const float terms = 0x1.555554p-1f + z * (0x1.999c26p-2f + z * (0x1.23d3e0p-2f + z * 0x1.f13caap-3f));
    const float half = 0.5f * f * f;
    return k * CG_LN2_UPPER - ((half - (s * (half + z * terms) + k * CG_LN2_LOWER)) - f);
}

static CG_SHARED float cg_log(float x)
{
    if (CG_RARE(!cg_is_normal(x))) {
        if (x == 0.0f) {
            return -HUGE_VALF;
        }
        if (!(x > 0.0f && x < FLT_MIN)) {
            return x < 0.0f ? (float)NAN : x;
        }
        return cg_log_normal(x * 0x1p25f, 25.0f);
    }
    return cg_log_normal(x, 0.0f);
}

#endif /* CG_MATH_EXP_H */
