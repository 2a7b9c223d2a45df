"""The numerical value of LaTeX as `Equations.latex` writes it: a recursive descent over the text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

FUNCTIONS = {
    r"\sin": math.sin,
    r"\cos": math.cos,
    r"\tan": math.tan,
    r"\operatorname{sgn}": lambda a: math.copysign(1.0, a),
    r"\max": max,
    r"\min": min,
}
OPEN, CLOSE = (r"\left(", "(", "{", r"\left|"), (r"\right)", ")", "}", r"\right|")


class Reader:
    """Reads expressions whose quantities are given by their LaTeX text."""

    def __init__(self, text: str, quantities: Mapping[str, float]) -> None:
        self.quantities = quantities
        names = sorted((*quantities, *FUNCTIONS), key=len, reverse=True)
        words = [
            *map(re.escape, names),
            r"\\left[(|]",
            r"\\right[)|]",
            r"\\frac",
            r"\\sqrt",
            r"\d+(?:\.\d+)?",
        ]
        letters = r"(?![A-Za-z])"  # a name does not end within a word
        pattern = "|".join(w + letters if w[-1].isalpha() else w for w in words) + r"|[-+^(){},]|\s+|\\,"
        self.tokens: list[str] = []
        while text:
            found = re.match(pattern, text)
            if found is None:
                raise ValueError(f"unknown text: {text[:60]!r}")
            if not re.fullmatch(r"\s+|\\,", found[0]):
                self.tokens.append(found[0])
            text = text[found.end() :]

    def value(self) -> float:
        found = self.sum()
        if self.tokens:
            raise ValueError(f"left over: {self.tokens}")
        return found

    def next(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self, *allowed: str) -> str:
        if allowed and self.next() not in allowed:
            raise ValueError(f"{self.next()!r} instead of {allowed}")
        return self.tokens.pop(0)

    def sum(self) -> float:
        total, sign = 0.0, 1.0
        while True:
            if self.next() in ("+", "-"):
                sign = -1.0 if self.take() == "-" else 1.0
            total += sign * self.product()
            if self.next() not in ("+", "-"):
                return total

    def product(self) -> float:
        found = self.power()
        while self.next() and self.next() not in ("+", "-", ",", *CLOSE):
            found *= self.power()
        return found

    def power(self) -> float:
        base = self.factor()
        if self.next() != "^":
            return base
        self.take()
        return float(base ** self.group())

    def group(self) -> float:
        """An expression in brackets of any kind."""
        kind = OPEN.index(self.take(*OPEN))
        found = self.sum()
        self.take(CLOSE[kind])
        return abs(found) if OPEN[kind] == r"\left|" else found

    def factor(self) -> float:
        if self.next() in OPEN:
            return self.group()
        token = self.take()
        if token in self.quantities:
            return self.quantities[token]
        if token == r"\frac":
            above = self.group()
            return above / self.group()
        if token == r"\sqrt":
            return math.sqrt(self.group())
        if token in FUNCTIONS:
            return self.function(token)
        return float(token)

    def function(self, name: str) -> float:
        exponent = 1.0
        if self.next() == "^":
            self.take()
            exponent = self.group()
        braces = self.next() == "{"
        if braces:
            self.take()
        self.take(r"\left(")
        arguments = [self.sum()]
        while self.next() == ",":
            self.take()
            arguments.append(self.sum())
        self.take(r"\right)")
        if braces:
            self.take("}")
        return float(FUNCTIONS[name](*arguments) ** exponent)
