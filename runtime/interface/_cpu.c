/* _cpu: whether this CPU and its operating system run code for x86-64-v3, which has fused multiply-adds. Compiled for
 * every CPU; runtime/interface/cpu_variants.py asks it before any other extension is loaded. */
#include <Python.h>

static int cg_cpu_exec(PyObject *module)
{
#if defined(__GNUC__) && defined(__x86_64__)
    const long found = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    const long found = 0;
#endif
    return PyModule_AddIntConstant(module, "x86_64_v3", found);
}

static PyModuleDef_Slot cg_cpu_slots[] = {{Py_mod_exec, (void *)cg_cpu_exec}, {0, NULL}};
static struct PyModuleDef cg_cpu_module = {
    PyModuleDef_HEAD_INIT, "_cpu", NULL, 0, NULL, cg_cpu_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__cpu(void);
PyMODINIT_FUNC PyInit__cpu(void) { return PyModuleDef_Init(&cg_cpu_module); }
