"""The arguments of the command line: one function for each command.

The commands themselves are in `show`, `run`, `bench` and `doctor`.
Only the standard library is imported here, and the table of options, which needs no more, so that `chaplygin --help`
responds at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from chaplygin._version import __version__
from chaplygin.runtime import core, model
from chaplygin.runtime.problem.option_table import OPTIONS, Option

Command = Callable[..., argparse.ArgumentParser]
"""Makes the parser of one command: see `_command`."""

_SYSTEM = """\
SYSTEM is a name from `chaplygin list`, with a size if the system has one (n_link_pendulum:20, or --n 20),
or path/to/model.py:name, where name is a chaplygin.System or a function without arguments that returns one.
The file is executed: use only files that you trust."""

_EXAMPLES = """\
examples:
  chaplygin list
  chaplygin show chaplygin_sleigh --form maggi
  chaplygin run heavy_top --t-end 100 --rtol 1e-12 --plot top.png
  chaplygin run n_link_pendulum:20 --method rk4 --step 1e-3
  chaplygin emit chaplygin_sleigh -o sleigh_c
  chaplygin export-c heavy_top -o heavy_top_c
  chaplygin ensemble path/to/model.py:skate -n 10000
  chaplygin study path/to/study.py:falls -o falls
  chaplygin doctor
