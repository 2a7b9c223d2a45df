# The parts of the C headers that _core.pyx uses; see the headers for their meaning.

include "../../generated/cg_model.pxi"  # of the modules of models

cdef extern from "chaplygin.h" nogil:
    enum: CG_ABI_VERSION
    enum cg_status:
        CG_OK
        CG_INTERRUPTED
        CG_INPUT_FAILED
        CG_BAD_ARGUMENT
        CG_PARADOX

    enum: CG_VELOCITY
    enum: CG_DECLARED
    enum: CG_RESIDUAL

    enum cg_flag:
        CG_NOT_NEGATIVE
        CG_NOT_POSITIVE
        CG_NOT_ZERO
        CG_INTEGER
        CG_EVEN
        CG_ODD
        CG_ZERO_AT_START
        CG_RATE
        CG_QUATERNION

cdef extern from "cg_lanes.h" nogil:
    enum: CG_LANES_LAYOUT

cdef extern from "cg_run.h" nogil:
    enum: CG_RUN_LAYOUT
    enum: CG_PAD
    enum: CG_SIGNAL_CONSTANT
    enum: CG_SIGNAL_CALL
    enum: CG_SIGNAL_MOVING
    ctypedef struct cg_signal_t:
        int32_t kind
        int64_t n
        const double *t
        const double *value

    ctypedef int (*cg_input_fn_t)(void *, double, const double *, double *) noexcept

    ctypedef struct cg_jump_at_t
    ctypedef int (*cg_jump_t)(const cg_jump_at_t *, const double *, double *, double *, double *) noexcept
    ctypedef struct cg_detector_t
    ctypedef int (*cg_varied_t)(int32_t, double, const double *, const double *, const double *, double *,
                                double *) noexcept
    ctypedef struct cg_varied_kernels_t:
        cg_varied_t rhs
    ctypedef struct cg_run_t:
        cg_jump_t jump
        const cg_varied_kernels_t *varied
        int32_t n_blocks
        int32_t n_own
        int32_t n_tangents
        cg_detector_t *detector
        const cg_kernel_entry_t *correction
        cg_input_fn_t input_fn
        void *input_context
        const cg_signal_t *signals
        const volatile int *stop
        size_t size
        int32_t n
        int32_t ld
        int32_t n_dense
        int32_t order
        int32_t adaptive
        double *x
        double *atol
        double *p
        double *u
        double *u_slope
        double *u_time
        double rtol
        double max_step
        double first_step
        int64_t max_steps
        int32_t projection
        double t
        double t_old
        double direction
        double h
        int64_t n_steps
        int64_t n_rejected
        int64_t n_rhs
        int64_t n_jac
        int64_t n_lu
        int32_t status

cdef extern from "cg_companion.h" nogil:
    ctypedef void (*cg_lanes_t)(const double *, const double *, const double *, const double *, double *, int32_t *,
                                double *) noexcept
    ctypedef struct cg_companion_t:
        const char *digest
        int32_t n_lanes
        int32_t n_values
        int32_t n_work
        cg_lanes_t values

cdef extern from "cg_derivatives.h" nogil:
    ctypedef int (*cg_differential_t)(double, const double *, const double *, const double *, const double *, double *,
                                      double *, double *) noexcept
    ctypedef struct cg_derivative_t:
        const char *kernel
        int32_t takes
        int32_t n_values
        int32_t n_given
        int32_t n_found
        cg_differential_t function
        const char *const *kinks
    ctypedef struct cg_derivatives_t:
        uint32_t abi_version
        uint32_t struct_size
        const char *digest
        int32_t n_lanes
        int32_t n_work
        const cg_derivative_t *entries
    ctypedef struct cg_backward_t:
        uint32_t abi_version
        uint32_t struct_size
        const char *digest
        const cg_derivatives_t *derivatives
    const cg_derivative_t *cg_derivative(const cg_derivatives_t *derivatives, const char *kernel)

cdef extern from "cg_variational.h" nogil:
    ctypedef struct cg_variational_t:
        uint32_t abi_version
        uint32_t struct_size
        const char *digest
        int32_t n_lanes
        int32_t n_work
        int32_t layout
        int32_t n_hoisted
        cg_varied_kernels_t kernels
        cg_varied_t fed_rhs
        cg_jump_t jump
        int32_t n_end

cdef extern from "cg_default.h" nogil:
    const char *cg_default_method(const cg_model_t *model, double rtol, double atol)

