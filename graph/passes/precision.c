#include "graph/passes/precision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "graph/passes/masters.h"
#include "graph/passes/prune.h"

typedef struct lowering {
    ons_graph *graph;
    const ons_registry *registry;
    const ons_operator *cast;
    ons_dtype low;
    size_t values;       /* of the graph as it was; those that are put in come after them */
    bool *lowered;       /* of each of these: it has the low type now */
    ons_value_id *other; /* of each of these: in the other type; ONS_NONE: not made yet */
    ONS_VECTOR(ons_node_id) order;
    ons_precision_table *table;
} lowering;

/* How a node is to compute. */
typedef enum choice {
    ALL_FULL,
    ALL_LOW,
    CONSTANTS_FULL, /* low but for its constants: the scales of a Resize, say */
} choice;

/* ------------------------------------------------------------------------------------------------------------ casts */

static bool is_weight(const ons_value *value) {
    return value->producer == ONS_NONE && (value->kind == ONS_PARAMETER || value->kind == ONS_BUFFER);
}

static ons_status *cast(lowering *l, ons_value_id value, ons_dtype to, ons_node_id origin, ons_value_id *result) {
    ons_builder b = {
        .graph = l->graph,
        .registry = l->registry,
        .phase = ONS_FORWARD,
        .origin = origin,
        .name = ons_arena_format(l->graph->arena, "%s/%s", ons_graph_value(l->graph, value)->name, ons_dtype_name(to)),
    };
    *result = ons_build(&b, l->cast, ONS_IN(value), ONS_WITH(ONS_AT_INT(0, to)));
    ONS_TRY(ons_builder_finish(&b));
    ONS_PUSH(&l->order, (ons_node_id)(l->graph->nodes.count - 1));
    l->table->casts += 1;
    return NULL;
}

/* The largest finite number of a type. */
static double largest(ons_dtype low) { return low == ONS_FLOAT16 ? 65504 : 0x1.fep127; }

static ons_status *convert_constant(lowering *l, ons_value_id value, ons_value_id *result) {
    const ons_tensor *known = ons_graph_constant(l->graph, value);
    int64_t count = ons_shape_elements(&known->type.shape);
    double *words = malloc(((size_t)count + 1) * sizeof *words), limit = largest(l->low);
    if (words == NULL) return ons_status_out_of_memory();
    ons_widen(known->type.dtype, known->data, count, words);
    for (int64_t i = 0; i < count; ++i)
        if (isfinite(words[i]) && fabs(words[i]) > limit) words[i] = copysign(limit, words[i]);
    ons_builder b = {.graph = l->graph, .registry = l->registry, .origin = ONS_NONE};
    ons_type type = ons_type_make(l->low, known->type.shape);
    const char *name =
        ons_arena_format(l->graph->arena, "%s/%s", ons_graph_value(l->graph, value)->name, ons_dtype_name(l->low));
    *result = ons_build_constant(&b, name, &type, words);
    free(words);
    return ons_builder_finish(&b);
}

