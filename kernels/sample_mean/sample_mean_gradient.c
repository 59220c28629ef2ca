/* Gradient of SampleMean: from its input (the shape alone) and the cotangent, cotangent × samples of the micro-batch ÷
 * samples of the step. */
#include "kernels/common/operator/kernel.h"

static void sample_mean_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    *(double *)outputs[0] = *(const double *)inputs[1] * step->sample_share;
}

ONS_DEFINE_OPERATOR(sample_mean_gradient, "SampleMeanGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_like_first), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(sample_mean_gradient_reference));
