#include "graph/passes/fuse_gemm.h"

#include "graph/operands.h"
#include "graph/passes/prune.h"
#include "graph/registry.h"
#include "graph/sharing.h"

enum { VIEWS_MAX = 8 };
/* Two nodes become one, with a view for each between them, or behind a sum. */
enum { ADDED_MAX = 1 + VIEWS_MAX };

typedef struct joiner {
    ons_graph *graph;
    const ons_gemm_fusion *fusion;
    ons_builder builder;
    ons_arena *arena; /* for what follows */
    size_t nodes;     /* before anything is added */
    ons_value_id *root;
    uint32_t *reads;        /* of each root: by nodes that are no views, and by whoever reads the graph's outputs */
    ons_node_id *joined;    /* of each node: the one that it went into; ONS_NONE: none */
    ons_node_id *stands_in; /* of each node: the one that stands in its place; ONS_NONE: none */
    ons_node_id *place;     /* of each node and of each that is added: the node of before where it stands */
    ons_node_id *order;
    bool *placed; /* of each node */
    size_t ordered;
} joiner;

/* ----------------------------------------------------------------------------------------------------------- tables */

static ons_status *make_tables(joiner *j) {
    const ons_graph *graph = j->graph;
    j->nodes = graph->nodes.count;
    ONS_TRY(ons_find_roots(graph, j->arena, &j->root));
    ONS_NEW(j->reads, j->arena, graph->values.count + 1);
    ONS_NEW(j->joined, j->arena, j->nodes + 1);
    ONS_NEW(j->stands_in, j->arena, j->nodes + 1);
    ONS_NEW(j->place, j->arena, j->nodes + (j->nodes + 1) / 2 * ADDED_MAX + 1);
    for (ons_node_id id = 0; id < j->nodes; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        j->joined[id] = j->stands_in[id] = ONS_NONE;
        j->place[id] = id;
        for (uint32_t i = 0; i < node->input_count && !ons_is_view(node->op); ++i)
            if (node->inputs[i] != ONS_NONE) ++j->reads[j->root[node->inputs[i]]];
    }
    for (size_t i = 0; i < graph->outputs.count; ++i) ++j->reads[j->root[graph->outputs.items[i]]];
    return NULL;
}

static bool is_ordinary(const joiner *j, ons_node_id id, uint32_t trait) {
    const ons_node *node = ons_graph_node(j->graph, id);
    return j->joined[id] == ONS_NONE && (node->op->roles.traits & trait) != 0 && node->output_count == 1 &&
           node->outputs[0] != ONS_NONE && ons_graph_value(j->graph, node->outputs[0])->pair == ONS_NONE;
}

/* ---------------------------------------------------------------------------------------------------------- joining */

/* A node with the product's inputs and more, which takes its name and place. Outputs are not set. */
static ons_status *add_joined(joiner *j, const ons_fused_gemm *what, ons_node_id product, const ons_value_id *more,
                              uint32_t more_count, uint32_t outputs, ons_node_id *id) {
    ons_graph *graph = j->graph;
    const ons_node *from = ons_graph_node(graph, product);
    uint32_t count = from->input_count;
    ons_value_id *inputs;
    ONS_NEW(inputs, j->arena, (size_t)count + more_count);
    for (uint32_t i = 0; i < count; ++i) inputs[i] = from->inputs[i];
    for (uint32_t i = 0; i < more_count; ++i) inputs[count + i] = more[i];
    ONS_TRY(ons_graph_add_node(graph, what->op, from->name, what->attributes, inputs, count + more_count, outputs, id));
    ons_graph_take_place(graph, *id, product);
    ons_node *node = ons_graph_node(graph, *id), *was = ons_graph_node(graph, product);
    node->key = was->key;
    node->origin = was->origin == product ? *id : was->origin;
    j->joined[product] = j->stands_in[product] = *id;
    j->place[*id] = product;
    return NULL;
}

static void take_output(joiner *j, ons_node_id from, ons_node_id to, uint32_t index) {
    ons_value_id value = ons_graph_node(j->graph, from)->outputs[0];
    ons_graph_node(j->graph, from)->outputs[0] = ONS_NONE;
    ons_graph_set_output(j->graph, to, index, value);
}

/* A fresh value of `like`'s kind as output of a node. */
static ons_status *add_output(joiner *j, ons_node_id node, uint32_t index, ons_value_id like, const ons_type *type,
                              ons_value_id *result) {
    const ons_value *value = ons_graph_value(j->graph, like);
    ONS_TRY(ons_graph_add_value(j->graph, value->name, value->kind, type, result));
    ons_graph_set_output(j->graph, node, index, *result);
    return NULL;
}

