# Made by `python -m chaplygin.generated --update`; see codegen/emit/binding.py.

include "../../generated/cg_model.pxi"  # of the modules of models

cdef extern from "cg_ensemble.h" nogil:
    ctypedef struct cg_signal_t
    ctypedef struct cg_jump_at_t
    ctypedef struct cg_varied_kernels_t
    ctypedef struct cg_run_t
    ctypedef struct cg_record_t
    ctypedef struct cg_lanes_run_t
    ctypedef struct cg_rule_t
    ctypedef struct cg_companion_t
    ctypedef struct cg_cuts_t
    ctypedef struct cg_guard_t
    ctypedef struct cg_quantity_t
    ctypedef struct cg_observer_t
    ctypedef struct cg_ensemble_t
    ctypedef struct cg_occurrence_t
    ctypedef struct cg_progress_t
    ctypedef struct cg_shelf_t
    ctypedef struct cg_cursor_t
    ctypedef struct cg_derivative_t
    ctypedef struct cg_derivatives_t
    ctypedef struct cg_backward_t
    ctypedef struct cg_tableau_t
    ctypedef struct cg_trail_t
    ctypedef struct cg_integrand_t
    ctypedef struct cg_adjoint_t
    ctypedef struct cg_variational_t
    ctypedef struct cg_batch_t
    ctypedef struct cg_batch_goal_t
    ctypedef struct cg_listener_t
    ctypedef struct cg_detector_memory_t
    ctypedef struct cg_ahead_t
    ctypedef struct cg_flights_t
    ctypedef struct cg_detector_t
    ctypedef struct cg_noise_filter_t

cdef extern from "cg_default.h" nogil:
    enum: CG_DEFAULT_H
    const char *cg_default_method(const cg_model_t *model, double rtol, double atol) noexcept

cdef extern from "cg_time.h" nogil:
    enum: CG_TIME_H
    enum: CG_TIME
    enum: CG_TIME_LEAST
    enum: CG_CLOCK_MEMBERS
    double cg_time_span(double from_, double to) noexcept
    int cg_time_valid(double t) noexcept

