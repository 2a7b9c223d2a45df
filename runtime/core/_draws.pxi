# Draws: quantile functions. Included by _core.pyx.


def quantile(int kind, a, u):
    """The quantiles at u (n,), a contiguous array of float64; `kind` and `a` as `cg_quantile` takes them."""
    out = np.empty_like(u)
    if not (_doubles(a, 1) and _doubles(u, 1) and cnp.PyArray_ISCARRAY_RO(a) and cnp.PyArray_ISCARRAY_RO(u)):
        raise ArgumentError("quantile needs contiguous vectors of float64")
    cdef const double *numbers = <const double *> cnp.PyArray_DATA(a)
    cdef const double *given = <const double *> cnp.PyArray_DATA(u)
    cdef double *found = <double *> cnp.PyArray_DATA(out)
    cdef int64_t n_a = len(a), n = len(u)
    cdef int status
    with nogil:
        status = cg_quantile(kind, numbers, n_a, given, found, n)
    if status != CG_OK:
        raise ArgumentError("quantile: an unknown law, a wrong number of parameters, or u outside (0, 1)")
    return out
