"""The kernels that an FMU has beyond those of its model: frozen ones, and directional and adjoint derivatives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..lower.derivatives import adjoint, along, frozen, sides_of, variables
from ..lower.lowered import Kernel, Lowered
from .arrange import arranged


def with_fmu_kernels(program: Lowered, names: Iterable[str]) -> Lowered:
    """The program of `along_<name>` and `adjoint_<name>` for each kernel, and `frozen_<name>` if it has kinks.

    The derivatives are by the time, the states, the parameters and the inputs, in this order. Those of a frozen kernel
    are frozen too. The sides of the kinks follow the parameters in p.
    """
    g, kernels = program.graph, dict[str, Kernel]()
    sides, symbols = sides_of(program)
    for name in names:
        if name not in program.kernels:
            continue
        source = replace(program.kernels[name], labels={})
        if sides:
            made = frozen(g, program.unarranged[name], symbols)
            if made is not program.unarranged[name]:
                source = kernels[made.name] = replace(arranged(g, made), effort=0.0)
        by = variables(program, source)
        kernels[f"along_{name}"] = along(g, source, by, f"along_{name}")
        kernels[f"adjoint_{name}"] = adjoint(g, source, by, f"adjoint_{name}")
    return replace(program, parameters=(*program.parameters, *sides), kernels=kernels)
