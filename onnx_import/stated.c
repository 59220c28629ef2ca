/* Tensors that a file states elsewhere than among its graph's initialisers: by Constant nodes, as initialisers of
 * branches and bodies, and by Constant nodes inside of functions. Those that may be weights become values of the
 * model's graph, with a name of their own, so that training, freezing and export find them like any other weight.
 *
 * A tensor of a branch or body is captured from the model's graph by all graphs in between; a body that runs several
 * times, and a function that is called several times, hold one tensor of the file, hence one weight. */
#include "onnx_import/stated.h"

#include <string.h>

#include "graph/passes/names.h"

/* A tensor of the file on its way into the graph. */
typedef struct statement {
    const Onnx__TensorProto *tensor;
    const Onnx__AttributeProto *numbers; /* where there is no tensor */
    const char *local;                   /* the name that the file has for it, in its scope */
    ons_value value;                     /* to be, in the model's graph */
} statement;

/* ------------------------------------------------------------------------------------------------------------ names */

static bool is_taken(const scope *s, const char *name) {
    bool taken = false;
    for (; s != NULL && !taken; s = s->host) taken = ons_graph_find_value(s->graph, name) != ONS_NONE;
    return taken;
}

/* The file's name where no other tensor has it; else that of the function or branch in front. */
static ons_status *choose_name(const scope *s, const char *local, const char **name) {
    ons_arena *arena = s->in->top->arena;
    const char *owner = s->call != NULL ? ons_text(s->call->function->name) : s->graph->name;
    *name = local;
    if (s->call == NULL && !is_taken(s, local)) return NULL;
    ONS_FORMAT(*name, arena, "%s/%s", owner, local);
    if (!is_taken(s, *name)) return NULL;
    const char *taken = *name;
    uint32_t last = ons_map_get(&s->in->name_numbers, taken), number = last == ONS_MAP_ABSENT ? 2 : last + 1;
    do ONS_FORMAT(*name, arena, "%s/%s_%u", owner, local, number);
    while (is_taken(s, *name) && ++number > 0);
    return ons_map_set(&s->in->name_numbers, taken, number);
}

/* ------------------------------------------------------------------------------------------------------ who made it */

static bool is_number(const char *name) { return name[0] != '\0' && name[strspn(name, "0123456789")] == '\0'; }

/* PyTorch's exporters never write a parameter as a Constant node. A later tool may have moved it there; then it still
 * has the parameter's name. */
static ons_origin find_origin(const importer *in, const char *name) {
    uint32_t declared = ons_map_get(&in->declared, name);
    if (declared != ONS_MAP_ABSENT) return (ons_origin)declared;
    if (in->declared.count > 0) return ONS_ORIGIN_CONSTANT;
    bool by_pytorch = strcmp(ons_text(in->file->model->producer_name), "pytorch") == 0;
    return by_pytorch && (ons_is_result_name(name) || is_number(name)) ? ONS_ORIGIN_CONSTANT : ONS_ORIGIN_UNKNOWN;
}

static bool is_asked_for(const importer *in, const char *name) {
    bool asked = false;
    for (size_t i = 0; i < in->options->trained_count && !asked; ++i)
        asked = strcmp(in->options->trained[i], name) == 0;
    return asked;
}

/* Whether new contents could be written to where it stands. */
static bool has_place(const importer *in, const statement *t) {
    const ons_model_file *file = in->file;
    if (t->tensor != NULL) return ons_model_file_place(file, t->tensor) != NULL;
    bool is_default = false; /* of a function's attribute: the exporter does not look there */
    for (size_t i = 0; i < file->model->n_functions && !is_default; ++i)
        for (size_t k = 0; k < in->defaults[i].count; ++k) is_default |= in->defaults[i].items[k] == t->numbers;
    return !is_default;
}

/* Inside of bodies and functions, numbers without a shape stay where they are unless they are asked for. */
static bool may_be_weight(const importer *in, const statement *t, bool inside) {
    const ons_type *type = &t->value.type;
    bool wanted = !inside || type->shape.rank > 0 || is_asked_for(in, t->local);
    return wanted && ons_dtype_is_float(type->dtype) && ons_dtype_size(type->dtype) > 1 && has_place(in, t);
}

/* ----------------------------------------------------------------------------------------------------------- values */

/* The key of importer.stated_at: maps have texts for keys. */
static ons_status *print_address(const importer *in, const statement *t, const char **text) {
    ONS_FORMAT(*text, in->top->arena, "%p", t->tensor != NULL ? (const void *)t->tensor : (const void *)t->numbers);
    return NULL;
}

static ons_status *describe_place(const scope *s, const char **place) {
    if (s->call != NULL)
        ONS_FORMAT(*place, s->in->file->arena, "of the function '%s'", ons_text(s->call->function->name));
    else if (s->graph != s->in->top)
        ONS_FORMAT(*place, s->in->file->arena, "of the body '%s'", s->graph->name);
    else
        *place = "of a Constant node";
    return NULL;
}

static ons_status *remember(const scope *s, const statement *t, const char *name) {
    ons_model_file *file = s->in->file;
    ons_stated stated = {.tensor = t->tensor, .numbers = t->numbers, .type = t->value.type};
    stated.name = ons_arena_copy_text(file->arena, name);
    if (stated.name == NULL) return ons_status_out_of_memory();
    ONS_TRY(describe_place(s, &stated.place));
    const char *address;
    ONS_TRY(print_address(s->in, t, &address));
    ONS_TRY(ons_map_set(&s->in->stated_at, address, (uint32_t)file->stated.count));
    ONS_TRY(ons_map_set(&file->stated_names, stated.name, (uint32_t)file->stated.count));
    ONS_PUSH(&file->stated, stated);
    return NULL;
}

