/* cg_fmi3_absent.c: the functions of FMI 3.0 for what these FMUs do not have: variables of other types, clocks,
 * structural parameters, dependencies of array elements, derivatives of outputs in Co-Simulation.
 */
#include "cg_fmu.h"

#include "fmi3Functions.h"

static fmi3Status cg_fmi3_absent_say(fmi3Instance instance, size_t n, const char *function)
{
    const cg_fmu_t *const fmu = instance;
    if (cg_fmu_require(fmu, CG_FMU_EITHER, CG_FMU_ANY, function) != CG_FMU_OK) {
        return fmi3Error;
    }
    return (fmi3Status)cg_fmu_none(fmu, n, function);
}

#define CG_ABSENT(name)                                                                                               \
    fmi3Status fmi3Get##name(fmi3Instance instance, const fmi3ValueReference valueReferences[],                       \
                             size_t nValueReferences, fmi3##name values[], size_t nValues)                            \
    {                                                                                                                 \
        (void)valueReferences;                                                                                        \
        (void)values;                                                                                                 \
        (void)nValues;                                                                                                \
        return cg_fmi3_absent_say(instance, nValueReferences, __func__);                                       \
    }                                                                                                                 \
    CG_ABSENT_SET(name)

#define CG_ABSENT_SET(name)                                                                                           \
    fmi3Status fmi3Set##name(fmi3Instance instance, const fmi3ValueReference valueReferences[],                       \
                             size_t nValueReferences, const fmi3##name values[], size_t nValues)                      \
    {                                                                                                                 \
        (void)valueReferences;                                                                                        \
        (void)values;                                                                                                 \
        (void)nValues;                                                                                                \
        return cg_fmi3_absent_say(instance, nValueReferences, __func__);                                       \
    }

CG_ABSENT(Float32)
CG_ABSENT(Int8)
CG_ABSENT(UInt8)
CG_ABSENT(Int16)
CG_ABSENT(UInt16)
CG_ABSENT_SET(Int32)
CG_ABSENT(UInt32)
CG_ABSENT(Int64)
CG_ABSENT(UInt64)
CG_ABSENT(Boolean)

fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                         size_t valueSizes[], fmi3Binary values[], size_t nValues)
{
    (void)valueReferences;
    (void)valueSizes;
    (void)values;
    (void)nValues;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                         const size_t valueSizes[], const fmi3Binary values[], size_t nValues)
{
    (void)valueReferences;
    (void)valueSizes;
    (void)values;
    (void)nValues;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        fmi3Clock values[])
{
    (void)valueReferences;
    (void)values;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        const fmi3Clock values[])
{
    (void)valueReferences;
    (void)values;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3GetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t
                                  nValueReferences, fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[])
{
    (void)valueReferences;
    (void)intervals;
    (void)qualifiers;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t
                                   nValueReferences, fmi3UInt64 counters[], fmi3UInt64 resolutions[],
                                   fmi3IntervalQualifier qualifiers[])
{
    (void)valueReferences;
    (void)counters;
    (void)resolutions;
    (void)qualifiers;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t
                               nValueReferences, fmi3Float64 shifts[])
{
    (void)valueReferences;
    (void)shifts;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3GetShiftFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t
                                nValueReferences, fmi3UInt64 counters[], fmi3UInt64 resolutions[])
{
    (void)valueReferences;
    (void)counters;
    (void)resolutions;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3SetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t
                                  nValueReferences, const fmi3Float64 intervals[])
{
    (void)valueReferences;
    (void)intervals;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3SetIntervalFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t
                                   nValueReferences, const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    (void)valueReferences;
    (void)counters;
    (void)resolutions;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3SetShiftDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t
                               nValueReferences, const fmi3Float64 shifts[])
{
    (void)valueReferences;
    (void)shifts;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3SetShiftFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t
                                nValueReferences, const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    (void)valueReferences;
    (void)counters;
    (void)resolutions;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t
                                    nValueReferences, const fmi3Int32 orders[], fmi3Float64 values[], size_t nValues)
{
    (void)valueReferences;
    (void)orders;
    (void)values;
    (void)nValues;
    return cg_fmi3_absent_say(instance, nValueReferences, __func__);
}

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance instance, fmi3ValueReference valueReference, size_t
                                               *nDependencies)
{
    (void)valueReference;
    (void)nDependencies;
    return cg_fmi3_absent_say(instance, 1, __func__);
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance instance, fmi3ValueReference dependent, size_t
                                       elementIndicesOfDependent[], fmi3ValueReference independents[], size_t
                                       elementIndicesOfIndependents[], fmi3DependencyKind dependencyKinds[], size_t
                                       nDependencies)
{
    (void)dependent;
    (void)elementIndicesOfDependent;
    (void)independents;
    (void)elementIndicesOfIndependents;
    (void)dependencyKinds;
    (void)nDependencies;
    return cg_fmi3_absent_say(instance, 1, __func__);
}

fmi3Status fmi3EnterConfigurationMode(fmi3Instance instance)
{
    return cg_fmi3_absent_say(instance, 1, __func__);
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance instance)
{
    return cg_fmi3_absent_say(instance, 1, __func__);
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance instance, fmi3ValueReference clockReference, fmi3Float64
                                      activationTime)
{
    (void)clockReference;
    (void)activationTime;
    return cg_fmi3_absent_say(instance, 1, __func__);
}
