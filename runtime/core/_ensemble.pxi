# Ensembles: the work of one thread. Included by _core.pyx.

cdef enum:
    LARGEST_BLOCK = 4096  # trajectories whose parameters are gathered at once
    LEAST_BLOCK = 256
    MOST_SAMPLES = 1 << 18  # of an input of the trajectories of a block
    FIRST_EVENTS = 256
    MOST_SHELF_BYTES = 1 << 22  # of each thread


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


cdef bint _counts(object array, int size, int64_t n):
    """Whether `array` is a vector of n entries of `size` bytes that C code can write."""
    return (cnp.PyArray_CheckExact(array) and cnp.PyArray_ISCARRAY(array) and cnp.PyArray_NDIM(array) == 1
            and cnp.PyArray_DIM(array, 0) == n and cnp.PyArray_ITEMSIZE(array) == size)


cdef class EnsembleCore:
    """The trajectories of an `EnsemblePart`; `run(pieces)` integrates pieces of them, from any thread."""

    cdef cg_ensemble_t job
    cdef volatile int stopped
    cdef _Signals signals
    cdef ModelCore model
    cdef dict options
    cdef tuple arrays            # keeps the memory that `job` points to
    cdef int64_t n
    cdef const cg_lane_set_t *lane_set
    cdef const double **rows     # the parameters: the first entry of each row
    cdef int64_t *strides        # and the stride to the next one, 0 if all trajectories have the same
    cdef bint varied             # whether any parameter varies
    cdef readonly int64_t done   # trajectories finished so far
    cdef readonly int lanes      # number of trajectories that ran side by side
    cdef list found              # tables of events
    cdef _Observed observed      # None: nothing is observed

    def __cinit__(self, ModelCore model, part):
        inputs, job, results = part.inputs, part.job, part.results
        u = inputs.values if inputs.values.ndim == 2 else inputs.values[:, None]
        self.model, self.options, self.found, self.lanes = model, vars(job.options), [], 1
        self.lane_set = <const cg_lane_set_t *> <uintptr_t> part.lane_set
        self._take(part.x0, part.start.past, part.start.parameters, u, job.t_eval, results)
        self.job.t0, self.job.t_end = job.t_span
        if job.observer is not None:
            self.observed = _Observed(model, job.observer, results.observed, self.n)
        if not inputs.constant:
            self.signals = _Signals(inputs, model.n_states)
            self.signals.stop = &self.stopped

    def __init__(self, *arguments):
        pass

    cdef int _take(self, x0, past, list p, u, t_eval, results) except -1:
        """Point the job to its arrays; raise ArgumentError if C code cannot use them."""
        cdef Py_ssize_t i
        y, end = results.y, results.end
        if not (_doubles(x0, 2) and _doubles(past, 2) and _doubles(u, 2) and _doubles(y, 3) and (end is None or _doubles(end, 2)) and all([_doubles(row, 1) for row in p])
                and (t_eval is None or (_doubles(t_eval, 1) and cnp.PyArray_ISCARRAY_RO(t_eval)))):
            raise ArgumentError("an ensemble needs aligned arrays of float64")
        self.n = cnp.PyArray_DIM(y, 2)
        counts = results.t, results.status, results.nfev, results.n_steps
        if not (_counts(counts[0], 8, self.n) and _counts(counts[1], 4, self.n) and _counts(counts[2], 8, self.n)
                and _counts(counts[3], 8, self.n)):
            raise ArgumentError("an ensemble needs vectors of float64, int32, int64 and int64 for times and counts")
        fits = self._fits(x0, 1) and self._fits(past, 1) and self._fits(u, 1)
        for row in p:
            fits = fits and self._fits(row, 0)
        if not (fits and len(x0) == self.model.n_states and len(p) == self.model.n_parameters and len(past) == self.model.model.n_events
                and len(y) == self.model.n_states and cnp.PyArray_ISWRITEABLE(y) and len(u) == self.model.n_inputs
                and cnp.PyArray_DIM(y, 1) == (1 if t_eval is None else len(t_eval))
                and (end is None or (end.shape == (len(y), self.n) and cnp.PyArray_ISWRITEABLE(end)))):
            raise ArgumentError("the arrays of the ensemble have inconsistent shapes")
        self.arrays = x0, past, p, u, t_eval, y, end, counts
        self.rows = <const double **> _memory(calloc(self.model.n_parameters + 1, sizeof(double *)))
        self.strides = <int64_t *> _memory(calloc(self.model.n_parameters + 1, sizeof(int64_t)))
        for i in range(self.model.n_parameters):
            self.rows[i], self.strides[i] = <const double *> cnp.PyArray_DATA(p[i]), _way(p[i], 0)
            self.varied = self.varied or self.strides[i] != 0
        self.job.x0 = <const double *> cnp.PyArray_DATA(x0)
        self.job.x0_row, self.job.x0_col = _way(x0, 1), _way(x0, 0)
        self.job.past = <const double *> cnp.PyArray_DATA(past)
        self.job.past_row, self.job.past_col = _way(past, 1), _way(past, 0)
        if self.model.n_inputs > 0:
            self.job.u = <const double *> cnp.PyArray_DATA(u)
            self.job.u_row, self.job.u_col = _way(u, 1), _way(u, 0)
        if t_eval is not None:
            # Never NULL, even if empty: NULL requests the final state.
            self.job.t_eval, self.job.n_eval = <const double *> cnp.PyArray_DATA(t_eval), len(t_eval)
        self.job.y = <double *> cnp.PyArray_DATA(y)
        self.job.y_row, self.job.y_col, self.job.y_time = _way(y, 2), _way(y, 0), _way(y, 1)
        if end is not None:
            self.job.end = <double *> cnp.PyArray_DATA(end)
            self.job.end_row, self.job.end_col = _way(end, 1), _way(end, 0)
        self.job.t = <double *> cnp.PyArray_DATA(results.t)
        self.job.status = <int32_t *> cnp.PyArray_DATA(results.status)
        self.job.n_rhs = <int64_t *> cnp.PyArray_DATA(results.nfev)
        self.job.n_steps = <int64_t *> cnp.PyArray_DATA(results.n_steps)
        return 0

    cdef bint _fits(self, object array, int axis):
        """Whether an array has one entry along an axis, or one for each trajectory."""
        return cnp.PyArray_DIM(array, axis) == 1 or cnp.PyArray_DIM(array, axis) == self.n

    def __dealloc__(self):
        free(self.rows)
        free(self.strides)

    def stop(self) -> None:
        """Stop all threads at their next step."""
        self.stopped = 1

    @property
    def error(self) -> BaseException | None:
        """The first error of an input function, or None."""
        return None if self.signals is None else self.signals.error

    def events(self) -> Array:
        """(trajectory, event, time) of every model event, (k, 3): by trajectory, then in order of occurrence."""
        table = np.concatenate(self.found) if self.found else np.empty((0, 3))
        return table[np.argsort(table[:, 0], kind="stable")]

    def run(self, list pieces, attend: Callable[..., int] | None = None) -> None:
        """Integrate the pieces (first, last), starting with the last one of the list, until none is left.

        With `attend`, for the main thread, the thread checks for signals and calls it about 50 times a second, the
        first time after a few steps, with the range of a piece that it has not begun; what it returns is the end of what
        it then runs of the piece. After each piece it is called without arguments.
        """
        cdef int64_t first, last, count
        cdef _Worker worker = _Worker(self, attend)
        try:
            while pieces and not self.stopped:
                try:
                    first, last = pieces.pop()
                except IndexError:  # another thread took the last piece
                    break
                if not 0 <= first <= last <= self.n:
                    raise ArgumentError(f"trajectories {first} to {last} are not in an ensemble of {self.n}")
                while first < last and not self.stopped:
                    count = min(worker.block, last - first)
                    worker.integrate(first, count)
                    first += count
                if attend is not None:
                    attend()
        finally:
            worker.release()

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
        if job.past is not NULL:
            job.past += first * job.past_row
        job.y += first * job.y_row
        if job.end is not NULL:
            job.end += first * job.end_row
        job.t += first
        job.status += first
        job.n_rhs += first
        job.n_steps += first
        if self.observed is not None:
            job.observed, job.observed_row = self.observed.value + first, self.observed.row
            job.observed_t = job.observed + self.observed.count * self.observed.row


