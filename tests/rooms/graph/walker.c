#include "tests/rooms/graph/walker.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph/operands.h"
#include "graph/sharing.h"
#include "kernels/kernels.h"
#include "tests/rooms/graph/fixture.h"

typedef struct prepared {
    ons_run_function *run; /* NULL: a view */
    void *state, *scratch;
    void (*destroy)(void *state);
    const void **inputs;
    void **outputs;
} prepared;

struct walker {
    const ons_graph *graph;
    const ons_registry *registry;
    ons_arena *arena;
    void **data; /* of each value; new contents of a state lie where the old ones do */
    bool *there;
    prepared *nodes;
};

bool walker_is_held(const ons_graph *graph, ons_value_id id) {
    const ons_value *v = ons_graph_value(graph, id);
    return (v->producer == ONS_NONE && ons_is_persistent(v)) || v->pair != ONS_NONE;
}

size_t walker_bytes(const walker *w, ons_value_id id) {
    return (size_t)ons_registry_type_bytes(w->registry, &ons_graph_value(w->graph, id)->type);
}

static void *allocate(size_t bytes) {
    void *data = aligned_alloc(64, bytes / 64 * 64 + 64);
    cr_assert_not_null(data);
    memset(data, 0, bytes / 64 * 64 + 64);
    return data;
}

static void make_values(walker *w) {
    for (ons_value_id id = 0; id < w->graph->values.count; ++id) {
        const ons_value *v = ons_graph_value(w->graph, id);
        if (v->pair != ONS_NONE) continue;
        w->data[id] = allocate(walker_bytes(w, id));
        w->there[id] = walker_is_held(w->graph, id);
        const ons_tensor *first = ons_store_get(w->graph->store, v->data);
        if (!w->there[id])
            walker_forget(w, id);
        else if (first != NULL && first->data != NULL)
            memcpy(w->data[id], first->data, walker_bytes(w, id));
    }
    for (ons_value_id id = 0; id < w->graph->values.count; ++id)
        if (ons_graph_value(w->graph, id)->pair != ONS_NONE) w->data[id] = w->data[ons_graph_value(w->graph, id)->pair];
}

/* As many as the operator can have: kernels may look at all. */
static uint32_t slots(uint32_t most, uint32_t count) {
    return most == (uint32_t)ONS_VARIADIC || most < count ? count : most;
}

static void prepare_node(walker *w, ons_node_id id) {
    const ons_node *node = ons_graph_node(w->graph, id);
    prepared *n = &w->nodes[id];
    if (ons_is_view(node->op)) return;
    ons_operands *operands = ons_arena_allocate(w->arena, 1, sizeof *operands);
    cr_assert_not_null(operands);
    must(ons_operands_of(w->graph, id, w->arena, operands));
    ons_prepare prepare = {
        .operands = operands,
        .threads = 1,
        .scratch_limit = INT64_MAX,
        .arena = w->arena,
        .node_key = ons_graph_node_key(w->graph, id),
    };
    const ons_kernel *kernel = NULL;
    must(ons_backend_prepare(ons_backend_find("cpu"), &prepare, &kernel));
    n->run = kernel->run;
    n->state = prepare.state;
    n->destroy = prepare.destroy;
    n->scratch = allocate((size_t)prepare.scratch_bytes);
    n->inputs = ons_arena_allocate(w->arena, slots(node->op->arity.inputs_max, node->input_count) + 1, sizeof(void *));
    n->outputs =
        ons_arena_allocate(w->arena, slots(node->op->arity.outputs_max, node->output_count) + 1, sizeof(void *));
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE) n->inputs[i] = w->data[node->inputs[i]];
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE) n->outputs[i] = w->data[node->outputs[i]];
}

walker *walker_open(const ons_graph *graph, const ons_registry *registry) {
    walker *w = calloc(1, sizeof *w);
    cr_assert_not_null(w);
    *w = (walker){.graph = graph, .registry = registry, .arena = ons_arena_new()};
    w->data = calloc(graph->values.count + 1, sizeof *w->data);
    w->there = calloc(graph->values.count + 1, sizeof *w->there);
    w->nodes = calloc(graph->nodes.count + 1, sizeof *w->nodes);
    make_values(w);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) prepare_node(w, id);
    return w;
}

void walker_close(walker *w) {
    for (ons_node_id id = 0; id < w->graph->nodes.count; ++id) {
        if (w->nodes[id].destroy != NULL) w->nodes[id].destroy(w->nodes[id].state);
        free(w->nodes[id].scratch);
    }
    for (ons_value_id id = 0; id < w->graph->values.count; ++id)
        if (ons_graph_value(w->graph, id)->pair == ONS_NONE) free(w->data[id]);
    free(w->data), free(w->there), free(w->nodes);
    ons_arena_free(w->arena);
    free(w);
}

void walker_run(walker *w, ons_node_id id, const ons_step *step) {
    const ons_node *node = ons_graph_node(w->graph, id);
    const prepared *n = &w->nodes[id];
    ons_fault fault = {0};
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE)
            cr_assert(w->there[node->inputs[i]], "%s: '%s' reads '%s', which is not there", w->graph->name, node->name,
                      ons_graph_value(w->graph, node->inputs[i])->name);
    if (n->run == NULL) {
        memcpy(w->data[node->outputs[0]], w->data[node->inputs[0]], walker_bytes(w, node->outputs[0]));
    } else {
        ons_launch launch = {.inputs = n->inputs,
                             .outputs = n->outputs,
                             .scratch = n->scratch,
                             .state = n->state,
                             .step = step,
                             .fault = &fault};
        n->run(&launch);
    }
    cr_assert_null(fault.problem, "%s: '%s': %s", w->graph->name, node->name, fault.problem);
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE) w->there[node->outputs[i]] = true;
}

const void *walker_read(const walker *w, ons_value_id value) {
    cr_assert(w->there[value], "%s: '%s' is not there", w->graph->name, ons_graph_value(w->graph, value)->name);
    return w->data[value];
}

void walker_write(walker *w, ons_value_id value, const void *bytes) {
    memcpy(w->data[value], bytes, walker_bytes(w, value));
    w->there[value] = true;
}

void walker_forget(walker *w, ons_value_id value) {
    memset(w->data[value], 0xff, walker_bytes(w, value)); /* a NaN, an index out of range */
    w->there[value] = false;
}

bool walker_has(const walker *w, ons_value_id value) { return w->there[value]; }
