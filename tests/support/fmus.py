"""FMUs of catalogue systems for tests: exported, unpacked, and run through FMPy's wrappers of the C functions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from dense_chain import dense_chain
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave
from numpy.typing import NDArray

import chaplygin as cg

TIMEOUT = 60
"""Seconds for one simulation by FMPy: far more than any takes."""
SYSTEMS = ("chaplygin_sleigh", "heavy_top", "torus_nonuniform", "turntable_sleigh", "painleve_klein", "block_on_belt",
           "bouncing_ball", "n_link_pendulum")  # fmt: skip
USUAL = ("heavy_top", "block_on_belt", "bouncing_ball")
"""Those of the default suite."""

OLDER = {
    "getFloat64": "getReal", "setFloat64": "setReal", "getInt32": "getInteger",
    "updateDiscreteStates": "newDiscreteStates", "getContinuousStateDerivatives": "getDerivatives",
}  # fmt: skip
"""What FMI 2.0 calls functions of FMI 3.0: by the names of the latter tests call both."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fmu:
    """An FMU and what it was made from: a system of the catalogue, or the numbers given."""

    example: Any
    model: Any
    path: str
    folder: str
    version: str

    @classmethod
    def of(cls, model: Any, folder: Path, version: str, kind: str = "both", **given: Any) -> Fmu:
        """The FMU of a model, exported into a folder and unpacked there."""
        path = os.fspath(model.export_fmu(folder / f"{model.name}.fmu", version, kind, **given))
        fmpy.extract(path, os.fspath(folder / "unpacked"))
        return cls(given, model, path, os.fspath(folder / "unpacked"), version)

    @property
    def inputs(self) -> dict[str, float]:
        return {name: self.model.example.get(name, 0.0) for name in self.model.inputs}

    @property
    def description(self) -> Any:
        return fmpy.read_model_description(self.path)

    def references(self, names: Any) -> list[int]:
        """The value references of variables."""
        by_name = {v.name: v.valueReference for v in self.description.modelVariables}
        return [by_name[name] for name in names]

    def simulated(self, kind: str, t1: float, tolerance: float, **more: Any) -> Any:
        """What FMPy records up to t1: an array by name."""
        return fmpy.simulate_fmu(
            self.path,
            stop_time=t1,
            relative_tolerance=tolerance,
            output_interval=t1 / 20,
            timeout=TIMEOUT,
            fmi_type=kind,
            output=list(self.model.states),
            **more,
        )

    @contextmanager
    def instance(self, kind: str, start: bool = True, **options: Any) -> Iterator[Any]:
        """An instance, through initialization if `start`; `tolerance` is that of a Co-Simulation."""
        classes = {
            ("2.0", "ModelExchange"): FMU2Model,
            ("2.0", "CoSimulation"): FMU2Slave,
            ("3.0", "ModelExchange"): FMU3Model,
            ("3.0", "CoSimulation"): FMU3Slave,
        }
        tolerance = options.pop("tolerance", None)
        made: Any = classes[self.version, kind](
            guid=self.description.guid,
            unzipDirectory=self.folder,
            modelIdentifier=self.model.name,
            instanceName="one",
        )
        made.instantiate(**options)
        for name, older in OLDER.items() if self.version == "2.0" else ():
            if hasattr(made, older):
                setattr(made, name, getattr(made, older))
        try:
            if start:
                begin(made, self.version, tolerance)
            yield made
        finally:
            made.freeInstance()


def enter(instance: Any, version: str, **given: Any) -> None:
    """Set up an instance, with its tolerance or its startTime, and enter Initialization Mode."""
    if version == "2.0":
        instance.setupExperiment(**given)
    instance.enterInitializationMode(**given if version == "3.0" else {})


def begin(instance: Any, version: str, tolerance: float | None = None) -> None:
    """Set up and initialize an instance."""
    enter(instance, version, tolerance=tolerance)
    instance.exitInitializationMode()


def exported(name: str, version: str, folder: Path, kind: str = "both") -> Fmu:
    """The FMU of a catalogue system in its first form."""
    example = dense_chain(20) if name == "n_link_pendulum" else cg.example(name)
    form = example.forms[0]
    model = example.system.compile(form, **example.options.get(form, {}))
    given = {"initial": example.initial, "parameters": example.parameters}
    given["inputs"] = {n: model.example.get(n, 0.0) for n in model.inputs}
    return replace(Fmu.of(model, folder, version, kind, **given), example=example)


def states(instance: Any, fmu: Fmu) -> Array:
    """The states of an instance."""
    return np.array(instance.getFloat64(fmu.references(fmu.model.states)))
