/* cg_math_arc.h: inverse trigonometric functions in single precision. Part of cg_math.h. */
#ifndef CG_MATH_ARC_H
#define CG_MATH_ARC_H

/* (asin s - s)/(s z), z = s s: error 2^-31.6 of asin s on |s| <= 1/2. */
static CG_SHARED float cg_asin_terms(float z)
{
    return 0x1.55554cp-3f
        + z * (0x1.3338acp-4f
               + z * (0x1.6ca756p-5f + z * (0x1.04d102p-5f + z * (0x1.d57462p-7f + z * 0x1.349116p-5f))));
}

/* asin a = pi/2 - 2 asin(s), s = sqrt((1 - a)/2), for 1/2 < a <= 1; above 1 the root is NaN. */
static CG_SHARED float cg_asin(float x)
{
    const float a = cg_abs(x), half = (1.0f - a) * 0.5f;
    const int small = a < 0.5f;
    const float z = small ? a * a : half, s = small ? a : cg_sqrt(half);
    const float rest = (s * z) * cg_asin_terms(z);
    /* pi/4 twice: the terms in parentheses are then small, and so is their rounding */
    const float large = CG_PIO4_UPPER + ((CG_PIO4_UPPER - 2.0f * s) - (2.0f * rest - 2.0f * CG_PIO4_LOWER));
    return cg_flip(small ? s + rest : large, cg_sign_of(x));
}

/* acos x = pi/2 - asin x, or 2 asin(s) for x > 1/2, or pi - 2 asin(s) for x < -1/2. */
static CG_SHARED float cg_acos(float x)
{
    const float a = cg_abs(x), half = (1.0f - a) * 0.5f;
    const int small = a < 0.5f;
    const float z = small ? a * a : half, s = small ? x : cg_sqrt(half);
    const float rest = (s * z) * cg_asin_terms(z);
    const float from_middle = CG_PIO2_UPPER - (s + (rest - CG_PIO2_LOWER));
    return small ? from_middle : 2.0f * (x < 0.0f ? from_middle : s + rest);
}

/* (atan t - t)/(t z), z = t t: error 2^-31.7 of atan t on |t| <= 1/2. */
static CG_SHARED float cg_atan_terms(float z)
{
    return -0x1.555552p-2f
        + z * (0x1.999744p-3f
               + z * (-0x1.245030p-3f + z * (0x1.c07268p-4f + z * (-0x1.480d42p-4f + z * 0x1.3fd562p-5f))));
}

/* The angle of the point (|x|, |y|) given as larger and smaller, mirrored where x < 0: eighths * pi/4 +- atan(t) with
 * t = q = smaller/larger below 1/2, else t = (q - 1)/(q + 1), an exact difference. */
static CG_SHARED float cg_angle(float smaller, float larger, int swapped, int mirrored)
{
    const int low = smaller + smaller < larger;
    const float t = (low ? smaller : smaller - larger) / (low ? larger : larger + smaller);
    const float diagonal = low ? 0.0f : 1.0f; /* 1: the angle is pi/4 + atan(t) */
    const float from_axis = swapped ? 2.0f - diagonal : diagonal;
    const float eighths = mirrored ? 4.0f - from_axis : from_axis;
    const float signed_t = swapped != mirrored ? -t : t, z = t * t;
    const float rest = (signed_t * z) * cg_atan_terms(z) + eighths * CG_PIO4_LOWER;
    return eighths * CG_PIO4_UPPER + (signed_t + rest);
}

static CG_SHARED float cg_atan(float x)
{
    const float a = cg_abs(x);
    const int swapped = a > 1.0f;
    return cg_flip(cg_angle(swapped ? 1.0f : a, swapped ? a : 1.0f, swapped, 0), cg_sign_of(x));
}

static CG_SHARED float cg_atan2(float y, float x)
{
    const float a = cg_abs(x), b = cg_abs(y);
    const int swapped = a < b;
    float smaller = swapped ? a : b, larger = swapped ? b : a;
    if (CG_RARE(larger == 0.0f || larger > 0x1p126f)) {
        /* 0/0 is computed as 0/1, infinity/infinity as 1/1; their sum must not overflow */
        const int infinite = smaller == HUGE_VALF;
        const float scale = larger == 0.0f ? 1.0f : 0.25f;
        larger = larger == 0.0f || infinite ? 1.0f : larger * scale;
        smaller = infinite ? 1.0f : smaller * scale;
    }
    return cg_flip(cg_angle(smaller, larger, swapped, x < 0.0f), cg_sign_of(y + 0.0f)); /* -0 as 0 */
}

#endif /* CG_MATH_ARC_H */
