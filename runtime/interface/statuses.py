"""The status codes of a compiled model, as `chaplygin.h` lists them, and the errors that they become."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from chaplygin.errors import BusyError, KernelError


def _rows() -> Iterator[tuple[str, int, str]]:
    """The name, the value and the text of each status in `CG_STATUSES` of ``chaplygin.h``."""
    with open(os.path.join(os.path.dirname(__file__), "..", "c", "chaplygin.h"), encoding="utf-8") as file:
        header = file.read()
    for row in header.partition("#define CG_STATUSES(X)")[2].partition("\n\n")[0].split("X(CG_")[1:]:
        name, code, text = row.split(",", 2)
        yield name, int(code), "".join(text.split('"')[1::2]).encode().decode("unicode_escape")


_ROWS = list(_rows())
CODES = {name: code for name, code, _ in _ROWS}
STATUS_NAMES = {code: name.lower().replace("_", " ") for name, code in CODES.items()}
"""Short names of the status codes; negative codes are errors."""
STATUS_TEXTS = {code: text for _, code, text in _ROWS}
"""What the status codes mean, in the words of `cg_status_text`."""

(OK, SINGULAR, NONFINITE, STEP_TOO_SMALL, TOO_MANY_STEPS, INTERRUPTED, INPUT_FAILED, UNSUPPORTED, ACCUMULATING,
 RANK_CHANGED, UNCLOSED) = (CODES[name] for name in (
    "OK SINGULAR NONFINITE STEP_TOO_SMALL TOO_MANY_STEPS INTERRUPTED INPUT_FAILED UNSUPPORTED ACCUMULATING "
    "RANK_CHANGED UNCLOSED").split())  # fmt: skip
"""Those that Python code sets or checks itself."""

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

LEAVES = "leaves the table"
"""In the descriptions of kinks at which a table ends that has no values outside."""


def undetermined(model: Any) -> str:
    """What is wrong where the pivot of a model is zero."""
    kept = [s for s in model.states[model.n_coordinates :] if s != "t"]
    return f"the velocities kept as states ({', '.join(kept)}) do not determine the others"


def _meaning(status: int, model: Any) -> str:
    text = STATUS_TEXTS.get(status, f"status {status}")
    if model is None:
        return text
    if status == SINGULAR and PIVOT in model._entries:
        text = f"{undetermined(model)}, or the mass matrix is singular (a pivot fell below its threshold); {CHOOSE}"
    left = [kink for kink in model._kink_texts if LEAVES in kink]
    if left and status in (NONFINITE, STEP_TOO_SMALL):
        text += f"; so it is where {' or '.join(left)}"
    return ("" if model.independent == "t" else _AT_A_BRANCH.get(status, "")) + text


def message_of(status: int, t: float, model: Any = None, record: Any = None) -> str:
    """How a run of a model ended, and when; its record of events may know more than the status.

    >>> message_of(-4, 2.5)
    'stopped at t = 2.5: the limit on the number of steps was reached; raise max_steps or loosen rtol and atol'
    """
    if status == 0:
        return f"reached the end of the interval, t = {t:.17g}"
    why = None if record is None else record.why(status)
    return f"stopped at t = {t:.17g}: {_meaning(status, model) if why is None else why}"


def accumulating(event: str) -> str:
    """The text of a run that ends where an event accumulates, with its name."""
    return STATUS_TEXTS[ACCUMULATING].replace("events accumulate", f"events accumulate ({event})", 1)


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
