# Events and contacts of a run. Included by _core.pyx.

cdef enum:
    LOG_ROWS = 64


cdef class _Watch:
    """The watch of a run (cg_events.h), its log, and the Python events."""

    cdef cg_watch_t *watch
    cdef KernelCore model
    cdef object log
    cdef list kept
    cdef tuple functions
    cdef object error

    def __cinit__(self, KernelCore model, tuple functions, bint kinks, int rule, bint log=True):
        cdef size_t size = cg_watch_size(model.model, len(functions))
        cdef int32_t i, first = model.model.n_guards
        self.watch = <cg_watch_t *> cg_run_new(size)
        if self.watch is NULL:
            raise MemoryError
        self.model, self.functions, self.kept = model, functions, []
        if cg_watch_init(self.watch, size, model.model, len(functions), CG_WATCH_KINKS if kinks else 0) != CG_OK:
            raise ArgumentError(f"{model.name} has a damaged table of events or contacts")
        self.watch.rule = rule
        for i in range(len(functions)):
            self.watch.direction[first + i] = functions[i].direction
            self.watch.limit[first + i] = functions[i].limit
        if functions:
            self.watch.fn, self.watch.fn_context = _call_event, <void *> self
        if log:
            rows = max(LOG_ROWS, self.watch.n_watched + 1)
            self.log = np.empty((rows, self.watch.log_row))
            self.watch.log, self.watch.log_capacity = <double *> cnp.PyArray_DATA(self.log), rows

    def __dealloc__(self):
        cg_run_delete(<cg_run_t *> self.watch)

    cdef void attach(self, cg_run_t *run) noexcept:
        run.watch = self.watch

    cdef int drain(self) except -1:
        """Empty the log into Python's memory."""
        if self.watch.n_log > 0:
            self.kept.append(self.log[:self.watch.n_log].copy())
            self.watch.n_log = 0
        return 0

    cdef bint logged(self) noexcept:
        return self.watch.n_log > 0 or len(<list> self.kept) > 0

    cdef object rows(self):
        self.drain()
        return np.concatenate(self.kept) if self.kept else np.empty((0, self.watch.log_row))

    cdef int evaluate(self, int32_t index, double t, const double *x, double *value) except -1:
        cdef cnp.npy_intp n = self.model.n_states
        y = cnp.PyArray_SimpleNew(1, &n, cnp.NPY_DOUBLE)
        memcpy(cnp.PyArray_DATA(y), x, n * sizeof(double))
        result = self.functions[index].call(t, y)
        if not _number(result, value):
            from .happenings import value_of
            value[0] = value_of(result, index, t)
        return 0

    def happened(self, int status, t, y):
        """All that was logged, as `Happened`."""
        from .happenings import Happened, Paradox
        cdef const cg_model_t *m = self.model.model
        cdef int32_t i, count = min(self.watch.n_solutions, CG_SOLUTIONS)
        signs = {m.contacts[i].sign: self.model.contacts[i] for i in range(m.n_contacts) if m.contacts[i].sign >= 0}
        found = Happened(self.model.events, self.model.kinks, len(self.functions), self.model.contacts,
                         tuple([signs.get(i, f"sign {i}") for i in range(m.n_modes - m.n_contacts)]), m.n_states,
                         self.rows())
        if status != CG_PARADOX:
            return found
        solutions = [found.named(_copy(self.watch.solutions + i * m.n_modes, m.n_modes)) for i in range(count)]
        contact = self.model.contacts[self.watch.contact] if self.watch.contact >= 0 else None
        from dataclasses import replace
        return replace(found, paradox=Paradox(t, y, contact, self.watch.n_solutions, tuple(solutions)))


cdef int _call_event(void *context, int32_t index, double t, const double *x, double *value) noexcept with gil:
    watch = <_Watch> context
    try:
        watch.evaluate(index, t, x, value)
    except BaseException as error:
        if watch.error is None:
            watch.error = error
        return CG_INPUT_FAILED
    return CG_OK


cdef _Watch _watch_of(KernelCore model, object events, object kinks, object paradox, bint log=True):
    """The watch that a run needs, or None: no events, no contacts, no kinks to be found."""
    if events is None and kinks is False and type(paradox) is str and paradox == "stop" and not model.hybrid:
        return None  # as most runs are: nothing to be looked for, nothing to be refused
    from .happenings import functions, rule
    given, wanted, number = functions(events), arguments.boolean("kinks", kinks), rule(paradox)
    if not (given or model.hybrid or (wanted and model.kinks)):
        return None
    return _Watch(model, given, wanted, number, log)
