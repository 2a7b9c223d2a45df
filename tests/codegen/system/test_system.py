"""Declarations: what is refused, with which message, and what is computed from accepted ones."""

from __future__ import annotations

import inspect
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from c_runtime import run
from refusals import refused

import chaplygin as cg
from chaplygin.codegen.symbols.place import CONTENTS, Entry
from chaplygin.codegen.symbols.symbols import DeclarationError

PHI, X, Y = cg.coordinates("phi x y")
OMEGA, V, W = cg.velocities("omega v w")
M, A, J = cg.parameters("m a J", positive=True)
TAU = cg.inputs("tau")
KINEMATICS = {PHI: OMEGA, X: V * sp.cos(PHI) - W * sp.sin(PHI), Y: V * sp.sin(PHI) + W * sp.cos(PHI)}
KINETIC = M * (V**2 + (W + A * OMEGA) ** 2) / 2 + J * OMEGA**2 / 2
EXAMPLE = {M: 1, A: 0.2, J: 0.5, PHI: 0, X: 0, Y: 0, OMEGA: 1, V: 1, W: 0, TAU: 0}


def sleigh(**changes: object) -> cg.System:
    given: dict[str, object] = {
        "kinematics": KINEMATICS,
        "kinetic": KINETIC,
        "forces": {OMEGA: TAU},
        "constraints": [W],
        "example": EXAMPLE,
    }
    given.update(changes)
    name = given.pop("name", "chaplygin_sleigh")
    return cg.System(name, **given)


def test_a_system_holds_what_was_declared() -> None:
    system = sleigh(outputs={"side_slip": W}, units={M: "kg"}, descriptions={M: "mass"})
    assert [s.name for s in system.velocities] == ["omega", "v", "w"]
    assert [s.name for s in system.parameters] == ["m", "a", "J"]  # the order of the example
    assert [s.name for s in system.inputs] == ["tau"]
    with pytest.raises(AttributeError, match="immutable"):
        system.name = "other"


def test_every_argument_with_expressions_says_what_they_may_contain() -> None:
    plain = {"self", "name", "coordinates", "units", "descriptions", "example", "kept", "parameters"}
    arguments = set(inspect.signature(cg.System.__init__).parameters) - plain
    assert {place.partition(".")[0] for place in CONTENTS} == arguments


def _floor(**changes: object) -> dict[str, object]:
    return {"contacts": [cg.Coulomb("floor", **{"slip": V, "normal": M, "mu": J / 10, **changes})]}  # type: ignore[arg-type]


# A generalised force, a load or a guard may jump with an input; what the equations differentiate has its rates in them.
@pytest.mark.parametrize(
    ("changes", "order"),
    [
        ({"potential": TAU * X}, 0),
        ({"outputs": {"couple": TAU}}, 0),
        ({"events": [cg.Event(V - TAU, name="stop", reset={V: TAU})]}, 0),
        (_floor(normal=M + TAU), 0),
        (_floor(mu=J + TAU / 10), 0),
        (_floor(slip=V + TAU), 1),
        ({"kinematics": {**KINEMATICS, PHI: OMEGA + TAU}}, 1),
        ({"kinetic": KINETIC + TAU * V**2}, 1),
        ({"constraints": [W - TAU]}, 1),
        ({"constraints": (), "holonomic": [X - TAU]}, 2),
        ({"outputs": {"couple": cg.rate(TAU)}}, 1),
        ({"kinetic": KINETIC + cg.rate(TAU) * V}, 2),
        ({"forces": {OMEGA: cg.rate(cg.rate(TAU))}}, 2),
    ],
)
def test_inputs_have_the_rates_that_the_equations_need(changes: dict[str, object], order: int) -> None:
    rates = cg.rate(TAU), cg.rate(cg.rate(TAU))
    assert sleigh(**changes).inputs == (TAU, *rates[:order])


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"kinetic": KINETIC + cg.rate(cg.rate(TAU)) * V}, Entry("kinetic")),
        ({"constraints": (), "holonomic": [X - cg.rate(TAU)]}, Entry("holonomic", 0)),
    ],
)
def test_third_derivatives_of_inputs_are_refused(changes: dict[str, object], place: Entry) -> None:
    with pytest.raises(DeclarationError, match=re.escape(f"{place} contains tau_d") + ".*third derivative"):
        sleigh(**changes)
    refused("third derivative of the input 'tau'", cg.rate, cg.rate(cg.rate(TAU)), error=DeclarationError)


