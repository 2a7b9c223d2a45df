# The start of a run: read at C speed, and checked against constraints and assumptions. Included by _core.pyx; errors
# found here are reported by consistency.py and assumptions.py.

from ..interface.limits import EXPECTED, FLOOR, LARGEST_ATOL, WARN

cdef double WARNING_LIMIT = WARN
cdef double EXPECTED_ERRORS = EXPECTED
cdef double SCALE_FLOOR = FLOOR
cdef double LARGEST_USED_ATOL = LARGEST_ATOL

cdef enum:
    LOOKED_AT = CG_RATE | CG_NOT_NEGATIVE | CG_NOT_POSITIVE | CG_NOT_ZERO | CG_INTEGER | CG_EVEN | CG_ODD


cdef int _off(const cg_model_t *m, double t, const double *x, const double *p, const double *u, double rtol, double atol,
              double *out, double *work) noexcept nogil:
    """1: a residual is not zero to within these tolerances; consistency.py looks closer. -1: it cannot be computed."""
    cdef int32_t i
    if m.consistency(t, x, p, u, out, work) < 0:
        return -1
    for i in range(0, 3 * m.n_consistency, 3):
        if not fabs(out[i]) <= max(WARNING_LIMIT * max(out[i + 1], SCALE_FLOOR * min(atol, LARGEST_USED_ATOL) * out[i + 2]),
                                   EXPECTED_ERRORS * max(rtol * out[i + 1], atol * out[i + 2])):
            return 1
    return 0


cdef bint _has_unit_quaternions(const cg_model_t *m, const double *x) noexcept nogil:
    """Whether every quaternion has length 1; if not, the tolerances of the run decide, in consistency.py."""
    cdef int32_t i
    cdef double square
    for i in range(m.n_states - 3):
        if m.states[i].flags & CG_QUATERNION:
            square = x[i] * x[i] + x[i + 1] * x[i + 1] + x[i + 2] * x[i + 2] + x[i + 3] * x[i + 3]
            if not fabs(square - 1.0) <= WARNING_LIMIT * (square + 1.0):
                return False
    return True


cdef bint _agrees(double given, double found) noexcept nogil:
    """Whether a value that follows from the rest is given as it follows; `agree` in consistency.py looks closer."""
    return fabs(given - found) <= WARNING_LIMIT * max(fabs(given) + fabs(found), SCALE_FLOOR * LARGEST_USED_ATOL)


cdef bint _assuming(const cg_variable_t *table, int32_t n):
    cdef int32_t i
    for i in range(n):
        if table[i].flags & LOOKED_AT:
            return True
    return False


cdef bint _as_assumed(const cg_variable_t *table, const double *values, int32_t n) noexcept:
    """Whether values satisfy their assumptions, and rates are 0; the slow path checks whether numbers are integers."""
    cdef int32_t i, flags
    for i in range(n):
        flags = table[i].flags
        if flags == 0:
            continue
        if ((flags & CG_NOT_NEGATIVE and not values[i] >= 0.0) or (flags & CG_NOT_POSITIVE and not values[i] <= 0.0)
                or (flags & CG_NOT_ZERO and values[i] == 0.0) or (flags & CG_RATE and values[i] != 0.0)
                or flags & (CG_INTEGER | CG_EVEN | CG_ODD)):
            return False
    return True


cdef double _smallest(const double *values, int32_t n) noexcept:
    cdef double least = INFINITY
    cdef int32_t i
    for i in range(n):
        least = min(least, values[i])
    return least


cdef bint _copied(const double *values, Py_ssize_t way, Py_ssize_t count, double *out) noexcept nogil:
    """Copy every `way`-th number to `out`. Returns whether all are finite; looked at in pieces that are in the cache."""
    cdef Py_ssize_t first, j, piece
    cdef bint finite = True
    for first in range(0, count, 512):
        piece = min(512, count - first)
        for j in range(first, first + piece):
            out[j] = values[j * way]
        finite = finite and cg_all_finite(out + first, piece) != 0
    return finite


