# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, embedsignature=False, annotation_typing=False
"""Binding of the C runtime: calls of a model's kernels, integration, steppers, chunks of ensembles, batches.

Plain float64 arrays and plain dicts of floats are read here, in C; everything else goes to the slow path in Python
(`arguments`, `base_model`), which converts it or reports what is wrong.
"""

from cpython.dict cimport PyDict_CheckExact, PyDict_GetItemWithError, PyDict_SetDefault, PyDict_Size
from cpython.exc cimport PyErr_CheckSignals
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_CheckExact, PyFloat_FromDouble
from cpython.long cimport PyLong_AsDouble, PyLong_AsLong, PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New
from cpython.sequence cimport PySequence_Fast_GET_ITEM, PySequence_Fast_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8, PyUnicode_InternFromString
from libc.math cimport INFINITY, NAN, fabs, isfinite
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t, uint32_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset, strcmp

cimport numpy as cnp
import numpy as np
from time import perf_counter
from types import MappingProxyType

from ..interface import arguments
from .. import interface, problem as given_problem
from ..problem import options
from ..problem.continued import past_of
from ..interface.description import KINDS, KernelEntry, Method, TAKES
from chaplygin.errors import ArgumentError, KernelError, LoadError
from ..interface.statuses import PIVOT, busy, kernel_failed, message_of
from ..interface.limits import WORTH
from ..results.solution import Solution
from chaplygin._lazy import later

dense_outputs = later("chaplygin.runtime.results.dense")

include "_abi.pxi"

cnp.import_array()

cdef enum:
    FIRST_ROWS = 64
    FIRST_BUDGET = 8  # steps before the first check for signals: short even for a slow model
    MOST_METHODS = 32  # with the right-hand side inlined, of one model
    MANY_CALLS = 1000000  # of a right-hand side, from which it is worth inlining it into a method

LAYOUT = (CG_RUN_LAYOUT, CG_LANES_LAYOUT)
"""The versions of the C structs of which snapshots have copies."""


cdef void *_memory(void *found) except NULL:
    """A newly allocated block; raises MemoryError for NULL."""
    if found is NULL:
        raise MemoryError
    return found


def widest_lanes() -> int:
    """Lanes in one vector register of this CPU: 8 with AVX-512, 4 with AVX2, 2 with SSE2 or NEON, 1 if unknown."""
    return cg_widest_lanes()


include "_arguments.pxi"


cdef tuple _names(const cg_variable_t *table, int32_t n, list variables):
    cdef int32_t i
    names = []
    if n > 0 and table is NULL:
        raise LoadError("the model has no name table for some of its quantities")
    for i in range(n):
        name = table[i].name.decode()
        kind = KINDS[table[i].kind] if 0 <= table[i].kind < len(KINDS) else "unknown"
        unit = table[i].unit.decode() if table[i].unit is not NULL else ""
        text = table[i].description.decode() if table[i].description is not NULL else ""
        variables.append((name, kind, unit, text, table[i].example, table[i].flags))
        names.append(name)
    return tuple(names)


cdef const cg_model_t *_table(capsule) except NULL:
    """The table in a capsule; raises LoadError if it has another version of the interface."""
    cdef const cg_model_t *m
    if not PyCapsule_IsValid(capsule, "chaplygin.model"):
        raise LoadError(f"{type(capsule).__name__} object is not a capsule named 'chaplygin.model'")
    m = <const cg_model_t *> PyCapsule_GetPointer(capsule, "chaplygin.model")
    if m.abi_version != CG_ABI_VERSION or m.struct_size != sizeof(cg_model_t):
        raise LoadError(
            f"the model was compiled for version {m.abi_version} of the binary interface (table of "
            f"{m.struct_size} bytes); this runtime has version {CG_ABI_VERSION} ({sizeof(cg_model_t)} bytes): "
            "compile the model again"
        )
    return m