cdef extern from "cg_run.h" nogil:
    enum: CG_RUN_H
    enum: CG_RUN_LAYOUT
    enum: CG_ALIGN
    enum: CG_BLOCK
    enum: CG_CURVE
    enum: CG_PAD
    enum: CG_PADDED
    enum: CG_SIGNAL_CONSTANT
    enum: CG_SIGNAL_CALL
    enum: CG_SIGNAL_POLYNOMIAL
    enum: CG_SIGNAL_MOVING
    enum: CG_INPUT_MOVES
    enum: CG_INPUT_CALL
    enum: CG_PROJECT_NONE
    enum: CG_PROJECT_CONSTRAINTS
    enum: CG_PROJECT_ALL
    enum: CG_STARTS_MODES
    enum: CG_STARTS_SIDES
    enum: CG_ACCEPTS_FIT
    enum: CG_ACCEPTS_ALL
    enum: CG_ACCEPTED_UNFIT
    enum: CG_KINK_GOES_ON
    enum: CG_KINK_JUMPS
    ctypedef struct cg_signal_t:
        int32_t kind
        int32_t n_powers
        int64_t n
        const double *t
        const double *value
        int64_t row
        int32_t joined
        int32_t order
    ctypedef int (*cg_input_fn_t)(void *context, double t, const double *x, double *u) noexcept
    ctypedef struct cg_jump_at_t:
        int32_t starts
        int32_t asks
        int32_t kink
        int32_t n_blocks
        double t
        double moment
        const double *before
        const double *modes
        const double *u_slope
        const double *tolerance
        double rtol
        const cg_detector_t *detector
        void *context
        int (*choose)(void *context, const unsigned char *done, const double *x, double *modes) noexcept
        int (*beside)(void *context, double *u, double *u_slope) noexcept
        void (*tell)(void *context, int32_t cause, double group, const double *before, const double *after, const double *modes) noexcept
    ctypedef int (*cg_jump_t)(const cg_jump_at_t *at, const double *p, double *u, double *x, double *work) noexcept
    ctypedef int (*cg_varied_t)(int32_t blocks, double t, const double *x, const double *p, const double *u, double
            *out, double *work) noexcept
    ctypedef struct cg_varied_kernels_t:
        cg_varied_t rhs
        cg_varied_t project
        cg_varied_t correction
        int (*reset)(int32_t blocks, int32_t event, double t, const double *x, const double *p, const double *u, double *out, double *work) noexcept
        int (*guards)(double t, const double *x, const double *p, const double *sides, const double *u, double *out, double *work) noexcept
        int (*hoist)(int32_t blocks, const double *p, double *q) noexcept
    ctypedef struct cg_run_t:
        const cg_model_t *model
        cg_kernel_t rhs
        int (*step)(cg_run_t *run) noexcept
        int (*dense)(cg_run_t *run) noexcept
        void (*pass_)(const cg_run_t *run, double t) noexcept
        cg_input_fn_t input_fn
        void *input_context
        const cg_signal_t *signals
        const volatile int *stop
        int (*explicit_step)(cg_run_t *run) noexcept
        int (*explicit_dense)(cg_run_t *run) noexcept
        cg_jump_t jump
        const cg_varied_kernels_t *varied
        cg_detector_t *detector
        const cg_kernel_entry_t *correction
        const cg_kernel_entry_t *unmet
        size_t size
        int32_t n
        int32_t n_own
        int32_t n_tangents
        int32_t n_blocks
        int32_t ld
        int32_t n_u
        int32_t n_stages
        int32_t n_dense
        int32_t order
        int32_t adaptive
        int32_t implicit
        double *x
        double *x_old
        double *x_trial
        double *f
        double *f_old
        double *k
        double *coef
        double *atol
        double *p
        double *u
        double *u_time
        double *u_value
        int64_t *knots
        double *u_slope
        double *u_curve
        cg_signal_t *moving
        double *work
        double *x_start
        double *moved
        double *jacobian
        double *matrix
        double *slope
        double *fastest
        int32_t *pivots
        double rtol
        double max_step
        double first_step
        int64_t max_steps
        int32_t projection
        int32_t passes
        int32_t n_corrections
        double t
        double t_old
        double t_end
        double t_stop
        double direction
        double h
        double log_old
        double t_anchor
        int64_t n_anchor
        int64_t n_steps
        int64_t n_before
        int64_t n_rejected
        int64_t row
        int64_t n_spent
        int64_t n_rhs
        int64_t n_jac
        int64_t n_lu
        int32_t have_f
        int32_t have_dense
        int32_t input_kind
        int32_t rejected
        int32_t accepts
        int32_t status
        int32_t recorded
        int32_t stiff
        int32_t last_stiff
        int32_t n_stiff
        int32_t n_calm
        int32_t n_wait

cdef extern from "cg_driver.h" nogil:
    enum: CG_DRIVER_H
    enum: CG_OUTPUT_FULL
    enum: CG_BUDGET_USED
    enum: CG_EVENTS_FULL
    enum: CG_RUN_TABLE
    enum: CG_AUTO_EXPLICIT
    const cg_method_t *cg_method_table() noexcept
    int cg_method_find(const cg_model_t *model, const char *name, int32_t flags, cg_method_t *found) noexcept
    size_t cg_run_size(const cg_model_t *model, const char *method) noexcept
    cg_run_t *cg_run_new(size_t size) noexcept
    void cg_run_delete(cg_run_t *run) noexcept
    int cg_run_init(cg_run_t *run, size_t size, const cg_model_t *model, const char *method, int32_t flags) noexcept
    void cg_run_method(cg_run_t *run, const char *method) noexcept
    double *cg_run_p(cg_run_t *run) noexcept
    double *cg_run_u(cg_run_t *run) noexcept
    double *cg_run_x(cg_run_t *run) noexcept
    void cg_run_set_tolerances(cg_run_t *run, double rtol, double atol) noexcept
    void cg_run_set_step(cg_run_t *run, double step) noexcept
    void cg_run_set_projection(cg_run_t *run, int32_t projection) noexcept
    int cg_run_start(cg_run_t *run, double t0, const double *x0, double t_end) noexcept
    double cg_run_time(const cg_run_t *run) noexcept
    int cg_run_extend(cg_run_t *run, double t_end) noexcept
    void cg_run_inputs_changed(cg_run_t *run) noexcept
    void cg_run_changed(cg_run_t *run) noexcept
    void cg_run_moved(cg_run_t *run) noexcept
    int cg_run_restore(cg_run_t *run, const void *saved, size_t size) noexcept
    ctypedef struct cg_record_t:
        const double *t_eval
        int64_t n_eval
        int64_t next_eval
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
        int64_t started
        int (*watch)(void *context, cg_run_t *run, int stepped) noexcept
        void *watch_context
    int cg_drive(cg_run_t *run, cg_record_t *record, int64_t budget) noexcept
    int cg_run_advance(cg_run_t *run, double t) noexcept
    int cg_run_interpolate(cg_run_t *run, double t, double *out, int64_t stride) noexcept
    int cg_record_step(cg_run_t *run, cg_record_t *record) noexcept
    void cg_dense_evaluate(const double *coef, int64_t n_dense, int64_t ld, int64_t n, double theta, double *out,
            int64_t stride) noexcept
    const char *cg_status_text(int status) noexcept

