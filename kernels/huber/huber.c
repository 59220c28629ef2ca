/* Huber loss: Σ (d²/2 where |d| ≤ delta, else delta (|d| - delta/2)) ÷ counted targets, d = x - t. */
#include "kernels/common/pointwise_loss.h"

static double huber_of(double d, double delta) { return fabs(d) <= delta ? d * d / 2 : delta * (fabs(d) - delta / 2); }

static inline float huber_of_float(float d, float delta) {
    float magnitude = ons_absolute(d), square = 0.5f * d * d, line = delta * (magnitude - 0.5f * delta);
    return magnitude <= delta ? square : line;
}

ONS_POINTWISE_LOSS_FUNCTIONS(huber, huber_of(x - t, parameter), huber_of_float(x - t, parameter))

/* Difference, magnitude, square, comparison and sum. */
static ons_cost huber_cost(const ons_operands *o) {
    return (ons_cost){5 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static ons_status *huber_gradient(ons_gradient *g) {
    return ons_pointwise_loss_build_gradient(g, &ons_op_huber_gradient);
}

static const ons_case huber_cases[] = {
    {.name = "matrix",
     .inputs = {ONS_F32_IN(-2, 2, 5, 7), ONS_F32_IN(-1, 1, 5, 7)},
     .settings = {ONS_SET_FLOAT("delta", 0.4)},
     .tolerance = 1e-5,
     .flops = 175},
    {.name = "rank0",
     .inputs = {ONS_F32_IN(-2, 2), ONS_F32_IN(-1, 1)},
     .settings = {ONS_SET_FLOAT("delta", 0.4)},
     .tolerance = 1e-5,
     .flops = 5},
    {.name = "odd",
     .inputs = {ONS_F32_IN(-2, 2, 3, 1, 37), ONS_F32_IN(-1, 1, 3, 1, 37)},
     .settings = {ONS_SET_FLOAT("delta", 0.4)},
     .tolerance = 1e-5,
     .flops = 555},
    {.name = "threads",
     .inputs = {ONS_F32_IN(-2, 2, 9, 5003), ONS_F32_IN(-1, 1, 9, 5003)},
     .settings = {ONS_SET_FLOAT("delta", 0.4)},
     .tolerance = 1e-5,
     .flops = 225135,
     .no_gradient = true},
    {.name = "large",
     .inputs = {ONS_F32_IN(-2, 2, 1024, 4096), ONS_F32_IN(-1, 1, 1024, 4096)},
     .settings = {ONS_SET_FLOAT("delta", 0.4)},
     .tolerance = 1e-5,
     .flops = 20971520,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(huber, "Huber", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("delta", 1)), ONS_INFER(ons_pointwise_loss_infer),
                    ONS_COST(huber_cost), ONS_GRADIENT_RULE(huber_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_ROLES(ONS_ROLE_HUBER, 0, 0), ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(huber_reference),
                    ONS_CPU_KERNEL(ons_pointwise_loss_prepare, huber_run), ONS_NO_CUDA_KERNEL("this build has no CUDA"),
                    huber_cases);
