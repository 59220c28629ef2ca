/* Replicas of a pipeline against training in sequence with the same groups of micro-batches
 * (tests/rooms/pipeline/grouped.h): losses, norms, weights, states and statistics have the same bits, however many
 * stages, late messages or samples. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/status.h"
#include "tests/rooms/pipeline/pipeline_run.h"

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, %u replicas of %u stages on %u devices, %u micro-batches, %u more samples: %s",
                   s->model, s->replicas, s->stages, s->devices, s->micro_batches, s->more,
                   ons_status_get_message(status));
}

static pipeline_record run_in_sequence(pipeline_setting s) {
    pipeline_record whole;
    s.stages = s.devices = 1;
    s.grouped = true;
    s.late = false;
    must(pipeline_run(&s, &whole), &s);
    return whole;
}

static void compare(const pipeline_setting *s, const pipeline_record *whole) {
    pipeline_record cut;
    must(pipeline_run(s, &cut), s);
    must(pipeline_compare(whole, &cut), s);
    pipeline_record_free(&cut);
}

/* Steps go beyond the end of an epoch, where the last one is shorter. */
static void try_replicas(pipeline_setting s) {
    s.kind = &ons_generator_one_f_one_b;
    for (s.replicas = 2; s.replicas <= 4; ++s.replicas) {
        pipeline_record whole = run_in_sequence(s);
        for (s.stages = 1; s.stages <= 3; ++s.stages) {
            s.devices = s.stages;
            s.seed = s.stages;
            compare(&s, &whole);
        }
        pipeline_record_free(&whole);
    }
}

Test(replicas, multilayer_perceptron) {
    try_replicas((pipeline_setting){.model = "mlp", .micro_batches = 1, .steps = 6});
    try_replicas((pipeline_setting){.model = "mlp", .micro_batches = 2, .steps = 4});
}

Test(replicas, batches_that_do_not_come_out_even) {
    try_replicas((pipeline_setting){.model = "mlp", .micro_batches = 2, .more = 3, .steps = 4});
    try_replicas((pipeline_setting){.model = "lenet", .micro_batches = 3, .more = 2, .steps = 3});
}

/* The last step of an epoch has fewer micro-batches than there are replicas. */
Test(replicas, some_without_a_sample) {
    try_replicas((pipeline_setting){.model = "mlp", .micro_batches = 1, .batch = 50, .steps = 9});
    try_replicas((pipeline_setting){.model = "mlp", .micro_batches = 2, .batch = 95, .steps = 5});
}

Test(replicas, running_statistics) {
    try_replicas((pipeline_setting){.model = "cnn_dynamic", .micro_batches = 2, .steps = 3});
    try_replicas((pipeline_setting){.model = "resnet18", .micro_batches = 1, .steps = 2});
}

Test(replicas, tied_weights_and_dropout) {
    static const char *const options[] = {"dropout", "0.2", "clip-norm", "0.5", NULL};
    try_replicas((pipeline_setting){.model = "gpt_tied", .options = options, .micro_batches = 2, .steps = 3});
}

/* The scale of the loss is found alike by all. */
Test(replicas, half_precision) {
    static const char *const options[] = {"dropout", "off", "precision", "fp16", "loss-scale", "1e9", NULL};
    try_replicas((pipeline_setting){.model = "gpt_tied", .options = options, .micro_batches = 2, .steps = 4});
}

/* Each replica has the states of its slices alone; where norms are asked for, sums are whole everywhere. */
static void try_divided_updates(pipeline_setting s, const char *optimizer) {
    const char *const options[] = {"shard-optimizer", "true", "optimizer", optimizer, NULL};
    s.options = options;
    s.quiet = true;
    try_replicas(s);
    s.quiet = false;
    try_replicas(s);
}

Test(replicas, divided_updates) {
    try_divided_updates((pipeline_setting){.model = "mlp", .micro_batches = 1, .steps = 4}, "adamw");
    try_divided_updates((pipeline_setting){.model = "lenet", .micro_batches = 2, .more = 3, .steps = 3}, "adam");
    try_divided_updates((pipeline_setting){.model = "cnn_dynamic", .micro_batches = 2, .steps = 3}, "rmsprop");
}

Test(replicas, divided_updates_without_a_sample) {
    try_divided_updates((pipeline_setting){.model = "mlp", .micro_batches = 1, .batch = 50, .steps = 9}, "adagrad");
}

Test(replicas, divided_updates_of_tied_weights) {
    static const char *const options[] = {"shard-optimizer", "true", "clip-norm", "0.5", NULL};
    try_divided_updates((pipeline_setting){.model = "gpt_tied", .micro_batches = 2, .steps = 3}, "adamw");
    try_replicas((pipeline_setting){.model = "gpt_tied", .options = options, .micro_batches = 2, .steps = 3});
}

