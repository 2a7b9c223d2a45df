/* cg_bracket.c: the first sign change of one observed quantity inside a step; see cg_events.h.
 *
 * On a piece of the step the quantity is sampled at nine Chebyshev points and interpolated by a polynomial of degree 8;
 * if that is not accurate, the piece is halved. Mostly its coefficients prove that the sign does not change, or changes
 * once (cg_crossing.h). Otherwise the extrema of the polynomial, found from its successive derivatives, divide the piece
 * into monotonic parts, so that equal signs at both ends of a part mean there is no zero in it. Values that decide are
 * evaluated again on the interpolant of the step itself.
 */
#include "step/cg_internal.h"
#include "step/cg_step.h"

#include <string.h>

enum { DEGREE = CG_DEGREE, DEEPEST = 6 };

typedef struct cg_bracket {
    cg_run_t *run;
    int32_t index;
    double sign;   /* at `low`, or 0 */
    double low;    /* nothing happens up to here */
    double g_low;  /* the value there; 0 if the sign is known otherwise */
    double upto;
    double noise;  /* a value below this is zero */
    double known;  /* up to here it has this sign, whatever its value shows */
    double width;  /* accuracy of a root, as a fraction of the step */
    double root;   /* 2: none */
} cg_bracket_t;

/* ---- polynomials: c[0] T_0 + ... + c[8] T_8 on -1 .. 1, see cg_fit ---- */

static double cg_bracket_value(const double *c, int degree, double z)
{
    double b1 = 0.0, b2 = 0.0;
    for (int k = degree; k >= 1; k--) {
        const double b = c[k] + 2.0 * z * b1 - b2;
        b2 = b1;
        b1 = b;
    }
    return c[0] + z * b1 - b2;
}

static void cg_bracket_slope(const double *c, int degree, double *d)
{
    for (int k = degree; k >= 1; k--) {
        d[k - 1] = 2.0 * (double)k * c[k] + (k + 1 < degree ? d[k + 1] : 0.0);
    }
    d[0] *= 0.5;
}

/* A zero between lo and hi, where the polynomial has different signs: regula falsi (Illinois), with bisection when that
 * is slow. */
static double cg_bracket_zero(const double *c, int degree, double lo, double f_lo, double hi, double f_hi)
{
    cg_illinois_t ends = {lo, hi, f_lo, f_hi, 1.0, 1.0, 0};
    for (int trial = 0; trial < 80 && ends.hi - ends.lo > CG_EXTREMUM; trial++) {
        double z = cg_illinois_place(&ends);
        if (trial % 4 == 3 || !(z > ends.lo && z < ends.hi)) {
            z = 0.5 * (ends.lo + ends.hi);
        }
        const double f = cg_bracket_value(c, degree, z);
        if (f == 0.0) {
            return z;
        }
        cg_illinois_move(&ends, (f > 0.0) == (ends.g_lo > 0.0), z, f);
    }
    return 0.5 * (ends.lo + ends.hi);
}

/* The extrema inside -1 .. 1 in order; at most 7. Between zeros of its derivative a polynomial has at most one zero. */
static int cg_bracket_extrema(const double *c, double *found)
{
    double d[DEGREE + 1][DEGREE + 1];
    double ends[DEGREE + 2], zeros[DEGREE + 2];
    int n = 0;
    memcpy(d[0], c, sizeof d[0]);
    for (int level = 1; level < DEGREE; level++) {
        cg_bracket_slope(d[level - 1], DEGREE - level + 1, d[level]);
    }
    for (int level = DEGREE - 1; level >= 1; level--) {
        const int degree = DEGREE - level;
        int m = 0;
        ends[0] = -1.0;
        memcpy(ends + 1, zeros, sizeof(double) * (size_t)n);
        ends[n + 1] = 1.0;
        double f_lo = cg_bracket_value(d[level], degree, -1.0);
        for (int i = 0; i <= n; i++) {
            const double f_hi = cg_bracket_value(d[level], degree, ends[i + 1]);
            if ((f_lo > 0.0 && f_hi < 0.0) || (f_lo < 0.0 && f_hi > 0.0)) {
                found[m++] = cg_bracket_zero(d[level], degree, ends[i], f_lo, ends[i + 1], f_hi);
            } else if (f_hi == 0.0 && i < n) {
                found[m++] = ends[i + 1];
            }
            f_lo = f_hi;
        }
        n = m;
        memcpy(zeros, found, sizeof(double) * (size_t)n);
    }
    return n;
}

/* ---- the bracket ---- */

static int cg_bracket_sample(cg_bracket_t *bracket, double theta, double *value)
{
    cg_detector_t *const detector = bracket->run->detector;
    const int status = cg_detector_inside(bracket->run, theta, bracket->index, detector->values);
    *value = theta <= bracket->known ? copysign(detector->values[bracket->index], bracket->sign) : detector->values[bracket->index];
    return status;
}

