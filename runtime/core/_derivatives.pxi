# Derivatives of a model's kernels at one point. Included by _core.pyx.


cdef const cg_derivatives_t *_derivatives(uintptr_t address, str digest) except NULL:
    """The table at an address; raises LoadError if it belongs to another model."""
    cdef const cg_derivatives_t *table = <const cg_derivatives_t *> address
    if (table.abi_version != CG_ABI_VERSION or table.struct_size != sizeof(cg_derivatives_t)
            or table.digest.decode() != digest):
        raise LoadError("the compiled derivatives belong to another model")
    return table


def differentials(ModelCore model, uintptr_t address) -> dict[str, tuple[int, int, int]]:
    """{kernel: (n_values, n_given, n_found)} of a `cg_derivatives_t`."""
    cdef const cg_derivative_t *entry = _derivatives(address, model.digest).entries
    found = {}
    while entry.kernel is not NULL:
        found[entry.kernel.decode()] = entry.n_values, entry.n_given, entry.n_found
        entry += 1
    return found


def differentiated(ModelCore model, uintptr_t address, str kernel, double t, x, p, u, v) -> tuple[Any, Any]:
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
    block = <double *> _memory(
        calloc((entry.n_given + entry.n_found) * lanes + entry.n_values + table.n_work, sizeof(double)))
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
                raise kernel_failed(model, kernel, status, t, -1)
            for i in range(entry.n_found):
                for j in range(min(lanes, count - first)):
                    result[i, first + j] = out[i * lanes + j]
        for i in range(entry.n_values):
            values[i] = first_value[i]
    finally:
        free(block)
    return value, found


def kink_of(ModelCore model, uintptr_t backward, str kernel, int64_t index) -> str | None:
    """What makes a result of a kernel not differentiable, such as "Abs", or None; the arguments are as below."""
    cdef const cg_backward_t *table = <const cg_backward_t *> backward
    cdef const cg_derivative_t *entry = cg_derivative(table.derivatives, kernel.encode())
    if entry is NULL or entry.kinks is NULL or entry.kinks[index] is NULL:
        return None
    return entry.kinks[index].decode()


def slope_columns(ModelCore model, uintptr_t backward, str kernel, int64_t index, t: Array, y: Array, p: Array,
                  u: Array) -> tuple[Array, Array]:
    """One result of a kernel, (N,), and its derivatives by x, p and the inputs, (n + np + nu, N); NaN where it fails.

    t (N,), y (n, N), p (np,) and u (nu and modes, N or 1) are arrays of float64; `backward` is the address of a
    `cg_backward_t`.
    """
    cdef const cg_backward_t *table = <const cg_backward_t *> backward
    cdef const cg_derivative_t *entry = cg_derivative(table.derivatives, kernel.encode())
    cdef int64_t i, j, count = len(t)
    cdef const double[::1] ts = t
    cdef const double[:, ::1] columns = np.ascontiguousarray(y.T)
    cdef const double[::1] ps = p
    cdef const double[:, ::1] us = np.ascontiguousarray(u.T)
    cdef bint each_u = us.shape[0] == count
    if table.digest.decode() != model.digest or entry is NULL or not 0 <= index < entry.n_values or not (
            columns.shape[0] == count and columns.shape[1] == model.n_states and len(p) == model.n_parameters
            and us.shape[1] == model.n_inputs + model.model.n_modes and (each_u or us.shape[0] == 1)):
        raise ArgumentError(f"{model.name}.{kernel}: the arguments of the derivatives have wrong lengths")
    result = np.empty((entry.n_found, count))
    cdef double[:, ::1] rows = result
    weights, value, found = np.zeros(entry.n_values), np.empty(entry.n_values), np.empty(entry.n_found)
    weights[index] = 1.0
    work = np.empty(table.derivatives.n_work)
    cdef double[::1] v = weights
    cdef double[::1] values = value
    cdef double[::1] slopes = found
    cdef double *scratch = <double *> cnp.PyArray_DATA(work)
    for j in range(count):
        failed = entry.function(ts[j], &columns[j, 0], &ps[0] if ps.shape[0] else NULL,
                                &us[j if each_u else 0, 0] if us.shape[1] else NULL, &v[0], &values[0], &slopes[0],
                                scratch) != CG_OK
        rows[0, j] = NAN if failed else values[index]  # in the place of the derivative by the time
        for i in range(1, entry.n_found):
            rows[i, j] = NAN if failed else slopes[i]
    return result[0], result[1:]


