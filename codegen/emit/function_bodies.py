"""Scheduled statements as C function bodies; long kernels are split into functions of a few hundred statements.

gcc is superlinear in the length of a function: 10,000 statements take 4.4 s in one piece, 1.5 s in pieces of 300.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..graph.graph import Graph, Node
from ..lower.lowered import Kernel
from ..plan.plan import Program
from ..plan.statements import (
    Assign,
    Check,
    FactorSolve,
    Load,
    Schedule,
    SineCosine,
    Statement,
    Store,
    assigned,
)
from .node_text import LANES, C, Dialect, singular_text, value_text
from .render import render
from .table_text import table_texts


def place(load: Load, dialect: Dialect = C) -> str:
    """The source of a variable: an array element or the independent variable."""
    text = "cg_t" if load.array == "t" else f"{array_name(load.array)}[{load.index}]"
    return dialect.splat.format(text) if load.array in {*dialect.shared, "numbers"} else text


def array_name(array: str) -> str:
    """The name of an array in emitted code: an argument of the kernel, or a frame of a template."""
    return f"cg_{array}"


@dataclass(frozen=True)
class CFunction:
    """The text of a C function body and the arrays it reads or writes."""

    lines: tuple[str, ...]
    arrays: frozenset[str]
    intermediates: int


@dataclass(frozen=True)
class CBody:
    """A kernel as one function, or as pieces called in order; `work` is the workspace size with what they pass on.

    A rolled kernel has no pieces: see `loops`."""

    pieces: tuple[CFunction, ...]
    work: int


def names_in(g: Graph, node: Node, names: Mapping[Node, str], top: bool = False) -> Iterable[str]:
    """The names that appear in the text of a node."""
    stack = list(g.args[node]) if top else [node]
    while stack:
        n = stack.pop()
        if n in names:
            yield names[n]
        else:
            stack.extend(g.args[n])


def template_text(g: Graph, plan: Schedule, dialect: Dialect) -> CFunction:
    """The text of a template, in one piece."""
    statements = list(plan.statements)
    return _sections(g, plan, statements, set(_uses(g, statements, plan.names)), dialect)


def body(program: Program, schedule: Schedule, dialect: Dialect = C) -> CBody:
    """The text of one kernel without its hoisted part, which has no workspace and is not split."""
    g, options = program.graph, program.options
    if schedule.rolled is not None:
        return CBody((), schedule.work)
    statements = list(schedule.statements)
    if len(statements) <= options.longest_function or schedule.kernel.name == "hoist":
        groups = [statements]
    else:
        size = options.piece
        groups = [statements[i : i + size] for i in range(0, len(statements), size)]
        groups = [p for p in groups if not all(isinstance(s, Load) for s in p)]  # whoever reads one loads it
    loads = {s.name: s for s in statements if isinstance(s, Load)}
    home = {part.name: i for i, group in enumerate(groups) for s in group for part in assigned(s)}
    uses = [_uses(g, group, schedule.names) for group in groups]
    crossing: dict[str, int] = {}
    for i, used in enumerate(uses):
        for name in used:
            if name in home and home[name] < i and name not in crossing:
                crossing[name] = schedule.work + len(crossing)
    if len(groups) == 1 and not any(isinstance(s, FactorSolve) for s in statements):
        return CBody((_sections(g, schedule, statements, set(uses[0]), dialect),), schedule.work)
    pieces = tuple(
        _piece(g, schedule, group, i, uses[i], loads, home, crossing, dialect)
        for i, group in enumerate(groups)
    )
    return CBody(pieces, schedule.work + len(crossing))


def _sections(
    g: Graph, schedule: Schedule, statements: list[Statement], used: set[str], dialect: Dialect
) -> CFunction:
    """A short kernel in three sections: inputs, intermediates, outputs."""
    names = schedule.names
    loads = [s for s in statements if isinstance(s, Load) and s.name in used]
    stores = [s for s in statements if isinstance(s, Store)]
    loads.sort(key=lambda s: ("txpquv".find(s.array), s.array, s.index))
    lines = [f"const {dialect.real} {s.name} = {place(s, dialect)};" for s in loads]
    if lines:
        lines.insert(0, "/* inputs */")
    middle = [_statement(g, s, names, dialect) for s in statements if not isinstance(s, (Load, Store))]
    count = sum(len(assigned(s)) for s in statements)
    if middle:
        lines += ["", f"/* intermediates: {count} */", *middle]
    lines += ["", "/* outputs */", *(_statement(g, s, names, dialect) for s in stores), ""]
    clock = {"t"} if "t" in used - {s.name for s in loads} else set()
    arrays = {s.array for s in loads} | {s.array for s in stores} | clock | _arrays(used)
    return CFunction(tuple(lines[1:] if not lines[0] else lines), frozenset(arrays), count)


def _statement(g: Graph, s: Statement, names: Mapping[Node, str], dialect: Dialect) -> str:
    """The text of one statement that needs no workspace."""
    if isinstance(s, Assign):
        return f"const {dialect.real} {s.name} = {value_text(g, s.node, names, True, dialect)};"
    if isinstance(s, SineCosine):
        sine, cosine = s.sine.name, s.cosine.name
        angle = value_text(g, g.args[s.sine.node][0], names, False, dialect)
        call = dialect.sine_cosine.format(angle, f"&{sine}", f"&{cosine}")
        return f"{dialect.real} {sine}, {cosine}; {call}"
    if isinstance(s, Check):
        return singular_text(g, s.pairs, names, dialect)
    assert isinstance(s, Store)
    text = value_text(g, s.node, names, False, dialect)
    return f"{array_name(s.array)}[{s.index}] = {text};" + (f" /* {s.comment} */" if s.comment else "")


def helpers(g: Graph, dialect: Dialect, kernels: Iterable[Kernel]) -> str:
    """The C functions that the kernels call: those of tables, `cg_factor` and `cg_solve`, and those of cg_rank.h."""
    kernels = list(kernels)
    return table_texts(g, (n for kernel in kernels for n in kernel.roots())) + _solver(dialect, kernels)


def _solver(dialect: Dialect, kernels: Iterable[Kernel]) -> str:
    solves = [solve for kernel in kernels for solve in kernel.solves]
    of_rank = {solve.factors for solve in solves if solve.pivots}
    text = '#include "cg_rank.h"\n\n' if of_rank else ""
    if all(solve.factors in of_rank for solve in solves):
        return text
    size, status, ok, result = (
        ("cg_abs", "cg_mask_t", "cg_true()", "The result is false in lanes where a pivot is too small.")
        if dialect is LANES
        else ("fabs", "int", "CG_OK", "The result is CG_SINGULAR if a pivot is too small.")
    )
    small = dialect.relations["le"].format(f"{size}(pivot)", f"CG_PIVOT * {size}(diagonal[k])")
    values = {"check": dialect.singular.format(small), "zero": dialect.splat.format("0.0")}
    values |= {"real": dialect.real, "status": status, "ok": ok, "result": result}
    return text + render("solver.c.in", values)


def solved(s: FactorSolve, dialect: Dialect) -> list[str]:
    """The calls that factor and solve."""
    if s.rank:
        sizes = f"{s.size}, {s.rank}, cg_work + {s.matrix}"
        factored = [f"cg_rank_factor({sizes});"] if s.factor else []
        return [*factored, f"cg_rank_solve({sizes}, cg_work + {s.right});"]
    matrix = f"{s.size}, cg_work + {s.matrix}"
    factored = [dialect.factored.format(f"cg_factor({matrix})")] if s.factor else []
    return [*factored, f"cg_solve({matrix}, cg_work + {s.right});"]


def _arrays(used: Iterable[str]) -> set[str]:
    """The arrays that are read without a variable."""
    return {name[3 : name.index("[")] for name in used if "[" in name}


def _uses(g: Graph, group: list[Statement], names: Mapping[Node, str]) -> list[str]:
    """Names that a group's texts contain, in order of appearance."""
    found: dict[str, None] = {}
    for s in group:
        for part in assigned(s):
            found.update(dict.fromkeys(names_in(g, part.node, names, top=True)))
        nodes = [s.node] if isinstance(s, Store) else []
        nodes += [n for pair in s.pairs for n in pair] if isinstance(s, Check) else []
        for node in nodes:
            found.update(dict.fromkeys(names_in(g, node, names)))
    return list(found)


