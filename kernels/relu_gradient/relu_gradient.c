/* Gradient of Relu: from cotangent a and output b. */
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"

ONS_BINARY_FLOAT_REFERENCE(relu_gradient, b > 0 ? a : 0)

ONS_BINARY_FLOAT_KERNEL(relu_gradient, b > 0 ? a : 0)

static const ons_case relu_gradient_cases[] = {
    ONS_PAIR_CASES(-1, 1, 0),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(relu_gradient, "ReluGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_floats), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(relu_gradient_reference), ONS_CPU_KERNEL(relu_gradient_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_relu_gradient), relu_gradient_cases);
