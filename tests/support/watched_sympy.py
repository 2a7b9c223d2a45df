"""A pytest plugin: every model that SymPy forms while its own tests and docstrings run also goes through `from_sympy`.

The equations of motion of both are compared at once, since tests go on to change their models. The results are lines
of JSON in the file named by WATCHED: where the model was made, and its difference from SymPy or why it was refused.
"""

from __future__ import annotations

import json
import os
from functools import wraps
from typing import Any

import pytest
import sympy.physics.mechanics as me
from sympy_oracle import Oracle, difference, method_of

import chaplygin as cg

FORMING = (
    (me.KanesMethod, "kanes_equations"),
    (me.LagrangesMethod, "form_lagranges_equations"),
    (me.System, "form_eoms"),
    (me.JointsMethod, "form_eoms"),
)


class Watch:
    """Compares the models formed in each test; those formed inside another model belong to it."""

    def __init__(self) -> None:
        self.running, self.depth, self.count = "", 0, 0
        for owner, name in FORMING:
            setattr(owner, name, self._watched(getattr(owner, name)))

    def _watched(self, form: Any) -> Any:
        @wraps(form)  # doctest reads the docstring
        def forming(model: Any, *args: Any, **options: Any) -> Any:
            self.depth += 1
            try:
                found = form(model, *args, **options)
            finally:
                self.depth -= 1
            if not self.depth:
                self._compare(model)
            return found

        return forming

    def _compare(self, model: Any) -> None:
        self.count += 1
        found: dict[str, Any] = {"example": self.running}
        try:
            taken = cg.from_sympy(model, f"model_{self.count}")
        except cg.DeclarationError as error:
            found["refused"] = str(error)
        else:
            found |= {"taken as": type(taken).__name__, "difference": self._difference(model, taken)}
        with open(os.environ["WATCHED"], "a", encoding="utf-8") as file:
            print(json.dumps(found), file=file)

    def _difference(self, model: Any, taken: Any) -> float | str:
        try:
            return difference(taken.compile(), Oracle(method_of(model)))
        except Exception as error:  # whatever it is belongs into the report, not into SymPy's test
            return f"{type(error).__name__}: {error}"

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.running = item.nodeid.rpartition("/")[2]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Watch())
