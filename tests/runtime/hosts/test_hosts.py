"""Models as functions of numba and JAX, both optional, and their quantities as integrands of `scipy.integrate`."""

from __future__ import annotations

import gc
import math
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import sympy as sp
from dense_chain import dense_chain
from host_models import SLEIGH, pushed_model, sleigh_model
from refusals import refused
from scipy.integrate import nquad, quad

import chaplygin as cg
from chaplygin.runtime import ArgumentError, MissingExtraError

A, B, K = (SLEIGH.parameters[name] for name in "abk")
NONE = np.empty(0)


@pytest.fixture
def sleigh() -> cg.Model:
    return sleigh_model()


@pytest.fixture
def pushed() -> cg.Model:
    return pushed_model()


def start(model: cg.Model, example: Any) -> tuple[np.ndarray, np.ndarray]:
    """The initial state and the parameters of a catalogue system, in the order of its model."""
    given = example.parameters | example.initial
    return np.array([given[n] for n in model.states]), np.array([given[n] for n in model.parameters])


def test_a_missing_package_is_an_error_that_names_the_extra(
    sleigh: cg.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("numba", "jax"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtraError, match=rf"Model.to_{package} needs .*chaplygin\[{package}\]"):
            getattr(sleigh, f"to_{package}")()


# -- numba --------------------------------------------------------------------------------------------------------


@pytest.mark.integration("numba")
@pytest.mark.parametrize(
    ("name", "form", "kernels"),
    [
        ("chaplygin_sleigh", "maggi", ["rhs", "jvp", "jacobian", "invariants"]),
        ("kovalevskaya_top", "chetaev", ["initial"]),
        ("block_on_belt", None, ["contacts"]),
        ("dense_chain:20", "lagrange", ["rhs"]),  # with scratch memory
    ],
)
def test_numba_calls_every_kind_of_kernel(name: str, form: str | None, kernels: list[str]) -> None:
    name, _, size = name.partition(":")
    example = dense_chain(int(size)) if size else cg.example(name)
    model = example.system.compile(form)
    assert (model.n_work > 0) == (size != "")
    random = np.random.default_rng(1)
    p = random.uniform(0.5, 1, len(model.parameters))
    u = np.ones(len(model.inputs) + len(model.modes))
    for kernel in kernels:
        x = random.normal(size=len(model.declared if kernel == "initial" else model.states))
        v = random.normal(size=len(x))
        directed = kernel == "jvp"
        ours = model.call(kernel, 0.5, x, p, u, dy=v if directed else None)
        out = np.empty(model.kernels[kernel])
        function = model.to_numba(kernel)
        assert function(0.5, x, p, u, *([v] if directed else []), out) == 0
        assert out.tobytes() == ours.tobytes(), kernel


@pytest.mark.integration("numba")
def test_numba_calls_a_reset() -> None:
    model = cg.example("bouncing_ball").system.compile()
    out = np.empty(2)
    assert model.to_numba("reset")(0, 0.0, np.array([0.0, -2.0]), np.array([1.0, 9.81, 0.75]), NONE, out) == 0
    assert out.tolist() == [0.0, 1.5]
    assert model.to_numba("reset")(7, 0.0, np.array([0.0, -2.0]), np.array([1.0, 9.81, 0.75]), NONE, out) < 0


@pytest.mark.integration("numba")
def test_numba_refuses_other_types_and_lengths(sleigh: cg.Model) -> None:
    x, p = start(sleigh, SLEIGH)
    rhs, out = sleigh.to_numba(), np.empty(5)
    words = "rhs of chaplygin_sleigh takes arrays of the lengths x: 5, p: 3, u: 0, out: 5"
    refused(words, rhs, 0.0, x[:4], p, NONE, out, error=ValueError)
    for wrong in (x[::-1], x.astype(np.float32), x.tolist(), None):
        refused(r"No matching definition|non-precise", rhs, 0.0, wrong, p, NONE, out, error=TypeError)
    refused(r"'rsh' is not a kernel of chaplygin_sleigh; it has .*did you mean rhs", sleigh.to_numba, "rsh")


# -- JAX ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def jax() -> Any:
    found = import_module("jax")
    found.config.update("jax_enable_x64", True)
    return found


@pytest.mark.integration("jax")
def test_jax_gets_the_bits_of_the_model_compiled_and_mapped(sleigh: cg.Model, jax: Any) -> None:
    x, p = start(sleigh, SLEIGH)
    rhs = sleigh.to_jax()
    assert np.asarray(rhs(0.0, x, p)).tobytes() == sleigh.rhs(0, x, p).tobytes()
    many, several = np.random.default_rng(0).normal(size=(100, 5)), np.outer([1.0, 1.5], p)
    mapped = jax.jit(jax.vmap(jax.vmap(rhs, (None, 0, None)), (None, None, 0)))(0.0, many, several)
    for row, numbers in zip(mapped, several, strict=True):
        assert np.array_equal(row, sleigh.rhs(0, many.T, numbers).T)
    assert np.array_equal(sleigh.to_jax("jvp")(0.0, x, p, many[0]), sleigh.jvp(0, x, p, many[0]))
    assert np.array_equal(sleigh.to_jax("invariants")(0.0, x, p), sleigh.call("invariants", 0, x, p))


@pytest.mark.integration("jax")
def test_jax_differentiates_the_right_hand_side_forward_and_backward(sleigh: cg.Model, jax: Any) -> None:
    """Against SymPy's derivatives of the equations."""
    x, p = start(sleigh, SLEIGH)
    equations = SLEIGH.system.equations("maggi")
    solved = equations.mass_matrix.LUsolve(equations.forcing)
    rates = sp.Matrix([*equations.kinematics, *solved])
    symbols = {s.name: s for s in rates.free_symbols}
    slopes = rates.jacobian([symbols.get(name, sp.Symbol(name)) for name in sleigh.states])
    values = {s: (SLEIGH.parameters | SLEIGH.initial)[s.name] for s in slopes.free_symbols}
    exact = np.array(slopes.subs(values), dtype=float)
    assert np.count_nonzero(exact) > 5
    rhs = sleigh.to_jax()
    for transform in (jax.jacfwd, jax.jacrev):
        found = jax.jit(transform(lambda state: rhs(0.0, state, p)))(x)
        np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-15)


