"""What each kind of SymPy model says: coordinates, speeds, kinematics, constraints, bodies and loads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.physics.biomechanics.musculotendon import MusculotendonBase
from sympy.physics.mechanics import (
    JointsMethod,
    KanesMethod,
    LagrangesMethod,
    SymbolicSystem,
    System as JointedSystem,
    dynamicsymbols,
)

from ..symbols.symbols import DeclarationError
from .kinematics import kinematics

Expression = Any
ACCEPTED = (
    "a KanesMethod, a LagrangesMethod, a System, a JointsMethod, a SymbolicSystem or (M, f, kinematics)"
)


@dataclass(frozen=True)
class Source:
    """A SymPy model in dynamicsymbols, whatever its class.

    `kinematics` gives q' in speeds; `velocity` are the constraints on speeds, `holonomic` those on coordinates, whose
    rates are among `velocity` if `rates_given`; `independent` are the speeds that determine the others. There is a
    `lagrangian`, or there are `bodies`, or M and f as `given`. `states` are first-order states besides q and u, such as
    the activation of a muscle, with their rates.
    """

    q: tuple[Expression, ...]
    u: tuple[Expression, ...]
    kinematics: Mapping[Expression, Expression]
    frame: Any = None
    auxiliary: tuple[Expression, ...] = ()
    holonomic: tuple[Expression, ...] = ()
    velocity: tuple[Expression, ...] = ()
    rates_given: bool = False
    independent: tuple[Expression, ...] = ()
    bodies: tuple[Any, ...] = ()
    loads: tuple[Any, ...] = ()
    lagrangian: Expression = None
    given: tuple[Any, Any] | None = None
    states: Mapping[Expression, Expression] = field(default_factory=dict)

    def with_states(self, more: Mapping[Any, Expression]) -> Source:
        """The same with further states {f: df/dt}, all of them behind q, their rates without those of q.

        Raises DeclarationError, naming the state, for one that has an equation already, or a rate that contains rates
        of states.
        """
        t = dynamicsymbols._t
        named = {dynamicsymbols(f) if isinstance(f, str) else f: sp.sympify(e) for f, e in more.items()}
        every = {**self.states, **named}
        taken = {*self.q, *self.u, *self.auxiliary}
        known = {x.diff(t): e for x, e in self.kinematics.items()}
        rates = {}
        for f, e in every.items():
            if not isinstance(f, AppliedUndef) or f.args != (t,) or f in taken:
                raise DeclarationError(
                    f"from_sympy: states: {f} is not a dynamicsymbol besides the coordinates and speeds"
                )
            rates[f] = e.doit().xreplace(known)
            circular = sorted((g for g in every if rates[f].has(g.diff(t))), key=str)
            if circular:
                raise DeclarationError(
                    f"from_sympy: the rate of the state {f} contains that of {circular[0]}; solve the equations of the "
                    "states for their rates"
                )
        return replace(self, q=(*self.q, *rates), kinematics={**self.kinematics, **rates}, states=rates)


def source(model: Any, states: Mapping[Any, Expression]) -> Source:
    """Read a SymPy model; its own equations of motion are neither formed nor needed if it has bodies.

    `states` are {f: df/dt}; those of the muscles of a `System` join them.

    Raises DeclarationError for anything else, and for a model without bodies and equations.
    """
    return _read(model).with_states(states)


def _read(model: Any) -> Source:
    if isinstance(model, KanesMethod):
        return _kane(model)
    if isinstance(model, LagrangesMethod):
        return _lagrange(model)
    if isinstance(model, JointedSystem):
        return _jointed(model)
    if isinstance(model, JointsMethod):
        return _joints(model)
    if isinstance(model, SymbolicSystem):
        return _symbolic(model)
    if isinstance(model, (tuple, list)) and len(model) in (3, 4):
        return _plain(*model)
    raise DeclarationError(f"from_sympy: the model is {type(model).__name__}; give {ACCEPTED}")


def _kane(model: Any) -> Source:
    q, u = tuple(model.q), tuple(model.u)
    if not model._qdot_u_map:
        raise DeclarationError("from_sympy: the KanesMethod has no kinematics; give it kd_eqs=")
    bodies = tuple(model._bodylist or ())
    if not bodies:
        raise DeclarationError(
            "from_sympy: the KanesMethod has no bodies; give it bodies= and forcelist=, or call "
            "kanes_equations(bodies, loads)"
        )
    rows = model._k_nh * sp.Matrix(u) + model._f_nh if model._k_nh else ()
    return Source(
        q=q,
        u=u,
        kinematics=kinematics(q, u, _kinematic_equations(model), model._qdot_u_map),
        frame=model._inertial,
        auxiliary=tuple(model._uaux),
        holonomic=tuple(model._f_h),
        velocity=tuple(rows),
        rates_given=True,
        independent=u[: len(u) - len(model._udep)],
        bodies=bodies,
        loads=tuple(model._forcelist or ()),
    )


def _kinematic_equations(model: Any) -> Any:
    """Those of a KanesMethod as they were given."""
    rates = sp.Matrix([x.diff(dynamicsymbols._t) for x in model.q])
    return model._k_kqdot_implicit * rates + model._k_ku_implicit * sp.Matrix(model.u) + model._f_k_implicit


def _lagrange(model: Any) -> Source:
    q, t = tuple(model.q), dynamicsymbols._t
    closed = len(model._hol_coneqs)
    if model.forcelist and model.inertial is None:
        raise DeclarationError("from_sympy: the LagrangesMethod has a forcelist and no frame; give it frame=")
    return Source(
        q=q,
        u=tuple(x.diff(t) for x in q),
        kinematics={x: x.diff(t) for x in q},
        frame=model.inertial,
        holonomic=tuple(model._hol_coneqs),
        velocity=tuple(model.coneqs)[closed:],
        bodies=tuple(model.bodies or ()),
        loads=tuple(model.forcelist or ()),
        lagrangian=model._L[0],
    )


def _jointed(model: Any) -> Source:
    if isinstance(model.eom_method, LagrangesMethod):
        return _lagrange(model.eom_method)
    q, u = tuple(model.q), tuple(model.u)
    if not model.bodies:
        raise DeclarationError("from_sympy: the System has no bodies; add some with add_bodies or add_joints")
    own = model._vel_constrs is not None
    loads = [*model.loads, *(load for actuator in model.actuators for load in actuator.to_loads())]
    return Source(
        q=q,
        u=u,
        kinematics=kinematics(q, u, model.kdes),
        frame=model.frame,
        auxiliary=tuple(model.u_aux),
        holonomic=tuple(model.holonomic_constraints),
        velocity=tuple(model.velocity_constraints if own else model.nonholonomic_constraints),
        rates_given=own,
        independent=tuple(model.u_ind),
        bodies=tuple(model.bodies),
        loads=tuple(loads),
        states=_of_muscles(model.actuators),
    )


def _of_muscles(actuators: Iterable[Any]) -> dict[Expression, Expression]:
    """The states of muscles, which are activations and, of elastic tendons, lengths or forces, with their rates."""
    muscles = [a for a in actuators if isinstance(a, MusculotendonBase)]
    return {f: e for muscle in muscles for f, e in zip(muscle.x, muscle.rhs(), strict=True)}


def _joints(model: Any) -> Source:
    if isinstance(model.method, LagrangesMethod):
        return _lagrange(model.method)
    q, u = tuple(model.q), tuple(model.u)
    return Source(
        q=q,
        u=u,
        kinematics=kinematics(q, u, model.kdes),
        frame=model.frame,
        bodies=tuple(model.bodies),
        loads=tuple(model.loads),
    )


def _symbolic(model: Any) -> Source:
    mass, force, rates = model._dyn_implicit_mat, model._dyn_implicit_rhs, model._kin_explicit_rhs
    if mass is None or rates is None:
        raise DeclarationError(
            "from_sympy: the SymbolicSystem is not of the form M u' = f with coordinate derivatives; give it "
            "mass_matrix= and coordinate_derivatives="
        )
    q, u = tuple(model.coordinates), tuple(model.speeds)
    return _plain(mass, force, dict(zip(q, rates, strict=True)), u)


def _plain(mass: Any, force: Any, kinematics: Any, speeds: Iterable[Expression] | None = None) -> Source:
    """(M, f, kinematics), and the speeds if the kinematics do not show their order."""
    t = dynamicsymbols._t
    if not isinstance(kinematics, Mapping) or not kinematics:
        raise DeclarationError("from_sympy: kinematics must be {q: dq/dt}, with every coordinate")
    rates = {k.args[0] if isinstance(k, sp.Derivative) else k: sp.sympify(e) for k, e in kinematics.items()}
    shown = all(e.is_Function or (isinstance(e, sp.Derivative) and e == x.diff(t)) for x, e in rates.items())
    if speeds is None and not shown:
        raise DeclarationError(
            "from_sympy: the kinematics do not show the order of the speeds in M; give (M, f, kinematics, speeds)"
        )
    u = tuple(rates.values()) if speeds is None else tuple(speeds)
    mass, force = sp.Matrix(mass), sp.Matrix(force)
    k, extra = len(u), mass.cols - mass.rows
    if mass.rows != k or force.shape != (k, 1) or not 0 <= extra < k:
        raise DeclarationError(
            f"from_sympy: M has shape {mass.shape} and f {force.shape} for {k} speeds; give ({k}, {k}) or, with "
            f"columns of m < {k} multipliers, ({k}, {k} + m), and ({k}, 1)"
        )
    # [M | -A^T]: each column of a multiplier is a constraint A u = 0.
    rows = tuple(tuple(-mass[i, k + s] for i in range(k)) for s in range(extra))
    velocity = tuple(sp.Add(*(a * v for a, v in zip(row, u, strict=True))) for row in rows)
    return Source(q=tuple(rates), u=u, kinematics=rates, velocity=velocity, given=(mass[:, :k], force))
