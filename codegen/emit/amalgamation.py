"""C files joined into one, each `#include "..."` replaced by the text of the file, and names with a prefix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]+"([^"]+)"')
_GUARD = re.compile(r"^#ifndef (\w+)\n#define \1$", re.M)
_OPENS, _CLOSES = re.compile(r"[ \t]*#[ \t]*if"), re.compile(r"[ \t]*#[ \t]*endif")
_WORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|\b[A-Za-z_]\w*\b')
_OPENING = re.compile(
    r"^(?!static\b|typedef\b|enum\b|extern\s+\"C\")(?=[A-Za-z_])[^;{}=()\[]*?\b([A-Za-z_]\w*)\s*(?=[(\[=;{])",
    re.MULTILINE,
)
"""A line of file scope that declares a function or an object: its name is the last word before `(`, `[`, `=` or `;`."""
_ASKED = {"CG_INLINE_OPERATIONS", "CG_NO_HEAP", "CG_TICKS"}
"""Macros by which whoever compiles a bundle asks for something."""


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


class Prefixed:
    """Names of the runtime and of a model get a prefix, macros in capitals; those in strings stay as they are."""

    def __init__(self, model: str, prefix: str, texts: Iterable[str]) -> None:
        self.model, self.prefix = model, prefix
        self._own = {
            found[1]
            for text in texts
            for found in _OPENING.finditer(text)
            if found[1].startswith(f"{model}_") and " " in found[0].strip()
        }
        self._asked = {*_ASKED, f"{model.upper()}_IMPLEMENTATION"}

    def name(self, word: str) -> str:
        """The name for a word of C, which may be the same; that of the file `cg_runtime.c` is."""
        if word == "cg_runtime":
            return word
        if word.startswith(("CG_", "CHAPLYGIN_", f"{self.model.upper()}_")) and word not in self._asked:
            return self.prefix.upper() + word
        return self.prefix + word if word.startswith("cg_") or word in self._own else word

    def text(self, text: str) -> str:
        """A file with these names, also one in another language."""
        text = re.sub(r"\bchaplygin::|(?<=namespace )chaplygin\b", rf"{self.prefix}\g<0>", text)
        return _WORD.sub(lambda found: self.name(found[0]), text)

    def short(self, header: str) -> str:
        """Lines for the end of a header, by which the names without the prefix mean these too."""
        words = sorted({w for w in _WORD.findall(header) if self.name(w) != w and not w.endswith("_H")})
        runtime = [w for w in words if w.startswith(("cg_", "CG_", "CHAPLYGIN_"))]
        groups = {"CHAPLYGIN_H": runtime, f"{self.model.upper()}_H": [w for w in words if w not in runtime]}
        lines = ["/* The same without the prefix, where no other header has these names. */"]
        for guard, listed in groups.items():
            lines += [
                f"#if !defined({guard}) && !defined(CG_PREFIXED_{guard})",
                f"#define CG_PREFIXED_{guard}",
            ]
            lines += [*(f"#define {word} {self.name(word)}" for word in listed), "#endif"]
        return "\n".join(lines) + "\n"
