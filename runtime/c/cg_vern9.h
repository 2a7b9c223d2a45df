/* cg_vern9.h: Vern9, order 9 with an embedded estimate of order 8 and an interpolant of order 9. Included by
 * cg_method.h. Coefficients and source: cg_vern9_tableau.h.
 */
#include "cg_vern9_tableau.h"

#define CG_TABLEAU(name) cg_vern9_##name
#define A(s, j) CG_TERM(s, j)

static CG_INLINE int CG_FN(vern9_trial)(CG_RUN *run, cg_real_t t, cg_real_t h)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_ROWS(n);
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x);
    CG_STAGE_SPACE
    CG_STAGE_TARGET
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f);
    CG_STAGE_ROW(1) CG_STAGE_ROW(2) CG_STAGE_ROW(3) CG_STAGE_ROW(4) CG_STAGE_ROW(5) CG_STAGE_ROW(6) CG_STAGE_ROW(7)
    CG_STAGE_ROW(8) CG_STAGE_ROW(9) CG_STAGE_ROW(10) CG_STAGE_ROW(11) CG_STAGE_ROW(12) CG_STAGE_ROW(13)
    CG_STAGE_ROW(14) CG_STAGE_ROW(15)
    int status;

    CG_STAGE(1, 0.0, 0)
    CG_STAGE(2, A(2, 0), 1)
    CG_STAGE(3, A(3, 0), 2)
    CG_STAGE(4, A(4, 0) + A(4, 2), 3)
    CG_STAGE(5, A(5, 0) + A(5, 3), 4)
    CG_STAGE(6, A(6, 0) + A(6, 3) + A(6, 4), 5)
    CG_STAGE(7, A(7, 0) + A(7, 5), 6)
    CG_STAGE(8, A(8, 0) + A(8, 5) + A(8, 6), 7)
    CG_STAGE(9, A(9, 0) + A(9, 5) + A(9, 6) + A(9, 7), 8)
    CG_STAGE(10, A(10, 0) + A(10, 5) + A(10, 6) + A(10, 7) + A(10, 8), 9)
    CG_STAGE(11, A(11, 0) + A(11, 5) + A(11, 6) + A(11, 7) + A(11, 8) + A(11, 9), 10)
    CG_STAGE(12, A(12, 0) + A(12, 5) + A(12, 6) + A(12, 7) + A(12, 8) + A(12, 9) + A(12, 10), 11)
    CG_STAGE(13, A(13, 0) + A(13, 5) + A(13, 6) + A(13, 7) + A(13, 8) + A(13, 9) + A(13, 10) + A(13, 11), 12)
    CG_STAGE(14, A(14, 0) + A(14, 5) + A(14, 6) + A(14, 7) + A(14, 8) + A(14, 9) + A(14, 10) + A(14, 11)
             + A(14, 12), 13)
    CG_STAGE(15, A(15, 0) + A(15, 5) + A(15, 6) + A(15, 7) + A(15, 8) + A(15, 9) + A(15, 10) + A(15, 11), 12)
    CG_STAGE_END(16, A(16, 0) + A(16, 7) + A(16, 8) + A(16, 9) + A(16, 10) + A(16, 11) + A(16, 12) + A(16, 13), 14)
    return CG_OK;
}

#define E(j) CG_TABLEAU(e)[j] * k[(j) * ld + i]
static CG_INLINE cg_real_t CG_FN(vern9_estimate)(const cg_real_t *k0, const cg_real_t *k, const cg_real_t *end,
                                                 int32_t ld, int32_t i)
{
    (void)end;
    return CG_TABLEAU(e)[0] * k0[i] + E(7) + E(8) + E(9) + E(10) + E(11) + E(12) + E(13) + E(14) + E(15);
}
#undef E

static CG_INLINE cg_real_t CG_FN(vern9_error)(CG_RUN *run, cg_real_t h)
{
    return CG_FN(pair_error)(run, h, CG_FN(vern9_estimate));
}

static int CG_FN(vern9_step)(CG_RUN *run)
{
    const cg_control_t control = {0.078, 0.044, 0.9, 0.2, 10.0, 0};
    return CG_FN(adaptive)(run, control, CG_FN(vern9_trial), CG_FN(vern9_error));
}

