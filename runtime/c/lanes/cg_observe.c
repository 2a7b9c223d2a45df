/* cg_observe.c: integrals and extremes along trajectories; see cg_observe.h. */
#include "cg_observe.h"
#include "cg_lanes_internal.h"
#include "step/cg_memory.h"
#include "cg_search.h"
#include "tangents/cg_survey.h"

#include <float.h>
#include <string.h>

/* ---- the block ---- */

/* The inner Gauss-Lobatto nodes above the middle of a step, for 5 nodes, 6 and so on: roots of the derivative of a
 * Legendre polynomial. */
static const double cg_lobatto[CG_MOST_LOBATTO - 4][3] = {
    {0.8273268353539885719},
    {0.8825276619647323464, 0.6426157582403225482},
    {0.9151119481392834649, 0.7344243967353571069},
    {0.9358700742548033077, 0.7958500907165711511, 0.6046496089512394344},
    {0.9498789977057300787, 0.8385931397553688767, 0.6815587319130890794},
};

/* The Legendre polynomial of a degree. */
static double cg_observe_legendre(int32_t degree, double x)
{
    double before = 1.0, p = x;
    for (int32_t k = 2; k <= degree; k++) {
        const double next = ((2.0 * k - 1.0) * x * p - (k - 1.0) * before) / k;
        before = p;
        p = next;
    }
    return p;
}

/* Nodes whose quadrature has a degree above the order of the method by 3 or more. */
static void cg_observe_rule_begin(cg_rule_t *rule, int32_t order)
{
    const int32_t wanted = order / 2 + 3;
    const int32_t n = wanted < 5 ? 5 : wanted > CG_MOST_LOBATTO ? CG_MOST_LOBATTO : wanted;
    const int32_t last = n - 1;
    double *const nodes = rule->nodes;
    rule->n_nodes = n;
    nodes[0] = 0.0;
    nodes[last] = 1.0;
    nodes[n / 2] = 0.5; /* if n is odd; else overwritten */
    for (int32_t j = 0; j < (n - 2) / 2; j++) {
        nodes[last - 1 - j] = cg_lobatto[n - 5][j];
        nodes[1 + j] = 1.0 - nodes[last - 1 - j];
    }
    double own = 0.0; /* the derivative of a constant is zero */
    for (int32_t j = 0; j < n; j++) {
        const double p = cg_observe_legendre(last, 2.0 * nodes[j] - 1.0);
        rule->weights[j] = 1.0 / (n * last * p * p);
        if (j < last) { /* the barycentric weights are 1 / p */
            rule->slope[j] = 1.0 / (p * (1.0 - nodes[j]));
            own -= rule->slope[j];
        }
    }
    rule->slope[last] = own;
}

static size_t cg_observe_layout(cg_observer_t *observer, char *base)
{
    const cg_model_t *const model = observer->model;
    const cg_companion_t *const companion = observer->companion;
    const int64_t lanes = observer->lanes, values = observer->n_values * lanes, rows = observer->n_rows * lanes;
    const int64_t parts = observer->n_rows > observer->n_values ? 1 : 0;
    size_t offset = CG_ALIGNED(sizeof(cg_observer_t));
    int32_t longest = model->n_outputs > model->n_invariants ? model->n_outputs : model->n_invariants;
    observer->value = cg_take(base, &offset, values);
    observer->more = cg_take(base, &offset, values);
    observer->found = cg_take(base, &offset, CG_SURVEYED * values);
    observer->out = cg_take(base, &offset, rows);
    observer->samples = cg_take(base, &offset, CG_MOST_LOBATTO * rows);
    observer->whole = cg_take(base, &offset, parts * CG_MOST_LOBATTO * rows);
    observer->from = cg_take(base, &offset, lanes);
    observer->to = cg_take(base, &offset, lanes);
    observer->length = cg_take(base, &offset, lanes);
    observer->cuts = (cg_cuts_t *)cg_take_bytes(base, &offset, sizeof(cg_cuts_t) * (size_t)(parts * lanes));
    observer->theta = cg_take(base, &offset, lanes);
    observer->t = cg_take(base, &offset, lanes);
    observer->x = cg_take(base, &offset, CG_PADDED(model->n_states) * lanes);
    observer->work = cg_take(base, &offset, companion != NULL ? companion->n_work * lanes : longest);
    observer->status = (int32_t *)cg_take_bytes(base, &offset, sizeof(int32_t) * (size_t)lanes);
    observer->counted = (int64_t *)cg_take_bytes(base, &offset, sizeof(int64_t) * (size_t)lanes);
    return offset;
}

