"""The Painlevé-Klein example with dry friction, worked through: docs/painleve_klein.md is the text, with the figures.

When both sliders move in the direction sigma, the tension R of the link determines the motion. In terms of
    mu1* = 2 m2 mu1 tan(phi0) / (m1 + m2),  mu2* = 2 m1 mu2 tan(phi0) / (m1 + m2),  Yi* = Yi / sin(phi0),
    X* = 2 (m2 X1 - m1 X2) / ((m1 + m2) cos(phi0))
(for equal masses those of the source) a rigid link at the angle phi0 has
    Phi(R) = 2 R + sigma (mu1* |R - Y1*| - mu2* |R + Y2*|) = X*,                                    (2.9)
and an elastic one, with R = K delta + C delta', for small delta
    delta'' = -w (Phi(R) - X*),  w = cos(phi0)^2 (m1 + m2) / (2 m1 m2).                             (3.9)
Phi is piecewise linear with three pieces; the signs of the three slopes determine the possible numbers of solutions.

`python docs/painleve_klein.py` prints the numbers of the chapter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy.optimize import brentq

import chaplygin as cg
from chaplygin.systems import painleve_klein as catalogue

Array = NDArray[np.float64]

TYPES = ("+++", "+-+", "++-", "+--", "-++", "--+")
"""The six possible graphs of Phi, by the signs of its slopes from left to right."""


class Law(NamedTuple):
    """The constants of (2.9) and (3.9); `weight` is w."""

    mu1: float
    mu2: float
    y1: float
    y2: float
    load: float
    sigma: int = 1
    weight: float = 1.0


def law(parameters: Mapping[str, float], sigma: int = 1) -> Law:
    """The law of the link at its natural length, from the parameters of the catalogue's system."""
    p = parameters
    sine = p["d"] / p["l"]
    cosine = math.sqrt(1 - sine**2)
    m1, m2 = p["m1"], p["m2"]
    share = 2 / (m1 + m2)
    return Law(
        share * m2 * p["mu1"] * sine / cosine,
        share * m1 * p["mu2"] * sine / cosine,
        p["Y1"] / sine,
        p["Y2"] / sine,
        share * (m2 * p["X1"] - m1 * p["X2"]) / cosine,
        sigma,
        cosine**2 * (m1 + m2) / (2 * m1 * m2),
    )


def phi(tension: Any, by: Law) -> Any:
    """Phi(R), the left side of (2.9)."""
    friction = by.mu1 * abs(tension - by.y1) - by.mu2 * abs(tension + by.y2)
    return 2 * tension + by.sigma * friction


# Task 1: the six graphs


def excess(by: Law) -> tuple[float, float]:
    """Delta and tau Sigma: the outer slopes are 2 - Delta and 2 + Delta, the middle one 2 - tau Sigma.

    tau = sigma sign(Y1* + Y2*) depends on which of the two kinks, Y1* and -Y2*, comes first; it is 0 if they coincide.
    """
    tau = by.sigma * float(np.sign(by.y1 + by.y2))
    return by.sigma * (by.mu1 - by.mu2), tau * (by.mu1 + by.mu2)


def slopes(by: Law) -> tuple[float, float, float]:
    """The slopes of Phi from left to right."""
    difference, middle = excess(by)
    return 2 - difference, 2 - middle, 2 + difference


def graph(by: Law) -> str:
    """Which of the six graphs Phi has, by the region of (Delta, tau Sigma); on a border between two, the upper one."""
    difference, middle = excess(by)
    if abs(difference) <= 2:
        return "+++" if middle <= 2 else "+-+"
    if difference > 2:
        return "--+" if middle > 0 else "-++"
    return "+--" if middle > 0 else "++-"


def kinks(by: Law) -> tuple[float, float]:
    """The two kinks of Phi, from left to right; at each of them a normal force is zero."""
    first, second = sorted((by.y1, -by.y2))
    return first, second


def number_of_solutions(by: Law) -> int:
    """How many R solve Phi(R) = X*, from the type of the graph and the values at its kinks."""
    kind = graph(by)
    left, right = (phi(r, by) for r in kinks(by))
    if kind == "+++":
        return 1
    if kind == "+-+":
        return 3 if right < by.load < left else 1
    fold = {"--+": right, "-++": left, "+--": left, "++-": right}[kind]
    above = by.load > fold
    return 2 if above == kind.endswith("+") else 0


