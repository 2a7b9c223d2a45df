# Draws: quantile functions and noise. Included by _core.pyx.


def quantile(int kind, a: Array, u: Array) -> Array:
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


def noise_numbers(key: int, const int64_t[:, ::1] runs, int64_t n, bint normal) -> Array:
    """Numbers (N, n) of runs (N, 2), the trajectory and the episode of each, as `cg_noise_numbers` makes them."""
    cdef uint64_t words[2]
    words[0], words[1] = key & 0xFFFFFFFFFFFFFFFF, key >> 64
    out = np.empty((runs.shape[0], n))
    cdef double *found = <double *> cnp.PyArray_DATA(out)
    cdef int64_t j
    with nogil:
        for j in range(runs.shape[0]):
            cg_noise_numbers(words, <const uint64_t *> &runs[j, 0], normal, found + j * n, n)
    return out


def noise_filtered(const double[:, ::1] start, const double[:, :, ::1] phi, const double[:, :, ::1] gain,
                   const double[:, ::1] c, double[:, :, ::1] numbers) -> Array:
    """Outputs (N, n) of a filter for numbers (N, n, m); see `cg_noise_filter_t`."""
    cdef cg_noise_filter_t given
    cdef int64_t j, n = numbers.shape[1]
    out = np.empty((numbers.shape[0], n))
    cdef double *found = <double *> cnp.PyArray_DATA(out)
    if n > 0:
        given.m, given.varies = <int> numbers.shape[2], len(c) > 1
        given.start, given.phi, given.gain, given.c = &start[0, 0], &phi[0, 0, 0], &gain[0, 0, 0], &c[0, 0]
        with nogil:
            for j in range(numbers.shape[0]):
                cg_noise_filtered(&given, &numbers[j, 0, 0], found + j * n, n)
    return out
