"""The digest of a declaration, the key of its models in the cache: it changes whenever the emitted code would."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ..graph.graph import Graph, Node
from ..symbols.symbols import assumed
from .nodes import SystemNodes


def digest(system: SystemNodes) -> str:
    """The hash of the canonical text; equal declarations have equal digests."""
    return hashlib.sha256(canonical(system).encode()).hexdigest()


def canonical(system: SystemNodes) -> str:
    """The declaration as a single text, the same in every process."""
    g, declared = system.graph, system.declaration
    roots = [*system.fields.components, system.kinetic, system.potential]
    roots += [*system.forces, *system.constraint_offsets, *(n for row in system.constraint_rows for n in row)]
    roots += [*system.beta, *system.outputs.values(), *system.holonomic]
    roots += [n for c in system.contacts for n in (c.offset, *c.row, c.normal, c.mu)]
    roots += [n for e in system.events for n in e.expressions]
    roots += [] if declared.law is None else [system.entries[place] for place, _ in declared.law.entries()]
    number, described = numbered(g, roots)
    lines = [declared.name]
    lines += [
        f"{type(s).__name__} {s.name} {assumed(s)} {declared.example.get(s)!r} {declared.units.get(s, '')!r} "
        f"{declared.descriptions.get(s, '')!r}"
        for s in system.all_symbols()
    ]
    lines += [f"{n} {number[system.outputs[n]]}" for n in declared.outputs]
    lines += sorted(
        f"{k} {v!r}" for texts in (declared.units, declared.descriptions) for k, v in texts.items()
    )
    lines += described
    lines += [f"contact {c.name}" for c in system.contacts]
    lines += [f"event {e.name} {e.direction} {e.terminal} {[str(k) for k in e.reset]}" for e in system.events]
    lines += [f"condition of {e.name}" for e in system.events if e.when is not None]
    lines += [] if declared.law is None else [declared.law.text()]
    lines += [f"kept {v}" for v in declared.kept]
    lines += [f"quaternion {q}" for q in declared.quaternions]
    lines.append(f"{len(system.constraints)} {[number[r] for r in roots]}")
    return "\n".join(lines)


def numbered(g: Graph, roots: Sequence[Node]) -> tuple[dict[Node, int], list[str]]:
    """The nodes of expressions, numbered as they are met, and a line for each: the same for equal expressions."""
    number = {n: i for i, n in enumerate(g.reachable(roots))}
    return number, [f"{g.op[n]} {g.value.get(n, '')} {[number[a] for a in g.args[n]]}" for n in number]
