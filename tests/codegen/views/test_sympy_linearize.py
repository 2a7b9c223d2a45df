"""Linear equations of the models in SymPy's tests of its `Linearizer`, written anew, against those that SymPy finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sympy as sp
import sympy.physics.mechanics as me
from refusals import refused
from sympy_oracle import formed, name_of

import chaplygin as cg

L, M, G, R = sp.symbols("L m g r", positive=True)


@dataclass
class Case:
    """A model, where it is linearized, and SymPy's A for the states named, at that point."""

    model: Callable[[], Any]
    point: Mapping[Any, Any]
    states: tuple[Any, ...]
    theirs: Callable[[Any, Mapping[Any, Any]], Any]
    about: Any = "equilibrium"
    example: Mapping[str, float] | None = None


def swinging(kane: bool) -> Any:
    q, u = me.dynamicsymbols("q1 u1")
    space, pivot = me.ReferenceFrame("N"), me.Point("O")
    pivot.set_vel(space, 0)
    rod = space.orientnew("A", "Axis", [q, space.z])
    rod.set_ang_vel(space, (u if kane else q.diff()) * space.z)
    bob = pivot.locatenew("P", L * rod.x)
    bob.v2pt_theory(pivot, space, rod)
    body, load = me.Particle("bob", bob, M), (bob, M * G * space.x)
    if kane:
        return me.KanesMethod(space, [q], [u], kd_eqs=[q.diff() - u], bodies=[body], forcelist=[load])
    return me.LagrangesMethod(me.Lagrangian(space, body), [q], forcelist=[load], frame=space)


def in_x_and_y(kane: bool) -> Any:
    q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
    space, pivot = me.ReferenceFrame("N"), me.Point("O")
    pivot.set_vel(space, 0)
    bob = pivot.locatenew("P", q1 * space.x + q2 * space.y)
    velocity = (u1, u2) if kane else (q1.diff(), q2.diff())
    bob.set_vel(space, velocity[0] * space.x + velocity[1] * space.y)
    body, load = me.Particle("bob", bob, M), (bob, M * G * space.x)
    if not kane:
        return me.LagrangesMethod(
            me.Lagrangian(space, body),
            [q1, q2],
            hol_coneqs=[q1**2 + q2**2 - L**2],
            forcelist=[load],
            frame=space,
        )
    return me.KanesMethod(
        space, [q2], [u2], kd_eqs=[q1.diff() - u1, q2.diff() - u2], q_dependent=[q1], u_dependent=[u1],
        configuration_constraints=[sp.sqrt(q1**2 + q2**2) - L], velocity_constraints=[q1 * u1 + q2 * u2],
        bodies=[body], forcelist=[load],
    )  # fmt: skip


def substituted_disk() -> Any:
    """A Lagrangian of a disk with the velocity of its contact put to zero, as SymPy's test takes it."""
    q = me.dynamicsymbols("q1:4")
    space, contact = me.ReferenceFrame("N"), me.Point("C")
    yaw = space.orientnew("Y", "Axis", [q[0], space.z])
    lean = yaw.orientnew("L", "Axis", [q[1], yaw.x])
    disk = lean.orientnew("R", "Axis", [q[2], lean.y])
    contact.set_vel(space, 0)
    centre = contact.locatenew("D", R * lean.z)
    centre.v2pt_theory(contact, space, disk)
    tensor = me.inertia(lean, M * R**2 / 4, M * R**2 / 2, M * R**2 / 4)
    body = me.RigidBody("disk", centre, disk, M, (tensor, centre))
    body.potential_energy = -M * G * R * sp.cos(q[1])
    return me.LagrangesMethod(me.Lagrangian(space, body), q)


