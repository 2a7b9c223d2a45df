# The table of a model; see chaplygin.h for the meaning of its members. Included by _core.pyx, and by the .pxd of every
# compiled model.

from libc.stdint cimport int32_t, uint32_t

cdef extern from "chaplygin.h" nogil:
    enum: CG_UNSUPPORTED
    enum cg_takes:
        CG_TAKES_STATE
        CG_TAKES_DIRECTION
        CG_TAKES_DECLARED
        CG_TAKES_EVENT

    ctypedef struct cg_variable_t:
        const char *name
        const char *unit
        const char *description
        double example
        int32_t kind
        int32_t flags

    ctypedef int (*cg_kernel_t)(double t, const double *x, const double *p, const double *u, double *out,
                                double *work) noexcept
    ctypedef int (*cg_jvp_t)(double t, const double *x, const double *p, const double *u, const double *v,
                             double *out, double *work) noexcept
    ctypedef int (*cg_reset_t)(int32_t event, double t, const double *x, const double *p, const double *u,
                               double *out, double *work) noexcept
    ctypedef int (*cg_hoist_t)(const double *p, double *q) noexcept

    ctypedef struct cg_event_t:
        const char *name

    ctypedef struct cg_contact_t:
        const char *name
        int32_t sign

    ctypedef struct cg_method_info_t:
        const char *name
        const char *summary
        int32_t order
        int32_t adaptive
        int32_t implicit
        int32_t layout

    ctypedef struct cg_method_t:
        cg_method_info_t info

    ctypedef struct cg_lane_set_t:
        uint32_t abi_version
        uint32_t struct_size
        const char *digest
        int32_t n_lanes
        int32_t cpu

    ctypedef void (*cg_function_t)() noexcept
    ctypedef struct cg_kernel_entry_t:
        const char *name
        const char *text
        int32_t takes
        int32_t length
        cg_function_t function

    ctypedef struct cg_model_t:
        uint32_t abi_version
        uint32_t struct_size
        const char *name
        const char *form
        const char *digest
        const char *generator
        const char *scalar
        const char *independent
        int32_t n_states
        int32_t n_parameters
        int32_t n_inputs
        int32_t n_outputs
        int32_t n_invariants
        int32_t n_guards
        int32_t n_modes
        int32_t n_declared
        int32_t n_events
        int32_t n_contacts
        int32_t n_coordinates
        int32_t n_consistency
        int32_t n_work
        int32_t n_hoisted
        const cg_variable_t *states
        const cg_variable_t *parameters
        const cg_variable_t *inputs
        const cg_variable_t *outputs
        const cg_variable_t *invariants
        const cg_variable_t *guards
        const cg_variable_t *modes
        const cg_variable_t *declared
        const cg_event_t *events
        const cg_contact_t *contacts
        const cg_kernel_entry_t *kernels
        cg_kernel_t rhs
        cg_jvp_t jvp
        cg_kernel_t jacobian
        cg_kernel_t outputs_fn
        cg_kernel_t invariants_fn
        cg_kernel_t guards_fn
        cg_reset_t reset
        cg_kernel_t contacts_fn
        cg_kernel_t project
        cg_kernel_t initial
        cg_kernel_t consistency
        cg_hoist_t hoist
        const cg_method_t *methods
        const cg_lane_set_t *const *lane_sets

    const cg_kernel_entry_t *cg_kernel(const cg_model_t *model, const char *name)
