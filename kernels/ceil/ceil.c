/* Ceil: the smallest integer that is not less. */
#include <math.h>

#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/unary.h"

ONS_UNARY_FLOAT_REFERENCE(ceil, ceil(x))

ONS_UNARY_FLOAT_KERNEL(ceil, __builtin_ceilf(x))

static const ons_case ceil_cases[] = {
    ONS_UNARY_CASES(-5, 5, 0),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(ceil, "Ceil", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_float_unary), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(ons_gradient_stops, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(ceil_reference),
                    ONS_CPU_KERNEL(ons_unary_prepare, ceil_run), ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_ceil),
                    ceil_cases);
