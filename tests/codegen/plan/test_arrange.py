"""Kernels in fewer operations: the same values, no larger rounding errors, and parameter expressions hoisted."""

from __future__ import annotations

import gc
import hashlib
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from branched_pendulums import comb
from dense_chain import dense_chain
from mpmath import mp, mpf
from processes import python
from small_systems import SMALL

import chaplygin as cg
from chaplygin.codegen.emit.targets import emit
from chaplygin.codegen.graph.evaluate import evaluate, evaluate_with_scale
from chaplygin.codegen.graph.graph import Graph, Node
from chaplygin.codegen.lower.lower import lower
from chaplygin.codegen.lower.lowered import Kernel, Lowered
from chaplygin.codegen.lower.options import LoweringOptions
from chaplygin.codegen.plan import factor, terms
from chaplygin.codegen.plan.arrange import _ArrangementSearch, arranged
from chaplygin.codegen.plan.part import count
from chaplygin.codegen.plan.plan import Program, plan
from chaplygin.codegen.plan.statements import Load, assigned
from chaplygin.runtime.interface.description import Variable

CATALOGUE = [
    *((name, {}, form) for name in SMALL for form in cg.example(name).forms),
    ("n_link_pendulum", {"n": 14}, "lagrange"),
    ("rolling_ring", {"tilt": True}, "nonholonomic"),
    ("lagrange_top", {"angles": True}, "routh"),
]


PLAIN = LoweringOptions(budget=0)
"""Kernels as derived."""


@cache
def programs(case: int) -> tuple[Program, Program]:
    """A system's kernels as derived and as rearranged, on one graph."""
    name, options, form = CATALOGUE[case]
    eqs = cg.example(name, **options).system.equations(form)
    program = lower(eqs.nodes)
    return plan(program, PLAIN), plan(program)


def case(i: int) -> Any:
    """A test case; only the first form of a system is in the quick tests."""
    name, options, form = CATALOGUE[i]
    first = bool(options) or form == cg.example(name).forms[0]
    return pytest.param(i, id=f"{name}-{form}", marks=() if first else pytest.mark.slow)


@pytest.fixture(params=[case(i) for i in range(len(CATALOGUE))])
def pair(request: pytest.FixtureRequest) -> tuple[Program, Program]:
    return programs(request.param)


def values_of(kernel: Kernel) -> list[Node]:
    return [n for s in kernel.solves for n in (*s.matrix, *s.rhs)] + list(kernel.outputs)


def points(program: Lowered, kernel: Kernel, count: int) -> list[dict[str, Any]]:
    """Random points of both signs, with positive parameters, at which a kernel is defined."""
    draw = random.Random(11)
    names = sorted(program.graph.symbols(kernel.roots()))
    positive = {p.name for p in program.parameters}
    found: list[dict[str, Any]] = []
    for _ in range(20 * count):
        point = {s: draw.uniform(0.3, 1.4) * (1 if s in positive else draw.choice((-1, 1))) for s in names}
        try:
            evaluate(program.graph, values_of(kernel), point)
        except (ArithmeticError, ValueError):
            continue
        found.append(point)
        if len(found) == count:
            break
    assert found
    return found


# ---- the catalogue ----


@pytest.mark.sample(2)
def test_values_are_the_same(pair: tuple[Program, Program]) -> None:
    plain, short = pair
    with mp.workdps(45):
        for name, kernel in plain.kernels.items():
            for point in points(plain, kernel, 2):
                precise = {s: mpf(v) for s, v in point.items()}
                ours = evaluate(plain.graph, values_of(short.kernels[name]), precise, precise=True)
                theirs = evaluate_with_scale(plain.graph, values_of(kernel), precise, precise=True)
                for a, (b, scale) in zip(ours, theirs, strict=True):
                    assert abs(a - b) <= mpf("1e-33") * (1 + scale)


