/* Binary cross entropy with logits: Σ (max(x, 0) - x t + log(1 + e^-|x|)) ÷ counted targets. */
#include "kernels/common/pointwise_loss.h"

ONS_POINTWISE_LOSS_FUNCTIONS(binary_cross_entropy, fmax(x, 0) - x * t + log1p(exp(-fabs(x))), ons_softplus(x) - x * t)

/* Maximum, product, exponential, logarithm and three sums. */
static ons_cost binary_cross_entropy_cost(const ons_operands *o) {
    return (ons_cost){7 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static ons_status *binary_cross_entropy_gradient(ons_gradient *g) {
    return ons_pointwise_loss_build_gradient(g, &ons_op_binary_cross_entropy_gradient);
}

static const ons_case binary_cross_entropy_cases[] = {
    {.name = "matrix", .inputs = {ONS_F32_IN(-2, 2, 5, 7), ONS_F32_IN(0, 1, 5, 7)}, .tolerance = 1e-5, .flops = 245},
    {.name = "rank0", .inputs = {ONS_F32_IN(-2, 2), ONS_F32_IN(0, 1)}, .tolerance = 1e-5, .flops = 7},
    {.name = "odd",
     .inputs = {ONS_F32_IN(-2, 2, 3, 1, 37), ONS_F32_IN(0, 1, 3, 1, 37)},
     .tolerance = 1e-5,
     .flops = 777},
    {.name = "threads",
     .inputs = {ONS_F32_IN(-2, 2, 9, 5003), ONS_F32_IN(0, 1, 9, 5003)},
     .tolerance = 1e-5,
     .flops = 315189,
     .no_gradient = true},
    {.name = "large",
     .inputs = {ONS_F32_IN(-2, 2, 1024, 4096), ONS_F32_IN(0, 1, 1024, 4096)},
     .tolerance = 1e-5,
     .flops = 29360128,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(binary_cross_entropy, "BinaryCrossEntropy", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_pointwise_loss_infer), ONS_COST(binary_cross_entropy_cost),
                    ONS_GRADIENT_RULE(binary_cross_entropy_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_ROLES(ONS_ROLE_BINARY_CROSS_ENTROPY, 0, 0),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(binary_cross_entropy_reference),
                    ONS_CPU_KERNEL(ons_pointwise_loss_prepare, binary_cross_entropy_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), binary_cross_entropy_cases);