cdef object _row(const cg_variable_t *variable, object entry, Py_ssize_t count, bint copied, double *out):
    """Write the `count` finite doubles of an entry of a start to `out`: a number for all, or a plain array.

    Returns the number, or the array or a copy of it; None if the slow path is needed.
    """
    cdef double value
    cdef Py_ssize_t j, way
    cdef const double *data
    if _number(entry, &value):
        for j in range(count):
            out[j] = value
        return entry if _as_assumed(variable, &value, 1) else None
    if type(entry) is list:
        entry, copied = _of_floats(<list> entry), False
    if not (_doubles(entry, 1) and cnp.PyArray_DIM(entry, 0) == count
            and cnp.PyArray_STRIDE(entry, 0) % <Py_ssize_t> sizeof(double) == 0):
        return None
    data, way = <const double *> cnp.PyArray_DATA(entry), cnp.PyArray_STRIDE(entry, 0) // <Py_ssize_t> sizeof(double)
    if not _copied(data, way, count, out):
        return None
    for j in range(count if variable.flags else 0):
        if not _as_assumed(variable, &out[j], 1):
            return None
    return _copy(out, count) if copied else entry


cdef bint _in_order(value, Py_ssize_t n):
    """Whether `value` has n entries in order: a float64 array (n,) or (n, N), or numbers in a list or a tuple."""
    cdef double number
    cdef Py_ssize_t k
    if type(value) is not list and type(value) is not tuple:
        return (_doubles(value, 1) or _doubles(value, 2)) and cnp.PyArray_DIM(value, 0) == n
    if len(value) != n:
        return False
    for k in range(n):
        if not _number(value[k], &number):
            return False
    return True


cdef object _entry(value, tuple names, Py_ssize_t k):
    """The k-th entry of a dict by name, None if it is missing, or of `value` in order."""
    cdef PyObject *found
    if not PyDict_CheckExact(value):
        return value[k]
    found = PyDict_GetItemWithError(value, names[k])
    return None if found is NULL else <object> found


cdef class _Columns:
    """Trajectories of an ensemble, one at a time: state, parameters, inputs, then room for results and work.

    Each is a table (k, N) or (k, 1), or a list of rows (N,) or (1,), of float64.
    """

    cdef const double **rows  # of those that vary: where they are,
    cdef int64_t *ways        # their strides,
    cdef double **places      # and where their numbers go
    cdef int64_t n_varied
    cdef double *x
    cdef double *p
    cdef double *u
    cdef double *out
    cdef tuple tables

    def __cinit__(self, x, p, u, int64_t room):
        cdef int64_t n = len(x) + len(p) + len(u)
        self.tables = x, p, u  # kept alive
        self.x = <double *> _memory(calloc(n + room + 1, sizeof(double)))
        self.rows = <const double **> _memory(calloc(3 * n + 1, sizeof(void *)))
        self.ways, self.places = <int64_t *> (self.rows + n), <double **> (self.rows + 2 * n)
        self.p = self._add(x, self.x)
        self.u = self._add(p, self.p)
        self.out = self._add(u, self.u)

    def __dealloc__(self):
        free(self.rows)
        free(self.x)

    cdef double *_add(self, table, double *place) except NULL:
        """Let the next rows go to `place`. Returns the place behind them."""
        cdef Py_ssize_t k, n = len(table)
        cdef bint listed = type(table) is list
        cdef int64_t way = 0 if listed else _way(table, 1)
        for k in range(n):
            row = (<list> table)[k] if listed else table
            if cnp.PyArray_SIZE(row) == 0:
                continue
            self.rows[self.n_varied] = <const double *> (
                cnp.PyArray_BYTES(row) + (0 if listed else k * cnp.PyArray_STRIDE(row, 0)))
            self.ways[self.n_varied], self.places[self.n_varied] = _way(row, 0) if listed else way, place + k
            place[k] = self.rows[self.n_varied][0]
            self.n_varied += self.ways[self.n_varied] != 0
        return place + n

    cdef void take(self, int64_t j) noexcept nogil:
        cdef int64_t k
        for k in range(self.n_varied):
            self.places[k][0] = self.rows[k][j * self.ways[k]]


