#include "graph/operands.h"

ons_status *ons_operands_make(const ons_graph *graph, const ons_operator *op, const char *name,
                              const ons_attribute *attributes, const ons_value_id *inputs, uint32_t input_count,
                              uint32_t output_count, ons_arena *arena, ons_operands *operands) {
    ons_type *types;
    ons_tensor *constants;
    ONS_NEW(types, arena, input_count + 1);
    ONS_NEW(constants, arena, input_count + 1);
    for (uint32_t i = 0; i < input_count; ++i) {
        if (inputs[i] == ONS_NONE) continue;
        types[i] = ons_graph_value(graph, inputs[i])->type;
        const ons_tensor *contents = ons_graph_constant(graph, inputs[i]);
        constants[i].type = types[i];
        constants[i].data = contents == NULL ? NULL : contents->data;
    }
    uint32_t possible = op->arity.outputs_max == (uint32_t)ONS_VARIADIC ? output_count : op->arity.outputs_max;
    *operands = (ons_operands){
        .op = op,
        .name = name,
        .attributes = attributes,
        .inputs = types,
        .constants = constants,
        .input_count = input_count,
        .output_count = possible < output_count ? output_count : possible,
    };
    ONS_NEW(operands->outputs, arena, operands->output_count + 1);
    return NULL;
}

ons_status *ons_operands_of(const ons_graph *graph, ons_node_id id, ons_arena *arena, ons_operands *operands) {
    const ons_node *node = ons_graph_node(graph, id);
    ONS_TRY(ons_operands_make(graph, node->op, node->name, node->attributes, node->inputs, node->input_count,
                              node->output_count, arena, operands));
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE) operands->outputs[i] = ons_graph_value(graph, node->outputs[i])->type;
    return NULL;
}

static ons_status *check_arity(const ons_operands *o) {
    const ons_arity *arity = &o->op->arity;
    ONS_CHECK(o->input_count <= arity->inputs_max, ONS_INVALID_MODEL,
              "node '%s' (%s): %u inputs, at most %u are possible", o->name, o->op->name, o->input_count,
              arity->inputs_max);
    ONS_CHECK(o->output_count <= arity->outputs_max, ONS_INVALID_MODEL,
              "node '%s' (%s): %u outputs, at most %u are possible", o->name, o->op->name, o->output_count,
              arity->outputs_max);
    for (uint32_t i = 0; i < arity->inputs_min; ++i)
        ONS_CHECK(ons_has_input(o, i), ONS_INVALID_MODEL, "node '%s' (%s): input %u is missing", o->name, o->op->name,
                  i);
    return NULL;
}

ons_status *ons_operands_infer(ons_operands *o) {
    ONS_TRY(check_arity(o));
    ONS_TRY(o->op->infer(o));
    for (uint32_t i = 0; i < o->output_count; ++i)
        if (o->outputs[i].dtype != ONS_NO_DTYPE)
            ONS_TRY_AT(ons_shape_check(&o->outputs[i].shape), "node '%s' (%s), output %u", o->name, o->op->name, i);
    return NULL;
}

ons_status *ons_constant_integers(const ons_operands *o, uint32_t input, int64_t values[static ONS_INTEGERS_MAX],
                                  uint32_t *count) {
    *count = 0;
    if (!ons_has_input(o, input)) return NULL;
    const ons_tensor *constant = &o->constants[input];
    const char *node = o->name, *op = o->op->name;
    ONS_CHECK(constant->data != NULL, ONS_UNSUPPORTED,
              "node '%s' (%s): input %u decides the shape but depends on data; export the model with static shapes",
              node, op, input);
    ons_dtype dtype = constant->type.dtype;
    ONS_CHECK(dtype == ONS_INT64 || dtype == ONS_INT32, ONS_INVALID_MODEL,
              "node '%s' (%s): input %u must be int64 or int32, not %s", node, op, input, ons_dtype_name(dtype));
    int64_t elements = ons_shape_elements(&constant->type.shape);
    ONS_CHECK(elements <= ONS_INTEGERS_MAX, ONS_UNSUPPORTED, "node '%s' (%s): input %u has %lld elements, more than %d",
              node, op, input, (long long)elements, ONS_INTEGERS_MAX);
    for (int64_t i = 0; i < elements; ++i)
        values[i] = dtype == ONS_INT64 ? ((const int64_t *)constant->data)[i] : ((const int32_t *)constant->data)[i];
    *count = (uint32_t)elements;
    return NULL;
}
