#include "graph/graph.h"
#include "graph/operands.h"

/* Operators infer shapes and element types; how their operands lie in memory is chosen later, and may differ. */
static void forget_layouts(ons_operands *o, ons_type *types) {
    for (uint32_t i = 0; i < o->input_count; ++i) {
        types[i] = o->inputs[i];
        types[i].layout = ONS_LAYOUT_ONNX;
    }
    o->inputs = types;
}

/* What is legal at one node, given that everything before it is. */
static ons_status *verify_node(const ons_graph *graph, ons_node_id id, const bool *made, ons_arena *scratch) {
    const ons_node *node = ons_graph_node(graph, id);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_value_id input = node->inputs[i];
        if (input == ONS_NONE) continue;
        ONS_CHECK(input < graph->values.count, ONS_DEFECT, "node '%s': input %u has no value", node->name, i);
        ONS_CHECK(ons_graph_value(graph, input)->producer == ONS_NONE || made[input], ONS_DEFECT,
                  "node '%s': input '%s' is made after it is used", node->name, ons_graph_value(graph, input)->name);
    }
    ONS_CHECK(node->origin < graph->nodes.count, ONS_DEFECT, "node '%s': its origin is gone", node->name);
    ONS_CHECK(node->phase != ONS_UPDATE || node->per_step, ONS_DEFECT, "node '%s': an update for every micro-batch",
              node->name);
    ons_operands found;
    ons_type *types;
    ONS_NEW(types, scratch, node->input_count + 1);
    ONS_TRY(ons_operands_make(graph, node->op, node->name, node->attributes, node->inputs, node->input_count,
                              node->output_count, scratch, &found));
    forget_layouts(&found, types);
    ONS_TRY(ons_operands_infer(&found));
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == ONS_NONE) continue;
        const ons_value *value = ons_graph_value(graph, node->outputs[i]);
        char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
        ONS_CHECK(value->producer == id, ONS_DEFECT, "value '%s' has two producers", value->name);
        ONS_CHECK(value->type.dtype == found.outputs[i].dtype &&
                      ons_shape_equal(&value->type.shape, &found.outputs[i].shape),
                  ONS_DEFECT, "value '%s' is %s, its node makes %s", value->name, ons_type_print(&value->type, left),
                  ons_type_print(&found.outputs[i], right));
    }
    return NULL;
}

ons_status *ons_graph_verify(const ons_graph *graph) {
    ons_arena *scratch = ons_arena_new();
    bool *made = scratch == NULL ? NULL : ons_arena_allocate(scratch, graph->values.count + 1, sizeof *made);
    ons_status *status = made == NULL ? ons_status_out_of_memory() : NULL;
    for (ons_node_id id = 0; status == NULL && id < graph->nodes.count; ++id) {
        status = verify_node(graph, id, made, scratch);
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; status == NULL && i < node->output_count; ++i)
            if (node->outputs[i] != ONS_NONE) made[node->outputs[i]] = true;
    }
    for (size_t i = 0; status == NULL && i < graph->outputs.count; ++i) {
        ons_value_id id = graph->outputs.items[i];
        if (ons_graph_value(graph, id)->producer != ONS_NONE && !made[id])
            status = ons_status_new(ONS_DEFECT, "output '%s' is never made", ons_graph_value(graph, id)->name);
    }
    ons_arena_free(scratch);
    return status;
}
