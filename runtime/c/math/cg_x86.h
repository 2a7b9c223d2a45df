/* cg_x86.h: the vector instructions of x86 that lanes use, by the names of <immintrin.h> after cg_.
 *
 * For GCC 9 to 14 they are its own functions, which that header consists of: it has 50,000 lines, and reading them would
 * be a quarter of the time in which the lanes of a short model are compiled. Earlier ones lack some of them, such as vfmsubpd,
 * and nobody promises that later ones have them.
 */
#ifndef CG_X86_H
#define CG_X86_H

#if defined(__GNUC__) && __GNUC__ >= 9 && __GNUC__ <= 14 && !defined(__clang__) && !defined(__INTEL_COMPILER)

typedef double cg_m128d __attribute__((vector_size(16)));
typedef double cg_m256d __attribute__((vector_size(32)));
typedef double cg_m512d __attribute__((vector_size(64)));
typedef long long cg_m512i __attribute__((vector_size(64)));
typedef unsigned char cg_mmask8;

#define CG_ROUNDING 4             /* as the control register says */
#define CG_ALL_8 ((cg_mmask8)-1) /* lanes */

#define cg_mm_fmadd_pd(a, b, c) __builtin_ia32_vfmaddpd(a, b, c)

#define cg_mm256_fmadd_pd(a, b, c) __builtin_ia32_vfmaddpd256(a, b, c)
#define cg_mm256_fmsub_pd(a, b, c) __builtin_ia32_vfmsubpd256(a, b, c)
#define cg_mm256_fnmadd_pd(a, b, c) __builtin_ia32_vfnmaddpd256(a, b, c)
#define cg_mm256_fnmsub_pd(a, b, c) __builtin_ia32_vfnmsubpd256(a, b, c)
#define cg_mm256_max_pd(a, b) __builtin_ia32_maxpd256(a, b)
#define cg_mm256_min_pd(a, b) __builtin_ia32_minpd256(a, b)
#define cg_mm256_sqrt_pd(a) __builtin_ia32_sqrtpd256(a)
#define cg_mm256_blendv_pd(a, b, mask) __builtin_ia32_blendvpd256(a, b, mask)
#define cg_mm256_movemask_pd(a) __builtin_ia32_movmskpd256(a)

#define cg_mm256_i32gather_pd(base, at)                                                                              \
    __builtin_ia32_gathersiv4df((cg_m256d){0}, base, at, (cg_m256d)((cg_m256d){0} == (cg_m256d){0}), 8)

#define cg_mm512_fmadd_pd(a, b, c) __builtin_ia32_vfmaddpd512_mask(a, b, c, CG_ALL_8, CG_ROUNDING)
#define cg_mm512_fmsub_pd(a, b, c) __builtin_ia32_vfmsubpd512_mask(a, b, c, CG_ALL_8, CG_ROUNDING)
#define cg_mm512_fnmadd_pd(a, b, c) __builtin_ia32_vfnmaddpd512_mask(a, b, c, CG_ALL_8, CG_ROUNDING)
#define cg_mm512_fnmsub_pd(a, b, c) __builtin_ia32_vfnmsubpd512_mask(a, b, c, CG_ALL_8, CG_ROUNDING)
#define cg_mm512_max_pd(a, b) __builtin_ia32_maxpd512_mask(a, b, a, CG_ALL_8, CG_ROUNDING)
#define cg_mm512_min_pd(a, b) __builtin_ia32_minpd512_mask(a, b, a, CG_ALL_8, CG_ROUNDING)
#define cg_mm512_sqrt_pd(a) __builtin_ia32_sqrtpd512_mask(a, a, -1, CG_ROUNDING) /* its mask is signed */
#define cg_mm512_range_pd(a, b, kind) __builtin_ia32_rangepd512_mask(a, b, kind, a, CG_ALL_8, CG_ROUNDING)
#define cg_mm512_i32gather_pd(base, at) __builtin_ia32_gathersiv8df((cg_m512d){0}, base, at, -1, 8)
#define cg_mm512_less_pd_mask(a, b) __builtin_ia32_cmppd512_mask(a, b, 17, CG_ALL_8, CG_ROUNDING) /* ordered, quiet */
#define cg_mm512_movepi64_mask(a) __builtin_ia32_cvtq2mask512(a)
#define cg_mm512_test_epi64_mask(a, b) __builtin_ia32_ptestmq512(a, b, CG_ALL_8)
#define cg_mm512_ternarylogic_epi64(a, b, c, table) __builtin_ia32_pternlogq512_mask(a, b, c, table, CG_ALL_8)
#define cg_mm512_mask_blend_pd(mask, a, b) __builtin_ia32_blendmpd_512_mask(a, b, mask)
#define cg_mm512_mask_xor_pd(other, mask, a, b) __builtin_ia32_xorpd512_mask(a, b, other, mask)

#else

#include <immintrin.h>

typedef __m128d cg_m128d;
#if defined(__AVX__)
typedef __m256d cg_m256d;
#endif
#if defined(__AVX512F__)
typedef __m512d cg_m512d;
typedef __m512i cg_m512i;
typedef __mmask8 cg_mmask8;
#endif

#define cg_mm_fmadd_pd _mm_fmadd_pd

#define cg_mm256_fmadd_pd _mm256_fmadd_pd
#define cg_mm256_fmsub_pd _mm256_fmsub_pd
#define cg_mm256_fnmadd_pd _mm256_fnmadd_pd
#define cg_mm256_fnmsub_pd _mm256_fnmsub_pd
#define cg_mm256_max_pd _mm256_max_pd
#define cg_mm256_min_pd _mm256_min_pd
#define cg_mm256_sqrt_pd _mm256_sqrt_pd
#define cg_mm256_blendv_pd _mm256_blendv_pd
#define cg_mm256_movemask_pd _mm256_movemask_pd
#define cg_mm256_i32gather_pd(base, at) _mm256_i32gather_pd(base, (__m128i)(at), 8)

#define cg_mm512_fmadd_pd _mm512_fmadd_pd
#define cg_mm512_fmsub_pd _mm512_fmsub_pd
#define cg_mm512_fnmadd_pd _mm512_fnmadd_pd
#define cg_mm512_fnmsub_pd _mm512_fnmsub_pd
#define cg_mm512_max_pd _mm512_max_pd
#define cg_mm512_min_pd _mm512_min_pd
#define cg_mm512_sqrt_pd _mm512_sqrt_pd
#define cg_mm512_range_pd(a, b, kind) _mm512_range_pd(a, b, kind)
#define cg_mm512_i32gather_pd(base, at) _mm512_i32gather_pd((__m256i)(at), base, 8)
#define cg_mm512_less_pd_mask(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#define cg_mm512_movepi64_mask _mm512_movepi64_mask
#define cg_mm512_test_epi64_mask _mm512_test_epi64_mask
#define cg_mm512_ternarylogic_epi64(a, b, c, table) _mm512_ternarylogic_epi64(a, b, c, table)
#define cg_mm512_mask_blend_pd _mm512_mask_blend_pd
#define cg_mm512_mask_xor_pd _mm512_mask_xor_pd

#endif

#endif
