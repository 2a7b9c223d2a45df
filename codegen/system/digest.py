"""The digest of a declaration, the key of its models in the cache: it changes whenever the emitted code would."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..symbols.symbols import assumed

if TYPE_CHECKING:
    from ..graph.graph import Graph, Node
    from .system import System


def digest(system: System) -> str:
    """The hash of the canonical text; equal declarations have equal digests."""
    return hashlib.sha256(canonical(system).encode()).hexdigest()


def canonical(system: System) -> str:
    """The declaration as a single text, the same in every process."""
    nodes = system.nodes
    g = nodes.graph
    roots = [*nodes.fields.components, nodes.kinetic, nodes.potential]
    roots += [*nodes.forces, *nodes.constraint_offsets, *(n for row in nodes.constraint_rows for n in row)]
    roots += [*nodes.beta, *nodes.outputs.values(), *nodes.holonomic]
    roots += [n for c in nodes.contacts for n in (c.offset, *c.row, c.normal, c.mu)]
    roots += [n for e in nodes.events for n in (e.guard, *e.reset.values())]
    roots += [] if system.law is None else [nodes.entries[place] for place, _ in system.law.entries()]
    number, described = numbered(g, roots)
    lines = [system.name]
    lines += [
        f"{type(s).__name__} {s.name} {assumed(s)} {system.example.get(s)!r} {system.units.get(s, '')!r} "
        f"{system.descriptions.get(s, '')!r}"
        for s in system.all_symbols()
    ]
    lines += [f"{n} {number[nodes.outputs[n]]}" for n in system.outputs]
    lines += sorted(f"{k} {v!r}" for texts in (system.units, system.descriptions) for k, v in texts.items())
    lines += described
    lines += [f"contact {c.name}" for c in system.contacts]
    lines += [f"event {e.name} {e.direction} {e.terminal} {[str(k) for k in e.reset]}" for e in nodes.events]
    lines += [] if system.law is None else [system.law.text()]
    lines += [f"kept {v}" for v in system.kept]
    lines.append(f"{len(system.constraints)} {[number[r] for r in roots]}")
    return "\n".join(lines)


def numbered(g: Graph, roots: Sequence[Node]) -> tuple[dict[Node, int], list[str]]:
    """The nodes of expressions, numbered as they are met, and a line for each: the same for equal expressions."""
    number = {n: i for i, n in enumerate(g.reachable(roots))}
    return number, [f"{g.op[n]} {g.value.get(n, '')} {[number[a] for a in g.args[n]]}" for n in number]
