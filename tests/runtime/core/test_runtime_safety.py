"""Thousands of bad arguments, leaks, Ctrl-C, threads: nothing crashes, nothing is left behind."""

from __future__ import annotations

import gc
import os
import pickle
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from runtime_models import ctrl_c_after, model

import chaplygin as cg
from chaplygin.errors import BusyError
from chaplygin.runtime import ArgumentError, KernelError, MissingExtraError

NAMES = {"y": ("phi", "x", "y", "omega", "v"), "p": ("m", "a", "J"), "u": ("tau",)}
NOT_FINITE = (float("nan"), float("inf"), -float("inf"), np.float64("nan"), np.float32("inf"))
NOT_NUMBERS: tuple[Any, ...] = (
    None,
    "1",
    b"1",
    1j,
    object(),
    {},
    [[1.0]],
    np.zeros((2, 2)),
    np.datetime64("now"),
    ...,
    "nan",
)


def good(rng: random.Random, names: tuple[str, ...]) -> Any:
    values = [rng.uniform(0.5, 2.0) for _ in names]
    return rng.choice([values, tuple(values), np.array(values), dict(zip(names, values))])


def bad_vector(rng: random.Random, names: tuple[str, ...]) -> Any:
    """Something that is certainly not a vector of these names (nor no inputs at all, which are zeros)."""
    n = len(names)
    values: list[Any] = [rng.uniform(0.5, 2.0) for _ in names]
    wrong = rng.choice([k for k in range(9) if k != n])
    at = rng.randrange(n)
    kind = rng.randrange(11)
    if kind == 0:
        return rng.choice([list, tuple, np.array])([1.0] * wrong)
    if kind == 1:
        return np.ones(rng.choice([(n, 1, 1), (n + 1, n), (1, n, 2), ()]))
    if kind == 2:
        values[at] = rng.choice(NOT_FINITE)
        return rng.choice([values, tuple(values), np.array(values), dict(zip(names, values))])
    if kind == 3:
        values[at] = rng.choice(NOT_NUMBERS)
        return rng.choice([values, dict(zip(names, values))])
    if kind == 4:
        return {name: 1.0 for name in names if name != names[at]} or {"other": 1.0}
    if kind == 5:
        return dict(zip(names, values)) | {rng.choice(["z", "", 3, None, ("phi",), "phi "]): 1.0}
    if kind == 6:
        return np.array(values).astype(rng.choice(["complex128", "U8", "S8", "M8[s]", "m8[s]", "V8"]))
    if kind == 7:
        no_vector = ["".join(names), b"xx", 3, 2.5, None, True, object(), set(names), len, {1.0, 2.0}]
        if n == 1:  # inputs may be left out, and be a function
            no_vector = [value for value in no_vector if value is not None and value is not len]
        return rng.choice(no_vector)
    if kind == 8:
        return np.ma.array(values, mask=[i == at for i in range(n)])
    if kind == 9:
        return np.array([object()] * n, dtype=object)
    return np.array(values, dtype=[("a", "f8")])


def bad_time(rng: random.Random) -> Any:
    return rng.choice([*NOT_FINITE, None, "0", 1j, object(), {}, np.zeros((1, 1)), np.array("x")])


def bad_span(rng: random.Random) -> Any:
    return rng.choice(
        [None, 1, (0,), (0, 1, 2), (0, bad_time(rng)), (bad_time(rng), 1), "01", {0: 1}, object(), []]
    )


def bad_times(rng: random.Random) -> Any:
    choices = [
        [0.5, 0.25],
        [0.5, 0.5],
        [-1.0],
        [0.5, 1.5],
        [[0.5]],
        [np.nan],
        "0.5",
        [None],
        1j,
        {"t": 1},
        [0.5, np.inf],
    ]
    return rng.choice(choices)


def bad_input(rng: random.Random) -> Any:
    signal_ = rng.choice(
        [([0, 1], [1]), ([1, 0], [1, 2]), ([0, np.nan], [1, 2]), ([0, 1], [1, np.inf]), ([], []), (1,), (1, 2, 3, 4),
         ([0, 1], [1, 2], "spline"), ([0, 1], [1, 2], None), ([[0, 1]], [[1, 2]]), ("01", "12"), lambda: 1.0,
         lambda t, y: "x", lambda t, y: np.nan, lambda t, y: 1j, None, "0.1", np.nan]
    )  # fmt: skip
    return {"tau": signal_}


