"""How commands print: progress, tables, durations, JSON."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

WIDTH = 110
"""Of a line of JSON."""


@contextmanager
def progress(text: str, *, compiling: bool = False) -> Iterator[None]:
    """Show a line on stderr during a long operation and erase it afterwards; show nothing if stderr is not a terminal.

    The time is printed if the operation took more than five seconds, or more than one second when `compiling`; compile
    times are printed even if stderr is not a terminal.
    """
    looking = sys.stderr.isatty()
    begin = time.perf_counter()
    if looking:
        print(f"{text} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if looking:
            print("\r\033[K", end="", file=sys.stderr)
        seconds = time.perf_counter() - begin
        if seconds > (1 if compiling else 5 if looking else math.inf):
            print(f"{text}: {seconds:.1f} s", file=sys.stderr, flush=True)


def table(rows: Iterable[Sequence[str]], indent: str = "  ", right: Sequence[int] = ()) -> str:
    """Format rows as aligned columns; those with an index in `right` are right-aligned.

    >>> print(table([("a", "1"), ("long", "23")], right=[1]))
      a      1
      long  23
    """
    rows = [tuple(row) for row in rows]
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    lines = []
    for row in rows:
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Format a duration with three digits and a suitable unit.

    >>> duration(0.0000123)
    '12.3 µs'
    """
    scale, unit = next(((s, u) for s, u in ((1.0, "s"), (1e-3, "ms")) if seconds >= s), (1e-6, "µs"))
    return f"{seconds / scale:.3g} {unit}"


def plain(value: Any) -> Any:
    """What JSON can say of facts; non-finite numbers, which it does not have, become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "item"):  # a NumPy number
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_json(facts: Any) -> None:
    """Print facts as JSON on stdout."""
    print(json.dumps(plain(facts), indent=2, ensure_ascii=False))


def packed(facts: Mapping[str, Any]) -> str:
    """Facts as JSON with one entry on a line, and as many items of an entry as there is room for.

    >>> print(packed({"states": ["q", "q_dot"], "operations": 2}))
    {
      "states": ["q", "q_dot"],
      "operations": 2
    }
    """
    entries = []
    for key, value in plain(facts).items():
        lines, items, closing = [f'  "{key}": '], [json.dumps(value, ensure_ascii=False)], ""
        if isinstance(value, dict):
            items = [json.dumps({k: v}, ensure_ascii=False)[1:-1] for k, v in value.items()]
        elif isinstance(value, list):
            items = [json.dumps(v, ensure_ascii=False) for v in value]
        if isinstance(value, (dict, list)):
            lines[0], closing = lines[0] + str(value)[0], str(value)[-1]
        for i, item in enumerate(items):
            if i:
                lines[-1] += ","
                if len(lines[-1]) + len(item) > WIDTH:
                    lines.append("   ")
                lines[-1] += " "
            lines[-1] += item
        entries.append("\n".join(lines) + closing)
    return "{\n" + ",\n".join(entries) + "\n}"
