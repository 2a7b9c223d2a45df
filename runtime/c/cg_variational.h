/* cg_variational.h: the equations of a model with their variational equations, as a model that every driver runs.
 *
 * For k directions theta the state x(t) and its tangents S = dx/dtheta, dS/dt = F_x S + F_p P + F_u U, are the state of
 * one larger model. Directions come in blocks of n_lanes:
 *   x  n_states of the model, zeros up to a multiple of CG_PAD and of n_lanes, then for each block S[n_states][n_lanes],
 *      which vectors read and write as they lie in rows of the driver: a vector that overlaps two others in memory waits
 *      for both;
 *      If events can end a run, then the rates F[n_states] at the end of the run, zeros up to such a multiple, and for
 *      each block the derivatives dt[n_lanes] of its time: the total derivatives of the last state are S + F dt;
 *   p  n_parameters, for each block P[n_parameters][n_lanes], U[n_inputs][n_lanes], then for each
 *      direction its size, which no kernel reads: S, P and U are multiplied by it, so that the tolerances of the states are
 *      those of S.
 * Modes and other inputs are as for the model. For fed_rhs, of models without modes, further inputs follow those of the
 * model, for each block U'[n_inputs][n_lanes], which are added to U: what the inputs, as functions of the state, change
 * along S. Where the right-hand side or the state jumps at g(t, x, p) = 0, the time of
 * the jump moves by dt = -(g_x S + g_p P) / (g_t + g_x F), and a reset R and fields F before and after give
 *   S after = R_x S + R_p P + (R_x F_before + R_t - F_after) dt.
 * Here g_t and R_t contain the slopes of inputs that are linear between samples: g_t + g_u du/dt. What happens at one
 * instant: cg_jump_inline.h.
 */
#ifndef CG_VARIATIONAL_H
#define CG_VARIATIONAL_H

#include "cg_run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cg_variational {
    uint32_t abi_version; /* CG_ABI_VERSION */
    uint32_t struct_size; /* sizeof(cg_variational_t) */
    const char *digest;   /* of the model */
    int32_t n_lanes;      /* 1, 2, 4 or 8 */
    int32_t n_work;       /* scratch, in numbers */
    int32_t layout;       /* CG_RUN_LAYOUT, with which it was compiled */
    int32_t n_hoisted;    /* vectors of each block that kernels.hoist gives, and one to spare for alignment */
    cg_varied_kernels_t kernels;
    cg_varied_t fed_rhs;
    cg_jump_t jump; /* NULL: neither events nor kinks nor contacts */
    int32_t n_end; /* numbers after the tangents, before the derivatives of the time of the end; 0: neither */
} cg_variational_t;

#ifdef __cplusplus
}
#endif

#endif /* CG_VARIATIONAL_H */
