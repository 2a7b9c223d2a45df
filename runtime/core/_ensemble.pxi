# Ensembles: the fast path for their starts, and the work of one thread. Included by _core.pyx.

cdef enum:
    LARGEST_BLOCK = 4096  # trajectories whose parameters are gathered at once
    FIRST_EVENTS = 256


cdef int64_t _way(object array, int axis) except? -1:
    """The stride along an axis in doubles, 0 if there is only one entry."""
    cdef Py_ssize_t stride = cnp.PyArray_STRIDE(array, axis)
    if cnp.PyArray_DIM(array, axis) == 1:
        return 0
    if stride % <Py_ssize_t> sizeof(double) != 0:
        raise ArgumentError(f"an array of the ensemble has a stride of {stride} bytes; a multiple of 8 is needed")
    return stride // <Py_ssize_t> sizeof(double)


cdef bint _doubles(object array, int ndim):
    """Whether `array` is a float64 array with `ndim` dimensions that C code can read."""
    return (cnp.PyArray_CheckExact(array) and cnp.PyArray_NDIM(array) == ndim
            and cnp.PyArray_TYPE(array) == cnp.NPY_DOUBLE and cnp.PyArray_ISBEHAVED_RO(array))


cdef object _row(const cg_variable_t *variable, object entry, Py_ssize_t count, double *out):
    """Write the `count` finite doubles of an entry of a start to `out`: a number for all, or a plain array.

    Returns the number or a copy of the array; None if the slow path is needed.
    """
    cdef double value
    cdef Py_ssize_t j, way
    cdef const double *data
    cdef cnp.npy_intp shape = count
    if _number(entry, &value):
        for j in range(count):
            out[j] = value
        return entry if _as_assumed(variable, &value, 1) else None
    if not (_doubles(entry, 1) and cnp.PyArray_DIM(entry, 0) == count
            and cnp.PyArray_STRIDE(entry, 0) % <Py_ssize_t> sizeof(double) == 0):
        return None
    data, way = <const double *> cnp.PyArray_DATA(entry), cnp.PyArray_STRIDE(entry, 0) // <Py_ssize_t> sizeof(double)
    for j in range(count):
        out[j] = data[j * way]
        if not (isfinite(out[j]) and _as_assumed(variable, &out[j], 1)):
            return None
    kept = cnp.PyArray_SimpleNew(1, &shape, cnp.NPY_DOUBLE)
    memcpy(cnp.PyArray_DATA(kept), out, count * sizeof(double))
    return kept


cdef object plain_start(KernelCore model, initial, parameters, Py_ssize_t count, target):
    """The start of an ensemble if all states and parameters are given by name, as numbers or arrays of float64, and
    satisfy their assumptions.

    The states are written to `target` (n_states, count), float64 with contiguous rows. Returns the states (each a
    number or a copy of the array) and the parameters (each an array (1,) or (count,)); None if the slow path is needed.
    """
    cdef Py_ssize_t k
    cdef double value
    cdef cnp.npy_intp n = model.n_parameters
    cdef PyObject *entry
    if parameters is None and n == 0:
        parameters = {}
    if not (PyDict_CheckExact(initial) and PyDict_Size(initial) == model.n_states and PyDict_CheckExact(parameters)
            and PyDict_Size(parameters) == n and _doubles(target, 2) and cnp.PyArray_ISWRITEABLE(target)
            and cnp.PyArray_DIM(target, 0) == model.n_states and cnp.PyArray_DIM(target, 1) == count
            and cnp.PyArray_STRIDE(target, 1) == <Py_ssize_t> sizeof(double)):
        return None
    states, rows = [], []
    for k in range(model.n_states):
        entry = PyDict_GetItemWithError(initial, model.states[k])
        if entry is NULL:
            return None
        kept = _row(&model.model.states[k], <object> entry, count,
                    <double *> (cnp.PyArray_BYTES(target) + k * cnp.PyArray_STRIDE(target, 0)))
        if kept is None:
            return None
        states.append(kept)
    numbers = cnp.PyArray_SimpleNew(1, &n, cnp.NPY_DOUBLE)
    for k in range(n):
        entry = PyDict_GetItemWithError(parameters, model.parameters[k])
        if entry is NULL:
            return None
        if _number(<object> entry, &value):
            row = numbers[k:k + 1]
            kept = _row(&model.model.parameters[k], <object> entry, 1, <double *> cnp.PyArray_DATA(row))
        else:
            row = np.empty(count)
            kept = _row(&model.model.parameters[k], <object> entry, count, <double *> cnp.PyArray_DATA(row))
        if kept is None:
            return None
        rows.append(row)
    return states, rows


