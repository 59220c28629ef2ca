/* Cross entropy of logits: Σ (log Σ e^x - x[target]) ÷ counted targets; output 1 is log Σ e^x of every target, 0 where
 * it does not count. */
#include <math.h>

#include "kernels/common/class_loss.h"
#include "kernels/common/cuda_rows.h"

static void cross_entropy_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    ons_class_loss_check(&loss, inputs[1], step->fault);
    int64_t length = loss.view.length, inner = loss.view.inner;
    const double *x = inputs[0];
    double *saved = outputs[1], sum = 0;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        int64_t first = i / inner * length * inner + i % inner, class = ons_class_at(&loss, inputs[1], i);
        double max = -INFINITY, total = 0;
        for (int64_t k = 0; k < length; ++k) max = fmax(max, x[first + k * inner]);
        for (int64_t k = 0; k < length; ++k) total += exp(x[first + k * inner] - max);
        if (class >= 0) sum += max - x[first + class * inner] + log(total);
        if (saved != NULL) saved[i] = class >= 0 ? max + log(total) : 0;
    }
    *(double *)outputs[0] = sum / step->counted_targets;
}

static double add_rows(const ons_class_loss *loss, const float *x, const void *targets, int64_t begin, int64_t end,
                       float *saved) {
    int64_t classes = loss->view.length;
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) {
        int64_t class = ons_class_at(loss, targets, i);
        float max = 0, log_sum = 0;
        if (class >= 0) {
            ons_row_max_and_log_sum(x + i * classes, classes, &max, &log_sum);
            sum += (double)(max - x[i * classes + class]) + log_sum;
        }
        if (saved != NULL) saved[i] = max + log_sum;
    }
    return sum;
}

static double add_columns(const ons_class_loss *loss, const float *x, const void *targets, int64_t begin, int64_t end,
                          float *saved) {
    int64_t classes = loss->view.length, inner = loss->view.inner;
    float max[ONS_COLUMNS], log_sum[ONS_COLUMNS];
    double sum = 0;
    for (int64_t block = begin; block < end; ++block) {
        ons_column_block at = ons_column_block_at(&loss->view, block);
        ons_columns_max_and_log_sum(x + at.offset, classes, inner, at.width, max, log_sum);
        for (int c = 0; c < at.width; ++c) {
            int64_t class = ons_class_at(loss, targets, at.column + c);
            if (class >= 0) sum += (double)(max[c] - x[at.offset + class * inner + c]) + log_sum[c];
            if (saved != NULL) saved[at.column + c] = class >= 0 ? max[c] + log_sum[c] : 0;
        }
    }
    return sum;
}

static void cross_entropy_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const float *x = launch->inputs[0];
    const void *targets = launch->inputs[1];
    float *result = launch->outputs[0], *saved = launch->outputs[1];
    double *sums = launch->scratch;
    int parts = loss->parts;
    bool rows = loss->view.inner == 1;
    int64_t items = rows ? loss->view.outer : ons_column_blocks(&loss->view);
    ons_class_loss_check(loss, targets, launch->fault);
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = ons_part_begin(items, parts, part), end = ons_part_begin(items, parts, part + 1);
        sums[part] =
            rows ? add_rows(loss, x, targets, begin, end, saved) : add_columns(loss, x, targets, begin, end, saved);
    }
    *result = (float)(ons_sum_parts(sums, parts) / launch->step->counted_targets);
}

/* Maximum, subtraction, exponential and sum: four operations an element. */
static ons_cost cross_entropy_cost(const ons_operands *o) {
    return (ons_cost){4 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static ons_status *cross_entropy_gradient(ons_gradient *g) {
    ONS_TRY(ons_refuse_cotangents(g, 1));
    ons_build_node_like(
        g->builder, &ons_op_cross_entropy_gradient,
        ONS_IN(ons_gradient_input(g, 0), ons_gradient_input(g, 1), ons_gradient_output(g, 1), g->cotangents[0]),
        g->operands->attributes, 1, NULL, &g->gradients[0]);
    return NULL;
}

static const ons_case cross_entropy_cases[] = {
    {.name = "rows",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 140},
    {.name = "int32", .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT32, 0, 6, 5)}, .tolerance = 1e-5, .flops = 140},
    {.name = "double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -9, 9, 5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5)},
     .outputs = 2,
     .tolerance = 1e-14,
     .flops = 140},
    {.name = "ignored",
     .inputs = {ONS_F32_IN(-9, 9, 6, 33),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(6), .value_count = 3, .values = {-100, 4, 32}}},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 792},
    {.name = "ignored_class",
     .inputs = {ONS_F32(6, 3), ONS_RANDOM(ONS_INT64, 0, 2, 6)},
     .settings = {ONS_SET_INT("ignore_index", 0)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 72},
    {.name = "pixels",
     .inputs = {ONS_F32(2, 5, 3, 29), ONS_RANDOM(ONS_INT64, 0, 4, 2, 3, 29)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 3480},
    {.name = "pixels_ignored",
     .inputs = {ONS_F32_IN(80, 100, 2, 3, 5), ONS_RANDOM(ONS_INT64, 0, 2, 2, 5)},
     .settings = {ONS_SET_INT("ignore_index", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 120},
    {.name = "axis_0",
     .inputs = {ONS_F32(4, 6), ONS_RANDOM(ONS_INT64, 0, 3, 6)},
     .settings = {ONS_SET_INT("axis", 0)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 96},
    {.name = "tokens",
     .inputs = {ONS_F32(2, 3, 65), ONS_RANDOM(ONS_INT64, 0, 64, 2, 3)},
     .settings = {ONS_SET_INT("axis", -1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 1560},
    {.name = "one_sample",
     .inputs = {ONS_F32(7), ONS_RANDOM(ONS_INT64, 0, 6)},
     .settings = {ONS_SET_INT("axis", 0)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 28},
    {.name = "target_shape", .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 4)}, .error = "target"},
    {.name = "threads",
     .inputs = {ONS_F32(500, 65), ONS_RANDOM(ONS_INT64, 0, 64, 500)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 130000,
     .no_gradient = true},
    {.name = "vocabulary",
     .inputs = {ONS_F32_IN(-4, 4, 512, 10000), ONS_RANDOM(ONS_INT64, 0, 9999, 512)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 20480000,
     .benchmark = true},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4), {.dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = {0, 4, 1}}},
     .flops = -1,
     .fault = "class"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = {0, 4, 1}}},
     .flops = -1,
     .fault = "class"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(cross_entropy, "CrossEntropy", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 2), ONS_CLASS_LOSS_ATTRIBUTES,
                    ONS_INFER(ons_class_loss_infer), ONS_COST(cross_entropy_cost),
                    ONS_GRADIENT_RULE(cross_entropy_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(1)),
                    ONS_ROLES(ONS_ROLE_CROSS_ENTROPY, 0, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(cross_entropy_reference), ONS_CPU_KERNEL(ons_class_loss_prepare, cross_entropy_run),
                    ONS_CUDA_KERNEL(ons_cuda_class_loss_prepare, ons_cuda_cross_entropy), cross_entropy_cases);
