#include "graph/passes/bind.h"

#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "graph/passes/bind_gradient.h"
#include "graph/passes/prune.h"

typedef struct symbol_size {
    const char *name;
    int64_t size;
} symbol_size;

typedef struct binder {
    const ons_registry *registry;
    const ons_bind_options *options;
    ons_blockers *blockers; /* NULL: the first problem ends it */
    ons_graph *to;
    ons_builder builder;
    ONS_VECTOR(symbol_size) symbols; /* resolved so far */
} binder;

/* A graph being copied: the outermost one, or a branch inside it. */
typedef struct scope {
    const ons_graph *from;
    const struct scope *outer;
    ons_value_id *map; /* from → to; ONS_NONE: not made (yet) */
} scope;

static ons_status *bind_nodes(binder *b, scope *s);

/* --------------------------------------------------------------------------------------------------------- dimensions
 */

static const ons_binding *find_symbol(const binder *b, const char *symbol) {
    for (size_t i = 0; symbol != NULL && i < b->options->binding_count; ++i) {
        const ons_binding *each = &b->options->bindings[i];
        if (each->symbol != NULL && strcmp(each->symbol, symbol) == 0) return each;
    }
    return NULL;
}

static const ons_binding *find_input_shape(const binder *b, const char *input) {
    for (size_t i = 0; i < b->options->binding_count; ++i) {
        const ons_binding *each = &b->options->bindings[i];
        if (each->input != NULL && strcmp(each->input, input) == 0) return each;
    }
    return NULL;
}

/* --dim first, then the array's own shape, then the batch, then what the symbol was elsewhere, then the fallback. */
static ons_status *choose_size(const binder *b, const char *input, const char *symbol, uint32_t axis, uint32_t rank,
                               int64_t *size) {
    const ons_binding *named = find_symbol(b, symbol);
    const ons_binding *shaped = find_input_shape(b, input);
    *size = named != NULL ? named->size : 0;
    if (*size == 0 && shaped != NULL && shaped->shape.rank == rank) *size = shaped->shape.dims[axis];
    for (size_t i = 0; *size == 0 && symbol != NULL && i < b->symbols.count; ++i)
        if (strcmp(b->symbols.items[i].name, symbol) == 0) *size = b->symbols.items[i].size;
    if (*size == 0 && axis == 0) *size = b->options->batch;
    if (*size == 0) *size = b->options->fallback;
    ONS_CHECK(*size > 0, ONS_INVALID_ARGUMENT, "input '%s': dimension %u (%s) has no size; give --dim %s=N", input,
              axis, symbol == NULL ? "unnamed" : symbol, symbol == NULL ? "NAME" : symbol);
    return NULL;
}

