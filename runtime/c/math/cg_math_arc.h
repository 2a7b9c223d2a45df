/* cg_math_arc.h: inverse trigonometric functions. Part of cg_math.h. */
#ifndef CG_MATH_ARC_H
#define CG_MATH_ARC_H

/* (asin s - s)/(s z), z = s s: error 2^-58.5 of asin s on |s| <= 1/2. */
static CG_INLINE cg_real_t cg_asin_terms(cg_real_t z)
{
    const cg_real_t zz = z * z, zzzz = zz * zz;
    const cg_real_t a = cg_fma(zz, cg_line(0x1.6db6db72127c5p-5, 0x1.f1c71a94e9911p-6, z),
                               cg_line(0x1.5555555555577p-3, 0x1.333333332e130p-4, z));
    const cg_real_t b = cg_fma(zz, cg_line(0x1.ca1f8f525ee83p-7, 0x1.758582b3dd6bap-7, z),
                               cg_line(0x1.6e8bdee162be3p-6, 0x1.1c49f0473e527p-6, z));
    const cg_real_t c = cg_fma(zz, cg_line(0x1.638a2d6c381fdp-6, -0x1.57cc7c183b451p-6, z),
                               cg_line(0x1.613c201bd0e4cp-7, 0x1.e60f227a965f2p-9, z));
    return cg_fma(zzzz, cg_fma(zzzz, cg_plus(c, 0x1.0b2d2f51e9b54p-5, zzzz), b), a);
}

/* asin a = pi/2 - 2 asin(s), s = sqrt((1 - a)/2), for 1/2 < a <= 1; above 1 the root is NaN. */
static CG_INLINE cg_real_t cg_asin(cg_real_t x)
{
    const cg_real_t a = cg_abs(x), half = (1.0 - a) * 0.5;
    const cg_mask_t small = cg_lt(a, cg_splat(0.5));
    const cg_real_t z = cg_where(small, a * a, half);
    const cg_real_t s = cg_where(small, a, cg_sqrt(half));
    const cg_real_t cube = s * z, terms = cg_asin_terms(z), near = cg_fma(cube, terms, s);
    /* pi/4 twice: the terms in parentheses are then small, and so is their rounding */
    const cg_real_t middle = cg_line(CG_PIO4_UPPER, -2.0, s), rest = cg_fma(-2.0 * cube, terms, cg_splat(CG_PIO2_LOWER));
    const cg_real_t large = CG_PIO4_UPPER + (middle + rest);
    return cg_flip(cg_where(small, near, large), cg_sign_of(x));
}

/* acos x = pi/2 - asin x, or 2 asin(s) for x > 1/2, or pi - 2 asin(s) for x < -1/2. */
static CG_INLINE cg_real_t cg_acos(cg_real_t x)
{
    const cg_real_t a = cg_abs(x), half = (1.0 - a) * 0.5;
    const cg_mask_t small = cg_lt(a, cg_splat(0.5));
    const cg_real_t z = cg_where(small, a * a, half);
    const cg_real_t s = cg_where(small, x, cg_sqrt(half));
    const cg_real_t cube = s * z, terms = cg_asin_terms(z), near = cg_fma(cube, terms, s);
    const cg_real_t from_middle = CG_PIO2_UPPER - (s + cg_fma(cube, terms, cg_splat(-CG_PIO2_LOWER)));
    return cg_where(small, from_middle, 2.0 * cg_where(cg_signed(x), from_middle, near));
}

