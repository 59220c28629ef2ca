/* What surrounds the steps of a run on a device with discrete memory: files, validation, faults, refusals. */
#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/rooms/training/fixture.h"
#include "tests/rooms/training/wrong_label.h"

enum { STEPS = 4 };

static run start(const char *model, const char *device, const char *stages) {
    run r = run_golden(model);
    set(&r, "device", device);
    set(&r, "stages", stages);
    set(&r, "optimizer", "adamw");
    set(&r, "lr", "0.01");
    set(&r, "micro-batches", "2");
    set(&r, "shuffle", "true");
    set(&r, "threads", "1");
    set_number(&r, "steps", STEPS);
    return r;
}

/* ------------------------------------------------------------------------------------------------------- the device */

Test(device, the_host_cannot_read_it, .signal = SIGSEGV) {
    ons_device *device;
    void *memory;
    must(ons_device_new("cuda", 0, false, &device));
    must(device->allocate(device, 64, &memory));
    cr_log_info("%d", *(volatile int *)memory);
}

Test(device, the_host_cannot_write_it, .signal = SIGSEGV) {
    ons_device *device;
    void *memory;
    must(ons_device_new("cuda", 0, false, &device));
    must(device->allocate(device, 64, &memory));
    memset(memory, 1, 64);
}

Test(device, copies_run_when_somebody_waits) {
    ons_device *device;
    ons_stream *stream;
    ons_event *event;
    void *memory;
    void *pinned;
    must(ons_device_new("cuda", 0, false, &device));
    must(device->allocate(device, 64, &memory));
    must(device->allocate_host(device, 2 * sizeof(int), &pinned));
    int *from = pinned, *to = from + 1;
    *from = 7;
    *to = 0;
    must(device->stream_new(device, "test", 1, &stream));
    must(device->event_new(device, &event));
    device->copy(stream, memory, from, sizeof *from);
    device->copy(stream, to, memory, sizeof *to);
    device->event_record(stream, event);
    cr_expect_eq(*to, 0);
    device->event_synchronize(event);
    cr_expect_eq(*to, 7);
    device->stream_free(stream);
    device->event_free(event);
    device->release(device, memory, 64);
    device->release_host(device, pinned, 2 * sizeof(int));
    device->free(device);
}

/* ------------------------------------------------------------------------------------------------------------ files */

Test(life, checkpoint_and_resume, .timeout = 300) {
    run whole = start("mlp", "cuda", "1");
    run_open(&whole);
    for (int i = 0; i < STEPS; ++i) run_step(&whole);
    weights expected = read_weights(&whole);
    run_close(&whole);
    static const char *const pairs[][2] = {{"1", "3"}, {"2", "1"}};
    for (int i = 0; i < 2; ++i) {
        char folder[PATH_BYTES], name[16], command[PATH_BYTES + 16];
        snprintf(name, sizeof name, "far-%d", i);
        scratch_path(folder, name);
        for (int half = 0; half < 2; ++half) {
            run r = start("mlp", "cuda", pairs[i][half]);
            set(&r, "checkpoint", folder);
            set(&r, "checkpoint-every", "2");
            set(&r, "resume", "true");
            run_open(&r);
            for (int k = 0; k < STEPS / 2; ++k) run_step(&r);
            cr_expect_eq(ons_trainer_done(r.trainer), half == 1);
            weights found = read_weights(&r);
            cr_expect_eq(weights_equal(&found, &expected), half == 1);
            weights_free(&found);
            run_close(&r);
        }
        snprintf(command, sizeof command, "rm -r '%s'", folder);
        cr_expect_eq(system(command), 0);
    }
    weights_free(&expected);
}

static ons_evaluation evaluate(const char *device, const char *path, const char *output) {
    run r = run_golden("mlp");
    snprintf(r.model_path, sizeof r.model_path, "%s", path);
    set(&r, "device", device);
    set(&r, "rows", "0:24"); /* a batch and a half */
    if (output != NULL) set(&r, "output", output);
    must(ons_model_load(r.model_path, r.config, &r.model));
    ons_evaluation evaluation;
    must(ons_model_evaluate(r.model, r.config, NULL, NULL, &evaluation));
    run_close(&r);
    return evaluation;
}

Test(life, export_and_evaluation, .timeout = 300) {
    char out[PATH_BYTES], far_rows[PATH_BYTES], near_rows[PATH_BYTES];
    scratch_path(out, "far.onnx");
    scratch_path(far_rows, "far.npy");
    scratch_path(near_rows, "near.npy");
    run r = start("mlp", "cuda", "2");
    set(&r, "micro-batches", "1"); /* validation goes by micro-batches: the same ones as in evaluation */
    set(&r, "val-rows", "0:24");
    set(&r, "val-every", "2");
    run_open(&r);
    ons_step_report report;
    for (int i = 0; i < STEPS; ++i) report = run_step(&r);
    cr_assert(report.validated);
    must(ons_trainer_save(r.trainer, out));
    run_close(&r);
    ons_evaluation far = evaluate("cuda", out, far_rows), near = evaluate("cpu", out, near_rows);
    cr_expect(far.loss == report.validation_loss, "%.9g, the trainer had %.9g", far.loss, report.validation_loss);
    cr_expect(far.accuracy == report.validation_accuracy);
    cr_expect(fabs(far.loss - near.loss) <= 1e-5 * fabs(near.loss), "%.9g, the processor says %.9g", far.loss,
              near.loss);
    cr_expect_eq(far.accuracy, near.accuracy);
    array a = read_npy(far_rows), b = read_npy(near_rows);
    cr_assert_eq(a.bytes, b.bytes);
    for (size_t i = 0; i < a.bytes / sizeof(float); ++i)
        cr_assert(fabs((double)((float *)a.data)[i] - ((float *)b.data)[i]) <= 1e-4, "element %zu", i);
    array_free(&a);
    array_free(&b);
    unlink(out);
    unlink(far_rows);
    unlink(near_rows);
}

