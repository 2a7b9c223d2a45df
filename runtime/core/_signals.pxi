# Time-varying inputs and options, in the format of the C driver. Included by _core.pyx.


cdef class _Signals:
    """The time-varying inputs of a run, in C format. Keeps their arrays and the first error of an input function."""

    cdef cg_signal_t *table
    cdef object inputs
    cdef object error
    cdef Py_ssize_t n_states
    cdef volatile int *stop  # NULL, or a flag to set when an input function fails

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
        cdef bint assumed = len(self.inputs.flags) > 0
        for i, function in self.inputs.functions.items():
            y = cnp.PyArray_SimpleNew(1, &n, cnp.NPY_DOUBLE)
            memcpy(cnp.PyArray_DATA(y), x, n * sizeof(double))
            result = function(t, y)
            if assumed or not _number(result, &value):
                value = self.inputs.number(i, t, result)
            u[<Py_ssize_t> i] = value
        return 0


cdef int _call_inputs(void *context, double t, const double *x, double *u) noexcept with gil:
    signals = <_Signals> context
    try:
        signals.evaluate(t, x, u)
    except BaseException as error:
        if signals.error is None:
            signals.error = error
        if signals.stop is not NULL:
            signals.stop[0] = 1
        return CG_INPUT_FAILED
    return CG_OK


cdef int _configure(KernelCore model, cg_run_t *run, dict options) except -1:
    """Set tolerances and step limits, checking all of them."""
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
    """The common case of _configure: floats, no step options. Returns 0 in other cases."""
    cdef double relative, absolute
    cdef Py_ssize_t i
    if not (type(rtol) is float and type(atol) is float and type(max_step) is float and first_step is None
            and type(max_steps) is int and (step is None) == (run.adaptive != 0)):
        return 0
    relative, absolute = rtol, atol
    if not (relative >= SMALLEST_RTOL and absolute > 0 and relative < INFINITY and absolute < INFINITY):
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
