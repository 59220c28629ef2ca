/* How a loss that the model computes itself adds up over parts of the batch: a proof from the bound graph.
 *
 * The loss of a batch is what a part's loss becomes when the part is the whole batch. For the parts' sum to be the
 * batch's loss, each additive term of it must be one of these (the degree is the power of the number of samples with
 * which the term grows):
 *
 *   degree 1   a sum over samples: parts add up as they are;
 *   degree 0   a mean over samples, or a term of the weights alone: parts count with their share of the samples.
 *
 * What follows from the model's inputs alone and is one number for the whole batch (how many labels count, the sum of a
 * mask) is known before the step begins. It is called a total; the loss takes it as an input, and is then the same
 * linear function of its sums in every part. So a mean over what is counted is a sum with a constant factor.
 *
 * The proof follows the batch through all nodes that the loss depends on. It takes the axis of the samples from two
 * graphs of the model, bound for different numbers of samples; of a model that takes no other number, from
 * graph/passes/batch_follow.h. A constant that is proportional to the number of samples (a Shape that was folded) shows
 * by the same comparison. */
#ifndef ONSTAGE_GRAPH_PASSES_LOSS_PARTS_H
#define ONSTAGE_GRAPH_PASSES_LOSS_PARTS_H

#include "graph/blocker.h"
#include "graph/operator.h"
#include "graph/passes/tracked.h"
#include "graph/registry.h"

/* ------------------------------------------------------------------------------------- what operators do with a sum */

/* What an operator makes of sums over samples, where its role and traits do not say so. */
typedef enum ons_loss_form {
    ONS_LOSS_NO_FORM,
    ONS_LOSS_TERMS,         /* output 0 is linear in all inputs together */
    ONS_LOSS_LINEAR,        /* output 0 is linear in input 0 */
    ONS_LOSS_PRODUCT,       /* of two inputs, element by element */
    ONS_LOSS_QUOTIENT,      /* input 0 by input 1 */
    ONS_LOSS_CONTRACTION,   /* a matrix product: sums over the last axis of input 0 and the last but one of input 1 */
    ONS_LOSS_SUM_OVER,      /* over axes */
    ONS_LOSS_MEAN_OVER,     /* over axes */
    ONS_LOSS_SUM_OF_EACH,   /* over axes, of a function of each element */
    ONS_LOSS_SLICE,         /* inputs 3 and 4: axes and steps */
    ONS_LOSS_ALONG_INPUT,   /* works along the axis that input 1 holds */
    ONS_LOSS_SAMPLES_FIRST, /* works along all axes of input 0 but the first, which has the samples */
    ONS_LOSS_OF_CLASSES,    /* a loss with labels and a reduction of its own: ons_loss_rules.reduce */
} ons_loss_form;

typedef struct ons_loss_rule {
    const ons_operator *op;
    ons_loss_form form;
} ons_loss_rule;

/* How a node with ONS_LOSS_OF_CLASSES reduces. */
typedef enum ons_class_reduction {
    ONS_CLASSES_EACH,    /* not at all */
    ONS_CLASSES_SUM,     /* to a sum */
    ONS_CLASSES_MEAN,    /* to a mean over all labels */
    ONS_CLASSES_COUNTED, /* to a sum divided by the weights of the labels that count */
} ons_class_reduction;

typedef struct ons_loss_rules {
    const ons_loss_rule *items;
    size_t count;
    ons_class_reduction (*reduce)(const ons_graph *graph, const ons_node *node);
    /* Builds a node with ONS_CLASSES_COUNTED as a quotient of nodes, and returns that. */
    ons_value_id (*open)(ons_builder *builder, const ons_node *node);
} ons_loss_rules;

/* ------------------------------------------------------------------------------------------------------------ proof */

typedef struct ons_loss_view {
    ons_graph *graph;       /* bound */
    const ons_graph *other; /* the same model, bound for another number of samples; NULL: it takes none */
    int64_t rows, other_rows;
    const ons_registry *registry;
    const ons_loss_rules *rules;
    ons_value_id loss; /* a float of one element */
} ons_loss_view;

/* An operand that has to be weighted with the part's share of the samples, so that its node adds sums alone. */
typedef struct ons_loss_edge {
    ons_node_id node;
    uint32_t input;
} ons_loss_edge;

/* Of a total: a value that is summed up over samples and that totals are computed from. */
typedef struct ons_loss_atom {
    ons_value_id value;
    bool mean; /* false: a sum */
} ons_loss_atom;

/* A constant that totals are computed from and that is proportional to a power of the number of samples. */
typedef struct ons_loss_factor {
    ons_value_id value;
    int degree;
} ons_loss_factor;

typedef struct ons_loss_parts {
    ons_blocker obstacle; /* node NULL: the loss adds up; texts in the arena that the proof was given */
    int degree;           /* of the loss: 0 or 1 */
    ons_blocker guessed; /* of a model for a fixed batch: a sum that is divided by a constant which may be the number of
                            samples, or hold it, and is taken for a mean; node NULL: there is none */
    ons_value_id *totals; /* in the order of their ids */
    uint32_t total_count;
    ons_loss_edge *shares; /* operands that count with the part's share */
    uint32_t share_count;
    ons_loss_atom *atoms;
    uint32_t atom_count;
    ons_loss_factor *factors;
    uint32_t factor_count;
    bool *late; /* [node]: is on the way to the loss, and takes totals as inputs */
} ons_loss_parts;

/* Writes nodes with ONS_CLASSES_COUNTED as quotients, so that what they count becomes a value. Ids change; `loss` (and
 * the graph's outputs) follow. */
ons_status *ons_loss_parts_open(ons_graph *graph, const ons_registry *registry, const ons_loss_rules *rules,
                                ons_value_id *loss);

/* Looks at a graph, and at `other`, after ons_loss_parts_open. Arrays lie in `arena`. */
ons_status *ons_loss_parts_find(const ons_loss_view *view, ons_arena *arena, ons_loss_parts *parts);

/* Behind the name of the value that a total stands for. */
#define ONS_LOSS_TOTAL_SUFFIX "/of_step"

/* Makes the totals inputs of the graph, behind those that it has, and weights what counts with its share. parts->totals
 * are those inputs afterwards, in the same order; other ids change, and `loss` follows. */
ons_status *ons_loss_parts_apply(ons_graph *graph, const ons_registry *registry, ons_loss_parts *parts,
                                 ons_value_id *loss);

/* Puts nodes that were appended to the graph in front of their readers, and removes what nobody reads. */
ons_status *ons_loss_parts_order(ons_graph *graph, ons_tracked_values *tracked);

#endif
