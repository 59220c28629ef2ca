/* Which nodes of a model with sharded vocabularies make which stages, and what cannot be planned with them. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/search/shard_stages.h"
#include "tests/rooms/planner/shard_work.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(shard_order, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status, uint64_t seed) {
    cr_assert(status == NULL, "seed %lu: %s", seed, status != NULL ? ons_status_get_message(status) : "");
}

/* `both`: two pieces of the message. */
static void expect_refusal(ons_status *status, ons_status_code code, const char *const both[2]) {
    cr_assert(status != NULL, "%s, %s", both[0], both[1]);
    const char *message = ons_status_get_message(status);
    cr_expect_eq(ons_status_get_code(status), code, "%s", message);
    for (int i = 0; i < 2; ++i) cr_expect(strstr(message, both[i]) != NULL, "'%s' is not in: %s", both[i], message);
    ons_status_free(status);
}

static void expect_refused(const ons_planning_problem *p, const char *what) {
    ons_planned planned;
    const char *const both[] = {what, "--vocabulary-shards"};
    expect_refusal(ons_planner_search(p, ons_partition_strategy_find("auto"), arena, &planned), ONS_INVALID_ARGUMENT,
                   both);
}

Test(shard_order, refuse_what_they_cannot_be_planned_with) {
    shard_model m = shard_language_model(4, 7);
    shard_work w;
    expect_success(shard_work_make(&m, arena, &w), 7);
    const ons_planning_problem p = shard_work_pose(&w, 2, 4);
    ons_planning_problem q = p;
    q.pipeline.stages = 3;
    expect_refused(&q, "4 shards");
    q = p;
    q.pipeline.devices = 1;
    expect_refused(&q, "2 stages on 1 devices");
    const ons_planning_device devices[] = {{p.work, 0}, {p.work, 0}};
    q = p;
    q.devices = devices;
    q.device_count = 2;
    expect_refused(&q, "differ");
    const ons_stage_choice choice = {.sizes = true};
    q = p;
    q.choice = &choice;
    expect_refused(&q, "--stage-replicas");
    q = p;
    q.follows_lists = true;
    expect_refused(&q, "1f1b");
    q = p;
    q.pipeline.generator = &ons_generator_pipedream;
    expect_refused(&q, "pipedream");
    q = p;
    q.sliced = 1;
    expect_refused(&q, "halves");
}

static void expect_unsupported(const uint32_t *of, uint32_t count, const branch_graph *g, const char *node) {
    ons_workload work;
    ons_planned planned;
    const char *const both[] = {node, "--vocabulary-shards"};
    expect_success(branch_graph_work(g, 1, &work), 0);
    const ons_node_shards shards = {.count = 2, .of = of};
    const ons_planning_problem p = {.work = &work,
                                    .pipeline = {&ons_generator_one_f_one_b, 2, 4, 0, 1},
                                    .shards = &shards,
                                    .memory = ons_memory_strategy_find("none")};
    cr_assert_eq(work.node_count, count);
    expect_refusal(ons_planner_search(&p, ons_partition_strategy_find("auto"), arena, &planned), ONS_UNSUPPORTED, both);
}

static void add_node(branch_graph *g, const char *name, const uint32_t *inputs, uint32_t count) {
    uint32_t number;
    const branch_node node = {.name = name,
                              .seconds = 1e-3,
                              .backward = 2,
                              .output_bytes = 64,
                              .inputs = (uint32_t *)inputs,
                              .input_count = count};
    expect_success(branch_graph_add(g, &node, &number), 0);
}

/* Layers of one device, each with a node behind it, or further back, that shows what it makes: no edge tells of it. */
Test(shard_order, what_shows_a_result_lies_with_it) {
    enum { NO = ONS_NO_SHARD };
    static const uint32_t of[] = {0, 1, NO, NO, NO, NO, NO, 0, 1, 0, 1, NO, NO};
    static const uint32_t shown[] = {0, 1, 2, 3, 4, 3, 4, 7, 8, 7, 8, 11, 11};
    static const char *const names[] = {"table.0", "table.1", "sum",    "layer 3", "layer 4", "view 3",      "view 4",
                                        "head.0",  "head.1",  "view.0", "view.1",  "loss",    "view of loss"};
    static const uint32_t reads[][2] = {{0, 1}, {2}, {3}, {4}, {7, 8}};
    enum { COUNT = sizeof of / sizeof *of };
    branch_graph g;
    ons_workload work;
    expect_success(branch_graph_new("views", COUNT, arena, &g), 0);
    for (uint32_t i = 0; i < COUNT; ++i) {
        bool is_view = shown[i] != i;
        const uint32_t *inputs = i == 11 ? reads[4] : i >= 7 ? reads[3] : i >= 2 ? reads[i - 2] : NULL;
        uint32_t count = is_view || inputs == NULL ? 0 : i == 2 || i == 11 ? 2 : 1;
        add_node(&g, names[i], inputs, count);
    }
    expect_success(branch_graph_work(&g, 1, &work), 0);
    const ons_node_shards shards = {2, of, shown};
    const ons_planning_problem p = {.work = &work,
                                    .pipeline = {&ons_generator_one_f_one_b, 2, 4, 0, 1},
                                    .shards = &shards,
                                    .memory = ons_memory_strategy_find("none")};
    ons_planned planned;
    expect_success(ons_planner_search(&p, ons_partition_strategy_find("auto"), arena, &planned), 0);
    cr_assert_eq(planned.partition.stages, 7);
    cr_expect_str_eq(shard_names_of(&planned, 0, arena), "table.0 ");
    cr_expect_eq(planned.problem.schedule->device_of[0], 0);
    cr_expect_str_eq(shard_names_of(&planned, 1, arena), "table.1 ");
    cr_expect_eq(planned.problem.schedule->device_of[1], 1);
    cr_expect_str_eq(shard_names_of(&planned, 4, arena), "head.0 view.0 ");
    cr_expect_eq(planned.problem.schedule->device_of[4], 0);
    cr_expect_str_eq(shard_names_of(&planned, 5, arena), "head.1 view.1 ");
    cr_expect_eq(planned.problem.schedule->device_of[5], 1);
    cr_expect_str_eq(shard_names_of(&planned, 6, arena), "loss view of loss ");
    cr_expect_eq(planned.problem.schedule->device_of[6], 1);
    const char *body = shard_names_of(&planned, 3, arena);
    cr_expect(strncmp(body, "layer", 5) == 0, "%s", body);
    for (uint32_t i = 0; i < COUNT; ++i)
        cr_expect_eq(planned.node_at[planned.problem.shards->shown[i]], shown[planned.node_at[i]]);
}

