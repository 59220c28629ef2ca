/* Absolute error: Σ |x - t| ÷ counted targets. */
#include "kernels/common/pointwise_loss.h"

ONS_POINTWISE_LOSS_FUNCTIONS(absolute_error, fabs(x - t), ons_absolute(x - t))

/* Difference, magnitude and sum. */
static ons_cost absolute_error_cost(const ons_operands *o) {
    return (ons_cost){3 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static ons_status *absolute_error_gradient(ons_gradient *g) {
    return ons_pointwise_loss_build_gradient(g, &ons_op_absolute_error_gradient);
}

static const ons_case absolute_error_cases[] = {
    {.name = "matrix", .inputs = {ONS_F32_IN(-2, 2, 5, 7), ONS_F32_IN(-1, 1, 5, 7)}, .tolerance = 1e-5, .flops = 105},
    {.name = "rank0", .inputs = {ONS_F32_IN(-2, 2), ONS_F32_IN(-1, 1)}, .tolerance = 1e-5, .flops = 3},
    {.name = "odd",
     .inputs = {ONS_F32_IN(-2, 2, 3, 1, 37), ONS_F32_IN(-1, 1, 3, 1, 37)},
     .tolerance = 1e-5,
     .flops = 333},
    {.name = "threads",
     .inputs = {ONS_F32_IN(-2, 2, 9, 5003), ONS_F32_IN(-1, 1, 9, 5003)},
     .tolerance = 1e-5,
     .flops = 135081,
     .no_gradient = true},
    {.name = "large",
     .inputs = {ONS_F32_IN(-2, 2, 1024, 4096), ONS_F32_IN(-1, 1, 1024, 4096)},
     .tolerance = 1e-5,
     .flops = 12582912,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(absolute_error, "AbsoluteError", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_pointwise_loss_infer), ONS_COST(absolute_error_cost),
                    ONS_GRADIENT_RULE(absolute_error_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_ROLES(ONS_ROLE_ABSOLUTE_ERROR, 0, 0),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(absolute_error_reference),
                    ONS_CPU_KERNEL(ons_pointwise_loss_prepare, absolute_error_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), absolute_error_cases);