/* What does not need the block. CG_BAD_ARGUMENT: see cg_observer_init. */
static int cg_observe_set_up(cg_observer_t *observer, const cg_model_t *model, const cg_companion_t *companion,
                             int32_t n_values)
{
    memset(observer, 0, sizeof *observer);
    observer->model = model;
    observer->companion = companion;
    observer->n_values = n_values;
    observer->n_rows = n_values;
    observer->lanes = companion != NULL ? companion->n_lanes : 1;
    if (companion == NULL) {
        return CG_OK;
    }
    const int fits = companion->abi_version == CG_ABI_VERSION && companion->struct_size == sizeof *companion
        && companion->n_values == n_values && companion->n_lanes <= CG_MOST_LANES
        && strcmp(companion->digest, model->digest) == 0;
    observer->n_rows += fits ? companion->n_guards : 0;
    return fits ? CG_OK : CG_BAD_ARGUMENT;
}

size_t cg_observer_size(const cg_model_t *model, const cg_companion_t *companion, int32_t n_values)
{
    cg_observer_t observer;
    cg_observe_set_up(&observer, model, companion, n_values);
    return cg_observe_layout(&observer, NULL);
}

int cg_observer_init(cg_observer_t *observer, const cg_model_t *model, const cg_companion_t *companion,
                     const cg_quantity_t *quantities, const int32_t *kinds, int32_t n_values, int32_t order)
{
    const int status = cg_observe_set_up(observer, model, companion, n_values);
    if (status == CG_OK) {
        observer->quantities = quantities;
        observer->kinds = kinds;
        cg_observe_layout(observer, (char *)observer);
        cg_observe_rule_begin(&observer->rule, order);
    }
    return status;
}

void cg_observer_begin(cg_observer_t *observer, int32_t lane)
{
    const double nan = HUGE_VAL - HUGE_VAL;
    for (int32_t i = 0; i < observer->n_values; i++) {
        const int32_t at = i * observer->lanes + lane, kind = observer->kinds[i];
        observer->value[at] = kind == CG_OBSERVED_INTEGRAL ? 0.0
            : kind == CG_OBSERVED_MAXIMUM                  ? -HUGE_VAL
                                                           : HUGE_VAL;
        observer->more[at] = kind == CG_OBSERVED_INTEGRAL ? 0.0 : nan;
    }
}

/* ---- one step of all lanes ---- */

enum cg_place { CG_AT_START, CG_AT_END, CG_INSIDE /* at observer->theta */ };

/* A step to be taken in, and how to evaluate the expressions at a place in it. */
typedef struct cg_observed_step {
    cg_observer_t *observer;
    int (*evaluate)(const struct cg_observed_step *step, enum cg_place place, double *out);
    cg_run_t *run;         /* of one trajectory, or NULL */
    cg_lanes_run_t *group;
    const double *t_old;   /* [lanes] */
    const double *t;
} cg_observed_step_t;

static double cg_observe_time_within(const cg_observed_step_t *step, int32_t lane, double theta)
{
    return step->t_old[lane] + theta * (step->t[lane] - step->t_old[lane]);
}

/* A fraction of the part of the step that is taken in, as a fraction of the step; its ends exactly, since a jump may be
 * one rounding error away. */
static double cg_observe_within(const cg_observer_t *observer, int32_t lane, double fraction)
{
    const double from = observer->from[lane], to = observer->to[lane];
    return fraction == 1.0 ? to : from + fraction * (to - from);
}

/* Where a kernel failed, its `count` results are NaN. */
static void cg_observe_spoil(const cg_observer_t *observer, double *values, int32_t count)
{
    const int32_t lanes = observer->lanes;
    int32_t some = CG_OK;
    for (int32_t lane = 0; lane < lanes; lane++) {
        some |= observer->status[lane];
    }
    for (int32_t lane = 0; some != CG_OK && lane < lanes; lane++) {
        for (int32_t i = 0; observer->status[lane] != CG_OK && i < count; i++) {
            values[i * lanes + lane] = HUGE_VAL - HUGE_VAL;
        }
    }
}

