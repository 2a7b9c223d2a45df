"""The series of Taylor's method in C: one loop over the order, in which each node has one statement.

`cg_series.h` has the product of two series, without the terms that contain a value: those are written out here.
"""

from __future__ import annotations

from ..graph.graph import CONDITIONS, RELATIONS, Node
from ..lower.program import Program
from ..lower.schedule import variable_names
from ..lower.taylor import SeriesProgram, series_program
from ..methods.taylor import TAYLOR
from .c_text import c_string
from .expressions import LANES, condition, value_text
from .render import render


def taylor_text(program: Program, source: str) -> str:
    """The C functions of Taylor's method for a program, for one trajectory and for lanes; `source` is quoted.

    Raises EmitError for a function without a derivative.
    """
    text = _SeriesText(program, series_program(program))
    rates = text.series.rates
    coefficients = text.coefficients()  # they say what is stored
    parts = {
        "values": text.values(),
        "storage": text.storage(),
        "states": [f"cg_real_t x{i};" for i in range(len(rates))],
        "first": [f"row[{i}] = x{i} = {text.value(rate)};" for i, rate in enumerate(rates)],
        "coefficients": coefficients,
        "kept": text.kept(),
        "next": [
            f"row[{i}] = x{i} = {text.coefficient(rate)} * cg_taylor_inverse[k + 1];"
            for i, rate in enumerate(rates)
        ],
    }
    inner = ("coefficients", "kept", "next")
    return render(
        "taylor.h.in",
        {
            "source": source,
            "summary": c_string(TAYLOR.summary),
            "products": str(len(text.products)),
            "stored": str(max(1, len(text.stored))),
            "n_states": str(len(rates)),
            **{
                k: "\n".join("    " * (2 if k in inner else 1) + v for v in lines)
                for k, lines in parts.items()
            },
        },
    )


