"""Random problems with guards in every kind of run: events, statuses, ends, and the side of every accepted state.

What is expected is computed by `guard_reference`, which shares nothing with the package.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from guard_reference import Problem, first_sign, sparse
from lane_models import bits
from random_guards import CLEAR, SEEDS, Case, case, resolved
from test_lanes import LANES

import chaplygin as cg
from chaplygin.errors import KernelError
from chaplygin.runtime import ArgumentError

NEAR = 1e-6  # of times and states
SEEN = 1e-8  # a guard further from zero than this is on that side
STATES = ("x", "v", "z", "w", "n")


def close(value: Any, right: float, near: float = NEAR) -> bool:
    return bool(abs(value - right) <= near * (1.0 + abs(right)))


def assert_outcome(given: Case, status: int, t: float, state: dict[str, float], events: Any) -> None:
    """The way a run ended, and its events (time, index), are the expected ones."""
    right = given.outcome
    assert status == right.status
    assert close(t, right.t), (t, right.t)
    clear, found = resolved(right, right.events), resolved(right, events)
    assert [i for _, i in found] == [i for _, i in clear]
    assert all(close(time, expected) for (time, _), (expected, _) in zip(found, clear, strict=True))
    if right.status == -9:
        assert events, "an accumulation without an event"
        assert close(events[-1][0], right.t)
    turns = len({i for _, i in right.events[-4:]}) > 1  # speeds that alternate have no limit
    for name in STATES if right.status != -9 else "xz" if turns else "xzvw":
        near = (
            NEAR if right.status != -9 else 10 * NEAR
        )  # the state is that of the last event that was resolved
        assert close(state[name], right.state[name], near), (name, state[name], right.state[name])


def in_order(times: list[Any]) -> list[tuple[float, int]]:
    """The events of a run by time, and at one time by index."""
    return sorted((float(t), i) for i, mine in enumerate(times) for t in mine)


# ---- the side of every accepted state ----


def values(problem: Problem, t: float, state: dict[str, float], rounding: float) -> list[tuple[float, int]]:
    """g and the side of every guard at a point, by the derivatives along the flow that follows; 0: not to be told."""
    names, z = problem.names, problem.components(t, state)
    piece = [p for p in problem.pieces if p.start <= t or p is problem.pieces[0]][-1]
    m = [[(i, float(a)) for i, a in row] for row in problem.matrix(piece)]
    rows = [[(i, float(a)) for i, a in sparse(g.row, names)] for g in problem.guards]
    size = [max(abs(value), 1.0) for value in z]
    return [(sum(a * z[i] for i, a in row), first_sign(row, m, z, size, rounding)[0]) for row in rows]


def assert_sides(given: Case, sol: Any) -> None:
    """No accepted state is on a side that the start and the counted crossings do not explain.

    Rows of one time are the state before and those after the resets of what happens there.
    """
    guards = given.problem.guards
    sides = list(given.outcome.sides)
    waiting = in_order(sol.t_events)
    last = sol.t_reached - CLEAR if sol.status == -9 else np.inf
    jumps = [p.start for p in given.problem.pieces[1:]]
    for t, rows in itertools.groupby(zip(sol.t, sol.y.T, strict=True), lambda row: row[0]):
        if t > last:
            return
        at_jump = any(abs(t - jump) < 1e-9 for jump in jumps)
        before, *after = (
            values(given.problem, t + 1e-9 if at_jump else t, dict(zip(given.model.states, y, strict=True)),
                   SEEN if at_jump else 1e-12)
            for _, y in rows
        )  # fmt: skip
        happened = [i for time, i in waiting if time <= t]
        waiting = waiting[len(happened) :]
        for i in happened:
            assert at_jump or abs(before[i][0]) < SEEN, f"event {i} at t = {t:.9g}, g = {before[i][0]:.3g}"
            sides[i] = guards[i].direction or -sides[i]
        one_by_one = len(happened) == len(after)
        for j, point in enumerate(
            after
        ):  # what fired begins anew, and so does what a reset carried over zero
            fired = happened[j : j + 1] if one_by_one else happened
            for i, (g, sign) in enumerate(point):
                if i in fired or abs(g) > SEEN:
                    sides[i] = sign or -sides[i]
        for i, (g, sign) in enumerate(before):
            if abs(g) > SEEN and sign != sides[i] and not at_jump and not after:
                unseen = sides[i] != 0 and guards[i].direction in (0, sign)
                assert not unseen, f"g{i} = {g:.3g} at t = {t:.9g}, and no event"
                sides[i] = sign
    assert not waiting or sol.status == -9


# ---- every kind of run ----


def advanced(given: Case) -> tuple[int, Any, dict[str, float], list[tuple[float, int]]]:
    """The same with a stepper: held inputs are set between advances, others given from the start."""
    problem = given.problem
    held = given.form in ("held", "number")
    stops = [p.start for p in problem.pieces[1:]] if held else [0.3 * problem.end, 0.77 * problem.end]
    values = [{"u": p.value} for p in problem.pieces[1:]] if held else [{}, {}]
    start = {"u": problem.pieces[0].value if held else given.input}
    run = given.model.stepper(given.initial, given.parameters, start, **given.options)
    events = []
    for t, new in itertools.zip_longest([*stops, problem.end], values, fillvalue={}):
        with suppress(KernelError):
            run.advance(t)
        events += [(float(time), given.model.events.index(name)) for time, name in run.events]
        if run.status != 0:
            break
        if new:
            run.set_inputs(**new)  # type: ignore[arg-type]
    return run.status, run.t, {name: run[name] for name in STATES}, sorted(events)


def ensembles(given: Case) -> Iterator[Any]:
    """The case as every fourth trajectory of an ensemble, one by one and in lanes; the others start elsewhere."""
    n = 9
    shift = np.where(np.arange(n) % 4, 0.01 * np.arange(n), 0.0)
    initial = {**given.initial, "x": given.initial["x"] + shift}
    for width in (1, *(LANES[:1] if given.lanes else [])):
        yield cg.ensemble(
            given.model, (0.0, given.problem.end), initial, given.parameters, {"u": given.input},
            lanes=width, **given.options,
        )  # fmt: skip


def check(given: Case) -> None:
    run = given.initial, given.parameters, {"u": given.input}
    sol = given.model.integrate((0.0, given.problem.end), *run, **given.options)
    state = {name: sol[name][-1] for name in STATES}
    assert_outcome(given, sol.status, sol.t_reached, state, in_order(sol.t_events))
    assert_sides(given, sol)
    assert_outcome(given, *advanced(given))
    for ens in ensembles(given):
        for i in range(0, 9, 4):
            assert bits(ens.y[:, i]) == bits(sol.y[:, -1])
            assert (ens.status[i], ens.t[i]) == (sol.status, sol.t_reached)
            assert [bits(times[i]) for times in ens.t_events.values()] == [bits(t) for t in sol.t_events]


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [*range(SEEDS), 533, 911, 1808, 2559])  # of 2700, those that failed last
def test_a_random_guard_in_every_kind_of_run(seed: int) -> None:
    check(case(seed))


def test_a_batch_refuses_events() -> None:
    given = case(0)
    with pytest.raises(ArgumentError, match="events"):
        given.model.batch(given.initial, given.parameters, n=4)
