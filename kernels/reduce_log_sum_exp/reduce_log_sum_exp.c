/* ReduceLogSumExp: log Σ e^x, with the largest element taken out first so that no exponential overflows. */
#include <math.h>

#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/cuda_reduction.h"
#include "kernels/common/reduction.h"
#include "kernels/common/rows.h"
#include "kernels/common/rules.h"
#include "kernels/common/strided.h"

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
        for (int64_t k = 0; k < elements && !isinf(largest); ++k)
            if (ons_reduction_target(o, reduced, k) == i) sum += exp(x[k] - largest);
        out[i] = isinf(largest) ? largest : largest + log(sum);
    }
}

static ons_status *reduce_log_sum_exp_infer(ons_operands *o) {
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "needs floating-point numbers, not %s", ons_dtype_name(o->inputs[0].dtype));
    return ons_reduction_infer(o);
}

typedef struct state {
    ons_axis_view view;
    bool moves; /* the reduced axes are not neighbours: they are brought to the end in scratch */
    ons_strided move;
} state;

/* As outer × length × inner, where the reduced axes are neighbours. */
static bool find_view(const ons_shape *shape, const bool *reduced, ons_axis_view *view) {
    *view = (ons_axis_view){1, 1, 1};
    bool begun = false;
    for (uint32_t i = 0; i < shape->rank; ++i) {
        if (reduced[i] && shape->dims[i] != 1 && view->inner > 1) return false;
        begun |= reduced[i];
        *(reduced[i] ? &view->length : begun ? &view->inner : &view->outer) *= shape->dims[i];
    }
    return true;
}

static void plan_move(const ons_operands *o, const bool *reduced, state *s) {
    const ons_shape *shape = &o->inputs[0].shape;
    int64_t strides[ONS_RANK_MAX];
    ons_shape moved = {0};
    uint32_t order[ONS_RANK_MAX];
    for (int last = 0; last < 2; ++last)
        for (uint32_t i = 0; i < shape->rank; ++i)
            if (reduced[i] == (last != 0)) {
                order[moved.rank] = i;
                moved.dims[moved.rank++] = shape->dims[i];
            }
    ons_dense_strides(shape, strides);
    s->moves = true;
    s->move = ons_strided_dense(ONS_FLOAT32, &moved);
    for (uint32_t i = 0; i < moved.rank; ++i) s->move.from[i] = strides[order[i]];
    ons_strided_plan(&s->move);
    s->view = (ons_axis_view){ons_elements(&o->outputs[0]), ons_reduction_count(o), 1};
}

static ons_status *reduce_log_sum_exp_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    bool reduced[ONS_RANK_MAX];
    void *memory;
    ONS_TRY(ons_require_float32(o));
    ONS_TRY(ons_reduction_axes(o, reduced));
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
    s->moves = false;
    if (find_view(&o->inputs[0].shape, reduced, &s->view)) return NULL;
    plan_move(o, reduced, s);
    p->scratch_bytes = (ons_type_dense_bytes(&o->inputs[0]) + 63) / 64 * 64;
    return NULL;
}

static void reduce_row(const float *x, int64_t n, float *result) {
    float largest, log_sum;
    if (n == 0) {
        *result = -INFINITY;
        return;
    }
    ons_row_max_and_log_sum(x, n, &largest, &log_sum);
    *result = isinf(largest) ? largest : largest + log_sum;
}

static void reduce_block(const ons_axis_view *view, int64_t number, const float *x, float *out) {
    ons_column_block block = ons_column_block_at(view, number);
    float largest[ONS_COLUMNS], log_sum[ONS_COLUMNS];
    ons_columns_max_and_log_sum(x + block.offset, view->length, view->inner, block.width, largest, log_sum);
    for (int i = 0; i < block.width; ++i)
        out[block.column + i] = isinf(largest[i]) ? largest[i] : largest[i] + log_sum[i];
}

static void reduce_log_sum_exp_run(const ons_launch *launch) {
    const state *s = launch->state;
    const ons_axis_view *view = &s->view;
    const float *x = s->moves ? launch->scratch : launch->inputs[0];
    float *out = launch->outputs[0];
    bool rows = view->inner == 1 || view->length == 0;
    int64_t tasks = rows ? view->outer * view->inner : ons_column_blocks(view);
    int64_t elements = view->outer * view->length * view->inner;
    if (s->moves) ons_strided_copy(&s->move, launch->inputs[0], launch->scratch);
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

/* A group of threads for each result: no parts. */
static ons_status *reduce_log_sum_exp_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_require_float(p->operands, p->operands->inputs[0].dtype));
    ONS_TRY(ons_cuda_reduction_prepare(p));
    ((ons_cuda_reduction *)p->state)->parts = 1;
    p->scratch_bytes = 0;
    return NULL;
}

static const ons_case reduce_log_sum_exp_cases[] = {
    {.name = "last", .inputs = {ONS_F32(5, 37), ONS_I64(-1)}, .tolerance = 2e-6, .flops = 185},
    {.name = "first", .inputs = {ONS_F32(37, 5), ONS_I64(0)}, .tolerance = 2e-6, .flops = 185},
    {.name = "neighbours", .inputs = {ONS_F32(3, 4, 5, 2), ONS_I64(1, 2)}, .tolerance = 2e-6, .flops = 120},
    {.name = "alternating", .inputs = {ONS_F32(3, 4, 5, 2), ONS_I64(0, 2)}, .tolerance = 2e-6, .flops = 120},
    {.name = "alternating_dropped",
     .inputs = {ONS_F32(3, 4, 5, 2), ONS_I64(-1, 1)},
     .settings = {ONS_SET_INT("keepdims", 0)},
     .tolerance = 2e-6,
     .flops = 120},
    {.name = "nothing",
     .inputs = {ONS_F32(4, 3)},
     .settings = {ONS_SET_INT("noop_with_empty_axes", 1)},
     .tolerance = 2e-6,
     .flops = 12},
    {.name = "infinities",
     .inputs = {{.dtype = ONS_FLOAT32,
                 .shape = ONS_DIMS(3, 2),
                 .value_count = 6,
                 .values = {-INFINITY, -INFINITY, 1, -INFINITY, INFINITY, 2}},
                ONS_I64(1)},
     .tolerance = 2e-6,
     .flops = 6,
     .no_gradient = true},
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

ONS_DEFINE_OPERATOR(reduce_log_sum_exp, "ReduceLogSumExp", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1),
                    ONS_REDUCTION_ATTRIBUTES, ONS_INFER(reduce_log_sum_exp_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_log_sum_exp_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_REDUCTION_FORMS, ONS_REFERENCE(reduce_log_sum_exp_reference),
                    ONS_CPU_KERNEL(reduce_log_sum_exp_prepare, reduce_log_sum_exp_run),
                    ONS_CUDA_KERNEL(reduce_log_sum_exp_prepare_cuda, ons_cuda_reduce_log_sum_exp),
                    reduce_log_sum_exp_cases);
