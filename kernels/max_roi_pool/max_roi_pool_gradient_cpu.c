/* MaxRoiPoolGradient on the CPU. */
#include "kernels/max_roi_pool/max_roi_pool_gradient_node.h"

#include <string.h>

ons_status *ons_max_roi_pool_gradient_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_max_roi_pool_gradient *state;
    ONS_NEW_STATE(state, p);
    return ons_max_roi_pool_gradient_find_sizes(p->operands, state);
}

static void max_roi_pool_gradient_run(const ons_launch *launch) {
    const ons_max_roi_pool_gradient *s = launch->state;
    const float *dy = launch->inputs[0], *regions = launch->inputs[1];
    const int32_t *positions = launch->inputs[2];
    float *dx = launch->outputs[0];
#pragma omp parallel for schedule(static) if (s->batch * s->channels * s->positions > ONS_PARALLEL_GRAIN)
    for (int64_t plane = 0; plane < s->batch * s->channels; ++plane) {
        float *to = dx + plane * s->positions;
        memset(to, 0, (size_t)s->positions * sizeof *to);
        for (int64_t region = 0; region < s->regions; ++region) {
            float sample = regions[region * 5];
            if (!(sample >= 0 && sample < (float)s->batch) || (int64_t)sample != plane / s->channels) continue;
            int64_t first = (region * s->channels + plane % s->channels) * s->bins;
            for (int64_t i = first; i < first + s->bins; ++i)
                if (positions[i] >= 0 && positions[i] < s->positions) to[positions[i]] += dy[i];
        }
    }
}

ONS_KERNELS(cpu, max_roi_pool_gradient, ONS_KERNEL(ons_max_roi_pool_gradient_prepare, max_roi_pool_gradient_run))
