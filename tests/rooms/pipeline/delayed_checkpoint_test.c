/* Checkpoints of an asynchronous pipeline: it is empty at the end of every step, so a checkpoint holds the newest
 * weights and nothing of older ones. With the same stages a resumed run goes on as if it had not stopped; with others
 * it goes on with their delays. Both are compared with sequential training, tests/rooms/pipeline/delayed.h. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/train/trainer.h"
#include "tests/rooms/pipeline/delayed_trajectory.h"
#include "tests/rooms/training/fixture.h"

enum { STEPS = 5, EVERY = 2, MICRO_BATCHES = 5 };
static const double rate = 0.01;

static run start(const char *model, const char *optimizer, int stages, const char *folder) {
    run r = run_golden(model);
    ons_json *golden = read_golden(model);
    set(&r, "optimizer", optimizer);
    if (strcmp(optimizer, "sgd") == 0) set(&r, "momentum", "0.9");
    set(&r, "lr", "0.01");
    set(&r, "threads", "1");
    set(&r, "pipeline", "pipedream-async");
    set_number(&r, "batch", ons_json_find(golden, "batch")->valueint * MICRO_BATCHES);
    set_number(&r, "micro-batches", MICRO_BATCHES);
    set(&r, "shuffle", "true");
    set_number(&r, "steps", STEPS);
    set_number(&r, "stages", stages);
    if (folder != NULL) {
        set(&r, "checkpoint", folder);
        set_number(&r, "checkpoint-every", EVERY);
        set(&r, "resume", "true");
    }
    run_open(&r);
    ons_json_free(golden);
    return r;
}

static void run_delayed(delayed_trajectory *d, const run *like, int first, int last) {
    must(delayed_trajectory_follow(d, &like->trainer->training));
    for (int step = first; step <= last; ++step) {
        double loss, norm;
        must(delayed_trajectory_step(d, (uint64_t)step, rate, &loss, &norm));
    }
}

static void run_steps(const run *r, int first, int last) {
    for (int step = first; step <= last; ++step) {
        ons_step_report report = run_step(r);
        cr_assert_eq(report.step, step);
    }
}

/* Weights, states and statistics in every stage that has them. */
static void compare(const run *r, const delayed_trajectory *d, const char *where) {
    const ons_graph *graph = r->trainer->training.graphs[ONS_WHOLE].graph;
    uint32_t compared = 0;
    ons_local_stages_settle_versions(r->trainer->local_stages);
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *v = ons_graph_value(graph, id);
        if (v->producer != ONS_NONE || v->kind == ONS_CONSTANT || !ons_is_persistent(v)) continue;
        const void *expected = ons_device_context_find(delayed_trajectory_device_context(d), v->name, NULL);
        for (uint32_t i = 0; i < ons_local_stages_count(r->trainer->local_stages); ++i) {
            const void *found = ons_device_context_find(
                ons_local_stages_get(r->trainer->local_stages, i)->device_context, v->name, NULL);
            if (found == NULL) continue;
            cr_assert_not_null(expected);
            cr_assert_eq(memcmp(expected, found, (size_t)ons_type_dense_bytes(&v->type)), 0, "%s: '%s' differs", where,
                         v->name);
            ++compared;
        }
    }
    cr_assert_gt(compared, 0, "%s: nothing was compared", where);
}

/* Interrupted in the middle between two checkpoints: the step behind the last one is made twice. */
static void resume(const char *model, const char *optimizer, int stages, int others) {
    char folder[PATH_BYTES], name[64], command[PATH_BYTES + 16];
    snprintf(name, sizeof name, "%s, %s, %d stages, then %d", model, optimizer, stages, others);
    scratch_path(folder, "c");
    run alone = start(model, optimizer, 1, NULL);
    delayed_trajectory *d;
    must(delayed_trajectory_new(alone.model, alone.config, &alone.trainer->batching, 1, &d));

    run first = start(model, optimizer, stages, folder);
    run_steps(&first, 1, EVERY + 1);
    run_delayed(d, &first, 1, EVERY);
    run_close(&first);

    run second = start(model, optimizer, others, folder);
    run_steps(&second, EVERY + 1, STEPS);
    run_delayed(d, &second, EVERY + 1, STEPS);
    compare(&second, d, name);

    if (stages == others) {
        run whole = start(model, optimizer, stages, NULL);
        run_steps(&whole, 1, STEPS);
        compare(&whole, d, name);
        run_close(&whole);
    }
    delayed_trajectory_free(d);
    run_close(&second);
    run_close(&alone);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);
}

static void resume_all(const char *model) {
    static const int pairs[][2] = {{2, 2}, {3, 3}, {4, 4}, {2, 4}, {4, 3}, {3, 1}, {1, 2}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i)
        resume(model, i % 2 == 0 ? "sgd" : "adamw", pairs[i][0], pairs[i][1]);
}

Test(delayed_checkpoint, tied_weights, .timeout = 300) { resume_all("gpt_tied"); }

Test(delayed_checkpoint, running_statistics, .timeout = 300) { resume_all("cnn_dynamic"); }

Test(delayed_checkpoint, perceptron, .timeout = 300) { resume_all("mlp"); }

/* The numbers are others, so neither goes on from the other's checkpoint. */
Test(delayed_checkpoint, of_a_synchronous_run_is_refused) {
    char folder[PATH_BYTES];
    scratch_path(folder, "mixed");
    run first = start("mlp", "sgd", 2, folder);
    run_steps(&first, 1, EVERY);
    run_close(&first);
    run second = run_golden("mlp");
    ons_json *golden = read_golden("mlp");
    set(&second, "optimizer", "sgd");
    set(&second, "momentum", "0.9");
    set(&second, "lr", "0.01");
    set(&second, "threads", "1");
    set_number(&second, "batch", ons_json_find(golden, "batch")->valueint * MICRO_BATCHES);
    set_number(&second, "micro-batches", MICRO_BATCHES);
    set(&second, "shuffle", "true");
    set_number(&second, "steps", STEPS);
    set_number(&second, "stages", 2);
    set(&second, "checkpoint", folder);
    set(&second, "resume", "true");
    must_fail(run_try_open(&second), ONS_INVALID_ARGUMENT, "--resume", NULL);
    ons_json_free(golden);
    run_close(&second);
}
