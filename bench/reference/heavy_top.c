/* heavy_top.c: a rigid body with a fixed point, in the quaternion (scalar first) and the body rates. */
#include "lanes.h"

#define N 7
#define READ N
#define OPERATIONS 54
#define GROUPS 2

/* Rates over a step h; they are linear in h, and so are the constants. */
typedef struct {
    real_t h;
    real_t gyro[3];     /* (I2 - I3)/I1 and cyclic */
    real_t weight[3][3]; /* weight[i][j]: rate of w_i per component j of the vertical */
} scaled_t;

typedef struct {
    double gyro[3], weight[3][3];
} constants_t;

/* parameters: I1, I2, I3, m, g, r1, r2, r3 */
static constants_t prepare(const double *p)
{
    const double *const inertia = p, *const r = p + 5, mg = p[3] * p[4];
    constants_t c = {{0}, {{0}}};
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        c.gyro[i] = (inertia[j] - inertia[k]) / inertia[i];
        c.weight[i][j] = mg * r[k] / inertia[i];
        c.weight[i][k] = -mg * r[j] / inertia[i];
    }
    return c;
}

static INLINE scaled_t scale(const constants_t *c, real_t h)
{
    scaled_t scaled;
    scaled.h = 0.5 * h;
    for (int i = 0; i < 3; i++) {
        scaled.gyro[i] = 2.0 * c->gyro[i] + (real_t){0.0};
        for (int j = 0; j < 3; j++) {
            scaled.weight[i][j] = c->weight[i][j] * h * (j == 2 ? 1.0 : 2.0);
        }
    }
    return scaled;
}

static INLINE void increment(const scaled_t *c, const real_t y[N], real_t out[N])
{
    const real_t q0 = y[0], q1 = y[1], q2 = y[2], q3 = y[3], w1 = y[4], w2 = y[5], w3 = y[6];
    const real_t h1 = c->h * w1, h2 = c->h * w2, h3 = c->h * w3;
    out[0] = -q1 * h1 - q2 * h2 - q3 * h3;
    out[1] = q0 * h1 + q2 * h3 - q3 * h2;
    out[2] = q0 * h2 + q3 * h1 - q1 * h3;
    out[3] = q0 * h3 + q1 * h2 - q2 * h1;
    /* the vertical in body axes; the factor 2 of the first two is in `weight` */
    const real_t up1 = q1 * q3 - q0 * q2, up2 = q2 * q3 + q0 * q1, up3 = q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3;
    out[4] = c->gyro[0] * (w2 * h3) + (c->weight[0][1] * up2 + c->weight[0][2] * up3);
    out[5] = c->gyro[1] * (w3 * h1) + (c->weight[1][2] * up3 + c->weight[1][0] * up1);
    out[6] = c->gyro[2] * (w1 * h2) + (c->weight[2][0] * up1 + c->weight[2][1] * up2);
}

#include "vern9.h"
#include "rk4.h"
#include "single.h"
