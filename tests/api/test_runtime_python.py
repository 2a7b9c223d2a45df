"""The pure-Python backend has the kernels and `integrate` of a compiled model, warns, and gives the same numbers."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from integrations import without_a_compiler
from oracle_rodas5p import OracleModel
from refusals import refused
from runtime_models import model, needs_core

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.methods import PAIRS
from chaplygin.runtime import ArgumentError, KernelError, PurePythonWarning, PythonModel, Variable
from chaplygin.runtime.interface.description import KernelEntry


def kernels() -> Any:
    """The oscillator of runtime_models.c in Python."""

    def rhs(t: Any, x: Any, p: Any, u: Any) -> list[Any]:
        return [x[1], (u[0] - p[1] * x[0]) / p[0]]

    python = {
        "rhs": rhs,
        "jacobian": lambda t, x, p, u: [0.0, 1.0, -p[1] / p[0], 0.0],
        "jvp": lambda t, x, p, u, v: [v[1], -p[1] / p[0] * v[0]],
        "outputs": lambda t, x, p, u: [0.0, u[0] - p[1] * x[0]],
        "invariants": lambda t, x, p, u: [p[0] * x[1] ** 2 / 2 + p[1] * x[0] ** 2 / 2],
    }
    return SimpleNamespace(
        name="oscillator",
        form="lagrange",
        digest="0123",
        n_coordinates=1,
        independent="t",
        entries=[
            KernelEntry("rhs", "", "state", 2),
            KernelEntry("jvp", "", "direction", 2),
            KernelEntry("jacobian", "", "state", 4),
            KernelEntry("outputs", "", "state", 2),
            KernelEntry("invariants", "", "state", 1),
        ],
        states=[Variable("q", "coordinate", "m", "position", 1.0), Variable("v", "velocity", "m/s", "", 0.0)],
        parameters=[
            Variable("m", "parameter", "kg", "mass", 1.0),
            Variable("k", "parameter", "N/m", "stiffness", 4.0),
        ],
        inputs=[Variable("F", "input", "N", "force", 0.0)],
        outputs=[Variable("w", "declared", "m/s", "", 0.0), Variable("pull", "output", "N", "", 0.0)],
        invariants=[Variable("energy", "invariant", "J", "", 0.0)],
        declared=[],
        python=python,
    )


@pytest.fixture
def pure() -> PythonModel:
    return PythonModel(kernels(), quiet=True)


@pytest.fixture
def oracle() -> OracleModel:
    return OracleModel(kernels(), quiet=True)


def test_it_warns_unless_told_not_to() -> None:
    with pytest.warns(PurePythonWarning, match="PURE PYTHON"):
        PythonModel(kernels())
    assert issubclass(PurePythonWarning, RuntimeWarning)


@pytest.mark.parametrize("name", ["bouncing_ball", "block_on_belt"])
def test_events_and_contacts_are_not_ignored(name: str) -> None:
    with pytest.raises(cg.ArgumentError, match="has events or contacts, which need the backend 'c'"):
        cg.example(name).system.compile(backend="python")


def test_without_a_compiler_python_is_asked_for_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(tmp_path / "models"))
    without_a_compiler(monkeypatch)
    entry = cg.example("chaplygin_sleigh")
    words = r"apt install gcc.*pip install.*Or compile with backend='python'"
    refused(words, entry.system.compile, error=cg.NoCompilerError)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [entry.system.compile(backend="python"), entry.system.equations().compile(backend="python")]
    exact = entry.closed_form(2.0)
    for each in found:
        sol = each.integrate((0, 2), entry.initial, entry.parameters, project=None)
        for name, value in exact.items():
            assert sol[name][-1] == pytest.approx(value, abs=1e-7)
        with pytest.raises(cg.ArgumentError, match=r"ensemble: .* compile without backend='python'"):
            cg.ensemble(each, (0, 1), entry.initial, entry.parameters, n=2)
    refused(r"backend = 'rust'.*", entry.system.compile, backend="rust")


@needs_core
def test_the_same_face_and_numbers(pure: PythonModel) -> None:
    m = model("oscillator")
    for name in "name form states parameters inputs outputs invariants units example".split():
        assert getattr(pure, name) == getattr(m, name)
    rng = np.random.default_rng(3)
    y, p, u, dy = (
        rng.normal(size=(2, 5)),
        rng.uniform(1, 2, (2, 5)),
        rng.normal(size=(1, 5)),
        rng.normal(size=(2, 5)),
    )
    for a in [(y, p, u, dy), (y[:, 0], p[:, 0], u[:, 0], dy[:, 0])]:
        assert pure.rhs(0, *a[:3]) == pytest.approx(m.rhs(0, *a[:3]), rel=1e-14)
        assert pure.jacobian(0, *a[:3]) == pytest.approx(m.jacobian(0, *a[:3]), rel=1e-14)
        assert pure.jvp(0, a[0], a[1], a[3], a[2]) == pytest.approx(
            m.jvp(0, a[0], a[1], a[3], a[2]), rel=1e-14
        )
        ours, theirs = pure.evaluate(0, *a[:3]), m.evaluate(0, *a[:3])
        assert list(ours) == list(theirs)
        for name in ours:
            assert ours[name] == pytest.approx(theirs[name], rel=1e-14)


@needs_core
@pytest.mark.parametrize("span", [(0.0, 4.0), (4.0, 0.5)])
@pytest.mark.parametrize(
    "force",
    [
        0.5,
        ([1.0, 2.0, 3.0], [1.0, -1.0, 0.5]),
        ([1, 2, 2, 3], [0, 1, 2, 3], "linear"),
        lambda t, y: np.sin(t) - y[1],
    ],
)
def test_runs_agree_with_the_compiled_model(pure: PythonModel, span: Any, force: Any) -> None:
    times = np.linspace(*span, 13)
    given = ({"q": 1.0, "v": 0.2}, {"m": 1.0, "k": 4.0}, {"F": force})
    options: dict[str, Any] = {"t_eval": times, "dense_output": True, "rtol": 1e-11, "atol": 1e-11}
    ours, theirs = (m.integrate(span, *given, **options) for m in (pure, model("oscillator")))
    assert ours.y == pytest.approx(theirs.y, abs=1e-8)
    assert ours["energy"] == pytest.approx(theirs["energy"], abs=1e-7)
    assert ours["pull"] == pytest.approx(theirs["pull"], abs=1e-7)
    inside = np.linspace(*span, 29)[1:-1]
    assert ours.sol(inside) == pytest.approx(theirs.sol(inside), abs=1e-7)


@needs_core
@pytest.mark.parametrize("method", PAIRS)
@pytest.mark.parametrize("span", [(0.0, 7.0), (7.0, -1.0)])
@pytest.mark.parametrize("force", [0.5, ([1.0, 2.0, 3.0], [1.0, -1.0, 0.5])])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-12])
@pytest.mark.sample(16)
def test_pairs_give_the_bits_of_the_compiled_methods(
    oracle: OracleModel, method: str, span: Any, force: Any, tolerance: float
) -> None:
    given = (span, {"q": 1.0, "v": 0.2}, {"m": 1.3, "k": 4.1}, {"F": force})
    options = {"method": method, "rtol": tolerance, "atol": tolerance, "max_step": 0.7}
    for more in ({"dense_output": True}, {"t_eval": np.linspace(*span, 23)}, {"first_step": 2.0}):
        ours = oracle.integrate(*given, **options, **more)
        theirs = model("oscillator").integrate(*given, **options, **more)
        assert np.array_equal(ours.t, theirs.t)
        assert np.array_equal(ours.y, theirs.y)
        assert (ours.nfev, ours.n_steps, ours.n_rejected) == (theirs.nfev, theirs.n_steps, theirs.n_rejected)
        if ours.sol is not None:
            inside = np.linspace(*span, 50)
            assert np.array_equal(ours.sol(inside), theirs.sol(inside))


@needs_core
@pytest.mark.parametrize("method", [*PAIRS, "rodas5p"])
def test_the_limit_of_steps_is_met_where_the_compiled_methods_meet_it(
    oracle: OracleModel, method: str
) -> None:
    """Also if it is reached during the rejected attempts of one step, which is still completed."""
    given = ((0.0, 7.0), {"q": 1.0, "v": 0.2}, {"m": 1.3, "k": 4.1}, {"F": 0.5})
    rejected = set()
    for limit in range(1, 8):
        options = {"method": method, "first_step": 5.0, "max_steps": limit}
        ours, theirs = oracle.integrate(*given, **options), model("oscillator").integrate(*given, **options)
        assert (ours.status, ours.n_steps, ours.n_rejected) == (-4, theirs.n_steps, theirs.n_rejected)
        assert theirs.status == -4
        assert np.array_equal(ours.y, theirs.y)
        rejected.add((ours.n_steps, ours.n_rejected))
    assert min(rejected)[1] > 1  # a limit of 1 was reached before the first accepted step


SOLVERS = ("dop853", "rk45", "rk23", "radau", "bdf")


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("span", [(0.0, 4.0), (4.0, 0.5)])
def test_scipys_solvers_against_the_closed_form(pure: PythonModel, method: str, span: Any) -> None:
    """q'' = 4 t - 4 q with samples of the force at 0 ... 4: q = t + cos 2t."""
    samples = np.arange(5.0)
    start = [span[0] + np.cos(2 * span[0]), 1 - 2 * np.sin(2 * span[0])]
    sol = pure.integrate(
        span, start, [1.0, 4.0], {"F": (samples, 4 * samples, "linear")}, method=method, rtol=1e-7, atol=1e-7,
        dense_output=True,
    )  # fmt: skip
    assert sol.success
    assert sol["q"] == pytest.approx(sol.t + np.cos(2 * sol.t), abs=1e-4)
    inside = np.linspace(*span, 40)
    assert sol.sol(inside)[0] == pytest.approx(inside + np.cos(2 * inside), abs=1e-4)
    assert (sol.njev > 0) == (sol.nlu > 0) == (method in ("radau", "bdf"))


@pytest.mark.parametrize("method", SOLVERS)
def test_failures_of_every_method(pure: PythonModel, method: str) -> None:
    singular = pure.integrate((0, 1), [1.0, 0.0], [0.0, 1.0], [0.0], method=method)
    assert (singular.status, singular.t.tolist()) == (-1, [0.0])
    limited = pure.integrate((0, 1), [1.0, 0.0], [1.0, 4.0], [0.0], method=method, max_steps=2)
    assert (limited.status, len(limited.t)) == (-4, 3)
    assert (limited.njev > 0) == (limited.nlu > 0) == pure.methods[method].implicit
    late = pure.integrate((1e16, 1e16 + 100), [1.0, 0.0], [1.0, 4.0], [0.0], method=method)
    assert (late.status, late.t.tolist()) == (-3, [1e16])


def test_failures_keep_what_is_computed(pure: PythonModel) -> None:
    given = [1.0, 0.0], [1.0, 4.0], [0.0]
    limited = pure.integrate((0, 1), *given, max_steps=2)
    assert "steps" in limited.message
    assert limited["q"] == pytest.approx(np.cos(2 * limited.t), abs=1e-8)
    times = [0.0, limited.t[1] / 2, 0.9]
    found = pure.integrate((0, 1), *given, t_eval=times, max_steps=2)
    assert found.t.tolist() == [*times[:2], limited.t_reached]
    assert found["q"] == pytest.approx(np.cos(2 * found.t), abs=1e-8)
    refused("singular", pure.rhs, 0, [1, 0], [0, 1], [0], error=KernelError)


def test_a_run_of_no_length_and_no_times(pure: PythonModel) -> None:
    for options in ({}, {"t_eval": [1.0]}, {"t_eval": []}):
        sol = pure.integrate((1, 1), [1.0, 0.0], [1.0, 4.0], [0.0], dense_output=True, **options)
        assert sol.success
        assert sol.y.shape == (2, len(sol.t)) == (2, len(options.get("t_eval", [1.0])))
        assert sol.sol(1.0).tolist() == [1.0, 0.0]
    assert pure.integrate((0, 1), [1.0, 0.0], [1.0, 4.0], [0.0], t_eval=[]).y.shape == (2, 0)


def test_errors_are_named_as_for_compiled_models(pure: PythonModel) -> None:
    refused("parameters: missing k", pure.integrate, (0, 1), [1, 0], {"m": 1}, [0.0])
    refused("unknown method 'vern6'", pure.integrate, (0, 1), [1, 0], [1, 1], [0.0], method="vern6")
    with pytest.raises(ArgumentError, match=r"are dop853, rk45, rk23, radau, bdf$"):
        pure.integrate((0, 1), [1, 0], [1, 1], [0.0], method="tsit5")
    refused("did you mean 'dop853'", pure.integrate, (0, 1), [1, 0], [1, 1], [0.0], method="DOP853")
    refused("y: v = nan", pure.rhs, 0, [1, np.nan], [1, 1], [0])
    for error in (ValueError("sensor"), ZeroDivisionError("sensor"), KeyError("sensor")):

        def broken(t: float, y: Any, error: Exception = error) -> float:
            raise error

        refused("sensor", pure.integrate, (0, 1), [1, 0], [1, 1], {"F": broken}, error=type(error))


def test_what_needs_a_compiler_is_refused_by_name(pure: PythonModel) -> None:
    given = [1, 0], [1, 1], [0.0]
    calls: dict[str, Any] = {
        "events": lambda: pure.integrate((0, 1), *given, events=[lambda t, y: y[0]]),
        "kinks": lambda: pure.integrate((0, 1), *given, kinks=True),
        "stepper": lambda: pure.stepper(*given),
        "batch": lambda: pure.batch(*given, n=2),
        "ensemble": lambda: pure.ensemble((0, 1), *given, n=2),
        "study": lambda: cg.study(pure, (0, 1), *given, n=2, collect={"q": cg.final("q")}),
        "a response": lambda: cg.response(pure, (0, 1), "q", *given),
    }
    for name, call in calls.items():
        refused(f"^{name}: oscillator runs in pure Python, .*takes a C compiler", call)


def test_steps_are_not_moved_back_onto_constraints() -> None:
    """A mass on the unit circle at constant speed 2, which is at (cos 2t, sin 2t)."""
    x, y = cg.coordinates("x y")
    kinetic = (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2
    circle = cg.System("circle", coordinates=[x, y], kinetic=kinetic, holonomic=[x**2 + y**2 - 1])
    pure = python_model(circle.equations("multipliers").program, quiet=True)
    for project in ("constraints", "all"):
        words = rf"^project='{project}' \(project=None runs without\): circle runs"
        refused(words, pure.integrate, (0, 1), [1, 0, 0, 2], project=project)
    sol = pure.integrate((0, 1), [1, 0, 0, 2], project=None, rtol=1e-10, atol=1e-10)
    assert sol.y[:2] == pytest.approx(np.array([np.cos(2 * sol.t), np.sin(2 * sol.t)]), abs=1e-8)


def test_a_solution_outlives_its_python_model(pure: PythonModel) -> None:
    other = PythonModel(kernels(), quiet=True)
    sol = other.integrate((0, 1), [1, 0], [1, 4], [0])
    del other
    gc.collect()
    assert sol["energy"] == pytest.approx(np.full(len(sol.t), 2.0), abs=1e-8)


@needs_core
def test_a_singular_mass_matrix_in_one_of_several_columns_is_named_as_in_the_compiled_model() -> None:
    x, m = cg.coordinates("x"), cg.parameters("m")
    system = cg.System("particle", coordinates=[x], kinetic=m * cg.rate(x) ** 2 / 2, potential=x**2 / 2)
    equations = system.equations("lagrange")
    columns = [[1.0, 2.0], [0.0, 0.0]]
    for made in (python_model(equations.program, quiet=True), equations.compile()):
        assert made.rhs(0, columns, [[1.0, 4.0]]).tolist() == [[0.0, 0.0], [-1.0, -0.5]]  # -x/m
        with pytest.raises(KernelError, match=r"rhs at t = 0, column 1: the mass matrix .* singular"):
            made.rhs(0, columns, [[1.0, 0.0]])


def test_a_model_in_pure_python_is_not_exported(pure: PythonModel) -> None:
    for export in (pure.export_c, pure.export_fmu):
        refused("runs in pure Python and has no C sources", export, "folder")
