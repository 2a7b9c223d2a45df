"""Calls of every public function and method with one argument of a wrong type or value, found by their signatures.

The others are right: `right` has a value for each name of a parameter, and `own` where a call means another by it.
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
from mechanics_models import pulled_spring
from springs import M, sprung

import chaplygin as cg
from chaplygin.runtime.problem.option_table import OPTIONS


class Hostile:
    """An object that cannot be compared, tested, printed or iterated over."""

    def refuse(self, *_: object) -> Any:
        raise ArithmeticError("refused")

    __hash__ = None  # type: ignore[assignment]
    __eq__ = __bool__ = __repr__ = __iter__ = __float__ = refuse


def endless() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


SPELLED = (
    "None",
    "np.array([1.0, 2.0]); np.array(5); np.empty((2, 0)); np.array(['x', 'y']); np.array([None, 'x'], dtype=object)",
    "np.array([[nan], [1.0]]); Decimal('0.5'); Fraction(1, 3); sp.sqrt(2); zeta; sp.Matrix([1, 2]); sp.Eq(zeta, 1)",
    "sp.Symbol('zeta', real=True) > 1; sp.true; sp.Function('zeta')(sp.Symbol('t')); nan; inf; sp.nan; 1j; sp.I",
    "True; 0; b'x'; bytearray(b'x'); 'nonsense'; ''; 'é'; '\\ud800'; 'x' * 100_000; [['x'], 2]; []; [[]]; [nan]",
    "[None]; 10**400; 10**30; -1; {'x'}; set(); {}; (i for i in 'xy'); {1: 2}; {None: None}; lambda *_: 'x'; int",
    "object(); Hostile(); Path('x'); Path.cwd(); date(2000, 1, 1); np.timedelta64(3); np.array('x'); endless()",
    "[endless(), endless()]; np.broadcast_to(1.0, 10**9); np.broadcast_to(np.array(half, dtype=object), (2, 10**9))",
    "[bytearray(b'ab'), bytearray(b'ab')]; cg.Body('other'); cg.Event(zeta); system(); spring(); subject('solution')",
    "cg.final('x'); cg.coordinates('x')",
)
VALUES = [text for row in SPELLED for text in row.split("; ")]
"""Wrong values, as Python spells them, in these names and those of this module."""
NAMES = {"nan": np.nan, "inf": np.inf, "zeta": sp.Symbol("zeta"), "half": Decimal(1) / 2, "date": datetime.date,
         "Decimal": Decimal, "Fraction": Fraction}  # fmt: skip

START, NUMBERS = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 4.0}
SPAN = (0, 0.1)
DRAWN = {"x": scipy.stats.norm(1, 1), "x_dot": 0.0}
DATA = {"t": [0.0, 1.0, 2.0, 3.0], "x": [1.0, -0.4, -0.6, 0.9]}
FITTED: dict[str, Any] = {"initial": START, "parameters": NUMBERS, "free": ["k"]}
EPISODES = {"dt": 0.1, "actions": {"F": (-1, 1)}, "observations": ["x"], "reward": "x", "terminated": None,
            "initial": {"x": (-1, 1), "x_dot": 0}, "parameters": NUMBERS, "inputs": None, "max_episode_steps": 5,
            "seed": 1}  # fmt: skip


@functools.cache
def spring() -> Any:
    from chaplygin.generated.harmonic_oscillator import model

    return model


@functools.cache
def system() -> cg.System:
    return sprung("cart", mass=M)


@functools.cache
def cart(falls: bool = False) -> Any:
    """The compiled system, with an event or without."""
    return system().compile(events=[cg.Event(cg.coordinates("x") - 0.99, name="fall")] * falls)


@functools.cache
def closed() -> Any:
    """A model with a constraint."""
    x, y = cg.coordinates("x y")
    kinetic = cg.parameters("m", positive=True) * (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2
    given = {"kinetic": kinetic, "holonomic": [y - cg.parameters("k") * x**2]}
    return cg.System("closed", coordinates=[x, y], **given).compile()


def environment(kind: str, **changes: Any) -> Any:
    from chaplygin import gym

    given = {**EPISODES, **changes}
    made = gym.VectorEnv(cart(), 2, **given) if kind == "VectorEnv" else gym.Env(cart(), **given)
    made.reset()
    return made


def wheel() -> cg.Body:
    x, phi = cg.coordinates("x phi")
    return cg.Body("wheel", mass=1, inertia=(1, 2, 1), rotation=cg.turn(2, phi), center=(x, 0, 1))


SUBJECTS: dict[str, Callable[[], Any]] = {
    "model": spring, "system": system, "body": wheel, "grid": lambda: cg.grid({"x": [1, 2]}),
    "equations": lambda: system().equations(), "program": lambda: system().equations().program,
    "solution": lambda: spring().integrate((0, 1), START, NUMBERS, dense_output=True),
    "ensemble": lambda: cg.ensemble(spring(), SPAN, START, NUMBERS, n=3),
    "study": lambda: cg.study(spring(), SPAN, START, NUMBERS, n=3, collect={"end": cg.final("x")}),
    "stepper": lambda: spring().stepper(START, NUMBERS), "batch": lambda: spring().batch(START, NUMBERS, n=3),
    "fit": lambda: cg.fit(spring(), DATA, **FITTED), "residuals": lambda: cg.residuals(spring(), DATA, **FITTED),
    "rare event": lambda: cg.rare_event(spring(), SPAN, "x", 100, DRAWN, NUMBERS, above=2, seed=1),
    "response": lambda: cg.response(spring(), SPAN, "x", DRAWN, NUMBERS),
    "objective": lambda: spring().objective(cg.final("x"), SPAN, **FITTED),
    "link": lambda: cg.joint.revolute(None, "y", name="arm", mass=1, center=(0, 0, -1)),
    "Env": lambda: environment("Env"), "VectorEnv": lambda: environment("VectorEnv"),
    "linear": lambda: cart().linearize({"x": 0, "x_dot": 0}, NUMBERS),
}  # fmt: skip
"""Objects whose public methods are called."""
CHANGING = {"stepper", "batch", "Env", "VectorEnv"}
_once = functools.cache(lambda name: SUBJECTS[name]())


def subject(name: str) -> Any:
    """One of the subjects, a new one if calls change it."""
    return SUBJECTS[name]() if name in CHANGING else _once(name)


INSIDE = """
system.all_symbols system.of_kind system.parts system.with_events residuals.solution residuals.check
Env.get_wrapper_attr Env.has_wrapper_attr Env.set_wrapper_attr Env.render VectorEnv.close_extras VectorEnv.render
program.bringing program.indices program.of program.schedule program.written_out ensemble.observed ensemble.quantity
study.to_parquet study.to_zarr study.complete study.facts study.finish study.pieces study.take study.views
body.entries link.entries model.runs_lanes response.run
""".split()
"""Methods that the package itself calls, with what it has checked, or that need packages seldom installed."""
RESULTS = """
Ensemble Study Solution Stepper Model Equations Program Sources Fit RareEvent Pair Response Precision Example Grid
""".split()
"""Classes of which users make no objects."""


@functools.cache
def right() -> dict[str, Any]:
    """What is right for a parameter of a name, or of this name in one call, where it is given though optional."""
    x, m, end, body = cg.coordinates("x"), cg.parameters("m"), cg.final("x"), subject("body")
    rest, origin = {"x": 0.0, "x_dot": 0.0}, (None, (0, 0, 0))
    common = {
        "t_span": SPAN, "initial": START, "parameters": NUMBERS, "n": 2, "collect": {"end": end}, "what": "x",
        "names": "a b", "name": "x", "event": "fall", "quantity": "x", "over": "x", "state": START,
        "guess": START, "data": DATA, "free": ["k"], "loss": end, "period": np.pi, "t": 0.0, "y": START, "p": NUMBERS,
        "u": (), "dy": START, "kernel": "rhs", "folder": "out", "path": "out.x", "dt": 0.1, "values": START,
        "snapshot": None, "coefficient": m, "stiffness": m, "effort": m, "couple": m, "axis": "z", "angle": x,
        "g": 9.81, "body": body, "first": body, "second": (body, (0, 0, 1)), "parent": None, "pitch": 1, "expr": x,
        "slip": cg.rate(x), "normal": 1, "mu": 0.5, "contact": (x, 0, 0), "coordinates": [x],
        "kinetic": cg.rate(x) ** 2, "number": 1, "of": x, "arm": (0, 0, 1), "action": [0.0], "actions": [[0.0], [0.0]],
        "edges": [0, 1, 2], "q": 0.5, "condition": x > 0, "times": [0.0, 0.1], "entry": end, "axes": {"x": [1, 2]},
        "function": lambda v: (float((v**2).sum()), 2 * v), "source": np.ones((2, 5)), "key": "x", "i": 1,
        "relative": 0.1, "above": 2.0, "point": {"x": 0, "x_dot": 0, "m": 1, "k": 4, "F": 0},
        "equations": system().equations(), "v": [1.0, 2.0, 0.0, 1.0], "model": spring(), "sigma": 0.5, "rate": 2.0,
        "A": [[-1.0]], "B": [[1.0]], "C": [[1.0]], "tau": 1.0, "altitude": 100.0, "speed": 30.0, "wind": 8.0,
    }  # fmt: skip
    own = {
        "Damper.first": origin, "Spring.first": origin, "Motor.first": None, "Motor.second": body,
        "System.parameters": [], "Wrench.force": (0, 0, 1), "cubic.t": [0.0, 1.0, 2.0, 3.0],
        "example.name": "heavy_top", "fields_from_forms.forms": [cg.rate(x)],
        "fields_from_forms.velocities": [cg.velocities("v")], "from_sympy.model": pulled_spring(),
        "from_sympy.parameters": None, "from_urdf.path": URDF, "from_urdf.parameters": "numbers",
        "jointly.names": ("x", "x_dot"), "rare_event.event": "x", "rare_event.initial": DRAWN, "rare_event.n": 100,
        "response.initial": DRAWN, "squares.data": {"x": ([0.0, 0.05], [1.0, 1.0])}, "joint.universal.first": "x",
        "joint.universal.second": "y", "model.consistent.initial": {**rest, "x": 1.0, "y": 1.0, "y_dot": 0.0},
        "model.steady_motion.keep": ["x"], "model.steady_motion.guess": rest, "model.linearize.state": rest,
        "model.to_scipy.quantity": "energy", "model.to_scipy.over": "k", "solution.evaluate.name": "x",
        "solution.sol.t": 0.5, "model.ensemble.options": {"n": 3},
        "model.study.options": {"n": 3, "collect": {"end": end}}, "ensemble.evaluate.name": "x",
        "stepper.advance.t": 0.1, "stepper.set_inputs.values": {}, "stepper.set_parameters.values": NUMBERS,
        "batch.advance.t": 0.1, "batch.set_inputs.values": {}, "batch.restore.snapshot": subject("batch").save(),
        "fit.contains.values": {"k": 4.0}, "fit.interval.name": "k", "response.evaluate.u": [[0.5]],
        "residuals.jacobian.values": {"k": 4.0}, "grid.shaped.values": [1.0, 2.0],
    }  # fmt: skip
    return common | own | {f"{kind}.{k}": v for kind in ("Env", "VectorEnv") for k, v in EPISODES.items()}


USUAL = "initial parameters n collect coordinates kinetic relative above state folder".split()
"""Arguments that can be left out and are given all the same."""
URDF = Path(__file__).resolve().parents[2] / "systems" / "robot_arm.urdf"
MORE: dict[str, tuple[str, ...]] = {
    "options": tuple(OPTIONS),
    "link": ("at", "turned", "center", "mass", "inertia", "about"),
    "assumptions": ("positive", "integer"),
    "changed": ("t_eval", "rtol"),
}
"""The names that stand behind the keywords of a function."""
USED: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        "final series table moments quantiles histogram probability first_passage events integral peak minimum".split(),
        lambda made: cg.study(cart(True), SPAN, START, NUMBERS, n=2, collect={"made": made}),
    ),
    **dict.fromkeys(
        ("at_event", "loss", "squares"), lambda made: cart(True).gradient(made, SPAN, START, NUMBERS)
    ),
    **dict.fromkeys(("objective", "model.objective", "residuals"), lambda made: made(made.start)),
    "jointly": lambda made: cg.ensemble(spring(), SPAN, made, NUMBERS, n=3),
    "response": lambda made: made([[0.5]]),
    "grid": lambda made: cg.ensemble(spring(), SPAN, {**made, "x_dot": 0.0}, NUMBERS),
}
"""What is then done with the result of a call whose arguments are checked, by name, when it is used."""


def _found() -> Iterator[tuple[str, Callable[[], Callable[..., Any]]]]:
    for name in sorted(set(cg.__all__) - {*RESULTS}):
        public = getattr(cg, name)
        if callable(public) and not (isinstance(public, type) and issubclass(public, BaseException)):
            yield name, functools.partial(getattr, cg, name)
    for module in ("joint", "noise"):
        for name in getattr(cg, module).__all__[1:]:
            yield f"{module}.{name}", functools.partial(getattr, getattr(cg, module), name)
    for kind in ("Env", "VectorEnv"):
        yield kind, functools.partial(functools.partial, environment, kind)
    for name in ("solution", "ensemble", "stepper", "batch"):
        yield f"{name}[]", lambda name=name: lambda key: subject(name)[key]
    for group in SUBJECTS:
        for name in dir(type(subject(group))):
            call, of = (
                f"{group}.{name}",
                closed if name == "consistent" else functools.partial(subject, group),
            )
            if name[0] != "_" and call not in INSIDE and callable(getattr(subject(group), name, None)):
                yield call, lambda of=of, name=name: getattr(of(), name)


@functools.cache
def calls() -> dict[str, tuple[Callable[[], Callable[..., Any]], dict[str, inspect.Parameter]]]:
    """The public functions and methods: what makes each, and its parameters."""
    word, found = inspect.Parameter, {}
    for name, make in _found():
        if name in ("Env", "VectorEnv"):
            parameters = {entry: word(entry, word.KEYWORD_ONLY) for entry in EPISODES}
        else:
            parameters = dict(inspect.signature(make()).parameters)
        found[name] = make, parameters
    return found


BOUNDED = "np.array(5); Decimal('0.5'); Fraction(1, 3); sp.sqrt(2); True; 0; -1"
REAL = f"{BOUNDED}; 10**30; 10**400; inf"
EMPTY = "np.empty((2, 0)); ''; []; set(); {}"
LEGAL = (
    ("reward terminated what slip normal mu angle expr effort couple coefficient stiffness rest rest_length pitch mass "
     "g force arm kinetic potential", f"{REAL}; cg.coordinates('x'); zeta; sp.Function('zeta')(sp.Symbol('t'))",
     "an expression; its system refuses what is not declared"),
    ("rtol atol t t0 t_eval max_step first_step step dt level memory tolerance step_size stop_time above below p0 "
     "relative absolute period interval transient seed max_steps tau n which max_episode_steps number i times at run q "
     "where", REAL, "a number of any type"),
    ("y p u dy initial parameters inputs guess state source actions action values t t_eval atol observations x point",
     "np.array([1.0, 2.0]); sp.Matrix([1, 2]); np.empty((2, 0)); np.array(5); np.array([[nan], [1.0]]); []; {}; set(); "
     "(i for i in 'xy')", "an array, as a vector of the model's order or as columns"),
    ("name names joint key free keep sensitivities by event entry what prefix summary source path folder file out over "
     "quantity prescribed base friction", "'nonsense'; 'é'; zeta; cg.coordinates('x'); sp.Function('zeta')"
     "(sp.Symbol('t')); 'x' * 100_000; '\\ud800'; Path('x'); Path.cwd(); {'x'}; set(); np.array(['x', 'y'])",
     "a name or a path like any other"),
    ("parent first second body on axes of against", "cg.Body('other'); None", "a body"),
    ("model", "spring()", "a model"),
    ("entry what loss until event", "cg.final('x')", "an entry of collect"),
    ("methods platforms events keep kept interactions contacts bodies", "set()", "no entries, in no order"),
    ("u inputs terminated axis constraints holonomic bodies interactions contacts events parameters potential", "None",
     "nothing"),
    ("initial state guess", "subject('solution')", "a run goes on from the end of another"),
    ("t_span", "np.array([1.0, 2.0])", "a pair"),
    ("seed", "[None]; None", "as Gymnasium's vector environments take it"),
    ("what reward condition terminated", "sp.true", "a condition is 1 or 0"),
    ("what", "[]", "no quantities"),
    ("altitude speed", f"{REAL}; lambda *_: 'x'; int; subject('solution')", "a number or a function of the time"),
    ("C", "sp.Matrix([1, 2])", "two rows"),
    ("rows", "np.empty((2, 0)); np.array([[nan], [1.0]]); sp.Matrix([1, 2]); [endless(), endless()]; endless(); "
     "[['x'], 2]; [[]]; [bytearray(b'ab'), bytearray(b'ab')]", "a table whose numbers are read where it is used"),
    ("observations of", "{'x'}; cg.coordinates('x')", "one quantity"),
    ("when", "sp.Symbol('zeta', real=True) > 1; sp.Eq(zeta, 1)", "as an expression"),
    ("summary source prefix folder", "''", "no text, or this folder"),
    ("action", "[nan]", "the episode fails"),
    ("max_episode_steps", "None", "no limit"),
    ("direction terminal", "0; -1", "0, 1 and -1 as in SciPy"),
    ("options kwargs default", "; ".join(VALUES), "not read: arguments of Gymnasium's base class and of Mapping.get"),
    ("positive integer kinks wait force motors inlined reject with_time simplify reproducible single_header progress "
     "dense_output sensitivity_control at_samples", "True", "a switch"),
)  # fmt: skip
"""Arguments and values that are taken although a name says otherwise at first sight, and why."""


def legal(call: str, word: str, value: str) -> bool:
    """Whether an accepted argument is right, although it looks odd."""
    parameter = calls()[call][1].get(word)
    meant, default = ("", None) if parameter is None else (str(parameter.annotation), parameter.default)
    return (
        (value == "None" and (default is None or "None" in meant))
        or (value in EMPTY.split("; ") and parameter is not None and default in (None, ()))
        or (value == "True" and meant == "bool")
        or (value in REAL.split("; ") and re.search("float|Expression", meant) is not None)
        or call == "grid.get"
        or any(word in words.split() and value in values.split("; ") for words, values, _ in LEGAL)
    )


def cases() -> list[tuple[str, str, str]]:
    """Every call, argument and value."""
    return [
        (call, word, value)
        for call, (_, parameters) in calls().items()
        if call != "example"  # its options are those of a system
        for name, parameter in parameters.items()
        for word in (MORE.get(name, ()) if parameter.kind is parameter.VAR_KEYWORD else (name,))
        for value in VALUES
        if not (value == "10**30" and word in ("transient", "t", "dt"))  # a run of 10**30 s takes its time
    ]


def arguments(call: str, word: str, value: Any) -> tuple[list[Any], dict[str, Any]]:
    """The right arguments of a call, one replaced."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    parameters = calls()[call][1]
    spread = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    for name, p in parameters.items():
        own = f"{call}.{name}"
        given = value if name == word else right().get(own, right().get(name))
        if p.kind is p.VAR_KEYWORD:
            named |= (given or {}) | ({word: value} if word in MORE.get(name, ()) else {})
        elif name == word or name in USUAL or own in right() or p.default is p.empty:
            if p.kind in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY) or (
                spread and p.kind is p.POSITIONAL_OR_KEYWORD
            ):
                positional.append(given)
            else:
                named[name] = given
    return positional, named


def attempt(call: str, word: str = "", value: str = "None") -> str | None:
    """What is wrong with the answer to a call: an error from inside, "accepted", or None."""
    positional, named = arguments(call, word, eval(value, globals() | NAMES))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            USED.get(call, lambda made: made)(calls()[call][0]()(*positional, **named))
        except cg.ChaplyginError as error:
            return None if len(str(error)) < 2000 else f"a message of {len(str(error))} characters"
        except FileNotFoundError:
            return None  # of from_urdf, as documented
        except Exception as error:
            if value == "int" and (word in ("function", "source", "events") or call in ("Env", "VectorEnv")):
                return None  # what the user's function raises is its own
            return f"{type(error).__name__}: {error}"
    return "accepted"