def _piece(
    g: Graph,
    schedule: Schedule,
    group: list[Statement],
    index: int,
    used: list[str],
    loads: Mapping[str, Load],
    home: Mapping[str, int],
    crossing: Mapping[str, int],
    dialect: Dialect,
) -> CFunction:
    names = schedule.names
    lines: list[str] = []
    arrays = _arrays(used)
    own = {s.name for s in group if isinstance(s, Load)}

    def load(s: Load) -> None:
        arrays.add(s.array)
        lines.append(f"const {dialect.real} {s.name} = {place(s, dialect)};")

    for name in used:  # what earlier pieces read or computed
        if name in loads and name not in own:
            load(loads[name])
        elif name in crossing and home[name] < index:
            load(Load(name, "work", crossing[name]))
    if lines:
        lines.append("")
    for s in group:
        if isinstance(s, Load):
            if s.name in used:
                load(s)
        elif isinstance(s, FactorSolve):
            arrays.add("work")
            lines += solved(s, dialect)
        else:
            arrays |= {s.array} if isinstance(s, Store) else set()
            lines.append(_statement(g, s, names, dialect))
            for name in (part.name for part in assigned(s) if part.name in crossing):
                arrays.add("work")
                lines.append(f"cg_work[{crossing[name]}] = {name};")
    arrays |= {"t"} if "t" in used and "t" not in loads else set()
    return CFunction(tuple(lines), frozenset(arrays), sum(len(assigned(s)) for s in group))
