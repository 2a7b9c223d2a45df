/* cg_fmi2.c: the functions of FMI 2.0 for Model Exchange and Co-Simulation; see cg_fmu.h. */
#include "cg_fmu.h"

#include "fmi2Functions.h"

#include <string.h>

#define CG_REQUIRE(kind, phases)                                                                                      \
    cg_fmu_t *const fmu = instance;                                                                                   \
    if (cg_fmu_require(fmu, kind, phases, __func__) != CG_FMU_OK) return fmi2Error;

#define CG_NEEDED(pointer)                                                                                            \
    if ((pointer) == NULL) return (fmi2Status)cg_fmu_say(fmu, CG_FMU_ERROR, "an argument is NULL");

/* Functions that are one call, for instances of a kind in some phases; that lead to another phase; that move values. */
#define CG_CALL(name, parameters, kind, phases, call)                                                                 \
    fmi2Status name parameters                                                                                        \
    {                                                                                                                 \
        CG_REQUIRE(kind, phases)                                                                                      \
        return (fmi2Status)(call);                                                                                    \
    }

#define CG_MODE(name, kind, phases, next)                                                                             \
    CG_CALL(name, (void *instance), kind, phases, (fmu->memory.phase = (next), CG_FMU_OK))

#define CG_VALUES(name, phases, type, call)                                                                           \
    CG_CALL(name, (void *instance, const fmi2ValueReference vr[], size_t nvr, type value[]), CG_FMU_EITHER, phases,   \
            call(fmu, vr, nvr, value))

#define CG_NONE(fmu, vr, nvr, value) ((void)(vr), (void)(value), cg_fmu_none(fmu, nvr, __func__))

/* ---- versions and instances ---- */

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char *fmi2GetVersion(void) { return fmi2Version; }

static void cg_fmi2_log(const cg_fmu_t *fmu, int status, const char *category, const char *text)
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
        how.log = cg_fmi2_log;
        how.environment = functions->componentEnvironment;
    }
    if (fmuType != fmi2ModelExchange && fmuType != fmi2CoSimulation) {
        cg_fmu_say(&how, CG_FMU_ERROR, "%d is not a type of FMU", (int)fmuType);
        return NULL;
    }
    return cg_fmu_new(instanceName, fmuGUID, fmuType == fmi2CoSimulation, &how);
}

void fmi2FreeInstance(void *instance) { cg_fmu_delete(instance); }

CG_CALL(fmi2SetDebugLogging, (void *instance, fmi2Boolean loggingOn, size_t nCategories, const fmi2String categories[]),
        CG_FMU_EITHER, CG_FMU_ANY, ((void)nCategories, (void)categories, fmu->logging = loggingOn != fmi2False, CG_FMU_OK))

CG_CALL(fmi2SetupExperiment, (void *instance, fmi2Boolean toleranceDefined, fmi2Real tolerance, fmi2Real startTime,
        fmi2Boolean stopTimeDefined, fmi2Real stopTime), CG_FMU_EITHER, CG_FMU_INSTANTIATED,
        cg_fmu_setup(fmu, toleranceDefined, tolerance, startTime, stopTimeDefined, stopTime))
CG_MODE(fmi2EnterInitializationMode, CG_FMU_EITHER, CG_FMU_INSTANTIATED, CG_FMU_INITIALIZING)
CG_CALL(fmi2ExitInitializationMode, (void *instance),
        CG_FMU_EITHER, CG_FMU_INITIALIZING, cg_fmu_start(fmu, fmu->co_simulation ? CG_FMU_STEP : CG_FMU_EVENT))
CG_MODE(fmi2Terminate, CG_FMU_EITHER, CG_FMU_RUNNING | CG_FMU_FAILED, CG_FMU_TERMINATED)
CG_CALL(fmi2Reset, (void *instance), CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_reset(fmu))

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

/* ---- saved states ---- */

CG_CALL(fmi2GetFMUstate, (void *instance, fmi2FMUstate *state), CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_save(fmu, state))
CG_CALL(fmi2SetFMUstate, (void *instance, fmi2FMUstate state), CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_restore(fmu, state))
CG_CALL(fmi2FreeFMUstate, (void *instance, fmi2FMUstate *state), CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_forget(fmu, state))
CG_CALL(fmi2SerializedFMUstateSize, (void *instance, fmi2FMUstate state, size_t *size),
        CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_state_size(fmu, state, size))
CG_CALL(fmi2SerializeFMUstate, (void *instance, fmi2FMUstate state, fmi2Byte bytes[], size_t size),
        CG_FMU_EITHER, CG_FMU_ANY, cg_fmu_serialize(fmu, state, bytes, size))
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

CG_MODE(fmi2EnterContinuousTimeMode, CG_FMU_EXCHANGE, CG_FMU_EVENT, CG_FMU_CONTINUOUS)

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

CG_CALL(fmi2SetTime, (void *instance, fmi2Real time),
        CG_FMU_EXCHANGE, CG_FMU_CONTINUOUS | CG_FMU_EVENT, cg_fmu_set_time(fmu, time))
CG_CALL(fmi2SetContinuousStates, (void *instance, const fmi2Real x[], size_t nx),
        CG_FMU_EXCHANGE, CG_FMU_CONTINUOUS, cg_fmu_set_states(fmu, x, nx))
CG_CALL(fmi2GetDerivatives, (void *instance, fmi2Real derivatives[], size_t nx),
        CG_FMU_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, cg_fmu_derivatives(fmu, derivatives, nx))
CG_CALL(fmi2GetEventIndicators, (void *instance, fmi2Real eventIndicators[], size_t ni),
        CG_FMU_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, cg_fmu_indicators(fmu, eventIndicators, ni))
CG_CALL(fmi2GetContinuousStates, (void *instance, fmi2Real x[], size_t nx),
        CG_FMU_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, cg_fmu_get_states(fmu, x, nx))
CG_CALL(fmi2GetNominalsOfContinuousStates, (void *instance, fmi2Real x_nominal[], size_t nx),
        CG_FMU_EXCHANGE, CG_FMU_ANY, cg_fmu_get_nominals(fmu, x_nominal, nx))

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
