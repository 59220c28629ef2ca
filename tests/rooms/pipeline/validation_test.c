/* Validation over the stages of a pipeline has the bits of one stage's, step by step: so every stage reads the weights
 * and running statistics that it trains. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rooms/training/fixture.h"

enum { STEPS = 3 };

typedef struct setting {
    char model[32];
    char rows[16]; /* validated; whatever the batch, some are left at the end */
    int micro_batches, stages;
    char pipeline[16];
} setting;

ParameterizedTestParameters(validation, stages) {
    static setting settings[] = {
        {"mlp", "1:12", 2, 2, "1f1b"},         {"mlp", "1:12", 2, 4, "gpipe"},
        {"mlp_frozen", "0:16", 1, 3, "1f1b"},  {"cnn_dynamic", "0:11", 2, 2, "1f1b"},
        {"cnn_dynamic", "0:11", 2, 4, "1f1b"}, {"dynamo_gpt", "0:7", 2, 4, "gpipe"},
        {"dynamo_gpt", "0:7", 4, 3, "1f1b"},   {"gpt_tied", "0:8", 1, 2, "1f1b"},
        {"gpt_tied", "0:8", 1, 4, "gpipe"},    {"gpt_decomposed", "0:8", 1, 3, "1f1b"},
        {"lenet", "0:16", 1, 4, "1f1b"},       {"resnet18", "0:8", 1, 8, "1f1b"},
    };
    return cr_make_param_array(setting, settings, sizeof settings / sizeof settings[0], NULL);
}

typedef struct outcome {
    double loss[STEPS], accuracy[STEPS];
} outcome;

static run prepare(const setting *s, int stages) {
    run r = run_golden(s->model);
    if (s->rows[0] != '\0') {
        set(&r, "rows", ":"); /* trained on as well */
        set(&r, "val-rows", s->rows);
        set(&r, "val-every", "1");
    }
    set(&r, "optimizer", "adamw");
    set(&r, "lr", "0.01");
    set(&r, "threads", "1");
    set_number(&r, "steps", STEPS);
    set_number(&r, "micro-batches", s->micro_batches);
    set_number(&r, "stages", stages);
    if (stages > 1 || strcmp(s->pipeline, "pipedream-async") == 0) set(&r, "pipeline", s->pipeline);
    return r;
}

static outcome validate(const setting *s, int stages) {
    outcome o;
    run r = prepare(s, stages);
    run_open(&r);
    for (int i = 0; i < STEPS; ++i) {
        ons_step_report report = run_step(&r);
        cr_assert(report.validated);
        o.loss[i] = report.validation_loss;
        o.accuracy[i] = report.validation_accuracy;
        ons_evaluation again;
        must(ons_trainer_evaluate(r.trainer, &again));
        cr_assert_eq(again.loss, o.loss[i], "%s: the same weights give %.17g and %.17g", s->model, o.loss[i],
                     again.loss);
    }
    run_close(&r);
    return o;
}

ParameterizedTest(setting *param, validation, stages) {
    outcome one = validate(param, 1), several = validate(param, param->stages);
    bool moves = false;
    for (int i = 0; i < STEPS; ++i) {
        cr_assert(isfinite(one.loss[i]), "%s: %g", param->model, one.loss[i]);
        cr_assert_eq(one.loss[i], several.loss[i], "%s, %d stages, step %d: %.17g, one stage %.17g", param->model,
                     param->stages, i + 1, several.loss[i], one.loss[i]);
        bool classes = !isnan(one.accuracy[i]);
        cr_assert_eq(classes, !isnan(several.accuracy[i]), "%s: one of them knows no accuracy", param->model);
        cr_assert(!classes || one.accuracy[i] == several.accuracy[i], "%s, %d stages, step %d: %g right, one stage %g",
                  param->model, param->stages, i + 1, several.accuracy[i], one.accuracy[i]);
        moves = moves || one.loss[i] != one.loss[0];
    }
    cr_assert(moves, "%s: the weights do not change, so nothing is seen here", param->model);
}

/* A target out of range stops the validation of all stages, with one message. */
/* With weights of several versions it is the newest that are validated: the same as after they were read. */
Test(validation, newest_weights_of_an_asynchronous_pipeline) {
    const setting s = {"mlp", "0:16", 3, 2, "pipedream-async"};
    run r = prepare(&s, s.stages);
    set(&r, "batch", "15"); /* three updates a step, two versions: the newest moves from place to place */
    run_open(&r);
    for (int i = 0; i < STEPS; ++i) {
        double loss = run_step(&r).validation_loss;
        float bias[10];
        ons_evaluation again;
        must(ons_trainer_read(r.trainer, "fc3.bias", bias, 10));
        must(ons_trainer_evaluate(r.trainer, &again));
        cr_assert(isfinite(loss) && loss == again.loss, "step %d: %.17g, of the newest weights %.17g", i + 1, loss,
                  again.loss);
    }
    run_close(&r);
}

