/* ScatterND on the CPU. */
#include "kernels/scatter_nd/scatter_nd_node.h"

#include "kernels/gather_scatter/lines.h"
#include "kernels/gather_scatter/nd_indexing.h"
#include "kernels/gather_scatter/scatter.h"

ons_status *ons_scatter_nd_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    uint32_t tail;
    ons_scatter_nd *s;
    ONS_NEW_STATE(s, p);
    s->mode = ons_scatter_mode_of(ons_attribute_string(o, REDUCTION));
    s->size = ons_dtype_size(o->inputs[DATA].dtype);
    s->bytes = ons_type_dense_bytes(&o->inputs[DATA]);
    ONS_TRY(ons_scatter_check(o, s->mode));
    return find_indexing(o, &s->indexing, &tail);
}

/* Updates may meet in one place: one thread has a piece of all slices, in order. */
static void scatter_piece(const ons_scatter_nd *s, const ons_launch *launch, int64_t number) {
    ons_nd_task task = ons_nd_task_of(&s->indexing, number);
    const char *updates = launch->inputs[UPDATES];
    char *out = launch->outputs[0];
    ons_dtype dtype = s->indexing.index_dtype;
    for (int64_t i = task.first; i < task.last; ++i) {
        int64_t bad = 0, to = ons_nd_indexing_at(&s->indexing, dtype, launch->inputs[INDICES], i, &bad);
        if (to < 0)
            ons_fault_index(launch, bad, ons_index_at(dtype, launch->inputs[INDICES], bad));
        else
            ons_scatter_join(s->mode, s->size, out + (size_t)(to + task.begin) * s->size,
                             updates + (size_t)(i * s->indexing.slice + task.begin) * s->size, task.count);
    }
}

static void scatter_nd_run(const ons_launch *launch) {
    const ons_scatter_nd *s = launch->state;
    int64_t tasks = ons_nd_pieces(&s->indexing);
    if (launch->outputs[0] != launch->inputs[DATA]) ons_copy_bytes(launch->outputs[0], launch->inputs[DATA], s->bytes);
#pragma omp parallel for schedule(static) if (s->indexing.tuples * s->indexing.slice > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < tasks; ++i) scatter_piece(s, launch, i);
}

ONS_KERNELS(cpu, scatter_nd, ONS_KERNEL(ons_scatter_nd_prepare, scatter_nd_run))
