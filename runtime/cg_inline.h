/* cg_inline.h: the methods with a model's own right-hand side compiled in. Included at the end of a model's C file,
 * which has set CG_MODEL_N and CG_MODEL_NU (literals) and CG_MODEL_RHS (a kernel); needs no library but libm.
 */
#ifndef CG_INLINE_H
#define CG_INLINE_H

#include "cg_step.h"

#define CG_FN(name) cg_inline_##name
#define CG_N(run) CG_MODEL_N
#define CG_NU(run) CG_MODEL_NU
#define CG_RHS(run) CG_MODEL_RHS
#include "cg_method.h"
#undef CG_RHS
#undef CG_NU
#undef CG_N
#undef CG_FN

static const cg_method_t cg_inline_methods[] = {
    {"rk4", cg_inline_rk4_step, cg_inline_rk4_dense},
    {"dop853", cg_inline_dop853_step, cg_inline_dop853_dense},
    {NULL, NULL, NULL},
};

#endif /* CG_INLINE_H */
