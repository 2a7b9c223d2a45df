/* cg_noise.c: random numbers and filters. See cg_noise.h. */
#include "cg_noise.h"
#include "cg_quantile.h"

/* a b = high 2^64 + low */
static uint64_t cg_noise_product(uint64_t a, uint64_t b, uint64_t *low)
{
#ifdef __SIZEOF_INT128__
    __extension__ const unsigned __int128 product = (unsigned __int128)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
#else
    const uint64_t a0 = a & 0xffffffffU, a1 = a >> 32, b0 = b & 0xffffffffU, b1 = b >> 32;
    const uint64_t corner = a0 * b0, first = a1 * b0 + (corner >> 32);
    const uint64_t second = a0 * b1 + (first & 0xffffffffU);
    *low = (second << 32) | (corner & 0xffffffffU);
    return a1 * b1 + (first >> 32) + (second >> 32);
#endif
}

/* Philox 4x64 with ten rounds: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, SC '11. */
static void cg_noise_philox(const uint64_t key[2], uint64_t block, const uint64_t run[2], uint64_t out[4])
{
    uint64_t k0 = key[0], k1 = key[1], c0 = block, c1 = run[0], c2 = run[1], c3 = 0;
    for (int round = 0; round < 10; round++) {
        uint64_t low0, low1;
        const uint64_t high0 = cg_noise_product(UINT64_C(0xD2E7470EE14C6C93), c0, &low0);
        const uint64_t high1 = cg_noise_product(UINT64_C(0xCA5A826395121157), c2, &low1);
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += UINT64_C(0x9E3779B97F4A7C15);
        k1 += UINT64_C(0xBB67AE8584CAA73B);
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void cg_noise_numbers(const uint64_t key[2], const uint64_t run[2], int normal, double *out, int64_t n)
{
    static const double standard[2] = {0.0, 1.0};
    uint64_t words[4] = {0, 0, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        if (i % 4 == 0) {
            cg_noise_philox(key, (uint64_t)(i / 4), run, words);
        }
        out[i] = ((double)(words[i % 4] >> 12) + 0.5) * 0x1p-52; /* the middles of 2^52 cells */
    }
    if (normal) {
        (void)cg_quantile(CG_LAW_NORMAL, standard, 2, out, out, n); /* no number is 0 or 1 */
    }
}

static inline void cg_noise_path(const cg_noise_filter_t *filter, int m, double *xi, double *y, int64_t n)
{
    const double *phi = filter->phi, *gain = filter->gain, *c = filter->c;
    for (int64_t k = 0; k < n; k++) {
        double *const x = xi + k * m;
        const double *const matrix = k == 0 ? filter->start : gain; /* with zeros above the diagonal */
        for (int i = m - 1; i >= 0; i--) {
            double sum = matrix[i * m] * x[0];
            for (int j = 1; j <= i; j++) {
                sum += matrix[i * m + j] * x[j];
            }
            for (int j = 0; j < m && k > 0; j++) {
                sum += phi[i * m + j] * x[j - m];
            }
            x[i] = sum;
        }
        if (k > 0 && filter->varies) {
            phi += m * m;
            gain += m * m;
        }
        double sum = c[0] * x[0];
        for (int j = 1; j < m; j++) {
            sum += c[j] * x[j];
        }
        y[k] = sum;
        c += filter->varies ? m : 0;
    }
}

void cg_noise_filtered(const cg_noise_filter_t *filter, double *xi, double *y, int64_t n)
{
    filter->m == 1 ? cg_noise_path(filter, 1, xi, y, n) : cg_noise_path(filter, filter->m, xi, y, n);
}
