/* What the proof of graph/passes/loss_parts.h knows of each value; graph/passes/loss_parts*.c and loss_facts.c alone
 * include this. */
#ifndef ONSTAGE_GRAPH_PASSES_LOSS_FACTS_H
#define ONSTAGE_GRAPH_PASSES_LOSS_FACTS_H

#include "graph/passes/loss_parts.h"

typedef enum ons_loss_kind {
    ONS_LOSS_CONSTANT,  /* the same whatever the samples are, or grows with their number alone */
    ONS_LOSS_SAMPLES,   /* each sample's elements follow from that sample alone */
    ONS_LOSS_TOTAL,     /* a sum or mean over samples, or what follows from such */
    ONS_LOSS_POSITIONS, /* integers that count the samples of the batch: indices, while no arithmetic changes them */
    ONS_LOSS_COUPLED,   /* anything else */
} ons_loss_kind;

/* The degree of a constant that depends on the number of samples in another way than by a power of it. */
enum { ONS_LOSS_VARIES = 100 };

typedef struct ons_loss_fact {
    ons_loss_kind kind;
    bool known;   /* follows from inputs and constants alone: no weight, no random number */
    bool atom;    /* TOTAL: the node that makes it takes samples */
    bool mean;    /* of an atom */
    int degree;   /* the power of the number of samples with which it grows: of CONSTANT, SAMPLES and TOTAL */
    int divided;  /* SAMPLES of a fixed batch: by how many constants that may hold the number of samples */
    bool carries; /* its shape holds the batch: at `axis`, as outer × samples × inner indices */
    uint32_t axis;
    int64_t outer;
    int64_t stride; /* POSITIONS: from a sample's number to the next one's, plus what follows from each; 0: not known */
    ons_node_id node;   /* COUPLED: which node couples; ONS_NONE: the next one that reads it */
    const char *reason; /* COUPLED: static text */
} ons_loss_fact;

typedef struct ons_loss_proof {
    const ons_loss_view *view;
    ons_arena *arena;
    ons_loss_fact *facts; /* of each value */
    bool *late;           /* of each node: takes totals as they will be known */
    ONS_VECTOR(ons_loss_edge) shares;
    ons_node_id guessed; /* makes a sum that is taken for a mean, see ons_loss_parts.guessed; ONS_NONE: none does */
} ons_loss_proof;

ons_loss_fact ons_loss_coupled(ons_node_id node, const char *reason);

/* Sets where the batch is in every value's shape, and all that is known of values that no node makes. `obstacle` as in
 * ons_loss_parts. */
ons_status *ons_loss_facts_begin(ons_loss_proof *proof, ons_blocker *obstacle);

extern const char ons_loss_other_proportion[]; /* a reason */

/* Says what follows from the facts of all values. */
ons_status *ons_loss_parts_conclude(const ons_loss_proof *proof, ons_loss_parts *parts);

/* ONS_LOSS_NO_FORM where the rules do not have the operator. */
ons_loss_form ons_loss_form_of(const ons_loss_rules *rules, const ons_operator *op);

#endif
