"""The symbols of a declaration, and the rules for their names."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast, overload

import sympy as sp
from sympy import Symbol
from sympy.core.facts import InconsistentAssumptions

from chaplygin.errors import DeclarationError as DeclarationError
from chaplygin.runtime.interface import assumptions as held
from chaplygin.runtime.interface.messages import short


class Named(sp.Symbol):
    """A symbol of a declaration; printed expressions sort symbols by name alone."""

    @classmethod
    def class_key(cls) -> tuple[int, int, str]:
        return 2, 0, "Symbol"


class Coordinate(Named):
    """A generalised coordinate x_i."""


class Velocity(Named):
    """A velocity eta_a (Poincaré parameter, quasi-velocity) or an independent parameter theta_i."""


class Rate(Velocity):
    """The rate dx/dt of a coordinate."""

    def _latex(self, printer: Any) -> str:
        """A dot over the coordinate, wherever SymPy prints LaTeX."""
        coordinate = sp.Symbol(self.name.removesuffix("_dot"))
        return rf"\dot{{{printer._print(coordinate)}}}"


class Parameter(Named):
    """A constant of the system."""


class Input(Named):
    """A quantity that the caller sets during a run."""

    order = 0
    """How often it is differentiated by the time."""


class InputRate(Input):
    """The first or second time derivative of an input: u_dot or u_ddot of the input u."""

    @property
    def of(self) -> str:
        """The name of the input itself."""
        name: str = self.name.rsplit("_", 1)[0]
        return name

    @property
    def order(self) -> int:  # type: ignore[override]
        return 2 if self.name.endswith("_ddot") else 1

    def _latex(self, printer: Any) -> str:
        """One dot or two over the input."""
        return rf"\{'d' * self.order}ot{{{printer._print(sp.Symbol(self.of))}}}"


class Multiplier(Named):
    """The multiplier of a constraint, in the form `multipliers`."""


class ModeSymbol(Named):
    """The mode of a Coulomb contact: the direction of its slip, or the assumed sign of its normal force."""


class Time(Named):
    """The time t."""


if TYPE_CHECKING:
    # What is declared is one symbol or a tuple of them, by the text of the names, which a type checker cannot read.
    class Coordinates(Coordinate, tuple[Coordinate, ...]): ...

    class Velocities(Velocity, tuple[Velocity, ...]): ...

    class Parameters(Parameter, tuple[Parameter, ...]): ...

    class Inputs(Input, tuple[Input, ...]): ...


time = Time("t", real=True)

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_C_WORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main
alignas alignof bool complex imaginary noreturn static_assert thread_local asm fortran typeof constexpr nullptr true
false""".split()
_CPP_WORDS = """and and_eq bitand bitor catch char8_t char16_t char32_t class compl concept consteval constinit
const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export friend mutable namespace new
noexcept not not_eq operator or or_eq private protected public reinterpret_cast requires static_cast template this
throw try typeid typename using virtual wchar_t xor xor_eq""".split()
_CYTHON_WORDS = """cdef cpdef ctypedef cimport include api readonly gil nogil by DEF IF ELIF ELSE NULL fused extern
bint object Py_ssize_t size_t self cython chaplygin""".split()
RESERVED = frozenset([*_C_WORDS, *_CPP_WORDS, *_CYTHON_WORDS, *keyword.kwlist, *keyword.softkwlist])

_LONGEST_RANGE = 10_000

AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}

ASSUMPTIONS = "positive negative nonnegative nonpositive nonzero zero integer even odd".split()
"""The SymPy assumptions accepted in declarations: those that can be checked when a model runs."""


def assumed(s: sp.Symbol) -> int:
    """The assumptions of a symbol as bits of `enum cg_flag` in chaplygin.h.

    >>> assumed(parameters("m", positive=True)) == held.NOT_NEGATIVE | held.NOT_ZERO
    True
    """
    known = {
        held.NOT_NEGATIVE: s.is_nonnegative,
        held.NOT_POSITIVE: s.is_nonpositive,
        held.NOT_ZERO: s.is_nonzero,
        held.INTEGER: s.is_integer,
        held.EVEN: s.is_even,
        held.ODD: s.is_odd,
    }
    return sum(bit for bit, true in known.items() if true)


def check_text(text: str, where: str) -> None:
    """Raise DeclarationError for text that C strings and UTF-8 cannot represent."""
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise DeclarationError(
            f"{where} = {short(text)} contains a NUL character or half of a surrogate pair; give plain text"
        )