/* The sign that makes an extreme a maximum. */
static double cg_observe_sign(const cg_observer_t *observer, int32_t i)
{
    return observer->kinds[i] == CG_OBSERVED_MINIMUM ? -1.0 : 1.0;
}

/* A value of expression i in a lane; a NaN stays. */
static void cg_observe_meet(cg_observer_t *observer, int32_t i, int32_t lane, double value, double t)
{
    const int32_t at = i * observer->lanes + lane;
    const double sign = cg_observe_sign(observer, i);
    if (sign * value > sign * observer->value[at] || value != value) {
        observer->value[at] = value;
        observer->more[at] = t;
    }
}

/* Adds the quadrature of a part of the step to the integral i: compensated summation, as W. Kahan has it. */
static void cg_observe_add(const cg_observed_step_t *step, int32_t i)
{
    cg_observer_t *const observer = step->observer;
    const int32_t lanes = observer->lanes;
    const double *const mean = observer->found + (CG_SURVEY_MEAN * observer->n_values + i) * lanes;
    double *const value = observer->value + i * lanes;
    double *const more = observer->more + i * lanes;
    for (int32_t lane = 0; lane < lanes; lane++) {
        if (observer->counted[lane]) {
            const double term = (step->t[lane] - step->t_old[lane]) * observer->length[lane] * mean[lane] - more[lane];
            const double total = value[lane] + term;
            more[lane] = (total - value[lane]) - term;
            value[lane] = total;
        }
    }
}

/* The derivative of expression i in a lane at the end of the step, or at its start, per length of the step. */
static double cg_observe_slope(const cg_observer_t *observer, const double *samples, int at_end)
{
    const int32_t row = observer->n_rows * observer->lanes, last = observer->rule.n_nodes - 1;
    double sum = 0.0;
    for (int32_t j = 0; j <= last; j++) {
        sum += observer->rule.slope[j] * samples[(at_end ? j : last - j) * row];
    }
    return at_end ? sum : -sum;
}

/* How far a maximum next to node j can be above it; 0: there is none. sign * samples[j * row] is to be large. */
static double cg_observe_rise(const cg_observer_t *observer, const double *samples, double sign, int32_t j)
{
    const int32_t row = observer->n_rows * observer->lanes, last = observer->rule.n_nodes - 1;
    const double here = samples[j * row];
    const double left = j > 0 ? sign * (here - samples[(j - 1) * row]) : 0.0;
    const double right = j < last ? sign * (here - samples[(j + 1) * row]) : 0.0;
    double rise = left > right ? left : right;
    if (!(left >= 0.0 && right >= 0.0)) {
        return 0.0;
    }
    if (j == 0) {
        rise = sign * cg_observe_slope(observer, samples, 0) * observer->rule.nodes[1];
    } else if (j == last) {
        rise = -sign * cg_observe_slope(observer, samples, 1) * observer->rule.nodes[1];
    }
    return rise > 16.0 * DBL_EPSILON * fabs(here) ? rise : 0.0; /* less is rounding */
}

/* Searches the extremes of expression i beside node j, in the lanes of `wanted`. */
static int cg_observe_search(const cg_observed_step_t *step, int32_t i, int32_t j, const int64_t *wanted)
{
    cg_observer_t *const observer = step->observer;
    const int32_t lanes = observer->lanes, row = observer->n_rows * lanes, last = observer->rule.n_nodes - 1;
    const double *const nodes = observer->rule.nodes;
    const double sign = cg_observe_sign(observer, i);
    cg_search_t searches[CG_MOST_LANES];
    int32_t open = 0;
    for (int32_t lane = 0; lane < lanes; lane++) {
        const double *const here = observer->samples + j * row + i * lanes + lane;
        if (j == 0 || j == last) {
            cg_search_begin(&searches[lane], nodes[j == 0 ? 0 : j - 1], nodes[j == 0 ? 1 : j]);
        } else {
            cg_search_begin_at(&searches[lane], nodes[j - 1], nodes[j], nodes[j + 1], sign * here[-row], sign * *here,
                               sign * here[row]);
        }
        open += wanted[lane] != 0;
    }
    for (int32_t round = 0; open > 0 && round < CG_SEARCH_MOST; round++) {
        for (int32_t lane = 0; lane < lanes; lane++) {
            const int searching = wanted[lane] && !cg_search_done(&searches[lane]);
            observer->theta[lane] = cg_observe_within(observer, lane, searching ? cg_search_next(&searches[lane]) : 0.5);
        }
        CG_TRY(step->evaluate(step, CG_INSIDE, observer->out));
        for (int32_t lane = 0; lane < lanes; lane++) {
            if (wanted[lane] && !cg_search_done(&searches[lane])) {
                const double value = observer->out[i * lanes + lane];
                cg_observe_meet(observer, i, lane, value, cg_observe_time_within(step, lane, observer->theta[lane]));
                cg_search_take(&searches[lane], sign * value);
                open -= cg_search_done(&searches[lane]);
            }
        }
    }
    return CG_OK;
}

