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
#include <stdint.h>
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

/* CG_WIDTH states at once, where the compiler has vector types: one register of the CPU it compiles for. For sums of
 * many terms that nothing waits for; the same operations on each state, so the same bits. */
#if defined(__GNUC__) && defined(__AVX__)
#define CG_WIDTH 4
#elif defined(__GNUC__)
#define CG_WIDTH 2
#else
#define CG_WIDTH 1
#endif
#if CG_WIDTH > 1
typedef double cg_block_t __attribute__((vector_size(CG_WIDTH * sizeof(double)), may_alias));
typedef double cg_loose_t __attribute__((vector_size(CG_WIDTH * sizeof(double)), aligned(8), may_alias));
#else
typedef double cg_block_t;
typedef double cg_loose_t; /* at any address that a double may have */
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

/* base^exponent to 4 digits for |exponent| <= 1, the base clamped to 1e-100 .. 1e100. It stands between the error of
 * a step and the length of the next, so short dependency chains matter and digits do not: log2 and exp2 are exact at
 * powers of two and polynomials (errors 2e-5 and 5e-6) between. */
static CG_INLINE double cg_step_power(double base, double exponent)
{
    const double clamped = base > 1e-100 ? (base < 1e100 ? base : 1e100) : 1e-100;
    uint64_t bits;
    memcpy(&bits, &clamped, sizeof bits);
    const double e = (double)((int)(bits >> 52) - 1023);
    bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    double m; /* clamped = m 2^e, 1 <= m < 2 */
    memcpy(&m, &bits, sizeof m);
    const double a = m - 1.0;
    const double a2 = a * a;
    const double log2_m = a + (a - a2) * ((0.44191704 - 0.2671794 * a) + a2 * (0.14842664 - 0.04514904 * a));
    const double y = exponent * (e + log2_m) + 1024.0; /* positive, so that the cast rounds down */
    const int whole = (int)y;
    const double z = y - (double)whole;
    const double power = (1.0 + z) - (z - z * z) * (0.30699608 + z * (0.06544626 + z * 0.013702));
    const uint64_t scale_bits = (uint64_t)(whole - 1) << 52; /* 2^(whole - 1024) */
    double scale;
    memcpy(&scale, &scale_bits, sizeof scale);
    return power * scale;
}

static CG_INLINE double cg_step_larger(double a, double b) { return a > b ? a : b; }
static CG_INLINE double cg_step_smaller(double a, double b) { return a < b ? a : b; }

/* The tolerance of one component: atol + rtol max(|x|, |y|). */
static CG_INLINE double cg_step_scale(double atol, double rtol, double x, double y)
{
    return atol + rtol * cg_step_larger(fabs(x), fabs(y));
}

/* The shortest step from t that is taken before t_stop: a few spacings of the numbers there. With a shorter one the
 * stages fall on the same times, and at last the state moves while t stands still. */
static CG_INLINE double cg_step_smallest(double t)
{
    return 4.0 * cg_step_larger(fabs(t) * DBL_EPSILON, DBL_MIN);
}

/* Takes over the trial: x_trial and f_old become the state and the derivative at t_new. The buffers change places
 * instead of being copied: scalar stores followed by the vector loads of a copy would wait for the cache. */
static CG_INLINE void cg_step_accept(cg_run_t *run, double t_new)
{
    double *const spare = run->x_old;
    double *const f = run->f_old;
    run->x_old = run->x;
    run->x = run->x_trial;
    run->x_trial = spare;
    run->f_old = run->f;
    run->f = f;
    run->t_old = run->t;
    run->t = t_new;
    run->n_steps++;
    run->have_dense = 0;
}

#endif /* CG_STEP_H */
