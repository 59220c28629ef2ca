#include "graph/upgrade.h"

#include <string.h>

#include "graph/evaluate.h"

static ons_named_attribute *find(const ons_upgrade *u, const char *name) {
    for (size_t i = 0; i < u->attributes.count; ++i)
        if (strcmp(u->attributes.items[i].name, name) == 0) return &u->attributes.items[i];
    return NULL;
}

const ons_attribute *ons_upgrade_find(const ons_upgrade *u, const char *name) {
    const ons_named_attribute *found = find(u, name);
    return found == NULL || found->value.kind == ONS_ATTRIBUTE_ABSENT ? NULL : &found->value;
}

void ons_upgrade_remove(ons_upgrade *u, const char *name) {
    ons_named_attribute *found = find(u, name);
    if (found != NULL) found->value.kind = ONS_ATTRIBUTE_ABSENT;
}

ons_status *ons_upgrade_set(ons_upgrade *u, const char *name, ons_attribute value) {
    ons_named_attribute *found = find(u, name);
    if (found != NULL)
        found->value = value;
    else
        ONS_PUSH(&u->attributes, (ons_named_attribute){name, value});
    return NULL;
}

static ons_status *set_input(ons_upgrade *u, uint32_t index, const ons_type *type, const void *words) {
    void *data;
    ons_data_id id;
    ONS_TRY(ons_store_add(u->graph->store, type, &data, &id));
    ons_narrow(type->dtype, words, ons_shape_elements(&type->shape), data);
    ons_value_id value;
    ONS_TRY(ons_graph_add_value(u->graph, u->node_name, ONS_CONSTANT, type, &value));
    ons_graph_value(u->graph, value)->data = id;
    ons_graph_value(u->graph, value)->reason = ONS_FROM_CONSTANT_NODE;
    while (u->inputs.count <= index) ONS_PUSH(&u->inputs, ONS_NONE);
    u->inputs.items[index] = value;
    return NULL;
}

ons_status *ons_upgrade_set_input_integers(ons_upgrade *u, uint32_t index, const int64_t *values, uint32_t count) {
    ons_type type = {.dtype = ONS_INT64, .shape = {1, {count}}};
    return set_input(u, index, &type, values);
}

ons_status *ons_upgrade_set_input_floats(ons_upgrade *u, uint32_t index, const double *values, uint32_t count) {
    ons_type type = {.dtype = ONS_FLOAT32, .shape = {1, {count}}};
    return set_input(u, index, &type, values);
}

ons_status *ons_upgrade_set_input_scalar(ons_upgrade *u, uint32_t index, ons_dtype dtype, double value) {
    ons_type type = {.dtype = dtype};
    int64_t integer = (int64_t)value;
    return set_input(u, index, &type, ons_dtype_is_float(dtype) ? (const void *)&value : &integer);
}

ons_status *ons_upgrade_insert(ons_upgrade *u, const ons_operator *op, const ons_attribute *attributes,
                               const ons_value_id *inputs, uint32_t input_count, ons_value_id *output) {
    static const ons_type unknown = {.dtype = ONS_NO_DTYPE};
    ons_node_id id;
    ons_value_id value;
    /* The node itself keeps its name for its own. */
    const char *name = ons_arena_format(u->graph->arena, "%s/%s", u->node_name, op->name);
    if (name == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_graph_add_value(u->graph, name, ONS_ACTIVATION, &unknown, &value));
    ONS_TRY(ons_graph_add_node(u->graph, op, name, attributes, inputs, input_count, 1, &id));
    ons_graph_set_output(u->graph, id, 0, value);
    *output = value;
    return NULL;
}

ons_status *ons_upgrade_attribute_to_input(ons_upgrade *u, const char *name, uint32_t index, ons_dtype dtype) {
    const ons_attribute *found = ons_upgrade_find(u, name);
    if (found == NULL) return NULL;
    ons_attribute value = *found;
    ons_upgrade_remove(u, name);
    switch (value.kind) {
    case ONS_ATTRIBUTE_INTS: return ons_upgrade_set_input_integers(u, index, value.ints, value.count);
    case ONS_ATTRIBUTE_INT: return ons_upgrade_set_input_scalar(u, index, dtype, (double)value.i);
    case ONS_ATTRIBUTE_FLOAT: return ons_upgrade_set_input_scalar(u, index, dtype, value.f);
    default:
        return ons_status_new(ONS_INVALID_MODEL, "node '%s': attribute '%s' has the wrong type", u->node_name, name);
    }
}
