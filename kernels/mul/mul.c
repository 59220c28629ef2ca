/* Mul: a · b. */
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"

ONS_BINARY_NUMBER_REFERENCE(mul, a *b, ons_wrapping_multiply(a, b))

ONS_BINARY_KERNELS(mul, ons_wrapping_multiply(a, b), a *b)

static ons_status *mul_gradient(ons_gradient *g) {
    if (g->wanted[0]) g->gradients[0] = ons_make2(g, &ons_op_mul, g->cotangents[0], ons_gradient_input(g, 1));
    if (g->wanted[1]) g->gradients[1] = ons_make2(g, &ons_op_mul, g->cotangents[0], ons_gradient_input(g, 0));
    return NULL;
}

static const ons_case mul_cases[] = {
    ONS_BROADCAST_CASES(ONS_F32, ONS_F32, 1e-6),
    ONS_BROADCAST_INTEGER_CASES(-9),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(mul, "Mul", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_numbers), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(mul_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_BROADCAST_FORMS,
                    ONS_REFERENCE(mul_reference), ONS_CPU_KERNEL(mul_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_number_prepare, ons_cuda_mul), mul_cases);
