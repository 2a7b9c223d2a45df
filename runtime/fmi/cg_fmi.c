/* cg_fmi.c: the functions of FMI for Model Exchange and Co-Simulation; see cg_fmu.h. An FMU is of one version, which the
 * header that is written for it has. Functions of FMI 3.0 for what these FMUs do not have are in cg_fmi3_absent.c.
 */
#include "cg_fmi_version.h"
#include "cg_fmu.h"

#if CG_FMI_VERSION == 2
#include "fmi2Functions.h"
#define CG_FMI(name) fmi2##name
#define CG_FMI_STATE(verb) fmi2##verb##FMUstate
#else
#include "fmi3Functions.h"
#define CG_FMI(name) fmi3##name
#define CG_FMI_STATE(verb) fmi3##verb##FMUState
#endif

#include <string.h>

#define CG_REQUIRE(kind, phases)                                                                                      \
    cg_fmu_t *const fmu = instance;                                                                                   \
    if (cg_fmu_require(fmu, kind, phases, __func__) != CG_FMU_OK) return CG_FMI(Error);

#define CG_NEEDED(pointer)                                                                                            \
    if ((pointer) == NULL) return (CG_FMI(Status))cg_fmu_say(fmu, CG_FMU_ERROR, "an argument is NULL");

/* Functions that are one call, for instances of a kind in some phases; that lead to another phase; that move values. */
#define CG_CALL(name, parameters, kind, phases, call)                                                                 \
    CG_FMI(Status) name parameters                                                                                    \
    {                                                                                                                 \
        CG_REQUIRE(kind, phases)                                                                                      \
        return (CG_FMI(Status))(call);                                                                                \
    }

#define CG_MODE(name, kind, phases, next)                                                                             \
    CG_CALL(name, (void *instance), kind, phases, (fmu->memory.phase = (next), CG_FMU_OK))

/* ---- of FMI 2.0 ---- */

#if CG_FMI_VERSION == 2
#define CG_VALUES(name, phases, type, call)                                                                           \
    CG_CALL(name, (void *instance, const fmi2ValueReference vr[], size_t nvr, type value[]), CG_FMU_EITHER, phases,   \
            call(fmu, vr, nvr, value))

#define CG_NONE(fmu, vr, nvr, value) ((void)(vr), (void)(value), cg_fmu_none(fmu, nvr, __func__))

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char *fmi2GetVersion(void) { return fmi2Version; }

static void cg_fmi_log_format(const cg_fmu_t *fmu, int status, const char *category, const char *text)
{
    const fmi2CallbackFunctions *const callbacks = fmu->logger.table;
    callbacks->logger(fmu->environment, fmu->name, (fmi2Status)status, category, "%s", text);
}

fmi2Component fmi2Instantiate(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                              fmi2String fmuResourceLocation, const fmi2CallbackFunctions *functions,
                              fmi2Boolean visible, fmi2Boolean loggingOn)
{
    cg_fmu_t how;
    (void)fmuResourceLocation;
    (void)visible;
    memset(&how, 0, sizeof how);
    how.name = (char[]){"instantiation"};
    how.logging = loggingOn != fmi2False;
    how.logger.table = functions;
    if (functions != NULL && functions->logger != NULL) {
        how.log = cg_fmi_log_format;
        how.environment = functions->componentEnvironment;
    }
    if (fmuType != fmi2ModelExchange && fmuType != fmi2CoSimulation) {
        cg_fmu_say(&how, CG_FMU_ERROR, "%d is not a type of FMU", (int)fmuType);
        return NULL;
    }
    return cg_fmu_new(instanceName, fmuGUID, fmuType == fmi2CoSimulation, &how);
}

void fmi2FreeInstance(void *instance) { cg_fmu_delete(instance); }

