/* cg_noise.h: random numbers that follow from their place alone, and filters that make paths of them. */
#ifndef CG_NOISE_H
#define CG_NOISE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out[i], 0 <= i < n: numbers in (0, 1), or with `normal` standard normal ones. Number i depends on the key, the run, a
 * trajectory and an episode of it, and i alone: it is word i % 4 of Philox 4x64-10 at the counter (i / 4, run, 0). */
void cg_noise_numbers(const uint64_t key[2], const uint64_t run[2], int normal, double *out, int64_t n);

/* A linear filter of m states with one output, on a grid: x_0 = start xi_0, x_k = phi_k x_(k-1) + gain_k xi_k,
 * y_k = c_k x_k. Matrices are row by row, and `start` and `gain` have zeros above the diagonal. With `varies` there is a
 * matrix phi and gain for each step, and a row c for each time. */
typedef struct cg_noise_filter {
    int m;
    int varies;
    const double *start;
    const double *phi;
    const double *gain;
    const double *c;
} cg_noise_filter_t;

/* y[k], 0 <= k < n, for the numbers xi (n, m), which become the states. */
void cg_noise_filtered(const cg_noise_filter_t *filter, double *xi, double *y, int64_t n);

#ifdef __cplusplus
}
#endif

#endif /* CG_NOISE_H */
