/* GatherElements on the CPU. */
#include <string.h>

#include "kernels/gather_elements/gather_elements_node.h"
#include "kernels/gather_scatter/lines.h"

ons_status *ons_gather_elements_prepare(ons_prepare *p) {
    ons_gather_elements *s;
    ONS_NEW_STATE(s, p);
    s->size = ons_dtype_size(p->operands->inputs[DATA].dtype);
    return find_map(p->operands, &s->map);
}

/* Elements are moved, not looked at. Inlined with a size that the compiler knows. */
static inline __attribute__((always_inline)) void copy_elements(int64_t size, const ons_line_block *b, const char *data,
                                                                char *out) {
    for (int64_t i = 0; i < b->count; ++i)
        if (b->targets[i] < 0)
            memset(out + (b->first + i) * size, 0, (size_t)size);
        else
            memcpy(out + (b->first + i) * size, data + b->targets[i] * size, (size_t)size);
}

static void copy_block(size_t size, const ons_line_block *b, const void *data, void *out) {
    switch (size) {
    case 1: copy_elements(1, b, data, out); break;
    case 2: copy_elements(2, b, data, out); break;
    case 4: copy_elements(4, b, data, out); break;
    default: copy_elements(8, b, data, out); break;
    }
}

static void gather_elements_run(const ons_launch *launch) {
    const ons_gather_elements *s = launch->state;
#pragma omp parallel for schedule(static) if (ons_lines_parallel(&s->map))
    for (int64_t task = 0; task < s->map.tasks; ++task) {
        ons_line_block block;
        ons_line_begin(&s->map, task, &block);
        for (int64_t step = 0; step < s->map.steps; ++step) {
            ons_line_step(&s->map, launch->inputs[INDICES], step, &block, launch);
            copy_block(s->size, &block, launch->inputs[DATA], launch->outputs[0]);
        }
    }
}

ONS_KERNELS(cpu, gather_elements, ONS_KERNEL(ons_gather_elements_prepare, gather_elements_run))
