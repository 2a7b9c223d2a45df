/* five_links.c: five equal point masses on equal rods, hanging from a fixed point: angles from the vertical, rates.
 *
 * The tensions, divided by mass and length, solve a tridiagonal system, which is eliminated from both ends towards the
 * middle rod; the rates follow from the tensions.
 */
#include "lanes.h"

#define N 10
#define READ N
#define OPERATIONS (71 + 5 * SINE_AND_COSINE)
#define GROUPS 1

typedef struct {
    double weight; /* g/l */
} constants_t;

/* parameters: m, l, g */
static constants_t prepare(const double *p)
{
    return (constants_t){p[2] / p[1]};
}

typedef struct {
    real_t h, weight;
} scaled_t;

static INLINE scaled_t scale(const constants_t *c, real_t h)
{
    return (scaled_t){h, c->weight * h};
}

static INLINE void increment(const scaled_t *scaled, const real_t y[N], real_t out[N])
{
    real_t sine, cosine, s[4], c[4], r[5]; /* s, c: of the angle from a rod to the next */
    sine_and_cosine(y[0], &sine, &cosine);
    for (int i = 0; i < 4; i++) {
        sine_and_cosine(y[i + 1] - y[i], &s[i], &c[i]);
    }
    for (int i = 0; i < 5; i++) {
        out[i] = scaled->h * y[i + 5];
        r[i] = out[i] * y[i + 5];
    }
    r[0] += scaled->weight * cosine;
    /* rods 1 and 2 and rods 5 and 4 eliminated: pivots of 2 and 4, then that of 3, inverted by one division */
    const real_t top = 2.0 - c[0] * c[0], bottom = 4.0 - c[3] * c[3];
    const real_t top_right = r[1] + c[0] * r[0], bottom_right = 2.0 * r[3] + c[3] * r[4];
    const real_t up = c[1] * bottom, down = c[2] * top;
    const real_t both = top * bottom;
    const real_t pivot = 2.0 * both - c[1] * up - (2.0 * c[2]) * down;
    const real_t inverse = 1.0 / (both * pivot);
    const real_t of_pivot = inverse * both, rest = inverse * pivot;
    const real_t t3 = of_pivot * (both * r[2] + up * top_right + down * bottom_right);
    const real_t t2 = (rest * bottom) * (top_right + c[1] * t3);
    const real_t t4 = (rest * top) * (bottom_right + (2.0 * c[2]) * t3);
    const real_t t1 = r[0] + c[0] * t2, t5 = 0.5 * r[4] + 0.5 * c[3] * t4;
    out[5] = s[0] * t2 - scaled->weight * sine;
    out[6] = s[1] * t3 - s[0] * t1;
    out[7] = s[2] * t4 - s[1] * t2;
    out[8] = s[3] * t5 - s[2] * t3;
    out[9] = -s[3] * t4;
}

#include "vern9.h"
#include "rk4.h"
#include "single.h"
