"""The committed texts: one form of each main catalogue system here, pairs in `runtime/c/methods`, `_abi.pxi`,
`_core.pyi`.

`python -m chaplygin.generated` compares them with what is emitted now; `--update` rewrites them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from chaplygin.codegen.emit import binding
from chaplygin.codegen.emit.method_headers import MADE, runtime_headers
from chaplygin.codegen.emit.targets import emit
from chaplygin.systems import example

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


def committed_texts() -> dict[str, str]:
    """{path below the root of the checkout: text} for every committed file that the generator emits."""
    texts = {f"runtime/c/methods/{name}": text for name, text in runtime_headers().items()}
    texts["runtime/core/_abi.pxi"] = binding.binding_text()
    texts["runtime/core/_core.pyi"] = binding.stub_text()
    for name, form in GOLDEN.items():
        files = emit(example(name).system.equations(form).program).files
        texts |= {f"generated/{file}": text for file, text in files.items()}
    return texts


def differences(root: Path) -> list[str]:
    """The errors in the committed texts below `root`: files that differ, are missing, or are not emitted."""
    generated = root / "generated"
    modules = {path.stem for path in generated.glob("*.pyx")}
    by_cython = {f"{name}{end}" for name in modules for end in (".c", "_api.h")}
    endings = (".c", ".h", ".pyx", ".pxd", ".pxi", ".pyi", ".txt")
    found = {p for p in generated.iterdir() if p.suffix in endings and p.name not in by_cython}
    found |= {p for p in (root / "runtime" / "c").rglob("*.h") if MADE in p.read_text(encoding="utf-8")}
    binding_files = (root / "runtime" / "core").glob("*.p[xy]i")
    found |= {p for p in binding_files if binding.MADE in p.read_text(encoding="utf-8")}
    texts = {root / name: text for name, text in committed_texts().items()}
    wrong = [f"{path}: missing" for path in sorted(texts.keys() - found)]
    wrong += [f"{path}: not emitted by the generator" for path in sorted(found - texts.keys())]
    same = {path for path in found & texts.keys() if path.read_bytes() == texts[path].encode()}
    return wrong + [
        f"{path}: differs from what is emitted now" for path in sorted(found & texts.keys() - same)
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m chaplygin.generated", description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=Path())
    parser.add_argument("--update", action="store_true", help="rewrite the files")
    options = parser.parse_args(arguments)
    if options.update:
        for name, text in committed_texts().items():
            (options.root / name).write_text(text, encoding="utf-8", newline="\n")
    wrong = differences(options.root)
    print("\n".join(wrong) if wrong else "generated and runtime: up to date")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
