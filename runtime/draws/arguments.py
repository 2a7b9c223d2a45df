"""The arguments of an ensemble taken apart: what is given, what is drawn, and what follows from both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments, labels
from ..problem.continued import all_continued
from ..problem.random_inputs import RandomInput, seed_of
from .choice import is_chosen
from .derived import names_by_kind
from .distributions import is_distribution
from .draws import Plan
from .functions import is_function
from .joint import JointDraw, is_kernels

_PLAIN = frozenset((float, int, list, np.ndarray, np.float64))
_JOINT = object()
"""In the place of a name."""


def split(
    model: Any,
    given: dict[str, Any],
    seed: Any,
    sampling: Any,
    reject: Any,
    t_span: Any = None,
) -> tuple[dict[str, Any], Plan | None]:
    """The arguments by kind ("initial" ...) without what is drawn or an expression, and the plan of these.

    A result in the place of `initial` gives what is left out: see `all_continued`.
    The plan is None if there are neither distributions nor expressions.
    """
    if all(map(_plain, given.values())):
        _refuse_unused(seed, sampling, reject)
        return given, None
    given = {kind: _by_name(kind, value) for kind, value in given.items()}
    sources: list[tuple[str, Any]] = []
    expressions: list[tuple[str, str, Any]] = []
    rest = {kind: _without(model, kind, value, sources, expressions) for kind, value in given.items()}
    if sources:
        span = None if t_span is None else arguments.span(t_span)
        plan = Plan(model, sources, expressions, seed, sampling, reject, span)
        return all_continued(model, rest, plan.names), plan
    _refuse_unused(seed, sampling, reject)
    if expressions:
        return all_continued(model, rest), Plan(model, [], expressions, 0, "random", False)
    return all_continued(model, given), None


def _plain(value: Any) -> bool:
    """Whether an argument has numbers and arrays alone, as its type says without a look at the entries of arrays."""
    if type(value) is dict:
        return _PLAIN.issuperset(map(type, value.values()))
    return value is None or type(value) is np.ndarray


def _refuse_unused(seed: Any, sampling: Any, reject: Any) -> None:
    """Refuse options of draws where nothing is drawn; a seed may be given to every call of a script."""
    if seed is not None:
        seed_of(seed)
    if reject is False and isinstance(sampling, str) and sampling == "random":
        return
    options = {"sampling": (sampling, "random"), "reject": (reject, False)}
    for name, (value, default) in options.items():
        if value is not default and (not isinstance(value, type(default)) or value != default):
            raise ArgumentError(
                f"{name} = {arguments.short(value)} is given, but no argument is a distribution, such as "
                "scipy.stats.norm(0, 1)"
            )


def _by_name(kind: str, value: Any) -> Any:
    """A dict if `value` has names; anything else unchanged."""
    if type(value) is dict:
        return value
    found = arguments.named(kind, value)
    return value if found is None else found


def _without(
    model: Any, kind: str, value: Any, sources: list[tuple[str, Any]], expressions: list[tuple[str, str, Any]]
) -> Any:
    """`value` without its distributions and expressions, which are appended to the lists; a dict if there are any."""
    if _plain(value):
        return value
    entries = _entries(model, kind, value)
    if not any(key is _JOINT or _drawn(kind, entry) or _follows(entry) for key, entry in entries):
        return value
    rest: dict[str, Any] = {}
    seen: set[str] = set()
    for key, entry in entries:
        if key is not _JOINT and arguments.name_of(key) is None:
            raise ArgumentError(labels.not_a_name(kind, key))
        names = entry.names if key is _JOINT else (arguments.plain_name(key),)
        for name in names:
            if name in seen:
                raise ArgumentError(f"{kind}: {name} is given twice")
            seen.add(name)
        if key is _JOINT or _drawn(kind, entry):
            sources.append((kind, entry if key is _JOINT else (names, entry)))
        elif _follows(entry):
            expressions.append((kind, names[0], entry))
        else:
            rest[names[0]] = entry
    return rest


def _entries(model: Any, kind: str, value: Any) -> list[tuple[Any, Any]]:
    """The entries of an argument as (name, entry), or (_JOINT, Joint); none if nothing in it can be a distribution."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, JointDraw):
        return [(_JOINT, value)]
    if not isinstance(value, (list, tuple)):
        return []
    if any(isinstance(part, JointDraw) for part in value):
        found: list[tuple[Any, Any]] = []
        for part in value:
            if not isinstance(part, (JointDraw, Mapping)):
                raise ArgumentError(
                    f"{kind}: {arguments.short(part)} stands beside cg.jointly(...); give dicts by name"
                )
            found += part.items() if isinstance(part, Mapping) else [(_JOINT, part)]
        return found
    names = names_by_kind(model)[kind]
    if any(_drawn(kind, entry) or _follows(entry) for entry in value) and len(value) != len(names):
        raise ArgumentError(f"{kind} has {len(value)} entries; {len(names)} are needed: {', '.join(names)}")
    return list(zip(names, value))


def _drawn(kind: str, entry: Any) -> bool:
    """Whether an entry is drawn; functions among the inputs are those of the time."""
    if type(entry) in _PLAIN:
        return False
    return (
        is_distribution(entry)
        or is_kernels(entry)
        or is_chosen(entry)
        or isinstance(entry, RandomInput)
        or (kind != "inputs" and is_function(entry))
    )


def _follows(entry: Any) -> bool:
    """Whether an entry is a SymPy expression of other quantities."""
    return type(entry) not in _PLAIN and bool(getattr(entry, "free_symbols", None))
