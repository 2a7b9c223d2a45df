/* cg_trail.h: the steps of a run for the sweep back over them, which is in cg_adjoint.c. */
#ifndef CG_TRAIL_H
#define CG_TRAIL_H

#include "cg_adjoint.h"

/* Copies the slopes of the last step, by rows. */
void cg_trail_slopes(const cg_run_t *run, int32_t n_stages, double *to);

/* Takes a step again, from its beginning in run->x; its stages are then in the run. */
int cg_trail_repeat(cg_adjoint_t *adjoint, int64_t step);

/* Brings the run to the beginning of a step; every state after it is dropped. */
int cg_trail_bring(cg_adjoint_t *adjoint, int64_t step);

#endif /* CG_TRAIL_H */
