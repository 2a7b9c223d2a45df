"""A form is one file with a `Form` in `FORMS`, a system of the catalogue one file with its name in `_SYSTEMS`."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import chaplygin as cg
from chaplygin import systems
from chaplygin.codegen.declare.system import System
from chaplygin.codegen.derive import forms
from chaplygin.codegen.derive.equation_nodes import EquationNodes
from chaplygin.codegen.derive.forms.form import Form, constrained, misfit
from chaplygin.codegen.graph.differentiate import forward, gradient, partials


def nielsen(system: System, sign: int = 1) -> EquationNodes:
    """Nielsen's equations, dT'/dq' - 2 dT/dq = Q - dV/dq, T' = dT/dt (for T without the time)."""
    g, fields = system.nodes.graph.copy(), system.nodes.fields
    q, rates = fields.coordinates, system.nodes.eta
    if g.depends_on([system.nodes.kinetic], [fields.time]):
        raise misfit("nielsen", system, "T does not contain the time")
    accelerations = tuple(g.symbol(f"cg_acceleration_{i}") for i in range(len(q)))
    flow = dict(zip((*q, *rates), (*rates, *accelerations), strict=True))
    (power,) = forward(g, [system.nodes.kinetic], flow)
    left = gradient(g, power, rates)
    columns = partials(g, left, accelerations)
    still = g.substitute(left, dict.fromkeys(accelerations, g.zero))
    slopes = zip(gradient(g, system.nodes.kinetic, q), gradient(g, system.nodes.potential, q), strict=True)
    right = [g.sub(g.mul(g.two, a), b) for a, b in slopes]
    force = [g.sub(g.add(r, f), s) for r, f, s in zip(right, system.nodes.forces, still, strict=True)]
    return EquationNodes(
        system=system,
        form="nielsen",
        options={"sign": sign},
        graph=g,
        title="Nielsen's equations",
        velocities=system.velocities,
        velocity_nodes=rates,
        rates=rates,
        mass=tuple(tuple(columns[j][i] for j in range(i + 1)) for i in range(len(q))),
        force=tuple(force),
        declared=dict(zip(system.velocities, rates, strict=True)),
    )


@pytest.fixture
def with_nielsen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "FORMS", (*forms.FORMS, Form("nielsen", nielsen, constrained)))


def particle(**more: object) -> System:
    """A free particle in polar coordinates."""
    r, phi = cg.coordinates("r phi")
    m = cg.parameters("m", positive=True)
    kinetic = m * (cg.rate(r) ** 2 + r**2 * cg.rate(phi) ** 2) / 2
    example = {r: 1, phi: 0, m: 1}
    return System("particle", coordinates=[r, phi], kinetic=kinetic, example=example, **more)  # type: ignore[arg-type]


@pytest.mark.usefixtures("with_nielsen")
def test_a_form_added_in_one_row_is_derived_compiled_and_run() -> None:
    assert forms.forms()[-1] == "nielsen"
    model = particle().compile("nielsen")
    assert model.form == "nielsen"
    start = {"r": 1, "phi": 0, "r_dot": 0, "phi_dot": 1}
    t = np.linspace(0, 3, 7)
    solution = model.integrate((0, 3), start, {"m": 2}, rtol=1e-11, atol=1e-12, t_eval=t)
    # A straight line at distance 1 from the origin, at speed 1.
    np.testing.assert_allclose(solution["r"], np.hypot(1, t), rtol=1e-10)
    np.testing.assert_allclose(solution["phi"], np.arctan(t), rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("with_nielsen")
def test_the_row_says_what_the_form_takes() -> None:
    system = particle()
    assert set(forms.options_of("nielsen")) == {"sign"}
    assert system.equations("nielsen", sign=-1).options == {"sign": -1}
    with pytest.raises(cg.errors.FormError, match="form 'nielsen' has no option 'along'; its options: sign"):
        system.equations("nielsen", along="r")
    r, phi = system.coordinates
    held = particle(constraints=[cg.rate(r)])
    with pytest.raises(cg.errors.FormError, match=r"nielsen does not fit.*no constraints.*use 'maggi'"):
        held.equations("nielsen")
    floor = cg.Coulomb("floor", slip=cg.rate(phi), normal=1, mu=0.1)
    rubbing = particle(contacts=[floor])
    with pytest.raises(cg.errors.FormError, match=r"'no dry friction' fails.*floor.*use 'lagrange'"):
        rubbing.equations("nielsen")


SYSTEM = '''
"""A body falling from rest."""
import chaplygin as cg
from chaplygin.systems.entry import Example


def system():
    z = cg.coordinates("z")
    m, g = cg.parameters("m g", positive=True)
    return cg.System("fall", coordinates=[z], kinetic=m * cg.rate(z) ** 2 / 2, potential=m * g * z)


def example():
    return Example("fall", "A body falling from rest", "Galilei (1638)", {"m": 1.0, "g": 9.81},
                   {"z": 0.0, "z_dot": 0.0}, (0.0, 2.0), ("lagrange",), system)
'''


def test_a_system_added_in_one_file_and_one_row_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fall_of_a_body.py").write_text(SYSTEM, encoding="utf-8")
    monkeypatch.setattr(systems, "__path__", [*systems.__path__, str(tmp_path)])
    monkeypatch.setattr(systems, "_SYSTEMS", (*systems._SYSTEMS, "fall_of_a_body"))
    assert "fall_of_a_body" in cg.examples()
    entry = cg.example("fall_of_a_body")
    model = entry.system.compile(entry.forms[0])
    solution = model.integrate(entry.t_span, entry.initial, entry.parameters)
    assert solution["z"][-1] == pytest.approx(-9.81 * 2.0**2 / 2, rel=1e-9)
    assert math.isclose(solution["z_dot"][-1], -9.81 * 2.0, rel_tol=1e-9)
