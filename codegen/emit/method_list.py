"""`cg_method_list.h` with some of the runtime's methods."""

from __future__ import annotations

from collections.abc import Iterable

from .render import render


def list_of(names: Iterable[str], made: str) -> str:
    """The header that `cg_method.h` includes, with some of the runtime's methods."""
    chosen = list(names)
    methods = " ".join(f"METHOD({name})" for name in chosen if name != "rk4")
    values = {
        "made": made,
        "includes": "\n".join(f'#include "cg_{name}.h"' for name in chosen),
        "fixed": "METHOD(rk4)" if "rk4" in chosen else "",
        "few": methods,
        "all": methods,
    }
    return render("method_list.h.in", values)
