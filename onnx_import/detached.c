/* Operands that the program has detached. PyTorch's newer exporter writes a detach as an Identity whose metadata say
 * so, which is what its operator goes by; a default export takes all Identity nodes out, and then only the metadata of
 * the nodes that read it name it:
 *
 *     Mul(linear, sigmoid)    aten.mul.Tensor(args = (%linear, %detach), kwargs = {})
 *
 * A value "detach" is not in the file, so it is one of the operands under another name. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_import/importer.h"
#include "onnx_import/metadata.h"
#include "onnx_import/newer.h"

enum {
    NAMES_MAX = 64,     /* of a call, operands of its nodes: what has more is unclear */
    WORK_MAX = 1 << 24, /* nodes that are looked at for all calls of a model: what would need more is unclear */
};

/* The call of a node that the exporter has left out. */
static const char detach_call[] = "[target=torch.ops.aten.detach.default](args = (), kwargs = {})";

ons_exporter_call ons_node_call(const Onnx__NodeProto *node) {
    ons_text_view text;
    if (!ons_metadata_find(&node->base, ONS_NODE_METADATA, "pkg.torch.onnx.fx_node", &text))
        return (ons_exporter_call){"", 0};
    return (ons_exporter_call){text.text, text.size};
}

static bool is_same_call(const ons_exporter_call *a, const ons_exporter_call *b) {
    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

/* The names that a call is given, in order. */
typedef struct named {
    ons_exporter_call items[NAMES_MAX];
    uint32_t count;
    bool too_many;
} named;

static bool is_name(const ons_exporter_call *name, const char *text) {
    return strlen(text) == name->size && memcmp(text, name->text, name->size) == 0;
}

/* "detach", "detach_1", "detach_copy_2": the names that fx gives to results of these functions. */
static bool is_detach(const ons_exporter_call *name) {
    static const char begin[] = "detach";
    size_t length = sizeof begin - 1;
    if (name->size < length || memcmp(name->text, begin, length) != 0) return false;
    if (name->size >= length + 5 && memcmp(name->text + length, "_copy", 5) == 0) length += 5;
    for (size_t i = length; i < name->size; ++i)
        if (name->text[i] != '_' && !isdigit((unsigned char)name->text[i])) return false;
    return true;
}

static bool is_in_file(const scope *s, const ons_exporter_call *name) {
    char text[256];
    if (name->size >= sizeof text) return true;
    memcpy(text, name->text, name->size);
    text[name->size] = '\0';
    return ons_map_get(&s->names, text) != ONS_MAP_ABSENT;
}

static bool is_gone(const scope *s, const ons_exporter_call *name) { return is_detach(name) && !is_in_file(s, name); }

/* Whether the call names a detached value that has no node. */
static bool list_names(const scope *s, const ons_exporter_call *text, named *list) {
    ons_exporter_call arguments = ons_call_arguments(text), name;
    bool any = false;
    *list = (named){.count = 0};
    for (size_t at = 0; ons_call_next_name(&arguments, &at, &name);) {
        any |= is_gone(s, &name);
        list->too_many |= list->count == NAMES_MAX;
        if (list->count < NAMES_MAX) list->items[list->count++] = name;
    }
    return any;
}

/* Whether the operand stands for an argument of the call: not for a number or a shape that the exporter has made. */
static bool is_argument(const scope *s, ons_value_id id) {
    const ons_value *value = id == ONS_NONE ? NULL : ons_graph_value(s->graph, id);
    return value != NULL && value->kind != ONS_CONSTANT && value->origin != ONS_ORIGIN_CONSTANT;
}

/* ---- which operands they are: by their places, where one node is the whole call */

/* "scalar_tensor_default_1": a number of the program. */
static bool is_number(const ons_exporter_call *name) {
    static const char begin[] = "scalar_tensor";
    return name->size >= sizeof begin - 1 && memcmp(name->text, begin, sizeof begin - 1) == 0;
}

/* A call that is given its numbers by name, too (the bounds of a clamp), has a name for each operand. */
static bool find_by_every_place(const scope *s, const Onnx__NodeProto *node, const ons_upgrade *u, const named *list,
                                bool *detached) {
    bool fits = u->inputs.count == list->count && node->n_input == list->count;
    for (size_t i = 0; i < node->n_input && fits; ++i) {
        const ons_exporter_call *name = &list->items[i];
        fits = is_in_file(s, name) ? is_name(name, node->input[i]) : is_detach(name) || is_number(name);
        fits &= u->inputs.items[i] != ONS_NONE;
        if (fits) detached[i] = is_gone(s, &list->items[i]) && is_argument(s, u->inputs.items[i]);
    }
    return fits;
}

static bool find_by_place(const scope *s, const ons_upgrade *u, const named *list, bool *detached) {
    uint32_t place = 0;
    for (size_t i = 0; i < u->inputs.count; ++i) {
        if (!is_argument(s, u->inputs.items[i])) continue;
        if (place < list->count) detached[i] = is_gone(s, &list->items[place]);
        ++place;
    }
    return place == list->count;
}

/* ---- or as what is left, when all names and values that are known are taken away */

/* Values that nodes of the call read, and other nodes make. */
typedef struct values {
    const char *items[NAMES_MAX];
    uint32_t count;
    bool too_many;
} values;

static bool is_listed(const values *list, const char *name) {
    bool found = false;
    for (uint32_t i = 0; i < list->count && !found; ++i) found = strcmp(list->items[i], name) == 0;
    return found;
}

static void add_value(values *list, const char *name) {
    if (is_listed(list, name)) return;
    list->too_many |= list->count == NAMES_MAX;
    if (list->count < NAMES_MAX) list->items[list->count++] = name;
}

static bool is_initialiser(const scope *s, const char *name) {
    ons_value_id id = ons_map_get(&s->names, name);
    const ons_value *value = id == ONS_MAP_ABSENT || id == ONS_LEFT_OUT_VALUE ? NULL : ons_graph_value(s->graph, id);
    return value == NULL || (value->kind != ONS_ACTIVATION && value->kind != ONS_INPUT) ||
           value->origin != ONS_ORIGIN_UNKNOWN;
}

/* The results of all nodes of the call, and how many nodes it has. */
static uint32_t list_results(const Onnx__GraphProto *graph, const ons_exporter_call *text, values *results) {
    uint32_t nodes = 0;
    for (size_t n = 0; n < graph->n_node; ++n) {
        ons_exporter_call other = ons_node_call(graph->node[n]);
        if (!is_same_call(text, &other)) continue;
        if (graph->node[n]->n_input > 0) ++nodes; /* a number that it was given is no step of the call */
        for (size_t i = 0; i < graph->node[n]->n_output; ++i) add_value(results, graph->node[n]->output[i]);
    }
    return nodes;
}

static bool is_made_by_constant(const Onnx__GraphProto *graph, const scope *s, const char *name) {
    s->in->detach_work += graph->n_node;
    for (size_t n = 0; n < graph->n_node; ++n) {
        const Onnx__NodeProto *node = graph->node[n];
        if (node->n_input == 0 && node->n_output == 1 && strcmp(node->output[0], name) == 0) return true;
    }
    return is_initialiser(s, name);
}

/* Operands of the call's nodes from outside of it that no argument has the name of. */
static void list_unnamed(const scope *s, const ons_exporter_call *text, const named *list, const values *results,
                         values *left) {
    const Onnx__GraphProto *graph = s->in->file->model->graph;
    for (size_t n = 0; n < graph->n_node && !left->too_many; ++n) {
        ons_exporter_call other = ons_node_call(graph->node[n]);
        if (!is_same_call(text, &other)) continue;
        left->too_many |= s->in->detach_work > WORK_MAX;
        for (size_t i = 0; i < graph->node[n]->n_input && !left->too_many; ++i) {
            const char *name = graph->node[n]->input[i];
            bool known = name[0] == '\0' || is_listed(results, name) || is_made_by_constant(graph, s, name);
            for (uint32_t k = 0; k < list->count && !known; ++k) known = is_name(&list->items[k], name);
            if (!known) add_value(left, name);
        }
    }
}

/* How many of the names, each once, are not in the file; `others`: some of them are no detached values, and no
 * parameters either ("p_fc_weight"). */
static uint32_t count_gone(const scope *s, const named *list, bool *others) {
    uint32_t gone = 0;
    *others = false;
    for (uint32_t i = 0; i < list->count; ++i) {
        const ons_exporter_call *name = &list->items[i];
        bool before = false;
        for (uint32_t k = 0; k < i && !before; ++k) before = is_same_call(&list->items[k], name);
        if (before || is_in_file(s, name)) continue;
        bool parameter = name->size > 2 && name->text[1] == '_' && strchr("pbc", name->text[0]) != NULL;
        if (is_detach(name))
            ++gone;
        else
            *others |= !parameter;
    }
    return gone;
}

static bool find_by_rest(const scope *s, const Onnx__NodeProto *node, const ons_exporter_call *text, const named *list,
                         const values *results, bool *detached) {
    values left = {.count = 0};
    bool others;
    list_unnamed(s, text, list, results, &left);
    if (count_gone(s, list, &others) != left.count || others || left.too_many || results->too_many) return false;
    for (size_t i = 0; i < node->n_input; ++i) detached[i] = is_listed(&left, node->input[i]);
    return true;
}

/* ----------------------------------------------------------------------------------------------------- the operands */

/* The operator that is the identity. */
static const ons_operator *find_identity(const ons_registry *registry) {
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        if ((op->roles.traits & ONS_TRAIT_IDENTITY) && op->arity.inputs_max == 1) return op;
    }
    return NULL;
}

