/* `--device cuda` on a device with discrete memory (discrete_device.h): any access of the host to the device's memory
 * crashes these tests. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/rooms/training/fixture.h"

static void set_flags(const run *r, const ons_json *flags) {
    int size = cJSON_GetArraySize(flags);
    for (int i = 0; i < size; ++i) {
        const cJSON *next = i + 1 < size ? cJSON_GetArrayItem(flags, i + 1) : NULL;
        bool has_value = next != NULL && strncmp(next->valuestring, "--", 2) != 0;
        set(r, cJSON_GetArrayItem(flags, i)->valuestring + 2, has_value ? next->valuestring : "true");
        i += has_value;
    }
}

static run discrete_golden(const char *model) {
    run r = run_golden(model);
    set(&r, "device", "cuda");
    return r;
}

static bool close_to(double is, double should, double tolerance) {
    return fabs(is - should) <= tolerance * fmax(fabs(should), 1e-3);
}

/* ----------------------------------------------------------------------------------------------------------- losses */

typedef struct golden_run {
    char model[32];
    int run, steps;
    char precision[8];
} golden_run;

ParameterizedTestParameters(discrete_memory, golden) {
    static golden_run runs[] = {
        {"mlp", 0, 12, "fp32"},           {"mlp", 1, 12, "fp32"},        {"mlp", 2, 12, "fp32"},
        {"mlp_frozen", 0, 12, "fp32"},    {"mlp_frozen", 1, 12, "fp32"}, {"gpt_tied", 0, 3, "fp32"},
        {"gpt_tied", 3, 3, "fp32"},       {"dynamo_gpt", 1, 3, "fp32"},  {"gpt_decomposed", 2, 3, "fp32"},
        {"lenet", 0, 2, "fp32"},          {"lenet", 1, 2, "fp32"},       {"resnet18", 0, 2, "fp32"},
        {"cnn_dynamic", 0, 2, "fp32"},    {"cnn_dynamic", 1, 2, "fp32"}, {"dynamo_cnn", 0, 2, "fp32"},
        {"mlp", 0, 12, "bf16"},           {"mlp", 2, 12, "fp16"},        {"gpt_tied", 3, 3, "bf16"},
        {"gpt_decomposed", 2, 3, "bf16"}, {"dynamo_gpt", 1, 3, "fp16"},  {"cnn_dynamic", 0, 2, "bf16"},
        {"resnet18", 0, 1, "bf16"},       {"lenet", 0, 2, "fp16"},       {"resnet18", 0, 2, "tf32"},
        {"cnn_dynamic", 1, 2, "tf32"},    {"dynamo_cnn", 0, 2, "tf32"},
    };
    return cr_make_param_array(golden_run, runs, sizeof runs / sizeof runs[0], NULL);
}

static void expect_golden(const golden_run *param) {
    ons_json *golden = read_golden(param->model);
    const ons_json *trace = cJSON_GetArrayItem(ons_json_find(golden, "runs"), param->run);
    const cJSON *losses = ons_json_find(trace, "losses");
    run r = discrete_golden(param->model);
    char log[PATH_BYTES];
    scratch_path(log, "log");
    set_flags(&r, ons_json_find(trace, "flags"));
    set(&r, "precision", param->precision);
    if (strcmp(param->precision, "fp16") == 0) set(&r, "loss-scale", "256");
    /* Products by TF32 are exact here: those runs show that channels last change nothing. */
    bool full = strcmp(param->precision, "fp32") == 0 || strcmp(param->precision, "tf32") == 0;
    set_number(&r, "steps", ons_json_find(golden, "steps")->valueint);
    set(&r, "log-json", log);
    set(&r, "log-grad-norms", "true");
    run_open(&r);
    for (int i = 0; i < param->steps; ++i) {
        double is = run_step(&r).loss, should = cJSON_GetArrayItem(losses, i)->valuedouble;
        cr_assert(close_to(is, should, full ? 1e-4 : 1e-2),
                  "%s run %d in %s: loss of step %d is %.8g, PyTorch has %.8g", param->model, param->run,
                  param->precision, i + 1, is, should);
    }
    run_close(&r);
    log_lines lines = read_log(log);
    const cJSON *should;
    double norm = ons_json_find(trace, "grad_norm")->valuedouble;
    cJSON_ArrayForEach(should, ons_json_find(trace, "grad_norms")) {
        const ons_json *is = ons_json_find(ons_json_find(lines.items[0], "grad_norms"), should->string);
        /* Roundings in half types are seen against the whole gradient. */
        bool near = is != NULL && (full ? close_to(is->valuedouble, should->valuedouble, 1e-3)
                                        : fabs(is->valuedouble - should->valuedouble) <= 1e-2 * norm);
        cr_assert(near, "%s run %d in %s: gradient norm of '%s' is %.8g, PyTorch has %.8g", param->model, param->run,
                  param->precision, should->string, is == NULL ? NAN : is->valuedouble, should->valuedouble);
    }
    log_free(&lines);
    ons_json_free(golden);
    cr_assert_gt(discrete_get_counts().kernels, 0);
}

