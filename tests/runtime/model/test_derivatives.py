"""Derivatives of kernels by everything that they depend on: along directions and in reverse."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from c_runtime import run
from dense_chain import dense_chain
from integrations import need
from mpmath import mp
from processes import CountingCompiler, python

import chaplygin as cg
from chaplygin.codegen.emit.c_derivatives import derivatives_file
from chaplygin.codegen.lower.derivatives import with_derivatives
from chaplygin.codegen.plan.plan import plan
from chaplygin.runtime.interface.files import INCLUDE
from chaplygin.runtime.model.derivatives import derivatives

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-Wno-psabi"]


def differences(model: Any, kernel: str, point: tuple[Any, ...], event: str | None = None) -> Any:
    """The Jacobian by central differences, extrapolated twice: the step is far above rounding."""
    t, x, p, u = (np.atleast_1d(np.array(part, float)) for part in point)
    ends = np.cumsum([1, len(x), len(p)])
    z = np.concatenate([t, x, p, u[: len(model.inputs)]])

    def value(z: Any) -> Any:
        t, x, p, controls = np.split(z, ends)
        controls = np.concatenate([controls, u[len(model.inputs) :]])
        return model.call(kernel, t[0], x, p, controls, event=event)

    def central(i: int, h: float) -> Any:
        step = np.zeros(len(z))
        step[i] = h
        return (value(z + step) - value(z - step)) / (2 * h)

    columns = []
    for i in range(len(z)):
        rows = [central(i, h) for h in (4e-3, 2e-3, 1e-3)]
        first = [(4 * b - a) / 3 for a, b in pairwise(rows)]
        columns.append((16 * first[1] - first[0]) / 15)
    return np.array(columns).T


def ball() -> cg.System:
    """A ball on an inclined plane, driven and bouncing at a wall; its position is read from a moving scale."""
    x = cg.coordinates("x")
    m, g, alpha, e, w = cg.parameters("m g alpha e w", positive=True)
    v = cg.rate(x)
    drive = cg.inputs("drive")
    return cg.System(
        "driven_ball",
        coordinates=[x],
        kinetic=m * v**2 / 2,
        potential=m * g * sp.sin(alpha) * x,
        forces={v: drive - v**3 * sp.cos(w * cg.time)},
        outputs={"on_scale": x * sp.exp(w * cg.time) + drive},
        events=[cg.Event(x - w, name="wall", direction=-1, reset={v: -e * v * sp.cos(x)})],
    )


def free_ball() -> cg.System:
    """A ball that bounces, and ends its run high up, without inputs."""
    x = cg.coordinates("x")
    v = cg.rate(x)
    events = [cg.Event(x, direction=-1, reset={v: -v}), cg.Event(x - 9, terminal=True)]
    return cg.System("free_ball", coordinates=[x], kinetic=v**2 / 2, potential=x, events=events)


def passed() -> cg.System:
    """A kink where an input is."""
    x = cg.coordinates("x")
    v = cg.rate(x)
    force = {v: cg.parameters("k") * sp.sign(x - cg.inputs("u"))}
    return cg.System("passed", coordinates=[x], kinetic=v**2 / 2, forces=force)


def check(model: Any, point: tuple[Any, ...], names: dict[str, str | None]) -> None:
    """Compare the kernels `names`, each with its event, with differences and, in reverse, with themselves."""
    found, random = derivatives(model), np.random.default_rng(0)
    for name, event in names.items():
        expected = differences(model, "reset" if event else name, point, event)
        jacobian = found.jacobian(name, *point)
        scale = 1 + np.abs(expected).max()
        np.testing.assert_allclose(jacobian, expected, rtol=0, atol=2e-9 * scale, err_msg=name)
        weights = random.normal(size=(len(expected), 3))
        reverse = found.adjoint(name, *point, weights)
        np.testing.assert_allclose(reverse, jacobian.T @ weights, rtol=0, atol=1e-12 * scale, err_msg=name)


def test_every_kernel_of_a_model_with_an_event_and_an_input() -> None:
    model = ball().compile("lagrange")
    point = 0.3, [0.7, -1.2], [0.4, 0.8, 9.0, 1.5, 0.6], [0.25]
    check(model, point, dict.fromkeys(("rhs", "outputs", "guards")) | {"reset_0": "wall"})


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", ["ball", "free_ball", "passed", "painleve_klein", "harmonic_oscillator"])
@pytest.mark.sample(4)
def test_the_c_of_derivatives_compiles_without_a_warning(name: str, compiler: str, tmp_path: Path) -> None:
    """Of models with resets, kinks, contacts or none of them, with inputs and without."""
    systems = {"ball": ball, "free_ball": free_ball, "passed": passed}
    program = (systems[name]() if name in systems else cg.example(name).system).equations().program
    files: dict[str, str] = {}
    for kind in ("along", "adjoint"):
        files |= derivatives_file(program, plan(with_derivatives(program, kind)), kind, "test")
    for file, text in files.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    for lanes in (1, 4):
        command = [need(compiler), *STRICT, f"-I{INCLUDE}", f"-DCG_LANES={lanes}", "-DCG_EXPORTED="]
        run([*command, "-fsyntax-only", *files], tmp_path)


def test_momenta_follow_from_declared_velocities() -> None:
    example = cg.example("euler_rigid_body")
    model = example.system.compile("chetaev")
    p = [example.parameters[name] for name in model.parameters]
    x = [0.3 + 0.1 * i for i in range(len(model.declared))]
    check(model, (0.0, x, p, []), {"initial": None, "rhs": None})


def test_contacts_keep_their_modes() -> None:
    example = cg.example("painleve_klein")
    model = example.system.compile()
    p = [example.parameters[name] for name in model.parameters]
    x = [0.2 + 0.3 * i for i in range(len(model.states))]
    modes = [1.0] * len(model.modes)
    point = 0.0, x, p, [0.1] * len(model.inputs) + modes
    check(model, point, dict.fromkeys(("rhs", "contacts", "project")))


@pytest.mark.slow
def test_a_large_mass_matrix_is_solved_in_all_directions_at_once() -> None:
    model = dense_chain(13).system.compile("lagrange")
    random = np.random.default_rng(3)
    y, p = random.normal(size=len(model.states)), random.uniform(1, 2, len(model.parameters))
    n, scale = len(y), 1 + np.abs(model.jacobian(0, y, p)).max()
    found = derivatives(model).jacobian("rhs", 0, y, p)
    np.testing.assert_allclose(found[:, 1 : 1 + n], model.jacobian(0, y, p), rtol=0, atol=1e-12 * scale)
    weights = random.normal(size=n)
    reverse = derivatives(model).adjoint("rhs", 0, y, p, (), weights)
    np.testing.assert_allclose(reverse, found.T @ weights, rtol=0, atol=1e-11 * scale)


def test_the_adjoint_leaves_what_depends_on_parameters_alone_to_the_start_and_end_of_a_sweep() -> None:
    """Of an acceleration -g/l sin(phi): g/l is computed once, and so is what follows from the derivative by it."""
    phi = cg.coordinates("phi")
    g, length, m = cg.parameters("g l m", positive=True)
    kinetic = m * length**2 * cg.rate(phi) ** 2 / 2
    system = cg.System("plain", coordinates=[phi], kinetic=kinetic, potential=-m * g * length * sp.cos(phi))
    made = plan(with_derivatives(system.equations("lagrange").program, "adjoint"))
    sweep, end = made.schedule("adjoint_rhs"), made.schedule("adjoint_parameters")
    assert sweep.hoisted > 0
    assert sweep.divisions == 0
    assert made.kernels["adjoint_parameters"].directions == 1
    assert end.divisions > 0


def test_a_derivative_is_exact_to_rounding() -> None:
    """Of a pendulum's acceleration -g/l sin(phi), by all it depends on, against 30 digits."""
    phi = cg.coordinates("phi")
    g, length, m = cg.parameters("g l m", positive=True)
    kinetic = m * length**2 * cg.rate(phi) ** 2 / 2
    system = cg.System(
        "pendulum", coordinates=[phi], kinetic=kinetic, potential=-m * g * length * sp.cos(phi)
    )
    model = system.compile("lagrange")
    point = 0.7, 9.81, 0.3, 2.0
    with mp.workdps(30):
        exact = [
            mp.diff(
                lambda phi, g, length, m: -g / length * mp.sin(phi),
                point,
                tuple(int(i == j) for j in range(4)),
            )
            for i in range(4)
        ]
    row = derivatives(model).jacobian("rhs", 0, {"phi": 0.7, "phi_dot": 0}, {"g": 9.81, "l": 0.3, "m": 2})[1]
    names = derivatives(model).variables("rhs")
    found = [row[names.index(name)] for name in ("phi", "g", "l", "m")]
    np.testing.assert_allclose(found, np.array(exact, float), rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("rsh", (1, 0), (1, 4), (), [0] * 5), "'rsh' is not a kernel .* did you mean rhs"),
        (("rhs", (1, 0), (1, 4), (), [0] * 4), r"directions have shape \(4,\); \(5,\) or \(5, k\) is needed"),
        (("rhs", (1, 0, 2), (1, 4), (), [0] * 5), "y has shape"),
        (("rhs", (1, 0), {"m": 1}, (), [0] * 5), "p: missing k"),
    ],
)
def test_wrong_arguments_are_named(given: tuple[Any, ...], message: str) -> None:
    from chaplygin.generated.harmonic_oscillator import model

    kernel, x, p, u, v = given
    with pytest.raises(cg.ArgumentError, match=message):
        derivatives(model).along(kernel, 0, x, p, u, v)


