"""Declared events: guards, kinks, resets in every form, refusals, and identical texts in every process."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from c_runtime import STRICT, run
from hybrid_kernels import ROUGH, WITH_EVENTS, Kernels
from integrations import need
from refusals import refused

import chaplygin as cg
from chaplygin.codegen.derive.resets import resets
from chaplygin.codegen.emit.targets import emit, emit_to
from chaplygin.codegen.symbols.symbols import DeclarationError
from chaplygin.errors import FormError

Q, R = cg.coordinates("q r")
U, V = cg.rate(Q), cg.rate(R)
M, K, E = cg.parameters("m k e", positive=True)
PUSH = cg.inputs("F")
POINT = {"q": 0.4, "r": -0.7, "q_dot": 1.1, "r_dot": 0.6, "m": 1.5, "k": 2.5, "e": 0.8, "F": 0.3}


def pair(*events: Any, **changes: Any) -> cg.System:
    """Two coupled oscillators with position-dependent inertia."""
    given: dict[str, Any] = {
        "coordinates": [Q, R],
        "kinetic": M * (U**2 + (1 + Q**2) * V**2) / 2 + U * V / 3,
        "potential": K * (Q**2 + R**2) / 2,
        "example": {Q: 0.3, R: 0.2, U: 0.1, V: 0.4, M: 1, K: 2},
        "events": events,
    }
    return cg.System("pair", **(given | changes))


def test_guards_are_the_expressions_in_order_and_the_kinks_after_them() -> None:
    force = (
        sp.Abs(Q - R) + sp.sign(U) * sp.Max(Q, V) + sp.Piecewise((Q**2, R < PUSH), (0, True)) + sp.Abs(M - 2)
    )
    system = pair(
        cg.Event(Q * U - sp.sin(cg.time), name="first"),
        cg.Event(R - PUSH, direction=1, terminal=True),
        forces={U: force, V: -sp.Abs(R - Q)},
    )
    kernels = Kernels(system.equations("lagrange"))
    program = kernels.program
    assert [(e.name, e.direction, e.terminal, e.has_reset) for e in program.events] == [
        ("first", 0, False, False),
        ("event_2", 1, True, False),
    ]
    values = kernels("guards", POINT, 0.2)
    assert values[:2] == pytest.approx([0.44 - np.sin(0.2), -1.0], rel=1e-14)
    # |q - r| and |r - q| are one kink; |m - 2| does not move.
    texts = {v.description: abs(float(x)) for v, x in zip(program.guards[2:], values[2:], strict=True)}
    assert len(program.guards) == 6
    assert texts["argument of Abs"] == pytest.approx(1.1)
    assert texts["argument of sign"] == pytest.approx(1.1)
    assert texts["difference of the arguments of Max"] == pytest.approx(0.2)
    assert texts["difference of the sides of a condition"] == pytest.approx(1.0)
    assert [v.kind for v in program.guards] == ["guard"] * 6


IMPACT = cg.Event(Q, direction=-1, reset={U: -E * U, V: V + R * U}, name="impact")


@pytest.mark.parametrize("form", ["lagrange", "poincare", "hamel", "nonholonomic", "chetaev"])
def test_resets_give_the_same_declared_state_in_every_form(form: str) -> None:
    kernels = Kernels(pair(IMPACT).equations(form))
    expected = {"q": 0.4, "r": -0.7, "q_dot": -0.8 * 1.1, "r_dot": 0.6 - 0.7 * 1.1}
    start = dict(POINT)
    if form == "chetaev":
        start |= momenta(start)
        expected |= momenta(POINT | expected)
    after = kernels.reset(0, start)
    for name, value in after.items():
        assert value == pytest.approx(expected[name], rel=1e-13), name


def momenta(q: dict[str, float]) -> dict[str, float]:
    return {
        "p_q_dot": q["m"] * q["q_dot"] + q["r_dot"] / 3,
        "p_r_dot": q["m"] * (1 + q["q"] ** 2) * q["r_dot"] + q["q_dot"] / 3,
    }


def test_events_without_reset_leave_the_state() -> None:
    kernels = Kernels(pair(cg.Event(Q), IMPACT).equations("lagrange"))
    assert "reset_0" not in kernels.python
    assert "reset_1" in kernels.python
    assert kernels.reset(0, POINT) == {n: POINT[n] for n in ("q", "r", "q_dot", "r_dot")}


def test_coordinates_and_velocities_are_exchanged_at_once() -> None:
    kernels = Kernels(pair(cg.Event(Q - R, reset={Q: R, R: Q, U: V, V: U})).equations("lagrange"))
    assert kernels.reset(0, POINT) == {"q": -0.7, "r": 0.4, "q_dot": 0.6, "r_dot": 1.1}


def test_resets_of_constrained_forms() -> None:
    phi, x, y = cg.coordinates("phi x y")
    omega, v, w = cg.velocities("omega v w")
    given: dict[str, Any] = {
        "kinematics": {
            phi: omega,
            x: v * sp.cos(phi) - w * sp.sin(phi),
            y: v * sp.sin(phi) + w * sp.cos(phi),
        },
        "kinetic": M * (v**2 + (w + omega) ** 2) / 2 + omega**2,
        "constraints": [w - omega / 2],
    }
    system = cg.System("sleigh", **given, events=[cg.Event(x, reset={v: -v + w, phi: phi + 1})])
    after = Kernels(system.equations("maggi", independent=["omega", "v"])).reset(
        0, {"phi": 0.1, "x": 0.0, "y": 0.3, "omega": 0.8, "v": 2.0, "m": 1.0}
    )
    assert after == pytest.approx({"phi": 1.1, "x": 0.0, "y": 0.3, "omega": 0.8, "v": -1.6})
    system = cg.System("sleigh", **given, events=[cg.Event(x, reset={w: 0}, name="stop")])
    words = r"maggi does not fit 'sleigh': events\['stop'\].reset: w is not a state.*omega"
    refused(words, system.equations, "maggi", independent=["omega", "v"], error=FormError)
    assert resets(system.equations("multipliers").nodes)[0] is not None
    th1, th2 = cg.velocities("th1 th2")
    given = {k: e for k, e in given.items() if k != "constraints"}
    by_parameters = {"parametrization": {omega: th1, v: th2, w: th1 / 2}}
    system = cg.System("sleigh", **given, **by_parameters, events=[cg.Event(w, reset={th1: -th1 + w})])
    after = Kernels(system.equations("nonholonomic")).reset(
        0, {"phi": 0.1, "x": 0.0, "y": 0.3, "th1": 0.8, "th2": 2.0, "m": 1.0}
    )
    assert after["th1"] == pytest.approx(-0.4)
    system = cg.System("sleigh", **given, **by_parameters, events=[cg.Event(w, reset={v: 0})])
    refused(r"v is not a state of this form.*th1, th2", system.equations, "nonholonomic", error=FormError)


def test_resets_that_would_move_a_parameter_of_the_form() -> None:
    top = cg.example("gyrostat").system
    w1, rotor = top.velocities[0], top.velocities[-1]
    words = r"routh does not fit 'gyrostat'.*events\['e'\].reset: it changes a_\w+, which is a parameter"
    for v in (w1, rotor):
        with pytest.raises(FormError, match=words):
            top.with_events([cg.Event(w1, reset={v: -v}, name="e")]).equations("routh")
    free = top.with_events([cg.Event(w1, reset={top.velocities[1]: 0 * w1 + 1}, name="e")])
    assert resets(free.equations("routh").nodes)[0] is not None
    sleigh = cg.example("chaplygin_sleigh").system
    v = sleigh.velocities[1]
    with pytest.raises(FormError, match=r"whittaker does not fit.*the energy h is constant"):
        sleigh.with_events([cg.Event(v, reset={v: -v})]).equations("whittaker", along="phi")
    along = sleigh.with_events([cg.Event(v - 1)]).equations("whittaker", along="phi")
    assert "guards" in along.program.kernels


def test_a_guard_in_chetaevs_variables_is_that_in_velocities() -> None:
    system = pair(cg.Event(U * V - Q * M))
    start = POINT | momenta(POINT)
    values = [float(Kernels(system.equations(form))("guards", start)[0]) for form in ("lagrange", "chetaev")]
    assert values == pytest.approx([1.1 * 0.6 - 0.4 * 1.5] * 2, rel=1e-13)


def test_what_a_reset_changes_is_no_first_integral() -> None:
    assert "energy" in pair(cg.Event(Q)).equations("lagrange").invariants
    assert pair(IMPACT).equations("lagrange").invariants == {}
    mirrored = pair(cg.Event(Q, reset={U: -U, V: -V}))
    assert "energy" in mirrored.equations("lagrange").invariants
    assert {"energy", "power"} <= {v.name for v in pair(IMPACT).equations("lagrange").program.outputs}


def test_compile_takes_more_events() -> None:
    own, more = (
        pair(cg.Event(Q, name="own")),
        cg.Event(R - cg.parameters("level"), terminal=True, name="more"),
    )
    larger = own.with_events([more])
    assert [e.name for e in larger.events] == ["own", "more"]
    assert "level" in [p.name for p in larger.parameters]
    assert "level" not in [p.name for p in own.parameters]
    assert own.digest != larger.digest == own.with_events([more]).digest
    assert [e.name for e in own.events] == ["own"]
    assert set(own.compile(events=[more]).parameters) == {"m", "k", "level"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cg.Event("q"), "expr is a string"),
        (lambda: cg.Event(sp.Matrix([Q])), "give a scalar"),
        (lambda: cg.Event(Q, direction=2), "direction = 2; give -1, 0 or 1"),
        (lambda: cg.Event(Q, direction="up"), "direction = 'up'"),
        (lambda: cg.Event(Q, direction=True), "direction = True; give -1, 0 or 1"),
        (lambda: cg.Event(3), r"Event\(3\): expr = 3 does not change during a run"),
        (lambda: cg.Event(0), "expr = 0 does not change"),
        (lambda: cg.Event(K - 2, name="a"), "Event 'a': expr = k - 2 does not change during a run"),
        (lambda: cg.Event(Q, terminal=3), "terminal = 3"),
        (lambda: cg.Event(Q, name="a b"), "event 'a b': a name is a letter"),
        (lambda: cg.Event(Q, reset=[U]), "reset is list; give a dict"),
        (lambda: cg.Event(Q, reset={}), "reset is empty; name what changes, or leave reset out"),
        (
            lambda: cg.Event(Q, reset={"q_dot": 0}, name="hit"),
            "Event 'hit': reset: use the symbol q_dot as a key, not its name",
        ),
        (lambda: cg.Event(Q, reset={U: "0"}, name="hit"), r"Event 'hit': reset\[q_dot\] is a string"),
        (lambda: pair(Q), r"events\[0\] is Coordinate; give chaplygin.Event.*solve_ivp|integrate"),
        (lambda: pair(cg.Event(Q, name="a"), cg.Event(R, name="a")), "the name 'a' is used twice"),
        (
            lambda: pair(cg.Event(R, name="q")),
            "events: the name 'q' is already that of a coordinate; rename one",
        ),
        (lambda: pair(cg.Event(R, name="k")), "events: the name 'k' is already that of a parameter"),
        (
            lambda: pair(cg.Event(Q, name="sole"), contacts=[cg.Coulomb("sole", slip=U, normal=M, mu=K)]),
            r"events: the name 'sole' is already that of a contact \(sole\); rename one",
        ),
        (lambda: pair(cg.Event(sp.Symbol("z"))), r"events\['event_1'\]: unknown symbol 'z'"),
        (lambda: pair(cg.Event(sp.gamma(Q))), r"events\['event_1'\]: gamma"),
        (
            lambda: pair(cg.Event(Q, reset={cg.velocities("w"): 0}, name="hit")),
            r"events\['hit'\].reset: w is not a coordinate or velocity of the system \(q, r, q_dot, r_dot\)",
        ),
        (
            lambda: pair(cg.Event(Q, reset={U: cg.multiplier(1)}, name="hit")),
            r"events\['hit'\].reset\[q_dot\]: unknown symbol 'lambda_1': multipliers can appear only in",
        ),
    ],
)
def test_events_that_are_refused(make: Any, words: str) -> None:
    refused(words, make, error=DeclarationError)


def test_events_and_contacts_are_frozen() -> None:
    for thing in (IMPACT, cg.Coulomb("floor", slip=U, normal=M, mu=K)):
        with pytest.raises(AttributeError):
            thing.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        IMPACT.reset[U] = 0  # type: ignore[index]


SCRIPT = """
import hashlib, chaplygin as cg
from chaplygin.codegen.emit.targets import emit
for name in ("painleve_klein", "painleve_klein_rigid", "painleve_rod", "bouncing_ball"):
    entry = cg.example(name)
    for form in entry.forms[:2]:
        files = emit(entry.system.equations(form).program).files
        print(name, form, hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest())
