/* Replicas on devices with discrete memory against training in sequence with the same groups of micro-batches
 * (tests/rooms/pipeline/grouped.h), on the same kernels: losses, norms, weights, states and statistics have the same
 * bits, whether replicas share a GPU or have one each with NCCL between them, and in whatever order streams run. Arenas
 * are as predicted. */
#include <criterion/criterion.h>

#include "base/status.h"
#include "planner/partition/reduce.h"
#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/fake_gpu/nccl/discrete_nccl.h"
#include "tests/rooms/pipeline/pipeline_run.h"

enum { OPTIONS_MOST = 24 };

/* The linker puts it in the place of the planner's, which would have one bucket for these models. */
static int64_t bucket_bytes;
int64_t __wrap_ons_reduce_bucket_bytes(int64_t sum_bytes); /* NOLINT */
int64_t __wrap_ons_reduce_bucket_bytes(int64_t sum_bytes) {
    return bucket_bytes > 0 ? bucket_bytes : sum_bytes + 1;
} /* NOLINT */

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, %u replicas of %u stages %s, %u micro-batches, %u more samples, seed %llu: %s",
                   s->model, s->replicas, s->stages, s->nccl ? "over NCCL" : "on one GPU", s->micro_batches, s->more,
                   (long long)bucket_bytes, (unsigned long long)s->seed, ons_status_get_message(status));
}

static pipeline_record run_in_sequence(pipeline_setting s) {
    pipeline_record whole;
    s.stages = s.devices = 1;
    s.grouped = true;
    must(pipeline_run(&s, &whole), &s);
    return whole;
}

/* Of buckets one, a few, or as many as sums. */
static void compare(const pipeline_setting *s, const pipeline_record *whole) {
    static const int64_t sizes[] = {0, 20000, 3000, 300};
    pipeline_record cut;
    bucket_bytes = sizes[(s->seed + s->nccl) % 4];
    discrete_seed(s->seed);
    must(pipeline_run(s, &cut), s);
    must(pipeline_compare(whole, &cut), s);
    pipeline_record_free(&cut);
}

static void try_stages(pipeline_setting s, uint32_t most_stages) {
    pipeline_record whole = run_in_sequence(s);
    for (s.stages = 1; s.stages <= most_stages; ++s.stages)
        for (int nccl = 0; nccl < 2; ++nccl) {
            s.devices = s.stages;
            s.nccl = nccl == 1;
            s.seed = 10 * s.replicas + s.stages;
            compare(&s, &whole);
        }
    pipeline_record_free(&whole);
}

/* Steps go beyond the end of an epoch, where the last one is shorter. */
static void try_replicas(pipeline_setting s, uint32_t most_replicas, uint32_t most_stages) {
    const char *options[OPTIONS_MOST] = {"device", "cuda"};
    for (uint32_t i = 0; s.options != NULL && s.options[i] != NULL; ++i) options[i + 2] = s.options[i];
    s.options = options;
    s.kind = &ons_generator_one_f_one_b;
    discrete_nccl_use(most_replicas * most_stages);
    for (s.replicas = 2; s.replicas <= most_replicas; ++s.replicas) try_stages(s, most_stages);
    cr_expect_null(discrete_nccl_complaint(), "%s", discrete_nccl_complaint());
}

Test(replicas, multilayer_perceptron, .timeout = 600) {
    try_replicas((pipeline_setting){.model = "mlp", .micro_batches = 1, .steps = 6}, 4, 3);
    try_replicas((pipeline_setting){.model = "mlp", .micro_batches = 2, .steps = 4}, 4, 3);
}

Test(replicas, batches_that_do_not_come_out_even, .timeout = 600) {
    try_replicas((pipeline_setting){.model = "mlp", .micro_batches = 2, .more = 3, .steps = 4}, 4, 3);
}

