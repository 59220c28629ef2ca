/* ReduceLogSumExp: log Σ e^x, with the largest element taken out first so that no exponential overflows. */
#include <math.h>

#include "kernels/common/reduction.h"
#include "kernels/common/rows.h"
#include "kernels/common/rules.h"

static void reduce_log_sum_exp_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                         void *const *outputs) {
    const double *x = inputs[0];
    double *out = outputs[0];
    bool reduced[ONS_RANK_MAX];
    ons_status_free(ons_reduction_axes(o, reduced)); /* has passed inference */
    int64_t elements = ons_elements(&o->inputs[0]);
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        double largest = -INFINITY, sum = 0;
        for (int64_t k = 0; k < elements; ++k)
            if (ons_reduction_target(o, reduced, k) == i) largest = fmax(largest, x[k]);
        for (int64_t k = 0; k < elements; ++k)
            if (ons_reduction_target(o, reduced, k) == i) sum += exp(x[k] - largest);
        out[i] = sum == 0 ? -INFINITY : largest + log(sum);
    }
}

static ons_status *reduce_log_sum_exp_infer(ons_operands *o) {
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "needs floating-point numbers, not %s", ons_dtype_name(o->inputs[0].dtype));
    return ons_reduction_infer(o);
}

/* The reduced axes must be neighbours: then the tensor is outer × length × inner. */
static ons_status *reduce_log_sum_exp_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    const ons_shape *shape = &o->inputs[0].shape;
    if (o->inputs[0].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(o->inputs[0].dtype));
    bool reduced[ONS_RANK_MAX];
    void *memory;
    ONS_TRY(ons_reduction_axes(o, reduced));
    ONS_TRY(ons_prepare_state(p, sizeof(ons_axis_view), &memory));
    ons_axis_view *view = memory;
    *view = (ons_axis_view){1, 1, 1};
    bool begun = false;
    for (uint32_t i = 0; i < shape->rank; ++i) {
        if (reduced[i] && shape->dims[i] != 1 && view->inner > 1)
            return ons_node_error(o, "no CPU kernel for axes that are not neighbours; use one ReduceLogSumExp an axis");
        begun |= reduced[i];
        *(reduced[i] ? &view->length : begun ? &view->inner : &view->outer) *= shape->dims[i];
    }
    return NULL;
}

static void reduce_row(const float *x, int64_t n, float *result) {
    float largest, log_sum;
    if (n == 0) {
        *result = -INFINITY;
        return;
    }
    ons_row_max_and_log_sum(x, n, &largest, &log_sum);
    *result = largest + log_sum;
}

static void reduce_block(const ons_axis_view *view, int64_t number, const float *x, float *out) {
    ons_column_block block = ons_column_block_at(view, number);
    float largest[ONS_COLUMNS], log_sum[ONS_COLUMNS];
    ons_columns_max_and_log_sum(x + block.offset, view->length, view->inner, block.width, largest, log_sum);
    for (int i = 0; i < block.width; ++i) out[block.column + i] = largest[i] + log_sum[i];
}

static void reduce_log_sum_exp_run(const ons_launch *launch) {
    const ons_axis_view *view = launch->state;
    const float *x = launch->inputs[0];
    float *out = launch->outputs[0];
    bool rows = view->inner == 1 || view->length == 0;
    int64_t tasks = rows ? view->outer * view->inner : ons_column_blocks(view);
    int64_t elements = view->outer * view->length * view->inner;
#pragma omp parallel for schedule(static) if (elements > ONS_PARALLEL_GRAIN / 4)
    for (int64_t i = 0; i < tasks; ++i) {
        if (rows)
            reduce_row(x + i * view->length, view->length, out + i);
        else
            reduce_block(view, i, x, out);
    }
}

/* dx = dy e^(x - y) */
static ons_status *reduce_log_sum_exp_gradient(ons_gradient *g) {
    ons_value_id result = ons_reduction_keep(g, ons_gradient_output(g, 0));
    ons_value_id share = ons_make1(g, &ons_op_exp, ons_make2(g, &ons_op_sub, ons_gradient_input(g, 0), result));
    g->gradients[0] = ons_make2(g, &ons_op_mul, share, ons_reduction_keep(g, g->cotangents[0]));
    return NULL;
}

static const ons_case reduce_log_sum_exp_cases[] = {
    {.name = "last", .inputs = {ONS_F32(5, 37), ONS_I64(-1)}, .tolerance = 2e-6, .flops = 185},
    {.name = "first", .inputs = {ONS_F32(37, 5), ONS_I64(0)}, .tolerance = 2e-6, .flops = 185},
    {.name = "neighbours", .inputs = {ONS_F32(3, 4, 5, 2), ONS_I64(1, 2)}, .tolerance = 2e-6, .flops = 120},
    {.name = "all",
     .inputs = {ONS_F32(4, 9)},
     .settings = {ONS_SET_INT("keepdims", 0)},
     .tolerance = 2e-6,
     .flops = 36},
    {.name = "large_values", .inputs = {ONS_F32_IN(-900, 900, 4, 9), ONS_I64(1)}, .tolerance = 2e-6, .flops = 36},
    {.name = "empty", .inputs = {ONS_F32(3, 0), ONS_I64(1)}, .no_gradient = true},
    {.name = "threads",
     .inputs = {ONS_F32(60, 999), ONS_I64(1)},
     .tolerance = 2e-6,
     .flops = 59940,
     .no_gradient = true},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, 0, 1, 3), ONS_I64(0)}, .error = "floating-point"},
    {.name = "large", .inputs = {ONS_F32(8192, 768), ONS_I64(-1)}, .flops = 6291456, .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(reduce_log_sum_exp, "ReduceLogSumExp", ONS_ONNX(1, 22), ONS_ARITY(1, 2, 1, 1),
                    ONS_REDUCTION_ATTRIBUTES, ONS_INFER(reduce_log_sum_exp_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_log_sum_exp_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_REDUCTION_FORMS, ONS_REFERENCE(reduce_log_sum_exp_reference),
                    ONS_CPU_KERNEL(reduce_log_sum_exp_prepare, reduce_log_sum_exp_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), reduce_log_sum_exp_cases);
