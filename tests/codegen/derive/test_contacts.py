"""Coulomb contacts: the right-hand side in every mode against equations written by hand and direct linear solves."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hybrid_kernels import ROUGH, WITH_EVENTS, Kernels
from small_systems import SMALL

import chaplygin as cg
from chaplygin.codegen.emit.python_backend import Singular
from chaplygin.systems import painleve_klein

MODES = (-1, 0, 1)
FORMS = ("lagrange", "poincare", "hamel", "nonholonomic")


def kernels_of(name: str, form: str | None = None, **options: Any) -> Kernels:
    entry = cg.example(name, **options)
    return Kernels(entry.system.equations(form or entry.forms[0]))


def drawn(name: str, rng: np.random.Generator, **options: Any) -> dict[str, float]:
    """Random states, and the catalogue's parameters changed by up to 30%."""
    entry = cg.example(name, **options)
    values = {n: float(rng.normal()) for n in entry.initial}
    return values | {n: v * float(rng.uniform(0.7, 1.3)) for n, v in entry.parameters.items()}


# Normal forces that are functions of the state: equations written by hand


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", MODES)
def test_block_on_belt(form: str, mode: int) -> None:
    kernels, rng = kernels_of("block_on_belt", form), np.random.default_rng(1)
    for _ in range(5):
        q = drawn("block_on_belt", rng) | {"belt": mode}
        v = q["x_dot"] - q["V"]
        limit = q["mu0"] * (1 + q["b"] * v) * q["m"] * q["g"]
        friction = -mode * abs(limit) if mode else q["k"] * q["x"]
        acceleration = (friction - q["k"] * q["x"]) / q["m"] if mode else 0.0
        rates, contact = kernels.rates(q), kernels.contacts(q)["belt"]
        assert rates["x"] == q["x_dot"]
        assert rates["x_dot"] == pytest.approx(acceleration, rel=1e-13, abs=1e-13)
        assert contact["v"] == v
        assert contact["T"] == pytest.approx(friction, rel=1e-13)
        assert contact["limit"] == pytest.approx(limit, rel=1e-13)
        assert contact["dv"] == pytest.approx(acceleration, rel=1e-13, abs=1e-13)
        assert contact["N"] == pytest.approx(q["m"] * q["g"], rel=1e-15)


def chain_by_hand(q: Mapping[str, float], modes: tuple[int, int]) -> tuple[list[float], list[float]]:
    """Accelerations and friction forces of the two blocks."""
    pull = [-q["k1"] * q["x1"] + q["k2"] * (q["x2"] - q["x1"]), -q["k2"] * (q["x2"] - q["x1"])]
    friction = [
        -s * q[f"mu{i}"] * q[f"m{i}"] * q["g"] if s else -f
        for i, s, f in zip((1, 2), modes, pull, strict=True)
    ]
    return [(f + t) / q[f"m{i}"] for i, f, t in zip((1, 2), pull, friction, strict=True)], friction


@pytest.mark.parametrize("modes", list(product(MODES, MODES)))
def test_two_mass_chain(modes: tuple[int, int]) -> None:
    kernels, rng = kernels_of("two_mass_chain"), np.random.default_rng(2)
    for _ in range(5):
        q = drawn("two_mass_chain", rng) | {"block1": modes[0], "block2": modes[1]}
        accelerations, friction = chain_by_hand(q, modes)
        rates, contacts = kernels.rates(q), kernels.contacts(q)
        for i in (0, 1):
            assert rates[f"x{i + 1}_dot"] == pytest.approx(accelerations[i], rel=1e-12, abs=1e-12)
            assert contacts[f"block{i + 1}"]["T"] == pytest.approx(friction[i], rel=1e-12)