OPTIONS: dict[str, list[Any]] = {
    "method": ["euler", 3, b"rk4", "", "rk4\0", "dop853\0x", "\udc80", "DOP853", ["rk4"]],
    "rtol": [-1e-3, np.nan, np.inf, "x", None, [1e-3], 1j],
    "atol": [-1.0, np.nan, None, "x", [1e-9], np.ones(6), {"phi": 1e-9}, {"psi": 1e-9}, [-1.0] * 5],
    "max_step": [0.0, -1.0, np.nan, "x", None],
    "first_step": [0.0, -1.0, np.nan, np.inf, "x"],
    "step": [0.1, "x", np.nan, -1],
    "max_steps": [0, -1, 1.5, None, "9", 2**70, True, np.nan],
}


def attempt(rng: random.Random, m: Any, run: Any) -> Callable[[], Any]:
    """A call with one wrong argument."""
    y, p, u = (good(rng, NAMES[k]) for k in "ypu")
    spoilt = rng.choice("typu")
    t = bad_time(rng) if spoilt == "t" else rng.choice([0, 0.5, np.float64(1)])
    if spoilt != "t":
        value = bad_vector(rng, NAMES[spoilt])
        y, p, u = (value if spoilt == k else old for k, old in zip("ypu", (y, p, u)))
    which = rng.randrange(12)
    if which == 0:
        return lambda: m.rhs(t, y, p, u)
    if which == 1:
        return lambda: m.evaluate(t, y, p, u)
    if which == 2:
        return lambda: m.jacobian(t, y, p, u)
    if which == 3:
        return lambda: m.jvp(t, y, p, np.ones(5), u)
    if which == 4:
        return lambda: m.integrate((t, 2.0), y, p, u)
    if which == 5:
        return lambda: m.stepper(y, p, u, t0=t)
    y, p, u = (good(rng, NAMES[k]) for k in "ypu")
    if which == 6:
        span = bad_span(rng)
        return lambda: m.integrate(span, y, p, u)
    if which == 7:
        times = bad_times(rng)
        return lambda: m.integrate((0, 1), y, p, u, t_eval=times)
    if which == 8:
        control = bad_input(rng)
        return lambda: m.integrate((0, 1), y, p, control)
    if which == 9:
        control = bad_input(rng)

        def change() -> None:
            run.set_inputs(control)
            try:
                run.advance(run.t + 1e-3)
            finally:
                run.set_inputs(tau=0.0)

        return change
    name = rng.choice(list(OPTIONS))
    value = rng.choice(OPTIONS[name])
    if which == 10:
        return lambda: cg.ensemble(m, (0, 1), y, p, u, n=3, **{name: value})
    return rng.choice(
        [lambda: m.integrate((0, 1), y, p, u, **{name: value}), lambda: m.stepper(y, p, u, **{name: value})]
    )


