/* cg_fmu_derivative.c: directional and adjoint derivatives of an instance; see cg_fmu.h.
 *
 * They come from kernels of the FMU, forward and reverse sweeps through the equations, and are exact to rounding.
 */
#include "cg_fmu.h"
#include "step/cg_internal.h"

#include <string.h>

/* The place of a quantity among those by which there are derivatives; -1: there are none. */
static int32_t cg_fmu_derivative_known(const cg_fmu_t *fmu, uint32_t reference)
{
    int32_t index;
    switch (cg_fmu_group(fmu, reference, &index)) {
    case CG_FMU_TIME: return 0;
    case CG_FMU_STATE: return 1 + index;
    case CG_FMU_PARAMETER: return 1 + fmu->count[CG_FMU_STATE] + index;
    case CG_FMU_INPUT: return 1 + fmu->count[CG_FMU_STATE] + fmu->count[CG_FMU_PARAMETER] + index;
    default: return -1;
    }
}

/* An indicator of a contact as a sum of the five results of the contact in the kernel `contacts`. */
static void cg_fmu_derivative_of_contact(const cg_fmu_t *fmu, int32_t contact, int32_t what, double *weights)
{
    const cg_model_t *const model = &fmu->model;
    const double *const modes = fmu->run->u + model->n_inputs;
    const double slip = modes[contact];
    const int32_t sign = model->contacts[contact].sign;
    memset(weights, 0, 5 * sizeof(double));
    if (what == CG_CONTACT_NORMAL) {
        weights[4] = sign >= 0 ? modes[model->n_contacts + sign] : 1.0;
    } else if (slip == 0.0) {
        weights[1] = what == CG_CONTACT_SLIP ? -1.0 : 1.0;
        weights[2] = CG_CONTACT_LIMIT;
    } else if (what == CG_CONTACT_SLIP) {
        weights[0] = slip;
    }
}

/* Which results of which kernel an unknown is: `n` of them from `first` on, times `weights`. */
typedef struct cg_unknown {
    int32_t kernel; /* enum cg_fmu_kernel; CG_FMU_KERNELS: it is a known */
    int32_t first;
    int32_t n;
    double weights[5];
} cg_unknown_t;

static int cg_fmu_derivative_unknown_of(const cg_fmu_t *fmu, uint32_t reference, cg_unknown_t *found)
{
    int32_t index;
    const int group = cg_fmu_group(fmu, reference, &index);
    *found = (cg_unknown_t){CG_FMU_KERNELS, index, 1, {1.0, 0.0, 0.0, 0.0, 0.0}};
    switch (group) {
    case CG_FMU_DERIVATIVE: found->kernel = CG_FMU_RHS; return 1;
    case CG_FMU_OUTPUT: found->kernel = CG_FMU_OUTPUTS; return 1;
    case CG_FMU_INVARIANT: found->kernel = CG_FMU_INVARIANTS; return 1;
    case CG_FMU_INDICATOR: {
        const int32_t place = index - fmu->model.n_guards;
        found->kernel = place < 0 ? CG_FMU_GUARDS : CG_FMU_CONTACTS;
        if (place >= 0) {
            found->first = place / CG_CONTACT_OBSERVED * 5;
            found->n = 5;
            cg_fmu_derivative_of_contact(fmu, place / CG_CONTACT_OBSERVED, place % CG_CONTACT_OBSERVED, found->weights);
        }
        return 1;
    }
    default:
        found->first = cg_fmu_derivative_known(fmu, reference);
        return found->first >= 0;
    }
}

static int cg_fmu_derivative_pairs_valid(const cg_fmu_t *fmu, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns,
                                         size_t n_knowns)
{
    cg_unknown_t unknown;
    for (size_t i = 0; i < n_unknowns; i++) {
        if (!cg_fmu_derivative_unknown_of(fmu, unknowns[i], &unknown)) {
            return cg_fmu_say(fmu, CG_FMU_ERROR, "value reference %lu is not that of a variable with derivatives",
                              (unsigned long)unknowns[i]);
        }
    }
    for (size_t j = 0; j < n_knowns; j++) {
        if (cg_fmu_derivative_known(fmu, knowns[j]) < 0) {
            return cg_fmu_say(fmu, CG_FMU_ERROR, "there are no derivatives by the variable with value reference %lu",
                              (unsigned long)knowns[j]);
        }
    }
    return CG_FMU_OK;
}

