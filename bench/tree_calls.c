/*
 * tree_calls.c: right-hand sides called again and again: the emitted one (CORE, MODEL, RHS, STATES) and, if LINKS is
 * given, that of the hand-written planar chain. Every call starts from another state, so that none is moved out of the loop.
 */
#include CORE
#include <stdlib.h>

int emitted_calls(int64_t calls, const double *x, const double *p, double *out);

int emitted_calls(int64_t calls, const double *x, const double *p, double *out)
{
    static double state[STATES];
    double *const work = calloc((size_t)(MODEL.n_work + MODEL.n_hoisted), sizeof(double));
    double *const q = work + MODEL.n_work;
    int status = work == NULL ? CG_SINGULAR : MODEL.hoist(p, q);

    for (int i = 0; i < STATES; i++) state[i] = x[i];
    for (int64_t k = 0; k < calls && status == CG_OK; k++) {
        status = RHS(0.0, state, p, q, NULL, out, work);
        state[k % STATES] = x[k % STATES] + 1e-30 * out[0];
    }
    free(work);
    return status;
}

#ifdef LINKS
#include "reference/planar_chain.c"

int written_calls(int64_t calls, const double *x, const double *p, double *out);

int written_calls(int64_t calls, const double *x, const double *p, double *out)
{
    static double state[STATES];

    for (int i = 0; i < STATES; i++) state[i] = x[i];
    for (int64_t k = 0; k < calls; k++) {
        planar_chain(state, p, out);
        state[k % STATES] = x[k % STATES] + 1e-30 * out[0];
    }
    return 0;
}
#endif
