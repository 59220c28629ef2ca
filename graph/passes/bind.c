#include "graph/passes/bind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "graph/passes/batch.h"
#include "graph/passes/bind_gradient.h"
#include "graph/passes/binder.h"
#include "graph/passes/prune.h"

/* ------------------------------------------------------------------------------------------------------- dimensions */

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

/* --dim first, then the batch of inputs that have a fixed one, then the array's own shape, then the batch, then what
 * the symbol was elsewhere, then the fallback. */
static ons_status *choose_size(const binder *b, const char *input, const char *symbol, uint32_t axis, uint32_t rank,
                               int64_t *size) {
    const ons_binding *named = find_symbol(b, symbol);
    const ons_binding *shaped = find_input_shape(b, input);
    *size = named != NULL ? named->size : 0;
    if (*size == 0 && axis == 0) *size = b->exported; /* change_batch makes it the batch that is asked for */
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
    bool once = value->once;
    ONS_TRY(ons_graph_add_value(b->to, value->name, ONS_INPUT, &type, &s->map[id]));
    ons_graph_value(b->to, s->map[id])->once = once;
    ONS_PUSH(&b->to->inputs, s->map[id]);
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- values */

ons_status *ons_bind_resolve(binder *b, const scope *s, ons_value_id id, ons_value_id *result) {
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
        ONS_TRY(ons_bind_resolve(b, s->outer, captured, result));
        s->map[id] = *result;
        return NULL;
    }
    ONS_TRY(ons_graph_add_value(b->to, value->name, value->reason == ONS_STATISTICS ? ONS_BUFFER : value->kind,
                                &value->type, result));
    ons_graph_value(b->to, *result)->data = value->data;
    ons_graph_value(b->to, *result)->reason = value->reason;
    ons_graph_value(b->to, *result)->shard = value->shard;
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

/* ------------------------------------------------------------------------------------------------------------ nodes */

/* That are read and written: a Shape reads nothing of a tensor that is not known. */
static double count_elements(const ons_operands *o) {
    double elements = 0;
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (ons_has_input(o, i) && o->constants[i].data != NULL)
            elements += (double)ons_shape_elements(&o->inputs[i].shape);
    for (uint32_t i = 0; i < o->output_count; ++i)
        if (ons_has_output(o, i)) elements += (double)ons_shape_elements(&o->outputs[i].shape);
    return elements;
}

/* How many elements, and how many operations, the next node may have. */
static double folded_left(const binder *b) {
    int64_t most = b->options->folded_most > 0 ? b->options->folded_most : ONS_FOLDED_MOST;
    return fmin((double)ONS_FOLDED_NODE_MOST, (double)(most - b->folded));
}

static bool folds(const binder *b, const ons_operands *o) {
    if ((o->op->roles.traits & ONS_TRAIT_RANDOM) || !ons_can_fold(o)) return false;
    double most = folded_left(b);
    return count_elements(o) <= most && o->op->cost(o).flops <= most;
}

static ons_status *fold(binder *b, pending *p) {
    const ons_operands *o = &p->operands;
    ons_arena *scratch = p->scratch;
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
        b->folded += ons_shape_elements(&o->outputs[i].shape);
    }
    b->folded += (int64_t)o->op->cost(o).flops;
    ons_fault fault = {0};
    ons_step step = {.step = 1, .counted_targets = 1, .sample_share = 1, .fault = &fault};
    o->op->reference(o, &step, inputs, outputs);
    ONS_TRY(ons_fault_status(o->name, &fault));
    for (uint32_t i = 0; i < p->node->output_count; ++i)
        if (p->used[i] && o->outputs[i].dtype != ONS_NO_DTYPE)
            p->outputs[i] = ons_build_constant(&b->builder, p->name, &o->outputs[i], outputs[i]);
    return ons_builder_finish(&b->builder);
}

/* Sequences are for operators that take them apart. */
static ons_status *infer(pending *p) {
    for (uint32_t i = 0; i < p->node->input_count; ++i)
        ONS_CHECK(!ons_bind_is_sequence(p->inputs[i]), ONS_UNSUPPORTED,
                  "node '%s' (%s): input %u is a sequence of tensors, which this operator does not take", p->node->name,
                  p->node->op->name, i);
    return ons_operands_infer(&p->operands);
}