@pytest.mark.integration("jax")
def test_a_loop_of_jax_reaches_the_closed_form(sleigh: cg.Model, jax: Any) -> None:
    x, p = start(sleigh, SLEIGH)
    rhs, h = sleigh.to_jax(), 1e-2

    def step(state: Any, _: Any) -> tuple[Any, None]:
        k1 = rhs(0.0, state, p)
        k2 = rhs(0.0, state + h / 2 * k1, p)
        k3 = rhs(0.0, state + h / 2 * k2, p)
        k4 = rhs(0.0, state + h * k3, p)
        return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    end = jax.jit(lambda state: jax.lax.scan(step, state, None, length=1000)[0])(x)
    exact = SLEIGH.closed_form(10.0)
    np.testing.assert_allclose(end, [exact[name] for name in sleigh.states], atol=1e-8)


@pytest.mark.integration("jax")
def test_jax_passes_inputs_and_the_time(pushed: cg.Model, jax: Any) -> None:
    rhs = jax.jit(pushed.to_jax())
    found = rhs(1.0, [5.0, 4.0], [2.0], [3.0])
    np.testing.assert_allclose(found, [4.0, (3 + math.cos(1)) / 2], rtol=1e-15)


@pytest.mark.integration("jax")
@pytest.mark.parametrize("transform", ["jacfwd", "jacrev"])
def test_jax_differentiates_by_everything(pushed: cg.Model, jax: Any, transform: str) -> None:
    """As JAX does the same equations, x'' = (F + cos t)/m, also mapped and along one direction."""
    jnp, rhs = jax.numpy, pushed.to_jax()
    at = tuple(map(jnp.asarray, (1.0, [5.0, 4.0], [2.0], [3.0])))

    def written(t: Any, x: Any, p: Any, u: Any) -> Any:
        return jnp.stack([x[1], (u[0] + jnp.cos(t)) / p[0]])

    for arguments in (0, 1, 2, 3, (0, 1, 2, 3)):
        by = [jax.jit(getattr(jax, transform)(f, argnums=arguments)) for f in (rhs, written)]
        found, exact = (jax.tree.leaves(f(*at)) for f in by)
        for ours, theirs in zip(found, exact, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-15)
    masses, weights = jnp.array([[1.0], [2.0], [4.0]]), jnp.array([0.3, -0.7])
    losses = [lambda p, u, f=f: f(at[0], at[1], p, u) @ weights for f in (rhs, written)]
    found, exact = (jax.vmap(jax.grad(f, argnums=(0, 1)), (0, None))(masses, at[3]) for f in losses)
    np.testing.assert_allclose(found[0], exact[0], rtol=1e-14)
    np.testing.assert_allclose(found[1], exact[1], rtol=1e-14)


