"""The C files of the runtime that run one trajectory of any model, for programs that compile them with a model."""

from __future__ import annotations

from pathlib import Path

INCLUDE = Path(__file__).resolve().parent / "c"
"""The folder of the headers."""

DRIVER = ("cg_block.c", "cg_bracket.c", "cg_driver.c", "cg_event_handling.c", "cg_events.c", "cg_locate.c",
          "cg_modes.c", "cg_record.c", "cg_status.c")  # fmt: skip
"""The files of `INCLUDE` to be compiled and linked: the integrators, events and contacts of `cg_driver.h` and
`cg_events.h`. They need the C library and its libm alone."""
