"""When contacts are open: where a normal force that the system gives, as Max(0, N), is zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface.arguments import Array, wide
from .between_points import Inside
from .event_record import OPEN, ContactMode
from .run_data import RunData

_HALVINGS = 60


def are_open(model: Any, t: Array, y: Array, p: Array, u: Array) -> Array:
    """Which contacts are open at times t (N,) in states y (n, N), with inputs and modes u: (contacts, N)."""
    given = np.array(model._signs) < 0  # not by a multiplier, of which zeros are single points
    return np.asarray((model._columns("contacts", t, y, wide(p), u, None, False)[4::5] == 0) & given[:, None])


def with_open(sol: RunData, history: Sequence[ContactMode]) -> list[ContactMode]:
    """The modes of a run, divided where a contact opens or closes, if a point of the run shows that one is open."""
    names = [] if sol._event_record is None else sol._event_record.contacts
    t, y, u = sol._points() if names else (sol.t, sol.y, sol.y)
    if not names or not are_open(sol.model, t, y, sol._p, u).any():
        return list(history)
    try:
        dense = sol.interpolant()
    except ArgumentError:  # it cannot be repeated: modes alone are known
        return list(history)
    ends, inside = np.asarray(dense.ts, dtype=np.float64), Inside(sol, dense)

    def at(t: Array) -> Array:
        step = np.clip(np.searchsorted(ends, t) - 1, 0, max(len(ends) - 2, 0))
        y = dense(t)
        u = inside.u(t, y, ends[step], ends[np.minimum(step + 1, len(ends) - 1)])
        return are_open(sol.model, t, y, sol._p, u)

    seen = np.sort(np.concatenate([ends[:-1] + part * np.diff(ends) for part in (0.2, 0.5, 0.8)]))
    known = at(seen)
    which, place = np.nonzero(known[:, :-1] != known[:, 1:])
    low, high = seen[place], seen[place + 1]
    for _ in range(_HALVINGS if len(which) else 0):
        middle = 0.5 * (low + high)
        before = at(middle)[which, np.arange(len(which))] == known[which, place]
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    changes = sorted(zip(high.tolist(), which.tolist()))
    found: list[ContactMode] = []
    for mode in history:
        cuts = [(t, names[i]) for t, i in changes if mode.t_start < t < mode.t_end]
        begin = mode.t_start
        for end, cause in [*cuts, (mode.t_end, mode.ended_by)]:
            now = at(np.array([0.5 * (begin + end)]))[:, 0]
            contacts = {n: OPEN if opens else mode.contacts[n] for n, opens in zip(names, now)}
            same = found and (found[-1].contacts, found[-1].signs) == (contacts, mode.signs)
            start = found.pop().t_start if same else begin
            found.append(ContactMode(start, end, contacts, mode.signs, cause))
            begin = end
    return found
