/* Which nodes that are planned belong to which shard of the model's vocabularies (--vocabulary-shards). */
#ifndef ONSTAGE_ENGINE_PLAN_NODE_SHARDS_H
#define ONSTAGE_ENGINE_PLAN_NODE_SHARDS_H

#include "engine/model/model_graph.h"
#include "planner/cost/graph_work.h"
#include "planner/partition/partition.h"

/* Sets problem->shards, in `arena`, where the model is sharded and has several stages; `work` is of the graph. What
 * goes with no shards is ONS_INVALID_ARGUMENT, with the option's name. */
ons_status *ons_node_shards_pose(const ons_config *config, const ons_model_graph *graph, const ons_graph_work *work,
                                 const ons_partition_strategy *strategy, ons_arena *arena,
                                 ons_planning_problem *problem);

#endif
