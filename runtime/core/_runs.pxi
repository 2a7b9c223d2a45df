# Methods and their workspaces, and one trajectory, recorded. Included by _core.pyx.


def methods() -> dict[str, Method]:
    """The integration methods for any model by name."""
    return _listed(cg_method_table(), {})


cdef dict _listed(const cg_method_t *method, dict found):
    """A table of methods, added to those already found."""
    while method is not NULL and method.info.name is not NULL:
        info = &method.info
        if info.layout == CG_RUN_LAYOUT:
            name = info.name.decode()
            found.setdefault(name, Method(name, info.summary.decode(), info.order, bool(info.adaptive), bool(info.implicit)))
        method += 1
    return found


cdef class ModelCore(StartCore):
    """Kernels and integration of a compiled model; `chaplygin.runtime.Model` adds the rest."""

    cdef cg_run_t *spare        # an unused run of method `spare_method`
    cdef object spare_method
    cdef cg_jump_t jump         # of the tangents among the states, NULL without any
    cdef int own                # how many states are those of the motion, before their tangents; 0: all
    cdef int tangents           # how many components of tangents control the steps
    cdef int blocks             # of tangents
    cdef const cg_varied_kernels_t *varied
    cdef object last_p          # parameters and inputs of the last run, which those with the same numbers share
    cdef object last_u
    cdef set settled            # methods for which there is nothing more to inline
    cdef object settled_last    # the one asked for last
    cdef set sought             # methods that the cache does not have
    cdef int64_t calls          # of the right-hand side, in all runs
    cdef public bint _eager     # methods are inlined before their first run

    def __cinit__(self, *arguments, **options):
        self.settled, self.sought = set(), set()

    def __dealloc__(self):
        cg_run_delete(self.spare)

    def _sizes(self, str method) -> tuple[int, int]:
        """Bytes of a run with that method, and of its detector (0: the model has neither events nor contacts)."""
        return cg_run_size(self.model, method.encode()), cg_detector_size(self.model, 0) if self.hybrid else 0

    def default_method(self, rtol: float = options.DEFAULTS.rtol, atol=options.DEFAULTS.atol) -> str:
        """The method that runs with these tolerances take by default; see docs/runs.md."""
        if not (type(rtol) is type(atol) is float and 0.0 <= rtol < INFINITY and 0.0 <= atol < INFINITY):
            rtol = arguments.number("rtol", rtol)
            atol = options.RunOptions(atol=atol).absolute_tolerances(self.states).min()
        return self._default(rtol, atol)

    cdef object _default(self, double rtol, double atol):
        return PyUnicode_InternFromString(cg_default_method(self.model, rtol, atol))

    cdef int _inline(self, method, bint many) except -1:
        """See that the right-hand side is inlined into `method`, if this is worth it. many: for many calls to come."""
        many = many or self._eager or self.calls >= MANY_CALLS
        if method not in self.settled and (many or method not in self.sought):
            (self.settled if self._inlined(method, many) else self.sought).add(method)
        if method in self.settled:
            self.settled_last = method
        return 0

    cdef int _speed_up(self, cg_run_t *run, method) except -1:
        """The same for a run that is under way, which goes on with the same bits."""
        if run.n_rhs >= MANY_CALLS and method not in self.settled:
            self._inline(method, True)
            cg_run_method(run, PyUnicode_AsUTF8(method))
        return 0

    cdef cg_run_t *_take_run(self, method, bint many=False) except NULL:
        """A run for `method`; reuses the spare one if it fits. many: it is for many calls of the right-hand side."""
        cdef cg_run_t *run = NULL
        cdef size_t size
        cdef int status
        if method is not self.settled_last and isinstance(method, str) and method in self.methods:
            self._inline(method, many)  # first: other threads run meanwhile
        if self.spare is not NULL and self.spare_method is method:
            run, self.spare = self.spare, NULL
            size = run.size
        elif isinstance(method, str) and method in self.methods:
            size = cg_run_size(self.model, PyUnicode_AsUTF8(method))
            run = <cg_run_t *> _memory(cg_run_new(size))
        else:
            raise arguments.unknown_method(method, self.methods)
        status = cg_run_init(run, size, self.model, PyUnicode_AsUTF8(method), 0)
        if status != CG_OK:
            cg_run_delete(run)
            if status == CG_UNSUPPORTED:
                raise arguments.no_jacobian(method, self.name)
            raise ArgumentError(f"the integrator refused {self.name} with method {method!r}")
        run.jump, run.n_own, run.n_tangents = self.jump, self.own or run.n, self.tangents
        run.varied, run.n_blocks = self.varied, self.blocks
        return run

    def _carry(self, uintptr_t variational, uintptr_t kernels, int own, int count, int blocks, bint control) -> None:
        """Take the jumps of `count` tangents from a `cg_variational_t`; they follow the first `own` states in `blocks`.

        `kernels` is the address of those that take them along. With `control` their errors count in the choice of steps.
        """
        self.varied, self.blocks = <const cg_varied_kernels_t *> kernels, blocks
        self.jump, self.own = (<const cg_variational_t *> variational).jump, own
        self.tangents = own * count if control else 0

    cdef void _give_run(self, cg_run_t *run, method) noexcept:
        self.calls += run.n_rhs
        if self.spare is not NULL:
            cg_run_delete(self.spare)
        self.spare, self.spare_method = run, method

    def integrate(self, t_span: tuple[float, float], initial=None, parameters=None, inputs=None, *, t_eval=None,
                  dense_output: bool = False, events=None, seed: int | None = None, sensitivities=None,
                  sensitivity_control: bool = True, interpolants=None, **keywords: Unpack[RunKeywords]) -> Solution:
        """Integrate over ``t_span = (t0, t1)``; t1 can be before t0, except in models with contacts. See docs/runs.md."""
        cdef double t0, t1
        cdef const double *x0 = NULL
        cdef const double *p = NULL
        cdef const double *u = NULL
        cdef _Signals signals = None
        cdef cg_run_t *run
        cdef bint dense = dense_output if type(dense_output) is bool else arguments.boolean("dense_output", dense_output)
        cdef _Detector detector
        cdef given_t given = BY_DEFAULT
        cdef tuple past = ()
        if interpolants is not None:
            parameters = interface.with_values(self, parameters, interpolants)
        if seed is not None or sensitivities is not None:
            inputs = given_problem.drawn(inputs, self.inputs, t_span, seed)
        if sensitivities is not None:
            return self._integrate_varied(t_span, initial, parameters, inputs, sensitivities, sensitivity_control,
                                          t_eval, dense_output, events, keywords)
        if sensitivity_control is not True:
            arguments.sensitivity_control(sensitivity_control, None)
        _read(keywords, &given)
        detector = _detector_of(self, events, &given, True, CG_LOG_FIELDS if self.jump is not NULL else 0)
        if not (type(t_span) is tuple and len(<tuple> t_span) == 2 and _number((<tuple> t_span)[0], &t0)
                and _number((<tuple> t_span)[1], &t1) and isfinite(t1 - t0)):
            from ..interface.arguments import span
            t0, t1 = span(t_span)
        if t1 < t0 and self.model.n_contacts > 0:
            raise arguments.backward("t_span", "t1 >= t0")
        if type(t_eval) is list:
            t_eval = _of_floats(<list> t_eval)
        elif cnp.PyArray_CheckExact(t_eval) and cnp.PyArray_ISCARRAY_RO(t_eval):  # `times` copies others
            # Copied before the check: an input function may change the caller's array during the run.
            t_eval = cnp.PyArray_NewCopy(t_eval, cnp.NPY_CORDER)
        if t_eval is not None and not _plain_times(t_eval, t0, t1):
            from ..interface.arguments import times
            t_eval = times("t_eval", t_eval, t0, t1)
        method = <object> given.method
        if method is None:
            # in the fields of the run, so that repeating it does not depend on how it was chosen
            method = keywords["method"] = (self._default(given.rtol, given.atol) if given.plain
                                           else options.RunOptions(**keywords).with_method(self).method)
        run = self._take_run(method)
        try:
            keywords = _configure(self, run, &given, keywords)
            controls = None
            if not (_vector(parameters, self.parameters, self.n_parameters, self.p, &p)
                    and _vector(inputs, self.inputs, self.n_inputs, self.u, &u)
                    and self._start(t0, initial, p, u, &x0) and self._contacts_right(t0, x0, p, u)
                    and self._start_right(t0, x0, p, u, run.rtol, _smallest(run.atol, self.n_states))):
                inputs = given_problem.drawn(inputs, self.inputs, (t0, t1), seed)
                start, vector, controls = self._prepare(t0, initial, parameters, inputs, self._accuracy(keywords))
                past = past_of(initial)
                controls = controls.ready(method, t0, t1)
                held = controls.values
                x0, p = <const double *> cnp.PyArray_DATA(start), <const double *> cnp.PyArray_DATA(vector)
                u = <const double *> cnp.PyArray_DATA(held)
                if not controls.constant:
                    signals = _Signals(controls, self.n_states)
                    signals.attach(run)
            memcpy(run.p, p, self.n_parameters * sizeof(double))
            memcpy(run.u, u, self.n_inputs * sizeof(double))
            # For this run and for repeating it: arrays that the caller may change are copied.
            begin = _copy(x0, self.n_states)
            problem = (t0, t1), begin, t_eval, keywords, events, past  # the entries of a `Problem`
            return self._run(run, method, t0, begin, t1, t_eval, dense, signals, controls, problem, detector)
        finally:
            self._give_run(run, method)

    cdef object _accuracy(self, dict fields):
        """By what the start of a run with these options is judged."""
        judged = self.turning or self.model.consistency is not NULL
        return given_problem.Accuracy.of(self, options.RunOptions(**fields)) if judged else None

    cdef object _run(self, cg_run_t *run, method, double t0, object x0, double t1, object t_eval, bint dense,
                     _Signals signals, object controls, tuple problem, _Detector detector):
        cdef cg_record_t record
        cdef cnp.npy_intp[3] shape
        cdef int status
        cdef bint apart
        cdef int64_t budget = FIRST_BUDGET
        cdef object times, rows, coef = None, spans = None
        cdef cnp.npy_intp n = self.n_states
        # Kept here because a callback may run other code of this model, and the run may be long. After the start, x0
        # may be overwritten as well: problem.x0 is its copy.
        p = self.last_p = _kept(self.last_p, run.p, self.n_parameters)
        u = self.last_u = _kept(self.last_u, run.u, self.n_inputs)
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
        if detector is not None:
            detector.attach(run)
        status = cg_run_start(run, t0, <const double *> cnp.PyArray_DATA(x0), t1)
        if detector is not None:
            detector.go_on(<tuple> problem[5])
        if status == CG_OK:
            before = None
            while True:
                _point(&record, times, rows, coef, spans)
                with nogil:
                    status = cg_drive(run, &record, budget)
                if status == CG_OUTPUT_FULL:
                    _enlarge(&record, times, rows, coef, spans)
                elif status == CG_EVENTS_FULL:
                    detector.drain()
                elif status == CG_BUDGET_USED:
                    before, budget = _pause(before, budget)
                    self._speed_up(run, method)
                else:
                    break
        if signals is not None and signals.error is not None:
            raise signals.error
        if detector is not None and detector.error is not None:
            raise detector.error
        apart = not _ends(&record, run, n)
        if record.n_rows < record.capacity:
            if record.capacity == FIRST_ROWS:
                times, rows = _copy(record.t, record.n_rows), _copy(record.y, record.n_rows * n)
                rows = rows.reshape(record.n_rows, n)
            else:
                times.resize(record.n_rows, refcheck=False)
                rows.resize((record.n_rows, n), refcheck=False)
        end = _copy(run.x, n) if apart and status >= 0 else None
        if apart and status < 0:
            # Where a failed run has ended: between times that were asked for, or at a start that has no derivative.
            record.n_rows += 1
            times, rows = np.append(times, run.t), np.concatenate((rows, _copy(run.x, n)[None]))
        interpolant = None
        if dense:
            interpolant = dense_outputs.Dense(spans[:record.n_coef].copy(), coef[:record.n_coef].copy(), t0, x0, interpolated)
        solution = Solution(self, times, rows.T, status, run.t, p, u if controls is None else controls, run.n_rhs,
                            run.n_steps, run.n_rejected, interpolant, problem, run.n_jac, run.n_lu,
                            None if detector is None else detector.event_record(status, run.t, _copy(run.x, n)),
                            end)
        if PIVOT in self._entries:
            given_problem.report(self, solution.t, solution.y, solution._p, solution._u(), solution.status)
        if (self.model.consistency is not NULL and self.jump is NULL and status >= 0
                and _off(self.model, run.t, run.x, run.p, run.u, run.rtol, _smallest(run.atol, self.n_states), self.out,
                         self.work) > 0):
            solution._report_drift()
        return solution


