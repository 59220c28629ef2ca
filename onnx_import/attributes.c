#include <string.h>

#include "onnx_import/importer.h"

#define KIND(NAME) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##NAME

/* Files of the first IR versions state no type: then it is the field that is filled. */
static Onnx__AttributeProto__AttributeType find_kind(const Onnx__AttributeProto *a) {
    if (a->has_type && a->type != KIND(UNDEFINED)) return a->type;
    if (a->has_f) return KIND(FLOAT);
    if (a->has_i) return KIND(INT);
    if (a->has_s) return KIND(STRING);
    if (a->t != NULL) return KIND(TENSOR);
    if (a->g != NULL) return KIND(GRAPH);
    if (a->n_floats > 0) return KIND(FLOATS);
    if (a->n_ints > 0) return KIND(INTS);
    return a->n_strings > 0 ? KIND(STRINGS) : KIND(UNDEFINED);
}

/* ----------------------------------------------------------------------------------------------------------- values */

static ons_status *copy_bytes(ons_arena *arena, const ProtobufCBinaryData *bytes, const char **text) {
    char *copy;
    ONS_NEW(copy, arena, bytes->len + 1);
    if (bytes->len > 0) memcpy(copy, bytes->data, bytes->len);
    *text = copy;
    return NULL;
}

static ons_status *read_list(const Onnx__AttributeProto *a, ons_arena *arena, ons_attribute *value) {
    if (value->kind == ONS_ATTRIBUTE_INTS) {
        int64_t *ints;
        value->count = (uint32_t)a->n_ints;
        ONS_NEW(ints, arena, a->n_ints);
        if (a->n_ints > 0) memcpy(ints, a->ints, a->n_ints * sizeof *ints);
        value->ints = ints;
    } else if (value->kind == ONS_ATTRIBUTE_FLOATS) {
        double *floats;
        value->count = (uint32_t)a->n_floats;
        ONS_NEW(floats, arena, a->n_floats);
        for (size_t i = 0; i < a->n_floats; ++i) floats[i] = (double)a->floats[i];
        value->floats = floats;
    } else {
        const char **strings;
        value->count = (uint32_t)a->n_strings;
        ONS_NEW(strings, arena, a->n_strings);
        for (size_t i = 0; i < a->n_strings; ++i) ONS_TRY(copy_bytes(arena, &a->strings[i], &strings[i]));
        value->strings = strings;
    }
    return NULL;
}

static ons_status *read_tensor(scope *s, const Onnx__AttributeProto *a, ons_attribute *value) {
    ons_type type;
    ONS_CHECK(a->t != NULL, ONS_INVALID_MODEL, "attribute '%s' holds no tensor", ons_text(a->name));
    ONS_TRY_AT(
        ons_tensor_load(s->in->file, a->t, s->in->options->allow_missing_data, s->in->store, &type, &value->tensor),
        "attribute '%s'", ons_text(a->name));
    return NULL;
}

/* `from`: the scope that branches capture from. */
static ons_status *read_value(scope *s, scope *from, const Onnx__AttributeProto *a, ons_attribute *value) {
    *value = (ons_attribute){.kind = ONS_ATTRIBUTE_ABSENT};
    ons_arena *arena = s->graph->arena;
    switch (find_kind(a)) {
    case KIND(INT):
        value->kind = ONS_ATTRIBUTE_INT;
        value->i = a->i;
        return NULL;
    case KIND(FLOAT):
        value->kind = ONS_ATTRIBUTE_FLOAT;
        value->f = (double)a->f;
        return NULL;
    case KIND(STRING): value->kind = ONS_ATTRIBUTE_STRING; return copy_bytes(arena, &a->s, &value->s);
    case KIND(INTS): value->kind = ONS_ATTRIBUTE_INTS; return read_list(a, arena, value);
    case KIND(FLOATS): value->kind = ONS_ATTRIBUTE_FLOATS; return read_list(a, arena, value);
    case KIND(STRINGS): value->kind = ONS_ATTRIBUTE_STRINGS; return read_list(a, arena, value);
    case KIND(TENSOR): value->kind = ONS_ATTRIBUTE_TENSOR; return read_tensor(s, a, value);
    case KIND(GRAPH):
        ONS_CHECK(a->g != NULL, ONS_INVALID_MODEL, "attribute '%s' holds no graph", ons_text(a->name));
        ONS_CHECK(from->graph == s->graph, ONS_UNSUPPORTED,
                  "attribute '%s' is a graph handed to a function that uses it within a branch", ons_text(a->name));
        value->kind = ONS_ATTRIBUTE_GRAPH;
        return ons_import_branch(from, a->g, &value->graph);
    case KIND(UNDEFINED): /* an empty list of a file without types: nothing is said */ return NULL;
    default:
        return ons_status_new(ONS_UNSUPPORTED, "attribute '%s' is of a kind (%d) that onstage does not know",
                              ons_text(a->name), (int)find_kind(a));
    }
}

/* ------------------------------------------------------------------------------------------------------- attributes */

const Onnx__AttributeProto *ons_attribute_resolve(scope *s, const Onnx__AttributeProto *attribute, scope **from) {
    *from = s;
    const char *reference = ons_text(attribute->ref_attr_name);
    if (reference[0] == '\0') return attribute;
    for (size_t i = 0; s->call != NULL && i < s->call->argument_count; ++i) {
        if (strcmp(s->call->arguments[i].name, reference) == 0) {
            *from = s->call->arguments[i].from;
            return s->call->arguments[i].attribute;
        }
    }
    return NULL;
}

