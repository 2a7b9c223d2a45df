/* cg_auto.h: the method "auto": dop853 where the motion is not stiff, rodas5p where it is. Included after both.
 *
 * Stiffness is measured by h rho, where rho is the rate of the fastest motion:
 *  - After a step of dop853, rho is |f(x_end) - f(x_last)| / |x_end - x_last|, where x_last is the point of the last
 *    stage, as in the authors' own program: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed.,
 *    Springer 1996, section IV.2, "stiffness detection". Steps at the stability limit have h rho = 6. But a fast motion
 *    that is followed closely reaches 4, and rounding, which a stiff force magnifies, can keep the step far below the
 *    limit. So after 15 steps near the limit, without 6 consecutive slow ones, rodas5p is tried: if it can take a step
 *    four times as long, the motion is stiff. If not, the trial is discarded. After steps away from the limit it is
 *    tried too, the first time after 15 of them, then after twice as many each time.
 *  - After a step of rodas5p, rho is the largest eigenvalue of its Jacobian by power iteration, continued from one step
 *    to the next. The method switches back after 10 consecutive steps that dop853 could have taken at twice the length.
 * All norms are in units of the tolerance, so that they do not depend on the units of the states.
 */
#include "cg_stiff.h"

#define cg_auto_info(layout)                                                                                          \
    {"auto", "dop853, or rodas5p where the motion is stiff", 8, 1, CG_DOP853_ROWS, CG_DOP853_DENSE, 1, layout}

#define CG_AUTO_NEAR 4.6
#define CG_AUTO_SLOW 0.1
#define CG_AUTO_EVERY 3 /* steps of dop853 between measurements: measuring all would cost a fifth for small systems */
#define CG_AUTO_LONGEST_WAIT 960
#define CG_AUTO_CALM 6
#define CG_AUTO_STRETCH 4.0
#define CG_AUTO_EASY 10
#define CG_AUTO_ITERATIONS 4

static double CG_FN(auto_square)(const cg_run_t *run, const double *v)
{
    return CG_FN(squares)(run, v, run->x_old, run->x, 0, CG_N(run));
}

/* The square of h rho over the step of dop853 just taken. */
static double CG_FN(auto_fastness)(const cg_run_t *run)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_PADDED(n);
    const int32_t last = CG_DOP853_LAST;
    const double h = run->t - run->t_old;
    double apart = 0.0, faster = 0.0;
    for (int32_t i = 0; i < n; i++) {
        const double weight = 1.0 / cg_step_scale(run->atol[i], run->rtol, run->x_old[i], run->x[i]);
        const double x_last = CG_FN(dop853_last)(run->f_old, run->k, run->f, ld, i);
        const double state = weight * (run->x[i] - cg_fma(h, x_last, run->x_old[i]));
        const double slope = weight * (run->f[i] - run->k[last * ld + i]);
        apart = cg_fma(state, state, apart);
        faster = cg_fma(slope, slope, faster);
    }
    return apart > 0.0 ? h * h * faster / apart : 0.0;
}

/* The largest rate of the motion linearised at the start of the last step. run->slope is free after it. */
static double CG_FN(auto_rate)(cg_run_t *run)
{
    const int32_t n = CG_N(run);
    double *const v = run->fastest;
    double *const image = run->slope;
    double growth = 1.0;
    for (int32_t m = 0; m < CG_AUTO_ITERATIONS; m++) {
        const double before = CG_FN(auto_square)(run, v);
        for (int32_t i = 0; i < n; i++) {
            image[i] = 0.0;
            for (int32_t j = 0; j < n; j++) {
                image[i] = cg_fma(run->jacobian[(ptrdiff_t)i * n + j], v[j], image[i]);
            }
        }
        const double square = CG_FN(auto_square)(run, image) / before;
        if (!(square > CG_LEAST_SQUARE) || !(square < CG_LARGEST_SQUARE)) { /* v is in the null space of J: restart */
            for (int32_t i = 0; i < n; i++) {
                v[i] = 1.0 / (double)(i + 1);
            }
            return 0.0;
        }
        const double norm = sqrt(square);
        for (int32_t i = 0; i < n; i++) {
            v[i] = image[i] / norm;
        }
        growth *= norm;
    }
    return sqrt(sqrt(growth));
}

