"""Tsit5, an explicit Runge-Kutta pair of order 5(4) whose error estimate uses the derivative at the end of the step.

The paper prints 16 digits; these are the doubles nearest to 36-digit coefficients that satisfy the order conditions to
1e-34. The interpolant is that of the paper, of order 4, without extra stages; its weights, published as polynomials in
powers of theta, were converted to the form of `Pair` in rational numbers.
"""

from ..pair import Control, Pair

# fmt: off
PAIR = Pair(
    name="tsit5",
    summary="order 5, for loose tolerances",
    source=(
        "Ch. Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption, "
        "Computers & Mathematics with Applications 62 (2011) 770-775"
    ),
    order=5,
    c=(0, 0.161, 0.327, 0.9, 0.9800255409045097, 1),
    a=(
        (),
        (0.161,),
        (-0.008480655492356989, 0.335480655492357),
        (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
        (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
        (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383),
    ),
    b=(0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774),
    error={
        4: (-0.0017800110522257714, -0.0008164344596567469, 0.007880878010261995, -0.1447110071732629,
            0.5823571654525552, -0.45808210592918697, 0.015151515151515152),
    },
    dense=(
        (-1.0530884977290216, 0.1017, 2.490627285651253, -16.548102889244902, 47.37952196281928, -34.87065786149661,
         2.5),
    ),
    dense_order=4,
    control=Control(0.14, 0.08),
    inlined=False,
)