static ons_status *hand_through(binder *b, scope *s, pending *p) {
    p->outputs[0] = p->inputs[0];
    return NULL;
}

/* A constant alone, and never a node: its size may come from a few numbers of a file. */
static ons_status *fold_always(binder *b, scope *s, pending *p) {
    ONS_TRY(infer(p));
    double elements = count_elements(&p->operands);
    ONS_CHECK(
        elements <= folded_left(b), ONS_UNSUPPORTED,
        "node '%s' (%s): makes a constant of %.0f elements, and %.0f more are computed beforehand at most: store it in "
        "the model as an initialiser",
        p->name, p->node->op->name, elements, folded_left(b));
    return fold(b, p);
}

/* By the operator's decomposition or its form for training or inference, where it has one. */
static ons_status *replace(binder *b, scope *s, pending *p) {
    const ons_forms *forms = &p->node->op->forms;
    ons_replacement replacement = {
        .builder = &b->builder,
        .operands = &p->operands,
        .inputs = p->inputs,
        .outputs = p->outputs,
        .outputs_used = p->read,
        .binder = b,
        .name = p->name,
    };
    if (forms->decompose != NULL) ONS_TRY(forms->decompose(&replacement));
    if (forms->training_form != NULL) {
        ons_mode mode = b->options->mode;
        if (mode.batchnorm_of != NULL) mode.batchnorm = mode.batchnorm_of(mode.context, s->from, p->node);
        ONS_TRY(forms->training_form(&replacement, &mode));
    }
    p->replaced = replacement.replaced;
    return ons_builder_finish(&b->builder);
}

static ons_status *differentiate(binder *b, scope *s, pending *p) {
    ons_bound_names names = {s->from, s->map};
    ONS_TRY(infer(p));
    return ons_bind_gradient(&b->builder, &names, p->node, p->inputs, p->outputs);
}

/* The order of preference: a constant, other nodes, the node as it is. */
static ons_status *fold_or_place(binder *b, scope *s, pending *p) {
    ONS_TRY(infer(p));
    if (folds(b, &p->operands)) return fold(b, p);
    ONS_TRY(replace(b, s, p));
    if (p->replaced) return NULL;
    ons_inputs inputs = {p->inputs, p->node->input_count};
    ons_build_node_like(&b->builder, p->node->op, inputs, p->node->attributes, p->node->output_count, p->used,
                        p->outputs);
    return ons_builder_finish(&b->builder);
}

/* What becomes of a node, by its operator's first trait of these. */
static const struct {
    uint32_t trait;
    ons_status *(*bind)(binder *b, scope *s, pending *p);
} steps[] = {
    {ONS_TRAIT_IDENTITY, hand_through}, {ONS_TRAIT_CONTROL_FLOW, ons_bind_branches},
    {ONS_TRAIT_LOOP, ons_bind_loop},    {ONS_TRAIT_SCAN, ons_bind_scan},
    {ONS_TRAIT_SEQUENCES, replace},     {ONS_TRAIT_GRADIENT, differentiate},
    {ONS_TRAIT_CONSTANT, fold_always},
};

static ons_status *place(binder *b, scope *s, pending *p) {
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i)
        if (p->node->op->roles.traits & steps[i].trait) return steps[i].bind(b, s, p);
    return fold_or_place(b, s, p);
}

/* Whether the node made the value: what it merely hands through (an operand, a weight that a branch captures) keeps its
 * own name. `before`: how many values there were before the node. */
static bool is_made_here(const ons_graph *graph, ons_value_id id, size_t before) {
    if (ons_bind_is_sequence(id)) return false;
    const ons_value *value = ons_graph_value(graph, id);
    return id >= before && (value->producer != ONS_NONE || value->kind == ONS_CONSTANT);
}

