# Batches: the memory of many runs, and what each thread needs to advance them. Included by _core.pyx.

cdef class _BatchWorker:
    """The workspace of one thread: a run, and two groups of lanes or none."""

    cdef cg_run_t *run
    cdef cg_lanes_run_t *group
    cdef const cg_signal_t *plain  # inputs that are numbers

    def __cinit__(self, BatchCore core, options, uintptr_t address):
        cdef ModelCore model = core.model
        cdef const cg_lane_set_t *lane_set = <const cg_lane_set_t *> address
        cdef size_t size
        cdef given_t given = BY_DEFAULT
        _read(vars(options), &given)
        self.run = model._take_run(options.method, lane_set is NULL)
        _configure(model, self.run, &given, vars(options))
        self.run.stop, self.plain = &core.stopped, self.run.signals
        if lane_set is not NULL:
            name = PyUnicode_AsUTF8(options.method)
            size = cg_lanes_size(model.model, lane_set, name)
            self.group = <cg_lanes_run_t *> cg_run_new(size)
            if self.group is NULL or cg_lanes_init(self.group, size, model.model, lane_set, name) != CG_OK:
                raise ArgumentError(f"the lanes of {model.name} do not have the method {options.method}")

    def __dealloc__(self):
        cg_run_delete(self.run)
        cg_run_delete(<cg_run_t *> self.group)


cdef enum:
    PIECE = 16384  # columns that the calling thread works on before it handles signals

ctypedef int (*piece_t)(job_t *, int thread, int64_t first, int64_t last) noexcept nogil

cdef struct change_t:  # new values of an input
    int64_t row  # of the table
    int64_t step  # 0: one value for all runs
    const double *values

cdef struct job_t:  # what the threads are to do
    cg_batch_t *batch
    int threads
    int64_t n        # runs
    int64_t columns  # with those that belong to no run
    piece_t piece
    int *status             # of each thread
    cg_run_t **runs         # of each thread
    cg_lanes_run_t **groups
    int n_changes           # to advance
    change_t *changes
    cg_batch_goal_t goal
    cg_listener_t listener  # the calling thread
    const cg_companion_t *companion  # to evaluate
    double *out
    char *scratch
    size_t room  # bytes of it for each thread


