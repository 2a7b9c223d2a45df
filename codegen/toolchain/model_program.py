"""The program of a compiled model, read from its graph file: further kernels are made from it without deriving."""

from __future__ import annotations

from collections.abc import Sequence

from chaplygin.runtime.interface.base_model import BaseModel
from chaplygin.runtime.interface.description import Variable

from ..lower.lowered import ContactEntry, EventEntry, Lowered
from ..lower.lowered_text import read_graph
from .model_sources import graph_text


def program_of(model: BaseModel, *, emitted: bool = False) -> Lowered:
    """The program of a model, with the kernels in its graph file, for which see `graph_text`; raises as that."""
    graph, kernels, unarranged = read_graph(graph_text(model, emitted=emitted))

    def named(names: Sequence[str]) -> tuple[Variable, ...]:
        return tuple(model.variables[name] for name in names)

    return Lowered(
        name=model.name,
        form=model.form,
        digest=model.digest,
        graph=graph,
        states=named(model.states),
        n_coordinates=model.n_coordinates,
        parameters=named(model.parameters),
        inputs=named(model.inputs),
        outputs=named(model.outputs),
        invariants=named((*model.invariants, *model.residuals)),
        declared=named(model.declared),
        independent=model.independent,
        kernels=kernels,
        table=(),
        guards=tuple(Variable(name, "guard") for name in (*model.events, *model.kinks)),
        modes=tuple(Variable(name, "mode") for name in model.modes),
        events=tuple(EventEntry(name, 0, ends, False) for name, ends in zip(model.events, model._terminal)),
        contacts=tuple(ContactEntry(*entry) for entry in zip(model.contacts, model._signs, strict=True)),
        unarranged=unarranged,
    )
