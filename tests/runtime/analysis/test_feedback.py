"""Exponents and multipliers of motions whose inputs are functions of the state: those of the same law, declared."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import sympy as sp
from unit_masses import unit_masses

import chaplygin as cg

x, y = cg.coordinates("x y")
force, other = cg.inputs("force other")
mu, drive = cg.parameters("mu drive")
u, w = cg.rate(x), cg.rate(y)
VAN_DER_POL = mu * (1 - x**2) * u


@functools.cache
def compiled(what: str) -> Any:
    """Two oscillators, coupled, and a pendulum in x, y: with the law of a force declared, or as an input."""
    law, _, kind = what.partition(" ")
    if kind == "pendulum":
        given = {"potential": 9.81 * y, "holonomic": [x**2 + y**2 - 1], "forces": {u: -mu * u, w: -mu * w}}
        if law == "fed":
            given["forces"] = {u: force, w: other}
        return unit_masses("fed_pendulum", [x, y], **given).compile("multipliers")
    forces = {u: VAN_DER_POL + drive * sp.cos(cg.time), w: mu * (1 - y**2) * w - x / 3}
    if law == "fed":
        forces = {u: force, w: other}
    return unit_masses("fed_oscillators", [x, y], potential=(x**2 + 2 * y**2) / 2, forces=forces).compile()


def laws(m: float, d: float) -> dict[str, Any]:
    def first(t: float, z: Any) -> float:
        assert len(z) == 4  # the states, and nothing else
        return m * (1 - z[0] ** 2) * z[2] + (d * np.cos(t) if d else 0.0)

    return {"force": first, "other": lambda t, z: m * (1 - z[1] ** 2) * z[3] - z[0] / 3}


@functools.cache
def alone() -> tuple[Any, Any]:
    """Van der Pol's oscillator, declared and by its input."""
    given = {"coordinates": [x], "kinetic": u**2 / 2, "potential": x**2 / 2}
    declared = cg.System("van_der_pol", **given, forces={u: VAN_DER_POL + drive * sp.cos(cg.time)}).compile()
    return declared, cg.System("van_der_pol_by_input", **given, forces={u: force}).compile()


@pytest.mark.slow
@pytest.mark.parametrize("m", [0.5, 1.0, -1.0])
def test_van_der_pol_by_its_input(m: float) -> None:
    """Its period is solved for, since the function does not depend on the time, nor the law where its drive is zero.

    For m < 0 the orbit is unstable.
    """
    declared, fed = alone()
    start, law = {"x": 2.0, "x_dot": 0.0}, {"force": lambda t, z: m * (1 - z[0] ** 2) * z[1]}
    expected, found = (
        declared.periodic(start, 6.5, {"mu": m, "drive": 0.0}),
        fed.periodic(start, 6.5, inputs=law),
    )
    assert found.period == pytest.approx(expected.period, rel=1e-10)
    assert found.multipliers == pytest.approx(expected.multipliers, rel=1e-8)
    assert (found.n_ones, found.stable) == (1, m > 0) == (expected.n_ones, expected.stable)
    assert found.differences == ("force",)
    assert expected.differences == ()
    assert "; force differentiated by differences>" in repr(found)
    if m > 0:
        how = {"rtol": 1e-10, "atol": 1e-12}
        one = declared.lyapunov((0, 40), start, {"mu": m, "drive": 0.0}, **how)
        two = fed.lyapunov((0, 40), start, inputs=law, **how)
        assert two.values == pytest.approx(one.values, abs=1e-9)
        assert "; force differentiated by differences>" in repr(two)


@pytest.mark.parametrize("d", [0.0, pytest.param(2.5, marks=pytest.mark.slow)])
def test_two_inputs_of_several_states_and_the_time(d: float) -> None:
    """Where a function depends on the time, the period is the given one."""
    numbers, start = {"mu": 0.8, "drive": d}, {"x": 1.5, "y": 0.3, "x_dot": 0.2, "y_dot": 0.1}
    declared, fed = compiled("declared oscillators"), compiled("fed oscillators")
    how = {"rtol": 1e-10, "atol": 1e-12}
    one = declared.lyapunov((0, 10), start, numbers, **how)
    two = fed.lyapunov((0, 10), start, inputs=laws(0.8, d), **how)
    assert two.values == pytest.approx(one.values, abs=1e-8)
    settled = declared.integrate((0, 40 * np.pi), start, numbers, **how).y[:, -1]
    begin = dict(zip(declared.states, settled.tolist(), strict=True))
    if d:
        one, two = (
            declared.periodic(begin, 2 * np.pi, numbers),
            fed.periodic(begin, 2 * np.pi, inputs=laws(0.8, d)),
        )
        assert two.period == 2 * np.pi
        assert two.multipliers == pytest.approx(one.multipliers, rel=1e-7, abs=1e-10)
        with pytest.raises(cg.ArgumentError, match="depend on the time and do not repeat"):
            fed.periodic(begin, 6.0, inputs=laws(0.8, d))