/* Searches the extreme i between the nodes where it can be better than the best value so far. */
static int cg_observe_refine(const cg_observed_step_t *step, int32_t i)
{
    cg_observer_t *const observer = step->observer;
    const int32_t lanes = observer->lanes, row = observer->n_rows * lanes, last = observer->rule.n_nodes - 1;
    const double *const samples = observer->samples + i * lanes;
    const double sign = cg_observe_sign(observer, i);
    for (int32_t j = 0; j <= last; j++) {
        int64_t wanted[CG_MOST_LANES];
        int some = 0;
        for (int32_t lane = 0; lane < lanes; lane++) {
            const double rise = observer->counted[lane] ? cg_observe_rise(observer, samples + lane, sign, j) : 0.0;
            const double most = sign * samples[j * row + lane] + rise;
            wanted[lane] = rise > 0.0 && most > sign * observer->value[i * lanes + lane];
            some = some || wanted[lane];
        }
        CG_TRY(some ? cg_observe_search(step, i, j, wanted) : CG_OK);
    }
    return CG_OK;
}

/* Takes in the samples of the extreme i. */
static int cg_observe_follow(const cg_observed_step_t *step, int32_t i)
{
    cg_observer_t *const observer = step->observer;
    const int32_t lanes = observer->lanes, row = observer->n_values * lanes, last = observer->rule.n_nodes - 1;
    const double *const found = observer->found + i * lanes;
    const double sign = cg_observe_sign(observer, i);
    int some = 0;
    for (int32_t lane = 0; lane < lanes; lane++) {
        if (observer->counted[lane]) {
            const double mean = found[CG_SURVEY_MEAN * row + lane];
            const int32_t j = (int32_t)found[CG_SURVEY_PLACE * row + lane];
            const double theta = cg_observe_within(observer, lane, observer->rule.nodes[j]);
            const double t = j < last || observer->to[lane] < 1.0 ? cg_observe_time_within(step, lane, theta) : step->t[lane];
            const double best = sign * found[CG_SURVEY_BEST * row + lane];
            cg_observe_meet(observer, i, lane, mean != mean ? mean : best, t);
            some = some || found[CG_SURVEY_BOUND * row + lane] > sign * observer->value[i * lanes + lane];
        }
    }
    return some ? cg_observe_refine(step, i) : CG_OK;
}

/* Samples the expressions at the nodes of the parts of all lanes. */
static int cg_observe_sample(const cg_observed_step_t *step, int whole)
{
    cg_observer_t *const observer = step->observer;
    const int32_t lanes = observer->lanes, row = observer->n_rows * lanes, last = observer->rule.n_nodes - 1;
    for (int32_t j = 0; j <= last; j++) {
        for (int32_t lane = 0; lane < lanes; lane++) {
            observer->theta[lane] = cg_observe_within(observer, lane, observer->rule.nodes[j]);
        }
        const enum cg_place place = whole && j == 0 ? CG_AT_START : whole && j == last ? CG_AT_END : CG_INSIDE;
        CG_TRY(step->evaluate(step, place, observer->samples + j * row));
    }
    return CG_OK;
}

static void cg_observe_survey(cg_observer_t *observer)
{
    if (observer->companion != NULL) {
        observer->companion->survey(&observer->rule, observer->kinds, observer->samples, observer->found);
    } else {
        cg_survey_all(&observer->rule, observer->kinds, observer->n_values, observer->n_rows, observer->samples,
                      observer->found);
    }
}

