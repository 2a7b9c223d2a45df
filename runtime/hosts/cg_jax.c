/* Kernels of models as one custom call of XLA, in the C interface of its FFI (jaxlib/include).
 *
 * A call has the attributes "model", under which a table was added here, and "kernel", a name in the table; its
 * arguments are those of the kernel without scratch, in float64, each with the same leading axes, over whose entries
 * the kernel is called one by one. Where it fails, the result is NaN. Under another name, a model was added with adjoint
 * derivatives: its kernels take weights of their results, too, and give their derivatives.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cg_derivatives.h"
#include "xla/ffi/api/c_api.h"

#ifndef CG_EXPORTED
#define CG_EXPORTED
#endif

typedef struct known {
    const struct known *next;
    const cg_model_t *model;
    const cg_derivatives_t *adjoint; /* of one lane; NULL: the kernels themselves */
    char name[];
} known_t;

static const known_t *models; /* entries are added and never removed */

/* Adds a model, whose tables must stay loaded. 0: no memory. */
CG_EXPORTED int cg_jax_add(const char *name, const cg_model_t *model, const cg_derivatives_t *adjoint)
{
    known_t *const entry = malloc(sizeof *entry + strlen(name) + 1);

    if (entry == NULL) return 0;
    strcpy(entry->name, name);
    entry->model = model;
    entry->adjoint = adjoint;
    entry->next = models;
    __atomic_store_n(&models, entry, __ATOMIC_RELEASE);
    return 1;
}

static int equal(const XLA_FFI_ByteSpan *span, const char *name)
{
    return span->len == strlen(name) && memcmp(span->ptr, name, span->len) == 0;
}

static const known_t *find_model(const XLA_FFI_ByteSpan *name)
{
    const known_t *entry = __atomic_load_n(&models, __ATOMIC_ACQUIRE);

    while (entry != NULL && !equal(name, entry->name)) entry = entry->next;
    return entry;
}

static const cg_kernel_entry_t *find_kernel(const cg_model_t *model, const XLA_FFI_ByteSpan *name)
{
    const cg_kernel_entry_t *entry = model->kernels;

    while (entry->name != NULL && !equal(name, entry->name)) entry++;
    return entry->name == NULL ? NULL : entry;
}

static const XLA_FFI_ByteSpan *attribute(const XLA_FFI_Attrs *attrs, const char *name)
{
    for (int64_t i = 0; i < attrs->size; i++) {
        if (equal(attrs->names[i], name) && attrs->types[i] == XLA_FFI_AttrType_STRING) return attrs->attrs[i];
    }
    return NULL;
}

static int64_t numbers(const XLA_FFI_Buffer *buffer)
{
    int64_t count = 1;

    for (int64_t i = 0; i < buffer->rank; i++) count *= buffer->dims[i];
    return count;
}

static XLA_FFI_Error *refused(const XLA_FFI_CallFrame *frame, const char *message)
{
    XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL, message,
                                      XLA_FFI_Error_Code_INVALID_ARGUMENT};

    return frame->api->XLA_FFI_Error_Create(&args);
}

/* Calls the kernel, or its adjoint, for `count` rows of each array. */
static void call(const cg_kernel_entry_t *kernel, const cg_derivative_t *adjoint, const double *const *in,
                 const int64_t *width, int64_t length, int64_t count, double *out, double *work)
{
    const int directed = kernel->takes == CG_TAKES_DIRECTION;

    for (int64_t row = 0; row < count; row++) {
        const double t = in[0][row];
        const double *const x = in[1] + row * width[1], *const p = in[2] + row * width[2];
        const double *const u = in[3] + row * width[3];
        double *const result = out + row * length;
        const int status = adjoint != NULL
            ? adjoint->function(t, x, p, u, in[4] + row * width[4], work, result, work + adjoint->n_values)
            : directed ? ((cg_jvp_t)kernel->function)(t, x, p, u, in[4] + row * width[4], result, work)
                                    : ((cg_kernel_t)kernel->function)(t, x, p, u, result, work);
        for (int64_t i = 0; status < 0 && i < length; i++) result[i] = NAN;
    }
}

/* The handler: checks the call, and makes it. */
CG_EXPORTED XLA_FFI_Error *cg_jax_call(XLA_FFI_CallFrame *frame)
{
    const XLA_FFI_Extension_Base *const extension = frame->extension_start;
    const double *in[5];

    if (extension != NULL && extension->type == XLA_FFI_Extension_Metadata) {
        XLA_FFI_Metadata *const metadata = ((const XLA_FFI_Metadata_Extension *)extension)->metadata;
        metadata->api_version.major_version = XLA_FFI_API_MAJOR;
        metadata->api_version.minor_version = XLA_FFI_API_MINOR;
        return NULL;
    }
    const XLA_FFI_ByteSpan *const name = attribute(&frame->attrs, "model");
    const XLA_FFI_ByteSpan *const kernel_name = attribute(&frame->attrs, "kernel");
    const known_t *const known = name == NULL ? NULL : find_model(name);
    const cg_model_t *const model = known == NULL ? NULL : known->model;
    const cg_kernel_entry_t *const kernel = model == NULL || kernel_name == NULL ? NULL : find_kernel(model, kernel_name);
    if (kernel == NULL) return refused(frame, "chaplygin: this process has not loaded the model: call to_jax of it");
    const cg_derivative_t *const adjoint = known->adjoint == NULL ? NULL : cg_derivative(known->adjoint, kernel->name);
    if (known->adjoint != NULL && adjoint == NULL) return refused(frame, "chaplygin: the kernel has no derivatives");
    const int64_t length = adjoint == NULL ? kernel->length : adjoint->n_found;
    const int64_t n_x = kernel->takes == CG_TAKES_DECLARED ? model->n_declared : model->n_states;
    const int64_t width[] = {1, n_x, model->n_parameters, model->n_inputs + model->n_modes,
                             adjoint == NULL ? model->n_states : adjoint->n_given};
    const int64_t n_in = adjoint != NULL || kernel->takes == CG_TAKES_DIRECTION ? 5 : 4;
    if (kernel->takes == CG_TAKES_EVENT || frame->args.size != n_in || frame->rets.size != 1)
        return refused(frame, "chaplygin: wrong number of arguments");
    const XLA_FFI_Buffer *const out = frame->rets.rets[0];
    const int64_t count = length > 0 ? numbers(out) / length : 0;
    int fits = out->dtype == XLA_FFI_DataType_F64 && numbers(out) == count * length;
    for (int64_t i = 0; i < n_in; i++) {
        const XLA_FFI_Buffer *const buffer = frame->args.args[i];
        fits = fits && buffer->dtype == XLA_FFI_DataType_F64 && numbers(buffer) == count * width[i];
        in[i] = buffer->data;
    }
    if (!fits) return refused(frame, "chaplygin: an argument is not float64 or of the wrong shape");
    const int64_t n_work = adjoint == NULL ? model->n_work : known->adjoint->n_work + adjoint->n_values;
    double *const work = malloc(sizeof *work * ((size_t)n_work + 1));
    if (work == NULL) return refused(frame, "chaplygin: no memory");
    call(kernel, adjoint, in, width, length, count, out->data, work);
    free(work);
    return NULL;
}