/* The quantity has `bracket->sign` at bracket->low and the opposite sign, with the value g_high, at `high`. If the
 * value at the lower end does not show the sign, the interval is halved until one does. */
static int cg_bracket_close_in(cg_bracket_t *bracket, double high, double g_high)
{
    const double g_low = bracket->g_low * bracket->sign > 0.0 ? bracket->g_low : 0.0;
    cg_illinois_t ends = {bracket->low, high, g_low, g_high, 1.0, 1.0, 0};
    if (bracket->low == 0.0 && bracket->g_low * bracket->sign < -CG_SIDE * bracket->run->detector->scale[bracket->index]) {
        bracket->root = 0.0; /* an input has carried it over zero */
        return CG_OK;
    }
    bracket->root = high;
    for (int trial = 0; trial < 200 && ends.hi - ends.lo > bracket->width; trial++) {
        double theta = 0.5 * (ends.lo + ends.hi);
        double g;
        if (ends.g_lo != 0.0 && trial % 4 != 3) {
            const double least = 0.4 * bracket->width;
            theta = cg_larger(cg_smaller(cg_illinois_place(&ends), ends.hi - least), ends.lo + least);
        }
        if (!(theta > ends.lo && theta < ends.hi)) {
            break;
        }
        CG_TRY(cg_bracket_sample(bracket, theta, &g));
        if (g == 0.0 && ends.g_lo != 0.0) {
            bracket->root = theta;
            return CG_OK;
        }
        cg_illinois_move(&ends, g * bracket->sign >= -bracket->noise, theta, g);
    }
    bracket->root = ends.g_lo != 0.0 && fabs(ends.g_lo) < fabs(ends.g_hi) ? ends.lo : ends.hi;
    return CG_OK;
}

/* Whether the value g at theta shows a sign change before it. */
static int cg_bracket_meet(cg_bracket_t *bracket, double theta, double g)
{
    if (theta <= bracket->low || fabs(g) <= bracket->noise) {
        return CG_OK;
    }
    if (bracket->sign == 0.0) {
        bracket->sign = g > 0.0 ? 1.0 : -1.0;
    }
    if (g * bracket->sign < 0.0) {
        return cg_bracket_close_in(bracket, theta, g);
    }
    bracket->low = theta;
    bracket->g_low = g;
    return CG_OK;
}

/* Processes a piece with an accurate polynomial c, or one that must not be halved again: that of a quantity which jumps there
 * has extrema of its own. */
static int cg_bracket_follow(cg_bracket_t *bracket, double a, double b, const double *v, const double *c, double largest,
                             int accurate)
{
    double found[DEGREE + 2];
    const int n = cg_bracket_extrema(c, found);
    int status = CG_OK, next = 0;
    for (int j = 1; j <= DEGREE && status == CG_OK; j++) {
        const double node = a + (b - a) * cg_nodes[j];
        for (; next < n && found[next] < -cg_cosine[j]; next++) {
            const double theta = a + (b - a) * 0.5 * (1.0 + found[next]);
            double g = cg_bracket_value(c, DEGREE, found[next]);
            if (theta <= bracket->low || theta >= node) {
                continue;
            }
            if (!accurate || fabs(g) < CG_CLEAR * largest) {
                status = cg_bracket_sample(bracket, theta, &g);
            }
            if (status == CG_OK) {
                status = cg_bracket_meet(bracket, theta, g);
            }
            if (status != CG_OK || bracket->root <= 1.0) {
                return status;
            }
        }
        status = cg_bracket_meet(bracket, node, v[j]);
        if (bracket->root <= 1.0) {
            return status;
        }
    }
    if (status == CG_OK && b == 1.0 && v[DEGREE] == 0.0 && bracket->sign != 0.0) {
        /* zero exactly at the end of the step: the slope decides whether it crosses */
        double slope = 0.0;
        for (int k = 1; k <= DEGREE; k++) {
            slope += (double)(k * k) * c[k];
        }
        bracket->root = slope * bracket->sign < 0.0 && fabs(slope) > CG_CLEAR * largest ? 1.0 : 2.0;
    }
    return status;
}

/* The only sign change in a piece, from the polynomial through its samples; the value there corrects it. */
static int cg_bracket_only(cg_bracket_t *bracket, double a, double b, const double *v, const double *c)
{
    cg_mask_t settled;
    double slope, g;
    int j = 1;
    const double theta = a + (b - a) * cg_crossing_root(v, c, bracket->sign, &settled, &slope);
    if (settled) {
        const int status = cg_bracket_sample(bracket, theta, &g);
        const double move = -g * (b - a) / slope;
        if (status != CG_OK || fabs(move) <= CG_CORRECTED) {
            bracket->root = cg_smaller(theta + move, b);
            return status;
        }
    }
    while (j < DEGREE && v[j] * bracket->sign > 0.0) {
        j++;
    }
    bracket->low = a + (b - a) * cg_nodes[j - 1];
    bracket->g_low = v[j - 1];
    return cg_bracket_close_in(bracket, a + (b - a) * cg_nodes[j], v[j]);
}

