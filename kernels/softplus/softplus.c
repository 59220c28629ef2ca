/* Softplus: ln(1 + eˣ). */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/unary.h"
#include "kernels/common/vector_math.h"

ONS_UNARY_FLOAT_REFERENCE(softplus, fmax(x, 0) + log1p(exp(-fabs(x))))

ONS_UNARY_FLOAT_KERNEL(softplus, ons_softplus(x))

static ons_status *softplus_gradient(ons_gradient *g) {
    g->gradients[0] =
        ons_make2(g, &ons_op_mul, g->cotangents[0], ons_make1(g, &ons_op_sigmoid, ons_gradient_input(g, 0)));
    return NULL;
}

static const ons_case softplus_cases[] = {
    ONS_UNARY_CASES(-6, 6, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 5, INFINITY, -INFINITY, 100, -100, -20),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(softplus, "Softplus", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_float_unary), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(softplus_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(softplus_reference), ONS_CPU_KERNEL(ons_unary_prepare, softplus_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_softplus), softplus_cases);
