/* models.h: small models written by hand, so that the integrators are tested without the code generator. */
#ifndef MODELS_H
#define MODELS_H

#include "chaplygin.h"

#include <stddef.h>

/* A short right-hand side is worth a copy in each stage of an inlined method; gcc alone would call one copy. */
#if defined(__GNUC__) && defined(CHAPLYGIN_INLINE_METHODS)
#define KERNEL static inline __attribute__((always_inline))
#else
#define KERNEL static
#endif

extern const cg_model_t oscillator_model;
extern const cg_model_t top_model;
extern const cg_model_t sleigh_model;
extern const cg_model_t probe_model;

enum probe_kind {
    PROBE_REST = 0,
    PROBE_RATIONAL,
    PROBE_BLOW_UP,
    PROBE_SINGULAR,
    PROBE_NAN,
    PROBE_INFINITE,
    PROBE_SQUARE_ROOT,
    PROBE_JUMP
};

#endif
