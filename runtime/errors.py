"""Exceptions of the package, and the meaning of the status codes of a compiled model.

Every chaplygin error derives from `ChaplyginError` and from the corresponding built-in exception, so that
``except ValueError`` works.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any


class ChaplyginError(Exception):
    """Base class of every error that this package raises on purpose."""


class ArgumentError(ChaplyginError, ValueError):
    """An argument is missing, unknown, of the wrong shape or type, unordered, or not finite."""


class UnknownSystemError(ArgumentError, KeyError):
    """The catalogue has no system of this name. The message names those that it has."""

    __str__ = Exception.__str__  # a KeyError shows the repr of its message


class KernelError(ChaplyginError, ArithmeticError):
    """A kernel of a model returned an error, e.g. a singular mass matrix.

    `status` is the code of ``chaplygin.h``.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.status)


class BusyError(ChaplyginError, RuntimeError):
    """A stepper, a batch or an environment was called while another call of it was under way.

    It belongs to one thread at a time; the other call may also come from a signal handler or an input function.
    """


class LoadError(ChaplyginError, ImportError):
    """A compiled model cannot be loaded: not a model, another ABI version, or built for another Python."""


class CoreMissingError(LoadError):
    """The compiled part of the runtime was not built, so compiled models cannot run."""


class DeclarationError(ChaplyginError, ValueError):
    """A declaration is wrong: the message names the entry and says how to correct it."""


class FormError(ChaplyginError, ValueError):
    """A form does not fit a system: the message names the hypothesis that fails and mostly a form that fits."""


class CacheError(ChaplyginError, PermissionError):
    """The cache folder cannot be used: not a folder, writable by others, on a full disk, or not a valid path."""


class BuildError(ChaplyginError, RuntimeError):
    """A model could not be compiled. The message is one line; it names the file with the full log."""

    def __init__(self, message: str, log: Path | None = None) -> None:
        super().__init__(message)
        self.log = log


class NoCompilerError(BuildError):
    """No C compiler was found. The message says how to get one."""


class EmitError(ChaplyginError, OSError):
    """The emitted files cannot be written: another file is in the way, or writing to the disk failed."""


class RangeError(ChaplyginError, OverflowError):
    """A constant of the equations is larger than the largest double, 1.8e308."""


class MissingExtraError(ChaplyginError, ImportError):
    """An optional dependency is missing. The message names the extra that installs it."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs {package}, which is not installed: pip install 'chaplygin[{extra}]' "
            f"(or pip install {package})"
        )
        self.what = what
        self.package = package
        self.extra = extra

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.package, self.extra)


def optional(module: str, what: str, extra: str) -> Any:
    """A module of an optional dependency, imported now; raises `MissingExtraError` for `what` if it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(what, module.partition(".")[0], extra) from error


class ConsistencyWarning(RuntimeWarning):
    """A run starts slightly off its constraints, or on another level of an invariant of the kinematics."""


class BranchWarning(UserWarning):
    """A branch of a declaration (`Piecewise`, `Max`, `Abs` ...) could not be reached and was not examined."""


class SizeWarning(UserWarning):
    """Equations are so long that emitting and compiling them takes a minute or more."""


class CacheWarning(UserWarning):
    """Compiled models are not kept, since the user's cache folder cannot be written."""


class PurePythonWarning(RuntimeWarning):
    """A pure-Python model runs instead of a compiled one."""


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


def _meaning(status: int, independent: str) -> str:
    more = "" if independent == "t" else _AT_A_BRANCH.get(status, "")
    return more + _MESSAGES.get(status, f"status {status}")


def message_of(status: int, t: float, independent: str = "t", found: object = None) -> str:
    """How a run ended, and when; `independent` names the independent variable, `found` replaces the status's text.

    >>> message_of(-4, 2.5)
    'stopped at t = 2.5: the limit on the number of steps was reached; raise max_steps or loosen rtol and atol'
    """
    if status == 0:
        return f"reached the end of the interval, t = {t:.17g}"
    return f"stopped at t = {t:.17g}: {_meaning(status, independent) if found is None else found}"


def accumulating(event: str) -> str:
    """The text of a run that ends where an event accumulates, with its name."""
    return _MESSAGES[ACCUMULATING].replace("events accumulate", f"events accumulate ({event})", 1)


def busy(what: str) -> BusyError:
    """The error for a call that comes while another one is under way."""
    return BusyError(
        f"this {what} is in use: a call from another thread, a signal handler or an input function has to wait until "
        "the one under way has ended"
    )


def kernel_failed(
    model: str, independent: str, kernel: str, status: int, t: float, column: int
) -> KernelError:
    """The error for a kernel that returned `status` at time `t` (in column `column` if >= 0)."""
    where = f"t = {t:.17g}" if column < 0 else f"t = {t:.17g}, column {column}"
    return KernelError(f"{model}.{kernel} at {where}: {_meaning(status, independent)}", status)
