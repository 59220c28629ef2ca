/* Whole runs by plans whose stages have copies, through the public interface: numbers of plain training, validation,
 * checkpoints that go on with other copies, what is written, and what is refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rooms/pipeline/copied_plan.h"
#include "tests/rooms/training/fixture.h"

enum { STEPS = 9, EVERY = 5 };

static run configure(const char *model, const char *plan) {
    run r = run_golden(model);
    bool drops = strcmp(model, "gpt_tied") == 0; /* which others are compared with plain training without */
    set(&r, "optimizer", drops ? "adamw" : "sgd");
    if (drops) set(&r, "dropout", "0.1");
    set(&r, "lr", "0.01");
    set(&r, "threads", "1");
    set(&r, "batch", "24");
    set(&r, "micro-batches", "6");
    set(&r, "rows", "0:63");
    set(&r, "val-rows", "40:64");
    set_number(&r, "steps", STEPS);
    if (plan != NULL) set(&r, "plan", plan);
    return r;
}

/* A plan of as many stages as `copies` has numbers. */
static void make_plan(const char *model, const char *copies, const char *path) {
    char plain[PATH_BYTES];
    int stages = 1;
    for (const char *at = copies; *at != '\0'; ++at) stages += *at == ',';
    run r = configure(model, NULL);
    ons_planning *planning;
    set_number(&r, "stages", stages);
    scratch_path(plain, "plain.json");
    must(ons_planning_new(r.model_path, r.config, &planning));
    must(ons_planning_write(planning, plain));
    ons_planning_free(planning);
    run_close(&r);
    must(copied_plan(plain, path, copies));
    unlink(plain);
}

typedef struct outcome {
    double losses[STEPS], validation;
    weights weights;
} outcome;

static outcome train(run *r) {
    outcome o;
    ons_evaluation evaluation;
    run_open(r);
    for (int i = 0; i < STEPS; ++i) o.losses[i] = run_step(r).loss;
    must(ons_trainer_evaluate(r->trainer, &evaluation));
    o.validation = evaluation.loss;
    o.weights = read_weights(r);
    return o;
}

static void compare(const outcome *a, const outcome *b, const char *what) {
    for (int i = 0; i < STEPS; ++i) cr_expect_float_eq(a->losses[i], b->losses[i], 1e-5, "%s: step %d", what, i + 1);
    cr_expect_float_eq(a->validation, b->validation, 1e-5, "%s: validation", what);
    cr_assert_eq(a->weights.count, b->weights.count);
    double most = 0;
    for (size_t i = 0; i < a->weights.count; ++i)
        most = fmax(most, fabs((double)a->weights.values[i] - (double)b->weights.values[i]));
    cr_expect_lt(most, 1e-5, "%s: weights differ by %g", what, most);
}

static void try_plans(const char *model, const char *const *all) {
    char path[PATH_BYTES];
    run r = configure(model, NULL);
    outcome plain = train(&r);
    run_close(&r);
    scratch_path(path, "plan.json");
    for (; *all != NULL; ++all) {
        make_plan(model, *all, path);
        r = configure(model, path);
        outcome copied = train(&r);
        compare(&plain, &copied, *all);
        weights_free(&copied.weights);
        run_close(&r);
    }
    weights_free(&plain.weights);
    unlink(path);
}

Test(copies, come_to_what_plain_training_does, .timeout = 200) {
    try_plans("mlp", (const char *const[]){"2,1", "1,2", "3,1,2", "2,2", NULL});
    try_plans("cnn_dynamic", (const char *const[]){"2,1", "1,3", NULL});
}

/* ------------------------------------------------------------------------------------------------------ checkpoints */

static run start(const char *plan, const char *folder, bool divided, int steps) {
    run r = configure("gpt_tied", plan);
    if (divided) set(&r, "shard-optimizer", "true");
    if (folder != NULL) {
        set(&r, "checkpoint", folder);
        set_number(&r, "checkpoint-every", EVERY);
        set(&r, "resume", "true");
    }
    run_open(&r);
    for (int i = 0; i < steps; ++i) run_step(&r);
    return r;
}

