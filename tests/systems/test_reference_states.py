"""Every smooth reference motion, states and observables, by every form that applies to its system.

The numbers in data/reference_states.json come from equations derived by hand, integrated with 34 digits; here the
compiled models of all forms must reproduce them, in the declared variables, at t = 1 and t = 10. As a script, this file
writes the table of docs/verification.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chaplygin as cg
from chaplygin.codegen.mechanics.quaternions import rotation

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "reference_states.json").read_text())
PAGE = Path(__file__).resolve().parents[2] / "docs" / "verification.md"
TIMES = ("1", "10")
AXES = [f"R{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)]
Values = Callable[[str], np.ndarray]


@dataclass(frozen=True)
class Case:
    """A reference motion: the catalogue entry that runs it, and each of its quantities in terms of declared names.

    A quantity not in ``quantities`` has the same name in both; one that a form cannot provide is excluded from that
    form's comparison only if ``absent`` names it there.
    """

    entry: str
    reference: str
    options: Mapping[str, Any] = field(default_factory=dict)
    quantities: Mapping[str, str | Callable[[Values], Any]] = field(default_factory=dict)
    absent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tolerance: float = 1e-10


def attitude(prefix: str = "q") -> dict[str, Callable[[Values], Any]]:
    """R11 ... R33 from a quaternion."""

    def entry(i: int, j: int) -> Callable[[Values], Any]:
        return lambda value: rotation([value(f"{prefix}{n}") for n in range(4)])[i][j]

    return {f"R{i + 1}{j + 1}": entry(i, j) for i in range(3) for j in range(3)}


def attitude_by_angles() -> dict[str, Callable[[Values], Any]]:
    """R11 ... R33 and the body rates from R = Rz(psi) Rx(theta) Rz(phi)."""

    def about(axis: int, angle: Any) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        a, b = (axis + 1) % 3, (axis + 2) % 3
        matrix = np.eye(3)
        matrix[a, a] = matrix[b, b] = c
        matrix[a, b], matrix[b, a] = -s, s
        return matrix

    def entry(i: int, j: int) -> Callable[[Values], Any]:
        return lambda value: np.array(
            [
                (about(2, psi) @ about(0, theta) @ about(2, phi))[i, j]
                for psi, theta, phi in zip(value("psi"), value("theta"), value("phi"), strict=True)
            ]
        )

    return {f"R{i + 1}{j + 1}": entry(i, j) for i in range(3) for j in range(3)} | {
        "R33": lambda v: np.cos(v("theta")),
        "w1": lambda v: (
            v("psi_dot") * np.sin(v("theta")) * np.sin(v("phi")) + v("theta_dot") * np.cos(v("phi"))
        ),
        "w2": lambda v: (
            v("psi_dot") * np.sin(v("theta")) * np.cos(v("phi")) - v("theta_dot") * np.sin(v("phi"))
        ),
        "w3": lambda v: v("phi_dot") + v("psi_dot") * np.cos(v("theta")),
    }


TOP = {"M_dot_gamma3": "vertical_momentum", "M3": "spin_momentum"}
TORUS = {
    "thetadot": "theta_dot",
    "painleve_half": "painleve_energy",
    "painleve_balance": lambda v: v("painleve_energy") + v("int_dTdt"),
    "energy_minus_motor_work": lambda v: v("energy") - v("motor_work"),
}
RING = {f"{name}dot": f"{name}_dot" for name in ("psi", "theta", "phi")} | {
    "p_psi": "turning_momentum",
    "p_phi_minus_Ct": "spin_momentum_less_impulse",
    "energy_minus_C_phi": "energy_less_work",
}
SLEIGH = {"phidot(theta1)": "omega", "theta2": "v", "theta2_prime": lambda v: v("v") / v("omega")}
CASES = {
    "torus_uniform": Case("torus_uniform", "torus_uniform", {}, TORUS),
    "torus_uniform held": Case("torus_uniform", "torus_uniform", {"held": True}, TORUS),
    "torus_nonuniform": Case("torus_nonuniform", "torus_nonuniform", {}, TORUS),
    "torus_nonuniform held": Case("torus_nonuniform", "torus_nonuniform", {"held": True}, TORUS),
    "rolling_ring free": Case("rolling_ring", "rolling_ring_free", {"motor": False}, RING),
    "rolling_ring motor": Case("rolling_ring", "rolling_ring_motor", {}, RING),
    "rolling_ring free tilt": Case("rolling_ring", "rolling_ring_free", {"motor": False, "tilt": True}, RING),
    "rolling_ring motor tilt": Case("rolling_ring", "rolling_ring_motor", {"tilt": True}, RING),
    "chaplygin_sleigh": Case("chaplygin_sleigh", "chaplygin_sleigh", {}, SLEIGH),
    "sleigh_cartesian": Case(
        "sleigh_cartesian",
        "chaplygin_sleigh",
        {},
        {"phidot(theta1)": "theta1", "theta2_prime": lambda v: v("theta2") / v("theta1")},
    ),
    "euler_rigid_body": Case(
        "euler_rigid_body",
        "euler_rigid_body",
        {},
        attitude()
        | {
            "M_dot_gamma3": "momentum_z",
            "L1": "momentum_x",
            "L2": "momentum_y",
            "M2": lambda v: sum(v(f"momentum_{axis}") ** 2 for axis in "xyz"),
        },
    ),
    "heavy_top": Case("heavy_top", "heavy_top", {}, attitude() | TOP, tolerance=1e-9),
    "lagrange_top": Case("lagrange_top", "lagrange_top", {}, attitude() | TOP, tolerance=1e-9),
    "lagrange_top angles": Case(
        "lagrange_top",
        "lagrange_top",
        {"angles": True},
        attitude_by_angles() | TOP,
        # psi and phi are eliminated from the reduced top; theta and all three rates remain.
        {"routh": ("w1", "w2", *(name for name in AXES if name != "R33"))},
        tolerance=1e-9,
    ),
    "gyrostat": Case(
        "gyrostat",
        "gyrostat",
        {},
        {"a4": "rotor_momentum", "M2": "momentum_squared"},
        {"routh": ("alpha",)},
    ),
    "fluid_cavity": Case(
        "fluid_cavity",
        "fluid_cavity",
        {},
        attitude()
        | {"M2": "momentum_squared", "G2": "vortex_squared", "L3": "momentum_z", "L1": "momentum_x"},
    ),
    "rotating_particle": Case("rotating_particle", "rotating_particle", {}, {"Ex": "energy_x"}),
    "heisenberg": Case("heisenberg", "heisenberg", {}, {"a3": "eta3"}, {"routh": ("z",)}),
}
PAIRS = [
    pytest.param(key, form, id=f"{key}-{form}")
    for key, case in CASES.items()
    for form in cg.example(case.entry, **case.options).forms
    if form != "whittaker"  # in phi instead of time: see below
]


@cache
def compiled(entry: str, form: str, **options: Any) -> Any:
    example = cg.example(entry, **options)
    return example.system.compile(form, **example.options.get(form, {}))


def run(case: Case, form: str, t_eval: Any, method: str = "dop853") -> Any:
    example = cg.example(case.entry, **case.options)
    sol = compiled(case.entry, form, **case.options).integrate(
        (0, 10),
        initial=example.initial,
        parameters=example.parameters,
        method=method,
        rtol=1e-13,
        atol=1e-13,
        t_eval=t_eval,
    )
    assert sol.success, sol.message
    return sol


def values_of(case: Case, sol: Any, extra: Mapping[str, np.ndarray]) -> Values:
    def value(name: str) -> np.ndarray:
        source = case.quantities.get(name, name)
        if callable(source):
            return np.asarray(source(value))
        return extra[source] if source in extra else np.asarray(sol.evaluate(source))

    return value


def expected(case: Case, time: str) -> dict[str, float]:
    """Every quantity of the reference at one time: state, invariants, observables."""
    reference = REFERENCE[case.reference]
    end = reference["end"][time]
    numbers = dict(zip(reference["state"], end["state"], strict=True))
    numbers |= end.get("invariants", {}) | end.get("observables", {})
    return {name: float(number) for name, number in numbers.items() if name != "ortho_resid"}


@pytest.mark.parametrize(("key", "form"), PAIRS)
@pytest.mark.sample(8)
def test_motion_and_observables_meet_the_reference(key: str, form: str) -> None:
    compare(key, form)


@pytest.mark.parametrize("method", ["tsit5", "vern7", "vern9"])
@pytest.mark.parametrize("key", CASES)
@pytest.mark.sample(18)
def test_every_method_meets_the_reference(key: str, method: str) -> None:
    example = cg.example(CASES[key].entry, **CASES[key].options)
    compare(key, example.forms[0], method)


def compare(key: str, form: str, method: str = "dop853") -> None:
    for name, error in errors(key, form, method):
        assert error <= CASES[key].tolerance, f"{name}: {error:.1e}"


def errors(key: str, form: str, method: str = "dop853") -> Iterator[tuple[str, float]]:
    """Every quantity at t = 1 and t = 10, and how far it is from the reference."""
    case = CASES[key]
    if "torus" in key:
        sol, extra = with_work(case, form, method)
    else:
        sol, extra = run(case, form, [0, 1, 10], method), {}
    value = values_of(case, sol, extra)
    columns = {time: int(np.flatnonzero(sol.t == float(time))[0]) for time in TIMES}
    absent = case.absent.get(form, ())
    for time, column in columns.items():
        for name, wanted in expected(case, time).items():
            if name in absent:
                assert name not in {*sol.model.states, *sol.model.outputs}
                continue
            # theta' = u / phi' grows like 1 / phi', without bound, so errors are relative to its size.
            size = max(1.0, abs(wanted)) if name == "theta2_prime" else 1.0
            yield f"{name} at t = {time}", abs(float(value(name)[column]) - wanted) / size


def largest(key: str) -> float:
    return max(error for _, error in errors(key, form_of(key)))


def form_of(key: str) -> str:
    return cg.example(CASES[key].entry, **CASES[key].options).forms[0]


@pytest.mark.parametrize("key", CASES)
@pytest.mark.sample(3)
def test_the_page_says_what_is_reached(key: str) -> None:
    found = re.search(rf"^\| {re.escape(key)} \| `(\w+)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert found is not None
    assert found[1] == form_of(key)
    assert largest(key) <= float(found[2]) < 4 * largest(key)


def with_work(case: Case, form: str, method: str) -> tuple[Any, dict[str, np.ndarray]]:
    """A run with the time integrals of the motor's power and of dT/dt, by Gauss quadrature of the dense output."""
    panels, (nodes, weights) = np.linspace(0, 10, 401), np.polynomial.legendre.leggauss(6)
    middle, half = (panels[1:] + panels[:-1]) / 2, np.diff(panels) / 2
    inside = (middle[:, None] + half[:, None] * nodes).ravel()
    t = np.union1d(panels, inside)
    sol = run(case, form, t, method)

    def integral(power: str) -> np.ndarray:
        at_nodes = np.asarray(sol.evaluate(power))[np.searchsorted(t, inside)].reshape(len(middle), -1)
        total = np.concatenate([[0.0], np.cumsum(half * (at_nodes @ weights))])
        everywhere = np.full(len(t), np.nan)
        everywhere[np.searchsorted(t, panels)] = total
        return everywhere

    extra = {"motor_work": integral("drive_power")}
    if "painleve_power" in sol.model.outputs:
        extra["int_dTdt"] = -integral("painleve_power")
    return sol, extra