cdef extern from "cg_lanes.h" nogil:
    enum: CG_LANES_H
    enum: CG_LANES_LAYOUT
    enum: CG_TABLED
    enum: CG_MOST_LANES
    enum: CG_RUNNING
    enum: CG_GROUPS
    ctypedef struct cg_lanes_run_t:
        const cg_model_t *model
        const cg_lane_set_t *set
        void (*prepare)(cg_lanes_run_t *run) noexcept
        void (*advance)(cg_lanes_run_t *run) noexcept
        void (*dense)(cg_lanes_run_t *run) noexcept
        void (*pass_)(const cg_lanes_run_t *run, uint32_t some, const double *t) noexcept
        const cg_signal_t *signals
        const volatile int *stop
        cg_lanes_run_t *other
        size_t size
        int32_t lanes
        int32_t n
        int32_t n_u
        int32_t n_stages
        int32_t n_dense
        int32_t order
        int32_t adaptive
        const cg_method_info_t *info
        int32_t input_kind
        int32_t have_dense
        int32_t calls
        int32_t any_failed
        int32_t projection
        uint32_t attention
        uint32_t at_sample
        double *x
        double *x_old
        double *x_trial
        double *f
        double *f_old
        double *k
        double *coef
        double *work
        double *widest
        double *moved
        double *atol
        int32_t n_start
        double *start
        double *inside
        double *u_seen
        int32_t tabulates
        double *table
        int64_t tabled
        double table_h
        double table_anchor
        double table_first
        int32_t n_observed
        int32_t watched
        uint32_t met
        uint32_t counted
        double *towards
        double *sign
        double *enabled
        double *end
        double *scale
        double *samples
        double *index
        double *stop_kept
        double *h_kept
        double *end_kept
        double *anchor_kept
        double *count_kept
        int64_t *landing
        int64_t *have_end
        cg_detector_t **detector
        cg_run_t *single
        double *t_old
        double *u_from
        double *u_until
        int32_t n_carried
        int32_t same_p
        int32_t hoisted
        double *carried
        double *u
        double *u_time
        double *u_value
        double *u_curve
        double *p
        double *t
        double *t_stop
        double *mark
        double *h
        double *log_old
        double *t_anchor
        double *n_anchor
        int64_t *n_trials
        int64_t *n_rejected
        int64_t *n_rhs
        int64_t *rejected
        int64_t *active
        int64_t *fresh
        int64_t *unstarted
        int64_t *status
        int64_t *row
        int64_t *knots
        int64_t *failed
        int64_t *failed_at
        double rtol
        double max_step
        double first_step
        int64_t max_steps
        double direction
        double t_end
    cg_lanes_run_t *cg_lanes_group(cg_lanes_run_t *run, unsigned g) noexcept
    int32_t cg_lanes_p_rows(const cg_lanes_run_t *run) noexcept
    size_t cg_lanes_size(const cg_model_t *model, const cg_lane_set_t *set, const char *method) noexcept
    int cg_lanes_init(cg_lanes_run_t *run, size_t size, const cg_model_t *model, const cg_lane_set_t *set, const char
            *method) noexcept
    int cg_lane_set_runs(const cg_lane_set_t *set) noexcept
    int cg_widest_lanes() noexcept

