"""C sources in single precision: no number and no operation in them is double.

`single_precision` rewrites the C files of a model and of the runtime, token by token: `double` becomes `float`, a
literal the nearest float, a function or a constant of the C library the one for float. What needs more than that (the
bits of a number, elementary functions, thresholds, the time of a run) is in headers that exist twice: those of single
precision, with the same names, are in `runtime/c/float`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

from chaplygin.errors import EmitError
from chaplygin.runtime.interface.files import INCLUDE

REFUSED = {
    "vern9": "its error estimates are below the rounding errors of single precision; take dop853, vern7 or tsit5",
    "taylor": "it is for tolerances that single precision cannot meet; compile the model without it",
}
"""The methods that have no use in single precision, with the reason."""

_TOKEN = re.compile(
    r"""(?P<kept>/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\])*')
       |(?P<text>"(?:\\.|[^"\\])*")
       |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
       |(?P<name>[A-Za-z_]\w*)(?P<call>(?=[ ]?\())?""",
    re.S | re.X,
)
_FLOATING = re.compile(
    r"(0[xX][\da-fA-F.]+[pP][+-]?\d+|(?!0[xX])(?:\d*\.\d*|\d+(?=[eE]))(?:[eE][+-]?\d+)?)\Z"
)
_NAMES = {"double": "float", "HUGE_VAL": "HUGE_VALF"} | {
    f"DBL_{end}": f"FLT_{end}" for end in ("EPSILON", "MIN", "MAX", "MANT_DIG", "MIN_EXP", "MAX_EXP", "DIG")
}
_FUNCTIONS = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod frexp hypot ldexp lgamma log log10 log1p log2 logb modf nextafter pow remainder rint round sin "
    "sinh sqrt tan tanh tgamma trunc".split()
)
_TEXTS = {'"float64"': '"float32"'}

_CHECK = re.compile(r"if \((?:[^;{}]*)\)\s+return\s+CG_SINGULAR;")
_LIMIT = re.compile(r"(<=\s*)(\d+(?:\.\d*)?e-\d+)")
_SPACING = 2.0 ** (52 - 23)
"""The spacing of the numbers of single precision, in units of that of double precision."""


def single_precision(texts: Mapping[str, str]) -> dict[str, str]:
    """C sources {file name: text} in single precision, under the same names.

    Raises EmitError for a number that single precision cannot hold.
    """
    return {name: _header(name, text) or _rewritten(name, text) for name, text in texts.items()}


def _header(name: str, text: str) -> str | None:
    """The header of that name that is written for single precision, if there is one, with the mark of `text`."""
    path = INCLUDE / "float" / name
    if not path.exists():
        return None
    mark = re.match(r"/\* Copied by [^\n]*\n", text)
    return (mark.group() if mark else "") + path.read_text(encoding="utf-8")


def _rewritten(name: str, text: str) -> str:
    def token(match: re.Match[str]) -> str:
        found = match.group()
        if match["text"]:
            return _TEXTS.get(found, found)
        if match["number"]:
            return single_literal(found, name) if _FLOATING.match(found) else found
        if match["name"]:
            return (
                f"{found}f" if match["call"] is not None and found in _FUNCTIONS else _NAMES.get(found, found)
            )
        return found

    return _TOKEN.sub(token, _CHECK.sub(_wider, text))


def _wider(check: re.Match[str]) -> str:
    """The check of a pivot with the limit for single precision: as many spacings of numbers, or their square root."""

    def limit(match: re.Match[str]) -> str:
        value = float(match[2])
        return f"{match[1]}{value * (_SPACING if value < 1e-10 else _SPACING**0.5)!r}"

    return _LIMIT.sub(limit, check.group())


def single_literal(literal: str, where: str) -> str:
    """The shortest decimal literal of the float nearest to a literal of C.

    >>> single_literal("0.1234567890123456", "a file")
    '0.12345679f'
    """
    value = float.fromhex(literal) if literal[:2] in ("0x", "0X") else float(literal)
    nearest = _nearest(value)
    if value != 0.0 and not 2.0**-126 <= abs(nearest) < 2.0**128:
        raise EmitError(
            f'scalar="float": {literal} in {where} is outside the range of single precision, 1.2e-38 to 3.4e38; '
            "choose other units"
        )
    for digits in range(1, 10):
        text = f"{nearest:.{digits}g}"
        if _nearest(float(text)) == nearest:
            break
    return f"{text}{'' if '.' in text or 'e' in text else '.0'}f"


def _nearest(value: float) -> float:
    (nearest,) = struct.unpack("f", struct.pack("f", value))
    return float(nearest)