/* The Identity that the file lacks, which its operator makes into what stops gradients. */
static ons_status *insert_detach(scope *s, ons_upgrade *u, size_t input) {
    ons_upgrade gone = {.op = find_identity(s->in->registry),
                        .call = {detach_call, sizeof detach_call - 1},
                        .graph = u->graph,
                        .opset = u->opset,
                        .node_name = u->node_name};
    if (gone.op == NULL || gone.op->forms.upgrade == NULL) return NULL;
    ONS_TRY(gone.op->forms.upgrade(&gone));
    return ons_upgrade_insert(u, gone.op, NULL, &u->inputs.items[input], 1, &u->inputs.items[input]);
}

static ons_status *note_unclear(scope *s, const char *name) {
    const char *copy = ons_arena_copy_text(s->in->file->arena, name);
    if (copy == NULL) return ons_status_out_of_memory();
    ONS_PUSH(&s->in->file->unclear, copy);
    return NULL;
}

/* A detached weight that the exporter has folded: the initialiser has the name of the result. */
static ons_status *detach_initialisers(scope *s, const Onnx__NodeProto *node, ons_upgrade *u) {
    for (size_t i = 0; i < node->n_input && i < u->inputs.count; ++i) {
        const ons_exporter_call name = {node->input[i], strlen(node->input[i])};
        if (!is_detach(&name) || u->inputs.items[i] == ONS_NONE) continue;
        const ons_value *value = ons_graph_value(s->graph, u->inputs.items[i]);
        if (value->kind == ONS_PARAMETER && value->producer == ONS_NONE) ONS_TRY(insert_detach(s, u, i));
    }
    return NULL;
}

