# Derivatives of a model's kernels at one point. Included by _core.pyx.


cdef const cg_derivatives_t *_derivatives(uintptr_t address, str digest) except NULL:
    """The table at an address; raises LoadError if it belongs to another model."""
    cdef const cg_derivatives_t *table = <const cg_derivatives_t *> address
    if (table.abi_version != CG_ABI_VERSION or table.struct_size != sizeof(cg_derivatives_t)
            or table.digest.decode() != digest):
        raise LoadError("the compiled derivatives belong to another model")
    return table


def differentials(ModelCore model, uintptr_t address):
    """{kernel: (n_values, n_given, n_found)} of a `cg_derivatives_t`."""
    cdef const cg_derivative_t *entry = _derivatives(address, model.digest).entries
    found = {}
    while entry.kernel is not NULL:
        found[entry.kernel.decode()] = entry.n_values, entry.n_given, entry.n_found
        entry += 1
    return found


def differentiated(ModelCore model, uintptr_t address, str kernel, double t, x, p, u, v):
    """The values of a kernel (n_values,), and its derivatives (n_found, k) along the columns of v (n_given, k).

    x, p and u, which contains the modes of contacts, are contiguous arrays of float64 of the kernel's lengths.
    """
    cdef const cg_derivatives_t *table = _derivatives(address, model.digest)
    cdef bytes name = kernel.encode()
    cdef const cg_derivative_t *entry = cg_derivative(table, name)
    cdef int64_t i, j, first, count, lanes = table.n_lanes
    cdef int status = CG_OK
    cdef double *block
    cdef const double[::1] xs = x
    cdef const double[::1] ps = p
    cdef const double[::1] us = u
    cdef const double[:, :] vs = v
    if entry is NULL or not (
            len(x) == (model.model.n_declared if entry.takes == CG_TAKES_DECLARED else model.n_states)
            and len(p) == model.n_parameters and len(u) == model.n_inputs + model.model.n_modes
            and vs.shape[0] == entry.n_given):
        raise ArgumentError(f"{model.name}.{kernel}: the arguments of the derivatives have wrong lengths")
    count = vs.shape[1]
    value, found = np.empty(entry.n_values), np.empty((entry.n_found, count))
    cdef double[::1] values = value
    cdef double[:, ::1] result = found
    block = <double *> calloc((entry.n_given + entry.n_found) * lanes + entry.n_values + table.n_work, sizeof(double))
    if block is NULL:
        raise MemoryError
    cdef double *given = block
    cdef double *out = given + entry.n_given * lanes
    cdef double *first_value = out + entry.n_found * lanes
    try:
        for first in range(0, max(count, 1), lanes):
            for i in range(entry.n_given):
                for j in range(lanes):
                    given[i * lanes + j] = vs[i, first + j] if first + j < count else 0.0
            status = entry.function(t, &xs[0] if xs.shape[0] else NULL, &ps[0] if ps.shape[0] else NULL,
                                    &us[0] if us.shape[0] else NULL, given, first_value, out,
                                    first_value + entry.n_values)
            if status != CG_OK:
                raise kernel_failed(model.name, model.independent, kernel, status, t, -1)
            for i in range(entry.n_found):
                for j in range(min(lanes, count - first)):
                    result[i, first + j] = out[i * lanes + j]
        for i in range(entry.n_values):
            values[i] = first_value[i]
    finally:
        free(block)
    return value, found
