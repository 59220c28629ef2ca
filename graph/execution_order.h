/* The execution order says in which order a step runs the nodes, and in which parts. What one device computes of a
 * micro-batch are one or several stages of a pipeline ("chunks", from 0, in the order of the stages), each with parts
 * of its own:
 *
 *   begin      once, before the micro-batches
 *   forward    for every micro-batch: of the first chunk, the second, …
 *   backward   for every micro-batch, when it has come back from the later stages: of the last chunk, the one before, …
 *   weight     behind each backward part: weights' gradients, where they are a part of their own; else it is empty
 *   end        once, after the micro-batches (of an asynchronous pipeline: after every backward part)
 *
 * A part has a number, by this order; with one chunk it is that of its kind.
 */
#ifndef ONSTAGE_GRAPH_EXECUTION_ORDER_H
#define ONSTAGE_GRAPH_EXECUTION_ORDER_H

#include "graph/graph.h"

typedef enum ons_part_kind {
    ONS_PART_BEGIN,
    ONS_PART_FORWARD,
    ONS_PART_BACKWARD,
    ONS_PART_WEIGHT,
    ONS_PART_END,
    ONS_PART_KINDS
} ons_part_kind;

const char *ons_part_name(ons_part_kind kind); /* "first", "forward", "backward", "weight gradient", "update" */

typedef uint32_t ons_part;

static inline uint32_t ons_part_count(uint32_t chunks) { return 3 * chunks + 2; }

static inline ons_part ons_part_of(uint32_t chunks, ons_part_kind kind, uint32_t chunk) {
    if (kind == ONS_PART_BEGIN) return 0;
    if (kind == ONS_PART_END) return 3 * chunks + 1;
    if (kind == ONS_PART_FORWARD) return 1 + chunk;
    return 1 + chunks + 2 * (chunks - 1 - chunk) + (kind == ONS_PART_WEIGHT);
}

static inline ons_part_kind ons_part_kind_of(uint32_t chunks, ons_part part) {
    if (part == 0) return ONS_PART_BEGIN;
    if (part > 3 * chunks) return ONS_PART_END;
    if (part <= chunks) return ONS_PART_FORWARD;
    return (part - chunks - 1) % 2 == 0 ? ONS_PART_BACKWARD : ONS_PART_WEIGHT;
}

/* Of a part of a micro-batch. */
static inline uint32_t ons_part_chunk(uint32_t chunks, ons_part part) {
    return part <= chunks ? part - 1 : chunks - 1 - (part - chunks - 1) / 2;
}

/* Where the backward parts begin, and where those of micro-batches end: numbers of parts. */
static inline ons_part ons_part_first_backward(uint32_t chunks) { return chunks + 1; }
static inline ons_part ons_part_last(uint32_t chunks) { return 3 * chunks + 1; }

typedef struct ons_execution_order {
    ons_node_id *nodes; /* all of them */
    uint32_t *end;      /* of each part: positions [end[part - 1], end[part]) are its */
    uint32_t chunks;
    uint32_t count;
    bool repeats; /* more than one micro-batch a step */
} ons_execution_order;

static inline uint32_t ons_execution_order_begin(const ons_execution_order *s, ons_part part) {
    return part == ONS_PART_BEGIN ? 0 : s->end[part - 1];
}

/* Where the micro-batches' parts begin, where their backward parts do, and where they end: positions. */
static inline uint32_t ons_execution_order_first(const ons_execution_order *s) { return s->end[ONS_PART_BEGIN]; }
static inline uint32_t ons_execution_order_backward(const ons_execution_order *s) { return s->end[s->chunks]; }
static inline uint32_t ons_execution_order_last(const ons_execution_order *s) { return s->end[3 * s->chunks]; }

/* The part of a position; behind the last part's: the last one. */
static inline ons_part ons_execution_order_part(const ons_execution_order *s, uint32_t position) {
    ons_part part = ONS_PART_BEGIN;
    while (part < ons_part_last(s->chunks) && position >= s->end[part]) ++part;
    return part;
}

/* `end`: where the parts of the graph's nodes end (see graph/passes/cut.h), of so many chunks; or NULL: one chunk,
 * updates and what comes after them are the end; of the rest, what runs once stands in front where there is more than
 * one micro-batch; the first node that is not of the forward phase starts the backward part. Results in `arena`. */
ons_status *ons_execution_order_make(const ons_graph *graph, const uint32_t *end, uint32_t chunks, bool repeats,
                                     ons_arena *arena, ons_execution_order *execution_order);

#endif
