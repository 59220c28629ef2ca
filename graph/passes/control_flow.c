/* Branches, loops and scans: what is known when shapes are bound decides which nodes take their place. A branch taken
 * is copied; a loop is unrolled, its body copied for every step; a branch that depends on data becomes both branches
 * and a choice between their results, element by element. */
#include <stdlib.h>
#include <string.h>

#include "graph/passes/binder.h"

/* Steps of one loop; nodes of a graph with unrolled loops; nodes that are bound for all steps of all loops, also those
 * of which nothing is left: loops in loops multiply. A node that is unrolled also takes as much of what may be computed
 * beforehand (ons_bind_options.folded_most) as NODE_UNITS elements. */
enum { STEPS_MAX = 1 << 12, NODES_MAX = 1 << 16, UNROLLED_MAX = 1 << 17, NODE_UNITS = 400 };

static int64_t folded_most(const binder *b) {
    return b->options->folded_most > 0 ? b->options->folded_most : ONS_FOLDED_MOST;
}

/* ----------------------------------------------------------------------------------------------------------- bodies */

/* A graph inside of a node, bound once for every step. */
typedef struct body {
    binder *b;
    const scope *outer;
    const pending *p;
    const ons_graph *graph;
    ons_value_id *map;
    int64_t steps; /* so far */
    bool blocked;  /* a problem in it was noted: go no further */
} body;

static ons_status *open_body(body *y, uint32_t attribute) {
    const pending *p = y->p;
    y->graph = p->operands.attributes[attribute].graph;
    ONS_CHECK(y->graph != NULL, ONS_INVALID_MODEL, "node '%s' (%s): has no body", p->node->name, p->node->op->name);
    y->map = malloc((y->graph->values.count + 1) * sizeof *y->map);
    if (y->map == NULL) return ons_status_out_of_memory();
    memset(y->map, 0xff, (y->graph->values.count + 1) * sizeof *y->map);
    return NULL;
}

/* Between steps: only the body's own initialisers stay, as all steps share them. */
static void forget_results(body *y) {
    for (size_t i = 0; i < y->graph->values.count; ++i) {
        const ons_value *value = &y->graph->values.items[i];
        if (value->data == ONS_NO_DATA || value->producer != ONS_NONE) y->map[i] = ONS_NONE;
    }
}

