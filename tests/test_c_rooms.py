"""The order of the C files: what a file calls is in itself or in a file before it, so there is no circle.

The files are read as text. Every mention of a function is seen, called or taken as a pointer, in the functions, initial
values and macros of a file. Not seen are calls through pointers (the step of a method, a kernel of the model, what
watches a record), names that macros put together (`CG_FN`), and which blocks the preprocessor leaves out.
"""

from __future__ import annotations

import functools
import re
from graphlib import TopologicalSorter

from chaplygin.runtime.interface.files import DRIVER, INCLUDE, runtime_files

ORDER = (
    # single functions
    "cg_status", "cg_quantile", "cg_noise", "cg_corners",
    # one step: right-hand side, methods, dense output, constraints
    "cg_evaluate", "cg_method_table", "cg_record", "cg_correct",
    # what happens at an instant
    "cg_detector", "cg_bracket", "cg_held", "cg_modes", "cg_surface", "cg_ahead", "cg_sides", "cg_touch", "cg_jump",
    "cg_locate", "cg_events", "cg_event_handling",
    # one run, and its gradient
    "cg_block", "cg_driver", "cg_trail", "cg_adjoint",
    # many runs, in lanes
    "cg_lane_record", "cg_observe", "cg_ensemble", "cg_lane_events", "cg_lane_block", "cg_lanes", "cg_batch",
    # an FMU
    "cg_fmu_report", "cg_fmu_values", "cg_fmu_derivative", "cg_fmu_events", "cg_fmu_state", "cg_fmu", "cg_fmi",
    "cg_fmi3_absent",
)  # fmt: skip
"""The C files of `runtime/c` and `runtime/fmi` from the bottom up."""

INTERNAL = ("cg_internal", "cg_ensemble_internal", "cg_lanes_internal", "cg_corners")
"""The headers that only other files of `runtime/c` include."""

_TEXT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
_FOR_CPP = re.compile(r"^#ifdef __cplusplus\n.*?^#endif", re.S | re.M)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
_HEAD = re.compile(r"^((?:[A-Za-z_]\w*[ \t\n*]+)+)(\w+)\([^;{}]*\)\s*\Z", re.M)
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)


def bodies(text: str) -> list[tuple[str, str]]:
    """(what stands before the brace, what stands between the braces) of each block at the top level of a C file."""
    text = _DIRECTIVE.sub("", _FOR_CPP.sub("", _TEXT.sub(" ", text)))
    found, depth, begin, head = [], 0, 0, ""
    for match in re.finditer(r"[{};]", text):
        if match[0] == "{":
            if depth == 0:
                head, begin = text[begin : match.start()], match.end()
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                found.append((head, text[begin : match.start()]))
                begin = match.end()
        elif depth == 0:
            begin = match.end()
    return found


def defined(text: str) -> dict[str, bool]:
    """The functions that a file defines: whether each is static."""
    heads = [_HEAD.search(head.strip()) for head, _ in bodies(text)]
    return {head[2]: "static" in head[1].split() for head in heads if head}


def mentioned(text: str) -> set[str]:
    """The names inside of functions, initial values and macros."""
    macros = [found for found in _DIRECTIVE.findall(_TEXT.sub(" ", text)) if "define" in found]
    inside = [*macros, *(body for _, body in bodies(text))]
    return {name for part in inside for name in re.findall(r"\b[A-Za-z_]\w*", part)}


@functools.cache
def texts(kind: str) -> dict[str, str]:
    """{name: text} of the C files or headers, without the FMI standard's."""
    return {
        path.stem: path.read_text(encoding="utf-8")
        for path in runtime_files().values()
        if path.suffix == f".{kind}" and not path.stem.startswith("fmi")
    }


@functools.cache
def homes() -> dict[str, list[str]]:
    """Function that is not static -> the files that define it."""
    found: dict[str, list[str]] = {}
    for name, text in texts("c").items():
        for function, static in defined(text).items():
            if not static:
                found.setdefault(function, []).append(name)
    return found


def calls(name: str) -> dict[str, set[str]]:
    """The functions of other files that a file calls, by these files."""
    found: dict[str, set[str]] = {}
    for function in mentioned(texts("c")[name]) & homes().keys():
        (home,) = homes()[function]
        if home != name:
            found.setdefault(home, set()).add(function)
    return found


def test_every_c_file_has_its_place() -> None:
    assert sorted(ORDER) == sorted(texts("c"))
    assert {function: files for function, files in homes().items() if len(files) > 1} == {}


def test_no_room_has_more_than_thirty_files() -> None:
    rooms = [INCLUDE, *(path for path in INCLUDE.rglob("*") if path.is_dir())]
    sizes = {room.name: sum(path.is_file() for path in room.iterdir()) for room in rooms}
    assert {room: size for room, size in sizes.items() if size > 30} == {}


def test_c_files_call_only_what_is_before_them() -> None:
    upward = [
        f"{name}.c calls {', '.join(sorted(functions))} of {home}.c"
        for place, name in enumerate(ORDER)
        for home, functions in calls(name).items()
        if home not in ORDER[:place]
    ]
    assert upward == []


def test_the_files_of_one_run_need_no_others() -> None:
    own = {file.removesuffix(".c") for file in DRIVER}
    assert {f"{name}.c": calls(name) for name in own if not calls(name).keys() <= own} == {}


def test_headers_include_no_circle_and_call_no_c_file() -> None:
    headers = texts("h")
    arrows = {
        name: {found.rpartition("/")[2].removesuffix(".h") for found in _INCLUDED.findall(text)}
        & headers.keys()
        for name, text in headers.items()
    }
    assert set(TopologicalSorter(arrows).static_order()) == set(headers)  # a circle raises CycleError
    assert {name: used for name, text in headers.items() if (used := mentioned(text) & homes().keys())} == {}


def test_functions_that_are_not_for_callers_carry_the_name_of_their_file() -> None:
    """Those of the FMU may carry the name of its header, cg_fmu.h; those of the standard have names that it gives."""
    for_callers = {
        name
        for header, text in texts("h").items()
        if header not in INTERNAL
        for name in re.findall(r"\b(\w+)\(", _TEXT.sub(" ", text))
    }
    strangers = [
        f"{function} in {name}.c"
        for name, text in texts("c").items()
        for function, static in defined(text).items()
        if (static or function not in for_callers)
        and not f"{function}_".startswith((f"{name}_", "fmi2", "fmi3"))
    ]
    assert strangers == []


def test_what_is_read() -> None:
    text = """
        #define TWICE(x) { macro(x); }
        static const int table[] = {first, 2};  /* { commented(); } */
        int declared(int a);
        static inline double *
        cg_own(const double *x, int n)
        {
            if (n > 0) { other(x, ";{"); }
            return pointer(declared);
        }
        int cg_open(void) { return 0; }
    """.replace("\n        ", "\n")
    assert defined(text) == {"cg_own": True, "cg_open": False}
    assert {"first", "macro", "other", "pointer", "declared"} <= mentioned(text)
    assert not {"commented", "cg_own", "cg_open", "table"} & mentioned(text)


def test_every_file_has_functions() -> None:
    """So that a definition in a form that is not recognised does not go unseen."""
    for name, text in texts("c").items():
        heads = [head.strip() for head, _ in bodies(text) if head.strip().endswith(")")]
        assert len(heads) == len(defined(text)) > 0, name
