/* cg_adjoint.c: gradients by the adjoint of the steps of a run; see cg_adjoint.h. */
#include "cg_adjoint.h"
#include "cg_internal.h"
#include "cg_tableaus.h"

#include <math.h>

const cg_tableau_t *cg_tableau(const char *method)
{
    const cg_tableau_t *tableau = cg_tableaus;
    while (tableau->method != NULL && strcmp(tableau->method, method) != 0) tableau++;
    return tableau->method == NULL ? NULL : tableau;
}

/* ---- the steps forward ---- */

static void cg_trail_keep(cg_trail_t *trail, const cg_run_t *run, int64_t step)
{
    memcpy(trail->x + trail->n_kept * run->n, run->x, sizeof(double) * (size_t)run->n);
    trail->at[trail->n_kept++] = step;
}

/* The slopes of the last step, by rows. */
static void cg_slopes(const cg_run_t *run, int32_t n_stages, double *to)
{
    const size_t size = sizeof(double) * (size_t)run->n;
    memcpy(to, run->f_old, size);
    for (int32_t i = 1; i < n_stages; i++) {
        memcpy(to + (ptrdiff_t)i * run->n, run->k + (ptrdiff_t)i * run->ld, size);
    }
}

/* Leaves every second state out. */
static void cg_trail_thin(cg_trail_t *trail, int32_t n)
{
    const int64_t half = (trail->n_kept + 1) / 2;
    for (int64_t i = 1; i < half; i++) {
        memcpy(trail->x + i * n, trail->x + 2 * i * n, sizeof(double) * (size_t)n);
        trail->at[i] = trail->at[2 * i];
    }
    trail->n_kept = half;
    trail->stride *= 2;
}

int cg_trail_watch(void *context, cg_run_t *run, int stepped)
{
    cg_trail_t *const trail = context;
    if (trail->n_steps + stepped > trail->capacity) {
        return CG_BAD_ARGUMENT;
    }
    if (stepped && trail->n_steps < trail->n_slopes) {
        cg_slopes(run, trail->n_stages, trail->slopes + trail->n_steps * trail->n_stages * run->n);
    }
    trail->n_steps += stepped;
    trail->t[trail->n_steps] = run->t;
    if (trail->n_steps % trail->stride != 0) {
        return CG_OK;
    }
    /* Where not all states fit, half of the slots are left to the sweep. */
    while (trail->n_kept >= (trail->stride == 1 ? trail->n_slots : trail->n_slots / 2)) {
        cg_trail_thin(trail, run->n);
    }
    if (trail->n_steps % trail->stride == 0) {
        cg_trail_keep(trail, run, trail->n_steps);
    }
    return CG_OK;
}

/* ---- the steps again ---- */

static void cg_go_to(const cg_adjoint_t *a, const double *x, int64_t step)
{
    memcpy(a->run->x, x, sizeof(double) * (size_t)a->run->n);
    a->run->t = a->trail->t[step];
    a->run->have_f = 0;
}

/* The derivative at the beginning of a step; the parameters are those of the run, so nothing else is computed anew. */
static int cg_slope_here(cg_run_t *run)
{
    const int status = run->have_f ? CG_OK : cg_run_probe(run, run->t, run->x, run->f);
    run->have_f = status == CG_OK;
    return status;
}

/* Takes a step again, from its beginning in run->x; its stages are then in the run. */
static int cg_repeat(cg_adjoint_t *a, int64_t step)
{
    cg_run_t *const run = a->run;
    int64_t stop = a->stop; /* the first one after the beginning of the step */
    while (stop > 0 && a->stops[stop - 1] > step) stop--;
    const int64_t first = stop > 0 ? a->stops[stop - 1] : 0;
    const int status = cg_slope_here(run);
    if (status != CG_OK) {
        return status;
    }
    if (run->adaptive) { /* up to its end at once */
        run->t_stop = a->trail->t[step + 1];
        run->h = fabs(run->t_stop - run->t);
    } else { /* on the grid that begins at the last stop */
        run->t_stop = a->trail->t[a->stops[stop]];
        run->t_anchor = a->trail->t[first];
        run->n_anchor = step - first;
    }
    run->rejected = 0;
    a->trail->n_repeated++;
    return run->step(run);
}

/* C(n, k), at most `most`. */
static double cg_choose(int64_t n, int64_t k, double most)
{
    double product = 1.0;
    for (int64_t i = 1; i <= k && product < most; i++) {
        product *= (double)(n - k + i) / (double)i;
    }
    return product < most ? product : most;
}

