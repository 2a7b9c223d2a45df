# Companions: expressions of a model in many columns. Included by _core.pyx.


def companion_columns(ModelCore model, uintptr_t companion, t, y, list p, u):
    """The expressions of a companion for one lane in each column, (n_values, N); NaN where they cannot be computed.

    t (N,), y (n_states, N), p: a row (1,) or (N,) for each parameter, u (n_inputs, 1 or N), where modes of
    contacts may follow the inputs; arrays of float64.
    """
    cdef const cg_companion_t *expressions = <const cg_companion_t *> companion
    cdef int64_t i, j, count = len(t)
    cdef int32_t status
    if expressions.n_lanes != 1 or strcmp(expressions.digest, model.model.digest) != 0:
        raise ArgumentError(f"the compiled expressions belong to another model than {model.name}")
    if not (_doubles(t, 1) and _doubles(y, 2) and _doubles(u, 2) and all([_doubles(row, 1) for row in p])) or not (
            len(y) == model.n_states and y.shape[1] == count and len(p) == model.n_parameters
            and len(u) - model.n_inputs in (0, model.model.n_modes) and {u.shape[1], *[len(row) for row in p]} <= {1, count}):
        raise ArgumentError("the columns of a companion have inconsistent shapes")
    out = np.empty((expressions.n_values, count))
    rows = [*(row for row in y), *p, *(row for row in u), t]
    cdef int64_t n_rows = len(rows), n_states = model.n_states, n_parameters = model.n_parameters
    cdef int64_t size = n_rows + expressions.n_values + expressions.n_work
    cdef const double **place = <const double **> calloc(n_rows + 1, sizeof(double *))
    cdef int64_t *stride = <int64_t *> calloc(n_rows + 1, sizeof(int64_t))
    cdef double *given = <double *> calloc(size + 1, sizeof(double))
    cdef double *found = given + n_rows
    cdef double *target = <double *> cnp.PyArray_DATA(out)
    try:
        if place is NULL or stride is NULL or given is NULL:
            raise MemoryError
        for i in range(n_rows):
            place[i], stride[i] = <const double *> cnp.PyArray_DATA(rows[i]), _way(rows[i], 0)
        with nogil:
            for j in range(count):
                for i in range(n_rows):
                    given[i] = place[i][j * stride[i]]
                expressions.values(given + n_rows - 1, given, given + n_states, given + n_states + n_parameters,
                                   found, &status, found + expressions.n_values)
                for i in range(expressions.n_values):
                    target[i * count + j] = found[i] if status == CG_OK else NAN
    finally:
        free(place)
        free(stride)
        free(given)
    return out
