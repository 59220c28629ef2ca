#include "engine/model/loss_division.h"

#include <stdio.h>
#include <string.h>

#include "engine/model/notes.h"
#include "graph/passes/batch.h"
#include "graph/passes/bind.h"
#include "graph/passes/loss.h"
#include "kernels/loss_rules.h"

ons_status *ons_bind_model(const ons_binding_options *o, int64_t rows, ons_graph **graph) {
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_bind_options options = {
        .batch = rows, .fallback = o->fallback, .folded_most = ons_model_file_budget(o->model->file)};
    ons_binding *bindings = NULL;
    ons_status *status = ons_config_mode(o->config, o->training, &options.mode);
    if (status == NULL)
        status = ons_make_bindings(o->model, o->config, o->dataset, rows, arena, &bindings, &options.binding_count);
    options.bindings = bindings;
    if (status == NULL) status = ons_bind(o->model->graph, o->model->registry, &options, o->blockers, graph);
    ons_arena_free(arena);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ proof */

/* The output that --loss graph takes; ONS_NONE: the loss is another one, or attaching it says what is wrong. */
static ons_status *find_own_loss(const ons_binding_options *o, const ons_graph *bound, ons_value_id *loss) {
    const ons_graph *imported = o->model->graph;
    ons_loss_options options;
    *loss = ONS_NONE;
    if (bound->outputs.count == 0 || (o->config->loss.text == NULL && o->dataset != NULL)) return NULL;
    ONS_TRY(ons_config_loss_or_usual(o->config, &ons_graph_value(bound, bound->outputs.items[0])->type, &options));
    if (options.role != ONS_ROLE_SAMPLE_MEAN) return NULL;
    for (size_t i = bound->outputs.count; i-- > 0;) {
        const ons_type *type = &ons_graph_value(bound, bound->outputs.items[i])->type;
        bool named = options.output != NULL && i < imported->outputs.count &&
                     strcmp(ons_graph_value(imported, imported->outputs.items[i])->name, options.output) == 0;
        if (named || (options.output == NULL && ons_dtype_is_float(type->dtype))) *loss = bound->outputs.items[i];
    }
    if (*loss == ONS_NONE) return NULL;
    const ons_type *type = &ons_graph_value(bound, *loss)->type;
    if (ons_shape_elements(&type->shape) != 1 || !ons_dtype_is_float(type->dtype)) *loss = ONS_NONE;
    return NULL;
}

/* Whether any input of the model differs between two graphs. */
static bool has_other_inputs(const ons_graph *a, const ons_graph *b) {
    bool differ = false;
    for (size_t i = 0; i < a->inputs.count && i < b->inputs.count; ++i)
        differ |= !ons_shape_equal(&ons_graph_value(a, a->inputs.items[i])->type.shape,
                                   &ons_graph_value(b, b->inputs.items[i])->type.shape);
    return differ;
}

/* The same model for another number of samples: one that is neither a multiple of the first nor next to it, so that
 * what rounds or clamps the number shows. NULL: it takes no other. */
static ons_status *bind_other(const ons_binding_options *o, int64_t rows, const ons_graph *graph, ons_graph **other) {
    ons_binding_options quiet = *o;
    quiet.blockers = NULL;
    ons_status *status = ons_bind_model(&quiet, rows, other);
    if (ons_status_get_code(status) == ONS_OUT_OF_MEMORY) return status;
    if (status == NULL && has_other_inputs(graph, *other)) return NULL;
    if (status == NULL) ons_graph_free(*other);
    ons_status_free(status);
    *other = NULL;
    return NULL;
}

static ons_status *find_parts(const ons_binding_options *o, ons_loss_view *view, ons_graph *other, ons_arena *arena,
                              ons_loss_parts *parts) {
    ons_value_id loss;
    if (other != NULL) {
        ONS_TRY(find_own_loss(o, other, &loss));
        ONS_TRY(ons_loss_parts_open(other, view->registry, view->rules, &loss));
    }
    ONS_TRY(ons_loss_parts_open(view->graph, view->registry, view->rules, &view->loss));
    return ons_loss_parts_find(view, arena, parts);
}

ons_status *ons_divide_loss(const ons_binding_options *o, int64_t rows, ons_graph *graph, ons_arena *arena,
                            ons_value_id *loss, ons_loss_parts *parts) {
    ons_graph *other;
    *parts = (ons_loss_parts){0};
    ONS_TRY(find_own_loss(o, graph, loss));
    if (*loss == ONS_NONE) return NULL;
    ONS_TRY(bind_other(o, 2 * rows + 1, graph, &other));
    ons_loss_view view = {.graph = graph,
                          .other = other,
                          .rows = rows,
                          .other_rows = 2 * rows + 1,
                          .registry = o->model->registry,
                          .rules = ons_kernels_loss_rules(),
                          .loss = *loss};
    ons_status *status = find_parts(o, &view, other, arena, parts);
    *loss = view.loss;
    if (other != NULL) ons_graph_free(other);
    return status;
}

ons_status *ons_find_loss_obstacle(const ons_model *model, const ons_config *config, int64_t rows, ons_arena *arena,
                                   ons_blocker *obstacle) {
    const ons_binding_options options = {
        .model = model, .config = config, .fallback = ONS_ASSUMED_DIMENSION, .training = true};
    ons_graph *graph;
    ons_value_id loss;
    ons_loss_parts parts;
    *obstacle = (ons_blocker){0};
    ons_status *status = ons_bind_model(&options, rows, &graph);
    if (status != NULL && ons_status_get_code(status) != ONS_OUT_OF_MEMORY) {
        ons_status_free(status); /* binding it for good says so */
        return NULL;
    }
    ONS_TRY(status);
    status = ons_divide_loss(&options, rows, graph, arena, &loss, &parts);
    *obstacle = parts.obstacle;
    ons_graph_free(graph);
    return status;
}

/* What makes one part of a batch. */
static const char *one_part(const ons_model *model, const ons_config *config, char text[ONS_AT_LEAST(96)]) {
    long long exported = (long long)ons_exported_batch(model->graph);
    if (config->replicas > 1) return "--micro-batches 1 without --replicas";
    if (exported == 0) return "--micro-batches 1";
    snprintf(text, 96, "--batch %lld --micro-batches 1, or an export with a dynamic batch axis,", exported);
    return text;
}

ons_status *ons_refuse_loss_in_parts(const ons_model *model, const ons_config *config, const ons_blocker *obstacle) {
    char text[96];
    ONS_CHECK(obstacle->node == NULL, ONS_UNSUPPORTED, ons_refusal_loss_in_parts, obstacle->node,
              obstacle->operator_name, obstacle->reason, one_part(model, config, text));
    return NULL;
}

ons_status *ons_explain_part(const ons_model *model, const ons_config *config, int64_t batch, int64_t parts,
                             ons_status *failure) {
    bool own = config->loss.text == NULL || (ons_role)config->loss.value == ONS_ROLE_SAMPLE_MEAN;
    if (failure == NULL || parts <= 1 || !own || ons_status_get_code(failure) == ONS_OUT_OF_MEMORY) return failure;
    ons_arena *arena = ons_arena_new();
    ons_blocker obstacle = {0};
    ons_status *refusal =
        arena == NULL ? ons_status_out_of_memory() : ons_find_loss_obstacle(model, config, batch, arena, &obstacle);
    if (refusal == NULL) refusal = ons_refuse_loss_in_parts(model, config, &obstacle);
    ons_arena_free(arena);
    ons_status_free(refusal == NULL ? NULL : failure);
    return refusal == NULL ? failure : refusal;
}