/* The value of the model's graph that holds the tensor. */
static ons_status *add_to_top(scope *s, const statement *t, ons_value_id *top) {
    importer *in = s->in;
    const char *name, *address;
    ONS_TRY(print_address(in, t, &address));
    uint32_t before = ons_map_get(&in->stated_at, address);
    if (before != ONS_MAP_ABSENT) {
        name = in->file->stated.items[before].name;
        *top = ons_graph_find_value(in->top, name);
        ONS_CHECK(*top != ONS_NONE, ONS_DEFECT, "the weight '%s' was lost", name);
        return NULL;
    }
    ONS_TRY(choose_name(s, t->local, &name));
    ONS_TRY(ons_graph_add_value(in->top, name, t->value.kind, &t->value.type, top));
    ons_value *value = ons_graph_value(in->top, *top);
    value->data = t->value.data;
    value->reason = t->value.reason;
    value->origin = t->value.origin;
    value->parameter = t->value.parameter;
    value->sources = t->value.sources;
    if (value->reason != ONS_FROM_CONSTANT_NODE) ONS_PUSH(&in->initialisers, *top);
    return remember(s, t, value->name);
}

/* What stands for a value of the model's graph in the scope's graph: a capture, in all graphs in between as well. */
static ons_status *capture(scope *s, ons_value_id top, ons_value_id *here) {
    const ons_graph *graph = s->in->top;
    *here = top;
    if (s->graph == graph) return NULL;
    const ons_value outside = *ons_graph_value(graph, top);
    *here = ons_graph_find_value(s->graph, outside.name);
    if (*here != ONS_NONE) {
        const ons_value *taken = ons_graph_value(s->graph, *here);
        ONS_CHECK(taken->kind == ONS_INPUT && taken->data == ONS_NO_DATA, ONS_INVALID_MODEL,
                  "tensor '%s' has the name of one of the graph around it", outside.name);
        return NULL;
    }
    ons_value_id around;
    ONS_TRY(capture(s->host, top, &around));
    return ons_graph_add_value(s->graph, outside.name, ONS_INPUT, &outside.type, here);
}

/* The scope's name means the captured value from now on; a function's result is made of it by its end. */
static ons_status *lift(scope *s, const statement *t) {
    ons_value_id top, here;
    ONS_TRY(add_to_top(s, t, &top));
    ONS_TRY(capture(s, top, &here));
    return ons_map_set(&s->names, t->local, here);
}

/* ------------------------------------------------------------------------------------------------------- statements */

/* Nothing reads the value that the scope had for the tensor any more: it gives up its name, unless it is the result of
 * a call, which the call's end makes of what is captured. */
static ons_status *vacate(scope *s, const char *local, ons_value_id id) {
    ons_graph *graph = s->graph;
    ons_value *value = ons_graph_value(graph, id);
    value->kind = ONS_ACTIVATION;
    value->type = (ons_type){.dtype = ONS_NO_DTYPE};
    value->data = ONS_NO_DATA;
    value->reason = ONS_WEIGHT;
    if (ons_map_get(&s->results, local) != ONS_MAP_ABSENT) return NULL;
    ONS_TRY(ons_map_set(&graph->value_names, value->name, ONS_NONE));
    ONS_FORMAT(value->name, graph->arena, "%s/stated_%u", local, id);
    return ons_map_set(&graph->value_names, value->name, id);
}

ons_status *ons_stated_constant(scope *s, const Onnx__NodeProto *node, ons_value_id id) {
    scope *from;
    const Onnx__AttributeProto *attribute = ons_attribute_resolve(s, node->attribute[0], &from);
    ons_value *value = ons_graph_value(s->graph, id);
    statement t = {.tensor = attribute->t, .local = node->output[0], .value = *value};
    bool inside = s->graph != s->in->top || s->call != NULL;
    if (t.tensor == NULL) t.numbers = attribute;
    if (!may_be_weight(s->in, &t, inside)) return NULL;
    value->origin = t.value.origin = find_origin(s->in, t.local);
    if (!inside) return remember(s, &t, value->name);
    ONS_TRY(vacate(s, t.local, id));
    return lift(s, &t);
}

ons_status *ons_stated_initialiser(scope *s, const Onnx__TensorProto *tensor, const ons_value *value, bool *done) {
    statement t = {.tensor = tensor, .local = ons_text(tensor->name), .value = *value};
    *done = s->graph != s->in->top && may_be_weight(s->in, &t, true);
    if (!*done) return NULL;
    ONS_CHECK(t.local[0] != '\0' && ons_map_get(&s->names, t.local) == ONS_MAP_ABSENT, ONS_INVALID_MODEL,
              "tensor '%s' is defined twice", t.local);
    return lift(s, &t);
}

/* ---------------------------------------------------------------------------------------------------------- queries */

const ons_stated *ons_stated_find(const ons_model_file *file, const char *name) {
    uint32_t index = ons_map_get(&file->stated_names, name);
    return index == ONS_MAP_ABSENT ? NULL : &file->stated.items[index];
}

const char *ons_stated_place(const ons_model_file *file, const char *name) {
    const ons_stated *stated = ons_stated_find(file, name);
    return stated == NULL ? NULL : stated->place;
}
