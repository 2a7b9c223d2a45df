"""Errors that suggest the correction, for mistakes of newcomers from other packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from runtime_models import needs_core
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

import chaplygin as cg
from chaplygin.codegen.symbols.symbols import DeclarationError
from chaplygin.codegen.system.points import example_point, good_points, wide_points
from chaplygin.errors import ArgumentError, FormError
from chaplygin.runtime.problem.given_inputs import parse

x, y, z = cg.coordinates("x y z")
u, v, w = cg.velocities("u v w")
X, Y, Z = map(cg.rate, (x, y, z))
q = dynamicsymbols("q")
FREE: dict[str, Any] = {"coordinates": [x, y, z], "kinetic": (X**2 + Y**2 + Z**2) / 2}
CIRCLE = x**2 + y**2 - 1


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ({"kinematics": [u, v], "kinetic": u**2}, r"kinematics is list; give a dict \{coordinate: dx/dt\}"),
        ({"kinematics": [(x, u)], "kinetic": u**2}, r"kinematics is list; give a dict"),
        (
            {"coordinates": [q], "kinetic": q.diff() ** 2},
            r"q\(t\) is a function of time.*q = coordinates\('q'\)",
        ),
        ({"kinematics": {q: u}, "kinetic": u**2}, r"kinematics: q\(t\) is a function of time"),
        ({**FREE, "potential": q}, r"potential: q\(t\) is a function of time.*rate\(q\) for its derivative"),
        ({**FREE, "kinetic": q.diff() ** 2}, r"kinetic: q\(t\) is a function of time"),
        ({**FREE, "potential": sp.Symbol("t")}, "the time is chaplygin.time"),
        ({**FREE, "forces": {x: 1}}, r"x is a coordinate, .* use rate\(x\) as the key"),
        ({**FREE, "forces": {q: 1}}, r"forces: q\(t\) is not a velocity .* is a function of time"),
        (
            {"kinematics": {x: u, y: v}, "kinetic": u**2 + v**2, "forces": {x: 1}},
            "x is a coordinate, .* a force F along x adds F times the coefficient of v in dx/dt",
        ),
        (
            {"coordinates": [x], "kinetic": X**2 + Y**2},
            "symbol 'y_dot': it is the rate of y, which is not a coordinate of the system",
        ),
        (
            {**FREE, "contacts": [cg.Coulomb("sole", slip=x, normal=1, mu=1)]},
            r"slip contains no velocity; it is a relative velocity, such as rate\(x\)",
        ),
        ({**FREE, "kinetic": X > 0}, "kinetic is a condition; give its left-hand side minus its right-hand"),
    ],
)
def test_a_declaration_in_the_manner_of_others(declaration: dict[str, Any], message: str) -> None:
    refused(message, cg.System, "other_manner", error=DeclarationError, **declaration)


BALL = cg.joint.free(None, name="ball", mass=1, inertia=[1, 1, 1])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: cg.rate("x"), r"rate\('x'\): the argument must be a coordinate"),
        (lambda: cg.Event(y < 0), r"Event\(y < 0\): expr is a condition; give its left-hand side minus"),
        (lambda: cg.Event(y, reset={"y_dot": 0}), "reset: use the symbol y_dot as a key, not its name"),
        (
            lambda: cg.Body("b", mass=1, inertia=3),
            "inertia = 3 is not a 3x3 matrix, nor has it three principal",
        ),
        (
            lambda: cg.rolling(BALL, (0, 0, 0), directions=(1, 0, 0)),
            "directions is one vector; give a list of",
        ),
        (lambda: cg.rolling(BALL, (0, 0, 0), directions=3), "directions is int; give a list"),
    ],
)
def test_parts_of_a_declaration(wrong: Callable[[], Any], message: str) -> None:
    refused(message, wrong, error=DeclarationError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outputs": {"z": x}}, r"outputs\['z'\] contains chaplygin's coordinate x; .* with dynamicsymbols"),
        ({"outputs": {"v": cg.velocities("v")}}, "contains chaplygin's velocity v;"),
        ({"events": [cg.Event(x)]}, "the event 1 contains chaplygin's coordinate x;"),
        ({"prescribed": {"f": lambda t: t}}, r"prescribed\[f\(t\)\] is not a SymPy expression"),
    ],
)
def test_a_model_of_sympy_keeps_its_symbols(options: dict[str, Any], message: str) -> None:
    lagrange = LagrangesMethod(q.diff() ** 2 / 2 + q * dynamicsymbols("f"), [q])
    refused(message, cg.from_sympy, lagrange, "mixed", error=DeclarationError, **options)


def test_systems_and_equations_have_no_runs() -> None:
    free = cg.System("free", **FREE)
    for given in (free, free.equations()):
        with pytest.raises(AttributeError, match=r"no attribute 'integrate'; its model has it: compile\(\)"):
            _ = given.integrate
        with pytest.raises(AttributeError, match=r"no attribute 'integrat'$"):
            _ = given.integrat


@pytest.mark.parametrize("given", [{}, {"example": {x: 0.6, y: 0.8, z: 0}}])
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"holonomic": [CIRCLE, 2 * CIRCLE]},
            r"holonomic\[1\] is redundant.* of those of holonomic\[0\]; remove",
        ),
        ({"holonomic": [CIRCLE, sp.sqrt(x**2 + y**2) - 1]}, r"holonomic\[1\] is redundant"),
        ({"holonomic": [CIRCLE, x**2 + y**2 - 4]}, r"holonomic\[1\] contradicts holonomic\[0\]"),
        ({"holonomic": [z, CIRCLE, sp.exp(CIRCLE) - 3]}, r"holonomic\[2\] contradicts holonomic\[1\]"),
        (
            {"holonomic": [z, x - y, x - y + z]},
            r"holonomic\[2\] is redundant.*holonomic\[0\] and holonomic\[1\]",
        ),
        ({"constraints": [Z - X, 2 * Z - 2 * X]}, r"constraints\[1\] is redundant.*constraints\[0\]"),
        ({"constraints": [Z - 1, Z - 2]}, r"constraints\[1\] contradicts constraints\[0\]"),
        ({"constraints": [X, Y - z, Y + X - z]}, r"constraints\[2\] is redundant"),
        (
            {"constraints": [X, Y - z, Y + X - 2 * z]},
            r"constraints\[2\] contradicts constraints\[0\] and cons",
        ),
        ({"constraints": [X - Y], "holonomic": [x - y]}, r"holonomic\[0\] is redundant.*constraints\[0\]"),
        ({"holonomic": [sp.Integer(3)]}, r"holonomic\[0\] (contains no coordinate|= 3 at the example point)"),
    ],
)
def test_constraints_that_depend_on_one_another(more: dict[str, Any], given: Any, message: str) -> None:
    refused(message, cg.System, "dependent", error=DeclarationError, **FREE, **more, **given)


def test_two_equations_that_fill_the_plane_are_still_redundant() -> None:
    """As many constraints as velocities, but only one is independent."""
    with pytest.raises(DeclarationError, match=r"holonomic\[1\] is redundant"):
        cg.System("diagonal", coordinates=[x, y], kinetic=X**2 + Y**2, holonomic=[x - y, 2 * x - 2 * y])
    held = cg.System("diagonal", coordinates=[x, y], kinetic=X**2 + Y**2, holonomic=[x - y, x + y])
    assert held.equations().form == "multipliers"


def test_forms_send_to_one_that_fits() -> None:
    """Suslov's problem with a quaternion: redundant coordinates and a constraint."""
    a, b, c, d = cg.coordinates("a b c d")
    system = cg.System(
        "suslov_quaternion",
        kinematics={
            a: (-b * u - c * v - d * w) / 2,
            b: (a * u + c * w - d * v) / 2,
            c: (a * v + d * u - b * w) / 2,
            d: (a * w + b * v - c * u) / 2,
        },
        kinetic=(u**2 + 2 * v**2 + 3 * w**2) / 2,
        constraints=[w],
        example={a: 1, b: 0, c: 0, d: 0},
    )
    for form in ("hamel", "poincare", "chetaev", "routh"):
        refused("use 'maggi'", system.equations, form, error=FormError)
    assert system.equations("maggi").states == ("a", "b", "c", "d", "u", "v")
    quasi = cg.System("quasi", kinematics={x: 2 * u}, kinetic=u**2)
    for form in ("maggi", "multipliers"):
        refused("use 'poincare'", quasi.equations, form, error=FormError)


