/* cg_math_trig.h: sine, cosine, tangent. Part of cg_math.h.
 *
 * x = k pi/2 + r, |r| <= pi/4, then polynomials in r. Up to 2^30, k has 30 bits and pi/2 is the sum of three numbers
 * (after Cody and Waite 1980), with an error of 2^-160. x minus k times the first is a multiple of 2^-52 below 1 and
 * exact. Then k times the second is subtracted, which rounds, and k times the third, below 2^-76, which rounds again
 * only if |r| < 2^-23. No double comes closer than 2^-61 to a multiple of pi/2. Beyond 2^30 the fraction of |x| 2/pi is
 * computed in integer arithmetic (Payne and Hanek 1983).
 *
 * A kernel over lanes that computes the sines of several angles asks once whether any of them is beyond 2^30: the
 * functions whose names end in `_of` keep the widest angle, and if it is too wide, the kernel is repeated with
 * the functions that ask for each angle.
 */
#ifndef CG_MATH_TRIG_H
#define CG_MATH_TRIG_H

#define CG_TRIG_NEAR 0x1p30
#define CG_PIO2_INVERSE 0x1.45f306dc9c883p-1
/* After CG_PIO2_UPPER; all three are positive, so that -0 stays -0 in the reduction. */
#define CG_PIO2_SECOND 0x1.1a62633145c06p-54
#define CG_PIO2_THIRD 0x1.c1cd129024e09p-107

/* The bits of 2/pi: 64 zeros, then 1216 behind the binary point. Checked in tests/runtime/c/test_math.py. */
static const uint32_t cg_two_over_pi[40] = {
    0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
    0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
    0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab,
};

/* r, its tail and k mod 4 for one finite a > 2^30.
 *
 * a = m 2^e with a 53-bit m. Bits of 2/pi that contribute multiples of 4 to the product are skipped; the 192 that
 * follow are multiplied by m modulo 2^192: two bits of quadrant and 190 of fraction, of which at most the last 53 are
 * affected by the truncation. The fraction is at least 2^-62 from 0 and 1 for every double, so 75 bits are correct.
 */
static void cg_reduce_one(double a, double *r, double *tail, uint64_t *k)
{
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    const unsigned skip = (unsigned)(bits >> 52) - 1075u - 2u + 64u; /* bits of the table to leave out, from 29 */
    const uint64_t low = bits & 0xffffffffu, high = ((bits >> 32) & 0xfffffu) | 0x100000u;
    uint32_t product[6]; /* least significant first */
    uint64_t carry = 0, last = 0;
    for (unsigned i = 0; i < 6; i++) {
        const uint32_t *const word = cg_two_over_pi + skip / 32u + (5u - i);
        const uint64_t pair = (uint64_t)word[0] << 32 | word[1];
        const uint64_t window = pair >> (32u - skip % 32u) & 0xffffffffu;
        const uint64_t first = low * window, second = high * last;
        const uint64_t sum = (first & 0xffffffffu) + (second & 0xffffffffu) + (carry & 0xffffffffu);
        product[i] = (uint32_t)sum;
        carry = (carry >> 32) + (first >> 32) + (second >> 32) + (sum >> 32);
        last = window;
    }
    const uint64_t top = (uint64_t)product[5] << 32 | product[4], middle = (uint64_t)product[3] << 32 | product[2];
    uint64_t fraction = top << 2 | middle >> 62, rest = middle << 2 | product[1] >> 30;
    const uint64_t above_half = fraction >> 63; /* then count down from the next multiple */
    if (above_half) {
        fraction = ~fraction;
        rest = ~rest;
    }
    double scale = 0x1p-64;
    while (!(fraction >> 63)) { /* once on average */
        fraction = fraction << 1 | rest >> 63;
        rest <<= 1;
        scale *= 0.5;
    }
    /* times pi/2 = 21 bits + the others: the first product has 53 bits */
    const double upper = (double)(int64_t)(fraction >> 32) * 0x1p32, lower = (double)(int64_t)(fraction & 0xffffffffu);
    const double exact = upper * 0x1.921fb00000000p+0;
    const double rounded = upper * 0x1.5110b4611a626p-22 + lower * 0x1.921fb54442d18p+0;
    const double sum = exact + rounded;
    scale = above_half ? -scale : scale;
    *r = sum * scale;
    *tail = ((exact - sum) + rounded) * scale;
    *k = (top >> 62) + above_half;
}

