"""The enumerations of the C headers, whose values a compiler prints, and their counterparts in Python."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from chaplygin.codegen.declare import contacts
from chaplygin.runtime.draws import distributions as laws
from chaplygin.runtime.interface import assumptions, description, statuses
from chaplygin.runtime.problem.option_table import OPTIONS
from chaplygin.runtime.results import event_record

HEADERS = Path(__file__).resolve().parent.parent / "runtime" / "c"


def enumerators(header: str, name: str = "") -> list[str]:
    """The names in one enumeration of a header, or in all that have no name."""
    text = re.sub(r"/\*.*?\*/", "", (HEADERS / header).read_text(encoding="utf-8"), flags=re.S)
    bodies = re.findall(rf"\benum\s*{name}\s*\{{([^}}]*)\}}", text)
    assert bodies, f"{header}: no enum {name}"
    return [part.partition("=")[0].strip() for body in bodies for part in body.split(",") if part.strip()]


WANTED = {
    "kind": ("chaplygin.h", "cg_kind"),
    "flag": ("chaplygin.h", "cg_flag"),
    "takes": ("chaplygin.h", "cg_takes"),
    "signal": ("cg_run.h", "cg_signal_kind"),
    "paradox": ("cg_events.h", "cg_paradox_rule"),
    "project": ("cg_run.h", "cg_projection"),
    "contact": ("cg_events.h", "cg_contact_observed"),
    "limits": ("cg_events.h", ""),
    "law": ("math/cg_quantile.h", "cg_law"),
}


def printed(folder: Path, lines: list[str], *sources: str) -> list[str]:
    """The lines that a C program prints."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    included = [f'#include "{name}"' for name in ("cg_driver.h", "cg_events.h", "math/cg_quantile.h")]
    (folder / "main.c").write_text(
        "\n".join(["#include <stdio.h>", *included, "int main(void)", "{", *lines, "    return 0;", "}"])
    )
    files = [HEADERS / name for name in sources]
    subprocess.run([compiler, f"-I{HEADERS}", "-o", "main", "main.c", *files], cwd=folder, check=True)
    return subprocess.run(
        [folder / "main"], capture_output=True, encoding="utf-8", check=True
    ).stdout.splitlines()


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    """The values of the enumerators, by enumeration."""
    names = {key: enumerators(*place) for key, place in WANTED.items()}
    lines = [
        f'    printf("{key} {name} %d\\n", (int){name});' for key, found in names.items() for name in found
    ]
    result: dict[str, dict[str, int]] = {key: {} for key in WANTED}
    for line in printed(tmp_path_factory.mktemp("enums"), lines):
        key, name, value = line.split()
        result[key][name.removeprefix("CG_")] = int(value)
    return result


def test_statuses_and_their_texts(tmp_path: Path) -> None:
    show = (
        '#define SHOW(name, value, text) printf("%s %d %s\\n", &#name[3], (int)name, cg_status_text(name));'
    )
    found = [
        line.split(maxsplit=2) for line in printed(tmp_path, [show, "CG_STATUSES(SHOW)"], "step/cg_status.c")
    ]
    codes = [0, 1, *range(-1, -16, -1)]  # of the binary interface: they never change
    assert [int(code) for _, code, _ in found] == codes
    assert {name: int(code) for name, code, _ in found} == statuses.CODES
    assert {int(code): text for _, code, text in found} == statuses.STATUS_TEXTS
    for name, code in statuses.CODES.items():
        assert getattr(statuses, name, code) == code
    assert (statuses.SINGULAR, statuses.STATUS_NAMES[-13]) == (-1, "rank changed")


def test_kinds_of_quantities_and_what_kernels_take(values: dict[str, dict[str, int]]) -> None:
    assert {kind.upper(): i for i, kind in enumerate(description.KINDS)} == values["kind"]
    assert {f"TAKES_{what.upper()}": i for i, what in enumerate(description.TAKES)} == values["takes"]


def test_flags(values: dict[str, dict[str, int]]) -> None:
    assert values["flag"] == assumptions.FLAGS
    assert values["flag"] == {name: getattr(assumptions, name) for name in assumptions.FLAGS}


def test_choices_of_options(values: dict[str, dict[str, int]]) -> None:
    with_choices = {name for name, row in OPTIONS.items() if row.choices}
    assert with_choices == {"paradox", "project"}
    for name in with_choices:
        choices = OPTIONS[name].choices or {}
        words = {str(choice).partition("_")[0].upper(): code for choice, code in choices.items()}
        assert values[name] == {f"{name.upper()}_{word}": code for word, code in words.items()}


def test_rows_of_events(values: dict[str, dict[str, int]]) -> None:
    contact = values["contact"]
    assert (contact["CONTACT_SLIP"], contact["CONTACT_NORMAL"]) == (event_record.SLIP, event_record.NORMAL)
    assert contact["CONTACT_OBSERVED"] == event_record.WATCHED
    assert values["limits"]["LOG_HEAD"] == event_record.HEAD
    assert values["limits"]["MOST_CONTACTS"] == contacts.MOST_CONTACTS


def test_laws(values: dict[str, dict[str, int]]) -> None:
    assert {name.removeprefix("LAW_"): code for name, code in values["law"].items()} == {
        name: getattr(laws, name)
        for name in ("UNIFORM", "NORMAL", "LOGNORMAL", "EXPONENTIAL", "WEIBULL", "TABLE")
    }
