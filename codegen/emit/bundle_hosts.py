"""A C bundle for other languages: its header for C++, and its example in Rust and Julia."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from chaplygin.runtime.interface.files import runtime_text

from .amalgamation import joined
from .bundle import Bundle
from .render import made_from, render

CLASS = "chaplygin.hpp"
"""The header of the runtime with a run as a C++20 class."""


def host_files(bundle: Bundle, texts: Mapping[str, str], seen: set[str]) -> dict[str, str]:
    """`<name>.hpp`, `example.rs` and `example.jl`; `seen` are the headers of the runtime that are in `<name>.h`.

    They are in double precision: a bundle in another one has none of them. The examples are left out for a model with
    events or contacts: they would need its detector, and more lines.
    """
    if not _in_double(bundle, texts):
        return {}
    text = joined([CLASS], {**texts, CLASS: runtime_text(CLASS)}, set(seen))
    provenance = bundle.provenance(CLASS, " * ")
    files = {f"{bundle.name}.hpp": f'/*\n{provenance}\n */\n#include "{bundle.name}.h"\n\n{text}'}
    if not bundle.detector_size:
        files |= {"example.rs": _rust(bundle), "example.jl": _julia(bundle)}
    return files


def _rust(bundle: Bundle) -> str:
    template = "bundle_example.rs.in"
    if bundle.methods[bundle.chosen[0]].adaptive:
        setter = "cg_run_set_tolerances(run: *mut Run, rtol: f64, atol: f64)"
        setting = "cg_run_set_tolerances(new.run, 1e-9, 1e-9)"
    else:
        setter, setting = "cg_run_set_step(run: *mut Run, step: f64)", "cg_run_set_step(new.run, 0.001)"
    values = {**_values(bundle), "setter": setter, "setting": setting}
    return render(template, {**values, "made": made_from(template, "//! ")})


def _julia(bundle: Bundle) -> str:
    template = "bundle_example.jl.in"
    if bundle.methods[bundle.chosen[0]].adaptive:
        setting = "cg_run_set_tolerances(simulation::Ptr{Cvoid}, 1e-9::Cdouble, 1e-9::Cdouble)"
    else:
        setting = "cg_run_set_step(simulation::Ptr{Cvoid}, 0.001::Cdouble)"
    values = {**_values(bundle), "setting": setting, "made": made_from(template, "# ")}
    del values["n_inputs"]
    return render(template, {**values, "names": values["names"].replace("$", r"\$")})


def _values(bundle: Bundle) -> dict[str, str]:
    """What both examples contain."""

    def row(what: str) -> str:
        return ", ".join(repr(bundle.start[v.name]) for v in bundle.variables[what])

    return {
        "name": bundle.name,
        "library": bundle.library,
        "method": bundle.chosen[0],
        "names": ", ".join(json.dumps(v.name, ensure_ascii=False) for v in bundle.variables["states"]),
        **{what: row(what) for what in ("states", "parameters", "inputs")},
        **{f"n_{what}": str(len(bundle.variables[what])) for what in ("states", "parameters", "inputs")},
    }


def descriptions(bundle: Bundle, texts: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """The rows of these files in the README."""
    if _in_double(bundle, texts):
        yield f"`{bundle.name}.hpp`", "a run as a class of C++20"
        if not bundle.detector_size:
            yield "`example.rs`, `example.jl`", "the example in Rust and Julia, with the library"


def _in_double(bundle: Bundle, texts: Mapping[str, str]) -> bool:
    """Whether the model's table says so."""
    return '"float64", /* scalar */' in texts[f"{bundle.name}_core.c"]
