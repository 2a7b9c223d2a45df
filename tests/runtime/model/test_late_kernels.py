"""Kernels that are planned and compiled when they are first used: same values and bytes as if all were made at once."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chaplygin as cg
from chaplygin.api.model import load_model
from chaplygin.codegen.emit.targets import COMPILED, emit
from chaplygin.codegen.toolchain import model_sources as building
from chaplygin.codegen.toolchain.library import build
from chaplygin.codegen.toolchain.model_sources import graph_text, model_sources
from chaplygin.errors import BuildError
from chaplygin.runtime.model import inlining

LATE = ("jvp", "jacobian", "outputs", "invariants")
SYSTEMS = ("chaplygin_sleigh", "rolling_disk", "heavy_top", "bouncing_ball", "n_link_pendulum")


def system(name: str) -> Any:
    return cg.example(name, **({"n": 5} if name == "n_link_pendulum" else {}))


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(tmp_path / "models"))
    return tmp_path / "models"


def libraries(cache: Path) -> list[str]:
    return sorted(path.stem for path in cache.glob("*/*.so"))


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.sample(1)
def test_values_are_those_of_a_model_compiled_as_a_whole(name: str, cache: Path) -> None:
    """To the bit, and what `emit` writes is the same."""
    example = system(name)
    equations = example.system.equations()
    model = equations.compile()
    assert set(model._later) == set(LATE) & set(model.kernels)
    sources = emit(equations.program, COMPILED)
    whole = load_model(build(sources, key="0" * 40))
    assert not whole._later
    y = np.random.default_rng(1).uniform(0.1, 0.9, (len(model.states), 7))
    p = {**dict.fromkeys(model.parameters, 1.0), **example.parameters}
    u = dict.fromkeys(model.inputs, 0.3)
    for kernel in set(model.kernels) & {"rhs", *LATE}:
        direction = {"dy": y[::-1].copy()} if kernel == "jvp" else {}
        found, right = (m.call(kernel, 0.2, y, p, u, **direction) for m in (model, whole))
        assert np.array_equal(found, right)
        assert kernel not in model._later
    assert not model._later
    core = f"{model.name}_core.c"
    assert model_sources(model)[core] == sources.files[core]
    assert graph_text(model, emitted=True) == sources.files[f"{model.name}_graph.txt"]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.sample(1)
def test_the_text_of_a_kernel_does_not_depend_on_others(
    name: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[dict[str, str]] = []
    for seed in range(3):
        model = system(name).system.compile()
        kernels = sorted(set(LATE) & set(model.kernels))
        random.Random(seed).shuffle(kernels)
        made: dict[str, str] = {}
        with monkeypatch.context() as patch:
            patch.setattr(building, "build_late", lambda module, kernel, text, made=made: made.update(text()))
            for kernel in kernels:
                building.build_kernel(Path(model.owner.__file__), kernel)
        texts.append(made)
    assert texts[0] == texts[1] == texts[2]
    assert texts[0].keys() == {f"{model.name}_{kernel}.c" for kernel in kernels}


def test_a_run_leaves_the_others_alone(cache: Path) -> None:
    example = system("heavy_top")
    model = example.system.compile()
    solution = model.integrate((0, 1), example.initial, example.parameters)
    assert libraries(cache) == ["heavy_top"]
    assert solution["energy"][-1] == pytest.approx(solution["energy"][0], rel=1e-6)
    assert libraries(cache) == ["heavy_top", "heavy_top_invariants", "heavy_top_outputs"]


def test_a_failure_is_named_and_can_be_repeated(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = system("heavy_top")
    model = example.system.compile()
    with monkeypatch.context() as patch:

        def fails(*given: Any) -> Any:
            raise BuildError("compiling the model 'heavy_top' failed", None)

        patch.setattr(building, "build_late", fails)
        for method in ("rodas5p", "auto"):  # before the run starts
            with pytest.raises(BuildError, match="heavy_top"):
                model.integrate((0, 1), example.initial, example.parameters, method=method)
        with pytest.raises(BuildError, match="heavy_top"):
            model.evaluate(0, np.ones(7), np.ones(8))
        assert set(model._later) == set(LATE)
        assert model.integrate((0, 1), example.initial, example.parameters).success
    assert model.integrate((0, 1), example.initial, example.parameters, method="rodas5p").success
    assert set(model._later) == set(LATE) - {"jacobian"}


def test_a_damaged_kernel_is_compiled_again(cache: Path) -> None:
    example = cg.example("harmonic_oscillator")
    model = example.system.compile()
    path = building.build_kernel(Path(model.owner.__file__), "invariants")
    path.write_bytes(path.read_bytes()[:-200])
    assert model.integrate((0, 1), *OSCILLATOR)["energy"][-1] == pytest.approx(2.0)


def test_who_gets_the_model_needs_no_compiler(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pickle, an address and a capsule have every kernel; a kernel that is cached is found without the generator."""
    example = system("rolling_disk")
    model = example.system.compile()
    again = pickle.dumps(model)
    assert not model._later

    def fails(*given: Any) -> Any:
        raise AssertionError("the code generator is used")

    monkeypatch.setattr(inlining, "builder", fails)
    assert pickle.loads(again) is model
    fresh = type(model)(model.capsule, owner=model.owner)
    assert not fresh._later  # the library has them
    for take in (lambda m: m.address, lambda m: m.capsule, lambda m: m.addresses):
        assert take(system("rolling_disk").system.compile())


