/* A checkpoint says nothing of stages: written with one number of them it is resumed with any other, with the same
 * bits. Faults of the data that one stage finds end all, and change nothing. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/rooms/training/fixture.h"
#include "tests/rooms/training/wrong_label.h"

enum { STEPS = 6, EVERY = 3 };

static run start(const char *model, int stages, const char *folder, int steps) {
    run r = run_golden(model);
    set(&r, "optimizer", "adamw");
    set(&r, "lr", "0.01");
    set(&r, "threads", "1");
    set(&r, "micro-batches", "1");
    set(&r, "shuffle", "true");
    set_number(&r, "steps", STEPS);
    set_number(&r, "stages", stages);
    if (folder != NULL) {
        set(&r, "checkpoint", folder);
        set_number(&r, "checkpoint-every", EVERY);
        set(&r, "resume", "true");
    }
    run_open(&r);
    for (int i = 0; i < steps; ++i) run_step(&r);
    return r;
}

static void resume_with_other_stages(const char *model) {
    static const int pairs[][2] = {{1, 3}, {4, 1}, {2, 8}, {3, 2}};
    run whole = start(model, 1, NULL, STEPS);
    weights expected = read_weights(&whole);
    run_close(&whole);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
        char folder[PATH_BYTES], name[64], command[PATH_BYTES + 16];
        snprintf(name, sizeof name, "c-%s-%zu", model, i);
        scratch_path(folder, name);
        run first = start(model, pairs[i][0], folder, EVERY);
        run_close(&first);
        run second = start(model, pairs[i][1], folder, STEPS - EVERY);
        cr_expect(ons_trainer_done(second.trainer), "%s: not resumed from step %d", model, EVERY);
        weights found = read_weights(&second);
        cr_expect(weights_equal(&found, &expected), "%s: %d stages, then %d: the weights differ", model, pairs[i][0],
                  pairs[i][1]);
        weights_free(&found);
        run_close(&second);
        snprintf(command, sizeof command, "rm -r '%s'", folder);
        cr_assert_eq(system(command), 0);
    }
    weights_free(&expected);
}

Test(checkpoint, of_other_stages_with_tied_weights, .timeout = 200) { resume_with_other_stages("gpt_tied"); }

Test(checkpoint, of_other_stages_with_running_statistics, .timeout = 200) { resume_with_other_stages("cnn_dynamic"); }

Test(stop, after_the_step) {
    run r = start("mlp", 2, NULL, 1);
    cr_expect_not(ons_trainer_stopping(r.trainer));
    ons_trainer_request_stop(r.trainer);
    cr_expect(ons_trainer_stopping(r.trainer));
    run_close(&r);
}

/* The last stage alone sees labels. */
Test(fault, found_by_one_stage, .timeout = 100) {
    static const char *const stages[] = {"2", "3", "4"};
    for (int i = 0; i < 3; ++i)
        expect_wrong_label_changes_nothing((const char *const[]){"micro-batches", "2", "stages", stages[i], NULL},
                                           stages[i]);
}