def test_a_second_process_compiles_nothing_and_needs_no_sympy(tmp_path: Any) -> None:
    work = """
        import sys
        from chaplygin.generated.harmonic_oscillator import model
        from chaplygin.runtime.model.derivatives import derivatives
        found = derivatives(model).along("rhs", 0, (1, 0), (1, 4), (), [0, 0, 0, 0, 1])
        assert found.tolist() == [0, -1], found
        print("sympy" in sys.modules)
    """
    compiler = CountingCompiler(tmp_path)
    python(work, env=compiler.env)
    assert compiler.new_calls()
    assert python(work, env=compiler.env) == "False\n"
    assert not compiler.calls()


HALF = sp.Rational(1, 2)
POWERS = {
    "x**(3/2)": lambda x, v, k, p: k * x ** (3 * HALF),
    "|x|**(5/2)": lambda x, v, k, p: k * sp.Abs(x) ** (5 * HALF),
    "half of x + |x|": lambda x, v, k, p: k * ((x + sp.Abs(x)) / 2) ** (3 * HALF) * (1 + v),
    "Hertz": lambda x, v, k, p: sp.Piecewise((k * x ** (3 * HALF) + v * x * sp.sqrt(x), x > 0), (0, True)),
    "x**p": lambda x, v, k, p: k * x**p,
}