cdef class BatchCore:
    """The table of a batch, (rows, columns), and the workspaces of its threads; see cg_batch.h.

    `row` has the first row of each part. A column belongs to one thread at a time.
    """

    cdef cg_batch_t batch
    cdef job_t job
    cdef volatile int stopped
    cdef ModelCore model
    cdef _Signals signals
    cdef list workers
    cdef Team team
    cdef int64_t budget
    cdef object before  # the time of the last check for signals, and the error that it raised
    cdef object error
    cdef readonly object table
    cdef readonly dict row

    def __cinit__(self, ModelCore model, int64_t n, options: RunOptions, uintptr_t lane_set, Team team):
        cdef Py_ssize_t skip
        cdef int i
        cdef _BatchWorker worker
        self.model, self.team, self.budget = model, team, FIRST_BUDGET
        cg_batch_init(&self.batch, model.model)
        self.job.batch, self.job.threads, self.job.n = &self.batch, team.size, n
        self.job.listener.listen, self.job.listener.context = _listen, <void *> self
        self.job.listener.left = FIRST_BUDGET
        self.job.columns = (n + CG_BATCH_BLOCK - 1) // CG_BATCH_BLOCK * CG_BATCH_BLOCK
        # An odd number of cache lines: with a power of two, the rows of a run would displace one another.
        self.batch.stride = self.job.columns + 8
        rows = self.batch.row[<int> CG_BATCH_PARTS]
        try:
            memory = np.zeros(rows * self.batch.stride + 8)
        except (MemoryError, ValueError) as error:
            raise ArgumentError(f"n = {n} runs of {model.name} do not fit into memory: {error}") from error
        skip = (-(<uintptr_t> cnp.PyArray_DATA(memory)) % 64) // 8
        self.table = memory[skip : skip + rows * self.batch.stride].reshape(rows, self.batch.stride)
        self.batch.table = <double *> cnp.PyArray_DATA(self.table)
        self.row = {"x": self.batch.row[<int> CG_BATCH_X], "p": self.batch.row[<int> CG_BATCH_P],
                    "u": self.batch.row[<int> CG_BATCH_U], "t": self.batch.row[<int> CG_BATCH_T],
                    "fresh": self.batch.row[<int> CG_BATCH_FRESH], "status": self.batch.row[<int> CG_BATCH_STATUS]}
        self.table[self.row["status"]].view(np.int64)[:] = CG_BAD_ARGUMENT  # columns without a run
        self.workers = [_BatchWorker(self, options, lane_set) for _ in range(team.size)]
        self.job.runs = <cg_run_t **> _memory(calloc(team.size, sizeof(cg_run_t *)))
        self.job.groups = <cg_lanes_run_t **> _memory(calloc(team.size, sizeof(cg_lanes_run_t *)))
        self.job.status = <int *> _memory(calloc(team.size, sizeof(int)))
        for i in range(team.size):
            worker = self.workers[i]
            self.job.runs[i], self.job.groups[i] = worker.run, worker.group

    def __dealloc__(self):
        free(self.job.runs)
        free(self.job.groups)
        free(self.job.status)

    def __init__(self, *arguments):
        pass

    def feed(self, inputs: Inputs) -> None:
        """Take the samples among the inputs, of which every run has a row of its own or all have the same."""
        cdef _BatchWorker worker = self.workers[0]
        cdef _Signals signals = _Signals(inputs, self.model.n_states)
        cdef Py_ssize_t i
        signals.read(0, self.job.n)
        for i in range(self.model.n_inputs):
            if worker.plain is not NULL and signals.table[i].kind == CG_SIGNAL_CONSTANT:
                signals.table[i].kind = worker.plain[i].kind
        for worker in self.workers:
            worker.run.signals = signals.table
        self.signals = signals

    def start(self, runs: NDArray[np.int64]) -> None:
        """Start the runs with these indices, whose states, parameters, inputs and times are in the table."""
        cdef const int64_t[::1] columns = runs
        cdef _BatchWorker worker = self.workers[0]
        cdef Py_ssize_t i
        for i in range(columns.shape[0]):
            if not 0 <= columns[i] < self.job.columns:
                raise ArgumentError(f"run {columns[i]} is not in the batch")
            cg_batch_start(&self.batch, worker.run, columns[i])

    def advance(self, double time, double duration, list changes) -> bool:
        """Write new values of inputs and advance the runs to `time`; if that is NaN, each by `duration`.

        `changes`: the index of each input, and contiguous float64 arrays (n,) or (1,). Returns False, and does nothing,
        if a value is not finite. Ctrl-C is raised when each run is where it was, or where it was to go.
        """
        cdef const double[::1] values
        cdef change_t *written = <change_t *> _memory(calloc(len(changes) + 1, sizeof(change_t)))
        try:
            for k, (row, array) in enumerate(changes):
                values = array
                if not (0 <= row < self.model.n_inputs and values.shape[0] in (1, self.job.n)):
                    raise ArgumentError(f"the values of input {row} have shape {array.shape}")
                written[k].row, written[k].step = self.batch.row[<int> CG_BATCH_U] + row, values.shape[0] > 1
                written[k].values = &values[0]
                if not cg_all_finite(&values[0], values.shape[0]):
                    return False
            self.job.n_changes, self.job.changes = len(changes), written
            self.job.goal.time, self.job.goal.duration = time, duration
            self._together(_advance_piece)
            return True
        finally:
            free(written)

    def evaluate(self, uintptr_t companion, double[:, ::1] out not None) -> None:
        """Write the expressions of a companion for every run to out, (n_values, n)."""
        cdef const cg_companion_t *expressions = <const cg_companion_t *> companion
        if out.shape[0] != expressions.n_values or out.shape[1] != self.job.n:
            raise ArgumentError(f"an array ({expressions.n_values}, {self.job.n}) is needed")
        self.job.room = cg_batch_scratch(&self.batch, expressions)
        self.job.scratch = <char *> _memory(cg_run_new(self.job.room * self.team.size))
        self.job.companion, self.job.out = expressions, &out[0, 0] if out.size else NULL
        try:
            self._together(_evaluate_piece)
        finally:
            cg_run_delete(<cg_run_t *> self.job.scratch)

    cdef int _together(self, piece_t piece) except -1:
        """Call `piece` for the columns of all threads. Between pieces of its own, this thread handles signals."""
        cdef int64_t first = 0, last = _share(&self.job, 1)
        cdef int i, status = CG_OK
        memset(self.job.status, 0, self.team.size * sizeof(int))
        self.stopped, self.job.piece = 0, piece
        self.team.start(_do_share, &self.job)
        try:
            while first < last and status == CG_OK:
                with nogil:
                    status = piece(&self.job, 0, first, min(first + PIECE, last))
                if self.error is not None:
                    error, self.error = self.error, None
                    raise error
                PyErr_CheckSignals()
                first += PIECE
        except BaseException:
            self.stopped = 1
            raise
        finally:
            self.team.finish(&self.stopped)
        for i in range(self.team.size):
            status = status if status != CG_OK else self.job.status[i]
        if status == CG_BAD_ARGUMENT:
            raise ArgumentError(f"the integrator refused an option of the batch of {self.model.name}")
        if status == CG_UNSUPPORTED:
            raise ArgumentError(f"the compiled code belongs to another model than {self.model.name}")
        return 0


