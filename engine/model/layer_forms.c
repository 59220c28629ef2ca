#include "engine/model/layer_forms.h"

#include <string.h>

#include "engine/config/batchnorm_of.h"
#include "engine/model/notes.h"
#include "graph/evaluate.h"

/* Layers of one kind: how many there are, the first of them, and the glob that makes it one. */
typedef struct found {
    size_t count;
    const char *first, *glob;
} found;

static void add(found *f, const ons_node *node, const char *glob) {
    if (f->count++ == 0) *f = (found){1, node->name, glob};
}

static const char *plural(size_t count, const char *one, const char *several) { return count == 1 ? one : several; }

static const ons_value *operand(const ons_graph *graph, const ons_node *node, uint32_t input) {
    const ons_value *value = node->inputs[input] == ONS_NONE ? NULL : ons_graph_value(graph, node->inputs[input]);
    return value != NULL && value->producer == ONS_NONE ? value : NULL;
}

/* ---- statistics of a new layer */

static bool holds_only(const ons_tensor *tensor, double wanted) {
    enum { PIECE = 64 };
    uint64_t words[PIECE];
    int64_t count = tensor->data == NULL ? 0 : ons_shape_elements(&tensor->type.shape);
    bool holds = count > 0 && ons_dtype_is_float(tensor->type.dtype);
    for (int64_t done = 0; holds && done < count; done += PIECE) {
        int64_t piece = count - done < PIECE ? count - done : PIECE;
        const char *from = (const char *)tensor->data + (size_t)done * ons_dtype_size(tensor->type.dtype);
        ons_widen(tensor->type.dtype, from, piece, words);
        for (int64_t i = 0; holds && i < piece; ++i) {
            double value;
            memcpy(&value, &words[i], sizeof value);
            holds = value == wanted;
        }
    }
    return holds;
}

/* What a body captures is a value of the model's graph. */
static const ons_value *statistic(const ons_graph *top, const ons_graph *graph, const ons_node *node, uint32_t input) {
    const ons_value *value = operand(graph, node, input);
    if (value == NULL || graph == top || value->kind != ONS_INPUT) return value;
    ons_value_id outside = ons_graph_find_value(top, value->name);
    return outside == ONS_NONE ? NULL : ons_graph_value(top, outside);
}

/* Means of 0 and variances of 1, in this order among the statistics. */
static bool has_fresh_statistics(const ons_graph *top, const ons_graph *graph, const ons_node *node) {
    uint32_t statistics = 0;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (!ons_is_statistic(node->op, i)) continue;
        const ons_value *value = statistic(top, graph, node, i);
        bool known = value != NULL && value->data != ONS_NO_DATA;
        if (!known || !holds_only(ons_store_get(graph->store, value->data), statistics++ == 0 ? 0 : 1)) return false;
    }
    return statistics == 2;
}

/* ---- notes */

/* The --freeze that keeps an operand which is no statistic; NULL: none does. */
static const char *scale_frozen_by(const ons_config *config, const ons_graph *graph, const ons_node *node) {
    const char *frozen = NULL;
    for (uint32_t i = 0; frozen == NULL && i < node->input_count; ++i) {
        const ons_value *value = ons_is_statistic(node->op, i) ? NULL : operand(graph, node, i);
        if (value != NULL && value->kind == ONS_PARAMETER) frozen = ons_config_frozen_by(config, value);
    }
    return frozen;
}

typedef struct kinds {
    found fresh, fresh_inside, frozen, scale;
} kinds;

static void sort_layer(const ons_model *model, const ons_config *config, const ons_node *node, kinds *k) {
    const ons_graph *graph = model->graph;
    ons_layer_form layer = ons_config_layer_form(config, graph, node);
    ons_layer_form unfrozen = layer;
    if (layer.frozen != NULL && layer.chosen == NULL) unfrozen.form = (ons_as_exported)config->batchnorm.value;
    bool trains =
        unfrozen.form == ONS_AS_TRAINING || (unfrozen.form == ONS_AS_GRAPH && ons_acts_as_in_training(graph, node));
    if (trains && layer.frozen != NULL) {
        add(&k->frozen, node, layer.frozen);
    } else if (trains) {
        const char *glob = layer.chosen == NULL ? scale_frozen_by(config, graph, node) : NULL;
        if (glob != NULL) add(&k->scale, node, glob);
    } else if (layer.chosen == NULL && layer.frozen == NULL && has_fresh_statistics(graph, graph, node)) {
        add(&k->fresh, node, NULL);
    }
}

