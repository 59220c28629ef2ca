#include "engine/plan/node_shards.h"

#include <string.h>

#include "engine/plan/problem.h"
#include "graph/passes/shard.h"
#include "graph/sharing.h"

/* Cuts and lists of shards are found together, by one way alone. */
static ons_status *check(const ons_config *config, const ons_partition_strategy *strategy,
                         const ons_planning_problem *problem) {
    const char *pipeline = ons_config_chooses_schedule(config) ? "auto" : problem->pipeline.generator->name;
    ONS_CHECK(strcmp(pipeline, ons_generator_one_f_one_b.name) == 0, ONS_INVALID_ARGUMENT,
              "--pipeline %s beside --vocabulary-shards, which makes lists of its own; leave one out", pipeline);
    ONS_CHECK(strcmp(strategy->name, ons_usual_partition) == 0, ONS_INVALID_ARGUMENT,
              "--partition %s beside --vocabulary-shards, which cuts between the shards in a way of its own; leave one "
              "out",
              strategy->name);
    return NULL;
}

/* The position of what a view shows; its own for what is none, and for a view of data or weights. */
static uint32_t shown_by(const ons_graph *graph, const ons_graph_work *work, uint32_t position) {
    const ons_node *node = ons_graph_node(graph, work->node_of_position[position]);
    if (!ons_is_view(node->op) || node->outputs[0] == ONS_NONE) return position;
    ons_node_id maker = ons_graph_value(graph, work->root_of_value[node->outputs[0]])->producer;
    return maker == ONS_NONE || work->position_of_node[maker] > position ? position : work->position_of_node[maker];
}

ons_status *ons_node_shards_pose(const ons_config *config, const ons_model_graph *graph, const ons_graph_work *work,
                                 const ons_partition_strategy *strategy, ons_arena *arena,
                                 ons_planning_problem *problem) {
    ons_node_shards *found;
    uint32_t *of_node, *of_position, *shown;
    problem->shards = NULL;
    if (config->vocabulary_shards <= 1 || problem->pipeline.stages == 1) return NULL;
    ONS_TRY(check(config, strategy, problem));
    ONS_TRY(ons_shards_of_nodes(graph->graph, arena, &of_node));
    ONS_NEW(found, arena, 1);
    ONS_NEW(of_position, arena, (size_t)work->work.node_count + 1);
    ONS_NEW(shown, arena, (size_t)work->work.node_count + 1);
    for (uint32_t i = 0; i < work->work.node_count; ++i) {
        uint32_t shard = of_node[work->node_of_position[i]];
        of_position[i] = shard == ONS_NONE ? ONS_NO_SHARD : shard;
        shown[i] = shown_by(graph->graph, work, i);
    }
    *found = (ons_node_shards){(uint32_t)config->vocabulary_shards, of_position, shown};
    problem->shards = found;
    return NULL;
}
