/* An asynchronous pipeline against sequential training with delayed gradients (tests/rooms/pipeline/delayed.h): losses,
 * norms, weights, optimiser states and statistics, bit by bit. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/stages/local_stages.h"
#include "tests/rooms/pipeline/pipeline_run.h"

static const char *const momentum[] = {"optimizer", "sgd", "momentum", "0.9", "dropout", "0.2", NULL};
static const char *const adamw[] = {"optimizer", "adamw", "weight-decay", "0.1", NULL};

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, %u stages, %s, %u micro-batches, seed %llu: %s", s->model, s->stages,
                   pipeline_eviction_name(s->eviction), s->micro_batches, (unsigned long long)s->seed,
                   ons_status_get_message(status));
}

/* The stages of weights that the runtime keeps places for: as many as micro-batches are in flight, and no more. */
static void look_at_versions(void *context, const ons_local_stages *local_stages, const ons_pipeline *pipeline) {
    const pipeline_setting *s = context;
    for (uint32_t i = 0; i < pipeline->stages; ++i) {
        const ons_local_stage *local_stage = ons_local_stages_get(local_stages, i);
        const ons_graph *graph = local_stage->training.programs[ONS_WHOLE].stage.cut->graph;
        int64_t expected = 0;
        ons_device_context_memory memory;
        must(ons_device_context_predict(local_stage->device_context, &memory), s);
        for (ons_value_id id = 0; id < graph->values.count; ++id) {
            const ons_value *v = ons_graph_value(graph, id);
            if (v->kind != ONS_PARAMETER) continue;
            int64_t bytes = ons_arena_align(ons_type_dense_bytes(&v->type));
            expected += v->producer == ONS_NONE ? bytes : bytes * (s->stages - i - 1); /* what an update makes */
        }
        cr_expect_leq(memory.parameters, expected, "%s: stage %u of %u takes %lld bytes for its weights, not %lld",
                      s->model, i, pipeline->stages, (long long)memory.parameters, (long long)expected);
    }
}

static void compare(pipeline_setting s) {
    pipeline_record pipeline, sequence;
    s.kind = &ons_generator_pipedream;
    s.threads = 1;
    s.look = look_at_versions;
    s.context = &s;
    must(pipeline_run(&s, &pipeline), &s);
    s.delayed = true;
    must(pipeline_run(&s, &sequence), &s);
    must(pipeline_compare(&sequence, &pipeline), &s);
    pipeline_record_free(&pipeline);
    pipeline_record_free(&sequence);
}

/* Number of stages, of micro-batches, optimiser, cut and eviction are drawn. */
static void try_model(const char *model, uint64_t first_seed, int rounds) {
    static const uint32_t micro_batches[] = {1, 2, 3, 5, 8};
    for (int i = 0; i < rounds; ++i) {
        uint64_t seed = first_seed + (uint64_t)i;
        pipeline_setting s = {
            .model = model,
            .options = i % 2 == 0 ? momentum : adamw,
            .micro_batches = micro_batches[(seed * 7 + 3) % 5],
            .stages = 2 + (uint32_t)i % 3,
            .eviction = (pipeline_eviction)(seed % PIPELINE_EVICTIONS),
            .one_in = 2,
            .scattered = seed % 3 == 0,
            .steps = 2,
            .seed = seed,
        };
        compare(s);
    }
}

Test(delayed, gpt, .timeout = 300) { try_model("gpt_tied", 1, 12); }

Test(delayed, gpt_with_dropout, .timeout = 300) { try_model("gpt_decomposed", 11, 12); }

Test(delayed, convolutions_with_running_statistics, .timeout = 300) { try_model("cnn_dynamic", 21, 12); }

Test(delayed, convolutions, .timeout = 300) { try_model("lenet", 31, 12); }

Test(delayed, resnet, .timeout = 300) { try_model("resnet18", 41, 3); }

Test(delayed, frozen_weights) { try_model("mlp_frozen", 51, 12); }

/* What is made of a weight before the micro-batches (here it is rounded) is made in every stage that reads it, of the
 * weights that this stage has. */
Test(delayed, rounded_weights_of_several_stages) {
    static const char *const rounded[] = {"precision", "bf16", NULL};
    for (uint32_t stages = 2; stages <= 4; ++stages)
        compare((pipeline_setting){.model = "mlp",
                                   .options = rounded,
                                   .micro_batches = 5,
                                   .steps = 2,
                                   .stages = stages,
                                   .scattered = true,
                                   .seed = stages});
}

/* 192 samples in batches of 33: the last step of an epoch has two micro-batches of 11 and one of 5. */
Test(delayed, uneven_last_micro_batch) {
    for (uint32_t stages = 2; stages <= 4; ++stages)
        compare((pipeline_setting){.model = "mlp",
                                   .options = stages % 2 == 0 ? momentum : adamw,
                                   .batch = 33,
                                   .micro_batches = 3,
                                   .steps = 7,
                                   .stages = stages,
                                   .seed = stages});
}

/* The comparison can fail: training in one stage, where nothing is delayed, ends elsewhere. */
Test(delayed, delay_matters) {
    pipeline_record one, two;
    pipeline_setting s = {.model = "mlp", .micro_batches = 4, .threads = 1, .steps = 2, .seed = 1, .delayed = true};
    s.kind = &ons_generator_pipedream;
    s.stages = 1;
    must(pipeline_run(&s, &one), &s);
    s.stages = 2;
    must(pipeline_run(&s, &two), &s);
    ons_status *status = pipeline_compare(&one, &two);
    cr_expect_not_null(status);
    ons_status_free(status);
    pipeline_record_free(&one);
    pipeline_record_free(&two);
}
