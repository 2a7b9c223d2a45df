"""The commands that work on systems and equations: list, show, forms, emit, export-c, export-fmu."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from chaplygin import api
from chaplygin._lazy import later
from chaplygin.errors import FormError
from chaplygin.systems import example, examples

from . import subject
from .printing import packed, print_json, progress, table

if TYPE_CHECKING:
    from chaplygin.api.equations import Equations
    from chaplygin.api.model import Model
    from chaplygin.api.system import System
    from chaplygin.codegen.views.display import Display

choose = later("chaplygin.codegen.forms.choose")
latex = later("chaplygin.codegen.views.latex")
tables = later("chaplygin.codegen.graph.tables")
written = later("chaplygin.codegen.views.text")

COUNTED_AS_EMITTED = 60
"""Most operations of M and f together with which `show` looks for the operations of the emitted right-hand side."""
SOME = 12
"""Most rows of one kind that `show` prints without --full."""


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
            print(packed(_facts(found, equations, arguments.full)))
            return 0
        if arguments.latex:
            text = latex.equations_to_latex(equations.nodes, short=not arguments.full)
        else:
            text = "\n\n".join(_described(found, equations, arguments.full))
    print(text)
    return 0


def _print_passes(found: subject.Subject, equations: Equations, as_json: bool) -> None:
    """The operations of one call of each kernel after each pass; kernels of loops come first through others.

    Below them, what each pass took for all kernels together.
    """
    counts, seconds = api.operations_by_pass(equations.nodes)
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
    rows.append(("seconds", *(f"{seconds[each]:.2f}" for each in every)))
    print(f"{found.name}, {equations.form}: the operations of one call after each pass, and what it took")
    print(table([("kernel", *names), *rows], right=range(1, len(every) + 1)))


def _shown(equations: Equations, full: bool) -> Display:
    """How all expressions of equations are written."""
    nodes = equations.nodes
    given = (each.node for each in written.declared(equations.system))
    named = (*nodes.output_nodes.values(), *nodes.reaction_nodes.values(), *nodes.residuals_nodes.values())
    shown: Display = written.display(nodes, full, (*given, *named, *(i.node for i in equations._found)))
    return shown


def _tables(equations: Equations) -> dict[str, str]:
    """The tables in equations, by name."""
    g = equations.nodes.graph
    return {
        t.name: t.about + "; values at run time" * bool(t.widths)
        for t in tables.tables_in(g, range(len(g.op)))
    }


def _facts(found: subject.Subject, equations: Equations, full: bool) -> dict[str, Any]:
    """What `show --json` prints: expressions as SymPy prints them, long ones as their operation count."""
    system, shown = equations.system, _shown(equations, full)
    lines, given = written.equation_lines(equations.nodes, shown), _declared(system, shown)
    facts = {
        "system": found.name,
        "description": found.description,
        "source": found.source,
        "form": equations.form,
        "states": list(equations.states),
        "coordinates": [s.name for s in system.coordinates],
        "velocities": [s.name for s in system.velocities],
        "parameters": {s.name: found.parameters.get(s.name) for s in system.parameters},
        "inputs": [s.name for s in system.inputs],
        "units": {str(s): unit for s, unit in system.units.items()},
        "kinetic": given[0][2],
        "potential": given[1][2],
        "constraints": [e for kind, _, e in given if kind == "constraint"],
        "brackets": written.brackets(system, shown),
        "equations": lines,
        "invariants": [
            {"name": name, "status": status, "expression": e}
            for name, status, e in _invariants(equations, shown)
        ],
        "outputs": shown.texts(equations.nodes.output_nodes),
        "reactions": shown.texts(equations.nodes.reaction_nodes),
        "tables": _tables(equations),
        "events": [event.name for event in system.events],
        "contacts": [contact.name for contact in system.contacts],
    }
    emitted, counts = _operations(equations)
    ends = {
        "operations": counts,
        "counted": "as emitted" if emitted else "as derived",
        "elided": shown.elided,
    }
    return {**facts, **({"intermediates": dict(shown.definitions())} if full else {}), **ends}


def _described(found: subject.Subject, equations: Equations, full: bool) -> Iterator[str]:
    system, nodes, shown = equations.system, equations.nodes, _shown(equations, full)
    head = [f"{found.name}: {found.description}", *([f"source: {found.source}"] if found.source else [])]
    yield "\n".join(head)
    yield "Declared\n" + _quantities(found, full)
    lines = written.equation_lines(nodes, shown)  # first, as they are what is asked for
    left = {"constraint": ("0", "    (constraint)")}
    parts = [(*left.get(kind, (name, "")), e) for kind, name, e in _declared(system, shown)]
    yield table(_some([(name, f"= {e}{more}") for name, more, e in parts], full))
    yield "\n".join(
        ["Structure constants, [X_a, X_b] = c_ab^i X_i", *_indented(written.brackets(system, shown), full)]
    )
    yield "\n".join([equations.title, *_indented(lines, True)])
    if found_tables := _tables(equations):
        yield "Tables\n" + table(_some(list(found_tables.items()), full))
    if system.contacts:
        rows = [
            (c.name, f"slip {c.slip}", f"N = {shown.text(f'{c.name}.normal', n.normal)}", f"mu = {c.mu}")
            for c, n in zip(system.contacts, system.nodes.contacts, strict=True)
        ]
        yield "Contacts with Coulomb friction\n" + table(_some(rows, full))
    if system.events:
        yield "Events\n" + table(_some(_events(system, shown), full))
    invariants = [(name, f"({status})", f"= {e}") for name, status, e in _invariants(equations, shown)]
    yield "Invariants\n" + table(_some(invariants, full) or [("none found",)])
    for title, named in (("Outputs", nodes.output_nodes), ("Reactions", nodes.reaction_nodes)):
        if named:
            yield f"{title}\n" + _named(shown.texts(named), full)
    if shown.named:
        yield "Intermediates\n" + table((name, f"= {e}") for name, e in shown.definitions())
    yield _counted(equations)
    if shown.elided:
        yield _rest(shown)


def _named(texts: dict[str, str], full: bool) -> str:
    """Rows "name = expression"; of what is a variable itself, such as a multiplier, the names alone."""
    own = [name for name, text in texts.items() if name == text]
    rows = _some([(name, f"= {text}") for name, text in texts.items() if name != text], full)
    names = own if full or len(own) <= 4 else [*own[:2], "...", own[-1]]
    return "\n".join([*([f"  {', '.join(names)}"] if own else []), *([table(rows)] if rows else [])])


def _counted(equations: Equations) -> str:
    """The line of operation counts."""
    emitted, counts = _operations(equations)
    mass, force, rhs, divisions, once = (f"{count:,}" for count in counts.values())
    which, before = ("emitted ", "") if emitted else ("", ", before the emitted code is made shorter")
    return (
        f"Operations: M {mass}, f {force}; in the {which}right-hand side {rhs} in each call ({divisions} of them "
        f"divisions) and {once} once per parameter set{before}"
    )


def _rest(shown: Display) -> str:
    """How much `--full` would print."""
    count = shown.graph.count_operations(shown.roots)
    return (
        f"Only counted: {len(shown.elided)} expressions. --full writes them out, with names for what occurs several "
        f"times: {count:,} operations, about {max(count // 70, 1)} kB, in about {max(count // 3000, 2)} s."
    )


def _some(rows: Sequence[Sequence[str]], full: bool) -> list[Sequence[str]]:
    """The first rows, and how many more there are."""
    if full or len(rows) <= SOME + 1:
        return list(rows)
    return [*rows[:SOME], (f"and {len(rows) - SOME} more",)]


def _indented(lines: Sequence[str], full: bool) -> list[str]:
    return [f"  {line}" for (line,) in _some([(line,) for line in lines], full)]


def _declared(system: System, shown: Display) -> list[tuple[str, str, str]]:
    """Kind, name and expression of T, V, constraints, the parametrization and forces, in this order."""
    order = ("T", "V", "constraint", "velocity", "force")
    every = sorted(
        (d for d in written.declared(system) if d.kind in order), key=lambda d: order.index(d.kind)
    )
    return [(d.kind, d.name, shown.text(d.name, d.node, d.expression)) for d in every]


def _events(system: System, shown: Display) -> list[tuple[str, str, str]]:
    """Name, guard with direction, and effect of each event."""
    rows = []
    for event, nodes in zip(system.events, system.nodes.events, strict=True):
        way = {1: " rising", -1: " falling"}.get(event.direction, "")
        guard = shown.text(f"{event.name}", nodes.guard, written.given_as(event.expr))
        after = [f"{key} -> {shown.text(f'{event.name}.{key}', n)}" for key, n in nodes.reset.items()]
        after += ["the run ends"] if event.terminal else []
        where = ""
        if nodes.when is not None:
            where = f" where {shown.text(f'{event.name}.when', nodes.when, written.given_as(event.when))}"
        rows.append((str(event.name), f"{guard} = 0{way}{where}", "; ".join(after)))
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
            if not full and len(symbols) > written.MOST_ROWS and 2 <= i < len(symbols) - 1:
                if i == 2:
                    rows.append(("...", "", "", "", ""))
                continue
            value = f"{values[s.name]:g}" if s.name in values else "?"
            rows.append((kind, s.name, value, system.units.get(s, ""), system.descriptions.get(s, "")))
    return table(rows, right=[2])


def _invariants(equations: Equations, shown: Display) -> list[tuple[str, str, str]]:
    """Name, status and expression of the invariants and residuals."""
    found = [(i.name, i.status, i.node) for i in equations._found]
    found += [(name, "residual", node) for name, node in equations.nodes.residuals_nodes.items()]
    return [(name, status, shown.text(name, node)) for name, status, node in found]


def _operations(equations: Equations) -> tuple[bool, dict[str, int]]:
    """The operations, and whether the right-hand side is counted as emitted, which takes seconds for long ones."""
    nodes, g = equations.nodes, equations.nodes.graph
    mass = [n for row in nodes.mass for n in row]
    if g.count_operations([*mass, *nodes.force]) <= COUNTED_AS_EMITTED:
        return True, equations.operations
    counts = {"mass_matrix": g.count_operations(mass), "forcing": g.count_operations(nodes.force)}
    found = api.derived_counts(nodes)
    return False, {**counts, "rhs": found.operations, "divisions": found.divisions, "hoisted": found.hoisted}


def forms(arguments: Namespace) -> int:
    """`chaplygin forms`: * the default form, + a form that fits, - one that does not."""
    rows = [("system", *choose.forms())]
    reasons = []
    large: list[str] = []
    shown: dict[str, Any]
    if arguments.system is None:
        what, large = "the catalogue", [name for name in examples() if example(name).large]
        shown = {name: example(name) for name in examples() if name not in large}
    else:
        one = subject.find(arguments.system)
        what, shown = one.name, {one.name: one}
    with progress(f"deriving {what} in every form"):
        for name, each in shown.items():
            system = each.system
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
    if large:
        print(f"not derived, for their size: {', '.join(large)} (chaplygin list names their default form)")
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
    found.require_numbers(form)
    return found, subject.compiled(found.system, form, options)


def _exported_start(found: subject.Subject, model: Model) -> dict[str, Any]:
    """The start values of an exported model."""
    inputs = {name: found.inputs.get(name, model.example.get(name, 0.0)) for name in model.inputs}
    return {"initial": found.initial, "parameters": found.parameters, "inputs": inputs}
