# Checks that a run begins on its constraints and that its variables satisfy their assumptions. Included by _core.pyx;
# errors found here are reported by consistency.py and assumptions.py.

from .consistency import FLOOR, LARGEST_ATOL, MOST_ENDS, WARN

cdef double WARNING_LIMIT = WARN
cdef double SCALE_FLOOR = FLOOR
cdef double LARGEST_USED_ATOL = LARGEST_ATOL
cdef double SMALLEST_ATOL = 1e-15  # used for run ends, since the next run may have tighter tolerances

cdef enum:
    ASSUMED = CG_NOT_NEGATIVE | CG_NOT_POSITIVE | CG_NOT_ZERO | CG_INTEGER | CG_EVEN | CG_ODD


cdef double _is_consistent(const cg_model_t *m, double t, const double *x, const double *p, const double *u,
                           double atol, double *out, double *work) noexcept nogil:
    """0 if every residual is zero to within `atol`, else the largest of their magnitudes (infinite for NaN)."""
    cdef double size, largest = 0.0
    cdef bint wrong = False
    cdef int32_t i
    if m.consistency(t, x, p, u, out, work) < 0:
        return INFINITY
    for i in range(m.n_consistency):
        size = fabs(out[3 * i])
        if not size <= WARNING_LIMIT * max(out[3 * i + 1], SCALE_FLOOR * min(atol, LARGEST_USED_ATOL) * out[3 * i + 2]):
            wrong = True
            if not size <= 1.7976931348623157e308:
                return INFINITY
        largest = max(largest, size)
    return largest if wrong else 0.0


cdef bint _agrees(double given, double found) noexcept nogil:
    """Whether a value that follows from the rest is given as it follows; `agree` in consistency.py looks closer."""
    return fabs(given - found) <= WARNING_LIMIT * max(fabs(given) + fabs(found), SCALE_FLOOR * LARGEST_USED_ATOL)


cdef bint _assuming(const cg_variable_t *table, int32_t n):
    cdef int32_t i
    for i in range(n):
        if table[i].flags & ASSUMED:
            return True
    return False


cdef bint _as_assumed(const cg_variable_t *table, const double *values, int32_t n) noexcept:
    """Whether values satisfy their assumptions; the slow path checks whether numbers are integers."""
    cdef int32_t i, flags
    for i in range(n):
        flags = table[i].flags
        if flags == 0:
            continue
        if ((flags & CG_NOT_NEGATIVE and not values[i] >= 0.0) or (flags & CG_NOT_POSITIVE and not values[i] <= 0.0)
                or (flags & CG_NOT_ZERO and values[i] == 0.0) or flags & (CG_INTEGER | CG_EVEN | CG_ODD)):
            return False
    return True


cdef double _smallest(const double *values, int32_t n) noexcept:
    cdef double least = INFINITY
    cdef int32_t i
    for i in range(n):
        least = min(least, values[i])
    return least
