/* cg_fmu_report.c: what an instance tells its importer: messages, refusals and failures; see cg_fmu.h. */
#include "cg_fmu.h"
#include "cg_precision.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CG_FMU_WARN 1e-8  /* of the magnitudes of its terms, a residual that causes a warning */
#define CG_FMU_LOOSE 1e-3 /* the tolerance of a run that has none */

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

/* A residual {value, size of its terms, of its change with the states} by the tolerances of the run, as in
 * chaplygin/runtime/problem/consistency.py: nothing, a warning or an error. loose: nothing moves the state back. */
static int cg_fmu_report_off(const cg_fmu_t *fmu, const double *row, int loose)
{
    const double off = fabs(row[0]), atol = fmu->memory.solver[CG_FMU_ATOL], least = fmin(atol, CG_ATOL);
    const double size = fmax(row[1], CG_LEAST_TERMS * least * row[2]);
    const double tolerance = fmax(fmu->memory.solver[CG_FMU_RTOL] * row[1], atol * row[2]);
    const double most = loose ? fmax(tolerance, CG_FMU_LOOSE * fmax(row[1], least / CG_ATOL * row[2])) : tolerance;
    return off <= fmax(CG_FMU_WARN * size, 10.0 * tolerance) ? CG_FMU_OK
        : off <= fmax(CG_REFUSED * size, 100.0 * most) ? CG_FMU_WARNING : CG_FMU_ERROR;
}

/* The length of a joint's quaternion q, which no step moves back. */
static int cg_fmu_report_unit(const cg_fmu_t *fmu, const cg_variable_t *name, const double *q)
{
    const double square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    const double row[3] = {square - 1.0, square + 1.0, square + 1.0};
    const int off = name->flags & CG_QUATERNION ? cg_fmu_report_off(fmu, row, 1) : CG_FMU_OK;
    static const char *const format = "%s, %s, %s, %s must be a quaternion of length 1, and its length is %.12g";
    return off == CG_FMU_OK ? off : cg_fmu_say(fmu, off, format, name->name, name[1].name, name[2].name, name[3].name,
                                               sqrt(square));
}

/* Whether each contact, all of them slipping forwards, holds its slip. */
static int cg_fmu_report_friction(const cg_fmu_t *fmu, const cg_model_t *model)
{
    const cg_run_t *const run = fmu->run;
    double *const modes = run->u + model->n_inputs, *const row = fmu->value, *const kept = row + 5 * model->n_contacts;
    memcpy(kept, modes, sizeof(double) * (size_t)model->n_modes);
    for (int32_t i = 0; i < model->n_modes; i++) {
        modes[i] = 1.0;
    }
    const int status = model->contacts_fn(run->t, run->x, run->p, run->u, row, run->work);
    memcpy(modes, kept, sizeof(double) * (size_t)model->n_modes);
    for (int32_t i = 0; i < model->n_contacts && status == CG_OK; i++) {
        const double force = row[5 * i + 1], normal = row[5 * i + 4];
        const double mu = (model->contacts[i].sign < 0 || normal > 0.0 ? -force : force) / fabs(normal);
        if (mu < 0.0 || row[5 * i + 2] < 0.0) {
            return cg_fmu_say(fmu, CG_FMU_ERROR, "contact %s: mu = %g is negative, or less than what drives its slip",
                              model->contacts[i].name, mu);
        }
    }
    return CG_FMU_OK;
}

int cg_fmu_consistent(cg_fmu_t *fmu)
{
    const cg_model_t *const model = &fmu->model;
    cg_run_t *const run = fmu->run;
    const int loose = !fmu->co_simulation || (!run->adaptive && run->correction == NULL);
    int worst = model->n_contacts == 0 ? CG_FMU_OK : cg_fmu_report_friction(fmu, cg_fmu_type.model);
    for (int32_t i = 0; i < model->n_states - 3 && worst < CG_FMU_ERROR; i++) {
        worst = cg_fmu_report_unit(fmu, model->states + i, run->x + i);
    }
    const int checked = worst < CG_FMU_ERROR && model->consistency != NULL;
    const int status = checked ? model->consistency(run->t, run->x, run->p, run->u, fmu->value, run->work) : CG_OK;
    if (status != CG_OK) {
        return cg_fmu_failed(fmu, status, "the constraints");
    }
    static const char *const format = "the state is off a constraint: %s = %g, which should be 0";
    const double *row = fmu->value;
    for (int32_t i = 0; i < model->n_invariants && worst < CG_FMU_ERROR; i++) {
        const cg_variable_t *const found = &model->invariants[i];
        if (found->flags & CG_ZERO_AT_START) {
            const int off = cg_fmu_report_off(fmu, row, loose);
            const int said = found->kind == CG_RESIDUAL ? off : CG_FMU_WARNING;
            worst = off == CG_FMU_OK ? off : cg_fmu_say(fmu, said, format, found->name, row[0]);
            row += 3;
        }
    }
    return worst == CG_FMU_ERROR ? worst : CG_FMU_OK;
}
