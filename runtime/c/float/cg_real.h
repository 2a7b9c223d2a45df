/* cg_real.h: the number type used in kernels, methods and elementary functions, in single precision.
 *
 * The names are those of runtime/c/cg_real.h for one trajectory; single precision has no lanes.
 */
#ifndef CG_REAL_H
#define CG_REAL_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define CG_INLINE inline __attribute__((always_inline, unused))
#define CG_SHARED inline __attribute__((unused)) /* copied or called, as the compiler decides */
#define CG_COLD __attribute__((noinline, cold))
#define CG_RARE(condition) __builtin_expect(!!(condition), 0)
#else
#define CG_INLINE inline
#define CG_SHARED inline
#define CG_COLD
#define CG_RARE(condition) (condition)
#endif

#define CG_LANES 1

typedef float cg_real_t;
typedef int cg_mask_t; /* 1 where true, 0 where false */
typedef uint32_t cg_bits_t;

/* The format of a number: sign, exponent with its bias, fraction. */
#define CG_FRACTION_BITS 23
#define CG_FRACTION_MASK UINT32_C(0x007fffff)
#define CG_BIAS 127.0f
#define CG_ONE_BITS UINT32_C(0x3f800000)
#define CG_RECIPROCAL_BITS UINT32_C(0x7ef311c7) /* less the bits of a: those of 1/a to 5 % */
#define CG_SHIFT 8388608.0f /* 2^23: the fraction of a number just above is an integer */
#define CG_SHIFT_BITS UINT32_C(0x4b000000)

static CG_INLINE float cg_splat(float a) { return a; }
static CG_INLINE int cg_lt(float a, float b) { return a < b; }
static CG_INLINE int cg_le(float a, float b) { return a <= b; }
static CG_INLINE int cg_eq(float a, float b) { return a == b; }
static CG_INLINE int cg_not(int a) { return !a; }
static CG_INLINE uint32_t cg_bits(float a)
{
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}
static CG_INLINE float cg_from_bits(uint32_t a)
{
    float real;
    memcpy(&real, &a, sizeof real);
    return real;
}
static CG_INLINE float cg_where(int mask, float a, float b) { return mask ? a : b; }
static CG_INLINE int cg_any(int mask) { return mask; }
static CG_INLINE float cg_larger(float a, float b) { return b < a ? a : b; }
static CG_INLINE float cg_smaller(float a, float b) { return a < b ? a : b; }
static CG_INLINE float cg_sqrt(float a) { return sqrtf(a); }
/* The product is rounded: many processors without multiply-adds in single precision have none in double precision
 * either, which their fmaf would compute with, and the bits are to be the same on all. */
static CG_INLINE float cg_fma(float a, float b, float c) { return a * b + c; }
static CG_INLINE float cg_fma_of_doubles(float a, float b, float c) { return cg_fma(a, b, c); }
static CG_INLINE float cg_fms(float a, float b, float c) { return a * b - c; }
static CG_INLINE float cg_fnma(float a, float b, float c) { return c - a * b; }
static CG_INLINE float cg_fnms(float a, float b, float c) { return -(a * b) - c; }
static CG_INLINE float cg_plus(float sum, float weight, float a) { return cg_fma(weight, a, sum); }
static CG_INLINE float cg_line(float c0, float c1, float a) { return cg_fma(c1, a, c0); }
static CG_INLINE float cg_abs(float a) { return cg_from_bits(cg_bits(a) & UINT32_C(0x7fffffff)); }
static CG_INLINE float cg_larger_size(float a, float b) { return cg_larger(cg_abs(a), cg_abs(b)); }

#define CG_WIDTH 1
typedef float cg_block_t;
typedef float cg_loose_t;
static CG_INLINE float cg_block_of(const float *a) { return a[0]; }
static CG_INLINE float cg_block_plus(float sum, float weight, float a) { return cg_fma(weight, a, sum); }

#endif /* CG_REAL_H */
