"""Methods as C: the stages, error estimates and interpolant of a pair, and the list of the runtime's own pairs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from ..methods import PAIRS
from ..methods.pair import Pair
from ..methods.rodas5p import RODAS5P, Rosenbrock
from ..methods.taylor import Taylor
from ..plan.plan import Program
from .c_text import c_string
from .render import provenance, render
from .taylor import taylor_text

MADE = " * Made from codegen/methods by `python -m chaplygin.generated --update`."

_TIE = "\u00a0"  # a space where no line breaks
_ADDED = 12
"""The most products that a macro CG_PLUS_n of cg_pair.h adds to a sum."""
_SHORT = 4
"""The most products in a macro CG_SHORT_n."""


def runtime_headers() -> dict[str, str]:
    """{file name: text} of the headers in `runtime/c/methods` that are made from `codegen/methods`."""
    texts = {f"cg_{name}.h": _pair_text(pair, f"cg_{name}.h", MADE) for name, pair in PAIRS.items()}
    few = [pair for pair in PAIRS.values() if pair.inlined]
    values = {
        "made": MADE,
        "includes": "\n".join(['#include "cg_rk4.h"', *map(_include, PAIRS.values())]),
        "fixed": "METHOD(rk4)",
        "few": _listed(few),
        "all": _listed(PAIRS.values()),
    }
    texts["cg_method_list.h"] = render("method_list.h.in", values)
    texts["cg_tableaus.h"] = _tableaus()
    return {**texts, f"cg_{RODAS5P.name}_tableau.h": _rosenbrock_text(RODAS5P)}


def own_methods(program: Program, command: str) -> dict[str, str]:
    """`<name>_methods.h`, which the core and the lane file of a model that brings methods include."""
    if not program.methods:
        return {}
    made = provenance("pair.h.in", program.digest, command, " * ")
    texts = [
        _pair_text(method, "A method of this model", " *")
        if isinstance(method, Pair)
        else taylor_text(program, _source(method.source))
        for method in program.methods
    ]
    lines = [f"/*\n{made}\n */", *texts, f"#define CG_MODEL_METHOD_LIST(METHOD) {_listed(program.methods)}\n"]
    return {f"{program.name}_methods.h": "\n".join(lines)}


def _listed(methods: Iterable[Pair | Taylor]) -> str:
    return " ".join(f"METHOD({method.name})" for method in methods)


def _include(pair: Pair) -> str:
    line = f'#include "cg_{pair.name}.h"'
    return line if pair.inlined else f"#ifndef CG_FEW_METHODS\n{line}\n#endif"


def _pair_text(pair: Pair, title: str, made: str) -> str:
    """The C functions of a pair, with its coefficients in them; cg_pair.h has the macros."""
    name, rows, end = pair.name, pair.rows, len(pair.c)
    estimates = {
        f"{name}_estimate{order}": pair.padded(row) for order, row in sorted(pair.error.items())[::-1]
    }
    uses_end = any(row[end] != 0.0 for row in estimates.values())
    return render(
        "pair.h.in",
        {
            "title": title,
            "name": name,
            "upper": name.upper(),
            "summary": pair.summary,
            "quoted_summary": c_string(pair.summary),
            "source": f"{made}\n{_source(pair.source)}",
            "rows": str(len(rows)),
            "dense_rows": str(4 + len(pair.dense)),
            "order": str(pair.order),
            "trial": _trial(pair),
            "last": _last(pair) if pair.border else "",
            "estimates": "\n".join(_weighted(label, row, end) for label, row in estimates.items()),
            "norm": "pair_error" if len(estimates) == 1 else "pair_error_of_two",
            "passed": ", ".join(f"CG_FN({label})" for label in estimates),
            "control": ", ".join([*map(repr, pair.step_control), str(int(uses_end))]),
            "bend": _bend(pair),
            "dense": _dense(pair),
        },
    )  # fmt: skip


def _source(text: str) -> str:
    return textwrap.fill(f"Source: {text}", 118, initial_indent=" * ", subsequent_indent=" * ")


def _folded(text: str) -> str:
    """A statement on as many lines as it needs, broken between the terms of a sum, which contain no plain spaces."""
    lines = textwrap.fill(
        text, 118, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False
    )
    return lines.replace(_TIE, " ")


def _sum(terms: Iterable[tuple[float, str]]) -> str:
    """A weighted sum from the left in multiply-adds, without the terms of weight 0."""
    kept = [(repr(weight), variable) for weight, variable in terms if weight != 0.0]
    if not kept:
        return "cg_splat(0.0)"
    (weight, variable), *rest = kept
    text = f"{weight} * {variable}".replace(" ", _TIE)
    for chunk in (rest[i : i + _ADDED] for i in range(0, len(rest), _ADDED)):
        added = "".join(f", {weight},{_TIE}{variable.replace(' ', _TIE)}" for weight, variable in chunk)
        text = f"CG_PLUS_{len(chunk)}({text}{added})"
    return text


def _split(row: Sequence[float]) -> str:
    """The sum of a stage's state without its last term, the weight of that, and its stage."""
    last = max((j for j, weight in enumerate(row) if weight != 0.0), default=0)
    older = _sum((weight, f"k{j}[i]") for j, weight in enumerate(row[:last]))
    return f"{older}, {row[last]!r}, {last}"