/* The last step of an epoch has fewer micro-batches than there are replicas. */
Test(replicas, some_without_a_sample, .timeout = 600) {
    try_replicas((pipeline_setting){.model = "mlp", .micro_batches = 1, .batch = 50, .steps = 9}, 4, 2);
    try_replicas((pipeline_setting){.model = "mlp", .micro_batches = 2, .batch = 95, .steps = 5}, 4, 2);
}

Test(replicas, running_statistics, .timeout = 600) {
    static const char *const options[] = {"batchnorm", "train", NULL};
    try_replicas(
        (pipeline_setting){.model = "cnn_dynamic", .options = options, .batch = 7, .micro_batches = 2, .steps = 2}, 3,
        2);
}

Test(replicas, tied_weights_and_dropout, .timeout = 600) {
    static const char *const options[] = {"dropout", "0.2", "clip-norm", "0.5", NULL};
    try_replicas(
        (pipeline_setting){.model = "gpt_tied", .options = options, .batch = 6, .micro_batches = 2, .steps = 2}, 3, 2);
}

/* Each replica has the states of its slices alone; where norms are asked for, sums are whole everywhere. */
static void try_divided_updates(pipeline_setting s, const char *optimizer, uint32_t most_replicas,
                                uint32_t most_stages) {
    const char *const options[] = {"shard-optimizer", "true", "optimizer", optimizer, NULL};
    s.options = options;
    s.quiet = true;
    try_replicas(s, most_replicas, most_stages);
    s.quiet = false;
    try_replicas(s, most_replicas, most_stages);
}

Test(replicas, divided_updates, .timeout = 600) {
    try_divided_updates((pipeline_setting){.model = "mlp", .micro_batches = 1, .steps = 4}, "adamw", 4, 3);
    try_divided_updates((pipeline_setting){.model = "mlp", .micro_batches = 2, .more = 3, .steps = 3}, "adam", 3, 2);
}

Test(replicas, divided_updates_without_a_sample, .timeout = 600) {
    try_divided_updates((pipeline_setting){.model = "mlp", .micro_batches = 1, .batch = 50, .steps = 9}, "adagrad", 4,
                        1);
}

Test(replicas, divided_updates_of_tied_weights, .timeout = 600) {
    static const char *const options[] = {"shard-optimizer", "true", "clip-norm", "0.5", NULL};
    try_replicas(
        (pipeline_setting){.model = "gpt_tied", .options = options, .batch = 2, .micro_batches = 1, .steps = 2}, 2, 2);
}

/* The scale of the loss is found alike by all; updates that overflow are left out by all. */
Test(replicas, half_precision, .timeout = 600) {
    static const char *const options[] = {"precision", "fp16", "loss-scale", "1e9", NULL};
    static const char *const divided[] = {"precision", "fp16", "loss-scale", "1e9", "shard-optimizer", "true", NULL};
    try_replicas((pipeline_setting){.model = "mlp", .options = options, .micro_batches = 2, .steps = 4}, 3, 2);
    try_replicas((pipeline_setting){.model = "mlp", .options = divided, .micro_batches = 2, .steps = 4}, 3, 2);
}

Test(replicas, several_stages_on_a_device, .timeout = 600) {
    static const ons_generator *const kinds[] = {&ons_generator_interleaved, &ons_generator_v,
                                                 &ons_generator_zero_bubble, &ons_generator_gpipe};
    static const char *const options[] = {"device", "cuda", NULL};
    pipeline_setting s = {.model = "mlp", .options = options, .micro_batches = 4, .replicas = 2, .steps = 2};
    discrete_nccl_use(4);
    pipeline_record whole = run_in_sequence(s);
    for (int i = 0; i < 8; ++i) {
        s.kind = kinds[i / 2];
        s.nccl = i % 2 == 1;
        s.devices = 2;
        s.stages = 2 * s.kind->chunks;
        s.seed = (uint64_t)i + 1;
        compare(&s, &whole);
    }
    pipeline_record_free(&whole);
}