@pytest.mark.integration("jax")
def test_jax_marks_failures_with_nan(sleigh: cg.Model, jax: Any) -> None:
    rhs = jax.vmap(sleigh.to_jax(), (None, None, 0))
    # Without a and k there is no inertia about the vertical.
    good, bad = rhs(0.0, np.array([0.0, 0.0, 0.0, 1.0, 1.0]), np.array([[A, B, K], [0.0, 1.0, 0.0]]))
    assert np.isfinite(good).all()
    assert np.isnan(bad).all()


@pytest.mark.integration("jax")
def test_wrong_uses_of_jax(sleigh: cg.Model, jax: Any) -> None:
    x, p = start(sleigh, SLEIGH)
    rhs = sleigh.to_jax()
    refused(r"chaplygin_sleigh.rhs: x has shape \(4,\); \(5,\) is needed", rhs, 0.0, x[:4], p)
    refused("'no' is not a kernel", sleigh.to_jax, "no")
    with pytest.raises(ArgumentError, match="to_jax: reset takes an event"):
        cg.example("bouncing_ball").system.compile().to_jax("reset")
    jax.config.update("jax_enable_x64", False)
    try:
        refused(r"double precision: jax.config.update", rhs, 0.0, x, p)
    finally:
        jax.config.update("jax_enable_x64", True)


def test_an_output_over_one_and_two_states(sleigh: cg.Model) -> None:
    """The reaction of the blade is omega (v - b omega) k^2 / (a^2 + k^2)."""
    omega, v = sp.symbols("omega v")
    reaction = omega * (v - B * omega) * K**2 / (A**2 + K**2)
    both = sleigh.to_scipy("lateral_reaction", ["omega", "v"], {"phi": 0, "x": 0, "y": 0}, SLEIGH.parameters)
    exact = float(sp.integrate(reaction, (omega, 0, 1), (v, 0, 2)))
    assert nquad(both, [(0, 1), (0, 2)])[0] == pytest.approx(exact, abs=1e-13)
    exact = float(sp.integrate(reaction.subs(v, 3), (omega, 0, 1)))
    assert quad(both, 0, 1, args=(3.0,))[0] == pytest.approx(exact, abs=1e-13)
    one = sleigh.to_scipy("lateral_reaction", "omega", [0, 0, 0, 9, 3], [A, B, K])
    assert quad(one, 0, 1)[0] == pytest.approx(exact, abs=1e-13)


def test_an_invariant_over_a_parameter(sleigh: cg.Model) -> None:
    """2 T = (a^2 + k^2) omega^2 + (v - b omega)^2."""
    energy = sleigh.to_scipy("energy", "k", {"phi": 0, "x": 0, "y": 0, "omega": 2, "v": 1}, {"a": A, "b": B})
    exact = (A**2 * 4 + (1 - 2 * B) ** 2) / 2 * 3 + 2 * 3**3 / 3
    assert quad(energy, 0, 3)[0] == pytest.approx(exact, rel=1e-13)


