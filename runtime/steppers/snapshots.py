"""Snapshots of steppers, which outlive their process."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from chaplygin.errors import ArgumentError

from ..interface.messages import written
from ..problem.inputs import Inputs


class Sealed:
    """Base of snapshots, which outlive their process in files: a checksum of their content shows damage.

    `layout` are the numbers of the C structs that are copied into it, see `core.LAYOUT`.
    """

    seal: int | None
    layout: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.seal is None:
            object.__setattr__(self, "seal", self._checksum())

    def _checksum(self) -> int:
        raise NotImplementedError

    def check(self) -> None:
        """Raise `ArgumentError` if anything has changed since this was saved."""
        try:
            whole = type(self.seal) is int and self.seal == self._checksum()
        except (TypeError, ValueError, AttributeError, LookupError, BufferError):  # of entries of other types
            whole = False  # not of other errors: a signal handler may raise its own in here
        if not whole:
            raise ArgumentError("the snapshot is damaged: it is not what was saved")

    def check_layout(self, layout: tuple[int, ...]) -> None:
        """Raise `ArgumentError` if the memory that was copied had other contents than that of this build."""
        if self.layout != layout:
            raise ArgumentError(
                "the snapshot was saved by another version of chaplygin; its runs have other contents"
            )


@dataclass(frozen=True)
class Snapshot(Sealed):
    """The complete state of a stepper at `t`: state, step control, counters, inputs. Created by `Stepper.save`."""

    t: float
    model: str
    digest: str
    method: str
    inputs: Inputs
    block: bytes
    sensitivities: tuple[str, ...] = ()
    layout: tuple[int, ...] = ()
    seal: int | None = None

    def _checksum(self) -> int:
        plain = self.t, self.model, self.digest, self.method, self.sensitivities, *self.layout
        return zlib.crc32(self.block, self.inputs.checksum(zlib.crc32(written(plain).encode())))


def check_snapshot(kind: type[Sealed], snapshot: object, run: Any, layout: tuple[int, ...]) -> None:
    """Reject anything that was not saved by a run of that kind, of its model and method, with its sensitivities."""
    if not isinstance(snapshot, kind):
        raise ArgumentError(f"restore needs a snapshot returned by save, not {type(snapshot).__name__}")
    saved: Any = snapshot
    saved.check()
    if (saved.model, saved.digest, saved.method) != (run.model.name, run.model.digest, run.method):
        raise ArgumentError("the snapshot belongs to another model or method")
    saved.check_layout(layout)
    if saved.sensitivities != run._varied:
        raise ArgumentError(
            f"the snapshot has sensitivities by {', '.join(saved.sensitivities) or 'nothing'}, and this run by "
            f"{', '.join(run._varied) or 'nothing'}"
        )
