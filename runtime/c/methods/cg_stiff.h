/* cg_stiff.h: the state of the method "auto", which switches between an explicit and an implicit method; see cg_auto.h. */
#ifndef CG_STIFF_H
#define CG_STIFF_H

#include "cg_control.h"

#define CG_AUTO_STIFF 15 /* steps that may have been stiff, before the implicit method is tried for the first time */

/* Switches to the implicit method, or to the explicit one, from the next step on. */
static inline void cg_stiff_change(cg_run_t *run, int32_t stiff)
{
    run->stiff = stiff;
    run->n_stiff = 0;
    run->n_calm = 0;
    run->n_wait = CG_AUTO_STIFF;
    run->log_old = CG_LEAST_LOG;
    for (int32_t i = 0; i < run->n; i++) {
        run->fastest[i] = 1.0 / (double)(i + 1);
    }
}

#endif /* CG_STIFF_H */
