"""The command `study`: a study that is described in a Python file."""

from __future__ import annotations

import sys
import warnings
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import chaplygin as cg
from chaplygin.runtime import statistics, studies

from .printing import print_json
from .subject import SubjectError, execute, where


def study(arguments: Namespace) -> int:
    """`chaplygin study FILE:NAME`."""
    path, _, name = arguments.study.rpartition(":")
    if not path.endswith(".py") or not name:
        raise SubjectError(f"{arguments.study}: give path/to/file.py:name")
    module = execute(Path(path))
    if not hasattr(module, name):
        raise SubjectError(f"{path}: has no {name!r}")
    given = getattr(module, name)
    try:
        given = given() if callable(given) else given
    except cg.ChaplyginError:
        raise
    except Exception as error:
        raise SubjectError(f"{path}:{name}() failed: {where(error, Path(path))}") from error
    if not isinstance(given, Mapping) or "model" not in given or not {"collect", "until"} & given.keys():
        raise SubjectError(
            f"{path}:{name} must be a dict of the arguments of cg.study, with model and with collect or until, or a "
            "function that returns one"
        )
    more = {"out": arguments.output, "workers": arguments.workers, "threads": arguments.threads}
    chosen = {key: value for key, value in more.items() if value is not None}
    with warnings.catch_warnings():  # the command says so itself, in its own words
        warnings.filterwarnings("ignore", "study interrupted", RuntimeWarning)
        result = cg.study(**{"progress": sys.stderr.isatty(), **given, **chosen})
    if arguments.json:
        print_json(_facts(result))
    else:
        print(result.summary())
    if result.interrupted:
        kept = "" if {**given, **chosen}.get("out") else "without -o FOLDER nothing is kept; with it, "
        print(f"chaplygin: {kept}the same command runs the rest", file=sys.stderr)
    return 0 if not len(result.failed) and not result.interrupted else 1


def _facts(result: Any) -> dict[str, Any]:
    """What ``--json`` prints: counts, and every result but those of single trajectories, of which it says the shape."""
    return {
        "trajectories": len(result),
        "done": result.done,
        "failed": result.failed.tolist(),
        "redrawn": result.redrawn,
        "precise": result.precise,
        "interrupted": result.interrupted,
        "results": {name: _figures(entry) for name, entry in result.results.items()},
    }


def _figures(entry: Any) -> Any:
    shown: dict[type, tuple[str, ...]] = {
        statistics.MomentsResult: ("count", "mean", "std", "error", "minimum", "maximum", "covariance"),
        statistics.Quantiles: ("q", "values"),
        statistics.Probability: ("p", "count", "n"),
        statistics.Histogram: ("edges", "counts", "below", "above"),
    }
    if isinstance(entry, studies.Extreme):
        entry = {"value": entry.value, "t": entry.t}
    if isinstance(entry, dict):
        return {name: list(np.shape(rows)) for name, rows in entry.items()}
    if type(entry) not in shown:
        return [len(entry)]
    found = {name: getattr(entry, name) for name in shown[type(entry)]}
    if isinstance(entry, statistics.Probability):
        found["interval"] = np.array(entry.interval())
    return {name: _plain(value) for name, value in found.items()}


def _plain(value: Any) -> Any:
    """Arrays as lists."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value
