/* cg_fmu_values.c: the quantities of an instance by value reference; see cg_fmu.h. */
#include "cg_fmu.h"
#include "step/cg_internal.h"

#include <math.h>
#include <string.h>

int cg_fmu_group(const cg_fmu_t *fmu, uint32_t reference, int32_t *index)
{
    int group = 0;
    while (group < CG_FMU_GROUPS && reference >= (uint32_t)fmu->count[group]) {
        reference -= (uint32_t)fmu->count[group++];
    }
    *index = group < CG_FMU_GROUPS ? (int32_t)reference : 0;
    return group;
}

static int cg_fmu_values_unknown(const cg_fmu_t *fmu, uint32_t reference, const char *what)
{
    return cg_fmu_say(fmu, CG_FMU_ERROR, "value reference %lu is not that of %s", (unsigned long)reference, what);
}

int cg_fmu_missing(const cg_fmu_t *fmu, const void *references, const void *values, size_t n)
{
    return n > 0 && (references == NULL || values == NULL)
        ? cg_fmu_say(fmu, CG_FMU_ERROR, "an array of %lu entries is missing", (unsigned long)n)
        : CG_FMU_OK;
}

/* ---- reading ---- */

int cg_fmu_look(cg_fmu_t *fmu, double *sides)
{
    const cg_model_t *const model = cg_fmu_type.model;
    cg_run_t *const run = fmu->run;
    if (fmu->n_kinks == 0) {
        return CG_OK;
    }
    const int status = model->guards_fn(run->t, run->x, run->p, run->u, fmu->value, run->work);
    for (int32_t i = 0; i < fmu->n_kinks && status == CG_OK; i++) {
        const double value = fmu->value[model->n_events + i];
        sides[i] = value > 0.0 ? 1.0 : value < 0.0 ? -1.0 : 0.0;
    }
    return status;
}

int cg_fmu_sides(cg_fmu_t *fmu, const double **p)
{
    const int32_t n = fmu->count[CG_FMU_PARAMETER];
    double *const own = fmu->co_simulation ? fmu->parameters : fmu->run->p;
    *p = own;
    if (fmu->co_simulation) {
        memcpy(own, fmu->run->p, sizeof(double) * (size_t)n);
    } else if (!(fmu->memory.phase & CG_FMU_STARTING)) {
        return CG_OK;
    }
    return cg_fmu_look(fmu, own + n);
}

/* The guards of the model, and the quantities of its contacts, without the hysteresis of Model Exchange. */
static int cg_fmu_values_observed(cg_fmu_t *fmu)
{
    const cg_model_t *const model = &fmu->model;
    cg_run_t *const run = fmu->run;
    int status = CG_OK;
    if (model->n_contacts > 0) {
        status = cg_detector_evaluate(run, run->t, run->x, -1, fmu->value);
    }
    if (status == CG_OK && model->n_guards > 0) {
        status = model->guards_fn(run->t, run->x, run->p, run->u, fmu->value, run->work);
    }
    return status;
}

/* Computes all quantities of a group into fmu->value. */
static int cg_fmu_values_evaluate(cg_fmu_t *fmu, int group)
{
    const cg_model_t *const model = &fmu->model;
    cg_run_t *const run = fmu->run;
    const double *p;
    cg_kernel_t kernel = NULL;
    switch (group) {
    case CG_FMU_DERIVATIVE: kernel = model->rhs; break;
    case CG_FMU_OUTPUT: kernel = model->outputs_fn; break;
    case CG_FMU_INVARIANT: kernel = model->invariants_fn; break;
    case CG_FMU_INDICATOR: break;
    default: return CG_OK;
    }
    const int status = cg_fmu_sides(fmu, &p);
    if (status != CG_OK || group == CG_FMU_INDICATOR) {
        return status == CG_OK ? cg_fmu_values_observed(fmu) : status;
    }
    return kernel == NULL ? CG_UNSUPPORTED : kernel(run->t, run->x, run->p, run->u, fmu->value, run->work);
}

static double cg_fmu_values_value(const cg_fmu_t *fmu, int group, int32_t index)
{
    switch (group) {
    case CG_FMU_TIME: return fmu->run->t;
    case CG_FMU_STATE: return fmu->run->x[index];
    case CG_FMU_PARAMETER: return fmu->run->p[index];
    case CG_FMU_INPUT: return fmu->run->u[index];
    case CG_FMU_SOLVER: return fmu->memory.solver[index];
    default: return fmu->value[index];
    }
}

