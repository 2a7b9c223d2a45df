/* cg_table.h: tables, which are piecewise polynomials on a grid of one to three arguments.
 *
 * One source for single trajectories and for lanes, like cg_math.h: each lane finds its cell and gathers its numbers, and
 * the polynomials are those of `cg_real_t`. Multiply-adds are written out, so that each lane has the bits of the scalar
 * instance. A model that has tables brings their numbers.
 *
 * An axis with n knots has n + 1 cells: before the first knot, between knots (a knot belongs to the cell on its right,
 * the last one to that on its left), and after the last. So nothing is decided outside: the numbers of these cells are
 * what holds there. In a cell with the origin s the polynomial is a sum of c_k (x - s)^k; its numbers are c_0, c_1 ...,
 * those of the last argument next to one another.
 */
#ifndef CG_TABLE_H
#define CG_TABLE_H

#include "cg_real.h"

#if defined(__GNUC__) && !defined(__clang__)
#define CG_TABLE_UNROLLED _Pragma("GCC unroll 8")
#else
#define CG_TABLE_UNROLLED
#endif
#ifdef __GNUC__
#define CG_TABLE_APART __attribute__((noinline))
#else
#define CG_TABLE_APART
#endif
#if CG_LANES > 1
#define CG_TABLE_OF(x, lane) ((x)[lane])
#else
#define CG_TABLE_OF(x, lane) (x)
#endif

/* Values at run time and how far apart those of a lane are: 1 if all lanes share them. */
#define CG_OF_LANES(...) (const double *)(__VA_ARGS__), CG_LANES

/* The range of knots is divided into equal parts; part 0 is before them, the last one after them. Where the parts are the
 * cells, `halvings` is 0. Else a part begins in the cell firsts[part], and steps of 2^(halvings - 1), ..., 2, 1 cells find a
 * later one. Cells begin at `begins`, where no number is after the last one. */
typedef struct {
    double first, last; /* knots */
    double start;       /* of the parts, where each knot is in its own also if it is rounded */
    double per_unit;    /* parts between the knots in a unit of the argument */
    double most;        /* such parts, less one */
    int knots, terms, halvings;
    const int *firsts;
    const double *begins, *origins; /* of the cells */
} cg_axis_t;

/* Places in an array. */
#if CG_LANES > 1
typedef int cg_places_t __attribute__((vector_size(CG_LANES * sizeof(int))));
#else
typedef int cg_places_t;
#endif

static CG_INLINE cg_places_t cg_table_places(cg_real_t x)
{
#if CG_LANES > 1 && (defined(__clang__) || __GNUC__ >= 9)
    return __builtin_convertvector(x, cg_places_t);
#else
    cg_places_t places;
    for (int lane = 0; lane < CG_LANES; lane++) {
        CG_TABLE_OF(places, lane) = (int)CG_TABLE_OF(x, lane);
    }
    return places;
#endif
}

/* What each lane has at its own place. */
static CG_INLINE cg_real_t cg_table_gather(const double *numbers, cg_places_t place)
{
#if CG_LANES == 8 && defined(__AVX512F__)
    return (cg_real_t)cg_mm512_i32gather_pd(numbers, place);
#elif CG_LANES == 4 && defined(__AVX2__)
    return (cg_real_t)cg_mm256_i32gather_pd(numbers, place);
#else
    cg_real_t all;
    for (int lane = 0; lane < CG_LANES; lane++) {
        CG_TABLE_OF(all, lane) = numbers[CG_TABLE_OF(place, lane)];
    }
    return all;
#endif
}

/* The cell that each lane's argument is in; some cell for NaN. */
static CG_INLINE cg_places_t cg_table_cell(const cg_axis_t *axis, cg_real_t x)
{
    const cg_real_t first = cg_splat(axis->first), last = cg_splat(axis->last), one = cg_splat(1.0);
    const cg_real_t place = cg_larger((x - cg_splat(axis->start)) * cg_splat(axis->per_unit), cg_splat(0.0));
    const cg_real_t inside = cg_smaller(place, cg_splat(axis->most)) + one;
    const cg_real_t before = cg_where(cg_lt(x, first), cg_splat(0.0), inside);
    cg_places_t cell = cg_table_places(cg_where(cg_lt(last, x), cg_splat(axis->most + 2.0), before));

    if (axis->halvings > 0) {
        for (int lane = 0; lane < CG_LANES; lane++) {
            CG_TABLE_OF(cell, lane) = axis->firsts[CG_TABLE_OF(cell, lane)];
        }
        for (int step = 1 << (axis->halvings - 1); step > 0; step /= 2) {
            const cg_mask_t later = cg_le(cg_table_gather(axis->begins, cell + step), x);
            cell += cg_table_places(cg_where(later, cg_splat((double)step), cg_splat(0.0)));
        }
    }
    return cell;
}

/* Moves every lane's place to its cell along one axis, of `size` numbers; the distance from the cell's origin. */
static CG_INLINE cg_real_t cg_table_enter(const cg_axis_t *axis, int size, cg_places_t *place, cg_real_t x)
{
    const cg_places_t cell = cg_table_cell(axis, x);

    *place += cell * size;
    return x - cg_table_gather(axis->origins, cell);
}

/* k (k - 1) ... of `order` factors: of the derivative of the k-th power. */
static CG_INLINE double cg_table_falling(int k, int order)
{
    double product = 1.0;

    CG_TABLE_UNROLLED
    for (int i = 0; i < order; i++) {
        product *= (double)(k - i);
    }
    return product;
}

