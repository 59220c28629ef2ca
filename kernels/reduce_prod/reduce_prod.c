/* ReduceProd: the product of all elements. */
#include <math.h>

#include "kernels/common/reduction.h"
#include "kernels/common/rules.h"

ONS_REDUCTION_REFERENCE(reduce_prod, 1, a *x, a, 1, ons_wrapping_multiply(a, x), a)

ONS_DEFINE_REDUCER(reduce_prod, 1, ONS_PRODUCT_OF, ONS_PRODUCT_OF, ONS_PRODUCT_OF, a)

static ons_status *reduce_prod_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make_like(g, &ons_op_reduce_prod_gradient,
                                    ONS_IN(ons_gradient_input(g, 0), ons_gradient_input(g, 1), g->cotangents[0]));
    return NULL;
}

static const ons_case reduce_prod_cases[] = {
    {.name = "last", .inputs = {ONS_F32(5, 37), ONS_I64(-1)}, .tolerance = 1e-5, .flops = 185},
    {.name = "first", .inputs = {ONS_F32(37, 5), ONS_I64(0)}, .tolerance = 1e-5, .flops = 185},
    {.name = "middle", .inputs = {ONS_F32(3, 7, 5), ONS_I64(1)}, .tolerance = 1e-5, .flops = 105},
    {.name = "channels", .inputs = {ONS_F32(3, 4, 5, 2), ONS_I64(0, 2, 3)}, .tolerance = 1e-5, .flops = 120},
    {.name = "alternating", .inputs = {ONS_F32(3, 4, 5, 2), ONS_I64(0, 2)}, .tolerance = 1e-5, .flops = 120},
    {.name = "all", .inputs = {ONS_F32(4, 9)}, .tolerance = 1e-5, .flops = 36},
    {.name = "dropped",
     .inputs = {ONS_F32(4, 9), ONS_I64(1)},
     .settings = {ONS_SET_INT("keepdims", 0)},
     .tolerance = 1e-5,
     .flops = 36},
    {.name = "nothing",
     .inputs = {ONS_F32(4, 3)},
     .settings = {ONS_SET_INT("noop_with_empty_axes", 1)},
     .tolerance = 1e-5,
     .flops = 12},
    {.name = "rank0", .inputs = {ONS_F32()}, .tolerance = 1e-5, .flops = 1},
    {.name = "empty", .inputs = {ONS_F32(3, 0), ONS_I64(1)}, .tolerance = 1e-5, .flops = 0, .no_gradient = true},
    {.name = "threads_rows",
     .inputs = {ONS_F32(60, 999), ONS_I64(1)},
     .tolerance = 1e-5,
     .flops = 59940,
     .no_gradient = true},
    {.name = "threads_columns",
     .inputs = {ONS_F32(3, 777, 45), ONS_I64(0, 1)},
     .tolerance = 5e-5,
     .flops = 104895,
     .no_gradient = true},
    {.name = "threads_all", .inputs = {ONS_F32(70001)}, .tolerance = 5e-5, .flops = 70001, .no_gradient = true},
    {.name = "threads_wide",
     .inputs = {ONS_F32(9, 5000), ONS_I64(0)},
     .tolerance = 1e-5,
     .flops = 45000,
     .no_gradient = true},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 4, 3), ONS_I64(0)}, .flops = 12},
    {.name = "twice", .inputs = {ONS_F32(4, 9), ONS_I64(1, -1)}, .error = "twice"},
    {.name = "outside", .inputs = {ONS_F32(4, 9), ONS_I64(2)}, .error = "axis 2"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(reduce_prod, "ReduceProd", ONS_ONNX(1, 22), ONS_ARITY(1, 2, 1, 1), ONS_REDUCTION_ATTRIBUTES,
                    ONS_INFER(ons_reduction_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_prod_gradient, ONS_INPUT_BIT(0)), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_REDUCTION_FORMS,
                    ONS_REFERENCE(reduce_prod_reference), ONS_CPU_KERNEL(reduce_prod_prepare, ons_reduction_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), reduce_prod_cases);
