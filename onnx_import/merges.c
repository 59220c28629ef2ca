/* Initialisers that exporters merged because they were equal in value: fresh normalisations, zero biases, cloned
 * layers. A file does not say that a weight is shared on purpose, so what is known of its readers has to tell: the
 * layers that they belong to (the scope of a node, in metadata or in its name), and as what they read it. */
#include "onnx_import/importer.h"

#include <fnmatch.h>
#include <string.h>

#include "graph/passes/names.h"
#include "onnx_import/metadata.h"
#include "onnx_import/newer.h"

static const char scopes_key[] = "pkg.torch.onnx.name_scopes";
static const char rule_key[] = "pkg.onnxscript.rewriter.rule_name", removed[] = "RemoveOptionalBias";

ons_text_view ons_node_scope(const Onnx__NodeProto *node) {
    ons_text_view list, item, layer = {"", 0}, last = {"", 0};
    if (ons_metadata_find(&node->base, ONS_NODE_METADATA, scopes_key, &list)) {
        for (size_t at = 0; ons_quoted_next(list, &at, &item); last = item) layer = last; /* the last is the function */
        return layer;
    }
    const char *name = ons_text(node->name), *slash = strrchr(name, '/');
    return name[0] != '/' || slash == name ? layer : (ons_text_view){name + 1, (size_t)(slash - name) - 1};
}

static bool is_same_piece(ons_text_view a, ons_text_view b) {
    return a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
}

/* ------------------------------------------------------------------------------------------------- what is left out */

static bool begins_with(const char *text, ons_text_view piece) {
    return strncmp(text, piece.text, piece.size) == 0 && text[piece.size] == '.';
}

static bool is_bias(const char *name) {
    size_t length = strlen(name);
    return length >= 4 && strcmp(name + length - 4, "bias") == 0;
}

/* A parameter of the layer that the file has lost. */
static const char *find_lost_bias(const importer *in, ons_text_view layer, const bool *used) {
    for (uint32_t i = 0; i < in->declared.capacity; ++i) {
        const char *name = in->declared.slots[i].key;
        if (name != NULL && in->declared.slots[i].value == ONS_ORIGIN_PARAMETER && !used[i] &&
            begins_with(name, layer) && is_bias(name))
            return name;
    }
    return NULL;
}

/* A parameter that the node's call is given, and that the file does not have. */
static const char *find_lost_operand(const importer *in, const Onnx__NodeProto *node) {
    ons_exporter_call text = ons_node_call(node), arguments = ons_call_arguments(&text), name;
    for (size_t at = 0; ons_call_next_name(&arguments, &at, &name);)
        for (size_t i = 0; i < in->parameters.count; ++i) {
            const declared_parameter *each = &in->parameters.items[i];
            if (ons_text_view_equals((ons_text_view){name.text, name.size}, each->program_name) &&
                ons_graph_find_value(in->top, each->name) == ONS_NONE)
                return each->name;
        }
    return NULL;
}

/* Whether the node could take one more operand: of several rules that changed it, another may have put a bias back. */
static bool lacks_operand(const importer *in, const Onnx__NodeProto *node) {
    const ons_operator *op = ons_registry_find_name(in->registry, ons_text(node->domain), ons_text(node->op_type));
    return op != NULL && node->n_input < op->arity.inputs_max;
}

ons_status *ons_lost_biases_find(importer *in) {
    const Onnx__GraphProto *graph = in->file->model->graph;
    bool *used;
    ONS_NEW(used, in->top->arena, in->declared.capacity + 1);
    for (uint32_t i = 0; i < in->declared.capacity; ++i) {
        const char *name = in->declared.slots[i].key;
        used[i] = name != NULL && ons_graph_find_value(in->top, name) != ONS_NONE;
    }
    for (size_t i = 0; i < graph->n_node; ++i) {
        ons_text_view rule, layer = ons_node_scope(graph->node[i]);
        if (!ons_metadata_find(&graph->node[i]->base, ONS_NODE_METADATA, rule_key, &rule)) continue;
        if (memmem(rule.text, rule.size, removed, strlen(removed)) == NULL || !lacks_operand(in, graph->node[i]))
            continue;
        const char *lost = find_lost_operand(in, graph->node[i]);
        if (lost == NULL && layer.size > 0) lost = find_lost_bias(in, layer, used);
        if (lost != NULL && in->file->lost_biases++ == 0)
            in->file->lost_bias = ons_arena_copy_text(in->file->arena, lost);
    }
    return NULL;
}

size_t ons_lost_bias_count(const ons_model_file *file, const char **first) {
    *first = ons_text(file->lost_bias);
    return file->lost_biases;
}

/* --------------------------------------------------------------------------------------------------- what is merged */

typedef struct use {
    const Onnx__NodeProto *node;
    uint32_t index, input;
    ons_text_view scope;
} use;

static bool is_same_layer(const use *a, const use *b) {
    if (a->node == b->node) return true;
    return a->scope.size > 0 && is_same_piece(a->scope, b->scope);
}

typedef ONS_VECTOR(use) uses;

