/* cg_fmi3.c: the functions of FMI 3.0 for Model Exchange and Co-Simulation; see cg_fmu.h. Those for what these FMUs do
 * not have, such as clocks and binary variables, are in cg_fmi3_absent.c.
 */
#include "cg_fmu.h"

#include "fmi3Functions.h"

#include <string.h>

#define CG_REQUIRE(kind, phases)                                                                                      \
    cg_fmu_t *const fmu = instance;                                                                                   \
    if (cg_fmu_require(fmu, kind, phases, __func__) != CG_FMU_OK) return fmi3Error;

#define CG_NEEDED(pointer)                                                                                            \
    if ((pointer) == NULL) return (fmi3Status)cg_fmu_say(fmu, CG_FMU_ERROR, "an argument is NULL");

/* Functions that are one call, for instances of a kind in some phases; that lead to another phase; that move values. */
#define CG_CALL(name, parameters, kind, phases, call)                                                                 \
    fmi3Status name parameters                                                                                        \
    {                                                                                                                 \
        CG_REQUIRE(kind, phases)                                                                                      \
        return (fmi3Status)(call);                                                                                    \
    }

#define CG_MODE(name, kind, phases, next)                                                                             \
    CG_CALL(name, (void *instance), kind, phases, (fmu->memory.phase = (next), CG_FMU_OK))

#define CG_VALUES(name, phases, type, call)                                                                           \
    fmi3Status name(void *instance, const fmi3ValueReference references[], size_t n, type values[], size_t nValues)   \
    {                                                                                                                 \
        CG_REQUIRE(CG_FMU_EITHER, phases)                                                                             \
        CG_SCALARS(n, nValues)                                                                                        \
        return (fmi3Status)call(fmu, references, n, values);                                                          \
    }

/* All variables are scalars. */
#define CG_SCALARS(references, values)                                                                                \
    if ((references) != (values)) {                                                                                   \
        return (fmi3Status)cg_fmu_say(fmu, CG_FMU_ERROR, "%lu value references for %lu values",                       \
                                      (unsigned long)(references), (unsigned long)(values));                          \
    }

/* ---- versions and instances ---- */

const char *fmi3GetVersion(void) { return fmi3Version; }

static void cg_fmi3_log(const cg_fmu_t *fmu, int status, const char *category, const char *text)
{
    fmi3LogMessageCallback const callback = (fmi3LogMessageCallback)fmu->logger.function;
    callback(fmu->environment, (fmi3Status)status, category, text);
}

static cg_fmu_t cg_fmi3_how(fmi3Boolean loggingOn, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    cg_fmu_t how;
    memset(&how, 0, sizeof how);
    how.logging = loggingOn;
    how.environment = environment;
    how.log = log != NULL ? cg_fmi3_log : NULL;
    how.logger.function = (void (*)(void))log;
    return how;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String instanceName, fmi3String instantiationToken,
                                          fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                          fmi3InstanceEnvironment instanceEnvironment,
                                          fmi3LogMessageCallback logMessage)
{
    const cg_fmu_t how = cg_fmi3_how(loggingOn, instanceEnvironment, logMessage);
    (void)resourcePath;
    (void)visible;
    return cg_fmu_new(instanceName, instantiationToken, CG_FMU_EXCHANGE, &how);
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String instanceName, fmi3String instantiationToken,
                                         fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                         fmi3Boolean eventModeUsed, fmi3Boolean earlyReturnAllowed,
                                         const fmi3ValueReference requiredIntermediateVariables[],
                                         size_t nRequiredIntermediateVariables,
                                         fmi3InstanceEnvironment instanceEnvironment,
                                         fmi3LogMessageCallback logMessage,
                                         fmi3IntermediateUpdateCallback intermediateUpdate)
{
    cg_fmu_t how = cg_fmi3_how(loggingOn, instanceEnvironment, logMessage);
    (void)resourcePath;
    (void)visible;
    (void)requiredIntermediateVariables;
    (void)intermediateUpdate;
    if (nRequiredIntermediateVariables > 0) {
        cg_fmu_say(&how, CG_FMU_ERROR, "there are no intermediate updates");
        return NULL;
    }
    how.event_mode = eventModeUsed;
    how.early_return = earlyReturnAllowed;
    return cg_fmu_new(instanceName, instantiationToken, CG_FMU_SIMULATION, &how);
}

fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath, fmi3Boolean visible,
    fmi3Boolean loggingOn, fmi3InstanceEnvironment instanceEnvironment, fmi3LogMessageCallback logMessage,
    fmi3ClockUpdateCallback clockUpdate, fmi3LockPreemptionCallback lockPreemption,
    fmi3UnlockPreemptionCallback unlockPreemption)
{
    const cg_fmu_t how = cg_fmi3_how(loggingOn, instanceEnvironment, logMessage);
    (void)instanceName;
    (void)instantiationToken;
    (void)resourcePath;
    (void)visible;
    (void)clockUpdate;
    (void)lockPreemption;
    (void)unlockPreemption;
    cg_fmu_say(&how, CG_FMU_ERROR, "this FMU has no Scheduled Execution");
    return NULL;
}

void fmi3FreeInstance(void *instance) { cg_fmu_delete(instance); }

CG_CALL(fmi3SetDebugLogging, (void *instance, fmi3Boolean loggingOn, size_t nCategories, const fmi3String categories[]),
        CG_FMU_EITHER, CG_FMU_ANY, ((void)nCategories, (void)categories, fmu->logging = loggingOn, CG_FMU_OK))

/* ---- modes ---- */

CG_CALL(fmi3EnterInitializationMode, (void *instance, fmi3Boolean toleranceDefined, fmi3Float64 tolerance,
        fmi3Float64 startTime, fmi3Boolean stopTimeDefined, fmi3Float64 stopTime), CG_FMU_EITHER, CG_FMU_INSTANTIATED,
        cg_fmu_setup(fmu, toleranceDefined, tolerance, startTime, stopTimeDefined, stopTime) != CG_FMU_OK
            ? CG_FMU_ERROR : (fmu->memory.phase = CG_FMU_INITIALIZING, CG_FMU_OK))
CG_CALL(fmi3ExitInitializationMode, (void *instance), CG_FMU_EITHER, CG_FMU_INITIALIZING,
        cg_fmu_start(fmu, fmu->co_simulation && !fmu->event_mode ? CG_FMU_STEP : CG_FMU_EVENT))

CG_CALL(fmi3EnterEventMode, (void *instance), CG_FMU_EITHER, CG_FMU_CONTINUOUS | CG_FMU_STEP,
        fmu->co_simulation && !fmu->event_mode
            ? cg_fmu_say(fmu, CG_FMU_ERROR, "the instance was created without Event Mode")
            : (fmu->memory.phase = CG_FMU_EVENT, CG_FMU_OK))

CG_MODE(fmi3EnterContinuousTimeMode, CG_FMU_EXCHANGE, CG_FMU_EVENT, CG_FMU_CONTINUOUS)
CG_MODE(fmi3EnterStepMode, CG_FMU_SIMULATION, CG_FMU_EVENT, CG_FMU_STEP)
CG_MODE(fmi3Terminate, CG_FMU_EITHER, CG_FMU_RUNNING | CG_FMU_FAILED, CG_FMU_TERMINATED)
CG_CALL(fmi3Reset, (void *instance), CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_reset(fmu))

/* ---- values ---- */

CG_VALUES(fmi3GetFloat64, CG_FMU_ANY, fmi3Float64, cg_fmu_get)
CG_VALUES(fmi3GetInt32, CG_FMU_ANY, fmi3Int32, cg_fmu_get_modes)
CG_VALUES(fmi3GetString, CG_FMU_ANY, fmi3String, cg_fmu_get_text)
CG_VALUES(fmi3SetFloat64, CG_FMU_STARTING | CG_FMU_RUNNING, const fmi3Float64, cg_fmu_set)
CG_VALUES(fmi3SetString, CG_FMU_STARTING | CG_FMU_RUNNING, const fmi3String, cg_fmu_set_text)

