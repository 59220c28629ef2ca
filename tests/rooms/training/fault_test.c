/* Bad data, arrays that do not fit, and losses that are no numbers: one clear error, with the step and the place. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rooms/training/fixture.h"
#include "tests/rooms/training/wrong_label.h"

/* mlp: x float32[batch,20], targets int64 of 10 classes. */
typedef struct data {
    run r;
    array input, target;
} data;

static data open_data(void) {
    data d = {.r = run_without_data("mlp")};
    d.input = read_npy("tests/agreement/golden/mlp/input.npy");
    d.target = read_npy("tests/agreement/golden/mlp/target.npy");
    d.input.view.dims = d.input.dims;
    d.target.view.dims = d.target.dims;
    set(&d.r, "optimizer", "sgd");
    set(&d.r, "lr", "0.01");
    set(&d.r, "steps", "11"); /* not all samples: their labels are looked at by the steps alone */
    return d;
}

static ons_status *start(data *d) {
    /* The copy of a struct has moved the dims. */
    d->input.view.dims = d->input.dims;
    d->target.view.dims = d->target.dims;
    must(ons_config_array(d->r.config, "x", false, &d->input.view));
    must(ons_config_array(d->r.config, "target", false, &d->target.view));
    return run_try_open(&d->r);
}

static void close_data(data *d) {
    run_close(&d->r);
    array_free(&d->input);
    array_free(&d->target);
}

static void expect_refused(data *d, ons_status_code code, const char *word, const char *other) {
    must_fail(start(d), code, word, other, NULL);
    close_data(d);
}

/* Row 40 is used in step 3. */
static void expect_fault(data *d, ons_status_code code, const char *word) {
    must(start(d));
    run_step(&d->r);
    run_step(&d->r);
    ons_step_report report;
    must_fail(ons_trainer_step(d->r.trainer, &report), code, "step 3", word, NULL);
    close_data(d);
}

Test(fault, label_too_large) {
    data d = open_data();
    ((int64_t *)d.target.data)[40] = 10;
    expect_fault(&d, ONS_INVALID_DATA, "10");
}

Test(fault, label_negative) {
    data d = open_data();
    ((int64_t *)d.target.data)[40] = -7;
    expect_fault(&d, ONS_INVALID_DATA, "-7");
}

Test(fault, label_in_the_second_micro_batch) {
    data d = open_data();
    ((int64_t *)d.target.data)[44] = 12345;
    set(&d.r, "micro-batches", "2");
    expect_fault(&d, ONS_INVALID_DATA, "12345");
}

/* A run that takes every sample looks at their labels before it begins. */
Test(fault, label_of_a_whole_epoch) {
    data d = open_data();
    ((int64_t *)d.target.data)[191] = 10;
    set(&d.r, "steps", "12");
    expect_refused(&d, ONS_INVALID_DATA, "sample 191 has the target 10", "classes are 0 to 9");
}

Test(fault, weights_stay) { expect_wrong_label_changes_nothing((const char *const[]){NULL}, "one stage"); }

Test(fault, token_out_of_range) {
    run r = run_without_data("dynamo_gpt");
    array input = read_npy("tests/agreement/golden/dynamo_gpt/input.npy"),
          target = read_npy("tests/agreement/golden/dynamo_gpt/target.npy");
    input.view.dims = input.dims;
    target.view.dims = target.dims;
    ((int64_t *)input.data)[3] = 65;
    must(ons_config_array(r.config, "tokens", false, &input.view));
    must(ons_config_array(r.config, "target", false, &target.view));
    run_open(&r);
    ons_step_report report;
    must_fail(ons_trainer_step(r.trainer, &report), ONS_INVALID_DATA, "step 1", "65", NULL);
    run_close(&r);
    array_free(&input);
    array_free(&target);
}

Test(fault, input_is_not_a_number) {
    data d = open_data();
    ((float *)d.input.data)[40 * 20 + 3] = NAN;
    expect_fault(&d, ONS_DIVERGED, "loss");
}

Test(fault, input_is_infinite) {
    data d = open_data();
    ((float *)d.input.data)[40 * 20 + 3] = INFINITY;
    expect_fault(&d, ONS_DIVERGED, "loss");
}

/* Overwrites the first number of the first initialiser in a copy of the file. */
static void write_broken_model(const char *path) {
    contents file = read_file("tests/agreement/golden/mlp/model.onnx");
    run r = run_golden("mlp");
    run_open(&r);
    ons_inspection *inspection;
    must(ons_model_inspect(r.model, r.config, &inspection));
    int64_t elements = inspection->parameters[0].elements;
    float *first = malloc((size_t)elements * sizeof *first);
    cr_assert_not_null(first);
    must(ons_trainer_read(r.trainer, inspection->parameters[0].name, first, (size_t)elements));
    ons_inspection_free(inspection);
    run_close(&r);
    unsigned char *at = memmem(file.bytes, file.size, first, 32);
    cr_assert_not_null(at);
    memcpy(at, &(float){NAN}, sizeof(float));
    free(first);
    FILE *out = fopen(path, "wb");
    cr_assert_not_null(out);
    cr_assert_eq(fwrite(file.bytes, 1, file.size, out), file.size);
    cr_assert_eq(fclose(out), 0);
    free(file.bytes);
}

Test(fault, weight_is_not_a_number) {
    data d = open_data();
    scratch_path(d.r.model_path, "broken.onnx");
    write_broken_model(d.r.model_path);
    must(start(&d));
    ons_step_report report;
    must_fail(ons_trainer_step(d.r.trainer, &report), ONS_DIVERGED, "step 1", NULL);
    unlink(d.r.model_path);
    close_data(&d);
}

