/* cg_adjoint.c: gradients by the adjoint of the steps of a run; see cg_adjoint.h. */
#include "cg_adjoint.h"
#include "step/cg_internal.h"
#include "step/cg_step.h"
#include "methods/cg_tableaus.h"
#include "cg_trail.h"

const cg_tableau_t *cg_tableau(const char *method)
{
    const cg_tableau_t *tableau = cg_tableaus;
    while (tableau->method != NULL && strcmp(tableau->method, method) != 0) tableau++;
    return tableau->method == NULL ? NULL : tableau;
}

enum {
    CG_ACROSS = 4,      /* blocks of CG_WIDTH components that are summed at once, in registers */
    CG_MOST_STAGES = 32 /* more than any method has */
};

/* Parts of `work`. */
typedef struct {
    double *y;      /* [CG_MOST_CORRECTIONS][n] a stage; the ends of a step that is moved */
    double *w;      /* [n] the weights of its derivative */
    double *l;      /* [n_stages][n] */
    double *slopes; /* [n_stages][n] */
    double *q;      /* [n_hoisted] */
    double *terms;  /* [n_terms] the derivatives by the terms of the right-hand side, added up */
    double *value;  /* [n] or more: what a kernel gives */
    double *found;  /* what a derivative gives */
    double *rest;
} cg_parts_t;

/* A step to go back over. */
typedef struct {
    double t, h;
    const double *x;      /* [n] at its beginning */
    const double *slopes; /* [n_stages][n] */
    int ends_at_kink;
} cg_taken_t;

/* A weighted sum of vectors. */
typedef struct {
    int32_t count;
    double weights[CG_MOST_STAGES];
    const double *vectors[CG_MOST_STAGES];
} cg_sum_t;

static size_t cg_adjoint_found(const cg_adjoint_t *a)
{
    const cg_model_t *const model = a->model;
    const int32_t terms = a->backward->n_terms, by_p = model->n_parameters;
    return 1u + (size_t)(2 * model->n_states + model->n_inputs + (terms > by_p ? terms : by_p));
}

/* The most results of any kernel that is called. */
static size_t cg_adjoint_values(const cg_adjoint_t *a)
{
    int32_t most = a->run->n_own;
    for (int64_t i = 0; i < a->n_integrands; i++) {
        const cg_derivative_t *const kernel = a->integrands[i].kernel;
        most = kernel != NULL && kernel->n_values > most ? kernel->n_values : most;
    }
    return (size_t)most;
}

static cg_parts_t cg_adjoint_parts(const cg_adjoint_t *a)
{
    const size_t n = (size_t)a->run->n_own, rows = n * (size_t)a->tableau->n_stages;
    cg_parts_t parts;
    parts.y = a->work;
    parts.w = parts.y + CG_MOST_CORRECTIONS * n;
    parts.l = parts.w + n;
    parts.slopes = parts.l + rows;
    parts.q = parts.slopes + rows;
    parts.terms = parts.q + a->backward->n_hoisted;
    parts.value = parts.terms + a->backward->n_terms;
    parts.found = parts.value + cg_adjoint_values(a);
    parts.rest = parts.found + cg_adjoint_found(a);
    return parts;
}

size_t cg_adjoint_work(const cg_adjoint_t *a)
{
    int32_t most = a->backward->derivatives->n_work;
    most = a->model->n_work > most ? a->model->n_work : most;
    for (int64_t i = 0; i < a->n_integrands; i++) {
        const cg_companion_t *const expression = a->integrands[i].expression;
        most = expression != NULL && expression->n_work > most ? expression->n_work : most;
    }
    const size_t rows = (size_t)(2 * a->tableau->n_stages + CG_MOST_CORRECTIONS + 1);
    return (size_t)a->run->n_own * rows + cg_adjoint_values(a) + cg_adjoint_found(a)
        + (size_t)(a->backward->n_hoisted + a->backward->n_terms + most);
}

/* to += v */
static void cg_adjoint_add(double *CG_RESTRICT to, const double *CG_RESTRICT v, int32_t n)
{
    for (int32_t m = 0; m < n; m++) {
        to[m] += v[m];
    }
}

/* to += weight * v */
static void cg_adjoint_add_weighted(double *CG_RESTRICT to, double weight, const double *CG_RESTRICT v, int32_t n)
{
    for (int32_t m = 0; m < n; m++) {
        to[m] = cg_plus(to[m], weight, v[m]);
    }
}

static CG_INLINE cg_block_t cg_adjoint_block_at(const double *a) { return *(const cg_loose_t *)(const void *)a; }

