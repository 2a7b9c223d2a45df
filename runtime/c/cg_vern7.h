/* cg_vern7.h: Vern7, order 7 with an embedded estimate of order 6 and an interpolant of order 7. Included by
 * cg_method.h. Coefficients and source: cg_vern7_tableau.h.
 */
#include "cg_vern7_tableau.h"

#define CG_TABLEAU(name) cg_vern7_##name
#define A(s, j) CG_TERM(s, j)

static CG_INLINE int CG_FN(vern7_trial)(CG_RUN *run, cg_real_t t, cg_real_t h)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_ROWS(n);
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x);
    CG_STAGE_SPACE
    CG_STAGE_TARGET
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f);
    CG_STAGE_ROW(1) CG_STAGE_ROW(2) CG_STAGE_ROW(3) CG_STAGE_ROW(4) CG_STAGE_ROW(5) CG_STAGE_ROW(6) CG_STAGE_ROW(7)
    CG_STAGE_ROW(8) CG_STAGE_ROW(9)
    int status;

    CG_STAGE(1, 0.0, 0)
    CG_STAGE(2, A(2, 0), 1)
    CG_STAGE(3, A(3, 0), 2)
    CG_STAGE(4, A(4, 0) + A(4, 2), 3)
    CG_STAGE(5, A(5, 0) + A(5, 2) + A(5, 3), 4)
    CG_STAGE(6, A(6, 0) + A(6, 2) + A(6, 3) + A(6, 4), 5)
    CG_STAGE(7, A(7, 0) + A(7, 2) + A(7, 3) + A(7, 4) + A(7, 5), 6)
    CG_STAGE(8, A(8, 0) + A(8, 2) + A(8, 3) + A(8, 4) + A(8, 5) + A(8, 6), 7)
    CG_STAGE(9, A(9, 0) + A(9, 2) + A(9, 3) + A(9, 4) + A(9, 5), 6)
    CG_STAGE_END(10, A(10, 0) + A(10, 3) + A(10, 4) + A(10, 5) + A(10, 6) + A(10, 7), 8)
    return CG_OK;
}

#define E(j) CG_TABLEAU(e)[j] * k[(j) * ld + i]
static CG_INLINE cg_real_t CG_FN(vern7_estimate)(const cg_real_t *k0, const cg_real_t *k, const cg_real_t *end,
                                                 int32_t ld, int32_t i)
{
    (void)end;
    return CG_TABLEAU(e)[0] * k0[i] + E(3) + E(4) + E(5) + E(6) + E(7) + E(8) + E(9);
}
#undef E

static CG_INLINE cg_real_t CG_FN(vern7_error)(CG_RUN *run, cg_real_t h)
{
    return CG_FN(pair_error)(run, h, CG_FN(vern7_estimate));
}

static int CG_FN(vern7_step)(CG_RUN *run)
{
    const cg_control_t control = {0.1, 0.057, 0.9, 0.2, 10.0, 0};
    return CG_FN(adaptive)(run, control, CG_FN(vern7_trial), CG_FN(vern7_error));
}

#define D(j) d[j] * k[(j) * ld + i]
static CG_INLINE cg_block_t CG_FN(vern7_bend)(const double *d, const cg_block_t *k0, const cg_block_t *k,
                                              const cg_block_t *end, int32_t ld, int32_t i)
{
    return d[0] * k0[i] + D(3) + D(4) + D(5) + D(6) + D(7) + D(8) + d[10] * end[i] + D(11) + D(12) + D(13) + D(14)
        + D(15);
}
#undef D

/* Five more stages, then the coefficients. */
static int CG_FN(vern7_dense)(CG_RUN *run)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_ROWS(n);
    const cg_real_t t = CG_T_OLD(run);
    const cg_real_t h = CG_T(run) - t;
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x_old);
    CG_STAGE_SPACE
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f_old);
    const cg_real_t *const CG_RESTRICT k10 = CG_REALS(run->f);
    CG_STAGE_ROW(3) CG_STAGE_ROW(4) CG_STAGE_ROW(5) CG_STAGE_ROW(6) CG_STAGE_ROW(7) CG_STAGE_ROW(8) CG_STAGE_ROW(11)
    CG_STAGE_ROW(12) CG_STAGE_ROW(13) CG_STAGE_ROW(14) CG_STAGE_ROW(15)
    int status;

    CG_STAGE(11, A(11, 0) + A(11, 3) + A(11, 4) + A(11, 5) + A(11, 6) + A(11, 7) + A(11, 8), 10)
    CG_STAGE(12, A(12, 0) + A(12, 3) + A(12, 4) + A(12, 5) + A(12, 6) + A(12, 7) + A(12, 8) + A(12, 10), 11)
    CG_STAGE(13, A(13, 0) + A(13, 3) + A(13, 4) + A(13, 5) + A(13, 6) + A(13, 7) + A(13, 8) + A(13, 10)
             + A(13, 11), 12)
    CG_STAGE(14, A(14, 0) + A(14, 3) + A(14, 4) + A(14, 5) + A(14, 6) + A(14, 7) + A(14, 8) + A(14, 10)
             + A(14, 11), 12)
    CG_STAGE(15, A(15, 0) + A(15, 3) + A(15, 4) + A(15, 5) + A(15, 6) + A(15, 7) + A(15, 8) + A(15, 10)
             + A(15, 11), 12)
    CG_FN(pair_coefficients)(run, &CG_TABLEAU(d)[0][0], CG_VERN7_DENSE - 4, CG_VERN7_ALL, CG_FN(vern7_bend));
    return CG_OK;
}
#undef A
#undef CG_TABLEAU
