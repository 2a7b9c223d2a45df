"""`Equations`: the result of a derivation. M theta' = f and dx/dt in the graph, with SymPy and LaTeX views."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import sympy as sp

from chaplygin import api
from chaplygin.codegen import derive, emit, forms, views
from chaplygin.codegen.derive.equation_nodes import EquationNodes, Invariant
from chaplygin.codegen.derive.invariants import find, levels
from chaplygin.codegen.forms.choose import fitting
from chaplygin.codegen.graph.graph import Node
from chaplygin.codegen.lower.lower import lower
from chaplygin.codegen.lower.lowered_text import lowered_text
from chaplygin.codegen.plan.plan import plan
from chaplygin.codegen.views import to_sympy_system
from chaplygin.errors import ArgumentError, SizeWarning, warn_caller
from chaplygin.runtime.interface.arguments import boolean
from chaplygin.waiting import waiting

from .compiled import How, knowing, loaded, own_methods, started
from .model import Uncompiled

if TYPE_CHECKING:
    from pathlib import Path

    from chaplygin import System  # by its public name, since systems make equations
    from chaplygin.codegen.lower.lowered import Lowered
    from chaplygin.codegen.methods.pair import Pair
    from chaplygin.codegen.plan.plan import Program
    from chaplygin.codegen.views.linearize import LinearEquations

    from .model import Model

LARGEST_COUNTED_AS_EMITTED = 2000
"""Operations of M and f together up to which `Equations.operations` counts the emitted right-hand side."""

LONG = 60_000
"""Operations of M and f together from which on emitting and compiling take a minute: 120,000 take 70 s."""


@dataclass(frozen=True, eq=False)
class Equations(Uncompiled):
    """Equations of motion of a system in one form.

    dx/dt = rates(t, x, theta),   M(t, x) theta' = f(t, x, theta, u)

    With Coulomb contacts f contains the friction forces `friction_<contact>` (and in the form `multipliers` the
    multipliers `lambda_<s>`) as symbols; `chaplygin.codegen.derive.friction` gives the equations that determine them.

    Attributes
    ----------
    states : names of the states, coordinates x (n) then velocities theta (k).
    mass_matrix : SymPy matrix M (k, k), symmetric except in the form `given`; the unit matrix if the form gives
        theta' directly.
    forcing : SymPy matrix f (k, 1).
    kinematics : SymPy matrix dx/dt (n, 1).
    invariants : {name: SymPy expression}, conserved along every motion; `invariant_status` says how each was checked.
    residuals : {name: SymPy expression}, zero along every motion.
    outputs : {name: SymPy expression}.
    operations : {"mass_matrix", "forcing", "rhs", "divisions", "hoisted"}: the operations of M, of f and of one call
        of the emitted right-hand side, how many of the latter are divisions, and how many more are done once per
        parameter set. If M and f together have more than 2,000 operations, "rhs", "divisions" and "hoisted" count the
        right-hand side as derived, including the loops that factor and solve: the emitted one, counted by
        `program.schedule("rhs")`, results from a search for fewer operations that is slow at that size.
    program : the `Program` to be emitted.
    nodes : the same equations as nodes of the expression graph, an `EquationNodes`.

    >>> from chaplygin.systems import example
    >>> example("harmonic_oscillator").system.equations("lagrange").states
    ('x', 'x_dot')
    """

    nodes: EquationNodes

    @property
    def system(self) -> System:
        """The system whose equations these are."""
        return cast("System", self.nodes.system)

    @property
    def form(self) -> str:
        return self.nodes.form

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that were given to the form."""
        return self.nodes.options

    @property
    def title(self) -> str:
        return self.nodes.title

    @property
    def coordinates(self) -> tuple[sp.Symbol, ...]:
        """The coordinates among the states: all of them unless the form lets some drop out."""
        return self.nodes.coordinates

    @property
    def velocities(self) -> tuple[sp.Symbol, ...]:
        """The velocities among the states: those that the form integrates."""
        return self.nodes.velocities

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """Parameters that the form adds to those of the system."""
        return self.nodes.parameters

    @property
    def independent(self) -> sp.Symbol | None:
        """The coordinate by which the equations are differentiated; None for time."""
        return self.nodes.independent

    @property
    def states(self) -> tuple[str, ...]:
        return self.nodes.states

    @cached_property
    def program(self) -> Program:
        return plan(self._lowered.copy())

    @cached_property
    def _lowered(self) -> Lowered:
        """The program before its passes, with a graph of its own."""
        self._warn_of_size()
        return lower(self.nodes, lambda: self._found).copy()

    @cached_property
    def _found(self) -> tuple[Invariant, ...]:
        """The first integrals, searched for once, with their nodes and evidence."""
        return find(self.nodes)

    def _warn_of_size(self) -> None:
        """Issue a SizeWarning if emitting and compiling will take a minute, which cells and tensions do not."""
        eqs, system = self.nodes, self.nodes.system
        operations = eqs.graph.count_operations([*eqs.force, *(n for row in eqs.mass for n in row)])
        if eqs.cells or operations < LONG or derive.point_tree(eqs):
            return
        advice = "; use 'recursive'" if "recursive" == fitting(system) != self.form else ""
        warn_caller(
            f"{self.form}: M and f of {system.name!r} have {operations:,} operations for {len(eqs.force)} "
            f"velocities; to emit and compile them takes a minute or more{advice}",
            SizeWarning,
        )

    # -- onward -------------------------------------------------------------------------------------------------
    def compile(
        self,
        *,
        reproducible: bool = True,
        wait: bool = False,
        progress: bool | None = None,
        methods: Sequence[Pair | str] = (),
        backend: Literal["c", "python"] = "c",
    ) -> Model:
        """The compiled `Model` of these equations; see `chaplygin.compile`."""
        return compile(
            self, reproducible=reproducible, wait=wait, progress=progress, methods=methods, backend=backend
        )

    def emit(
        self, folder: str | Path, *, force: bool = False, targets: Sequence[str] | None = None
    ) -> list[Path]:
        """Write the C sources (.c .h) and the Cython module (.pyx .pxd .pyi) into a folder; see `System.emit`."""
        return emit.emit_to(
            self.program, folder, force=force, targets=emit.DEFAULT if targets is None else targets
        )

    def __getstate__(self) -> dict[str, Any]:
        """The nodes only; cached results are computed again after unpickling."""
        return {"nodes": self.nodes}

    # -- SymPy views --------------------------------------------------------------------------------------------
    @cached_property
    def mass_matrix(self) -> sp.Matrix:
        return to_sympy_system.mass_matrix(self.nodes)

    @cached_property
    def forcing(self) -> sp.Matrix:
        return to_sympy_system.forcing(self.nodes)

    @cached_property
    def kinematics(self) -> sp.Matrix:
        return to_sympy_system.kinematics(self.nodes)

    @property
    def invariants(self) -> dict[str, Any]:
        return self._shown({i.name: i.node for i in self._found})

    @property
    def invariant_status(self) -> dict[str, str]:
        """How each invariant was found: "proved" (a theorem whose hypotheses hold) or "checked" (to 60 digits)."""
        return {i.name: i.status for i in self._found}

    @property
    def residuals(self) -> dict[str, Any]:
        return self._shown(self.nodes.residuals_nodes)

    @property
    def outputs(self) -> dict[str, Any]:
        return self._shown(self.nodes.output_nodes)

    def _shown(self, named: Mapping[str, Node]) -> dict[str, Any]:
        return dict(zip(named, self.nodes.view(list(named.values())), strict=True))

    @property
    def operations(self) -> dict[str, int]:
        g = self.nodes.graph
        counts = {
            "mass_matrix": g.count_operations(n for row in self.nodes.mass for n in row),
            "forcing": g.count_operations(self.nodes.force),
        }
        if sum(counts.values()) > LARGEST_COUNTED_AS_EMITTED:
            found = api.derived_counts(self.nodes)
            return {**counts, "rhs": found.operations, "divisions": found.divisions, "hoisted": found.hoisted}
        rhs = self.program.schedule("rhs")
        hoisted = 0 if rhs.hoist is None else rhs.hoist.operations
        return {**counts, "rhs": rhs.operations, "divisions": rhs.divisions, "hoisted": hoisted}

    def reduced_system(self) -> System:
        """For the form `routh`: the reduced system as a separate `System`, with L = R.

        Raises FormError if the remaining displacements are not closed under brackets, or for any other form.
        """
        return type(self.system)._of(forms.reduced_system(self.nodes))

    def to_sympy_system(self) -> Any:
        """The equations as a `sympy.physics.mechanics.SymbolicSystem`, M theta' = f with dx/dt, in dynamicsymbols.

        States and inputs become dynamicsymbols of their names, the time `dynamicsymbols._t`; parameters stay symbols.

        Raises FormError if the independent variable is not the time, or if M and f contain forces or velocities that
        only loops compute.

        >>> from chaplygin.systems import example
        >>> example("harmonic_oscillator").system.equations("lagrange").to_sympy_system().dyn_implicit_rhs
        Matrix([[-k*x(t)]])
        """
        return views.symbolic_system(self.nodes)

    def linearize(
        self, point: Mapping[Any, Any], about: Literal["equilibrium", "steady"] = "equilibrium"
    ) -> LinearEquations:
        """d(xi)/dt = A xi + B du, dz = C xi + D du near an equilibrium or a steady motion, as SymPy matrices.

        The result has A, B, C, D and the names `states` of xi, `inputs` of u, `outputs` of z: the states that follow
        from xi by constraints, constant rates ``der(x)`` of dropped coordinates, the system's outputs. `point` maps
        states, inputs and parameters, by symbol or name, to numbers or expressions; what it leaves out stays as it is.
        As for `Model.linearize`, which is the way for larger systems, constraints are eliminated, and with
        about="steady" ignorable coordinates are dropped.

        Raises FormError if a rate is not zero at the point, and for forms with multipliers, momenta or contacts;
        ArgumentError for names that the system does not have.

        >>> import chaplygin as cg
        >>> system = cg.example("double_pendulum").system
        >>> hanging = dict.fromkeys((*system.coordinates, *system.velocities), 0)
        >>> system.equations("lagrange").linearize(hanging).A[2, 0]
        -g*(m1 + m2)/(l1*m1)
        """
        return views.linearized(self.nodes, lambda: levels(self.nodes, self._found), point, about)

    def latex(self, *, simplify: bool = False) -> str:
        """The equations as a LaTeX `aligned` environment (without dollar signs).

        With `simplify` each expression is written as `sympy.simplify` leaves it, which can take long; where expressions
        are so long that their shared parts get names, they are written as they are.

        >>> import chaplygin as cg
        >>> q = cg.coordinates("q")
        >>> falling = dict(kinetic=cg.rate(q) ** 2 / 2, potential=sp.log(1 + sp.sin(q) ** 2))
        >>> print(cg.System("s", coordinates=[q], **falling).equations().latex(simplify=True))
        \\begin{aligned}
        \\ddot{q} &= \\frac{2 \\sin{\\left(2 q \\right)}}{\\cos{\\left(2 q \\right)} - 3}
        \\end{aligned}
        """
        return views.equations_to_latex(self.nodes, boolean("simplify", simplify))

    def _repr_html_(self) -> str:
        return views.equations_table(self.nodes, self.invariant_status)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {views.equations_to_latex(self.nodes, short=True)}$"

    def __repr__(self) -> str:
        return f"Equations({self.system.name!r}, form={self.form!r}, states={self.states})"


def compile(
    equations: Equations,
    *,
    reproducible: bool = True,
    wait: bool = False,
    progress: bool | None = None,
    methods: Iterable[Pair | str] = (),
    backend: Literal["c", "python"] = "c",
) -> Model:
    """Return the compiled model of derived equations; see `System.compile`.

    The cache key is computed from the lowered program, so equations that were changed with `dataclasses.replace` are
    compiled as changed.
    """
    if not isinstance(equations, Equations):
        raise ArgumentError(
            f"compile needs Equations, not {type(equations).__name__}; for a System call system.compile(form)"
        )
    how, own = How.checked(reproducible, wait, progress, backend), own_methods(methods)
    with waiting(how.progress):
        lowered = equations._lowered
        digest = hashlib.sha256(repr((lowered_text(lowered), own)).encode()).hexdigest()
        model = loaded(
            equations.system, digest, lambda: equations.program, lambda: started(lowered, own), own, how
        )
    return knowing(model, lambda: equations.nodes)
