"""Tables: values and derivatives against SciPy, alone and in lanes; what is taken as it is; what is refused."""

from __future__ import annotations

import itertools
import math
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sympy as sp
from processes import python
from refusals import refused
from scipy.interpolate import (
    Akima1DInterpolator,
    BPoly,
    CubicSpline,
    NdBSpline,
    PchipInterpolator,
    PPoly,
    RegularGridInterpolator,
    make_interp_spline,
)

import chaplygin as cg
from chaplygin.errors import DeclarationError

DRAWN = np.random.default_rng(58)
EQUAL = np.linspace(-1.0, 2.5, 15)
UNEQUAL = np.sort(DRAWN.uniform(-1.0, 2.5, 12))
CROWDED = np.concatenate([[-1.0], np.geomspace(1e-7, 2.5, 40)])
"""Knots of which most are in a thousandth of their range."""
NEARLY = EQUAL + np.abs(np.sin(7 * EQUAL)) * np.where((EQUAL > -1) & (EQUAL < 2.5), 0.02, 0.0)
"""Each is in a part of its own where the range is divided into as many, but does not begin it."""
LONG = np.linspace(-1.0, 2.5, 90)
"""Knots so many that those far away count nothing."""
ROUNDED = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])


def beside(knots: Any, count: int = 400) -> Any:
    """Points around knots: inside, outside, and the knots with their neighbours, the lower ones last."""
    span = knots[-1] - knots[0]
    inner = np.linspace(knots[0] - span / 4, knots[-1] + span / 4, count)
    return np.concatenate([inner, knots, np.nextafter(knots, np.inf), np.nextafter(knots, -np.inf)])


def tried(expressions: list[Any], *columns: Any, p: Any = None) -> Any:
    """The expressions in x, y, z, compiled, at the points of the columns: in lanes, which are to have the same bits."""
    variables = cg.coordinates("x y z")[: len(columns)]
    results = cg.coordinates(" ".join(f"r_{i}" for i in range(len(expressions))) + " r_end")[:-1]
    still = dict.fromkeys(variables, sp.Integer(1))
    model = cg.System("tried", kinematics={**still, **dict(zip(results, expressions, strict=True))}).compile()
    states = np.zeros((len(model.states), len(columns[0])))
    for name, column in zip("xyz", columns, strict=False):
        states[model.states.index(name)] = column
    places = [model.states.index(f"r_{i}") for i in range(len(expressions))]
    found = model.rhs(0.0, states, p or [])[places]
    alone = np.array([model.rhs(0.0, y, p or [])[places] for y in states.T[::7]]).T
    assert np.array_equal(found[:, ::7], alone, equal_nan=True)
    return found


def close(found: Any, wanted: Any) -> None:
    """To 1e-12 of the largest."""
    assert np.isfinite(found).all()
    assert np.abs(found - wanted).max() <= 1e-12 * np.abs(wanted).max()


def spline_of(kind: str, knots: Any, values: Any, ends: str = "not-a-knot") -> Any:
    if kind == "linear":
        return make_interp_spline(knots, values, k=1)
    return PchipInterpolator(knots, values) if kind == "pchip" else CubicSpline(knots, values, bc_type=ends)


def _outside(spline: Any, knots: Any, outside: str, x: Any, order: int) -> Any:
    """The derivative of SciPy's spline, and beyond the edges what is meant there."""
    edge = np.clip(x, knots[0], np.nextafter(knots[-1], -np.inf) if order else knots[-1])
    inside = spline(edge, order)
    if outside == "polynomial":
        return spline(x, order)
    beyond = (x < knots[0]) | (x > knots[-1])
    tangent = (spline(edge, 1) * (x - edge), spline(edge, 1), 0.0)[order] if outside == "linear" else 0.0
    return np.where(beyond, (inside if order == 0 else 0.0) + tangent, inside)


KNOTS = {"equal": EQUAL, "nearly": NEARLY, "unequal": UNEQUAL, "crowded": CROWDED, "rounded": ROUNDED,
         "long": LONG}  # fmt: skip
LATER = pytest.mark.parametrize("later", [False, True], ids=["compiled in", "at run time"])


