/* `onstage profile --device cuda` on a device with discrete memory, by its own clock. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/rooms/training/fixture.h"

enum { RESERVE = 3 << 20, TOTAL = 16 << 20 };

static run prepare(const char *model) {
    run r = run_golden(model);
    discrete_total(TOTAL); /* small arrays: products of them are loops here */
    discrete_reserve(RESERVE);
    set(&r, "device", "cuda");
    set(&r, "optimizer", "adamw");
    set(&r, "cache", "false");
    set(&r, "repetitions", "3");
    must(ons_model_load(r.model_path, r.config, &r.model));
    return r;
}

static ons_profile *measure(const run *r) {
    ons_profile *profile;
    must(ons_model_profile(r->model, r->config, NULL, NULL, &profile));
    return profile;
}

static void expect_times(const ons_profile *p) {
    double sum = 0;
    bool phases[4] = {false};
    static const char *const names[] = {"forward", "input gradient", "weight gradient", "update"};
    cr_assert_gt(p->node_count, 10);
    for (size_t i = 0; i < p->node_count; ++i) {
        cr_expect_gt(p->nodes[i].seconds, 0, "%s", p->nodes[i].name);
        sum += p->nodes[i].seconds;
        for (int k = 0; k < 4; ++k) phases[k] = phases[k] || strcmp(p->nodes[i].phase, names[k]) == 0;
    }
    for (int k = 0; k < 4; ++k) cr_expect(phases[k], "no node of phase %s", names[k]);
    cr_expect(sum > 0 && p->step_seconds > 0); /* how they compare depends on what else the machine does */
    cr_expect_gt(p->feed_seconds, 0);
    cr_expect_geq(p->launch_seconds, 0);
}

Test(profile, times_every_node_and_writes_a_device, .timeout = 300) {
    char path[PATH_BYTES];
    ons_json *file;
    run r = prepare("mlp");
    ons_profile *p = measure(&r);
    expect_times(p);
    cr_expect_eq(discrete_get_counts().recordings, 1);
    cr_expect_geq(discrete_get_counts().repetitions, 3, "whole steps are repeated as the trainer does it");
    cr_expect(strncmp(p->device, "a device with discrete memory", 12) == 0, "%s", p->device);
    scratch_path(path, "far-profile.json");
    must(ons_profile_write(p, path));
    contents text = read_file(path);
    must(ons_json_parse((const char *)text.bytes, text.size, &file));
    const ons_json *device = ons_json_find(file, "device"), *flops = ons_json_find(device, "matrix_flops");
    /* What a run needs beside its arena: plans leave room for all of it. */
    cr_expect_eq(ons_json_find(device, "reserve_bytes")->valueint, RESERVE + TOTAL / FAR_SLACK_PART);
    cr_expect_eq(ons_json_find(device, "memory_bytes")->valueint, TOTAL);
    cr_expect_str_eq(ons_json_find(device, "kind")->valuestring, "gpu");
    static const char *const precisions[] = {"fp32", "fp16", "bf16"};
    for (int i = 0; i < 3; ++i) cr_expect_gt(ons_json_find(flops, precisions[i])->valuedouble, 0);
    cr_expect(strstr(p->notes, "both at once") != NULL);
    ons_json_free(file);
    free(text.bytes);
    ons_profile_free(p);
    run_close(&r);
    /* It is what plans are made with. */
    run planned = run_golden("mlp");
    set(&planned, "device", "cuda");
    set(&planned, "stages", "2");
    set(&planned, "micro-batches", "2");
    set(&planned, "profile", path);
    set(&planned, "steps", "1");
    run_open(&planned);
    run_step(&planned);
    run_close(&planned);
    unlink(path);
}

Test(profile, of_convolutions, .timeout = 300) {
    run r = prepare("cnn_dynamic");
    discrete_refuse_recordings(true); /* steps are put on the stream each time then */
    ons_profile *p = measure(&r);
    expect_times(p);
    cr_expect_eq(discrete_get_counts().repetitions, 0);
    cr_expect(strstr(p->notes, "not measured as CUDA graphs") != NULL, "%s", p->notes);
    ons_profile_free(p);
    run_close(&r);
}

Test(profile, without_room_to_hold_the_stream, .timeout = 300) {
    run r = prepare("mlp");
    set(&r, "memory", "7MiB"); /* arena, reserve and slack, not 16 MiB more */
    ons_profile *p = measure(&r);
    expect_times(p);
    ons_profile_free(p);
    run_close(&r);
}

/* Made-up data will do for numbers; a target out of range is found on the device, and told with its node. */
Test(profile, tells_a_fault_of_the_data, .timeout = 300) {
    run r = run_without_data("mlp");
    array input = read_npy("tests/agreement/golden/mlp/input.npy"),
          target = read_npy("tests/agreement/golden/mlp/target.npy");
    input.view.dims = input.dims;
    target.view.dims = target.dims;
    ((int64_t *)target.data)[0] = 1000;
    must(ons_config_array(r.config, "x", false, &input.view));
    must(ons_config_array(r.config, "target", false, &target.view));
    discrete_total(TOTAL);
    set(&r, "device", "cuda");
    set(&r, "cache", "false");
    must(ons_model_load(r.model_path, r.config, &r.model));
    ons_profile *profile;
    must_fail(ons_model_profile(r.model, r.config, NULL, NULL, &profile), ONS_INVALID_DATA, "node 'loss", "1000", NULL);
    run_close(&r);
    array_free(&input);
    array_free(&target);
}
