"""FMUs of catalogue systems for tests: exported, unpacked, and run through FMPy's wrappers of the C functions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fmu:
    """An FMU and what it was made from."""

    example: Any
    model: Any
    path: str
    folder: str
    version: str

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
        try:
            if start:
                begin(made, self.version, tolerance)
            yield made
        finally:
            made.freeInstance()


def begin(instance: Any, version: str, tolerance: float | None = None) -> None:
    """Set up and initialize an instance."""
    if version == "2.0":
        instance.setupExperiment(tolerance=tolerance)
        instance.enterInitializationMode()
    else:
        instance.enterInitializationMode(tolerance=tolerance)
    instance.exitInitializationMode()


def exported(name: str, version: str, folder: Path, kind: str = "both") -> Fmu:
    """The FMU of a catalogue system in its first form."""
    example = dense_chain(20) if name == "n_link_pendulum" else cg.example(name)
    form = example.forms[0]
    model = example.system.compile(form, **example.options.get(form, {}))
    inputs = {n: model.example.get(n, 0.0) for n in model.inputs}
    path = model.export_fmu(
        folder / f"{name}.fmu",
        version,
        kind,
        initial=example.initial,
        parameters=example.parameters,
        inputs=inputs,
    )
    unpacked = os.fspath(folder / "unpacked")
    fmpy.extract(os.fspath(path), unpacked)
    return Fmu(example, model, os.fspath(path), unpacked, version)


def states(instance: Any, fmu: Fmu) -> Array:
    """The states of an instance."""
    get = instance.getReal if fmu.version == "2.0" else instance.getFloat64
    return np.array(get(fmu.references(fmu.model.states)))