fmi3Status fmi3GetDirectionalDerivative(void *instance, const fmi3ValueReference unknowns[], size_t nUnknowns,
                                        const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[],
                                        size_t nSeed, fmi3Float64 sensitivity[], size_t nSensitivity)
{
    CG_REQUIRE(CG_FMU_EITHER, CG_FMU_ANY & ~CG_FMU_INSTANTIATED)
    CG_SCALARS(nKnowns, nSeed)
    CG_SCALARS(nUnknowns, nSensitivity)
    return (fmi3Status)cg_fmu_along(fmu, unknowns, nUnknowns, knowns, nKnowns, seed, sensitivity);
}

fmi3Status fmi3GetAdjointDerivative(void *instance, const fmi3ValueReference unknowns[], size_t nUnknowns,
                                    const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[],
                                    size_t nSeed, fmi3Float64 sensitivity[], size_t nSensitivity)
{
    CG_REQUIRE(CG_FMU_EITHER, CG_FMU_ANY & ~CG_FMU_INSTANTIATED)
    CG_SCALARS(nUnknowns, nSeed)
    CG_SCALARS(nKnowns, nSensitivity)
    return (fmi3Status)cg_fmu_adjoint(fmu, unknowns, nUnknowns, knowns, nKnowns, seed, sensitivity);
}

/* ---- saved states ---- */

CG_CALL(fmi3GetFMUState, (void *instance, fmi3FMUState *state), CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_save(fmu, state))
CG_CALL(fmi3SetFMUState, (void *instance, fmi3FMUState state), CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_restore(fmu, state))
CG_CALL(fmi3FreeFMUState, (void *instance, fmi3FMUState *state), CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_forget(fmu, state))
CG_CALL(fmi3SerializedFMUStateSize, (void *instance, fmi3FMUState state, size_t *size),
        CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_state_size(fmu, state, size))
CG_CALL(fmi3SerializeFMUState, (void *instance, fmi3FMUState state, fmi3Byte bytes[], size_t size),
        CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_serialize(fmu, state, bytes, size))
CG_CALL(fmi3DeserializeFMUState, (void *instance, const fmi3Byte bytes[], size_t size, fmi3FMUState *state),
        CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_deserialize(fmu, bytes, size, state))

/* ---- events ---- */

CG_CALL(fmi3EvaluateDiscreteStates, (void *instance), CG_FMU_EITHER, CG_FMU_INITIALIZING | CG_FMU_EVENT, CG_FMU_OK)

fmi3Status fmi3UpdateDiscreteStates(void *instance, fmi3Boolean *discreteStatesNeedUpdate,
                                    fmi3Boolean *terminateSimulation, fmi3Boolean *nominalsOfContinuousStatesChanged,
                                    fmi3Boolean *valuesOfContinuousStatesChanged, fmi3Boolean *nextEventTimeDefined,
                                    fmi3Float64 *nextEventTime)
{
    CG_REQUIRE(CG_FMU_EITHER, CG_FMU_EVENT)
    fmi3Boolean *const flags[] = {discreteStatesNeedUpdate, terminateSimulation, nominalsOfContinuousStatesChanged,
                                  valuesOfContinuousStatesChanged, nextEventTimeDefined};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        CG_NEEDED(flags[i])
        *flags[i] = fmi3False;
    }
    CG_NEEDED(nextEventTime)
    cg_fmu_update_t result;
    const int status = cg_fmu_update(fmu, &result);
    *discreteStatesNeedUpdate = result.again != 0;
    *terminateSimulation = result.terminate != 0;
    *valuesOfContinuousStatesChanged = result.changed != 0;
    *nextEventTime = 0.0;
    return (fmi3Status)status;
}

/* ---- Model Exchange ---- */