@pytest.mark.parametrize(
    ("key", "pairs"),
    [
        ("rolling_ring free", {"reaction_x_dot": "X", "reaction_y_dot": "Y"}),
        ("rolling_ring motor", {"reaction_x_dot": "X", "reaction_y_dot": "Y"}),
        ("rolling_ring free tilt", {"reaction_x_dot": "X", "reaction_y_dot": "Y", "reaction_tilt": "M"}),
        ("rolling_ring motor tilt", {"reaction_x_dot": "X", "reaction_y_dot": "Y", "reaction_tilt": "M"}),
        ("torus_uniform held", {"reaction_psi": "couple"}),
        ("torus_nonuniform held", {"reaction_psi": "couple"}),
        ("chaplygin_sleigh", {"reaction_w": "lateral_reaction"}),
    ],
)
@pytest.mark.sample(1)
def test_multipliers_are_the_reactions_of_the_reference(key: str, pairs: dict[str, str]) -> None:
    case = CASES[key]
    sol = run(case, "multipliers", [0, 1, 10])
    for name, observable in pairs.items():
        for column, time in ((1, "1"), (2, "10")):
            wanted = expected(case, time)[observable]
            assert abs(float(sol[name][column]) - wanted) <= 1e-10, f"{name} at t = {time}"


