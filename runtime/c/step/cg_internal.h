/* cg_internal.h: what the files that run one trajectory share; not for callers. */
#ifndef CG_INTERNAL_H
#define CG_INTERNAL_H

#include "cg_crossing.h"
#include "cg_events.h"
#include "cg_precision.h"

/* Returns the status of a call that has failed. */
#define CG_TRY(call)                  \
    do {                              \
        const int cg_failed = (call); \
        if (cg_failed != CG_OK) {     \
            return cg_failed;         \
        }                             \
    } while (0)

int cg_driver_options_valid(const cg_run_t *run); /* whether tolerances and step options are within their ranges */

/* A polynomial: the coefficients of the powers of the time since `time`, from 0 on. */
typedef struct cg_segment {
    cg_time_t time;
    double c[CG_CURVE + 1];
} cg_segment_t;

/* Its value after the time s; the coefficients are `apart` from one another. */
static inline double cg_curve_at(double value, const double *curve, ptrdiff_t apart, double s)
{
    return value + s * (curve[0] + s * (curve[apart] + s * curve[2 * apart]));
}

int cg_evaluate_rated(const cg_model_t *model); /* whether an input is the rate of another one */

/* The segment of a polynomial signal of a trajectory, `row`, from t on in `direction`, up to the returned time, at most t_stop.
 * *before: how many of its times are before t; it was so of an earlier segment, if that is known. */
cg_time_t cg_evaluate_segment(const cg_signal_t *signal, int64_t row, cg_time_t t, double direction, cg_time_t t_stop,
                              int64_t *before, cg_segment_t *segment);
/* Its coefficients where so many of its times are before: between two knots those that lead to the next one, if `joined`. */
void cg_evaluate_piece(const cg_signal_t *signal, int64_t row, int64_t before, double *c);

/* Input i follows a segment from now on. */
void cg_evaluate_put_segment(const cg_run_t *run, int32_t i, const cg_segment_t *segment);
void cg_evaluate_pass(const cg_run_t *run, double t); /* see cg_run_t */

/* The segment from t on of input i, which is MOVING: its value and its rates are in u, `apart` from one another. */
void cg_evaluate_moving(const cg_model_t *model, int32_t i, cg_time_t t, const double *u, ptrdiff_t apart,
                        cg_segment_t *segment);

/* ---- events and contacts ---- */

#define CG_FURTHER 8.0 /* between the times at which a guard that leaves zero is looked at */

/* Whether the run takes kinks inside of guards by their sides: where tangents follow the states. */
int cg_detector_nests(const cg_run_t *run);
/* The guards, with kinks inside of them on their sides in detector->sign if the run takes them so. */
int cg_detector_guards_by_side(cg_run_t *run, double model_t, const double *x, double *guards);
/* The side of a kink near its zero, where tangents follow the states: if it is zero to rounding, that to which the motion takes
 * it first. */
int cg_sides_of_kink(cg_run_t *run, int32_t index, double *side);
/* The guards and the caller's functions, held or not, by the state alone; see cg_detector_evaluate. */
int cg_detector_guards(cg_run_t *run, double t, const double *x, int32_t only, double *values);
/* The observed quantities at time t and state x: all (only < 0), or at least the one with index `only`. */
int cg_detector_evaluate(cg_run_t *run, double t, const double *x, int32_t only, double *values);
/* The same inside the last step, at a fraction theta of it. */
int cg_detector_inside(cg_run_t *run, double theta, int32_t only, double *values);
/* The largest value that an error in the time of a zero explains, in a step of this length, or the rounding errors at the last
 * instant: beyond it the quantity has jumped. */
double cg_detector_least(const cg_run_t *run, int32_t index, double length);
int cg_detector_sample(cg_run_t *run); /* at the nodes of the last step: samples, and their scale */
/* Finds the first sign change of `index` after detector->cursor and stores it in detector->root, using the samples of
 * the step; changes beyond `upto` do not matter. Sets sign_new if it was not known. */
int cg_bracket_find(cg_run_t *run, int32_t index, double upto);

void cg_detector_reset(cg_detector_t *detector); /* a new run */
void cg_detector_again(cg_detector_t *detector); /* modes and signs must be determined again */
void cg_detector_inputs_changed(cg_detector_t *detector); /* the signs stay, unless the run is at its start */
int cg_events_begin(cg_run_t *run);      /* modes and signs at the start */
/* The sides of zero at an instant. detector->again: the guards in detector->fires leave to the other side than they kept.
 * CG_ACCUMULATING: that of detector->cause does so after its own reset. */
