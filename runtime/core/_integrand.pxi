# An entry of a kernel's result as a function of some of its arguments, for C code that integrates it. Included by
# _core.pyx.

ctypedef struct integrand_t:
    const cg_kernel_entry_t *entry
    int32_t index               # of the entry in the result
    int32_t n_free
    const int32_t *free         # where the free arguments are in `values`
    double *values              # t, x, p, u in sequence
    const double *x
    const double *p
    const double *u
    double *out
    double *work


cdef double _integrand(int n, double *free, void *data) noexcept nogil:
    """The entry at values of the n free arguments; NaN if the kernel fails or n is wrong."""
    cdef integrand_t *own = <integrand_t *> data
    cdef int32_t i
    if n != own.n_free:
        return NAN
    for i in range(n):
        own.values[own.free[i]] = free[i]
    if _called(own.entry, 0, own.values[0], own.x, own.p, own.u, NULL, own.out, own.work) < 0:
        return NAN
    return own.out[own.index]


cdef class Integrand:
    """What `_integrand` gets as its data: one entry of a kernel, its free arguments, and values of the others.

    `free`: places in `values`, which are t, the states, the parameters, the inputs and the modes in sequence.
    """

    cdef integrand_t own
    cdef object kept  # the model, and the arrays that `own` points into

    def __init__(self, KernelCore model, str kernel, int index, const int32_t[::1] free, double[::1] values):
        cdef const cg_model_t *m = model.model
        cdef bytes name = kernel.encode()
        cdef double[::1] scratch
        cdef integrand_t *own = &self.own
        model._need(kernel)
        own.entry = cg_kernel(m, name)
        if own.entry is NULL or not 0 <= index < own.entry.length or own.entry.takes != CG_TAKES_STATE:
            raise ArgumentError(f"{model.name} has no entry {index} of a kernel {kernel} of its state")
        if values.shape[0] != 1 + m.n_states + m.n_parameters + m.n_inputs + m.n_modes:
            raise ArgumentError(f"{model.name}: wrong number of values")
        if free.shape[0] < 1 or any([not 0 <= place < values.shape[0] for place in free]):
            raise ArgumentError(f"{model.name}: a free argument is missing or out of range")
        scratch = np.zeros(own.entry.length + m.n_work)
        own.index, own.n_free = index, <int32_t> free.shape[0]
        own.free = &free[0]
        own.values = &values[0]
        own.x = own.values + 1
        own.p = own.x + m.n_states
        own.u = own.p + m.n_parameters
        own.out = &scratch[0]
        own.work = own.out + own.entry.length
        self.kept = model, free.base, values.base, scratch.base

    @property
    def address(self) -> int:
        """The pointer to be passed as data."""
        return <uintptr_t> &self.own

    @property
    def function(self) -> object:
        """`_integrand` in a capsule with its signature as the name, as `scipy.LowLevelCallable` takes it."""
        return PyCapsule_New(<void *> _integrand, "double (int, double *, void *)", NULL)
