/* What a plan distributes: the forward nodes of a step in an order in which they can run, each with the backward and
 * update work that follows it wherever it goes, and the tensors and weights between them. Everything is for one
 * micro-batch on one kind of device. No shapes, no operators: a training graph gives a workload
 * (planner/cost/graph_work.h), and so does a file of costs that others measured (planner/cost/cost_file.h).
 *
 *   position      0     1     2     3     4            a stage is an interval [first, end) of positions
 *   forward       F0 ─▶ F1 ─▶ F2 ─▶ F3 ─▶ F4 ─┐
 *   backward      B0 ◀─ B1 ◀─ B2 ◀─ B3 ◀─ B4 ◀┘
 *
 * A tensor lives from its producer's forward part to its last reader's, and on to the backward part of its *first*
 * saver where there is one. Its gradient lives from the backward part of its last reader to that of its producer.
 */
#ifndef ONSTAGE_PLANNER_WORKLOAD_WORKLOAD_H
#define ONSTAGE_PLANNER_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum { ONS_NO_NODE = 0xffffffffu };

typedef struct ons_work_node {
    const char *name; /* the ONNX node's */
    const char *kind; /* its operator, for reports alone */
    uint32_t layer;   /* index into ons_workload.layers */
    double forward_seconds;
    double input_gradient_seconds;
    double weight_gradient_seconds;
    double update_seconds; /* once a step */
    /* Alive while the part runs, beside the tensors and gradients listed below: scratch, intermediate results. */
    int64_t forward_bytes, backward_bytes;
    bool recomputable;          /* its forward part may run a second time */
    double late_weight_seconds; /* of weight_gradient_seconds: when the input gradients are there already; 0 where that
                                   is not known */
} ons_work_node;

typedef struct ons_work_tensor {
    const char *name;
    int64_t bytes;
    int64_t gradient_bytes;  /* of what flows back to the producer; 0: no gradient */
    uint32_t producer;       /* ONS_NO_NODE: it comes with the data, to every stage that uses it */
    const uint32_t *readers; /* whose forward part reads it: ascending, each once */
    const uint32_t *savers;  /* whose backward part reads it: ascending, each once, perhaps its producer */
    uint32_t reader_count, saver_count;
} ons_work_tensor;

typedef struct ons_work_weight {
    const char *name;
    int64_t bytes;
    int64_t gradient_bytes; /* the accumulator over micro-batches; 0: not trained */
    int64_t state_bytes;    /* the optimiser's */
    const uint32_t *users;  /* nodes, ascending, each once; a weight with users in several stages has a copy in each */
    uint32_t user_count;
} ons_work_weight;

typedef struct ons_work_layer {
    const char *name; /* "encoder/layer.3": nodes [first, first + count) */
    uint32_t first, count;
} ons_work_layer;

typedef struct ons_work_index ons_work_index; /* derived: see ons_workload_finish */

typedef struct ons_workload {
    const char *name;
    ons_work_node *nodes;
    ons_work_tensor *tensors;
    ons_work_weight *weights;
    ons_work_layer *layers;
    uint32_t node_count, tensor_count, weight_count, layer_count;
    int64_t samples;     /* in a micro-batch */
    double step_seconds; /* of every stage, once a step, whatever its nodes: part of its update */
    const ons_work_index *index;
} ons_workload;

/* Checks what the file or graph gave (order, bounds, signs, sums that fit) and makes the index that the functions below
 * need; O(total readers and savers + n log n). The index lives in `arena`. */
ons_status *ons_workload_finish(ons_workload *work, ons_arena *arena);

/* ----------------------------------------------------------------------------------------- one stage, in O(1) or so */

/* Add up the seconds of all nodes in [first, end), for one micro-batch: O(1). */
double ons_work_forward_seconds(const ons_workload *work, uint32_t first, uint32_t end);
double ons_work_backward_seconds(const ons_workload *work, uint32_t first, uint32_t end);
double ons_work_weight_seconds(const ons_workload *work, uint32_t first, uint32_t end); /* weight gradients */
double ons_work_seconds(const ons_workload *work, uint32_t first, uint32_t end);        /* forward and backward */
/* Adds up the seconds of updates, once a step; of no nodes 0. */
double ons_work_update_seconds(const ons_workload *work, uint32_t first, uint32_t end);

/* Give the bytes that cross the cut in front of position `cut` for each micro-batch: distinct tensors made before it
 * and read, or saved, from it on; and their gradients on the way back. O(1). */
int64_t ons_work_cut_bytes(const ons_workload *work, uint32_t cut);
int64_t ons_work_cut_gradient_bytes(const ons_workload *work, uint32_t cut);

/* How the micro-batches of a stage share its memory. */
typedef struct ons_stage_load {
    uint32_t in_flight;    /* micro-batches between their forward part and their weight gradients: k of the paper */
    uint32_t versions;     /* copies of trained weights; 1 where the schedule is synchronous */
    bool accumulates;      /* gradients stay from micro-batch to micro-batch */
    bool forward_first;    /* all forward parts of a step come before its first backward part: a copy to the host hides
                              behind forward parts alone */
    bool apart;            /* input and weight gradients are parts of their own; else the next two say nothing new: */
    uint32_t before_input; /* micro-batches between their forward part and their input gradients */
    uint32_t between;      /* micro-batches between their input and their weight gradients */
} ons_stage_load;

/* Device memory of a stage, in bytes. */
typedef struct ons_stage_memory {
    int64_t weights, gradients, states; /* held all the time */
    int64_t versions;                   /* further copies of trained weights */
    int64_t stash;                      /* saved tensors of the micro-batches that wait: (in_flight - 1) times */
    int64_t peak;                       /* of the one that runs: saved tensors, gradients, transients */
    int64_t transfers;                  /* what arrives ahead of its use, one micro-batch from each neighbour */
    int64_t total;
} ons_stage_memory;

/* Gives, where weight gradients are apart, the bytes that micro-batches keep from their input gradients until these are
 * made, beside what they saved: the gradients of all that the stage makes. O(1) */
int64_t ons_work_apart_bytes(const ons_workload *work, uint32_t first, uint32_t end, const ons_stage_load *load);

/* Finds a stage's memory without swap or recompute. O(log n) and the tensors and weights that cross the stage's
 * borders. Never less than what ons_stage_lifetimes finds. */
void ons_work_stage_memory(const ons_workload *work, uint32_t first, uint32_t end, const ons_stage_load *load,
                           ons_stage_memory *memory);

/* ------------------------------------------------------------------------------------- lookups, all ascending lists */

typedef struct ons_work_list {
    const uint32_t *items;
    uint32_t count;
} ons_work_list;

ons_work_list ons_work_produces(const ons_workload *work, uint32_t node); /* tensors that it makes */
ons_work_list ons_work_reads(const ons_workload *work, uint32_t node);    /* tensors that its forward part reads */
ons_work_list ons_work_saves(const ons_workload *work, uint32_t node);    /* tensors that its backward part reads */
ons_work_list ons_work_uses(const ons_workload *work, uint32_t node);     /* weights */
/* Tensors that cross the cut in front of `cut` (those with data from outside never do). */
ons_work_list ons_work_crossing(const ons_workload *work, uint32_t cut);

#endif
