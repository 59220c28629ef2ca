/* Which initialisers are weights, once it is known who reads them.
 *
 * Running statistics: exporters merge initialisers that are equal in value, and before training all running means are
 * zeros (and so are all biases). In the file, one is then an Identity of the other, or both nodes read the same one.
 * Statistics that training updates cannot be shared, so each reader gets a buffer of its own here; the exporter writes
 * it as an initialiser.
 *
 * Reach: an initialiser that is read only where no gradient can come (the scales of a Resize) is a constant: shapes may
 * depend on it.
 */
#include <stdlib.h>

#include "onnx_import/importer.h"

/* An operator's input that is a running statistic. */
typedef struct statistic {
    ons_node_id node;
    uint32_t input;
    ons_value_id value; /* as the file has it */
} statistic;

typedef struct roles {
    importer *in;
    ons_graph *graph;
    ons_value_id *root; /* of each value: what it is an Identity of, or itself */
    uint32_t *uses;     /* of each value: how many inputs and outputs it is */
    bool *otherwise;    /* of each root: whether it is read as something other than a statistic */
    bool *claimed;      /* of each root: whether it is some node's statistic now */
    bool *initialiser;  /* of the model's graph, or a tensor of a Constant node */
    bool *stated;       /* the latter */
    bool *reached;      /* of each value: whether a gradient may come */
    ONS_VECTOR(statistic) statistics;
} roles;

static bool is_identity(const ons_node *node) {
    return (node->op->roles.traits & ONS_TRAIT_IDENTITY) && node->input_count == 1 && node->inputs[0] != ONS_NONE &&
           node->output_count > 0 && node->outputs[0] != ONS_NONE;
}

/* Operators without a gradient stop it too, but `check` says so of their nodes. */
static bool may_reach(const ons_operator *op, uint32_t input) {
    return !ons_has_gradient(op) || ons_is_trained_unasked(op, input);
}

/* From what a node makes to what it reads; running statistics are no weights, those of a body's nodes neither. */
static void reach_inputs(const ons_node *node, bool *reached) {
    bool any = false;
    for (uint32_t k = 0; k < node->output_count; ++k) any |= node->outputs[k] != ONS_NONE && reached[node->outputs[k]];
    for (uint32_t k = 0; any && k < node->input_count; ++k)
        if (node->inputs[k] != ONS_NONE && may_reach(node->op, k) && !ons_is_statistic(node->op, k))
            reached[node->inputs[k]] = true;
}

/* --------------------------------------------------------------------------------------------------- who reads what */

static void use(roles *r, ons_value_id value, bool as_statistic) {
    ++r->uses[value];
    if (!as_statistic) r->otherwise[r->root[value]] = true;
}

/* Read by something whose insides are not looked at. */
static void use_unseen(roles *r, ons_value_id value) {
    use(r, value, false);
    r->reached[value] = true;
}

static ons_status *find_reached_inside(const ons_graph *graph, ons_arena *arena, bool **reached);

/* What a body's nodes capture is reached where a gradient may come through the body. */
static ons_status *reach_captures(const ons_graph *outside, const ons_node *node, ons_arena *arena, bool *reached) {
    for (uint32_t a = 0; node->op->attributes[a].name != NULL; ++a) {
        if (node->attributes[a].kind != ONS_ATTRIBUTE_GRAPH) continue;
        const ons_graph *branch = node->attributes[a].graph;
        bool *inside;
        ONS_TRY(find_reached_inside(branch, arena, &inside));
        for (size_t v = 0; v < branch->values.count; ++v) {
            const ons_value *value = &branch->values.items[v];
            ons_value_id id = value->kind == ONS_INPUT ? ons_graph_find_value(outside, value->name) : ONS_NONE;
            if (id != ONS_NONE && inside[v]) reached[id] = true;
        }
    }
    return NULL;
}

