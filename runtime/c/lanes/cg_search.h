/* cg_search.h: the search for a maximum between two points, one value at a time.
 *
 * R. P. Brent, Algorithms for Minimization without Derivatives, Prentice-Hall 1973, section 5.8 ("localmin"): parabolas
 * through the three best points, and golden sections where these do not help.
 */
#ifndef CG_SEARCH_H
#define CG_SEARCH_H

#include <math.h>

#define CG_GOLDEN 0.3819660112501051  /* (3 - sqrt 5) / 2 */
#define CG_SEARCH_WIDTH 5.9604644775390625e-08 /* 2^-24: the value at a vertex is flat to rounding within it */

enum { CG_SEARCH_MOST = 60 }; /* golden sections alone need 40 from the length of a step */

typedef struct cg_search {
    double a, b;       /* the maximum lies between them */
    double x, w, v;    /* the best point, the second best, and the one before */
    double fx, fw, fv;
    double step, last; /* from x to the point that is asked for; the one before */
    int begun;
} cg_search_t;

/* Starts between a and b, without any value. */
static inline void cg_search_begin(cg_search_t *s, double a, double b)
{
    const cg_search_t fresh = {a, b, a + CG_GOLDEN * (b - a), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0};
    *s = fresh;
}

/* Starts between a and b from the values there and at x between them, which is the largest. */
static inline void cg_search_begin_at(cg_search_t *s, double a, double x, double b, double fa, double fx, double fb)
{
    const cg_search_t left = {a, b, x, a, b, fx, fa, fb, b - a, b - a, 1};
    const cg_search_t right = {a, b, x, b, a, fx, fb, fa, b - a, b - a, 1};
    *s = fa > fb ? left : right;
}

static inline int cg_search_done(const cg_search_t *s)
{
    return s->begun && fabs(s->x - 0.5 * (s->a + s->b)) <= 2.0 * CG_SEARCH_WIDTH - 0.5 * (s->b - s->a);
}

/* The step to the vertex of the parabola through the three best points; 0: golden section is to be preferred. */
static inline double cg_search_parabola(const cg_search_t *s, double before)
{
    const double r = (s->x - s->w) * (s->fv - s->fx);
    const double q = (s->x - s->v) * (s->fw - s->fx);
    const double above = (s->x - s->v) * q - (s->x - s->w) * r, below = 2.0 * (r - q);
    const double step = below != 0.0 ? above / below : 0.0;
    const int inside = s->x + step > s->a && s->x + step < s->b;
    return inside && fabs(step) < 0.5 * fabs(before) ? step : 0.0;
}

/* The next point whose value is needed. */
static inline double cg_search_next(cg_search_t *s)
{
    if (!s->begun) {
        return s->x;
    }
    const double middle = 0.5 * (s->a + s->b);
    const double before = s->last;
    double step = fabs(before) > CG_SEARCH_WIDTH ? cg_search_parabola(s, before) : 0.0;
    if (step != 0.0) {
        const double u = s->x + step;
        s->last = s->step;
        if (u - s->a < 2.0 * CG_SEARCH_WIDTH || s->b - u < 2.0 * CG_SEARCH_WIDTH) {
            step = s->x < middle ? CG_SEARCH_WIDTH : -CG_SEARCH_WIDTH;
        }
    } else {
        s->last = s->x < middle ? s->b - s->x : s->a - s->x;
        step = CG_GOLDEN * s->last;
    }
    if (fabs(step) < CG_SEARCH_WIDTH) {
        step = step > 0.0 ? CG_SEARCH_WIDTH : -CG_SEARCH_WIDTH;
    }
    s->step = step;
    return s->x + step;
}

/* Takes the value at that point. */
static inline void cg_search_take(cg_search_t *s, double f)
{
    if (!s->begun) {
        s->begun = 1;
        s->w = s->v = s->x;
        s->fx = s->fw = s->fv = f;
        return;
    }
    const double u = s->x + s->step;
    if (f >= s->fx) {
        *(u < s->x ? &s->b : &s->a) = s->x;
        s->v = s->w, s->fv = s->fw;
        s->w = s->x, s->fw = s->fx;
        s->x = u, s->fx = f;
        return;
    }
    *(u < s->x ? &s->a : &s->b) = u;
    if (f >= s->fw || s->w == s->x) {
        s->v = s->w, s->fv = s->fw;
        s->w = u, s->fw = f;
    } else if (f >= s->fv || s->v == s->x || s->v == s->w) {
        s->v = u, s->fv = f;
    }
}

#endif /* CG_SEARCH_H */
