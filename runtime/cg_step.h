/* cg_step.h: what every method needs inside a step. Included by cg_driver.c and by a model's own translation unit.
 *
 * The library's pow changes its last bits with the CPU's features; a step length must not, so the step control has
 * its own power, made of + - * / only.
 */
#ifndef CG_STEP_H
#define CG_STEP_H

#include "cg_run.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__GNUC__)
#define CG_INLINE inline __attribute__((always_inline))
#define CG_COLD __attribute__((noinline, cold))
#define CG_RARE(condition) __builtin_expect(!!(condition), 0)
#else
#define CG_INLINE inline
#define CG_COLD
#define CG_RARE(condition) (condition)
#endif

/* Loops over states run over blocks of CG_PAD of them: one vector register where the compiler has vector types (it
 * splits a block where the CPU's registers are shorter). The same operations on each state in the same order, so the
 * same bits. Left to themselves compilers unroll such short loops into scalar code. */
#if defined(__GNUC__)
typedef double cg_block_t __attribute__((vector_size(CG_PAD * sizeof(double)), may_alias));
#define CG_BLOCK(v, i) ((cg_block_t){(v)[4 * (i)], (v)[4 * (i) + 1], (v)[4 * (i) + 2], (v)[4 * (i) + 3]})
#define CG_BLOCKS(n) (((n) + (CG_PAD - 1)) / CG_PAD)
#else
typedef double cg_block_t;
#define CG_BLOCK(v, i) ((v)[i])
#define CG_BLOCKS(n) CG_PADDED(n)
#endif

/* Brings run->u to time t. Only called where run->input_kind is not zero. */
static inline int cg_step_inputs(cg_run_t *run, double t, const double *x)
{
    if (run->input_kind & CG_INPUT_SLOPE) {
        for (int32_t i = 0; i < run->model->n_inputs; i++) {
            if (run->signals[i].kind == CG_SIGNAL_LINEAR) {
                run->u[i] = run->u_value[i] + run->u_slope[i] * (t - run->u_time[i]);
            }
        }
    }
    if (run->input_kind & CG_INPUT_CALL) {
        return run->input_fn(run->input_context, t, x, run->u);
    }
    return CG_OK;
}

/* Whether all n values are finite: 0 * v is NaN for an infinity and for a NaN. */
static CG_INLINE int cg_step_finite(const double *v, int32_t n)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; i++) {
        sum += 0.0 * v[i];
    }
    return sum == 0.0;
}

/* base^exponent to 7 digits for |exponent| <= 1; the base is clamped to 1e-60 .. 1e60. */
static inline double cg_step_power(double base, double exponent)
{
    const double clamped = base > 1e-60 ? (base < 1e60 ? base : 1e60) : 1e-60;
    uint64_t bits;
    memcpy(&bits, &clamped, sizeof bits);
    /* clamped = m * 2^e with m in [0.7, 1.4) */
    const uint64_t shifted = bits + (0x3ff0000000000000u - 0x3fe6a00000000000u);
    const int e = (int)(shifted >> 52) - 1023;
    bits -= (uint64_t)(int64_t)e << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    const double s = (m - 1.0) / (m + 1.0);
    const double s2 = s * s;
    const double log2_base = (double)e + 2.8853900817779268 * s
        * (1.0 + s2 * (0.33333333333333331 + s2 * (0.2 + s2 * (0.14285714285714285 + s2 * 0.1111111111111111))));
    const double y = exponent * log2_base;
    const int whole = (int)(y < 0.0 ? y - 0.5 : y + 0.5);
    const double z = 0.69314718055994529 * (y - (double)whole);
    const double fraction = 1.0 + z * (1.0 + z * (0.5 + z * (0.16666666666666666 + z * (0.041666666666666664
        + z * (0.0083333333333333332 + z * 0.0013888888888888889)))));
    const uint64_t scale_bits = (uint64_t)(whole + 1023) << 52;
    double scale;
    memcpy(&scale, &scale_bits, sizeof scale);
    return fraction * scale;
}

static CG_INLINE double cg_step_larger(double a, double b) { return a > b ? a : b; }
static CG_INLINE double cg_step_smaller(double a, double b) { return a < b ? a : b; }

/* The tolerance of one component: atol + rtol max(|x|, |y|). */
static CG_INLINE double cg_step_scale(double atol, double rtol, double x, double y)
{
    return atol + rtol * cg_step_larger(fabs(x), fabs(y));
}

#endif /* CG_STEP_H */
