/* cg_linear.h: a dense linear system by Gaussian elimination with partial pivoting, for implicit methods.
 *
 * Matrices are stored by columns: a[j * n + i] is the entry in row i and column j. So every inner loop runs over a
 * column, with contiguous and independent entries; the order of operations on one entry is always the same.
 * Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., Johns Hopkins 2013, algorithms 3.4.1 and 3.1.3.
 */
#ifndef CG_LINEAR_H
#define CG_LINEAR_H

#include "step/cg_step.h"

#include <stddef.h>

/* y += factor x. Structural zeros, of which mechanical systems have many, cost nothing. */
static CG_INLINE void cg_linear_add(int32_t n, double factor, const double *CG_RESTRICT x, double *CG_RESTRICT y)
{
    if (factor != 0.0) {
        for (int32_t i = 0; i < n; i++) {
            y[i] = cg_fma(factor, x[i], y[i]);
        }
    }
}

/* P a = L U, in place: below the diagonal the multipliers of L with opposite signs, on it 1 / u_kk. 0: a column has no
 * nonzero pivot, or only NaN. */
static inline int cg_linear_factor(int32_t n, double *a, int32_t *pivots)
{
    for (int32_t k = 0; k < n; k++) {
        double *const column = a + (ptrdiff_t)k * n;
        int32_t pivot = k;
        for (int32_t i = k + 1; i < n; i++) {
            pivot = fabs(column[i]) > fabs(column[pivot]) ? i : pivot;
        }
        pivots[k] = pivot;
        if (!(fabs(column[pivot]) > 0.0) || !(fabs(column[pivot]) < HUGE_VAL)) {
            return 0;
        }
        for (int32_t j = 0; pivot != k && j < n; j++) { /* the multipliers go with their rows */
            double *const other = a + (ptrdiff_t)j * n;
            const double swapped = other[k];
            other[k] = other[pivot];
            other[pivot] = swapped;
        }
        column[k] = 1.0 / column[k];
        for (int32_t i = k + 1; i < n; i++) {
            column[i] *= -column[k];
        }
        for (int32_t j = k + 1; j < n; j++) {
            double *const other = a + (ptrdiff_t)j * n;
            cg_linear_add(n - k - 1, other[k], column + k + 1, other + k + 1);
        }
    }
    return 1;
}

/* Solves a z = b with the factors of a, in place. */
static inline void cg_linear_solve(int32_t n, const double *a, const int32_t *pivots, double *b)
{
    for (int32_t k = 0; k < n; k++) {
        const double swapped = b[pivots[k]];
        b[pivots[k]] = b[k];
        b[k] = swapped;
    }
    for (int32_t k = 0; k < n; k++) {
        cg_linear_add(n - k - 1, b[k], a + (ptrdiff_t)k * n + k + 1, b + k + 1);
    }
    for (int32_t k = n - 1; k >= 0; k--) {
        const double *const column = a + (ptrdiff_t)k * n;
        b[k] *= column[k];
        cg_linear_add(k, -b[k], column, b);
    }
}

#endif /* CG_LINEAR_H */
