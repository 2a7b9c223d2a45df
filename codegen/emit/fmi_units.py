"""Units as FMI writes them: exponents of the SI base units."""

from __future__ import annotations

import re

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
