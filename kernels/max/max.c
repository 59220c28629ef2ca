/* Max: the largest of all operands; NaN where one of them is NaN. */
#include "kernels/common/cases.h"
#include "kernels/common/variadic.h"

ONS_VARIADIC_FUNCTIONS(max, a > b || a != a ? a : b, a > b ? a : b, a)

static const ons_case max_cases[] = {
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
    {.name = "edges",
     .inputs =
         {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {1, NAN, 2, INFINITY, -INFINITY, 3}},
          {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {2, 1, NAN, 1, 1, 3}}},
     .flops = 6,
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

ONS_DEFINE_OPERATOR(max, "Max", ONS_ONNX(6, 22), ONS_ARITY(1, ONS_VARIADIC, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_numbers), ONS_COST(ons_cost_variadic),
                    ONS_GRADIENT_RULE(ons_gradient_of_chosen, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_ALL_INPUTS, ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(max_reference), ONS_CPU_KERNEL(max_prepare, ons_broadcast_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), max_cases);
