/* Atanh: the number whose hyperbolic tangent is x. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/trigonometry.h"
#include "kernels/common/unary.h"

ONS_UNARY_FLOAT_REFERENCE(atanh, atanh(x))

ONS_UNARY_FLOAT_KERNEL(atanh, ons_atanh(x))

static ons_status *atanh_gradient(ons_gradient *g) {
    ons_value_id value = ons_gradient_input(g, 0), square = ons_make2(g, &ons_op_mul, value, value);
    g->gradients[0] =
        ons_make2(g, &ons_op_div, g->cotangents[0], ons_make2(g, &ons_op_sub, ons_make_scalar(g, 1), square));
    return NULL;
}

static const ons_case atanh_cases[] = {
    ONS_UNARY_CASES(-0.9, 0.9, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 7, NAN, 1, -1, 0, 1e-20, 2, -INFINITY),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(atanh, "Atanh", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_float_unary), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(atanh_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(atanh_reference), ONS_CPU_KERNEL(ons_unary_prepare, atanh_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_atanh), atanh_cases);
