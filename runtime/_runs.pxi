# Runs: one trajectory, a stepper, a chunk of an ensemble. Included by _core.pyx.


cdef class _Signals:
    """The inputs of a run that vary, in C's form. Keeps their arrays, and the first error of an input function."""

    cdef cg_signal_t *table
    cdef object inputs
    cdef object error
    cdef Py_ssize_t n_states

    def __cinit__(self, inputs, Py_ssize_t n_states):
        cdef Py_ssize_t n = len(inputs.names)
        self.table = <cg_signal_t *> calloc(n + 1, sizeof(cg_signal_t))
        if self.table is NULL:
            raise MemoryError
        self.inputs, self.n_states = inputs, n_states
        for i, signal in inputs.signals.items():
            times, values = signal.times, signal.values
            self.table[i].kind, self.table[i].n = signal.kind, len(times)
            self.table[i].t = <const double *> cnp.PyArray_DATA(times)
            self.table[i].value = <const double *> cnp.PyArray_DATA(values)
        for i in inputs.functions:
            self.table[i].kind = CG_SIGNAL_CALL

    def __dealloc__(self):
        free(self.table)

    cdef void attach(self, cg_run_t *run) noexcept:
        run.signals = self.table
        if self.inputs.functions:
            run.input_fn, run.input_context = _call_inputs, <void *> self

    cdef int evaluate(self, double t, const double *x, double *u) except -1:
        cdef double value
        cdef cnp.npy_intp n = self.n_states
        for i, function in self.inputs.functions.items():
            y = cnp.PyArray_SimpleNew(1, &n, cnp.NPY_DOUBLE)
            memcpy(cnp.PyArray_DATA(y), x, n * sizeof(double))
            result = function(t, y)
            if not _number(result, &value):
                value = self.inputs.call(i, lambda _t, _y: result, t, y)
            u[<Py_ssize_t> i] = value
        return 0


cdef int _call_inputs(void *context, double t, const double *x, double *u) noexcept with gil:
    signals = <_Signals> context
    try:
        signals.evaluate(t, x, u)
    except BaseException as error:
        if signals.error is None:
            signals.error = error
        return CG_INPUT_FAILED
    return CG_OK


cdef int _configure(KernelCore model, cg_run_t *run, dict options) except -1:
    """Set tolerances and step limits; every one is checked."""
    cdef double value
    cdef Py_ssize_t i
    from .arguments import step_options, tolerances
    rtol, atol = tolerances(options["rtol"], options["atol"], model.states)
    first, largest, limit = step_options(options, run.adaptive != 0)
    run.rtol, run.max_step, run.first_step, run.max_steps = rtol, largest, first, limit
    for i in range(run.n):
        value = atol[i]
        run.atol[i] = value
    return 0


cdef int _configure_fast(KernelCore model, cg_run_t *run, object rtol, object atol, object max_step,
                         object first_step, object step, object max_steps) except -1:
    """The usual case of _configure: floats, no step options. 0: not that case."""
    cdef double relative, absolute
    cdef Py_ssize_t i
    if not (type(rtol) is float and type(atol) is float and type(max_step) is float and first_step is None
            and type(max_steps) is int and (step is None) == (run.adaptive != 0)):
        return 0
    relative, absolute = rtol, atol
    if not (relative >= 0 and absolute > 0 and relative < INFINITY and absolute < INFINITY):
        return 0
    if step is not None:
        if not _number(step, &run.first_step) or run.first_step <= 0:
            return 0
    if not (0 < max_steps < 4503599627370496) or not (<double> max_step > 0):
        return 0
    run.rtol, run.max_step, run.max_steps = relative, max_step, max_steps
    for i in range(run.n):
        run.atol[i] = absolute
    return 1