@pytest.fixture(scope="module")
def oscillator() -> Any:
    return cg.example("harmonic_oscillator").system.compile("lagrange")


@needs_core
@pytest.mark.parametrize(
    ("method", "right"),
    [
        ("RK45", "use 'tsit5'"), ("RK23", "use 'tsit5'"), ("dopri5", "use 'tsit5'"), ("Radau", "use 'rodas5p'"),
        ("BDF", "use 'rodas5p'"), ("LSODA", "use 'auto'"), ("DOP853", "did you mean 'dop853'"),
    ],
)  # fmt: skip
def test_methods_of_others(oscillator: Any, method: str, right: str) -> None:
    start, p = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 4.0}
    for call in (
        lambda: oscillator.integrate((0, 1), start, p, method=method),
        lambda: oscillator.stepper(start, p, method=method),
        lambda: cg.ensemble(oscillator, (0, 1), start, p, n=3, method=method),
    ):
        refused(right, call)


@needs_core
def test_arrays_and_dicts_the_other_way_round(oscillator: Any) -> None:
    p = {"m": 1.0, "k": 4.0}
    many = [{"x": 1.0, "x_dot": 0.0}, {"x": 2.0, "x_dot": 0.0}]
    for n in (None, 5):
        refused(r"give the transpose, array\.T", cg.ensemble, oscillator, (0, 1), np.ones((5, 2)), p, n=n)
    for n in (None, 2):
        refused("initial is a list of dicts; give one dict", cg.ensemble, oscillator, (0, 1), many, p, n=n)
    refused("parameters is a list of dicts", cg.ensemble, oscillator, (0, 1), many[0], [p, p], n=2)
    refused("initial is a list of dicts", oscillator.integrate, (0, 1), many, p)
    with pytest.raises(ArgumentError, match=r"initial has shape \(5, 2\).* use chaplygin\.ensemble"):
        oscillator.integrate((0, 1), np.ones((5, 2)), p)


