/* cg_fmu.c: creation and initialization of an instance; see cg_fmu.h. */
#include "cg_fmu.h"
#include "cg_default.h"
#include "step/cg_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CG_FMU_SMALLEST_RTOL (100.0 * 2.220446049250313e-16)

/* ---- creation ---- */

/* The model of the run: that of the FMU, in Model Exchange with frozen relations. */
static void cg_fmu_adopt(cg_fmu_t *fmu)
{
    cg_model_t *const model = &fmu->model;
    *model = *cg_fmu_type.model;
    model->n_work = cg_fmu_kernels.n_work > model->n_work ? cg_fmu_kernels.n_work : model->n_work;
    fmu->n_kinks = model->n_guards - model->n_events;
    fmu->n_known = 1 + model->n_states + model->n_parameters + model->n_inputs;
    if (fmu->co_simulation) {
        return;
    }
    cg_kernel_t *const own[CG_FMU_KERNELS] = {&model->rhs, &model->outputs_fn, &model->invariants_fn,
                                              &model->guards_fn, &model->contacts_fn};
    for (int k = 0; k < CG_FMU_KERNELS; k++) {
        *own[k] = cg_fmu_kernels.frozen[k] != NULL ? cg_fmu_kernels.frozen[k] : *own[k];
    }
    model->hoist = NULL; /* only steps of the methods compiled with the model need it */
    model->n_hoisted = fmu->n_kinks;
}

static void cg_fmu_count(cg_fmu_t *fmu)
{
    const cg_model_t *const model = cg_fmu_type.model;
    fmu->count[CG_FMU_TIME] = 1;
    fmu->count[CG_FMU_STATE] = model->n_states;
    fmu->count[CG_FMU_DERIVATIVE] = model->n_states;
    fmu->count[CG_FMU_PARAMETER] = model->n_parameters;
    fmu->count[CG_FMU_INPUT] = model->n_inputs;
    fmu->count[CG_FMU_OUTPUT] = model->n_outputs;
    fmu->count[CG_FMU_INVARIANT] = model->n_invariants;
    fmu->count[CG_FMU_INDICATOR] = model->n_guards + CG_CONTACT_OBSERVED * model->n_contacts;
    fmu->count[CG_FMU_SOLVER] = CG_FMU_SOLVER_OPTIONS;
    fmu->count[CG_FMU_MODE] = model->n_modes;
    fmu->count[CG_FMU_METHOD] = 1;
}

/* The detector: in Co-Simulation that of any other run, which does not look for kinks. */
static int cg_fmu_detect(cg_fmu_t *fmu)
{
    const cg_model_t *const model = &fmu->model;
    const int hybrid = model->n_events > 0 || model->n_contacts > 0;
    if (!hybrid && (fmu->co_simulation || model->n_guards == 0)) {
        return CG_OK;
    }
    const size_t size = cg_detector_size(model, 0);
    fmu->detector = (cg_detector_t *)(void *)cg_run_new(size);
    return fmu->detector == NULL
        ? CG_BAD_ARGUMENT
        : cg_detector_init(fmu->detector, size, model, 0, fmu->co_simulation ? 0 : CG_WATCH_KINKS);
}

static int cg_fmu_arrays(cg_fmu_t *fmu)
{
    const cg_model_t *const model = cg_fmu_type.model;
    const size_t indicators = (size_t)fmu->count[CG_FMU_INDICATOR], known = (size_t)fmu->n_known;
    const int32_t lengths[4] = {model->n_outputs, model->n_invariants, 3 * model->n_consistency,
                                model->n_guards + 5 * model->n_contacts + model->n_modes};
    size_t most = known; /* no less than the number of states */
    for (int i = 0; i < 4; i++) {
        most = (size_t)lengths[i] > most ? (size_t)lengths[i] : most;
    }
    const size_t inputs = (size_t)model->n_inputs, values = (size_t)(model->n_parameters + fmu->n_kinks);
    fmu->offset = calloc(2 * (indicators + most) + known + values + (2 + CG_FMU_POWERS) * inputs, sizeof(double));
    fmu->ramps = calloc(inputs + 1, sizeof *fmu->ramps);
    if (fmu->offset == NULL || fmu->ramps == NULL) {
        return 0;
    }
    fmu->scale = fmu->offset + indicators;
    fmu->value = fmu->scale + indicators;
    fmu->weight = fmu->value + most;
    fmu->direction = fmu->weight + most;
    fmu->parameters = fmu->direction + known;
    fmu->slope = fmu->parameters + values;
    fmu->powers = fmu->slope + 2 * inputs;
    return 1;
}

cg_fmu_t *cg_fmu_new(const char *name, const char *token, int co_simulation, const cg_fmu_t *how)
{
    if (name == NULL || token == NULL || strcmp(token, cg_fmu_type.token) != 0) {
        cg_fmu_say(how, CG_FMU_ERROR, "the token is not that of this FMU");
        return NULL;
    }
    cg_fmu_t *const fmu = malloc(sizeof *fmu);
    if (fmu == NULL) {
        return NULL;
    }
    *fmu = *how;
    fmu->co_simulation = co_simulation;
    cg_fmu_adopt(fmu);
    cg_fmu_count(fmu);
    fmu->name = malloc(strlen(name) + 1);
    if (fmu->name != NULL) {
        memcpy(fmu->name, name, strlen(name) + 1);
    }
    if (fmu->name == NULL || cg_fmu_detect(fmu) != CG_OK || !cg_fmu_arrays(fmu) || cg_fmu_reset(fmu) != CG_FMU_OK) {
        cg_fmu_delete(fmu);
        return NULL;
    }
    return fmu;
}

