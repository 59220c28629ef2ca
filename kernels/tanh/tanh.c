/* Tanh: the hyperbolic tangent. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/unary.h"
#include "kernels/common/vector_math.h"

ONS_UNARY_FLOAT_REFERENCE(tanh, tanh(x))

ONS_UNARY_FLOAT_KERNEL(tanh, ons_tanh(x))

static ons_status *tanh_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make2(g, &ons_op_tanh_gradient, g->cotangents[0], ons_gradient_output(g, 0));
    return NULL;
}

static const ons_case tanh_cases[] = {
    ONS_UNARY_CASES(-3, 3, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 9, NAN, INFINITY, -INFINITY, 0, -0.0, 20, -100, 0.625, 1e-30),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(tanh, "Tanh", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_float_unary), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(tanh_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0), ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}),
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(tanh_reference),
                    ONS_CPU_KERNEL(ons_unary_prepare, tanh_run), ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_tanh),
                    tanh_cases);
