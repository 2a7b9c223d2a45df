"""What a C bundle has beside its C: its README, its header for C++, and its example in Rust and Julia."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from chaplygin.runtime.interface.files import runtime_text
from chaplygin.runtime.interface.statuses import CODES, STATUS_TEXTS

from .amalgamation import joined
from .bundle import GROUPS, Bundle, index_of
from .render import made_from, render

_SAVED_EVENTS = """
Its detector is saved by `cg_detector_save` and restored by `cg_detector_restore`, before the run."""
CLASS = "chaplygin.hpp"
"""The header of the runtime with a run as a C++20 class."""


def readme(bundle: Bundle, texts: Mapping[str, str]) -> str:
    """The text of README.md."""
    name = bundle.name
    methods = ", ".join(f"`{method}` ({known.summary})" for method, known in bundle.methods.items())
    quoted = ", ".join(map(repr, bundle.chosen)) + "," * (len(bundle.chosen) == 1)
    arguments = f'"DIR", methods=({quoted})'.replace("'", '"') + ', scalar="float"' * bundle.single_precision
    arguments += ", single_header=True" * bundle.single_header
    arguments += f', prefix="{bundle.symbols}"' if bundle.symbols else ""
    sizes = [(f"run, `{method}`", size) for method, size in bundle.sizes.items()]
    sizes += [("detector of events and contacts", bundle.detector_size)] if bundle.detector_size else []
    return render("bundle_readme.in", {
        "mark": bundle.mark,
        "name": name,
        "library": bundle.library,
        "compatible": bundle.compatible,
        "form": bundle.form,
        "clock": "" if bundle.independent == "t" else f"; its time is the coordinate `{bundle.independent}`",
        "version": bundle.version,
        "command": bundle.command,
        "call": f"model.export_c({arguments})",
        "files": _table(_files(bundle, texts)),
        "one_line": f"cc {bundle.flags} -O3 example.c {' '.join(bundle.sources)} -lm",
        "bits": _bits(bundle),
        "precision": render("bundle_readme_single.in", {}) if bundle.single_precision else "",
        "saved_events": _SAVED_EVENTS * bool(bundle.detector_size),
        "methods": methods,
        "inlined": _inlined(bundle, texts),
        "variables": _variables(bundle),
        "sizes": _table((what, f"{size:,}") for what, size in sizes),
        "statuses": _table((f"`CG_{name}`", code, STATUS_TEXTS[code]) for name, code in CODES.items()),
        "backward": "A step backward gives `CG_BAD_ARGUMENT`, since friction cannot be run backward." if bundle.contacts
        else "Runs can go backward.",
        "several": _several(bundle),
    })  # fmt: skip


def _table(rows: Iterable[Sequence[object]]) -> str:
    """Rows of a table in Markdown."""
    return "\n".join(
        f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in rows
    )


def _files(bundle: Bundle, texts: Mapping[str, str]) -> list[tuple[str, str]]:
    name = bundle.name
    files = [(f"`{name}.h`", "the only header to include")]
    if bundle.single_header:
        files[0] = (
            f"`{name}.h`",
            f"everything; one file of a program defines `{bundle.prefix}_IMPLEMENTATION` before it",
        )
        files += [(f"`{name}.c`", "such a file, for the build files; not needed otherwise")]
    else:
        files += [(f"`{name}.c`", "the equations and the methods"), ("`cg_runtime.c`", "what runs them")]
    return [*files, ("`example.c`", "1 kHz with inputs, save and restore"), *descriptions(bundle, texts),
            ("`CMakeLists.txt`, `Makefile`", f"libraries, example, installation with `{bundle.library}.pc`"),
            ("`LICENSE`", "what must go with the code")]  # fmt: skip


def _bits(bundle: Bundle) -> str:
    if not bundle.reproducible:
        return """\
The model was compiled with `reproducible=False`: the compiler may multiply and add in one operation, so the last
bits of the results depend on the compiler and the processor."""
    python = "" if bundle.single_precision else ", and equal to those in Python"
    return f"""\
`-ffp-contract=off` makes the bits of the results the same for every compiler, level and processor{python}.
gcc needs `-fno-tree-slp-vectorize` too if `-march` permits fused operations, and on processors other
than x86 `-fno-tree-vectorize`: its vectoriser fuses regardless. The build files have these flags."""


def _inlined(bundle: Bundle, texts: Mapping[str, str]) -> str:
    """How the right-hand side is compiled into the methods; see cg_flatten.h."""
    operations = re.search(r"#define CG_MODEL_OPERATIONS (\d+)", texts[f"{bundle.name}_core.c"])
    most = re.search(r"#define CG_INLINE_OPERATIONS (\d+)", texts["cg_flatten.h"])
    assert operations is not None
    assert most is not None
    if int(operations[1]) > int(most[1]):
        return f"""\
They are compiled with the sizes of this model as constants, and call its
right-hand side. With `-DCG_INLINE_OPERATIONS={operations[1]}` gcc and clang copy it into each of their stages, which
takes long to compile."""
    return """\
gcc and clang copy the right-hand side into each of their stages. With
`-DCG_INLINE_OPERATIONS=0` it is called instead: smaller code, the same bits, longer steps."""


def _variables(bundle: Bundle) -> str:
    """A table of all variables with the names of their indices."""
    rows = []
    for group, what in GROUPS.items():
        array = f"run->{group}" if len(group) == 1 else f"{bundle.name}_{group}"
        for i, variable in enumerate(bundle.variables[what]):
            index = index_of(bundle, group, variable.name) or str(i)
            rows.append((f"`{variable.name}`", f"`{array}[{index}]`" if len(group) == 1 else f"`{index}`",
                         variable.unit, variable.description))  # fmt: skip
    return _table(rows)


def _several(bundle: Bundle) -> str:
    if bundle.symbols:
        lower, upper = bundle.symbols, bundle.symbols.upper()
        return f"""\
All names of this bundle begin with `{lower}`, those of macros and constants with `{upper}`, and its namespace in
C++ is `{lower}chaplygin`: it can be compiled and linked with other bundles, also in one file. The first header of
a file gives the same names without the prefix too."""
    if bundle.single_header:
        return """\
Define the `..._IMPLEMENTATION` of each model in a file of its own, and `CG_NO_RUNTIME` in all of these files but one:
what runs a model is the same for all models of one version of chaplygin, and a program contains it once."""
    return """\
`cg_runtime.c` is the same for all models of one version of chaplygin: compile it once. Static libraries that contain
it can be linked together as they are."""


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