cdef class ModelCore(KernelCore):
    """Kernels and integration of a compiled model; `chaplygin.runtime.Model` adds the rest."""

    def integrate(self, t_span, initial=None, parameters=None, inputs=None, *, method="dop853", rtol=1e-9, atol=1e-9,
                  t_eval=None, dense_output=False, max_step=INFINITY, first_step=None, step=None,
                  max_steps=10_000_000):
        """Integrate over ``t_span = (t0, t1)``; t1 may lie before t0. See `Model`."""
        cdef double t0, t1
        cdef const double *x0 = NULL
        cdef const double *p = NULL
        cdef const double *u = NULL
        cdef _Signals signals = None
        cdef cg_run_t *run
        cdef bint dense = bool(dense_output)
        if not (type(t_span) is tuple and len(<tuple> t_span) == 2 and _number((<tuple> t_span)[0], &t0)
                and _number((<tuple> t_span)[1], &t1)):
            from .arguments import span
            t0, t1 = span(t_span)
        if t_eval is not None:
            from .arguments import times
            t_eval = times("t_eval", t_eval, t0, t1)
        run = self._take_run(method)
        try:
            if not _configure_fast(self, run, rtol, atol, max_step, first_step, step, max_steps):
                _configure(self, run, {"rtol": rtol, "atol": atol, "max_step": max_step, "first_step": first_step,
                                       "step": step, "max_steps": max_steps})
            given = None
            if not (_vector(initial, self.states, self.n_states, self.x, &x0)
                    and _vector(parameters, self.parameters, self.n_parameters, self.p, &p)
                    and _vector(inputs, self.inputs, self.n_inputs, self.u, &u)):
                start, vector, given = self._prepare(t0, initial, parameters, inputs)
                held = given.values
                x0, p = <const double *> cnp.PyArray_DATA(start), <const double *> cnp.PyArray_DATA(vector)
                u = <const double *> cnp.PyArray_DATA(held)
                if not given.constant:
                    signals = _Signals(given, self.n_states)
                    signals.attach(run)
            memcpy(run.p, p, self.n_parameters * sizeof(double))
            memcpy(run.u, u, self.n_inputs * sizeof(double))
            return self._run(run, t0, x0, t1, t_eval, dense, signals, given)
        finally:
            self._give_run(run, method)

    cdef object _run(self, cg_run_t *run, double t0, const double *x0, double t1, object t_eval, bint dense,
                     _Signals signals, object given):
        cdef cg_record_t record
        cdef cnp.npy_intp[3] shape
        cdef int status
        cdef int64_t budget = FIRST_BUDGET
        cdef object times, rows, coef = None, spans = None
        cdef cnp.npy_intp n = self.n_states
        # Kept here because a callback may run other code of this model, and the run may be long.
        p = _copy(run.p, self.n_parameters)
        u = _copy(run.u, self.n_inputs)
        memset(&record, 0, sizeof(record))
        record.capacity = FIRST_ROWS
        if t_eval is not None:
            record.t_eval = <const double *> cnp.PyArray_DATA(t_eval)
            record.n_eval = len(t_eval)
            record.capacity = max(record.n_eval, 1)
        shape[0], shape[1] = record.capacity, n
        times, rows = cnp.PyArray_SimpleNew(1, shape, cnp.NPY_DOUBLE), cnp.PyArray_SimpleNew(2, shape, cnp.NPY_DOUBLE)
        record.y_row, record.y_col = n, 1
        if dense:
            record.capacity_dense = FIRST_ROWS
            coef, spans = np.empty((FIRST_ROWS, run.n_dense, n)), np.empty((FIRST_ROWS, 2))
        status = cg_run_start(run, t0, x0, t1)
        if status == CG_OK:
            before = None
            while True:
                record.t, record.y = <double *> cnp.PyArray_DATA(times), <double *> cnp.PyArray_DATA(rows)
                if dense:
                    record.coef, record.coef_t = <double *> cnp.PyArray_DATA(coef), <double *> cnp.PyArray_DATA(spans)
                with nogil:
                    status = cg_drive(run, &record, budget)
                if status == CG_OUTPUT_FULL:
                    if record.n_rows == record.capacity:
                        record.capacity *= 2
                        times.resize(record.capacity, refcheck=False)
                        rows.resize((record.capacity, n), refcheck=False)
                    if dense and record.n_coef == record.capacity_dense:
                        record.capacity_dense *= 2
                        coef.resize((record.capacity_dense, run.n_dense, n), refcheck=False)
                        spans.resize((record.capacity_dense, 2), refcheck=False)
                elif status == CG_BUDGET_USED:
                    before, budget = _pause(before, budget)
                else:
                    break
        if signals is not None and signals.error is not None:
            raise signals.error
        if record.n_rows < record.capacity:
            if record.capacity == FIRST_ROWS:
                times, rows = _copy(record.t, record.n_rows), _copy(record.y, record.n_rows * n)
                rows = rows.reshape(record.n_rows, n)
            else:
                times.resize(record.n_rows, refcheck=False)
                rows.resize((record.n_rows, n), refcheck=False)
        interpolant = None
        if dense:
            interpolant = Dense(spans[:record.n_coef].copy(), coef[:record.n_coef].copy(), t0, _copy(x0, n))
        return Solution(self, times, rows.T, status, run.t, p, u if given is None else given, run.n_rhs, run.n_steps,
                        run.n_rejected, interpolant)


cdef object _copy(const double *data, cnp.npy_intp n):
    out = cnp.PyArray_SimpleNew(1, &n, cnp.NPY_DOUBLE)
    if n > 0:
        memcpy(cnp.PyArray_DATA(out), data, n * sizeof(double))
    return out


cdef tuple _pause(object before, int64_t budget):
    """Look at signals (Ctrl-C), and choose a budget of steps that takes some 20 ms."""
    PyErr_CheckSignals()
    now = perf_counter()
    if before is not None:
        budget = <int64_t> min(max(budget * min(max(0.02 / max(now - before, 1e-9), 0.1), 4.0), 1.0), 1e9)
    return now, budget