def _trial(pair: Pair) -> str:
    """The stages of a trial step; those that the error estimate, the interpolant or the search for stiffness reads are
    rows of `k`."""
    end = len(pair.c)
    later = [
        *pair.error.values(),
        *pair.dense,
        *pair.rows[end + 1 :],
        *([pair.rows[end - 1]] * bool(pair.border)),
    ]
    kept = {j for row in later for j, weight in enumerate(row) if weight != 0.0}
    places = (f"CG_STAGE_{'ROW' if j in kept else 'PASSING'}({j})" for j in range(1, end))
    last = f"CG_STAGE_END({_split(pair.rows[end])})"
    return "\n".join([_folded(" ".join(places)), *_stages(pair, 1, end), _folded(last)])


def _stages(pair: Pair, first: int, last: int) -> list[str]:
    return [_folded(_stage(s, pair.nodes[s], pair.rows[s])) for s in range(first, last)]


def _stage(s: int, node: float, row: Sequence[float]) -> str:
    used = [(j, weight) for j, weight in enumerate(row) if weight != 0.0]
    if len(used) > _SHORT:
        return f"CG_STAGE({s}, {node!r}, {_split(row)})"
    terms = f",{_TIE}".join(f"{weight!r},{_TIE}k{j}[i]" for j, weight in used)
    return f"CG_STAGE_SHORT({s}, {node!r}, CG_SHORT_{len(used)}({terms}))".replace(f",{_TIE}", ", ")


def _stored(j: int, end: int) -> str:
    """Component (or block) i of stage j in the arguments of a weighted sum."""
    return "k0[i]" if j == 0 else "end[i]" if j == end else f"k[{j} * ld + i]".replace(" ", _TIE)


def _weighted(label: str, row: Sequence[float], end: int) -> str:
    terms = ((weight, _stored(j, end)) for j, weight in enumerate(row))
    return _function(f"CG_WEIGHTED({label})", _folded(f"return {_sum(terms)};"))


def _function(head: str, body: str) -> str:
    return f"{head}\n{{\n    CG_NOT_ALL_STAGES\n{body}\n}}\n"


def _last(pair: Pair) -> str:
    """What the method "auto" needs to detect stiffness."""
    upper, end = pair.name.upper(), len(pair.c)
    return (
        f"#define CG_{upper}_BORDER {pair.border!r} /* stability limit on the negative real axis */\n"
        f"#define CG_{upper}_LAST {end - 1} /* stage */\n\n/* The slope that leads to it. */\n"
        + _weighted(f"{pair.name}_last", pair.rows[end - 1], end)
        + "\n"
    )


def _bend(pair: Pair) -> str:
    """The weights of the interpolant, of the stages that have any, and the function that sums a row of it."""
    rows = [pair.padded(row) for row in pair.dense]
    if not rows:
        return ""
    used = [j for j in range(len(pair.rows)) if any(row[j] != 0.0 for row in rows)]
    table = "\n".join(_folded(f"{{{', '.join(repr(row[j]) for j in used)}}},") for row in rows)
    first, *others = (_stored(j, len(pair.c)) for j in used)
    lines = [f"    cg_block_t sum = d[0] * {first};"]
    lines += [
        f"    sum = cg_block_plus(sum, cg_splat(d[{m}]), {stage});" for m, stage in enumerate(others, start=1)
    ]
    return (
        f"static const double CG_FN({pair.name}_d)[{len(rows)}][{len(used)}] = {{\n{table}\n}};\n\n"
        + _function(f"CG_BEND({pair.name}_bend)", "\n".join([*lines, "    return sum;"]).replace(_TIE, " "))
        + "\n"
    )