/* Takes in the survey of expression i. */
static int cg_observe_count(const cg_observed_step_t *step, int32_t i)
{
    if (step->observer->kinds[i] == CG_OBSERVED_INTEGRAL) {
        cg_observe_add(step, i);
        return CG_OK;
    }
    return cg_observe_follow(step, i);
}

/* ---- a step with corners ---- */

typedef struct cg_guard_place {
    const cg_observed_step_t *step;
    int32_t lane;
    int32_t row;
} cg_guard_place_t;

static int cg_observe_guard_value(void *context, double theta, double *g)
{
    const cg_guard_place_t *const place = context;
    cg_observer_t *const observer = place->step->observer;
    for (int32_t lane = 0; lane < observer->lanes; lane++) {
        observer->theta[lane] = theta;
    }
    const int status = place->step->evaluate(place->step, CG_INSIDE, observer->out);
    *g = observer->out[place->row * observer->lanes + place->lane];
    return status;
}

/* Whether the samples of a guard leave no doubt that it has one sign in the step. */
static int cg_observe_guard_is_far(const cg_observer_t *observer, const double *samples)
{
    double least = samples[0], most = samples[0];
    for (int32_t j = 1; j < observer->rule.n_nodes; j++) {
        const double here = samples[j * observer->n_rows * observer->lanes];
        least = here < least ? here : least;
        most = here > most ? here : most;
        if (here != here) {
            return 0;
        }
    }
    return least > most - least || most < least - most;
}

/* The cuts of the expression that has the guards first .. end - 1; the result in *most is the largest number of a lane. */
static int cg_observe_cut(const cg_observed_step_t *step, int32_t first, int32_t end, int32_t *most)
{
    cg_observer_t *const observer = step->observer;
    const int32_t lanes = observer->lanes, last = observer->rule.n_nodes - 1, row = observer->n_rows * lanes;
    *most = 0;
    for (int32_t lane = 0; lane < lanes; lane++) {
        cg_cuts_t *const cuts = &observer->cuts[lane];
        cuts->n = 0;
        for (int32_t k = first; observer->counted[lane] && k < end; k++) {
            cg_guard_place_t place = {step, lane, observer->n_values + k};
            const cg_guard_t guard = {cg_observe_guard_value, &place};
            const double *const samples = observer->samples + place.row * lanes + lane;
            CG_TRY(cg_observe_guard_is_far(observer, samples)
                ? CG_OK : cg_corners_add(cuts, &guard, samples[0], samples[last * row]));
        }
        cg_corners_order(cuts);
        *most = cuts->n > *most ? cuts->n : *most;
    }
    return CG_OK;
}

/* Where one part takes over from another: in the middle of the cut, so that nothing is lost where there is only a corner;
 * a cut at an end of the step has only one. */
static double cg_observe_middle(const cg_cuts_t *cuts, int32_t i)
{
    return cuts->lo[i] <= 0.0 ? 0.0 : cuts->hi[i] >= 1.0 ? 1.0 : 0.5 * (cuts->lo[i] + cuts->hi[i]);
}

/* The part of the step after `number` cuts of a lane; the result is whether there is one. */
static int cg_observe_part(cg_observer_t *observer, int32_t lane, int32_t number)
{
    const cg_cuts_t *const cuts = &observer->cuts[lane];
    const int32_t n = cuts->n;
    if (number > n) {
        return 0;
    }
    const double begins = number > 0 ? cg_observe_middle(cuts, number - 1) : 0.0;
    const double ends = number < n ? cg_observe_middle(cuts, number) : 1.0;
    observer->from[lane] = number > 0 ? cuts->hi[number - 1] : 0.0;
    observer->to[lane] = number < n ? cuts->lo[number] : 1.0;
    observer->length[lane] = ends - begins;
    return observer->from[lane] < observer->to[lane];
}

/* The states at the ends of the step are known better than from its interpolant: a guard can be zero there. */
static void cg_observe_keep_ends(cg_observer_t *observer, int32_t lane)
{
    const int32_t lanes = observer->lanes, last = observer->rule.n_nodes - 1, row = observer->n_rows * lanes;
    for (int32_t at = lane; at < row; at += lanes) {
        if (observer->from[lane] == 0.0) {
            observer->samples[at] = observer->whole[at];
        }
        if (observer->to[lane] == 1.0) {
            observer->samples[last * row + at] = observer->whole[last * row + at];
        }
    }
}

