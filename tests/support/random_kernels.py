"""Random kernels, made on the graph as the passes may leave them, and one C file that calls all of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from mpmath import mp, mpf

from chaplygin.codegen.emit.c_core import kernel_text
from chaplygin.codegen.emit.c_lanes import lane_kernel
from chaplygin.codegen.emit.function_bodies import body
from chaplygin.codegen.emit.node_text import LANE_KERNEL
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.graph.functions import ELEMENTARY
from chaplygin.codegen.graph.graph import RELATIONS, Graph, Node
from chaplygin.codegen.lower.lowered import Kernel, KernelRow, Lowered
from chaplygin.codegen.plan.plan import Program
from chaplygin.runtime.interface.description import Variable

STATES, PARAMETERS, INPUTS = ("x", "y", "z"), ("a", "b"), ("u",)
NAMES = ("t", *STATES, *PARAMETERS, *INPUTS)
_BETWEEN = {"asin", "acos", "atanh", "tan"}
_ABOVE = {"sqrt", "log", "acosh", "pow"}


class _Draw:
    """Random expressions of moderate size, without singularities, some of them not in the graph's normal form."""

    def __init__(self, g: Graph, seed: int) -> None:
        self.g, self.random = g, random.Random(seed)
        self.known = [g.symbol(name) for name in NAMES]

    def number(self) -> Node:
        value = Fraction(self.random.choice([-3, -1, 1, 2, 5]), self.random.choice([1, 1, 2, 10]))
        return self.random.choice([self.g.const(value), self.g.named(self.random.choice(["pi", "e"]))])

    def node(self, depth: int) -> Node:
        """A new node, or a known one, which is then used more than once."""
        r, g = self.random, self.g
        if depth == 0 or r.random() < 0.2:
            return r.choice([r.choice(self.known), r.choice(self.known), self.number()])
        make = g.same if r.random() < 0.6 else g.rebuild
        op = r.choice(["add", "sub", "mul", "mul", "neg", "neg", "div", "select", "call"])
        a = self.node(depth - 1)
        if op == "neg":
            found = make("neg", (a,))
        elif op in ("add", "sub", "mul"):
            found = make(op, (a, self.node(depth - 1)))
        elif op == "div":
            found = make("div", (a, self._within(self.node(depth - 1), "sqrt")))
        elif op == "select":
            values = (a, self.node(depth - 1))
            found = make("select", (self.condition(depth - 1, 2), *values))
        else:
            name = r.choice(sorted(row.name for row in ELEMENTARY))
            several = name in ("atan2", "min", "max", "pow")
            others = (self._within(self.node(depth - 1), "sin"),) if several else ()
            found = make(name, (self._within(a, name), *others))
        if g.op[found] in ("const", "bool"):  # a constant beyond all others, or folded
            return r.choice(self.known)
        self.known.append(found)
        return found

    def condition(self, depth: int, joined: int) -> Node:
        r = self.random
        if joined and r.random() < 0.5:
            parts = self.condition(depth, joined - 1), self.condition(depth, joined - 1)
            return self.g.same(r.choice(["and", "or"]), parts)
        sides = self.node(depth), r.choice([self.node(depth), self.number()])
        return self.g.same(r.choice(RELATIONS), sides)

    def _within(self, a: Node, name: str) -> Node:
        """Something of a in the domain of a function, and not large."""
        g = self.g
        bounded = g.call("sin", a)
        if name in _BETWEEN:
            return g.mul(g.const(Fraction(1, 2)), bounded)
        return g.add(g.two, bounded) if name in _ABOVE else bounded


def random_program(seeds: Sequence[int]) -> Lowered:
    """A program with a kernel `k<seed>` of two results for each seed; every other one is arranged."""
    g, kernels = Graph(), {}
    for seed in seeds:
        draw = _Draw(g, seed)
        outputs = (draw.node(5), draw.node(5))
        kernels[f"k{seed}"] = Kernel(f"k{seed}", outputs, ("", ""), effort=float(seed % 2))
    named = [tuple(Variable(n, kind) for n in names) for names, kind in zip(
        (STATES, PARAMETERS, INPUTS), ("coordinate", "parameter", "input"), strict=True
    )]  # fmt: skip
    return Lowered(
        "random", "given", "0" * 64, g, named[0], 0, named[1], named[2], (), (), (), "t", kernels,
        tuple(KernelRow(name, "") for name in kernels),
    )  # fmt: skip


def values_of(g: Graph, outputs: Sequence[Node], point: Sequence[float]) -> list[Any]:
    """The results by mpmath, at its current precision."""
    return evaluate(g, outputs, {n: mpf(v) for n, v in zip(NAMES, point, strict=True)}, precise=True)


def slopes_of(g: Graph, outputs: Sequence[Node], point: Sequence[float], along: Sequence[float]) -> list[Any]:
    """Their derivatives along a direction, by differences with 60 digits."""
    with mp.workdps(60):
        h = mpf(10) ** -20
        ends = [[mpf(p) + s * h * mpf(v) for p, v in zip(point, along, strict=True)] for s in (1, -1)]
        after, before = (values_of(g, outputs, end) for end in ends)
        return [(a - b) / (2 * h) for a, b in zip(after, before, strict=True)]


_HEAD = """#include <string.h>
#include "chaplygin.h"
#include "cg_real.h"
#undef CG_INLINE /* a thousand copies of elementary functions take gcc minutes */
#define CG_INLINE inline
#include "cg_math.h"
"""

_CALL = """
int call_{0}(const double *given, double *out);
int call_{0}(const double *given, double *out)
{{
    double work[{1}] = {{0.0}};
    (void)work;
    return random_{0}(given[0], given + 1, given + 4, given + 6, out, work);
}}
"""

_CALL_LANES = """
int call_{0}(const double *given, double *out);
int call_{0}(const double *given, double *out)
{{
    cg_real_t all[{2}], found[{3}], work[{1}];
    for (int i = 0; i < {2}; i++) all[i] = cg_splat(given[i]);
    const cg_mask_t ok = random_{0}_lanes(all, all + 1, all + 4, all + 6, {4}found, work);
    (void)ok;
    for (int i = 0; i < {3}; i++) memcpy(out + i * CG_LANES, &found[i], sizeof(cg_real_t));
    return 0;
}}
"""


def c_unit(program: Program) -> str:
    """All kernels in C, each with a function `call_<kernel>` of (t, x, p, u) in one array, and the results."""
    parts = [_HEAD]
    for name in program.kernels:
        text = body(program, program.schedule(name))
        parts += [kernel_text(program, name, text, static=True), _CALL.format(name, text.work + 1)]
    return "\n".join(parts)


def lanes_unit(program: Program) -> str:
    """The same over lanes; directions follow the inputs."""
    parts = [_HEAD]
    for name, kernel in program.kernels.items():
        text = body(program, program.schedule(name), LANE_KERNEL)
        sizes = text.work + 1, 7 + kernel.directions, len(kernel.outputs)
        parts += [
            lane_kernel(program, name, text),
            _CALL_LANES.format(name, *sizes, "all + 7, " if kernel.directions else ""),
        ]
    return "\n".join(parts)
