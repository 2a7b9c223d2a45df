/* vern9.h: Verner's pair of orders 9 and 8 in lanes. Each lane has its own step size, and takes the next trajectory as
 * soon as its own has ended.
 *
 * Included after N (the number of states), constants_t, prepare, scaled_t, scale and increment.
 * Source: J. H. Verner, Numerically optimal Runge-Kutta pairs with interpolants, Numerical Algorithms 53 (2010)
 * 383-396.
 */
#define STAGES 16

static const double stage_weights[STAGES][STAGES] = {
    {0},
    {0.03462},
    {-0.038933543885728734, 0.13595789452450918},
    {0.03638413148954267, 0, 0.109152394468628},
    {2.02576391439397, 0, -7.638023836496292, 6.173259922102322},
    {0.05112275589406061, 0, 0, 0.17708237945550215, 0.0008027762409222502},
    {0.13160063579752163, 0, 0, -0.29572762526696367, 0.08781378035642952, 0.6213052975225275},
    {0.07166666666666667, 0, 0, 0, 0, 0.33055335789153195, 0.24277997544180138},
    {0.071806640625, 0, 0, 0, 0, 0.3294380283228177, 0.11651900292718229, -0.034013671875},
    {0.04836757646340647, 0, 0, 0, 0, 0.03928989925676164, 0.10547409458903446, -0.021438652846483126,
        -0.10412291746271944},
    {-0.026645614872014785, 0, 0, 0, 0, 0.03333333333333333, -0.1631072244872467, 0.033960816841277615,
        0.1572319413814626, 0.21522674780318796},
    {0.036890092487086225, 0, 0, 0, 0, -0.1465181576725543, 0.22425777681720244, 0.022944057170660725,
        -0.003585005290572876, 0.08669223316444385, 0.43838406519683376},
    {-0.48660122151133406, 0, 0, 0, 0, -6.304602650282853, -0.2812456182894726, -2.6790192362198493,
        0.5188156639241576, 1.3653531876033418, 5.8850910885039465, 2.8028087862720628},
    {0.41853674577534716, 0, 0, 0, 0, 6.724547581906459, -0.4254442801646118, 3.3432791530012658,
        0.6170816631175378, -0.9299661239399328, -6.099948804751011, -3.002206187889399, 0.2553202529443446},
    {-0.7793740861228846, 0, 0, 0, 0, -13.937342538107776, 1.2520488533793572, -14.69150040801687,
        -0.4947050585331417, 2.2429749091462368, 13.367893803828643, 14.396650486650687, -0.79758133317768,
        0.4409353709534278},
    {2.0580513374668863, 0, 0, 0, 0, 22.357937727968032, 0.9094981099755634, 35.89110098240264,
        -3.4425150276244536, -4.8654813580363685, -18.909803813543427, -34.26354448030452, 1.2647565216956427},
};
static const double weights[STAGES] = {0.014611976858423152, 0, 0, 0, 0, 0, 0, -0.3915211862331339, 0.23109325002895065,
    0.12747667699928525, 0.2246434176204158, 0.5684352689748513, 0.058258715572158275, 0.13643174034822156,
    0.030570139830827976};
static const double error_weights[STAGES] = {-0.005357988290444578, 0, 0, 0, 0, 0, 0, -2.583020491182464,
    0.14252253154686625, 0.013420653512688676, -0.028672962914094935, 2.624999655215792, -0.2825509643291537,
    0.13643174034822156, 0.030570139830827976, -0.048342313738239585};

/* Later derivatives take the places of those that are not needed any more, so that fewer cache lines are in use. */
static const int slot[STAGES] = {0, 1, 2, 1, 3, 4, 5, 2, 1, 3, 6, 7, 8, 9, 10, 11};
#define SLOTS 12

/* Step control: h_new = h SAFETY error^-EXPONENT, within bounds. */
#define SAFETY 0.75
#define EXPONENT 0.11
#define SHRINK 0.2
#define GROW 5.0

typedef struct {
    real_t y[N];
    real_t left;   /* time to the end */
    real_t wanted; /* length of the next step; a new trajectory starts with the last length of the one before */
    long run[LANES]; /* the trajectory in each lane, -1: none */
} lanes_t;

typedef struct {
    long runs, next; /* trajectories in all, and the next one to start */
    const double *start;
    double *end;
    double t_end;
} queue_t;

