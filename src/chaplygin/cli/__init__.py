"""The command line: one command is run, and its errors are shown. Its arguments are in `parser`.

Only the standard library is imported here, so that `chaplygin --help` responds at once.

Exit codes: 0 success; 1 a failed run, or a problem found by `doctor`; 2 a mistake in the arguments (one line on stderr,
no traceback); 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from chaplygin.errors import ChaplyginError

from .parser import parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    >>> from chaplygin.cli import main
    >>> main(["emit", "no_such_system", "-o", "folder"])    # doctest: +SKIP
    2
    """
    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  stays open until the process ends
    parsed = parser().parse_args(arguments)
    module, _, function = parsed.command.partition(":")
    try:
        code: int = getattr(import_module(module, __package__), function)(parsed)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("chaplygin: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # e.g. `chaplygin list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if not _is_stdout(error):
            return _refused(parsed, error)
        print(f"chaplygin: error: cannot write the output: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        return _refused(parsed, error)


def _is_stdout(error: OSError) -> bool:
    """Whether an error came from writing to stdout, e.g. to a full disk: it has no file name."""
    return error.filename is None and error.errno in (errno.ENOSPC, errno.EIO, errno.EBADF)


def _refused(parsed: argparse.Namespace, error: Exception) -> int:
    """Print one line on stderr for an error that the user can correct; re-raise anything else."""
    if parsed.debug or not isinstance(error, (ChaplyginError, OSError)):
        raise error
    print(f"chaplygin: error: {_one_line(error)}", file=sys.stderr)
    return 2


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__