def test_wait_compiles_every_kernel(cache: Path) -> None:
    model = system("heavy_top").system.compile(wait=True)
    assert not model._later
    assert {f"heavy_top_{kernel}" for kernel in LATE} <= set(libraries(cache))


OSCILLATOR: tuple[dict[str, float], dict[str, float]] = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 4.0}
IMPLICIT: dict[str, Any] = {"method": "rodas5p", "rtol": 1e-10, "atol": 1e-12}


def highest(model: Any, **how: Any) -> float:
    found = cg.study(model, (0, 1), *OSCILLATOR, n=5, collect={"e": cg.peak("energy")}, **how)
    return found.results["e"].value[4]


def swung(model: Any) -> float:
    return cg.ensemble(model, (0, 1), *OSCILLATOR, n=3, **IMPLICIT)["x"][2]


USES: dict[str, tuple[Callable[[Any], Any], float, set[str]]] = {
    "stepper": (lambda m: m.stepper(*OSCILLATOR)["energy"], 2.0, {"invariants"}),
    "batch": (lambda m: m.batch(*OSCILLATOR, n=3)["energy"][2], 2.0, {"invariants"}),
    "ensemble": (lambda m: cg.ensemble(m, (0, 1), *OSCILLATOR, n=5)["energy"][4], 2.0, {"invariants"}),
    "study": (highest, 2.0, set()),
    # workers get a model that is complete
    "workers": (lambda m: highest(m, workers=2), 2.0, {"jvp", "jacobian", "invariants"}),
    "gradient": (lambda m: m.gradient(cg.final("energy"), (0, 1), *OSCILLATOR).value, 2.0, set()),
    "implicit stepper": (
        lambda m: m.stepper(*OSCILLATOR, **IMPLICIT).advance(1.0)[0],
        math.cos(2.0),
        {"jacobian"},
    ),
    "implicit ensemble": (swung, math.cos(2.0), {"jacobian"}),
    "jvp": (lambda m: m.jvp(0, [1, 0], [1, 4], [1, 0])[1], -4.0, {"jvp"}),
    "integrand": (
        lambda m: m.to_scipy("energy", "x", {"x_dot": 0.0}, OSCILLATOR[1]) and 0.0,
        0.0,
        {"invariants"},
    ),
}


@pytest.mark.parametrize("use", USES)
def test_each_use_has_the_kernels_that_it_needs(use: str, cache: Path) -> None:
    model = cg.example("harmonic_oscillator").system.compile()
    call, right, kernels = USES[use]
    assert float(np.ravel(call(model))[-1]) == pytest.approx(right, rel=1e-8)
    assert {name.partition("harmonic_oscillator_")[2] for name in libraries(cache)} >= kernels
    assert set(model._later) == {"jvp", "jacobian", "invariants"} - kernels