static int cg_fmu_derivative_call(cg_fmu_t *fmu, cg_jvp_t kernel, const double *v, double *out)
{
    cg_run_t *const run = fmu->run;
    const double *p;
    int status = cg_fmu_sides(fmu, &p); /* uses fmu->value, which is the result or is filled later */
    if (status == CG_OK) {
        status = kernel(run->t, run->x, p, run->u, v, out, run->work);
    }
    return status == CG_OK ? CG_FMU_OK : cg_fmu_failed(fmu, status, "the derivatives");
}

int cg_fmu_along(cg_fmu_t *fmu, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                 const double *seed, double *out)
{
    int32_t computed = CG_FMU_KERNELS;
    if (cg_fmu_missing(fmu, unknowns, out, n_unknowns) != CG_FMU_OK
        || cg_fmu_missing(fmu, knowns, seed, n_knowns) != CG_FMU_OK
        || cg_fmu_derivative_pairs_valid(fmu, unknowns, n_unknowns, knowns, n_knowns) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    memset(fmu->direction, 0, sizeof(double) * (size_t)fmu->n_known);
    for (size_t j = 0; j < n_knowns; j++) {
        fmu->direction[cg_fmu_derivative_known(fmu, knowns[j])] += seed[j];
    }
    for (size_t i = 0; i < n_unknowns; i++) {
        cg_unknown_t unknown;
        cg_fmu_derivative_unknown_of(fmu, unknowns[i], &unknown);
        if (unknown.kernel != CG_FMU_KERNELS && unknown.kernel != computed) { /* importers ask by groups */
            const int status = cg_fmu_derivative_call(fmu, cg_fmu_kernels.along[unknown.kernel], fmu->direction, fmu->value);
            if (status != CG_FMU_OK) {
                return status;
            }
            computed = unknown.kernel;
        }
        const double *const values = unknown.kernel == CG_FMU_KERNELS ? fmu->direction : fmu->value;
        out[i] = 0.0;
        for (int32_t k = 0; k < unknown.n; k++) {
            out[i] += unknown.weights[k] * values[unknown.first + k];
        }
    }
    return CG_FMU_OK;
}

/* Sets fmu->weight to the weights of the results of a kernel in the weighted sum of the unknowns. Returns whether there
 * are any. */
static int cg_fmu_derivative_gather(const cg_fmu_t *fmu, int32_t kernel, const uint32_t *unknowns, size_t n_unknowns,
                                    const double *seed, int32_t length)
{
    int found = 0;
    memset(fmu->weight, 0, sizeof(double) * (size_t)length);
    for (size_t i = 0; i < n_unknowns; i++) {
        cg_unknown_t unknown;
        cg_fmu_derivative_unknown_of(fmu, unknowns[i], &unknown);
        for (int32_t k = 0; k < unknown.n && unknown.kernel == kernel; k++) {
            fmu->weight[unknown.first + k] += seed[i] * unknown.weights[k];
            found = 1;
        }
    }
    return found;
}

int cg_fmu_adjoint(cg_fmu_t *fmu, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                   const double *seed, double *out)
{
    const cg_model_t *const model = &fmu->model;
    const int32_t lengths[CG_FMU_KERNELS + 1] = {model->n_states, model->n_outputs, model->n_invariants,
                                                 model->n_guards, 5 * model->n_contacts, fmu->n_known};
    if (cg_fmu_missing(fmu, unknowns, seed, n_unknowns) != CG_FMU_OK
        || cg_fmu_missing(fmu, knowns, out, n_knowns) != CG_FMU_OK
        || cg_fmu_derivative_pairs_valid(fmu, unknowns, n_unknowns, knowns, n_knowns) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    cg_fmu_derivative_gather(fmu, CG_FMU_KERNELS, unknowns, n_unknowns, seed, lengths[CG_FMU_KERNELS]);
    memcpy(fmu->direction, fmu->weight, sizeof(double) * (size_t)fmu->n_known);
    for (int32_t kernel = 0; kernel < CG_FMU_KERNELS; kernel++) {
        if (cg_fmu_derivative_gather(fmu, kernel, unknowns, n_unknowns, seed, lengths[kernel])) {
            const int status = cg_fmu_derivative_call(fmu, cg_fmu_kernels.adjoint[kernel], fmu->weight, fmu->value);
            if (status != CG_FMU_OK) {
                return status;
            }
            for (int32_t k = 0; k < fmu->n_known; k++) {
                fmu->direction[k] += fmu->value[k];
            }
        }
    }
    for (size_t j = 0; j < n_knowns; j++) {
        out[j] = fmu->direction[cg_fmu_derivative_known(fmu, knowns[j])];
    }
    return CG_FMU_OK;
}
