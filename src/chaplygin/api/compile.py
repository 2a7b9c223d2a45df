"""`System.compile` and `chaplygin.compile`: from a declaration to a loaded model, via the cache."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from chaplygin.codegen.derive.digest import program_digest
from chaplygin.codegen.forms.choose import fitting
from chaplygin.codegen.graph.linear import UNROLLED_VELOCITIES
from chaplygin.codegen.system.system import System
from chaplygin.codegen.toolchain.cache import lookup, model_key
from chaplygin.errors import BuildError, CoreMissingError, NoCompilerError, PurePythonWarning
from chaplygin.runtime.interface.arguments import boolean
from chaplygin.runtime.model.compiled_model import require_core

if TYPE_CHECKING:
    from chaplygin.codegen.derive.equation_nodes import EquationNodes
    from chaplygin.codegen.lower.program import Program
    from chaplygin.codegen.lower.sources import Sources
    from chaplygin.codegen.methods.pair import Pair
    from chaplygin.codegen.methods.taylor import Taylor

    from .equations import Equations


def compile_system(
    system: System,
    form: str | None = None,
    *,
    reproducible: bool = True,
    wait: bool = False,
    methods: Iterable[Pair | str] = (),
    **options: Any,
) -> Any:
    """Return the compiled model of a system in one form, from the cache if possible.

    `form` defaults to the simplest one that fits, see `System.compile`; `options` are passed to the form.
    `reproducible=True` gives the same bits whatever the compiler and CPU: multiply-adds are written out in the emitted
    code. False lets the compiler contract what it likes. `methods` are integration methods that the model has in
    addition to those of the runtime: objects `Pair`, or the name "taylor" (docs/taylor.md).

    The kernels of a model are compiled here and run through the methods of the runtime. A method that has called a
    right-hand side of up to 12 velocities a million times is compiled with it inlined, within 0.2 to 0.5 s; this makes
    it faster and changes no bit of the results. `wait=True` compiles those that runs take by default here, and others
    before their first run; so does `reproducible=False`.

    If no compiler is found, the pure-Python backend is returned with a warning; it has no events, contacts or methods
    of the model's own, so a model with these raises BuildError.

    Raises FormError, BuildError, CacheError, ArgumentError, and TypeError or ValueError for wrong `methods`.
    """
    boolean("reproducible", reproducible)
    boolean("wait", wait)
    own = _own(methods)
    chosen = form or fitting(system)
    digest = program_digest(
        system.digest, chosen, [*sorted((k, _plain(v)) for k, v in options.items()), *own]
    )

    @functools.cache
    def equations() -> Equations:
        return system.equations(chosen, **options)

    @functools.cache
    def program() -> Program:
        return equations().program.bringing(own)

    def sources() -> Sources:
        from chaplygin.codegen.emit.targets import COMPILED, emit

        return emit(program(), COMPILED)

    model = _load(system, digest, program, sources, reproducible, wait, own)
    return _knowing(model, lambda: equations().nodes)


def _knowing(model: Any, equations: Callable[[], EquationNodes]) -> Any:
    """The model, which can now compile new expressions of its quantities."""
    if model._equations is None:
        model._equations = equations
    return model


def _own(methods: Iterable[Pair | str]) -> tuple[Pair | Taylor, ...]:
    """The methods that a model brings, checked."""
    given = tuple(methods) if not isinstance(methods, str) else (methods,)
    if not given:  # nearly always, so nothing is imported otherwise
        return ()
    require_core()
    from chaplygin.codegen.methods import own
    from chaplygin.runtime.core._core import methods as known

    return own(given, known())


def _load(
    system: System,
    digest: str,
    program: Callable[[], Program],
    sources: Callable[[], Sources],
    reproducible: bool,
    wait: bool,
    methods: tuple[Pair | Taylor, ...],
) -> Any:
    inline = len(system.velocities) <= UNROLLED_VELOCITIES  # short enough to benefit
    try:
        require_core()
        key = model_key(digest, reproducible=reproducible, inline=inline)
        path = lookup(key)
        if path is None:
            from chaplygin.codegen.toolchain.library import build

            path = build(sources(), key=key, reproducible=reproducible, inline=inline)
    except (NoCompilerError, CoreMissingError) as error:
        if system.events or system.contacts or methods:
            what = "methods of its own" if methods else "events or contacts"
            raise BuildError(
                f"{str(error).rstrip('.')}. The model {system.name!r} has {what}, which run in compiled code only"
            ) from error
        from .python_model import python_model

        warnings.warn(
            f"{str(error).rstrip('.')}. The model {system.name!r} runs in pure Python instead, about a hundred times "
            "slower.",
            PurePythonWarning,
            stacklevel=4,
        )
        return python_model(program(), quiet=True)
    from .load_model import load_model

    model = load_model(path)
    if wait and not model._eager:
        model._eager = True
        _inline(model)
    return model


def _inline(model: Any) -> None:
    """Inline the right-hand side into the methods that runs take by default, side by side."""
    from chaplygin.runtime.model.inlining import DEFAULTS, inline

    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda method: inline(model, method, True), DEFAULTS))


def _plain(value: Any) -> Any:
    """An option with symbols as names and sequences as tuples, so that equal options have equal text."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_plain, value))
    return str(value) if hasattr(value, "free_symbols") else value