/* `value`, one of the graph as it was, as node `user` reads it. */
static ons_status *in_precision(lowering *l, ons_value_id value, bool low, ons_node_id user, ons_value_id *result) {
    *result = value;
    if (l->lowered[value] == low || ons_graph_value(l->graph, value)->type.dtype != (low ? ONS_FLOAT32 : l->low))
        return NULL;
    if (is_weight(ons_graph_value(l->graph, value))) { /* every use has its own: see ons_share_weight_casts */
        l->table->weight_casts += 1;
        return cast(l, value, l->low, user, result);
    }
    if (l->other[value] == ONS_NONE) {
        if (ons_graph_constant(l->graph, value) != NULL)
            ONS_TRY(convert_constant(l, value, &l->other[value]));
        else
            ONS_TRY(cast(l, value, low ? l->low : ONS_FLOAT32, ONS_NONE, &l->other[value]));
    }
    *result = l->other[value];
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- choices */

/* An input that stays float32 whatever the node computes in. */
static bool stays(const ons_operator *op, uint32_t input) {
    return input < 32 && ((op->roles.statistics | op->roles.full) >> input & 1) != 0;
}

static bool becomes_low(const lowering *l, const ons_node *node, uint32_t input, choice chosen) {
    ons_value_id value = node->inputs[input];
    if (chosen == ALL_FULL || value == ONS_NONE || stays(node->op, input)) return false;
    return l->lowered[value] || chosen == ALL_LOW || ons_graph_constant(l->graph, value) == NULL;
}

static bool reads_low(const lowering *l, const ons_node *node) {
    bool any = false;
    for (uint32_t i = 0; i < node->input_count; ++i)
        any |= node->inputs[i] != ONS_NONE && l->lowered[node->inputs[i]] && !stays(node->op, i);
    return any;
}

/* The operands as they would be. Contents that are converted are as good as unknown. */
static ons_status *choose_operands(const lowering *l, ons_node_id id, choice chosen, ons_arena *scratch,
                                   ons_operands *o, bool *any) {
    const ons_node *node = ons_graph_node(l->graph, id);
    ons_type *inputs;
    ons_tensor *constants;
    ONS_TRY(ons_operands_of(l->graph, id, scratch, o));
    ONS_NEW(inputs, scratch, o->input_count + 1);
    ONS_NEW(constants, scratch, o->input_count + 1);
    *any = false;
    for (uint32_t i = 0; i < o->input_count; ++i) {
        inputs[i] = o->inputs[i];
        constants[i] = o->constants[i];
        if (node->inputs[i] == ONS_NONE) continue;
        bool low = becomes_low(l, node, i, chosen);
        if (low && inputs[i].dtype == ONS_FLOAT32) {
            inputs[i].dtype = constants[i].type.dtype = l->low;
            constants[i].data = NULL;
        } else if (!low && l->lowered[node->inputs[i]]) {
            inputs[i].dtype = ONS_FLOAT32;
        }
        *any |= inputs[i].dtype == l->low;
    }
    o->inputs = inputs;
    o->constants = constants;
    return NULL;
}

/* Whether the operator takes its operands so; the types of its results. */
static bool takes(const lowering *l, ons_node_id id, ons_operands *o) {
    const ons_node *node = ons_graph_node(l->graph, id);
    ons_status *problem = ons_operands_infer(o);
    bool fits = problem == NULL;
    ons_status_free(problem);
    for (uint32_t i = 0; fits && i < node->output_count; ++i) { /* a state has the type of what it replaces */
        const ons_value *value = node->outputs[i] == ONS_NONE ? NULL : ons_graph_value(l->graph, node->outputs[i]);
        fits = value == NULL || value->pair == ONS_NONE || value->type.dtype == o->outputs[i].dtype;
    }
    return fits;
}

static ons_status *choose(const lowering *l, ons_node_id id, ons_arena *scratch, choice *chosen, ons_operands *o) {
    const ons_node *node = ons_graph_node(l->graph, id);
    ons_precision_class class = ons_roles_precision(&node->op->roles);
    if (class == ONS_PRECISION_LOW || (class == ONS_PRECISION_FOLLOWS && reads_low(l, node)))
        for (*chosen = ALL_LOW; *chosen <= CONSTANTS_FULL; ++*chosen) {
            bool any;
            ONS_TRY(choose_operands(l, id, *chosen, scratch, o, &any));
            if (any && takes(l, id, o)) return NULL;
        }
    *chosen = ALL_FULL;
    return NULL;
}

static bool has_floats(const lowering *l, const ons_node *node) {
    bool any = false;
    for (uint32_t i = 0; i < node->input_count; ++i)
        any |=
            node->inputs[i] != ONS_NONE && ons_dtype_is_float(ons_graph_value(l->graph, node->inputs[i])->type.dtype);
    return any;
}

static ons_status *count_node(lowering *l, const ons_node *node, bool low) {
    ons_precision_table *t = l->table;
    uint32_t at = 0;
    if (!has_floats(l, node)) return NULL;
    while (at < t->count && strcmp(t->rows[at].op->name, node->op->name) < 0) ++at;
    if (at == t->count || t->rows[at].op != node->op) {
        memmove(t->rows + at + 1, t->rows + at, (t->count++ - at) * sizeof t->rows[0]);
        t->rows[at] = (ons_precision_row){.op = node->op};
    }
    *(low ? &t->rows[at].low : &t->rows[at].full) += 1;
    return NULL;
}

static ons_status *lower_node(lowering *l, ons_node_id id, ons_arena *scratch) {
    ons_operands o;
    choice chosen;
    ONS_TRY(choose(l, id, scratch, &chosen, &o));
    ons_node node = *ons_graph_node(l->graph, id); /* a copy: casts move the array, not the ids that it points to */
    for (uint32_t i = 0; i < node.input_count; ++i)
        if (node.inputs[i] != ONS_NONE)
            ONS_TRY(in_precision(l, node.inputs[i], becomes_low(l, &node, i, chosen), id, &node.inputs[i]));
    for (uint32_t i = 0; chosen != ALL_FULL && i < node.output_count; ++i) {
        ons_value *value = node.outputs[i] == ONS_NONE ? NULL : ons_graph_value(l->graph, node.outputs[i]);
        if (value == NULL || value->type.dtype != ONS_FLOAT32 || o.outputs[i].dtype != l->low) continue;
        value->type.dtype = l->low;
        l->lowered[node.outputs[i]] = true;
    }
    ONS_PUSH(&l->order, id);
    return count_node(l, &node, chosen != ALL_FULL);
}

static ons_status *lower_all(lowering *l) {
    size_t nodes = l->graph->nodes.count;
    for (ons_node_id id = 0; id < nodes; ++id) {
        ons_arena *scratch = ons_arena_new();
        ons_status *status = scratch == NULL ? ons_status_out_of_memory() : lower_node(l, id, scratch);
        ons_arena_free(scratch);
        ONS_TRY(status);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- ends */

/* The model's outputs, and what the caller tracks, in their own types. What is tracked is an output for as long as it
 * takes to prune. */
static ons_status *finish(lowering *l, ons_tracked_values *tracked) {
    ons_graph *graph = l->graph;
    size_t outputs = graph->outputs.count;
    for (size_t i = 0; i < outputs; ++i)
        ONS_TRY(in_precision(l, graph->outputs.items[i], false, ONS_NONE, &graph->outputs.items[i]));
    for (size_t i = 0; i < ons_tracked_count(tracked); ++i) {
        ons_value_id *id = &tracked->ids[i];
        if (*id == ONS_NONE) continue;
        ONS_TRY(in_precision(l, *id, false, ONS_NONE, id));
        ONS_PUSH(&graph->outputs, *id);
    }
    ONS_TRY(ons_prune(graph, l->order.items, tracked));
    graph->outputs.count = outputs;
    return NULL;
}

ons_status *ons_lower_precision(ons_graph *graph, const ons_registry *registry, ons_dtype low,
                                ons_tracked_values *tracked, ons_precision_table *table) {
    ons_precision_table unasked;
    lowering l = {
        .graph = graph,
        .registry = registry,
        .cast = ons_registry_role(registry, ONS_ROLE_CAST),
        .low = low,
        .values = graph->values.count,
        .table = table == NULL ? &unasked : table,
    };
    ONS_CHECK(l.cast != NULL, ONS_DEFECT, "no operator casts");
    *l.table = (ons_precision_table){0};
    ONS_NEW(l.table->rows, graph->arena, graph->nodes.count + 1);
    ONS_NEW(l.lowered, graph->arena, l.values + 1);
    ONS_NEW(l.other, graph->arena, l.values + 1);
    for (size_t i = 0; i < l.values; ++i) l.other[i] = ONS_NONE;
    ons_status *status = lower_all(&l);
    if (status == NULL) status = finish(&l, tracked);
    ons_vector_free(&l.order);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- sharing */

static bool casts_weight(const ons_graph *graph, const ons_operator *op, const ons_node *node) {
    return node->op == op && node->phase == ONS_FORWARD && node->inputs[0] != ONS_NONE &&
           is_weight(ons_graph_value(graph, node->inputs[0])) &&
           ons_graph_value(graph, node->inputs[0])->pair == ONS_NONE;
}

static ons_status *share_casts(ons_graph *graph, const ons_registry *registry, bool masters_alone) {
    const ons_operator *op = ons_registry_role(registry, ONS_ROLE_CAST);
    ons_value_id *first, *same; /* of each weight: its first cast; of each value: the one that stands for it */
    ONS_NEW(first, graph->arena, graph->values.count + 1);
    ONS_NEW(same, graph->arena, graph->values.count + 1);
    for (ons_value_id id = 0; id < graph->values.count; ++id) first[id] = ONS_NONE, same[id] = id;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE) node->inputs[i] = same[node->inputs[i]];
        if (!casts_weight(graph, op, node)) continue;
        if (masters_alone && !ons_is_master(graph, ons_graph_value(graph, node->inputs[0]))) continue;
        node->per_step = true;
        ons_value_id *known = &first[node->inputs[0]];
        if (*known == ONS_NONE)
            *known = node->outputs[0];
        else if (ons_graph_value(graph, *known)->type.dtype == ons_graph_value(graph, node->outputs[0])->type.dtype)
            same[node->outputs[0]] = *known;
    }
    return NULL;
}

ons_status *ons_share_weight_casts(ons_graph *graph, const ons_registry *registry) {
    return share_casts(graph, registry, false);
}

ons_status *ons_share_master_casts(ons_graph *graph, const ons_registry *registry) {
    return share_casts(graph, registry, true);
}
