"""Values in messages: never longer than a line, and never made longer than what is shown; hints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

ROOM = 60
"""Characters of a value in a message."""
_DEPTH = 8
_NODES = 500
_BRACKETS: dict[Any, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}


def short(value: Any) -> str:
    """A value in an error message: the beginning of its `repr`, of which no more is made.

    >>> short([1.5] * 10**8)
    '[1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1...'
    """
    try:
        text = _text(value, 0)
    except Exception:
        text = f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= ROOM else f"{text[: ROOM - 3]}..."


def listed(names: Iterable[Any], most: int = 12, between: str = ", ") -> str:
    """Names with commas, the first ones if there are many."""
    found = [str(name) for name in islice(names, most + 1)]
    return between.join(found[:most] + ["..."] * (len(found) > most))


def _text(value: Any, depth: int) -> str:
    """`repr` of small values; of large ones its beginning, longer than `ROOM`."""
    kind = type(value)
    if depth > _DEPTH:
        return "..."
    if kind in (str, bytes, bytearray):
        return repr(value[: 4 * ROOM])
    if kind is int and value.bit_length() > 1000:
        return f"<an integer of {value.bit_length()} bits>"
    if kind in _BRACKETS and len(value):
        left, right = _BRACKETS[kind]
        end = ",)" if kind is tuple and len(value) == 1 else right
        return left + _joined(_entries(value, depth), end)
    if isinstance(value, np.ndarray):
        if value.size > 4 * ROOM:
            with np.printoptions(threshold=10, edgeitems=3):
                return repr(value)
        if value.dtype.kind == "O":
            return f"array({_text(value.tolist(), depth + 1)}, dtype=object)"
    if hasattr(value, "free_symbols") and _is_large(value):
        return f"<an expression {kind.__name__} of more than {_NODES} terms>"
    return repr(value)


def _entries(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        return (f"{_text(key, depth + 1)}: {_text(entry, depth + 1)}" for key, entry in value.items())
    return (_text(entry, depth + 1) for entry in value)


def _joined(entries: Iterator[str], end: str) -> str:
    """The entries with commas, as many as there is room for."""
    text = ""
    for entry in entries:
        text += f", {entry}" if text else entry
        if len(text) > ROOM:
            return text
    return text + end


def _is_large(expression: Any) -> bool:
    """Whether an expression of SymPy has more nodes than can be printed at once."""
    stack, seen = [expression], 0
    while stack:
        seen += 1
        if seen > _NODES:
            return True
        stack += getattr(stack.pop(), "args", ())
    return False


def written(value: Any) -> str:
    """`repr` of a value, through tuples in it, of which repr writes "(...)" if it is writing them already.

    It is when a signal handler interrupts it and writes the same tuple: a checksum of that text would be wrong.
    """
    if type(value) is not tuple:
        return repr(value)
    entries = [written(each) for each in value]
    return f"({entries[0]},)" if len(entries) == 1 else f"({', '.join(entries)})"


class Hinted:
    """Base of what is used in place of something near it."""

    __slots__ = ()

    def _elsewhere(self, name: str) -> str | None:
        """Where an attribute is that this class does not have; None if it is nowhere near."""
        raise NotImplementedError

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> Any:
            if not (name.startswith("_") or hasattr(type(self), name)):
                hint = self._elsewhere(name)
                if hint is not None:
                    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}; {hint}")
            return super().__getattribute__(name)  # raises Python's own error, or again that of a property
