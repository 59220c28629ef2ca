#include "graph/passes/fill.h"

#include <ctype.h>
#include <string.h>

/* "zeros_like", "zeros_like_3" */
static bool is_name_of(const char *name, const char *maker) {
    size_t length = strlen(maker);
    if (strncmp(name, maker, length) != 0) return false;
    if (name[length] == '\0') return true;
    if (name[length] != '_' || name[length + 1] == '\0') return false;
    for (const char *c = name + length + 1; *c != '\0'; ++c)
        if (!isdigit((unsigned char)*c)) return false;
    return true;
}

static bool is_made_by_filling(const char *name) {
    static const char *const makers[] = {"zeros",    "zeros_like", "new_zeros", "ones",    "ones_like",
                                         "new_ones", "full",       "full_like", "new_full"};
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; ++i)
        if (is_name_of(name, makers[i])) return true;
    return false;
}

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
        if (value->kind != ONS_PARAMETER || value->producer != ONS_NONE || tensor == NULL ||
            !is_made_by_filling(value->name) || !holds_one_number(tensor))
            continue;
        if (insists != NULL && insists(context, value->name)) continue;
        value->kind = ONS_CONSTANT;
        value->reason = ONS_FILLED;
    }
}
