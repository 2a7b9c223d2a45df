/* cg_rodas5p.h: Rodas5P, a Rosenbrock method of order 5 for stiff systems, with an embedded estimate of order 4 and an
 * interpolant of order 4. codegen/methods/rodas5p.py has the formulas. Included after cg_method.h's list: one trajectory,
 * any model that has a Jacobian. Memory: run->jacobian, matrix, pivots and slope (cg_run.h).
 *
 * The Jacobian is the model's own, exact, and evaluated at every step. What inputs that a caller's function computes from
 * the state add to it comes from differences.
 */
#include "cg_linear.h"
#include "cg_rodas5p_tableau.h"

#define cg_rodas5p_info(layout)                                                                                       \
    {"rodas5p", "order 5, implicit, for stiff systems", 5, 1, CG_RODAS5P_STAGES, CG_RODAS5P_DENSE, 1, layout}

/* The distance, in steps, between the points used for df/dt. With the formula of order 4 below, the error of df/dt adds
 * h^2 (h / 32)^4 / 5 times the sixth derivative to a step, far less than the method's own error; rounding adds 340
 * units in the last place of h f. */
#define CG_RODAS5P_DISTANCE 0.03125

/* run->slope = df/dt at the start of a step, by finite differences at times inside the step, like the stages. If the
 * right-hand side does not depend on time this costs one call: the first difference is exactly zero. */
static int CG_FN(rodas5p_slope)(cg_run_t *run, double t, double h)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_PADDED(n);
    const double distance = CG_RODAS5P_DISTANCE * h;
    double *const slope = run->slope;
    double *const k = run->k; /* unused before the stages */
    int moving = 0;
    int status = CG_FN(rhs)(run, t + distance, run->x, k);
    for (int32_t i = 0; i < n; i++) {
        moving |= !(k[i] == run->f[i]);
        slope[i] = 0.0;
    }
    for (int32_t m = 1; status == CG_OK && moving && m < 4; m++) {
        status = CG_FN(rhs)(run, t + (double)(m + 1) * distance, run->x, k + m * ld);
    }
    for (int32_t i = 0; status == CG_OK && moving && i < n; i++) {
        const double f = run->f[i];
        slope[i] = (48.0 * (k[i] - f) - 36.0 * (k[ld + i] - f) + 16.0 * (k[2 * ld + i] - f) - 3.0 * (k[3 * ld + i] - f))
            / (12.0 * distance);
    }
    return status;
}

/* run->matrix = factors of I - gamma h J. */
static int CG_FN(rodas5p_factor)(cg_run_t *run, double h)
{
    const int32_t n = CG_N(run);
    for (int32_t j = 0; j < n; j++) {
        double *const column = run->matrix + (ptrdiff_t)j * n;
        for (int32_t i = 0; i < n; i++) {
            column[i] = -(cg_rodas5p_gamma * h) * run->jacobian[(ptrdiff_t)i * n + j];
        }
        column[j] += 1.0;
    }
    run->n_lu++;
    /* Singular if 1 / (gamma h) is an eigenvalue of J, which it no longer is with a shorter step. */
    return cg_linear_factor(n, run->matrix, run->pivots) ? CG_OK : CG_STEP_TOO_SMALL;
}

static CG_INLINE int CG_FN(rodas5p_trial)(cg_run_t *run, double t, double h, CG_FN(slope_t) slope)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_PADDED(n);
    double *const y = run->x_trial;
    int status = CG_FN(rodas5p_factor)(run, h);
    if (status == CG_OK) {
        status = CG_FN(rodas5p_slope)(run, t, h);
    }
    for (int32_t s = 0; status == CG_OK && s < CG_RODAS5P_STAGES; s++) {
        double *const ks = run->k + s * ld;
        const double *f = run->f;
        if (s < 6) {
            memcpy(y, run->x, sizeof(double) * (size_t)ld);
            for (int32_t j = 0; j < s; j++) {
                cg_linear_add(n, cg_rodas5p_a[s][j], run->k + j * ld, y);
            }
        } else { /* the previous row with a one appended */
            cg_linear_add(n, 1.0, ks - ld, y);
        }
        if (s > 0) {
            status = slope(run, t + cg_rodas5p_c[s] * h, y, ks);
            f = ks;
        }
        for (int32_t i = 0; i < n; i++) {
            ks[i] = cg_rodas5p_gamma * h * cg_fma(h * cg_rodas5p_d[s], run->slope[i], f[i]);
        }
        for (int32_t j = 0; j < s; j++) {
            cg_linear_add(n, cg_rodas5p_gamma * cg_rodas5p_C[s][j], run->k + j * ld, ks);
        }
        cg_linear_solve(n, run->matrix, run->pivots, ks);
    }
    cg_linear_add(n, 1.0, run->k + (CG_RODAS5P_STAGES - 1) * ld, y);
    return status;
}

/* The last stage is the difference between the method and the embedded one. */
static CG_INLINE double CG_FN(rodas5p_error)(cg_run_t *run, double h)
{
    const int32_t n = CG_N(run);
    (void)h;
    const double *const estimate = run->k + (CG_RODAS5P_STAGES - 1) * CG_PADDED(n);
    return CG_FN(squares)(run, estimate, run->x, run->x_trial, 0, n) / (double)n;
}

/* The right-hand side at the start of the step with the inputs of another state. */
static int CG_FN(rodas5p_other)(cg_run_t *run, const double *y, double *out)
{
    const int status = CG_FN(inputs)(run, run->t, y);
    run->n_rhs++;
    return status == CG_OK ? CG_RHS(run, cg_time_of_model(run, run->t), run->x, out) : status;
}

