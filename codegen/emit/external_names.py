"""The external names of C files, and their replacement by names with a prefix.

Two static libraries in one program must not define a name twice. The preprocessor renames:
`#define cg_run_init a_cg_run_init` in front of everything else, so that no other line of the files, and none of a
program that includes the header, changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_OPENING = re.compile(
    r"^(?!static\b|typedef\b|enum\b|extern\s+\"C\")(?=[A-Za-z_])[^;{}=()\[]*?\b([A-Za-z_]\w*)\s*(?=[(\[=;{])",
    re.MULTILINE,
)
"""A line of file scope that declares a function or an object: its name is the last word before `(`, `[`, `=` or `;`."""


def external_names(texts: Iterable[str], stems: Iterable[str]) -> list[str]:
    """The functions and objects with external linkage whose names begin with one of `stems`, in order."""
    beginnings = tuple(stems)
    return sorted(
        {
            found[1]
            for text in texts
            for found in _OPENING.finditer(text)
            if found[1].startswith(beginnings)
            and " " in found[0].strip()
            and not found[0].startswith("struct " + found[1])
        }
    )


def renaming(names: Iterable[str], prefix: str) -> str:
    """The lines for the preprocessor."""
    return "".join(f"#define {name} {prefix}{name}\n" for name in names)


def renamed(text: str, names: Iterable[str], prefix: str) -> str:
    """The text of another language with the names replaced."""
    known = frozenset(names)
    return _WORD.sub(lambda found: f"{prefix}{found[0]}" if found[0] in known else found[0], text)
