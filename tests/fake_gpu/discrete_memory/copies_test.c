/* Stages with copies on devices with discrete memory against training in sequence with the same groups
 * (tests/rooms/pipeline/grouped.h), on the same kernels: the bits are the same, whether devices share a GPU or have one
 * each with NCCL between them. Arenas are as predicted. What copies on GPUs cannot do is refused by the node's name. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/status.h"
#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/fake_gpu/nccl/discrete_nccl.h"
#include "tests/rooms/pipeline/pipeline_run.h"

enum { STAGES_MOST = 3, OPTIONS_MOST = 24, GPUS = 6 };

static const uint32_t all_copies[][STAGES_MOST] = {{2, 1}, {1, 2}, {2, 2}, {3, 1, 2}};
enum { KINDS = sizeof all_copies / sizeof *all_copies };

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, %u stages %s with %u, %u and %u copies, %u micro-batches: %s", s->model, s->stages,
                   s->nccl ? "over NCCL" : "on one GPU", s->copies[0], s->copies[1], s->copies[2], s->micro_batches,
                   ons_status_get_message(status));
}

static void compare(const pipeline_setting *s, const pipeline_record *whole) {
    pipeline_record cut;
    discrete_seed(s->seed);
    must(pipeline_run(s, &cut), s);
    must(pipeline_compare(whole, &cut), s);
    pipeline_record_free(&cut);
}

static pipeline_setting on_gpus(pipeline_setting s, const char **options) {
    options[0] = "device";
    options[1] = "cuda";
    for (uint32_t i = 0; s.options != NULL && s.options[i] != NULL; ++i) options[i + 2] = s.options[i];
    s.options = options;
    return s;
}

static void try_copies(pipeline_setting s, uint32_t kinds) {
    const char *options[OPTIONS_MOST] = {NULL};
    pipeline_record whole;
    s = on_gpus(s, options);
    s.kind = &ons_generator_one_f_one_b;
    discrete_nccl_use(GPUS);
    for (uint32_t i = 0; i < kinds; ++i) {
        s.copies = all_copies[i];
        s.stages = s.copies[2] > 0 ? 3 : 2;
        s.seed = i + 1;
        s.grouped = true;
        must(pipeline_run(&s, &whole), &s);
        s.grouped = false;
        for (int nccl = 0; nccl < 2; ++nccl) {
            s.nccl = nccl == 1;
            compare(&s, &whole);
        }
        s.nccl = false;
        pipeline_record_free(&whole);
    }
    cr_expect_null(discrete_nccl_complaint(), "%s", discrete_nccl_complaint());
}

Test(copies, multilayer_perceptron, .timeout = 600) {
    try_copies((pipeline_setting){.model = "mlp", .micro_batches = 6, .steps = 4}, KINDS);
}

Test(copies, batches_that_do_not_come_out_even, .timeout = 600) {
    try_copies((pipeline_setting){.model = "mlp", .micro_batches = 6, .batch = 50, .steps = 9}, KINDS);
}

Test(copies, some_without_a_sample, .timeout = 600) {
    try_copies((pipeline_setting){.model = "mlp", .micro_batches = 6, .batch = 93, .steps = 5}, KINDS);
}

Test(copies, tied_weights_and_dropout, .timeout = 600) {
    static const char *const options[] = {"dropout", "0.2", "clip-norm", "0.5", NULL};
    try_copies((pipeline_setting){.model = "gpt_tied", .options = options, .batch = 4, .micro_batches = 2, .steps = 2},
               3);
}

Test(copies, half_precision, .timeout = 600) {
    static const char *const options[] = {"precision", "fp16", "loss-scale", "1e9", NULL};
    try_copies((pipeline_setting){.model = "mlp", .options = options, .micro_batches = 6, .steps = 4}, KINDS);
}

/* Its two stages on a device share the GPU with all others. */
Test(copies, chimera, .timeout = 600) {
    static const uint32_t two_of_each[] = {2, 2, 2, 2};
    const char *options[OPTIONS_MOST] = {NULL};
    pipeline_setting s = {.model = "mlp", .batch = 30, .seed = 1, .steps = 8};
    s = on_gpus(s, options);
    for (s.stages = s.micro_batches = 2; s.stages <= 4; s.stages = s.micro_batches = 2 * s.stages) {
        pipeline_record whole, cut;
        s.copies = two_of_each;
        s.grouped = true;
        cr_assert_null(pipeline_run(&s, &whole));
        s.copies = NULL;
        s.grouped = false;
        s.kind = &ons_generator_chimera;
        discrete_seed(s.seed);
        cr_assert_null(pipeline_run(&s, &cut));
        cr_expect_null(pipeline_compare(&whole, &cut), "%u stages", s.stages);
        pipeline_record_free(&whole);
        pipeline_record_free(&cut);
    }
}

Test(copies, running_statistics_are_refused, .timeout = 600) {
    static const char *const train[] = {"batchnorm", "train", NULL};
    const char *options[OPTIONS_MOST] = {NULL};
    pipeline_setting s = {.model = "cnn_dynamic", .options = train, .batch = 4, .micro_batches = 2, .steps = 1};
    pipeline_record record;
    s = on_gpus(s, options);
    s.copies = all_copies[0];
    s.stages = 2;
    ons_status *status = pipeline_run(&s, &record);
    cr_assert_not_null(status);
    cr_expect_eq(ons_status_get_code(status), ONS_UNSUPPORTED);
    cr_expect_not_null(strstr(ons_status_get_message(status), "keeps running statistics"), "%s",
                       ons_status_get_message(status));
    ons_status_free(status);
}