void cg_fmu_delete(cg_fmu_t *fmu)
{
    if (fmu == NULL) {
        return;
    }
    while (fmu->states != NULL) {
        void *state = fmu->states;
        cg_fmu_forget(fmu, &state);
    }
    cg_run_delete(fmu->run);
    cg_run_delete((cg_run_t *)(void *)fmu->detector);
    free(fmu->offset);
    free(fmu->ramps);
    free(fmu->name);
    free(fmu);
}

/* Takes the default method for the tolerances, unless one was chosen. */
static int cg_fmu_take_default(cg_fmu_t *fmu)
{
    const double *const solver = fmu->memory.solver;
    const char *const name = cg_default_method(&fmu->model, solver[CG_FMU_RTOL], solver[CG_FMU_ATOL]);
    int32_t index = 0;
    while (strcmp(cg_fmu_method_info(index)->name, name) != 0) {
        index++;
    }
    return fmu->memory.method_chosen ? CG_FMU_OK : cg_fmu_method(fmu, index);
}

int cg_fmu_reset(cg_fmu_t *fmu)
{
    const size_t indicators = (size_t)fmu->count[CG_FMU_INDICATOR];
    memset(&fmu->memory, 0, sizeof fmu->memory);
    memset(fmu->offset, 0, 2 * indicators * sizeof(double));
    memset(fmu->slope, 0, 2 * (size_t)fmu->model.n_inputs * sizeof(double));
    fmu->memory.phase = CG_FMU_INSTANTIATED;
    fmu->memory.stop = HUGE_VAL;
    fmu->memory.solver[CG_FMU_RTOL] = CG_FMU_DEFAULT_TOLERANCE;
    fmu->memory.solver[CG_FMU_ATOL] = CG_FMU_DEFAULT_TOLERANCE;
    if (fmu->detector != NULL) {
        cg_detector_reset(fmu->detector);
        fmu->detector->log = NULL;
    }
    if (cg_fmu_take_default(fmu) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    memcpy(fmu->run->x, cg_fmu_type.states, sizeof(double) * (size_t)fmu->model.n_states);
    memcpy(fmu->run->p, cg_fmu_type.parameters, sizeof(double) * (size_t)fmu->count[CG_FMU_PARAMETER]);
    memcpy(fmu->run->u, cg_fmu_type.inputs, sizeof(double) * (size_t)fmu->model.n_inputs);
    for (int32_t i = 0; i < fmu->model.n_inputs; i++) {
        for (int32_t k = 1; k <= cg_fmu_rates(fmu, i); k++) {
            fmu->slope[(k - 1) * fmu->model.n_inputs + i] = fmu->run->u[i + k];
        }
    }
    cg_fmu_put_time(fmu, 0.0);
    return CG_FMU_OK;
}

/* ---- initialization ---- */

int cg_fmu_setup(cg_fmu_t *fmu, int tolerance_given, double tolerance, double start, int stop_given, double stop)
{
    if (!(fabs(start) < HUGE_VAL) || (stop_given && !(stop >= start && stop < HUGE_VAL))) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "start time %g, stop time %g: both must be finite, the stop not earlier",
                          start, stop);
    }
    if (tolerance_given && !(tolerance > 0.0 && tolerance < HUGE_VAL)) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "tolerance %g is not positive", tolerance);
    }
    fmu->memory.start = start;
    cg_fmu_put_time(fmu, start);
    fmu->memory.stop = stop_given ? stop : HUGE_VAL;
    for (int i = CG_FMU_RTOL; i <= CG_FMU_ATOL && tolerance_given; i++) {
        if (!fmu->memory.chosen[i]) {
            fmu->memory.solver[i] = tolerance;
        }
    }
    return CG_FMU_OK;
}

static int cg_fmu_configure(cg_fmu_t *fmu)
{
    const double *const solver = fmu->memory.solver;
    if (!fmu->co_simulation) {
        return CG_FMU_OK;
    }
    if (cg_fmu_take_default(fmu) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    cg_run_t *const run = fmu->run;
    if (!run->adaptive && solver[CG_FMU_STEP_SIZE] == 0.0) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "solver.step must be positive for the method %s",
                          cg_fmu_method_info(fmu->memory.method)->name);
    }
    run->rtol = solver[CG_FMU_RTOL] > CG_FMU_SMALLEST_RTOL ? solver[CG_FMU_RTOL] : CG_FMU_SMALLEST_RTOL;
    run->first_step = run->adaptive ? 0.0 : solver[CG_FMU_STEP_SIZE];
    for (int32_t i = 0; i < run->n; i++) {
        run->atol[i] = solver[CG_FMU_ATOL];
    }
    return CG_FMU_OK;
}

int cg_fmu_start(cg_fmu_t *fmu, int next)
{
    const double *p;
    int status = cg_fmu_configure(fmu);
    if (status == CG_FMU_OK) {
        status = cg_fmu_consistent(fmu);
    }
    if (status != CG_FMU_OK) {
        return status;
    }
    cg_run_t *const run = fmu->run; /* of the method that was taken */
    run->first_step = fmu->co_simulation ? run->first_step : 1.0; /* not used in Model Exchange */
    status = cg_run_start(run, fmu->memory.start, run->x, fmu->memory.start);
    if (status == CG_OK) {
        status = cg_fmu_sides(fmu, &p);
    }
    if (status == CG_OK && fmu->detector != NULL) {
        status = cg_fmu_begin_events(fmu);
    }
    if (status != CG_OK) {
        return cg_fmu_failed(fmu, status, "the start");
    }
    fmu->memory.phase = next;
    fmu->memory.tuned = 0;
    return CG_FMU_OK;
}