@pytest.mark.parametrize("name", list(POWERS))
@pytest.mark.sample(1)
def test_powers_above_one_have_derivatives_at_zero(name: str) -> None:
    """They vanish there, by the base and by the exponent; elsewhere they are those of SymPy."""
    x, k, p = cg.coordinates("x"), *cg.parameters("k p", positive=True)
    v = cg.rate(x)
    force = POWERS[name](x, v, k, p)
    model = cg.System("power", coordinates=[x], kinetic=v**2 / 2, forces={v: -force}).compile()
    numbers = {"k": 4.0, "p": 1.5}
    given = {each: numbers[each] for each in model.parameters}
    weights, more = [0.0, 1.0], len(given)
    for at in (0.0, 0.3):
        by = (x, v, *(s for s in (k, p) if s.name in given))
        slopes = [sp.diff(-force, s) if at else sp.S.Zero for s in by]
        exact = [float(slope.subs({x: at, v: 0.7, k: 4.0, p: 1.5})) for slope in slopes]
        found = derivatives(model)
        state = {"x": at, "x_dot": 0.7}
        np.testing.assert_allclose(found.jacobian("rhs", 0, state, given)[1, 1:], exact, atol=1e-14)
        adjoint = found.adjoint("rhs", 0, state, given, (), weights)
        np.testing.assert_allclose(adjoint[1 : 3 + more], exact, atol=1e-14)
        np.testing.assert_allclose(model.jacobian(0, state, given)[1], exact[:2], atol=1e-14)
