/* cg_backward_inline.h: the adjoint of the right-hand side, for one call and, as cg_backward_t, for many. Included by
 * the file of a model's adjoint derivatives, which defines CG_MODEL_N, CG_MODEL_NP, CG_MODEL_INPUTS, CG_MODEL_TERMS,
 * CG_MODEL_HOISTED, CG_MODEL_BACK (the kernel over lanes), CG_MODEL_BACK_RHS (the name of the function made here),
 * CG_MODEL_HOIST if anything is hoisted, and CG_MODEL_BACK_PARAMETERS if there are terms.
 */
enum {
    CG_BACK_X = CG_MODEL_N + 1, /* after f and f_t */
    CG_BACK_U = CG_BACK_X + CG_MODEL_N,
    CG_BACK_TERMS = CG_BACK_U + CG_MODEL_INPUTS
};

static CG_INLINE cg_mask_t cg_back_hoist(const double *p, cg_real_t *q)
{
#if CG_MODEL_HOISTED > 0
    return CG_MODEL_HOIST(p, NULL, q);
#else
    (void)p, (void)q;
    return cg_true();
#endif
}

static CG_INLINE cg_mask_t cg_back_rhs(cg_real_t t, const double *x, const double *p, const cg_real_t *q,
                                       const double *u, const cg_real_t *v, cg_real_t *found, cg_real_t *work)
{
#if CG_MODEL_HOISTED > 0
    return CG_MODEL_BACK(&t, x, p, q, u, v, found, work);
#else
    (void)q;
    return CG_MODEL_BACK(&t, x, p, u, v, found, work);
#endif
}

static CG_INLINE cg_mask_t cg_back_parameters(const double *p, const cg_real_t *terms, cg_real_t *found,
                                              cg_real_t *work)
{
#if CG_MODEL_TERMS > 0
    const cg_real_t t = cg_splat(0.0);
    return CG_MODEL_BACK_PARAMETERS(&t, NULL, p, NULL, terms, found, work);
#else
    (void)p, (void)terms, (void)work;
    for (int i = 0; i < CG_MODEL_NP; i++) {
        found[i] = cg_splat(0.0);
    }
    return cg_true();
#endif
}

static int CG_MODEL_BACK_RHS(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                             const double *CG_RESTRICT u, const double *CG_RESTRICT v, double *CG_RESTRICT value,
                             double *CG_RESTRICT found, double *CG_RESTRICT work)
{
    cg_real_t given[CG_MODEL_N], results[CG_BACK_TERMS + CG_MODEL_TERMS];
    cg_real_t by_p[CG_MODEL_NP + 1], q[CG_MODEL_HOISTED + 1];
    cg_take_vectors(given, v, CG_MODEL_N);
    cg_mask_t ok = cg_back_hoist(p, q);
    ok &= cg_back_rhs(cg_splat(t), x, p, q, u, given, results, cg_aligned(work));
    ok &= cg_back_parameters(p, results + CG_BACK_TERMS, by_p, cg_aligned(work));
    if (cg_any(cg_not(ok))) {
        return CG_SINGULAR;
    }
    cg_give_values(value, results, CG_MODEL_N);
    cg_give_vectors(found, results + CG_MODEL_N, 1 + CG_MODEL_N);
    cg_give_vectors(found + (1 + CG_MODEL_N) * CG_LANES, by_p, CG_MODEL_NP);
    cg_give_vectors(found + (1 + CG_MODEL_N + CG_MODEL_NP) * CG_LANES, results + CG_BACK_U, CG_MODEL_INPUTS);
    return CG_OK;
}

#if CG_LANES == 1
static int cg_backward_hoist(const double *CG_RESTRICT p, double *CG_RESTRICT q)
{
    return cg_back_hoist(p, q) ? CG_OK : CG_SINGULAR;
}

static int cg_backward_rhs(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                           const double *CG_RESTRICT q, const double *CG_RESTRICT u, const double *CG_RESTRICT v,
                           double *CG_RESTRICT found, double *CG_RESTRICT work)
{
    return cg_back_rhs(t, x, p, q, u, v, found, work) ? CG_OK : CG_SINGULAR;
}

static int cg_backward_parameters(const double *CG_RESTRICT p, const double *CG_RESTRICT terms,
                                  double *CG_RESTRICT found, double *CG_RESTRICT work)
{
    return cg_back_parameters(p, terms, found, work) ? CG_OK : CG_SINGULAR;
}
#endif
