# Events and contacts of a run. Included by _core.pyx.

cdef enum:
    LOG_ROWS = 64


cdef class _Detector:
    """The detector of a run (cg_events.h), its log, and the Python events."""

    cdef cg_detector_t *detector
    cdef KernelCore model
    cdef object log
    cdef list kept
    cdef tuple functions
    cdef object error

    def __cinit__(self, KernelCore model, tuple functions, bint kinks, int rule, bint log=True, int fields=0):
        cdef size_t size = cg_detector_size(model.model, len(functions))
        cdef int32_t i, first = model.model.n_guards
        self.detector = <cg_detector_t *> _memory(cg_run_new(size))
        self.model, self.functions, self.kept = model, functions, []
        kinks_too = CG_WATCH_KINKS if kinks else 0
        if cg_detector_init(self.detector, size, model.model, len(functions), kinks_too | fields) != CG_OK:
            raise ArgumentError(f"{model.name} has a damaged table of events or contacts")
        self.detector.rule = rule
        for i in range(len(functions)):
            self.detector.direction[first + i] = functions[i].direction
            self.detector.limit[first + i] = functions[i].limit
        if functions:
            self.detector.fn, self.detector.fn_context = _call_event, <void *> self
        if log:
            rows = max(LOG_ROWS, self.detector.n_observed + 1)
            self.log = np.empty((rows, self.detector.log_row))
            self.detector.log, self.detector.log_capacity = <double *> cnp.PyArray_DATA(self.log), rows

    def __dealloc__(self):
        cg_run_delete(<cg_run_t *> self.detector)

    cdef void attach(self, cg_run_t *run) noexcept:
        run.detector = self.detector

    cdef int go_on(self, past) except -1:
        """The run that has just been started goes on from where events have happened; `past`: see `Continued`."""
        for i, clock in enumerate(past):
            self.detector.done[i] = clock
        return 0

    cdef int drain(self) except -1:
        """Move the log into Python's memory."""
        if self.detector.n_log > 0:
            self.kept.append(self.log[:self.detector.n_log].copy())
            self.detector.n_log = 0
        return 0

    cdef bint logged(self) noexcept:
        return self.detector.n_log > 0 or len(<list> self.kept) > 0

    cdef object rows(self):
        self.drain()
        return np.concatenate(self.kept) if self.kept else np.empty((0, self.detector.log_row))

    cdef int evaluate(self, int32_t index, double t, const double *x, double *value) except -1:
        result = self.functions[index].call(t, _copy(x, self.model.n_states))
        if not _number(result, value):
            from ..problem.event_functions import value_of
            value[0] = value_of(result, index, t)
        return 0

    def event_record(self, int status, t, y):
        """Everything that was logged, as `EventRecord`."""
        from ..results.event_record import EventRecord, Paradox
        cdef const cg_model_t *m = self.model.model
        cdef int32_t i, count = min(self.detector.n_solutions, CG_SOLUTIONS)
        signs = {m.contacts[i].sign: self.model.contacts[i] for i in range(m.n_contacts) if m.contacts[i].sign >= 0}
        found = EventRecord(self.model.events, self.model.kinks, len(self.functions), self.model.contacts,
                         tuple([signs.get(i, f"sign {i}") for i in range(m.n_modes - m.n_contacts)]), m.n_states,
                         self.rows(), accumulates=self.detector.cause)
        if status != CG_PARADOX:
            return found
        solutions = [found.named(_copy(self.detector.solutions + i * m.n_modes, m.n_modes)) for i in range(count)]
        contact = self.model.contacts[self.detector.contact] if self.detector.contact >= 0 else None
        from dataclasses import replace
        return replace(found, paradox=Paradox(t, y, contact, self.detector.n_solutions, tuple(solutions)))


cdef int _call_event(void *context, int32_t index, double t, const double *x, double *value) noexcept with gil:
    detector = <_Detector> context
    try:
        detector.evaluate(index, t, x, value)
    except BaseException as error:
        if detector.error is None:
            detector.error = error
        return CG_INPUT_FAILED
    return CG_OK


cdef _Detector _detector_of(KernelCore model, object events, const given_t *given, bint log=True, int fields=0):
    """The detector that a run needs, or None without events, contacts and kinks to find."""
    if (events is None and not model.hybrid and given.kinks is BY_DEFAULT.kinks
            and given.paradox is BY_DEFAULT.paradox):
        return None  # the usual case: nothing to detect, and no arguments to reject
    from ..problem.event_functions import functions
    own, kinks = functions(events), arguments.boolean("kinks", <object> given.kinks)
    rule = options.code("paradox", <object> given.paradox)
    if not (own or model.hybrid or (kinks and model.kinks)):
        return None
    return _Detector(model, own, kinks, rule, log, fields)
