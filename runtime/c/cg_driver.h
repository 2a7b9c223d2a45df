/* cg_driver.h: runs a model with a method: one trajectory. Many: cg_ensemble.h.
 *
 *     size_t size = cg_run_size(model, "dop853");
 *     cg_run_t *run = aligned memory of that size (cg_run_new does it);
 *     cg_run_init(run, size, model, "dop853", 0);
 *     fill run->p, run->u, run->atol; set run->rtol, run->max_step ..., run->signals, run->input_fn, run->stop;
 *     cg_run_start(run, t0, x0, t_end);
 *     while ((status = cg_drive(run, &record, budget)) > 0) { drain or enlarge the record; look at signals }
 * Nothing here allocates except cg_run_new. The files cg_*.c in this folder belong together.
 */
#ifndef CG_DRIVER_H
#define CG_DRIVER_H

#include "cg_run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Positive results of cg_drive: call it again to continue. */
enum cg_pause {
    CG_OUTPUT_FULL = 16, /* the record has no room; empty or enlarge it */
    CG_BUDGET_USED = 17, /* `budget` steps were taken */
    CG_EVENTS_FULL = 18  /* the log of the run's detector has no room; empty it (cg_events.h) */
};

enum cg_run_flags { CG_RUN_TABLE = 1 /* use a method compiled into the model only if the table does not have it */ };

#define CG_AUTO_EXPLICIT "dop853" /* the explicit method of "auto", for motion that is not stiff */

/* The methods for any model; a model may contain the same ones with its right-hand side inlined, and others. */
const cg_method_t *cg_method_table(void); /* ended by a NULL name */

/* Copies a method of a model, else of the table; with CG_RUN_TABLE in `flags` the other way round. 0: unknown. */
int cg_method_find(const cg_model_t *model, const char *name, int32_t flags, cg_method_t *found);

size_t cg_run_size(const cg_model_t *model, const char *method); /* bytes; 0: unknown method */
cg_run_t *cg_run_new(size_t size); /* 64-byte aligned and zero; NULL: no memory. Not compiled with CG_NO_HEAP */
void cg_run_delete(cg_run_t *run);

/* Lays out a block (64-byte aligned) and sets defaults: p and u from the examples, NaN without one; atol CG_ATOL.
 * CG_BAD_ARGUMENT: unknown method, block too small or not aligned, model of another ABI version.
 * CG_UNSUPPORTED: the method needs a Jacobian and the model has none. */
int cg_run_init(cg_run_t *run, size_t size, const cg_model_t *model, const char *method, int32_t flags);

/* Between calls of cg_drive: takes the functions of the run's method anew, after model->methods has got them. The same
 * bits follow. */
void cg_run_method(cg_run_t *run, const char *method);

/* For languages that do not read the structure of a run: its arrays p [n_parameters], u [n_inputs + n_modes] and x
 * [n_states], which moves with each step; its tolerances, one atol for all states; the step of a fixed-step method; what steps are moved back to. */
double *cg_run_p(cg_run_t *run);
double *cg_run_u(cg_run_t *run);
double *cg_run_x(cg_run_t *run);
void cg_run_set_tolerances(cg_run_t *run, double rtol, double atol);
void cg_run_set_step(cg_run_t *run, double step);
void cg_run_set_projection(cg_run_t *run, int32_t projection); /* enum cg_projection, before cg_run_start */

/* Starts at t0, x0 (n_states values). CG_NONFINITE: a time or a state is not finite. CG_BAD_ARGUMENT: a tolerance
 * or step option is out of range, or a fixed-step method has neither first_step nor a finite max_step. */
int cg_run_start(cg_run_t *run, cg_time_t t0, const double *x0, cg_time_t t_end);

cg_time_t cg_run_time(const cg_run_t *run); /* the time that the run has reached */

/* Continues the run to another end; keeps the step size. Clears a pause or an error. */
int cg_run_extend(cg_run_t *run, cg_time_t t_end);