def test_a_derivative_over_the_time_and_an_input(pushed: cg.Model) -> None:
    given = {"x": 0, "x_dot": 0}, {"m": 2}
    over_time = pushed.to_scipy("der(x_dot)", "t", *given, {"F": 3})
    assert quad(over_time, 0, 1)[0] == pytest.approx((3 + math.sin(1)) / 2, rel=1e-13)
    over_force = pushed.to_scipy("der(x_dot)", sp.Symbol("F"), *given, t=1)
    assert quad(over_force, 0, 2)[0] == pytest.approx((2 + 2 * math.cos(1)) / 2, rel=1e-13)


def test_an_integrand_owns_what_it_needs(sleigh: cg.Model) -> None:
    made = [
        sleigh.to_scipy("energy", "omega", {"phi": 0, "x": 0, "y": 0, "v": float(i)}, SLEIGH.parameters)
        for i in range(50)
    ]
    gc.collect()
    for i, energy in enumerate(made):
        exact = (A**2 + K**2) / 6 + ((i - B) ** 2 + i * (i - B) + i**2) / 6
        assert quad(energy, 0, 1)[0] == pytest.approx(exact, rel=1e-12)


def test_modes_of_contacts_follow_the_inputs() -> None:
    """A block on a belt: friction along the slip, sigma mu m g against it."""
    belt = cg.example("block_on_belt")
    model = belt.system.compile()
    y, p = [belt.initial[n] for n in model.states], [belt.parameters[n] for n in model.parameters]
    (mode,) = model.modes
    for sigma in (-1, 1):
        rate = model.to_scipy(f"der({model.states[1]})", model.states[0], y, p, {mode: sigma})
        slope = [float(model.rhs(0, [x, y[1]], p, [sigma])[1]) for x in (0, 1)]
        assert slope[0] != model.rhs(0, [0, y[1]], p, [-sigma])[1]
        assert quad(rate, 0, 1)[0] == pytest.approx(sum(slope) / 2, rel=1e-12)  # linear in the displacement
    refused("a mode is 0", model.to_scipy, "der(x)", "x", y, p, {mode: 0.5})


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
def test_an_integrand_without_all_its_variables_is_nan(sleigh: cg.Model) -> None:
    both = sleigh.to_scipy("energy", ["omega", "v"], {"phi": 0, "x": 0, "y": 0}, SLEIGH.parameters)
    assert math.isnan(quad(both, 0, 1)[0])
    singular = sleigh.to_scipy("der(omega)", "omega", {"phi": 0, "x": 0, "y": 0, "v": 1}, [0, 1, 0])
    assert math.isnan(quad(singular, 0, 1)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"quantity": "lateral"}, "'lateral' is not a quantity of chaplygin_sleigh.*did you mean lateral_reaction"),
        ({"quantity": "v"}, "'v' is not a quantity"),
        ({"over": "omg"}, "over: unknown omg; did you mean omega"),
        ({"over": []}, "over = .*one name or several different ones"),
        ({"over": ["v", "v"]}, "over = .*one name or several different ones"),
        ({"over": "v"}, "state: missing omega"),
        ({"state": {"speed": 1}}, "state: unknown speed"),
        ({"state": [1, 2]}, r"state has shape \(2,\)"),
        ({"parameters": {"a": 1}}, "parameters: missing b, k"),
        ({"inputs": {"tau": 1}}, "inputs: unknown tau; the model has none"),
        ({"t": math.nan}, "t = nan is not finite"),
    ],
)  # fmt: skip
def test_wrong_arguments_of_an_integrand(sleigh: cg.Model, change: dict[str, Any], message: str) -> None:
    given = {
        "quantity": "energy",
        "over": "omega",
        "state": {"phi": 0, "x": 0, "y": 0, "v": 1},
        "parameters": SLEIGH.parameters,
    }
    refused(message, sleigh.to_scipy, **{**given, **change})