@LATER
@pytest.mark.parametrize("knots", KNOTS.values(), ids=KNOTS)
@pytest.mark.sample(6)
def test_one_argument(knots: Any, later: bool) -> None:
    """Values and derivatives by the argument, in every cell and outside, alone and in lanes."""
    cases = [("linear", "not-a-knot"), ("cubic", "not-a-knot"), ("cubic", "natural"), ("cubic", "clamped")]
    cases += [] if later else [("pchip", "not-a-knot")]
    x, points = cg.coordinates("x"), beside(knots)
    wanted, expressions, counts, numbers = [], [], [], {}
    for i, ((kind, ends), outside) in enumerate(itertools.product(cases, ("hold", "linear", "polynomial"))):
        values = np.cos(3 * knots) + DRAWN.normal(size=len(knots)) / 10
        given, options = None if later else values, {"kind": kind, "ends": ends, "outside": outside}
        table = cg.Interpolant(f"f{i if later else ''}", {"x": knots}, given, **options)
        reference = spline_of(kind, knots, values, ends)
        for order in range(2 if kind == "linear" else 3):
            expressions.append(sp.diff(table(x), x, order) if order else table(x))
            wanted.append(_outside(reference, knots, outside, points, order))
            # a number next to a knot may count as the knot
            counts.append(len(points) - len(knots) * (order > 0))
            if order == 0 and not later:
                close(table(points), wanted[-1])
        numbers |= zip(map(str, table.values), values, strict=True) if later else {}
    found = tried(expressions, points, p=numbers)
    for row, reference, count in zip(found, wanted, counts, strict=True):
        close(row[:count], reference[:count])


def tensor(knots: Any, values: Any, degree: int) -> NdBSpline:
    """The tensor product of B-splines through the values: RegularGridInterpolator solves for it to 1e-10 only."""
    splines = []
    for axis, row in enumerate(knots):
        splines.append(make_interp_spline(row, values, degree, axis=axis))
        values = np.moveaxis(splines[-1].c, 0, axis)
    return NdBSpline(tuple(s.t for s in splines), values, degree)


@LATER
@pytest.mark.parametrize("shape", [(16, 16), (8, 7, 6)], ids=len)
@pytest.mark.parametrize("kind", ["linear", "cubic"])
@pytest.mark.sample(2)
def test_several_arguments(kind: str, shape: tuple[int, ...], later: bool) -> None:
    """Against SciPy's tensor products of B-splines."""
    knots = [np.sort(DRAWN.uniform(0, 3, n)) if i else np.linspace(0, 2, n) for i, n in enumerate(shape)]
    values = DRAWN.normal(size=shape)
    reference = tensor(knots, values, 1 if kind == "linear" else 3)
    variables = cg.coordinates("x y z")[: len(shape)]
    table = cg.Interpolant("f", dict(zip("abc", knots, strict=False)), None if later else values, kind=kind)
    numbers = dict(zip(map(str, table.values), values.ravel(), strict=True)) if later else None
    points = np.stack([DRAWN.uniform(k[0], k[-1], 300) for k in knots], axis=1)
    every = itertools.product(range(3), repeat=len(shape))
    orders = [o for o in every if max(o) < 2 or (kind == "cubic" and sum(o) == 2)]
    found = tried(
        [sp.diff(table(*variables), *zip(variables, o, strict=True)) for o in orders], *points.T, p=numbers
    )
    for order, values_found in zip(orders, found, strict=True):
        close(values_found, reference(points, nu=order))
    beyond = points + DRAWN.normal(size=points.shape)
    held = np.stack([np.clip(b, k[0], k[-1]) for b, k in zip(beyond.T, knots, strict=True)], axis=1)
    (found,) = tried([table(*variables)], *beyond.T, p=numbers)
    close(found, reference(held))