cdef bint _ends(const cg_record_t *record, const cg_run_t *run, cnp.npy_intp n) noexcept:
    """Whether the last row of a record is the point that a run has reached."""
    cdef int64_t last = record.n_rows - 1
    return last >= 0 and record.t[last] == run.t and memcmp(record.y + last * n, run.x, n * sizeof(double)) == 0


cdef void _point(cg_record_t *record, times, rows, coef, spans) noexcept:
    """Let a record write to these arrays; those of the interpolant can be None."""
    record.t, record.y = <double *> cnp.PyArray_DATA(times), <double *> cnp.PyArray_DATA(rows)
    if coef is not None:
        record.coef, record.coef_t = <double *> cnp.PyArray_DATA(coef), <double *> cnp.PyArray_DATA(spans)


cdef int _enlarge(cg_record_t *record, times, rows, coef, spans) except -1:
    """Double the arrays of a record that are full."""
    if record.n_rows == record.capacity:
        record.capacity *= 2
        times.resize(record.capacity, refcheck=False)
        rows.resize((record.capacity, rows.shape[1]), refcheck=False)
    if coef is not None and record.n_coef == record.capacity_dense:
        record.capacity_dense *= 2
        coef.resize((record.capacity_dense, *coef.shape[1:]), refcheck=False)
        spans.resize((record.capacity_dense, 2), refcheck=False)
    return 0


