/* Softsign: x / (1 + |x|). */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/unary.h"
#include "kernels/common/vector_math.h"

ONS_UNARY_FLOAT_REFERENCE(softsign, x / (1 + fabs(x)))

ONS_UNARY_FLOAT_KERNEL(softsign, x / (1 + ons_absolute(x)))

static ons_status *softsign_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make_like(g, &ons_op_softsign_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, 0)));
    return NULL;
}

static const ons_case softsign_cases[] = {
    ONS_UNARY_CASES(-3, 3, 2e-6),
    ONS_EDGE_CASE("edges", 2e-6, 4, NAN, 0, 1e30, -1e30),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(softsign, "Softsign", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_float_unary), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(softsign_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0), ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}),
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(softsign_reference),
                    ONS_CPU_KERNEL(ons_unary_prepare, softsign_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_softsign), softsign_cases);
