/* cg_math_trig.h: sine, cosine, tangent in single precision. Part of cg_math.h.
 *
 * |x| = k pi/2 + r, |r| <= pi/4, then polynomials in r. The fraction of |x| 2/pi is computed in integer arithmetic
 * (Payne and Hanek 1983): with the 24 bits of a number that is three multiplications, for small and large |x| alike.
 */
#ifndef CG_MATH_TRIG_H
#define CG_MATH_TRIG_H

/* The bits of 2/pi: 32 zeros, then 224 behind the binary point. Checked in tests/codegen/emit/test_single_math.py. */
static const uint32_t cg_two_over_pi[8] = {
    0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
};

/* a = k pi/2 + r + tail for a >= 0, with k modulo 4. NaN for infinity.
 *
 * a = m 2^e with a 24-bit m. Bits of 2/pi that contribute multiples of 4 to the product are skipped; the 96 that follow
 * are multiplied by m modulo 2^96: two bits of quadrant and 94 of fraction, of which the last 24 are affected by the
 * truncation. The fraction is at least 2^-31 from 0 and 1 for every number, so 39 bits are correct.
 */
static CG_SHARED float cg_reduce(float a, float *tail, uint32_t *k)
{
    *tail = 0.0f;
    *k = 0;
    if (a <= CG_PIO4_UPPER || !(a < HUGE_VALF)) {
        return a < HUGE_VALF ? a : a - a;
    }
    const uint32_t skip = (cg_bits(a) >> 23) - 120u; /* bits of the table to leave out, from 6 */
    const uint64_t m = (cg_bits(a) & CG_FRACTION_MASK) | UINT32_C(0x00800000);
    const uint32_t *const word = cg_two_over_pi + skip / 32u;
    uint64_t product = 0; /* of m and a word of the window, with the carry from the words after it */
    uint32_t part[3];
    for (unsigned i = 3; i-- > 0;) {
        const uint64_t pair = (uint64_t)word[i] << 32 | word[i + 1];
        product = m * (pair >> (32u - skip % 32u) & 0xffffffffu) + (product >> 32);
        part[i] = (uint32_t)product;
    }
    uint64_t fraction = (uint64_t)part[0] << 34 | (uint64_t)part[1] << 2 | part[2] >> 30;
    const uint32_t above_half = (uint32_t)(fraction >> 63); /* then count down from the next multiple */
    fraction = above_half ? 0u - fraction : fraction;
    float scale = above_half ? -0x1p-23f : 0x1p-23f;
    while (!(fraction >> 63)) { /* once on average */
        fraction <<= 1;
        scale *= 0.5f;
    }
    /* times pi/2, to 64 bits */
    const uint64_t angle = (fraction >> 32) * UINT32_C(0xc90fdaa2);
    const float upper = (float)(int32_t)(angle >> 40), lower = (float)(int32_t)(angle >> 16 & 0xffffffu) * 0x1p-24f;
    const float sum = upper + lower;
    *tail = ((upper - sum) + lower) * scale;
    *k = (part[0] >> 30) + above_half;
    return sum * scale;
}

/* (sin r - r)/(r z), z = r r: error 2^-27.9 of sin r on |r| <= pi/4. */
static CG_SHARED float cg_sin_terms(float z)
{
    return -0x1.555546p-3f + z * (0x1.110778p-7f + z * -0x1.9953f2p-13f);
}

/* (cos r - 1 + z/2)/(z z): error 2^-33.0 of cos r on |r| <= pi/4. */
static CG_SHARED float cg_cos_terms(float z)
{
    return 0x1.55554ap-5f + z * (-0x1.6c0c28p-10f + z * 0x1.99e808p-16f);
}

static CG_SHARED void cg_sincos(float x, float *sine, float *cosine)
{
    float tail;
    uint32_t k;
    const float r = cg_reduce(cg_abs(x), &tail, &k), z = r * r;
    const float s = r + (r * z) * cg_sin_terms(z);
    const float c = 1.0f + z * (z * cg_cos_terms(z) - 0.5f);
    *sine = cg_flip(k & 1u ? c : s, ((k << 30) ^ cg_bits(x)) & CG_SIGN_BIT);
    *cosine = cg_flip(k & 1u ? s : c, ((k + 1u) << 30) & CG_SIGN_BIT);
}

static CG_SHARED float cg_sin(float x)
{
    float sine, cosine;
    cg_sincos(x, &sine, &cosine);
    return sine;
}

static CG_SHARED float cg_cos(float x)
{
    float sine, cosine;
    cg_sincos(x, &sine, &cosine);
    return cosine;
}

/* sin/cos or -cos/sin of r + tail, each in two parts; the quotient's remainder is computed with truncated factors. */
static CG_SHARED float cg_tan(float x)
{
    float tail;
    uint32_t k;
    const float r = cg_reduce(cg_abs(x), &tail, &k), z = r * r, half = 0.5f * z;
    const float s_terms = (r * z) * cg_sin_terms(z) + tail * (1.0f - half);
    const float c_upper = 1.0f - half;
    const float c_terms = ((1.0f - c_upper) - half) + (z * z * cg_cos_terms(z) - r * tail);
    const float s = r + s_terms, s_rest = (r - s) + s_terms;
    const float c = c_upper + c_terms, c_rest = (c_upper - c) + c_terms;
    const float top = k & 1u ? c : s, top_rest = k & 1u ? c_rest : s_rest;
    const float bottom = k & 1u ? s : c, bottom_rest = k & 1u ? s_rest : c_rest;
    const float inverse = 1.0f / bottom, quotient = cg_upper(top * inverse);
    const float bottom_upper = cg_upper(bottom), bottom_lower = (bottom - bottom_upper) + bottom_rest;
    const float remainder = ((top - quotient * bottom_upper) + top_rest) - quotient * bottom_lower;
    return cg_flip(quotient + remainder * inverse, ((k << 31) ^ cg_bits(x)) & CG_SIGN_BIT);
}

#endif /* CG_MATH_TRIG_H */
