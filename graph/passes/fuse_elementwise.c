/* Groups grow along the order of the nodes: each node that can be a step starts as a group of its own and is joined
 * with those that make its operands, where the rules allow it. Forward nodes come first, since groups of backward nodes
 * depend on theirs. */
#include "graph/passes/fuse_elementwise.h"

#include <stdlib.h>
#include <string.h>

#include "graph/operands.h"
#include "graph/passes/prune.h"

enum { STEP_TEXT = 512 };

typedef struct fuser {
    ons_graph *graph;
    const ons_elementwise_fusion *fusion;
    ons_arena *arena;                 /* for what follows */
    size_t nodes;                     /* before anything is added */
    bool *takes;                      /* of each node */
    bool *is_output;                  /* of each value */
    uint32_t *first_reader, *readers; /* of each value: readers[first_reader[v]] up to that of v + 1 */
    /* Groups are rings of nodes, named by their smallest node. */
    ons_node_id *name, *next;
    uint32_t *size;    /* by name */
    ons_node_id *last; /* by name: the largest node */
    uint32_t *seen;    /* by node: in which search */
    uint32_t search;
    ons_node_id *stack;
    bool *inside;          /* by node: a group begins before it and ends with it or later */
    ons_node_id *fused;    /* by name: the node that replaces the group; ONS_NONE: none */
    ons_node_id *replaced; /* of each fused node: the name of its group */
    ons_node_id *order;
    size_t ordered;
} fuser;

/* ----------------------------------------------------------------------------------------------------------- tables */

static ons_status *count_readers(fuser *f) {
    const ons_graph *graph = f->graph;
    size_t values = graph->values.count, uses = 0;
    ONS_NEW(f->first_reader, f->arena, values + 2);
    ONS_NEW(f->is_output, f->arena, values + 1);
    for (size_t i = 0; i < graph->outputs.count; ++i) f->is_output[graph->outputs.items[i]] = true;
    for (size_t i = 0; i < f->nodes; ++i)
        for (uint32_t k = 0; k < graph->nodes.items[i].input_count; ++k)
            if (graph->nodes.items[i].inputs[k] != ONS_NONE) {
                ++f->first_reader[graph->nodes.items[i].inputs[k] + 2];
                ++uses;
            }
    ONS_NEW(f->readers, f->arena, uses + 1);
    for (size_t v = 2; v < values + 2; ++v) f->first_reader[v] += f->first_reader[v - 1];
    for (uint32_t i = 0; i < f->nodes; ++i)
        for (uint32_t k = 0; k < graph->nodes.items[i].input_count; ++k)
            if (graph->nodes.items[i].inputs[k] != ONS_NONE)
                f->readers[f->first_reader[graph->nodes.items[i].inputs[k] + 1]++] = i;
    return NULL;
}

/* States and statistics are replaced on the way; who reads them keeps its place. */
static bool reads_state(const ons_graph *graph, const ons_node *node) {
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_value_kind kind =
            node->inputs[i] == ONS_NONE ? ONS_CONSTANT : ons_graph_value(graph, node->inputs[i])->kind;
        if (kind == ONS_STATE || kind == ONS_BUFFER) return true;
    }
    return false;
}

static ons_status *find_steps(fuser *f) {
    ONS_NEW(f->takes, f->arena, f->nodes + 1);
    for (ons_node_id id = 0; id < f->nodes; ++id) {
        const ons_node *node = ons_graph_node(f->graph, id);
        if (node->phase == ONS_UPDATE || node->output_count != 1 || node->outputs[0] == ONS_NONE ||
            ons_graph_value(f->graph, node->outputs[0])->pair != ONS_NONE || reads_state(f->graph, node))
            continue;
        ons_arena *scratch = ons_arena_new();
        if (scratch == NULL) return ons_status_out_of_memory();
        ons_operands operands;
        ons_status *status = ons_operands_of(f->graph, id, scratch, &operands);
        f->takes[id] = status == NULL && f->fusion->takes(&operands);
        ons_arena_free(scratch);
        ONS_TRY(status);
    }
    return NULL;
}

