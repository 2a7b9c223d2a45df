"""C programs that set an input with its rates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from c_bundles import STRICT, Exported
from rated_systems import SYSTEMS

MAIN = """
#include "driven_pivot.h"
#include <stdio.h>

static CG_BLOCK(memory, DRIVEN_PIVOT_RUN_SIZE);

int main(void)
{
    static const double x0[] = {0.5, 0.2}, p[] = {%s};
    cg_run_t *const run = (cg_run_t *)(void *)memory;
    int status = cg_run_init(run, sizeof memory, &driven_pivot_model, "dop853", 0);
    for (int i = 0; i < run->model->n_parameters; i++) run->p[i] = p[i];
    run->rtol = 1e-9;
    run->u[DRIVEN_PIVOT_U_u] = 0.1;
    run->u[DRIVEN_PIVOT_U_u_dot] = 0.3;
    run->u[DRIVEN_PIVOT_U_u_ddot] = 1.1;
    status |= cg_run_start(run, 0, x0, 0);
    for (int i = 0; i < 20; i++) {
        if (i == 10) { /* from here on with another acceleration: u and u' go on */
            run->u[DRIVEN_PIVOT_U_u_ddot] = -0.4;
            cg_run_inputs_changed(run);
        }
        status |= cg_run_advance(run, CG_TIME(i + 1, 10));
    }
    printf("status = %%d\\n", status);
    for (int i = 0; i < run->n; i++) printf("%%s = %%.17g\\n", run->model->states[i].name, (double)run->x[i]);
    for (int i = 0; i < 3; i++) printf("%%s = %%.17g\\n", run->model->inputs[i].name, (double)run->u[i]);
    return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("scalar", ["double", "float"])
def test_inputs_move_with_their_rates(scalar: str, tmp_path: Path) -> None:
    rated = SYSTEMS["pivot"]
    model = rated.system().compile(reproducible=True)
    folder = model.export_c(
        tmp_path / "bundle", ("dop853",), scalar, initial=rated.start, parameters=rated.numbers
    )
    main = MAIN % ", ".join(repr(rated.numbers[name]) for name in model.parameters)
    if scalar == "float":
        main = main.replace("double x0", "float x0").replace("1e-9", "1e-5f")
    (folder / "main.c").write_text(main)
    bundle = Exported(None, model, folder, "dop853")
    flags = STRICT if scalar == "double" else ()
    program = bundle.built("gcc", "-O1", *flags, sources=["main.c", *bundle.sources[1:]])
    printed = dict(line.split(" = ") for line in bundle.printed(program).splitlines())
    run = model.stepper(
        rated.start,
        rated.numbers,
        {"u": 0.1, "u_dot": 0.3, "u_ddot": 1.1},
        rtol=1e-9,
        atol=1e-9,
        method="dop853",
    )
    for i in range(20):
        if i == 10:
            run.set_inputs(u=run["u"], u_dot=run["u_dot"], u_ddot=-0.4)
        run.advance((i + 1) / 10)
    assert printed.pop("status") == "0"
    found = np.array([float(printed[name]) for name in (*model.states, *model.inputs)])
    expected = np.array([run[name] for name in (*model.states, *model.inputs)])
    if scalar == "double":
        assert found.tobytes() == expected.tobytes()
    np.testing.assert_allclose(found, expected, atol=2e-4)
