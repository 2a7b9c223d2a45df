"""C files joined into one: each `#include "..."` is replaced by the text of the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]+"([^"]+)"')
_GUARD = re.compile(r"^#ifndef (\w+)\n#define \1$", re.M)
_OPENS, _CLOSES = re.compile(r"[ \t]*#[ \t]*if"), re.compile(r"[ \t]*#[ \t]*endif")


def joined(names: Iterable[str], texts: Mapping[str, str], seen: set[str]) -> str:
    """The named files one after another, with what they include in the place of each `#include "..."`.

    A file with an include guard appears once; `seen` are those that are already known, and is extended. Inside a
    conditional block of the including file, which the compiler may skip, it appears again, for its guard to decide.
    """
    return "\n".join(f"/* ---- {name} ---- */\n\n{_expanded(name, texts, seen)}" for name in names)


def _expanded(name: str, texts: Mapping[str, str], seen: set[str]) -> str:
    text = texts[name]
    guarded = _GUARD.search(text) is not None
    if guarded:
        seen.add(name)
    level = -1 if guarded else 0
    lines = []
    for line in text.rstrip("\n").split("\n"):
        level += bool(_OPENS.match(line)) - bool(_CLOSES.match(line))
        found = _INCLUDE.match(line)
        if found is None or found[1] not in texts:
            lines.append(line)
        elif found[1] not in seen:
            lines += [
                f"/* ---- {found[1]} ---- */",
                _expanded(found[1], texts, seen if level == 0 else set(seen)),
            ]
            lines.append(f"/* ---- {name}, continued ---- */")
    return "\n".join(lines) + "\n"


def selected(text: str, known: Mapping[str, bool]) -> str:
    """The text without the blocks of each `#if CONDITION ... #else ... #endif` that a compiler would skip.

    `known` has the values of some conditions by their text, and those of `#ifdef NAME` and `#ifndef NAME` by the name;
    blocks of other conditions stay as they are.

    >>> selected("#if LANES > 1\\nmany\\n#else\\none\\n#endif", {"LANES > 1": False})
    'one'
    """
    lines: list[str] = []
    blocks: list[
        tuple[bool, bool]
    ] = []  # of each open conditional: its value is known; the present block is kept
    for line in text.split("\n"):
        word, _, condition = line.partition(" ")
        outside = all(keep for _, keep in blocks[:-1])
        if word in ("#if", "#ifdef", "#ifndef"):
            outside = all(keep for _, keep in blocks)
            value = known.get(condition)
            value = not value if value is not None and word == "#ifndef" else value
            blocks.append((value is not None, value is not False))
            shown = value is None
        elif word in ("#else", "#elif", "#endif"):
            settled, keep = blocks.pop()
            shown = not settled
            if word == "#elif" and settled and not keep:  # the first condition that is left
                shown, line = True, f"#if {condition}"
                blocks.append((False, True))
            elif word == "#elif" and settled:
                raise ValueError(f"{line!r} after a condition that is true")
            elif word != "#endif":
                blocks.append((settled, not (settled and keep)))
        else:
            shown = outside = all(keep for _, keep in blocks)
        if shown and outside:
            lines.append(line)
    return "\n".join(lines)
