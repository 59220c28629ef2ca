#include "graph/passes/head.h"

#include <string.h>

#include "graph/operands.h"

enum { CLASSES = 8209 }; /* to try: a prime, so that no size of a model is the same by chance */

typedef struct search {
    const ons_graph *graph;
    const ons_registry *registry;
    ons_arena *arena;
    ons_type *types; /* of each value, with CLASSES classes */
    ons_head *head;
    bool shared;     /* its weights may be read elsewhere, and what is behind it need not take other classes */
    int64_t classes; /* that the model has */
} search;

static const ons_value *value_of(const search *s, ons_value_id id) { return ons_graph_value(s->graph, id); }

static bool keeps_elements(const ons_node *node) {
    const ons_alias *alias = node->op->aliases;
    return (node->op->roles.traits & (ONS_TRAIT_MOVES | ONS_TRAIT_IDENTITY)) != 0 || alias->kind == ONS_ALIAS_VIEW;
}

/* The initialiser whose elements an operand has, perhaps moved; ONS_NONE: it is computed. */
static ons_value_id parameter_of(const search *s, ons_value_id id) {
    while (id != ONS_NONE && value_of(s, id)->producer != ONS_NONE) {
        const ons_node *node = ons_graph_node(s->graph, value_of(s, id)->producer);
        id = keeps_elements(node) ? node->inputs[0] : (ons_value_id)ONS_NONE;
    }
    return id != ONS_NONE && value_of(s, id)->kind == ONS_PARAMETER ? id : (ons_value_id)ONS_NONE;
}

/* Whether it follows from the model's inputs. */
static bool is_computed(const search *s, ons_value_id id) {
    return id != ONS_NONE && value_of(s, id)->kind != ONS_CONSTANT && value_of(s, id)->kind != ONS_BUFFER &&
           parameter_of(s, id) == ONS_NONE;
}

/* -------------------------------------------------------------------------------------------------------- the layer */

/* Backwards to the first node that weighs; `weight` is its operand. */
static ons_status *find_layer(const search *s, ons_value_id output, ons_node_id *layer, uint32_t *weight) {
    const char *name = value_of(s, output)->name;
    for (ons_value_id id = output; value_of(s, id)->producer != ONS_NONE;) {
        *layer = value_of(s, id)->producer;
        const ons_node *node = ons_graph_node(s->graph, *layer);
        uint32_t computed = 0;
        for (uint32_t i = 0; i < node->input_count; ++i) {
            bool weighs = (node->op->roles.traits & ONS_TRAIT_DENSE) != 0 && i < 2;
            if (weighs && node->inputs[i] != ONS_NONE && parameter_of(s, node->inputs[i]) != ONS_NONE) {
                *weight = i;
                return NULL;
            }
            if (!is_computed(s, node->inputs[i])) continue;
            computed += 1;
            id = node->inputs[i];
        }
        ONS_CHECK(computed == 1, ONS_UNSUPPORTED,
                  "--new-head: node '%s' (%s) joins tensors before '%s', which is the end of no single layer",
                  node->name, node->op->name, name);
    }
    return ons_status_new(ONS_UNSUPPORTED, "--new-head: there is no linear layer or convolution before '%s'", name);
}

/* ------------------------------------------------------------------------------------------------------------ sizes */

static ons_status *add_size(search *s, ons_value_id value, uint32_t axis) {
    s->head->sizes[s->head->count++] = (ons_head_size){value, axis};
    return NULL;
}

/* The node's results from the types of now. */
static ons_status *infer(const search *s, ons_node_id id, ons_operands *o) {
    const ons_node *node = ons_graph_node(s->graph, id);
    ons_type *types;
    ons_tensor *constants;
    ONS_TRY(ons_operands_make(s->graph, node->op, node->name, node->attributes, node->inputs, node->input_count,
                              node->output_count, s->arena, o));
    ONS_NEW(types, s->arena, o->input_count + 1);
    ONS_NEW(constants, s->arena, o->input_count + 1);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE) continue;
        types[i] = s->types[node->inputs[i]];
        constants[i] = o->constants[i];
    }
    o->inputs = types;
    o->constants = constants;
    return ons_operands_infer(o);
}

