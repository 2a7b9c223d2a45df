"""The commands that look at systems and equations: list, show, forms, emit."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import subject

if TYPE_CHECKING:
    from chaplygin.codegen.equations import Equations
    from chaplygin.codegen.system import System

__all__ = ["emit", "forms", "list_systems", "progress", "show", "table"]

LONGEST = 160
"""Characters of an expression that `show` prints without --full."""


@contextmanager
def progress(text: str) -> Iterator[None]:
    """A line on stderr while something takes long, wiped afterwards; nothing where nobody looks."""
    if not sys.stderr.isatty():
        yield
        return
    begin = time.perf_counter()
    print(f"{text} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r\033[K", end="", file=sys.stderr)
        if time.perf_counter() - begin > 5:
            print(f"{text}: {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)


def table(rows: Iterable[Sequence[str]], indent: str = "  ", right: Sequence[int] = ()) -> str:
    """Rows as aligned columns; those numbered in `right` are right-aligned.

    >>> print(table([("a", "1"), ("long", "23")], right=[1]))
      a      1
      long  23
    """
    rows = [tuple(row) for row in rows]
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    lines = []
    for row in rows:
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def list_systems(arguments: Namespace) -> int:
    """`chaplygin list`."""
    from chaplygin.systems import example, examples

    rows = [("system", "form", "closed form", "", "source")]
    for name in examples():
        entry = example(name)
        rows.append((name, entry.forms[0], "yes" if entry.solve else "", entry.description, entry.source))
    print(table(rows, indent=""))
    return 0


def show(arguments: Namespace) -> int:
    """`chaplygin show SYSTEM`."""
    with progress(f"deriving {arguments.system}"):
        found = subject.find(arguments.system, arguments.n)
        form, options = subject.form_options(found.system, arguments.form, arguments.option)
        equations = found.system.equations(form, **options)
        if arguments.latex:
            text = equations.latex()
        else:
            text = "\n\n".join(_described(found, equations, None if arguments.full else LONGEST))
    print(text)
    return 0


def _described(found: subject.Subject, equations: Equations, longest: int | None) -> Iterator[str]:
    system = equations.system
    head = [f"{found.label}: {found.description}", *([f"source: {found.source}"] if found.source else [])]
    yield "\n".join(head)
    yield "Declared\n" + _quantities(found)
    energies = [("T", _text(system.kinetic, longest)), ("V", _text(system.potential, longest))]
    energies += [("0", f"{_text(e, longest)}    (constraint)") for e in system.constraints]
    energies += [(f"{v}", _text(e, longest)) for v, e in (system.parametrization or {}).items()]
    energies += [(f"Q_{v}", _text(e, longest)) for v, e in system.forces.items()]
    yield table((left, f"= {right}") for left, right in energies)
    yield "Structure constants, [X_a, X_b] = c_ab^i X_i\n" + "\n".join(f"  {b}" for b in brackets(system))
    yield f"{equations.title}\n" + "\n".join(f"  {line}" for line in equation_lines(equations, longest))
    yield "Invariants\n" + table(_invariants(equations, longest))
    if equations.outputs:
        yield "Outputs\n" + table((n, f"= {_text(e, longest)}") for n, e in equations.outputs.items())
    counts = ", ".join(f"{name} {count}" for name, count in equations.operations.items())
    yield f"Operations in the graph: {counts}"


def _quantities(found: subject.Subject) -> str:
    system = found.system
    groups = (
        ("coordinate", system.coordinates, found.initial),
        ("velocity", (*system.velocities, *system.independent), found.initial),
        ("parameter", system.parameters, found.parameters),
        ("input", system.inputs, found.inputs),
    )
    rows = []
    for kind, symbols, values in groups:
        for s in symbols:
            value = f"{values[s.name]:g}" if s.name in values else "?"
            rows.append((kind, s.name, value, system.units.get(s, ""), system.descriptions.get(s, "")))
    return table(rows, right=[2])


def brackets(system: System) -> list[str]:
    """The brackets of the vector fields that do not vanish, with velocities as indices.

    >>> from chaplygin.systems import example
    >>> brackets(example("heavy_top").system)
    ['[X_w1, X_w2] = X_w3', '[X_w1, X_w3] = -X_w2', '[X_w2, X_w3] = X_w1']
    """
    import sympy as sp

    drifts = any(node != system.graph.zero for node in system.fields.drift)
    constants = system.structure_constants(with_time=drifts)
    names = [*(["X_0"] if drifts else []), *(f"X_{v}" for v in system.velocities)]
    fields = [sp.Symbol(f"X_{v}") for v in system.velocities]
    lines = []
    for a in range(len(names)):
        for b in range(a + 1, len(names)):
            bracket = sum((c * x for c, x in zip(constants[a][b], fields, strict=True)), sp.Integer(0))
            if bracket != 0:
                lines.append(f"[{names[a]}, {names[b]}] = {bracket}")
    return lines or ["all brackets vanish"]


def equation_lines(equations: Equations, longest: int | None = None) -> list[str]:
    """dx/dt = ..., then M theta' = f row by row, then the dependent velocities, as plain text.

    >>> from chaplygin.systems import example
    >>> equation_lines(example("harmonic_oscillator").system.equations("lagrange"))
    ["x' = x_dot", "m*x_dot' = -k*x"]
    """
    system, k = equations.system, len(equations.velocities)
    rows = list(zip([f"{x}'" for x in system.coordinates], equations.kinematics, strict=True))
    if longest is not None and k > 8:
        what = f"{k} equations M theta' = f, {equations.operations['forcing']} operations in f"
        return [*(f"{left} = {_text(right, longest)}" for left, right in rows), f"({what}; --full prints them)"]
    lines = [f"{left} = {_text(right, longest)}" for left, right in rows]
    for i in range(k):
        left = sum(
            (equations.mass_matrix[i, j] * _prime(v) for j, v in enumerate(equations.velocities)),
            _prime(None),
        )
        lines.append(f"{_text(left, longest)} = {_text(equations.forcing[i], longest)}")
    dependent = [v for v in equations.declared if v not in equations.velocities]
    for v, right in zip(dependent, equations._view([equations.declared[v] for v in dependent]), strict=True):
        lines.append(f"{v} = {_text(right, longest)}")
    return lines


def _prime(symbol: Any) -> Any:
    import sympy as sp

    return sp.Integer(0) if symbol is None else sp.Symbol(f"{symbol}'")


def _invariants(equations: Equations, longest: int | None) -> list[tuple[str, str, str]]:
    status = equations.invariant_status
    rows = [(n, f"= {_text(e, longest)}", f"({status[n]})") for n, e in equations.invariants.items()]
    rows += [(n, f"= {_text(e, longest)}", "(residual)") for n, e in equations.residuals.items()]
    return rows or [("none found", "", "")]


def _text(expression: Any, longest: int | None) -> str:
    """An expression on one line; a long one as its number of operations."""
    if longest is not None:
        # Counting is quick where printing is not.
        count = int(expression.count_ops())
        if count > longest:
            return f"({count} operations; --full prints them)"
    text = str(expression)
    if longest is None or len(text) <= longest:
        return text
    return f"({int(expression.count_ops())} operations; --full prints them)"


def forms(arguments: Namespace) -> int:
    """`chaplygin forms`: * the form taken when none is named, + one that fits, - one that refuses."""
    from chaplygin.codegen.forms import FormError, fitting
    from chaplygin.codegen.forms import forms as names
    from chaplygin.systems import example, examples

    rows = [("system", *names())]
    reasons = []
    with progress("deriving the catalogue in every form"):
        for name in examples():
            system = example(name).system
            default, marks = fitting(system), []
            for form in names():
                try:
                    system.equations(form)
                    marks.append("*" if form == default else "+")
                except FormError as error:
                    marks.append("-")
                    reasons.append(str(error))
            rows.append((name, *marks))
    print(table(rows, indent=""))
    print("\n* taken when no form is named   + fits   - refuses" + ("" if arguments.verbose else " (-v says why)"))
    if arguments.verbose:
        print("\n" + "\n".join(reasons))
    return 0


def emit(arguments: Namespace) -> int:
    """`chaplygin emit SYSTEM -o DIR`."""
    with progress(f"deriving and printing {arguments.system}"):
        found = subject.find(arguments.system, arguments.n)
        form, options = subject.form_options(found.system, arguments.form, arguments.option)
        paths = found.system.emit(form, arguments.output, **options)
    for path in paths:
        print(f"{os.fspath(path)}  ({path.stat().st_size:,} bytes)")
    return 0


