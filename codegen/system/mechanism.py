"""What the bodies and interactions of a system contribute to T, V and Q."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from ..graph.graph import Node
from ..graph.to_sympy import expressions
from ..mechanics.bodies import Body
from ..mechanics.interactions import Interaction
from ..mechanics.screws import Flow, Screw


@dataclass(frozen=True, eq=False)
class Mechanism:
    """What bodies and interactions contribute to a `System`: nodes of T, V and Q_a, and the flow that built them."""

    kinetic: Node
    potential: Node
    forces: Mapping[sp.Symbol, Node]
    flow: Flow


def contributions(bodies: Sequence[Body], interactions: Sequence[Interaction], flow: Flow) -> Mechanism:
    """T, V and Q of bodies and interactions along the flow."""
    g = flow.graph
    potentials = [item.potential(flow, bodies) for item in interactions]
    return Mechanism(
        g.sum(energy(b) for energy in (flow.energy, flow.rotor_energy) for b in bodies),
        g.sum(v for v in potentials if v is not None),
        flow.generalised_forces([pair for item in interactions for pair in item.loads(flow)]),
        flow,
    )


class Screws(Mapping[str, Screw]):
    """The screws of a system's bodies by name, as SymPy expressions built on first access."""

    def __init__(self, bodies: Sequence[Body], symbols: Mapping[str, sp.Symbol], flow: Flow) -> None:
        self._bodies, self._symbols, self._flow = bodies, symbols, flow
        self._made: dict[str, Screw] = {}

    def __getitem__(self, name: str) -> Screw:
        if name not in self._made:
            body = next((b for b in self._bodies if b.name == name), None)
            if body is None:
                raise KeyError(name)
            self._made[name] = self._screw(body)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return (b.name for b in self._bodies)

    def __len__(self) -> int:
        return len(self._bodies)

    def _screw(self, body: Body) -> Screw:
        flow, symbols = self._flow, self._symbols
        omega, speed = flow.omega(body), flow.speed(body)

        def column(v: Sequence[Node]) -> Any:
            return sp.Matrix(expressions(flow.graph, v, symbols))

        def pair(eta: Node | None) -> tuple[Any, Any]:
            return column(flow.partial(omega, eta)), column(flow.partial(speed, eta))

        partial = {s: pair(eta) for s, eta in flow.velocities.items()}
        return Screw(body, column(omega), column(speed), partial, pair(None))
