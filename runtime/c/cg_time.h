/* cg_time.h: the time of a run, for its caller and in its steps. In double precision both are the same number, and this
 * file does nothing. float/cg_time.h has those of single precision, where they differ.
 */
#ifndef CG_TIME_H
#define CG_TIME_H

#include <math.h>

typedef double cg_time_t; /* what callers give and get */

/* The time after `count` periods of a clock with `rate` of them in a unit of time. */
#define CG_TIME(count, rate) ((double)(count) / (double)(rate))
#define CG_TIME_LEAST DBL_MIN /* the least spacing of times */
#define CG_CLOCK_MEMBERS      /* of cg_run_t, besides its times */

/* to - from, in units of time */
static inline double cg_time_span(cg_time_t from, cg_time_t to) { return to - from; }
static inline int cg_time_valid(cg_time_t t) { return fabs(t) < HUGE_VAL; }

/* For the caller's time t: the same in the steps of the run. */
#define cg_time_inside(run, t) (t)
/* For a time t in the steps of the run: the same for the caller, and for kernels and callbacks. */
#define cg_time_outside(run, t) (t)
#define cg_time_of_model(run, t) (t)

#define cg_clock_valid(run) 1

/* Starts the run at t. */
#define cg_time_begin(run, t_begin) ((run)->t = (t_begin))
/* Sets the end of the next steps. */
#define cg_time_stop_at(run, t_next) ((run)->t_stop = (t_next))
/* Makes the present the origin of the times in steps. */
#define cg_time_rebase(run) ((void)(run))

#endif /* CG_TIME_H */
