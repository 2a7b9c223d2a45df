"""From emitted code to a loaded model, via the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

from chaplygin import api
from chaplygin._lazy import later
from chaplygin.codegen import emit, toolchain
from chaplygin.codegen.graph.linear import UNROLLED_VELOCITIES
from chaplygin.codegen.system.checked_system import CheckedSystem
from chaplygin.codegen.toolchain.cache import lookup, model_key
from chaplygin.errors import ArgumentError, CoreMissingError, NoCompilerError
from chaplygin.runtime import core
from chaplygin.runtime.interface import arguments
from chaplygin.runtime.model.compiled_model import require_core
from chaplygin.runtime.model.inlining import DEFAULTS, inline

from .model import Model, load_model

if TYPE_CHECKING:
    from chaplygin.codegen import methods as pairs
    from chaplygin.codegen.derive.equation_nodes import EquationNodes
    from chaplygin.codegen.lower import lowered_text as texts
    from chaplygin.codegen.lower.lowered import Lowered
    from chaplygin.codegen.lower.sources import Sources
    from chaplygin.codegen.methods.pair import Pair
    from chaplygin.codegen.methods.taylor import Taylor
    from chaplygin.codegen.plan import plan as planning
    from chaplygin.codegen.plan.plan import Program

else:
    pairs = later("chaplygin.codegen.methods")
    planning = later("chaplygin.codegen.plan.plan")
    texts = later("chaplygin.codegen.lower.lowered_text")


def knowing(model: Model, equations: Callable[[], EquationNodes]) -> Model:
    """The model, which can now compile new expressions of its quantities."""
    if model._equations is None:
        model._equations = equations
    return model


def own_methods(methods: Iterable[Pair | str]) -> tuple[Pair | Taylor, ...]:
    """The methods that a model brings, checked."""
    given = (
        [methods] if isinstance(methods, str) else arguments.entries("methods", methods, "a list of methods")
    )
    if not given:  # nearly always
        return ()
    require_core()

    try:
        return pairs.own(given, core.methods())
    except (TypeError, ValueError) as error:
        raise ArgumentError(str(error)) from None


BACKENDS = ("c", "python")


class How(NamedTuple):
    """How a model is compiled, see `System.compile`; raises ArgumentError."""

    reproducible: bool
    wait: bool
    progress: bool | None
    backend: str

    @classmethod
    def checked(cls, reproducible: object, wait: object, progress: object, backend: object) -> How:
        boolean = arguments.boolean
        shown = None if progress is None else boolean("progress", progress)
        named = arguments.choice("backend", backend, BACKENDS)
        return cls(boolean("reproducible", reproducible), boolean("wait", wait), shown, named)


def started(lowered: Lowered, own: tuple[Pair | Taylor, ...]) -> Sources:
    """What a model is compiled from: without the kernels that are late, but with the program from which they are made.

    A model with methods of its own is compiled as a whole.
    """
    if own:
        return emit.emit(planning.plan(lowered.copy()).bringing(own), emit.COMPILED)
    late = {row.name for row in lowered.table if row.late}
    sources = emit.emit(planning.plan(lowered.copy(), only=lowered.kernels.keys() - late), emit.COMPILED)
    return replace(
        sources, files={**sources.files, f"{lowered.name}_lowered.txt": texts.lowered_text(lowered)}
    )


def loaded(
    system: CheckedSystem,
    digest: str,
    program: Callable[[], Program],
    sources: Callable[[], Sources],
    methods: tuple[Pair | Taylor, ...],
    how: How,
) -> Model:
    """The model of this digest, from the cache or built of `sources`; with the backend "python" a `PythonModel`."""
    if how.backend == "python":
        if system.events or system.contacts or methods:
            what = "methods of its own" if methods else "events or contacts"
            raise ArgumentError(f"backend = 'python': {system.name!r} has {what}, which need the backend 'c'")
        return cast("Model", api.PythonModel(api.python_kernels(program()), quiet=True))
    inline = len(system.velocities) <= UNROLLED_VELOCITIES  # short enough to benefit
    try:
        require_core()
        key = model_key(digest, reproducible=how.reproducible, inline=inline)
        path = lookup(key)
        if path is None:
            with planning.uncollected():
                emitted = sources()
            path = toolchain.build(emitted, key=key, reproducible=how.reproducible, inline=inline)
    except (NoCompilerError, CoreMissingError) as error:
        raise type(error)(
            f"{str(error).rstrip('.')}. Or compile with backend='python': kernels and `integrate`, a hundred times "
            "slower, without events and contacts"
        ) from None
    model = load_model(path)
    if how.wait and not model._eager:
        model._eager = True
        model._complete()
        _inline(model)
    return model


def _inline(model: Model) -> None:
    """Inline the right-hand side into the methods that runs take by default, side by side."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda method: inline(model, method, True), DEFAULTS))
