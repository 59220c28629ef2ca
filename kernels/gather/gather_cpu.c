/* Gather on the CPU. */
#include "kernels/gather/gather.h"

#include <omp.h>

#include "kernels/common/indexing/indexing.h"

ons_status *ons_gather_prepare(ons_prepare *p) {
    state *s;
    ONS_NEW_STATE(s, p);
    *s = make_state(p->operands, (int64_t)ons_dtype_size(p->operands->inputs[DATA].dtype));
    return NULL;
}

/* Rows [begin, end) of the result. */
static void look_up(const state *s, const ons_launch *launch, int64_t begin, int64_t end) {
    const void *indices = launch->inputs[INDICES];
    const char *table = (const char *)launch->inputs[DATA] + begin / s->count * s->length * s->inner;
    char *to = (char *)launch->outputs[0] + begin * s->inner;
    int64_t place = begin % s->count;
    for (int64_t i = begin; i < end; ++i, to += s->inner) {
        int64_t index = ons_index_at(s->index_dtype, indices, place), row = ons_gather_row(s, index);
        if (row < 0) {
            if (ons_resolve_index(index, s->entries) < 0) ons_fault_index(launch, place, index);
            memset(to, 0, (size_t)s->inner);
        } else if (s->inner == 4) { /* single elements: a call each would cost more than the copy */
            memcpy(to, table + row * 4, 4);
        } else {
            memcpy(to, table + row * s->inner, (size_t)s->inner);
        }
        if (++place < s->count) continue;
        place = 0;
        table += s->length * s->inner;
    }
}

void ons_gather_run(const ons_launch *launch) {
    const state *s = launch->state;
    int64_t rows = s->inner == 0 ? s->count : s->outer * s->count; /* of empty ones only the indices matter */
    if (rows == 0) return;
#pragma omp parallel if (rows * s->inner > 4 * ONS_PARALLEL_GRAIN)
    {
        int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
        look_up(s, launch, rows * thread / threads, rows * (thread + 1) / threads);
    }
}

ONS_KERNELS(cpu, gather, ONS_KERNEL(ons_gather_prepare, ons_gather_run))