def link(q: Mapping[str, float]) -> tuple[float, float, float]:
    """R, sin(phi), cos(phi) of the elastic link: (2.2), (3.1) of the source."""
    apart = q["x1"] - q["x2"]
    length = float(np.hypot(apart, q["d"]))
    rate = apart * (q["x1_dot"] - q["x2_dot"]) / length
    return q["K"] * (length - q["l"]) + q["C"] * rate, q["d"] / length, apart / length


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("modes", list(product(MODES, MODES)))
@pytest.mark.sample(4)
def test_painleve_klein_in_every_mode(form: str, modes: tuple[int, int]) -> None:
    """(2.9) and (4.1): each slider slides with friction -sigma mu |N|, or sticks."""
    kernels, rng = kernels_of("painleve_klein", form), np.random.default_rng(3)
    for _ in range(4):
        q = drawn("painleve_klein", rng) | {"guide1": modes[0], "guide2": modes[1]}
        tension, sine, cosine = link(q)
        normal = (tension * sine - q["Y1"], -q["Y2"] - tension * sine)
        pull = (q["X1"] - tension * cosine, q["X2"] + tension * cosine)
        rates, contacts = kernels.rates(q), kernels.contacts(q)
        for i in (1, 2):
            sigma = modes[i - 1]
            friction = -sigma * q[f"mu{i}"] * abs(normal[i - 1]) if sigma else -pull[i - 1]
            expected = (pull[i - 1] + friction) / q[f"m{i}"] if sigma else 0.0
            size = abs(pull[i - 1]) + abs(friction)
            assert rates[f"x{i}_dot"] == pytest.approx(expected, abs=1e-13 * size)
            found = contacts[f"guide{i}"]
            assert found["N"] == pytest.approx(normal[i - 1], rel=1e-12, abs=1e-12)
            assert found["T"] == pytest.approx(friction, abs=1e-13 * size)
            assert found["limit"] == pytest.approx(q[f"mu{i}"] * abs(normal[i - 1]), rel=1e-12, abs=1e-12)
            assert found["dv"] == pytest.approx(expected, abs=1e-13 * size)
            assert found["v"] == q[f"x{i}_dot"]


def test_painleve_klein_equilibria_of_the_published_example() -> None:
    """Both sliding right with K = 100, C = 10: delta = 0.0279717665070172 ... with these accelerations."""
    kernels = kernels_of("painleve_klein")
    for delta, acceleration in (
        (0.027971766507017246, 1.120589233974692),
        (0.06736282279455397, -3.09004668239714),
        (0.14430619788238755, -11.594583761036855),
    ):
        state = painleve_klein.initial_state(delta, 3.0)
        rates = kernels.rates({**painleve_klein.parameters(), **state, "guide1": 1, "guide2": 1})
        for i in (1, 2):
            assert rates[f"x{i}_dot"] == pytest.approx(acceleration, rel=1e-11)


# Normal forces that are multipliers: the whole linear system solved at once in NumPy


def rigid_link_at_once(q: Mapping[str, float]) -> np.ndarray:
    """x1'', x2'', R, T1, T2 from five equations: two balances, the link, the friction law of each contact."""
    apart = q["x1"] - q["x2"]
    length = float(np.hypot(apart, q["d"]))
    sine, cosine = q["d"] / length, apart / length
    relative = q["x1_dot"] - q["x2_dot"]
    bias = (relative**2 - (apart * relative / length) ** 2) / length  # in d^2/dt^2 of the length
    a, b = np.zeros((5, 5)), np.zeros(5)
    a[0], b[0] = [q["m1"], 0, cosine, -1, 0], q["X1"]
    a[1], b[1] = [0, q["m2"], -cosine, 0, -1], q["X2"]
    a[2], b[2] = [cosine, -cosine, 0, 0, 0], -bias
    for i, slope, rest in ((1, sine, -q["Y1"]), (2, -sine, -q["Y2"])):
        row = 2 + i
        if q[f"guide{i}"] == 0:
            a[row, i - 1] = 1
        else:  # T + sigma mu s (slope R + rest) = 0
            factor = q[f"guide{i}"] * q[f"mu{i}"] * q[f"guide{i}_sign"]
            a[row, row], a[row, 2], b[row] = 1, factor * slope, -factor * rest
    return np.linalg.solve(a, b)


PATTERNS = [(m, s) for m in product(MODES, MODES) if m != (0, 0) for s in product((-1, 1), (-1, 1))]


@pytest.mark.parametrize(("modes", "signs"), PATTERNS)
@pytest.mark.sample(3)
def test_rigid_link_against_a_direct_solve(modes: tuple[int, int], signs: tuple[int, int]) -> None:
    kernels, rng = kernels_of("painleve_klein_rigid"), np.random.default_rng(4)
    for _ in range(3):
        q = drawn("painleve_klein_rigid", rng)
        q |= {"x1": q["x2"] + abs(q["x1"]) + 0.2}
        q |= {f"guide{i}": m for i, m in zip((1, 2), modes, strict=True)}
        q |= {f"guide{i}_sign": s for i, s in zip((1, 2), signs, strict=True)}
        expected = rigid_link_at_once(q)
        scale = float(np.abs(expected).max())
        rates, contacts = kernels.rates(q), kernels.contacts(q)
        found = [rates["x1_dot"], rates["x2_dot"], kernels.outputs(q)["R"]]
        found += [contacts[f"guide{i}"]["T"] for i in (1, 2)]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * scale)
        apart = q["x1"] - q["x2"]
        sine = q["d"] / float(np.hypot(apart, q["d"]))
        assert contacts["guide1"]["N"] == pytest.approx(expected[2] * sine - q["Y1"], abs=1e-10 * scale)


