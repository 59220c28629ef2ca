/* Sharded vocabularies where stages are cut anywhere, shards in stages of others too: losses, norms, weights and states
 * have the bits of training in sequence. What the planner's own stages give is tests/system/command/vocabulary_test.sh.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "base/status.h"
#include "tests/rooms/pipeline/pipeline_run.h"

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, %u stages, batch %u, %s, seed %llu: %s", s->model, s->stages, s->batch,
                   pipeline_eviction_name(s->eviction), (unsigned long long)s->seed, ons_status_get_message(status));
}

static void try_stages(pipeline_setting s) {
    pipeline_record whole, cut;
    uint32_t stages = s.stages;
    s.stages = 1;
    must(pipeline_run(&s, &whole), &s);
    s.stages = stages;
    must(pipeline_run(&s, &cut), &s);
    must(pipeline_compare(&whole, &cut), &s);
    pipeline_record_free(&whole);
    pipeline_record_free(&cut);
}

static void try_all(pipeline_setting s) {
    static const pipeline_eviction evictions[] = {PIPELINE_KEEPS, PIPELINE_SWAPS, PIPELINE_RECOMPUTES};
    s.micro_batches = 4;
    for (s.stages = 2; s.stages <= 5; ++s.stages)
        for (s.seed = 1; s.seed <= 3; ++s.seed) {
            s.eviction = evictions[s.seed % 3];
            try_stages(s);
        }
}

Test(shards, tied_vocabulary) {
    static const char *const options[] = {"vocabulary-shards", "4", "clip-norm", "0.5", NULL};
    try_all((pipeline_setting){.model = "gpt_tied", .options = options, .batch = 12, .steps = 3});
}

Test(shards, smoothed_labels_and_dropout) {
    static const char *const options[] = {"vocabulary-shards", "2", "label-smoothing", "0.1", "dropout", "0.2", NULL};
    try_all((pipeline_setting){.model = "dynamo_gpt", .options = options, .steps = 2});
}