def test_structure_constants_of_the_plane() -> None:
    """SE(2) with X_omega = d/dphi: [X_omega, X_v] = X_w, [X_omega, X_w] = -X_v, [X_v, X_w] = 0."""
    c = sleigh().structure_constants()
    expected = [[[0] * 3 for _ in range(3)] for _ in range(3)]
    expected[0][1][2], expected[1][0][2] = 1, -1
    expected[0][2][1], expected[2][0][1] = -1, 1
    assert c == expected


def test_structure_functions_equal_a_direct_computation() -> None:
    """Non-constant c: brackets by SymPy's own differentiation, resolved by solving X c = [X_a, X_b]."""
    q1, q2, q3 = cg.coordinates("q1 q2 q3")
    u1, u2, u3 = cg.velocities("u1 u2 u3")
    b = cg.parameters("b")
    rows = {
        q1: u1 * sp.cos(q2) + u3 * q1,
        q2: u2 * (1 + q1**2) + sp.sin(cg.time),
        q3: u3 * sp.exp(q1 / 2) + b * u1 * q2,
    }
    system = cg.System("curved", kinematics=rows, kinetic=(u1**2 + u2**2 + u3**2) / 2)
    c = system.structure_constants(with_time=True)
    q, u = (q1, q2, q3), (u1, u2, u3)
    exprs = [rows[s] for s in q]
    fields = [sp.Matrix([sp.diff(e, v) for e in exprs]) for v in u]
    drift = sp.Matrix([e.subs(dict.fromkeys(u, 0)) for e in exprs])
    matrix = sp.Matrix.hstack(*fields)
    every = [drift, *fields]
    point = {q1: 0.3, q2: 0.7, q3: -0.2, b: 1.3, cg.time: 0.45}
    for i in range(4):
        for j in range(1, 4):
            bracket = fields[j - 1].jacobian(q) * every[i] - every[i].jacobian(q) * fields[j - 1]
            if i == 0:
                bracket += fields[j - 1].diff(cg.time)
            expected = matrix.subs(point).evalf().LUsolve(bracket.subs(point).evalf())
            for k in range(3):
                assert float(sp.sympify(c[i][j][k]).subs(point)) == pytest.approx(
                    float(expected[k]), abs=1e-12
                )
                assert sp.simplify(c[i][j][k] + c[j][i][k]) == 0


def test_fewer_velocities_than_coordinates() -> None:
    c = cg.example("heavy_top").system.structure_constants()
    for i in range(3):
        for j in range(3):
            assert c[i][j] == [sp.LeviCivita(i + 1, j + 1, k + 1) for k in range(3)]


