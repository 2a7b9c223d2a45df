# Chunks of an ensemble. Included by _core.pyx.

cdef enum:
    LARGEST_BLOCK = 4096  # trajectories whose parameters are gathered at once


cdef int64_t _way(Py_ssize_t stride, Py_ssize_t length) except? 0:
    """The way to the next entry in doubles, 0 where there is only one."""
    if length == 1:
        return 0
    if stride % <Py_ssize_t> sizeof(double) != 0:
        raise ArgumentError(f"an array of the ensemble steps by {stride} bytes, which are no whole number of float64")
    return stride // <Py_ssize_t> sizeof(double)


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
    cdef const cg_lane_set_t *lane_set
    cdef const double **rows     # the parameters: the first entry of each row
    cdef int64_t *strides        # and the way to the next one, 0 where all trajectories have the same
    cdef bint varied             # whether any parameter varies

    def __cinit__(self, ModelCore model, double t0, double t1, const double[:, :] x0, list p, inputs,
                  t_eval, double[:, :, :] y, double[::1] t, int32_t[::1] status, int64_t[::1] nfev,
                  int64_t[::1] n_steps, str method, dict options, uintptr_t lane_set):
        values = inputs.values if inputs.values.ndim == 2 else inputs.values[:, None]
        cdef const double[:, :] u = values
        cdef const double[:] row
        cdef Py_ssize_t i
        self.n = y.shape[2]
        if (x0.shape[0] != model.n_states or len(p) != model.n_parameters or y.shape[0] != model.n_states
                or min(t.shape[0], status.shape[0], nfev.shape[0], n_steps.shape[0]) < self.n
                or not {x0.shape[1], u.shape[1]} | {len(values) for values in p} <= {1, self.n}
                or y.shape[1] != (1 if t_eval is None else len(t_eval))):
            raise ArgumentError("the arrays of the ensemble do not fit together")
        self.model, self.method, self.options = model, method, options
        self.lane_set = <const cg_lane_set_t *> lane_set
        self.arrays = (x0, p, u, t_eval, y, t, status, nfev, n_steps)
        if not inputs.constant:
            self.signals = _Signals(inputs, model.n_states)
        self.job.t0, self.job.t_end = t0, t1
        if x0.shape[1] > 0:
            self.job.x0 = &x0[0, 0]
        self.job.x0_row = _way(x0.strides[1], x0.shape[1])
        self.job.x0_col = _way(x0.strides[0], x0.shape[0])
        self.rows = <const double **> calloc(model.n_parameters + 1, sizeof(double *))
        self.strides = <int64_t *> calloc(model.n_parameters + 1, sizeof(int64_t))
        if self.rows is NULL or self.strides is NULL:
            raise MemoryError
        for i in range(model.n_parameters):
            row = p[i]
            self.rows[i] = &row[0]
            self.strides[i] = _way(row.strides[0], row.shape[0])
            self.varied = self.varied or self.strides[i] != 0
        if model.n_inputs > 0 and u.shape[1] > 0:
            self.job.u = &u[0, 0]
        self.job.u_row = _way(u.strides[1], u.shape[1])
        self.job.u_col = _way(u.strides[0], u.shape[0])
        if t_eval is not None:
            # Never NULL, even where it is empty: NULL asks for the final state.
            self.job.t_eval, self.job.n_eval = <const double *> cnp.PyArray_DATA(t_eval), len(t_eval)
        if self.n > 0 and y.shape[1] > 0:
            self.job.y = &y[0, 0, 0]
        self.job.y_row = _way(y.strides[2], y.shape[2])
        self.job.y_col = _way(y.strides[0], y.shape[0])
        self.job.y_time = _way(y.strides[1], y.shape[1])
        if self.n > 0:
            self.job.t, self.job.status = &t[0], &status[0]
            self.job.n_rhs, self.job.n_steps = &nfev[0], &n_steps[0]

    def __init__(self, *arguments):
        pass

    def __dealloc__(self):
        free(self.rows)
        free(self.strides)

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
        cdef int64_t done = 0, block
        cdef int status = CG_OK
        cdef cg_lanes_run_t *group = NULL
        cdef double *p = NULL
        cdef size_t size
        cdef _Watch watch = None
        if not 0 <= first <= last <= self.n:
            raise ArgumentError(f"trajectories {first} to {last} are not in an ensemble of {self.n}")
        if first == last or self.stopped:
            return 0
        cdef const char *name
        run = self.model._take_run(self.method)
        encoded = self.method.encode()
        name = encoded
        block = min(last - first, LARGEST_BLOCK) if self.varied else last - first
        p = <double *> calloc(self.model.n_parameters * (block if self.varied else 1) + 1, sizeof(double))
        try:
            if p is NULL:
                raise MemoryError
            _configure(self.model, run, self.options)
            if self.signals is not None:
                self.signals.attach(run)
            run.stop = &self.stopped
            watch = _watch_of(self.model, None, self.options.get("kinks", False), self.options.get("paradox", "stop"),
                              False)
            if watch is not None:
                watch.attach(run)
            with nogil:
                if self.lane_set is not NULL:
                    size = cg_lanes_size(self.model.model, self.lane_set, name)
                    group = <cg_lanes_run_t *> cg_run_new(size)
                    if group is not NULL:
                        cg_lanes_init(group, size, self.model.model, self.lane_set, name)
                while first < last and not self.stopped and status != CG_BAD_ARGUMENT:
                    status = self._block(group, run, p, first, min(first + block, last), &done)
                    first += block
        finally:
            free(p)
            cg_run_delete(<cg_run_t *> group)
            self.model._give_run(run, self.method)
        if status == CG_BAD_ARGUMENT:
            raise ArgumentError(f"the integrator refused an argument of the ensemble of {self.model.name}")
        if self.error is not None:
            self.stopped = 1
        return done

    cdef int _block(self, cg_lanes_run_t *group, cg_run_t *run, double *p, int64_t first, int64_t last,
                    int64_t *done) noexcept nogil:
        """Run a block with its parameters gathered in p: in lanes where there are any, else one at a time.

        Returns CG_BAD_ARGUMENT where nothing was done.
        """
        cdef cg_ensemble_t job = self.job
        cdef int status = CG_UNSUPPORTED
        cdef int64_t i, j, count = last - first
        cdef int64_t width = count if self.varied else 1
        for i in range(self.model.n_parameters):
            for j in range(width):
                p[i * width + j] = self.rows[i][(first + j) * self.strides[i]]
        job.p, job.p_col, job.p_row = p, width, 1 if self.varied else 0
        job.x0 += first * job.x0_row
        if job.u is not NULL:
            job.u += first * job.u_row
        if job.y is not NULL:
            job.y += first * job.y_row
        job.t += first
        job.status += first
        job.n_rhs += first
        job.n_steps += first
        if group is not NULL:
            status = cg_ensemble_lanes(&job, group, run, 0, count, done)
        if status == CG_UNSUPPORTED or status == CG_BAD_ARGUMENT:
            status = cg_ensemble_run(&job, run, 0, count, done)
        return status