cdef class EnsembleCore:
    """An ensemble with allocated arrays; `run(pieces)` integrates pieces of it, from any thread.

    x0 (n, N) or (n, 1); p: an array (N,) or (1,) for each parameter; y (n, times, N); t, status, nfev, n_steps (N,).
    """

    cdef cg_ensemble_t job
    cdef volatile int stopped
    cdef _Signals signals
    cdef ModelCore model
    cdef str method
    cdef bint kinks
    cdef str paradox
    cdef tuple arrays
    cdef int64_t n
    cdef const cg_lane_set_t *lane_set
    cdef const double **rows     # the parameters: the first entry of each row
    cdef int64_t *strides        # and the stride to the next one, 0 if all trajectories have the same
    cdef bint varied             # whether any parameter varies
    cdef double *atol            # the checked options
    cdef double rtol, max_step, first_step
    cdef int64_t max_steps
    cdef readonly int64_t done   # trajectories finished so far
    cdef readonly int lanes      # number of trajectories that ran side by side
    cdef list found              # tables of events

    def __cinit__(self, ModelCore model, double t0, double t1, x0, list p, inputs, t_eval, y, t, status, nfev,
                  n_steps, str method, dict options, uintptr_t lane_set):
        cdef Py_ssize_t i
        cdef cg_run_t *run
        u = inputs.values if inputs.values.ndim == 2 else inputs.values[:, None]
        if not (_doubles(x0, 2) and _doubles(u, 2) and _doubles(y, 3) and all([_doubles(row, 1) for row in p])
                and (t_eval is None or (_doubles(t_eval, 1) and cnp.PyArray_ISCARRAY_RO(t_eval)))):
            raise ArgumentError("an ensemble needs aligned arrays of float64")
        for array, size in ((t, 8), (status, 4), (nfev, 8), (n_steps, 8)):
            if not (cnp.PyArray_CheckExact(array) and cnp.PyArray_ISCARRAY(array) and cnp.PyArray_NDIM(array) == 1
                    and cnp.PyArray_DIM(array, 0) == cnp.PyArray_DIM(y, 2) and cnp.PyArray_ITEMSIZE(array) == size):
                raise ArgumentError("an ensemble needs vectors of float64, int32, int64 and int64 for times and counts")
        self.n = cnp.PyArray_DIM(y, 2)
        if (len(x0) != model.n_states or len(p) != model.n_parameters or len(y) != model.n_states
                or not cnp.PyArray_ISWRITEABLE(y) or len(u) != model.n_inputs
                or not {x0.shape[1], u.shape[1], *[len(row) for row in p]} <= {1, self.n}
                or cnp.PyArray_DIM(y, 1) != (1 if t_eval is None else len(t_eval))):
            raise ArgumentError("the arrays of the ensemble have inconsistent shapes")
        self.model, self.method = model, method
        self.kinks, self.paradox = options["kinks"], options["paradox"]
        self.lane_set = <const cg_lane_set_t *> lane_set
        self.lanes = 1
        self.arrays, self.found = (x0, p, u, t_eval, y, t, status, nfev, n_steps), []
        if not inputs.constant:
            self.signals = _Signals(inputs, model.n_states)
            self.signals.stop = &self.stopped
        self.job.t0, self.job.t_end = t0, t1
        self.job.x0 = <const double *> cnp.PyArray_DATA(x0)
        self.job.x0_row, self.job.x0_col = _way(x0, 1), _way(x0, 0)
        self.rows = <const double **> calloc(model.n_parameters + 1, sizeof(double *))
        self.strides = <int64_t *> calloc(model.n_parameters + 1, sizeof(int64_t))
        self.atol = <double *> calloc(model.n_states, sizeof(double))
        if self.rows is NULL or self.strides is NULL or self.atol is NULL:
            raise MemoryError
        for i in range(model.n_parameters):
            self.rows[i] = <const double *> cnp.PyArray_DATA(p[i])
            self.strides[i] = _way(p[i], 0)
            self.varied = self.varied or self.strides[i] != 0
        if model.n_inputs > 0:
            self.job.u = <const double *> cnp.PyArray_DATA(u)
            self.job.u_row, self.job.u_col = _way(u, 1), _way(u, 0)
        if t_eval is not None:
            # Never NULL, even if empty: NULL requests the final state.
            self.job.t_eval, self.job.n_eval = <const double *> cnp.PyArray_DATA(t_eval), len(t_eval)
        self.job.y = <double *> cnp.PyArray_DATA(y)
        self.job.y_row, self.job.y_col, self.job.y_time = _way(y, 2), _way(y, 0), _way(y, 1)
        self.job.t, self.job.status = <double *> cnp.PyArray_DATA(t), <int32_t *> cnp.PyArray_DATA(status)
        self.job.n_rhs = <int64_t *> cnp.PyArray_DATA(nfev)
        self.job.n_steps = <int64_t *> cnp.PyArray_DATA(n_steps)
        run = model._take_run(method)
        try:
            if not _configure_fast(model, run, options["rtol"], options["atol"], options["max_step"],
                                   options["first_step"], options["step"], options["max_steps"]):
                _configure(model, run, options)
            self.rtol, self.max_step, self.first_step, self.max_steps = (run.rtol, run.max_step, run.first_step,
                                                                         run.max_steps)
            memcpy(self.atol, run.atol, model.n_states * sizeof(double))
        finally:
            model._give_run(run, method)

    def __init__(self, *arguments):
        pass

    def __dealloc__(self):
        free(self.rows)
        free(self.strides)
        free(self.atol)

    def stop(self):
        """Stop all threads at their next step."""
        self.stopped = 1

    @property
    def error(self):
        """The first error of an input function, or None."""
        return None if self.signals is None else self.signals.error

    def events(self):
        """(trajectory, event, time), arrays (k,), of every model event: by trajectory, then in order of occurrence."""
        table = np.concatenate(self.found) if self.found else np.empty((0, 3))
        table = table[np.argsort(table[:, 0], kind="stable")]
        return table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2].copy()

    def run(self, list pieces, attend=None):
        """Integrate the pieces (first, last), starting with the last one of the list, until none is left.

        With `attend`, for the main thread, the thread checks for signals and calls it about 50 times a second, the
        first time after a few steps.
        """
        cdef cg_run_t *run = NULL
        cdef cg_lanes_run_t *group = NULL
        cdef double *p = NULL
        cdef cg_occurrence_t *events = NULL
        cdef int64_t capacity = 0
        cdef int64_t first, last, block, counted, budget = FIRST_BUDGET if attend is not None else -1
        cdef int status = CG_OK
        cdef size_t size
        cdef _Detector detector = None
        cdef const char *name
        cdef cg_cursor_t cursor
        cdef cg_ensemble_t job
        encoded = self.method.encode()
        name = encoded
        before = None
        try:
            run = self.model._take_run(self.method)
            run.rtol, run.max_step, run.first_step, run.max_steps = (self.rtol, self.max_step, self.first_step,
                                                                     self.max_steps)
            memcpy(run.atol, self.atol, self.model.n_states * sizeof(double))
            if self.signals is not None:
                self.signals.attach(run)
            run.stop = &self.stopped
            detector = _detector_of(self.model, None, self.kinks, self.paradox, self.model.model.n_events > 0)
            if detector is not None:
                detector.attach(run)
            p = <double *> calloc(self.model.n_parameters * (min(self.n, LARGEST_BLOCK) if self.varied else 1) + 1,
                                  sizeof(double))
            if self.model.model.n_events > 0:
                capacity = FIRST_EVENTS + detector.detector.log_capacity
                events = <cg_occurrence_t *> calloc(capacity, sizeof(cg_occurrence_t))
            if p is NULL or (events is NULL and capacity > 0):
                raise MemoryError
            if self.lane_set is not NULL:
                size = cg_lanes_size(self.model.model, self.lane_set, name)
                group = <cg_lanes_run_t *> cg_run_new(size)
                if group is not NULL:
                    cg_lanes_init(group, size, self.model.model, self.lane_set, name)
            while pieces and not self.stopped:
                try:
                    first, last = pieces.pop()
                except IndexError:  # another thread took the last piece
                    break
                if not 0 <= first <= last <= self.n:
                    raise ArgumentError(f"trajectories {first} to {last} are not in an ensemble of {self.n}")
                block = LARGEST_BLOCK if self.varied else self.n
                while first < last and not self.stopped:
                    memset(&cursor, 0, sizeof(cursor))
                    cursor.last = min(block, last - first)
                    cursor.events, cursor.event_capacity = events, capacity
                    self._gather(&job, p, first, cursor.last)
                    counted = 0
                    try:
                        while True:
                            with nogil:
                                if group is not NULL:
                                    status = cg_ensemble_lanes(&job, group, run, &cursor, budget)
                                else:
                                    status = cg_ensemble_run(&job, run, &cursor, budget)
                            if group is not NULL and status != CG_UNSUPPORTED:
                                self.lanes = group.lanes
                            self.done += cursor.n_done - counted
                            counted = cursor.n_done
                            if status == CG_EVENTS_FULL:
                                events = _more_events(&cursor, events, &capacity)
                            elif status == CG_BUDGET_USED:
                                before, budget = _pause(before, budget)
                                attend()
                            elif status == CG_UNSUPPORTED and group is not NULL:
                                cg_run_delete(<cg_run_t *> group)
                                group = NULL
                            else:
                                break
                    finally:
                        if cursor.n_events > 0:
                            self.found.append(_event_table(&cursor, first))
                    if status == CG_BAD_ARGUMENT:
                        raise ArgumentError(f"the integrator refused an argument of the ensemble of {self.model.name}")
                    first += cursor.last
                if attend is not None:
                    attend()
        finally:
            free(p)
            free(events)
            cg_run_delete(<cg_run_t *> group)
            if run is not NULL:
                self.model._give_run(run, self.method)

    cdef void _gather(self, cg_ensemble_t *job, double *p, int64_t first, int64_t count) noexcept:
        """Prepare the job of trajectories first <= j < first + count, with their parameters in p."""
        cdef int64_t i, j, width = count if self.varied else 1
        for i in range(self.model.n_parameters):
            for j in range(width):
                p[i * width + j] = self.rows[i][(first + j) * self.strides[i]]
        job[0] = self.job
        job.p, job.p_col, job.p_row = p, width, 1 if self.varied else 0
        job.x0 += first * job.x0_row
        if job.u is not NULL:
            job.u += first * job.u_row
        job.y += first * job.y_row
        job.t += first
        job.status += first
        job.n_rhs += first
        job.n_steps += first


cdef cg_occurrence_t *_more_events(cg_cursor_t *cursor, cg_occurrence_t *events, int64_t *capacity) except NULL:
    """Double the room for events; on failure the caller keeps the old block."""
    cdef cg_occurrence_t *larger = <cg_occurrence_t *> realloc(events, 2 * capacity[0] * sizeof(cg_occurrence_t))
    if larger is NULL:
        raise MemoryError
    capacity[0] *= 2
    cursor.events, cursor.event_capacity = larger, capacity[0]
    return larger


cdef object _event_table(const cg_cursor_t *cursor, int64_t first):
    """The events of a cursor, (k, 3): trajectory, event, time."""
    cdef int64_t i
    cdef cnp.npy_intp[2] shape
    shape[0], shape[1] = cursor.n_events, 3
    table = cnp.PyArray_SimpleNew(2, shape, cnp.NPY_DOUBLE)
    cdef double *row = <double *> cnp.PyArray_DATA(table)
    for i in range(cursor.n_events):
        row[0], row[1], row[2] = first + cursor.events[i].trajectory, cursor.events[i].event, cursor.events[i].t
        row += 3
    return table