@needs_core
@pytest.mark.parametrize("many", [1000, np.int64(1000)])
def test_a_number_of_runs_in_the_place_of_their_start(oscillator: Any, many: Any) -> None:
    start, p = {"x": [1.0, 2.0], "x_dot": 0.0}, {"m": 1.0, "k": 4.0}
    for call in (
        lambda *given: cg.ensemble(oscillator, (0, 1), *given),
        lambda *given: oscillator.ensemble((0, 1), *given),
        oscillator.batch,
    ):
        for given in ((many,), (many, start, p)):
            refused(r"initial = .*1000\)? is a number; .* is n=.*1000", call, *given)
        assert len(call(start, p)) == 2
    refused(r"state = 0\.5 is a number; .*The time is t=0\.5", oscillator.linearize, 0.5, start, p)
    refused("n, the number of trajectories, is missing", oscillator.batch, {"x": 1.0, "x_dot": 0.0}, p)


@needs_core
def test_quantities_are_not_attributes(oscillator: Any) -> None:
    sol = oscillator.integrate((0, 1), {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 4.0})
    with pytest.raises(AttributeError, match=r"no attribute 'energy'; this quantity is sol\['energy'\]$"):
        _ = sol.energy
    with pytest.raises(AttributeError, match=r"no attribute 'to_csv'$"):
        _ = sol.to_csv


class Failing(cg.System):
    @property
    def states(self) -> Any:
        return self.name.nothing


def test_errors_inside_properties_stay() -> None:
    with pytest.raises(AttributeError, match="'str' object has no attribute 'nothing'"):
        _ = Failing("free", **FREE).states


@needs_core
def test_arguments_by_the_names_of_others(oscillator: Any) -> None:
    start, p = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 4.0}
    for name, right in (("y0", "initial"), ("args", "parameters"), ("u", "inputs"), ("dt", "step")):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'; did you mean {right}"):
            oscillator.integrate((0, 1), start, p, **{name: start})
    refused("parameters: missing m, k", oscillator.integrate, (0, 1), start)
    with pytest.raises(ArgumentError, match=r"key Derivative.* is not a name; names are strings, as"):
        oscillator.integrate((0, 1), {x: 1.0, q.diff(): 0.0, "x_dot": 0.0}, p)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2, 3], r"tau is sampled with 3; give .* as in \(times, values, 'linear'\), or"),
        (
            sp.sin(cg.time),
            r"tau = sin\(t\) is not a real number; give a number, samples \(times, values\) or a",
        ),
    ],
)
def test_an_input_is_a_number_samples_or_a_function(given: Any, message: str) -> None:
    refused(message, parse, {"tau": given}, ("tau",))


def test_the_time_of_an_example_is_zero_unless_it_gives_one() -> None:
    moving = {"coordinates": [x, y], "kinetic": X**2 + Y**2, "holonomic": [x - sp.cos(cg.time)]}
    assert example_point(cg.System("moving", **moving, example={x: 1, y: 0}).nodes)["t"] == 0
    later = cg.System("moving", **moving, example={x: sp.cos(2), y: 0, cg.time: 2})
    assert example_point(later.nodes)["t"] == 2
    words = r"at t = 0: the example gives no time; add chaplygin\.time as a key"
    refused(words, cg.System, "moving", example={x: 2, y: 0}, error=DeclarationError, **moving)
    with pytest.raises(DeclarationError, match=r"holonomic\[0\] = .* at the example point.*\(at t = 2\)"):
        cg.System("moving", **moving, example={x: 1, y: 0, cg.time: 2})


def test_random_points_keep_the_assumptions() -> None:
    a = cg.parameters("a", negative=True)
    n = cg.parameters("n", integer=True, positive=True)
    k = cg.parameters("k", odd=True)
    r = cg.coordinates("r", positive=True)
    system = cg.System("assumed", coordinates=[r], kinetic=cg.rate(r) ** 2, potential=a * r**2 * n * k)
    points = good_points(system.nodes, [], 10) + wide_points(system.nodes, [], 20, system.nodes.graph)
    for point in points:
        assert point["a"] < 0
        assert point["r"] > 0
        assert point["n"] >= 1
        assert point["n"] == int(point["n"])
        assert point["k"] % 2 == 1
