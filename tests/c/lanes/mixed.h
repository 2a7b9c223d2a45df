/* mixed.h: the model of model_mixed.c and its lane sets. */
#ifndef MIXED_H
#define MIXED_H

#include "chaplygin.h"

extern const cg_model_t mixed_model;
extern const cg_lane_set_t mixed_lanes_2, mixed_lanes_4, mixed_lanes_8;
extern long mixed_calls; /* of the right-hand side over lanes, in all sets */

enum mixed_kind {
    MIXED_REST = 0,
    MIXED_RATIONAL, /* x = 1 / (1 + t^2) */
    MIXED_BLOW_UP,  /* x = 1 / (1 / x0 - t) */
    MIXED_SINGULAR, /* x' = 1 until x passes the threshold */
    MIXED_NAN,      /* the same, then NaN */
    MIXED_INFINITE,
    MIXED_ROOT,
    MIXED_JUMP, /* the slope jumps by 1e6 at the time p[1] */
    MIXED_FAST, /* driven by the pendulum with amplitude p[1] */
    MIXED_KINDS
};

#endif
