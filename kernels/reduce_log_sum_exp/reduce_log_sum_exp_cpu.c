/* ReduceLogSumExp on the CPU. */
#include "kernels/reduce_log_sum_exp/reduce_log_sum_exp.h"

#include <math.h>

#include "kernels/common/layout/strided.h"
#include "kernels/common/rows/rows.h"
#include "kernels/reduction/reduction.h"

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
    ONS_TRY(ons_require_float32(o));
    ons_resolved(ons_reduction_axes(o, reduced));
    state *s;
    ONS_NEW_STATE(s, p);
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

ONS_KERNELS(cpu, reduce_log_sum_exp, ONS_KERNEL(reduce_log_sum_exp_prepare, reduce_log_sum_exp_run))