def test_what_is_taken_as_it_is(tmp_path: Path) -> None:
    x, y = cg.coordinates("x y")
    values = np.cos(UNEQUAL)
    splines = [make(UNEQUAL, values) for make in (CubicSpline, PchipInterpolator, Akima1DInterpolator)]
    for spline in splines:
        (found,) = tried([cg.Interpolant("f", spline, outside="polynomial")(x)], points := beside(UNEQUAL))
        close(found, spline(points, extrapolate=True))
    assert cg.Interpolant("f", CubicSpline(UNEQUAL, values))(5.0) == pytest.approx(splines[0](5.0), rel=1e-12)

    grid = (np.linspace(0, 1, 6), np.array([0.0, 0.3, 0.7, 2.0]))
    rows = DRAWN.normal(size=(6, 4))
    at = np.stack([DRAWN.uniform(0, 1, 50), DRAWN.uniform(0, 2, 50)], axis=1)
    for method in ("linear", "cubic"):
        given = RegularGridInterpolator(grid, rows, method=method, bounds_error=False, fill_value=None)
        (found,) = tried([cg.Interpolant("f", given)(x, y)], *at.T)
        close(found, tensor(grid, rows, 1 if method == "linear" else 3)(at))

    frame = pd.DataFrame(rows, index=pd.Index(grid[0], name="mach"), columns=pd.Index(grid[1], name="alpha"))
    table = cg.Interpolant("f", frame, kind="linear")
    assert table.arguments == ("mach", "alpha")
    close(table(*at.T), RegularGridInterpolator(grid, rows)(at))
    series = cg.Interpolant("f", pd.Series(values, index=UNEQUAL), kind="pchip")
    close(series(at[:, 0]), splines[1](at[:, 0]))

    lines = [f"{a},{b},{rows[i, j]}" for j, b in enumerate(grid[1]) for i, a in enumerate(grid[0])]
    (tmp_path / "cd.csv").write_text("mach, alpha, cd\n" + "\n".join(lines) + "\n")
    read = cg.Interpolant.from_csv(tmp_path / "cd.csv", kind="linear")
    assert (read.name, read.arguments) == ("cd", ("mach", "alpha"))
    assert np.array_equal(read(*at.T), table(*at.T))


def test_sympys_spline_is_taken_as_it_is() -> None:
    x = cg.coordinates("x")
    knots, values = [0, 1, 2, 4, 5, 7], [0, 1, 0, 2, 1, 3]
    given = sp.interpolating_spline(3, x, knots, values)
    points = np.linspace(0, 7, 99)
    (found,) = tried([cg.Interpolant("f", given)(x)], points)
    close(found, [float(given.subs(x, sp.Rational(p))) for p in points])


def test_equal_tables_are_one_and_travel() -> None:
    x = cg.coordinates("x")
    made = [cg.Interpolant("f", {"x": [0, 1, 3]}, [1, 2, 0]) for _ in range(2)]
    assert made[0](x) == made[1](x) != cg.Interpolant("f", {"x": [0, 1, 3]}, [1, 2, 5])(x)
    assert pickle.loads(pickle.dumps(made[0](x) * sp.sin(x))) == made[0](x) * sp.sin(x)
    assert str(sp.diff(made[0](x) ** 2, x)) == "2*f(x)*f[1](x)"
    assert (
        made[0](2)
        == float(made[0](x).subs(x, 2))
        == pytest.approx(float(CubicSpline([0, 1, 3], [1, 2, 0])(2)))
    )


def test_two_tables_of_one_name_are_two() -> None:
    x = cg.coordinates("x")
    first, second = (cg.Interpolant("f", {"x": [0, 1]}, [0, slope], kind="linear") for slope in (1, 2))
    (found,) = tried([10 * first(x) + second(x)], np.array([0.25, 0.5]))
    assert found == pytest.approx([3.0, 6.0], rel=1e-15)


def _sliding(force: Any, potential: Any = 0) -> cg.System:
    x = cg.coordinates("x")
    v, m = cg.rate(x), cg.parameters("m", positive=True)
    given = {"x": x, "v": v}
    terms = {"kinetic": m * v**2 / 2, "potential": potential and potential(x)}
    return cg.System("sliding", coordinates=[x], forces={v: force(given)}, **terms)


def test_a_table_far_from_where_identities_are_tried_is_not_zero() -> None:
    """It is held at the points at which expressions are compared with zero, so its derivative is 0 there."""
    far = cg.Interpolant("far", {"x": [1000, 1500, 2000]}, [0, 1, 5])
    assert list(_sliding(lambda s: 0, far).equations().invariants) == ["energy"]
    flat = cg.Interpolant("flat", {"x": [1000, 1500, 2000]}, [0, 1, 0])
    assert not _sliding(lambda s: flat(s["x"])).equations().invariants


def test_numbers_are_emitted_once(tmp_path: Path) -> None:
    drag = cg.Interpolant("drag", {"speed": np.linspace(0, 5, 400)}, np.linspace(0, 5, 400) ** 2)
    _sliding(lambda s: -drag(s["v"]) - drag(s["x"]), drag).emit("lagrange", tmp_path)
    core = (tmp_path / "sliding_core.c").read_text()
    assert core.count(f"{drag(2.5)!r}"[:6]) <= 3
    assert (
        len(re.findall(r"static const double cg_table_drag_[0-9a-f]{8}_", core)) == 2
    )  # origins and numbers
    assert len(core) < 60_000


