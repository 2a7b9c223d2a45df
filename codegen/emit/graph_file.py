"""The text file of a program's graph, `<name>_graph.txt`, among the emitted files."""

from __future__ import annotations

from collections.abc import Iterable

from ..graph.graph import LEAVES, Node
from ..graph.tables import tables_in
from ..lower.lowered import Lowered
from ..lower.lowered_text import _MAPS, _SETS, QUANTITIES
from .render import provenance


def graph_files(program: Lowered, command: str) -> dict[str, str]:
    """`<name>_graph.txt`; `command` is quoted as the command that regenerates it."""
    g = program.graph
    names = (*QUANTITIES, "when", *_MAPS, *(f"reset_{i}" for i in range(len(program.events))))
    sets = [
        {name: found[name] for name in wanted if name in found}
        for found, wanted in ((program.kernels, names), (program.unarranged, QUANTITIES))
    ]
    kernels = [kernel for found in sets for kernel in found.values()]
    solved = [n for k in kernels for solve in k.solves for n in (*solve.results, *solve.pivots)]
    roots = [n for k in kernels for n in k.roots()]
    # The first four nodes are in every graph.
    number = {n: i for i, n in enumerate(g.reachable([g.zero, g.one, g.minus_one, g.two, *roots, *solved]))}
    lines = [provenance("graph_file.py", program.digest, command)]
    lines += [f"table {table.text}" for table in tables_in(g, number)]
    for node in number:
        payload = [str(g.value[node])] if g.op[node] in LEAVES else [str(number[a]) for a in g.args[node]]
        lines.append(" ".join([g.op[node], *payload]))

    def row(word: str, nodes: Iterable[Node]) -> str:
        return " ".join([word, *(str(number[n]) for n in nodes)])

    for word, found in zip(_SETS, sets, strict=True):
        for kernel in found.values():
            lines += [f"{word} {kernel.name} {kernel.takes}", row("outputs", kernel.outputs)]
            lines.append(row("pivots", (n for pair in kernel.pivots for n in pair)))
            for solve in kernel.solves:
                lines += [f"solve {solve.factors}", row("matrix", solve.matrix), row("right", solve.rhs)]
                lines.append(row("results", (*solve.results, *solve.pivots)))
    return {f"{program.name}_graph.txt": "\n".join(lines) + "\n"}
