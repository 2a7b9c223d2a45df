"""Run the benchmarks, write the table into bench/README.md and draw the diagrams: ``python bench/report.py``.

With pytest options (``-k heavy_top``, ``--quick``) the table is only printed, and the diagrams are not redrawn.

Every time is a median; ratios are relative to the row of the group marked 1, or to its first row, from the same run.
With ``--from FILE`` everything is made from an earlier ``pytest --benchmark-json=FILE``.
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

from plots import draw

_HERE = Path(__file__).resolve().parent
_README = _HERE / "README.md"
_BEGIN, _END = "<!-- table: begin -->", "<!-- table: end -->"
_EXTRA = ("operations", "bias_per_link", "memory")
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def main() -> int:
    """Measure, print the table, and insert it between the markers in the README."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="source", type=Path, help="JSON of an earlier run")
    arguments, rest = parser.parse_known_args()
    if arguments.source:
        found = json.loads(arguments.source.read_text())
        text = table(found)
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
            found = json.loads(result.read_text())
        text = table(found)
        if code or rest:
            print(text)
            print(f"\n{_README.name} was not changed: not every benchmark ran", file=sys.stderr)
            return code
    print(text)
    draw(found["benchmarks"], _HERE)
    readme = _README.read_text()
    before, _, after = readme.partition(_BEGIN)
    _README.write_text(f"{before}{_BEGIN}\n{text}\n{_END}{after.partition(_END)[2]}")
    return 0


def table(result: dict[str, Any]) -> str:
    """The Markdown of one run: the machine, the ratios with goals, then one table for each group."""
    lines = [
        "| | |",
        "|---|---|",
        *(f"| {key} | {value} |" for key, value in result["machine_info"].items()),
        "",
    ]
    groups: dict[str, list[dict[str, Any]]] = {}
    missing: dict[str, str] = {}
    for entry in result["benchmarks"]:
        missing.update(entry["extra_info"].get("missing", {}))
        if "diagram" not in entry["extra_info"]:
            groups.setdefault(entry["group"], []).append(entry)
    lines += _ratios(result["benchmarks"])
    for group, entries in groups.items():
        lines += [f"**{group}**", "", "| | median | ratio | error | |", "|---|---|---|---|---|"]
        rows = [row for entry in entries for row in _rows(entry)]
        base = next((row["time"] for row in rows if row["baseline"]), None)
        for row in rows:
            ratio = f"{row['time'] / base:.3g}" if base and not row.get("apart") else ""
            error = row["error"]
            shown = "" if error is None or math.isnan(error) else f"{error:.1e}"
            lines.append(f"| {row['row']} | {in_units(row['time'])} | {ratio} | {shown} | {row['note']} |")
        remarks = [entry["extra_info"]["remark"] for entry in entries if entry["extra_info"].get("remark")]
        lines += ["", *(f"({remark})" for remark in remarks), ""] if remarks else [""]
    lines += [f"Left out: {name} ({reason})." for name, reason in missing.items()]
    return "\n".join(lines).rstrip()


def _ratios(entries: list[dict[str, Any]]) -> list[str]:
    """The table of ratios from interleaved runs, by group."""
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        for ratio in entry["extra_info"].get("ratios", []):
            group = entry["group"].rpartition(": ")[2].partition(",")[0]
            found.setdefault(group, []).append(ratio)
    if not found:
        return []
    lines = [
        "**ratios, each from interleaved runs**",
        "",
        "| | | measured | goal | |",
        "|---|---|---|---|---|",
    ]
    for group, ratios in found.items():
        for ratio in ratios:
            goal, met = "", ""
            if ratio["goal"] is not None:
                goal = f"{'at most' if ratio['most'] else 'at least'} {ratio['goal']:g}"
                met = "met" if ratio["met"] else "missed"
            lines.append(f"| {group} | {ratio['what']} | {ratio['value']:.3g} | {goal} | {met} |")
    return [*lines, ""]


def _rows(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of one benchmark: its own, or those of its interleaved runs."""
    info = entry["extra_info"]
    if "rows" in info:
        return [{**row, "baseline": i == 0} for i, row in enumerate(info["rows"])]
    note = ", ".join(f"{key.replace('_', ' ')} {info[key]}" for key in _EXTRA if key in info)
    return [
        {
            "row": info["row"],
            "time": seconds(entry),
            "error": info.get("error"),
            "note": note.replace("memory ", ""),
            "baseline": info["baseline"],
        }
    ]


def seconds(row: dict[str, Any]) -> float:
    """The median time of one row; a row measured inside another process supplies its own times."""
    info = row["extra_info"]
    inner = info.get("inner")
    return (median(inner) if inner else row["stats"]["median"]) / info["per"]


def in_units(value: float) -> str:
    """Format a time with three digits and a suitable unit."""
    scale, unit = next((pair for pair in _UNITS if value >= pair[0]), _UNITS[-1])
    return f"{value / scale:.3g} {unit}"


if __name__ == "__main__":
    sys.exit(main())
