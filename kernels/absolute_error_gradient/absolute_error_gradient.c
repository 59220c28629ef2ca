/* Gradient of the absolute error: the sign of x - t × cotangent ÷ counted targets; 0 where they are equal, as in
 * PyTorch. */
#include "kernels/common/pointwise_loss.h"

/* NaN stays NaN. */
static inline float sign_of(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x * 0.0f; }

ONS_POINTWISE_LOSS_GRADIENT_FUNCTIONS(absolute_error_gradient, (((x > t) - (x < t))), (sign_of(x - t)))

/* Difference, sign and product. */
static ons_cost absolute_error_gradient_cost(const ons_operands *o) {
    return (ons_cost){3 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static const ons_case absolute_error_gradient_cases[] = {
    {.name = "matrix",
     .inputs = {ONS_F32_IN(-2, 2, 5, 7), ONS_F32_IN(-1, 1, 5, 7), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 105},
    {.name = "rank0", .inputs = {ONS_F32_IN(-2, 2), ONS_F32_IN(-1, 1), ONS_F32()}, .tolerance = 2e-6, .flops = 3},
    {.name = "odd",
     .inputs = {ONS_F32_IN(-2, 2, 3, 1, 37), ONS_F32_IN(-1, 1, 3, 1, 37), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 333},
    {.name = "threads",
     .inputs = {ONS_F32_IN(-2, 2, 9, 5003), ONS_F32_IN(-1, 1, 9, 5003), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 135081},
    {.name = "empty",
     .inputs = {ONS_F32_IN(-2, 2, 0, 3), ONS_F32_IN(-1, 1, 0, 3), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32_IN(-2, 2, 1024, 4096), ONS_F32_IN(-1, 1, 1024, 4096), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 12582912,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(absolute_error_gradient, "AbsoluteErrorGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_NO_ATTRIBUTES, ONS_INFER(ons_pointwise_loss_gradient_infer),
                    ONS_COST(absolute_error_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(absolute_error_gradient_reference),
                    ONS_CPU_KERNEL(ons_pointwise_loss_prepare, absolute_error_gradient_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), absolute_error_gradient_cases);
