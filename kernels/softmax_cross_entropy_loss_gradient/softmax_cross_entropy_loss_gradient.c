/* Gradient of SoftmaxCrossEntropyLoss: from scores x, labels, the saved log Σ e^x, the loss's cotangent and
 * weights, dx = (e^(x - log Σ e^x) - [class is the label]) × what the target counts. */
#include <math.h>
#include <string.h>

#include "kernels/common/cuda_rows.h"
#include "kernels/common/lanes.h"
#include "kernels/common/model_loss.h"

enum { LOG_SUM = ONS_MODEL_LOSS_OTHERS, COTANGENT };

static ons_status *softmax_cross_entropy_loss_gradient_infer(ons_operands *o) {
    if (!ons_shape_equal(&o->inputs[LOG_SUM].shape, &o->inputs[ONS_MODEL_LOSS_LABELS].shape))
        return ons_node_error(o, "the saved sums do not have the labels' shape");
    return ons_model_loss_gradient_infer(o, COTANGENT);
}

static double slope_of(double score, double log_sum, bool is_label) {
    return exp(score - log_sum) - (is_label ? 1 : 0);
}

static void softmax_cross_entropy_loss_gradient_reference(const ons_operands *o, const ons_step *step,
                                                          const void *const *inputs, void *const *outputs) {
    (void)step;
    ons_model_loss_gradient_reference(o, inputs, COTANGENT, inputs[LOG_SUM], outputs[0], slope_of);
}

static void fill_row(const ons_class_loss *classes, const ons_launch *launch, const ons_loss_scale *scale, int64_t i) {
    int64_t length = classes->view.length, class = ons_class_at(classes, launch->inputs[ONS_MODEL_LOSS_LABELS], i);
    float *row = (float *)launch->outputs[0] + i * length;
    if (class < 0) {
        memset(row, 0, (size_t)length * sizeof *row);
        return;
    }
    float factor = ons_loss_scale_at(scale, i, class);
    ons_row_scaled_exp((const float *)launch->inputs[0] + i * length, ((const float *)launch->inputs[LOG_SUM])[i],
                       factor, row, length);
    row[class] -= factor;
}

static void fill_block(const ons_class_loss *classes, const ons_launch *launch, const ons_loss_scale *scale,
                       const ons_column_block *at) {
    const float *x = (const float *)launch->inputs[0] + at->offset, *log_sum = launch->inputs[LOG_SUM];
    float *dx = (float *)launch->outputs[0] + at->offset;
    int64_t inner = classes->view.inner;
    int64_t labels[ONS_COLUMNS];
    float shift[ONS_COLUMNS], factor[ONS_COLUMNS];
    for (int c = 0; c < at->width; ++c) {
        int64_t class = labels[c] = ons_class_at(classes, launch->inputs[ONS_MODEL_LOSS_LABELS], at->column + c);
        shift[c] = class < 0 ? INFINITY : log_sum[at->column + c]; /* e^-inf is 0: targets that do not count */
        factor[c] = class < 0 ? 0.0f : ons_loss_scale_at(scale, at->column + c, class);
    }
    for (int64_t k = 0; k < classes->view.length; ++k) {
        float *row = dx + k * inner;
        ons_shifted_exp(x + k * inner, shift, 1.0f, row, at->width);
        for (int c = 0; c < at->width; ++c) row[c] *= factor[c];
    }
    for (int c = 0; c < at->width; ++c)
        if (labels[c] >= 0) dx[labels[c] * inner + c] -= factor[c];
}

static void softmax_cross_entropy_loss_gradient_run(const ons_launch *launch) {
    const ons_model_loss *loss = launch->state;
    const ons_class_loss *classes = &loss->classes;
    ons_loss_scale scale = ons_model_loss_scale(launch, COTANGENT);
    int64_t items = ons_class_loss_items(classes);
#pragma omp parallel for schedule(static) if (classes->parts > 1)
    for (int64_t item = 0; item < items; ++item) {
        if (classes->view.inner == 1) {
            fill_row(classes, launch, &scale, item);
            continue;
        }
        ons_column_block at = ons_column_block_at(&classes->view, item);
        fill_block(classes, launch, &scale, &at);
    }
}

/* Subtraction, exponential and scaling: three operations an element. */
static ons_cost softmax_cross_entropy_loss_gradient_cost(const ons_operands *o) {
    return (ons_cost){3 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static const ons_case softmax_cross_entropy_loss_gradient_cases[] = {
    {.name = "mean",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5), ONS_F32_IN(1, 2, 5), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 105},
    {.name = "weights",
     .inputs = {ONS_F32(5, 33), ONS_RANDOM(ONS_INT32, 0, 32, 5), ONS_F32_IN(3, 4, 5), ONS_F32(),
                ONS_F32_IN(0.2, 2, 33)},
     .tolerance = 2e-6,
     .flops = 495},
    {.name = "sum",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5), ONS_F32_IN(1, 2, 5), ONS_F32(), ONS_F32_IN(0.2, 2, 7)},
     .settings = {ONS_SET_STRING("reduction", "sum"), ONS_SET_INT("ignore_index", 2)},
     .tolerance = 2e-6,
     .flops = 105},
    {.name = "none",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5), ONS_F32_IN(1, 2, 5), ONS_F32(5)},
     .settings = {ONS_SET_STRING("reduction", "none")},
     .tolerance = 2e-6,
     .flops = 105},
    {.name = "pixels",
     .inputs = {ONS_F32(2, 5, 3, 29), ONS_RANDOM(ONS_INT64, 0, 4, 2, 3, 29), ONS_F32_IN(1, 2, 2, 3, 29), ONS_F32(),
                ONS_F32_IN(0.2, 2, 5)},
     .settings = {ONS_SET_INT("ignore_index", 2)},
     .tolerance = 2e-6,
     .flops = 2610},
    {.name = "pixels_none",
     .inputs = {ONS_F32_IN(90, 100, 2, 5, 29), ONS_RANDOM(ONS_INT64, 0, 4, 2, 29), ONS_F32_IN(101, 102, 2, 29),
                ONS_F32(2, 29)},
     .settings = {ONS_SET_INT("ignore_index", 2), ONS_SET_STRING("reduction", "none")},
     .tolerance = 2e-6,
     .flops = 870},
    {.name = "cotangent",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5), ONS_F32(5), ONS_F32(5)},
     .error = "cotangent"},
    {.name = "vocabulary",
     .inputs = {ONS_F32_IN(-4, 4, 512, 10000), ONS_RANDOM(ONS_INT64, 0, 9999, 512), ONS_F32_IN(8, 9, 512), ONS_F32()},
     .tolerance = 2e-6,
     .flops = 15360000,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(softmax_cross_entropy_loss_gradient, "SoftmaxCrossEntropyLossGradient", ONS_INTERNAL,
                    ONS_ARITY(4, 5, 1, 1), ONS_MODEL_LOSS_ATTRIBUTES,
                    ONS_INFER(softmax_cross_entropy_loss_gradient_infer),
                    ONS_COST(softmax_cross_entropy_loss_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(softmax_cross_entropy_loss_gradient_reference),
                    ONS_CPU_KERNEL(ons_model_loss_prepare, softmax_cross_entropy_loss_gradient_run),
                    ONS_CUDA_KERNEL(ons_cuda_model_loss_prepare, ons_cuda_softmax_cross_entropy_loss_gradient),
                    softmax_cross_entropy_loss_gradient_cases);