/* Call this after changing u or signals. A guard that they carry over zero has crossed it: its event occurs at the
 * beginning of the next step. Inputs set before the first step belong to the start. */
void cg_run_inputs_changed(cg_run_t *run);

/* Call this after changing p or x in the middle of a run: as at a start, nothing is said to have crossed. */
void cg_run_changed(cg_run_t *run);

/* The same, after changing x or p so much that the step size should be chosen again, as at the start. */
void cg_run_moved(cg_run_t *run);

/* Copies a block saved with memcpy(saved, run, run->size) back into a run made by cg_run_init with the same model and
 * method; set its signals and input_fn before. The run then continues bit for bit. CG_BAD_ARGUMENT, and the run is
 * unchanged: the block is of another model or method, or damaged where memory safety depends on it. */
int cg_run_restore(cg_run_t *run, const void *saved, size_t size);

/* What to record of a run; every array belongs to the caller, `n_...` are counters that the driver advances.
 * With t_eval: the state at those times (ordered in the direction of the run; times outside it are skipped).
 * Without: the start and every step. A row's state goes to y[row * y_row + i * y_col]. */
typedef struct cg_record {
    const cg_time_t *t_eval; /* NULL: every step */
    int64_t n_eval;
    int64_t next_eval; /* the next entry of t_eval */
    cg_time_t *t;      /* [capacity]; NULL: times are not kept */
    double *y;         /* NULL: states are not kept; only the end is available, in run->t, run->x */
    int64_t y_row;
    int64_t y_col;
    int64_t capacity; /* rows that fit */
    int64_t n_rows;   /* rows written */
    double *coef;     /* NULL, or the interpolant of every step: [capacity_dense][n_dense][n] */
    cg_time_t *coef_t; /* [capacity_dense][2]: start and end of the step */
    int64_t capacity_dense;
    int64_t n_coef;
    int64_t started; /* 1 once the row of the start is written; 0 initially */
    /* NULL, or called at the start and after a jump at an event (stepped = 0), and after every accepted step (1), over
     * which it may interpolate. Any result except CG_OK ends the run. */
    int (*watch)(void *context, cg_run_t *run, int stepped);
    void *watch_context;
} cg_record_t;

/* Steps until t_end (CG_OK), a pause (enum cg_pause) or an error (enum cg_status). run->t and run->x are then the
 * last point reached, and the record contains everything up to it. `budget`: trial steps in this call; negative: no
 * limit. record may be NULL. */
int cg_drive(cg_run_t *run, cg_record_t *record, int64_t budget);

/* Steps to the time t without a record: cg_run_extend, then cg_drive. CG_BAD_ARGUMENT: t is before run->t and the model
 * has contacts, whose friction cannot be run backward. */
int cg_run_advance(cg_run_t *run, cg_time_t t);

/* Writes the state at time t inside the last step to out[i * stride]; at both ends it is the state itself. Between them
 * it is available only until the next call of cg_drive, since a trial step overwrites the stages. */
int cg_run_interpolate(cg_run_t *run, cg_time_t t, double *out, int64_t stride);

/* Adds the last step (or the start of the run) to the record. CG_OUTPUT_FULL: call it again when there is room.
 * cg_drive does this. */
int cg_record_step(cg_run_t *run, cg_record_t *record);

/* Interpolant of any method: theta = (t - t_start) / (t_end - t_start), and with c_j = coef[j * ld ...],
 * y = c_0 + theta (c_1 + (1 - theta) (c_2 + theta (c_3 + (1 - theta) (c_4 + ...)))). */
void cg_dense_evaluate(const double *coef, int64_t n_dense, int64_t ld, int64_t n, double theta, double *out,
                       int64_t stride);

/* A status or a pause in words. */
const char *cg_status_text(int status);

#ifdef __cplusplus
}
#endif

#endif /* CG_DRIVER_H */