cdef class StepperCore:
    """One integration that the caller moves on; `chaplygin.runtime.Stepper` adds the rest."""

    cdef cg_run_t *run
    cdef _Signals signals
    cdef bint busy
    cdef readonly ModelCore model
    cdef readonly str method
    cdef readonly object inputs

    def __cinit__(self, ModelCore model, double t0, x0, p, inputs, str method, dict options):
        cdef const double[::1] start = x0
        cdef const double[::1] values = p
        self.model, self.method = model, method
        self.run = model._take_run(method)
        _configure(model, self.run, options)
        memcpy(self.run.p, cnp.PyArray_DATA(p), model.n_parameters * sizeof(double))
        self._set(inputs)
        if start.shape[0] != model.n_states or values.shape[0] != model.n_parameters:
            raise ArgumentError("a stepper needs vectors of all states and parameters")
        status = cg_run_start(self.run, t0, &start[0], t0)
        if status < 0:
            raise KernelError(message_of(status, t0), status)

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
                if status != CG_BUDGET_USED:
                    break
                before, budget = _pause(before, budget)
        finally:
            self.busy = False
        if self.signals is not None and self.signals.error is not None:
            error, self.signals.error = self.signals.error, None
            raise error
        return status

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
        return (<char *> self.run)[:self.run.size]

    def _restore(self, bytes block):
        self._free()
        return cg_run_restore(self.run, <const char *> block, len(block))


cdef class EnsembleCore:
    """An ensemble whose arrays are made; `run(first, last)` runs a chunk of it, from any thread."""

    cdef cg_ensemble_t job
    cdef volatile int stopped
    cdef _Signals signals
    cdef ModelCore model
    cdef str method
    cdef dict options
    cdef tuple arrays
    cdef int64_t n

    def __cinit__(self, ModelCore model, double t0, double t1, const double[:, :] x0, const double[:, :] p, inputs,
                  t_eval, double[:, :, :] y, double[::1] t, int32_t[::1] status, int64_t[::1] nfev,
                  int64_t[::1] n_steps, str method, dict options):
        values = inputs.values if inputs.values.ndim == 2 else inputs.values[:, None]
        cdef const double[:, :] u = values
        self.n = y.shape[2]
        if (x0.shape[0] != model.n_states or p.shape[0] != model.n_parameters or y.shape[0] != model.n_states
                or min(t.shape[0], status.shape[0], nfev.shape[0], n_steps.shape[0]) < self.n
                or not {x0.shape[1], p.shape[1], u.shape[1]} <= {1, self.n}
                or y.shape[1] != (1 if t_eval is None else len(t_eval))):
            raise ArgumentError("the arrays of the ensemble do not fit together")
        self.model, self.method, self.options = model, method, options
        self.arrays = (x0, p, u, t_eval, y, t, status, nfev, n_steps)
        if not inputs.constant:
            self.signals = _Signals(inputs, model.n_states)
        self.job.t0, self.job.t_end = t0, t1
        if x0.shape[1] > 0:
            self.job.x0 = &x0[0, 0]
        self.job.x0_row = 0 if x0.shape[1] == 1 else x0.strides[1] // <int64_t> sizeof(double)
        self.job.x0_col = x0.strides[0] // <int64_t> sizeof(double)
        if model.n_parameters > 0 and p.shape[1] > 0:
            self.job.p = &p[0, 0]
        self.job.p_row = 0 if p.shape[1] == 1 else p.strides[1] // <int64_t> sizeof(double)
        self.job.p_col = p.strides[0] // <int64_t> sizeof(double)
        if model.n_inputs > 0 and u.shape[1] > 0:
            self.job.u = &u[0, 0]
        self.job.u_row = 0 if u.shape[1] == 1 else u.strides[1] // <int64_t> sizeof(double)
        self.job.u_col = u.strides[0] // <int64_t> sizeof(double)
        if t_eval is not None:
            # Never NULL, even where it is empty: NULL asks for the final state.
            self.job.t_eval, self.job.n_eval = <const double *> cnp.PyArray_DATA(t_eval), len(t_eval)
        if self.n > 0 and y.shape[1] > 0:
            self.job.y = &y[0, 0, 0]
        self.job.y_row = y.strides[2] // <int64_t> sizeof(double)
        self.job.y_col = y.strides[0] // <int64_t> sizeof(double)
        self.job.y_time = y.strides[1] // <int64_t> sizeof(double)
        if self.n > 0:
            self.job.t, self.job.status = &t[0], &status[0]
            self.job.n_rhs, self.job.n_steps = &nfev[0], &n_steps[0]

    def __init__(self, *arguments):
        pass

    def stop(self):
        """End all chunks at their next step."""
        self.stopped = 1

    @property
    def error(self):
        """The first error of an input function, or None."""
        return None if self.signals is None else self.signals.error

    def run(self, int64_t first, int64_t last):
        """Run trajectories first <= j < last. Returns how many finished."""
        cdef cg_run_t *run
        cdef int64_t done = 0
        if not 0 <= first <= last <= self.n:
            raise ArgumentError(f"trajectories {first} to {last} are not in an ensemble of {self.n}")
        if first == last or self.stopped:
            return 0
        run = self.model._take_run(self.method)
        try:
            _configure(self.model, run, self.options)
            if self.signals is not None:
                self.signals.attach(run)
            run.stop = &self.stopped
            with nogil:
                cg_ensemble_run(&self.job, run, first, last, &done)
        finally:
            self.model._give_run(run, self.method)
        if self.error is not None:
            self.stopped = 1
        return done