ParameterizedTest(golden_run *param, discrete_memory, golden, .timeout = 300) { expect_golden(param); }

/* Where cuBLASLt has no epilogue, kernels behind the product do the same. */
Test(discrete_memory, golden_without_epilogues, .timeout = 600) {
    static const golden_run runs[] = {
        {"gpt_decomposed", 2, 3, "fp32"}, {"gpt_decomposed", 2, 3, "bf16"}, {"dynamo_gpt", 1, 3, "fp16"}};
    setenv("ONSTAGE_CUBLASLT_EPILOGUES", "off", 1);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; ++i) expect_golden(&runs[i]);
}

/* ---------------------------------------------------------------------------------------------------- the same bits */

typedef struct result {
    weights weights;
    double losses[8];
    int64_t swapped, again;
} result;

enum { STEPS = 2 };

/* `options`: pairs, NULL ends them. */
static result train(const char *model, const char *const *options, uint64_t seed) {
    run r = discrete_golden(model);
    result found = {.swapped = 0};
    discrete_seed(seed);
    set(&r, "optimizer", "adamw");
    set(&r, "lr", "0.01");
    set_number(&r, "steps", STEPS);
    for (; *options != NULL; options += 2) set(&r, options[0], options[1]);
    run_open(&r);
    for (int i = 0; i < STEPS; ++i) found.losses[i] = run_step(&r).loss;
    for (int64_t i = 0; i < ons_trainer_stage_count(r.trainer); ++i) {
        ons_stage_report report;
        must(ons_trainer_get_stage(r.trainer, i, &report));
        found.swapped += report.swapped_bytes;
        found.again += report.recomputed_bytes;
    }
    found.weights = read_weights(&r);
    run_close(&r);
    return found;
}

static void expect_same(const result *is, const result *should, const char *what) {
    for (int i = 0; i < STEPS; ++i)
        cr_expect(is->losses[i] == should->losses[i], "%s: loss of step %d is %.9g instead of %.9g", what, i + 1,
                  is->losses[i], should->losses[i]);
    cr_expect(weights_equal(&is->weights, &should->weights), "%s: the weights differ", what);
}

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void expect_stages_in(const char *precision, const char *model, const char *batch, const char *micro_batches,
                             uint64_t seeds) {
#define SHARED "batch", batch, "micro-batches", micro_batches, "precision", precision
    result whole = train(model, OPTIONS(SHARED), 1);
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        result two = train(model, OPTIONS(SHARED, "stages", "2"), seed);
        result four = train(model, OPTIONS(SHARED, "stages", "4", "pipeline", "gpipe"), seed + 100);
#undef SHARED
        expect_same(&two, &whole, "2 stages");
        expect_same(&four, &whole, "4 stages");
        weights_free(&two.weights);
        weights_free(&four.weights);
    }
    weights_free(&whole.weights);
}

static void expect_stages(const char *model, const char *batch, const char *micro_batches, uint64_t seeds) {
    expect_stages_in("fp32", model, batch, micro_batches, seeds);
}

Test(discrete_memory, stages, .timeout = 600) { expect_stages("mlp", "16", "4", 5); }

Test(discrete_memory, stages_that_share_weights, .timeout = 600) { expect_stages("gpt_tied", "8", "2", 1); }

