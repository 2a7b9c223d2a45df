"""`System.compile`: from a declaration to a loaded model, via the cache."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

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
    form: str | None = None,
    *,
    reproducible: bool = True,
    wait: bool = False,
    progress: bool | None = None,
    methods: Iterable[Pair | str] = (),
    backend: Literal["c", "python"] = "c",
    **options: Any,
) -> Model:
    """Return the compiled model of a system in one form, from the cache if possible.

    `form` defaults to the simplest one that fits, see `System.compile`; `options` are passed to the form.
    `reproducible=True` gives the same bits whatever the compiler and CPU: multiply-adds are written out in the emitted
    code. False lets the compiler contract what it likes. `methods` are integration methods that the model has in
    addition to those of the runtime: objects `Pair`, or the name "taylor" (docs/taylor.md).

    The kernels of a model are compiled here and run through the methods of the runtime. A method that has called a
    right-hand side of up to 12 velocities a million times is compiled with it inlined, within 0.2 to 0.5 s; this makes
    it faster and changes no bit of the results. `wait=True` compiles those that runs take by default here, and others
    before their first run, and every kernel; so does `reproducible=False` with the methods. A kernel that runs do not
    start with, such as the outputs, is otherwise compiled when it is first used.

    Raises FormError, BuildError, NoCompilerError, CacheError and ArgumentError.
    """
    how = How.checked(reproducible, wait, progress, backend)
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
