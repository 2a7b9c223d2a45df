/* rk4.h: the classical Runge-Kutta method of order 4 with fixed steps, in GROUPS groups of lanes that go through each
 * stage together: while one waits for its results the other computes.
 *
 * Included after N, GROUPS, READ (how many states the right-hand side reads), OPERATIONS (its additions,
 * multiplications and divisions), constants_t, prepare, scaled_t, scale and increment.
 */
static INLINE void step(const scaled_t *scaled, real_t y[GROUPS][N])
{
    static const double ahead[4] = {0.5, 0.5, 1.0, 0.0}, weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    real_t stage[GROUPS][N], end[GROUPS][N];
    for (int g = 0; g < GROUPS; g++) {
        copy(y[g], stage[g], N);
        copy(y[g], end[g], N);
    }
#pragma GCC unroll 4
    for (int s = 0; s < 4; s++) {
        real_t k[GROUPS][N];
        for (int g = 0; g < GROUPS; g++) {
            increment(scaled, stage[g], k[g]);
        }
        for (int g = 0; g < GROUPS; g++) {
            for (int i = 0; i < N; i++) {
                stage[g][i] = y[g][i] + ahead[s] * k[g][i];
                end[g][i] += weight[s] * k[g][i];
            }
        }
    }
    for (int g = 0; g < GROUPS; g++) {
        copy(end[g], y[g], N);
    }
}

long reference_rk4(long runs, long steps, double t_end, const double *parameters, const double *start, double *end);

/* Takes all trajectories from start[i][run] to end[i][run] in steps of t_end/steps. Returns the number of additions,
 * multiplications and divisions. */
long reference_rk4(long runs, long steps, double t_end, const double *parameters, const double *start, double *end)
{
    const constants_t constants = prepare(parameters);
    const scaled_t scaled = scale(&constants, splat(t_end / (double)steps));
    for (long first = 0; first < runs; first += GROUPS * LANES) {
        const long count = runs - first < GROUPS * LANES ? runs - first : GROUPS * LANES;
        real_t y[GROUPS][N];
        for (long place = 0; place < GROUPS * LANES; place++) {
            for (int i = 0; i < N; i++) {
                y[place / LANES][i][place % LANES] = start[i * runs + first + (place < count ? place : 0)];
            }
        }
        for (long s = 0; s < steps; s++) {
            step(&scaled, y);
        }
        for (long place = 0; place < count; place++) {
            for (int i = 0; i < N; i++) {
                end[i * runs + first + place] = y[place / LANES][i][place % LANES];
            }
        }
    }
    return runs * steps * (4 * OPERATIONS + 5 * READ + 8 * N);
}
