/* Stages that have both a size of micro-batch and a number of copies of their own: by threads they come to the bits of
 * their lists carried out one after another (tests/rooms/pipeline/replayed.h), and within rounding to those of
 * micro-batches of one size. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/status.h"
#include "tests/rooms/pipeline/pipeline_run.h"

enum { STAGES_MOST = 3 };

typedef struct grouping {
    uint32_t sizes[STAGES_MOST], copies[STAGES_MOST];
} grouping;

static void must(ons_status *status, const pipeline_setting *s) {
    if (status == NULL) return;
    char text[160] = "";
    for (uint32_t i = 0; i < s->stages; ++i)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %u×%u", s->copies[i], s->sizes[i]);
    cr_assert_null(status, "%s, batch %u in %u, copies × sizes%s, %u in flight, %s, seed %llu%s: %s", s->model,
                   s->batch, s->micro_batches, text, s->in_flight, pipeline_eviction_name(s->eviction),
                   (unsigned long long)s->seed, s->late ? ", late" : "", ons_status_get_message(status));
}

static pipeline_record run(pipeline_setting s) {
    pipeline_record record;
    must(pipeline_run(&s, &record), &s);
    return record;
}

/* What is swapped or computed again changes no bit, and is left to the threads; so is who updates what. */
static pipeline_record replay(pipeline_setting s) {
    s.replayed = true;
    s.eviction = PIPELINE_KEEPS;
    return run(s);
}

static void expect_same(const pipeline_setting *s, const pipeline_record *wanted) {
    pipeline_record record = run(*s);
    must(pipeline_compare(wanted, &record), s);
    pipeline_record_free(&record);
}

/* By threads with all in flight and few, and with messages that come late. */
static void try_grouping(pipeline_setting s, const grouping *g) {
    s.sizes = g->sizes;
    s.copies = g->copies;
    s.stages = g->sizes[2] > 0 ? 3 : 2;
    must(pipeline_find_cut(&s), &s);
    pipeline_record wanted = replay(s);
    for (s.in_flight = 0; s.in_flight < 3; ++s.in_flight)
        for (int late = 0; late < 2; ++late) {
            s.late = late == 1;
            expect_same(&s, &wanted);
        }
    pipeline_record_free(&wanted);
}

static void try_groupings(pipeline_setting s, const grouping *all, size_t count) {
    for (size_t i = 0; i < count; ++i) try_grouping(s, &all[i]);
}

/* Of four units of a step. */
static const grouping of_four[] = {
    {{1, 2}, {2, 1}}, {{1, 2}, {4, 2}},       {{2, 1}, {1, 2}},       {{2, 1}, {2, 4}},       {{2, 2}, {2, 1}},
    {{4, 1}, {1, 4}}, {{1, 2, 4}, {2, 2, 1}}, {{2, 1, 2}, {1, 4, 2}}, {{1, 4, 1}, {4, 1, 2}},
};
enum { OF_FOUR = sizeof of_four / sizeof *of_four };

Test(stage_size_copies, of_four_units) {
    try_groupings((pipeline_setting){.model = "mlp", .batch = 24, .micro_batches = 4, .steps = 3}, of_four, OF_FOUR);
}

/* Neither sizes nor copies divide each other: what a micro-batch of the one stage has lies scattered over several of
 * the other's copies. */
static const grouping of_twelve[] = {
    {{2, 3}, {3, 2}},       {{3, 2}, {4, 3}},       {{4, 6}, {3, 2}},       {{1, 3}, {6, 2}},
    {{2, 3, 1}, {3, 2, 4}}, {{3, 2, 4}, {2, 3, 1}}, {{1, 4, 6}, {6, 1, 2}}, {{6, 1, 4}, {1, 3, 3}},
};
enum { OF_TWELVE = sizeof of_twelve / sizeof *of_twelve };

Test(stage_size_copies, that_do_not_divide_each_other) {
    try_groupings((pipeline_setting){.model = "mlp", .batch = 24, .micro_batches = 12, .steps = 2}, of_twelve,
                  OF_TWELVE);
}

/* The last step of an epoch of 192 samples has fewer units than a step, and what is left of them. */
Test(stage_size_copies, ends_of_epochs) {
    static const uint32_t batches[] = {40, 56, 88};
    static const grouping all[] = {{{1, 2}, {4, 2}}, {{4, 1}, {2, 4}}, {{2, 4}, {4, 1}}, {{1, 2, 4}, {8, 1, 2}}};
    for (int i = 0; i < 3; ++i)
        try_groupings((pipeline_setting){.model = "mlp", .batch = batches[i], .micro_batches = 8, .steps = 6}, all, 4);
}

Test(stage_size_copies, convolutions) {
    static const char *const still[] = {"batchnorm", "eval", NULL};
    try_groupings((pipeline_setting){.model = "lenet", .batch = 16, .micro_batches = 4, .steps = 2}, of_four + 5, 3);
    try_groupings(
        (pipeline_setting){.model = "cnn_dynamic", .options = still, .batch = 8, .micro_batches = 4, .steps = 2},
        of_four + 6, 2);
}

/* A decoder whose embeddings are tied, so that their gradients go between stages once a step; norms decide about the
 * update. */
Test(stage_size_copies, transformer_with_dropout_and_clipping) {
    static const char *const options[] = {"dropout", "0.3", "clip-norm", "0.1", NULL};
    pipeline_setting s = {.model = "gpt_tied", .options = options, .batch = 8, .micro_batches = 4, .steps = 3};
    try_groupings(s, of_four, OF_FOUR);
}