int cg_fmu_get(cg_fmu_t *fmu, const uint32_t *references, size_t n, double *values)
{
    int computed = CG_FMU_TIME;
    int status = cg_fmu_missing(fmu, references, values, n);
    for (size_t i = 0; i < n && status == CG_FMU_OK; i++) {
        int32_t index;
        const int group = cg_fmu_group(fmu, references[i], &index);
        if (group >= CG_FMU_MODE) {
            return cg_fmu_values_unknown(fmu, references[i], "a real variable");
        }
        if (group != computed) { /* importers ask for the quantities of a group together */
            const int found = cg_fmu_values_evaluate(fmu, group);
            if (found != CG_OK) {
                return cg_fmu_failed(fmu, found, "the values");
            }
            computed = group;
        }
        values[i] = cg_fmu_values_value(fmu, group, index);
    }
    return status;
}

int cg_fmu_get_modes(cg_fmu_t *fmu, const uint32_t *references, size_t n, int32_t *values)
{
    const int status = cg_fmu_missing(fmu, references, values, n);
    for (size_t i = 0; i < n && status == CG_FMU_OK; i++) {
        int32_t index;
        if (cg_fmu_group(fmu, references[i], &index) != CG_FMU_MODE) {
            return cg_fmu_values_unknown(fmu, references[i], "an integer variable");
        }
        values[i] = (int32_t)fmu->run->u[fmu->model.n_inputs + index];
    }
    return status;
}

int cg_fmu_get_text(cg_fmu_t *fmu, const uint32_t *references, size_t n, const char **values)
{
    const int status = cg_fmu_missing(fmu, references, values, n);
    for (size_t i = 0; i < n && status == CG_FMU_OK; i++) {
        int32_t index;
        if (cg_fmu_group(fmu, references[i], &index) != CG_FMU_METHOD) {
            return cg_fmu_values_unknown(fmu, references[i], "a string variable");
        }
        values[i] = fmu->memory.method_chosen ? cg_fmu_method_info(fmu->memory.method)->name : CG_FMU_BY_TOLERANCE;
    }
    return status;
}

/* ---- writing ---- */

double *cg_fmu_place(cg_fmu_t *fmu, uint32_t reference)
{
    int32_t index;
    switch (cg_fmu_group(fmu, reference, &index)) {
    case CG_FMU_TIME: return &fmu->run->t;
    case CG_FMU_STATE: return fmu->run->x + index;
    case CG_FMU_PARAMETER: return fmu->run->p + index;
    case CG_FMU_INPUT: return fmu->run->u + index;
    default: return NULL;
    }
}

/* Whether a number has the properties that its variable is declared to have. */
static int cg_fmu_values_holds(int32_t flags, double value)
{
    return fabs(value) < HUGE_VAL && !(flags & CG_NOT_NEGATIVE && value < 0.0)
        && !(flags & CG_NOT_POSITIVE && value > 0.0) && !(flags & CG_NOT_ZERO && value == 0.0)
        && !(flags & (CG_INTEGER | CG_EVEN | CG_ODD) && value != floor(value))
        && !(flags & CG_EVEN && fmod(value, 2.0) != 0.0) && !(flags & CG_ODD && fmod(value, 2.0) == 0.0);
}

/* Whether the variable can be set to a value now. */
static int cg_fmu_values_settable(const cg_fmu_t *fmu, uint32_t reference, double value)
{
    static const char *const options[] = {"solver.rtol", "solver.atol", "solver.step"};
    int32_t index, flags = 0;
    const int group = cg_fmu_group(fmu, reference, &index);
    const char *name = "time";
    switch (group) {
    case CG_FMU_STATE: name = fmu->model.states[index].name; flags = fmu->model.states[index].flags; break;
    case CG_FMU_PARAMETER:
        name = fmu->model.parameters[index].name;
        flags = fmu->model.parameters[index].flags;
        break;
    case CG_FMU_INPUT: name = fmu->model.inputs[index].name; flags = fmu->model.inputs[index].flags; break;
    case CG_FMU_SOLVER:
        name = options[index];
        flags = index == CG_FMU_STEP_SIZE ? CG_NOT_NEGATIVE : CG_NOT_NEGATIVE | CG_NOT_ZERO;
        break;
    default: return cg_fmu_values_unknown(fmu, reference, "a real variable that can be set");
    }
    if (group == CG_FMU_PARAMETER && fmu->model.initial == NULL) {
        const int tuning = fmu->co_simulation && !fmu->event_mode ? CG_FMU_STEP : CG_FMU_EVENT;
        if (!(fmu->memory.phase & (CG_FMU_STARTING | tuning))) {
            return cg_fmu_say(fmu, CG_FMU_ERROR, "%s can be set only %s", name, tuning == CG_FMU_STEP
                              ? "before a step" : "before the start and in Event Mode");
        }
    } else if (group != CG_FMU_INPUT && !(fmu->memory.phase & CG_FMU_STARTING)) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "%s can be set only before the end of the initialization", name);
    }
    if (!cg_fmu_values_holds(flags, value)) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "%s = %g is not finite, or contradicts its declaration", name, value);
    }
    return CG_FMU_OK;
}