/* Where to store a state among `count` steps whose first one is stored, with `slots` free, so that the fewest steps are
 * repeated: A. Griewank, A. Walther, Algorithm 799: Revolve, ACM Trans. Math. Softw. 26 (2000) 19-45, with slots + 1
 * states C(slots + 1 + r, r) steps are reversed by r repetitions of each. */
static int64_t cg_next_kept(int64_t count, int64_t slots)
{
    const double steps = (double)count;
    if (slots == 0 || count < 2) {
        return count;
    }
    int64_t r = 1;
    while (cg_choose(slots + 1 + r, r, steps) < steps) r++;
    const double rest = cg_choose(slots + r, r, steps);
    return rest >= steps ? 1 : (int64_t)(steps - rest + 0.5);
}

/* Brings the run to the beginning of a step; every state after it is dropped. */
static int cg_bring(cg_adjoint_t *a, int64_t step)
{
    cg_trail_t *const trail = a->trail;
    while (trail->at[trail->n_kept - 1] > step) trail->n_kept--;
    int64_t now = trail->at[trail->n_kept - 1];
    cg_go_to(a, trail->x + (trail->n_kept - 1) * a->run->n, now);
    int64_t next = now + cg_next_kept(step + 1 - now, trail->n_slots - trail->n_kept);
    while (now < step) {
        const int status = cg_repeat(a, now);
        if (status != CG_OK) {
            return status;
        }
        now++;
        if (now == next) {
            cg_trail_keep(trail, a->run, now);
            next = now + cg_next_kept(step + 1 - now, trail->n_slots - trail->n_kept);
        }
    }
    return CG_OK;
}

/* ---- the steps back ---- */

/* Parts of `work`. */
typedef struct {
    double *y;      /* [n] a stage */
    double *w;      /* [n] the weights of its derivative */
    double *l;      /* [n_stages][n] */
    double *slopes; /* [n_stages][n] */
    double *value;  /* [n] */
    double *found;  /* [1 + n + n_parameters + n_inputs], also g and its derivatives */
    double *rest;
} cg_parts_t;

/* A step to go back over. */
typedef struct {
    double t, h;
    const double *x;      /* [n] at its beginning */
    const double *slopes; /* [n_stages][n] */
} cg_taken_t;

static size_t cg_found(const cg_model_t *model)
{
    return 1u + (size_t)(model->n_states + model->n_parameters + model->n_inputs);
}

static cg_parts_t cg_parts(const cg_adjoint_t *a)
{
    const size_t n = (size_t)a->run->n, rows = n * (size_t)a->tableau->n_stages;
    cg_parts_t parts;
    parts.y = a->work;
    parts.w = parts.y + n;
    parts.l = parts.w + n;
    parts.slopes = parts.l + rows;
    parts.value = parts.slopes + rows;
    parts.found = parts.value + n;
    parts.rest = parts.found + cg_found(a->run->model);
    return parts;
}

size_t cg_adjoint_work(const cg_adjoint_t *a, int32_t n_work)
{
    const int32_t other = a->integrand == NULL ? 0 : a->integrand->n_work;
    return (size_t)a->run->n * (size_t)(2 * a->tableau->n_stages + 3) + cg_found(a->run->model)
        + (size_t)(n_work > other ? n_work : other);
}

/* to += weight * v */
static void cg_add(double *CG_RESTRICT to, double weight, const double *CG_RESTRICT v, int32_t n)
{
    for (int32_t m = 0; m < n && weight != 0.0; m++) {
        to[m] += weight * v[m];
    }
}

/* Writes stage i of a step to parts->y. */
static void cg_stage(const cg_adjoint_t *a, const cg_parts_t *parts, const cg_taken_t *step, int32_t i)
{
    const int32_t n = a->run->n;
    const double *const row = a->tableau->a + (ptrdiff_t)i * a->tableau->n_stages;
    memcpy(parts->y, step->x, sizeof(double) * (size_t)n);
    for (int32_t j = 0; j < i; j++) {
        cg_add(parts->y, step->h * row[j], step->slopes + (ptrdiff_t)j * n, n);
    }
}

/* Writes w_i to parts->w; 0: it is zero. */
static int cg_weights(const cg_adjoint_t *a, const cg_parts_t *parts, int32_t i, double h)
{
    const int32_t n = a->run->n, stages = a->tableau->n_stages;
    int some = 0;
    memset(parts->w, 0, sizeof(double) * (size_t)n);
    cg_add(parts->w, h * a->tableau->b[i], a->lambda, n);
    for (int32_t j = i + 1; j < stages; j++) {
        cg_add(parts->w, h * a->tableau->a[j * stages + i], parts->l + (ptrdiff_t)j * n, n);
    }
    for (int32_t m = 0; m < n && !some; m++) {
        some = parts->w[m] != 0.0;
    }
    return some;
}

