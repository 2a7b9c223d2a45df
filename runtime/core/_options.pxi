# The options of a run, `RunOptions`, in the format of the C driver. Included by _core.pyx.

cdef double MAX_STEP = options_of_runs.DEFAULTS.max_step, SMALLEST_RTOL = options_of_runs.SMALLEST_RTOL
cdef double RTOL = options_of_runs.DEFAULTS.rtol, ATOL = options_of_runs.DEFAULTS.atol
cdef int64_t MAX_STEPS = options_of_runs.DEFAULTS.max_steps
cdef object DEFAULTS = options_of_runs.DEFAULTS
cdef type RunOptions = options_of_runs.RunOptions
cdef frozenset OPTION_NAMES = options_of_runs.NAMES

cdef extern from "Python.h":
    object PyType_GenericNew(type kind, object arguments, PyObject *keywords)
    int PyObject_GenericSetDict(object instance, object fields, void *context) except -1


cdef object _options_of(dict given):
    """The options among the keywords of `integrate`, as `options.of_call` reads them.

    The keywords become the fields, and the others keep their defaults, which are attributes of the class: a tenth of
    the time of the constructor.
    """
    if not given:
        return DEFAULTS
    for name in given:
        if name not in OPTION_NAMES:
            return options_of_runs.of_call(ModelCore.integrate, given)
    options = PyType_GenericNew(RunOptions, (), NULL)
    PyObject_GenericSetDict(options, given, NULL)
    return options


cdef object _configure(KernelCore model, cg_run_t *run, options):
    """Set tolerances and step limits. Returns the options with copies of arrays that their owner may change."""
    cdef double value
    cdef Py_ssize_t i
    if _configure_plain(run, options.__dict__):
        return options
    rtol, atol = options.tolerances(model.states)
    run.first_step, run.max_step, run.max_steps = options.steps(run.adaptive != 0)
    run.rtol = rtol
    for i in range(run.n):
        value = atol[i]
        run.atol[i] = value
    return replace(options, rtol=rtol, atol=atol)


cdef bint _configure_plain(cg_run_t *run, dict fields):
    """The common case of _configure: plain numbers that need neither conversion nor an error. Returns 0 in others."""
    cdef double rtol = RTOL, atol = ATOL, largest = MAX_STEP, first = 0.0
    cdef int64_t limit = MAX_STEPS
    cdef Py_ssize_t i
    cdef str name
    for name, value in fields.items():
        if name == "rtol" and type(value) is float:
            rtol = value
        elif name == "atol" and type(value) is float:
            atol = value
        elif name == "max_step" and type(value) is float:
            largest = value
        elif name == "max_steps" and type(value) is int and 0 < value < 4503599627370496:
            limit = value
        elif name == "step" and not run.adaptive and _number(value, &first):
            if first <= 0.0:
                return 0
        elif not (name in ("method", "kinks", "paradox") or (name in ("step", "first_step") and value is None)):
            return 0
    if not (SMALLEST_RTOL <= rtol < INFINITY and 0.0 < atol < INFINITY and largest > 0.0
            and (run.adaptive or first > 0.0)):
        return 0
    run.rtol, run.first_step, run.max_step, run.max_steps = rtol, first, largest, limit
    for i in range(run.n):
        run.atol[i] = atol
    return 1
