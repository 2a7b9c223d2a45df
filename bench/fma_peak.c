/* fma_peak.c: the peak rate of one core, in multiply-adds on its widest registers. */
#if defined(__AVX512F__)
enum { WIDTH = 8, CHAINS = 16 };
#elif defined(__AVX__)
enum { WIDTH = 4, CHAINS = 12 };
#else
enum { WIDTH = 2, CHAINS = 12 };
#endif

typedef double vector_t __attribute__((vector_size(WIDTH * 8)));

/* Runs `rounds` steps of x = x a + b in enough independent chains to hide the latency of a multiply-add. Returns the
 * number of operations; a multiply-add counts as two. The chains converge to the fixed point 1, so no subnormals or
 * infinities occur. */
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
