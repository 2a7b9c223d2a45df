# Plain numbers, arrays and dicts, read in C. Included by _core.pyx; `arguments.py` converts or reports the rest.


cdef int _vector(object value, tuple names, Py_ssize_t n, double *scratch, const double **found) except -1:
    """Point `found` to n finite doubles, in the array itself or in `scratch`. Returns 0 if the slow path is needed."""
    cdef Py_ssize_t i
    cdef const double *data
    cdef PyObject *entry
    if cnp.PyArray_CheckExact(value):
        if not (cnp.PyArray_NDIM(value) == 1 and cnp.PyArray_DIM(value, 0) == n
                and cnp.PyArray_TYPE(value) == cnp.NPY_DOUBLE and cnp.PyArray_ISCARRAY_RO(value)):
            return 0
        data = <const double *> cnp.PyArray_DATA(value)
        for i in range(n):
            if not isfinite(data[i]):
                return 0
        found[0] = data
        return 1
    if PyDict_CheckExact(value):
        if PyDict_Size(value) != n:
            return 0
        for i in range(n):
            entry = PyDict_GetItemWithError(value, names[i])
            if entry is NULL or not _number(<object> entry, &scratch[i]):
                return 0
    elif type(value) is tuple or type(value) is list:
        if PySequence_Fast_GET_SIZE(value) != n:
            return 0
        for i in range(n):
            if not _number(<object> PySequence_Fast_GET_ITEM(value, i), &scratch[i]):
                return 0
    elif value is None and n == 0:
        pass
    else:
        return 0
    found[0] = scratch
    return 1


cdef inline bint _number(object value, double *out):
    """Accept a finite float or a small int; anything else needs the slow path."""
    if PyFloat_Check(value):  # also true for NumPy's float64
        out[0] = PyFloat_AS_DOUBLE(value)
        return isfinite(out[0])
    if PyLong_CheckExact(value) and -4503599627370496 < value < 4503599627370496:
        out[0] = PyLong_AsDouble(value)
        return True
    return False