@pytest.mark.sample(1)
def test_rounding_errors_keep_their_size(pair: tuple[Program, Program]) -> None:
    """The errors stay within the bound given by the terms of the kernel as derived."""
    plain, short = pair
    for name, kernel in plain.kernels.items():
        for point in points(plain, kernel, 5):
            ours = evaluate(plain.graph, values_of(short.kernels[name]), point)
            theirs = evaluate_with_scale(plain.graph, values_of(kernel), point)
            with mp.workdps(40):
                precise = {s: mpf(v) for s, v in point.items()}
                exact = evaluate(plain.graph, values_of(kernel), precise, precise=True)
            for a, (_, scale), true in zip(ours, theirs, exact, strict=True):
                assert abs(a - true) <= 2.0**-52 * scale + 1e-300  # two roundings of the largest terms


@pytest.mark.sample(8)
def test_no_kernel_has_more_operations(pair: tuple[Program, Program]) -> None:
    """A division counts as four operations."""
    plain, short = pair
    for name in plain.kernels:
        before, after = plain.schedule(name), short.schedule(name)
        assert after.operations + 3 * after.divisions <= before.operations + 3 * before.divisions
    assert short.operations("rhs") <= plain.operations("rhs")
    assert short.schedule("rhs").divisions <= plain.schedule("rhs").divisions


@pytest.mark.sample(8)
def test_what_is_hoisted_is_all_that_depends_on_parameters_alone(pair: tuple[Program, Program]) -> None:
    _, program = pair
    g, found = program.graph, program.schedule("rhs")
    parameters = {p.name for p in program.parameters}
    read = [s.index for s in found.statements if isinstance(s, Load) and s.array == "q"]
    assert sorted(read) == list(range(found.hoisted))
    if found.hoist is not None:
        assert g.symbols(found.hoist.kernel.roots()) <= parameters
        assert {s.array for s in found.hoist.statements if isinstance(s, Load)} <= {"p"}
    for s in found.statements:
        for part in assigned(s):
            below = g.symbols([part.node])
            assert not below or not below <= parameters, part.name


@pytest.mark.slow
def test_text_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "import chaplygin as cg; from chaplygin.codegen.emit.targets import emit; import hashlib;"
        "print([hashlib.sha256(repr(emit(cg.example(n).system.equations(f).program).files).encode()).hexdigest()"
        "for n, f in (('heavy_top', 'chetaev'), ('roller_racer', 'maggi'), ('rolling_disk', 'multipliers'))])"
    )
    assert len({python(code, env={"PYTHONHASHSEED": seed}) for seed in ("1", "77")}) == 1


def test_the_same_graph_gives_the_same_text_again() -> None:
    eqs = cg.example("heavy_top").system.equations("poincare")
    first = {hashlib.sha256(repr(emit(plan(lower(eqs.nodes))).files).encode()).hexdigest() for _ in range(3)}
    assert len(first) == 1


# ---- counts reached by hand ----


@pytest.mark.parametrize(
    ("name", "form", "operations", "divisions"),
    [
        # 3 halvings, 20 for q', 11 for the vertical, w w', and 5 for each of the three equations
        ("heavy_top", "poincare", 54, 0),
        ("euler_rigid_body", "poincare", 29, 0),
        ("chaplygin_sleigh", "maggi", 12, 0),
        ("harmonic_oscillator", "lagrange", 1, 0),
        ("rolling_disk", "nonholonomic", 21, 1),
        ("n_link_pendulum", "lagrange", 89, 3),
    ],
)
@pytest.mark.sample(4)
def test_operations_of_well_known_systems(name: str, form: str, operations: int, divisions: int) -> None:
    counts = cg.example(name).system.equations(form).operations
    assert counts["rhs"] <= operations
    assert counts["divisions"] <= divisions
    assert counts["rhs"] + counts["hoisted"] > counts["divisions"]


# ---- single rules ----


def arrange_here(build: Callable[..., Any], *, before: str = "", names: str = "x y z u v w a b c d") -> Any:
    """Rearrange the kernel that `build` makes from the symbols; returns (graph, before, after)."""
    g = Graph()
    symbols = {s: g.symbol(s) for s in names.split()}
    made = build(g, symbols)
    outputs, pivots = made if isinstance(made[0], tuple | list) else (made, ())
    fixed = tuple(symbols[s] for s in before.split())
    kernel = Kernel("rhs", tuple(outputs), ("",) * len(outputs), tuple(pivots), beforehand=fixed)
    return g, kernel, arranged(g, kernel)


