"""The model description of an FMU, in XML, for FMI 2.0 and 3.0, and its units as exponents of the SI base units.

Value references count the quantities in the order of `enum cg_fmu_group` in runtime/fmi/cg_fmu.h.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import quoteattr

from chaplygin._version import __version__
from chaplygin.runtime.interface.assumptions import NOT_NEGATIVE, NOT_POSITIVE, RATE
from chaplygin.runtime.interface.limits import DEFAULT_METHODS

VERSIONS = ("2.0", "3.0")
KINDS = {
    "both": ("ModelExchange", "CoSimulation"),
    "model-exchange": ("ModelExchange",),
    "co-simulation": ("CoSimulation",),
}
"""What `kind` may be, and the elements of the description for it."""
LOG_CATEGORIES = {
    "logEvents": "events",
    "logStatusWarning": "warnings",
    "logStatusDiscard": "values that cannot be computed; the importer may try others",
    "logStatusError": "errors",
}

_SOLVER = (
    ("solver.rtol", "1e-09", "relative tolerance of a step"),
    ("solver.atol", "1e-09", "absolute tolerance of a step"),
    ("solver.step", "0.0", "the step of a fixed-step method"),
)
"""The options of Co-Simulation: name, start value, description."""

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow, even as references."""

Row = Mapping[str, str]
"""What a result depends on: names, each with a kind of dependency."""
BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
"""The base units of FMI, in the order of its schema."""
_DERIVED = {
    "Hz": {"s": -1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "Pa": {"kg": 1, "m": -1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "C": {"A": 1, "s": 1},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "F": {"kg": -1, "m": -2, "s": 4, "A": 2},
    "Ohm": {"kg": 1, "m": 2, "s": -3, "A": -2},
    "Wb": {"kg": 1, "m": 2, "s": -2, "A": -1},
    "T": {"kg": 1, "s": -2, "A": -1},
    "H": {"kg": 1, "m": 2, "s": -2, "A": -2},
}
_TOKEN = re.compile(r"\s*(?:([A-Za-z]+|1)(?:(?:\^|\*\*)?(?:\(([+-]?\d+)\)|([+-]?\d+)))?|([*/·.()]))")


@dataclass(frozen=True)
class FmiEntry:
    """A variable of the description."""

    name: str
    reference: int
    type: str
    causality: str
    variability: str
    initial: str | None
    start: str | None = None
    unit: str = ""
    text: str = ""
    low: str | None = None
    high: str | None = None
    derivative_of: int | None = None
    depends: Row | None = None
    """What it depends on; None if that is not known."""


@dataclass(frozen=True)
class Described:
    """A model as an FMU describes it.

    `model` gives the names, units and descriptions; `start` the start values by name; `dependencies` the rows of its
    kernels by the name of the kernel, empty if they are not known.
    """

    model: Any
    version: str
    kind: str
    start: Mapping[str, float]
    files: Sequence[str]
    dependencies: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    experiment: Mapping[str, float] = field(default_factory=dict)
    """The attributes of the default experiment, except its start."""

    @property
    def hybrid(self) -> bool:
        return bool(self.n_indicators)

    @property
    def n_indicators(self) -> int:
        return len(self.model.events) + len(self.model.kinks) + 3 * len(self.model.contacts)

    @property
    def tunable(self) -> bool:
        """Whether parameters can change during a run: states that are momenta would have to follow."""
        return not self.model.has_initial

    @property
    def clock(self) -> str:
        """The name of the time, which a model may have taken."""
        return "cg_time" if "time" in self.model.variables else "time"


def entries(d: Described) -> list[FmiEntry]:
    """The variables, by value reference."""
    model, found = d.model, list[FmiEntry]()
    real = {"2.0": "Real", "3.0": "Float64"}[d.version]

    def add(name: str, type: str, causality: str, variability: str, initial: str | None, **more: Any) -> None:
        found.append(FmiEntry(name, len(found), type, causality, variability, initial, **more))

    def rows(kernel: str, i: int) -> Row | None:
        table = d.dependencies.get(kernel)
        return None if table is None else table[i]

    add(d.clock, real, "independent", "continuous", None, unit="s", text="the time")
    for v in (model.variables[name] for name in model.states):
        add(v.name, real, "output", "continuous", "exact", start=_number(d.start[v.name]), unit=v.unit,
            text=v.description, depends={v.name: "constant"})  # fmt: skip
    for i, name in enumerate(model.states):
        add(f"der({name})", real, "local", "continuous", "calculated", unit=divided(found[1 + i].unit),
            derivative_of=1 + i, depends=rows("rhs", i))  # fmt: skip
    for v in (model.variables[name] for name in model.parameters):
        low, high = _limits(v.flags)
        add(v.name, real, "parameter", "tunable" if d.tunable else "fixed", "exact", start=_number(d.start[v.name]),
            unit=v.unit, text=v.description, low=low, high=high)  # fmt: skip
    for v in (model.variables[name] for name in model.inputs):
        low, high = _limits(v.flags)
        if v.flags & RATE:  # the derivative of the input before it, which a simulator sets as such
            add(v.name, real, "local", "continuous", "calculated", unit=v.unit, text=v.description)
            continue
        add(v.name, real, "input", "continuous", None, start=_number(d.start[v.name]), unit=v.unit,
            text=v.description, low=low, high=high)  # fmt: skip
    for i, v in enumerate(model.variables[name] for name in model.outputs):
        add(v.name, real, "output", "continuous", "calculated", unit=v.unit, text=v.description,
            depends=rows("outputs", i))  # fmt: skip
    for v in (model.variables[name] for name in (*model.invariants, *model.residuals)):
        # An importer that integrates by itself sees in the residuals how far it leaves the constraints.
        causality = "output" if v.name in model.residuals else "local"
        add(v.name, real, causality, "continuous", "calculated", unit=v.unit, text=v.description)
    for name, text, row in _indicators(d):
        add(name, real, "local", "continuous", "calculated", text=text, depends=row)
    for name, start, text in _SOLVER:
        add(name, real, "parameter", "fixed", "exact", start=start, text=text)
    for i, name in enumerate(model.modes):
        text = "-1 or 1: slip; 0: stick" if i < len(model.contacts) else "assumed sign of a normal force"
        add(f"mode({name})", {"2.0": "Integer", "3.0": "Int32"}[d.version], "local", "discrete", "calculated",
            text=text)  # fmt: skip
    methods = ", ".join(model.methods)
    add(
        "solver.method",
        "String",
        "parameter",
        "fixed",
        "exact",
        start="default",  # CG_FMU_BY_TOLERANCE in cg_fmu.h
        text=f"integration method: default ({DEFAULT_METHODS}), {methods}",
    )
    return found


def _indicators(d: Described) -> Iterator[tuple[str, str, Row | None]]:
    table = d.dependencies.get("guards")
    for i, name in enumerate((*d.model.events, *d.model.kinks)):
        text = "guard of the event" if i < len(d.model.events) else "zero at a kink of the right-hand side"
        yield f"indicator({name})", text, None if table is None else table[i]
    table = d.dependencies.get("contacts")
    for i, name in enumerate(d.model.contacts):
        found = None if table is None else table[5 * i : 5 * i + 5]
        for what, parts in (("slip", (0, 1, 2)), ("break", (1, 2)), ("normal", (4,))):
            row = None if found is None else {k: "dependent" for j in parts for k in found[j]}
            yield f"indicator({name}.{what})", f"zero where the mode of {name} ends", row


def _number(value: float) -> str:
    return repr(float(value))


def _limits(flags: int) -> tuple[str | None, str | None]:
    """The least and the largest value that the assumptions of a variable allow."""
    return "0.0" if flags & NOT_NEGATIVE else None, "0.0" if flags & NOT_POSITIVE else None


def visible(d: Described) -> list[FmiEntry]:
    """The entries that are listed: in FMI 2.0 event indicators are not variables, and without Co-Simulation there are
    no options of its methods."""
    return [
        e
        for e in entries(d)
        if not (d.version == "2.0" and e.name.startswith("indicator("))
        and not (d.kind == "model-exchange" and e.name.startswith("solver."))
    ]


# ---- XML ----


def description(d: Described, token: str) -> str:
    """The text of modelDescription.xml."""
    return "\n".join(_v2(d, token) if d.version == "2.0" else _v3(d, token)) + "\n"


def build_description(d: Described) -> str:
    """The text of buildDescription.xml, with which FMI 3.0 says how to compile the sources."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<fmiBuildDescription fmiVersion="3.0">',
        f"  <BuildConfiguration{_attributes(modelIdentifier=d.model.name)}>",
        '    <SourceFileSet language="C99">',
        *(f"      <SourceFile{_attributes(name=file)}/>" for file in d.files),
        "    </SourceFileSet>",
        '    <Library name="m"/>',
        "  </BuildConfiguration>",
        "</fmiBuildDescription>",
    ]
    return "\n".join(lines) + "\n"


def _attributes(**values: object) -> str:
    """` name="value"` for each that is not None or empty."""
    texts = {
        k: ("true" if v else "false") if isinstance(v, bool) else _NOT_XML.sub("\ufffd", str(v))
        for k, v in values.items()
        if v not in (None, "")
    }
    return "".join(f" {name}={quoteattr(text)}" for name, text in texts.items())


def _head(d: Described, **token: object) -> list[str]:
    about = f"{d.model.name}, form {d.model.form}" if d.model.form else d.model.name
    return [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<fmiModelDescription{_attributes(fmiVersion=d.version, modelName=d.model.name, **token, description=about)}"
        f"{_attributes(generationTool=f'chaplygin {__version__}', variableNamingConvention='flat')}"
        + (_attributes(numberOfEventIndicators=d.n_indicators) if d.version == "2.0" else "")
        + ">",
    ]


def _shared(d: Described) -> list[str]:
    """Units, log categories and the default experiment: the same in both versions."""
    lines = []
    units = sorted({e.unit for e in visible(d) if e.unit})
    if units:
        lines.append("  <UnitDefinitions>")
        for unit in units:
            known = exponents(unit)
            if known is None:
                lines.append(f"    <Unit{_attributes(name=unit)}/>")
            else:
                lines.append(f"    <Unit{_attributes(name=unit)}><BaseUnit{_attributes(**known)}/></Unit>")
        lines.append("  </UnitDefinitions>")
    lines.append("  <LogCategories>")
    lines += [f"    <Category{_attributes(name=n, description=t)}/>" for n, t in LOG_CATEGORIES.items()]
    return [
        *lines,
        "  </LogCategories>",
        f"  <DefaultExperiment{_attributes(startTime=0.0, **d.experiment)}/>",
    ]


def _v2(d: Described, token: str) -> list[str]:
    lines = _head(d, guid=token)
    for element in KINDS[d.kind]:
        own: dict[str, object] = {"completedIntegratorStepNotNeeded": not d.hybrid}
        if element == "CoSimulation":
            own = {
                "canHandleVariableCommunicationStepSize": True,
                "canInterpolateInputs": bool(d.model.inputs),
            }
        lines.append(
            f"  <{element}{_attributes(modelIdentifier=d.model.name, **own, canGetAndSetFMUstate=True)}"
            f"{_attributes(canSerializeFMUstate=True, providesDirectionalDerivative=True)}>"
        )
        lines += [
            "    <SourceFiles>",
            *(f"      <File{_attributes(name=f)}/>" for f in d.files),
            "    </SourceFiles>",
        ]
        lines.append(f"  </{element}>")
    listed = visible(d)
    place = {e.reference: i for i, e in enumerate(listed, 1)}
    lines += [*_shared(d), "  <ModelVariables>"]
    for e in listed:
        derivative = None if e.derivative_of is None else place[e.derivative_of]
        lines += [
            f"    <ScalarVariable{_attributes(name=e.name, valueReference=e.reference, description=e.text)}"
            f"{_attributes(causality=e.causality, variability=e.variability, initial=e.initial)}>",
            f"      <{e.type}{_attributes(unit=e.unit, min=e.low, max=e.high, start=e.start, derivative=derivative)}/>",
            "    </ScalarVariable>",
        ]
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    for element, unknowns, initial in _structure(d, listed):
        if unknowns and element in ("Outputs", "Derivatives", "InitialUnknowns"):
            lines.append(f"    <{element}>")
            lines += [
                f'      <Unknown index="{place[e.reference]}"{_depends(d, e, place, initial)}/>'
                for e in unknowns
            ]
            lines.append(f"    </{element}>")
    return [*lines, "  </ModelStructure>", "</fmiModelDescription>"]


def _v3(d: Described, token: str) -> list[str]:
    lines = _head(d, instantiationToken=token)
    for element in KINDS[d.kind]:
        own: dict[str, object] = {"needsCompletedIntegratorStep": d.hybrid}
        if element == "CoSimulation":
            own = {"canHandleVariableCommunicationStepSize": True, "hasEventMode": True}
            own["mightReturnEarlyFromDoStep"] = bool(d.model.events or d.model.contacts)
        lines.append(
            f"  <{element}{_attributes(modelIdentifier=d.model.name, canGetAndSetFMUState=True)}"
            f"{_attributes(canSerializeFMUState=True, providesDirectionalDerivatives=True)}"
            f"{_attributes(providesAdjointDerivatives=True, **own)}/>"
        )
    listed = visible(d)
    lines += [*_shared(d), "  <ModelVariables>"]
    for e in listed:
        head = _attributes(name=e.name, valueReference=e.reference, description=e.text, causality=e.causality,
                           variability=e.variability, initial=e.initial)  # fmt: skip
        if e.type == "String":
            lines.append(f"    <String{head}><Start{_attributes(value=e.start)}/></String>")
        else:
            own = {
                "derivative": e.derivative_of,
                "unit": e.unit,
                "min": e.low,
                "max": e.high,
                "start": e.start,
            }
            lines.append(f"    <{e.type}{head}{_attributes(**own)}/>")
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    names = {
        "Outputs": "Output",
        "Derivatives": "ContinuousStateDerivative",
        "InitialUnknowns": "InitialUnknown",
    }
    place = {e.reference: e.reference for e in listed}
    for element, unknowns, initial in _structure(d, listed):
        name = names.get(element, "EventIndicator")
        lines += [
            f'    <{name} valueReference="{e.reference}"{_depends(d, e, place, initial)}/>' for e in unknowns
        ]
    return [*lines, "  </ModelStructure>", "</fmiModelDescription>"]


def _structure(d: Described, listed: Sequence[FmiEntry]) -> Iterator[tuple[str, list[FmiEntry], bool]]:
    """The parts of ModelStructure: element, unknowns, and whether they are those of the initialization."""
    outputs = [e for e in listed if e.causality == "output"]
    derivatives = [e for e in listed if e.derivative_of is not None]
    yield "Outputs", outputs, False
    yield "Derivatives", derivatives, False
    later = sorted(
        (e for e in (*outputs, *derivatives) if e.initial == "calculated"), key=lambda e: e.reference
    )
    yield "InitialUnknowns", later, True
    yield "EventIndicators", [e for e in listed if e.name.startswith("indicator(")], False


def _depends(d: Described, e: FmiEntry, place: Mapping[int, int], initial: bool) -> str:
    """The dependencies of an unknown on the time, the states and the inputs, and in the initialization on parameters.

    In the initialization all are simply "dependent".
    """
    if e.depends is None:
        return ""
    known = (d.clock, *d.model.states, *(d.model.parameters if initial else ()), *d.model.inputs)
    references = {v.name: v.reference for v in entries(d)}
    row = {(d.clock if name == "t" else name): kind for name, kind in e.depends.items()}
    own = ""
    for name in d.model.inputs:  # what depends on the rate of an input depends on the input
        if not d.model.variables[name].flags & RATE:
            own = name
        elif row.pop(name, None) is not None:
            row[own] = "dependent"
    found = sorted((place[references[name]], row[name]) for name in known if name in row)
    numbers = " ".join(str(i) for i, _ in found)
    factor = {"fixed": "tunable"} if d.tunable else {}
    kinds = " ".join("dependent" if initial else factor.get(kind, kind) for _, kind in found)
    return f' dependencies="{numbers}" dependenciesKind="{kinds}"'


def exponents(text: str) -> dict[str, int] | None:
    """The exponents of the base units in a unit such as "kg m^2/s" or "N*m"; None if the text is not understood.

    Everything after a slash is divided by, up to the next space, sign of multiplication or slash; parentheses group.

    >>> exponents("N m/rad"), exponents("kg/(m s^2)"), exponents("furlong")
    ({'kg': 1, 'm': 2, 's': -2, 'rad': -1}, {'kg': 1, 'm': -1, 's': -2}, None)
    """
    found: dict[str, int] = {}
    signs, sign, place = [1], 1, 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            return None
        name, grouped, power, mark = match.groups()
        place = match.end()
        if mark == "(":
            signs.append(signs[-1] * sign)
            sign = 1
        elif mark == ")":
            if len(signs) == 1:
                return None
            signs.pop()
        elif mark:
            sign = -1 if mark == "/" else 1
        else:
            unit = {} if name == "1" else {name: 1} if name in BASE else _DERIVED.get(name)
            if unit is None:
                return None
            for base, exponent in unit.items():
                found[base] = found.get(base, 0) + signs[-1] * sign * exponent * int(grouped or power or 1)
            sign = 1
    return {base: found[base] for base in BASE if found.get(base)} if len(signs) == 1 else None


def divided(unit: str) -> str:
    """The unit of a derivative with respect to the time; "" if the unit is not known.

    >>> divided("m"), divided("rad/s")
    ('m/s', 'rad/s2')
    """
    known = exponents(unit) if unit else None
    if known is None:
        return ""
    known["s"] = known.get("s", 0) - 1
    above = " ".join(f"{b}{n if n > 1 else ''}" for b, n in known.items() if n > 0)
    below = " ".join(f"{b}{-n if n < -1 else ''}" for b, n in known.items() if n < 0)
    if not below:
        return above or "1"
    return f"{above or '1'}/({below})" if " " in below else f"{above or '1'}/{below}"
