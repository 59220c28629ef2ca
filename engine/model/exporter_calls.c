#include "engine/model/exporter_calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model/notes.h"
#include "graph/evaluate.h"
#include "graph/sharing.h"

/* ---- attributes that an operator has from the exporter's words */

static const ons_attribute *find_attribute(const ons_node *node, const char *name) {
    for (uint32_t i = 0; node->op->attributes[i].name != NULL; ++i)
        if (strcmp(node->op->attributes[i].name, name) == 0)
            return node->attributes[i].kind == ONS_ATTRIBUTE_INT ? &node->attributes[i] : NULL;
    return NULL;
}

/* Where the numbers of a value come from, beyond nodes that only hand them on. */
static const ons_value *find_source(const ons_graph *graph, ons_value_id id) {
    while (id != ONS_NONE) {
        const ons_value *value = ons_graph_value(graph, id);
        const ons_node *node = value->producer == ONS_NONE ? NULL : ons_graph_node(graph, value->producer);
        if (node == NULL) return value;
        bool passes = ons_is_view(node->op) || (node->op->roles.traits & ONS_TRAIT_IDENTITY) != 0 ||
                      node->op->roles.role == ONS_ROLE_CAST;
        if (!passes || node->input_count == 0) return value;
        id = node->inputs[0];
    }
    return NULL;
}

/* The table that the node looks entries up in, where this run trains it. */
static const ons_value *find_trained_table(const ons_graph *graph, const ons_config *config, const ons_node *node) {
    const ons_value *table = node->input_count < 2 ? NULL : find_source(graph, node->inputs[0]);
    bool trained = table != NULL && table->kind == ONS_PARAMETER && ons_config_trains(config, table);
    return trained ? table : NULL;
}

static ons_status *assume_frequencies(const ons_model *model, const ons_config *config, ons_arena *arena,
                                      ons_assumptions *list) {
    for (ons_node_id id = 0; id < model->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(model->graph, id);
        if (find_attribute(node, "onstage_by_frequency") == NULL) continue;
        const ons_value *table = find_trained_table(model->graph, config, node);
        if (table != NULL) return ons_note(list, arena, ons_note_frequency_scaled, table->name, node->name);
    }
    return NULL;
}

/* ---- what was detached */

/* Whether a trained weight lies behind each value, by ways that gradients take. */
static bool *find_active(const ons_graph *graph, const ons_config *config) {
    bool *active = calloc(graph->values.count + 1, sizeof *active);
    for (ons_value_id id = 0; active != NULL && id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        active[id] = value->kind == ONS_PARAMETER && ons_config_trains(config, value);
    }
    for (ons_node_id id = 0; active != NULL && id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        bool any = false;
        for (uint32_t i = 0; i < node->input_count; ++i) {
            bool passes = node->op->gradient.build == NULL ||
                          (node->op->gradient.differentiable & ONS_INPUT_BIT(i < 31 ? i : 31)) != 0;
            any |= node->inputs[i] != ONS_NONE && active[node->inputs[i]] && passes;
        }
        for (uint32_t i = 0; any && i < node->output_count; ++i)
            if (node->outputs[i] != ONS_NONE) active[node->outputs[i]] = true;
    }
    return active;
}

static ons_status *count_unclear(const ons_model *model, const bool *active, size_t *count, const char **first) {
    const char *const *names;
    size_t unclear = ons_unclear_detaches(model->file, &names);
    *count = 0;
    for (size_t i = 0; i < unclear; ++i) {
        ons_node_id id = ons_graph_find_node(model->graph, names[i]);
        const ons_node *node = id == ONS_NONE ? NULL : ons_graph_node(model->graph, id);
        bool any = false;
        for (uint32_t k = 0; node != NULL && k < node->input_count; ++k)
            any |= node->inputs[k] != ONS_NONE && active[node->inputs[k]];
        if (any && (*count)++ == 0) *first = names[i];
    }
    return NULL;
}

