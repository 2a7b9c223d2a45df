/* cg_correct.c: steps that end on the constraints; see cg_projection in cg_run.h.
 *
 * An accepted step leaves the constraints by its local error, and over a long run that adds up. Here its end is moved
 * back by Newton's method, whose steps the model's kernel computes. The error estimate of the step is that of its end
 * before. The interpolant is made of the states and derivatives at both ends, so it ends in the moved state. If the end
 * cannot be moved back, for whatever reason, the step is taken back and repeated with a quarter of its length, until
 * that is short enough to say where the trouble lies; the run then ends at its start.
 */
#include "cg_internal.h"
#include "cg_step.h"

void cg_correct_begin(cg_run_t *run)
{
    const cg_kernel_entry_t *entry = NULL;
    if (run->projection == CG_PROJECT_ALL) {
        entry = cg_kernel(run->model, "correction_all");
    }
    if (entry == NULL && run->projection != CG_PROJECT_NONE) {
        entry = cg_kernel(run->model, "correction");
    }
    run->correction = entry;
    run->unmet = entry != NULL ? cg_kernel(run->model, "unmet") : NULL;
}

/* The largest component of run->moved in units of the tolerance. */
static double cg_correct_moved(const cg_run_t *run)
{
    double size = 0.0;
    for (int32_t i = 0; i < run->n_own; i++) {
        size = cg_larger(size, fabs(run->moved[i]) / cg_step_scale(run->atol[i], run->rtol, run->x[i], run->x[i]));
    }
    return size;
}

/* One step of Newton's method from x, without tangents, to out. */
static int cg_correct_kernel(cg_run_t *run, double model_t, const double *x, double *out)
{
    const cg_kernel_entry_t *const entry = run->correction;
    return entry->takes == CG_TAKES_DIRECTION
        ? ((cg_jvp_t)entry->function)(model_t, x, run->p, run->u, run->x_start, out, run->work)
        : ((cg_kernel_t)entry->function)(model_t, x, run->p, run->u, out, run->work);
}

/* run->moved becomes one step of Newton's method from run->x, and *size its largest component in units of the tolerance. */
static int cg_correct_step(cg_run_t *run, double *size)
{
    const double t = cg_time_of_model(run, run->t);
    CG_TRY(run->varied == NULL ? cg_correct_kernel(run, t, run->x, run->moved)
                               : run->varied->correction(run->n_blocks, t, run->x, run->p, run->u, run->moved, run->work));
    *size = cg_correct_moved(run);
    return cg_step_finite(run->moved, run->n) ? CG_OK : CG_NONFINITE;
}

/* Whether redundant constraints contradict each other at run->x. */
static int cg_correct_agreed(cg_run_t *run)
{
    if (run->unmet == NULL) {
        return CG_OK;
    }
    const double t = cg_time_of_model(run, run->t);
    const int status = ((cg_kernel_t)run->unmet->function)(t, run->x, run->p, run->u, run->moved, run->work);
    return status != CG_OK || cg_correct_moved(run) <= CG_MOST_UNMET ? status : CG_UNCLOSED;
}

/* Moves run->x onto the constraints. */
static int cg_correct_state(cg_run_t *run)
{
    for (int step = 0; step < CG_MOST_CORRECTIONS; step++) {
        double size;
        CG_TRY(cg_correct_step(run, &size));
        if (size <= cg_close_enough(step)) {
            return cg_correct_agreed(run);
        }
        for (int32_t i = 0; i < run->n; i++) {
            run->x[i] += run->moved[i];
        }
        run->n_corrections = step + 1;
    }
    return CG_UNCLOSED;
}

int cg_correct_moved_back(cg_run_t *run, double t, const double *x, double *out)
{
    const int status = cg_correct_kernel(run, cg_time_of_model(run, t), x, out);
    for (int32_t i = 0; i < run->n_own; i++) {
        out[i] += x[i];
    }
    return status;
}

int cg_correct_left(cg_run_t *run, const double *before, double *residuals)
{
    const cg_model_t *const model = run->model;
    const int32_t n = model->consistency == NULL ? 0 : model->n_consistency;
    const double t = cg_time_of_model(run, run->t);
    double atol = CG_ATOL;
    for (int32_t i = 0; i < run->n_own; i++) {
        atol = cg_smaller(atol, run->atol[i]);
    }
    if (n == 0 || model->consistency(t, before, run->p, run->u, residuals, run->work) != CG_OK) {
        return CG_OK;
    }
    double *const now = residuals + 3 * (ptrdiff_t)n;
    const int status = model->consistency(t, run->x, run->p, run->u, now, run->work);
    for (int32_t i = 0; i < 3 * n && status == CG_OK; i += 3) {
        const double size = cg_larger(now[i + 1], CG_LEAST_TERMS * atol * now[i + 2]);
        if (!(fabs(now[i]) <= cg_larger(CG_REFUSED * size, 2.0 * fabs(residuals[i])))) {
            return CG_UNCLOSED;
        }
    }
    return status;
}

int cg_correct_failure(const cg_model_t *model, int status, double t, const double *x, const double *p, const double *u,
                       double *work)
{
    const cg_kernel_entry_t *const entry = cg_kernel(model, "rank");
    const double lost = status == CG_UNCLOSED ? CG_RANK_UNCLOSED : CG_RANK_LOST;
    double smallest;
    if (entry == NULL
        || (status != CG_SINGULAR && status != CG_NONFINITE && status != CG_STEP_TOO_SMALL && status != CG_UNCLOSED)) {
        return status;
    }
    const int found = ((cg_kernel_t)entry->function)(t, x, p, u, &smallest, work);
    return found == CG_OK && !(smallest > lost) ? CG_RANK_CHANGED : status; /* NaN: several are lost */
}

void cg_correct_take_back(cg_run_t *run)
{
    double *const x = run->x;
    double *const f = run->f;
    run->x = run->x_old;
    run->x_old = x;
    run->f = run->f_old;
    run->f_old = f;
    run->t = run->t_old;
    run->have_dense = 0;
    run->n_steps--;
    run->n_rejected++;
}

int cg_correct_run_step(cg_run_t *run)
{
    for (;;) {
        int status = run->step(run);
        if (status == CG_OK) {
            status = cg_correct_run(run);
        }
        if (status != CG_UNCLOSED) {
            return status;
        }
        const double length = fabs(run->t - run->t_old);
        if (!run->adaptive || length <= cg_step_located(run->t_old)) {
            const double t = cg_time_of_model(run, run->t);
            status = cg_correct_failure(run->model, status, t, run->x, run->p, run->u, run->work);
            cg_correct_take_back(run);
            return status;
        }
        cg_correct_take_back(run);
        run->h = CG_SHRINK_UNCLOSED * length;
        run->rejected = 1;
    }
}

int cg_correct_run(cg_run_t *run)
{
    run->n_corrections = 0;
    if (run->correction == NULL) {
        return CG_OK;
    }
    CG_TRY(cg_evaluate_run_inputs(run, run->t, run->x));
    int status = cg_correct_state(run);
    if (status == CG_OK && run->n_corrections > 0) {
        run->have_dense = 0;
        status = cg_evaluate_probe(run, run->t, run->x, run->f);
    }
    return status == CG_SINGULAR || status == CG_NONFINITE ? CG_UNCLOSED : status;
}
