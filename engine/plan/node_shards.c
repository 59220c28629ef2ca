#include "engine/plan/node_shards.h"

#include "graph/passes/shard.h"

ons_status *ons_node_shards_find(const ons_config *config, const ons_stage_graph *graph, const ons_graph_work *work,
                                 ons_arena *arena, const ons_node_shards **shards) {
    ons_node_shards *found;
    uint32_t *of_node, *of_position;
    *shards = NULL;
    if (config->vocabulary_shards <= 1) return NULL;
    ONS_TRY(ons_shards_of_nodes(graph->graph, arena, &of_node));
    ONS_NEW(found, arena, 1);
    ONS_NEW(of_position, arena, (size_t)work->work.node_count + 1);
    for (uint32_t i = 0; i < work->work.node_count; ++i) {
        uint32_t shard = of_node[work->node_of_position[i]];
        of_position[i] = shard == ONS_NONE ? ONS_NO_SHARD : shard;
    }
    *found = (ons_node_shards){(uint32_t)config->vocabulary_shards, of_position};
    *shards = found;
    return NULL;
}
