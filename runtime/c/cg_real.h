/* cg_real.h: the number type used in kernels, methods and elementary functions.
 *
 * Without CG_LANES (or with 1) a `cg_real_t` is a double. With CG_LANES = 2, 4 or 8 it is a vector of that many
 * doubles, one trajectory in each lane, and everything below works lane by lane. + - * / sqrt and cg_fma are those of
 * IEEE 754 in both cases, so code written with these names gives the same bits for a single trajectory and in each
 * lane, whatever the instruction set, if the compiler is told to fuse nothing by itself (-ffp-contract=off): cg_fma
 * says which products are not rounded. A `cg_mask_t` is a truth value per lane, a `cg_bits_t` 64 unsigned bits per lane.
 */
#ifndef CG_REAL_H
#define CG_REAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define CG_INLINE inline __attribute__((always_inline, unused)) /* not every file needs it */
#define CG_COLD __attribute__((noinline, cold))
#define CG_RARE(condition) __builtin_expect(!!(condition), 0)
#else
#define CG_INLINE inline
#define CG_COLD
#define CG_RARE(condition) (condition)
#endif

#ifndef CG_LANES
#define CG_LANES 1
#endif

#if defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_fma)
#define CG_FMA_OF_VECTORS
#endif
#endif
#if defined(__aarch64__) && defined(__GNUC__) && !defined(CG_FMA_OF_VECTORS)
#include <arm_neon.h>
#endif

