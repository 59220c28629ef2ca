/* Gradient of cross entropy: from prediction x, target, the saved log Σ e^x and the loss's cotangent,
 * dx = (e^(x - log Σ e^x) - [class is the target]) × cotangent ÷ counted targets; 0 where the target does not count. */
#include <math.h>

#include "kernels/common/class_loss.h"
#include "kernels/common/cuda_rows.h"

static void cross_entropy_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                             void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    int64_t length = loss.view.length, inner = loss.view.inner;
    const double *x = inputs[0], *log_sum = inputs[2];
    double *dx = outputs[0], scale = *(const double *)inputs[3] / step->counted_targets;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        int64_t first = i / inner * length * inner + i % inner, class = ons_class_at(&loss, inputs[1], i);
        for (int64_t k = 0; k < length; ++k) {
            int64_t at = first + k * inner;
            dx[at] = class < 0 ? 0 : (exp(x[at] - log_sum[i]) - (k == class)) * scale;
        }
    }
}

static void cross_entropy_gradient_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const float *x = launch->inputs[0], *log_sum = launch->inputs[2];
    const void *targets = launch->inputs[1];
    float *dx = launch->outputs[0];
    float scale = (float)(*(const float *)launch->inputs[3] / launch->step->counted_targets);
    bool rows = loss->view.inner == 1;
    int64_t items = ons_class_loss_items(loss), size = loss->view.length * (rows ? 1 : ONS_COLUMNS);
#pragma omp parallel for schedule(static) if (items * size > ONS_PARALLEL_GRAIN)
    for (int64_t item = 0; item < items; ++item) {
        if (rows) {
            ons_class_slopes_row(loss, item, x, targets, log_sum[item], scale, dx);
        } else {
            ons_column_block at = ons_column_block_at(&loss->view, item);
            ons_class_slopes_block(loss, &at, x, targets, log_sum + at.column, scale, dx);
        }
    }
}

/* Subtraction, exponential and scaling: three operations an element. */
static ons_cost cross_entropy_gradient_cost(const ons_operands *o) {
    return (ons_cost){3 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static const ons_case cross_entropy_gradient_cases[] = {
    {.name = "rows",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5), ONS_F32_IN(1, 2, 5), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 105},
    {.name = "int32",
     .inputs = {ONS_F32(5, 33), ONS_RANDOM(ONS_INT32, 0, 32, 5), ONS_F32_IN(3, 4, 5), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 495},
    {.name = "half",
     .inputs = {ONS_RANDOM(ONS_BFLOAT16, -1, 1, 5, 67), ONS_RANDOM(ONS_INT64, 0, 66, 5), ONS_F32_IN(4, 5, 5),
                ONS_F32()},
     .tolerance = 8e-3,
     .flops = 1005},
    {.name = "half_pixels",
     .inputs = {ONS_RANDOM(ONS_FLOAT16, -1, 1, 2, 5, 33), ONS_RANDOM(ONS_INT64, 0, 4, 2, 33), ONS_F32_IN(1, 2, 2, 33),
                ONS_F32()},
     .tolerance = 1e-3,
     .flops = 990},
    {.name = "longer_than_a_warp",
     .inputs = {ONS_F32(3, 1931), ONS_RANDOM(ONS_INT64, 0, 1930, 3), ONS_F32_IN(7, 8, 3), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 17379},
    {.name = "ignored",
     .inputs = {ONS_F32(6, 7),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(6), .value_count = 3, .values = {-100, 4, 6}},
                ONS_F32_IN(1, 2, 6),
                ONS_F32()},
     .tolerance = 2e-6,
     .flops = 126},
    {.name = "pixels",
     .inputs = {ONS_F32(2, 5, 3, 29), ONS_RANDOM(ONS_INT64, 0, 4, 2, 3, 29), ONS_F32_IN(1, 2, 2, 3, 29), ONS_F32()},
     .settings = {ONS_SET_INT("ignore_index", 2)},
     .tolerance = 2e-6,
     .flops = 2610},
    {.name = "axis_0",
     .inputs = {ONS_F32(4, 6), ONS_RANDOM(ONS_INT64, 0, 3, 6), ONS_F32_IN(1, 2, 6), ONS_F32()},
     .settings = {ONS_SET_INT("axis", 0)},
     .tolerance = 2e-6,
     .flops = 72},
    {.name = "vocabulary",
     .inputs = {ONS_F32_IN(-4, 4, 512, 10000), ONS_RANDOM(ONS_INT64, 0, 9999, 512), ONS_F32_IN(8, 9, 512), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 15360000,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(cross_entropy_gradient, "CrossEntropyGradient", ONS_INTERNAL, ONS_ARITY(4, 4, 1, 1),
                    ONS_CLASS_LOSS_ATTRIBUTES, ONS_INFER(ons_class_loss_gradient_infer),
                    ONS_COST(cross_entropy_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(cross_entropy_gradient_reference),
                    ONS_CPU_KERNEL(ons_class_loss_prepare, cross_entropy_gradient_run),
                    ONS_CUDA_KERNEL(ons_cuda_cross_entropy_prepare, ons_cuda_cross_entropy_gradient),
                    cross_entropy_gradient_cases);
