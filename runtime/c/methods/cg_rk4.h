/* cg_rk4.h: the classical fourth-order Runge-Kutta method with a fixed step. Included by cg_method.h.
 *
 * Source: W. Kutta, Zeitschrift fuer Mathematik und Physik 46 (1901) 435-453; its cubic Hermite interpolant is of
 * order 3 (error h^4).
 */
#define cg_rk4_info(layout) {"rk4", "order 4, fixed step", 4, 0, 4, 4, 0, layout}

static CG_INLINE int CG_FN(rk4_trial)(CG_RUN *run, cg_real_t t, cg_real_t h, CG_FN(slope_t) slope)
{
    CG_TRIAL_BEGIN
    CG_STAGE_PASSING(1) CG_STAGE_PASSING(2) CG_STAGE_PASSING(3)
    const cg_real_t half = 0.5 * h, sixth = h / 6.0;

    for (int32_t i = 0; i < n; i++) {
        y[i] = cg_fma(half, k0[i], x[i]);
    }
    CG_STAGE_SLOPE(1, 0.5)
    for (int32_t i = 0; i < n; i++) {
        y[i] = cg_fma(half, k1[i], x[i]);
    }
    CG_STAGE_SLOPE(2, 0.5)
    for (int32_t i = 0; i < n; i++) {
        y[i] = cg_fma(h, k2[i], x[i]);
    }
    CG_STAGE_SLOPE(3, 1.0)
    for (int32_t i = 0; i < n; i++) {
        end[i] = cg_fma(sixth, cg_plus(cg_plus(k0[i], 2.0, k1[i]), 2.0, k2[i]) + k3[i], x[i]);
    }
    return CG_OK;
}

static int CG_FN(rk4_step)(CG_RUN *run) { return CG_FN(fixed)(run, CG_FN(rk4_trial)); }

/* The cubic through both ends and their derivatives, without higher terms. */
static int CG_FN(rk4_dense)(CG_RUN *run)
{
    CG_FN(pair_coefficients)(run, NULL, 0, 0, NULL);
    return CG_OK;
}