CG_CALL(fmi2SetupExperiment, (void *instance, fmi2Boolean toleranceDefined, fmi2Real tolerance, fmi2Real startTime,
        fmi2Boolean stopTimeDefined, fmi2Real stopTime), CG_FMU_EITHER, CG_FMU_INSTANTIATED,
        cg_fmu_setup(fmu, toleranceDefined, tolerance, startTime, stopTimeDefined, stopTime))
CG_MODE(fmi2EnterInitializationMode, CG_FMU_EITHER, CG_FMU_INSTANTIATED, CG_FMU_INITIALIZING)
CG_CALL(fmi2ExitInitializationMode, (void *instance),
        CG_FMU_EITHER, CG_FMU_INITIALIZING, cg_fmu_start(fmu, fmu->co_simulation ? CG_FMU_STEP : CG_FMU_EVENT))

/* ---- values ---- */

CG_VALUES(fmi2GetReal, CG_FMU_ANY, fmi2Real, cg_fmu_get)
CG_VALUES(fmi2GetInteger, CG_FMU_ANY, fmi2Integer, cg_fmu_get_modes)
CG_VALUES(fmi2GetBoolean, CG_FMU_ANY, fmi2Boolean, CG_NONE)
CG_VALUES(fmi2GetString, CG_FMU_ANY, fmi2String, cg_fmu_get_text)
CG_VALUES(fmi2SetReal, CG_FMU_STARTING | CG_FMU_RUNNING, const fmi2Real, cg_fmu_set)
CG_VALUES(fmi2SetInteger, CG_FMU_ANY, const fmi2Integer, CG_NONE)
CG_VALUES(fmi2SetBoolean, CG_FMU_ANY, const fmi2Boolean, CG_NONE)
CG_VALUES(fmi2SetString, CG_FMU_STARTING | CG_FMU_RUNNING, const fmi2String, cg_fmu_set_text)
CG_CALL(fmi2GetDirectionalDerivative, (void *instance, const fmi2ValueReference unknowns[], size_t nUnknowns,
        const fmi2ValueReference knowns[], size_t nKnowns, const fmi2Real seed[], fmi2Real sensitivity[]),
        CG_FMU_EITHER, CG_FMU_ANY & ~CG_FMU_INSTANTIATED,
        cg_fmu_along(fmu, unknowns, nUnknowns, knowns, nKnowns, seed, sensitivity))

CG_CALL(fmi2SerializedFMUstateSize, (void *instance, fmi2FMUstate state, size_t *size),
        CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_state_size(fmu, state, size))
CG_CALL(fmi2DeSerializeFMUstate, (void *instance, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state),
        CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_deserialize(fmu, bytes, size, state))

/* ---- Model Exchange ---- */

CG_MODE(fmi2EnterEventMode, CG_FMU_EXCHANGE, CG_FMU_CONTINUOUS | CG_FMU_EVENT, CG_FMU_EVENT)

fmi2Status fmi2NewDiscreteStates(void *instance, fmi2EventInfo *eventInfo)
{
    CG_REQUIRE(CG_FMU_EXCHANGE, CG_FMU_EVENT)
    CG_NEEDED(eventInfo)
    cg_fmu_update_t result;
    const int status = cg_fmu_update(fmu, &result);
    memset(eventInfo, 0, sizeof *eventInfo);
    eventInfo->newDiscreteStatesNeeded = result.again;
    eventInfo->terminateSimulation = result.terminate;
    eventInfo->valuesOfContinuousStatesChanged = result.changed;
    return (fmi2Status)status;
}

fmi2Status fmi2CompletedIntegratorStep(void *instance, fmi2Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi2Boolean *enterEventMode, fmi2Boolean *terminateSimulation)
{
    CG_REQUIRE(CG_FMU_EXCHANGE, CG_FMU_CONTINUOUS)
    CG_NEEDED(enterEventMode)
    CG_NEEDED(terminateSimulation)
    (void)noSetFMUStatePriorToCurrentPoint;
    *terminateSimulation = fmi2False;
    return (fmi2Status)cg_fmu_crossed(fmu, enterEventMode);
}

