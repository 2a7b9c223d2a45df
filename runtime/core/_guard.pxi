# One call at a time. Included by _core.pyx.


cdef class Guard:
    """Lets one call at a time into an object that owns memory; any other raises `BusyError`.

    The other one can come from another thread while the first has released the GIL or lets Python code run, from a
    signal handler, or from an input function, an argument or a finalizer that the first one calls: so waiting would
    mostly be waiting for oneself. Python code holds a guard by ``with``; entering and leaving are compiled, so that no
    signal is handled in between, which would leave it held for ever.
    """

    cdef bint busy
    cdef readonly str what

    def __cinit__(self, str what):
        self.what = what

    cdef int enter(self) except -1:
        if self.busy:
            raise busy(self.what)
        self.busy = True
        return 0

    cdef void leave(self) noexcept:
        self.busy = False

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *error) -> None:
        self.leave()

    def __reduce__(self):
        return Guard, (self.what,)  # a copy is in use by nobody
