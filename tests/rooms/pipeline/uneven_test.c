/* Batches that do not come out even: micro-batches of two sizes go through the stages together. */
#include <criterion/criterion.h>
#include <math.h>
#include <time.h>

#include "base/status.h"
#include "tests/rooms/pipeline/pipeline_run.h"

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, batch %u in %u, %u stages, %s, %s, %u threads, seed %llu: %s", s->model, s->batch,
                   s->micro_batches, s->stages, s->kind->name, pipeline_eviction_name(s->eviction), s->threads,
                   (unsigned long long)s->seed, ons_status_get_message(status));
}

static pipeline_record run_whole(pipeline_setting s) {
    pipeline_record whole;
    s.stages = 1;
    s.eviction = PIPELINE_KEEPS;
    s.scattered = false;
    s.delayed = false;
    if (s.kind != &ons_generator_pipedream) s.kind = &ons_generator_one_f_one_b;
    must(pipeline_run(&s, &whole), &s);
    return whole;
}

/* Returns how many values were swapped or made again. */
static uint32_t compare(const pipeline_setting *s, const pipeline_record *whole) {
    pipeline_record cut;
    must(pipeline_run(s, &cut), s);
    must(pipeline_compare(whole, &cut), s);
    uint32_t count = cut.swaps + cut.clones;
    pipeline_record_free(&cut);
    return count;
}

/* Every schedule, number of stages from 1 to 4, and eviction. */
static void try_all(pipeline_setting s) {
    pipeline_record whole = run_whole(s);
    uint32_t relieved = 0;
    for (s.stages = 1; s.stages <= 4; ++s.stages)
        for (int kind = 0; kind < 2; ++kind)
            for (pipeline_eviction eviction = PIPELINE_KEEPS; eviction < PIPELINE_EVICTIONS; ++eviction) {
                s.kind = kind == 0 ? &ons_generator_gpipe : &ons_generator_one_f_one_b;
                s.eviction = eviction;
                s.seed = 100 * s.stages + eviction;
                relieved += compare(&s, &whole);
            }
    cr_assert_gt(relieved, 0, "%s: nothing was swapped or made again", s.model);
    pipeline_record_free(&whole);
}

/* 192 samples in batches of 64 are 11, 11, 11, 11, 10 and 10. */
Test(uneven, every_schedule_and_eviction) {
    try_all((pipeline_setting){.model = "mlp", .batch = 64, .micro_batches = 6, .threads = 1, .steps = 4});
}

/* Two of 7, then one of 6; running statistics move once a micro-batch, whatever that has. */
Test(uneven, blocked_layouts_and_batch_normalisation) {
    pipeline_setting s = {.model = "cnn_dynamic", .batch = 20, .micro_batches = 3, .threads = 2, .steps = 2};
    pipeline_record whole = run_whole(s);
    for (s.seed = 1; s.seed <= 6; ++s.seed) {
        s.stages = 1 + (uint32_t)s.seed % 3;
        s.kind = s.seed % 2 == 0 ? &ons_generator_gpipe : &ons_generator_one_f_one_b;
        s.eviction = (pipeline_eviction)(s.seed % PIPELINE_EVICTIONS);
        (void)compare(&s, &whole);
    }
    pipeline_record_free(&whole);
}

/* A decoder whose weights are in nodes of many stages; norms decide about the update. */
Test(uneven, transformer_with_clipping_and_dropout) {
    static const char *const options[] = {"clip-norm", "0.1", "dropout", "0.2", NULL};
    pipeline_setting s = {.model = "gpt_decomposed",
                          .options = options,
                          .batch = 7,
                          .micro_batches = 3,
                          .threads = 1,
                          .steps = 3,
                          .seed = 4};
    pipeline_record whole = run_whole(s);
    for (s.stages = 2; s.stages <= 4; ++s.stages) {
        s.kind = s.stages == 3 ? &ons_generator_gpipe : &ons_generator_one_f_one_b;
        s.eviction = s.stages == 4 ? PIPELINE_SWAPS_AND_RECOMPUTES : PIPELINE_KEEPS;
        (void)compare(&s, &whole);
    }
    pipeline_record_free(&whole);
}

