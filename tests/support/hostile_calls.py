"""Calls of every public function and method with one argument of a wrong type or value, found by their signatures.

The others are right: `RIGHT` has a value for each name of a parameter, `OWN` where a call means another by it.
"""

from __future__ import annotations

import datetime
import functools
import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats
import sympy as sp

import chaplygin as cg
from chaplygin.runtime.problem.option_table import OPTIONS


class Hostile:
    """An object that cannot be compared, tested, printed or iterated over."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ArithmeticError("eq")

    def __bool__(self) -> bool:
        raise ArithmeticError("bool")

    def __repr__(self) -> str:
        raise ArithmeticError("repr")

    def __iter__(self) -> Any:
        raise ArithmeticError("iter")

    def __float__(self) -> float:
        raise ArithmeticError("float")


def endless() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "array": lambda: np.array([1.0, 2.0]),
    "array of no axes": lambda: np.array(5),
    "empty array": lambda: np.empty((2, 0)),
    "array of strings": lambda: np.array(["x", "y"]),
    "array of objects": lambda: np.array([None, "x"], dtype=object),
    "array of NaN": lambda: np.array([[np.nan], [1.0]]),
    "Decimal": lambda: Decimal("0.5"),
    "Fraction": lambda: Fraction(1, 3),
    "sqrt(2)": lambda: sp.sqrt(2),
    "symbol": lambda: sp.Symbol("zeta"),
    "matrix": lambda: sp.Matrix([1, 2]),
    "equation": lambda: sp.Eq(sp.Symbol("zeta"), 1),
    "condition": lambda: sp.Symbol("zeta", real=True) > 1,
    "sp.true": lambda: sp.true,
    "function of time": lambda: sp.Function("zeta")(sp.Symbol("t")),
    "NaN": lambda: float("nan"),
    "infinite": lambda: float("inf"),
    "sp.nan": lambda: sp.nan,
    "complex": lambda: 1j,
    "imaginary": lambda: sp.I,
    "bool": lambda: True,
    "zero": lambda: 0,
    "bytes": lambda: b"x",
    "bytearray": lambda: bytearray(b"x"),
    "string": lambda: "nonsense",
    "empty string": lambda: "",
    "accents": lambda: "é",
    "surrogate": lambda: "\ud800",
    "huge string": lambda: "x" * 100_000,
    "ragged list": lambda: [["x"], 2],
    "empty list": list,
    "list of an empty list": lambda: [[]],
    "list of NaN": lambda: [float("nan")],
    "list of None": lambda: [None],
    "huge integer": lambda: 10**400,
    "large integer": lambda: 10**30,
    "negative": lambda: -1,
    "set": lambda: {"x"},
    "empty set": set,
    "empty dict": dict,
    "generator": lambda: (i for i in "xy"),
    "dict": lambda: {1: 2},
    "dict of None": lambda: {None: None},
    "function": lambda: lambda *_: "x",
    "class": lambda: int,
    "object": object,
    "hostile": Hostile,
    "path": lambda: Path("x"),
    "folder": Path.cwd,
    "date": lambda: datetime.date(2000, 1, 1),
    "duration": lambda: np.timedelta64(3),
    "string of no axes": lambda: np.array("x"),
    "list of itself": endless,
    "table of itself": lambda: [endless(), endless()],
    "broadcast": lambda: np.broadcast_to(1.0, 10**9),
    "broadcast objects": lambda: np.broadcast_to(np.array(Decimal(1), dtype=object), (2, 10**9)),
    "list of bytes": lambda: [bytearray(b"ab"), bytearray(b"ab")],
    "a body": lambda: cg.Body("other"),
    "an event": lambda: cg.Event(sp.Symbol("zeta")),
    "a system": lambda: system(),
    "a model": lambda: spring(),
    "a solution": lambda: solution(),
    "a collector": lambda: cg.final("x"),
    "a coordinate": lambda: cg.coordinates("x"),
}

START, NUMBERS = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 4.0}
SPAN = (0, 0.1)
DRAWN = {"x": scipy.stats.norm(1, 1), "x_dot": 0.0}
DATA = {"t": [0.0, 1.0, 2.0, 3.0], "x": [1.0, -0.4, -0.6, 0.9]}


@functools.cache
def spring() -> Any:
    from chaplygin.generated.harmonic_oscillator import model

    return model


@functools.cache
def system() -> cg.System:
    x, v = cg.coordinates("x"), cg.rate(cg.coordinates("x"))
    (m, k), force = cg.parameters("m k", positive=True), cg.inputs("F")
    parts = {"kinetic": m * v**2 / 2, "potential": k * x**2 / 2, "forces": {v: force}}
    return cg.System("cart", coordinates=[x], **parts)


@functools.cache
def cart() -> Any:
    return system().compile()


@functools.cache
def falling() -> Any:
    """A model with an event."""
    return system().compile(events=[cg.Event(cg.coordinates("x") - 0.99, name="fall")])


@functools.cache
def closed() -> Any:
    """A model with a constraint."""
    x, y = cg.coordinates("x y")
    m, k = cg.parameters("m k", positive=True)
    kinetic = m * (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2
    return cg.System("closed", coordinates=[x, y], kinetic=kinetic, holonomic=[y - k * x**2]).compile()


@functools.cache
def fitted() -> cg.Fit:
    return cg.fit(spring(), DATA, initial=START, parameters=NUMBERS, free=["k"])


@functools.cache
def solution() -> Any:
    return spring().integrate((0, 1), START, NUMBERS, dense_output=True)


@functools.cache
def ensemble() -> cg.Ensemble:
    return cg.ensemble(spring(), SPAN, START, NUMBERS, n=3)


@functools.cache
def study() -> cg.Study:
    return cg.study(spring(), SPAN, START, NUMBERS, n=3, collect={"end": cg.final("x")})


@functools.cache
def rare() -> cg.RareEvent:
    return cg.rare_event(spring(), SPAN, "x", 100, DRAWN, NUMBERS, above=2, seed=1)


@functools.cache
def wheel() -> cg.Body:
    x, phi = cg.coordinates("x phi")
    return cg.Body("wheel", mass=1, inertia=(1, 2, 1), rotation=cg.turn(2, phi), center=(x, 0, 1))


@functools.cache
def link() -> Any:
    return cg.joint.revolute(None, "y", name="arm", mass=1, center=(0, 0, -1))


@functools.cache
def at_rest() -> Any:
    """The equations of motion about rest."""
    return cart().linearize({"x": 0, "x_dot": 0}, NUMBERS)


def environment(kind: str, **changes: Any) -> Any:
    from chaplygin import gym

    given = {**EPISODES, **changes}
    made = gym.VectorEnv(cart(), 2, **given) if kind == "VectorEnv" else gym.Env(cart(), **given)
    made.reset()
    return made


EPISODES = {"dt": 0.1, "actions": {"F": (-1, 1)}, "observations": ["x"], "reward": "x", "terminated": None,
            "initial": {"x": (-1, 1), "x_dot": 0}, "parameters": NUMBERS, "inputs": None, "max_episode_steps": 5,
            "seed": 1}  # fmt: skip
SUBJECTS: dict[str, Callable[[], Any]] = {
    "model": spring,
    "system": system,
    "equations": lambda: system().equations(),
    "program": lambda: system().equations().program,
    "solution": solution,
    "ensemble": ensemble,
    "study": study,
    "stepper": lambda: spring().stepper(START, NUMBERS),
    "batch": lambda: spring().batch(START, NUMBERS, n=3),
    "fit": fitted,
    "rare event": rare,
    "response": lambda: cg.response(spring(), SPAN, "x", DRAWN, NUMBERS),
    "residuals": lambda: cg.residuals(spring(), DATA, initial=START, parameters=NUMBERS, free=["k"]),
    "objective": lambda: spring().objective(cg.final("x"), SPAN, START, NUMBERS, free=["k"]),
    "grid": lambda: cg.grid({"x": [1, 2]}),
    "body": wheel,
    "link": link,
    "Env": lambda: environment("Env"),
    "VectorEnv": lambda: environment("VectorEnv"),
    "linear": at_rest,
}
"""Objects whose public methods are called."""
INSIDE = {
    "system": {"all_symbols", "of_kind", "parts", "with_events"},
    "residuals": {"solution", "check"},
    "Env": {"get_wrapper_attr", "has_wrapper_attr", "set_wrapper_attr", "render"},
    "VectorEnv": {"close_extras", "render"},
    "program": {"bringing", "indices", "of", "schedule", "written_out"},
    "ensemble": {"observed", "quantity"},
    "study": {"to_parquet", "to_zarr", "complete", "facts", "finish", "pieces", "take", "views"},
    "body": {"entries"},
    "link": {"entries"},
    "model": {"runs_lanes"},
    "response": {"run"},
}
"""Methods that the package itself calls, with what it has checked, or that need packages seldom installed."""
FUNCTIONS = sorted(
    name
    for name in cg.__all__
    if callable(getattr(cg, name))
    and not (isinstance(getattr(cg, name), type) and issubclass(getattr(cg, name), BaseException))
    and name
    not in {
        "Ensemble",
        "Study",
        "Solution",
        "Stepper",
        "Model",
        "Equations",
        "Program",
        "Sources",
        "Fit",
        "RareEvent",
        "Pair",
        "Response",
        "Precision",
        "Example",
        "Grid",
    }
)
"""Public functions, and the classes of which users make objects."""


def _right() -> dict[str, Any]:
    x, m = cg.coordinates("x"), cg.parameters("m")
    end = cg.final("x")
    return {
        "t_span": SPAN, "initial": START, "parameters": NUMBERS, "n": 3, "collect": {"end": end}, "what": "x",
        "names": "a b", "name": "nonsense", "event": "fall", "quantity": "x", "over": "x", "state": START,
        "guess": START, "data": DATA, "free": ["k"], "loss": end, "by": ["k"], "period": np.pi, "keep": ["x"],
        "t": 0.0, "y": START, "p": NUMBERS, "u": (), "dy": START, "kernel": "rhs", "folder": "out", "path": "out.x",
        "dt": 0.1, "values": START, "snapshot": None, "arm": (0, 0, 1), "coefficient": m, "stiffness": m,
        "effort": m, "couple": m, "axis": "z", "angle": x, "g": 9.81, "body": wheel(), "first": wheel(),
        "second": (wheel(), (0, 0, 1)), "force": (0, 0, 1), "parent": None, "pitch": 1, "mass": 1,
        "inertia": (1, 1, 1), "expr": x, "slip": cg.rate(x), "normal": 1, "mu": 0.5, "contact": (x, 0, 0),
        "coordinates": [x], "kinetic": cg.rate(x) ** 2, "number": 1, "of": x, "action": [0.0], "file": "out.png",
        "actions": [[0.0], [0.0]], "edges": [0, 1, 2], "q": 0.5, "condition": x > 0, "times": [0.0, 0.1],
        "entry": end, "function": lambda value: value, "axes": {"x": [1, 2]}, "source": np.ones((2, 5)),
        "key": "x", "level": 0.95, "i": 1, "relative": 0.1, "above": 2.0, "seed": 1, "method": "dop853",
        "point": {"x": 0, "x_dot": 0, "m": 1, "k": 4, "F": 0}, "equations": system().equations(),
        "v": [1.0, 2.0, 0.0, 1.0], "model": spring(), "form": "lagrange", "summary": "x", "order": 2,
    }  # fmt: skip


@functools.cache
def right() -> dict[str, Any]:
    """What is right for a parameter of a name."""
    return _right()


OWN: dict[str, Callable[[], dict[str, Any]]] = {
    "Damper": lambda: {"first": (None, (0, 0, 0))},
    "Spring": lambda: {"first": (None, (0, 0, 0))},
    "System": lambda: {
        "coordinates": [cg.coordinates("x")],
        "kinetic": cg.rate(cg.coordinates("x")) ** 2 / 2,
    },
    "Wrench": lambda: {"force": (0, 0, 1)},
    "precision": lambda: {"relative": 0.1},
    "Body": lambda: {"name": "b"},
    "Coulomb": lambda: {"name": "floor"},
    "Motor": lambda: {"second": wheel(), "first": None},
    "cubic": lambda: {"t": [0.0, 1.0, 2.0, 3.0]},
    "example": lambda: {"name": "heavy_top"},
    "fields_from_forms": lambda: {
        "forms": [cg.rate(cg.coordinates("x"))],
        "velocities": [cg.velocities("v")],
    },
    "from_sympy": lambda: {"model": kane(), "name": "made", "parameters": None},
    "from_urdf": lambda: {"path": URDF, "parameters": "numbers"},
    "jointly": lambda: {"names": ("x", "x_dot")},
    "rare_event": lambda: {"event": "x", "initial": DRAWN, "n": 100, "above": 2.0},
    "response": lambda: {"initial": DRAWN},
    "squares": lambda: {"data": {"x": ([0.0, 0.05], [1.0, 1.0])}},
    "joint.universal": lambda: {"first": "x", "second": "y"},
    "joint.": lambda: {"name": "b"},
    "model.consistent": lambda: {"initial": {"x": 1.0, "y": 1.0, "x_dot": 0.0, "y_dot": 0.0}},
    "model.batch": lambda: {"n": 3},
    "system.emit": lambda: {"folder": "out"},
    "model.attributes": lambda: {"name": "x"},
    "model.steady_motion": lambda: {"keep": ["x"], "guess": {"x": 0.0, "x_dot": 0.0}},
    "model.linearize": lambda: {"state": {"x": 0.0, "x_dot": 0.0}},
    "model.to_scipy": lambda: {"quantity": "energy", "over": "k", "state": START},
    "solution.evaluate": lambda: {"name": "x"},
    "solution.sol": lambda: {"t": 0.5},
    "ensemble": lambda: {"n": 3},
    "study": lambda: {"n": 3, "collect": {"end": cg.final("x")}},
    "model.ensemble": lambda: {"options": {"n": 3}},
    "model.study": lambda: {"options": {"n": 3, "collect": {"end": cg.final("x")}}},
    "ensemble.evaluate": lambda: {"name": "x"},
    "stepper.evaluate": lambda: {"name": "x"},
    "stepper.advance": lambda: {"t": 0.1},
    "stepper.set_inputs": lambda: {"values": {}},
    "stepper.set_parameters": lambda: {"values": NUMBERS},
    "batch.advance": lambda: {"t": 0.1},
    "batch.set_inputs": lambda: {"values": {}},
    "fit.contains": lambda: {"values": {"k": 4.0}},
    "fit.interval": lambda: {"name": "k"},
    "response.evaluate": lambda: {"u": [[0.5]]},
    "residuals.jacobian": lambda: {"values": {"k": 4.0}},
    "grid.shaped": lambda: {"values": [1.0, 2.0]},
}
"""Arguments of a call that differ from `right`."""
USUAL = {"initial", "parameters"}
"""Arguments that can be left out and are given all the same."""
URDF = Path(__file__).resolve().parents[2] / "systems" / "robot_arm.urdf"
MORE: dict[str, tuple[str, ...]] = {
    "options": tuple(OPTIONS),
    "link": ("at", "turned", "center", "mass", "inertia", "about"),
    "assumptions": ("positive", "integer"),
    "changed": ("t_eval", "rtol"),
}
"""The names that stand behind the keywords of a function."""


@functools.cache
def kane() -> Any:
    """A pendulum by Kane's method."""
    from sympy.physics import mechanics as me

    q, w = me.dynamicsymbols("q w")
    length, g = sp.symbols("l g", positive=True)
    space, rod = me.ReferenceFrame("N"), me.ReferenceFrame("B")
    rod.orient_axis(space, q, space.z)
    rod.set_ang_vel(space, w * space.z)
    top, bob = me.Point("O"), me.Point("P")
    top.set_vel(space, 0)
    bob.set_pos(top, length * rod.x)
    bob.v2pt_theory(top, space, rod)
    method = me.KanesMethod(space, q_ind=[q], u_ind=[w], kd_eqs=[q.diff() - w])
    method.kanes_equations([me.Particle("bob", bob, 1)], [(bob, g * space.x)])
    return method