cdef class _Worker:
    """The workspace of one thread: a run, a group of lanes, and room for parameters and events."""

    cdef EnsembleCore core
    cdef object attend
    cdef cg_run_t *run
    cdef cg_lanes_run_t *group
    cdef cg_observer_t *observer[3]  # of single trajectories, and of two groups of lanes
    cdef _Detector detector
    cdef _Signals signals       # None, or its own: inputs with samples of each trajectory
    cdef int64_t block          # most trajectories integrated in one call
    cdef double *p              # their parameters
    cdef double *shelf          # room for states at given times of trajectories in lanes
    cdef int32_t n_shelves
    cdef cg_occurrence_t *events
    cdef int64_t capacity
    cdef int64_t budget         # steps until signals are checked; negative: never
    cdef object before          # the time of the last check

    def __cinit__(self, EnsembleCore core, attend):
        cdef ModelCore model = core.model
        cdef given_t given = BY_DEFAULT
        cdef size_t size
        cdef int64_t width
        cdef int i
        self.core, self.attend, self.budget = core, attend, -1
        if attend is not None:
            self.before, self.budget = perf_counter(), FIRST_BUDGET
        _read(core.options, &given)
        self.run = model._take_run(<object> given.method, core.lane_set is NULL and core.n >= WORTH)
        _configure(model, self.run, &given, core.options)
        if core.signals is not None:
            core.signals.attach(self.run)
        self.run.stop = &core.stopped
        self.detector = _detector_of(model, None, &given, model.model.n_events > 0)
        if self.detector is not None:
            self.detector.attach(self.run)
        self.block = LARGEST_BLOCK if core.varied else core.n
        if core.signals is not None and core.signals.rows:
            self.signals = _Signals(core.signals.inputs, model.n_states)
            self.run.signals = self.signals.table
            self.block = min(self.block, max(LEAST_BLOCK, MOST_SAMPLES // max([len(rows.times) for _, rows in self.signals.rows])))
        width = min(core.n, self.block) if core.varied else 1
        self.p = <double *> _memory(calloc(model.n_parameters * width + 1, sizeof(double)))
        if model.model.n_events > 0:
            self.capacity = FIRST_EVENTS + self.detector.detector.log_capacity
            self.events = <cg_occurrence_t *> _memory(calloc(self.capacity, sizeof(cg_occurrence_t)))
        if core.observed is not None:
            self.observer[0] = core.observed.new(1, self.run.order)
        if core.lane_set is not NULL:
            name = PyUnicode_AsUTF8(core.options["method"])
            size = cg_lanes_size(model.model, core.lane_set, name)
            self.group = <cg_lanes_run_t *> cg_run_new(size)
            if self.group is not NULL:
                cg_lanes_init(self.group, size, model.model, core.lane_set, name)
                self._make_shelves()
                if core.observed is not None:
                    for i in range(CG_RUNNING):
                        self.observer[1 + i] = core.observed.new(core.lane_set.n_lanes, self.run.order)

    def __dealloc__(self):
        free(self.p)
        free(self.shelf)
        free(self.events)
        for observer in self.observer:
            cg_run_delete(<cg_run_t *> observer)
        cg_run_delete(<cg_run_t *> self.group)
        cg_run_delete(self.run)

    cdef void _make_shelves(self) noexcept:
        """Allocate shelves that stay in the cache; none if a few of them do not fit."""
        cdef int64_t size
        if self.core.job.t_eval is not NULL and self.core.n > 1:
            size = cg_shelf_size(self.group, self.core.job.n_eval) * <int64_t> sizeof(double)
            self.n_shelves = min(CG_SHELVES, MOST_SHELF_BYTES // size, -(-self.core.n // self.group.lanes))
            self.shelf = <double *> malloc(self.n_shelves * size) if self.n_shelves > 0 else NULL

    cdef void release(self) noexcept:
        """Keep the run for the next call."""
        self.core.model.calls += self.run.n_rhs * (self.core.n if self.group is NULL else 0)  # all but alike
        self.core.model._give_run(self.run, self.core.options["method"])
        self.run = NULL

    cdef int integrate(self, int64_t first, int64_t count) except -1:
        """Integrate trajectories first <= j < first + count."""
        cdef EnsembleCore core = self.core
        cdef cg_cursor_t cursor
        cdef cg_ensemble_t job
        cdef int64_t ahead, counted = 0
        cdef int status = CG_OK
        memset(&cursor, 0, sizeof(cursor))
        cursor.last, cursor.events, cursor.event_capacity = count, self.events, self.capacity
        cursor.shelf, cursor.n_shelves = self.shelf, self.n_shelves
        core._gather(&job, self.p, first, count)
        if self.signals is not None:
            self.signals.read(first, first + count)
        try:
            while True:
                job.observer[0] = self.observer[0 if self.group is NULL else 1]
                job.observer[1] = self.observer[2]
                with nogil:
                    if self.group is not NULL:
                        status = cg_ensemble_lanes(&job, self.group, self.run, &cursor, self.budget)
                    else:
                        status = cg_ensemble_run(&job, self.run, &cursor, self.budget)
                if self.group is not NULL and status != CG_UNSUPPORTED:
                    core.lanes = self.group.lanes
                core.done += cursor.n_done - counted
                counted = cursor.n_done
                if status == CG_EVENTS_FULL:
                    self._enlarge(&cursor)
                elif status == CG_BUDGET_USED:
                    self.before, self.budget = _pause(self.before, self.budget)
                    # Without lanes `next` is the one under way.
                    ahead = cursor.next + (self.group is NULL and cursor.begun != 0)
                    cursor.last = self.attend(first + ahead, first + cursor.last) - first
                elif status == CG_UNSUPPORTED and self.group is not NULL:
                    cg_run_delete(<cg_run_t *> self.group)
                    self.group = NULL
                else:
                    break
        finally:
            if self.signals is not None:
                self.signals.release()
            if self.group is not NULL:
                cg_shelves_write(&job, self.group, &cursor)
            if cursor.n_events > 0:
                core.found.append(_event_table(&cursor, first))
        if status == CG_BAD_ARGUMENT:
            raise ArgumentError(f"the integrator refused an argument of the ensemble of {core.model.name}")
        return 0

    cdef int _enlarge(self, cg_cursor_t *cursor) except -1:
        """Double the room for events."""
        self.events = <cg_occurrence_t *> _memory(realloc(self.events, 2 * self.capacity * sizeof(cg_occurrence_t)))
        self.capacity *= 2
        cursor.events, cursor.event_capacity = self.events, self.capacity
        return 0


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