def test_a_run_in_another_process_needs_neither_sympy_nor_splines() -> None:
    drag = cg.Interpolant("drag", {"speed": [0, 1, 5, 9]}, [0, 1, 2, 30])
    model = _sliding(lambda s: -drag(s["v"])).compile()
    code = f"""
        import sys
        import chaplygin as cg
        model = cg.load_model({str(model.owner.__file__)!r})
        end = model.integrate((0, 1), {{"x": 0, "x_dot": 8}}, {{"m": 2}}).y[:, -1]
        assert not {{"sympy", "scipy.interpolate"}} & sys.modules.keys()
        print(model.jacobian(0, end, {{"m": 2}})[1, 1].hex(), *map(float.hex, end))
    """
    end = model.integrate((0, 1), {"x": 0, "x_dot": 8}, {"m": 2}).y[:, -1]
    wanted = [model.jacobian(0, end, {"m": 2})[1, 1], *end]
    assert python(code).split() == [float(v).hex() for v in wanted]


def test_a_run_that_leaves_the_knots_fails() -> None:
    push = cg.Interpolant("push", {"x": [0, 0.5, 1]}, [1, 1, 1], kind="linear", outside="error")
    model = _sliding(lambda s: push(s["x"])).compile()
    inside = model.integrate((0, 1), {"x": 0, "x_dot": 0}, {"m": 1})
    assert inside.success
    assert inside["x"][-1] == pytest.approx(0.5, rel=1e-12)
    beyond = model.integrate((0, 2), {"x": 0, "x_dot": 0}, {"m": 1})
    assert beyond.status < 0
    assert beyond.message.endswith("not finite; so it is where x leaves the table push, 0.0 to 1.0")
    assert beyond.t[-1] == pytest.approx(math.sqrt(2), rel=1e-9)


BROKEN = np.array([-2.0, -1.0, 0.25, 0.5, 2.0])
FORCES = np.array([3.0, 0.5, 0.2, -1.0, -4.0])


def test_steps_that_end_at_knots_keep_the_energy() -> None:
    """Its potential is the antiderivative of SciPy's spline."""
    force = cg.Interpolant("force", {"x": BROKEN}, FORCES, kind="linear")
    potential = make_interp_spline(BROKEN, FORCES, k=1).antiderivative()
    model = _sliding(lambda s: force(s["x"])).compile()
    sol = model.integrate(
        (0, 30), {"x": 1.5, "x_dot": 0}, {"m": 1}, method="vern9", rtol=1e-12, atol=1e-12, kinks=True
    )
    energy = sol["x_dot"] ** 2 / 2 - potential(sol["x"])
    assert sol.success
    assert np.abs(energy - energy[0]).max() < 1e-10
    plain = model.integrate((0, 30), {"x": 1.5, "x_dot": 0}, {"m": 1}, method="vern9", rtol=1e-12, atol=1e-12)
    assert sol.nfev < plain.nfev


def test_sensitivities_across_knots() -> None:
    """Against differences of runs, with an error of their fourth order."""
    force = cg.Interpolant("force", {"x": BROKEN}, FORCES, kind="linear")
    model = _sliding(lambda s: force(s["x"])).compile()
    tight = {"rtol": 1e-13, "atol": 1e-13, "method": "vern9", "kinks": True}
    sol = model.integrate((0, 5), {"x": 1.5, "x_dot": 0}, {"m": 1}, sensitivities=["m", "x"], **tight)

    def end(x: float, m: float) -> Any:
        return model.integrate((0, 5), {"x": x, "x_dot": 0}, {"m": m}, **tight).y[:, -1]

    h = 1e-3
    for name, moved in (("m", lambda d: end(1.5, 1 + d)), ("x", lambda d: end(1.5 + d, 1))):
        slope = (8 * (moved(h) - moved(-h)) - moved(2 * h) + moved(-2 * h)) / (12 * h)
        found = [sol.sensitivity[state, name][-1] for state in model.states]
        assert found == pytest.approx(slope, rel=1e-7)


