#include "tests/rooms/kernels/sparse/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/common/operator/stand_in.h"

#define SPARSE_OPERATOR(SYMBOL) extern const ons_operator ons_op_##SYMBOL;
#include "tests/rooms/kernels/sparse/sparse.inc"
#undef SPARSE_OPERATOR

static const ons_operator *const operators[] = {
#define SPARSE_OPERATOR(SYMBOL) &ons_op_##SYMBOL,
#include "tests/rooms/kernels/sparse/sparse.inc"
#undef SPARSE_OPERATOR
};

static const ons_kernel_list *find(const ons_backend *backend, const ons_operator *op) {
    static const ons_kernel kernel = ONS_REFERENCE_KERNEL;
    static const ons_kernel_list by_reference = {&kernel, 1, NULL};
    static const ons_kernel_list none = {.why_not = "it is not among the operators of this backend"};
    (void)backend;
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; ++i)
        if (operators[i] == op) return &by_reference;
    return &none;
}

const ons_backend ons_backend_sparse = {
    .name = "sparse",
    .title = "the sparse backend",
    .variant = "reference",
    .find = find,
    .scratch_alignment = 64,
};

static const ons_backend *backend(void) { return &ons_backend_sparse; }

static void *allocate(size_t bytes) { return aligned_alloc(64, (bytes + 63) / 64 * 64); }

static void copy(void *to, const void *from, size_t bytes) {
    if (bytes > 0) memcpy(to, from, bytes);
}

static void launch(ons_run_function *run, ons_launch *l) { run(l); }

static ons_status *finish(void) { return NULL; }

const ons_target ons_target_sparse = {
    .name = "sparse",
    .may_refuse = true,
    .plain = true,
    .backend = backend,
    .allocate = allocate,
    .release = free,
    .copy_in = copy,
    .copy_out = copy,
    .launch = launch,
    .finish = finish,
};
