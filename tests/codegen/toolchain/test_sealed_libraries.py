"""Compiled files carry their digest: truncated, changed and foreign ones are refused before any of them is loaded."""

from __future__ import annotations

import os
import random
import shutil
import sys
from pathlib import Path

import pytest
from processes import python
from refusals import refused
from runtime_models import needs_core

import chaplygin as cg
from chaplygin.codegen.toolchain.library import build_lanes
from chaplygin.runtime import LoadError
from chaplygin.runtime.interface.checksum import check_seal, open_library
from chaplygin.runtime.model.expressions import Expression, address_of, library_of

pytestmark = needs_core

MANY = [(0, 60), pytest.param((1, 1000), marks=pytest.mark.slow)]
"""A seed and the number of damaged files."""


@pytest.fixture(scope="module")
def libraries() -> list[Path]:
    """A file of each kind: a module, its lanes, an expression."""
    x = cg.coordinates("x")
    model = cg.System("sealed", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, potential=x**2).compile()
    module = Path(model.owner.__file__)
    return [module, build_lanes(module, 2, "dop853"), library_of(model, (x**2,), 1)]


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Truncated anywhere, often near an end; bits changed, bytes appended, inserted, removed or exchanged."""
    size = len(content)
    place = rng.choice([rng.randrange(size), rng.randrange(min(4096, size)), size - 1 - rng.randrange(200)])
    kind = rng.randrange(6)
    some = bytes(rng.randrange(256) for _ in range(rng.choice([1, 8, 64, 100])))
    if kind < 2:
        return content[:place]
    if kind == 2:
        return content[:place] + bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :]
    if kind == 3:
        return content + some
    if kind == 4:
        return content[:place] + some + content[place:]
    return content[:place] + content[place + len(some) :]


@pytest.mark.parametrize("many", MANY, ids=str)
def test_damaged_files_are_refused(libraries: list[Path], tmp_path: Path, many: tuple[int, int]) -> None:
    """In a second process, which a damaged library might end: it says how many it has refused."""
    code = """
        import os, sys
        sys.path += sys.argv[1].split(os.pathsep)
        import random
        os.dup2(1, 2)  # nothing is to be written to stderr either
        from pathlib import Path
        from test_sealed_libraries import damaged
        from chaplygin.runtime import LoadError, load_model
        from chaplygin.runtime.interface.checksum import open_library
        files = list(map(Path, sys.argv[3:]))
        contents = [file.read_bytes() for file in files]
        seed, count = map(int, sys.argv[2].split())
        for k in range(count):
            i = k % len(files)
            file = Path(f"{k}") / files[i].name
            file.parent.mkdir()
            file.write_bytes(damaged(contents[i], random.Random(f"{seed} {k}")))
            assert file.read_bytes() != contents[i]
            try:
                (open_library if i else load_model)(file)
            except LoadError:
                print("refused", flush=True)
            file.unlink()
    """
    told = python(code, os.pathsep.join(sys.path), "{} {}".format(*many), *libraries, cwd=tmp_path)
    assert told.split() == ["refused"] * many[1]


def test_whole_files_are_loaded_wherever_they_lie(libraries: list[Path], tmp_path: Path) -> None:
    copies = [Path(shutil.copy(file, tmp_path)) for file in libraries]
    assert cg.load_model(copies[0]).name == "sealed"
    assert open_library(copies[1]).sealed_lanes_2
    assert address_of(copies[2], "sealed", 1)


def test_messages_say_what_is_wrong(libraries: list[Path], tmp_path: Path) -> None:
    module = libraries[0]
    content = module.read_bytes()
    file = tmp_path / module.name
    file.write_bytes(content[:-1])
    words = "does not end with the digest of a compiled model: it is truncated, or was"
    refused(words, cg.load_model, file, error=LoadError)
    file.write_bytes(content[:5000] + b"?" + content[5001:])
    words = "is damaged: it does not match its own digest; compile the model again"
    refused(words, cg.load_model, file, error=LoadError)
    with pytest.raises(LoadError, match=r"absent\.so cannot be read: No such file"):
        open_library(tmp_path / "absent.so")
    expression = Expression(file, "sealed", "x")
    with pytest.raises(LoadError, match="is damaged"):
        expression.address  # noqa: B018


def test_modules_of_the_package_have_no_digest() -> None:
    """Installers change them (they strip symbols and set paths), and check them by their own record."""
    from chaplygin.generated import harmonic_oscillator

    file = Path(harmonic_oscillator.__file__)
    assert b"chaplygin sha256" not in file.read_bytes()
    check_seal(file)
    assert cg.load_model(file).name == "harmonic_oscillator"
