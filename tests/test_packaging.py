"""The installed package: names, versions, files; and, in a slow test, a wheel built from the source archive."""

from __future__ import annotations

import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
import venv
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import pytest
from integrations import need
from typed_script import WRONG, reported

import chaplygin
from chaplygin.codegen.toolchain.compiler import Compiler

ROOT = Path(__file__).resolve().parent.parent


def run(*command: object, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{command} returned {done.returncode}:\n{done.stdout}"
    return done.stdout


def test_one_version_everywhere() -> None:
    for file, pattern in (
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("CITATION.cff", r"^version: (.+)$"),
        ("CHANGELOG.md", r"^## \[(\d\S*)\]"),
    ):
        found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert found is not None, file
        assert found[1] == chaplygin.__version__, file


def test_the_recipe_for_conda_has_the_dependencies_of_the_package() -> None:
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    metadata = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    run_by = re.search(r"^  run: \[(.*)\]$", recipe, re.M)[1].split(", ")  # type: ignore[index]
    listed = re.search(r"^dependencies = \[\n(.*?)^\]", metadata, re.M | re.S)[1]  # type: ignore[index]
    needed = ["python" + re.search(r'^requires-python = "(.*)"', metadata, re.M)[1]]  # type: ignore[index]
    needed += re.findall(r'"(.+)"', listed)
    assert [each.replace(" ", "").lower() for each in run_by] == [each.lower() for each in needed]
    assert f'version: "{chaplygin.__version__}"' in recipe


def test_the_description_for_an_index_has_no_link_to_files(tmp_path: Path) -> None:
    """An index shows README.md alone."""
    text = run(sys.executable, "setup.py", "-q", "--long-description", cwd=ROOT)
    assert "# chaplygin" in text
    assert "`docs/declare.md`" in text
    assert re.findall(r"\]\((?!https?:)[^)]*\)", text) == []


def test_importing_the_package_imports_neither_sympy_nor_numpy(tmp_path: Path) -> None:
    script = (
        "import sys, chaplygin; dir(chaplygin); "
        "print(sorted({'sympy', 'numpy', 'chaplygin.codegen'} & set(sys.modules)))"
    )
    assert run(sys.executable, "-c", script, cwd=tmp_path).strip() == "[]"


def test_the_runtime_imports_without_sympy(tmp_path: Path) -> None:
    script = "import sys, chaplygin.runtime, chaplygin.generated; assert 'sympy' not in sys.modules"
    run(sys.executable, "-c", script, cwd=tmp_path)


@pytest.mark.parametrize("name", chaplygin.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(chaplygin, name) is not None
    assert name in dir(chaplygin)


def test_every_public_name_can_be_the_first_that_is_used(tmp_path: Path) -> None:
    """In a new process each: here others have loaded the modules."""
    script = (
        "import os, sys, chaplygin\n"
        "for name in chaplygin.__all__:\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        code = 1\n"
        "        try:\n"
        "            code = getattr(chaplygin, name) is None\n"
        "        finally:\n"
        "            os._exit(code)\n"
        "    if os.waitpid(child, 0)[1]: print(name)\n"
    )
    preloaded = "import numpy, sympy\n"  # they are not what is tested, and take most of the time
    assert run(sys.executable, "-c", preloaded + script, cwd=tmp_path).strip() == ""


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = chaplygin.no_such_name  # type: ignore[attr-defined]


def test_templates_and_headers_are_package_data() -> None:
    assert files("chaplygin.templates").joinpath("model.pyx.in").is_file()
    assert files("chaplygin.runtime").joinpath("c", "chaplygin.h").is_file()
    assert files("chaplygin.runtime").joinpath("hosts", "cg_jax.c").is_file()
    assert files("chaplygin").joinpath("py.typed").is_file()


def test_every_committed_module_is_complete_and_compiled() -> None:
    modules = sorted((ROOT / "generated").glob("*.pyx"))
    for module in modules:
        for suffix in (".pxd", ".pyi", "_core.c", "_core.h"):
            assert module.with_name(module.stem + suffix).exists(), f"{module.stem}{suffix}"
        made = import_module(f"chaplygin.generated.{module.stem}")
        assert made.capsule is not None
        assert made.address > 0
        assert made.__pyx_capi__.keys() == {"table"}


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="written for x86")
def test_shipped_and_cached_models_have_the_same_arithmetic() -> None:
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    flags: dict[str, list[str]] = {}
    exec(text[text.index("STRICT = (") : text.index("if not X86_64 and")], flags)
    cached = Compiler(("cc",), "any", "gcc").core_flags(tuned=False, reproducible=True)
    # What undoes the user's CFLAGS is the compiler's default; the cache refuses a compiler that is called otherwise.
    shipped = set(flags["PORTABLE"]) - set(flags["STRICT"])
    assert shipped - {"-g0"} == set(cached) - {"-fPIC", "-fvisibility=hidden"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, made from a copy so that the checkout is not changed."""
    pytest.importorskip("build")
    if not (ROOT / ".git").exists():
        pytest.skip("needs a checkout, with its list of files")
    tree = tmp_path_factory.mktemp("tree")
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in listed.splitlines():
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", "dist", ".", cwd=tree)
    (made,) = (tree / "dist").glob("*.tar.gz")
    return made


def installed(archive: Path, place: Path, **environment: str) -> Path:
    """The Python of an environment with a wheel built from the archive; dependencies come from this environment."""
    venv.create(place / "venv", with_pip=False)
    python = place / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wheels = place / "wheels"
    pip = (sys.executable, "-m", "pip")
    options = ("-q", "--no-deps", "--no-build-isolation")
    run(*pip, "wheel", *options, "-w", wheels, archive, cwd=place, **environment)
    (wheel,) = wheels.glob("*.whl")
    run(*pip, "--python", python, "install", "-q", "--no-deps", "--no-index", wheel, cwd=place)
    (site,) = (place / "venv").glob("lib/python*/site-packages")
    others = [path for path in sys.path if path.endswith("site-packages")]
    # As plain path entries, so that .pth files in them, such as that of the editable install, are ignored.
    (site / "dependencies.pth").write_text("\n".join(others) + "\n")
    return python


@pytest.fixture(scope="module")
def python(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(archive, tmp_path_factory.mktemp("installed"), CHAPLYGIN_LANES="1")


@pytest.mark.slow
def test_the_wheel_works_outside_the_checkout(python: Path, tmp_path: Path) -> None:
    names = sorted(path.stem for path in (ROOT / "generated").glob("*.pyx"))
    script = "\n".join(
        [
            "import chaplygin, chaplygin.runtime, chaplygin.runtime.core._core",
            "import chaplygin.codegen.toolchain.library, chaplygin.codegen.forms, chaplygin.systems",
            "from importlib.resources import files",
            f"assert not chaplygin.__file__.startswith({str(ROOT)!r}), chaplygin.__file__",
            f"assert not chaplygin.runtime.core._core.__file__.startswith({str(ROOT)!r})",
            "assert files('chaplygin.templates').joinpath('model.pyx.in').is_file()",
            *(f"import chaplygin.generated.{name} as m; assert m.model.lane_sets" for name in names),
            "print(len(chaplygin.examples()))",
        ]
    )
    assert int(run(python, "-c", script, cwd=tmp_path)) > 0
    assert "list" in run(python.with_name("chaplygin"), "--help", cwd=tmp_path)


@pytest.mark.slow
def test_other_cython_code_finds_the_pxd_of_an_installed_module(python: Path, tmp_path: Path) -> None:
    lines = [
        f"from chaplygin.generated.{path.stem} cimport rhs as rhs_{i}, table as table_{i}"
        for i, path in enumerate(sorted((ROOT / "generated").glob("*.pyx")))
    ]
    (tmp_path / "user.pyx").write_text("\n".join(lines) + "\n")
    script = "from chaplygin.generated import include_path; print(*include_path(), sep='\\n')"
    folders = run(python, "-c", script, cwd=tmp_path).split()
    run(python, "-m", "cython", "-3", *(f"-I{folder}" for folder in folders), "user.pyx", cwd=tmp_path)
    assert (tmp_path / "user.c").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "checker", ["mypy", pytest.param("pyright", marks=pytest.mark.integration("pyright"))]
)
def test_the_installed_wheel_has_its_types(checker: str, python: Path, tmp_path: Path) -> None:
    assert reported(checker, python, tmp_path) == WRONG


@pytest.mark.slow
def test_a_model_compiles_with_the_installed_wheel(python: Path, tmp_path: Path) -> None:
    script = (
        "import chaplygin as cg; s = cg.example('harmonic_oscillator');"
        "m = s.system.compile('lagrange', wait=True);"
        "print(m.integrate((0, 1), initial=s.initial, parameters=s.parameters).success)"
    )
    assert run(python, "-c", script, cwd=tmp_path, CHAPLYGIN_CACHE=str(tmp_path / "models")).strip() == "True"


@pytest.mark.slow
def test_a_program_in_c_compiles_with_the_installed_wheel(python: Path, tmp_path: Path) -> None:
    main = (
        '#include "cg_driver.h"\n#include "heavy_top_core.h"\n'
        'int main(void) { return cg_run_size(&heavy_top_model, "dop853") == 0; }\n'
    )
    (tmp_path / "main.c").write_text(main)
    run(python, "-m", "chaplygin", "emit", "heavy_top", "--targets", "c", "-o", ".", cwd=tmp_path)
    script = "import chaplygin as cg; print(cg.get_include(), *cg.get_library_sources(), sep='\\n')"
    include, *sources = run(python, "-c", script, cwd=tmp_path).split()
    assert not include.startswith(str(ROOT))
    run("cc", "main.c", "heavy_top_core.c", *sources, f"-I{include}", "-lm", "-o", "main", cwd=tmp_path)
    run("./main", cwd=tmp_path)


@pytest.mark.slow
def test_without_a_compiler_the_package_still_installs(archive: Path, tmp_path: Path) -> None:
    python = installed(archive, tmp_path, CC="false")
    script = "import chaplygin, chaplygin.codegen.toolchain.cache; print(chaplygin.__version__)"
    assert run(python, "-c", script, cwd=tmp_path).strip() == chaplygin.__version__
    assert "sleigh" in run(python, "-c", "import chaplygin as cg; print(cg.examples())", cwd=tmp_path)
    compiled = "from importlib.util import find_spec; print(find_spec('chaplygin.runtime.core._core'))"
    assert run(python, "-c", compiled, cwd=tmp_path).strip() == "None"


def test_a_model_that_was_not_compiled_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an installation without a compiler: only the sources are there."""
    from chaplygin import generated

    shutil.copy(ROOT / "generated" / "heavy_top.pyx", tmp_path)
    monkeypatch.setattr(generated, "__path__", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "chaplygin.generated.heavy_top", raising=False)
    text = r"chaplygin.generated.heavy_top was not compiled .*no C compiler; install one .*apt install gcc"
    with pytest.raises(chaplygin.CoreMissingError, match=text):
        import_module("chaplygin.generated.heavy_top")
    with pytest.raises(ModuleNotFoundError):
        import_module("chaplygin.generated.nothing")


LOOSE = [
    "-ffast-math",
    "-Ofast",
    "-funsafe-math-optimizations -ffinite-math-only",
    "-fassociative-math -fno-signed-zeros -freciprocal-math -fno-trapping-math",
]

ARITHMETIC = """
double sum(double a, double b) { return (a + b) - a; }
double third(double a) { return a / 3.0 / 3.0; }
double zero(double a) { return a + 0.0; }
int nan(double a) { return a != a; }
double product(double a, double b) { return a * b; }
"""


@pytest.mark.skipif(os.name != "posix", reason="flags of gcc and clang")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", LOOSE)
@pytest.mark.sample(3)
def test_flags_of_the_environment_change_no_value(
    compiler: str, flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CFLAGS come before the flags of setup.py, when compiling and when linking, where they could flush subnormals."""
    need(compiler)
    import setuptools

    monkeypatch.setattr(setuptools, "setup", lambda **_: None)
    found = runpy.run_path(str(ROOT / "setup.py"))
    (extension, *_) = found["extensions"]()
    (tmp_path / "arithmetic.c").write_text(ARITHMETIC)
    for kind in ("PORTABLE", "BINDING"):
        call = [compiler, *flags.split(), "-fPIC", "-c", "arithmetic.c", *found[kind]]
        subprocess.run(call, cwd=tmp_path, check=True)
        link = [compiler, "-shared", *flags.split(), "arithmetic.o", "-o", f"{kind}.so"]
        subprocess.run([*link, *extension.extra_link_args], cwd=tmp_path, check=True)
        script = f"""
import ctypes, math
library = ctypes.CDLL("./{kind}.so")
def call(name, *values):
    function = library[name]
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * len(values)
    return function(*values)
assert call("sum", 1e20, 1.0) == 0.0
assert math.copysign(1, call("zero", -0.0)) == 1
assert call("third", 7.1) == 7.1 / 3 / 3
library.nan.argtypes = [ctypes.c_double]
assert library.nan(math.nan) == 1
assert call("product", 1e-300, 1e-10) > 0
"""
        subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)


def test_a_clone_beside_a_script_does_not_hide_the_package(tmp_path: Path) -> None:
    """A folder called chaplygin without __init__.py, as a clone is, next to a script that imports the package."""
    (tmp_path / "chaplygin").symlink_to(Path(__file__).resolve().parents[1], target_is_directory=True)
    script = tmp_path / "script.py"
    script.write_text(
        "import chaplygin as cg, chaplygin.systems\n"
        "from chaplygin.generated.harmonic_oscillator import model\n"
        "print(cg.coordinates('q'), cg.__version__, model.name)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["q", "0.1.0", "harmonic_oscillator"], done.stderr
