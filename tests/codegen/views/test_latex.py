"""LaTeX of every form of the catalogue: read back, its rows hold for the motion, and LaTeX accepts it."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import sympy as sp
from agreement import applicable, leading_rate, permitted_points, system_of
from hybrid_kernels import Kernels
from latex_values import Reader
from small_systems import SMALL

import chaplygin as cg
from chaplygin.codegen.graph.evaluate import evaluate

QUICK = ("chaplygin_sleigh", "double_pendulum", "heavy_top", "block_on_belt", "painleve_klein_rigid")


def texts(name: str) -> dict[str, str]:
    return {form: eqs.latex() for form, eqs in applicable(name).items()}


def named(eqs: cg.Equations) -> dict[str, str]:
    """The LaTeX of every quantity by name: phi_dot is a dotted phi, v_prime is v', p_v has the subscript v."""
    system = eqs.system
    names = {s.name: sp.latex(s) for s in system.all_symbols()}
    names |= {cg.rate(x).name: rf"\dot{{{sp.latex(x)}}}" for x in system.coordinates}
    for name in (*eqs.states, *(p.name for p in eqs.parameters)):
        head, _, rest = name.partition("_")
        if head in ("p", "a") and rest in names and name not in names:
            names[name] = f"{head}_{{{names[rest]}}}"
        elif name.endswith("_prime"):
            names[name] = names[name.removesuffix("_prime")] + "'"
        names.setdefault(name, sp.latex(sp.Symbol(name)))
    names |= {f"friction_{c.name}": rf"T_{{\mathrm{{{c.name}}}}}" for c in system.contacts}
    return names


def derivative(eqs: cg.Equations, name: str) -> str:
    """The LaTeX of a state's derivative."""
    if eqs.independent is not None:
        return rf"\frac{{d {name}}}{{d {sp.latex(eqs.independent)}}}"
    return (
        rf"\ddot{{{name.removeprefix(chr(92) + 'dot{')}" if name.startswith(r"\dot{") else rf"\dot{{{name}}}"
    )


def slipping(kernels: Kernels, values: dict[str, float], clock: float) -> dict[str, float] | None:
    """The values with the modes of sliding contacts such that normal forces have the assumed signs, if possible."""
    modes = [m.name for m in kernels.program.modes]
    for signs in itertools.product((1.0, -1.0), repeat=len(modes)):
        found = values | dict(zip(modes, signs))
        rows = kernels.contacts(found, clock) if modes else {}
        if all(
            r["v"] * found[c] > 0 and r["N"] * found.get(f"{c}_sign", r["N"]) > 0 for c, r in rows.items()
        ):
            return found
    return None


def motions(name: str, form: str, count: int) -> Iterator[dict[str, float]]:
    """Values of everything that the LaTeX of a form can name, from its kernels, in motions at random points."""
    eqs = applicable(name)[form]
    kernels, names = Kernels(eqs), named(eqs)
    for point in permitted_points(name, 6):
        # Little friction, so that Painlevé's paradox does not occur.
        at = {n: 0.1 * value if n.startswith("mu") else value for n, value in point.items()}
        if eqs.nodes.initial_nodes is not None:
            known = [*eqs.states, *(p.name for p in (*eqs.system.parameters, *eqs.parameters))]
            at |= dict(zip(known, evaluate(eqs.nodes.graph, eqs.nodes.initial_nodes, point), strict=True))
        if eqs.independent is not None and leading_rate(eqs, point) < 0:
            continue  # Whittaker's branch here is eta_1 > 0
        clock = at[kernels.program.independent]
        at = slipping(kernels, at, clock)
        if at is None:
            continue
        slopes = kernels.rates(at, clock)
        if kernels.program.outputs:
            at |= {
                n: v for n, v in kernels.outputs(at, clock).items() if n.startswith(("friction_", "lambda_"))
            }
        found = {names[n]: value for n, value in at.items() if n in names}
        for state, slope in slopes.items():
            text = derivative(eqs, names[state])
            assert found.get(text, slope) == pytest.approx(slope, rel=1e-12), text
            found[text] = slope
        yield found
        count -= 1
        if not count:
            return
    raise AssertionError("too few points")