/* Layers are joined with Gelu and its gradient, which a cut may part. */
Test(discrete_memory, stages_of_joined_layers, .timeout = 600) { expect_stages("gpt_decomposed", "8", "2", 1); }

Test(discrete_memory, stages_of_joined_layers_in_bf16, .timeout = 600) {
    expect_stages_in("bf16", "gpt_decomposed", "8", "2", 1);
}

/* Running statistics of BatchNorm stay with their stage. */
Test(discrete_memory, stages_of_convolutions, .timeout = 600) { expect_stages("cnn_dynamic", "8", "2", 1); }

/* Half types: filters are cast and laid out once a step, where they are read; messages are channels last. */
Test(discrete_memory, stages_with_channels_last, .timeout = 600) {
    expect_stages_in("bf16", "cnn_dynamic", "8", "2", 1);
}

/* Two stages on each of two devices, gradients whole and apart: what a device sends and takes belongs to several. */
Test(discrete_memory, several_stages_on_a_device, .timeout = 600) {
    static const char *const schedules[] = {"interleaved", "looped", "v"};
#define SHARED "batch", "16", "micro-batches", "4"
    result whole = train("mlp", OPTIONS(SHARED), 1);
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; ++i) {
        result parts = train("mlp", OPTIONS(SHARED, "stages", "4", "devices", "2", "pipeline", schedules[i]), 7 + i);
        expect_same(&parts, &whole, schedules[i]);
        weights_free(&parts.weights);
    }
    result apart = train("mlp", OPTIONS(SHARED, "stages", "2", "pipeline", "zb-h1"), 11);
#undef SHARED
    expect_same(&apart, &whole, "gradients apart");
    weights_free(&apart.weights);
    weights_free(&whole.weights);
}

/* A micro-batch's gradients come from older weights, which follows from schedule and stages alone. */
Test(discrete_memory, asynchronous, .timeout = 600) {
    const char *const *options =
        OPTIONS("micro-batches", "4", "stages", "3", "pipeline", "pipedream-async", "optimizer", "sgd");
    result first = train("mlp", options, 1);
    for (uint64_t seed = 2; seed <= 5; ++seed) {
        result again = train("mlp", options, seed);
        expect_same(&again, &first, "another order of streams");
        weights_free(&again.weights);
    }
    weights_free(&first.weights);
}

/* Nodes that are one launch against a launch for each: updates, sums of squares, sums over micro-batches. */
static void expect_together(const char *model, const char *const *options) {
    int64_t kernels[2];
    result results[2];
    for (int off = 0; off < 2; ++off) {
        if (off == 1) cr_assert_eq(setenv("ONSTAGE_CUDA_TOGETHER", "off", 1), 0);
        int64_t before = discrete_get_counts().kernels;
        results[off] = train(model, options, 1);
        kernels[off] = discrete_get_counts().kernels - before;
        cr_assert_eq(unsetenv("ONSTAGE_CUDA_TOGETHER"), 0);
    }
    expect_same(&results[0], &results[1], model);
    cr_expect_lt(kernels[0], kernels[1], "%s: %lld launches, %lld one by one", model, (long long)kernels[0],
                 (long long)kernels[1]);
    fprintf(stderr, "%s: %lld launches, %lld one by one\n", model, (long long)kernels[0], (long long)kernels[1]);
    for (int i = 0; i < 2; ++i) weights_free(&results[i].weights);
}

Test(discrete_memory, nodes_together, .timeout = 600) {
    expect_together("gpt_tied", OPTIONS("batch", "8", "clip-norm", "0.5"));
    expect_together("gpt_tied", OPTIONS("batch", "8", "micro-batches", "2"));
    expect_together("gpt_tied", OPTIONS("batch", "8", "micro-batches", "2", "clip-norm", "0.5", "stages", "2"));
    expect_together("mlp", OPTIONS("batch", "16", "micro-batches", "4", "optimizer", "sgd", "precision", "fp16"));
    expect_together("cnn_dynamic",
                    OPTIONS("batch", "8", "log-grad-norms", "true", "stages", "2", "micro-batches", "2"));
    expect_together("mlp", OPTIONS("batch", "16", "stages", "2", "micro-batches", "2", "pipeline", "pipedream-async",
                                   "optimizer", "sgd"));
}

