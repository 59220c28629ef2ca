/* Forward parts in two halves of their samples: the saved tensors of both are one, so all that follows is as if the
 * micro-batch had been computed at once.
 *
 * With gpipe every stage halves the same micro-batches, one stage as well: the bits are those of that. Kernels may sum
 * in another order for another number of samples: with whole micro-batches the results are the same within 1e-5; and
 * what is computed again in the backward part is computed for a whole micro-batch. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/status.h"
#include "tests/rooms/pipeline/pipeline_run.h"

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, batch %u in %u, %u sliced, %u stages, %s, %s, seed %llu: %s", s->model, s->batch,
                   s->micro_batches, s->sliced, s->stages, s->kind->name, pipeline_eviction_name(s->eviction),
                   (unsigned long long)s->seed, ons_status_get_message(status));
}

static pipeline_record run(pipeline_setting s) {
    pipeline_record record;
    must(pipeline_run(&s, &record), &s);
    return record;
}

static pipeline_record run_one_stage(pipeline_setting s) {
    s.stages = 1;
    s.devices = 0;
    s.eviction = PIPELINE_KEEPS;
    s.scattered = false;
    s.kind = &ons_generator_gpipe;
    return run(s);
}

static void expect_same(const pipeline_setting *s, const pipeline_record *whole) {
    pipeline_record cut = run(*s);
    must(pipeline_compare(whole, &cut), s);
    pipeline_record_free(&cut);
}

static void expect_near(const pipeline_setting *s, const pipeline_record *whole) {
    pipeline_record cut = run(*s);
    for (uint32_t i = 0; i < whole->steps; ++i)
        cr_expect_float_eq(cut.losses[i], whole->losses[i], 1e-5 * (1 + fabs(whole->losses[i])),
                           "%s, %s, %u sliced: loss of step %u is %.9g and not %.9g", s->model, s->kind->name,
                           s->sliced, i + 1, cut.losses[i], whole->losses[i]);
    for (size_t i = 0; i < (size_t)whole->steps * whole->trained; ++i)
        cr_expect_float_eq(cut.squares[i], whole->squares[i], 1e-4 * (1e-6 + fabs(whole->squares[i])),
                           "%s, %s, %u sliced: a square sum is %.9g and not %.9g", s->model, s->kind->name, s->sliced,
                           cut.squares[i], whole->squares[i]);
    pipeline_record_free(&cut);
}

static void expect_like(const pipeline_setting *s, const pipeline_record *whole) {
    bool again = s->eviction == PIPELINE_RECOMPUTES || s->eviction == PIPELINE_SWAPS_AND_RECOMPUTES;
    (again ? expect_near : expect_same)(s, whole);
}

/* Stages one to four, with what is saved swapped, computed again, both and neither. */
static void try_evictions(pipeline_setting s) {
    s.kind = &ons_generator_gpipe;
    pipeline_record whole = run_one_stage(s);
    for (s.stages = 1; s.stages <= 4; ++s.stages)
        for (s.eviction = PIPELINE_KEEPS; s.eviction < PIPELINE_EVICTIONS; ++s.eviction) {
            s.seed = 10 * s.stages + s.eviction;
            s.one_in = 2;
            expect_like(&s, &whole);
        }
    pipeline_record_free(&whole);
}

/* Micro-batches of 6, or of 5 in halves of 3 and 2; of 6 and 5; all of them sliced, and the first two. */
Test(slices, have_the_bits_of_one_stage_with_the_same_halves) {
    try_evictions((pipeline_setting){.model = "mlp", .batch = 24, .micro_batches = 4, .sliced = 2, .steps = 3});
    try_evictions((pipeline_setting){.model = "mlp", .batch = 20, .micro_batches = 4, .sliced = 4, .steps = 3});
    try_evictions((pipeline_setting){.model = "mlp", .batch = 22, .micro_batches = 4, .sliced = 3, .steps = 3});
}

Test(slices, convolutions_and_attention) {
    try_evictions((pipeline_setting){.model = "lenet", .batch = 10, .micro_batches = 2, .sliced = 1, .steps = 2});
    try_evictions(
        (pipeline_setting){.model = "gpt_decomposed", .batch = 12, .micro_batches = 4, .sliced = 2, .steps = 2});
}

/* As many samples as the model was exported for: the graphs for other numbers have constants that this one lacks. */
Test(slices, micro_batches_of_the_exported_size) {
    try_evictions((pipeline_setting){.model = "gpt_tied", .batch = 12, .micro_batches = 3, .sliced = 2, .steps = 2});
}

/* Each half draws what the whole would have drawn for its samples. */
Test(slices, dropout_is_that_of_whole_micro_batches) {
    static const char *const options[] = {"dropout", "0.3", NULL};
    pipeline_setting s = {.model = "gpt_tied", .options = options, .batch = 10, .micro_batches = 2, .steps = 3};
    s.kind = &ons_generator_gpipe;
    pipeline_record whole = run_one_stage(s);
    s.sliced = 2;
    s.stages = 3;
    expect_near(&s, &whole);
    s.kind = &ons_generator_one_f_one_b;
    s.sliced = 1;
    expect_near(&s, &whole);
    pipeline_record_free(&whole);
}

/* Any cut, with nodes anywhere. */
Test(slices, random_cuts) {
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    cr_log_info("SEED=%llu", (unsigned long long)seed);
    pipeline_setting s = {.model = "gpt_tied", .batch = 9, .micro_batches = 3, .sliced = 2, .steps = 2};
    s.kind = &ons_generator_gpipe;
    pipeline_record whole = run_one_stage(s);
    for (int i = 0; i < 6; ++i) {
        s.seed = seed + (uint64_t)i;
        s.stages = 2 + (uint32_t)(s.seed % 3);
        s.eviction = (pipeline_eviction)(s.seed % PIPELINE_EVICTIONS);
        s.one_in = 1 + (uint32_t)(s.seed % 4);
        s.late = i % 2 == 0;
        s.scattered = true;
        expect_like(&s, &whole);
    }
    pipeline_record_free(&whole);
}

/* Stages that halve different micro-batches, several of them on a device, gradients apart, replicas. */
Test(slices, every_synchronous_schedule) {
    pipeline_setting s = {.model = "mlp", .batch = 32, .micro_batches = 8, .stages = 4, .steps = 3};
    pipeline_record whole = run_one_stage(s);
    s.sliced = 3;
    for (const ons_generator *const *g = ons_generators; *g != NULL; ++g) {
        if ((*g)->asynchronous || (*g)->group != NULL) continue;
        s.kind = *g;
        expect_near(&s, &whole);
    }
    pipeline_record_free(&whole);
}
