/* fma_peak.c: what one core can do at most, in multiply-adds on registers of the widest kind. */
#if defined(__AVX512F__)
enum { WIDTH = 8, CHAINS = 16 };
#elif defined(__AVX__)
enum { WIDTH = 4, CHAINS = 12 };
#else
enum { WIDTH = 2, CHAINS = 12 };
#endif

typedef double vector_t __attribute__((vector_size(WIDTH * 8)));

/* Runs `rounds` times as many independent chains of x = x a + b as hide the latency of one multiply-add; the number of
 * operations, a multiply-add counting as two. The fixed point 1 of the chains keeps the numbers ordinary. */
double fma_peak(long rounds, double *out);

double fma_peak(long rounds, double *out)
{
    const vector_t zero = {0.0};
    vector_t a = zero + 0.75, b = zero + 0.25, x[CHAINS];
    for (int i = 0; i < CHAINS; i++) {
        x[i] = zero + (1.0 + 0.001 * i);
    }
    for (long round = 0; round < rounds; round++) {
#pragma GCC unroll 16
        for (int i = 0; i < CHAINS; i++) {
            x[i] = x[i] * a + b;
        }
    }
    vector_t sum = zero;
    for (int i = 0; i < CHAINS; i++) {
        sum += x[i];
    }
    *out = sum[0];
    return 2.0 * WIDTH * CHAINS * (double)rounds;
}