Test(shard_order, refuse_graphs_whose_stages_would_wait_for_each_other) {
    enum { NO = ONS_NO_SHARD };
    branch_graph g;
    const uint32_t inputs[] = {0, 1, 2, 3, 4, 5, 6};
    /* body, body, head, what joins it, a head behind that */
    const uint32_t behind_tail[] = {NO, NO, 0, NO, 1};
    expect_success(branch_graph_new("behind the tail", 5, arena, &g), 0);
    for (uint32_t i = 0; i < 5; ++i) add_node(&g, i == 4 ? "second head" : NULL, &inputs[i - (i > 0)], i > 0);
    expect_unsupported(behind_tail, 5, &g, "second head");
    /* the first device's table reads the second one's */
    const uint32_t backwards[] = {1, 0, NO, NO};
    expect_success(branch_graph_new("backwards", 4, arena, &g), 0);
    for (uint32_t i = 0; i < 4; ++i) add_node(&g, i == 1 ? "first table" : NULL, &inputs[i - (i > 0)], i > 0);
    expect_unsupported(backwards, 4, &g, "first table");
    /* the table's shard reads the head's own: they are one part, in front of the body and behind it */
    const uint32_t both_sides[] = {0, NO, NO, 0, NO};
    const uint32_t head_inputs[] = {0, 2};
    expect_success(branch_graph_new("both sides", 5, arena, &g), 0);
    for (uint32_t i = 0; i < 3; ++i) add_node(&g, NULL, &inputs[i - (i > 0)], i > 0);
    add_node(&g, "head", head_inputs, 2);
    add_node(&g, NULL, &inputs[3], 1);
    expect_unsupported(both_sides, 5, &g, "head");
}

/* A cast of the words stands in front of all shards of a table, and is computed once. */
Test(shard_order, what_prepares_the_data_is_the_first_devices) {
    enum { NO = ONS_NO_SHARD, NODES = 6 };
    static uint32_t words[] = {0}, found[] = {1, 2}, sum[] = {3}, layer[] = {4};
    const uint32_t of[NODES] = {NO, 0, 1, NO, NO, NO};
    const branch_node nodes[NODES] = {
        {.name = "cast", .seconds = 1e-4, .output_bytes = 64},
        {.name = "table 0", .seconds = 1e-3, .backward = 2, .output_bytes = 64, .inputs = words, .input_count = 1},
        {.name = "table 1", .seconds = 1e-3, .backward = 2, .output_bytes = 64, .inputs = words, .input_count = 1},
        {.name = "sum", .seconds = 1e-3, .backward = 2, .output_bytes = 64, .inputs = found, .input_count = 2},
        {.name = "layer", .seconds = 1e-3, .backward = 2, .output_bytes = 64, .inputs = sum, .input_count = 1},
        {.name = "loss", .seconds = 1e-3, .backward = 2, .output_bytes = 64, .inputs = layer, .input_count = 1},
    };
    branch_graph g;
    ons_workload work;
    ons_planned planned;
    uint32_t number;
    expect_success(branch_graph_new("cast words", NODES, arena, &g), 0);
    for (size_t i = 0; i < NODES; ++i) expect_success(branch_graph_add(&g, &nodes[i], &number), 0);
    expect_success(branch_graph_work(&g, 1, &work), 0);
    const ons_node_shards shards = {.count = 2, .of = of};
    const ons_planning_problem p = {.work = &work,
                                    .pipeline = {&ons_generator_one_f_one_b, 2, 4, 0, 1},
                                    .shards = &shards,
                                    .memory = ons_memory_strategy_find("none")};
    expect_success(ons_planner_search(&p, ons_partition_strategy_find("auto"), arena, &planned), 0);
    cr_assert(planned.partition.feasible);
    cr_assert_eq(planned.partition.stages, 4);
    cr_expect_eq(planned.partition.first[1], 2); /* the cast, and the first shard */
    cr_expect_str_eq(planned.problem.work->nodes[0].name, "cast");
    cr_expect_str_eq(planned.problem.work->nodes[1].name, "table 0");
    cr_expect_eq(planned.problem.schedule->device_of[1], 1);
}
