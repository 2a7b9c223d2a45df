# Integrals and extremes along the trajectories of an ensemble. Included by _core.pyx.


cdef class _Observed:
    """What is observed of each trajectory, and where it goes: `results.observed` (2, k, N), values and times."""

    cdef ModelCore model
    cdef object observer   # the `Observer` of the job
    cdef object table      # keeps the memory that `value` points to
    cdef int32_t *kinds
    cdef cg_quantity_t *quantities
    cdef int32_t count
    cdef double *value
    cdef int64_t row

    def __cinit__(self, ModelCore model, observer, table, int64_t n):
        cdef int32_t i
        self.model, self.observer, self.table, self.count = model, observer, table, len(observer.kinds)
        if not (_doubles(table, 3) and cnp.PyArray_ISCARRAY(table) and table.shape == (2, self.count, n)):
            raise ArgumentError("an ensemble needs an array of float64 for what it observes")
        self.value, self.row = <double *> cnp.PyArray_DATA(table), n
        self.kinds = <int32_t *> _memory(calloc(self.count + 1, sizeof(int32_t)))
        self.quantities = <cg_quantity_t *> _memory(calloc(self.count + 1, sizeof(cg_quantity_t)))
        for i in range(self.count):
            self.kinds[i] = observer.kinds[i]
            if observer.named:
                self._take(&self.quantities[i], observer.names[i])

    def __dealloc__(self):
        free(self.kinds)
        free(self.quantities)

    cdef int _take(self, cg_quantity_t *quantity, str name) except -1:
        """Where the model has a quantity."""
        cdef const cg_model_t *model = self.model.model
        cdef long place = _place(self.model, name)
        cdef long kind = place >> KIND_SHIFT
        quantity.index = place & ((1 << KIND_SHIFT) - 1)
        if kind == OUTPUT or kind == CONSERVED:
            self.model._need("outputs" if kind == OUTPUT else "invariants")
            quantity.kernel = model.outputs_fn if kind == OUTPUT else model.invariants_fn
        elif kind == INPUT:
            quantity.index += model.n_states
        elif kind == TIME:
            quantity.index = -1
        return 0

    cdef cg_observer_t *new(self, int lanes, int32_t order) except NULL:
        """An observer for a number of lanes, to be freed by cg_run_delete."""
        cdef uintptr_t address = 0 if self.observer.named else self.observer.address(lanes)
        cdef const cg_companion_t *companion = <const cg_companion_t *> address
        cdef size_t size = cg_observer_size(self.model.model, companion, self.count)
        cdef cg_observer_t *found = <cg_observer_t *> _memory(cg_run_new(size))
        if cg_observer_init(found, self.model.model, companion, self.quantities, self.kinds, self.count,
                            order) != CG_OK:
            cg_run_delete(<cg_run_t *> found)
            raise ArgumentError(f"the compiled expressions belong to another model than {self.model.name}")
        return found