def check_name(name: str, what: str) -> None:
    """Raise DeclarationError unless `name` can be a name in C, C++, Python and Cython, and is not reserved."""
    if not isinstance(name, str) or not _IDENTIFIER.match(name):
        raise DeclarationError(
            f"{what} {short(name)}: a name is a letter followed by letters, digits or underscores, e.g. 'omega_1'"
        )
    if len(name) > 63:
        raise DeclarationError(f"{what} {short(name)}: a name has at most 63 characters")
    if name in RESERVED:
        raise DeclarationError(
            f"{what} {short(name)}: a keyword of C, C++, Python or Cython; choose another name"
        )
    if name.startswith("cg_") or (name, what) == ("cg", "System name"):
        raise DeclarationError(
            f"{what} {short(name)}: names that begin with 'cg_' are reserved for generated code"
        )
    if name == "t" and what != "time":
        raise DeclarationError(f"{what} 't': t is the time (chaplygin.time); choose another name")


def _declare(
    kind: type[sp.Symbol], names: str | Sequence[str], what: str, assumptions: dict[str, Any]
) -> Any:
    if not isinstance(names, (str, list, tuple)):
        raise DeclarationError(
            f"{what} names are {type(names).__name__}; give a string such as 'phi x y', or a list of names"
        )
    if "real" in assumptions:
        raise DeclarationError(f"{what} {short(names)}: all symbols are real; omit the assumption real=")
    for key, value in assumptions.items():
        if not isinstance(value, bool) and key in ASSUMPTIONS:
            raise DeclarationError(f"{what} {short(names)}: {key} = {short(value)}; give True or False")
        if key not in ASSUMPTIONS or (key in ("integer", "even", "odd") and not value):
            raise DeclarationError(
                f"{what} {short(names)}: the assumption {key}={short(value)} cannot be checked when a model runs; "
                f"those that can are {', '.join(ASSUMPTIONS)}"
            )
    split = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    if not split:
        raise DeclarationError(f"no {what} names given: separate names by spaces, e.g. 'phi x y'")
    if ";" in str(names) or ("(" in str(names) and ":" not in str(names)):
        check_name(str(names), what)
    ranged = any(":" in str(name) for name in split)
    split = [each for name in split for each in _expanded(name, what)]
    for name in split:
        check_name(name, what)
    if len(set(split)) != len(split):
        twice = next(n for n in split if split.count(n) > 1)
        raise DeclarationError(f"{what} {twice!r} is declared twice")
    try:
        symbols = tuple(kind(name, real=True, **assumptions) for name in split)
    except InconsistentAssumptions:
        given = ", ".join(f"{key}={short(value)}" for key, value in assumptions.items())
        raise DeclarationError(
            f"{what} {short(names)}: the assumptions {given} contradict one another"
        ) from None
    return symbols[0] if len(symbols) == 1 and not ranged else symbols


def _expanded(name: Any, what: str) -> list[Any]:
    """The names of a range such as q1:4, by the rules of `sympy.symbols`; other names as they are."""
    if not isinstance(name, str) or ":" not in name:
        return [name]
    shown = f"{what} {short(name)}"
    wrong = f"{shown}: a range of names is q1:4 for q1, q2, q3, or q(a:c) for qa, qb, qc, as in sympy.symbols"
    spans = [(int(low or 0), int(high)) for low, high in re.findall(r"([0-9]*):([0-9]+)", name)]
    if math.prod(max(high - low, 1) for low, high in spans) > _LONGEST_RANGE:
        raise DeclarationError(f"{wrong}; this one has more than {_LONGEST_RANGE} names")
    try:
        found = [s.name for s in sp.symbols(name, seq=True)]
    except (ValueError, TypeError, IndexError):
        found = []
    if not found:
        raise DeclarationError(wrong)
    return found


def coordinates(names: str | Sequence[str], **assumptions: bool) -> Coordinates:
    """Declare generalised coordinates: one name gives one symbol, several give a tuple.

    A range of names is written as in `sympy.symbols`: ``"q1:4"`` is q1, q2, q3 (always a tuple), for velocities,
    parameters and inputs too.

    SymPy's assumptions (`positive=True` ...) can be given. A run must start where they hold; whether the motion
    preserves them is not checked.

    Raises DeclarationError for a name that is not a plain identifier or is a keyword, and for an assumption that
    cannot be checked.

    >>> phi, x, y = coordinates("phi x y")
    >>> coordinates("q1:4 z")
    (q1, q2, q3, z)
    """
    return cast("Coordinates", _declare(Coordinate, names, "coordinate", assumptions))


def velocities(names: str | Sequence[str]) -> Velocities:
    """Declare velocities (Poincaré parameters, quasi-velocities), or independent parameters of a parametrization.

    >>> omega, v, w = velocities("omega v w")
    """
    return cast("Velocities", _declare(Velocity, names, "velocity", {}))


def parameters(names: str | Sequence[str], **assumptions: bool) -> Parameters:
    """Declare constants. SymPy's assumptions (`positive=True` ...) can be given; runs that violate them are rejected.

    >>> m, a, J = parameters("m a J", positive=True)
    """
    return cast("Parameters", _declare(Parameter, names, "parameter", assumptions))


