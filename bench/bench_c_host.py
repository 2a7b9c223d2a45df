"""A host in C that steps the heavy top at 1 kHz, dop853 at 1e-9: the C bundle beside the package's own builds."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cases import TOLERANCE, TOP
from sizes import scaled
from turns import Contender, Ratio

from chaplygin.codegen.toolchain.compiler import find_compiler
from chaplygin.runtime.interface.files import DRIVER, INCLUDE, runtime_files

STEPS = scaled(300_000, 1000)
TABLE = 1
"""CG_RUN_TABLE: the methods of the runtime for any model, not those that are compiled into this one."""
MADE = "-O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-tree-slp-vectorize -fPIC".split()
"""The flags of the bundle's build files, with gcc."""
_HOST = Path(__file__).resolve().parent / "host_loop.c"

Loop = Callable[[int, int], Any]


def compiled(folder: Path, sources: Sequence[Path], flags: Sequence[str]) -> Loop:
    """The function `host_loop` with some sources of the model: (steps, flags of the run) -> end state."""
    folder.mkdir(exist_ok=True)
    library = folder / "host.so"
    command = [*find_compiler().command, "-std=c99", *flags, "-shared", str(_HOST), *map(str, sources)]
    subprocess.run([*command, "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).host_loop
    function.argtypes = [ctypes.c_int64, ctypes.c_int32, ctypes.c_void_p]

    def run(steps: int, how: int) -> Any:
        end = np.empty(7)
        assert function(steps, how, end.ctypes.data) == 0
        return end

    return run


def bundled(folder: Path, *flags: str) -> Loop:
    """The loop with the model's C bundle."""
    TOP.model.export_c(folder / "bundle", methods=("dop853",))
    sources = [folder / "bundle" / file for file in ("heavy_top.c", "cg_runtime.c")]
    return compiled(folder, sources, [*MADE, *flags, '-DHEADER="heavy_top.h"', f"-I{folder / 'bundle'}"])


def own(folder: Path) -> Loop:
    """The loop with the emitted core, methods inlined, and the runtime, compiled as the package compiles them."""
    TOP.entry.system.emit(TOP.form, folder, targets=["c"])
    flags = find_compiler().core_flags(tuned=True, reproducible=True)
    names = ('-DHEADER="heavy_top_core.h"', '-DDRIVER="cg_driver.h"', "-DCHAPLYGIN_INLINE_METHODS")
    hidden = [flag for flag in flags if flag != "-fvisibility=hidden"]
    sources = [folder / "heavy_top_core.c", *(runtime_files()[file] for file in DRIVER)]
    return compiled(folder, sources, [*hidden, *names, f"-I{folder}", f"-I{INCLUDE}"])


def stepped(steps: int) -> Any:
    """The end state of a stepper in Python."""
    model = TOP.model
    run = model.stepper(TOP.initial, TOP.parameters, method="dop853", rtol=TOLERANCE, atol=TOLERANCE)
    for i in range(1, steps + 1):
        run.advance(i / 1000.0)
    return run.y


def test_c_host(tmp_path: Path, turns: Any) -> None:
    loop, made, tuned = (
        own(tmp_path / "own"),
        bundled(tmp_path / "made"),
        bundled(tmp_path / "tuned", "-march=native"),
    )

    def row(text: str, run: Callable[[int], Any], steps: int = STEPS) -> Contender:
        run(STEPS // 300)
        return Contender(text, lambda: run(steps), steps)

    inlined = row("loop with the package's flags, methods inlined", lambda steps: loop(steps, 0))
    bundle = row("C bundle, flags of its Makefile", lambda steps: made(steps, 0))
    native = row("C bundle, with -march=native", lambda steps: tuned(steps, 0))
    table = row("loop with the package's flags, methods for any model", lambda steps: loop(steps, TABLE))
    python = row("stepper in Python", stepped, STEPS // 3)
    ends = {run(1000, how).tobytes() for run, how in ((loop, 0), (loop, TABLE), (made, 0), (tuned, 0))}
    assert ends == {stepped(1000).tobytes()}  # all take the same steps
    what = "1 kHz host in C, time relative to the loop with inlined methods"
    ratios = [Ratio(what, bundle, inlined, 1.1, inverse=True)]
    ratios += [Ratio(f"{what}, -march=native", native, inlined, 1.1, inverse=True)]
    turns(
        "1 kHz, one step, dop853 1e-9: heavy_top",
        [inlined, bundle, native, table, python],
        ratios,
        rounds=9,
    )
