/* cg_fmi2.c: the functions of FMI 2.0 for Model Exchange and Co-Simulation; see cg_fmu.h. */
#include "cg_fmu.h"

#include "fmi2Functions.h"

#include <string.h>

#define CG_REQUIRE(c, phases, function)                                                                               \
    cg_fmu_t *const fmu = (c);                                                                                        \
    if (cg_fmu_require(fmu, phases, function) != CG_FMU_OK) return fmi2Error;

#define CG_REQUIRE_KIND(c, kind, phases, function)                                                                    \
    CG_REQUIRE(c, phases, function)                                                                                   \
    if (fmu->co_simulation != (kind)) {                                                                               \
        return (fmi2Status)cg_fmu_say(fmu, CG_FMU_ERROR, "%s is not for this kind of simulation", function);          \
    }

#define CG_NEEDED(fmu, pointer)                                                                                       \
    if ((pointer) == NULL) return (fmi2Status)cg_fmu_say(fmu, CG_FMU_ERROR, "an argument is NULL");

enum { CG_EXCHANGE = 0, CG_SIMULATION = 1 };

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

void fmi2FreeInstance(fmi2Component c) { cg_fmu_delete(c); }

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                               const fmi2String categories[])
{
    CG_REQUIRE(c, CG_FMU_ANY, "fmi2SetDebugLogging")
    (void)nCategories;
    (void)categories;
    fmu->logging = loggingOn != fmi2False;
    return fmi2OK;
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance, fmi2Real startTime,
                               fmi2Boolean stopTimeDefined, fmi2Real stopTime)
{
    CG_REQUIRE(c, CG_FMU_INSTANTIATED, "fmi2SetupExperiment")
    return (fmi2Status)cg_fmu_setup(fmu, toleranceDefined, tolerance, startTime, stopTimeDefined, stopTime);
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    CG_REQUIRE(c, CG_FMU_INSTANTIATED, "fmi2EnterInitializationMode")
    fmu->memory.phase = CG_FMU_INITIALIZING;
    return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    CG_REQUIRE(c, CG_FMU_INITIALIZING, "fmi2ExitInitializationMode")
    return (fmi2Status)cg_fmu_start(fmu, fmu->co_simulation ? CG_FMU_STEP : CG_FMU_EVENT);
}

fmi2Status fmi2Terminate(fmi2Component c)
{
    CG_REQUIRE(c, CG_FMU_RUNNING | CG_FMU_FAILED, "fmi2Terminate")
    fmu->memory.phase = CG_FMU_TERMINATED;
    return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c)
{
    CG_REQUIRE(c, CG_FMU_ANY, "fmi2Reset")
    return (fmi2Status)cg_fmu_reset(fmu);
}

/* ---- values ---- */

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Real value[])
{
    CG_REQUIRE(c, CG_FMU_ANY, "fmi2GetReal")
    return (fmi2Status)cg_fmu_get(fmu, vr, nvr, value);
}

fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Integer value[])
{
    CG_REQUIRE(c, CG_FMU_ANY, "fmi2GetInteger")
    return (fmi2Status)cg_fmu_get_modes(fmu, vr, nvr, value);
}

static fmi2Status cg_fmi2_none(fmi2Component c, size_t nvr, const char *function)
{
    CG_REQUIRE(c, CG_FMU_ANY, function)
    return nvr == 0 ? fmi2OK : (fmi2Status)cg_fmu_say(fmu, CG_FMU_ERROR, "%s: there is no such variable", function);
}

fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Boolean value[])
{
    (void)vr;
    (void)value;
    return cg_fmi2_none(c, nvr, "fmi2GetBoolean");
}

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2String value[])
{
    CG_REQUIRE(c, CG_FMU_ANY, "fmi2GetString")
    return (fmi2Status)cg_fmu_get_text(fmu, vr, nvr, value);
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Real value[])
{
    CG_REQUIRE(c, CG_FMU_STARTING | CG_FMU_RUNNING, "fmi2SetReal")
    return (fmi2Status)cg_fmu_set(fmu, vr, nvr, value);
}

fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Integer value[])
{
    (void)vr;
    (void)value;
    return cg_fmi2_none(c, nvr, "fmi2SetInteger");
}

fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Boolean value[])
{
    (void)vr;
    (void)value;
    return cg_fmi2_none(c, nvr, "fmi2SetBoolean");
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2String value[])
{
    CG_REQUIRE(c, CG_FMU_STARTING | CG_FMU_RUNNING, "fmi2SetString")
    return (fmi2Status)cg_fmu_set_text(fmu, vr, nvr, value);
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference vUnknown_ref[], size_t nUnknown,
                                        const fmi2ValueReference vKnown_ref[], size_t nKnown,
                                        const fmi2Real dvKnown[], fmi2Real dvUnknown[])
{
    CG_REQUIRE(c, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, "fmi2GetDirectionalDerivative")
    return (fmi2Status)cg_fmu_along(fmu, vUnknown_ref, nUnknown, vKnown_ref, nKnown, dvKnown, dvUnknown);
}

/* ---- saved states ---- */

#define CG_OWN(state)                                                                                                 \
    if (!cg_fmu_owns(fmu, state)) {                                                                                   \
        return (fmi2Status)cg_fmu_say(fmu, CG_FMU_ERROR, "this FMU state does not belong to the instance");           \
    }

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    CG_REQUIRE(c, CG_FMU_ANY, "fmi2GetFMUstate")
    CG_NEEDED(fmu, FMUstate)
    if (*FMUstate != NULL) {
        CG_OWN(*FMUstate)
    }
    fmi2FMUstate const saved = cg_fmu_save(fmu, *FMUstate);
    if (saved == NULL) {
        return (fmi2Status)cg_fmu_say(fmu, CG_FMU_ERROR, "there is no memory for a saved state");
    }
    *FMUstate = saved;
    return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate FMUstate)
{
    CG_REQUIRE(c, CG_FMU_ANY, "fmi2SetFMUstate")
    CG_OWN(FMUstate)
    return (fmi2Status)cg_fmu_restore(fmu, FMUstate);
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    CG_REQUIRE(c, CG_FMU_ANY, "fmi2FreeFMUstate")
    if (FMUstate == NULL || *FMUstate == NULL) {
        return fmi2OK;
    }
    CG_OWN(*FMUstate)
    cg_fmu_forget(fmu, *FMUstate);
    *FMUstate = NULL;
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate FMUstate, size_t *size)
{
    CG_REQUIRE(c, CG_FMU_ANY, "fmi2SerializedFMUstateSize")
    CG_NEEDED(fmu, size)
    CG_OWN(FMUstate)
    *size = cg_fmu_state_size(FMUstate);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate FMUstate, fmi2Byte serializedState[], size_t size)
{
    CG_REQUIRE(c, CG_FMU_ANY, "fmi2SerializeFMUstate")
    CG_OWN(FMUstate)
    return (fmi2Status)cg_fmu_serialize(fmu, FMUstate, serializedState, size);
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte serializedState[], size_t size,
                                   fmi2FMUstate *FMUstate)
{
    CG_REQUIRE(c, CG_FMU_ANY, "fmi2DeSerializeFMUstate")
    CG_NEEDED(fmu, FMUstate)
    fmi2FMUstate const found = cg_fmu_deserialize(fmu, serializedState, size);
    if (found == NULL) {
        return (fmi2Status)cg_fmu_say(fmu, CG_FMU_ERROR, "the saved state is damaged, or is of another FMU");
    }
    *FMUstate = found;
    return fmi2OK;
}

/* ---- Model Exchange ---- */

fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    CG_REQUIRE_KIND(c, CG_EXCHANGE, CG_FMU_CONTINUOUS | CG_FMU_EVENT, "fmi2EnterEventMode")
    fmu->memory.phase = CG_FMU_EVENT;
    return fmi2OK;
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *eventInfo)
{
    CG_REQUIRE_KIND(c, CG_EXCHANGE, CG_FMU_EVENT, "fmi2NewDiscreteStates")
    CG_NEEDED(fmu, eventInfo)
    cg_fmu_update_t result;
    const int status = cg_fmu_update(fmu, &result);
    memset(eventInfo, 0, sizeof *eventInfo);
    eventInfo->newDiscreteStatesNeeded = result.again;
    eventInfo->terminateSimulation = result.terminate;
    eventInfo->valuesOfContinuousStatesChanged = result.changed;
    return (fmi2Status)status;
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    CG_REQUIRE_KIND(c, CG_EXCHANGE, CG_FMU_EVENT, "fmi2EnterContinuousTimeMode")
    fmu->memory.phase = CG_FMU_CONTINUOUS;
    return fmi2OK;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi2Boolean *enterEventMode, fmi2Boolean *terminateSimulation)
{
    CG_REQUIRE_KIND(c, CG_EXCHANGE, CG_FMU_CONTINUOUS, "fmi2CompletedIntegratorStep")
    CG_NEEDED(fmu, enterEventMode)
    CG_NEEDED(fmu, terminateSimulation)
    (void)noSetFMUStatePriorToCurrentPoint;
    *terminateSimulation = fmi2False;
    return (fmi2Status)cg_fmu_crossed(fmu, enterEventMode);
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    CG_REQUIRE_KIND(c, CG_EXCHANGE, CG_FMU_CONTINUOUS | CG_FMU_EVENT, "fmi2SetTime")
    return (fmi2Status)cg_fmu_set_time(fmu, time);
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx)
{
    CG_REQUIRE_KIND(c, CG_EXCHANGE, CG_FMU_CONTINUOUS, "fmi2SetContinuousStates")
    return (fmi2Status)cg_fmu_set_states(fmu, x, nx);
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t nx)
{
    CG_REQUIRE_KIND(c, CG_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, "fmi2GetDerivatives")
    return (fmi2Status)cg_fmu_derivatives(fmu, derivatives, nx);
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real eventIndicators[], size_t ni)
{
    CG_REQUIRE_KIND(c, CG_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, "fmi2GetEventIndicators")
    return (fmi2Status)cg_fmu_indicators(fmu, eventIndicators, ni);
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx)
{
    CG_REQUIRE_KIND(c, CG_EXCHANGE, CG_FMU_ANY & ~CG_FMU_INSTANTIATED, "fmi2GetContinuousStates")
    return (fmi2Status)cg_fmu_get_states(fmu, x, nx);
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x_nominal[], size_t nx)
{
    CG_REQUIRE_KIND(c, CG_EXCHANGE, CG_FMU_ANY, "fmi2GetNominalsOfContinuousStates")
    return (fmi2Status)cg_fmu_get_nominals(fmu, x_nominal, nx);
}

/* ---- Co-Simulation ---- */

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real value[])
{
    CG_REQUIRE_KIND(c, CG_SIMULATION, CG_FMU_STEP | CG_FMU_INITIALIZING, "fmi2SetRealInputDerivatives")
    return (fmi2Status)cg_fmu_set_slopes(fmu, vr, nvr, order, value);
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return cg_fmi2_none(c, nvr, "fmi2GetRealOutputDerivatives");
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint, fmi2Real communicationStepSize,
                      fmi2Boolean noSetFMUStatePriorToCurrentPoint)
{
    CG_REQUIRE_KIND(c, CG_SIMULATION, CG_FMU_STEP, "fmi2DoStep")
    (void)noSetFMUStatePriorToCurrentPoint;
    cg_fmu_step_t result;
    const int status = cg_fmu_advance(fmu, currentCommunicationPoint, communicationStepSize, &result);
    return status == CG_FMU_OK && result.terminate ? fmi2Discard : (fmi2Status)status;
}

fmi2Status fmi2CancelStep(fmi2Component c)
{
    CG_REQUIRE_KIND(c, CG_SIMULATION, CG_FMU_ANY, "fmi2CancelStep")
    return (fmi2Status)cg_fmu_say(fmu, CG_FMU_ERROR, "fmi2CancelStep: steps are not asynchronous");
}

/* Steps are never pending, so only two of the questions have an answer. */
static fmi2Status cg_fmi2_unanswered(fmi2Component c, const char *function)
{
    CG_REQUIRE_KIND(c, CG_SIMULATION, CG_FMU_ANY, function)
    return (fmi2Status)cg_fmu_say(fmu, CG_FMU_DISCARD, "%s: there is no such status", function);
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind s, fmi2Status *value)
{
    (void)s;
    (void)value;
    return cg_fmi2_unanswered(c, "fmi2GetStatus");
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind s, fmi2Real *value)
{
    CG_REQUIRE_KIND(c, CG_SIMULATION, CG_FMU_ANY, "fmi2GetRealStatus")
    CG_NEEDED(fmu, value)
    if (s != fmi2LastSuccessfulTime) {
        return cg_fmi2_unanswered(c, "fmi2GetRealStatus");
    }
    *value = fmu->run->t;
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind s, fmi2Integer *value)
{
    (void)s;
    (void)value;
    return cg_fmi2_unanswered(c, "fmi2GetIntegerStatus");
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value)
{
    CG_REQUIRE_KIND(c, CG_SIMULATION, CG_FMU_ANY, "fmi2GetBooleanStatus")
    CG_NEEDED(fmu, value)
    if (s != fmi2Terminated) {
        return cg_fmi2_unanswered(c, "fmi2GetBooleanStatus");
    }
    *value = fmu->memory.terminal;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind s, fmi2String *value)
{
    (void)s;
    (void)value;
    return cg_fmi2_unanswered(c, "fmi2GetStringStatus");
}
