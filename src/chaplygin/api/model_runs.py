"""The runs of a model that its methods begin: steppers, batches, ensembles; and starts that satisfy its constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import chaplygin
from chaplygin._lazy import later
from chaplygin.runtime import ensembles, interface, model, problem, sensitivities as tangents, steppers
from chaplygin.runtime.interface import arguments
from chaplygin.runtime.problem.continued import all_continued, past_of
from chaplygin.runtime.problem.options import of_call, shown
from chaplygin.runtime.problem.start import InitialStates

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from chaplygin.runtime.ensembles.batch import Batch
    from chaplygin.runtime.ensembles.ensemble import Ensemble
    from chaplygin.runtime.problem.option_table import RunKeywords
    from chaplygin.runtime.steppers.stepper import Stepper
    from chaplygin.runtime.studies.study import Study

notebook = later("chaplygin.runtime.results.notebook")


class ModelRuns(InitialStates):
    """The methods of `Model` that begin runs; a `PythonModel` has `consistent` of them."""

    def consistent(
        self, initial: Any, parameters: Any, inputs: Any = None, *, keep: Sequence[str] = (), t: float = 0.0
    ) -> dict[str, float]:
        """The declared state nearest to `initial` that satisfies every constraint: {coordinate or velocity: value}.

        Quaternions of joints are divided by their lengths. Then both are measured by the kinetic energy: coordinates
        move along the fields by the e with the least e M e / 2 such that f(t, x) = 0; then velocities,
        min (eta - eta^) M (eta - eta^) / 2 with A eta + A_0 = 0. Those in `keep` are held. Velocities left out of
        `initial` count as zero. Sensitivities and gradients are derivatives of this start, and a fit begins at it.

        Raises `ArgumentError` with the residual if no state near `initial` satisfies them with what is held, and for
        names that the model does not have.

        >>> import chaplygin as cg
        >>> sleigh = cg.example("chaplygin_sleigh")
        >>> model = sleigh.system.compile()
        >>> start = {"phi": 0, "x": 0, "y": 0, "omega": 1, "v": 1, "w": 0.5}
        >>> model.consistent(start, sleigh.parameters, keep=["omega"])["w"]
        0.0
        """
        return model.consistent(self, initial, parameters, inputs, keep, t)

    def ensemble(
        self,
        t_span: tuple[float, float],
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        **options: Any,
    ) -> Ensemble:
        """Integrate many trajectories over `t_span`: `chaplygin.ensemble` of this model, with the same arguments.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> model.ensemble((0, 10), initial={"x": [0, 1], "x_dot": 0}, parameters={"m": 1, "k": 4})["x"].round(6)
        array([0.      , 0.408082])
        """
        return chaplygin.ensemble(
            cast("chaplygin.Model", self), t_span, initial, parameters, inputs, **options
        )

    def study(
        self,
        t_span: tuple[float, float],
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        **options: Any,
    ) -> Study:
        """Integrate many trajectories and keep statistics: `chaplygin.study` of this model, with the same arguments."""
        return chaplygin.study(cast("chaplygin.Model", self), t_span, initial, parameters, inputs, **options)

    @shown
    def stepper(
        self,
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        *,
        t0: float = 0.0,
        seed: int | None = None,
        sensitivities: Any = None,
        sensitivity_control: bool = True,
        interpolants: Any = None,
        **options: Unpack[RunKeywords],
    ) -> Stepper:
        """A stepper, for a caller that owns the clock; see `Stepper`. Arguments are as for `integrate`.

        It begins at `t0`, also where `initial` is a run: ``model.stepper(sol, t0=sol.t[-1])`` goes on with its time.

        `seed` decides the paths of inputs that are noise: those of trajectory 0, which go on as long as the run.

        With `sensitivities` it is a `SensitivityStepper`: ``run.sensitivity["x", "m"]`` is dx/dm at ``run.t``.
        """
        how = of_call(ModelRuns.stepper, options).checked(self)
        parameters = interface.with_values(self, parameters, interpolants)
        begin = arguments.number("t0", t0)
        inputs = problem.drawn(inputs, self.inputs, (begin, begin), seed, episode=0)
        control = arguments.sensitivity_control(sensitivity_control, sensitivities)
        if sensitivities is not None:
            given = initial, parameters, inputs
            return steppers.SensitivityStepper.of(
                self, begin, tangents.varied_run(self, begin, *given, sensitivities, control, how)
            )
        x0, p, controls = self._prepare(begin, initial, parameters, inputs, problem.Accuracy.of(self, how))
        return self._stepper(begin, x0, p, controls, how, past_of(initial))

    @shown
    def batch(
        self,
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        *,
        n: int | None = None,
        t0: float = 0.0,
        threads: int | None = None,
        lanes: int | None = None,
        seed: int | None = None,
        sensitivities: Any = None,
        sensitivity_control: bool = True,
        interpolants: Any = None,
        **options: Unpack[RunKeywords],
    ) -> Batch:
        """n runs that persist and are advanced together; see `Batch`.

        The entries of `initial`, `parameters` and `inputs` are numbers or arrays (n,); `n` can be left out if an array
        determines it. Those of `interpolants`, the values of tables, are one row for all or a row for each run.
        Inputs can be samples, too, with values (times,) for all or a row for each run, and noise: run i
        has the path of trajectory i by `seed`, and another one after each reset. `threads` and `lanes` are as for
        `ensemble`, the other keywords as for `integrate`. `max_steps` applies to each advance.
        With `sensitivities` ``batch.sensitivity["x", "m"]`` is dx/dm of every run.
        """
        how = of_call(ModelRuns.batch, options).checked(self)
        parameters = interface.with_values(self, parameters, interpolants, many=True)
        begin = arguments.number("t0", t0)
        control = arguments.sensitivity_control(sensitivity_control, sensitivities)
        given = all_continued(self, {"initial": initial, "parameters": parameters, "inputs": inputs})
        count = ensembles.number_of_trajectories(n, given)
        start = given["initial"], given["parameters"], given["inputs"]
        return ensembles.Batch(self, count, *start, begin, threads, lanes, how, seed, sensitivities, control)

    def _stepper(self, *given: Any) -> Stepper:
        """A stepper that starts at t0, x0, p, with inputs and options that have been checked."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        text: str = notebook.model_table(self)
        return text
