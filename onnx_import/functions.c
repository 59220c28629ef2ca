/* The model's own functions: each call is replaced by the function's nodes. */
#include <stdlib.h>
#include <string.h>

#include "onnx_import/importer.h"
#include "onnx_import/newer.h"

/* Functions that call functions can grow without bound, in nodes (ONS_IMPORT_NODES_MAX) and in bytes. */
#define EXPANDED_MAX (1ull << 30)
enum { PREFIX_MAX = 1000 }; /* characters of a call's name that its nodes carry */

static ons_status *make_key(const importer *in, const char *domain, const char *name, const ProtobufCMessage *message,
                            uint32_t overload_field, char **key) {
    size_t size;
    const char *overload = ons_newer_text(message, overload_field, &size);
    domain = strcmp(domain, "ai.onnx") == 0 ? "" : domain;
    *key = ons_arena_format(in->top->arena, "%s\n%s\n%.*s", domain, name, (int)(size > 1000 ? 1000 : size), overload);
    return *key == NULL ? ons_status_out_of_memory() : NULL;
}

/* Unpacks the default value of an attribute; the file keeps it. */
static ons_status *unpack_default(importer *in, const ProtobufCMessageUnknownField *field,
                                  const Onnx__AttributeProto **attribute) {
    const uint8_t *bytes;
    uint64_t size;
    *attribute = NULL;
    if (!ons_unknown_bytes(field, &bytes, &size)) return NULL;
    ons_frames frames = {0};
    ons_status *status = ons_wire_scan(bytes, size, &onnx__attribute_proto__descriptor, &frames);
    ons_vector_free(&frames);
    ONS_TRY(status);
    Onnx__AttributeProto *unpacked = onnx__attribute_proto__unpack(NULL, size, bytes);
    ONS_CHECK(unpacked != NULL, ONS_INVALID_MODEL, "the default of one of its attributes is damaged");
    if (!ons_vector_push(&in->file->attributes, unpacked)) {
        onnx__attribute_proto__free_unpacked(unpacked, NULL);
        return ons_status_out_of_memory();
    }
    *attribute = unpacked;
    return NULL;
}

static ons_status *unpack_defaults(importer *in, const Onnx__FunctionProto *function, function_defaults *defaults) {
    ProtobufCMessage *const *known;
    if (ons_newer_messages(&function->base, ONS_FUNCTION_DEFAULTS, &known, &defaults->count)) {
        ONS_NEW(defaults->items, in->top->arena, defaults->count);
        for (size_t i = 0; i < defaults->count; ++i) defaults->items[i] = (const Onnx__AttributeProto *)known[i];
        return NULL;
    }
    ONS_NEW(defaults->items, in->top->arena, function->base.n_unknown_fields);
    const ProtobufCMessageUnknownField *field = NULL;
    while ((field = ons_unknown_field(&function->base, ONS_FUNCTION_DEFAULTS, field)) != NULL) {
        ONS_TRY(unpack_default(in, field, &defaults->items[defaults->count]));
        defaults->count += defaults->items[defaults->count] != NULL;
    }
    return NULL;
}

ons_status *ons_functions_index(importer *in) {
    const Onnx__ModelProto *model = in->file->model;
    ONS_NEW(in->defaults, in->top->arena, model->n_functions);
    for (size_t i = 0; i < model->n_functions; ++i) {
        const Onnx__FunctionProto *function = model->functions[i];
        char *key;
        ONS_TRY(make_key(in, ons_text(function->domain), ons_text(function->name), &function->base,
                         ONS_FUNCTION_OVERLOAD, &key));
        ONS_CHECK(ons_map_get(&in->functions, key) == ONS_MAP_ABSENT, ONS_INVALID_MODEL,
                  "the function '%s' is defined twice", ons_text(function->name));
        ONS_TRY(ons_map_set(&in->functions, key, (uint32_t)i));
        ONS_TRY_AT(unpack_defaults(in, function, &in->defaults[i]), "function '%s'", ons_text(function->name));
    }
    return NULL;
}