def _tableaus() -> str:
    """The coefficients of all explicit methods as arrays, for loops over the stages of any of them."""
    found = {name: (pair.a, pair.b, pair.c) for name, pair in PAIRS.items()}
    found["rk4"] = (((), (1 / 2,), (0, 1 / 2), (0, 0, 1)), (1 / 6, 1 / 3, 1 / 3, 1 / 6), (0, 1 / 2, 1 / 2, 1))
    text = f"/* cg_tableaus.h: the explicit Runge-Kutta methods as numbers; included by cg_adjoint.c.\n{MADE}\n */\n"
    rows = []
    for name, (a, b, c) in found.items():
        count = len(c)
        arrays = {"a": [value for row in a for value in _filled(row, count)], "b": _filled(b, count), "c": c}
        for array, values in arrays.items():
            numbers = _folded(", ".join(repr(float(value)) for value in values))
            text += f"\nstatic const double cg_{name}_{array}[] = {{\n{numbers}\n}};\n"
        rows.append(f'    {{"{name}", {count}, cg_{name}_a, cg_{name}_b, cg_{name}_c}},\n')
    table = "".join([*rows, "    {NULL, 0, NULL, NULL, NULL},\n"])
    return f"{text}\nstatic const cg_tableau_t cg_tableaus[] = {{\n{table}}};\n"


def _filled(row: Sequence[float], count: int) -> list[float]:
    return [*row, *[0.0] * (count - len(row))]


def _rosenbrock_text(method: Rosenbrock) -> str:
    """The coefficients of a Rosenbrock method as arrays."""
    tables = {
        "c": [method.padded(method.c)],
        "d": [method.padded(method.d)],
        "a": method.rows,
        "C": [method.padded(row) for row in method.coupling],
        "h": [method.padded(row) for row in method.dense],
    }
    upper = method.name.upper()
    text = (
        f"/* cg_{method.name}_tableau.h: the coefficients of {method.name}; included by cg_{method.name}.h.\n"
        f"{MADE}\n{_source(method.source)}\n */\n"
        f"#define CG_{upper}_STAGES {len(method.c)}\n#define CG_{upper}_DENSE {2 + len(method.dense)}\n"
        f"#define CG_{upper}_CONTROL {{{', '.join(map(repr, method.control))}, 0}}\n\n"
        f"static const double cg_{method.name}_gamma = {method.gamma!r};\n"
    )
    for name, rows in tables.items():
        size = f"[{len(rows)}]" * (len(rows) > 1) + f"[{len(method.c)}]"
        lines = [_folded(f"{{{', '.join(map(repr, row))}}},") for row in rows]
        entries = _folded(", ".join(map(repr, rows[0]))) if len(rows) == 1 else "\n".join(lines)
        text += f"\nstatic const double cg_{method.name}_{name}{size} = {{\n{entries}\n}};\n"
    return text


def _dense(pair: Pair) -> str:
    """The statements of `dense`: the stages of the interpolant, then its coefficients."""
    end, rows = len(pair.c), pair.rows
    lines = []
    if pair.extra:
        used = {j for row in rows[end + 1 :] for j in range(1, end) if row[j] != 0.0}
        kept = [*sorted(used), *range(end + 1, len(rows))]
        lines = [f"    CG_EXTRA_BEGIN({end})", _folded(" ".join(f"CG_STAGE_ROW({j})" for j in kept))]
        lines += _stages(pair, end + 1, len(rows))
    table = f"CG_FN({pair.name}_d)"
    given = "NULL, 0, 0, NULL"
    if pair.dense:
        given = f"{table}[0], {len(pair.dense)}, CG_COLUMNS({table}), CG_FN({pair.name}_bend)"
    return "\n".join([*lines, f"    CG_FN(pair_coefficients)(run, {given});"])