static void cg_fmu_values_inputs_changed(cg_fmu_t *fmu)
{
    fmu->run->have_f = 0;
    if (fmu->memory.phase & CG_FMU_RUNNING && fmu->co_simulation) {
        cg_run_inputs_changed(fmu->run);
    }
}

int cg_fmu_set(cg_fmu_t *fmu, const uint32_t *references, size_t n, const double *values)
{
    int changed = 0;
    int status = cg_fmu_missing(fmu, references, values, n);
    for (size_t i = 0; i < n && status == CG_FMU_OK; i++) {
        status = cg_fmu_values_settable(fmu, references[i], values[i]);
    }
    for (size_t i = 0; i < n && status == CG_FMU_OK; i++) {
        int32_t index;
        const int group = cg_fmu_group(fmu, references[i], &index);
        double *const place = group == CG_FMU_SOLVER ? fmu->memory.solver + index : cg_fmu_place(fmu, references[i]);
        changed = changed || (group == CG_FMU_INPUT && *place != values[i]);
        fmu->memory.tuned = fmu->memory.tuned || (group == CG_FMU_PARAMETER && *place != values[i]);
        *place = values[i];
        if (group == CG_FMU_SOLVER) {
            fmu->memory.chosen[index] = 1;
        }
    }
    if (changed) {
        cg_fmu_values_inputs_changed(fmu);
    }
    return status;
}

int32_t cg_fmu_rates(const cg_fmu_t *fmu, int32_t input)
{
    const cg_model_t *const model = &fmu->model;
    int32_t count = 0;
    while (input + count + 1 < model->n_inputs && model->inputs[input + count + 1].flags & CG_RATE) {
        count++;
    }
    return model->inputs[input].flags & CG_RATE ? 0 : count;
}

int cg_fmu_set_slopes(cg_fmu_t *fmu, const uint32_t *references, size_t n, const int32_t *orders, const double *values)
{
    int32_t index = 0;
    int changed = 0, status = cg_fmu_missing(fmu, references, values, n);
    status = status == CG_FMU_OK ? cg_fmu_missing(fmu, references, orders, n) : status;
    for (size_t i = 0; i < n && status == CG_FMU_OK; i++) {
        if (cg_fmu_group(fmu, references[i], &index) != CG_FMU_INPUT) {
            status = cg_fmu_values_unknown(fmu, references[i], "an input");
        } else if (orders[i] < 1 || orders[i] > 2) {
            status = cg_fmu_say(fmu, CG_FMU_ERROR, "a derivative of order %d: inputs have the first and the second one",
                                (int)orders[i]);
        } else if (!(fabs(values[i]) < HUGE_VAL)) {
            status = cg_fmu_say(fmu, CG_FMU_ERROR, "the derivative of an input is not finite");
        }
    }
    for (size_t i = 0; i < n && status == CG_FMU_OK; i++) {
        cg_fmu_group(fmu, references[i], &index);
        fmu->slope[(orders[i] - 1) * fmu->model.n_inputs + index] = values[i];
        if (cg_fmu_rates(fmu, index) >= orders[i] && fmu->run->u[index + orders[i]] != values[i]) {
            fmu->run->u[index + orders[i]] = values[i];
            changed = 1;
        }
    }
    if (changed) {
        cg_fmu_values_inputs_changed(fmu);
    }
    return status;
}

const cg_method_info_t *cg_fmu_method_info(int32_t method)
{
    const cg_method_t *const table = cg_method_table(), *own = cg_fmu_type.model->methods;
    int32_t n = 0;
    for (; table[n].info.name != NULL; n++) {
        if (n == method) {
            return &table[n].info;
        }
    }
    for (; own != NULL && own->info.name != NULL; own++) {
        int32_t same = 0;
        while (table[same].info.name != NULL && strcmp(table[same].info.name, own->info.name) != 0) {
            same++;
        }
        if (table[same].info.name == NULL && n++ == method) {
            return &own->info;
        }
    }
    return NULL;
}

void cg_fmu_put_time(cg_fmu_t *fmu, double t) { fmu->run->t = fmu->run->t_stop = fmu->run->t_end = t; }

