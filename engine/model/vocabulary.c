#include "engine/model/vocabulary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model/batching.h"
#include "engine/model/data.h"
#include "engine/model/new_head.h"
#include "graph/passes/head.h"

typedef struct finder {
    const ons_model *model;
    const ons_config *config;
    ons_arena *arena;
    const ons_graph *bound;
    bool *computed; /* of each value: it follows from the model's inputs */
    bool *weighed;  /* of each value: and from weights */
    ons_shard_request *found;
    size_t count;
} finder;

static const ons_value *value_of(const finder *f, ons_value_id id) { return ons_graph_value(f->bound, id); }

/* The same weight may be table and head. */
static void add(finder *f, ons_value_id id, uint32_t axis) {
    const ons_value *value = value_of(f, id);
    int64_t shards = f->config->vocabulary_shards, most = value->type.shape.dims[axis] / ONS_SHARD_ENTRIES_LEAST;
    if (value->kind != ONS_PARAMETER || !ons_dtype_is_float(value->type.dtype)) return;
    if (ons_stated_place(f->model->file, value->name) != NULL) return; /* no initialiser: it stays whole */
    if (shards > most || shards >= UINT32_MAX) return;
    for (size_t i = 0; i < f->count; ++i)
        if (strcmp(f->found[i].name, value->name) == 0) return;
    f->found[f->count++] = (ons_shard_request){value->name, axis, (uint32_t)shards};
}

/* ----------------------------------------------------------------------------------------------------------- tables */

static void find_computed(finder *f) {
    for (ons_value_id id = 0; id < f->bound->values.count; ++id)
        f->weighed[id] = value_of(f, id)->kind == ONS_PARAMETER && ons_dtype_is_float(value_of(f, id)->type.dtype);
    for (size_t i = 0; i < f->bound->inputs.count; ++i) f->computed[f->bound->inputs.items[i]] = true;
    for (ons_node_id id = 0; id < f->bound->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(f->bound, id);
        bool any = false, weighed = false;
        for (uint32_t i = 0; i < node->input_count; ++i) {
            any |= node->inputs[i] != ONS_NONE && f->computed[node->inputs[i]];
            weighed |= node->inputs[i] != ONS_NONE && f->weighed[node->inputs[i]];
        }
        for (uint32_t i = 0; i < node->output_count; ++i) {
            if (node->outputs[i] == ONS_NONE) continue;
            f->computed[node->outputs[i]] = any;
            f->weighed[node->outputs[i]] = weighed;
        }
    }
}

static void find_tables(finder *f) {
    for (ons_node_id id = 0; id < f->bound->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(f->bound, id);
        uint32_t axis;
        if ((node->op->roles.traits & ONS_TRAIT_ALONG_AXIS) == 0 || node->op->forms.shard == NULL) continue;
        /* what layers choose from (a codebook) is read in the midst of the body */
        if (!f->computed[node->inputs[1]] || f->weighed[node->inputs[1]]) continue;
        if (ons_axis_resolve(node->attributes[0].i, value_of(f, node->inputs[0])->type.shape.rank, &axis))
            add(f, node->inputs[0], axis);
    }
}

/* ------------------------------------------------------------------------------------------------------------- head */

/* The output that is judged, where the loss is one that can be taken shard by shard. */
static ons_status *find_judged(const finder *f, ons_value_id *judged) {
    const ons_graph *graph = f->model->graph; /* passes have renamed some outputs of the bound one */
    for (size_t i = 0; i < graph->outputs.count; ++i) {
        const char *name = ons_graph_value(graph, graph->outputs.items[i])->name;
        const ons_type *type = &value_of(f, f->bound->outputs.items[i])->type;
        ons_loss_options loss;
        bool named = f->config->loss_output != NULL;
        if (named ? strcmp(name, f->config->loss_output) != 0 : !ons_dtype_is_float(type->dtype)) continue;
        ONS_TRY(ons_config_loss_or_usual(f->config, type, &loss));
        *judged = loss.role == ONS_ROLE_CROSS_ENTROPY ? (ons_value_id)i : (ons_value_id)ONS_NONE;
        return NULL;
    }
    *judged = ONS_NONE;
    return NULL;
}

/* A model whose classes no single layer makes has a table alone. */
static ons_status *find_head(finder *f) {
    ons_value_id output;
    ons_head head;
    ONS_TRY(find_judged(f, &output));
    if (output == ONS_NONE) return NULL;
    ons_status *status = ons_head_find(f->bound, f->model->registry, output, true, f->arena, &head);
    if (status != NULL && ons_status_get_code(status) != ONS_UNSUPPORTED) return status;
    for (uint32_t i = 0; status == NULL && i < head.parameters; ++i) add(f, head.sizes[i].value, head.sizes[i].axis);
    ons_status_free(status);
    return NULL;
}

static ons_status *find(finder *f, ons_import_options *options) {
    ONS_NEW(f->computed, f->arena, f->bound->values.count + 1);
    ONS_NEW(f->weighed, f->arena, f->bound->values.count + 1);
    ONS_NEW(f->found, f->arena, f->bound->values.count + 1);
    find_computed(f);
    find_tables(f);
    ONS_TRY(find_head(f));
    ONS_CHECK(
        f->count > 0, ONS_INVALID_ARGUMENT,
        "--vocabulary-shards %" PRId64
        ": the model has neither a table that its data index nor a last layer of classes with %d entries for each "
        "of them; leave it out",
        f->config->vocabulary_shards, ONS_SHARD_ENTRIES_LEAST);
    for (size_t i = 0; i < f->count; ++i) { /* the graph that has the names goes */
        f->found[i].name = ons_arena_copy_text(f->arena, f->found[i].name);
        if (f->found[i].name == NULL) return ons_status_out_of_memory();
    }
    options->shards = f->found;
    options->shard_count = f->count;
    return NULL;
}

ons_status *ons_vocabulary_find(const ons_model *model, const ons_config *config, ons_arena *arena,
                                ons_import_options *options) {
    ons_graph *bound = NULL;
    ons_status *status = ons_bind_for_changes(model, config, arena, &bound);
    finder f = {.model = model, .config = config, .arena = arena, .bound = bound};
    if (status == NULL) status = find(&f, options);
    ons_graph_free(bound);
    return status;
}