def consistent_tensions(sigma: int, **options: float) -> list[float]:
    """R for every sign pattern of the rigid link for which the normal forces have the assumed signs."""
    entry, kernels = cg.example("painleve_klein_rigid", **options), kernels_of("painleve_klein_rigid")
    start = {**entry.parameters, **entry.initial, "guide1": sigma, "guide2": sigma}
    start |= {"x1_dot": 10.0 * sigma, "x2_dot": 10.0 * sigma}
    found = []
    for signs in product((1, -1), (1, -1)):
        q = start | {"guide1_sign": signs[0], "guide2_sign": signs[1]}
        normals = [c["N"] for c in kernels.contacts(q).values()]
        if all(s * n >= 0 for s, n in zip(signs, normals, strict=True)):
            found.append(kernels.outputs(q)["R"])
    return sorted(found)


def test_the_published_rigid_link_has_two_solutions_either_way() -> None:
    assert consistent_tensions(1) == pytest.approx([18.1 / 6.5, 4.7 / 1.1], rel=1e-12)
    assert consistent_tensions(-1) == pytest.approx([2.44, 3.2745098039215685], rel=1e-10)
    assert len(consistent_tensions(1, mu1=0.1, mu2=0.2)) == 1


def test_rod_against_the_formula_of_its_normal_force() -> None:
    kernels, rng = kernels_of("painleve_rod"), np.random.default_rng(5)
    for sigma, sign in product((-1, 1), (-1, 1)):
        q = drawn("painleve_rod", rng) | {"y": 0.0, "y_dot": 0.0, "phi": float(rng.uniform(0.3, 1.3))}
        q |= {"tip": sigma, "tip_sign": sign}
        sine, cosine = np.sin(q["phi"]), np.cos(q["phi"])
        p = 1 + q["m"] * q["a"] ** 2 / q["J"] * cosine * (cosine + sigma * sign * q["mu"] * sine)
        normal = q["m"] / p * (q["g"] - q["a"] * q["phi_dot"] ** 2 * sine)
        contact = kernels.contacts(q)["tip"]
        assert contact["N"] == pytest.approx(normal, rel=1e-11)
        assert contact["T"] == pytest.approx(-sigma * sign * q["mu"] * normal, rel=1e-11)
        assert kernels.outputs(q)["lambda_1"] == pytest.approx(normal, rel=1e-11)
        spin = q["a"] / q["J"] * (contact["T"] * sine - normal * cosine)
        assert kernels.rates(q)["phi_dot"] == pytest.approx(spin, rel=1e-10)


def test_rod_has_two_solutions_or_none_where_p_is_negative() -> None:
    """A bilateral contact: N > 0 and N < 0 are both consistent if a phi'^2 sin(phi) > g, otherwise neither."""
    kernels = kernels_of("painleve_rod")
    q = {**cg.example("painleve_rod", mu=2.5).parameters, **cg.example("painleve_rod").initial, "tip": -1}
    for spin, count in ((0.0, 0), (6.0, 2)):
        found = 0
        for sign in (-1, 1):
            normal = kernels.contacts(q | {"tip_sign": sign, "phi_dot": spin, "phi": 1.1})["tip"]["N"]
            found += int(sign * normal >= 0)
        assert found == count


def test_a_zero_leading_pivot_is_no_singularity() -> None:
    """Rows are swapped at run time: 1 + sigma mu dN/dT of the first contact vanishes, the determinant does not."""
    kernels = kernels_of("painleve_klein_rigid")
    entry = cg.example("painleve_klein_rigid")
    q = {**entry.parameters, **entry.initial, "guide1": 1, "guide2": 1, "guide1_sign": -1, "guide2_sign": 1}
    # With m1 = m2, R = (X1 + T1 - X2 - T2) / (2 cos phi): dN1/dT1 = tan(phi) / 2, and mu1 = 2 / tan(phi) cancels it.
    q |= {"mu1": 2 * 0.6 / 0.8, "mu2": 0.3}
    expected = rigid_link_at_once(q)
    found = kernels.rates(q)
    assert found["x1_dot"] == pytest.approx(expected[0], rel=1e-10)
    assert kernels.outputs(q)["R"] == pytest.approx(expected[2], rel=1e-10)