/* g at a stage: adds `weight` times it to the integral, and times its derivatives to l and to the gradient. */
static int cg_integrand(const cg_adjoint_t *a, const cg_parts_t *parts, double t, double weight, double *l)
{
    const cg_model_t *const model = a->run->model;
    const int32_t n = a->run->n;
    int32_t status = CG_OK;
    a->integrand->values(&t, parts->y, a->run->p, a->run->u, parts->found, &status, parts->rest);
    if (status != CG_OK) {
        return status;
    }
    *a->integral += weight * parts->found[0];
    cg_add(l, weight, parts->found + 1, n);
    cg_add(a->gradient, weight, parts->found + 1 + n, model->n_parameters + model->n_inputs);
    return CG_OK;
}

/* Back over a step: from the derivatives at its end to those at its beginning. */
static int cg_back(const cg_adjoint_t *a, const cg_parts_t *parts, const cg_taken_t *step)
{
    const cg_run_t *const run = a->run;
    const int32_t n = run->n;
    for (int32_t i = a->tableau->n_stages - 1; i >= 0; i--) {
        double *const l = parts->l + (ptrdiff_t)i * n;
        const double t = step->t + a->tableau->c[i] * step->h;
        const int some = cg_weights(a, parts, i, step->h);
        const int more = a->integrand != NULL && a->tableau->b[i] != 0.0;
        int status = CG_OK;
        memset(l, 0, sizeof(double) * (size_t)n);
        if (some || more) {
            cg_stage(a, parts, step, i);
        }
        if (some) {
            status = a->rhs->function(t, parts->y, run->p, run->u, parts->w, parts->value, parts->found, parts->rest);
            memcpy(l, parts->found + 1, sizeof(double) * (size_t)n);
            cg_add(a->gradient, 1.0, parts->found + 1 + n, run->model->n_parameters + run->model->n_inputs);
        }
        if (status == CG_OK && more) {
            status = cg_integrand(a, parts, t, step->h * a->tableau->b[i], l);
        }
        if (status != CG_OK) {
            return status;
        }
    }
    for (int32_t i = 0; i < a->tableau->n_stages; i++) {
        cg_add(a->lambda, 1.0, parts->l + (ptrdiff_t)i * n, n);
    }
    return CG_OK;
}

/* The step before a->step, with its slopes from the trail or by taking it again. */
static int cg_take_back(cg_adjoint_t *a)
{
    const cg_trail_t *const trail = a->trail;
    const cg_run_t *const run = a->run;
    const cg_parts_t parts = cg_parts(a);
    const int64_t k = a->step - 1;
    cg_taken_t step = {trail->t[k], trail->t[k + 1] - trail->t[k], NULL, NULL};
    int status = cg_bring(a, k);
    if (status == CG_OK && k < trail->n_slopes) {
        step.slopes = trail->slopes + k * trail->n_stages * run->n;
        step.x = run->x;
    } else if (status == CG_OK) {
        status = cg_repeat(a, k);
        cg_slopes(run, trail->n_stages, parts.slopes);
        step.slopes = parts.slopes;
        step.x = run->x_old;
    }
    return status == CG_OK ? cg_back(a, &parts, &step) : status;
}

/* The terms of the loss where a run has taken a->step steps. */
static void cg_jump(cg_adjoint_t *a)
{
    const int32_t n = a->run->n;
    while (a->stop > 0 && a->stops[a->stop - 1] == a->step) {
        a->stop--;
        cg_add(a->lambda, 1.0, a->jumps + a->stop * n, n);
    }
}

void cg_adjoint_begin(cg_adjoint_t *a)
{
    a->run->status = CG_OK;
    a->run->rtol = 1e100; /* steps that are repeated are accepted, whatever a compiler makes of them */
    a->step = a->trail->n_steps;
    a->stop = a->n_stops;
    *a->integral = 0.0;
    cg_jump(a);
}

int cg_adjoint_sweep(cg_adjoint_t *a, int64_t budget)
{
    while (a->step > 0) {
        if (budget-- == 0) {
            return CG_BUDGET_USED;
        }
        const int status = cg_take_back(a);
        if (status != CG_OK) {
            return status;
        }
        a->step--;
        cg_jump(a);
    }
    return CG_OK;
}