static CG_OUT_OF_LINE void cg_reduce_far(const cg_real_t *a, cg_real_t *r, cg_real_t *tail, cg_bits_t *k)
{
    double angle[CG_LANES], near[CG_LANES], rest[CG_LANES];
    uint64_t quadrant[CG_LANES];
    memcpy(angle, a, sizeof angle);
    memcpy(near, r, sizeof near);
    memcpy(rest, tail, sizeof rest);
    memcpy(quadrant, k, sizeof quadrant);
    for (int lane = 0; lane < CG_LANES; lane++) {
        const double size = fabs(angle[lane]);
        if (size > CG_TRIG_NEAR && size <= 0x1.fffffffffffffp+1023) {
            cg_reduce_one(size, near + lane, rest + lane, quadrant + lane);
            if (angle[lane] < 0.0) {
                near[lane] = -near[lane];
                rest[lane] = -rest[lane];
                quadrant[lane] = 0 - quadrant[lane];
            }
        }
    }
    memcpy(r, near, sizeof near);
    memcpy(tail, rest, sizeof rest);
    memcpy(k, quadrant, sizeof quadrant);
}

/* x = k pi/2 + r for |x| <= 2^30; k modulo 4 is in the low bits. */
static CG_INLINE void cg_reduce_near(cg_real_t x, cg_real_t *r, cg_bits_t *k)
{
    const cg_real_t rounded = cg_line(CG_ROUNDER, CG_PIO2_INVERSE, x);
    const cg_real_t number = rounded - CG_ROUNDER;
    const cg_real_t exact = cg_plus(x, -CG_PIO2_UPPER, number);
    *k = cg_bits(rounded);
    *r = cg_plus(cg_plus(exact, -CG_PIO2_SECOND, number), -CG_PIO2_THIRD, number);
}

/* The tail of r: the same in two parts, with the rounding of the product and of the difference. */
static CG_INLINE void cg_reduce_tail(cg_real_t x, cg_real_t *r, cg_real_t *tail)
{
    const cg_real_t number = cg_line(CG_ROUNDER, CG_PIO2_INVERSE, x) - CG_ROUNDER;
    const cg_real_t exact = cg_plus(x, -CG_PIO2_UPPER, number);
    const cg_real_t product = number * CG_PIO2_SECOND, second = exact - product;
    const cg_real_t product_rest = cg_plus(-product, CG_PIO2_SECOND, number);
    const cg_real_t rest = cg_plus(((exact - second) - product) - product_rest, -CG_PIO2_THIRD, number);
    *r = second + rest;
    *tail = (second - *r) + rest;
}

/* Whether an angle in any lane is too wide for the short reduction. */
static CG_INLINE int cg_is_wide(cg_real_t widest) { return CG_RARE(cg_any_below(cg_splat(CG_TRIG_NEAR), widest)) != 0; }

/* x = k pi/2 + r + tail; k modulo 4 is in the low bits. NaN for infinity. `tail` may be NULL. */
static CG_INLINE void cg_reduce(cg_real_t x, cg_real_t *r, cg_real_t *tail, cg_bits_t *k)
{
    cg_reduce_near(x, r, k);
    if (tail != NULL) {
        cg_reduce_tail(x, r, tail);
    }
    if (cg_is_wide(cg_abs(x))) {
        /* copies: a variable with its address taken would be kept in memory, on the common path too */
        const cg_real_t angle = x;
        cg_real_t near = *r, rest = tail != NULL ? *tail : x;
        cg_bits_t quadrant = *k;
        cg_reduce_far(&angle, &near, &rest, &quadrant);
        *r = near;
        *k = quadrant;
        if (tail != NULL) {
            *tail = rest;
        }
    }
}

/* (sin r - r)/(r z) and (cos r - 1 + z/2)/(z z) in powers of z = r r: errors 2^-57.8 of sin r and 2^-63.9 of cos r on
 * |r| <= pi/4. */
#define CG_SIN_0 -0x1.5555555555548p-3
#define CG_SIN_1 0x1.111111110f730p-7
#define CG_SIN_2 -0x1.a01a019be91cdp-13
#define CG_SIN_3 0x1.71de355522b6ap-19
#define CG_SIN_4 -0x1.ae5e4b9a53d67p-26
#define CG_SIN_5 0x1.5d8b705a82999p-33
#define CG_COS_0 0x1.555555555554bp-5
#define CG_COS_1 -0x1.6c16c16c15011p-10
#define CG_COS_2 0x1.a01a019c8e7a0p-16
#define CG_COS_3 -0x1.27e4f7f0edf6cp-22
#define CG_COS_4 0x1.1ee9db4a2da06p-29
#define CG_COS_5 -0x1.8fa6364b6736ep-37

static CG_INLINE cg_real_t cg_sin_terms(cg_real_t z, cg_real_t zz)
{
    const cg_real_t last = cg_fma(zz, cg_line(CG_SIN_4, CG_SIN_5, z), cg_line(CG_SIN_2, CG_SIN_3, z));
    return cg_fma(zz, last, cg_line(CG_SIN_0, CG_SIN_1, z));
}

