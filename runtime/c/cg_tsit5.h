/* cg_tsit5.h: Tsit5, order 5 with an embedded estimate of order 4 and an interpolant of order 4 without extra stages.
 * The error estimate uses the derivative at the end of the step. Included by cg_method.h. Coefficients and source:
 * cg_tsit5_tableau.h.
 */
#include "cg_tsit5_tableau.h"

#define CG_TABLEAU(name) cg_tsit5_##name
#define A(s, j) CG_TERM(s, j)

static CG_INLINE int CG_FN(tsit5_trial)(CG_RUN *run, cg_real_t t, cg_real_t h)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_ROWS(n);
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x);
    CG_STAGE_SPACE
    CG_STAGE_TARGET
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f);
    CG_STAGE_ROW(1) CG_STAGE_ROW(2) CG_STAGE_ROW(3) CG_STAGE_ROW(4) CG_STAGE_ROW(5)
    int status;

    CG_STAGE(1, 0.0, 0)
    CG_STAGE(2, A(2, 0), 1)
    CG_STAGE(3, A(3, 0) + A(3, 1), 2)
    CG_STAGE(4, A(4, 0) + A(4, 1) + A(4, 2), 3)
    CG_STAGE(5, A(5, 0) + A(5, 1) + A(5, 2) + A(5, 3), 4)
    CG_STAGE_END(6, A(6, 0) + A(6, 1) + A(6, 2) + A(6, 3) + A(6, 4), 5)
    return CG_OK;
}

#define E(j) CG_TABLEAU(e)[j] * k[(j) * ld + i]
static CG_INLINE cg_real_t CG_FN(tsit5_estimate)(const cg_real_t *k0, const cg_real_t *k, const cg_real_t *end,
                                                 int32_t ld, int32_t i)
{
    return CG_TABLEAU(e)[0] * k0[i] + E(1) + E(2) + E(3) + E(4) + E(5) + CG_TABLEAU(e)[6] * end[i];
}
#undef E

static CG_INLINE cg_real_t CG_FN(tsit5_error)(CG_RUN *run, cg_real_t h)
{
    return CG_FN(pair_error)(run, h, CG_FN(tsit5_estimate));
}

static int CG_FN(tsit5_step)(CG_RUN *run)
{
    const cg_control_t control = {0.14, 0.08, 0.9, 0.2, 10.0, 1};
    return CG_FN(adaptive)(run, control, CG_FN(tsit5_trial), CG_FN(tsit5_error));
}

#define D(j) d[j] * k[(j) * ld + i]
static CG_INLINE cg_block_t CG_FN(tsit5_bend)(const double *d, const cg_block_t *k0, const cg_block_t *k,
                                              const cg_block_t *end, int32_t ld, int32_t i)
{
    return d[0] * k0[i] + D(1) + D(2) + D(3) + D(4) + D(5) + d[6] * end[i];
}
#undef D

/* The interpolant needs no more stages. */
static int CG_FN(tsit5_dense)(CG_RUN *run)
{
    CG_FN(pair_coefficients)(run, &CG_TABLEAU(d)[0][0], CG_TSIT5_DENSE - 4, CG_TSIT5_ALL, CG_FN(tsit5_bend));
    return CG_OK;
}
#undef A
#undef CG_TABLEAU
