/* ScatterElementsGradient on the CPU. */
#include "kernels/scatter_elements/scatter_elements_gradient_node.h"

#include "kernels/gather_scatter/lines.h"
#include "kernels/gather_scatter/scatter_shares.h"

ons_status *ons_scatter_elements_gradient_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_scatter_elements_gradient *s;
    ONS_NEW_STATE(s, p);
    s->mode = ons_scatter_mode_of(ons_attribute_string(p->operands, REDUCTION));
    s->elements = ons_elements(&p->operands->inputs[ONS_SHARES_COTANGENT]);
    p->scratch_bytes = ons_scatter_scratch(s->mode, s->elements);
    return find_map(p->operands, &s->map);
}

/* Every update is noted, or has its share written (`d_updates` not NULL), or (no reduction) takes the data's. */
static void visit_updates(const ons_scatter_elements_gradient *s, const void *indices, const ons_scatter_shares *shares,
                          float *d_data, float *d_updates) {
#pragma omp parallel for schedule(static) if (ons_lines_parallel(&s->map))
    for (int64_t task = 0; task < s->map.tasks; ++task) {
        ons_line_block block;
        ons_line_begin(&s->map, task, &block);
        for (int64_t step = 0; step < s->map.steps; ++step) {
            ons_line_step(&s->map, indices, step, &block, NULL);
            for (int64_t i = 0; i < block.count; ++i) {
                int64_t to = block.targets[i], u = block.first + i;
                if (s->mode == ONS_SCATTER_NONE) {
                    if (to >= 0) d_data[to] = 0;
                } else if (d_updates != NULL) {
                    d_updates[u] = to < 0 ? 0 : ons_shares_of(shares, shares->updates[u], to);
                } else if (to >= 0) {
                    ons_shares_note(shares, u, to);
                }
            }
        }
    }
}

static void scatter_elements_gradient_run(const ons_launch *launch) {
    const ons_scatter_elements_gradient *s = launch->state;
    const void *const *in = launch->inputs;
    const void *indices = in[ONS_SHARES_INDICES];
    float *d_data = launch->outputs[0];
    if (s->mode == ONS_SCATTER_NONE) {
        if (d_data == NULL) return;
        if (d_data != in[ONS_SHARES_COTANGENT])
            ons_copy_bytes(d_data, in[ONS_SHARES_COTANGENT], s->elements * (int64_t)sizeof(float));
        visit_updates(s, indices, NULL, d_data, NULL);
        return;
    }
    float *counts = launch->scratch;
    ons_scatter_shares shares = {
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

ONS_KERNELS(cpu, scatter_elements_gradient,
            ONS_KERNEL(ons_scatter_elements_gradient_prepare, scatter_elements_gradient_run))
