"""Models for the tests of other packages as hosts."""

from __future__ import annotations

import functools

import sympy as sp

import chaplygin as cg

SLEIGH = cg.example("chaplygin_sleigh")


@functools.cache
def sleigh_model() -> cg.Model:
    return SLEIGH.system.compile("maggi")


@functools.cache
def pushed_model() -> cg.Model:
    """m x'' = F + cos t."""
    x, m, force = cg.coordinates("x"), cg.parameters("m", positive=True), cg.inputs("F")
    v = cg.rate(x)
    push = force + sp.cos(cg.time)
    system = cg.System("pushed_in_time", coordinates=[x], kinetic=m * v**2 / 2, forces={v: push})
    return system.compile("lagrange")
