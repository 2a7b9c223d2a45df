"""Calls that must raise an error whose message says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chaplygin.errors import ArgumentError


def refused(
    message: str,
    call: Callable[..., Any],
    *given: Any,
    error: type[Exception] = ArgumentError,
    **options: Any,
) -> None:
    """The call raises the error, and the regular expression is found in its message."""
    with pytest.raises(error, match=message):
        call(*given, **options)
