/* dense_twice.c: a lane set whose interpolants are computed twice, to the same numbers: what they cost is the difference
 * between an ensemble with it and one with the set itself.
 */
#include "cg_lanes.h"

#include <string.h>

static cg_lane_set_t cg_twice;
static cg_lane_method_t cg_methods[2]; /* the method, and the end of the table */
static void (*cg_original)(cg_lanes_run_t *run);

static void cg_dense_twice(cg_lanes_run_t *run)
{
    cg_original(run);
    run->calls = 0;
    cg_original(run);
}

/* A copy of `set` with this method alone; NULL: there is no set, or it does not have the method. One copy at a time. */
const cg_lane_set_t *cg_with_dense_twice(const cg_lane_set_t *set, const char *method)
{
    if (set == NULL) {
        return NULL;
    }
    const cg_lane_method_t *own = set->methods;
    while (own->info.name != NULL && strcmp(own->info.name, method) != 0) {
        own++;
    }
    if (own->info.name == NULL) {
        return NULL;
    }
    cg_methods[0] = *own;
    cg_original = own->dense;
    cg_methods[0].dense = cg_dense_twice;
    cg_twice = *set;
    cg_twice.methods = cg_methods;
    return &cg_twice;
}