static ons_status *bind_input(binder *b, scope *s, size_t index) {
    ons_value_id id = s->from->inputs.items[index];
    const ons_value *value = ons_graph_value(s->from, id);
    ons_type type = value->type;
    for (uint32_t axis = 0; axis < type.shape.rank; ++axis) {
        if (type.shape.dims[axis] != ONS_DIM_UNKNOWN) continue;
        const char *symbol = s->from->symbols == NULL ? NULL : s->from->symbols[index][axis];
        ONS_TRY(choose_size(b, value->name, symbol, axis, type.shape.rank, &type.shape.dims[axis]));
        if (symbol != NULL) ONS_PUSH(&b->symbols, (symbol_size){symbol, type.shape.dims[axis]});
    }
    ONS_TRY_AT(ons_shape_check(&type.shape), "input '%s'", value->name);
    ONS_TRY(ons_graph_add_value(b->to, value->name, ONS_INPUT, &type, &s->map[id]));
    ONS_PUSH(&b->to->inputs, s->map[id]);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- values
 */

/* The bound value for one of the scope's: made by a node already bound, or an initialiser copied now, or a capture. */
static ons_status *resolve(binder *b, const scope *s, ons_value_id id, ons_value_id *result) {
    *result = ONS_NONE;
    if (id == ONS_NONE) return NULL;
    if (s->map[id] != ONS_NONE) {
        *result = s->map[id];
        return NULL;
    }
    const ons_value *value = ons_graph_value(s->from, id);
    if (value->producer != ONS_NONE || value->kind == ONS_ACTIVATION) /* its node is a blocker that was noted already */
        return NULL;
    if (value->data == ONS_NO_DATA && s->outer != NULL) {
        ons_value_id captured = ons_graph_find_value(s->outer->from, value->name);
        ONS_CHECK(captured != ONS_NONE, ONS_INVALID_MODEL, "value '%s' of a branch is not defined outside of it",
                  value->name);
        ONS_TRY(resolve(b, s->outer, captured, result));
        s->map[id] = *result;
        return NULL;
    }
    ONS_TRY(ons_graph_add_value(b->to, value->name, value->reason == ONS_STATISTICS ? ONS_BUFFER : value->kind,
                                &value->type, result));
    ons_graph_value(b->to, *result)->data = value->data;
    ons_graph_value(b->to, *result)->reason = value->reason;
    s->map[id] = *result;
    return NULL;
}

/* Gives a node's result the name that the file has for it. */
static ons_status *rename_value(ons_graph *graph, ons_value_id id, const char *name) {
    if (name == NULL || ons_map_get(&graph->value_names, name) != ONS_MAP_ABSENT) return NULL;
    const char *copy = ons_arena_copy_text(graph->arena, name);
    if (copy == NULL) return ons_status_out_of_memory();
    ons_graph_value(graph, id)->name = copy;
    return ons_map_set(&graph->value_names, copy, id);
}

/* -------------------------------------------------------------------------------------------------------------- nodes
 */

typedef struct pending {
    const ons_node *node;       /* in the scope's graph */
    ons_operands operands;      /* inferred */
    const ons_value_id *inputs; /* bound */
    ons_value_id *outputs;      /* to be set: bound */
    bool *used;                 /* whether the file names the output */
} pending;

static ons_status *fold(binder *b, pending *p, ons_arena *scratch) {
    const ons_operands *o = &p->operands;
    const void **inputs;
    void **outputs;
    ONS_NEW(inputs, scratch, o->input_count + 1);
    ONS_NEW(outputs, scratch, o->output_count + 1);
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (!ons_has_input(o, i) || o->constants[i].data == NULL) continue;
        uint64_t *words;
        int64_t count = ons_shape_elements(&o->inputs[i].shape);
        ONS_NEW(words, scratch, (size_t)count + 1);
        ons_widen(o->inputs[i].dtype, o->constants[i].data, count, words);
        inputs[i] = words;
    }
    for (uint32_t i = 0; i < o->output_count; ++i) {
        uint64_t *words;
        ONS_NEW(words, scratch, (size_t)ons_shape_elements(&o->outputs[i].shape) + 1);
        outputs[i] = words;
    }
    ons_step step = {.step = 1, .counted_targets = 1, .sample_share = 1};
    o->op->reference(o, &step, inputs, outputs);
    for (uint32_t i = 0; i < p->node->output_count; ++i)
        if (p->used[i] && o->outputs[i].dtype != ONS_NO_DTYPE)
            p->outputs[i] = ons_build_constant(&b->builder, p->node->name, &o->outputs[i], outputs[i]);
    return ons_builder_finish(&b->builder);
}

/* The operator's own replacement for training or inference, where it has one. */
static ons_status *change_mode(binder *b, pending *p, bool *replaced) {
    *replaced = false;
    if (p->operands.op->forms.mode == NULL) return NULL;
    ons_mode_change change = {
        .builder = &b->builder,
        .operands = &p->operands,
        .inputs = p->inputs,
        .outputs = p->outputs,
        .outputs_used = p->used,
        .mode = b->options->mode,
    };
    ONS_TRY(p->operands.op->forms.mode(&change));
    *replaced = change.replaced;
    return ons_builder_finish(&b->builder);
}

static ons_status *bind_branch(binder *b, scope *s, pending *p) {
    const ons_operands *o = &p->operands;
    ONS_CHECK(
        o->constants[0].data != NULL, ONS_UNSUPPORTED,
        "node '%s' (%s): the condition depends on data; export the model with a fixed shape, so that it is constant",
        o->name, o->op->name);
    bool taken = *(const uint8_t *)o->constants[0].data != 0;
    const ons_graph *branch = o->attributes[taken ? 0 : 1].graph;
    ONS_CHECK(branch != NULL && branch->outputs.count >= p->node->output_count, ONS_INVALID_MODEL,
              "node '%s' (%s): the branch has %zu outputs, the node %u", o->name, o->op->name,
              branch == NULL ? 0 : branch->outputs.count, p->node->output_count);
    scope inner = {.from = branch, .outer = s};
    inner.map = malloc((branch->values.count + 1) * sizeof *inner.map);
    if (inner.map == NULL) return ons_status_out_of_memory();
    memset(inner.map, 0xff, (branch->values.count + 1) * sizeof *inner.map);
    ons_status *status = bind_nodes(b, &inner);
    for (uint32_t i = 0; status == NULL && i < p->node->output_count; ++i)
        status = resolve(b, &inner, branch->outputs.items[i], &p->outputs[i]);
    free(inner.map);
    return status;
}