cdef extern from "cg_companion.h" nogil:
    enum: CG_COMPANION_H
    enum: CG_OBSERVED_INTEGRAL
    enum: CG_OBSERVED_MAXIMUM
    enum: CG_OBSERVED_MINIMUM
    enum: CG_MOST_LOBATTO
    enum: CG_SURVEY_MEAN
    enum: CG_SURVEY_BEST
    enum: CG_SURVEY_PLACE
    enum: CG_SURVEY_BOUND
    enum: CG_SURVEYED
    ctypedef void (*cg_interpolate_t)(const double *theta, const double *coef, int32_t n_dense, int32_t ld, double
            *x) noexcept
    ctypedef struct cg_rule_t:
        int32_t n_nodes
        double nodes[2]
        double weights[2]
        double slope[2]
    ctypedef void (*cg_survey_t)(const cg_rule_t *rule, const int32_t *kinds, const double *samples, double
            *found) noexcept
    ctypedef struct cg_companion_t:
        uint32_t abi_version
        uint32_t struct_size
        const char *digest
        int32_t n_lanes
        int32_t n_values
        int32_t n_guards
        const int32_t *guards
        int32_t n_work
        int32_t reserved
        cg_lanes_t values
        cg_interpolate_t interpolate
        cg_survey_t survey

cdef extern from "instants/cg_corners.h" nogil:
    enum: CG_CORNERS_H
    enum: CG_MOST_CUTS
    ctypedef struct cg_cuts_t:
        int32_t n
        double lo[2]
        double hi[2]
    ctypedef struct cg_guard_t:
        int (*value)(void *context, double theta, double *g) noexcept
        void *context
    int cg_corners_add(cg_cuts_t *cuts, const cg_guard_t *guard, double first, double last) noexcept
    void cg_corners_order(cg_cuts_t *cuts) noexcept

cdef extern from "cg_observe.h" nogil:
    enum: CG_OBSERVE_H
    ctypedef struct cg_quantity_t:
        cg_kernel_t kernel
        int32_t index
    ctypedef struct cg_observer_t:
        const cg_model_t *model
        const cg_companion_t *companion
        const cg_quantity_t *quantities
        const int32_t *kinds
        int32_t n_values
        int32_t n_rows
        int32_t lanes
        cg_rule_t rule
        double *value
        double *more
        double *found
        double *out
        double *samples
        double *whole
        cg_cuts_t *cuts
        double *from_ "from"
        double *to
        double *length
        double *theta
        double *t
        double *x
        double *work
        int32_t *status
        int64_t *counted
    size_t cg_observer_size(const cg_model_t *model, const cg_companion_t *companion, int32_t n_values) noexcept
    int cg_observer_init(cg_observer_t *observer, const cg_model_t *model, const cg_companion_t *companion, const
            cg_quantity_t *quantities, const int32_t *kinds, int32_t n_values, int32_t order) noexcept
    void cg_observer_begin(cg_observer_t *observer, int32_t lane) noexcept
    int cg_observe_run(void *observer, cg_run_t *run, int stepped) noexcept
    void cg_observe_lanes(cg_observer_t *observer, cg_lanes_run_t *run) noexcept

cdef extern from "cg_ensemble.h" nogil:
    enum: CG_ENSEMBLE_H
    enum: CG_SHELVES
    ctypedef struct cg_ensemble_t:
        double t0, t_end
        const double *x0
        int64_t x0_row, x0_col
        const double *p
        int64_t p_row, p_col
        const double *u
        int64_t u_row, u_col
        const double *past
        int64_t past_row, past_col
        const double *t_eval
        int64_t n_eval
        double *y
        int64_t y_row, y_col, y_time
        double *end
        int64_t end_row, end_col
        double *t
        int32_t *status
        int64_t *n_rhs
        int64_t *n_steps
        cg_observer_t *observer[2]
        double *observed
        double *observed_t
        int64_t observed_row
    ctypedef struct cg_occurrence_t:
        double t
        int64_t trajectory
        int64_t event
    ctypedef struct cg_progress_t:
        int64_t trajectory[2]
        int64_t reached[2]
        double *slot[2]
    ctypedef struct cg_shelf_t:
        int64_t first
        uint32_t taken
        uint32_t ended
    ctypedef struct cg_cursor_t:
        int64_t next
        int64_t last
        int64_t n_done
        cg_occurrence_t *events
        int64_t n_events, event_capacity
        double *shelf
        int32_t n_shelves
        int32_t begun
        cg_record_t record
        cg_progress_t progress[2]
        cg_shelf_t shelves[2]
    int cg_ensemble_run(const cg_ensemble_t *ensemble, cg_run_t *run, cg_cursor_t *cursor, int64_t budget) noexcept
    int64_t cg_shelf_size(const cg_lanes_run_t *run, int64_t n_eval) noexcept
    void cg_shelves_write(const cg_ensemble_t *ensemble, const cg_lanes_run_t *run, const cg_cursor_t *cursor) noexcept
    int cg_ensemble_lanes(const cg_ensemble_t *ensemble, cg_lanes_run_t *run, const cg_run_t *options, cg_cursor_t
            *cursor, int64_t budget) noexcept