/* How often the nodes of the model's graph read each initialiser, by its place in in->initialisers. */
static ons_status *count_reads(const importer *in, ons_map *places, uint32_t *reads) {
    const Onnx__GraphProto *graph = in->file->model->graph;
    for (uint32_t i = 0; i < in->initialisers.count; ++i)
        ONS_TRY(ons_map_set(places, ons_graph_value(in->top, in->initialisers.items[i])->name, i));
    for (size_t i = 0; i < graph->n_node; ++i)
        for (size_t k = 0; k < graph->node[i]->n_input; ++k) {
            uint32_t place = ons_map_get(places, graph->node[i]->input[k]);
            if (place != ONS_MAP_ABSENT) ++reads[place];
        }
    return NULL;
}

static ons_status *find_uses(const Onnx__GraphProto *graph, const char *name, uses *list) {
    for (uint32_t i = 0; i < graph->n_node; ++i)
        for (uint32_t k = 0; k < graph->node[i]->n_input; ++k)
            if (strcmp(graph->node[i]->input[k], name) == 0)
                ONS_PUSH(list, ((use){graph->node[i], i, k, ons_node_scope(graph->node[i])}));
    return NULL;
}

/* Layers that read it. */
static uint32_t count_layers(const uses *list) {
    uint32_t layers = 0;
    for (size_t i = 0; i < list->count; ++i) {
        bool new = true;
        for (size_t k = 0; k < i; ++k) new &= !is_same_layer(&list->items[k], &list->items[i]);
        layers += new;
    }
    return layers;
}

/* Whether the file tells what its tensors are, and all read it as the same operand of the same operator, and not as a
 * table that they look up in or move about: those are shared on purpose more often than not. */
static bool are_alike(const importer *in, const uses *list) {
    const use *first = &list->items[0];
    const ons_operator *op =
        ons_registry_find_name(in->registry, ons_text(first->node->domain), ons_text(first->node->op_type));
    bool alike = in->declared.count > 0 && op != NULL &&
                 (op->roles.traits & (ONS_TRAIT_MOVES | ONS_TRAIT_IDENTITY)) == 0 && first->scope.size > 0;
    for (size_t i = 1; i < list->count && alike; ++i) {
        const use *other = &list->items[i];
        alike = other->input == first->input && other->scope.size > 0 &&
                strcmp(ons_text(other->node->op_type), ons_text(first->node->op_type)) == 0;
    }
    return alike;
}

static ons_status *find_merge(importer *in, ons_value_id id, const char *name) {
    const ons_value *value = ons_graph_value(in->top, id);
    uses list = {0};
    ons_status *status = find_uses(in->file->model->graph, name, &list);
    uint32_t layers = status == NULL ? count_layers(&list) : 0;
    const ons_tensor *tensor = ons_store_get(in->store, value->data);
    bool one = tensor != NULL && ons_tensor_holds_one_number(tensor);
    if (status == NULL && layers > 1 && (one || are_alike(in, &list))) {
        const ons_merge merge = {ons_arena_copy_text(in->file->arena, name), layers};
        status = merge.name == NULL || !ons_vector_push(&in->file->merges, merge) ? ons_status_out_of_memory() : NULL;
    }
    ons_vector_free(&list);
    return status;
}

/* What the program itself has made of a weight (repeated it, picked from it) is no copy that was merged. */
static bool can_be_merged(const ons_value *value) {
    return value->kind == ONS_PARAMETER && ons_shape_elements(&value->type.shape) > 0 &&
           !ons_is_moving_name(value->name) && !ons_is_joining_name(value->name);
}

static ons_status *find_merges(importer *in, ons_map *places) {
    uint32_t *reads;
    ONS_NEW(reads, in->top->arena, in->initialisers.count + 1);
    ONS_TRY(count_reads(in, places, reads));
    for (size_t i = 0; i < in->initialisers.count; ++i) {
        ons_value_id id = in->initialisers.items[i];
        const ons_value *value = ons_graph_value(in->top, id);
        if (reads[i] > 1 && can_be_merged(value)) ONS_TRY(find_merge(in, id, value->name));
    }
    return NULL;
}

/* An exporter that folds nothing merges nothing: what layers share in its files, they share in the module. */
ons_status *ons_merges_find(importer *in) {
    if (in->declared.count > 0 && in->folded_by_exporter.count == 0) return NULL;
    ons_map places = {0};
    ons_status *status = find_merges(in, &places);
    ons_map_free(&places);
    return status;
}

static bool is_merged(const ons_model_file *file, const char *name) {
    bool merged = false;
    for (size_t i = 0; i < file->merges.count; ++i) merged |= strcmp(file->merges.items[i].name, name) == 0;
    return merged;
}

bool ons_import_has_parted(const ons_model_file *file, const char *name) {
    bool parted = false;
    for (size_t i = 0; i < file->untied.count; ++i) parted |= strcmp(file->untied.items[i].names.source, name) == 0;
    return parted;
}

size_t ons_merge_count(const ons_model_file *file) { return file->merges.count; }

