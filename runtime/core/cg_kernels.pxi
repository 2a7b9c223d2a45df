# The kernels of a model for other Cython code. Included by the .pxd of every compiled model, which exports `table`.
# All arrays are the caller's; lengths and status codes are those of chaplygin.h. A kernel that the model does not have
# returns CG_UNSUPPORTED; `cg_kernel(table(), name)` finds any kernel by its name.

include "cg_model.pxi"

cdef const cg_model_t *table() noexcept nogil

cdef inline int rhs(double t, const double *x, const double *p, const double *u, double *out,
                    double *work) noexcept nogil:
    return CG_UNSUPPORTED if table().rhs == NULL else table().rhs(t, x, p, u, out, work)

cdef inline int jvp(double t, const double *x, const double *p, const double *u, const double *v, double *out,
                    double *work) noexcept nogil:
    return CG_UNSUPPORTED if table().jvp == NULL else table().jvp(t, x, p, u, v, out, work)

cdef inline int jacobian(double t, const double *x, const double *p, const double *u, double *out,
                         double *work) noexcept nogil:
    return CG_UNSUPPORTED if table().jacobian == NULL else table().jacobian(t, x, p, u, out, work)

cdef inline int outputs(double t, const double *x, const double *p, const double *u, double *out,
                        double *work) noexcept nogil:
    return CG_UNSUPPORTED if table().outputs_fn == NULL else table().outputs_fn(t, x, p, u, out, work)

cdef inline int invariants(double t, const double *x, const double *p, const double *u, double *out,
                           double *work) noexcept nogil:
    return CG_UNSUPPORTED if table().invariants_fn == NULL else table().invariants_fn(t, x, p, u, out, work)

cdef inline int guards(double t, const double *x, const double *p, const double *u, double *out,
                       double *work) noexcept nogil:
    return CG_UNSUPPORTED if table().guards_fn == NULL else table().guards_fn(t, x, p, u, out, work)

cdef inline int reset(int32_t event, double t, const double *x, const double *p, const double *u, double *out,
                      double *work) noexcept nogil:
    return CG_UNSUPPORTED if table().reset == NULL else table().reset(event, t, x, p, u, out, work)

cdef inline int contacts(double t, const double *x, const double *p, const double *u, double *out,
                         double *work) noexcept nogil:
    return CG_UNSUPPORTED if table().contacts_fn == NULL else table().contacts_fn(t, x, p, u, out, work)

cdef inline int project(double t, const double *x, const double *p, const double *u, double *out,
                        double *work) noexcept nogil:
    return CG_UNSUPPORTED if table().project == NULL else table().project(t, x, p, u, out, work)

cdef inline int initial(double t, const double *x, const double *p, const double *u, double *out,
                        double *work) noexcept nogil:
    return CG_UNSUPPORTED if table().initial == NULL else table().initial(t, x, p, u, out, work)

cdef inline int consistency(double t, const double *x, const double *p, const double *u, double *out,
                            double *work) noexcept nogil:
    return CG_UNSUPPORTED if table().consistency == NULL else table().consistency(t, x, p, u, out, work)
