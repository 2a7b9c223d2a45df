/* cg_fmi3.c: the functions of FMI 3.0 for Model Exchange and Co-Simulation; see cg_fmu.h. Those for what these FMUs do
 * not have, such as clocks and binary variables, are in cg_fmi3_absent.c.
 */
#include "cg_fmu.h"

#include "fmi3Functions.h"

#include <string.h>

#define CG_REQUIRE(instance, phases, function)                                                                        \
    cg_fmu_t *const fmu = (instance);                                                                                 \
    if (cg_fmu_require(fmu, phases, function) != CG_FMU_OK) return fmi3Error;

#define CG_REQUIRE_KIND(instance, kind, phases, function)                                                             \
    CG_REQUIRE(instance, phases, function)                                                                            \
    if (fmu->co_simulation != (kind)) {                                                                               \
        return (fmi3Status)cg_fmu_say(fmu, CG_FMU_ERROR, "%s is not for this kind of simulation", function);          \
    }

#define CG_NEEDED(fmu, pointer)                                                                                       \
    if ((pointer) == NULL) return (fmi3Status)cg_fmu_say(fmu, CG_FMU_ERROR, "an argument is NULL");

/* All variables are scalars. */
#define CG_SCALARS(fmu, references, values)                                                                           \
    if ((references) != (values)) {                                                                                   \
        return (fmi3Status)cg_fmu_say(fmu, CG_FMU_ERROR, "%lu value references for %lu values",                       \
                                      (unsigned long)(references), (unsigned long)(values));                          \
    }

enum { CG_EXCHANGE = 0, CG_SIMULATION = 1 };

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
    return cg_fmu_new(instanceName, instantiationToken, CG_EXCHANGE, &how);
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
    return cg_fmu_new(instanceName, instantiationToken, CG_SIMULATION, &how);
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

void fmi3FreeInstance(fmi3Instance instance) { cg_fmu_delete(instance); }

fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean loggingOn, size_t nCategories,
                               const fmi3String categories[])
{
    CG_REQUIRE(instance, CG_FMU_ANY, "fmi3SetDebugLogging")
    (void)nCategories;
    (void)categories;
    fmu->logging = loggingOn;
    return fmi3OK;
}

/* ---- modes ---- */

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean toleranceDefined, fmi3Float64 tolerance,
                                       fmi3Float64 startTime, fmi3Boolean stopTimeDefined, fmi3Float64 stopTime)
{
    CG_REQUIRE(instance, CG_FMU_INSTANTIATED, "fmi3EnterInitializationMode")
    const int status = cg_fmu_setup(fmu, toleranceDefined, tolerance, startTime, stopTimeDefined, stopTime);
    if (status == CG_FMU_OK) {
        fmu->memory.phase = CG_FMU_INITIALIZING;
    }
    return (fmi3Status)status;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance instance)
{
    CG_REQUIRE(instance, CG_FMU_INITIALIZING, "fmi3ExitInitializationMode")
    return (fmi3Status)cg_fmu_start(fmu, fmu->co_simulation && !fmu->event_mode ? CG_FMU_STEP : CG_FMU_EVENT);
}

fmi3Status fmi3EnterEventMode(fmi3Instance instance)
{
    CG_REQUIRE(instance, CG_FMU_CONTINUOUS | CG_FMU_STEP, "fmi3EnterEventMode")
    if (fmu->co_simulation && !fmu->event_mode) {
        return (fmi3Status)cg_fmu_say(fmu, CG_FMU_ERROR, "the instance was created without Event Mode");
    }
    fmu->memory.phase = CG_FMU_EVENT;
    return fmi3OK;
}

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance)
{
    CG_REQUIRE_KIND(instance, CG_EXCHANGE, CG_FMU_EVENT, "fmi3EnterContinuousTimeMode")
    fmu->memory.phase = CG_FMU_CONTINUOUS;
    return fmi3OK;
}

