#include "tests/agreement/backend/outside.h"

#include <string.h>

enum { TYPE_STRING = 8, TYPE_COMPLEX64 = 14, TYPE_COMPLEX128 = 15 };

static const char STRINGS[] = "strings";
static const char SEQUENCES[] = "sequences, optional values or maps";
static const char COMPLEX[] = "complex numbers";

typedef struct operator_group {
    const char *why;
    const char *operators[16];
} operator_group;

static const operator_group outside_operators[] = {
    {SEQUENCES,
     {"ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt", "SequenceConstruct",
      "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence",
      "ZipMap"}},
    {STRINGS,
     {"RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer", "LabelEncoder",
      "ImageDecoder"}},
};

static const char *const random_operators[] = {
    "Bernoulli",        "Dropout",       "Multinomial",       "RandomNormal",
    "RandomNormalLike", "RandomUniform", "RandomUniformLike", NULL,
};

/* ----------------------------------------------------------------------------------------------- walking over nodes */

typedef const char *visit(const Onnx__NodeProto *node);

static const char *visit_nodes(Onnx__NodeProto *const *nodes, size_t count, visit *each);

static const char *visit_node(const Onnx__NodeProto *node, visit *each) {
    const char *found = each(node);
    for (size_t i = 0; found == NULL && i < node->n_attribute; ++i) {
        const Onnx__GraphProto *branch = node->attribute[i]->g;
        if (branch != NULL) found = visit_nodes(branch->node, branch->n_node, each);
    }
    return found;
}

static const char *visit_nodes(Onnx__NodeProto *const *nodes, size_t count, visit *each) {
    const char *found = NULL;
    for (size_t i = 0; found == NULL && i < count; ++i) found = visit_node(nodes[i], each);
    return found;
}

static const char *visit_model(const Onnx__ModelProto *model, visit *each) {
    const char *found = visit_nodes(model->graph->node, model->graph->n_node, each);
    for (size_t i = 0; found == NULL && i < model->n_functions; ++i)
        found = visit_nodes(model->functions[i]->node, model->functions[i]->n_node, each);
    return found;
}

/* ---------------------------------------------------------------------------------------------------------- reasons */

static const char *reason_of_node(const Onnx__NodeProto *node) {
    for (size_t g = 0; g < sizeof outside_operators / sizeof outside_operators[0]; ++g)
        for (const char *const *name = outside_operators[g].operators; *name != NULL; ++name)
            if (strcmp(node->op_type, *name) == 0) return outside_operators[g].why;
    return NULL;
}

static const char *reason_of_type(const Onnx__TypeProto *type) {
    if (type == NULL || type->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET) return NULL;
    if (type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) return SEQUENCES;
    int element = type->tensor_type->elem_type;
    if (element == TYPE_STRING) return STRINGS;
    return element == TYPE_COMPLEX64 || element == TYPE_COMPLEX128 ? COMPLEX : NULL;
}

static const char *reason_of_values(Onnx__ValueInfoProto *const *values, size_t count) {
    const char *found = NULL;
    for (size_t i = 0; found == NULL && i < count; ++i) found = reason_of_type(values[i]->type);
    return found;
}

const char *backend_outside(const Onnx__ModelProto *model) {
    const Onnx__GraphProto *graph = model->graph;
    const char *found = reason_of_values(graph->input, graph->n_input);
    if (found == NULL) found = reason_of_values(graph->output, graph->n_output);
    if (found == NULL) found = reason_of_values(graph->value_info, graph->n_value_info);
    return found != NULL ? found : visit_model(model, reason_of_node);
}

static const char *random_of_node(const Onnx__NodeProto *node) {
    for (const char *const *name = random_operators; *name != NULL; ++name)
        if (strcmp(node->op_type, *name) == 0) return *name;
    return NULL;
}

bool backend_is_random(const Onnx__ModelProto *model) { return visit_model(model, random_of_node) != NULL; }

const char *backend_defect(const char *name) {
    if (strcmp(name, "test_adam_multiple") == 0)
        return "defective data: the outputs match epsilon 1e-2, the node says 1e-6";
    return NULL;
}

static const char *operator_of_node(const Onnx__NodeProto *node) {
    return strcmp(node->op_type, "Constant") == 0 ? NULL : node->op_type;
}

const char *backend_main_operator(const Onnx__ModelProto *model) {
    const char *found = visit_model(model, operator_of_node);
    return found == NULL ? "" : found;
}