/* A name as in the file, behind the scope's prefix. */
static ons_status *prefixed(binder *b, const scope *s, const char *name, const char **result) {
    *result = name;
    if (s->prefix[0] == '\0' || name == NULL) return NULL;
    *result = ons_arena_format(b->to->arena, "%s%s", s->prefix, name);
    return *result == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *describe_operands(binder *b, const ons_node *node, const ons_value_id *inputs, ons_arena *scratch,
                                     ons_operands *operands) {
    ons_value_id *tensors;
    ONS_NEW(tensors, scratch, node->input_count + 1);
    for (uint32_t i = 0; i < node->input_count; ++i)
        tensors[i] = ons_bind_is_sequence(inputs[i]) ? (ons_value_id)ONS_NONE : inputs[i];
    return ons_operands_make(b->to, node->op, node->name, node->attributes, tensors, node->input_count,
                             node->output_count, scratch, operands);
}

static ons_status *bind_node(binder *b, scope *s, const ons_node *node, const bool *live, ons_arena *scratch) {
    pending p = {.node = node, .scratch = scratch};
    ons_value_id *inputs;
    ONS_NEW(inputs, scratch, node->input_count + 1);
    ONS_NEW(p.outputs, scratch, node->output_count + 8); /* a replacement may be generous */
    ONS_NEW(p.used, scratch, node->output_count + 8);
    ONS_NEW(p.read, scratch, node->output_count + 8);
    bool hangs = false; /* on a blocker that was noted */
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ONS_TRY(ons_bind_resolve(b, s, node->inputs[i], &inputs[i]));
        hangs |= node->inputs[i] != ONS_NONE && inputs[i] == ONS_NONE;
    }
    if (hangs) return ons_bind_check_hanging(b, node, inputs);
    for (uint32_t i = 0; i < node->output_count; ++i) {
        p.outputs[i] = ONS_NONE;
        p.used[i] = node->outputs[i] != ONS_NONE;
        p.read[i] = p.used[i] && live[node->outputs[i]];
    }
    p.inputs = inputs;
    ONS_TRY(prefixed(b, s, node->name, &p.name));
    ONS_TRY(describe_operands(b, node, inputs, scratch, &p.operands));
    b->builder.name = p.name;
    size_t before = b->to->values.count;
    ONS_TRY(place(b, s, &p));
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == ONS_NONE || p.outputs[i] == ONS_NONE) continue;
        s->map[node->outputs[i]] = p.outputs[i];
        if (!is_made_here(b->to, p.outputs[i], before)) continue;
        const char *name;
        ONS_TRY(prefixed(b, s, ons_graph_value(s->from, node->outputs[i])->name, &name));
        ONS_TRY(rename_value(b->to, p.outputs[i], name));
    }
    return NULL;
}

static ons_status *build_folded(binder *b, const ons_operator *op, const char *name, ons_inputs inputs,
                                ons_settings settings, ons_arena *scratch, ons_value_id *output) {
    uint32_t attributes = ons_operator_attributes(op);
    ons_attribute *values;
    ONS_NEW(values, scratch, attributes + 1);
    for (uint32_t i = 0; i < attributes; ++i) values[i] = op->attributes[i].default_value;
    for (uint32_t i = 0; i < settings.count; ++i) values[settings.items[i].index] = settings.items[i].value;
    ons_node node = {.op = op, .name = name, .attributes = values, .input_count = inputs.count, .output_count = 1};
    bool used[1] = {true};
    pending p = {.node = &node,
                 .name = name,
                 .inputs = inputs.ids,
                 .outputs = output,
                 .used = used,
                 .read = used,
                 .scratch = scratch};
    *output = ONS_NONE;
    b->builder.name = name;
    ONS_TRY(describe_operands(b, &node, inputs.ids, scratch, &p.operands));
    ONS_TRY(ons_operands_infer(&p.operands));
    if (folds(b, &p.operands)) return fold(b, &p);
    *output = ons_build(&b->builder, op, inputs, settings);
    return ons_builder_finish(&b->builder);
}

ons_status *ons_bind_build(binder *b, const ons_operator *op, const char *name, ons_inputs inputs,
                           ons_settings settings, ons_value_id *output) {
    ONS_TRY(ons_builder_finish(&b->builder)); /* of the constants among the inputs */
    ONS_CHECK(op != NULL, ONS_DEFECT, "node '%s': there is no operator of a role that binding needs", name);
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = build_folded(b, op, name, inputs, settings, scratch, output);
    ons_arena_free(scratch);
    return status;
}

const char *ons_without_place(const ons_node *node, const char *message, ons_arena *arena) {
    const char *place = ons_arena_format(arena, "node '%s' (%s): ", node->name, node->op->name);
    size_t length = place == NULL ? 0 : strlen(place);
    return ons_arena_copy_text(arena,
                               place != NULL && strncmp(message, place, length) == 0 ? message + length : message);
}

