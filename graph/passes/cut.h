/* Cuts a training graph into the graphs of the devices that the stages of a pipeline lie on, and puts in what a stage
 * computes again or brings back from the host.
 *
 * A node runs in one stage, and what it makes is sent to the devices that read it, straight from the one to the other;
 * within a device it lies there, and nothing is copied. Three kinds of nodes run on every device that needs them
 * instead, since sending what they make would be silly or wrong: views; what runs once before the micro-batches
 * (weights in another layout); and what replaces a value that several devices hold (the update of a tied weight), so
 * that the copies stay equal.
 *
 * In the forward part values go to later stages, in the backward part to earlier ones (parts: graph/execution_order.h).
 * Where a stage's weight gradients are a part of their own, it holds the backward nodes that only weights' gradients
 * need.
 */
#ifndef ONSTAGE_GRAPH_PASSES_CUT_H
#define ONSTAGE_GRAPH_PASSES_CUT_H

#include "graph/execution_order.h"
#include "graph/registry.h"

typedef enum ons_eviction {
    ONS_EVICTION_SWAP,
    ONS_EVICTION_RECOMPUTE,
    ONS_EVICTION_HAND_BACK, /* the gradient of the node that made it makes it again beside its own result
                               (ONS_TRAIT_HANDS_BACK); what else reads it runs behind that */
} ons_eviction;

/* What becomes of a value of the forward part that the backward part reads, in the whole graph's ids. */
typedef struct ons_cut_decision {
    ons_eviction eviction;
    ons_value_id value;    /* not a view; the views of it follow it */
    ons_node_id out_after; /* swap: the copy to the host starts after this forward node of the value's stage */
    ons_node_id in_before; /* back before the first backward node that was derived from this forward node; a reader that
                              comes earlier is served earlier. The decision is about the stage of this node */
    ons_node_id by;        /* handed back: the gradient that does it */
    ons_node_id gone_before; /* swap: its place is taken by others from this forward node on, which wait where the copy
                                has not ended; ONS_NONE: not while the forward part runs */
} ons_cut_decision;

typedef struct ons_cut_options {
    const ons_graph *whole; /* outlives the result, which shares its store, attributes and keys */
    const ons_registry *registry;
    bool repeats;                  /* more than one micro-batch a step: see graph/execution_order.h */
    bool updates_in_backward;      /* one stage, and a step is one micro-batch: updates run as soon as they can, see
                                      update_in_backward.h, and of the gradients of one forward node those of weights
                                      run first */
    const uint32_t *stage_of_node; /* of each node of the whole graph: where the plan has it */
    uint32_t stages;
    const uint32_t *device_of; /* of each stage; NULL: each lies on a device of its own */
    uint32_t devices;          /* of device_of */
    const bool *apart;         /* of each stage: weight gradients are a part of their own; NULL: of none */
    const ons_cut_decision *decisions;
    uint32_t decision_count;
    bool lenient; /* the decisions were made for a graph of other shapes: one that cannot be carried out is left out */
    const ons_value_id *kept; /* what the host reads; becomes outputs of the stage that makes it (a parameter or state:
                                 nothing happens) */
    size_t kept_count;
} ons_cut_options;

/* A value that comes from another device, or goes to one. Both ends list the values of a channel in the same order:
 * that of the nodes that make them in the whole graph. */
typedef struct ons_cut_transfer {
    ons_value_id value; /* of the device's graph; where it is received it has no producer and is an ONS_INPUT */
    uint32_t peer;      /* device */
    ons_part_kind kind; /* of both ends: a value of a forward part goes on its way then, also where the other stage
                           reads it in its backward part alone; one that goes to an earlier stage goes backward */
    ons_part part;      /* of this end: in which it is made, or first read */
    uint32_t from, to;  /* stages: that makes it, that reads it first */
    uint32_t channel;   /* of from, to and kind: unique in the whole cut, the same at both ends */
    uint32_t number;    /* unique in the whole cut */
} ons_cut_transfer;

/* A value that leaves the device and comes back. */
typedef struct ons_cut_swap {
    ons_value_id value;      /* as the forward part makes or receives it */
    ons_value_id back;       /* as the backward part reads it: no producer, an ONS_INPUT */
    ons_node_id out_after;   /* of the stage's graph, both */
    ons_node_id in_before;   /* in the backward part: the copy back may start when everything before it has run */
    ons_node_id gone_before; /* from which on its place may be taken; the end of the forward part at the latest */
} ons_cut_swap;

/* What one device runs: one stage, or several. */
typedef struct ons_cut_stage {
    ons_graph *graph; /* owned; nodes in the order of the parts. Its inputs are the data that this device reads, in the
                         whole graph's order; what is received or comes back is not among them. Views that nobody reads
                         are left out */
    uint32_t chunks;  /* stages on the device */
    const uint32_t *stages; /* their numbers, ascending */
    uint32_t *end;          /* of each part: nodes [end[part - 1], end[part]) run in it */
    ons_value_id *value_of; /* of each value of the whole graph: the stage's, as the forward part (or whoever makes
                               it) has it; ONS_NONE where the stage has none */
    ons_node_id *original;  /* of each node of the stage's graph: the whole graph's node; of one that runs again the
                               same as of the first */
    bool *again;            /* of each node of the stage's graph: runs again */
    ons_cut_transfer *sends, *receives; /* in the order of kind, then of the whole graph's nodes */
    uint32_t send_count, receive_count;
    ons_cut_swap *swaps; /* by in_before */
    uint32_t swap_count;
} ons_cut_stage;

typedef struct ons_cut {
    ons_arena *arena; /* owned: all lists */
    ons_cut_stage *stages;
    uint32_t stage_count; /* devices */
    uint32_t transfer_count;
} ons_cut;

/* Which of a device's stages this is; its `chunks`: none of them. */
static inline uint32_t ons_cut_chunk(const ons_cut_stage *device, uint32_t stage) {
    uint32_t chunk = 0;
    while (chunk < device->chunks && device->stages[chunk] != stage) ++chunk;
    return chunk;
}

/* Nodes are moved to another stage than asked for where data would have to flow against the parts' direction: a forward
 * node to the latest stage that makes its inputs, a backward node to the earliest one. Random numbers stay those of the
 * original nodes; what runs again leaves out the states and statistics that it would bring up to date once more. With
 * one stage and no decisions the result is the whole graph in the order of the parts, but for updates_in_backward. A
 * decision that cannot be carried out (no forward value of the stage, a value that its stage does not make and that is
 * to be computed again) is ONS_INVALID_ARGUMENT and names the value, unless the options are lenient. */
ons_status *ons_cut_make(const ons_cut_options *options, ons_cut *cut);
void ons_cut_free(ons_cut *cut); /* a zeroed one is fine */

/* Value names of what comes back or is made again: NAME/back, NAME/again. */

#endif
