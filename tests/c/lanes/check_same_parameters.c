/* Trajectories with the same parameters: these are in all lanes from the start, with what follows from them alone. */
#include "chaplygin_sleigh_core.h"
#include "cg_ensemble.h"
#include "helpers.h"

#define COUNT 21
#define STATES 5

extern const cg_lane_set_t chaplygin_sleigh_lanes_2;

static double starts[STATES][COUNT], parameters[COUNT][3], alone[STATES][COUNT], beside[STATES][COUNT];
static double times[COUNT];
static int32_t statuses[COUNT];

static cg_ensemble_t make_ensemble(double *y, int64_t p_row)
{
    const cg_ensemble_t ensemble = {
        .t_end = 3.0, .x0 = starts[0], .x0_row = 1, .x0_col = COUNT, .p = parameters[0], .p_row = p_row, .p_col = 1,
        .y = y, .y_row = 1, .y_col = COUNT, .t = times, .status = statuses,
    };
    return ensemble;
}

/* In lanes. 1: each group has computed the results of hoist once for all its trajectories. */
static int shared(cg_run_t *options, int64_t p_row)
{
    const cg_model_t *const model = &chaplygin_sleigh_model;
    const size_t size = cg_lanes_size(model, &chaplygin_sleigh_lanes_2, "vern9");
    cg_lanes_run_t *const lanes = (cg_lanes_run_t *)(void *)cg_run_new(size);
    cg_cursor_t cursor = {.last = COUNT};
    const cg_ensemble_t ensemble = make_ensemble(beside[0], p_row);
    memset(beside, 0x55, sizeof beside);
    CHECK(lanes != NULL && cg_lanes_init(lanes, size, model, &chaplygin_sleigh_lanes_2, "vern9") == CG_OK);
    CHECK(cg_ensemble_lanes(&ensemble, lanes, options, &cursor, -1) == CG_OK && cursor.n_done == COUNT);
    int count = 0;
    for (unsigned g = 0; g < CG_GROUPS; g++) {
        count += cg_lanes_group(lanes, g)->hoisted;
    }
    CHECK(count == 0 || count == CG_GROUPS);
    cg_run_delete((cg_run_t *)(void *)lanes);
    return count != 0;
}

static void check(cg_run_t *run, int64_t p_row, int expected)
{
    cg_cursor_t cursor = {.last = COUNT};
    const cg_ensemble_t ensemble = make_ensemble(alone[0], p_row);
    CHECK(cg_ensemble_run(&ensemble, run, &cursor, -1) == CG_OK);
    CHECK(shared(run, p_row) == expected);
    CHECK(same_bits(alone[0], beside[0], STATES * COUNT));
}

int main(void)
{
    volatile int stop = 0;
    cg_run_t *const run = make_run(&chaplygin_sleigh_model, "vern9", 0, 1e-9);
    run->stop = &stop;
    for (int j = 0; j < COUNT; j++) {
        for (int i = 0; i < STATES; i++) {
            starts[i][j] = 0.3 * i + 0.05 * j;
        }
        parameters[j][0] = 1.0 + 0.1 * j;
        parameters[j][1] = 0.5;
        parameters[j][2] = 1.5;
    }
    check(run, 0, 1);
    check(run, 3, 0);
    CHECK(statuses[0] == CG_OK && times[0] == 3.0);
    parameters[0][0] = parameters[0][2] = 0.0; /* no moment of inertia about the blade: hoist fails in every trajectory */
    check(run, 0, 0);
    CHECK(statuses[0] == CG_SINGULAR && statuses[COUNT - 1] == CG_SINGULAR);
    cg_run_delete(run);
    CHECK_DONE();
}
