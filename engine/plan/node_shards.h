/* Which nodes that are planned belong to which shard of the model's vocabularies (--vocabulary-shards). */
#ifndef ONSTAGE_ENGINE_PLAN_NODE_SHARDS_H
#define ONSTAGE_ENGINE_PLAN_NODE_SHARDS_H

#include "engine/model/stage_graph.h"
#include "planner/cost/graph_work.h"
#include "planner/partition/partition.h"

/* `shards` in `arena`; NULL where nothing is sharded. `work` is of the graph. */
ons_status *ons_node_shards_find(const ons_config *config, const ons_stage_graph *graph, const ons_graph_work *work,
                                 ons_arena *arena, const ons_node_shards **shards);

#endif
