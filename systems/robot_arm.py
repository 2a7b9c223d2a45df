"""A robot arm of six hinges, read from the URDF file beside this module.

Waist, shoulder, elbow and three hinges of the wrist, with dampers, as in industrial robots; it falls from a stretched
posture. With motors, each joint has an input, its couple.

Conserved: nothing, for the dampers; the power balance accounts for them.

Source: own figures; the URDF specification of ROS.
"""

from __future__ import annotations

from pathlib import Path

import chaplygin as cg

from .entry import Example

FILE = Path(__file__).with_name("robot_arm.urdf")
PARAMETERS = {"g": 9.81}
POSTURE = {"waist": 0.3, "shoulder": 0.6, "elbow": -0.4, "roll": 0.2, "pitch": 0.5, "flange": 0.0}
INITIAL = POSTURE | {f"{name}_dot": 0.0 for name in POSTURE}


def system(motors: bool = False) -> cg.System:
    """The declaration; with ``motors``, the inputs tau_waist ... tau_flange are couples in N m."""
    return cg.from_urdf(FILE, base="fixed", motors=motors)


def example(motors: bool = False) -> Example:
    """The catalogue entry."""
    return Example.of(
        __name__,
        description="Robot arm of six hinges from a URDF file" + ", with motors" * motors,
        source="own figures; URDF specification",
        t_span=(0.0, 2.0),
        forms=("lagrange", "poincare", "recursive"),
        build=lambda: system(motors),
        large=True,
    )
