/* Losses are operators with a role; this pass attaches one to a forward graph.
 *
 * A loss operator has inputs (prediction, target) and output 0, a scalar, float64 where the prediction is and else
 * float32: this micro-batch's part of the step's loss, that is, the sum over its counted targets ÷
 * ons_step.counted_targets, so that the parts of all micro-batches add up to the step's mean. Further outputs are saved
 * for backward. ONS_ROLE_SAMPLE_MEAN has one input, a scalar of the model's own, and gives it times
 * ons_step.sample_share; where the model's loss is a sum over samples, it is taken as it is.
 *
 *   ONS_ROLE_CROSS_ENTROPY: attributes axis, ignore_index, label_smoothing; input 2, which may be left out, is a weight
 *     for each class, of the loss's type; output 1 is the log of the sum of exponentials, of the loss's type and the
 *     target's shape
 *   ONS_ROLE_NEGATIVE_LOG_LIKELIHOOD (of log probabilities): attributes axis, ignore_index; input 2 likewise
 *   ONS_ROLE_SQUARED_ERROR, ONS_ROLE_ABSOLUTE_ERROR, ONS_ROLE_BINARY_CROSS_ENTROPY (with logits): none
 *   ONS_ROLE_HUBER: attribute delta
 *
 * Where classes have weights, ons_step.counted_targets is the sum of those of the targets that count.
 *
 * Class targets are int64 or int32, of the prediction's shape without the class axis; others are of the prediction's
 * type and shape.
 */
#ifndef ONSTAGE_GRAPH_PASSES_LOSS_H
#define ONSTAGE_GRAPH_PASSES_LOSS_H

#include "graph/operator.h"
#include "graph/registry.h"

enum { ONS_DEFAULT_IGNORE_INDEX = -100, ONS_CLASS_AXIS_AUTO = INT32_MIN };

typedef struct ons_loss_options {
    ons_role role;
    const char *output; /* of the graph: what the loss is computed from; NULL: the first (float) one */
    ons_type target;    /* of a micro-batch, for class targets; others have the prediction's type. No dtype: as class
                           targets usually are (planning needs no data) */
    int64_t class_axis; /* ONS_CLASS_AXIS_AUTO: the axis that the target lacks, axis 1 where ambiguous */
    int64_t ignore_index;
    double delta;
    bool sums;                   /* of the model's own: parts add up as they are (graph/passes/loss_parts.h) */
    double label_smoothing;      /* of cross entropy */
    const double *class_weights; /* of losses with class targets; NULL: 1 each */
    int64_t class_weight_count;
} ons_loss_options;

/* Adds an input named "target" (made unique) and the loss; *target is ONS_NONE for ONS_ROLE_SAMPLE_MEAN. *prediction is
 * the graph output that the loss is computed from. */
ons_status *ons_attach_loss(ons_graph *graph, const ons_registry *registry, const ons_loss_options *options,
                            ons_value_id *target, ons_value_id *loss, ons_value_id *prediction);

/* Whether the role's targets are class numbers, of which those equal to ignore_index do not count. */
bool ons_loss_counts_classes(ons_role role);

/* Whether class targets of the type options->target fit the output: it has an axis more, that of the classes. */
bool ons_loss_has_class_axis(const ons_loss_options *options, const ons_type *output);

/* Whether it takes logits, or logarithms: of probabilities it is another loss. */
bool ons_loss_refuses_probabilities(ons_role role);

#endif