/* Statistics are renewed in place, once a step of training. */
static ons_status *refuse_statistics(const body *y, size_t first_node) {
    const ons_graph *to = y->b->to;
    for (size_t i = first_node; i < to->nodes.count; ++i)
        for (const ons_alias *alias = to->nodes.items[i].op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
            ONS_CHECK(
                alias->kind != ONS_ALIAS_STATE, ONS_UNSUPPORTED,
                "node '%s' (%s) keeps running statistics inside of node '%s' (%s), where it runs more or less than "
                "once a step; train with that normalisation in inference form",
                to->nodes.items[i].name, to->nodes.items[i].op->name, y->p->node->name, y->p->node->op->name);
    return NULL;
}

/* Counts nodes that unrolling makes. */
static ons_status *spend(binder *b, const ons_node *node, size_t nodes) {
    int64_t most = folded_most(b) / NODE_UNITS;
    if (most > UNROLLED_MAX) most = UNROLLED_MAX;
    b->unrolled += nodes;
    b->folded += (int64_t)nodes * NODE_UNITS;
    ONS_CHECK(b->unrolled <= (size_t)most && b->folded <= folded_most(b), ONS_UNSUPPORTED,
              "node '%s' (%s): unrolled, the loops of the model are more than %lld nodes, the most for a file of its "
              "size; export it with shorter loops",
              node->name, node->op->name, (long long)most);
    return NULL;
}

/* Binds the body's nodes with the given inputs and resolves all its outputs. */
static ons_status *run_body(body *y, const char *prefix, const ons_value_id *inputs, ons_value_id *outputs) {
    const ons_graph *graph = y->graph;
    size_t blockers = y->b->blockers == NULL ? 0 : y->b->blockers->count, nodes = y->b->to->nodes.count;
    scope inner = {.from = graph, .outer = y->outer, .map = y->map, .prefix = prefix};
    if (y->steps++ > 0) forget_results(y);
    ONS_TRY(spend(y->b, y->p->node, graph->nodes.count + 1));
    for (size_t i = 0; i < graph->inputs.count; ++i) y->map[graph->inputs.items[i]] = inputs[i];
    ONS_TRY(ons_bind_nodes(y->b, &inner));
    for (size_t i = 0; i < graph->outputs.count; ++i)
        ONS_TRY(ons_bind_resolve(y->b, &inner, graph->outputs.items[i], &outputs[i]));
    y->blocked = y->b->blockers != NULL && y->b->blockers->count > blockers;
    ONS_CHECK(y->b->to->nodes.count < NODES_MAX && y->steps <= STEPS_MAX, ONS_UNSUPPORTED,
              "node '%s' (%s): unrolled, it is more than %d nodes or %d steps; export the model with a shorter loop",
              y->p->node->name, y->p->node->op->name, NODES_MAX, STEPS_MAX);
    return prefix == y->outer->prefix ? NULL : refuse_statistics(y, nodes);
}

/* "loop/3/": in front of the names of what step 3 makes. */
static ons_status *step_prefix(const body *y, int64_t step, const char **prefix) {
    *prefix = ons_arena_format(y->b->to->arena, "%s/%lld/", y->p->name, (long long)step);
    return *prefix == NULL ? ons_status_out_of_memory() : NULL;
}

/* A constant of one element, as an integer; false where it depends on data. */
static bool known_integer(const binder *b, ons_value_id id, int64_t *value) {
    const ons_tensor *tensor = id == ONS_NONE || ons_bind_is_sequence(id) ? NULL : ons_graph_constant(b->to, id);
    if (tensor == NULL || tensor->data == NULL || ons_shape_elements(&tensor->type.shape) != 1) return false;
    switch (tensor->type.dtype) {
    case ONS_BOOL: *value = *(const uint8_t *)tensor->data; return true;
    case ONS_INT32: *value = *(const int32_t *)tensor->data; return true;
    case ONS_INT64: memcpy(value, tensor->data, sizeof *value); return true;
    default: return false;
    }
}

/* --------------------------------------------------------------------------------------------------------- branches */

static ons_status *bind_branch(binder *b, scope *s, const pending *p, uint32_t which, ons_value_id *outputs) {
    const ons_operands *o = &p->operands;
    body y = {.b = b, .outer = s, .p = p};
    ONS_TRY(open_body(&y, which));
    ons_value_id *all = calloc(y.graph->outputs.count + 1, sizeof *all);
    ons_status *status = all == NULL ? ons_status_out_of_memory() : NULL;
    if (status == NULL && (y.graph->outputs.count < p->node->output_count || y.graph->inputs.count > 0))
        status =
            ons_status_new(ONS_INVALID_MODEL, "node '%s' (%s): the branch has %zu outputs and %zu inputs, the node %u",
                           o->name, o->op->name, y.graph->outputs.count, y.graph->inputs.count, p->node->output_count);
    if (status == NULL) status = run_body(&y, s->prefix, NULL, all);
    for (uint32_t i = 0; status == NULL && i < p->node->output_count; ++i) outputs[i] = all[i];
    free(all);
    free(y.map);
    return status;
}

/* The elements of one branch or the other. */
static ons_status *choose(binder *b, const pending *p, ons_value_id condition, ons_value_id yes, ons_value_id no,
                          ons_value_id *result) {
    const char *where = p->node->name, *what = p->node->op->name;
    *result = yes;
    if (yes == no || yes == ONS_NONE || no == ONS_NONE) return NULL;
    ONS_CHECK(
        !ons_bind_is_sequence(yes) && !ons_bind_is_sequence(no), ONS_UNSUPPORTED,
        "node '%s' (%s): the condition depends on data and chooses between sequences of tensors; export the model with "
        "fixed shapes, so that it is constant",
        where, what);
    ons_type left = ons_graph_value(b->to, yes)->type, right = ons_graph_value(b->to, no)->type;
    char one[ONS_TYPE_TEXT], other[ONS_TYPE_TEXT];
    ONS_CHECK(left.dtype == right.dtype && ons_shape_equal(&left.shape, &right.shape), ONS_UNSUPPORTED,
              "node '%s' (%s): the condition depends on data, and the branches make %s and %s; export the model with "
              "fixed shapes, so that it is constant",
              where, what, ons_type_print(&left, one), ons_type_print(&right, other));
    return ons_bind_build(b, ons_registry_role(b->registry, ONS_ROLE_SELECT), p->name, ONS_IN(condition, yes, no),
                          ONS_DEFAULTS, result);
}

/* Both branches run, and each element of the results is chosen. */
static ons_status *bind_both_branches(binder *b, scope *s, const pending *p, ons_value_id *no) {
    const ons_operands *o = &p->operands;
    size_t nodes = b->to->nodes.count;
    ONS_CHECK(ons_shape_elements(&o->inputs[0].shape) == 1 && o->inputs[0].dtype == ONS_BOOL, ONS_INVALID_MODEL,
              "node '%s' (%s): the condition must be one boolean", o->name, o->op->name);
    ONS_TRY(bind_branch(b, s, p, 0, p->outputs));
    ONS_TRY(bind_branch(b, s, p, 1, no));
    ONS_TRY(refuse_statistics(&(body){.b = b, .p = p}, nodes));
    ons_value_id condition = p->inputs[0];
    if (o->inputs[0].shape.rank > 0)
        ONS_TRY(ons_bind_build(b, ons_registry_role(b->registry, ONS_ROLE_RESHAPE), p->name,
                               ONS_IN(condition, ons_build_integers(&b->builder, NULL, 0)), ONS_DEFAULTS, &condition));
    for (uint32_t i = 0; i < p->node->output_count; ++i)
        if (p->used[i]) ONS_TRY(choose(b, p, condition, p->outputs[i], no[i], &p->outputs[i]));
    return NULL;
}

ons_status *ons_bind_branches(binder *b, scope *s, pending *p) {
    int64_t condition;
    ons_value_id *no;
    if (known_integer(b, p->inputs[0], &condition)) return bind_branch(b, s, p, condition != 0 ? 0 : 1, p->outputs);
    ONS_NEW(no, p->scratch, p->node->output_count + 1);
    return bind_both_branches(b, s, p, no);
}

/* ------------------------------------------------------------------------------------------------------------ loops */

typedef ONS_VECTOR(ons_value_id) collected;

/* Values that go through the steps of a loop or scan: what the body takes, what it gives, and what is collected. */
typedef struct passage {
    body y;
    uint32_t states, results; /* carried values; outputs that are collected */
    ons_value_id *inputs, *outputs;
    collected *items; /* of each result */
    bool imagined;    /* no step runs: the items are there for their types */
} passage;

static ons_status *open_passage(passage *g, size_t results) {
    ONS_TRY(open_body(&g->y, 0));
    g->results = (uint32_t)results;
    ONS_NEW(g->inputs, g->y.b->to->arena, g->y.graph->inputs.count + 1);
    ONS_NEW(g->outputs, g->y.b->to->arena, g->y.graph->outputs.count + 1);
    ONS_NEW(g->items, g->y.b->to->arena, results + 1);
    return NULL;
}

static void close_passage(passage *g) {
    for (uint32_t i = 0; g->items != NULL && i < g->results; ++i) ons_vector_free(&g->items[i]);
    free(g->y.map);
}

/* One step: the states among the outputs, from `first_output` on, become inputs again, from `first_input` on. */
static ons_status *step_passage(passage *g, uint32_t first_input, uint32_t first_output) {
    const char *prefix;
    ONS_TRY(step_prefix(&g->y, g->y.steps, &prefix));
    ONS_TRY(run_body(&g->y, prefix, g->inputs, g->outputs));
    for (uint32_t i = 0; i < g->states; ++i) g->inputs[first_input + i] = g->outputs[first_output + i];
    for (uint32_t i = 0; i < g->results; ++i) ONS_PUSH(&g->items[i], g->outputs[first_output + g->states + i]);
    return NULL;
}

/* Where no step runs, one is bound for the types of what would be collected. Nothing reads it, so pruning takes it. */
static ons_status *imagine_step(passage *g, const pending *p, uint32_t first_input, uint32_t first_output) {
    bool collects = false;
    for (uint32_t i = g->states; i < p->node->output_count; ++i) collects |= p->used[i];
    if (!collects) return NULL;
    size_t count = g->y.graph->inputs.count;
    ons_value_id *kept;
    ONS_NEW(kept, g->y.b->to->arena, count + 1);
    memcpy(kept, g->inputs, count * sizeof *kept);
    g->imagined = true;
    ONS_TRY(step_passage(g, first_input, first_output));
    memcpy(g->inputs, kept, count * sizeof *kept);
    return NULL;
}

/* A tensor of that type. */
static ons_status *make_zeros(binder *b, const char *name, const ons_type *type, ons_value_id *result) {
    int64_t elements = ons_shape_elements(&type->shape);
    ONS_CHECK(
        elements <= folded_most(b) - b->folded, ONS_UNSUPPORTED,
        "node '%s': goes through no step of tensors of %lld elements, too many to make one for their type; export "
        "the model without that node",
        name, (long long)elements);
    b->folded += elements;
    void *words = calloc((size_t)elements + 1, 8);
    if (words == NULL) return ons_status_out_of_memory();
    *result = ons_build_constant(&b->builder, name, type, words);
    free(words);
    return ons_builder_finish(&b->builder);
}

/* What was collected, as one tensor with the steps along an axis. */
static ons_status *join_result(passage *g, const pending *p, uint32_t result, int64_t axis, bool backwards,
                               ons_value_id *value) {
    collected *items = &g->items[result];
    for (size_t i = 0; i < items->count; ++i) {
        if (items->items[i] == ONS_NONE) return NULL;
        ONS_CHECK(!ons_bind_is_sequence(items->items[i]), ONS_INVALID_MODEL,
                  "node '%s' (%s): sequences of tensors cannot be stacked", p->node->name, p->node->op->name);
    }
    for (size_t i = 0; backwards && i < items->count / 2; ++i) {
        ons_value_id other = items->items[items->count - 1 - i];
        items->items[items->count - 1 - i] = items->items[i];
        items->items[i] = other;
    }
    ONS_TRY(spend(g->y.b, p->node, items->count));
    uint32_t resolved, rank = ons_graph_value(g->y.b->to, items->items[0])->type.shape.rank + 1;
    ONS_CHECK(ons_axis_resolve(axis, rank, &resolved), ONS_INVALID_MODEL,
              "node '%s' (%s): output axis %lld of a tensor of rank %u", p->node->name, p->node->op->name,
              (long long)axis, rank);
    if (!g->imagined) return ons_bind_stack(g->y.b, p->name, items->items, (uint32_t)items->count, resolved, value);
    ons_type type = ons_graph_value(g->y.b->to, items->items[0])->type;
    ONS_CHECK(type.shape.rank < ONS_RANK_MAX, ONS_UNSUPPORTED, "node '%s' (%s): stacks tensors of rank %u",
              p->node->name, p->node->op->name, type.shape.rank);
    for (uint32_t i = type.shape.rank++; i > resolved; --i) type.shape.dims[i] = type.shape.dims[i - 1];
    type.shape.dims[resolved] = 0;
    return make_zeros(g->y.b, p->name, &type, value);
}

/* Trip count and condition of a loop, one integer each. */
static ons_status *find_limit(const binder *b, const ons_node *node, ons_value_id id, uint32_t input, int64_t *value) {
    static const char *const what[] = {"the trip count depends on data, so the loop cannot be unrolled",
                                       "whether the loop begins depends on data"};
    ONS_CHECK(id == ONS_NONE || known_integer(b, id, value), ONS_UNSUPPORTED,
              "node '%s' (%s): %s; export the model with a fixed number of steps", node->name, node->op->name,
              what[input]);
    return NULL;
}

ons_status *ons_bind_check_hanging(const binder *b, const ons_node *node, const ons_value_id *inputs) {
    int64_t value;
    ONS_CHECK(!(node->op->roles.traits & ONS_TRAIT_QUANTIZED), ONS_UNSUPPORTED,
              "node '%s' (%s): %s; train the float model and quantise it afterwards", node->name, node->op->name,
              node->op->gradient.why_not);
    if (!(node->op->roles.traits & ONS_TRAIT_LOOP)) return NULL;
    for (uint32_t i = 0; i < 2 && i < node->input_count; ++i) ONS_TRY(find_limit(b, node, inputs[i], i, &value));
    return NULL;
}

/* How often, as far as that is known before the first step. */
static ons_status *find_trips(const binder *b, const pending *p, int64_t *trips, bool *by_condition) {
    const ons_operands *o = &p->operands;
    int64_t condition = 1;
    *trips = INT64_MAX;
    *by_condition = ons_has_input(o, 1);
    if (ons_has_input(o, 0)) ONS_TRY(find_limit(b, p->node, p->inputs[0], 0, trips));
    if (*by_condition) ONS_TRY(find_limit(b, p->node, p->inputs[1], 1, &condition));
    ONS_CHECK(*by_condition || *trips != INT64_MAX, ONS_UNSUPPORTED,
              "node '%s' (%s): the loop has neither a trip count nor a condition, and never ends", o->name,
              o->op->name);
    if (condition == 0) *trips = 0;
    return NULL;
}

static ons_status *start_step(passage *g, const pending *p, int64_t step) {
    binder *b = g->y.b;
    int64_t yes = 1;
    ons_type flag = {.dtype = ONS_BOOL};
    b->builder.name = p->name;
    if (g->y.graph->inputs.count > 0) g->inputs[0] = ons_build_scalar(&b->builder, ONS_INT64, (double)step);
    if (g->y.graph->inputs.count > 1) g->inputs[1] = ons_build_constant(&b->builder, p->name, &flag, &yes);
    return ons_builder_finish(&b->builder);
}

static ons_status *run_loop(passage *g, const pending *p) {
    binder *b = g->y.b;
    const char *where = p->node->name, *what = p->node->op->name;
    int64_t trips, condition = 1;
    bool by_condition;
    ONS_TRY(find_trips(b, p, &trips, &by_condition));
    for (int64_t i = 0; i < trips && condition != 0 && !g->y.blocked; ++i) {
        ONS_TRY(start_step(g, p, i));
        ONS_TRY(step_passage(g, 2, 1));
        bool goes_on = !by_condition || i + 1 == trips || g->y.blocked;
        ONS_CHECK(goes_on || known_integer(b, g->outputs[0], &condition), ONS_UNSUPPORTED,
                  "node '%s' (%s): whether the loop goes on after step %lld depends on data; export the model with a "
                  "fixed number of steps",
                  where, what, (long long)i);
    }
    if (trips <= 0) ONS_TRY(start_step(g, p, 0));
    if (trips <= 0) ONS_TRY(imagine_step(g, p, 2, 1));
    for (uint32_t i = 0; i < p->node->output_count; ++i)
        if (i < g->states)
            p->outputs[i] = g->y.blocked ? ONS_NONE : g->inputs[2 + i];
        else if (p->used[i] && !g->y.blocked)
            ONS_TRY(join_result(g, p, i - g->states, 0, false, &p->outputs[i]));
    return NULL;
}

ons_status *ons_bind_loop(binder *b, scope *s, pending *p) {
    const ons_graph *graph = p->operands.attributes[0].graph;
    uint32_t given = p->node->input_count < 2 ? 0 : p->node->input_count - 2;
    ONS_CHECK(graph != NULL && graph->inputs.count == given + 2 && graph->outputs.count >= given + 1 &&
                  p->node->output_count <= graph->outputs.count - 1,
              ONS_INVALID_MODEL, "node '%s' (%s): the inputs and outputs of the body do not fit the node's",
              p->node->name, p->node->op->name);
    passage g = {.y = {.b = b, .outer = s, .p = p}, .states = given};
    ons_status *status = open_passage(&g, graph->outputs.count - 1 - given);
    for (uint32_t i = 0; status == NULL && i < given; ++i) g.inputs[2 + i] = p->inputs[2 + i];
    if (status == NULL) status = run_loop(&g, p);
    close_passage(&g);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ scans */

enum { SCAN_COUNT = 1, SCAN_INPUT_AXES, SCAN_INPUT_DIRECTIONS, SCAN_OUTPUT_AXES, SCAN_OUTPUT_DIRECTIONS, SCAN_BATCHED };

static int64_t listed(const pending *p, uint32_t attribute, uint32_t index) {
    const ons_attribute *list = &p->operands.attributes[attribute];
    return list->kind == ONS_ATTRIBUTE_INTS && index < list->count ? list->ints[index] : 0;
}

/* Of tensors without a step: what a step would be given. */
static ons_status *imagine_pieces(passage *g, const pending *p, const ons_value_id *inputs, uint32_t scanned) {
    binder *b = g->y.b;
    for (uint32_t i = 0; i < scanned; ++i) {
        ons_type type = ons_graph_value(b->to, inputs[g->states + i])->type;
        uint32_t axis = 0;
        ons_axis_resolve(listed(p, SCAN_INPUT_AXES, i), type.shape.rank, &axis);
        for (uint32_t k = axis; k + 1 < type.shape.rank; ++k) type.shape.dims[k] = type.shape.dims[k + 1];
        type.shape.dims[--type.shape.rank] = 0;
        ONS_TRY(make_zeros(b, p->name, &type, &g->inputs[g->states + i]));
    }
    return NULL;
}

/* One scan: `inputs` are the states and then the tensors to go through; `outputs` as the node's. */
static ons_status *run_scan(passage *g, const pending *p, const ons_value_id *inputs, uint32_t scanned,
                            ons_value_id **pieces, ons_value_id *outputs) {
    binder *b = g->y.b;
    const char *where = p->node->name, *what = p->node->op->name;
    int64_t length = 0;
    for (uint32_t i = 0; i < scanned; ++i) {
        ons_value_id value = inputs[g->states + i];
        uint32_t axis;
        ONS_CHECK(!ons_bind_is_sequence(value), ONS_INVALID_MODEL, "node '%s' (%s): scans a sequence of tensors", where,
                  what);
        ons_shape shape = ons_graph_value(b->to, value)->type.shape;
        ONS_CHECK(ons_axis_resolve(listed(p, SCAN_INPUT_AXES, i), shape.rank, &axis), ONS_INVALID_MODEL,
                  "node '%s' (%s): axis %lld of a tensor of rank %u", where, what,
                  (long long)listed(p, SCAN_INPUT_AXES, i), shape.rank);
        ONS_CHECK(i == 0 || shape.dims[axis] == length, ONS_INVALID_MODEL,
                  "node '%s' (%s): the scanned tensors are of length %lld and %lld", where, what, (long long)length,
                  (long long)shape.dims[axis]);
        length = shape.dims[axis];
        ONS_CHECK(length <= STEPS_MAX, ONS_UNSUPPORTED, "node '%s' (%s): %lld steps are too many to unroll, at most %d",
                  where, what, (long long)length, STEPS_MAX);
        ONS_TRY(spend(b, p->node, (size_t)length));
        pieces[i] = calloc((size_t)length + 1, sizeof *pieces[i]);
        if (pieces[i] == NULL) return ons_status_out_of_memory();
        ONS_TRY(ons_bind_unstack(b, p->name, value, axis, pieces[i]));
    }
    for (uint32_t i = 0; i < g->states; ++i) g->inputs[i] = inputs[i];
    for (int64_t step = 0; step < length && !g->y.blocked; ++step) {
        for (uint32_t i = 0; i < scanned; ++i)
            g->inputs[g->states + i] = pieces[i][listed(p, SCAN_INPUT_DIRECTIONS, i) != 0 ? length - 1 - step : step];
        ONS_TRY(step_passage(g, 0, 0));
    }
    if (length == 0) {
        ONS_TRY(imagine_pieces(g, p, inputs, scanned));
        ONS_TRY(imagine_step(g, p, 0, 0));
    }
    for (uint32_t i = 0; i < p->node->output_count && !g->y.blocked; ++i)
        if (i < g->states)
            outputs[i] = g->inputs[i];
        else if (p->used[i])
            ONS_TRY(join_result(g, p, i - g->states, listed(p, SCAN_OUTPUT_AXES, i - g->states),
                                listed(p, SCAN_OUTPUT_DIRECTIONS, i - g->states) != 0, &outputs[i]));
    return NULL;
}

static ons_status *scan_once(binder *b, scope *s, const pending *p, const ons_value_id *inputs, uint32_t count,
                             uint32_t scanned, ons_value_id *outputs) {
    const ons_graph *graph = p->operands.attributes[0].graph;
    uint32_t states = count - scanned;
    passage g = {.y = {.b = b, .outer = s, .p = p}, .states = states};
    ons_value_id **pieces = calloc(scanned + 1, sizeof *pieces);
    ons_status *status = pieces == NULL ? ons_status_out_of_memory() : open_passage(&g, graph->outputs.count - states);
    if (status == NULL) status = run_scan(&g, p, inputs, scanned, pieces, outputs);
    for (uint32_t i = 0; pieces != NULL && i < scanned; ++i) free(pieces[i]);
    free(pieces);
    close_passage(&g);
    return status;
}

/* Opset 8: every operand has the samples along axis 0, and each sample is scanned on its own. */
static ons_status *scan_samples(binder *b, scope *s, const pending *p, const ons_value_id *inputs, uint32_t count,
                                uint32_t scanned) {
    const char *where = p->node->name, *what = p->node->op->name;
    int64_t samples = 0;
    ons_arena *scratch = p->scratch;
    ons_value_id **parts, *each, *results;
    ONS_NEW(parts, scratch, count + 1);
    ONS_NEW(each, scratch, count + 1);
    for (uint32_t i = 0; i < count; ++i) {
        ons_shape shape = ons_graph_value(b->to, inputs[i])->type.shape;
        ONS_CHECK(shape.rank > 0 && (i == 0 || shape.dims[0] == samples) && shape.dims[0] <= STEPS_MAX,
                  ONS_INVALID_MODEL, "node '%s' (%s): the operands do not have the same samples along axis 0", where,
                  what);
        samples = shape.dims[0];
        ONS_TRY(spend(b, p->node, (size_t)samples));
        ONS_NEW(parts[i], scratch, (size_t)samples + 1);
        ONS_TRY(ons_bind_unstack(b, p->name, inputs[i], 0, parts[i]));
    }
    uint32_t outputs = p->node->output_count;
    ONS_NEW(results, scratch, ((size_t)samples + 1) * (outputs + 1));
    for (int64_t n = 0; n < samples; ++n) {
        for (uint32_t i = 0; i < count; ++i) each[i] = parts[i][n];
        for (uint32_t i = 0; i < outputs; ++i) p->outputs[i] = ONS_NONE;
        ONS_TRY(scan_once(b, s, p, each, count, scanned, p->outputs));
        for (uint32_t i = 0; i < outputs; ++i) {
            if (p->used[i] && p->outputs[i] == ONS_NONE) return NULL; /* a blocker was noted */
            results[i * samples + n] = p->outputs[i];
        }
    }
    for (uint32_t i = 0; i < outputs; ++i)
        if (p->used[i])
            ONS_TRY(ons_bind_stack(b, p->name, results + i * samples, (uint32_t)samples, 0, &p->outputs[i]));
    return NULL;
}

ons_status *ons_bind_scan(binder *b, scope *s, pending *p) {
    const ons_graph *graph = p->operands.attributes[0].graph;
    const ons_attribute *scans = &p->operands.attributes[SCAN_COUNT];
    bool batched = p->operands.attributes[SCAN_BATCHED].i != 0;
    uint32_t first = batched ? 1 : 0, count = p->node->input_count < first ? 0 : p->node->input_count - first;
    const char *where = p->node->name, *what = p->node->op->name;
    ONS_CHECK(graph != NULL && scans->i >= 1 && scans->i <= count && graph->inputs.count == count &&
                  graph->outputs.count >= count - (uint32_t)scans->i && p->node->output_count <= graph->outputs.count,
              ONS_INVALID_MODEL, "node '%s' (%s): the inputs and outputs of the body do not fit the node's", where,
              what);
    for (uint32_t i = first; i < p->node->input_count; ++i)
        ONS_CHECK(p->inputs[i] != ONS_NONE, ONS_INVALID_MODEL, "node '%s' (%s): input %u is missing", where, what, i);
    if (!batched) return scan_once(b, s, p, p->inputs, count, (uint32_t)scans->i, p->outputs);
    ONS_CHECK(p->inputs[0] == ONS_NONE, ONS_UNSUPPORTED,
              "node '%s' (%s): sequences of different lengths; export the model with opset 9 or later", where, what);
    return scan_samples(b, s, p, p->inputs + first, count, (uint32_t)scans->i);
}