def tensions(by: Law) -> list[float]:
    """The solutions R of Phi(R) = X* in ascending order: each piece is solved, and a solution outside it discarded."""
    left, right = kinks(by)
    found = []
    bounds = ((-math.inf, left, left), (left, right, left), (right, math.inf, right))
    for slope, (low, high, base) in zip(slopes(by), bounds, strict=True):
        if slope != 0.0:
            tension = base + (by.load - phi(base, by)) / slope
            if low <= tension < high:
                found.append(tension)
    return found


# Task 2: equilibria of (3.9)


class Equilibrium(NamedTuple):
    """An equilibrium of the link: tension, elongation, the two roots, its kind, the sliders' acceleration."""

    tension: float
    delta: float
    roots: tuple[complex, complex]
    kind: str
    acceleration: float


def named(roots: Any) -> str:
    """The kind of an equilibrium with these two characteristic roots."""
    first, second = (complex(root) for root in roots)
    size = max(abs(first), abs(second))
    if abs(first.imag) > 1e-12 * size:
        if abs(first.real) <= 1e-12 * size:
            return "centre"
        return f"{'stable' if first.real < 0 else 'unstable'} focus"
    if first.real * second.real < 0:
        return "saddle"
    return f"{'stable' if first.real < 0 else 'unstable'} node"


def acceleration(
    tension: float, parameters: Mapping[str, float], sigma: int = 1, delta: float = 0.0
) -> float:
    """The acceleration of slider 1 sliding in the direction sigma; at an equilibrium, that of both sliders."""
    p = parameters
    sine = p["d"] / (p["l"] + delta)
    friction = sigma * p["mu1"] * abs(tension * sine - p["Y1"])
    return float((p["X1"] - tension * math.sqrt(1 - sine**2) - friction) / p["m1"])


def equilibria(parameters: Mapping[str, float], sigma: int = 1) -> list[Equilibrium]:
    """The equilibria of (3.9); their roots satisfy lambda^2 + s C lambda + s K = 0, s = w Phi'(R*).

    So s < 0 is a saddle; s > 0 a centre (C = 0), a stable focus (s C^2 < 4 K) or a stable node. With K = k / eps^2
    and C = nu / eps the roots are those for eps = 1 divided by eps.
    """
    by = law(parameters, sigma)
    K, C = parameters["K"], parameters["C"]
    found = []
    for tension in tensions(by):
        piece = sum(tension > kink for kink in kinks(by))
        s = by.weight * slopes(by)[piece]
        low, high = np.roots([1.0, s * C, s * K])
        rate = acceleration(tension, parameters, sigma)
        found.append(Equilibrium(tension, tension / K, (low, high), named((low, high)), rate))
    return found


# Task 3: the phase plane


@cache
def link_model(exact: bool) -> Any:
    """Compiled model of the link while both sliders slide in the direction sigma; one coordinate, delta.

    With `exact` the equation with the true angle, (4.1), otherwise (3.9).
    """
    delta = cg.coordinates("delta")
    rate = cg.rate(delta)
    sigma, K, C, mu1, mu2 = cg.parameters("sigma K C mu1 mu2")
    tension = K * delta + C * rate
    if exact:
        m1, m2, d, natural = cg.parameters("m1 m2 d l", positive=True)
        X1, Y1, X2, Y2 = cg.parameters("X1 Y1 X2 Y2")
        length = natural + delta
        sine = d / length
        cosine = sp.sqrt(1 - sine**2)
        right = (X1 - tension * cosine - sigma * mu1 * abs(tension * sine - Y1)) / m1
        left = (X2 + tension * cosine - sigma * mu2 * abs(-Y2 - tension * sine)) / m2
        force = cosine * (right - left) + (sine * rate / cosine) ** 2 / length
    else:
        y1, y2, load, weight = cg.parameters("y1 y2 load weight")
        friction = sigma * (mu1 * abs(tension - y1) - mu2 * abs(tension + y2))
        force = -weight * (2 * tension + friction - load)
    name = "painleve_klein_link" + "_exact" * exact
    # The search for integrals tries points near this one; the link must be longer than d there.
    somewhere = {delta: 0.5, rate: 0.1, sigma: 1.0, K: 2.0, C: 1.0, mu1: 0.3, mu2: 0.4}
    if exact:
        somewhere |= {m1: 1.0, m2: 1.0, d: 0.2, natural: 1.5, X1: 0.3, Y1: 0.4, X2: 0.5, Y2: 0.6}
    system = cg.System(
        name, coordinates=[delta], kinetic=rate**2 / 2, forces={rate: force}, example=somewhere
    )
    return system.compile("lagrange")