cdef int64_t _listen(void *context) noexcept with gil:
    """Check for signals in the calling thread; the result is the number of trial steps until the next check."""
    core = <BatchCore> context
    try:
        core.before, core.budget = _pause(core.before, core.budget)
        return core.budget
    except BaseException as error:
        core.before, core.error = None, error
        return 0


cdef int64_t _share(const job_t *job, int thread) noexcept nogil:
    """The first column of a thread: the same one in every call, so that its columns stay in its core's cache."""
    return job.columns // CG_BATCH_BLOCK * thread // job.threads * CG_BATCH_BLOCK


cdef void _do_share(void *context, int thread) noexcept nogil:
    """The work of a thread of the team."""
    cdef job_t *job = <job_t *> context
    job.status[thread] = job.piece(job, thread, _share(job, thread), _share(job, thread + 1))


cdef int _advance_piece(job_t *job, int thread, int64_t first, int64_t last) noexcept nogil:
    cdef int64_t j, end = min(last, job.n)
    cdef int64_t *fresh = <int64_t *> (job.batch.table + job.batch.row[<int> CG_BATCH_FRESH] * job.batch.stride)
    cdef double *row
    cdef change_t *change
    cdef int k
    for k in range(job.n_changes):
        change = &job.changes[k]
        row = job.batch.table + change.row * job.batch.stride
        if change.step:
            memcpy(row + first, change.values + first, (end - first) * sizeof(double))
        else:
            for j in range(first, end):
                row[j] = change.values[0]
    if job.n_changes:
        memset(fresh + first, 0xff, (end - first) * sizeof(int64_t))  # -1
    return cg_batch_advance(job.batch, job.runs[thread], job.groups[thread], first, last, job.goal,
                            &job.listener if thread == 0 else NULL)


cdef int _evaluate_piece(job_t *job, int thread, int64_t first, int64_t last) noexcept nogil:
    return cg_batch_evaluate(job.batch, job.companion, job.scratch + thread * job.room, first, min(last, job.n), job.out,
                             job.n)