ons_status *ons_attributes_read(scope *s, const Onnx__NodeProto *node, ons_upgrade *upgrade) {
    ONS_CHECK(node->n_attribute <= ONS_IMPORT_ATTRIBUTES_MAX, ONS_INVALID_MODEL, "it has more than %d attributes",
              ONS_IMPORT_ATTRIBUTES_MAX);
    for (size_t i = 0; i < node->n_attribute; ++i) {
        const char *name = ons_text(node->attribute[i]->name);
        /* What begins so is between upgrade functions and declarations; no file may reach it. */
        ONS_CHECK(name[0] != '\0' && strncmp(name, "onstage_", 8) != 0, ONS_INVALID_MODEL,
                  "an attribute has the name '%s', which is not allowed", name);
        ONS_CHECK(ons_upgrade_find(upgrade, name) == NULL, ONS_INVALID_MODEL, "attribute '%s' is there twice", name);
        scope *from;
        const Onnx__AttributeProto *resolved = ons_attribute_resolve(s, node->attribute[i], &from);
        ons_attribute value;
        if (resolved == NULL) continue;
        ONS_TRY(read_value(s, from, resolved, &value));
        ONS_TRY(ons_upgrade_set(upgrade, ons_text(node->attribute[i]->name), value));
    }
    return NULL;
}

static const char *kind_name(ons_attribute_kind kind) {
    static const char *const names[] = {"nothing",           "an integer",         "a float",
                                        "a string",          "a list of integers", "a list of floats",
                                        "a list of strings", "a tensor",           "a graph"};
    return names[kind];
}

static bool is_declared(const ons_operator *op, const char *name) {
    for (const ons_attribute_declaration *each = op->attributes; each->name != NULL; ++each)
        if (strcmp(each->name, name) == 0) return true;
    return false;
}

/* Attributes that the operator does not declare: passing over one could change what the node computes. The one
 * exception is a hint on memory, from before opset 6, that later files still carry. */
static ons_status *check_unknown(const ons_operator *op, const ons_upgrade *upgrade) {
    for (size_t i = 0; i < upgrade->attributes.count; ++i) {
        const ons_named_attribute *each = &upgrade->attributes.items[i];
        if (each->value.kind == ONS_ATTRIBUTE_ABSENT || is_declared(op, each->name) ||
            strcmp(each->name, "consumed_inputs") == 0)
            continue;
        return ons_status_new(ONS_UNSUPPORTED, "onstage does not know the attribute '%s' of %s", each->name, op->name);
    }
    return NULL;
}

ons_status *ons_attributes_match(const ons_operator *op, const ons_upgrade *upgrade, const ons_attribute **values) {
    ONS_TRY(check_unknown(op, upgrade));
    size_t count = ons_operator_attributes(op);
    ons_attribute *result;
    ONS_NEW(result, upgrade->graph->arena, count);
    for (size_t i = 0; i < count; ++i) {
        const ons_attribute_declaration *declared = &op->attributes[i];
        const ons_attribute *given = ons_upgrade_find(upgrade, declared->name);
        ONS_CHECK(given != NULL || !declared->required, ONS_INVALID_MODEL, "attribute '%s' is missing", declared->name);
        ONS_CHECK(given == NULL || given->kind == declared->kind, ONS_INVALID_MODEL,
                  "attribute '%s' is %s instead of %s", declared->name, kind_name(given->kind),
                  kind_name(declared->kind));
        result[i] = given != NULL ? *given : declared->default_value;
    }
    *values = result;
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- constants */

/* Numbers as a tensor of rank 0 or 1. */
static ons_status *store_numbers(scope *s, const ons_attribute *value, ons_type *type, ons_data_id *data) {
    bool list = value->kind == ONS_ATTRIBUTE_INTS || value->kind == ONS_ATTRIBUTE_FLOATS;
    bool floats = value->kind == ONS_ATTRIBUTE_FLOAT || value->kind == ONS_ATTRIBUTE_FLOATS;
    int64_t count = list ? value->count : 1;
    *type = ons_type_make(floats ? ONS_FLOAT32 : ONS_INT64, ons_shape_make(list ? 1 : 0, &count));
    void *elements;
    ONS_TRY(ons_store_add(s->in->store, type, &elements, data));
    for (int64_t i = 0; i < count; ++i) {
        if (floats)
            ((float *)elements)[i] = (float)(list ? value->floats[i] : value->f);
        else
            ((int64_t *)elements)[i] = list ? value->ints[i] : value->i;
    }
    return NULL;
}

ons_status *ons_attributes_constant(scope *s, const Onnx__NodeProto *node, ons_type *type, ons_data_id *data) {
    ONS_CHECK(node->n_attribute == 1, ONS_INVALID_MODEL, "it must have one value, and has %zu", node->n_attribute);
    scope *from;
    const Onnx__AttributeProto *resolved = ons_attribute_resolve(s, node->attribute[0], &from);
    ONS_CHECK(resolved != NULL, ONS_INVALID_MODEL,
              "its value is an attribute that the call of the function leaves out");
    ons_attribute value;
    switch (find_kind(resolved)) {
    case KIND(TENSOR):
        ONS_CHECK(resolved->t != NULL, ONS_INVALID_MODEL, "it holds no tensor");
        return ons_tensor_load(s->in->file, resolved->t, s->in->options->allow_missing_data, s->in->store, type, data);
    case KIND(INT):
    case KIND(INTS):
    case KIND(FLOAT):
    case KIND(FLOATS): ONS_TRY(read_value(s, from, resolved, &value)); return store_numbers(s, &value, type, data);
    case KIND(SPARSE_TENSOR): return ons_status_new(ONS_UNSUPPORTED, "its value is a sparse tensor");
    default: return ons_status_new(ONS_UNSUPPORTED, "its value is neither numbers nor a tensor");
    }
}
