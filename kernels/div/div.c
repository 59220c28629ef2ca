/* Div: a / b; integers are truncated towards zero. */
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"

ONS_BINARY_ORDERED_REFERENCE(div, a / b, ons_wrapping_divide(a, b), b == 0 ? 0 : a / b)

ONS_BINARY_KERNELS(div, ons_wrapping_divide(a, b), a / b)

static ons_status *div_gradient(ons_gradient *g) {
    if (g->wanted[0]) g->gradients[0] = ons_make2(g, &ons_op_div, g->cotangents[0], ons_gradient_input(g, 1));
    if (g->wanted[1])
        g->gradients[1] =
            ons_make1(g, &ons_op_neg,
                      ons_make2(g, &ons_op_div, ons_make2(g, &ons_op_mul, g->cotangents[0], ons_gradient_output(g, 0)),
                                ons_gradient_input(g, 1)));
    return NULL;
}

#define POSITIVE(...) ONS_F32_IN(0.3, 2, ##__VA_ARGS__)
static const ons_case div_cases[] = {
    ONS_BROADCAST_CASES(ONS_F32, POSITIVE, 1e-6),
    ONS_BROADCAST_INTEGER_CASES(1),
    ONS_UINT64_CASE,
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(div, "Div", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_numbers), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(div_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(1), ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_BROADCAST_FORMS,
                    ONS_REFERENCE(div_reference), ONS_CPU_KERNEL(div_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_div), div_cases);
