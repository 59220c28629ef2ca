/* Stages or threads by several profiles, through the public interface; what is chosen when is the command's test
 * (tests/system/command/division_test.sh). */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "tests/rooms/training/fixture.h"

static const char model_path[] = "tests/agreement/golden/mlp/model.onnx";

enum { STEPS = 3 };

static ons_config *configure(void) {
    ons_config *c;
    must(ons_config_new(&c));
    must(ons_config_set(c, "input", "x=tests/agreement/golden/mlp/input.npy"));
    must(ons_config_set(c, "target", "tests/agreement/golden/mlp/target.npy"));
    must(ons_config_set(c, "loss", "cross_entropy"));
    must(ons_config_set(c, "batch", "16"));
    must(ons_config_set(c, "steps", "3"));
    return c;
}

/* Leaves this process two of its processors; false: it has one. */
static bool take_two_processors(void) {
    cpu_set_t all, two;
    CPU_ZERO(&two);
    cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++i)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &two);
    cr_assert_eq(sched_setaffinity(0, sizeof two, &two), 0);
    return CPU_COUNT(&two) == 2;
}

static void measure(const char *stages, const char *path) {
    ons_config *c = configure();
    ons_model *model;
    ons_profile *profile;
    must(ons_config_set(c, "stages", stages));
    must(ons_config_set(c, "repetitions", "1"));
    must(ons_config_set(c, "cache", "false"));
    must(ons_model_load(model_path, c, &model));
    must(ons_model_profile(model, c, NULL, NULL, &profile));
    must(ons_profile_write(profile, path));
    ons_profile_free(profile);
    ons_model_free(model);
    ons_config_free(c);
}

static void train(const ons_config *c, double losses[STEPS], ons_trainer_status *status, char notes[PATH_BYTES]) {
    ons_model *model;
    ons_trainer *trainer;
    must(ons_model_load(model_path, c, &model));
    must(ons_trainer_new(model, c, &trainer));
    must(ons_trainer_get_status(trainer, status));
    snprintf(notes, PATH_BYTES, "%s", status->notes);
    for (int i = 0; i < STEPS; ++i) {
        ons_step_report report;
        must(ons_trainer_step(trainer, &report));
        losses[i] = report.loss;
    }
    ons_trainer_free(trainer);
    ons_model_free(model);
}

Test(division, a_run_is_the_one_that_was_chosen) {
    char paths[2][PATH_BYTES], both[2 * PATH_BYTES], notes[PATH_BYTES], number[32];
    double losses[STEPS], asked_losses[STEPS];
    ons_trainer_status status, asked_status;
    if (!take_two_processors()) cr_skip_test("there is one processor");
    scratch_path(paths[0], "threads.json");
    scratch_path(paths[1], "stages.json");
    measure("1", paths[0]);
    measure("2", paths[1]);

    ons_config *c = configure();
    snprintf(both, sizeof both, "%s,%s", paths[0], paths[1]);
    must(ons_config_set(c, "profile", both));
    train(c, losses, &status, notes);
    cr_expect(strstr(notes, " ms a step by simulation; ") != NULL, "%s", notes);
    cr_expect_eq(status.stages * status.threads, 2);
    cr_expect_str_eq(ons_config_get(c, "profile"), both, "the caller's configuration stays as it is");

    ons_config_free(c);
    c = configure();
    if (status.stages > 1) must(ons_config_set(c, "profile", paths[status.stages - 1])); /* one needs no plan */
    snprintf(number, sizeof number, "%lld", (long long)status.stages);
    must(ons_config_set(c, "stages", number));
    snprintf(number, sizeof number, "%d", status.threads);
    must(ons_config_set(c, "threads", number));
    train(c, asked_losses, &asked_status, notes);
    cr_expect_str_eq(notes, "");
    cr_expect_eq(asked_status.arena_bytes, status.arena_bytes);
    for (int i = 0; i < STEPS; ++i) cr_expect_eq(losses[i], asked_losses[i], "step %d", i + 1);
    ons_config_free(c);
}