static ons_status *make_tables(fuser *f) {
    f->nodes = f->graph->nodes.count;
    ONS_TRY(count_readers(f));
    ONS_TRY(find_steps(f));
    ONS_NEW(f->name, f->arena, f->nodes + 1);
    ONS_NEW(f->next, f->arena, f->nodes + 1);
    ONS_NEW(f->size, f->arena, f->nodes + 1);
    ONS_NEW(f->last, f->arena, f->nodes + 1);
    ONS_NEW(f->seen, f->arena, f->nodes + 1);
    ONS_NEW(f->stack, f->arena, f->nodes + 1);
    ONS_NEW(f->inside, f->arena, f->nodes + 1);
    ONS_NEW(f->fused, f->arena, f->nodes + 1);
    ONS_NEW(f->replaced, f->arena, f->nodes + 1);
    for (ons_node_id id = 0; id < f->nodes; ++id) {
        f->name[id] = f->next[id] = f->last[id] = id;
        f->size[id] = 1;
        f->fused[id] = ONS_NONE;
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- groups */

/* The node that made the value before anything was replaced, or one of its group. */
static ons_node_id maker_of(const fuser *f, ons_value_id value) {
    ons_node_id maker = value == ONS_NONE ? ONS_NONE : ons_graph_value(f->graph, value)->producer;
    return maker == ONS_NONE || maker < f->nodes ? maker : f->replaced[maker - f->nodes];
}

/* The forward node, as it will be, that a backward node stands for. */
static ons_node_id root_of(const fuser *f, ons_node_id id) {
    ons_node_id origin = ons_graph_node(f->graph, id)->origin;
    return origin == ONS_NONE ? f->name[id] : f->name[origin];
}

static bool are_alike(const fuser *f, ons_node_id left, ons_node_id right) {
    const ons_node *a = ons_graph_node(f->graph, left), *b = ons_graph_node(f->graph, right);
    return a->phase == b->phase && a->per_step == b->per_step &&
           ons_shape_equal(&ons_graph_value(f->graph, a->outputs[0])->type.shape,
                           &ons_graph_value(f->graph, b->outputs[0])->type.shape) &&
           (a->phase == ONS_FORWARD || root_of(f, left) == root_of(f, right));
}

static bool is_in(const fuser *f, ons_node_id id, ons_node_id left, ons_node_id right) {
    return id != ONS_NONE && (f->name[id] == left || f->name[id] == right);
}

/* Puts the makers of a node's operands on the stack that stand outside of both groups and end with `lowest` or later.
 * Marks them as seen. */
static size_t push_makers(fuser *f, ons_node_id id, ons_node_id left, ons_node_id right, ons_node_id lowest,
                          size_t height) {
    const ons_node *node = ons_graph_node(f->graph, id);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_node_id maker = maker_of(f, node->inputs[i]);
        if (maker == ONS_NONE || is_in(f, maker, left, right)) continue;
        ons_node_id name = f->name[maker];
        if (f->last[name] < lowest || f->seen[name] == f->search) continue;
        f->seen[name] = f->search;
        f->stack[height++] = name;
    }
    return height;
}

static bool reads_group(const fuser *f, ons_node_id id, ons_node_id left, ons_node_id right) {
    const ons_node *node = ons_graph_node(f->graph, id);
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (is_in(f, maker_of(f, node->inputs[i]), left, right)) return true;
    return false;
}

/* Whether an operand of the two groups together depends on one of them by way of others. */
static bool goes_round(fuser *f, ons_node_id left, ons_node_id right) {
    const ons_node_id both[] = {left, right};
    size_t height = 0;
    /* What ends before a node that no group spans depends on nothing behind it. */
    ons_node_id lowest = left < right ? left : right;
    while (f->inside[lowest]) --lowest;
    ++f->search;
    for (int i = 0; i < 2; ++i) {
        ons_node_id id = both[i];
        do height = push_makers(f, id, left, right, lowest, height);
        while ((id = f->next[id]) != both[i]);
    }
    while (height > 0) {
        ons_node_id name = f->stack[--height], id = name;
        do {
            if (reads_group(f, id, left, right)) return true;
            height = push_makers(f, id, left, right, lowest, height);
        } while ((id = f->next[id]) != name);
    }
    return false;
}

/* Whether anybody outside of both groups reads the value. */
static bool escapes(const fuser *f, ons_value_id value, ons_node_id left, ons_node_id right) {
    if (f->is_output[value]) return true;
    for (uint32_t i = f->first_reader[value]; i < f->first_reader[value + 1]; ++i)
        if (!is_in(f, f->readers[i], left, right)) return true;
    return false;
}

static bool has_value(const ons_value_id *values, uint32_t count, ons_value_id value) {
    for (uint32_t i = 0; i < count; ++i)
        if (values[i] == value) return true;
    return false;
}

/* Within what one fused node can have. */
static bool fits(const fuser *f, ons_node_id left, ons_node_id right) {
    const ons_node_id both[] = {left, right};
    ons_value_id inputs[64];
    uint32_t input_count = 0, outputs = 0, uses = 0;
    if (f->size[left] + f->size[right] > f->fusion->steps_max) return false;
    for (int i = 0; i < 2; ++i) {
        ons_node_id id = both[i];
        do {
            const ons_node *node = ons_graph_node(f->graph, id);
            outputs += escapes(f, node->outputs[0], left, right);
            uses += node->input_count;
            for (uint32_t k = 0; k < node->input_count; ++k) {
                if (node->inputs[k] == ONS_NONE || is_in(f, maker_of(f, node->inputs[k]), left, right) ||
                    has_value(inputs, input_count, node->inputs[k]))
                    continue;
                if (input_count == f->fusion->inputs_max || input_count == sizeof inputs / sizeof inputs[0])
                    return false;
                inputs[input_count++] = node->inputs[k];
            }
        } while ((id = f->next[id]) != both[i]);
    }
    return input_count > 0 && outputs <= f->fusion->outputs_max && uses <= f->fusion->uses_max;
}

static void join(fuser *f, ons_node_id left, ons_node_id right) {
    ons_node_id name = left < right ? left : right, other = left < right ? right : left;
    ons_node_id id = other;
    do f->name[id] = name;
    while ((id = f->next[id]) != other);
    ons_node_id after = f->next[name];
    f->next[name] = f->next[other];
    f->next[other] = after;
    f->size[name] += f->size[other];
    if (f->last[other] > f->last[name]) f->last[name] = f->last[other];
    for (ons_node_id each = name + 1; each <= f->last[name]; ++each) f->inside[each] = true;
}

static void grow(fuser *f, bool forward) {
    for (ons_node_id id = 0; id < f->nodes; ++id) {
        const ons_node *node = ons_graph_node(f->graph, id);
        if (!f->takes[id] || (node->phase == ONS_FORWARD) != forward) continue;
        for (uint32_t i = 0; i < node->input_count; ++i) {
            ons_node_id maker = maker_of(f, node->inputs[i]);
            if (maker == ONS_NONE || !f->takes[maker] || f->name[maker] == f->name[id] || !are_alike(f, maker, id) ||
                !fits(f, f->name[maker], f->name[id]) || goes_round(f, f->name[maker], f->name[id]))
                continue;
            join(f, f->name[maker], f->name[id]);
        }
    }
}

/* -------------------------------------------------------------------------------------------------------- replacing */

/* A group as a node: members in order, what they read and what of theirs is read. */
typedef struct group {
    ons_node_id *members;
    ons_value_id *inputs, *outputs;
    int64_t *output_steps;
    uint32_t member_count, input_count, output_count;
} group;

static int by_id(const void *left, const void *right) {
    ons_node_id a = *(const ons_node_id *)left, b = *(const ons_node_id *)right;
    return a < b ? -1 : a > b;
}

static ons_status *collect(const fuser *f, ons_node_id name, group *g) {
    *g = (group){0};
    ONS_NEW(g->members, f->arena, f->size[name]);
    ONS_NEW(g->inputs, f->arena, f->fusion->inputs_max);
    ONS_NEW(g->outputs, f->arena, f->size[name]);
    ONS_NEW(g->output_steps, f->graph->arena, f->size[name]);
    ons_node_id id = name;
    do g->members[g->member_count++] = id;
    while ((id = f->next[id]) != name);
    qsort(g->members, g->member_count, sizeof g->members[0], by_id);
    for (uint32_t m = 0; m < g->member_count; ++m) {
        const ons_node *node = ons_graph_node(f->graph, g->members[m]);
        for (uint32_t k = 0; k < node->input_count; ++k)
            if (node->inputs[k] != ONS_NONE && !is_in(f, maker_of(f, node->inputs[k]), name, name) &&
                !has_value(g->inputs, g->input_count, node->inputs[k]))
                g->inputs[g->input_count++] = node->inputs[k];
    }
    for (uint32_t m = 0; m < g->member_count; ++m) {
        ons_value_id value = ons_graph_node(f->graph, g->members[m])->outputs[0];
        if (!escapes(f, value, name, name)) continue;
        g->output_steps[g->output_count] = g->input_count + m;
        g->outputs[g->output_count++] = value;
    }
    return NULL;
}

/* ONS_NONE for an operand that is left out. */
static uint32_t number_of(const fuser *f, const group *g, ons_value_id value) {
    if (value == ONS_NONE) return ONS_NONE;
    for (uint32_t i = 0; i < g->input_count; ++i)
        if (g->inputs[i] == value) return i;
    for (uint32_t m = 0; m < g->member_count; ++m)
        if (ons_graph_node(f->graph, g->members[m])->outputs[0] == value) return g->input_count + m;
    return ONS_NONE;
}

static ons_status *write_steps(const fuser *f, const group *g, const char **steps) {
    char *text, *end;
    ONS_NEW(text, f->graph->arena, (size_t)g->member_count * STEP_TEXT);
    end = text;
    for (uint32_t m = 0; m < g->member_count; ++m) {
        const ons_node *node = ons_graph_node(f->graph, g->members[m]);
        uint32_t *numbers;
        ons_operands operands;
        ONS_NEW(numbers, f->arena, node->input_count);
        for (uint32_t k = 0; k < node->input_count; ++k) numbers[k] = number_of(f, g, node->inputs[k]);
        ONS_TRY(ons_operands_of(f->graph, g->members[m], f->arena, &operands));
        if (m > 0) *end++ = ';';
        ONS_CHECK(f->fusion->write_step(&operands, numbers, end, STEP_TEXT - 1), ONS_DEFECT,
                  "node '%s' (%s) cannot be written as a step", node->name, node->op->name);
        end += strlen(end);
    }
    *steps = text;
    return NULL;
}

/* The fused node has the name of the group's last node, and makes the values that the group's nodes made. */
static ons_status *replace(fuser *f, ons_node_id name) {
    ons_graph *graph = f->graph;
    group g;
    ons_attribute *attributes;
    ons_node_id id;
    const char *steps;
    ONS_TRY(collect(f, name, &g));
    ONS_TRY(write_steps(f, &g, &steps));
    ONS_NEW(attributes, graph->arena, 2);
    attributes[0] = (ons_attribute){.kind = ONS_ATTRIBUTE_STRING, .s = steps};
    attributes[1] = (ons_attribute){.kind = ONS_ATTRIBUTE_INTS, .count = g.output_count, .ints = g.output_steps};
    ons_node_id last = g.members[g.member_count - 1];
    ONS_TRY(ons_graph_add_node(graph, f->fusion->fused, ons_graph_node(graph, last)->name, attributes, g.inputs,
                               g.input_count, g.output_count, &id));
    ons_graph_take_place(graph, id, last);
    const ons_node *was = ons_graph_node(graph, last);
    ons_graph_node(graph, id)->origin = was->origin == last || was->phase == ONS_FORWARD ? id : was->origin;
    for (uint32_t m = 0; m < g.member_count; ++m) ons_graph_node(graph, g.members[m])->outputs[0] = ONS_NONE;
    for (uint32_t i = 0; i < g.output_count; ++i) ons_graph_set_output(graph, id, i, g.outputs[i]);
    f->fused[name] = id;
    f->replaced[id - f->nodes] = name;
    return NULL;
}

/* A node, or its group, after all that its operands need. */
static void put(fuser *f, ons_node_id id) {
    ons_node_id name = f->name[id], each = name;
    if (f->seen[name] == f->search) return;
    f->seen[name] = f->search;
    do {
        const ons_node *node = ons_graph_node(f->graph, each);
        for (uint32_t i = 0; i < node->input_count; ++i) {
            ons_node_id maker = maker_of(f, node->inputs[i]);
            if (maker != ONS_NONE && f->name[maker] != name) put(f, maker);
        }
    } while ((each = f->next[each]) != name);
    do f->order[f->ordered++] = each;
    while ((each = f->next[each]) != name);
    if (f->fused[name] != ONS_NONE) f->order[f->ordered++] = f->fused[name];
}

static ons_status *replace_all(fuser *f, ons_tracked_values *tracked) {
    bool any = false;
    for (ons_node_id id = 0; id < f->nodes; ++id) {
        if (f->name[id] != id || f->size[id] < 2) continue;
        ONS_TRY(replace(f, id));
        any = true;
    }
    if (!any) return NULL;
    for (size_t i = 0; i < f->graph->nodes.count; ++i) {
        ons_node *node = ons_graph_node(f->graph, (ons_node_id)i);
        ons_node_id stands_in = node->origin < f->nodes ? f->fused[f->name[node->origin]] : ONS_NONE;
        if (stands_in != ONS_NONE) node->origin = stands_in;
    }
    ONS_NEW(f->order, f->arena, f->graph->nodes.count + 1);
    ++f->search;
    for (ons_node_id id = 0; id < f->nodes; ++id)
        if (f->last[f->name[id]] == id) put(f, id);
    return ons_prune(f->graph, f->order, tracked);
}

ons_status *ons_fuse_elementwise(ons_graph *graph, const ons_elementwise_fusion *fusion, ons_tracked_values *tracked) {
    fuser f = {.graph = graph, .fusion = fusion, .arena = ons_arena_new()};
    if (f.arena == NULL) return ons_status_out_of_memory();
    ons_status *status = make_tables(&f);
    if (status == NULL) {
        grow(&f, true);
        grow(&f, false);
        status = replace_all(&f, tracked);
    }
    ons_arena_free(f.arena);
    return status;
}
