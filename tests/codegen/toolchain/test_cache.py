"""The cache of compiled models: keys, locks, refusals, damage."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from c_runtime import run
from filelock import FileLock
from hand_written import call_rhs, loaded, sources
from processes import CountingCompiler, python
from refusals import refused

import chaplygin as cg
from chaplygin.codegen.toolchain import cache
from chaplygin.codegen.toolchain.compiler import Compiler, find_compiler
from chaplygin.codegen.toolchain.library import build, build_method
from chaplygin.errors import CacheError

KEY = "d" * 40
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX owners and modes")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "models"
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(place))
    return place


def answer(path: Path) -> tuple[float, ...]:
    return call_rhs(loaded(path), (0.5, 3.0), (2.0, 4.0))


def stored() -> Path:
    return build(sources(), key=KEY, inline=False)


def compiled(compiler: CountingCompiler) -> int:
    """How many sources of models it has compiled."""
    return sum("_core.c" in call for call in compiler.calls())


@posix
@pytest.mark.parametrize("n", [4, pytest.param(16, marks=pytest.mark.slow)])
def test_processes_that_need_one_model_compile_it_once(tmp_path: Path, n: int) -> None:
    compiler = CountingCompiler(tmp_path)
    script = textwrap.dedent(
        """
        from hand_written import call_rhs, loaded, sources
        from chaplygin.codegen.toolchain import cache
        from chaplygin.codegen.toolchain.library import build
        key = cache.model_key("one declaration", inline=False)
        module = loaded(build(sources(), key=key, inline=False))
        print(call_rhs(module, (0.5, 3.0), (2.0, 4.0)))
        """
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=Path(__file__).parents[2] / "support",
            env={**os.environ, "CC": compiler.env["CC"]},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(n)
    ]
    ended = [process.communicate(timeout=240) for process in running]
    assert [out.strip() for out, _ in ended] == ["(3.0, -1.0)"] * n, ended
    assert compiled(compiler) == 1


@posix
def test_eight_threads_one_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = CountingCompiler(tmp_path)
    monkeypatch.setenv("CC", compiler.env["CC"])
    with ThreadPoolExecutor(8) as pool:
        paths = set(pool.map(lambda _: stored(), range(8)))
    assert compiled(compiler) == 1
    assert [answer(path) for path in paths] == [(3.0, -1.0)]


@posix
def test_threads_build_different_models_at_once() -> None:
    def one(i: int) -> Path:
        texts = sources(f"model{i}", body=f"out[0] = {i}; out[1] = 0;")
        return build(texts, key=f"{i:040d}", inline=False)

    with ThreadPoolExecutor(4) as pool:
        for i, path in enumerate(pool.map(one, range(4))):
            assert answer(path)[0] == i


def test_a_folder_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    def refuse(self: FileLock) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(FileLock, "acquire", refuse)
    with pytest.raises(CacheError, match=r"cannot be written \(Read-only file system\)") as caught:
        stored()
    assert str(folder) in str(caught.value)


def test_a_hit_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    key = cache.model_key("declared", inline=False)
    path = build(sources(), key=key, inline=False)

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(subprocess, "run", refuse)
    assert cache.model_key("declared", inline=False) == key
    assert cache.lookup(key) == path
    assert build(sources(), key=key, inline=False) == path


def test_a_miss_is_none() -> None:
    assert cache.lookup(KEY) is None


@posix
def test_the_folder_is_private(folder: Path) -> None:
    before = os.umask(0)
    try:
        module = stored()
    finally:
        os.umask(before)
    for place in (folder, module.parent, folder / "locks"):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_writable_by_others_is_refused(folder: Path, mode: int) -> None:
    stored()
    folder.chmod(mode)
    for use in (lambda: cache.lookup(KEY), stored, lambda: cache.model_key("x")):
        with pytest.raises(CacheError, match="others can write") as caught:
            use()
        assert str(folder) in str(caught.value)
        assert "chmod 700" in str(caught.value)
    folder.chmod(0o755)
    assert cache.lookup(KEY) is not None


@posix
def test_a_folder_of_somebody_else_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored()
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    refused("belongs to user", cache.lookup, KEY, error=CacheError)


@posix
def test_a_link_to_a_folder_writable_by_others_is_refused(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "open"
    target.mkdir()
    target.chmod(0o777)
    folder.symlink_to(target)
    refused("others can write", cache.lookup, KEY, error=CacheError)


def test_a_file_in_the_folders_place_is_refused(folder: Path) -> None:
    folder.write_text("")
    refused("not a folder", cache.lookup, KEY, error=CacheError)


def test_a_folder_that_cannot_be_made_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write_text("")
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(folder / "below"))
    refused(r"below: cannot be created.*CHAPLYGIN_CACHE", cache.lookup, KEY, error=CacheError)


@posix
@pytest.mark.parametrize("mode", [0o777, 0o757, 0o775])
def test_a_parent_writable_by_others_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(folder / "below" / "models"))
    stored()
    folder.chmod(mode)
    monkeypatch.setattr("grp.getgrgid", lambda gid: SimpleNamespace(gr_name="staff", gr_mem=[]))
    with pytest.raises(CacheError, match=r"others can write to .*models, which contains it.*chmod go-w"):
        cache.lookup(KEY)
    folder.chmod(0o1777)  # sticky, like /tmp
    assert cache.lookup(KEY) is not None


@posix
def test_a_parent_writable_by_the_users_own_group_is_accepted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pwd

    me = pwd.getpwuid(os.geteuid())
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(folder / "models"))
    stored()
    os.chown(folder, -1, me.pw_gid)
    folder.chmod(0o775)
    members: list[str] = []
    monkeypatch.setattr("grp.getgrgid", lambda gid: SimpleNamespace(gr_name=me.pw_name, gr_mem=members))
    assert cache.lookup(KEY) is not None
    members.append("somebody")
    refused("others can write to", cache.lookup, KEY, error=CacheError)


@posix
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_parent_of_somebody_else_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(folder / "models"))
    stored()
    os.chown(folder, 4321, -1)
    for mode in (0o755, 0o1777):  # the owner of a sticky folder may rename its entries
        folder.chmod(mode)
        refused(r"which contains it, belongs to user 4321", cache.lookup, KEY, error=CacheError)


@posix
def test_parents_are_made_private(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(folder / "a" / "b"))
    before = os.umask(0)
    try:
        cache.lookup(KEY)
    finally:
        os.umask(before)
    for place in (folder, folder / "a", folder / "a" / "b"):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("models", "'models', a relative path.*give an absolute path"),
        (" ", "a relative path"),
        ("~nobody-of-this-name/models", "there is no such user"),
        ("/tmp/a\0b", r"'/tmp/a\\x00b': is not a path"),
        ("/dev/null/models", "cannot be created"),
        ("/" + "long" * 100, "cannot be created .File name too long"),
    ],
)
@posix
def test_an_odd_place_is_refused_in_words(monkeypatch: pytest.MonkeyPatch, value: str, says: str) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, "CHAPLYGIN_CACHE": value})  # os.environ refuses NULs
    for use in (lambda: cache.lookup(KEY), stored, lambda: cache.model_key("x")):
        with pytest.raises(CacheError, match=says) as caught:
            use()
        assert "\n" not in str(caught.value)


def test_an_empty_place_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CHAPLYGIN_CACHE", "")
    monkeypatch.setattr(cache, "_user_folder", lambda: tmp_path / "own")
    assert cache.cache_folder() == (tmp_path / "own").resolve()


def test_a_name_too_long_for_a_file_is_named(folder: Path) -> None:
    with pytest.raises(CacheError, match=r"a file name is too long\); give the system a shorter name"):
        build(sources("a" * 300), key=KEY, inline=False)
    assert not list(folder.glob(".making-*"))


FULL = """
import resource, signal, sys
sys.path.insert(0, sys.argv[1])
from hand_written import sources
from chaplygin.codegen.toolchain import cache
from chaplygin.codegen.toolchain.library import build
build(sources("first"), key="a" * 40, inline=False)  # what else is written is there already
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    build(sources(), key="b" * 40, inline=False)
except cache.CacheError as error:
    print(error)
