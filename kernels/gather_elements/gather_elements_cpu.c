/* GatherElements on the CPU. */
#include "kernels/gather_elements/gather_elements_node.h"

#include "kernels/gather_scatter/lines.h"

ons_status *ons_gather_elements_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_gather_elements), &memory));
    ons_gather_elements *s = memory;
    s->size = ons_dtype_size(p->operands->inputs[DATA].dtype);
    return find_map(p->operands, &s->map);
}

#define COPY(TYPE)                                                                                                     \
    for (int64_t i = 0; i < b->count; ++i)                                                                             \
    ((TYPE *)out)[b->first + i] = b->targets[i] < 0 ? 0 : ((const TYPE *)data)[b->targets[i]]

static void copy_block(size_t size, const ons_line_block *b, const void *data, void *out) {
    switch (size) {
    case 1: COPY(uint8_t); break;
    case 2: COPY(uint16_t); break;
    case 4: COPY(uint32_t); break;
    default: COPY(uint64_t); break;
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
