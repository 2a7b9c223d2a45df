/* cg_method_table.c: the methods by name; see cg_driver.h. They are instantiated here once, for any model, through its
 * table; with CG_NO_TABLE there are only those that are compiled into a model.
 */
#include "cg_control.h"
#include "step/cg_internal.h"
#include "cg_stiff.h"

#include <string.h>

#ifdef CG_NO_TABLE
static const cg_method_t cg_methods[] = {{{NULL, NULL, 0, 0, 0, 0, 0, 0}, NULL, NULL}};
#else
#define CG_FN(name) cg_table_##name
#include "cg_method.h"
#include "cg_rodas5p.h"
#include "cg_auto.h"
static const cg_method_t cg_methods[] = {
    CG_METHOD_LIST(CG_METHOD) CG_METHOD(rodas5p) CG_METHOD(auto) CG_METHOD_END
};
#endif

const cg_method_t *cg_method_table(void) { return cg_methods; }

static const cg_method_t *cg_method_table_entry(const cg_method_t *table, const char *name)
{
    for (const cg_method_t *method = table; name != NULL && method != NULL && method->info.name != NULL; method++) {
        if (method->info.layout == CG_RUN_LAYOUT && strcmp(method->info.name, name) == 0) {
            return method;
        }
    }
    return NULL;
}

int cg_method_find(const cg_model_t *model, const char *name, int32_t flags, cg_method_t *found)
{
    const cg_method_t *const own = cg_method_table_entry(model->methods, name);
    const cg_method_t *const general = cg_method_table_entry(cg_methods, name);
    const cg_method_t *const chosen = own != NULL && !(general != NULL && (flags & CG_RUN_TABLE)) ? own : general;
    if (chosen != NULL) {
        *found = *chosen;
    }
    return chosen != NULL;
}