cdef extern from "cg_derivatives.h" nogil:
    enum: CG_DERIVATIVES_H
    ctypedef int (*cg_differential_t)(double t, const double *x, const double *p, const double *u, const double *v,
            double *value, double *found, double *work) noexcept
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
        int32_t n_hoisted
        int32_t n_terms
        int (*hoist)(const double *p, double *q) noexcept
        int (*rhs)(double t, const double *x, const double *p, const double *q, const double *u, const double *v, double *found, double *work) noexcept
        int (*parameters)(const double *p, const double *terms, double *found, double *work) noexcept
    const cg_derivative_t *cg_derivative(const cg_derivatives_t *derivatives, const char *kernel) noexcept

cdef extern from "cg_adjoint.h" nogil:
    enum: CG_ADJOINT_H
    enum: CG_LEAST_SLOTS
    ctypedef struct cg_tableau_t:
        const char *method
        int32_t n_stages
        const double *a
        const double *b
        const double *c
    const cg_tableau_t *cg_tableau(const char *method) noexcept
    ctypedef struct cg_trail_t:
        double *t
        int8_t *n_moved
        int64_t capacity
        int64_t n_steps
        double *slopes
        int64_t n_slopes
        int32_t n_stages
        int32_t reserved
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
        const cg_kernel_entry_t *move
        double rtol
        int64_t step
        int64_t stop
        int64_t kink
        int64_t until
        const double *after
        const char *failed
        double failed_at
    size_t cg_adjoint_work(const cg_adjoint_t *adjoint) noexcept
    int cg_adjoint_begin(cg_adjoint_t *adjoint) noexcept
    int cg_adjoint_sweep(cg_adjoint_t *adjoint, int64_t budget) noexcept
    int cg_adjoint_end(cg_adjoint_t *adjoint) noexcept

cdef extern from "cg_variational.h" nogil:
    enum: CG_VARIATIONAL_H
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

cdef extern from "cg_batch.h" nogil:
    enum: CG_BATCH_H
    enum: CG_BATCH_X
    enum: CG_BATCH_F
    enum: CG_BATCH_P
    enum: CG_BATCH_U
    enum: CG_BATCH_T
    enum: CG_BATCH_STEP
    enum: CG_BATCH_LOG_OLD
    enum: CG_BATCH_FRESH
    enum: CG_BATCH_STATUS
    enum: CG_BATCH_PARTS
    enum: CG_BATCH_BLOCK
    ctypedef struct cg_batch_t:
        const cg_model_t *model
        int32_t row[2]
        double *table
        int64_t stride
    ctypedef struct cg_batch_goal_t:
        double time
        double duration
    ctypedef struct cg_listener_t:
        int64_t (*listen)(void *context) noexcept
        void *context
        int64_t left
    void cg_batch_init(cg_batch_t *batch, const cg_model_t *model) noexcept
    void cg_batch_start(const cg_batch_t *batch, cg_run_t *run, int64_t column) noexcept
    int cg_batch_advance(const cg_batch_t *batch, cg_run_t *run, cg_lanes_run_t *lanes, int64_t first, int64_t last,
            cg_batch_goal_t goal, cg_listener_t *listener) noexcept
    int cg_all_finite(const double *values, int64_t count) noexcept
    size_t cg_batch_scratch(const cg_batch_t *batch, const cg_companion_t *companion) noexcept
    int cg_batch_evaluate(const cg_batch_t *batch, const cg_companion_t *companion, void *scratch, int64_t first,
            int64_t last, double *out, int64_t stride) noexcept

