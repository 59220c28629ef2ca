#include "runtime/program/half_layout.h"

static ons_status *find_own(const ons_graph *graph, const ons_halves *halves, const ons_liveness *l, ons_arena *arena,
                            bool **result) {
    bool *own;
    ONS_NEW(own, arena, l->buffer_count + 1);
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_node_id maker = ons_graph_value(graph, id)->producer;
        ons_buffer_id buffer = l->buffer_of_value[id];
        if (maker != ONS_NONE && halves->runs[maker]) own[buffer] = !l->buffers[buffer].persistent;
    }
    for (ons_value_id id = 0; id < graph->values.count; ++id)
        if (halves->outer[id]) own[l->buffer_of_value[id]] = false;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id)
        if (halves->runs[id] && l->scratch_of_node[id] != ONS_NONE) own[l->scratch_of_node[id]] = true;
    *result = own;
    return NULL;
}

static ons_status *leave_out_residents(const ons_graph *graph, const ons_halves *halves, ons_arena *arena,
                                       ons_liveness *l) {
    bool *read;
    ONS_NEW(read, arena, l->buffer_count + 1);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; halves->runs[id] && i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE) read[l->buffer_of_value[node->inputs[i]]] = true;
    }
    for (uint32_t i = 0; i < l->buffer_count; ++i) l->buffers[i].persistent = l->buffers[i].persistent && read[i];
    return NULL;
}

ons_status *ons_half_layout_make(const ons_graph *graph, const ons_halves *halves, const ons_execution_order *order,
                                 ons_liveness *liveness, ons_arena *arena, bool **own, ons_arena_layout *layout) {
    ons_liveness scratch = *liveness;
    ONS_TRY(find_own(graph, halves, liveness, arena, own));
    ONS_TRY(leave_out_residents(graph, halves, arena, liveness));
    ONS_NEW(scratch.buffers, arena, liveness->buffer_count + 1);
    for (uint32_t i = 0; i < liveness->buffer_count; ++i) {
        scratch.buffers[i] = liveness->buffers[i];
        scratch.buffers[i].persistent = !(*own)[i];
    }
    const ons_layout_options options = {.liveness = &scratch, .execution_order = order, .slots = 1};
    return ons_arena_layout_make(&options, arena, layout);
}