/* The order of preference: nothing at all, a branch, constants, another form, the node as it is. */
static ons_status *place(binder *b, scope *s, pending *p, ons_arena *scratch) {
    const ons_operator *op = p->node->op;
    if (op->roles.traits & ONS_TRAIT_IDENTITY) {
        p->outputs[0] = p->inputs[0];
        return NULL;
    }
    if (op->roles.traits & ONS_TRAIT_CONTROL_FLOW) return bind_branch(b, s, p);
    ONS_TRY(ons_operands_infer(&p->operands));
    if (op->roles.traits & ONS_TRAIT_GRADIENT) {
        ons_bound_names names = {s->from, s->map};
        return ons_bind_gradient(&b->builder, &names, p->node, p->inputs, p->outputs);
    }
    bool random = (op->roles.traits & ONS_TRAIT_RANDOM) != 0;
    if (op->roles.traits & ONS_TRAIT_CONSTANT || (!random && ons_can_fold(&p->operands))) return fold(b, p, scratch);
    bool replaced;
    ONS_TRY(change_mode(b, p, &replaced));
    if (replaced) return NULL;
    ons_inputs inputs = {p->inputs, p->node->input_count};
    ons_build_node_like(&b->builder, op, inputs, p->node->attributes, p->node->output_count, p->used, p->outputs);
    return ons_builder_finish(&b->builder);
}

/* Whether the node made the value: what it merely hands through (an operand, a weight that a branch captures) keeps its
 * own name. `before`: how many values there were before the node. */
static bool is_made_here(const ons_graph *graph, ons_value_id id, size_t before) {
    const ons_value *value = ons_graph_value(graph, id);
    return id >= before && (value->producer != ONS_NONE || value->kind == ONS_CONSTANT);
}

static ons_status *bind_node(binder *b, scope *s, const ons_node *node, ons_arena *scratch) {
    pending p = {.node = node};
    ons_value_id *inputs;
    ONS_NEW(inputs, scratch, node->input_count + 1);
    ONS_NEW(p.outputs, scratch, node->output_count + 8); /* a mode function may be generous */
    ONS_NEW(p.used, scratch, node->output_count + 8);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ONS_TRY(resolve(b, s, node->inputs[i], &inputs[i]));
        if (node->inputs[i] != ONS_NONE && inputs[i] == ONS_NONE) return NULL; /* hangs on a blocker that was noted */
    }
    for (uint32_t i = 0; i < node->output_count; ++i) {
        p.outputs[i] = ONS_NONE;
        p.used[i] = node->outputs[i] != ONS_NONE;
    }
    p.inputs = inputs;
    ONS_TRY(ons_operands_make(b->to, node->op, node->name, node->attributes, inputs, node->input_count,
                              node->output_count, scratch, &p.operands));
    b->builder.name = node->name;
    size_t before = b->to->values.count;
    ONS_TRY(place(b, s, &p, scratch));
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == ONS_NONE || p.outputs[i] == ONS_NONE) continue;
        s->map[node->outputs[i]] = p.outputs[i];
        if (is_made_here(b->to, p.outputs[i], before))
            ONS_TRY(rename_value(b->to, p.outputs[i], ons_graph_value(s->from, node->outputs[i])->name));
    }
    return NULL;
}

/* Notes the problem and goes on, or ends with it. */
static ons_status *note(binder *b, const ons_node *node, ons_status *problem) {
    if (problem == NULL || b->blockers == NULL || ons_status_get_code(problem) == ONS_OUT_OF_MEMORY) return problem;
    ons_blocker blocker = {
        .node = ons_arena_copy_text(b->to->arena, node->name),
        .operator_name = node->op->name,
        .reason = ons_arena_copy_text(b->to->arena, ons_status_get_message(problem)),
        .remedy = NULL,
    };
    ons_status_free(problem);
    ONS_PUSH(b->blockers, blocker);
    return NULL;
}