CG_CALL(fmi2GetDerivatives, (void *instance, fmi2Real derivatives[], size_t nx),
        CG_FMU_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, cg_fmu_derivatives(fmu, derivatives, nx))

/* ---- Co-Simulation ---- */

CG_CALL(fmi2SetRealInputDerivatives, (void *instance, const fmi2ValueReference vr[], size_t nvr,
        const fmi2Integer order[], const fmi2Real value[]), CG_FMU_SIMULATION, CG_FMU_STEP | CG_FMU_INITIALIZING,
        cg_fmu_set_slopes(fmu, vr, nvr, order, value))
CG_CALL(fmi2GetRealOutputDerivatives, (void *instance, const fmi2ValueReference vr[], size_t nvr,
        const fmi2Integer order[], fmi2Real value[]), CG_FMU_EITHER, CG_FMU_ANY,
        ((void)order, CG_NONE(fmu, vr, nvr, value)))

fmi2Status fmi2DoStep(void *instance, fmi2Real currentCommunicationPoint, fmi2Real communicationStepSize,
                      fmi2Boolean noSetFMUStatePriorToCurrentPoint)
{
    CG_REQUIRE(CG_FMU_SIMULATION, CG_FMU_STEP)
    (void)noSetFMUStatePriorToCurrentPoint;
    cg_fmu_step_t result;
    const int status = cg_fmu_advance(fmu, currentCommunicationPoint, communicationStepSize, &result);
    return status == CG_FMU_OK && result.terminate ? fmi2Discard : (fmi2Status)status;
}

CG_CALL(fmi2CancelStep, (void *instance),
        CG_FMU_SIMULATION, CG_FMU_ANY, cg_fmu_say(fmu, CG_FMU_ERROR, "%s: steps are not asynchronous", __func__))

/* Steps are never pending, so only two of the questions have an answer. */
#define CG_UNANSWERED cg_fmu_say(fmu, CG_FMU_DISCARD, "%s: no such status", __func__)
#define CG_NO_STATUS(name, type)                                                                                      \
    CG_CALL(name, (void *instance, const fmi2StatusKind s, type *value), CG_FMU_SIMULATION, CG_FMU_ANY,               \
            ((void)s, (void)value, CG_UNANSWERED))

CG_NO_STATUS(fmi2GetStatus, fmi2Status)
CG_NO_STATUS(fmi2GetIntegerStatus, fmi2Integer)
CG_NO_STATUS(fmi2GetStringStatus, fmi2String)

fmi2Status fmi2GetRealStatus(void *instance, const fmi2StatusKind s, fmi2Real *value)
{
    CG_REQUIRE(CG_FMU_SIMULATION, CG_FMU_ANY)
    CG_NEEDED(value)
    if (s != fmi2LastSuccessfulTime) {
        return (fmi2Status)CG_UNANSWERED;
    }
    *value = fmu->run->t;
    return fmi2OK;
}

fmi2Status fmi2GetBooleanStatus(void *instance, const fmi2StatusKind s, fmi2Boolean *value)
{
    CG_REQUIRE(CG_FMU_SIMULATION, CG_FMU_ANY)
    CG_NEEDED(value)
    if (s != fmi2Terminated) {
        return (fmi2Status)CG_UNANSWERED;
    }
    *value = fmu->memory.terminal;
    return fmi2OK;
}

/* ---- of FMI 3.0 ---- */

#else
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

const char *fmi3GetVersion(void) { return fmi3Version; }

static void cg_fmi_log(const cg_fmu_t *fmu, int status, const char *category, const char *text)
{
    fmi3LogMessageCallback const callback = (fmi3LogMessageCallback)fmu->logger.function;
    callback(fmu->environment, (fmi3Status)status, category, text);
}