def link_parameters(parameters: Mapping[str, float], sigma: int, exact: bool) -> dict[str, float]:
    """The parameters of the link model."""
    if exact:
        return {**parameters, "sigma": sigma}
    by = law(parameters, sigma)._asdict()
    return {**by, "K": parameters["K"], "C": parameters["C"]}


def link_vector(parameters: Mapping[str, float], sigma: int, exact: bool) -> tuple[Any, Array]:
    """The link model and its parameter vector."""
    model = link_model(exact)
    given = link_parameters(parameters, sigma, exact)
    return model, np.array([given[name] for name in model.parameters])


def exact_equilibria(
    parameters: Mapping[str, float], sigma: int = 1, between: tuple[float, float] = (-0.15, 0.4)
) -> list[Equilibrium]:
    """The equilibria of the link with its true angle, (4.1), with delta in the interval `between`."""
    model, p = link_vector(parameters, sigma, exact=True)

    def force(delta: float) -> float:
        return float(model.rhs(0.0, [delta, 0.0], p)[1])

    grid = np.linspace(*between, 2001)
    values = [force(delta) for delta in grid]
    found = []
    for low, high, a, b in zip(grid[:-1], grid[1:], values[:-1], values[1:], strict=True):
        if a * b < 0:
            delta = brentq(force, low, high, xtol=1e-17, rtol=1e-15)
            roots = np.linalg.eigvals(model.jacobian(0.0, [delta, 0.0], p))
            tension = parameters["K"] * delta
            rate = acceleration(tension, parameters, sigma, delta)
            found.append(Equilibrium(tension, delta, (roots[0], roots[1]), named(roots), rate))
    return found


class Window(NamedTuple):
    """A rectangle of the phase plane (delta, delta')."""

    left: float
    right: float
    bottom: float
    top: float


def path(
    start: Array,
    parameters: Mapping[str, float],
    duration: float,
    window: Window,
    sigma: int = 1,
    exact: bool = False,
    points: int = 400,
) -> Array:
    """The path from a point of the phase plane to the edge of the window; a negative duration runs backward in time."""
    model = link_model(exact)

    def outside(t: float, y: Array) -> float:
        inside = (y[0] - window.left, window.right - y[0], y[1] - window.bottom, window.top - y[1])
        return float(min(inside))

    outside.terminal = True  # type: ignore[attr-defined]
    sol = model.integrate(
        (0.0, duration),
        initial=start,
        parameters=link_parameters(parameters, sigma, exact),
        rtol=1e-10,
        atol=1e-12,
        t_eval=np.linspace(0.0, duration, points),
        events=outside,
    )
    ends = sol.y_events[0]
    return np.vstack([sol.y.T, ends]) if len(ends) else np.asarray(sol.y.T)


def basin_boundary(
    saddle: Equilibrium,
    parameters: Mapping[str, float],
    window: Window,
    sigma: int = 1,
    exact: bool = False,
) -> list[Array]:
    """The two branches of the saddle's stable manifold, which bound the basin of the stable equilibrium.

    Each branch starts close to the saddle in the direction (1, lambda) of its negative root and runs backward in time.
    """
    stable = min(root.real for root in saddle.roots)
    unit = 1e-7 * np.array([1.0, stable])
    point = np.array([saddle.delta, 0.0])
    duration = -25.0 / abs(stable)
    return [path(point + sign * unit, parameters, duration, window, sigma, exact, 1500) for sign in (1, -1)]