# Constraints together with friction, derivatives, projection, power


def rough_sleigh(**changes: Any) -> cg.System:
    """A sleigh dragging a point with friction at (c, e) in body axes, and another along the blade."""
    phi, x, y = cg.coordinates("phi x y")
    omega, v, w = cg.velocities("omega v w")
    m, a, J, c, e, mu, g, V = cg.parameters("m a J c e mu g V", positive=True)
    given: dict[str, Any] = {
        "kinematics": {
            phi: omega,
            x: v * sp.cos(phi) - w * sp.sin(phi),
            y: v * sp.sin(phi) + w * sp.cos(phi),
        },
        "kinetic": m * (v**2 + (w + a * omega) ** 2) / 2 + J * omega**2 / 2,
        "constraints": [w - V * sp.sin(cg.time)],
        "contacts": [
            cg.Coulomb("skid", slip=w + c * omega, normal=m * g * (1 + v**2), mu=mu),
            cg.Coulomb("rail", slip=v - e * omega - V, normal=m * g * sp.cos(x), mu=mu / 2),
        ],
        "example": {m: 1, a: 0.2, J: 0.5, c: 0.7, e: 0.3, mu: 0.4, g: 9.81, V: 0.5, omega: 1, v: 1, w: 0},
    }
    given.update(changes)
    return cg.System("rough_sleigh", **given)


SLEIGH = {
    "m": 1.3, "a": 0.2, "J": 0.5, "c": 0.7, "e": 0.3, "mu": 0.4, "g": 9.81, "V": 0.5,
    "phi": 0.4, "x": 0.2, "y": -0.1, "omega": 1.2, "v": -0.7,
}  # fmt: skip


@pytest.mark.parametrize("modes", [m for m in product(MODES, MODES) if m != (0, 0)] + [(0, 0)])
@pytest.mark.sample(1)
def test_forms_agree_on_a_constrained_system_with_friction(modes: tuple[int, int]) -> None:
    """Maggi, Ghori, Hamel and multipliers with a moving constraint: three derivations and one joint elimination."""
    system, t = rough_sleigh(), 0.3
    q = {**SLEIGH, "w": SLEIGH["V"] * np.sin(t), "skid": modes[0], "rail": modes[1]}
    results = []
    for form in ("maggi", "nonholonomic", "hamel", "multipliers"):
        options = {} if form == "multipliers" else {"independent": ["omega", "v"]}
        kernels = Kernels(system.equations(form, **options))
        rates, contacts = kernels.rates(q, t), kernels.contacts(q, t)
        row = [
            rates["omega"],
            rates["v"],
            *(contacts[n][k] for n in ("skid", "rail") for k in ("v", "T", "dv")),
        ]
        power = kernels.outputs(q, t)["power"]
        results.append([*row, power])
    for row in results[1:]:
        np.testing.assert_allclose(row, results[0], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("name", "modes"),
    [
        ("painleve_klein", {"guide1": 1, "guide2": 0}),
        ("painleve_klein", {"guide1": 0, "guide2": 0}),
        ("painleve_klein", {"guide1": -1, "guide2": 1}),
        ("painleve_klein_rigid", {"guide1": 1, "guide2": 1, "guide1_sign": 1, "guide2_sign": -1}),
        ("painleve_klein_rigid", {"guide1": 0, "guide2": 1, "guide1_sign": -1, "guide2_sign": 1}),
        ("painleve_rod", {"tip": -1, "tip_sign": 1}),
        ("painleve_rod", {"tip": 0, "tip_sign": 1}),
        ("block_on_belt", {"belt": -1}),
    ],
)
@pytest.mark.sample(3)
def test_jvp_is_the_derivative_of_the_rhs(name: str, modes: dict[str, int]) -> None:
    kernels, rng = kernels_of(name), np.random.default_rng(6)
    q = drawn(name, rng) | modes
    if "x1" in q:
        q["x1"] = q["x2"] + 0.8
    names = [v.name for v in kernels.program.states]
    v = rng.normal(size=len(names))

    def at(h: float) -> np.ndarray:
        return kernels("rhs", q | {n: q[n] + h * d for n, d in zip(names, v, strict=True)})

    h = 1e-3
    numeric = (at(-2 * h) - 8 * at(-h) + 8 * at(h) - at(2 * h)) / (12 * h)
    found = kernels.jvp(q, v)
    np.testing.assert_allclose(found, numeric, rtol=0, atol=1e-7 * float(np.abs(numeric).max()))
    if "jacobian" in kernels.python:
        matrix = kernels("jacobian", q).reshape(len(names), len(names))
        np.testing.assert_allclose(matrix @ v, found, rtol=0, atol=1e-12 * float(np.abs(found).max()))


