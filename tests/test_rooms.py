"""The rooms of the package, in one order: a file imports from its own room and from earlier ones, and in no circle.

Every kind of import counts: at the top, in a function, for types alone, and a module's name in a string. Modules that
are chosen by name at run time lie in the room of the file that loads them: forms, methods, systems, commands.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ORDER = """
src/chaplygin runtime/interface
codegen/methods codegen/graph codegen/identities codegen/symbols codegen/mechanics codegen/declare codegen/system
codegen/importers codegen/derive codegen/forms codegen/views codegen/lower codegen/plan codegen/emit codegen/toolchain
runtime/problem runtime/results runtime/core runtime/model runtime/sensitivities runtime/steppers runtime/draws
runtime/statistics runtime/ensembles runtime/studies runtime/gradients runtime/analysis runtime/hosts
src/chaplygin/api systems generated src/chaplygin/cli
""".split()
"""The rooms from the bottom up, as docs/architecture.md shows them."""

FACES = {
    "src/chaplygin/__init__.py": "src/chaplygin/api",
    "src/chaplygin/__init__.pyi": "src/chaplygin/api",
    "src/chaplygin/gym.py": "src/chaplygin/api",
    "src/chaplygin/__main__.py": "src/chaplygin/cli",
    "runtime/__init__.py": "src/chaplygin/api",
    "runtime/__init__.pyi": "src/chaplygin/api",
    "codegen/__init__.py": "src/chaplygin/api",
}
"""Files above their folder: who imports `chaplygin` or `chaplygin.runtime` imports what a user holds."""
NAMES_ALONE = ("src/chaplygin/__init__.py", "src/chaplygin/__init__.pyi")
"""Files that import nothing until one of their names is used."""

GIVEN = {"runtime/hosts/gym.py": {"chaplygin.gym"}, "runtime/model/builder.py": {"chaplygin.codegen"}}
"""Names of modules in strings that nobody imports by them: those of public modules in messages."""

ALLOWED: dict[str, tuple[str, ...]] = {}
"""Imports, file -> files, that go upward or close a circle. This list only becomes shorter."""

PACKAGES = {
    "codegen": "chaplygin.codegen",
    "runtime": "chaplygin.runtime",
    "systems": "chaplygin.systems",
    "generated": "chaplygin.generated",
    "src/chaplygin": "chaplygin",
}
SUFFIXES = (".py", ".pyi", ".pyx", ".pxi")
CYTHON = re.compile(r"^[ \t]*from (\.+)([\w.]*) import (\([^)]*\)|[^\n(]+)$", re.M)


@functools.cache
def files() -> dict[str, str]:
    """Every Python and Cython file of the package with its text; emitted ones import what users import."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in PACKAGES
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES and (folder != "generated" or path.suffix == ".py")
    }


@functools.cache
def tree(file: str) -> ast.Module:
    return ast.parse(files()[file])


def module(file: str) -> str:
    """The dotted name of a file."""
    folder = next(folder for folder in PACKAGES if file.startswith(f"{folder}/"))
    words = file.removeprefix(f"{folder}/").rpartition(".")[0].split("/")
    return ".".join([PACKAGES[folder], *(words[:-1] if words[-1] == "__init__" else words)])


@functools.cache
def modules() -> dict[str, str]:
    """Dotted name -> file. A stub stands for its module, unless that is in Python."""
    return {
        module(file): file
        for suffix in (".pxi", ".pyx", ".pyi", ".py")
        for file in files()
        if file.endswith(suffix)
    }


def room(file: str) -> str | None:
    """The room of a file; None if it is in none."""
    if file in FACES:
        return FACES[file]
    folder = file.rpartition("/")[0]
    while folder not in ORDER and folder.count("/") > 1:
        folder = folder.rpartition("/")[0]
    return folder if folder in ORDER else None


def named(file: str) -> Iterator[str]:
    """The modules that a file names, each as `module` or `module.name`."""
    package = module(file).split(".")
    if not file.endswith(("__init__.py", "__init__.pyi")):
        package.pop()

    def absolute(level: int, name: str | None) -> str:
        base = package[: len(package) + 1 - level] if level else []
        return ".".join([*base, *([name] if name else [])])

    if file.endswith((".pyx", ".pxi")):
        for dots, name, what in CYTHON.findall(files()[file]):
            for each in what.strip("()").split(","):
                if each.strip():
                    yield f"{absolute(len(dots), name)}.{each.split()[0]}"
        return
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{absolute(node.level, node.module)}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and "." in str(node.value):
            yield from {str(node.value)} & modules().keys() - GIVEN.get(file, set())


