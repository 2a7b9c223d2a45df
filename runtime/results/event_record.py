"""What happened during a run: its events and contact modes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..interface.arguments import Array
from ..interface.statuses import ACCUMULATING, UNCLOSED, accumulating

HEAD, SLIP, NORMAL, WATCHED = 4, 0, 2, 3  # of cg_events.h: a row of the log, the quantities of a contact
MODES = {-1: "slip-", 0: "stick", 1: "slip+"}
"""Names of the contact modes by number."""
OPEN = "open"
"""That of a contact whose normal force is zero, whichever way it moves."""


class ContactMode(NamedTuple):
    """An entry of ``sol.modes``: the contact modes from `t_start` to `t_end`, and what ended them.

    `contacts` maps the name of each contact to "stick", "slip+" or "slip-", or "open" where its normal force is zero.
    `signs` maps the name of each contact with a normal force that depends on a multiplier to the sign of that force, +1
    or -1. `ended_by` is the name of the contact or event that ended the interval, None at the end of the run.
    """

    t_start: float
    t_end: float
    contacts: dict[str, str]
    signs: dict[str, int]
    ended_by: str | None


class Paradox(NamedTuple):
    """A point where no contact mode fits, or several do: time, state (n,), contact, and the solutions (at most 16)."""

    t: float
    y: Array
    contact: str | None
    n_found: int
    solutions: tuple[tuple[dict[str, str], dict[str, int]], ...]

    def __str__(self) -> str:
        """The text for the message of a run."""
        at = "the contacts" if self.contact is None else f"contact {self.contact}"
        if not self.solutions:
            return f"Painlevé's paradox: no mode of {at} satisfies the equations"
        texts = []
        for contacts, signs in self.solutions:
            texts.append(
                ", ".join(
                    f"{name} {mode}"
                    + (f" with N {'>' if signs[name] > 0 else '<'} 0" if name in signs else "")
                    for name, mode in contacts.items()
                )
            )
        return f"Painlevé's paradox: {self.n_found} modes of {at} satisfy the equations: {'; '.join(texts)}"


@dataclass(frozen=True)
class EventRecord:
    """The log of a run: the `rows` of cg_events.h, and the meaning of their numbers.

    ``accumulates`` is the index of the event at which a run with status -9 ended, -1 if it is not known.
    """

    events: tuple[str, ...]
    kinks: tuple[str, ...]
    functions: int
    contacts: tuple[str, ...]
    signs: tuple[str, ...]
    n: int
    rows: Array
    paradox: Paradox | None = None
    accumulates: int = -1

    def why(self, status: int) -> Paradox | str | None:
        """What the message of a run that ended with this status says instead of that."""
        if status == ACCUMULATING and self.accumulates >= 0:
            return accumulating(self.name(self.accumulates))
        if status != UNCLOSED or not self.rows[:, 3].any():
            return self.paradox
        wrong = [self.name(int(row[1])) for row in self.rows if row[3]]
        return (
            f"the reset of the event {' and '.join(wrong)} leaves the constraints; nothing is moved onto them there: "
            "give a reset that satisfies them"
        )

    @property
    def first_function(self) -> int:
        """The cause of the first Python event."""
        return len(self.events) + len(self.kinks)

    @property
    def causes(self) -> NDArray[np.int64]:
        """The index of the event, kink or contact of each row; -1 at the start."""
        return self.rows[:, 1].astype(np.int64)

    def of_end(self, clock: float) -> tuple[float, ...]:
        """Of each event, `clock` if it is one at the last instant, else 0."""
        causes = set(self.causes[self.rows[:, 0] == self.rows[-1, 0]].tolist())
        return tuple(clock if i in causes else 0.0 for i in range(len(self.events)))

    def name(self, cause: int) -> str:
        """The name of the quantity with an index: an event, a kink, a function by its position, or a contact."""
        named = (*self.events, *self.kinks, *(f"events[{i}]" for i in range(self.functions)))
        return named[cause] if cause < len(named) else self.contacts[(cause - len(named)) // WATCHED]

    def of_states(self, n: int) -> EventRecord:
        """That of the first n states, without the tangents that follow them."""
        rows, every, modes = self.rows, self.n, 2 * (len(self.contacts) + len(self.signs))
        kept = [rows[:, : HEAD + n], rows[:, HEAD + every : HEAD + every + n]]
        rest = rows[:, HEAD + 2 * every :]
        kept.append(rest[:, :modes])
        if rest.shape[1] > modes:  # the instants, the groups and the rates
            told = rest[:, modes:]
            kept += [told[:, : 2 + n], told[:, 2 + every : 2 + every + n]]
        paradox = self.paradox and self.paradox._replace(y=self.paradox.y[:n])
        return replace(self, n=n, rows=np.concatenate(kept, axis=1), paradox=paradox)

    def at_kink(self, first: int, last: int) -> bool:
        """Whether one of the rows first <= i < last is a kink."""
        begin = len(self.events)
        causes = self.causes[first:last]
        return bool(((causes >= begin) & (causes < begin + len(self.kinks))).any())

    def group(self, row: int) -> tuple[float, Array, Array]:
        """What `cg_jump_at_t` of cg_run.h tells of a row: its group, and the rates (n,) before and after that."""
        found = self.rows[row, self._told :]
        return float(found[1]), found[2 : 2 + self.n].copy(), found[2 + self.n :].copy()

    def before(self, t0: float) -> Array:
        """The time at which something happened before each row, of the first one the start t0."""
        times, found = self.rows[:, 0], np.full(len(self.rows), t0)
        for i in range(1, len(times)):
            found[i] = found[i - 1] if times[i] == times[i - 1] else times[i - 1]
        return found

    def instant_of(self, row: int) -> int:
        """The first of the rows up to this one that belong to its instant."""
        instants = self.rows[:, self._told]
        while row > 0 and instants[row - 1] == instants[row]:
            row -= 1
        return row

    @property
    def _told(self) -> int:
        return int(self.rows.shape[1]) - 2 - 2 * self.n

    def modes_before(self, row: int) -> Array:
        """The modes before a row, (n_modes,)."""
        found: Array = self._modes()[0][row].copy()
        return found

    def of(self, cause: int) -> tuple[Array, Array]:
        """Times and states (before the reset) of one event: (k,) and (k, n)."""
        rows = self.rows[self.causes == cause]
        return rows[:, 0].copy(), rows[:, HEAD : HEAD + self.n].copy()

    def events_of_all(self) -> tuple[list[Array], list[Array]]:
        """`t_events` and `y_events`: first of the compiled events, then of the functions."""
        first = len(self.events) + len(self.kinks)
        wanted = [*range(len(self.events)), *range(first, first + self.functions)]
        found = [self.of(cause) for cause in wanted]
        return [t for t, _ in found], [y for _, y in found]

    def named(self, modes: Array) -> tuple[dict[str, str], dict[str, int]]:
        """Modes by contact name, and signs of normal forces."""
        n = len(self.contacts)
        contacts = {name: MODES[int(mode)] for name, mode in zip(self.contacts, modes)}
        return contacts, {name: int(sign) for name, sign in zip(self.signs, modes[n:])}

    def _modes(self) -> tuple[Array, Array]:
        """The modes before and after each row, (rows, n_modes)."""
        first, width = HEAD + 2 * self.n, len(self.contacts) + len(self.signs)
        return self.rows[:, first : first + width], self.rows[:, first + width : first + 2 * width]

    def _changes(self) -> list[tuple[float, int, int, Array]]:
        """(Time, rows recorded before, cause, modes after) of the start and of each mode change."""
        found: list[tuple[float, int, int, Array]] = []
        for row, after in zip(self.rows, self._modes()[1]) if self.contacts or self.signs else ():
            if not found or not np.array_equal(found[-1][3], after):
                found.append((float(row[0]), int(row[2]), int(row[1]), after))
        return found

    def history(self, t_end: float) -> list[ContactMode]:
        """`sol.modes`, without entries of zero duration."""
        changes = self._changes()
        entries = []
        for i, (t, _, _, modes) in enumerate(changes):
            last = i + 1 == len(changes)
            end = t_end if last else changes[i + 1][0]
            if end != t or last:
                entries.append(
                    ContactMode(t, end, *self.named(modes), None if last else self.name(changes[i + 1][2]))
                )
        return entries

    def modes_of_rows(self, count: int) -> Array:
        """The modes at each of `count` recorded points, (n_modes, count)."""
        table = np.zeros((len(self.contacts) + len(self.signs), count))
        for _, row, _, modes in self._changes():
            table[:, row:] = modes[:, None]
        return table

    def followed(self, t: Array, n: int, within: float) -> NDArray[np.bool_]:
        """Which of the points at times t are followed by a jump at that time, or `within` a share of it.

        n is the number of states.
        """
        happened, (before, after) = self.causes >= 0, self._modes()
        rows = self.rows[happened]
        changed = (rows[:, HEAD : HEAD + n] != rows[:, HEAD + self.n : HEAD + self.n + n]).any(axis=1)
        changed |= (before != after)[happened].any(axis=1)
        times, last = rows[changed, 0], rows[changed, 2].astype(np.int64)
        found = np.zeros(len(t), dtype=np.bool_)
        while len(last):
            near = last > 0
            near[near] = np.abs(t[last[near] - 1] - times[near]) <= within * np.abs(times[near])
            times, last = times[near], last[near] - 1
            found[last] = True
        return found

    def modes_at(self, t: Array, sign: float) -> Array:
        """The modes at times inside steps, (n_modes, N); sign: the direction of the run."""
        changes = self._changes()
        table = np.zeros((len(self.contacts) + len(self.signs), len(t)))
        for moment, _, _, modes in changes:
            table[:, sign * t >= sign * moment] = modes[:, None]
        return table