def _collected(entry: Any) -> Any:
    return cg.study(falling(), SPAN, START, NUMBERS, n=2, collect={"made": entry})


def _differentiated(entry: Any) -> Any:
    return falling().gradient(entry, SPAN, START, NUMBERS)


USED: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("final", "series", "table", "moments", "quantiles", "histogram", "probability"), _collected
    ),
    **dict.fromkeys(("first_passage", "events", "integral", "peak", "minimum"), _collected),
    **dict.fromkeys(("at_event", "loss", "squares"), _differentiated),
    **dict.fromkeys(("objective", "model.objective", "residuals"), lambda made: made(made.start)),
    "jointly": lambda made: cg.ensemble(spring(), SPAN, made, NUMBERS),
    "response": lambda made: made([[0.5]]),
    "grid": lambda made: cg.ensemble(spring(), SPAN, {**made, "x_dot": 0.0}, NUMBERS),
}
"""What is then done with the result of a call whose arguments are checked, by name, when it is used."""


def _found() -> Iterator[tuple[str, Callable[[], Callable[..., Any]]]]:
    for name in FUNCTIONS:
        yield name, functools.partial(getattr, cg, name)
    for name in cg.joint.__all__[1:]:
        yield f"joint.{name}", functools.partial(getattr, cg.joint, name)
    for kind in ("Env", "VectorEnv"):
        yield kind, functools.partial(functools.partial, environment, kind)
    for name in ("solution", "ensemble", "stepper", "batch"):
        yield f"{name}[]", lambda name=name: lambda key: SUBJECTS[name]()[key]
    for subject, make in SUBJECTS.items():
        for name in dir(type(make())):
            if (
                not name.startswith("_")
                and name not in INSIDE.get(subject, ())
                and callable(getattr(make(), name, None))
            ):
                yield (
                    f"{subject}.{name}",
                    lambda make=closed if name == "consistent" else make, name=name: getattr(make(), name),
                )