@pytest.mark.slow
def test_feedback_on_a_closed_loop() -> None:
    """A damped pendulum in x, y that hangs: both exponents are -mu / 2, those of its linear equation."""
    start = {"x": 0.3, "y": -np.sqrt(0.91), "x_dot": 0.0, "y_dot": 0.0}
    law = {"force": lambda t, z: -0.4 * z[2], "other": lambda t, z: -0.4 * z[3]}
    how = {"rtol": 1e-10, "atol": 1e-12}
    one = compiled("declared pendulum").lyapunov((0, 20), start, {"mu": 0.4}, **how)
    two = compiled("fed pendulum").lyapunov((0, 20), start, inputs=law, **how)
    assert two.values == pytest.approx(one.values, abs=1e-7)
    assert two.values.sum() == pytest.approx(-0.4, abs=1e-2)


GAIN = cg.parameters("gain")
WITH_INPUTS = {
    "gain": (GAIN * force, {"gain": 1.0}),
    "sum": (force + other, {"other": 0.3}),
    "samples": (GAIN * force + other, {"gain": 1.0, "other": ([0.0, 2.0, 5.0], [1.0, -1.0, 0.5], "zoh")}),
}


@pytest.mark.parametrize("kind", WITH_INPUTS)
@pytest.mark.sample(1)
def test_a_law_that_parameters_and_other_inputs_multiply_or_add_to(kind: str) -> None:
    """The changes of an input along the tangents count wherever the equations have it with constants alone."""
    load, numbers = WITH_INPUTS[kind]
    names = [s.name for s in load.free_symbols]
    given = {n: v for n, v in numbers.items() if n in ("gain", "mu")}
    inputs = {n: v for n, v in numbers.items() if n == "other"}
    law = {"force": lambda t, z: 0.7 * (1 - z[0] ** 2) * z[1]}
    parts = {"coordinates": [x], "kinetic": u**2 / 2, "potential": x**2 / 2}
    fed = cg.System("fed_load", **parts, forces={u: load}).compile()
    declared = cg.System(
        "declared_load", **parts, forces={u: load.subs(force, 7 * (1 - x**2) * u / 10)}
    ).compile()
    start, how = {"x": 2.0, "x_dot": 0.1}, {"rtol": 1e-10, "atol": 1e-12}
    one = declared.lyapunov((0, 20), start, given, inputs if "other" in names else None, **how)
    two = fed.lyapunov((0, 20), start, given, inputs | law, **how)
    assert two.values == pytest.approx(one.values, abs=1e-8)
    assert min(abs(one.values)) > 1e-2


KINKED = {
    "clipped": (sp.Max(sp.Min((1 - x**2) * u, 1), -1), lambda t, z: max(min((1 - z[0] ** 2) * z[1], 1), -1)),
    "one-sided": (
        (1 - x**2) * u - 2 * sp.Max(x, 0),
        lambda t, z: (1 - z[0] ** 2) * z[1] - 2 * max(z[0], 0.0),
    ),
    "quadratic": (u - u * sp.Abs(u) / 2, lambda t, z: z[1] - z[1] * abs(z[1]) / 2),
}


@pytest.mark.parametrize("kind", [pytest.param("clipped", marks=pytest.mark.slow), "one-sided", "quadratic"])
@pytest.mark.sample(1)
def test_laws_with_kinks(kind: str) -> None:
    """Exponents and multipliers are those of the declared law.

    An error in the multipliers is one in the matrix, whose largest is 1: some 10 rtol, beside 0.0018 with one side.
    """
    law, function = KINKED[kind]
    parts = {"coordinates": [x], "kinetic": u**2 / 2, "potential": x**2 / 2}
    declared = cg.System("kinked", **parts, forces={u: law}).compile()
    fed = cg.System("kinked_by_input", **parts, forces={u: force}).compile()
    start, how = {"x": 2.0, "x_dot": 0.1}, {"rtol": 1e-10, "atol": 1e-12}
    one, two = (
        declared.lyapunov((0, 10), start, **how),
        fed.lyapunov((0, 10), start, inputs={"force": function}, **how),
    )
    assert two.values == pytest.approx(one.values, abs=1e-7)
    one, two = (
        declared.periodic(start, 6.3, **how),
        fed.periodic(start, 6.3, inputs={"force": function}, **how),
    )
    assert two.period == pytest.approx(one.period, rel=1e-7)
    assert two.multipliers == pytest.approx(one.multipliers, rel=1e-5)


@pytest.mark.parametrize("law", [lambda t, z: np.sign(z[1]) - z[1], lambda t, z: z[1] if z[0] < 1 else -z[1]])
def test_a_law_that_jumps_is_refused(law: Any) -> None:
    """Its derivative at the jump is not a number; differences took it for one, so exponents were wrong."""
    _, fed = alone()
    start = {"x": 2.0, "x_dot": 0.1}
    with pytest.raises(cg.ArgumentError, match=r"the input force jumps along x(_dot)? at t = .*in `forces`"):
        fed.lyapunov((0, 10), start, inputs={"force": law}, rtol=1e-8, atol=1e-10)
    with pytest.raises(cg.ArgumentError, match="the input force jumps along x"):
        fed.periodic(start, 6.3, inputs={"force": law})