/* Of each value of a body: whether a gradient may come. */
static ons_status *find_reached_inside(const ons_graph *graph, ons_arena *arena, bool **reached) {
    ONS_NEW(*reached, arena, graph->values.count + 1);
    for (size_t i = 0; i < graph->outputs.count; ++i) (*reached)[graph->outputs.items[i]] = true;
    for (size_t i = graph->nodes.count; i-- > 0;) {
        const ons_node *node = &graph->nodes.items[i];
        reach_inputs(node, *reached);
        ONS_TRY(reach_captures(graph, node, arena, *reached));
    }
    return NULL;
}

static ons_status *read_captures(roles *r, const ons_node *node) {
    for (uint32_t a = 0; node->op->attributes[a].name != NULL; ++a) {
        if (node->attributes[a].kind != ONS_ATTRIBUTE_GRAPH) continue;
        const ons_graph *branch = node->attributes[a].graph;
        for (size_t v = 0; v < branch->values.count; ++v) {
            const ons_value *value = &branch->values.items[v];
            ons_value_id outside = value->kind == ONS_INPUT ? ons_graph_find_value(r->graph, value->name) : ONS_NONE;
            if (outside != ONS_NONE) use(r, outside, false);
        }
    }
    return reach_captures(r->graph, node, r->graph->arena, r->reached);
}

static ons_status *read_node(roles *r, ons_node_id id) {
    const ons_node *node = ons_graph_node(r->graph, id);
    ONS_TRY(read_captures(r, node));
    if (is_identity(node)) {
        r->root[node->outputs[0]] = r->root[node->inputs[0]];
        ++r->uses[node->inputs[0]];
        return NULL;
    }
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_value_id value = node->inputs[i];
        if (value == ONS_NONE) continue;
        bool counts = ons_is_statistic(node->op, i) && r->initialiser[r->root[value]];
        use(r, value, counts);
        if (counts) ONS_PUSH(&r->statistics, (statistic){id, i, value});
    }
    return NULL;
}

