/* What the losses with class numbers as targets share: (prediction, target, weights), attributes axis and ignore_index.
 *
 * A target has the prediction's shape without the axis of the classes. Targets equal to ignore_index do not count; any
 * other number outside [0, classes) is a fault, and is then treated as one that does not count.
 *
 * The weights, one a class, are the last input that an operator can have, and may be left out (1 each). Where log p are
 * the log probabilities, a target of class t has the loss
 *
 *     -(1 - smoothing) w[t] log p[t] - smoothing ÷ classes × Σ w[k] log p[k]
 *
 * as PyTorch's cross_entropy has it; smoothing is an attribute of cross entropy alone. What is counted by ons_step is
 * then the sum of w[t] over the targets that count.
 *
 * The classes may be split into shards, [first, first + n) each. An operator that has the logits of one shard, and one
 * that joins the shards' log sums, are told which classes those are, and how many there are in all; targets and weights
 * are those of all classes.
 */
#ifndef ONSTAGE_KERNELS_LOSSES_CLASS_LOSS_H
#define ONSTAGE_KERNELS_LOSSES_CLASS_LOSS_H

#include "base/host_device.h"
#include "graph/passes/loss.h"
#include "kernels/common/rows/rows.h"

enum { ONS_CLASS_LOSS_AXIS, ONS_CLASS_LOSS_IGNORE, ONS_CLASS_LOSS_SMOOTHING, ONS_CLASS_LOSS_OTHERS };
#define ONS_CLASS_LOSS_ATTRIBUTES                                                                                      \
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 1), ONS_INT_ATTRIBUTE("ignore_index", ONS_DEFAULT_IGNORE_INDEX))
#define ONS_SMOOTHED_LOSS_ATTRIBUTES                                                                                   \
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 1), ONS_INT_ATTRIBUTE("ignore_index", ONS_DEFAULT_IGNORE_INDEX),          \
                   ONS_OPTIONAL_ATTRIBUTE("label_smoothing", ONS_ATTRIBUTE_FLOAT))
/* Of a shard's logits; of a tensor that has something else than classes along the axis. */
#define ONS_SHARD_LOSS_ATTRIBUTES                                                                                      \
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 1), ONS_INT_ATTRIBUTE("ignore_index", ONS_DEFAULT_IGNORE_INDEX),          \
                   ONS_OPTIONAL_ATTRIBUTE("label_smoothing", ONS_ATTRIBUTE_FLOAT),                                     \
                   ONS_REQUIRED_ATTRIBUTE("first", ONS_ATTRIBUTE_INT),                                                 \
                   ONS_REQUIRED_ATTRIBUTE("classes", ONS_ATTRIBUTE_INT))
#define ONS_JOINED_LOSS_ATTRIBUTES                                                                                     \
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 1), ONS_INT_ATTRIBUTE("ignore_index", ONS_DEFAULT_IGNORE_INDEX),          \
                   ONS_OPTIONAL_ATTRIBUTE("label_smoothing", ONS_ATTRIBUTE_FLOAT),                                     \
                   ONS_REQUIRED_ATTRIBUTE("classes", ONS_ATTRIBUTE_INT))

/* What a fault of a target is called. */
#define ONS_CLASS_PROBLEM "target is no class of the model's output"

typedef struct ons_class_loss {
    ons_axis_view view; /* of the prediction; length: classes, or those of a shard */
    int64_t first;      /* of those along the axis; `classes` where it has none of them */
    int64_t classes;    /* in all */
    int64_t ignore_index;
    bool wide; /* targets are int64, otherwise int32 */
    int parts; /* of the sum; scratch holds a double for each */
    double smoothing;
    uint32_t weights; /* their input; ONS_NONE where they are left out */
} ons_class_loss;

/* Checks the operands. Outputs: the loss and, where the operator can have it, one number of its type a target. */
ons_status *ons_class_loss_infer(ons_operands *o);
/* Of a gradient: output 0 is like the prediction. */
ons_status *ons_class_loss_gradient_infer(ons_operands *o);

/* The state is an ons_class_loss. */
ons_status *ons_class_loss_prepare(ons_prepare *p);
ons_class_loss ons_class_loss_of(const ons_operands *o);
double ons_class_loss_smoothing(const ons_operands *o); /* 0 where the operator has none */

/* For operators that say otherwise which axis the classes are along: checks the operands; the loss of operands that
 * have passed. */