/* Layers in branches and bodies have one form in training: binding refuses the other. */
static void look_inside(const ons_graph *top, const ons_graph *graph, const ons_node *node, kinds *k) {
    for (uint32_t a = 0; node->op->attributes[a].name != NULL; ++a) {
        const ons_graph *body = node->attributes[a].kind == ONS_ATTRIBUTE_GRAPH ? node->attributes[a].graph : NULL;
        for (ons_node_id id = 0; body != NULL && id < body->nodes.count; ++id)
            look_inside(top, body, &body->nodes.items[id], k);
    }
    if (graph != top && ons_has_layer_forms(node) && !ons_acts_as_in_training(graph, node) &&
        has_fresh_statistics(top, graph, node))
        add(&k->fresh_inside, node, NULL);
}

ons_status *ons_assume_layer_forms(const ons_model *model, const ons_config *config, ons_arena *arena,
                                   ons_assumptions *list) {
    kinds k = {0};
    for (ons_node_id id = 0; id < model->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(model->graph, id);
        if (ons_has_layer_forms(node)) sort_layer(model, config, node, &k);
        look_inside(model->graph, model->graph, node, &k);
    }
    if (k.fresh.count > 0)
        ONS_TRY(ons_note(list, arena, ons_note_fresh_statistics, k.fresh.count, k.fresh.first,
                         plural(k.fresh.count, "has", "have"), plural(k.fresh.count, "it trains", "they train")));
    if (k.fresh_inside.count > 0)
        ONS_TRY(ons_note(list, arena, ons_note_fresh_statistics_inside, k.fresh_inside.count, k.fresh_inside.first,
                         plural(k.fresh_inside.count, "has", "have"),
                         plural(k.fresh_inside.count, "it trains", "they train")));
    if (k.frozen.count > 0)
        ONS_TRY(ons_note(list, arena, ons_note_frozen_statistics, k.frozen.glob, k.frozen.count, k.frozen.first,
                         plural(k.frozen.count, "normalises", "normalise"), k.frozen.first));
    if (k.scale.count == 0) return NULL;
    return ons_note(list, arena, ons_note_frozen_scale, k.scale.glob, k.scale.count, k.scale.first, k.scale.first,
                    k.scale.first);
}

/* ---- a single value for each channel */

/* Values that are normalised together; 0: not known. */
static int64_t count_values(const ons_graph *bound, const ons_node *node) {
    int64_t channels = 0;
    for (uint32_t i = 0; channels == 0 && i < node->input_count; ++i)
        if (ons_is_statistic(node->op, i))
            channels = ons_shape_elements(&ons_graph_value(bound, node->inputs[i])->type.shape);
    return channels == 0 ? 0 : ons_shape_elements(&ons_graph_value(bound, node->inputs[0])->type.shape) / channels;
}

ons_lone_values ons_lone_values_find(const ons_config *config, const ons_graph *bound) {
    ons_lone_values lone = {0};
    int64_t together = config->sync_batchnorm ? config->replicas : 1;
    for (ons_node_id id = 0; id < bound->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(bound, id);
        bool moves = node->phase == ONS_FORWARD && (node->op->roles.traits & ONS_TRAIT_STATISTICS) != 0;
        if (moves && count_values(bound, node) * together == 1 && lone.count++ == 0) lone.first = node->name;
    }
    return lone;
}

/* What exporters make of a GroupNorm has its groups for channels, behind a change of shape: PyTorch takes it with one
 * value in each. */
static bool holds_groups(const ons_graph *bound, const ons_node *node) {
    ons_node_id producer = ons_graph_value(bound, node->inputs[0])->producer;
    return producer != ONS_NONE && ons_graph_node(bound, producer)->op->roles.role == ONS_ROLE_RESHAPE;
}

/* Instance normalisation of planes of one element; NULL: there is none. */
static const char *find_lone_plane(const ons_graph *bound) {
    for (ons_node_id id = 0; id < bound->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(bound, id);
        if (node->phase != ONS_FORWARD || (node->op->roles.traits & ONS_TRAIT_NORMALISES_PLANES) == 0) continue;
        const ons_shape *shape = &ons_graph_value(bound, node->inputs[0])->type.shape;
        if (shape->rank > 2 && ons_shape_span(shape, 2, shape->rank) == 1 && !holds_groups(bound, node))
            return node->name;
    }
    return NULL;
}

ons_status *ons_lone_values_refuse(const ons_config *config, const ons_graph *bound, int64_t rows) {
    const char *plane = find_lone_plane(bound);
    ONS_CHECK(plane == NULL, ONS_INVALID_ARGUMENT, ons_refusal_lone_plane, plane);
    ons_lone_values lone = ons_lone_values_find(config, bound);
    bool parts = config->micro_batches > 1 || config->stages > 1;
    ONS_CHECK(lone.count == 0, ONS_INVALID_ARGUMENT, ons_refusal_lone_values, lone.first, rows, rows == 1 ? "" : "s",
              parts                  ? " or fewer --micro-batches"
              : config->replicas > 1 ? ", fewer --replicas or --sync-batchnorm"
                                     : "",
              lone.first);
    return NULL;
}