/* ----------------------------------------------------------------------------------------------------------- faults */

/* The last stage alone sees labels. */
Test(fault, changes_no_weight_of_any_stage, .timeout = 300) {
    static const char *const stages[] = {"1", "2", "4"};
    for (int i = 0; i < 3; ++i)
        expect_wrong_label_changes_nothing(
            (const char *const[]){"device", "cuda", "micro-batches", "2", "stages", stages[i], NULL}, stages[i]);
}

/* A program's GPU stays failed. */
static void expect_failure(const char *stages) {
    run r = start("mlp", "cuda", stages);
    run_open(&r);
    run_step(&r);
    discrete_break(20);
    ons_step_report report;
    must_fail(ons_trainer_step(r.trainer, &report), ONS_DEFECT, "the GPU failed", NULL);
    run_close(&r);
}

Test(fault, of_the_gpu_ends_the_step, .timeout = 300) { expect_failure("1"); }

Test(fault, of_the_gpu_ends_the_step_of_two_stages, .timeout = 300) { expect_failure("2"); }

/* --------------------------------------------------------------------------------------------------------- refusals */

Test(refusal, names_all_operators_without_a_kernel) {
    run r = start("lenet", "cuda", "1");
    int64_t before = discrete_get_counts().allocations;
    ons_status *status = run_try_open(&r);
    if (status == NULL) cr_skip_test("every operator of the model has a kernel by now");
    must_fail(status, ONS_UNSUPPORTED, "--device cuda", "--device cpu", "Conv (2 nodes, ", "ConvWeightGradient (",
              NULL);
    cr_expect_eq(discrete_get_counts().allocations, before);
    run_close(&r);
}

Test(refusal, of_a_cap_without_room_for_the_reserve) {
    discrete_reserve(1 << 20);
    run r = start("mlp", "cuda", "1");
    set(&r, "memory", "1MiB");
    must_fail(run_try_open(&r), ONS_OUT_OF_MEMORY, "1048576", NULL);
    run_close(&r);
    run fits = start("mlp", "cuda", "1");
    set(&fits, "memory", "68MiB");
    run_open(&fits);
    run_step(&fits);
    run_close(&fits);
    discrete_reserve(0);
}

/* Under a cap: what was taken as the arena; 0: nothing fits. */
static int64_t arena_under(int64_t cap) {
    ons_trainer_status taken = {0};
    char text[32];
    run r = start("mlp", "cuda", "1");
    snprintf(text, sizeof text, "%lld", (long long)cap);
    if (cap > 0) set(&r, "memory", text);
    ons_status *status = run_try_open(&r);
    if (status == NULL) must(ons_trainer_get_status(r.trainer, &taken));
    if (status != NULL) must_fail(status, ONS_OUT_OF_MEMORY, text, NULL);
    run_close(&r);
    return taken.arena_bytes;
}

/* What is loaded and recorded later has its place under the cap, too. */
Test(cap, leaves_the_slack) {
    enum { RESERVE = 1 << 20 };
    discrete_reserve(RESERVE);
    int64_t whole = arena_under(0), cap = whole + RESERVE + FAR_SLACK;
    cr_assert_gt(whole, 0);
    cr_expect_eq(arena_under(cap), whole);
    cr_expect_lt(arena_under(cap - 64), whole);
    discrete_reserve(0);
}

/* Two embeddings can have said it: a GPU does not tell which did. */
Test(fault, names_the_nodes_that_can_have_said_it, .timeout = 300) {
    run r = run_without_data("gpt_tied");
    array input = read_npy("tests/agreement/golden/gpt_tied/input.npy"),
          target = read_npy("tests/agreement/golden/gpt_tied/target.npy");
    input.view.dims = input.dims;
    target.view.dims = target.dims;
    ((int64_t *)input.data)[3] = 1000000;
    must(ons_config_array(r.config, "tokens", false, &input.view));
    must(ons_config_array(r.config, "target", false, &target.view));
    set(&r, "device", "cuda");
    set(&r, "steps", "1");
    run_open(&r);
    ons_step_report report;
    ons_status *status = ons_trainer_step(r.trainer, &report);
    cr_assert(status != NULL && strstr(ons_status_get_message(status), "'?'") == NULL &&
                  strstr(ons_status_get_message(status), "Gather") != NULL,
              "%s", status == NULL ? "no failure" : ons_status_get_message(status));
    must_fail(status, ONS_INVALID_DATA, "step 1, ", "node", "1000000", NULL);
    run_close(&r);
    array_free(&input);
    array_free(&target);
}
