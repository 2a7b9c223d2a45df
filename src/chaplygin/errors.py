"""Exceptions and warnings of the package.

Every chaplygin error derives from `ChaplyginError` and from the corresponding built-in exception, so that
``except ValueError`` works.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


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


def warn_caller(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Issue a warning at the line that called the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def _is_inside(module: str) -> bool:
    """Whether a frame belongs to the package, or to what calls its functions for it."""
    return module.partition(".")[0] in ("chaplygin", "collections", "contextlib", "functools", "scipy")


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
