"""The models in SymPy's own tests and docstrings, taken from the installed package, go through `from_sympy`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sympy.physics as physics

HERE, PHYSICS = Path(__file__).parent, Path(physics.__file__).parent
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
