#include <stdlib.h>
#include <string.h>

#include "onnx_import/importer.h"
#include "onnx_import/stated.h"

ons_status *ons_import_add_node(scope *s, const ons_operator *op, const char *name, const ons_attribute *attributes,
                                const ons_value_id *inputs, uint32_t input_count, uint32_t output_count, size_t index,
                                ons_node_id *id) {
    ONS_TRY(ons_graph_add_node(s->graph, op, name, attributes, inputs, input_count, output_count, id));
    if (s->graph != s->in->top) return NULL;
    /* What an upgrade has put in front of the node is not in the file. */
    while (s->in->file_nodes.count < *id) ONS_PUSH(&s->in->file_nodes, (uint32_t)ONS_NO_FILE_NODE);
    ONS_PUSH(&s->in->file_nodes, s->call == NULL ? (uint32_t)index : (uint32_t)ONS_NO_FILE_NODE);
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- operators */

static ons_status *check_arity(const ons_operator *op, const ons_upgrade *u) {
    const ons_arity *arity = &op->arity;
    size_t inputs = u->inputs.count;
    bool fits = inputs >= arity->inputs_min && (arity->inputs_max == ONS_VARIADIC || inputs <= arity->inputs_max);
    for (size_t i = 0; fits && i < arity->inputs_min; ++i) fits = u->inputs.items[i] != ONS_NONE;
    ONS_CHECK(fits, ONS_INVALID_MODEL, "%s takes at least %u and at most %d inputs; those given do not fit", op->name,
              arity->inputs_min, arity->inputs_max == ONS_VARIADIC ? INT32_MAX : (int)arity->inputs_max);
    ONS_CHECK(arity->outputs_max == ONS_VARIADIC || u->outputs.count <= arity->outputs_max, ONS_INVALID_MODEL,
              "%s has at most %u outputs, not %zu", op->name, arity->outputs_max, u->outputs.count);
    return NULL;
}

static ons_status *read_operands(scope *s, const Onnx__NodeProto *node, size_t index, ons_upgrade *u) {
    for (size_t i = 0; i < node->n_input; ++i) {
        ons_value_id value;
        ONS_TRY(ons_scope_resolve(s, node->input[i], "it", &value));
        ONS_TRY(ons_untie_operand(s, node, index, i, &value));
        ONS_PUSH(&u->inputs, value);
    }
    for (size_t i = 0; i < node->n_output; ++i) {
        ons_value_id value;
        ONS_TRY(ons_scope_resolve(s, node->output[i], "it", &value));
        ONS_PUSH(&u->outputs, value);
    }
    return NULL;
}

static void trim(ons_upgrade *u) {
    while (u->inputs.count > 0 && u->inputs.items[u->inputs.count - 1] == ONS_NONE) --u->inputs.count;
    while (u->outputs.count > 0 && u->outputs.items[u->outputs.count - 1] == ONS_NONE) --u->outputs.count;
}

static ons_status *place_node(scope *s, const ons_operator *op, const ons_upgrade *u, size_t index) {
    const ons_attribute *attributes;
    ONS_TRY(ons_attributes_match(op, u, &attributes));
    ONS_TRY(check_arity(op, u));
    uint32_t outputs = (uint32_t)u->outputs.count;
    if (outputs < op->arity.outputs_min) outputs = op->arity.outputs_min;
    ons_node_id id;
    ONS_TRY(ons_import_add_node(s, op, u->node_name, attributes, u->inputs.items, (uint32_t)u->inputs.count, outputs,
                                index, &id));
    for (uint32_t i = 0; i < u->outputs.count; ++i)
        if (u->outputs.items[i] != ONS_NONE) ons_graph_set_output(s->graph, id, i, u->outputs.items[i]);
    return NULL;
}

static ons_status *upgrade_node(scope *s, const Onnx__NodeProto *node, ons_upgrade *u, size_t index) {
    ONS_TRY(read_operands(s, node, index, u));
    ONS_TRY(ons_detach_operands(s, node, u));
    ONS_TRY(ons_attributes_read(s, node, u));
    trim(u);
    if (u->op->forms.upgrade != NULL) ONS_TRY(u->op->forms.upgrade(u));
    trim(u);
    return place_node(s, u->op, u, index);
}

static ons_status *import_operator(scope *s, const ons_operator *op, const Onnx__NodeProto *node, const char *name,
                                   size_t index) {
    ons_upgrade u = {.op = op,
                     .call = ons_node_call(node),
                     .graph = s->graph,
                     .opset = ons_scope_opset(s, ons_text(node->domain)),
                     .node_name = name};
    ons_status *status = upgrade_node(s, node, &u, index);
    ons_vector_free(&u.attributes);
    ons_vector_free(&u.inputs);
    ons_vector_free(&u.outputs);
    return status;
}

/* -------------------------------------------------------------------------------------------------- nodes of a kind */

/* A node that states a constant: its output becomes one, and the node is gone. */
static ons_status *import_constant(scope *s, const Onnx__NodeProto *node) {
    ons_value_id id = ONS_NONE;
    if (node->n_output > 0) ONS_TRY(ons_scope_resolve(s, node->output[0], "it", &id));
    if (id == ONS_NONE) return NULL;
    ons_type type;
    ons_data_id data;
    ONS_TRY(ons_attributes_constant(s, node, &type, &data));
    ons_value *value = ons_graph_value(s->graph, id);
    value->kind = ONS_CONSTANT;
    value->type = type;
    value->data = data;
    value->reason = ONS_FROM_CONSTANT_NODE;
    return ons_stated_constant(s, node, id);
}

/* An Identity of an initialiser that is to be untied: its output becomes a weight like it. */
static ons_status *untie(scope *s, const Onnx__NodeProto *node, size_t index, bool *done) {
    *done = false;
    if (s->graph != s->in->top || s->call != NULL || node->n_input != 1 || node->n_output != 1) return NULL;
    ons_value_id from, to;
    ONS_TRY(ons_scope_resolve(s, node->input[0], "it", &from));
    ONS_TRY(ons_scope_resolve(s, node->output[0], "it", &to));
    if (from == ONS_NONE || to == ONS_NONE || !ons_is_untied(s->in, ons_graph_value(s->graph, from)->name)) return NULL;
    const ons_value *source = ons_graph_value(s->graph, from);
    ons_value *value = ons_graph_value(s->graph, to);
    value->type = source->type;
    value->kind = source->kind;
    value->data = source->data;
    value->reason = source->reason;
    ONS_PUSH(&s->in->initialisers, to);
    ons_untied_edit edit = {.node = (uint32_t)index, .input = ONS_NONE};
    edit.names.name = ons_arena_copy_text(s->in->file->arena, value->name);
    edit.names.source = ons_arena_copy_text(s->in->file->arena, source->name);
    if (edit.names.name == NULL || edit.names.source == NULL) return ons_status_out_of_memory();
    ONS_PUSH(&s->in->file->untied, edit);
    *done = true;
    return NULL;
}

static ons_status *block_unknown(scope *s, const Onnx__NodeProto *node, const char *name) {
    const char *domain = ons_text(node->domain);
    const char *type = ons_text(node->op_type);
    const ons_operator *other = ons_registry_find_name(s->in->registry, domain, type);
    const char *reason;
    const char *remedy;
    ons_arena *arena = s->in->top->arena;
    const ons_unsupported *known = ons_registry_find_unsupported(s->in->registry, domain, type);
    if (known != NULL) {
        reason = known->reason;
        remedy = known->remedy;
    } else if (other != NULL) {
        ONS_FORMAT(reason, arena, "onstage has this operator for opsets %u to %u, the model uses %lld",
                   other->opset.first, other->opset.last, (long long)ons_scope_opset(s, domain));
        ONS_FORMAT(remedy, arena, "export the model with opset %u", other->opset.last);
    } else {
        ONS_FORMAT(reason, arena, "onstage does not know the operator %s%s%s", domain, domain[0] == '\0' ? "" : ".",
                   type);
        remedy = "export the model without it, or leave its part out of what is trained";
    }
    ONS_TRY(ons_import_block(s->in, name, type, reason, remedy));
    for (size_t i = 0; s->graph == s->in->top && i < node->n_input; ++i) {
        ons_value_id value;
        ONS_TRY(ons_scope_resolve(s, node->input[i], "it", &value));
        if (value != ONS_NONE) ONS_PUSH(&s->in->top->read_by_unknown, value);
    }
    return NULL;
}

static ons_status *import_known(scope *s, const ons_operator *op, const Onnx__NodeProto *node, size_t index,
                                const char *name) {
    ONS_CHECK(strcmp(ons_text(node->domain), "onstage") != 0, ONS_INVALID_MODEL,
              "the domain 'onstage' is not for files");
    if (op->roles.traits & ONS_TRAIT_CONSTANT && node->n_input == 0) return import_constant(s, node);
    bool done = false;
    if (op->roles.traits & ONS_TRAIT_IDENTITY) ONS_TRY(untie(s, node, index, &done));
    return done ? NULL : import_operator(s, op, node, name, index);
}

static ons_status *import_node(scope *s, const Onnx__NodeProto *node, size_t index, const char *name) {
    uint32_t function = ons_functions_find(s->in, node);
    if (function != ONS_MAP_ABSENT) /* says itself where it fails */
        return ons_functions_call(s, function, node, name);
    const char *domain = ons_text(node->domain);
    const ons_operator *op =
        ons_registry_find(s->in->registry, domain, ons_text(node->op_type), ons_scope_opset(s, domain));
    if (op == NULL && strcmp(domain, "onstage") != 0) return block_unknown(s, node, name); /* names the node itself */
    return ons_import_note(s->in, import_known(s, op, node, index, name), "node", name, ons_text(node->op_type));
}

/* ------------------------------------------------------------------------------------------------------------ lists */

/* The values that the nodes make; a function's results have theirs already. */
static ons_status *define_outputs(scope *s, const Onnx__NodeProto *node) {
    static const ons_type unknown = {.dtype = ONS_NO_DTYPE};
    for (size_t i = 0; i < node->n_output; ++i) {
        const char *name = node->output[i];
        if (name[0] == '\0') continue;
        ons_value_id value = ons_map_get(&s->results, name);
        if (value == ONS_NONE)
            ONS_TRY(ons_scope_add(s, name, ONS_ACTIVATION, &unknown, &value));
        else
            ONS_TRY(ons_scope_define(s, name, value));
    }
    return NULL;
}

static ons_status *import_in_order(scope *s, Onnx__NodeProto *const *nodes, size_t count, uint32_t *order) {
    const bool *needed = s->graph == s->in->top && s->call == NULL ? s->in->needed : NULL;
    ONS_TRY(ons_order_nodes(nodes, count, order));
    for (size_t i = 0; i < count; ++i)
        if (needed == NULL || needed[i]) ONS_TRY(define_outputs(s, nodes[i]));
    for (size_t i = 0; i < count; ++i) {
        const Onnx__NodeProto *node = nodes[order[i]];
        if (needed != NULL && !needed[order[i]]) continue;
        const char *name;
        ONS_TRY(ons_scope_node_name(s, node, order[i], &name));
        ONS_TRY(import_node(s, node, order[i], name));
    }
    return NULL;
}

ons_status *ons_import_nodes(scope *s, Onnx__NodeProto *const *nodes, size_t count) {
    int64_t most = ons_model_file_budget(s->in->file) / ONS_MODEL_NODE_UNITS;
    if (most > ONS_IMPORT_NODES_MAX) most = ONS_IMPORT_NODES_MAX;
    ONS_CHECK(
        s->in->node_count + (uint64_t)count <= (uint64_t)most, ONS_UNSUPPORTED,
        "the model has more than %lld nodes, those of its functions counted at every call: the most for a file of "
        "its size; export it with fewer calls of functions",
        (long long)most);
    s->in->node_count += (uint32_t)count;
    uint32_t *order = calloc(count + 1, sizeof *order);
    if (order == NULL) return ons_status_out_of_memory();
    ons_status *status = import_in_order(s, nodes, count, order);
    free(order);
    return status;
}

void ons_scope_free(scope *s) {
    ons_map_free(&s->names);
    ons_map_free(&s->results);
}

/* --------------------------------------------------------------------------------------------------------- branches */

static ons_status *import_branch_parts(scope *s, const Onnx__GraphProto *proto) {
    /* What a body takes has the type of what it is given, whatever the file says or leaves out. */
    static const ons_type unknown = {.dtype = ONS_NO_DTYPE};
    for (size_t i = 0; i < proto->n_input; ++i) {
        ons_value_id value;
        if (ons_map_get(&s->names, ons_text(proto->input[i]->name)) != ONS_MAP_ABSENT) continue; /* an initialiser */
        ONS_TRY(ons_scope_add(s, ons_text(proto->input[i]->name), ONS_INPUT, &unknown, &value));
        ONS_PUSH(&s->graph->inputs, value);
    }
    ONS_TRY(ons_import_nodes(s, proto->node, proto->n_node));
    for (size_t i = 0; i < proto->n_output; ++i) {
        ons_value_id value;
        ONS_TRY(ons_scope_resolve(s, ons_text(proto->output[i]->name), "the end of the branch", &value));
        ONS_CHECK(value != ONS_NONE, ONS_INVALID_MODEL, "an output of the branch has no name");
        ONS_PUSH(&s->graph->outputs, value);
    }
    return NULL;
}

ons_status *ons_import_branch(scope *outer, const Onnx__GraphProto *proto, ons_graph **graph) {
    scope s = {.in = outer->in, .outer = outer, .host = outer, .call = outer->call, .prefix = outer->prefix};
    ONS_TRY(ons_graph_new(outer->in->store, ons_text(proto->name), &s.graph));
    if (!ons_vector_push(&outer->in->file->branches, s.graph)) {
        ons_graph_free(s.graph);
        return ons_status_out_of_memory();
    }
    *graph = s.graph;
    ons_status *status = ons_initialisers_import(&s, proto);
    if (status == NULL) status = import_branch_parts(&s, proto);
    ons_scope_free(&s);
    return status;
}
