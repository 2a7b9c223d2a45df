/* cg_precision.h: the constants that depend on the precision of the numbers. float/cg_precision.h has those of single
 * precision. */
#ifndef CG_PRECISION_H
#define CG_PRECISION_H

/* ---- defaults of a run ---- */
#define CG_RTOL 1e-6
#define CG_ATOL 1e-9

/* ---- squares of errors and of rates neither overflow nor vanish ---- */
#define CG_ATOL_FLOOR 1e-150 /* of an absolute tolerance: avoids 0 / 0 in the error norm if atol and a state are 0 */
#define CG_LEAST_SQUARE 1e-200
#define CG_LARGEST_SQUARE 1e200
#define CG_LEAST_ERROR 1e-100 /* bounds of the logarithm in the step-size control */
#define CG_LARGEST_ERROR 1e100
#define CG_TINY 1e-300 /* in place of a divisor that is zero */
#define CG_DIFFERENCE 6e-6 /* cube root of the spacing: the move, in parts of a state, for a difference of second order */

/* ---- mass matrix ---- */
#define CG_PIVOT 1e-13 /* a pivot below this fraction of its diagonal element is zero */
#define CG_RANK_LOST 1e-8 /* constraints whose smallest pivot is below this fraction of the largest are dependent */
#define CG_RANK_UNCLOSED 1e-6 /* the same where Newton's method fails: rounding, over this, exceeds fine tolerances */
#define CG_LOCATED 1e-8 /* a step as short, in parts of the time, says where constraints cannot be satisfied */

/* ---- states off the constraints, as at the start of a run: consistency.py ---- */
#define CG_REFUSED 1e-4  /* of the magnitudes of its terms, a residual that is refused */
#define CG_LEAST_TERMS 1e8  /* these are at least so much of the change of a residual with the tolerance */

/* ---- search for events ---- */
#define CG_SAME_TIME 1e-10 /* crossings closer than this fraction of the step are simultaneous */
#define CG_FOLLOWED 1e-9 /* a polynomial is accurate if its last coefficients are below this fraction of the largest */
#define CG_CLEAR 1e-6    /* an extremum is trusted if further from zero than this fraction of the largest coefficient */
#define CG_EXTREMUM 1e-13 /* accuracy of the place of an extremum, on -1 .. 1 */
#define CG_SETTLED 1e-7  /* Newton's method has converged if its last move was shorter than this, on -1 .. 1 */
#define CG_CORRECTED 1e-6 /* a root of the polynomial is off by no more than this fraction of the step */
#define CG_TANGENT 1e-8    /* within this fraction of a step the motion is a straight line to rounding */
#define CG_SIDE 1e-8      /* after an event, a value below this fraction of its largest in the step is on no side yet */
#define CG_ZERO 4e-15      /* a guard below this fraction of the sizes of its terms is zero to rounding */
#define CG_SLOPE_STEP 8e-3 /* the distance, in steps, of the widest differences by which an input has a slope */
#define CG_MOMENT_OF_RATE 1e-4 /* the part of a step over which the change of a rate is measured */
#define CG_SECANT 1e-4    /* half the span, as a fraction of the step, of a slope on the interpolant */
#define CG_TAIL 1e-3      /* the last part of a step, as a fraction of it, along which the motion is continued */
#define CG_MOMENT 1e-6    /* a moment later: when the state has changed by this fraction */
#define CG_MOMENT_OF_STEP 1e-3 /* but no more than this fraction of a step */

/* ---- contacts, in fractions of the forces or velocities ---- */
#define CG_TIE 1e-12     /* a sticking contact breaks above its limit by this: despite rounding, a tie is stick */
#define CG_MARGIN 1e-10  /* a condition closer to its bound than this is decided a moment later */
#define CG_NOISE 1e-13   /* smaller changes are rounding */
#define CG_AT_REST 1e-13 /* a slip velocity below this is zero */
#define CG_LEVER 1e6  /* no velocity changes by more than this much of a slip when that is made zero */
#define CG_LOOK 1e-3     /* how far the states are in which guards are looked at that may be held at zero, and */
#define CG_BESIDE 1e-9   /* the part of the way from stick to slip there that is next to stick */
#define CG_VANISHED 1e-12 /* a guard below this fraction of its value in slip is zero */
#define CG_SAME_FORCE 1e-9 /* two solutions with forces that differ by less are the same */

#endif /* CG_PRECISION_H */
