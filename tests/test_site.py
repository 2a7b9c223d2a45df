"""The site: every public name in its reference; and, in a slow test, a strict build whose links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import chaplygin

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    listed = set(re.findall(r"^\.\. auto(?:class|function|data):: chaplygin\.(\w+)", text, re.M))
    errors = {name for name in chaplygin.__all__ if hasattr(chaplygin.errors, name)}
    assert ".. automodule:: chaplygin.errors" in text
    assert listed == {*chaplygin.__all__} - errors - {"__version__", "errors"} | {"gym", "runtime"}


def test_every_page_is_in_the_list_of_the_first() -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(
        r"^(?:\.\./)?[\w/]+$", "".join(re.findall(r"^:caption.*\n((?:.*\n)*?)```$", text, re.M)), re.M
    )
    pages = [page.relative_to(ROOT / "docs").with_suffix("") for page in (ROOT / "docs").rglob("*.md")]
    assert len(listed) == len(set(listed))
    assert {page.as_posix() for page in pages} - {"index"} == {name for name in listed if name[:2] != ".."}


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what a browser loads to show it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.add(given.get("id", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("index", "search", "next", "prev", "canonical"):
            self.loaded.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    for needed in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(needed)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {file: Page(file) for file in tmp_path.rglob("*.html")}
    assert len(pages) > 40
    gallery = (tmp_path / "docs" / "gallery.html").read_text(encoding="utf-8")
    # One of them has a second table, of names that occur several times.
    assert gallery.count("<math") - 1 == gallery.count("<img") == len([*(ROOT / "generated").glob("*.pyx")])
    assert "&amp;" not in "".join(re.findall(r"<math.*?</math>", gallery, re.S))
    assert '"-9":' in (tmp_path / "searchindex.js").read_text(encoding="utf-8")
    ids = {
        name.rpartition(".")[2] for page in pages.values() for name in page.anchors if "chaplygin." in name
    }
    assert {*chaplygin.__all__} - ids == {"__version__"}
    for file, page in pages.items():
        assert not [address for address in page.loaded if urlsplit(address).netloc], file
        for address in (*page.links, *page.loaded):
            parts = urlsplit(address)
            if not parts.scheme:
                target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
                assert target.exists(), (file, address)
                assert (
                    not parts.fragment
                    or target not in pages
                    or unquote(parts.fragment) in pages[target].anchors
                ), (
                    file,
                    address,
                )
