"""Damaged snapshots: refused in words, and what they were to be restored to goes on as if nothing had been tried."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import chaplygin as cg
from chaplygin.generated.harmonic_oscillator import model as spring

START, NUMBERS = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 4.0}
OTHERS: list[Any] = [
    None,
    5,
    -1,
    "x",
    b"",
    (),
    {},
    [1.0],
    np.array([1.0, 2.0]),
    np.array("x"),
    float("nan"),
    10**400,
]
MANY = [(0, 300), pytest.param((1, 5000), marks=pytest.mark.slow)]


def bouncing() -> Any:
    y, push = cg.coordinates("y"), cg.inputs("push")
    w = cg.rate(y)
    return cg.System(
        "bouncing", coordinates=[y], kinetic=w**2 / 2, potential=10 * y, forces={w: push},
        events=[cg.Event(y, direction=-1, reset={w: -w / 2}, name="floor")],
    ).compile()  # fmt: skip


def stepper() -> Any:
    inputs = {"push": ([0.0, 1.0, 2.0], [0.0, 1.0, -1.0], "linear")}
    return bouncing().stepper({"y": 10.0, "y_dot": 0.0}, inputs=inputs)


RUNS: dict[str, Callable[[], Any]] = {
    "stepper": stepper,
    "method with two parts": lambda: spring.stepper(START, NUMBERS, method="auto"),
    "sensitivities": lambda: spring.stepper(START, NUMBERS, sensitivities=["k"]),
    "batch": lambda: spring.batch({"x": [1.0, 2.0, 3.0], "x_dot": 0.0}, NUMBERS),
}


def damaged(value: Any, rng: random.Random) -> Any:
    """Bytes or numbers flipped, left out or doubled; or something else altogether."""
    kind = rng.randrange(5)
    if kind == 0 or not isinstance(value, (str, bytes, tuple, np.ndarray)) or not len(value):
        return rng.choice(OTHERS)
    if isinstance(value, np.ndarray):
        some = value.copy()
        if kind == 1:
            return np.delete(some, rng.randrange(some.shape[-1]), axis=-1)
        if kind == 2:
            return np.concatenate([some, some[..., -1:]], axis=-1)
        data = bytearray(some.tobytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return np.frombuffer(bytes(data), dtype=some.dtype).reshape(some.shape)
    place = rng.randrange(len(value))
    if kind == 1:
        return value[:place] + value[place + 1 :]
    if kind == 2:
        return value[: place + 1] + value[place:]
    if kind == 3:
        return value[:place]
    if isinstance(value, bytes):
        return value[:place] + bytes([value[place] ^ (1 << rng.randrange(8))]) + value[place + 1 :]
    return value[:place] + value[place : place + 1] * 3 + value[place + 1 :]


def garbled(snapshot: Any, rng: random.Random) -> Any:
    """The snapshot with one entry damaged, of itself or of its inputs."""
    inputs = getattr(snapshot, "inputs", None)
    if inputs is not None and not isinstance(inputs, int) and rng.randrange(2):
        name = rng.choice(["names", "values", "signals", "functions", "flags"])
        if name == "signals" and inputs.signals and rng.randrange(2):
            (key, signal), *_ = inputs.signals.items()
            part = rng.choice(["times", "rows", "ends", "name", "within"])
            changed = replace(signal, **{part: damaged(getattr(signal, part), rng)})
            return replace(snapshot, inputs=replace(inputs, signals={key: changed}))
        return replace(snapshot, inputs=replace(inputs, **{name: damaged(getattr(inputs, name), rng)}))
    name = rng.choice([field.name for field in fields(snapshot)])
    if name == "seal":
        value = rng.choice(OTHERS[1:])  # without a seal it would be made anew
    else:
        value = damaged(getattr(snapshot, name), rng)
    return replace(snapshot, **{name: value})


def same(a: Any, b: Any) -> bool:
    return pickle.dumps(a) == pickle.dumps(b)


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("many", MANY, ids=str)
def test_damaged_snapshots_are_refused(kind: str, many: tuple[int, int]) -> None:
    seed, count = many
    rng, run = random.Random(seed), RUNS[kind]()
    run.advance(0.7)
    snapshot = run.save()
    run.advance(1.3)
    twin, refused = copy.copy(run), 0
    for _ in range(count):
        bad = garbled(snapshot, rng)
        if same(bad, snapshot):
            continue
        with pytest.raises(cg.ArgumentError, match="snapshot"):
            run.restore(bad)
        refused += 1
    assert refused > count // 2
    run.advance(2.0)
    twin.advance(2.0)
    assert run.y.tobytes() == twin.y.tobytes()
    run.restore(pickle.loads(pickle.dumps(snapshot)))
    run.advance(1.3)
    run.advance(2.0)
    assert run.y.tobytes() == twin.y.tobytes()


@pytest.mark.parametrize("kind", RUNS)
def test_copies_of_other_structs_are_refused(kind: str) -> None:
    """As those that a version with other members of cg_run_t has saved, whole and of the same size."""
    run = RUNS[kind]()
    snapshot = run.save()
    numbers = tuple(number - 1 for number in snapshot.layout)
    assert len(numbers) == 2
    for layout in (numbers, ()):
        with pytest.raises(cg.ArgumentError, match="saved by another version of chaplygin"):
            run.restore(replace(snapshot, layout=layout, seal=None))
    run.restore(snapshot)
