/* cg_lanes.h: the state of a group of trajectories of one model that run side by side, one in each lane.
 *
 * Like cg_run_t, in one block of memory; but everything that belongs to a trajectory is an array over the lanes, lane
 * index fastest: state i of a lane is x[i * lanes + lane]. The number of lanes is that of the lane set; nothing here
 * depends on it, so the runtime can drive any set. Truth values of lanes are 0 and -1.
 */
#ifndef CG_LANES_H
#define CG_LANES_H

#include "cg_run.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CG_LANES_LAYOUT 18 /* as CG_RUN_LAYOUT, for cg_lanes_run_t */

struct cg_detector;

typedef struct cg_lanes_run {
    /* Owned by the caller. */
    const cg_model_t *model;
    const cg_lane_set_t *set;
    void (*prepare)(struct cg_lanes_run *run);
    void (*advance)(struct cg_lanes_run *run);
    void (*dense)(struct cg_lanes_run *run);
    /* NULL, or as in cg_run_t for the times [lanes] of some lanes, unless u_from <= time times direction < u_until */
    void (*pass)(const struct cg_lanes_run *run, uint32_t some, const double *t);
    const cg_signal_t *signals; /* as in cg_run_t; none of kind CG_SIGNAL_CALL */
    const volatile int *stop;   /* never NULL: non-zero ends `advance` */
    struct cg_lanes_run *other; /* NULL, or a second group that `advance` steps in turn with this one */

    /* Sizes. */
    size_t size;
    int32_t lanes;
    int32_t n;        /* states */
    int32_t n_u;      /* inputs and modes */
    int32_t n_stages; /* rows of k */
    int32_t n_dense;  /* rows of coef */
    int32_t order;
    int32_t adaptive;

    const cg_method_info_t *info;

    int32_t input_kind; /* bits of enum cg_input_kind */
    int32_t have_dense;
    int32_t calls; /* of the right-hand side in this trial */
    int32_t any_failed; /* truth: one of them failed in some lane */
    int32_t projection; /* CG_PROJECT_NONE or CG_PROJECT_CONSTRAINTS */
    uint32_t attention; /* bits of the lanes that reached their mark or t_stop, or failed: lanes <= 32 */
    uint32_t at_sample; /* of them those that in the last step only reached a t_stop before t_end; 0 if watched */

    /* [rows][lanes]; the first five pointers are swapped in every step. */
    double *x;
    double *x_old;
    double *x_trial;
    double *f;
    double *f_old;
    double *k;    /* [n_stages][n][lanes] */
    double *coef; /* [n_dense][n][lanes] */
    double *work;
    double *widest; /* [lanes] the widest angle of a trial step; see cg_math_trig.h */
    double *moved;  /* [n][lanes] scratch: corrections of the states, or one lane's numbers for a scalar kernel */
    double *atol;   /* [n]: shared by all lanes */
    int32_t n_start; /* n if the model has invariants of the coordinates to which steps can be moved back, else 0 */
    double *start;   /* [n_start][lanes] the states at the start */
    double *inside; /* [n][lanes] scratch: the states of one lane at some times inside its last step */
    double *u_seen; /* [n_u][lanes] scratch: the inputs at some times, and the modes */
    int32_t tabulates; /* truth: steps pass samples that are the same in all lanes */
    double *table;  /* [CG_TABLED][3][n_u] inputs at the stages of so many steps; see cg_rk4_lanes.h */
    int64_t tabled; /* steps that are known: of the size table_h from table_anchor on, after the first table_first */
    double table_h;
    double table_anchor;
    double table_first;

    /* Events and contacts: see cg_lanes_watch.h and cg_lane_events.c. Empty if the model has none. */
    int32_t n_observed;
    int32_t watched; /* 1: the steps are searched for events */
    uint32_t met;    /* bits of the lanes whose last step must be examined alone */
    uint32_t counted; /* bits of the lanes whose calls for the interpolant are in n_rhs */
    double *towards; /* [n_observed]: `direction` of a detector; the next have a row for each observed quantity */
    double *sign;
    double *enabled; /* `active` of a detector */
    double *end;
    double *scale;
    double *samples;     /* [CG_NODES][n_observed][lanes] */
    double *index;       /* [lanes] the quantity whose zero the step of a lane ends at */
    double *stop_kept;   /* [lanes] t_stop, h and the anchor before that step, or before any step */
    double *h_kept;
    double *end_kept;    /* where it ended before it was repeated */
    double *anchor_kept;
    double *count_kept;
    int64_t *landing;    /* [lanes] truth: the step is repeated, up to a crossing */
    int64_t *have_end;   /* [lanes] truth: `end` contains the values at t */
    struct cg_detector **detector; /* [lanes] */
    cg_run_t *single;    /* a lane that is served alone */

    double *t_old; /* [lanes] */
    double *u_from; /* [lanes] the time times direction at which the segments of all inputs have begun */
    double *u_until; /* and at which the first of them ends */

    /* [n_carried][lanes]: what a trajectory takes along from one lane to another beside x and f. The rows follow; those
     * of p are not copied if all trajectories have the same. */
    int32_t n_carried;
    int32_t same_p;  /* truth: all lanes have the p of all trajectories */
    int32_t hoisted; /* truth: with the results of model->hoist */
    double *carried;
    double *u; /* modes, and inputs where the right-hand side was called last: not, as a rule, those at t */
    double *u_time;
    double *u_value;
    double *u_curve; /* [n_u][CG_CURVE][lanes] */
    double *p; /* parameters, then the results of model->hoist */

    /* [lanes], carried too */
    double *t;
    double *t_stop;
    double *mark; /* time times direction from which the lane needs service */
    double *h;
    double *log_old;
    double *t_anchor;
    double *n_anchor;
    int64_t *n_trials; /* accepted and rejected */
    int64_t *n_rejected;
    int64_t *n_rhs;
    int64_t *rejected;  /* truth: the previous step was rejected at least once */
    int64_t *active;    /* truth: there is a trajectory in this lane */
    int64_t *fresh;     /* truth: f must be computed at (t, x) */
    int64_t *unstarted; /* truth: the first step must be chosen */
    int64_t *status;    /* CG_OK, or the error that ended the trajectory */
    int64_t *row;       /* of the values of its signals: see cg_signal_t */
    int64_t *knots;     /* [n_u][lanes] how many of an input's times are before that of its segment */

    /* [lanes] */
    int64_t *failed;    /* truth: the right-hand side failed in this trial */
    int64_t *failed_at; /* `calls` when it did */

    /* Options, as in cg_run_t. */
    double rtol;
    double max_step;
    double first_step;
    int64_t max_steps;
    double direction;
    double t_end;
} cg_lanes_run_t;