def inputs(names: str | Sequence[str], **assumptions: bool) -> Inputs:
    """Declare quantities that the caller sets during a run (a motor's couple, a control).

    SymPy's assumptions (`nonnegative=True` ...) can be given: numbers, samples and results of input functions that
    violate them are rejected. `rate` is the derivative of an input by the time.

    >>> tau = inputs("tau")
    """
    return cast("Inputs", _declare(Input, names, "input", assumptions))


def multiplier(number: int) -> Multiplier:
    """The symbol of the multiplier of a constraint, named `lambda_<number>`; constraints are numbered from 1.

    The reaction of constraint s on the velocities is A_sa lambda_s (see the form `multipliers`). The declared
    constraints come first, then the rates df/dt of the holonomic equations. The symbol can appear in outputs, in the
    guard of an event and in the normal force of a contact; such a system only has the form `multipliers`.

    >>> multiplier(1)
    lambda_1
    """
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise DeclarationError(
            f"multiplier({short(number)}): the argument is the number of a constraint: 1, 2, ..."
        )
    return Multiplier(f"lambda_{number}", real=True)


@overload
def rate(of: Coordinate) -> Rate: ...
@overload
def rate(of: Input) -> InputRate: ...
@overload
def rate(of: Any) -> Any: ...
def rate(of: Any) -> Any:
    """The time derivative of a coordinate or an input, as a symbol.

    That of a coordinate x is named `x_dot`. That of an input u is the input `u_dot`, and its own rate, the second
    derivative of u, is `u_ddot`: a run takes both from what it is given for u. Nothing that contains a higher
    derivative can be declared.

    >>> rate(coordinates("phi"))
    phi_dot
    >>> steering = inputs("steering")
    >>> rate(steering), rate(rate(steering))
    (steering_dot, steering_ddot)

    Raises DeclarationError for anything else. The rate of a velocity is an acceleration, which equations determine.
    """
    if isinstance(of, Coordinate):
        return Rate(f"{of.name}_dot", real=True)
    if isinstance(of, Input):
        return rate_of(of, of.order + 1)
    raise DeclarationError(
        f"rate({short(of)}): the argument must be a coordinate created with coordinates(), or an input created with "
        "inputs()"
    )


def rate_of(u: Input, order: int) -> Input:
    """The time derivative of an input, of an order that counts from the input itself; 0 is the input."""
    if order == 0:
        return u
    name = u.of if isinstance(u, InputRate) else u.name
    if order > 2:
        raise DeclarationError(
            f"the equations need the third derivative of the input {name!r}; inputs have a first and a second one; "
            "give its motion as an expression in t"
        )
    return InputRate(f"{name}_{'d' * order}ot", real=True)


def rates_of_inputs(found: Iterable[sp.Symbol]) -> dict[sp.Symbol, sp.Symbol]:
    """The inputs among some symbols, each with its rate; those of the second order are left out."""
    return {u: rate(u) for u in sorted(found, key=str) if isinstance(u, Input) and u.order < 2}


def kind_of(s: sp.Symbol) -> str:
    """The kind of a symbol, as one word."""
    kinds = (Coordinate, Velocity, Parameter, Multiplier, Time)
    return next((kind.__name__.lower() for kind in kinds if isinstance(s, kind)), "input")


def natural(name: str) -> list[tuple[int, int | str]]:
    """A sort key that puts theta2 before theta10."""
    return [(0, int(p)) if p.isdigit() else (1, p) for p in re.split(r"(\d+)", name) if p]


Symbols = tuple[sp.Symbol, ...]


def in_order(found: Iterable[sp.Symbol], first: Iterable[sp.Symbol]) -> Symbols:
    """The symbols in the order of `first`, then the others by name."""
    rank = {s: i for i, s in enumerate(dict.fromkeys(first))}
    return tuple(sorted(found, key=lambda s: (rank.get(s, len(rank)), natural(s.name))))


def as_assumed(s: Symbol, value: float) -> float:
    """A random value, moved to satisfy the assumptions of the symbol."""
    flags = assumed(s)
    if not flags or held.holds(flags, value):
        return value
    sign = -1.0 if flags & held.NOT_POSITIVE else 1.0
    if flags & held.NOT_POSITIVE and flags & held.NOT_NEGATIVE:
        return 0.0
    if not flags & (held.INTEGER | held.EVEN | held.ODD):
        return sign * abs(value)
    whole = (
        sign * math.ceil(abs(value)) if flags & (held.NOT_NEGATIVE | held.NOT_POSITIVE) else math.ceil(value)
    )
    return float(next(n for n in (whole, whole + sign, whole + 2 * sign) if held.holds(flags, float(n))))
