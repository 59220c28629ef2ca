/* Parameters that a default export of PyTorch has lost. It takes out what changes nothing at that moment (times 1, plus
 * 0, by a number without a shape) and writes equal tensors once (1 - a beside a, where a is 0.5). The calls that the
 * nodes were written for still name the results that are gone:
 *
 *     Tanh(linear)    aten.tanh.default(args = (%mul,), kwargs = {})
 *
 * A result of a product or sum that no node makes, in the place of another value, shows that an operation is gone;
 * which parameters went with it shows the module's signature: those that neither a tensor nor a call of the file names.
 * Of a file that lacks no result, such parameters are ones that the program does not use. */
#include <ctype.h>
#include <string.h>

#include "graph/passes/names.h"
#include "onnx_import/copies.h"

enum {
    NAME_BYTES_MAX = 128,
    WORK_MAX = 1 << 28, /* bytes and nodes that are looked at for all calls of a model: the rest tells nothing */
};

/* The calls of a file's nodes. */
typedef struct losses {
    importer *in;
    const scope *s;
    const Onnx__GraphProto *graph;
    ons_map heads;                  /* the name of a call's result → 0 */
    ons_map named;                  /* what calls are given, and what tensors were folded from → 0 */
    ons_map maker;                  /* a value → the node that makes it */
    ONS_VECTOR(ons_text_view) gone; /* layers in which an operation is gone */
    uint64_t work;                  /* so far */
    bool result;                    /* one is gone in front of a result of the program */
} losses;

/* -------------------------------------------------------------------------------------------------------- the names */

static ons_status *set_piece(const losses *l, ons_map *map, const char *text, size_t size) {
    char *copy = ons_arena_allocate(l->in->top->arena, size + 1, 1);
    if (copy == NULL) return ons_status_out_of_memory();
    memcpy(copy, text, size);
    copy[size] = '\0';
    return ons_map_set(map, copy, 0);
}

static bool has(const ons_map *map, const char *name) { return ons_map_get(map, name) != ONS_MAP_ABSENT; }

static bool copy_name(const ons_exporter_call *name, char text[static NAME_BYTES_MAX]) {
    if (name->size >= NAME_BYTES_MAX) return false;
    memcpy(text, name->text, name->size);
    text[name->size] = '\0';
    return true;
}

/* "%mul_1 : [num_users=1] = ..." */
static bool find_head(const ons_exporter_call *text, ons_exporter_call *head) {
    size_t at = 0;
    return text->size > 0 && text->text[0] == '%' && ons_call_next_name(text, &at, head);
}

static ons_status *read_call(losses *l, const ons_exporter_call *text) {
    ons_exporter_call name, arguments = ons_call_arguments(text);
    if (find_head(text, &name)) ONS_TRY(set_piece(l, &l->heads, name.text, name.size));
    for (size_t at = 0; ons_call_next_name(&arguments, &at, &name);)
        ONS_TRY(set_piece(l, &l->named, name.text, name.size));
    return NULL;
}

static const ons_value *find_value(const losses *l, const char *name) {
    ons_value_id id = ons_map_get(&l->s->names, name);
    return id < l->in->top->values.count ? ons_graph_value(l->in->top, id) : NULL;
}

/* A tensor that was made of a number without a shape tells nothing of where else that number was read. */
static ons_status *read_folded(losses *l, const char *tensor) {
    const ons_value *value = find_value(l, tensor);
    ons_text_view list, item;
    bool number = value != NULL && value->origin == ONS_ORIGIN_MOVED && value->type.shape.rank == 0;
    if (number || !ons_origin_folded_names(l->in, tensor, &list)) return NULL;
    for (size_t at = 0; ons_quoted_next(list, &at, &item);) ONS_TRY(set_piece(l, &l->named, item.text, item.size));
    return NULL;
}

static ons_status *read_names(losses *l) {
    for (size_t n = 0; n < l->graph->n_node; ++n) {
        const Onnx__NodeProto *node = l->graph->node[n];
        ons_exporter_call text = ons_node_call(node);
        ONS_TRY(read_call(l, &text));
        for (size_t i = 0; i < node->n_output; ++i) ONS_TRY(ons_map_set(&l->maker, node->output[i], (uint32_t)n));
    }
    for (size_t i = 0; i < l->graph->n_initializer; ++i)
        ONS_TRY(read_folded(l, ons_text(l->graph->initializer[i]->name)));
    return NULL;
}

/* -------------------------------------------------------------------------------------------------- what calls lack */

/* "mul" of "mul_3". */
static ons_text_view function_of(const char *name, size_t size) {
    size_t end = size;
    while (end > 0 && isdigit((unsigned char)name[end - 1])) --end;
    return (ons_text_view){name, end > 0 && end < size && name[end - 1] == '_' ? end - 1 : size};
}

static bool is_function_of_any(const char *name, const char *const *functions, size_t count) {
    bool found = false;
    for (size_t i = 0; i < count && !found; ++i)
        found = ons_text_view_equals(function_of(name, strlen(name)), functions[i]);
    return found;
}

