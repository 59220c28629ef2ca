/* SoftmaxCrossEntropyLoss: -log of the softmax of the scores at the label, weighted and reduced. Output 1 is the
 * log-softmax of all scores; output 2, which no file has, log Σ e^score of every target for the gradient. */
#include <math.h>

#include "graph/passes/fuse.h"
#include "kernels/common/cuda_rows.h"
#include "kernels/common/model_loss.h"
#include "kernels/common/rules.h"

enum { WEIGHTS = ONS_MODEL_LOSS_OTHERS };
enum { LOSS, LOG_PROBABILITY, LOG_SUM };

/* -------------------------------------------------------------------------------------------------------- reference */

static double log_sum_of(const ons_axis_view *view, const double *scores) {
    double max = -INFINITY, sum = 0;
    for (int64_t k = 0; k < view->length; ++k) max = fmax(max, scores[k * view->inner]);
    for (int64_t k = 0; k < view->length; ++k) sum += exp(scores[k * view->inner] - max);
    return max + log(sum);
}

static double cross_entropy_of(const ons_axis_view *view, const double *scores, int64_t class) {
    return log_sum_of(view, scores) - scores[class * view->inner];
}

static void softmax_cross_entropy_loss_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                                 void *const *outputs) {
    ons_model_loss_reference(o, step, inputs, outputs, cross_entropy_of);
    ons_axis_view view = ons_model_loss_of(o).classes.view;
    const double *scores = inputs[ONS_MODEL_LOSS_SCORES];
    double *log_probability = outputs[LOG_PROBABILITY], *saved = outputs[LOG_SUM];
    for (int64_t i = 0; i < view.outer * view.inner; ++i) {
        int64_t first = ons_loss_first(&view, i);
        double log_sum = log_sum_of(&view, scores + first);
        if (saved != NULL) saved[i] = log_sum;
        for (int64_t k = 0; log_probability != NULL && k < view.length; ++k)
            log_probability[first + k * view.inner] = scores[first + k * view.inner] - log_sum;
    }
}

/* ----------------------------------------------------------------------------------------------------------- kernel */

static void take_rows(ons_loss_part *part) {
    const ons_class_loss *classes = &part->loss->classes;
    const float *scores = part->launch->inputs[ONS_MODEL_LOSS_SCORES];
    float *log_probability = part->launch->outputs[LOG_PROBABILITY], *saved = part->launch->outputs[LOG_SUM];
    int64_t length = classes->view.length;
    for (int64_t i = part->begin; i < part->end; ++i) {
        const float *row = scores + i * length;
        int64_t class = ons_class_at(classes, part->launch->inputs[ONS_MODEL_LOSS_LABELS], i);
        float max, log_sum;
        ons_row_max_and_log_sum(row, length, &max, &log_sum);
        if (class < 0)
            ons_loss_skip(part, i);
        else
            ons_loss_take(part, i, class, (max - row[class]) + log_sum);
        if (saved != NULL) saved[i] = max + log_sum;
        for (int64_t k = 0; log_probability != NULL && k < length; ++k)
            log_probability[i * length + k] = (row[k] - max) - log_sum;
    }
}

static void take_block(ons_loss_part *part, const ons_column_block *at) {
    const ons_class_loss *classes = &part->loss->classes;
    const float *scores = (const float *)part->launch->inputs[ONS_MODEL_LOSS_SCORES] + at->offset;
    float *log_probability = part->launch->outputs[LOG_PROBABILITY], *saved = part->launch->outputs[LOG_SUM];
    int64_t length = classes->view.length, inner = classes->view.inner;
    float max[ONS_COLUMNS], log_sum[ONS_COLUMNS];
    ons_columns_max_and_log_sum(scores, length, inner, at->width, max, log_sum);
    for (int c = 0; c < at->width; ++c) {
        int64_t i = at->column + c, class = ons_class_at(classes, part->launch->inputs[ONS_MODEL_LOSS_LABELS], i);
        if (class < 0)
            ons_loss_skip(part, i);
        else
            ons_loss_take(part, i, class, (max[c] - scores[class * inner + c]) + log_sum[c]);
        if (saved != NULL) saved[i] = max[c] + log_sum[c];
    }
    for (int64_t k = 0; log_probability != NULL && k < length; ++k)
        for (int c = 0; c < at->width; ++c)
            log_probability[at->offset + k * inner + c] = (scores[k * inner + c] - max[c]) - log_sum[c];
}

