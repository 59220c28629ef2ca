/* Training as a plan's file says, through the public interface. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rooms/training/fixture.h"

static const char model_path[] = "tests/agreement/golden/mlp/model.onnx";

static ons_config *configure(void) {
    ons_config *c;
    must(ons_config_new(&c));
    must(ons_config_set(c, "input", "x=tests/agreement/golden/mlp/input.npy"));
    must(ons_config_set(c, "target", "tests/agreement/golden/mlp/target.npy"));
    must(ons_config_set(c, "loss", "cross_entropy"));
    must(ons_config_set(c, "optimizer", "sgd"));
    must(ons_config_set(c, "lr", "0.1"));
    must(ons_config_set(c, "threads", "1"));
    must(ons_config_set(c, "steps", "3"));
    return c;
}

static void write_plan(const char *path, const char *stages, const char *pipeline, const char *batch,
                       const char *micro_batches) {
    ons_config *c = configure();
    ons_planning *planning;
    must(ons_config_set(c, "stages", stages));
    must(ons_config_set(c, "pipeline", pipeline));
    must(ons_config_set(c, "batch", batch));
    must(ons_config_set(c, "micro-batches", micro_batches));
    must(ons_planning_new(model_path, c, &planning));
    must(ons_planning_write(planning, path));
    ons_planning_free(planning);
    ons_config_free(c);
}

typedef struct opened {
    ons_model *model;
    ons_trainer *trainer;
} opened;

static opened open(const ons_config *c) {
    opened o;
    must(ons_model_load(model_path, c, &o.model));
    must(ons_trainer_new(o.model, c, &o.trainer));
    return o;
}

static void close_all(opened *o) {
    ons_trainer_free(o->trainer);
    ons_model_free(o->model);
}

static void check_status(const opened *o, int64_t stages, const char *pipeline, int64_t batch, int64_t micro_batches) {
    ons_trainer_status status;
    must(ons_trainer_get_status(o->trainer, &status));
    cr_expect_eq(status.stages, stages);
    cr_expect_str_eq(status.pipeline, pipeline);
    cr_expect_eq(status.batch, batch);
    cr_expect_eq(status.micro_batches, micro_batches);
    cr_expect_str_eq(status.notes, "");
}

static double last_loss(const opened *o) {
    ons_step_report report = {.loss = 0};
    while (!ons_trainer_done(o->trainer)) must(ons_trainer_step(o->trainer, &report));
    return report.loss;
}

/* A plan decides about one run, not about what the caller makes of the configuration afterwards; and the other way
 * round. */
Test(plan_file, the_callers_configuration_stays_as_it_is) {
    char first_path[PATH_BYTES], second_path[PATH_BYTES];
    scratch_path(first_path, "first.json");
    scratch_path(second_path, "second.json");
    write_plan(first_path, "2", "gpipe", "32", "2");
    write_plan(second_path, "3", "1f1b", "48", "4");

    ons_config *c = configure();
    must(ons_config_set(c, "plan", first_path));
    opened first = open(c);
    check_status(&first, 2, "gpipe", 32, 2);
    cr_expect_str_eq(ons_config_get(c, "pipeline"), "1f1b");
    must(ons_config_set(c, "plan", second_path));
    opened second = open(c);
    check_status(&second, 3, "1f1b", 48, 4);
    check_status(&first, 2, "gpipe", 32, 2);

    opened third;
    ons_config *same = configure();
    must(ons_config_set(same, "plan", first_path));
    third = open(same);
    must(ons_config_set(c, "lr", "0"));
    for (int i = 0; i < 100; ++i) must(ons_config_set(c, "freeze", "nothing")); /* lists move */
    ons_config_free(c);
    cr_expect_eq(last_loss(&first), last_loss(&third), "a trainer has taken up what was set after it was made");
    close_all(&first);
    close_all(&second);
    close_all(&third);
    ons_config_free(same);
    unlink(first_path);
    unlink(second_path);
}

/* Kernels of other libraries may take other scratch memory. */
Test(plan_file, other_libraries_are_noted) {
    char path[PATH_BYTES];
    scratch_path(path, "plan.json");
    write_plan(path, "2", "1f1b", "32", "2");
    contents text = read_file(path);
    char *version = strstr((char *)text.bytes, "\"oneDNN\":");
    cr_assert_not_null(version);
    version = strpbrk(version + strlen("\"oneDNN\":"), "0123456789");
    memset(version, '9', strspn(version, "0123456789"));
    FILE *file = fopen(path, "w");
    cr_assert_eq(fwrite(text.bytes, 1, text.size, file), text.size);
    cr_assert_eq(fclose(file), 0);

    ons_config *c = configure();
    ons_trainer_status status;
    must(ons_config_set(c, "plan", path));
    opened o = open(c);
    must(ons_trainer_get_status(o.trainer, &status));
    cr_expect_not_null(strstr(status.notes, "planned with oneDNN 9"), "notes: '%s'", status.notes);
    cr_expect_not_null(strstr(status.notes, "scratch memory"), "notes: '%s'", status.notes);
    close_all(&o);
    ons_config_free(c);
    free(text.bytes);
    unlink(path);
}

