/* ScatterNDGradient on the CPU. */
#include "kernels/scatter_nd/scatter_nd_gradient_node.h"

#include "kernels/gather_scatter/lines.h"
#include "kernels/gather_scatter/nd_indexing.h"
#include "kernels/gather_scatter/scatter_shares.h"

ons_status *ons_scatter_nd_gradient_prepare(ons_prepare *p) {
    uint32_t tail;
    ONS_TRY(ons_require_float32(p->operands));
    ons_scatter_nd_gradient *s;
    ONS_NEW_STATE(s, p);
    s->mode = ons_scatter_mode_of(ons_attribute_string(p->operands, REDUCTION));
    s->elements = ons_elements(&p->operands->inputs[ONS_SHARES_COTANGENT]);
    p->scratch_bytes = ons_scatter_scratch(s->mode, s->elements);
    return find_indexing(p->operands, &s->indexing, &tail);
}

/* Element `to` of the data and update `u`: the update is noted, or has its share written (`d_updates` not NULL), or (no
 * reduction) takes the data's. */
static void visit_update(const ons_scatter_shares *shares, int64_t to, int64_t u, float *d_data, float *d_updates) {
    if (shares->mode == ONS_SCATTER_NONE)
        d_data[to] = 0;
    else if (d_updates != NULL)
        d_updates[u] = ons_shares_of(shares, shares->updates[u], to);
    else
        ons_shares_note(shares, u, to);
}

static void visit_updates(const ons_scatter_nd_gradient *s, const void *indices, const ons_scatter_shares *shares,
                          float *d_data, float *d_updates) {
    const ons_nd_indexing *indexing = &s->indexing;
    int64_t tasks = ons_nd_pieces(indexing);
#pragma omp parallel for schedule(static) if (indexing->tuples * indexing->slice > ONS_PARALLEL_GRAIN)
    for (int64_t number = 0; number < tasks; ++number) {
        ons_nd_task task = ons_nd_task_of(indexing, number);
        for (int64_t i = task.first, bad = 0; i < task.last; ++i) {
            int64_t to = ons_nd_indexing_at(indexing, indexing->index_dtype, indices, i, &bad);
            int64_t u = i * indexing->slice + task.begin;
            if (to < 0 && d_updates != NULL) memset(d_updates + u, 0, (size_t)task.count * sizeof *d_updates);
            for (int64_t k = 0; to >= 0 && k < task.count; ++k)
                visit_update(shares, to + task.begin + k, u + k, d_data, d_updates);
        }
    }
}

static void scatter_nd_gradient_run(const ons_launch *launch) {
    const ons_scatter_nd_gradient *s = launch->state;
    const void *const *in = launch->inputs;
    const void *indices = in[ONS_SHARES_INDICES];
    float *d_data = launch->outputs[0], *counts = launch->scratch;
    ons_scatter_shares shares = {.mode = s->mode};
    if (s->mode == ONS_SCATTER_NONE) {
        if (d_data == NULL) return;
        ons_copy_bytes(d_data, in[ONS_SHARES_COTANGENT], s->elements * (int64_t)sizeof(float));
        visit_updates(s, indices, &shares, d_data, NULL);
        return;
    }
    shares = (ons_scatter_shares){
        s->mode, in[ONS_SHARES_COTANGENT], in[ONS_SHARES_DATA], in[ONS_SHARES_UPDATES], in[ONS_SHARES_RESULT],
        counts,  counts + s->elements};
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < s->elements; ++i) ons_shares_begin(&shares, i);
    visit_updates(s, indices, &shares, NULL, NULL);
    if (launch->outputs[1] != NULL) visit_updates(s, indices, &shares, NULL, launch->outputs[1]);
    if (d_data == NULL) return;
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < s->elements; ++i) d_data[i] = ons_shares_of(&shares, shares.data[i], i);
}

ONS_KERNELS(cpu, scatter_nd_gradient, ONS_KERNEL(ons_scatter_nd_gradient_prepare, scatter_nd_gradient_run))