fmi3Status fmi3CompletedIntegratorStep(void *instance, fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi3Boolean *enterEventMode, fmi3Boolean *terminateSimulation)
{
    CG_REQUIRE(CG_FMU_EXCHANGE, CG_FMU_CONTINUOUS)
    CG_NEEDED(enterEventMode)
    CG_NEEDED(terminateSimulation)
    (void)noSetFMUStatePriorToCurrentPoint;
    int crossed;
    const int status = cg_fmu_crossed(fmu, &crossed);
    *enterEventMode = crossed != 0;
    *terminateSimulation = fmi3False;
    return (fmi3Status)status;
}

CG_CALL(fmi3SetTime, (void *instance, fmi3Float64 time),
        CG_FMU_EXCHANGE, CG_FMU_CONTINUOUS | CG_FMU_EVENT, cg_fmu_set_time(fmu, time))
CG_CALL(fmi3SetContinuousStates, (void *instance, const fmi3Float64 continuousStates[], size_t nContinuousStates),
        CG_FMU_EXCHANGE, CG_FMU_CONTINUOUS, cg_fmu_set_states(fmu, continuousStates, nContinuousStates))
CG_CALL(fmi3GetContinuousStateDerivatives, (void *instance, fmi3Float64 derivatives[], size_t nContinuousStates),
        CG_FMU_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, cg_fmu_derivatives(fmu, derivatives, nContinuousStates))
CG_CALL(fmi3GetEventIndicators, (void *instance, fmi3Float64 eventIndicators[], size_t nEventIndicators),
        CG_FMU_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, cg_fmu_indicators(fmu, eventIndicators, nEventIndicators))
CG_CALL(fmi3GetContinuousStates, (void *instance, fmi3Float64 continuousStates[], size_t nContinuousStates),
        CG_FMU_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED,
        cg_fmu_get_states(fmu, continuousStates, nContinuousStates))
CG_CALL(fmi3GetNominalsOfContinuousStates, (void *instance, fmi3Float64 nominals[], size_t nContinuousStates),
        CG_FMU_EXCHANGE, CG_FMU_ANY, cg_fmu_get_nominals(fmu, nominals, nContinuousStates))

fmi3Status fmi3GetNumberOfEventIndicators(void *instance, size_t *nEventIndicators)
{
    CG_REQUIRE(CG_FMU_EXCHANGE, CG_FMU_ANY)
    CG_NEEDED(nEventIndicators)
    *nEventIndicators = (size_t)fmu->count[CG_FMU_INDICATOR];
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(void *instance, size_t *nContinuousStates)
{
    CG_REQUIRE(CG_FMU_EXCHANGE, CG_FMU_ANY)
    CG_NEEDED(nContinuousStates)
    *nContinuousStates = (size_t)fmu->model.n_states;
    return fmi3OK;
}

/* ---- Co-Simulation ---- */

fmi3Status fmi3DoStep(void *instance, fmi3Float64 currentCommunicationPoint, fmi3Float64 communicationStepSize,
                      fmi3Boolean noSetFMUStatePriorToCurrentPoint, fmi3Boolean *eventHandlingNeeded,
                      fmi3Boolean *terminateSimulation, fmi3Boolean *earlyReturn, fmi3Float64 *lastSuccessfulTime)
{
    CG_REQUIRE(CG_FMU_SIMULATION, CG_FMU_STEP)
    CG_NEEDED(eventHandlingNeeded)
    CG_NEEDED(terminateSimulation)
    CG_NEEDED(earlyReturn)
    CG_NEEDED(lastSuccessfulTime)
    (void)noSetFMUStatePriorToCurrentPoint;
    cg_fmu_step_t result;
    const int status = cg_fmu_advance(fmu, currentCommunicationPoint, communicationStepSize, &result);
    *eventHandlingNeeded = result.event != 0;
    *terminateSimulation = result.terminate != 0;
    *earlyReturn = status == CG_FMU_OK && result.t < currentCommunicationPoint + communicationStepSize;
    *lastSuccessfulTime = result.t;
    return (fmi3Status)status;
}