/* Results that one operand may stand for, where the other is 1 or 0. */
static bool may_be_neutral(const char *name) {
    static const char *const functions[] = {"mul", "div", "add", "sub", "rsub"};
    return is_function_of_any(name, functions, sizeof functions / sizeof functions[0]);
}

/* Results that are equal to what they are computed from for a few numbers alone. */
static bool is_computed(const char *name) {
    static const char *const differences[] = {"sub", "rsub"}, *const products[] = {"mul", "div"};
    return is_function_of_any(name, differences, 2) ||
           (ons_is_computing_name(name) && !is_function_of_any(name, products, 2));
}

/* Whether no value of the file and no call's result has the name. */
static bool is_gone(const losses *l, const char *name) { return !has(&l->s->names, name) && !has(&l->heads, name); }

static uint32_t count_in_call(const ons_exporter_call *text, const char *name) {
    ons_exporter_call arguments = ons_call_arguments(text), each;
    uint32_t count = 0;
    for (size_t at = 0; ons_call_next_name(&arguments, &at, &each);)
        count += ons_text_view_equals((ons_text_view){each.text, each.size}, name);
    return count;
}

static uint32_t count_reads(const Onnx__NodeProto *node, const char *name) {
    uint32_t count = 0;
    for (size_t i = 0; i < node->n_input; ++i) count += strcmp(node->input[i], name) == 0;
    return count;
}

/* Whether another call has made the operand, by another function than the missing result: of a product that stands
 * there twice the exporter keeps one. `maker` NULL: it is the program's input. */
static bool is_in_its_place(const Onnx__NodeProto *maker, const ons_exporter_call *text, const char *missing) {
    if (maker == NULL) return true;
    ons_exporter_call other = ons_node_call(maker), head;
    bool within = other.size == text->size && memcmp(other.text, text->text, other.size) == 0;
    if (maker->n_input == 0 || within || !find_head(&other, &head)) return false;
    const ons_text_view function = function_of(missing, strlen(missing)), its = function_of(head.text, head.size);
    return function.size != its.size || memcmp(function.text, its.text, its.size) != 0;
}

/* Where the node reads a value that its call does not name, an operation between them is gone. */
static ons_status *find_gone_operation(losses *l, const Onnx__NodeProto *node, const ons_exporter_call *text,
                                       const char *missing) {
    for (size_t i = 0; i < node->n_input; ++i) {
        const ons_value *value = find_value(l, node->input[i]);
        uint32_t maker = ons_map_get(&l->maker, node->input[i]);
        bool input = value != NULL && value->kind == ONS_INPUT;
        if ((maker == ONS_MAP_ABSENT && !input) ||
            count_in_call(text, node->input[i]) >= count_reads(node, node->input[i]) ||
            !is_in_its_place(input ? NULL : l->graph->node[maker], text, missing))
            continue;
        ONS_PUSH(&l->gone, ons_node_scope(node));
        if (!input) ONS_PUSH(&l->gone, ons_node_scope(l->graph->node[maker]));
    }
    return NULL;
}

static const char *find_program_name(const importer *in, const char *parameter) {
    const char *found = NULL;
    for (size_t i = 0; i < in->parameters.count && found == NULL; ++i)
        if (strcmp(in->parameters.items[i].name, parameter) == 0) found = in->parameters.items[i].program_name;
    return found;
}

/* A parameter that the node reads and its call does not name, where the missing result was equal to it. */
static ons_status *find_merged(const losses *l, const Onnx__NodeProto *node, const ons_exporter_call *text,
                               const char *missing) {
    for (size_t i = 0; i < node->n_input; ++i) {
        const ons_value *value = find_value(l, node->input[i]);
        if (value == NULL || value->kind != ONS_PARAMETER || value->origin != ONS_ORIGIN_PARAMETER) continue;
        const ons_tensor *tensor = ons_store_get(l->in->store, value->data);
        const char *program_name = find_program_name(l->in, value->name);
        if (tensor == NULL || !ons_tensor_holds_one_number(tensor) || program_name == NULL ||
            count_in_call(text, program_name) > 0)
            continue;
        ons_arena *arena = l->in->file->arena;
        ons_lost lost = {ons_arena_copy_text(arena, value->name), ons_arena_copy_text(arena, missing)};
        if (lost.parameter == NULL || lost.result == NULL) return ons_status_out_of_memory();
        ONS_PUSH(&l->in->file->lost, lost);
        return NULL;
    }
    return NULL;
}

static ons_status *look_at(losses *l, const Onnx__NodeProto *node) {
    ons_exporter_call text = ons_node_call(node), arguments = ons_call_arguments(&text), name;
    char missing[NAME_BYTES_MAX];
    for (size_t at = 0; ons_call_next_name(&arguments, &at, &name);) {
        if (!copy_name(&name, missing) || !is_gone(l, missing)) continue;
        l->work += text.size * (node->n_input + 1);
        if (l->work > WORK_MAX) return NULL;
        if (is_computed(missing)) ONS_TRY(find_merged(l, node, &text, missing));
        if (may_be_neutral(missing)) ONS_TRY(find_gone_operation(l, node, &text, missing));
    }
    return NULL;
}