def test_projection_is_the_nearest_velocity_in_the_metric_of_the_kinetic_energy() -> None:
    x, y, z = cg.coordinates("x y z")
    u, v, w = (cg.rate(s) for s in (x, y, z))
    (b,) = (cg.parameters("b"),)
    kinetic = u**2 + 3 * v**2 / 2 + 2 * w**2 + sp.cos(x) * u * v / 2 + u * w / 3
    contacts = [
        cg.Coulomb("one", slip=u - b, normal=1, mu=1),
        cg.Coulomb("two", slip=2 * v + sp.sin(y) * w - b / 2, normal=1, mu=1),
    ]
    system = cg.System("metric", coordinates=[x, y, z], kinetic=kinetic, contacts=contacts)
    kernels = Kernels(system.equations("lagrange"))
    q = {"x": 0.3, "y": 0.8, "z": 0.1, "x_dot": 1.1, "y_dot": -0.4, "z_dot": 0.9, "b": 0.7}
    mass = np.array([[2, np.cos(0.3) / 2, 1 / 3], [np.cos(0.3) / 2, 3, 0], [1 / 3, 0, 4]])
    rows, offsets = np.array([[1, 0, 0], [0, 2, np.sin(0.8)]]), np.array([-0.7, -0.35])
    before = np.array([1.1, -0.4, 0.9])
    for modes in product(MODES, MODES):
        after = kernels("project", q | {"one": modes[0], "two": modes[1]})
        held = [i for i in (0, 1) if modes[i] == 0]
        expected = before.copy()
        if held:
            a = rows[held]
            inverse = np.linalg.solve(mass, a.T)
            expected = before - inverse @ np.linalg.solve(a @ inverse, a @ before + offsets[held])
        np.testing.assert_allclose(after[3:], expected, rtol=1e-13, atol=1e-14)
        np.testing.assert_array_equal(after[:3], [0.3, 0.8, 0.1])
        if 0 in held:
            assert after[3] == 0.7  # exactly the support's
    twice = Kernels(
        cg.System(
            "twice",
            coordinates=[x],
            kinetic=u**2 / 2,
            contacts=[cg.Coulomb(n, slip=f * u, normal=1, mu=1) for n, f in (("one", 1), ("two", 3))],
        ).equations("lagrange")
    )
    state = {"x": 0.0, "x_dot": 0.3, "one": 0, "two": 0}
    np.testing.assert_allclose(twice("project", state), [0.0, 0.0], atol=1e-16)
    with pytest.raises(Singular):  # two contacts on one velocity: their forces are not determined
        twice("rhs", state)


def test_the_lists_of_hybrid_systems_are_complete() -> None:
    systems = {name: cg.example(name).system for name in SMALL}
    assert [name for name, system in systems.items() if system.contacts] == list(ROUGH)
    assert [name for name, system in systems.items() if system.events] == list(WITH_EVENTS)


@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name in ROUGH for form in cg.example(name).forms]
)
@pytest.mark.sample(8)
def test_power_is_the_rate_of_the_energy(name: str, form: str) -> None:
    kernels, rng = kernels_of(name, form), np.random.default_rng(8)
    for trial in range(4):
        q = drawn(name, rng) | {v.name: float(rng.uniform(-1, 1)) for v in kernels.program.inputs}
        q |= {"x1": q["x2"] + 0.5} if "x1" in q else {}
        q |= {v.name: (-1, 1, 0, 1)[(trial + i) % 4] for i, v in enumerate(kernels.program.modes)}
        q |= {v.name: 1 - 2 * (trial % 2) for v in kernels.program.modes if v.name.endswith("_sign")}
        rates, h = kernels.rates(q), 2e-4

        def energy(s: float, q: dict[str, float] = q, rates: dict[str, float] = rates) -> float:
            return kernels.outputs(q | {n: q[n] + s * r for n, r in rates.items()})["energy"]

        change = (energy(-2 * h) - 8 * energy(-h) + 8 * energy(h) - energy(2 * h)) / (12 * h)
        out = kernels.outputs(q)
        assert out["power"] == pytest.approx(change, rel=1e-7, abs=1e-8)
        names = [c.name for c in kernels.program.contacts]
        lost = sum(out[f"friction_{n}"] * out[f"slip_{n}"] for n in names)
        assert out["friction_power"] == pytest.approx(lost, rel=1e-13)


