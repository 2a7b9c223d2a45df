"""Companions: expressions of a model that are compiled when they are first evaluated."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaplygin.errors import ArgumentError

from .. import core
from ..interface.arguments import Array
from ..interface.checksum import address_in
from .builder import builder


def companion(model: Any, expressions: Sequence[Any], lanes: int) -> int:
    """The address of the `cg_companion_t` of SymPy expressions and conditions, for a number of lanes.

    Its kernel takes (t, x, p, u) of `lanes` trajectories of the model and gives the expressions of each; a condition is
    1.0 or 0.0. In a reproducible model the bits of an expression depend neither on `lanes` nor on the others. The
    kernel is taken from the cache, or compiled with the model's flags, which takes about half a second.

    Raises ArgumentError for a wrong expression, and for a model that does not know its declaration; BuildError.
    """
    return address_of(library_of(model, expressions, lanes), model.name, lanes)


@dataclass(frozen=True)
class Expression:
    """An expression of a model, compiled for one lane; pickled as the path of its library."""

    path: Path
    model: str
    text: str

    @classmethod
    def of(cls, model: Any, what: Any) -> Expression:
        """Compile a SymPy expression or condition; raises the errors of `companion`."""
        return cls(library_of(model, (what,), 1), model.name, str(what))

    @classmethod
    def with_slopes(cls, model: Any, what: Any) -> Expression:
        """The expression, then its derivatives by x, p and the inputs; raises `ArgumentError` if it is not smooth."""
        return cls(library_of(model, (what,), 1, "slopes"), model.name, str(what))

    @property
    def address(self) -> int:
        """That of its `cg_companion_t`."""
        return address_of(self.path, self.model, 1)

    def columns(self, model: Any, t: Array, y: Array, p: list[Array], u: Array) -> Array:
        """(N,) at times t (N,), states y (n, N), parameters p, each (1,) or (N,), and inputs u (n, 1 or N)."""
        found: Array = self.rows(model, t, y, p, u)[0]
        return found

    def rows(self, model: Any, t: Array, y: Array, p: list[Array], u: Array) -> Array:
        """The same for an expression with its derivatives: (1 + n + np + nu, N)."""
        return core.companion_columns(model, self.address, t, y, p, u)

    def __str__(self) -> str:
        return self.text


def places_of_new(wanted: Sequence[Any], known: Container[str]) -> list[int]:
    """The places of what has to be compiled: neither the name nor the symbol of a known quantity."""
    return [
        i for i, e in enumerate(wanted) if not isinstance(e, str) and getattr(e, "name", None) not in known
    ]


def library_of(model: Any, expressions: Sequence[Any], lanes: int, kind: str = "values") -> Path:
    """The library of expressions, and of quantities by name, from the cache or compiled.

    "slopes": that of one expression, and then its derivatives by x, p and the inputs; "observed": with the guards of
    the expressions.

    Raises the errors of `companion`.
    """
    key = tuple(expressions), lanes, kind
    known: dict[Any, Path] = model._companions
    try:
        if key in known:
            return known[key]
    except Exception:  # unhashable, so it is not an expression; the builder says so
        pass
    if model._equations is None:
        raise ArgumentError(
            f"{model.name} was loaded without its declaration, so new expressions cannot be compiled; give the names "
            f"of declared quantities ({', '.join(model.quantities)}), or compile the System in this process"
        )
    known[key] = builder("expressions").build_companion(
        Path(model.owner.__file__), model.digest, model._equations, expressions, lanes, kind
    )
    return known[key]


def address_of(path: Path, name: str, lanes: int) -> int:
    """The table in a library, which is loaded if it is new."""
    return address_in(path, f"{name}_companion_{lanes}")