static CG_INLINE cg_real_t cg_cos_terms(cg_real_t z, cg_real_t zz)
{
    const cg_real_t last = cg_fma(zz, cg_line(CG_COS_4, CG_COS_5, z), cg_line(CG_COS_2, CG_COS_3, z));
    return cg_fma(zz, last, cg_line(CG_COS_0, CG_COS_1, z));
}

#if CG_LANES == 1 && defined(__GNUC__) && defined(__FMA__)
/* For one angle: the two halves of a register, of which one holds the sine and the other the cosine. The operations on
 * each are those of lanes. */
typedef double cg_pair_t __attribute__((vector_size(16)));
typedef uint64_t cg_pair_bits_t __attribute__((vector_size(16)));

static CG_INLINE cg_pair_t cg_pair_fma(cg_pair_t a, cg_pair_t b, cg_pair_t c)
{
#if defined(CG_FMA_OF_VECTORS)
    return __builtin_elementwise_fma(a, b, c);
#else
    return __builtin_ia32_vfmaddpd(a, b, c);
#endif
}

static CG_INLINE void cg_sincos_reduced(double r, cg_bits_t k, double *sine, double *cosine)
{
    const double square = r * r;
    const cg_pair_t z = {square, square}, zz = z * z;
    const cg_pair_t c0 = {CG_SIN_0, CG_COS_0}, c1 = {CG_SIN_1, CG_COS_1}, c2 = {CG_SIN_2, CG_COS_2};
    const cg_pair_t c3 = {CG_SIN_3, CG_COS_3}, c4 = {CG_SIN_4, CG_COS_4}, c5 = {CG_SIN_5, CG_COS_5};
    const cg_pair_t last = cg_pair_fma(zz, cg_pair_fma(c5, z, c4), cg_pair_fma(c3, z, c2));
    const cg_pair_t terms = cg_pair_fma(zz, last, cg_pair_fma(c1, z, c0));
    const cg_pair_t one_z = {1.0, square}, rz_z = {r * square, square}, r_one = {r, 1.0}, half = {0.0, -0.5};
    const cg_pair_t sum = cg_pair_fma(rz_z, cg_pair_fma(one_z, terms, half), r_one); /* r + r z s, 1 + z (-1/2 + z c) */
    const cg_pair_bits_t sign = {CG_SIGN_BIT, CG_SIGN_BIT}, turns = {k, k}, next = {0, 1}, odd = -(turns & 1);
    const cg_pair_bits_t value = (cg_pair_bits_t)sum | ((cg_pair_bits_t)r_one & sign); /* sin -0 = -0 */
    const cg_pair_bits_t exchanged = {value[1], value[0]};
    const cg_pair_bits_t turned = ((exchanged & odd) | (value & ~odd)) ^ (((turns + next) << 62) & sign);
    *sine = ((cg_pair_t)turned)[0];
    *cosine = ((cg_pair_t)turned)[1];
}
#else
/* s, which has the sign of r or is 0, with the sign of r: sin -0 = -0. */
static CG_INLINE cg_real_t cg_with_sign(cg_real_t s, cg_real_t r)
{
#if CG_LANES == 8 && defined(__AVX512F__)
    return (cg_real_t)cg_mm512_ternarylogic_epi64((cg_m512i)s, (cg_m512i)r, (cg_m512i)cg_splat(-0.0), 0xf8);
#else
    return cg_from_bits(cg_bits(s) | cg_sign_of(r));
#endif
}

/* sin x and cos x from s = sin r and c = cos r: exchanged if k is odd, and with their signs. */
static CG_INLINE void cg_turn(cg_real_t s, cg_real_t c, cg_bits_t k, cg_real_t *sine, cg_real_t *cosine)
{
#if CG_LANES == 8 && defined(__AVX512DQ__)
    const cg_m512i sign = (cg_m512i)cg_splat(-0.0), half_turn = (cg_m512i)(k << 62);
    const cg_mmask8 odd = cg_mm512_test_epi64_mask((cg_m512i)k, (cg_m512i){0} + 1);
    const cg_m512d first = cg_mm512_mask_blend_pd(odd, (cg_m512d)s, (cg_m512d)c);
    const cg_m512d second = cg_mm512_mask_xor_pd((cg_m512d)c, odd, (cg_m512d)s, (cg_m512d)sign);
    /* 0x78: a ^ (b & c) */
    *sine = (cg_real_t)cg_mm512_ternarylogic_epi64((cg_m512i)first, half_turn, sign, 0x78);
    *cosine = (cg_real_t)cg_mm512_ternarylogic_epi64((cg_m512i)second, half_turn, sign, 0x78);
#elif CG_LANES == 4 && defined(__AVX__)
    const cg_m256d odd = (cg_m256d)(k << 63); /* a blend looks at the sign bit */
    const cg_bits_t half_turn = k << 62;
    *sine = cg_flip((cg_real_t)cg_mm256_blendv_pd((cg_m256d)s, (cg_m256d)c, odd), half_turn & CG_SIGN_BIT);
    *cosine = cg_flip((cg_real_t)cg_mm256_blendv_pd((cg_m256d)c, (cg_m256d)s, odd),
                      (half_turn ^ (cg_bits_t)odd) & CG_SIGN_BIT);
#else
    const cg_mask_t odd = cg_odd(k);
    *sine = cg_flip(cg_where(odd, c, s), (k << 62) & CG_SIGN_BIT);
    *cosine = cg_flip(cg_where(odd, s, c), ((k + 1) << 62) & CG_SIGN_BIT);
#endif
}

