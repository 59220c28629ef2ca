#include "graph/build.h"

#include <string.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "graph/operator.h"

bool ons_builder_fail(ons_builder *builder, ons_status *status) {
    if (status == NULL) return false;
    if (builder->failure == NULL)
        builder->failure = status;
    else
        ons_status_free(status);
    return true;
}

ons_status *ons_builder_finish(ons_builder *builder) {
    ons_status *failure = builder->failure;
    builder->failure = NULL;
    return failure;
}

ons_type ons_builder_type(const ons_builder *builder, ons_value_id value) {
    return value == ONS_NONE ? (ons_type){0} : ons_graph_value(builder->graph, value)->type;
}

/* Attributes point to arrays of the caller's stack or of another graph: give them this graph's life. */
static ons_status *copy_attribute(ons_arena *arena, const ons_attribute *from, ons_attribute *to) {
    *to = *from;
    if (from->kind == ONS_ATTRIBUTE_INTS) {
        int64_t *ints;
        ONS_NEW(ints, arena, from->count);
        if (from->count > 0) memcpy(ints, from->ints, from->count * sizeof ints[0]);
        to->ints = ints;
    } else if (from->kind == ONS_ATTRIBUTE_FLOATS) {
        double *floats;
        ONS_NEW(floats, arena, from->count);
        if (from->count > 0) memcpy(floats, from->floats, from->count * sizeof floats[0]);
        to->floats = floats;
    } else if (from->kind == ONS_ATTRIBUTE_STRING) {
        to->s = ons_arena_copy_text(arena, from->s);
        return to->s == NULL && from->s != NULL ? ons_status_out_of_memory() : NULL;
    } else if (from->kind == ONS_ATTRIBUTE_STRINGS) {
        const char **strings;
        ONS_NEW(strings, arena, from->count);
        for (uint32_t i = 0; i < from->count; ++i)
            if ((strings[i] = ons_arena_copy_text(arena, from->strings[i])) == NULL) return ons_status_out_of_memory();
        to->strings = strings;
    }
    return NULL;
}

static ons_status *copy_attributes(ons_arena *arena, const ons_operator *op, const ons_attribute *from,
                                   ons_settings settings, ons_attribute **result) {
    uint32_t count = ons_operator_attributes(op);
    ons_attribute *attributes = NULL;
    ONS_NEW(attributes, arena, count + 1);
    for (uint32_t i = 0; i < count; ++i)
        ONS_TRY(copy_attribute(arena, from == NULL ? &op->attributes[i].default_value : &from[i], &attributes[i]));
    for (uint32_t i = 0; i < settings.count; ++i) {
        ONS_CHECK(settings.items[i].index < count, ONS_DEFECT, "operator %s has no attribute %u", op->name,
                  settings.items[i].index);
        ONS_TRY(copy_attribute(arena, &settings.items[i].value, &attributes[settings.items[i].index]));
    }
    *result = attributes;
    return NULL;
}

static ons_status *build_node(ons_builder *b, const ons_operator *op, ons_inputs inputs, const ons_attribute *like,
                              ons_settings settings, uint32_t count, const bool *wanted, ons_value_id *outputs,
                              ons_node_id *id) {
    ons_graph *graph = b->graph;
    ons_attribute *attributes = NULL;
    ONS_TRY(copy_attributes(graph->arena, op, like, settings, &attributes));
    ONS_TRY(ons_graph_add_node(graph, op, b->name, attributes, inputs.ids, inputs.count, count, id));
    ons_node *node = ons_graph_node(graph, *id);
    node->phase = b->phase;
    node->per_step = b->per_step;
    node->origin = b->origin == ONS_NONE ? *id : b->origin;
    ons_operands operands;
    ONS_TRY(ons_operands_make(graph, op, node->name, node->attributes, node->inputs, node->input_count, count,
                              graph->arena, &operands));
    ONS_TRY(ons_operands_infer(&operands));
    const char *name = node->name;
    ons_value_kind kind = b->phase == ONS_FORWARD ? ONS_ACTIVATION : ONS_GRADIENT;
    for (uint32_t i = 0; i < count; ++i) {
        outputs[i] = ONS_NONE;
        bool is_wanted = wanted == NULL || wanted[i];
        if (operands.outputs[i].dtype == ONS_NO_DTYPE || (!is_wanted && i >= op->arity.outputs_min)) continue;
        ons_value_id made;
        ONS_TRY(ons_graph_add_value(graph, name, kind, &operands.outputs[i], &made));
        ons_graph_set_output(graph, *id, i, made);
        if (is_wanted) outputs[i] = made;
    }
    return NULL;
}