static void take_part(ons_loss_part *part) {
    const ons_axis_view *view = &part->loss->classes.view;
    if (view->inner == 1) {
        take_rows(part);
        return;
    }
    for (int64_t block = part->begin; block < part->end; ++block) {
        ons_column_block at = ons_column_block_at(view, block);
        take_block(part, &at);
    }
}

static void softmax_cross_entropy_loss_run(const ons_launch *launch) { ons_model_loss_run(launch, take_part); }

/* Maximum, subtraction, exponential and sum: four operations an element. */
static ons_cost softmax_cross_entropy_loss_cost(const ons_operands *o) {
    return (ons_cost){4 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

/* --------------------------------------------------------------------------------------------------------- gradient */

static ons_status *softmax_cross_entropy_loss_gradient(ons_gradient *g) {
    ONS_TRY(ons_refuse_cotangents(g, LOG_SUM));
    ons_value_id scores = ons_gradient_input(g, ONS_MODEL_LOSS_SCORES), of_loss = ONS_NONE, of_log = ONS_NONE;
    if (g->cotangents[LOSS] != ONS_NONE)
        of_loss =
            ons_make_like(g, &ons_op_softmax_cross_entropy_loss_gradient,
                          ONS_IN(scores, ons_gradient_input(g, ONS_MODEL_LOSS_LABELS), ons_gradient_output(g, LOG_SUM),
                                 g->cotangents[LOSS], ons_gradient_input(g, WEIGHTS)));
    if (g->cotangents[LOG_PROBABILITY] != ONS_NONE)
        of_log = ons_build(g->builder, &ons_op_log_softmax_gradient,
                           ONS_IN(ons_gradient_output(g, LOG_PROBABILITY), g->cotangents[LOG_PROBABILITY]),
                           ONS_WITH(ONS_AT_INT(0, 1)));
    bool both = of_loss != ONS_NONE && of_log != ONS_NONE;
    g->gradients[0] = both ? ons_make2(g, &ons_op_add, of_loss, of_log) : of_loss != ONS_NONE ? of_loss : of_log;
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- patterns */

/* What PyTorch exports below opset 12, and for log_softmax followed by nll_loss. */
static ons_value_id replace(ons_match *match) {
    const ons_operands *softmax = ons_match_node(match, "softmax"), *loss = ons_match_node(match, "result");
    uint32_t rank = softmax->inputs[0].shape.rank;
    int64_t axis = ons_attribute_int(softmax, 0);
    bool flattened = ons_attribute_int(softmax, 1) != 0 && rank > 2;
    bool weighted = ons_has_input(loss, WEIGHTS) && ons_match_value(match, "weights") == ONS_NONE;
    if ((axis != 1 && axis + rank != 1) || flattened || weighted) return ONS_NONE;
    ons_value_id inputs[] = {ons_match_value(match, "x"), ons_match_value(match, "labels"),
                             ons_match_value(match, "weights")};
    ons_value_id result = ONS_NONE;
    ons_build_node_like(ons_match_builder(match), &ons_op_softmax_cross_entropy_loss,
                        (ons_inputs){inputs, inputs[2] == ONS_NONE ? 2 : 3}, loss->attributes, 1, NULL, &result);
    return result;
}

static const ons_pattern softmax_cross_entropy_loss_patterns[] = {
    {"NegativeLogLikelihoodLoss(softmax=LogSoftmax(x), labels)", replace},
    {"NegativeLogLikelihoodLoss(softmax=LogSoftmax(x), labels, weights)", replace},
    {.form = NULL},
};

/* ------------------------------------------------------------------------------------------------------------ cases */

#define LABELS(LAST, ...) ONS_RANDOM(ONS_INT64, 0, LAST, __VA_ARGS__)
#define IGNORED_LABELS                                                                                                 \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(6), .value_count = 3, .values = { -1, 4, 6 }                             \
    }
static const ons_case softmax_cross_entropy_loss_cases[] = {
    {.name = "mean", .inputs = {ONS_F32(5, 7), LABELS(6, 5)}, .tolerance = 1e-5, .flops = 140},
    {.name = "saved", .inputs = {ONS_F32(5, 7), LABELS(6, 5)}, .outputs = 3, .tolerance = 1e-5, .flops = 140},
    {.name = "log_probability",
     .inputs = {ONS_F32_IN(-9, 9, 5, 33), LABELS(32, 5), ONS_F32_IN(0.2, 2, 33)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 660},
    {.name = "sum",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT32, 0, 6, 5)},
     .settings = {ONS_SET_STRING("reduction", "sum")},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 140},
    {.name = "none",
     .inputs = {ONS_F32(5, 7), LABELS(6, 5), ONS_F32_IN(0.2, 2, 7)},
     .settings = {ONS_SET_STRING("reduction", "none")},
     .tolerance = 1e-5,
     .flops = 140},
    {.name = "weights",
     .inputs = {ONS_F32(6, 7), LABELS(6, 6), ONS_F32_IN(0.2, 2, 7)},
     .tolerance = 1e-5,
     .flops = 168},
    {.name = "ignored",
     .inputs = {ONS_F32(6, 7), IGNORED_LABELS, ONS_F32_IN(0.2, 2, 7)},
     .settings = {ONS_SET_INT("ignore_index", -1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 168},
    {.name = "ignored_class",
     .inputs = {ONS_F32(6, 3), LABELS(2, 6)},
     .settings = {ONS_SET_INT("ignore_index", 1), ONS_SET_STRING("reduction", "none")},
     .tolerance = 1e-5,
     .flops = 72},
    {.name = "pixels",
     .inputs = {ONS_F32(2, 5, 3, 29), LABELS(4, 2, 3, 29), ONS_F32_IN(0.2, 2, 5)},
     .settings = {ONS_SET_INT("ignore_index", 3)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 3480},
    {.name = "pixels_none",
     .inputs = {ONS_F32_IN(80, 100, 2, 5, 3, 5), LABELS(4, 2, 3, 5)},
     .settings = {ONS_SET_INT("ignore_index", 3), ONS_SET_STRING("reduction", "none")},
     .tolerance = 1e-5,
     .flops = 600},
    {.name = "rank6",
     .inputs = {ONS_F32(2, 3, 2, 2, 1, 3), LABELS(2, 2, 2, 2, 1, 3)},
     .settings = {ONS_SET_STRING("reduction", "sum")},
     .tolerance = 1e-5,
     .flops = 288},
    {.name = "empty",
     .inputs = {ONS_F32(0, 4), LABELS(3, 0)},
     .settings = {ONS_SET_STRING("reduction", "sum")},
     .flops = 0},
    {.name = "threads",
     .inputs = {ONS_F32(500, 65), LABELS(64, 500)},
     .tolerance = 1e-5,
     .flops = 130000,
     .no_gradient = true},
    {.name = "vocabulary",
     .inputs = {ONS_F32_IN(-4, 4, 512, 10000), LABELS(9999, 512)},
     .tolerance = 1e-5,
     .flops = 20480000,
     .benchmark = true},
    {.name = "pixels_large",
     .inputs = {ONS_F32_IN(-4, 4, 4, 21, 128, 128), LABELS(20, 4, 128, 128)},
     .tolerance = 1e-5,
     .flops = 5505024,
     .benchmark = true},
    {.name = "vector", .inputs = {ONS_F32(7), LABELS(6)}, .error = "axis"},
    {.name = "labels", .inputs = {ONS_F32(5, 7), LABELS(6, 4)}, .error = "target"},
    {.name = "float_labels", .inputs = {ONS_F32(5, 7), ONS_F32(5)}, .error = "class numbers"},
    {.name = "weight_count", .inputs = {ONS_F32(5, 7), LABELS(6, 5), ONS_F32(5)}, .error = "7 classes"},
    {.name = "reduction",
     .inputs = {ONS_F32(5, 7), LABELS(6, 5)},
     .settings = {ONS_SET_STRING("reduction", "max")},
     .error = "reduction"},
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

/* Weights are a setting of the loss, as in PyTorch: a gradient to them would only teach the model to count less. */
ONS_DEFINE_OPERATOR(
    softmax_cross_entropy_loss, "SoftmaxCrossEntropyLoss", ONS_ONNX(12, ONS_NEWEST), ONS_ARITY(2, 3, 1, 3),
    ONS_MODEL_LOSS_ATTRIBUTES, ONS_INFER(ons_model_loss_infer), ONS_COST(softmax_cross_entropy_loss_cost),
    ONS_GRADIENT_RULE(softmax_cross_entropy_loss_gradient, ONS_INPUT_BIT(0)),
    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2), ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_FORMS(NULL, softmax_cross_entropy_loss_patterns, NULL),
    ONS_REFERENCE(softmax_cross_entropy_loss_reference),
    ONS_CPU_KERNEL(ons_model_loss_prepare, softmax_cross_entropy_loss_run),
    ONS_CUDA_KERNEL(ons_cuda_model_loss_prepare, ons_cuda_softmax_cross_entropy_loss),
    softmax_cross_entropy_loss_cases);