def test_a_normal_force_that_cannot_be_negative_has_no_kink() -> None:
    x, c = cg.coordinates("x"), cg.parameters("c")
    d = cg.parameters("d", positive=True)
    for normal, count in (
        (sp.Max(0, x) + x**2, 1),
        (d * sp.Max(0, x) + x**2, 2),  # d may be negative in a run
        (c * sp.Max(0, x), 1),
        (-d / (1 + x**2), 0),
        (d - x**2, 1),
    ):
        contact = cg.Coulomb("floor", slip=cg.rate(x), normal=normal, mu=c)
        system = cg.System("one", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, contacts=[contact])
        assert len(system.equations("lagrange").program.guards) == count, normal


def test_a_system_with_friction_has_no_first_integrals() -> None:
    for name in ("painleve_klein", "two_mass_chain", "block_on_belt"):
        assert cg.example(name).system.equations("lagrange").invariants == {}
    q0, q1 = cg.coordinates("q0 q1")
    w = cg.velocities("w")
    m, mu = cg.parameters("m mu")
    wheel = cg.System(
        "wheel",
        kinematics={q0: -q1 * w, q1: q0 * w},
        kinetic=m * w**2 / 2,
        contacts=[cg.Coulomb("brake", slip=w, normal=m, mu=mu)],
        example={q0: 1, q1: 0, w: 1, m: 2, mu: 0.3},
    )
    assert list(wheel.equations("poincare").invariants) == ["coordinates_1"]  # from the kinematics alone


def test_large_systems_solve_in_loops() -> None:
    """Fourteen blocks in a row, three of them with friction: M is factored by the emitted loop."""
    n = 14
    x = cg.coordinates([f"x{i}" for i in range(n)])
    v = [cg.rate(s) for s in x]
    k, mu = cg.parameters("k mu")
    kinetic = sum((v[i] - v[i - 1]) ** 2 if i else v[i] ** 2 for i in range(n)) / 2
    rough = {"a": 2, "b": 7, "c": 13}
    system = cg.System(
        "row",
        coordinates=x,
        kinetic=kinetic,
        potential=k * sum(s**2 for s in x) / 2,
        contacts=[cg.Coulomb(name, slip=v[i], normal=1 + x[i] ** 2, mu=mu) for name, i in rough.items()],
    )
    kernels, rng = Kernels(system.equations("lagrange")), np.random.default_rng(7)
    jacobi = np.diag([2.0] * (n - 1) + [1.0]) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)
    for modes in ((1, -1, 1), (0, 1, 0), (0, 0, 0), (-1, 0, 1)):
        position = rng.normal(size=n)
        q = {f"x{i}": position[i] for i in range(n)} | {f"x{i}_dot": 0.0 for i in range(n)}
        q |= {"k": 2.0, "mu": 0.3, **dict(zip(rough, modes, strict=True))}
        a = np.zeros((n + 3, n + 3))
        a[:n, :n], b = jacobi, np.r_[-2.0 * position, np.zeros(3)]
        for row, (i, s) in enumerate(zip(rough.values(), modes, strict=True)):
            a[i, n + row] = -1
            a[n + row, n + row if s else i] = 1
            b[n + row] = -s * 0.3 * (1 + position[i] ** 2)
        expected = np.linalg.solve(a, b)
        np.testing.assert_allclose(kernels("rhs", q)[n:], expected[:n], rtol=0, atol=1e-11)
        found = [c["T"] for c in kernels.contacts(q).values()]
        np.testing.assert_allclose(found, expected[n:], rtol=0, atol=1e-11)
        direction = rng.normal(size=2 * n)
        moved = {f"x{i}": direction[i] for i in range(n)} | {f"x{i}_dot": direction[n + i] for i in range(n)}
        h = 1e-4
        ahead, back = (kernels("rhs", q | {s: q[s] + z * d for s, d in moved.items()}) for z in (h, -h))
        np.testing.assert_allclose(kernels.jvp(q, direction), (ahead - back) / (2 * h), atol=1e-6)
