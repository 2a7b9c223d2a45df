/* cg_corners.h: where the expressions that are observed along a step have corners and jumps.
 *
 * An expression with Abs, sign, Min, Max or conditions is smooth between the zeros of its guards: the arguments of these
 * functions, and the differences that they compare. A guard is evaluated on the interpolant of the step and its sign
 * changes are isolated as those of events are (cg_crossing.h), but all of them, in any order. Each is enclosed in an
 * interval with different signs at its ends, so that both sides of a jump can be evaluated.
 */
#ifndef CG_CORNERS_H
#define CG_CORNERS_H

#include <stdint.h>

enum { CG_MOST_CUTS = 24 };

/* The corners of one expression in one step, as fractions of the step: between lo and hi. */
typedef struct cg_cuts {
    int32_t n; /* more than CG_MOST_CUTS are left out: such a step is far too long for the expression */
    double lo[CG_MOST_CUTS];
    double hi[CG_MOST_CUTS];
} cg_cuts_t;

/* A guard in a step: the value at a fraction of it; NaN where it cannot be computed. Not CG_OK: the inputs fail. */
typedef struct cg_guard {
    int (*value)(void *context, double theta, double *g);
    void *context;
} cg_guard_t;

/* Adds the sign changes of a guard, with the values `first` and `last` at the ends of the step. */
int cg_corners_add(cg_cuts_t *cuts, const cg_guard_t *guard, double first, double last);

/* Sorts the cuts, and joins those that overlap. */
void cg_corners_order(cg_cuts_t *cuts);

#endif /* CG_CORNERS_H */
