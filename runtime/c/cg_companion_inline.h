/* cg_companion_inline.h: the table of a companion. Included at the end of its file, which defines CG_COMPANION_VALUES
 * (the kernel over cg_real_t above), CG_COMPANION_COUNT, CG_COMPANION_WORK, CG_COMPANION_DIGEST and CG_COMPANION (the
 * name of the table to define), CG_COMPANION_GUARDED, the expression of each guard, and CG_COMPANION_READS, the indices of
 * the states that it contains, both ended by -1; CG_LANES comes from the command line.
 */
#include "cg_companion.h"
#include "tangents/cg_survey.h"

static void cg_companion_values(const double *CG_RESTRICT t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,
                                const double *CG_RESTRICT u, double *CG_RESTRICT out, int32_t *CG_RESTRICT status,
                                double *CG_RESTRICT work)
{
#define CG_GIVEN(array) ((const cg_real_t *)(const void *)(array))
#define CG_WRITTEN(array) ((cg_real_t *)(void *)(array))
    const cg_mask_t ok = CG_COMPANION_VALUES(CG_GIVEN(t), CG_GIVEN(x), CG_GIVEN(p), CG_GIVEN(u), CG_WRITTEN(out),
                                             CG_WRITTEN(work));
#if CG_LANES > 1
    for (int lane = 0; lane < CG_LANES; lane++) {
        status[lane] = ok[lane] ? CG_OK : CG_SINGULAR;
    }
#else
    *status = ok ? CG_OK : CG_SINGULAR;
#endif
}

static void cg_companion_interpolate(const double *CG_RESTRICT theta, const double *CG_RESTRICT coef, int32_t n_dense,
                                     int32_t ld, double *CG_RESTRICT x)
{
    static const int32_t reads[] = {CG_COMPANION_READS};
    const cg_real_t *const c = CG_GIVEN(coef);
    const cg_real_t weights[2] = {*CG_GIVEN(theta), 1.0 - *CG_GIVEN(theta)};
    for (const int32_t *i = reads; *i >= 0; i++) {
        cg_real_t sum = c[(n_dense - 1) * ld + *i];
        for (int32_t j = n_dense - 2; j >= 0; j--) {
            sum = cg_fma(weights[j % 2], sum, c[j * ld + *i]);
        }
        CG_WRITTEN(x)[*i] = sum;
    }
}

static const int32_t cg_companion_guarded[] = {CG_COMPANION_GUARDED};
enum { CG_COMPANION_GUARDS = sizeof cg_companion_guarded / sizeof *cg_companion_guarded - 1 };

static void cg_companion_survey(const cg_rule_t *rule, const int32_t *kinds, const double *CG_RESTRICT samples,
                                double *CG_RESTRICT found)
{
    cg_survey_all(rule, kinds, CG_COMPANION_COUNT, CG_COMPANION_COUNT + CG_COMPANION_GUARDS, CG_GIVEN(samples),
                  CG_WRITTEN(found));
}

#ifndef CG_EXPORTED
#define CG_EXPORTED
#endif
extern CG_EXPORTED const cg_companion_t CG_COMPANION;
const cg_companion_t CG_COMPANION = {
    .abi_version = CG_ABI_VERSION,
    .struct_size = (uint32_t)sizeof(cg_companion_t),
    .digest = CG_COMPANION_DIGEST,
    .n_lanes = CG_LANES,
    .n_values = CG_COMPANION_COUNT,
    .n_guards = CG_COMPANION_GUARDS,
    .guards = cg_companion_guarded,
    .n_work = CG_COMPANION_WORK,
    .values = cg_companion_values,
    .interpolate = cg_companion_interpolate,
    .survey = cg_companion_survey,
};
