/* Gradient of binary cross entropy with logits: (sigmoid(x) - t) × cotangent ÷ counted targets. */
#include "kernels/common/pointwise_loss.h"

ONS_POINTWISE_LOSS_GRADIENT_FUNCTIONS(binary_cross_entropy_gradient, (1 / (1 + exp(-x)) - t), (ons_sigmoid(x) - t))

/* Exponential, sum, quotient, difference and product. */
static ons_cost binary_cross_entropy_gradient_cost(const ons_operands *o) {
    return (ons_cost){5 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static const ons_case binary_cross_entropy_gradient_cases[] = {
    {.name = "matrix",
     .inputs = {ONS_F32_IN(-2, 2, 5, 7), ONS_F32_IN(0, 1, 5, 7), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 175},
    {.name = "rank0", .inputs = {ONS_F32_IN(-2, 2), ONS_F32_IN(0, 1), ONS_F32()}, .tolerance = 2e-6, .flops = 5},
    {.name = "odd",
     .inputs = {ONS_F32_IN(-2, 2, 3, 1, 37), ONS_F32_IN(0, 1, 3, 1, 37), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 555},
    {.name = "threads",
     .inputs = {ONS_F32_IN(-2, 2, 9, 5003), ONS_F32_IN(0, 1, 9, 5003), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 225135},
    {.name = "empty",
     .inputs = {ONS_F32_IN(-2, 2, 0, 3), ONS_F32_IN(0, 1, 0, 3), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32_IN(-2, 2, 1024, 4096), ONS_F32_IN(0, 1, 1024, 4096), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 20971520,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(binary_cross_entropy_gradient, "BinaryCrossEntropyGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_NO_ATTRIBUTES, ONS_INFER(ons_pointwise_loss_gradient_infer),
                    ONS_COST(binary_cross_entropy_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(binary_cross_entropy_gradient_reference),
                    ONS_CPU_KERNEL(ons_pointwise_loss_prepare, binary_cross_entropy_gradient_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), binary_cross_entropy_gradient_cases);
