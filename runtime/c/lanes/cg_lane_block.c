/* cg_lane_block.c: lane sets and the CPUs that can run them; the memory block of groups of lanes. See cg_lanes.h. */
#include "cg_lanes_internal.h"
#include "step/cg_memory.h"

#include <string.h>

static const cg_lane_method_t *cg_lane_block_method(const cg_lane_set_t *set, const char *method)
{
    for (const cg_lane_method_t *own = set->methods; own->info.name != NULL; own++) {
        if (own->info.layout == CG_LANES_LAYOUT && strcmp(own->info.name, method) == 0) {
            return own;
        }
    }
    return NULL;
}

/* Whether this CPU and the operating system support a value of enum cg_cpu. */
static int cg_lane_block_cpu_has(int32_t cpu)
{
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    if (cpu == CG_CPU_AVX512) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
            && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
            && __builtin_cpu_supports("fma");
    }
    if (cpu == CG_CPU_AVX2) {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
#endif
    return cpu == CG_CPU_ANY;
}

int cg_widest_lanes(void)
{
#if defined(__x86_64__) || defined(__SSE2__) || defined(__aarch64__)
    return cg_lane_block_cpu_has(CG_CPU_AVX512) ? 8 : cg_lane_block_cpu_has(CG_CPU_AVX2) ? 4 : 2;
#else
    return 1;
#endif
}

int cg_lane_set_runs(const cg_lane_set_t *set)
{
    return set->abi_version == CG_ABI_VERSION && set->struct_size >= sizeof(cg_lane_set_t) && cg_lane_block_cpu_has(set->cpu);
}

/* ---- the block ---- */

static void cg_lane_block_layout_events(cg_lanes_run_t *run, char *base, size_t *offset)
{
    const int64_t lanes = run->lanes, rows = run->n_observed * lanes, some = run->n_observed > 0 ? lanes : 0;
    double **const by_index[4] = {&run->sign, &run->enabled, &run->end, &run->scale};
    double **const by_lane[] = {&run->index,    &run->stop_kept,   &run->h_kept,
                                &run->end_kept, &run->anchor_kept, &run->count_kept};
    run->towards = cg_take(base, offset, run->n_observed);
    for (int i = 0; i < 4; i++) {
        *by_index[i] = cg_take(base, offset, rows);
    }
    run->samples = cg_take(base, offset, CG_NODES * rows);
    for (size_t i = 0; i < sizeof by_lane / sizeof *by_lane; i++) {
        *by_lane[i] = cg_take(base, offset, some);
    }
    run->landing = (int64_t *)(void *)cg_take(base, offset, some);
    run->have_end = (int64_t *)(void *)cg_take(base, offset, some);
    run->detector = cg_take_bytes(base, offset, sizeof *run->detector * (size_t)some);
    for (int64_t lane = 0; lane < some; lane++) {
        cg_detector_t *const detector = cg_take_bytes(base, offset, cg_detector_size(run->model, 0));
        if (base != NULL) {
            run->detector[lane] = detector;
        }
    }
    run->single = cg_take_bytes(base, offset, some > 0 ? cg_run_size(run->model, run->info->name) : 0);
}

/* In one piece, so that one loop copies what belongs to a lane. */
static void cg_lane_block_layout_carried(cg_lanes_run_t *run, char *base, size_t *offset)
{
    double **const reals[7] = {&run->t, &run->t_stop,   &run->mark,    &run->h,
                               &run->log_old, &run->t_anchor, &run->n_anchor};
    int64_t **const counts[9] = {&run->n_trials, &run->n_rejected, &run->n_rhs,  &run->rejected, &run->active,
                                 &run->fresh,    &run->unstarted,  &run->status, &run->row};
    double **const inputs[3] = {&run->u, &run->u_time, &run->u_value};
    run->n_carried = 7 + 9 + (4 + CG_CURVE) * run->n_u + cg_lanes_p_rows(run);
    run->carried = cg_take(base, offset, (int64_t)run->n_carried * run->lanes);
    if (base == NULL) {
        return;
    }
    double *row = run->carried;
    for (int i = 0; i < 7; i++, row += run->lanes) {
        *reals[i] = row;
    }
    for (int i = 0; i < 9; i++, row += run->lanes) {
        *counts[i] = (int64_t *)(void *)row;
    }
    for (int i = 0; i < 3; i++, row += (int64_t)run->n_u * run->lanes) {
        *inputs[i] = row;
    }
    run->u_curve = row;
    row += (int64_t)CG_CURVE * run->n_u * run->lanes;
    run->knots = (int64_t *)(void *)row;
    run->p = row + (int64_t)run->n_u * run->lanes;
}