def counts(g: Graph, kernel: Kernel) -> dict[str, int]:
    fixed = g.from_only(kernel.roots(), kernel.beforehand)
    found: dict[str, int] = {}
    for n in g.reachable(kernel.roots()):
        if g.args[n] and n not in fixed:
            found[g.op[n]] = found.get(g.op[n], 0) + 1
    return found


def agree(g: Graph, a: Kernel, b: Kernel) -> None:
    draw = random.Random(5)
    with mp.workdps(45):
        for _ in range(5):
            point = {s: mpf(draw.uniform(-2, 2)) for s in g.symbols(a.roots())}
            for v, w in zip(
                evaluate(g, a.outputs, point, True), evaluate(g, b.outputs, point, True), strict=True
            ):
                assert abs(v - w) < mpf("1e-38") * (1 + abs(v))


def squares(g: Graph, s: dict[str, Node]) -> list[Node]:
    sine, cosine = g.call("sin", s["x"]), g.call("cos", s["x"])
    k = g.mul(s["y"], s["a"])
    return [g.add(g.mul(k, g.mul(sine, sine)), g.mul(k, g.mul(cosine, cosine))), g.mul(sine, cosine)]


RULES: dict[str, tuple[Callable[..., list[Node]], str, dict[str, int]]] = {
    "a common factor is taken out": (
        lambda g, s: [g.add(g.add(g.mul(s["x"], s["y"]), g.mul(s["x"], s["z"])), g.mul(s["u"], s["x"]))],
        "", {"add": 2, "mul": 1}),
    "one division for one divisor": (
        lambda g, s: [g.div(s[n], g.add(s["a"], s["b"])) for n in "xyz"], "", {"add": 1, "div": 1, "mul": 3}),
    "a single division stays one": (
        lambda g, s: [g.div(g.mul(s["x"], s["y"]), g.mul(s["a"], s["b"]))], "", {"mul": 2, "div": 1}),
    "a divisor of parameters is a factor": (
        lambda g, s: [g.div(g.mul(s["x"], s["c"]), g.add(s["a"], s["b"]))], "a b c", {"mul": 1}),
    "factors cancel": (
        lambda g, s: [g.sub(g.mul(s["d"], g.div(s["x"], s["d"])), g.mul(s["y"], s["z"]))], "d", {"sub": 1, "mul": 1}),
    "the squares of sine and cosine": (squares, "", {"mul": 2, "sin": 1, "cos": 1}),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_a_rule(rule: str) -> None:
    build, before, expected = RULES[rule]
    g, a, b = arrange_here(build, before=before)
    agree(g, a, b)
    assert counts(g, b) == expected


def test_squares_that_cannot_be_joined_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """a sin(x)^2 + b sin(y)^2 + 2 b cos(y)^2: no cosine of x, and not as much of that of y as of its sine."""
    monkeypatch.setattr(terms.Atoms, "split", None)
    g = Graph()
    a, b, x, y = map(g.symbol, "abxy")
    squares = [g.integer_power(g.call(f, v), 2) for f, v in (("sin", x), ("sin", y), ("cos", y))]
    root = g.dot([a, b, g.mul(g.two, b)], squares)
    order = g.reachable([root])
    assert len(terms.Expansion(terms.Atoms(g, [a, b]), order, order).terms[root]) == 3


def test_squares_are_sought_where_a_new_term_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """a sin(x)^2 + b0 y0 + ... + b19 y19 + a cos(x)^2: at the first sum, at the last, and where these are joined."""
    sought: list[int] = []
    search = terms.Expansion._pair_of_squares

    def counted(expansion: terms.Expansion, among: terms.Terms) -> Any:
        sought.append(len(among))
        return search(expansion, among)

    monkeypatch.setattr(terms.Expansion, "_pair_of_squares", counted)
    g = Graph()
    a, x = map(g.symbol, "ax")
    sine, cosine = (g.mul(a, g.integer_power(g.call(f, x), 2)) for f in ("sin", "cos"))
    root = g.sum([sine, *(g.mul(g.symbol(f"b{i}"), g.symbol(f"y{i}")) for i in range(20)), cosine])
    order = g.reachable([root])
    found = terms.Expansion(terms.Atoms(g, []), order, order).terms[root]
    assert [m for m in found if len(m) == 1] == [((0, 1),)]  # a itself
    assert sought == [2, 22, 21]


@pytest.mark.parametrize("before", ["a", ""])
def test_squares_of_what_is_fixed(before: str) -> None:
    """Sines of parameters and of numbers: the search for pairs of squares must skip them and terminate."""

    def build(g: Graph, s: dict[str, Node]) -> list[Node]:
        fixed = g.call("sin", s["a"] if before else g.const(1))
        sine, cosine = g.call("sin", s["x"]), g.call("cos", s["x"])
        tilted = g.mul(g.mul(fixed, fixed), sine)
        both = g.mul(g.mul(fixed, fixed), g.mul(sine, sine))
        rest = g.mul(g.mul(fixed, fixed), g.mul(cosine, cosine))
        return [g.add(g.mul(s["b"], tilted), s["y"]), g.add(g.add(both, s["y"]), rest)]

    g, a, b = arrange_here(build, before=before)
    agree(g, a, b)
    assert counts(g, b)["sin"] == 1 + (not before)
    assert "cos" not in counts(g, b)


def test_halves_of_quaternion_kinematics_are_taken_once() -> None:
    def build(g: Graph, s: dict[str, Node]) -> list[Node]:
        q0, q1, q2, q3, w1, w2, w3 = (s[n] for n in "xyzuabc")
        half = g.const(0.5)
        rows = [
            g.neg(g.dot([q1, q2, q3], [w1, w2, w3])),
            g.sub(g.dot([q0, q2], [w1, w3]), g.mul(q3, w2)),
            g.sub(g.dot([q0, q3], [w2, w1]), g.mul(q1, w3)),
            g.sub(g.dot([q0, q1], [w3, w2]), g.mul(q2, w1)),
        ]
        return [g.mul(half, row) for row in rows]

    g, a, b = arrange_here(build)
    agree(g, a, b)
    assert sum(counts(g, b).values()) == 3 + 12 + 8
    assert "neg" not in counts(g, b)


def test_a_difference_of_exact_numbers_is_not_multiplied_out() -> None:
    """x - y is exact for close x, y: a (x - y) + b (x - y) + a z must not become a x - a y."""

    def build(g: Graph, s: dict[str, Node]) -> list[Node]:
        d = g.sub(s["x"], s["y"])
        return [g.add(g.mul(s["a"], d), g.mul(s["a"], s["z"])), g.mul(s["b"], d), g.mul(g.mul(d, d), s["c"])]

    g, a, b = arrange_here(build)
    agree(g, a, b)
    point = {"x": 1.0 + 2.0**-40, "y": 1.0, "z": 2.0**-41, "a": 0.7, "b": 0.9, "c": 1.3}
    with mp.workdps(40):
        exact = evaluate(g, a.outputs, {s: mpf(v) for s, v in point.items()}, True)
    for ours, true in zip(evaluate(g, b.outputs, point), exact, strict=True):
        assert abs(ours - true) <= 4e-16 * abs(true)


def test_products_of_sums_are_not_multiplied_out() -> None:
    """(u - v) (u - w) with rounded u, v, w: each factor may cancel; the product then has their relative errors."""

    def build(g: Graph, s: dict[str, Node]) -> list[Node]:
        p, q, r = g.mul(s["x"], s["y"]), g.mul(s["z"], s["u"]), g.mul(s["v"], s["w"])
        return [g.mul(g.sub(p, q), g.sub(p, r))]

    g, a, b = arrange_here(build)
    agree(g, a, b)
    assert sum(counts(g, b).values()) == 6


def test_powers_of_two_stay_exact() -> None:
    g, _, b = arrange_here(lambda g, s: [g.div(g.sub(s["x"], s["y"]), g.const(4)), g.mul(s["x"], s["z"])])
    draw = np.random.default_rng(2)
    for x, y, z in draw.uniform(-1, 1, (20, 3)):
        point = {"x": float(x), "y": float(y), "z": float(z)}
        assert evaluate(g, b.outputs, point) == [(x - y) / 4, x * z]


def test_branches_stay_where_they_are() -> None:
    def build(g: Graph, s: dict[str, Node]) -> list[Node]:
        root = g.select(g.relation("lt", g.zero, s["a"]), g.call("sqrt", s["a"]), g.zero)
        other = g.select(g.relation("lt", s["b"], s["x"]), g.div(s["y"], s["x"]), s["z"])
        return [g.mul(root, g.add(other, s["x"])), g.call("max", other, g.mul(s["x"], s["y"]))]

    g, a, b = arrange_here(build, before="a b")
    for x in (-0.5, 0.5):
        for c in (-1.0, 2.0):
            point = {"x": x, "y": 0.3, "z": 0.7, "a": c, "b": 0.1}
            assert evaluate(g, b.outputs, point) == pytest.approx(evaluate(g, a.outputs, point), rel=1e-15)


def test_checks_say_what_they_said() -> None:
    """|p| <= limit before, and the checks of the factors after, agree at zero, cancelling and regular pivots."""

    def build(g: Graph, s: dict[str, Node]) -> Any:
        m, k = s["a"], g.mul(s["a"], g.mul(s["b"], s["b"]))
        diagonal = g.mul(k, g.add(g.const(2), s["x"]))
        coupling = g.mul(k, s["y"])
        pivot = g.sub(diagonal, g.div(g.mul(coupling, coupling), g.mul(k, s["z"])))
        limit = g.mul(g.const(1e-13), g.call("abs", diagonal))
        return [g.div(s["u"], pivot), g.div(s["v"], m)], [(k, g.zero), (m, g.zero), (pivot, limit)]

    g, a, b = arrange_here(build, before="a b")
    assert len(b.pivots) >= 3
    draw = random.Random(3)
    seen = set()
    for n in range(200):
        x, y = draw.uniform(-1, 1), draw.uniform(0.5, 1)
        point = {"x": x, "y": y, "z": draw.uniform(0.5, 1), "u": 1.0, "v": 1.0, "a": 0.6, "b": -0.8}
        if n % 4 == 1:
            point["z"] = y * y / (2 + x)  # the pivot cancels
        if n % 4 == 2:
            point[draw.choice("ab")] = 0.0
        if n % 4 == 3:
            point["z"] = y * y / (2 + x) * (1 + 10.0 ** draw.uniform(-15.5, -11))
        answers = []
        with mp.workdps(60):
            precise = {s: mpf(v) for s, v in point.items()}
            for kernel in (a, b):
                answer = False
                for p, limit in kernel.pivots:
                    try:
                        size, bound = evaluate(g, [p, limit], precise, True)
                    except ArithmeticError:
                        continue
                    answer |= bool(abs(size) <= bound)
                answers.append(answer)
        assert answers[0] == answers[1], point
        seen.add((n % 4, answers[0]))
    assert {(0, False), (2, True), (3, True), (3, False)} <= seen


def test_conditions_of_parameters_are_not_numbers_to_hand_on() -> None:
    g = Graph()
    a, x = g.symbol("a"), g.symbol("x")
    condition = g.relation("lt", a, g.one)
    outputs = (g.select(condition, x, g.mul(a, x)), g.mul(g.mul(a, a), x))
    kernel = Kernel("rhs", outputs, ("", ""), beforehand=(a,))
    states, parameters = (Variable("x", "coordinate"),), (Variable("a", "parameter"),)
    program = Lowered("p", "f", "d", g, states, 1, parameters, (), (), (), (), "t", {"rhs": kernel}, ())
    found = plan(program).schedule("rhs")
    assert found.hoist is not None
    assert all(g.op[n] != "lt" for n in found.hoist.kernel.outputs)


# ---- counting without emitting ----


def test_counts_are_those_of_the_statements(pair: tuple[Program, Program]) -> None:
    for program in pair:
        for name, kernel in program.kernels.items():
            found, counts = program.schedule(name), count(program.graph, kernel)
            assert (counts.operations, counts.divisions) == (found.operations, found.divisions)
            assert found.hoist is None or counts.hoisted == found.hoist.operations


def test_operations_of_a_large_system_are_counted_without_lowering_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("operations were counted on a lowered program")

    monkeypatch.setattr("chaplygin.api.equations.lower", refuse)
    n = 60
    eqs = dense_chain(n).system.equations("lagrange")
    size, counts = len(eqs.nodes.graph), eqs.operations
    assert len(eqs.nodes.graph) == size
    loops = n**3 // 3 + 3 * n**2  # L D L^T, and one solution
    together = counts["mass_matrix"] + counts["forcing"]
    assert counts["rhs"] + counts["hoisted"] <= together + loops
    assert counts["rhs"] + counts["hoisted"] > max(counts["mass_matrix"], counts["forcing"]) + loops
    assert counts["divisions"] >= n * (n - 1) // 2 + 2 * n


# ---- the search for an arrangement ----


def searched(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[Any]]:
    """The sums factored and expanded while the heavy top's right-hand side is rearranged."""
    eqs = cg.example("heavy_top").system.equations("poincare")
    kernel = plan(lower(eqs.nodes), PLAIN).kernels["rhs"]
    parameters = tuple(eqs.nodes.graph.symbol(p.name) for p in eqs.system.parameters)
    factored: list[Any] = []
    expanded: list[str] = []
    make, expand = factor.Factoring.__init__, terms.Expansion._terms

    def factoring(self: Any, sums: Any, *rest: Any) -> None:
        factored.append(tuple(sums))
        make(self, sums, *rest)

    def terms_of(self: Any, node: Node) -> Any:
        expanded.append(self.graph.op[node])
        return expand(self, node)

    monkeypatch.setattr(factor.Factoring, "__init__", factoring)
    monkeypatch.setattr(terms.Expansion, "_terms", terms_of)
    search = _ArrangementSearch(eqs.nodes.graph, replace(kernel, beforehand=parameters), 12_000)
    assert search.best()[1].factoring.sums
    return expanded, [search, factored]


def test_a_trial_expands_and_factors_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    expanded, (search, factored) = searched(monkeypatch)
    trials = len(search.tried)
    assert trials > 10
    assert len(expanded) < 0.7 * trials * len(search.order)
    assert len(set(factored)) == len(factored)  # equal sums only once
    assert len(factored) < trials  # and some not at all: too long, or already known


def test_terms_that_share_nothing_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 200
    monkeypatch.setattr(factor, "split", None)
    long = [(1, (2 * i, 2 * i + 1)) for i in range(n)]
    alone = factor.Factoring([long], 2 * n)
    assert not alone.products
    assert not alone.sum_of


def test_sums_of_terms_that_share_nothing_are_found_where_they_occur_again() -> None:
    """(a + b - c) d + x and (a + b - c) e + y in any order: with a + b - c once, 2 + 2 additions and 2 products."""
    a, b, c, d, e, x, y = range(7)
    inner = [(1, (a,)), (1, (b,)), (-1, (c,))]
    first = [(1, (x,)), *((s, tuple(sorted((*f, d)))) for s, f in inner)]
    second = [*((s, tuple(sorted((*f, e)))) for s, f in reversed(inner)), (1, (y,))]
    assert factor.Factoring([first, second], 7).cost() == 6
    assert factor.Factoring([[*inner, (1, (x,))], [(1, (y,)), *inner[::-1]]], 7).cost() == 4
    assert factor.Factoring([inner[:2], first], 7).cost() == 4  # ((a + b) - c) d + x, where a + b is known


@pytest.mark.parametrize("n", [12, 25])
def test_a_long_sum_is_not_written_out_in_every_result(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    """The force on a carriage is in the acceleration of each of its n pendulums: n sums of n terms if expanded."""
    longest: list[int] = []
    make = factor.Factoring.__init__

    def factoring(self: Any, sums: Any, *rest: Any) -> None:
        longest.append(sum(map(len, sums)))
        make(self, sums, *rest)

    monkeypatch.setattr(factor.Factoring, "__init__", factoring)
    lowered = lower(comb(n).equations("lagrange").nodes)
    planned = plan(replace(lowered, kernels={"rhs": lowered.kernels["rhs"]}))
    assert planned.operations() < 30 * n
    assert max(longest) < 12 * n


def test_planning_makes_no_cycles_that_python_would_have_to_search_for() -> None:
    eqs = cg.example("heavy_top").system.equations("poincare")
    program, searching = lower(eqs.nodes), []
    gc.collect()
    plan(program, watch=lambda *_: searching.append(gc.isenabled()))
    assert not any(searching)
    assert gc.isenabled()
    assert gc.collect() == 0


def test_python_searches_for_cycles_again_where_planning_fails() -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        plan(lower(cg.example("harmonic_oscillator").system.equations("lagrange").nodes), watch=fail)
    assert gc.isenabled()


def test_an_expansion_like_another_is_what_it_would_be_alone() -> None:
    eqs = cg.example("roller_racer").system.equations("maggi")
    kernel = plan(lower(eqs.nodes), PLAIN).kernels["rhs"]
    search = _ArrangementSearch(eqs.nodes.graph, kernel, 12_000)
    draw = random.Random(8)
    last = None
    for _ in range(20):
        spread = frozenset(draw.sample(search.single, 4))
        alone = terms.Expansion(search.atoms, search.order, search.joined, spread)
        last = terms.Expansion(search.atoms, search.order, search.joined, spread, like=last)
        assert last.terms == alone.terms
        assert [last.frozen(n) for n in search.order] == [terms.freeze(alone.terms[n]) for n in search.order]


# ---- parameters that a right-hand side rejects ----


def top_with_any_moments() -> cg.System:
    """The heavy top of the catalogue with I2 declared without an assumption, so that it may be zero."""
    system = cg.example("heavy_top").system
    swap = {p: cg.parameters("I2", nonnegative=True) for p in system.parameters if p.name == "I2"}
    return cg.System(
        "any_top",
        kinematics=system.kinematics,
        kinetic=system.kinetic.xreplace(swap),
        potential=system.potential.xreplace(swap),
        example={swap.get(s, s): value for s, value in system.example.items()},
    )


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_singular_parameters_end_a_run_where_the_first_call_does(method: str) -> None:
    entry = cg.example("heavy_top")
    model = top_with_any_moments().compile()
    parameters = {**entry.parameters, "I2": 0.0}
    p = np.array([parameters[n] for n in model.parameters])
    y = np.array([entry.initial[n] for n in model.states])
    with pytest.raises(ArithmeticError):
        model.rhs(0.0, y, p)
    options = {"max_step": 0.01} if method == "rk4" else {}
    run = model.integrate((0, 1), initial=entry.initial, parameters=parameters, method=method, **options)
    assert not run.success
    assert run.t[-1] == 0.0
    assert "singular" in run.message


def test_singular_parameters_in_an_ensemble_end_their_own_trajectories() -> None:
    entry = cg.example("heavy_top")
    model = top_with_any_moments().compile()
    inertia = np.full(19, entry.parameters["I2"])
    inertia[[0, 5, 18]] = 0.0
    ensemble = cg.ensemble(model, (0, 1), entry.initial, {**entry.parameters, "I2": inertia}, n=19, threads=1)
    assert ensemble.failed.tolist() == [0, 5, 18]
    single = model.integrate((0, 1), entry.initial, entry.parameters)
    for i in range(19):
        if inertia[i]:
            assert np.array_equal(ensemble.y[:, i], single.y[:, -1])
    alone = model.integrate((0, 1), entry.initial, {**entry.parameters, "I2": 0.0})
    assert {int(ensemble.status[i]) for i in (0, 5, 18)} == {alone.status}
    assert {int(ensemble.nfev[i]) for i in (0, 5, 18)} == {alone.nfev} == {1}