def disk_with_its_centre() -> Any:
    """A disk that rolls, with the coordinates of its centre and the velocity of the centre in axes of the disk."""
    q, u = me.dynamicsymbols("q1:7"), me.dynamicsymbols("u1:7")
    space, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(space, 0)
    yaw = space.orientnew("A", "Axis", [q[0], space.z])
    lean = yaw.orientnew("B", "Axis", [q[1], yaw.x])
    disk = lean.orientnew("C", "Axis", [q[2], lean.y])
    centre = origin.locatenew("CO", sum((x * e for x, e in zip(q[3:], space, strict=True)), me.Vector(0)))
    turning, moving = disk.ang_vel_in(space), centre.pos_from(origin).dt(space)
    disk.set_ang_vel(space, sum((v * e for v, e in zip(u[:3], lean, strict=True)), me.Vector(0)))
    centre.set_vel(space, sum((v * e for v, e in zip(u[3:], disk, strict=True)), me.Vector(0)))
    contact = centre.locatenew("P", R * lean.z)
    contact.v2pt_theory(centre, space, disk)
    kd = [(turning - disk.ang_vel_in(space)).dot(e) for e in lean]
    kd += [(moving - centre.vel(space)).dot(e) for e in space]
    tensor = me.inertia(disk, M * R**2 / 4, M * R**2 / 2, M * R**2 / 4)
    rates = sp.solve(kd, [x.diff() for x in q])
    lean.set_ang_vel(space, lean.ang_vel_in(space).subs(rates))
    return me.KanesMethod(
        space, q[:5], u[:3], kd_eqs=kd, q_dependent=q[5:], u_dependent=u[3:],
        configuration_constraints=[q[5] + R * lean.z.dot(space.z)],
        velocity_constraints=[contact.vel(space).dot(e) for e in disk],
        bodies=[me.RigidBody("disk", centre, disk, M, (tensor, centre))], forcelist=[(centre, M * G * space.z)],
    )  # fmt: skip


def at_rest(model: Any, point: Mapping[Any, Any]) -> Any:
    """Accelerations of zero, as SymPy wants them with the point."""
    u = model.u if isinstance(model, me.KanesMethod) else [x.diff() for x in model.q]
    return {v.diff(): 0 for v in u} | dict(point)


def by_kane(model: Any, point: Mapping[Any, Any]) -> Any:
    return model.linearize(op_point=at_rest(model, point), A_and_B=True, simplify=True)[0]


def by_lagrange(free: int) -> Callable[..., Any]:
    """With the last `free` coordinates independent."""

    def found(model: Any, point: Mapping[Any, Any]) -> Any:
        q, op = list(model.q), at_rest(model, point)
        qd = [x.diff() for x in q]
        if model.coneqs:
            op |= model.solve_multipliers(op_point=op)
        split = len(q) - free
        return model.linearize(
            q[split:], qd[split:], q[:split], qd[:split], op_point=op, A_and_B=True, simplify=True
        )[0]

    return found


Q1, Q2, Q3, U1, U2, U3, SPIN = *me.dynamicsymbols("q1:4 u1:4"), sp.Symbol("Omega")
HANGING = {"q1": 1.0, "q2": 0.0, "L": 1.0}
REST = {Q1: 0, Q2: 0, Q3: 0}
CASES = {
    "pendulum by Kane": Case(lambda: swinging(True), {Q1: 0, U1: 0}, (Q1, U1), by_kane),
    "pendulum by Kane, upright": Case(lambda: swinging(True), {Q1: sp.pi, U1: 0}, (Q1, U1), by_kane),
    "pendulum by Lagrange": Case(
        lambda: swinging(False), {Q1: 0, Q1.diff(): 0}, (Q1, Q1.diff()), by_lagrange(1)
    ),
    "pendulum in x and y by Kane": Case(
        lambda: in_x_and_y(True), {Q1: L, Q2: 0, U1: 0, U2: 0}, (Q2, U2), by_kane, example=HANGING
    ),
    "pendulum in x and y by Lagrange": Case(
        lambda: in_x_and_y(False), {Q1: L, Q2: 0, Q1.diff(): 0, Q2.diff(): 0}, (Q2, Q2.diff()), by_lagrange(1)
    ),
    "substituted disk by Lagrange": Case(
        substituted_disk,
        REST | {Q1.diff(): 0, Q2.diff(): 0, Q3.diff(): SPIN},
        (Q1, Q2, Q3, Q1.diff(), Q2.diff(), Q3.diff()),
        by_lagrange(3),
        "steady",
    ),
}


