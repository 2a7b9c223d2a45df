"""The committed modules of `generated/`: one form of each main catalogue system.

`python -m chaplygin.codegen.emit.golden` compares the folder with what is emitted now; `--update` rewrites it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .targets import emit

GOLDEN = {
    "chaplygin_sleigh": "maggi",
    "double_pendulum": "lagrange",
    "euler_rigid_body": "poincare",
    "fluid_cavity": "poincare",
    "gyrostat": "routh",
    "harmonic_oscillator": "lagrange",
    "heavy_top": "poincare",
    "kovalevskaya_top": "chetaev",
    "n_link_pendulum": "lagrange",
    "rolling_disk": "nonholonomic",
    "rolling_ring": "maggi",
    "torus_nonuniform": "lagrange",
}
"""The form emitted for each catalogue system; `n_link_pendulum` has its default size."""


def golden_texts() -> dict[str, str]:
    """{file name: text} for every file of `generated/` that the generator emits."""
    from chaplygin.systems import example

    texts: dict[str, str] = {}
    for name, form in GOLDEN.items():
        texts.update(emit(example(name).system.equations(form).program).files)
    return texts


def differences(folder: Path) -> list[str]:
    """The errors in the folder: files that differ, are missing, or are not emitted by the generator."""
    texts = golden_texts()
    found = {p.name for p in folder.iterdir() if p.suffix in (".c", ".h", ".pyx", ".pxd", ".pyi")}
    modules = {p.stem for p in folder.glob("*.pyx")}
    found -= {f"{name}{end}" for name in modules for end in (".c", "_api.h")}  # written by Cython
    wrong = [f"{name}: missing" for name in sorted(texts.keys() - found)]
    wrong += [f"{name}: not emitted by the generator" for name in sorted(found - texts.keys())]
    for name in sorted(found & texts.keys()):
        if (folder / name).read_bytes() != texts[name].encode():
            wrong.append(f"{name}: differs from what is emitted now")
    return wrong


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m chaplygin.codegen.emit.golden", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("generated"))
    parser.add_argument("--update", action="store_true", help="rewrite the folder")
    options = parser.parse_args(arguments)
    if options.update:
        for name, text in golden_texts().items():
            (options.folder / name).write_text(text, encoding="utf-8", newline="\n")
    wrong = differences(options.folder)
    print("\n".join(wrong) if wrong else f"{options.folder}: up to date")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