fmi3Status fmi3EnterStepMode(fmi3Instance instance)
{
    CG_REQUIRE_KIND(instance, CG_SIMULATION, CG_FMU_EVENT, "fmi3EnterStepMode")
    fmu->memory.phase = CG_FMU_STEP;
    return fmi3OK;
}

fmi3Status fmi3Terminate(fmi3Instance instance)
{
    CG_REQUIRE(instance, CG_FMU_RUNNING | CG_FMU_FAILED, "fmi3Terminate")
    fmu->memory.phase = CG_FMU_TERMINATED;
    return fmi3OK;
}

fmi3Status fmi3Reset(fmi3Instance instance)
{
    CG_REQUIRE(instance, CG_FMU_ANY, "fmi3Reset")
    return (fmi3Status)cg_fmu_reset(fmu);
}

/* ---- values ---- */

fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                          fmi3Float64 values[], size_t nValues)
{
    CG_REQUIRE(instance, CG_FMU_ANY, "fmi3GetFloat64")
    CG_SCALARS(fmu, nValueReferences, nValues)
    return (fmi3Status)cg_fmu_get(fmu, valueReferences, nValues, values);
}

fmi3Status fmi3GetInt32(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        fmi3Int32 values[], size_t nValues)
{
    CG_REQUIRE(instance, CG_FMU_ANY, "fmi3GetInt32")
    CG_SCALARS(fmu, nValueReferences, nValues)
    return (fmi3Status)cg_fmu_get_modes(fmu, valueReferences, nValues, values);
}

fmi3Status fmi3GetString(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                         fmi3String values[], size_t nValues)
{
    CG_REQUIRE(instance, CG_FMU_ANY, "fmi3GetString")
    CG_SCALARS(fmu, nValueReferences, nValues)
    return (fmi3Status)cg_fmu_get_text(fmu, valueReferences, nValues, values);
}

fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                          const fmi3Float64 values[], size_t nValues)
{
    CG_REQUIRE(instance, CG_FMU_STARTING | CG_FMU_RUNNING, "fmi3SetFloat64")
    CG_SCALARS(fmu, nValueReferences, nValues)
    return (fmi3Status)cg_fmu_set(fmu, valueReferences, nValues, values);
}

fmi3Status fmi3SetString(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                         const fmi3String values[], size_t nValues)
{
    CG_REQUIRE(instance, CG_FMU_STARTING | CG_FMU_RUNNING, "fmi3SetString")
    CG_SCALARS(fmu, nValueReferences, nValues)
    return (fmi3Status)cg_fmu_set_text(fmu, valueReferences, nValues, values);
}

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t nUnknowns,
                                        const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[],
                                        size_t nSeed, fmi3Float64 sensitivity[], size_t nSensitivity)
{
    CG_REQUIRE(instance, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, "fmi3GetDirectionalDerivative")
    CG_SCALARS(fmu, nKnowns, nSeed)
    CG_SCALARS(fmu, nUnknowns, nSensitivity)
    return (fmi3Status)cg_fmu_along(fmu, unknowns, nUnknowns, knowns, nKnowns, seed, sensitivity);
}

fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t nUnknowns,
                                    const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[],
                                    size_t nSeed, fmi3Float64 sensitivity[], size_t nSensitivity)
{
    CG_REQUIRE(instance, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, "fmi3GetAdjointDerivative")
    CG_SCALARS(fmu, nUnknowns, nSeed)
    CG_SCALARS(fmu, nKnowns, nSensitivity)
    return (fmi3Status)cg_fmu_adjoint(fmu, unknowns, nUnknowns, knowns, nKnowns, seed, sensitivity);
}

/* ---- saved states ---- */

#define CG_OWN(state)                                                                                                 \
    if (!cg_fmu_owns(fmu, state)) {                                                                                   \
        return (fmi3Status)cg_fmu_say(fmu, CG_FMU_ERROR, "this FMU state does not belong to the instance");           \
    }

fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *FMUState)
{
    CG_REQUIRE(instance, CG_FMU_ANY, "fmi3GetFMUState")
    CG_NEEDED(fmu, FMUState)
    if (*FMUState != NULL) {
        CG_OWN(*FMUState)
    }
    fmi3FMUState const saved = cg_fmu_save(fmu, *FMUState);
    if (saved == NULL) {
        return (fmi3Status)cg_fmu_say(fmu, CG_FMU_ERROR, "there is no memory for a saved state");
    }
    *FMUState = saved;
    return fmi3OK;
}

fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState FMUState)
{
    CG_REQUIRE(instance, CG_FMU_ANY, "fmi3SetFMUState")
    CG_OWN(FMUState)
    return (fmi3Status)cg_fmu_restore(fmu, FMUState);
}

fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *FMUState)
{
    CG_REQUIRE(instance, CG_FMU_ANY, "fmi3FreeFMUState")
    if (FMUState == NULL || *FMUState == NULL) {
        return fmi3OK;
    }
    CG_OWN(*FMUState)
    cg_fmu_forget(fmu, *FMUState);
    *FMUState = NULL;
    return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState FMUState, size_t *size)
{
    CG_REQUIRE(instance, CG_FMU_ANY, "fmi3SerializedFMUStateSize")
    CG_NEEDED(fmu, size)
    CG_OWN(FMUState)
    *size = cg_fmu_state_size(FMUState);
    return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState FMUState, fmi3Byte serializedState[], size_t size)
{
    CG_REQUIRE(instance, CG_FMU_ANY, "fmi3SerializeFMUState")
    CG_OWN(FMUState)
    return (fmi3Status)cg_fmu_serialize(fmu, FMUState, serializedState, size);
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte serializedState[], size_t size,
                                   fmi3FMUState *FMUState)
{
    CG_REQUIRE(instance, CG_FMU_ANY, "fmi3DeserializeFMUState")
    CG_NEEDED(fmu, FMUState)
    fmi3FMUState const found = cg_fmu_deserialize(fmu, serializedState, size);
    if (found == NULL) {
        return (fmi3Status)cg_fmu_say(fmu, CG_FMU_ERROR, "the saved state is damaged, or is of another FMU");
    }
    *FMUState = found;
    return fmi3OK;
}

/* ---- events ---- */

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance)
{
    CG_REQUIRE(instance, CG_FMU_INITIALIZING | CG_FMU_EVENT, "fmi3EvaluateDiscreteStates")
    return fmi3OK;
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *discreteStatesNeedUpdate,
                                    fmi3Boolean *terminateSimulation, fmi3Boolean *nominalsOfContinuousStatesChanged,
                                    fmi3Boolean *valuesOfContinuousStatesChanged, fmi3Boolean *nextEventTimeDefined,
                                    fmi3Float64 *nextEventTime)
{
    CG_REQUIRE(instance, CG_FMU_EVENT, "fmi3UpdateDiscreteStates")
    fmi3Boolean *const flags[] = {discreteStatesNeedUpdate, terminateSimulation, nominalsOfContinuousStatesChanged,
                                  valuesOfContinuousStatesChanged, nextEventTimeDefined};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        CG_NEEDED(fmu, flags[i])
        *flags[i] = fmi3False;
    }
    CG_NEEDED(fmu, nextEventTime)
    cg_fmu_update_t result;
    const int status = cg_fmu_update(fmu, &result);
    *discreteStatesNeedUpdate = result.again != 0;
    *terminateSimulation = result.terminate != 0;
    *valuesOfContinuousStatesChanged = result.changed != 0;
    *nextEventTime = 0.0;
    return (fmi3Status)status;
}

/* ---- Model Exchange ---- */

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi3Boolean *enterEventMode, fmi3Boolean *terminateSimulation)
{
    CG_REQUIRE_KIND(instance, CG_EXCHANGE, CG_FMU_CONTINUOUS, "fmi3CompletedIntegratorStep")
    CG_NEEDED(fmu, enterEventMode)
    CG_NEEDED(fmu, terminateSimulation)
    (void)noSetFMUStatePriorToCurrentPoint;
    int crossed;
    const int status = cg_fmu_crossed(fmu, &crossed);
    *enterEventMode = crossed != 0;
    *terminateSimulation = fmi3False;
    return (fmi3Status)status;
}

fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time)
{
    CG_REQUIRE_KIND(instance, CG_EXCHANGE, CG_FMU_CONTINUOUS | CG_FMU_EVENT, "fmi3SetTime")
    return (fmi3Status)cg_fmu_set_time(fmu, time);
}

fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 continuousStates[],
                                   size_t nContinuousStates)
{
    CG_REQUIRE_KIND(instance, CG_EXCHANGE, CG_FMU_CONTINUOUS, "fmi3SetContinuousStates")
    return (fmi3Status)cg_fmu_set_states(fmu, continuousStates, nContinuousStates);
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 derivatives[],
                                             size_t nContinuousStates)
{
    CG_REQUIRE_KIND(instance, CG_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, "fmi3GetContinuousStateDerivatives")
    return (fmi3Status)cg_fmu_derivatives(fmu, derivatives, nContinuousStates);
}

fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 eventIndicators[], size_t nEventIndicators)
{
    CG_REQUIRE_KIND(instance, CG_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, "fmi3GetEventIndicators")
    return (fmi3Status)cg_fmu_indicators(fmu, eventIndicators, nEventIndicators);
}

fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 continuousStates[], size_t nContinuousStates)
{
    CG_REQUIRE_KIND(instance, CG_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, "fmi3GetContinuousStates")
    return (fmi3Status)cg_fmu_get_states(fmu, continuousStates, nContinuousStates);
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 nominals[], size_t nContinuousStates)
{
    CG_REQUIRE_KIND(instance, CG_EXCHANGE, CG_FMU_ANY, "fmi3GetNominalsOfContinuousStates")
    return (fmi3Status)cg_fmu_get_nominals(fmu, nominals, nContinuousStates);
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *nEventIndicators)
{
    CG_REQUIRE_KIND(instance, CG_EXCHANGE, CG_FMU_ANY, "fmi3GetNumberOfEventIndicators")
    CG_NEEDED(fmu, nEventIndicators)
    *nEventIndicators = (size_t)fmu->count[CG_FMU_INDICATOR];
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *nContinuousStates)
{
    CG_REQUIRE_KIND(instance, CG_EXCHANGE, CG_FMU_ANY, "fmi3GetNumberOfContinuousStates")
    CG_NEEDED(fmu, nContinuousStates)
    *nContinuousStates = (size_t)fmu->model.n_states;
    return fmi3OK;
}

/* ---- Co-Simulation ---- */

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 currentCommunicationPoint, fmi3Float64 communicationStepSize,
                      fmi3Boolean noSetFMUStatePriorToCurrentPoint, fmi3Boolean *eventHandlingNeeded,
                      fmi3Boolean *terminateSimulation, fmi3Boolean *earlyReturn, fmi3Float64 *lastSuccessfulTime)
{
    CG_REQUIRE_KIND(instance, CG_SIMULATION, CG_FMU_STEP, "fmi3DoStep")
    CG_NEEDED(fmu, eventHandlingNeeded)
    CG_NEEDED(fmu, terminateSimulation)
    CG_NEEDED(fmu, earlyReturn)
    CG_NEEDED(fmu, lastSuccessfulTime)
    (void)noSetFMUStatePriorToCurrentPoint;
    cg_fmu_step_t result;
    const int status = cg_fmu_advance(fmu, currentCommunicationPoint, communicationStepSize, &result);
    *eventHandlingNeeded = result.event != 0;
    *terminateSimulation = result.terminate != 0;
    *earlyReturn = status == CG_FMU_OK && result.t < currentCommunicationPoint + communicationStepSize;
    *lastSuccessfulTime = result.t;
    return (fmi3Status)status;
}