enum cg_instant { CG_SIDES_START, CG_SIDES_RESET, CG_SIDES_MODES /* only these may change */ };
int cg_sides_find(cg_run_t *run, int instant);
void cg_sides_go_on(cg_detector_t *detector); /* with what fires at the same time, if anything does */
int cg_sides_occurred(const cg_run_t *run, int32_t index, double t); /* whether the last time of an event was at t */
/* For guards that jump over zero. Where detector->leaving says so, cg_surface_distances puts distances from there in place of
 * values, those in the state x at t. cg_surface_jumps: whether the guard jumps closer than 2^doublings to run->x; for a
 * distance of one unit, cg_surface_near tells of all guards at once which of them may.
 * cg_surface_turns: whether the reset at run->t has turned the motion away from there, or towards it.
 * cg_surface_begin: before the first of these at an instant; late: the motion before it counts. detector->x_jump must stay. */
void cg_surface_begin(cg_run_t *run, int late);
void cg_surface_near(cg_run_t *run, double *near);
int cg_surface_jumps(cg_run_t *run, int32_t index, int doublings);
int cg_surface_turns(cg_run_t *run, int32_t index);
void cg_surface_distances(cg_run_t *run, double t, const double *x, double *guards);
static inline int cg_detector_is_kink(const cg_run_t *run, int32_t index)
{
    return index >= run->model->n_events && index < run->model->n_guards;
}
/* What the flow that follows shows of the guards that are zero at run->t, their values there in detector->end.
 * cg_ahead_guards: how many have the side of the flow; with derivatives, which kinks change, those of kinks too.
 * cg_ahead_rounding: what of the guards from `first` on is rounding error of the state and the time, to detector->noise.
 * cg_ahead_look: follows the flow for the guards whose entry in detector->leaving is not settled. */
int32_t cg_ahead_guards(const cg_run_t *run);
void cg_ahead_rounding(cg_run_t *run, int32_t first);
int cg_ahead_look(cg_run_t *run);
int cg_detector_ends(const cg_detector_t *detector, int32_t index); /* whether `index`, which is zero now, ends the run */
int cg_detector_has_room(const cg_detector_t *detector, int64_t rows); /* in its log, if it has one */
void cg_detector_log(cg_run_t *run, int32_t cause, const cg_record_t *record, const double *before);
void cg_events_before_step(cg_run_t *run);
void cg_locate_take_back(cg_run_t *run); /* cg_correct_take_back, to repeat the step */
/* Repeats the step up to the zero of the quantity `index`, near the time t, unless it ends there already; the zero was
 * found in a step to `end`. *landed is 0 if the method required a shorter step, or if the quantity is not zero there: the
 * event must then be searched for in that step. cg_locate_kink: the same for a right-hand side that changes at the zero, near
 * a fraction theta of the step; it ends on the far side. */
int cg_locate(cg_run_t *run, int32_t index, double t, double end, int *landed);
int cg_locate_kink(cg_run_t *run, int32_t index, double theta, int *landed);
/* For a quantity that jumps over zero so soon that the step cannot end there: it ends where the number at t allows, behind it. */
int cg_locate_behind_start(cg_run_t *run, int32_t index, int *landed);
/* 1: at detector->root the guard only touches zero: it seems to cross since the step is off the constraints. *back: where it has
 * its sign again, a fraction of the step, or 2. */
int cg_touch_only(cg_run_t *run, int32_t index, double *back);
int cg_locate_goes_back(cg_run_t *run, int32_t index); /* whether the motion behind this kink, at the end, leads back */
int cg_locate_spent(const cg_run_t *run);     /* whether max_steps is reached */
/* A step, and the kink up to which it was repeated, or -1. */
int cg_events_step(cg_run_t *run, int32_t *ends_at);
int cg_events_after_step(cg_run_t *run, int32_t ends_at); /* finds events in it; may shorten or take it back */
/* The last step, to `end`, was repeated up to a crossing of the quantity `index`, the only one in it, at the time `goal`; the
 * method may have made it shorter. */
int cg_events_arrive(cg_run_t *run, int32_t index, double goal, double end);
/* Derivatives in the state, after what has fired is handled; the state before is in run->moved. */
int cg_jump_event(cg_run_t *run);
/* What this kink is in a state x on it, enum cg_kink_is: where it goes on, derivatives in the state do not jump. So it is where
 * there are none. */