def _dependent() -> tuple[sp.Expr, ...]:
    th1, th2, th3 = cg.velocities("th1 th2 th3")
    return th1, th2 + th3, sp.Integer(0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kinetic": KINETIC + sp.Symbol("k")}, "kinetic.*unknown symbol 'k'.*parameters"),
        ({"potential": cg.coordinates("z")}, "potential.*'z'.*coordinate without kinematics"),
        ({"kinetic": KINETIC + cg.velocities("s") ** 2}, "kinetic.*'s'.*velocity that does not occur"),
        ({"potential": V}, "potential depends on velocities"),
        ({"kinetic": "m*v**2"}, "kinetic is a string"),
        ({"kinetic": None}, "kinetic"),
        ({"kinetic": KINETIC * sp.gamma(J)}, "kinetic: gamma"),
        ({"forces": {PHI: TAU}}, "forces: phi is not a velocity"),
        ({"kinematics": {}}, "kinematics is empty"),
        ({"kinematics": {**KINEMATICS, V: OMEGA}}, "v is not a coordinate"),
        ({"kinematics": {**KINEMATICS, PHI: OMEGA**2}}, r"kinematics\[phi\] is not affine"),
        ({"kinematics": {**KINEMATICS, PHI: sp.sin(OMEGA)}}, r"kinematics\[phi\] is not affine"),
        ({"constraints": [W * V]}, r"constraints\[0\] is not affine.*parametrization"),
        ({"constraints": [X]}, r"constraints\[0\] contains no velocity"),
        ({"constraints": [W - sp.Abs(V) / 2]}, r"constraints\[0\] is not affine"),
        ({"constraints": [W - 1e-10 * V**2]}, r"constraints\[0\] is not affine"),
        ({"constraints": [W - sp.sqrt(V**2 + OMEGA**2)]}, r"constraints\[0\] is not affine"),
        ({"constraints": W}, "constraints is Velocity; give a list"),
        ({"forces": [TAU]}, "forces is list; give a dict"),
        ({"forces": {"omega": TAU}}, "use the symbol omega as a key, not its name"),
        ({"units": {"m": "kg"}}, "use the symbol m as a key, not its name"),
        ({"outputs": {"o": sp.Matrix([V])}}, "give a scalar"),
        (
            {"kinematics": {**KINEMATICS, PHI: "__import__('os').system('echo')"}},
            r"kinematics\[phi\] is a string",
        ),
        ({"kinetic": V * W + OMEGA**2 / 2}, "indefinite"),
        (
            {"constraints": (), "parametrization": dict(zip((OMEGA, V, W), _dependent(), strict=True))},
            "are not independent",
        ),
        (
            {"constraints": (), "parametrization": {OMEGA: cg.rate(X), V: 0, W: 0}},
            "contains a coordinate rate",
        ),
        ({"constraints": [W, 2 * W]}, "redundant.*linear combination"),
        ({"constraints": [W, V, OMEGA, W + V]}, "leave none"),
        (
            {"kinetic": KINETIC.subs(W, 0) - J * OMEGA**2 / 2 - M * A**2 * OMEGA**2 / 2},
            "singular at the example point",
        ),
        (
            {"kinetic": M * V**2 / 2 + J * OMEGA**2 / 2, "constraints": ()},
            "no inertia along w.*do not substitute constraints",
        ),
        (
            {"kinetic": M * (V + W + A * OMEGA) ** 2 / 2 + J * OMEGA**2 / 2, "constraints": ()},
            "mass matrix is singular",
        ),
        (
            {
                "kinematics": {
                    PHI: OMEGA,
                    X: V,
                    Y: V,
                },
                "constraints": (),
            },
            "no inertia|unknown symbol|leaves the span",
        ),
        ({"kinematics": {PHI: OMEGA + V + W, X: OMEGA + V + W, Y: V + W}}, "linearly dependent"),
        ({"name": 'a;system("x")'}, "a name is a letter"),
        ({"name": "double"}, "keyword"),
        ({"outputs": {"v": W}}, "the output name 'v' is already that of a velocity"),
        ({"outputs": {"side slip": W}}, "a name is a letter"),
        ({"example": {**EXAMPLE, M: float("nan")}}, r"example\[m\] = nan is not finite"),
        ({"example": {**EXAMPLE, M: "heavy"}}, r"example\[m\] = heavy is not a number"),
        ({"example": {**EXAMPLE, cg.coordinates("far"): 1}}, "far"),
        ({"example": {**EXAMPLE, M: 0}}, r"example\[m\] = 0, but m is declared positive"),
        ({"units": {sp.Symbol("k"): "N"}}, "units: k is not a symbol"),
        ({"units": {M: 3}}, r"units\[m\]"),
        ({"parametrization": {OMEGA: OMEGA}}, "not both"),
        ({"constraints": (), "parametrization": {OMEGA: cg.velocities("th1")}}, "no entry for v"),
        ({"constraints": (), "parametrization": {OMEGA: V, V: 0, W: 0}}, "contains the velocity v"),
        ({"constraints": (), "parametrization": {OMEGA: 0, V: 0, W: 0}}, "no independent velocity"),
        ({"kinetic": KINETIC / (PHI - PHI)}, "kinetic"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_declarations_are_refused(changes: dict[str, object], words: str) -> None:
    refused(words, sleigh, error=DeclarationError, **changes)


@pytest.mark.parametrize(
    "name",
    ['a;system("x")', "a b;c", "2a", "", "é", "a-b", "int", "class", "lambda", "template", "cdef", "nogil", "None",
     "restrict", "t", "cg_x", "_a", "a" * 80, "x\n", "co_await", "self"],
)  # fmt: skip
def test_bad_names_are_refused_by_every_kind(name: str) -> None:
    for declare in (cg.coordinates, cg.velocities, cg.parameters, cg.inputs):
        with pytest.raises(DeclarationError):
            declare([name])
    with pytest.raises(DeclarationError):
        cg.System(name, kinematics=KINEMATICS, kinetic=KINETIC)


def test_a_system_cannot_have_the_prefix_of_the_runtime() -> None:
    """Its kernels would be cg_rhs and so on. A variable can."""
    cg.parameters("cg")
    with pytest.raises(DeclarationError, match="System name 'cg': names that begin with 'cg_'"):
        cg.System("cg", kinematics=KINEMATICS, kinetic=KINETIC)


def test_a_name_made_by_hand_is_checked_too() -> None:
    """A symbol object can be created without the naming rule; the System checks it again."""
    from chaplygin.codegen.symbols.symbols import Parameter

    evil = Parameter('a;system("x")', real=True)
    refused("a name is a letter", sleigh, kinetic=KINETIC * evil, error=DeclarationError)


@pytest.mark.parametrize("declare", [cg.coordinates, cg.velocities, cg.parameters, cg.inputs])
def test_ranges_of_names(declare: Callable[[object], tuple[sp.Symbol, ...]]) -> None:
    for names in ("q1:4 z", "q:3", "x(a:c)", "q1:2"):
        assert [s.name for s in declare(names)] == [s.name for s in sp.symbols(names, seq=True)]
    assert [s.name for s in declare(["q1:3", "z"])] == ["q1", "q2", "z"]
    for wrong in ("q:", "a:", ":", "q4:1", "q1:99999999999", "1:3"):
        refused(r"a range of names|a name is a letter", declare, wrong, error=DeclarationError)


def test_one_name_for_two_things() -> None:
    refused("'m' is used twice", sleigh, potential=cg.inputs("m") * X, error=DeclarationError)
    refused("declared twice", cg.coordinates, "a a", error=DeclarationError)


def test_the_trap_of_a_substituted_constraint() -> None:
    """The sleigh with w = 0 put into T and two velocities: other tools silently integrate wrong equations."""
    with pytest.raises(DeclarationError, match=r"bracket \[X_omega, X_v\] leaves the span.*constraints"):
        cg.System(
            "trap",
            kinematics={PHI: OMEGA, X: V * sp.cos(PHI), Y: V * sp.sin(PHI)},
            kinetic=M * (V**2 + A**2 * OMEGA**2) / 2 + J * OMEGA**2 / 2,
            example={M: 1, A: 0.2, J: 0.5},
        )
    with pytest.raises(DeclarationError, match=r"bracket \[X_0, X_v\] leaves the span"):
        cg.System(
            "turntable",
            kinematics={X: V * sp.cos(cg.time), Y: V * sp.sin(cg.time)},
            kinetic=M * V**2 / 2,
        )


def test_rates_may_stand_in_expressions() -> None:
    a = sleigh(outputs={"speed_x": cg.rate(X)})
    b = sleigh(outputs={"speed_x": KINEMATICS[X]})
    assert a.digest == b.digest
    refused("rate", sleigh, kinematics={**KINEMATICS, PHI: OMEGA + cg.rate(X)}, error=DeclarationError)


def test_digest_tells_declarations_apart() -> None:
    digests = {
        sleigh().digest,
        sleigh(units={M: "kg"}).digest,
        sleigh(outputs={"o": V}, units={"o": "m"}).digest,
        sleigh(outputs={"o": V}, units={"o": "km"}).digest,
        sleigh(kinetic=KINETIC + 1).digest,
        sleigh(example={**EXAMPLE, M: 2}).digest,
        sleigh(name="other").digest,
        sleigh(constraints=[W - A * OMEGA]).digest,
        sleigh(constraints=[W - A * OMEGA + 1]).digest,
    }
    assert len(digests) == 9
    assert sleigh().digest == sleigh().digest


def test_structure_functions_hold_far_from_the_example() -> None:
    """[X_a, X_b] with |x| and with a tanh that is 1 to all digits at the example are not mistaken for constants."""
    a, b, c = cg.velocities("a b c")
    x, y, z = cg.coordinates("x y z")
    kinetic = (a**2 + b**2 + c**2) / 2
    bent = cg.System(
        "bent",
        kinematics={x: a, y: b, z: c + sp.Abs(x) * b},
        kinetic=kinetic,
        example={x: 1, a: 1, b: 1, c: 1},
    )
    assert float(bent.structure_constants()[0][1][2].subs(x, -1)) == -1.0
    model = bent.compile("poincare")
    # a' = c_ba^c b p_c..., derived by hand: a' = -sign(x) b c, b' = sign(x) a c.
    for side in (1.0, -1.0):
        assert list(model.rhs(0, [side, 0, 0, 1, 2, 3], ())[3:5]) == [-6.0 * side, 3.0 * side]
    steep = z, c + b * sp.log(sp.cosh(20 * x)) / 20
    smooth = cg.System("smooth", kinematics={x: a, y: b, steep[0]: steep[1]}, kinetic=kinetic, example={x: 3})
    assert float(smooth.structure_constants()[0][1][2].subs(x, 0)) == 0.0


def test_emitted_names_avoid_macros() -> None:
    x, y = cg.coordinates(["M_PI", "linux"])
    h = cg.parameters("HUGE_VAL")
    system = cg.System(
        "macros", coordinates=[x, y], kinetic=h * (cg.rate(x) ** 2 + cg.rate(y) ** 2), potential=x * y
    )
    assert system.compile().rhs(0, [1.0, 2.0, 0.0, 0.0], [0.5]) == pytest.approx([0, 0, -2, -1])


def test_a_zero_mass_is_singular_at_run_time() -> None:
    x, y = cg.coordinates("x y")
    m1, m2 = cg.parameters("m1 m2")
    kinetic = m1 * cg.rate(x) ** 2 / 2 + m2 * (cg.rate(x) * sp.cos(y) + cg.rate(y)) ** 2 / 2
    model = cg.System("a_mass_that_vanishes", coordinates=[x, y], kinetic=kinetic).compile()
    run = model.integrate((0, 1), {"x": 0, "y": 0, "x_dot": 1, "y_dot": 0}, {"m1": 1, "m2": 0})
    assert run.status == -1
    assert "singular" in run.message


def test_the_dicts_of_a_system_are_frozen() -> None:
    system = sleigh(units={M: "kg"})
    with pytest.raises(TypeError):
        system.units[M] = "g"  # type: ignore[index]


def test_wrong_calls() -> None:
    refused("coordinate names are int", cg.coordinates, 3, error=DeclarationError)
    refused("omit the assumption real=", cg.parameters, "m", real=False, error=DeclarationError)
    refused(r"for a System call system\.compile", cg.compile, sleigh())
    with pytest.raises(DeclarationError, match="coordinates is Coordinate; give a list"):
        cg.System("one", coordinates=X, kinetic=cg.rate(X) ** 2)  # type: ignore[arg-type]


EMIT = """
import hashlib, chaplygin as cg
from chaplygin.codegen.emit.targets import emit
texts = {}
for name, form in (("chaplygin_sleigh", "maggi"), ("heavy_top", "chetaev")):
    texts.update(emit(cg.example(name).system.equations(form).program).files)
print(hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest())
"""


@pytest.mark.slow
def test_the_same_bytes_under_every_hash_seed() -> None:
    assert len({run([sys.executable, "-c", EMIT], PYTHONHASHSEED=seed) for seed in ("0", "4242")}) == 1


def test_fields_from_forms() -> None:
    """Rolling: eta_3 = x' - R psi' (to vanish), eta_1 = psi' free; the frame is completed by a coordinate rate."""
    psi, x, y = cg.coordinates("psi x y")
    u1, u2, u3 = cg.velocities("u1 u2 u3")
    r = cg.parameters("r")
    forms = [cg.rate(x) - r * cg.rate(psi) - sp.sin(cg.time), sp.exp(psi) * cg.rate(y)]
    fields = cg.fields_from_forms(forms, [psi, x, y], [u1, u2, u3])
    values = {cg.rate(q): e for q, e in fields.items()}
    assert sp.simplify(forms[0].subs(values) - u1) == 0
    assert sp.simplify(forms[1].subs(values) - u2) == 0
    assert fields[psi] == u3
    kinetic = (u1**2 + u2**2 + u3**2) / 2
    assert cg.System("rolling", kinematics=fields, kinetic=kinetic).structure_constants()[2][1] == [0, -1, 0]
    for wrong, words in (
        ([cg.rate(x), 2 * cg.rate(x)], "dependent"),
        ([cg.rate(x) ** 2], "not affine"),
        ([cg.rate(x)] * 4, "4 forms"),
        ([u1], "contains u1"),
        (["x_dot"], "is a string"),
    ):
        refused(words, cg.fields_from_forms, wrong, [psi, x, y], [u1, u2, u3], error=DeclarationError)


def test_fields_from_dense_forms_in_bounded_time() -> None:
    """Three dense forms in six coordinates, whose elimination by SymPy does not end in minutes."""
    q = cg.coordinates("q1 q2 q3 q4 q5 q6")
    u = cg.velocities("u1 u2 u3 u4 u5 u6")
    forms = [
        sum(
            (sp.sin(q[(i + j) % 6]) * (1 + i) + sp.cos(q[(2 * i + j) % 6]) + 3 * (i == j)) * cg.rate(x)
            for j, x in enumerate(q)
        )
        for i in range(3)
    ]
    fields = cg.fields_from_forms(forms, q, u)
    at = {s: 0.3 + 0.1 * i for i, s in enumerate(q)} | {s: 0.5 + 0.2 * i for i, s in enumerate(u)}
    rates = {cg.rate(x): e.subs(at) for x, e in fields.items()}
    for form, velocity in zip(forms, u, strict=False):
        assert float(form.subs(at).subs(rates)) == pytest.approx(at[velocity], abs=1e-12)
    assert [fields[x] for x in q[:3]] == list(u[3:])


def test_forms_are_examined_where_they_have_values() -> None:
    x, y = cg.coordinates("x y")
    v, w = cg.velocities("v w")
    a = cg.parameters("a", negative=True)
    assert cg.fields_from_forms([sp.sqrt(x - 2) * cg.rate(x)], [x], [v]) == {x: v / sp.sqrt(x - 2)}
    small = cg.fields_from_forms([sp.sqrt(-a) * cg.rate(x), cg.rate(y) / 10**11], [x, y], [v, w])
    assert small == {x: v / sp.sqrt(-a), y: 10**11 * w}
    for wrong, words in (
        (sp.besselj(0, x) * cg.rate(x), r"forms\[0\]: besselj"),
        (sp.log(-1 - x**2) * cg.rate(x), "no common value"),
        (sp.Symbol("x") * cg.rate(x) + x, "different symbols with the name x"),
    ):
        refused(words, cg.fields_from_forms, [wrong], [x], [v], error=DeclarationError)


def test_the_order_of_parameters_can_be_said(tmp_path: Path) -> None:
    """d2q/dt2 = -k q / m with m first, in every vector of the model; c is not used and keeps its place."""
    q = cg.coordinates("q")
    m, k, c = cg.parameters("m k c", positive=True)
    given = {"coordinates": [q], "kinetic": m * cg.rate(q) ** 2 / 2, "potential": k * q**2 / 2}
    system = pickle.loads(pickle.dumps(cg.System("spring", **given, parameters=[m, c, k])))
    assert cg.System("spring", **given, example={k: 1}).parameters == (k, m)
    assert cg.System("spring", **given, example={k: 1}, parameters=[m]).parameters == (m, k)
    assert system.parameters == system.with_events([]).parameters == (m, c, k)
    assert system.digest != cg.System("spring", **given, parameters=[k, c, m]).digest
    nothing = dict.fromkeys(
        ("constraints", "holonomic", "bodies", "interactions", "contacts", "events", "parameters")
    )
    assert cg.System("spring", **given, **nothing).digest == cg.System("spring", **given).digest
    model = system.compile()
    assert model.parameters == ("m", "c", "k")
    np.testing.assert_allclose(model.rhs(0.0, [1.0, 0.0], [2.0, 0.0, 8.0]), [0.0, -4.0], rtol=1e-15)
    table = (model.export_c(tmp_path / "c") / "spring.c").read_text()
    places = [table.index(f'{{"{name}", ') for name in "mck"]
    assert places == sorted(places)
    for wrong, message in (
        ([m, m], "parameters: the name 'm' is used twice"),
        (["m"], r"parameters\[0\] is str; give a symbol created with parameters\(\)"),
        (m, "parameters is Parameter; give a list"),
    ):
        refused(message, cg.System, "spring", parameters=wrong, error=DeclarationError, **given)
