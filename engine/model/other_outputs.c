#include "engine/model/other_outputs.h"

#include <stdlib.h>

#include "graph/passes/autograd.h"

/* Marks all values that the value is computed from, itself included. */
static ons_status *mark_ancestors(const ons_graph *graph, ons_value_id of, bool **marks) {
    *marks = calloc(graph->values.count + 1, sizeof **marks);
    ons_value_id *stack = malloc((graph->values.count + 1) * sizeof *stack);
    if (*marks == NULL || stack == NULL) {
        free(stack);
        return ons_status_out_of_memory();
    }
    size_t depth = 0;
    stack[depth++] = of;
    (*marks)[of] = true;
    while (depth > 0) {
        const ons_value *value = ons_graph_value(graph, stack[--depth]);
        if (value->producer == ONS_NONE) continue;
        const ons_node *node = ons_graph_node(graph, value->producer);
        for (uint32_t i = 0; i < node->input_count; ++i) {
            ons_value_id input = node->inputs[i];
            if (input == ONS_NONE || (*marks)[input]) continue;
            (*marks)[input] = true;
            stack[depth++] = input;
        }
    }
    free(stack);
    return NULL;
}

/* The only input of the node that is computed; ONS_NONE: there is none, or there are several. */
static ons_value_id only_computed_input(const ons_graph *graph, const ons_node *node) {
    ons_value_id only = ONS_NONE;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE || ons_graph_value(graph, node->inputs[i])->producer == ONS_NONE) continue;
        if (only != ONS_NONE) return ONS_NONE;
        only = node->inputs[i];
    }
    return only;
}

/* The first value in the row of nodes that made this one, as long as each takes as many elements as it makes, and no
 * weights. */
static ons_value_id find_origin(const ons_graph *graph, ons_value_id id) {
    for (;;) {
        const ons_value *value = ons_graph_value(graph, id);
        if (value->producer == ONS_NONE) return id;
        const ons_node *node = ons_graph_node(graph, value->producer);
        ons_value_id before = only_computed_input(graph, node);
        bool same = before != ONS_NONE && ons_shape_elements(&value->type.shape) ==
                                              ons_shape_elements(&ons_graph_value(graph, before)->type.shape);
        for (uint32_t i = 0; same && i < node->input_count; ++i)
            same = node->inputs[i] == ONS_NONE || ons_graph_value(graph, node->inputs[i])->kind != ONS_PARAMETER;
        if (!same) return id;
        id = before;
    }
}

/* Whether the gradient of an output reaches a weight that is trained; `but`: those do not count (NULL: all do). */
static bool has_trained_weight(const ons_model *model, const ons_config *config, const ons_graph *bound,
                               const bool *reaches, const bool *but) {
    bool has = false;
    for (ons_value_id id = 0; !has && id < bound->values.count; ++id) {
        const ons_value *value = ons_graph_value(bound, id);
        bool counts = reaches[id] && (but == NULL || !but[id]);
        if (!counts || value->kind != ONS_PARAMETER || value->producer != ONS_NONE) continue;
        ons_value_id imported = ons_graph_find_value(model->graph, value->name);
        has = imported != ONS_NONE && ons_config_trains(config, ons_graph_value(model->graph, imported));
    }
    return has;
}

/* Whether targets that are no classes have as many elements as the output, in its order. */
static ons_status *check_values_fit(const ons_dataset *dataset, const ons_type *output, bool *fit) {
    uint32_t field = ons_dataset_find(dataset, ONS_TARGET_FIELD);
    *fit = false;
    if (field == ONS_NO_FIELD || output->shape.rank == 0) return NULL;
    ons_type sample = ons_type_make(output->dtype, ons_shape_make(output->shape.rank - 1, output->shape.dims + 1));
    ons_status *status = ons_dataset_check(dataset, field, &sample);
    *fit = status == NULL;
    if (ons_status_get_code(status) == ONS_OUT_OF_MEMORY) return status;
    ons_status_free(status);
    return NULL;
}

static ons_status *check_fit(const ons_dataset *dataset, const ons_loss_options *loss, const ons_type *output,
                             bool *fit) {
    *fit = ons_dtype_is_float(output->dtype);
    if (!*fit) return NULL;
    if (loss->role != ONS_ROLE_SAMPLE_MEAN && !ons_loss_counts_classes(loss->role))
        return check_values_fit(dataset, output, fit);
    *fit = loss->role == ONS_ROLE_SAMPLE_MEAN ? ons_shape_elements(&output->shape) == 1
                                              : ons_loss_has_class_axis(loss, output);
    return NULL;
}

typedef struct search {
    const ons_model *model;
    const ons_config *config;
    const ons_graph *bound;
    ons_value_id prediction;
    bool *ancestors;  /* of the prediction; owned */
    bool own_weights; /* only outputs with weights that the prediction lacks: beside a model's own loss a measure of the
                         same weights is no other loss */
} search;

static ons_status *judge(const search *s, ons_value_id output, bool *other) {
    bool *marks = NULL, *reaches = NULL;
    *other = false;
    if (s->ancestors[output] || find_origin(s->bound, output) == find_origin(s->bound, s->prediction)) return NULL;
    ons_status *status = mark_ancestors(s->bound, output, &marks);
    if (status == NULL) status = ons_gradient_reaches(s->bound, output, &reaches);
    *other = status == NULL && !marks[s->prediction] &&
             has_trained_weight(s->model, s->config, s->bound, reaches, s->own_weights ? s->ancestors : NULL);
    free(reaches);
    free(marks);
    return status;
}

ons_status *ons_other_outputs_find(const ons_model *model, const ons_config *config, const ons_dataset *dataset,
                                   const ons_loss_options *loss, const ons_graph *bound, ons_value_id prediction,
                                   ons_other_outputs *others) {
    search s = {model, config, bound, prediction, NULL, loss->role == ONS_ROLE_SAMPLE_MEAN};
    *others = (ons_other_outputs){0};
    if (bound->outputs.count < 2) return NULL;
    ons_status *status = mark_ancestors(bound, prediction, &s.ancestors);
    for (size_t i = 0; status == NULL && i < bound->outputs.count; ++i) {
        ons_value_id output = bound->outputs.items[i];
        bool fit, other = false;
        status = check_fit(dataset, loss, &ons_graph_value(bound, output)->type, &fit);
        if (status == NULL && fit) status = judge(&s, output, &other);
        if (other && others->count++ == 0) others->first = ons_graph_value(bound, output)->name;
    }
    free(s.ancestors);
    return status;
}

ons_status *ons_other_outputs_hint(ons_status *failure, const ons_dataset *dataset, const ons_loss_options *loss,
                                   const ons_graph *bound) {
    if (failure == NULL || ons_status_get_code(failure) == ONS_OUT_OF_MEMORY) return failure;
    for (size_t i = 0; i < bound->outputs.count; ++i) {
        const ons_value *output = ons_graph_value(bound, bound->outputs.items[i]);
        bool fit;
        ons_status *status = check_fit(dataset, loss, &output->type, &fit);
        ons_status_free(status); /* the first failure is the one to report */
        if (status != NULL || !fit) continue;
        ons_status *longer =
            ons_status_new(ons_status_get_code(failure), "%s; the targets fit '%s': --loss-output '%s'",
                           ons_status_get_message(failure), output->name, output->name);
        ons_status_free(failure);
        return longer;
    }
    return failure;
}