/* Takes in expression i part by part, in the lanes in which it has corners; those without follow as a whole. */
static int cg_observe_parts(const cg_observed_step_t *step, int32_t i, int32_t most)
{
    cg_observer_t *const observer = step->observer;
    const int32_t lanes = observer->lanes;
    const size_t bytes = sizeof(double) * (size_t)(observer->rule.n_nodes * observer->n_rows * lanes);
    int64_t counted[CG_MOST_LANES];
    int status = CG_OK;
    memcpy(counted, observer->counted, sizeof *counted * (size_t)lanes);
    memcpy(observer->whole, observer->samples, bytes);
    for (int32_t number = 0; number <= most && status == CG_OK; number++) {
        for (int32_t lane = 0; lane < lanes; lane++) {
            const int some = counted[lane] && observer->cuts[lane].n > 0 && cg_observe_part(observer, lane, number);
            observer->counted[lane] = some ? -1 : 0;
        }
        status = cg_observe_sample(step, 0);
        for (int32_t lane = 0; lane < lanes && status == CG_OK; lane++) {
            if (observer->counted[lane]) {
                cg_observe_keep_ends(observer, lane);
            }
        }
        if (status == CG_OK) {
            cg_observe_survey(observer);
            status = cg_observe_count(step, i);
        }
    }
    for (int32_t lane = 0; lane < lanes; lane++) {
        observer->from[lane] = 0.0;
        observer->to[lane] = observer->length[lane] = 1.0;
        observer->counted[lane] = observer->cuts[lane].n > 0 ? 0 : counted[lane];
    }
    memcpy(observer->samples, observer->whole, bytes);
    cg_observe_survey(observer);
    status = status == CG_OK ? cg_observe_count(step, i) : status;
    memcpy(observer->counted, counted, sizeof *counted * (size_t)lanes);
    return status;
}

static int cg_observe_take(const cg_observed_step_t *step)
{
    cg_observer_t *const observer = step->observer;
    const int32_t n_guards = observer->n_rows - observer->n_values;
    for (int32_t lane = 0; lane < observer->lanes; lane++) {
        observer->from[lane] = 0.0;
        observer->to[lane] = observer->length[lane] = 1.0;
    }
    int status = cg_observe_sample(step, 1);
    if (status == CG_OK) {
        cg_observe_survey(observer);
    }
    for (int32_t i = 0, guard = 0; i < observer->n_values && status == CG_OK; i++) {
        const int32_t first = guard;
        int32_t most = 0;
        while (guard < n_guards && observer->companion->guards[guard] == i) {
            guard++;
        }
        status = guard > first ? cg_observe_cut(step, first, guard, &most) : CG_OK;
        if (status == CG_OK) {
            status = most > 0 ? cg_observe_parts(step, i, most) : cg_observe_count(step, i);
        }
    }
    return status;
}

/* ---- one trajectory ---- */

/* The quantities that have names. */
static int cg_observe_named(cg_observer_t *observer, const cg_run_t *run, double t, const double *x, double *out)
{
    cg_kernel_t known = NULL;
    for (int32_t i = 0; i < observer->n_values; i++) {
        const cg_quantity_t *const q = &observer->quantities[i];
        if (q->kernel != NULL && q->kernel != known) {
            CG_TRY(q->kernel(t, x, run->p, run->u, observer->work, run->work));
            known = q->kernel;
        }
        out[i] = q->kernel != NULL            ? observer->work[q->index]
            : q->index < 0                    ? t
            : q->index < run->model->n_states ? x[q->index]
                                              : run->u[q->index - run->model->n_states];
    }
    return CG_OK;
}

/* The expressions at a time and a state. An error is one of the inputs. */
static int cg_observe_at(cg_observer_t *observer, cg_run_t *run, double t, const double *x, double *out)
{
    const double model_t = cg_time_of_model(run, t);
    CG_TRY(cg_evaluate_run_inputs(run, t, x));
    if (observer->companion == NULL) {
        observer->status[0] = cg_observe_named(observer, run, model_t, x, out);
    } else {
        observer->companion->values(&model_t, x, run->p, run->u, out, observer->status, observer->work);
    }
    cg_observe_spoil(observer, out, observer->n_rows);
    return CG_OK;
}