cdef extern from "cg_events.h" nogil:
    enum: CG_EVENTS_H
    enum: CG_WATCH_KINKS
    enum: CG_LOG_FIELDS
    enum: CG_LOG_FAILURES
    enum: CG_KINK_PAUSE
    enum: CG_PARADOX_STOP
    enum: CG_PARADOX_KEEP
    enum: CG_PARADOX_STICK
    enum: CG_CONTACT_SLIP
    enum: CG_CONTACT_BREAK
    enum: CG_CONTACT_NORMAL
    enum: CG_CONTACT_OBSERVED
    enum: CG_CONTACT_LIMIT
    enum: CG_LOG_HEAD
    enum: CG_LOG_START
    enum: CG_WATCH_NEW
    enum: CG_WATCH_AGAIN
    enum: CG_WATCH_MODES
    enum: CG_WATCH_READY
    enum: CG_WATCH_BEGUN
    enum: CG_SOLUTIONS
    enum: CG_MOST_CONTACTS
    ctypedef int (*cg_event_fn_t)(void *context, int32_t index, double t, const double *x, double *value) noexcept
    ctypedef struct cg_detector_memory_t:
        int32_t begun
        int32_t stuck
        int32_t reserved
        int64_t rounds
        int32_t crowded
        int32_t pause
        double longest
        double t_event
        double direction
    ctypedef struct cg_ahead_t:
        double side
        double size
        double time
        int32_t bends
        int32_t settled
        int32_t rested
        int32_t jumps
    ctypedef struct cg_flights_t:
        double t
        double gap
        double ratio
        double before
        int64_t round
    ctypedef struct cg_detector_t:
        cg_event_fn_t fn
        void *fn_context
        double *log
        int64_t log_capacity
        int64_t n_log
        int32_t rule
        int32_t n
        int32_t n_inputs
        int32_t n_guards
        int32_t n_functions
        int32_t n_contacts
        int32_t n_modes
        int32_t n_consistency
        int32_t first_contact
        int32_t n_observed
        int32_t log_row
        int32_t have_end
        int32_t logs_fields
        int32_t goes_on
        int32_t n_instants
        size_t size
        double *direction
        double *limit
        double *sign
        double *kept
        double *noise
        double *before
        double *turned
        double *count
        double *sign_new
        double *active
        double *root
        double *cursor
        double *fired
        double *fires
        double *scale
        double *samples
        double *end
        double *values
        double *x
        double *x_jump
        double *f
        double *flow
        double *tolerance
        double *guards
        double *contacts
        double *ahead
        double *modes
        double *present
        double *chosen
        double *free
        double *solutions
        double *forces
        cg_ahead_t *leaving
        cg_flights_t *flights
        double *residuals
        int32_t pending
        int32_t n_solutions
        int32_t contact
        int32_t verdict
        int32_t again
        int32_t cause
        int32_t follows
        int32_t watches_kinks
        double quiet
        double anchor
        int64_t n_anchor
        cg_detector_memory_t memory
        double *done
        cg_kernel_t when
    size_t cg_detector_size(const cg_model_t *model, int32_t n_functions) noexcept
    int cg_detector_init(cg_detector_t *detector, size_t size, const cg_model_t *model, int32_t n_functions, int32_t
            flags) noexcept
    size_t cg_detector_saved_size(const cg_detector_t *detector) noexcept
    void cg_detector_save(const cg_detector_t *detector, void *to) noexcept
    int cg_detector_restore(cg_detector_t *detector, const void *from_, size_t size) noexcept

cdef extern from "math/cg_quantile.h" nogil:
    enum: CG_QUANTILE_H
    enum: CG_LAW_UNIFORM
    enum: CG_LAW_NORMAL
    enum: CG_LAW_LOGNORMAL
    enum: CG_LAW_EXPONENTIAL
    enum: CG_LAW_WEIBULL
    enum: CG_LAW_TABLE
    int cg_quantile(int law, const double *a, int64_t n_a, const double *u, double *out, int64_t n) noexcept

cdef extern from "math/cg_noise.h" nogil:
    enum: CG_NOISE_H
    void cg_noise_numbers(const uint64_t key[2], const uint64_t run[2], int normal, double *out, int64_t n) noexcept
    ctypedef struct cg_noise_filter_t:
        int m
        int varies
        const double *start
        const double *phi
        const double *gain
        const double *c
    void cg_noise_filtered(const cg_noise_filter_t *filter, double *xi, double *y, int64_t n) noexcept
