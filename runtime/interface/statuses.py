"""The status codes of a compiled model: their names and messages, and the errors that they become."""

from __future__ import annotations

from typing import Any

from chaplygin.errors import BusyError, KernelError

OK, SINGULAR, NONFINITE, STEP_TOO_SMALL, TOO_MANY_STEPS, INTERRUPTED = 0, -1, -2, -3, -4, -5
INPUT_FAILED, UNSUPPORTED, ACCUMULATING, RANK_CHANGED, UNCLOSED = -6, -8, -9, -13, -14
"""Status codes of ``chaplygin.h`` that Python code sets or checks itself."""

STATUS_NAMES: dict[int, str] = {
    OK: "ok",
    1: "terminal event",
    SINGULAR: "singular",
    NONFINITE: "not finite",
    STEP_TOO_SMALL: "step too small",
    TOO_MANY_STEPS: "too many steps",
    INTERRUPTED: "interrupted",
    -6: "input failed",
    -7: "bad argument",
    UNSUPPORTED: "unsupported",
    ACCUMULATING: "accumulating events",
    -10: "paradox",
    -11: "too many modes",
    -12: "tangent event",
    RANK_CHANGED: "rank changed",
    UNCLOSED: "unclosed",
    -15: "order matters",
}
"""Short names of the status codes; negative codes are errors."""

_MESSAGES: dict[int, str] = {
    1: "a terminal event occurred",
    -1: "the mass matrix or the constraints are singular (a pivot fell below its threshold)",
    -2: "a state or its rate is not finite",
    -3: "the step size fell below a few times the spacing of float64 numbers at t; the cause is a singularity, "
    "tolerances that are too tight, or a step or max_step too short for so large a time",
    -4: "the limit on the number of steps was reached; raise max_steps or loosen rtol and atol",
    -5: "the run was interrupted",
    -6: "an input function failed or returned a value that is not finite",
    -7: "the integrator rejected an argument",
    -8: "the model lacks a kernel that the run needs",
    ACCUMULATING: "events accumulate: they follow one another at ever shorter intervals, or a reset leaves the motion "
    "where it goes straight back; let the event end the run (terminal=True), and go on with a model of the rest",
    -10: "Painlevé's paradox: no contact mode satisfies the equations, or more than one does",
    -11: "there are too many contact modes to try them all",
    -12: "the motion meets an event or a change of contact modes tangentially, where sensitivities do not exist",
    -15: "several things happen at one instant, in an order that matters: there sensitivities do not exist",
    RANK_CHANGED: "the rank of the constraints changed: the loops are in a singular position, where constraints depend "
    "on others and several motions may go on",
    UNCLOSED: (
        "the end of a step cannot be brought back onto the constraints; tighten rtol and atol, unless the "
        "constraints contradict each other there, or a reset leaves them"
    ),
}

_AT_A_BRANCH: dict[int, str] = {
    SINGULAR: "the branch ends, where the velocity of the leading coordinate vanishes, or ",
    NONFINITE: "the branch has ended, where the velocity of the leading coordinate vanishes, or ",
    STEP_TOO_SMALL: "the branch ends, where the velocity of the leading coordinate vanishes, or ",
    TOO_MANY_STEPS: "the branch may end here, where the velocity of the leading coordinate vanishes, or ",
}
"""Additional meanings of a status where a coordinate is the independent variable."""


PIVOT = "pivot"
"""The kernel of models whose velocities kept as states do not determine the others everywhere."""
CHOOSE = (
    "keep others by independent=[...] of the form or kept=[...] of the System, declare velocities in the axes of the "
    "body, or use the form 'multipliers'"
)


def undetermined(model: Any) -> str:
    """What is wrong where the pivot of a model is zero."""
    kept = [s for s in model.states[model.n_coordinates :] if s != "t"]
    return f"the velocities kept as states ({', '.join(kept)}) do not determine the others"


def _meaning(status: int, model: Any) -> str:
    text = _MESSAGES.get(status, f"status {status}")
    if model is None:
        return text
    if status == SINGULAR and PIVOT in model._entries:
        text = f"{undetermined(model)}, or the mass matrix is singular (a pivot fell below its threshold); {CHOOSE}"
    return ("" if model.independent == "t" else _AT_A_BRANCH.get(status, "")) + text


def message_of(status: int, t: float, model: Any = None, found: object = None) -> str:
    """How a run of a model ended, and when; `found` replaces the status's text.

    >>> message_of(-4, 2.5)
    'stopped at t = 2.5: the limit on the number of steps was reached; raise max_steps or loosen rtol and atol'
    """
    if status == 0:
        return f"reached the end of the interval, t = {t:.17g}"
    return f"stopped at t = {t:.17g}: {_meaning(status, model) if found is None else found}"


def accumulating(event: str) -> str:
    """The text of a run that ends where an event accumulates, with its name."""
    return _MESSAGES[ACCUMULATING].replace("events accumulate", f"events accumulate ({event})", 1)


def busy(what: str) -> BusyError:
    """The error for a call that comes while another one is under way."""
    return BusyError(
        f"this {what} is in use: a call from another thread, a signal handler or an input function has to wait until "
        "the one under way has ended"
    )


def kernel_failed(model: Any, kernel: str, status: int, t: float, column: int) -> KernelError:
    """The error for a kernel of a model that returned `status` at time `t` (in column `column` if >= 0)."""
    where = f"t = {t:.17g}" if column < 0 else f"t = {t:.17g}, column {column}"
    return KernelError(f"{model.name}.{kernel} at {where}: {_meaning(status, model)}", status)