class _SeriesText:
    """Statements for values v, coefficients s of the order k, stored series S and unfinished sums c of products."""

    def __init__(self, program: Program, series: SeriesProgram) -> None:
        self.program, self.series, self.graph = program, series, series.graph
        self.symbols = variable_names(program, program.kernels["rhs"])
        g = series.graph
        numbers = {node: i for i, node in enumerate(series.nodes)}
        self.number = numbers
        self.names = {
            n: f"v{i}" for n, i in numbers.items() if g.op[n] not in ("const", "named", "bool", *CONDITIONS)
        }
        self.stored: dict[str, int] = {}
        """The names of stored coefficients, mapped to the numbers of their series."""
        self.products: list[tuple[str, str]] = []
        self.divisors: list[str] = []

    def value(self, node: Node) -> str:
        return value_text(self.graph, node, self.names, False, LANES)

    def coefficient(self, node: Node) -> str:
        return f"s{self.number[node]}" if node in self.series.moving else LANES.splat.format("0.0")

    def values(self) -> list[str]:
        """The values of all nodes at the start of the step."""
        g, lines = self.graph, []
        sines = {g.args[n]: n for n in self.names if g.op[n] == "sin"}
        both = {n: sines[g.args[n]] for n in self.names if g.op[n] == "cos" and g.args[n] in sines}
        both |= {sine: sine for sine in both.values()}
        done: set[Node] = set()
        for node, name in self.names.items():
            if node in both:
                sine = both[node]
                if sine not in done:
                    done.add(sine)
                    cosine = next(n for n in both if both[n] == sine != n)
                    angle = self.value(g.args[sine][0])
                    at = f"&{self.names[sine]}, &{self.names[cosine]}"
                    lines.append(
                        f"cg_real_t {self.names[sine]}, {self.names[cosine]}; cg_sincos({angle}, {at});"
                    )
                continue
            if node in self.series.given:
                text = f"CG_REALS(run->p)[{len(self.program.parameters) + self.series.given[node]}]"
            elif g.op[node] == "symbol":
                _, array, index = self.symbols[str(g.value[node])]
                clock = "cg_time_of_model(run, CG_T(run))"
                text = clock if array == "t" else f"CG_REALS(run->{array})[{index}]"
            else:
                text = value_text(g, node, self.names, True, LANES)
            lines.append(f"const cg_real_t {name} = {text};")
        for node in self.series.nodes:
            if g.op[node] in RELATIONS:
                kind = "cg_mask_t" if node in self.series.moving else "const cg_mask_t"
                lines.append(f"{kind} m{self.number[node]} = {condition(g, node, self.names, LANES)};")
        return lines

    def storage(self) -> list[str]:
        series = [f"CG_SERIES({_stored(i)}, {i})" for i in self.stored.values()]
        return [*self.divisors, *series, *(f"CG_SUM(c{i})" for i in range(len(self.products)))]

    def kept(self) -> list[str]:
        """The statements that make the coefficients of order k known to the products."""
        products = [
            f"CG_PRODUCT(c{i}, {self.series_of(a)}, {self.series_of(b)}, {a}, {b})"
            for i, (a, b) in enumerate(self.products)
        ]
        return [*products, *(f"CG_KEEP({_stored(i)}, {name})" for name, i in self.stored.items())]

    def series_of(self, coefficient: str) -> str:
        return _stored(self.stored.setdefault(coefficient, len(self.stored)))

    def inner(self, a: str, b: str) -> str:
        """The terms of a product of two series that contain no value."""
        if (a, b) not in self.products:
            self.products.append((a, b))
        i = self.products.index((a, b))
        return f"CG_INNER(c{i}, {self.series_of(a)}, {self.series_of(b)})"

    def coefficients(self) -> list[str]:
        g, lines = self.graph, []
        weighted: set[Node] = set()
        for node in (n for n in self.series.nodes if n in self.series.moving):
            if g.op[node] in CONDITIONS:
                lines += self._ahead(node)
                continue
            for a in self._weighted(node):
                if a not in weighted:
                    weighted.add(a)
                    i = self.number[a]
                    lines.append(f"const cg_real_t w{i} = (double)k * s{i};")
            lines.append(f"const cg_real_t s{self.number[node]} = {self._text(node)};")
        return lines

    def _weighted(self, node: Node) -> list[Node]:
        """The arguments of a function whose coefficients are needed times k."""
        slopes = self.series.slopes.get(node, ())
        pairs = zip(self.graph.args[node], slopes)
        return [a for a, (_, d) in pairs if a in self.series.moving and d in self.series.moving]

    def _text(self, node: Node) -> str:
        op, args = self.graph.op[node], self.graph.args[node]
        if op == "symbol":
            return self._of_symbol(node)
        if op in ("add", "sub", "neg"):
            return self._sum(op, args)
        if op == "mul":
            return self._product(*args)
        if op == "div":
            return self._quotient(node, *args)
        if op == "sqrt":
            s = self.coefficient(node)
            self._divide(node, f"0.5 / {self.value(node)}")
            return f"({self.coefficient(args[0])} - {self.inner(s, s)}) * r{self.number[node]}"
        if op == "select":
            return f"cg_where({self._mask(args[0])}, {', '.join(map(self.coefficient, args[1:]))})"
        if op == "sign":
            return LANES.splat.format("0.0")
        return self._function(node)

    def _of_symbol(self, node: Node) -> str:
        _, array, index = self.symbols[str(self.graph.value[node])]
        if array == "x":
            return f"x{index}"
        slope = LANES.splat.format("1.0") if array == "t" else f"CG_FN(taylor_slope)(run, {index})"
        return f"k == 1 ? {slope} : {LANES.splat.format('0.0')}"

    def _sum(self, op: str, args: tuple[Node, ...]) -> str:
        moving = [a in self.series.moving for a in args]
        if all(moving) and op != "neg":
            a, b = map(self.coefficient, args)
            return f"{a} {'+' if op == 'add' else '-'} {b}"
        last = self.coefficient(args[moving.index(True)])
        return last if op == "add" or (op == "sub" and moving[0]) else f"-{last}"

    def _product(self, a: Node, b: Node) -> str:
        ak, bk = self.coefficient(a), self.coefficient(b)
        a0, b0 = self.value(a), self.value(b)
        if a not in self.series.moving:
            return f"{a0} * {bk}"
        if b not in self.series.moving:
            return f"{b0} * {ak}"
        return f"{self.inner(ak, bk)} + ({ak} * {b0} + {bk} * {a0})"

    def _quotient(self, node: Node, a: Node, b: Node) -> str:
        self._divide(node, f"1.0 / {self.value(b)}")
        by = f"r{self.number[node]}"
        if b not in self.series.moving:
            return f"{self.coefficient(a)} * {by}"
        bk = self.coefficient(b)
        known = f"({self.inner(bk, self.coefficient(node))} + {bk} * {self.value(node)})"
        return f"({self.coefficient(a)} - {known}) * {by}" if a in self.series.moving else f"-{known} * {by}"

    def _divide(self, node: Node, text: str) -> None:
        self.divisors.append(f"const cg_real_t r{self.number[node]} = {text};")

    def _function(self, node: Node) -> str:
        weighted = self._weighted(node)
        products, plain = "", ""
        for a, (sign, d) in zip(self.graph.args[node], self.series.slopes[node], strict=True):
            mark = "-" if sign < 0 else "+"
            if a in weighted:
                w = f"w{self.number[a]}"
                products += f" {mark} ({self.inner(w, self.coefficient(d))} + {w} * {self.value(d)})"
            elif a in self.series.moving:
                plain += f" {mark} {self.coefficient(a)} * {self.value(d)}"
        if products:
            plain += f" + ({products.removeprefix(' + ').strip()}) * cg_taylor_inverse[k]"
        return plain.removeprefix(" + ").strip()

    def _mask(self, node: Node) -> str:
        op = self.graph.op[node]
        if op in RELATIONS:
            return f"m{self.number[node]}"
        parts = map(self._mask, self.graph.args[node])
        return f"({(LANES.both if op == 'and' else LANES.either).join(parts)})"

    def _ahead(self, node: Node) -> list[str]:
        """Where a relation compares equal values, the slopes say what holds in the step."""
        op, m = self.graph.op[node], f"m{self.number[node]}"
        if op not in RELATIONS:
            return []
        values, slopes = (map(f, self.graph.args[node]) for f in (self.value, self.coefficient))
        return [f"{m} = k == 1 ? cg_{op}_ahead({m}, {', '.join([*values, *slopes])}, run->direction) : {m};"]


def _stored(i: int) -> str:
    return f"S{i}"
