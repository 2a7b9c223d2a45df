/* cg_survey.h: what the samples of a step tell about the integrals and extremes of expressions, for all lanes. */
#ifndef CG_SURVEY_H
#define CG_SURVEY_H

#include "cg_companion.h"
#include "cg_real.h"

/* One expression: its samples are samples[j * row]; `sign` is -1 for a minimum. */
static CG_INLINE void cg_survey_one(const cg_rule_t *rule, const cg_real_t *samples, int32_t row, double sign,
                                    cg_real_t *found, int32_t next)
{
    const int32_t last = rule->n_nodes - 1;
    cg_real_t before = sign * samples[0];
    cg_real_t at_start = cg_splat(0.0), at_end = cg_splat(0.0); /* the slopes there */
    cg_real_t best = before, place = cg_splat(0.0), bound = before, left = cg_splat(0.0);
    for (int32_t j = 0; j <= last; j++) {
        const cg_real_t here = sign * samples[j * row];
        const cg_real_t right = j < last ? here - sign * samples[(j + 1) * row] : cg_splat(0.0);
        const cg_mask_t better = cg_lt(best, here);
        at_end += rule->slope[j] * here;
        at_start -= rule->slope[last - j] * here;
        place = cg_where(better, cg_splat((double)j), place);
        best = cg_where(better, here, best);
        left = here - before;
        if (j > 0 && j < last) { /* a parabola through three points is above the middle one by less than this */
            const cg_mask_t highest = cg_le(cg_splat(0.0), left) & cg_le(cg_splat(0.0), right);
            bound = cg_larger(bound, cg_where(highest, here + cg_larger(left, right), here));
        }
        before = here;
    }
    const cg_real_t first = sign * samples[0];
    const cg_mask_t falls = cg_le(sign * samples[row], first), rises = cg_le(cg_splat(0.0), left);
    bound = cg_larger(bound, cg_where(falls, first + rule->nodes[1] * at_start, first));
    bound = cg_larger(bound, cg_where(rises, before - rule->nodes[1] * at_end, before));
    found[CG_SURVEY_BEST * next] = best;
    found[CG_SURVEY_PLACE * next] = place;
    found[CG_SURVEY_BOUND * next] = bound;
}

/* found[CG_SURVEYED][n_values] from samples[n_nodes][row]. */
static CG_INLINE void cg_survey_all(const cg_rule_t *rule, const int32_t *kinds, int32_t n_values, int32_t row,
                                    const cg_real_t *samples, cg_real_t *found)
{
    for (int32_t i = 0; i < n_values; i++) {
        cg_real_t sum = cg_splat(0.0);
        for (int32_t j = 0; j < rule->n_nodes; j++) {
            sum += rule->weights[j] * samples[j * row + i];
        }
        found[CG_SURVEY_MEAN * n_values + i] = sum;
        if (kinds[i] != CG_OBSERVED_INTEGRAL) {
            const double sign = kinds[i] == CG_OBSERVED_MINIMUM ? -1.0 : 1.0;
            cg_survey_one(rule, samples + i, row, sign, found + i, n_values);
        }
    }
}

#endif /* CG_SURVEY_H */
