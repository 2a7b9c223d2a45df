/* Seeded misuse of an FMU of FMI 3.0: calls in any order with wrong arguments. Compiled with the sources of the FMU. */
#include "fmi3Functions.h"

#define FMI(name) fmi3##name
typedef fmi3Instance instance_t;
typedef fmi3FMUState state_t;
typedef fmi3Byte byte_t;

#include "misuse.h"

static void logger(fmi3InstanceEnvironment e, fmi3Status s, fmi3String c, fmi3String m)
{
    (void)e;
    if (c == NULL || m == NULL || s > fmi3Fatal) abort();
}

static int call(fmi3Instance c)
{
    fmi3ValueReference vr[MANY], others[MANY];
    fmi3Float64 x[MANY * MANY];
    fmi3Int32 n[MANY];
    fmi3Boolean flag[5];
    fmi3String text[MANY] = {"vern9", "rk4", "nonsense", NULL, "auto", "dop853", "", "rodas5p"};
    const size_t size = draw(MANY + 1);
    for (int i = 0; i < MANY; i++) {
        vr[i] = draw(5) ? draw(60) : (fmi3ValueReference)draw(~0u);
        others[i] = draw(60);
        n[i] = (fmi3Int32)draw(9);
    }
    for (int i = 0; i < MANY * MANY; i++) x[i] = number();
    const size_t given = draw(9) ? size : draw(MANY), knowns = draw(MANY);
    fmi3FMUState *const kept = draw(10) ? &state[draw(4)] : NULL;
    fmi3FMUState foreign = draw(2) ? (fmi3FMUState)x : (fmi3FMUState)(uintptr_t)8;
    switch (draw(36)) {
    case 0: case 1: return fmi3EnterInitializationMode(c, draw(2), number(), number(), draw(2), number());
    case 2: return fmi3EnterInitializationMode(c, fmi3False, 0.0, 0.0, fmi3False, 0.0);
    case 3: case 4: return fmi3ExitInitializationMode(c);
    case 5: return draw(20) ? fmi3OK : fmi3Terminate(c);
    case 6: return draw(8) ? fmi3OK : fmi3Reset(c);
    case 7: return fmi3GetFloat64(c, draw(9) ? vr : NULL, size, draw(9) ? x : NULL, given);
    case 8: return fmi3SetFloat64(c, draw(9) ? vr : NULL, size, draw(9) ? x : NULL, given);
    case 9: return fmi3SetFloat64(c, vr, 1, x, 1);
    case 10: return fmi3GetInt32(c, vr, size, n, given);
    case 11: return fmi3SetInt32(c, vr, size, n, given);
    case 12: return fmi3GetString(c, vr, size, text, given);
    case 13: return fmi3SetString(c, vr, 1, text + draw(MANY), 1);
    case 14: return fmi3GetDirectionalDerivative(c, vr, size, others, knowns, x, knowns, x + MANY, given);
    case 15: return fmi3GetAdjointDerivative(c, vr, size, others, knowns, x, given, x + MANY, knowns);
    case 16: return fmi3GetFMUState(c, kept);
    case 17: return fmi3SetFMUState(c, draw(4) ? state[draw(4)] : foreign);
    case 18: return fmi3FreeFMUState(c, draw(4) ? kept : &foreign);
    case 19: return fmi3SerializedFMUStateSize(c, draw(4) ? state[draw(4)] : foreign, &n_bytes);
    case 20: return fmi3SerializeFMUState(c, draw(4) ? state[draw(4)] : foreign, bytes, draw(2) ? n_bytes : draw(100));
    case 21:
        if (n_bytes > 0 && draw(2)) bytes[draw((unsigned)n_bytes)] ^= (fmi3Byte)draw(256);
        return fmi3DeserializeFMUState(c, bytes, draw(2) ? n_bytes : draw(1 << 16), kept);
    case 22: return fmi3EnterEventMode(c);
    case 23:
        return fmi3UpdateDiscreteStates(c, draw(9) ? flag : NULL, flag + 1, flag + 2, flag + 3, flag + 4,
                                        draw(9) ? x : NULL);
    case 24: return fmi3EnterContinuousTimeMode(c);
    case 25: return fmi3CompletedIntegratorStep(c, draw(2), draw(9) ? flag : NULL, flag + 1);
    case 26: return fmi3SetTime(c, number());
    case 27: return fmi3SetContinuousStates(c, draw(9) ? x : NULL, draw(MANY));
    case 28: return fmi3GetContinuousStateDerivatives(c, draw(9) ? x : NULL, draw(MANY));
    case 29: return fmi3GetEventIndicators(c, x, draw(MANY));
    case 30: return fmi3GetContinuousStates(c, x, draw(MANY));
    case 31: return fmi3EnterStepMode(c);
    case 32: return fmi3DoStep(c, number(), duration(), draw(2), flag, flag + 1, flag + 2, draw(9) ? x : NULL);
    case 33: return fmi3DoStep(c, 0.0, 0.01, draw(2), flag, flag + 1, flag + 2, x);
    case 34: return fmi3GetBoolean(c, vr, size, flag, given);
    default: return fmi3GetNumberOfVariableDependencies(c, vr[0], NULL);
    }
}

static fmi3Instance made(int k, const char *token)
{
    const fmi3Boolean logs = draw(2);
    return k == 0 ? fmi3InstantiateModelExchange("a", token, NULL, fmi3False, draw(2), NULL, logs ? logger : NULL)
                  : fmi3InstantiateCoSimulation("a", token, NULL, fmi3False, draw(2), draw(2), draw(2), NULL, 0, NULL,
                                                logs ? logger : NULL, NULL);
}

static int taken(const char *token)
{
    return made(0, NULL) != NULL ||
           fmi3InstantiateScheduledExecution("a", token, NULL, 0, 1, NULL, logger, NULL, NULL, NULL) != NULL;
}

static void begin(fmi3Instance c)
{
    fmi3Boolean flag[5];
    fmi3Float64 next;
    fmi3EnterInitializationMode(c, fmi3False, 0.0, 0.0, fmi3False, 0.0);
    fmi3ExitInitializationMode(c);
    fmi3UpdateDiscreteStates(c, flag, flag + 1, flag + 2, flag + 3, flag + 4, &next);
    fmi3EnterContinuousTimeMode(c);
    fmi3EnterStepMode(c);
}