"""


@posix
def test_a_file_that_cannot_grow_is_an_error_in_words(folder: Path) -> None:
    """A limit of 100 bytes per file simulates a full disk."""
    told = python(FULL, Path(__file__).parents[2] / "support")
    assert told.startswith(f"cache folder {folder.resolve()}: cannot be written (File too large)")


@pytest.mark.parametrize("call", ["mkdtemp", "replace", "write_bytes", "write_text"])
def test_a_full_disk_is_an_error_in_words(call: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.model_key("x")  # queries the compiler's version

    def full(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    owner = {"mkdtemp": cache.tempfile, "replace": os}.get(call, Path)
    monkeypatch.setattr(owner, call, full)
    with pytest.raises(
        CacheError, match=r"cannot be written \(the disk is full\); free some space"
    ) as caught:
        stored()
    assert str(folder) in str(caught.value)


def flip_a_byte(module: Path) -> None:
    content = bytearray(module.read_bytes())
    content[len(content) // 2] ^= 1
    module.unlink()
    module.write_bytes(content)


def shorten(module: Path) -> None:
    content = module.read_bytes()
    module.unlink()
    module.write_bytes(content[:-100])


def rewrite(**changes: object) -> object:
    def change(module: Path) -> None:
        entry = module.parent / "entry.json"
        entry.write_text(json.dumps({**json.loads(entry.read_text()), **changes}))

    return change


DAMAGE = {
    "a byte": flip_a_byte,
    "the end": shorten,
    "no module": lambda module: module.unlink(),
    "no entry": lambda module: (module.parent / "entry.json").unlink(),
    "half an entry": lambda module: (module.parent / "entry.json").write_text('{"file": "oscil'),
    "a list": lambda module: (module.parent / "entry.json").write_text("[1, 2]"),
    "not text": lambda module: (module.parent / "entry.json").write_bytes(b"\xff\xfe\x00"),
    "a digest of another type": rewrite(sha256=None),
    "a path that leads out": rewrite(file="../elsewhere.so"),
    "a name of another type": rewrite(file=3),
    "another key": rewrite(key="e" * 40),
    "another format": rewrite(format=0),
    "everything but the folder": lambda module: [file.unlink() for file in module.parent.iterdir()],
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.sample(5)
def test_a_damaged_entry_is_not_used_and_is_made_again(kind: str, folder: Path) -> None:
    module = stored()
    DAMAGE[kind](module)  # type: ignore[operator]
    assert cache.lookup(KEY) is None
    again = stored()
    assert answer(again) == (3.0, -1.0)
    assert cache.lookup(KEY) == again
    assert not list(folder.glob(".damaged-*"))


@pytest.mark.parametrize("key", ["", "../" + "a" * 37, "g" * 40, "a" * 41])
def test_a_key_is_forty_hexadecimal_digits(key: str) -> None:
    for use in (lambda: cache.lookup(key), lambda: build(sources(), key=key)):
        refused("40 hexadecimal digits", use, error=ValueError)


def test_left_overs_of_killed_builds_are_swept(folder: Path) -> None:
    stored()
    old, new = folder / ".making-old", folder / ".making-new"
    for place in (old, new):
        place.mkdir()
    os.utime(old, (0, 0))
    build(sources(name="other"), key="e" * 40, inline=False)
    assert not old.exists()
    assert new.exists()


def test_the_entry_tells_what_it_is() -> None:
    facts = json.loads((stored().parent / "entry.json").read_text())
    assert facts["name"] == "oscillator"
    assert facts["compiler"] == find_compiler().version
    assert "-ffp-contract=off" in facts["flags"]


def test_the_key_knows_every_option() -> None:
    gcc, clang = Compiler(("gcc",), "gcc 12", "gcc"), Compiler(("clang",), "clang 14", "clang")
    newer = Compiler(("gcc",), "gcc 13", "gcc")
    keys = [
        cache.model_key("a", compiler=gcc),
        cache.model_key("b", compiler=gcc),
        cache.model_key("a", compiler=gcc, reproducible=False),
        cache.model_key("a", compiler=gcc, tuned=False),
        cache.model_key("a", compiler=gcc, inline=False),
        cache.model_key("a", compiler=clang),
        cache.model_key("a", compiler=newer),
    ]
    assert len(set(keys)) == len(keys)
    assert cache.model_key("a", compiler=gcc) == keys[0]


def test_the_stamp_is_of_contents_and_not_of_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(cache.__file__).parents[2]
    for name in ("codegen", "templates", "runtime"):
        ignored = shutil.ignore_patterns("*.so", "*.c", "__pycache__")
        shutil.copytree(root / name, tmp_path / name, ignore=ignored)
    monkeypatch.setattr(cache, "_CODEGEN", tmp_path / "codegen")
    stamp = cache.generator_stamp.__wrapped__
    before = stamp()
    for file in tmp_path.rglob("*.*"):
        os.utime(file, (1, 1))
    assert stamp() == before
    (tmp_path / "runtime" / "c" / "README").write_text("")
    assert stamp() == before
    for name in (
        "codegen/emit/c_core.py",
        "codegen/forms/maggi.py",
        "templates/core.c.in",
        "runtime/c/cg_math.h",
    ):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content.replace(b"e", b"a", 1))  # same size
        assert stamp() != before
        (tmp_path / name).write_bytes(content)
    assert stamp() == before


def test_a_key_depends_on_the_cpu_only_when_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    tuned, portable = cache.model_key("a", tuned=True), cache.model_key("a", tuned=False)
    monkeypatch.setattr(cache, "cpu_features", lambda: "another CPU")
    assert cache.model_key("a", tuned=True) != tuned
    assert cache.model_key("a", tuned=False) == portable


def test_the_key_does_not_depend_on_the_hash_seed() -> None:
    script = "from chaplygin.codegen.toolchain import cache; print(cache.model_key('a'))"
    assert len({run([sys.executable, "-c", script], PYTHONHASHSEED=seed) for seed in "012"}) == 1


@posix
def test_the_version_is_remembered_until_the_compiler_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, memory = tmp_path / "cc-test", tmp_path / "versions.json"
    compiler.write_text("#!/bin/sh\necho version 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    assert find_compiler(memory).version == "version 1"
    assert list(json.loads(memory.read_text()).values()) == ["gcc:version 1"]
    compiler.write_text("#!/bin/sh\necho version 22\n")
    assert find_compiler(memory).version == "version 22"
    memory.write_text("not JSON")
    assert find_compiler(memory).version == "version 22"


DERIVING = (
    "api.equations", "codegen.lower.lower", "codegen.lower.dynamics", "codegen.derive.friction", "codegen.plan.arrange",
    "codegen.lower.lowered", "codegen.emit.targets", "codegen.toolchain.library",
)  # fmt: skip


def test_what_is_found_in_the_cache_loads_nothing_that_derives() -> None:
    """From the declaration to the loaded model of a second process: no module of the later stages is imported."""
    script = """
        import sys
        import chaplygin as cg
        model = cg.example("harmonic_oscillator").system.compile()
        print(model.rhs(0.0, [1.0, 0.0], [2.0, 8.0])[1], *sys.modules)
    """
    answers = []
    for _ in range(2):
        value, *modules = python(script).split()
        answers.append((value, {m for m in DERIVING if f"chaplygin.{m}" in modules}))
    (first, derived), (second, found) = answers
    assert first == second == "-4.0"
    assert derived == set(DERIVING)
    assert found == set()


READ_ONLY = """
import os, sys, warnings
import chaplygin as cg
x = cg.coordinates("x")
def swing(k):
    return cg.System("swing", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, potential=k * x**2 / 2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for k in (1, 2):
        sol = swing(k).compile().integrate((0, 1), {"x": 1, "x_dot": 0})
        assert type(sol.model).__name__ != "PythonModel" and sol.success, sol
assert [w.category for w in caught] == [cg.CacheWarning], [str(w.message) for w in caught]
print(caught[0].message)
print(os.environ["CHAPLYGIN_CACHE"])
"""


def test_a_read_only_home_gets_a_temporary_cache_and_one_warning() -> None:
    """Folders cannot be made in /proc, by root neither."""
    if not os.path.isdir("/proc/self"):
        pytest.skip("no /proc")
    kept = {k: v for k, v in os.environ.items() if k != "CHAPLYGIN_CACHE"}
    given = kept | {"XDG_CACHE_HOME": "/proc/self/home", "CCACHE_DISABLE": "1"}  # cc may be ccache
    found = subprocess.run(
        [sys.executable, "-c", READ_ONLY], env=given, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    message, folder = found.stdout.splitlines()
    assert message.startswith("cache folder /proc/self/home/chaplygin/models: cannot be created")
    assert "set CHAPLYGIN_CACHE to a folder that you can write" in message
    assert not os.path.exists(folder)  # removed when the process ended


def test_a_folder_that_was_asked_for_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.path.isdir("/proc/self"):
        pytest.skip("no /proc")
    monkeypatch.setenv("CHAPLYGIN_CACHE", "/proc/self/home")
    refused("cannot be created", cache.cache_folder, error=CacheError)


def change_a_digit(file: Path) -> None:
    text = file.read_text()
    place = max(i for i, letter in enumerate(text) if letter in "12345678")
    file.unlink()
    file.write_text(f"{text[:place]}{int(text[place]) + 1}{text[place + 1 :]}")


RUN = (0, 1), {"x": [1.0, 2.0], "x_dot": 0.5}, {"c": 3.0}
READERS: dict[str, Callable[[Any, Path], object]] = {
    "_lanes.c": lambda model, _: cg.ensemble(model, *RUN, lanes=2),
    "_core.h": lambda model, _: cg.ensemble(model, *RUN, lanes=2),
    "_core.c": lambda model, _: build_method(Path(model.owner.__file__), "dop853"),
    "_lowered.txt": lambda model, place: model.export_c(place / "bundle"),
    "_graph.txt": lambda model, _: model.gradient(cg.final("x"), (0, 1), {"x": 1.0, "x_dot": 0.5}, RUN[2]),
    "entry.json": lambda model, place: model.export_c(place / "bundle"),
}
"""What reads a file of an entry after the model was compiled."""


@pytest.mark.parametrize("end", READERS)
@pytest.mark.sample(1)
def test_a_digit_in_any_file_is_refused_and_the_entry_is_made_again(end: str, folder: Path) -> None:
    x, c = cg.coordinates("x"), cg.parameters("c", positive=True)
    system = cg.System(
        "digits", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, potential=c * x**2 / 2 + 0.46875 * x**4
    )
    model = system.compile()
    library = Path(model.owner.__file__)
    (file,) = [each for each in library.parent.iterdir() if each.name.endswith(end)]
    whole = file.read_bytes()
    change_a_digit(file)
    words = rf"{file.name} is missing or damaged.*compile the model again"
    refused(words, READERS[end], model, folder, error=cg.ChaplyginError)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = cg.ensemble(model, *RUN).y  # at most without lanes, with the right numbers
    again = system.compile()
    assert file.read_bytes() == whole
    assert cg.ensemble(again, *RUN, lanes=2).y.tobytes() == alone.tobytes()
    READERS[end](again, folder)
