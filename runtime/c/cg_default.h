/* cg_default.h: the method of a run that names none, the same for single runs, ensembles, batches and FMUs.
 *
 * It depends on the larger of rtol and the smallest atol, and on whether the model has events or contacts: such models
 * take shorter steps, of which all need the interpolant, and vern9 has the most stages for it. The table has the method
 * that was the fastest at equal error over the catalogue; bench/bench_methods.py measures it.
 */
#ifndef CG_DEFAULT_H
#define CG_DEFAULT_H

#include "chaplygin.h"

#include <math.h>

/* atol: the smallest of all states. */
static inline const char *cg_default_method(const cg_model_t *model, double rtol, double atol)
{
    static const struct {
        double tolerance; /* the largest of the row */
        const char *smooth, *hybrid;
    } table[] = {{1e-13, "vern9", "vern9"}, {1e-5, "vern9", "dop853"}, {HUGE_VAL, "dop853", "dop853"}};
    const double tolerance = rtol > atol ? rtol : atol;
    int row = 0;
    while (tolerance > table[row].tolerance) {
        row++;
    }
    return model->n_events + model->n_contacts > 0 ? table[row].hybrid : table[row].smooth;
}

#endif /* CG_DEFAULT_H */
