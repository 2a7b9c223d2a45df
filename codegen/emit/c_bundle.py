"""A C bundle: a model and the runtime's C files as one header, two C files, a program, and files to build them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from chaplygin.runtime.interface.files import DRIVER, runtime_files

from .amalgamation import Prefixed, joined, selected
from .bundle import GROUPS, Bundle, index_of
from .bundle_readme import host_files, readme
from .c_text import c_string, variable as row_of
from .method_list import list_of
from .render import licence, made_from, render
from .single_precision import single_precision
from .write_folder import headers_of

PUBLIC = ("chaplygin.h", "cg_run.h", "cg_driver.h", "cg_events.h")
"""The headers of the runtime that are for callers."""
_GNU = {
    "Makefile": (
        "ifeq (,$(findstring clang,$(shell $(CC) --version)))\n"
        "BITS += -fno-tree-$(if $(findstring 86,$(shell $(CC) -dumpmachine)),slp-)vectorize\nendif\n"
    ),
    "CMakeLists.txt": (
        '  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")\n'
        '    if(CMAKE_SYSTEM_PROCESSOR MATCHES "86|AMD64")\n'
        "      target_compile_options(${library} PRIVATE -fno-tree-slp-vectorize)\n    else()\n"
        "      target_compile_options(${library} PRIVATE -fno-tree-vectorize)\n    endif()\n  endif()\n"
    ),
}  # gcc's vectoriser multiplies and adds in one operation whatever -ffp-contract says; see toolchain/compiler.py
_SCALAR = {
    "CG_METHOD_LIST_FILE": False,
    "CG_LANES > 1": False,
    "CG_LANES == 8 && defined(__AVX512F__)": False,
}
"""Conditions of the preprocessor in all files of a bundle, which has no lanes."""
_IN_MODEL = {
    "CHAPLYGIN_INLINE_METHODS": True,
    "CG_INLINE_ALL": True,
    "CG_FEW_METHODS": False,
    "CG_NO_METHODS": False,
    **{f"CHAPLYGIN_LANES_{lanes}": False for lanes in (2, 4, 8)},
}
_IN_RUNTIME = {"CG_NO_TABLE": True, "CG_NO_METHODS": True}  # the methods are in the models


def bundle_files(bundle: Bundle, sources: Mapping[str, str]) -> dict[str, str]:
    """{file name: text} of a bundle; `sources` are those of `build.model_sources`."""
    name = bundle.name
    texts = scalar_sources(
        bundle, {**sources, f"{name}_core.c": _with_start(bundle, sources[f"{name}_core.c"])}
    )
    seen: set[str] = set()
    library = joined([*PUBLIC, f"{name}_core.h"], texts, seen)
    model = joined([f"{name}_core.c"], _selected(texts, _IN_MODEL), set(seen))
    header = _header(bundle, library, texts)
    if bundle.single_header:
        values = {"prefix": bundle.prefix, "model": model, "runtime": _runtime(texts, seen)}
        header += render("bundle_implementation.h.in", values)
        files = {f"{name}.h": header, f"{name}.c": _c_file(bundle, "The library of the header.",
                 f'#define {bundle.prefix}_IMPLEMENTATION\n#include "{name}.h"\n')}  # fmt: skip
    else:
        what = "The equations, and the methods with the equations inlined into them."
        files = {
            f"{name}.h": header,
            f"{name}.c": _c_file(bundle, what, f'#include "{name}.h"\n\n{model}'),
            "cg_runtime.c": render("bundle.c.in", {
                "provenance": made_from("bundle.c.in", " * "),
                "what": "What runs a model; the same for all models of this version of chaplygin.",
                "text": _own_runtime(texts)}),
        }  # fmt: skip
    files = {
        "README.md": readme(bundle, texts),  # the first, by which an incomplete folder is recognised
        **files,
        "example.c": _example(bundle),
        **host_files(bundle, texts, seen),
        **_build_files(bundle),
        "LICENSE": licence(),
    }
    return _with_prefix(bundle, files) if bundle.symbols else files


def _with_prefix(bundle: Bundle, files: Mapping[str, str]) -> dict[str, str]:
    """The files with names of the bundle's own."""
    header, kept = f"{bundle.name}.h", (*_build_files(bundle), "LICENSE")
    names = Prefixed(
        bundle.name, bundle.symbols, (text for file, text in files.items() if file.endswith((".h", ".c")))
    )
    changed = {file: text if file in kept else names.text(text) for file, text in files.items()}
    declared, end, rest = files[header].partition(f"#endif /* {bundle.prefix}_H */\n")
    changed[header] = f"{names.text(declared)}\n{names.short(declared)}\n{names.text(end + rest)}"
    if f"{bundle.name}.hpp" in files:
        changed[f"{bundle.name}.hpp"] += (
            "\n#ifndef CHAPLYGIN_HPP /* the same without the prefix, in a file with one such header */\n"
            f"#define CHAPLYGIN_HPP\nnamespace chaplygin = {bundle.symbols}chaplygin;\n#endif\n"
        )
    return changed


