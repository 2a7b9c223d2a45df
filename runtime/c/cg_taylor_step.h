/* cg_taylor_step.h: the steps of Taylor's method. Included after the series of a model; see cg_series.h. */

#define CG_TAYLOR_LARGEST_DEFECT 32.0

/* The order for the tolerances of a run: p = ceil(1 - ln(tolerance) / 2), equation (12) of the source. */
static CG_INLINE int CG_FN(taylor_order)(const CG_RUN *run)
{
    double least = run->atol[0];
    for (int32_t i = 1; i < CG_N(run); i++) {
        least = run->atol[i] < least ? run->atol[i] : least;
    }
    const double wanted = 2.0 - 0.34657359027997264 * CG_ANY_LANE(cg_step_log2(cg_splat(run->rtol + least)));
    return wanted < CG_TAYLOR_LEAST_ORDER ? CG_TAYLOR_LEAST_ORDER
        : wanted > CG_TAYLOR_ORDER        ? CG_TAYLOR_ORDER
                                          : (int)wanted;
}

/* log2 of the largest of v times its weight. */
static CG_INLINE cg_real_t CG_FN(taylor_log2)(const CG_RUN *run, const cg_real_t *v, const cg_real_t *weight)
{
    cg_real_t largest = cg_splat(1e-300);
    for (int32_t i = 0; i < CG_N(run); i++) {
        largest = cg_larger(cg_abs(v[i] * weight[i]), largest);
    }
    (void)run;
    return cg_step_log2_normal(cg_smaller(largest, cg_splat(1e300)));
}

/* The length of the step: the last two coefficients, in units of the tolerance, are below 1 at its end. The factor is
 * that of the source, equation (11) and below. */
static CG_INLINE cg_real_t CG_FN(taylor_length)(CG_RUN *run, int order)
{
    const int32_t ld = CG_ROWS(CG_N(run));
    const cg_real_t *const x = CG_REALS(run->x);
    const cg_real_t *const row = CG_REALS(run->k) + (order - 1) * ld;
    cg_real_t weight[CG_N(run)];
    for (int32_t i = 0; i < CG_N(run); i++) {
        weight[i] = 1.0 / cg_step_scale(run->atol[i], run->rtol, x[i], x[i]);
    }
    const cg_real_t last = cg_taylor_inverse[order] * CG_FN(taylor_log2)(run, row, weight);
    const cg_real_t before = cg_taylor_inverse[order - 1] * CG_FN(taylor_log2)(run, row - ld, weight);
    return cg_step_exp2(-cg_larger(last, before) - cg_taylor_inverse[order - 1]);
}

/* What rounding took from the state in the steps before, if this is where the last one ended. It is known already if the
 * last trial was rejected. */
static CG_INLINE void CG_FN(taylor_lost)(CG_RUN *run)
{
    const int32_t ld = CG_ROWS(CG_N(run));
    const cg_real_t *const x = CG_REALS(run->x);
    const cg_real_t *const end = CG_REALS(run->k) + CG_TAYLOR_END * ld;
    const cg_real_t *const after = CG_REALS(run->k) + CG_TAYLOR_AFTER * ld;
    cg_real_t *const lost = CG_REALS(run->k) + CG_TAYLOR_LOST * ld;
#if CG_LANES > 1
    const cg_mask_t begun = *CG_TRUTHS(run->n_trials) > *CG_TRUTHS(run->n_rejected);
    const cg_mask_t known = *CG_TRUTHS(run->rejected);
#else
    const cg_mask_t begun = run->n_steps > run->n_before;
    const cg_mask_t known = run->rejected;
#endif
    for (int32_t i = 0; i < CG_N(run); i++) {
        lost[i] = cg_where(known, lost[i], cg_where(begun & cg_eq(x[i], end[i]), after[i], cg_splat(0.0)));
    }
}

/* The state at the end of the step, x + h odd + h^2 even, and the slope of the polynomial there. Even and odd powers are
 * apart, since small systems are limited by the latency of one sum; odd_slope and even_slope are derivatives by h^2. */
