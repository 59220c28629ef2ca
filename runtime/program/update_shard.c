#include "runtime/program/update_shard.h"

#include "graph/passes/update.h"

bool ons_update_shard_takes(const ons_node *node) { return ons_role_is_optimizer(node->op->roles.role); }

static const ons_type *type_of(const ons_graph *graph, ons_value_id value) {
    return &ons_graph_value(graph, value)->type;
}

ons_slice ons_update_shard_slice(const ons_update_shard *shard, const ons_graph *graph, const ons_node *update) {
    int64_t elements = ons_shape_elements(&type_of(graph, update->inputs[ONS_UPDATE_PARAMETER])->shape);
    return ons_slice_of(elements, shard->owner, shard->owners);
}

static ons_type vector_like(const ons_type *type, int64_t elements) {
    return (ons_type){.dtype = type->dtype, .shape = ons_shape_make(1, &elements)};
}

ons_status *ons_update_shard_operands(const ons_update_shard *shard, const ons_node *update, ons_arena *arena,
                                      ons_operands *o) {
    int64_t elements = ons_shape_elements(&o->inputs[ONS_UPDATE_PARAMETER].shape);
    int64_t count = ons_slice_of(elements, shard->owner, shard->owners).count;
    ons_type *inputs;
    ONS_NEW(inputs, arena, (size_t)o->input_count + 1);
    for (uint32_t i = 0; i < o->input_count; ++i) {
        bool whole = i == ONS_UPDATE_FACTOR || update->inputs[i] == ONS_NONE;
        inputs[i] = whole ? o->inputs[i] : vector_like(&o->inputs[i], count);
    }
    o->inputs = inputs;
    for (uint32_t i = 0; i < o->output_count; ++i)
        if (update->outputs[i] != ONS_NONE) o->outputs[i] = vector_like(&o->outputs[i], count);
    return NULL;
}

static int64_t offset_in(const ons_update_shard *shard, const ons_graph *graph, const ons_node *update,
                         ons_value_id value) {
    return ons_update_shard_slice(shard, graph, update).first * (int64_t)ons_dtype_size(type_of(graph, value)->dtype);
}

int64_t ons_update_shard_input_offset(const ons_update_shard *shard, const ons_graph *graph, const ons_node *update,
                                      uint32_t input) {
    bool whole = input == ONS_UPDATE_PARAMETER || input == ONS_UPDATE_GRADIENT;
    return whole ? offset_in(shard, graph, update, update->inputs[input]) : 0;
}

int64_t ons_update_shard_output_offset(const ons_update_shard *shard, const ons_graph *graph, const ons_node *update,
                                       uint32_t output) {
    return output == 0 ? offset_in(shard, graph, update, update->outputs[output]) : 0;
}

ons_status *ons_update_shard_states(const ons_update_shard *shard, const ons_graph *graph, ons_arena *arena,
                                    int64_t **elements) {
    ONS_NEW(*elements, arena, graph->values.count + 1);
    for (ons_value_id id = 0; id < graph->values.count; ++id) (*elements)[id] = -1;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (!ons_update_shard_takes(node)) continue;
        for (uint32_t i = ONS_UPDATE_STATES; i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE)
                (*elements)[node->inputs[i]] = ons_update_shard_slice(shard, graph, node).count;
    }
    return NULL;
}