static void cg_adjoint_term(cg_sum_t *sum, double weight, const double *vector)
{
    if (weight != 0.0) {
        sum->weights[sum->count] = weight;
        sum->vectors[sum->count++] = vector;
    }
}

/* to = from + the sum; from: NULL for zeros. `across` blocks at once, of which the last ones may be computed twice. */
static CG_INLINE void cg_adjoint_sum_across(double *to, const double *from, const cg_sum_t *sum, int32_t n,
                                            const int32_t across)
{
    static const double zeros[CG_WIDTH] = {0.0};
    const int32_t width = across * CG_WIDTH;
    for (int32_t done = 0; done < n; done += width) {
        const int32_t first = done + width <= n ? done : n - width;
        cg_block_t total[CG_ACROSS];
        for (int32_t m = 0; m < across; m++) {
            total[m] = cg_adjoint_block_at(from != NULL ? from + first + m * CG_WIDTH : zeros);
        }
        for (int32_t j = 0; j < sum->count; j++) {
            for (int32_t m = 0; m < across; m++) {
                const cg_block_t v = cg_adjoint_block_at(sum->vectors[j] + first + m * CG_WIDTH);
                total[m] = cg_block_plus(total[m], sum->weights[j], v);
            }
        }
        for (int32_t m = 0; m < across; m++) {
            *(cg_loose_t *)(void *)(to + first + m * CG_WIDTH) = total[m];
        }
    }
}

/* `to` is none of the vectors. */
static void cg_adjoint_sum(double *to, const double *from, const cg_sum_t *sum, int32_t n)
{
    if (n >= CG_ACROSS * CG_WIDTH) {
        cg_adjoint_sum_across(to, from, sum, n, CG_ACROSS);
    } else if (n >= CG_WIDTH) {
        cg_adjoint_sum_across(to, from, sum, n, 1);
    } else {
        for (int32_t m = 0; m < n; m++) {
            double total = from == NULL ? 0.0 : from[m];
            for (int32_t j = 0; j < sum->count; j++) {
                total = cg_plus(total, sum->weights[j], sum->vectors[j][m]);
            }
            to[m] = total;
        }
    }
}

/* to = x + h sum_j weights[j] k_j of a step: a stage, or the end. */
static void cg_adjoint_advance(const cg_adjoint_t *a, const cg_taken_t *step, const double *weights, int32_t count, double *to)
{
    cg_sum_t sum;
    sum.count = 0;
    for (int32_t j = 0; j < count; j++) {
        cg_adjoint_term(&sum, step->h * weights[j], step->slopes + (ptrdiff_t)j * a->run->n_own);
    }
    cg_adjoint_sum(to, step->x, &sum, a->run->n_own);
}

/* Writes w_i to parts->w; 0: it is zero. */
static int cg_adjoint_weights(const cg_adjoint_t *a, const cg_parts_t *parts, int32_t i, double h)
{
    const int32_t n = a->run->n_own, stages = a->tableau->n_stages;
    cg_sum_t sum;
    int some = 0;
    sum.count = 0;
    cg_adjoint_term(&sum, h * a->tableau->b[i], a->lambda);
    for (int32_t j = i + 1; j < stages; j++) {
        cg_adjoint_term(&sum, h * a->tableau->a[j * stages + i], parts->l + (ptrdiff_t)j * n);
    }
    cg_adjoint_sum(parts->w, NULL, &sum, n);
    for (int32_t m = 0; m < n && !some; m++) {
        some = parts->w[m] != 0.0;
    }
    return some;
}

/* The sum of t, the stage, the parameters and the inputs with weights. */
static double cg_adjoint_weighted(const cg_adjoint_t *a, const cg_parts_t *parts, double t, const double *weights)
{
    const cg_model_t *const model = a->model;
    const double *const vectors[] = {&t, parts->y, a->run->p, a->run->u};
    const int32_t lengths[] = {1, model->n_states, model->n_parameters, model->n_inputs};
    double sum = 0.0;
    for (int i = 0; i < 4; i++) {
        for (int32_t m = 0; m < lengths[i]; m++) {
            sum = cg_plus(sum, *weights++, vectors[i][m]);
        }
    }
    return sum;
}

/* Notes what an error is from. */
static int cg_adjoint_noted(cg_adjoint_t *a, int status, const char *kernel, double t)
{
    if (status != CG_OK) {
        a->failed = kernel;
        a->failed_at = t;
    }
    return status;
}