@functools.cache
def calls() -> dict[str, tuple[Callable[[], Callable[..., Any]], dict[str, inspect.Parameter]]]:
    """The public functions and methods: what makes each, and its parameters."""
    found = {}
    for name, make in _found():
        if name in ("Env", "VectorEnv"):
            parameters = {word: inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY) for word in EPISODES}
        else:
            parameters = dict(inspect.signature(make()).parameters)
        found[name] = make, parameters
    return found


NUMBERS_OF_OTHER_TYPES = {"Decimal", "Fraction", "sqrt(2)", "array of no axes", "bool", "zero", "negative"}
REAL = NUMBERS_OF_OTHER_TYPES | {"large integer", "huge integer", "infinite"}
ARRAYS = {"array", "matrix", "empty array", "array of no axes", "array of NaN", "empty list"}
WORDS = {"string", "accents", "symbol", "a coordinate", "function of time"}
LEGAL: tuple[tuple[str, set[str], str], ...] = (
    (
        "reward terminated what slip normal mu angle expr effort couple coefficient stiffness rest "
        "rest_length pitch mass g force arm kinetic potential",
        REAL | {"a coordinate", "symbol"},
        "a constant or a coordinate is an expression",
    ),
    (
        "rtol atol t t0 t_eval max_step first_step step dt level memory tolerance step_size stop_time above below p0 "
        "relative absolute period interval transient seed max_steps tau n which max_episode_steps number i",
        REAL,
        "a number of any type",
    ),
    (
        "y p u dy initial parameters inputs guess state source actions "
        "action values t t_eval atol observations x point",
        ARRAYS | {"empty dict", "empty set", "generator"},
        "an array, as a vector of the model's order or as columns",
    ),
    (
        "name names joint key free keep sensitivities by event what prefix summary source path folder file out over "
        "quantity prescribed base friction",
        WORDS | {"huge string", "surrogate", "path", "folder", "set", "empty set", "array of strings"},
        "a name or a path like any other",
    ),
    ("parent first second body on axes of", {"a body", "None"}, "a body"),
    ("model", {"a model"}, "a model"),
    ("entry what loss until", {"a collector"}, "an entry of collect"),
    (
        "methods platforms events keep kept interactions contacts bodies",
        {"empty set"},
        "no entries, in no order",
    ),
    ("u terminated", {"None"}, "nothing"),
    ("initial state", {"a solution"}, "a run goes on from the end of another"),
    ("t_span", {"array"}, "a pair"),
    ("seed", {"list of None"}, "as Gymnasium's vector environments take it"),
    ("what", {"sp.true"}, "a condition is 1 or 0"),
    ("summary source", {"empty string"}, "no text"),
    ("direction terminal", {"zero"}, "0 and 1 as in SciPy"),
    (
        "options kwargs default",
        set(VALUES),
        "not read: the arguments of Gymnasium's base class and of Mapping.get",
    ),
    ("terminated axis", {"None"}, "left out"),
    (
        "positive kinks wait force motors inlined reject with_time simplify reproducible single_header",
        {"bool"},
        "a switch",
    ),
)
"""Arguments and values that are taken although a name says otherwise at first sight, and why."""


