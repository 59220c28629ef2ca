#include "kernels/backend.h"

#include "kernels/kernels.h"

const ons_kernel_list *ons_backend_in_table(const ons_backend *backend, const ons_operator *op) {
    static const ons_kernel_list unknown = {.why_not = "it is not in the registry"};
    const ons_registry *registry = ons_kernels_registry();
    for (size_t i = 0; i < registry->count; ++i)
        if (registry->operators[i] == op) return backend->table[i];
    return &unknown;
}

bool ons_backend_has(const ons_backend *backend, const ons_operator *op, const char **why_not) {
    const ons_kernel_list *list = backend->find(backend, op);
    *why_not = list->count > 0 ? NULL : list->why_not;
    return list->count > 0;
}

/* Scratch memory is booked in whole cache lines. */
enum { SCRATCH_UNIT = 64 };

/* What a kernel that declined has left in `p` is undone. */
static void forget(ons_prepare *p) {
    if (p->destroy != NULL) p->destroy(p->state);
    p->state = NULL;
    p->destroy = NULL;
    p->implementation = NULL;
    p->scratch_bytes = 0;
}

/* Goes through a list until a kernel takes the node. `*status` is the first failure so far. */
static const ons_kernel *take_first(const ons_kernel_list *list, ons_prepare *p, ons_status **status) {
    for (uint32_t i = 0; i < list->count; ++i) {
        if (ons_status_get_code(*status) == ONS_OUT_OF_MEMORY) return NULL;
        forget(p);
        ons_status *failure = list->kernels[i].prepare(p);
        if (failure == NULL) {
            ons_status_free(*status);
            *status = NULL;
            p->scratch_bytes = (p->scratch_bytes + SCRATCH_UNIT - 1) / SCRATCH_UNIT * SCRATCH_UNIT;
            return &list->kernels[i];
        }
        if (*status == NULL || ons_status_get_code(failure) == ONS_OUT_OF_MEMORY) {
            ons_status_free(*status);
            *status = failure;
        } else {
            ons_status_free(failure);
        }
    }
    return NULL;
}

static ons_status *prepare(const ons_backend *backend, const ons_kernel_list *fallbacks, ons_prepare *p,
                           const ons_kernel **kernel) {
    const ons_operands *o = p->operands;
    const ons_kernel_list *own = backend->find(backend, o->op);
    ONS_CHECK(own->count > 0, ONS_UNSUPPORTED, "node '%s' (%s): cannot run on %s: %s", o->name, o->op->name,
              backend->title, own->why_not);
    ons_status *status = NULL;
    p->backend = backend;
    *kernel = take_first(own, p, &status);
    if (*kernel == NULL && fallbacks != NULL) *kernel = take_first(fallbacks, p, &status);
    return status;
}

ons_status *ons_backend_prepare(const ons_backend *backend, ons_prepare *p, const ons_kernel **kernel) {
    return prepare(backend, backend->fallbacks, p, kernel);
}

ons_status *ons_backend_prepare_own(const ons_backend *backend, ons_prepare *p, const ons_kernel **kernel) {
    return prepare(backend, NULL, p, kernel);
}
