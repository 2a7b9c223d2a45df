from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base_model import KernelEntry
from .inputs import Inputs
from .solution import Solution

Array = NDArray[np.float64]

def methods() -> tuple[str, ...]: ...
def widest_lanes() -> int: ...

class KernelCore:
    capsule: object
    @property
    def owner(self) -> object: ...
    name: str
    form: str
    digest: str
    generator: str
    independent: str
    _entries: dict[str, KernelEntry]
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
    def _take_over(self, capsule: object, owner: object) -> None: ...
    def runs_lanes(self, address: int) -> bool: ...
    def _plain_start(
        self, initial: Any, parameters: Any, count: int, target: Array
    ) -> tuple[list[Any], list[Array]] | None: ...
    def rhs(self, t: Any, y: Any, p: Any, u: Any = ()) -> Array: ...
    def jacobian(self, t: Any, y: Any, p: Any, u: Any = ()) -> Array: ...
    def jvp(self, t: Any, y: Any, p: Any, dy: Any, u: Any = ()) -> Array: ...
    def _inconsistent(
        self, t0: float, x0: Array, p: list[Array], u: Array, atol: float
    ) -> NDArray[np.intp]: ...
    def evaluate(self, t: Any, y: Any, p: Any, u: Any = ()) -> dict[str, Any]: ...
    def _columns(
        self,
        kernel: str,
        t: Array,
        y: Array,
        p: Array,
        u: Array,
        v: Array | None,
        strict: bool = True,
        event: int | None = None,
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
    _options: dict[str, Any]

    def __init__(self, *arguments: Any) -> None: ...
    def advance(self, t: float) -> Array: ...
    def advance_by(self, dt: float) -> Array: ...
    def set_inputs(self, values: Any = None, /, **named: Any) -> None: ...
    def __getitem__(self, key: Any) -> float: ...
    def evaluate(self, name: Any = None) -> Any: ...
    @property
    def outputs(self) -> dict[str, float]: ...
    @property
    def inputs(self) -> Inputs: ...
    @property
    def events(self) -> list[tuple[float, str]]: ...
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
    def _put(self, x: Array, p: Array) -> None: ...
    def _change(self, states: bool, values: Any, named: dict[str, Any]) -> bool: ...
    @property
    def status(self) -> int: ...
    @property
    def _modes(self) -> Array: ...
    def _save(self) -> bytes: ...
    def _restore(self, block: bytes) -> int: ...

class EnsembleCore:
    done: int
    lanes: int

    def __init__(self, *arguments: Any) -> None: ...
    def stop(self) -> None: ...
    @property
    def error(self) -> BaseException | None: ...
    def events(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]: ...
    def run(self, pieces: list[tuple[int, int]], attend: Callable[[], None] | None = None) -> None: ...