/* Tries a long step of rodas5p from here. Called before a step, when the stages of the last one are no longer needed.
 * */
static int CG_FN(auto_ask)(cg_run_t *run)
{
    const double length = CG_AUTO_STRETCH * run->h;
    if (length > run->max_step || length > fabs(run->t_stop - run->t)) {
        return CG_OK; /* nothing to gain */
    }
    const double h = run->direction * length;
    int status = CG_FN(rodas5p_jacobian)(run);
    if (status == CG_OK) {
        status = CG_FN(rodas5p_trial)(run, run->t, h, CG_FN(rhs));
    }
    if (status == CG_OK && CG_FN(rodas5p_error)(run, h) <= 1.0) {
        cg_stiff_change(run, 1);
        run->h = length;
        return CG_OK;
    }
    run->n_stiff = 0;
    run->n_wait = run->n_wait < CG_AUTO_LONGEST_WAIT ? 2 * run->n_wait : CG_AUTO_LONGEST_WAIT;
    return status == CG_SINGULAR || status == CG_NONFINITE || status == CG_STEP_TOO_SMALL ? CG_OK : status;
}

static int CG_FN(auto_stiff_step)(cg_run_t *run)
{
    const int status = CG_FN(rodas5p_advance)(run);
    if (status == CG_OK) {
        const double rate = CG_FN(auto_rate)(run);
        const double easy = 0.5 * CG_DOP853_BORDER;
        run->last_stiff = 1;
        run->n_calm = fabs(run->t - run->t_old) * rate < easy ? run->n_calm + 1 : 0;
        if (run->n_calm >= CG_AUTO_EASY) {
            cg_stiff_change(run, 0);
            run->h = run->h * rate > easy ? easy / rate : run->h;
        }
    }
    return status;
}

static int CG_FN(auto_explicit_step)(cg_run_t *run)
{
    const int status = run->explicit_step(run);
    run->last_stiff = status == CG_OK ? 0 : run->last_stiff;
    if (status == CG_OK && run->n_steps % CG_AUTO_EVERY == 0) {
        const double square = CG_FN(auto_fastness)(run);
        if (square > CG_AUTO_SLOW * CG_AUTO_SLOW) {
            run->n_calm = 0;
            if (run->n_stiff < run->n_wait) {
                const int near = square > CG_AUTO_NEAR * CG_AUTO_NEAR;
                run->n_stiff += CG_AUTO_EVERY * (near ? run->n_wait / CG_AUTO_STIFF : 1);
            }
        } else if ((run->n_calm += CG_AUTO_EVERY) >= CG_AUTO_CALM) {
            run->n_stiff = 0;
            run->n_calm = 0;
        }
    }
    return status;
}

static int CG_FN(auto_step)(cg_run_t *run)
{
    int status = CG_OK;
    if (!run->stiff && run->n_stiff >= run->n_wait) {
        status = CG_FN(auto_ask)(run);
    }
    if (status == CG_OK && run->stiff) {
        status = CG_FN(rodas5p_jacobian)(run);
        if (status == CG_SINGULAR || status == CG_NONFINITE) {
            cg_stiff_change(run, 0); /* dop853 needs no derivative */
            status = CG_OK;
        }
    }
    if (status != CG_OK) {
        return status;
    }
    return run->stiff ? CG_FN(auto_stiff_step)(run) : CG_FN(auto_explicit_step)(run);
}

static int CG_FN(auto_dense)(cg_run_t *run)
{
    return run->last_stiff ? CG_FN(rodas5p_dense)(run) : run->explicit_dense(run);
}
