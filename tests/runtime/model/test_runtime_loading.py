"""Loading compiled models: once per file, without SymPy and the toolchain, with informative errors."""

from __future__ import annotations

import ctypes
import importlib.machinery
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hand_written import extension_module, key_of, sources
from processes import python
from refusals import refused
from runtime_models import library, model

import chaplygin as cg
from chaplygin.codegen.toolchain.library import build
from chaplygin.runtime import LoadError
from chaplygin.runtime.interface.checksum import seal

SIZES = (
    "n_states n_parameters n_inputs n_outputs n_invariants n_guards n_modes n_declared n_events n_contacts "
    "n_coordinates n_consistency n_work n_hoisted"
).split()


class OscillatorTable(ctypes.Structure):
    """The table of chaplygin.h as far as its sizes, and the pointers after them."""

    _fields_: ClassVar = [
        ("versions", ctypes.c_uint32 * 2),
        ("texts", ctypes.c_void_p * 6),
        *((name, ctypes.c_int32) for name in SIZES),
        ("pointers", ctypes.c_void_p * 25),
    ]


SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]


@pytest.fixture(scope="module")
def path() -> Path:
    texts = sources("loaded_oscillator")
    return build(texts, key=key_of(texts))


def test_a_model_runs_and_is_the_same_object_each_time(path: Path) -> None:
    m = cg.load_model(path)
    assert m.name == "loaded_oscillator"
    assert m.rhs(0, [1.0, 2.0], [1.0, 4.0]).tolist() == [2.0, -4.0]
    assert cg.load_model(str(path)) is m
    assert cg.load_model(path.parent / "." / path.name) is m
    sol = m.integrate((0, 1), {"q": 1, "q_dot": 0}, {"m": 1, "k": 4})
    assert sol.y[0, -1] == pytest.approx(np.cos(2), abs=1e-8)


@pytest.mark.parametrize("size", ["n_inputs", "n_modes", "n_hoisted", "n_outputs", "n_states"])
def test_a_method_of_a_table_of_other_sizes_is_refused(size: str) -> None:
    """A copy of the table with one size changed, under the same digest and name."""
    table = OscillatorTable.in_dll(library(), "oscillator_model")
    assert table.versions[1] == ctypes.sizeof(table)
    changed = OscillatorTable.from_buffer_copy(table)
    setattr(changed, size, getattr(table, size) + 1)
    m = model("oscillator")
    with pytest.raises(LoadError, match=rf"another oscillator: {size} = \d+ instead of \d+$"):
        m._take_method("dop853", ctypes.addressof(changed))
    with pytest.raises(LoadError, match="another model than oscillator"):
        m._take_method("dop853", model("sleigh").address)
    with pytest.raises(LoadError, match="dop853 is not in its library"):
        m._take_method("dop853", ctypes.addressof(table))


def test_two_files_of_one_name_are_two_models(path: Path, tmp_path: Path) -> None:
    other = tmp_path / path.name
    shutil.copy(path, other)
    assert cg.load_model(other) is not cg.load_model(path)
    assert cg.load_model(other).rhs(0, [1.0, 2.0], [1.0, 4.0]).tolist() == [2.0, -4.0]


def test_a_module_imported_before_is_used_again(tmp_path: Path) -> None:
    path = extension_module(sources("loaded_oscillator"), tmp_path)
    seal(path)
    assert "same" in python(
        """
        import sys
        sys.path.insert(0, sys.argv[2])
        import loaded_oscillator
        from chaplygin.runtime import load_model
        model = load_model(sys.argv[1])
        print("same" if model is loaded_oscillator.model else "other")
        """,
        path,
        path.parent,
    )


def test_a_run_needs_no_sympy(path: Path) -> None:
    out = python(
        """
        import sys
        import chaplygin as cg
        model = cg.load_model(sys.argv[1])
        sol = model.integrate((0, 1), {"q": 1, "q_dot": 0}, {"m": 1, "k": 4})
        cg.ensemble(model, (0, 1), {"q": 1, "q_dot": 0}, {"m": 1, "k": 4}, n=10)
        model.stepper([1, 0], [1, 4]).advance(1.0)
        print(sorted(m for m in sys.modules if m.split(".")[0] in ("sympy", "scipy", "matplotlib", "Cython")))
        print([m for m in sys.modules if m.startswith("chaplygin.codegen")])
        """,
        path,
    )
    assert out.split() == ["[]", "[]"]


