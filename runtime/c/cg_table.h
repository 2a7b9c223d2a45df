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
#define CG_OF_LANES(values) (const double *)(values), CG_LANES

/* The range of knots is divided into equal parts; part 0 is before them, the last one after them. Where the parts are the
 * cells, `halvings` is 0. Else it says how often the cells of part i, parts[i][0] to parts[i][1], have to be halved. */
typedef struct {
    double first, last; /* knots */
    double per_unit;    /* parts between the knots in a unit of the argument */
    double most;        /* such parts, less one */
    int knots, terms, halvings;
    const int (*parts)[2];
    const double *origins; /* of the cells; those between knots begin there */
} cg_axis_t;

/* The number of the part that each lane's argument is in; some part for NaN. */
static CG_INLINE cg_real_t cg_table_part(const cg_axis_t *axis, cg_real_t x)
{
    const cg_real_t first = cg_splat(axis->first), last = cg_splat(axis->last), one = cg_splat(1.0);
    const cg_real_t place = cg_larger((x - first) * cg_splat(axis->per_unit), cg_splat(0.0));
    const cg_real_t inside = cg_smaller(place, cg_splat(axis->most)) + one;

    return cg_where(cg_lt(last, x), cg_splat(axis->most + 2.0), cg_where(cg_lt(x, first), cg_splat(0.0), inside));
}

/* The cell of a number in a part. */
static CG_INLINE int cg_table_cell(const cg_axis_t *axis, int part, double x)
{
    if (axis->halvings == 0) {
        return part;
    }
    int low = axis->parts[part][0], high = axis->parts[part][1];
    for (int i = 1; i < axis->halvings; i++) {
        const int middle = (low + high + 1) / 2;
        const int right = middle == low || axis->origins[middle] <= x;
        low = right ? middle : low;
        high = right ? high : middle - 1;
    }
    return axis->origins[high] <= x ? high : low; /* at most one more */
}

/* What each lane has at its own place. */
static CG_INLINE cg_real_t cg_table_gather(const double *const *place, int i)
{
#if CG_LANES == 8
    const cg_real_t all = {place[0][i], place[1][i], place[2][i], place[3][i],
                           place[4][i], place[5][i], place[6][i], place[7][i]};
    return all;
#elif CG_LANES == 4
    const cg_real_t all = {place[0][i], place[1][i], place[2][i], place[3][i]};
    return all;
#elif CG_LANES == 2
    const cg_real_t all = {place[0][i], place[1][i]};
    return all;
#else
    return place[0][i];
#endif
}

/* The place of every lane is the first number of the table. */
static CG_INLINE void cg_table_begin(const double **place, const double *numbers)
{
    CG_TABLE_UNROLLED
    for (int lane = 0; lane < CG_LANES; lane++) {
        place[lane] = numbers;
    }
}

