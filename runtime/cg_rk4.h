/* cg_rk4.h: the classical fourth-order Runge-Kutta method with a fixed step. Included by cg_method.h.
 *
 * Source: W. Kutta, Zeitschrift fuer Mathematik und Physik 46 (1901) 435-453; its cubic Hermite interpolant is of
 * order 3 (error h^4).
 */

static CG_INLINE int CG_FN(rk4_trial)(CG_RUN *run, cg_real_t t, cg_real_t h)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_ROWS(n);
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x);
    cg_real_t *const CG_RESTRICT y = CG_REALS(run->x_trial);
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f);
    cg_real_t *const CG_RESTRICT k1 = CG_REALS(run->k) + ld;
    cg_real_t *const CG_RESTRICT k2 = CG_REALS(run->k) + 2 * ld;
    cg_real_t *const CG_RESTRICT k3 = CG_REALS(run->k) + 3 * ld;
    int status;

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
    status = CG_FN(rhs)(run, t + h, y, k3);
    if (CG_RARE(status != CG_OK)) {
        return status;
    }
    for (int32_t i = 0; i < n; i++) {
        y[i] = x[i] + h / 6.0 * ((k0[i] + k3[i]) + 2.0 * (k1[i] + k2[i]));
    }
    return CG_OK;
}

static int CG_FN(rk4_step)(CG_RUN *run) { return CG_FN(fixed)(run, CG_FN(rk4_trial)); }

static int CG_FN(rk4_dense)(CG_RUN *run)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_ROWS(n);
    const cg_real_t h = CG_T(run) - CG_T_OLD(run);
    const cg_real_t *const CG_RESTRICT x_old = CG_REALS(run->x_old);
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x);
    const cg_real_t *const CG_RESTRICT f_old = CG_REALS(run->f_old);
    const cg_real_t *const CG_RESTRICT f = CG_REALS(run->f);
    cg_real_t *const CG_RESTRICT coef = CG_REALS(run->coef);

    for (int32_t i = 0; i < n; i++) {
        const cg_real_t change = x[i] - x_old[i];
        const cg_real_t bend = h * f_old[i] - change;
        coef[i] = x_old[i];
        coef[ld + i] = change;
        coef[2 * ld + i] = bend;
        coef[3 * ld + i] = change - h * f[i] - bend;
    }
    run->have_dense = 1;
    return CG_OK;
}