uint32_t ons_functions_find(const importer *in, const Onnx__NodeProto *node) {
    char *key = NULL;
    if (in->functions.count == 0) return ONS_MAP_ABSENT;
    ons_status_free(
        make_key(in, ons_text(node->domain), ons_text(node->op_type), &node->base, ONS_NODE_OVERLOAD, &key));
    uint32_t index = ons_map_get(&in->functions, key);
    if (index == ONS_MAP_ABSENT) return index;
    /* An operator of the standard that a file defines once more is the one that we have. */
    const char *domain = ons_text(node->domain);
    if ((domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0) &&
        ons_registry_find_name(in->registry, "", ons_text(node->op_type)) != NULL)
        return ONS_MAP_ABSENT;
    return index;
}

/* -------------------------------------------------------------------------------------------------------- arguments */

typedef ONS_VECTOR(argument) arguments;

static bool has_argument(const arguments *list, const char *name) {
    for (size_t i = 0; i < list->count; ++i)
        if (strcmp(list->items[i].name, name) == 0) return true;
    return false;
}

static ons_status *collect_arguments(scope *s, const Onnx__FunctionProto *function, const function_defaults *defaults,
                                     const Onnx__NodeProto *node, arguments *list) {
    ONS_CHECK(node->n_attribute <= ONS_IMPORT_ATTRIBUTES_MAX && defaults->count <= ONS_IMPORT_ATTRIBUTES_MAX,
              ONS_INVALID_MODEL, "it has more than %d attributes", ONS_IMPORT_ATTRIBUTES_MAX);
    for (size_t i = 0; i < node->n_attribute; ++i) {
        scope *from;
        const Onnx__AttributeProto *given = ons_attribute_resolve(s, node->attribute[i], &from);
        if (given != NULL) ONS_PUSH(list, (argument){ons_text(node->attribute[i]->name), given, from});
    }
    for (size_t i = 0; i < defaults->count; ++i) {
        const Onnx__AttributeProto *given = defaults->items[i];
        if (!has_argument(list, ons_text(given->name))) ONS_PUSH(list, (argument){ons_text(given->name), given, s});
    }
    for (size_t i = 0; i < function->n_attribute; ++i)
        ONS_CHECK(has_argument(list, function->attribute[i]), ONS_INVALID_MODEL,
                  "the call of function '%s' lacks the attribute '%s'", ons_text(function->name),
                  function->attribute[i]);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ calls */

static ons_status *define_inputs(scope *s, scope *caller, const Onnx__NodeProto *node) {
    const Onnx__FunctionProto *function = s->call->function;
    ONS_CHECK(node->n_input <= function->n_input, ONS_INVALID_MODEL, "function '%s' has %zu inputs, the call gives %zu",
              ons_text(function->name), function->n_input, node->n_input);
    for (size_t i = 0; i < function->n_input; ++i) {
        ons_value_id value = ONS_NONE;
        if (i < node->n_input) ONS_TRY(ons_scope_resolve(caller, node->input[i], "the call", &value));
        ONS_TRY(ons_scope_define(s, function->input[i], value == ONS_NONE ? (ons_value_id)ONS_LEFT_OUT_VALUE : value));
    }
    return NULL;
}

static ons_status *define_results(scope *s, scope *caller, const Onnx__NodeProto *node) {
    const Onnx__FunctionProto *function = s->call->function;
    ONS_CHECK(node->n_output <= function->n_output, ONS_INVALID_MODEL,
              "function '%s' has %zu outputs, the call takes %zu", ons_text(function->name), function->n_output,
              node->n_output);
    for (size_t i = 0; i < node->n_output; ++i) {
        ons_value_id value;
        ONS_TRY(ons_scope_resolve(caller, node->output[i], "the call", &value));
        if (value == ONS_NONE) continue;
        ONS_CHECK(ons_map_get(&s->results, function->output[i]) == ONS_MAP_ABSENT, ONS_INVALID_MODEL,
                  "function '%s' has the output '%s' twice", ons_text(function->name), function->output[i]);
        ONS_TRY(ons_map_set(&s->results, function->output[i], value));
    }
    return NULL;
}

static const ons_operator *find_identity(const ons_registry *registry) {
    for (size_t i = 0; i < registry->count; ++i)
        if (registry->operators[i]->roles.traits & ONS_TRAIT_IDENTITY && registry->operators[i]->arity.inputs_max == 1)
            return registry->operators[i];
    return NULL;
}

/* Outputs that the function merely hands through, and outputs that it forgets. */
static ons_status *finish_results(scope *s, const char *name, const Onnx__NodeProto *node) {
    const Onnx__FunctionProto *function = s->call->function;
    for (size_t i = 0; i < node->n_output; ++i) {
        ons_value_id wanted = ons_map_get(&s->results, function->output[i]);
        ons_value_id made;
        if (wanted == ONS_NONE) continue;
        ONS_TRY(ons_scope_resolve(s, function->output[i], "its end", &made));
        if (made == wanted) continue;
        const ons_operator *identity = find_identity(s->in->registry);
        ONS_CHECK(made != ONS_NONE && identity != NULL, ONS_UNSUPPORTED, "function '%s' hands its input '%s' through",
                  ons_text(function->name), function->output[i]);
        ons_node_id id;
        ONS_TRY(ons_import_add_node(s, identity, name, NULL, &made, 1, 1, 0, &id));
        ons_graph_set_output(s->graph, id, 0, wanted);
    }
    return NULL;
}

/* What the call hands over: attributes, inputs, places for outputs. */
static ons_status *prepare(scope *s, scope *caller, const Onnx__NodeProto *node, call *inner, arguments *list) {
    const function_defaults *defaults = &s->in->defaults[inner->index];
    ONS_TRY(collect_arguments(caller, inner->function, defaults, node, list));
    inner->arguments = list->items;
    inner->argument_count = list->count;
    ONS_TRY(define_inputs(s, caller, node));
    return define_results(s, caller, node);
}

/* "name/", unlike that of any call before. */
static ons_status *make_prefix(importer *in, const char *name, const char **prefix) {
    if (strlen(name) > PREFIX_MAX) name = "call";
    ONS_FORMAT(*prefix, in->top->arena, "%s/", name);
    if (ons_map_get(&in->call_prefixes, *prefix) != ONS_MAP_ABSENT)
        ONS_FORMAT(*prefix, in->top->arena, "%s_%u/", name, in->call_prefixes.count);
    return ons_map_set(&in->call_prefixes, *prefix, 0);
}

static ons_status *check_call(const importer *in, const call *outer, const Onnx__FunctionProto *function) {
    ONS_CHECK(outer == NULL || outer->depth < ONS_IMPORT_CALLS_MAX, ONS_INVALID_MODEL,
              "functions call each other more than %d deep", ONS_IMPORT_CALLS_MAX);
    for (const call *each = outer; each != NULL; each = each->outer)
        ONS_CHECK(each->function != function, ONS_INVALID_MODEL, "function '%s' calls itself",
                  ons_text(function->name));
    uint64_t used = ons_arena_used(in->top->arena) + ons_arena_used(in->store->arena);
    ONS_CHECK(used < EXPANDED_MAX + 16 * in->file->size, ONS_INVALID_MODEL,
              "the model's functions, put in place of their calls, take more than %llu bytes",
              (unsigned long long)used);
    return NULL;
}

static ons_status *run_call(scope *s, scope *caller, const Onnx__NodeProto *node, const char *name, call *inner,
                            arguments *list) {
    const char *type = ons_text(node->op_type);
    ons_status *problem = check_call(s->in, caller->call, inner->function);
    if (problem == NULL) problem = prepare(s, caller, node, inner, list);
    if (problem != NULL) return ons_import_note(s->in, problem, "node", name, type);
    ONS_TRY(make_prefix(s->in, name, &s->prefix));
    ONS_TRY(ons_import_nodes(s, inner->function->node, inner->function->n_node));
    return ons_import_note(s->in, finish_results(s, name, node), "node", name, type);
}

ons_status *ons_functions_call(scope *caller, uint32_t index, const Onnx__NodeProto *node, const char *name) {
    arguments list = {0};
    call inner = {.outer = caller->call,
                  .index = index,
                  .function = caller->in->file->model->functions[index],
                  .depth = caller->call == NULL ? 1 : caller->call->depth + 1};
    scope s = {.in = caller->in, .host = caller->host, .graph = caller->graph, .call = &inner};
    ons_status *status = run_call(&s, caller, node, name, &inner, &list);
    ons_scope_free(&s);
    ons_vector_free(&list);
    return status;
}
