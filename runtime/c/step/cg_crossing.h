/* cg_crossing.h: what the samples of a step tell about the sign changes of one quantity, for one trajectory or for lanes.
 *
 * The samples are at the nine Chebyshev points of the step, and p is the polynomial of degree 8 through them. In
 * Bernstein's form p = sum b_k C(8,k) s^k (1 - s)^(8-k), it has no more zeros in 0 < s < 1 than its coefficients have
 * sign changes, and as many up to an even number (rule of signs, G. Polya, I. J. Schoenberg, Pacific J. Math. 8 (1958)
 * 295-334). So no change means no zero, and one change exactly one, with all coefficients but one at a distance from zero
 * of CG_CLEAR of the largest and of CG_CLEAR / CG_FOLLOWED = 1000 times the last two Chebyshev coefficients: these are
 * the size of what p leaves out of a smooth quantity. This is as far as p is trusted; see cg_events.h. b_0 counts only for
 * the sign that is known already: just after an event it is zero.
 */
#ifndef CG_CROSSING_H
#define CG_CROSSING_H

#include "cg_precision.h"
#include "cg_real.h"

enum { CG_NODES = 9, CG_DEGREE = CG_NODES - 1, CG_NEWTON = 4 };

/* cos(k pi / 8): the samples are at -cg_cosine[j] on -1 .. 1 */
static const double cg_cosine[CG_NODES] = {
    1.0, 0.92387953251128675613, 0.70710678118654752440, 0.38268343236508977173, 0.0, -0.38268343236508977173,
    -0.70710678118654752440, -0.92387953251128675613, -1.0};

/* (1 - cos(j pi / 8)) / 2: the same as fractions of the step */
static const double cg_nodes[CG_NODES] = {0.0, 0.038060233744356621935, 0.14644660940672623780, 0.30865828381745511413, 0.5,
                                   0.69134171618254488587, 0.85355339059327376220, 0.96193976625564337806, 1.0};

typedef struct cg_crossing {
    cg_mask_t none; /* the sign does not change between the first sample and the last */
    cg_mask_t one;  /* it changes once */
    cg_mask_t kept; /* it does not change between the second sample and the last */
} cg_crossing_t;

/* p = c[0] T_0 + ... + c[8] T_8 on -1 .. 1 through the samples v: c[k] is the sum over all samples of
 * v[8 - j] cos(j k pi / 8) / 4, halved at both ends and for k = 0 and 8. Cosines of multiples of pi/8 are +-A, B, R, 0, 1. */
static CG_INLINE void cg_fit(const cg_real_t *v, cg_real_t *c)
{
    const double A = cg_cosine[1], R = cg_cosine[2], B = cg_cosine[3];
    const cg_real_t sum0 = 0.125 * (v[8] + v[0]), sum1 = 0.25 * (v[7] + v[1]), sum2 = 0.25 * (v[6] + v[2]);
    const cg_real_t sum3 = 0.25 * (v[5] + v[3]), sum4 = 0.25 * v[4];
    const cg_real_t odd0 = 0.125 * (v[8] - v[0]), odd1 = 0.25 * (v[7] - v[1]), odd2 = 0.25 * (v[6] - v[2]);
    const cg_real_t odd3 = 0.25 * (v[5] - v[3]);
    const cg_real_t outer = sum0 + sum4, middle = sum1 + sum3, split = R * (sum1 - sum3), twist = R * odd2;
    c[0] = 0.5 * ((outer + sum2) + middle);
    c[8] = 0.5 * ((outer + sum2) - middle);
    c[4] = outer - sum2;
    c[2] = (sum0 - sum4) + split;
    c[6] = (sum0 - sum4) - split;
    c[1] = (odd0 + twist) + (A * odd1 + B * odd3);
    c[7] = (odd0 + twist) - (A * odd1 + B * odd3);
    c[3] = (odd0 - twist) + (B * odd1 - A * odd3);
    c[5] = (odd0 - twist) - (B * odd1 - A * odd3);
}