#define TOGETHER "device", "cuda", "sync-batchnorm", "true", "batchnorm", "train", "optimizer", "sgd"
static const char *const together[] = {TOGETHER, NULL};
static const char *const by_itself[] = {"device", "cuda", "batchnorm", "train", "optimizer", "sgd", NULL};

/* Replicas that normalise together are one with a micro-batch that is as many times as large, but for roundings; each
 * by itself is another run. */
static void expect_common_statistics(const pipeline_setting *s, const pipeline_record *cut) {
    pipeline_setting one = *s;
    pipeline_record whole, apart;
    one.options = by_itself;
    one.stages = one.devices = 1;
    must(pipeline_run(&one, &apart), &one);
    one.replicas = 0;
    must(pipeline_run(&one, &whole), &one);
    cr_expect_lt(pipeline_distance(&whole, cut), 2e-5, "%u replicas: %g", s->replicas, pipeline_distance(&whole, cut));
    cr_expect_gt(pipeline_distance(&whole, &apart), 1e-3, "%u replicas: %g", s->replicas,
                 pipeline_distance(&whole, &apart));
    pipeline_record_free(&whole);
    pipeline_record_free(&apart);
}

/* With the same bits however messages go, and in whatever order streams run. */
static void try_common_statistics(pipeline_setting s, uint32_t most_stages, bool is_one_batch) {
    pipeline_record first;
    s.kind = &ons_generator_one_f_one_b;
    s.stages = s.devices = 1;
    s.nccl = false;
    bucket_bytes = 0;
    discrete_nccl_use(s.replicas * most_stages);
    must(pipeline_run(&s, &first), &s);
    if (is_one_batch) expect_common_statistics(&s, &first);
    for (s.stages = 1; s.stages <= most_stages; ++s.stages)
        for (int nccl = 0; nccl < 2; ++nccl) {
            s.devices = s.stages;
            s.nccl = nccl == 1;
            s.seed = 10 * s.stages + s.nccl + 1;
            s.eviction = s.stages == 2 ? PIPELINE_RECOMPUTES : PIPELINE_KEEPS;
            compare(&s, &first);
        }
    pipeline_record_free(&first);
    cr_expect_null(discrete_nccl_complaint(), "%s", discrete_nccl_complaint());
}

Test(replicas, common_statistics, .timeout = 600) {
    pipeline_setting s = {.model = "cnn_dynamic", .options = together, .micro_batches = 1, .steps = 2};
    s.replicas = 2;
    s.batch = 5; /* a sample more in one of them */
    try_common_statistics(s, 2, true);
    s.replicas = 3;
    s.batch = 6;
    try_common_statistics(s, 1, true);
}

/* Micro-batches that replicas have or have not, and as many as keep stages waiting for each other. */
Test(replicas, common_statistics_of_micro_batches, .timeout = 600) {
    static const char *const two[] = {TOGETHER, "rows", "0:9", NULL}, *const three[] = {TOGETHER, "rows", "0:5", NULL};
    pipeline_setting s = {.model = "cnn_dynamic", .options = two, .replicas = 2, .micro_batches = 3, .steps = 2};
    s.batch = 6;
    try_common_statistics(s, 3, false);
    s.options = three;
    s.replicas = 3;
    s.micro_batches = 1;
    s.batch = 3;
    try_common_statistics(s, 2, false);
}

/* So that the order is looked at: sums taken the other way round are other numbers somewhere. */
Test(replicas, the_order_of_the_sum_decides_bits, .timeout = 300) {
    static const char *const options[] = {"device", "cuda", NULL};
    pipeline_setting s = {.model = "mlp", .options = options, .micro_batches = 1, .replicas = 3, .steps = 2};
    pipeline_record forth = run_in_sequence(s), back;
    s.backwards = true;
    back = run_in_sequence(s);
    ons_status *status = pipeline_compare(&forth, &back);
    cr_expect_not_null(status);
    ons_status_free(status);
    pipeline_record_free(&forth);
    pipeline_record_free(&back);
}
