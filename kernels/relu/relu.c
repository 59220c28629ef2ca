/* Relu: max(0, x). */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/unary.h"

ONS_UNARY_NUMBER_REFERENCE(relu, x < 0 ? 0 : x, x < 0 ? 0 : x, x)

ONS_UNARY_NUMBER_KERNEL(relu, x < 0 ? 0 : x, x < 0 ? 0 : x /* NaN stays NaN */)

static ons_status *relu_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make2(g, &ons_op_relu_gradient, g->cotangents[0], ons_gradient_output(g, 0));
    return NULL;
}

static const ons_case relu_cases[] = {
    ONS_UNARY_CASES(-1, 1, 0),
    ONS_EDGE_CASE("edges", 0, 4, NAN, INFINITY, -INFINITY, 0),
    ONS_UNARY_INTEGER_CASES,
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(relu, "Relu", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_number_unary), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(relu_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0), ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}),
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(relu_reference),
                    ONS_CPU_KERNEL(ons_unary_number_prepare, relu_run),
                    ONS_CUDA_KERNEL(ons_cuda_number_prepare, ons_cuda_relu), relu_cases);
