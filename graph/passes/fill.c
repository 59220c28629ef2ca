#include "graph/passes/fill.h"

#include <string.h>

#include "graph/passes/classify.h"
#include "graph/passes/names.h"

static bool holds_one_number(const ons_tensor *tensor) {
    size_t size = ons_dtype_size(tensor->type.dtype);
    int64_t count = ons_shape_elements(&tensor->type.shape);
    const char *bytes = tensor->data;
    /* Each element equals the one before. */
    return bytes != NULL && (count < 2 || memcmp(bytes, bytes + size, (size_t)(count - 1) * size) == 0);
}

void ons_classify_fills(ons_graph *graph, bool (*insists)(const void *context, const char *name), const void *context) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_value *value = ons_graph_value(graph, id);
        const ons_tensor *tensor = ons_store_get(graph->store, value->data);
        if (!ons_may_be_constant(value) || value->producer != ONS_NONE || tensor == NULL ||
            !ons_is_filled_name(value->name) || !holds_one_number(tensor))
            continue;
        if (insists != NULL && insists(context, value->name)) continue;
        value->kind = ONS_CONSTANT;
        value->reason = ONS_FILLED;
    }
}
