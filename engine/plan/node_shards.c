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

/* -------------------------------------------------------------------------------- what is worked out of data alone */

/* Each value that follows from no weight. */
static ons_status *find_plain(const ons_graph *graph, ons_arena *arena, bool **plain) {
    ONS_NEW(*plain, arena, graph->values.count + 1);
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        (*plain)[id] = value->kind != ONS_PARAMETER || !ons_dtype_is_float(value->type.dtype);
    }
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        bool all = true;
        for (uint32_t i = 0; i < node->input_count; ++i)
            all &= node->inputs[i] == ONS_NONE || (*plain)[node->inputs[i]];
        for (uint32_t i = 0; i < node->output_count; ++i)
            if (node->outputs[i] != ONS_NONE) (*plain)[node->outputs[i]] = all;
    }
    return NULL;
}

/* Whether the node reads a shard of a weight, and beside it nothing that follows from weights. */
static bool looks_up(const ons_graph *graph, const ons_node *node, const bool *plain) {
    bool reads = false;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE || plain[node->inputs[i]]) continue;
        const ons_value *value = ons_graph_value(graph, node->inputs[i]);
        if (value->producer != ONS_NONE || value->shard == 0) return false;
        reads = true;
    }
    return reads;
}

/* What indices are worked out by (positions that count the words in front) goes with the first shard: the body, which
 * it would be of otherwise, is behind the tables. */
static ons_status *take_preparations(const ons_graph *graph, ons_arena *arena, uint32_t *shard_of) {
    bool *plain, *wanted;
    ONS_TRY(find_plain(graph, arena, &plain));
    ONS_NEW(wanted, arena, graph->values.count + 1);
    for (ons_node_id id = (ons_node_id)graph->nodes.count; id-- > 0;) {
        const ons_node *node = ons_graph_node(graph, id);
        bool wants = node->phase == ONS_FORWARD && shard_of[id] != ONS_NONE && looks_up(graph, node, plain);
        for (uint32_t i = 0; i < node->output_count && !wants; ++i)
            wants = node->outputs[i] != ONS_NONE && wanted[node->outputs[i]];
        if (!wants) continue;
        if (shard_of[id] == ONS_NONE) shard_of[id] = 0;
        for (uint32_t i = 0; i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE) wanted[node->inputs[i]] |= plain[node->inputs[i]];
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ views */

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
    ONS_TRY(take_preparations(graph->graph, arena, of_node));
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