def legal(call: str, word: str, value: str) -> bool:
    """Whether an accepted argument is right, although it looks odd."""
    parameters = calls()[call][1]
    parameter = parameters.get(word)
    meant = "" if parameter is None else str(parameter.annotation)
    if value == "None" and (parameter is None or parameter.default is None or "None" in meant):
        return True
    if value.startswith("empty ") and parameter is not None and parameter.default in (None, ()):
        return True
    if value == "bool" and meant == "bool":
        return True
    if value in NUMBERS_OF_OTHER_TYPES | {"large integer", "huge integer", "infinite"} and re.search(
        "float|Expression", meant
    ):
        return True
    if call == "grid.get":
        return True
    return any(word in words.split() and value in values for words, values, _ in LEGAL)


def cases() -> list[tuple[str, str, str]]:
    """Every call, argument and value."""
    return [
        (call, word, value)
        for call, (_, parameters) in calls().items()
        if call != "example"  # its options are those of a system
        for name, parameter in parameters.items()
        for word in (MORE.get(name, ()) if parameter.kind is parameter.VAR_KEYWORD else (name,))
        for value in VALUES
        if not (
            value == "large integer" and word in ("transient", "t", "dt")
        )  # a run of 10**30 s takes its time
    ]


def arguments(call: str, word: str, value: Any) -> tuple[list[Any], dict[str, Any]]:
    """The right arguments of a call, one replaced."""
    parameters = calls()[call][1]
    group = call.partition(".")[0]
    own = (
        right()
        | (EPISODES if call in ("Env", "VectorEnv") else {})
        | OWN.get(f"{group}.", dict)()
        | OWN.get(call, dict)()
    )
    positional: list[Any] = []
    named: dict[str, Any] = {}
    spread = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters.values())
    for name, parameter in parameters.items():
        given = value if name == word else own.get(name)
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= own.get(name, {}) | ({word: value} if word in MORE.get(name, ()) else {})
        elif (
            name != word
            and parameter.default is not parameter.empty
            and name not in USUAL | OWN.get(call, dict)().keys()
        ):
            continue
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY) or (
            spread and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ):
            positional.append(given)
        else:
            named[name] = given
    return positional, named


def attempt(call: str, word: str, value: str) -> str | None:
    """What is wrong with the answer to a call: an error from inside, "accepted", or None."""
    positional, named = arguments(call, word, VALUES[value]())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            USED.get(call, lambda made: made)(calls()[call][0]()(*positional, **named))
        except cg.ChaplyginError as error:
            return None if len(str(error)) < 2000 else f"a message of {len(str(error))} characters"
        except FileNotFoundError:
            return None  # of from_urdf, as documented
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return "accepted"