def _with_start(bundle: Bundle, core: str) -> str:
    """The file of the model, in whose table the parameters and inputs of the bundle are the examples."""
    for v in (*bundle.variables["parameters"], *bundle.variables["inputs"]):
        core = core.replace(f"{{{row_of(v)}}}", f"{{{row_of(v._replace(example=bundle.start[v.name]))}}}")
    return core


def scalar_sources(bundle: Bundle, sources: Mapping[str, str]) -> dict[str, str]:
    """{file name: text} of every C file of which the bundle's files consist, headers included."""
    texts = {**sources, "cg_method_list.h": _method_list(bundle)}
    texts |= headers_of(texts)
    own = f"{bundle.name}_methods.h"
    if own in texts:
        texts["cg_method.h"] = texts["cg_method.h"].replace("#include CG_MODEL_METHODS", f'#include "{own}"')
    texts = _selected(texts, _SCALAR)
    return single_precision(texts) if bundle.single_precision else texts


def _selected(texts: Mapping[str, str], known: Mapping[str, bool]) -> dict[str, str]:
    return {name: selected(text, known) for name, text in texts.items()}


def _method_list(bundle: Bundle) -> str:
    """The header that `cg_method.h` includes, with the chosen methods alone."""
    chosen = [name for name in bundle.methods if f"cg_{name}.h" in runtime_files()]  # not the model's own
    return list_of(chosen, " * Those of a C bundle.")


def _c_file(bundle: Bundle, what: str, text: str) -> str:
    return render(
        "bundle.c.in", {"provenance": bundle.provenance("bundle.c.in", " * "), "what": what, "text": text}
    )


def _runtime(texts: Mapping[str, str], seen: set[str]) -> str:
    return joined(DRIVER, _selected(texts, _IN_RUNTIME), set(seen))


def _own_runtime(texts: Mapping[str, str]) -> str:
    """The runtime as a file of its own, in which only what the header declares is seen from outside of a library."""
    seen: set[str] = set()
    public = joined(PUBLIC, _selected(texts, _IN_RUNTIME), seen)
    return render("bundle_visible.in", {"text": public}) + _runtime(texts, seen)


def _header(bundle: Bundle, library: str, texts: Mapping[str, str]) -> str:
    prefix, detector, variables = bundle.prefix, bundle.detector_size, bundle.variables
    return render("bundle.h.in", {
        "provenance": bundle.provenance("bundle.h.in", " * "),
        "name": bundle.name,
        "title": f"form {bundle.form}",
        "method": bundle.chosen[0],
        "guard": prefix,
        "prefix": prefix,
        "version": c_string(bundle.version),
        "library": render("bundle_visible.in", {"text": library}),
        "abi": _number("CG_ABI_VERSION", texts["chaplygin.h"]),
        "layout": _number("CG_RUN_LAYOUT", texts["cg_run.h"]),
        "run_size": f"{max(bundle.sizes.values())}u",
        "detector_size": f"#define {prefix}_DETECTOR_SIZE {detector}u /* of its detector */\n" * (detector > 0),
        "lengths": "\n".join(f"#define {prefix}_N_{what.upper()} {len(given)}" for what, given in variables.items()),
        "indices": "\n".join(_indices(bundle, group, what) for group, what in GROUPS.items() if variables[what]),
    })  # fmt: skip


def _number(macro: str, text: str) -> str:
    found = re.search(rf"#define {macro} (\d+)", text)
    assert found is not None
    return found[1]


