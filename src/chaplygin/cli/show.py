"""The commands that work on systems and equations: list, show, forms, emit, export-c, export-fmu."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from chaplygin import api
from chaplygin._lazy import later
from chaplygin.codegen import graph
from chaplygin.errors import FormError
from chaplygin.systems import example, examples

from . import subject

if TYPE_CHECKING:
    from chaplygin.api.equations import Equations
    from chaplygin.api.model import Model
    from chaplygin.api.system import System
    from chaplygin.codegen.graph.graph import Node

choose = later("chaplygin.codegen.forms.choose")
sp = later("sympy")

LONGEST = 60
"""Most operations in an expression that `show` simplifies and prints; --full prints longer ones, unsimplified."""
MOST_ROWS = 8
"""Most equations, and most quantities of one kind, that `show` prints without --full."""


@contextmanager
def progress(text: str, *, compiling: bool = False) -> Iterator[None]:
    """Show a line on stderr during a long operation and erase it afterwards; show nothing if stderr is not a terminal.

    The time is printed if the operation took more than five seconds, or more than one second when `compiling`; compile
    times are printed even if stderr is not a terminal.
    """
    looking = sys.stderr.isatty()
    begin = time.perf_counter()
    if looking:
        print(f"{text} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if looking:
            print("\r\033[K", end="", file=sys.stderr)
        seconds = time.perf_counter() - begin
        if seconds > (1 if compiling else 5 if looking else math.inf):
            print(f"{text}: {seconds:.1f} s", file=sys.stderr, flush=True)


def table(rows: Iterable[Sequence[str]], indent: str = "  ", right: Sequence[int] = ()) -> str:
    """Format rows as aligned columns; those with an index in `right` are right-aligned.

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


def duration(seconds: float) -> str:
    """Format a duration with three digits and a suitable unit.

    >>> duration(0.0000123)
    '12.3 µs'
    """
    scale, unit = next(((s, u) for s, u in ((1.0, "s"), (1e-3, "ms")) if seconds >= s), (1e-6, "µs"))
    return f"{seconds / scale:.3g} {unit}"