/* Takes the results over; fails where one has another size in more than one axis. */
static ons_status *take_results(search *s, ons_node_id id, const ons_operands *o, bool *changed) {
    const ons_node *node = ons_graph_node(s->graph, id);
    *changed = false;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id value = node->outputs[i];
        if (value == ONS_NONE) continue;
        const ons_shape *was = &value_of(s, value)->type.shape, *is = &o->outputs[i].shape;
        uint32_t axes = 0, axis = 0;
        for (uint32_t a = 0; a < was->rank && was->rank == is->rank; ++a)
            if (was->dims[a] != is->dims[a]) axes += 1, axis = a;
        ONS_CHECK(was->rank == is->rank && axes <= 1 && (axes == 0 || is->dims[axis] == CLASSES), ONS_UNSUPPORTED,
                  "--new-head: node '%s' (%s) does not keep classes apart", node->name, node->op->name);
        s->types[value] = o->outputs[i];
        if (axes == 1) ONS_TRY(add_size(s, value, axis));
        *changed |= axes == 1;
    }
    return NULL;
}

/* The nodes between an initialiser and the operand that holds its elements. */
static ons_status *move_types(search *s, ons_value_id operand) {
    ons_operands o;
    bool changed;
    ons_node_id producer = value_of(s, operand)->producer;
    if (producer == ONS_NONE) return NULL;
    ONS_TRY(move_types(s, ons_graph_node(s->graph, producer)->inputs[0]));
    ONS_TRY(infer(s, producer, &o));
    return take_results(s, producer, &o, &changed);
}

static ons_status *check_readers(const search *s, ons_value_id parameter, ons_node_id reader) {
    for (ons_node_id id = 0; id < s->graph->nodes.count && !s->shared; ++id) {
        const ons_node *node = ons_graph_node(s->graph, id);
        bool leads = keeps_elements(node) && id < reader;
        for (uint32_t i = 0; i < node->input_count; ++i)
            ONS_CHECK(node->inputs[i] != parameter || id == reader || leads, ONS_UNSUPPORTED,
                      "--new-head: '%s' is the weight of node '%s' (%s) as well, which would change with the head",
                      value_of(s, parameter)->name, node->name, node->op->name);
    }
    return NULL;
}

/* Gives one axis of an initialiser, an operand of the node, the new number of classes; *fits: the node takes it. */
static ons_status *try_axis(search *s, ons_node_id id, uint32_t operand, uint32_t axis, ons_operands *o, bool *fits) {
    const ons_node *node = ons_graph_node(s->graph, id);
    ons_value_id parameter = parameter_of(s, node->inputs[operand]);
    uint32_t count = s->head->count;
    ONS_TRY(check_readers(s, parameter, id));
    s->types[parameter].shape.dims[axis] = CLASSES;
    ONS_TRY(add_size(s, parameter, axis));
    ons_status *status = move_types(s, node->inputs[operand]);
    if (status == NULL) status = infer(s, id, o);
    *fits = status == NULL;
    if (status == NULL || ons_status_get_code(status) == ONS_OUT_OF_MEMORY) return status;
    ons_status_free(status);
    for (; s->head->count > count; --s->head->count) {
        ons_value_id value = s->head->sizes[s->head->count - 1].value;
        s->types[value] = value_of(s, value)->type;
    }
    return NULL;
}

/* Gives the biases of a node the new number of classes, where it does not take them otherwise. */
static ons_status *fit_biases(search *s, ons_node_id id, ons_operands *o) {
    const ons_node *node = ons_graph_node(s->graph, id);
    ons_status *status = infer(s, id, o);
    if (status == NULL || ons_status_get_code(status) == ONS_OUT_OF_MEMORY) return status;
    bool fits = false;
    ons_status *failed = NULL;
    for (uint32_t i = 0; i < node->input_count && !fits && failed == NULL; ++i) {
        ons_value_id parameter = node->inputs[i] == ONS_NONE ? ONS_NONE : parameter_of(s, node->inputs[i]);
        if (parameter == ONS_NONE) continue;
        for (uint32_t axis = value_of(s, parameter)->type.shape.rank; axis-- > 0 && !fits && failed == NULL;)
            if (value_of(s, parameter)->type.shape.dims[axis] == s->classes)
                failed = try_axis(s, id, i, axis, o, &fits);
    }
    if (fits || failed != NULL) {
        ons_status_free(status);
        return failed;
    }
    return ons_status_at(status, "--new-head: a layer behind the head does not take another number of classes");
}

/* The weight's axis of classes: the one along which the layer takes another size, and gives it to one axis of its
 * result. */
