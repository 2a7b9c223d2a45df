/* One FMU among others in a program: RUN(out) steps it to t = 3 and gives its N states, by their REFERENCES. */
#if VERSION == 2
#include "fmi2Functions.h"
#else
#include "fmi3Functions.h"
#endif

#include <stdarg.h>
#include <stddef.h>

int RUN(double *out);

#if VERSION == 2
static void quiet(fmi2ComponentEnvironment e, fmi2String n, fmi2Status s, fmi2String c, fmi2String m, ...)
{
    (void)e, (void)n, (void)s, (void)c, (void)m;
}

int RUN(double *out)
{
    static const fmi2CallbackFunctions callbacks = {quiet, NULL, NULL, NULL, NULL};
    static const fmi2ValueReference places[N] = {REFERENCES};
    fmi2Component one = fmi2Instantiate("one", fmi2CoSimulation, TOKEN, "", &callbacks, fmi2False, fmi2False);
    int wrong = one == NULL || fmi2SetupExperiment(one, fmi2False, 0.0, 0.0, fmi2False, 0.0) != fmi2OK;
    wrong = wrong || fmi2EnterInitializationMode(one) != fmi2OK || fmi2ExitInitializationMode(one) != fmi2OK;
    wrong = wrong || fmi2DoStep(one, 0.0, 3.0, fmi2True) != fmi2OK || fmi2GetReal(one, places, N, out) != fmi2OK;
    fmi2FreeInstance(one);
    return wrong;
}
#else
int RUN(double *out)
{
    static const fmi3ValueReference places[N] = {REFERENCES};
    fmi3Boolean event = fmi3False, over = fmi3False, early = fmi3False;
    fmi3Float64 last = 0.0;
    fmi3Instance one = fmi3InstantiateCoSimulation("one", TOKEN, "", fmi3False, fmi3False, fmi3False, fmi3False, NULL, 0,
                                                   NULL, NULL, NULL);
    int wrong = one == NULL || fmi3EnterInitializationMode(one, fmi3False, 0.0, 0.0, fmi3False, 0.0) != fmi3OK;
    wrong = wrong || fmi3ExitInitializationMode(one) != fmi3OK;
    wrong = wrong || fmi3DoStep(one, 0.0, 3.0, fmi3True, &event, &over, &early, &last) != fmi3OK;
    wrong = wrong || fmi3GetFloat64(one, places, N, out, N) != fmi3OK;
    fmi3FreeInstance(one);
    return wrong;
}
#endif
