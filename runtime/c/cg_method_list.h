/* cg_method_list.h: the methods that cg_method.h makes, except those that a model brings.
 * Made from codegen/methods by `python -m chaplygin.codegen.emit.golden --update`.
 *
 * With CG_FEW_METHODS some are left out; STEP is for those without their interpolants.
 */
#include "cg_rk4.h"
#include "cg_dop853.h"
#include "cg_tsit5.h"
#ifndef CG_FEW_METHODS
#include "cg_vern7.h"
#endif
#ifdef CG_FEW_METHODS
#define CG_WITHOUT_DENSE
#endif
#include "cg_vern9.h"
#undef CG_WITHOUT_DENSE

#ifdef CG_FEW_METHODS
#define CG_LISTED_METHODS(WHOLE, STEP) WHOLE(dop853) WHOLE(tsit5) STEP(vern9)
#else
#define CG_LISTED_METHODS(WHOLE, STEP) WHOLE(dop853) WHOLE(tsit5) WHOLE(vern7) WHOLE(vern9)
#endif
