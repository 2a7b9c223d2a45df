"""The subject of a command: a system with the numbers to run it, from the catalogue or from a user's file."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import chaplygin as cg
from chaplygin import generated
from chaplygin._lazy import later
from chaplygin.errors import ChaplyginError, NoCompilerError
from chaplygin.runtime.interface.messages import short
from chaplygin.systems import example, examples
from chaplygin.systems.entry import Example

if TYPE_CHECKING:
    from chaplygin.api.model import Model
    from chaplygin.api.system import System

choose = later("chaplygin.codegen.forms.choose")

LARGEST = 2_000
"""Largest size of a catalogue system: larger ones take minutes to derive and gigabytes to compile."""


class SubjectError(ChaplyginError, ValueError):
    """A command-line argument names something that does not exist or cannot be used."""


@dataclass(frozen=True, eq=False)
class Subject(Example):
    """A system and the numbers of one run; its `name` is what the command line calls it."""

    inputs: Mapping[str, float] = field(default_factory=dict)

    def exact(self, t: float) -> dict[str, float] | None:
        """The closed form at time t by name; None if it is not known, or does not apply to these numbers."""
        exact = self.closed_form
        if exact is None or any(self.inputs.values()):
            return None
        try:
            return exact(t - self.t_span[0])
        except ValueError:
            return None

    def require_numbers(self, form: str) -> None:
        """Raise SubjectError, naming them, for parameters and states without numbers, before anything is compiled.

        Velocities can follow from constraints, or from the energy in Whittaker's form.
        """
        system = self.system
        independent = not (system.constraints or system.independent) and form not in ("whittaker", "routh")
        states = [*system.coordinates, *(system.velocities if independent else ())]
        missing = [s.name for s in system.parameters if s.name not in self.parameters]
        missing += [s.name for s in states if s.name not in self.initial]
        if missing:
            raise SubjectError(
                f"{self.name}: no numbers for {', '.join(missing)}: give each by --set {missing[0]}=VALUE, or all in "
                "example={...} of the System"
            )

    def changed(self, settings: Sequence[str]) -> Subject:
        """A copy with parameters, initial values and inputs changed by NAME=VALUE settings."""
        tables: dict[str, Any] = {k: dict(getattr(self, k)) for k in ("parameters", "initial", "inputs")}
        system = self.system
        homes = {
            **{s.name: "parameters" for s in system.parameters},
            **{s.name: "initial" for s in (*system.coordinates, *system.velocities, *system.independent)},
            **{s.name: "inputs" for s in system.inputs},
        }
        for setting in settings:
            name, value = _split(setting, "--set")
            if name not in homes:
                raise SubjectError(
                    f"--set {name}: {self.name} has no such quantity{meant(name, homes)}; it has {', '.join(homes)}"
                )
            try:
                tables[homes[name]][name] = float(value)
            except ValueError:
                raise SubjectError(f"--set {setting}: {short(value)} is not a number") from None
        return replace(self, **tables)


def compiled(system: System, form: str, options: Mapping[str, Any]) -> Model:
    """The compiled model; without a compiler that which came with the package, if it is the same."""
    try:
        return system.compile(form, **options)
    except NoCompilerError:
        digest = system.equations(form, **options).program.digest
        for folder in map(Path, generated.__path__):
            for file in folder.glob(f"{system.name}*{EXTENSION_SUFFIXES[0]}"):
                if (model := cg.load_model(file)).digest == digest:
                    return model
        raise


def meant(name: str, known: Iterable[str]) -> str:
    """` (did you mean ...?)` if a name is close to a known one, else an empty string.

    >>> meant("heavy_tpo", ["heavy_top", "gyrostat"])
    " (did you mean 'heavy_top'?)"
    """
    near = get_close_matches(name, list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def find(text: str, size: int | None = None) -> Subject:
    """The subject named by SYSTEM on the command line.

    Raises SubjectError if there is no such system.

    >>> find("n_link_pendulum:3").name
    'n_link_pendulum:3'
    """
    path, separator, name = text.rpartition(":")
    if text.endswith(".py") or (separator and path.endswith(".py")):
        if size is not None:
            raise SubjectError("--n is for catalogue systems only; set the size in your own file")
        return _from_file(*((path, name) if separator and path.endswith(".py") else (text, "")))
    return _from_catalogue(text, size)


def _from_catalogue(text: str, size: int | None) -> Subject:
    name = text
    if name not in examples():
        match = re.fullmatch(r"(\w+?)[:_](\d+)", text)
        if match is None or match[1] not in examples():
            if text.endswith(".urdf"):
                raise SubjectError(
                    f"{text}: write robot = chaplygin.from_urdf({text!r}) into a file robot.py, and give robot.py:robot"
                )
            raise SubjectError(
                f"no system {short(text)} in the catalogue{meant(re.split(r'[:/]', text)[0], examples())}; it has "
                f"{', '.join(examples())}; use path/to/model.py:name for a system of your own"
            )
        if size is not None and match[2] != str(size):
            raise SubjectError(f"{text} and --n {size}: two sizes given")
        name, size = match[1], int(match[2]) if len(match[2]) < 10 else LARGEST + 1
    if size is not None and not 1 <= size <= LARGEST:
        raise SubjectError(f"{text}: the size must be from 1 to {LARGEST:,}")
    try:
        entry = example(name) if size is None else example(name, n=size)
    except TypeError:
        raise SubjectError(f"{name} has a fixed size; leave out the size {size}") from None
    except ValueError as error:
        raise SubjectError(str(error)) from None
    return _of(entry, name if size is None else f"{name}:{size}")


def _of(entry: Example, name: str) -> Subject:
    given = {each.name: getattr(entry, each.name) for each in fields(Example)}
    return Subject(**{**given, "name": name, "build": lambda: entry.system})


def _from_file(path: str, name: str) -> Subject:
    module = execute(Path(path))
    candidates = [key for key, value in vars(module).items() if isinstance(value, (cg.System, Example))]
    if not name:
        if len(candidates) != 1:
            there = f"it has {', '.join(candidates)}" if candidates else "it has no chaplygin.System"
            raise SubjectError(f"{path}: name one system, as in {path}:name; {there}")
        name = candidates[0]
    if not hasattr(module, name):
        raise SubjectError(f"{path}: has no {name!r}; its systems are {', '.join(candidates) or 'none'}")
    found = getattr(module, name)
    if callable(found) and not isinstance(found, (cg.System, Example)):
        try:
            found = found()
        except Exception as error:
            raise SubjectError(f"{path}:{name}() failed: {where(error, Path(path))}") from error
    if isinstance(found, Example):
        return _of(found, f"{path}:{name}")
    if not isinstance(found, cg.System):
        kind = type(found).__name__
        article = "an" if kind[0] in "aeioAEIO" else "a"
        raise SubjectError(
            f"{path}:{name} is {article} {kind}; it must be a chaplygin.System or a function that returns one"
        )
    system = found

    def numbers(symbols: Sequence[Any]) -> dict[str, float]:
        return {s.name: float(system.example[s]) for s in symbols if s in system.example}

    return Subject(
        name=f"{path}:{name}",
        description=f"the system {system.name!r} of {path}",
        source="",
        t_span=(0.0, 10.0),
        forms=(),
        build=lambda: system,
        parameters=numbers(system.parameters),
        initial=numbers((*system.coordinates, *system.velocities, *system.independent)),
        inputs={s.name: float(system.example.get(s, 0.0)) for s in system.inputs},
    )


def execute(path: Path) -> Any:
    """The module of a Python file; raises SubjectError if it cannot be executed."""
    if not path.is_file():
        raise SubjectError(f"{path}: no such file")
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SubjectError(f"{path} is not a Python file")
    module = module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))  # so that it can import its neighbours, as a script does
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise SubjectError(f"{path} failed: {where(error, path)}") from error
    finally:
        del sys.path[0]
    return module


def where(error: Exception, path: Path) -> str:
    """`line 3: NameError: ...`, with the last line inside the user's file."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).name == path.name]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return (f"line {line}: " if line else "") + f"{type(error).__name__}: {error}"


def form_options(system: System, form: str | None, given: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The form to use and its options, from NAME=VALUE strings.

    Lists are separated by commas, integers are converted, and names of the system's symbols become those symbols.
    """
    chosen = form or choose.fitting(system)
    if chosen not in choose.forms():
        raise SubjectError(
            f"unknown form {short(chosen)}{meant(chosen, choose.forms())}; known forms are {', '.join(choose.forms())}"
        )
    symbols = system.symbols
    known = choose.options_of(chosen)

    def value_of(text: str) -> Any:
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else symbols.get(text, text)

    options: dict[str, Any] = {}
    for setting in given:
        name, text = _split(setting, "--option")
        several = name in known and "Sequence" in str(known[name].annotation)
        options[name] = [value_of(word) for word in text.split(",")] if several else value_of(text)
    return chosen, options


def _split(setting: str, where: str) -> tuple[str, str]:
    name, equals, value = setting.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise SubjectError(f"{where} {setting}: expected NAME=VALUE")
    return name.strip(), value.strip()
