/* Sum: of all operands, from the first to the last. */
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/variadic.h"

ONS_VARIADIC_NUMBER_REFERENCE(sum, a + b, ons_wrapping_add(a, b), a)

ONS_VARIADIC_KERNELS(sum, a + b, ons_wrapping_add(a, b), a)

static ons_status *sum_gradient(ons_gradient *g) {
    for (uint32_t i = 0; i < g->operands->input_count; ++i) g->gradients[i] = g->cotangents[0];
    return NULL;
}

static const ons_case sum_cases[] = {
    {.name = "one", .inputs = {ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 0},
    {.name = "two", .inputs = {ONS_F32(5, 7), ONS_F32(7)}, .tolerance = 1e-6, .flops = 35},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, .tolerance = 1e-6, .flops = 1},
    {.name = "three", .inputs = {ONS_F32(3, 1), ONS_F32(2, 3, 300), ONS_F32()}, .tolerance = 1e-6, .flops = 3600},
    {.name = "threads",
     .inputs = {ONS_F32(3, 16, 33, 35), ONS_F32(3, 16, 33, 35), ONS_F32(35), ONS_F32(16, 1, 1)},
     .tolerance = 1e-6,
     .flops = 166320},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(4)}, .flops = 0},
    {.name = "int64",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 3, 5), ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_RANDOM(ONS_INT64, -9, 9)},
     .flops = 30,
     .no_gradient = true},
    {.name = "int32",
     .inputs = {ONS_RANDOM(ONS_INT32, -9, 9, 37), ONS_RANDOM(ONS_INT32, -9, 9, 1)},
     .flops = 37,
     .no_gradient = true},
    {.name = "large",
     .inputs = {ONS_F32(64, 64, 56, 56), ONS_F32(64, 64, 56, 56)},
     .tolerance = 1e-6,
     .flops = 12845056,
     .benchmark = true},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_F32(3), ONS_F32(4)}, .error = "broadcast"},
    {.name = "types", .inputs = {ONS_F32(3), ONS_I64(1)}, .error = "element types"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(sum, "Sum", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, ONS_VARIADIC, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_numbers), ONS_COST(ons_cost_variadic),
                    ONS_GRADIENT_RULE(sum_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(sum_reference), ONS_CPU_KERNEL(sum_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_variadic_prepare, ons_cuda_sum), sum_cases);
