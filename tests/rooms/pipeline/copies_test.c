/* Stages with copies that take micro-batches in turn, against training in sequence with the same groups
 * (tests/rooms/pipeline/grouped.h): losses, norms, weights, states and statistics have the same bits, and those of all
 * copies are the same. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/status.h"
#include "tests/rooms/pipeline/pipeline_run.h"

enum { STAGES_MOST = 3 };

static const uint32_t all_copies[][STAGES_MOST] = {{2, 1}, {1, 2}, {2, 2}, {3, 1, 2}, {1, 3, 2}, {2, 6, 3}};
enum { KINDS = sizeof all_copies / sizeof *all_copies };

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, %u stages with %u, %u and %u copies, %u micro-batches, %u more samples: %s", s->model,
                   s->stages, s->copies[0], s->copies[1], s->copies[2], s->micro_batches, s->more,
                   ons_status_get_message(status));
}

static void compare(pipeline_setting s) {
    pipeline_record whole, cut;
    s.grouped = false;
    must(pipeline_run(&s, &cut), &s);
    s.grouped = true;
    s.late = false;
    must(pipeline_run(&s, &whole), &s);
    must(pipeline_compare(&whole, &cut), &s);
    pipeline_record_free(&whole);
    pipeline_record_free(&cut);
}

static void try_copies(pipeline_setting s, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; ++i) {
        s.copies = all_copies[i];
        s.stages = s.copies[2] > 0 ? 3 : 2;
        s.seed = i;
        s.kind = i % 2 == 0 ? &ons_generator_one_f_one_b : &ons_generator_gpipe;
        compare(s);
    }
}

Test(copies, multilayer_perceptron) {
    try_copies((pipeline_setting){.model = "mlp", .micro_batches = 6, .steps = 4}, 0, KINDS);
}

Test(copies, convolutions) {
    try_copies((pipeline_setting){.model = "lenet", .micro_batches = 6, .steps = 2}, 0, KINDS);
}

/* Some micro-batches have a sample more; steps go beyond the end of an epoch, whose last one is shorter. */
Test(copies, batches_that_do_not_come_out_even) {
    try_copies((pipeline_setting){.model = "mlp", .micro_batches = 6, .more = 4, .steps = 6}, 0, KINDS);
    try_copies((pipeline_setting){.model = "mlp", .micro_batches = 6, .batch = 50, .steps = 9}, 0, KINDS);
    try_copies((pipeline_setting){.model = "lenet", .micro_batches = 6, .more = 2, .steps = 3}, 2, 4);
}

/* The last step of an epoch has fewer micro-batches than a stage has copies. */
Test(copies, some_without_a_sample) {
    for (uint32_t batch = 90; batch < 108; batch += 3)
        try_copies((pipeline_setting){.model = "mlp", .micro_batches = 6, .batch = batch, .steps = 5}, 3, KINDS);
}

Test(copies, running_statistics) {
    try_copies((pipeline_setting){.model = "cnn_dynamic", .micro_batches = 6, .steps = 3}, 0, KINDS);
    try_copies((pipeline_setting){.model = "cnn_dynamic", .micro_batches = 6, .batch = 50, .steps = 14}, 2, 4);
    try_copies((pipeline_setting){.model = "resnet18", .micro_batches = 2, .steps = 2}, 0, 3);
}

/* Stages with different numbers of copies share a weight; each draws numbers by the step's micro-batch. */
Test(copies, tied_weights_and_dropout) {
    static const char *const options[] = {"dropout", "0.2", "clip-norm", "0.5", NULL};
    try_copies((pipeline_setting){.model = "gpt_tied", .options = options, .batch = 15, .micro_batches = 6, .steps = 3},
               0, KINDS);
}

/* The scale of the loss is found alike by all. */
Test(copies, half_precision) {
    static const char *const options[] = {"dropout", "off", "precision", "fp16", "loss-scale", "1e9", NULL};
    try_copies((pipeline_setting){.model = "gpt_tied", .options = options, .batch = 12, .micro_batches = 6, .steps = 3},
               0, KINDS);
}

/* Each copy has the states of its slices alone; where norms are asked for, sums are whole everywhere. */
static void try_divided_updates(pipeline_setting s, const char *optimizer) {
    const char *const options[] = {"shard-optimizer", "true", "optimizer", optimizer, NULL};
    s.options = options;
    for (int quiet = 0; quiet < 2; ++quiet) {
        s.quiet = quiet == 1;
        try_copies(s, 0, KINDS);
    }
}

