/* cg_inline.h: the methods with a model's own right-hand side compiled in. Included at the end of a model's C file,
 * which defines CG_MODEL_N and CG_MODEL_NU (literals), CG_MODEL_RHS (a kernel defined above) and CG_MODEL_OPERATIONS
 * (the size of that kernel, a literal: its operations, where a function counts as 25). If CG_MODEL_HOISTED is defined
 * and nonzero, the kernel has an additional argument after p: the results of model.hoist, which are stored after the
 * CG_MODEL_NP parameters. Needs no library except libm.
 */
#ifndef CG_INLINE_H
#define CG_INLINE_H

#include "methods/cg_control.h"
#include "step/cg_flatten.h"

/* Each method takes time to compile: for the heavy top 0.1 s for tsit5, 0.2 s for dop853, 0.3 s for vern9. All but
 * rk4 and those that are taken by default (cg_default.h) are left out. They run through the table of cg_method_table.c, with the same results; CG_INLINE_ALL includes all of them. */
#ifndef CG_INLINE_ALL
#define CG_FEW_METHODS
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
#include "methods/cg_method.h"

static const cg_method_t cg_inline_methods[] = {CG_METHOD_LIST(CG_METHOD) CG_METHOD_END};
#undef CG_RHS
#undef CG_NU
#undef CG_N
#undef CG_FN

#endif /* CG_INLINE_H */
