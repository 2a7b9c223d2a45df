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
from chaplygin.runtime.problem import inputs
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
    "status": ("chaplygin.h", "cg_status"),
    "kind": ("chaplygin.h", "cg_kind"),
    "flag": ("chaplygin.h", "cg_flag"),
    "takes": ("chaplygin.h", "cg_takes"),
    "signal": ("cg_run.h", "cg_signal_kind"),
    "paradox": ("cg_events.h", "cg_paradox_rule"),
    "project": ("cg_run.h", "cg_projection"),
    "contact": ("cg_events.h", "cg_contact_observed"),
    "limits": ("cg_events.h", ""),
    "law": ("cg_quantile.h", "cg_law"),
}


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    """The values of the enumerators, by enumeration."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    names = {key: enumerators(*place) for key, place in WANTED.items()}
    lines = [
        f'    printf("{key} {name} %d\\n", (int){name});' for key, found in names.items() for name in found
    ]
    program = [
        "#include <stdio.h>",
        '#include "cg_events.h"',
        '#include "cg_quantile.h"',
        "int main(void)",
        "{",
        *lines,
        "    return 0;",
        "}",
    ]
    folder = tmp_path_factory.mktemp("enums")
    (folder / "main.c").write_text("\n".join(program))
    subprocess.run([compiler, f"-I{HEADERS}", "-o", "main", "main.c"], cwd=folder, check=True)
    text = subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout
    result: dict[str, dict[str, int]] = {key: {} for key in WANTED}
    for line in text.splitlines():
        key, name, value = line.split()
        result[key][name.removeprefix("CG_")] = int(value)
    return result


def test_statuses(values: dict[str, dict[str, int]]) -> None:
    status = values["status"]
    named = {name: getattr(statuses, name) for name in status if hasattr(statuses, name)}
    assert named.keys() >= {"OK", "SINGULAR", "NONFINITE", "INTERRUPTED", "UNSUPPORTED"}
    assert named == {name: status[name] for name in named}
    assert {"_".join(text.upper().split()): code for code, text in statuses.STATUS_NAMES.items()} == {
        {"NONFINITE": "NOT_FINITE", "ACCUMULATING": "ACCUMULATING_EVENTS"}.get(name, name): code
        for name, code in status.items()
    }
    assert statuses._MESSAGES.keys() == set(status.values()) - {0}


def test_kinds_of_quantities_and_what_kernels_take(values: dict[str, dict[str, int]]) -> None:
    assert {kind.upper(): i for i, kind in enumerate(description.KINDS)} == values["kind"]
    assert {f"TAKES_{what.upper()}": i for i, what in enumerate(description.TAKES)} == values["takes"]


def test_flags(values: dict[str, dict[str, int]]) -> None:
    assert values["flag"] == assumptions.FLAGS
    assert values["flag"] == {name: getattr(assumptions, name) for name in assumptions.FLAGS}


def test_kinds_of_inputs(values: dict[str, dict[str, int]]) -> None:
    assert values["signal"] == {
        f"SIGNAL_{n}": getattr(inputs, n) for n in ("CONSTANT", "HOLD", "LINEAR", "CALL", "CUBIC", "MOVING")
    }


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
