"""Run the benchmarks and write the table into bench/README.md: ``python bench/report.py``.

With options of pytest (``-k heavy_top``) the table is only printed.

Every time is a median; ratios divide by the row marked with 1 in its group, measured in the same run. With
``--from FILE`` the table is made from an earlier ``pytest --benchmark-json=FILE``.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

_HERE = Path(__file__).resolve().parent
_README = _HERE / "README.md"
_BEGIN, _END = "<!-- table: begin -->", "<!-- table: end -->"
_EXTRA = ("operations", "bias_per_link", "ours_to_this_by_turns")
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def main() -> int:
    """Measure, print the table, and put it between the marks in the README."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="source", type=Path, help="JSON of an earlier run")
    arguments, rest = parser.parse_known_args()
    if arguments.source:
        text = table(json.loads(arguments.source.read_text()))
    else:
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result.json"
            command = [
                sys.executable,
                "-m",
                "pytest",
                str(_HERE),
                "--benchmark-only",
                f"--benchmark-json={result}",
            ]
            code = subprocess.run([*command, "-m", "", "-q", *rest], check=False).returncode
            if not result.exists() or not result.read_text():
                return code or 1
            text = table(json.loads(result.read_text()))
        if code or rest:
            print(text)
            print(f"\n{_README.name} is left as it was: not every benchmark ran", file=sys.stderr)
            return code
    print(text)
    readme = _README.read_text()
    before, _, after = readme.partition(_BEGIN)
    _README.write_text(f"{before}{_BEGIN}\n{text}\n{_END}{after.partition(_END)[2]}")
    return 0


def table(result: dict[str, Any]) -> str:
    """The Markdown of one run: the machine, then one table for each group."""
    lines = [
        "| | |",
        "|---|---|",
        *(f"| {key} | {value} |" for key, value in result["machine_info"].items()),
        "",
    ]
    groups: dict[str, list[dict[str, Any]]] = {}
    for entry in result["benchmarks"]:
        groups.setdefault(entry["group"], []).append(entry)
    for group, rows in groups.items():
        base = next((seconds(row) for row in rows if row["extra_info"]["baseline"]), None)
        lines += [f"**{group}**", "", "| | median | ratio | error | |", "|---|---|---|---|---|"]
        for row in rows:
            info = row["extra_info"]
            ratio = f"{seconds(row) / base:.3g}" if base else ""
            error = info.get("error", math.nan)
            shown = "" if error is None or math.isnan(error) else f"{error:.1e}"
            extra = ", ".join(f"{key.replace('_', ' ')} {info[key]}" for key in _EXTRA if key in info)
            lines.append(f"| {info['row']} | {in_units(seconds(row))} | {ratio} | {shown} | {extra} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def seconds(row: dict[str, Any]) -> float:
    """The median time of one row; a row measured inside another process brings its own times."""
    info = row["extra_info"]
    inner = info.get("inner")
    return (median(inner) if inner else row["stats"]["median"]) / info["per"]


def in_units(value: float) -> str:
    """Three digits with the unit that fits."""
    scale, unit = next((pair for pair in _UNITS if value >= pair[0]), _UNITS[-1])
    return f"{value / scale:.3g} {unit}"


if __name__ == "__main__":
    sys.exit(main())
