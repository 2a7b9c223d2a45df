/* check_math.c: the functions of cg_math.h behind one entry, for the tests in test_math.py; built for each CG_LANES. */
#include "cg_math.h"

#include <stddef.h>

#define ONE(name)                                                     \
    static void run_##name(const double *x, const double *y, double *out) \
    {                                                                 \
        cg_real_t a;                                                  \
        (void)y;                                                      \
        memcpy(&a, x, sizeof a);                                      \
        a = cg_##name(a);                                             \
        memcpy(out, &a, sizeof a);                                    \
    }
#define TWO(name)                                                     \
    static void run_##name(const double *x, const double *y, double *out) \
    {                                                                 \
        cg_real_t a, b;                                               \
        memcpy(&a, x, sizeof a);                                      \
        memcpy(&b, y, sizeof b);                                      \
        a = cg_##name(a, b);                                          \
        memcpy(out, &a, sizeof a);                                    \
    }

ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh) ONE(tanh) ONE(exp) ONE(log) ONE(sqrt)
ONE(sign) ONE(abs) TWO(atan2) TWO(pow) TWO(min) TWO(max)

static void run_sincos_sin(const double *x, const double *y, double *out)
{
    cg_real_t a, s, c;
    (void)y;
    memcpy(&a, x, sizeof a);
    cg_sincos(a, &s, &c);
    memcpy(out, &s, sizeof s);
}
static void run_sincos_cos(const double *x, const double *y, double *out)
{
    cg_real_t a, s, c;
    (void)y;
    memcpy(&a, x, sizeof a);
    cg_sincos(a, &s, &c);
    memcpy(out, &c, sizeof c);
}

#define ENTRY(name) {#name, run_##name}
static const struct {
    const char *name;
    void (*run)(const double *x, const double *y, double *out);
} functions[] = {
    ENTRY(sin),  ENTRY(cos),  ENTRY(tan), ENTRY(asin), ENTRY(acos), ENTRY(atan), ENTRY(sinh),  ENTRY(cosh),
    ENTRY(tanh), ENTRY(exp),  ENTRY(log), ENTRY(sqrt), ENTRY(sign), ENTRY(abs),  ENTRY(atan2), ENTRY(pow),
    ENTRY(min),  ENTRY(max),  ENTRY(sincos_sin),       ENTRY(sincos_cos),
};

/* out[i] = name(x[i], y[i]) for n values, n a multiple of CG_LANES. Returns 0, or 1 for an unknown name. */
int check_math(const char *name, ptrdiff_t n, const double *x, const double *y, double *out);
int check_math(const char *name, ptrdiff_t n, const double *x, const double *y, double *out)
{
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        if (strcmp(functions[f].name, name) == 0) {
            for (ptrdiff_t i = 0; i < n; i += CG_LANES) {
                functions[f].run(x + i, y + i, out + i);
            }
            return 0;
        }
    }
    return 1;
}
