from typing import Any

import numpy as np
from numpy.typing import NDArray

from .happenings import Happened
from .inputs import Inputs
from .solution import Solution

Array = NDArray[np.float64]

KINDS: tuple[str, ...]

def methods() -> tuple[str, ...]: ...
def widest_lanes() -> int: ...

class KernelCore:
    capsule: object
    owner: object
    name: str
    form: str
    digest: str
    generator: str
    states: tuple[str, ...]
    parameters: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    invariants: tuple[str, ...]
    residuals: tuple[str, ...]
    _conserved: tuple[str, ...]
    checked_at_start: tuple[str, ...]
    ends: dict[bytes, float]
    declared: tuple[str, ...]
    events: tuple[str, ...]
    kinks: tuple[str, ...]
    contacts: tuple[str, ...]
    modes: tuple[str, ...]
    hybrid: bool
    n_states: int
    n_parameters: int
    n_inputs: int
    n_coordinates: int
    n_work: int
    has_initial: bool
    has_inlined_methods: bool
    _variables: list[tuple[str, str, str, str, float, int]]

    def __init__(self, capsule: object, *, owner: object = None) -> None: ...
    @property
    def address(self) -> int: ...
    @property
    def addresses(self) -> dict[str, int]: ...
    @property
    def lane_sets(self) -> list[tuple[int, int]]: ...
    def runs_lanes(self, address: int) -> bool: ...
    def rhs(self, t: Any, y: Any, p: Any, u: Any = ()) -> Array: ...
    def jacobian(self, t: Any, y: Any, p: Any, u: Any = ()) -> Array: ...
    def jvp(self, t: Any, y: Any, p: Any, dy: Any, u: Any = ()) -> Array: ...
    def _inconsistent(
        self, t0: float, x0: Array, p: list[Array], u: Array, atol: float
    ) -> NDArray[np.intp]: ...
    def _columns(
        self, kernel: str, t: Array, y: Array, p: Array, u: Array, v: Array | None, strict: bool = True
    ) -> Array: ...

class ModelCore(KernelCore):
    def integrate(
        self,
        t_span: Any,
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        *,
        method: str = "dop853",
        rtol: float = 1e-9,
        atol: Any = 1e-9,
        t_eval: Any = None,
        dense_output: bool = False,
        max_step: float = ...,
        first_step: float | None = None,
        step: float | None = None,
        max_steps: int = 10_000_000,
        events: Any = None,
        kinks: bool = False,
        paradox: str = "stop",
    ) -> Solution: ...

class StepperCore:
    model: Any
    method: str
    inputs: Inputs

    def __init__(self, *arguments: Any) -> None: ...
    @property
    def t(self) -> float: ...
    @property
    def y(self) -> Array: ...
    @property
    def p(self) -> Array: ...
    @property
    def nfev(self) -> int: ...
    @property
    def n_steps(self) -> int: ...
    def _set(self, inputs: Inputs) -> None: ...
    def _attach(self, inputs: Inputs) -> None: ...
    def _advance(self, t: float) -> int: ...
    @property
    def status(self) -> int: ...
    @property
    def _modes(self) -> Array: ...
    def _happened(self) -> Happened | None: ...
    def _save(self) -> bytes: ...
    def _restore(self, block: bytes) -> int: ...

class EnsembleCore:
    def __init__(self, *arguments: Any) -> None: ...
    def stop(self) -> None: ...
    @property
    def error(self) -> BaseException | None: ...
    def run(self, first: int, last: int) -> int: ...