#ifndef CG_WITHOUT_VERN9_DENSE
#define D(j) d[j] * k[(j) * ld + i]
static CG_INLINE cg_block_t CG_FN(vern9_bend)(const double *d, const cg_block_t *k0, const cg_block_t *k,
                                              const cg_block_t *end, int32_t ld, int32_t i)
{
    return d[0] * k0[i] + D(7) + D(8) + D(9) + D(10) + D(11) + D(12) + D(13) + D(14) + d[16] * end[i] + D(17) + D(18)
        + D(19) + D(20) + D(21) + D(22) + D(23) + D(24) + D(25);
}
#undef D

/* Nine more stages, then the coefficients. */
static int CG_FN(vern9_dense)(CG_RUN *run)
{
    const int32_t n = CG_N(run);
    const int32_t ld = CG_ROWS(n);
    const cg_real_t t = CG_T_OLD(run);
    const cg_real_t h = CG_T(run) - t;
    const cg_real_t *const CG_RESTRICT x = CG_REALS(run->x_old);
    CG_STAGE_SPACE
    const cg_real_t *const CG_RESTRICT k0 = CG_REALS(run->f_old);
    const cg_real_t *const CG_RESTRICT k16 = CG_REALS(run->f);
    CG_STAGE_ROW(7) CG_STAGE_ROW(8) CG_STAGE_ROW(9) CG_STAGE_ROW(10) CG_STAGE_ROW(11) CG_STAGE_ROW(12)
    CG_STAGE_ROW(13) CG_STAGE_ROW(14) CG_STAGE_ROW(17) CG_STAGE_ROW(18) CG_STAGE_ROW(19) CG_STAGE_ROW(20)
    CG_STAGE_ROW(21) CG_STAGE_ROW(22) CG_STAGE_ROW(23) CG_STAGE_ROW(24) CG_STAGE_ROW(25)
    int status;

    CG_STAGE(17, A(17, 0) + A(17, 7) + A(17, 8) + A(17, 9) + A(17, 10) + A(17, 11) + A(17, 12) + A(17, 13)
             + A(17, 14), 16)
    CG_STAGE(18, A(18, 0) + A(18, 7) + A(18, 8) + A(18, 9) + A(18, 10) + A(18, 11) + A(18, 12) + A(18, 13)
             + A(18, 14) + A(18, 16), 17)
    CG_STAGE(19, A(19, 0) + A(19, 7) + A(19, 8) + A(19, 9) + A(19, 10) + A(19, 11) + A(19, 12) + A(19, 13)
             + A(19, 14) + A(19, 16) + A(19, 17), 18)
    CG_STAGE(20, A(20, 0) + A(20, 7) + A(20, 8) + A(20, 9) + A(20, 10) + A(20, 11) + A(20, 12) + A(20, 13)
             + A(20, 14) + A(20, 16) + A(20, 17) + A(20, 18), 19)
    CG_STAGE(21, A(21, 0) + A(21, 7) + A(21, 8) + A(21, 9) + A(21, 10) + A(21, 11) + A(21, 12) + A(21, 13)
             + A(21, 14) + A(21, 16) + A(21, 17) + A(21, 18) + A(21, 19), 20)
    CG_STAGE(22, A(22, 0) + A(22, 7) + A(22, 8) + A(22, 9) + A(22, 10) + A(22, 11) + A(22, 12) + A(22, 13)
             + A(22, 14) + A(22, 16) + A(22, 17) + A(22, 18) + A(22, 19), 20)
    CG_STAGE(23, A(23, 0) + A(23, 7) + A(23, 8) + A(23, 9) + A(23, 10) + A(23, 11) + A(23, 12) + A(23, 13)
             + A(23, 14) + A(23, 16) + A(23, 17) + A(23, 18) + A(23, 19), 20)
    CG_STAGE(24, A(24, 0) + A(24, 7) + A(24, 8) + A(24, 9) + A(24, 10) + A(24, 11) + A(24, 12) + A(24, 13)
             + A(24, 14) + A(24, 16) + A(24, 17) + A(24, 18) + A(24, 19), 20)
    CG_STAGE(25, A(25, 0) + A(25, 7) + A(25, 8) + A(25, 9) + A(25, 10) + A(25, 11) + A(25, 12) + A(25, 13)
             + A(25, 14) + A(25, 16) + A(25, 17) + A(25, 18) + A(25, 19), 20)
    CG_FN(pair_coefficients)(run, &CG_TABLEAU(d)[0][0], CG_VERN9_DENSE - 4, CG_VERN9_ALL, CG_FN(vern9_bend));
    return CG_OK;
}
#endif
#undef A
#undef CG_TABLEAU