Test(copies, divided_updates) {
    try_divided_updates((pipeline_setting){.model = "mlp", .micro_batches = 6, .batch = 93, .steps = 5}, "adamw");
    try_divided_updates((pipeline_setting){.model = "cnn_dynamic", .micro_batches = 6, .steps = 2}, "rmsprop");
    try_divided_updates((pipeline_setting){.model = "gpt_tied", .batch = 12, .micro_batches = 6, .steps = 2}, "adam");
}

Test(copies, divided_updates_in_half_precision) {
    static const char *const options[] = {"shard-optimizer", "true", "dropout", "off", "precision", "fp16",
                                          "loss-scale",      "1e9",  NULL};
    try_copies((pipeline_setting){.model = "gpt_tied", .options = options, .batch = 12, .micro_batches = 6, .steps = 3},
               0, KINDS);
}

Test(copies, swaps_and_recomputation) {
    pipeline_setting s = {.model = "lenet", .micro_batches = 6, .steps = 2};
    for (s.eviction = PIPELINE_SWAPS; s.eviction < PIPELINE_EVICTIONS; ++s.eviction) try_copies(s, 0, 4);
    s.model = "cnn_dynamic";
    s.eviction = PIPELINE_RECOMPUTES;
    try_copies(s, 1, 3);
}

Test(copies, late_messages_change_nothing) {
    pipeline_setting s = {.model = "lenet", .micro_batches = 6, .steps = 3, .late = true};
    for (int i = 0; i < 2; ++i) try_copies(s, 2, KINDS);
    s.model = "mlp";
    s.batch = 50;
    s.steps = 9;
    try_copies(s, 0, KINDS);
}

/* Copies, batches and lists by chance. Most copies have none of a last step's micro-batches. */
Test(copies, by_chance) {
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    srandom((unsigned)seed);
    fprintf(stderr, "SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < 12; ++i) {
        static const uint32_t divisors[] = {1, 2, 3, 4, 6, 12};
        uint32_t copies[STAGES_MOST] = {0};
        pipeline_setting s = {.model = "mlp", .micro_batches = 12, .steps = 6, .copies = copies, .late = true};
        s.stages = 2 + (uint32_t)random() % 2;
        for (uint32_t k = 0; k < s.stages; ++k) copies[k] = divisors[random() % (k == 1 ? 6 : 4)];
        s.batch = 12 + (uint32_t)random() % 60;
        s.seed = (uint64_t)random();
        s.kind = random() % 2 == 0 ? &ons_generator_one_f_one_b : &ons_generator_gpipe;
        s.scattered = random() % 3 == 0;
        compare(s);
    }
}

static const struct pipeline_value *find_value(const pipeline_record *record, const char *name) {
    uint32_t i = 0;
    while (i < record->value_count && strcmp(record->values[i].name, name) != 0) ++i;
    cr_assert_lt(i, record->value_count, "'%s' is missing", name);
    return &record->values[i];
}

/* The largest difference of what was trained, where numbers are about 1. */
static double distance(const pipeline_record *a, const pipeline_record *b) {
    double largest = 0;
    for (uint32_t i = 0; i < a->value_count; ++i) {
        if (strstr(a->values[i].name, "accumulator") != NULL || strcmp(a->values[i].name, "loss/sum") == 0) continue;
        const float *left = a->values[i].data, *right = find_value(b, a->values[i].name)->data;
        for (size_t k = 0; k < a->values[i].bytes / sizeof *left; ++k)
            largest = fmax(largest, fabs((double)left[k] - (double)right[k]));
    }
    for (uint32_t i = 0; i < a->steps; ++i) largest = fmax(largest, fabs(a->losses[i] - b->losses[i]));
    return largest;
}

/* One stage, one after the other: the same but for roundings, running statistics too. */
static void try_plain(const char *model, double most) {
    static const char *const options[] = {"optimizer", "sgd", NULL};
    pipeline_setting s = {.model = model, .options = options, .micro_batches = 6, .batch = 50, .steps = 20};
    pipeline_record plain, cut;
    s.stages = s.devices = 1;
    s.copies = NULL;
    cr_assert_null(pipeline_run(&s, &plain));
    for (uint32_t i = 0; i < KINDS; ++i) {
        s.copies = all_copies[i];
        s.stages = s.copies[2] > 0 ? 3 : 2;
        must(pipeline_run(&s, &cut), &s);
        cr_expect_lt(distance(&plain, &cut), most, "%s, %u, %u, %u: %g", model, s.copies[0], s.copies[1], s.copies[2],
                     distance(&plain, &cut));
        pipeline_record_free(&cut);
    }
    pipeline_record_free(&plain);
}

Test(copies, plain_training) {
    try_plain("mlp", 1e-5);
    try_plain("lenet", 1e-5);
    try_plain("cnn_dynamic", 1e-5);
}