/* How far to move state j for a difference: in the direction of the motion, where functions are called anyway. */
static double CG_FN(rodas5p_apart)(const cg_run_t *run, int32_t j)
{
    const double change = run->direction * run->h * run->f[j];
    const double least = run->atol[j] / cg_larger(run->rtol, CG_RTOL);
    const double size = cg_larger(cg_larger(fabs(run->x[j]), fabs(change)), least);
    return change < 0.0 ? -CG_DIFFERENCE * size : CG_DIFFERENCE * size;
}

/* run->matrix, by columns: the part of df/dx that comes from inputs as functions of the state, by differences of second
 * order. One call tells whether there is any. */
static int CG_FN(rodas5p_feedback)(cg_run_t *run)
{
    const int32_t n = CG_N(run), ld = CG_PADDED(n);
    double *const y = run->x_trial, *const once = run->k, *const twice = run->k + ld; /* unused before the stages */
    int moves = 0;
    memcpy(y, run->x, sizeof(double) * (size_t)ld);
    for (int32_t j = 0; j < n; j++) { /* in proportions in which no difference of states stays as it is */
        y[j] += CG_FN(rodas5p_apart)(run, j) * (1.0 + 1.0 / (double)(j + 2));
    }
    int status = CG_FN(rodas5p_other)(run, y, once);
    for (int32_t i = 0; i < n; i++) {
        moves |= !(once[i] == run->f[i]);
    }
    memset(run->matrix, 0, sizeof(double) * (size_t)n * (size_t)n);
    memcpy(y, run->x, sizeof(double) * (size_t)ld);
    for (int32_t j = 0; moves && status == CG_OK && j < n; j++) {
        double *const column = run->matrix + (ptrdiff_t)j * n;
        y[j] = run->x[j] + CG_FN(rodas5p_apart)(run, j);
        const double apart = y[j] - run->x[j];
        status = CG_FN(rodas5p_other)(run, y, once);
        if (status == CG_OK) {
            y[j] = run->x[j] + 2.0 * apart;
            status = CG_FN(rodas5p_other)(run, y, twice);
        }
        for (int32_t i = 0; status == CG_OK && i < n; i++) {
            column[i] = (4.0 * (once[i] - run->f[i]) - (twice[i] - run->f[i])) / (2.0 * apart);
        }
        y[j] = run->x[j];
    }
    return status;
}

/* run->jacobian at the start of the step. */
static int CG_FN(rodas5p_jacobian)(cg_run_t *run)
{
    const int32_t n = CG_N(run);
    const int calls = run->input_kind & CG_INPUT_CALL;
    int status = calls ? CG_FN(rodas5p_feedback)(run) : CG_OK;
    if (status == CG_OK && run->input_kind != 0) {
        status = CG_FN(inputs)(run, run->t, run->x);
    }
    if (status == CG_OK) {
        status = run->model->jacobian(cg_time_of_model(run, run->t), run->x, run->p, run->u, run->jacobian, run->work);
        run->n_jac++;
    }
    for (int32_t j = 0; calls && status == CG_OK && j < n; j++) {
        for (int32_t i = 0; i < n; i++) {
            run->jacobian[(ptrdiff_t)i * n + j] += run->matrix[(ptrdiff_t)j * n + i];
        }
    }
    for (int32_t i = 0; status == CG_OK && i < n; i++) {
        status = cg_step_finite(run->jacobian + (ptrdiff_t)i * n, n) ? CG_OK : CG_NONFINITE;
    }
    return status;
}

/* A step from the point where the Jacobian was evaluated. */
static int CG_FN(rodas5p_advance)(cg_run_t *run)
{
    const cg_control_t control = CG_RODAS5P_CONTROL;
    return CG_FN(adaptive)(run, control, CG_FN(rodas5p_trial), CG_FN(rodas5p_error));
}

static int CG_FN(rodas5p_step)(cg_run_t *run)
{
    const int status = CG_FN(rodas5p_jacobian)(run);
    return status == CG_OK ? CG_FN(rodas5p_advance)(run) : status;
}

/* The interpolant in the form of cg_dense_evaluate: r_0 + theta (r_1 + theta r_2) is
 * c_2 + theta (c_3 + (1 - theta) c_4) with c_3 = r_1 + r_2, c_4 = -r_2. */
static int CG_FN(rodas5p_dense)(cg_run_t *run)
{
    const int32_t ld = CG_PADDED(CG_N(run));
    double *const coef = run->coef;
    memset(coef, 0, sizeof(double) * (size_t)run->n_dense * (size_t)ld);
    memcpy(coef, run->x_old, sizeof(double) * (size_t)ld);
    for (int32_t i = 0; i < ld; i++) {
        coef[ld + i] = run->x[i] - run->x_old[i];
    }
    for (int32_t s = 0; s < CG_RODAS5P_STAGES; s++) {
        const double *const ks = run->k + s * ld;
        cg_linear_add(ld, cg_rodas5p_h[0][s], ks, coef + 2 * ld);
        cg_linear_add(ld, cg_rodas5p_h[1][s] + cg_rodas5p_h[2][s], ks, coef + 3 * ld);
        cg_linear_add(ld, -cg_rodas5p_h[2][s], ks, coef + 4 * ld);
    }
    run->have_dense = 1;
    return CG_OK;
}