/* The first `from` of a file becomes `to`. */
static void edit(const char *path, const char *from, const char *to) {
    contents text = read_file(path);
    char *at = memmem(text.bytes, text.size, from, strlen(from));
    cr_assert_not_null(at, "no '%s' in the plan", from);
    size_t before = (size_t)(at - (char *)text.bytes), after = before + strlen(from);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text.bytes, 1, before, file), before);
    cr_assert_geq(fputs(to, file), 0);
    cr_assert_eq(fwrite((char *)text.bytes + after, 1, text.size - after, file), text.size - after);
    cr_assert_eq(fclose(file), 0);
    free(text.bytes);
}

/* Schedules and names that a person has edited into what cannot be done, or would be done with wrong numbers. */
Test(plan_file, what_cannot_be_done_is_refused_with_its_field) {
    static const struct {
        const char *from, *to, *words;
    } edits[] = {
        {"\"asynchronous\":\tfalse", "\"asynchronous\":\ttrue", "decisions.actions"},
        {"\"nodes\":\t", "\"nodes\":\t1", "'nodes' says"},
        {"\"recompute\":\t[", "\"recompute\":\t[{\"tensor\": \"nosuch\", \"in_before\": \"nosuch\"}",
         "no tensor 'nosuch'"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; ++i) {
        char path[PATH_BYTES];
        scratch_path(path, "plan.json");
        write_plan(path, "2", "gpipe", "32", "2");
        edit(path, edits[i].from, edits[i].to);
        ons_config *c = configure();
        ons_model *model;
        ons_trainer *trainer;
        must(ons_config_set(c, "plan", path));
        must(ons_model_load(model_path, c, &model));
        ons_status *status = ons_trainer_new(model, c, &trainer);
        cr_assert_not_null(status, "edit %zu is not noticed", i);
        cr_expect_eq(ons_status_get_code(status), ONS_INVALID_DATA, "%s", ons_status_get_message(status));
        cr_expect_not_null(strstr(ons_status_get_message(status), edits[i].words), "%s",
                           ons_status_get_message(status));
        cr_expect_not_null(strstr(ons_status_get_message(status), path), "%s", ons_status_get_message(status));
        ons_status_free(status);
        ons_model_free(model);
        ons_config_free(c);
        unlink(path);
    }
}

/* An update that is missing, comes twice, is another micro-batch's or stands elsewhere: neither simulated nor trained.
 */
Test(plan_file, updates_that_the_schedule_does_not_have_are_refused) {
    static const struct {
        const char *pipeline, *from, *to, *words;
    } edits[] = {
        {"pipedream-async", "\"1U1\", ", "", "decisions.actions[1][6]: no update of micro-batch 1 stands before"},
        {"pipedream-async", ", \"1U2\"", "", "decisions.actions[1]: the update of micro-batch 2 is missing"},
        {"pipedream-async", "\"1U1\"", "\"1U0\"", "decisions.actions[1][5]: the update of micro-batch 0"},
        {"pipedream-async", "\"1U1\"", "\"1U1\", \"1U1\"", "decisions.actions[1][6]: the update of micro-batch 1"},
        {"pipedream-async", "\"1B1\", \"1U1\"", "\"1U1\", \"1B1\"", "decisions.actions[1][4]: the update of"},
        {"pipedream-async", "\"1F0\"", "\"0F0\"", "actions: device 1, action 0: stage 0 is on device 0, too"},
        {"1f1b", ", \"1U2\"", "", "decisions.actions[1]: the update of micro-batch 2 is missing"},
        {"1f1b", "\"1U2\"", "\"1U1\"", "decisions.actions[1][6]: the update of micro-batch 1"},
        {"1f1b", "\"1U2\"", "\"1U2\", \"1U2\"", "decisions.actions[1][7]: the update of micro-batch 2"},
        {"1f1b", "\"1B2\", \"1U2\"", "\"1U2\", \"1B2\"", "decisions.actions[1][5]: the update of micro-batch 2"},
        {"gpipe", "\"1U2\"", "\"1B2\"", "decisions.actions[1]: the update of micro-batch 2 is missing"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; ++i) {
        char path[PATH_BYTES];
        ons_model *model;
        ons_trainer *trainer = NULL;
        ons_replay *replay = NULL;
        scratch_path(path, "plan.json");
        write_plan(path, "2", edits[i].pipeline, "48", "3");
        edit(path, edits[i].from, edits[i].to);
        ons_config *c = configure();
        must(ons_config_set(c, "plan", path));
        must(ons_model_load(model_path, c, &model));
        ons_status *statuses[] = {ons_replay_new(path, c, &replay), ons_trainer_new(model, c, &trainer)};
        for (int k = 0; k < 2; ++k) {
            cr_assert_not_null(statuses[k], "edit %zu is not noticed by %s", i, k == 0 ? "simulate" : "train");
            cr_expect_eq(ons_status_get_code(statuses[k]), ONS_INVALID_DATA);
            cr_expect_not_null(strstr(ons_status_get_message(statuses[k]), edits[i].words), "edit %zu: %s", i,
                               ons_status_get_message(statuses[k]));
            ons_status_free(statuses[k]);
        }
        ons_model_free(model);
        ons_config_free(c);
        unlink(path);
    }
}

static double loss_of_plan(const char *path) {
    ons_config *c = configure();
    must(ons_config_set(c, "plan", path));
    opened o = open(c);
    double loss = last_loss(&o);
    close_all(&o);
    ons_config_free(c);
    return loss;
}

/* A person may take backward parts of stage 1 apart, of all micro-batches or of some: the same bits. */
static void try_apart(const char *schedule, unsigned micro_batches) {
    char path[PATH_BYTES];
    scratch_path(path, "plan.json");
    write_plan(path, "2", schedule, "48", "3");
    double whole = loss_of_plan(path);
    for (unsigned i = 0; i < 3; ++i) {
        char from[16], to[48];
        if ((micro_batches >> i & 1) == 0) continue;
        snprintf(from, sizeof from, "\"1B%u\"", i);
        snprintf(to, sizeof to, "\"1I%u\", \"1W%u\"", i, i);
        edit(path, from, to);
    }
    double apart = loss_of_plan(path);
    cr_expect_eq(apart, whole, "%s, micro-batches %x: %.17g, not %.17g", schedule, micro_batches, apart, whole);
    unlink(path);
}

Test(plan_file, gradients_apart_are_trained) { try_apart("1f1b", 7); }

Test(plan_file, gradients_apart_beside_whole_ones_are_trained) {
    for (unsigned micro_batches = 1; micro_batches < 7; ++micro_batches) try_apart("1f1b", micro_batches);
}

Test(plan_file, gradients_apart_are_trained_with_updates_between_micro_batches) {
    try_apart("pipedream-async", 7);
    try_apart("pipedream-async", 2);
}

static double loss_without_plan(const char *stages, const char *pipeline, const char *batch,
                                const char *micro_batches) {
    ons_config *c = configure();
    must(ons_config_set(c, "stages", stages));
    must(ons_config_set(c, "pipeline", pipeline));
    must(ons_config_set(c, "batch", batch));
    must(ons_config_set(c, "micro-batches", micro_batches));
    opened o = open(c);
    double loss = last_loss(&o);
    close_all(&o);
    ons_config_free(c);
    return loss;
}

/* A step may be shorter than the pipeline takes to be full; places are those of a full one, in the file as without. */
Test(plan_file, asynchronous_steps_of_few_micro_batches_are_trained) {
    static const char *const cases[][2] = {{"32", "2"}, {"48", "3"}, {"64", "4"}, {"80", "5"}, {"144", "9"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char path[PATH_BYTES];
        scratch_path(path, "plan.json");
        write_plan(path, "4", "pipedream-async", cases[i][0], cases[i][1]);
        double planned = loss_of_plan(path);
        double expected = loss_without_plan("4", "pipedream-async", cases[i][0], cases[i][1]);
        cr_expect_eq(planned, expected, "%s micro-batches: %.17g, not %.17g", cases[i][1], planned, expected);
        unlink(path);
    }
}

/* Lists that a person wrote may need more versions of the weights than the schedule's own. */
Test(plan_file, asynchronous_lists_that_a_person_wrote_are_trained) {
    char path[PATH_BYTES];
    scratch_path(path, "plan.json");
    write_plan(path, "3", "pipedream-async", "64", "4");
    edit(path, "\"1F0\", \"1F1\", \"1B0\", \"1U0\", \"1F2\", \"1B1\"",
         "\"1F0\", \"1F1\", \"1F2\", \"1B0\", \"1U0\", \"1B1\"");
    edit(path, "\"in_flight\":\t2", "\"in_flight\":\t3");
    edit(path, "\"versions\":\t2", "\"versions\":\t3");
    double loss = loss_of_plan(path);
    cr_expect(loss > 0 && loss < 10, "loss %g", loss);
    unlink(path);
}

/* What makes a plan asynchronous is that it says so, and not the name of its schedule. */
Test(plan_file, asynchronous_plans_may_have_any_name) {
    char path[PATH_BYTES];
    scratch_path(path, "plan.json");
    write_plan(path, "2", "pipedream-async", "64", "4");
    double named = loss_of_plan(path);
    edit(path, "\"pipedream-async\"", "\"mine\"");
    double renamed = loss_of_plan(path);
    cr_expect_eq(renamed, named, "%.17g, not %.17g", renamed, named);
    unlink(path);
}
