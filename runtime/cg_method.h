/* cg_method.h: instantiates every method of this folder for one right-hand side. It has no include guard; before
 * it is included these macros are set:
 *   CG_FN(name)     prefixed name of a function
 *   CG_N(run)       number of states: a literal, or run->n
 *   CG_NU(run)      number of inputs and modes: a literal, or run->n_u
 *   CG_RHS(run)     the right-hand side: a kernel of the model, or run->rhs
 *   CG_FLATTEN      attribute of the function that calls it, or nothing
 * A new method is one header, included here, and one line in the tables of cg_inline.h and cg_driver.c.
 */

/* Calls the right-hand side: out = f(t, x), the inputs brought to t first. */
CG_FLATTEN static CG_INLINE int CG_FN(rhs)(cg_run_t *run, double t, const double *x, double *out)
{
    run->n_rhs++;
    if (CG_NU(run) > 0 && CG_RARE(run->input_kind != 0)) {
        const int status = cg_step_inputs(run, t, x);
        if (status != CG_OK) {
            return status;
        }
    }
    return CG_RHS(run)(t, x, run->p, run->u, out, run->work);
}

#include "cg_adaptive.h"
#include "cg_dop853.h"
#include "cg_rk4.h"