static ons_status *fit_layer(search *s, ons_node_id id, uint32_t weight, ons_operands *o) {
    const ons_node *node = ons_graph_node(s->graph, id);
    ons_value_id parameter = parameter_of(s, node->inputs[weight]);
    const ons_shape *shape = &value_of(s, parameter)->type.shape;
    for (uint32_t axis = 0; axis < shape->rank; ++axis) {
        bool fits, has_bias = false;
        s->classes = shape->dims[axis];
        s->head->inputs = ons_shape_elements(shape) / (s->classes > 0 ? s->classes : 1);
        uint32_t bias = weight + 1; /* first, as the layer does not take its weight without it */
        ons_value_id behind =
            bias < node->input_count && node->inputs[bias] != ONS_NONE ? parameter_of(s, node->inputs[bias]) : ONS_NONE;
        ons_type kept = behind == ONS_NONE ? (ons_type){0} : s->types[behind];
        uint32_t last = kept.shape.rank - 1;
        if (behind != ONS_NONE && kept.shape.rank > 0 && kept.shape.dims[last] == s->classes) {
            s->types[behind].shape.dims[last] = CLASSES;
            has_bias = true;
        }
        ONS_TRY(try_axis(s, id, weight, axis, o, &fits));
        if (fits && has_bias) {
            ONS_TRY(check_readers(s, behind, id));
            ONS_TRY(add_size(s, behind, last));
        }
        if (fits) return NULL;
        if (behind != ONS_NONE) s->types[behind] = kept;
    }
    return ons_status_new(ONS_UNSUPPORTED, "--new-head: the weight of node '%s' (%s) has no axis of classes",
                          node->name, node->op->name);
}

/* Initialisers first, in the order in which they were found. */
static ons_status *sort_sizes(search *s) {
    ons_head_size *sorted;
    uint32_t count = 0;
    ONS_NEW(sorted, s->arena, s->head->count + 1);
    for (int pass = 0; pass < 2; ++pass) {
        for (uint32_t i = 0; i < s->head->count; ++i)
            if ((value_of(s, s->head->sizes[i].value)->producer != ONS_NONE) == (pass == 1))
                sorted[count++] = s->head->sizes[i];
        if (pass == 0) s->head->parameters = count;
    }
    s->head->sizes = sorted;
    return NULL;
}

static bool reads_changed(const search *s, const ons_node *node) {
    bool any = false;
    for (uint32_t i = 0; i < node->input_count; ++i)
        any |= node->inputs[i] != ONS_NONE &&
               !ons_type_equal(&s->types[node->inputs[i]], &value_of(s, node->inputs[i])->type);
    return any;
}

/* Takes the results of a node behind the layer. Where the layer is only looked at, a node that has its sizes by number
 * ends the way. */
static ons_status *fit_node(search *s, ons_node_id id) {
    ons_operands o;
    bool changed;
    ons_status *status = fit_biases(s, id, &o);
    if (status == NULL) status = take_results(s, id, &o, &changed);
    if (status == NULL || !s->shared || ons_status_get_code(status) == ONS_OUT_OF_MEMORY) return status;
    ons_status_free(status);
    return NULL;
}

static ons_status *search_from(search *s, ons_value_id output) {
    ons_node_id layer;
    uint32_t weight;
    ons_operands o;
    bool changed;
    ONS_TRY(find_layer(s, output, &layer, &weight));
    ONS_TRY(fit_layer(s, layer, weight, &o));
    ONS_TRY(take_results(s, layer, &o, &changed));
    for (ons_node_id id = layer + 1; id < s->graph->nodes.count; ++id)
        if (reads_changed(s, ons_graph_node(s->graph, id))) ONS_TRY(fit_node(s, id));
    ONS_CHECK(s->shared || !ons_type_equal(&s->types[output], &value_of(s, output)->type), ONS_UNSUPPORTED,
              "--new-head: '%s' does not have the classes of node '%s' (%s)", value_of(s, output)->name,
              ons_graph_node(s->graph, layer)->name, ons_graph_node(s->graph, layer)->op->name);
    return sort_sizes(s);
}

ons_status *ons_head_find(const ons_graph *bound, const ons_registry *registry, uint32_t output, bool shared,
                          ons_arena *arena, ons_head *head) {
    search s = {.graph = bound, .registry = registry, .arena = arena, .head = head, .shared = shared};
    *head = (ons_head){0};
    ONS_NEW(head->sizes, arena, 2 * bound->values.count + 1);
    ONS_NEW(s.types, arena, bound->values.count + 1);
    for (ons_value_id id = 0; id < bound->values.count; ++id) s.types[id] = value_of(&s, id)->type;
    return search_from(&s, bound->outputs.items[output]);
}
