/* SampleMeanGradient on the CPU. */
#include "kernels/sample_mean/sample_mean.h"

#include "kernels/common/operator/kernel.h"

ons_status *ons_sample_mean_gradient_prepare(ons_prepare *p) { return ons_require_float32(p->operands); }

static void sample_mean_gradient_run(const ons_launch *launch) {
    *(float *)launch->outputs[0] = (float)(*(const float *)launch->inputs[1] * launch->step->sample_share);
}

ONS_KERNELS(cpu, sample_mean_gradient, ONS_KERNEL(ons_sample_mean_gradient_prepare, sample_mean_gradient_run))
