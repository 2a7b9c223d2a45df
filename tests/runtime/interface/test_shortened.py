"""Values in messages: cut before they are made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import chaplygin as cg
from chaplygin.errors import ArgumentError, ChaplyginError
from chaplygin.generated.harmonic_oscillator import model
from chaplygin.runtime.interface.arguments import short
from chaplygin.runtime.interface.messages import written


class Counted:
    """It counts how often its text is made."""

    made = 0

    def __repr__(self) -> str:
        Counted.made += 1
        return "<counted>"


SMALL: list[Any] = [
    None, 1, -2.5, "text", "it's", b"bytes", [], (), {}, set(), [1, "a"], (1,), {"a": [1, (2,)]}, {1}, frozenset({2}),
    np.array([1.0, 2.0]), np.float64(3), sp.Symbol("x") + 1, [[1, 2], [3, 4]], "a\nb", range(3), frozenset(),
]  # fmt: skip


@pytest.mark.parametrize("value", SMALL, ids=str)
def test_small_values_are_shown_whole(value: Any) -> None:
    assert short(value) == " ".join(repr(value).split())


@pytest.mark.parametrize(
    "value", [list(range(100)), ["a" * 30] * 9, {i: [i] * 3 for i in range(50)}, "b" * 99]
)
def test_long_ones_begin_as_they_do(value: Any) -> None:
    assert short(value) == repr(value)[:57] + "..."


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        tuple,
        lambda v: dict(enumerate(v)),
        lambda v: [v],
        lambda v: np.array(v, dtype=object),
    ],
    ids=["list", "tuple", "dict", "nested", "array"],
)
def test_no_more_is_made_than_shown(wrap: Any) -> None:
    Counted.made = 0
    assert len(short(wrap([Counted()] * 100_000))) == 60
    assert Counted.made < 100


@pytest.mark.slow
def test_what_cannot_be_shown() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert short(Broken()) == "<Broken>"
    assert short([Broken()]) == "<list>"
    assert short(1 << 10**6) == "<an integer of 1000001 bits>"
    endless: list[Any] = []
    endless.append(endless)
    assert short(endless) == "[[[[[[[[[...]]]]]]]]]"
    x = sp.Symbol("x")
    assert short(sum(x**i for i in range(999))) == "<an expression Add of more than 500 terms>"
    with np.printoptions(threshold=10**9):
        assert len(short(np.zeros(10**7))) <= 60


def test_messages_about_huge_arguments() -> None:
    huge = [Counted()] * 10**5
    calls: list[Any] = [
        lambda: model.integrate((0, 1), [1, 0], [1, 1], rtol=huge),
        lambda: model.integrate((0, 1), [1, 0], [1, 1], method=huge),
        lambda: model.integrate((0, 1), dict.fromkeys(map(str, range(10**5)), 1.0), [1, 1]),
        lambda: cg.ensemble(model, (0, 1), {"x": "1" * 10**6, "x_dot": 0}, {"m": 1, "k": 1}, n=3),
        lambda: cg.joint.revolute(None, huge, name="a"),
        lambda: cg.Event(cg.coordinates("x"), direction=huge),
        lambda: cg.from_urdf("robot.urdf", base=huge),
    ]
    for call in calls:
        Counted.made = 0
        with pytest.raises((ArgumentError, ChaplyginError, TypeError)) as caught:
            call()
        assert len(str(caught.value)) < 600
        assert Counted.made < 200


def test_a_tuple_is_written_as_ever_also_from_within() -> None:
    """As by a signal handler that interrupts the writing: `repr` then leaves the entries out."""
    texts: list[str] = []

    class Interrupted:
        def __repr__(self) -> str:
            if not texts:
                texts.append("...")
                texts.append(written(value))
            return "here"

    inner = ("x", 2.5)
    value = (inner, (), ("one",), 1e-300, Interrupted())
    assert written(value) == "(('x', 2.5), (), ('one',), 1e-300, here)"
    assert texts[1] == written(value) == repr(value)
