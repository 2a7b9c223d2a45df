/* cg_math_hyperbolic.h: sinh, cosh, tanh in single precision. Part of cg_math.h.
 *
 * |x| = k ln 2 + r. With A = 2^(k-1) + 2^(-k-1) and D = 2^(k-1) - 2^(-k-1)
 *     sinh |x| = D cosh r + A sinh r,   cosh |x| = A cosh r + D sinh r.
 * k = 0 up to |x| = 1, where A = 1 and D = 0: sinh is then the odd polynomial alone and loses nothing near 0.
 */
#ifndef CG_MATH_HYPERBOLIC_H
#define CG_MATH_HYPERBOLIC_H

/* cosh r - 1 = z p(z), z = r r: error 2^-29.9 on |r| <= 1. */
static CG_SHARED float cg_cosh_terms(float z)
{
    return 0x1.fffffep-2f + z * (0x1.5555e4p-5f + z * (0x1.6be638p-10f + z * 0x1.acf5dep-16f));
}

/* (sinh r - r)/(r z): error 2^-31.6 of sinh r on |r| <= 1. */
static CG_SHARED float cg_sinh_terms(float z)
{
    return 0x1.555556p-3f + z * (0x1.1110e0p-7f + z * (0x1.a022bcp-13f + z * 0x1.756c22p-19f));
}

static CG_SHARED void cg_sinh_cosh(float a, float *sine, float *cosine)
{
    /* The constant comes first to keep a NaN. k stops at 128: r is then still below 1 up to the overflow. */
    const float below = cg_smaller(90.0f, a);
    const float rounded = cg_smaller(88.7f, a) * CG_LN2_INVERSE + (CG_ROUNDER + 126.0f);
    const float used = a < 1.0f ? CG_ROUNDER + 126.0f : rounded;
    const float k = used - (CG_ROUNDER + 126.0f);
    const float r = (below - k * CG_LN2_UPPER) - k * CG_LN2_LOWER;
    const float up = cg_power_of_two(used); /* 2^(k-1) */
    const float down = a < 20.0f ? cg_from_bits((UINT32_C(252) << 23) - cg_bits(up)) : 0.0f; /* 2^(-k-1) */
    const float sum = up + down, difference = up - down, z = r * r;
    const float odd = r + (r * z) * cg_sinh_terms(z), even = z * cg_cosh_terms(z);
    *sine = difference + (sum * odd + difference * even);
    *cosine = sum + (sum * even + difference * odd);
}

static CG_SHARED float cg_sinh(float x)
{
    float sine, cosine;
    cg_sinh_cosh(cg_abs(x), &sine, &cosine);
    return cg_flip(sine, cg_sign_of(x));
}

static CG_SHARED float cg_cosh(float x)
{
    float sine, cosine;
    cg_sinh_cosh(cg_abs(x), &sine, &cosine);
    return cosine;
}

/* tanh a = a + (sinh a - a cosh a)/cosh a below 1, else 1 - 2/(exp(2 a) + 1): the quotient is small. */
static CG_SHARED float cg_tanh(float x)
{
    const float a = cg_abs(x);
    if (a < 1.0f) {
        const float z = a * a, odd = cg_sinh_terms(z), even = cg_cosh_terms(z);
        return cg_flip(a + (a * z) * (odd - even) / (1.0f + z * even), cg_sign_of(x));
    }
    return cg_flip(1.0f - 2.0f / (cg_exp(cg_smaller(44.0f, a + a)) + 1.0f), cg_sign_of(x));
}

#endif /* CG_MATH_HYPERBOLIC_H */