/* The derivative of an order along one axis at the distance u from the origin; the numbers begin at each lane's place. */
static CG_INLINE cg_real_t cg_table_line(const cg_axis_t *axis, int order, const double *numbers, cg_places_t place, cg_real_t u)
{
    int k = axis->terms - 1;
    cg_real_t sum = cg_splat(cg_table_falling(k, order)) * cg_table_gather(numbers + k, place);

    CG_TABLE_UNROLLED
    for (k--; k >= order; k--) {
        sum = cg_fma(sum, u, cg_splat(cg_table_falling(k, order)) * cg_table_gather(numbers + k, place));
    }
    return sum;
}

/* The derivative of the orders of a table of n arguments x: its axes, its numbers. */
static CG_INLINE cg_real_t cg_table_value(int n, const cg_axis_t *axes, const double *numbers, const int *orders,
                                          const cg_real_t *x)
{
    const int last = n - 1, middle = n > 1 ? n - 2 : 0, terms = axes[last].terms;
    const int lines = n > 1 ? axes[middle].terms : 1, of_line = n > 1 ? orders[middle] : 0;
    const int planes = n > 2 ? axes[0].terms : 1, of_plane = n > 2 ? orders[0] : 0;
    cg_places_t place = {0};
    cg_real_t u[3], plane = cg_splat(0.0), sum = plane;

    CG_TABLE_UNROLLED
    for (int axis = 0; axis < n; axis++) {
        place *= axes[axis].knots + 1;
        u[axis] = cg_table_enter(&axes[axis], 1, &place, x[axis]);
    }
    place *= planes * lines * terms;
    CG_TABLE_UNROLLED
    for (int i = planes - 1; i >= of_plane; i--) {
        CG_TABLE_UNROLLED
        for (int k = lines - 1; k >= of_line; k--) {
            const double *const row = numbers + (i * lines + k) * terms;
            const cg_real_t line = cg_table_line(&axes[last], orders[last], row, place, u[last]);
            const cg_real_t times = cg_splat(cg_table_falling(k, of_line));
            plane = k == lines - 1 ? times * line : cg_fma(plane, u[middle], times * line);
        }
        plane = cg_splat(cg_table_falling(i, of_plane)) * plane;
        sum = i == planes - 1 ? plane : cg_fma(sum, u[0], plane);
    }
    return sum;
}

/* A table whose values are given at run time is a sum over them, each times a polynomial of each argument. Along an axis
 * `width` values of the `count`, next to one another, count in a cell, whose numbers are the place of the first of them
 * and their polynomials. The values of the last axis are next to one another. */
typedef struct {
    int count, width;
    const double *numbers;
} cg_basis_t;

/* The sum of the values: `weights` has room for what those that count along each axis count. */
static CG_INLINE cg_real_t cg_table_sum(int n, const cg_axis_t *axes, const cg_basis_t *bases, const int *orders,
                                        const cg_real_t *x, cg_real_t *weights, const double *values, int apart)
{
    cg_places_t first = {0}, own = {0};
    cg_real_t *weight = weights, sum = cg_splat(0.0);

    for (int axis = 0; axis < n; axis++) {
        const int terms = axes[axis].terms;
        const double *const numbers = bases[axis].numbers;
        cg_places_t place = {0};
        const cg_real_t u = cg_table_enter(&axes[axis], 1 + bases[axis].width * terms, &place, x[axis]);
        for (int j = 0; j < bases[axis].width; j++) {
            *weight++ = cg_table_line(&axes[axis], orders[axis], numbers + 1 + j * terms, place, u);
        }
        first = first * bases[axis].count + cg_table_places(cg_table_gather(numbers, place));
    }
    const cg_basis_t *const last = &bases[n - 1];
    const int planes = n > 2 ? bases[n - 3].width : 1, lines = n > 1 ? bases[n - 2].width : 1;

    for (int lane = 1; lane < CG_LANES; lane++) {
        CG_TABLE_OF(own, lane) = apart > 1 ? lane : 0;
    }
    first = first * apart + own;
    weight -= last->width;
    for (int i = 0; i < planes * lines; i++) {
        const int plane = i / lines, line = i % lines;
        const int start = n > 1 ? (plane * bases[n - 2].count + line) * last->count : 0;
        cg_real_t part = cg_splat(0.0);

        for (int j = 0; j < last->width; j++) {
            part = cg_fma(weight[j], cg_table_gather(values + (start + j) * apart, first), part);
        }
        part = n > 1 ? part * weight[line - lines] : part;
        sum = n > 2 ? cg_fma(part, weights[plane], sum) : sum + part;
    }
    return sum;
}

/* What the value of a number counts. */
static CG_INLINE cg_real_t cg_table_basis(int n, const cg_axis_t *axes, const cg_basis_t *bases, const int *orders,
                                          cg_real_t number, const cg_real_t *x)
{
    cg_real_t product = cg_splat(1.0);
    cg_places_t rest = cg_table_places(number);

    for (int axis = n - 1; axis >= 0; axis--) {
        const int terms = axes[axis].terms, count = bases[axis].count, width = bases[axis].width;
        const double *const numbers = bases[axis].numbers;
        cg_places_t place = {0};
        cg_real_t counts = cg_splat(0.0);
        const cg_real_t u = cg_table_enter(&axes[axis], 1 + width * terms, &place, x[axis]);
        const cg_places_t nth = rest % count - cg_table_places(cg_table_gather(numbers, place));
        for (int lane = 0; lane < CG_LANES; lane++) {
            const int j = CG_TABLE_OF(nth, lane), inside = 0 <= j && j < width;

            CG_TABLE_OF(place, lane) += 1 + (inside ? j * terms : 0);
            CG_TABLE_OF(counts, lane) = inside ? 1.0 : 0.0;
        }
        rest /= count;
        product = product * counts * cg_table_line(&axes[axis], orders[axis], numbers, place, u);
    }
    return product;
}

#endif /* CG_TABLE_H */