def test_ten_thousand_bad_arguments() -> None:
    rng = random.Random(20)
    m = model("sleigh")
    run = m.stepper([0.0] * 5, [1.0, 0.2, 0.5], [0.0])
    missed = []
    for i in range(10_000):
        call = attempt(rng, m, run)
        try:
            call()
        except (ArgumentError, TypeError, KernelError) as error:
            # Python itself reports an input function with the wrong signature; a model may lack a kernel.
            text = str(error)
            if (
                not isinstance(error, ArgumentError)
                and "argument" not in text
                and "lacks a kernel" not in text
            ):
                missed.append((i, text))
            if not 10 < len(text) < 600:
                missed.append((i, text))
        else:
            missed.append((i, "no error"))
    assert not missed
    expected = model("sleigh").integrate((0, 3), [0, 0, 0, 1, 1], [1.0, 0.2, 0.5], [0.1]).y
    assert np.array_equal(m.integrate((0, 3), [0, 0, 0, 1, 1], [1.0, 0.2, 0.5], [0.1]).y, expected)


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_nothing_leaks() -> None:
    m = model("sleigh")
    y, p, u = np.array([0, 0, 0, 1.0, 1.0]), np.array([1.0, 0.2, 0.5]), np.array([0.1])
    initial, parameters = dict(zip(NAMES["y"], y.tolist())), dict(zip(NAMES["p"], p.tolist()))
    run = m.stepper(y, p, u)

    def once() -> None:
        m.rhs(0.0, y, p, u)
        m.rhs(0.0, initial, parameters, {"tau": 0.1})
        m.integrate((0.0, 1.0), initial, parameters, u, method="rk4", step=0.1)
        m.evaluate(0.0, initial, p, u)
        run.set_inputs(u)
        run.set_inputs(tau=0.2)
        run.set_state(initial)
        run.set_parameters(m=2.0)
        run.advance_by(0.01)
        assert run["omega"] != run.evaluate("energy") == run.evaluate()["energy"]
        assert (run.outputs, run.inputs.values[0]) == ({}, 0.2)

    def seldom() -> None:
        m.integrate((0, 2), y, p, {"tau": ([0, 1], [0.1, 0.2])}, dense_output=True, method="rk4", step=0.01)
        m.integrate((0, 1), y, p, {"tau": lambda t, y: 0.0})
        for bad in ({"tau": np.nan}, {"tau": lambda t, y: 1 / 0}):
            with pytest.raises((ArgumentError, ZeroDivisionError)):
                m.integrate((0, 1), y, p, bad)
        m.evaluate(0.0, np.array([y, y]).T, p, u)
        for ask in (lambda: run["tua"], lambda: run.set_inputs(tua=1), lambda: run.set_state(v="x")):
            with pytest.raises(ArgumentError):
                ask()
        run.restore(run.save())
        run.set_inputs(tau=([0.0], [1.0]))
        run.set_inputs(tau=0.1)
        cg.ensemble(m, (0, 1), y, p, u, n=3, threads=2)
        with pytest.raises(KernelError):
            m.jacobian(0.0, y, p, u)
        model("oscillator").stepper([1, 0], [1, 1], [0])

    def measure(repeat: int) -> tuple[int, int]:
        for i in range(repeat):
            once()
            if i % 200 == 0:
                seldom()
        gc.collect()
        return sys.getallocatedblocks(), resident()

    measure(2_000)
    counts = [sys.getrefcount(value) for value in (y, p, u, initial, parameters, m)]
    before = measure(1_000)
    after = measure(35_000)
    assert [sys.getrefcount(value) for value in (y, p, u, initial, parameters, m)] == counts
    assert after[0] - before[0] < 300
    assert after[1] - before[1] < 3_000_000


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("inputs", [{"tau": 0.3}, {"tau": lambda t, y: 0.3}])
def test_ctrl_c_ends_a_run(inputs: Any) -> None:
    """Either run would take days."""
    m = model("sleigh")
    with ctrl_c_after(0.3), pytest.raises(KeyboardInterrupt):
        m.integrate((0, 1e9), [0, 0, 0, 1, 1], [1, 0.2, 0.5], inputs, t_eval=[1e9], max_steps=10**15)
    run = m.stepper([0, 0, 0, 1, 1], [1, 0.2, 0.5], inputs)
    with ctrl_c_after(0.2), pytest.raises(KeyboardInterrupt):
        run.advance(1e9)
    assert 0 <= run.t < 1e9
    run.advance(run.t + 1.0)


def test_threads_share_a_model() -> None:
    m = model("sleigh")
    p = np.array([1.0, 0.2, 0.5])

    def work(seed: int) -> bytes:
        omega = 0.5 + seed % 4
        sol = m.integrate((0, 50), [0, 0, 0, omega, 1], p, {"tau": 0.1}, method=("rk4", "dop853")[seed % 2],
                          **({"step": 1e-3} if seed % 2 == 0 else {}))  # fmt: skip
        return sol.y.tobytes()

    alone = [work(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, list(range(4)) * 8))
    assert together == alone * 8


def test_a_stepper_refuses_to_be_used_while_it_advances() -> None:
    m = model("sleigh")
    box: list[Any] = []
    seen: list[str] = []

    def nosy(t: float, y: Any) -> float:
        for action in (
            lambda: box[0].advance(9.0),
            lambda: box[0].set_inputs(tau=1.0),
            lambda: box[0].save(),
        ):
            with pytest.raises(BusyError, match="this stepper is in use") as caught:
                action()
            seen.append(str(caught.value))
        return 0.0

    box.append(m.stepper([0, 0, 0, 1, 1], [1, 0.2, 0.5], {"tau": nosy}))
    box[0].advance(0.1)
    assert seen


