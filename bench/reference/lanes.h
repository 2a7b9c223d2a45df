/* lanes.h: LANES trajectories side by side in one register, by the vector extensions of GCC and clang. */
#ifndef REFERENCE_LANES_H
#define REFERENCE_LANES_H

#include <math.h>
#include <stdint.h>

#ifndef LANES
#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif
#endif
#define INLINE inline __attribute__((always_inline))

typedef double real_t __attribute__((vector_size(8 * LANES)));
typedef int64_t bits_t __attribute__((vector_size(8 * LANES))); /* a comparison gives 0 or -1 */

static INLINE real_t splat(double value)
{
    return value - (real_t){0.0};
}

/* A constant in a register: the memory operand of a multiply-add is then the other factor. */
static INLINE real_t kept(double value)
{
    real_t vector = splat(value);
#if defined(__x86_64__) && LANES > 1
    __asm__("" : "+v"(vector));
#endif
    return vector;
}

static INLINE real_t where(bits_t mask, real_t yes, real_t no)
{
    return (real_t)((mask & (bits_t)yes) | (~mask & (bits_t)no));
}

static INLINE real_t smaller(real_t a, real_t b)
{
    return where(a < b, a, b);
}

static INLINE real_t larger(real_t a, real_t b)
{
    return where(a < b, b, a);
}

static INLINE int any(bits_t mask)
{
    int64_t found = 0;
    for (int lane = 0; lane < LANES; lane++) {
        found |= mask[lane];
    }
    return found != 0;
}

static INLINE long sum(bits_t counts)
{
    long total = 0;
    for (int lane = 0; lane < LANES; lane++) {
        total += counts[lane];
    }
    return total;
}

static INLINE void copy(const real_t *from, real_t *to, int count)
{
    for (int i = 0; i < count; i++) {
        to[i] = from[i];
    }
}

/* 1.5 2^52: a number below 2^51 added to it is rounded to an integer, found in the low bits of the sum. */
#define ROUNDER 0x1.8p52

/* Logarithm to base 2, with an error below 0.01: for step control. */
static INLINE real_t rough_log2(real_t x)
{
    const bits_t exponent = (((bits_t)x >> 52) & 0x7ff) - 1023;
    const real_t m = (real_t)(((bits_t)x & 0xfffffffffffff) | 0x3ff0000000000000);
    return __builtin_convertvector(exponent, real_t) + (m - 1.0) * (1.3465 - 0.3465 * (m - 1.0));
}

/* Power of 2, with a relative error below 0.003. */
static INLINE real_t rough_exp2(real_t x)
{
    const real_t rounded = x + ROUNDER;
    const real_t f = x - (rounded - ROUNDER);
    const real_t scale = (real_t)(((bits_t)rounded + 1023) << 52);
    return scale * (1.0 + f * (0.6931 + f * 0.2402));
}

/* sin and cos of k pi/8, k = 0..15. */
#define SIN_1 0.38268343236508977
#define SIN_2 0.70710678118654752
#define SIN_3 0.92387953251128676
static const double sines[16] = {0.0, SIN_1, SIN_2, SIN_3, 1.0, SIN_3, SIN_2, SIN_1,
                                 0.0, -SIN_1, -SIN_2, -SIN_3, -1.0, -SIN_3, -SIN_2, -SIN_1};
static const double cosines[16] = {1.0, SIN_3, SIN_2, SIN_1, 0.0, -SIN_1, -SIN_2, -SIN_3,
                                   -1.0, -SIN_3, -SIN_2, -SIN_1, 0.0, SIN_1, SIN_2, SIN_3};

/* table[k mod 16] in each lane */
static INLINE real_t look_up(const double *table, bits_t k)
{
#if LANES == 8 && !defined(__clang__)
    const real_t first = {table[0], table[1], table[2], table[3], table[4], table[5], table[6], table[7]};
    const real_t second = {table[8], table[9], table[10], table[11], table[12], table[13], table[14], table[15]};
    return __builtin_shuffle(first, second, k);
#else
    real_t value;
    for (int lane = 0; lane < LANES; lane++) {
        value[lane] = table[k[lane] & 15];
    }
    return value;
#endif
}

#define SINE_AND_COSINE 34 /* additions and multiplications */

/* x = k pi/8 + r, |r| <= pi/16. The polynomials, from Chebyshev interpolation, have errors of 2^-55 and 2^-64; the
 * range reduction is good for |x| up to 1e9. */
static INLINE void sine_and_cosine(real_t x, real_t *sine, real_t *cosine)
{
    const real_t rounded = x * 0x1.45f306dc9c883p+1 + ROUNDER;
    const real_t k = rounded - ROUNDER;
    const real_t r = (x - k * 0x1.921fb54442d18p-2) - k * 0x1.1a62633145c07p-56;
    const real_t z = r * r;
    const real_t s = r + (r * z) * (-0x1.5555555555546p-3 + z * (0x1.11111110de911p-7 + z
        * (-0x1.a019fb3ad7c7dp-13 + z * 0x1.719bdf37204f0p-19)));
    const real_t c = z * (-0.5 + z * (0x1.5555555555514p-5 + z * (-0x1.6c16c16bad8c8p-10 + z
        * (0x1.a019fa29fbd9ap-16 + z * -0x1.27adaf98f47c4p-22)))); /* cos r - 1 */
    const real_t sin_k = look_up(sines, (bits_t)rounded), cos_k = look_up(cosines, (bits_t)rounded);
    *sine = (sin_k + sin_k * c) + cos_k * s;
    *cosine = (cos_k + cos_k * c) - sin_k * s;
}

#endif
