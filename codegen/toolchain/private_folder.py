"""The folder from which compiled code is loaded: no other user must be able to put code into it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chaplygin._lazy import later
from chaplygin.errors import CacheError

grp, pwd = later("grp"), later("pwd")  # not on Windows

_ADVICE = "set CHAPLYGIN_CACHE to a folder you own"
_WORDS = {
    errno.ENOSPC: ("the disk is full", "free some space, or set CHAPLYGIN_CACHE to a folder on another disk"),
    errno.EDQUOT: (
        "your disk quota is exceeded",
        "free some space, or set CHAPLYGIN_CACHE to another folder",
    ),
    errno.ENAMETOOLONG: ("a file name is too long", "give the system a shorter name"),
}


class UnwritableFolder(CacheError):
    """The folder cannot be created or written, as in a read-only home."""


def private_folder(folder: Path) -> Path:
    """The folder with symbolic links resolved; it and its missing parents are created with mode 0700.

    The rules are those of OpenSSH for key files: the folder must belong to this user and be writable by no other; each
    parent up to the home directory (or the root) must belong to this user or root and be writable by no other, unless
    it is sticky like /tmp, where nobody can rename another user's files. A parent may be writable by the user's
    private group, which has the user's name and no other member.

    Raises CacheError.
    """
    shown = repr(str(folder)) if not str(folder).isprintable() else str(folder)
    try:
        real = Path(os.path.realpath(folder))
        for missing in reversed([place for place in (real, *real.parents) if not os.path.lexists(place)]):
            with suppress(FileExistsError):  # made by another process
                missing.mkdir(mode=0o700)
        found = real.stat()
    except OSError as error:
        raise UnwritableFolder(
            f"cache folder {shown}: cannot be created ({error.strerror}); {_ADVICE}"
        ) from None
    except ValueError as error:  # a NUL
        raise CacheError(f"cache folder {shown}: is not a path ({error}); {_ADVICE}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise CacheError(f"cache folder {shown}: is not a folder; set CHAPLYGIN_CACHE to a folder you own")
    if not hasattr(os, "geteuid"):
        return real
    me = os.geteuid()
    if found.st_uid != me:
        raise CacheError(f"cache folder {shown}: belongs to user {found.st_uid}; {_ADVICE}")
    if found.st_mode & 0o022:
        raise CacheError(
            f"cache folder {shown}: others can write to it (mode {stat.S_IMODE(found.st_mode):04o}); "
            f"correct it with: chmod 700 '{real}'"
        )
    for parent in _parents(real):
        found = parent.stat()
        if found.st_uid not in (0, me):
            raise CacheError(
                f"cache folder {shown}: {parent}, which contains it, belongs to user {found.st_uid}, who could "
                f"replace it; {_ADVICE}"
            )
        if _writable_by_others(found) and not found.st_mode & stat.S_ISVTX:
            raise CacheError(
                f"cache folder {shown}: others can write to {parent}, which contains it (mode "
                f"{stat.S_IMODE(found.st_mode):04o}), and could replace it; correct that with: chmod go-w '{parent}', "
                f"or {_ADVICE}"
            )
    return real


def _parents(folder: Path) -> Iterator[Path]:
    """The parents up to the user's home directory, or up to the root, which is not among them."""
    home = os.path.realpath(os.path.expanduser("~"))
    for parent in folder.parents:
        if parent == parent.parent:
            return
        yield parent
        if str(parent) == home:
            return


def _writable_by_others(found: os.stat_result) -> bool:
    return bool(found.st_mode & 0o002 or (found.st_mode & 0o020 and not _own_group(found.st_gid)))


def _own_group(group: int) -> bool:
    """Whether a group is this user's private group, which many systems create and allow to write."""
    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user.pw_name and user.pw_gid == group and set(found.gr_mem) <= {user.pw_name}


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn disk errors inside the block into a CacheError with a plain explanation."""
    try:
        yield
    except CacheError:
        raise
    except (OSError, NotImplementedError) as error:  # the latter where the file system has no locks
        number = error.errno if isinstance(error, OSError) else None
        default = (
            (isinstance(error, OSError) and error.strerror) or str(error),
            f"{_ADVICE} on a local disk",
        )
        words, advice = _WORDS.get(number or 0, default)
        raise CacheError(f"cache folder {folder}: cannot be written ({words}); {advice}") from error
