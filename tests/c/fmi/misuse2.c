/* Seeded misuse of an FMU of FMI 2.0: calls in any order with wrong arguments. Prints how many calls failed; sanitizers
 * report what must not happen. Compiled together with the sources of the FMU. */
#include "fmi2Functions.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 88172645463325252u;

static unsigned draw(unsigned n) /* xorshift */
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 33) % n;
}

static double number(void)
{
    static const double values[] = {0.0, 1.0, -1.0, 0.5, 1e-3, 1e308, -1e308, 1e-320, 7.0, 3.0};
    const unsigned i = draw(12);
    return i < 10 ? values[i] : i == 10 ? (double)NAN : (double)INFINITY;
}

/* A duration that does not take a million steps. */
static double duration(void)
{
    const double d = number();
    return d > 2.0 ? 0.02 : d;
}

static void logger(fmi2ComponentEnvironment e, fmi2String n, fmi2Status s, fmi2String c, fmi2String m, ...)
{
    (void)e;
    if (n == NULL || c == NULL || m == NULL || s > fmi2Pending) abort();
}

enum { MANY = 8, CALLS = 1000 };

static fmi2Component instance[2];
static fmi2FMUstate state[4];
static fmi2Byte bytes[1 << 16];
static size_t n_bytes;

static int call(fmi2Component c)
{
    fmi2ValueReference vr[MANY], others[MANY];
    fmi2Real x[MANY * MANY];
    fmi2Integer n[MANY];
    fmi2String text[MANY] = {"vern9", "rk4", "nonsense", NULL, "auto", "dop853", "", "rodas5p"};
    fmi2EventInfo info;
    fmi2Boolean flag[2];
    fmi2Status status;
    const size_t size = draw(MANY + 1);
    for (int i = 0; i < MANY; i++) {
        vr[i] = draw(5) ? draw(60) : (fmi2ValueReference)draw(~0u);
        others[i] = draw(60);
    }
    for (int i = 0; i < MANY * MANY; i++) x[i] = number();
    fmi2FMUstate *const kept = draw(10) ? &state[draw(4)] : NULL;
    fmi2FMUstate foreign = draw(2) ? (fmi2FMUstate)x : (fmi2FMUstate)(uintptr_t)8;
    switch (draw(36)) {
    case 0: return fmi2SetupExperiment(c, (int)draw(2), number(), number(), (int)draw(2), number());
    case 1: case 2: return fmi2EnterInitializationMode(c);
    case 3: case 4: return fmi2ExitInitializationMode(c);
    case 5: return draw(20) ? fmi2OK : fmi2Terminate(c);
    case 6: return draw(8) ? fmi2OK : fmi2Reset(c);
    case 7: return fmi2GetReal(c, draw(9) ? vr : NULL, size, draw(9) ? x : NULL);
    case 8: return fmi2SetReal(c, draw(9) ? vr : NULL, size, draw(9) ? x : NULL);
    case 9: return fmi2SetReal(c, vr, 1, x);
    case 10: return fmi2GetInteger(c, vr, size, n);
    case 11: return fmi2SetInteger(c, vr, size, n);
    case 12: return fmi2GetString(c, vr, size, text);
    case 13: return fmi2SetString(c, vr, 1, text + draw(MANY));
    case 14: return fmi2GetDirectionalDerivative(c, vr, size, others, draw(MANY), x, x + MANY);
    case 15: return fmi2GetFMUstate(c, kept);
    case 16: return fmi2SetFMUstate(c, draw(4) ? state[draw(4)] : foreign);
    case 17: return fmi2FreeFMUstate(c, draw(4) ? kept : &foreign);
    case 18: return fmi2SerializedFMUstateSize(c, draw(4) ? state[draw(4)] : foreign, &n_bytes);
    case 19: return fmi2SerializeFMUstate(c, draw(4) ? state[draw(4)] : foreign, bytes, draw(2) ? n_bytes : draw(100));
    case 20:
        if (n_bytes > 0 && draw(2)) bytes[draw((unsigned)n_bytes)] ^= (fmi2Byte)draw(256);
        return fmi2DeSerializeFMUstate(c, bytes, draw(2) ? n_bytes : draw(1 << 16), kept);
    case 21: return fmi2EnterEventMode(c);
    case 22: return fmi2NewDiscreteStates(c, draw(9) ? &info : NULL);
    case 23: return fmi2EnterContinuousTimeMode(c);
    case 24: return fmi2CompletedIntegratorStep(c, (int)draw(2), draw(9) ? flag : NULL, flag + 1);
    case 25: return fmi2SetTime(c, number());
    case 26: return fmi2SetContinuousStates(c, draw(9) ? x : NULL, draw(MANY));
    case 27: return fmi2GetDerivatives(c, draw(9) ? x : NULL, draw(MANY));
    case 28: return fmi2GetEventIndicators(c, x, draw(MANY));
    case 29: return fmi2GetContinuousStates(c, x, draw(MANY));
    case 30: return fmi2GetNominalsOfContinuousStates(c, x, draw(MANY));
    case 31: return fmi2DoStep(c, number(), duration(), 1);
    case 32:
        fmi2GetRealStatus(c, fmi2LastSuccessfulTime, x);
        return fmi2DoStep(c, x[0], 0.01, 1);
    case 33: return fmi2CancelStep(c);
    case 34: return fmi2GetStatus(c, fmi2DoStepStatus, &status);
    default: return fmi2SetRealInputDerivatives(c, vr, size, n, x);
    }
}

/* The right way, without which few calls would come far. */
static void begin(fmi2Component c)
{
    fmi2EventInfo info;
    fmi2SetupExperiment(c, 0, 0.0, 0.0, 0, 0.0);
    fmi2EnterInitializationMode(c);
    fmi2ExitInitializationMode(c);
    fmi2NewDiscreteStates(c, &info);
    fmi2EnterContinuousTimeMode(c);
}

int main(int argc, char **argv)
{
    const fmi2CallbackFunctions callbacks = {logger, NULL, NULL, NULL, NULL};
    int failed = 0, worked = 0;
    if (argc < 2) return 2;
    if (fmi2Instantiate("a", fmi2CoSimulation, "wrong", NULL, &callbacks, 0, 1) != NULL) return 3;
    if (fmi2Instantiate(NULL, fmi2CoSimulation, argv[1], NULL, NULL, 0, 1) != NULL) return 3;
    for (int i = 0; i < CALLS; i++) {
        if (i % 100 == 0) {
            for (int k = 0; k < 2; k++) {
                fmi2FreeInstance(instance[k]);
                instance[k] = fmi2Instantiate("a", (fmi2Type)k, argv[1], NULL, draw(2) ? &callbacks : NULL, 0, (int)draw(2));
                if (instance[k] == NULL) return 4;
                if (draw(4)) begin(instance[k]);
            }
            memset(state, 0, sizeof state);
        }
        const int status = call(draw(20) ? instance[draw(2)] : NULL);
        if (status < 0 || status > fmi2Error) return 5;
        failed += status == fmi2Error;
        worked += status == fmi2OK;
    }
    fmi2FreeInstance(instance[0]);
    fmi2FreeInstance(instance[1]);
    fmi2FreeInstance(NULL);
    printf("%d %d\n", failed, worked);
    return 0;
}
