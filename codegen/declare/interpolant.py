"""`Interpolant`: measured data as a function that any expression of a declaration may contain."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from chaplygin._lazy import later
from chaplygin.runtime.interface.labels import value_name
from chaplygin.runtime.interface.messages import short

from ..graph.tables import Orders, Table, TableCall, TableData
from ..symbols.symbols import DeclarationError, Parameter, check_name, parameters
from ..symbols.values import scalar

interpolate = later("scipy.interpolate")

KINDS = ("linear", "cubic", "pchip")
ENDS = ("not-a-knot", "natural", "clamped")
OUTSIDE = ("hold", "linear", "error", "polynomial")
_Grid = dict[str, tuple[float, ...]]
_TAKEN = "taken"
"""The kind of a spline that is taken as it is: its values are coefficients."""
_TERMS = 6
"""The largest number of powers of an argument."""
_FAR = 1e-18
"""What a value far away counts, of the largest, where it is left out."""


class Interpolant:
    """A table of measured data, which is called like a function: ``cd(v / a)`` is an expression.

    Parameters
    ----------
    name : a plain identifier, for messages and in the emitted code.
    grid : {argument: knots} of one to three arguments, increasing. In its place, without `values`: a pandas Series or
        DataFrame, whose index has the knots of the first argument and whose columns those of the second; SciPy's
        `CubicSpline`, `PchipInterpolator`, `Akima1DInterpolator`, `PPoly` or `RegularGridInterpolator`; or SymPy's
        `interpolating_spline`.
    values : array (n,), (n1, n2) or (n1, n2, n3), one value for each point of the grid, finite. Without, they are given
        to each run, ``interpolants={name: values}``: they are parameters of the model, see `values`.
    kind : what is between the knots: "linear"; "cubic", the spline with continuous second derivatives; or "pchip",
        which rises and falls only where the values do (SciPy's `PchipInterpolator`), of one argument. In several
        arguments the first two are tensor products.
    ends : of a cubic spline: "not-a-knot" as in SciPy; "natural", without second derivative; "clamped", without first.
    outside : what it is outside of the knots: "hold", the value at the edge; "linear", the tangent at the edge;
        "polynomial", that of the last cell; or "error": it has no value there, and a run ends with status -2.

    knots : whether they are kinks, at which steps end with ``kinks=True`` and in runs with sensitivities: True, False,
        or "auto", those where the first derivative jumps.

    Derivatives are exact. At a knot they are those from its right, at the last knot those from its left: where the
    table is held outside, the derivative at an edge is the one from inside.

    Raises
    ------
    DeclarationError : naming the table and the entry.

    >>> import chaplygin as cg
    >>> v = cg.velocities("v")
    >>> drag = cg.Interpolant("drag", {"speed": [0, 10, 20]}, [0, 1, 4], kind="linear")
    >>> drag(v), drag(5)
    (drag(v), 0.5)
    """

    def __init__(
        self,
        name: str,
        grid: Any,
        values: Any = None,
        *,
        kind: str = "cubic",
        outside: str | None = None,
        ends: str = "not-a-knot",
        knots: bool | str = "auto",
    ) -> None:
        check_name(name, "Interpolant")
        self._where = f"Interpolant {short(name)}"
        beyond = "hold" if outside is None else outside
        for entry, given in {"kind": kind, "ends": ends, "outside": beyond}.items():
            known = {"kind": KINDS, "ends": ENDS, "outside": OUTSIDE}[entry]
            if not (isinstance(given, str) and given in known):
                raise DeclarationError(f"{self._where}: {entry} = {short(given)}; give {_choices(known)}")
        if not isinstance(knots, (bool, str)) or knots not in (True, False, "auto"):
            raise DeclarationError(f"{self._where}: knots = {short(knots)}; give True, False or 'auto'")
        if not isinstance(grid, Mapping):
            if values is not None:
                raise DeclarationError(
                    f"{self._where}: the grid is {type(grid).__name__}; give a dict {{argument: knots}}"
                )
            grid, values, kind, ends, outside = self._taken(grid, kind, ends, outside)
        if not 1 <= len(grid) <= 3:
            raise DeclarationError(f"{self._where} has {len(grid)} arguments; give one to three")
        for argument in [a for a in grid if a != "t"]:  # a table may be one of the time
            check_name(argument, f"{self._where}: argument")
        rows = {argument: self._knots(argument, given) for argument, given in grid.items()}
        make = self._open if values is None else self._made
        made = make(name, rows, values, kind, outside or "hold", ends)
        self._table = made if knots == "auto" else replace(made, located=bool(knots))

    @classmethod
    def from_csv(
        cls, path: str | Path, *columns: str, name: str | None = None, **options: Any
    ) -> Interpolant:
        """The table of a CSV file with a line of names: the columns of the arguments, then that of the values.

        Two or three arguments need a line for each point of their grid, in any order. By default the columns are those
        of the file, and the name is that of the last; the options are those of `Interpolant`.

        Raises DeclarationError, naming the file and the column.
        """
        with open(path, newline="", encoding="utf-8-sig") as file:
            names, *lines = ([cell.strip() for cell in line] for line in csv.reader(file) if line)
        columns = columns or tuple(names)
        missing = [c for c in columns if c not in names]
        if missing or len(columns) < 2:
            wrong = f"has no column {short(missing[0])}" if missing else "needs two columns"
            raise DeclarationError(f"{path} {wrong}; its columns are {', '.join(names)}")
        table = [dict(zip(names, line, strict=False)) for line in lines]
        read = [_numbers(f"{path}: {c}", [line.get(c) for line in table]) for c in columns]
        knots, places = zip(*(np.unique(each, return_inverse=True) for each in read[:-1]), strict=True)
        shape = tuple(map(len, knots))
        if len(lines) != math.prod(shape) or len(set(zip(*places, strict=True))) != len(lines):
            raise DeclarationError(
                f"{path} has {len(lines)} lines of numbers; a grid of {shape} needs one for each of its points"
            )
        values = np.empty(shape)
        values[places] = read[-1]
        return cls(
            columns[-1] if name is None else name, dict(zip(columns, knots, strict=False)), values, **options
        )

    @property
    def name(self) -> str:
        return self._table.name

    @property
    def arguments(self) -> tuple[str, ...]:
        return self._table.arguments

    @property
    def values(self) -> tuple[Parameter, ...]:
        """The values as parameters, if they are given at run time, the last argument first; else none.

        >>> import chaplygin as cg
        >>> cg.Interpolant("wind", {"h": [0, 100, 200]}).values
        (wind_at_0, wind_at_1, wind_at_2)
        """
        names = [value_name(self.name, point) for point in self._table.points]
        return parameters(names) if names else ()

    def __call__(self, *args: Any) -> Any:
        """Its value: an expression, a float where all arguments are numbers, or an array where some are arrays.

        Without values it is an expression.
        """
        if len(args) != len(self.arguments):
            raise DeclarationError(
                f"{self._where} has the arguments {', '.join(self.arguments)}, and {len(args)} are given"
            )
        none: Orders = (0,) * len(args)
        if (values := self.values) or any(isinstance(a, (sp.Basic, sp.MatrixBase)) for a in args):
            given = [
                scalar(f"{self._where}: {name}", a) for name, a in zip(self.arguments, args, strict=True)
            ]
            return TableCall(TableData(self._table, none), *given, *values)
        numbers = [_real(f"{self._where}: {name}", a) for name, a in zip(self.arguments, args, strict=True)]
        found = np.vectorize(lambda *x: self._table.value(none, *map(float, x)), otypes=[float])(*numbers)
        return float(found) if found.ndim == 0 else found

    def __repr__(self) -> str:
        return f"Interpolant({self.name!r}, {', '.join(self.arguments)})"

    def _taken(
        self, given: Any, kind: str, ends: str, outside: str | None
    ) -> tuple[Any, Any, str, str, str | None]:
        """(grid, values, kind, ends, outside) of an object of pandas, SciPy or SymPy."""
        if isinstance(given, sp.Basic):
            return (*self._pieces(given), _TAKEN, ends, outside or "polynomial")
        if hasattr(given, "index") and hasattr(given, "to_numpy"):
            axes = [given.index, *([given.columns] if given.ndim == 2 and given.shape[1] > 1 else [])]
            names = [axis.name or name for axis, name in zip(axes, "xy", strict=False)]
            values = given.to_numpy()
            values = values.reshape(values.shape[: len(axes)])
            return dict(zip(names, axes, strict=True)), values, kind, ends, outside
        if isinstance(given, interpolate.PPoly):
            if given.c.ndim != 2 or given.extrapolate == "periodic":
                raise DeclarationError(
                    f"{self._where}: the spline has several values, or is periodic; give another"
                )
            beyond = "polynomial" if given.extrapolate else "error"
            return {"x": given.x}, given.c[::-1].T, _TAKEN, ends, outside or beyond
        if isinstance(given, interpolate.RegularGridInterpolator):
            kind = {"slinear": "linear"}.get(given.method, given.method)
            free = given.bounds_error or given.fill_value is None or np.isnan(given.fill_value)
            if kind not in KINDS or not free:
                raise DeclarationError(
                    f"{self._where}: a RegularGridInterpolator with method={given.method!r} and fill_value="
                    f"{given.fill_value}; it is taken with {_choices(KINDS)}, and without a fill value"
                )
            beyond = "error" if given.bounds_error or given.fill_value is not None else "polynomial"
            return dict(zip("xyz", given.grid, strict=False)), given.values, kind, ends, outside or beyond
        raise DeclarationError(
            f"{self._where}: the grid is {type(given).__name__}; give a dict {{argument: knots}}, a Series or "
            "DataFrame, a spline of SciPy, or SymPy's interpolating_spline"
        )

    def _pieces(self, given: sp.Basic) -> tuple[dict[str, list[float]], Any]:
        """The knots and coefficients of SymPy's interpolating_spline."""
        pairs = given.args if given.is_Piecewise else ()
        pieces = [pair.args for pair in pairs if isinstance(pair.args[-1], sp.And)]
        if not pieces or len(given.free_symbols) != 1:
            raise DeclarationError(
                f"{self._where}: give SymPy's interpolating_spline(...) of one symbol, not {short(given)}"
            )
        (x,) = given.free_symbols
        bounds = [sorted(float(n) for n in condition.atoms(sp.Number)) for _, condition in pieces]
        polynomials = [sp.Poly(e, x) for e, _ in pieces]
        terms = max(p.degree() for p in polynomials) + 1
        rows = []
        for polynomial, (start, *_) in zip(polynomials, bounds, strict=True):
            shifted = polynomial.compose(sp.Poly(x + sp.Rational(start), x)).all_coeffs()[::-1]
            rows.append([float(c) for c in shifted] + [0.0] * (terms - len(shifted)))
        return {x.name: [bounds[0][0], *(b[-1] for b in bounds)]}, np.array(rows)

    def _knots(self, argument: str, given: Any) -> tuple[float, ...]:
        where = f"{self._where}: the knots of {argument}"
        knots = _numbers(where, given)
        if knots.ndim != 1 or len(knots) < 2:
            raise DeclarationError(f"{where} have the shape {knots.shape}; give two or more in a row")
        if not np.all(np.diff(knots) > 0):
            i = int(np.argmin(np.diff(knots) > 0))
            raise DeclarationError(f"{where} do not increase: {knots[i]} comes before {knots[i + 1]}")
        return tuple(map(float, knots))

    def _made(self, name: str, grid: _Grid, given: Any, kind: str, outside: str, ends: str) -> Table:
        knots = tuple(grid.values())
        numbers = _numbers(f"{self._where}: the values", given)
        shape = tuple(map(len, knots))
        if kind == _TAKEN:
            if numbers.shape[1] > _TERMS:
                raise DeclarationError(f"{self._where}: the spline has a degree above {_TERMS - 1}")
            coefficients = numbers.T
        elif numbers.shape != shape:
            raise DeclarationError(
                f"{self._where}: the values have the shape {numbers.shape}; the grid has {shape}"
            )
        elif kind == "pchip" and len(knots) > 1:
            raise DeclarationError(
                f"{self._where}: kind='pchip' has one argument; for more give 'linear' or 'cubic'"
            )
        else:
            coefficients = None
        origins = []
        for axis, row in enumerate(map(np.array, knots)):
            with np.errstate(all="ignore"):
                rows = np.moveaxis(numbers, 2 * axis, 0)  # every axis before has become two: cells and powers
                c = _coefficients(row, rows, kind, ends) if coefficients is None else coefficients
                origin, c = _with_outside(row, c, outside)
            origins.append(tuple(map(float, origin)))
            numbers = np.moveaxis(c, (1, 0), (2 * axis, 2 * axis + 1))
        if not np.all(np.isfinite(numbers)):
            raise DeclarationError(f"{self._where}: the values are too large for their knots")
        n = len(knots)
        cells_first = np.moveaxis(numbers, range(0, 2 * n, 2), range(n))
        for axis in range(n if outside == "error" else 0):
            np.moveaxis(cells_first, axis, 0)[[0, -1]] = np.nan
        return Table(
            name, tuple(grid), knots, tuple(origins), cells_first.shape[n:],
            tuple(map(float, cells_first.ravel())), outside,
        )  # fmt: skip

    def _open(self, name: str, grid: _Grid, _: None, kind: str, outside: str, ends: str) -> Table:
        """A table whose values are given at run time: along each axis it is what a value of 1 among zeros gives."""
        if kind == "pchip":
            raise DeclarationError(
                f"{self._where}: kind='pchip' is not linear in its values, which it needs; give 'linear' or 'cubic'"
            )
        origins, terms, widths, numbers = [], [], [], []
        for row in map(np.array, grid.values()):
            with np.errstate(all="ignore"):
                c = _coefficients(row, np.eye(len(row)), kind, ends)
                origin, c = _with_outside(row, c, outside)
            cells = np.moveaxis(c, 0, -1)  # cells, values, terms
            lengths = np.concatenate([[0], np.diff(row), [0]])[:, None, None]
            size = (np.abs(cells) * lengths ** np.arange(len(c))).max(axis=2)
            counts = size > _FAR * size.max(axis=1, keepdims=True)
            firsts, lasts = counts.argmax(axis=1), len(row) - 1 - counts[:, ::-1].argmax(axis=1)
            width = int((lasts - firsts).max()) + 1
            firsts = np.minimum(firsts, len(row) - width)
            if outside == "error":
                cells[[0, -1]] = np.nan
            for cell, first in zip(cells, firsts, strict=True):
                numbers += [float(first), *map(float, cell[first : first + width].ravel())]
            origins.append(tuple(map(float, origin)))
            terms.append(len(c))
            widths.append(width)
        return Table(
            name, tuple(grid), tuple(grid.values()), tuple(origins), tuple(terms), tuple(numbers), outside,
            widths=tuple(widths),
        )  # fmt: skip


def _choices(known: Sequence[str]) -> str:
    return f"{', '.join(map(repr, known[:-1]))} or {known[-1]!r}"


def _real(where: str, given: object) -> NDArray[np.float64]:
    try:
        found = np.asanyarray(given)
        if found.dtype.kind not in "cMm" and not np.ma.is_masked(found):
            return np.asarray(found, float)
    except (TypeError, ValueError) as error:
        raise DeclarationError(f"{where} are not numbers: {error}") from None
    raise DeclarationError(f"{where} are complex, dates or masked; give real numbers")


def _numbers(where: str, given: Any) -> np.ndarray[Any, Any]:
    found = _real(where, given)
    if not np.all(np.isfinite(found)):
        place = [int(i) for i in np.argwhere(~np.isfinite(found))[0]]
        raise DeclarationError(f"{where} contain {found[tuple(place)]} at {place}; give finite numbers")
    return found


def _coefficients(knots: Any, values: Any, kind: str, ends: str) -> Any:
    """(terms, cells, ...): those of the powers of the distance from the knot on the left, lowest first."""
    if kind == "linear":
        slopes = np.diff(values, axis=0) / np.diff(knots).reshape(-1, *[1] * (values.ndim - 1))
        return np.stack([values[:-1], slopes])
    if kind == "pchip":
        return interpolate.PchipInterpolator(knots, values).c[::-1]
    return interpolate.CubicSpline(knots, values, bc_type=ends).c[::-1]


def _with_outside(knots: Any, c: Any, outside: str) -> tuple[Any, Any]:
    """(origins, c) with a cell more at either end."""
    before, after = np.zeros_like(c[:, 0]), np.zeros_like(c[:, 0])
    last = knots[-1] - knots[-2]
    origins = [knots[0], *knots[:-1], knots[-1]]
    if outside == "polynomial":
        before, after, origins[-1] = c[:, 0], c[:, -1], knots[-2]
    else:
        powers = last ** np.arange(len(c))
        before[0], after[0] = c[0, 0], np.tensordot(powers, c[:, -1], 1)
        if outside == "linear" and len(c) > 1:
            before[1] = c[1, 0]
            after[1] = np.tensordot(np.arange(1, len(c)) * powers[:-1], c[1:, -1], 1)
    return origins, np.concatenate([before[:, None], c, after[:, None]], axis=1)