static ons_status *assume_detaches(const ons_model *model, const ons_config *config, ons_arena *arena,
                                   ons_assumptions *list) {
    const char *const *names, *first = NULL;
    size_t count;
    if (ons_unclear_detaches(model->file, &names) == 0) return NULL;
    bool *active = find_active(model->graph, config);
    if (active == NULL) return ons_status_out_of_memory();
    ons_status *status = count_unclear(model, active, &count, &first);
    free(active);
    ONS_TRY(status);
    return count == 0 ? NULL
                      : ons_note(list, arena, ons_note_unclear_detach, count, count == 1 ? "node" : "nodes", first);
}

/* ---- label smoothing */

static ons_status *assume_smoothing(const ons_model *model, const ons_config *config, ons_arena *arena,
                                    ons_assumptions *list) {
    const char *node, *logits;
    double smoothing = ons_lost_smoothing(model->file, &node, &logits);
    if (smoothing == 0 || config->loss.text == NULL || strcmp(config->loss.text, "graph") != 0) return NULL;
    return ons_note(list, arena, ons_note_lost_smoothing, node, smoothing, smoothing, logits);
}

ons_status *ons_assume_exporter_calls(const ons_model *model, const ons_config *config, ons_arena *arena,
                                      ons_assumptions *list) {
    ONS_TRY(assume_frequencies(model, config, arena, list));
    ONS_TRY(assume_smoothing(model, config, arena, list));
    return assume_detaches(model, config, arena, list);
}

/* ---- padding */

static bool constant_has(const ons_graph *graph, const ons_value *value, int64_t index) {
    const ons_tensor *tensor = ons_store_get(graph->store, value->data);
    if (tensor == NULL || tensor->data == NULL || !ons_dtype_is_integer(tensor->type.dtype)) return false;
    size_t size = ons_dtype_size(tensor->type.dtype);
    bool found = false;
    for (int64_t i = 0, n = ons_shape_elements(&tensor->type.shape); i < n && !found; ++i) {
        int64_t number;
        ons_widen(tensor->type.dtype, (const char *)tensor->data + (size_t)i * size, 1, &number);
        found = number == index;
    }
    return found;
}

/* Whether one of the first samples of that input has the number. */
static ons_status *input_has(ons_dataset *dataset, const char *name, int64_t samples, int64_t index, ons_arena *arena,
                             bool *found) {
    uint32_t field = ons_dataset_find(dataset, name);
    uint64_t all = ons_dataset_count(dataset), count = samples < (int64_t)all ? (uint64_t)samples : all, others;
    if (field == ONS_NO_FIELD || count == 0) return NULL;
    ons_type sample = ons_dataset_sample_type(dataset, field);
    if (!ons_dtype_is_integer(sample.dtype)) return NULL;
    uint64_t *rows;
    ONS_NEW(rows, arena, count);
    for (uint64_t i = 0; i < count; ++i) rows[i] = i;
    ONS_TRY(ons_dataset_count_targets(dataset, field, rows, count, index, &others));
    *found = others < count * (uint64_t)ons_shape_elements(&sample.shape);
    return NULL;
}

ons_status *ons_assume_padding(const ons_model *model, const ons_config *config, ons_dataset *dataset, int64_t rows,
                               ons_arena *arena, ons_assumptions *list) {
    const ons_graph *graph = model->graph;
    size_t count = 0;
    const ons_node *first = NULL;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        const ons_attribute *padding = find_attribute(node, "onstage_padding");
        if (padding == NULL || find_trained_table(graph, config, node) == NULL) continue;
        const ons_value *indices = find_source(graph, node->inputs[1]);
        bool found = indices != NULL && constant_has(graph, indices, padding->i);
        if (indices != NULL && indices->kind == ONS_INPUT)
            ONS_TRY(input_has(dataset, indices->name, rows, padding->i, arena, &found));
        if (found && count++ == 0) first = node;
    }
    if (count == 0) return NULL;
    return ons_note(list, arena, ons_note_padding_row, count, count == 1 ? "lookup" : "lookups",
                    find_attribute(first, "onstage_padding")->i, find_trained_table(graph, config, first)->name,
                    first->name);
}