@pytest.mark.parametrize("entry", ["chaplygin_sleigh", "sleigh_cartesian"])
def test_whittaker_reaches_the_reference_at_phi(entry: str) -> None:
    example, wanted = cg.example(entry), REFERENCE["chaplygin_sleigh"]["whittaker_phi_0.9"]
    sol = compiled(entry, "whittaker").integrate(
        (0.2, 0.9), initial=example.initial, parameters=example.parameters, rtol=1e-13, atol=1e-13
    )
    assert sol.success
    prime = "v_prime" if entry == "chaplygin_sleigh" else "theta2_prime"
    for name, given in ((prime, "theta2p"), ("x", "x"), ("y", "y"), ("t", "t")):
        assert abs(float(sol[name][-1]) - float(wanted[given])) <= 1e-10, name


@pytest.mark.parametrize("key", CASES)
def test_entry_starts_where_the_reference_does(key: str) -> None:
    """The catalogue's numbers are those used for the reference."""
    case = CASES[key]
    example, reference = cg.example(case.entry, **case.options), REFERENCE[case.reference]
    model = compiled(case.entry, example.forms[0], **case.options)
    sol = model.integrate((0, 1e-3), initial=example.initial, parameters=example.parameters, t_eval=[0.0])
    value = values_of(case, sol, {"motor_work": np.zeros(1), "int_dTdt": np.zeros(1)})
    for name, given in zip(reference["state"], reference["initial"], strict=True):
        assert abs(float(value(name)[0]) - float(given)) < 1e-15, name
    for name, given in reference["params"].items():
        name = {"Om": "Omega", "al": "alpha", "w": "nu"}.get(name, name)
        if name in example.parameters:
            assert example.parameters[name] == float(given)


if __name__ == "__main__":
    rows = "\n".join(f"| {key} | `{form_of(key)}` | {1.2 * largest(key):.1e} |" for key in CASES)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        re.sub(r"(?s)(\|---\|---\|---\|\n).*?\n\n", rf"\g<1>{rows}\n\n", text, count=1), encoding="utf-8"
    )