/* g at a stage: adds `weight` times it to the integral, and times its derivatives to l and to the gradient. */
static int cg_adjoint_integrand(cg_adjoint_t *a, const cg_parts_t *parts, const cg_integrand_t *g, double t, double weight,
                                double *l)
{
    const cg_run_t *const run = a->run;
    const double *slopes = parts->found + 1; /* by x, p and the inputs */
    int32_t status = CG_OK;
    double value = 0.0;
    if (g->expression != NULL) {
        g->expression->values(&t, parts->y, run->p, run->u, parts->found, &status, parts->rest);
        value = parts->found[0];
    } else if (g->kernel != NULL) {
        status = g->kernel->function(t, parts->y, run->p, run->u, g->weights, parts->value, parts->found, parts->rest);
        for (int32_t i = 0; i < g->kernel->n_values; i++) {
            value = cg_plus(value, g->weights[i], parts->value[i]);
        }
    } else {
        value = cg_adjoint_weighted(a, parts, t, g->weights);
        slopes = g->weights + 1;
    }
    if (status == CG_OK) {
        *a->integral += weight * value;
        cg_adjoint_add_weighted(l, weight, slopes, run->n_own);
        cg_adjoint_add_weighted(a->gradient, weight, slopes + run->n_own, a->model->n_parameters + a->model->n_inputs);
    }
    return cg_adjoint_noted(a, status, g->kernel != NULL ? g->kernel->kernel : "integrand", t);
}

/* l = f_x(Y)^T w at a stage, and what belongs to it in the derivatives by the terms and the inputs. */
static int cg_adjoint_transposed(cg_adjoint_t *a, const cg_parts_t *parts, double t, double *l)
{
    const cg_run_t *const run = a->run;
    const cg_model_t *const model = a->model;
    const double *const found = parts->found + run->n_own + 1; /* after f and f_t */
    const int status = a->backward->rhs(t, parts->y, run->p, parts->q, run->u, parts->w, parts->found, parts->rest);
    memcpy(l, found, sizeof(double) * (size_t)run->n_own);
    cg_adjoint_add(a->gradient + model->n_parameters, found + run->n_own, model->n_inputs);
    cg_adjoint_add(parts->terms, found + run->n_own + model->n_inputs, a->backward->n_terms);
    return cg_adjoint_noted(a, status, "rhs", t);
}

/* A stage at the end of a step that ends at a kink can lie beyond it, by the error of the stage: to where its derivatives
 * are those before the kink, in the time and the state. */
static void cg_adjoint_before_kink(const cg_adjoint_t *a, const cg_taken_t *step, const double *slope, double *t, double *y)
{
    const double beside = 1e-12, beyond = 4096.0 * cg_step_smallest(*t); /* further than a step that ends at a kink goes beyond it */
    double size = 1.0, rate = 0.0;
    for (int32_t m = 0; m < a->run->n_own; m++) {
        size = fmax(size, fabs(y[m]));
        rate = fmax(rate, fabs(slope[m]));
    }
    const double moment = copysign(fmin(fmax(beyond, beside * size / fmax(rate, 1e-300)), 0.01 * fabs(step->h)), step->h);
    cg_adjoint_add_weighted(y, -moment, slope, a->run->n_own);
    *t -= moment;
}

/* Back over a step: from the derivatives at its end to those at its beginning. */
static int cg_adjoint_back(cg_adjoint_t *a, const cg_parts_t *parts, const cg_taken_t *step)
{
    const int32_t n = a->run->n_own, stages = a->tableau->n_stages;
    for (int32_t i = stages - 1; i >= 0; i--) {
        double *const l = parts->l + (ptrdiff_t)i * n;
        double t = step->t + a->tableau->c[i] * step->h;
        const int some = cg_adjoint_weights(a, parts, i, step->h);
        const int64_t more = a->tableau->b[i] != 0.0 ? a->n_integrands : 0;
        if (some || more > 0) {
            cg_adjoint_advance(a, step, a->tableau->a + (ptrdiff_t)i * stages, i, parts->y);
            if (step->ends_at_kink && a->tableau->c[i] >= 1.0) {
                cg_adjoint_before_kink(a, step, step->slopes + (ptrdiff_t)i * n, &t, parts->y);
            }
            CG_TRY(cg_adjoint_noted(a, cg_evaluate_run_inputs(a->run, t, parts->y), "rhs", t));
        }
        if (some) {
            CG_TRY(cg_adjoint_transposed(a, parts, t, l));
        } else {
            memset(l, 0, sizeof(double) * (size_t)n);
        }
        for (int64_t g = 0; g < more; g++) {
            CG_TRY(cg_adjoint_integrand(a, parts, &a->integrands[g], t, step->h * a->tableau->b[i], l));
        }
    }
    for (int32_t i = 0; i < stages; i++) {
        cg_adjoint_add(a->lambda, parts->l + (ptrdiff_t)i * n, n);
    }
    return CG_OK;
}

