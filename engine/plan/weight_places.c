#include "engine/plan/weight_places.h"

/* What runs before or behind the micro-batches is any of the device's stages'. */
static void note_nodes(ons_weight_places *p, const ons_cut_stage *own) {
    ons_part part = ONS_PART_BEGIN;
    for (ons_node_id id = 0; id < own->graph->nodes.count; ++id) {
        while (id >= own->end[part]) ++part;
        bool of_step = part == ONS_PART_BEGIN || part == ons_part_last(own->chunks);
        if (!own->again[id])
            p->stage_of_node[own->original[id]] = own->stages[of_step ? 0 : ons_part_chunk(own->chunks, part)];
    }
}

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
    for (uint32_t device = cut->stage_count; device-- > 0;) note_nodes(p, &cut->stages[device]);
    return NULL;
}

static bool holds(const ons_weight_places *p, uint32_t device, ons_value_id value) {
    return p->cut->stages[device].value_of[value] != ONS_NONE;
}

static uint32_t device_of(const ons_weight_places *p, uint32_t stage) {
    uint32_t device = 0;
    while (ons_cut_chunk(&p->cut->stages[device], stage) == p->cut->stages[device].chunks) ++device;
    return device;
}

/* A stage of the first device that holds a value of the training graph. */
static uint32_t holder_of(const ons_weight_places *p, ons_value_id value) {
    uint32_t device = 0;
    while (device < p->cut->stage_count && !holds(p, device, value)) ++device;
    return device < p->cut->stage_count ? p->cut->stages[device].stages[0] : ONS_NONE;
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
        if (weight == ONS_NONE || (stage != ONS_NONE && holds(p, device_of(p, stage), weight))) continue;
        uint32_t holder = holder_of(p, weight);
        if (holder != ONS_NONE) stage = holder;
    }
    return stage;
}

ons_status *ons_weight_places_check(const ons_weight_places *p, const ons_graph *graph, const ons_cut *cut) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_value_id weight = changing(p, graph, id);
        for (uint32_t device = 0; weight != ONS_NONE && device < cut->stage_count; ++device)
            ONS_CHECK(cut->stages[device].value_of[id] == ONS_NONE || holds(p, device, weight), ONS_UNSUPPORTED,
                      "'%s' is trained in stage %u, and the graph '%s' reads it in stage %u, where it would never "
                      "change; another number of --stages or another --partition puts them together",
                      ons_graph_value(graph, id)->name, holder_of(p, weight), graph->name,
                      cut->stages[device].stages[0]);
    }
    return NULL;
}
