# Quantities by name at one point of the state space. Included by _core.pyx.

cdef enum:  # the place of a name: its kind, shifted, and its index within the kind
    STATE = 0
    TIME = 1
    INPUT = 2
    OUTPUT = 3
    CONSERVED = 4
    PARAMETER = 5
    KIND_SHIFT = 24


cdef dict _places(KernelCore model):
    """The place of each name; if several kinds share a name, the first kind."""
    found = {}
    for kind, names in ((STATE, model.states), (TIME, ("t", model.independent)), (INPUT, model.inputs),
                        (OUTPUT, model.outputs), (CONSERVED, model._conserved)):
        for i, name in enumerate(names):
            found.setdefault(name, kind << KIND_SHIFT | i)
    return found


cdef dict _settable(KernelCore model):
    """The same for the quantities that a stepper can change."""
    found = {}
    for kind, names in ((STATE, model.states), (INPUT, model.inputs), (PARAMETER, model.parameters)):
        found.update({name: kind << KIND_SHIFT | i for i, name in enumerate(names)})
    return found


cdef int _changed(KernelCore model, dict values, long kind, Py_ssize_t n, const double *before, double *to) except -1:
    """Copy the n entries of one kind, replacing the named ones. Returns 0 if the slow path is needed."""
    cdef PyObject *place
    cdef long index
    memcpy(to, before, n * sizeof(double))
    for name, value in values.items():
        place = PyDict_GetItemWithError(model.settable, name) if type(name) is str else NULL
        if place is NULL:
            return 0
        index = PyLong_AsLong(<object> place) - (kind << KIND_SHIFT)
        if not (0 <= index < n and _number(value, &to[index])):
            return 0
    return 1


cdef long _place(KernelCore model, object key) except -1:
    """The place of a quantity, given by its name or a SymPy symbol."""
    cdef PyObject *found
    name = key if type(key) is str else arguments.plain_name(key)
    found = PyDict_GetItemWithError(model.places, name)
    if found is NULL:
        raise arguments.unknown_quantity(key, model.name, model.quantities)
    return PyLong_AsLong(<object> found)


cdef int _fill(KernelCore model, str kernel, double t, const double *x, const double *p, const double *u) except -1:
    """Call the kernel "outputs" or "invariants" at one point, writing to model.out."""
    cdef cg_kernel_t function = model.model.outputs_fn if kernel == "outputs" else model.model.invariants_fn
    cdef int status
    if model._later:
        model._need(kernel)
    status = CG_UNSUPPORTED if function is NULL else function(t, x, p, u, model.out, model.work)
    if status < 0:
        raise kernel_failed(model, kernel, status, t, -1)
    return 0


cdef int _add(dict values, tuple names, const double *row) except -1:
    cdef Py_ssize_t i
    for i in range(len(names)):
        PyDict_SetDefault(values, names[i], PyFloat_FromDouble(row[i]))
    return 0


cdef dict _quantities(KernelCore model, double t, const double *x, const double *p, const double *u,
                      bint outputs_alone=False):
    """Everything that `evaluate` returns, or only the outputs; calls each kernel once. u: inputs, then modes."""
    cdef dict values = {}
    if not outputs_alone:
        _add(values, model.states, x)
    if model.outputs:
        _fill(model, "outputs", t, x, p, u)
        _add(values, model.outputs, model.out)
    if model._conserved and not outputs_alone:
        _fill(model, "invariants", t, x, p, u)
        _add(values, model._conserved, model.out)
    return values
