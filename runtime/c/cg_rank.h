/* cg_rank.h: M a = b for a semidefinite matrix of known rank: the solution of least norm.
 *
 * M = L D L^T with the largest diagonal entry of what is left of M as the next pivot, ended at the rank r; L has r
 * columns, whose entries stay in the order of the rows of M. With G = L^T L the solution is L G^-1 D^-1 G^-1 L^T b. If
 * b is outside the range of M, it is the shortest of those with the least residual.
 *
 * `m` first holds the upper triangle of M by rows, in n (n + 1) / 2 numbers. Behind them come: r pivots and the largest
 * diagonal entry of what is left after them, which is rounding if the rank is r; L by columns, n r numbers; r r numbers
 * for G = E C E^T, C on the diagonal and E below it; r numbers of scratch. Lanes are done one by one, each with its own
 * pivots, by the operations of a single trajectory.
 * Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM 2002, section 10.3.
 */
#ifndef CG_RANK_H
#define CG_RANK_H

#include "cg_real.h"

#include <stddef.h>

#define CG_RANK_M(i, j) m[((i) * n - (i) * ((i) - 1) / 2 + (j) - (i)) * CG_LANES] /* i <= j */
#define CG_RANK_L(i, k) columns[((k) * n + (i)) * CG_LANES]
#define CG_RANK_D(k) pivots[(k) * CG_LANES]
#define CG_RANK_G(k, j) gram[((k) * r + (j)) * CG_LANES]

/* G = E C E^T. */
static inline void cg_rank_gram(ptrdiff_t n, ptrdiff_t r, const double *columns, double *gram)
{
    for (ptrdiff_t k = 0; k < r; k++) {
        for (ptrdiff_t j = 0; j <= k; j++) {
            double sum = 0.0;
            for (ptrdiff_t i = 0; i < n; i++) {
                sum = cg_fma_of_doubles(CG_RANK_L(i, k), CG_RANK_L(i, j), sum);
            }
            for (ptrdiff_t i = 0; i < j; i++) {
                sum = cg_fma_of_doubles(-CG_RANK_G(k, i), CG_RANK_G(j, i) * CG_RANK_G(i, i), sum);
            }
            CG_RANK_G(k, j) = j == k ? sum : sum / CG_RANK_G(j, j);
        }
    }
}

/* One lane of cg_rank_factor. The diagonal entry of a row that was a pivot becomes -HUGE_VAL: it is done with. */
static inline void cg_rank_factor_lane(ptrdiff_t n, ptrdiff_t r, double *m)
{
    double *const pivots = m + n * (n + 1) / 2 * CG_LANES;
    double *const columns = pivots + (r + 1) * CG_LANES;

    for (ptrdiff_t k = 0; k <= r; k++) {
        ptrdiff_t p = -1;
        for (ptrdiff_t i = 0; i < n; i++) {
            if (CG_RANK_M(i, i) != -HUGE_VAL && (p < 0 || CG_RANK_M(i, i) > CG_RANK_M(p, p))) {
                p = i;
            }
        }
        CG_RANK_D(k) = p < 0 ? 0.0 : CG_RANK_M(p, p);
        if (k == r || p < 0) {
            continue;
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            const double entry = i < p ? CG_RANK_M(i, p) : CG_RANK_M(p, i);
            CG_RANK_L(i, k) = i == p ? 1.0 : CG_RANK_M(i, i) == -HUGE_VAL ? 0.0 : entry / CG_RANK_D(k);
        }
        CG_RANK_M(p, p) = -HUGE_VAL;
        for (ptrdiff_t i = 0; i < n; i++) {
            for (ptrdiff_t j = i; j < n && CG_RANK_M(i, i) != -HUGE_VAL; j++) {
                if (CG_RANK_M(j, j) != -HUGE_VAL) {
                    const double entry = j < p ? CG_RANK_M(j, p) : CG_RANK_M(p, j);
                    CG_RANK_M(i, j) = cg_fma_of_doubles(-CG_RANK_L(i, k), entry, CG_RANK_M(i, j));
                }
            }
        }
    }
    cg_rank_gram(n, r, columns, columns + n * r * CG_LANES);
}

/* G y = y. */
static inline void cg_rank_gram_solve(ptrdiff_t r, const double *gram, double *y)
{
    for (ptrdiff_t k = 0; k < r; k++) {
        for (ptrdiff_t j = 0; j < k; j++) {
            y[k * CG_LANES] = cg_fma_of_doubles(-CG_RANK_G(k, j), y[j * CG_LANES], y[k * CG_LANES]);
        }
    }
    for (ptrdiff_t k = r - 1; k >= 0; k--) {
        y[k * CG_LANES] /= CG_RANK_G(k, k);
        for (ptrdiff_t j = k + 1; j < r; j++) {
            y[k * CG_LANES] = cg_fma_of_doubles(-CG_RANK_G(j, k), y[j * CG_LANES], y[k * CG_LANES]);
        }
    }
}

/* One lane of cg_rank_solve. */
static inline void cg_rank_solve_lane(ptrdiff_t n, ptrdiff_t r, double *m, double *b)
{
    const double *const pivots = m + n * (n + 1) / 2 * CG_LANES;
    const double *const columns = pivots + (r + 1) * CG_LANES;
    const double *const gram = columns + n * r * CG_LANES;
    double *const y = m + (n * (n + 1) / 2 + r * (n + r + 1) + 1) * CG_LANES;

    for (ptrdiff_t k = 0; k < r; k++) {
        double sum = 0.0;
        for (ptrdiff_t i = 0; i < n; i++) {
            sum = cg_fma_of_doubles(CG_RANK_L(i, k), b[i * CG_LANES], sum);
        }
        y[k * CG_LANES] = sum;
    }
    cg_rank_gram_solve(r, gram, y);
    for (ptrdiff_t k = 0; k < r; k++) {
        y[k * CG_LANES] /= CG_RANK_D(k);
    }
    cg_rank_gram_solve(r, gram, y);
    for (ptrdiff_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (ptrdiff_t k = 0; k < r; k++) {
            sum = cg_fma_of_doubles(CG_RANK_L(i, k), y[k * CG_LANES], sum);
        }
        b[i * CG_LANES] = sum;
    }
}

#undef CG_RANK_M
#undef CG_RANK_L
#undef CG_RANK_D
#undef CG_RANK_G

/* The factors of the n x n matrix at m, of rank r. */
static inline void cg_rank_factor(int n, int r, cg_real_t *m)
{
    for (int lane = 0; lane < CG_LANES; lane++) {
        cg_rank_factor_lane(n, r, (double *)m + lane);
    }
}

/* The solution for the right-hand side at b, in place. */
static inline void cg_rank_solve(int n, int r, cg_real_t *m, cg_real_t *b)
{
    for (int lane = 0; lane < CG_LANES; lane++) {
        cg_rank_solve_lane(n, r, (double *)m + lane, (double *)b + lane);
    }
}

#endif /* CG_RANK_H */
