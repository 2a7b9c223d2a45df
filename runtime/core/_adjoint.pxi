# The steps of a run, and the gradient of a loss by the adjoint of these steps. Included by _core.pyx.

cdef enum:
    FIRST_STEPS = 256


def explicit_method(str method):
    """Whether a method is one of the explicit Runge-Kutta methods of the runtime, whose steps have an adjoint."""
    return cg_tableau(method.encode()) is not NULL


cdef class Trail:
    """A run with constant inputs whose steps can be gone back over.

    It starts at t0, x0 with parameters p and inputs u, which are contiguous arrays of float64, and ends a step at each
    of `stops`, which are ordered from t0 to the end of the run. Of `memory` bytes one half is for the slopes of the first
    steps, the other one for states, of which at least 4 are kept.
    `states` (stops, n) has those at the stops, `status` and `t` say how and where the run ended.
    """

    cdef ModelCore model
    cdef cg_run_t *run
    cdef cg_trail_t trail
    cdef const cg_tableau_t *tableau
    cdef object times, kept, numbers, slopes, at_stops
    cdef readonly object states
    cdef readonly int status

    def __cinit__(self, ModelCore model, dict fields, double t0, x0, p, u, stops, double memory):
        cdef given_t given = BY_DEFAULT
        cdef const double[::1] parameters = p
        cdef const double[::1] inputs = u
        cdef Py_ssize_t i
        _read(fields, &given)
        method = <object> given.method
        self.model = model
        self.tableau = cg_tableau(PyUnicode_AsUTF8(method))
        if self.tableau is NULL:
            raise ArgumentError(f"method {method!r} is no explicit Runge-Kutta method")
        # Methods compiled into a model do not keep the slopes of all stages; those of the table do.
        size = cg_run_size(model.model, PyUnicode_AsUTF8(method))
        self.run = cg_run_new(size)
        if self.run is NULL:
            raise MemoryError
        if cg_run_init(self.run, size, model.model, PyUnicode_AsUTF8(method), CG_RUN_TABLE) != CG_OK:
            raise ArgumentError(f"the integrator refused {model.name} with method {method!r}")
        _configure(model, self.run, &given, fields)
        for i in range(model.n_parameters):
            self.run.p[i] = parameters[i]
        for i in range(model.n_inputs):
            self.run.u[i] = inputs[i]
        self.times = np.empty(FIRST_STEPS + 1)
        row = 8.0 * model.n_states
        slots = max(int(memory / 2 / row), CG_LEAST_SLOTS)
        self.slopes = np.empty((int(memory / 2 / row / self.tableau.n_stages), self.tableau.n_stages, model.n_states))
        self.trail.slopes, self.trail.n_slopes = <double *> cnp.PyArray_DATA(self.slopes), len(self.slopes)
        self.trail.n_stages = self.tableau.n_stages
        self.kept, self.numbers = np.empty((slots, model.n_states)), np.empty(slots, dtype=np.int64)
        self.trail.t, self.trail.capacity = <double *> cnp.PyArray_DATA(self.times), FIRST_STEPS
        self.trail.x, self.trail.at = <double *> cnp.PyArray_DATA(self.kept), <int64_t *> cnp.PyArray_DATA(self.numbers)
        self.trail.n_slots, self.trail.stride = slots, 1
        self._forward(t0, x0, stops)

    def __dealloc__(self):
        cg_run_delete(self.run)

    cdef int _forward(self, double t0, x0, stops) except -1:
        """The run up to the last stop, or to where it fails."""
        cdef cg_record_t record
        cdef const double[::1] start = x0
        cdef const double[::1] ends = stops
        cdef Py_ssize_t k
        cdef int status = CG_OK
        cdef int64_t budget = FIRST_BUDGET, free
        memset(&record, 0, sizeof(record))
        record.watch, record.watch_context = cg_trail_watch, &self.trail
        self.at_stops = np.zeros(len(stops), dtype=np.int64)
        self.states = np.full((len(stops), self.model.n_states), np.nan)
        before = None
        for k in range(ends.shape[0]):
            status = cg_run_extend(self.run, ends[k]) if k else cg_run_start(self.run, t0, &start[0], ends[k])
            while status == CG_OK:
                free = min(budget, self.trail.capacity - self.trail.n_steps)
                with nogil:
                    status = cg_drive(self.run, &record, free)
                if status != CG_BUDGET_USED:
                    break
                status = CG_OK
                if self.trail.n_steps == self.trail.capacity:
                    self.trail.capacity *= 2
                    self.times.resize(self.trail.capacity + 1, refcheck=False)
                    self.trail.t = <double *> cnp.PyArray_DATA(self.times)
                if free == budget:
                    before, budget = _pause(before, budget)
            if status != CG_OK:
                break
            self.at_stops[k] = self.trail.n_steps
            self.states[k] = _copy(self.run.x, self.model.n_states)
        self.status = status
        return 0

    @property
    def t(self):
        """The time that the run has reached."""
        return self.times[self.trail.n_steps]

    @property
    def n_steps(self):
        return self.trail.n_steps

    @property
    def n_repeated(self):
        """The steps that were taken again to go back."""
        return self.trail.n_repeated

    @property
    def n_rhs(self):
        """The calls of the right-hand side, forward and back."""
        return self.run.n_rhs

    def back(self, uintptr_t derivatives, uintptr_t integrand, jumps):
        """Go back to the start, once: the gradient by the initial state (n,), that by parameters and inputs, and the
        integral.

        `derivatives` is the address of the `cg_derivatives_t` of one adjoint, `integrand` that of a `cg_companion_t`
        of the integrand with its derivatives, or 0; `jumps` (stops, n) has the derivatives by the state at each stop.
        Raises KernelError.
        """
        cdef cg_adjoint_t adjoint
        cdef const cg_derivatives_t *table = _derivatives(derivatives, self.model.digest)
        cdef const double[:, ::1] rows = jumps
        cdef double integral = 0.0
        cdef int status
        cdef int64_t budget = FIRST_BUDGET
        memset(&adjoint, 0, sizeof(adjoint))
        adjoint.rhs = cg_derivative(table, "rhs")
        adjoint.integrand = <const cg_companion_t *> integrand
        n, rest = self.model.n_states, self.model.n_parameters + self.model.n_inputs
        if (adjoint.rhs is NULL or table.n_lanes != 1 or adjoint.rhs.n_found != 1 + n + rest
                or rows.shape[0] != len(self.at_stops) or rows.shape[1] != n or self.trail.n_repeated
                or (integrand and (adjoint.integrand.n_lanes != 1 or adjoint.integrand.n_values != 1 + n + rest
                                   or adjoint.integrand.digest.decode() != self.model.digest))):
            raise ArgumentError("the derivatives, the integrand or the jumps do not fit the run")
        by_state, by_rest = np.zeros(n), np.zeros(rest + 1)
        adjoint.run, adjoint.trail, adjoint.tableau = self.run, &self.trail, self.tableau
        adjoint.stops, adjoint.n_stops = <int64_t *> cnp.PyArray_DATA(self.at_stops), len(self.at_stops)
        adjoint.jumps = &rows[0, 0]
        work = np.empty(cg_adjoint_work(&adjoint, table.n_work))
        adjoint.work = <double *> cnp.PyArray_DATA(work)
        adjoint.lambda_, adjoint.gradient = <double *> cnp.PyArray_DATA(by_state), <double *> cnp.PyArray_DATA(by_rest)
        adjoint.integral = &integral
        cg_adjoint_begin(&adjoint)
        before = None
        while True:
            with nogil:
                status = cg_adjoint_sweep(&adjoint, budget)
            if status != CG_BUDGET_USED:
                break
            before, budget = _pause(before, budget)
        if status != CG_OK:
            raise kernel_failed(self.model.name, self.model.independent, "rhs", status, self.run.t, -1)
        return by_state, by_rest[:rest], integral