/* Training that diverges leaves the last good checkpoint, from which it can be resumed. */
Test(fault, diverged_keeps_the_checkpoint) {
    char folder[PATH_BYTES], path[PATH_BYTES * 2];
    scratch_path(folder, "diverged");
    for (int round = 0; round < 2; ++round) {
        data d = open_data();
        ((float *)d.input.data)[40 * 20] = NAN;
        set(&d.r, "checkpoint", folder);
        set(&d.r, "checkpoint-every", "1");
        set(&d.r, "resume", "true");
        must(start(&d));
        ons_trainer_status status;
        must(ons_trainer_get_status(d.r.trainer, &status));
        cr_assert_eq(status.step, 2 * round);
        ons_step_report report;
        for (int i = 0; i < 2 - 2 * round; ++i) run_step(&d.r);
        must_fail(ons_trainer_step(d.r.trainer, &report), ONS_DIVERGED, "step 3", NULL);
        close_data(&d);
    }
    snprintf(path, sizeof path, "rm -r '%s'", folder);
    cr_assert_eq(system(path), 0);
}

/* ------------------------------------------------------------------------------------------------- types and shapes */

/* Integers are fed to a float input as they are (images of bytes); a float is no number of a token. */
Test(fault, input_of_wrong_type) {
    run r = run_without_data("dynamo_gpt");
    static const float tokens[8 * 24];
    static const int64_t targets[8 * 24];
    ons_array_view input = {ONS_ELEMENT_FLOAT32, 2, (const int64_t[]){8, 24}, tokens};
    ons_array_view target = {ONS_ELEMENT_INT64, 2, (const int64_t[]){8, 24}, targets};
    must(ons_config_array(r.config, "tokens", false, &input));
    must(ons_config_array(r.config, "target", false, &target));
    must_fail(run_try_open(&r), ONS_INVALID_DATA, "'tokens'", "float32", "int64", NULL);
    run_close(&r);
}

Test(fault, target_of_wrong_type) {
    data d = open_data();
    static float classes[192];
    free(d.target.data);
    d.target.data = NULL;
    d.target.view.data = classes;
    d.target.view.element_type = ONS_ELEMENT_FLOAT32;
    expect_refused(&d, ONS_INVALID_DATA, "target", "int64");
}

Test(fault, class_target_for_values) {
    run r = run_without_data("mlp_frozen");
    array input = read_npy("tests/agreement/golden/mlp_frozen/input.npy");
    input.view.dims = input.dims;
    static const int64_t classes[192];
    ons_array_view target = {ONS_ELEMENT_INT64, 1, (const int64_t[]){192}, classes};
    must(ons_config_array(r.config, "x", false, &input.view));
    must(ons_config_array(r.config, "target", false, &target));
    must_fail(run_try_open(&r), ONS_INVALID_DATA, "target", NULL);
    run_close(&r);
    array_free(&input);
}

Test(fault, input_of_wrong_width) {
    data d = open_data();
    d.input.dims[1] = 19;
    expect_refused(&d, ONS_INVALID_DATA, "'x'", "19");
}

Test(fault, input_of_wrong_rank) {
    data d = open_data();
    d.input.view.rank = 1;
    expect_refused(&d, ONS_INVALID_DATA, "'x'", "20");
}

Test(fault, counts_of_samples_differ) {
    data d = open_data();
    d.target.dims[0] = 191;
    expect_refused(&d, ONS_INVALID_DATA, "191", "192");
}

Test(fault, target_of_wrong_shape) {
    data d = open_data();
    d.target.view.rank = 2;
    d.target.dims[0] = 64;
    d.target.dims[1] = 3;
    d.input.dims[0] = 64;
    expect_refused(&d, ONS_INVALID_DATA, "target", "");
}

Test(fault, no_samples) {
    data d = open_data();
    d.input.dims[0] = d.target.dims[0] = 0;
    expect_refused(&d, ONS_INVALID_DATA, "sample", "");
}

Test(fault, unknown_input) {
    data d = open_data();
    d.input.view.dims = d.input.dims;
    must(ons_config_array(d.r.config, "y", false, &d.input.view));
    expect_refused(&d, ONS_INVALID_ARGUMENT, "'y'", "'x'");
}

Test(fault, missing_input) {
    run r = run_without_data("mlp");
    static const int64_t classes[16];
    ons_array_view target = {ONS_ELEMENT_INT64, 1, (const int64_t[]){16}, classes};
    must(ons_config_array(r.config, "target", false, &target));
    must_fail(run_try_open(&r), ONS_INVALID_ARGUMENT, "'x'", "--input", NULL);
    run_close(&r);
}

Test(fault, no_loss_and_unknown_options) {
    ons_config *config;
    must(ons_config_new(&config));
    must_fail(ons_config_set(config, "learning-rate", "1"), ONS_INVALID_ARGUMENT, "learning-rate", NULL);
    must_fail(ons_config_set(config, "lr", "fast"), ONS_INVALID_ARGUMENT, "lr", "fast", NULL);
    must_fail(ons_config_set(config, "micro-batches", "0"), ONS_INVALID_ARGUMENT, "micro-batches", NULL);
    must_fail(ons_config_set(config, "loss", "hinge"), ONS_INVALID_ARGUMENT, "hinge", "cross_entropy", NULL);
    must_fail(ons_config_set(config, "device", "cdua"), ONS_INVALID_ARGUMENT, "'cdua' is not one of cpu, cuda",
              "did you mean 'cuda'", NULL);
    ons_config_free(config);
}
