#include "tests/rooms/planner/branch_work.h"

#include <stdlib.h>

ons_status *branch_graph_new(const char *name, uint32_t most_nodes, ons_arena *arena, branch_graph *graph) {
    *graph = (branch_graph){.arena = arena, .name = name, .room = most_nodes};
    ONS_NEW(graph->nodes, arena, most_nodes);
    return NULL;
}

ons_status *branch_graph_add(branch_graph *g, const branch_node *node, uint32_t *number) {
    ONS_CHECK(g->count < g->room, ONS_INVALID_ARGUMENT, "more than %u nodes", g->room);
    uint32_t *inputs;
    ONS_NEW(inputs, g->arena, (size_t)node->input_count + 1);
    for (uint32_t i = 0; i < node->input_count; ++i) inputs[i] = node->inputs[i];
    branch_node *own = &g->nodes[g->count];
    *own = *node;
    own->inputs = inputs;
    if (own->name == NULL) own->name = ons_arena_format(g->arena, "n%u", g->count);
    *number = g->count++;
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- workloads */

static bool reads(const branch_node *node, uint32_t other) {
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] == other) return true;
    return false;
}

static ons_status *add_output(const branch_graph *g, uint32_t node, int64_t samples, ons_workload *w) {
    uint32_t *readers, count = 0;
    ONS_NEW(readers, g->arena, g->count);
    for (uint32_t i = node + 1; i < g->count; ++i)
        if (reads(&g->nodes[i], node)) readers[count++] = i;
    int64_t bytes = g->nodes[node].output_bytes * samples;
    w->tensors[w->tensor_count++] = (ons_work_tensor){.name = g->nodes[node].name,
                                                      .bytes = bytes,
                                                      .gradient_bytes = bytes,
                                                      .producer = node,
                                                      .readers = readers,
                                                      .savers = readers,
                                                      .reader_count = count,
                                                      .saver_count = count};
    return NULL;
}

static ons_status *add_node(const branch_graph *g, uint32_t node, int64_t samples, ons_workload *w) {
    const branch_node *n = &g->nodes[node];
    double forward = n->fixed_seconds + n->seconds * (double)samples;
    uint32_t *self;
    ONS_NEW(self, g->arena, 1);
    *self = node;
    w->nodes[node] = (ons_work_node){.name = n->name,
                                     .kind = "Branch",
                                     .forward_seconds = forward,
                                     .input_gradient_seconds = forward * n->backward / 2,
                                     .weight_gradient_seconds = forward * n->backward / 2,
                                     .update_seconds = n->update_seconds,
                                     .recomputable = true};
    const char *inside = ons_arena_format(g->arena, "inside %s", n->name);
    if (inside == NULL) return ons_status_out_of_memory();
    ONS_TRY(add_output(g, node, samples, w));
    if (n->inner_bytes > 0)
        w->tensors[w->tensor_count++] = (ons_work_tensor){
            .name = inside, .bytes = n->inner_bytes * samples, .producer = node, .savers = self, .saver_count = 1};
    if (n->weight_bytes > 0)
        w->weights[w->weight_count++] =
            (ons_work_weight){n->name, n->weight_bytes, n->weight_bytes, 2 * n->weight_bytes, self, 1};
    return NULL;
}

ons_status *branch_graph_work(const branch_graph *g, int64_t samples, ons_workload *w) {
    *w = (ons_workload){.name = g->name, .node_count = g->count, .layer_count = 1, .samples = samples};
    ONS_NEW(w->nodes, g->arena, g->count);
    ONS_NEW(w->tensors, g->arena, 2 * (size_t)g->count);
    ONS_NEW(w->weights, g->arena, g->count);
    ONS_NEW(w->layers, g->arena, 1);
    w->layers[0] = (ons_work_layer){g->name, 0, g->count};
    for (uint32_t i = 0; i < g->count; ++i) ONS_TRY(add_node(g, i, samples, w));
    return ons_workload_finish(w, g->arena);
}

