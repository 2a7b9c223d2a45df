"""Values with names, other than dicts, are read by these names wherever a vector is taken in order; or refused."""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from refusals import refused
from springs import F, M, V, sprung

import chaplygin as cg

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")

START, NUMBERS, INPUTS = {"x": 1.0, "x_dot": 5.0}, {"k": 4.0, "m": 2.0}, {"F": 0.5, "G": 0.1}


@pytest.fixture(scope="module")
def model() -> Any:
    return sprung("drawer", F - cg.inputs("G") * V, mass=M).compile()


def sqlite_row(given: Mapping[str, float]) -> Any:
    with sqlite3.connect(":memory:") as base:
        base.row_factory = sqlite3.Row
        return base.execute(
            "select " + ", ".join(f"{value} as {name}" for name, value in given.items())
        ).fetchone()


LABELLED: dict[str, Callable[[dict[str, float]], Any]] = {
    "Series": pd.Series,
    "row of a DataFrame": lambda given: pd.DataFrame([given, given]).iloc[1],
    "row by itertuples": lambda given: next(pd.DataFrame([given]).itertuples(index=False)),
    "DataArray": lambda given: xr.DataArray(list(given.values()), coords={"name": list(given)}, dims="name"),
    "Dataset": xr.Dataset,
    "record": lambda given: np.array([tuple(given.values())], dtype=[(name, float) for name in given])[0],
    "sqlite3.Row": sqlite_row,
}


def turned(given: dict[str, float]) -> dict[str, float]:
    """The same entries in an order that is not the model's."""
    return dict(sorted(given.items(), reverse=True))


@pytest.fixture(params=LABELLED)
def label(request: pytest.FixtureRequest, model: Any) -> Callable[[dict[str, float]], Any]:
    for given, names in ((START, model.states), (NUMBERS, model.parameters), (INPUTS, model.inputs)):
        assert tuple(turned(given)) != names
    return lambda given: LABELLED[request.param](turned(given))


def stepped(model: Any, start: Any, numbers: Any, inputs: Any) -> Any:
    run = model.stepper(start, numbers, inputs)
    run.advance(0.3)
    return run.y


def changed(model: Any, start: Any, numbers: Any, inputs: Any) -> Any:
    run = model.stepper([0.0, 0.0], [1.0, 1.0])
    run.set_state(start)
    run.set_parameters(numbers)
    run.set_inputs(inputs)
    run.advance(0.3)
    return run.y


def batched(model: Any, start: Any, numbers: Any, inputs: Any) -> Any:
    batch = model.batch(start, numbers, n=2)
    batch.set_inputs(inputs)
    batch.advance(0.3)
    again = model.batch([0.0, 0.0], [1.0, 1.0], n=2)
    again.reset(initial=start, parameters=numbers)
    again.advance(0.3, inputs)
    return batch.y, again.y


def together(model: Any, *given: Any) -> Any:
    return cg.ensemble(model, (0, 1), *given, n=3).y


def studied(model: Any, *given: Any) -> Any:
    collect = {"end": cg.final("x")}
    return cg.study(model, (0, 1), *given, n=3, collect=collect).results["end"]["x"]


def differentiated(model: Any, start: Any, numbers: Any, inputs: Any) -> Any:
    sol = model.integrate((0, 1), start, numbers, inputs, sensitivities=["x_dot", "m", "F"])
    run = model.stepper(start, numbers, inputs, sensitivities=["x_dot", "m"])
    run.set_inputs(inputs)
    run.advance(1.0)
    found = model.gradient(cg.final("x"), (0, 1), start, numbers, inputs)
    return (
        sol.y[:, -1],
        sol.sensitivity["x", "m"][-1],
        run.sensitivity["x", "m"],
        found.value,
        found["m"],
        found["x_dot"],
    )


def called(model: Any, start: Any, numbers: Any, inputs: Any) -> Any:
    return model.rhs(0.0, start, numbers, inputs), model.call("rhs", 0.0, start, numbers, inputs)


def analysed(model: Any, start: Any, numbers: Any, inputs: Any) -> Any:
    still = model.equilibrium(start, numbers, inputs)
    return still.state["x"], model.linearize(still.state, numbers, inputs).A


def from_series(model: Any, start: Any, numbers: Any, inputs: Any) -> Any:
    times = np.linspace(0, 2, 11)
    data = {"x": (times, np.cos(times))}
    found = cg.residuals(model, data, initial=start, parameters=numbers, inputs=inputs, free=["k"])
    return found([3.0]), found(type("Free", (dict,), {})(k=3.0))


DOORS = {
    "integrate": lambda model, *given: model.integrate((0, 1), *given).y[:, -1],
    "stepper": stepped,
    "set_state and others": changed,
    "batch": batched,
    "ensemble": together,
    "study": studied,
    "sensitivities, gradient": differentiated,
    "rhs": called,
    "equilibrium, linearize": analysed,
    "residuals": from_series,
}


