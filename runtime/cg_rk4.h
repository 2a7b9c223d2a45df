/* cg_rk4.h: the classical fourth-order Runge-Kutta method with a fixed step. Included by cg_method.h.
 *
 * Source: W. Kutta, Zeitschrift fuer Mathematik und Physik 46 (1901) 435-453; its cubic Hermite interpolant is of
 * order 3 (error h^4). The step is run->h; the last one before t_stop is shortened to land on it, or takes up the
 * rounding of the times.
 */

static int CG_FN(rk4_step)(cg_run_t *run)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_PADDED(n);
    const double t = run->t;
    const double t_next = run->t_anchor + run->direction * run->h * (double)(run->n_anchor + 1);
    /* Rounding must not leave a sliver of a step before t_stop. */
    const double rounding = 4.0 * DBL_EPSILON * (fabs(run->t_anchor) + fabs(run->t_stop));
    const int last = run->direction * (run->t_stop - t_next) <= cg_step_smaller(rounding, 1e-6 * run->h);
    const double t_new = last ? run->t_stop : t_next;
    const double h = last ? run->t_stop - t : run->direction * run->h;
    const double *const x = run->x;
    double *const CG_RESTRICT y = run->x_trial;
    const double *const CG_RESTRICT k0 = run->f;
    double *const CG_RESTRICT k1 = run->k + ld;
    double *const CG_RESTRICT k2 = run->k + 2 * ld;
    double *const CG_RESTRICT k3 = run->k + 3 * ld;
    double *const CG_RESTRICT k4 = run->f_old;
    int status;

    if (CG_RARE(run->h < cg_step_smallest(t) && run->h < fabs(run->t_stop - t))) {
        return CG_STEP_TOO_SMALL;
    }
    for (int32_t i = 0; i < n; i++) {
        y[i] = x[i] + 0.5 * h * k0[i];
    }
    status = CG_FN(rhs)(run, t + 0.5 * h, y, k1);
    if (CG_RARE(status != CG_OK)) {
        return status;
    }
    for (int32_t i = 0; i < n; i++) {
        y[i] = x[i] + 0.5 * h * k1[i];
    }
    status = CG_FN(rhs)(run, t + 0.5 * h, y, k2);
    if (CG_RARE(status != CG_OK)) {
        return status;
    }
    for (int32_t i = 0; i < n; i++) {
        y[i] = x[i] + h * k2[i];
    }
    status = CG_FN(rhs)(run, t_new, y, k3);
    if (CG_RARE(status != CG_OK)) {
        return status;
    }
    for (int32_t i = 0; i < n; i++) {
        y[i] = x[i] + h / 6.0 * ((k0[i] + k3[i]) + 2.0 * (k1[i] + k2[i]));
    }
    status = CG_FN(rhs)(run, t_new, y, k4);
    if (CG_RARE(status != CG_OK)) {
        return status;
    }
    if (CG_RARE(!cg_step_finite(y, n) || !cg_step_finite(k4, n))) {
        return CG_NONFINITE;
    }
    cg_step_accept(run, t_new);
    run->n_anchor++;
    if (last) {
        run->t_anchor = t_new;
        run->n_anchor = 0;
    }
    return CG_OK;
}

static int CG_FN(rk4_dense)(cg_run_t *run)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_PADDED(n);
    const double h = run->t - run->t_old;
    const double *const CG_RESTRICT f_old = run->f_old;
    const double *const CG_RESTRICT f_end = run->f;
    double *const CG_RESTRICT coef = run->coef;

    for (int32_t i = 0; i < n; i++) {
        const double change = run->x[i] - run->x_old[i];
        const double bend = h * f_old[i] - change;
        coef[i] = run->x_old[i];
        coef[ld + i] = change;
        coef[2 * ld + i] = bend;
        coef[3 * ld + i] = change - h * f_end[i] - bend;
    }
    run->have_dense = 1;
    return CG_OK;
}
