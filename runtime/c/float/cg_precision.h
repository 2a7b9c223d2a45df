/* cg_precision.h: the constants that depend on the precision of the numbers, in single precision. runtime/c/cg_precision.h
 * has those of double precision, in the same order. What is decided in the last digits there has the spacing of numbers
 * (2^-23 instead of 2^-52) with the same or a smaller margin here.
 */
#ifndef CG_PRECISION_H
#define CG_PRECISION_H

/* ---- defaults of a run ---- */
#define CG_RTOL 1e-5f
#define CG_ATOL 1e-6f

/* ---- squares of errors and of rates neither overflow nor vanish ---- */
#define CG_ATOL_FLOOR 1e-18f /* of an absolute tolerance: avoids 0 / 0 in the error norm if atol and a state are 0 */
#define CG_LEAST_SQUARE 1e-30f
#define CG_LARGEST_SQUARE 1e30f
#define CG_LEAST_ERROR 1e-30f /* bounds of the logarithm in the step-size control */
#define CG_LARGEST_ERROR 1e30f
#define CG_TINY 1e-30f /* in place of a divisor that is zero */
#define CG_DIFFERENCE 5e-3f /* cube root of the spacing: the move, in parts of a state, for a difference of second order */

/* ---- mass matrix ---- */
#define CG_PIVOT 5e-5f /* a pivot below this fraction of its diagonal element is zero */
#define CG_RANK_LOST 1e-4f /* constraints whose smallest pivot is below this fraction of the largest are dependent */
#define CG_RANK_UNCLOSED 2e-3f /* the same where Newton's method fails: rounding, over this, exceeds fine tolerances */
#define CG_LOCATED 1e-4f /* a step as short, in parts of the time, says where constraints cannot be satisfied */

/* ---- states off the constraints, as at the start of a run: consistency.py ---- */
#define CG_REFUSED 1e-2f /* of the magnitudes of its terms, a residual that is refused */
#define CG_LEAST_TERMS 1e4f /* these are at least so much of the change of a residual with the tolerance */

/* ---- search for events ---- */
#define CG_SAME_TIME 1e-5f /* crossings closer than this fraction of the step are simultaneous */
#define CG_FOLLOWED 1e-5f  /* a polynomial is accurate if its last coefficients are below this fraction of the largest */
#define CG_CLEAR 1e-4f     /* an extremum is trusted if further from zero than this fraction of the largest coefficient */
#define CG_EXTREMUM 1e-6f  /* accuracy of the place of an extremum, on -1 .. 1 */
#define CG_SETTLED 1e-3f  /* Newton's method has converged if its last move was shorter than this, on -1 .. 1 */
#define CG_CORRECTED 1e-2f /* a root of the polynomial is off by no more than this fraction of the step */
#define CG_TANGENT 2e-4f   /* within this fraction of a step the motion is a straight line to rounding */
#define CG_SIDE 1e-5f      /* after an event, a value below this fraction of its largest in the step is on no side yet */
#define CG_ZERO 2e-6f      /* a guard below this fraction of the sizes of its terms is zero to rounding */
#define CG_SLOPE_STEP 2e-2f /* the distance, in steps, of the widest differences by which an input has a slope */
#define CG_MOMENT_OF_RATE 1e-2f /* the part of a step over which the change of a rate is measured */
#define CG_SECANT 0.01f    /* half the span, as a fraction of the step, of a slope on the interpolant */
#define CG_TAIL 0.03125f   /* the last part of a step, as a fraction of it, along which the motion is continued */
#define CG_MOMENT 1e-3f    /* a moment later: when the state has changed by this fraction */
#define CG_MOMENT_OF_STEP 0.1f /* but no more than this fraction of a step */

/* ---- contacts, in fractions of the forces or velocities ---- */
#define CG_TIE 1e-5f     /* a sticking contact breaks above its limit by this: despite rounding, a tie is stick */
#define CG_MARGIN 1e-4f  /* a condition closer to its bound than this is decided a moment later */
#define CG_NOISE 1e-6f   /* smaller changes are rounding */
#define CG_AT_REST 1e-6f /* a slip velocity below this is zero */
#define CG_LEVER 1e3f /* no velocity changes by more than this much of a slip when that is made zero */
#define CG_LOOK 0.03f    /* how far the states are in which guards are looked at that may be held at zero, and */
#define CG_BESIDE 1e-4f  /* the part of the way from stick to slip there that is next to stick */
#define CG_VANISHED 1e-5f /* a guard below this fraction of its value in slip is zero */
#define CG_SAME_FORCE 1e-4f /* two solutions with forces that differ by less are the same */

#endif /* CG_PRECISION_H */