/* The scale of the loss is found alike by all. */
Test(stage_size_copies, half_precision) {
    static const char *const options[] = {"dropout", "off", "precision", "fp16", "loss-scale", "1e9", NULL};
    pipeline_setting s = {.model = "gpt_tied", .options = options, .batch = 8, .micro_batches = 4, .steps = 3};
    try_groupings(s, of_four + 2, 3);
    try_grouping(s, &of_four[7]);
}

/* Each copy has the states of its slices alone; where norms are asked for, sums are whole everywhere. */
static void try_divided_updates(pipeline_setting s, const char *optimizer, const grouping *g) {
    const char *const divided[] = {"shard-optimizer", "true", "optimizer", optimizer, NULL};
    for (int quiet = 0; quiet < 2; ++quiet) {
        s.quiet = quiet == 1;
        s.options = divided + 2;
        s.sizes = g->sizes;
        s.copies = g->copies;
        s.stages = g->sizes[2] > 0 ? 3 : 2;
        pipeline_record wanted = replay(s);
        s.options = divided;
        s.in_flight = 1;
        expect_same(&s, &wanted);
        pipeline_record_free(&wanted);
    }
}

Test(stage_size_copies, divided_updates) {
    for (int i = 0; i < OF_FOUR; ++i) {
        try_divided_updates((pipeline_setting){.model = "mlp", .batch = 20, .micro_batches = 4, .steps = 4}, "adamw",
                            &of_four[i]);
        try_divided_updates((pipeline_setting){.model = "gpt_tied", .batch = 8, .micro_batches = 4, .steps = 2}, "adam",
                            &of_four[i]);
    }
}

/* What is saved is swapped, computed again, both. */
Test(stage_size_copies, evictions) {
    pipeline_setting s = {.model = "gpt_tied", .batch = 8, .micro_batches = 4, .stages = 3, .steps = 2};
    uint32_t relieved = 0;
    for (int i = 6; i < OF_FOUR; ++i) {
        s.sizes = of_four[i].sizes;
        s.copies = of_four[i].copies;
        pipeline_record wanted = replay(s);
        for (s.eviction = PIPELINE_SWAPS; s.eviction < PIPELINE_EVICTIONS; ++s.eviction)
            for (s.one_in = 1; s.one_in < 3; ++s.one_in) {
                s.in_flight = s.one_in - 1;
                pipeline_record record = run(s);
                must(pipeline_compare(&wanted, &record), &s);
                relieved += record.swaps + record.clones;
                pipeline_record_free(&record);
            }
        s.eviction = PIPELINE_KEEPS;
        pipeline_record_free(&wanted);
    }
    cr_expect_gt(relieved, 0, "nothing was swapped or made again");
}

/* Weights and losses after twelve steps of SGD are those of plain lists but for rounding. Masks are those of the units.
 */
Test(stage_size_copies, weights_are_those_of_one_size) {
    static const char *const options[] = {"optimizer", "sgd", "dropout", "0.2", NULL};
    static const char *const models[] = {"mlp", "gpt_tied"};
    for (int model = 0; model < 2; ++model) {
        pipeline_setting s = {
            .model = models[model], .options = options, .batch = 12, .micro_batches = 4, .stages = 3, .steps = 12};
        s.kind = &ons_generator_one_f_one_b;
        pipeline_record wanted, record;
        pipeline_setting grouped = s;
        for (int i = 6; i < OF_FOUR; ++i) {
            grouped.sizes = of_four[i].sizes;
            grouped.copies = of_four[i].copies;
            must(pipeline_find_cut(&grouped), &grouped);
            s.seed = grouped.seed;
        }
        cr_assert_null(pipeline_run(&s, &wanted));
        for (int i = 6; i < OF_FOUR; ++i) {
            s.sizes = of_four[i].sizes;
            s.copies = of_four[i].copies;
            record = run(s);
            double distance = pipeline_distance(&wanted, &record);
            cr_expect_lt(distance, 1e-5, "%s, grouping %d: %g", s.model, i, distance);
            pipeline_record_free(&record);
        }
        pipeline_record_free(&wanted);
    }
}

static uint32_t draw(uint32_t count) { return (uint32_t)random() % count; }

/* Sizes, copies, batches, cuts and lists by chance. Of an epoch's last step many copies have nothing. */
Test(stage_size_copies, by_chance) {
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    srandom((unsigned)seed);
    fprintf(stderr, "SEED=%llu\n", (unsigned long long)seed);
    static const uint32_t divisors[] = {1, 2, 3, 4, 6, 12}, rows[] = {1, 2, 3, 5, 7, 11};
    int tried = 0;
    for (int i = 0; i < 24; ++i) {
        bool small = i % 3 == 2; /* the decoder has 16 samples */
        grouping g = {{0}, {0}};
        uint32_t units = small ? 4 : 12;
        pipeline_setting s = {.model = small ? "gpt_tied" : "mlp",
                              .batch = units * (small ? 1 : rows[draw(6)]),
                              .micro_batches = units,
                              .stages = 2 + draw(2),
                              .steps = small ? 2 : 5,
                              .sizes = g.sizes,
                              .copies = g.copies};
        for (uint32_t k = 0; k < s.stages; ++k) {
            do g.sizes[k] = divisors[draw(6)], g.copies[k] = divisors[draw(5)];
            while (units % (g.sizes[k] * g.copies[k]) != 0);
        }
        s.seed = (uint64_t)random();
        s.scattered = draw(3) == 0;
        s.one_in = 3;
        bool possible;
        must(pipeline_can_cut(s, &possible), &s);
        if (!possible) continue;
        pipeline_record wanted = replay(s);
        ++tried;
        s.eviction = (pipeline_eviction)draw(PIPELINE_EVICTIONS);
        s.in_flight = draw(4);
        s.late = draw(2) == 0;
        expect_same(&s, &wanted);
        pipeline_record_free(&wanted);
    }
    cr_expect_geq(tried, 8, "most cuts were refused");
}
