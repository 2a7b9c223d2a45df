# Batches: the memory of many runs, and what each thread needs to advance them. Included by _core.pyx.

cdef class _BatchWorker:
    """The workspace of one thread: a run, and two groups of lanes or none."""

    cdef cg_run_t *run
    cdef cg_lanes_run_t *group

    def __cinit__(self, BatchCore core, dict fields, uintptr_t address):
        cdef ModelCore model = core.model
        cdef const cg_lane_set_t *lane_set = <const cg_lane_set_t *> address
        cdef size_t size
        cdef given_t given = BY_DEFAULT
        _read(fields, &given)
        self.run = model._take_run(fields["method"])
        _configure(model, self.run, &given, fields)
        self.run.stop = &core.stopped
        if lane_set is not NULL:
            name = PyUnicode_AsUTF8(fields["method"])
            size = cg_lanes_size(model.model, lane_set, name)
            self.group = <cg_lanes_run_t *> cg_run_new(size)
            if self.group is NULL or cg_lanes_init(self.group, size, model.model, lane_set, name) != CG_OK:
                raise ArgumentError(f"the lanes of {model.name} do not have the method {fields['method']}")

    def __dealloc__(self):
        cg_run_delete(self.run)
        cg_run_delete(<cg_run_t *> self.group)


cdef class BatchCore:
    """The table of a batch, (rows, columns), and the workspaces of its threads; see cg_batch.h.

    `row` has the first row of each part. A column belongs to one thread at a time.
    """

    cdef cg_batch_t batch
    cdef volatile int stopped
    cdef ModelCore model
    cdef list workers
    cdef readonly object table
    cdef readonly dict row
    cdef readonly int64_t columns  # with those that belong to no run
    cdef readonly int64_t block    # `advance` takes multiples of it

    def __cinit__(self, ModelCore model, int64_t n, options, uintptr_t lane_set, int threads):
        cdef Py_ssize_t skip
        self.model = model
        cg_batch_init(&self.batch, model.model)
        self.block = CG_BATCH_BLOCK
        self.columns = (n + CG_BATCH_BLOCK - 1) // CG_BATCH_BLOCK * CG_BATCH_BLOCK
        # An odd number of cache lines: with a power of two, the rows of a run would displace one another.
        self.batch.stride = self.columns + 8
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
        self.workers = [_BatchWorker(self, vars(options), lane_set) for _ in range(threads)]

    def __init__(self, *arguments):
        pass

    def start(self, runs):
        """Start the runs with these indices, whose states, parameters, inputs and times are in the table."""
        cdef const int64_t[::1] columns = runs
        cdef _BatchWorker worker = self.workers[0]
        cdef Py_ssize_t i
        for i in range(columns.shape[0]):
            if not 0 <= columns[i] < self.columns:
                raise ArgumentError(f"run {columns[i]} is not in the batch")
            cg_batch_start(&self.batch, worker.run, columns[i])

    def stop(self, bint stopped):
        """Stop all threads at their next step, or let them go on."""
        self.stopped = stopped

    def evaluate(self, uintptr_t companion, double[:, ::1] out not None, int64_t first, int64_t last):
        """Write the expressions of a companion for the runs first <= j < last to out[:, first:last]."""
        cdef const cg_companion_t *expressions = <const cg_companion_t *> companion
        cdef int status
        cdef void *scratch
        if out.shape[0] != expressions.n_values or not (
                0 <= first <= last <= min(out.shape[1], self.columns) and first % CG_BATCH_BLOCK == 0):
            raise ArgumentError(f"runs {first} to {last} are not in the batch or not in its array")
        scratch = cg_run_new(cg_batch_scratch(&self.batch, expressions))
        if scratch is NULL:
            raise MemoryError
        with nogil:
            status = cg_batch_evaluate(&self.batch, expressions, scratch, first, last, &out[0, 0], out.shape[1])
        cg_run_delete(<cg_run_t *> scratch)
        if status == CG_UNSUPPORTED:
            raise ArgumentError(f"the compiled expressions belong to another model than {self.model.name}")

    def advance(self, int thread, int64_t first, int64_t last, double time, double duration):
        """Advance the columns first <= j < last to `time`; if that is NaN, each by `duration`."""
        cdef _BatchWorker worker = self.workers[thread]
        cdef cg_batch_goal_t goal
        cdef int status
        if not (0 <= first <= last <= self.columns and first % CG_BATCH_BLOCK == 0 and last % CG_BATCH_BLOCK == 0):
            raise ArgumentError(f"columns {first} to {last} are not blocks of the batch")
        goal.time, goal.duration = time, duration
        with nogil:
            status = cg_batch_advance(&self.batch, worker.run, worker.group, first, last, goal)
        if status == CG_BAD_ARGUMENT or status == CG_UNSUPPORTED:
            raise ArgumentError(f"the integrator refused an option of the batch of {self.model.name}")
