/* Stages whose micro-batches are of different sizes: by threads they come to the bits of their lists carried out one
 * after another, and within rounding to those of micro-batches of one size, whose random numbers they draw. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/status.h"
#include "tests/rooms/pipeline/pipeline_run.h"

enum { STAGES_MOST = 4 };

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, batch %u in %u, stages of %u, %u, …, %u in flight, %s, seed %llu: %s", s->model,
                   s->batch, s->micro_batches, s->sizes == NULL ? 1 : s->sizes[0], s->sizes == NULL ? 1 : s->sizes[1],
                   s->in_flight, pipeline_eviction_name(s->eviction), (unsigned long long)s->seed,
                   ons_status_get_message(status));
}

static pipeline_record run(pipeline_setting s) {
    pipeline_record record;
    must(pipeline_run(&s, &record), &s);
    return record;
}

/* What is swapped or computed again changes no bit, and is left to the threads. */
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

/* The lists carried out in sequence, by threads with all in flight and few, and with messages that come late. */
static void try_sizes(pipeline_setting s, const uint32_t *sizes) {
    s.sizes = sizes;
    must(pipeline_find_cut(&s), &s);
    pipeline_record wanted = replay(s);
    for (s.in_flight = 0; s.in_flight < 3; ++s.in_flight)
        for (int late = 0; late < 2; ++late) {
            s.late = late == 1;
            expect_same(&s, &wanted);
        }
    pipeline_record_free(&wanted);
}

/* Weights, losses and sums after the steps are those of the record but for rounding. */
static void expect_near(const pipeline_setting *s, const pipeline_record *wanted) {
    pipeline_record record = run(*s);
    for (uint32_t i = 0; i < wanted->steps; ++i)
        cr_expect_float_eq(record.losses[i], wanted->losses[i], 1e-5 * (1 + fabs(wanted->losses[i])),
                           "%s, stages of %u and %u: loss of step %u is %.9g and not %.9g", s->model, s->sizes[0],
                           s->sizes[1], i + 1, record.losses[i], wanted->losses[i]);
    cr_assert_eq(record.value_count, wanted->value_count);
    for (uint32_t i = 0; i < wanted->value_count; ++i) {
        const float *a = wanted->values[i].data, *b = record.values[i].data;
        for (size_t k = 0; k < wanted->values[i].bytes / sizeof *a; ++k)
            cr_assert_float_eq(b[k], a[k], 1e-5 * (1 + fabs((double)a[k])),
                               "%s, stages of %u and %u: element %zu of '%s' is %.9g and not %.9g", s->model,
                               s->sizes[0], s->sizes[1], k, wanted->values[i].name, (double)b[k], (double)a[k]);
    }
    pipeline_record_free(&record);
}

/* Runs the setting's cut with micro-batches of one size. */
static pipeline_record run_alike(pipeline_setting s) {
    s.sizes = NULL;
    s.kind = &ons_generator_one_f_one_b;
    return run(s);
}

Test(paces, two_stages) {
    pipeline_setting s = {.model = "mlp", .batch = 24, .micro_batches = 4, .stages = 2, .steps = 4};
    static const uint32_t sizes[][2] = {{1, 2}, {2, 1}, {2, 2}, {4, 1}, {1, 4}, {2, 4}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) try_sizes(s, sizes[i]);
}

