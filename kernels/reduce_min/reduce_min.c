/* ReduceMin: the smallest element; a NaN wins. */
#include <math.h>

#include "kernels/common/cuda_reduction.h"
#include "kernels/common/integers.h"
#include "kernels/common/reduction.h"

ONS_REDUCTION_REFERENCE(reduce_min, INFINITY, ONS_SMALLER_OF(a, x), a, ons_greatest_of(o->inputs[0].dtype),
                        ons_word_less(o->inputs[0].dtype, x, a) ? x : a, a)

ONS_DEFINE_REDUCER(reduce_min, 64, INFINITY, ONS_SMALLER_LANES, ONS_SMALLER_LANES, ONS_SMALLER_OF, a)

static const ons_case reduce_min_cases[] = {
    ONS_REDUCTION_CASES(ONS_F32, 0, -9, false),
    {.name = "empty_bool", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 3, 0), ONS_I64(1)}, .flops = 0},
    {.name = "empty_int8", .inputs = {ONS_RANDOM(ONS_INT8, 0, 1, 3, 0), ONS_I64(1)}, .flops = 0},
    {.name = "uint64",
     .inputs = {{.dtype = ONS_UINT64, .shape = ONS_DIMS(3), .value_count = 3, .values = {3, 1, 0x1p63}}, ONS_I64(0)},
     .flops = 3},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(reduce_min, "ReduceMin", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1), ONS_REDUCTION_ATTRIBUTES,
                    ONS_INFER(ons_reduction_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(ons_reduction_extreme_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_REDUCTION_FORMS, ONS_REFERENCE(reduce_min_reference),
                    ONS_CPU_KERNEL(reduce_min_prepare, ons_reduction_run),
                    ONS_CUDA_KERNEL(ons_cuda_reduction_prepare, ons_cuda_reduce_min), reduce_min_cases);
