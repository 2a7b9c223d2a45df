"""From source texts to a loaded module: results, flags, failures."""

from __future__ import annotations

import math
import platform
import re
import shlex
import shutil
import subprocess
import sysconfig
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from hand_written import Shape, call_rhs, extension_module, imported, loaded, pointer, sources
from integrations import without_a_compiler
from processes import python
from refusals import refused

import chaplygin
from chaplygin.codegen.emit.cython_module import module_files
from chaplygin.codegen.emit.render import render
from chaplygin.codegen.lower.kernels import KERNELS
from chaplygin.codegen.lower.sources import Sources
from chaplygin.codegen.toolchain import cache, compiler as compilers
from chaplygin.codegen.toolchain.compiler import cpu_features, find_compiler
from chaplygin.codegen.toolchain.library import build
from chaplygin.errors import BuildError, NoCompilerError
from chaplygin.runtime.interface.description import Variable
from chaplygin.runtime.model.inlining import DEFAULTS


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(folder))
    return folder


def made(texts: Sources, **options: bool) -> Path:
    key = cache.model_key(str(sorted(texts.files.items())), inline=False, **options)
    return build(texts, key=key, inline=False, **options)


def test_the_module_holds_the_model(tmp_path: Path) -> None:
    module = imported(extension_module(sources(), tmp_path))
    assert call_rhs(module, (0.5, 3.0), (2.0, 4.0)) == (3.0, -1.0)
    assert pointer(module.capsule, "chaplygin.model") == module.address
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


def test_two_models_of_one_name_in_one_process() -> None:
    first = loaded(made(sources()))
    second = loaded(made(sources(body="out[0] = -x[1]; out[1] = 7;")))
    assert call_rhs(first, (0.5, 3.0), (2.0, 4.0)) == (3.0, -1.0)
    assert call_rhs(second, (0.5, 3.0), (2.0, 4.0)) == (-3.0, 7.0)


def test_several_core_files() -> None:
    texts = sources(
        body="extern double oscillator_twice(double); out[0] = oscillator_twice(x[0]); out[1] = 0;"
    )
    more = {"oscillator_core_more.c": "double oscillator_twice(double a) { return 2 * a; }\n"}
    module = loaded(made(Sources(name=texts.name, digest=texts.digest, files={**texts.files, **more})))
    assert call_rhs(module, (0.5, 3.0), (2.0, 4.0)) == (1.0, 0.0)


def test_methods_of_a_model_are_asked_for_by_a_macro() -> None:
    body = "out[0] = 0;\n#ifdef CHAPLYGIN_INLINE_METHODS\nout[0] = 1;\n#endif\nout[1] = 0;"
    texts = sources(body=body)
    with_methods = Sources(texts.name, texts.digest, {**texts.files, "oscillator_methods.h": ""})
    assert call_rhs(loaded(made(with_methods)), (0.0, 0.0), (1.0, 1.0))[0] == 1.0
    assert call_rhs(loaded(made(texts)), (0.0, 0.0), (1.0, 1.0))[0] == 0.0


# a * b + c: separate rounding of the product loses digits that a fused operation keeps
A, B, C = 1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0
PRODUCT_AND_SUM = "out[0] = x[0] * x[1] + p[0]; out[1] = 0;"


def has_fma() -> bool:
    return platform.machine() in ("arm64", "aarch64") or " fma " in cpu_features()


def test_reproducible_code_rounds_each_operation() -> None:
    module = loaded(made(sources(body=PRODUCT_AND_SUM), reproducible=True, tuned=True))
    assert call_rhs(module, (A, B), (C, 0.0))[0] == A * B + C == 0.0