/* Each micro-batch is an update; compared with sequential training by weights of the right age. */
Test(uneven, updates_that_do_not_wait) {
    static const uint32_t batches[] = {16, 25, 64, 37};
    for (int i = 0; i < 4; ++i) {
        pipeline_setting s = {.model = i % 2 == 0 ? "mlp" : "cnn_dynamic",
                              .batch = batches[i],
                              .micro_batches = 3 + 2 * (uint32_t)i,
                              .threads = 1,
                              .steps = 5,
                              .kind = &ons_generator_pipedream,
                              .seed = 20 + (uint64_t)i};
        for (s.stages = 2; s.stages <= 4; ++s.stages) {
            pipeline_record sequential;
            pipeline_setting d = s;
            s.eviction = s.stages == 3 ? PIPELINE_SWAPS_AND_RECOMPUTES : PIPELINE_KEEPS;
            d.eviction = s.eviction;
            d.delayed = true;
            must(pipeline_run(&d, &sequential), &d);
            (void)compare(&s, &sequential);
            pipeline_record_free(&sequential);
        }
    }
}

/* 192 samples; the last batch of the epoch has 17 = 7 + 6 + 4, 2 (fewer than micro-batches, and than any has), 2,
 * 32 = 14 + 13 + 5, 17 = 6 + 6 + 5 (nothing is left), 8 = 3 + 3 + 2, and 5 of one sample each. */
Test(uneven, short_last_batch) {
    static const struct {
        uint32_t batch, micro_batches, steps;
    } cases[] = {{25, 4, 9}, {19, 5, 12}, {10, 3, 21}, {40, 3, 6}, {35, 6, 7}, {23, 9, 10}, {11, 11, 19}};
    for (int i = 0; i < 7; ++i) {
        pipeline_setting s = {.model = "mlp",
                              .batch = cases[i].batch,
                              .micro_batches = cases[i].micro_batches,
                              .steps = cases[i].steps,
                              .threads = 1,
                              .seed = (uint64_t)i};
        pipeline_record whole = run_whole(s);
        for (s.stages = 2; s.stages <= 3; ++s.stages) {
            s.kind = (i + s.stages) % 2 == 0 ? &ons_generator_gpipe : &ons_generator_one_f_one_b;
            s.eviction = i % 2 == 0 ? PIPELINE_KEEPS : PIPELINE_SWAPS_AND_RECOMPUTES;
            (void)compare(&s, &whole);
        }
        pipeline_record_free(&whole);
    }
}

Test(uneven, nodes_anywhere) {
    uint64_t first = (uint64_t)time(NULL);
    for (uint64_t seed = first; seed < first + 6; ++seed) {
        static const char *const models[] = {"mlp", "gpt_decomposed", "cnn_dynamic"};
        pipeline_setting s = {.model = models[seed % 3], .threads = 1, .steps = 2, .seed = seed};
        uint64_t drawn = seed * 6364136223846793005u;
        s.micro_batches = 2 + (uint32_t)(drawn >> 33) % 6;
        s.batch = s.micro_batches + 1 + (uint32_t)(drawn >> 40) % 20;
        pipeline_record whole = run_whole(s);
        s.scattered = true;
        s.stages = 2 + (uint32_t)(drawn >> 50) % 3;
        s.one_in = 2;
        s.kind = seed % 2 == 0 ? &ons_generator_gpipe : &ons_generator_one_f_one_b;
        s.eviction = (pipeline_eviction)((drawn >> 55) % PIPELINE_EVICTIONS);
        (void)compare(&s, &whole);
        pipeline_record_free(&whole);
    }
}

/* However a batch is split, loss and gradient are those of the whole one, but for the order of sums, where samples do
 * not meet (as they do in batch normalisation). */
Test(uneven, gradients_are_those_of_the_whole_batch) {
    static const char *const models[] = {"mlp", "lenet", "gpt_decomposed"};
    for (int i = 0; i < 3; ++i) {
        pipeline_setting s = {.model = models[i], .batch = 16, .micro_batches = 1, .threads = 1, .steps = 1};
        pipeline_record one = run_whole(s), split;
        for (s.micro_batches = 3; s.micro_batches <= 9; s.micro_batches += 2) {
            split = run_whole(s);
            cr_assert_float_eq(split.losses[0], one.losses[0], 1e-5 * fabs(one.losses[0]), "%s in %u: loss %g, not %g",
                               s.model, s.micro_batches, split.losses[0], one.losses[0]);
            cr_assert_eq(split.trained, one.trained);
            for (uint32_t k = 0; k < one.trained; ++k)
                cr_assert_float_eq(split.squares[k], one.squares[k], 1e-3 * one.squares[k] + 1e-9,
                                   "%s in %u: square sum %u is %g, not %g", s.model, s.micro_batches, k,
                                   split.squares[k], one.squares[k]);
            pipeline_record_free(&split);
        }
        pipeline_record_free(&one);
    }
}