/* Norms are read by one wait, however many weights there are, and reading them changes nothing. */
Test(discrete_memory, norms_take_one_wait, .timeout = 300) {
    double losses[2][3];
    int64_t waits[2];
    weights trained[2];
    char log[PATH_BYTES];
    scratch_path(log, "log");
    for (int logs = 0; logs < 2; ++logs) {
        run r = discrete_golden("gpt_tied");
        discrete_seed(1);
        set(&r, "batch", "8");
        set(&r, "optimizer", "adamw");
        set(&r, "steps", "3");
        if (logs == 1) set(&r, "log-json", log);
        run_open(&r);
        for (int i = 0; i < 3; ++i) {
            waits[logs] = discrete_get_counts().waits;
            ons_step_report report = run_step(&r);
            waits[logs] = discrete_get_counts().waits - waits[logs]; /* the last step's stay */
            losses[logs][i] = report.loss;
            cr_expect_eq(isnan(report.grad_norm), logs == 0);
        }
        trained[logs] = read_weights(&r);
        run_close(&r);
    }
    for (int i = 0; i < 3; ++i) cr_expect(losses[0][i] == losses[1][i], "loss of step %d", i + 1);
    cr_expect(weights_equal(&trained[0], &trained[1]), "the weights differ");
    cr_expect_eq(waits[1] - waits[0], 1, "%lld waits in a step with norms, %lld without", (long long)waits[1],
                 (long long)waits[0]);
    for (int i = 0; i < 2; ++i) weights_free(&trained[i]);
    unlink(log);
}

static long long arena_of(const char *model, const char *stages) {
    run r = discrete_golden(model);
    ons_trainer_status status;
    long long bytes = 0;
    set(&r, "batch", "8");
    set(&r, "micro-batches", "2");
    set(&r, "optimizer", "adamw");
    set(&r, "stages", stages);
    set(&r, "steps", "1");
    run_open(&r);
    must(ons_trainer_get_status(r.trainer, &status));
    cr_expect_eq(status.arena_bytes, status.predicted_bytes);
    for (int64_t i = 0; i < ons_trainer_stage_count(r.trainer); ++i) {
        ons_stage_report report;
        must(ons_trainer_get_stage(r.trainer, i, &report));
        bytes = report.arena_bytes > bytes ? report.arena_bytes : bytes;
    }
    run_close(&r);
    return bytes > 0 ? bytes : status.predicted_bytes;
}

/* Under a cap, saved values leave for the host or are computed again. */
static void expect_eviction(const char *model, const char *stages, const char *strategy, double share) {
    char cap[32];
    snprintf(cap, sizeof cap, "%lld", FAR_SLACK + (long long)((double)arena_of(model, stages) * share));
    result whole = train(model, OPTIONS("batch", "8", "micro-batches", "2"), 1);
    for (uint64_t seed = 1; seed <= 2; ++seed) {
        result capped = train(
            model,
            OPTIONS("batch", "8", "micro-batches", "2", "stages", stages, "memory", cap, "memory-strategy", strategy),
            seed);
        cr_expect(strcmp(strategy, "capuchin") == 0 ? capped.swapped > 0 : capped.again > 0,
                  "%s, %s stages, cap %s: %lld bytes swapped, %lld computed again", model, stages, cap,
                  (long long)capped.swapped, (long long)capped.again);
        expect_same(&capped, &whole, strategy);
        weights_free(&capped.weights);
    }
    weights_free(&whole.weights);
}

Test(discrete_memory, swap, .timeout = 600) { expect_eviction("gpt_tied", "1", "capuchin", 0.9); }

Test(discrete_memory, swap_in_two_stages, .timeout = 600) { expect_eviction("gpt_tied", "2", "capuchin", 0.9); }

Test(discrete_memory, recompute, .timeout = 600) { expect_eviction("gpt_tied", "1", "recompute-all", 0.9); }

/* What goes into Gelu comes again from the node that makes Gelu's result, too. */
Test(discrete_memory, recompute_of_joined_layers, .timeout = 600) {
    expect_eviction("gpt_decomposed", "1", "recompute-all", 0.9);
}

Test(discrete_memory, swap_of_joined_layers, .timeout = 600) {
    expect_eviction("gpt_decomposed", "2", "capuchin", 0.9);
}
