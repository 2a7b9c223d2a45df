/* misuse.h: what the misuses of FMI 2.0 and 3.0 share: seeded numbers, two instances with states, and the calls in any
 * order. Prints how many calls failed and worked; sanitizers report what must not happen. Whoever includes it defines
 * FMI(name), instance_t, state_t and byte_t, and the four functions that are declared here. */
#ifndef MISUSE_H
#define MISUSE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 8, CALLS = 1000 };

static instance_t instance[2];
static state_t state[4];
static byte_t bytes[1 << 16];
static size_t n_bytes;

static instance_t made(int k, const char *token); /* for model exchange (0) or co-simulation (1) */
static int taken(const char *token);              /* whether something else that is wrong is taken */
static void begin(instance_t c);                  /* the right way, without which few calls would come far */
static int call(instance_t c);

static uint64_t seed = 88172645463325252u;

static unsigned draw(unsigned n) /* xorshift */
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 33) % n;
}

static double number(void)
{
    static const double values[] = {0.0, 1.0, -1.0, 0.5, 1e-3, 1e308, -1e308, 1e-320, 7.0, 3.0};
    const unsigned i = draw(12);
    return i < 10 ? values[i] : i == 10 ? (double)NAN : (double)INFINITY;
}

/* A duration that does not take a million steps. */
static double duration(void)
{
    const double d = number();
    return d > 2.0 ? 0.02 : d;
}

int main(int argc, char **argv)
{
    int failed = 0, worked = 0;
    if (argc < 2) return 2;
    if (made(1, "wrong") != NULL || taken(argv[1])) return 3;
    for (int i = 0; i < CALLS; i++) {
        if (i % 100 == 0) {
            for (int k = 0; k < 2; k++) {
                FMI(FreeInstance)(instance[k]);
                instance[k] = made(k, argv[1]);
                if (instance[k] == NULL) return 4;
                if (draw(4)) begin(instance[k]);
            }
            memset(state, 0, sizeof state);
        }
        const int status = call(draw(20) ? instance[draw(2)] : NULL);
        if (status < 0 || status > FMI(Error)) return 5;
        failed += status == FMI(Error);
        worked += status == FMI(OK);
    }
    FMI(FreeInstance)(instance[0]);
    FMI(FreeInstance)(instance[1]);
    FMI(FreeInstance)(NULL);
    printf("%d %d\n", failed, worked);
    return 0;
}

#endif
