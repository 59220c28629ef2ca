/* GreaterOrEqual: a ≥ b. */
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"

ONS_COMPARISON_REFERENCE(greater_or_equal, a >= b)

ONS_COMPARISON_KERNEL(greater_or_equal, a >= b)

static const ons_case greater_or_equal_cases[] = {
    ONS_BROADCAST_CASES(ONS_F32, ONS_F32, 0), ONS_COMPARISON_EDGE_CASE, ONS_UINT64_CASE,
    ONS_BROADCAST_INTEGER_CASES(-9),          {.name = NULL},
};

ONS_DEFINE_OPERATOR(greater_or_equal, "GreaterOrEqual", ONS_ONNX(12, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_broadcast_compare_numbers), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("the result is bool"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_NO_ALIASES,
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(greater_or_equal_reference),
                    ONS_CPU_KERNEL(greater_or_equal_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_any_prepare, ons_cuda_greater_or_equal), greater_or_equal_cases);
