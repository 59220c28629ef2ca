/* Sqrt: the square root. */
#include <math.h>

#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/unary.h"

ONS_UNARY_FLOAT_REFERENCE(sqrt, sqrt(x))

ONS_UNARY_FLOAT_KERNEL(sqrt, __builtin_sqrtf(x))

static ons_status *sqrt_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make2(g, &ons_op_div, ons_make2(g, &ons_op_mul, g->cotangents[0], ons_make_scalar(g, 0.5)),
                                ons_gradient_output(g, 0));
    return NULL;
}

static const ons_case sqrt_cases[] = {
    ONS_UNARY_CASES(0.1, 4, 1e-6),
    ONS_EDGE_CASE("edges", 1e-6, 4, NAN, INFINITY, 0, -1),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(sqrt, "Sqrt", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_float_unary), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(sqrt_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_ROLE_SQUARE_ROOT, ONS_TRAIT_ELEMENTWISE, 0), ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}),
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(sqrt_reference),
                    ONS_CPU_KERNEL(ons_unary_prepare, sqrt_run), ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_sqrt),
                    sqrt_cases);
