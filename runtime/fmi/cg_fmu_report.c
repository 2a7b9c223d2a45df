/* cg_fmu_report.c: what an instance tells its importer: messages, refusals and failures; see cg_fmu.h. */
#include "cg_fmu.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* Residuals at the start, as fractions of their terms: as in chaplygin/runtime/problem/consistency.py. */
#define CG_FMU_WARN 1e-8
#define CG_FMU_REFUSE 1e-4
#define CG_FMU_REFUSE_LENGTH 0.1
#define CG_FMU_FLOOR 1e8

int cg_fmu_say(const cg_fmu_t *fmu, int status, const char *format, ...)
{
    char text[400];
    va_list arguments;
    if (fmu->log == NULL || (status < CG_FMU_WARNING && !fmu->logging)) {
        return status;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    static const char *const categories[] = {"logEvents", "logStatusWarning", "logStatusDiscard", "logStatusError",
                                             "logStatusFatal"};
    fmu->log(fmu, status, categories[status], text);
    return status;
}

int cg_fmu_require(const cg_fmu_t *fmu, int kind, int phases, const char *function)
{
    static const char *const names[] = {"after instantiation", "in Initialization Mode", "in Event Mode",
                                        "in Continuous-Time Mode", "in Step Mode", "after termination",
                                        "after an error"};
    if (fmu == NULL) {
        return CG_FMU_ERROR;
    }
    if (fmu->memory.phase & phases) {
        return kind == CG_FMU_EITHER || fmu->co_simulation == kind
                   ? CG_FMU_OK : cg_fmu_say(fmu, CG_FMU_ERROR, "%s is not for this kind of simulation", function);
    }
    int i = 0;
    while (!(fmu->memory.phase & 1 << i)) {
        i++;
    }
    return cg_fmu_say(fmu, CG_FMU_ERROR, "%s is not allowed %s", function, names[i]);
}

int cg_fmu_none(const cg_fmu_t *fmu, size_t n, const char *function)
{
    return n == 0 ? CG_FMU_OK : cg_fmu_say(fmu, CG_FMU_ERROR, "%s: no such variable", function);
}

int cg_fmu_failed(const cg_fmu_t *fmu, int status, const char *where)
{
    /* an importer that integrates can try a shorter step */
    const int again = fmu->memory.phase == CG_FMU_CONTINUOUS && (status == CG_SINGULAR || status == CG_NONFINITE);
    return cg_fmu_say(fmu, again ? CG_FMU_DISCARD : CG_FMU_ERROR, "%s at t = %.17g: %s", where, fmu->run->t,
                      cg_status_text(status));
}

/* An error if the length of a joint's quaternion is far from 1. */
static int cg_fmu_report_unit(const cg_fmu_t *fmu)
{
    const cg_variable_t *const states = fmu->model.states;
    for (int32_t i = 0; i < fmu->model.n_states - 3; i++) {
        if (!(states[i].flags & CG_QUATERNION)) {
            continue;
        }
        const double *const q = fmu->run->x + i;
        const double square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
        const double share = fabs(square - 1.0) / (square + 1.0);
        if (share <= CG_FMU_WARN) {
            continue;
        }
        const int fatal = !(share <= CG_FMU_REFUSE_LENGTH);
        const int status = cg_fmu_say(fmu, fatal ? CG_FMU_ERROR : CG_FMU_WARNING,
                                      "%s, %s, %s, %s must be a quaternion of length 1, and its length is %.12g",
                                      states[i].name, states[i + 1].name, states[i + 2].name, states[i + 3].name,
                                      sqrt(square));
        if (fatal) {
            return status;
        }
    }
    return CG_FMU_OK;
}

int cg_fmu_consistent(cg_fmu_t *fmu)
{
    const cg_model_t *const model = &fmu->model;
    cg_run_t *const run = fmu->run;
    if (cg_fmu_report_unit(fmu) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    if (model->consistency == NULL) {
        return CG_FMU_OK;
    }
    int status = model->consistency(run->t, run->x, run->p, run->u, fmu->value, run->work);
    if (status != CG_OK) {
        return cg_fmu_failed(fmu, status, "the constraints");
    }
    const double *row = fmu->value;
    for (int32_t i = 0; i < model->n_invariants; i++) {
        const cg_variable_t *const found = &model->invariants[i];
        if (!(found->flags & CG_ZERO_AT_START)) {
            continue;
        }
        const double least = CG_FMU_FLOOR * CG_FMU_DEFAULT_TOLERANCE * row[2];
        const double share = fabs(row[0]) / (row[1] > least ? row[1] : least);
        if (row[0] != 0.0 && !(share <= CG_FMU_WARN)) {
            const int fatal = found->kind == CG_RESIDUAL && !(share <= CG_FMU_REFUSE);
            status = cg_fmu_say(fmu, fatal ? CG_FMU_ERROR : CG_FMU_WARNING,
                                "the state is off a constraint: %s = %g, which should be 0", found->name, row[0]);
            if (fatal) {
                return status;
            }
        }
        row += 3;
    }
    return CG_FMU_OK;
}
