"""Run the benchmarks, write bench/RESULTS.md and the summary in bench/README.md, and draw the diagrams.

With pytest options (``-k heavy_top``, ``--quick``) the tables are only printed, and the diagrams are not redrawn.

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

from plots import draw, speeds

_HERE = Path(__file__).resolve().parent
_SYSTEMS = {"chaplygin_sleigh": "sleigh", "heavy_top": "heavy top", "n_link_pendulum_5": "five links"}
_SUMMARY = (
    ("single run: speed relative to numbalsoda's dop853", "single run, time relative to numbalsoda"),
    ("single run: speed relative to heyoka at equal error", "single run, time relative to heyoka"),
    ("ensemble: speed relative to heyoka at equal error, one core", "speedup over heyoka's batch loop"),
    ("ensemble: speed relative to numbalsoda's dop853, two cores", "speedup over numbalsoda's dop853"),
    ("ensemble: speed relative to SciPy's LSODA with lambdify, one core", "speedup over SciPy's LSODA"),
    ("ensemble: 8 lanes, speed relative to one", "8 lanes, speedup"),
    ("ensemble: two threads, speed relative to one", "2 threads, speedup"),
    ("right-hand side over 8 lanes: share of the FMA peak", "share of the FMA peak"),
)
"""The rows of the summary, and how the name of the ratio begins; a relative time is shown as its inverse."""
_EXTRA = ("operations", "bias_per_link", "memory")
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def main() -> int:
    """Measure, print the tables, and insert them into the pages."""
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
                f"--benchmark-json={result}",
            ]
            code = subprocess.run([*command, "-q", *rest], check=False).returncode
            if not result.exists() or not result.read_text():
                return code or 1
            found = json.loads(result.read_text())
        text = table(found)
        if code or rest:
            print(text)
            print("\nThe pages were not changed: not every benchmark ran", file=sys.stderr)
            return code
    print(text)
    draw(found["benchmarks"], _HERE)
    _insert("RESULTS.md", "table", text)
    kept = summary(found)
    (_HERE / "summary.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    speeds(kept, _HERE / "speeds.png")
    _insert("README.md", "summary", front(kept))
    return 0


def _insert(page: str, mark: str, text: str) -> None:
    """Replace what is between the marks of a page."""
    path, begin, end = _HERE / page, f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    before, _, rest = path.read_text().partition(begin)
    path.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}")


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """The main ratios of each system, and the machine: what summary.json keeps."""
    found = _ratios(result["benchmarks"])
    rows: dict[str, list[float]] = {}
    for row, what in _SUMMARY:
        rows[row] = []
        for system in _SYSTEMS:
            value = next((r["value"] for r in found.get(system, ()) if r["what"].startswith(what)), math.nan)
            rows[row].append(float(_three_digits(1 / value if "time relative" in what else value)))
    return {"machine": result["machine_info"], "systems": list(_SYSTEMS.values()), "rows": rows}


def front(kept: dict[str, Any]) -> str:
    """The table of a summary, and its machine."""
    machine, systems = kept["machine"], kept["systems"]
    lines = [f"| | {' | '.join(systems)} |", f"|---|{'---|' * len(systems)}"]
    lines += [f"| {row} | {' | '.join(f'{v:g}' for v in values)} |" for row, values in kept["rows"].items()]
    lines += [
        "",
        f"Ratios of medians, rtol = atol = 1e-9, on {machine['cores']} cores of {machine['processor']}:",
    ]
    return "\n".join([*lines, f"{machine['compiler']}, {machine['python']}."])


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
    lines += _ratio_table(_ratios(result["benchmarks"]))
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


def _ratios(entries: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The ratios from interleaved runs, by system."""
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        for ratio in entry["extra_info"].get("ratios", []):
            group = entry["group"].rpartition(": ")[2].partition(",")[0]
            found.setdefault(group, []).append(ratio)
    return found


def _ratio_table(found: dict[str, list[dict[str, Any]]]) -> list[str]:
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
            lines.append(f"| {group} | {ratio['what']} | {_three_digits(ratio['value'])} | {goal} | {met} |")
    return [*lines, ""]


def _three_digits(value: float) -> str:
    """A number in three digits, without an exponent from 1000 on."""
    return f"{float(f'{value:.3g}'):g}"


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
