/* What the CPU runs of scatter_lines.h. */
#include <string.h>

#include "kernels/gather_scatter/scatter_lines.h"

ons_status *ons_scatter_lines_prepare(ons_prepare *p) {
    ons_scatter_lines *s;
    ONS_NEW_STATE(s, p);
    s->mode = ons_scatter_mode_of(ons_scatter_lines_reduction_of(p->operands));
    s->size = ons_dtype_size(p->operands->outputs[0].dtype);
    s->bytes = ons_type_dense_bytes(&p->operands->outputs[0]);
    ONS_TRY(ons_scatter_check(p->operands, s->mode));
    return ons_scatter_lines_find_map(p->operands, &s->map);
}

/* Elements are moved, not looked at. Inlined with a size that the compiler knows. */
static inline __attribute__((always_inline)) void put_elements(int64_t size, const ons_line_block *b,
                                                               const char *updates, char *out) {
    for (int64_t i = 0; i < b->count; ++i)
        if (b->targets[i] >= 0) memcpy(out + b->targets[i] * size, updates + (b->first + i) * size, (size_t)size);
}

static void put_block(size_t size, const ons_line_block *b, const void *updates, void *out) {
    switch (size) {
    case 1: put_elements(1, b, updates, out); break;
    case 2: put_elements(2, b, updates, out); break;
    case 4: put_elements(4, b, updates, out); break;
    default: put_elements(8, b, updates, out); break;
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
