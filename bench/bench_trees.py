"""Trees of bodies: a call of `recursive` beside a hand-written recursion and Pinocchio, lanes, and compile times.

`python -m pytest bench/bench_trees.py`. The planar chain is one of equal rods on hinges, the
spatial trees are binary.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import Array
from pinocchio_aba import Aba, missing
from sizes import ROUNDS, scaled
from turns import Contender, Ratio, quick_time

import chaplygin as cg
from chaplygin.api.equations import Equations
from chaplygin.codegen.toolchain.compiler import find_compiler
from chaplygin.runtime.interface.files import INCLUDE

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from spatial_trees import MOMENTS, NUMBERS, G, L, M, Pinocchio, spatial_tree  # noqa: E402

SECONDS = scaled(
    {("planar", 100): 5.0, ("planar", 200): 8.0, ("hinges", 30): 8.0, ("balls", 30): 8.0},
    {("planar", 2): 5.0},
)
"""At most for declaring, deriving, emitting and compiling."""
JOINTS = scaled(["hinges", "balls"], ["balls"])
IN_LANES = scaled(30, 1)
"""Bodies."""


def planar(n: int) -> cg.System:
    """Rods of length l that hang from each other's ends."""
    bodies: list[Any] = []
    moment = M * L**2 / 12
    for i in range(n):
        above, at = (bodies[-1], (0, 0, -L)) if bodies else (None, (0, 0, 0))
        bodies.append(
            cg.joint.revolute(
                above, "y", at=at, name=f"x{i}", mass=M, inertia=(moment, moment, 0), center=(0, 0, -L / 2)
            )
        )
    return cg.System("chain", bodies=bodies, interactions=[cg.Weight(G)], example={M: 1.3, L: 0.7})


class Calls:
    """Right-hand sides in C, called so many times in a row."""

    def __init__(self, equations: Equations, folder: Path, links: int = 0) -> None:
        name, self.states = equations.program.name, len(equations.states)
        equations.emit(folder, targets=["c"])
        compiler, library = find_compiler(), folder / "calls.so"
        given = {"CORE": f'"{name}_core.c"', "MODEL": f"{name}_model", "RHS": f"{name}_rhs_hoisted"}
        given["STATES"] = str(self.states)
        given |= {"LINKS": str(links)} if links else {}
        flags = [f for f in compiler.core_flags(tuned=True, reproducible=True) if f != "-fvisibility=hidden"]
        command = [*compiler.command, *flags, *(f"-D{a}={b}" for a, b in given.items()), f"-I{HERE}"]
        command += [
            f"-I{folder}",
            f"-I{INCLUDE}",
            "-shared",
            str(HERE / "tree_calls.c"),
            "-o",
            str(library),
            "-lm",
        ]
        subprocess.run(command, check=True)
        self.library = ctypes.CDLL(str(library))
        self.parameters = [p.name for p in equations.program.parameters]

    def run(self, whose: str, calls: int, y: Array, names: tuple[str, ...] = ()) -> Array:
        """The derivatives at y after so many calls."""
        p, out = np.array([NUMBERS[name] for name in names or self.parameters]), np.empty(self.states)
        places = (ctypes.c_void_p(a.ctypes.data) for a in (np.ascontiguousarray(y), p, out))
        assert getattr(self.library, f"{whose}_calls")(ctypes.c_int64(calls), *places) == 0
        return out


