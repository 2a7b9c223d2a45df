"""Lagrange declarations with sparse mass matrices: a comb of pendulums, and rods that branch, in relative angles."""

from __future__ import annotations

import sympy as sp

import chaplygin as cg

NUMBERS = {"m": 1.3, "l": 0.5, "J": 0.03, "M": 4.0, "g": 9.81}


def comb(n: int) -> cg.System:
    """A carriage on a line, and n pendulums with moments of inertia that hang on it."""
    x, *angles = cg.coordinates(["x", *(f"a{i}" for i in range(n))])
    m, length, moment, carriage, g = cg.parameters("m l J M g", positive=True)
    kinetic = carriage * cg.rate(x) ** 2 / 2
    for a in angles:
        along, up = cg.rate(x) + length * sp.cos(a) * cg.rate(a), length * sp.sin(a) * cg.rate(a)
        kinetic += m * (along**2 + up**2) / 2 + moment * cg.rate(a) ** 2 / 2
    return cg.System(
        f"comb_{n}",
        coordinates=[x, *angles],
        kinetic=kinetic,
        potential=-m * g * length * sum(map(sp.cos, angles)),
    )


def branched(parents: list[int], name: str) -> cg.System:
    """Rods in a plane, each hinged to the end of its parent, in angles relative to it; -1 is the fixed point."""
    angles = cg.coordinates([f"a{i}" for i in range(len(parents))])
    m, length, moment, g = cg.parameters("m l J g", positive=True)
    turned, spin, ends, kinetic, height = [], [], [], sp.Integer(0), sp.Integer(0)
    for a, above in zip(angles, parents, strict=True):
        turned.append(a + (turned[above] if above >= 0 else 0))
        spin.append(cg.rate(a) + (spin[above] if above >= 0 else 0))
        vx, vy, y = ends[above] if above >= 0 else (0, 0, 0)
        half = [length * e / 2 for e in (sp.cos(turned[-1]) * spin[-1], sp.sin(turned[-1]) * spin[-1])]
        kinetic += m * ((vx + half[0]) ** 2 + (vy + half[1]) ** 2) / 2 + moment * spin[-1] ** 2 / 2
        height += y - length * sp.cos(turned[-1]) / 2
        ends.append((vx + 2 * half[0], vy + 2 * half[1], y - length * sp.cos(turned[-1])))
    return cg.System(name, coordinates=angles, kinetic=kinetic, potential=m * g * height)


def star(branches: int, links: int) -> cg.System:
    """Chains that hang from the end of one rod."""
    parents = [-1]
    for _ in range(branches):
        parents += [0, *(len(parents) + i for i in range(links - 1))]
    return branched(parents, f"star_{branches}_{links}")


def binary(depth: int) -> cg.System:
    """Every rod carries two, down to a depth."""
    return branched([-1, *((i - 1) // 2 for i in range(1, 2**depth - 1))], f"binary_{depth}")
