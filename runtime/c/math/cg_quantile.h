/* cg_quantile.h: quantile functions (inverse distribution functions) of the distributions that studies draw from. */
#ifndef CG_QUANTILE_H
#define CG_QUANTILE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What `a` holds; z is the standard normal quantile of u. */
enum cg_law {
    CG_LAW_UNIFORM,     /* a0 + a1 u */
    CG_LAW_NORMAL,      /* a0 + a1 z */
    CG_LAW_LOGNORMAL,   /* a0 + a1 exp(a2 z) */
    CG_LAW_EXPONENTIAL, /* a0 - a1 log(1 - u) */
    CG_LAW_WEIBULL,     /* a0 + a1 (-log(1 - u))^a2 */
    CG_LAW_TABLE        /* a polynomial of z in each of n cells: see cg_quantile.c */
};

/* out[i] = the quantile at 0 < u[i] < 1; `out` may be `u`. `n_a` is the length of a. Returns CG_OK, or
 * CG_BAD_ARGUMENT for an unknown law, a wrong length, or a u outside (0, 1), whose result is NaN. Without contraction the
 * same bits on every machine. */
int cg_quantile(int law, const double *a, int64_t n_a, const double *u, double *out, int64_t n);

#ifdef __cplusplus
}
#endif

#endif /* CG_QUANTILE_H */
