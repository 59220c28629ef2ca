#include <math.h>
#include <string.h>

#include "graph/passes/names.h"
#include "onnx_import/importer.h"
#include "onnx_import/numbers.h"
#include "onnx_import/stated.h"

/* -------------------------------------------------------------------------------------------------- kind and reason */

/* A mask shows its infinities early: of large tensors it is enough to look at this many bytes. */
enum { LOOKED_AT_MAX = 64 << 20 };

static bool holds_infinities_float(const uint8_t *bytes, int64_t count) {
    bool found = false;
    for (int64_t i = 0; i < count && !found; ++i) {
        float value;
        memcpy(&value, bytes + i * 4, 4);
        found = fabsf(value) >= 1e30f; /* false for NaN */
    }
    return found;
}

/* 16-bit floats: all bits of the exponent set and no fraction is an infinity; bfloat16 has large numbers, too. */
static bool holds_infinities_16(const uint8_t *bytes, int64_t count, bool brain) {
    bool found = false;
    for (int64_t i = 0; i < count && !found; ++i) {
        uint16_t bits;
        memcpy(&bits, bytes + i * 2, 2);
        found = fabsf(brain ? ons_bfloat16_to_float(bits) : ons_half_to_float(bits)) >= (brain ? 1e30f : 65504.0f);
    }
    return found;
}

static bool holds_infinities_double(const uint8_t *bytes, int64_t count) {
    bool found = false;
    for (int64_t i = 0; i < count && !found; ++i) {
        double value;
        memcpy(&value, bytes + i * 8, 8);
        found = fabs(value) >= 1e30;
    }
    return found;
}

static bool holds_infinities(const ons_tensor *tensor) {
    int64_t count = ons_shape_elements(&tensor->type.shape);
    int64_t most = LOOKED_AT_MAX / (int64_t)ons_dtype_size(tensor->type.dtype);
    count = count < most ? count : most;
    if (tensor->data == NULL) return false;
    switch (tensor->type.dtype) {
    case ONS_FLOAT32: return holds_infinities_float(tensor->data, count);
    case ONS_FLOAT64: return holds_infinities_double(tensor->data, count);
    default: return holds_infinities_16(tensor->data, count, tensor->type.dtype == ONS_BFLOAT16);
    }
}

/* The nodes of PyTorch's tracing exporter have paths for names. */
static bool is_traced(const Onnx__ModelProto *model) {
    bool path = false;
    for (size_t i = 0; i < model->graph->n_node && !path; ++i) path = ons_text(model->graph->node[i]->name)[0] == '/';
    return path && strcmp(ons_text(model->producer_name), "pytorch") == 0;
}

/* PyTorch's tracing exporter writes numbers without a shape as Constant nodes or under names of its own; what has the
 * name of a module's attribute is a parameter, or a buffer, which a number that sizes give is. */
static bool is_number_of_module(const importer *in, const ons_tensor *tensor, const char *name) {
    if (!in->traced) return ons_is_parameter_name(name);
    return ons_may_name_number(name) && ons_number_kind_of(tensor) != ONS_NUMBER_COMPUTED;
}

/* By type and contents, and by what the file says; what its readers say comes later (roles.c, graph/passes/). */
static ons_role_reason find_reason(const importer *in, const ons_tensor *tensor, const ons_value *value) {
    ons_origin origin = value->origin;
    bool single = tensor->type.shape.rank == 0;
    /* Nothing computes in floats of a byte: they are the codes of a quantised model. */
    if (!ons_dtype_is_float(tensor->type.dtype) || ons_dtype_size(tensor->type.dtype) == 1) return ONS_NOT_FLOAT;
    if (origin == ONS_ORIGIN_BUFFER) return ONS_MODULE_BUFFER;
    if (origin == ONS_ORIGIN_CONSTANT) return ONS_FOLDED;
    if (single && origin == ONS_ORIGIN_COMPUTED) return ONS_COMPUTED;
    if (single && origin == ONS_ORIGIN_UNKNOWN && !is_number_of_module(in, tensor, value->name)) return ONS_SCALAR;
    return holds_infinities(tensor) ? ONS_HOLDS_INFINITIES : ONS_WEIGHT;
}

static ons_status *add_initialiser(scope *s, const char *name, const ons_value *described) {
    ons_value_id id;
    bool top = s->graph == s->in->top;
    ONS_TRY(ons_scope_add(s, name, top ? described->kind : ONS_CONSTANT, &described->type, &id));
    ons_value *value = ons_graph_value(s->graph, id);
    value->data = described->data;
    value->reason = described->reason;
    value->origin = described->origin;
    value->parameter = described->parameter;
    value->sources = described->sources;
    if (top) ONS_PUSH(&s->in->initialisers, id);
    return NULL;
}

