"""Every example in a docstring runs and gives what it says."""

from __future__ import annotations

import doctest
import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest

import chaplygin

PACKAGES = ("chaplygin.codegen", "chaplygin.runtime", "chaplygin.systems")


def modules() -> Iterator[str]:
    yield "chaplygin"
    for package in PACKAGES:
        yield package
        path = import_module(package).__path__
        yield from (
            found.name
            for found in pkgutil.walk_packages(path, package + ".")
            if not found.name.endswith("._core")
        )


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name: str) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testmod(import_module(name), optionflags=flags, extraglobs={"cg": chaplygin})
    assert failed == 0
