#include "engine/exporter_habits.h"

#include <string.h>

static bool begins_with(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

static const ons_value *parameter(const ons_graph *graph, ons_value_id id) {
    const ons_value *value = id == ONS_NONE ? NULL : ons_graph_value(graph, id);
    return value != NULL && value->kind == ONS_PARAMETER && value->producer == ONS_NONE ? value : NULL;
}

/* A kernel of at least one spatial dimension with a bias, both renamed. */
static bool has_folded_weights(const ons_graph *graph, const ons_node *node) {
    if (node->input_count < 3) return false;
    const ons_value *weight = parameter(graph, node->inputs[1]), *bias = parameter(graph, node->inputs[2]);
    if (weight == NULL || bias == NULL || weight->type.shape.rank < 3 || bias->type.shape.rank != 1) return false;
    size_t length = strlen(weight->name);
    return (begins_with(weight->name, "onnx::") && begins_with(bias->name, "onnx::")) ||
           (begins_with(bias->name, weight->name) && strcmp(bias->name + length, "_bias") == 0);
}

void ons_note_folded_normalisation(const ons_graph *graph, FILE *out) {
    const ons_node *first = NULL;
    int count = 0;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (!has_folded_weights(graph, node)) continue;
        if (first == NULL) first = node;
        ++count;
    }
    if (first == NULL) return;
    fprintf(
        out,
        "%d of the convolutions, first '%s' with '%s', ha%s the names of one into which a BatchNorm was folded: it "
        "trains, "
        "but without normalising; an export with training=TrainingMode.TRAINING and do_constant_folding=False (dynamo: "
        "optimize=False, then --batchnorm train) keeps the BatchNorm\n",
        count, first->name, ons_graph_value(graph, first->inputs[1])->name, count == 1 ? "s" : "ve");
}
