/* GatherNDGradient on the CPU. */
#include "kernels/gather_nd/gather_nd_gradient_node.h"

#include "kernels/gather_scatter/lines.h"
#include "kernels/gather_scatter/nd_indexing.h"

ons_status *ons_gather_nd_gradient_prepare(ons_prepare *p) {
    uint32_t tail;
    ons_shape data;
    ONS_TRY(ons_require_float32(p->operands));
    ons_gather_nd_gradient *s;
    ONS_NEW_STATE(s, p);
    s->bytes = ons_type_dense_bytes(&p->operands->outputs[0]);
    return find_indexing(p->operands, &data, &s->indexing, &tail);
}

static void add_piece(const ons_nd_indexing *indexing, const ons_launch *launch, int64_t number) {
    ons_nd_task task = ons_nd_task_of(indexing, number);
    const float *cotangent = launch->inputs[COTANGENT];
    float *out = launch->outputs[0];
    for (int64_t i = task.first, bad = 0; i < task.last; ++i) {
        int64_t to = ons_nd_indexing_at(indexing, indexing->index_dtype, launch->inputs[INDICES], i, &bad);
        if (to < 0) continue; /* a fault that the forward node reports */
        const float *from = cotangent + i * indexing->slice + task.begin;
        float *sum = out + to + task.begin;
#pragma omp simd
        for (int64_t k = 0; k < task.count; ++k) sum[k] += from[k];
    }
}

static void gather_nd_gradient_run(const ons_launch *launch) {
    const ons_gather_nd_gradient *s = launch->state;
    const ons_nd_indexing *indexing = &s->indexing;
    int64_t tasks = indexing->batches * ons_nd_pieces(indexing);
    ons_zero_bytes(launch->outputs[0], s->bytes);
#pragma omp parallel for schedule(static) if (indexing->batches * indexing->tuples * indexing->slice >                 \
                                              ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < tasks; ++i) add_piece(indexing, launch, i);
}

ONS_KERNELS(cpu, gather_nd_gradient, ONS_KERNEL(ons_gather_nd_gradient_prepare, gather_nd_gradient_run))
