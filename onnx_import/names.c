#include <string.h>

#include "onnx_import/importer.h"

ons_status *ons_scope_define(scope *s, const char *name, ons_value_id value) {
    ONS_CHECK(name[0] != '\0', ONS_INVALID_MODEL, "a tensor without a name");
    ONS_CHECK(ons_map_get(&s->names, name) == ONS_MAP_ABSENT, ONS_INVALID_MODEL, "tensor '%s' is defined twice", name);
    return ons_map_set(&s->names, name, value);
}

ons_status *ons_scope_add(scope *s, const char *name, ons_value_kind kind, const ons_type *type, ons_value_id *value) {
    const char *full = name;
    if (s->prefix[0] != '\0') ONS_FORMAT(full, s->graph->arena, "%s%s", s->prefix, name);
    ONS_TRY(ons_graph_add_value(s->graph, full, kind, type, value));
    return ons_scope_define(s, name, *value);
}

static bool is_input(const ons_graph *graph, ons_value_id value) {
    for (size_t i = 0; i < graph->inputs.count; ++i)
        if (graph->inputs.items[i] == value) return true;
    return false;
}

/* The value of a branch that stands for one of the graph around it: they share the name. */
static ons_status *capture(scope *s, const char *name, ons_value_id outside, ons_value_id *value) {
    const ons_value *captured = ons_graph_value(s->outer->graph, outside);
    *value = ons_graph_find_value(s->graph, captured->name);
    if (*value == ONS_NONE) {
        ONS_TRY(ons_graph_add_value(s->graph, captured->name, ONS_INPUT, &captured->type, value));
    } else { /* captured before under another name, or in the way */
        const ons_value *taken = ons_graph_value(s->graph, *value);
        ONS_CHECK(taken->kind == ONS_INPUT && !is_input(s->graph, *value), ONS_INVALID_MODEL,
                  "tensor '%s' has the name of one of the graph around it", captured->name);
    }
    return ons_scope_define(s, name, *value);
}

ons_status *ons_scope_resolve(scope *s, const char *name, const char *reader, ons_value_id *value) {
    *value = ONS_NONE;
    if (name[0] == '\0') return NULL;
    *value = ons_map_get(&s->names, name);
    if (*value == ONS_LEFT_OUT_VALUE) {
        *value = ONS_NONE;
        return NULL;
    }
    if (*value != ONS_NONE) return NULL;
    ONS_CHECK(s->outer != NULL, ONS_INVALID_MODEL, "%s reads '%s', which nothing makes", reader, name);
    ons_value_id outside;
    ONS_TRY(ons_scope_resolve(s->outer, name, reader, &outside));
    if (outside == ONS_NONE) return NULL;
    return capture(s, name, outside, value);
}

ons_status *ons_scope_node_name(const scope *s, const Onnx__NodeProto *node, size_t index, const char **name) {
    const char *given = ons_text(node->name);
    const char *type = ons_text(node->op_type);
    if (given[0] != '\0') ONS_FORMAT(*name, s->in->top->arena, "%s%s", s->prefix, given);
    /* The number keeps names apart without a search. */
    if (given[0] == '\0' || ons_graph_find_node(s->graph, *name) != ONS_NONE)
        ONS_FORMAT(*name, s->in->top->arena, "%s%s_%zu", s->prefix, given[0] == '\0' ? type : given, index);
    return NULL;
}

static bool is_domain(const char *a, const char *b) {
    a = strcmp(a, "ai.onnx") == 0 ? "" : a;
    b = strcmp(b, "ai.onnx") == 0 ? "" : b;
    return strcmp(a, b) == 0;
}

static int64_t find_opset(Onnx__OperatorSetIdProto *const *opsets, size_t count, const char *domain) {
    for (size_t i = 0; i < count; ++i)
        if (is_domain(ons_text(opsets[i]->domain), domain)) return opsets[i]->version;
    return 0;
}

int64_t ons_scope_opset(const scope *s, const char *domain) {
    int64_t version = 0;
    if (s->call != NULL)
        version = find_opset(s->call->function->opset_import, s->call->function->n_opset_import, domain);
    const Onnx__ModelProto *model = s->in->file->model;
    return version != 0 ? version : find_opset(model->opset_import, model->n_opset_import, domain);
}

ons_status *ons_import_block(importer *in, const char *node, const char *operator_name, const char *reason,
                             const char *remedy) {
    if (in->blockers == NULL) {
        bool is_node = operator_name[0] != '\0';
        return ons_status_new(ONS_UNSUPPORTED, "%s '%s'%s%s%s: %s; %s", is_node ? "node" : "tensor", node,
                              is_node ? " (" : "", operator_name, is_node ? ")" : "", reason, remedy);
    }
    ons_arena *arena = in->top->arena;
    ons_blocker blocker = {
        .node = ons_arena_copy_text(arena, node),
        .operator_name = ons_arena_copy_text(arena, operator_name),
        .reason = ons_arena_copy_text(arena, reason),
        .remedy = ons_arena_copy_text(arena, remedy),
    };
    if (blocker.node == NULL || blocker.operator_name == NULL || blocker.reason == NULL || blocker.remedy == NULL)
        return ons_status_out_of_memory();
    ONS_PUSH(in->blockers, blocker);
    return NULL;
}

ons_status *ons_import_note(importer *in, ons_status *problem, const char *kind, const char *name,
                            const char *operator_name) {
    if (problem == NULL) return NULL;
    if (in->blockers == NULL || ons_status_get_code(problem) != ONS_UNSUPPORTED)
        return operator_name[0] == '\0' ? ons_status_at(problem, "%s '%s'", kind, name)
                                        : ons_status_at(problem, "%s '%s' (%s)", kind, name, operator_name);
    ons_status *status = ons_import_block(in, name, operator_name, ons_status_get_message(problem),
                                          "leave it out of the part that is exported for training");
    ons_status_free(problem);
    return status;
}
