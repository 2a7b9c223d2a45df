"""New expressions of a model's quantities: their values, their bits, and what is refused."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from c_runtime import STRICT, run
from integrations import need
from lane_models import torque_sleigh
from refusals import refused
from test_batch import NUMBERS, WIDTHS, N, starts

import chaplygin as cg
from chaplygin.codegen.emit.c_expressions import companion_file
from chaplygin.codegen.lower.expressions import companion, fingerprint
from chaplygin.codegen.plan.plan import plan
from chaplygin.runtime import Batch, Model, load_model

phi, x, y = cg.coordinates("phi x y")
omega, v, w = cg.velocities("omega v w")
m, a, J = cg.parameters("m a J", positive=True)
tau = cg.inputs("tau")

EXPRESSIONS: dict[str, tuple[Any, Any]] = {
    "state": (omega, lambda q: q["omega"]),
    "functions": (sp.exp(-(x**2)) * sp.sin(phi) + sp.sqrt(1 + y**2),
                  lambda q: np.exp(-(q["x"] ** 2)) * np.sin(q["phi"]) + np.sqrt(1 + q["y"] ** 2)),
    "parameters and inputs": (m * tau / J + a, lambda q: q["tau"] / 0.5 + 0.2),
    "time": (2 * cg.time, lambda q: 2 * q["t"]),
    "rate": (cg.rate(x), lambda q: q["v"] * np.cos(q["phi"])),
    "dependent velocity": (w + v, lambda q: q["v"]),
    "output": (2 * sp.Symbol("energy"), lambda q: q["v"] ** 2 + (0.2 * q["omega"]) ** 2 + q["omega"] ** 2 / 2),
    "condition": (y > 0, lambda q: q["y"] > 0),
    "several": (sp.And(y > 0, sp.Or(omega < 0, phi >= 1)), lambda q: (q["y"] > 0)
                & ((q["omega"] < 0) | (q["phi"] >= 1))),
    "choice": (sp.Piecewise((y, y > 0), (-2 * y, True)), lambda q: np.where(q["y"] > 0, q["y"], -2 * q["y"])),
    "maximum": (sp.Max(y, phi, 0), lambda q: np.maximum(np.maximum(q["y"], q["phi"]), 0)),
    "angle": (sp.atan2(y, x), lambda q: np.arctan2(q["y"], q["x"])),
    "number": (sp.Rational(3, 2), lambda q: 1.5),
    "truth": (sp.true, lambda q: 1.0),
    "root of a negative number": (sp.sqrt(y), lambda q: np.sqrt(np.where(q["y"] < 0, np.nan, q["y"]))),
    "comparison with it": (sp.sqrt(y) > 0.5, lambda q: np.where(q["y"] < 0, np.nan, np.sqrt(np.abs(q["y"])) > 0.5)),
}  # fmt: skip


def sleighs(**options: Any) -> Batch:
    batch = torque_sleigh().batch(
        starts(), NUMBERS, {"tau": np.linspace(-1, 1, N)}, n=N, method="tsit5", **options
    )
    batch.advance_by(0.3)
    return batch


@functools.cache
def evaluated(lanes: int) -> np.ndarray[Any, Any]:
    return sleighs(lanes=lanes).evaluate([e for e, _ in EXPRESSIONS.values()])


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_values_are_those_of_numpy(name: str) -> None:
    batch = sleighs(lanes=1)
    _, right = EXPRESSIONS[name]
    found = evaluated(1)[list(EXPRESSIONS).index(name)]
    expected = np.broadcast_to(right({q: batch[q] for q in (*batch.names, "t")}), (N,))
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)
    if "condition" in name or "comparison" in name:
        assert len(set(found[found == found])) == 2  # both cases occur


@pytest.mark.parametrize("lanes", WIDTHS[1:])
def test_lanes_do_not_change_a_bit(lanes: int) -> None:
    assert evaluated(lanes).tobytes() == evaluated(1).tobytes()


def test_threads_do_not_change_a_bit() -> None:
    wanted = [e for e, _ in EXPRESSIONS.values()]
    assert sleighs(threads=3).evaluate(wanted).tobytes() == evaluated(1).tobytes()


def test_an_expression_has_the_same_bits_in_any_company() -> None:
    """A sum of three terms is not associated differently because another expression contains two of them."""
    wide = omega + phi * v + sp.sin(x) / 3
    others = [phi * v + sp.sin(x) / 3, omega + phi * v, omega + sp.sin(x) / 3]
    alone = sleighs().evaluate(wide)
    assert (sleighs().evaluate([*others, wide])[-1] == alone).all()


def test_out_is_written_and_returned() -> None:
    batch, wanted = sleighs(), [omega * v, "v", x > 0, "v"]
    right = batch.evaluate(wanted)
    assert (right[1] == batch["v"]).all()
    assert (right[3] == batch["v"]).all()
    for out in (np.empty((4, N)), np.empty((N, 4)).T, np.empty((4, 2 * N))[:, ::2]):
        assert batch.evaluate(wanted, out=out) is out
        assert (out == right).all()
    single = np.empty(N)
    assert batch.evaluate(omega * v, out=single) is single
    assert (single == right[0]).all()
    assert batch.evaluate([]).shape == (0, N)


def test_momenta_and_reactions() -> None:
    """A pendulum in a plane, x^2 + y^2 = l^2: the reaction is linear in the tension, and p = m v."""
    px, py = cg.coordinates("px py")
    mass, length = cg.parameters("mass length", positive=True)
    kinetic = mass * (cg.rate(px) ** 2 + cg.rate(py) ** 2) / 2
    free = cg.System("free", coordinates=[px, py], kinetic=kinetic).compile("chetaev")
    batch = free.batch({"px": 0, "py": 0, "px_dot": [1, 2], "py_dot": 3}, {"mass": 2}, n=2)
    assert batch.evaluate(cg.rate(px) * mass).tolist() == [2, 4]
    system = cg.System(
        "hanging",
        coordinates=[px, py],
        kinetic=kinetic,
        potential=10 * mass * py,
        holonomic=[px**2 + py**2 - length**2],
        example={px: 0.6, py: -0.8, length: 1, mass: 1},
    )
    model = system.compile("multipliers")
    start = {"px": 0, "py": -1, "px_dot": [0, 2], "py_dot": 0}
    batch = model.batch(start, {"mass": 3, "length": 1}, n=2)
    reaction = sp.Symbol("lambda_1")
    tension = 2 * sp.Abs(reaction)  # the gradient of the constraint has length 2
    np.testing.assert_allclose(batch.evaluate(tension), 3 * (10 + np.array([0, 4])), rtol=1e-13)


def test_a_singular_state_gives_nan() -> None:
    """w = v/cos x has no value at x = pi/2."""
    kinetic = (v**2 + w**2) / 2
    system = cg.System(
        "turning", kinematics={x: v, y: w}, kinetic=kinetic, constraints=[sp.cos(x) * w - v], example={x: 0.1}
    )
    batch = system.compile("maggi", independent=[v]).batch({"x": 0, "y": 0, "v": 3}, n=2)
    batch._x[0, 1] = np.pi / 2  # no run goes there
    found = batch.evaluate([w + v, 2 * x])
    assert found[:, 0].tolist() == [6, 0]
    assert np.isnan(found[:, 1]).all()


WRONG: list[tuple[Any, str]] = [
    (sp.Symbol("omgea") + 1, "'omgea' is not a quantity of the model; it has .*did you mean omega"),
    (sp.Function("f")(x), "f in 'f.x.' is not supported"),
    (sp.Matrix([x]), "a scalar is needed"),
    (None, "a scalar is needed|not a SymPy expression"),
    ({}, "a scalar is needed"),
    (sp.I * x, "is not supported"),
    (sp.oo, "is not a finite real number"),
    (sp.Piecewise((x, x > 0)), "does not cover"),
    ("omgea", "'omgea' is not a quantity of torque_sleigh"),
]


@pytest.mark.parametrize(("wrong", "text"), WRONG, ids=[str(e) for e, _ in WRONG])
def test_wrong_expressions_are_named(wrong: Any, text: str) -> None:
    batch = sleighs()
    refused(text, batch.evaluate, wrong)
    refused(text, batch.evaluate, [omega, wrong])


def test_a_model_without_its_declaration_takes_names(tmp_path: Path) -> None:
    model = cg.example("harmonic_oscillator").system.compile(wait=True)
    shutil.copytree(Path(model.owner.__file__).parent, tmp_path / "copy")  # type: ignore[attr-defined]
    loaded: Model = load_model(tmp_path / "copy" / Path(model.owner.__file__).name)  # type: ignore[attr-defined]
    batch = loaded.batch([[1, 2], [0, 0]], [1, 4], n=2)
    assert batch.evaluate(["energy", "x"]).tolist() == [[2, 8], [1, 2]]
    words = r"without its declaration.*names of declared quantities \(x, x_dot"
    refused(words, batch.evaluate, sp.Symbol("x") ** 2)


def test_the_key_of_the_cache_is_what_the_expression_says() -> None:
    assert fingerprint([x + y, sp.S(1)]) == fingerprint([y + x, sp.S(1)])
    different = [[x + y], [x - y], [x + v], [x, y], [y, x], [x + y, sp.S(1)], [x < y], [x <= y]]
    assert len({fingerprint(e) for e in different}) == len(different)


@pytest.mark.slow
def test_the_file_is_the_same_in_every_process() -> None:
    """Whatever the hash seed, on which the order of SymPy's sets depends."""
    program = """
from test_companion import *
wanted = [e for e, _ in EXPRESSIONS.values()]
program = companion(torque_sleigh()._equations(), wanted, fingerprint(wanted))
print(companion_file(plan(program), "model", "command"))
"""
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", program]
    texts = {run(command, PYTHONHASHSEED=seed, PYTHONPATH=path) for seed in "0123"}
    assert len(texts) == 1
    assert "torque_sleigh_values_lanes" in texts.pop()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.sample(1)
def test_the_file_compiles_without_a_warning(compiler: str, tmp_path: Path) -> None:
    equations = torque_sleigh()._equations()  # type: ignore[misc]
    program = plan(companion(equations, [e for e, _ in EXPRESSIONS.values()], "digest"))
    (file,) = ((tmp_path / name, text) for name, text in companion_file(program, "model", "command").items())
    file[0].write_text(file[1])
    include = Path(cg.__file__).resolve().parents[2] / "runtime" / "c"
    command = [need(compiler), "-std=gnu11", "-O1", *STRICT, f"-I{include}", "-c", str(file[0]), "-o", "x.o"]
    for lanes in (1, 2, 8):
        run([*command, f"-DCG_LANES={lanes}"], tmp_path)
