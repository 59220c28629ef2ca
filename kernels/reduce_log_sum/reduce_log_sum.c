/* ReduceLogSum: log Σ x. */
#include <math.h>

#include "kernels/common/reduction.h"
#include "kernels/common/rules.h"

ONS_REDUCTION_REFERENCE(reduce_log_sum, 0, a + x, log(a), 0, ons_wrapping_add(a, x), (int64_t)log((double)a))

ONS_DEFINE_REDUCER(reduce_log_sum, 0, ONS_SUM_OF, ONS_SUM_OF, ONS_SUM_OF, logf(a))

static ons_status *reduce_log_sum_gradient(ons_gradient *g) {
    /* d log s = ds / s, and s = e^y */
    ons_value_id sum = ons_make1(g, &ons_op_exp, ons_gradient_output(g, 0));
    g->gradients[0] = ons_reduction_spread(g, ons_make2(g, &ons_op_div, g->cotangents[0], sum));
    return NULL;
}

#define POSITIVE(...) ONS_F32_IN(0.1, 2, __VA_ARGS__)

static const ons_case reduce_log_sum_cases[] = {
    {.name = "last", .inputs = {POSITIVE(5, 37), ONS_I64(-1)}, .tolerance = 1e-5, .flops = 185},
    {.name = "first", .inputs = {POSITIVE(37, 5), ONS_I64(0)}, .tolerance = 1e-5, .flops = 185},
    {.name = "middle", .inputs = {POSITIVE(3, 7, 5), ONS_I64(1)}, .tolerance = 1e-5, .flops = 105},
    {.name = "channels", .inputs = {POSITIVE(3, 4, 5, 2), ONS_I64(0, 2, 3)}, .tolerance = 1e-5, .flops = 120},
    {.name = "alternating", .inputs = {POSITIVE(3, 4, 5, 2), ONS_I64(0, 2)}, .tolerance = 1e-5, .flops = 120},
    {.name = "all", .inputs = {POSITIVE(4, 9)}, .tolerance = 1e-5, .flops = 36},
    {.name = "dropped",
     .inputs = {POSITIVE(4, 9), ONS_I64(1)},
     .settings = {ONS_SET_INT("keepdims", 0)},
     .tolerance = 1e-5,
     .flops = 36},
    {.name = "nothing",
     .inputs = {POSITIVE(4, 3)},
     .settings = {ONS_SET_INT("noop_with_empty_axes", 1)},
     .tolerance = 1e-5,
     .flops = 12},
    {.name = "rank0", .inputs = {POSITIVE()}, .tolerance = 1e-5, .flops = 1},
    {.name = "empty", .inputs = {POSITIVE(3, 0), ONS_I64(1)}, .tolerance = 1e-5, .flops = 0, .no_gradient = true},
    {.name = "threads_rows", .inputs = {POSITIVE(60, 999), ONS_I64(1)}, .tolerance = 1e-5, .flops = 59940},
    {.name = "threads_columns", .inputs = {POSITIVE(3, 777, 45), ONS_I64(0, 1)}, .tolerance = 5e-5, .flops = 104895},
    {.name = "threads_all", .inputs = {POSITIVE(70001)}, .tolerance = 5e-5, .flops = 70001},
    {.name = "threads_wide", .inputs = {POSITIVE(9, 5000), ONS_I64(0)}, .tolerance = 1e-5, .flops = 45000},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, 1, 9, 4, 3), ONS_I64(0)}, .flops = 12},
    {.name = "twice", .inputs = {POSITIVE(4, 9), ONS_I64(1, -1)}, .error = "twice"},
    {.name = "outside", .inputs = {POSITIVE(4, 9), ONS_I64(2)}, .error = "axis 2"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(reduce_log_sum, "ReduceLogSum", ONS_ONNX(1, 22), ONS_ARITY(1, 2, 1, 1), ONS_REDUCTION_ATTRIBUTES,
                    ONS_INFER(ons_reduction_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_log_sum_gradient, ONS_INPUT_BIT(0)), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_REDUCTION_FORMS,
                    ONS_REFERENCE(reduce_log_sum_reference), ONS_CPU_KERNEL(reduce_log_sum_prepare, ons_reduction_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), reduce_log_sum_cases);