def along_columns(ModelCore model, uintptr_t address, str kernel, const double[:] t, const double[:, :] y,
                  const double[:, :] p, const double[:, :] u, const double[:, :, :] tangents,
                  const double[:, :, :] seeds, const double[:, :] delays) -> Array:
    """The derivatives of the results of a kernel, (rows, k, N), along `tangents` of the state, `seeds` and `delays`.

    t (N,), y (n, N), p (np, N or 1), u (nu and modes, N or 1), tangents (n, k, N), seeds (np + nu, k, N or 1) of
    parameters and inputs, and delays (k, N) of the time; `address` is that of a `cg_derivatives_t`. NaN where y or a result is not finite, or
    the kernel cannot be computed.
    """
    cdef const cg_derivatives_t *table = _derivatives(address, model.digest)
    cdef const cg_derivative_t *entry = cg_derivative(table, kernel.encode())
    cdef int64_t n = model.n_states, n_p = model.n_parameters, n_u = model.n_inputs + model.model.n_modes
    cdef int64_t count = t.shape[0], k = tangents.shape[1], lanes = table.n_lanes, i, j, first, lane, column
    cdef int64_t n_seeds = n_p + model.n_inputs
    cdef bint each_p = p.shape[1] == count, each_u = u.shape[1] == count, each_seed = seeds.shape[2] == count
    cdef bint known, failed
    if entry is NULL or entry.n_given != 1 + n + n_seeds or not (
            y.shape[0] == n and y.shape[1] == count and p.shape[0] == n_p and (each_p or p.shape[1] == 1)
            and u.shape[0] == n_u and (each_u or u.shape[1] == 1) and tangents.shape[0] == n
            and tangents.shape[2] == count and seeds.shape[0] == n_seeds and seeds.shape[1] == k
            and (each_seed or seeds.shape[2] == 1) and delays.shape[0] == k and delays.shape[1] == count):
        raise ArgumentError(f"{model.name}.{kernel}: the arguments of the derivatives have wrong lengths")
    result = np.empty((entry.n_found, k, count))
    cdef double[:, :, ::1] rows = result
    scratch = np.zeros(n + n_p + n_u + (entry.n_given + entry.n_found) * lanes + entry.n_values + table.n_work)
    cdef double *x = <double *> cnp.PyArray_DATA(scratch)
    cdef double *ps = x + n
    cdef double *us = ps + n_p
    cdef double *given = us + n_u
    cdef double *found = given + entry.n_given * lanes
    cdef double *value = found + entry.n_found * lanes
    with nogil:
        for j in range(count):
            for i in range(n):
                x[i] = y[i, j]
            known = cg_all_finite(x, n) != 0
            for i in range(n_p):
                ps[i] = p[i, j if each_p else 0]
            for i in range(n_u):
                us[i] = u[i, j if each_u else 0]
            first = 0
            while first < k:
                for lane in range(lanes):
                    column = min(first + lane, k - 1)
                    given[lane] = delays[column, j]
                    for i in range(n):
                        given[(1 + i) * lanes + lane] = tangents[i, column, j]
                    for i in range(n_seeds):
                        given[(1 + n + i) * lanes + lane] = seeds[i, column, j if each_seed else 0]
                failed = not known or entry.function(t[j], x, ps, us, given, value, found,
                                                     value + entry.n_values) != CG_OK
                for i in range(entry.n_found):
                    for lane in range(min(lanes, k - first)):
                        rows[i, first + lane, j] = NAN if failed or not isfinite(value[i]) else found[i * lanes + lane]
                first += lanes
    return result