SLOW = "substituted disk by Lagrange"
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name == SLOW else name for name in CASES]


def declared(equations: Any, expression: Any) -> Any:
    """An expression in SymPy's symbols with those of the equations, by name."""
    names = {s.name: s for s in (*equations.coordinates, *equations.velocities, *equations.system.parameters)}
    return sp.sympify(expression).xreplace(
        {s: names[s.name] for s in sp.sympify(expression).free_symbols if s.name in names}
    )


@pytest.mark.parametrize("name", NAMES)
def test_symbolic_matrices_are_those_of_sympy(name: str) -> None:
    case = CASES[name]
    expected = sp.Matrix(case.theirs(formed(case.model()), case.point))
    taken = cg.from_sympy(case.model(), "linear", example=case.example)
    equations = taken if isinstance(taken, cg.Equations) else taken.equations()
    symbols = {s.name: s for s in (*equations.coordinates, *equations.velocities)}
    point = {
        symbols[name_of(s)]: declared(equations, e) for s, e in case.point.items() if name_of(s) in symbols
    }
    found = equations.linearize(point, about=case.about)
    kept = [list(map(name_of, case.states)).index(s) for s in found.states]
    rows = expected.extract(kept, kept).applyfunc(lambda e: declared(equations, e))
    assert (found.A - rows).applyfunc(sp.simplify) == sp.zeros(len(kept))
    gone = [i for i in range(expected.rows) if i not in kept]
    assert all(expected[i, j] == 0 for i in kept for j in gone)  # what was dropped acts on nothing
    assert (len(gone) > 0) == (case.about == "steady")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(2)
def test_compiled_matrices_are_those_of_sympy(name: str) -> None:
    case = CASES[name]
    numbers = {L: 0.7, M: 1.3, G: 9.81, R: 0.4, SPIN: 3.0}
    expected = sp.Matrix(case.theirs(formed(case.model()), case.point)).subs(numbers)
    model = cg.from_sympy(case.model(), "linear", example=case.example).compile()
    state = {name_of(s): float(sp.sympify(e).subs(numbers)) for s, e in case.point.items()}
    found = model.linearize(
        {n: state[n] for n in model.states},
        {str(p): v for p, v in numbers.items() if str(p) in model.parameters},
        about=case.about,
    )
    kept = [list(map(name_of, case.states)).index(s) for s in found.states]
    theirs = np.array(expected.extract(kept, kept), float)
    np.testing.assert_allclose(found.A, theirs, rtol=1e-12, atol=1e-12)


def test_a_pivot_that_vanishes_at_the_point_is_named() -> None:
    """Without an example the speed kept may be that along the rod."""
    equations = cg.from_sympy(in_x_and_y(True), "linear").equations("maggi", independent=["u1"])
    rest = dict.fromkeys((*equations.coordinates, *equations.velocities), 0) | {equations.coordinates[1]: 1}
    words = "has no value at the point, where a pivot of the constraints is zero"
    refused(words, equations.linearize, rest, error=cg.FormError)


@pytest.mark.slow
def test_disk_with_dependent_speeds() -> None:
    """Upright rolling, m = r = g = 1: SymPy's A, which its own test has in closed form, at a spin of 3."""
    kane = disk_with_its_centre()
    spin = 3.0
    expected = np.zeros((3, 4))  # rates of q2, u1, u3 by q2, u1, u2, u3
    expected[0, 1] = 1
    expected[1] = [0.8, 0, 0, 6 * spin / 5]
    expected[2, 1] = -2 * spin
    model = cg.from_sympy(kane, "centred", example={"r": 1, "q6": -1, "q2": 0}).compile()
    state = dict.fromkeys(model.states, 0.0) | {"u2": spin, "q6": -1.0, "u4": -spin}
    state = {n: state[n] for n in model.states}
    found = model.linearize(state, {"m": 1, "r": 1, "g": 1}, about="steady")
    rows = [found.states.index(n) for n in ("q2", "u1", "u3")]
    columns = [found.states.index(n) for n in ("q2", "u1", "u2", "u3")]
    np.testing.assert_allclose(found.A[np.ix_(rows, columns)], expected, rtol=0, atol=1e-12)
