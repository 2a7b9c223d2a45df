/* cg_fmu_derivative.c: directional and adjoint derivatives of an instance; see cg_fmu.h.
 *
 * Those of the derivatives of the states by the states come from the model's kernels `jvp` and `jacobian`, and are
 * exact to rounding. For all other pairs there are no kernels: they are differences of the fourth order, with an error
 * of about 1e-11 of the values for smooth functions.
 */
#include "cg_fmu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CG_FMU_SHIFT 1e-3 /* of the knowns, relative to the larger of 1 and their magnitude */

typedef struct cg_pairs {
    const uint32_t *unknowns, *knowns;
    size_t n_unknowns, n_knowns;
} cg_pairs_t;

static int cg_group_of(const cg_fmu_t *fmu, uint32_t reference)
{
    int32_t index;
    return cg_fmu_group(fmu, reference, &index);
}

static int cg_pairs_valid(cg_fmu_t *fmu, const cg_pairs_t *pairs)
{
    for (size_t i = 0; i < pairs->n_unknowns; i++) {
        if (cg_group_of(fmu, pairs->unknowns[i]) >= CG_FMU_SOLVER) {
            return cg_fmu_say(fmu, CG_FMU_ERROR, "value reference %lu is not that of a variable with derivatives",
                              (unsigned long)pairs->unknowns[i]);
        }
    }
    for (size_t j = 0; j < pairs->n_knowns; j++) {
        if (cg_fmu_place(fmu, pairs->knowns[j]) == NULL) {
            return cg_fmu_say(fmu, CG_FMU_ERROR, "there are no derivatives by the variable with value reference %lu",
                              (unsigned long)pairs->knowns[j]);
        }
    }
    return CG_FMU_OK;
}

/* Whether the derivatives of an unknown by states are known without differences. */
static int cg_of_state(const cg_fmu_t *fmu, uint32_t unknown)
{
    const int group = cg_group_of(fmu, unknown);
    return (group == CG_FMU_DERIVATIVE || group == CG_FMU_STATE) && fmu->model->jvp != NULL
        && fmu->model->jacobian != NULL;
}

static int cg_exact(const cg_fmu_t *fmu, uint32_t unknown, uint32_t known)
{
    return cg_of_state(fmu, unknown) && cg_group_of(fmu, known) == CG_FMU_STATE;
}

static int cg_any(const cg_fmu_t *fmu, const cg_pairs_t *pairs, int exact)
{
    int found = 0;
    for (size_t i = 0; i < pairs->n_unknowns && !found; i++) {
        for (size_t j = 0; j < pairs->n_knowns && !found; j++) {
            found = cg_exact(fmu, pairs->unknowns[i], pairs->knowns[j]) == exact;
        }
    }
    return found;
}

/* Sets the states, and their derivatives. */
static int cg_by_kernel(cg_fmu_t *fmu, const cg_pairs_t *pairs, const double *seed, double *out)
{
    cg_run_t *const run = fmu->run;
    int32_t index;
    memset(fmu->direction, 0, sizeof(double) * (size_t)run->n);
    for (size_t j = 0; j < pairs->n_knowns; j++) {
        if (cg_fmu_group(fmu, pairs->knowns[j], &index) == CG_FMU_STATE) {
            fmu->direction[index] += seed[j];
        }
    }
    const int status = fmu->model->jvp(run->t, run->x, run->p, run->u, fmu->direction, fmu->value, run->work);
    for (size_t i = 0; i < pairs->n_unknowns && status == CG_OK; i++) {
        const int group = cg_fmu_group(fmu, pairs->unknowns[i], &index);
        if (group == CG_FMU_DERIVATIVE || group == CG_FMU_STATE) {
            out[i] = group == CG_FMU_STATE ? fmu->direction[index] : fmu->value[index];
        }
    }
    return status == CG_OK ? CG_FMU_OK : cg_fmu_failed(fmu, status, "the directional derivative");
}

/* Adds to out[i] the differences of one class of unknowns: those whose derivatives by states are exact, or the others.
 * base[n_knowns], value[n_unknowns]: room. */
