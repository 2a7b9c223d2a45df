/* models.h: small models written by hand, so that the integrators are tested without the code generator. */
#ifndef MODELS_H
#define MODELS_H

#include "chaplygin.h"

#include <stddef.h>

#define HEAD(name_)                                                                                            \
    .abi_version = CG_ABI_VERSION, .struct_size = sizeof(cg_model_t), .name = name_, .form = "by hand",        \
    .digest = name_, .generator = "", .scalar = "float64", .independent = "t"
#ifdef CHAPLYGIN_INLINE_METHODS /* each model then includes cg_inline.h */
#define METHODS cg_inline_methods
#else
#define METHODS NULL
#endif

extern const cg_model_t oscillator_model;
extern const cg_model_t top_model;
extern const cg_model_t sleigh_model;
extern const cg_model_t probe_model;
extern const cg_model_t stiff_model;
extern const cg_model_t clock_model;
extern const cg_model_t spring_model;
extern const cg_model_t ball_model;
extern const cg_model_t switched_model;
extern const cg_model_t block_model;
extern const cg_model_t rod_model;
extern const cg_model_t klein_model;

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

enum stiff_kind {
    STIFF_VAN_DER_POL = 0,
    STIFF_PROTHERO_ROBINSON,
    STIFF_DECAY,
    STIFF_BLOW_UP,
    STIFF_TIMED,
    STIFF_DRIVEN,
    STIFF_OSCILLATOR,
    STIFF_NO_SLOPE
};

#endif
