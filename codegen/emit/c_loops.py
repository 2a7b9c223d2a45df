"""Rolled kernels in C: one function for each template, and loops that call them."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.graph import Graph
from ..plan.statements import Check, FactorSolve, Rolled, Run, Template
from .c_text import indented, wrapped
from .function_bodies import solved, template_text
from .node_text import LANES, C, Dialect, value_text


def loop_texts(
    g: Graph, name: str, clock: str, found: Rolled, dialect: Dialect
) -> tuple[list[str], list[str], set[str]]:
    """The lines of the templates `<name>_<i>`, the lines that call them, and the arrays that these need."""
    lanes = dialect is LANES
    functions: list[str] = []
    checked, timed = [], []
    for number, template in enumerate(found.templates, 1):
        text = template_text(g, template.schedule, dialect)
        checks = any(isinstance(s, Check) for s in template.schedule.statements)
        checked.append(checks)
        timed.append("t" in text.arrays)
        arguments = _arguments(template, dialect, "t" in text.arrays, clock)
        kind = ("cg_mask_t" if lanes else "int") if checks else "void"
        lines = ["cg_mask_t cg_ok = cg_true();"] if lanes and checks else []
        if lanes and "t" in text.arrays:
            lines.append(f"const cg_real_t {clock} = *cg_clock;")
        lines += text.lines[:-1]  # without the empty line before a return
        if checks:
            lines += ["", "return cg_ok;" if lanes else "return CG_OK;"]
        signature = wrapped(f"static {kind} {name}_{number}(", arguments)
        functions += [signature, "{", *indented(lines), "}", ""]
    tables: list[str] = []
    if found.numbers:
        tables.append(_numbers(g, name, found))
    calls: list[str] = []
    arrays = {array for template in found.templates for array in template.frames.values()} - {"numbers"}
    arrays |= {"t"} if any(timed) else set()
    for run in found.runs:
        if isinstance(run, FactorSolve):
            calls += solved(run, dialect)
            continue
        calls += _run(name, found.templates, run, tables, checked, timed, lanes, clock)
    if not lanes and any("status = " in line for line in calls):
        calls.insert(0, "int status;")
    return [*functions, *tables, *[""] * bool(tables)], calls, arrays


def _arguments(template: Template, dialect: Dialect, timed: bool, clock: str) -> list[str]:
    real = dialect.real
    found = []
    if timed:
        found.append("const cg_real_t *restrict cg_clock" if dialect is LANES else f"double {clock}")
    for frame in template.frames:
        if frame == "numbers":
            found.append("const double *CG_RESTRICT cg_numbers")
            continue
        constant = "const " if frame.startswith("a") else ""
        found.append(f"{constant}{real} *CG_RESTRICT cg_{frame}")
    return found or ["void"]


def _run(
    name: str,
    templates: Sequence[Template],
    run: Run,
    tables: list[str],
    checked: Sequence[bool],
    timed: Sequence[bool],
    lanes: bool,
    clock: str,
) -> list[str]:
    lines = []
    for call in run.calls:
        arguments = [("cg_clock" if lanes else clock)] if timed[call.template] else []
        for array, places in zip(templates[call.template].frames.values(), call.places, strict=True):
            start = f"{name}_numbers" if array == "numbers" else f"cg_{array}"
            arguments.append(f"{start} + {_place(name, places, tables)}".removesuffix(" + 0"))
        text = f"{name}_{call.template + 1}({', '.join(arguments)})"
        if checked[call.template]:
            text = f"cg_ok &= {text};" if lanes else f"if ((status = {text}) != CG_OK) return status;"
        else:
            text += ";"
        lines.append(text)
    if run.count == 1:
        return lines
    head = f"for (int i = 0; i < {run.count}; i++)"
    return [f"{head} {{", *("    " + line for line in lines), "}"]


def _numbers(g: Graph, name: str, found: Rolled) -> str:
    """The table of constants."""
    values = [value_text(g, n, {}, False, C) for n in found.numbers]
    rows = [f"    {', '.join(values[i : i + 4])}," for i in range(0, len(values), 4)]
    return "\n".join([f"static const double {name}_numbers[] = {{", *rows, "};"])


def _place(name: str, places: Sequence[int], tables: list[str]) -> str:
    """A place as a function of the repetition i: linear, or from a table."""
    first = places[0]
    step = places[1] - first if len(places) > 1 else 0
    if all(p == first + i * step for i, p in enumerate(places)):
        if step == 0:
            return str(first)
        turn = "i" if step == 1 else f"{step} * i" if step > 0 else f"({step}) * i"
        return f"({first} + {turn})" if first else f"({turn})" if step < 0 else turn
    label = f"{name}_places_{len(tables) + 1}"
    rows = [f"    {', '.join(map(str, places[i : i + 16]))}," for i in range(0, len(places), 16)]
    tables.append("\n".join([f"static const int {label}[] = {{", *rows, "};"]))
    return f"{label}[i]"
