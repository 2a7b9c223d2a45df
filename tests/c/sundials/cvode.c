/* The user functions of the model MODEL in CVODE: cvode SOLVER RTOL T_END P... X..., with any number of states.
 *
 * SOLVER is "dense" (BDF, the emitted Jacobian) or "krylov" (BDF, GMRES, the emitted product). Prints a line
 * "event INDEX T" for each root that is an event, whose reset is applied, then "count N" of the calls of the functions
 * for the Jacobian, and the states at T_END, one on a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_dense.h>

#define STRING(a) #a
#define QUOTED(a) STRING(a)
#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)
#define OWN(b) NAMED(MODEL, b)
#define HEADER(a) QUOTED(a##_sundials.h)
#define HEADER_OF(a) HEADER(a)
#include HEADER_OF(MODEL)

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        const int status = (call);                                                                                     \
        if (status < 0) {                                                                                              \
            fprintf(stderr, "%s: %d\n", #call, status);                                                                \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

int main(int argc, char **argv)
{
    const cg_model_t *const model = &OWN(_model);
    const int n_p = model->n_parameters, n = argc - 4 - n_p;
    const int krylov = argc > 1 && strcmp(argv[1], "krylov") == 0;
    if (n < 1) return 2;
    const double rtol = atof(argv[2]), t_end = atof(argv[3]);
    double *const p = (double *)calloc((size_t)n_p + 1, sizeof *p);
    double *const work = (double *)calloc((size_t)model->n_work + 1, sizeof *work);
    double *const after = (double *)calloc((size_t)n, sizeof *after);
    int *const roots = (int *)calloc((size_t)model->n_guards + 1, sizeof *roots);
    if (p == NULL || work == NULL || after == NULL || roots == NULL) return 2;
    for (int i = 0; i < n_p; i++) p[i] = atof(argv[4 + i]);
    OWN(_sundials_t) own = {p, NULL, work};

    SUNContext context;
    MUST(SUNContext_Create(NULL, &context));
    N_Vector y = N_VNew_Serial(n, context);
    double *const x = N_VGetArrayPointer(y);
    for (int i = 0; i < n; i++) x[i] = atof(argv[4 + n_p + i]);
    void *const cvode = CVodeCreate(CV_BDF, context);
    MUST(CVodeInit(cvode, OWN(_sundials_rhs), 0.0, y));
    MUST(CVodeSStolerances(cvode, rtol, rtol));
    MUST(CVodeSetUserData(cvode, &own));
    MUST(CVodeSetMaxNumSteps(cvode, 1000000));
    SUNMatrix J = krylov ? NULL : SUNDenseMatrix(n, n, context);
    SUNLinearSolver solver =
        krylov ? SUNLinSol_SPGMR(y, SUN_PREC_NONE, 0, context) : SUNLinSol_Dense(y, J, context);
    MUST(CVodeSetLinearSolver(cvode, solver, J));
    if (krylov) MUST(CVodeSetJacTimes(cvode, NULL, OWN(_sundials_jvp)));
    else MUST(CVodeSetJacFn(cvode, OWN(_sundials_jacobian)));
#ifdef ROOTS
    MUST(CVodeRootInit(cvode, model->n_guards, OWN(_sundials_guards)));
#endif

    double t = 0.0;
    while (t < t_end) {
        const int reached = CVode(cvode, t_end, y, &t, CV_NORMAL);
        MUST(reached);
        if (reached != CV_ROOT_RETURN) continue;
        MUST(CVodeGetRootInfo(cvode, roots));
        for (int i = 0; i < model->n_events; i++) {
            if (roots[i] == 0 || roots[i] == -model->events[i].direction) continue;
            printf("event %d %.17g\n", i, t);
            if (model->reset == NULL || model->reset(i, t, x, p, NULL, after, work) != CG_OK) return 3;
            memcpy(x, after, (size_t)n * sizeof *x);
            MUST(CVodeReInit(cvode, t, y));
        }
    }
    long count = 0;
    MUST(krylov ? CVodeGetNumJtimesEvals(cvode, &count) : CVodeGetNumJacEvals(cvode, &count));
    printf("count %ld\n", count);
    for (int i = 0; i < n; i++) printf("%.17g\n", x[i]);

    void *memory = cvode;
    CVodeFree(&memory);
    SUNLinSolFree(solver);
    if (J != NULL) SUNMatDestroy(J);
    N_VDestroy(y);
    SUNContext_Free(&context);
    free(p);
    free(work);
    free(after);
    free(roots);
    return 0;
}