static size_t cg_lane_block_layout(cg_lanes_run_t *run, char *base)
{
    const int64_t lanes = run->lanes;
    const int64_t alone = run->n + run->model->n_parameters + run->n_u + run->model->n_work; /* for a scalar kernel */
    size_t offset = CG_ALIGNED(sizeof(cg_lanes_run_t));
    double **const states[5] = {&run->x, &run->x_old, &run->x_trial, &run->f, &run->f_old};
    for (int i = 0; i < 5; i++) {
        *states[i] = cg_take(base, &offset, run->n * lanes);
    }
    run->k = cg_take(base, &offset, run->n_stages * run->n * lanes);
    run->coef = cg_take(base, &offset, run->n_dense * run->n * lanes);
    run->work = cg_take(base, &offset, run->set->n_work * lanes);
    run->start = cg_take(base, &offset, run->n_start * lanes);
    run->moved = cg_take(base, &offset, run->n * lanes > alone ? run->n * lanes : alone);
    run->atol = cg_take(base, &offset, run->n);
    cg_lane_block_layout_events(run, base, &offset);
    run->inside = cg_take(base, &offset, run->n * lanes);
    run->u_seen = cg_take(base, &offset, run->n_u * lanes);
    run->table = cg_take(base, &offset, run->adaptive ? 0 : (int64_t)CG_TABLED * 3 * run->n_u);
    run->widest = cg_take(base, &offset, lanes);
    run->t_old = cg_take(base, &offset, lanes);
    run->u_from = cg_take(base, &offset, lanes);
    run->u_until = cg_take(base, &offset, lanes);
    run->failed = (int64_t *)(void *)cg_take(base, &offset, lanes);
    run->failed_at = (int64_t *)(void *)cg_take(base, &offset, lanes);
    cg_lane_block_layout_carried(run, base, &offset);
    return offset;
}

static int cg_lane_block_set_up(cg_lanes_run_t *run, const cg_model_t *model, const cg_lane_set_t *set, const char *method)
{
    const cg_lane_method_t *const own = cg_lane_block_method(set, method);
    memset(run, 0, sizeof *run);
    if (own == NULL || set->n_lanes < 2 || set->n_lanes > CG_MOST_LANES || strcmp(set->digest, model->digest) != 0) {
        return CG_BAD_ARGUMENT;
    }
    run->model = model;
    run->set = set;
    run->info = &own->info;
    run->n_observed = set->watches ? model->n_guards + CG_CONTACT_OBSERVED * model->n_contacts : 0;
    run->prepare = own->prepare;
    run->advance = own->advance;
    run->dense = own->dense;
    run->lanes = set->n_lanes;
    run->n = model->n_states;
    run->n_start = cg_kernel(model, "correction_all") != NULL ? run->n : 0;
    run->n_u = model->n_inputs + model->n_modes;
    run->n_stages = own->info.n_stages;
    run->n_dense = own->info.n_dense;
    run->order = own->info.order;
    run->adaptive = own->info.adaptive;
    return CG_OK;
}

size_t cg_lanes_size(const cg_model_t *model, const cg_lane_set_t *set, const char *method)
{
    cg_lanes_run_t run;
    return cg_lane_block_set_up(&run, model, set, method) == CG_OK ? (size_t)CG_GROUPS * cg_lane_block_layout(&run, NULL) : 0;
}

cg_lanes_run_t *cg_lanes_group(cg_lanes_run_t *run, unsigned g)
{
    return (cg_lanes_run_t *)(void *)((char *)run + g * run->size);
}

int cg_lanes_init(cg_lanes_run_t *run, size_t size, const cg_model_t *model, const cg_lane_set_t *set,
                  const char *method)
{
    const size_t needed = cg_lanes_size(model, set, method);
    if (needed == 0 || size < needed || (uintptr_t)run % CG_ALIGN != 0) {
        return CG_BAD_ARGUMENT;
    }
    memset(run, 0, needed);
    for (unsigned g = 0; g < CG_GROUPS; g++) {
        cg_lanes_run_t *const group = (cg_lanes_run_t *)(void *)((char *)run + g * (needed / (size_t)CG_GROUPS));
        cg_lane_block_set_up(group, model, set, method);
        group->size = cg_lane_block_layout(group, (char *)group);
        CG_TRY(cg_lane_events_init(group));
    }
    return CG_OK;
}