/* Neither size divides the other: some pieces are of one unit, some of two. */
Test(paces, sizes_that_do_not_divide_each_other) {
    pipeline_setting s = {.model = "mlp", .batch = 24, .micro_batches = 12, .stages = 3, .steps = 3};
    static const uint32_t sizes[][3] = {{2, 3, 2}, {3, 2, 4}, {4, 6, 1}, {1, 3, 2}, {6, 4, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) try_sizes(s, sizes[i]);
}

/* A decoder whose embeddings are tied, so that their gradients go between stages once a step; norms decide about the
 * update. */
Test(paces, transformer_with_dropout_and_clipping) {
    static const char *const options[] = {"dropout", "0.3", "clip-norm", "0.1", NULL};
    static const uint32_t sizes[][4] = {{1, 2, 2, 1}, {4, 2, 1, 2}};
    for (int i = 0; i < 2; ++i) {
        pipeline_setting s = {.model = i == 0 ? "gpt_tied" : "gpt_decomposed",
                              .options = options,
                              .batch = 8,
                              .micro_batches = 4,
                              .stages = 4,
                              .steps = 2};
        try_sizes(s, sizes[i]);
    }
}

Test(paces, convolutions) {
    static const uint32_t sizes[] = {2, 1, 4};
    try_sizes((pipeline_setting){.model = "lenet", .batch = 16, .micro_batches = 4, .stages = 3, .steps = 2}, sizes);
}

/* An epoch's last step: 192 samples in batches of 40 leave 32, which are six units of five and two samples; stages that
 * take four units at once leave two of the units to the rest. */
Test(paces, ends_of_epochs) {
    static const uint32_t sizes[][2] = {{1, 2}, {4, 1}, {8, 8}};
    for (int i = 0; i < 3; ++i)
        try_sizes((pipeline_setting){.model = "mlp", .batch = 40, .micro_batches = 8, .stages = 2, .steps = 11},
                  sizes[i]);
}

/* What is saved is swapped, computed again, both. */
Test(paces, evictions) {
    static const uint32_t sizes[] = {2, 1, 4};
    pipeline_setting s = {.model = "gpt_decomposed", .batch = 8, .micro_batches = 4, .stages = 3, .steps = 2};
    uint32_t relieved = 0;
    s.sizes = sizes;
    pipeline_record wanted = replay(s);
    for (s.eviction = PIPELINE_SWAPS; s.eviction < PIPELINE_EVICTIONS; ++s.eviction)
        for (s.one_in = 1; s.one_in < 4; ++s.one_in) {
            s.in_flight = s.one_in - 1;
            pipeline_record record = run(s);
            must(pipeline_compare(&wanted, &record), &s);
            relieved += record.swaps + record.clones;
            pipeline_record_free(&record);
        }
    pipeline_record_free(&wanted);
    cr_expect_gt(relieved, 0, "nothing was swapped or made again");
}

/* Twenty steps of SGD; the last of each epoch has fewer samples. Masks are those of the units. */
Test(paces, weights_are_those_of_one_size) {
    static const char *const options[] = {"optimizer", "sgd", "dropout", "0.2", NULL};
    static const uint32_t sizes[][3] = {{1, 2, 4}, {4, 2, 1}, {2, 1, 2}};
    static const char *const models[] = {"mlp", "gpt_decomposed", "gpt_tied"};
    for (int model = 0; model < 3; ++model) {
        pipeline_setting s = {
            .model = models[model], .options = options, .batch = 12, .micro_batches = 4, .stages = 3, .steps = 20};
        for (int i = 0; i < 3; ++i) {
            s.sizes = sizes[i];
            must(pipeline_find_cut(&s), &s);
        }
        pipeline_record wanted = run_alike(s);
        for (int i = 0; i < 3; ++i) {
            s.sizes = sizes[i];
            expect_near(&s, &wanted);
        }
        pipeline_record_free(&wanted);
    }
}

/* Cuts by chance, and sizes. */
Test(paces, random_cuts_and_sizes) {
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    cr_log_info("SEED=%llu", (unsigned long long)seed);
    static const uint32_t divisors[] = {1, 2, 3, 4, 6, 12};
    int tried = 0;
    for (uint64_t i = 0; i < 12; ++i) {
        uint64_t chance = (seed + i) * 0x9e3779b97f4a7c15u;
        uint32_t sizes[STAGES_MOST];
        for (int k = 0; k < STAGES_MOST; ++k) sizes[k] = divisors[(chance >> (8 + 8 * k)) % 6];
        pipeline_setting s = {.model = i % 2 == 0 ? "mlp" : "gpt_decomposed",
                              .batch = 12,
                              .micro_batches = 12,
                              .stages = 2 + (uint32_t)(chance >> 60) % 3,
                              .steps = 2,
                              .seed = seed + i,
                              .sizes = sizes,
                              .one_in = 3,
                              .scattered = i % 3 == 2};
        bool possible;
        must(pipeline_can_cut(s, &possible), &s);
        if (!possible) continue;
        pipeline_record wanted = replay(s);
        ++tried;
        s.eviction = (pipeline_eviction)((chance >> 50) % PIPELINE_EVICTIONS);
        s.in_flight = (uint32_t)(chance >> 40) % 4;
        s.late = i % 3 == 0;
        expect_same(&s, &wanted);
        pipeline_record_free(&wanted);
    }
    cr_expect_geq(tried, 4, "most cuts were refused");
}

/* What says that the run is refused before anything starts. */
static void expect_refused(pipeline_setting s, const char *pattern) {
    pipeline_record record;
    ons_status *status = pipeline_run(&s, &record);
    cr_assert_not_null(status, "%s: it is not refused", pattern);
    cr_expect_not_null(strstr(ons_status_get_message(status), pattern), "%s", ons_status_get_message(status));
    ons_status_free(status);
}

Test(paces, what_cannot_be_is_refused) {
    static const uint32_t sizes[] = {1, 2};
    static const char *const moving[] = {"batchnorm", "train", NULL};
    pipeline_setting s = {.model = "mlp", .batch = 22, .micro_batches = 4, .stages = 2, .sizes = sizes, .steps = 1};
    expect_refused(s, "a batch of 22 does not come out even in 4 micro-batches");
    s.batch = 24;
    s.replicas = 2;
    s.micro_batches = 2;
    expect_refused(s, "--replicas: the plan has stages with micro-batches of their own size");
    s.replicas = 0;
    s.micro_batches = 4;
    s.model = "cnn_dynamic";
    s.options = moving;
    expect_refused(s, "normalises by the samples of its micro-batch");
    /* Embeddings of positions are the same for all samples: a cut behind them. */
    static const uint32_t others[] = {2, 1, 4};
    bool possible = true;
    pipeline_setting cut = {.model = "gpt_decomposed", .batch = 8, .micro_batches = 4, .stages = 3, .sizes = others};
    for (cut.steps = 1; possible; ++cut.seed) must(pipeline_can_cut(cut, &possible), &cut);
    --cut.seed;
    expect_refused(cut, "its samples are not the outermost axis in memory (or it has none), so it cannot go in pieces");
}