@pytest.mark.parametrize("n", scaled([5, 20, 50, 100], [2]))
def test_planar_chain(n: int, tmp_path: Path, turns: Any) -> None:
    calls, times = Calls(planar(n).equations("recursive"), tmp_path, n), scaled(2_000_000 // n, 100)
    rng = np.random.default_rng(n)
    for _ in range(20):
        y = rng.uniform(-1, 1, 2 * n)
        expected = calls.run("written", 1, y, ("m", "l", "g"))
        assert np.abs(calls.run("emitted", 1, y) - expected).max() <= 1e-11 * np.abs(expected).max()
    ours = Contender("recursive", lambda: calls.run("emitted", times, y), times)
    theirs = Contender("hand-written", lambda: calls.run("written", times, y, ("m", "l", "g")), times)
    ratio = Ratio(f"{n} rods, time relative to the hand-written recursion", ours, theirs, 1.2, inverse=True)
    turns(f"planar chain of {n} rods, a right-hand side", [theirs, ours], [ratio], rounds=ROUNDS)


@pytest.mark.parametrize("n", scaled([30, 100], [3]))
@pytest.mark.parametrize("joint", JOINTS)
def test_spatial_tree(joint: str, n: int, tmp_path: Path, turns: Any) -> None:
    """Beside Pinocchio's ABA called from C++ or, without its headers, from Python."""
    pytest.importorskip("pinocchio", reason="Pinocchio is in the extra [peers]")
    theirs = Pinocchio(n, joint)
    calls, times = Calls(spatial_tree(n, joint).equations("recursive"), tmp_path), scaled(200_000 // n, 20)
    q, v, y = theirs.random(0)
    found, expected = calls.run("emitted", 1, y)[-theirs.model.nv :], theirs.accelerations(q, v)
    assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()
    ours = Contender("recursive", lambda: calls.run("emitted", times, y), times)
    lacking = missing()
    others = [_from_python(theirs, times)] if lacking else _from_cpp(theirs, times)
    least = min(others, key=lambda other: quick_time(other.run) - other.free)
    ratio = Ratio(f"{n} {joint}, time relative to Pinocchio's ABA", ours, least, 1.0, inverse=True)
    remark = f"Pinocchio is called from Python: {lacking} is missing" if lacking else ""
    title = f"tree of {n} bodies on {joint}, a right-hand side"
    turns(title, [*others, ours], [ratio], rounds=ROUNDS, remark=remark)


def _from_cpp(theirs: Pinocchio, times: int) -> list[Contender]:
    """With both of its conventions."""
    numbers = (NUMBERS[name] for name in "mlg")
    aba = Aba(len(theirs.joints), theirs.joint, *numbers, np.array(MOMENTS))
    q, v, _ = theirs.random(0)
    expected = theirs.accelerations(q, v)
    found = []
    for world, axes in ((False, "the bodies"), (True, "space")):

        def run(world: bool = world, calls: int = times) -> Array:
            return aba.run(calls, world, q, v)

        assert np.abs(theirs.ordered(run(calls=1)) - expected).max() <= 1e-10 * np.abs(expected).max()
        found.append(Contender(f"Pinocchio from C++, axes of {axes}", run, times))
    return found


def _from_python(theirs: Pinocchio, times: int) -> Contender:
    """Less what calling it costs: the time for a single joint."""
    one = Pinocchio(1, theirs.joint)

    def repeated(tree: Pinocchio) -> Callable[[], None]:
        q, v, _ = tree.random(0)
        aba, model, data, tau = tree.package.aba, tree.model, tree.data, np.zeros(tree.model.nv)

        def run() -> None:
            for _ in range(times):
                aba(model, data, q, v, tau)

        return run

    return Contender("Pinocchio", repeated(theirs), times, free=quick_time(repeated(one), 9))


@pytest.mark.parametrize("joint", JOINTS)
def test_lanes_of_a_spatial_tree(joint: str, turns: Any) -> None:
    model = spatial_tree(IN_LANES, joint).compile("recursive", wait=True)
    runs = scaled(64, 8)
    start = {name: np.full(runs, 1.0 if name.endswith("q0") else 0.0) for name in model.states}
    rng = np.random.default_rng(0)
    moving = [name for name in model.states if name.endswith(("_dot", "wx", "wy", "wz"))]
    start |= {name: rng.uniform(-0.5, 0.5, runs) for name in moving}

    def run(lanes: int) -> Callable[[], Any]:
        return lambda: cg.ensemble(
            model, (0.0, 1.0), initial=start, parameters=NUMBERS, method="rk4", step=0.01, lanes=lanes, threads=1,
            progress=False,
        )  # fmt: skip

    widest = 8
    one, many = (Contender(f"{lanes} lanes", run(lanes), runs * 400) for lanes in (1, widest))
    ratio = Ratio(f"{IN_LANES} {joint}: throughput of {widest} lanes, relative to one", many, one, 4.0)
    turns(f"tree of {IN_LANES} bodies on {joint} in lanes, rk4", [one, many], [ratio], rounds=ROUNDS)


@pytest.mark.parametrize(("kind", "n"), SECONDS)
def test_declared_derived_compiled(
    kind: str, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turns: Any
) -> None:
    folders = iter(range(1000))

    def run() -> None:
        monkeypatch.setenv("CHAPLYGIN_CACHE", str(tmp_path / str(next(folders))))
        system = planar(n) if kind == "planar" else spatial_tree(n, kind)
        system.compile("recursive", wait=True)

    row = Contender(f"{kind} {n}", run)
    turns(
        f"declared, derived, emitted, compiled: {kind} {n}",
        [row],
        [],
        rounds=2,
        remark=f"at most {SECONDS[kind, n]} s",
    )
