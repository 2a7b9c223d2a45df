/* What the samples of a step show of sign changes, held against zeros known in closed form. */
#include "check.h"
#include "step/cg_crossing.h"

#include <math.h>

static const double pi = 3.14159265358979323846;
static uint64_t seed = 2024;

static double random_between(double low, double high)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(seed >> 11) / 9007199254740992.0;
}

/* Functions of the fraction of a step, 0 .. 1, with the parameters a, b, c. */
typedef double (*function_t)(double s, const double *q);

static double wave(double s, const double *q) { return sin(q[0] * s + q[1]); }
static double hyperbola(double s, const double *q) { return 1.0 / (s + q[0]) - 1.0 / (q[1] + q[0]); }
static double departure(double s, const double *q) { return s * (s - q[1]) * (1.5 + sin(q[0] * s)); }
static double tangential(double s, const double *q) { return s * s * (1.5 + sin(q[0] * s + q[1])); }

typedef struct tally {
    int none, one, kept; /* decided */
    int coarse;          /* of these with last coefficients that would not count as accurate */
} tally_t;

/* zeros[0 .. n - 1]: those in 0 < s < 1 */
static void examine(function_t function, const double *q, const double *zeros, int n, tally_t *tally)
{
    double v[CG_NODES], c[CG_NODES], largest = 0.0;
    int late = 0;
    for (int j = 0; j < CG_NODES; j++) {
        v[j] = function(cg_nodes[j], q);
    }
    cg_fit(v, c);
    for (int k = 0; k < CG_NODES; k++) {
        largest = cg_larger(largest, fabs(c[k]));
    }
    for (int i = 0; i < n; i++) {
        late += zeros[i] > cg_nodes[1];
    }
    const double early = function(1e-6, q);
    const cg_crossing_t shown = cg_crossings_shown(v, c, early > 0.0 ? 1.0 : -1.0);
    const cg_crossing_t positive = cg_crossings_shown(v, c, 1.0);
    CHECK(!shown.none || n == 0);
    CHECK(!shown.one || n == 1);
    CHECK(!positive.kept || (late == 0 && v[1] > 0.0 && v[CG_DEGREE] > 0.0));
    tally->none += shown.none;
    tally->one += shown.one;
    tally->kept += positive.kept;
    tally->coarse += (shown.none || shown.one) && fabs(c[7]) + fabs(c[8]) > CG_FOLLOWED * largest;
}

/* Waves of up to a whole period in the step. */
static void test_waves(void)
{
    tally_t tally = {0, 0, 0, 0};
    for (int trial = 0; trial < 20000; trial++) {
        const double q[2] = {exp(random_between(log(0.1), log(2.0 * pi))), random_between(0.0, 2.0 * pi)};
        double zeros[4];
        int n = 0;
        for (int k = 1; k * pi < q[0] + q[1]; k++) {
            if (k * pi > q[1]) {
                zeros[n++] = (k * pi - q[1]) / q[0];
            }
        }
        examine(wave, q, zeros, n, &tally);
    }
    CHECK(tally.none > 8000 && tally.one > 3000 && tally.coarse > 4000);
}

/* A pole before the step, down to a tenth of its length, so that the coefficients fall slowly. */
static void test_hyperbolas(void)
{
    tally_t tally = {0, 0, 0, 0};
    for (int trial = 0; trial < 20000; trial++) {
        const double q[2] = {exp(random_between(log(0.1), log(10.0))), random_between(-0.05, 2.0)};
        examine(hyperbola, q, &q[1], q[1] > 0.0 && q[1] < 1.0, &tally);
    }
    CHECK(tally.none > 6000 && tally.one > 3000 && tally.coarse > 3000);
}

/* From zero to the other side first: a return before the second sample does not count, a later one does. */
static void test_departures(void)
{
    tally_t short_dips = {0, 0, 0, 0}, long_dips = {0, 0, 0, 0}, without = {0, 0, 0, 0};
    for (int trial = 0; trial < 5000; trial++) {
        const double w = random_between(0.1, 3.0);
        const double brief[2] = {w, random_between(1e-9, 0.2 * cg_nodes[1])};
        const double lasting[2] = {w, random_between(1.001 * cg_nodes[1], 0.999)};
        const double slow[2] = {w, random_between(0.0, 2.0 * pi)};
        examine(departure, brief, &brief[1], 1, &short_dips);
        examine(departure, lasting, &lasting[1], 1, &long_dips);
        examine(tangential, slow, NULL, 0, &without);
    }
    CHECK(short_dips.kept > 4000 && long_dips.kept == 0 && without.kept > 3000);
}

int main(void)
{
    test_waves();
    test_hyperbolas();
    test_departures();
    CHECK_DONE();
}