cdef bint _plain_times(object value, double t0, double t1):
    """Whether `value` is a plain array of times inside [t0, t1], ordered from t0 to t1, that needs no conversion."""
    cdef Py_ssize_t i, n
    cdef const double *t
    cdef double sign = 1.0 if t1 >= t0 else -1.0
    if not (cnp.PyArray_CheckExact(value) and cnp.PyArray_NDIM(value) == 1 and cnp.PyArray_ISCARRAY_RO(value)
            and cnp.PyArray_TYPE(value) == cnp.NPY_DOUBLE):
        return False
    t, n = <const double *> cnp.PyArray_DATA(value), cnp.PyArray_DIM(value, 0)
    for i in range(n):
        if not (sign * t[i] >= sign * t0 and sign * t[i] <= sign * t1 and (i == 0 or sign * t[i - 1] < sign * t[i])):
            return False
    return True


cdef object _of_floats(list values):
    """The numbers of a list as an array; the list itself if any is no float."""
    cdef cnp.npy_intp i, n = len(values)
    out = cnp.PyArray_SimpleNew(1, &n, cnp.NPY_DOUBLE)
    for i in range(n):
        value = values[i]
        if type(value) is not float:
            return values
        (<double *> cnp.PyArray_DATA(out))[i] = <double> value
    return out


