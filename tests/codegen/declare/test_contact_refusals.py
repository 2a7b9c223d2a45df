"""Contacts and multipliers in a declaration: what is refused, with which message, and what is accepted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import sympy as sp
from hybrid_kernels import Kernels

import chaplygin as cg
from chaplygin.codegen.declare.contacts import MOST_CONTACTS
from chaplygin.codegen.symbols.symbols import DeclarationError
from chaplygin.errors import FormError

X, Y = cg.coordinates("x y")
M, MU, G = cg.parameters("m mu g", positive=True)
PUSH = cg.inputs("F")
FLOOR = {"slip": cg.rate(X), "normal": M * G, "mu": MU}


def plane(**changes: Any) -> cg.System:
    given: dict[str, Any] = {
        "coordinates": [X, Y],
        "kinetic": M * (cg.rate(X) ** 2 + cg.rate(Y) ** 2) / 2,
        "contacts": [cg.Coulomb("floor", **FLOOR)],
    }
    return cg.System("plane", **(given | changes))


@pytest.mark.parametrize(
    ("contact", "words"),
    [
        ({"slip": cg.rate(X) ** 2}, r"contacts\['floor'\].slip is not affine in the velocities"),
        ({"slip": X}, r"contacts\['floor'\].slip contains no velocity"),
        (
            {"slip": cg.rate(X) - cg.rate(cg.rate(PUSH))},
            r"contacts\['floor'\].slip contains F_ddot: the equations would need the third derivative",
        ),
        ({"slip": "x_dot"}, "Coulomb 'floor': slip is a string"),
        ({"mu": -1}, "Coulomb 'floor': mu = -1 is negative"),
        ({"mu": -MU}, "Coulomb 'floor': mu = -mu is negative"),
        ({"mu": cg.multiplier(1)}, r"contacts\['floor'\].mu contains lambda_1"),
        (
            {"normal": cg.multiplier(1)},
            r"contacts\['floor'\].normal: unknown symbol 'lambda_1'.*0 constraints",
        ),
        ({"normal": sp.Symbol("N")}, r"contacts\['floor'\].normal: unknown symbol 'N'"),
        ({"normal": sp.gamma(X)}, r"contacts\['floor'\].normal: gamma"),
    ],
)
def test_contacts_that_are_refused(contact: dict[str, Any], words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        plane(contacts=[cg.Coulomb("floor", **(FLOOR | contact))])


def test_names_of_contacts() -> None:
    with pytest.raises(DeclarationError, match="contact 'int': a keyword"):
        cg.Coulomb("int", **FLOOR)
    with pytest.raises(DeclarationError, match="contacts: the name 'floor' is used twice"):
        plane(contacts=[cg.Coulomb("floor", **FLOOR)] * 2)
    with pytest.raises(DeclarationError, match=r"contacts\['m'\] needs the name 'm'.*a parameter"):
        plane(contacts=[cg.Coulomb("m", **FLOOR)])
    with pytest.raises(DeclarationError, match=r"needs the name 'slip_floor'.*output"):
        plane(outputs={"slip_floor": X})
    with pytest.raises(DeclarationError, match=r"contacts\[0\] is Mul; give chaplygin.Coulomb"):
        plane(contacts=[M * G])
    floor = cg.Coulomb("floor", **(FLOOR | {"normal": cg.multiplier(1) ** 2}))
    with pytest.raises(DeclarationError, match="not affine in the multipliers"):
        plane(constraints=[cg.rate(Y)], contacts=[floor])
    for wrong in (0, "link", True, 1.5):
        with pytest.raises(DeclarationError, match="number of a constraint"):
            cg.multiplier(wrong)  # type: ignore[arg-type]


def test_a_model_has_no_more_contacts_than_a_run_watches() -> None:
    header = (Path(__file__).resolve().parents[3] / "runtime" / "c" / "cg_events.h").read_text(
        encoding="utf-8"
    )
    (limit,) = map(int, re.findall(r"CG_MOST_CONTACTS = (\d+)", header))
    assert limit == MOST_CONTACTS
    many = [cg.Coulomb(f"floor_{i}", **FLOOR) for i in range(limit + 1)]
    with pytest.raises(
        DeclarationError, match=f"contacts has {limit + 1} entries; .* at most {limit} contacts"
    ):
        plane(contacts=many)
    assert len(plane(contacts=many[:-1]).contacts) == limit


def test_forms_that_do_not_fit_say_why() -> None:
    for form in ("chetaev", "routh", "whittaker"):
        with pytest.raises(
            FormError, match=f"{form} does not fit 'plane'.*'no dry friction' fails.*floor.*'lagrange'"
        ):
            plane().equations(form)
    for form in ("maggi", "nonholonomic", "hamel"):
        with pytest.raises(FormError, match=r"contains the multiplier lambda_1\); use 'multipliers'"):
            cg.example("painleve_rod").system.equations(form)


def test_a_multiplier_may_stand_in_outputs_and_events() -> None:
    """A pendulum in Cartesian coordinates: the rod's tension by lambda, and its zero as an event."""
    length = cg.parameters("l", positive=True)
    u, v = cg.rate(X), cg.rate(Y)
    system = cg.System(
        "rod",
        coordinates=[X, Y],
        kinetic=M * (u**2 + v**2) / 2,
        potential=M * G * Y,
        holonomic=[(X**2 + Y**2 - length**2) / 2],
        outputs={"tension": -cg.multiplier(1) * length},
        events=[cg.Event(cg.multiplier(1), name="slack")],
        example={X: 0.6, Y: -0.8, u: 0.8, v: 0.6, M: 1, G: 9.81, length: 1},
    )
    kernels = Kernels(system.equations("multipliers"))
    q = {"x": 0.6, "y": -0.8, "x_dot": 1.6, "y_dot": 1.2, "m": 2.0, "g": 9.81, "l": 1.0}
    tension = 2.0 * (4.0 + 9.81 * 0.8)
    assert kernels.outputs(q)["tension"] == pytest.approx(tension, rel=1e-13)
    assert kernels("guards", q)[0] == pytest.approx(-tension, rel=1e-13)
