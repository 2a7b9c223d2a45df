# What every compiled model exports to Python. Included by its .pyx, which declares `model_table`.

from cpython.pycapsule cimport PyCapsule_New


cdef api const cg_model_t *table() noexcept nogil:
    return &model_table


capsule = PyCapsule_New(<void *>&model_table, "chaplygin.model", NULL)
address = <size_t>&model_table


def __getattr__(name):
    # The model is created on first access: importing this module needs nothing but Python.
    if name != "model":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sys import modules

    from chaplygin.runtime import Model

    made = Model(capsule, owner=modules.get(__name__, capsule))
    globals()["model"] = made
    return made
