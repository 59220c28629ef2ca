#include "engine/model/masters.h"

#include <stdlib.h>

#include "graph/passes/masters.h"

bool ons_has_half_weights(const ons_model *model) {
    for (ons_value_id id = 0; id < model->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(model->graph, id);
        bool held = value->kind == ONS_PARAMETER || value->kind == ONS_BUFFER;
        if (held && value->producer == ONS_NONE && ons_dtype_is_half(value->type.dtype)) return true;
    }
    return false;
}

static ons_status *list_trained(const ons_model_graph_options *o, const ons_graph *graph, ons_value_id loss,
                                ons_value_id *ids, uint32_t *count) {
    ons_value_id *weights;
    uint32_t weight_count;
    bool *reaches;
    ONS_TRY(ons_gradient_reaches(graph, loss, &reaches));
    ons_status *status =
        ons_trainable_weights(o->model, o->config, graph, reaches, graph->arena, &weights, &weight_count);
    free(reaches);
    ONS_TRY(status);
    for (uint32_t i = 0; i < weight_count; ++i)
        if (ons_dtype_is_half(ons_graph_value(graph, weights[i])->type.dtype)) ids[(*count)++] = weights[i];
    return NULL;
}

ons_status *ons_find_masters(const ons_model_graph_options *o, const ons_graph *graph, ons_value_id loss,
                             ons_value_id **ids, uint32_t *count) {
    ONS_NEW(*ids, graph->arena, graph->values.count + 1);
    *count = 0;
    if (o->like != NULL) {
        ons_list_masters_of(graph, o->like, *ids, count);
        return NULL;
    }
    if (!o->training) return NULL;
    ONS_TRY(list_trained(o, graph, loss, *ids, count));
    return ons_list_half_statistics(graph, *ids, count);
}
