"""The names of a C bundle with a prefix, so that several bundles are in one program, or in one file of it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|\b[A-Za-z_]\w*\b')
_OPENING = re.compile(
    r"^(?!static\b|typedef\b|enum\b|extern\s+\"C\")(?=[A-Za-z_])[^;{}=()\[]*?\b([A-Za-z_]\w*)\s*(?=[(\[=;{])",
    re.MULTILINE,
)
"""A line of file scope that declares a function or an object: its name is the last word before `(`, `[`, `=` or `;`."""
_ASKED = {"CG_INLINE_OPERATIONS", "CG_NO_HEAP", "CG_TICKS"}
"""Macros by which whoever compiles a bundle asks for something."""


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
