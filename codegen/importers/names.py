"""From the dynamicsymbols and symbols of a SymPy model to the symbols of a declaration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import dynamicsymbols

from ..declare.events import Event
from ..symbols.symbols import (
    ASSUMPTIONS,
    Coordinate,
    DeclarationError,
    Input,
    Multiplier,
    Velocity,
    coordinates,
    inputs,
    kind_of,
    parameters,
    rate,
    rate_of,
    time,
    velocities,
)
from ..symbols.values import scalar

Expression = Any


class Names:
    """The symbol of a declaration for everything that varies or is constant in a SymPy model.

    A dynamicsymbol keeps its name: q becomes a coordinate and q' its rate, a generalised speed becomes a velocity, any
    other an input f, whose derivatives are the rates of that input, unless `prescribed` gives f as an expression in t.
    Auxiliary speeds become zero, other symbols parameters. `names` gives others than SymPy's.
    """

    def __init__(
        self,
        q: Iterable[Expression],
        u: Iterable[Expression],
        auxiliary: Iterable[Expression] = (),
        prescribed: Mapping[Expression, Expression] | None = None,
        names: Mapping[Expression, str] | None = None,
    ) -> None:
        self._t = dynamicsymbols._t
        self._renamed = dict(names or {})
        self._met: set[Any] = set()  # symbols, and their names in SymPy
        self._origin: dict[Any, Any] = {}  # of declared symbols in SymPy
        self._known: dict[Expression, Expression] = {self._t: time}
        self.coordinates = [self._coordinate(x) for x in q]
        self.velocities = [self._velocity(v) for v in u]
        for v in auxiliary:
            self._known |= {v: sp.Integer(0), v.diff(self._t): sp.Integer(0)}
        self._prescribed = self._of_time(prescribed or {})

    def __call__(self, where: str, given: Expression) -> Expression:
        """An expression in declared symbols.

        Raises DeclarationError, naming the place, for an undetermined function or a derivative that no state has.
        """
        if not hasattr(e := sp.sympify(given), "atoms"):
            raise DeclarationError(f"{where} is {type(given).__name__}; give a SymPy expression")
        if self._prescribed and e.has(*self._prescribed):
            self._met |= {f for f in self._prescribed if e.has(f)}
            e = e.subs(self._prescribed).doit()
        if any(not isinstance(part.expr, AppliedUndef) for part in e.atoms(sp.Derivative)):
            e = e.doit()  # the derivative of an expression
        for part in sorted(e.atoms(sp.Derivative), key=str):
            if part not in self._known:
                self._known[part] = self._derivative(where, part)
        for part in sorted(e.atoms(AppliedUndef), key=str):
            if part not in self._known:
                self._known[part] = self._function(where, part)
        for s in sorted(e.free_symbols - self._known.keys(), key=str):
            self._known[s] = self._parameter(where, s)
        return e.xreplace(self._known)

    def listed(self, where: str, given: Iterable[Expression]) -> tuple[Expression, ...]:
        """Several expressions."""
        return tuple(self(where, e) for e in given)

    def event(self, i: int, given: Any) -> Event:
        """An event in declared symbols: in its guard, and in what its reset names."""
        if not isinstance(given, Event):
            raise DeclarationError(
                f"from_sympy: events[{i}] is {type(given).__name__}; give chaplygin.Event(expression, ...)"
            )
        where = f"the event {given.name or i + 1}"
        reset = None
        if given.reset is not None:
            reset = {self(where, key): self(where, e) for key, e in given.reset.items()}
        when = None if given.when is None else self(where, given.when)
        return replace(given, expr=self(where, given.expr), reset=reset, when=when)

    def example(self, given: Mapping[Any, Any]) -> dict[sp.Symbol, Any]:
        """Example values, given by SymPy's symbols, by declared ones or by name."""
        known = {str(s): s for s in self._known.values() if isinstance(s, sp.Symbol)} | {"t": time}
        found = {}
        for key, value in given.items():
            symbol = self._known.get(key, known.get(str(key))) if not isinstance(key, str) else known.get(key)
            if symbol is None:
                names = ", ".join(sorted(known))
                raise DeclarationError(f"from_sympy: {key} is not in the model; it has {names}")
            found[symbol] = value
        return found

    def check_use(self) -> None:
        """Raise DeclarationError for a prescribed motion or a new name of something that is not in the model."""
        for option, keys in (("prescribed", self._prescribed), ("names", self._renamed)):
            for key in keys:
                if key not in self._met:
                    raise DeclarationError(f"from_sympy: {option}: {key} is not in the model")

    # -- kinds of symbols ---------------------------------------------------------------------------------------
    def _coordinate(self, x: Expression) -> sp.Symbol:
        if not self._of_t(x):
            raise DeclarationError(f"from_sympy: the coordinate {x} is not a dynamicsymbol")
        found: Coordinate = self._declared(coordinates, x)
        self._known |= {x: found, x.diff(self._t): rate(found)}
        return found

    def _velocity(self, v: Expression) -> sp.Symbol:
        if v in self._known:  # the rate of a coordinate
            return self._known[v]
        if not self._of_t(v):
            raise DeclarationError(f"from_sympy: the generalised speed {v} is not a dynamicsymbol")
        found: Velocity = self._declared(velocities, v)
        self._known[v] = found
        return found

    def _of_t(self, f: Expression) -> bool:
        return isinstance(f, AppliedUndef) and f.args == (self._t,)

    def _function(self, where: str, f: Expression) -> sp.Symbol:
        if not self._of_t(f):
            raise DeclarationError(
                f"from_sympy: {where} contains {f}, a function without an expression, which no C code can compute; "
                "substitute an expression for it"
            )
        found: sp.Symbol = self._declared(inputs, f)
        return found

    def _parameter(self, where: str, s: Expression) -> sp.Symbol:
        if not isinstance(s, sp.Symbol):
            raise DeclarationError(
                f"from_sympy: {where} contains {s}, which is {type(s).__name__}; put a symbol in its place"
            )
        if isinstance(s, Multiplier):
            raise DeclarationError(
                f"from_sympy: {where} contains the multiplier {s}; leave it out: the form 'multipliers' has the "
                "multipliers of all constraints among its outputs"
            )
        if isinstance(s, (Coordinate, Velocity, Input)):
            raise DeclarationError(
                f"from_sympy: {where} contains chaplygin's {kind_of(s)} {s}; write it as the SymPy model does, with "
                "dynamicsymbols"
            )
        if s.name == "t":
            raise DeclarationError(
                f"from_sympy: {where} contains a symbol t that is not the time; the time is dynamicsymbols._t"
            )
        known = {a: True for a in ASSUMPTIONS if a not in ("zero", "nonzero") and s.assumptions0.get(a)}
        found: sp.Symbol = self._declared(parameters, s, **known)
        return found

    def _declared(self, kind: Any, s: Expression, **assumptions: Any) -> Any:
        """A symbol of a kind, with the name that SymPy or `names` gives it."""
        own = str(s.func.__name__ if isinstance(s, AppliedUndef) else s)
        self._met |= {s, own}
        try:
            found = kind([self._renamed.get(s, self._renamed.get(own, own))], **assumptions)
        except DeclarationError as error:
            raise DeclarationError(
                f"{error}; from_sympy(..., names={{{own!r}: ...}}) gives it another"
            ) from None
        other = self._origin.setdefault(found, s)
        if other != s:
            raise DeclarationError(
                f"from_sympy: {other} and {s} would both be called {found.name!r}; names={{symbol: ...}} gives one of "
                "them another name"
            )
        return found

    def _derivative(self, where: str, part: Expression) -> sp.Symbol:
        f, *by = part.args
        order = sum(int(n) for _, n in by)
        name = str(getattr(f, "func", f))
        known = self._known.get(f)
        varies = known is None or isinstance(known, Input)
        if any(s != self._t for s, _ in by) or not self._of_t(f) or not varies or order > 2:
            of = "an acceleration" if isinstance(known, (Coordinate, Velocity)) else "a derivative"
            raise DeclarationError(
                f"from_sympy: {where} contains {part}, {of} that is not a function of the state; give expressions in "
                "coordinates and speeds"
                + ("" if not varies else f", or prescribed={{{name}: an expression in t}}")
            )
        if known is None:
            known = self._known[f] = self._function(where, f)
        return rate_of(known, order)

    def _of_time(self, given: Mapping[Expression, Expression]) -> dict[Expression, Expression]:
        found = {}
        for key, e in given.items():
            f = dynamicsymbols(key) if isinstance(key, str) else key
            if not self._of_t(f) or f in self._known:
                raise DeclarationError(
                    f"from_sympy: prescribed: {f} is not a dynamicsymbol besides the coordinates and speeds"
                )
            found[f] = scalar(f"from_sympy: prescribed[{f}]", e).subs(time, self._t)
            if found[f].atoms(AppliedUndef):
                raise DeclarationError(f"from_sympy: prescribed[{f}] = {e} is not an expression in t")
        return found