ons_status *ons_class_loss_view(const ons_operands *o, int64_t class_axis, ons_axis_view *view);
ons_class_loss ons_class_loss_along(const ons_operands *o, int64_t class_axis, int64_t ignore_index);

/* What the work is divided into: rows where the classes are the last axis, otherwise blocks of columns. */
static inline int64_t ons_class_loss_items(const ons_class_loss *loss) {
    return loss->view.inner == 1 ? loss->view.outer : ons_column_blocks(&loss->view);
}

static inline int64_t ons_target_at(const ons_class_loss *loss, const void *targets, int64_t i) {
    return loss->wide ? ((const int64_t *)targets)[i] : ((const int32_t *)targets)[i];
}

/* The class, or -1 where the target does not count. */
static inline int64_t ons_class_at(const ons_class_loss *loss, const void *targets, int64_t i) {
    int64_t target = ons_target_at(loss, targets, i);
    return target == loss->ignore_index || target < 0 || target >= loss->classes ? -1 : target;
}

/* Where along the axis that class lies: in [0, view.length), or view.length where it is not there; -1 is nowhere. */
ONS_HOST_DEVICE static inline int64_t ons_class_place(const ons_class_loss *loss, int64_t number) {
    uint64_t place = (uint64_t)(number - loss->first), length = (uint64_t)loss->view.length;
    return (int64_t)(place < length ? place : length);
}

ONS_HOST_DEVICE static inline float ons_class_weight(const float *weights, int64_t k) {
    return weights == NULL ? 1.0f : weights[k];
}

/* From all classes' weights on to those of the classes along the axis. */
ONS_HOST_DEVICE static inline const float *ons_class_weights_from(const float *weights, int64_t first) {
    return weights == NULL ? NULL : weights + first;
}

/* What of a target's loss comes from which log probability: own × w[t] from that of its class t, spread × w[k] from
 * that of any class k. */
typedef struct ons_class_shares {
    const float *weights; /* NULL: 1 each */
    float own, spread;
    float all; /* Σ spread × w[k] */
} ons_class_shares;
ons_class_shares ons_class_shares_of(const ons_class_loss *loss, const void *const *inputs);

/* What cross entropy hands back:
 *     dx[k] = ((own w[t] + all) e^(x[k] - log Σ e^x) - [k is t] own w[t] - spread w[k]) × scale
 * and to a shard, with what comes to its log sum in place of (own w[t] + all) × scale. 0 where the target does not
 * count; of row `row`, or of a block of columns with log Σ e^x of each. dx may be x. */
typedef struct ons_class_slopes {
    const ons_class_loss *loss;
    ons_class_shares shares;
    const float *x;
    const void *targets;
    float scale;
    float *dx; /* NULL: not wanted */
    bool shard;
    const float *of_log_sums; /* of a shard: what comes to the log sum of every target; NULL: nothing */
} ons_class_slopes;
void ons_class_slopes_row(const ons_class_slopes *slopes, int64_t row, float log_sum);
void ons_class_slopes_block(const ons_class_slopes *slopes, const ons_column_block *at, const float *log_sums);
/* Of all rows, by threads; log Σ e^x of each target. */
void ons_class_slopes_all(const ons_class_slopes *slopes, const float *log_sums);

/* For references, in words: w[k], and the share spread × w[k] of any class. */
static inline double ons_reference_weight(const ons_class_loss *loss, const void *const *inputs, int64_t k) {
    return loss->weights == ONS_NONE ? 1 : ((const double *)inputs[loss->weights])[k];
}
static inline double ons_reference_spread(const ons_class_loss *loss, const void *const *inputs, int64_t k) {
    return loss->smoothing / (double)loss->classes * ons_reference_weight(loss, inputs, k);
}
/* Σ of the shares of all classes, of a target of class t. */
static inline double ons_reference_shares(const ons_class_loss *loss, const void *const *inputs, int64_t t) {
    double sum = (1 - loss->smoothing) * ons_reference_weight(loss, inputs, t);
    for (int64_t k = 0; loss->smoothing > 0 && k < loss->classes; ++k) sum += ons_reference_spread(loss, inputs, k);
    return sum;
}

/* Reports the first target that is no class, unless a fault has been reported already. `fault` NULL: to nobody. */
void ons_class_loss_check(const ons_class_loss *loss, const void *targets, ons_fault *fault);

#endif