Test(validation, stage_fails) {
    const setting s = {"mlp", "", 2, 3, "1f1b"};
    array input = read_npy("tests/agreement/golden/mlp/input.npy"),
          target = read_npy("tests/agreement/golden/mlp/target.npy");
    input.view.dims = input.dims;
    target.view.dims = target.dims;
    ((int64_t *)target.data)[9] = 1000;
    run r = prepare(&s, 3);
    must(ons_config_array(r.config, "x", true, &input.view));
    must(ons_config_array(r.config, "target", true, &target.view));
    set(&r, "val-every", "1");
    /* With as many samples as classes, which may be classes of the batch, labels are not looked at before. */
    set(&r, "batch", "10");
    set(&r, "micro-batches", "1");
    run_open(&r);
    ons_step_report report;
    must_fail(ons_trainer_step(r.trainer, &report), ONS_INVALID_DATA, "1000", "node", NULL);
    run_close(&r);
    array_free(&input);
    array_free(&target);
}

/* A planned run reports each of its stages; an unplanned one has none. */
Test(validation, reports_of_stages) {
    const setting s = {"mlp", "0:12", 4, 3, "1f1b"};
    run r = prepare(&s, 3);
    run_open(&r);
    cr_assert_eq(ons_trainer_stage_count(r.trainer), 3);
    int64_t arena = 0;
    for (int64_t i = 0; i < 3; ++i) {
        ons_stage_report stage;
        must(ons_trainer_get_stage(r.trainer, i, &stage));
        cr_assert_eq(stage.stage, i);
        cr_assert_not_null(stage.first_node);
        cr_assert_gt(stage.predicted_seconds, 0);
        cr_assert(stage.predicted_idle >= 0 && stage.predicted_idle < 1, "%g", stage.predicted_idle);
        cr_assert(isnan(stage.measured_seconds), "nothing has run yet");
        cr_assert_eq(stage.taken_bytes, stage.arena_bytes);
        arena += stage.arena_bytes;
    }
    for (int i = 0; i < STEPS; ++i) run_step(&r);
    ons_trainer_status status;
    must(ons_trainer_get_status(r.trainer, &status));
    cr_assert_eq(status.stages, 3);
    cr_assert_str_eq(status.pipeline, "1f1b");
    cr_assert_eq(arena, status.arena_bytes);
    for (int64_t i = 0; i < 3; ++i) {
        ons_stage_report stage;
        must(ons_trainer_get_stage(r.trainer, i, &stage));
        cr_assert(stage.measured_seconds > 0 && stage.measured_seconds * 4 < status.measured_step_seconds, "%g of %g",
                  stage.measured_seconds, status.measured_step_seconds);
        cr_assert(stage.measured_idle > 0 && stage.measured_idle < 1, "%g", stage.measured_idle);
    }
    ons_stage_report none;
    must_fail(ons_trainer_get_stage(r.trainer, 3, &none), ONS_INVALID_ARGUMENT, "3", NULL);
    run_close(&r);
    r = prepare(&s, 1);
    run_open(&r);
    cr_assert_eq(ons_trainer_stage_count(r.trainer), 0);
    run_close(&r);
}

static void log_norms(const setting *s, int stages, char norms[static 4096]) {
    char path[PATH_BYTES];
    scratch_path(path, "log.jsonl");
    run r = prepare(s, stages);
    set(&r, "log-json", path);
    set(&r, "log-grad-norms", "true");
    run_open(&r);
    for (int i = 0; i < STEPS; ++i) run_step(&r);
    run_close(&r);
    contents text = read_file(path);
    const char *begin = (const char *)text.bytes, *last = NULL, *end, *at = begin;
    while ((at = memmem(at, text.size - (size_t)(at - begin), "\"grad_norms\"", 12)) != NULL) last = at++;
    cr_assert_not_null(last);
    cr_assert_not_null(end = strchr(last, '}'));
    snprintf(norms, 4096, "%.*s", (int)(end - last), last);
    free(text.bytes);
    unlink(path);
}

/* They are logged after validation, which takes the memory in which the step left them. */
Test(validation, norms_are_those_of_the_step_however_it_is_validated) {
    setting s = {"mlp", "20:37", 2, 1, "1f1b"}, without = s;
    without.rows[0] = '\0';
    char expected[4096], norms[4096];
    log_norms(&without, 1, expected);
    for (int stages = 1; stages <= 2; ++stages) {
        log_norms(&s, stages, norms);
        cr_expect_str_eq(norms, expected, "%d stages: %s instead of %s", stages, norms, expected);
    }
}