Test(replicas, divided_updates_in_half_precision) {
    static const char *const options[] = {"shard-optimizer", "true", "dropout", "off", "precision", "fp16",
                                          "loss-scale",      "1e9",  NULL};
    try_replicas((pipeline_setting){.model = "gpt_tied", .options = options, .micro_batches = 2, .steps = 4});
}

static const char *const together[] = {"sync-batchnorm", "true", "batchnorm", "train", "optimizer", "sgd", NULL};
static const char *const by_itself[] = {"batchnorm", "train", "optimizer", "sgd", NULL};

/* Replicas that normalise together are one with a micro-batch that is as many times as large; each by itself is another
 * run. */
static void try_common_statistics(uint32_t batch, uint32_t stages) {
    pipeline_setting s = {.model = "cnn_dynamic", .batch = batch, .micro_batches = 1, .steps = 4};
    pipeline_record whole, cut, apart;
    s.kind = &ons_generator_one_f_one_b;
    s.stages = s.devices = 1;
    s.options = by_itself;
    must(pipeline_run(&s, &whole), &s);
    s.stages = s.devices = stages;
    for (s.replicas = 2; s.replicas <= 3; ++s.replicas) {
        s.options = together;
        must(pipeline_run(&s, &cut), &s);
        s.options = by_itself;
        must(pipeline_run(&s, &apart), &s);
        cr_expect_lt(pipeline_distance(&whole, &cut), 2e-5, "%u replicas: %g", s.replicas,
                     pipeline_distance(&whole, &cut));
        cr_expect_gt(pipeline_distance(&whole, &apart), 1e-3, "%u replicas: %g", s.replicas,
                     pipeline_distance(&whole, &apart));
        pipeline_record_free(&cut);
        pipeline_record_free(&apart);
    }
    pipeline_record_free(&whole);
}

Test(replicas, common_statistics) {
    try_common_statistics(24, 1);
    try_common_statistics(24, 2);
    try_common_statistics(13, 1); /* a sample more in some of them */
}

/* Micro-batches that replicas have or have not, late messages, values that are made again. */
Test(replicas, common_statistics_are_the_same_however_they_come) {
    pipeline_setting s = {.model = "cnn_dynamic", .options = together, .micro_batches = 3, .steps = 14, .batch = 50};
    pipeline_record first, late;
    s.kind = &ons_generator_one_f_one_b;
    s.stages = s.devices = 1;
    for (s.replicas = 2; s.replicas <= 3; ++s.replicas) {
        s.late = false;
        must(pipeline_run(&s, &first), &s);
        for (s.stages = 1; s.stages <= 3; ++s.stages) {
            s.devices = s.stages;
            s.late = true;
            s.eviction = s.stages == 3 ? PIPELINE_RECOMPUTES : PIPELINE_KEEPS;
            must(pipeline_run(&s, &late), &s);
            must(pipeline_compare(&first, &late), &s);
            pipeline_record_free(&late);
        }
        s.eviction = PIPELINE_KEEPS;
        s.stages = s.devices = 1;
        pipeline_record_free(&first);
    }
}

Test(replicas, several_stages_on_a_device) {
    static const ons_generator *const kinds[] = {&ons_generator_interleaved, &ons_generator_v,
                                                 &ons_generator_zero_bubble, &ons_generator_gpipe};
    pipeline_setting s = {.model = "lenet", .micro_batches = 4, .replicas = 2, .steps = 2};
    pipeline_record whole = run_in_sequence(s);
    for (int i = 0; i < 4; ++i) {
        s.kind = kinds[i];
        s.devices = 2;
        s.stages = 2 * kinds[i]->chunks;
        compare(&s, &whole);
    }
    pipeline_record_free(&whole);
}

Test(replicas, late_messages_change_nothing) {
    pipeline_setting s = {.model = "lenet", .micro_batches = 2, .steps = 3, .late = true};
    s.kind = &ons_generator_one_f_one_b;
    s.stages = s.devices = 2;
    for (s.replicas = 2; s.replicas <= 3; ++s.replicas) {
        pipeline_record whole = run_in_sequence(s);
        for (int i = 0; i < 3; ++i) compare(&s, &whole);
        pipeline_record_free(&whole);
    }
}

/* So that the order is looked at: sums of three taken the other way round, the first and the last summand exchanged,
 * are other numbers somewhere. */
Test(replicas, the_order_of_the_sum_decides_bits) {
    pipeline_setting s = {.model = "mlp", .micro_batches = 1, .replicas = 3, .steps = 2};
    pipeline_record forth = run_in_sequence(s), back;
    s.backwards = true;
    back = run_in_sequence(s);
    ons_status *status = pipeline_compare(&forth, &back);
    cr_expect_not_null(status);
    ons_status_free(status);
    pipeline_record_free(&forth);
    pipeline_record_free(&back);
}