/* (atan t - t)/(t z), z = t t: error 2^-61.0 of atan t on |t| <= 1/2. */
static CG_INLINE cg_real_t cg_atan_terms(cg_real_t z)
{
    const cg_real_t zz = z * z, zzzz = zz * zz;
    const cg_real_t a = cg_fma(zz, cg_line(-0x1.2492492453655p-3, 0x1.c71c71aaefdc9p-4, z),
                               cg_line(-0x1.5555555555552p-2, 0x1.99999999990d6p-3, z));
    const cg_real_t b = cg_fma(zz, cg_line(-0x1.110c712d95d81p-4, 0x1.e182da8da1fbep-5, z),
                               cg_line(-0x1.745d138f4fc33p-4, 0x1.3b1360b0970a6p-4, z));
    const cg_real_t c = cg_fma(zz, cg_line(-0x1.30234861d0166p-5, 0x1.83c42a60c5ebep-6, z),
                               cg_line(-0x1.ac72de05a7469p-5, 0x1.77fd8fb92de95p-5, z));
    return cg_fma(zzzz, cg_fma(zzzz, cg_plus(c, -0x1.126ecd97d7bcfp-7, zzzz), b), a);
}

/* The angle of the point (|x|, |y|) given as larger and smaller, mirrored where x < 0: eighths * pi/4 +- atan(t) with
 * t = q = smaller/larger below 1/2, else t = (q - 1)/(q + 1), an exact difference. There is one division, and pi/4
 * times an eighth is exact, so only t, the terms and the last sum round. */
static CG_INLINE cg_real_t cg_angle(cg_real_t smaller, cg_real_t larger, cg_mask_t swapped, cg_mask_t mirrored)
{
    const cg_real_t zero = cg_splat(0.0);
    const cg_mask_t low = cg_lt(smaller + smaller, larger);
    const cg_real_t top = cg_where(low, smaller, smaller - larger);
    const cg_real_t t = top / cg_where(low, larger, larger + smaller);
    const cg_real_t diagonal = cg_where(low, zero, cg_splat(1.0)); /* 1: the angle is pi/4 + atan(t) */
    const cg_real_t from_axis = cg_where(swapped, 2.0 - diagonal, diagonal);
    const cg_real_t eighths = cg_where(mirrored, 4.0 - from_axis, from_axis);
    const cg_bits_t sign = (cg_sign_of(cg_where(swapped, cg_splat(-1.0), zero)))
                           ^ (cg_sign_of(cg_where(mirrored, cg_splat(-1.0), zero)));
    const cg_real_t signed_t = cg_flip(t, sign), z = t * t;
    const cg_real_t rest = cg_fma(signed_t * z, cg_atan_terms(z), eighths * CG_PIO4_LOWER);
    return cg_plus(signed_t + rest, CG_PIO4_UPPER, eighths);
}

static CG_INLINE cg_real_t cg_atan(cg_real_t x)
{
    const cg_real_t a = cg_abs(x), one = cg_splat(1.0);
    const cg_mask_t swapped = cg_lt(one, a);
    const cg_real_t angle = cg_angle(cg_where(swapped, one, a), cg_where(swapped, a, one), swapped, cg_lt(one, one));
    return cg_flip(angle, cg_sign_of(x));
}

static CG_INLINE cg_real_t cg_atan2(cg_real_t y, cg_real_t x)
{
    const cg_real_t a = cg_abs(x), b = cg_abs(y), one = cg_splat(1.0);
    const cg_mask_t swapped = cg_lt(a, b);
    cg_real_t smaller = cg_where(swapped, a, b), larger = cg_where(swapped, b, a);
    const cg_mask_t zero = cg_eq(larger, cg_splat(0.0)), huge = cg_lt(cg_splat(0x1p1022), larger);
    if (CG_RARE(cg_any(zero | huge))) {
        /* 0/0 is computed as 0/1, infinity/infinity as 1/1; their sum must not overflow */
        const cg_mask_t infinite = huge & cg_eq(smaller, cg_splat(HUGE_VAL));
        const cg_real_t scale = cg_where(huge, cg_splat(0.25), one);
        smaller = cg_where(infinite, one, smaller * scale);
        larger = cg_where(zero | infinite, one, larger * scale);
    }
    return cg_flip(cg_angle(smaller, larger, swapped, cg_lt(x, cg_splat(0.0))), cg_sign_of(y + 0.0)); /* -0 as 0 */
}

#endif /* CG_MATH_ARC_H */
