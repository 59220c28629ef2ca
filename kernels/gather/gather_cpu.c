/* Gather on the CPU. */
#include "kernels/gather/gather.h"

#include "kernels/common/indexing/indexing.h"

ons_status *ons_gather_prepare(ons_prepare *p) {
    state *s;
    ONS_NEW_STATE(s, p);
    *s = make_state(p->operands, (int64_t)ons_dtype_size(p->operands->inputs[DATA].dtype));
    return NULL;
}

void ons_gather_run(const ons_launch *launch) {
    const state *s = launch->state;
    const char *data = launch->inputs[DATA];
    const void *indices = launch->inputs[INDICES];
    char *out = launch->outputs[0];
    int64_t rows = s->inner == 0 ? s->count : s->outer * s->count; /* of empty ones only the indices matter */
#pragma omp parallel for schedule(static) if (rows * s->inner > 4 * ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < rows; ++i) {
        int64_t index = ons_index_at(s->index_dtype, indices, i % s->count);
        int64_t row = ons_gather_row(s, index);
        char *to = out + i * s->inner;
        if (row < 0) {
            if (ons_resolve_index(index, s->entries) < 0) ons_fault_index(launch, i % s->count, index);
            memset(to, 0, (size_t)s->inner);
        } else if (s->inner == 4) { /* single elements: a call each would cost more than the copy */
            memcpy(to, data + (i / s->count * s->length + row) * 4, 4);
        } else {
            memcpy(to, data + (i / s->count * s->length + row) * s->inner, (size_t)s->inner);
        }
    }
}

ONS_KERNELS(cpu, gather, ONS_KERNEL(ons_gather_prepare, ons_gather_run))
