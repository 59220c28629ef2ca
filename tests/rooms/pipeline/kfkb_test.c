/* Stages that run k forward parts in turn with k backward parts (kFkB, GraphPipe's Table 2): by threads they come to
 * the bits of their lists carried out one after another, and to those of one stage. */
#include <criterion/criterion.h>

#include "base/status.h"
#include "planner/stage_graph/stage_lists.h"
#include "tests/rooms/pipeline/pipeline_run.h"

enum { STAGES_MOST = 4 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(kfkb, .init = make_arena, .fini = free_arena);

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, %u stages, %u micro-batches, %u replicas, %s: %s", s->model, s->stages,
                   s->micro_batches, s->replicas, pipeline_eviction_name(s->eviction), ons_status_get_message(status));
}

/* A line of stages; turns[stage] is its k. */
static ons_schedule *make_lists(const uint32_t *turns, uint32_t stages, uint32_t micro_batches) {
    static ons_graph_stage items[STAGES_MOST];
    static ons_graph_edge edges[STAGES_MOST];
    ons_stage_graph g = {.batch = micro_batches,
                         .devices = stages,
                         .stages = items,
                         .stage_count = stages,
                         .edges = edges,
                         .edge_count = stages - 1};
    ons_schedule *schedule = ons_arena_allocate(arena, 1, sizeof *schedule);
    for (uint32_t i = 0; i < stages; ++i) {
        items[i] = (ons_graph_stage){.first_device = i, .replicas = 1, .pace = {1, turns[i]}};
        if (i + 1 < stages) edges[i] = (ons_graph_edge){.from = i, .to = i + 1};
    }
    ons_stage_graph_set_in_flight(&g);
    ons_status *status = ons_stage_lists_schedule(&g, 1, arena, schedule);
    cr_assert_null(status, "%s", ons_status_get_message(status));
    return schedule;
}

/* The most parts of one kind that follow each other, between the first backward part and the last forward part. */
static uint32_t count_turns(const ons_action_list *list) {
    uint32_t most = 0, row = 0, first = 0, last = 0;
    while (list->items[first].kind != ONS_ACTION_BACKWARD) ++first;
    for (uint32_t i = 0; i < list->count; ++i)
        if (list->items[i].kind == ONS_ACTION_FORWARD) last = i;
    for (uint32_t i = first; i < last; ++i) {
        row = i > first && list->items[i].kind == list->items[i - 1].kind ? row + 1 : 1;
        if (row > most) most = row;
    }
    return most;
}

static const ons_generator *take_lists(const ons_schedule *schedule) {
    const ons_generator *generator;
    ons_status *status = ons_generator_of_lists(schedule, "kfkb", arena, &generator);
    cr_assert_null(status, "%s", ons_status_get_message(status));
    return generator;
}

static pipeline_record run(pipeline_setting s) {
    pipeline_record record;
    must(pipeline_run(&s, &record), &s);
    return record;
}

static void expect_same(pipeline_setting s, const pipeline_record *wanted) {
    pipeline_record record = run(s);
    must(pipeline_compare(wanted, &record), &s);
    pipeline_record_free(&record);
}

static pipeline_record run_one_stage(pipeline_setting s) {
    s.stages = s.devices = 1;
    s.kind = &ons_generator_one_f_one_b;
    s.eviction = PIPELINE_KEEPS;
    s.grouped = s.replicas > 1;
    return run(s);
}

/* Carried out one after another, by threads, and by threads whose messages come late. */
static void try_turns(pipeline_setting s, const uint32_t *turns) {
    const ons_schedule *lists = make_lists(turns, s.stages, s.micro_batches);
    pipeline_setting replay;
    s.kind = take_lists(lists);
    s.devices = s.stages;
    for (uint32_t i = 0; i < s.stages; ++i)
        cr_expect_eq(count_turns(&lists->lists[i]), turns[i], "stage %u runs %u parts in turn instead of %u", i,
                     count_turns(&lists->lists[i]), turns[i]);
    pipeline_record one = run_one_stage(s);
    replay = s;
    replay.replayed = true;
    replay.eviction = PIPELINE_KEEPS;
    if (s.replicas <= 1) expect_same(replay, &one);
    for (int late = 0; late < 2; ++late) {
        s.late = late == 1;
        expect_same(s, &one);
    }
    pipeline_record_free(&one);
}

static const uint32_t all_two[] = {2, 2, 2, 2};

Test(kfkb, two_at_a_time) {
    for (uint32_t stages = 2; stages <= STAGES_MOST; ++stages)
        try_turns((pipeline_setting){.model = "mlp", .micro_batches = 12, .batch = 48, .stages = stages, .steps = 3},
                  all_two);
}

Test(kfkb, stages_with_a_k_of_their_own) {
    static const uint32_t turns[][3] = {{2, 1, 2}, {1, 2, 2}, {2, 2, 1}, {3, 2, 1}};
    for (int i = 0; i < 4; ++i)
        try_turns((pipeline_setting){.model = "mlp", .micro_batches = 12, .batch = 48, .stages = 3, .steps = 3},
                  turns[i]);
}

Test(kfkb, statistics_and_tied_weights) {
    static const char *const models[] = {"cnn_dynamic", "gpt_tied"};
    for (int i = 0; i < 2; ++i)
        try_turns((pipeline_setting){.model = models[i], .micro_batches = 8, .stages = 3, .steps = 2}, all_two);
}

Test(kfkb, swapped_and_made_again) {
    try_turns((pipeline_setting){.model = "gpt_decomposed",
                                 .micro_batches = 8,
                                 .stages = 3,
                                 .steps = 2,
                                 .eviction = PIPELINE_SWAPS_AND_RECOMPUTES,
                                 .one_in = 2},
              all_two);
}

Test(kfkb, replicas) {
    try_turns((pipeline_setting){.model = "mlp", .micro_batches = 8, .replicas = 2, .stages = 2, .steps = 3}, all_two);
}
