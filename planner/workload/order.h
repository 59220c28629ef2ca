/* Linear orders of a workload's nodes.
 *
 * Stages are intervals of an order, so of a graph that branches only those splits can be found that its order allows.
 * DawnPiper takes the order by depth (section 4.1 and appendix B.1); others let branches be cut at another place:
 *
 *        ┌▶ b ─▶ c ─┐           depth:        a b d c e f      (b and d stand at the same depth)
 *    a ──┤          ├─▶ f       depth first:  a d e b c f
 *        └▶ d ─▶ e ─┘           packed:       whatever lets the stages be filled best
 *
 * All functions take a workload that is not finished, too: numbers of nodes need not be an order yet, and lists of
 * readers, savers and users may be unsorted and hold a node twice.
 */
#ifndef ONSTAGE_PLANNER_WORKLOAD_ORDER_H
#define ONSTAGE_PLANNER_WORKLOAD_ORDER_H

#include "planner/workload/workload.h"

typedef enum ons_order_kind {
    ONS_ORDER_DEPTH,         /* by the longest path from the inputs, then as given: the paper's */
    ONS_ORDER_REVERSE_DEPTH, /* by the longest path to the outputs: every node as late as it can be */
    ONS_ORDER_DEPTH_FIRST,   /* branch after branch */
    ONS_ORDER_PACKED,        /* for a number of stages: their slowest is as fast as any order allows */
    ONS_ORDER_COUNT,
} ons_order_kind;

const char *ons_order_name(ons_order_kind kind); /* "depth", "reverse-depth", "depth-first", "packed" */

/* order[i]: the node at position i; node_count entries in `arena`. `stages` matters to the packed order alone.
 * ONS_INVALID_DATA with the nodes of a cycle where there is one. */
ons_status *ons_work_order(const ons_workload *work, ons_order_kind kind, uint32_t stages, ons_arena *arena,
                           uint32_t **order);

/* Makes the workload with its nodes in that order, finished. Where nodes of a layer do not stand together any more,
 * each stretch of them becomes a layer of the same name. Names and lists are not shared with `work` where they change.
 */
ons_status *ons_work_reorder(const ons_workload *work, const uint32_t *order, ons_arena *arena, ons_workload *result);

/* The dependencies between nodes: those of node i are next[begin[i]] to next[begin[i + 1] - 1]; a node may stand there
 * twice. */
typedef struct ons_work_edges {
    uint32_t *begin, *next;
} ons_work_edges;
/* `forward`: from producers to readers and savers; else the other way. */
ons_status *ons_work_edges_make(const ons_workload *work, bool forward, ons_arena *arena, ons_work_edges *edges);

/* Finds the packed order, from one that is legal. Transfers and memory are left aside. Exact, to within a millionth,
 * unless a part of the graph has so many branches side by side that not all ways through it can be tried; the best ones
 * are then followed. */
ons_status *ons_work_order_pack(const ons_workload *work, const uint32_t *legal, uint32_t stages, uint32_t *order);

#endif
