#include "engine/weight_places.h"

ons_status *ons_weight_places_find(const ons_graph *trained, const ons_cut *cut, ons_arena *arena,
                                   ons_weight_places *p) {
    *p = (ons_weight_places){.trained = trained, .cut = cut};
    ONS_NEW(p->changes, arena, trained->values.count + 1);
    ONS_NEW(p->stage_of_node, arena, trained->nodes.count + 1);
    for (ons_value_id id = 0; id < trained->values.count; ++id) {
        const ons_value *value = ons_graph_value(trained, id);
        if (value->pair != ONS_NONE && value->producer != ONS_NONE) p->changes[value->pair] = true;
    }
    for (ons_node_id id = 0; id < trained->nodes.count; ++id) p->stage_of_node[id] = ONS_NONE;
    for (uint32_t stage = cut->stage_count; stage-- > 0;) {
        const ons_cut_stage *own = &cut->stages[stage];
        for (ons_node_id id = 0; id < own->graph->nodes.count; ++id)
            if (!own->again[id]) p->stage_of_node[own->original[id]] = stage;
    }
    return NULL;
}

static bool holds(const ons_weight_places *p, uint32_t stage, ons_value_id value) {
    return p->cut->stages[stage].value_of[value] != ONS_NONE;
}

/* The first stage that holds a value of the training graph. */
static uint32_t holder_of(const ons_weight_places *p, ons_value_id value) {
    uint32_t stage = 0;
    while (stage < p->cut->stage_count && !holds(p, stage, value)) ++stage;
    return stage < p->cut->stage_count ? stage : ONS_NONE;
}

/* The training graph's value of that name, where it changes; ONS_NONE elsewhere. */
static ons_value_id changing(const ons_weight_places *p, const ons_graph *graph, ons_value_id value) {
    if (value == ONS_NONE || ons_graph_value(graph, value)->producer != ONS_NONE) return ONS_NONE;
    ons_value_id found = ons_graph_find_value(p->trained, ons_graph_value(graph, value)->name);
    return found == ONS_NONE || !p->changes[found] ? ONS_NONE : found;
}

uint32_t ons_weight_places_stage(const ons_weight_places *p, const ons_graph *graph, ons_node_id id) {
    const ons_node *node = ons_graph_node(graph, id);
    ons_node_id same = ons_graph_find_node(p->trained, node->name);
    uint32_t stage = same == ONS_NONE ? ONS_NONE : p->stage_of_node[same];
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_value_id weight = changing(p, graph, node->inputs[i]);
        if (weight == ONS_NONE || (stage != ONS_NONE && holds(p, stage, weight))) continue;
        uint32_t holder = holder_of(p, weight);
        if (holder != ONS_NONE) stage = holder;
    }
    return stage;
}

ons_status *ons_weight_places_check(const ons_weight_places *p, const ons_graph *graph, const ons_cut *cut) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_value_id weight = changing(p, graph, id);
        for (uint32_t stage = 0; weight != ONS_NONE && stage < cut->stage_count; ++stage)
            ONS_CHECK(cut->stages[stage].value_of[id] == ONS_NONE || holds(p, stage, weight), ONS_UNSUPPORTED,
                      "'%s' is trained in stage %u, and the graph '%s' reads it in stage %u, where it would never "
                      "change; another number of --stages or another --partition puts them together",
                      ons_graph_value(graph, id)->name, holder_of(p, weight), graph->name, stage);
    }
    return NULL;
}
