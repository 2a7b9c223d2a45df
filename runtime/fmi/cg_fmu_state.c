/* cg_fmu_state.c: saved states of an instance; see cg_fmu.h. */
#include "cg_fmu.h"

#include <stdlib.h>
#include <string.h>

/* A saved state: the memory of the instance, the derivatives of its inputs, the block of its run, what its detector keeps, and
 * four numbers for each quantity that the detector observes. */
typedef struct cg_fmu_state {
    struct cg_fmu_state *next;
    size_t size;
    cg_fmu_memory_t memory; /* the bytes start here */
} cg_fmu_state_t;

static void *cg_fmu_state_bytes(cg_fmu_state_t *state) { return &state->memory; }

/* Fowler-Noll-Vo. */
static uint64_t cg_fmu_state_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *const byte = bytes;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ byte[i]) * 1099511628211u;
    }
    return hash;
}

static uint64_t cg_fmu_state_check(const void *bytes, size_t size)
{
    const size_t first = sizeof(uint64_t);
    return cg_fmu_state_hash(14695981039346656037u, (const char *)bytes + first, size - first);
}

/* States of another model, of another layout or of the other kind of simulation do not fit. */
static uint64_t cg_fmu_state_kind(const cg_fmu_t *fmu)
{
    const int32_t numbers[4] = {CG_RUN_LAYOUT, (int32_t)sizeof(cg_run_t), fmu->co_simulation, fmu->event_mode};
    const uint64_t hash = cg_fmu_state_hash(14695981039346656037u, numbers, sizeof numbers);
    return cg_fmu_state_hash(hash, fmu->model.digest, strlen(fmu->model.digest));
}

static size_t cg_fmu_state_slopes(const cg_fmu_t *fmu) { return 2 * sizeof(double) * (size_t)fmu->model.n_inputs; }

static size_t cg_fmu_state_size_of(const cg_fmu_t *fmu, int32_t method)
{
    const size_t run = cg_run_size(&fmu->model, cg_fmu_method_info(method)->name);
    const cg_detector_t *const detector = fmu->detector;
    const size_t rows = detector == NULL ? 0 : 4 * sizeof(double) * (size_t)detector->n_observed;
    return sizeof(cg_fmu_memory_t) + cg_fmu_state_slopes(fmu) + run + (detector == NULL ? 0 : cg_detector_saved_size(detector)) + rows;
}

/* The four rows of numbers. */
static void cg_fmu_state_rows(const cg_fmu_t *fmu, double *rows[4])
{
    rows[0] = fmu->detector->fired;
    rows[1] = fmu->detector->scale;
    rows[2] = fmu->offset;
    rows[3] = fmu->scale;
}

/* The state at that address, if it is one of this instance; else NULL, and an error is logged. */
static cg_fmu_state_t *cg_fmu_state_own(const cg_fmu_t *fmu, const void *state)
{
    cg_fmu_state_t *found = fmu->states;
    while (found != NULL && (const void *)found != state) {
        found = found->next;
    }
    if (found == NULL) {
        cg_fmu_say(fmu, CG_FMU_ERROR, "this FMU state does not belong to the instance");
    }
    return found;
}

static void cg_fmu_state_drop(cg_fmu_t *fmu, cg_fmu_state_t *state)
{
    cg_fmu_state_t **place = &fmu->states;
    while (*place != state) {
        place = &(*place)->next;
    }
    *place = state->next;
    free(state);
}

int cg_fmu_forget(cg_fmu_t *fmu, void **state)
{
    if (state == NULL || *state == NULL) {
        return CG_FMU_OK;
    }
    cg_fmu_state_t *const own = cg_fmu_state_own(fmu, *state);
    if (own == NULL) {
        return CG_FMU_ERROR;
    }
    cg_fmu_state_drop(fmu, own);
    *state = NULL;
    return CG_FMU_OK;
}

static cg_fmu_state_t *cg_fmu_state_room(cg_fmu_t *fmu, size_t size)
{
    cg_fmu_state_t *const state = calloc(1, offsetof(cg_fmu_state_t, memory) + size);
    if (state == NULL) {
        return NULL;
    }
    state->size = size;
    state->next = fmu->states;
    fmu->states = state;
    return state;
}