/* A required input that an earlier failure left unmade. */
static bool lacks_input(const ons_builder *b, const ons_operator *op, ons_inputs inputs) {
    if (b->failure != NULL) return true;
    for (uint32_t i = 0; i < op->arity.inputs_min && i < inputs.count; ++i)
        if (inputs.ids[i] == ONS_NONE) return true;
    return false;
}

static ons_node_id build_any(ons_builder *b, const ons_operator *op, ons_inputs inputs, const ons_attribute *like,
                             ons_settings settings, uint32_t count, const bool *wanted, ons_value_id *outputs) {
    ons_node_id id = ONS_NONE;
    if (!lacks_input(b, op, inputs) &&
        !ons_builder_fail(b, build_node(b, op, inputs, like, settings, count, wanted, outputs, &id)))
        return id;
    if (b->failure == NULL)
        ons_builder_fail(b, ons_status_new(ONS_DEFECT, "%s: operator %s is built on a missing value",
                                           b->name == NULL ? "" : b->name, op->name));
    for (uint32_t i = 0; i < count; ++i) outputs[i] = ONS_NONE;
    return ONS_NONE;
}

ons_value_id ons_build(ons_builder *builder, const ons_operator *op, ons_inputs inputs, ons_settings settings) {
    ons_value_id output;
    build_any(builder, op, inputs, NULL, settings, 1, NULL, &output);
    return output;
}

ons_node_id ons_build_node(ons_builder *builder, const ons_operator *op, ons_inputs inputs, ons_settings settings,
                           uint32_t count, const bool *wanted, ons_value_id *outputs) {
    return build_any(builder, op, inputs, NULL, settings, count, wanted, outputs);
}

ons_node_id ons_build_node_like(ons_builder *builder, const ons_operator *op, ons_inputs inputs,
                                const ons_attribute *attributes, uint32_t count, const bool *wanted,
                                ons_value_id *outputs) {
    return build_any(builder, op, inputs, attributes, ONS_DEFAULTS, count, wanted, outputs);
}

static ons_status *build_constant(ons_builder *b, const char *name, const ons_type *type, const void *words,
                                  ons_value_id *value) {
    void *data;
    ons_data_id id;
    ONS_TRY(ons_store_add(b->graph->store, type, &data, &id));
    ons_narrow(type->dtype, words, ons_shape_elements(&type->shape), data);
    ONS_TRY(ons_graph_add_value(b->graph, name, ONS_CONSTANT, type, value));
    ons_graph_value(b->graph, *value)->data = id;
    ons_graph_value(b->graph, *value)->reason = ONS_FROM_CONSTANT_NODE;
    return NULL;
}

ons_value_id ons_build_constant(ons_builder *builder, const char *name, const ons_type *type, const void *words) {
    ons_value_id value = ONS_NONE;
    if (builder->failure != NULL || ons_builder_fail(builder, build_constant(builder, name, type, words, &value)))
        return ONS_NONE;
    return value;
}

ons_value_id ons_build_integers(ons_builder *builder, const int64_t *values, uint32_t count) {
    ons_type type = {.dtype = ONS_INT64, .shape = {1, {count}}};
    return ons_build_constant(builder, "integers", &type, values);
}

ons_value_id ons_build_scalar(ons_builder *builder, ons_dtype dtype, double value) {
    ons_type type = {.dtype = dtype};
    int64_t integer = (int64_t)value;
    return ons_build_constant(builder, "scalar", &type, ons_dtype_is_float(dtype) ? (const void *)&value : &integer);
}
