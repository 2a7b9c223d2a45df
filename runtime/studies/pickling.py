"""A study as bytes for other processes and hosts: compiled code travels as its sources."""

from __future__ import annotations

import functools
import hashlib
import io
import pickle
import platform
import socket
import threading
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from chaplygin._lazy import later
from chaplygin._version import __version__
from chaplygin.errors import ChaplyginError

from ..model.builder import builder

scipy = later("scipy")

KEPT = 4
"""Studies that a worker keeps unpacked."""


class WorkerError(ChaplyginError, RuntimeError):
    """A worker cannot run a study, or there are no workers. The message names the worker's host."""


def pack(value: Any) -> bytes:
    """`value` as bytes, in which the path of a compiled file stands for its sources.

    Functions of a script or a notebook travel by value if cloudpickle is installed, as Dask and loky install it.
    """
    pickler, target = _pickler(), io.BytesIO()

    class Pickler(pickler):  # type: ignore[misc, valid-type]
        def persistent_id(self, each: Any) -> Any:
            return builder("portable").package_of(each) if isinstance(each, Path) else None

    Pickler(target, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return zlib.compress(pickle.dumps(_versions()) + target.getvalue(), 1)


def _pickler() -> type[pickle.Pickler]:
    try:
        return import_module("cloudpickle").Pickler  # type: ignore[no-any-return]
    except ImportError:
        return pickle.Pickler


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, package: Any) -> Path:
        return package.install()  # type: ignore[no-any-return]


def unpack(content: bytes) -> Any:
    """What `pack` was given, its compiled code from the cache of this host, or compiled into it.

    Raises WorkerError if this host has other versions than the one that packed it, or cannot compile.
    """
    source = io.BytesIO(zlib.decompress(content))
    theirs, ours = pickle.load(source), _versions()
    for name, version in theirs.items():
        if ours[name] != version:
            raise WorkerError(
                f"the worker on {socket.gethostname()} has {name} {ours[name]}, the study comes from {version}; "
                "install the same versions on all hosts, as results could differ"
            )
    try:
        return _Unpickler(source).load()
    except ChaplyginError as error:
        raise WorkerError(f"the worker on {socket.gethostname()} cannot load the study: {error}") from error


def _versions() -> dict[str, str]:
    """Versions on which the bits of a study, or its pickle, may depend."""
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "chaplygin": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


_lock = threading.Lock()


def opened(content: bytes) -> Any:
    """As `unpack`, once in this process for the same content."""
    with _lock:
        return _opened(_Content(content))


class _Content:
    """Bytes that are compared by their digest, so that those of a known study are not kept."""

    def __init__(self, content: bytes) -> None:
        self.content, self.digest = content, hashlib.sha256(content).digest()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and other.digest == self.digest


@functools.lru_cache(KEPT)
def _opened(content: _Content) -> Any:
    return unpack(content.content)
