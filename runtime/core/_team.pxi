# Threads that wait between calls, for work too short to start threads for. Included by _core.pyx.
#
# A call is handed over without the GIL: each thread has two locks, used as signals, and two counters that are polled
# for a moment before a lock is waited for, which would take the operating system some 50 us.

cdef extern from "pythread.h" nogil:
    ctypedef void *PyThread_type_lock
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int waiting)
    int PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int interruptible)
    void PyThread_release_lock(PyThread_type_lock lock)

cdef extern from *:
    """
    #if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    #define CG_PAUSE() __builtin_ia32_pause()
    #else
    #define CG_PAUSE() (void)0
    #endif
    /* Returns when the counter has the value, or after some 50 us. */
    static void cg_poll(const volatile unsigned int *counter, unsigned int value)
    {
        for (int i = 0; i < 4000 && *counter != value; i++) {
            CG_PAUSE();
        }
    }
    """
    void cg_poll(const volatile unsigned int *counter, unsigned int value) nogil

ctypedef void (*work_t)(void *context, int thread) noexcept nogil


cdef struct member_t:
    PyThread_type_lock called  # held until there is work
    PyThread_type_lock done    # held until it is done
    volatile unsigned int calls
    volatile unsigned int finished
    char apart[64]  # members that share a cache line would slow one another down


cdef class Team:
    """Threads that do a part of a piece of work each; the caller is number 0.

    Thread i > 0 calls ``serve(i)``, which returns after ``close()``.
    """

    cdef readonly int size
    cdef member_t *members
    cdef work_t work  # NULL: the team is closed
    cdef void *context

    def __cinit__(self, int size):
        cdef int i
        self.size = size
        self.members = <member_t *> _memory(calloc(size, sizeof(member_t)))
        for i in range(1, size):
            self.members[i].called = _memory(PyThread_allocate_lock())
            self.members[i].done = _memory(PyThread_allocate_lock())
            PyThread_acquire_lock(self.members[i].called, 1)
            PyThread_acquire_lock(self.members[i].done, 1)

    def __dealloc__(self):
        cdef int i
        for i in range(1, self.size if self.members is not NULL else 0):
            for lock in (<uintptr_t> self.members[i].called, <uintptr_t> self.members[i].done):
                if lock:
                    PyThread_free_lock(<PyThread_type_lock> <uintptr_t> lock)
        free(self.members)

    def serve(self, int i) -> None:
        """Wait for work and do it, until the team is closed."""
        cdef member_t *me = &self.members[i]
        with nogil:
            while True:
                cg_poll(&me.calls, me.finished + 1)
                PyThread_acquire_lock(me.called, 1)
                if self.work is NULL:
                    break
                self.work(self.context, i)
                me.finished = me.calls
                PyThread_release_lock(me.done)

    def close(self) -> None:
        """Let the threads end."""
        self.start(NULL, NULL)

    cdef void start(self, work_t work, void *context) noexcept:
        """Let the other threads work; `finish` must follow."""
        cdef int i
        self.work, self.context = work, context
        for i in range(1, self.size):
            self.members[i].calls += 1
            PyThread_release_lock(self.members[i].called)

    cdef int finish(self, volatile int *stop) except -1:
        """Wait for the other threads. Ctrl-C sets the flag `stop`, and is raised when they have finished."""
        cdef int i, got
        error = None
        for i in range(1, self.size):
            got = 0
            with nogil:
                cg_poll(&self.members[i].finished, self.members[i].calls)
                got = PyThread_acquire_lock_timed(self.members[i].done, 50000, 0)
            while not got:
                try:
                    PyErr_CheckSignals()
                except BaseException as interrupt:
                    error, stop[0] = interrupt, 1
                with nogil:
                    got = PyThread_acquire_lock_timed(self.members[i].done, 50000, 0)
        if error is not None:
            raise error
        return 0