def test_which_knots_are_kinks() -> None:
    edges = {"hold": 1, "linear": 0, "polynomial": 0, "error": 1}
    for outside, count in edges.items():
        smooth = cg.Interpolant("f", {"a": BROKEN}, FORCES, outside=outside)
        assert len(_sliding(lambda s, f=smooth: f(s["x"])).compile().kinks) == count
    for knots, count in ((True, 1), (False, 0)):
        table = cg.Interpolant("f", {"a": BROKEN}, FORCES, knots=knots)
        assert len(_sliding(lambda s, f=table: f(s["x"]) + f(s["v"] ** 2)).compile().kinks) == 2 * count


THREE = [0, 1, 2]


@pytest.mark.parametrize(("given", "options", "message"), [
    ((THREE[::-1], [1, 2, 3]), {}, "the knots of a do not increase: 2.0 comes before 1.0"),
    (([0, 1, 1], [1, 2, 3]), {}, "the knots of a do not increase: 1.0 comes before 1.0"),
    (([0], [1]), {}, r"the knots of a have the shape \(1,\)"),
    (([0, np.nan, 2], [1, 2, 3]), {}, r"the knots of a contain nan at \[1\]"),
    ((THREE, [1, 2, np.inf]), {}, r"the values contain inf at \[2\]"),
    ((THREE, [1, 2]), {}, r"the values have the shape \(2,\); the grid has \(3,\)"),
    ((THREE, [[1], [2]]), {}, r"the values have the shape \(2, 1\); the grid has \(3,\)"),
    ((THREE, ["a", "b", "c"]), {}, "the values are not numbers"),
    ((THREE, np.ma.masked_less([1.0, 2.0, 3.0], 2)), {}, "the values are complex, dates or masked"),
    ((np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "M8[D]"), [1, 2, 3]), {}, "knots of a are complex, dates"),
    ((THREE, [1, 2, 3]), {"kind": "quintic"}, "kind = 'quintic'; give 'linear', 'cubic' or 'pchip'"),
    ((THREE, [1, 2, 3]), {"outside": "nan"}, "outside = 'nan'; give 'hold', 'linear', 'error' or 'polynomial'"),
    *(((THREE, [1, 2, 3]), {word: np.array(["a", "b"])}, f"{word} = array") for word in ("kind", "ends", "outside")),
    ((THREE, [1, 2, 3]), {"knots": "all"}, "knots = 'all'; give True, False or 'auto'"),
    ((THREE, [1, 2, 3]), {"ends": "free"}, "ends = 'free'; give 'not-a-knot', 'natural' or 'clamped'"),
    (([0, 1e-300, 1], [0, 1e300, 2]), {"kind": "linear"}, "the values are too large for their knots"),
])  # fmt: skip
def test_bad_tables_are_refused(given: tuple[Any, Any], options: dict[str, Any], message: str) -> None:
    words = f"Interpolant 'f'.*{message}"
    refused(words, cg.Interpolant, "f", {"a": given[0]}, given[1], **options, error=DeclarationError)


def test_other_bad_calls_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n0,1\n1,x\n")
    square, eye, made, read = {"a": THREE, "b": THREE}, np.eye(3), cg.Interpolant, cg.Interpolant.from_csv
    table = made("f", square, eye)
    for message, call, *given in (
        ("kind='pchip' has one argument", lambda: made("f", square, eye, kind="pchip")),
        ("has 4 arguments; give one to three", made, "f", {name: [0, 1] for name in "abcd"}, np.zeros((2,) * 4)),
        ("Interpolant 'if'", made, "if", square, eye),
        ("has the arguments a, b, and 1 are given", table, 1.0),
        ("Interpolant 'f': a is MutableDenseMatrix; give a scalar", table, sp.eye(2), cg.time),
        ("a are not numbers", table, "a", 1.0),
        ("a are complex", table, 1j, 1.0),
        ("a degree above 5", made, "f", PPoly(np.ones((8, 2)), [0, 1, 2])),
        ("the grid is list; give a dict", made, "f", THREE, [1, 2, 3]),
        *(("give", made, "f", wrong) for wrong in (3, BPoly([[1.0]], [0, 1]), sp.Symbol("x"))),
        ("periodic", made, "f", CubicSpline([0, 1, 2], [0, 1, 0], bc_type="periodic")),
        ("fill_value=0", made, "f",
         RegularGridInterpolator((THREE,), [1, 2, 3], bounds_error=False, fill_value=0)),
        ("has no column 'c'; its columns are a, b", read, tmp_path / "a.csv", "a", "c"),
        ("b are not numbers", read, tmp_path / "a.csv"),
    ):  # fmt: skip
        refused(message, call, *given, error=DeclarationError)