static CG_INLINE void cg_sincos_reduced(cg_real_t r, cg_bits_t k, cg_real_t *sine, cg_real_t *cosine)
{
    const cg_real_t z = r * r, zz = z * z;
    const cg_real_t s = cg_with_sign(cg_fma(r * z, cg_sin_terms(z, zz), r), r);
    const cg_real_t c = cg_fma(z, cg_fma(z, cg_cos_terms(z, zz), cg_splat(-0.5)), cg_splat(1.0));
    cg_turn(s, c, k, sine, cosine);
}
#endif

static CG_INLINE void cg_sincos(cg_real_t x, cg_real_t *sine, cg_real_t *cosine)
{
    cg_real_t r;
    cg_bits_t k;
    cg_reduce(x, &r, NULL, &k);
    cg_sincos_reduced(r, k, sine, cosine);
}

static CG_INLINE cg_real_t cg_sin(cg_real_t x)
{
    cg_real_t sine, cosine;
    cg_sincos(x, &sine, &cosine);
    return sine;
}

static CG_INLINE cg_real_t cg_cos(cg_real_t x)
{
    cg_real_t sine, cosine;
    cg_sincos(x, &sine, &cosine);
    return cosine;
}

/* As above with *widest, which becomes the widest angle; the results count only if it is not wide in the end. With NULL
 * they always do. */
static CG_INLINE void cg_sincos_of(cg_real_t *widest, cg_real_t x, cg_real_t *sine, cg_real_t *cosine)
{
    cg_real_t r;
    cg_bits_t k;
    if (widest == NULL) {
        cg_sincos(x, sine, cosine);
    } else {
        *widest = cg_larger_size(x, *widest);
        cg_reduce_near(x, &r, &k);
        cg_sincos_reduced(r, k, sine, cosine);
    }
}

static CG_INLINE cg_real_t cg_sin_of(cg_real_t *widest, cg_real_t x)
{
    cg_real_t sine, cosine;
    cg_sincos_of(widest, x, &sine, &cosine);
    return sine;
}

static CG_INLINE cg_real_t cg_cos_of(cg_real_t *widest, cg_real_t x)
{
    cg_real_t sine, cosine;
    cg_sincos_of(widest, x, &sine, &cosine);
    return cosine;
}

/* sin/cos or -cos/sin of r + tail, each in two parts; a quotient and its remainder. */
static CG_INLINE cg_real_t cg_tan(cg_real_t x)
{
    cg_real_t r, tail;
    cg_bits_t k;
    cg_reduce(cg_abs(x), &r, &tail, &k);
    const cg_real_t z = r * r, zz = z * z, half = 0.5 * z;
    const cg_real_t c_upper = 1.0 - half;
    const cg_real_t s_terms = cg_fma(r * z, cg_sin_terms(z, zz), tail * c_upper);
    const cg_real_t c_terms = ((1.0 - c_upper) - half) + cg_fma(zz, cg_cos_terms(z, zz), -(r * tail));
    const cg_real_t s = r + s_terms, s_rest = (r - s) + s_terms;
    const cg_real_t c = c_upper + c_terms, c_rest = (c_upper - c) + c_terms;
    const cg_mask_t swap = cg_odd(k);
    const cg_real_t top = cg_where(swap, c, s), top_rest = cg_where(swap, c_rest, s_rest);
    const cg_real_t bottom = cg_where(swap, s, c), bottom_rest = cg_where(swap, s_rest, c_rest);
    const cg_real_t inverse = 1.0 / bottom, quotient = top * inverse;
    const cg_real_t remainder = cg_fma(-quotient, bottom_rest, cg_fma(-quotient, bottom, top) + top_rest);
    return cg_flip(cg_fma(remainder, inverse, quotient), ((k << 63) ^ cg_bits(x)) & CG_SIGN_BIT);
}

#endif /* CG_MATH_TRIG_H */
