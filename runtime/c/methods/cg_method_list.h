/* cg_method_list.h: the methods that cg_method.h makes, except those that a model brings.
 * Made from codegen/methods by `python -m chaplygin.generated --update`.
 *
 * With CG_FEW_METHODS some are left out. The fixed methods have their own loop over lanes.
 */
#include "cg_rk4.h"
#include "cg_dop853.h"
#ifndef CG_FEW_METHODS
#include "cg_tsit5.h"
#endif
#ifndef CG_FEW_METHODS
#include "cg_vern7.h"
#endif
#include "cg_vern9.h"

#define CG_FIXED_METHODS(METHOD) METHOD(rk4)
#ifdef CG_FEW_METHODS
#define CG_LISTED_METHODS(METHOD) METHOD(dop853) METHOD(vern9)
#else
#define CG_LISTED_METHODS(METHOD) METHOD(dop853) METHOD(tsit5) METHOD(vern7) METHOD(vern9)
#endif