cdef dict _sizes(const cg_model_t *m):
    """All sizes in a table by name: arrays allocated for a model, or read from it, have one of these lengths."""
    return {"n_states": m.n_states, "n_parameters": m.n_parameters, "n_inputs": m.n_inputs, "n_outputs": m.n_outputs,
            "n_invariants": m.n_invariants, "n_guards": m.n_guards, "n_modes": m.n_modes, "n_declared": m.n_declared,
            "n_events": m.n_events, "n_contacts": m.n_contacts, "n_coordinates": m.n_coordinates,
            "n_consistency": m.n_consistency, "n_work": m.n_work, "n_hoisted": m.n_hoisted,
            **{f"the length of {name}": entry.length for name, entry in _entries(m).items()}}


cdef dict _entries(const cg_model_t *m):
    """The kernels of a model by name."""
    cdef const cg_kernel_entry_t *entry = m.kernels
    found = {}
    while entry.name is not NULL:
        if not (0 <= entry.takes < len(TAKES) and entry.length >= 0 and entry.function is not NULL):
            raise LoadError(f"{m.name.decode()} has a damaged table of kernels")
        name = entry.name.decode()
        found[name] = KernelEntry(name, entry.text.decode(), TAKES[entry.takes], entry.length)
        entry += 1
    return found


cdef int _called(const cg_kernel_entry_t *entry, int32_t event, double t, const double *x, const double *p,
                 const double *u, const double *v, double *out, double *work) noexcept nogil:
    """Call a kernel with those of the arguments that it takes."""
    if entry.takes == CG_TAKES_DIRECTION:
        return (<cg_jvp_t> entry.function)(t, x, p, u, v, out, work)
    if entry.takes == CG_TAKES_EVENT:
        return (<cg_reset_t> entry.function)(event, t, x, p, u, out, work)
    return (<cg_kernel_t> entry.function)(t, x, p, u, out, work)