/* ---- between the files of the runtime ---- */

enum { CG_TABLED = 512 };
enum { CG_MOST_LANES = 32, CG_RUNNING = 2, CG_GROUPS = 3 /* those running, and one of trajectories about to start */ };

cg_lanes_run_t *cg_lanes_group(cg_lanes_run_t *run, unsigned g); /* a group in the block of the first one */

/* Rows of p: the parameters, then the results of model->hoist. */
static inline int32_t cg_lanes_p_rows(const cg_lanes_run_t *run)
{
    return run->model->n_parameters + run->model->n_hoisted;
}

/* The block for a model, a set and a method: its size, 0 if the set does not have the method or belongs to another
 * model; and its layout, with the parameters from the examples. */
size_t cg_lanes_size(const cg_model_t *model, const cg_lane_set_t *set, const char *method);
int cg_lanes_init(cg_lanes_run_t *run, size_t size, const cg_model_t *model, const cg_lane_set_t *set,
                  const char *method);

/* Whether this CPU can run the set. */
int cg_lane_set_runs(const cg_lane_set_t *set);

/* Lanes in one vector register of this CPU: 8, 4, 2, or 1 if unknown. */
int cg_widest_lanes(void);

#ifdef __cplusplus
}
#endif

#endif /* CG_LANES_H */
