"""docs/crossings.md: what each pair of features does together, tried cell by cell."""

from __future__ import annotations

import random

import crossing_parts
import pytest
from crossings import FEATURES, Met, meet
from crossings_page import PAGE, page, read

from chaplygin.runtime.model.compiled_model import core_available

pytestmark = [
    pytest.mark.skipif(not core_available(), reason="the compiled runtime is missing"),
    pytest.mark.filterwarnings("ignore::chaplygin.ConsistencyWarning"),
]
NAMES = list(FEATURES)
SHIPPED = ("FMU", "C bundle", "float")
"""What takes seconds to compile for each cell."""
TABLE = read(PAGE.read_text(encoding="utf-8"))


def pairs(name: str) -> list[tuple[str, str]]:
    """The cells of a row, the feature alone among them."""
    return [(name, other) for other in NAMES[NAMES.index(name) :]]


def met(pair: tuple[str, str]) -> Met:
    return meet(*dict.fromkeys(pair))


def test_every_pair_of_features_is_in_the_table() -> None:
    assert set(TABLE) == {pair for name in NAMES for pair in pairs(name)}


SAMPLE = [
    pair
    for i, pair in enumerate(pair for name in NAMES for pair in pairs(name))
    if i % 33 == 0 and not set(pair) & set(SHIPPED) and "taylor" not in pair
]


@pytest.mark.parametrize("pair", SAMPLE, ids=" x ".join)
def test_some_cells(pair: tuple[str, str]) -> None:
    assert met(pair) == TABLE[pair]


def together(seed: int) -> list[str]:
    """An input with other features, by chance: at most one of each kind, and few that are alone in refusing."""
    chance = random.Random(seed)
    inputs = [name for name in NAMES if FEATURES[name].kind == "input"]
    found = [chance.choice([*inputs, "input: rows", "input: noise"])]
    for kind, share in (("form", 0.5), ("method", 0.6), ("project", 0.2), ("host", 0.5), ("derivative", 0.3)):
        some = [name for name in NAMES if FEATURES[name].kind == kind and name not in (*SHIPPED, "whittaker")]
        found += [chance.choice(some)] if chance.random() < share else []
    plain = [name for name in NAMES if FEATURES[name].kind is None]
    return found + [name for name in plain if chance.random() < 0.35]


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(40))
def test_inputs_meet_several_features_at_random(seed: int) -> None:
    """What is not refused by name before it runs has the motions of all of its parts."""
    meet(*together(seed))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_of_a_row(name: str) -> None:
    different = {pair: (found, TABLE[pair]) for pair in pairs(name) if (found := met(pair)) != TABLE[pair]}
    assert not different


def test_a_wrong_number_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(crossing_parts.NUMBERS, "k", 4.0001)  # the motion expected is that of k = 4
    with pytest.raises(AssertionError, match="q ="):
        meet("stepper", "events")


def test_a_page_is_read_as_it_was_written() -> None:
    assert read(page(TABLE)) == TABLE
