/* Chains of elementwise operators on a device with discrete memory: joined to one kernel (compiled by the host's
 * compiler in NVRTC's place), joined where nothing can be compiled, and not joined at all they give the same bits; what
 * their steps hand to each other is in no plan and in no arena. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/plan/plan_input.h"
#include "planner/cost/device_profile.h"
#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/rooms/kernels/emulation/host_compiler.h"
#include "tests/rooms/training/fixture.h"

enum { STEPS = 2 };

typedef struct result {
    weights weights;
    double losses[STEPS];
    long long predicted, taken; /* bytes of the arena */
    int64_t kernels;
    uint32_t compiled; /* launches of kernels that were compiled */
} result;

/* `joined`: the graph has fused nodes. `compiles`: there is something that compiles them. */
static result train(const char *model, const char *precision, bool joined, bool compiles) {
    run r = run_golden(model);
    result found = {0};
    ons_trainer_status status;
    int64_t kernels = discrete_get_counts().kernels;
    uint32_t launches = ons_host_compiler_launches;
    setenv("ONSTAGE_FUSED", joined ? "on" : "off", 1);
    ons_host_compiler_missing = !compiles;
    set(&r, "device", "cuda");
    set(&r, "precision", precision);
    set(&r, "optimizer", "adamw");
    set(&r, "lr", "0.01");
    set(&r, "batch", "8");
    set_number(&r, "steps", STEPS);
    run_open(&r);
    for (int i = 0; i < STEPS; ++i) found.losses[i] = run_step(&r).loss;
    cr_assert(ons_trainer_get_status(r.trainer, &status) == NULL);
    found.predicted = status.predicted_bytes;
    found.taken = status.arena_bytes;
    found.weights = read_weights(&r);
    run_close(&r);
    found.kernels = discrete_get_counts().kernels - kernels;
    found.compiled = ons_host_compiler_launches - launches;
    unsetenv("ONSTAGE_FUSED");
    return found;
}

static void expect_same(const result *is, const result *should, const char *what) {
    for (int i = 0; i < STEPS; ++i)
        cr_expect(is->losses[i] == should->losses[i], "%s: loss of step %d is %.9g instead of %.9g", what, i + 1,
                  is->losses[i], should->losses[i]);
    cr_expect(weights_equal(&is->weights, &should->weights), "%s: the weights differ", what);
}

static void expect_chains(const char *model, const char *precision) {
    result apart = train(model, precision, false, true), joined = train(model, precision, true, true);
    result alone = train(model, precision, true, false);
    expect_same(&joined, &apart, "joined");
    expect_same(&alone, &apart, "joined, without a compiler");
    cr_expect(apart.compiled == 0 && alone.compiled == 0 && joined.compiled > 0, "%u launches", joined.compiled);
    cr_expect(joined.kernels < apart.kernels, "%lld kernels joined, %lld apart", (long long)joined.kernels,
              (long long)apart.kernels);
    cr_expect(joined.predicted == joined.taken && alone.predicted == alone.taken);
    cr_expect(joined.taken <= apart.taken, "the arena takes %lld bytes joined, %lld apart", joined.taken, apart.taken);
    weights_free(&apart.weights);
    weights_free(&joined.weights);
    weights_free(&alone.weights);
}

Test(fused, images, .timeout = 600) { expect_chains("resnet18", "fp32"); }
Test(fused, images_in_bf16, .timeout = 600) { expect_chains("resnet18", "bf16"); }
Test(fused, images_in_fp16, .timeout = 600) { expect_chains("resnet18", "fp16"); }
Test(fused, tokens_in_bf16, .timeout = 600) { expect_chains("gpt_decomposed", "bf16"); }

/* --------------------------------------------------------------------------------------------------------- the plan */

static ons_plan_input plan_input(const run *r, const ons_model *model, const ons_device_profile *profile, bool joined) {
    ons_plan_input input;
    ons_plan_input_options options = {
        .model = model, .config = r->config, .profile = profile, .batch = 8, .micro_batches = 1, .one_stage = true};
    setenv("ONSTAGE_FUSED", joined ? "on" : "off", 1);
    ons_status *status = ons_plan_input_make(&options, &input);
    cr_assert(status == NULL, "%s", ons_status_get_message(status));
    unsetenv("ONSTAGE_FUSED");
    return input;
}

static bool has_tensor(const ons_workload *work, const char *name) {
    for (uint32_t i = 0; i < work->tensor_count; ++i)
        if (strcmp(work->tensors[i].name, name) == 0) return true;
    return false;
}

static bool has_value(const ons_graph *graph, const char *name) {
    for (size_t i = 0; i < graph->values.count; ++i)
        if (strcmp(graph->values.items[i].name, name) == 0) return true;
    return false;
}

/* Values of the unjoined graph that some node makes, and the joined graph has not. */
static uint32_t count_gone(const ons_graph *apart, const ons_graph *joined) {
    uint32_t gone = 0;
    for (size_t i = 0; i < apart->values.count; ++i)
        gone += apart->values.items[i].producer != ONS_NONE && !has_value(joined, apart->values.items[i].name);
    return gone;
}

/* While training, normalisations take the sum and the activation behind them. */
Test(fused, steps_are_no_tensors_of_a_plan, .timeout = 300) {
    run r = run_golden("resnet18");
    set(&r, "batchnorm", "eval");
    ons_arena *arena = ons_arena_new();
    ons_model *model;
    ons_device_profile profile;
    cr_assert(ons_model_load(r.model_path, r.config, &model) == NULL);
    cr_assert(ons_device_profile_load("h200-141gb", arena, &profile) == NULL);
    ons_plan_input apart = plan_input(&r, model, &profile, false), joined = plan_input(&r, model, &profile, true);
    const ons_workload *more = &apart.costs.graph_work.work, *less = &joined.costs.graph_work.work;
    uint32_t gone = 0;
    cr_expect(count_gone(apart.stage.graph, joined.stage.graph) >= 8, "a block has a sum in front of its activation");
    for (uint32_t i = 0; i < more->tensor_count; ++i) {
        bool stays = has_tensor(less, more->tensors[i].name);
        cr_expect(stays == has_value(joined.stage.graph, more->tensors[i].name), "tensor '%s'", more->tensors[i].name);
        gone += !stays;
    }
    cr_expect(gone >= 8, "%u of %u tensors are gone", gone, more->tensor_count);
    for (uint32_t i = 0; i < less->tensor_count; ++i)
        cr_expect(has_tensor(more, less->tensors[i].name), "tensor '%s' is new", less->tensors[i].name);
    ons_plan_input_free(&apart);
    ons_plan_input_free(&joined);
    ons_model_free(model);
    ons_arena_free(arena);
    run_close(&r);
}
