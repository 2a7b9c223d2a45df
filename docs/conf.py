"""The site: `make docs`. Its sources are the pages of the checkout, so that links lead to the same place on both."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
from importlib import metadata
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from latex2mathml.converter import convert
from pygments.lexers.python import PythonLexer
from sphinx.addnodes import index
from sphinx.application import Sphinx

import chaplygin
from chaplygin.cli import main
from chaplygin.cli.parser import parser
from chaplygin.cli.subject import find
from chaplygin.runtime.interface.statuses import STATUS_TEXTS
from chaplygin.runtime.problem.option_table import OPTIONS, explained

ROOT = Path(__file__).resolve().parent.parent
logging.getLogger("chaplygin").setLevel(logging.WARNING)  # Sphinx prints what is told
project = "chaplygin"
author = copyright = "The chaplygin developers"
release = metadata.version(project)
root_doc = "docs/index"
include_patterns = ["docs/**", "bench/*.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"]
exclude_patterns = [
    ".*",
    "[!.]*/**/.*",
    "build",
    "codegen",
    "generated",
    "out",
    "runtime",
    "src",
    "systems",
    "tests",
]
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the words of docstrings are shorter
autodoc_default_options = {"members": True, "inherited-members": True}
html_theme = "furo"
html_title = f"chaplygin {release}"
html_extra_path, html_favicon = ["site"], "site/favicon.svg"  # the first page leads to docs/index.html
html_static_path, html_css_files = ["style.css"], ["style.css"]
html_copy_source = html_show_sourcelink = False


TABLES = {
    "options": [(name, str(row.default), explained(name)) for name, row in OPTIONS.items()],
    "statuses": [(str(number), text) for number, text in STATUS_TEXTS.items()],
}


class Table(Directive):
    """``table-of:: options`` and ``table-of:: statuses``: the tables from which the code itself is made."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        rows = TABLES[self.arguments[0]]
        group = nodes.tgroup("", *(nodes.colspec() for _ in rows[0]), cols=len(rows[0]))
        group += nodes.tbody(
            "", *(nodes.row("", *(self.cell(i, text) for i, text in enumerate(row))) for row in rows)
        )
        return [nodes.table("", group)]

    def cell(self, i: int, text: str) -> nodes.entry:
        if i:
            return nodes.entry("", nodes.paragraph("", "", nodes.Text(text)))
        name = f"{self.arguments[0]}{text}"  # the search skips numbers, but not what is in the index
        entries = index(entries=[("single", text, name, "", None)])
        return nodes.entry("", nodes.paragraph("", "", entries, nodes.literal(text, text, ids=[name])))


class Help(Directive):
    """``help::``: what ``chaplygin --help`` prints, and a section for each command with its own."""

    def run(self) -> list[nodes.Node]:
        os.environ["COLUMNS"] = "90"
        whole = self.printed()
        commands = re.findall(r"^    ([\w-]+)", whole.astext(), re.M)
        sections = [
            nodes.section("", nodes.title("", name), self.printed(name), ids=[name]) for name in commands
        ]
        return [whole, *sections]

    def printed(self, *command: str) -> nodes.literal_block:
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
            parser().parse_args([*command, "--help"])
        return nodes.literal_block(printed.getvalue(), printed.getvalue(), language="text")


class Gallery(Directive):
    """``gallery:: folder``: equations and pictures, made in the folder, of the systems that are shipped compiled."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (folder,) = self.arguments
        (ROOT / folder).mkdir(parents=True, exist_ok=True)
        names = sorted(file.stem for file in (ROOT / "generated").glob("*.pyx"))
        return [node for name in names for node in self.shown(name, f"{folder}/{name}.png")]

    def shown(self, name: str, picture: str) -> list[nodes.Node]:
        """Those of one system; a planar one shows its path."""
        system, _, size = re.fullmatch(r"(.*?)(_(\d+))?", name).groups()  # type: ignore[union-attr]
        equations = find(system, size and int(size)).system.equations()
        kind = "--path" if {"x", "y"} <= {str(q) for q in equations.system.coordinates} else "--plot"
        command = ["run", system, *(["--n", size] if size else []), kind]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            if main([*command, str(ROOT / picture), "--no-check"]) != 0:
                raise self.error(printed.getvalue())
        called = " ".join(["chaplygin", *command, f"{name}.png"])
        section = nodes.section("", nodes.title("", name.replace("_", " ")), ids=[name], names=[name])
        written = equations._repr_latex_().strip("$").replace("{aligned}", "{align*}")  # its name for them
        apart = written.replace(" \\\\\nz_{1} &", "\n\\end{align*}$\\begin{align*}\nz_{1} &")
        for rows in apart.split("$"):
            formula = convert(rows, display="block")
            section += nodes.raw("", f'<div class="formula">{formula}</div>', format="html")
        section += nodes.image("", uri=f"/{picture}", alt=f"{name}: {called}")
        section += nodes.literal_block(called, called, language="text")
        return [section]


def plain(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with `code` and lines that belong to a name; reStructuredText reads more into them."""
    written = re.sub(
        r"(?s)Options of the run:\n\n.*", "The options of a run: docs/reference/options.md", "\n".join(lines)
    )
    found: list[str] = []
    for block in re.split(r"\n{2,}", written):
        if block.startswith((">>>", " ")):
            found += ["::", ""] * block.startswith(" ") + [*block.split("\n"), ""]
            continue
        block, titles = re.subn(r"^(\w+)\n-+\n", r"\1\n", block)
        title, _, body = block.partition("\n") if titles else ("", "", block)
        named = re.split(NAMED, body)
        items = named if len(named) > 1 else re.split(r"\n(?! )", body)
        if titles or len(named) > 1 or "\n " in body.lstrip():
            found += [f"**{title}**"] * titles + [""]
            for item in filter(None, items):
                found += ["* " + text(re.sub(r"\s*\n\s*", " ", item))]
        else:
            found += text(body).split("\n")
        found += [""]
    lines[:] = found


NAMED = re.compile(r"\n(?=`\w+`(?:, `\w+`)*: )")
"""Before a line such as "`n`: the number of trajectories"."""


def text(plain: str) -> str:
    parts = re.split(r"(`+[^`]+`+)", plain)
    return "".join(code(part) if i % 2 else words(part) for i, part in enumerate(parts))


def code(part: str) -> str:
    word = " ".join(part.strip("`").split())
    home = "chaplygin.errors" if hasattr(chaplygin.errors, word) else "chaplygin"
    return (
        rf"\ :py:obj:`{word} <{home}.{word}>`\ "
        if word in chaplygin.__all__ and word[0].isupper()
        else rf"\ ``{word}``\ "
    )


def words(part: str) -> str:
    return re.sub(r"docs/([\w/]+)\.md", r":doc:`/docs/\1`", re.sub(r"([*|\\]|_(?!\w))", r"\\\1", part))


def searched(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """The search leaves out tables of figures, which have every word, and stumbles over dots in names of the index."""
    if docname == "bench/RESULTS":
        app.env.metadata[docname]["nosearch"] = ""
    for node in [*doctree.findall(index)]:
        if "." in node["entries"][0][2]:
            node.parent.remove(node)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", plain)
    app.connect("doctree-resolved", searched)
    app.add_directive("table-of", Table)
    app.add_directive("help", Help)
    app.add_directive("gallery", Gallery)
    app.add_lexer("setup", PythonLexer)  # setup.py in docs/embedding.md
    return {"parallel_read_safe": True}
