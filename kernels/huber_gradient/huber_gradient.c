/* Gradient of the Huber loss: x - t cut off at ±delta × cotangent ÷ counted targets. */
#include "kernels/common/pointwise_loss.h"

/* NaN stays NaN. */
static inline float limited(float d, float delta) {
    float above = d < -delta ? -delta : d;
    return above > delta ? delta : above;
}

ONS_POINTWISE_LOSS_GRADIENT_FUNCTIONS(huber_gradient, (fmin(fmax(x - t, -parameter), parameter)),
                                      (limited(x - t, parameter)))

/* Difference, two comparisons and a product. */
static ons_cost huber_gradient_cost(const ons_operands *o) {
    return (ons_cost){4 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static const ons_case huber_gradient_cases[] = {
    {.name = "matrix",
     .inputs = {ONS_F32_IN(-2, 2, 5, 7), ONS_F32_IN(-1, 1, 5, 7), ONS_F32()},
     .settings = {ONS_SET_FLOAT("delta", 0.4)},
     .tolerance = 2e-6,
     .flops = 140},
    {.name = "rank0",
     .inputs = {ONS_F32_IN(-2, 2), ONS_F32_IN(-1, 1), ONS_F32()},
     .settings = {ONS_SET_FLOAT("delta", 0.4)},
     .tolerance = 2e-6,
     .flops = 4},
    {.name = "odd",
     .inputs = {ONS_F32_IN(-2, 2, 3, 1, 37), ONS_F32_IN(-1, 1, 3, 1, 37), ONS_F32()},
     .settings = {ONS_SET_FLOAT("delta", 0.4)},
     .tolerance = 2e-6,
     .flops = 444},
    {.name = "threads",
     .inputs = {ONS_F32_IN(-2, 2, 9, 5003), ONS_F32_IN(-1, 1, 9, 5003), ONS_F32()},
     .settings = {ONS_SET_FLOAT("delta", 0.4)},
     .tolerance = 2e-6,
     .flops = 180108},
    {.name = "empty",
     .inputs = {ONS_F32_IN(-2, 2, 0, 3), ONS_F32_IN(-1, 1, 0, 3), ONS_F32()},
     .settings = {ONS_SET_FLOAT("delta", 0.4)},
     .tolerance = 2e-6,
     .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32_IN(-2, 2, 1024, 4096), ONS_F32_IN(-1, 1, 1024, 4096), ONS_F32()},
     .settings = {ONS_SET_FLOAT("delta", 0.4)},
     .tolerance = 2e-6,
     .flops = 16777216,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(huber_gradient, "HuberGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("delta", 1)), ONS_INFER(ons_pointwise_loss_gradient_infer),
                    ONS_COST(huber_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(huber_gradient_reference),
                    ONS_CPU_KERNEL(ons_pointwise_loss_prepare, huber_gradient_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), huber_gradient_cases);