static int cg_by_differences(cg_fmu_t *fmu, const cg_pairs_t *pairs, int exact, const double *seed, double *base,
                             double *value, double *out)
{
    /* in pairs, so that equal values cancel exactly */
    static const double place[4] = {1.0, -1.0, -2.0, 2.0}, weight[4] = {2.0 / 3.0, -2.0 / 3.0, 1.0 / 12.0, -1.0 / 12.0};
    const uint32_t state = 1; /* the value reference of any state */
    double largest = 0.0;
    int status = CG_FMU_OK;
    for (size_t j = 0; j < pairs->n_knowns; j++) {
        base[j] = *cg_fmu_place(fmu, pairs->knowns[j]);
        const double share = fabs(seed[j]) / (fabs(base[j]) > 1.0 ? fabs(base[j]) : 1.0);
        if (!(exact && cg_exact(fmu, state, pairs->knowns[j])) && share > largest) {
            largest = share;
        }
    }
    const double h = largest > 0.0 ? CG_FMU_SHIFT / largest : 0.0;
    for (int k = 0; k < 4 && h > 0.0 && status == CG_FMU_OK; k++) {
        for (size_t j = 0; j < pairs->n_knowns; j++) {
            if (!(exact && cg_exact(fmu, state, pairs->knowns[j]))) {
                *cg_fmu_place(fmu, pairs->knowns[j]) += place[k] * h * seed[j];
            }
        }
        status = cg_fmu_get(fmu, pairs->unknowns, pairs->n_unknowns, value);
        for (size_t i = 0; i < pairs->n_unknowns && status == CG_FMU_OK; i++) {
            out[i] += cg_of_state(fmu, pairs->unknowns[i]) == exact ? weight[k] / h * value[i] : 0.0;
        }
        for (size_t j = pairs->n_knowns; j-- > 0;) {
            *cg_fmu_place(fmu, pairs->knowns[j]) = base[j];
        }
    }
    return status;
}

static int cg_along(cg_fmu_t *fmu, const cg_pairs_t *pairs, const double *seed, double *room, double *out)
{
    int status = CG_FMU_OK;
    for (size_t i = 0; i < pairs->n_unknowns; i++) {
        out[i] = 0.0;
    }
    if (cg_any(fmu, pairs, 1)) {
        status = cg_by_kernel(fmu, pairs, seed, out);
    }
    for (int exact = 0; exact < 2 && status == CG_FMU_OK && cg_any(fmu, pairs, 0); exact++) {
        status = cg_by_differences(fmu, pairs, exact, seed, room, room + pairs->n_knowns, out);
    }
    return status;
}

/* Room for the work on pairs, and for another number for each of them; NULL: no memory. */
static double *cg_room(const cg_fmu_t *fmu, const cg_pairs_t *pairs)
{
    double *const room = calloc(2 * (pairs->n_knowns + pairs->n_unknowns) + 1, sizeof(double));
    if (room == NULL) {
        cg_fmu_say(fmu, CG_FMU_ERROR, "there is no memory for the derivatives");
    }
    return room;
}

int cg_fmu_along(cg_fmu_t *fmu, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                 const double *seed, double *out)
{
    const cg_pairs_t pairs = {unknowns, knowns, n_unknowns, n_knowns};
    if (cg_fmu_missing(fmu, unknowns, out, n_unknowns) != CG_FMU_OK
        || cg_fmu_missing(fmu, knowns, seed, n_knowns) != CG_FMU_OK || cg_pairs_valid(fmu, &pairs) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    double *const room = cg_room(fmu, &pairs);
    const int status = room == NULL ? CG_FMU_ERROR : cg_along(fmu, &pairs, seed, room, out);
    free(room);
    return status;
}

/* Without differences: the Jacobian, transposed. */
static int cg_by_jacobian(cg_fmu_t *fmu, const cg_pairs_t *pairs, const double *seed, double *out)
{
    cg_run_t *const run = fmu->run;
    const int status = fmu->model->jacobian(run->t, run->x, run->p, run->u, fmu->value, run->work);
    if (status != CG_OK) {
        return cg_fmu_failed(fmu, status, "the Jacobian");
    }
    for (size_t j = 0; j < pairs->n_knowns; j++) {
        int32_t row, column;
        double sum = 0.0;
        cg_fmu_group(fmu, pairs->knowns[j], &column);
        for (size_t i = 0; i < pairs->n_unknowns; i++) {
            const int group = cg_fmu_group(fmu, pairs->unknowns[i], &row);
            sum += seed[i] * (group == CG_FMU_STATE ? row == column : fmu->value[row * run->n + column]);
        }
        out[j] = sum;
    }
    return CG_FMU_OK;
}

int cg_fmu_adjoint(cg_fmu_t *fmu, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                   const double *seed, double *out)
{
    const cg_pairs_t pairs = {unknowns, knowns, n_unknowns, n_knowns};
    if (cg_fmu_missing(fmu, unknowns, seed, n_unknowns) != CG_FMU_OK
        || cg_fmu_missing(fmu, knowns, out, n_knowns) != CG_FMU_OK || cg_pairs_valid(fmu, &pairs) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    if (!cg_any(fmu, &pairs, 0)) {
        return cg_by_jacobian(fmu, &pairs, seed, out);
    }
    double *const room = cg_room(fmu, &pairs);
    if (room == NULL) {
        return CG_FMU_ERROR;
    }
    double *const column = room + n_knowns + n_unknowns;
    const double one = 1.0;
    int status = CG_FMU_OK;
    for (size_t j = 0; j < n_knowns && status == CG_FMU_OK; j++) {
        const cg_pairs_t single = {unknowns, knowns + j, n_unknowns, 1};
        status = cg_along(fmu, &single, &one, room, column);
        out[j] = 0.0;
        for (size_t i = 0; i < n_unknowns; i++) {
            out[j] += seed[i] * column[i];
        }
    }
    free(room);
    return status;
}
