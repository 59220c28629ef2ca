/* Which parts of a graph with shards are stages of their own, and the order of the nodes in which all of them are
 * intervals (planner/search/shard_stages.h has the picture). */
#ifndef ONSTAGE_PLANNER_SEARCH_SHARD_ORDER_H
#define ONSTAGE_PLANNER_SEARCH_SHARD_ORDER_H

#include "planner/partition/partition.h"

/* A stage beside those of the body. */
typedef struct ons_shard_part {
    uint32_t first, end; /* positions */
    uint32_t device;
} ons_shard_part;

typedef struct ons_shard_order {
    uint32_t *node_at; /* [position]: node of the problem's workload */
    uint32_t devices;
    ons_shard_part *early, *late; /* in the order of their positions; of the late ones the tail is the last */
    uint32_t early_count, late_count;
    uint32_t body_first, body_end; /* positions */
} ons_shard_order;

/* The node that makes what this one shows; itself where it makes a result of its own. */
static inline uint32_t ons_shown_by(const ons_node_shards *shards, uint32_t node) {
    return shards->shown == NULL ? node : shards->shown[node];
}

/* Whether a stage of the body may begin with this node, of a problem in the order: not between a node and what shows
 * its result. */
static inline bool ons_shard_may_cut(const ons_planning_problem *problem, uint32_t position) {
    return ons_shown_by(problem->shards, position) == position;
}

/* Divides the nodes of a problem with shards; its pipeline's stages say how many devices there are. In `arena`.
 * ONS_UNSUPPORTED names a node that waits for a part of the graph that runs behind it. */
ons_status *ons_shard_order_make(const ons_planning_problem *problem, ons_arena *arena, ons_shard_order *order);

#endif
