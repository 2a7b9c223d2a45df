# Companions: expressions of a model in many columns. Included by _core.pyx.


def companion_columns(ModelCore model, uintptr_t companion, t: Array, y: Array, list p, u: Array) -> Array:
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
    cdef _Columns column = _Columns(y, p, [*u, t], expressions.n_values + expressions.n_work)
    cdef double *found = column.out
    cdef double *target = <double *> cnp.PyArray_DATA(out)
    with nogil:
        for j in range(count):
            column.take(j)
            expressions.values(found - 1, column.x, column.p, column.u, found, &status, found + expressions.n_values)
            for i in range(expressions.n_values):
                target[i * count + j] = found[i] if status == CG_OK else NAN
    return out
