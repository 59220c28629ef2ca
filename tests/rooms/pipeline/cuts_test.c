/* Random cuts and decisions have the bits of the uncut run: a sample of what tests/rooms/pipeline/sweep tries, and what
 * is special about batches, weights and optimisers. */
#include <criterion/criterion.h>
#include <time.h>

#include "base/status.h"
#include "tests/rooms/pipeline/pipeline_run.h"

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, %u stages, %s, %s, %u micro-batches, %u threads, seed %llu: %s", s->model, s->stages,
                   s->kind->name, pipeline_eviction_name(s->eviction), s->micro_batches, s->threads,
                   (unsigned long long)s->seed, ons_status_get_message(status));
}

static pipeline_record run_whole(pipeline_setting s) {
    pipeline_record whole;
    s.stages = 1;
    s.eviction = PIPELINE_KEEPS;
    s.scattered = false;
    s.kind = &ons_generator_one_f_one_b;
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

/* In both schedules, with 2 and 3 stages, once keeping all and once swapping and recomputing. */
static void try_all(pipeline_setting s) {
    static const uint64_t first_seed = 11;
    pipeline_record whole = run_whole(s);
    uint32_t relieved = 0;
    for (int round = 0; round < 4; ++round) {
        s.stages = 2 + round % 2;
        s.kind = round < 2 ? &ons_generator_gpipe : &ons_generator_one_f_one_b;
        s.eviction = round == 0 || round == 3 ? PIPELINE_SWAPS_AND_RECOMPUTES : PIPELINE_KEEPS;
        s.seed = first_seed + (uint64_t)round;
        relieved += compare(&s, &whole);
    }
    cr_assert_gt(relieved, 0, "%s: nothing was swapped or made again", s.model);
    pipeline_record_free(&whole);
}

/* ---------------------------------------------------------------------------------------------------------- samples */

Test(cuts, swap_alone_and_recompute_alone) {
    pipeline_setting s = {.model = "lenet", .micro_batches = 4, .threads = 1, .steps = 2, .seed = 3};
    pipeline_record whole = run_whole(s);
    for (pipeline_eviction eviction = PIPELINE_SWAPS; eviction <= PIPELINE_RECOMPUTES; ++eviction)
        for (s.stages = 1; s.stages <= 4; ++s.stages) {
            s.kind = &ons_generator_one_f_one_b;
            s.eviction = eviction;
            cr_assert_gt(compare(&s, &whole), 0);
        }
    pipeline_record_free(&whole);
}

Test(cuts, two_threads_a_stage) {
    try_all((pipeline_setting){.model = "cnn_dynamic", .micro_batches = 4, .threads = 2, .steps = 2});
}

/* Normalisation's statistics move once a micro-batch, also where the forward part runs twice. */
Test(cuts, statistics_of_batch_normalisation) {
    try_all((pipeline_setting){.model = "resnet18", .micro_batches = 2, .threads = 1, .steps = 1});
}

Test(cuts, tied_weights) {
    try_all((pipeline_setting){.model = "gpt_tied", .micro_batches = 4, .threads = 1, .steps = 2});
}

Test(cuts, dropout_draws_the_same_numbers) {
    static const char *const options[] = {"dropout", "0.2", NULL};
    try_all((pipeline_setting){.model = "gpt_tied", .options = options, .micro_batches = 2, .threads = 1, .steps = 3});
}

Test(cuts, clipping) {
    static const char *const options[] = {"clip-norm", "0.1", "optimizer", "sgd", "momentum", "0.9", NULL};
    try_all((pipeline_setting){
        .model = "gpt_decomposed", .options = options, .micro_batches = 4, .threads = 1, .steps = 2});
}

Test(cuts, frozen_weights) {
    try_all((pipeline_setting){.model = "mlp_frozen", .micro_batches = 4, .threads = 1, .steps = 3});
}

Test(cuts, one_micro_batch) {
    try_all((pipeline_setting){.model = "mlp", .micro_batches = 1, .threads = 1, .steps = 3});
}

Test(cuts, more_stages_than_micro_batches) {
    pipeline_setting s = {.model = "mlp", .micro_batches = 2, .threads = 1, .steps = 3, .stages = 8, .seed = 5};
    pipeline_record whole = run_whole(s);
    for (s.seed = 5; s.seed < 9; ++s.seed) {
        s.kind = s.seed % 2 == 0 ? &ons_generator_gpipe : &ons_generator_one_f_one_b;
        s.eviction = s.seed < 7 ? PIPELINE_KEEPS : PIPELINE_SWAPS_AND_RECOMPUTES;
        (void)compare(&s, &whole);
    }
    pipeline_record_free(&whole);
}

/* 192 samples in batches of 40: the last step of the epoch has four whole micro-batches of 8, the one before 5. */
Test(cuts, short_last_batch_and_the_next_epoch) {
    static const char *const options[] = {"seed", "9", NULL};
    try_all((pipeline_setting){
        .model = "mlp", .options = options, .batch = 40, .micro_batches = 5, .threads = 1, .steps = 7});
}

/* 192 samples in batches of 33: the last step has 27, two micro-batches of 11 and one of 5. */
Test(cuts, uneven_last_micro_batch) {
    try_all((pipeline_setting){.model = "mlp", .batch = 33, .micro_batches = 3, .threads = 1, .steps = 7});
    try_all((pipeline_setting){.model = "cnn_dynamic", .batch = 57, .micro_batches = 3, .threads = 1, .steps = 5});
}

Test(cuts, nodes_anywhere) {
    static const char *const models[] = {"mlp", "gpt_tied", "cnn_dynamic"};
    for (int i = 0; i < 3; ++i) {
        pipeline_setting s = {.model = models[i], .micro_batches = 4, .threads = 1, .steps = 2};
        pipeline_record whole = run_whole(s);
        for (s.seed = 1; s.seed <= 4; ++s.seed) {
            s.scattered = true;
            s.stages = 2 + (uint32_t)s.seed % 3;
            s.one_in = 2;
            s.kind = s.seed % 2 == 0 ? &ons_generator_gpipe : &ons_generator_one_f_one_b;
            s.eviction = (pipeline_eviction)(s.seed % PIPELINE_EVICTIONS);
            (void)compare(&s, &whole);
        }
        pipeline_record_free(&whole);
    }
}
