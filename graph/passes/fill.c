#include "graph/passes/fill.h"

#include "graph/passes/classify.h"
#include "graph/passes/names.h"

void ons_classify_fills(ons_graph *graph, bool (*insists)(const void *context, const char *name), const void *context) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_value *value = ons_graph_value(graph, id);
        const ons_tensor *tensor = ons_store_get(graph->store, value->data);
        if (!ons_may_be_constant(value) || value->producer != ONS_NONE || tensor == NULL ||
            !ons_is_filled_name(value->name) || !ons_tensor_holds_one_number(tensor))
            continue;
        if (insists != NULL && insists(context, value->name)) continue;
        value->kind = ONS_CONSTANT;
        value->reason = ONS_FILLED;
    }
}