def print_json(facts: Any) -> None:
    """Print facts as JSON on stdout; non-finite numbers, which JSON does not have, become null."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        if hasattr(value, "item"):  # a NumPy number
            value = value.item()
        return None if isinstance(value, float) and not math.isfinite(value) else value

    print(json.dumps(plain(facts), indent=2, ensure_ascii=False))


def list_systems(arguments: Namespace) -> int:
    """`chaplygin list`."""
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
        if arguments.passes:
            _print_passes(found, equations, arguments.json)
            return 0
        if arguments.json:
            print_json(_facts(found, equations))
            return 0
        described = [equations.latex()] if arguments.latex else _described(found, equations, arguments.full)
        text = "\n\n".join(described)
    print(text)
    return 0


def _print_passes(found: subject.Subject, equations: Equations, as_json: bool) -> None:
    """The operations of one call of each kernel after each pass; kernels of loops come first through others."""
    counts = api.operations_by_pass(equations.nodes)
    every = max(map(list, counts.values()), key=len)  # those of a kernel of loops, if there is one
    names = ["lowered" if each is None else each.name for each in every]
    if as_json:
        print_json(
            {
                kernel: [(name, row[each]) for name, each in zip(names, every, strict=True) if each in row]
                for kernel, row in counts.items()
            }
        )
        return
    rows = [(kernel, *(str(row.get(each, "")) for each in every)) for kernel, row in counts.items()]
    print(f"{found.label}, {equations.form}: the operations of one call after each pass")
    print(table([("kernel", *names), *rows], right=range(1, len(every) + 1)))


def _facts(found: subject.Subject, equations: Equations) -> dict[str, Any]:
    """What `show --json` prints: expressions as SymPy prints them, long ones as their operation count."""
    system = equations.system
    invariants = [
        {"name": name, "status": status.strip("()"), "expression": text.removeprefix("= ")}
        for name, status, text in _invariants(equations, False)
        if status
    ]
    outputs = equations.nodes.output_nodes
    return {
        "system": found.label,
        "description": found.description,
        "source": found.source,
        "form": equations.form,
        "states": list(equations.states),
        "coordinates": [s.name for s in system.coordinates],
        "velocities": [s.name for s in system.velocities],
        "parameters": {s.name: found.parameters.get(s.name) for s in system.parameters},
        "inputs": [s.name for s in system.inputs],
        "units": {s.name: text for s, text in system.units.items()},
        "kinetic": _text(system.kinetic, False),
        "potential": _text(system.potential, False),
        "constraints": [_text(e, False) for e in system.constraints],
        "brackets": brackets(system),
        "equations": equation_lines(equations, False),
        "invariants": invariants,
        "outputs": dict(zip(outputs, _shown(equations, list(outputs.values()), False), strict=True)),
        "events": [event.name for event in system.events],
        "contacts": [contact.name for contact in system.contacts],
        "operations": equations.operations,
    }


def _described(found: subject.Subject, equations: Equations, full: bool) -> Iterator[str]:
    system = equations.system
    head = [f"{found.label}: {found.description}", *([f"source: {found.source}"] if found.source else [])]
    yield "\n".join(head)
    yield "Declared\n" + _quantities(found, full)
    energies = [("T", _text(system.kinetic, full)), ("V", _text(system.potential, full))]
    energies += [("0", f"{_text(e, full)}    (constraint)") for e in system.constraints]
    energies += [(f"{v}", _text(e, full)) for v, e in (system.parametrization or {}).items()]
    energies += [(f"Q_{v}", _text(e, full)) for v, e in system.forces.items()]
    yield table((left, f"= {right}") for left, right in energies)
    yield "Structure constants, [X_a, X_b] = c_ab^i X_i\n" + "\n".join(f"  {b}" for b in brackets(system))
    yield f"{equations.title}\n" + "\n".join(f"  {line}" for line in equation_lines(equations, full))
    if system.contacts:
        contacts = [(c, _text(c.normal, full)) for c in system.contacts]
        rows = [(c.name, f"slip {c.slip}", f"N = {normal}", f"mu = {c.mu}") for c, normal in contacts]
        yield "Contacts with Coulomb friction\n" + table(rows)
    if system.events:
        yield "Events\n" + table(_events(system, full))
    yield "Invariants\n" + table(_invariants(equations, full))
    nodes = equations.nodes
    for title, named in (("Outputs", nodes.output_nodes), ("Reactions", nodes.reaction_nodes)):
        if named:
            texts = _shown(equations, list(named.values()), full)
            yield f"{title}\n" + table((n, f"= {text}") for n, text in zip(named, texts, strict=True))
    counts = ", ".join(f"{name} {count}" for name, count in equations.operations.items())
    yield f"Operations in the graph: {counts}"


def _events(system: System, full: bool) -> list[tuple[str, str, str]]:
    """Name, guard with direction, and effect of each event."""
    rows = []
    for event in system.events:
        way = {1: " rising", -1: " falling"}.get(event.direction, "")
        after = [f"{key} -> {_text(value, full)}" for key, value in (event.reset or {}).items()]
        after += ["the run ends"] if event.terminal else []
        rows.append((str(event.name), f"{_text(event.expr, full)} = 0{way}", "; ".join(after)))
    return rows


def _quantities(found: subject.Subject, full: bool) -> str:
    system = found.system
    groups = (
        ("coordinate", system.coordinates, found.initial),
        ("velocity", (*system.velocities, *system.independent), found.initial),
        ("parameter", system.parameters, found.parameters),
        ("input", system.inputs, found.inputs),
    )
    rows = []
    for kind, symbols, values in groups:
        for i, s in enumerate(symbols):
            if not full and len(symbols) > MOST_ROWS and 2 <= i < len(symbols) - 1:
                if i == 2:
                    rows.append(("...", "", "", "", ""))
                continue
            value = f"{values[s.name]:g}" if s.name in values else "?"
            rows.append((kind, s.name, value, system.units.get(s, ""), system.descriptions.get(s, "")))
    return table(rows, right=[2])


def brackets(system: System) -> list[str]:
    """The nonzero brackets of the vector fields, with velocities as indices.

    >>> from chaplygin.systems import example
    >>> brackets(example("heavy_top").system)
    ['[X_w1, X_w2] = X_w3', '[X_w1, X_w3] = -X_w2', '[X_w2, X_w3] = X_w1']
    """
    drifts = any(node != system.nodes.graph.zero for node in system.nodes.fields.drift)
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


def equation_lines(equations: Equations, full: bool = True) -> list[str]:
    """dx/dt = ..., then M theta' = f row by row, then the dependent velocities, as plain text.

    >>> from chaplygin.systems import example
    >>> equation_lines(example("harmonic_oscillator").system.equations("lagrange"))
    ["x' = x_dot", "m*x_dot' = -k*x"]
    """
    nodes, velocities, k = equations.nodes, equations.velocities, len(equations.velocities)
    if k > MOST_ROWS and not full:
        lines = [f"{len(nodes.rates)} equations dx/dt and {k} equations M theta' = f; --full prints them"]
    else:
        rates = _shown(equations, nodes.rates, full)
        lines = [f"{x}' = {rate}" for x, rate in zip(equations.coordinates, rates, strict=True)]
        slopes = [sp.Symbol(f"{v}'") for v in velocities]
        forces = _shown(equations, nodes.force, full)
        for i in range(k):
            left = slopes[i]
            if nodes.mass:  # else the form gives theta' itself
                row = _views(equations, [nodes.entry(i, j) for j in range(k)])
                left = sum((m * s for m, s in zip(row, slopes, strict=True)), sp.Integer(0))
            lines.append(f"{left} = {forces[i]}")
    dependent = {v: node for v, node in nodes.declared.items() if v not in velocities}
    texts = _shown(equations, list(dependent.values()), full)
    return [*lines, *(f"{v} = {text}" for v, text in zip(dependent, texts, strict=True))]


def _invariants(equations: Equations, full: bool) -> list[tuple[str, str, str]]:
    found = [(i.name, i.status, i.node) for i in equations._found]
    found += [(name, "residual", node) for name, node in equations.nodes.residuals_nodes.items()]
    texts = _shown(equations, [node for *_, node in found], full)
    rows = [(name, f"({s})", f"= {text}") for (name, s, _), text in zip(found, texts, strict=True)]
    return rows or [("none found", "", "")]


def _views(equations: Equations, nodes: Sequence[Node]) -> list[Any]:
    """Nodes as SymPy expressions; only those that SymPy simplifies quickly are simplified."""
    g, symbols = equations.nodes.graph, equations.nodes.symbols

    def quick(e: Any, n: Node) -> bool:
        if g.tree_size(n) > graph.LARGEST_SIMPLIFIED:
            return False
        # SymPy takes minutes for trigonometric denominators of this size.
        slow = any(p.exp.could_extract_minus_sign() and p.has(sp.sin, sp.cos) for p in e.atoms(sp.Pow))
        return g.count_operations([n]) <= (LONGEST // 3 if slow else LONGEST)

    # Plain symbols print in alphabetical order, declared ones grouped by kind.
    plain = {s: sp.Symbol(name) for name, s in symbols.items()}
    raw = zip(graph.expressions(g, nodes, symbols), nodes, strict=True)
    return [(sp.simplify(e) if quick(e, n) else e).xreplace(plain) for e, n in raw]


def _shown(equations: Equations, nodes: Sequence[Node], full: bool) -> list[str]:
    """Nodes as one line of text each; unless `full`, long ones as their operation count."""
    counts = [equations.nodes.graph.count_operations([n]) for n in nodes]
    short = [n for n, count in zip(nodes, counts, strict=True) if full or count <= LONGEST]
    texts = iter(_views(equations, short))
    return [str(next(texts)) if full or count <= LONGEST else _elided(count) for count in counts]


def _text(expression: Any, full: bool) -> str:
    """A declared expression as text; unless `full`, a long one as its operation count."""
    count = int(expression.count_ops())
    return str(expression) if full or count <= LONGEST else _elided(count)


def _elided(count: int) -> str:
    return f"({count} operations; --full prints them)"


def forms(arguments: Namespace) -> int:
    """`chaplygin forms`: * the default form, + a form that fits, - one that does not."""
    rows = [("system", *choose.forms())]
    reasons = []
    with progress("deriving the catalogue in every form"):
        for name in examples():
            if example(name).large:
                continue
            system = example(name).system
            default, marks = choose.fitting(system), []
            for form in choose.forms():
                try:
                    system.equations(form)
                    marks.append("*" if form == default else "+")
                except FormError as error:
                    marks.append("-")
                    reasons.append(str(error))
            rows.append((name, *marks))
    print(table(rows, indent=""))
    print("\n* default form   + fits   - does not fit" + ("" if arguments.verbose else " (-v says why)"))
    large = ", ".join(name for name in examples() if example(name).large)
    print(f"not derived, for their size: {large} (chaplygin list names their default form)")
    if arguments.verbose:
        print("\n" + "\n".join(reasons))
    return 0


def emit(arguments: Namespace) -> int:
    """`chaplygin emit SYSTEM -o DIR`."""
    with progress(f"deriving and printing {arguments.system}"):
        found = subject.find(arguments.system, arguments.n)
        form, options = subject.form_options(found.system, arguments.form, arguments.option)
        paths = found.system.emit(
            form, arguments.output, force=arguments.force, targets=arguments.targets, **options
        )
    for path in paths:
        print(f"{os.fspath(path)}  ({path.stat().st_size:,} bytes)")
    return 0


def export_c(arguments: Namespace) -> int:
    """`chaplygin export-c SYSTEM -o DIR`."""
    with progress(f"deriving and compiling {arguments.system}"):
        found, model = _compiled(arguments)
        folder = model.export_c(
            arguments.output,
            arguments.methods,
            arguments.scalar,
            arguments.single_header,
            prefix=arguments.prefix,
            **_exported_start(found, model),
        )
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        print(f"{os.fspath(path)}  ({path.stat().st_size:,} bytes)")
    return 0


def export_fmu(arguments: Namespace) -> int:
    """`chaplygin export-fmu SYSTEM -o FILE`."""
    with progress(f"deriving and compiling {arguments.system}"):
        found, model = _compiled(arguments)
        experiment = {name: getattr(arguments, name) for name in ("stop_time", "step_size", "tolerance")}
        path = model.export_fmu(
            arguments.output,
            arguments.fmi,
            arguments.kind,
            platforms=arguments.platform,
            **{name: value for name, value in experiment.items() if value is not None},
            **_exported_start(found, model),
        )
    print(f"{os.fspath(path)}  ({path.stat().st_size:,} bytes)")
    return 0


def _compiled(arguments: Namespace) -> tuple[subject.Subject, Model]:
    """The subject of a command with its settings, and its compiled model."""
    found = subject.find(arguments.system, arguments.n).changed(arguments.set)
    form, options = subject.form_options(found.system, arguments.form, arguments.option)
    return found, found.system.compile(form, **options)


def _exported_start(found: subject.Subject, model: Model) -> dict[str, Any]:
    """The start values of an exported model."""
    inputs = {name: found.inputs.get(name, model.example.get(name, 0.0)) for name in model.inputs}
    return {"initial": found.initial, "parameters": found.parameters, "inputs": inputs}
