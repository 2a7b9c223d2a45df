# The options of a run in the format of the C driver: read from the fields of `RunOptions`, or from the keywords of a
# call, where those left out have their defaults. Included by _core.pyx.

cdef dict DEFAULTS = vars(options.DEFAULTS)
cdef double RTOL = DEFAULTS["rtol"], ATOL = DEFAULTS["atol"], MAX_STEP = DEFAULTS["max_step"]
cdef double SMALLEST_RTOL = options.SMALLEST_RTOL
cdef int64_t MAX_STEPS = DEFAULTS["max_steps"]
cdef object METHOD = DEFAULTS["method"], KINKS = DEFAULTS["kinks"], PARADOX = DEFAULTS["paradox"]

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1


cdef object _option(dict fields, str name, default):
    cdef PyObject *found = PyDict_GetItemWithError(fields, name)
    return default if found is NULL else <object> found


cdef dict _configure(KernelCore model, cg_run_t *run, dict fields):
    """Set tolerances and step limits. Returns the fields with copies of arrays that their owner may change."""
    cdef double value
    cdef Py_ssize_t i
    if _configure_plain(run, fields):
        return fields
    given = options.RunOptions(**fields)
    rtol, atol = given.tolerances(model.states)
    run.first_step, run.max_step, run.max_steps = given.steps(run.adaptive != 0)
    run.rtol = rtol
    for i in range(run.n):
        value = atol[i]
        run.atol[i] = value
    return {**fields, "rtol": rtol, "atol": atol}


cdef bint _configure_plain(cg_run_t *run, dict fields) except -1:
    """The common case of _configure: numbers that need neither conversion nor an error. Returns 0 in others."""
    cdef double rtol = RTOL, atol = ATOL, largest = MAX_STEP, first = 0.0
    cdef int64_t limit = MAX_STEPS
    cdef PyObject *steps = PyDict_GetItemWithError(fields, "max_steps")
    cdef PyObject *step = PyDict_GetItemWithError(fields, "step")
    cdef PyObject *first_step = PyDict_GetItemWithError(fields, "first_step")
    cdef int overflow = 0
    cdef Py_ssize_t i
    if not (_float(fields, "rtol", &rtol) and _float(fields, "atol", &atol) and _float(fields, "max_step", &largest)
            and (first_step is NULL or first_step is <PyObject *> None)):
        return 0
    if steps is not NULL:
        if not PyLong_CheckExact(<object> steps):
            return 0
        limit = PyLong_AsLongLongAndOverflow(<object> steps, &overflow)
    if step is not NULL and step is not <PyObject *> None and not _number(<object> step, &first):
        return 0
    if not (SMALLEST_RTOL <= rtol < INFINITY and 0.0 < atol < INFINITY and largest > 0.0
            and 0 < limit < (<int64_t> 1 << 62) and not overflow and (first == 0.0 if run.adaptive else first > 0.0)):
        return 0
    run.rtol, run.first_step, run.max_step, run.max_steps = rtol, first, largest, limit
    for i in range(run.n):
        run.atol[i] = atol
    return 1


cdef bint _float(dict fields, str name, double *value) except -1:
    """Read a field if it is a float; a missing one leaves the default."""
    cdef PyObject *found = PyDict_GetItemWithError(fields, name)
    if found is NULL:
        return 1
    if not PyFloat_CheckExact(<object> found):
        return 0
    value[0] = PyFloat_AS_DOUBLE(<object> found)
    return 1