/* Bernstein's coefficients of the same polynomial: sums and differences of b_k and b_(8-k) depend on those of samples. */
static CG_INLINE void cg_bernstein(const cg_real_t *v, cg_real_t *b)
{
    static const double even[4][5] = {
        {-2.25, 3.4142135623730950488, -1.0, 0.5857864376269049512, -0.5},
        {5.5, -10.424366106925305798, 8.5714285714285714286, -5.5756338930746942021, 4.8571428571428571429},
        {-8.8214285714285714286, 17.79796949108955785, -18.142857142857142857, 18.20203050891044215,
         -17.071428571428571429},
        {10.214285714285714286, -20.917649971602612505, 22.4, -24.796635742683101781, 27.2}};
    static const double odd[3][4] = {
        {-2.125, 3.1543220298989500401, -0.7071067811865475244, 0.22417076458398255906},
        {4.25, -7.8283887542218252167, 5.6568542494923801952, -2.0056051360506761668},
        {-3.9464285714285714286, 7.7135561131707254496, -6.9700525574102541691, 4.8959615852321157052}};
    b[0] = v[0];
    b[8] = v[8];
    for (int k = 1; k <= 4; k++) {
        cg_real_t sum = even[k - 1][4] * v[4], difference = cg_splat(0.0);
        for (int j = 0; j < 4; j++) {
            sum = cg_plus(sum, even[k - 1][j], v[j] + v[8 - j]);
            difference = k < 4 ? cg_plus(difference, odd[k - 1][j], v[j] - v[8 - j]) : difference;
        }
        b[8 - k] = sum - difference;
        b[k] = sum + difference;
    }
}

/* Whether samples with the Chebyshev coefficients c show all sign changes; `sign` is that at the start, +1 or -1. */
static CG_INLINE cg_crossing_t cg_crossings_shown(const cg_real_t *v, const cg_real_t *c, cg_real_t sign)
{
    const cg_real_t nothing = cg_splat(0.0), one = cg_splat(1.0);
    cg_real_t b[CG_NODES], largest = cg_abs(c[0]), bend = nothing, before = nothing, after = nothing;
    for (int k = 1; k <= CG_DEGREE; k++) {
        largest = cg_larger(largest, cg_abs(c[k]));
        bend += cg_abs(c[k]);
    }
    const cg_real_t left_out = cg_abs(c[CG_DEGREE]) + cg_abs(c[CG_DEGREE - 1]);
    const cg_real_t margin = cg_larger(CG_CLEAR * largest, CG_CLEAR / CG_FOLLOWED * left_out);
    const cg_mask_t far = cg_lt(1.5 * bend, sign * c[0]);
    cg_bernstein(v, b);
    cg_mask_t leading = cg_lt(-margin, sign * b[0]), trailing = cg_lt(sign * b[CG_DEGREE], -margin);
    /* from the second sample on b_2 outweighs this, as the ratios of Bernstein's polynomials there show */
    const cg_real_t dip = -7.3 * cg_smaller(sign * b[1], nothing) - 23.0 * cg_smaller(sign * b[0], nothing);
    cg_mask_t kept = cg_lt(margin, sign * b[2] - dip);
    for (int k = 1; k <= CG_DEGREE; k++) {
        leading &= cg_lt(margin, sign * b[k]);
        trailing &= cg_lt(sign * b[CG_NODES - k], -margin);
        before += cg_where(leading, one, nothing);
        after += cg_where(trailing, one, nothing);
        kept &= k > 2 ? cg_lt(margin, sign * b[k]) : kept;
    }
    const cg_mask_t all = cg_le(cg_splat((double)CG_DEGREE), before);
    const cg_mask_t changes = cg_le(cg_splat((double)CG_DEGREE - 1.0), before + after) & cg_le(one, before) & cg_le(one, after);
    /* a zero at the start must not be taken for the crossing, so one of the first two samples is well before it */
    const cg_mask_t apart = cg_lt(margin, cg_larger(sign * v[0], sign * v[1]));
    const cg_crossing_t found = {far | all, changes & apart, far | kept};
    return found;
}