int cg_jump_kink(cg_run_t *run, int32_t kink, double t, const double *x, int *is);
int cg_jump_start(cg_run_t *run, int32_t known); /* enum cg_jump_starts */
int cg_event_handling_conditions(cg_run_t *run); /* events whose condition does not hold have only crossed zero */
int cg_event_handling_now(cg_run_t *run, cg_record_t *record); /* handles the events at run->t; a pause or CG_OK */

void cg_held_activate(cg_run_t *run); /* which guards are observed in the present modes */
/* Adds to detector->fired the guards that arrive at zero with slips in it, which end now; sign_new: the sides before. */
void cg_held_arrive(cg_run_t *run);
/* Chooses the modes of all contacts with detector->free set, and of all normal forces. CG_PARADOX: see n_solutions. */
int cg_modes_choose(cg_run_t *run);
/* The same at a start and after a reset; on a kink those that fit on the side to which the motion goes, as early as that is
 * seen: *ahead is how much later if that changes them, and then cg_ahead_leave moves the state there, and makes the derivative
 * and what is observed at run->t those of this side. */
int cg_ahead_choose_modes(cg_run_t *run, double *ahead);
int cg_ahead_leave(cg_run_t *run, double ahead);
/* Determines which contacts are free to change: those that stick, have just stopped, or have no slip velocity; the
 * others get the direction of their slip. fresh: at the start or after a reset, when modes do not follow velocities. */
int cg_modes_free(cg_run_t *run, int fresh);
int cg_modes_held(cg_run_t *run, int32_t contact); /* whether a contact in a mode of slip is held by those that stick */
void cg_modes_activate(cg_run_t *run); /* what is observed of each contact in its mode */
int cg_modes_project(cg_run_t *run); /* makes the slip velocities of sticking contacts exactly zero */

/* The kernels of the model, or those that take the tangents along. */
static inline int cg_run_rhs(cg_run_t *run, double t, const double *x, double *out)
{
    return run->varied == NULL ? run->rhs(t, x, run->p, run->u, out, run->work)
                               : run->varied->rhs(run->n_blocks, t, x, run->p, run->u, out, run->work);
}
int cg_evaluate_run_hoist(cg_run_t *run); /* what depends on run->p alone, after it */
int cg_evaluate_project(cg_run_t *run, double *out);
int cg_evaluate_reset(cg_run_t *run, int32_t event, double *out);

int cg_evaluate_run_inputs(cg_run_t *run, double t, const double *x); /* brings run->u to time t */
cg_time_t cg_driver_segment(cg_run_t *run, cg_time_t t); /* sets sampled inputs for the segment from t on; its end */
/* To u_slope, how fast functions of the time change, by differences into the past, or the future if less of it is known. */
int cg_evaluate_input_slopes(cg_run_t *run, double past);
int cg_evaluate_derivative(cg_run_t *run);                        /* run->f at run->t, if it is not known */
/* One call of the right-hand side outside a step. CG_NONFINITE: the derivative is not finite. */
int cg_evaluate_probe(cg_run_t *run, double t, const double *x, double *out);
double cg_evaluate_run_first(const cg_run_t *run, double longest); /* the first step, from run->x and run->f */
void cg_correct_begin(cg_run_t *run); /* finds the kernel for run->projection */
/* The status of a step that failed from here; CG_RANK_CHANGED near a singular position. */
int cg_correct_failure(const cg_model_t *model, int status, double t, const double *x, const double *p, const double *u,
                       double *work);
/* CG_UNCLOSED: the state is off the constraints, and was not in the state before. residuals: [6 * n_consistency] */
int cg_correct_left(cg_run_t *run, const double *before, double *residuals);
/* The state x at time t moved onto the constraints by one of Newton's steps; tangents are left out. run->u is that at t. */
int cg_correct_moved_back(cg_run_t *run, double t, const double *x, double *out);
int cg_correct_run_step(cg_run_t *run); /* one accepted step that ends on the constraints */
int cg_correct_run(cg_run_t *run); /* what it does after the step of the method */
void cg_correct_take_back(cg_run_t *run); /* back to the start of the last step, whose end is then in x_old and f_old */
int cg_record_jump(cg_run_t *run, cg_record_t *record);      /* records the state after an event too */

/* A short time in which the motion changes little, used to look ahead; detector->f must be run->f. */
double cg_detector_moment(const cg_run_t *run);
/* The observed quantities `only` (see cg_detector_evaluate) a moment later on the tangent of the motion, in detector->values;
 * the state there in detector->x. */
int cg_ahead_later(cg_run_t *run, int32_t only, double *moment);

#endif /* CG_INTERNAL_H */