/* Back over the `count` steps of Newton's method that moved the end of a step. */
static int cg_adjoint_back_to_unmoved(cg_adjoint_t *a, const cg_parts_t *parts, const cg_taken_t *step, int32_t count)
{
    const cg_run_t *const run = a->run;
    const cg_model_t *const model = a->model;
    const double t = step->t + step->h;
    int status = CG_OK;
    cg_adjoint_advance(a, step, a->tableau->b, a->tableau->n_stages, parts->y);
    status = cg_evaluate_run_inputs(a->run, t, parts->y);
    for (int32_t i = 1; i < count && status == CG_OK; i++) {
        double *const y = parts->y + (ptrdiff_t)i * run->n_own;
        status = ((cg_kernel_t)a->move->function)(t, y - run->n_own, run->p, run->u, y, parts->rest);
        cg_adjoint_add(y, y - run->n_own, run->n_own);
    }
    for (int32_t i = count - 1; i >= 0 && status == CG_OK; i--) {
        const double *const y = parts->y + (ptrdiff_t)i * run->n_own;
        status = a->correction->function(t, y, run->p, run->u, a->lambda, parts->value, parts->found, parts->rest);
        cg_adjoint_add(a->lambda, parts->found + 1, run->n_own);
        cg_adjoint_add(a->gradient, parts->found + 1 + run->n_own, model->n_parameters + model->n_inputs);
    }
    return cg_adjoint_noted(a, status, a->correction->kernel, t);
}

/* The step before a->step, with its slopes from the trail or by taking it again. */
static int cg_adjoint_take_back(cg_adjoint_t *a)
{
    const cg_trail_t *const trail = a->trail;
    cg_run_t *const run = a->run;
    const cg_parts_t parts = cg_adjoint_parts(a);
    const int64_t k = a->step - 1;
    cg_taken_t step = {trail->t[k], trail->t[k + 1] - trail->t[k], NULL, NULL, k == a->kink};
    int status = cg_trail_bring(a, k);
    if (status == CG_OK && k < trail->n_slopes) {
        step.slopes = trail->slopes + k * trail->n_stages * run->n_own;
        step.x = run->x;
    } else if (status == CG_OK) {
        status = cg_trail_repeat(a, k);
        cg_trail_slopes(run, trail->n_stages, parts.slopes);
        step.slopes = parts.slopes;
        step.x = run->x_old;
    }
    if (run->signals != NULL) {
        cg_driver_segment(run, step.t);
    }
    if (status == CG_OK && trail->n_moved[k] > 0) {
        status = cg_adjoint_back_to_unmoved(a, &parts, &step, trail->n_moved[k]);
    }
    return status == CG_OK ? cg_adjoint_back(a, &parts, &step) : status;
}

/* The terms of the loss where a run has taken a->step steps. */
static void cg_adjoint_jump(cg_adjoint_t *a)
{
    const int32_t n = a->run->n_own;
    while (a->stop > 0 && a->stops[a->stop - 1] == a->step) {
        a->stop--;
        cg_adjoint_add(a->lambda, a->jumps + a->stop * n, n);
    }
}

int cg_adjoint_begin(cg_adjoint_t *a)
{
    const cg_parts_t parts = cg_adjoint_parts(a);
    a->run->status = CG_OK;
    a->run->n_tangents = 0; /* steps that are taken again end where they did */
    a->move = a->run->correction == NULL ? NULL : cg_kernel(a->model, a->run->correction->name);
    a->rtol = a->run->rtol;
    a->step = a->trail->n_steps;
    a->stop = a->n_stops;
    *a->integral = 0.0;
    memset(parts.terms, 0, sizeof(double) * (size_t)a->backward->n_terms);
    cg_adjoint_jump(a);
    return a->backward->hoist(a->run->p, parts.q);
}

int cg_adjoint_sweep(cg_adjoint_t *a, int64_t budget)
{
    while (a->step > a->until) {
        if (budget-- == 0) {
            return CG_BUDGET_USED;
        }
        CG_TRY(cg_adjoint_take_back(a));
        a->step--;
        cg_adjoint_jump(a);
    }
    return CG_OK;
}

int cg_adjoint_end(cg_adjoint_t *a)
{
    const cg_parts_t parts = cg_adjoint_parts(a);
    const int status = a->backward->parameters(a->run->p, parts.terms, parts.found, parts.rest);
    cg_adjoint_add(a->gradient, parts.found, a->model->n_parameters);
    return status;
}
