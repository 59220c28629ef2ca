/* Xor: of two truth values. */
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"

ONS_LOGIC_REFERENCE(xor, (a ^ b) != 0)

ONS_LOGIC_KERNEL(xor, (a ^ b) != 0)

#define TRUTH(...) ONS_RANDOM(ONS_BOOL, 0, 1, ##__VA_ARGS__)
static const ons_case xor_cases[] = {
    ONS_BROADCAST_CASES(TRUTH, TRUTH, 0),
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(xor, "Xor", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_bools), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("the operands are bool"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_BROADCAST_FORMS,
                    ONS_REFERENCE(xor_reference), ONS_CPU_KERNEL(xor_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_bool_prepare, ons_cuda_xor), xor_cases);