/* A view of `value` that makes `shown`, whose maker is gone. */
static ons_status *add_view(joiner *j, const ons_operator *op, const char *name, const ons_attribute *attributes,
                            const ons_value_id *inputs, uint32_t count, ons_node_id beside, ons_value_id shown) {
    ons_node_id id;
    ONS_TRY(ons_graph_add_node(j->graph, op, name, attributes, inputs, count, 1, &id));
    ons_node *node = ons_graph_node(j->graph, id);
    const ons_node *by = ons_graph_node(j->graph, beside);
    j->place[id] = j->place[beside];
    node->phase = by->phase;
    node->per_step = by->per_step;
    if (node->phase != ONS_FORWARD) node->origin = by->origin;
    ons_graph_set_output(j->graph, id, 0, shown);
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- functions */

/* Views from a product's result to an operand, the operand's own first. */
typedef struct views {
    ons_node_id nodes[VIEWS_MAX];
    uint32_t source[VIEWS_MAX]; /* input that is shown */
    uint32_t count;
    ons_node_id maker;
} views;

static bool shown_input(const ons_operator *op, uint32_t *index) {
    for (const ons_alias *a = op->aliases; a->kind != ONS_ALIAS_END; ++a)
        if (a->kind == ONS_ALIAS_VIEW && a->output == 0) {
            *index = a->input;
            return true;
        }
    return false;
}

/* Views whose other inputs are made by nobody can stand elsewhere. */
static bool can_stand_elsewhere(const ons_graph *graph, const ons_node *view, uint32_t source) {
    for (uint32_t i = 0; i < view->input_count; ++i)
        if (i != source && view->inputs[i] != ONS_NONE && ons_graph_value(graph, view->inputs[i])->producer != ONS_NONE)
            return false;
    return true;
}

static bool look_through(const joiner *j, ons_value_id value, views *v) {
    *v = (views){.count = 0};
    for (;;) {
        v->maker = ons_graph_value(j->graph, value)->producer;
        if (v->maker == ONS_NONE || v->maker >= j->nodes) return false;
        const ons_node *node = ons_graph_node(j->graph, v->maker);
        if (!ons_is_view(node->op)) return true;
        uint32_t source;
        if (v->count == VIEWS_MAX || !shown_input(node->op, &source) || node->output_count != 1 ||
            !can_stand_elsewhere(j->graph, node, source))
            return false;
        v->nodes[v->count] = v->maker;
        v->source[v->count++] = source;
        value = node->inputs[source];
    }
}

/* What the function reads beside the product's result must be there before the product. What has been joined stands
 * where its product stood, so it is no later than what it was made from. */
static bool others_are_there(const joiner *j, const ons_node *function, uint32_t operand, ons_node_id product) {
    ons_value_id result = ons_graph_node(j->graph, product)->outputs[0];
    for (uint32_t i = 0; i < function->input_count; ++i) {
        if (i == operand) continue;
        if (function->inputs[i] == ONS_NONE || j->root[function->inputs[i]] == result) return false;
        ons_node_id maker = ons_graph_value(j->graph, function->inputs[i])->producer;
        if (maker != ONS_NONE && j->place[maker] >= product) return false;
    }
    return true;
}

/* Copies of the views, of the joined node's result, to where the function's result was. */
static ons_status *show_result(joiner *j, const views *v, ons_node_id joined, ons_node_id function,
                               const ons_type *product) {
    ons_value_id shown = ons_graph_node(j->graph, function)->outputs[0], value;
    if (v->count == 0) {
        take_output(j, function, joined, 0);
        return NULL;
    }
    ons_graph_node(j->graph, function)->outputs[0] = ONS_NONE;
    ONS_TRY(add_output(j, joined, 0, shown, product, &value));
    for (uint32_t i = v->count; i-- > 0;) {
        ons_node view = *ons_graph_node(j->graph, v->nodes[i]);
        ons_value_id *inputs, next = shown;
        ONS_NEW(inputs, j->arena, view.input_count);
        for (uint32_t k = 0; k < view.input_count; ++k) inputs[k] = k == v->source[i] ? value : view.inputs[k];
        if (i > 0) {
            ons_type type = ons_graph_value(j->graph, view.outputs[0])->type;
            ONS_TRY(ons_graph_add_value(j->graph, NULL, ons_graph_value(j->graph, shown)->kind, &type, &next));
        }
        ONS_TRY(add_view(j, view.op, view.name, view.attributes, inputs, view.input_count, joined, next));
        value = next;
    }
    return NULL;
}

static ons_status *join_function(joiner *j, ons_node_id function, uint32_t operand, const views *v, bool keeps,
                                 const ons_fused_gemm *what) {
    const ons_node node = *ons_graph_node(j->graph, function);
    ons_type type = ons_graph_value(j->graph, ons_graph_node(j->graph, v->maker)->outputs[0])->type;
    ons_value_id *others;
    ONS_NEW(others, j->arena, node.input_count);
    for (uint32_t i = 0, count = 0; i < node.input_count; ++i)
        if (i != operand) others[count++] = node.inputs[i];
    ons_node_id id;
    ONS_TRY(add_joined(j, what, v->maker, others, node.input_count - 1, keeps ? 2 : 1, &id));
    j->joined[function] = id;
    if (keeps)
        take_output(j, v->maker, id, 1);
    else
        ons_graph_node(j->graph, v->maker)->outputs[0] = ONS_NONE;
    return show_result(j, v, id, function, &type);
}

/* With the product that makes input `operand`. */
static ons_status *try_operand(joiner *j, ons_node_id function, uint32_t operand) {
    const ons_node *node = ons_graph_node(j->graph, function);
    views v;
    if (node->inputs[operand] == ONS_NONE || !look_through(j, node->inputs[operand], &v) ||
        !is_ordinary(j, v.maker, ONS_TRAIT_DENSE))
        return NULL;
    const ons_node *product = ons_graph_node(j->graph, v.maker);
    if (product->phase != node->phase || product->per_step != node->per_step || node->phase == ONS_UPDATE ||
        !others_are_there(j, node, operand, v.maker))
        return NULL;
    bool keeps = j->reads[product->outputs[0]] > 1;
    ons_operands of_product, of_function;
    ons_fused_gemm what = {.op = NULL};
    ONS_TRY(ons_operands_of(j->graph, v.maker, j->arena, &of_product));
    ONS_TRY(ons_operands_of(j->graph, function, j->arena, &of_function));
    return j->fusion->with_function(&of_product, &of_function, operand, keeps, &what)
               ? join_function(j, function, operand, &v, keeps, &what)
               : NULL;
}

static ons_status *try_function(joiner *j, ons_node_id function) {
    uint32_t count = ons_graph_node(j->graph, function)->input_count;
    for (uint32_t i = 0; i < count && is_ordinary(j, function, ONS_TRAIT_ELEMENTWISE); ++i)
        ONS_TRY(try_operand(j, function, i));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- sums */

/* Everything that the product reads is there before the sum. */
static bool is_there_before(const joiner *j, const ons_node *product, ons_node_id sum) {
    for (uint32_t i = 0; i < product->input_count; ++i) {
        ons_node_id maker =
            product->inputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(j->graph, product->inputs[i])->producer;
        if (maker != ONS_NONE && j->place[maker] > sum) return false;
    }
    return true;
}

/* The product's input of which the sum is; ONS_NONE: none. */
static uint32_t find_operand(const joiner *j, const ons_node *product, const ons_node *sum) {
    for (uint32_t i = 0; i < product->input_count; ++i)
        if (product->inputs[i] != ONS_NONE && j->root[product->inputs[i]] == j->root[sum->inputs[0]]) return i;
    return ONS_NONE;
}

static ons_status *join_sum(joiner *j, ons_node_id product, ons_node_id sum, const ons_fused_gemm *what) {
    ons_value_id shown = ons_graph_node(j->graph, sum)->outputs[0];
    ons_type type = ons_graph_value(j->graph, shown)->type;
    ons_node_id id;
    ONS_TRY(add_joined(j, what, product, NULL, 0, 2, &id));
    j->joined[sum] = id;
    take_output(j, product, id, 0);
    if (type.shape.rank == 1) {
        take_output(j, sum, id, 1);
        return NULL;
    }
    ons_graph_node(j->graph, sum)->outputs[0] = ONS_NONE;
    ons_type vector = ons_type_make(type.dtype, (ons_shape){.rank = 1, .dims = {ons_shape_elements(&type.shape)}});
    ons_value_id inputs[2];
    ONS_TRY(add_output(j, id, 1, shown, &vector, &inputs[0]));
    inputs[1] = ons_build_integers(&j->builder, type.shape.dims, type.shape.rank);
    ONS_TRY(ons_builder_finish(&j->builder));
    const ons_attribute attributes[] = {{.kind = ONS_ATTRIBUTE_INT, .i = 1}};
    return add_view(j, ons_registry_role(j->builder.registry, ONS_ROLE_RESHAPE), ons_graph_node(j->graph, sum)->name,
                    attributes, inputs, 2, id, shown);
}

static ons_status *try_sum(joiner *j, ons_node_id sum) {
    const ons_node *node = ons_graph_node(j->graph, sum);
    if (node->op->roles.role != ONS_ROLE_REDUCE_SUM || node->phase == ONS_FORWARD || node->phase == ONS_UPDATE ||
        node->per_step || node->outputs[0] == ONS_NONE || node->inputs[0] == ONS_NONE)
        return NULL;
    for (ons_node_id id = 0; id < j->nodes; ++id) {
        const ons_node *product = ons_graph_node(j->graph, id);
        if (product->origin != node->origin || product->phase != node->phase || product->per_step ||
            !is_ordinary(j, id, ONS_TRAIT_DENSE) || (sum < id && !is_there_before(j, product, sum)))
            continue;
        uint32_t operand = find_operand(j, product, node);
        if (operand == ONS_NONE) continue;
        ons_operands of_product, of_sum;
        ons_fused_gemm what = {.op = NULL};
        ONS_TRY(ons_operands_of(j->graph, id, j->arena, &of_product));
        ONS_TRY(ons_operands_of(j->graph, sum, j->arena, &of_sum));
        if (j->fusion->with_sum(&of_product, &of_sum, operand, &what)) return join_sum(j, id, sum, &what);
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------------- all */

static ons_status *join_all(joiner *j) {
    for (int forward = 1; forward >= 0; --forward)
        for (ons_node_id id = 0; id < j->nodes; ++id)
            if ((ons_graph_node(j->graph, id)->phase == ONS_FORWARD) == (forward == 1)) ONS_TRY(try_function(j, id));
    for (ons_node_id id = 0; id < j->nodes && j->fusion->with_sum != NULL; ++id) ONS_TRY(try_sum(j, id));
    return NULL;
}

/* A node after all that its operands need; few are not where they stood. */
// NOLINTNEXTLINE(misc-no-recursion)
static void put(joiner *j, ons_node_id id) {
    if (j->placed[id]) return;
    j->placed[id] = true;
    const ons_node *node = ons_graph_node(j->graph, id);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_node_id maker =
            node->inputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(j->graph, node->inputs[i])->producer;
        if (maker != ONS_NONE) put(j, maker);
    }
    j->order[j->ordered++] = id;
}

static ons_status *reorder_nodes(joiner *j, ons_tracked_values *tracked) {
    size_t nodes = j->graph->nodes.count;
    if (nodes == j->nodes) return NULL;
    ONS_NEW(j->order, j->arena, nodes + 1);
    ONS_NEW(j->placed, j->arena, nodes + 1);
    for (ons_node_id id = 0; id < nodes; ++id) {
        ons_node *node = ons_graph_node(j->graph, id);
        if (node->origin < j->nodes && j->joined[node->origin] != ONS_NONE) node->origin = j->joined[node->origin];
    }
    for (ons_node_id id = 0; id < j->nodes; ++id) {
        if (j->stands_in[id] != ONS_NONE) put(j, j->stands_in[id]);
        if (j->joined[id] == ONS_NONE) put(j, id);
    }
    /* What is left are nodes that were joined and make nothing any more. */
    for (ons_node_id id = 0; id < nodes; ++id) put(j, id);
    return ons_prune(j->graph, j->order, tracked);
}

ons_status *ons_fuse_gemm(ons_graph *graph, const ons_registry *registry, const ons_gemm_fusion *fusion,
                          ons_tracked_values *tracked) {
    joiner j = {.graph = graph,
                .fusion = fusion,
                .builder = {.graph = graph, .registry = registry, .phase = ONS_WEIGHT_GRADIENT, .origin = ONS_NONE},
                .arena = ons_arena_new()};
    if (j.arena == NULL) return ons_status_out_of_memory();
    ons_status *status = make_tables(&j);
    if (status == NULL) status = join_all(&j);
    if (status == NULL) status = reorder_nodes(&j, tracked);
    ons_arena_free(j.arena);
    return status;
}