static CG_INLINE int CG_FN(taylor_trial)(CG_RUN *run, cg_real_t t, cg_real_t h, CG_FN(slope_t) slope)
{
    const int32_t ld = CG_ROWS(CG_N(run)) / CG_WIDTH;
    const cg_block_t *const CG_RESTRICT x = (const cg_block_t *)(const void *)run->x;
    cg_block_t *const CG_RESTRICT k = (cg_block_t *)(void *)run->k;
    cg_block_t *const CG_RESTRICT end = (cg_block_t *)(void *)run->x_trial;
    const cg_real_t square = h * h;
    (void)t, (void)slope;

    for (int32_t i = 0; i < ld; i++) {
        const cg_block_t *const a = k + i; /* a[(j - 1) * ld] belongs to h^j */
        cg_block_t even = a[(CG_TAYLOR_ORDER - 1) * ld], even_slope = {0};
        cg_block_t odd = a[(CG_TAYLOR_ORDER - 2) * ld], odd_slope = {0};
        CG_TAYLOR_UNROLL
        for (int32_t j = CG_TAYLOR_ORDER - 2; j > 0; j -= 2) {
            even_slope = cg_block_plus(even, square, even_slope);
            odd_slope = cg_block_plus(odd, square, odd_slope);
            even = cg_block_plus(a[(j - 1) * ld], square, even);
            odd = cg_block_plus(a[(j - 2) * ld], square, odd);
        }
        const cg_block_t change = cg_block_plus(cg_block_plus(k[CG_TAYLOR_LOST * ld + i], square, even), h, odd);
        const cg_block_t sum = x[i] + change;
        const cg_block_t taken = sum - x[i];
        end[i] = k[CG_TAYLOR_END * ld + i] = sum;
        k[CG_TAYLOR_AFTER * ld + i] = (x[i] - (sum - taken)) + (change - taken);
        k[CG_TAYLOR_SLOPE * ld + i] =
            cg_block_plus(odd, 2.0 * h, cg_block_plus(even, h, cg_block_plus(odd_slope, h, even_slope)));
    }
    return CG_OK;
}

/* The defect slope - f at the end of the step, in units of many tolerances: far below 1 unless the motion has a kink in
 * the step, or the series converges less far than its coefficients say. */
CG_WEIGHTED(taylor_defect)
{
    (void)k0;
    return (k[CG_TAYLOR_SLOPE * ld + i] - end[i]) / CG_TAYLOR_LARGEST_DEFECT;
}

static CG_INLINE cg_real_t CG_FN(taylor_error)(CG_RUN *run, cg_real_t h)
{
    return CG_FN(pair_error)(run, h, CG_FN(taylor_defect));
}

static int CG_FN(taylor_step)(CG_RUN *run)
{
    const cg_control_t control = {0.25, 0.0, 0.9, 0.2, 10.0, 1};
    const int order = CG_FN(taylor_order)(run);
#if CG_LANES > 1
    const cg_mask_t bounded = *CG_TRUTHS(run->rejected) | cg_le(*CG_REALS(run->log_old), cg_splat(CG_LEAST_LOG));
    cg_real_t *const h = CG_REALS(run->h);
#else
    const int bounded = run->rejected || run->log_old <= CG_LEAST_LOG;
    double *const h = &run->h;
    if (CG_NU(run) > 0 && (run->input_kind & CG_INPUT_CALL)) {
        return CG_UNSUPPORTED;
    }
#endif
    if (CG_NU(run) > 0 && CG_RARE(run->input_kind != 0)) {
        CG_FN(ramps)(run, CG_T(run), CG_REALS(run->u));
    }
    CG_FN(taylor_series)(run, order);
    CG_FN(taylor_lost)(run);
    const cg_real_t length = CG_FN(taylor_length)(run, order);
    *h = cg_where(bounded, cg_smaller(length, *h), length);
    return CG_FN(adaptive)(run, control, CG_FN(taylor_trial), CG_FN(taylor_error));
}

/* The polynomial in the form of cg_dense_evaluate: what remains is divided by theta and by 1 - theta in turn. */
static int CG_FN(taylor_dense)(CG_RUN *run)
{
    const int32_t ld = CG_ROWS(CG_N(run)) / CG_WIDTH;
    const cg_real_t h = CG_T(run) - CG_T_OLD(run);
    const cg_block_t *const CG_RESTRICT x_old = (const cg_block_t *)(const void *)run->x_old;
    const cg_block_t *const CG_RESTRICT x = (const cg_block_t *)(const void *)run->x;
    const cg_block_t *const CG_RESTRICT k = (const cg_block_t *)(const void *)run->k;
    cg_block_t *const CG_RESTRICT coef = (cg_block_t *)(void *)run->coef;

    for (int32_t i = 0; i < ld; i++) {
        cg_block_t rest[CG_TAYLOR_ORDER + 1];
        cg_real_t power = h;
        coef[i] = x_old[i];
        for (int32_t j = 0; j < CG_TAYLOR_ORDER; j++) {
            rest[j] = power * k[j * ld + i];
            power *= h;
        }
        for (int32_t m = 1; m < CG_TAYLOR_DENSE; m++) {
            const int32_t degree = CG_TAYLOR_ORDER - m;
            if (m % 2 == 0) { /* by theta: the constant term is the coefficient */
                coef[m * ld + i] = rest[0];
                for (int32_t j = 0; j < degree; j++) {
                    rest[j] = rest[j + 1];
                }
            } else { /* by 1 - theta: the value at 1 is */
                for (int32_t j = degree - 1; j >= 0; j--) {
                    rest[j] += rest[j + 1];
                }
                coef[m * ld + i] = rest[0];
                for (int32_t j = 0; j < degree; j++) {
                    rest[j] = -rest[j + 1];
                }
            }
        }
        coef[ld + i] = x[i] - x_old[i]; /* what the state itself changed by */
    }
    run->have_dense = 1;
    return CG_OK;
}
