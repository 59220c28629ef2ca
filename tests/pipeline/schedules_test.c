/* Whatever the schedule, a run has the bits of one stage: every generator, with one to three stages on a device. */
#include <criterion/criterion.h>

#include "base/status.h"
#include "tests/pipeline/pipeline_run.h"

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, %s, %u stages on %u devices, %s, %u micro-batches, seed %llu: %s", s->model,
                   s->kind->name, s->stages, s->devices, pipeline_relief_name(s->relief), s->micro_batches,
                   (unsigned long long)s->seed, ons_status_get_message(status));
}

static pipeline_record run_whole(pipeline_setting s) {
    pipeline_record whole;
    s.stages = s.devices = 1;
    s.relief = PIPELINE_KEEPS;
    s.kind = &ons_generator_one_f_one_b;
    must(pipeline_run(&s, &whole), &s);
    return whole;
}

static void compare(const pipeline_setting *s, const pipeline_record *whole) {
    pipeline_record cut;
    must(pipeline_run(s, &cut), s);
    must(pipeline_compare(whole, &cut), s);
    pipeline_record_free(&cut);
}

static bool takes(const ons_generator *generator, uint32_t stages, uint32_t devices) {
    uint32_t chunks = stages / devices;
    return !generator->asynchronous && (generator->chunks > 1 || chunks == 1) &&
           (generator != &ons_generator_v || chunks <= 2);
}

static void try_schedules(pipeline_setting s) {
    pipeline_record whole = run_whole(s);
    for (const ons_generator *const *g = ons_generators; *g != NULL; ++g)
        for (s.devices = 1; s.devices <= 3; ++s.devices)
            for (uint32_t chunks = 1; chunks <= 3; ++chunks) {
                s.stages = s.devices * chunks;
                s.kind = *g;
                s.seed = 17 * s.devices + chunks;
                if (takes(*g, s.stages, s.devices)) compare(&s, &whole);
            }
    pipeline_record_free(&whole);
}

Test(schedules, multilayer_perceptron) {
    try_schedules((pipeline_setting){.model = "mlp", .micro_batches = 4, .steps = 2});
}

Test(schedules, convolutions_and_statistics) {
    try_schedules((pipeline_setting){.model = "lenet", .micro_batches = 6, .steps = 2});
}

Test(schedules, gpt_with_tied_weights) {
    try_schedules((pipeline_setting){.model = "gpt_tied", .micro_batches = 4, .steps = 2});
}

Test(schedules, residual_network) {
    try_schedules((pipeline_setting){.model = "resnet18", .micro_batches = 4, .steps = 2});
}

Test(schedules, uneven_last_micro_batch) {
    try_schedules((pipeline_setting){.model = "cnn_dynamic", .micro_batches = 4, .more = 3, .steps = 3});
}

Test(schedules, fewer_micro_batches_than_stages) {
    try_schedules((pipeline_setting){.model = "mlp", .micro_batches = 2, .steps = 2});
}

Test(schedules, swapped_and_made_again) {
    static const char *const models[] = {"mlp", "lenet", "gpt_tied"};
    for (int i = 0; i < 3; ++i)
        try_schedules((pipeline_setting){
            .model = models[i], .micro_batches = 4, .steps = 2, .relief = PIPELINE_SWAPS_AND_RECOMPUTES, .one_in = 2});
}

/* Nodes anywhere: stages read what others made long before, with more micro-batches in between than there is room for
 * between neighbours. */
Test(schedules, connections_that_skip_stages) {
    static const char *const models[] = {"mlp", "gpt_tied"};
    for (int i = 0; i < 2; ++i)
        try_schedules((pipeline_setting){.model = models[i], .micro_batches = 12, .steps = 1, .scattered = true});
}
