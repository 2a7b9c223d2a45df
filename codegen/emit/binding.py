"""The Cython binding as seen from C and from Python: `cg_model.pxi`, `runtime/core/_abi.pxi` and `_core.pyi`.

Headers are read as text: constants, typedefs, structs and prototypes; so are the sources of the binding: its classes,
with their attributes and methods, and its functions, by their types of C and their annotations.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterator

from chaplygin.runtime.interface.files import INCLUDE, runtime_files

TABLE = "chaplygin.h"
"""The header with the table of a model."""
MADE = "# Made by `python -m chaplygin.generated --update`; see codegen/emit/binding.py."

_ROOTS = ("cg_default.h", "cg_ensemble.h", "cg_adjoint.h", "cg_variational.h", "cg_batch.h", "cg_events.h",
          "cg_quantile.h", "cg_noise.h")  # fmt: skip
"""With the headers that these include, they declare all that the binding uses."""
_OMITTED = re.compile(
    r"/\*.*?\*/|^#ifdef __cplusplus\n.*?^#endif|^[ \t]*#(?:\\\n|[^\n])*|\bCG_(?:RESTRICT|UNUSED)\b",
    re.S | re.M,
)


_STUB = """from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Unpack

from ..interface.description import Method
from ..problem.inputs import Inputs
from ..problem.option_table import RunKeywords
from ..problem.options import RunOptions
from ..results.solution import Solution

Array = NDArray[np.float64]

LAYOUT: tuple[int, int]
"""
_DEFINED = re.compile(
    r"^cdef class (?P<owner>\w+)(?:\((?P<base>\w+)\))?:"
    r"|^    cdef (?:public|(?P<kept>readonly)) (?P<type>\w+) (?P<attributes>[\w, ]*\w)"
    r"|^(?P<property>    @property\n)?(?P<indent>(?:    )?)def (?P<name>\w+)"
    r"\((?P<taken>.*?)\)(?: -> (?P<given>.*?))?:\n",
    re.M | re.S,
)
_TIED = "\u00a0"
"""A space at which no line is broken."""
_TYPES = {
    **dict.fromkeys(("int", "int32_t", "int64_t", "Py_ssize_t", "uintptr_t"), "int"),
    "double": "float",
    "bint": "bool",
    "str": "str",
    "object": "Any",
    "list": "list[Any]",
    "tuple": "tuple[Any, ...]",
    "dict": "dict[str, Any]",
    "double[]": "Array",
    "int64_t[]": "NDArray[np.int64]",
    "int32_t[]": "NDArray[np.int32]",
}
"""Types of C and Cython as Python has them; those of arrays without their axes."""
_ARGUMENT = re.compile(
    r"(?P<stars>\**)(?:const )?(?:(?P<type>\w+)(?P<axes>\[.*?\])? )?(?P<name>\w+)(?: not None)?(?:: (?P<given>.*?))?"
    r"(?: ?= ?(?P<default>.*))?"
)


def _of_table() -> dict[str, str]:
    """What `chaplygin.h` declares."""
    return dict(_declared(runtime_files()[TABLE].read_text(encoding="utf-8")))


def table_text() -> str:
    """The contents of `cg_model.pxi`: the table of a model, and its kernels by name."""
    found = _of_table()
    lines = ["from libc.stdint cimport int32_t, int64_t, uint32_t", "", f'cdef extern from "{TABLE}" nogil:']
    lines += [
        "    ctypedef struct cg_run_t",
        "    ctypedef struct cg_lanes_run_t",
        *map(_line, found.values()),
    ]
    return "\n".join(lines) + "\n"


def binding_text() -> str:
    """The contents of `_abi.pxi`."""
    known = _of_table()
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


def stub_text() -> str:
    """The contents of `_core.pyi`, without the names of `KernelCore` that `BaseModel` declares too."""
    core, base = INCLUDE.parent / "core", INCLUDE.parent / "interface" / "base_model.py"
    known = set(re.findall(r"^    (?:def )?(\w+)[(:]", base.read_text(encoding="utf-8"), re.M))
    lines, owner, hidden = [f"{MADE}\n", _STUB], "", set[str]()
    for path in [core / "_core.pyx", *sorted(core.glob("_*.pxi"))]:
        text = path.read_text(encoding="utf-8")
        for found in _DEFINED.finditer(text if MADE not in text else ""):
            made: list[str] = []
            if found["owner"]:
                owner, base_of = found["owner"], f"({found['base']})" if found["base"] else ""
                made = [f"\nclass {owner}{base_of}:"]
            elif found["attributes"]:
                row = "    @property\n    def {}(self) -> {}: ..." if found["kept"] else "    {}: {}"
                names = [name for name in found["attributes"].split(", ") if name not in hidden]
                made = [row.format(name, _TYPES.get(found["type"], "Any")) for name in names]
            else:
                owner = owner if found["indent"] else ""
                made = [] if owner and found["name"] in hidden else list(_stated(found))
            hidden = known if owner == "KernelCore" else set()
            lines += [] if owner.startswith("_") or made == lines[-1:] else made  # __init__ as __cinit__
    return "\n".join(lines) + "\n"


def _stated(found: re.Match[str]) -> Iterator[str]:
    """A function in a stub; none for what is not called by its name."""
    name, given = found["name"].replace("__cinit__", "__init__"), found["given"] or "Any"
    if name in ("__dealloc__", "__reduce__") or found["taken"].startswith("self, *arguments"):
        return
    if found["property"]:
        yield "    @property"
    taken = ", ".join(map(_argument, _parted(" ".join(found["taken"].split()))))
    tied = f") -> {'None' if name == '__init__' else given}: ...".replace(" ", _TIED)
    text = textwrap.fill(f"{found['indent']}def {name}({taken}{tied}", 120, subsequent_indent=" " * 8)
    yield text.replace(_TIED, " ")


def _parted(arguments: str) -> Iterator[str]:
    """Arguments one by one; commas between brackets part none."""
    start, depth = 0, 0
    for i, sign in enumerate(f"{arguments},"):
        depth += (sign in "[(") - (sign in "])")
        if sign == "," and depth == 0:
            yield arguments[start:i].strip()
            start = i + 1


def _argument(text: str) -> str:
    found = _ARGUMENT.fullmatch(text)
    if found is None or text == "self":  # `*` and `/`
        return text
    kind = f"{found['type']}[]" if found["axes"] else found["type"] or "object"
    given, default = found["given"] or _TYPES.get(kind, kind), found["default"]
    if default is None:
        return f"{found['stars']}{found['name']}: {given}"
    given += " | None" if default == "None" and not given.endswith(("None", "Any")) else ""
    return f"{found['name']}: {given} = {'...' if '.' in default else default}"


def _line(text: str) -> str:
    """A declaration in a block, in lines of up to 120 characters."""
    tied = text.replace(") noexcept", f"){_TIED}noexcept")
    wide = textwrap.fill(tied, 120, initial_indent="    ", subsequent_indent=" " * 12).replace(_TIED, " ")
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
