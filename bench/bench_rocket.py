"""The rocket of the catalogue beside RocketPy: apogee, and flights per second.

    pip install rocketpy
    python -m pytest bench/bench_rocket.py

RocketPy gets the same tables of air, wind, thrust and drag, normal forces by the sine of the angle of attack, and no
rotation of the Earth. Three things differ in its version 1.13: it takes the nozzle to be as far ahead of the mass
centre as it is behind, and a quarter of that distance squared for the gyration of the nozzle, both of which are set
here as in systems/rocket.py; and it has a force by the change of the mass flow, which is left out here. Unchanged, it
flies 3e-4 of the height higher. `python bench/bench_rocket.py` writes tests/data/rocketpy.json.
"""

from __future__ import annotations

import json
import time
from importlib.metadata import version
from math import pi, radians, sin, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PchipInterpolator, make_interp_spline

from chaplygin.systems import rocket

DATA = Path(__file__).parents[1] / "tests" / "data" / "rocketpy.json"
RUNS = 2048


def table(name: str) -> Any:
    knots, values, kind = rocket.TABLES[name]
    makers = {
        "cubic": CubicSpline,
        "pchip": PchipInterpolator,
        "linear": lambda x, y: make_interp_spline(x, y, 1),
    }
    return makers[kind](knots, values)


def flight(rtol: float, atol: float | None = None) -> Any:
    """The flight up to its apogee, by RocketPy."""
    from rocketpy import Environment, Flight, Function, GenericMotor, NoseCone, Rocket
    from rocketpy.mathutils.vector_matrix import Matrix, Vector

    p = rocket.PARAMETERS
    density, sound, cd, lift = map(table, ("density", "sound", "cd", "lift"))
    env = Environment(gravity=p["g"])
    env.density = Function(lambda z: float(density(max(z, 0.0))))
    env.speed_of_sound = Function(lambda z: float(sound(max(z, 0.0))))
    for axis, to in (("x", "east"), ("y", "north")):
        winds = [p[f"wind_{to}_at_{i}"] for i in range(len(rocket.HEIGHTS))]
        blow = Function(lambda z, winds=winds: float(np.interp(z, rocket.HEIGHTS, winds)))
        setattr(env, f"wind_velocity_{axis}", blow)
    env.earth_rotation_vector = [0, 0, 0]

    radius = sqrt(2 * p["k3"])  # of a cylinder with the propellant's radii of gyration
    knots, thrust, _ = rocket.TABLES["thrust"]
    motor = GenericMotor(
        thrust_source=list(zip(knots, thrust)),
        burn_time=knots[-1],
        chamber_radius=radius,
        chamber_height=sqrt(12 * p["k1"] - 3 * radius**2),
        chamber_position=-p["l_nozzle"],
        propellant_initial_mass=rocket.INITIAL["fuel"],
        nozzle_radius=p["r_nozzle"],
        dry_mass=1e-9,
        center_of_dry_mass_position=-p["l_nozzle"],
    )
    outside = sqrt(p["area"] / pi)
    made = Rocket(
        radius=outside,
        mass=p["dry"],
        inertia=(p["I1"], p["I1"], p["I3"]),
        power_off_drag=lambda mach: float(cd(mach)),
        power_on_drag=lambda mach: float(cd(mach)),
        center_of_mass_without_motor=0.0,
    )
    made.add_motor(motor, position=p["l_nozzle"])
    for place, slope in (("l_nose", lambda mach: 2.0), ("l_fins", lambda mach: float(lift(mach)))):
        surface = NoseCone(length=0.5, kind="ogive", base_radius=outside, rocket_radius=outside)
        # its own name for the two variables; the slope is bound in a function, for it counts the arguments
        surface.cl = Function((lambda k: lambda alpha, mach: k(mach) * sin(alpha))(slope), ["a", "m"], "cl")
        made.add_surfaces(surface, p[place])
        made.surfaces_cp_to_cdm[surface] = Vector([0, 0, p[place]])
    made.nozzle_to_cdm = p["l_nozzle"]
    disk = p["r_nozzle"] ** 2 / 2
    across = disk / 2 + p["l_nozzle"] ** 2
    made.nozzle_gyration_tensor = Matrix([[across, 0, 0], [0, across, 0], [0, 0, disk]])
    made.total_mass_flow_rate.differentiate_complex_step = lambda t, *_: 0.0
    return Flight(
        rocket=made,
        environment=env,
        rail_length=p["rail_length"],
        inclination=85,
        heading=90,
        terminate_on_apogee=True,
        rtol=rtol,
        atol=None if atol is None else 13 * [atol],
        max_time_step=np.inf if atol is None else 0.05,
        ode_solver="DOP853",
    )


def figures(flown: Any) -> dict[str, float]:
    """Where and when the rocket leaves the rail and is at its apogee."""
    return {
        "t_rail": float(flown.out_of_rail_time),
        "t": float(flown.apogee_time),
        "x": float(flown.apogee_x),
        "y": float(flown.apogee_y),
        "z": float(flown.apogee),
    }


def test_flights_per_second() -> None:
    pytest.importorskip("rocketpy")
    begin = time.perf_counter()
    theirs = figures(flight(1e-6))
    alone = time.perf_counter() - begin
    model = rocket.system().compile(wait=True)
    rng = np.random.default_rng(0)
    numbers = {**rocket.PARAMETERS, "power": rng.normal(1, 0.02, RUNS)}
    took = []
    for _ in range(3):
        begin = time.perf_counter()
        ens = model.ensemble((0, theirs["t"]), rocket.INITIAL, numbers, threads=1, rtol=1e-6, atol=1e-6)
        took.append((time.perf_counter() - begin) / RUNS)
    z = model.integrate((0, theirs["t"]), rocket.INITIAL, rocket.PARAMETERS, rtol=1e-6, atol=1e-6)["z"][-1]
    print(
        f"RocketPy {version('rocketpy')}: {1 / alone:.2f} flights to the apogee a second, z = {theirs['z']:.4f}"
    )
    print(f"chaplygin: {1 / np.median(took):.0f}, one thread, {ens.lanes} lanes, z = {z:.4f}, there")


if __name__ == "__main__":
    assert radians(5.0) / 2 == rocket.TILT
    DATA.write_text(
        json.dumps({"rocketpy": version("rocketpy"), **figures(flight(1e-10, 1e-10))}, indent=1) + "\n"
    )
