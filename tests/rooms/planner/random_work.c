#include "tests/rooms/planner/random_work.h"

#include <math.h>

uint64_t random_next(random_source *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t random_below(random_source *random, uint32_t bound) { return (uint32_t)(random_next(random) % bound); }

double random_unit(random_source *random) { return (double)(random_next(random) >> 11) * 0x1p-53; }

bool random_chance(random_source *random, double probability) { return random_unit(random) < probability; }

double random_between(random_source *random, double low, double high, bool heavy_tailed) {
    double u = random_unit(random);
    return heavy_tailed ? low * pow(high / low, u * u) : low + (high - low) * u;
}

random_work_options random_work_graph(uint64_t seed, uint32_t nodes) {
    return (random_work_options){.seed = seed,
                                 .nodes = nodes,
                                 .heavy_tailed = seed % 2 == 1,
                                 .skips = 0.25,
                                 .branches = 0.1,
                                 .unsaved = 0.3,
                                 .saves_output = 0.2,
                                 .tied = 0.1,
                                 .outside = 0.1,
                                 .frozen = 0.1,
                                 .not_repeatable = 0.1};
}

/* ----------------------------------------------------------------------------------------- a workload in the making */

typedef struct maker {
    const random_work_options *options;
    ons_arena *arena;
    ons_workload *work;
    random_source random;
} maker;

static int64_t random_bytes(maker *m) {
    return 64 * (int64_t)random_between(&m->random, 1, 1024, m->options->heavy_tailed);
}

/* Room for every list to hold every node: test workloads are small. */
static ons_status *add_tensor(maker *m, uint32_t producer, uint32_t *index) {
    ons_workload *w = m->work;
    uint32_t *readers, *savers;
    ONS_NEW(readers, m->arena, w->node_count);
    ONS_NEW(savers, m->arena, w->node_count);
    *index = w->tensor_count++;
    int64_t bytes = random_bytes(m);
    w->tensors[*index] = (ons_work_tensor){
        .name = ons_arena_format(m->arena, "t%u", *index),
        .bytes = bytes,
        .gradient_bytes = producer == ONS_NO_NODE ? 0 : bytes,
        .producer = producer,
        .readers = readers,
        .savers = savers,
    };
    return NULL;
}

static void append(const uint32_t *list, uint32_t *count, uint32_t node) {
    if (*count == 0 || list[*count - 1] != node) ((uint32_t *)list)[(*count)++] = node;
}

static void add_reader(maker *m, uint32_t tensor, uint32_t node) {
    ons_work_tensor *t = &m->work->tensors[tensor];
    append(t->readers, &t->reader_count, node);
    if (!random_chance(&m->random, m->options->unsaved)) append(t->savers, &t->saver_count, node);
}

static ons_status *add_weight(maker *m, uint32_t node) {
    ons_workload *w = m->work;
    const random_work_options *o = m->options;
    uint32_t *users;
    if (w->weight_count > 0 && random_chance(&m->random, o->tied)) {
        ons_work_weight *shared = &w->weights[random_below(&m->random, w->weight_count)];
        append(shared->users, &shared->user_count, node);
        return NULL;
    }
    if (random_chance(&m->random, 0.3)) return NULL; /* no weight */
    ONS_NEW(users, m->arena, w->node_count);
    users[0] = node;
    int64_t bytes = random_bytes(m);
    bool frozen = random_chance(&m->random, o->frozen);
    w->weights[w->weight_count] = (ons_work_weight){
        .name = ons_arena_format(m->arena, "w%u", w->weight_count),
        .bytes = bytes,
        .gradient_bytes = frozen ? 0 : bytes,
        .state_bytes = frozen ? 0 : 2 * bytes,
        .users = users,
        .user_count = 1,
    };
    ++w->weight_count;
    return NULL;
}

static ons_status *add_node(maker *m, uint32_t node) {
    const random_work_options *o = m->options;
    ons_workload *w = m->work;
    uint32_t tensor, made = w->tensor_count;
    double seconds = random_between(&m->random, 1e-5, 1e-3, o->heavy_tailed);
    w->nodes[node] = (ons_work_node){
        .name = ons_arena_format(m->arena, "n%u", node),
        .kind = "Random",
        .layer = node / 4,
        .forward_seconds = seconds,
        .input_gradient_seconds = seconds * random_between(&m->random, 0.5, 1.5, false),
        .weight_gradient_seconds = seconds * random_between(&m->random, 0, 1.5, false),
        .update_seconds = seconds * 0.1,
        .forward_bytes = random_chance(&m->random, 0.5) ? random_bytes(m) / 4 : 0,
        .backward_bytes = random_chance(&m->random, 0.5) ? random_bytes(m) / 4 : 0,
        .recomputable = !random_chance(&m->random, o->not_repeatable),
    };
    /* The tensor made before this node stands right before those that it makes. */
    if (made > 0) {
        uint32_t skip = random_below(&m->random, made);
        if (random_chance(&m->random, o->skips)) add_reader(m, skip, node);
    }
    for (uint32_t i = made; i-- > 0;) {
        if (w->tensors[i].producer == node - 1 && node > 0) add_reader(m, i, node);
    }
    if (node == 0 || random_chance(&m->random, o->outside)) {
        ONS_TRY(add_tensor(m, ONS_NO_NODE, &tensor));
        add_reader(m, tensor, node);
    }
    uint32_t outputs = random_chance(&m->random, o->branches) ? 2 : 1;
    for (uint32_t i = 0; i < outputs; ++i) {
        ONS_TRY(add_tensor(m, node, &tensor));
        ons_work_tensor *t = &w->tensors[tensor];
        if (random_chance(&m->random, o->saves_output)) append(t->savers, &t->saver_count, node);
    }
    return add_weight(m, node);
}

static ons_status *make_layers(ons_workload *work, ons_arena *arena) {
    work->layer_count = (work->node_count + 3) / 4;
    ONS_NEW(work->layers, arena, work->layer_count);
    for (uint32_t i = 0; i < work->layer_count; ++i) {
        uint32_t left = work->node_count - 4 * i;
        work->layers[i] = (ons_work_layer){ons_arena_format(arena, "layer%u", i), 4 * i, left < 4 ? left : 4};
    }
    return NULL;
}

ons_status *random_work_make(const random_work_options *options, ons_arena *arena, ons_workload *work) {
    maker m = {options, arena, work, {options->seed}};
    *work = (ons_workload){
        .name = ons_arena_format(arena, "%u nodes, seed %llu", options->nodes, (unsigned long long)options->seed),
        .node_count = options->nodes,
        .samples = 1,
    };
    ONS_NEW(work->nodes, arena, options->nodes);
    ONS_NEW(work->tensors, arena, 3 * (size_t)options->nodes);
    ONS_NEW(work->weights, arena, options->nodes);
    for (uint32_t node = 0; node < options->nodes; ++node) ONS_TRY(add_node(&m, node));
    ONS_TRY(make_layers(work, arena));
    return ons_workload_finish(work, arena);
}

ons_status *uniform_work_make(uint32_t nodes, ons_arena *arena, ons_workload *work) {
    uint32_t *ids;
    *work = (ons_workload){.name = "uniform", .node_count = nodes, .samples = 1};
    ONS_NEW(work->nodes, arena, nodes);
    ONS_NEW(work->tensors, arena, nodes);
    ONS_NEW(work->weights, arena, nodes);
    ONS_NEW(ids, arena, nodes);
    for (uint32_t i = 0; i < nodes; ++i) {
        bool last = i + 1 == nodes;
        ids[i] = i;
        work->nodes[i] =
            (ons_work_node){ons_arena_format(arena, "n%u", i), "Uniform", i / 4, 1e-3, 1e-3, 1e-3, 1e-4, 0, 0, true, 0};
        work->tensors[i] =
            (ons_work_tensor){ons_arena_format(arena, "t%u", i), 1000,  1000, i, last ? NULL : ids + i + 1,
                              last ? NULL : ids + i + 1,         !last, !last};
        work->weights[i] = (ons_work_weight){ons_arena_format(arena, "w%u", i), 100, 100, 200, ids + i, 1};
    }
    work->tensor_count = work->weight_count = nodes;
    ONS_TRY(make_layers(work, arena));
    return ons_workload_finish(work, arena);
}
