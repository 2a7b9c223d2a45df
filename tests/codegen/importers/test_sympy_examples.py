"""The models in SymPy's own tests, docstrings and tutorials, PyDy's, and exercises of Kane and Levinson."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import documentation_models as documented
import kane_levinson_models as exercises
import numpy as np
import pydy_models as pydy
import pytest
import sympy.physics as physics
from refusals import refused
from sympy_oracle import Oracle, difference, formed, states_of

import chaplygin as cg

HERE, PHYSICS = Path(__file__).parents[2] / "support", Path(physics.__file__).parent
MODULES = {
    "mechanics/tests/test_kane.py": 16,
    "mechanics/tests/test_kane2.py": 6,
    "mechanics/tests/test_kane3.py": 1,
    "mechanics/tests/test_kane4.py": 6,
    "mechanics/tests/test_kane5.py": 1,
    "mechanics/tests/test_lagrange.py": 5,
    "mechanics/tests/test_lagrange2.py": 1,
    "mechanics/tests/test_linearize.py": 6,
    "mechanics/tests/test_models.py": 10,
    "mechanics/tests/test_system_class.py": 10,
    "mechanics/tests/test_actuator.py": 2,
    "mechanics/tests/test_jointsmethod.py": 7,
    "mechanics/kane.py": 1,
    "mechanics/lagrange.py": 1,
    "mechanics/jointsmethod.py": 2,
    "mechanics/system.py": 3,
    "mechanics/actuator.py": 1,
}
"""How many models each file of SymPy 1.14 forms."""
REFUSED = {
    "test_kane.py::test_aux": "acceleration of Dmc in N was set to another vector than the rate of its velocity",
    "test_kane.py::test_issue_24887": "no inertia along u2",
    "test_kane2.py::test_sub_qdot2": "no bodies",
}
"""Those that no equations of motion belong to, and the reason that the error gives."""


def watched(module: str, folder: Path) -> list[dict[str, Any]]:
    """What became of the models in a file of SymPy."""
    found = folder / "watched.json"
    places = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "watched_sympy"]
    command += ["-p", "no:cacheprovider", "--doctest-modules", "--doctest-continue-on-failure"]
    subprocess.run(
        [*command, str(PHYSICS / module)],
        env=os.environ | {"WATCHED": str(found), "PYTHONPATH": places},
        cwd=folder,
        capture_output=True,
        check=False,  # docstrings print expressions as SymPy's own test runner sets them up
    )
    return [json.loads(line) for line in found.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_models_of_sympys_own_tests(module: str, tmp_path: Path) -> None:
    """Accelerations are SymPy's at 20 states; models without equations of motion are refused for the right reason."""
    found = watched(module, tmp_path)
    assert len(found) == MODULES[module]
    for model in found:
        reason = REFUSED.get(model["example"])
        if reason is None:
            assert "refused" not in model, model
            assert isinstance(model["difference"], float), model
            assert model["difference"] < 1e-10, model
        else:
            assert reason in model["refused"], model


QUICK = (documented.atwood_machine, documented.arm_with_a_muscle)


def agreement(model: Any) -> float:
    """The largest difference from SymPy's accelerations at 20 states, relative to their size."""
    compiled = cg.from_sympy(model(), model.__name__).compile()
    theirs = model()
    return difference(compiled, Oracle(formed(theirs), states_of(theirs)))


@pytest.mark.parametrize("model", QUICK)
def test_documented_examples(model: Any) -> None:
    assert agreement(model) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [m for m in (*documented.TUTORIALS, *pydy.PYDY, *exercises.EXERCISES) if m not in QUICK]
)
def test_longer_documented_examples(model: Any) -> None:
    assert agreement(model) < 1e-10


@pytest.mark.slow
def test_a_disk_as_in_kane_and_levinson() -> None:
    """The answer of exercise 11.5 at 20 states."""
    model = cg.from_sympy(exercises.book_disk(), "book_disk").compile()
    draw = np.random.default_rng(1)
    for _ in range(20):
        (q2, u1, u2, u3), r, g = draw.uniform(-1, 1, 4), draw.uniform(0.5, 1.5), 9.81
        expected = [
            (u2**2 * np.tan(q2) - 6 * u2 * u3 - 4 * g * np.sin(q2) / r) / 5,
            2 * u3 * u1 - u1 * u2 * np.tan(q2),
            2 * u1 * u2 / 3,
        ]
        state = {"q1": 0.3, "q2": q2, "q3": 0.4, "q4": 0.1, "q5": 0.2, "u1": u1, "u2": u2, "u3": u3}
        rates = model.rhs(0, state, {"R": r, "m": 1.3, "g": g})
        np.testing.assert_allclose(rates[-3:], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_a_blade_on_a_turntable_as_in_kane_and_levinson() -> None:
    """The answer of exercise 10.14, its generalised inertia forces set to zero, at 20 states."""
    model = cg.from_sympy(exercises.blade_on_a_turntable(), "blade").compile()
    assert model.states[-2:] == ("u1", "u2")
    draw = np.random.default_rng(2)
    for _ in range(20):
        q1, q2, q3, u1, u2 = draw.uniform(-1, 1, 5)
        length, m1, m2, turning = draw.uniform(0.5, 1.5, 4)
        outward = turning**2 * (q1 * np.cos(q3) + m2 * length * np.cos(q3) ** 2 / (m1 + m2))
        expected = [
            outward - m1 * u2**2 / (length * (m1 + m2)),
            u1 * u2 / length - turning**2 * q1 * np.sin(q3),
        ]
        state = {"q1": q1, "q2": q2, "q3": q3, "u1": u1, "u2": u2}
        numbers = {"L": length, "m1": m1, "m2": m2, "Omega": turning}
        rates = model.rhs(0.7, state, numbers)
        np.testing.assert_allclose(rates[-2:], expected, rtol=1e-12, atol=1e-12)


def test_a_driven_linkage_leaves_nothing_to_integrate() -> None:
    with pytest.raises(cg.DeclarationError, match="3 constraints leave none of the 3 velocities free"):
        cg.from_sympy(pydy.four_bars_with_a_driven_link(), "driven")


def test_an_angular_velocity_that_lacks_a_component() -> None:
    """Antennas on universal joints have three components of angular velocity; PyDy's satellite sets two of them."""
    model = pydy.explorer()
    tube, rod = model.bodies[0].frame, model.bodies[1].frame
    (first, second) = model.u[6:8]
    rod.set_ang_vel(tube, first * rod.x + second * rod.z)
    words = "angular velocity of A0 in E was set to another vector than the rate"
    refused(words, cg.from_sympy, model, "explorer", error=cg.DeclarationError)