/* Value and slope of p at z. */
static CG_INLINE cg_real_t cg_value_and_slope(const cg_real_t *c, cg_real_t z, cg_real_t *slope)
{
    cg_real_t b1 = cg_splat(0.0), b2 = cg_splat(0.0), d1 = cg_splat(0.0), d2 = cg_splat(0.0);
    const cg_real_t twice = 2.0 * z;
    for (int k = CG_DEGREE; k >= 1; k--) { /* Clenshaw's recurrence, and its derivative */
        const cg_real_t d = cg_fma(twice, d1, 2.0 * b1) - d2, b = cg_fma(twice, b1, c[k] - b2);
        d2 = d1;
        d1 = d;
        b2 = b1;
        b1 = b;
    }
    *slope = cg_fma(z, d1, b1) - d2;
    return cg_fma(z, b1, c[0] - b2);
}

/* The zero of p as a fraction of the step, if there is one: false position between samples, then Newton's method.
 * *settled: it has converged, between the samples with different signs. *slope: there, in units of the step. */
static CG_INLINE cg_real_t cg_crossing_root(const cg_real_t *v, const cg_real_t *c, cg_real_t sign, cg_mask_t *settled,
                                            cg_real_t *slope)
{
    cg_real_t low = cg_splat(-1.0), high = cg_splat(1.0), at_low = v[0], at_high = v[CG_DEGREE], move = low;
    for (int j = 1; j < CG_DEGREE; j++) {
        const cg_mask_t before = cg_lt(cg_splat(0.0), sign * v[j]);
        low = cg_where(before, cg_splat(-cg_cosine[j]), low);
        at_low = cg_where(before, v[j], at_low);
    }
    for (int j = CG_DEGREE - 1; j > 0; j--) {
        const cg_mask_t after = cg_lt(sign * v[j], cg_splat(0.0));
        high = cg_where(after, cg_splat(-cg_cosine[j]), high);
        at_high = cg_where(after, v[j], at_high);
    }
    cg_real_t z = (low * at_high - high * at_low) / (at_high - at_low);
    for (int trial = 0; trial < CG_NEWTON; trial++) {
        const cg_real_t value = cg_value_and_slope(c, z, slope);
        const cg_real_t next = z - value / *slope;
        move = next - z;
        z = cg_larger(low, cg_smaller(high, next));
    }
    *slope *= 2.0;
    *settled = cg_le(cg_abs(move), cg_splat(CG_SETTLED)) & cg_lt(low, z) & cg_lt(z, high);
    return 0.5 * (1.0 + z);
}

/* An interval at whose ends a quantity has different signs, for false position; an end that stays counts half (Illinois). */
typedef struct cg_illinois {
    double lo, hi, g_lo, g_hi, weight_lo, weight_hi;
    int side; /* of the end that moved last: 1 lo, -1 hi */
} cg_illinois_t;

static inline double cg_illinois_place(const cg_illinois_t *ends)
{
    const double a = ends->weight_lo * ends->g_lo, b = ends->weight_hi * ends->g_hi;
    return (ends->lo * b - ends->hi * a) / (b - a);
}

/* Moves an end, the lower one or the upper one, to z, where the quantity is g. */
static inline void cg_illinois_move(cg_illinois_t *ends, int lower, double z, double g)
{
    if (lower) {
        ends->lo = z;
        ends->g_lo = g;
        ends->weight_lo = 1.0;
        ends->weight_hi *= ends->side > 0 ? 0.5 : 1.0;
        ends->side = 1;
    } else {
        ends->hi = z;
        ends->g_hi = g;
        ends->weight_hi = 1.0;
        ends->weight_lo *= ends->side < 0 ? 0.5 : 1.0;
        ends->side = -1;
    }
}

#endif /* CG_CROSSING_H */
