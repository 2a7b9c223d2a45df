/* cg_time.h: the time of a run in single precision.
 *
 * After some hours a float no longer resolves a millisecond. So callers count time in ticks, 64-bit integers, CG_TICKS of
 * them in a unit of the model's time (10^-9 s if that is a second). The end of every step is a whole tick, and ends given
 * by the caller are met exactly, after any number of steps. The times in a step (run->t, t_old, t_stop) are floats counted
 * from its start, where they are most accurate.
 *
 * Kernels and callbacks get the time as the nearest float; it matters only to a model that depends on the time explicitly.
 */
#ifndef CG_TIME_H
#define CG_TIME_H

#include <math.h>
#include <stdint.h>

typedef int64_t cg_time_t; /* what callers give and get */

#ifndef CG_TICKS
#define CG_TICKS 1000000000 /* ticks in a unit of time; a run lasts up to 2^62 ticks */
#endif

/* The time after `count` periods of a clock with `rate` of them in a unit of time. */
#define CG_TIME(count, rate) ((cg_time_t)(count) * CG_TICKS / (rate))
#define CG_TIME_LEAST (1.0f / (float)CG_TICKS) /* the least spacing of times */
#define CG_CLOCK_MEMBERS                                      \
    cg_time_t origin;  /* of the times in steps */ \
    cg_time_t t_limit; /* t_stop */                \
    float epoch;       /* the origin, for kernels */

/* to - from, in units of time */
static inline float cg_time_span(cg_time_t from, cg_time_t to) { return (float)(to - from) / (float)CG_TICKS; }
static inline int cg_time_valid(cg_time_t t) { return t > -(INT64_MAX / 2) && t < INT64_MAX / 2; }
static inline cg_time_t cg_time_after(cg_time_t origin, float t)
{
    const float ticks = t * (float)CG_TICKS;
    return origin + (cg_time_t)(ticks + (ticks < 0.0f ? -0.5f : 0.5f));
}

/* For the caller's time t: the same in the steps of the run. */
#define cg_time_inside(run, t) cg_time_span((run)->origin, t)
/* For a time t in the steps of the run: the same for the caller, and for kernels and callbacks. */
#define cg_time_outside(run, t) ((t) == (run)->t_stop ? (run)->t_limit : cg_time_after((run)->origin, t))
#define cg_time_of_model(run, t) ((run)->epoch + (t))

#define cg_clock_valid(run) (cg_time_valid((run)->origin) && cg_time_valid((run)->t_limit))

/* Starts the run at t. */
#define cg_time_begin(run, t_begin) ((run)->t = 0.0f, (run)->t_stop = 0.0f, (run)->origin = (run)->t_limit = (t_begin))
/* Sets the end of the next steps. */
#define cg_time_stop_at(run, t_next) ((run)->t_limit = (t_next), (run)->t_stop = cg_time_inside(run, (run)->t_limit))
/* Makes the present the origin of the times in steps. */
#define cg_time_rebase(run)                                   \
    ((run)->origin = cg_time_outside(run, (run)->t),          \
     (run)->epoch = cg_time_span(0, (run)->origin),           \
     (run)->t_old -= (run)->t, (run)->t = 0.0f,               \
     (run)->t_anchor = 0.0f, (run)->n_anchor = 0,             \
     cg_time_stop_at(run, (run)->t_limit))

#endif /* CG_TIME_H */