int cg_fmu_method(cg_fmu_t *fmu, int32_t method)
{
    const char *const name = cg_fmu_method_info(method)->name;
    const size_t size = cg_run_size(&fmu->model, name);
    cg_run_t *const run = cg_run_new(size), *const old = fmu->run;
    if (run == NULL || cg_run_init(run, size, &fmu->model, name, 0) != CG_OK) {
        cg_run_delete(run);
        return cg_fmu_say(fmu, CG_FMU_ERROR, "there is no memory for the method %s, or it does not fit the model", name);
    }
    run->signals = NULL; /* inputs that move are given for each step */
    run->detector = fmu->detector;
    fmu->run = run;
    fmu->memory.method = method;
    if (old != NULL) {
        cg_fmu_put_time(fmu, old->t);
        memcpy(run->x, old->x, sizeof(double) * (size_t)run->n);
        memcpy(run->p, old->p, sizeof(double) * (size_t)fmu->model.n_parameters);
        memcpy(run->u, old->u, sizeof(double) * (size_t)run->n_u);
        cg_run_delete(old);
    }
    return CG_FMU_OK;
}

int cg_fmu_set_text(cg_fmu_t *fmu, const uint32_t *references, size_t n, const char *const *values)
{
    int status = cg_fmu_missing(fmu, references, values, n);
    for (size_t i = 0; i < n && status == CG_FMU_OK; i++) {
        const cg_method_info_t *known;
        int32_t index, method = 0;
        if (cg_fmu_group(fmu, references[i], &index) != CG_FMU_METHOD) {
            return cg_fmu_values_unknown(fmu, references[i], "a string variable that can be set");
        }
        if (!(fmu->memory.phase & CG_FMU_STARTING)) {
            return cg_fmu_say(fmu, CG_FMU_ERROR, "solver.method can be set only before the end of the initialization");
        }
        if (values[i] != NULL && strcmp(values[i], CG_FMU_BY_TOLERANCE) == 0) {
            fmu->memory.method_chosen = 0; /* the method is taken at the end of the initialization */
            continue;
        }
        while ((known = cg_fmu_method_info(method)) != NULL && (values[i] == NULL || strcmp(known->name, values[i]) != 0)) {
            method++;
        }
        if (known == NULL) {
            return cg_fmu_say(fmu, CG_FMU_ERROR, "solver.method = %.40s is not a method; vern9 is one",
                              values[i] == NULL ? "(nothing)" : values[i]);
        }
        status = cg_fmu_method(fmu, method);
        fmu->memory.method_chosen = 1;
    }
    return status;
}

/* ---- Model Exchange ---- */

static int cg_fmu_values_length(const cg_fmu_t *fmu, const void *array, size_t n)
{
    return n != (size_t)fmu->model.n_states || array == NULL
        ? cg_fmu_say(fmu, CG_FMU_ERROR, "an array of %d states is needed", (int)fmu->model.n_states)
        : CG_FMU_OK;
}

int cg_fmu_derivatives(cg_fmu_t *fmu, double *out, size_t n)
{
    if (cg_fmu_values_length(fmu, out, n) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    const double *p;
    int status = cg_fmu_sides(fmu, &p);
    if (status == CG_OK) {
        status = cg_evaluate_probe(fmu->run, fmu->run->t, fmu->run->x, out);
    }
    return status == CG_OK ? CG_FMU_OK : cg_fmu_failed(fmu, status, "the derivatives");
}

int cg_fmu_get_states(const cg_fmu_t *fmu, double *x, size_t n)
{
    if (cg_fmu_values_length(fmu, x, n) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    memcpy(x, fmu->run->x, n * sizeof(double));
    return CG_FMU_OK;
}

int cg_fmu_get_nominals(const cg_fmu_t *fmu, double *nominal, size_t n)
{
    if (cg_fmu_values_length(fmu, nominal, n) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    for (size_t i = 0; i < n; i++) {
        nominal[i] = 1.0;
    }
    return CG_FMU_OK;
}

int cg_fmu_set_states(cg_fmu_t *fmu, const double *x, size_t n)
{
    if (cg_fmu_values_length(fmu, x, n) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(x[i]) < HUGE_VAL)) {
            return cg_fmu_say(fmu, CG_FMU_DISCARD, "%s = %g is not finite", fmu->model.states[i].name, x[i]);
        }
    }
    memcpy(fmu->run->x, x, n * sizeof(double));
    fmu->run->have_f = 0;
    return CG_FMU_OK;
}

int cg_fmu_set_time(cg_fmu_t *fmu, double t)
{
    if (!(fabs(t) < HUGE_VAL)) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "time = %g is not finite", t);
    }
    cg_fmu_put_time(fmu, t);
    fmu->run->have_f = 0;
    return CG_FMU_OK;
}