static int cg_bracket_piece(cg_bracket_t *bracket, double a, double b, const double *v, int depth)
{
    double c[CG_NODES], largest = 0.0;
    if (b <= bracket->low || a > bracket->upto) {
        return CG_OK;
    }
    cg_fit(v, c);
    for (int k = 0; k <= DEGREE; k++) {
        largest = cg_larger(largest, fabs(c[k]));
    }
    const int begins = bracket->low <= a;
    const double sign = bracket->sign != 0.0 ? bracket->sign : c[0] > 0.0 ? 1.0 : -1.0;
    const cg_crossing_t crossing = cg_crossings_shown(v, c, begins ? sign : -sign);
    const int certain = fabs(v[0]) > CG_CLEAR * largest; /* the sign before it */
    if (begins ? crossing.none && (certain || bracket->sign != 0.0) : crossing.one && certain) {
        bracket->sign = sign;
        bracket->low = b;
        bracket->g_low = v[DEGREE];
        return CG_OK;
    }
    if (begins && crossing.one && bracket->sign != 0.0) {
        return cg_bracket_only(bracket, a, b, v, c);
    }
    const int accurate = !(fabs(c[DEGREE]) + fabs(c[DEGREE - 1]) > CG_FOLLOWED * largest);
    if (depth < DEEPEST && !accurate) {
        const double ends[3] = {a, a + 0.5 * (b - a), b};
        for (int half = 0; half < 2; half++) {
            double w[CG_NODES];
            w[0] = v[half * DEGREE / 2];
            w[DEGREE] = v[(half + 1) * DEGREE / 2];
            for (int j = 1; j < DEGREE && ends[half + 1] > bracket->low && ends[half] <= bracket->upto; j++) {
                CG_TRY(cg_bracket_sample(bracket, ends[half] + (ends[half + 1] - ends[half]) * cg_nodes[j], &w[j]));
            }
            const int status = ends[half + 1] > bracket->low && ends[half] <= bracket->upto
                ? cg_bracket_piece(bracket, ends[half], ends[half + 1], w, depth + 1) : CG_OK;
            if (status != CG_OK || bracket->root <= 1.0) {
                return status;
            }
        }
        return CG_OK;
    }
    return cg_bracket_follow(bracket, a, b, v, c, largest, accurate);
}

/* The part of the step in which the sign of a guard is a rounding error, since it jumps over zero where the last instant was. */
static double cg_bracket_beside_jump(const cg_run_t *run, int32_t index)
{
    const cg_detector_t *const detector = run->detector;
    if (index >= run->model->n_events || !(detector->noise[index] < 0.0)) {
        return -1.0;
    }
    const double since = fabs(cg_time_span(detector->memory.t_event, cg_time_outside(run, run->t_old)));
    return (-detector->noise[index] - since) / fabs(run->t - run->t_old);
}

int cg_bracket_find(cg_run_t *run, int32_t index, double upto)
{
    cg_detector_t *const detector = run->detector;
    const double length = fabs(run->t - run->t_old);
    double v[CG_NODES];
    cg_bracket_t bracket;
    memset(&bracket, 0, sizeof bracket);
    bracket.run = run;
    bracket.index = index;
    bracket.sign = detector->sign_new[index];
    bracket.low = detector->cursor[index];
    bracket.upto = upto;
    bracket.width = 2.0 * DBL_EPSILON * (1.0 + fabs(run->t) / length);
    bracket.root = 2.0;
    bracket.known = bracket.sign != 0.0 ? cg_bracket_beside_jump(run, index) : -1.0;
    for (int j = 0; j < CG_NODES; j++) {
        v[j] = detector->samples[(ptrdiff_t)j * detector->n_observed + index];
        v[j] = cg_nodes[j] <= bracket.known ? copysign(v[j], bracket.sign) : v[j];
    }
    if (detector->cursor[index] == 0.0) {
        bracket.g_low = v[0];
    }
    if (index < detector->n_guards && fabs(v[0]) <= detector->noise[index]) {
        bracket.noise = detector->noise[index]; /* it leaves zero: what it is there are rounding errors */
    }
    if (bracket.g_low * bracket.sign < 0.0 && fabs(v[0]) <= CG_SIDE * detector->scale[index]) {
        bracket.noise = cg_larger(bracket.noise, fabs(v[0])); /* it has just crossed, but for an error of the time */
    }
    const int status = cg_bracket_piece(&bracket, 0.0, 1.0, v, 0);
    detector->root[index] = bracket.root;
    detector->sign_new[index] = bracket.sign;
    return status;
}
