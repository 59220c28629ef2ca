/* GatherElementsGradient on the CPU. */
#include "kernels/gather_elements/gather_elements_gradient_node.h"

#include "kernels/gather_scatter/lines.h"

ons_status *ons_gather_elements_gradient_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_gather_elements_gradient *s;
    ONS_NEW_STATE(s, p);
    s->bytes = ons_type_dense_bytes(&p->operands->outputs[0]);
    return find_map(p->operands, &s->map);
}

static void gather_elements_gradient_run(const ons_launch *launch) {
    const ons_gather_elements_gradient *s = launch->state;
    const float *cotangent = launch->inputs[COTANGENT];
    float *out = launch->outputs[0];
    ons_zero_bytes(out, s->bytes);
#pragma omp parallel for schedule(static) if (ons_lines_parallel(&s->map))
    for (int64_t task = 0; task < s->map.tasks; ++task) {
        ons_line_block block;
        ons_line_begin(&s->map, task, &block);
        for (int64_t step = 0; step < s->map.steps; ++step) {
            ons_line_step(&s->map, launch->inputs[INDICES], step, &block, NULL);
            for (int64_t i = 0; i < block.count; ++i)
                if (block.targets[i] >= 0) out[block.targets[i]] += cotangent[block.first + i];
        }
    }
}

ONS_KERNELS(cpu, gather_elements_gradient,
            ONS_KERNEL(ons_gather_elements_gradient_prepare, gather_elements_gradient_run))
