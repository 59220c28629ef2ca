/* Sign: -1, 0 or 1; NaN stays NaN. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/unary.h"

ONS_UNARY_NUMBER_REFERENCE(sign, x > 0 ? 1 : x < 0 ? -1 : x, (x > 0) - (x < 0), x != 0)

ONS_UNARY_NUMBER_KERNEL(sign, (x > 0) - (x < 0), x > 0 ? 1 : x < 0 ? -1 : x)

static const ons_case sign_cases[] = {
    ONS_UNARY_CASES(-1, 1, 0),
    ONS_EDGE_CASE("edges", 0, 5, NAN, INFINITY, -INFINITY, 0, -0.0),
    ONS_UNARY_INTEGER_CASES,
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(sign, "Sign", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_number_unary), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(ons_gradient_stops, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0), ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}),
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(sign_reference),
                    ONS_CPU_KERNEL(ons_unary_number_prepare, sign_run),
                    ONS_CUDA_KERNEL(ons_cuda_number_prepare, ons_cuda_sign), sign_cases);
