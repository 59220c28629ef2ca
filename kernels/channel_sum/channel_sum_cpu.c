/* ChannelSum on the CPU. */
#include "kernels/normalization/batch_statistics.h"

static ons_status *channel_sum_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_batch_plan *plan;
    ONS_NEW_STATE(plan, p);
    return ons_batch_plan_make(p, &p->operands->inputs[0], plan);
}

static void channel_sum_run(const ons_launch *launch) {
    const ons_batch_plan *plan = launch->state;
    ons_batch_scratch s = ons_batch_scratch_of(plan, launch->scratch);
    float *y = launch->outputs[0];
    for (int64_t i = 0; i < plan->width; ++i) s.shift[i] = 0;
    ons_batch_sum_squares(plan, &s, launch->inputs[0]);
    for (int64_t c = 0; c < plan->size.channels; ++c) y[c] = (float)s.sums[0][c];
}

ONS_KERNELS(cpu, channel_sum, ONS_KERNEL(channel_sum_prepare, channel_sum_run))