cdef class StartCore(KernelCore):
    """The starts of runs and ensembles from plain arguments; `InitialStates` is the slow path."""

    cdef int _start(self, double t0, value, const double *p, const double *u, const double **found) except -1:
        """As _vector, for the initial state, which can also contain dependent variables that agree with the states."""
        cdef Py_ssize_t i, extra = 0
        cdef double given
        cdef PyObject *entry
        if (not PyDict_CheckExact(value) or PyDict_Size(value) <= self.n_states or self.model.initial is not NULL
                or self.model.outputs_fn is NULL or self.model.n_modes > 0):
            return _vector(value, self.states, self.n_states, self.x, found)
        for i in range(self.n_states):
            entry = PyDict_GetItemWithError(value, self.states[i])
            if entry is NULL or not _number(<object> entry, &self.x[i]):
                return 0
        if self._later:
            self._need("outputs")
        if self.model.outputs_fn(t0, self.x, p, u, self.out, self.work) < 0:
            return 0
        for name, i in self.dependents:
            entry = PyDict_GetItemWithError(value, name)
            if entry is not NULL:
                if not _number(<object> entry, &given) or not _agrees(given, self.out[i]):
                    return 0
                extra += 1
        found[0] = self.x
        return self.n_states + extra == PyDict_Size(value)

    cdef bint _contacts_right(self, double t0, const double *x, const double *p, const double *u):
        """Whether no contact drives its slip at the start; if one does, `_check_friction` reports it."""
        cdef const cg_model_t *m = self.model
        cdef double own
        cdef int32_t i
        cdef int status
        if m.n_contacts == 0:
            return True
        if m.contacts_fn is NULL:
            return False
        if u != self.u:
            memcpy(self.u, u, m.n_inputs * sizeof(double))
        for i in range(m.n_modes):
            self.u[m.n_inputs + i] = 1.0
        status = m.contacts_fn(t0, x, p, self.u, self.out, self.work)
        memset(self.u + m.n_inputs, 0, m.n_modes * sizeof(double))
        for i in range(m.n_contacts):
            own = -self.out[5 * i + 1]
            if m.contacts[i].sign >= 0 and self.out[5 * i + 4] < 0.0:
                own = -own
            if status >= 0 and (own < 0.0 or self.out[5 * i + 2] < 0.0):
                return False
        return True

    cdef bint _start_right(self, double t0, const double *x, const double *p, const double *u, double rtol,
                           double atol):
        """Whether the start of a run satisfies constraints and assumptions; if not, the slow path reports it."""
        cdef const cg_model_t *m = self.model
        if self.assuming and not (_as_assumed(m.states, x, m.n_states) and _as_assumed(m.parameters, p, m.n_parameters)
                                  and _as_assumed(m.inputs, u, m.n_inputs)):
            return False
        if self.turning and not _has_unit_quaternions(m, x):
            return False
        return m.consistency is NULL or _off(m, t0, x, p, u, rtol, atol, self.out, self.work) == 0

    def _inconsistent(self, double t0, x0, list p, u, double atol):
        """Numbers of the trajectories of an ensemble that do not start on their constraints to within `atol`, or with
        quaternions of length 1.

        x0 (n, N), p a row (1,) or (N,) for each parameter, u (nu, 1) or (nu, N).
        """
        cdef Py_ssize_t count = cnp.PyArray_DIM(x0, 1), j
        cdef const cg_model_t *m = self.model
        cdef bint any_wrong = False
        found = np.zeros(count, dtype=np.uint8)
        cdef unsigned char[:] wrong = found
        cdef _Columns column = _Columns(x0, p, u, m.n_modes + 3 * m.n_consistency + m.n_work)
        cdef double *out = column.out + m.n_modes
        with nogil:
            for j in range(count):
                column.take(j)
                wrong[j] = (self.turning and not _has_unit_quaternions(m, column.x)) or (
                    m.consistency is not NULL
                    and _off(m, t0, column.x, column.p, column.u, 0.0, atol, out, out + 3 * m.n_consistency) != 0)
                any_wrong = any_wrong or wrong[j]
        return np.flatnonzero(found) if any_wrong else np.empty(0, dtype=np.intp)

    def _plain_start(self, double t0, initial, parameters, u, Py_ssize_t count, target, bint copied_states,
                     bint copied_parameters):
        """The start of an ensemble if all states and parameters are plain numbers or arrays of float64, by name or in the
        order of the model, and satisfy their assumptions. Dependent variables may be given too if they agree with the
        states; for these `u` has the inputs at the start, (nu,) or (nu, count), or None if they are not known.

        The states are written to `target` (n_states, count), float64 with contiguous rows. Returns the states (each a
        number or an array), the parameters (each an array (1,) or (count,)) and the dependent variables by name, the given
        arrays or with `copied_states` and `copied_parameters` copies of them; None if the slow path is needed.
        """
        cdef Py_ssize_t k
        cdef double value
        cdef cnp.npy_intp n = self.n_parameters, one = 1
        if parameters is None and n == 0:
            parameters = ()
        if not (_doubles(target, 2) and cnp.PyArray_ISWRITEABLE(target) and cnp.PyArray_DIM(target, 0) == self.n_states
                and cnp.PyArray_DIM(target, 1) == count and cnp.PyArray_STRIDE(target, 1) == <Py_ssize_t> sizeof(double)
                and (PyDict_CheckExact(parameters) and PyDict_Size(parameters) == n or _in_order(parameters, n))
                and (PyDict_CheckExact(initial) or _in_order(initial, self.n_states))):
            return None
        states, rows = [], []
        for k in range(self.n_states):
            row = _row(&self.model.states[k], _entry(initial, self.states, k), count, copied_states,
                       <double *> (cnp.PyArray_BYTES(target) + k * cnp.PyArray_STRIDE(target, 0)))
            if row is None:
                return None
            states.append(row)
        room = None
        for k in range(n):
            entry = _entry(parameters, self.parameters, k)
            if _number(entry, &value):
                row = cnp.PyArray_SimpleNew(1, &one, cnp.NPY_DOUBLE)
                if _row(&self.model.parameters[k], entry, 1, False, <double *> cnp.PyArray_DATA(row)) is None:
                    return None
            else:
                room = np.empty(count) if room is None else room
                row = _row(&self.model.parameters[k], entry, count, copied_parameters,
                           <double *> cnp.PyArray_DATA(room))
                if row is None:
                    return None
            rows.append(row)
        dependent = {}
        if PyDict_CheckExact(initial) and PyDict_Size(initial) > self.n_states:
            dependent = self._plain_dependent(t0, initial, rows, u, count, target, copied_states)
            if dependent is None:
                return None
        return states, rows, dependent

    cdef dict _plain_dependent(self, double t0, dict initial, list parameters, u, Py_ssize_t count, target, bint copied):
        """The dependent variables of a start by name, as `_plain_start` returns them; None for the slow path."""
        cdef const cg_model_t *m = self.model
        cdef Py_ssize_t i
        if (u is None or not _doubles(u, 2) or len(u) != m.n_inputs or m.initial is not NULL or m.outputs_fn is NULL
                or m.n_modes > 0):
            return None
        found, places = {}, []
        given = np.empty((PyDict_Size(initial) - self.n_states, count))
        for name, i in self.dependents:
            if name in initial and len(found) < len(given):
                kept = _row(&m.outputs[i], initial[name], count, copied,
                            <double *> (cnp.PyArray_BYTES(given) + len(found) * cnp.PyArray_STRIDE(given, 0)))
                if kept is None:
                    return None
                found[name] = kept
                places.append(i)
        right = len(found) == len(given) and self._outputs_agree(t0, target, parameters, u, np.array(places, np.intp), given)
        return found if right else None

    cdef bint _outputs_agree(self, double t0, x0, list p, u, const Py_ssize_t[:] places, const double[:, :] given) except -1:
        """Whether some outputs of the trajectories of an ensemble have the values `given` (k, N)."""
        cdef const cg_model_t *m = self.model
        self._need("outputs")
        cdef Py_ssize_t i, j
        cdef bint right = True
        cdef _Columns column = _Columns(x0, p, u, m.n_outputs + m.n_work)
        with nogil:
            for j in range(given.shape[1]):
                column.take(j)
                right = right and m.outputs_fn(t0, column.x, column.p, column.u, column.out,
                                               column.out + m.n_outputs) >= 0
                for i in range(places.shape[0]):
                    right = right and _agrees(given[i, j], column.out[places[i]])
                if not right:
                    break
        return right