cdef extern from "cg_ensemble.h" nogil:
    enum: CG_OUTPUT_FULL
    enum: CG_BUDGET_USED
    enum: CG_EVENTS_FULL
    enum: CG_RUN_TABLE
    const cg_method_t *cg_method_table()
    int cg_method_find(const cg_model_t *model, const char *name, int32_t flags, cg_method_t *found)
    size_t cg_run_size(const cg_model_t *model, const char *method)
    cg_run_t *cg_run_new(size_t size)
    void cg_run_delete(cg_run_t *run)
    void cg_run_method(cg_run_t *run, const char *method)
    int cg_run_init(cg_run_t *run, size_t size, const cg_model_t *model, const char *method, int32_t flags)
    int cg_run_start(cg_run_t *run, double t0, const double *x0, double t_end)
    int cg_run_extend(cg_run_t *run, double t_end)
    void cg_run_inputs_changed(cg_run_t *run)
    void cg_run_moved(cg_run_t *run)
    int cg_run_restore(cg_run_t *run, const void *saved, size_t size)

    ctypedef struct cg_record_t:
        const double *t_eval
        int64_t n_eval
        double *t
        double *y
        int64_t y_row
        int64_t y_col
        int64_t capacity
        int64_t n_rows
        double *coef
        double *coef_t
        int64_t capacity_dense
        int64_t n_coef
        int (*watch)(void *, cg_run_t *, int) noexcept
        void *watch_context

    int cg_drive(cg_run_t *run, cg_record_t *record, int64_t budget)
    void cg_dense_evaluate(const double *coef, int64_t n_dense, int64_t ld, int64_t n, double theta, double *out,
                           int64_t stride)

    ctypedef struct cg_quantity_t:
        cg_kernel_t kernel
        int32_t index

    ctypedef struct cg_observer_t:
        pass

    enum: CG_RUNNING
    size_t cg_observer_size(const cg_model_t *model, const cg_companion_t *companion, int32_t n_values)
    int cg_observer_init(cg_observer_t *observer, const cg_model_t *model, const cg_companion_t *companion,
                         const cg_quantity_t *quantities, const int32_t *kinds, int32_t n_values, int32_t order)

    ctypedef struct cg_ensemble_t:
        double t0
        double t_end
        const double *x0
        int64_t x0_row
        int64_t x0_col
        const double *p
        int64_t p_row
        int64_t p_col
        const double *u
        int64_t u_row
        int64_t u_col
        const double *past
        int64_t past_row
        int64_t past_col
        const double *t_eval
        int64_t n_eval
        double *y
        int64_t y_row
        int64_t y_col
        int64_t y_time
        double *end
        int64_t end_row
        int64_t end_col
        double *t
        int32_t *status
        int64_t *n_rhs
        int64_t *n_steps
        cg_observer_t *observer[2]  # CG_RUNNING
        double *observed
        double *observed_t
        int64_t observed_row

    ctypedef struct cg_occurrence_t:
        double t
        int64_t trajectory
        int64_t event

    ctypedef struct cg_cursor_t:
        int64_t next
        int64_t last
        int64_t n_done
        cg_occurrence_t *events
        int64_t n_events
        int64_t event_capacity
        double *shelf
        int32_t n_shelves
        int32_t begun

    enum: CG_SHELVES
    int cg_ensemble_run(const cg_ensemble_t *ensemble, cg_run_t *run, cg_cursor_t *cursor, int64_t budget)

    ctypedef struct cg_lanes_run_t:
        int32_t lanes

    size_t cg_lanes_size(const cg_model_t *model, const cg_lane_set_t *lane_set, const char *method)
    int cg_lanes_init(cg_lanes_run_t *run, size_t size, const cg_model_t *model, const cg_lane_set_t *lane_set,
                      const char *method)
    int64_t cg_shelf_size(const cg_lanes_run_t *run, int64_t n_eval)
    void cg_shelves_write(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, const cg_cursor_t *cursor)
    int cg_ensemble_lanes(const cg_ensemble_t *ensemble, cg_lanes_run_t *run, const cg_run_t *options,
                          cg_cursor_t *cursor, int64_t budget)
    int cg_lane_set_runs(const cg_lane_set_t *lane_set)
    int cg_widest_lanes()