ons_merge ons_merge_at(const ons_model_file *file, size_t index) { return file->merges.items[index]; }

/* ---------------------------------------------------------------------------------------------------------- parting */

bool ons_is_untied(const importer *in, const char *initialiser) {
    for (size_t i = 0; i < in->options->untie_count; ++i) {
        const char *option = in->options->untie[i];
        if (strcmp(option, initialiser) == 0) return true; /* a whole name, whatever it looks like */
        if (is_merged(in->file, initialiser) && fnmatch(option, initialiser, 0) == 0) return true;
    }
    return false;
}

/* "encoder.layers.1.norm1.weight" for what that layer reads as "encoder.layers.0.norm1.weight". */
static ons_status *make_name(const scope *s, const use *u, const char *initialiser, const char **name) {
    const char *dot = strrchr(initialiser, '.');
    const char *leaf = dot == NULL ? initialiser : dot + 1;
    ONS_FORMAT(*name, s->graph->arena, "%.*s.%s", (int)u->scope.size, u->scope.text, leaf);
    for (char *c = (char *)*name; *c != '\0'; ++c)
        if (*c == '/') *c = '.';
    for (int number = 2; u->scope.size == 0 || ons_map_get(&s->names, *name) != ONS_MAP_ABSENT ||
                         ons_graph_find_value(s->graph, *name) != ONS_NONE;
         ++number) {
        ONS_FORMAT(*name, s->graph->arena, "%s_%d", initialiser, number);
        if (ons_map_get(&s->names, *name) == ONS_MAP_ABSENT && ons_graph_find_value(s->graph, *name) == ONS_NONE) break;
    }
    return NULL;
}

static ons_status *add_part(scope *s, const use *u, ons_value_id from, ons_value_id *part) {
    const ons_value source = *ons_graph_value(s->graph, from);
    const char *name;
    ONS_TRY(make_name(s, u, source.name, &name));
    ONS_TRY(ons_graph_add_value(s->graph, name, source.kind, &source.type, part));
    ons_value *value = ons_graph_value(s->graph, *part);
    value->data = source.data;
    value->reason = source.reason;
    value->origin = source.origin;
    value->sources = source.sources;
    value->parameter = source.parameter;
    ONS_PUSH(&s->in->initialisers, *part);
    return NULL;
}

static ons_status *add_edit(importer *in, const use *u, ons_value_id part, ons_value_id from) {
    ons_untied_edit edit = {.node = u->index, .input = u->input};
    edit.names.name = ons_arena_copy_text(in->file->arena, ons_graph_value(in->top, part)->name);
    edit.names.source = ons_arena_copy_text(in->file->arena, ons_graph_value(in->top, from)->name);
    if (edit.names.name == NULL || edit.names.source == NULL) return ons_status_out_of_memory();
    ONS_PUSH(&in->file->untied, edit);
    return NULL;
}

/* The part of the initialiser that the use's layer has; ONS_NONE. */
static ons_value_id find_part(const importer *in, const use *u, ons_value_id from) {
    for (size_t i = 0; i < in->parts.count; ++i) {
        const untied_part *each = &in->parts.items[i];
        const use of = {in->file->model->graph->node[each->node], each->node, 0,
                        ons_node_scope(in->file->model->graph->node[each->node])};
        if (each->from == from && is_same_layer(&of, u)) return each->part;
    }
    return ONS_NONE;
}

ons_status *ons_untie_operand(scope *s, const Onnx__NodeProto *node, size_t index, size_t input, ons_value_id *value) {
    importer *in = s->in;
    if (in->options->untie_count == 0 || s->graph != in->top || s->call != NULL || *value == ONS_NONE) return NULL;
    const ons_value *read = ons_graph_value(s->graph, *value);
    if (read->kind != ONS_PARAMETER || read->producer != ONS_NONE || !ons_is_untied(in, read->name)) return NULL;
    const use u = {node, (uint32_t)index, (uint32_t)input, ons_node_scope(node)};
    ons_value_id from = *value, part = find_part(in, &u, from);
    bool first = true;
    for (size_t i = 0; i < in->parts.count; ++i) first &= in->parts.items[i].from != from;
    if (part == ONS_NONE) {
        part = from; /* the first layer keeps it */
        if (!first) ONS_TRY(add_part(s, &u, from, &part));
        ONS_PUSH(&in->parts, ((untied_part){from, part, u.index}));
    }
    *value = part;
    return part == from ? NULL : add_edit(in, &u, part, from);
}

ons_status *ons_untied_check(const importer *in) {
    for (size_t i = 0; i < in->options->untie_count; ++i) {
        bool parted = false;
        for (size_t k = 0; k < in->file->untied.count; ++k)
            parted |= fnmatch(in->options->untie[i], in->file->untied.items[k].names.source, 0) == 0;
        ONS_CHECK(
            parted, ONS_INVALID_ARGUMENT,
            "--untie '%s': no layers share such a weight, so there is nothing to part; `onstage inspect` shows what is "
            "merged",
            in->options->untie[i]);
    }
    return NULL;
}