/* Nodes that the outputs depend on, and nodes with statistics. */
static bool *find_needed(const ons_graph *from) {
    bool *live = calloc(from->values.count + from->nodes.count + 1, sizeof *live);
    if (live == NULL) return NULL;
    bool *needed = live + from->values.count;
    for (size_t i = 0; i < from->outputs.count; ++i) live[from->outputs.items[i]] = true;
    for (size_t i = from->nodes.count; i-- > 0;) {
        const ons_node *node = &from->nodes.items[i];
        for (uint32_t k = 0; k < node->output_count; ++k)
            needed[i] |= node->outputs[k] != ONS_NONE && live[node->outputs[k]];
        for (uint32_t k = 0; needed[i] && k < node->input_count; ++k)
            if (node->inputs[k] != ONS_NONE) live[node->inputs[k]] = true;
        if (needed[i] && node->op->roles.traits & ONS_TRAIT_GRADIENT) {
            ons_value_id named = ons_graph_find_value(from, node->attributes[2].s);
            if (named != ONS_NONE) live[named] = true;
        }
        /* What a branch captures is found by name. */
        for (uint32_t a = 0; needed[i] && node->op->attributes[a].name != NULL; ++a) {
            const ons_graph *branch =
                node->attributes[a].kind == ONS_ATTRIBUTE_GRAPH ? node->attributes[a].graph : NULL;
            for (size_t v = 0; branch != NULL && v < branch->values.count; ++v) {
                ons_value_id outer = ons_graph_find_value(from, branch->values.items[v].name);
                if (outer != ONS_NONE) live[outer] = true;
            }
        }
    }
    return live;
}

static ons_status *bind_nodes(binder *b, scope *s) {
    bool *live = find_needed(s->from);
    if (live == NULL) return ons_status_out_of_memory();
    const bool *needed = live + s->from->values.count;
    ons_status *status = NULL;
    for (size_t i = 0; status == NULL && i < s->from->nodes.count; ++i) {
        if (!needed[i]) continue;
        ons_arena *scratch = ons_arena_new();
        const ons_node *node = &s->from->nodes.items[i];
        status = scratch == NULL ? ons_status_out_of_memory() : bind_node(b, s, node, scratch);
        status = note(b, node, status);
        ons_arena_free(scratch);
    }
    free(live);
    return status;
}

/* States and buffers: the output that takes an input's place becomes its new contents. */
static void pair_states(ons_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count; ++i) {
        const ons_node *node = &graph->nodes.items[i];
        for (const ons_alias *alias = node->op->aliases; alias->kind != ONS_ALIAS_END; ++alias) {
            if (alias->kind != ONS_ALIAS_STATE || alias->output >= node->output_count ||
                node->outputs[alias->output] == ONS_NONE)
                continue;
            ons_value *fresh = ons_graph_value(graph, node->outputs[alias->output]);
            fresh->pair = node->inputs[alias->input];
            fresh->kind = ons_graph_value(graph, fresh->pair)->kind;
        }
    }
}

static ons_status *bind_graph(binder *b, scope *s) {
    for (size_t i = 0; i < s->from->inputs.count; ++i) ONS_TRY(bind_input(b, s, i));
    ONS_TRY(bind_nodes(b, s));
    for (size_t i = 0; i < s->from->outputs.count; ++i) {
        ons_value_id output;
        ONS_TRY(resolve(b, s, s->from->outputs.items[i], &output));
        if (output != ONS_NONE)
            ONS_PUSH(&b->to->outputs, output);
        else
            ONS_CHECK(b->blockers != NULL, ONS_INVALID_MODEL, "output '%s' is made by no node",
                      ons_graph_value(s->from, s->from->outputs.items[i])->name);
    }
    pair_states(b->to);
    return ons_prune(b->to, NULL, NULL, 0);
}

ons_status *ons_bind(const ons_graph *imported, const ons_registry *registry, const ons_bind_options *options,
                     ons_blockers *blockers, ons_graph **bound) {
    binder b = {.registry = registry, .options = options, .blockers = blockers};
    ONS_TRY(ons_graph_new(imported->store, imported->name, &b.to));
    b.builder = (ons_builder){.graph = b.to, .registry = registry, .phase = ONS_FORWARD, .origin = ONS_NONE};
    scope s = {.from = imported, .map = malloc((imported->values.count + 1) * sizeof *s.map)};
    ons_status *status = NULL;
    if (s.map == NULL) {
        status = ons_status_out_of_memory();
    } else {
        memset(s.map, 0xff, (imported->values.count + 1) * sizeof *s.map);
        status = bind_graph(&b, &s);
    }
    free(s.map);
    ons_vector_free(&b.symbols);
    if (status != NULL) {
        ons_graph_free(b.to);
        return status;
    }
    *bound = b.to;
    return NULL;
}
