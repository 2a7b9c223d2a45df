"""Systems from descriptions that others wrote: URDF files and models of `sympy.physics.mechanics`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaplygin.codegen import importers
from chaplygin.codegen.declare.events import Event

from .system import System

Expression = Any


def from_urdf(
    path: str | Path,
    *,
    base: str | None = None,
    motors: bool = True,
    friction: str = "refuse",
    parameters: str = "numbers",
) -> System:
    """The mechanical system of a URDF file.

    Links become bodies with the masses and inertias of the file, in kg, m and rad; joints of the types revolute,
    continuous, prismatic, planar, floating and fixed become coordinates, named after the joint, with their rates as
    velocities (floating: quaternion and velocities in body axes, as of `chaplygin.joint.free`; planar: as of
    `chaplygin.joint.planar`, with any axis). Their damping acts. A joint that mimics another has no coordinate: its
    angle or travel is multiplier * q + offset, and its damping acts on q. A joint with nothing that has a mass behind
    it is fixed where its coordinate is zero. Weight acts along -z; the acceleration of gravity is the parameter `g`.
    Rotors of transmissions act by N^2 I on the rates of their joints. Meshes, collision shapes, limits and sensors are
    ignored. See docs/urdf.md.

    Parameters
    ----------
    path : the file.
    base : "fixed" stands the root link on the ground, as an arm on its table; "free" lets it float, as a walking or
        flying robot. Default: "fixed", with a warning if the root has a mass and is not named `world`.
    motors : give each joint of one coordinate an input `tau_<joint>`, its force in N or couple in N m.
    friction : "ignore" leaves dry friction of joints out; "refuse" raises an error where there is any.
    parameters : "symbolic" makes masses and inertias of links that move parameters, `m_<link>`, and `Ixx_<link>` to
        `Izz_<link>` in the axes of the file, whose figures are the example of the system; zeros stay. "numbers": the
        figures themselves.

    Characters of names that no identifier can hold become underscores. A name that cannot stand in code even so, such
    as `1st` or `switch`, is put behind what it names: `link_1st`, `joint_1st`, `robot_1st`.

    Warns
    -----
    RuntimeWarning : for a root that stands on the ground by default; joints that are fixed because they move no mass;
        links whose inertia no body has, as a principal moment is negative or larger than the sum of the two others:
        it is taken as it is; rotors that no single joint moves, which are left out.

    Raises
    ------
    DeclarationError : naming the link or joint, for a file that is not a URDF, a document type or an entity, a link
        that is missing, that two joints carry or that a cycle of joints carries, a negative mass, inertias that make
        the mass matrix indefinite, joints that mimic one another, a missing one or one of several coordinates, dry
        friction; and if nothing moves.
    OSError : if the file cannot be read.

    >>> from pathlib import Path
    >>> Path("pendulum.urdf").write_text('''<robot name="pendulum"> <link name="stand"/>
    ...   <link name="rod"> <inertial> <origin xyz="0 0 -0.5"/> <mass value="2"/>
    ...     <inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/> </inertial> </link>
    ...   <joint name="pin" type="continuous"> <parent link="stand"/> <child link="rod"/> <axis xyz="0 1 0"/> </joint>
    ... </robot>''') > 0
    True
    >>> from_urdf("pendulum.urdf")
    System('pendulum', coordinates=(pin), velocities=(pin_dot), parameters=(g))
    """
    return System._of(
        importers.robot(path, base=base, motors=motors, friction=friction, parameters=parameters)
    )


def from_sympy(
    model: Any,
    name: str,
    *,
    parameters: Mapping[Any, float] | None = None,
    example: Mapping[Any, float] | None = None,
    prescribed: Mapping[Expression, Expression] | None = None,
    states: Mapping[Expression, Expression] | None = None,
    names: Mapping[Any, str] | None = None,
    outputs: Mapping[str, Expression] | None = None,
    events: Sequence[Event] = (),
) -> Any:
    """A model of `sympy.physics.mechanics`: a `System`, or `Equations` of the form `given`.

    dynamicsymbols keep their names: coordinates q, generalised speeds as velocities with their kinematics, all others
    as inputs; other symbols become parameters. Expressions are taken as they are, and SymPy's own equations of motion
    are not formed.

    A model with bodies, or with a Lagrangian, gives a `System`, in every form that fits. `Equations` result where T
    does not give the equations: if it contains a velocity into which a constraint was substituted (that of the mass
    centre of a disk, written as its rolling makes it), Kane's equations are formed from the bodies. Also if a mass
    varies, or there are `states`; and if only M and f are known.

    An input f may be a motion that is prescribed: its derivatives are `rate(f)` and the rate of that, which follow from
    what a run is given for f.

    Parameters
    ----------
    model : a KanesMethod, LagrangesMethod, System or SymbolicSystem; or (M, f, kinematics) with M u' = f and
        kinematics {q: dq/dt}, followed by the speeds u if the kinematics do not show their order. M need not be
        symmetric. It may be [M | -A^T] as of a LagrangesMethod: its constraints are then A u = 0.
    name : a plain identifier, used in emitted code.
    parameters, example : numbers by symbol or by name; together the example of the `System`.
    prescribed : {f: expression in t} for dynamicsymbols that are neither coordinates nor speeds.
    states : {f: df/dt} for such dynamicsymbols with a first-order equation of their own, as activations of muscles
        (`dict(zip(muscle.x, muscle.rhs()))`) or currents of motors. The muscles of a `System` need not be named.
    names : {symbol: name} where SymPy's names cannot stand in code, such as lambda, or are used twice.

    outputs, events : as of `System`, in the symbols of the SymPy model: ``Event(q - 1, reset={u: -u})``.

    Auxiliary speeds are zero, and loads along them drop out. Holonomic constraints are kept as such if their rates are
    among the velocity constraints.

    Raises
    ------
    DeclarationError : for a model without bodies and equations, undetermined functions, names that C cannot have,
        and whatever `System` refuses; the place is named.

    Source: T. R. Kane, D. A. Levinson, Dynamics (1985); D. T. Greenwood, Advanced Dynamics (2003).

    >>> import sympy as sp
    >>> from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols
    >>> q, (m, g, l) = dynamicsymbols("q"), sp.symbols("m g l")
    >>> pendulum = LagrangesMethod(m * l**2 * q.diff() ** 2 / 2 + m * g * l * sp.cos(q), [q])
    >>> from_sympy(pendulum, "pendulum")
    System('pendulum', coordinates=(q), velocities=(q_dot), parameters=(g, l, m))
    """
    given = {"parameters": parameters, "example": example, "prescribed": prescribed, "states": states}
    found, form = importers.declared(model, name, {**given, "names": names, "outputs": outputs}, events)
    system = System._of(found)
    return system if form is None else system.equations(form)