def test_a_run_of_a_shipped_model_imports_little() -> None:
    """Neither what it does not use of the standard library and NumPy, nor inputs, checks and results."""
    out = python(
        """
        import sys
        import numpy
        before = set(sys.modules)
        from chaplygin.generated.heavy_top import model
        model.integrate((0, 1), [1, 0, 0, 0, 0.3, -0.2, 4], [1.5, 1.1, 0.9, 2, 9.81, 0.2, -0.1, 0.5])
        new = set(sys.modules) - before
        print(len({name for name in new if name.startswith("chaplygin")}))
        print(*new & {"pathlib", "hashlib", "json", "dataclasses", "numpy.typing", "numpy.random"})
        """
    )
    (modules,) = out.split()
    assert int(modules) <= 45


def test_models_are_pickled_by_path(path: Path) -> None:
    m = cg.load_model(path)
    assert pickle.loads(pickle.dumps(m)) is m


def test_what_is_not_a_model_is_refused(tmp_path: Path) -> None:
    refused(r"no compiled model at .*absent", cg.load_model, tmp_path / f"absent{SUFFIX}", error=LoadError)
    refused("not a file", cg.load_model, tmp_path, error=LoadError)
    text = tmp_path / "model.txt"
    text.write_text("model")
    refused("not built for this Python", cg.load_model, text, error=LoadError)
    garbage = tmp_path / f"garbage{SUFFIX}"
    garbage.write_bytes(b"\x7fELF garbage")
    refused("garbage", cg.load_model, garbage, error=LoadError)
    refused("no compiled model", cg.load_model, None, error=LoadError)


def test_without_the_compiled_core_only_models_are_missing(path: Path) -> None:
    out = python(
        """
        import sys
        sys.modules["chaplygin.runtime.core._core"] = None
        import chaplygin.runtime as runtime
        from chaplygin.api.ensemble import ensemble
        from chaplygin.api.python_model import PythonModel
        print(runtime.core_available())
        try:
            runtime.load_model(sys.argv[1])
        except runtime.CoreMissingError as error:
            print("C compiler" in str(error), isinstance(error, ImportError))
        try:
            runtime.Model(None)
        except runtime.CoreMissingError as error:
            print("missing")
        """,
        path,
    )
    assert out.split() == ["False", "True", "True", "missing"]


ROOT = Path(__file__).resolve().parents[3]


def test_a_runtime_alone_says_what_is_missing_and_runs() -> None:
    """In a process that cannot import the code generator: runs and ensembles as ever, derivatives refused in words."""
    program = """
import sys
sys.modules["chaplygin.codegen.toolchain"] = None
from chaplygin.runtime import LoadError
from chaplygin.generated.harmonic_oscillator import model
start = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
print(round(float(model.integrate((0, 1), *start, rtol=1e-10, atol=1e-10)["x"][-1]), 8))
print(len(model.ensemble((0, 1), *start, n=5)["x"]))
try:
    model.integrate((0, 1), *start, sensitivities=["k"])
except LoadError as error:
    print(error)
"""
    assert python(program).splitlines() == [
        "-0.41614684",  # cos 2
        "5",
        "compiling needs chaplygin.codegen, which is not installed; install the whole package, pip install chaplygin",
    ]


def test_a_package_that_is_missing_is_named() -> None:
    """In a process of its own: modules that are imported again are not those that other modules have."""
    program = """if True:
        import sys
        sys.modules["sympy"] = None
        from chaplygin.runtime.model.builder import builder
        builder("expressions")
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "LoadError: compiling needs sympy, which is not installed" in done.stderr


def test_it_is_the_only_door() -> None:
    """No other file of the runtime names a module of the toolchain."""
    files = [file for file in (ROOT / "runtime").rglob("*.p*") if file.suffix in (".py", ".pyx", ".pxi")]
    named = {file.name for file in files if "codegen.toolchain" in file.read_text(encoding="utf-8")}
    assert named == {"builder.py"}