static void try_resuming(const char *plan, const char *other, bool divided) {
    char folder[PATH_BYTES], command[PATH_BYTES + 16];
    ons_trainer_status status;
    run whole = start(plan, NULL, false, STEPS);
    weights expected = read_weights(&whole), found;
    run_close(&whole);
    scratch_path(folder, divided ? "divided" : "whole");
    run r = start(plan, folder, divided, EVERY);
    run_close(&r);
    r = start(plan, folder, divided, STEPS - EVERY);
    found = read_weights(&r);
    cr_expect(weights_equal(&found, &expected), "resumed by the same plan, and the weights differ");
    weights_free(&found);
    must(ons_trainer_get_status(r.trainer, &status));
    cr_expect(status.notes == NULL || strstr(status.notes, "was computed by") == NULL, "%s", status.notes);
    run_close(&r);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);

    r = start(plan, folder, divided, EVERY);
    run_close(&r);
    r = start(other, folder, !divided && other != NULL, STEPS - EVERY);
    must(ons_trainer_get_status(r.trainer, &status));
    cr_expect_not_null(strstr(status.notes, "was computed by 1 replica of 6 micro-batches in stages of 2, 3 copies"),
                       "%s", status.notes);
    found = read_weights(&r);
    double most = 0;
    for (size_t i = 0; i < found.count; ++i)
        most = fmax(most, fabs((double)found.values[i] - (double)expected.values[i]));
    cr_expect_lt(most, 2e-3, "resumed by another plan: weights differ by %g", most);
    weights_free(&found);
    run_close(&r);
    cr_assert_eq(system(command), 0);
    weights_free(&expected);
}

Test(copies, checkpoints_go_on_with_others, .timeout = 200) {
    char plan[PATH_BYTES], other[PATH_BYTES];
    scratch_path(plan, "plan.json");
    scratch_path(other, "other.json");
    make_plan("gpt_tied", "2,3", plan);
    make_plan("gpt_tied", "3,1", other);
    try_resuming(plan, other, false);
    try_resuming(plan, other, true);
    try_resuming(plan, NULL, true);
    unlink(plan);
    unlink(other);
}

/* -------------------------------------------------------------------------------------------------- what is written */

Test(copies, are_named_in_a_trace) {
    char plan[PATH_BYTES], trace[PATH_BYTES];
    scratch_path(plan, "plan.json");
    scratch_path(trace, "trace.json");
    make_plan("mlp", "2,3", plan);
    run r = configure("mlp", plan);
    set(&r, "trace", trace);
    outcome o = train(&r);
    must(ons_trainer_finish(r.trainer));
    weights_free(&o.weights);
    run_close(&r);
    contents text = read_file(trace);
    static const char *const names[] = {"stage 0, copy 0",      "stage 0, copy 1",        "stage 1, copy 2",
                                        "forward to 1, copy 2", "forward from 0, copy 1", "backward from 1, copy 0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        cr_expect_not_null(memmem(text.bytes, text.size, names[i], strlen(names[i])), "no '%s'", names[i]);
    free(text.bytes);
    unlink(plan);
    unlink(trace);
}

Test(copies, refuse_what_they_cannot_do) {
    char plan[PATH_BYTES];
    scratch_path(plan, "plan.json");
    make_plan("mlp", "2,1", plan);
    run r = configure("mlp", plan);
    set(&r, "replicas", "2");
    must_fail(run_try_open(&r), ONS_UNSUPPORTED, "--replicas 2", "stage 0 has 2 copies", NULL);
    run_close(&r);
    r = configure("mlp", plan);
    set(&r, "sync-batchnorm", "true");
    must_fail(run_try_open(&r), ONS_UNSUPPORTED, "--sync-batchnorm", "stage 0 has 2 copies", NULL);
    run_close(&r);
    unlink(plan);
}
