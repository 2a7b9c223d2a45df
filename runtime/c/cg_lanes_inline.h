/* cg_lanes_inline.h: the methods over lanes with a model's own right-hand side compiled in. Included at the end of a
 * model's lane file, which defines CG_MODEL_N, CG_MODEL_NU, CG_MODEL_NP (literals), CG_MODEL_RHS (the kernel over
 * cg_real_t defined above), CG_MODEL_OPERATIONS (its size), CG_MODEL_WORK, CG_MODEL_DIGEST and CG_LANE_SET (the name of
 * the table to define); CG_LANES comes from the command line.
 */
#include "methods/cg_control.h"
#include "step/cg_flatten.h"
#include "cg_lanes.h"

#include <stddef.h>

#define CG_FN(name) cg_lanes_##name
#define CG_N(run) CG_MODEL_N
#define CG_NU(run) CG_MODEL_NU
#if CG_MODEL_HOISTED > 0 /* as in cg_inline.h; CG_MODEL_HOIST is the part before it */
#define CG_RHS(run, t, x, out)                                                                                        \
    CG_MODEL_RHS(&(t), x, CG_REALS((run)->p), CG_REALS((run)->p) + CG_MODEL_NP, CG_REALS((run)->u), out,              \
                 CG_REALS((run)->work))
#else
#define CG_RHS(run, t, x, out)                                                                                        \
    CG_MODEL_RHS(&(t), x, CG_REALS((run)->p), CG_REALS((run)->u), out, CG_REALS((run)->work))
#endif
#ifdef CG_MODEL_RHS_OF /* the kernel before it asks whether angles are wide */
#if CG_MODEL_HOISTED > 0
#define CG_RHS_OF(run, widest, t, x, out)                                                                             \
    CG_MODEL_RHS_OF(widest, &(t), x, CG_REALS((run)->p), CG_REALS((run)->p) + CG_MODEL_NP, CG_REALS((run)->u), out,   \
                    CG_REALS((run)->work))
#else
#define CG_RHS_OF(run, widest, t, x, out)                                                                             \
    CG_MODEL_RHS_OF(widest, &(t), x, CG_REALS((run)->p), CG_REALS((run)->u), out, CG_REALS((run)->work))
#endif
#endif
#include "methods/cg_method.h"

#define CG_LANE_METHOD(name)                                                                                          \
    static void cg_lanes_##name##_advance(cg_lanes_run_t *run)                                                        \
    {                                                                                                                 \
        cg_lanes_run_t *const other = run->other;                                                                     \
        if (other == NULL) {                                                                                          \
            do {                                                                                                      \
                CG_SEARCHED(cg_lanes_##name##_step, run)                                                              \
            } while (run->attention == 0u && !*run->stop);                                                            \
        } else {                                                                                                      \
            do {                                                                                                      \
                CG_SEARCHED(cg_lanes_##name##_step, run)                                                              \
                CG_SEARCHED(cg_lanes_##name##_step, other)                                                            \
            } while ((run->attention | other->attention) == 0u && !*run->stop);                                       \
        }                                                                                                             \
    }                                                                                                                 \
    CG_LANE_INTERPOLANT(name)
#define CG_LANE_INTERPOLANT(name)                                                                                     \
    static void cg_lanes_##name##_interpolant(cg_lanes_run_t *run) { cg_lanes_##name##_dense(run); }

CG_ADAPTIVE_LIST(CG_LANE_METHOD)
#ifndef CG_WITHOUT_RK4
CG_LANE_INTERPOLANT(rk4)
#endif

#define CG_LANE_ENTRY(name)                                                                                           \
    {cg_##name##_info(CG_LANES_LAYOUT), cg_lanes_prepare, cg_lanes_##name##_advance, cg_lanes_##name##_interpolant},

static const cg_lane_method_t cg_lane_methods[] = {
    CG_METHOD_LIST(CG_LANE_ENTRY) {CG_NO_METHOD, NULL, NULL, NULL}
};

#if CG_LANES == 8 && defined(__AVX512F__)
#define CG_LANES_CPU CG_CPU_AVX512
#elif defined(__AVX2__)
#define CG_LANES_CPU CG_CPU_AVX2
#else
#define CG_LANES_CPU CG_CPU_ANY
#endif

#ifndef CG_EXPORTED
#define CG_EXPORTED
#endif
extern CG_EXPORTED const cg_lane_set_t CG_LANE_SET;
const cg_lane_set_t CG_LANE_SET = {
    .abi_version = CG_ABI_VERSION,
    .struct_size = (uint32_t)sizeof(cg_lane_set_t),
    .digest = CG_MODEL_DIGEST,
    .n_lanes = CG_LANES,
    .cpu = CG_LANES_CPU,
    .n_work = CG_MODEL_WORK,
    .rhs = cg_lanes_kernel,
    .methods = cg_lane_methods,
    .begin = cg_lanes_begin,
    .interpolate = cg_lanes_interpolate,
    .watches = CG_WATCHES,
};