/* Stores the lane's trajectory, if it has one, and loads the next. Returns how many lanes became idle. */
static int serve(queue_t *queue, lanes_t *lanes, int lane)
{
    const long done = lanes->run[lane];
    if (done >= 0) {
        for (int i = 0; i < N; i++) {
            queue->end[i * queue->runs + done] = lanes->y[i][lane];
        }
    }
    if (queue->next >= queue->runs) {
        lanes->run[lane] = -1;
        lanes->left[lane] = INFINITY; /* goes on, unused, until all have ended */
        return 1;
    }
    const long fresh = queue->next++;
    lanes->run[lane] = fresh;
    for (int i = 0; i < N; i++) {
        lanes->y[i][lane] = queue->start[i * queue->runs + fresh];
    }
    lanes->left[lane] = queue->t_end;
    return 0;
}

/* out[i] += sum of a[j] k[j][i]; loops and zeros disappear when the compiler unrolls. */
static INLINE void add(const double *a, real_t k[SLOTS][N], int count, real_t out[N])
{
#pragma GCC unroll 16
    for (int j = 0; j < count; j++) {
        if (a[j] != 0.0) {
            const real_t weight = kept(a[j]);
#pragma GCC unroll 10
            for (int i = 0; i < N; i++) {
                out[i] += weight * k[slot[j]][i];
            }
        }
    }
}

/* One trial step of length h from y to `end`; returns the square of the error in units of the tolerance, by the norms
 * of the error and of the state. */
static INLINE real_t trial(const constants_t *constants, const real_t y[N], real_t h, double tolerance, real_t end[N])
{
    const scaled_t scaled = scale(constants, h);
    real_t k[SLOTS][N], error[N], size = splat(1.0), squares = splat(0.0);
    increment(&scaled, y, k[0]);
#pragma GCC unroll 16
    for (int s = 1; s < STAGES; s++) {
        real_t stage[N];
        copy(y, stage, N);
        add(stage_weights[s], k, s, stage);
        increment(&scaled, stage, k[slot[s]]);
    }
    copy(y, end, N);
    add(weights, k, STAGES, end);
    for (int i = 0; i < N; i++) {
        error[i] = splat(0.0);
    }
    add(error_weights, k, STAGES, error);
    for (int i = 0; i < N; i++) {
        size += (1.0 / N) * end[i] * end[i];
        squares += error[i] * error[i];
    }
    return squares * (1.0 / (N * tolerance * tolerance)) / size;
}

long reference_vern9(long runs, double t_end, double tolerance, const double *parameters, const double *start,
                     double *end, long *rejected);

/* Integrates from start[i][run] over t_end to end[i][run]. Returns the number of accepted steps. */
long reference_vern9(long runs, double t_end, double tolerance, const double *parameters, const double *start,
                     double *end, long *rejected)
{
    const constants_t constants = prepare(parameters);
    queue_t queue = {.runs = runs, .start = start, .end = end, .t_end = t_end};
    lanes_t lanes = {.wanted = splat(0.01 * t_end)};
    bits_t n_accepted = {0}, n_trials = {0};
    int idle = 0;
    for (int lane = 0; lane < LANES; lane++) {
        lanes.run[lane] = -1;
        for (int i = 0; i < N; i++) {
            lanes.y[i][lane] = start[i * runs];
        }
        idle += serve(&queue, &lanes, lane);
    }
    while (idle < LANES) {
        const bits_t last = lanes.left <= lanes.wanted, busy = lanes.left < INFINITY;
        const real_t half = where(lanes.left < 2.0 * lanes.wanted, 0.5 * lanes.left, lanes.wanted);
        const real_t h = where(last, lanes.left, half);
        real_t y[N];
        const real_t squares = trial(&constants, lanes.y, h, tolerance, y);
        const bits_t accepted = squares <= 1.0, ended = last & accepted;
        const real_t factor = SAFETY * rough_exp2((-0.5 * EXPONENT) * rough_log2(squares));
        lanes.wanted = where(ended, lanes.wanted, h * larger(splat(SHRINK), smaller(splat(GROW), factor)));
        lanes.left = where(accepted, lanes.left - h, lanes.left);
        for (int i = 0; i < N; i++) {
            lanes.y[i] = where(accepted, y[i], lanes.y[i]);
        }
        for (int lane = 0; lane < LANES && any(ended); lane++) {
            if (ended[lane]) {
                idle += serve(&queue, &lanes, lane);
            }
        }
        n_accepted -= accepted & busy;
        n_trials -= busy;
    }
    *rejected = sum(n_trials - n_accepted);
    return sum(n_accepted);
}
