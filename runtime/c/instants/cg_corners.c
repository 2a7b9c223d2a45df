/* cg_corners.c: where the expressions that are observed along a step have corners and jumps; see cg_corners.h. */
#include "cg_corners.h"
#include "step/cg_internal.h"

#include <math.h>

enum { CG_DEEPEST_CORNER = 10, CG_MOST_CLOSING = 100 };

/* Samples for one guard in one step. A guard that is zero but for rounding errors would need thousands. */
enum { CG_MOST_SAMPLES = 512 };

/* A cut is no wider than this part of the step, of which half is what it can cost an integral over a jump. */
#define CG_CUT_WIDTH 1.4210854715202004e-14 /* 2^-46 */

static void cg_corners_cut(cg_cuts_t *cuts, double lo, double hi)
{
    if (cuts->n < CG_MOST_CUTS) {
        cuts->lo[cuts->n] = lo > 0.0 ? lo : 0.0;
        cuts->hi[cuts->n++] = hi < 1.0 ? hi : 1.0;
    }
}

/* The place nearest to a zero at theta, in the direction of `limit`, where the guard has a sign, or the sign given: it can
 * be zero in an interval, by rounding. */
static int cg_corners_beside(const cg_guard_t *guard, double theta, double limit, double sign, double *found)
{
    const double way = limit > theta ? 1.0 : -1.0;
    *found = limit;
    for (double distance = 0.5 * CG_CUT_WIDTH; distance < fabs(limit - theta); distance *= 4.0) {
        double g;
        CG_TRY(guard->value(guard->context, theta + way * distance, &g));
        if (sign != 0.0 ? g * sign > 0.0 : g != 0.0) {
            *found = theta + way * distance;
            return CG_OK;
        }
    }
    return CG_OK;
}

/* Cuts around a zero at theta; the guard has signs at lo and hi, or they bound the search. */
static int cg_corners_zero(cg_cuts_t *cuts, const cg_guard_t *guard, double theta, double lo, double g_lo, double hi,
                           double g_hi)
{
    int status = cg_corners_beside(guard, theta, lo, g_lo, &lo);
    status = status == CG_OK ? cg_corners_beside(guard, theta, hi, g_hi, &hi) : status;
    cg_corners_cut(cuts, lo, hi);
    return status;
}

/* Cuts where the guard changes sign between lo and hi: false position (Illinois), with bisection when that is slow. */
static int cg_corners_close(cg_cuts_t *cuts, const cg_guard_t *guard, double lo, double g_lo, double hi, double g_hi)
{
    const double least = 0.4 * CG_CUT_WIDTH;
    cg_illinois_t ends = {lo, hi, g_lo, g_hi, 1.0, 1.0, 0};
    for (int trial = 0; trial < CG_MOST_CLOSING && ends.hi - ends.lo > CG_CUT_WIDTH; trial++) {
        double theta = trial % 4 != 3 ? cg_illinois_place(&ends) : 0.5 * (ends.lo + ends.hi), g;
        theta = theta < ends.lo + least ? ends.lo + least : theta > ends.hi - least ? ends.hi - least : theta;
        if (!(theta > ends.lo && theta < ends.hi)) {
            theta = 0.5 * (ends.lo + ends.hi);
        }
        CG_TRY(guard->value(guard->context, theta, &g));
        if (g == 0.0 || g != g) {
            return cg_corners_zero(cuts, guard, theta, ends.lo, ends.g_lo, ends.hi, ends.g_hi);
        }
        cg_illinois_move(&ends, (g > 0.0) == (ends.g_lo > 0.0), theta, g);
    }
    cg_corners_cut(cuts, ends.lo, ends.hi);
    return CG_OK;
}

/* Cuts where the guard, which has the sign of `sign` at `other` and is zero at `zero`, begins to have it. */
static int cg_corners_edge(cg_cuts_t *cuts, const cg_guard_t *guard, double other, double sign, double zero)
{
    while (fabs(zero - other) > CG_CUT_WIDTH) {
        const double middle = 0.5 * (zero + other);
        double g;
        CG_TRY(guard->value(guard->context, middle, &g));
        *(g * sign > 0.0 ? &other : &zero) = middle;
    }
    cg_corners_cut(cuts, fmin(zero, other), fmax(zero, other));
    return CG_OK;
}

/* Whether the guard is zero in an interval, rather than at theta alone: it is at the other neighbour, as far as `from`. */
static int cg_corners_rests(const cg_guard_t *guard, double theta, double from, int *rests)
{
    const double other = theta + (theta - from);
    double g = 1.0;
    const int status = other >= 0.0 && other <= 1.0 ? guard->value(guard->context, other, &g) : CG_OK;
    *rests = g == 0.0;
    return status;
}

