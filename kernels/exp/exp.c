/* Exp: eˣ. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/unary.h"
#include "kernels/common/vector_math.h"

ONS_UNARY_FLOAT_REFERENCE(exp, exp(x))

ONS_UNARY_FLOAT_KERNEL(exp, ons_exp(x))

static ons_status *exp_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make2(g, &ons_op_mul, g->cotangents[0], ons_gradient_output(g, 0));
    return NULL;
}

static const ons_case exp_cases[] = {
    ONS_UNARY_CASES(-1, 1, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 9, NAN, INFINITY, -INFINITY, 0, -0.0, -103.5, -90, 88.7, 100),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(exp, "Exp", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_float_unary), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(exp_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(exp_reference),
                    ONS_CPU_KERNEL(ons_unary_prepare, exp_run), ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_exp),
                    exp_cases);