cdef class VariationalTable:
    """The `cg_model_t` of a model with its variational equations for `count` directions; see cg_variational.h.

    `capsule` is for `Model`; `width` is the number of directions, filled up to whole blocks of `lanes`, and `first` the
    index of the first tangent among the states. `end` is the index of the rates at the end of a run, which the derivatives
    of its time follow (cg_variational.h), or the number of states if there are none. With `fed` the changes of the inputs
    along the tangents are further inputs; the model must have neither events nor contacts then.
    """

    cdef cg_model_t table
    cdef cg_varied_kernels_t varied
    cdef cg_variable_t *variables
    cdef cg_kernel_entry_t *entries
    cdef list kept  # what the table points to
    cdef readonly object capsule
    cdef readonly int lanes, blocks, width, first, end

    def __cinit__(self, KernelCore model, uintptr_t address, int count, bint fed=False):
        cdef const cg_variational_t *found = <const cg_variational_t *> address
        cdef const cg_model_t *m = model.model
        if (found.abi_version != CG_ABI_VERSION or found.struct_size != sizeof(cg_variational_t)
                or found.layout != CG_RUN_LAYOUT
                or found.digest.decode() != model.digest):
            raise LoadError("the compiled derivatives belong to another model")
        self.lanes = found.n_lanes
        self.blocks = (count + self.lanes - 1) // self.lanes
        self.width = self.blocks * self.lanes
        self.table = m[0]
        at = max(self.lanes, CG_PAD)
        self.first = (m.n_states + at - 1) // at * at
        self.end = self.first + m.n_states * self.width
        self.table.n_states = self.end + (found.n_end + self.width if found.n_end else 0)
        self.table.n_parameters = m.n_parameters + (m.n_parameters + m.n_inputs + 1) * self.width
        self.table.n_declared, self.table.n_hoisted = 0, (found.n_hoisted * self.blocks + 1) * self.lanes
        self.varied = found.kernels  # called in place of those of the table
        self.table.n_work = max(m.n_work, found.n_work)
        self.table.n_inputs = m.n_inputs * (1 + self.width) if fed else m.n_inputs
        if fed and m.n_inputs:
            self.varied.rhs = found.fed_rhs
        self.table.jvp, self.table.jacobian, self.table.initial = NULL, NULL, NULL
        self.table.methods, self.table.lane_sets, self.table.declared = NULL, NULL, NULL
        self.kept = [model]
        self._name(m)
        self._list(m)
        self.capsule = PyCapsule_New(<void *> &self.table, "chaplygin.model", NULL)

    def __init__(self, *arguments):
        pass

    def __dealloc__(self):
        free(self.variables)
        free(self.entries)

    cdef int _name(self, const cg_model_t *m) except -1:
        """The names of the states, parameters and inputs."""
        cdef int32_t i
        cdef int32_t known = self.table.n_states + self.table.n_parameters
        names = [f"d_{i}" for i in range(known + self.table.n_inputs)]
        texts = [name.encode() for name in names]
        self.kept.append(texts)
        self.variables = <cg_variable_t *> _memory(calloc(len(texts), sizeof(cg_variable_t)))
        for i in range(len(texts)):
            self.variables[i] = cg_variable_t(texts[i], "", "", NAN, CG_VELOCITY, 0)
        for i in range(m.n_states):
            self.variables[i] = m.states[i]
        self.table.states, self.table.parameters = self.variables, self.variables + self.table.n_states
        for i in range(m.n_parameters):
            self.variables[self.table.n_states + i] = m.parameters[i]
        self.table.inputs = self.variables + known
        for i in range(m.n_inputs):
            self.variables[known + i] = m.inputs[i]
        return 0

    @property
    def kernels(self):
        """The address of the kernels that take the tangents along."""
        return <uintptr_t> &self.varied

    cdef int _list(self, const cg_model_t *m) except -1:
        """The kernels by name are the model's own, which read no tangents."""
        cdef const cg_kernel_entry_t *entry = m.kernels
        cdef cg_kernel_entry_t *to
        cdef int32_t count = 1
        while entry.name is not NULL:
            entry += 1
            count += 1
        self.entries = to = <cg_kernel_entry_t *> _memory(calloc(count, sizeof(cg_kernel_entry_t)))
        entry = m.kernels
        while entry.name is not NULL:
            name = entry.name.decode()
            to[0] = entry[0]
            if name in ("correction", "outputs", "invariants", "guards", "when", "contacts", "consistency"):
                to += 1
            entry += 1
        to.name = NULL
        self.table.kernels = self.entries
        return 0