ons_status *branch_graph_works(const branch_graph *g, uint32_t sizes, const ons_workload *const **list) {
    const ons_workload **works;
    ONS_NEW(works, g->arena, sizes);
    for (uint32_t i = 0; i < sizes; ++i) {
        ons_workload *work;
        ONS_NEW(work, g->arena, 1);
        ONS_TRY(branch_graph_work(g, (int64_t)1 << i, work));
        works[i] = work;
    }
    *list = works;
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- graphs */

ons_status *two_towers(uint32_t length, double seconds, ons_arena *arena, branch_graph *g) {
    uint32_t number, ends[2];
    branch_node node = {.fixed_seconds = seconds, .backward = 2, .output_bytes = 1000};
    ONS_TRY(branch_graph_new("two towers", 2 * length + 1, arena, g));
    for (uint32_t tower = 0; tower < 2; ++tower)
        for (uint32_t i = 0; i < length; ++i) {
            node.inputs = &number;
            node.input_count = i > 0;
            ONS_TRY(branch_graph_add(g, &node, &number));
            ends[tower] = number;
        }
    node = (branch_node){.name = "head", .output_bytes = 8, .inputs = ends, .input_count = 2};
    return branch_graph_add(g, &node, &number);
}

/* With costs by chance, some of them the same so that branches are alike. */
static branch_node random_node(random_source *random) {
    bool round = random_chance(random, 0.3);
    return (branch_node){
        .fixed_seconds = round ? 1e-3 : random_between(random, 1e-4, 2e-3, false),
        .seconds = round ? 1e-3 : random_between(random, 1e-4, 4e-3, true),
        .backward = round ? 2 : random_between(random, 1, 3, false),
        .update_seconds = random_between(random, 0, 1e-3, false),
        .weight_bytes = random_chance(random, 0.7) ? 64 * (1 + (int64_t)random_below(random, 2000)) : 0,
        .output_bytes = 64 * (1 + (int64_t)random_below(random, 200)),
        .inner_bytes = random_chance(random, 0.5) ? 64 * (int64_t)random_below(random, 500) : 0,
    };
}

/* Numbers of the nodes that a part begins and ends with. */
typedef struct ends {
    uint32_t *items, count;
} ends;

typedef struct grower {
    random_source random;
    branch_graph *g;
    ends inputs; /* of what is added next */
} grower;

static ons_status *ends_new(grower *x, ends *e) {
    e->count = 0;
    ONS_NEW(e->items, x->g->arena, x->g->room);
    return NULL;
}

static int compare_numbers(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Adds a part of so many nodes behind `inputs`; `last`: its ends are appended. */
static ons_status *grow(grower *x, uint32_t nodes, bool row, const ends *inputs, ends *last) {
    if (nodes == 1) {
        branch_node node = random_node(&x->random);
        node.inputs = inputs->items;
        node.input_count = inputs->count;
        return branch_graph_add(x->g, &node, &last->items[last->count++]);
    }
    uint32_t parts = 2 + random_below(&x->random, nodes < 4 ? nodes - 1 : 3), left = nodes;
    ends before = *inputs;
    for (uint32_t i = 0; i < parts; ++i) {
        uint32_t most = left - (parts - i - 1), size = i + 1 == parts ? left : 1 + random_below(&x->random, most);
        ends now;
        left -= size;
        if (!row) {
            ONS_TRY(grow(x, size, true, inputs, last));
            continue;
        }
        ONS_TRY(ends_new(x, &now));
        ONS_TRY(grow(x, size, false, &before, &now));
        qsort(now.items, now.count, sizeof *now.items, compare_numbers);
        before = now;
    }
    for (uint32_t i = 0; row && i < before.count; ++i) last->items[last->count++] = before.items[i];
    return NULL;
}

ons_status *random_series_parallel(uint64_t seed, uint32_t nodes, ons_arena *arena, branch_graph *g) {
    grower x = {.random = {seed}, .g = g};
    ends none = {NULL, 0}, last;
    const char *name = ons_arena_format(arena, "series-parallel, %u nodes, seed %llu", nodes, (unsigned long long)seed);
    ONS_TRY(branch_graph_new(name, nodes, arena, g));
    ONS_TRY(ends_new(&x, &last));
    return grow(&x, nodes, random_chance(&x.random, 0.7), &none, &last);
}

ons_status *random_dependencies(uint64_t seed, uint32_t nodes, ons_arena *arena, branch_graph *g) {
    random_source random = {seed};
    double density = random_unit(&random);
    uint32_t *inputs, number;
    const char *name = ons_arena_format(arena, "dependencies, %u nodes, seed %llu", nodes, (unsigned long long)seed);
    ONS_TRY(branch_graph_new(name, nodes, arena, g));
    ONS_NEW(inputs, arena, nodes);
    for (uint32_t i = 0; i < nodes; ++i) {
        branch_node node = random_node(&random);
        node.inputs = inputs;
        for (uint32_t k = i > 6 ? i - 6 : 0; k < i; ++k)
            if (random_chance(&random, 0.6 * density * density)) inputs[node.input_count++] = k;
        ONS_TRY(branch_graph_add(g, &node, &number));
    }
    return NULL;
}
