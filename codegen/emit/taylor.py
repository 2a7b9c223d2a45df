"""The series of Taylor's method in C: one loop over the order, in which each node has one statement.

`cg_series.h` has the loop that adds the inner terms of all products, for one trajectory; that for lanes is written
here, with as many sums at a time as there are registers for.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..graph.graph import CONDITIONS, RELATIONS, Node
from ..methods.taylor import TAYLOR
from ..plan.language import condition
from ..plan.plan import Program
from ..plan.power_series import SeriesProgram, series_program
from ..plan.write_statements import variable_names
from .c_text import c_string
from .node_text import LANES, value_text
from .render import render

_AT_ONCE = 12
"""Sums that lanes add in one loop."""


def taylor_text(program: Program, source: str) -> str:
    """The C functions of Taylor's method for a program, for one trajectory and for lanes; `source` is quoted.

    Raises EmitError for a function without a derivative.
    """
    text = _SeriesText(program, series_program(program))
    series = text.series
    outer = {
        "values": text.values(),
        "carried": text.carried(),
        "first": text.rows(text.rates, ""),
    }
    inner = {
        "sums": text.sums(),
        "given": text.given(),
        "coefficients": text.coefficients(),
        "kept": [f"S{i}[k] = {name};" for i, name in enumerate(text.stored)],
        "factors": text.factors(),
        "next": text.next(),
        "rows": text.rows(text.slopes, " * next"),
    }
    return render(
        "taylor.h.in",
        {
            "source": source,
            "summary": c_string(TAYLOR.summary),
            "products": str(len(series.products)),
            "series": str(series.n_stored),
            "n_states": str(len(text.rates)),
            **{key: "\n".join("    " + line for line in lines) for key, lines in outer.items()},
            **{key: "\n".join("        " + line for line in lines) for key, lines in inner.items()},
        },
    )


class _SeriesText:
    """Statements for values v, coefficients s of the order k, stored series S and the sums c of products."""

    def __init__(self, program: Program, series: SeriesProgram) -> None:
        self.program, self.series, self.graph = program, series, series.graph
        self.symbols = variable_names(program, program.kernels["rhs"])
        n_states = len(series.start.outputs) - len(series.values)
        g = self.graph
        given = g.reachable(series.start.outputs, stop=series.given)
        plain = ("const", "named", "bool", *CONDITIONS)
        self.start = [n for n in given if g.op[n] not in plain]
        self.names = {n: f"v{i}" for i, n in enumerate(self.start)}
        made = series.start.outputs[n_states:]
        self.names |= {old: self.names[new] for old, new in zip(series.values, made, strict=True)}
        order = g.reachable(series.recurrence.outputs, stop=self.names)
        self.order = [n for n in order if n not in self.names and g.op[n] not in (*plain, "symbol")]
        self.names |= {**series.symbols, **{n: f"s{i}" for i, n in enumerate(self.order)}}
        self.rates = [self.of(n) for n in series.start.outputs[:n_states]]
        self.slopes = [self.of(n) for n in series.recurrence.outputs[:n_states]]
        self.stored = [self.of(n) for n in series.recurrence.outputs[n_states:]]
        used, numbers = set(series.symbols.values()), range(series.n_stored)
        self.ends = {name: [i for i in numbers if f"{name}{i}" in used] for name in "pl"}
        self.ends["o"] = [i for i in numbers if f"o{i}" in used or f"l{i}" in used]
        """The stored series whose newest coefficient, first one, or first one from order 3 on is needed."""
        self.carried_rates = [i for i in range(n_states) if f"r{i}" in series.symbols.values()]

    def of(self, node: Node) -> str:
        return value_text(self.graph, node, self.names, False, LANES)

    def values(self) -> list[str]:
        """The values of all nodes at the start of the step, and what holds there."""
        g, lines = self.graph, []
        pairs: dict[tuple[Node, ...], dict[str, Node]] = {}
        for node in self.start:
            if g.op[node] in ("sin", "cos"):
                pairs.setdefault(g.args[node], {})[g.op[node]] = node
        for node in self.start:
            pair = pairs.get(g.args[node], {})
            if len(pair) < 2 or node not in pair.values():
                lines.append(f"const cg_real_t {self.names[node]} = {self._value(node)};")
            elif node == min(pair.values()):
                sine, cosine, angle = (self.of(n) for n in (pair["sin"], pair["cos"], g.args[node][0]))
                lines.append(f"cg_real_t {sine}, {cosine}; cg_sincos({angle}, &{sine}, &{cosine});")
        lines += [
            f"{'cg_mask_t' if n in self.series.moving else 'const cg_mask_t'} m{n} = "
            f"{condition(g, n, self.names, LANES)};"
            for n in self.relations()
        ]
        return lines

    def relations(self) -> list[Node]:
        """The comparisons that choose branches of series."""
        conditions = [self.graph.args[n][0] for n in self.order if self.graph.op[n] == "select"]
        return [n for n in self.graph.reachable(conditions) if self.graph.op[n] in RELATIONS]

    def _value(self, node: Node) -> str:
        if node in self.series.given:
            return f"CG_REALS(run->p)[{len(self.program.parameters) + self.series.given[node]}]"
        if self.graph.op[node] == "symbol":
            _, array, index = self.symbols[str(self.graph.value[node])]
            clock = "cg_time_of_model(run, CG_T(run))"
            return clock if array == "t" else f"CG_REALS(run->{array})[{index}]"
        return value_text(self.graph, node, self.names, True, LANES)

    def carried(self) -> list[str]:
        """What one order leaves to the next."""
        zero = LANES.splat.format("0.0")
        lines = [f"CG_SERIES(S{i}, {i})" for i in range(len(self.stored))]
        lines += [f"cg_real_t {name}{i} = {zero};" for name in "pol" for i in self.ends[name]]
        lines += [f"cg_real_t x{i};" for i in range(len(self.rates))]
        return [*lines, *(f"cg_real_t r{i} = {self.rates[i]};" for i in self.carried_rates)]

    def rows(self, texts: Iterable[str], factor: str) -> list[str]:
        return [f"row[{i}] = x{i} = {text}{factor};" for i, text in enumerate(texts)]

    def sums(self) -> list[str]:
        """The inner terms of all products of lanes."""
        products, lines = self.series.products, []
        for begin in range(0, len(products), _AT_ONCE):
            some = list(enumerate(products))[begin : begin + _AT_ONCE]
            lines.append("{")
            lines += [f"    CG_MIDDLE(c{i}, S{a}, S{b})" for i, (a, b) in some]
            lines.append("    for (int i = k / 2 + 1; i < k - 1; i++) {")
            lines += [f"        CG_PAIR(c{i}, S{a}, S{b})" for i, (a, b) in some]
            lines += ["    }", *(f"    c[{i}] = c{i};" for i, _ in some), "}"]
        return lines

    def given(self) -> list[str]:
        """What depends on the order alone."""
        zero, one, lines = LANES.splat.format("0.0"), LANES.splat.format("1.0"), []
        for text in self.series.symbols.values():
            if text == "index":
                lines.append("const cg_real_t index = cg_splat((double)k);")
            elif text == "inverse":
                lines.append("const cg_real_t inverse = cg_splat(cg_taylor_inverse[k]);")
            elif text == "clock":
                lines.append(f"const cg_real_t clock = k == 1 ? {one} : {zero};")
            elif text[0] == "u":
                lines.append(f"const cg_real_t {text} = CG_FN(taylor_input)(run, {text[1:]}, k);")
        return lines

    def coefficients(self) -> list[str]:
        g, lines = self.graph, []
        ahead: set[Node] = set()
        for node in self.order:
            if g.op[node] == "select":
                relations = [n for n in g.reachable(g.args[node][:1]) if g.op[n] in RELATIONS]
                slopes = iter(map(self.of, g.args[node][3:]))
                for n, pair in zip(relations, zip(slopes, slopes, strict=True), strict=True):
                    if n not in ahead and n in self.series.moving:
                        ahead.add(n)
                        lines.append(self._ahead(n, pair))
                yes, no = map(self.of, g.args[node][1:3])
                text = f"cg_where({self._mask(g.args[node][0])}, {yes}, {no})"
            else:
                text = value_text(g, node, self.names, True, LANES)
            lines.append(f"const cg_real_t {self.names[node]} = {text};")
        return lines

    def _mask(self, node: Node) -> str:
        op = self.graph.op[node]
        if op in RELATIONS:
            return f"m{node}"
        parts = map(self._mask, self.graph.args[node])
        return f"({(LANES.both if op == 'and' else LANES.either).join(parts)})"

    def _ahead(self, node: Node, slopes: tuple[str, str]) -> str:
        """Where a relation compares equal values, the slopes say what holds in the step."""
        texts = [f"m{node}", *map(self.of, self.graph.args[node]), *slopes]
        return f"m{node} = k == 1 ? cg_{self.graph.op[node]}_ahead({', '.join(texts)}, run->direction) : m{node};"

    def factors(self) -> list[str]:
        """The factors of all products, for one trajectory."""
        pairs = [(self.stored[a], self.stored[b]) for a, b in self.series.products]
        return [f"CG_FACTORS({i}, {a}, {b})" for i, (a, b) in enumerate(pairs)]

    def next(self) -> list[str]:
        """What the next order has of this one."""
        lines = [f"p{i} = {self.stored[i]};" for i in self.ends["p"]]
        if lines:
            lines.append("if (k == 2) { " + " ".join(f"l{i} = o{i};" for i in self.ends["l"]) + " }")
            lines.append(
                "if (k == 1) { " + " ".join(f"o{i} = {self.stored[i]};" for i in self.ends["o"]) + " }"
            )
        return [*lines, *(f"r{i} = {self.slopes[i]};" for i in self.carried_rates)]
