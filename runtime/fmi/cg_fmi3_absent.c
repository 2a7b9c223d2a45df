/* cg_fmi3_absent.c: the functions of FMI 3.0 for what these FMUs do not have: variables of other types, clocks,
 * structural parameters, dependencies of array elements, derivatives of outputs in Co-Simulation.
 */
#include "cg_fmu.h"

#include "fmi3Functions.h"

static fmi3Status cg_fmi3_absent_say(fmi3Instance instance, size_t n, const char *function)
{
    const cg_fmu_t *const fmu = instance;
    const int status = cg_fmu_require(fmu, CG_FMU_EITHER, CG_FMU_ANY, function);
    return (fmi3Status)(status == CG_FMU_OK ? cg_fmu_none(fmu, n, function) : status);
}

/* A function that fails if it is asked for n > 0 variables. At the end, `(void)` of each argument that is not used. */
#define CG_ABSENT(name, parameters, n, ...)                                                                           \
    fmi3Status name parameters                                                                                        \
    {                                                                                                                 \
        __VA_ARGS__;                                                                                                  \
        return cg_fmi3_absent_say(instance, n, __func__);                                                             \
    }

#define CG_ABSENT_SET(type)                                                                                           \
    CG_ABSENT(fmi3Set##type, (void *instance, const fmi3ValueReference references[], size_t n,                        \
              const fmi3##type values[], size_t nValues), n, (void)references, (void)values, (void)nValues)
#define CG_ABSENT_TYPE(type)                                                                                          \
    CG_ABSENT(fmi3Get##type, (void *instance, const fmi3ValueReference references[], size_t n, fmi3##type values[],   \
              size_t nValues), n, (void)references, (void)values, (void)nValues)                                      \
    CG_ABSENT_SET(type)

CG_ABSENT_TYPE(Float32)
CG_ABSENT_TYPE(Int8)
CG_ABSENT_TYPE(UInt8)
CG_ABSENT_TYPE(Int16)
CG_ABSENT_TYPE(UInt16)
CG_ABSENT_SET(Int32)
CG_ABSENT_TYPE(UInt32)
CG_ABSENT_TYPE(Int64)
CG_ABSENT_TYPE(UInt64)
CG_ABSENT_TYPE(Boolean)
CG_ABSENT(fmi3GetBinary, (void *instance, const fmi3ValueReference references[], size_t n, size_t valueSizes[],
          fmi3Binary values[], size_t nValues), n, (void)references, (void)valueSizes, (void)values, (void)nValues)
CG_ABSENT(fmi3SetBinary, (void *instance, const fmi3ValueReference references[], size_t n, const size_t valueSizes[],
          const fmi3Binary values[], size_t nValues),
          n, (void)references, (void)valueSizes, (void)values, (void)nValues)
CG_ABSENT(fmi3GetClock, (void *instance, const fmi3ValueReference references[], size_t n, fmi3Clock values[]),
          n, (void)references, (void)values)
CG_ABSENT(fmi3SetClock, (void *instance, const fmi3ValueReference references[], size_t n, const fmi3Clock values[]),
          n, (void)references, (void)values)
CG_ABSENT(fmi3GetIntervalDecimal, (void *instance, const fmi3ValueReference references[], size_t n,
          fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[]),
          n, (void)references, (void)intervals, (void)qualifiers)
CG_ABSENT(fmi3GetIntervalFraction, (void *instance, const fmi3ValueReference references[], size_t n,
          fmi3UInt64 counters[], fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[]),
          n, (void)references, (void)counters, (void)resolutions, (void)qualifiers)
CG_ABSENT(fmi3GetShiftDecimal, (void *instance, const fmi3ValueReference references[], size_t n,
          fmi3Float64 shifts[]), n, (void)references, (void)shifts)
CG_ABSENT(fmi3GetShiftFraction, (void *instance, const fmi3ValueReference references[], size_t n,
          fmi3UInt64 counters[], fmi3UInt64 resolutions[]), n, (void)references, (void)counters, (void)resolutions)
CG_ABSENT(fmi3SetIntervalDecimal, (void *instance, const fmi3ValueReference references[], size_t n,
          const fmi3Float64 intervals[]), n, (void)references, (void)intervals)
CG_ABSENT(fmi3SetIntervalFraction, (void *instance, const fmi3ValueReference references[], size_t n,
          const fmi3UInt64 counters[], const fmi3UInt64 resolutions[]),
          n, (void)references, (void)counters, (void)resolutions)
CG_ABSENT(fmi3SetShiftDecimal, (void *instance, const fmi3ValueReference references[], size_t n,
          const fmi3Float64 shifts[]), n, (void)references, (void)shifts)
CG_ABSENT(fmi3SetShiftFraction, (void *instance, const fmi3ValueReference references[], size_t n,
          const fmi3UInt64 counters[], const fmi3UInt64 resolutions[]),
          n, (void)references, (void)counters, (void)resolutions)
CG_ABSENT(fmi3GetOutputDerivatives, (void *instance, const fmi3ValueReference references[], size_t n,
          const fmi3Int32 orders[], fmi3Float64 values[], size_t nValues),
          n, (void)references, (void)orders, (void)values, (void)nValues)
CG_ABSENT(fmi3GetNumberOfVariableDependencies, (void *instance, fmi3ValueReference valueReference,
          size_t *nDependencies), 1, (void)valueReference, (void)nDependencies)
CG_ABSENT(fmi3GetVariableDependencies, (void *instance, fmi3ValueReference dependent,
          size_t elementIndicesOfDependent[], fmi3ValueReference independents[],
          size_t elementIndicesOfIndependents[], fmi3DependencyKind dependencyKinds[], size_t nDependencies),
          1, (void)dependent, (void)elementIndicesOfDependent, (void)independents, (void)elementIndicesOfIndependents,
          (void)dependencyKinds, (void)nDependencies)
CG_ABSENT(fmi3EnterConfigurationMode, (void *instance), 1, (void)0)
CG_ABSENT(fmi3ExitConfigurationMode, (void *instance), 1, (void)0)
CG_ABSENT(fmi3ActivateModelPartition, (void *instance, fmi3ValueReference clockReference, fmi3Float64 activationTime),
          1, (void)clockReference, (void)activationTime)