@pytest.mark.parametrize("door", DOORS)
def test_names_count_and_not_the_order(model: Any, label: Any, door: str) -> None:
    right = DOORS[door](model, START, NUMBERS, INPUTS)
    found = DOORS[door](model, label(START), label(NUMBERS), label(INPUTS))
    for a, b in zip(right, found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_columns_of_a_table_are_trajectories_by_name(model: Any) -> None:
    table = pd.DataFrame({"x_dot": [5.0, 6.0], "x": [1.0, 2.0]}, index=["first", "second"])
    right = {name: table[name].to_numpy() for name in table}
    found = cg.ensemble(model, (0, 1), table.reset_index(drop=True), NUMBERS)
    np.testing.assert_array_equal(found.y, cg.ensemble(model, (0, 1), right, NUMBERS).y)
    np.testing.assert_array_equal(model.batch(right, NUMBERS).y, model.batch(xr.Dataset(
        {name: ("trajectory", row) for name, row in right.items()}), NUMBERS).y)  # fmt: skip
    # names of trajectories that nothing reads: two columns could have them in different orders
    words = r"initial: x.* has entries by name, first, second, and is read in"
    refused(words, cg.ensemble, model, (0, 1), table, NUMBERS)
    words = "initial has entries by name, x_dot, x, and is read in their order"
    refused(words, cg.ensemble, model, (0, 1), table.reset_index(drop=True).T, NUMBERS, n=2)


def test_a_numbered_series_is_a_vector(model: Any) -> None:
    right = model.integrate((0, 1), START, NUMBERS).y
    np.testing.assert_array_equal(
        model.integrate((0, 1), pd.Series([1.0, 5.0]), pd.Series([4.0, 2.0])).y, right
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (pd.Series({1: 1.0, 0: 5.0}), "initial: the key 1 is not a name"),
        (pd.Series([1.0, 2.0], index=["x", "x"]), "initial: x is given twice"),
        (pd.Series({"x": 1.0, "v": 5.0}), "initial: unknown v"),
        (pd.Series({"x": 1.0}), "initial: missing x_dot"),
        (namedtuple("Pair", "a b")(1.0, 2.0), "initial: unknown a, b"),
        (pd.DataFrame([START]), r"initial: x has shape \(1,\); one number is needed"),
    ],
)
def test_other_labels_are_refused(model: Any, value: Any, text: str) -> None:
    with pytest.raises(cg.ArgumentError, match=text):
        model.integrate((0, 1), value, NUMBERS)


def test_a_labelled_span_is_refused(model: Any) -> None:
    with pytest.raises(cg.ArgumentError, match="t_span has entries by name, t1, t0"):
        model.integrate(pd.Series({"t1": 1.0, "t0": 0.0}), START, NUMBERS)


def test_correlated_draws_by_name(model: Any) -> None:
    stats = pytest.importorskip("scipy.stats")
    names, margins = ("x", "x_dot", "m"), [stats.norm(), stats.norm(), stats.uniform(1, 2)]
    matrix = pd.DataFrame([[1, 0.5, 0.1], [0.5, 1, 0.3], [0.1, 0.3, 1]], names, names)
    turned = matrix.loc[["m", "x", "x_dot"], ["x_dot", "m", "x"]]

    def drawn(source: Any, correlation: Any = None) -> Any:
        joint = cg.jointly(("x", "x_dot"), source, correlation)
        return cg.ensemble(model, (0, 1), joint, NUMBERS, n=20, seed=3).y

    part = [["x", "x_dot"], ["x", "x_dot"]]
    np.testing.assert_array_equal(
        drawn(margins[:2], matrix.loc[part[0], part[1]].to_numpy()),
        drawn(margins[:2], turned.loc[["x_dot", "x"], ["x_dot", "x"]]),
    )
    rows = np.arange(10.0).reshape(2, 5)
    np.testing.assert_array_equal(drawn(rows), drawn(pd.DataFrame({"x_dot": rows[1], "x": rows[0]})))


def test_episodes_start_by_name(model: Any) -> None:
    gym = pytest.importorskip("chaplygin.gym")

    def first(start: Any, numbers: Any) -> Any:
        env = gym.Env(model, dt=0.1, actions=["F"], observations=["x", "x_dot", "energy"], reward="x",
                      initial=start, parameters=numbers)  # fmt: skip
        return env.reset(seed=1)[0]

    right = first(START, NUMBERS)
    np.testing.assert_array_equal(first(pd.Series(turned(START)), pd.Series(turned(NUMBERS))), right)
    np.testing.assert_array_equal(first(lambda _: pd.Series(turned(START)), NUMBERS), right)
