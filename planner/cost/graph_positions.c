#include "planner/cost/graph_positions.h"

#include "graph/sharing.h"

typedef struct finder {
    const ons_graph *graph;
    ons_graph_work *r;
    uint32_t count;
} finder;

static ons_status *number_units(finder *f, ons_arena *arena) {
    ONS_NEW(f->r->node_of_position, arena, f->graph->nodes.count + 1);
    for (ons_node_id id = 0; id < f->graph->nodes.count; ++id) {
        if (!ons_is_forward_unit(ons_graph_node(f->graph, id))) continue;
        f->r->node_of_position[f->count] = id;
        f->r->position_of_node[id] = f->count++;
    }
    ONS_CHECK(f->count > 0, ONS_UNSUPPORTED, "the model computes nothing that could be planned");
    return NULL;
}

/* The position of the first input that some placed node makes. */
static uint32_t position_of_inputs(const finder *f, const ons_node *node) {
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE) continue;
        ons_node_id maker = ons_graph_value(f->graph, node->inputs[i])->producer;
        if (maker != ONS_NONE && f->r->position_of_node[maker] != ONS_NO_NODE) return f->r->position_of_node[maker];
    }
    return ONS_NO_NODE;
}

/* A backward node that reads nothing but what the forward part made: a saved value in another layout, say. */
static bool only_prepares(const finder *f, ons_node_id id) {
    const ons_node *node = ons_graph_node(f->graph, id);
    bool prepares = node->phase != ONS_UPDATE && !node->per_step && (node->origin == id || node->origin == ONS_NONE);
    for (uint32_t i = 0; i < node->input_count && prepares; ++i) {
        ons_node_id maker =
            node->inputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(f->graph, node->inputs[i])->producer;
        prepares = maker == ONS_NONE || ons_graph_node(f->graph, maker)->phase == ONS_FORWARD;
    }
    return prepares;
}

/* Such a node goes with its first reader, whose stage holds the saved value; the stage that made that may be an earlier
 * one, and gradients do not go back and forth. */
static void place_preparations(finder *f) {
    for (ons_node_id id = 0; id < f->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(f->graph, id);
        uint32_t position = f->r->position_of_node[id];
        for (uint32_t i = 0; i < node->input_count && position != ONS_NO_NODE; ++i) {
            ons_node_id maker =
                node->inputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(f->graph, node->inputs[i])->producer;
            if (maker != ONS_NONE && f->r->position_of_node[maker] == ONS_NO_NODE && only_prepares(f, maker))
                f->r->position_of_node[maker] = position;
        }
    }
}

/* Backward nodes go with the node that they were derived from; accumulation and updates with what makes the gradient.
 */
static void place_derived(finder *f) {
    for (ons_node_id id = 0; id < f->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(f->graph, id);
        uint32_t *position = &f->r->position_of_node[id];
        if (*position != ONS_NO_NODE || (node->phase == ONS_FORWARD && node->per_step)) continue;
        if (node->origin != id && node->origin != ONS_NONE) *position = f->r->position_of_node[node->origin];
        if (*position == ONS_NO_NODE && !only_prepares(f, id)) *position = position_of_inputs(f, node);
    }
}

/* What reads nothing but weights (a reorder of them, at the start of a step) goes with its first reader. */
static void place_by_reader(finder *f) {
    for (ons_node_id id = (ons_node_id)f->graph->nodes.count; id-- > 0;) {
        const ons_node *node = ons_graph_node(f->graph, id);
        uint32_t position = f->r->position_of_node[id];
        if (position == ONS_NO_NODE) f->r->position_of_node[id] = position = 0;
        for (uint32_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] == ONS_NONE) continue;
            ons_node_id maker = ons_graph_value(f->graph, node->inputs[i])->producer;
            if (maker == ONS_NONE || ons_is_forward_unit(ons_graph_node(f->graph, maker))) continue;
            uint32_t *known = &f->r->position_of_node[maker];
            const ons_node *making = ons_graph_node(f->graph, maker);
            bool at_start = making->phase == ONS_FORWARD && making->per_step;
            if (*known == ONS_NO_NODE || (at_start && position < *known)) *known = position;
        }
    }
}

ons_status *ons_graph_positions_find(const ons_graph_work_options *options, ons_arena *arena, ons_graph_work *r,
                                     uint32_t *count) {
    finder f = {.graph = options->graph, .r = r};
    ONS_TRY(ons_find_places(options->graph, arena, &r->root_of_value));
    ONS_NEW(r->position_of_node, arena, options->graph->nodes.count + 1);
    for (ons_node_id id = 0; id < options->graph->nodes.count; ++id) r->position_of_node[id] = ONS_NO_NODE;
    ONS_TRY(number_units(&f, arena));
    place_derived(&f);
    place_preparations(&f);
    place_by_reader(&f);
    *count = f.count;
    return NULL;
}