def _indices(bundle: Bundle, group: str, what: str) -> str:
    """An enumeration of the indices of one kind of variable."""
    lines = []
    for i, variable in enumerate(bundle.variables[what]):
        index = index_of(bundle, group, variable.name)
        if index is not None:
            words = f"{variable.description}{f' [{variable.unit}]' if variable.unit else ''}".strip()
            words = words.replace("*/", "* /").replace("/*", "/ *").encode("ascii", "replace").decode()
            lines.append(f"    {index} = {i},{f' /* {words} */' if words else ''}")
    array = f"run->{group}" if len(group) == 1 else f"the result of {bundle.name}_{group}"
    return f"/* Indices in {array}. */\nenum {{\n" + "\n".join(lines) + "\n};\n" if lines else ""


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(map(repr, values))


def _example(bundle: Bundle) -> str:
    name, prefix, variables = bundle.name, bundle.prefix, bundle.variables
    values = {
        what: [bundle.start[v.name] for v in variables[what]] for what in ("states", "parameters", "inputs")
    }
    method = bundle.chosen[0]
    inputs = parameters = settings = memory = save = restore = ""
    for i, (variable, value) in enumerate(zip(variables["inputs"], values["inputs"])):
        index = index_of(bundle, "u", variable.name) or str(i)
        inputs += f"        run->u[{index}] = {f'{value!r} + ' if value else ''}0.001 * (double)(i % 10);\n"
    if inputs:
        inputs += "        cg_run_inputs_changed(run);\n"
    if values["parameters"]:
        parameters = f"    static const double p[] = {{{_numbers(values['parameters'])}}};\n"
        settings = "    memcpy(run->p, p, sizeof p);\n"
    fixed = not bundle.methods[method].adaptive
    settings += (
        "    run->first_step = 0.001;\n" if fixed
        else "    run->rtol = 1e-5; /* each run->atol[i] is 1e-6 */\n" if bundle.single_precision
        else "    run->rtol = 1e-9; /* as each run->atol[i] is */\n"
    )  # fmt: skip
    if bundle.detector_size:
        memory = f"static CG_BLOCK(detector, {prefix}_DETECTOR_SIZE); /* of events and contacts */\n"
        memory += f"static unsigned char saved_detector[{prefix}_DETECTOR_SIZE];\n"
        settings += "    run->detector = (cg_detector_t *)(void *)detector;\n"
        settings += f"    check(cg_detector_init(run->detector, sizeof detector, &{name}_model, 0, 0));\n"
        save = "    cg_detector_save(run->detector, saved_detector);\n"
        size = "cg_detector_saved_size(run->detector)"
        restore = f"    check(cg_detector_restore(run->detector, saved_detector, {size}));\n"
    text = render("bundle_example.c.in", {
        "name": name,
        "prefix": prefix,
        "made": made_from("bundle_example.c.in", " * "),
        "implementation": "",
        "memory": memory,
        "inputs": inputs,
        "states": _numbers(values["states"]),
        "parameters": parameters,
        "method": method,
        "settings": settings,
        "save": save,
        "restore": restore,
    })  # fmt: skip
    return single_precision({"example.c": text})["example.c"] if bundle.single_precision else text


def _build_files(bundle: Bundle) -> dict[str, str]:
    """CMakeLists.txt, Makefile and the file of pkg-config."""
    values = {
        "name": bundle.name,
        "library": bundle.library,
        "include": f"include/{bundle.library}" if bundle.symbols else "include",
        "version": bundle.version,
        "compatible": bundle.compatible,
        "title": f"the model {bundle.name}, form {bundle.form}, with integrators",
        "sources": " ".join(bundle.sources),
        "objects": " ".join(source.replace(".c", ".o") for source in bundle.sources),
        "flags": bundle.flags,
    }
    made = {
        "CMakeLists.txt": (
            "bundle_cmake.in",
            ("name", "library", "include", "version", "compatible", "sources", "flags"),
        ),
        "Makefile": (
            "bundle_makefile.in",
            ("name", "library", "include", "version", "compatible", "objects", "flags"),
        ),
        f"{bundle.library}.pc": ("bundle.pc.in", ("library", "include", "version", "title")),
    }
    texts = {}
    for file, (template, names) in made.items():
        known = {"provenance": bundle.provenance(template, "# "), **{n: values[n] for n in names}}
        if file in _GNU:
            known["gnu_flags"] = _GNU[file] * bundle.reproducible
        texts[file] = render(template, known)
    return texts