"""


def test_the_same_texts_whatever_the_hash_seed() -> None:
    printed = {run([sys.executable, "-c", SCRIPT], PYTHONHASHSEED=seed) for seed in ("0", "31")}
    assert len(printed) == 1
    assert printed.pop().count("painleve") == 4


def test_the_table_and_one_function_for_all_resets() -> None:
    text = emit(pair(cg.Event(R), IMPACT).equations("lagrange").program).files["pair_core.c"]
    assert '{"event_1", 0, 0, 0, 0},' in text
    assert '{"impact", -1, 0, 1, 0},' in text
    assert "case 1: /* impact */" in text
    assert "case 0:" not in text
    assert "2, /* n_events */" in text
    assert "pair_reset, /* reset */" in text
    assert "pair_guards, /* guards_fn */" in text


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", sorted({*ROUGH, *WITH_EVENTS}))
@pytest.mark.sample(4)
def test_the_c_kernels_are_those_of_the_python_backend_and_compile_without_a_warning(
    name: str, compiler: str, tmp_path: Path
) -> None:
    entry = cg.example(name)
    kernels = Kernels(entry.system.equations(entry.forms[0]))
    program = kernels.program
    emit_to(program, tmp_path)
    flags = [
        "-std=c99",
        *STRICT,
        "-O2",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
        "-o",
        "core.so",
        f"{name}_core.c",
        "-lm",
    ]
    subprocess.run([need(compiler), *flags], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "core.so"))
    rng = np.random.default_rng(12)
    for trial in range(5):
        x = np.array([entry.initial[v.name] for v in program.states]) + 0.05 * rng.normal(
            size=len(program.states)
        )
        p = np.array([entry.parameters[v.name] for v in program.parameters])
        modes = [(1, -1, 0, 1)[(trial + i) % 4] for i in range(len(program.contacts))]
        signs = [1.0 - 2.0 * (trial % 2)] * (len(program.modes) - len(modes))
        u = np.array([0.3] * len(program.inputs) + modes + signs, dtype=float)
        work = np.empty(256)
        for kernel in program.kernels:
            event = int(kernel[6:]) if kernel.startswith("reset_") else None
            function = getattr(library, f"{name}_{kernel if event is None else 'reset'}")
            out = np.full(300, np.nan)
            direction = rng.normal(size=len(x))
            arrays = [x, p, u, *([direction] if kernel == "jvp" else []), out, work]
            arguments = [ctypes.c_double(0.2), *(ctypes.c_void_p(a.ctypes.data) for a in arrays)]
            assert function(*([] if event is None else [ctypes.c_int32(event)]), *arguments) == 0, kernel
            given = [0.2, x.tolist(), p.tolist(), u.tolist()]
            expected = np.array(
                kernels.python[kernel](*given, *([direction.tolist()] if kernel == "jvp" else []))
            )
            size = float(np.abs(expected).max()) if len(expected) else 1.0
            np.testing.assert_allclose(
                out[: len(expected)], expected, rtol=1e-13, atol=1e-14 * size, err_msg=kernel
            )
