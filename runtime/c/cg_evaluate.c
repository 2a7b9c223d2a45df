/* cg_evaluate.c: a model's right-hand side outside of a step, with the inputs and what depends on parameters alone. */
#include "cg_internal.h"
#include "cg_step.h"

#define CG_FN(name) cg_evaluate_##name
#define CG_N(run) ((run)->n)
#define CG_OWN(run) ((run)->n_own)
#define CG_TANGENTS(run) ((run)->n_tangents)
#define CG_NU(run) ((run)->n_u)
#define CG_RHS(run, t, x, out) (run)->rhs(t, x, (run)->p, (run)->u, out, (run)->work)
#define CG_FLATTEN
#define CG_COPIED 0
#define CG_APART 0
#define CG_NO_METHODS
#include "cg_method.h"
#undef CG_NO_METHODS
#undef CG_FLATTEN
#undef CG_COPIED
#undef CG_APART
#undef CG_RHS
#undef CG_NU
#undef CG_OWN
#undef CG_TANGENTS
#undef CG_N
#undef CG_FN

int cg_run_probe(cg_run_t *run, double t, const double *x, double *out)
{
    const int status = cg_evaluate_rhs(run, t, x, out);
    return status != CG_OK ? status : cg_step_finite(out, run->n) ? CG_OK : CG_NONFINITE;
}

/* Computes what depends on the parameters alone; a failure counts as the first call of the right-hand side. */
static int cg_evaluate_hoist(cg_run_t *run)
{
    const cg_model_t *const model = run->model;
    const int status = model->hoist == NULL ? CG_OK : model->hoist(run->p, run->p + model->n_parameters);
    run->n_rhs += status != CG_OK;
    return status;
}

int cg_run_inputs(cg_run_t *run, double t, const double *x)
{
    return run->input_kind != 0 ? cg_evaluate_inputs(run, t, x) : CG_OK;
}

int cg_run_input_slopes(cg_run_t *run)
{
    static const double weights[] = {25.0 / 12.0, -4.0, 3.0, -4.0 / 3.0, 0.25}; /* of the fourth order, from one side */
    const double apart = run->direction * CG_SLOPE_STEP * run->h;
    int status = CG_OK;
    if (!(run->input_kind & CG_INPUT_CALL) || apart == 0.0) {
        return CG_OK;
    }
    for (int32_t i = 0; i < run->model->n_inputs; i++) {
        run->u_slope[i] = run->signals[i].kind == CG_SIGNAL_CALL ? 0.0 : run->u_slope[i];
    }
    for (int k = 4; k >= 0 && status == CG_OK; k--) { /* the last call leaves the inputs as they were */
        status = run->input_fn(run->input_context, cg_time_of_model(run, run->t - (double)k * apart), run->x, run->u);
        for (int32_t i = 0; i < run->model->n_inputs; i++) {
            run->u_slope[i] += run->signals[i].kind == CG_SIGNAL_CALL ? weights[k] * run->u[i] / apart : 0.0;
        }
    }
    return status;
}

int cg_run_derivative(cg_run_t *run)
{
    int status = CG_OK;
    if (!run->have_f) {
        status = cg_evaluate_hoist(run);
        if (status == CG_OK) {
            status = cg_run_probe(run, run->t, run->x, run->f);
        }
        run->have_f = status == CG_OK;
    }
    return status;
}

double cg_run_first(const cg_run_t *run, double longest) { return cg_evaluate_first(run, longest); }