/* a b + c of doubles, rounded once. Code for any x86-64 uses the instruction if the CPU at hand has it: a test that is
 * always predicted, where the exact fma of the C library takes 20 times as long. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__FMA__)
#include <cpuid.h>
static int cg_has_fma;
__attribute__((constructor)) static void cg_find_fma(void)
{
    const unsigned needed = 1u << 12 | 1u << 27; /* FMA, and XGETBV, which says whether AVX registers are saved */
    unsigned a = 0u, b = 0u, c = 0u, d = 0u;
    if (__get_cpuid(1u, &a, &b, &c, &d) && (c & needed) == needed) {
        __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0u));
        cg_has_fma = (a & 6u) == 6u;
    }
}
CG_COLD __attribute__((unused)) static double cg_fma_called(double a, double b, double c) { return fma(a, b, c); }
static CG_INLINE double cg_fma_of_doubles(double a, double b, double c)
{
    if (CG_RARE(!cg_has_fma)) {
        return cg_fma_called(a, b, c);
    }
    __asm__("vfmadd213sd %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
    return a;
}
#else
static CG_INLINE double cg_fma_of_doubles(double a, double b, double c) { return fma(a, b, c); }
#endif

#if CG_LANES > 1

#if !defined(__GNUC__)
#error "lanes need the vector types of GCC or Clang"
#endif
#if defined(__x86_64__) || defined(__i386__)
#include "math/cg_x86.h"
#endif
/* All functions with vector arguments are inlined, so the calling convention does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef double cg_real_t __attribute__((vector_size(CG_LANES * 8)));
typedef int64_t cg_mask_t __attribute__((vector_size(CG_LANES * 8))); /* -1 where true, 0 where false */
typedef uint64_t cg_bits_t __attribute__((vector_size(CG_LANES * 8)));

static CG_INLINE cg_real_t cg_splat(double a)
{
#if CG_LANES == 8
    const cg_real_t all = {a, a, a, a, a, a, a, a};
#elif CG_LANES == 4
    const cg_real_t all = {a, a, a, a};
#else
    const cg_real_t all = {a, a};
#endif
    return all;
}
static CG_INLINE cg_mask_t cg_lt(cg_real_t a, cg_real_t b) { return (cg_mask_t)(a < b); }
static CG_INLINE cg_mask_t cg_le(cg_real_t a, cg_real_t b) { return (cg_mask_t)(a <= b); }
static CG_INLINE cg_mask_t cg_eq(cg_real_t a, cg_real_t b) { return (cg_mask_t)(a == b); }
static CG_INLINE cg_mask_t cg_not(cg_mask_t a) { return ~a; }
static CG_INLINE cg_mask_t cg_true(void) { return ~(cg_mask_t){0}; }
static CG_INLINE cg_bits_t cg_bits(cg_real_t a) { return (cg_bits_t)a; }
static CG_INLINE cg_real_t cg_from_bits(cg_bits_t a) { return (cg_real_t)a; }

/* a where the mask is true, else b: selected, not multiplied, so that a NaN that is not selected has no effect. */
static CG_INLINE cg_real_t cg_where(cg_mask_t mask, cg_real_t a, cg_real_t b)
{
    return (cg_real_t)((mask & (cg_mask_t)a) | (~mask & (cg_mask_t)b));
}
static CG_INLINE cg_bits_t cg_where_bits(cg_mask_t mask, cg_bits_t a, cg_bits_t b)
{
    return ((cg_bits_t)mask & a) | (~(cg_bits_t)mask & b);
}
/* Bit i: lane i is true. */
static CG_INLINE uint32_t cg_set(cg_mask_t mask)
{
#if CG_LANES == 8 && defined(__AVX512DQ__)
    return cg_mm512_movepi64_mask((cg_m512i)mask);
#elif CG_LANES == 4 && defined(__AVX__)
    return (uint32_t)cg_mm256_movemask_pd((cg_m256d)mask);
#else
    uint32_t set = 0;
    for (int lane = 0; lane < CG_LANES; lane++) {
        set |= mask[lane] ? 1u << lane : 0u;
    }
    return set;
#endif
}
#if CG_LANES == 8 && defined(__AVX512DQ__)
#define CG_OR(m) ((m)[0] | (m)[1] | (m)[2] | (m)[3] | (m)[4] | (m)[5] | (m)[6] | (m)[7])
#elif CG_LANES == 4 && defined(__AVX__)
#define CG_OR(m) ((m)[0] | (m)[1] | (m)[2] | (m)[3])
#endif
static CG_INLINE int cg_any(cg_mask_t mask)
{
#ifdef CG_OR
    return __builtin_constant_p(CG_OR(mask)) ? CG_OR(mask) != 0 /* of a kernel that cannot fail */ : cg_set(mask) != 0;
#else
    int64_t any = 0;
    for (int lane = 0; lane < CG_LANES; lane++) {
        any |= mask[lane];
    }
    return any != 0;
#endif
}
/* b < a ? a : b and a < b ? a : b, with b if either is NaN, as the CPU instructions do. */
static CG_INLINE cg_real_t cg_larger(cg_real_t a, cg_real_t b)
{
#if CG_LANES == 8 && defined(__AVX512F__)
    return (cg_real_t)cg_mm512_max_pd((cg_m512d)a, (cg_m512d)b);
#elif CG_LANES == 4 && defined(__AVX__)
    return (cg_real_t)cg_mm256_max_pd((cg_m256d)a, (cg_m256d)b);
#else
    return cg_where(cg_lt(b, a), a, b);
#endif
}
static CG_INLINE cg_real_t cg_smaller(cg_real_t a, cg_real_t b)
{
#if CG_LANES == 8 && defined(__AVX512F__)
    return (cg_real_t)cg_mm512_min_pd((cg_m512d)a, (cg_m512d)b);
#elif CG_LANES == 4 && defined(__AVX__)
    return (cg_real_t)cg_mm256_min_pd((cg_m256d)a, (cg_m256d)b);
#else
    return cg_where(cg_lt(a, b), a, b);
#endif
}
static CG_INLINE cg_real_t cg_sqrt(cg_real_t a)
{
#if CG_LANES == 8 && defined(__AVX512F__)
    return (cg_real_t)cg_mm512_sqrt_pd((cg_m512d)a);
#elif CG_LANES == 4 && defined(__AVX__)
    return (cg_real_t)cg_mm256_sqrt_pd((cg_m256d)a);
#else
    cg_real_t root;
    for (int lane = 0; lane < CG_LANES; lane++) {
        root[lane] = sqrt(a[lane]);
    }
    return root;
#endif
}
/* a b + c, rounded once. */
static CG_INLINE cg_real_t cg_fma(cg_real_t a, cg_real_t b, cg_real_t c)
{
#if defined(CG_FMA_OF_VECTORS)
    return __builtin_elementwise_fma(a, b, c);
#elif CG_LANES == 8 && defined(__AVX512F__)
    return (cg_real_t)cg_mm512_fmadd_pd((cg_m512d)a, (cg_m512d)b, (cg_m512d)c);
#elif CG_LANES == 4 && defined(__FMA__)
    return (cg_real_t)cg_mm256_fmadd_pd((cg_m256d)a, (cg_m256d)b, (cg_m256d)c);
#elif CG_LANES == 2 && defined(__FMA__)
    return (cg_real_t)cg_mm_fmadd_pd((cg_m128d)a, (cg_m128d)b, (cg_m128d)c);
#elif CG_LANES == 2 && defined(__aarch64__)
    return (cg_real_t)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    for (int lane = 0; lane < CG_LANES; lane++) {
        c[lane] = fma(a[lane], b[lane], c[lane]);
    }
    return c;
#endif
}
/* A function of the C library, lane by lane. */
static CG_INLINE cg_real_t cg_each_1(double (*function)(double), cg_real_t a)
{
    for (int lane = 0; lane < CG_LANES; lane++) {
        a[lane] = function(a[lane]);
    }
    return a;
}
static CG_INLINE cg_real_t cg_each_2(double (*function)(double, double), cg_real_t a, cg_real_t b)
{
    for (int lane = 0; lane < CG_LANES; lane++) {
        a[lane] = function(a[lane], b[lane]);
    }
    return a;
}

#else

typedef double cg_real_t;
typedef int cg_mask_t; /* 1 where true, 0 where false */
typedef uint64_t cg_bits_t;

static CG_INLINE cg_real_t cg_splat(double a) { return a; }
static CG_INLINE cg_mask_t cg_lt(cg_real_t a, cg_real_t b) { return a < b; }
static CG_INLINE cg_mask_t cg_le(cg_real_t a, cg_real_t b) { return a <= b; }
static CG_INLINE cg_mask_t cg_eq(cg_real_t a, cg_real_t b) { return a == b; }
static CG_INLINE cg_mask_t cg_not(cg_mask_t a) { return !a; }
static CG_INLINE cg_mask_t cg_true(void) { return 1; }
static CG_INLINE cg_bits_t cg_bits(cg_real_t a)
{
    cg_bits_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}
static CG_INLINE cg_real_t cg_from_bits(cg_bits_t a)
{
    cg_real_t real;
    memcpy(&real, &a, sizeof real);
    return real;
}
static CG_INLINE cg_real_t cg_where(cg_mask_t mask, cg_real_t a, cg_real_t b) { return mask ? a : b; }
static CG_INLINE cg_bits_t cg_where_bits(cg_mask_t mask, cg_bits_t a, cg_bits_t b) { return mask ? a : b; }
static CG_INLINE int cg_any(cg_mask_t mask) { return mask; }
static CG_INLINE cg_real_t cg_larger(cg_real_t a, cg_real_t b) { return b < a ? a : b; }
static CG_INLINE cg_real_t cg_smaller(cg_real_t a, cg_real_t b) { return a < b ? a : b; }
static CG_INLINE cg_real_t cg_sqrt(cg_real_t a) { return sqrt(a); }
static CG_INLINE cg_real_t cg_fma(cg_real_t a, cg_real_t b, cg_real_t c) { return cg_fma_of_doubles(a, b, c); }
static CG_INLINE cg_real_t cg_each_1(double (*function)(double), cg_real_t a) { return function(a); }
static CG_INLINE cg_real_t cg_each_2(double (*function)(double, double), cg_real_t a, cg_real_t b)
{
    return function(a, b);
}

#endif

/* The format of a number: sign, exponent with its bias, fraction. */
#define CG_FRACTION_BITS 52
#define CG_FRACTION_MASK UINT64_C(0x000fffffffffffff)
#define CG_BIAS 1023.0
#define CG_ONE_BITS UINT64_C(0x3ff0000000000000)
#define CG_RECIPROCAL_BITS UINT64_C(0x7fde623822fc16e6) /* less the bits of a: those of 1/a to 5 % */
#define CG_SHIFT 4503599627370496.0 /* 2^52: the fraction of a number just above is an integer */
#define CG_SHIFT_BITS UINT64_C(0x4330000000000000)

/* a b - c, c - a b and -a b - c; sum + weight a; and c0 + c1 a, of a polynomial. */
static CG_INLINE cg_real_t cg_fms(cg_real_t a, cg_real_t b, cg_real_t c)
{
#if CG_LANES == 8 && defined(__AVX512F__) && !defined(CG_FMA_OF_VECTORS)
    return (cg_real_t)cg_mm512_fmsub_pd((cg_m512d)a, (cg_m512d)b, (cg_m512d)c);
#elif CG_LANES == 4 && defined(__FMA__) && !defined(CG_FMA_OF_VECTORS)
    return (cg_real_t)cg_mm256_fmsub_pd((cg_m256d)a, (cg_m256d)b, (cg_m256d)c);
#else
    return cg_fma(a, b, -c);
#endif
}
static CG_INLINE cg_real_t cg_fnma(cg_real_t a, cg_real_t b, cg_real_t c)
{
#if CG_LANES == 8 && defined(__AVX512F__) && !defined(CG_FMA_OF_VECTORS)
    return (cg_real_t)cg_mm512_fnmadd_pd((cg_m512d)a, (cg_m512d)b, (cg_m512d)c);
#elif CG_LANES == 4 && defined(__FMA__) && !defined(CG_FMA_OF_VECTORS)
    return (cg_real_t)cg_mm256_fnmadd_pd((cg_m256d)a, (cg_m256d)b, (cg_m256d)c);
#else
    return cg_fma(-a, b, c);
#endif
}
static CG_INLINE cg_real_t cg_fnms(cg_real_t a, cg_real_t b, cg_real_t c)
{
#if CG_LANES == 8 && defined(__AVX512F__) && !defined(CG_FMA_OF_VECTORS)
    return (cg_real_t)cg_mm512_fnmsub_pd((cg_m512d)a, (cg_m512d)b, (cg_m512d)c);
#elif CG_LANES == 4 && defined(__FMA__) && !defined(CG_FMA_OF_VECTORS)
    return (cg_real_t)cg_mm256_fnmsub_pd((cg_m256d)a, (cg_m256d)b, (cg_m256d)c);
#else
    return cg_fma(-a, b, -c);
#endif
}
static CG_INLINE cg_real_t cg_plus(cg_real_t sum, double weight, cg_real_t a)
{
    return cg_fma(cg_splat(weight), a, sum);
}
static CG_INLINE cg_real_t cg_line(double c0, double c1, cg_real_t a) { return cg_plus(cg_splat(c0), c1, a); }

/* Masks combine with & and |. */
#if CG_LANES > 1
static CG_INLINE cg_real_t cg_abs(cg_real_t a) { return cg_from_bits(cg_bits(a) & UINT64_C(0x7fffffffffffffff)); }
#else
static CG_INLINE cg_real_t cg_abs(cg_real_t a) { return fabs(a); } /* compilers take integer registers for the other */
#endif

/* The larger of |a| and |b|; |b| if a is NaN. b is not NaN. */
static CG_INLINE cg_real_t cg_larger_size(cg_real_t a, cg_real_t b)
{
#if CG_LANES == 8 && defined(__AVX512DQ__)
    /* without optimisation the intrinsic is a macro with a conversion */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
    return (cg_real_t)cg_mm512_range_pd((cg_m512d)a, (cg_m512d)b, 0xb);
#pragma GCC diagnostic pop
#else
    return cg_larger(cg_abs(a), cg_abs(b));
#endif
}

/* The unit of a loop over states: CG_WIDTH states of one trajectory in a vector register of the target CPU, if the
 * compiler has vector types; or one state of all lanes. For long sums outside the critical path; the operations on each
 * state are the same, and so are the bits. */
#if CG_LANES > 1
#define CG_WIDTH 1
typedef cg_real_t cg_block_t;
#elif defined(__GNUC__) && defined(__AVX__)
#define CG_WIDTH 4
#elif defined(__GNUC__)
#define CG_WIDTH 2
#else
#define CG_WIDTH 1
#endif
#if CG_WIDTH > 1
typedef double cg_block_t __attribute__((vector_size(CG_WIDTH * sizeof(double)), may_alias));
typedef double cg_loose_t __attribute__((vector_size(CG_WIDTH * sizeof(double)), aligned(sizeof(double)), may_alias));
#elif CG_LANES == 1
typedef double cg_block_t;
typedef double cg_loose_t; /* with the alignment of a double */
#endif

/* Numbers that are in registers as a block: what is written to memory one by one and read as a block soon after has to
 * be waited for. */
static CG_INLINE cg_block_t cg_block_of(const cg_real_t *a)
{
#if CG_WIDTH == 4
    const cg_block_t block = {a[0], a[1], a[2], a[3]};
    return block;
#elif CG_WIDTH == 2
    const cg_block_t block = {a[0], a[1]};
    return block;
#else
    return a[0];
#endif
}

/* a b + c and sum + weight a in each element, rounded once. */
static CG_INLINE cg_block_t cg_block_fma(cg_block_t a, cg_block_t b, cg_block_t c)
{
#if CG_WIDTH == 1
    return cg_fma(a, b, c);
#elif defined(CG_FMA_OF_VECTORS)
    return __builtin_elementwise_fma(a, b, c);
#elif CG_WIDTH == 4 && defined(__FMA__)
    return (cg_block_t)__builtin_ia32_vfmaddpd256(a, b, c);
#elif CG_WIDTH == 2 && defined(__aarch64__)
    return (cg_block_t)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    for (int i = 0; i < CG_WIDTH; i++) {
        c[i] = cg_fma(a[i], b[i], c[i]);
    }
    return c;
#endif
}
static CG_INLINE cg_block_t cg_block_plus(cg_block_t sum, cg_real_t weight, cg_block_t a)
{
#if CG_WIDTH == 1
    return cg_block_fma(weight, a, sum);
#elif CG_WIDTH == 4
    const cg_block_t all = {weight, weight, weight, weight};
    return cg_block_fma(all, a, sum);
#else
    const cg_block_t all = {weight, weight};
    return cg_block_fma(all, a, sum);
#endif
}

#endif /* CG_REAL_H */