cdef class KernelCore:
    """The table of a compiled model, and calls of its kernels."""

    cdef const cg_model_t *code     # the table in the model's code
    cdef cg_model_t table           # a copy of it, whose list of methods grows
    cdef const cg_model_t *model    # that copy
    cdef cg_method_t *compiled      # its methods
    cdef double *scratch        # x, p, u, out, work in sequence: used only with the GIL held
    cdef double *x
    cdef double *p
    cdef double *u              # inputs, then the modes, which stay zero
    cdef double *out            # output of any kernel except the Jacobian
    cdef double *work
    cdef readonly int n_states, n_parameters, n_inputs
    cdef object known_capsule
    cdef readonly object owner
    cdef readonly tuple states, parameters, inputs, outputs, invariants, residuals, declared
    cdef readonly tuple _conserved  # the rows of the kernel `invariants`: first integrals, then residuals
    cdef readonly tuple checked_at_start  # those that must be zero at the start of a run
    cdef readonly tuple events, kinks, contacts, modes
    cdef readonly tuple _kink_texts  # what each kink is
    cdef readonly tuple _terminal  # of each event, whether it ends a run
    cdef readonly tuple _resets    # the indices of the events that have a reset
    cdef readonly tuple _signs      # of each contact: the index of its sign mode, or -1
    cdef readonly str name, form, digest, generator, independent
    cdef readonly dict _entries  # the kernels by name
    cdef readonly int n_coordinates, n_work
    cdef readonly bint has_initial
    cdef readonly bint hybrid   # has events or contacts: every run detects them
    cdef readonly object methods  # name -> Method
    cdef readonly list _variables
    cdef bint assuming          # whether there are assumptions about any parameter, input or state
    cdef bint turning           # whether any state begins a quaternion
    cdef public dict _later     # the kernels without code so far: where it is to be put, see `need` in inlining.py
    cdef dict places            # the quantity of each name: see _quantities.pxi
    cdef dict settable          # the quantities that a stepper can change
    cdef tuple dependents       # (name, index of the output) of the declared variables that are not states

    def __cinit__(self, capsule, *, owner=None):
        cdef const cg_model_t *m
        cdef size_t n_x, n_u, n_out
        cdef int32_t i
        m = _table(capsule)
        self.name = m.name.decode()
        if m.scalar.decode() != "float64":
            raise LoadError(f"{self.name} computes in {m.scalar.decode()}; only float64 is supported")
        if m.rhs is NULL or m.kernels is NULL or m.n_states < 1 or min(m.n_parameters, m.n_inputs, m.n_modes, m.n_work, m.n_outputs,
                                                          m.n_events, m.n_guards - m.n_events, m.n_contacts) < 0:
            raise LoadError(f"{self.name} has a damaged table: no right-hand side, no kernels, or sizes out of range")
        self.code, self.table = m, m[0]
        self.model = &self.table
        self._keep_methods(m.methods)
        self.form, self.digest = m.form.decode(), m.digest.decode()
        self.generator, self.independent = m.generator.decode(), m.independent.decode()
        self._entries = _entries(m)
        self.known_capsule, self.owner = capsule, owner
        self._variables, self._later = [], {}
        self.states = _names(m.states, m.n_states, self._variables)
        self.parameters = _names(m.parameters, m.n_parameters, self._variables)
        self.inputs = _names(m.inputs, m.n_inputs, self._variables)
        self.outputs = _names(m.outputs, m.n_outputs, self._variables)
        self._conserved = _names(m.invariants, m.n_invariants, self._variables)
        self.residuals = tuple([name for i, name in enumerate(self._conserved) if m.invariants[i].kind == CG_RESIDUAL])
        self.invariants = tuple([name for i, name in enumerate(self._conserved) if m.invariants[i].kind != CG_RESIDUAL])
        self.checked_at_start = tuple([name for i, name in enumerate(self._conserved)
                                       if m.invariants[i].flags & CG_ZERO_AT_START])
        if len(self.checked_at_start) != m.n_consistency or (m.n_consistency > 0) != (m.consistency is not NULL):
            raise LoadError(f"{self.name} has a damaged table: the kernel of its residuals at the start")
        self.declared = _names(m.declared, m.n_declared, self._variables) if m.declared is not NULL else ()
        rows = []
        guards = _names(m.guards, m.n_guards, rows) if m.guards is not NULL else tuple(map(str, range(m.n_guards)))
        self.kinks, self._kink_texts = guards[m.n_events:], tuple([row[3] for row in rows[m.n_events:]])
        self.events = tuple([m.events[i].name.decode() for i in range(m.n_events)]) if m.events is not NULL else ()
        self.contacts = tuple([m.contacts[i].name.decode() for i in range(m.n_contacts)]) if m.contacts is not NULL else ()
        self._signs = tuple([m.contacts[i].sign for i in range(m.n_contacts)]) if m.contacts is not NULL else ()
        self.modes = _names(m.modes, m.n_modes, []) if m.modes is not NULL else ()
        self._terminal = tuple([m.events[i].terminal != 0 for i in range(len(self.events))])
        self._resets = tuple([i for i in range(len(self.events)) if m.events[i].has_reset != 0])
        self.hybrid = m.n_events > 0 or m.n_contacts > 0
        self.n_states, self.n_parameters, self.n_inputs = m.n_states, m.n_parameters, m.n_inputs
        self.n_coordinates, self.n_work = m.n_coordinates, m.n_work
        self.has_initial = m.initial is not NULL
        self.methods = MappingProxyType(_listed(m.methods, methods()))
        n_x, n_u = max(m.n_states, m.n_declared), m.n_inputs + m.n_modes
        self.assuming = (_assuming(m.states, m.n_states) or _assuming(m.parameters, m.n_parameters)
                         or _assuming(m.inputs, m.n_inputs))
        self.turning = any([m.states[i].flags & CG_QUATERNION for i in range(m.n_states)])
        self.dependents = tuple([(self.outputs[i], i) for i in range(m.n_outputs)
                                 if m.outputs[i].kind == CG_DECLARED and self.outputs[i] not in self.states])
        n_x = max(n_x, 1)
        n_out = max(m.n_outputs, m.n_invariants, 5 * m.n_contacts, 3 * m.n_consistency)
        self.scratch = <double *> _memory(calloc(n_x + m.n_parameters + n_u + n_out + m.n_work, sizeof(double)))
        self.x = self.scratch
        self.p = self.x + n_x
        self.u = self.p + m.n_parameters
        self.out = self.u + n_u
        self.work = self.out + n_out
        self.places, self.settable = _places(self), _settable(self)

    def __init__(self, capsule, *, owner=None):
        pass

    def __dealloc__(self):
        free(self.scratch)
        free(self.compiled)

    cdef int _keep_methods(self, const cg_method_t *given) except -1:
        """Give the table of this object a list of methods that can grow: those with the right-hand side inlined."""
        self.compiled = <cg_method_t *> _memory(calloc(MOST_METHODS + 1, sizeof(cg_method_t)))
        self.table.methods = self.compiled
        while given is not NULL and given.info.name is not NULL:
            self._keep_method(given)
            given += 1
        return 0

    cdef int _keep_method(self, const cg_method_t *given) except -1:
        cdef int i = 0
        while self.compiled[i].info.name is not NULL:
            i += 1
        if i == MOST_METHODS:
            raise LoadError(f"{self.name} has more than {MOST_METHODS} methods of its own")
        self.compiled[i] = given[0]
        return 0

    def _take_method(self, method: str, uintptr_t address) -> None:
        """Add a method with the right-hand side inlined: that of the model table at an address, whose code must stay
        loaded. Runs that begin from now on take it, with the same results."""
        cdef const cg_model_t *other = <const cg_model_t *> address
        cdef cg_method_t found
        if (other.abi_version != CG_ABI_VERSION or other.digest.decode() != self.digest
                or other.name.decode() != self.name):
            raise LoadError(f"the method {method} was compiled for another model than {self.name}")
        now, new = _sizes(self.model), _sizes(other)
        wrong = [f"{size} = {new.get(size)} instead of {now.get(size)}" for size in {**now, **new}
                 if new.get(size) != now.get(size)]
        if wrong:
            raise LoadError(f"the method {method} was compiled for another {self.name}: {', '.join(wrong)}")
        if other.methods is NULL or not cg_method_find(other, method.encode(), 0, &found):
            raise LoadError(f"the method {method} is not in its library")
        if method not in self.inlined:
            self._keep_method(&found)

    @property
    def inlined(self) -> tuple[str, ...]:
        """The methods into which the right-hand side is inlined: for them runs are quicker, with the same results."""
        return tuple(_listed(self.compiled, {}))

    @property
    def capsule(self) -> object:
        """The model's `cg_model_t` table, for Cython."""
        self._complete()
        return self.known_capsule

    @property
    def address(self) -> int:
        """Address of the model's `cg_model_t` table."""
        self._complete()
        return <uintptr_t> self.code

    @property
    def addresses(self) -> dict[str, int]:
        """Addresses of the kernels (see chaplygin.h for their arguments), for ctypes, numba and other C code."""
        self._complete()
        cdef const cg_kernel_entry_t *entry = self.model.kernels
        found = {"hoist": <uintptr_t> self.model.hoist} if self.model.hoist is not NULL else {}
        while entry.name is not NULL:
            found[entry.name.decode()] = <uintptr_t> entry.function
            entry += 1
        return found

    @property
    def lane_sets(self) -> list[tuple[int, int]]:
        """(lanes, address) of each lane set linked into the model that this CPU can run, widest first."""
        cdef const cg_lane_set_t *const *sets = self.model.lane_sets
        found = []
        while sets is not NULL and sets[0] is not NULL:
            if cg_lane_set_runs(sets[0]):
                found.append((sets[0].n_lanes, <uintptr_t> sets[0]))
            sets += 1
        return found

    def runs_lanes(self, uintptr_t address) -> bool:
        """Whether the `cg_lane_set_t` at an address is for this model and this CPU."""
        cdef const cg_lane_set_t *lane_set = <const cg_lane_set_t *> address
        return bool(cg_lane_set_runs(lane_set) and lane_set.digest.decode() == self.digest)

    cdef object _one(self, str kernel, cg_kernel_t function, cnp.npy_intp n_out, t, y, p, u):
        """One call with plain arguments; None if the slow path is needed."""
        cdef double time
        cdef const double *xs
        cdef const double *ps
        cdef const double *us
        cdef int status
        if not (_number(t, &time) and _vector(y, self.states, self.n_states, self.x, &xs)
                and _vector(p, self.parameters, self.n_parameters, self.p, &ps)
                and _vector(u, self.inputs, self.n_inputs, self.u, &us)):
            return None
        if function is NULL:
            raise kernel_failed(self, kernel, CG_UNSUPPORTED, time, -1)
        if self._later:
            self._need(kernel)
        if self.model.n_modes > 0 and us != self.u:  # append the modes, which are zero here, to the inputs
            memcpy(self.u, us, self.n_inputs * sizeof(double))
            us = self.u
        out = cnp.PyArray_SimpleNew(1, &n_out, cnp.NPY_DOUBLE)
        status = function(time, xs, ps, us, <double *> cnp.PyArray_DATA(out), self.work)
        if status < 0:
            raise kernel_failed(self, kernel, status, time, -1)
        return out

    def rhs(self, t, y, p, u=()) -> Array:
        """dy/dt at time t: (n,) for y of shape (n,), (n, N) for (n, N)."""
        out = self._one("rhs", self.model.rhs, self.n_states, t, y, p, u)
        return out if out is not None else self._call("rhs", t, y, p, u)

    def jacobian(self, t, y, p, u=()) -> Array:
        """d(dy/dt)/dy at time t: (n, n) for y of shape (n,), (n, n, N) for (n, N)."""
        cdef int n = self.n_states
        out = self._one("jacobian", self.model.jacobian, n * n, t, y, p, u)
        if out is None:
            out = self._call("jacobian", t, y, p, u)
        return out.reshape((n, n) + out.shape[1:])

    def evaluate(self, t, y, p, u=()):
        """Every state, declared variable, output, reaction, invariant and residual by name.

        t is a number or (N,); y (n,) or (n, N); p (np,) or (np, N); u (nu,) or (nu, N). The values are floats, or
        arrays (N,) if any argument has columns. Raises `ArgumentError` for a wrong argument and `KernelError` if the
        model cannot be evaluated. After the inputs, u can contain the contact modes, 0 for stick, +1 or -1 for slip
        (`modes` lists their names); without them all contacts stick.
        """
        cdef double time
        cdef const double *xs
        cdef const double *ps
        cdef const double *us
        if not (_number(t, &time) and _vector(y, self.states, self.n_states, self.x, &xs)
                and _vector(p, self.parameters, self.n_parameters, self.p, &ps)
                and _vector(u, self.inputs, self.n_inputs, self.u, &us)):
            return self._evaluate(t, y, p, u)
        if us != self.u:  # append the modes to the inputs
            memcpy(self.u, us, self.n_inputs * sizeof(double))
        return _quantities(self, time, xs, ps, self.u)

    def _columns(self, str kernel, t, y, p, u, extra, bint strict=True):
        """Call a kernel over columns: t (T,), y (n, Y), p (np, P), u (nu, U); T, Y, P, U are 1 or N.

        `extra`: directions (n, V), or the index of an event, for a kernel that takes these; else None.
        All are float64 arrays, already checked. Returns (outputs, N). Used by the slow path and `evaluate`.
        A column that fails raises KernelError; with strict=False it is NaN.
        """
        cdef const cg_model_t *m = self.model
        cdef bytes name = kernel.encode()
        cdef const cg_kernel_entry_t *entry = cg_kernel(m, name)
        cdef int64_t n_out, n_in, count = 1, i, j
        cdef int32_t which = extra if isinstance(extra, int) else -1
        cdef int status = 0
        cdef double *block
        cdef double *xs
        cdef double *ps
        cdef double *us
        cdef double *vs
        cdef double *outs
        cdef double *work
        if self._later:
            self._need(kernel)
        if entry is NULL:
            raise kernel_failed(self, kernel, CG_UNSUPPORTED, float(t[0]) if len(t) else 0.0, -1)
        n_out, n_in = entry.length, m.n_declared if entry.takes == CG_TAKES_DECLARED else m.n_states
        cdef const double[:] ts = t
        cdef const double[:, :] ys = y
        cdef const double[:, :] pp = p
        cdef const double[:, :] uu = u
        cdef const double[:, :] vv = y if extra is None or which >= 0 else extra
        count = max(ts.shape[0], ys.shape[1], pp.shape[1], uu.shape[1], vv.shape[1])
        if min(ts.shape[0], ys.shape[1], pp.shape[1], uu.shape[1], vv.shape[1]) == 0:
            count = 0
        for i in (ts.shape[0], ys.shape[1], pp.shape[1], uu.shape[1], vv.shape[1]):
            if i != 1 and i != count:
                raise ArgumentError(f"{self.name}.{kernel}: arguments have different column counts: {i} and {count}")
        if (ys.shape[0] != n_in or pp.shape[0] != m.n_parameters
                or uu.shape[0] not in (m.n_inputs, m.n_inputs + m.n_modes)  # the modes may follow the inputs
                or vv.shape[0] != n_in):
            raise ArgumentError(f"{self.name}.{kernel}: wrong number of rows")
        out = np.empty((n_out, count))
        cdef double[:, :] result = out
        block = <double *> _memory(calloc(2 * n_in + m.n_parameters + m.n_inputs + m.n_modes + n_out + m.n_work + 1,
                                          sizeof(double)))
        xs = block
        vs = xs + n_in
        ps = vs + n_in
        us = ps + m.n_parameters
        outs = us + m.n_inputs + m.n_modes
        work = outs + n_out
        with nogil:
            for j in range(count):
                for i in range(n_in):
                    xs[i] = ys[i, j if ys.shape[1] > 1 else 0]
                    vs[i] = vv[i, j if vv.shape[1] > 1 else 0]
                if j == 0 or pp.shape[1] > 1:
                    for i in range(m.n_parameters):
                        ps[i] = pp[i, j if pp.shape[1] > 1 else 0]
                if j == 0 or uu.shape[1] > 1:
                    for i in range(uu.shape[0]):
                        us[i] = uu[i, j if uu.shape[1] > 1 else 0]
                status = _called(entry, which, ts[j if ts.shape[0] > 1 else 0], xs, ps, us, vs, outs, work)
                if status < 0 and strict:
                    break
                for i in range(n_out):
                    result[i, j] = outs[i] if status >= 0 else NAN
        free(block)
        if status < 0 and strict:
            raise kernel_failed(self, kernel, status, ts[j if ts.shape[0] > 1 else 0], j if count > 1 else -1)
        return out

include "_quantities.pxi"
include "_start.pxi"
include "_options.pxi"
include "_signals.pxi"
include "_events.pxi"
include "_runs.pxi"
include "_guard.pxi"
include "_stepper.pxi"
include "_observe.pxi"
include "_ensemble.pxi"
include "_team.pxi"
include "_batch.pxi"
include "_companion.pxi"
include "_derivatives.pxi"
include "_adjoint.pxi"
include "_integrand.pxi"
include "_draws.pxi"