/* The program's own results: what was in front of them is not looked for. */
static ons_status *look_at_results(losses *l) {
    for (size_t i = 0; i < l->in->results.count; ++i) {
        const char *name = l->in->results.items[i];
        if (may_be_neutral(name) && is_gone(l, name)) l->result = true;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- parameters */

static ons_text_view owner_of(ons_text_view path) {
    size_t end = path.size;
    while (end > 0 && path.text[end - 1] != '.') --end;
    return (ons_text_view){path.text, end > 0 ? end - 1 : 0};
}

static bool is_within(ons_text_view path, ons_text_view owner) {
    if (owner.size == 0) return true;
    return path.size >= owner.size && memcmp(path.text, owner.text, owner.size) == 0 &&
           (path.size == owner.size || path.text[owner.size] == '.');
}

/* A normalisation's scale and bias, which are folded into a convolution with its statistics. */
static ons_status *has_statistics(const losses *l, ons_text_view layer, bool *found) {
    const char *mean;
    ONS_FORMAT(mean, l->in->top->arena, "%.*s.running_mean", (int)layer.size, layer.text);
    *found = has(&l->in->declared, mean);
    return NULL;
}

static bool is_absent(const losses *l, const declared_parameter *p) {
    return !has(&l->s->names, p->name) && !has(&l->named, p->name) && !has(&l->named, p->program_name);
}

/* Whether a node of the layer reads a parameter of another one: then they are tied, under the other's name. */
static bool is_tied(const losses *l, const Onnx__NodeProto *node, ons_text_view layer) {
    bool tied = false;
    for (size_t i = 0; i < node->n_input && !tied; ++i) {
        const ons_value *value = find_value(l, node->input[i]);
        bool parameter = value != NULL && value->origin == ONS_ORIGIN_PARAMETER;
        tied = parameter && !is_within((ons_text_view){value->name, strlen(value->name)}, layer);
    }
    return tied;
}

/* Whether an operation is gone where the layer computes. A layer without a node is one that is not called, unless the
 * missing operation was its only one: a factor, with no parameter beside it. */
static bool has_lost(losses *l, const declared_parameter *p, ons_text_view layer) {
    bool runs = layer.size == 0, lost = l->result;
    l->work += 64 * (l->graph->n_node + l->in->parameters.count);
    if (l->work > WORK_MAX) return false;
    for (size_t n = 0; n < l->graph->n_node; ++n) {
        const ons_text_view path = ons_node_scope(l->graph->node[n]);
        const bool own = path.size == layer.size && is_within(path, layer);
        if (own && layer.size > 0 && is_tied(l, l->graph->node[n], layer)) return false;
        runs |= is_within(path, layer);
    }
    size_t beside = 0;
    for (size_t i = 0; i < l->in->parameters.count; ++i) {
        const char *name = l->in->parameters.items[i].name;
        beside += name != p->name && is_within((ons_text_view){name, strlen(name)}, layer);
    }
    if (!runs && (beside > 0 || strcmp(p->name + layer.size, ".weight") == 0)) return false;
    for (size_t i = 0; i < l->gone.count && !lost; ++i)
        lost = is_within(l->gone.items[i], runs ? layer : owner_of(layer));
    return lost;
}

static ons_status *look_at_parameter(losses *l, const declared_parameter *p) {
    const ons_text_view layer = owner_of((ons_text_view){p->name, strlen(p->name)});
    bool normalises;
    ONS_TRY(has_statistics(l, layer, &normalises));
    if (normalises || !is_absent(l, p) || !has_lost(l, p, layer)) return NULL;
    ons_lost lost = {ons_arena_copy_text(l->in->file->arena, p->name), NULL};
    if (lost.parameter == NULL) return ons_status_out_of_memory();
    ONS_PUSH(&l->in->file->lost, lost);
    return NULL;
}

static ons_status *find_losses(losses *l) {
    ONS_TRY(read_names(l));
    for (size_t n = 0; n < l->graph->n_node; ++n) ONS_TRY(look_at(l, l->graph->node[n]));
    ONS_TRY(look_at_results(l));
    for (size_t i = 0; i < l->in->parameters.count && (l->gone.count > 0 || l->result); ++i)
        ONS_TRY(look_at_parameter(l, &l->in->parameters.items[i]));
    return NULL;
}

ons_status *ons_lost_find(const scope *s) {
    losses l = {.in = s->in, .s = s, .graph = s->in->file->model->graph};
    if (s->in->parameters.count == 0) return NULL;
    ons_status *status = find_losses(&l);
    ons_map_free(&l.heads);
    ons_map_free(&l.named);
    ons_map_free(&l.maker);
    ons_vector_free(&l.gone);
    return status;
}

size_t ons_lost_count(const ons_model_file *file) { return file->lost.count; }

ons_lost ons_lost_at(const ons_model_file *file, size_t index) { return file->lost.items[index]; }