cdef object _kept(object last, const double *data, cnp.npy_intp n):
    """A copy of n numbers: the last one, if they are the same. Nothing writes to it."""
    if last is not None and memcmp(cnp.PyArray_DATA(last), data, n * sizeof(double)) == 0:
        return last
    return _copy(data, n)


cdef object _copy(const double *data, cnp.npy_intp n):
    out = cnp.PyArray_SimpleNew(1, &n, cnp.NPY_DOUBLE)
    if n > 0:
        memcpy(cnp.PyArray_DATA(out), data, n * sizeof(double))
    return out


cdef tuple _pause(object before, int64_t budget):
    """Check for signals (Ctrl-C), and choose a budget of steps that takes about 20 ms."""
    PyErr_CheckSignals()
    now = perf_counter()
    if before is not None:
        budget = <int64_t> min(max(budget * min(max(0.02 / max(now - before, 1e-9), 0.1), 64.0), 1.0), 1e9)
    return now, budget


def interpolated(const double[:, :, ::1] coef, const int64_t[::1] step, const double[::1] theta) -> Array:
    """States (n, N) at fractions theta (N,) of the steps step (N,), whose interpolants are coef (steps, rows, n)."""
    cdef int64_t m, count = theta.shape[0], n_dense = coef.shape[1], n = coef.shape[2]
    states = np.empty((n, count))
    cdef double *out = <double *> cnp.PyArray_DATA(states)
    for m in range(count):
        cg_dense_evaluate(&coef[step[m], 0, 0], n_dense, n, n, theta[m], out + m, count)
    return states
