"""Stiff systems: the coefficients of Rodas5P, compliant contacts, Van der Pol's oscillator, and the method "auto"."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from c_bundles import STRICT, called
from fused import fma
from integrations import need
from oracle_rodas5p import OracleModel
from order_conditions import Tree, density, trees
from runtime_models import model as hand_written

import chaplygin as cg
from chaplygin.api.python_model import python_kernels
from chaplygin.codegen.methods.rodas5p import RODAS5P
from chaplygin.runtime import ArgumentError

METHODS = ("rodas5p", "auto")
eps, mu, g = cg.parameters("eps mu g", positive=True)

# ---- the coefficients, in exact arithmetic: residuals are due to the rounding of the doubles ----


@functools.cache
def table(name: str) -> Any:
    """An array of the coefficients of Rodas5P as fractions, rows padded with zeros."""
    found = RODAS5P.rows if name == "a" else getattr(RODAS5P, name)
    rows = found if isinstance(found[0], (list, tuple)) else [found]
    return np.array([[Fraction(v) for v in RODAS5P.padded(row)] for row in rows], dtype=object)


def inverse(lower: Any) -> Any:
    """The inverse of a lower triangular matrix, by forward substitution."""
    rows: list[Any] = []
    for i, row in enumerate(lower):
        right = np.array([Fraction(int(i == j)) for j in range(len(lower))], dtype=object)
        for k in range(i):
            right = right - row[k] * rows[k]
        rows.append(right / row[i])
    return np.array(rows, dtype=object)


@functools.cache
def usual() -> tuple[Any, Any, Any]:
    """alpha, Gamma (including its diagonal) and the weights b of the form with Jacobian products."""
    gamma = Fraction(RODAS5P.gamma)
    large = inverse(
        np.array([[Fraction(int(i == j)) for j in range(8)] for i in range(8)]) / gamma - table("coupling")
    )
    weights = table("a")[7].copy()
    weights[7] = Fraction(1)
    return table("a") @ large, large, weights @ large


@functools.cache
def weights(tree: Tree) -> Any:
    """Elementary weights of the stages. Hairer, Wanner II, section IV.7, theorem 7.3: at a vertex with one child
    alpha + Gamma replaces alpha."""
    alpha, large, _ = usual()
    if len(tree) == 1:
        return (alpha + large) @ weights(tree[0])
    phi = np.array([Fraction(1)] * 8, dtype=object)
    for child in tree:
        phi = phi * (alpha @ weights(child))
    return phi


def defect(coefficients: Any, order: int, theta: Fraction = Fraction(1)) -> float:
    """Largest violation of coefficients . Phi = theta^order / density over the trees of an order."""
    return float(
        max(abs(coefficients @ weights(tree) - theta**order / density(tree)) for tree in trees(order))
    )


def furthest(a: Any, b: Any) -> float:
    """The largest difference of two arrays."""
    return float(max(abs(a - b).flat))


def test_sums_of_the_rows() -> None:
    alpha, large, _ = usual()
    assert furthest(alpha.sum(axis=1), table("c")[0]) < 1e-14
    assert furthest(large.sum(axis=1), table("d")[0]) < 1e-14
    assert np.array_equal(table("a")[6], [*table("a")[5][:5], 1, 0, 0])
    assert np.array_equal(table("a")[7], [*table("a")[5][:5], 1, 1, 0])


def test_order_conditions() -> None:
    _, large, b = usual()
    embedded = b - large[7]
    assert [len(trees(order)) for order in range(1, 6)] == [1, 1, 2, 4, 9]
    for order in range(1, 6):
        assert defect(b, order) < 1e-14
    assert defect(b, 6) > 1e-3
    for order in range(1, 5):
        assert defect(embedded, order) < 1e-14
    assert defect(embedded, 5) > 1e-3


def test_order_conditions_of_the_interpolant() -> None:
    _, large, b = usual()
    rows = table("dense") @ large
    for theta in (Fraction(1, 8), Fraction(1, 2), Fraction(13, 16)):
        at = theta * (b + (1 - theta) * (rows[0] + theta * (rows[1] + theta * rows[2])))
        for order in range(1, 5):
            assert defect(at, order, theta) < 5e-14
        assert defect(at, 5, theta) > 1e-5


def test_stability_function() -> None:
    """|R| <= 1 on the imaginary axis and no pole in the left half-plane: A-stable. R is 0 at infinity: L-stable.

    R(z) = 1 + z b (1 - z beta)^-1 1 = P(z) / (1 - gamma z)^8, P of degree 8.
    """
    alpha, large, b = usual()
    beta, gamma = alpha + large, Fraction(RODAS5P.gamma)
    assert furthest(b, beta[7]) < 1e-14  # stiffly accurate
    assert furthest(np.diag(beta), gamma) == 0  # the one pole is 1 / gamma
    series, vector = [Fraction(1)], np.array([Fraction(1)] * 8, dtype=object)
    for _ in range(8):
        series.append(b @ vector)
        vector = beta @ vector
    binomials = [math.comb(8, k) * (-gamma) ** k for k in range(9)]
    p = [sum((binomials[j] * series[k - j] for j in range(k + 1)), Fraction(0)) for k in range(9)]
    assert abs(p[8] / gamma**8) < 1e-13

    def value(z: Fraction, coefficients: list[Fraction]) -> Fraction:
        return sum((c * z**k for k, c in enumerate(coefficients)), Fraction(0))

    for y in (Fraction(x) for x in np.geomspace(2**-7, 2**20, 200).round(9)):
        even, odd = value(-y * y, p[::2]), y * value(-y * y, p[1::2])
        assert even**2 + odd**2 <= (1 + gamma**2 * y**2) ** 8 * (1 + Fraction(1, 10**12))
        assert abs(value(-y, p)) < (1 + gamma * y) ** 8


# ---- systems ----


@functools.cache
def system(kind: str) -> Any:
    """Systems with the stiffness as a parameter: frequency and damping are proportional to 1 / eps."""
    x, y = cg.coordinates("x y")
    v, w = cg.rate(x), cg.rate(y)
    if kind == "van_der_pol":
        return cg.System(
            kind, coordinates=[x], kinetic=v**2 / 2, potential=x**2 / 2, forces={v: mu * (1 - x**2) * v},
            example={mu: 5, x: 2, v: 0},
        )  # fmt: skip
    if kind == "spring":  # two masses on a compliant rod, one of them on a soft spring
        pull = (w - v) / eps
        return cg.System(
            kind, coordinates=[x, y], kinetic=(v**2 + w**2) / 2, potential=x**2 / 2 + (y - x) ** 2 / (2 * eps**2),
            forces={v: pull, w: -pull}, example={eps: 0.1, x: 1, y: 1, v: 0, w: 0},
        )  # fmt: skip
    # a ball that falls on a compliant, critically damped floor and stays there
    touching = sp.Piecewise((1, x < 0), (0, True))
    return cg.System(
        kind, coordinates=[x], kinetic=v**2 / 2, potential=g * x, forces={v: -touching * (x / eps**2 + 2 * v / eps)},
        example={eps: 0.1, g: 9.81, x: 1, v: 0},
    )  # fmt: skip


@functools.cache
def compiled(kind: str) -> Any:
    return system(kind).compile()


def relaxation(time: float, rate: float) -> tuple[float, float]:
    """x and mu x' of Van der Pol's oscillator at t = time * mu from x = 2, up to terms of order mu^-2.

    On the slow branches ln x - x^2/2 = tau + constant; each jump, from 1 to -2,
    takes 3.50716 mu^(-4/3). A. A. Dorodnitsyn, Prikl. Mat. Mekh. 11 (1947) 313-328; E. F. Mishchenko, N. Kh. Rozov,
    Differential Equations with Small Parameters and Relaxation Oscillations, Plenum 1980.
    """
    from mpmath import mp

    half = mp.mpf(3) / 2 - mp.log(2) + mp.mpf("7.01432") / 2 * mp.mpf(rate) ** (-mp.mpf(4) / 3)
    jumps = int(time / half)
    x = mp.sqrt(-mp.lambertw(-mp.exp(2 * (time - jumps * half + mp.log(2) - 2)), -1).real) * (-1) ** jumps
    return float(x), float(x / (1 - x**2))


@pytest.mark.parametrize("method", METHODS)
def test_van_der_pol(method: str) -> None:
    rate, times = 1e6, [0.5, 1.0, 2.0]
    sol = compiled("van_der_pol").integrate(
        (0, 2 * rate), {"x": 2.0, "x_dot": 0.0}, {"mu": rate}, method=method, rtol=1e-8,
        atol={"x": 1e-8, "x_dot": 1e-14}, t_eval=[rate * time for time in times],
    )  # fmt: skip
    assert sol.success
    for column, time in enumerate(times):
        x, slope = relaxation(time, rate)
        assert sol["x"][column] == pytest.approx(x, abs=1e-6)
        assert rate * sol["x_dot"][column] == pytest.approx(slope, abs=1e-6)
    assert sol.nfev < 40_000
    assert 0 < sol.njev <= sol.nlu <= sol.nfev


def spring(stiffness: float, method: str, tolerance: float) -> Any:
    start = {"x": 1.0, "y": 1.5, "x_dot": 0.0, "y_dot": 0.0}
    return compiled("spring").integrate(
        (0, 10), start, {"eps": stiffness}, method=method, rtol=tolerance, atol=tolerance, dense_output=True
    )


def fall(stiffness: float, method: str, tolerance: float) -> Any:
    start, numbers = {"x": 1.0, "x_dot": 0.0}, {"eps": stiffness, "g": 9.81}
    return compiled("floor").integrate(
        (0, 5), start, numbers, method=method, rtol=tolerance, atol=1e-3 * tolerance
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
def test_a_compliant_spring_costs_little_more_when_it_is_stiff(method: str, tolerance: float) -> None:
    soft = spring(0.1, method, tolerance)
    for digits in range(2, 7):
        stiffness = 10.0**-digits
        sol = spring(stiffness, method, tolerance)
        assert sol.success
        assert sol.nfev <= 4 * soft.nfev
        assert sol.n_steps <= 5 * soft.n_steps
        # moving together: m = 2 on the soft spring, from the middle; the ends differ by terms of order eps^2
        middle = (sol["x"] + sol["y"]) / 2
        late = sol.t > 0.1
        error = middle[late] - 1.25 * np.cos(sol.t[late] / np.sqrt(2))
        # the initial transient, of duration eps, has an effect of order eps
        assert np.abs(error).max() < 2 * stiffness + 100 * tolerance
        inside = np.linspace(1, 10, 300)
        x, y = sol.sol(inside)[:2]
        assert (
            np.abs((x + y) / 2 - 1.25 * np.cos(inside / np.sqrt(2))).max() < 2 * stiffness + 300 * tolerance
        )


@pytest.mark.parametrize("method", METHODS)
def test_a_compliant_floor_costs_little_more_when_it_is_stiff(method: str) -> None:
    soft = fall(0.1, method, 1e-6)
    for digits in range(1, 7):
        stiffness = 10.0**-digits
        sol = fall(stiffness, method, 1e-6)
        assert sol.success
        assert sol.nfev <= 2 * soft.nfev
        assert sol["x"][-1] == pytest.approx(-9.81 * stiffness**2, rel=1e-4)  # at rest on the floor
        assert abs(sol["x_dot"][-1]) < 1e-9


def test_the_explicit_method_alone_pays_for_stiffness() -> None:
    """Otherwise the tests above would prove nothing."""
    assert spring(1e-3, "dop853", 1e-6).nfev > 25 * spring(1e-3, "auto", 1e-6).nfev


# ---- the rest of the interface ----

MOTIONS = ["heavy_top", "chaplygin_sleigh", "rotating_particle", "euler_rigid_body"]


@pytest.mark.parametrize("name", MOTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_reference_motions(name: str, method: str) -> None:
    from test_reference_states import CASES, compiled, expected, values_of

    case, example = CASES[name], cg.example(name)
    sol = compiled(name, example.forms[0]).integrate(
        (0, 1), initial=example.initial, parameters=example.parameters, method=method, rtol=1e-12, atol=1e-12
    )
    value = values_of(case, sol, {})
    wanted = expected(case, "1")
    for entry in wanted.keys() - set(case.absent.get(example.forms[0], ())):
        error = abs(float(value(entry)[-1]) - wanted[entry])
        assert error <= 1e-10 * max(1.0, abs(wanted[entry])), entry


@pytest.mark.parametrize("span", [(0.0, 2.0), (2.0, 0.5)])
@pytest.mark.parametrize(
    "force", [0.5, ([0.4, 1.0, 1.6], [1.0, -1.0, 0.5]), ([0, 1, 1, 2], [0, 1, 2, 3], "linear")]
)
def test_rodas5p_in_plain_python_gives_the_same_bits(span: Any, force: Any) -> None:
    x = cg.coordinates("x")
    push, k = cg.inputs("push"), cg.parameters("k", positive=True)
    v = cg.rate(x)
    pushed = cg.System(
        "pushed", coordinates=[x], kinetic=v**2 / 2, potential=k * x**4 / 4, forces={v: push - k * v},
        example={x: 1, v: 0, k: 3, push: 1},
    )  # fmt: skip
    equations = pushed.equations("lagrange")
    native, pure = cg.compile(equations), OracleModel(python_kernels(equations.program, fma), quiet=True)
    times = np.linspace(*span, 7)
    given = (span, {"x": 1.0, "x_dot": 0.2}, {"k": 3.0}, {"push": force})
    options = {"method": "rodas5p", "rtol": 1e-7, "atol": 1e-8, "t_eval": times, "dense_output": True}
    ours, theirs = pure.integrate(*given, **options), native.integrate(*given, **options)
    assert np.array_equal(ours.y, theirs.y)
    assert (ours.nfev, ours.njev, ours.nlu) == (theirs.nfev, theirs.njev, theirs.nlu)
    assert (ours.n_steps, ours.n_rejected) == (theirs.n_steps, theirs.n_rejected)
    inside = np.linspace(*span, 29)
    assert np.array_equal(ours.sol(inside), theirs.sol(inside))


def test_a_function_as_input() -> None:
    """A heavy spring, pulled: q'' = sin(t) - 4 q from rest, the spring partly an input."""
    for pull in (lambda t, y: np.sin(t), lambda t, y: np.sin(t) - y[0]):
        k = float(4.0 + pull(0.0, [1.0, 0.0]))
        for method in METHODS:
            sol = hand_written("oscillator").integrate(
                (0, 5), [0.0, 0.0], [1.0, k], {"F": pull}, method=method, rtol=1e-8, atol=1e-8
            )
            assert sol.success
            assert sol["q"][-1] == pytest.approx((np.sin(5) - np.sin(10) / 2) / 3, abs=1e-6)


LAWS: dict[str, tuple[Any, Any]] = {
    "stiff": (lambda t, y: -1000 * (y[0] - 1) - 2000 * y[1], lambda x, v: -1000 * (x - 1) - 2000 * v),
    "bent": (
        lambda t, y: -1e4 * np.tanh(5 * (y[0] - np.sin(t))) - 200 * y[1],
        lambda x, v: -(10**4) * sp.tanh(5 * (x - sp.sin(cg.time))) - 200 * v,
    ),
    "a difference of states": (lambda t, y: 2000 * (y[0] - y[1]), lambda x, v: 2000 * (x - v)),
}
"""Feedback as a function of the time and the state, and the same in the symbols of a system."""


@functools.cache
def under_feedback(name: str) -> Any:
    """A free mass whose force is an input, or for the name of a law that law."""
    x, u = cg.coordinates("x"), cg.inputs("u")
    v = cg.rate(x)
    force = LAWS[name][1](x, v) if name else u
    return cg.System("mass", coordinates=[x], kinetic=v**2 / 2, forces={v: force}).compile()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
def test_feedback_as_an_input_takes_the_steps_of_a_declared_law(
    law: str, method: str, tolerance: float
) -> None:
    run = {
        "t_span": (0, 5),
        "initial": {"x": 0.5, "x_dot": 0},
        "method": method,
        "rtol": tolerance,
        "atol": tolerance / 1e3,
    }
    declared = under_feedback(law).integrate(**run)
    given = under_feedback("").integrate(**run, inputs={"u": LAWS[law][0]})
    assert declared.n_steps - 2 <= given.n_steps <= 1.02 * declared.n_steps + 2
    assert given["x"][-1] == pytest.approx(declared["x"][-1], abs=30 * tolerance)
    if law == "stiff":
        slow, fast = -1000 + math.sqrt(999000), -1000 - math.sqrt(999000)
        exact = 1 - 0.5 * (fast * math.exp(5 * slow) - slow * math.exp(5 * fast)) / (fast - slow)
        assert given["x"][-1] == pytest.approx(exact, abs=10 * tolerance)
        explicit = under_feedback("").integrate(**run | {"method": "dop853"}, inputs={"u": LAWS[law][0]})
        assert given.n_steps < explicit.n_steps / 15


@pytest.mark.parametrize("method", METHODS)
def test_feedback_in_steppers_and_ensembles(method: str) -> None:
    model, law = under_feedback(""), {"u": LAWS["stiff"][0]}
    start = {"x": 0.5, "x_dot": 0}
    alone = model.integrate((0, 5), start, inputs=law, method=method)
    run = model.stepper(start, inputs=law, method=method)
    assert np.array_equal(run.advance(5.0), alone.y[:, -1])
    assert run.n_steps == alone.n_steps
    ens = model.ensemble((0, 5), {"x": [0.5, 0.2], "x_dot": 0}, inputs=law, method=method)
    assert np.array_equal(ens.y[:, 0], alone.y[:, -1])
    run = model.stepper(start, method=method)
    run.advance(1.0)
    before = run.n_steps
    run.set_inputs(u=law["u"])
    saved = run.save()
    there = run.advance(6.0)
    assert run.n_steps - before < 2 * alone.n_steps
    run.restore(saved)
    assert np.array_equal(run.advance(6.0), there)


def test_feedback_is_called_where_the_motion_goes_and_functions_of_the_time_once_more() -> None:
    calls: list[float] = []

    def one_sided(t: float, y: Any) -> float:
        assert y[0] >= 0
        return float(-1000 * y[0])

    model = under_feedback("")
    sol = model.integrate((0, 0.04), {"x": 0, "x_dot": 1}, inputs={"u": one_sided}, method="rodas5p")
    assert sol["x"][-1] == pytest.approx(math.sin(0.04 * math.sqrt(1000)) / math.sqrt(1000), abs=1e-6)

    def timed(t: float) -> float:
        calls.append(t)
        return math.cos(t)

    sol = model.integrate((0, 5), {"x": 0, "x_dot": 1}, inputs={"u": timed}, method="rodas5p")
    assert sol["x"][-1] == pytest.approx(5 + 1 - math.cos(5), abs=1e-5)
    assert len(calls) <= sol.nfev + sol.njev + 1


@pytest.mark.parametrize("scalar", ["double", "float"])
def test_feedback_in_a_c_bundle(tmp_path: Path, scalar: str) -> None:
    under_feedback("").export_c(tmp_path, METHODS, initial={"x": 0.5, "x_dot": 0}, scalar=scalar)
    single = {"(double)": "(DOUBLE)", "double": "float", "DOUBLE": "double", ".0": ".0f", "1e-6": "1e-4f"}
    text = FEEDBACK
    for old, new in single.items() if scalar == "float" else ():
        text = text.replace(old, new)
    (tmp_path / "program.c").write_text(text)
    sources = [file for file in ("program.c", "mass.c", "cg_runtime.c") if (tmp_path / file).exists()]
    called([need("gcc"), "-std=c99", *STRICT, *sources, "-o", "program", "-lm"], tmp_path)
    tolerance = 1e-6 if scalar == "double" else 1e-4
    for method, line in zip(METHODS, called([tmp_path / "program"], tmp_path).splitlines()):
        declared = under_feedback("stiff").integrate(
            (0, 5), {"x": 0.5, "x_dot": 0}, method=method, rtol=tolerance, atol=tolerance
        )
        steps, x = map(float, line.split())
        assert steps <= 1.2 * declared.n_steps
        assert x == pytest.approx(declared["x"][-1], abs=100 * tolerance)


FEEDBACK = """#include "mass.h"
#include <stdio.h>