ons_status *ons_detach_operands(scope *s, const Onnx__NodeProto *node, ons_upgrade *u) {
    named list;
    if (s->graph != s->in->top || s->call != NULL || u->call.size == 0 || u->inputs.count > NAMES_MAX) return NULL;
    ONS_TRY(detach_initialisers(s, node, u));
    if (!list_names(s, &u->call, &list)) return NULL;
    bool detached[NAMES_MAX] = {false};
    values results = {.count = 0};
    s->in->detach_work += s->in->file->model->graph->n_node;
    if (s->in->detach_work > WORK_MAX) return note_unclear(s, u->node_name);
    uint32_t nodes = list_results(s->in->file->model->graph, &u->call, &results);
    bool clear = !list.too_many && nodes == 1 && find_by_place(s, u, &list, detached);
    if (!clear) {
        memset(detached, 0, sizeof detached);
        clear = !list.too_many && nodes == 1 && find_by_every_place(s, node, u, &list, detached);
    }
    if (!clear) {
        memset(detached, 0, sizeof detached);
        clear = !list.too_many && find_by_rest(s, node, &u->call, &list, &results, detached);
    }
    if (!clear) return note_unclear(s, u->node_name);
    for (size_t i = 0; i < u->inputs.count; ++i)
        if (detached[i] && u->inputs.items[i] != ONS_NONE) ONS_TRY(insert_detach(s, u, i));
    return NULL;
}

size_t ons_unclear_detaches(const ons_model_file *file, const char *const **names) {
    *names = file->unclear.items;
    return file->unclear.count;
}