static cg_fmu_t cg_fmi_how(fmi3Boolean loggingOn, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    cg_fmu_t how;
    memset(&how, 0, sizeof how);
    how.logging = loggingOn;
    how.environment = environment;
    how.log = log != NULL ? cg_fmi_log : NULL;
    how.logger.function = (void (*)(void))log;
    return how;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String instanceName, fmi3String instantiationToken,
                                          fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                          fmi3InstanceEnvironment instanceEnvironment,
                                          fmi3LogMessageCallback logMessage)
{
    const cg_fmu_t how = cg_fmi_how(loggingOn, instanceEnvironment, logMessage);
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
    cg_fmu_t how = cg_fmi_how(loggingOn, instanceEnvironment, logMessage);
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
    const cg_fmu_t how = cg_fmi_how(loggingOn, instanceEnvironment, logMessage);
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

CG_MODE(fmi3EnterStepMode, CG_FMU_SIMULATION, CG_FMU_EVENT, CG_FMU_STEP)

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

CG_CALL(fmi3SerializedFMUStateSize, (void *instance, fmi3FMUState state, size_t *size),
        CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_state_size(fmu, state, size))
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

CG_CALL(fmi3GetContinuousStateDerivatives, (void *instance, fmi3Float64 derivatives[], size_t nContinuousStates),
        CG_FMU_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, cg_fmu_derivatives(fmu, derivatives, nContinuousStates))

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
#endif

/* ---- of both versions ---- */

CG_CALL(CG_FMI(SetDebugLogging), (void *instance, CG_FMI(Boolean) loggingOn, size_t nCategories,
        const CG_FMI(String) categories[]), CG_FMU_EITHER, CG_FMU_ANY,
        ((void)nCategories, (void)categories, fmu->logging = loggingOn != 0, CG_FMU_OK))
CG_MODE(CG_FMI(Terminate), CG_FMU_EITHER, CG_FMU_RUNNING | CG_FMU_FAILED, CG_FMU_TERMINATED)
CG_CALL(CG_FMI(Reset), (void *instance), CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_reset(fmu))

CG_CALL(CG_FMI_STATE(Get), (void *instance, void **state), CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_save(fmu, state))
CG_CALL(CG_FMI_STATE(Set), (void *instance, void *state), CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_restore(fmu, state))
CG_CALL(CG_FMI_STATE(Free), (void *instance, void **state), CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_forget(fmu, state))
CG_CALL(CG_FMI_STATE(Serialize), (void *instance, void *state, CG_FMI(Byte) bytes[], size_t size),
        CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_serialize(fmu, state, bytes, size))

CG_MODE(CG_FMI(EnterContinuousTimeMode), CG_FMU_EXCHANGE, CG_FMU_EVENT, CG_FMU_CONTINUOUS)
CG_CALL(CG_FMI(SetTime), (void *instance, double time),
        CG_FMU_EXCHANGE, CG_FMU_CONTINUOUS | CG_FMU_EVENT, cg_fmu_set_time(fmu, time))
CG_CALL(CG_FMI(SetContinuousStates), (void *instance, const double x[], size_t nx),
        CG_FMU_EXCHANGE, CG_FMU_CONTINUOUS, cg_fmu_set_states(fmu, x, nx))
CG_CALL(CG_FMI(GetEventIndicators), (void *instance, double eventIndicators[], size_t ni),
        CG_FMU_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, cg_fmu_indicators(fmu, eventIndicators, ni))
CG_CALL(CG_FMI(GetContinuousStates), (void *instance, double x[], size_t nx),
        CG_FMU_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, cg_fmu_get_states(fmu, x, nx))
CG_CALL(CG_FMI(GetNominalsOfContinuousStates), (void *instance, double x_nominal[], size_t nx),
        CG_FMU_EXCHANGE, CG_FMU_ANY, cg_fmu_get_nominals(fmu, x_nominal, nx))
