"""`System.compile`: from a declaration to a loaded model, via the cache."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import chaplygin
from chaplygin.codegen.derive.digest import program_digest
from chaplygin.codegen.forms.choose import check_options, derive, fitting
from chaplygin.codegen.system.checked_system import CheckedSystem
from chaplygin.runtime.interface.arguments import text
from chaplygin.waiting import waiting

from .compiled import How, knowing, loaded, own_methods, started

if TYPE_CHECKING:
    from chaplygin.codegen.lower.sources import Sources
    from chaplygin.codegen.methods.pair import Pair
    from chaplygin.codegen.plan.plan import Program

    from .model import Model


def compile_system(
    system: CheckedSystem,
    form: str | None,
    how: How,
    methods: Iterable[Pair | str],
    options: Mapping[str, Any],
) -> Model:
    """See `System.compile`; `options` are passed to the form."""
    own = own_methods(methods)
    chosen = fitting(system) if form is None else text("form", form)
    check_options(chosen, options)
    digest = program_digest(
        system.digest, chosen, [*sorted((k, _plain(v)) for k, v in options.items()), *own]
    )

    @functools.cache
    def equations() -> chaplygin.Equations:
        return chaplygin.Equations(derive(system, chosen, **options))

    @functools.cache
    def program() -> Program:
        return equations().program.bringing(own)

    def sources() -> Sources:
        return started(equations()._lowered, own)

    with waiting(how.progress):
        model = loaded(system, digest, program, sources, own, how)
    return knowing(model, lambda: equations().nodes)


def _plain(value: Any, deep: int = 4) -> Any:
    """An option with symbols as names and sequences as tuples, so that equal options have equal text."""
    if isinstance(value, (list, tuple)) and deep:  # a list can contain itself
        return tuple(_plain(each, deep - 1) for each in value)
    return str(value) if hasattr(value, "free_symbols") else value
