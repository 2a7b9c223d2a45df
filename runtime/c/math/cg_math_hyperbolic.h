/* cg_math_hyperbolic.h: sinh, cosh, tanh. Part of cg_math.h.
 *
 * |x| = k ln 2 + r. With A = 2^(k-1) + 2^(-k-1) and D = 2^(k-1) - 2^(-k-1)
 *     sinh |x| = D cosh r + A sinh r,   cosh |x| = A cosh r + D sinh r.
 * k = 0 up to |x| = 1, where A = 1 and D = 0: sinh is then the odd polynomial alone and loses nothing near 0.
 */
#ifndef CG_MATH_HYPERBOLIC_H
#define CG_MATH_HYPERBOLIC_H

/* cosh r - 1 = z p(z), z = r r: error 2^-59.3 on |r| <= 1. */
static CG_INLINE cg_real_t cg_cosh_terms(cg_real_t z, cg_real_t zz)
{
    const cg_real_t last = cg_plus(cg_line(0x1.27e50ca5d4872p-22, 0x1.1ee310f336691p-29, z), 0x1.9a366aa725b3ap-37, zz);
    return cg_fma(zz, cg_fma(zz, last, cg_line(0x1.6c16c16c3435ep-10, 0x1.a01a01814661cp-16, z)),
                  cg_line(0x1.0000000000001p-1, 0x1.55555555553adp-5, z));
}

/* (sinh r - r)/(r z): error 2^-61.7 of sinh r on |r| <= 1. */
static CG_INLINE cg_real_t cg_sinh_terms(cg_real_t z, cg_real_t zz)
{
    const cg_real_t last = cg_plus(cg_line(0x1.ae646ff5c88f9p-26, 0x1.6116f42edebf6p-33, z), 0x1.b5c8c1bd799b6p-41, zz);
    return cg_fma(zz, cg_fma(zz, last, cg_line(0x1.a01a01a03726cp-13, 0x1.71de3a3b064edp-19, z)),
                  cg_line(0x1.5555555555556p-3, 0x1.111111111101ep-7, z));
}

static CG_INLINE void cg_sinh_cosh(cg_real_t a, cg_real_t *sine, cg_real_t *cosine)
{
    const cg_real_t zero = cg_splat(0.0);
    /* The constant comes first to keep a NaN. k stops at 1024: r is then still below 1 up to the overflow. */
    const cg_real_t below = cg_smaller(cg_splat(711.0), a);
    const cg_real_t rounded = cg_line(CG_ROUNDER + 1022.0, CG_LN2_INVERSE, cg_smaller(cg_splat(709.9), a));
    const cg_real_t used = cg_where(cg_lt(a, cg_splat(1.0)), cg_splat(CG_ROUNDER + 1022.0), rounded);
    const cg_real_t k = used - (CG_ROUNDER + 1022.0);
    const cg_real_t r = cg_plus(cg_plus(below, -CG_LN2_UPPER, k), -CG_LN2_LOWER, k);
    const cg_real_t up = cg_power_of_two(used); /* 2^(k-1) */
    const cg_bits_t down_bits = (UINT64_C(2044) << 52) - cg_bits(up);
    const cg_real_t down = cg_where(cg_lt(a, cg_splat(40.0)), cg_from_bits(down_bits), zero); /* 2^(-k-1) */
    const cg_real_t sum = up + down, difference = up - down;
    const cg_real_t z = r * r, zz = z * z;
    const cg_real_t odd = cg_fma(r * z, cg_sinh_terms(z, zz), r), even = z * cg_cosh_terms(z, zz);
    *sine = difference + cg_fma(sum, odd, difference * even);
    *cosine = sum + cg_fma(sum, even, difference * odd);
}

static CG_INLINE cg_real_t cg_sinh(cg_real_t x)
{
    cg_real_t sine, cosine;
    cg_sinh_cosh(cg_abs(x), &sine, &cosine);
    return cg_flip(sine, cg_sign_of(x));
}

static CG_INLINE cg_real_t cg_cosh(cg_real_t x)
{
    cg_real_t sine, cosine;
    cg_sinh_cosh(cg_abs(x), &sine, &cosine);
    return cosine;
}

/* tanh a = a + (sinh a - a cosh a)/cosh a below 1, else 1 - 2/(exp(2 a) + 1): the quotient is small. */
static CG_INLINE cg_real_t cg_tanh(cg_real_t x)
{
    const cg_real_t a = cg_abs(x), one = cg_splat(1.0), zero = cg_splat(0.0);
    const cg_mask_t small = cg_lt(a, one);
    const cg_real_t twice = cg_smaller(cg_splat(44.0), a + a);
    const cg_real_t rounded = cg_line(CG_ROUNDER + 1023.0, CG_LN2_INVERSE, twice);
    const cg_real_t k = cg_where(small, zero, rounded - (CG_ROUNDER + 1023.0));
    const cg_real_t r = cg_plus(cg_plus(cg_where(small, a, twice), -CG_LN2_UPPER, k), -CG_LN2_LOWER, k);
    const cg_real_t z = r * r, zz = z * z;
    const cg_real_t odd = cg_sinh_terms(z, zz), even = cg_cosh_terms(z, zz);
    const cg_real_t cube = r * z, square = z * even;
    const cg_real_t exponential = cg_power_of_two(rounded) * (1.0 + (r + cg_fma(cube, odd, square)));
    const cg_real_t top = cg_where(small, cube * (odd - even), cg_splat(-2.0));
    const cg_real_t bottom = 1.0 + cg_where(small, square, exponential);
    return cg_flip(cg_where(small, a, one) + top / bottom, cg_sign_of(x));
}

#endif /* CG_MATH_HYPERBOLIC_H */
