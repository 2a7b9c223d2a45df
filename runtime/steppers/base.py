"""Shared by steppers with and without sensitivities: names, and states and parameters that change during a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..problem.consistency import Accuracy
from ..problem.given_inputs import parse
from ..problem.start import InitialStates

if TYPE_CHECKING:
    from ..core.single_thread import Guard
    from ..problem.inputs import Inputs
    from ..problem.options import RunOptions
    from .snapshots import Snapshot


class BaseStepper:
    """Base of `Stepper`."""

    model: Any
    _options: RunOptions
    _alone: Guard  # held by every public method, so that none is called while another one is under way

    if TYPE_CHECKING:  # each class defines these itself

        @property
        def n_steps(self) -> int: ...
        @property
        def t(self) -> float: ...
        @property
        def y(self) -> Array: ...
        @property
        def p(self) -> Array: ...
        @property
        def inputs(self) -> Inputs: ...
        def save(self) -> Snapshot: ...
        def _now(self) -> tuple[float, Array, Array, Inputs]: ...
        def _everything(self) -> dict[str, float]: ...
        def evaluate(self, name: Any = None) -> Any: ...

    @property
    def method(self) -> str:
        """The integration method."""
        name: str = self._options.method
        return name

    def _put(self, x: Array, p: Array) -> None:
        """Continue from another state, with other parameters."""
        raise NotImplementedError

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name."""
        return dict(zip(self.model.parameters, self.p.tolist()))

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that ``run[name]`` knows."""
        names: tuple[str, ...] = self.model.quantities
        return names

    def _ipython_key_completions_(self) -> list[str]:
        """IPython's completions for ``run["``."""
        return [*self.names, "t"]

    def set_state(self, values: Any = None, /, **named: Any) -> None:
        """Continue from another state, given by keyword, as a dict of declared variables, or as a vector of all states.

        In every form, declared coordinates and velocities that are not named keep their values: the momenta of the
        canonical form, the cyclic momenta of Routh's form and the energy of Whittaker's form follow from the old and
        new values. If a constraint makes a velocity depend on others, it follows from these; if it is named, it must
        agree. A dict containing only states of the form (``p_x`` ...) is also accepted; unnamed states and parameters
        then stay unchanged.

        The step size and the contact modes are chosen again. Raises `ArgumentError` naming the entry that is unknown,
        invalid or contradicts the others; the state is then unchanged.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> run = model.stepper({"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
        >>> run.set_state(x_dot=3)
        >>> run.y
        array([1., 3.])
        """
        with self._alone:
            self._set_state(values, named)

    def _set_state(self, values: Any, named: Mapping[str, Any]) -> None:
        _, y, p, _ = self._now()
        given = arguments.named("set_state", {} if values is None else values)
        if given is None:
            if named:
                raise ArgumentError("set_state takes a vector or names, not both")
            self._begin("set_state", values, p)
            return
        model: InitialStates = self.model
        given = _numbers("set_state", given, named)
        others = [name for name, variable in model.variables.items() if variable.kind == "declared"]
        known = tuple(dict.fromkeys((*model.states, *model.declared, *others)))
        unknown = [name for name in given if name not in known]
        if unknown:
            raise arguments.unknown_entry("set_state", unknown, known)
        start = dict(zip(model.states, y.tolist()))
        if model.has_initial:
            own = [name for name in given if name not in model.declared]
            other = [name for name in given if name not in model.states]
            if own and other:
                raise ArgumentError(
                    f"set_state: {own[0]} is a state of the form {model.form}, {other[0]} a declared variable that "
                    "follows from the states: give one or the other"
                )
            if not own:
                with _naming("set_state"):
                    x, p = self._from_declared(self._declared() | given, self._independent_parameters())
                self._begin("set_state", x, p)
                return
        self._begin("set_state", start | given, p)

    def set_parameters(self, values: Any = None, /, **named: Any) -> None:
        """Continue with other parameters, given by keyword, as a dict, or as a vector of all of them.

        Parameters that are not named keep their values, and so do the declared coordinates and velocities in every
        form: the momenta of the canonical form, the cyclic momenta ``a_...`` of Routh's form and the energy ``h`` of
        Whittaker's form are recomputed. If ``a_...`` or ``h`` is itself named, the states keep their values instead,
        and the velocities follow.

        The step size and the contact modes are chosen again. Raises `ArgumentError` naming the entry that is unknown
        or invalid; the parameters are then unchanged.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> run = model.stepper({"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
        >>> run.set_parameters(k=9)
        >>> run["energy"]
        4.5
        """
        with self._alone:
            self._set_parameters(values, named)

    def _set_parameters(self, values: Any, named: Mapping[str, Any]) -> None:
        model: InitialStates = self.model
        given = arguments.named("set_parameters", {} if values is None else values)
        if given is None:
            if named:
                raise ArgumentError("set_parameters takes a vector or names, not both")
            vector = arguments.vector("set_parameters", values, model.parameters)
            given = dict(zip(model.parameters, vector.tolist()))
        else:
            given = _numbers("set_parameters", given, named)
        unknown = [name for name in given if name not in model.parameters]
        if unknown:
            raise arguments.unknown_entry("set_parameters", unknown, model.parameters)
        _, x, p, _ = self._now()
        if model.has_initial:
            free = self._independent_parameters()
            plain = {name: value for name, value in given.items() if name in free}
            if plain:
                with _naming("set_parameters"):
                    x, p = self._from_declared(self._declared(), free | plain)
        for name, value in given.items():
            p[model.parameters.index(name)] = value
        self._begin("set_parameters", x, p)

    def _begin(self, caller: str, initial: Any, p: Array) -> None:
        """Continue from another state, checked like the start of a run."""
        t, _, _, inputs = self._now()
        with _naming(caller):
            x, p, _ = self.model._prepare(t, initial, p, inputs, Accuracy.of(self.model, self._options))
        self._put(x, p)

    def _from_declared(self, declared: dict[str, float], parameters: dict[str, float]) -> tuple[Array, Array]:
        """State and parameters, if the form has a kernel for them."""
        model: InitialStates = self.model
        t, y, _, inputs = self._now()
        x, p = model._initial(t, declared, parameters, inputs, None)
        if model.along is not None:  # the time is then a state, and keeps its value
            x[model.states.index("t")] = y[model.states.index("t")]
        return x, p

    def _declared(self) -> dict[str, float]:
        """The current declared coordinates and velocities, except those that the form has eliminated."""
        model: InitialStates = self.model
        values = self._everything()
        return {name: values[name] for name in model.declared if name in values and name != model.along}

    def _independent_parameters(self) -> dict[str, float]:
        """The current parameters, without those that follow from the declared variables (`h`, `a_...`)."""
        model: InitialStates = self.model
        t, _, p, inputs = self._now()
        following = model._following(t, self._declared(), p, inputs)
        known = zip(model.parameters, p.tolist())
        return {name: value for name, value in known if name not in following}

    def __copy__(self) -> Any:
        return _resumed(self.model, self._options, self.save())

    def __reduce__(self) -> tuple[Any, ...]:
        return _resumed, (self.model, self._options, self.save())

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind} of {self.model.name} ({self.method}): t = {self.t:.6g}, {self.n_steps} steps>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        # The model is immutable, so both share it.
        return self.__copy__()


def _resumed(model: Any, options: RunOptions, snapshot: Snapshot) -> Any:
    """A stepper that continues where the snapshot was taken."""
    states, parameters, inputs = (np.zeros(len(n)) for n in (model.states, model.parameters, model.inputs))
    run = model._stepper(0.0, states, parameters, parse(inputs, model.inputs), options)
    run.restore(snapshot)
    return run


@contextmanager
def _naming(caller: str) -> Iterator[None]:
    """Make errors about the arguments `initial` and `parameters` of a run name the called method instead."""
    try:
        yield
    except ArgumentError as error:
        text = re.sub(r"^(initial|parameters)(?=[: ])", caller, str(error))
        raise ArgumentError(text) from None


def _numbers(kind: str, given: dict[str, Any], named: Mapping[str, Any]) -> dict[str, float]:
    """Finite numbers by name, from a dict and keywords."""
    twice = [name for name in named if name in given]
    if twice:
        raise ArgumentError(f"{kind}: {twice[0]} is given twice")
    return {name: arguments.number(f"{kind}: {name}", value) for name, value in (given | dict(named)).items()}