/* Notes the problem and goes on, or ends with it. */
static ons_status *note_blocker(binder *b, const ons_node *node, ons_status *problem) {
    if (ons_status_get_code(problem) == ONS_OUT_OF_MEMORY)
        return ons_status_at(problem, "node '%s' (%s)", node->name, node->op->name);
    if (problem == NULL || b->blockers == NULL) return problem;
    ons_blocker blocker = {
        .node = ons_arena_copy_text(b->to->arena, node->name),
        .operator_name = node->op->name,
        .reason = ons_without_place(node, ons_status_get_message(problem), b->to->arena),
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
    for (size_t i = 0; i < from->read_by_unknown.count; ++i) live[from->read_by_unknown.items[i]] = true;
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

ons_status *ons_bind_nodes(binder *b, scope *s) {
    bool *live = find_needed(s->from);
    if (live == NULL) return ons_status_out_of_memory();
    const bool *needed = live + s->from->values.count;
    ons_status *status = NULL;
    for (size_t i = 0; status == NULL && i < s->from->nodes.count; ++i) {
        if (!needed[i]) continue;
        ons_arena *scratch = ons_arena_new();
        const ons_node *node = &s->from->nodes.items[i];
        status = scratch == NULL ? ons_status_out_of_memory() : bind_node(b, s, node, live, scratch);
        status = note_blocker(b, node, status);
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

/* To the number of samples that is asked for, where the model was exported for another one. */
static ons_status *change_batch(binder *b) {
    int64_t exported = b->exported, wanted = b->options->batch;
    if (exported == 0 || wanted == 0 || wanted == exported || (b->blockers != NULL && b->blockers->count > 0))
        return NULL;
    ons_blocker obstacle;
    ONS_TRY(ons_change_batch(b->to, b->registry, exported, wanted, &obstacle));
    ONS_CHECK(obstacle.node == NULL, ONS_UNSUPPORTED,
              "node '%s' (%s): %s; the model was exported for batches of %lld and takes no %lld samples", obstacle.node,
              obstacle.operator_name, obstacle.reason, (long long)exported, (long long)wanted);
    return NULL;
}

static ons_status *bind_graph(binder *b, scope *s) {
    for (size_t i = 0; i < s->from->inputs.count; ++i) ONS_TRY(bind_input(b, s, i));
    ONS_TRY(ons_bind_nodes(b, s));
    for (size_t i = 0; i < s->from->outputs.count; ++i) {
        ons_value_id output;
        ONS_TRY(ons_bind_resolve(b, s, s->from->outputs.items[i], &output));
        const char *name = ons_graph_value(s->from, s->from->outputs.items[i])->name;
        ONS_CHECK(!ons_bind_is_sequence(output), ONS_UNSUPPORTED,
                  "output '%s' is a sequence of tensors; onstage gives tensors", name);
        if (output != ONS_NONE)
            ONS_PUSH(&b->to->outputs, output);
        else
            ONS_CHECK(b->blockers != NULL, ONS_INVALID_MODEL, "output '%s' is made by no node", name);
    }
    pair_states(b->to);
    ONS_TRY(ons_prune(b->to, NULL, NULL));
    return change_batch(b);
}

ons_status *ons_bind(const ons_graph *imported, const ons_registry *registry, const ons_bind_options *options,
                     ons_blockers *blockers, ons_graph **bound) {
    binder b = {
        .registry = registry,
        .options = options,
        .exported = ons_exported_batch(imported),
        .blockers = blockers,
    };
    ONS_TRY(ons_graph_new(imported->store, imported->name, &b.to));
    b.builder = (ons_builder){.graph = b.to, .registry = registry, .phase = ONS_FORWARD, .origin = ONS_NONE};
    scope s = {.from = imported, .prefix = "", .map = malloc((imported->values.count + 1) * sizeof *s.map)};
    ons_status *status = NULL;
    if (s.map == NULL) {
        status = ons_status_out_of_memory();
    } else {
        memset(s.map, 0xff, (imported->values.count + 1) * sizeof *s.map);
        status = bind_graph(&b, &s);
    }
    free(s.map);
    ons_vector_free(&b.symbols);
    ons_vector_free(&b.sequences);
    if (status != NULL) {
        ons_graph_free(b.to);
        return status;
    }
    *bound = b.to;
    return NULL;
}
