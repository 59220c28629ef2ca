/* SoftmaxCrossEntropyLoss: -log of the softmax of the scores at the label, weighted and reduced. Output 1 is the
 * log-softmax of all scores; output 2, which no file has, log Σ e^score of every target for the gradient. */
#include "kernels/softmax_cross_entropy_loss/softmax_cross_entropy_loss.h"

#include <math.h>

#include "graph/passes/fuse.h"
#include "kernels/common/operator/rules.h"
#include "kernels/losses/model_loss.h"
#include "kernels/operators.h"

enum { WEIGHTS = ONS_MODEL_LOSS_OTHERS };

/* log Σ e^(score - max): beside a max of great size it would be lost. */
static double log_sum_of(const ons_axis_view *view, const double *scores, double *max) {
    double sum = 0;
    *max = -INFINITY;
    for (int64_t k = 0; k < view->length; ++k) *max = fmax(*max, scores[k * view->inner]);
    for (int64_t k = 0; k < view->length; ++k) sum += exp(scores[k * view->inner] - *max);
    return log(sum);
}

static double cross_entropy_of(const ons_axis_view *view, const double *scores, int64_t class) {
    double max, log_sum = log_sum_of(view, scores, &max);
    return max - scores[class * view->inner] + log_sum;
}

static void softmax_cross_entropy_loss_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                                 void *const *outputs) {
    ons_model_loss_reference(o, step, inputs, outputs, cross_entropy_of);
    ons_axis_view view = ons_model_loss_of(o).classes.view;
    const double *scores = inputs[ONS_MODEL_LOSS_SCORES];
    double *log_probability = outputs[LOG_PROBABILITY], *saved = outputs[LOG_SUM];
    for (int64_t i = 0; i < view.outer * view.inner; ++i) {
        int64_t first = ons_loss_first(&view, i);
        double max, log_sum = log_sum_of(&view, scores + first, &max);
        if (saved != NULL) saved[i] = max + log_sum;
        for (int64_t k = 0; log_probability != NULL && k < view.length; ++k)
            log_probability[first + k * view.inner] = scores[first + k * view.inner] - max - log_sum;
    }
}

/* Maximum, subtraction, exponential and sum: four operations an element. */
static ons_cost softmax_cross_entropy_loss_cost(const ons_operands *o) {
    return (ons_cost){4 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

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

/* Weights are a setting of the loss, as in PyTorch: a gradient to them would only teach the model to count less. */
ONS_DEFINE_OPERATOR(
    softmax_cross_entropy_loss, "SoftmaxCrossEntropyLoss", ONS_ONNX(12, ONS_NEWEST), ONS_ARITY(2, 3, 1, 3),
    ONS_MODEL_LOSS_ATTRIBUTES, ONS_INFER(ons_model_loss_infer), ONS_COST(softmax_cross_entropy_loss_cost),
    ONS_GRADIENT_RULE(softmax_cross_entropy_loss_gradient, ONS_INPUT_BIT(0)),
    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2), ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_FORMS(NULL, softmax_cross_entropy_loss_patterns, NULL),
    ONS_REFERENCE(softmax_cross_entropy_loss_reference));
