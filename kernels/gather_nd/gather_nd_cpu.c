/* GatherND on the CPU. */
#include "kernels/gather_nd/gather_nd_node.h"

#include "kernels/gather_scatter/nd_indexing.h"

ons_status *ons_gather_nd_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    uint32_t tail;
    ons_gather_nd *s;
    ONS_NEW_STATE(s, p);
    s->size = ons_dtype_size(o->inputs[DATA].dtype);
    return find_indexing(o, &s->indexing, &tail);
}

static void gather_nd_run(const ons_launch *launch) {
    const ons_gather_nd *s = launch->state;
    const ons_nd_indexing *indexing = &s->indexing;
    const char *data = launch->inputs[DATA];
    char *out = launch->outputs[0];
    int64_t tuples = indexing->batches * indexing->tuples;
    size_t bytes = (size_t)indexing->slice * s->size;
#pragma omp parallel for schedule(static) if (tuples * indexing->slice > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < tuples; ++i) {
        int64_t bad = 0, from = ons_nd_indexing_at(indexing, indexing->index_dtype, launch->inputs[INDICES], i, &bad);
        if (from < 0) {
            ons_fault_index(launch, bad, ons_index_at(indexing->index_dtype, launch->inputs[INDICES], bad));
            memset(out + (size_t)i * bytes, 0, bytes);
        } else {
            memcpy(out + (size_t)i * bytes, data + (size_t)from * s->size, bytes);
        }
    }
}

ONS_KERNELS(cpu, gather_nd, ONS_KERNEL(ons_gather_nd_prepare, gather_nd_run))
