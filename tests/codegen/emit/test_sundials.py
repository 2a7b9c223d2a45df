"""Models as user functions of SUNDIALS, against known motions."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_runtime import STRICT
from dense_chain import dense_chain
from integrations import SUNDIALS, compilers_with_sundials
from verification import REFERENCE

import chaplygin as cg
from chaplygin.runtime import ArgumentError

HERE = Path(__file__).parents[2]
MAIN = HERE / "c" / "sundials" / "cvode.c"


def program(system: cg.System, form: str, folder: Path, compiler: str = "") -> Path:
    """The test program with the emitted files of a system."""
    name = system.name
    system.emit(form, folder, targets=("c", "sundials"))
    sources = [MAIN, folder / f"{name}_sundials.c", folder / f"{name}_core.c"]
    roots = ["-DROOTS"] if "_sundials_guards" in sources[1].read_text() else []
    command = [
        compiler or compilers_with_sundials()[0],
        "-std=c99",
        *STRICT,
        "-O1",
        f"-DMODEL={name}",
        *roots,
    ]
    command += [f"-I{folder}", *map(str, sources), "-o", str(folder / "cvode"), *SUNDIALS, "-lm"]
    subprocess.run(command, check=True)
    return folder / "cvode"


def run(program: Path, solver: str, rtol: float, t_end: float, *numbers: float) -> list[list[str]]:
    """The words of each line that the program prints."""
    command = [str(program), solver, repr(rtol), repr(t_end), *map(repr, map(float, numbers))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


SLEIGH = ("phi", "x", "y", "omega", "v")


@pytest.mark.integration("sundials")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_the_sleigh_reaches_its_closed_form(compiler: str, solver: str, tmp_path: Path) -> None:
    sleigh = cg.example("chaplygin_sleigh")
    made = program(sleigh.system, "maggi", tmp_path, compiler)
    numbers = [*(sleigh.parameters[name] for name in "abk"), *(sleigh.initial[name] for name in SLEIGH)]
    count, *end = run(made, solver, 1e-11, 10.0, *numbers)
    assert int(count[1]) > 0  # the emitted derivatives were called
    exact = sleigh.closed_form(10.0)
    for name, (value,) in zip(SLEIGH, end, strict=True):
        assert abs(float(value) - exact[name]) < 1e-7, name


@pytest.mark.integration("sundials")
def test_roots_and_resets_give_the_bounces_of_a_ball(tmp_path: Path) -> None:
    made = program(cg.example("bouncing_ball").system, "lagrange", tmp_path)
    m, g, e, h = 0.1, 9.81, 0.8, 1.0
    lines = run(made, "dense", 1e-11, 2.0, m, g, e, h, 0.0)
    fall = math.sqrt(2 * h / g)
    times = np.cumsum([fall, *(2 * fall * e**k for k in range(1, 9))])
    found = [float(words[-1]) for words in lines if words[0] == "event"]
    np.testing.assert_allclose(found, times[times < 2.0], rtol=0, atol=1e-8)


@pytest.mark.integration("sundials")
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_a_chain_reaches_its_reference(solver: str, tmp_path: Path) -> None:
    """Five links; the reference was computed with 40 digits from the equations of SymPy."""
    chain = REFERENCE["n_link_pendulum_5"]
    made = program(cg.example("n_link_pendulum").system, "lagrange", tmp_path)
    _, *end = run(made, solver, 1e-11, 1.0, *map(float, [*chain["params"].values(), *chain["initial"]]))
    found, exact = [float(value) for (value,) in end], [float(v) for v in chain["end"]["1"]["state"]]
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-7)


@pytest.mark.slow
@pytest.mark.integration("sundials")
def test_a_chain_with_scratch_memory_keeps_its_energy(tmp_path: Path) -> None:
    """Twenty links of length l with a mass m at each joint: T + m g h, by hand."""
    n, m, l, g = 20, 0.7, 1.3, 9.81  # noqa: E741
    system = dense_chain(n).system
    made = program(system, "lagrange", tmp_path)
    start = np.concatenate([np.linspace(0.2, 0.8, n), np.zeros(n)])
    _, *end = run(made, "dense", 1e-10, 0.5, m, l, g, *start)

    def energies(state: np.ndarray) -> tuple[float, float]:
        angle, rate = state[:n], state[n:]
        speed = np.cumsum(l * rate * np.cos(angle)), np.cumsum(l * rate * np.sin(angle))
        return m * sum(v @ v for v in speed) / 2, -m * g * np.cumsum(l * np.cos(angle)).sum()

    assert "    0, /* n_work */" not in (tmp_path / f"{system.name}_core.c").read_text()
    kinetic, potential = energies(np.array([float(value) for (value,) in end]))
    assert kinetic > 10
    assert abs(kinetic + potential - energies(start)[1]) < 1e-6 * kinetic


@pytest.mark.integration("sundials")
def test_a_vector_of_another_length_is_refused(tmp_path: Path) -> None:
    made = program(cg.example("harmonic_oscillator").system, "lagrange", tmp_path)
    done = subprocess.run(
        [str(made), "dense", "1e-6", "1", "1", "4", "1", "0", "0"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "reached: -8" in done.stderr  # CV_RHSFUNC_FAIL


@pytest.mark.parametrize("name", ["block_on_belt", "woodpecker"])
def test_contacts_are_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        ArgumentError, match=rf"sundials: {name} has the contacts \w+.*, whose modes SUNDIALS cannot"
    ):
        cg.example(name).system.emit(tmp_path, targets=("c", "sundials"))
    assert not any(tmp_path.iterdir())
