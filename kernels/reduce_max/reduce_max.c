/* ReduceMax: the largest element; a NaN wins. */
#include <math.h>

#include "kernels/common/reduction.h"
#include "kernels/common/rules.h"

ONS_REDUCTION_REFERENCE(reduce_max, -INFINITY, ONS_LARGER_OF(a, x), a, INT64_MIN, x > a ? x : a, a)

ONS_DEFINE_REDUCER(reduce_max, -INFINITY, ons_lanes_larger, ons_lanes_larger, ONS_LARGER_OF, a)

static ons_status *reduce_max_gradient(ons_gradient *g) {
    /* Elements that tie share the gradient, as in PyTorch's amax. */
    ons_value_id result = ons_reduction_keep(g, ons_gradient_output(g, 0));
    ons_value_id same = ons_make2(g, &ons_op_equal, ons_gradient_input(g, 0), result);
    ons_value_id mask = ons_build(g->builder, &ons_op_cast, ONS_IN(same), ONS_WITH(ONS_AT_INT(0, ONS_FLOAT32)));
    ons_value_id ties = ons_make_like(g, &ons_op_reduce_sum, ONS_IN(mask, ons_gradient_input(g, 1)));
    ons_value_id share = ons_make2(g, &ons_op_div, g->cotangents[0], ties);
    g->gradients[0] = ons_make2(g, &ons_op_mul, mask, ons_reduction_keep(g, share));
    return NULL;
}

static const ons_case reduce_max_cases[] = {
    {.name = "last", .inputs = {ONS_F32(5, 37), ONS_I64(-1)}, .tolerance = 0, .flops = 185},
    {.name = "first", .inputs = {ONS_F32(37, 5), ONS_I64(0)}, .tolerance = 0, .flops = 185},
    {.name = "middle", .inputs = {ONS_F32(3, 7, 5), ONS_I64(1)}, .tolerance = 0, .flops = 105},
    {.name = "channels", .inputs = {ONS_F32(3, 4, 5, 2), ONS_I64(0, 2, 3)}, .tolerance = 0, .flops = 120},
    {.name = "alternating", .inputs = {ONS_F32(3, 4, 5, 2), ONS_I64(0, 2)}, .tolerance = 0, .flops = 120},
    {.name = "all", .inputs = {ONS_F32(4, 9)}, .tolerance = 0, .flops = 36},
    {.name = "dropped",
     .inputs = {ONS_F32(4, 9), ONS_I64(1)},
     .settings = {ONS_SET_INT("keepdims", 0)},
     .tolerance = 0,
     .flops = 36},
    {.name = "nothing",
     .inputs = {ONS_F32(4, 3)},
     .settings = {ONS_SET_INT("noop_with_empty_axes", 1)},
     .tolerance = 0,
     .flops = 12},
    {.name = "rank0", .inputs = {ONS_F32()}, .tolerance = 0, .flops = 1},
    {.name = "empty", .inputs = {ONS_F32(3, 0), ONS_I64(1)}, .tolerance = 0, .flops = 0, .no_gradient = true},
    {.name = "threads_rows", .inputs = {ONS_F32(60, 999), ONS_I64(1)}, .tolerance = 0, .flops = 59940},
    {.name = "threads_columns", .inputs = {ONS_F32(3, 777, 45), ONS_I64(0, 1)}, .tolerance = 0, .flops = 104895},
    {.name = "threads_all", .inputs = {ONS_F32(70001)}, .tolerance = 0, .flops = 70001},
    {.name = "threads_wide", .inputs = {ONS_F32(9, 5000), ONS_I64(0)}, .tolerance = 0, .flops = 45000},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 4, 3), ONS_I64(0)}, .flops = 12},
    {.name = "twice", .inputs = {ONS_F32(4, 9), ONS_I64(1, -1)}, .error = "twice"},
    {.name = "outside", .inputs = {ONS_F32(4, 9), ONS_I64(2)}, .error = "axis 2"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(reduce_max, "ReduceMax", ONS_ONNX(1, 22), ONS_ARITY(1, 2, 1, 1), ONS_REDUCTION_ATTRIBUTES,
                    ONS_INFER(ons_reduction_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_max_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_REDUCTION_FORMS, ONS_REFERENCE(reduce_max_reference),
                    ONS_CPU_KERNEL(reduce_max_prepare, ons_reduction_run), ONS_NO_CUDA_KERNEL("this build has no CUDA"),
                    reduce_max_cases);
