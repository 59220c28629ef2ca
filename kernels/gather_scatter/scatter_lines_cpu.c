/* What the CPU runs of scatter_lines.h. */
#include "kernels/gather_scatter/scatter_lines.h"

ons_status *ons_scatter_lines_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_scatter_lines), &memory));
    ons_scatter_lines *s = memory;
    s->mode = ons_scatter_mode_of(ons_scatter_lines_reduction_of(p->operands));
    s->size = ons_dtype_size(p->operands->outputs[0].dtype);
    s->bytes = ons_type_dense_bytes(&p->operands->outputs[0]);
    ONS_TRY(ons_scatter_check(p->operands, s->mode));
    return ons_scatter_lines_find_map(p->operands, &s->map);
}

#define PUT(TYPE)                                                                                                      \
    for (int64_t i = 0; i < b->count; ++i)                                                                             \
        if (b->targets[i] >= 0) ((TYPE *)out)[b->targets[i]] = ((const TYPE *)updates)[b->first + i]

static void put_block(size_t size, const ons_line_block *b, const void *updates, void *out) {
    switch (size) {
    case 1: PUT(uint8_t); break;
    case 2: PUT(uint16_t); break;
    case 4: PUT(uint32_t); break;
    default: PUT(uint64_t); break;
    }
}

static void join_block(const ons_scatter_lines *s, const ons_line_block *b, const float *updates, float *out) {
    for (int64_t i = 0; i < b->count; ++i)
        if (b->targets[i] >= 0 && s->mode == ONS_SCATTER_ADD)
            out[b->targets[i]] += updates[b->first + i];
        else if (b->targets[i] >= 0)
            ons_scatter_join(s->mode, sizeof *out, (char *)(out + b->targets[i]),
                             (const char *)(updates + b->first + i), 1);
}

void ons_scatter_lines_run(const ons_launch *launch) {
    const ons_scatter_lines *s = launch->state;
    const void *updates = launch->inputs[ONS_SCATTER_UPDATES];
    void *out = launch->outputs[0];
    if (out != launch->inputs[ONS_SCATTER_DATA]) ons_copy_bytes(out, launch->inputs[ONS_SCATTER_DATA], s->bytes);
#pragma omp parallel for schedule(static) if (ons_lines_parallel(&s->map))
    for (int64_t task = 0; task < s->map.tasks; ++task) {
        ons_line_block block;
        ons_line_begin(&s->map, task, &block);
        for (int64_t step = 0; step < s->map.steps; ++step) {
            ons_line_step(&s->map, launch->inputs[ONS_SCATTER_INDICES], step, &block, launch);
            if (s->mode == ONS_SCATTER_NONE)
                put_block(s->size, &block, updates, out);
            else
                join_block(s, &block, updates, out);
        }
    }
}
