"""The rooms of `codegen/` in the order of the stages: a module imports from its own room and from earlier ones.

The exceptions are the fluent methods, which lead from the object of one stage to the next: `system.equations(...)`,
`equations.program`, `program.to_sympy()`.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "codegen"
ROOMS = ("methods", "graph", "declare", "derive", "lower", "emit", "build")
FLUENT = {"declare/system.py": "System", "derive/equations.py": "Equations", "lower/program.py": "Program"}


@functools.cache
def modules() -> dict[str, ast.Module]:
    """Path below codegen -> syntax tree."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(ROOT.rglob("*.py"))
        if path.parent != ROOT
    }


def targets(path: str, node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The modules below codegen that an import statement names, as tuples of names."""
    if isinstance(node, ast.Import):
        names = [alias.name.split(".") for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        package = ["chaplygin", "codegen", *path.split("/")[:-1]]
        base = package[: len(package) + 1 - node.level] if node.level else []
        base += (node.module or "").split(".") if node.module else []
        names = [[*base, alias.name] for alias in node.names]
    else:
        return
    for name in names:
        if name[:2] == ["chaplygin", "codegen"]:
            yield tuple(name[2:])


def within(tree: ast.Module, name: str) -> set[ast.AST]:
    """Everything in the methods of a class, and in the blocks `if TYPE_CHECKING`."""
    return {
        node
        for top in tree.body
        if (isinstance(top, ast.ClassDef) and top.name == name)
        or (isinstance(top, ast.If) and ast.unparse(top.test) == "TYPE_CHECKING")
        for node in ast.walk(top)
    }


def test_every_module_is_in_a_room() -> None:
    assert {path.name for path in ROOT.glob("*.py")} == {"__init__.py"}
    assert {path.split("/")[0] for path in modules()} == set(ROOMS)


def test_imports_go_back_along_the_stages_and_fluent_methods_lead_on() -> None:
    found = []
    for path, tree in modules().items():
        fluent = within(tree, FLUENT[path]) if path in FLUENT else set()
        for node in ast.walk(tree):
            for target in targets(path, node):
                ahead = target[0] in ROOMS and ROOMS.index(target[0]) > ROOMS.index(path.split("/")[0])
                if ahead and node not in fluent:
                    found.append(f"{path}:{node.lineno} imports {'.'.join(target)}")  # type: ignore[attr-defined]
    assert found == []


def test_methods_are_numbers_and_need_nothing_of_the_package() -> None:
    for path, tree in modules().items():
        if path.startswith("methods/"):
            for node in ast.walk(tree):
                if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0):
                    names = (
                        [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                    )
                    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names, path
                for target in targets(path, node):
                    assert target[0] == "methods", path


def test_modules_form_no_circle() -> None:
    """Imports at the top of modules; those inside functions and for types are not run then."""
    trees = modules()
    names = {path.removesuffix(".py").replace("/", "."): path for path in trees}
    graph: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        for node in trees[path].body:
            for target in targets(path, node):
                for end in (len(target), len(target) - 1):
                    other = ".".join(target[:end])
                    if other in names and other != name:
                        graph[name].add(other)
                        break
    assert len(list(TopologicalSorter(graph).static_order())) == len(names)
    assert graph["derive.equations"] >= {"derive.equation_nodes", "declare.system"}


LONGEST = 60
"""Lines of a function, its docstring not counted."""


def length(node: ast.FunctionDef) -> int:
    """The lines of a function without its docstring."""
    first = node.body[0]
    docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    lines = (first.end_lineno or 0) - first.lineno + 1 if docstring else 0
    return (node.end_lineno or 0) - node.lineno + 1 - lines


def test_functions_are_short() -> None:
    found = {
        f"{path.relative_to(ROOT.parent).as_posix()}: {node.name}"
        for folder in ("codegen", "runtime", "src", "systems")
        for path in (ROOT.parent / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and length(node) > LONGEST
    }
    assert not found
