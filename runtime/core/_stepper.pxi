# A run advanced by its caller. Included by _core.pyx.


cdef class StepperCore:
    """One integration advanced by the caller; `chaplygin.runtime.Stepper` adds the rest.

    Public methods hold `_alone`; those that begin with an underscore are called by them. Only single numbers (the time,
    counters, a state by name) are read while another call is under way.
    """

    cdef cg_run_t *run
    cdef _Signals signals
    cdef _Detector detector
    cdef object given          # the inputs, except numbers that were later changed in run.u
    cdef bint given_is_stale
    cdef double *u_now         # inputs that vary and modes, at the current time
    cdef readonly Guard _alone
    cdef readonly int status   # of the last advance: 1 after a terminal event
    cdef readonly list events  # (time, name) of the events in the last advance
    cdef readonly ModelCore model
    cdef readonly object _options
    cdef object pivot          # a `StepperPivot`, for a model that has one

    def __cinit__(self, ModelCore model, double t0, x0: Array, p: Array, inputs: Inputs, options: RunOptions,
                  tuple past=()):
        cdef const double[::1] start = x0
        cdef const double[::1] values = p
        cdef given_t given = BY_DEFAULT
        if start.shape[0] != model.n_states or values.shape[0] != model.n_parameters:
            raise ArgumentError("a stepper needs vectors of all states and parameters")
        self.model, self.events, self._alone = model, [], Guard("stepper")
        self.u_now = <double *> _memory(calloc(model.n_inputs + model.model.n_modes + 1, sizeof(double)))
        _read(vars(options), &given)
        self.run = model._take_run(options.method)
        self._options = options.changed(**_configure(model, self.run, &given, vars(options)))
        memcpy(self.run.p, cnp.PyArray_DATA(p), model.n_parameters * sizeof(double))
        self._set(inputs.since(t0))
        self.detector = _detector_of(model, None, &given)
        if self.detector is not None:
            self.detector.attach(self.run)
        status = cg_run_start(self.run, t0, &start[0], t0)
        if status < 0:
            raise KernelError(message_of(status, t0, model), status)
        if self.detector is not None:
            self.detector.go_on(past)
        self._watch_pivot(model)

    def __init__(self, *arguments):
        pass

    def __dealloc__(self):
        free(self.u_now)
        if self.run is not NULL:
            cg_run_delete(self.run)

    # ---- advancing ----

    def advance(self, t: float) -> Array:
        """Integrate to time t, forward or (without contacts) backward, and return the state there, shape (n,).

        `t` is a time, not a duration: a second ``advance(0.1)`` does nothing. For durations see `advance_by`.

        Raises `KernelError`, with the time, if the run fails: `t` and `y` are then the last point reached. Raises
        `ArgumentError` if t is before `self.t` and the model has contacts.
        """
        cdef double end
        if not _number(t, &end):
            end = arguments.number("t", t)
        self._alone.enter()
        try:
            if end < self.run.t and self.model.model.n_contacts > 0:
                raise arguments.backward(f"t = {end:.17g}", f"t >= {self.run.t:.17g}")
            return self._reach(end)
        finally:
            self._alone.leave()

    def advance_by(self, dt: float) -> Array:
        """Integrate over the duration dt, from `self.t` to ``self.t + dt``, and return the state there, shape (n,).

        The end is the float64 sum, so n calls accumulate n rounding errors, as in any clock that is advanced by
        increments; ``advance(t0 + i * dt)`` stays on a grid. After a terminal event `self.t` is the time of the event.

        Raises the same errors as `advance`, and `ArgumentError` if dt is nonzero but too short to change `self.t`.
        """
        cdef double duration, end
        if not _number(dt, &duration):
            duration = arguments.number("dt", dt)
        self._alone.enter()
        try:
            end = self.run.t + duration
            if not isfinite(end) or (end == self.run.t and duration != 0.0):
                raise arguments.no_duration(duration, self.run.t)
            if duration < 0.0 and self.model.model.n_contacts > 0:
                raise arguments.backward(f"dt = {duration:.17g}", "dt >= 0")
            return self._reach(end)
        finally:
            self._alone.leave()

    cdef object _reach(self, double end):
        cdef int status
        self.events = []
        if self.signals is not None:
            from ..problem.given_inputs import beyond
            longer = beyond(self._inputs(), end)
            if longer is not self.given:
                self._attach(longer)
            self.given.check_reach(self.run.t, end)
        status = self._drive(end)
        self._see_pivot(False)
        event_record = None
        if self.detector is not None and (self.detector.logged() or status == CG_PARADOX):
            event_record = self.detector.event_record(status, self.run.t, _copy(self.run.x, self.model.n_states))
            self.detector.kept = []
            causes = event_record.causes.tolist()
            self.events = [(float(row[0]), event_record.name(i)) for row, i in zip(event_record.rows, causes) if i >= 0]
        if status < 0:
            text = message_of(status, self.run.t, self.model, event_record)
            raise KernelError(f"{self.model.name} {text}", status)
        return _copy(self.run.x, self.model.n_states)

    def _watch_pivot(self, model) -> None:
        """From here on, see whether the velocities that a model keeps as states determine the others."""
        self.pivot = given_problem.StepperPivot(model) if PIVOT in model.kernels else None
        self._see_pivot(True)

    cdef int _see_pivot(self, bint begins) except -1:
        """Note the pivot here, where a run can begin."""
        if self.pivot is not None:
            self.pivot.see(self.run.t, _copy(self.run.x, self.model.n_states), _copy(self.run.p, self.model.n_parameters),
                           begins)
        return 0

    cdef int _drive(self, double t) except? -1:
        """Integrate to t; returns the status. An error of an input function is raised."""
        cdef int status
        cdef int64_t budget = FIRST_BUDGET
        status = cg_run_extend(self.run, t)
        if status < 0:
            return status
        before = None
        while True:
            with nogil:
                status = cg_drive(self.run, NULL, budget)
            if status == CG_EVENTS_FULL:
                self.detector.drain()
            elif status == CG_BUDGET_USED:
                before, budget = _pause(before, budget)
            else:
                break
        self.model._speed_up(self.run, self._options.method)
        if self.signals is not None and self.signals.error is not None:
            error, self.signals.error = self.signals.error, None
            raise error
        self.status = status
        return status

    # ---- inputs, parameters and states that change ----

    def set_inputs(self, values=None, /, **named) -> None:
        """Change inputs from now on, given by keyword, as a dict, or as a vector of all of them.

        Inputs that are not named stay unchanged. Each can be anything that `integrate` accepts. An input whose rates the
        equations contain moves on by the numbers that are given for them beside its own, ``set_inputs(u=1, u_dot=2)``;
        its own alone has the rates 0. A guard that they carry
        over zero has crossed it: its event happens at the beginning of the next advance. Before the first advance, and
        after `set_state` or `set_parameters`, they belong to the start.

        Raises `ArgumentError` naming the entry that is unknown or invalid; all inputs then stay unchanged.
        """
        self._alone.enter()
        try:
            self._take_inputs(values, named)
        finally:
            self._alone.leave()

    cdef int _take_inputs(self, values, dict named) except -1:
        cdef const double *found
        cdef double *staged = self.model.u
        cdef bint plain
        if named and values is None:
            values, named = named, {}
        if PyDict_CheckExact(values):
            plain = self._are_numbers(values) and _changed(self.model, values, INPUT, self.model.n_inputs, self.run.u,
                                                           staged)
            found = staged
        else:
            plain = self.signals is None and _vector(values, self.model.inputs, self.model.n_inputs, staged, &found)
        if named or not plain or not _as_assumed(self.model.model.inputs, found, self.model.n_inputs):
            from ..problem.given_inputs import changed_inputs
            self._set(changed_inputs(self._inputs(), values, named))
            return 0
        memcpy(self.run.u, found, self.model.n_inputs * sizeof(double))
        self.given_is_stale = True
        cg_run_inputs_changed(self.run)
        return 0

    cdef bint _are_numbers(self, dict values):
        """Whether the named inputs are currently numbers, not samples or functions."""
        cdef Py_ssize_t i
        if self.signals is not None:
            for i in range(self.model.n_inputs):
                if self.signals.table[i].kind != CG_SIGNAL_CONSTANT and self.model.inputs[i] in values:
                    return False
        return True

    def _change(self, bint states, values, dict named) -> bool:
        """Change numbers of states, or of parameters. Returns False if the slow path is needed.

        That is the case if a momentum or a parameter follows from the declared velocities, or if something is wrong.
        """
        cdef ModelCore model = self.model
        cdef const double *x = self.run.x
        cdef const double *p = self.run.p
        cdef bint plain
        if named and values is None:
            values, named = named, {}
        if named or self.signals is not None or model.model.initial is not NULL:
            return False
        if states and PyDict_CheckExact(values):
            plain, x = _changed(model, values, STATE, model.n_states, x, model.x), model.x
        elif states:
            plain = _vector(values, model.states, model.n_states, model.x, &x)
        elif PyDict_CheckExact(values):
            plain, p = _changed(model, values, PARAMETER, model.n_parameters, p, model.p), model.p
        else:
            plain = _vector(values, model.parameters, model.n_parameters, model.p, &p)
        if not (plain and model._contacts_right(self.run.t, x, p, self.run.u) and model._start_right(
                self.run.t, x, p, self.run.u, self.run.rtol, _smallest(self.run.atol, model.n_states))):
            return False
        if states:
            memcpy(self.run.x, x, model.n_states * sizeof(double))
        else:
            memcpy(self.run.p, p, model.n_parameters * sizeof(double))
        cg_run_moved(self.run)
        self._see_pivot(True)
        return True

    def _set(self, inputs: Inputs) -> None:
        """Use other inputs from now on."""
        cdef Py_ssize_t i
        inputs = inputs.since(self.run.t).suit(self._options.method)
        self._attach(inputs)
        for i, value in enumerate(inputs.values):
            self.run.u[i] = value
        cg_run_inputs_changed(self.run)

    def _attach(self, inputs: Inputs) -> None:
        """Point the run to its signals and functions, which are stored outside its block."""
        self.run.signals, self.run.input_fn, self.signals = NULL, NULL, None
        if not inputs.constant:
            self.signals = _Signals(inputs, self.model.n_states)
            self.signals.attach(self.run)
        self.given, self.given_is_stale = inputs, False

    def _put(self, x: Array, p: Array) -> None:
        """Continue from the state x (n,) with the parameters p (np,)."""
        cdef const double[::1] state = x
        cdef const double[::1] values = p
        if state.shape[0] != self.model.n_states or values.shape[0] != self.model.n_parameters:
            raise ArgumentError("a stepper needs vectors of all states and parameters")
        memcpy(self.run.x, &state[0], self.model.n_states * sizeof(double))
        memcpy(self.run.p, cnp.PyArray_DATA(p), self.model.n_parameters * sizeof(double))
        cg_run_moved(self.run)
        self._see_pivot(True)

    def _inputs(self) -> Inputs:
        """The current inputs, as `Inputs`."""
        cdef Py_ssize_t i
        if self.given_is_stale:
            given, numbers = self.given, self.given.values.copy()
            for i in range(self.model.n_inputs):
                if i not in given.signals and i not in given.functions:
                    numbers[i] = self.run.u[i]
            self.given = given_problem.Inputs(given.names, numbers, given.signals, given.functions, given.flags)
            self.given_is_stale = False
        return self.given

    # ---- the current point ----

    @property
    def t(self) -> float:
        """The time reached."""
        return self.run.t

    def _now(self) -> tuple[float, Array, Array, Inputs]:
        """Time, copies of the state and the parameters, and the inputs: where another run could go on."""
        return self.run.t, _copy(self.run.x, self.model.n_states), _copy(self.run.p, self.model.n_parameters), self._inputs()

    def _point(self) -> tuple[float, Array, Array, Array]:
        """Time, state, parameters, and inputs with modes, as numbers."""
        cdef const double *u = self._u()
        return (self.run.t, _copy(self.run.x, self.model.n_states), _copy(self.run.p, self.model.n_parameters),
                _copy(u, self.model.n_inputs + self.model.model.n_modes))

    def _slopes(self) -> Array:
        """The derivatives of the inputs by the time."""
        found = _copy(self.run.u_slope, self.model.n_inputs)
        if self.given.functions:
            called = list(self.given.functions)
            step = self.run.direction * self.run.h or 1.0
            found[called] = self.given.slopes(np.array([self.run.t]), step, self.run.t_old)[called, 0]
        return found

    def _everything(self) -> dict[str, float]:
        """All quantities at `t` by name."""
        return _quantities(self.model, self.run.t, self.run.x, self.run.p, self._u())

    @property
    def y(self) -> Array:
        """The state at `t`, shape (n,): a copy."""
        self._alone.enter()
        try:
            return _copy(self.run.x, self.model.n_states)
        finally:
            self._alone.leave()

    @property
    def p(self) -> Array:
        """The parameters, shape (np,): a copy."""
        with self._alone:
            return _copy(self.run.p, self.model.n_parameters)

    @property
    def inputs(self) -> Inputs:
        """The current inputs, as `Inputs`."""
        with self._alone:
            return self._inputs()

    @property
    def nfev(self) -> int:
        """Evaluations of the right-hand side so far."""
        return self.run.n_rhs

    @property
    def n_steps(self) -> int:
        """Accepted steps so far."""
        return self.run.n_steps

    def _modes(self) -> Array:
        """The modes at `t`, (n_modes,)."""
        self._settle()
        return _copy(self.run.u + self.model.n_inputs, self.model.model.n_modes)

    cdef int _settle(self) except -1:
        """Choose the contact modes for the start of the next step, if they are not known yet."""
        cdef int status, before = self.status
        if self.detector is None or self.model.model.n_modes == 0 or self.detector.detector.memory.begun >= CG_WATCH_READY:
            return 0
        status = self._drive(self.run.t)
        self.status = self.run.status = before
        if status < 0:
            text = message_of(status, self.run.t, self.model)
            raise KernelError(f"{self.model.name} {text}", status)
        return 0

    cdef const double *_u(self) except NULL:
        """The inputs at `t`, then the modes."""
        cdef Py_ssize_t n = self.model.n_inputs
        self._settle()
        if self.signals is None:
            return self.run.u
        left = np.array([self.model.model.n_modes > 0 and not self._entered()])
        now = self._inputs().at(self.run.t, _copy(self.run.x, self.model.n_states), left)
        memcpy(self.u_now, cnp.PyArray_DATA(now), n * sizeof(double))
        memcpy(self.u_now + n, self.run.u + n, self.model.model.n_modes * sizeof(double))
        return self.u_now

    cdef bint _entered(self):
        """Whether the samples at `t` count already; until then modes are those that fit the inputs before them."""
        cdef Py_ssize_t i
        cdef int kind
        for i in range(self.model.n_inputs):
            kind = self.signals.table[i].kind
            if kind != CG_SIGNAL_CONSTANT and kind != CG_SIGNAL_CALL and self.run.u_time[i] == self.run.t:
                return True
        return False

    def __getitem__(self, key) -> float:
        cdef long place = _place(self.model, key)
        cdef long kind = place >> KIND_SHIFT, index = place & ((1 << KIND_SHIFT) - 1)
        cdef const double *u
        if kind == STATE:
            return self.run.x[index]
        if kind == TIME:
            return self.run.t
        self._alone.enter()
        try:
            u = self._u()
            if kind == INPUT:
                return u[index]
            _fill(self.model, "outputs" if kind == OUTPUT else "invariants", self.run.t, self.run.x, self.run.p, u)
            return self.model.out[index]
        finally:
            self._alone.leave()

    def evaluate(self, name=None):
        """One quantity at `t` by name, as a float, or without a name a dict of everything in ``model.evaluate``.

        Raises `ArgumentError` for an unknown name and `KernelError` if a quantity cannot be computed.
        """
        if name is not None:
            return self[name]
        with self._alone:
            return self._everything()

    @property
    def outputs(self) -> dict[str, float]:
        """The outputs at `t`: a dict of declared variables, named outputs and reactions."""
        with self._alone:
            return _quantities(self.model, self.run.t, self.run.x, self.run.p, self._u(), True)

    # ---- snapshots ----

    def _save(self) -> bytes:
        block = (<char *> self.run)[:self.run.size]
        if self.detector is None:
            return block
        memory = bytearray(cg_detector_saved_size(self.detector.detector))
        cg_detector_save(self.detector.detector, <char *> memory)
        return block + bytes(memory)

    def _restore(self, bytes block) -> int:
        cdef size_t size = self.run.size, rest = 0
        cdef const char *start = block
        if self.detector is not None:
            rest = cg_detector_saved_size(self.detector.detector)
        if <size_t> len(block) != size + rest:
            return CG_BAD_ARGUMENT
        before = bytearray(rest)
        if rest > 0:
            cg_detector_save(self.detector.detector, <char *> before)
            if cg_detector_restore(self.detector.detector, start + size, rest) != CG_OK:
                return CG_BAD_ARGUMENT
        if cg_run_restore(self.run, start, size) != CG_OK:
            if rest > 0:
                cg_detector_restore(self.detector.detector, <char *> before, rest)
            return CG_BAD_ARGUMENT
        self.status, self.events = self.run.status, []
        self._see_pivot(True)
        return CG_OK