def test_reproducible_straight_line_code_is_not_fused_by_the_vectoriser() -> None:
    body = "out[0] = x[0] * p[0] - x[1] * p[1]; out[1] = x[0] * p[1] + x[1] * p[0];"
    module = loaded(made(sources(body=body), reproducible=True, tuned=True))
    random = Random(1)
    for _ in range(200):
        a, b, c, d = (random.uniform(-1, 1) for _ in range(4))
        assert call_rhs(module, (a, b), (c, d)) == (a * c - b * d, a * d + b * c)


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
@pytest.mark.skipif(not has_fma(), reason="this CPU has no fused multiply-add")
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("chaplygin_sleigh", {}),
        ("heavy_top", {}),
        ("n_link_pendulum", {"n": 5}),
        pytest.param("n_link_pendulum", {"n": 20}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.sample(1)
def test_multiply_adds_of_a_model_are_instructions(name: str, size: dict[str, int], own_cache: Path) -> None:
    model = chaplygin.example(name, **size).system.compile(reproducible=True, wait=True)
    libraries = list(own_cache.glob("*/*.so"))
    methods = () if size == {"n": 20} else DEFAULTS
    late = [kernel for kernel in ("jvp", "jacobian", "outputs", "invariants") if kernel in model.kernels]
    assert {path.stem for path in libraries} == {
        model.name,
        *(f"{model.name}_{part}" for part in (*methods, *late)),
    }
    for path in libraries:
        core = (
            next(path.parent.glob("*.c"))
            if path.stem.endswith(tuple(late))
            else next(path.parent.glob("*_core.c"))
        )
        assert path.stem.endswith(("outputs", "invariants")) or "cg_fma(" in core.read_text(encoding="utf-8")
        names = subprocess.run(
            ["nm", "-D", "-u", str(path)], capture_output=True, text=True, check=True
        ).stdout
        assert re.search(r"\bfma\b", names) is None  # of the C library


@pytest.mark.skipif(not has_fma(), reason="this CPU has no fused multiply-add")
def test_contraction_is_allowed_when_bits_need_not_agree() -> None:
    module = loaded(made(sources(body=PRODUCT_AND_SUM), reproducible=False, tuned=True))
    exact = Fraction(A) * Fraction(B) + Fraction(C)
    assert call_rhs(module, (A, B), (C, 0.0))[0] == float(exact) != 0.0


@pytest.mark.parametrize("reproducible", [True, False])
def test_nan_and_infinity_keep_their_meaning(reproducible: bool) -> None:
    body = "out[0] = !(fabs(x[0]) > 1e-14) + 2 * (x[0] != x[0]) + 4 * !isfinite(x[1]); out[1] = sqrt(-x[1]);"
    module = loaded(made(sources(body=body), reproducible=reproducible))
    assert call_rhs(module, (math.nan, math.inf), (1.0, 1.0))[0] == 7.0
    assert call_rhs(module, (1.0, 1.0), (1.0, 1.0))[0] == 0.0
    assert math.isnan(call_rhs(module, (1.0, 1.0), (1.0, 1.0))[1])


def test_no_path_of_this_machine_is_in_the_module(own_cache: Path) -> None:
    content = made(sources()).read_bytes()
    assert own_cache.parent.name.encode() not in content  # in a relative path either
    assert str(Path.cwd()).encode() not in content


@pytest.mark.parametrize(
    ("texts", "tool", "word"),
    [
        (sources(body="out[0] = nowhere;"), "oscillator_core.c", "nowhere"),
        (sources(body="out[0] = nowhere(1.0)(2.0);"), "oscillator_core.c", "nowhere"),
    ],
)
def test_a_failing_compile_is_one_line_and_a_log(
    texts: Sources, tool: str, word: str, own_cache: Path
) -> None:
    with pytest.raises(BuildError) as caught:
        made(texts)
    message = str(caught.value)
    assert "\n" not in message
    assert tool in message
    assert word in message
    assert caught.value.log is not None
    assert str(caught.value.log) in message
    log = caught.value.log.read_text()
    assert word in log
    assert find_compiler().version in log
    assert not list(own_cache.glob(".making-*")), "the folder of the failed build is still there"


def test_a_failed_build_can_be_mended() -> None:
    key = "b" * 40
    with pytest.raises(BuildError):
        build(sources(body="broken"), key=key)
    assert cache.lookup(key) is None
    assert call_rhs(loaded(build(sources(), key=key, inline=False)), (0.5, 3.0), (2.0, 4.0)) == (3.0, -1.0)


@pytest.mark.parametrize("file", ["../oscillator.c", "/tmp/oscillator.c", "oscillator/../../up.c", "other.c"])
def test_a_file_name_is_no_path(file: str) -> None:
    texts = sources()
    with pytest.raises(ValueError, match="not a plain file name"):
        build(Sources(name=texts.name, digest="00", files={**texts.files, file: ""}), key="f" * 40)


def test_no_compiler_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    without_a_compiler(monkeypatch)
    with pytest.raises(
        NoCompilerError, match=r"no C compiler found.*apt install gcc.*pip install 'chaplygin\[zig\]'"
    ) as caught:
        build(sources(), key="c" * 40)
    assert "\n" not in str(caught.value)


def test_a_wrong_cc_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    refused("no-such-compiler -m64", find_compiler, error=NoCompilerError)


def test_a_cc_that_is_no_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    refused("`false --version` returned 1", find_compiler, error=NoCompilerError)


@pytest.mark.parametrize("chosen", ["gcc '-O2", 'gcc "', "./no-such", "''", "'"])
def test_a_cc_that_is_no_command_is_named(monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    monkeypatch.setenv("CC", chosen)
    with pytest.raises(
        NoCompilerError, match=f"CC is {re.escape(repr(chosen))}, .*correct or unset CC"
    ) as caught:
        find_compiler()
    assert "\n" not in str(caught.value)


def test_cc_may_be_a_relative_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Compilers run in the build folder."""
    mine = tmp_path / "tools" / "mycc"
    mine.parent.mkdir()
    mine.write_text(f'#!/bin/sh\nexec {shlex.join(find_compiler().command)} "$@"\n')
    mine.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CC", "tools/mycc -DNOTHING=tools/mycc")
    assert find_compiler().command == (str(mine), "-DNOTHING=tools/mycc")
    assert call_rhs(loaded(made(sources())), (0.5, 3.0), (2.0, 4.0)) == (3.0, -1.0)


@pytest.mark.parametrize(
    "flag",
    "-ffast-math -Ofast -funsafe-math-optimizations -ffinite-math-only -fassociative-math -freciprocal-math "
    "-fno-signed-zeros -ffp-contract=fast -ffp-model=fast -mfpmath=387".split(),
)
def test_a_cc_that_gives_up_reproducible_numbers_is_refused(
    monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    monkeypatch.setenv("CC", f"{shlex.join(find_compiler().command)} {flag} -g0")
    words = f"with {re.escape(flag)} results are not reproducible; .*reproducible=False"
    refused(words, cache.model_key, "00", reproducible=True, error=BuildError)
    assert len(cache.model_key("00", reproducible=False)) == 40


def test_flags_that_change_no_value_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    command = shlex.join(find_compiler().command)
    monkeypatch.setenv(
        "CC", f"{command} -O1 -g0 -ffp-contract=off -mfpmath=sse -fno-fast-math -fexcess-precision=standard"
    )
    assert len(cache.model_key("00", reproducible=True)) == 40


def test_cc_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = tmp_path / "mycc"
    mine.write_text("#!/bin/sh\necho 'mycc clang version 99'\n")
    mine.chmod(0o755)
    monkeypatch.setenv("CC", f"{mine} -m64")
    compiler = find_compiler()
    assert compiler.command == (str(mine), "-m64")
    assert compiler.version == "mycc clang version 99"
    assert compiler.family == "clang"


@pytest.mark.integration("ziglang")
def test_ziglang_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(compilers, "SYSTEM_COMPILERS", ())
    assert find_compiler().family == "zig"
    assert call_rhs(loaded(made(sources())), (0.5, 3.0), (2.0, 4.0)) == (3.0, -1.0)


COMMAND = "chaplygin emit oscillator --form lagrange"

ALIKE = ("jacobian", "outputs", "invariants", "guards", "contacts", "project", "initial")
"""The kernels with the arguments of `rhs`."""


def with_every_kernel(texts: Sources) -> Sources:
    """The hand-written model with all kernels: rhs, `jvp` and `reset`."""
    core = texts.files["oscillator_core.c"]
    more = (
        "static int product(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,\n"
        "    const double *CG_RESTRICT u, const double *CG_RESTRICT v, double *CG_RESTRICT out,\n"
        "    double *CG_RESTRICT work)\n"
        "{ (void)x; return oscillator_rhs(t, v, p, u, out, work); }\n"
        "static int jump(int32_t event, double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p,\n"
        "    const double *CG_RESTRICT u, double *CG_RESTRICT out, double *CG_RESTRICT work)\n"
        "{ const int status = oscillator_rhs(t, x, p, u, out, work); out[0] *= event; return status; }\n"
        "const cg_model_t oscillator_model = {\n"
    )
    fields = [f".{name if name in ('jacobian', 'project', 'initial') else name + '_fn'}" for name in ALIKE]
    filled = ".rhs = oscillator_rhs, .jvp = product, .reset = jump, " + "".join(
        f"{field} = oscillator_rhs, " for field in fields
    )
    core = core.replace("const cg_model_t oscillator_model = {\n", more)
    core = core.replace(".rhs = oscillator_rhs,", filled)
    return Sources(name=texts.name, digest=texts.digest, files={**texts.files, "oscillator_core.c": core})


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.sample(1)
def test_other_cython_code_can_cimport_the_kernels(tmp_path: Path, full: bool) -> None:
    path = extension_module(with_every_kernel(sources()) if full else sources(), tmp_path)
    calls = [f"{name}(0.0, x, p, NULL, out, NULL), out[0], out[1]" for name in ALIKE]
    calls.append("jvp(0.0, p, p, NULL, x, out, NULL), out[0], out[1]")
    calls.append("reset(3, 0.0, x, p, NULL, out, NULL), out[0], out[1]")
    user = (
        "from oscillator cimport rhs, table, cg_kernel\n"
        f"from oscillator cimport jvp, reset, {', '.join(ALIKE)}\n"
        "def force(double q, double k):\n"
        "    cdef double[2] x = [q, 0.0], p = [1.0, k], out = [0.0, 0.0]\n"
        "    cdef int status = rhs(0.0, x, p, NULL, out, NULL)\n"
        "    assert cg_kernel(table(), b'rhs').length == table().n_states == 2\n"
        "    assert cg_kernel(table(), b'outputs') == NULL\n"
        "    return status, out[1], <size_t>table()\n"
        "def others():\n"
        "    cdef double[2] x = [1.0, 5.0], p = [1.0, 2.0], out = [0.0, 0.0]\n"
        "    found = []\n" + "".join(f"    found.append(({call}))\n" for call in calls) + "    return found\n"
    )
    wanted = [(0, 5.0, -2.0)] * 8 + [(0, 15.0, -2.0)] if full else [(-8, 0.0, 0.0)] * 9
    script = (
        "import oscillator, user; assert user.force(0.5, 8.0) == (0, -4.0, oscillator.address);"
        f"assert user.others() == {wanted}, user.others()"
    )
    (tmp_path / "user.pyx").write_text(user)
    from Cython.Compiler.Main import CompilationOptions, compile_single, default_options

    options = CompilationOptions(default_options, include_path=[str(tmp_path)], language_level=3)
    assert compile_single(str(tmp_path / "user.pyx"), options, full_module_name="user").num_errors == 0
    compiler = find_compiler()
    headers = [
        f"-I{sysconfig.get_path('include')}",
        f"-I{Path(compilers.__file__).parents[2] / 'runtime' / 'c'}",
    ]
    target = "user" + path.name.partition(".")[1] + path.name.partition(".")[2]
    command = [
        *compiler.command,
        "-O1",
        "-w",
        "-fPIC",
        *headers,
        *compiler.link_flags(),
        "user.c",
        "-o",
        target,
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    python(script, cwd=tmp_path)


def test_the_table_of_kernels_is_that_of_the_header() -> None:
    """The slots of `cg_model_t` are those of the table, in its order."""
    runtime = Path(compilers.__file__).parents[2] / "runtime"
    header = (runtime / "c" / "chaplygin.h").read_text(encoding="utf-8")
    table = header[header.index("typedef struct cg_model {") : header.index("} cg_model_t;")]
    slots = re.findall(r"^    cg_(kernel|jvp|reset)_t (\w+);", table, re.M)
    rows = [row for row in KERNELS if row.slot]
    kinds = {"state": "kernel", "declared": "kernel", "direction": "jvp", "event": "reset"}
    assert slots == [(kinds[row.takes], row.slot) for row in rows]


def test_a_template_takes_all_its_values_and_no_others() -> None:
    with pytest.raises(ValueError, match=r"model\.pxd\.in: no value for name"):
        render("model.pxd.in", {"provenance": "#"})
    with pytest.raises(ValueError, match=r"model\.pxd\.in: no variable for more"):
        render("model.pxd.in", {"provenance": "#", "name": "", "more": ""})


def test_odd_names_stay_inside_the_docstring(tmp_path: Path) -> None:
    odd = ('"""; import os', "\\", "a\nb", "side slip")
    shape = Shape("oscillator", outputs=tuple(Variable(name, "output") for name in odd))
    texts = sources(pyx=module_files(shape, COMMAND)["oscillator.pyx"])  # type: ignore[arg-type]
    module = imported(extension_module(texts, tmp_path))
    assert module.__doc__ is not None
    assert '"side slip"' in module.__doc__
    assert not hasattr(module, "os")
    compile(
        module_files(shape, COMMAND)["oscillator.pyi"],
        "oscillator.pyi",
        "exec",
    )  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a;b", "../up", "é", ""])
def test_a_model_name_is_an_identifier(name: str) -> None:
    refused("not a plain identifier", module_files, Shape(name), COMMAND, error=ValueError)


def test_emitted_shells_carry_their_origin_and_no_path() -> None:
    texts = module_files(Shape("oscillator", digest="12ab"), COMMAND)  # type: ignore[arg-type]
    assert len(texts) == 6
    for file, text in texts.items():
        own = file.startswith("oscillator")
        source = "chaplygin.h" if file == "cg_model.pxi" else f"{file.replace('oscillator', 'model')}.in"
        first = text.splitlines()[:3]
        assert f" {source}." in first[0]
        assert "Do not edit" in first[0]
        assert not own or ("12ab" in first[1] and COMMAND in first[2])
        assert "/home" not in text
        assert "$" not in text
