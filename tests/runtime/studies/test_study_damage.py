"""Damaged folders of studies: random changes of every kind end in the project's own errors, or change nothing."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy import stats

import chaplygin as cg
from chaplygin.errors import ChaplyginError
from chaplygin.runtime.statistics.sketches import BLOCK
from chaplygin.runtime.studies.folder import Chunks
from chaplygin.runtime.studies.manifest import FORMAT, StudyFolderError, digest, read_manifest
from chaplygin.runtime.studies.packing import pack, unpack
from chaplygin.runtime.studies.study import Study

N = 2 * BLOCK + 100
MANIFEST = "study.json"
MANY = [(0, 15), pytest.param((1, 250), marks=pytest.mark.slow)]
"""A seed and the number of folders."""


def study(folder: Path | None, **changed: Any) -> Study:
    """A stone that falls: three chunks, of which one breaks a limit of steps for some, with an entry of each kind."""
    z, w = cg.coordinates("z"), cg.velocities("w")
    lands = cg.Event(z, name="lands", direction=-1, terminal=True)
    stone = cg.System("stone", kinematics={z: w}, kinetic=w**2 / 2, potential=z, events=[lands])
    given: dict[str, Any] = {
        "collect": {
            "m": cg.moments("z", "w", at=[0.5, 1.0]),
            "q": cg.quantiles("z", [0.1, 0.5]),
            "h": cg.histogram("w", [-1, 0, 1]),
            "p": cg.probability(sp.Symbol("w") > -1, at=[0.5]),
            "end": cg.final("z"),
            "all": cg.table("t", "status"),
            "top": cg.peak("z"),
            "area": cg.integral("z"),
            "first": cg.first_passage("lands"),
            "times": cg.events("lands"),
        },
        "until": cg.precision("m", absolute=1e-9),
        "seed": 3,
        **changed,
    }
    start = {"z": stats.norm(1, 0.2), "w": stats.norm(0, 0.5)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cg.study(
            stone.compile(), (0, 1.2), start, {}, n=N, rtol=1e-3, atol=1e-3, out=folder, **given
        )  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("studies") / "whole"
    study(path)
    return path


@pytest.fixture(scope="module")
def figures(whole: Path) -> list[bytes]:
    return bits(cg.open_study(whole))


def bits(found: Study) -> list[bytes]:
    r = found.results
    tables = (
        r["m"].mean["z"], r["m"].covariance, r["q"].values, r["h"].counts, r["p"].count, r["end"]["z"], r["all"]["t"],
        r["top"].t, r["area"], r["first"], r["times"].t,
    )  # fmt: skip
    return [np.ascontiguousarray(table).tobytes() for table in tables]


def used(path: Path) -> Study | None:
    """The study in a folder with everything of it read; None if that is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = cg.open_study(path)
            for name in found.results:
                repr(found.results[name])
            found.summary()
            return found
        except ChaplyginError:
            return None


STRANGE: list[Any] = [
    None, True, False, -1, 0, 7, 1 << 70, 10**15, 0.5, -2.5, 1e308, float("nan"), float("inf"), "", "x", "moments",
    [], {}, [[]], {"": None}, [1, 0], ["x", "x"], [None], [float("nan")], [[1.0], [2.0, 3.0]],
]  # fmt: skip


def strange(rng: random.Random, dicts: bool = True) -> Any:
    """One of `STRANGE`, copied, as it may be changed in its place."""
    return copy.deepcopy(rng.choice([each for each in STRANGE if dicts or not isinstance(each, dict)]))


def places(found: Any) -> list[tuple[Any, Any]]:
    """Every container of a value of JSON, with a key or index into it."""
    if not isinstance(found, (dict, list)):
        return []
    keys = list(found) if isinstance(found, dict) else list(range(len(found)))
    return [*((found, key) for key in keys), *(inner for key in keys for inner in places(found[key]))]


