"""What the bodies and interactions of a system contribute to T, V and Q, and checks of their declaration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy as sp

from ..graph.evaluate import evaluate
from ..graph.from_sympy import Lowering
from ..graph.graph import Graph, Node
from ..graph.to_sympy import expressions
from .bodies import Body
from .interactions import Interaction
from .screws import Flow, Screw
from .symbols import Coordinate, DeclarationError

if TYPE_CHECKING:
    from .system import System


@dataclass(frozen=True, eq=False)
class Mechanism:
    """What bodies and interactions contribute to a `System`: nodes of T, V and Q_a, and the flow that built them."""

    kinetic: Node
    potential: Node
    forces: Mapping[sp.Symbol, Node]
    flow: Flow


def entries(bodies: Sequence[Body], interactions: Sequence[Interaction]) -> list[tuple[str, Any]]:
    """Every expression of the bodies and interactions, labelled with the place of its declaration."""
    found = [entry for body in bodies for entry in body.entries()]
    for i, item in enumerate(interactions):
        where = f"interactions[{i}] ({type(item).__name__})"
        for name, e in item.entries():
            parts = list(e) if isinstance(e, sp.MatrixBase) else [e]
            found += [(f"{where}: {name}", part) for part in parts]
    return found


def mechanism(bodies: Sequence[Body], interactions: Sequence[Interaction], flow: Flow) -> Mechanism:
    """T, V and Q of bodies and interactions along the flow."""
    g = flow.graph
    potentials = [item.potential(flow, bodies) for item in interactions]
    return Mechanism(
        g.sum(flow.energy(b) for b in bodies),
        g.sum(v for v in potentials if v is not None),
        flow.generalised_forces([pair for item in interactions for pair in item.loads(flow)]),
        flow,
    )


class Screws(Mapping[str, Screw]):
    """The screws of a system's bodies by name, as SymPy expressions built on first access."""

    def __init__(self, system: System, flow: Flow | None) -> None:
        self._system, self._flow = system, flow
        self._made: dict[str, Screw] = {}

    def __getitem__(self, name: str) -> Screw:
        if name not in self._made:
            body = next((b for b in self._system.bodies if b.name == name), None)
            if body is None or self._flow is None:
                raise KeyError(name)
            self._made[name] = self._screw(self._flow, body)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return (b.name for b in self._system.bodies)

    def __len__(self) -> int:
        return len(self._system.bodies)

    def _screw(self, flow: Flow, body: Body) -> Screw:
        symbols = {s.name: s for s in self._system.all_symbols()}
        omega, speed = flow.omega(body), flow.speed(body)

        def column(v: Sequence[Node]) -> Any:
            return sp.Matrix(expressions(flow.graph, v, symbols))

        def pair(eta: Node | None) -> tuple[Any, Any]:
            return column(flow.partial(omega, eta)), column(flow.partial(speed, eta))

        partial = {s: pair(eta) for s, eta in flow.velocities.items()}
        return Screw(body, column(omega), column(speed), partial, pair(None))


def check_declared(
    system: str,
    kinematics: Mapping[sp.Symbol, Any],
    bodies: Sequence[Body],
    interactions: Sequence[Interaction],
) -> None:
    """Reject duplicate body names, parents and interaction bodies missing from `bodies`, and poses that contain a
    coordinate without kinematics."""
    where, known = f"System {system!r}", {}
    for body in bodies:
        if not isinstance(body, Body):
            raise DeclarationError(f"{where}: bodies: {body!r} is not a Body; make it with Body(...)")
        if body.name in known:
            raise DeclarationError(f"{where}: bodies: the name {body.name!r} is used twice")
        known[body.name] = body
    for body in bodies:
        if body.parent is not None and known.get(body.parent.name) is not body.parent:
            raise DeclarationError(
                f"{where}: Body {body.name!r}: its parent {body.parent.name!r} is not among bodies "
                f"({', '.join(known)}); add it, with mass 0 if it is only a frame"
            )
        for entry in ("mass", "inertia", "rotation", "center"):
            for s in sorted(getattr(body, entry).free_symbols, key=str):
                if isinstance(s, Coordinate) and s not in kinematics:
                    raise DeclarationError(
                        f"{where}: Body {body.name!r}: {entry}: the coordinate {s} has no kinematics in the system"
                    )
    for i, item in enumerate(interactions):
        if not isinstance(item, Interaction):
            raise DeclarationError(
                f"{where}: interactions[{i}] is {type(item).__name__}; give Weight, Wrench, Spring, Damper or Motor"
            )
        for body in item.bodies:
            if known.get(body.name) is not body:
                raise DeclarationError(
                    f"{where}: interactions[{i}] ({type(item).__name__}): the body {body.name!r} is not among bodies "
                    f"({', '.join(known) or 'none'})"
                )


def check_bodies(system: str, bodies: Sequence[Body], point: Mapping[str, float], given: set[str]) -> None:
    """Check rotations, masses and inertias at the example point; `given` has the names of the symbols that it sets."""
    import numpy as np

    def numbers(where: str, e: Any) -> Any:
        if not {s.name for s in e.free_symbols} <= point.keys():
            return None  # a parameter that drops out of T and V and has no example value
        g = Graph()
        nodes = Lowering(g, {s: g.symbol(s.name) for s in e.free_symbols}).lower(list(e))
        try:
            return np.array(evaluate(g, nodes, point), dtype=float).reshape(e.shape)
        except (ArithmeticError, ValueError) as error:
            raise DeclarationError(f"{where} fails at the example point: {error}") from None

    for body in bodies:
        where = f"System {system!r}: Body {body.name!r}"
        mass = numbers(f"{where}: mass", sp.Matrix([body.mass]))
        if mass is not None and mass[0, 0] < 0:
            raise DeclarationError(
                f"{where}: mass is {mass[0, 0]:.6g} at the example point; it must not be negative"
            )
        inertia = numbers(f"{where}: inertia", body.inertia)
        moments = np.zeros(3) if inertia is None else np.linalg.eigvalsh(inertia)
        if moments[0] < -1e-9 * (1 + abs(moments[-1])):
            raise DeclarationError(
                f"{where}: inertia has the central principal moments {', '.join(f'{v:.6g}' for v in moments)} at the "
                "example point; they must not be negative (if it is taken about another point, pass about=)"
            )
        r = numbers(f"{where}: rotation", body.rotation)
        if r is None:
            continue
        product = r.T @ r
        size = float(np.trace(product)) / 3
        scaled = np.abs(product - size * np.eye(3)).max() <= 1e-8 * size and np.linalg.det(r) > 0
        # If |q| != 1, a quaternion's matrix is a multiple of a rotation: an error only if the example sets q.
        meant = {s.name for s in body.rotation.free_symbols if isinstance(s, Coordinate)} <= given
        if not scaled or (meant and abs(size - 1) > 1e-8):
            lengths = ", ".join(f"{v:.6g}" for v in np.linalg.norm(r, axis=0))
            raise DeclarationError(
                f"{where}: rotation is not a rotation at the example point: its columns have the lengths {lengths}, "
                f"its determinant is {np.linalg.det(r):.6g}; columns are the body axes, orthonormal and right-handed"
                " (for a quaternion give unit values in example)"
            )
