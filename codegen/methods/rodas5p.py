"""Rodas5P, a stiffly accurate, L-stable Rosenbrock method of order 5 with 8 stages and an interpolant of order 4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .pair import Control

Row = Sequence[float]


@dataclass(frozen=True)
class Rosenbrock:
    """A stiffly accurate Rosenbrock method for dx/dt = f(t, x), with the Jacobian J, and its interpolant.

    In the variables that avoid products with J (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd
    ed., Springer 1996, section IV.7, equation (7.25)) stage s of a step from t to t + h is the solution k_s of

        (I - gamma h J) k_s = gamma h (f(t + c[s] h, x + sum_j a[s][j] k_j) + h d[s] df/dt)
                              + gamma sum_j coupling[s][j] k_j.

    The last two stages have the last row of `a` with one and two ones appended, and the step ends at the point of the
    last stage plus that stage, which is also the difference from the embedded method.

    With r_m = sum_j dense[m][j] k_j the interpolant is
    (1 - theta) x(t) + theta (x(t + h) + (1 - theta) (r_0 + theta (r_1 + theta r_2))).
    """

    name: str
    source: str
    order: int
    gamma: float
    c: Row
    d: Row
    a: Sequence[Row]
    coupling: Sequence[Row]
    dense: Sequence[Row]
    control: Control

    @property
    def rows(self) -> list[list[float]]:
        """The rows of `a` for all stages, padded with zeros to a square matrix."""
        last = self.a[-1]
        return [self.padded(row) for row in (*self.a, (*last, 1.0), (*last, 1.0, 1.0))]

    def padded(self, row: Row) -> list[float]:
        """The numbers of all stages from a row without its last zeros."""
        return [*map(float, row), *[0.0] * (len(self.c) - len(row))]


# The figures are those of the author's implementation in OrdinaryDiffEq.jl.
# fmt: off
RODAS5P = Rosenbrock(
    name="rodas5p",
    source=(
        "G. Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia "
        "Differential Equations package, BIT Numerical Mathematics 63 (2023) 27"
    ),
    order=5,
    gamma=0.21193756319429014,
    c=(0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1, 1, 1),
    d=(0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069),
    a=(
        (),
        (3,),
        (2.849394379747939, 0.45842242204463923),
        (-6.954028509809101, 2.489845061869568, -10.358996098473584),
        (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
        (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946),
    ),
    coupling=(
        (),
        (-14.155112264123755,),
        (-17.97296035885952, -2.859693295451294),
        (147.12150275711716, -1.41221402718213, 71.68940251302358),
        (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
        (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
        (30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
         -28.087943162872662),
        (37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
         -54.66780262877968, -9.48861652309627),
    ),
    dense=(
        (25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
         1.1241088310450404, 0.4272876194431874, -0.17202221070155493),
        (-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
         15.98066361424651, -6.789040303419874, -6.710236069923372),
        (11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
         -59.78993625266729, -0.15582684282751913, 4.883087185713722),
    ),
    control=Control(0.2, 0.0, grow=6.0),
)