@pytest.mark.parametrize(
    "options",
    [{"method": "rk4", "step": 0.01}, {"method": "dop853"}, {"method": "tsit5"}, {"method": "vern9"}],
)
def test_damaged_snapshots_never_crash(options: dict[str, Any]) -> None:
    """Every bit of the block's header, and bytes anywhere: refused by name, or a stepper that still works."""
    rng = random.Random(7)
    m = model("sleigh")
    run = m.stepper(
        [0, 0, 0, 1, 1], [1, 0.2, 0.5], {"tau": ([0, 1, 3], [0.1, -0.1, 0.2], "linear")}, **options
    )
    run.advance(1.5)
    snapshot = run.save()
    expected = run.advance(2.0)
    other = m.stepper([0.0] * 5, [1, 1, 1], [0.0], **options)
    flips = [(at, 1 << bit) for at in range(640) for bit in range(8)]
    flips += [(rng.randrange(len(snapshot.block)), rng.randrange(1, 256)) for _ in range(2000)]
    refused = []
    for at, mask in flips:
        block = bytearray(snapshot.block)
        block[at] ^= mask
        try:
            other.restore(replace(snapshot, block=bytes(block)))
            other.advance(other.t + 1e-9 * max(1.0, abs(other.t)))
        except ArgumentError as error:
            refused.append(str(error))
        except KernelError:
            pass
    assert len(refused) > 8 * 8 * 6  # x, x_old, x_trial, f, f_old and k are pointers
    assert all("damaged" in text or "not finite" in text for text in refused)
    other.restore(snapshot)
    assert np.array_equal(other.advance(2.0), expected)
    for wrong in ({"block": snapshot.block[:-1]}, {"block": "x"}, {"inputs": None}, {"inputs": (0.1,)}):
        with pytest.raises(ArgumentError, match="damaged"):
            other.restore(replace(snapshot, **wrong))  # type: ignore[arg-type]
    assert np.array_equal(other.y, expected)


def test_errors_survive_pickling() -> None:
    with pytest.raises(KernelError) as caught:
        model("runaway").stepper([1.0], [0.5]).advance(1.0)
    for error in (caught.value, MissingExtraError("Solution.plot", "matplotlib", "plot"), ArgumentError("x")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize(
    "options",
    [
        {"method": "rk4", "step": 0.1},
        *({"method": method} for method in ("dop853", "tsit5", "vern7", "vern9")),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_no_step_below_the_spacing_of_t(options: dict[str, Any], sign: int) -> None:
    """The doubles at 1e16 are 2 apart: a period of 3 cannot be resolved."""
    span = (sign * 1e16, sign * (1e16 + 100))
    sol = model("oscillator").integrate(span, [1.0, 0.0], [1.0, 4.0], [0.0], **options)
    assert sol.status == -3
    assert "spacing" in sol.message
    assert (np.diff(sol.t) != 0).all()
    assert len(sol.t) == 1
    slow = model("oscillator").integrate(
        span, [1.0, 0.0], [1.0, 1e-4], [0.0], **({**options, "step": 10.0} if "step" in options else options)
    )
    assert slow.success
    assert slow["q"] == pytest.approx(np.cos(0.01 * (slow.t - span[0])), abs=1e-6)


def test_tolerances_out_of_reach() -> None:
    m = model("oscillator")
    with pytest.warns(RuntimeWarning, match="rtol = 1e-20 is too small for float64; using 2.2e-14"):
        sol = m.integrate((0, 1), [1.0, 0.0], [1.0, 4.0], [0.0], rtol=1e-20, atol=1e-300)
    assert sol.status in (0, -3)
    assert sol["q"] == pytest.approx(np.cos(2 * sol.t), abs=1e-12)
    tight = m.integrate((0, 1), [1.0, 0.0], [1.0, 4.0], [0.0], method="dop853", rtol=0.0, atol=1e-300)
    assert tight.status == -3
    assert "tolerances that are too tight" in tight.message
    with pytest.warns(RuntimeWarning, match="rtol = 1e-20") as caught:
        assert cg.ensemble(m, (0, 1), [1.0, 0.0], [1.0, 4.0], [0.0], n=9, rtol=1e-20, chunk=1).success
    assert len(caught) == 1