static ons_status *import_initialiser(scope *s, const Onnx__TensorProto *proto) {
    const char *name = ons_text(proto->name);
    ons_type type;
    ons_data_id data;
    ONS_TRY(ons_tensor_load(s->in->file, proto, s->in->options->allow_missing_data, s->in->store, &type, &data));
    ons_value described = {.type = type, .name = name, .data = data};
    ONS_TRY(ons_origin_find(s->in, name, &described));
    /* Where the file lists all parameters, what a body has beside them is none. */
    if (s->graph != s->in->top && s->in->declared.count > 0 && described.origin == ONS_ORIGIN_UNKNOWN)
        described.origin = ONS_ORIGIN_CONSTANT;
    described.reason = find_reason(s->in, ons_store_get(s->in->store, data), &described);
    described.kind = described.reason == ONS_WEIGHT ? ONS_PARAMETER : ONS_CONSTANT;
    bool lifted;
    ONS_TRY(ons_stated_initialiser(s, proto, &described, &lifted));
    return lifted ? NULL : add_initialiser(s, name, &described);
}

/* ------------------------------------------------------------------------------------------------------------- ties */

static const Onnx__TensorProto *find_initialiser(const Onnx__GraphProto *proto, const char *name) {
    for (size_t i = 0; i < proto->n_initializer; ++i)
        if (strcmp(ons_text(proto->initializer[i]->name), name) == 0) return proto->initializer[i];
    return NULL;
}

/* The tie of an initialiser, or NULL; in branches there are none. */
static const ons_tie *find_tie(const scope *s, const char *name) {
    const ons_import_options *options = s->in->options;
    for (size_t i = 0; s->graph == s->in->top && i < options->tie_count; ++i)
        if (strcmp(options->ties[i].name, name) == 0) return &options->ties[i];
    return NULL;
}

/* Follows ties of ties. */
static ons_status *find_tied_to(const scope *s, const ons_tie *tie, const char **name) {
    *name = tie->to;
    for (size_t steps = 0; (tie = find_tie(s, *name)) != NULL; ++steps) {
        ONS_CHECK(steps < s->in->options->tie_count, ONS_INVALID_ARGUMENT, "'%s' is tied to itself", *name);
        *name = tie->to;
    }
    return NULL;
}

static ons_status *tie_initialiser(scope *s, const Onnx__GraphProto *proto, const ons_tie *tie) {
    const char *target;
    ONS_TRY(find_tied_to(s, tie, &target));
    const Onnx__TensorProto *from = find_initialiser(proto, tie->name);
    ONS_CHECK(from != NULL, ONS_INVALID_ARGUMENT, "cannot tie '%s': the model has no such initialiser", tie->name);
    ons_value_id to = ons_map_get(&s->names, target);
    ONS_CHECK(to != ONS_NONE, ONS_INVALID_ARGUMENT, "cannot tie '%s' to '%s': the model has no such initialiser",
              tie->name, target);
    ons_type type;
    ONS_TRY(ons_tensor_type(from, &type));
    char mine[ONS_TYPE_TEXT], other[ONS_TYPE_TEXT];
    const ons_type *wanted = &ons_graph_value(s->graph, to)->type;
    ONS_CHECK(
        ons_type_equal(&type, wanted), ONS_INVALID_ARGUMENT,
        "cannot tie '%s' (%s) to '%s' (%s): they must have the same type and shape; a transposed copy cannot be tied",
        tie->name, ons_type_print(&type, mine), target, ons_type_print(wanted, other));
    return ons_scope_define(s, tie->name, to);
}

static ons_status *check_untie(const importer *in, const Onnx__GraphProto *proto) {
    for (size_t i = 0; i < in->options->untie_count; ++i)
        ONS_CHECK(strpbrk(in->options->untie[i], "*?[") != NULL ||
                      find_initialiser(proto, in->options->untie[i]) != NULL,
                  ONS_INVALID_ARGUMENT, "cannot untie '%s': the model has no such initialiser", in->options->untie[i]);
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------------- all */

/* So that what reads it does not fail a second time. */
static ons_status *add_unsupported(scope *s, const char *name) {
    static const ons_type unknown = {.dtype = ONS_NO_DTYPE};
    ons_value_id id;
    return ons_scope_add(s, name, ONS_ACTIVATION, &unknown, &id);
}

ons_status *ons_initialisers_import(scope *s, const Onnx__GraphProto *proto) {
    if (s->graph == s->in->top) s->in->traced = is_traced(s->in->file->model);
    for (size_t i = 0; i < proto->n_initializer; ++i) {
        const char *name = ons_text(proto->initializer[i]->name);
        if (find_tie(s, name) != NULL) continue;
        ons_status *problem = import_initialiser(s, proto->initializer[i]);
        if (problem == NULL) continue;
        ONS_TRY(ons_import_note(s->in, problem, "initialiser", name, ""));
        ONS_TRY(add_unsupported(s, name));
    }
    for (size_t i = 0; i < proto->n_sparse_initializer; ++i) {
        const Onnx__TensorProto *values = proto->sparse_initializer[i]->values;
        const char *name = values == NULL ? "" : ons_text(values->name);
        ONS_TRY(ons_import_block(s->in, name, "", "it is a sparse initialiser", "store the tensor in full"));
        ONS_TRY(add_unsupported(s, name));
    }
    if (s->graph != s->in->top) return NULL;
    for (size_t i = 0; i < s->in->options->tie_count; ++i) ONS_TRY(tie_initialiser(s, proto, &s->in->options->ties[i]));
    return check_untie(s->in, proto);
}
