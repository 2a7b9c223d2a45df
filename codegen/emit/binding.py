"""`runtime/core/_abi.pxi`: the C headers that the Cython binding uses, as declarations for Cython.

The headers are read as text: constants, typedefs, structs and prototypes. `cg_model.pxi` has the table of a model.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterator

from chaplygin.runtime.interface.files import INCLUDE, runtime_files

MADE = "# Made from the headers of runtime/c by `python -m chaplygin.generated --update`."

_ROOTS = ("cg_default.h", "cg_ensemble.h", "cg_adjoint.h", "cg_variational.h", "cg_batch.h", "cg_events.h",
          "cg_quantile.h", "cg_noise.h")  # fmt: skip
"""With the headers that these include, they declare all that the binding uses."""
_OMITTED = re.compile(
    r"/\*.*?\*/|^#ifdef __cplusplus\n.*?^#endif|^[ \t]*#(?:\\\n|[^\n])*|\bCG_(?:RESTRICT|UNUSED)\b",
    re.S | re.M,
)


def binding_text() -> str:
    """The contents of `_abi.pxi`."""
    known = _words((INCLUDE.parents[1] / "templates" / "cg_model.pxi.in").read_text(encoding="utf-8"))
    headers: dict[str, str] = {}
    for root in _ROOTS:
        _read(root, headers)
    every: dict[str, tuple[str, str]] = {}
    for header, text in headers.items():
        for name, declaration in _declared(text):
            if name not in known:
                every.setdefault(name, (header, declaration))
    structs = [text.partition(":")[0] for _, text in every.values() if text.startswith("ctypedef struct")]
    lines = [MADE, "", 'include "../../generated/cg_model.pxi"  # of the modules of models', ""]
    lines += ['cdef extern from "cg_ensemble.h" nogil:', *map(_line, structs)]
    for header in headers:
        found = [text for home, text in every.values() if home == header]
        if found:
            lines += ["", f'cdef extern from "{header}" nogil:', *map(_line, found)]
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    """A declaration in a block, in lines of up to 120 characters."""
    tied = text.replace(") noexcept", ")\u00a0noexcept")  # no line breaks there
    wide = textwrap.fill(tied, 120, initial_indent="    ", subsequent_indent=" " * 12).replace("\u00a0", " ")
    return wide if "(" in text.partition("\n")[0] else textwrap.indent(text, "    ")


def _words(*texts: str) -> set[str]:
    return {word for text in texts for word in re.findall(r"\b[A-Za-z_]\w*", text)}


def _read(header: str, headers: dict[str, str]) -> None:
    """Add a header, after those that it includes."""
    path = runtime_files()[header]
    key = path.relative_to(INCLUDE).as_posix()
    if key not in headers:
        text = path.read_text(encoding="utf-8")
        for other in re.findall(r'^#include "(?:\w+/)?(\w+\.h)"', text, re.M):
            _read(other, headers)
        headers[key] = text


def _declared(header: str) -> Iterator[tuple[str, str]]:
    """The names that a header declares, with their declarations for Cython."""
    for name in re.findall(r"\bCG_\w+", re.sub(r"/\*.*?\*/", "", header, flags=re.S)):
        yield name, f"enum: {name}"
    text, start, depth = _OMITTED.sub("", header), 0, 0
    for found in re.finditer(r"[{};]", text):
        depth += (found[0] == "{") - (found[0] == "}")
        if depth == 0 and (found[0] == ";" or text[found.end()] == "\n"):  # a typedef goes on after its brace
            statement = " ".join(text[start : found.start()].split())
            start = found.end()
            if struct := re.fullmatch(r"typedef struct \w+ \{(.*)\} (\w+)", statement):
                members = [f"    {_cython(member)}" for member in struct[1].split(";")[:-1]]
                yield struct[2], "\n".join([f"ctypedef struct {struct[2]}:", *members])
            elif "(" in statement and not statement.startswith("enum"):
                made = _cython(statement.partition("{")[0])
                yield _name(made), made.replace("typedef", "ctypedef", 1)


def _name(declaration: str) -> str:
    """The name that a declaration of a member, a function or a type of function declares."""
    found = re.search(r"\(\*(\w+)\)\(|(\w+)(?: \"\w+\")?\(|(\w+)(?: \"\w+\")?(?:\[\d+\])*$", declaration)
    assert found is not None, declaration
    return found[1] or found[2] or found[3]


def _cython(declaration: str) -> str:
    """A declaration of C as one of Cython."""
    text = re.sub(r"\bstatic inline |(?<=\*) |^CG_\w+ ", "", declaration.strip())
    text = re.sub(r"\bstruct (\w+)", r"\1_t", text).replace("(void)", "()").replace("cg_time_t", "double")
    text = re.sub(r"\[[A-Z][^]]*\]", "[2]", text)  # the compiler of C knows the length
    for word in _words(text) & {*keyword.kwlist}:
        text = re.sub(rf"\b{word}\b", f'{word}_ "{word}"' if text.endswith(word) else f"{word}_", text)
    return f"{text} noexcept" if text.endswith(")") else text
