/* chaplygin_sleigh.c: a body on a blade: its direction, the blade point x, y, the rate of turn, the speed. */
#include "lanes.h"

#define N 5
#define READ 3 /* not x and y */
#define OPERATIONS (12 + SINE_AND_COSINE)
#define GROUPS 2

typedef struct {
    double a, b, turn; /* turn: a/(a^2 + k^2) */
} constants_t;

/* parameters: a, b, k */
static constants_t prepare(const double *p)
{
    return (constants_t){p[0], p[1], p[0] / (p[0] * p[0] + p[2] * p[2])};
}

typedef struct {
    constants_t constants;
    real_t h;
} scaled_t;

static INLINE scaled_t scale(const constants_t *c, real_t h)
{
    return (scaled_t){*c, h};
}

static INLINE void increment(const scaled_t *scaled, const real_t y[N], real_t out[N])
{
    const constants_t *const c = &scaled->constants;
    const real_t omega = y[3], v = y[4], turned = scaled->h * omega, path = scaled->h * v;
    real_t sine, cosine;
    sine_and_cosine(y[0], &sine, &cosine);
    out[0] = turned;
    out[1] = path * cosine;
    out[2] = path * sine;
    out[3] = (c->turn * turned) * (c->b * omega - v);
    out[4] = (c->a * omega) * turned + c->b * out[3];
}

#include "vern9.h"
#include "rk4.h"
#include "single.h"