int cg_fmu_save(cg_fmu_t *fmu, void **saved)
{
    if (saved == NULL) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "an argument is NULL");
    }
    cg_fmu_state_t *const into = *saved == NULL ? NULL : cg_fmu_state_own(fmu, *saved);
    if (into == NULL && *saved != NULL) {
        return CG_FMU_ERROR;
    }
    const size_t size = cg_fmu_state_size_of(fmu, fmu->memory.method);
    const cg_detector_t *const detector = fmu->detector;
    cg_fmu_state_t *const state = into != NULL && into->size == size ? into : cg_fmu_state_room(fmu, size);
    if (state == NULL) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "not enough memory to save the state");
    }
    if (into != NULL && into != state) {
        cg_fmu_state_drop(fmu, into);
    }
    char *place = (char *)cg_fmu_state_bytes(state) + sizeof fmu->memory;
    memcpy(place, fmu->slope, cg_fmu_state_slopes(fmu));
    place += cg_fmu_state_slopes(fmu);
    memcpy(place, fmu->run, fmu->run->size);
    place += fmu->run->size;
    if (detector != NULL) {
        const size_t bytes = sizeof(double) * (size_t)detector->n_observed;
        double *rows[4];
        cg_detector_save(detector, place);
        place += cg_detector_saved_size(detector);
        cg_fmu_state_rows(fmu, rows);
        for (int i = 0; i < 4; i++, place += bytes) {
            memcpy(place, rows[i], bytes);
        }
    }
    state->memory = fmu->memory;
    state->memory.starts = detector != NULL && detector->pending == 1;
    state->memory.kind = cg_fmu_state_kind(fmu);
    state->memory.check = cg_fmu_state_check(cg_fmu_state_bytes(state), size);
    *saved = state;
    return CG_FMU_OK;
}

int cg_fmu_restore(cg_fmu_t *fmu, const void *saved)
{
    const cg_fmu_state_t *const state = cg_fmu_state_own(fmu, saved);
    if (state == NULL) {
        return CG_FMU_ERROR;
    }
    const char *const slopes = (const char *)&state->memory + sizeof fmu->memory;
    const char *place = slopes + cg_fmu_state_slopes(fmu);
    cg_detector_t *const detector = fmu->detector;
    if (state->memory.method != fmu->memory.method && cg_fmu_method(fmu, state->memory.method) != CG_FMU_OK) {
        return CG_FMU_ERROR;
    }
    if (cg_run_restore(fmu->run, place, fmu->run->size) != CG_OK) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "the saved state is damaged");
    }
    place += fmu->run->size;
    if (detector != NULL) {
        const size_t bytes = sizeof(double) * (size_t)detector->n_observed, kept = cg_detector_saved_size(detector);
        double *rows[4];
        if (cg_detector_restore(detector, place, kept) != CG_OK) {
            return cg_fmu_say(fmu, CG_FMU_ERROR, "the saved state is damaged");
        }
        place += kept;
        cg_fmu_state_rows(fmu, rows);
        for (int i = 0; i < 4; i++, place += bytes) {
            memcpy(rows[i], place, bytes);
        }
        detector->pending = state->memory.pending || state->memory.starts;
    }
    fmu->memory = state->memory;
    memcpy(fmu->slope, slopes, cg_fmu_state_slopes(fmu));
    return CG_FMU_OK;
}

int cg_fmu_state_size(const cg_fmu_t *fmu, const void *state, size_t *size)
{
    if (size == NULL) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "an argument is NULL");
    }
    const cg_fmu_state_t *const own = cg_fmu_state_own(fmu, state);
    if (own == NULL) {
        return CG_FMU_ERROR;
    }
    *size = own->size;
    return CG_FMU_OK;
}

int cg_fmu_serialize(const cg_fmu_t *fmu, const void *state, void *bytes, size_t size)
{
    const cg_fmu_state_t *const own = cg_fmu_state_own(fmu, state);
    if (own == NULL) {
        return CG_FMU_ERROR;
    }
    if (bytes == NULL || size < own->size) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "room for %lu bytes is needed", (unsigned long)own->size);
    }
    memcpy(bytes, &own->memory, own->size);
    return CG_FMU_OK;
}

/* NULL: no memory, or the bytes are damaged or of another FMU. */
static cg_fmu_state_t *cg_fmu_state_read(cg_fmu_t *fmu, const void *bytes, size_t size)
{
    cg_fmu_memory_t memory;
    if (bytes == NULL || size < sizeof memory) {
        return NULL;
    }
    memcpy(&memory, bytes, sizeof memory);
    if (memory.kind != cg_fmu_state_kind(fmu) || memory.method < 0 || cg_fmu_method_info(memory.method) == NULL
        || size != cg_fmu_state_size_of(fmu, memory.method) || memory.check != cg_fmu_state_check(bytes, size)) {
        return NULL;
    }
    cg_fmu_state_t *const state = cg_fmu_state_room(fmu, size);
    if (state != NULL) {
        memcpy(cg_fmu_state_bytes(state), bytes, size);
    }
    return state;
}

int cg_fmu_deserialize(cg_fmu_t *fmu, const void *bytes, size_t size, void **state)
{
    if (state == NULL) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "an argument is NULL");
    }
    cg_fmu_state_t *const found = cg_fmu_state_read(fmu, bytes, size);
    if (found == NULL) {
        return cg_fmu_say(fmu, CG_FMU_ERROR, "the saved state is damaged, or is of another FMU");
    }
    *state = found;
    return CG_FMU_OK;
}
