"""After a second of deriving, planning or compiling, one line of a terminal says what goes on."""

from __future__ import annotations

import io
import sys
import time
from contextlib import redirect_stderr
from typing import Any

import pytest

import chaplygin as cg
from chaplygin import waiting as shown
from chaplygin.errors import ArgumentError
from chaplygin.waiting import doing, waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Tests write to it by `redirect_stderr`, since pytest has its own stderr for each phase of a test."""
    monkeypatch.setattr(shown, "SECONDS", 0.0)
    monkeypatch.setattr(shown, "TICK", 0.001)
    monkeypatch.delenv(shown.SILENCE, raising=False)
    return Terminal()


@pytest.fixture(params=[True, False], ids=["tqdm", "no tqdm"])
def bar(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for tqdm, and without it."""

    class Bar:
        def __init__(self, bar_format: str, file: Any, leave: bool) -> None:
            self.file = file

        def set_description_str(self, text: str) -> None:
            self.file.write(f"{text}\n")

        def close(self) -> None:
            self.file.write("closed\n")

    module = type(sys)("tqdm.auto")
    module.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm.auto", module if request.param else None)  # type: ignore[arg-type]


def wait_for(terminal: Terminal, text: str) -> None:
    end = time.monotonic() + 60
    while text not in terminal.getvalue():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_the_line_says_what_goes_on(terminal: Terminal, bar: None) -> None:
    with redirect_stderr(terminal), waiting(), doing("plan top, poincare"), doing("plan top, poincare: rhs"):
        wait_for(terminal, "chaplygin: plan top, poincare: rhs")
    assert terminal.getvalue().endswith(("\r", "closed\n"))  # nothing is left of it
    assert not shown._doing


def test_nothing_is_shown_in_the_first_second(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "SECONDS", 60.0)
    with redirect_stderr(terminal), waiting(True), doing("plan"):
        time.sleep(0.3)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("how", ["progress", "variable", "file"])
def test_who_wants_silence_has_it(how: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "variable":
        monkeypatch.setenv(shown.SILENCE, "0")
    if how == "file":
        monkeypatch.setattr(Terminal, "isatty", lambda self: False)
    with redirect_stderr(terminal), waiting(False if how == "progress" else None), waiting(), doing("plan"):
        time.sleep(0.3)
    assert terminal.getvalue() == ""


def test_compiling_waits_in_this_line(
    terminal: Terminal, bar: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    system = cg.example("harmonic_oscillator").system
    for progress, said in ((False, False), (True, True)):
        monkeypatch.setenv("CHAPLYGIN_CACHE", str(tmp_path / str(progress)))
        with redirect_stderr(terminal):
            system.compile(progress=progress)
        assert ("chaplygin: compile harmonic_oscillator" in terminal.getvalue()) == said
    with pytest.raises(ArgumentError, match="progress"):
        system.compile(progress="no")
