/* host_loop.c: a host that steps the heavy top at 1 kHz. HEADER is that of a C bundle, or of the emitted core, with DRIVER. */
#include HEADER
#ifdef DRIVER
#include DRIVER
#endif

static CG_BLOCK(memory, 8192);

/* Writes the state after that many milliseconds from the declared example; returns the status. */
int host_loop(int64_t steps, int32_t flags, double *end);

int host_loop(int64_t steps, int32_t flags, double *end)
{
    cg_run_t *const run = (cg_run_t *)(void *)memory;
    double x0[16];
    int status = cg_run_init(run, sizeof memory, &heavy_top_model, "dop853", flags);

    for (int i = 0; i < heavy_top_model.n_states; i++) x0[i] = heavy_top_model.states[i].example;
    run->rtol = 1e-9;
    if (status == CG_OK) status = cg_run_start(run, 0.0, x0, 0.0);
    for (int64_t i = 1; i <= steps && status == CG_OK; i++) status = cg_run_advance(run, (double)i / 1000.0);
    for (int i = 0; i < run->n; i++) end[i] = run->x[i];
    return status;
}