DEFINITION = re.compile(r"z_\{\d+\} &=")


def rows(text: str) -> list[str]:
    """The equations of an `aligned` environment, each on one line; definitions of intermediate variables first."""
    begin, *lines, end = text.split("\n")
    assert (begin, end) == (r"\begin{aligned}", r"\end{aligned}")
    whole = "\n".join(lines).replace("\\\\\n&\\quad", "")
    return sorted(whole.split("\\\\\n"), key=lambda row: not DEFINITION.match(row))


def check(text: str, quantities: dict[str, float]) -> set[str]:
    """Check each row; return the quantities on the left."""
    known, left = dict(quantities), set()
    for row in rows(text):
        law, _, where = row.partition(r"\quad \text{where }")
        before, after = re.split(r"&=|&\\le", law)
        assert row.count("&") == 1
        value = Reader(after, known).value()
        if DEFINITION.match(row):
            known[before.strip()] = value
        else:  # |T| <= mu |N|: the point slips, so that the bound is attained
            assert Reader(before, known).value() == pytest.approx(value, rel=1e-9, abs=1e-9), row
            left |= {token for token in known if token in before}
        if where:
            slip, _, zero = where.partition(" = ")
            assert zero.strip() == "0"
            force = re.search(r"T_\{.*?\}\}", before)
            assert force
            assert Reader(slip, known).value() * known[force[0]] < 0  # friction opposes the slip
    return left


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in SMALL]
)
@pytest.mark.sample(1)
def test_every_row_holds_for_the_motion(name: str) -> None:
    for form, text in texts(name).items():
        eqs = applicable(name)[form]
        for quantities in motions(name, form, 2):
            left = check(text, quantities)
            names = named(eqs)
            missing = [s for s in eqs.states if derivative(eqs, names[s]) not in left]
            # dx/dt = x_dot is not written
            assert all(rf"\dot{{{names[s]}}}" in names.values() for s in missing), (form, missing)


@pytest.mark.parametrize(
    ("was", "becomes"), [("- a", "a"), (r"\cos", r"\sin"), ("a^{2}", "a^{3}"), (r"\omega v", r"\omega w")]
)
def test_a_wrong_row_is_found(was: str, becomes: str) -> None:
    text = texts("chaplygin_sleigh")["maggi"]
    (quantities,) = motions("chaplygin_sleigh", "maggi", 1)
    check(text, quantities)
    assert was in text
    with pytest.raises(AssertionError):
        check(text.replace(was, becomes, 1), quantities)


@pytest.mark.slow
def test_latex_compiles(tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("pdflatex is not installed")
    body = []
    for name in SMALL:
        if len(system_of(name).velocities) <= 4:
            for form, text in texts(name).items():
                body.append(f"\\section*{{{name.replace('_', ' ')}: {form}}}\n\\[\n{text}\n\\]\n")
    paper = "\\usepackage[paperwidth=60in,paperheight=60in]{geometry}\n"
    source = "\\documentclass{article}\n\\usepackage{amsmath}\n" + paper
    source += "\\begin{document}\n"
    (tmp_path / "all.tex").write_text(source + "\n".join(body) + "\\end{document}\n")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 10_000


def test_rates_are_dotted_wherever_sympy_prints() -> None:
    phi, q1 = cg.coordinates("phi q_1")
    assert sp.latex(sp.sin(phi) * cg.rate(phi) ** 2) == r"\dot{\phi}^{2} \sin{\left(\phi \right)}"
    assert sp.latex(cg.rate(q1)) == r"\dot{q_{1}}"
    assert str(cg.rate(phi)) == "phi_dot"


def test_simplified_on_request() -> None:
    q = cg.coordinates("q")
    potential = sp.log(1 + sp.sin(q) ** 2)  # its slope has a sine below, so it is not simplified by default
    equations = cg.System("s", coordinates=[q], kinetic=cg.rate(q) ** 2 / 2, potential=potential).equations()
    assert r"\sin{\left(2 q \right)}" in equations.latex(simplify=True)
    assert r"\sin{\left(q \right)} \cos{\left(q \right)}" in equations.latex()
    with pytest.raises(cg.ArgumentError, match="simplify"):
        equations.latex(simplify=2)
