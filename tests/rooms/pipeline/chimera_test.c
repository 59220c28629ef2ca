/* Chimera's two directions by threads, against training in sequence where each stage's micro-batches fall into two
 * groups (tests/rooms/pipeline/grouped.h): losses, norms, weights, states and statistics have the same bits, and those
 * of both copies of a stage are the same. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/status.h"
#include "tests/rooms/pipeline/pipeline_run.h"

enum { STAGES_MOST = 8 };

static const uint32_t two_of_each[STAGES_MOST] = {2, 2, 2, 2, 2, 2, 2, 2};

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, %u stages, batch %u, %u more samples, %s, seed %llu: %s", s->model, s->stages, s->batch,
                   s->more, pipeline_eviction_name(s->eviction), (unsigned long long)s->seed,
                   ons_status_get_message(status));
}

static pipeline_record run(pipeline_setting s) {
    pipeline_record record;
    must(pipeline_run(&s, &record), &s);
    return record;
}

static pipeline_record run_in_sequence(pipeline_setting s) {
    s.copies = two_of_each;
    s.grouped = true;
    s.late = false;
    return run(s);
}

static void try_units(pipeline_setting s, uint32_t stages, uint32_t units) {
    s.stages = stages;
    s.micro_batches = units * stages;
    pipeline_record whole = run_in_sequence(s);
    s.kind = &ons_generator_chimera;
    pipeline_record cut = run(s);
    must(pipeline_compare(&whole, &cut), &s);
    pipeline_record_free(&whole);
    pipeline_record_free(&cut);
}

static void try_stages(pipeline_setting s, uint32_t stages) { try_units(s, stages, 1); }

static void try_both(pipeline_setting s) {
    for (s.seed = 1; s.seed <= 2; ++s.seed) {
        try_stages(s, 2);
        try_stages(s, 4);
    }
}

Test(chimera, multilayer_perceptron) { try_both((pipeline_setting){.model = "mlp", .steps = 4}); }

Test(chimera, convolutions) { try_both((pipeline_setting){.model = "lenet", .steps = 2}); }

/* Weights are tied, numbers are drawn by the step's micro-batch, and norms are of all stages. */
Test(chimera, transformer) {
    static const char *const options[] = {"dropout", "0.2", "clip-norm", "0.5", NULL};
    try_both((pipeline_setting){.model = "gpt_tied", .options = options, .batch = 12, .steps = 3});
}

Test(chimera, six_and_eight_stages) {
    try_stages((pipeline_setting){.model = "lenet", .steps = 2}, 6);
    try_stages((pipeline_setting){.model = "gpt_tied", .batch = 16, .steps = 2}, 8);
}

/* Steps and their last ones have any number of micro-batches of either direction. */
Test(chimera, units_in_a_row) {
    try_units((pipeline_setting){.model = "lenet", .steps = 2}, 2, 3);
    try_units((pipeline_setting){.model = "gpt_tied", .batch = 24, .steps = 2, .late = true}, 4, 2);
    for (uint32_t batch = 64; batch < 128; batch += 9)
        try_units((pipeline_setting){.model = "mlp", .batch = batch, .steps = 8, .late = true}, 4, 2);
}

Test(chimera, running_statistics) { try_both((pipeline_setting){.model = "cnn_dynamic", .steps = 3}); }

/* Some micro-batches have a sample more; the last step of an epoch has fewer, down to one that is smaller. */
Test(chimera, batches_that_do_not_come_out_even) {
    try_both((pipeline_setting){.model = "mlp", .more = 3, .steps = 6});
    for (uint32_t batch = 40; batch < 60; batch += 3)
        try_stages((pipeline_setting){.model = "mlp", .batch = batch, .steps = 12}, 4);
}

Test(chimera, late_messages_change_nothing) {
    for (int i = 0; i < 3; ++i) try_both((pipeline_setting){.model = "lenet", .steps = 3, .late = true});
    try_both((pipeline_setting){.model = "mlp", .batch = 50, .steps = 9, .late = true, .scattered = true});
}

/* Two actions of a device change places, where the lists still run. */
static void shuffle(ons_schedule *s, ons_arena *arena) {
    for (int i = 0; i < 60; ++i) {
        ons_action_list *list = &s->lists[random() % s->devices];
        uint32_t at = (uint32_t)random() % (list->count - 3); /* updates stay last */
        const ons_action first = list->items[at];
        list->items[at] = list->items[at + 1];
        list->items[at + 1] = first;
        ons_status *status = ons_schedule_take(s, arena);
        if (status == NULL) status = ons_schedule_verify(s, NULL, arena);
        if (status == NULL) continue;
        ons_status_free(status);
        list->items[at + 1] = list->items[at];
        list->items[at] = first;
        cr_assert_null(ons_schedule_take(s, arena));
    }
}

/* The stages of a device take turns as its list says, which is another one each time: nothing waits forever. */
Test(chimera, lists_by_chance) {
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    srandom((unsigned)seed);
    fprintf(stderr, "SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < 12; ++i) {
        ons_arena *arena = ons_arena_new();
        pipeline_setting s = {.model = "mlp", .steps = 6, .late = true, .seed = (uint64_t)random()};
        s.stages = s.devices = 2 + 2 * ((uint32_t)random() % 3);
        s.micro_batches = s.stages * (1 + (uint32_t)random() % 2);
        s.batch = s.micro_batches * 3 + (uint32_t)random() % 30;
        const ons_pipeline p = {&ons_generator_chimera, s.stages, s.micro_batches, s.devices, 1};
        ons_schedule lists;
        cr_assert_null(ons_schedule_make(&p, arena, &lists));
        shuffle(&lists, arena);
        pipeline_record whole = run_in_sequence(s);
        cr_assert_null(ons_generator_of_lists(&lists, "by chance", arena, &s.kind));
        pipeline_record cut = run(s);
        must(pipeline_compare(&whole, &cut), &s);
        pipeline_record_free(&whole);
        pipeline_record_free(&cut);
        ons_arena_free(arena);
    }
}

Test(chimera, swaps_and_recomputation) {
    pipeline_setting s = {.model = "lenet", .steps = 2};
    for (s.eviction = PIPELINE_SWAPS; s.eviction < PIPELINE_EVICTIONS; ++s.eviction) try_both(s);
}

/* Each copy has the states of its slices alone. */
Test(chimera, divided_updates) {
    static const char *const options[] = {"shard-optimizer", "true", "optimizer", "adamw", NULL};
    try_both((pipeline_setting){.model = "mlp", .options = options, .steps = 4, .quiet = true});
}
