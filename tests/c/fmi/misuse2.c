/* Seeded misuse of an FMU of FMI 2.0: calls in any order with wrong arguments. Compiled with the sources of the FMU. */
#include "fmi2Functions.h"

#define FMI(name) fmi2##name
typedef fmi2Component instance_t;
typedef fmi2FMUstate state_t;
typedef fmi2Byte byte_t;

#include "misuse.h"

static void logger(fmi2ComponentEnvironment e, fmi2String n, fmi2Status s, fmi2String c, fmi2String m, ...)
{
    (void)e;
    if (n == NULL || c == NULL || m == NULL || s > fmi2Pending) abort();
}

static const fmi2CallbackFunctions callbacks = {logger, NULL, NULL, NULL, NULL};

static fmi2Component made(int k, const char *token)
{
    return fmi2Instantiate("a", (fmi2Type)k, token, NULL, draw(2) ? &callbacks : NULL, 0, (int)draw(2));
}

static int taken(const char *token)
{
    return fmi2Instantiate(NULL, fmi2CoSimulation, token, NULL, NULL, 0, 1) != NULL;
}

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

static void begin(fmi2Component c)
{
    fmi2EventInfo info;
    fmi2SetupExperiment(c, 0, 0.0, 0.0, 0, 0.0);
    fmi2EnterInitializationMode(c);
    fmi2ExitInitializationMode(c);
    fmi2NewDiscreteStates(c, &info);
    fmi2EnterContinuousTimeMode(c);
}
