"""The common base of compiled and pure-Python models: names and checked calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from . import arguments
from .arguments import Array, wide
from .assumptions import QUATERNION
from .description import OF_LEAST_NORM, KernelEntry, Method, Variable
from .messages import short


class BaseModel:
    """Base of `Model` and `PythonModel`: names and kernels, whatever these are called by."""

    name: str
    form: str
    digest: str
    independent: str
    _entries: dict[str, KernelEntry]
    states: tuple[str, ...]
    parameters: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    invariants: tuple[str, ...]
    residuals: tuple[str, ...]
    _conserved: tuple[str, ...]  # the rows of the kernel `invariants`: first integrals, then residuals
    declared: tuple[str, ...]
    events: tuple[str, ...]
    contacts: tuple[str, ...]
    modes: tuple[str, ...]
    n_coordinates: int
    has_initial: bool
    _parameters_following: frozenset[str] | None = None
    variables: dict[str, Variable]
    checked_at_start: tuple[str, ...]
    """Residuals and invariants that must be zero at the start of a run; see `chaplygin.runtime.problem.consistency`."""

    owner: object
    """The module that has its kernels."""
    kinks: tuple[str, ...]
    """The guards of its kinks."""
    _kink_texts: tuple[str, ...] = ()  # what each of them is
    _terminal: tuple[bool, ...]  # of each event, whether it ends a run
    _resets: tuple[int, ...]  # the indices of the events that have a reset
    _signs: tuple[int, ...]  # of each contact: the index of its sign mode, or -1
    methods: Mapping[str, Method]
    """The integration methods by name."""

    _options_checked: tuple[Any, Any] | None = None
    """The options of plain numbers that were checked last, and what they are for this model."""

    _equations: Callable[[], Any] | None = None
    """The nodes of the equations from which it was compiled; None if it was loaded from a file."""

    def _columns(
        self, kernel: str, t: Array, y: Array, p: Array, u: Array, extra: Any, strict: bool = True
    ) -> Array:
        """Call a kernel over columns, with checked arguments; see `_core.pyx`. Not strict: failing columns are NaN.

        `extra`: the directions or the index of the event, for a kernel that takes these.
        """
        raise NotImplementedError

    @cached_property
    def _quaternions(self) -> tuple[int, ...]:
        """Where quaternions begin among the states, each of four coordinates: those of joints."""
        return tuple(i for i, name in enumerate(self.states) if self.variables[name].flags & QUATERNION)

    @cached_property
    def _input_flags(self) -> tuple[int, ...]:
        return tuple(self.variables[name].flags for name in self.inputs)

    @property
    def along(self) -> str | None:
        """The declared coordinate that is the independent variable in place of the time; None if it is the time."""
        return None if self.independent == "t" else self.independent

    def default_method(self, rtol: float, atol: Any) -> str:
        """The method of a run with these tolerances that names none."""
        raise NotImplementedError

    @property
    def kernels(self) -> dict[str, int]:
        """The kernels of the model by name, each with the length of its result; see `call`."""
        return {name: entry.length for name, entry in self._entries.items()}

    def call(
        self, kernel: str, t: Any, y: Any, p: Any, u: Any = (), *, dy: Any = None, event: str | None = None
    ) -> Array:
        """The result of any kernel in `kernels`: (length,) for y of shape (n,), (length, N) for (n, N).

        Arguments are as for `rhs`. "jvp" needs a direction `dy` of the shape of y; "initial" takes the declared
        coordinates and velocities as y, in the order of `declared`; "reset" needs the name of an event.
        Raises `ArgumentError` for a wrong argument and `KernelError` if the kernel fails.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> model.kernels
        {'rhs': 2, 'jvp': 2, 'jacobian': 4, 'invariants': 1}
        >>> model.call("invariants", 0, {"x": 1, "x_dot": 2}, {"m": 1, "k": 4})
        array([4.])
        """
        entry = self._entry(kernel)
        for name, value, takes in (("dy", dy, "direction"), ("event", event, "event")):
            if (value is None) == (entry.takes == takes):
                raise ArgumentError(
                    f"{self.name}.{kernel}: {name} {'is missing' if value is None else 'is not used'}"
                )
        arguments.check_known("event", () if event is None else (event,), self.events)
        return self._call(kernel, t, y, p, u, dy, None if event is None else self.events.index(event))

    def _entry(self, kernel: str) -> KernelEntry:
        """The entry of a kernel; raises `ArgumentError` if the model does not have it."""
        entry = self._entries.get(arguments.text("kernel", kernel))
        if entry is None:
            hint = arguments.nearest(str(kernel), tuple(self._entries))
            raise ArgumentError(
                f"{short(kernel)} is not a kernel of {self.name}; it has {', '.join(self._entries)}{hint}"
            )
        return entry

    @property
    def quantities(self) -> tuple[str, ...]:
        """Everything available by name: states, outputs, invariants, residuals and inputs."""
        return tuple(dict.fromkeys((*self.states, *self.outputs, *self._conserved, *self.inputs)))

    @property
    def units(self) -> dict[str, str]:
        """Declared units by name."""
        return {name: variable.unit for name, variable in self.variables.items() if variable.unit}

    @property
    def descriptions(self) -> dict[str, str]:
        """Declared descriptions by name."""
        return {
            name: variable.description for name, variable in self.variables.items() if variable.description
        }

    @property
    def has_redundant_constraints(self) -> bool:
        """Whether constraints leave multipliers open, of which those of least norm are computed."""
        return any(variable.description.startswith(OF_LEAST_NORM) for variable in self.variables.values())

    @property
    def example(self) -> dict[str, float]:
        """Values at the declared example point."""
        return {name: item.example for name, item in self.variables.items() if item.example == item.example}

    def attributes(self, name: str) -> dict[str, str]:
        """Unit, description and kind of one quantity, without empty ones."""
        found = self.variables.get(arguments.text("name", name))
        if found is None:
            raise arguments.unknown_quantity(name, self.name, tuple(self.variables))
        entries = {"units": found.unit, "long_name": found.description, "kind": found.kind}
        return {key: value for key, value in entries.items() if value}

    def jvp(self, t: Any, y: Any, p: Any, dy: Any, u: Any = ()) -> Array:
        """(d(dy/dt)/dy) . dy at time t: (n,), or (n, N) if y or dy has shape (n, N)."""
        return self._call("jvp", t, y, p, u, dy)

    def evaluate(self, t: Any, y: Any, p: Any, u: Any = ()) -> dict[str, Any]:
        """Every state, declared variable, output, invariant and residual by name; see `Model.evaluate`."""
        return self._evaluate(t, y, p, u)

    def _named_start(self, t0: float, x0: Array, p: Array, u: Array) -> dict[str, float]:
        """The declared coordinates and velocities of a start by name, as far as its states determine them."""
        known = dict(zip(self.states, x0.tolist()))
        if not known.keys() >= set(self.declared):
            known |= self.evaluate(t0, x0, p, self._slipping(u)[:, 0])
        return {name: float(known[name]) for name in self.declared if name in known}

    def _evaluate(self, t: Any, y: Any, p: Any, u: Any) -> dict[str, Any]:
        """`evaluate` for arbitrary arguments: columns, sequences, symbols, and invalid ones."""
        moments, columns, parameters, controls, _, single = self._checked(t, y, p, u, None, self.states)
        values = self._values(moments, columns, parameters, controls)
        return {name: float(row[0]) for name, row in values.items()} if single else values

    def _values(self, t: Array, y: Array, p: Array, u: Array, strict: bool = True) -> dict[str, Array]:
        """`evaluate` over columns, without checks. If not strict, a failing kernel gives NaN instead of an error."""
        y, p, u = wide(y), wide(p), wide(u)
        count = 0 if not y.shape[1] else max(len(t), y.shape[1], p.shape[1], u.shape[1])
        values = {name: np.array(np.broadcast_to(row, (count,))) for name, row in zip(self.states, y)}
        for kernel, names in (("outputs", self.outputs), ("invariants", self._conserved)):
            if names:
                rows = self._columns(kernel, t, y, p, u, None, strict)
                for name, row in zip(names, rows):
                    values.setdefault(name, row)
        return values

    def _call(
        self, kernel: str, t: Any, y: Any, p: Any, u: Any = (), v: Any = None, event: int | None = None
    ) -> Array:
        """`call` without its checks of what the kernel takes."""
        declared = kernel in self._entries and self._entries[kernel].takes == "declared"
        moments, columns, parameters, controls, direction, single = self._checked(
            t, y, p, u, v, self.declared if declared else self.states
        )
        if kernel == "jvp" and direction is None:
            raise ArgumentError(f"{self.name}.jvp: dy is None; {self._shape(len(self.states))} is needed")
        extra = direction if event is None else event
        result = self._columns(kernel, moments, columns, parameters, controls, extra)
        return result[:, 0] if single else result

    @staticmethod
    def _shape(n: int) -> str:
        return f"shape ({n},)"

    def _checked(
        self, t: Any, y: Any, p: Any, u: Any, v: Any, states: tuple[str, ...]
    ) -> tuple[Array, Array, Array, Array, Array | None, bool]:
        moments = arguments.array("t", t)
        if moments.ndim > 1:
            raise ArgumentError(f"t has shape {moments.shape}; a number or a 1-D array is needed")
        if not np.isfinite(moments).all():
            raise ArgumentError("t is not finite")
        count = moments.shape[0] if moments.ndim else None
        found: list[Array | None] = []
        given = [("y", y, states), ("p", p, self.parameters), ("u", u, self.inputs), ("dy", v, self.states)]
        for kind, value, names in given:
            if kind == "dy" and value is None:
                found.append(None)
                continue
            if kind == "u" and self.modes:
                value, names = self._with_modes(value)
            rows = arguments.matrix(kind, value, names, count)
            if kind == "u":
                self._check_modes(names[len(self.inputs) :], rows[len(self.inputs) :])
            if rows.ndim == 2 and count is None:
                count = rows.shape[1]
            found.append(rows.reshape(len(names), -1 if len(names) else 1))
        columns, parameters, controls, direction = found
        assert columns is not None
        assert parameters is not None
        assert controls is not None
        return moments.reshape(-1), columns, parameters, controls, direction, count is None

    def _with_modes(self, u: Any) -> tuple[Any, tuple[str, ...]]:
        """`u` and the names of its entries: the inputs, followed by the contact modes if the caller gives these too."""
        names = (*self.inputs, *self.modes)
        given = arguments.named("u", u)
        if given is not None:
            return given, names if given.keys() & set(self.modes) else self.inputs
        u = arguments.array("u", arguments.sequence("u", () if u is None else u, names))
        return u, names if u.shape[:1] == (len(names),) else self.inputs

    def _slipping(self, u: Array) -> Array:
        """Columns of inputs with contacts that all slip, for what depends on no mode: stuck, some may be redundant."""
        columns = wide(u)
        return np.concatenate([columns, np.ones((len(self.modes), columns.shape[1]))])

    def _check_modes(self, names: tuple[str, ...], rows: Array) -> None:
        """Reject invalid contact modes, and invalid signs of normal forces."""
        for k, (name, row) in enumerate(zip(names, rows)):
            sign = k >= len(self.contacts)
            values = np.atleast_1d(row)
            wrong = values[~np.isin(values, (-1.0, 1.0) if sign else (-1.0, 0.0, 1.0))]
            if wrong.size:
                meaning = "a sign is 1 or -1" if sign else "a mode is 0 (stick), 1 or -1 (slip)"
                raise ArgumentError(f"u: {name} = {wrong[0]:.6g}; {meaning}")

    def __repr__(self) -> str:
        form = f" ({self.form})" if self.form else ""
        return (
            f"<{type(self).__name__} {self.name}{form}: states {', '.join(self.states)}; "
            f"parameters {', '.join(self.parameters) or 'none'}; inputs {', '.join(self.inputs) or 'none'}>"
        )
