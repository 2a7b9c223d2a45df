"""What a compiled model answers by exact derivatives: gradients, equilibria, linear equations, exponents, orbits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from chaplygin import api
from chaplygin.runtime import analysis, gradients, sensitivities
from chaplygin.runtime.model.compiled_model import CompiledModel
from chaplygin.runtime.problem.options import GRADIENT_MEMORY, of_call, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from chaplygin.runtime.analysis.lyapunov import LyapunovExponents
    from chaplygin.runtime.analysis.periodic import PeriodicOrbit
    from chaplygin.runtime.analysis.steady import SteadyState
    from chaplygin.runtime.gradients.gradient import Gradient
    from chaplygin.runtime.problem.option_table import RunKeywords
    from chaplygin.runtime.results.solution import Solution

    from .objective import Objective


class ModelAnalysis(CompiledModel):
    """The methods of `Model` that use derivatives of its kernels."""

    def _integrate_varied(self, *given: Any) -> Solution:
        """`integrate` with `sensitivities`, for the binding."""
        return sensitivities.integrate(self, *given)

    @shown
    def gradient(
        self,
        loss: Any,
        t_span: tuple[float, float],
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        *,
        by: Any = None,
        memory: int = GRADIENT_MEMORY,
        **options: Unpack[RunKeywords],
    ) -> Gradient:
        """The derivatives of a loss along a run by parameters, initial values and constant inputs.

        The loss is an entry or a list of entries, which are added: ``cg.final(f)`` for a quantity or a SymPy expression
        at the end, ``cg.at_event(event, f)`` for one at an occurrence of an event, ``cg.first_passage(event)`` for the
        time of the first one, ``cg.integral(f)`` for its integral over the run, ``cg.squares(data)`` for the squares of
        residuals against measured series, and ``cg.loss(function, entry)`` for a Python function of samples that
        returns its value and its derivatives. `by` names what to differentiate by; without it, all parameters, then all
        initial values. The rest is as for `integrate`; steps end at the times of samples. The result is a `Gradient`.

        It is that of the steps as they were taken, to rounding errors, for all explicit Runge-Kutta methods: one run
        forward, and one backward with the adjoint right-hand side, whatever the number of names. `memory` is a bound
        in bytes on what is kept of the steps; those that do not fit are taken again, as in Griewank and Walther's
        Algorithm 799. docs/fitting.md has the equations.

        Events, contacts and jumps of the forces are gone back over by the transposed jumps of the sensitivities. Where
        an event ends the run, what is at the end is differentiated with the time of the event.

        Raises `ArgumentError` for a loss that is not differentiable, inputs f(t, y), and a method or a projection
        without an adjoint; `KernelError` if the run fails, or touches the surface of an event tangentially.

        >>> import chaplygin as cg
        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> found = model.gradient(cg.final("x"), (0, 1), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
        >>> round(found.value, 8), round(found["k"], 8)  # cos 2, -sin(2)/4
        (-0.41614684, -0.22732436)
        """
        how = of_call(ModelAnalysis.gradient, options)
        return gradients.loss_gradient(self, loss, t_span, initial, parameters, inputs, by, memory, how)

    @shown
    def objective(
        self,
        loss: Any,
        t_span: tuple[float, float],
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        *,
        free: Any = None,
        memory: int = GRADIENT_MEMORY,
        **options: Unpack[RunKeywords],
    ) -> Objective:
        """A loss as a function of the vector of the values of `free`, which returns the loss and its gradient.

        The arguments are as for `gradient`, `free` is its `by`; the values given are the `start` of the function, and
        assumptions such as ``positive=True`` its `bounds`. It is what ``scipy.optimize.minimize(..., jac=True)`` takes;
        ``to_jax()`` and ``to_torch()`` make functions of JAX and PyTorch of it. Raises `ArgumentError` as `gradient`.

        >>> import chaplygin as cg
        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> start = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
        >>> loss = model.objective(cg.final("x"), (0, 1), *start, free=["k"])
        >>> value, slope = loss([4.0])
        >>> round(value, 8), slope.round(8)  # cos 2, -sin(2)/4
        (-0.41614684, array([-0.22732436]))
        """
        how = of_call(ModelAnalysis.objective, options).ready(self)
        return api.Objective(self, loss, t_span, initial, parameters, inputs, free, memory, how)

    def linearize(
        self,
        state: Any,
        parameters: Any = None,
        inputs: Any = None,
        *,
        t: float = 0.0,
        about: Literal["equilibrium", "steady"] = "equilibrium",
    ) -> Any:
        """The linear equations near an equilibrium or a steady motion, a `Linearization`.

        d(xi)/dt = A xi + B du, dz = C xi + D du for small deviations xi of the independent states and du of the inputs;
        z are the dependent states and the outputs. Constraints and invariants of coordinates are eliminated,
        dy = N xi, A = N+ (dF/dy) N. The derivatives are exact. See docs/linearization.md.

        `state` and the others are as for `integrate`, at a single time; what `equilibrium` and `steady_motion` return
        can be given as it is. With about="steady", ignorable coordinates
        are dropped with their rows: those that no remaining equation depends on, again and again; their constant rates
        are outputs ``der(x)``. Where an entry is an array of N values, the result is a `Family` of N linearizations.

        Raises `ArgumentError` if the state is not at rest (or the motion not steady), and for a model with dry
        friction; a state slightly off gives a `ConsistencyWarning`. The first use compiles the derivatives.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> lin = model.linearize({"x": 0, "x_dot": 0}, {"m": 1, "k": 4})
        >>> lin.A
        array([[ 0.,  1.],
               [-4.,  0.]])
        >>> lin.eigenvalues
        array([0.-2.j, 0.+2.j])
        """
        return analysis.linearize(self, state, parameters, inputs, t, about)

    def equilibrium(
        self,
        guess: Any,
        parameters: Any = None,
        inputs: Any = None,
        *,
        keep: Sequence[str] = (),
        free: Sequence[str] = (),
        t: float = 0.0,
    ) -> SteadyState:
        """The state near `guess` in which nothing changes, dy/dt = F = 0 with h = 0, as a `SteadyState`.

        Newton's method on exact derivatives, in all states but those in `keep`, which have their values in `guess`,
        and in the parameters and inputs in `free`, for which `parameters` and `inputs` have the first guess (of an
        input, zero if it is left out). Velocities left out of `guess` are zero. h are the constraints and the
        invariants of redundant coordinates. Its `stability` is that of the linear equations.

        Raises `ArgumentError` with the residual if Newton's method does not converge, and with the directions if the
        solution is not isolated; for unknown and missing names; for equations that depend on the time or have dry
        friction; and if a free parameter violates the assumptions of its symbol.

        >>> from chaplygin.generated.double_pendulum import model
        >>> numbers = {"m1": 1, "m2": 0.7, "l1": 1, "l2": 0.6, "g": 9.81}
        >>> model.equilibrium({"theta1": 3, "theta2": 0.1}, numbers)
        <equilibrium of double_pendulum: theta1 = 3.14159, theta2 = 0, theta1_dot = 0, theta2_dot = 0; unstable>
        """
        return analysis.steady_state(self, "equilibrium", guess, parameters, inputs, keep, free, t)

    def steady_motion(
        self,
        guess: Any,
        parameters: Any = None,
        inputs: Any = None,
        *,
        keep: Sequence[str] = (),
        free: Sequence[str] = (),
        t: float = 0.0,
    ) -> SteadyState:
        """The steady motion near `guess` (relative equilibrium), such as rolling straight or in a circle.

        As `equilibrium`, but ignorable coordinates, which no remaining equation depends on, are left out with their
        rows and keep their values in `guess`. Steady motions mostly form families: `keep` says which one is meant,
        by a speed or an angle, and an error names the directions that are still free.

        >>> from chaplygin.generated.rolling_disk import model
        >>> numbers = {"m": 2, "R": 0.5, "A": 0.125, "B": 0.25, "g": 9.81}
        >>> guess = {"x": 0, "y": 0, "psi": 0, "alpha": 0.3, "theta": 0, "w2": 3, "w3": 2}
        >>> circle = model.steady_motion(guess, numbers, keep=["alpha", "w3"])
        >>> circle.unknowns
        ('w1', 'w2')
        """
        return analysis.steady_state(self, "steady", guess, parameters, inputs, keep, free, t)

    @shown
    def lyapunov(
        self,
        t_span: Any,
        initial: Any,
        parameters: Any = None,
        inputs: Any = None,
        *,
        n: int | None = None,
        transient: float = 0.0,
        interval: float | None = None,
        **options: Unpack[RunKeywords],
    ) -> LyapunovExponents:
        """The n largest Lyapunov exponents of a run, as `LyapunovExponents` with `values` and `errors`.

        The mean rates at which tangents of the state grow, dS/dt = (dF/dy) S, S = Q R again and again; all of them if n
        is left out: as many as the state has directions on the constraints and the invariants of its coordinates. The
        mean is over t_span, after `transient` in which the tangents find their directions. `interval` is the time
        between two factorizations; without it, it follows the growth. The other arguments are as for `integrate`.

        Events take the tangents along. Where a reset takes directions away, as a foot that stops, ask for fewer of the
        exponents with `n`.

        Raises `ArgumentError` for a model with dry friction, and for a run that ends early.

        Source: G. Benettin, L. Galgani, A. Giorgilli, J.-M. Strelcyn, Meccanica 15 (1980) 9-30.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> found = model.lyapunov((0, 1000), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
        >>> bool(abs(found.values).max() < 1e-2)
        True
        """
        how = of_call(ModelAnalysis.lyapunov, options)
        return analysis.lyapunov_exponents(
            self, t_span, initial, parameters, inputs, n, transient, interval, how
        )

    @shown
    def periodic(
        self,
        initial: Any,
        period: float,
        parameters: Any = None,
        inputs: Any = None,
        *,
        t: float = 0.0,
        keep: Sequence[Any] | None = None,
        turns: Mapping[Any, float] | None = None,
        drift: Sequence[Any] = (),
        **options: Unpack[RunKeywords],
    ) -> PeriodicOrbit:
        """The periodic motion near a guess of its start and period, y(T) = y(0), with its Floquet multipliers.

        Newton's method on exact derivatives. If the equations, or sampled inputs, depend on the time, the period is the
        given one, else it is solved for. Integrals make periodic motions families: `keep` names states and invariants
        that have their values in the guess, by default the energy if it is constant; of those that are left, the
        nearest one is returned. `turns` is by how much an angle that goes round changes in a period,
        ``{"phi": 2 * pi}``; `drift` names coordinates that need not come back, and on which nothing depends. The other
        arguments are as for `integrate`, but rtol and atol are 1e-12 if left out.

        `multipliers` are the eigenvalues of dy(T)/dy(0) that integrals, constraints, symmetries and the direction of
        the flow leave open; `n_ones` counts the others, which are 1. In Hamiltonian systems, each integral in
        involution beyond the energy, unless it belongs to an ignorable coordinate, leaves a further 1 in `multipliers`.

        Events with their resets belong to it: walkers, bouncing balls, clocks. Where the guess begins at a reset,
        as just after a strike, the search begins in the middle of a flight, at the time `t` of the result. A multiplier
        is 0 where a reset forgets a direction.

        Raises `ArgumentError` with the residual if Newton's method does not converge, and for a model with dry
        friction.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> orbit = model.periodic({"x": 1, "x_dot": 0}, 3, {"m": 1, "k": 4})
        >>> round(orbit.period, 9), orbit.n_ones  # pi; the flow and the energy
        (3.141592654, 2)
        """
        how = of_call(ModelAnalysis.periodic, options)
        return analysis.periodic_orbit(
            self, initial, period, parameters, inputs, t, keep, {} if turns is None else turns, drift, how
        )
