"""Kernels of a compiled model from Python: values, shapes, names, and errors that name the entry.

Models are loaded once per file, without SymPy and the toolchain, with informative errors.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import sympy as sp
from hand_written import extension_module, key_of, sources
from processes import python
from refusals import refused
from runtime_models import capsule, library, model

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.toolchain.library import build
from chaplygin.runtime import ArgumentError, KernelError, LoadError, Model
from chaplygin.runtime.interface.checksum import seal

Y = np.array([0.3, -1.2])
P = np.array([2.0, 5.0])
U = np.array([0.7])


def rates(y: Any, p: Any, u: Any) -> list[Any]:
    """The oscillator written by hand: m q'' = F - k q."""
    return [y[1], (u[0] - p[1] * y[0]) / p[0]]


def test_names_and_description() -> None:
    m = model("oscillator")
    assert (m.name, m.form, m.states, m.parameters) == ("oscillator", "lagrange", ("q", "v"), ("m", "k"))
    assert (m.inputs, m.outputs, m.invariants) == (("F",), ("w", "pull"), ("energy",))
    assert m.units["k"] == "N/m"
    assert m.descriptions["m"] == "mass"
    assert m.example["k"] == 4.0
    assert m.variables["w"].kind == "declared"
    assert "oscillator" in repr(m)


def test_rhs_of_vectors_dicts_and_sequences() -> None:
    m = model("oscillator")
    expected = rates(Y, P, U)
    assert m.rhs(0.0, Y, P, U) == pytest.approx(expected, rel=1e-15)
    for y, p, u in [
        ({"v": -1.2, "q": 0.3}, {"k": 5, "m": 2}, {"F": 0.7}),
        ([0.3, -1.2], (2, 5), [0.7]),
        (Y.astype(np.float32).astype(float), P.astype(int), np.array([0.7])),
        (iter(Y.tolist()), P[::-1][::-1], U),
        (np.array([0.3, 9.0, -1.2])[::2], np.array([2.0, 5.0], dtype=">f8"), U),
    ]:
        assert m.rhs(0, y, p, u) == pytest.approx(expected, rel=1e-7)


def test_rhs_of_columns_as_solve_ivp_asks() -> None:
    m = model("oscillator")
    rng = np.random.default_rng(1)
    y, p, u = rng.normal(size=(2, 7)), rng.uniform(1, 2, size=(2, 7)), rng.normal(size=(1, 7))
    assert m.rhs(0, y, p, u) == pytest.approx(np.array(rates(y, p, u)), rel=1e-14)
    assert m.rhs(0, y, P, U) == pytest.approx(np.array(rates(y, P, U)), rel=1e-14)
    assert m.rhs(0, np.asfortranarray(y), P, U).shape == (2, 7)
    assert m.rhs(0, Y, p, U) == pytest.approx(wide(p), rel=1e-14)
    assert m.rhs(0, y[:, :1], P, U).shape == (2, 1)
    assert m.rhs(0, y[:, :0], P, U).shape == (2, 0)
    assert m.rhs(0, {"q": y[0], "v": 1.0}, P, U) == pytest.approx(
        np.array(rates([y[0], np.ones(7)], P, U)), rel=1e-14
    )


def wide(p: Any) -> Any:
    return np.array([np.broadcast_to(row, p.shape[1]) for row in rates(Y, p, U)])


def test_jacobian_and_jvp_are_derivatives() -> None:
    m = model("oscillator")
    jacobian = m.jacobian(0, Y, P, U)
    h = 1e-6
    differences = np.array(
        [(m.rhs(0, Y + h * e, P, U) - m.rhs(0, Y - h * e, P, U)) / (2 * h) for e in np.eye(2)]
    ).T
    assert jacobian == pytest.approx(differences, abs=1e-8)
    direction = np.array([0.4, -0.9])
    assert m.jvp(0, Y, P, direction, U) == pytest.approx(jacobian @ direction, rel=1e-14)
    columns = m.jacobian(0, np.array([Y, 2 * Y]).T, P, U)
    assert columns.shape == (2, 2, 2)
    assert columns[:, :, 1] == pytest.approx(jacobian)
    refused("dy", m.jvp, 0, Y, P, None, U)


def test_evaluate_gives_everything_by_name() -> None:
    m = model("oscillator")
    out = m.evaluate(0, Y, P, U)
    assert list(out) == ["q", "v", "w", "pull", "energy"]
    assert out["pull"] == pytest.approx(0.7 - 5 * 0.3)
    assert out["energy"] == pytest.approx(0.5 * 2 * 1.44 + 0.5 * 5 * 0.09)
    assert isinstance(out["energy"], float)
    y = np.array([Y, 2 * Y, 3 * Y]).T
    wide = m.evaluate(np.arange(3.0), y, P, U)
    assert wide["q"] == pytest.approx(y[0])
    assert wide["energy"] == pytest.approx(out["energy"] * np.array([1, 4, 9]))


def test_address_and_kernels_for_ctypes() -> None:
    m = model("oscillator")
    assert m.address == ctypes.addressof(ctypes.c_char.in_dll(library(), "oscillator_model"))
    kernel = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *[ctypes.c_void_p] * 5)(m.addresses["rhs"])
    out = np.empty(2)
    assert kernel(0.0, Y.ctypes.data, P.ctypes.data, U.ctypes.data, out.ctypes.data, None) == 0
    assert out == pytest.approx(rates(Y, P, U))


@pytest.mark.parametrize(
    ("y", "p", "u", "says"),
    [
        (Y[:1], P, U, r"y has shape \(1,\); shape \(2,\)"),
        (np.zeros(3), P, U, "in the order \\(q, v\\)"),
        ([0.1, np.nan], P, U, "y: v = nan is not finite"),
        (np.array([np.inf, 0]), P, U, "y: q = inf is not finite"),
        ({"q": 1}, P, U, "y: missing v"),
        ({"q": 1, "v": 2, "vv": 3}, P, U, "y: unknown vv; did you mean v"),
        (Y, {"m": 1, "K": 2}, U, "p: unknown K"),
        (Y, {"m": "1", "k": 2}, U, "p: m = '1' is not"),
        (Y, None, U, "p: missing m, k"),
        (Y, P, (), "u has shape"),
        (Y, P + 1j, U, "p = .* not an array of real numbers"),
        (Y, P, {"F": None}, "u: F = None"),
        ("qv", P, U, "y = 'qv'"),
        (np.zeros((2, 2, 2)), P, U, "y has shape"),
        (np.zeros((2, 3)), np.ones((2, 4)), U, "p has shape"),
        ([[1, 2], [3]], P, U, "y is not an array"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), P, U, "masked"),
    ],
)
def test_wrong_arguments_are_named(y: Any, p: Any, u: Any, says: str) -> None:
    m = model("oscillator")
    refused(says, m.rhs, 0.0, y, p, u)
    refused(says, m.evaluate, 0.0, y, p, u)


@pytest.mark.parametrize("t", [None, "0", np.nan, 1j, [[0.0]], np.zeros((1, 1))])
def test_wrong_times(t: Any) -> None:
    with pytest.raises(ArgumentError, match="t "):
        model("oscillator").rhs(t, Y, P, U)


def test_singular_model_raises_with_status() -> None:
    m = model("oscillator")
    with pytest.raises(
        KernelError, match=r"oscillator.rhs at t = 1.5: the mass matrix .* singular"
    ) as caught:
        m.rhs(1.5, Y, [0.0, 5.0], U)
    assert caught.value.status == -1
    with pytest.raises(KernelError, match="column 1"):
        m.rhs(0, np.zeros((2, 3)), np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]), U)


def test_missing_kernels_are_said() -> None:
    m = model("sleigh")
    with pytest.raises(KernelError, match=r"sleigh.jacobian .* lacks a kernel"):
        m.jacobian(0, np.zeros(5), np.ones(3), [0.0])
    with pytest.raises(KernelError, match=r"sleigh.jvp .* lacks a kernel"):
        m.jvp(0, np.zeros(5), np.ones(3), np.zeros(5), [0.0])


def test_only_capsules_of_this_interface_are_taken() -> None:
    words = r"compiled for version 4 of the binary interface .* has version 5 .* compile the model again"
    refused(words, Model, capsule("stale"), error=LoadError)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    for other in (None, 3, "model", object(), new(1, b"other", None)):
        refused(r"chaplygin\.model", Model, other, error=LoadError)


@pytest.mark.parametrize("pure", [False, True], ids=["compiled", "pure-Python"])
def test_residuals_are_listed_apart_from_invariants(pure: bool) -> None:
    """The nodes of the equations distinguish them; both are quantities of the model and of its runs."""
    equations = cg.example("chaplygin_sleigh").system.equations("maggi")
    m = python_model(equations.program, quiet=True) if pure else cg.compile(equations)
    assert m.residuals == tuple(equations.residuals) == ("constraint_1",)
    assert m.invariants == tuple(equations.invariants) == ("energy",)
    y, p = [0.3, 0.0, 0.0, 1.0, 2.0], cg.example("chaplygin_sleigh").parameters
    values = m.evaluate(0.0, y, p)
    assert abs(values["constraint_1"]) < 1e-15
    sol = m.integrate((0, 1), y, p)
    assert {"constraint_1", "energy"} <= set(sol.names) == set(m.quantities)
    assert abs(sol["constraint_1"]).max() < 1e-14 < sol["energy"][0] == values["energy"]


def test_symbols_stand_for_their_names() -> None:
    """SymPy symbols with any assumptions as keys of every dict and of the solution."""
    m = model("oscillator")
    q, v, mass, k, force = sp.symbols("q v m k F", real=True)
    plain = m.integrate((0, 1), {"q": 1, "v": 0}, {"m": 1, "k": 4}, {"F": 0.5}, atol={"q": 1e-9, "v": 1e-8})
    given = ({q: 1, v: 0}, {mass: 1, k: 4}, {force: 0.5})
    sol = m.integrate((0, 1), *given, atol={q: 1e-9, v: 1e-8})
    assert np.array_equal(sol.y, plain.y)
    assert np.array_equal(sol[q], plain["q"])
    assert np.array_equal(m.rhs(0, given[0], given[1], given[2]), m.rhs(0, [1.0, 0.0], [1.0, 4.0], [0.5]))
    assert np.array_equal(m.evaluate(0, *given)["energy"], 2.0)
    run = m.stepper(*given)
    run.set_inputs({force: 1.5})
    assert run.inputs.values.tolist() == [1.5]
    rows = {q: np.ones(3), v: 0.0}
    ens = cg.ensemble(m, (0, 1), initial=rows, parameters=given[1], inputs=given[2], atol={q: 1e-9, v: 1e-8})
    assert np.array_equal(ens["q"], np.full(3, plain["q"][-1]))
    refused("initial: q is given twice", m.integrate, (0, 1), {q: 1, "q": 1, v: 0}, *given[1:])


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