cdef extern from "cg_adjoint.h" nogil:
    enum: CG_LEAST_SLOTS
    ctypedef struct cg_tableau_t:
        int32_t n_stages

    const cg_tableau_t *cg_tableau(const char *method)
    ctypedef struct cg_trail_t:
        double *t
        int8_t *n_moved
        int64_t capacity
        int64_t n_steps
        double *slopes
        int64_t n_slopes
        int32_t n_stages
        double *x
        int64_t *at
        int64_t n_slots
        int64_t n_kept
        int64_t stride
        int64_t n_repeated

    int cg_trail_watch(void *trail, cg_run_t *run, int stepped) noexcept
    ctypedef struct cg_integrand_t:
        const cg_companion_t *expression
        const cg_derivative_t *kernel
        const double *weights
    ctypedef struct cg_adjoint_t:
        cg_run_t *run
        const cg_model_t *model
        cg_trail_t *trail
        const cg_tableau_t *tableau
        const cg_backward_t *backward
        const cg_derivative_t *correction
        const cg_integrand_t *integrands
        int64_t n_integrands
        const int64_t *stops
        const double *jumps
        int64_t n_stops
        double *lambda_ "lambda"
        double *gradient
        double *integral
        double *work
        int64_t kink
        int64_t until
        const double *after
        const char *failed
        double failed_at

    size_t cg_adjoint_work(const cg_adjoint_t *adjoint)
    int cg_adjoint_begin(cg_adjoint_t *adjoint)
    int cg_adjoint_sweep(cg_adjoint_t *adjoint, int64_t budget)
    int cg_adjoint_end(cg_adjoint_t *adjoint)

cdef extern from "cg_batch.h" nogil:
    enum: CG_BATCH_BLOCK
    enum: CG_BATCH_X
    enum: CG_BATCH_P
    enum: CG_BATCH_U
    enum: CG_BATCH_T
    enum: CG_BATCH_FRESH
    enum: CG_BATCH_STATUS
    enum: CG_BATCH_PARTS
    ctypedef struct cg_batch_t:
        int32_t *row
        double *table
        int64_t stride
    ctypedef struct cg_batch_goal_t:
        double time
        double duration
    ctypedef struct cg_listener_t:
        int64_t (*listen)(void *context) noexcept
        void *context
        int64_t left
    void cg_batch_init(cg_batch_t *batch, const cg_model_t *model)
    void cg_batch_start(const cg_batch_t *batch, cg_run_t *run, int64_t column)
    int cg_batch_advance(const cg_batch_t *batch, cg_run_t *run, cg_lanes_run_t *lanes, int64_t first, int64_t last,
                         cg_batch_goal_t goal, cg_listener_t *listener)
    int cg_all_finite(const double *values, int64_t count)
    size_t cg_batch_scratch(const cg_batch_t *batch, const cg_companion_t *companion)
    int cg_batch_evaluate(const cg_batch_t *batch, const cg_companion_t *companion, void *scratch, int64_t first,
                          int64_t last, double *out, int64_t stride)

cdef extern from "cg_events.h" nogil:
    enum: CG_LOG_HEAD
    enum: CG_WATCH_KINKS
    enum: CG_LOG_FIELDS
    enum: CG_LOG_FAILURES
    enum: CG_SOLUTIONS
    ctypedef int (*cg_event_fn_t)(void *, int32_t, double, const double *, double *) noexcept
    enum: CG_WATCH_READY
    ctypedef struct cg_detector_memory_t:
        int32_t begun
    ctypedef struct cg_detector_t:
        cg_detector_memory_t memory
        cg_event_fn_t fn
        void *fn_context
        double *log
        int64_t log_capacity
        int64_t n_log
        int32_t rule
        int32_t cause
        int32_t n_observed
        int32_t log_row
        double *direction
        double *limit
        double *done
        double *solutions
        int32_t n_solutions
        int32_t contact

    size_t cg_detector_size(const cg_model_t *model, int32_t n_functions)
    int cg_detector_init(cg_detector_t *detector, size_t size, const cg_model_t *model, int32_t n_functions, int32_t flags)
    size_t cg_detector_saved_size(const cg_detector_t *detector)
    void cg_detector_save(const cg_detector_t *detector, void *to)
    int cg_detector_restore(cg_detector_t *detector, const void *start, size_t size)

cdef extern from "cg_quantile.h" nogil:
    int cg_quantile(int law, const double *a, int64_t n_a, const double *u, double *out, int64_t n)