def changed(found: Any, rng: random.Random) -> Any:
    """The value of JSON with a few random changes: other values, missing, additional, exchanged and nested ones."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        known = places(found)
        owner, key = rng.choice(known)
        kind = rng.randrange(5)
        if kind == 0:
            del owner[key]
        elif kind == 1:
            other, place = rng.choice(known)
            owner[key] = json.loads(json.dumps(other[place])) if _has(other, place) else None
        elif kind == 2 and isinstance(owner, dict):
            owner[rng.choice(["new", "entry", "sha256", "0"])] = owner[key]
        elif kind == 3 and isinstance(owner[key], list):
            owner[key] = owner[key] * 2 + [strange(rng)]
        else:
            owner[key] = strange(rng)
    return found


def _has(owner: Any, key: Any) -> bool:
    return key in owner if isinstance(owner, dict) else key < len(owner)


def sealed(content: Any) -> str:
    return json.dumps({**content, "sha256": digest(content)})


def content(folder: Path) -> Any:
    found = json.loads((folder / MANIFEST).read_bytes())
    assert found.pop("sha256") == digest(found)
    return found


def folders(
    whole: Path, tmp_path: Path, damage: Callable[[Path, random.Random], None], many: tuple[int, int]
) -> Iterator[Path]:
    """Copies of a folder, each damaged in another way."""
    seed, count = many
    for k in range(count):
        path = tmp_path / str(k)
        shutil.copytree(whole, path)
        damage(path, random.Random(f"{damage.__name__} {seed} {k}"))
        yield path
        shutil.rmtree(path)


def values_of_the_manifest(path: Path, rng: random.Random) -> None:
    """The digest is made anew, so that it is the values that have to be checked."""
    (path / MANIFEST).write_text(sealed(changed(content(path), rng)))


def bytes_of_a_file(path: Path, rng: random.Random) -> None:
    file = rng.choice(sorted(path.glob("*.*")))
    found = bytearray(file.read_bytes())
    for _ in range(rng.choice([1, 1, 3])):
        kind, place = rng.randrange(4), rng.randrange(max(len(found), 1))
        if kind == 0:
            del found[place:]
        elif kind == 1:
            found[place:place] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
        elif kind == 2:
            del found[place : place + rng.randrange(1, 9)]
        elif found:
            found[place % len(found)] ^= 1 << rng.randrange(8)
    file.write_bytes(found)


def names_and_kinds_of_files(path: Path, rng: random.Random) -> None:
    file = rng.choice(sorted(path.glob("*.*")))
    other = rng.choice(sorted(path.glob("*.*")))
    kind = rng.randrange(7)
    if kind == 0:
        file.unlink()
    elif kind == 1:
        file.rename(path / f"chunk-{rng.choice([0, 1, BLOCK, 2 * BLOCK, N]):012d}-{file.stem[-16:]}.zip")
    elif kind == 2:
        shutil.copy(file, path / f"chunk-{rng.choice([0, BLOCK]):012d}-{'0' * 16}.zip")
    elif kind == 3:
        file.unlink()
        file.mkdir()
    elif kind == 4:
        file.unlink()
        file.symlink_to(file.name if rng.randrange(2) else "nowhere")
    elif kind == 5:
        file.write_bytes(other.read_bytes())
    else:
        (path / f".writing-{rng.randrange(9)}").mkdir()
        (path / f"{file.name}x").write_bytes(b"")


def contents_of_a_chunk(path: Path, rng: random.Random) -> None:
    """The digest in its name is made anew, so that it is the content that has to be checked."""
    file = rng.choice(sorted(path.glob("chunk-*.zip")))
    found = unpack(file.read_bytes())
    for _ in range(rng.choice([1, 1, 2])):
        owner, key = rng.choice(_parts(found))
        value = owner[key]
        kind = rng.randrange(4)
        if isinstance(value, np.ndarray) and kind:
            shorter, flat = value[..., :-1], value.ravel()
            owner[key] = [shorter, flat, value.astype(np.float32)][kind - 1]
        elif isinstance(owner, dict) and kind == 1 and not {"bits", "products"} & owner.keys():
            del owner[key]
        elif not isinstance(value, dict):
            owner[key] = strange(rng, dicts=False)
        else:
            owner[key] = []
    packed = pack(found)
    file.rename(file.with_name(f"{file.stem[:-16]}{hashlib.sha256(packed).hexdigest()[:16]}.zip"))
    next(iter(path.glob(f"*{hashlib.sha256(packed).hexdigest()[:16]}.zip"))).write_bytes(packed)


def _parts(found: Any) -> list[tuple[Any, Any]]:
    """The places of a part of a chunk, also in the attributes of its sketches."""
    owner = found if isinstance(found, (dict, list)) else getattr(found, "__dict__", {})
    keys = list(owner) if isinstance(owner, dict) else list(range(len(owner)))
    return [*((owner, key) for key in keys), *(inner for key in keys for inner in _parts(owner[key]))]


@pytest.mark.parametrize("many", MANY, ids=str)
def test_values_of_the_manifest(whole: Path, tmp_path: Path, many: tuple[int, int]) -> None:
    refused = [used(path) is None for path in folders(whole, tmp_path, values_of_the_manifest, many)]
    assert sum(refused) > len(refused) / 4


@pytest.mark.parametrize("many", MANY, ids=str)
@pytest.mark.parametrize("damage", [bytes_of_a_file, names_and_kinds_of_files])
def test_damage_changes_no_figure(
    whole: Path, figures: list[bytes], tmp_path: Path, damage: Any, many: tuple[int, int]
) -> None:
    """It is refused, or takes trajectories away; what is whole has the figures that it had."""
    ends = set()
    for path in folders(whole, tmp_path, damage, many):
        found = used(path)
        ends.add(None if found is None else found.done)
        if found is not None and found.done == N:
            assert bits(found) == figures
    assert ends <= {None, 0, BLOCK, 2 * BLOCK, N}
    assert len(ends) > 2


@pytest.mark.parametrize("many", MANY, ids=str)
def test_contents_of_a_chunk(whole: Path, tmp_path: Path, many: tuple[int, int]) -> None:
    for path in folders(whole, tmp_path, contents_of_a_chunk, many):
        used(path)


@pytest.mark.parametrize("damage", [bytes_of_a_file, names_and_kinds_of_files, contents_of_a_chunk])
def test_a_damaged_study_goes_on_or_is_refused(
    whole: Path, figures: list[bytes], tmp_path: Path, damage: Any
) -> None:
    goes_on = 0
    for path in folders(whole, tmp_path, damage, (100, 6)):
        try:
            found = study(path)
        except ChaplyginError:
            continue
        goes_on += 1
        if damage is not contents_of_a_chunk:
            assert bits(found) == figures
    assert goes_on


def test_an_edited_number_is_noticed(whole: Path, tmp_path: Path) -> None:
    path = shutil.copytree(whole, tmp_path / "edited")
    text = (path / MANIFEST).read_text()
    assert text.count("0.5\n") > 0
    (path / MANIFEST).write_text(text.replace("0.5\n", "0.9\n", 1))
    words = r"was changed or is damaged: it does not match its own SHA-256"
    refused(words, cg.open_study, path, error=StudyFolderError)
    with pytest.raises(StudyFolderError, match="was changed or is damaged"):
        study(path)


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        ("collect.h.edges", [1, 0], "collect: h: edges must be at least two increasing numbers"),
        ("collect.q.q", [0.1, 2], "collect: q: q = .* must be numbers between 0 and 1"),
        ("collect.m.at", [0.5, 9.0], r"collect: m: times\[1\] = 9 is outside t_span"),
        ("collect.first.at", [1.0], "collect.first.at: first passage has no times"),
        ("collect.h.what", ["w", "z"], "collect.h.what has 2 quantities"),
        ("collect.m.entry", "Moments", "collect.m.entry is 'Moments', none of columns, table, .*moments"),
        ("n", 0, "n is 0, not an integer from 1 to"),
        ("until.entry", "h", "until.entry is 'h', no entry of collect with a confidence interval"),
        ("draws.seed", -1, "draws.seed is -1, not an integer from 0"),
        ("model.units", [], r"model.units is \[\], not an object"),
        (
            "format",
            2,
            "has format 2, and this version of chaplygin reads 3: open it with the version that made it",
        ),
    ],
)
def test_a_wrong_value_is_named(whole: Path, tmp_path: Path, place: str, value: Any, text: str) -> None:
    (tmp_path / MANIFEST).write_text("")
    found = content(whole)
    owner = found
    *way, last = place.split(".")
    for name in way:
        owner = owner[name]
    assert last in owner
    owner[last] = value
    (tmp_path / MANIFEST).write_text(sealed(found))
    with pytest.raises(StudyFolderError, match=text):
        cg.open_study(tmp_path)


def test_deep_brackets_are_refused(tmp_path: Path) -> None:
    for text in ('{"format": 3, "n": ' + "[" * 100_000, '{"format": 3, "n": ' + "[" * 900 + "]" * 900 + "}"):
        (tmp_path / MANIFEST).write_text(text)
        with pytest.raises(StudyFolderError, match=r"cannot be read|was changed or is damaged"):
            cg.open_study(tmp_path)


def test_the_words_of_the_format(whole: Path) -> None:
    """They are those of docs/study_folders.md, not names of classes."""
    found = content(whole)
    assert found["format"] == FORMAT == 3
    tags = [entry["entry"] for entry in found["collect"].values()]
    assert tags == [
        "moments", "quantiles", "histogram", "probability", "columns", "table", "along", "along", "first passage",
        "events",
    ]  # fmt: skip
    assert [source["law"]["law"] for source in found["draws"]["sources"]] == ["compiled", "compiled"]
    manifest = read_manifest(whole)
    parts = list(Chunks(whole, N, manifest.collect).parts())
    assert [part.count for part in parts] == [BLOCK, BLOCK, 100]


def test_a_folder_in_place_of_a_chunk_is_named(whole: Path, tmp_path: Path) -> None:
    path = shutil.copytree(whole, tmp_path / "study")
    chunk = sorted(path.glob("chunk-*"))[1]
    chunk.unlink()
    chunk.mkdir()
    for call in (cg.open_study, study):
        words = f"{chunk.name}' cannot be read as a chunk of the study: .*remove it"
        refused(words, call, path, error=StudyFolderError)