/* Moves every lane's place to its cell along one axis, of `size` numbers; the distance from the cell's origin. */
static CG_INLINE cg_real_t cg_table_enter(const cg_axis_t *axis, int size, const double **place, cg_real_t x)
{
    const cg_real_t part = cg_table_part(axis, x);
    const double *origin[CG_LANES];

    CG_TABLE_UNROLLED
    for (int lane = 0; lane < CG_LANES; lane++) {
        const int cell = cg_table_cell(axis, (int)CG_TABLE_OF(part, lane), CG_TABLE_OF(x, lane));
        origin[lane] = axis->origins + cell;
        place[lane] += cell * size;
    }
    return x - cg_table_gather(origin, 0);
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

/* The derivative of an order of one, two and three arguments at the distances u, v, w from the origins; the numbers
 * begin at `i` of each lane's place. */
static CG_INLINE cg_real_t cg_table_line(const cg_axis_t *axis, int order, const double *const *place, int i, cg_real_t u)
{
    int k = axis->terms - 1;
    cg_real_t sum = cg_splat(cg_table_falling(k, order)) * cg_table_gather(place, i + k);

    CG_TABLE_UNROLLED
    for (k--; k >= order; k--) {
        sum = cg_fma(sum, u, cg_splat(cg_table_falling(k, order)) * cg_table_gather(place, i + k));
    }
    return sum;
}
static CG_INLINE cg_real_t cg_table_plane(const cg_axis_t *axes, const int *orders, const double *const *place, int i,
                                          cg_real_t u, cg_real_t v)
{
    const int terms = axes[1].terms;
    int k = axes[0].terms - 1;
    cg_real_t sum = cg_splat(cg_table_falling(k, orders[0])) *
                    cg_table_line(&axes[1], orders[1], place, i + k * terms, v);

    CG_TABLE_UNROLLED
    for (k--; k >= orders[0]; k--) {
        sum = cg_fma(sum, u,
                     cg_splat(cg_table_falling(k, orders[0])) *
                         cg_table_line(&axes[1], orders[1], place, i + k * terms, v));
    }
    return sum;
}

/* The derivative of the orders of a table: its axes, its numbers, the arguments. */
static CG_INLINE cg_real_t cg_table_1(const cg_axis_t *axes, const double *numbers, const int *orders, cg_real_t x)
{
    const double *place[CG_LANES];

    cg_table_begin(place, numbers);
    const cg_real_t u = cg_table_enter(axes, axes->terms, place, x);
    return cg_table_line(axes, orders[0], place, 0, u);
}
static CG_INLINE cg_real_t cg_table_2(const cg_axis_t *axes, const double *numbers, const int *orders, cg_real_t x,
                                      cg_real_t y)
{
    const int size = axes[0].terms * axes[1].terms;
    const double *place[CG_LANES];

    cg_table_begin(place, numbers);
    const cg_real_t u = cg_table_enter(&axes[0], size * (axes[1].knots + 1), place, x);
    const cg_real_t v = cg_table_enter(&axes[1], size, place, y);
    return cg_table_plane(axes, orders, place, 0, u, v);
}
static CG_INLINE cg_real_t cg_table_3(const cg_axis_t *axes, const double *numbers, const int *orders, cg_real_t x,
                                      cg_real_t y, cg_real_t z)
{
    const int plane = axes[1].terms * axes[2].terms, size = axes[0].terms * plane;
    const int column = size * (axes[2].knots + 1);
    const double *place[CG_LANES];

    cg_table_begin(place, numbers);
    const cg_real_t u = cg_table_enter(&axes[0], column * (axes[1].knots + 1), place, x);
    const cg_real_t v = cg_table_enter(&axes[1], column, place, y);
    const cg_real_t w = cg_table_enter(&axes[2], size, place, z);
    int k = axes[0].terms - 1;
    cg_real_t sum = cg_splat(cg_table_falling(k, orders[0])) *
                    cg_table_plane(&axes[1], &orders[1], place, k * plane, v, w);

    for (k--; k >= orders[0]; k--) {
        sum = cg_fma(sum, u,
                     cg_splat(cg_table_falling(k, orders[0])) *
                         cg_table_plane(&axes[1], &orders[1], place, k * plane, v, w));
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
    int first[CG_LANES] = {0};
    cg_real_t *weight = weights, sum = cg_splat(0.0);

    for (int axis = 0; axis < n; axis++) {
        const int terms = axes[axis].terms;
        const double *place[CG_LANES];

        cg_table_begin(place, bases[axis].numbers);
        const cg_real_t u = cg_table_enter(&axes[axis], 1 + bases[axis].width * terms, place, x[axis]);
        for (int j = 0; j < bases[axis].width; j++) {
            *weight++ = cg_table_line(&axes[axis], orders[axis], (const double *const *)place, 1 + j * terms, u);
        }
        for (int lane = 0; lane < CG_LANES; lane++) {
            first[lane] = first[lane] * bases[axis].count + (int)place[lane][0];
        }
    }
    const cg_basis_t *const last = &bases[n - 1];
    const int planes = n > 2 ? bases[n - 3].width : 1, lines = n > 1 ? bases[n - 2].width : 1;

    weight -= last->width;
    for (int i = 0; i < planes * lines; i++) {
        const int plane = i / lines, line = i % lines;
        const int start = n > 1 ? (plane * bases[n - 2].count + line) * last->count : 0;
        cg_real_t part = cg_splat(0.0);

        for (int j = 0; j < last->width; j++) {
            cg_real_t value = cg_splat(0.0);
            for (int lane = 0; lane < CG_LANES; lane++) {
                CG_TABLE_OF(value, lane) = values[(first[lane] + start + j) * apart + (apart > 1 ? lane : 0)];
            }
            part = cg_fma(weight[j], value, part);
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
    int rest[CG_LANES];

    for (int lane = 0; lane < CG_LANES; lane++) {
        rest[lane] = (int)CG_TABLE_OF(number, lane);
    }
    for (int axis = n - 1; axis >= 0; axis--) {
        const int terms = axes[axis].terms, count = bases[axis].count, width = bases[axis].width;
        const double *place[CG_LANES];
        cg_real_t counts = cg_splat(0.0);

        cg_table_begin(place, bases[axis].numbers);
        const cg_real_t u = cg_table_enter(&axes[axis], 1 + width * terms, place, x[axis]);
        for (int lane = 0; lane < CG_LANES; lane++) {
            const int j = rest[lane] % count - (int)place[lane][0], inside = 0 <= j && j < width;

            rest[lane] /= count;
            place[lane] += 1 + (inside ? j * terms : 0);
            CG_TABLE_OF(counts, lane) = inside ? 1.0 : 0.0;
        }
        product = product * counts * cg_table_line(&axes[axis], orders[axis], (const double *const *)place, 0, u);
    }
    return product;
}

#endif /* CG_TABLE_H */
