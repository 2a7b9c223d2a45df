"""What docs/architecture.md says: each file exists and defines what it is named for, and the recipes work on a copy.

A section `### ...` below `## Recipes` is one recipe. Its blocks are marked `file NAME`, a new file; `row of TABLE in
FILE`, a row at the end of a table; `import in FILE`, what that row names; and `use`, a session that must print what it
says.
"""

from __future__ import annotations

import ast
import doctest
import re
import shutil
from pathlib import Path
from textwrap import indent

import pytest
from documents import ROOT, Block, blocks, sections
from processes import python

PAGE = "docs/architecture.md"
SESSION = """
import doctest, sys
sys.exit(doctest.testfile(sys.argv[1], module_relative=False, optionflags=doctest.ELLIPSIS).failed)
"""


def add_row(path: Path, table: str, row: str) -> None:
    """Insert a row at the end of the table: the brackets in one assignment, or a class of which each line is a row."""
    text = path.read_text(encoding="utf-8")
    lines, nodes = text.splitlines(keepends=True), list(ast.walk(ast.parse(text)))
    ends = [
        (node.value.end_lineno or 0) - 1
        for node in nodes
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == table
    ]
    if ends:
        (end,), row = ends, f"{row.rstrip()},\n"
    else:
        (end,) = (node.end_lineno for node in nodes if isinstance(node, ast.ClassDef) and node.name == table)
        row = indent(f"{row.rstrip()}\n", 4 * " ")
    lines.insert(end, row)
    path.write_text("".join(lines), encoding="utf-8")


def carry_out(block: Block, package: Path) -> None:
    """Do what a block says to the copy of the packages."""
    what, _, rest = block.argument.partition(" ")
    if what == "file":
        path = package / rest
        assert not path.exists(), f"{rest} is not new"
        path.write_text(block.text, encoding="utf-8")
    elif what == "import":
        path = package / rest.removeprefix("in ")
        before, last, after = path.read_text(encoding="utf-8").rpartition("\nfrom .")
        path.write_text(f"{before}\n{block.text.rstrip()}{last}{after}", encoding="utf-8")
    else:
        table, _, name = rest.removeprefix("of ").partition(" in ")
        add_row(package / name, table, block.text)


RECIPES = sections(PAGE, "## Recipes")


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.sample(1)
def test_a_recipe_works(recipe: str, tmp_path: Path) -> None:
    package = tmp_path / "chaplygin"
    shutil.copytree(ROOT / "src" / "chaplygin", package, ignore=shutil.ignore_patterns("generated"))
    (package / "generated").mkdir()
    (package / "generated" / "__init__.py").touch()
    found = [block for block in blocks(PAGE) if block.line in RECIPES[recipe]]
    changes = [b for b in found if b.argument.startswith(("file ", "row ", "import "))]
    sessions = [b for b in found if b.argument == "use"]
    assert changes
    assert sessions
    for block in changes:
        carry_out(block, package)
    for block in sessions:
        assert doctest.DocTestParser().get_examples(block.text)
        session = tmp_path / "session.txt"
        session.write_text(block.text, encoding="utf-8")
        python(SESSION, session, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})


def test_there_is_a_recipe_for_every_kind_of_part() -> None:
    words = ("function", "form", "kernel", "pass", "target", "pair", "option", "system")
    assert [word for word in words if not any(word in title for title in RECIPES)] == []


TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
FACTS = re.findall(r"^\| (.+?) \| `([\w./]+)` \| `(\w+)` \|$", TEXT, re.M)
WALKS = re.findall(r"^(\d+)\. `([\w./]+)`: (.+)$", TEXT, re.M)
DEFINED = (
    r"^[ \t]*(?!return\b)(?:class|def|from .* import .*|(?:[\w*]+ )+)[ \t*]*{0}\b|^{0}\b ?[:=]|^.*\({0}\)\("
)
"""How a definition begins in Python, in a stub's import, or in C, also under the macro that completes a name."""


def test_each_fact_is_defined_in_the_file_that_is_named() -> None:
    assert len(FACTS) == 60
    wrong = [
        (file, name)
        for _, file, name in FACTS
        if not re.search(DEFINED.format(name), (ROOT / file).read_text(encoding="utf-8"), re.M)
    ]
    assert not wrong


def test_the_files_of_the_walks_are_there_and_numbered() -> None:
    starts = [i for i, (number, _, _) in enumerate(WALKS) if number == "1"]
    assert len(starts) == 3
    for first, end in zip(starts, [*starts[1:], len(WALKS)], strict=True):
        assert [int(number) for number, _, _ in WALKS[first:end]] == list(range(1, end - first + 1))
    assert not [file for _, file, _ in WALKS if not (ROOT / file).is_file()]