static int cg_observe_in_run(const cg_observed_step_t *step, enum cg_place place, double *out)
{
    cg_observer_t *const observer = step->observer;
    cg_run_t *const run = step->run;
    if (place != CG_INSIDE) {
        return place == CG_AT_START ? cg_observe_at(observer, run, run->t_old, run->x_old, out)
                                    : cg_observe_at(observer, run, run->t, run->x, out);
    }
    const double *const theta = observer->theta;
    if (observer->companion != NULL && !(run->input_kind & CG_INPUT_CALL)) {
        observer->companion->interpolate(theta, run->coef, run->n_dense, run->ld, observer->x);
    } else { /* every state may be needed */
        cg_dense_evaluate(run->coef, run->n_dense, run->ld, run->n, *theta, observer->x, 1);
    }
    return cg_observe_at(observer, run, cg_observe_time_within(step, 0, *theta), observer->x, out);
}

int cg_observe_run(void *context, cg_run_t *run, int stepped)
{
    cg_observer_t *const observer = context;
    const cg_observed_step_t step = {observer, cg_observe_in_run, run, NULL, &run->t_old, &run->t};
    if (!stepped) {
        const int status = cg_observe_at(observer, run, run->t, run->x, observer->out);
        for (int32_t i = 0; i < observer->n_values && status == CG_OK; i++) {
            if (observer->kinds[i] != CG_OBSERVED_INTEGRAL) {
                cg_observe_meet(observer, i, 0, observer->out[i], run->t);
            }
        }
        return status;
    }
    const int status = run->have_dense ? CG_OK : run->dense(run);
    if (status == CG_SINGULAR || status == CG_NONFINITE) { /* the step itself is good */
        observer->status[0] = status;
        cg_observe_spoil(observer, observer->value, observer->n_values);
        return CG_OK;
    }
    observer->counted[0] = -1;
    return status == CG_OK ? cg_observe_take(&step) : status;
}

/* ---- side by side ---- */

static int cg_observe_in_lanes(const cg_observed_step_t *step, enum cg_place place, double *out)
{
    cg_observer_t *const observer = step->observer;
    cg_lanes_run_t *const run = step->group;
    const int32_t lanes = run->lanes;
    const double *const t = place == CG_AT_START ? run->t_old : place == CG_AT_END ? run->t : observer->t;
    const double *const x = place == CG_AT_START ? run->x_old : place == CG_AT_END ? run->x : observer->x;
    if (place == CG_INSIDE) {
        for (int32_t lane = 0; lane < lanes; lane++) {
            observer->t[lane] = cg_observe_time_within(step, lane, observer->theta[lane]);
        }
        observer->companion->interpolate(observer->theta, run->coef, run->n_dense, run->n, observer->x);
    }
    const double *const u = run->input_kind != 0 ? run->u_seen : run->u;
    for (int32_t lane = 0; u != run->u && lane < lanes; lane++) {
        cg_lane_inputs(run, lane, t[lane], run->u_seen + lane, lanes);
    }
    observer->companion->values(t, x, run->p, u, out, observer->status, observer->work);
    cg_observe_spoil(observer, out, observer->n_rows);
    return CG_OK;
}

void cg_observe_lanes(cg_observer_t *observer, cg_lanes_run_t *run)
{
    const cg_observed_step_t step = {observer, cg_observe_in_lanes, NULL, run, run->t_old, run->t};
    int some = 0;
    for (int32_t lane = 0; lane < run->lanes; lane++) { /* after a rejected trial both times are the same */
        observer->counted[lane] = run->active[lane] && run->t[lane] != run->t_old[lane] ? -1 : 0;
        some = some || observer->counted[lane];
    }
    if (!some) {
        return;
    }
    cg_lane_record_interpolant(run);
    for (int32_t lane = 0; lane < run->lanes; lane++) {
        observer->status[lane] = observer->counted[lane] && run->failed[lane] ? CG_SINGULAR : CG_OK;
        run->n_rhs[lane] += !observer->counted[lane] ? 0 : run->failed[lane] ? run->failed_at[lane] : run->calls;
    }
    cg_observe_spoil(observer, observer->value, observer->n_values);
    cg_observe_take(&step);
}
