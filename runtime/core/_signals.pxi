# Time-varying inputs, in the format of the C driver. Included by _core.pyx.


cdef class _Signals:
    """The time-varying inputs of a run, in C format. Keeps their arrays and the first error of an input function."""

    cdef cg_signal_t *table
    cdef object inputs
    cdef object error
    cdef Py_ssize_t n_states
    cdef volatile int *stop  # NULL, or a flag to set when an input function fails
    cdef readonly list rows  # inputs with samples of each trajectory: the index, and a `SampleRows`
    cdef list arrays         # what they have read last

    def __cinit__(self, inputs, Py_ssize_t n_states):
        cdef Py_ssize_t n = len(inputs.names)
        self.table = <cg_signal_t *> _memory(calloc(n + 1, sizeof(cg_signal_t)))
        self.inputs, self.n_states, self.rows = inputs, n_states, []
        for i, signal in inputs.signals.items():
            self.table[i].n_powers, self.table[i].n = signal.n_powers, len(signal.times)
            self.table[i].t = <const double *> cnp.PyArray_DATA(signal.times)
            if isinstance(signal, given_problem.SampleRows):
                self.rows.append((i, signal))
                self.table[i].joined, self.table[i].order = signal.n_powers > 1, signal.order
            else:
                self.table[i].kind = CG_SIGNAL_POLYNOMIAL
                self.table[i].value = <const double *> cnp.PyArray_DATA(signal.rows)
        for i in inputs.functions:
            self.table[i].kind = CG_SIGNAL_CALL
        for rows in inputs.moving:
            for i in rows:
                self.table[i].kind = CG_SIGNAL_MOVING

    def __dealloc__(self):
        free(self.table)

    cdef int read(self, int64_t first, int64_t last) except -1:
        """Have the samples of trajectories first <= j < last, which are numbered from 0 then."""
        self.arrays = [signal.coefficients(first, last) for _, signal in self.rows]
        for (i, signal), array in zip(self.rows, self.arrays):
            self.table[i].kind = CG_SIGNAL_POLYNOMIAL
            self.table[i].value = <const double *> cnp.PyArray_DATA(array)
            self.table[i].row = array.size // max(last - first, 1)
        return 0

    cdef int release(self) except -1:
        for _, signal in self.rows:
            signal.release()
        return 0

    cdef void attach(self, cg_run_t *run) noexcept:
        run.signals = self.table
        if self.inputs.functions:
            run.input_fn, run.input_context = _call_inputs, <void *> self

    cdef int evaluate(self, double t, const double *x, double *u) except -1:
        cdef double value
        cdef bint assumed = len(self.inputs.flags) > 0
        for i, function in self.inputs.functions.items():
            result = function(t, _copy(x, self.n_states))
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
