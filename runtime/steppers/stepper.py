"""A run advanced by its caller: for simulators, controllers and other hosts that own the clock."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..core._core import LAYOUT, StepperCore
from ..interface import arguments
from ..interface.arguments import Array, wide
from ..problem.consistency import Accuracy
from ..problem.given_inputs import parse
from ..results.event_record import MODES, OPEN
from ..results.open_contacts import are_open
from .snapshots import Snapshot, check_snapshot

if TYPE_CHECKING:
    from ..problem.options import RunOptions
    from ..results.named_derivatives import NamedDerivatives


class Stepper(StepperCore):
    """One integration, advanced to a time by `advance` and by a duration by `advance_by`.

    ``run.t``, ``run.y``, ``run.p`` are the time, a copy of the state (n,) and a copy of the parameters;
    ``run.parameters`` has the latter by name; ``run.nfev`` and ``run.n_steps`` count evaluations and steps. The step
    size carries over from one call to the next.

    ``run["omega"]`` is any state, declared variable, output, reaction, invariant, residual or input at ``run.t``, as
    ``sol["omega"]`` is for a whole run; ``run.evaluate()`` is a dict of all, ``run.outputs`` one of the outputs.

    `set_inputs`, `set_parameters` and `set_state` change the named quantities from here on. `save` and `restore`
    return to an earlier point, bit for bit; a stepper can be copied and pickled (with its model's path, as models are).

    `advance` applies the resets of the model's events and changes the modes of its contacts. It stops at a terminal
    event: then ``run.status`` is 1 and ``run.t`` the time of the event; the next `advance` continues from there.
    ``run.events`` lists (time, name) of the events in the last `advance`, ``run.modes`` the current modes.

    A stepper belongs to one thread at a time: a call that comes while another one is under way, from another thread, a
    signal handler or an input function, raises `BusyError`. ``run.t``, ``run["x"]`` of a state x, and counters can be
    read at any time.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> run = model.stepper({"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
    >>> snapshot = run.save()
    >>> run.advance(0.5).round(6)    # cos 1, -2 sin 1
    array([ 0.540302, -1.682942])
    >>> run.advance_by(0.5).round(6)    # cos 2, -2 sin 2
    array([-0.416147, -1.818595])
    >>> round(run["energy"], 6)
    2.0
    >>> run.restore(snapshot)
    >>> run.t
    0.0
    """

    _varied: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """The integration method."""
        return str(self._options.method)

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
            if not self._change(True, values, named):
                self._set_state(values, named)

    def _set_state(self, values: Any, named: Mapping[str, Any]) -> None:
        _, y, p, _ = self._now()
        given = arguments.named("set_state", {} if values is None else values)
        if given is None:
            if named:
                raise ArgumentError("set_state takes a vector or names, not both")
            self._begin("set_state", values, p)
            return
        model = self.model
        given = _numbers("set_state", given, named)
        others = [name for name, variable in model.variables.items() if variable.kind == "declared"]
        known = tuple(dict.fromkeys((*model.states, *model.declared, *others)))
        arguments.check_known("set_state", given, known)
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
            if not self._change(False, values, named):
                self._set_parameters(values, named)

    def _set_parameters(self, values: Any, named: Mapping[str, Any]) -> None:
        model = self.model
        given = arguments.named("set_parameters", {} if values is None else values)
        if given is None:
            if named:
                raise ArgumentError("set_parameters takes a vector or names, not both")
            vector = arguments.vector("set_parameters", values, model.parameters)
            given = dict(zip(model.parameters, vector.tolist()))
        else:
            given = _numbers("set_parameters", given, named)
        arguments.check_known("set_parameters", given, model.parameters)
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
        model = self.model
        t, y, _, inputs = self._now()
        x, p = model._initial(t, declared, parameters, inputs, None)
        if model.along is not None:  # the time is then a state, and keeps its value
            x[model.states.index("t")] = y[model.states.index("t")]
        return x, p

    def _declared(self) -> dict[str, float]:
        """The current declared coordinates and velocities, except those that the form has eliminated."""
        model = self.model
        values = self._everything()
        return {name: values[name] for name in model.declared if name in values and name != model.along}

    def _independent_parameters(self) -> dict[str, float]:
        """The current parameters, without those that follow from the declared variables (`h`, `a_...`)."""
        model = self.model
        t, _, p, inputs = self._now()
        following = model._following(t, self._declared(), p, inputs)
        known = zip(model.parameters, p.tolist())
        return {name: value for name, value in known if name not in following}

    @property
    def sensitivity(self) -> NamedDerivatives | None:
        """None without ``sensitivities=``."""
        return None

    @property
    def modes(self) -> dict[str, str]:
        """The current mode of each contact by name: "stick", "slip+" or "slip-", or "open" without a normal force."""
        with self._alone:
            modes = self._modes()
            t, y, p, u = self._point()
        model = self.model
        if not model.contacts:
            return {}
        state, numbers = wide(y[: len(model.states)]), p[: len(model.parameters)]
        opens = are_open(model, np.array([t]), state, numbers, wide(u))[:, 0]
        named = zip(model.contacts, modes, opens)
        return {name: OPEN if none else MODES[int(mode)] for name, mode, none in named}

    def save(self) -> Snapshot:
        """Everything needed to continue from here, bit for bit."""
        model = self.model
        with self._alone:
            return Snapshot(
                self.t,
                model.name,
                model.digest,
                self.method,
                self._inputs(),
                self._save(),
                self._varied,
                LAYOUT,
            )

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this stepper, or of another one of the same model and method."""
        check_snapshot(Snapshot, snapshot, self, LAYOUT)
        if snapshot.inputs.names != self.model.inputs:
            raise ArgumentError("the inputs of the snapshot do not belong to this model")
        with self._alone:
            before = self._inputs()
            self._attach(snapshot.inputs)
            if self._restore(snapshot.block) < 0:
                self._attach(before)
                raise ArgumentError("the snapshot does not match this model, or is damaged")

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
