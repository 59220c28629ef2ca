#include "tests/rooms/planner/shard_work.h"

typedef struct builder {
    const shard_model *model;
    branch_graph graph;
    random_source random;
    uint32_t *of;
    ons_arena *arena;
} builder;

static double vary(builder *b, double seconds) {
    return seconds * (1 + b->model->unevenness * (2 * random_unit(&b->random) - 1));
}

static ons_status *add(builder *b, const char *name, uint32_t shard, const branch_node *like, uint32_t *number) {
    branch_node node = *like;
    node.name =
        b->model->shards == 1 || shard == ONS_NO_SHARD ? name : ons_arena_format(b->arena, "%s.%u", name, shard);
    node.backward = 2;
    if (node.name == NULL) return ons_status_out_of_memory();
    ONS_TRY(branch_graph_add(&b->graph, &node, number));
    b->of[*number] = b->model->shards == 1 ? ONS_NO_SHARD : shard;
    return NULL;
}

/* A node for each shard that reads `input` (ONS_NO_NODE: data). */
static ons_status *add_shards(builder *b, const char *name, uint32_t input, const branch_node *all, uint32_t *numbers) {
    for (uint32_t i = 0; i < b->model->shards; ++i) {
        branch_node node = *all;
        node.seconds = vary(b, all->seconds / b->model->shards);
        node.weight_bytes /= b->model->shards;
        node.inner_bytes /= b->model->shards;
        node.inputs = &input;
        node.input_count = input == ONS_NO_NODE ? 0 : 1;
        ONS_TRY(add(b, name, i, &node, &numbers[i]));
    }
    return NULL;
}

static ons_status *add_table(builder *b, uint32_t *last) {
    const shard_model *m = b->model;
    uint32_t *shards;
    ONS_NEW(shards, b->arena, m->shards);
    const branch_node all = {
        .seconds = m->table_seconds, .weight_bytes = 10 * m->weight_bytes, .output_bytes = m->layer_bytes};
    if (m->table_seconds == 0) return NULL;
    ONS_TRY(add_shards(b, "look-up", ONS_NO_NODE, &all, shards));
    const branch_node sum = {
        .seconds = m->layer_seconds * 0.01, .output_bytes = m->layer_bytes, .inputs = shards, .input_count = m->shards};
    return add(b, "sum", ONS_NO_SHARD, &sum, last);
}

static ons_status *add_layers(builder *b, uint32_t *last) {
    for (uint32_t i = 0; i < b->model->layers; ++i) {
        const branch_node layer = {.seconds = vary(b, b->model->layer_seconds),
                                   .weight_bytes = b->model->weight_bytes,
                                   .output_bytes = b->model->layer_bytes,
                                   .inner_bytes = 4 * b->model->layer_bytes,
                                   .inputs = last,
                                   .input_count = *last == ONS_NO_NODE ? 0 : 1};
        const char *name = ons_arena_format(b->arena, "layer %u", i);
        if (name == NULL) return ons_status_out_of_memory();
        ONS_TRY(add(b, name, ONS_NO_SHARD, &layer, last));
    }
    return NULL;
}

/* Logits and log sums are a node each. */
static ons_status *add_head(builder *b, uint32_t last) {
    const shard_model *m = b->model;
    uint32_t *sums, loss;
    ONS_NEW(sums, b->arena, m->shards);
    const branch_node logits = {.seconds = m->head_seconds * 0.9,
                                .weight_bytes = 10 * m->weight_bytes,
                                .output_bytes = m->head_bytes / m->shards};
    const branch_node sum = {.seconds = m->head_seconds * 0.1, .output_bytes = 64};
    if (m->head_seconds == 0) return NULL;
    ONS_TRY(add_shards(b, "logits", last, &logits, sums));
    for (uint32_t i = 0; i < m->shards; ++i) {
        branch_node node = sum;
        uint32_t input = sums[i];
        node.seconds /= m->shards;
        node.inputs = &input;
        node.input_count = 1;
        ONS_TRY(add(b, "log sum", i, &node, &sums[i]));
    }
    const branch_node tail = {.seconds = m->tail_seconds, .output_bytes = 64, .inputs = sums, .input_count = m->shards};
    return add(b, "loss", ONS_NO_SHARD, &tail, &loss);
}

ons_status *shard_work_make(const shard_model *model, ons_arena *arena, shard_work *made) {
    builder b = {.model = model, .random = {model->seed}, .arena = arena};
    uint32_t last = ONS_NO_NODE, most = 3 * model->shards + model->layers + 2;
    ONS_NEW(b.of, arena, most);
    ONS_TRY(branch_graph_new("sharded", most, arena, &b.graph));
    ONS_TRY(add_table(&b, &last));
    ONS_TRY(add_layers(&b, &last));
    ONS_TRY(add_head(&b, last));
    made->shards = (ons_node_shards){.count = model->shards, .of = b.of};
    return branch_graph_work(&b.graph, 1, &made->work);
}

ons_planning_problem shard_work_pose(const shard_work *made, uint32_t devices, uint32_t micro_batches) {
    return (ons_planning_problem){
        .work = &made->work,
        .pipeline = {&ons_generator_one_f_one_b, devices, micro_batches, 0, 1},
        .shards = made->shards.count > 1 ? &made->shards : NULL,
        .memory = ons_memory_strategy_find("capuchin"),
    };
}

shard_model shard_language_model(uint32_t shards, uint64_t seed) {
    return (shard_model){.shards = shards,
                         .layers = 12,
                         .layer_seconds = 1e-3,
                         .table_seconds = 0.3e-3,
                         .head_seconds = 9e-3,
                         .tail_seconds = 1e-5,
                         .layer_bytes = 1 << 16,
                         .head_bytes = 1 << 20,
                         .weight_bytes = 1 << 16,
                         .seed = seed};
}

const char *shard_names_of(const ons_planned *planned, uint32_t stage, ons_arena *arena) {
    const char *names = "";
    for (uint32_t i = planned->partition.first[stage]; i < planned->partition.first[stage + 1]; ++i)
        names = ons_arena_format(arena, "%s%s ", names, planned->problem.work->nodes[i].name);
    return names;
}
