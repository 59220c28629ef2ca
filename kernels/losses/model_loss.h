/* What the class losses that a model can hold itself share (SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss and
 * their gradients): (scores, labels, weights), classes along axis 1, and a reduction of the node's own.
 *
 * A target counts with the weight of its class, 1 where there are no weights; one that is equal to ignore_index, where
 * the node has that, counts with 0. Any other label that is no class is a fault, and is then ignored too. "mean"
 * divides by the sum of the weights. These means are the node's: of one micro-batch, where --loss makes one over all of
 * a step.
 */
#ifndef ONSTAGE_KERNELS_LOSSES_MODEL_LOSS_H
#define ONSTAGE_KERNELS_LOSSES_MODEL_LOSS_H

#include "kernels/losses/class_loss.h"

enum { ONS_MODEL_LOSS_REDUCTION, ONS_MODEL_LOSS_IGNORE };
#define ONS_MODEL_LOSS_ATTRIBUTES                                                                                      \
    ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("reduction", "mean"), ONS_OPTIONAL_ATTRIBUTE("ignore_index", ONS_ATTRIBUTE_INT))

/* The weights are the last input that the operator can have; gradients have theirs in between. */
enum { ONS_MODEL_LOSS_SCORES, ONS_MODEL_LOSS_LABELS, ONS_MODEL_LOSS_OTHERS };
static inline uint32_t ons_model_loss_weights(const ons_operands *o) { return o->op->arity.inputs_max - 1; }

typedef enum ons_loss_reduction { ONS_LOSS_EACH, ONS_LOSS_SUM, ONS_LOSS_MEAN } ons_loss_reduction;

typedef struct ons_model_loss {
    ons_class_loss classes;
    ons_loss_reduction reduction;
    uint32_t weights; /* their input; ONS_NONE where they are left out */
} ons_model_loss;

/* Checks the operands. Outputs: the loss; like the scores; of the labels' shape. */
ons_status *ons_model_loss_infer(ons_operands *o);
/* Of a gradient: output 0 is like the scores; input `cotangent` must have the loss's shape. */
ons_status *ons_model_loss_gradient_infer(ons_operands *o, uint32_t cotangent);

ons_model_loss ons_model_loss_of(const ons_operands *o);

/* The state is an ons_model_loss; scratch holds two doubles for each part. */
ons_status *ons_model_loss_prepare(ons_prepare *p);

#ifndef __cplusplus

/* ---------------------------------------------------------------------------------------------------------- kernels */

/* The items [begin, end) of a run, and the sums over their targets. */
typedef struct ons_loss_part {
    const ons_model_loss *loss;
    const ons_launch *launch;
    int64_t begin, end;
    double sum, weight;
} ons_loss_part;

static inline const float *ons_loss_weights(const ons_model_loss *loss, const ons_launch *launch) {
    return loss->weights == ONS_NONE ? NULL : launch->inputs[loss->weights];
}

/* Takes the loss of target i, whose class is not -1, to the sums or, with ONS_LOSS_EACH, to the output. */
static inline void ons_loss_take(ons_loss_part *part, int64_t i, int64_t class, float value) {
    const float *weights = ons_loss_weights(part->loss, part->launch);
    float weight = weights == NULL ? 1.0f : weights[class];
    if (part->loss->reduction == ONS_LOSS_EACH) {
        ((float *)part->launch->outputs[0])[i] = weight * value;
        return;
    }
    part->sum += (double)weight * (double)value;
    part->weight += (double)weight;
}

/* Notes a target that does not count: where each has a result, that is 0. */
static inline void ons_loss_skip(const ons_loss_part *part, int64_t i) {
    if (part->loss->reduction == ONS_LOSS_EACH) ((float *)part->launch->outputs[0])[i] = 0;
}

/* Runs `function` on all parts, by threads, and writes output 0. */
typedef void ons_loss_part_function(ons_loss_part *part);
void ons_model_loss_run(const ons_launch *launch, ons_loss_part_function *function);

/* For gradients: what a target's weight is multiplied with, from the loss's cotangent. */
typedef struct ons_loss_scale {
    const float *each;    /* of every target, or NULL */
    const float *weights; /* of every class, or NULL */
    float factor;
} ons_loss_scale;
ons_loss_scale ons_model_loss_scale(const ons_launch *launch, uint32_t cotangent);

static inline float ons_loss_scale_at(const ons_loss_scale *scale, int64_t i, int64_t class) {
    float weight = scale->weights == NULL ? 1.0f : scale->weights[class];
    return weight * (scale->each == NULL ? scale->factor : scale->each[i]);
}

/* ------------------------------------------------------------------------------------------------------- references */

/* Where the score of class 0 of target i lies; the next class is view.inner on. */
static inline int64_t ons_loss_first(const ons_axis_view *view, int64_t i) {
    return i / view->inner * view->length * view->inner + i % view->inner;
}

/* Output 0 in words. `value` gives the loss of one target, before its weight; `scores` is its score of class 0. */
typedef double ons_loss_value_function(const ons_axis_view *view, const double *scores, int64_t class);
void ons_model_loss_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs, ons_loss_value_function *value);

/* The gradient of the scores in words. `slope` is the derivative of a target's loss by the score of class k, which
 * comes less the saved log Σ e^score of the target where `saved` is not NULL. */
typedef double ons_loss_slope_function(double score, bool is_label);
void ons_model_loss_gradient_reference(const ons_operands *o, const void *const *inputs, uint32_t cotangent,
                                       const double *saved, double *gradient, ons_loss_slope_function *slope);

#endif /* __cplusplus */

#endif
