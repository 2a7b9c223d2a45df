# A run that its caller moves on. Included by _core.pyx.


cdef class StepperCore:
    """One integration that the caller moves on; `chaplygin.runtime.Stepper` adds the rest."""

    cdef cg_run_t *run
    cdef _Signals signals
    cdef _Watch watch
    cdef bint busy
    cdef readonly int status   # of the last advance: 1 after a terminal event
    cdef readonly ModelCore model
    cdef readonly str method
    cdef readonly object inputs

    def __cinit__(self, ModelCore model, double t0, x0, p, inputs, str method, dict options):
        cdef const double[::1] start = x0
        cdef const double[::1] values = p
        if start.shape[0] != model.n_states or values.shape[0] != model.n_parameters:
            raise ArgumentError("a stepper needs vectors of all states and parameters")
        self.model, self.method = model, method
        self.run = model._take_run(method)
        _configure(model, self.run, options)
        memcpy(self.run.p, cnp.PyArray_DATA(p), model.n_parameters * sizeof(double))
        self._set(inputs)
        self.watch = _watch_of(model, None, options.get("kinks", False), options.get("paradox", "stop"))
        if self.watch is not None:
            self.watch.attach(self.run)
        status = cg_run_start(self.run, t0, &start[0], t0)
        if status < 0:
            raise KernelError(message_of(status, t0, model.form), status)

    def __init__(self, *arguments):
        pass

    def __dealloc__(self):
        if self.run is not NULL:
            cg_run_delete(self.run)

    cdef int _free(self) except -1:
        if self.busy:
            raise RuntimeError("this stepper is advancing in another thread or in an input function")
        return 0

    def _set(self, inputs):
        """Take other inputs from here on."""
        cdef Py_ssize_t i
        self._attach(inputs)
        for i, value in enumerate(inputs.values):
            self.run.u[i] = value
        cg_run_changed(self.run)

    def _attach(self, inputs):
        """Point the run to signals and functions, which are kept outside its block."""
        self._free()
        self.run.signals, self.run.input_fn, self.signals = NULL, NULL, None
        if not inputs.constant:
            self.signals = _Signals(inputs, self.model.n_states)
            self.signals.attach(self.run)
        self.inputs = inputs

    def _advance(self, double t):
        """Integrate to t; returns the status. An error of an input function is raised."""
        cdef int status
        cdef int64_t budget = FIRST_BUDGET
        self._free()
        status = cg_run_extend(self.run, t)
        if status < 0:
            return status
        before = None
        self.busy = True
        try:
            while True:
                with nogil:
                    status = cg_drive(self.run, NULL, budget)
                if status == CG_EVENTS_FULL:
                    self.watch.drain()
                elif status == CG_BUDGET_USED:
                    before, budget = _pause(before, budget)
                else:
                    break
        finally:
            self.busy = False
        if self.signals is not None and self.signals.error is not None:
            error, self.signals.error = self.signals.error, None
            raise error
        self.status = status
        if self.run.n_steps > 0:
            self.model._note_end(self.run.t, self.run.x, self.run.p, self.run.u)
        return status

    def _happened(self):
        """What was logged since this was asked last, or None where nothing is watched."""
        if self.watch is None:
            return None
        found = self.watch.happened(self.status, self.run.t, self.y)
        self.watch.kept = []
        return found

    @property
    def _modes(self):
        """The modes at `t`, (n_modes,)."""
        return _copy(self.run.u + self.model.n_inputs, self.model.model.n_modes)

    @property
    def t(self):
        """The time reached."""
        return self.run.t

    @property
    def y(self):
        """The state at `t`, shape (n,): a copy."""
        return _copy(self.run.x, self.model.n_states)

    @property
    def p(self):
        """The parameters, shape (np,): a copy."""
        return _copy(self.run.p, self.model.n_parameters)

    @property
    def nfev(self):
        """Evaluations of the right-hand side so far."""
        return self.run.n_rhs

    @property
    def n_steps(self):
        """Accepted steps so far."""
        return self.run.n_steps

    def _save(self):
        self._free()
        block = (<char *> self.run)[:self.run.size]
        if self.watch is None:
            return block
        memory = bytearray(cg_watch_saved_size(self.watch.watch))
        cg_watch_save(self.watch.watch, <char *> memory)
        return block + bytes(memory)

    def _restore(self, bytes block):
        self._free()
        cdef size_t size = self.run.size, rest = 0
        cdef const char *start = block
        if self.watch is not None:
            rest = cg_watch_saved_size(self.watch.watch)
        if <size_t> len(block) != size + rest:
            return CG_BAD_ARGUMENT
        if rest == 0:
            return cg_run_restore(self.run, start, size)
        before = bytearray(rest)
        cg_watch_save(self.watch.watch, <char *> before)
        if cg_watch_restore(self.watch.watch, start + size, rest) != CG_OK:
            return CG_BAD_ARGUMENT
        if cg_run_restore(self.run, start, size) != CG_OK:
            cg_watch_restore(self.watch.watch, <char *> before, rest)
            return CG_BAD_ARGUMENT
        return CG_OK
