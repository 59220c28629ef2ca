/* What the files of the cut share; see cut.h for what comes out.
 *
 *   cut_parts.c    in which kind of part and in which stage each node runs
 *   cut_needs.c    which devices read a value and from which part on, and so what is copied and what is sent
 *   cut_order.c    which gradients go first
 *   cut_steps.c    what one device runs, in order, with what runs again and which version of a value each step reads
 *   cut_updates.c  which updates run before the end of the step
 *   cut_stage.c    from those steps to the device's graph
 *   cut.c          all of them in order
 */
#ifndef ONSTAGE_GRAPH_PASSES_CUTTER_H
#define ONSTAGE_GRAPH_PASSES_CUTTER_H

#include "graph/passes/cut.h"

typedef struct cutter {
    const ons_cut_options *o;
    const ons_graph *whole;
    ons_arena *scratch; /* what is needed until the cut is made */
    ons_cut *cut;
    ons_value_id *root;  /* of each value: the one whose bytes it shows; itself where it is no view */
    uint32_t devices;    /* units of the cut: each has a graph of its own */
    uint32_t *device;    /* of each stage */
    ons_part_kind *kind; /* of each node: of its part */
    bool *everywhere;    /* of each node: runs on every device that needs it */
    uint32_t *stage; /* of each node: where it runs; of one that runs everywhere: where it does if nobody needs it */
    uint32_t *need;  /* of each device and value: 1 + the first part in which the device reads it, 0: it does not */
    bool *runs;      /* of each device and node */
    uint32_t *part_there; /* of each device and node that runs there: its part */
} cutter;

static inline size_t at_value(const cutter *c, uint32_t device, ons_value_id value) {
    return (size_t)device * c->whole->values.count + value;
}

static inline size_t at_node(const cutter *c, uint32_t device, ons_node_id node) {
    return (size_t)device * c->whole->nodes.count + node;
}

static inline uint32_t device_of_node(const cutter *c, ons_node_id node) { return c->device[c->stage[node]]; }

static inline uint32_t chunks_of(const cutter *c, uint32_t device) { return c->cut->stages[device].chunks; }

/* The number, on the stage's device, of its part of this kind. */
static inline ons_part part_of_stage(const cutter *c, ons_part_kind kind, uint32_t stage) {
    const ons_cut_stage *device = &c->cut->stages[c->device[stage]];
    return ons_part_of(device->chunks, kind, ons_cut_chunk(device, stage));
}

static inline ons_node_id producer_of(const cutter *c, ons_value_id value) {
    return ons_graph_value(c->whole, value)->producer;
}

bool ons_cut_is_view(const ons_node *node);

/* Fills in root, kind, everywhere and stage. */
ons_status *ons_cut_place(cutter *c);

/* Fills in need, runs and part_there. */
ons_status *ons_cut_find_needs(cutter *c);
/* What kind of part `value` is sent in to a device that needs it and does not make it, and the stage that is the first
 * there to read it. */
ons_part_kind ons_cut_transfer_kind(const cutter *c, ons_value_id value, uint32_t device, uint32_t *reader);
/* The part from which on a value is there on a device that needs it. */
ons_part ons_cut_arrival(const cutter *c, ons_value_id value, uint32_t device);
/* Counts the sends and receives of all devices and makes room for them; `value` is the whole graph's until the devices'
 * graphs are there. */
ons_status *ons_cut_list_transfers(cutter *c);

/* The second version of a value is what comes back or is made again: its operand is the value's id and the number of
 * values. */
typedef uint32_t cut_operand;

typedef struct cut_step {
    ons_node_id node; /* of the whole graph */
    ons_part part;
    bool again;
    bool dropped;        /* a view that nobody reads */
    cut_operand *inputs; /* as many as the node has; ONS_NONE where an optional one is left out */
    ons_value_id handed; /* whose second version the node makes as its last output; ONS_NONE: of none */
} cut_step;

typedef struct cut_step_swap {
    ons_value_id value;      /* of the whole graph */
    ons_node_id out_after;   /* node of the whole graph */
    ons_node_id gone_before; /* node of the whole graph; ONS_NONE: none */
    uint32_t in_before;      /* step */
} cut_step_swap;

/* All of one device. */
typedef struct cut_steps {
    uint32_t device;
    cut_step *items;
    uint32_t count;
    uint32_t *reads; /* of each operand: how often it is read; kept values and states that are replaced count once */
    cut_step_swap *swaps;
    uint32_t swap_count;
} cut_steps;

/* The nodes of a device, part by part; those of the backward parts are [forward_end, backward_end). */
typedef struct cut_base {
    ons_node_id *nodes;
    const uint32_t *end; /* of each part */
    uint32_t forward_end, backward_end;
} cut_base;

static inline ons_part cut_part_at(const uint32_t *end, uint32_t index) {
    ons_part part = ONS_PART_BEGIN;
    while (index >= end[part]) ++part;
    return part;
}

/* Where a node of the backward parts stands; backward_end: nowhere. */
static inline uint32_t cut_find(const cut_base *base, ons_node_id id) {
    uint32_t at = base->forward_end;
    while (at < base->backward_end && base->nodes[at] != id) ++at;
    return at;
}

/* Changes the order within the backward parts: of the gradients of one forward node those of weights go first where
 * updates run there, and what reads a value that is handed back goes behind the node that does it. */
ons_status *ons_cut_order_gradients(const cutter *c, const cut_base *base);

/* The nodes of a device before they are steps: see cut_steps.c. */
typedef struct cut_order {
    const ons_node_id *base;
    uint32_t count, end_begin;   /* of the base: all, and where the end part begins */
    const ons_node_id *group;    /* what runs again, by group */
    const uint32_t *group_begin; /* of each base node */
} cut_order;

/* `after`: of each base node, the one of the backward part behind which it runs instead of at its own place, or
 * ONS_NONE: updates that need not wait, where cut_options.updates_in_backward. */
ons_status *ons_cut_place_updates(const cutter *c, const cut_order *order, uint32_t *after);

ons_status *ons_cut_list_steps(cutter *c, uint32_t device, cut_steps *steps);
ons_status *ons_cut_build_stage(cutter *c, const cut_steps *steps);

#endif
