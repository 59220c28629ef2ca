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

/* By what the newer exporter's rewriter leaves at the node. */
static void note_marked_nodes(const ons_model_file *file, FILE *out) {
    const char *first;
    size_t count = ons_model_file_marked_nodes(file, "FuseBatchNormInto", &first);
    if (count > 0)
        fprintf(
            out,
            "the exporter folded a BatchNorm into %zu of the nodes, first '%s': it trains, but without normalising; "
            "an export with optimize=False, then --batchnorm train, keeps the BatchNorm\n",
            count, first);
}

void ons_note_folded_normalisation(const ons_model_file *file, const ons_graph *graph, FILE *out) {
    const ons_node *first = NULL;
    int count = 0;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (!has_folded_weights(graph, node)) continue;
        if (first == NULL) first = node;
        ++count;
    }
    if (first == NULL) {
        note_marked_nodes(file, out);
        return;
    }
    fprintf(
        out,
        "%d of the convolutions, first '%s' with '%s', ha%s the names of one into which a BatchNorm was folded: it "
        "trains, "
        "but without normalising; an export with training=TrainingMode.TRAINING and do_constant_folding=False (dynamo: "
        "optimize=False, then --batchnorm train) keeps the BatchNorm\n",
        count, first->name, ons_graph_value(graph, first->inputs[1])->name, count == 1 ? "s" : "ve");
}

/* ---- copies that a transposition hides */

static bool is_matrix(const ons_value *value) {
    return value->kind == ONS_PARAMETER && value->type.shape.rank == 2 && value->type.dtype == ONS_FLOAT32 &&
           value->data != ONS_NO_DATA && ons_shape_elements(&value->type.shape) > 1;
}

/* Whether b holds aᵀ. Two that are one number all over (zeros, ones) say nothing. */
static bool is_transposed(const ons_tensor *a, const ons_tensor *b) {
    int64_t rows = a->type.shape.dims[0], columns = a->type.shape.dims[1];
    if (b->type.shape.dims[0] != columns || b->type.shape.dims[1] != rows) return false;
    const char *left = a->data, *right = b->data;
    bool varies = false;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = 0; k < columns; ++k) {
            const char *element = left + 4 * (i * columns + k);
            if (memcmp(element, right + 4 * (k * rows + i), 4) != 0) return false;
            varies |= memcmp(element, left, 4) != 0;
        }
    return varies;
}

void ons_note_transposed_copies(const ons_graph *graph, FILE *out) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        for (ons_value_id other = 0; is_matrix(value) && other < id; ++other) {
            const ons_value *before = ons_graph_value(graph, other);
            if (is_matrix(before) &&
                is_transposed(ons_store_get(graph->store, before->data), ons_store_get(graph->store, value->data)))
                fprintf(out,
                        "'%s' looks like the transpose of '%s'; they are trained separately, also where one tied "
                        "weight was "
                        "exported twice\n",
                        value->name, before->name);
        }
    }
}
