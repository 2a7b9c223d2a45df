"""`_core.pyi` against the compiled module: every public name, every method, every argument with its default.

Constructors are read in the sources, since `__cinit__` has no signature.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from chaplygin.runtime import core
from chaplygin.runtime.core import _core
from chaplygin.runtime.interface.base_model import BaseModel
from chaplygin.runtime.problem.option_table import RunKeywords

FOLDER = Path(core.__file__).parent
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("_*.p[xy]*")))
STUB = ast.parse((FOLDER / "_core.pyi").read_text(encoding="utf-8"))
OWNERS = {_core: STUB.body} | {
    getattr(_core, node.name): node.body for node in STUB.body if isinstance(node, ast.ClassDef)
}
"""The module and its classes -> what the stub declares of them."""
ELSEWHERE = {_core.KernelCore: BaseModel}
"""The Python bases of the same objects, which declare the rest."""
FUNCTIONS = [
    pytest.param(owner, node, id=f"{owner.__name__.rpartition('.')[2]}.{node.name}")
    for owner, body in OWNERS.items()
    for node in body
    if isinstance(node, ast.FunctionDef) and not node.decorator_list
]


def taken(signature: inspect.Signature) -> list[tuple[Any, ...]]:
    """The arguments but `self` and `**options`, which some signatures write out: names, whether by name, defaults."""
    found = [
        p
        for p in signature.parameters.values()
        if p.name != "self" and p.kind is not p.VAR_KEYWORD
        if not (p.kind is p.KEYWORD_ONLY and p.name in RunKeywords.__annotations__)
    ]
    return [
        ("*", None) if p.kind is p.VAR_POSITIONAL else (p.name, p.kind is p.KEYWORD_ONLY, p.default)
        for p in found
    ]


def read(arguments: str) -> inspect.Signature:
    """The signature of a function with these arguments, whose annotations are not evaluated."""
    names: dict[str, Any] = {}
    exec(f"from __future__ import annotations\ndef f({arguments}): ...", names)
    return inspect.signature(names["f"])


def constructor(owner: type) -> inspect.Signature:
    """That of a class, without the types of C."""
    body = re.split(rf"^cdef class {owner.__name__}\b", SOURCES, flags=re.M)[1].partition("\ncdef class")[0]
    found = re.search(r"def __c?init__\(([^)]*(?:\(\))?[^)]*)\):", body)
    assert found is not None, owner
    plain = re.sub(r"\[[^]]*\]| not None|: \w+", "", found[1]).split(",")
    return read(", ".join(re.sub(r"^.*?(\S+)$", r"\1", each.strip()) for each in plain))


@pytest.mark.parametrize(("owner", "node"), FUNCTIONS)
def test_arguments_are_those_of_the_module(owner: Any, node: ast.FunctionDef) -> None:
    compiled = constructor(owner) if node.name == "__init__" else inspect.signature(getattr(owner, node.name))
    declared = taken(read(ast.unparse(node.args)))
    known = [d[-1] is not ... for d in declared]  # `...`: a default that the stub does not name
    assert [d if k else d[:-1] for d, k in zip(declared, known)] == [
        f if k else f[:-1] for f, k in zip(taken(compiled), [*known, True, True])
    ]


def test_names_are_those_of_the_module() -> None:
    for owner, body in OWNERS.items():
        declared = {n.name for n in body if isinstance(n, (ast.ClassDef, ast.FunctionDef))} - {"__init__"}
        declared |= {ast.unparse(n.target) for n in body if isinstance(n, ast.AnnAssign)}
        own = vars(owner).items()
        if inspect.ismodule(owner):
            own = {
                k: v for k, v in own if getattr(v, "__module__", None) == owner.__name__ or k in declared
            }.items()
        bases = [ELSEWHERE[base] for base in getattr(owner, "__mro__", ()) if base in ELSEWHERE]
        elsewhere = {"StartCore"}.union(
            *(re.findall(r"^ +(?:def )?(\w+)[(:]", inspect.getsource(b), re.M) for b in bases)
        )
        assert declared - {name for name, _ in own} == set(), owner
        assert {name for name, _ in own if not name.startswith("_")} - declared - elsewhere == set(), owner