static ons_status *read_graph(roles *r) {
    for (ons_value_id id = 0; id < r->graph->values.count; ++id) r->root[id] = id;
    for (size_t i = 0; i < r->in->initialisers.count; ++i) r->initialiser[r->in->initialisers.items[i]] = true;
    for (size_t i = 0; i < r->in->file->stated.count; ++i) {
        ons_value_id id = ons_graph_find_value(r->graph, r->in->file->stated.items[i].name);
        if (id != ONS_NONE) r->initialiser[id] = r->stated[id] = true;
    }
    for (ons_node_id id = 0; id < r->graph->nodes.count; ++id) ONS_TRY(read_node(r, id));
    for (size_t i = 0; i < r->graph->outputs.count; ++i) use_unseen(r, r->graph->outputs.items[i]);
    for (size_t i = 0; i < r->graph->read_by_unknown.count; ++i) use_unseen(r, r->graph->read_by_unknown.items[i]);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- statistics */

/* Gives `fresh` the name that `old` has. */
static ons_status *swap_names(ons_graph *graph, ons_value_id fresh, ons_value_id old) {
    ons_value *a = ons_graph_value(graph, fresh);
    ons_value *b = ons_graph_value(graph, old);
    const char *name = a->name;
    a->name = b->name;
    b->name = name;
    ONS_TRY(ons_map_set(&graph->value_names, a->name, fresh));
    return ons_map_set(&graph->value_names, b->name, old);
}

static ons_status *add_edit(roles *r, ons_value_id fresh, ons_value_id root, uint32_t node, uint32_t input) {
    ons_arena *arena = r->in->file->arena;
    ons_untied_edit edit = {.node = node, .input = input};
    edit.names.name = ons_arena_copy_text(arena, ons_graph_value(r->graph, fresh)->name);
    edit.names.source = ons_arena_copy_text(arena, ons_graph_value(r->graph, root)->name);
    if (edit.names.name == NULL || edit.names.source == NULL) return ons_status_out_of_memory();
    ONS_PUSH(&r->in->file->untied, edit);
    return NULL;
}

/* A buffer for one statistic that shares its initialiser with others. */
static ons_status *split(roles *r, const statistic *s) {
    ons_node *node = ons_graph_node(r->graph, s->node);
    ons_value_id old = s->value;
    ons_value_id root = r->root[old];
    /* An Identity for this reader alone goes, and the buffer takes its name. */
    bool replaces = old != root && r->uses[old] == 1;
    ons_node_id edited = replaces ? ons_graph_value(r->graph, old)->producer : s->node;
    uint32_t file_node = r->in->file_nodes.items[edited];
    if (file_node == ONS_NO_FILE_NODE)
        return ons_import_block(
            r->in, node->name, node->op->name,
            "its running statistics are merged with another tensor, inside of a function of the model",
            "export the model without merging equal initialisers");
    ons_value_id fresh;
    ons_type type = ons_graph_value(r->graph, root)->type;
    ONS_TRY(ons_graph_add_value(r->graph, ons_graph_value(r->graph, old)->name, ONS_BUFFER, &type, &fresh));
    ons_graph_value(r->graph, fresh)->data = ons_graph_value(r->graph, root)->data;
    ons_graph_value(r->graph, fresh)->reason = ONS_STATISTICS;
    if (replaces) ONS_TRY(swap_names(r->graph, fresh, old));
    node->inputs[s->input] = fresh;
    return add_edit(r, fresh, root, file_node, replaces ? (uint32_t)ONS_NONE : s->input);
}

static size_t count_statistics(const roles *r, ons_value_id root) {
    size_t count = 0;
    for (size_t i = 0; i < r->statistics.count; ++i) count += r->root[r->statistics.items[i].value] == root;
    return count;
}

static ons_status *assign_statistic(roles *r, const statistic *s) {
    ons_value_id root = r->root[s->value];
    if (r->stated[root] && (r->otherwise[root] || count_statistics(r, root) > 1))
        return NULL; /* stays a constant of the graph */
    if (r->claimed[root] || r->otherwise[root]) return split(r, s);
    r->claimed[root] = true;
    ons_graph_value(r->graph, root)->kind = ONS_BUFFER;
    ons_graph_value(r->graph, root)->reason = ONS_STATISTICS;
    return NULL;
}

/* Those that read the initialiser itself come first: they keep it. */
static ons_status *assign_statistics(roles *r) {
    for (int direct = 1; direct >= 0; --direct) {
        for (size_t i = 0; i < r->statistics.count; ++i) {
            const statistic *s = &r->statistics.items[i];
            bool is_direct = r->root[s->value] == s->value;
            if (is_direct == (direct == 1)) ONS_TRY(assign_statistic(r, s));
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ reach */

static void find_reached(roles *r) {
    for (size_t i = r->graph->nodes.count; i-- > 0;) reach_inputs(&r->graph->nodes.items[i], r->reached);
}

static void demote_unreached(roles *r) {
    for (size_t i = 0; i < r->in->initialisers.count; ++i) {
        ons_value_id id = r->in->initialisers.items[i];
        ons_value *value = ons_graph_value(r->graph, id);
        if (value->kind != ONS_PARAMETER || r->reached[id]) continue;
        value->kind = ONS_CONSTANT;
        value->reason = ONS_NOT_REACHED;
    }
}

/* -------------------------------------------------------------------------------------------------------------- all */

static ons_status *assign(roles *r) {
    size_t count = r->graph->values.count + 1;
    ons_arena *arena = r->graph->arena; /* small beside the graph itself */
    ONS_NEW(r->root, arena, count);
    ONS_NEW(r->uses, arena, count);
    ONS_NEW(r->otherwise, arena, count);
    ONS_NEW(r->claimed, arena, count);
    ONS_NEW(r->initialiser, arena, count);
    ONS_NEW(r->stated, arena, count);
    ONS_NEW(r->reached, arena, count);
    ONS_TRY(read_graph(r));
    find_reached(r);
    demote_unreached(r);
    return assign_statistics(r); /* adds values: last */
}

ons_status *ons_roles_assign(importer *in) {
    roles r = {.in = in, .graph = in->top};
    ons_status *status = assign(&r);
    ons_vector_free(&r.statistics);
    return status;
}
