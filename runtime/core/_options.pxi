# The options of a run in the format of the C driver: read from the fields of `RunOptions`, or from the keywords of a
# call, where those left out have their defaults. Included by _core.pyx.

cdef dict DEFAULTS = vars(options.DEFAULTS)
cdef dict READ = {}  # those of them that BY_DEFAULT has
cdef double SMALLEST_RTOL = options.SMALLEST_RTOL

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1


cdef struct given_t:
    bint plain          # whether all numbers could be read in C, without conversion
    double rtol
    double atol
    double max_step
    double step         # 0 if not given
    int64_t max_steps
    PyObject *method    # borrowed from the fields, or from the defaults
    PyObject *kinks
    PyObject *paradox
    int32_t projection
    bint passes


cdef int _read(dict fields, given_t *given) except -1:
    """Read the fields in one pass: tiny runs take little longer. Those left out, or as in `READ`, stay unchanged."""
    cdef int overflow = 0
    for name, value in fields.items():
        if READ.get(name, fields) is value:
            continue
        if name == "rtol":
            given.plain &= _float(value, &given.rtol)
        elif name == "atol":
            given.plain &= _float(value, &given.atol)
        elif name == "method":
            given.method = <PyObject *> value
        elif name == "step":
            given.plain &= value is None or _number(value, &given.step) and given.step > 0.0
        elif name == "max_step":
            given.plain &= _float(value, &given.max_step)
        elif name == "max_steps":
            given.plain &= PyLong_CheckExact(value)
            if given.plain:
                given.max_steps = PyLong_AsLongLongAndOverflow(value, &overflow)
                given.plain = overflow == 0
        elif name == "kinks":
            given.kinks = <PyObject *> value
        elif name == "at_samples":
            given.plain &= value is True or value is False
            given.passes = value is False
        elif name == "paradox":
            given.paradox = <PyObject *> value
        elif name == "project":
            given.projection = options.code("project", value)
        elif name not in DEFAULTS:
            raise options.unknown(ModelCore.integrate, fields)
        else:
            given.plain &= value is DEFAULTS[name]
    return 0


cdef bint _float(value, double *out):
    if not PyFloat_CheckExact(value):
        return False
    out[0] = PyFloat_AS_DOUBLE(value)
    return True


cdef given_t BY_DEFAULT
BY_DEFAULT.plain = True
_read(DEFAULTS, &BY_DEFAULT)
READ.update(DEFAULTS)


cdef dict _configure(KernelCore model, cg_run_t *run, const given_t *given, dict fields):
    """Set tolerances, step limits and projection. Returns the fields with copies of arrays that their owner may change."""
    cdef double value
    cdef Py_ssize_t i
    run.projection, run.passes = given.projection, given.passes
    if (given.plain and SMALLEST_RTOL <= given.rtol < INFINITY and 0.0 < given.atol < INFINITY and given.max_step > 0.0
            and 0 < given.max_steps < (<int64_t> 1 << 62)
            and (given.step == 0.0 and not given.passes if run.adaptive else given.step > 0.0)):
        run.rtol, run.first_step, run.max_step, run.max_steps = given.rtol, given.step, given.max_step, given.max_steps
        for i in range(run.n):
            run.atol[i] = given.atol
        return fields
    checked = options.RunOptions(**fields)
    rtol, atol = checked.tolerances(model.states)
    run.first_step, run.max_step, run.max_steps = checked.steps(run.adaptive != 0)
    run.rtol, run.passes = rtol, not checked.at_samples
    for i in range(run.n):
        value = atol[i]
        run.atol[i] = value
    return {**fields, "rtol": rtol, "atol": atol}
