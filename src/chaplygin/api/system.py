"""`System`: the declaration of a mechanical system, checked on creation and immutable afterwards; its compilation."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import sympy as sp

import chaplygin
from chaplygin.codegen import views
from chaplygin.codegen.declare.declare import with_events as longer
from chaplygin.codegen.derive.cyclic import cyclic_velocities
from chaplygin.codegen.derive.equation_nodes import program_digest
from chaplygin.codegen.forms.choose import check_options, derive, fitting, forms
from chaplygin.codegen.symbols.values import naming, sequence
from chaplygin.codegen.system.checked_system import CheckedSystem
from chaplygin.errors import ArgumentError
from chaplygin.runtime.interface.arguments import text
from chaplygin.runtime.interface.messages import short
from chaplygin.waiting import waiting

from .compiled import How, knowing, loaded, own_methods, started
from .model import Model, Uncompiled

if TYPE_CHECKING:
    from pathlib import Path

    from chaplygin.codegen.declare.events import Event
    from chaplygin.codegen.lower.sources import Sources
    from chaplygin.codegen.methods.pair import Pair
    from chaplygin.codegen.plan.plan import Program

    from .equations import Equations

Expression = Any


class System(CheckedSystem, Uncompiled):
    """A mechanical system: kinematics, energies, forces, constraints.

    dx_i/dt = xi_0^i(t, x) + xi_a^i(t, x) eta_a,   L(t, x, eta) = T - V,   generalised forces Q_a conjugate to eta_a,
    constraints A_sa eta_a + A_s0 = 0 (or eta_a = beta_a(t, x, theta) by independent parameters theta).

    Parameters
    ----------
    name : a plain identifier, used in emitted code.
    kinematics : {coordinate: dx/dt}, each right-hand side affine in the velocities. Fewer velocities than coordinates
        are allowed iff every bracket [X_a, X_b], [X_0, X_b] stays in the span of the X_a.
    coordinates : instead of `kinematics`, if the velocities are the coordinate rates, `chaplygin.rate(x)`.
    kinetic : T(t, x, eta), with no constraint substituted; with `bodies`, a term added to their T. It must be positive
        for every motion that the constraints permit.
    bodies : `Body` objects instead of (or in addition to) `kinetic`: König's theorem gives T from their masses,
        inertias and poses. Links made by `chaplygin.joint` bring their kinematics with them.
    potential : V(t, x).
    forces : {velocity: generalised force}.
    law : instead of the energies and forces, the equations of motion (`chaplygin.codegen.declare.given_dynamics`), as
        `chaplygin.from_sympy` makes them; only the form `given` then fits.
    interactions : loads on the bodies (`Weight`, `Wrench`, `Spring`, `Damper`, `Motor`), each declared once for the
        pair that it connects; their potentials and generalised forces are added to `potential` and `forces`.
    constraints : expressions in (t, x, eta), affine in the velocities, that must be zero.
    holonomic : expressions f(t, x) that must stay zero (closed loops). Their rates df/dt become constraints on the
        velocities, and f itself a residual; a run must start where f = 0.
    parametrization : {velocity: expression in (t, x, theta)} for every velocity, with theta created by `velocities()`.
    contacts : `Coulomb` contacts with dry friction, at most 64.
    events : `Event` objects: functions whose zeros are located, and what happens there.
    outputs : {name: expression}.
    units, descriptions : {symbol: text}.
    example : {symbol: number}, a representative point at which the declaration is checked and from which
        independent velocities are chosen.
        `chaplygin.time` is a valid key; its default is 0, where runs start. Other variables default to random values.
    kept : the velocities that equations keep as states where constraints determine the others. By default they are
        velocities that do so wherever the system moves, if there are any; `system.equations(form, independent=[...])`
        asks for others.
    parameters : the parameters that come first in vectors of parameters, in this order, whether or not they occur.

    Every expression may contain inputs. Where the equations contain the rate of an input u, `chaplygin.rate(u)`, since
    they differentiate an expression with u in it or since it was written, the rate is an input too, and so is the
    second one; a run takes both from what it is given for u.

    Coordinates are ordered as in the kinematics, then as the links of `bodies`; velocities, parameters and inputs as in
    `example`, then velocities as the links, the rest by name; rates of inputs follow them. Parameters thus are in
    alphabetical order, not in that of `chaplygin.parameters`, unless `parameters` or `example` says otherwise.

    Raises
    ------
    DeclarationError : naming the entry, for unknown symbols, bad names, right-hand sides that are not affine,
        dependent constraints, a mass matrix singular at the example point (with constraints, on the velocities that
        they permit), brackets that leave the span.

    Source: H. Poincaré (1901), N. G. Chetaev; Encyclopedia of Mathematics, "Poincaré equations", (1).

    >>> import sympy as sp
    >>> import chaplygin as cg
    >>> q = cg.coordinates("q")
    >>> m, k = cg.parameters("m k", positive=True)
    >>> cg.System("spring", coordinates=[q], kinetic=m*cg.rate(q)**2/2, potential=k*q**2/2)
    System('spring', coordinates=(q), velocities=(q_dot), parameters=(k, m))
    """

    def with_events(self, more: Sequence[Event]) -> System:
        """The same system with events added after its own.

        Raises DeclarationError, naming the event, as the declaration does.
        """
        other = System.__new__(System)
        with naming(self.name):
            other._become(longer(self, more))
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the declaration, from which unpickling creates the system again."""
        given: dict[str, Any] = {k: dict(v) if isinstance(v, Mapping) else v for k, v in self.parts().items()}
        for key in ("kinetic", "potential", "forces"):
            given[key] = given.pop(f"own_{key}")
        if self.law is not None:
            given["kinetic"] = None
        given["constraints"] = self.constraints[: len(self.constraints) - len(self.holonomic)]
        given["parameters"] = given.pop("ordered")
        del given["velocities"], given["independent"]
        return partial(System, **given), ()

    def _repr_html_(self) -> str:
        return views.system_table(self)

    # -- analysis, equations, code ------------------------------------------------------------------------------
    def structure_constants(self, with_time: bool = False) -> list[list[list[Any]]]:
        """c[a][b][i] of [X_a, X_b] = c_ab^i X_i, as SymPy expressions (constants or functions of t, x).

        With `with_time` row 0 holds c_0b^i of [X_0, X_b] and the fields X_a follow as rows 1, 2, ...

        >>> from chaplygin.systems import example
        >>> example("heavy_top").system.structure_constants()[0][1]      # [X_1, X_2] = X_3
        [0, 0, 1]
        """
        return views.structure_expressions(self, with_time)

    def cyclic_velocities(self) -> tuple[sp.Symbol, ...]:
        """The velocities eta_r with X_r L = 0, [X_r, X_b] = 0 for all b, [X_0, X_r] = 0 and Q_r = 0.

        Without constraints dL/d eta_r is then constant, and `routh` can eliminate eta_r.

        >>> from chaplygin.systems import example
        >>> example("heavy_top").system.cyclic_velocities()
        ()
        """
        return tuple(self.velocities[r] for r in cyclic_velocities(self.nodes.graph.copy(), self))

    def equations(self, form: str | None = None, **options: Any) -> Equations:
        """Derive the equations of motion in one form; see `chaplygin.codegen.forms` for forms and options.

        The default is the simplest form that fits, as in `compile`. Raises FormError, naming the hypothesis that
        fails, if the form does not fit.

        >>> from chaplygin.systems import example
        >>> example("heavy_top").system.equations().form
        'poincare'
        """
        return chaplygin.Equations(derive(self, fitting(self) if form is None else form, **options))

    def compile(
        self,
        form: str | None = None,
        *,
        reproducible: bool = True,
        wait: bool = False,
        progress: bool | None = None,
        events: Sequence[Event] = (),
        methods: Sequence[Pair | str] = (),
        backend: Literal["c", "python"] = "c",
        **options: Any,
    ) -> Model:
        """Derive, emit and compile, or load the compiled model from the cache; returns a `Model`.

        The default is the simplest form that fits: `lagrange` if the velocities are coordinate rates, otherwise
        `poincare`, and `recursive` for a tree of bodies with 12 velocities or more and no constraints; `maggi` with
        constraints or a parametrization; `multipliers` if the declaration contains a multiplier, or if no velocities
        determine the others wherever the system moves and the declaration keeps none.

        `reproducible=True` gives the same bits whatever the compiler and CPU: multiply-adds are written out in the
        emitted code. False lets the compiler contract what it likes.

        `events` are added after those of the system, `methods` to the integration methods of the runtime: pairs, see
        `chaplygin.Pair`, or "taylor", see docs/taylor.md. The kernels that a run starts with are compiled here; the
        others (outputs, invariants, Jacobian) when they are first used. A method that has called a right-hand side of
        up to 12 velocities a million times is compiled with it inlined, within 0.2 to 0.5 s; this makes it faster and
        changes no bit of the results. `wait=True` compiles every kernel, and the methods that runs take by default,
        before this returns; so does `reproducible=False` with the methods.

        Without a C compiler this is an error, which says how to get one. With ``backend="python"`` nothing is compiled:
        the model has its kernels as Python functions and `integrate` with SciPy's methods (`dop853`, `rk45`, `rk23`,
        `radau`, `bdf`), about a hundred times slower. What it cannot do (events, contacts, projections, steppers,
        ensembles, derivatives, exports) is refused by name.

        After a second, a line on stderr says what is waited for: in a terminal or a notebook alone, always with
        `progress=True`, never with `progress=False` or with the environment variable CHAPLYGIN_PROGRESS=0.

        Raises FormError, BuildError, NoCompilerError, CacheError and ArgumentError.
        """
        more = sequence("events", events)
        system = self.with_events(more) if more else self
        return compile_system(
            system, form, How.checked(reproducible, wait, progress, backend), methods, options
        )

    def emit(
        self,
        form: str | Path | None = None,
        folder: str | Path | None = None,
        *,
        force: bool = False,
        targets: Sequence[str] | None = None,
        **options: Any,
    ) -> list[Path]:
        """Write the C sources (.c .h) and the Cython module (.pyx .pxd .pyi) into a folder; returns the paths.

        With a folder alone, the form is chosen as in `compile`. The folder gets every header that the sources
        include. Files that an earlier `emit` wrote are replaced, others only with `force`. `targets`: what to write, of
        `chaplygin.codegen.emit.targets.TARGETS`; by default the C core, its lanes and the Cython module.

        Raises FormError, EmitError, and ArgumentError if the folder is missing.
        """
        if folder is None:
            form, folder = None, form
        if folder is None or (isinstance(folder, str) and folder in forms()):
            raise ArgumentError(
                "emit: folder is missing; give the folder to write to, as in emit('maggi', 'out')"
            )
        if form is not None and not isinstance(form, str):
            raise ArgumentError(f"emit: form = {short(form)} is not the name of a form")
        return self.equations(form, **options).emit(folder, force=force, targets=targets)


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
