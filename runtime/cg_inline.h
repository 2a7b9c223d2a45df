/* cg_inline.h: the methods with a model's own right-hand side compiled in. Included at the end of a model's C file,
 * which has set CG_MODEL_N and CG_MODEL_NU (literals), CG_MODEL_RHS (a kernel defined above) and CG_MODEL_OPERATIONS
 * (the size of that kernel, a literal: its operations, a function counting as 25). Where CG_MODEL_HOISTED is set and not
 * 0, the kernel has one more argument after p: what model.hoist made of it, which stands behind the CG_MODEL_NP
 * parameters. Needs no library but libm.
 *
 * A short right-hand side is copied into every stage: on the heavy top this saves a fifth of the time. Left to
 * themselves compilers call one copy. A long one is called, for 20 copies of it would take minutes to compile.
 */
#ifndef CG_INLINE_H
#define CG_INLINE_H

#include "cg_control.h"

#ifndef CG_INLINE_OPERATIONS
#define CG_INLINE_OPERATIONS 250
#endif

#if defined(__GNUC__) && defined(CG_MODEL_OPERATIONS) && CG_MODEL_OPERATIONS <= CG_INLINE_OPERATIONS
#if defined(__clang__)
#define CG_FLATTEN __attribute__((flatten)) /* clang applies it to the calls written in the function */
#else
#define CG_FLATTEN
inline __attribute__((always_inline)) __typeof__(CG_MODEL_RHS) CG_MODEL_RHS; /* gcc takes it after the definition */
#endif
#else
#define CG_FLATTEN
#endif

/* Each of them takes time to compile: on the heavy top 0.1 s for tsit5, 0.2 s for dop853, 0.3 s for vern9. What is
 * left out runs through the table of cg_driver.c, with the same results; CG_INLINE_ALL leaves nothing out. */
#ifndef CG_INLINE_ALL
#define CG_WITHOUT_VERN7
#define CG_WITHOUT_VERN9_DENSE
#endif

#define CG_FN(name) cg_inline_##name
#define CG_N(run) CG_MODEL_N
#define CG_NU(run) CG_MODEL_NU
#if defined(CG_MODEL_HOISTED) && CG_MODEL_HOISTED > 0
#define CG_RHS(run, t, x, out)                                                                                        \
    CG_MODEL_RHS(t, x, (run)->p, (run)->p + CG_MODEL_NP, (run)->u, out, (run)->work)
#else
#define CG_RHS(run, t, x, out) CG_MODEL_RHS(t, x, (run)->p, (run)->u, out, (run)->work)
#endif
#include "cg_method.h"
#undef CG_RHS
#undef CG_NU
#undef CG_N
#undef CG_FN
#undef CG_FLATTEN

static const cg_method_t cg_inline_methods[] = {
    {"rk4" CG_RUN_LAYOUT, cg_inline_rk4_step, cg_inline_rk4_dense},
    {"dop853" CG_RUN_LAYOUT, cg_inline_dop853_step, cg_inline_dop853_dense},
    {"tsit5" CG_RUN_LAYOUT, cg_inline_tsit5_step, cg_inline_tsit5_dense},
#ifdef CG_INLINE_ALL
    {"vern7" CG_RUN_LAYOUT, cg_inline_vern7_step, cg_inline_vern7_dense},
    {"vern9" CG_RUN_LAYOUT, cg_inline_vern9_step, cg_inline_vern9_dense},
#else
    {"vern9" CG_RUN_LAYOUT, cg_inline_vern9_step, NULL},
#endif
    {NULL, NULL, NULL},
};

#endif /* CG_INLINE_H */
