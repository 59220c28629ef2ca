/* Gradient of SampleMean: from its input (the shape alone) and the cotangent, cotangent × samples of the micro-batch ÷
 * samples of the step. */
#include "kernels/common/kernel.h"

static void sample_mean_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    (void)o;
    *(double *)outputs[0] = *(const double *)inputs[1] * step->sample_share;
}

static ons_status *sample_mean_gradient_prepare(ons_prepare *p) { return ons_require_float32(p->operands); }

static void sample_mean_gradient_run(const ons_launch *launch) {
    *(float *)launch->outputs[0] = (float)(*(const float *)launch->inputs[1] * launch->step->sample_share);
}

static const ons_case sample_mean_gradient_cases[] = {
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, .tolerance = 1e-6, .flops = 1},
    {.name = "rank2", .inputs = {ONS_F32(1, 1), ONS_F32()}, .tolerance = 1e-6, .flops = 1},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(sample_mean_gradient, "SampleMeanGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_like_first), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(sample_mean_gradient_reference),
                    ONS_CPU_KERNEL(sample_mean_gradient_prepare, sample_mean_gradient_run),
                    ONS_CUDA_KERNEL(sample_mean_gradient_prepare, ons_cuda_sample_mean_gradient),
                    sample_mean_gradient_cases);