def settles(
    delta: float, parameters: Mapping[str, float], window: Window, sigma: int = 1, exact: bool = True
) -> bool:
    """Whether the link, released at rest (delta' = 0), comes to an equilibrium within the window."""
    end = path(np.array([delta, 0.0]), parameters, 40.0, window, sigma, exact)[-1]
    model, p = link_vector(parameters, sigma, exact)
    return bool(np.abs(model.rhs(0.0, end, p)).max() < 1e-6)


# Task 5: the whole program


@cache
def program(rigid: bool = False) -> Any:
    """The catalogue's system, compiled: the sliders with sticking, slipping and reversal."""
    name = "painleve_klein_rigid" if rigid else "painleve_klein"
    return cg.example(name).system.compile("multipliers" if rigid else "lagrange")


def run(delta0: float, t_end: float = 2.5, points: int | None = None, **link: float) -> Any:
    """A run of the published data: both sliders start at speed 10 with the link stretched by delta0."""
    return program().integrate(
        (0.0, t_end),
        initial=catalogue.initial_state(delta0),
        parameters=catalogue.parameters(**link),
        rtol=1e-11,
        atol=1e-11,
        t_eval=None if points is None else np.linspace(0.0, t_end, points),
    )


def rigid_solutions(parameters: Mapping[str, float], sigma: int = 1) -> int:
    """The number of motions of the rigid link, both sliders moving in the direction sigma, as found by the model.

    It tries both signs of both normal forces. If exactly one motion is consistent the run continues; otherwise it stops
    and reports all that it found.
    """
    model = program(rigid=True)
    apart = math.sqrt(parameters["l"] ** 2 - parameters["d"] ** 2)
    start = {"x1": 0.0, "x2": -apart, "x1_dot": 1.0 * sigma, "x2_dot": 1.0 * sigma}
    sol = model.integrate((0.0, 1e-9), initial=start, parameters={n: parameters[n] for n in model.parameters})
    if sol.paradox is None and not sol.success:
        raise RuntimeError(sol.message)
    return 1 if sol.success else int(sol.paradox.n_found)


SMALL_FRICTION = {"mu1": 0.1, "mu2": 0.2}
"""Friction coefficients for which the motion of the rigid link is unique."""


def distance_to_rigid(eps: float, tension: float = 0.0, t_end: float = 0.5) -> float:
    """|x1 - x1 of the rigid link| + |v1 - v1 of the rigid link| at t_end, with the link stretched by tension / K."""
    given = {**catalogue.parameters(eps=eps), **SMALL_FRICTION}
    natural = catalogue.initial_state(tension / given["K"])
    soft = program().integrate((0.0, t_end), initial=natural, parameters=given, rtol=1e-11, atol=1e-12)
    rate = acceleration(tensions(law(given))[0], given)
    x, v = 10 * t_end + rate * t_end**2 / 2, 10 + rate * t_end
    return abs(float(soft["x1"][-1]) - x) + abs(float(soft["x1_dot"][-1]) - v)


def main() -> None:
    """Print the numbers of the chapter."""
    given = catalogue.parameters()
    for sigma in (1, -1):
        by = law(given, sigma)
        print(
            f"sigma = {sigma:+d}: {graph(by)}, slopes {', '.join(f'{s:.4g}' for s in slopes(by))}, X* = {by.load:g}"
        )
        for title, points in (("(3.9)", equilibria(given, sigma)), ("(4.1)", exact_equilibria(given, sigma))):
            for e in points:
                roots = ", ".join(f"{root:.8g}" for root in e.roots)
                print(
                    f"  {title} R = {e.tension:.9g}, delta = {e.delta:.9g}, {e.kind}: {roots}; {e.acceleration:.9g}"
                )
    for delta0 in (0.03, 0.12):
        print(f"delta0 = {delta0}:")
        for mode in run(delta0).modes:
            print(f"  {mode.t_start:.12f} {mode.contacts} {mode.ended_by or ''}")
    for eps in (1e-1, 1e-2, 1e-3):
        print(f"eps = {eps:g}: distance to the rigid link {distance_to_rigid(eps):.4g}")


if __name__ == "__main__":
    main()