"""


def parser() -> argparse.ArgumentParser:
    """The parser of all commands; `parsed.command` is "module:function" of the one that was given."""
    whole = argparse.ArgumentParser(
        prog="chaplygin",
        description="Derive, compile and run equations of motion of mechanical, in particular nonholonomic, systems.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    whole.add_argument("--debug", action="store_true", help="show the traceback of an error")
    command = partial(_command, whole.add_subparsers(title="commands", metavar="COMMAND", required=True))
    for add in _COMMANDS:
        add(command)
    return whole


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    home: str,
    text: str,
    examples: str = "",
    subject: bool = False,
) -> argparse.ArgumentParser:
    """The parser of the command `name`, which the function `home` carries out; with `subject` it takes a system."""
    epilog = f"examples:\n{examples}" + (f"\n{_SYSTEM}" if subject else "") if examples else None
    sub = commands.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ".",
        epilog=epilog,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    sub.set_defaults(command=home)
    if subject:
        sub.add_argument("system", metavar="SYSTEM", help="catalogue name, or path/to/model.py:name")
        sub.add_argument("--n", type=int, metavar="SIZE", help="size, if the catalogue system has one")
        sub.add_argument("--form", metavar="F", help="equation form (default: the simplest that fits)")
        sub.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="option of the form, e.g. independent=omega,v; can be repeated",
        )
    return sub


def _list_systems(command: Command) -> None:
    command("list", ".show:list_systems", "list the systems of the catalogue", "  chaplygin list\n")


def _show(command: Command) -> None:
    show = command(
        "show",
        ".show:show",
        "show the structure constants, equations, invariants and operation counts of a system; long expressions are "
        "only counted",
        "  chaplygin show chaplygin_sleigh\n  chaplygin show heavy_top --latex\n"
        "  chaplygin show chaplygin_sleigh --option independent=omega,w\n",
        subject=True,
    )
    show.add_argument("--latex", action="store_true", help="print only the equations, as LaTeX")
    show.add_argument(
        "--full",
        action="store_true",
        help="also print long expressions, with names for what occurs several times: 90 kB for a bicycle, in "
        "seconds; without it the last line says how much that would be",
    )
    show.add_argument(
        "--passes", action="store_true", help="print only the operations of each kernel after each pass"
    )
    _figures(show)


def _forms(command: Command) -> None:
    forms = command(
        "forms",
        ".show:forms",
        "show which equation form fits which system, of the catalogue or of your own",
        "  chaplygin forms -v\n  chaplygin forms path/to/model.py:skate -v\n",
    )
    forms.add_argument(
        "system", nargs="?", metavar="SYSTEM", help="one system; without it, those of the catalogue"
    )
    forms.add_argument("-v", "--verbose", action="store_true", help="say why a form does not fit a system")


def _emit(command: Command) -> None:
    emit = command(
        "emit",
        ".show:emit",
        "write the C core and the Cython module of a system into a folder",
        "  chaplygin emit heavy_top -o folder\n",
        subject=True,
    )
    emit.add_argument("-o", "--output", required=True, metavar="DIR", help="folder; created if missing")
    emit.add_argument(
        "--targets",
        nargs="+",
        metavar="NAME",
        help="what to write: c, lanes, cython, graph (these four by default), sundials",
    )
    emit.add_argument("--force", action="store_true", help="replace files that chaplygin did not write")


def _export_c(command: Command) -> None:
    bundle = command(
        "export-c",
        ".show:export_c",
        "write a system with its integrators as C99 that needs no other library",
        "  chaplygin export-c heavy_top -o heavy_top_c\n"
        "  chaplygin export-c chaplygin_sleigh -o folder --methods dop853 rk4 --single-header\n",
        subject=True,
    )
    bundle.add_argument("-o", "--output", required=True, metavar="DIR", help="folder; created if missing")
    bundle.add_argument(
        "--methods", nargs="+", metavar="NAME", help="METHODS (default: the default method at 1e-9)"
    )
    bundle.add_argument("--scalar", default="double", help="double, or float: single precision in all files")
    bundle.add_argument(
        "--prefix",
        default="",
        metavar="NAME",
        help="what external names begin with, to link several bundles together",
    )
    bundle.add_argument("--single-header", action="store_true", help="put everything into one header")
    _settings(bundle, "set a parameter, initial value or input of the example; can be repeated")


def _export_fmu(command: Command) -> None:
    fmu = command(
        "export-fmu",
        ".show:export_fmu",
        "write a system as an FMU, a component for other simulators",
        "  chaplygin export-fmu heavy_top -o top.fmu\n"
        "  chaplygin export-fmu bouncing_ball -o ball.fmu --fmi 2.0 --kind co-simulation --set e=0.9\n",
        subject=True,
    )
    fmu.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the FMU; an older one is replaced"
    )
    fmu.add_argument("--fmi", default="3.0", metavar="VERSION", help="2.0 or 3.0 (default: 3.0)")
    fmu.add_argument("--kind", default="both", help="both, model-exchange or co-simulation (default: both)")
    fmu.add_argument(
        "--platform", action="append", default=[], metavar="NAME",
        help="compile for this platform too, such as x86_64-windows; needs ziglang; can be repeated",
    )  # fmt: skip
    for name, what in (("stop-time", "end"), ("step-size", "step"), ("tolerance", "tolerance")):
        fmu.add_argument(f"--{name}", type=float, help=f"the {what} of the default experiment")
    _settings(fmu, "set a parameter, initial value or input to start with; can be repeated")


def _run(command: Command) -> None:
    run = command(
        "run",
        ".run:run",
        "compile a system, integrate it, and compare the result with a reference",
        "  chaplygin run chaplygin_sleigh\n  chaplygin run heavy_top --t-end 100 --plot top.png\n"
        "  chaplygin run harmonic_oscillator --method rk4 --step 0.01 --set k=2 --set x=0.5\n",
        subject=True,
    )
    _integration(run)
    run.add_argument(
        "--plot", metavar="FILE", help="draw all states over time into FILE (.png, .pdf, .svg ...)"
    )
    run.add_argument("--path", metavar="FILE", help="draw the path in the plane of x and y into FILE")
    run.add_argument("--path-of", metavar="NAME,NAME", help="the two quantities for --path, if not x and y")
    run.add_argument(
        "--no-check", action="store_true", help="skip the comparison with a much more accurate run"
    )
    _figures(run)


def _ensemble(command: Command) -> None:
    ensemble = command(
        "ensemble",
        ".run:ensemble",
        "integrate many scattered trajectories of one compiled system on all cores",
        "  chaplygin ensemble chaplygin_sleigh -n 10000\n"
        "  chaplygin ensemble heavy_top -n 1000 --scatter w1,w2 --spread 0.01\n",
        subject=True,
    )
    _integration(ensemble)
    ensemble.add_argument(
        "-n", "--count", type=int, required=True, metavar="N", help="number of trajectories"
    )
    ensemble.add_argument(
        "--scatter",
        metavar="NAMES",
        help="what to scatter, separated by commas (default: the independent velocities)",
    )
    ensemble.add_argument(
        "--spread",
        type=float,
        default=0.1,
        help="standard deviation, relative to max(1, |value|) (default: 0.1)",
    )
    ensemble.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    ensemble.add_argument("--threads", type=int, metavar="N", help="number of threads (default: all cores)")
    _figures(ensemble)


def _study(command: Command) -> None:
    study = command(
        "study",
        ".run:study",
        "run a study, of which statistics are kept, or go on with it",
        "  chaplygin study path/to/file.py:falls -o falls\n\nFILE:NAME is a dict of the arguments of "
        "chaplygin.study, with model and with collect or\nuntil, or a function that returns one. The file is "
        "executed: use only\nfiles that you trust.\n",
    )
    study.add_argument("study", metavar="FILE:NAME", help="path/to/file.py:name")
    study.add_argument(
        "-o", "--output", metavar="FOLDER", help="keep the study there, and go on with what is there"
    )
    study.add_argument("--workers", type=int, metavar="N", help="run in N processes")
    study.add_argument("--threads", type=int, metavar="N", help="number of threads (default: all cores)")
    _figures(study)


def _bench(command: Command) -> None:
    bench = command(
        "bench",
        ".bench:bench",
        "time the compiled catalogue systems against the same equations in pure Python",
        "  chaplygin bench\n  chaplygin bench heavy_top n_link_pendulum:20\n",
    )
    bench.add_argument("systems", nargs="*", metavar="SYSTEM", help="default: the whole catalogue")
    _figures(bench)


def _doctor(command: Command) -> None:
    command(
        "doctor",
        ".doctor:doctor",
        "check the compiler, the cache and the compiled runtime, and compile and run a test model",
        "  chaplygin doctor\n",
    )


_COMMANDS = (
    _list_systems,
    _show,
    _forms,
    _emit,
    _export_c,
    _export_fmu,
    _run,
    _ensemble,
    _study,
    _bench,
    _doctor,
)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help that lists the methods of the runtime, which is imported only when help is printed."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = super()._get_help_string(action)
        if text is None or "METHODS" not in text:
            return text
        if not model.core_available():
            return text.replace("METHODS", "the integration methods")

        return text.replace("METHODS", "; ".join(f"{m.name}: {m.summary}" for m in core.methods().values()))


def _integration(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--t-end", type=float, metavar="T", help="end time of the run (default: from the catalogue)"
    )
    for name, row in OPTIONS.items():
        _option(parser, name, row)
    _settings(parser, "set a parameter, initial value or constant input; can be repeated")


def _option(parser: argparse.ArgumentParser, name: str, row: Option) -> None:
    """An option of runs: an attribute of that name, only if it is given. None is written none."""
    flag, default = f"--{name.replace('_', '-')}", "rtol" if name == "atol" else row.left_out or row.default
    text = "METHODS" if name == "method" else row.meaning
    if row.choices:
        text += f": {', '.join(str(choice).lower() for choice in row.choices)}"
    if row.text is bool:
        action: str | type[argparse.Action] = argparse.BooleanOptionalAction if row.default else "store_true"
        parser.add_argument(flag, action=action, default=argparse.SUPPRESS, help=text)
        return
    if default is not None:
        text += f" (default: {default})"
    parser.add_argument(
        flag, type=_or_none if row.text is str else row.text, default=argparse.SUPPRESS, help=text
    )


def _or_none(text: str) -> str | None:
    return None if text == "none" else text


def _settings(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=text)


def _figures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
