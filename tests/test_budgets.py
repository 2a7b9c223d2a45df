"""Budgets of size and complexity, which only fall: whoever comes a step below one lowers it, and nobody raises one.

What one room gives up another may take: the sum of the lines of all rooms only falls.
"""

from __future__ import annotations

import ast
import re
from collections import Counter

import test_c_rooms as c_files
import test_rooms as rooms

BUDGETS = {
    "lines of codegen": (29_065, 1000),
    "lines of runtime": (28_687, 1000),
    "lines of C": (20_288, 1000),
    "lines of src": (4_877, 1000),
    "lines of systems": (4_205, 1000),
    "mentions of Any": (2_530, 50),
    "named thresholds in C": (86, 5),
    "C functions of a complexity over 15": (37, 5),
    "C functions with more than 8 arguments": (14, 5),
    "Python functions with more than 8 arguments": (25, 5),
}
"""(the most, the step)."""

_THRESHOLD = re.compile(r"^[ \t]*#[ \t]*define[ \t]+CG_\w+[ \t]+\(?-?(?:\d+\.\d|\d+e-?\d|0x1p-?\d)", re.M)
_BRANCH = re.compile(r"\b(?:if|for|while|case)\b|&&|\|\||\?")


def counted() -> Counter[str]:
    """What `BUDGETS` limits, as it is."""
    found = Counter(dict.fromkeys(BUDGETS, 0))
    for file, text in rooms.files().items():
        if file.startswith("generated") or file.endswith(("_abi.pxi", "_core.pyi")):
            continue
        found[f"lines of {file.partition('/')[0]}"] += text.count("\n")
        found["mentions of Any"] += len(re.findall(r"\bAny\b", text))
        for node in ast.walk(rooms.tree(file)) if file.endswith(".py") else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                many = len({a.arg for a in taken} - {"self", "cls"}) > 8
                found["Python functions with more than 8 arguments"] += many
    for text in (*c_files.texts("c").values(), *c_files.texts("h").values()):
        found["lines of C"] += text.count("\n")
        found["named thresholds in C"] += len(_THRESHOLD.findall(text))
        for head, body in c_files.bodies(text):
            if c_files.defined(f"{head}{{}}"):
                found["C functions of a complexity over 15"] += len(_BRANCH.findall(body)) + 1 > 15
                found["C functions with more than 8 arguments"] += head.count(",") + 1 > 8
    return found


def test_budgets_only_fall() -> None:
    found = counted()
    assert found.keys() == BUDGETS.keys()
    assert not {what: n for what, n in found.items() if n > BUDGETS[what][0]}, "over the budget"
    assert not {what: n for what, n in found.items() if n <= BUDGETS[what][0] - BUDGETS[what][1]}, "lower it"
