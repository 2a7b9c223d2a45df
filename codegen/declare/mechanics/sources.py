"""What each kind of SymPy model says: coordinates, speeds, kinematics, constraints, bodies and loads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.physics.mechanics import (
    JointsMethod,
    KanesMethod,
    LagrangesMethod,
    SymbolicSystem,
    System as JointedSystem,
    dynamicsymbols,
)

from ..symbols import DeclarationError
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
    `lagrangian`, or there are `bodies`, or M and f as `given`.
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


def source(model: Any) -> Source:
    """Read a SymPy model; its own equations of motion are neither formed nor needed if it has bodies.

    Raises DeclarationError for anything else, and for a model without bodies and equations.
    """
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
    )


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
    if mass.rows != k or force.shape != (k, 1) or extra < 0:
        raise DeclarationError(
            f"from_sympy: M has shape {mass.shape} and f {force.shape} for {k} speeds; give ({k}, {k}) or, with "
            f"columns of m multipliers, ({k}, {k} + m), and ({k}, 1)"
        )
    # [M | -A^T]: each column of a multiplier is a constraint A u = 0.
    rows = tuple(tuple(-mass[i, k + s] for i in range(k)) for s in range(extra))
    velocity = tuple(sp.Add(*(a * v for a, v in zip(row, u, strict=True))) for row in rows)
    return Source(q=tuple(rates), u=u, kinematics=rates, velocity=velocity, given=(mass[:, :k], force))