/* Cuts at a sample, at theta, that is zero; lo and hi are its neighbours in the piece, or itself. */
static int cg_corners_at(cg_cuts_t *cuts, const cg_guard_t *guard, double theta, double lo, double g_lo, double hi,
                         double g_hi)
{
    const double other = g_lo != 0.0 ? lo : hi;
    int rests = g_lo == 0.0 || g_hi == 0.0;
    if (lo == theta || hi == theta) {
        CG_TRY(cg_corners_rests(guard, theta, other, &rests));
    }
    return rests ? cg_corners_edge(cuts, guard, other, g_lo != 0.0 ? g_lo : g_hi, theta)
                 : cg_corners_zero(cuts, guard, theta, lo, g_lo, hi, g_hi);
}

/* The sign changes between neighbouring samples, and the samples that are zero at the edge of a side. */
static int cg_corners_samples(cg_cuts_t *cuts, const cg_guard_t *guard, double a, double b, const double *v)
{
    int status = CG_OK;
    for (int j = 0; j <= CG_DEGREE && status == CG_OK; j++) {
        const int32_t left = j > 0 ? j - 1 : 0, right = j < CG_DEGREE ? j + 1 : j;
        const double here = a + (b - a) * cg_nodes[j], from = a + (b - a) * cg_nodes[left];
        if (v[j] == 0.0 && (v[left] != 0.0 || v[right] != 0.0)) {
            status = cg_corners_at(cuts, guard, here, from, v[left], a + (b - a) * cg_nodes[right], v[right]);
        }
        if ((v[left] > 0.0 && v[j] < 0.0) || (v[left] < 0.0 && v[j] > 0.0)) {
            status = cg_corners_close(cuts, guard, from, v[left], here, v[j]);
        }
    }
    return status;
}

/* The sign changes between a and b, where the samples are v; *left: samples that may still be taken. */
static int cg_corners_piece(cg_cuts_t *cuts, const cg_guard_t *guard, double a, double b, const double *v, int depth, int *left)
{
    double c[CG_NODES];
    int zeros = 0, known = 1;
    for (int j = 0; j <= CG_DEGREE; j++) {
        zeros += v[j] == 0.0;
        known = known && v[j] == v[j];
    }
    if (zeros == CG_NODES) { /* it rests on the corner */
        return CG_OK;
    }
    if (known && v[0] != 0.0 && v[CG_DEGREE] != 0.0) {
        cg_fit(v, c);
        const cg_crossing_t crossing = cg_crossings_shown(v, c, v[0] > 0.0 ? 1.0 : -1.0);
        if (crossing.none) {
            return CG_OK;
        }
        if (crossing.one) {
            return cg_corners_samples(cuts, guard, a, b, v);
        }
    }
    if (!known || depth == CG_DEEPEST_CORNER || *left <= 0) {
        return cg_corners_samples(cuts, guard, a, b, v);
    }
    const double middle = a + 0.5 * (b - a);
    for (int half = 0; half < 2; half++) {
        const double from = half == 0 ? a : middle, to = half == 0 ? middle : b;
        double w[CG_NODES];
        w[0] = v[half * CG_DEGREE / 2];
        w[CG_DEGREE] = v[(half + 1) * CG_DEGREE / 2];
        *left -= CG_DEGREE - 1;
        for (int j = 1; j < CG_DEGREE; j++) {
            CG_TRY(guard->value(guard->context, from + (to - from) * cg_nodes[j], &w[j]));
        }
        CG_TRY(cg_corners_piece(cuts, guard, from, to, w, depth + 1, left));
    }
    return CG_OK;
}

int cg_corners_add(cg_cuts_t *cuts, const cg_guard_t *guard, double first, double last)
{
    double v[CG_NODES];
    int left = CG_MOST_SAMPLES;
    v[0] = first;
    v[CG_DEGREE] = last;
    for (int j = 1; j < CG_DEGREE; j++) {
        CG_TRY(guard->value(guard->context, cg_nodes[j], &v[j]));
    }
    return cg_corners_piece(cuts, guard, 0.0, 1.0, v, 0, &left);
}

void cg_corners_order(cg_cuts_t *cuts)
{
    for (int32_t i = 1; i < cuts->n; i++) {
        const double lo = cuts->lo[i], hi = cuts->hi[i];
        int32_t j = i;
        for (; j > 0 && cuts->lo[j - 1] > lo; j--) {
            cuts->lo[j] = cuts->lo[j - 1];
            cuts->hi[j] = cuts->hi[j - 1];
        }
        cuts->lo[j] = lo;
        cuts->hi[j] = hi;
    }
    int32_t n = 0;
    for (int32_t i = 0; i < cuts->n; i++) {
        if (n > 0 && cuts->lo[i] <= cuts->hi[n - 1] + CG_CUT_WIDTH) {
            cuts->hi[n - 1] = cuts->hi[i] > cuts->hi[n - 1] ? cuts->hi[i] : cuts->hi[n - 1];
        } else {
            cuts->lo[n] = cuts->lo[i];
            cuts->hi[n++] = cuts->hi[i];
        }
    }
    cuts->n = n;
}