static int law(void *context, double t, const double *x, double *u)
{
    (void)context;
    (void)t;
    u[0] = -1000.0 * (x[0] - 1.0) - 2000.0 * x[1];
    return CG_OK;
}

static CG_BLOCK(memory, MASS_RUN_SIZE);

int main(void)
{
    static const char *const methods[2] = {"rodas5p", "auto"};
    static const cg_signal_t signal = {CG_SIGNAL_CALL, 0, 0, NULL, NULL, 0, 0, 0};
    const double x0[2] = {1.0 / 2.0, 0.0};
    for (int i = 0; i < 2; i++) {
        cg_run_t *const run = (cg_run_t *)(void *)memory;
        if (cg_run_init(run, sizeof memory, &mass_model, methods[i], 0) != CG_OK) return 1;
        cg_run_set_tolerances(run, 1e-6, 1e-6);
        run->signals = &signal;
        run->input_fn = law;
        if (cg_run_start(run, 0, x0, 0) != CG_OK || cg_run_advance(run, CG_TIME(5, 1)) != CG_OK) return 1;
        printf("%d %.9g\\n", (int)run->n_steps, (double)run->x[0]);
    }
    return 0;
}
"""


def test_steppers_continue_bit_for_bit() -> None:
    for method in METHODS:
        run = compiled("van_der_pol").stepper({"x": 2.0, "x_dot": 0.0}, {"mu": 1e3}, method=method, rtol=1e-7)
        run.advance(805.0)
        snapshot = run.save()
        ahead = [run.advance(t) for t in (806.9, 808.0, 1200.0)]
        run.restore(snapshot)
        assert np.array_equal(ahead, [run.advance(t) for t in (806.9, 808.0, 1200.0)])


def test_ensembles_take_them() -> None:
    stiffness = 10.0 ** -np.arange(1, 6)
    for method in METHODS:
        ens = cg.ensemble(
            compiled("floor"), (0, 3), initial={"x": 1.0, "x_dot": 0.0}, parameters={"eps": stiffness, "g": 9.81},
            method=method, rtol=1e-6, atol=1e-12,
        )  # fmt: skip
        assert ens.success
        assert ens["x"] == pytest.approx(-9.81 * stiffness**2, rel=1e-3)


def test_the_audit_takes_them() -> None:
    for method in METHODS:
        sol = compiled("spring").integrate(
            (0, 5), {"x": 1.0, "y": 1.0, "x_dot": 0.0, "y_dot": 0.0}, {"eps": 0.05}, method=method, rtol=1e-7
        )
        assert sol.audit().passed


def test_a_model_without_a_jacobian_is_refused_by_name() -> None:
    for method in METHODS:
        with pytest.raises(
            ArgumentError, match=f"method '{method}' needs the Jacobian of the model, and sleigh"
        ):
            hand_written("sleigh").integrate((0, 1), [0.0] * 5, [1.0] * 3, [0.0], method=method)
