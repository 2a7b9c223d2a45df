"""C bundles of catalogue systems for tests: exported, built in several ways, and compared with steppers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from integrations import need

import chaplygin as cg

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")
LANGUAGES = {
    "gcc": ("-std=c99",),
    "clang": ("-std=c99",),
    "g++": ("-std=c++17", "-x", "c++"),
    "clang++": ("-std=c++17", "-x", "c++"),
}
"""Compilers, each with the options for its language."""
SANITIZE = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
PARADOX = "no contact mode satisfies the equations, or more than one does"
BITS = ("-ffp-contract=off",)
SIDE = """
#include "{header}"
double {side}(void);
double {side}(void)
{{
    static CG_BLOCK(memory, {NAME}_RUN_SIZE);
    cg_run_t *const run = (cg_run_t *)(void *)memory;
    const {scalar} x0[2] = {{1, 0}};
    if (cg_run_init(run, sizeof memory, &{name}_model, "{method}", 0) != CG_OK) return -9;
    {set}
    if (cg_run_start(run, 0, x0, 0) != CG_OK || cg_run_advance(run, {end}) != CG_OK) return -9;
    return (double)run->x[0];
}}
"""


def side(name: str, function: str, p: Mapping[str, float], **more: str) -> str:
    """C with a function that runs a bundle of one coordinate from rest at 1 to `end`, and returns where it is then."""
    given = {"scalar": "double", "method": "dop853", "end": "1", "header": f"{name}.h", "set": ""} | more
    given["set"] += "".join(
        f"run->p[{name.upper()}_P_{parameter}] = {value};" for parameter, value in p.items()
    )
    return SIDE.format(name=name, NAME=name.upper(), side=function, **given)


@dataclass(frozen=True)
class Exported:
    """A bundle, and what it was made from."""

    example: Any
    model: Any
    folder: Path
    method: str

    @property
    def sources(self) -> list[str]:
        """The C files to compile, the example first."""
        files = ("example.c", f"{self.model.name}.c", "cg_runtime.c")
        return [file for file in files if (self.folder / file).exists()]

    def built(self, compiler: str, *flags: str, sources: Sequence[str] = ()) -> Path:
        """The program that one command makes of the example, or of other sources."""
        target = self.folder / f"program_{compiler}"
        command = [need(compiler), *LANGUAGES[compiler], *BITS, *flags, *(sources or self.sources)]
        called([*command, "-o", os.fspath(target), "-lm", "-lpthread"], self.folder)
        return target

    def printed(self, program: Path) -> str:
        """What a program prints. It returns 1 if the run fails, which it says in the last line."""
        done = subprocess.run([program], capture_output=True, text=True, timeout=100)
        assert done.returncode == (" = " not in done.stdout), done.stdout + done.stderr
        return done.stdout

    def stepped(self) -> str:
        """What the example has to print, from a stepper that takes the same steps without a pause."""
        model, example = self.model, self.example
        inputs = {name: model.example.get(name, 0.0) for name in model.inputs}
        how = {"rtol": 1e-9, "atol": 1e-9} if model.methods[self.method].adaptive else {"step": 1e-3}
        run = model.stepper(example.initial, example.parameters, inputs, method=self.method, **how)
        for i in range(1000):
            if inputs:
                run.set_inputs({name: value + 0.001 * (i % 10) for name, value in inputs.items()})
            try:
                run.advance((i + 1) / 1000)
            except cg.KernelError as error:
                return f"{PARADOX if error.status == -10 else error}\n"
        return "".join(f"{name} = {value:.17g}\n" for name, value in zip(model.states, run.y))


def exported(name: str, folder: Path, methods: Sequence[str] = ("dop853",), **options: Any) -> Exported:
    """The bundle of a catalogue system in its first form."""
    example = cg.example(name)
    form = example.forms[0]
    model: Any = example.system.compile(form, **example.options.get(form, {}))
    start = {"initial": example.initial, "parameters": example.parameters}
    model.export_c(folder, methods, **options, **start)
    return Exported(example, model, folder, methods[0])


def called(command: Sequence[str | os.PathLike[str]], folder: Path, timeout: float = 250) -> str:
    """What a command prints. A sanitizer that is not installed skips the test."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout)
    if "cannot find" in done.stderr and "san" in done.stderr:
        pytest.skip("the sanitizers are not installed")
    assert done.returncode == 0, f"{done.stdout[-1000:]}\n{done.stderr[-3000:]}"
    return done.stdout