@functools.cache
def arrows() -> dict[str, set[str]]:
    """File -> the other files that it imports."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in files():
        if file in NAMES_ALONE:
            continue
        own = file.removesuffix("i") if file.endswith("__init__.pyi") else file
        for name in named(file):
            for known in (name, name.rpartition(".")[0]):  # a module, or what is defined in one
                if known in modules():
                    found[own].add(modules()[known])
                    break
        found[own].discard(own)
    return found


def upward() -> list[tuple[str, str]]:
    return [
        (file, other)
        for file, others in arrows().items()
        for other in sorted(others)
        if ORDER.index(room(other) or "") > ORDER.index(room(file) or "")
    ]


def test_every_file_is_in_a_room() -> None:
    assert [file for file in files() if room(file) is None] == []
    assert {room(file) for file in files()} == set(ORDER)
    tops = {file for file in files() if file.count("/") == 1 and file.startswith(("codegen/", "runtime/"))}
    assert tops == {"codegen/__init__.py", "runtime/__init__.py", "runtime/__init__.pyi"}


def test_imports_go_down() -> None:
    found = [f"{file} imports {other}" for file, other in upward() if other not in ALLOWED.get(file, ())]
    assert found == []


def test_files_form_no_circle() -> None:
    """Raises graphlib.CycleError, which names the files of a circle."""
    graph = {file: others - set(ALLOWED.get(file, ())) for file, others in arrows().items()}
    order = list(TopologicalSorter(graph).static_order())
    assert len(order) == len({*graph, *(other for others in graph.values() for other in others)})


def test_what_is_allowed_is_needed() -> None:
    gone = [(file, other) for file in ALLOWED for other in ALLOWED[file] if other not in arrows()[file]]
    assert gone == []


def test_the_page_shows_the_rooms_in_their_order() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("\n## The rooms\n")
    shown = re.findall(r"^\| `([\w/]+)/` \|", rest.partition("\n## ")[0], re.M)
    assert shown == list(ORDER)


def test_methods_are_numbers_and_need_nothing_of_the_package() -> None:
    for file, others in arrows().items():
        if room(file) == "codegen/methods":
            assert {room(other) for other in others} <= {"codegen/methods"}, file
            for node in ast.walk(tree(file)):
                if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0):
                    names = (
                        [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                    )
                    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names, file


IN_FUNCTIONS = {"src/chaplygin/_lazy.py": {"ast"}}
"""What is imported in functions: what `import chaplygin` leaves for later."""
BY_NAME = """
codegen/forms/choose.py runtime/model/builder.py runtime/model/loading.py runtime/studies/pickling.py
src/chaplygin/__init__.py src/chaplygin/_lazy.py src/chaplygin/_moved.py src/chaplygin/cli/__init__.py
src/chaplygin/errors.py systems/__init__.py
""".split()
"""Files whose functions import modules by name: what is chosen at run time, the door to the toolchain, `optional`."""


def inside_functions(file: str) -> Iterator[ast.AST]:
    """The nodes in the functions of a file."""
    for function in ast.walk(tree(file)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for node in ast.walk(function):
                if node is not function:
                    yield node


def test_functions_import_nothing() -> None:
    """A face, `later` and `optional` import on first use; a catalogue entry is read without SymPy and mpmath."""
    found = set()
    for file in files():
        if not file.endswith(".py"):
            continue
        allowed = {"sympy", "mpmath"} if room(file) == "systems" else IN_FUNCTIONS.get(file, set())
        for node in inside_functions(file):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = ["." * node.level + (node.module or "")]
            elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in (
                "import_module",
                "__import__",
            ):
                names = [] if file in BY_NAME else [ast.unparse(node)]
            found |= {f"{file}: {name}" for name in names if name not in allowed}
    assert not found


def test_no_name_of_a_face_is_that_of_a_module() -> None:
    """The module would hide it."""
    faces = [file for file in files() if file.endswith("__init__.pyi") and file not in NAMES_ALONE]
    assert faces
    for file in faces:
        shown = {
            each.name for node in tree(file).body if isinstance(node, ast.ImportFrom) for each in node.names
        }
        modules = {
            other.rpartition("/")[2].partition(".")[0]
            for other in files()
            if other.rpartition("/")[0] == file.rpartition("/")[0]
        }
        assert not modules & shown, file


def test_what_is_passed_on_is_named() -> None:
    """An argument is found by its name wherever it goes; `locals()` would hide it."""
    found = [
        file
        for file in files()
        if file.endswith(".py")
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "locals"
    ]
    assert found == []


LONGEST = 60
"""Lines of a function, its docstring not counted."""


def length(node: ast.FunctionDef) -> int:
    """The lines of a function without its docstring."""
    first = node.body[0]
    docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    lines = (first.end_lineno or 0) - first.lineno + 1 if docstring else 0
    return (node.end_lineno or 0) - node.lineno + 1 - lines


def test_a_name_is_that_of_one_class() -> None:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in files():
        for node in tree(file).body if file.endswith(".py") else ():
            if isinstance(node, ast.ClassDef):
                found[node.name].append(file)
    assert {name: homes for name, homes in found.items() if len(homes) > 1} == {}


def test_functions_are_short() -> None:
    found = {
        f"{file}: {node.name}"
        for file in files()
        if file.endswith(".py")
        for node in ast.walk(tree(file))
        if isinstance(node, ast.FunctionDef) and length(node) > LONGEST
    }
    assert not found


def test_a_test_lies_in_the_folder_of_the_room_that_it_tries() -> None:
    """``tests/runtime/problem`` for ``runtime/problem``, and the same for rooms of src/chaplygin without the prefix."""
    rooms = {room.removeprefix("src/chaplygin/") for room in ORDER} | {"runtime/c", ""}
    tests = ROOT / "tests"
    assert {
        path.parent.relative_to(tests).as_posix().strip(".") for path in tests.rglob("test_*.py")
    } <= rooms
