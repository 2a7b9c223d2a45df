# The steps of a run, and the gradient of a loss by the adjoint of these steps. Included by _core.pyx.

cdef enum:
    FIRST_STEPS = 64


def explicit_method(str method) -> bool:
    """Whether a method is one of the explicit Runge-Kutta methods of the runtime, whose steps have an adjoint."""
    return cg_tableau(method.encode()) is not NULL


cdef void *_extended(void *array, size_t size) except NULL:
    """The array with more room, which is not written to: pages that no step reaches are never touched."""
    return _memory(realloc(array, max(size, 1)))


cdef class Trail:
    """A run whose steps can be gone back over.

    It starts at t0, x0 with parameters p, contiguous arrays of float64, and `Inputs`, and ends a step at each
    of `stops`, which are ordered from t0 to the end of the run. Of `memory` bytes one half is for the slopes of the first
    steps, the other one for states, of which at least 4 are kept. With `own`, `whole` is that model with tangents.
    `states` (stops, n) and `modes` (stops, n_modes) are those at the stops, `status` and `t` say how and where the run ended; an event may end it
    before the last stops, and then ends at `n_stops` of them, the last one being the event. `record` is the `EventRecord` of
    a model with events, contacts or kinks, else None, and `at_events` (rows) the steps taken before each of its rows.
    """

    cdef ModelCore whole  # which runs
    cdef ModelCore model  # without tangents
    cdef cg_run_t *run
    cdef cg_trail_t trail
    cdef const cg_tableau_t *tableau
    cdef object at_stops
    cdef int64_t most_slopes, most_slots  # steps and states for which there is memory
    cdef _Detector detector
    cdef _Signals signals
    cdef readonly object states, modes, record, at_events
    cdef readonly int status
    cdef readonly Py_ssize_t n_stops

    def __cinit__(self, ModelCore whole, options: RunOptions, double t0, x0: Array, p: Array, inputs, stops: Array,
                  double memory, ModelCore own=None, tuple past=()):
        cdef given_t given = BY_DEFAULT
        cdef const double[::1] parameters = p
        cdef ModelCore model = whole if own is None else own
        cdef Py_ssize_t i
        _read(vars(options), &given)
        method = options.method
        self.whole, self.model = whole, model
        self.tableau = cg_tableau(PyUnicode_AsUTF8(method))
        if self.tableau is NULL:
            raise ArgumentError(f"method {method!r} is not an explicit Runge-Kutta method")
        self.run = whole._take_run(method)
        _configure(whole, self.run, &given, vars(options))
        for i in range(whole.n_parameters):
            self.run.p[i] = parameters[i]
        for i in range(model.n_inputs):
            self.run.u[i] = inputs.values[i]
        if not inputs.constant:
            self.signals = _Signals(inputs, model.n_states)
            self.signals.attach(self.run)
        self.detector = _detector_of(whole, None, &given, True, CG_LOG_FIELDS | CG_LOG_FAILURES)
        if self.detector is not None:
            self.detector.attach(self.run)
        row = 8.0 * model.n_states
        self.most_slots = max(int(memory / 2 / row), CG_LEAST_SLOTS)
        self.most_slopes = int(memory / 2 / row / self.tableau.n_stages)
        self.trail.n_stages, self.trail.stride = self.tableau.n_stages, 1
        self._extend(FIRST_STEPS)
        self._forward(t0, x0, stops, past)
        if self.detector is not None:
            self._events(t0)

    def __dealloc__(self):
        cg_run_delete(self.run)
        free(self.trail.t)
        free(self.trail.n_moved)
        free(self.trail.slopes)
        free(self.trail.x)
        free(self.trail.at)

    cdef int _extend(self, int64_t capacity) except -1:
        """Make room for more steps. Memory that is not needed is not taken: most runs are short."""
        cdef cg_trail_t *trail = &self.trail
        cdef size_t row = self.model.n_states * sizeof(double)
        trail.capacity = capacity
        trail.n_slopes, trail.n_slots = min(capacity, self.most_slopes), min(capacity + 1, self.most_slots)
        trail.t = <double *> _extended(trail.t, (capacity + 1) * sizeof(double))
        trail.n_moved = <int8_t *> _extended(trail.n_moved, capacity)
        trail.slopes = <double *> _extended(trail.slopes, trail.n_slopes * trail.n_stages * row)
        trail.x = <double *> _extended(trail.x, trail.n_slots * row)
        trail.at = <int64_t *> _extended(trail.at, trail.n_slots * sizeof(int64_t))
        return 0

    cdef int _forward(self, double t0, x0, stops, tuple past) except -1:
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
        self.modes = np.zeros((len(stops), self.model.model.n_modes))
        before = None
        for k in range(ends.shape[0]):
            status = cg_run_extend(self.run, ends[k]) if k else cg_run_start(self.run, t0, &start[0], ends[k])
            if k == 0 and self.detector is not None:
                self.detector.go_on(past)
            while status == CG_OK:
                free = min(budget, self.trail.capacity - self.trail.n_steps)
                with nogil:
                    status = cg_drive(self.run, &record, free)
                if status == CG_EVENTS_FULL:
                    self.detector.drain()
                elif status != CG_BUDGET_USED:
                    break
                status = CG_OK
                if self.trail.n_steps == self.trail.capacity:
                    self._extend(2 * self.trail.capacity)
                if free == budget:
                    before, budget = _pause(before, budget)
            if status < CG_OK:
                break
            self.at_stops[k] = self.trail.n_steps
            self.states[k] = _copy(self.run.x, self.model.n_states)
            self.modes[k] = _copy(self.run.u + self.model.n_inputs, self.model.model.n_modes)
            self.n_stops = k + 1
            if status != CG_OK:
                break
        self.status = status
        self._check_inputs()
        return 0

    cdef int _check_inputs(self) except -1:
        """Raise what a function of the time has raised."""
        if self.signals is not None and self.signals.error is not None:
            raise self.signals.error
        return 0

    cdef int _events(self, double t0) except -1:
        """Find the steps at whose ends something occurred: they end at its time."""
        cdef cnp.npy_intp n = self.trail.n_steps + 1
        record = self.detector.event_record(self.status, self.run.t, _copy(self.run.x, self.model.n_states))
        self.record = record.of_states(self.model.n_states)
        t = cnp.PyArray_SimpleNewFromData(1, &n, cnp.NPY_DOUBLE, self.trail.t)
        sign = -1.0 if self.trail.t[n - 1] < t0 else 1.0
        self.at_events = np.searchsorted(sign * t, sign * self.record.rows[:, 0])
        return 0

    @property
    def t(self) -> float:
        """The time that the run has reached."""
        return self.trail.t[self.trail.n_steps]

    @property
    def n_steps(self) -> int:
        return self.trail.n_steps

    @property
    def times(self) -> Array:
        """The start and the ends of the steps, (n_steps + 1,)."""
        return _copy(self.trail.t, self.trail.n_steps + 1)

    @property
    def points(self) -> tuple[Array, Array]:
        """The times (N,) and states (n, N) of the steps whose beginnings are kept, and of the end."""
        cdef cnp.npy_intp shape[2]
        cdef cnp.npy_intp kept = self.trail.n_kept
        shape[0], shape[1] = kept, self.model.n_states
        at = cnp.PyArray_SimpleNewFromData(1, &kept, cnp.NPY_INT64, self.trail.at)
        x = cnp.PyArray_SimpleNewFromData(2, shape, cnp.NPY_DOUBLE, self.trail.x)
        end = _copy(self.run.x, self.model.n_states)
        return np.append(self.times[at], self.t), np.ascontiguousarray(np.vstack([x, end]).T)

    @property
    def n_repeated(self) -> int:
        """The steps that were taken again to go back."""
        return self.trail.n_repeated

    @property
    def n_corrections(self) -> NDArray[np.int8]:
        """How many steps of Newton's method moved the end of each step, (n_steps,)."""
        cdef cnp.npy_intp n = self.trail.n_steps
        return cnp.PyArray_SimpleNewFromData(1, &n, cnp.NPY_INT8, self.trail.n_moved).copy()

    @property
    def n_rhs(self) -> int:
        """The calls of the right-hand side, forward and back."""
        return self.run.n_rhs

    cdef object _integrand(self, cg_integrand_t *integrand, const cg_backward_t *backward, given):
        """Fill in one entry of `integrands`, as `back` takes it; returns what has to be kept."""
        cdef uintptr_t expression
        n = 1 + self.model.n_states + self.model.n_parameters + self.model.n_inputs
        kernel, weights, expression = given
        integrand.expression = <const cg_companion_t *> expression
        if kernel is not None:
            integrand.kernel = cg_derivative(backward.derivatives, kernel.encode())
        if expression:
            right = (integrand.expression.n_lanes == 1 and integrand.expression.n_values == n
                     and integrand.expression.digest.decode() == self.model.digest)
        else:
            right = _doubles(weights, 1) and len(weights) == (n if kernel is None else integrand.kernel.n_values
                                                              if integrand.kernel is not NULL else -1)
        if not right:
            raise ArgumentError(f"the integrand {given} does not fit the model {self.model.name}")
        if not expression:
            weights = np.ascontiguousarray(weights)
            integrand.weights = <const double *> cnp.PyArray_DATA(weights)
        return weights

    cdef object _modes(self, Py_ssize_t row, int side):
        """Take the modes before (0) or after (1) a row of the record; the state (n,) there."""
        cdef const double[::1] numbers = self.record.rows[row]
        cdef Py_ssize_t n = self.model.n_states, n_modes = self.model.model.n_modes
        if n_modes:
            memcpy(self.run.u + self.model.n_inputs, &numbers[CG_LOG_HEAD + 2 * n + side * n_modes], n_modes * sizeof(double))
        return _copy(&numbers[CG_LOG_HEAD + side * n], n)

    cdef int _sweep(self, cg_adjoint_t *adjoint) except? -1:
        """Go back to ``adjoint.until``; returns a status."""
        cdef int64_t budget = FIRST_BUDGET
        cdef int status
        before = None
        while True:
            with nogil:
                status = cg_adjoint_sweep(adjoint, budget)
            if status != CG_BUDGET_USED:
                return status
            before, budget = _pause(before, budget)

    def back(self, uintptr_t backward, integrands: Sequence[tuple[str | None, Array | None, int]], jumps: Array,
             across: Callable[[int, int, Array, Array], None] | None = None) -> tuple[Array, Array, float]:
        """Go back to the start, once: the gradient by the initial state (n,), that by parameters and inputs, and the
        sum of the integrals.

        `backward` is the address of the `cg_backward_t` of the model, `jumps` (stops, n) has the derivatives by the state
        at each stop. An integrand is (kernel, weights, 0): the sum of the results of a kernel, or of t, x, p and u
        if it is None, with weights; or (None, None, address of a `cg_companion_t` of it and its derivatives).
        ``across(first, last, by_state, by_rest)`` goes back over the rows first <= i < last of `record`, which are at one
        instant, by changing the two arrays. Raises KernelError.
        """
        cdef cg_adjoint_t adjoint
        cdef const double[:, ::1] rows = jumps
        cdef double integral = 0.0
        cdef int status
        cdef Py_ssize_t first, last
        cdef bytearray memory = bytearray(max(len(integrands), 1) * sizeof(cg_integrand_t))
        cdef cg_integrand_t *entries = <cg_integrand_t *> <char *> memory
        memset(&adjoint, 0, sizeof(adjoint))
        adjoint.backward = <const cg_backward_t *> backward
        if (adjoint.backward.abi_version != CG_ABI_VERSION or adjoint.backward.struct_size != sizeof(cg_backward_t)
                or adjoint.backward.digest.decode() != self.model.digest):
            raise LoadError("the compiled derivatives belong to another model")
        if self.run.correction is not NULL:
            adjoint.correction = cg_derivative(adjoint.backward.derivatives, self.run.correction.name)
        kept = [self._integrand(&entries[i], adjoint.backward, each) for i, each in enumerate(integrands)]
        adjoint.integrands, adjoint.n_integrands = entries, len(kept)
        n, rest = self.model.n_states, self.model.n_parameters + self.model.n_inputs
        if (rows.shape[0] != self.n_stops or rows.shape[1] != n or self.trail.n_repeated
                or (self.run.correction is not NULL and adjoint.correction is NULL)):
            raise ArgumentError("the derivatives or the jumps do not fit the run")
        by_state, by_rest = np.zeros(n), np.zeros(rest + 1)
        adjoint.run, adjoint.model = self.run, self.model.model
        adjoint.trail, adjoint.tableau = &self.trail, self.tableau
        adjoint.stops, adjoint.n_stops = <int64_t *> cnp.PyArray_DATA(self.at_stops), self.n_stops
        adjoint.jumps = &rows[0, 0]
        work = np.empty(cg_adjoint_work(&adjoint))
        adjoint.work = <double *> cnp.PyArray_DATA(work)
        adjoint.lambda_, adjoint.gradient = <double *> cnp.PyArray_DATA(by_state), <double *> cnp.PyArray_DATA(by_rest)
        adjoint.integral = &integral
        adjoint.kink = -1
        status = cg_adjoint_begin(&adjoint)
        last = 0 if self.record is None else len(self.record.rows)
        while status == CG_OK and last > 0:
            first = self.record.instant_of(last - 1)
            after, adjoint.until = self._modes(last - 1, 1), self.at_events[last - 1]
            adjoint.after = <const double *> cnp.PyArray_DATA(after)
            status = self._sweep(&adjoint)
            if status == CG_OK:
                self._modes(max(first - 1, 0), 1)  # those since the instant before
                across(first, last, by_state, by_rest[:rest])
                adjoint.kink = self.at_events[first] - 1 if self.record.at_kink(first, last) else -1
            last = first
        if status == CG_OK:
            adjoint.until, adjoint.after = 0, NULL
            status = self._sweep(&adjoint)
        if status == CG_OK:
            status = cg_adjoint_end(&adjoint)
        self._check_inputs()
        if status != CG_OK:
            kernel = "rhs" if adjoint.failed is NULL else adjoint.failed.decode()
            t = self.run.t if adjoint.failed is NULL else adjoint.failed_at
            raise kernel_failed(self.model, kernel, status, t, -1)
        return by_state, by_rest[:rest], integral
